/* SPDX-License-Identifier: MIT */
/*
 * One lane of the graph as instructions come, each before the next is made: the machine whose
 * one-cycle operations take no time, with the issue slots that they still take; or the one without
 * limits of bandwidth, with the issue queues that it still has.
 */
#ifndef ANALYSIS_ICOST_LANE_H
#define ANALYSIS_ICOST_LANE_H

#include "analysis/icost/graph.h"

struct lane;

/* What an instruction waits for in the lane. */
struct lane_waits {
	uint32_t slot; /* cycles for an issue slot, after its operands and its unit are ready */
	uint32_t
	    room; /* distance to the instruction that left the full issue queue; 0: it was not full */
};

/* set: the categories that are idealised, without CAT_WIN. slots: operations that can issue in
 * a cycle through the slots that are counted; 0: no limit. entries: of each issue queue, 0: no limit;
 * NULL: none has one. */
struct lane *lane_new(const struct graph_config *config, unsigned set, uint32_t slots,
		      const uint32_t *entries);
void lane_free(struct lane *l);
/* Adds the next instruction. queue: its issue queue; slot: it takes an issue slot. */
struct lane_waits lane_next(struct lane *l, const struct graph_inst *in, unsigned queue, bool slot);
/* C of the last instruction. */
uint64_t lane_commit(const struct lane *l);

#endif
