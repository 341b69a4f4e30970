/* SPDX-License-Identifier: MIT */
/*
 * Programs that never were: random procedures that call each other, walked through at random, so that
 * every count is known and obeys the flow equations; and samples as an in-order pipeline of known M
 * with stalls would give them.
 */
#ifndef TESTS_CALC_SCENE_H
#define TESTS_CALC_SCENE_H

#include "calc/calc.h"

struct scene {
	struct calc_program p;
	struct machine *machine;
	double **block_count, **edge_count; /* the truth, by procedure */
};

struct scene_options {
	uint64_t seed;
	uint32_t procs, size; /* how many procedures, about how many blocks each */
	uint64_t steps;	      /* of the walk, in blocks */
	double times;	      /* counts are multiplied by this */
	double samples;	      /* of all instructions together */
	double stalls;	      /* share of instructions with dynamic stalls */
	bool irreducible;     /* some branches go anywhere */
	bool commits;	      /* samples are of commits (CALC_COMMIT) */
	bool relative; /* of a live machine: instructions take 1 cycle, with stalls any time */
	bool records;  /* there are branch records, of as many branches as samples */
};

struct scene *scene_new(const struct scene_options *o);
void scene_free(struct scene *s);

/* Runs a method on it, from classes to confidence. */
void scene_run(struct scene *s, const struct calc_method *method);

/* Shares of the samples (edges: of executions) whose frequency is within 5, 10, 15% of the truth. */
struct scene_score {
	double blocks[3], edges[3];
	double wrong;	 /* off by more than 15% and not low */
	double high;	 /* of high confidence */
	double interval; /* whose interval has the truth */
};
struct scene_score scene_score(const struct scene *s);

#endif
