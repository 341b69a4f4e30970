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

#define RECORD_AHEAD 8 /* records whose memory is fetched before it is written */

/* More leave in this cycle than a batch holds: they go ahead of their cycle, as R3 allows. */
static __attribute__((noinline, cold)) void next_batch(struct core *c)
{
	const bool cycles = c->wants & WANT_CYCLES;
	struct rec_cycle begun = cycles ? *c->rec : (struct rec_cycle){ 0 };

	c->emit->full(c->emit);
	if (cycles) {
		c->rec = &c->emit->cycles[c->emit->ncycles];
		*c->rec = begun;
	}
}

/*
 * What was noted of an instruction on its way, and what is left to say. Nothing is read from the
 * record, whose memory may still be on its way here; and the notes are copied before anything is
 * written, because a wide load right after narrow stores would have to wait for them.
 */
static void record_notes(const struct core *c, const struct inflight *e, uint32_t slot,
			 struct rec_inst *r)
{
	const struct rec_notes *n = &c->notes[slot];
	const struct uop *u = e->u;

	__builtin_prefetch(&r[RECORD_AHEAD].notes, 1);
	r->notes = *n;
	r->dispatch_stall = c->held[slot];
	if (u->flags & (UOP_LOAD | UOP_STORE | UOP_HINT))
		r->addr = e->addr;
	if (n->issue == STAMP_NONE || !(c->wants & WANT_LATENCIES))
		return;
	r->lat_fu = clip_u16(n->issue > n->ready ? n->issue - n->ready : 0);
	if (n->complete != STAMP_NONE) {
		uint32_t exec = n->complete - n->issue;

		if (u->flags & UOP_SPLIT)
			exec = 1; /* the rest was waiting for its data */
		else if (u->flags & UOP_LOAD)
			exec -= exec < n->lat_dmiss ? exec : n->lat_dmiss;
		r->lat_exec = clip_u16(exec);
	}
}

static bool is_resolved(const struct inflight *e)
{
	return (e->state & (ST_MISPREDICT | ST_DONE)) == (ST_MISPREDICT | ST_DONE);
}

void record_inst(struct core *c, uint64_t po, bool committed)
{
	uint32_t slot = slot_of(c, po);
	const struct inflight *e = &c->ring[slot];
	const struct uop *u = e->u;

	if (unlikely(c->emit->ninsts == c->emit->max_insts))
		next_batch(c);

	struct rec_inst *r = emit_inst(c->emit);

	__builtin_prefetch(r + RECORD_AHEAD, 1);
	memcpy(r, &e->seq, INFLIGHT_RECORD_BYTES);
	r->flags = e->flags | (committed ? RI_COMMITTED : is_resolved(e) ? RI_RESOLVED : 0);
	r->po = po;
	r->pc = u->pc;
	r->commit = (uint32_t)(c->now - e->fetch);
	r->word = u->in.word;
	r->tid = e->tid;
	r->size = u->mem_bytes;
	r->cls = u->cls;
	r->dispatch_stall = DISPATCH_OK;
	if (c->held)
		record_notes(c, e, slot, r);
}

void record_dispatch(struct core *c, struct inflight *e, uint32_t slot)
{
	if (c->disp_waiter != e->seq)
		return;

	unsigned longest = DISPATCH_OK;

	for (unsigned i = DISPATCH_OK + 1; i < DISPATCH_STALL_COUNT; i++)
		if (c->disp_wait[i] > c->disp_wait[longest])
			longest = i;
	memset(c->disp_wait, 0, sizeof(c->disp_wait));
	c->disp_waiter = 0;
	c->held[slot] = (uint8_t)longest;
}

/*
 * Notes are taken some time before records are made, so that all that leave then have whole ones:
 * when they begin, so many are in flight that were fetched before.
 */
void record_switch(struct core *c)
{
	const uint64_t fly = (uint64_t)c->mask + 1 + c->commit_width;

	if (c->head >= c->stretch.end)
		c->stretch = schedule_next(&c->emit->schedule, c->head);

	const uint64_t lead = c->stretch.lead;
	const bool notes = c->head + fly >= lead, insts = c->head + c->commit_width >= lead;

	c->record_any = notes;
	c->notes = notes ? c->all_notes : NULL;
	c->held = notes ? c->all_held : NULL;
	c->record_insts = insts;
	c->switch_po = insts ? c->stretch.end : lead - (notes ? c->commit_width : fly);
}

void record_start(struct core *c)
{
	struct rec_cycle *r = &c->emit->cycles[c->emit->ncycles];
	uint64_t used = c->disp - c->head;
	uint32_t flags = 0;

	c->rec = r;
	__builtin_prefetch(r + RECORD_AHEAD, 1);
	r->cycle = c->now;
	if (likely(used)) {
		r->head_po = c->head;
		r->head_pc = at(c, c->head)->u->pc;
		if (used >= c->rob_size)
			flags = RC_ROB_FULL;
	} else {
		r->head_po = r->head_pc = 0;
		flags = RC_ROB_EMPTY;
	}
	r->rob_used = (uint16_t)min_u64(used, UINT16_MAX);
	if (c->wrong)
		flags |= RC_WRONG_PATH;
	if (c->sq_tail - c->sq_head >= c->sq_size && c->sq_complete == c->sq_tail - c->sq_head)
		flags |= RC_SQ_FULL;
	c->start_flags = flags;
	if (c->wants & WANT_FETCH) {
		__builtin_prefetch(&r[RECORD_AHEAD].fetch_seq, 1);
		r->fetch_seq = c->seq;
		r->fetch_po = c->wrong ? c->right_po : c->tail;
		r->fetch_pc = c->fetch_pc;
	}
	c->flush_now_cause = c->flush_cause;
}

