/* SPDX-License-Identifier: MIT */
/* The graph's rings, for graph.c and the kernels. */
#ifndef ANALYSIS_ICOST_GRAPH_INT_H
#define ANALYSIS_ICOST_GRAPH_INT_H

#include "analysis/icost/graph.h"

typedef uint32_t graph_vector[GRAPH_LANES] __attribute__((aligned(64)));

struct graph {
	struct graph_config config;
	const struct graph_kernel *kernel;
	uint64_t count;		    /* instructions so far */
	uint64_t base[GRAPH_LANES]; /* what was taken off all times of a lane so far */
	/* Rings by instruction number; a slot of instructions before the first is all zero. */
	graph_vector *d, *p, *c;
	size_t d_mask, p_mask, c_mask;
	graph_vector mask[GRAPH_CATEGORIES + 1]; /* all ones where a category is not idealised */
};

static inline uint32_t *graph_d(const struct graph *g, uint64_t i)
{
	return g->d[i & g->d_mask];
}
static inline uint32_t *graph_p(const struct graph *g, uint64_t i)
{
	return g->p[i & g->p_mask];
}
static inline uint32_t *graph_c(const struct graph *g, uint64_t i)
{
	return g->c[i & g->c_mask];
}

extern const struct graph_kernel graph_kernel_c, graph_kernel_avx2, graph_kernel_avx512;

#endif
