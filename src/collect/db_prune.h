/* SPDX-License-Identifier: MIT */
/* Removing rows of processes and images that no epoch needs any more. Private to collect/. */
#ifndef COLLECT_DB_PRUNE_H
#define COLLECT_DB_PRUNE_H

#include "collect/db.h"

/* Removes some of them, inside a transaction; *more: there may be others. */
bool db_prune_piece(struct db *d, const struct db_keep *k, bool *more, struct err *e);
/* After the transaction: other processes may write again. */
void db_prune_end(struct db *d);

#endif