static uint32_t misses_out(struct core *c)
{
	uint64_t changes = memsys_changes(c->mem);
	uint32_t to_memory;

	if (unlikely(changes != c->out_changes)) {
		c->out_changes = changes;
		c->out_flags = 0;
		if (memsys_outstanding(c->mem, MEM_L1D, &to_memory))
			c->out_flags = RC_DMISS_OUT | (to_memory ? RC_LONG_DMISS_OUT : 0);
	}
	return c->out_flags;
}

/* What the oldest waits for. Called when completions are done and nothing has committed yet. */
void record_head(struct core *c)
{
	const bool all = c->wants & WANT_HEAD;

	if (all)
		c->start_flags |= misses_out(c);
	if (c->start_flags & RC_ROB_EMPTY)
		return;

	uint32_t slot = slot_of(c, c->head);
	const struct inflight *e = &c->ring[slot];

	if (e->state & ST_DONE) {
		c->start_flags |= RC_HEAD_DONE;
		return;
	}
	if (!all)
		return;
	/* A miss whose line's arrival was known when it was made does not wait for an answer. */
	bool missed = (e->state & ST_MEM) || ((e->u->flags & UOP_LOAD) && (e->state & ST_ISSUED) &&
					      (e->psv & (PSV_ST_L1 | PSV_ST_TLB)));
	if (!missed)
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

/* `repeat` has 32 bits; a longer silence takes several records. */
static void record_more(struct core *c, struct rec_cycle r, uint64_t repeat)
{
	while (repeat) {
		r.cycle += r.repeat;
		r.repeat = (uint32_t)min_u64(repeat, UINT32_MAX);
		repeat -= r.repeat;
		emit_reserve(c->emit, 0);
		*emit_cycle(c->emit) = r;
	}
}

void record_count(struct core *c, uint64_t repeat)
{
	struct emit *e = c->emit;

	emit_reserve(e, c->ncommit);
	e->ninsts += c->ncommit;
	if (likely(e->ncycles && repeat <= UINT32_MAX - e->cycles[e->ncycles - 1].repeat))
		e->cycles[e->ncycles - 1].repeat += (uint32_t)repeat;
	else
		record_more(c, (struct rec_cycle){ .cycle = c->now }, repeat);
}

void record_cycle(struct core *c, uint64_t repeat)
{
	if (c->held && c->disp < c->tail && c->dispatch_stall > DISPATCH_EMPTY) {
		uint64_t waiter = at(c, c->disp)->seq;

		if (c->disp_waiter != waiter) {
			memset(c->disp_wait, 0, sizeof(c->disp_wait));
			c->disp_waiter = waiter;
		}
		c->disp_wait[c->dispatch_stall] += repeat;
	}
	if (!c->record_cycles)
		return;

	struct rec_cycle *r = c->rec;
	uint32_t flags = c->start_flags | (c->flushed_now ? RC_FLUSH : 0);
	const struct uop *u = NULL;

	r->repeat = (uint32_t)min_u64(repeat, UINT32_MAX);
	r->dispatch_seq = 0;
	if (c->ndispatch) {
		r->dispatch_seq = c->first_dispatch_seq;
		u = c->first_dispatch;
		if (c->first_dispatch_wrong)
			flags |= RC_DISPATCH_WRONG;
	} else if (c->disp < c->tail) {
		const struct inflight *waits = at(c, c->disp);

		if (waits->fetch + c->depth <= c->now) {
			r->dispatch_seq = waits->seq;
			u = waits->u;
			if (waits->state & ST_WRONG)
				flags |= RC_DISPATCH_WRONG;
		}
	}
	r->flush_po = c->flush_po;
	r->flush_pc = c->flush_pc;
	r->flags = (uint16_t)flags;
	r->ncommit = (uint8_t)c->ncommit;
	r->ndispatch = (uint8_t)c->ndispatch;
	r->nfetch = (uint8_t)c->nfetch;
	r->nissue = (uint8_t)min_u64(c->nissue, UINT8_MAX);
	r->dispatch_stall = c->dispatch_stall;
	r->fetch_stall = c->fetch_stall;
	r->flush_cause = c->flushed_now ? c->flush_cause : c->flush_now_cause;
	r->pad = 0;
	if (c->wants & WANT_FETCH)
		r->dispatch_pc = u ? u->pc : 0;
	c->emit->ncycles++;
	if (unlikely(repeat > UINT32_MAX))
		record_more(c, *r, repeat - UINT32_MAX);
}
