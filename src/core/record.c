/* SPDX-License-Identifier: MIT */
/*
 * The records of trace/record.h: what happens only because somebody listens.
 *
 * Stages keep notes per instruction (core.notes, absent when nobody listens); an instruction's
 * record is put together when it leaves. A cycle's record says what held at its beginning
 * (record_start) and what happened in it; cycles that were skipped are the repeat of the last one,
 * in which nothing moved. Where all listeners are content with brief records there are no notes.
 */
#include "core/pipe.h"

/* What is left to say of an instruction that leaves, beside what was noted on its way. */
static void finish_notes(const struct core *c, const struct inflight *e, const struct uop *u,
			 struct rec_notes *n)
{
	if (u->flags & (UOP_LOAD | UOP_STORE | UOP_HINT))
		n->addr = e->addr;
	if (n->issue == STAMP_NONE || !(c->wants & WANT_LATENCIES))
		return;
	n->lat_fu = clip_u16(n->issue > n->ready ? n->issue - n->ready : 0);
	if (n->complete != STAMP_NONE) {
		uint32_t exec = n->complete - n->issue;

		if (u->flags & UOP_SPLIT)
			exec = 1; /* the rest was waiting for its data */
		else if (u->flags & UOP_LOAD)
			exec -= exec < n->lat_dmiss ? exec : n->lat_dmiss;
		n->lat_exec = clip_u16(exec);
	}
}

void record_inst(struct core *c, uint64_t po, bool committed)
{
	uint32_t slot = slot_of(c, po);
	const struct inflight *e = &c->ring[slot];
	const struct uop *u = e->u;
	/* One more than was reserved, if ever, opens a new batch: earlier than its cycle's, as R3
	 * allows. */
	emit_reserve(c->emit, 1);
	struct rec_inst *r = emit_inst(c->emit);
	uint32_t flags = u->rec_flags | e->flags | (committed ? RI_COMMITTED : 0);

	if (e->state & ST_MISPREDICT)
		flags |= RI_MISPREDICT;
	r->seq = e->seq;
	r->po = po;
	r->pc = u->pc;
	r->fetch = e->fetch;
	r->target = e->next_pc;
	r->commit = (uint32_t)(c->now - e->fetch);
	r->word = u->in.word;
	r->psv = e->psv;
	r->flags = flags;
	r->tid = e->tid;
	r->size = u->mem_bytes;
	r->cls = u->cls;
	r->dispatch_stall = DISPATCH_OK;
	if (!c->notes)
		return;
	r->dispatch_stall = c->held[slot];
	/* Copied first: a wide load right after narrow stores into the notes would have to wait for
	 * them. */
	r->notes = c->notes[slot];
	finish_notes(c, e, u, &r->notes);
}

void record_dispatch(struct core *c, struct inflight *e, uint32_t slot)
{
	if (c->disp_waiter != e->seq)
		return;

	unsigned longest = DISPATCH_OK;

	for (unsigned i = 1; i < DISPATCH_STALL_COUNT; i++) {
		if (c->disp_wait[i] > (longest ? c->disp_wait[longest] : 0))
			longest = i;
		if (longest != i)
			c->disp_wait[i] = 0;
	}
	memset(c->disp_wait, 0, sizeof(c->disp_wait));
	c->disp_waiter = 0;
	if (c->held)
		c->held[slot] = (uint8_t)longest;
}

void record_start(struct core *c)
{
	uint64_t used = c->disp - c->head;

	c->start_head = used ? c->head : 0;
	c->start_rob = (uint32_t)used;
	c->start_flags = (!used ? RC_ROB_EMPTY : 0) | (used >= c->rob_size ? RC_ROB_FULL : 0) |
			 (c->wrong ? RC_WRONG_PATH : 0);
	if (c->sq_tail - c->sq_head >= c->sq_size && c->sq_complete == c->sq_tail - c->sq_head)
		c->start_flags |= RC_SQ_FULL;
	c->start_seq = c->seq;
	c->start_fetch_po = c->wrong ? c->right_po : c->tail;
	c->start_fetch_pc = c->fetch_pc;
	c->start_head_pc = used ? at(c, c->head)->u->pc : 0;
}

