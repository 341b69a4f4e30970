/* SPDX-License-Identifier: MIT */
/* Costs and interaction costs of a run from its dependence graph. */
#ifndef ANALYSIS_ICOST_ICOST_H
#define ANALYSIS_ICOST_ICOST_H

#include "analysis/icost/graph.h"
#include "trace/analysis.h"

#define ICOST_PHASES	 64
#define ICOST_PHASE_BASE 65536 /* instructions of the shortest phase */

struct icost_phase {
	uint64_t insts;
	uint64_t length[GRAPH_LANES]; /* cumulative */
};

struct icost {
	struct trace_meta meta;
	struct graph *graph;
	bool started;
	uint64_t origin;		  /* cycle of graph time 0 */
	uint64_t first_cycle, last_cycle; /* of the run, by commit stamps */
	struct rec_inst prev;
	uint64_t insts;
	uint64_t over; /* cycles by which the graph ran ahead of the machine at its worst */
	struct icost_phase *phase;
	size_t nphases;
	uint64_t phase_insts, phase_end;
};

extern const struct analysis icost_analysis;
/* An instruction's edges, from its record and its predecessor's (prev: NULL for the first).
 * Residuals are not in it yet. */
void icost_edges(const struct trace_meta *meta, const struct rec_inst *r,
		 const struct rec_inst *prev, struct graph_inst *out);

#endif
