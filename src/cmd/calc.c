/* SPDX-License-Identifier: MIT */
/* culprit calc: how often, how long and why, from samples alone. */
#include <stdlib.h>
#include <string.h>

#include "cmd/adding.h"
#include "cmd/reading.h"
#include "util/nearest.h"
#include "util/number.h"
#include "view/calc.h"
#include "view/live.h"
#include "words/words.h"

struct calc_values {
	struct reading reading;
	const char *method, *samples, *stall, *cutoff;
	int confidence, cross, export;
	bool dot, no_truth, add;
	struct simulating simulating;
};

static const char *const confidences[] = { "medium", "low", "high", NULL };
static const enum confidence confidence_of[] = { CONFIDENCE_MEDIUM, CONFIDENCE_LOW,
						 CONFIDENCE_HIGH };
static const char *const crossings[] = { "selective", "pessimistic", "optimistic", NULL };
static const char *const exports[] = { "none", "fdata", NULL };

static bool check_method(const char *text, struct err *e)
{
	struct nearest near = { .word = text };

	for (const struct calc_method *const *m = calc_methods; *m; m++)
		nearest_try(&near, (*m)->name);
	nearest_try(&near, CALC_EXACT);
	return calc_method_find(text) || !strcmp(text, CALC_EXACT) ||
	       err_set(e, "there is no method '%s'; did you mean '%s'?", text, near.best);
}

static bool check_share(const char *text, struct err *e)
{
	double ignored;

	return number_share(text, &ignored) ||
	       err_set(e, "'%s' is not a share in percent, such as 0.5", text);
}

static int calc_command(void *values, int nargs, char **args)
{
	const struct calc_values *v = values;
	struct calc_options_view c = { .read = { .method = v->method,
						 .samples = v->samples,
						 .cross = (enum cross_procedure)v->cross,
						 .no_truth = v->no_truth },
				       .least = confidence_of[v->confidence],
				       .stall = v->stall,
				       .procs = (const char *const *)args + 1,
				       .nprocs = (size_t)nargs - 1,
				       .dot = v->dot,
				       .fdata = v->export == 1 };
	struct view_options o;
	struct store *s;
	struct err e = { "" };

	if (v->dot && !c.nprocs) {
		warn("calc: --dot draws procedures: name one after the file");
		return 2;
	}
	if ((v->dot || c.fdata) && (v->reading.json || v->reading.csv)) {
		warn("calc: --dot and --export have a format of their own: leave --json and --csv "
		     "out");
		return 2;
	}
	if (v->stall && v->reading.json) {
		warn("calc: --stall is a table: take --csv, or --json without --stall");
		return 2;
	}
	if (v->no_truth && v->method && !strcmp(v->method, CALC_EXACT)) {
		warn("calc: --method exact is the truth's: leave --no-truth out");
		return 2;
	}
	if (v->cutoff)
		number_share(v->cutoff, &c.cutoff);
	if (!reading_options("calc", &v->reading, &o) ||
	    !reading_open_any("calc", &v->reading, args, 1, &s))
		return 2;

	const bool exact = v->method && !strcmp(v->method, CALC_EXACT);

	if (!live_is(s) && !adding_ensure("calc", &v->reading, &s, calc_needs(s, v->samples, exact),
					  v->add, &v->simulating)) {
		store_close(s);
		return 2;
	}
	const bool ok = view_calc(s, &o, &c, &e);

	store_close(s);
	return reading_status("calc", ok, &e);
}

