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
	/* scratch */
	struct {
		int64_t f, d, v, e, p, c;	/* times in the real machine */
		int64_t lf, ld, lv, le, lp, lc; /* latest that do not lengthen the segment */
		int32_t src[GRAPH_SOURCES], line, data, late, port, head; /* indices; -1: none */
	} node[SEGMENT_INSTS];
};

/* Fills in the results for the machine as it is. */
void segment_solve(struct segment *s, const struct graph_config *config);

#endif
