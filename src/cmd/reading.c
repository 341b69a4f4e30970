/* SPDX-License-Identifier: MIT */
/* What the commands that read a profile share: how to print, opening files, the exit status. */
#include "cmd/reading.h"

#include "words/words.h"

const struct cmd_option reading_group[] = {
	{ .name = "json",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct reading, json),
	  .help = "Prints JSON with stable keys" },
	{ .name = "csv",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct reading, csv),
	  .help = "Prints a table as comma-separated values" },
	{ .name = "width",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct reading, width),
	  .range = { 1, 1000, NUMBER_PLAIN },
	  .arg = "COLUMNS",
	  .help = "Columns to use; the terminal's by default, 100 in a pipe" },
	{ .name = "limit",
	  .type = CMD_NUMBER,
	  .letter = 'n',
	  .offset = offsetof(struct reading, limit),
	  .arg = "N",
	  .range = { 1, 1000000, NUMBER_DECIMAL },
	  .help = "How many rows a list has, 10 by default" },
	{ .name = NULL },
};

const struct cmd_option reading_profiler_group[] = {
	{ .name = "profiler",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct reading, profiler),
	  .arg = "NAME",
	  .help = "Whose profile: oracle (the golden reference, default)" WORDS_PROFILERS(
	      WORDS_COMMA) },
	{ .name = NULL },
};

bool reading_options(const char *command, const struct reading *r, struct view_options *o)
{
	*o = (struct view_options){ .out = stdout,
				    .format = r->json  ? VIEW_JSON
					      : r->csv ? VIEW_CSV
						       : VIEW_TEXT,
				    .width = (int)r->width,
				    .limit = (int)r->limit,
				    .profiler = r->profiler };
	if (r->json && r->csv) {
		warn("%s: --json and --csv exclude each other", command);
		return false;
	}
	view_defaults(o);
	return true;
}

bool reading_open(const char *command, char **paths, int count, struct store **stores)
{
	for (int i = 0; i < count; i++) {
		struct err e = { "" };
		stores[i] = store_open(paths[i], &e);
		if (!stores[i]) {
			warn("%s: %s", command, e.text);
			while (i--)
				store_close(stores[i]);
			return false;
		}
	}
	return true;
}

int reading_status(const char *command, bool ok, const struct err *e)
{
	if (ok || ferror(stdout))
		return cmd_flush() ? 0 : 2;
	warn("%s: %s", command, e->text);
	return 2;
}
