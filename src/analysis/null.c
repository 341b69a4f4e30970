/* SPDX-License-Identifier: MIT */
/*
 * The smallest analysis: it looks only at the ends of each batch, so a run with it shows what the
 * bus itself costs. Its row in the table counter is null.cycles. It does not count records, because
 * their number depends on what other analyses want.
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
	if (ncycles) /* cycle records leave no gap (R1) */
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
	.wants = WANT_CYCLES | WANT_INSTS | WANT_LESS,
	.state_size = sizeof(struct null),
	.batch = null_batch,
	.merge = null_merge,
	.finish = null_finish,
};
