/* SPDX-License-Identifier: MIT */
/* What the commands that read a profile share: how to print, opening files, the exit status. */
#include "cmd/reading.h"

#include <string.h>

#include "view/live.h"
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

#define LIVE_FILTER(option, what, text)                                                            \
	{                                                                                          \
		.name = #option, .type = CMD_TEXT, .offset = offsetof(struct reading, option),     \
		.arg = (what), .help = (text)                                                      \
	}
const struct cmd_option reading_live_group[] = {
	LIVE_FILTER(image, "NAME", "Live profiles: only this image (path, file name or build-id)"),
	LIVE_FILTER(process, "NAME", "Live profiles: only this process (pid or name)"),
	LIVE_FILTER(container, "NAME", "Live profiles: only this container"),
	LIVE_FILTER(user, "NAME", "Live profiles: only processes of this user (name or number)"),
	LIVE_FILTER(cpu, "N", "Live profiles: only this processor"),
	{ .name = NULL },
};

const struct cmd_option reading_event_group[] = {
	{ .name = "event",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct reading, live_event),
	  .arg = "EVENT",
	  .help = "Live profiles: samples of this event, such as cycles" },
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
				    .profiler = r->profiler,
				    .event = r->live_event,
				    .image = r->image,
				    .process = r->process,
				    .container = r->container,
				    .user = r->user,
				    .cpu = r->cpu };
	if (r->json && r->csv) {
		warn("%s: --json and --csv exclude each other", command);
		return false;
	}
	view_defaults(o);
	return true;
}

/* What views of a run need and a live profile does not have. */
static const struct {
	const char *command, *needs;
} run_only[] = {
	{ "accuracy", "every cycle of the program" },
	{ "stack", "every cycle of the program" },
	{ "icost", "every instruction of the program" },
	{ "spectrum", "every miss of the program" },
};

/* Whether the command can show the store; says on stderr why not. */
static bool can_show(const char *command, struct store *s)
{
	for (size_t i = 0; i < ARRAY_LEN(run_only); i++)
		if (strcmp(command, run_only[i].command) == 0 && live_is(s)) {
			warn("%s: %s has samples of a live machine, and %s needs %s: run the "
			     "program by `culprit sim`",
			     command, store_path(s), command, run_only[i].needs);
			return false;
		}
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
		if (!can_show(command, stores[i])) {
			for (; i >= 0; i--)
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
