/* SPDX-License-Identifier: MIT */
/*
 * A pipeline small enough to be followed by hand, and records of what it does. A program is a list
 * of steps with their latencies and misses; nothing else takes time:
 *
 *   fetch (4 a cycle, after the step's I-miss) ─ 5 cycles ─ dispatch (4) ─ execute ─ commit (4)
 *
 * A step executes in the cycle after its dispatch, or when the step it depends on is done. A
 * mispredicted branch resolves when it is done; fetch goes on right behind it one cycle later, and
 * until then fills the pipeline with steps of one cycle from the wrong path.
 *
 * The front-end miss event table of eyerman2006 figure 10 runs beside it, row by row, as hardware
 * would have it.
 */
#ifndef TESTS_UNIT_ANALYSIS_SCENE_H
#define TESTS_UNIT_ANALYSIS_SCENE_H

#include "analysis/cpistack/cpistack.h"

#define SCENE_WIDTH 4
#define SCENE_DEPTH 5

struct step {
	unsigned imiss;	 /* cycles that its fetch waits for the I-cache */
	unsigned icause; /* enum fetch_stall of that wait; 0: FETCH_ICACHE_L2 */
	bool branch;
	bool mispredict;
	unsigned latency;     /* 0: 1 */
	unsigned dlevel;      /* enum mem_level that serves a load; 0: no load */
	unsigned depends;     /* distance to the earlier step it depends on; 0: none */
	unsigned wrong_imiss; /* cycles that the wrong path behind it waits for the I-cache */
};

struct scene {
	struct rec_cycle *cycles;
	struct rec_inst *insts;
	size_t ncycles, ninsts;
	int64_t table[CPI_COMPONENTS]; /* what the table has counted, in slots */
	struct trace_meta meta;
};

void scene_run(struct scene *s, const struct step *steps, size_t count, unsigned rob);
void scene_free(struct scene *s);
/* Returns the state of the analysis after the whole scene; scene_done frees it. */
struct cpistack *scene_analyse(const struct scene *s);
void scene_done(struct cpistack *a);

#endif
