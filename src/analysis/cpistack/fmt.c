/* SPDX-License-Identifier: MIT */
/*
 * CPI stacks by the front-end miss event table (FMT) and its shared variant (sFMT), after
 * eyerman2006 sections 4.1 to 4.3. Both are counter architectures: they use only what hardware can
 * see, which is what enters the pipeline and why nothing does; when branches dispatch, resolve and
 * complete; whether the window is full; and what blocks its head.
 *
 * The paper's table has a row for each branch in flight. Here the same counts are computed from
 * running sums, most of them when a branch completes; a test runs the table itself beside this.
 * 1. I-cache and I-TLB misses. A row counts the slots that fetch did not fill on the way to its
 *    branch, and adds them to the stack when the branch completes. Rows past a mispredicted branch
 *    are thrown away. So the stack gets what the right path lost.
 * 2. Mispredicted branches. A row's penalty counter runs from the branch's dispatch until the first
 *    instruction of the right path enters, also after the branch has resolved. It stops while the
 *    window is full. Penalties of successive mispredicted branches cannot overlap, so one running
 *    sum (`charged`) serves all rows: the penalty is its growth from the dispatch of the branch to
 *    the dispatch of the branch's successor. Slots that the right path loses to a miss are not
 *    charged to the branch before it as well.
 * 3. sFMT. All rows share one set of I-cache and I-TLB counters. An instruction with its miss bit
 *    set takes them all when it completes; a mispredicted branch that completes clears them.
 * 4. Long back-end misses and long-latency stalls. They are counted while the window is full (the
 *    ROB, or whatever else dispatch finds full) and its head is blocked.
 *
 * Choices where the paper is silent, or where the machine has what SimpleScalar has not:
 * - Units are dispatch slots: a cycle that is half used is half lost.
 * - The pipeline begins behind the fetch buffer: a miss that the buffer hides costs nothing. So a
 *   bubble is counted at dispatch, when it arrives there, under the cause that it was given at
 *   fetch. Slots left empty beside the last instructions before a bubble and the first after it are
 *   part of the bubble.
 * - A taken branch whose target the front end learns only at decode is a small misprediction: its
 *   bubbles are counted as those of misses are, under branches.
 * - Slots that wrong-path instructions take are charged to the branch, even when they enter a
 *   window that counts as full.
 *
 * Stalls after a miss or behind slow instructions. Two pointers into the ROB attribute them:
 * - A D-miss at the head also delays the instructions that were in the window with it and depend on
 *   it (`miss.until`). Until these have committed, slots that no other miss explains are charged to
 *   the D-miss, up to its whole delay.
 * - Slow instructions or short misses may have filled the window before a mispredicted branch came
 *   (`bound_until`). The window waits for them in any case and takes in only as many instructions
 *   as commit. The slots beyond that number are charged to them, and only the rest to the branch.
 * A mispredicted branch that resolves after a short D-miss at the head has returned has waited for
 * it: the cycles under the miss, with those of the instructions that it delayed, are charged to the
 * miss. A branch that resolves while the miss still blocks the head is charged for them itself.
 *
 * Misses that go to memory. Such a miss costs the L1 what a hit in the last cache would have cost, and the last
 * cache the rest, as the simulated stacks have it: what is lost while the miss is younger than such a
 * hit counts for the L1 (one counter on each side). Without a cache between L2 and memory the paper's
 * table stays as it is: a hit in the L2 takes next to nothing beside a miss.
 *
 * Branches beside a long D-miss. The overlap is the branch's, as in section 3.3.2: the whole of its
 * own penalty, and no more.
 * - A branch that resolves while the miss blocks the head has not waited for it. Every slot from
 *   its dispatch until the right path enters is its penalty, those of a full window included.
 * - A branch that resolves later may have waited, so its own cost is not known. The estimate is the
 *   larger of two numbers: the mean cost of branches that did not wait (an adder and a shift in
 *   hardware), and what the branch lost outside of the miss plus the time of a hit in the cache
 *   below. The rest is charged to the miss.
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>
#include <string.h>

#define PACE                                                                                       \
	64 /* instructions after which the base is compared with the clock even if no branch was charged */

/* The cause of a bubble that begins at fetch; CPI_BASE: it is not counted. */
static enum cpi_component fetch_cause(unsigned fetch_stall, bool fetched)
{
	/* Until something is fetched after a flush, the front end refills, and the flush is charged
	 * for that. Later redirects are targets that decode corrected. */
	if (fetch_stall == FETCH_REDIRECT)
		return fetched ? CPI_BMISP : CPI_BASE;
	return cpi_fetch_miss(fetch_stall);
}

