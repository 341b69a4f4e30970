/* SPDX-License-Identifier: MIT */
/* Costs and interaction costs of a run from its dependence graph. */
#ifndef ANALYSIS_ICOST_ICOST_H
#define ANALYSIS_ICOST_ICOST_H

#include "analysis/icost/edges.h"
#include "analysis/icost/graph.h"
#include "analysis/icost/statics.h"
#include "trace/analysis.h"

#define ICOST_PHASES	 64
#define ICOST_PHASE_BASE 65536 /* instructions of the shortest phase */
#define ICOST_BATCH	 512
#define ICOST_RULES	 32

struct icost_phase {
	uint64_t insts;
	uint64_t length[GRAPH_LANES]; /* cumulative */
};

struct icost {
	struct trace_meta meta;
	struct edges *edges;
	struct graph *graph;
	struct graph_inst *batch;
	size_t nbatch;
	bool started;
	uint64_t last_cycle; /* of the run, by commit stamps */
	uint64_t insts;
	struct icost_phase *phase;
	size_t nphases;
	uint64_t phase_insts, phase_end;
	struct edges_rule rules[ICOST_RULES];
	char names[GRAPH_CATEGORIES][32];
	struct statics *statics;
};

extern const struct analysis icost_analysis;

/* "dl1+win" for a set of categories. Returns buf. */
char *icost_set_name(const char names[GRAPH_CATEGORIES][32], unsigned set, char *buf,
		     size_t size_bytes);

#endif
