/* SPDX-License-Identifier: MIT */
/* culprit annotate: source and disassembly with the time and the why of every instruction. */
#include "cmd/adding.h"
#include "cmd/reading.h"
#include "view/calc.h"
#include "view/icost.h"
#include "view/live.h"

struct annotate_values {
	struct reading reading;
	struct simulating simulating;
	bool icost, spectrum, calc, stack, source, add;
};

/* What the listing shows, as analyses. */
static const char *needs(const struct annotate_values *v, struct store *s)
{
	return v->icost	     ? "profile,icost"
	       : v->spectrum ? "profile,spectrum"
	       : v->stack    ? "profile,cpistack"
	       : v->calc     ? calc_needs(s, NULL, false)
			     : "profile";
}

static int annotate_run(void *values, int nargs, char **args)
{
	struct annotate_values *v = values;
	struct view_options o;
	struct store *s;
	struct err e = { "" };

	if (v->icost + v->spectrum + v->calc + v->stack > 1) {
		const char *a = v->icost      ? "--icost"
				: v->spectrum ? "--spectrum"
					      : "--calc",
			   *b = v->stack  ? "--stack"
				: v->calc ? "--calc"
					  : "--spectrum";

		warn("annotate: %s and %s are two listings: give one of them", a, b);
		return 2;
	}
	if (v->source && v->icost + v->spectrum + v->calc + v->stack) {
		warn("annotate: --source has lines alone: --icost, --spectrum, --calc and --stack "
		     "are "
		     "about instructions");
		return 2;
	}
	if (!v->reading.limit)
		v->reading.limit = nargs > 1 ? 1 : 3;
	if (!reading_options("annotate", &v->reading, &o) ||
	    !reading_open_any("annotate", &v->reading, args, 1, &s))
		return 2;
	if (!live_is(s) &&
	    !adding_ensure("annotate", &v->reading, &s, needs(v, s), v->add, &v->simulating)) {
		store_close(s);
		return 2;
	}
	o.function = nargs > 1 ? args[1] : NULL;
	o.spectrum = v->spectrum;
	o.calc = v->calc;
	o.icost = v->icost;
	o.stack = v->stack;
	o.source = v->source;
	/* JSON of costs is an array of instructions, whose keys are older than the listing's. */
	bool ok =
	    v->icost && v->reading.json ? view_icost_annotate(s, &o, &e) : view_annotate(s, &o, &e);
	store_close(s);
	return reading_status("annotate", ok, &e);
}

static const struct cmd_option options[] = {
	READING_OPTIONS,
	READING_PROFILER_OPTION,
	READING_EVENT_OPTION,
	READING_SELECTING_OPTIONS,
	READING_NAMES_OPTION,
	READING_DEBUG_OPTION,
	{ .name = "icost",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct annotate_values, icost),
	  .help = "Shows what fixing each instruction would save, its slack and how often it is "
		  "critical (of a run with --analyze icost)" },
	{ .name = "stack",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct annotate_values, stack),
	  .help =
	      "Shows what each instruction takes and loses by FMT, and the largest cause with its "
	      "cycles for each event (of a run with --analyze profile,cpistack)" },
	{ .name = "source",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct annotate_values, source),
	  .help = "Shows source alone: every line with the sum over its instructions, inlined ones "
		  "among them" },
	{ .name = "spectrum",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct annotate_values, spectrum),
	  .help =
	      "Shows each instruction's cache misses by the level that served them, the net cost "
	      "of one, and how many cost nothing (of a run with --analyze profile,spectrum)" },
	{ .name = "calc",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct annotate_values, calc),
	  .help =
	      "Shows how often each instruction was executed, its cycles per execution and what "
	      "may be guilty of them, as samples alone tell (of a run with --analyze "
	      "profile,issue)" },
	ADDING_OPTION(struct annotate_values, add),
	SIMULATING_OPTIONS(struct annotate_values),
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit annotate floorceil.culprit floor",
	  "That function, instruction by instruction." },
	{ "culprit annotate floorceil.culprit floor --source",
	  "Its source alone, with what each line takes." },
	{ "culprit annotate floorceil.culprit floor --profiler nci",
	  "What a next-committing-instruction profiler would have said, beside the truth." },
	{ NULL, NULL },
};

const struct command cmd_annotate = {
	.name = "annotate",
	.summary = "source and disassembly with per-instruction cycle stacks",
	.args = "FILE [SYMBOL]",
	.min_args = 1,
	.max_args = 2,
	.description =
	    "Prints functions with their source (where the files can be read) and their "
	    "instructions, each with its share of all cycles, how often it was executed (runs) and "
	    "its cycles per execution (cy/run), a stack of the events behind it, and the jumps. A "
	    "line of source has the sum over its instructions where it comes first. Without SYMBOL "
	    "the three hottest functions, hottest first. Of a live "
	    "profile it prints the samples of each event.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct annotate_values),
	.run = annotate_run,
};
