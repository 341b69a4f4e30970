/* SPDX-License-Identifier: MIT */
/* Issue slots, where operations that take one cycle are idealised to take none. */
#ifndef ANALYSIS_ICOST_SLOTS_H
#define ANALYSIS_ICOST_SLOTS_H

#include "analysis/icost/graph.h"

struct slots {
	uint32_t width; /* issue slots a cycle; 0: as many as one likes */
	uint64_t per;	/* 2^32 / width, rounded up: divides all ranks that there can be */
	uint32_t reach; /* instructions that can wait together */
	uint32_t count; /* instructions so far */
	/* What a value waits for besides operations of one cycle (the root: a load, a long
	 * operation; its number in the high half), and how many of those that wait for the same
	 * came before (the low half). Zero: nothing. Keep it one 64-bit word: two narrow stores
	 * followed by a wide load defeat store forwarding (5 ns an instruction). */
	uint64_t chain[GRAPH_SLOTS];
	uint32_t waiting[1024]; /* for a root, by its number */
};

void slots_reset(struct slots *s, uint32_t width, uint32_t reach);
/*
 * The next instruction: gives it the part that it waits for a slot. Its sources, results and parts
 * are in `in`; timeless: it takes no time when operations of one cycle are idealised; slot: it
 * takes one of theirs.
 */
void slots_next(struct slots *s, bool timeless, bool slot, struct graph_inst *in);
/* The root that an instruction with these sources waits for; 0: none. */
uint32_t slots_root(const struct slots *s, const struct graph_inst *in);

#endif
