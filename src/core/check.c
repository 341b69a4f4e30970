/* SPDX-License-Identifier: MIT */
/* Invariants of the pipeline, for debug builds, and a picture of its state, for messages about
 * bugs. */
#include "core/pipe.h"

#include <inttypes.h>

void core_dump(const struct core *c, FILE *f)
{
	static const char *const states[] = { "fetching", "waits for the I-cache",
					      "waits for a trap", "stuck", "over" };

	fprintf(f, "cycle %" PRIu64 ": head %" PRIu64 " disp %" PRIu64 " tail %" PRIu64 "\n",
		c->now, c->head, c->disp, c->tail);
	fprintf(f,
		"fetch: %s at %#" PRIx64 "%s, not before %" PRIu64 ", packets %u, buffered %" PRIu64
		"\n",
		states[c->front.state], c->front.pc, c->front.wrong ? " (wrong path)" : "",
		c->front.time, c->front.packets_used, c->front.buffered);
	fprintf(f,
		"queues %u %u %u ready %u %u %u, int %u fp %u, loads %u, branches %u, serial %d\n",
		c->win.iq_used[0], c->win.iq_used[1], c->win.iq_used[2], c->win.nready[0],
		c->win.nready[1], c->win.nready[2], c->win.int_used, c->win.fp_used, c->lsu.lq_used,
		c->win.branches_used, c->win.serial);
	fprintf(f,
		"stores: head %" PRIu64 " next %" PRIu64 " commit %" PRIu64 " tail %" PRIu64
		" complete %u drain not before %" PRIu64 "\n",
		c->lsu.sq_head, c->lsu.sq_next, c->lsu.sq_commit, c->lsu.sq_tail,
		c->lsu.sq_complete, c->lsu.drain_time);
	fprintf(f, "memory: next event %" PRIu64 ", retrying %d at %" PRIu64 "\n",
		memsys_next_event(c->mem), c->lsu.retrying, c->lsu.retry_time);
	for (uint64_t po = c->head; po < c->tail && po < c->head + 16; po++) {
		const struct inflight *e = at(c, po);
		char text[96];

		isa_disasm(&e->u->in, e->u->pc, DISASM_ALIASES, text, sizeof(text));
		fprintf(f,
			"  %" PRIu64 "%s %#" PRIx64 " %s: state %#x pending %u addr %#" PRIx64 "\n",
			po, po < c->disp ? "" : " (front end)", e->u->pc, text, e->state,
			e->pending, e->addr);
	}
}

void core_check(const struct core *c)
{
	uint32_t iq[QUEUES] = { 0 }, ints = 0, fps = 0, loads = 0, stores = 0, branches = 0;
	bool serial = false;

	assert(c->head <= c->disp && c->disp <= c->tail &&
	       c->tail - c->head <= (uint64_t)c->mask + 1);
	assert(c->disp - c->head <= c->win.rob_size);
	for (uint64_t po = c->head; po < c->disp; po++) {
		const struct inflight *e = at(c, po);

		iq[e->queue] += !(e->state & ST_ISSUED);
		ints += e->dst && !(e->uflags & UOP_FP_DST);
		fps += e->dst && (e->uflags & UOP_FP_DST);
		loads += !!(e->uflags & UOP_LOAD);
		stores += !!(e->uflags & UOP_STORE);
		branches += (e->uflags & UOP_TAGGED) && !(e->state & ST_RESOLVED);
		serial |= !!(e->uflags & UOP_SERIAL);
		assert(!(e->state & ST_DONE) || !e->pending);
		assert(!(e->state & ST_ISSUED) || (e->state & ST_READY));
		/* An instruction that has issued and is not done waits for something that comes. */
		assert(!(e->state & ST_ISSUED) || (e->state & ST_DONE) ||
		       (e->state & (ST_EVENT | ST_MEM | ST_WAIT_STORE | ST_ADDR)) ||
		       is_ready(c, slot_of(c, po), e->queue) ||
		       (c->lsu.retry[slot_of(c, po) / 64] >> (slot_of(c, po) & 63) & 1));
		if (po > c->head && !(e->state & ST_WRONG) && !(at(c, po - 1)->state & ST_WRONG))
			assert(((at(c, po - 1)->next_pc ^ e->u->pc) << (64 - REC_PC_BITS)) == 0);
	}
	for (unsigned q = 0; q < QUEUES; q++) {
		uint32_t n = 0;

		for (uint32_t w = 0; w <= c->mask / 64; w++)
			n += (uint32_t)__builtin_popcountll(c->win.ready[q][w]);
		assert(n == c->win.nready[q]);
		(void)n;
		assert(iq[q] == c->win.iq_used[q] && iq[q] <= c->win.iq_size[q]);
	}
	assert(ints == c->win.int_used && ints <= c->win.int_size && fps == c->win.fp_used &&
	       fps <= c->win.fp_size);
	assert(loads == c->lsu.lq_used && loads <= c->lsu.lq_size);
	assert(stores == c->lsu.sq_tail - c->lsu.sq_commit && c->lsu.sq_head <= c->lsu.sq_next &&
	       c->lsu.sq_next <= c->lsu.sq_commit && c->lsu.sq_commit <= c->lsu.sq_tail);
	assert(branches == c->win.branches_used && serial == c->win.serial);
	if (c->front.ahead)
		ahead_check(c);
	(void)ints, (void)fps, (void)loads, (void)stores, (void)branches, (void)serial;
}
