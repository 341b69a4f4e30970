/* SPDX-License-Identifier: MIT */
/* culprit pipeline: what happened to each instruction, cycle by cycle, from a trace. */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/window.h"
#include "view/pipeline.h"

struct pipeline_options {
	struct window_options window; /* must come first */
	bool json;
	uint64_t width;
};

static int pipeline_run(void *values, int nargs, char **args)
{
	const struct pipeline_options *o = values;
	struct view_options view = { .out = stdout,
				     .width = (int)min_u64(o->width, 1000),
				     .format = o->json ? VIEW_JSON : VIEW_TEXT };
	struct window_records w;
	struct err e = { "" };
	struct trace_reader *r = window_open("pipeline", args[0], &o->window, 40, 100000, &w);
	if (!r)
		return 2;
	view_defaults(&view);
	bool ok = view_pipeline(trace_reader_info(r), &w, &view, &e);
	if (ferror(stdout))
		ok = cmd_flush();
	else if (!ok)
		warn("pipeline: %s", e.text);
	window_free(&w);
	trace_reader_close(r);
	return ok ? 0 : 2;
}

static const struct cmd_option options[] = {
	WINDOW_OPTIONS,
	{ .name = "width",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct pipeline_options, width),
	  .arg = "COLUMNS",
	  .help = "Columns to use; the terminal's by default, 100 in a pipe." },
	{ .name = "json",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct pipeline_options, json),
	  .help = "Prints JSON with stable keys." },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit pipeline program.trace --from 120000 --count 50",
	  "Fifty instructions from the 120,000th on, with the wrong path between them." },
	{ "culprit pipeline program.trace --from cycle:5000 --count 100",
	  "What left the pipeline in cycles 5000 to 5099." },
	{ NULL, NULL },
};

const struct command cmd_pipeline = {
	.name = "pipeline",
	.summary = "show instructions passing through the pipeline",
	.args = "TRACE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Reads a trace that 'culprit sim --trace' wrote and shows each instruction of a "
	    "window as a line: when it was fetched (F), decoded (d), dispatched (D), ready (r), "
	    "issued (X), complete (P) and committed (C). Instructions of a wrong path stand where "
	    "they were fetched and end with x.",
	.exit_status =
	    "0 on success, 2 if the trace cannot be read or the command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct pipeline_options),
	.run = pipeline_run,
};
