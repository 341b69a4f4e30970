/* SPDX-License-Identifier: MIT */
/*
 * The front-end miss event table and its shared variant (eyerman2006 sections 4.1 to 4.3), as
 * counter architectures: they see what enters the pipeline and why nothing does, dispatch,
 * resolution and completion of branches, a full window and what blocks its head, and nothing that
 * hardware could not see.
 *
 * What the table computes row by row is computed here when the branch completes; a test runs the
 * table itself beside it.
 * - A row's local I-cache and I-TLB counters hold the cycles in which nothing was fed into the
 *   pipeline on the way to its branch; rows past a mispredicted branch are thrown away. Their sum
 *   over completed branches is those cycles on the right path. The pipeline begins behind the fetch
 *   buffer: a miss that the buffer hides feeds on and costs nothing, so a bubble is counted where
 * it arrives, at dispatch, with the cause that it was given at fetch.
 * - A row's branch-penalty counter counts every cycle from the branch's dispatch on, unless the
 *   window is full, and goes on after resolution until the first instruction of the right path
 *   enters. That is the difference of one running count (`charged`) between two dispatches: the
 *   branch's and its successor's. Penalties of successive mispredicted branches cannot overlap, so
 *   one counter serves all rows. A bubble of the right path that is counted as a miss is not
 * charged to the branch before it as well.
 * - A taken branch whose target the front end learns only at decode is a (small) misprediction too:
 *   its bubbles are counted like misses, for branches.
 *
 * The sFMT has one set of local I-cache and I-TLB counters for all rows: an instruction with its
 * miss bit set that completes claims them all; a mispredicted branch that completes clears them.
 *
 * Long back-end misses and long-latency stalls are counted while the window is full (the ROB, or
 * whatever else dispatch finds full) and its head is blocked.
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>
#include <string.h>

void fmt_init(struct fmt *f, const struct trace_meta *meta)
{
	f->marks = x_calloc(FMT_MARKS, sizeof(*f->marks));
	f->depth = meta->frontend_depth;
	f->fetched = true;
	/* what was fetched before the first record: nothing that is known */
	f->fed[0] = (struct fmt_fed){ .cycles = f->depth, .cause = CPI_BASE };
	f->fed_end = f->depth ? 1 : 0;
}

void fmt_free(struct fmt *f)
{
	free(f->marks);
}

/* The running count at the start of a cycle. Cycles older than the ring remembers read as its
 * oldest. */
static uint64_t charged_at(const struct fmt *f, uint64_t cycle)
{
	uint64_t lo = f->nmarks > FMT_MARKS ? f->nmarks - FMT_MARKS : 0, hi = f->nmarks;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (f->marks[mid % FMT_MARKS].cycle <= cycle)
			lo = mid;
		else
			hi = mid;
	}
	const struct fmt_mark *m = &f->marks[lo % FMT_MARKS];
	return m->charged + (m->charging && cycle > m->cycle ? cycle - m->cycle : 0);
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

/* Counts the bubbles of c's cycles by what was fetched (or not) depth cycles before; returns how
 * many of them were counted as misses of the right path. */
static uint64_t take_bubbles(struct cpistack *s, uint64_t cycles, bool bubble)
{
	struct fmt *f = &s->fmt;
	uint64_t counted = 0;
	while (cycles) {
		struct fmt_fed *fed = &f->fed[f->fed_begin % FMT_FED];
		const uint64_t n = min_u64(cycles, fed->cycles);
		if (bubble && fed->cause != CPI_BASE) {
			f->local[fed->cause] += n;
			if (!fed->wrong) {
				s->now.method[METHOD_FMT][fed->cause] += (int64_t)n;
				counted += n;
			}
			/* a corrected target has a row of its own in both tables */
			if (fed->cause == CPI_BMISP && !fed->wrong)
				s->now.method[METHOD_SFMT][CPI_BMISP] += (int64_t)n;
		}
		fed->cycles -= n;
		cycles -= n;
		f->fed_begin += !fed->cycles;
	}
	return counted;
}

static bool window_full(const struct rec_cycle *c)
{
	if (c->flags & RC_ROB_FULL)
		return true;
	return !c->ndispatch && c->dispatch_stall > DISPATCH_EMPTY &&
	       c->dispatch_stall != DISPATCH_SERIAL;
}

void fmt_cycle(struct cpistack *s, const struct rec_cycle *c)
{
	struct fmt *f = &s->fmt;
	const bool full = window_full(c), wrong = c->flags & RC_WRONG_PATH;
	const enum cpi_component cause = fetch_cause(f, c);
	const bool bubble = !c->ndispatch && !full && c->dispatch_stall == DISPATCH_EMPTY;
	if (full && !c->ncommit) {
		const enum cpi_component head = cpi_head_reason(c);
		s->now.method[METHOD_FMT][head] += c->repeat;
		s->now.method[METHOD_SFMT][head] += c->repeat;
		f->long_miss_cycles += head == CPI_L2D ? c->repeat : 0;
	}
	/* What is fetched now arrives depth cycles later. */
	struct fmt_fed *last = &f->fed[(f->fed_end - 1) % FMT_FED];
	if (f->fed_end != f->fed_begin && last->cause == cause && last->wrong == wrong)
		last->cycles += c->repeat;
	else
		f->fed[f->fed_end++ % FMT_FED] = (struct fmt_fed){ .cycles = c->repeat,
								   .cause = (uint8_t)cause,
								   .wrong = wrong };
	const uint64_t counted = take_bubbles(s, c->repeat, bubble);
	/* a record whose cycles are partly counted is rare: it charges from its end */
	f->marks[f->nmarks++ % FMT_MARKS] = (struct fmt_mark){ .cycle = c->cycle,
							       .charged = f->charged,
							       .charging = !full && !counted };
	f->charged += full ? 0 : c->repeat - counted;
	if ((cause != CPI_BASE || wrong) && c->flags & RC_HEAD_LONG_DMISS)
		s->overlap_cycles += c->repeat;
}

/* An instruction with its miss bit set completes: sFMT's shared counters are the run's. */
static void claim(struct cpistack *s)
{
	for (unsigned k = CPI_L1I; k <= CPI_ITLB; k++) {
		s->now.method[METHOD_SFMT][k] += (int64_t)s->fmt.local[k];
		s->fmt.local[k] = 0;
	}
}

void fmt_commit(struct cpistack *s, const struct rec_cycle *c, const struct rec_inst *r)
{
	struct fmt *f = &s->fmt;
	if (likely(!f->have_branch && !(r->flags & (RI_MISPREDICT | RI_BTB_MISS)) &&
		   !(r->psv & (PSV_DR_L1 | PSV_DR_TLB))))
		return;
	const uint64_t dispatch = r->fetch + r->dispatch;
	if (f->have_branch) {
		const int64_t penalty =
		    (int64_t)(charged_at(f, dispatch) - charged_at(f, f->branch_dispatch));
		s->now.method[METHOD_FMT][CPI_BMISP] += penalty;
		s->now.method[METHOD_SFMT][CPI_BMISP] += penalty;
		f->have_branch = false;
	}
	if (r->psv & (PSV_DR_L1 | PSV_DR_TLB) && dispatch >= f->cleared_at) {
		claim(s);
		f->cleared_at = c->cycle;
	}
	if (r->flags & RI_MISPREDICT) {
		f->have_branch = true;
		f->branch_dispatch = dispatch;
		memset(f->local, 0, sizeof(f->local));
	}
}
