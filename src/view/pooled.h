/* SPDX-License-Identifier: MIT */
/* Profiler tip-pooled: TIP's samples of a stored run, with executions pooled (calc/pool.h). */
#ifndef VIEW_POOLED_H
#define VIEW_POOLED_H

#include "calc/pool.h"
#include "store/store.h"

#define POOLED_PROFILER "tip-pooled"

struct pooled {
	uint64_t *pcs; /* sorted */
	struct pool_time *times;
	uint32_t count;
	bool truth; /* bias and limit are known */
};

/* Whether the store has what it takes: run with --param pooled=1, and not sampled at points alone. */
bool pooled_has(struct store *s);
/* Estimates, intervals and what else there is; estimates and limits add up to the run. */
bool pooled_read(struct store *s, struct pooled *p, struct err *e);
void pooled_free(struct pooled *p);
/* The time of an instruction; NULL: none. */
const struct pool_time *pooled_at(const struct pooled *p, uint64_t pc);

#endif
