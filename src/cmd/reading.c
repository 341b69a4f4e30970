/* SPDX-License-Identifier: MIT */
/* What the commands that read a profile share: how to print, opening files, the exit status. */
#include "cmd/reading.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/profile/tip_profile.h"
#include "collect/live_store.h"
#include "names/demangle.h"
#include "trace/tip_file.h"
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

const struct cmd_option reading_event_group[] = {
	{ .name = "event",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct reading, event),
	  .arg = "EVENT",
	  .help = "Of a live profile: samples of this event, such as cycles" },
	{ .name = NULL },
};

const struct cmd_option reading_names_group[] = {
	{ .name = "raw-names",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct reading, raw_names),
	  .help = "Names of C++ and Rust functions as the binaries have them" },
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
				    .event = r->event,
				    .image = r->selecting.image,
				    .process = r->selecting.process,
				    .container = r->selecting.container,
				    .user = r->selecting.user,
				    .debug = r->debug.items,
				    .ndebug = r->debug.count };
	if (r->selecting.cpu != OPTION_NOT_GIVEN)
		o->cpu = &r->selecting.cpu;
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
	{ "accuracy", "every cycle of the program" },	 { "stack", "every cycle of the program" },
	{ "icost", "every instruction of the program" }, { "export", "every cycle of the program" },
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

typedef struct store *open_fn(const char *path, const struct reading *r, struct err *e);

static struct store *open_file(const char *path, const struct reading *r, struct err *e)
{
	return tip_file_is(path) ? tip_profile_open(path, e) : store_open(path, e);
}

static bool name_all(const char *command, struct store *s, const struct reading *r, struct err *e)
{
	return (!r || debug_names(command, s, &r->debug, e)) &&
	       ((r && r->raw_names) || demangle_store(s, e));
}

static bool open_all(const char *command, const struct reading *r, open_fn *open, char **paths,
		     int count, struct store **stores)
{
	for (int i = 0; i < count; i++) {
		struct err e = { "" };
		stores[i] = open(paths[i], r, &e);
		if (stores[i] && !name_all(command, stores[i], r, &e)) {
			store_close(stores[i]);
			stores[i] = NULL;
		}
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

bool reading_open(const char *command, const struct reading *r, char **paths, int count,
		  struct store **stores)
{
	return open_all(command, r, open_file, paths, count, stores);
}

/* What was selected from a database, as a store in memory. */
static struct store *open_database(const char *folder, const struct selecting *s, const char *name,
				   struct err *e)
{
	struct selected selected;
	struct db *d = selecting_make(s, &selected, e) ? db_open(folder, DB_READ, NULL, e) : NULL;
	struct live_profile *p = d ? db_select(d, &selected.selection, e) : NULL;
	struct store *store = p ? live_store_open(p, name, e) : NULL;

	live_profile_free(p);
	db_close(d);
	return store;
}

/* FOLDER@EPOCH: the folder, which the caller frees, and the epoch. NULL: it is not of that form. */
static char *folder_of(const char *path, uint64_t *epoch)
{
	static const struct number_range range = { 1, INT64_MAX, NUMBER_PLAIN };
	const char *at = strrchr(path, '@');

	if (!at || !number_parse(at + 1, &range, epoch))
		return NULL;
	char *folder = x_strndup(path, (size_t)(at - path));

	if (db_is(folder))
		return folder;
	free(folder);
	return NULL;
}

static struct store *open_any(const char *path, const struct reading *r, struct err *e)
{
	struct selecting s = r->selecting;
	char *folder;
	struct store *store;

	if (db_is(path))
		return open_database(path, &s, path, e);
	if ((folder = folder_of(path, &s.epoch))) {
		store = open_database(folder, &s, path, e);
		free(folder);
		return store;
	}
	if (s.epoch || s.since || s.until || s.machine) {
		err_set(e,
			"%s is not a profile database: epochs and machines can be selected from a "
			"database alone",
			path);
		return NULL;
	}
	store = open_file(path, r, e);
	if (store && selecting_given(&s) && !live_is(store)) {
		err_set(e,
			"%s is a run on a modelled core: images, processes and processors can be "
			"selected from a live profile alone",
			path);
		store_close(store);
		return NULL;
	}
	return store;
}

bool reading_open_any(const char *command, const struct reading *r, char **paths, int count,
		      struct store **stores)
{
	return open_all(command, r, open_any, paths, count, stores);
}

int reading_status(const char *command, bool ok, const struct err *e)
{
	if (ok || ferror(stdout))
		return cmd_flush() ? 0 : 2;
	warn("%s: %s", command, e->text);
	return 2;
}
