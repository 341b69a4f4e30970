/* SPDX-License-Identifier: MIT */
/* Issue slots in the lanes where one-cycle operations are idealised to take no time. */
#ifndef ANALYSIS_ICOST_SLOTS_H
#define ANALYSIS_ICOST_SLOTS_H

#include "analysis/icost/graph.h"

struct slots {
	uint32_t width; /* issue slots per cycle; 0: no limit */
	uint64_t per;	/* 2^32 / width, rounded up: multiplying by it divides any rank by width */
	uint32_t reach; /* instructions that can wait together */
	uint32_t count; /* instructions so far */
	/* By value slot. High half: the number of the root, that is the load or long operation
	 * that the value depends on through one-cycle operations alone. Low half: its rank among
	 * the operations that wait for that root. Zero: no root. Keep it one 64-bit word: two
	 * narrow stores followed by a wide load defeat store forwarding (5 ns an instruction). */
	uint64_t chain[GRAPH_SLOTS];
	uint32_t waiting[1024]; /* operations that wait for a root so far, by the root's number */
};

void slots_reset(struct slots *s, uint32_t width, uint32_t reach);
/*
 * Adds to the next instruction the part that is its wait for a slot. Its sources, results and parts
 * are in `in`. timeless: it takes no time where one-cycle operations are idealised; slot: it issues
 * through the slots that `width` counts.
 */
void slots_next(struct slots *s, bool timeless, bool slot, struct graph_inst *in);
/* The root that an instruction with these sources waits for; 0: none. */
uint32_t slots_root(const struct slots *s, const struct graph_inst *in);

#endif
