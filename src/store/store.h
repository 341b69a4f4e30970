/* SPDX-License-Identifier: MIT */
/*
 * The profile store: one SQLite file per run. A run writes it in one transaction into a file beside
 * its final name, which it gets only when all is there; so a file that exists is whole. Readers
 * check that it is one of ours and of a version that they know. Tables: docs/store.md and
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
/* Writes everything and gives the file its name. The store is still open, for reading. */
bool store_commit(struct store *s, struct err *e);
/* Opens an existing store for reading; older versions are brought up to date in memory. */
struct store *store_open(const char *path, struct err *e);
/* Closes; a new store that was not committed is removed without a trace. */
void store_close(struct store *s);
const char *store_path(const struct store *s);

/*
 * Inserts a row, values in the order of the table's columns. types has a letter per column: i
 * int64_t, d double, s const char * (NULL is NULL), n NULL (no argument).
 */
bool store_insert(struct store *s, struct err *e, const char *table, const char *types, ...);

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
/* A text as it is in the file: for looking things up, never for showing. */
const char *store_text(const struct store_rows *r,
		       int column); /* valid until store_next; NULL if null */
bool store_is_null(const struct store_rows *r, int column);
/* A text as it may be shown (util/text.h); lives until the next row. NULL for NULL. */
const char *store_shown(const struct store_rows *r, int column);
bool store_done(struct store_rows *r, struct err *e);

/* The one number that a query gives; fallback if it gives none. */
int64_t store_number(struct store *s, const char *sql, int64_t fallback);

#define STORE_APPLICATION_ID 0x63756c70 /* "culp" */
#define STORE_VERSION	     2
extern const char store_schema[]; /* schema.c */
/* store_migrations[v] turns version v into v + 1; entry 0 is unused. */
extern const char *const store_migrations[];

#endif
