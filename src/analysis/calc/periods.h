/* SPDX-License-Identifier: MIT */
/*
 * The periods of a sampling counter, after dcpi1997 section 4.1.1: each is drawn anew, uniformly
 * between 15/16 of the longest and the longest, so that samples do not keep step with a loop.
 */
#ifndef ANALYSIS_CALC_PERIODS_H
#define ANALYSIS_CALC_PERIODS_H

#include "util/util.h"

struct periods {
	uint64_t longest; /* 0: nothing is sampled */
	uint64_t spread;  /* longest - shortest; even, so that the mean is a whole number */
	struct rng rng;
};

static inline void periods_init(struct periods *p, uint64_t longest, uint64_t seed)
{
	p->longest = longest;
	p->spread = longest / 16 & ~1ull;
	rng_seed(&p->rng, seed);
}
static inline uint64_t periods_draw(struct periods *p)
{
	return p->longest - (p->spread ? rng_below(&p->rng, p->spread + 1) : 0);
}
static inline uint64_t periods_mean(const struct periods *p)
{
	return p->longest - p->spread / 2;
}

#endif
