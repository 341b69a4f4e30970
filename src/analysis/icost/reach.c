/* SPDX-License-Identifier: MIT */
/*
 * A wrong path fetches lines that the right path wants later, if the two converge: the next key of
 * a hash join, the next element of a sort. While a branch waits for a miss, a larger window lets its
 * wrong path run further ahead, which saves more misses. A graph of the right path cannot show that.
 *
 * The chance that a wrong path fetches a line is learnt from the run. Consider the lines that the
 * right path wanted within reach of a wrong path and that would have missed without wrong paths
 * (shadow.c): some of them were there. A line beyond that reach, but within the reach of a larger
 * window, gets the same chance from each wrong path that comes that far. A wrong path cannot fetch
 * from an address that depends on a miss after its branch, because that data has not arrived.
 * A unit that is not pipelined limits how fast a wrong path executes, whatever the window: it needs
 * the unit as often as the right path does. Chances are summed, and a whole miss is saved whenever
 * the sum reaches one.
 */
#include "analysis/icost/reach.h"

#include "analysis/icost/thresholds.h"
#include "util/util.h"

void reach_inst(struct reach *s, unsigned unit, uint64_t busy)
{
	s->busy[unit] += busy;
	if (++s->insts < REACH_INSTS)
		return;
	s->insts /= 2;
	for (unsigned k = 0; k < REACH_UNITS; k++)
		s->busy[k] /= 2;
}

uint64_t reach_executes(const struct reach *s, uint64_t cycles)
{
	uint64_t most = 0;
	for (unsigned k = 0; k < REACH_UNITS; k++)
		most = max_u64(most, s->busy[k]);
	return most ? cycles * s->insts / most : UINT64_MAX;
}

void reach_branch(struct reach *s, uint64_t number, uint64_t fetched, uint64_t wide, uint32_t ahead,
		  uint32_t room, uint32_t larger)
{
	s->branch[s->next].number = number;
	s->branch[s->next].real = (uint32_t)min_u64(fetched, room);
	s->branch[s->next].larger = (uint32_t)min_u64(fetched, larger);
	s->branch[s->next].wide = (uint32_t)min_u64(wide, room);
	s->branch[s->next].both = (uint32_t)min_u64(wide, larger);
	s->branch[s->next].ahead = ahead;
	s->next = (s->next + 1) % REACH_BRANCHES;
}

void reach_line(struct reach *s, uint64_t number, uint64_t after, bool saved)
{
	unsigned n = 0;
	for (unsigned k = 0; k < REACH_BRANCHES; k++)
		n += number - s->branch[k].number <= s->branch[k].real &&
		     s->branch[k].number >= after;
	s->tried += n;
	s->found += n && saved;
	if (s->tried > REACH_MEMORY) {
		s->tried /= 2;
		s->found /= 2;
	}
}

bool reach_was_saved(const struct reach *s, uint32_t root)
{
	return root && s->saved[root % ARRAY_LEN(s->saved)] == root;
}

uint64_t reach_after(const struct reach *s, uint64_t number, uint32_t root, uint32_t now)
{
	return root && s->missed[root % ARRAY_LEN(s->missed)] == root ? number - (now - root) : 0;
}

enum graph_category reach_saves(struct reach *s, uint64_t number, uint64_t after, uint32_t root,
				uint32_t *saved)
{
	double left[3] = { 1, 1, 1 };
	bool saves[3];
	*saved = 0;
	s->missed[root % ARRAY_LEN(s->missed)] = root;
	if (s->tried < REACH_ENOUGH)
		return CAT_DMISS;
	const double fails = 1 - s->found / s->tried;
	for (unsigned k = 0; k < REACH_BRANCHES; k++) {
		const uint64_t back = number - s->branch[k].number;
		if (back <= s->branch[k].real || back > s->branch[k].both ||
		    s->branch[k].number < after)
			continue;
		/* At the idealised width a wrong path gets many times as far, and so far ahead it
		 * has more likely left the right path (0.365 -> 0.319 points, see thresholds.def). */
		const double near = (double)s->branch[k].real / (double)back;
		const double wide = 1 - (1 - fails) * near * near;
		left[0] *= back <= s->branch[k].larger ? fails : 1;
		left[1] *= back <= s->branch[k].wide ? wide : 1;
		left[2] *= back <= s->branch[k].larger ? fails : wide;
		*saved = s->branch[k].ahead > *saved ? s->branch[k].ahead : *saved;
	}
	for (unsigned k = 0; k < 3; k++) {
		s->owed[k] += 1 - left[k];
		/* A miss that window or width saves alone is saved by both together. */
		saves[k] = s->owed[k] >= 1 || (k == 2 && (saves[0] || saves[1]));
		s->owed[k] -= saves[k];
	}
	if (saves[0]) {
		s->saved[root % ARRAY_LEN(s->saved)] = root;
		s->missed[root % ARRAY_LEN(s->missed)] = 0;
	}
	return saves[0] && saves[1] ? CAT_REACH_EITHER_DMISS
	       : saves[0]	    ? CAT_REACH_DMISS
	       : saves[1]	    ? CAT_REACH_BW_DMISS
	       : saves[2]	    ? CAT_REACH_BOTH_DMISS
				    : CAT_DMISS;
}
