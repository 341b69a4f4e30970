/* SPDX-License-Identifier: MIT */
/* Instructions with stamps, region by region, and what an analysis makes of them. */
#ifndef TESTS_UNIT_ANALYSIS_CALC_STREAM_H
#define TESTS_UNIT_ANALYSIS_CALC_STREAM_H

#include "store/store.h"
#include "trace/analysis.h"

#define STREAM_INSTS   4096
#define STREAM_REGIONS 8

struct stream {
	struct rec_inst insts[STREAM_INSTS];
	size_t ninsts;
	struct {
		uint64_t start, end; /* cycles: [start, end) */
		size_t first;	     /* instruction */
	} regions[STREAM_REGIONS];
	size_t nregions;
	bool issues; /* handed over as WANT_ISSUES has it */
};

/* What is added from now on belongs to this region. */
void stream_region(struct stream *s, uint64_t start, uint64_t end);
/* Adds an instruction that issues in that cycle, is fetched four cycles before and commits three
 * after. The caller may change it. */
struct rec_inst *stream_add(struct stream *s, uint64_t pc, uint64_t issue);
/* What an analysis makes of the stream, `batch` instructions at a time. The caller closes the
 * store. */
struct store *stream_run(const struct stream *s, const struct analysis *a,
			 const struct trace_meta *meta, const struct analysis_options *o,
			 size_t batch);
/* All rows of a query as text, "1,2 3,4". The caller frees. */
char *rows_of(struct store *s, const char *sql);

#endif
