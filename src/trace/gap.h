/* SPDX-License-Identifier: MIT */
/*
 * The time between two commits, and whose it is. That is the rule of the golden reference (tip2021,
 * section 2.2) up to the oldest of several instructions that commit together: the time from the
 * commit before to its own is an instruction's, unless the one before flushed the pipeline or was mispredicted
 * and this one was dispatched after it.
 */
#ifndef TRACE_GAP_H
#define TRACE_GAP_H

#include "trace/record.h"

/* Begin with the cycle in which the run does, and everything else zero. */
struct gaps {
	uint64_t left;	      /* the cycle of the last commit */
	struct rec_inst last; /* if it flushed or was mispredicted; else without flags */
};

/* The next committed instruction. Returns the cycles since the commit before, and whose they are: r
 * or, until the next call, the one before. */
static inline uint64_t gaps_next(struct gaps *g, const struct rec_inst *r,
				 const struct rec_inst **whose, struct rec_inst *before)
{
	const uint64_t leave = r->fetch + r->commit, gap = leave > g->left ? leave - g->left : 0;

	*whose = r;
	if (__builtin_expect(g->last.flags & (RI_MISPREDICT | RI_FLUSHES), 0)) {
		*before = g->last;
		if (r->fetch + r->dispatch > g->left)
			*whose = before;
	}
	g->left = leave;
	if (__builtin_expect(r->flags & (RI_MISPREDICT | RI_FLUSHES), 0))
		g->last = *r;
	else
		g->last.flags = 0;
	return gap;
}

#endif
