/* SPDX-License-Identifier: MIT */
/*
 * The records of trace/record.h: everything that the core does only for listeners.
 *
 * Stages keep notes per instruction (rec.notes); an instruction's record is put together when it
 * leaves. If all listeners are content with brief records or with stamps there are no notes. A cycle's record says
 * what held when the cycle began, which is what held when the one before ended, and what happened
 * in it; so one record is ended and the next one begun at the same time. Skipped cycles are the
 * repeat of the last record, in which nothing moved.
 */
#include "core/pipe.h"

#define RECORD_AHEAD 8 /* records whose memory is fetched before it is written */

/*
 * The second half of an instruction's record: its notes, and what follows from them. Nothing is
 * read from the record, whose memory is seldom in a near cache. The notes are copied before the
 * narrow stores below, because a wide load right after such stores has to wait for them.
 */
static void put_notes(const struct core *c, uint64_t po, struct rec_inst *r)
{
	const uint32_t slot = slot_of(c, po);
	const struct inflight *e = &c->ring[slot];
	const struct rec_notes *n = &c->rec.notes[slot];
	const struct uop *u = e->u;

	__builtin_prefetch(&r[RECORD_AHEAD].notes, 1);
	r->notes = *n;
	r->dispatch_stall = c->rec.held[slot];
	if (u->flags & (UOP_LOAD | UOP_STORE | UOP_HINT))
		r->addr = e->addr;
	if (n->issue == STAMP_NONE || !(c->rec.wants & WANT_LATENCIES))
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

/* The first half of an instruction's record. Nothing is read from the record's memory, which is
 * seldom in a near cache. */
static inline void put_line(const struct core *c, uint64_t po, uint32_t flags, struct rec_inst *r)
{
	const struct inflight *e = at(c, po);

	__builtin_prefetch(r + RECORD_AHEAD, 1);
	r->seq = e->seq;
	r->fetch = e->fetch;
	r->target = e->next_pc;
	r->psv = e->psv;
	r->flags = e->flags | flags;
	r->pc = e->u->pc;
	r->word = e->u->in.word;
	r->size = e->u->mem_bytes;
	r->cls = e->u->cls;
	r->dispatch_stall = DISPATCH_OK;
	r->po = po;
	r->commit = (uint32_t)(c->now - e->fetch);
	r->tid = e->tid;
}

/* All that WANT_STAMPS asks for of the records of n instructions from po on. What does not change
 * from one to the next is read once: the compiler must assume that the records overlap it. */
static inline void put_stamps(const struct core *c, uint64_t po, size_t n, struct rec_inst *r)
{
	const struct inflight *ring = c->ring;
	const uint64_t now = c->now;
	const uint32_t mask = c->mask;

	for (const struct rec_inst *end = r + n; r < end; r++, po++) {
		const struct inflight *e = &ring[(uint32_t)po & mask];
		const uint64_t dispatch = e->fetch; /* as rec.stamps says */
		const uint32_t flags = e->flags | RI_COMMITTED | RI_STAMPS;

		__builtin_prefetch(r + RECORD_AHEAD, 1);
		r->fetch = dispatch;
		r->flags = flags;
		r->po = po;
		r->commit = (uint32_t)(now - dispatch);
	}
}

/* The records of instructions with events among those that commit in this cycle, whose issue records were written. */
static __attribute__((noinline)) void record_events(struct core *c)
{
	struct emit *out = c->rec.emit;
	size_t at = out->nissues - c->did.commits;

	for (uint64_t po = c->head - c->did.commits; po < c->head; po++, at++) {
		const uint32_t slot = slot_of(c, po);
		const struct inflight *e = &c->ring[slot];
		const struct event_note *n = &c->rec.events[slot];

		if (!(e->psv & REC_ISSUE_EVENTS))
			continue;

		struct rec_inst *r = emit_inst(out);

		r->seq = at;
		r->fetch = e->fetch;
		r->psv = e->psv;
		r->flags = e->flags | RI_COMMITTED;
		r->pc = e->u->pc;
		r->po = po;
		r->commit = (uint32_t)(c->now - e->fetch);
		r->issue = c->lsu.memops[slot].issue;
		if (e->psv & (PSV_DR_L1 | PSV_DR_TLB | PSV_FL_MB)) {
			r->lat_icache = n->lat_icache;
			r->lat_itlb = n->lat_itlb;
			r->complete = n->resolved;
		}
	}
}

/* Hands over a full batch, with a record of the cycles that its instructions took, and begins the next one. */
static __attribute__((noinline)) void record_issues_anew(struct core *c)
{
	record_count(c);
	emit_full_mid_cycle(c->rec.emit, &c->rec.cycle);
	record_issues(c);
}

/*
 * The issue records of those that commit in this cycle: two stores for each, since this is done for every
 * instruction. What does not change from one to the next is read once: the compiler must assume that the records
 * overlap it. What is rare comes last, so that no registers have to be kept for it.
 */
void record_issues(struct core *c)
{
	struct emit *e = c->rec.emit;
	const size_t at = e->nissues, n = c->did.commits;

	if (unlikely(at + n > e->max_issues)) {
		record_issues_anew(c);
		return;
	}
	e->nissues = at + n;

	const struct inflight *ring = c->ring;
	const struct memop *memops = c->lsu.memops;
	const uint32_t mask = c->mask;
	uint32_t po = (uint32_t)(c->head - n), seen = 0;
	struct rec_issue *r = &e->issues[at];

	const struct rec_issue *end = r + n;

	do { /* something commits */
		const struct inflight *i = &ring[po & mask];
		const uint64_t time = i->fetch + memops[po & mask].issue;

		seen |= i->psv;
		r->pc = i->u->pc;
		r->time = time;
		po++;
	} while (++r < end);
	if (unlikely(seen & REC_ISSUE_EVENTS))
		record_events(c);
}

/* Where inst records can be written now: up to `most` of them, *n in fact. */
static inline struct rec_inst *inst_records(struct core *c, size_t most, size_t *n)
{
	/* A batch has a record of the cycles that its instructions took. */
	if (c->rec.counts && c->rec.emit->ninsts == c->rec.emit->max_insts)
		record_count(c);
	return emit_insts(c->rec.emit, most, &c->rec.cycle, n);
}

void record_squashed(struct core *c, uint64_t po)
{
	size_t n;
	struct rec_inst *r = inst_records(c, 1, &n);

	put_line(c, po, is_resolved(at(c, po)) ? RI_RESOLVED : 0, r);
	if (c->rec.notes)
		put_notes(c, po, r);
}

/* Stamps of those that commit in this cycle, where the batch ends in between. */
static __attribute__((noinline)) void record_split(struct core *c)
{
	size_t n;

	for (uint64_t po = c->head - c->did.commits; po < c->head; po += n) {
		struct rec_inst *r = inst_records(c, c->head - po, &n);

		put_stamps(c, po, n, r);
	}
}

static inline void record_stamps(struct core *c)
{
	struct emit *e = c->rec.emit;
	const size_t n = c->did.commits, at = e->ninsts;

	if (unlikely(at + n > e->max_insts)) {
		record_split(c);
		return;
	}
	e->ninsts = at + n;
	put_stamps(c, c->head - n, n, &e->insts[at]);
}

static __attribute__((noinline)) void record_lines(struct core *c)
{
	size_t n;

	for (uint64_t po = c->head - c->did.commits; po < c->head; po += n) {
		struct rec_inst *r = inst_records(c, c->head - po, &n);

		for (size_t i = 0; i < n; i++)
			put_line(c, po + i, RI_COMMITTED, r + i);
		for (size_t i = 0; c->rec.notes && i < n; i++)
			put_notes(c, po + i, r + i);
	}
}

void record_commits(struct core *c)
{
	if (c->twin.follows)
		twin_commits(c->twin.follows);
	else if (c->rec.stamps)
		record_stamps(c);
	else
		record_lines(c);
}

void record_dispatch(struct core *c, struct inflight *e, uint32_t slot)
{
	if (c->rec.disp_waiter != e->seq)
		return;

	unsigned longest = DISPATCH_OK;

	for (unsigned i = DISPATCH_OK + 1; i < DISPATCH_STALL_COUNT; i++)
		if (c->rec.disp_wait[i] > c->rec.disp_wait[longest])
			longest = i;
	memset(c->rec.disp_wait, 0, sizeof(c->rec.disp_wait));
	c->rec.disp_waiter = 0;
	c->rec.held[slot] = (uint8_t)longest;
}

/*
 * Notes begin before records do: `fly` instructions, which may be in flight without notes, have left
 * by then, so every record has all of its notes.
 */
void record_switch(struct core *c)
{
	const uint64_t fly = (uint64_t)c->mask + 1 + c->win.commit_width;

	if (c->rec.wants & WANT_EMPTY) {
		record_count(c);
		return;
	}
	if (c->head >= c->rec.stretch.end)
		c->rec.stretch = schedule_next(&c->rec.emit->schedule, c->head);

	const uint64_t lead = c->rec.stretch.lead;
	const bool notes = c->head + fly >= lead, insts = c->head + c->win.commit_width >= lead;

	c->rec.every_cycle = notes;
	c->rec.notes = notes ? c->rec.all_notes : NULL;
	c->rec.held = notes ? c->rec.all_held : NULL;
	c->rec.insts = insts;
	c->rec.switch_po = insts ? c->rec.stretch.end : lead - (notes ? c->win.commit_width : fly);
}

/* Begins a cycle's record with what holds when the cycle begins. */
static inline void begin_cycle(struct core *c, struct rec_cycle *r)
{
	uint64_t used = c->disp - c->head;
	uint32_t flags = c->front.wrong ? RC_WRONG_PATH : 0;

	c->rec.cycle = r;
	__builtin_prefetch(r + RECORD_AHEAD, 1);
	r->cycle = c->now;
	if (likely(used)) {
		r->head_po = c->head;
		r->head_pc = at(c, c->head)->u->pc;
		flags |= used >= c->win.rob_size ? RC_ROB_FULL : 0;
	} else {
		r->head_po = r->head_pc = 0;
		flags |= RC_ROB_EMPTY;
	}
	if (unlikely(c->lsu.sq_tail - c->lsu.sq_head >= c->lsu.sq_size) &&
	    c->lsu.sq_complete == c->lsu.sq_tail - c->lsu.sq_head)
		flags |= RC_SQ_FULL;
	c->rec.flags = flags | (uint32_t)used << 16;
	c->rec.flush_cause = c->flush.cause;
	if (c->rec.wants & WANT_FETCH) {
		__builtin_prefetch(&r[RECORD_AHEAD].fetch_seq, 1);
		r->fetch_seq = c->front.seq;
		r->fetch_po = c->front.wrong ? c->front.right_po : c->tail;
		r->fetch_pc = c->front.pc;
	}
}

void record_misses(struct core *c)
{
	uint64_t changes = memsys_changes(c->mem);

	if (unlikely(changes != c->rec.out_changes)) {
		c->rec.out_changes = changes;
		c->rec.out_flags = 0;
		if (memsys_outstanding(c->mem, MEM_L1D))
			c->rec.out_flags = RC_DMISS_OUT;
		if (memsys_long_outstanding(c->mem, MEM_L1D))
			c->rec.out_flags |= RC_LONG_DMISS_OUT;
	}
	c->rec.flags |= c->rec.out_flags;
}

void record_head(struct core *c)
{
	if (c->rec.flags & (RC_ROB_EMPTY | RC_HEAD_DONE))
		return;

	uint32_t slot = slot_of(c, c->head);
	const struct inflight *e = &c->ring[slot];

	if (!(e->uflags & UOP_LOAD))
		return;
	/* A miss whose line's arrival was known when it was made does not wait for an answer. */
	if (!(e->state & ST_MEM) &&
	    !((e->state & ST_ISSUED) && (e->psv & (PSV_ST_L1 | PSV_ST_TLB))))
		return;
	/* A miss is known to be one when a hit would have answered, a TLB miss at once. */
	uint64_t known = e->fetch + c->lsu.memops[slot].issue + c->cfg.mem.cache[MEM_L1D].latency;

	if (!(e->psv & PSV_ST_TLB) && known > c->now) {
		c->rec.head_known = known;
		return;
	}
	if ((e->psv & PSV_ST_TLB) && memsys_walking(c->mem, false, e->addr))
		c->rec.flags |= RC_HEAD_DTLB;
	else if (c->lsu.memops[slot].level == LEVEL_MEM)
		c->rec.flags |= RC_HEAD_LONG_DMISS;
	else if (c->lsu.memops[slot].level <= LEVEL_L1 && (e->psv & PSV_ST_TLB))
		c->rec.flags |= RC_HEAD_DTLB;
	else
		c->rec.flags |= RC_HEAD_L1MISS;
}

void record_miss(struct core *c, const struct rec_miss *m)
{
	struct emit *e = c->rec.emit;

	if (unlikely(e->nmisses >= e->max_misses)) {
		if (c->rec.counts)
			record_count(c);
		emit_full_mid_cycle(e, &c->rec.cycle);
	}
	*emit_miss(e) = *m;
}

/* Writes r for `repeat` cycles: several records if they do not fit into 32 bits. */
static void record_more(struct core *c, struct rec_cycle r, uint64_t repeat)
{
	while (repeat) {
		r.cycle += r.repeat;
		r.repeat = (uint32_t)min_u64(repeat, UINT32_MAX);
		repeat -= r.repeat;
		emit_reserve(c->rec.emit, 0);
		*emit_cycle(c->rec.emit) = r;
	}
}

void record_count(struct core *c)
{
	struct emit *e = c->rec.emit;
	uint64_t n = c->head - c->rec.counted_po, repeat = c->now - c->rec.counted_to;

	if (c->rec.wants & WANT_EMPTY) {
		emit_reserve(e, n);
		emit_count_insts(e, n);
	}
	c->rec.counted_po = c->head;
	c->rec.counted_to = c->now;
	if (repeat)
		record_more(c, (struct rec_cycle){ .cycle = c->now - repeat }, repeat);
	if (c->rec.wants & WANT_EMPTY)
		c->rec.switch_po =
		    c->head + (e->max_insts > c->rec.reserve ? e->max_insts - c->rec.reserve : 1);
}

/*
 * Nothing commits, dispatches or is fetched in this cycle. If everything that a record tells is as
 * it was in the cycle before, that cycle's record stands for this one, too; what issues is added
 * up. The instruction that waits for dispatch is then the same, or there is none.
 */
static inline bool fold_cycle(struct core *c, const struct rec_cycle *r, uint64_t repeat)
{
	const uint64_t state = c->rec.flags | (uint64_t)c->did.dispatch_stall << 32 |
			       (uint64_t)c->did.fetch_stall << 40 |
			       (uint64_t)c->rec.flush_cause << 48;
	const bool small = c->did.issues <= c->win.dispatch_width;
	struct rec_cycle *last;

	if (c->rec.quiet && small && state == c->rec.quiet_state &&
	    (last = emit_last_cycle(c->rec.emit)) && last->nissue + c->did.issues <= UINT16_MAX &&
	    repeat <= UINT32_MAX - last->repeat &&
	    !(c->rec.wants & WANT_FETCH && last->fetch_pc != r->fetch_pc)) {
		last->repeat += (uint32_t)repeat;
		last->nissue += (uint16_t)c->did.issues;
		return true;
	}
	c->rec.quiet = small && !(c->rec.flags & RC_FLUSH);
	c->rec.quiet_state = state;
	return false;
}

/*
 * Ends the cycle's record with what happened in it; all stages have run. Written without branches
 * that the host's processor could not predict.
 */
static inline void end_cycle(struct core *c, struct rec_cycle *r, uint64_t repeat)
{
	assert(repeat <= UINT32_MAX);
	if (c->did.commits | c->did.dispatches | c->did.fetches)
		c->rec.quiet = false;
	else if (fold_cycle(c, r, repeat))
		return;

	const struct inflight *first = at(c, c->disp - c->did.dispatches);
	const uint64_t some = -(uint64_t) !!(c->did.dispatches | c->did.dispatch_stall >> 1);
	const uint32_t flags =
	    c->rec.flags | (first->state & ST_WRONG & some) / ST_WRONG * RC_DISPATCH_WRONG;

	_Static_assert(DISPATCH_OK == 0 && DISPATCH_EMPTY == 1, "from 2 on, one waits");
	r->flags = (uint16_t)flags;
	r->rob_used = (uint16_t)(flags >> 16);
	r->flush_po = c->flush.po;
	r->flush_pc = c->flush.pc;
	r->dispatch_seq = first->seq & some;
	r->repeat = (uint32_t)repeat;
	r->ncommit = (uint8_t)c->did.commits;
	r->ndispatch = (uint8_t)c->did.dispatches;
	r->nissue = clip_u16(c->did.issues);
	r->nfetch = (uint8_t)c->did.fetches;
	r->dispatch_stall = c->did.dispatch_stall;
	r->fetch_stall = c->did.fetch_stall;
	r->flush_cause = c->rec.flush_cause;
	if (c->rec.wants & WANT_FETCH)
		r->dispatch_pc = some ? first->u->pc : 0;
	emit_cycle(c->rec.emit);
}

/* Adds to how long the next instruction to dispatch has waited, by cause. */
static void count_wait(struct core *c, uint64_t repeat)
{
	uint64_t waiter = at(c, c->disp)->seq;

	if (c->rec.disp_waiter != waiter) {
		memset(c->rec.disp_wait, 0, sizeof(c->rec.disp_wait));
		c->rec.disp_waiter = waiter;
	}
	c->rec.disp_wait[c->did.dispatch_stall] += repeat;
}

void record_begin(struct core *c)
{
	emit_reserve(c->rec.emit, c->rec.reserve);
	c->rec.quiet = false;
	begin_cycle(c, emit_begin_cycle(c->rec.emit));
}

void record_cycle(struct core *c, uint64_t repeat)
{
	if (c->rec.notes && c->disp < c->tail && c->did.dispatch_stall > DISPATCH_EMPTY)
		count_wait(c, repeat);
	if (!c->rec.cycles)
		return;
	end_cycle(c, c->rec.cycle, repeat);
	if (likely(emit_has_room(c->rec.emit, c->rec.reserve)))
		begin_cycle(c, emit_begin_cycle(c->rec.emit));
	else
		record_begin(c);
}
