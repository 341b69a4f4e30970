/* SPDX-License-Identifier: MIT */
/* culprit accuracy: every profiler of a run against the golden reference of the same run. */
#include "cmd/reading.h"

struct accuracy_values {
	struct reading reading;
	bool sweep, events, states, bits, bandwidth;
};

static int accuracy_run(void *values, int nargs, char **args)
{
	const struct accuracy_values *v = values;
	struct accuracy_options a = {
		.sweep = v->sweep,
		.events = v->events,
		.states = v->states,
		.bits = v->bits,
		.bandwidth = v->bandwidth,
	};
	struct view_options o;
	struct store *s;
	struct err e = { "" };

	if (!reading_options("accuracy", &v->reading, &o) ||
	    !reading_open("accuracy", &v->reading, args, 1, &s))
		return 2;
	bool ok = view_accuracy(s, &o, &a, &e);
	store_close(s);
	return reading_status("accuracy", ok, &e);
}

static const struct cmd_option options[] = {
	READING_OPTIONS,
	READING_DEBUG_OPTION,
	{ .name = "sweep",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct accuracy_values, sweep),
	  .help = "Errors by sampling period, periodic and random; the run needs --param sweep=1" },
	{ .name = "events",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct accuracy_values, events),
	  .help = "How well the count of each event tells the cycles it costs" },
	{ .name = "states",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct accuracy_values, states),
	  .help = "How much of the time each profiler gives to the right instruction, by what "
		  "commit was doing" },
	{ .name = "bits",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct accuracy_values, bits),
	  .help = "What sets of 0 to 20 events explain, and what they cost; the run needs "
		  "--analyze profile,own" },
	{ .name = "bandwidth",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct accuracy_values, bandwidth),
	  .help = "What each profiler's samples are in MB/s on the machine" },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit accuracy lbm.culprit", "Errors at instruction, block and function level." },
	{ NULL, NULL },
};

const struct command cmd_accuracy = {
	.name = "accuracy",
	.summary = "every profiler against the golden reference",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "All profilers of a run sample the same cycles; the golden reference sees every "
	    "cycle. The error is the share of the run that a profile puts on the wrong symbol or "
	    "the wrong set of events. The systematic error leaves sampling out: it compares "
	    "sample by sample.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct accuracy_values),
	.run = accuracy_run,
};