void fmt_init(struct fmt *f, const struct trace_meta *meta, const struct machine *machine)
{
	const uint32_t lower = meta->l2_latency ? meta->l2_latency : meta->llc_latency;
	uint64_t size = 64;
	while (size < 2 * (uint64_t)meta->rob_entries)
		size *= 2;
	f->groups = x_calloc(size, sizeof(*f->groups));
	f->resolved = x_calloc(size, sizeof(*f->resolved));
	f->mask = size - 1;
	fmt_places_init(&f->places, size);
	f->depth = meta->frontend_depth;
	f->width = meta->dispatch_width;
	f->fetched = true;
	f->next_po = 1;
	f->walks_first = !machine || !machine->mem.walk_beside;
	f->penalty[CPI_L1D] = lower > meta->l1d_latency ? lower - meta->l1d_latency : 0;
	f->penalty[CPI_L2D] =
	    meta->mem_latency > meta->l1d_latency ? meta->mem_latency - meta->l1d_latency : 0;
	f->penalty[CPI_DTLB] = meta->dtlb_penalty;
	if (meta->llc_latency > meta->l1d_latency)
		f->below = meta->llc_latency - meta->l1d_latency;
	for (unsigned i = 0; i <= UINT8_MAX; i++)
		for (unsigned fetched = 0; fetched < 2; fetched++)
			f->cause_of_fetch[fetched][i] = (uint8_t)fetch_cause(i, fetched);
	/* What was fetched before the first record is not known. */
	f->fed_last = f->fed[0].what = CPI_BASE;
	f->fed_end = 1;
	f->fed_change = UINT64_MAX;
}

void fmt_free(struct fmt *f)
{
	fmt_places_free(&f->places);
	free(f->groups);
	free(f->resolved);
}

/* Notes what fetch delivers now; it arrives at dispatch `depth` cycles later. */
static __attribute__((noinline)) void fed_push(struct fmt *f, unsigned what)
{
	const uint64_t begin = f->fed_time + f->depth;
	f->fed[f->fed_end++ % FMT_FED] = (struct fmt_fed){ .begin = begin, .what = what };
	f->fed_last = what;
	f->fed_change = min_u64(f->fed_change, begin);
}

/* Moves fed_begin to the run that arrives at dispatch in cycle `at`. */
static void fed_seek(struct fmt *f, uint64_t at)
{
	while (f->fed_change <= at) {
		f->fed_begin++;
		f->fed_change = f->fed_end - f->fed_begin > 1
				    ? f->fed[(f->fed_begin + 1) % FMT_FED].begin
				    : UINT64_MAX;
	}
}

static void lose(struct cpistack *s, enum cpi_component cause, bool wrong, uint64_t slots)
{
	s->fmt.local[cause] += slots;
	if (wrong)
		return;
	s->now.method[METHOD_FMT][cause] += (int64_t)slots;
	fmt_pace_note(&s->fmt, cause, (int64_t)slots, false);
	s->fmt.places.next.slots[cause == CPI_BMISP ? LOST_BMISP : cause] += (int64_t)slots;
	s->fmt.places.next.slots[LOST_BASE] -= (int64_t)slots;
	/* A target that decode corrected has a row of its own in both tables. */
	if (cause == CPI_BMISP)
		s->now.method[METHOD_SFMT][CPI_BMISP] += (int64_t)slots;
}

/* A miss that goes to memory costs the L1 what a hit in the last cache would have, and the last cache
 * the rest: how many of the n cycles from age `age` on are the L1's. */
static uint64_t lost_to_l1(const struct fmt *f, uint64_t age, uint64_t n)
{
	return age < f->below ? min_u64(n, f->below - age) : 0;
}

/* Accounts for the cycles up to `end`, in which nothing dispatches because nothing arrives: counts
 * bubbles under the causes noted at fetch `depth` cycles before. Returns how many slots the right
 * path lost to misses. */
static __attribute__((noinline)) uint64_t feed(struct cpistack *s, uint64_t end)
{
	struct fmt *f = &s->fmt;
	uint64_t lost = 0, at = f->fed_time;
	while (at < end) {
		fed_seek(f, at);
		const unsigned what = f->fed[f->fed_begin % FMT_FED].what;
		enum cpi_component cause = (enum cpi_component)(what & FMT_FED_CAUSE);
		const bool wrong = what & FMT_FED_WRONG;
		uint64_t until = min_u64(end, f->fed_change);
		if (cause == CPI_L2I) {
			const uint64_t age = at - f->fed[f->fed_begin % FMT_FED].begin,
				       l1 = lost_to_l1(f, age, until - at);
			cause = l1 ? CPI_L1I : CPI_L2I;
			until = l1 ? at + l1 : until;
		}
		if (cause != CPI_BASE) {
			const uint64_t slots = (until - at) * f->width;
			lose(s, cause, wrong, slots + f->partial);
			lost += wrong ? 0 : slots;
		}
		f->partial = 0;
		f->bubble = wrong ? CPI_BASE : cause;
		at = until;
	}
	return lost;
}

