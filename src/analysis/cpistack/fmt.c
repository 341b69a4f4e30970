/* SPDX-License-Identifier: MIT */
/*
 * The front-end miss event table and its shared variant (eyerman2006 sections 4.1 to 4.3), as
 * counter architectures: they see what enters the pipeline and why nothing does, dispatch,
 * resolution and completion of branches, a full window and what blocks its head, and nothing that
 * hardware could not see.
 *
 * What the table computes row by row is computed here when the branch completes; a test runs the
 * table itself beside it.
 * - A row's local I-cache and I-TLB counters hold what was not fed into the pipeline on the way to
 *   its branch; rows past a mispredicted branch are thrown away. Their sum over completed branches
 *   is what the right path lost.
 * - A row's branch-penalty counter counts every cycle after the branch's dispatch, unless the
 *   window is full, and goes on after resolution until the first instruction of the right path
 *   enters. That is the difference of one running count (`charged`) between two dispatches: the
 *   branch's and its successor's. Penalties of successive mispredicted branches cannot overlap, so
 *   one counter serves all rows. What the right path loses to a miss is not charged to the branch
 *   before it as well.
 * - The sFMT has one set of local I-cache and I-TLB counters for all rows: an instruction with its
 *   miss bit set that completes claims them all; a mispredicted branch that completes clears them.
 * - Long back-end misses and long-latency stalls are counted while the window is full (the ROB, or
 *   whatever else dispatch finds full) and its head is blocked.
 *
 * Where the text leaves room, or a machine has what SimpleScalar had not:
 * - Units are dispatch slots, so that a cycle that is half used is half lost.
 * - The pipeline begins behind the fetch buffer: a miss that the buffer hides costs nothing. So a
 *   bubble is counted where it arrives, at dispatch, with the cause that it was given at fetch; the
 *   slots that are empty beside the last instructions before it and the first after it are part of
 *   it.
 * - A taken branch whose target the front end learns only at decode is a (small) misprediction too:
 *   its bubbles are counted like misses, for branches.
 * - A mispredicted branch that resolves after a D-miss at the head of the ROB has returned waited
 * for it: those cycles are the miss's. One that resolves under the miss keeps them.
 * - Slots that wrong-path instructions take are the branch's, also where they fill a full window.
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>
#include <string.h>

void fmt_init(struct fmt *f, const struct trace_meta *meta)
{
	f->marks = x_calloc(FMT_MARKS, sizeof(*f->marks));
	f->depth = meta->frontend_depth;
	f->width = meta->dispatch_width;
	f->fetched = true;
	/* what was fetched before the first record: nothing that is known */
	f->fed[0] = (struct fmt_fed){ .cycles = f->depth, .cause = CPI_BASE };
	f->fed_end = f->depth ? 1 : 0;
}

void fmt_free(struct fmt *f)
{
	free(f->marks);
}

/* The record that a cycle belongs to; cycles older than the ring remembers give its oldest. */
static const struct fmt_mark *mark_of(const struct fmt *f, uint64_t cycle)
{
	const uint64_t first = f->nmarks > FMT_MARKS ? f->nmarks - FMT_MARKS : 0;
	/* it is nearly always one of the last hundred: steps that double find the range (a search
	 * of the whole ring took a tenth of the run) */
	uint64_t hi = f->nmarks, lo = hi - 1, step = 4;
	while (lo > first && f->marks[lo % FMT_MARKS].cycle > cycle) {
		hi = lo;
		lo = lo - first > step ? lo - step : first;
		step *= 2;
	}
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (f->marks[mid % FMT_MARKS].cycle <= cycle)
			lo = mid;
		else
			hi = mid;
	}
	return &f->marks[lo % FMT_MARKS];
}

