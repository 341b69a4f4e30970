/* SPDX-License-Identifier: MIT */
/* Issue slots, where operations that take one cycle are idealised to take none. */
#ifndef ANALYSIS_ICOST_SLOTS_H
#define ANALYSIS_ICOST_SLOTS_H

#include "analysis/icost/graph.h"

/* What a value waits for besides operations of one cycle (the root: a load, a long operation), and
 * how many of those that wait for the same came before. Zero: nothing. */
struct slots_chain {
	uint32_t root, rank;
};

struct slots {
	uint32_t width; /* issue slots a cycle; 0: as many as one likes */
	uint32_t reach; /* instructions that can wait together */
	uint32_t count; /* instructions so far */
	struct slots_chain chain[GRAPH_SLOTS];
	uint32_t waiting[1024]; /* for a root, by its number */
};

void slots_reset(struct slots *s, uint32_t width, uint32_t reach);
/*
 * The next instruction: gives it the part that it waits for a slot. Its sources, results and parts
 * are in `in`; timeless: it takes no time when operations of one cycle are idealised.
 */
void slots_next(struct slots *s, bool timeless, struct graph_inst *in);

#endif
