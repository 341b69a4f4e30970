/* SPDX-License-Identifier: MIT */
/*
 * The front-end miss event table and its shared variant (eyerman2006 sections 4.1 to 4.3), as
 * counter architectures: they see fetch stalls, dispatch, resolution and completion of branches, a
 * full ROB and what blocks its head, and nothing that hardware could not see.
 *
 * What the FMT computes, row by row, is computed here when the branch completes:
 * - A row's local I-cache and I-TLB counters hold the fetch-stall cycles on the way to that branch;
 * rows past a mispredicted branch are thrown away. Their sum over completed branches is the stall
 * cycles on the right path.
 * - A row's branch-penalty counter counts every cycle from the branch's dispatch on, unless the ROB
 * is full, and goes on after resolution until the first instruction of the right path enters the
 * ROB. That is the difference of one running count (`charged`) between two dispatches: the branch's
 * and its successor's. Penalties of successive mispredicted branches cannot overlap, so one counter
 * serves all rows.
 * - A cycle in which the right path waits for the I-cache is not charged to a branch as well.
 *
 * The sFMT has one set of I-cache and I-TLB counters for all rows: an instruction with its miss bit
 * set that completes claims them all; a mispredicted branch that completes clears them.
 *
 * Long back-end misses and long-latency stalls are counted while the ROB is full and its head is
 * blocked.
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>
#include <string.h>

void fmt_init(struct fmt *f)
{
	f->marks = x_calloc(FMT_MARKS, sizeof(*f->marks));
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

static bool is_imiss(enum cpi_component c)
{
	return c == CPI_L1I || c == CPI_L2I || c == CPI_ITLB;
}

void fmt_cycle(struct cpistack *s, const struct rec_cycle *c)
{
	struct fmt *f = &s->fmt;
	const enum cpi_component fetch = cpi_fetch_reason(c);
	const bool full = c->flags & RC_ROB_FULL, wrong = c->flags & RC_WRONG_PATH;
	const bool imiss = is_imiss(fetch);
	if (full && !c->ncommit) {
		enum cpi_component head = cpi_head_reason(c);
		s->now.method[METHOD_FMT][head] += c->repeat;
		s->now.method[METHOD_SFMT][head] += c->repeat;
		if (head == CPI_L2D)
			s->long_miss_cycles += c->repeat;
	}
	if (imiss && !full) {
		f->local[fetch] += c->repeat;
		if (!wrong) {
			s->now.method[METHOD_FMT][fetch] += c->repeat;
			s->imiss_cycles += fetch == CPI_L1I ? c->repeat : 0;
		}
	}
	/* table 1: a front-end penalty while a long back-end miss is outstanding at the head */
	if ((imiss && !wrong && cpi_head_reason(c) == CPI_L2D && !(c->flags & RC_ROB_EMPTY)) ||
	    (wrong && cpi_head_reason(c) == CPI_L2D && !(c->flags & RC_ROB_EMPTY)))
		s->overlap_cycles += c->repeat;
	const bool charging = !full && !(imiss && !wrong);
	f->marks[f->nmarks++ % FMT_MARKS] =
	    (struct fmt_mark){ .cycle = c->cycle, .charged = f->charged, .charging = charging };
	f->charged += charging ? c->repeat : 0;
}

static bool has_miss_bit(const struct rec_inst *r)
{
	return r->flags & RI_FETCH_HEAD && r->psv & (PSV_DR_L1 | PSV_DR_TLB);
}

void fmt_commit(struct cpistack *s, const struct rec_cycle *c, const struct rec_inst *r)
{
	struct fmt *f = &s->fmt;
	const uint64_t dispatch = r->fetch + r->dispatch;
	if (f->have_branch) {
		int64_t penalty =
		    (int64_t)(charged_at(f, dispatch) - charged_at(f, f->branch_dispatch));
		s->now.method[METHOD_FMT][CPI_BMISP] += penalty;
		s->now.method[METHOD_SFMT][CPI_BMISP] += penalty;
		f->have_branch = false;
	}
	if (has_miss_bit(r) && dispatch >= f->cleared_at) {
		for (unsigned k = 0; k < CPI_COMPONENTS; k++)
			s->now.method[METHOD_SFMT][k] += (int64_t)f->local[k];
		memset(f->local, 0, sizeof(f->local));
		f->cleared_at = c->cycle;
	}
	if (r->flags & RI_MISPREDICT) {
		f->have_branch = true;
		f->branch_dispatch = dispatch;
		memset(f->local, 0, sizeof(f->local));
	}
}
