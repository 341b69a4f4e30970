/* SPDX-License-Identifier: MIT */
/*
 * What FMT's base lacks. A chain of dependent operations, or a unit that is busy, may need more time than
 * dispatch does, and goes on under a miss that has nothing to do with it. If that comes before the window
 * is full, FMT sees a miss and no chain, and gives it the time that the chain needs in any case.
 *
 * The ideal clock (ideal.c) knows that time. From one instruction to a later one, the slots that no miss
 * has been given must be as many as pass on the clock. Where they are fewer, misses got what the base
 * needs, and it is taken back from those that have just been given something, in proportion: what a chain
 * hides would have been lost without them.
 *
 * Both are compared at the same instruction, when it commits: then every older branch has its penalty. The
 * slots are those that had passed when it dispatched. A stall that fills the window comes earlier here than
 * on the clock, where the instructions in the window are yet to come: as far as the base is ahead for no
 * longer than the window is worth on the clock, it counts as paid in advance. If it is further ahead, the
 * machine has lost slots in ways that the clock does not know, and they pay for nothing.
 */
#include "analysis/cpistack/cpistack.h"

/* An address for slots of this kind: that of the last one. */
static uint64_t place_of(const struct fmt_places *p, unsigned k)
{
	switch (k) {
	case CPI_BMISP:
		return p->branch_pc;
	case CPI_L1D:
		return p->miss_pc;
	case CPI_L2D:
		return p->long_pc[0];
	case CPI_DTLB:
		return p->long_pc[1];
	default:
		return p->late_pc[k];
	}
}

/* Whether a clock counts what component k costs. */
static bool counts(unsigned clock, unsigned k)
{
	return k == CPI_BASE || (k == CPI_L1D && clock >= CLOCK_L1D) ||
	       (k == CPI_BMISP && clock >= CLOCK_BMISP) || k >= CPI_SIMULATED;
}

void fmt_pace_note(struct fmt *f, unsigned k, int64_t slots, bool late)
{
	for (unsigned clock = 0; clock < CLOCKS; clock++) {
		struct fmt_account *a = &f->pace.account[clock];
		if (counts(clock, k))
			return;
		a->given += slots;
		a->late += late ? slots : 0;
	}
}

/* Takes slots from component k and gives them to another. */
static void move(struct cpistack *s, unsigned k, enum cpi_component to, int64_t slots, uint64_t pc)
{
	struct fmt *f = &s->fmt;
	if (!slots)
		return;
	f->given[k] -= slots;
	if (k == CPI_L2D || k == CPI_DTLB)
		f->sums.back[k == CPI_DTLB] += (uint64_t)slots;
	fmt_pace_note(f, k, -slots, true);
	fmt_places_give(&f->places, place_of(&f->places, k), (enum cpi_component)k,
			(uint64_t)-slots);
	if (to != CPI_BASE)
		f->given[to] += slots;
	fmt_pace_note(f, to, slots, true);
	fmt_places_give(&f->places, pc, to, (uint64_t)slots);
}

/* Who makes up for what a clock says is lacking: those first that come last in the simulated stacks, where
 * a component is what is lost beside all that come before it. */
static const uint8_t order[CPI_SIMULATED] = {
	[CPI_L1D] = 0, [CPI_L2D] = 1, [CPI_DTLB] = 1, [CPI_BMISP] = 2,
	[CPI_L1I] = 2, [CPI_L2I] = 2, [CPI_ITLB] = 2,
};

/* Gives a clock's component what it lacks, from what misses that the clock does not count have been given
 * since this was done last. */
static void make_up(struct cpistack *s, unsigned clock, int64_t lacks, uint64_t pc)
{
	static const uint8_t component[CLOCKS] = { CPI_BASE, CPI_L1D, CPI_BMISP };
	for (unsigned turn = 0; turn <= 2 && lacks > 0; turn++) {
		int64_t recent[CPI_SIMULATED] = { 0 }, all = 0;
		for (unsigned k = CPI_BASE + 1; k < CPI_SIMULATED; k++) {
			if (order[k] != turn || counts(clock, k))
				continue;
			recent[k] = fmt_given(s, k) - s->fmt.pace.before[k];
			recent[k] = recent[k] > 0 ? recent[k] : 0;
			all += recent[k];
		}
		const int64_t moved = lacks < all ? lacks : all;
		for (unsigned k = CPI_BASE + 1; k < CPI_SIMULATED && all; k++)
			move(s, k, component[clock], moved * recent[k] / all, pc);
		lacks -= moved;
	}
}

void fmt_pace(struct cpistack *s, const struct fmt_group *g, size_t at)
{
	struct fmt *f = &s->fmt;
	const struct cpi_clock *clock = &s->insts.clock[at];
	int64_t grown[CLOCKS];
	for (unsigned k = 0; k < CLOCKS; k++) {
		struct fmt_account *a = &f->pace.account[k];
		const int64_t left = (int64_t)g->left[k] - a->late,
			      lacks = (int64_t)clock->at[k] - left + a->surplus,
			      paid = -(int64_t)clock->ahead[k];
		grown[k] = lacks < paid ? paid - lacks : 0;
		a->surplus += grown[k];
		if (lacks > 0)
			make_up(s, k, lacks, s->insts.pc[at]);
	}
	/* Short misses got more of branches that waited for them than they can cost. */
	const int64_t excess = grown[CLOCK_L1D] - grown[CLOCK_BASE],
		      waited = (int64_t)f->pace.from_branches;
	if (excess > 0 && waited)
		move(s, CPI_L1D, CPI_BMISP, excess < waited ? excess : waited, f->places.branch_pc);
	f->pace.from_branches = 0;
	for (unsigned k = CPI_BASE + 1; k < CPI_SIMULATED; k++)
		f->pace.before[k] = fmt_given(s, k);
}
