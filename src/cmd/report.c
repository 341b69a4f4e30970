/* SPDX-License-Identifier: MIT */
/* culprit report: the run at a glance. */
#include "cmd/reading.h"

struct report_values {
	struct reading reading;
	const char *function, *event, *file;
	int sort, by;
	uint64_t thread;
	bool user_only;
};

static const char *const sorts[] = { "cycles", "executions", "address", NULL };

static const char *const bys[] = { "procedure", "image",  "process", "container",
				   "line",	"thread", NULL };

static int report_run(void *values, int nargs, char **args)
{
	const struct report_values *v = values;
	struct view_options o;
	struct store *s;
	struct err e = { "" };

	if (!reading_options("report", &v->reading, &o) ||
	    !reading_open_any("report", &v->reading, args, 1, &s))
		return 2;
	o.function = v->function;
	o.event = v->event;
	o.file = v->file;
	o.sort = sorts[v->sort];
	o.by = bys[v->by];
	o.user_only = v->user_only;
	if (v->thread)
		o.thread = &v->thread;
	bool ok = view_report(s, &o, &e);
	store_close(s);
	return reading_status("report", ok, &e);
}

static const struct cmd_option options[] = {
	READING_OPTIONS,
	READING_PROFILER_OPTION,
	READING_SELECTING_OPTIONS,
	READING_NAMES_OPTION,
	READING_DEBUG_OPTION,
	{ .name = "function",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct report_values, function),
	  .arg = "NAME",
	  .help = "Only instructions of this function" },
	{ .name = "event",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct report_values, event),
	  .arg = "EVENT",
	  .help = "Only instructions that suffered this event, such as ST-LLC; of a live profile, "
		  "only samples of this event, such as cycles" },
	{ .name = "file",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct report_values, file),
	  .arg = "FILE",
	  .help = "Only instructions of this source file (the end of its name is enough)" },
	{ .name = "sort",
	  .type = CMD_CHOICE,
	  .offset = offsetof(struct report_values, sort),
	  .arg = "KEY",
	  .choices = sorts,
	  .help = "Order of the instructions" },
	{ .name = "by",
	  .type = CMD_CHOICE,
	  .offset = offsetof(struct report_values, by),
	  .arg = "WHAT",
	  .choices = bys,
	  .help = "Live profiles: what a row stands for. Of a run: thread, for the time of its "
		  "threads" },
	{ .name = "thread",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct report_values, thread),
	  .arg = "TID",
	  .range = { 1, UINT32_MAX, NUMBER_PLAIN },
	  .help = "Of a run: only the time of this guest thread" },
	{ .name = "user-only",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct report_values, user_only),
	  .help = "Of a run: without the time of the kernel" },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit report floorceil.culprit", "Where the time of that run went, and why." },
	{ "culprit report lbm.culprit --event ST-LLC", "The loads that wait for memory." },
	{ "culprit report live.culprit --by process --image libc.so.6",
	  "Who spends time in the C library, on a live machine." },
	{ NULL, NULL },
};

const struct command cmd_report = {
	.name = "report",
	.summary = "the run at a glance: where the time went and why",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Prints a profile that `culprit sim` wrote: what commit was doing in every cycle, "
	    "the functions and the instructions that took the time, for each instruction a "
	    "stack of the events that explain it, and a sentence per finding.\n\n"
	    "Of a live profile it prints samples, their share and the sum of the shares so far, "
	    "by procedure or by what --by says; the first line has what was lost and what no "
	    "image explains.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct report_values),
	.run = report_run,
};
