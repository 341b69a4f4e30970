/* SPDX-License-Identifier: MIT */
/*
 * A procedure as a circulation: each block and each edge is an arc, and everything outside is one
 * node. Flow equations at blocks that an unresolved jump may leave or enter become inequalities: one
 * more node takes what such jumps carry.
 */
#ifndef CALC_NETWORK_H
#define CALC_NETWORK_H

#include "calc/calc.h"
#include "calc/mcf.h"

#define NETWORK_PIECES 24 /* of one cost function, at most */

/* What flows cost. Pieces are in units of flow; a function that writes none makes the arc free. */
struct network_costs {
	unsigned (*block)(void *context, uint32_t block, struct mcf_piece *pieces);
	unsigned (*edge)(void *context, uint32_t edge, struct mcf_piece *pieces);
	int64_t dead_end; /* for a unit that begins or ends where the graph has no edge for it */
	void *context;
};

/* What one unit of flow stands for, if estimates add up to `total`: a power of two, so that sums fit
 * and rounding does not matter. */
double network_unit(double total);

/* Solves it and writes the flow of each block and edge. False: a good solution, not the best (mcf_best). */
bool network_solve(const struct cfg *g, const struct network_costs *costs, int64_t *blocks,
		   int64_t *edges);

#endif
