/* SPDX-License-Identifier: MIT */
/* culprit sample show: what a sampled profile was made of. */
#include "cmd/reading.h"
#include "cmd/sample.h"
#include "view/sample.h"

struct show_values {
	struct reading reading;
	const char *svg;
};

static int run(void *values, int nargs, char **args)
{
	const struct show_values *v = values;
	struct view_options o;
	struct store *store;
	struct err e = { "" };
	int status;

	(void)nargs;
	if (!reading_options("sample show", &v->reading, &o) ||
	    !reading_open("sample show", &v->reading, args, 1, &store))
		return 2;
	status = reading_status("sample show", view_sample(store, &o, v->svg, &e), &e);
	store_close(store);
	return status;
}

static const struct cmd_option options[] = {
	READING_OPTIONS,
	{ .name = "svg",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct show_values, svg),
	  .arg = "FILE",
	  .help = "Draws the run by clusters with its points, and the CPI within each cluster" },
	{ .name = NULL },
};

static const struct command show = {
	.name = "sample show",
	.summary = "show what a sampled profile was made of",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Shows the run by clusters with the points on it, the points with their weight, CPI "
	    "and warm-up bracket, the CPI within each cluster, and what causes most of the "
	    "error.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.values_size = sizeof(struct show_values),
	.run = run,
};

int sample_show(int nargs, char **args)
{
	struct show_values values = { .svg = NULL };
	struct cmd_parsed parsed;
	struct err e = { "" };
	int status = 2;

	if (!cmd_parse(&show, nargs, args, &values, &parsed, &e))
		warn("sample show: %s", e.text);
	else if (parsed.help) {
		cmd_print_help(stdout, &show);
		status = 0;
	} else {
		status = run(&values, parsed.nargs, parsed.args);
	}
	cmd_values_free(&show, &values);
	return status;
}
