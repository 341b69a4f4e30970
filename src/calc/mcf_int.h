/* SPDX-License-Identifier: MIT */
/* What mcf.c and mcf_simplex.c share. */
#ifndef CALC_MCF_INT_H
#define CALC_MCF_INT_H

#include <stddef.h>

#include "calc/mcf.h"

/*
 * An arc keeps the piece that its flow ends in. Invariant, when a solver is not at work on it: used < the width of that
 * piece, except in the last piece. More flow costs the slope of that piece; less gains its slope, or, if nothing
 * of it is used, the slope of the one before.
 */
struct arc {
	uint32_t from, to;
	uint32_t first, count; /* in mcf.pieces */
	uint32_t piece;	       /* that its flow ends in, from first */
	int64_t used;	       /* of that piece */
};

struct entry {
	int64_t distance;
	uint32_t node;
};

struct mcf {
	uint32_t nnodes, narcs, npieces;
	struct arc *arcs;
	struct mcf_piece *pieces;
	uint32_t *first; /* by node, in ends */
	uint32_t *ends;	 /* arcs that leave (2 * arc) or enter (2 * arc + 1) a node */
	int64_t *excess; /* what a node receives beyond what it passes on */
	int64_t *price;
	/* one search */
	int64_t *distance;
	uint32_t *stamp; /* the search that distance belongs to; + 1: settled */
	uint32_t *via;	 /* the end over which it was reached */
	uint32_t search;
	uint32_t *settled, nsettled;
	uint64_t work; /* nodes settled in all searches */
	bool hurried;  /* the best solution would have taken too long */
	struct entry *heap;
	size_t nheap, heap_room;
};

/* How much more an arc can take at the same slope; 0: nothing. */
static inline int64_t room_up(const struct mcf *m, const struct arc *a, int64_t *slope)
{
	const struct mcf_piece *p = &m->pieces[a->first + a->piece];
	*slope = p->slope;
	return p->width == MCF_UNBOUNDED ? MCF_UNBOUNDED : p->width - a->used;
}

/* How much an arc can give back at the same slope. */
static inline int64_t room_down(const struct mcf *m, const struct arc *a, int64_t *slope)
{
	const struct mcf_piece *p = &m->pieces[a->first + a->piece];
	*slope = 0;
	if (!a->used && !a->piece)
		return 0;
	*slope = a->used ? p->slope : p[-1].slope;
	return a->used ? a->used : p[-1].width;
}

/* Begins at the flow that is cheapest for the arc itself. */
void mcf_cheapest(struct mcf *m, struct arc *a);
/* mcf_simplex.c: solves it, from what mcf_cheapest() has begun. False: it gave up, or there is no circulation. */
bool mcf_simplex(struct mcf *m);

#endif