#define OPTION(field) .offset = offsetof(struct calc_values, field)
static const struct cmd_option options[] = {
	READING_OPTIONS,
	READING_DEBUG_OPTION,
	{ .name = "method",
	  .type = CMD_TEXT,
	  OPTION(method),
	  .check = check_method,
	  .arg = "NAME",
	  .help = "How frequencies are found, " CALC_DEFAULT " unless given:" WORDS_FREQUENCIES(
	      WORDS_SPACED) "; exact: the truth's, to see culprits without errors of frequencies. "
			    "`culprit list frequencies` says what they are" },
	{ .name = "samples",
	  .type = CMD_TEXT,
	  OPTION(samples),
	  .check = calc_check_samples,
	  .arg = "KIND",
	  .help =
	      "What frequencies are from: " CALC_SAMPLES
	      ". By default issue, on a machine that issues in order, and tip on others. nci and "
	      "software have time alone. branches-N, cycles-N: records of the last N taken "
	      "branches (--analyze branches)" },
	{ .name = "confidence",
	  .type = CMD_CHOICE,
	  OPTION(confidence),
	  .choices = confidences,
	  .arg = "LEVEL",
	  .help = "Summaries take frequencies of at least this confidence: low, medium (default), "
		  "high" },
	{ .name = "cutoff",
	  .type = CMD_TEXT,
	  OPTION(cutoff),
	  .check = check_share,
	  .arg = "PERCENT",
	  .help = "Leaves out blocks and stalls with less of the samples than this; none by "
		  "default" },
	{ .name = "cross-procedure",
	  .type = CMD_CHOICE,
	  OPTION(cross),
	  .choices = crossings,
	  .arg = "HOW",
	  .help =
	      "What a stall after a call or at a procedure's start is blamed on: selective "
	      "(default): what the calling convention lets other procedures pass on; pessimistic: "
	      "anything that they may have done; optimistic: nothing of theirs" },
	{ .name = "stall",
	  .type = CMD_TEXT,
	  OPTION(stall),
	  .arg = "CAUSE",
	  .help = "Lists procedures by the cycles that one cause may have cost them:" WORDS_CAUSES(
	      WORDS_SPACED) },
	{ .name = "dot",
	  .type = CMD_SWITCH,
	  OPTION(dot),
	  .help = "Prints the graphs of the procedures for Graphviz" },
	{ .name = "export",
	  .type = CMD_CHOICE,
	  OPTION(export),
	  .choices = exports,
	  .arg = "FORMAT",
	  .help = "Prints all edges for another tool; fdata: for BOLT" },
	{ .name = "no-truth",
	  .type = CMD_SWITCH,
	  OPTION(no_truth),
	  .help = "Shows the estimates alone, also where the profile has the truth" },
	READING_SELECTING_OPTIONS,
	ADDING_OPTION(struct calc_values, add),
	SIMULATING_OPTIONS(struct calc_values),
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit sim --machine inorder-2w --analyze issue,truth -- ./copy",
	  "Samples a run, and keeps the truth to compare with." },
	{ "culprit calc copy.culprit", "Where the program's cycles went, and its longest stalls." },
	{ "culprit calc copy.culprit copy", "One procedure, instruction by instruction." },
	{ "culprit calc copy.culprit --stall dcache", "Procedures by what D-cache misses cost." },
	{ NULL, NULL },
};

const struct command cmd_calc = {
	.name = "calc",
	.summary = "frequencies, cycles per execution and culprits from samples",
	.args = "FILE [PROC...]",
	.min_args = 1,
	.max_args = -1,
	.description =
	    "From samples of the program counter, the binary and the machine's description alone "
	    "(dcpi1997): how often each instruction and each edge was executed, how many cycles "
	    "each execution took, and which causes can explain what it waited. A cause is guilty "
	    "until proven innocent: those listed are the ones that nothing clears.\n\n"
	    "With PROC it lists procedures block by block, a line for each half cycle, and sums up "
	    "where their cycles went, each cause from least to most. Without PROC it sums up the "
	    "program and lists its longest stalls. Where the profile has the truth (--analyze "
	    "issue,truth), it stands beside each estimate, which is made without it.\n\n"
	    "Samples are from a machine that issues in order (--analyze issue), or one that does "
	    "not, with TIP's commit states (--analyze commits: frequencies and CPI), or "
	    "from a live machine (relative frequencies). With --samples branches-32 (--analyze "
	    "issue,branches or commits,branches) frequencies are from branch records, an upper "
	    "bound of what samples can reach.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct calc_values),
	.run = calc_command,
};
