/* SPDX-License-Identifier: MIT */
/*
 * The profile store: one SQLite file per run. A run writes it in one transaction under a temporary
 * name; the file gets its own name when all is there, so a file that exists is whole. Opening it
 * checks that culprit wrote it, in a version that is known. Tables: docs/store.md and
 * store/schema.c.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/util.h"

struct store;
struct sqlite3;
struct sqlite3_stmt;

/* Begins a new store that will become `path` when store_commit succeeds. */
struct store *store_create(const char *path, struct err *e);
/* A store in memory, for reading what never becomes a file; name is what messages call it. */
struct store *store_create_memory(const char *name, struct err *e);
/* Writes everything and gives the file its name. The store is still open, for reading. */
bool store_commit(struct store *s, struct err *e);
/* Opens an existing store for reading; one of an older version is migrated in memory, newer ones
 * are refused. */
struct store *store_open(const char *path, struct err *e);
/* The same without looking at tables and values, which takes most of the time: for a few numbers of a result that was
 * checked when it came into the cache. */
struct store *store_glance(const char *path, struct err *e);
/* Makes a store of an open database with other tables (store/results.h), for queries alone. The store
 * owns db; path is what messages call it. */
struct store *store_adopt(struct sqlite3 *db, const char *path, struct err *e);
/* Closes the store; removes a new one that was not committed. */
void store_close(struct store *s);
/* Replaces an open store by a copy of it in memory, whose rows can be changed; the file is not touched. */
bool store_detach(struct store *s, struct err *e);
const char *store_path(const struct store *s);

/*
 * Inserts a row, values in the order of the table's columns. types has a letter per column: i
 * int64_t, d double, s const char * (NULL is NULL), b bytes (const void *, size_t), n NULL (no
 * argument).
 */
bool store_insert(struct store *s, struct err *e, const char *table, const char *types, ...);
/* The same for a row whose columns are known only at run time, at most 31. */
struct store_value {
	char type; /* i, d, s or n */
	int64_t number;
	double real;
	const char *text;
};
bool store_insert_values(struct store *s, struct err *e, const char *table,
			 const struct store_value *values, size_t count);

/*
 * A query: store_query, then store_next until it is false, then store_done, which is false with a
 * message if anything went wrong. Parameters ?1, ?2, … are bound from types and the arguments as in
 * store_insert.
 */
struct store_rows {
	struct sqlite3_stmt *stmt;
	struct store *store;
	int status;
};
struct store_rows store_query(struct store *s, const char *sql, const char *types, ...);
bool store_next(struct store_rows *r);
int64_t store_int(const struct store_rows *r, int column);
double store_double(const struct store_rows *r, int column);
/* A text as it is in the file: to look things up, never to show. Valid until store_next; NULL
 * for NULL. */
const char *store_text(const struct store_rows *r, int column);
/* Bytes; valid until store_next. NULL if there are none. */
const void *store_blob(const struct store_rows *r, int column, size_t *size_bytes);
bool store_is_null(const struct store_rows *r, int column);
/* A text that is safe to show (util/text.h). Valid until store_next; NULL for NULL. */
const char *store_shown(const struct store_rows *r, int column);
bool store_done(struct store_rows *r, struct err *e);

/* Lets queries call f on a text. What it returns was allocated and is freed; NULL: the text itself. */
bool store_teach(struct store *s, const char *name, char *(*f)(const char *text), struct err *e);

/* The one number that a query gives; fallback if it gives none. */
int64_t store_number(struct store *s, const char *sql, int64_t fallback);

/* Gives a profile that is a file, and not open, rows of another's table run; those that the other does not
 * have go (edit.c). */
bool store_take_run(const char *path, struct store *from, const char *const *keys, size_t count,
		    struct err *e);

#define STORE_APPLICATION_ID 0x63756c70 /* "culp" */
#define STORE_VERSION	     13
/* Ids of profilers of the user's own, and of their samplers, begin here. */
#define STORE_OWN_PROFILERS 64
/* schema.c: the statements that turn version v - 1 into v; entry 0 is unused. */
extern const char *const store_versions[STORE_VERSION + 1];

#endif
