/* SPDX-License-Identifier: MIT */
/* culprit stack: CPI stacks by every counting method beside simulated ones. */
#include <stdlib.h>
#include <string.h>

#include "cmd/adding.h"
#include "cmd/reading.h"
#include "cmd/stack_reference.h"
#include "view/stack.h"

struct stack_values {
	struct reading reading;
	struct simulating simulating;
	bool phases, intervals, no_reference, add;
	const char *method, *svg;
	int by;
};

static const char *const bys[] = { "run", "function", "instruction", NULL }; /* as enum stack_by */

/* One profile and its simulated stacks. */
struct input {
	struct store *store;
	struct stack_reference references[STACK_REFERENCES];
	size_t nreferences;
};

/* Returns 0, or the exit status with which to stop. */
static int make_references(const struct stack_values *v, struct input *in)
{
	struct err e = { "" };

	if (!simulating_trusted("stack", in->store, &v->simulating))
		return 0;
	if (stack_reference_make(in->store, &v->simulating, in->references, &in->nreferences, &e)) {
		if (in->nreferences == STACK_REFERENCES)
			return 0;
		warn("stack: %s", in->nreferences ? "one of the two simulated orders is missing"
						  : "the simulated stack is missing");
		return 1;
	}
	warn("stack: %s; --no-reference shows the other methods", e.text);
	return 2;
}

/* Interval analysis of each store, in place of stacks. */
static int show_intervals(const struct stack_values *v, struct store **stores, int count,
			  const struct view_options *o)
{
	struct err e = { "" };
	int status = 0;

	if (count > 1 && (v->svg || o->format == VIEW_JSON)) {
		warn("stack: --intervals with --svg or --json takes one file at a time");
		return 2;
	}
	if (v->phases || v->method) {
		warn("stack: --intervals has no time axis; leave out --phases and --method");
		return 2;
	}
	for (int i = 0; i < count && !status; i++) {
		if (!adding_ensure("stack", &v->reading, &stores[i], "interval-analysis", v->add,
				   &v->simulating))
			return 2;
		if (i)
			putchar('\n');
		status = reading_status("stack", view_intervals(stores[i], o, v->svg, &e), &e);
	}
	return status;
}

/* FMT by function or instruction of each store, in place of stacks. */
static int show_places(const struct stack_values *v, struct store **stores, int count,
		       const struct view_options *o)
{
	struct err e = { "" };
	int status = 0;

	if (v->phases || v->method || v->svg) {
		warn("stack: --by has no time axis and no picture; leave out --phases, --method "
		     "and --svg");
		return 2;
	}
	if (count > 1 && o->format == VIEW_JSON) {
		warn("stack: --by with --json takes one file at a time");
		return 2;
	}
	for (int i = 0; i < count && !status; i++) {
		if (i && o->format == VIEW_TEXT)
			putchar('\n');
		status = reading_status("stack",
					view_places(stores[i], o, (enum stack_by)v->by, &e), &e);
	}
	return status;
}

static int stack_run(void *values, int nargs, char **args)
{
	const struct stack_values *v = values;
	struct stack_options so = { .phases = v->phases || v->method,
				    .method = v->method,
				    .svg = v->svg };
	struct store **stores = x_calloc((size_t)nargs, sizeof(struct store *));
	struct input *inputs = x_calloc((size_t)nargs, sizeof(*inputs));
	struct stack_input *shown = x_calloc((size_t)nargs, sizeof(*shown));
	struct view_options o;
	struct err e = { "" };
	int status = 0;

	if (!reading_options("stack", &v->reading, &o) ||
	    !reading_open("stack", &v->reading, args, nargs, stores)) {
		status = 2;
	} else if (v->by && v->intervals) {
		warn("stack: --by and --intervals are two tables: give one of them");
		status = 2;
	} else if (v->by || v->intervals) {
		status = v->by ? show_places(v, stores, nargs, &o)
			       : show_intervals(v, stores, nargs, &o);
		for (int i = 0; i < nargs; i++)
			store_close(stores[i]);
	} else {
		int failed = 0;

		for (int i = 0; i < nargs && failed < 2; i++) {
			if (!adding_ensure("stack", &v->reading, &stores[i], "cpistack", v->add,
					   &v->simulating)) {
				failed = 2;
				break;
			}
			inputs[i].store = stores[i];
			if (!v->no_reference &&
			    store_number(stores[i],
					 "SELECT count(*) FROM cpi_phase WHERE phase = -1", 0))
				failed = make_references(v, &inputs[i]) | failed;
			shown[i] = (struct stack_input){ stores[i], inputs[i].references,
							 inputs[i].nreferences };
		}
		if (failed < 2)
			status = reading_status("stack",
						view_stack(shown, (size_t)nargs, &o, &so, &e), &e);
		status = status ? status : failed;
		for (int i = 0; i < nargs; i++)
			store_close(stores[i]);
	}
	free(shown);
	free(inputs);
	free(stores);
	return status;
}

