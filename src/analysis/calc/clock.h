/* SPDX-License-Identifier: MIT */
/*
 * Time inside the regions of a run: cycles are numbered 1, 2, … from the first cycle of the first
 * region on, without the gaps between regions. A run without regions is one region.
 *
 * An instruction belongs to the region in which it commits, so the first of a region may have
 * issued before it. Its time is then the region's start or earlier, and takes no cycle of it.
 */
#ifndef ANALYSIS_CALC_CLOCK_H
#define ANALYSIS_CALC_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/record.h"

struct clock {
	uint64_t start;	 /* first cycle of the present region */
	uint64_t next;	 /* the cycle after the last record's */
	uint64_t before; /* cycles of the regions before */
	bool running;	 /* there is a present region */
};

/* Cycles so far. */
static inline uint64_t clock_now(const struct clock *c)
{
	return c->before + (c->next - c->start);
}

/* The number of a cycle. That of a cycle before the region is at most c->before. */
static inline int64_t clock_time(const struct clock *c, uint64_t cycle)
{
	return (int64_t)(cycle - c->start + c->before + 1);
}

/*
 * To be called before a batch is looked at. True if a new region begins with it, whose first cycle
 * is clock_now() + 1 then. A batch may hold only instructions of a cycle whose record comes later.
 */
static inline bool clock_begins(struct clock *c, const struct rec_inst *insts, size_t ninsts,
				const struct rec_cycle *cycles, size_t ncycles)
{
	uint64_t first;
	if (ncycles) {
		first = cycles[0].cycle;
	} else {
		size_t i = 0;
		while (i < ninsts && !(insts[i].flags & RI_COMMITTED))
			i++;
		if (i == ninsts)
			return false;
		first = insts[i].fetch + insts[i].commit;
	}
	if (c->running && first == c->next)
		return false;
	c->before = clock_now(c);
	c->start = c->next = first;
	c->running = true;
	return true;
}

/* To be called after a batch. */
static inline void clock_pass(struct clock *c, const struct rec_cycle *cycles, size_t ncycles)
{
	if (ncycles)
		c->next = cycles[ncycles - 1].cycle + cycles[ncycles - 1].repeat;
}

#endif
