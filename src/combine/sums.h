/* SPDX-License-Identifier: MIT */
/*
 * Weighted sums in whole numbers. A sum over points is kept exactly as far as the points of one cluster
 * go; a cluster's sum times (instructions it stands for / instructions it measured) is a fixed-point
 * number; and a group of such numbers becomes whole numbers with a given total, each next to its own
 * value (the method of largest remainders).
 */
#ifndef COMBINE_SUMS_H
#define COMBINE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIXED_BITS 40
#define SUM_MOST   (1ll << 62) /* as store/check.c has it */

typedef __int128 fixed; /* a typedef, because the type has no shorter name */

/* A cluster's factor. */
struct factor {
	uint64_t stands_for, measured; /* both > 0 */
};

/* value x factor, rounded towards minus infinity. False if it is too large to be a count. */
bool fixed_times(int64_t value, struct factor f, fixed *out);
/* The nearest whole number; half is rounded up. */
int64_t fixed_round(fixed x);
double fixed_double(fixed x);
/* Not too large, and not NAN: |x| at most SUM_MOST. */
fixed fixed_from(double x);

/*
 * Fills out[0 … n-1] with whole numbers that add up to total: each is its value rounded down, or one
 * more for those with the largest remainders; among equal ones the first. Where the total is further
 * away from the sum of the values than that allows, the difference is dealt out in the same order, and
 * what is taken away is taken from what is above zero. n > 0.
 */
void apportion(const fixed *values, size_t n, int64_t total, int64_t *out);

#endif