/* Whether dispatch waits because a queue or buffer is full. */
static inline bool is_full(unsigned dispatch_stall)
{
	return dispatch_stall > DISPATCH_EMPTY && dispatch_stall != DISPATCH_SERIAL;
}

/* What blocks a full window: the oldest instruction, or, if the load or store queue is full of
 * stores that wait to be written, their misses. */
static enum cpi_component full_reason(const struct rec_cycle *c)
{
	const enum cpi_component head = cpi_head_reason(c);
	if (head != CPI_LONG ||
	    (c->dispatch_stall != DISPATCH_SQ && c->dispatch_stall != DISPATCH_LQ))
		return head;
	return c->flags & RC_LONG_DMISS_OUT ? CPI_L2D : c->flags & RC_DMISS_OUT ? CPI_L1D : CPI_SQ;
}

static void give(struct cpistack *s, uint64_t pc, enum cpi_component cause, uint64_t slots)
{
	s->fmt.given[cause] += (int64_t)slots;
	fmt_pace_note(&s->fmt, cause, (int64_t)slots, false);
	if (slots)
		fmt_places_give(&s->fmt.places, pc, cause, slots);
}

static void take(struct cpistack *s, uint64_t pc, enum cpi_component cause, uint64_t slots)
{
	give(s, pc, cause, -slots);
}

int64_t fmt_given(const struct cpistack *s, unsigned k)
{
	return s->now.method[METHOD_FMT][k] + s->fmt.given[k];
}

void fmt_fold(struct cpistack *s)
{
	for (unsigned k = 0; k < CPI_COMPONENTS; k++) {
		s->now.method[METHOD_FMT][k] += s->fmt.given[k];
		s->now.method[METHOD_SFMT][k] += s->fmt.given[k];
		s->fmt.given[k] = 0;
	}
}

/* Notes what blocks the head: a D-miss, or a slow instruction at the head of a full window. `slots`
 * is how many are lost in this run. */
static void note_head(struct fmt *f, const struct rec_cycle *c, uint64_t repeat, bool full,
		      uint64_t slots)
{
	const enum cpi_component head = cpi_head_reason(c);
	const uint64_t until = c->head_po + c->rob_used;
	if (head != CPI_LONG) {
		if (f->miss.po != c->head_po || f->miss.cause != head) {
			f->miss = (struct fmt_miss){ .po = c->head_po,
						     .left = (uint64_t)f->penalty[head] * f->width,
						     .cause = head };
			f->places.miss_pc = c->head_pc;
			cells_add(&f->places.cells, cell_key(c->head_pc, 0, head), 0, 1);
		}
		f->miss.left -= min_u64(f->miss.left, slots);
		f->miss.until = until;
		if (head == CPI_DTLB && !full) {
			f->walked = f->walked_po == c->head_po ? f->walked : 0;
			f->walked += repeat * f->width;
			f->walked_po = c->head_po;
		}
	}
	if (!full)
		return;
	if (head == CPI_L2D || head == CPI_DTLB) {
		f->long_until = until;
	} else if (c->head_po >= f->long_until && !(c->flags & RC_DISPATCH_WRONG)) {
		f->bound_until = until;
		f->bound_cause = head;
		f->places.bound_pc = c->head_pc;
	}
}

/* Slots lost behind the last miss that still count against its delay: an instruction that was in
 * the window with it is at the head. */
static uint64_t delayed(struct fmt *f, const struct rec_cycle *c, uint64_t slots)
{
	if (c->head_po >= f->miss.until)
		return 0;
	const uint64_t n = min_u64(f->miss.left, slots);
	f->miss.left -= n;
	return n;
}

/* Gives the slots that stay empty because the window is full to what blocks its head. In a cycle in
 * which something commits, the next instruction to commit is what blocks: the record after says
 * why. */
