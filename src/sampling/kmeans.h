/* SPDX-License-Identifier: MIT */
/* One run of k-means over rows; kmeans.c says how. */
#ifndef SAMPLING_KMEANS_H
#define SAMPLING_KMEANS_H

#include "sampling/sampling.h"

/*
 * Clusters the rows of v into k (1 … v->count) and fills all of out but its score. `try` is the number
 * of the attempt: it decides the initial centres, together with seed and k.
 */
void kmeans(const struct intervals *v, unsigned k, uint64_t seed, unsigned try,
	    struct clustering *out);
/* The same without bounds: every distance in every round. For tests. */
void kmeans_plain(const struct intervals *v, unsigned k, uint64_t seed, unsigned try,
		  struct clustering *out);

/* Squared distance of two rows, added up from the first column on. */
double row_distance(const double *a, const double *b, unsigned dims);

/* bic.c: the score of a clustering. */
double bic_score(const struct intervals *v, const struct clustering *c);

#endif
