/* SPDX-License-Identifier: MIT */
/* The naive method by counters at the caches. */
#ifndef ANALYSIS_CPISTACK_NAIVE_CACHES_H
#define ANALYSIS_CPISTACK_NAIVE_CACHES_H

#include "trace/analysis.h"
#include "words/words.h"

struct naive_caches_counts {
	uint64_t events[CPI_COMPONENTS], of_stores, cycles;
	int64_t stack[CPI_COMPONENTS]; /* cycles; the base may be negative */
};

const struct naive_caches_counts *naive_caches_counts(const void *state);

extern const struct analysis naive_caches_analysis;

#endif
