/* SPDX-License-Identifier: MIT */
/*
 * Where the run's time goes, by the rules of the golden reference (tip2021): instructions that commit in
 * one cycle share it; a cycle in which nothing commits goes to the next that does; but after a flush,
 * while nothing has been dispatched, to the instruction that flushed.
 *
 * Only functions are wanted in the end, so instructions that follow each other in memory form a run and
 * are counted under its first: most runs lie in one function.
 */
#include "analysis/icost/places.h"

#define FLUSHES (RI_MISPREDICT | RI_FLUSHES)

void spent_begin(struct spent *s, uint64_t cycle)
{
	*s = (struct spent){ .cycle = cycle };
}

static void spend(struct spent *s, struct places *p, uint64_t first, uint64_t units)
{
	if (first != s->to && s->units) {
		places_time(p, s->to, s->units);
		s->units = 0;
	}
	s->to = first;
	s->units += units;
}

/* The present cycle is over. */
static void share(struct spent *s, struct places *p)
{
	unsigned left = s->total;
	uint64_t units = SPENT_UNITS;

	if (likely(s->nruns == 1)) {
		spend(s, p, s->run[0].first, units);
		s->nruns = s->total = 0;
		return;
	}
	for (unsigned i = 0; i < s->nruns; i++) {
		const uint64_t part = units * s->run[i].insts / left;

		spend(s, p, s->run[i].first, part);
		units -= part;
		left -= s->run[i].insts;
	}
	s->nruns = s->total = 0;
}

/* The cycles since the last commit, before the present one, are over. */
static void wait(struct spent *s, struct places *p, const struct rec_inst *r, uint64_t idle)
{
	if (s->flushed) {
		const uint64_t there = r->fetch + r->dispatch - s->cycle,
			       before = min_u64(idle, there);

		spend(s, p, s->before, before * SPENT_UNITS);
		idle -= before;
	}
	if (idle)
		spend(s, p, s->first, idle * SPENT_UNITS);
}

uint16_t spent_inst(struct spent *s, struct places *p, const struct rec_inst *r)
{
	const uint64_t cycle = r->fetch + r->commit;
	const bool goes_on = r->pc - s->last - 2 <= 2 && s->nruns < SPENT_GROUP;
	uint16_t held = PLACES_NOT_HELD;

	s->last = r->pc;
	if (!goes_on)
		s->first = r->pc;
	if (unlikely(s->flushed))
		held = clip_u16(r->commit - r->dispatch);
	if (cycle != s->cycle) {
		if (s->total)
			share(s, p);
		if (cycle - s->cycle > 1)
			wait(s, p, r, cycle - s->cycle - 1);
		s->cycle = cycle;
	}
	if (!goes_on || !s->nruns) {
		s->run[s->nruns].first = s->first;
		s->run[s->nruns++].insts = 0;
	}
	s->run[s->nruns - 1].insts++;
	s->total++;
	s->before = s->first;
	s->flushed = r->flags & FLUSHES;
	return held;
}

void spent_end(struct spent *s, struct places *p)
{
	if (s->total)
		share(s, p);
	spend(s, p, 0, 0);
}
