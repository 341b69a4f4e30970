/* SPDX-License-Identifier: MIT */
/*
 * The records of trace/record.h: what happens only because somebody listens.
 *
 * Stages keep notes per instruction (core.notes, absent when nobody listens); an instruction's
 * record is put together when it leaves. A cycle's record says what held at its beginning, which is
 * what held at the end of the one before, and what happened in it: so a record is ended and the
 * next begun in one go. Cycles that were skipped are the repeat of the last one, in which nothing
 * moved. Where all listeners are content with brief records there are no notes.
 */
#include "core/pipe.h"

#define RECORD_AHEAD 8 /* records whose memory is fetched before it is written */

/* More leave in this cycle than a batch holds: they go ahead of their cycle, as R3 allows. */
static __attribute__((noinline, cold)) void next_batch(struct core *c)
{
	const bool cycles = c->record_cycles;
	struct rec_cycle begun = cycles ? *c->rec : (struct rec_cycle){ 0 };

	c->emit->full(c->emit);
	if (cycles) {
		c->rec = &c->emit->cycles[c->emit->ncycles];
		*c->rec = begun;
		c->rec_quiet = false;
	}
}

/*
 * What was noted of an instruction on its way, and what is left to say. Nothing is read from the
 * record, whose memory may still be on its way here; and the notes are copied before anything is
 * written, because a wide load right after narrow stores would have to wait for them.
 */
