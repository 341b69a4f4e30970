/* SPDX-License-Identifier: MIT */
/*
 * One profile from the stores of points. A point is an interval of a run that was simulated by itself
 * and gave an ordinary store; it stands for some of the run's instructions. The combined store is that
 * of the whole run: every sum is weighted, in integers that still add up (docs/store.md, "Sampled
 * runs"), and every figure that points disagree on has an interval (table `estimate`).
 */
#ifndef COMBINE_COMBINE_H
#define COMBINE_COMBINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct store;

struct combine_weight {
	uint64_t start;	 /* instructions of the run before the interval */
	uint64_t length; /* instructions of the interval */
	/* Instructions of the run; those of all points add up to the total. What a cluster's points
	 * stand for is divided among them by what they measured, as estimate.h has it. */
	uint64_t stands_for;
	uint32_t cluster; /* from 0 */
	/* Cycles of the interval if every state that was not known had been a hit, and a miss. */
	bool has_bracket;
	double low_cycles, high_cycles;
};

/* A cluster of intervals; id: its place in the array. */
struct combine_cluster {
	uint64_t intervals; /* how many it has */
	double spread;	    /* mean squared distance of their vectors to the centre */
};

/* How the time of an instruction is estimated. */
enum combine_mode {
	COMBINE_WEIGHTS,    /* cycles of the points, weighted */
	COMBINE_EXECUTIONS, /* exact executions x estimated cycles per execution, normalised */
};

/* What one unit of many measured, where the stores hold sums over units (systematic sampling). */
struct combine_unit {
	uint64_t start, instructions, cycles;
};

struct combine_setting {
	const char *key, *value;
};

struct combine_options {
	const char *method;	     /* simpoint, systematic */
	uint64_t total_instructions; /* of the run, exact */
	uint64_t interval;	     /* instructions of an interval, or of a unit */
	uint64_t settle;
	const char *warm; /* as it was asked for: a number, all, auto */
	uint64_t seed;
	unsigned k;		/* clusters */
	enum combine_mode mode; /* EXECUTIONS needs the executions */
	int64_t exit_status;	/* of the run; -1: not known */
	const uint64_t *pcs;	/* executions by instruction, ascending; NULL: not known */
	const uint64_t *executions;
	size_t npcs;
	const uint32_t *strip; /* the cluster of every interval of the run; NULL: none */
	size_t nstrip;
	const struct combine_cluster *clusters; /* NULL: counted from the strip or from lengths */
	size_t nclusters;
	const struct combine_unit *units; /* NULL: each store is one unit */
	size_t nunits;
	const struct combine_setting *settings; /* whatever else is worth keeping, by key */
	size_t nsettings;
	/* Called before the store is complete, to add or sign rows of table run; may be NULL. */
	bool (*finish)(struct store *s, void *arg, struct err *e);
	void *arg;
};

/*
 * Shares of a run (they add up to 1, as struct point's weights do) as instructions that add up to the
 * total exactly.
 */
void combine_shares(const double *weights, size_t n, uint64_t total, uint64_t *stands_for);

/* Cycles of the run, if its points took these, by their ids: what a combined store says of them. False
 * and e filled if it is none. */
bool combine_cycles(struct store *combined, const uint64_t *cycles, size_t count, double *sum,
		    struct err *e);

/*
 * Writes the store `output`. The order of the points changes nothing. All must come from the same
 * program, machine and options, but for where the interval lies.
 */
bool combine_stores(const char *const *paths, const struct combine_weight *weights, size_t n,
		    const struct combine_options *o, const char *output, struct err *e);

#endif