/* The running counts at the start of a cycle. */
static struct fmt_sums sums_at(const struct fmt *f, uint64_t cycle)
{
	const struct fmt_mark *m = mark_of(f, cycle);
	const uint64_t passed = cycle > m->cycle ? cycle - m->cycle : 0;
	struct fmt_sums s = m->before;
	s.charged += min_u64(passed, m->cycles) * m->charge;
	if (m->under_long)
		s.under_long += min_u64(passed, m->cycles) * m->charge;
	if (m->under_short)
		s.under_short += min_u64(passed, m->cycles) * m->charge;
	if (m->paper)
		s.paper += min_u64(passed, m->cycles);
	return s;
}

/* What a bubble that begins at fetch in this cycle is due to; CPI_BASE: nothing to be counted. */
static enum cpi_component fetch_cause(struct fmt *f, const struct rec_cycle *c)
{
	enum cpi_component cause = CPI_BASE;
	switch (c->fetch_stall) {
	case FETCH_ICACHE_L2:
	case FETCH_ICACHE_LLC:
		cause = CPI_L1I;
		break;
	case FETCH_ICACHE_MEM:
		cause = CPI_L2I;
		break;
	case FETCH_ITLB:
		cause = CPI_ITLB;
		break;
	case FETCH_REDIRECT:
		/* after a flush the front end refills, which the flush is charged for; later it is
		 * a target that decode corrected */
		cause = f->fetched ? CPI_BMISP : CPI_BASE;
		break;
	default:
		break;
	}
	if (c->nfetch)
		f->fetched = true;
	if (c->flags & RC_FLUSH)
		f->fetched = false;
	return cause;
}

static void lose(struct cpistack *s, enum cpi_component cause, bool wrong, uint64_t slots)
{
	s->fmt.local[cause] += slots;
	if (wrong)
		return;
	s->now.method[METHOD_FMT][cause] += (int64_t)slots;
	/* a corrected target has a row of its own in both tables */
	if (cause == CPI_BMISP)
		s->now.method[METHOD_SFMT][CPI_BMISP] += (int64_t)slots;
}

/* Passes c's cycles through the front end: counts its bubbles by what was fetched (or not) depth
 * cycles before. Returns how many slots the right path lost to misses. */
static uint64_t feed(struct cpistack *s, const struct rec_cycle *c, bool bubble)
{
	struct fmt *f = &s->fmt;
	uint64_t left = c->repeat, lost = 0;
	while (left) {
		struct fmt_fed *fed = &f->fed[f->fed_begin % FMT_FED];
		const uint64_t n = min_u64(left, fed->cycles);
		if (bubble && fed->cause != CPI_BASE) {
			const uint64_t slots = n * f->width + f->partial;
			lose(s, fed->cause, fed->wrong, slots);
			lost += fed->wrong ? 0 : n * f->width;
			f->partial = 0;
			f->bubble = fed->wrong ? CPI_BASE : fed->cause;
		} else if (bubble) {
			f->partial = 0;
			f->bubble = CPI_BASE;
		}
		fed->cycles -= n;
		left -= n;
		f->fed_begin += !fed->cycles;
	}
	return lost;
}

static bool window_full(const struct rec_cycle *c)
{
	if (c->flags & RC_ROB_FULL)
		return true;
	return !c->ndispatch && c->dispatch_stall > DISPATCH_EMPTY &&
	       c->dispatch_stall != DISPATCH_SERIAL;
}

/* What blocks a full window: the oldest instruction, or, where the queue of loads and stores is
 * full of stores that wait to be written, their misses. */
static enum cpi_component full_reason(const struct rec_cycle *c)
{
	const enum cpi_component head = cpi_head_reason(c);
	if (head != CPI_LONG ||
	    (c->dispatch_stall != DISPATCH_SQ && c->dispatch_stall != DISPATCH_LQ))
		return head;
	return c->flags & RC_LONG_DMISS_OUT ? CPI_L2D : c->flags & RC_DMISS_OUT ? CPI_L1D : CPI_SQ;
}

