/* SPDX-License-Identifier: MIT */
/* culprit diff: two runs, by what changed. */
#include "cmd/reading.h"

static int diff_run(void *values, int nargs, char **args)
{
	const struct reading *r = values;
	struct view_options o;
	struct store *s[2];
	struct err e = { "" };

	if (!reading_options("diff", r, &o) || !reading_open_any("diff", r, args, 2, s))
		return 2;
	bool ok = view_diff(s[0], s[1], &o, &e);
	store_close(s[0]);
	store_close(s[1]);
	return reading_status("diff", ok, &e);
}

static const struct cmd_option options[] = {
	READING_OPTIONS,	   READING_PROFILER_OPTION, READING_EVENT_OPTION,
	READING_SELECTING_OPTIONS, READING_NAMES_OPTION,    READING_DEBUG_OPTION,
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit diff before.culprit after.culprit",
	  "What a change to program or machine brought." },
	{ NULL, NULL },
};

const struct command cmd_diff = {
	.name = "diff",
	.summary = "two runs, by function and instruction, sorted by change",
	.args = "BEFORE AFTER",
	.min_args = 2,
	.max_args = 2,
	.description =
	    "Compares two profiles of two machines, two inputs or two builds. Functions are "
	    "matched by name; the instructions of a function by what they are and which source "
	    "line they come from, in order, wherever they stand. A dash marks what only one of "
	    "the two has.\n\n"
	    "Live profiles are compared by the share that each procedure has of the samples, with "
	    "the significance of the change; a live profile and a run on a modelled core by the "
	    "share of each source line.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct reading),
	.run = diff_run,
};
