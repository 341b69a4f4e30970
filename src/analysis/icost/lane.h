/* SPDX-License-Identifier: MIT */
/*
 * One lane of the graph as instructions come, each before the next is made: the machine whose
 * one-cycle operations take no time, with the issue slots that they still take.
 */
#ifndef ANALYSIS_ICOST_LANE_H
#define ANALYSIS_ICOST_LANE_H

#include "analysis/icost/graph.h"

struct lane;

/* slots: operations that can issue in a cycle through the slots that are counted; 0: no limit. */
struct lane *lane_new(const struct graph_config *config, uint32_t slots);
void lane_free(struct lane *l);
/* Adds the next instruction. slot: it takes an issue slot. Returns the cycles that it waits for one
 * after its operands and its unit are ready. */
uint32_t lane_next(struct lane *l, const struct graph_inst *in, bool slot);
/* C of the last instruction. */
uint64_t lane_commit(const struct lane *l);

#endif
