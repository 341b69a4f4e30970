/* SPDX-License-Identifier: MIT */
/* The tables of eyerman2006 figure 10 as hardware: rows, pointers, counters of finite width. */
#ifndef ANALYSIS_CPISTACK_FMT_TABLE_H
#define ANALYSIS_CPISTACK_FMT_TABLE_H

#include "trace/analysis.h"
#include "words/words.h"

enum fmt_design { DESIGN_FMT, DESIGN_SFMT, FMT_DESIGNS };

/* What the tables have counted. Complete once `finish` has been called. */
struct fmt_table_counts {
	int64_t stack[FMT_DESIGNS][CPI_COMPONENTS]; /* cycles; together those of the run */
	uint64_t cycles;
	uint64_t rows, bits; /* as they were given, or chosen */
	uint64_t branches;   /* that were fetched, on any path */
	uint64_t without;    /* of these, no row was free */
	uint64_t most;	     /* rows in use at once, the open one included */
	uint64_t saturated; /* local counters that were full when they were added to a global one */
};

const struct fmt_table_counts *fmt_table_counts(const void *state);

extern const struct analysis fmt_table_analysis;

#endif