/* Slots that stay empty because the window is full, to what blocks its head. When something
 * commits, it is the next to commit that blocks: the record after says why. */
static void back_end(struct cpistack *s, const struct rec_cycle *c)
{
	struct fmt *f = &s->fmt;
	const enum cpi_component head = full_reason(c);
	uint64_t slots = c->flags & RC_HEAD_DONE ? 0 : f->behind;
	f->behind = 0;
	if (c->dispatch_stall > DISPATCH_EMPTY && c->dispatch_stall != DISPATCH_SERIAL &&
	    f->width > c->ndispatch) {
		if (c->ncommit)
			f->behind = f->width - c->ndispatch;
		else
			slots += (uint64_t)c->repeat * (f->width - c->ndispatch);
	} else if (c->flags & RC_ROB_FULL && !c->ncommit && !c->ndispatch) {
		slots += (uint64_t)c->repeat * f->width;
	}
	s->now.method[METHOD_FMT][head] += (int64_t)slots;
	s->now.method[METHOD_SFMT][head] += (int64_t)slots;
}

/* The table to the letter: whole cycles, misses counted at fetch, only the ROB can be full. Says if
 * a mispredicted branch would be charged for the cycle. */
static bool paper_cycle(struct cpistack *s, const struct rec_cycle *c, enum cpi_component cause)
{
	int64_t *stack = s->now.method[METHOD_FMT_PAPER];
	const bool full = c->flags & RC_ROB_FULL, wrong = c->flags & RC_WRONG_PATH;
	const bool miss = cause != CPI_BASE && cause != CPI_BMISP;
	if (full && !c->ncommit)
		stack[cpi_head_reason(c)] += c->repeat;
	if (miss && !full && !wrong)
		stack[cause] += c->repeat;
	return !full && !(miss && !wrong);
}

void fmt_cycle(struct cpistack *s, const struct rec_cycle *c)
{
	struct fmt *f = &s->fmt;
	const bool full = window_full(c), wrong = c->flags & RC_WRONG_PATH;
	const bool starved = !full && c->dispatch_stall == DISPATCH_EMPTY;
	const enum cpi_component cause = fetch_cause(f, c);
	back_end(s, c);
	/* What is fetched now arrives depth cycles later. */
	struct fmt_fed *last = &f->fed[(f->fed_end - 1) % FMT_FED];
	if (f->fed_end != f->fed_begin && last->cause == cause && last->wrong == wrong)
		last->cycles += c->repeat;
	else
		f->fed[f->fed_end++ % FMT_FED] = (struct fmt_fed){ .cycles = c->repeat,
								   .cause = (uint8_t)cause,
								   .wrong = wrong };
	const uint64_t lost = feed(s, c, starved && !c->ndispatch);
	/* Slots of each cycle that a mispredicted branch in the window would be charged for. */
	uint64_t charge = 0, beside = 0;
	if (!full && !c->ndispatch) {
		charge = lost ? 0 : f->width;
	} else if (c->ndispatch && c->flags & RC_DISPATCH_WRONG) {
		/* a full window is the head's matter, but what enters it is wasted all the same */
		charge = full ? c->ndispatch : f->width;
	} else if (starved) {
		const uint64_t empty = f->width > c->ndispatch ? f->width - c->ndispatch : 0;
		if (f->bubble != CPI_BASE)
			lose(s, f->bubble, false, beside = empty);
		else
			charge = empty;
		f->partial = f->bubble != CPI_BASE ? 0 : empty;
	} else {
		f->partial = 0;
	}
	if (c->ndispatch)
		f->bubble = CPI_BASE;
	struct fmt_mark *m = &f->marks[f->nmarks++ % FMT_MARKS];
	*m = (struct fmt_mark){ .cycle = c->cycle,
				.cycles = c->repeat,
				.before = f->sums,
				.charge = (uint8_t)charge,
				.beside = (uint8_t)beside,
				.full = full,
				.paper = paper_cycle(s, c, cause),
				.under_long = c->flags & RC_HEAD_LONG_DMISS && !c->ncommit,
				.under_short = c->flags & RC_HEAD_L1MISS && !c->ncommit };
	f->sums.charged += c->repeat * charge;
	f->sums.paper += m->paper ? c->repeat : 0;
	/* a record of which only a part was lost to misses: the rest is charged at its end */
	if (lost && lost < (uint64_t)c->repeat * f->width)
		f->sums.charged += (uint64_t)c->repeat * f->width - lost;
	if (m->under_long)
		f->sums.under_long += c->repeat * charge;
	if (m->under_short)
		f->sums.under_short += c->repeat * charge;
	/* eyerman2006 table 1 */
	if (lost && c->flags & RC_HEAD_LONG_DMISS)
		s->overlap += lost;
}