/* What the oldest waits for. Called when completions are done and nothing has committed yet. */
void record_head(struct core *c)
{
	uint32_t to_memory;

	if (c->notes && memsys_outstanding(c->mem, MEM_L1D, &to_memory)) {
		c->start_flags |= RC_DMISS_OUT;
		if (to_memory)
			c->start_flags |= RC_LONG_DMISS_OUT;
	}
	if (!c->start_head)
		return;

	uint32_t slot = slot_of(c, c->head);
	const struct inflight *e = &c->ring[slot];

	if (e->state & ST_DONE)
		c->start_flags |= RC_HEAD_DONE;
	/* A miss whose line's arrival was known when it was made does not wait for an answer. */
	bool missed = (e->state & ST_MEM) || ((e->u->flags & UOP_LOAD) && (e->state & ST_ISSUED) &&
					      (e->psv & (PSV_ST_L1 | PSV_ST_TLB)));
	if ((e->state & ST_DONE) || !missed || !c->notes)
		return;
	/* That it missed is known when a hit would have answered; a TLB miss at once. */
	uint64_t known = e->fetch + c->notes[slot].issue + c->cfg.mem.cache[MEM_L1D].latency;

	if (!(e->psv & PSV_ST_TLB) && known > c->now) {
		c->head_known = known;
		return;
	}
	if ((e->psv & PSV_ST_TLB) && memsys_walking(c->mem, false, e->addr))
		c->start_flags |= RC_HEAD_DTLB;
	else if (c->notes[slot].dlevel == LEVEL_MEM)
		c->start_flags |= RC_HEAD_LONG_DMISS;
	else if (c->notes[slot].dlevel <= LEVEL_L1 && (e->psv & PSV_ST_TLB))
		c->start_flags |= RC_HEAD_DTLB;
	else
		c->start_flags |= RC_HEAD_L1MISS;
}

void record_cycle(struct core *c, uint64_t repeat)
{
	if (c->notes && c->disp < c->tail && c->dispatch_stall > DISPATCH_EMPTY) {
		uint64_t waiter = at(c, c->disp)->seq;

		if (c->disp_waiter != waiter) {
			memset(c->disp_wait, 0, sizeof(c->disp_wait));
			c->disp_waiter = waiter;
		}
		c->disp_wait[c->dispatch_stall] += repeat;
	}
	if (!(c->wants & WANT_CYCLES))
		return;

	uint64_t first = c->now;

	/* `repeat` has 32 bits; a longer silence takes several records. */
	while (repeat) {
		struct rec_cycle *r = emit_cycle(c->emit);
		const struct inflight *waits = c->disp < c->tail ? at(c, c->disp) : NULL;
		bool ripe = waits && waits->fetch + c->depth <= c->now;

		r->cycle = first;
		r->repeat = (uint32_t)min_u64(repeat, UINT32_MAX);
		r->head_po = c->start_head;
		r->head_pc = c->start_head_pc;
		r->dispatch_seq = c->ndispatch ? c->first_dispatch_seq : ripe ? waits->seq : 0;
		r->dispatch_pc = c->ndispatch ? c->first_dispatch_pc : ripe ? waits->u->pc : 0;
		r->fetch_seq = c->start_seq;
		r->fetch_po = c->start_fetch_po;
		r->fetch_pc = c->start_fetch_pc;
		r->flush_po = c->flush_po;
		r->flush_pc = c->flush_pc;
		r->flags = (uint16_t)(c->start_flags | (c->flushed_now ? RC_FLUSH : 0));
		if (c->ndispatch ? c->first_dispatch_wrong : ripe && (waits->state & ST_WRONG))
			r->flags |= RC_DISPATCH_WRONG;
		r->rob_used = (uint16_t)min_u64(c->start_rob, UINT16_MAX);
		r->ncommit = (uint8_t)c->ncommit;
		r->ndispatch = (uint8_t)c->ndispatch;
		r->nfetch = (uint8_t)c->nfetch;
		r->nissue = (uint8_t)min_u64(c->nissue, UINT8_MAX);
		r->dispatch_stall = c->dispatch_stall;
		r->fetch_stall = c->fetch_stall;
		r->flush_cause = c->flush_now_cause;
		r->pad = 0;
		first += r->repeat;
		repeat -= r->repeat;
		if (repeat)
			emit_reserve(c->emit, 0);
	}
}
