/* SPDX-License-Identifier: MIT */
/*
 * Minimum-cost circulations: every node passes on what it receives, and an arc's cost is a convex
 * piecewise-linear function of its flow. All numbers are integers, so the result is exact, and the
 * same on every machine.
 */
#ifndef CALC_MCF_H
#define CALC_MCF_H

#include <stdbool.h>
#include <stdint.h>

#define MCF_UNBOUNDED INT64_MAX	  /* width of a last piece */
#define MCF_FLOW_MAX  (1LL << 52) /* of all flows together that arcs would like to have */
#define MCF_SLOPE_MAX (1LL << 38) /* of a piece; a path has at most 2^24 arcs */
#define MCF_NODES_MAX (1u << 24)

/* A stretch of an arc's cost function: `width` more units of flow cost `slope` each. */
struct mcf_piece {
	int64_t width, slope;
};

struct mcf;
struct mcf *mcf_new(uint32_t nodes);
void mcf_free(struct mcf *m);

/*
 * Adds an arc and returns its number: 0, 1, … in the order of the calls. Its flow is at least 0 and at
 * most the sum of the pieces' widths. Slopes must not fall from piece to piece, widths must be
 * positive, and a piece of negative slope must have a bound.
 */
uint32_t mcf_arc(struct mcf *m, uint32_t from, uint32_t to, const struct mcf_piece *pieces,
		 unsigned npieces);
/* An arc that takes any amount at one price. */
uint32_t mcf_free_arc(struct mcf *m, uint32_t from, uint32_t to, int64_t slope);

/* False: no circulation exists. Only possible if arcs have bounds. */
bool mcf_solve(struct mcf *m);
/* False: the graph is so large and its wishes are so far apart that the solution is only a good one. */
bool mcf_best(const struct mcf *m);
int64_t mcf_flow(const struct mcf *m, uint32_t arc);
/* The price of a node: an arc from u to v carries more than 0 in pieces whose slope is below
 * price(v) - price(u), and nothing in pieces whose slope is above. */
int64_t mcf_price(const struct mcf *m, uint32_t node);
/* Checks that the solution is a circulation, and the best one: by reduced costs, arc by arc. */
bool mcf_optimal(const struct mcf *m);

#endif
