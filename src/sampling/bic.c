/* SPDX-License-Identifier: MIT */
/*
 * The Bayesian information criterion of a clustering, after Pelleg and Moore (X-means, 2000), as the
 * papers about simulation points use it. The rows are taken as drawn from k spherical normal
 * distributions with one common variance. With R rows, R_n of them in cluster n, M columns and
 * distortion D (sum of squared distances to the centres):
 *
 *	variance   s = D / (R - k)
 *	likelihood l = sum over n of R_n log(R_n / R) - R/2 log(2 pi) - R M/2 log(s) - (R - k)/2
 *	score        = l - p/2 log(R),   p = (k - 1) + k M + 1
 *
 * p counts the free parameters: k - 1 shares, k centres, one variance. (Pelleg and Moore print
 * (R_n - k)/2 for the last term of each cluster; from their own definitions it is (R_n - 1)/2 in the
 * mean, which adds up to the above.)
 *
 * Where rows equal their centres the variance is 0 and its logarithm has no value: it is taken as at
 * least 1e-12. Rows are made of shares of an interval, so that is a difference of one instruction in a
 * million.
 */
#include <stdlib.h>

#include "sampling/kmeans.h"
#include "sampling/maths.h"

#define VARIANCE_LEAST 1e-12
#define LOG_2_PI       1.83787706640934548356

double bic_score(const struct intervals *v, const struct clustering *c)
{
	const double rows = (double)v->count, columns = v->dims, k = c->k;
	const double freedom = v->count > c->k ? rows - k : 1;
	const double variance = c->distortion / freedom;
	const double parameters = (k - 1) + k * columns + 1;
	uint64_t *sizes = x_calloc(c->k, sizeof(*sizes));
	double score = 0;

	clustering_sizes(v, c, sizes);
	for (unsigned i = 0; i < c->k; i++)
		score += (double)sizes[i] * maths_log((double)sizes[i] / rows);
	free(sizes);
	score -= rows / 2 * LOG_2_PI;
	score -=
	    rows * columns / 2 * maths_log(variance < VARIANCE_LEAST ? VARIANCE_LEAST : variance);
	score -= (rows - k) / 2;
	return score - parameters / 2 * maths_log(rows);
}
