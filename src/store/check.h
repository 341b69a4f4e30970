/* SPDX-License-Identifier: MIT */
/* Whether a profile is one that culprit could have written. Private to store/. */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include "store/store.h"

/* The file has the tables of that version, perhaps of later ones, and nothing else: no views, triggers,
 * virtual tables, generated columns or statistics. */
bool store_check_schema(struct store *s, int version, struct err *e);
/* All values are of the right type and in a range with which readers can compute. */
bool store_check_values(struct store *s, struct err *e);

#endif
