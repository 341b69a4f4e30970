/* SPDX-License-Identifier: MIT */
/* What the files of the database share: SQLite behind a narrow interface. Private to collect/. */
#ifndef COLLECT_DB_INT_H
#define COLLECT_DB_INT_H

#include <sqlite3.h>

#include "collect/db.h"
#include "collect/db_pack.h"

#define DB_APPLICATION_ID 0x63756c64 /* "culd" */
#define DB_VERSION	  2
#define DB_FILE		  "profile.db"

/* Values of columns for "none". */
#define DB_NONE (-1)

enum db_state { DB_BUILDING, DB_EPOCH_OPEN, DB_CLOSED };

struct db {
	sqlite3 *sql;
	char *path;
	bool may_write;
	int lock;    /* descriptor of the owner's lock; -1: not the owner */
	int writers; /* descriptor of the lock that writers share; -1: a reader */
	bool alone;  /* we have it for ourselves, until a transaction ends */
	struct {
		const char *text; /* the literal itself: found by its address */
		sqlite3_stmt *stmt;
	} cached[48];
	size_t ncached;
	struct db_merge *merge;	  /* under way; db_merge.c */
	struct db_writer *writer; /* that writes into it; NULL: none */
};

/* Fills e from SQLite's last error. */
bool db_fail(struct db *d, const char *what, struct err *e);
/* Statements without parameters and results. */
bool db_exec(struct db *d, const char *sql, struct err *e);
/*
 * One statement, a literal, with parameters by types: i int64_t, d double, s const char * (copied),
 * b const uint8_t * and size_t (not copied: must live until the statement has run), n NULL.
 */
bool db_run(struct db *d, struct err *e, const char *sql, const char *types, ...);

struct db_rows {
	struct db *db;
	sqlite3_stmt *stmt;
	int status;
	bool cached;
};
/* The text must be a literal. db_rows_done must follow before the same query is asked again. */
struct db_rows db_query(struct db *d, const char *sql, const char *types, ...);
bool db_next(struct db_rows *r);
#define db_int(r, column)  ((int64_t)sqlite3_column_int64((r)->stmt, column))
#define db_real(r, column) sqlite3_column_double((r)->stmt, column)
/* Never NULL; valid until db_next. */
const char *db_text(const struct db_rows *r, int column);
const uint8_t *db_blob(const struct db_rows *r, int column, size_t *size);
bool db_done(struct db_rows *r, struct err *e);
/* The one number that a query gives. */
int64_t db_number(struct db *d, const char *sql, int64_t fallback);

/* Transactions. db_end commits if ok, and rolls back if not or if that fails. */
bool db_begin(struct db *d, struct err *e);
bool db_end(struct db *d, bool ok, struct err *e);

/* Processor time of this thread. */
uint64_t db_cpu_ns(void);
/* A random name that no other epoch has; 33 bytes. */
void db_uuid(char out[33]);
/* What an image is told apart by; the caller frees. */
char *db_image_key(const struct live_image *i);

/*
 * Packs of one cut, by the numbers of rows; inside a transaction. db_put_counts sorts, and adds up
 * what is the same; the counts are all of one image. db_put_stacks takes stacks of one event and
 * process, and db_put_edges edges of one image, each once.
 */
bool db_put_counts(struct db *d, int64_t data, int64_t cut, struct live_count *c, size_t n,
		   struct err *e);
bool db_put_stacks(struct db *d, int64_t data, int64_t cut, const struct live_stack *s, size_t n,
		   struct err *e);
bool db_put_edges(struct db *d, int64_t data, int64_t cut, const struct live_edge *x, size_t n,
		  struct err *e);
/* One pack: counts of one image, event, process and processor, by offset, each offset once. */
bool db_put_group(struct db *d, int64_t data, int64_t cut, const int64_t key[4],
		  const struct db_count *c, size_t n, struct err *e);
/* A number for packs that no other has, inside a transaction. */
int64_t db_new_data(struct db *d);

/* The writer's part of what db_prune.c asks: marks the numbers of counts that wait, and forgets the
 * rows that are gone. When its epoch began, or will begin. */
struct held;
void db_writer_hold(struct db_writer *w, struct held *h);
void db_writer_forget(struct db_writer *w, const struct held *gone);
uint64_t db_writer_begin_ns(const struct db_writer *w);

/* Removes waste: what unfinished work left, and what no epoch needs. db_keep.c */
bool db_clean(struct db *d, struct err *e);
void db_merge_free(struct db *d);

#endif
