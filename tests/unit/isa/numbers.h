/* SPDX-License-Identifier: MIT */
/*
 * Random floating-point bit patterns for the tests: now and then uniform, mostly made of an
 * exponent and a significand that are each likely to be at an edge (zero, subnormal, tie, carry,
 * overflow, NaN).
 */
#ifndef TESTS_UNIT_ISA_NUMBERS_H
#define TESTS_UNIT_ISA_NUMBERS_H

#include "util/util.h"

static inline uint64_t random_bits(struct rng *r, int precision, int exp_bits)
{
	int fraction_bits = precision - 1, bias = (1 << (exp_bits - 1)) - 1;
	uint64_t all = (1ull << fraction_bits) - 1, fraction, v = rng_next(r);
	int exp;

	switch (rng_below(r, 8)) {
	case 0:
		fraction = 0;
		break;
	case 1:
		fraction = all;
		break;
	case 2:
		fraction = 1ull << rng_below(r, fraction_bits);
		break;
	case 3:
		fraction = all & ~(1ull << rng_below(r, fraction_bits));
		break;
	case 4: /* few bits: sums and products are often exact or ties */
		fraction = (v & 0xf) << (fraction_bits - 4);
		break;
	case 5: /* many zeros or ones below a few bits, then something */
		fraction = (all >> rng_below(r, fraction_bits)) ^ (v & 7);
		break;
	default:
		fraction = v & all;
	}
	switch (rng_below(r, 8)) {
	case 0:
		exp = 0;
		break;
	case 1:
		exp = (int)rng_below(r, 4);
		break;
	case 2:
		exp = 2 * bias + 1 - (int)rng_below(r, 4);
		break;
	case 3:
		exp = (int)rng_below(r, 2 * bias + 2);
		break;
	case 4: /* where products and roots of extremes meet */
		exp = bias / 2 + (int)rng_below(r, 8) - 4 + (v >> 62 & 1) * bias;
		break;
	default: /* near one: operands of similar size */
		exp = bias + (int)rng_below(r, 2 * precision + 8) - precision;
	}
	return (uint64_t)rng_below(r, 2) << (fraction_bits + exp_bits) |
	       (uint64_t)exp << fraction_bits | (fraction & all);
}

static inline uint64_t random_d(struct rng *r)
{
	return random_bits(r, 53, 11);
}

static inline uint32_t random_s(struct rng *r)
{
	return (uint32_t)random_bits(r, 24, 8);
}

#endif
