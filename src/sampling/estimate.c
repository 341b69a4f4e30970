/* SPDX-License-Identifier: MIT */
/*
 * Estimates from points in clusters: a stratified sample with a ratio in each stratum (Cochran,
 * "Sampling Techniques", chapters 5 and 6). estimate.h has the formulas.
 *
 * Assumptions: the points of a cluster are as good as drawn at random from it. The first one is not (it
 * is closest to the centre), but all others are, and tests with made-up runs hold the intervals
 * against the truth. Intervals of one run have the same length but for the last, so that the ratio of
 * sums hardly differs from the mean of ratios.
 */
#include "sampling/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD_MOST 10 /* by which the ratio of spreads may raise the mean variance */
#define MEAN_COUNTS 3  /* points: what the mean variance counts for in each cluster */
#define ALONE_MOST                                                                                 \
	0.1 /* weight of clusters without variance of their own, if there is to be an error */

/* What the points of a cluster say of one figure. */
struct stratum {
	uint64_t count;	   /* points; predictions raise it */
	uint64_t measured; /* points that the variance is from */
	double insts, amount, ratio;
	double variance; /* of the amount per instruction of one interval */
};

struct strata {
	const struct estimate_plan *p;
	struct stratum *list;
	double value;
	double pooled_freedom; /* 0: no cluster has two points */
};

bool estimate_check(const struct estimate_plan *p, struct err *e)
{
	uint64_t *counts = x_calloc(p->nclusters + 1, sizeof(*counts));
	double sum = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < p->npoints; i++) {
		const uint32_t c = p->points[i].cluster;

		if (c >= p->nclusters || !p->points[i].insts)
			ok = err_set(
			    e, "point %zu has no instructions, or a cluster that does not exist",
			    i);
		else
			counts[c]++;
	}
	for (size_t i = 0; ok && i < p->nclusters; i++) {
		const struct estimate_cluster *c = &p->clusters[i];

		if (!counts[i] || counts[i] > c->intervals)
			ok = err_set(e, "cluster %zu has %llu points and %llu intervals", i,
				     (unsigned long long)counts[i],
				     (unsigned long long)c->intervals);
		if (!(c->weight >= 0 && c->weight <= 1) || !(c->spread >= 0))
			ok = err_set(e, "the weight or the spread of cluster %zu is out of range",
				     i);
		sum += c->weight;
	}
	free(counts);
	return ok &&
	       (fabs(sum - 1) < 1e-6 || err_set(e, "the weights add up to %g, not to 1", sum));
}

void estimate_factors(const struct estimate_plan *p, double *factors)
{
	double *insts = x_calloc(p->nclusters, sizeof(*insts));

	for (size_t i = 0; i < p->npoints; i++)
		insts[p->points[i].cluster] += (double)p->points[i].insts;
	for (size_t i = 0; i < p->npoints; i++)
		factors[i] = p->clusters[p->points[i].cluster].weight / insts[p->points[i].cluster];
	free(insts);
}

/* Mixes the mean variance of all clusters into that of each. */
static void mix_variances(struct strata *s)
{
	const struct estimate_cluster *c = s->p->clusters;
	double variance = 0, spread = 0;

	for (size_t i = 0; i < s->p->nclusters; i++) {
		const double freedom = (double)s->list[i].count - 1;

		s->pooled_freedom += freedom;
		variance += freedom * s->list[i].variance;
		spread += freedom * c[i].spread;
	}
	if (!(s->pooled_freedom > 0))
		return;
	variance /= s->pooled_freedom;
	spread /= s->pooled_freedom;
	for (size_t i = 0; i < s->p->nclusters; i++) {
		const double freedom = (double)s->list[i].count - 1;
		double scale = 1;

		if (c[i].spread > spread)
			scale =
			    c[i].spread > SPREAD_MOST * spread ? SPREAD_MOST : c[i].spread / spread;
		s->list[i].variance =
		    (freedom * s->list[i].variance + MEAN_COUNTS * variance * scale) /
		    (freedom + MEAN_COUNTS);
	}
}

