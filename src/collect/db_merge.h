/* SPDX-License-Identifier: MIT */
/* A merge of epochs under way, in pieces. Private to collect/. */
#ifndef COLLECT_DB_MERGE_H
#define COLLECT_DB_MERGE_H

#include "collect/db_int.h"

#define DB_MERGE_MAX 64 /* epochs at once */

/* All of these are called inside a transaction. Begins a merge of these closed epochs into the first of
 * them; the one that is under way, if any, must have ended. */
bool db_merge_begin(struct db *d, const int64_t *ids, size_t n, struct err *e);
/* One piece: about as much work as one pack. *ended: the merge is published once the transaction is
 * committed. */
bool db_merge_piece(struct db *d, bool *ended, struct err *e);

/* Where a merge stands; or that there is none. */
struct db_merge_place {
	int phase;
	int64_t done[4];
};
struct db_merge_place db_merge_place(const struct db *d);
/* Goes back there, after a transaction that failed. */
void db_merge_return(struct db *d, const struct db_merge_place *p);
/* The number under which the merge files its sums; 0: none is under way. */
int64_t db_merge_number(const struct db *d);

#endif