#define OPTION(field) .offset = offsetof(struct stack_values, field)
static const struct cmd_option options[] = {
	READING_OPTIONS,
	READING_DEBUG_OPTION,
	{ .name = "phases",
	  .type = CMD_SWITCH,
	  OPTION(phases),
	  .help = "Shows the stack over time" },
	{ .name = "method",
	  .type = CMD_TEXT,
	  OPTION(method),
	  .arg = "NAME",
	  .help = "Whose stack over time: fmt (default), sfmt, power5, commit, dispatch or issue" },
	{ .name = "intervals",
	  .type = CMD_SWITCH,
	  OPTION(intervals),
	  .help = "Shows instead the intervals between miss events: number, length, penalties, how "
		  "many instructions begin to execute around each kind of event" },
	{ .name = "by",
	  .type = CMD_CHOICE,
	  OPTION(by),
	  .arg = "WHAT",
	  .choices = bys,
	  .help =
	      "run (default): the stacks of the run. function, instruction: instead, fmt's stack "
	      "of each, which sum to that of the run: what each mispredicted branch, each "
	      "missing load and each late instruction cost" },
	{ .name = "svg",
	  .type = CMD_TEXT,
	  OPTION(svg),
	  .arg = "FILE",
	  .help = "Writes the stacks as a picture too, a group of bars for each profile" },
	{ .name = "no-reference",
	  .type = CMD_SWITCH,
	  OPTION(no_reference),
	  .help = "Simulates nothing: the counting methods alone, without errors" },
	ADDING_OPTION(struct stack_values, add),
	SIMULATING_OPTIONS(struct stack_values),
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit sim --machine eyerman2006 --analyze cpistack -- ./prog",
	  "Makes a profile with CPI stacks." },
	{ "culprit stack prog.culprit", "Shows them beside the simulated stack." },
	{ "culprit stack prog.culprit --phases --no-reference", "How they change over time." },
	{ "culprit stack prog.culprit --intervals",
	  "How long the intervals between miss events are (sim --analyze interval-analysis)." },
	{ "culprit stack prog.culprit --by instruction",
	  "What each branch's mispredictions and each load's misses cost." },
	{ "culprit stack prog.culprit --add", "The same of a profile that was made without them." },
	{ "culprit stack a.culprit b.culprit --svg stacks.svg", "Draws two programs." },
	{ NULL, NULL },
};

const struct command cmd_stack = {
	.name = "stack",
	.summary = "CPI stacks, all methods side by side",
	.args = "FILE...",
	.min_args = 1,
	.max_args = -1,
	.description =
	    "Shows where every cycle per instruction goes, by every method: counters as in "
	    "eyerman2006 (FMT, sFMT), events times penalties (naive, naive_non_spec), completion "
	    "stalls (POWER5), what holds up commit, dispatch and issue, and top-down analysis. "
	    "Beside them stands a reference that is simulated: the run again with perfect caches, "
	    "TLBs and branch prediction, then with one cause after the other made real, in two "
	    "orders. Errors are in percent of all cycles.\n\n"
	    "The twelve simulations run in parallel and are kept, so a second call is instant, and "
	    "a call that was interrupted goes on where it stopped.",
	.exit_status = "0 on success; 1 if a simulation failed, which is named, while the rest is "
		       "shown; 2 if a file cannot be read, the run cannot be repeated, or the "
		       "command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct stack_values),
	.run = stack_run,
};
