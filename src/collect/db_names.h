/* SPDX-License-Identifier: MIT */
/*
 * The numbers of images, processes and events for a writer: those of the database's rows. Numbers
 * are given at once, from ranges that were reserved, and rows are written later, with the counts.
 * Private to collect/.
 */
#ifndef COLLECT_DB_NAMES_H
#define COLLECT_DB_NAMES_H

#include "collect/db_int.h"
#include "collect/held.h"

struct db_names;

/* boot_id: what the processes belong to. */
struct db_names *db_names_new(struct db *d, const char *boot_id, uint64_t kept_max_bytes);
void db_names_free(struct db_names *n);
/* Never fails: the image of what is unknown where the database has no more numbers. */
uint32_t db_names_image(struct db_names *n, const struct live_image *i);
uint32_t db_names_process(struct db_names *n, const struct live_process *p);
uint32_t db_names_event(struct db_names *n, const struct live_event *e);

/* Writes some rows that wait, inside a transaction; *more: there are others. A row that another
 * writer has made meanwhile is used instead of ours. */
bool db_names_write(struct db_names *n, bool *more, struct err *e);
/* Before packs are written inside a transaction: the epoch that began in this second needs the row. */
bool db_names_need(struct db_names *n, enum held_kind kind, uint32_t row, int64_t second,
		   struct err *e);
/* The second that new rows get; 0: not known yet. */
void db_names_begin(struct db_names *n, int64_t second);
/* Marks what waits to be written; forgets rows that are gone (db_prune.c). */
void db_names_hold(const struct db_names *n, struct held *h);
void db_names_forget(struct db_names *n, const struct held *gone);
/* After the transaction: its rows are there, or all of them still wait. */
void db_names_written(struct db_names *n, bool committed);

/* The number of the row that stands for ours. */
uint32_t db_names_row_of_image(const struct db_names *n, uint32_t id);
uint32_t db_names_row_of_process(const struct db_names *n, uint32_t id);

#endif
