/* SPDX-License-Identifier: MIT */
/* Windows of the pipeline that a profile keeps (analysis `windows`). */
#ifndef VIEW_STRETCHES_H
#define VIEW_STRETCHES_H

#include "store/store.h"
#include "view/html.h"
#include "view/model.h"

/*
 * Appends the windows of a store, of `count` committed instructions each: around the costliest instance of
 * every event, costliest first; around the costliest instance that was kept of each instruction that a
 * finding is about; and at equal distances over the run. None if the store has no stretches. False
 * and e filled if they cannot be read.
 */
bool stretches_windows(struct store *s, const struct model *m, unsigned run, size_t count,
		       struct html_windows *out, struct err *e);

#endif
