/* SPDX-License-Identifier: MIT */
/*
 * Sampled simulation, the arithmetic: which intervals of a run stand for it, and what their cycles say
 * of the whole. Nothing here runs a guest or reads a store.
 *
 * A run is cut into intervals of a fixed number of instructions. Each is a row of `dims` numbers: a
 * random projection of its basic block vector, and perhaps a part about its data. Rows that are alike
 * form clusters; a point is an interval that is simulated for its cluster.
 */
#ifndef SAMPLING_SAMPLING_H
#define SAMPLING_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

#define SAMPLING_DIMS	  15
#define SAMPLING_MAX_K	  30
#define SAMPLING_TRIES	  5
#define SAMPLING_BIC	  0.9
#define SAMPLING_INTERVAL 1000000

/* Limits: of k, of columns, and of a number in a row. */
#define SAMPLING_K_MOST	   100000
#define SAMPLING_DIMS_MOST 1000
#define SAMPLING_ROW_MOST  1e100

/*
 * Projection. `dimension` is the number of a static block from 1 on, in the order in which blocks first
 * ran; the coefficient for column j of the row is uniform in [-1, 1), a function of seed, dimension and
 * j alone, so no matrix is kept. A row is the sum over blocks of (instructions executed in the block /
 * instructions of the interval) x coefficient.
 */
void project_add(double *row, unsigned dims, uint64_t seed, uint64_t dimension, double share);

/* The intervals of one run. */
struct intervals {
	uint64_t interval; /* instructions of each but the last */
	unsigned dims;
	size_t count;
	double *rows;	 /* count x dims */
	uint64_t *insts; /* of each interval */
};
void intervals_free(struct intervals *v);

struct choose_options {
	unsigned max_k, tries;
	double bic; /* threshold, 0…1 */
	/* The threshold is a part of the best score, as in the paper; else of the span from the worst
	 * to the best. */
	bool of_best;
	bool exhaustive; /* every k; else binary search */
	uint64_t seed;
	unsigned threads; /* changes nothing but time */
};

/* Clusters are numbered by their first interval; none is empty. */
struct clustering {
	unsigned k;	   /* clusters; fewer than were asked for if fewer rows differ */
	double bic;	   /* score */
	double distortion; /* sum of squared distances to the centres */
	uint32_t *of;	   /* cluster of each interval */
	double *centres;   /* k x dims */
};
void clustering_free(struct clustering *c);
/* For each cluster (k numbers): its share of the instructions, its intervals, the mean squared
 * distance of its rows to the centre. Each may be NULL. */
void clustering_weights(const struct intervals *v, const struct clustering *c, double *weights);
void clustering_sizes(const struct intervals *v, const struct clustering *c, uint64_t *intervals);
void clustering_spread(const struct intervals *v, const struct clustering *c, double *spread);
/* The intervals of a cluster in the order in which they become points: first the one that is closest
 * to the centre, then the others in an order that the seed decides. Returns how many; the caller frees
 * *order. */
size_t clustering_members(const struct intervals *v, const struct clustering *c, uint32_t cluster,
			  uint64_t seed, size_t **order);

/*
 * Clusterings of the same intervals, one for each k that was asked for, each computed once. What
 * comes out for a k depends on the rows, k, tries and seed alone.
 */
struct clusterings;
struct clusterings *clusterings_new(const struct intervals *v, unsigned tries, uint64_t seed,
				    unsigned threads);
void clusterings_free(struct clusterings *c);
/* The best of the tries for k, 1 … v->count; it belongs to c. */
const struct clustering *clusterings_get(struct clusterings *c, unsigned k);
/* Computes all of 1 … max_k, which is quicker than one after the other. */
void clusterings_fill(struct clusterings *c, unsigned max_k);

struct point {
	size_t interval; /* from 0 */
	uint32_t cluster;
	double weight; /* share of the run's instructions that it stands for; they add up to 1 */
};

struct choice {
	struct clustering clustering; /* the one chosen */
	size_t ntried;
	struct choice_try {
		unsigned k;
		double bic;
	} * tried;		 /* by k */
	unsigned k_span, k_best; /* what each kind of threshold chooses of those tried */
	size_t count;
	struct point *points; /* by interval */
};
/* The smallest of the k tried whose score is at or above the threshold `part`; choose.c says what it is
 * a part of. */
unsigned choose_k(const struct choice_try *tried, size_t count, double part, bool of_best);
/* One point per cluster: the interval that is closest to the centre. */
bool choose(const struct intervals *v, const struct choose_options *o, struct choice *out,
	    struct err *e);
/* Its first half, from clusterings that are there already (with tries, seed and threads of their own):
 * only what was tried, k_span and k_best. For sweeps. */
bool choose_search(struct clusterings *from, const struct choose_options *o, struct choice *out,
		   struct err *e);
void choice_free(struct choice *c);

/*
 * The field's files: X.simpoints has a line "interval cluster" per point, X.weights a line "weight
 * cluster" for the same point. Both are written in the order of the points, whole or not at all.
 */
bool points_write(const char *stem, const struct point *points, size_t count, struct err *e);
/* Reads both. intervals: how many the run has; 0: unknown. The caller frees *points. */
bool points_read(const char *simpoints, const char *weights, size_t intervals,
		 struct point **points, size_t *count, struct err *e);

/* A value that was measured at points, for the whole run. */
struct estimate {
	double value;
	double low, high; /* 95% interval; low = high = value if there is no variance to tell */
	bool has_error;
};

#endif
