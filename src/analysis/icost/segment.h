/* SPDX-License-Identifier: MIT */
/*
 * A buffered stretch of the graph that can be walked backwards, for slack and the longest path.
 */
#ifndef ANALYSIS_ICOST_SEGMENT_H
#define ANALYSIS_ICOST_SEGMENT_H

#include "analysis/icost/graph.h"
#include "words/words.h"

#define SEGMENT_INSTS 4096

/* The kind of cycles of this category; bandwidth for a row of masks that is no category. */
enum cost_kind segment_kind_of(unsigned category);

struct segment_inst {
	uint64_t pc;
	/* results */
	/* cycles by which P could be later without lengthening the segment, and without delaying
	 * any other node */
	uint32_t slack, local;
	bool critical;			  /* its execution is on the longest path */
	uint16_t kind_cycles[KIND_COUNT]; /* its cycles of the longest path */
};

struct segment {
	size_t count;
	struct graph_inst in[SEGMENT_INSTS];
	struct segment_inst inst[SEGMENT_INSTS];
	uint64_t length; /* result: cycles from the first F to the last C */
	/* scratch: each node's time and the latest time that does not lengthen the segment; the
	 * instruction that each edge comes from, -1: none */
	struct {
		int64_t t[NODES], latest[NODES];
		int32_t head; /* first instruction of the last packet before this one */
#define EDGE(name, n, at, latency, removed, when, blame)		int16_t name;
#define LIMITED(name, n, at, latency, removed, when, blame, limit, fwd) int16_t name;
#include "analysis/icost/edges.def"
	} node[SEGMENT_INSTS];
};

/* Fills in the results. */
void segment_solve(struct segment *s, const struct graph_config *config);

#endif
