/* SPDX-License-Identifier: MIT */
/*
 * The graph's memory, for graph.c and the kernels. Lanes are independent, so a kernel takes a block
 * of them through a whole batch of instructions before the next: a block's share of the rings and
 * slots stays in the L1 and L2, and the last D, P and C in registers.
 */
#ifndef ANALYSIS_ICOST_GRAPH_INT_H
#define ANALYSIS_ICOST_GRAPH_INT_H

#include "analysis/icost/graph.h"

#define GRAPH_BLOCK  64 /* lanes whose rows lie together */
#define GRAPH_BLOCKS (GRAPH_LANES / GRAPH_BLOCK)

typedef uint32_t graph_row[GRAPH_BLOCK] __attribute__((aligned(64)));

enum graph_last { LAST_F, LAST_D, LAST_P, LAST_C, LAST_COUNT };

/* Rings by instruction number; a row of instructions before the first is all zero. */
struct graph_block {
	graph_row *slots;   /* GRAPH_SLOTS */
	graph_row *d;	    /* the last 16 */
	graph_row *d_grain; /* every GRAPH_GRAIN-th, for GRAPH_REACH */
	graph_row *c;	    /* for window and commit width */
	graph_row *c_grain; /* every GRAPH_WIN_GRAIN-th, for window_ideal */
	graph_row *e;	    /* for window, if issue_edges; else NULL */
	graph_row *last;    /* LAST_COUNT */
};

#define GRAPH_D_MASK	   15
#define GRAPH_D_GRAIN_MASK 127

struct graph {
	struct graph_config config;
	const struct graph_kernel *kernel;
	uint64_t count;		    /* instructions so far, and as many as the rings hold */
	uint64_t start;		    /* value of count at reset */
	uint64_t base[GRAPH_LANES]; /* what was taken off all times of a lane so far */
	struct graph_block block[GRAPH_BLOCKS];
	graph_row *rows; /* all of them */
	size_t nrows;
	uint64_t c_mask, c_grain_mask;
	uint32_t mask[GRAPH_MASKS][GRAPH_LANES]
	    __attribute__((aligned(64))); /* all ones where a part counts */
};

extern const struct graph_kernel graph_kernel_c, graph_kernel_avx2, graph_kernel_avx512;

#endif
