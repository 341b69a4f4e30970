/* SPDX-License-Identifier: MIT */
/*
 * A random sample of the clusters, each with its misses, so that single ones can be simulated
 * without their misses (culprit spectrum --verify).
 *
 * A cluster's rank is a hash of the cycle of its begin and a seed; the sample is the clusters of
 * the lowest ranks. So any number of the first ones is a random sample, too, and the choice depends
 * on nothing but the run. Clusters with more than SAMPLE_MISSES misses are left out, to bound the
 * memory.
 */
#ifndef ANALYSIS_SPECTRUM_SAMPLE_H
#define ANALYSIS_SPECTRUM_SAMPLE_H

#include "trace/hits.h"
#include "trace/record.h"

#define SAMPLE_MISSES  1024
#define SAMPLE_DEFAULT 256
#define SAMPLE_MOST    4096

struct sampled {
	uint64_t rank;
	uint64_t begin, end; /* cycles: of the first miss, and of the last one's data */
	uint64_t size;
	uint8_t kind;		    /* as in struct cluster */
	unsigned pattern;	    /* as in bin_key */
	uint64_t infimum, supremum; /* po */
	uint64_t last, last_commit; /* the instruction at which its net cost ends */
	int64_t cost, net;
	struct hit *misses;
};

struct samples {
	struct sampled *at; /* a heap: the highest rank first */
	size_t count, capacity;
	uint64_t seed;
	uint64_t too_large; /* clusters that were left out */
	struct hit open[SAMPLE_MISSES];
	size_t nopen; /* of the open cluster; above SAMPLE_MISSES: too many */
};

void samples_init(struct samples *s, size_t capacity, uint64_t seed);
void samples_free(struct samples *s);
/* The open cluster has another miss. */
void samples_miss(struct samples *s, const struct rec_miss *m);
/* Closes it. c: what it was, all but rank and misses; NULL: it does not count. */
void samples_close(struct samples *s, const struct sampled *c);
/* Sorts the sample by rank. */
void samples_sort(struct samples *s);

#endif
