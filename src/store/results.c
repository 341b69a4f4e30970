/* SPDX-License-Identifier: MIT */
/*
 * Opens the results of a campaign. A file may come from anyone: it must have the tables that this
 * version makes, word for word, and nothing in it is executed.
 */
#include "store/results.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VALUE(x)    #x
#define VALUE_OF(x) VALUE(x)
#define BUSY_MS	    20000

/* status: waiting, done, failed, over (ended at a limit). */
static const char tables[] =
    "CREATE TABLE campaign(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE run(id INTEGER PRIMARY KEY, planned INTEGER NOT NULL, program TEXT NOT NULL,"
    " input TEXT NOT NULL, machine TEXT NOT NULL, seed INTEGER NOT NULL, how TEXT NOT NULL,"
    " analyses TEXT NOT NULL, settings TEXT NOT NULL, command TEXT NOT NULL, digest TEXT NOT NULL,"
    " status TEXT NOT NULL, cpi REAL, cpi_low REAL, cpi_high REAL, error REAL,"
    " instructions INTEGER, cycles INTEGER, exit_status INTEGER, seconds REAL,"
    " memory_bytes INTEGER, host TEXT, ended INTEGER, store TEXT, log TEXT, message TEXT,"
    " note TEXT);"
    "CREATE UNIQUE INDEX run_what ON run(program, input, machine, seed, how, analyses, settings);";

/* All statements that made the tables, one after the other. The caller frees. */
static char *tables_of(sqlite3 *db)
{
	sqlite3_stmt *q = NULL;
	char *all = x_strdup("");

	if (sqlite3_prepare_v2(db,
			       "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY "
			       "type DESC, name",
			       -1, &q, NULL) == SQLITE_OK)
		while (sqlite3_step(q) == SQLITE_ROW) {
			char *more =
			    x_asprintf("%s%s;", all, (const char *)sqlite3_column_text(q, 0));

			free(all);
			all = more;
		}
	sqlite3_finalize(q);
	return all;
}

static bool has_our_tables(sqlite3 *db)
{
	sqlite3 *memory = NULL;
	bool same = false;

	if (sqlite3_open(":memory:", &memory) == SQLITE_OK &&
	    sqlite3_exec(memory, tables, NULL, NULL, NULL) == SQLITE_OK) {
		char *ours = tables_of(memory), *theirs = tables_of(db);

		same = !strcmp(ours, theirs);
		free(ours);
		free(theirs);
	}
	sqlite3_close(memory);
	return same;
}

static bool make_tables(sqlite3 *db)
{
	char *sql = x_asprintf(
	    "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA;"
	    "BEGIN IMMEDIATE; %s PRAGMA application_id=" VALUE_OF(
		RESULTS_APPLICATION_ID) "; PRAGMA user_version=" VALUE_OF(RESULTS_VERSION) "; "
											   "COMMIT",
	    tables);
	const bool ok = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

	free(sql);
	return ok;
}

static bool is_ours(struct store *s, sqlite3 *db, struct err *e)
{
	const char *path = store_path(s);
	const int64_t version = store_number(s, "PRAGMA user_version", -1);

	if (store_number(s, "PRAGMA application_id", -1) != RESULTS_APPLICATION_ID)
		return err_set(
		    e, "%s is not the results of a campaign; `culprit campaign` makes them", path);
	if (version > RESULTS_VERSION)
		return err_set(e,
			       "%s has format version %d, this culprit reads up to %d; use a newer "
			       "culprit",
			       path, (int)version, RESULTS_VERSION);
	if (version < 1 || !has_our_tables(db))
		return err_set(
		    e,
		    "%s is damaged: its tables are not those of a campaign; remove it and "
		    "run the campaign again, which takes what is in the cache",
		    path);
	return true;
}

struct store *results_open(const char *path, enum results_mode mode, struct err *e)
{
	struct stat st;
	const bool there = !stat(path, &st);
	/* Reading a file whose writer was killed rolls its last transaction back, which writes. */
	const bool may_write = !access(path, W_OK);
	const int flags = (mode == RESULTS_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
			   : may_write		 ? SQLITE_OPEN_READWRITE
						 : SQLITE_OPEN_READONLY) |
			  SQLITE_OPEN_NOMUTEX;
	sqlite3 *db = NULL;
	struct store *s;

	if ((!there && mode == RESULTS_READ) || (there && access(path, R_OK))) {
		err_set(e, "cannot read %s: %s; `culprit campaign FILE.ini` makes such files", path,
			strerror(errno));
		return NULL;
	}
	if (there && !st.st_size && mode == RESULTS_READ) {
		err_set(e, "%s holds nothing yet", path);
		return NULL;
	}
	if (there && !S_ISREG(st.st_mode)) {
		err_set(e, "%s is not a file; results of campaigns are files", path);
		return NULL;
	}
	if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) {
		err_set(e, "cannot open %s: %s", path, sqlite3_errmsg(db));
		sqlite3_close(db);
		return NULL;
	}
	sqlite3_busy_timeout(db, BUSY_MS);
	s = store_adopt(db, path, e);
	if (s && mode == RESULTS_WRITE &&
	    !store_number(s, "SELECT count(*) FROM sqlite_master", -1) && !make_tables(db) &&
	    !has_our_tables(db)) {
		err_set(e, "cannot write %s: %s", path, sqlite3_errmsg(db));
		store_close(s);
		return NULL;
	}
	if (!s || !is_ours(s, db, e)) {
		store_close(s);
		return NULL;
	}
	if (mode == RESULTS_WRITE)
		sqlite3_exec(db, "PRAGMA synchronous=EXTRA", NULL, NULL, NULL);
	return s;
}