static void strata_make(struct strata *s, const struct estimate_plan *p, const double *amounts)
{
	*s = (struct strata){ .p = p };
	s->list = x_calloc(p->nclusters, sizeof(*s->list));
	for (size_t i = 0; i < p->npoints; i++) {
		struct stratum *t = &s->list[p->points[i].cluster];

		t->count++;
		t->insts += (double)p->points[i].insts;
		t->amount += amounts[i];
	}
	for (size_t i = 0; i < p->nclusters; i++) {
		s->list[i].measured = s->list[i].count;
		s->list[i].ratio = s->list[i].amount / s->list[i].insts;
		s->value += p->clusters[i].weight * s->list[i].ratio;
	}
	for (size_t i = 0; i < p->npoints; i++) {
		struct stratum *t = &s->list[p->points[i].cluster];
		const double residual = amounts[i] - t->ratio * (double)p->points[i].insts;

		t->variance += residual * residual;
	}
	for (size_t i = 0; i < p->nclusters; i++) {
		struct stratum *t = &s->list[i];
		const double mean = t->insts / (double)t->count;

		/* One point has no residual. */
		t->variance /= t->count > 1 ? (double)(t->count - 1) * mean * mean : 1;
		if (t->count == 1)
			t->variance = 0;
	}
	mix_variances(s);
}

/* A cluster's part of the variance of the value. */
static double part_of(const struct strata *s, size_t i)
{
	const struct estimate_cluster *c = &s->p->clusters[i];
	const double n = (double)s->list[i].count;

	if (s->list[i].count >= c->intervals)
		return 0;
	return c->weight * c->weight * s->list[i].variance / n * (1 - n / (double)c->intervals);
}

/* Whether a cluster has intervals left to tell something, but no second point. */
static bool is_alone(const struct strata *s, size_t i)
{
	return s->list[i].count == 1 && s->p->clusters[i].intervals > 1;
}

/* Whether enough variances are known to speak of an error. */
static bool has_variance(const struct strata *s)
{
	double alone = 0;

	for (size_t i = 0; i < s->p->nclusters; i++)
		alone += is_alone(s, i) ? s->p->clusters[i].weight : 0;
	return alone == 0 || (s->pooled_freedom > 0 && alone <= ALONE_MOST);
}

/* Half of the interval; NAN: unknown. */
static double half_width(const struct strata *s)
{
	double total = 0, borrowed = 0, denominator = 0;

	if (!has_variance(s))
		return NAN;
	for (size_t i = 0; i < s->p->nclusters; i++) {
		const double part = part_of(s, i);

		total += part;
		if (s->list[i].count > 1)
			denominator += part * part / ((double)s->list[i].count - 1);
		else
			borrowed += part;
	}
	if (!(total > 0))
		return 0;
	if (borrowed > 0)
		denominator += borrowed * borrowed / s->pooled_freedom;
	/* Cycles in a cluster are skewed or of two kinds more often than normal; at a kurtosis of 5 the
	 * variance of a variance is twice that of a normal distribution. */
	const double freedom = total * total / denominator / 2;
	const double confidence = s->p->confidence > 0 ? s->p->confidence : ESTIMATE_CONFIDENCE;

	return sqrt(total) * student_within(confidence, freedom < 1 ? 1 : freedom);
}

static struct estimate around(double value, double half)
{
	struct estimate e = { .value = value, .low = value, .high = value };

	if (half >= 0) {
		e.low = value - half;
		e.high = value + half;
		e.has_error = true;
	}
	return e;
}

struct estimate estimate_per_inst(const struct estimate_plan *p, const double *amounts)
{
	struct strata s;

	strata_make(&s, p, amounts);
	const struct estimate e = around(s.value, half_width(&s));

	free(s.list);
	return e;
}

struct estimate estimate_ratio(const struct estimate_plan *p, const double *amounts,
			       const double *others)
{
	struct strata above, below, residual;
	double *rest = x_malloc(p->npoints * sizeof(*rest) + 1);

	strata_make(&above, p, amounts);
	strata_make(&below, p, others);
	const double ratio = above.value / below.value;

	for (size_t i = 0; i < p->npoints; i++)
		rest[i] = amounts[i] - ratio * others[i];
	strata_make(&residual, p, rest);
	struct estimate e = around(ratio, half_width(&residual) / fabs(below.value));

	if (below.value == 0)
		e = (struct estimate){ .value = NAN, .low = NAN, .high = NAN };
	free(above.list);
	free(below.list);
	free(residual.list);
	free(rest);
	return e;
}

static double *differences(const struct estimate_plan *p, const double *before, const double *after)
{
	double *d = x_malloc(p->npoints * sizeof(*d) + 1);

	for (size_t i = 0; i < p->npoints; i++)
		d[i] = after[i] - before[i];
	return d;
}

