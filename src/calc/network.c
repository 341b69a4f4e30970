/* SPDX-License-Identifier: MIT */
/*
 * Procedures as circulations. Block b is the arc from node 2b to node 2b + 1, edges join these; two
 * more nodes are what lies outside and where unresolved jumps meet. No arc has an upper bound and
 * nothing need flow, so a solution exists always.
 */
#include "calc/network.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static uint32_t add_arc(struct mcf *m, uint32_t from, uint32_t to, const struct mcf_piece *pieces,
			unsigned n)
{
	return n ? mcf_arc(m, from, to, pieces, n) : mcf_free_arc(m, from, to, 0);
}

static bool has_missing_edge(const struct cfg *g, const struct cfg_block *k)
{
	for (uint32_t e = k->first_out; e < k->first_out + k->nout; e++)
		if (g->edges[e].kind == CFG_MISSING)
			return true;
	return false;
}

/* Blocks that the graph gives no way in or out, and unresolved jumps. */
static void add_ends(struct mcf *m, const struct cfg *g, int64_t dead_end)
{
	uint32_t outside = 2 * g->nblocks, jumps = outside + 1;
	bool unresolved = false;
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct cfg_block *k = &g->blocks[b];
		if (!k->nin && !(k->flags & CFG_BLOCK_MAYBE))
			mcf_free_arc(m, outside, 2 * b, b == g->entry ? 0 : dead_end);
		if (!k->nout && !(k->flags & CFG_BLOCK_UNRESOLVED))
			mcf_free_arc(m, 2 * b + 1, outside, dead_end);
		if (k->flags & CFG_BLOCK_MAYBE)
			mcf_free_arc(m, jumps, 2 * b, 0);
		if (k->flags & CFG_BLOCK_UNRESOLVED && !has_missing_edge(g, k))
			mcf_free_arc(m, 2 * b + 1, jumps, 0);
		if (k->flags & (CFG_BLOCK_MAYBE | CFG_BLOCK_UNRESOLVED))
			unresolved = true;
	}
	if (unresolved || g->missing) {
		mcf_free_arc(m, jumps, outside, 0);
		mcf_free_arc(m, outside, jumps, 0);
	}
}

double network_unit(double total)
{
	int size;
	if (!(total > 0))
		return 1;
	frexp(total, &size);
	return size > 44 ? ldexp(1, size - 44) : size < 34 ? ldexp(1, size - 34) : 1;
}

bool network_solve(const struct cfg *g, const struct network_costs *costs, int64_t *blocks,
		   int64_t *edges)
{
	uint32_t outside = 2 * g->nblocks, jumps = outside + 1;
	struct mcf *m = mcf_new(2 * g->nblocks + 2);
	struct mcf_piece pieces[NETWORK_PIECES];
	for (uint32_t b = 0; b < g->nblocks; b++)
		add_arc(m, 2 * b, 2 * b + 1, pieces, costs->block(costs->context, b, pieces));
	for (uint32_t e = 0; e < g->nedges; e++) {
		const struct cfg_edge *k = &g->edges[e];
		uint32_t from = k->from == CFG_OUTSIDE ? outside : 2 * k->from + 1;
		uint32_t to = k->to == CFG_OUTSIDE ? outside : 2 * k->to;
		if (k->kind == CFG_MISSING)
			to = jumps;
		add_arc(m, from, to, pieces, costs->edge(costs->context, e, pieces));
	}
	add_ends(m, g, costs->dead_end);
	bool solved = mcf_solve(m);
	assert(solved);
	(void)solved;
	for (uint32_t b = 0; b < g->nblocks; b++)
		blocks[b] = mcf_flow(m, b);
	for (uint32_t e = 0; e < g->nedges; e++)
		edges[e] = mcf_flow(m, g->nblocks + e);
	bool best = mcf_best(m);
	mcf_free(m);
	return best;
}
