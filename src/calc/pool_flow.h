/* SPDX-License-Identifier: MIT */
/*
 * The frequencies of one procedure that obey its flow and are nearest to what was seen, by least squares.
 *
 * Classes of blocks (classes.c) are what is seen, each with a variance. Nothing is seen of edges. The
 * answer is linear in what was seen, and is what was seen wherever that obeys the flow already.
 */
#ifndef CALC_POOL_FLOW_H
#define CALC_POOL_FLOW_H

#include "image/cfg.h"

struct pool_flow {
	uint32_t nclasses;
	uint32_t *block_class;
	/* for pool_flow.c */
	uint32_t *from, *to; /* by class: the ends of its arc; equal: its frequency is free */
	uint32_t nnodes, nsteps, nslots;
	uint32_t *slot_of;	/* by class: the pair of nodes that its arc joins */
	struct pool_step *step; /* nodes in the order in which they are eliminated */
	uint32_t *near, *near_slot,
	    *fill;		   /* of all steps: neighbours, their pairs, pairs of these */
	double *conductance, *sum; /* by pair; by step */
	double *room;		   /* two numbers by node */
};

/* observed: which blocks are seen (by number). A graph too dense to be solved, or with edges that are not
 * known, has free classes alone. */
struct pool_flow *pool_flow_new(const struct cfg *g, const bool *observed);
void pool_flow_free(struct pool_flow *f);
/* Sets the variances by class; those of observed classes are above 0. */
void pool_flow_weigh(struct pool_flow *f, const double *variance);
/* fitted may not be seen. Classes that are not observed get what they have in seen. */
void pool_flow_fit(const struct pool_flow *f, const double *variance, const double *seen,
		   double *fitted);

#endif