static void back_end(struct cpistack *s, const struct rec_cycle *c, uint64_t repeat)
{
	struct fmt *f = &s->fmt;
	const bool done = c->flags & RC_HEAD_DONE;
	const enum cpi_component cause = done ? CPI_BASE : full_reason(c);
	uint64_t slots = f->behind;
	f->behind = 0;
	if (is_full(c->dispatch_stall) && f->width > c->ndispatch) {
		if (c->ncommit)
			f->behind = f->width - c->ndispatch;
		else
			slots += repeat * (f->width - c->ndispatch);
	} else if (c->flags & RC_ROB_FULL && !c->ncommit && !c->ndispatch) {
		slots += repeat * f->width;
	}
	if (!slots)
		return;
	const uint64_t all = slots;
	if (c->head_po)
		f->places.head_pc = c->head_pc;
	const uint64_t pc = f->places.head_pc;
	if ((cause == CPI_BASE || cause == CPI_LONG) && !(c->flags & RC_DISPATCH_WRONG)) {
		const uint64_t late = delayed(f, c, slots);
		give(s, f->places.miss_pc, f->miss.cause, late);
		slots -= late;
	}
	if ((cause == CPI_L1D || cause == CPI_L2D) && f->stalled_po != c->head_po) {
		f->stalled_po = c->head_po;
		f->stalled = f->stalled_walk = 0;
		f->stalled_since = f->long_since;
	}
	if ((cause == CPI_L1D || cause == CPI_L2D) && f->walked && f->walked_po == c->head_po &&
	    f->walks_first) {
		/* The page walk made the miss longer, though it was over before the window was
		 * full. */
		const uint64_t walk = min_u64(f->walked, slots);
		give(s, pc, CPI_DTLB, walk);
		f->sums.full_long[1] += walk;
		f->walked -= walk;
		f->stalled_walk += walk;
		slots -= walk;
	}
	if (cause == CPI_L2D) {
		const uint64_t l1_cycles = lost_to_l1(f, f->now - f->long_since, repeat),
			       later = (repeat - l1_cycles) *
				       (f->width - min_u64(c->ndispatch, f->width)),
			       l1 = l1_cycles ? slots - min_u64(slots, later) : 0;
		give(s, pc, CPI_L1D, l1);
		give(s, pc, CPI_L2D, slots - l1);
		f->stalled += slots - l1;
	} else if (cause != CPI_BASE) {
		give(s, pc, cause, slots);
	}
	f->places.next.slots[LOST_BASE] -= (int64_t)(cause == CPI_BASE ? all - slots : all);
	if (cause == CPI_L2D || cause == CPI_DTLB) {
		f->sums.full_long[cause == CPI_DTLB] += slots;
		f->places.long_pc[cause == CPI_DTLB] = pc;
	}
}

/* Whether fetch waits for a miss on the right path. */
static inline bool is_miss(unsigned fed)
{
	_Static_assert(CPI_L1I == 1 && CPI_L2I == 2 && CPI_ITLB == 3, "a range");
	return fed - CPI_L1I <= CPI_ITLB - CPI_L1I;
}

/* Counts a run as the paper's text has it: whole cycles, misses counted at fetch, and only the ROB
 * can be full. Returns whether a mispredicted branch in the window would be charged for these
 * cycles. */
static inline bool paper_cycle(struct cpistack *s, const struct rec_cycle *c, uint64_t repeat,
			       unsigned fed)
{
	int64_t *stack = s->now.method[METHOD_FMT_PAPER];
	if (c->flags & RC_ROB_FULL) {
		if (!c->ncommit)
			stack[cpi_head_reason(c)] += (int64_t)repeat;
		return false;
	}
	if (unlikely(is_miss(fed))) {
		stack[fed] += (int64_t)repeat;
		return false;
	}
	s->fmt.sums.paper += repeat;
	return true;
}

/* Notes which of the slots charged to a mispredicted branch would have been lost without it. */
static void split_charge(struct fmt *f, const struct rec_cycle *c, uint64_t repeat, uint64_t charge)
{
	/* Without the branch only as many instructions could have entered as committed. */
	const uint64_t stuck = min_u64(charge, c->ncommit < f->width ? f->width - c->ncommit : 0);
	if (c->flags & (RC_HEAD_DTLB | RC_HEAD_LONG_DMISS)) {
		f->sums.under_long[!(c->flags & RC_HEAD_LONG_DMISS)] +=
		    c->ncommit ? 0 : repeat * charge;
	} else if (c->head_po < f->bound_until) {
		const bool miss =
		    c->ncommit ? f->bound_cause == CPI_L1D : c->flags & RC_HEAD_L1MISS;
		f->sums.bound[miss] += repeat * stuck;
	} else if (c->flags & RC_HEAD_L1MISS) {
		f->sums.under_short += repeat * stuck;
	} else if (f->miss.cause == CPI_L1D) {
		f->sums.under_short += delayed(f, c, repeat * stuck);
	}
}

/* Drops the groups from po on: they were flushed, and their numbers come again. */
static __attribute__((noinline)) void drop_groups(struct fmt *f, uint64_t po)
{
	while (f->groups_end > f->groups_begin && f->groups[(f->groups_end - 1) & f->mask].po >= po)
		f->groups_end--;
}

