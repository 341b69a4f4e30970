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
		states[c->fetch_state], c->fetch_pc, c->wrong ? " (wrong path)" : "", c->fetch_time,
		c->packets_used, c->buffered);
	fprintf(f,
		"queues %u %u %u ready %u %u %u, int %u fp %u, loads %u, branches %u, serial %d\n",
		c->iq_used[0], c->iq_used[1], c->iq_used[2], c->nready[0], c->nready[1],
		c->nready[2], c->int_used, c->fp_used, c->lq_used, c->branches_used, c->serial);
	fprintf(f,
		"stores: head %" PRIu64 " next %" PRIu64 " commit %" PRIu64 " tail %" PRIu64
		" complete %u drain not before %" PRIu64 "\n",
		c->sq_head, c->sq_next, c->sq_commit, c->sq_tail, c->sq_complete, c->drain_time);
	fprintf(f, "memory: next event %" PRIu64 ", retrying %d at %" PRIu64 "\n",
		memsys_next_event(c->mem), c->retrying, c->retry_time);
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
	assert(c->disp - c->head <= c->rob_size);
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
		/* Whoever has issued and is not done waits for something that will come. */
		assert(!(e->state & ST_ISSUED) || (e->state & ST_DONE) ||
		       (e->state & (ST_EVENT | ST_MEM | ST_WAIT_STORE | ST_ADDR)) ||
		       is_ready(c, slot_of(c, po), e->queue) ||
		       (c->retry[slot_of(c, po) / 64] >> (slot_of(c, po) & 63) & 1));
		if (po > c->head && !(e->state & ST_WRONG) && !(at(c, po - 1)->state & ST_WRONG))
			assert(((at(c, po - 1)->next_pc ^ e->u->pc) << (64 - REC_PC_BITS)) == 0);
	}
	for (unsigned q = 0; q < QUEUES; q++) {
		uint32_t n = 0;

		for (uint32_t w = 0; w <= c->mask / 64; w++)
			n += (uint32_t)__builtin_popcountll(c->ready[q][w]);
		assert(n == c->nready[q]);
		(void)n;
		assert(iq[q] == c->iq_used[q] && iq[q] <= c->iq_size[q]);
	}
	assert(ints == c->int_used && ints <= c->int_size && fps == c->fp_used &&
	       fps <= c->fp_size);
	assert(loads == c->lq_used && loads <= c->lq_size);
	assert(stores == c->sq_tail - c->sq_commit && c->sq_head <= c->sq_next &&
	       c->sq_next <= c->sq_commit && c->sq_commit <= c->sq_tail);
	assert(branches == c->branches_used && serial == c->serial);
	(void)ints, (void)fps, (void)loads, (void)stores, (void)branches, (void)serial;
}
