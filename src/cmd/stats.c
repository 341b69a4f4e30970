/* SPDX-License-Identifier: MIT */
/* culprit stats: mean and spread over several runs. */
#include <stdlib.h>

#include "cmd/reading.h"

static int stats_run(void *values, int nargs, char **args)
{
	const struct reading *r = values;
	struct view_options o;
	struct store **s = x_calloc((size_t)nargs, sizeof(*s));
	struct err e = { "" };
	int status = 2;

	if (reading_options("stats", r, &o) && reading_open_any("stats", r, args, nargs, s)) {
		bool ok = view_stats(s, (size_t)nargs, &o, &e);
		for (int i = 0; i < nargs; i++)
			store_close(s[i]);
		status = reading_status("stats", ok, &e);
	}
	free(s);
	return status;
}

static const struct cmd_option options[] = {
	READING_OPTIONS,	   READING_PROFILER_OPTION, READING_EVENT_OPTION,
	READING_SELECTING_OPTIONS, READING_NAMES_OPTION,    READING_DEBUG_OPTION,
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit stats seed*.culprit", "How much runs with different seeds differ." },
	{ NULL, NULL },
};

const struct command cmd_stats = {
	.name = "stats",
	.summary = "mean and spread of several runs",
	.args = "FILE...",
	.min_args = 1,
	.max_args = -1,
	.description =
	    "Cycles of the run and of each function over several profiles: mean, deviation, "
	    "least and most. Of live profiles, the samples of each procedure, sorted by how much "
	    "they vary: (most - least) / sum.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct reading),
	.run = stats_run,
};