/* Adds the group of instructions that enter the window in this cycle. */
static inline void add_group(struct fmt *f, const struct rec_cycle *c, bool full, bool paper,
			     uint64_t beside)
{
	const uint64_t po = c->head_po ? c->head_po + c->rob_used : f->next_po;
	if (unlikely(f->newest_po >= po))
		drop_groups(f, po);
	struct fmt_group *g = &f->groups[f->groups_end++ & f->mask];
	g->po = f->newest_po = po;
	g->after = f->sums;
	for (unsigned k = 0; k < CLOCKS; k++)
		g->left[k] = f->now * f->width -
			     (uint64_t)(f->pace.account[k].given - f->pace.account[k].late);
	g->number = f->groups_entered++;
	g->beside = (uint8_t)beside;
	g->full = full;
	g->paper = paper;
	f->cleared_po = min_u64(f->cleared_po, po);
	if (unlikely(f->groups_end - f->groups_begin > f->mask))
		f->groups_begin = f->groups_end - f->mask;
	if (unlikely(f->entering_po) && f->entering_po == po - 1) {
		f->resolved[f->entering_po & f->mask].next = *g;
		f->entering_po = 0;
	}
}

/* A flush. If a mispredicted branch (flush_po) caused it, the branch resolves now. Misses that fetch was waiting for
 * will have no instruction to be an event of: they are counted here. */
static __attribute__((noinline)) void resolve(struct cpistack *s, const struct rec_cycle *c)
{
	struct fmt *f = &s->fmt;
	for (uint64_t i = f->fed_end; i-- > 0 && f->fed_end - i < FMT_FED;) {
		const unsigned cause = f->fed[i % FMT_FED].what & FMT_FED_CAUSE;
		if (!is_miss(cause))
			break;
		s->events[0][cause]++;
	}
	f->entering_po = 0;
	if (c->flush_cause != FLUSH_MISPREDICT)
		return;
	f->resolved[c->flush_po & f->mask] =
	    (struct fmt_resolved){ .po = c->flush_po,
				   .under_short = f->sums.under_short,
				   .under_long = { f->sums.under_long[0], f->sums.under_long[1] },
				   .blocked = c->flags & RC_HEAD_L1MISS && !c->ncommit,
				   .blocked_long = c->flags & (RC_HEAD_DTLB | RC_HEAD_LONG_DMISS) &&
						   !c->ncommit };
	f->entering_po = c->flush_po;
}

/* Whether two records are equal to the methods, which look neither at `repeat` nor at what is
 * fetched or issued. */
static inline bool is_same(const struct rec_cycle *a, const struct rec_cycle *b)
{
	return a->flags == b->flags && a->dispatch_stall == b->dispatch_stall &&
	       a->fetch_stall == b->fetch_stall && a->ndispatch == b->ndispatch &&
	       a->ncommit == b->ncommit && a->flush_cause == b->flush_cause &&
	       a->rob_used == b->rob_used && a->head_po == b->head_po && a->flush_po == b->flush_po;
}

static inline unsigned fed_at(const struct fmt *f, const struct rec_cycle *c)
{
	return f->cause_of_fetch[f->fetched][c->fetch_stall] |
	       (c->flags & RC_WRONG_PATH ? FMT_FED_WRONG : 0);
}

static inline uint64_t issued_slots(const struct fmt *f, const struct rec_cycle *c)
{
	return min_u64(c->nissue, (uint64_t)f->width * c->repeat);
}

/*
 * Joins the records that equal the first into one run and returns how many there are. Nothing
 * dispatches or commits in them, so all counts are proportional to cycles. If the front end
 * delivers nothing, the run ends where the reason for that changes: a record that is lost in part
 * is handled by itself.
 */
static inline size_t join(struct fmt *f, struct cpi_run *run, size_t count, bool starved)
{
	const struct rec_cycle *c = run->c;
	const unsigned fed = f->fed_last;
	uint64_t limit = UINT64_MAX;
	size_t n = 1;
	if (starved) {
		fed_seek(f, f->fed_time);
		limit = f->fed_change - f->fed_time;
	}
	for (; n < count && is_same(c, c + n) && fed_at(f, c + n) == fed; n++) {
		if (run->repeat + c[n].repeat > limit)
			break;
		walk_fetch(c + n + WALK_AHEAD);
		run->repeat += c[n].repeat;
		run->issued += issued_slots(f, c + n);
		f->fetched |= c[n].nfetch != 0;
	}
	return n;
}

