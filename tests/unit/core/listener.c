/* SPDX-License-Identifier: MIT */
/* Checks invariants R1 to R5 on each batch of records, and sums for the tests (listener.h). */
#include "listener.h"

#include <string.h>

static void check_committed(struct listener *l, const struct rec_inst *r)
{
	assert_int_equal(r->po, l->next_po);
	l->next_po++;
	l->committed++;
	assert_true(r->seq > l->last_seq);
	l->last_seq = r->seq;
	/* R4 */
	assert_true(r->decode <= r->dispatch && r->dispatch <= r->ready && r->ready <= r->issue &&
		    r->issue < r->complete && r->complete <= r->commit && r->commit != STAMP_NONE);
	for (unsigned i = 0; i < 3; i++)
		assert_true(r->prod[i] < r->po);
	assert_true(r->prod_mem < r->po && r->prod_line < r->po);
	assert_true(!(r->psv & PSV_ST_LLC) || (r->psv & PSV_ST_L1));
	assert_true(r->lat_dtlb + r->lat_bus <= r->lat_dmiss || r->lat_dmiss == UINT16_MAX);
	for (unsigned i = 0; i < 32; i++)
		l->psv[i] += r->psv >> i & 1;
}

static void take_batch(struct emit *e)
{
	struct listener *l = (struct listener *)e;

	for (size_t i = 0; i < e->ninsts; i++) {
		if (e->insts[i].flags & RI_COMMITTED)
			check_committed(l, &e->insts[i]);
		else
			l->squashed++;
	}
	for (size_t i = 0; i < e->ncycles; i++) {
		const struct rec_cycle *r = &e->cycles[i];

		if (l->next_cycle)
			assert_int_equal(r->cycle, l->next_cycle); /* R1 */
		assert_true(r->repeat >= 1);
		if (r->ncommit || r->ndispatch || r->nfetch)
			assert_int_equal(r->repeat, 1);
		l->next_cycle = r->cycle + r->repeat;
		l->total_cycles += r->repeat;
		if (r->ncommit)
			assert_int_equal(r->head_po, l->committed_cycles + 1);
		l->committed_cycles += r->ncommit;
		/* R3: the records of all instructions that commit in this cycle have come. */
		assert_true(l->committed_cycles <= l->committed);
		assert_int_equal(!!(r->flags & RC_ROB_EMPTY), !r->head_po);
		if (r->flags & RC_ROB_EMPTY) {
			assert_int_equal(r->ncommit, 0);
			l->flush_cycles[r->flush_cause] += r->repeat;
		}
		if (!r->ndispatch)
			l->stalls[r->dispatch_stall] += r->repeat;
	}
	e->ninsts = e->ncycles = 0;
}

struct core_stats listen(struct listener *l, struct kernel_run k, uint64_t rounds, unsigned wants)
{
	memset(l, 0, sizeof(*l));
	l->next_po = 1;
	l->emit = (struct emit){ .cycles = l->cycles,
				 .insts = l->insts,
				 .max_cycles = BATCH,
				 .max_insts = BATCH,
				 .wants = wants,
				 .full = take_batch };
	k.emit = &l->emit;

	struct core_stats s = run_kernel(&k, rounds);

	take_batch(&l->emit);
	assert_int_equal(l->committed, s.insts);
	assert_int_equal(l->committed_cycles, s.insts); /* R5 */
	assert_int_equal(l->total_cycles, s.cycles);
	if (wants & WANT_SQUASHED)
		assert_int_equal(l->squashed, s.squashed);
	return s;
}
