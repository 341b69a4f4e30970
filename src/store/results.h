/* SPDX-License-Identifier: MIT */
/*
 * The results of a campaign: one SQLite file that grows while runs end, with a row per run. It is
 * written by one runner and read by anybody at any time. Tables: docs/campaigns.md.
 *
 * The file has a rollback journal and every commit is on the disk before it returns, so whatever is
 * killed leaves the last commit. (A write-ahead log would need memory shared by all who read, which
 * network file systems do not have.)
 */
#ifndef STORE_RESULTS_H
#define STORE_RESULTS_H

#include "store/store.h"

#define RESULTS_APPLICATION_ID 0x63756c63 /* "culc" */
#define RESULTS_VERSION	       1

enum results_mode { RESULTS_READ, RESULTS_WRITE };

/* Opens the file, and makes it if it is to be written; queries as in store.h. NULL and e filled if
 * it cannot be opened or is something else. */
struct store *results_open(const char *path, enum results_mode mode, struct err *e);

/* Runs a statement without rows; arguments as of store_query. */
#define RESULTS_DO(s, e, ...)                                                                      \
	({                                                                                         \
		struct store_rows rows_ = store_query((s), __VA_ARGS__);                           \
		store_next(&rows_);                                                                \
		store_done(&rows_, (e));                                                           \
	})

#endif