/* Accounts for one run; returns how many records it took. */
static inline size_t fmt_run(struct cpistack *s, struct cpi_run *run, size_t count)
{
	struct fmt *f = &s->fmt;
	const struct rec_cycle *c = run->c;
	const unsigned flags = c->flags, stall = c->dispatch_stall;
	const bool blocks = is_full(stall);
	const bool full = flags & RC_ROB_FULL || (blocks && !c->ndispatch);
	const bool starved = !full && stall == DISPATCH_EMPTY;
	const unsigned fed = fed_at(f, c);
	size_t n = 1;
	f->fetched = (f->fetched || c->nfetch) && !(flags & RC_FLUSH);
	if (unlikely(flags & RC_FLUSH))
		resolve(s, c);
	if (unlikely(fed != f->fed_last))
		fed_push(f, fed);
	if (!(c->ndispatch | c->ncommit) && !(flags & RC_FLUSH))
		n = join(f, run, count, starved);
	const uint64_t repeat = run->repeat;
	if (!(flags & (RC_LONG_DMISS_OUT | RC_HEAD_LONG_DMISS)))
		f->long_since = f->now + repeat;
	/* charge: slots of each cycle that a mispredicted branch in the window would be charged
	 * for. */
	uint64_t charge = 0, beside = 0, lost = 0;
	if (!c->ndispatch) {
		if (starved)
			lost = feed(s, f->fed_time + repeat);
		if (full)
			f->partial = 0;
		else
			charge = lost ? 0 : f->width;
	} else {
		if (flags & RC_DISPATCH_WRONG) {
			/* The head is charged for a full window, but what enters it is wasted all
			 * the same. */
			charge = full || blocks ? c->ndispatch : f->width;
		} else if (starved) {
			const uint64_t empty =
			    f->width > c->ndispatch ? f->width - c->ndispatch : 0;
			if (f->bubble != CPI_BASE)
				lose(s, f->bubble, false, beside = empty);
			else
				charge = empty;
			f->partial = f->bubble != CPI_BASE ? 0 : empty;
		} else {
			f->partial = 0;
		}
		f->bubble = CPI_BASE;
	}
	f->fed_time += repeat;
	if (!(flags & (RC_ROB_EMPTY | RC_HEAD_DONE)) && !c->ncommit)
		note_head(f, c, repeat, full, repeat * (full ? f->width : charge));
	if (f->behind || full || blocks)
		back_end(s, c, repeat);
	if (charge) {
		const uint64_t slots = repeat * charge;
		f->sums.charged += slots;
		if (!(flags & RC_ROB_EMPTY))
			split_charge(f, c, repeat, charge);
		if (flags & (RC_LONG_DMISS_OUT | RC_HEAD_DTLB))
			f->sums.beside_long += slots;
	}
	/* Only a part of this record was lost to misses: the rest is charged at its end. */
	if (unlikely(lost) && lost < repeat * f->width)
		f->sums.charged += repeat * f->width - lost;
	f->now += repeat;
	struct fmt_owed *open = &f->places.next;
	open->slots[LOST_BASE] += (int64_t)(repeat * f->width);
	if (c->ndispatch && !(flags & RC_DISPATCH_WRONG)) {
		/* Slots left empty beside these instructions come after them, unless a bubble ended here. */
		const int64_t behind = beside ? 0 : (int64_t)f->width - c->ndispatch;
		open->slots[LOST_BASE] -= behind + c->ndispatch;
		fmt_places_dispatch(f, c->head_po ? c->head_po + c->rob_used : f->next_po);
		open->slots[LOST_BASE] = behind;
		f->places.dispatched += c->ndispatch;
	}
	const bool paper = paper_cycle(s, c, repeat, fed);
	if (c->ndispatch)
		add_group(f, c, full, paper, beside);
	if (c->ncommit)
		f->next_po = c->head_po + c->ncommit;
	/* For eyerman2006 table 1. The paper counts misses at fetch, so misses that a full window
	 * hides count, too. */
	if (unlikely(is_miss(fed)) && flags & (RC_LONG_DMISS_OUT | RC_HEAD_DTLB)) {
		s->beside_long += repeat * f->width;
		if (flags & (RC_HEAD_LONG_DMISS | RC_HEAD_DTLB))
			s->overlap += repeat * f->width;
	}
	return n;
}

/* An instruction with its miss bit set completes: the stack takes sFMT's shared counters. */
static void claim(struct cpistack *s)
{
	for (unsigned k = CPI_L1I; k <= CPI_ITLB; k++) {
		s->now.method[METHOD_SFMT][k] += (int64_t)s->fmt.local[k];
		s->fmt.local[k] = 0;
	}
}

/* The group with which a committing instruction entered; NULL: before the first record. */
static const struct fmt_group *group_of(struct fmt *f, uint64_t po)
{
	/* older groups have committed */
	while (f->groups_end - f->groups_begin > 1 &&
	       f->groups[(f->groups_begin + 1) & f->mask].po <= po)
		f->groups_begin++;
	const struct fmt_group *g = &f->groups[f->groups_begin & f->mask];
	return f->groups_end > f->groups_begin && g->po <= po ? g : NULL;
}

