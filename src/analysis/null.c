/* SPDX-License-Identifier: MIT */
/*
 * Counts records and nothing else: the smallest analysis, and what the bus itself costs. Its rows
 * in the table counter: null.cycle_records, null.inst_records, null.cycles, null.instructions.
 */
#include "analysis/null.h"

#include "store/store.h"

struct null {
	uint64_t cycles, insts;
};

static bool null_batch(void *state, const struct rec_inst *insts, size_t ninsts,
		       const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct null *n = state;
	for (size_t i = 0; i < ninsts; i++)
		n->insts += insts[i].flags & RI_COMMITTED;
	for (size_t i = 0; i < ncycles; i++)
		n->cycles += cycles[i].repeat;
	return true;
}

static bool null_merge(void *into, void *from, struct err *e)
{
	struct null *a = into, *b = from;
	a->cycles += b->cycles;
	a->insts += b->insts;
	return true;
}

static bool null_finish(void *state, struct store *store, struct err *e)
{
	struct null *n = state;
	return !store ||
	       (store_insert(store, e, "counter", "si", "null.cycles", (int64_t)n->cycles) &&
		store_insert(store, e, "counter", "si", "null.instructions", (int64_t)n->insts));
}

const struct analysis null_analysis = {
	.name = "null",
	.summary = "counts records: what tracing itself costs",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_BRIEF,
	.state_size = sizeof(struct null),
	.batch = null_batch,
	.merge = null_merge,
	.finish = null_finish,
};
