/* SPDX-License-Identifier: MIT */
/*
 * One step of the graph for all lanes. Written once as a loop that compilers turn into vector code;
 * each kernel_*.c compiles it for another instruction set. Lanes are independent, so a block of
 * lanes goes through all five nodes in registers and only D, P and C are stored.
 *
 * The edges (fields2004 table II): DD FBW CD PD -> D; DR PR -> R; RE -> E; EP PP -> P; PC CC CBW ->
 * C.
 */
#include "analysis/icost/graph_int.h"

#define LANE_BLOCK 16

/* Latency of an edge in a lane: the parts whose category is not idealised there. */
struct part_rows {
	const uint32_t *mask[GRAPH_PARTS];
	uint32_t cycles[GRAPH_PARTS];
	unsigned n;
};

static inline struct part_rows rows_of(const struct graph *g, const struct graph_part *parts,
				       unsigned count)
{
	struct part_rows r = { .n = 0 };
	for (unsigned i = 0; i < count; i++)
		if (parts[i].cycles) {
			r.mask[r.n] = g->mask[parts[i].category];
			r.cycles[r.n++] = parts[i].cycles;
		}
	return r;
}

static inline void max_into(uint32_t *restrict into, const uint32_t *restrict from, uint32_t add)
{
	for (unsigned k = 0; k < LANE_BLOCK; k++) {
		uint32_t x = from[k] + add;
		into[k] = x > into[k] ? x : into[k];
	}
}

static inline void max_into_masked(uint32_t *restrict into, const uint32_t *restrict from,
				   uint32_t add, const uint32_t *restrict mask)
{
	for (unsigned k = 0; k < LANE_BLOCK; k++) {
		uint32_t x = (from[k] + add) & mask[k];
		into[k] = x > into[k] ? x : into[k];
	}
}

static inline void add_parts(uint32_t *restrict into, const struct part_rows *r, unsigned lane)
{
	for (unsigned i = 0; i < r->n; i++)
		for (unsigned k = 0; k < LANE_BLOCK; k++)
			into[k] += r->cycles[i] & r->mask[i][lane + k];
}

static inline void copy_block(uint32_t *restrict to, const uint32_t *restrict from)
{
	for (unsigned k = 0; k < LANE_BLOCK; k++)
		to[k] = from[k];
}

static void kernel_step(struct graph *g, const struct graph_inst *in)
{
	const uint64_t i = g->count;
	const struct part_rows dd = rows_of(g, in->dd, GRAPH_PARTS),
			       ep = rows_of(g, in->ep, GRAPH_PARTS);
	const struct part_rows re = rows_of(g, &in->re, 1), pc = rows_of(g, &in->pc, 1),
			       cc = rows_of(g, &in->cc, 1);
	const uint32_t *d_prev = graph_d(g, i - 1),
		       *d_width = graph_d(g, i - g->config.fetch_width);
	const uint32_t *p_prev = graph_p(g, i - 1);
	const uint32_t *c_prev = graph_c(g, i - 1),
		       *c_width = graph_c(g, i - g->config.commit_width);
	const uint32_t *c_window[2] = { graph_c(g, i - g->config.window),
					graph_c(g, i - g->config.window_ideal) };
	const uint32_t *p_line = in->line ? graph_p(g, i - in->line) : NULL;
	const uint32_t *bw = g->mask[CAT_BW], *bmisp = g->mask[CAT_BMISP],
		       *dmiss = g->mask[CAT_DMISS];
	uint32_t *d_out = graph_d(g, i), *p_out = graph_p(g, i), *c_out = graph_c(g, i);

	for (unsigned lane = 0; lane < GRAPH_LANES; lane += LANE_BLOCK) {
		uint32_t d[LANE_BLOCK], t[LANE_BLOCK], c[LANE_BLOCK];
		copy_block(d, d_prev + lane);
		add_parts(d, &dd, lane);
		max_into_masked(d, d_width + lane, 1, bw + lane);
		max_into(d, c_window[lane >= GRAPH_LANES / 2] + lane, in->cd);
		if (in->after_mispredict)
			max_into_masked(d, p_prev + lane, in->pd, bmisp + lane);

		for (unsigned k = 0; k < LANE_BLOCK; k++)
			t[k] = d[k] + in->dr;
		for (unsigned j = 0; j < in->nproducers; j++)
			max_into(t, graph_p(g, i - in->producer[j].distance) + lane,
				 in->producer[j].cycles);
		add_parts(t, &re, lane);
		add_parts(t, &ep, lane);
		if (p_line)
			max_into_masked(t, p_line + lane, 0, dmiss + lane);

		copy_block(c, t);
		add_parts(c, &pc, lane);
		uint32_t before[LANE_BLOCK];
		copy_block(before, c_prev + lane);
		add_parts(before, &cc, lane);
		max_into(c, before, 0);
		max_into_masked(c, c_width + lane, 1, bw + lane);

		copy_block(d_out + lane, d);
		copy_block(p_out + lane, t);
		copy_block(c_out + lane, c);
	}
}
