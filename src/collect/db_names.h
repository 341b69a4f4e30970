/* SPDX-License-Identifier: MIT */
/*
 * The numbers of images, processes and events for a writer: those of the database's rows. Numbers
 * are given at once, from ranges that were reserved, and rows are written later, with the counts.
 * Private to collect/.
 */
#ifndef COLLECT_DB_NAMES_H
#define COLLECT_DB_NAMES_H

#include "collect/db_int.h"

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
/* After the transaction: its rows are there, or all of them still wait. */
void db_names_written(struct db_names *n, bool committed);

/* The number of the row that stands for ours. */
uint32_t db_names_row_of_image(const struct db_names *n, uint32_t id);
uint32_t db_names_row_of_process(const struct db_names *n, uint32_t id);

#endif
