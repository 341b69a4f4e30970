/* SPDX-License-Identifier: MIT */
/*
 * Looks at no record but the ends of each batch: the smallest analysis, and what the bus itself
 * costs. Its row in the table counter: null.cycles. (How many records there are depends on what
 * others want to know.)
 */
#include "analysis/null.h"

#include "store/store.h"

struct null {
	uint64_t cycles;
};

static bool null_batch(void *state, const struct rec_inst *insts, size_t ninsts,
		       const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct null *n = state;
	if (ncycles) /* which leave no gap between them (R1) */
		n->cycles +=
		    cycles[ncycles - 1].cycle + cycles[ncycles - 1].repeat - cycles[0].cycle;
	return true;
}

static bool null_merge(void *into, void *from, struct err *e)
{
	struct null *a = into, *b = from;
	a->cycles += b->cycles;
	return true;
}

static bool null_finish(void *state, struct store *store, struct err *e)
{
	struct null *n = state;
	return !store || store_insert(store, e, "counter", "si", "null.cycles", (int64_t)n->cycles);
}

const struct analysis null_analysis = {
	.name = "null",
	.summary = "counts cycles: what the bus itself costs",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_BRIEF | WANT_EMPTY,
	.state_size = sizeof(struct null),
	.batch = null_batch,
	.merge = null_merge,
	.finish = null_finish,
};
