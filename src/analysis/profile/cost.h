/* SPDX-License-Identifier: MIT */
/* What the profilers cost in hardware and in data on a machine, from its parameters. */
#ifndef ANALYSIS_PROFILE_COST_H
#define ANALYSIS_PROFILE_COST_H

#include "machine/machine.h"
#include "words/words.h"

/* Storage, in bits, where the papers put it (tip2021 section 3.2, tea2023 section 3). */
struct cost_storage {
	unsigned oir, csrs;			      /* TIP: bits */
	unsigned fetch_buffer, rob, front, lsu, last; /* TEA: bits */
	unsigned tip_bytes, tea_bytes, both_bytes;    /* each part in whole bytes */
};
/* events: a set of PSV bits; PSV_TEA is the paper's. */
void cost_storage(const struct machine *m, unsigned events, struct cost_storage *out);

struct cost_profiler {
	unsigned storage_bits; /* that it adds to the core */
	unsigned sample_bytes;
	double bytes_per_second; /* at the rate of sampling */
	double slowdown;	 /* share of the time that interrupts take */
};
/* One of WORDS_PROFILERS, sampling at `hertz`; interrupt: cycles beside those for copying. */
void cost_profiler(const struct machine *m, enum profiler_id p, double hertz, double interrupt,
		   struct cost_profiler *out);

/* Bytes a second that a trace for the references takes: Oracle, and the golden reference of TEA. */
double cost_oracle(const struct machine *m), cost_golden(const struct machine *m);

/* Cycles of an interrupt beside those for copying, as the papers' slowdown implies. */
#define COST_INTERRUPT 6600
#define COST_HERTZ     4000 /* perf's default */

#endif