/* The cost of a mispredicted branch that was charged `own` slots, some of them beside long misses:
 * what it would have cost without these misses, as far as that is known. If it costs less than
 * `own`, the misses get the rest; if it costs more, the difference is taken from the slots that
 * they were given while the window was full. */
static uint64_t beside_long_misses(struct cpistack *s, const struct fmt_resolved *then,
				   const struct fmt_sums *from, uint64_t own)
{
	struct fmt *f = &s->fmt;
	const struct fmt_sums *until = &then->next.after;
	uint64_t under[2], full[2];
	for (unsigned k = 0; k < 2; k++) {
		under[k] = then->under_long[k] - from->under_long[k];
		full[k] = until->full_long[k] - from->full_long[k];
	}
	const uint64_t walks = min_u64(full[0], f->sums.walks - from->walks);
	full[0] -= walks;
	full[1] += walks;
	for (unsigned k = 0; k < 2; k++)
		full[k] -= min_u64(full[k], f->sums.back[k] - from->back[k]);
	const uint64_t under_all = under[0] + under[1], full_all = full[0] + full[1];
	uint64_t cost = own + full_all;
	if (then->blocked_long || !(under_all + full_all)) {
		/* It has not waited for the miss: `cost` is exact. */
		f->typical += cost - f->typical / 64;
	} else {
		/* Without the long miss it would still have waited for a hit in the cache below. */
		cost = own - min_u64(own, under_all) + (uint64_t)f->penalty[CPI_L1D] * f->width;
		cost = min_u64(max_u64(cost, f->typical / 64), own + full_all);
	}
	if (cost < own) {
		const uint64_t under_walks = (own - cost) * under[1] / under_all;
		give(s, f->places.long_pc[0], CPI_L2D, own - cost - under_walks);
		give(s, f->places.long_pc[1], CPI_DTLB, under_walks);
	} else {
		const uint64_t taken = min_u64(cost - own, full[0]);
		take(s, f->places.long_pc[0], CPI_L2D, taken);
		take(s, f->places.long_pc[1], CPI_DTLB, cost - own - taken);
	}
	return cost;
}

/* The first instruction after a mispredicted branch completes: the branch's penalty is known. */
static void charge_branch(struct cpistack *s, const struct fmt_group *next, uint64_t next_pc)
{
	struct fmt *f = &s->fmt;
	struct fmt_places *p = &f->places;
	const struct fmt_group *own = &f->branch_group;
	const struct fmt_resolved *then = &f->resolved[f->branch_po & f->mask];
	const bool seen = then->po == f->branch_po && then->next.po &&
			  (int32_t)(then->next.number - own->number) > 0;
	/* If the successor was flushed and entered again, the branch is charged until it entered
	 * first. */
	if (seen)
		next = &then->next;
	const struct fmt_sums *from = &own->after, *until = &next->after;
	const uint64_t entered = f->branch_po - own->po + 1;
	uint64_t penalty = until->charged - from->charged;
	if (!own->full && f->width > entered + own->beside)
		penalty += f->width - entered - own->beside;
	struct fmt_account *a = f->pace.account;
	int64_t given[CLOCKS];
	for (unsigned k = 0; k < CLOCKS; k++)
		given[k] = a[k].given;
	const uint64_t latency = until->bound[0] - from->bound[0];
	uint64_t misses = until->bound[1] - from->bound[1];
	if (then->po == f->branch_po && !then->blocked && then->under_short > from->under_short)
		misses += then->under_short - from->under_short;
	/* So far they were the base of what came next. */
	fmt_places_give(p, next_pc, CPI_BASE, -penalty);
	penalty -= latency + misses;
	give(s, p->branch_pc, CPI_BMISP,
	     seen ? beside_long_misses(s, then, from, penalty) : penalty);
	cells_add(&p->cells, cell_key(p->branch_pc, 0, CPI_BMISP), 0, 1);
	f->pace.next_po = 0;
	f->pace.from_branches += misses;
	give(s, p->bound_pc, CPI_LONG, latency);
	give(s, p->miss_pc, CPI_L1D, misses);
	for (unsigned k = 0; k < CLOCKS; k++)
		a[k].late += a[k].given - given[k];
	s->now.method[METHOD_FMT_PAPER][CPI_BMISP] +=
	    (int64_t)(until->paper - next->paper - from->paper);
	for (unsigned k = 0; k < 2; k++)
		s->overlap += until->under_long[k] - from->under_long[k];
	s->beside_long += until->beside_long - from->beside_long;
}

