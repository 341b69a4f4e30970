/* SPDX-License-Identifier: MIT */
/*
 * A buffered stretch of the graph, so that it can be walked backwards: slack, and which edges the
 * longest path goes through.
 */
#ifndef ANALYSIS_ICOST_SEGMENT_H
#define ANALYSIS_ICOST_SEGMENT_H

#include "analysis/icost/graph.h"
#include "words/words.h"

#define SEGMENT_INSTS 4096

/* The kind of a cycle of this category; of a row of masks that is no category: bandwidth. */
enum cost_kind segment_kind_of(unsigned category);

struct segment_inst {
	uint64_t pc;
	/* results */
	uint32_t slack, local; /* of P: cycles it could come later without lengthening the segment,
				  or without delaying any other node */
	bool critical;	       /* its execution is on the longest path */
	uint16_t kind_cycles[KIND_COUNT]; /* of the longest path */
};

struct segment {
	size_t count;
	struct graph_inst in[SEGMENT_INSTS];
	struct segment_inst inst[SEGMENT_INSTS];
	uint64_t length; /* result: cycles from the first F to the last C */
	/* scratch: by node in the real machine, its time, and the latest that does not lengthen the
	 * segment; of each edge the instruction that it comes from, -1: none */
	struct {
		int64_t t[NODES], latest[NODES];
		int32_t head; /* of the last packet before */
#define EDGE(name, n, at, latency, removed, when, blame)		int16_t name;
#define LIMITED(name, n, at, latency, removed, when, blame, limit, fwd) int16_t name;
#include "analysis/icost/edges.def"
	} node[SEGMENT_INSTS];
};

/* Fills in the results for the machine as it is. */
void segment_solve(struct segment *s, const struct graph_config *config);

#endif
