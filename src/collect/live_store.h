/* SPDX-License-Identifier: MIT */
/* A live profile as a store, which all views read: its tables, with names, lines and code. */
#ifndef COLLECT_LIVE_STORE_H
#define COLLECT_LIVE_STORE_H

#include "collect/live.h"
#include "store/store.h"

/* Writes a profile as a file, under its name when it is complete. */
bool live_store_write(struct live_profile *p, const char *path, struct err *e);
/* The same tables in memory, for views of what was selected from a database; name is what messages
 * call it. NULL: it cannot be made. */
struct store *live_store_open(struct live_profile *p, const char *name, struct err *e);

#endif