/* A load that missed the TLB, too, has blocked the head of a full window with a miss to memory. Its page walk was
 * over by then, and made the miss end later. Of several misses that overlap all come later by the walk of one. */
static void charge_walk(struct cpistack *s, uint64_t pc)
{
	struct fmt *f = &s->fmt;
	const uint64_t walk = (uint64_t)f->penalty[CPI_DTLB] * f->width,
		       left = walk - min_u64(walk, f->stalled_walk);
	const int64_t most = fmt_given(s, CPI_L2D) - f->pace.before[CPI_L2D];
	const uint64_t n = most > 0 ? min_u64(min_u64(left, f->stalled), (uint64_t)most) : 0;
	take(s, pc, CPI_L2D, n);
	give(s, pc, CPI_DTLB, n);
	f->sums.walks += n;
	f->stalled = 0;
	f->walked_since = f->stalled_since;
}

/* Commits an instruction that is special (fmt_special) or follows a mispredicted branch. */
static void commit_one(struct cpistack *s, const struct rec_cycle *c, uint64_t po, uint64_t pc,
		       const struct cpi_special *special)
{
	struct fmt *f = &s->fmt;
	const struct fmt_group *g = group_of(f, po);
	if (f->have_branch && g)
		charge_branch(s, g, pc);
	f->have_branch = false;
	if (!special)
		return;
	if (special->psv & PSV_ST_TLB && f->stalled_po == po && f->walks_first &&
	    f->stalled_since != f->walked_since)
		charge_walk(s, pc);
	if (special->psv & (PSV_DR_L1 | PSV_DR_TLB) && po >= f->cleared_po) {
		claim(s);
		f->cleared_po = c->head_po + c->rob_used;
	}
	if (special->flags & RI_MISPREDICT) {
		f->have_branch = g != NULL;
		f->branch_po = po;
		f->places.branch_pc = pc;
		if (g)
			f->branch_group = *g;
		memset(f->local, 0, sizeof(f->local));
	}
}

static __attribute__((noinline)) void commit_special(struct cpistack *s, const struct rec_cycle *c)
{
	struct cpi_insts *in = &s->insts;
	for (size_t at = in->next; at < in->next + c->ncommit; at++) {
		const struct cpi_special *special = &in->special[in->next_special];
		if (special->at != at)
			special = NULL;
		if (special || s->fmt.have_branch)
			commit_one(s, c, in->po[at], in->pc[at], special);
		in->next_special += special != NULL;
	}
}

/* Commits the instructions of cycle c. False if the streams are out of step. */
static inline bool commit(struct cpistack *s, const struct rec_cycle *c, struct err *e)
{
	struct cpi_insts *in = &s->insts;
	const size_t end = in->next + c->ncommit;
	/* Committed instructions come in program order: if the last is the n-th, all are there. */
	if (unlikely(end > in->count || in->po[in->next] != c->head_po ||
		     in->po[end - 1] != c->head_po + c->ncommit - 1))
		return err_set(e,
			       "cycle %llu commits instructions from %llu on, and not all of "
			       "their records are there",
			       (unsigned long long)c->cycle, (unsigned long long)c->head_po);
	if (unlikely(s->fmt.have_branch || in->special[in->next_special].at < end))
		commit_special(s, c);
	const struct fmt_places *p = &s->fmt.places;
	if (p->begin != p->end && p->owed[p->begin & s->fmt.mask].po <= in->po[end - 1])
		fmt_places_commit(s, c);
	if (s->ideal.machine && unlikely(in->po[end - 1] >= s->fmt.pace.next_po)) {
		const struct fmt_group *g = group_of(&s->fmt, in->po[end - 1]);
		s->fmt.pace.next_po = in->po[end - 1] + PACE;
		if (g)
			fmt_pace(s, g, end - 1);
	}
	in->next = end;
	return true;
}

size_t fmt_cycles(struct cpistack *s, const struct rec_cycle *cycles, size_t count, uint64_t limit,
		  struct err *e)
{
	uint64_t passed = 0;
	size_t i = 0;
	count = min_u64(count, CPI_BLOCK);
	s->nruns = 0;
	bool commits = false;
	while (i < count && (passed < limit || !commits)) {
		const struct rec_cycle *c = &cycles[i];
		struct cpi_run *run = &s->runs[s->nruns++];
		walk_fetch(c + WALK_AHEAD);
		*run = (struct cpi_run){ c, c->repeat, issued_slots(&s->fmt, c) };
		i += fmt_run(s, run, count - i);
		passed += run->repeat;
		commits = c->ncommit;
		if (c->ncommit && !commit(s, c, e))
			return 0;
	}
	return i;
}
