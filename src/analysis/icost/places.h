/* SPDX-License-Identifier: MIT */
/* Which functions the costs of single categories and of pairs of them lie in. */
#ifndef ANALYSIS_ICOST_PLACES_H
#define ANALYSIS_ICOST_PLACES_H

#include "analysis/icost/graph.h"
#include "image/image.h"
#include "store/store.h"
#include "trace/record.h"

struct places;

struct places *places_new(void);
void places_free(struct places *p);
/*
 * Adds the instructions to the graph, and the time that each adds to a lane to its place. They stand for
 * `weight` times as many. held: of an instruction after a flush, the cycles from its dispatch to its
 * commit; the time before that is the one's that flushed. PLACES_NOT_HELD: of any other.
 */
#define PLACES_NOT_HELD UINT16_MAX
void places_add(struct places *p, struct graph *g, const struct graph_inst *in, const uint64_t *pcs,
		const uint16_t *held, size_t count, unsigned weight);

/* Where the run's time goes, instruction by instruction, as the golden reference has it: spend.c. */
#define SPENT_UNITS 360360 /* of a cycle: all numbers up to 15 divide it */
#define SPENT_GROUP 64	   /* runs of instructions that commit in one cycle, at most */
struct spent {
	uint64_t first,
	    last;	 /* pcs of the present run: instructions that follow each other in memory */
	uint64_t cycle;	 /* of the last commit */
	uint64_t before; /* first of the run that the instruction before was in */
	bool flushed;	 /* by the instruction before */
	uint64_t to, units;    /* spent by one run, not yet in the table */
	unsigned nruns, total; /* that commit in the present cycle */
	struct {
		uint64_t first;
		unsigned insts;
	} run[SPENT_GROUP];
};
/* The run begins after this cycle. */
void spent_begin(struct spent *s, uint64_t cycle);
/* A committed instruction. Returns what places_add wants to know of it. */
uint16_t spent_inst(struct spent *s, struct places *p, const struct rec_inst *r);
/* Instructions so far are the run, or the fragment. */
void spent_end(struct spent *s, struct places *p);
/* Instructions from pc on took so many units of the run's time. */
void places_time(struct places *p, uint64_t pc, uint64_t units);
/* Stores the shares of a run that took lengths[lane] * scale cycles, by function if there are images, else
 * by stretch of code. */
bool places_store(struct places *p, struct store *store, struct images *images,
		  const uint64_t lengths[GRAPH_LANES], double scale, struct err *e);

#endif
