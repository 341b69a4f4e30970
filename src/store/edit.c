/* SPDX-License-Identifier: MIT */
/*
 * Changes a profile that is a file already. All others are written once: this is for one that was
 * made in place of another and has yet to get what it takes over from that.
 */
#include <sqlite3.h>

#include "store/store.h"

/* Gives a row of table run the value that it has in the other store, or takes it away. */
static bool take(sqlite3_stmt *gone, sqlite3_stmt *insert, const char *key, struct store *from,
		 struct err *e)
{
	struct store_rows r = store_query(from, "SELECT value FROM run WHERE key = ?1", "s", key);

	sqlite3_bind_text(gone, 1, key, -1, SQLITE_STATIC);
	bool ok = sqlite3_step(gone) == SQLITE_DONE && sqlite3_reset(gone) == SQLITE_OK;

	if (ok && store_next(&r)) {
		sqlite3_bind_text(insert, 1, key, -1, SQLITE_STATIC);
		sqlite3_bind_value(insert, 2, sqlite3_column_value(r.stmt, 0));
		ok = sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK;
	}
	return store_done(&r, e) && ok;
}

bool store_take_run(const char *path, struct store *from, const char *const *keys, size_t count,
		    struct err *e)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *insert = NULL, *gone = NULL;
	bool ok =
	    sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
	    sqlite3_exec(db, "PRAGMA journal_mode = OFF; BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "DELETE FROM run WHERE key = ?1", -1, &gone, NULL) ==
		SQLITE_OK &&
	    sqlite3_prepare_v2(db, "INSERT INTO run VALUES (?1, ?2)", -1, &insert, NULL) ==
		SQLITE_OK;

	e->text[0] = '\0';
	for (size_t i = 0; ok && i < count; i++)
		ok = take(gone, insert, keys[i], from, e);
	ok = ok && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
	if (!ok && !e->text[0])
		err_set(e, "cannot change %s: %s", path, sqlite3_errmsg(db));
	sqlite3_finalize(insert);
	sqlite3_finalize(gone);
	sqlite3_close(db);
	return ok;
}
