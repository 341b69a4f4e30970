/* SPDX-License-Identifier: MIT */
/* Fixed-point sums, and whole numbers that add up to a given total. */
#include "combine/sums.h"

#include <math.h>
#include <stdlib.h>

#include "util/util.h"

#define ONE ((fixed)1 << FIXED_BITS)

/* Division that rounds down; divisor > 0. */
static fixed divide(fixed value, fixed by)
{
	const fixed q = value / by;

	return q - (value % by < 0);
}

bool fixed_times(int64_t value, struct factor f, fixed *out)
{
	const fixed by = (fixed)f.measured;
	fixed product;

	*out = 0;
	if (__builtin_mul_overflow((fixed)value, (fixed)f.stands_for, &product))
		return false;
	const fixed whole = divide(product, by), rest = product - whole * by;

	if (whole > SUM_MOST || whole < -SUM_MOST)
		return false;
	*out = whole * ONE + rest * ONE / by;
	return true;
}

int64_t fixed_round(fixed x)
{
	return (int64_t)divide(x + ONE / 2, ONE);
}

double fixed_double(fixed x)
{
	return (double)x / (double)ONE;
}

fixed fixed_from(double x)
{
	return (fixed)ldexp(x, FIXED_BITS);
}

struct remainder {
	fixed rest;
	size_t at;
};

static int by_rest(const void *a, const void *b)
{
	const struct remainder *x = a, *y = b;

	if (x->rest != y->rest)
		return x->rest > y->rest ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Takes `less` away from what is above zero, small remainders first; from anything if nothing is. */
static void take_away(const struct remainder *order, size_t n, int64_t less, int64_t *out)
{
	while (less) {
		int64_t above = 0, each;

		for (size_t i = 0; i < n; i++)
			above += out[i] > 0;
		if (!above) {
			out[order[n - 1].at] -= less;
			return;
		}
		each = less < above ? 1 : less / above;
		for (size_t i = n; less && i-- > 0;) {
			int64_t *at = &out[order[i].at];
			const int64_t now = *at < each ? *at : each;

			if (now > 0) {
				*at -= now;
				less -= now;
			}
		}
	}
}

void apportion(const fixed *values, size_t n, int64_t total, int64_t *out)
{
	struct remainder *order = x_malloc(n * sizeof(*order));
	fixed more = total;

	for (size_t i = 0; i < n; i++) {
		out[i] = (int64_t)divide(values[i], ONE);
		order[i] = (struct remainder){ values[i] - (fixed)out[i] * ONE, i };
		more -= out[i];
	}
	qsort(order, n, sizeof(*order), by_rest);
	if (more < 0) {
		take_away(order, n, (int64_t)-more, out);
	} else {
		const int64_t each = (int64_t)(more / (fixed)n), rest = (int64_t)(more % (fixed)n);

		for (size_t i = 0; i < n; i++)
			out[order[i].at] += each + ((int64_t)i < rest);
	}
	free(order);
}