struct estimate estimate_change(const struct estimate_plan *p, const double *before,
				const double *after)
{
	double *d = differences(p, before, after);
	const struct estimate e = estimate_per_inst(p, d);

	free(d);
	return e;
}

struct estimate estimate_relative_change(const struct estimate_plan *p, const double *before,
					 const double *after)
{
	double *d = differences(p, before, after);
	const struct estimate e = estimate_ratio(p, d, before);

	free(d);
	return e;
}

void estimate_bracket(const struct estimate_plan *p, const double *least, const double *amounts,
		      const double *most, struct estimate *to)
{
	double *factors = x_malloc(p->npoints * sizeof(*factors) + 1);

	estimate_factors(p, factors);
	for (size_t i = 0; i < p->npoints; i++) {
		to->low -= factors[i] * (amounts[i] - least[i]);
		to->high += factors[i] * (most[i] - amounts[i]);
	}
	free(factors);
}

double estimate_relative_error(const struct estimate *e)
{
	return e->has_error && e->value != 0 ? (e->high - e->low) / 2 / fabs(e->value) : NAN;
}

void estimate_shares(const struct estimate_plan *p, const double *amounts, double *shares)
{
	struct strata s;
	double total = 0;

	strata_make(&s, p, amounts);
	for (size_t i = 0; i < p->nclusters; i++) {
		shares[i] = part_of(&s, i);
		total += shares[i];
	}
	for (size_t i = 0; i < p->nclusters; i++)
		shares[i] = total > 0 ? shares[i] / total : 0;
	free(s.list);
}

/* The cluster whose next point lowers the variance most; of those that lower it equally, the one with
 * the larger weight. As long as there is no error to speak of, the heaviest with one point. */
static size_t next_of(const struct strata *s)
{
	const bool known = has_variance(s);
	double best = -1, best_size = -1;
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < s->p->nclusters; i++) {
		const struct estimate_cluster *c = &s->p->clusters[i];
		const double n = (double)s->list[i].count;
		const double size = c->weight * c->weight / (n * (n + 1));
		const double gain = known ? size * s->list[i].variance : 0;

		if (s->list[i].count >= c->intervals || (!known && !is_alone(s, i)))
			continue;
		if (gain > best || (gain == best && size > best_size)) {
			best = gain;
			best_size = size;
			found = i;
		}
	}
	return found;
}

void estimate_first(const struct estimate_cluster *clusters, size_t n, uint64_t most,
		    uint64_t *first)
{
	uint64_t given = n;

	for (size_t i = 0; i < n; i++)
		first[i] = 1;
	/* Second ones come first. */
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < n; i++) {
			const double w = clusters[i].weight;
			const uint64_t wanted =
			    1 + (w >= ESTIMATE_MATTERS) + (uint64_t)(ESTIMATE_SHARED * w);
			const uint64_t to = round ? wanted : min_u64(wanted, 2);
			const uint64_t room = most > given ? most - given : 0;
			const uint64_t more = min_u64(to - first[i], room);

			first[i] += more;
			given += more;
		}
}

size_t estimate_next(const struct estimate_plan *p, const double *amounts, const uint64_t *extra)
{
	struct strata s;

	strata_make(&s, p, amounts);
	for (size_t i = 0; extra && i < p->nclusters; i++)
		s.list[i].count += extra[i];
	const size_t next = next_of(&s);

	free(s.list);
	return next;
}

uint64_t estimate_more(const struct estimate_plan *p, const double *amounts, double relative,
		       uint64_t most, uint64_t *extra)
{
	struct strata s;
	uint64_t more = 0;
	bool reached = false;

	strata_make(&s, p, amounts);
	const bool known = has_variance(&s);

	/* What second points will say cannot be foreseen: only they are given out. */
	while (!known && more < most && !has_variance(&s)) {
		s.list[next_of(&s)].count++;
		more++;
	}
	while (known) {
		reached = half_width(&s) <= relative * fabs(s.value);
		if (reached || more == most)
			break;
		const size_t next = next_of(&s);

		if (next == SIZE_MAX)
			break;
		s.list[next].count++;
		more++;
	}
	for (size_t i = 0; extra && i < p->nclusters; i++)
		extra[i] = s.list[i].count - s.list[i].measured;
	free(s.list);
	return reached ? more : UINT64_MAX;
}
