/* SPDX-License-Identifier: MIT */
/*
 * Systematic sampling in the manner of SMARTS (Wunderlich and others, 2003): many small units at equal
 * distances stand for the run, and the spread of their values says how many it takes. Their variance
 * is taken for that of a random sample, which is right unless the program repeats itself in step with
 * the distance between units.
 *
 * Units may be measured in random order; then the running mean is an estimate of the whole at any time.
 */
#include <math.h>

#include "sampling/estimate.h"

void running_add(struct running *r, double value)
{
	const double from_old = value - r->mean;

	r->count++;
	r->mean += from_old / (double)r->count;
	r->squares += from_old * (value - r->mean);
}

struct estimate running_estimate(const struct running *r, double confidence, uint64_t population)
{
	struct estimate e = { .value = r->mean, .low = r->mean, .high = r->mean };
	const double n = (double)r->count;

	if (population && r->count >= population) {
		e.has_error = true;
		return e;
	}
	if (r->count < 2)
		return e;
	const double left = population ? 1 - n / (double)population : 1;
	const double half =
	    student_within(confidence, n - 1) * sqrt(r->squares / (n - 1) / n * left);

	e.low -= half;
	e.high += half;
	e.has_error = true;
	return e;
}

double running_variation(const struct running *r)
{
	return r->count < 2 || r->mean == 0
		   ? NAN
		   : sqrt(r->squares / ((double)r->count - 1)) / fabs(r->mean);
}

uint64_t systematic_count(double variation, double error, double confidence, uint64_t population)
{
	const double z = student_within(confidence, INFINITY) * variation / error;
	const double without_limit = z * z;
	const double wanted = ceil(
	    population ? without_limit / (1 + without_limit / (double)population) : without_limit);
	uint64_t count = wanted < 0x1p63 ? (uint64_t)wanted : (uint64_t)1 << 63;

	count = count < 2 ? 2 : count;
	return population && count > population ? population : count;
}

void random_order(uint64_t seed, size_t *order, size_t count)
{
	struct rng r;

	rng_seed(&r, seed);
	for (size_t i = 0; i < count; i++) {
		const size_t to = (size_t)rng_below(&r, i + 1);

		order[i] = order[to];
		order[to] = i;
	}
}