/* An instruction with its miss bit set completes: sFMT's shared counters are the run's. */
static void claim(struct cpistack *s)
{
	for (unsigned k = CPI_L1I; k <= CPI_ITLB; k++) {
		s->now.method[METHOD_SFMT][k] += (int64_t)s->fmt.local[k];
		s->fmt.local[k] = 0;
	}
}

/* The first instruction after a mispredicted branch completes: the branch's penalty is known. */
static void charge_branch(struct cpistack *s, uint64_t dispatch)
{
	struct fmt *f = &s->fmt;
	const struct fmt_sums from = sums_at(f, f->branch_dispatch + 1);
	const struct fmt_sums until = sums_at(f, dispatch + 1);
	const struct fmt_sums resolved = sums_at(f, f->branch_resolved);
	const struct fmt_mark *own = mark_of(f, f->branch_dispatch);
	const struct fmt_mark *then = mark_of(f, f->branch_resolved);
	uint64_t penalty = until.charged - from.charged;
	if (!own->full && f->branch_rest > own->beside)
		penalty += f->branch_rest - own->beside;
	const uint64_t under_long = resolved.under_long - from.under_long;
	const uint64_t under_short = resolved.under_short - from.under_short;
	const uint64_t long_waited = then->under_long ? 0 : under_long;
	const uint64_t short_waited = then->under_short ? 0 : under_short;
	s->overlap += under_long - long_waited;
	for (unsigned m = METHOD_FMT; m <= METHOD_SFMT; m++) {
		s->now.method[m][CPI_BMISP] += (int64_t)(penalty - long_waited - short_waited);
		s->now.method[m][CPI_L2D] += (int64_t)long_waited;
		s->now.method[m][CPI_L1D] += (int64_t)short_waited;
	}
	s->now.method[METHOD_FMT_PAPER][CPI_BMISP] +=
	    (int64_t)(sums_at(f, dispatch).paper - from.paper);
	f->have_branch = false;
}

void fmt_commit(struct cpistack *s, const struct rec_cycle *c, const struct rec_inst *r)
{
	struct fmt *f = &s->fmt;
	const uint64_t dispatch = r->fetch + r->dispatch;
	f->group = dispatch == f->last_dispatch ? f->group + 1 : 1;
	f->last_dispatch = dispatch;
	if (likely(!f->have_branch && !(r->flags & RI_MISPREDICT) &&
		   !(r->psv & (PSV_DR_L1 | PSV_DR_TLB))))
		return;
	if (f->have_branch)
		charge_branch(s, dispatch);
	if (r->psv & (PSV_DR_L1 | PSV_DR_TLB) && dispatch >= f->cleared_at) {
		claim(s);
		f->cleared_at = c->cycle;
	}
	if (r->flags & RI_MISPREDICT) {
		f->have_branch = true;
		f->branch_dispatch = dispatch;
		f->branch_resolved = max_u64(r->fetch + r->complete, dispatch + 1);
		f->branch_rest = f->group < f->width ? f->width - f->group : 0;
		memset(f->local, 0, sizeof(f->local));
	}
}
