/* SPDX-License-Identifier: MIT */
/*
 * Time by instruction from TIP's samples, with fewer of them for the same error: what samples say of
 * executions is pooled over all instructions that execute equally often, and over the flow between
 * blocks. docs/pooled.md derives it.
 *
 * Without bias: if code obeys its graph, the mean over all choices of sampled cycles is the truth,
 * however few they are. So a time can be below 0, where chance takes away more than was seen.
 */
#ifndef CALC_POOL_H
#define CALC_POOL_H

#include "image/cfg.h"

#define POOL_FOLDS   8
#define POOL_COUNTED UINT32_MAX /* an instruction that another graph has, too, and counts */

struct pool_graph {
	const struct cfg *graph;
	uint32_t *insts; /* by instruction of the graph: its number, or POOL_COUNTED */
};

/* Samples that name the same instructions, in the same state of commit. */
struct pool_group {
	uint32_t first, count; /* in pool_input.members */
	bool commits; /* they commit in the sampled cycle; else the only one has it for itself */
	uint64_t samples;
	double cycles; /* that they stand for */
};

struct pool_input {
	const struct pool_graph *graphs;
	uint32_t ngraphs, ninsts; /* an instruction need not be in a graph */
	const struct pool_group *groups;
	size_t ngroups;
	const uint32_t *members;
	uint64_t seed; /* how samples are dealt into folds */
	/* Executions by instruction, where they are known: what the estimates miss in the mean. NULL: not
	 * known. They have no influence on the estimates. */
	const double *executions;
};

struct pool_time {
	double cycles;	  /* the estimate */
	double low, high; /* 95% */
	double tip;	  /* what TIP says from the same samples */
	double bias;	  /* with executions: of the estimate, over all choices of cycles; else 0 */
	double limit;	  /* with executions: the estimate if they had been known; else 0 */
};

/* By instruction; the caller frees it. */
struct pool_time *pool_run(const struct pool_input *in);

#endif