static void put_notes(const struct core *c, uint64_t po, struct rec_inst *r)
{
	const uint32_t slot = slot_of(c, po);
	const struct inflight *e = &c->ring[slot];
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

/*
 * An instruction's record, of pieces that stand together where they come from. Nothing may depend
 * on the record's memory, which is seldom in a near cache.
 */
static inline void put_line(const struct core *c, uint64_t po, uint32_t flags, struct rec_inst *r)
{
	const struct inflight *e = at(c, po);

	__builtin_prefetch(r + RECORD_AHEAD, 1);
	memcpy(&r->seq, &e->seq, INFLIGHT_RECORD_BYTES);
	memcpy(&r->pc, &e->u->pc, UOP_RECORD_BYTES);
	r->flags = e->flags | flags;
	r->po = po;
	r->commit = (uint32_t)(c->now - e->fetch);
	r->tid = e->tid;
}

void record_squashed(struct core *c, uint64_t po)
{
	if (unlikely(c->emit->ninsts == c->emit->max_insts))
		next_batch(c);

	struct rec_inst *r = emit_inst(c->emit);

	put_line(c, po, is_resolved(at(c, po)) ? RI_RESOLVED : 0, r);
	if (c->notes)
		put_notes(c, po, r);
}

void record_commits(struct core *c)
{
	struct emit *e = c->emit;
	uint64_t po = c->head - c->ncommit;

	while (po < c->head) {
		if (unlikely(e->ninsts == e->max_insts))
			next_batch(c);

		const uint64_t n = min_u64(c->head - po, e->max_insts - e->ninsts);
		struct rec_inst *r = &e->insts[e->ninsts];

		e->ninsts += n;
		for (uint64_t i = 0; i < n; i++)
			put_line(c, po + i, RI_COMMITTED, r + i);
		for (uint64_t i = 0; c->notes && i < n; i++)
			put_notes(c, po + i, r + i);
		po += n;
	}
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

	if (c->wants & WANT_EMPTY) {
		record_count(c);
		return;
	}
	if (c->head >= c->stretch.end)
		c->stretch = schedule_next(&c->emit->schedule, c->head);

	const uint64_t lead = c->stretch.lead;
	const bool notes = c->head + fly >= lead, insts = c->head + c->commit_width >= lead;

	c->record_steps = notes;
	c->notes = notes ? c->all_notes : NULL;
	c->held = notes ? c->all_held : NULL;
	c->record_insts = insts;
	c->switch_po = insts ? c->stretch.end : lead - (notes ? c->commit_width : fly);
}

/* A cycle's record begins with what holds when the cycle does. */
static inline void begin_cycle(struct core *c, struct rec_cycle *r)
{
	uint64_t used = c->disp - c->head;
	uint32_t flags = c->wrong ? RC_WRONG_PATH : 0;

	c->rec = r;
	__builtin_prefetch(r + RECORD_AHEAD, 1);
	r->cycle = c->now;
	if (likely(used)) {
		r->head_po = c->head;
		r->head_pc = at(c, c->head)->u->pc;
		flags |= used >= c->rob_size ? RC_ROB_FULL : 0;
	} else {
		r->head_po = r->head_pc = 0;
		flags |= RC_ROB_EMPTY;
	}
	if (unlikely(c->sq_tail - c->sq_head >= c->sq_size) &&
	    c->sq_complete == c->sq_tail - c->sq_head)
		flags |= RC_SQ_FULL;
	c->rec_flags = flags | (uint32_t)used << 16;
	c->rec_flush_cause = c->flush_cause;
	if (c->wants & WANT_FETCH) {
		__builtin_prefetch(&r[RECORD_AHEAD].fetch_seq, 1);
		r->fetch_seq = c->seq;
		r->fetch_po = c->wrong ? c->right_po : c->tail;
		r->fetch_pc = c->fetch_pc;
	}
}

void record_misses(struct core *c)
{
	uint64_t changes = memsys_changes(c->mem);

	if (unlikely(changes != c->out_changes)) {
		c->out_changes = changes;
		c->out_flags = 0;
		if (memsys_outstanding(c->mem, MEM_L1D))
			c->out_flags = RC_DMISS_OUT;
		if (memsys_long_outstanding(c->mem, MEM_L1D))
			c->out_flags |= RC_LONG_DMISS_OUT;
	}
	c->rec_flags |= c->out_flags;
}

void record_head(struct core *c)
{
	if (c->rec_flags & (RC_ROB_EMPTY | RC_HEAD_DONE))
		return;

	uint32_t slot = slot_of(c, c->head);
	const struct inflight *e = &c->ring[slot];

	if (!(e->uflags & UOP_LOAD))
		return;
	/* A miss whose line's arrival was known when it was made does not wait for an answer. */
	if (!(e->state & ST_MEM) &&
	    !((e->state & ST_ISSUED) && (e->psv & (PSV_ST_L1 | PSV_ST_TLB))))
		return;
	/* That it missed is known when a hit would have answered; a TLB miss at once. */
	uint64_t known = e->fetch + c->memops[slot].issue + c->cfg.mem.cache[MEM_L1D].latency;

	if (!(e->psv & PSV_ST_TLB) && known > c->now) {
		c->head_known = known;
		return;
	}
	if ((e->psv & PSV_ST_TLB) && memsys_walking(c->mem, false, e->addr))
		c->rec_flags |= RC_HEAD_DTLB;
	else if (c->memops[slot].level == LEVEL_MEM)
		c->rec_flags |= RC_HEAD_LONG_DMISS;
	else if (c->memops[slot].level <= LEVEL_L1 && (e->psv & PSV_ST_TLB))
		c->rec_flags |= RC_HEAD_DTLB;
	else
		c->rec_flags |= RC_HEAD_L1MISS;
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

void record_count(struct core *c)
{
	struct emit *e = c->emit;
	uint64_t n = c->head - c->counted_po, repeat = c->now - c->counted_to;

	emit_reserve(e, n);
	e->ninsts += n;
	if (repeat)
		record_more(c, (struct rec_cycle){ .cycle = c->counted_to }, repeat);
	c->counted_po = c->head;
	c->counted_to = c->now;
	c->switch_po = c->head + (e->max_insts > c->reserve ? e->max_insts - c->reserve : 1);
}

/*
 * Nothing commits, dispatches or is fetched in this cycle. If all that a record tells is as it was
 * in the cycle before, that one's record stands for this cycle, too; what issues is added up. Who
 * waits for dispatch is then the same, or nobody.
 */
static inline bool fold_cycle(struct core *c, struct rec_cycle *r, uint64_t repeat)
{
	const uint64_t state = c->rec_flags | (uint64_t)c->dispatch_stall << 32 |
			       (uint64_t)c->fetch_stall << 40 | (uint64_t)c->rec_flush_cause << 48;
	const bool small = c->nissue <= c->decode_width;

	if (c->rec_quiet && small && state == c->quiet_state &&
	    r[-1].nissue + c->nissue <= UINT16_MAX && repeat <= UINT32_MAX - r[-1].repeat &&
	    !(c->wants & WANT_FETCH && r[-1].fetch_pc != r->fetch_pc)) {
		r[-1].repeat += (uint32_t)repeat;
		r[-1].nissue += (uint16_t)c->nissue;
		return true;
	}
	c->rec_quiet = small && !(c->rec_flags & RC_FLUSH);
	c->quiet_state = state;
	return false;
}

/*
 * What the cycle did; all of its stages are over. Without branches where a processor could not
 * foresee them.
 */
static inline void end_cycle(struct core *c, struct rec_cycle *r, uint64_t repeat)
{
	assert(repeat <= UINT32_MAX);
	if (c->ncommit | c->ndispatch | c->nfetch)
		c->rec_quiet = false;
	else if (fold_cycle(c, r, repeat))
		return;

	const struct inflight *first = at(c, c->disp - c->ndispatch);
	const uint64_t some = -(uint64_t) !!(c->ndispatch | c->dispatch_stall >> 1);
	const uint32_t flags =
	    c->rec_flags | (first->state & ST_WRONG & some) / ST_WRONG * RC_DISPATCH_WRONG;

	_Static_assert(DISPATCH_OK == 0 && DISPATCH_EMPTY == 1, "from 2 on, one waits");
	_Static_assert(offsetof(struct rec_cycle, rob_used) ==
			   offsetof(struct rec_cycle, flags) + 2,
		       "together");
	memcpy(&r->flags, &flags, sizeof(flags));
	memcpy(&r->flush_po, &c->flush_po, sizeof(r->flush_po) + sizeof(r->flush_pc));
	r->dispatch_seq = first->seq & some;
	r->repeat = (uint32_t)repeat;
	r->ncommit = (uint8_t)c->ncommit;
	r->ndispatch = (uint8_t)c->ndispatch;
	r->nissue = clip_u16(c->nissue);
	r->nfetch = (uint8_t)c->nfetch;
	r->dispatch_stall = c->dispatch_stall;
	r->fetch_stall = c->fetch_stall;
	r->flush_cause = c->rec_flush_cause;
	if (c->wants & WANT_FETCH)
		r->dispatch_pc = some ? first->u->pc : 0;
	c->emit->ncycles++;
}

/* What waits for dispatch: how long for what. */
static void count_wait(struct core *c, uint64_t repeat)
{
	uint64_t waiter = at(c, c->disp)->seq;

	if (c->disp_waiter != waiter) {
		memset(c->disp_wait, 0, sizeof(c->disp_wait));
		c->disp_waiter = waiter;
	}
	c->disp_wait[c->dispatch_stall] += repeat;
}

void record_begin(struct core *c)
{
	emit_reserve(c->emit, c->reserve);
	c->rec_quiet = false;
	begin_cycle(c, &c->emit->cycles[c->emit->ncycles]);
}

void record_cycle(struct core *c, uint64_t repeat)
{
	if (c->notes && c->disp < c->tail && c->dispatch_stall > DISPATCH_EMPTY)
		count_wait(c, repeat);
	if (!c->record_cycles)
		return;
	end_cycle(c, c->rec, repeat);
	if (likely(emit_has_room(c->emit, c->reserve)))
		begin_cycle(c, &c->emit->cycles[c->emit->ncycles]);
	else
		record_begin(c);
}
