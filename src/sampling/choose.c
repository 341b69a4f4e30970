/* SPDX-License-Identifier: MIT */
/*
 * Choosing simulation points: the smallest k whose clustering scores well enough, and the interval
 * closest to the centre of each of its clusters.
 *
 * "Well enough" has two meanings. A part of the span from the worst to the best score seen (the
 * default) makes sense for any scores. A part of the best score (as in tracedoctor2023, section 6.1)
 * is the score divided by the best one; it means nothing where the best one is zero or below, but the
 * division is done all the same.
 *
 * The search is binary. Scores mostly rise with k, but may fall again where there are more clusters than
 * the rows have: so it begins with the powers of two and the largest k, which shows how high scores go.
 * Between the first of these that is good enough and the one before, it takes the middle until the two
 * are neighbours. Thresholds are those of the scores seen so far; the choice is made with all of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/clusterings.h"
#include "sampling/sampling.h"
#include "util/array.h"

struct search {
	struct clusterings *from;
	const struct choose_options *o;
	struct choice *out;
};

/* The score of k; notes it if k was not tried yet. */
static double try_k(struct search *s, unsigned k)
{
	struct choice *c = s->out;
	size_t at = 0;

	while (at < c->ntried && c->tried[at].k < k)
		at++;
	if (at < c->ntried && c->tried[at].k == k)
		return c->tried[at].bic;
	const double bic = clusterings_get(s->from, k)->bic;

	ARRAY_ADD(c->tried, c->ntried);
	memmove(c->tried + at + 1, c->tried + at, (c->ntried - 1 - at) * sizeof(*c->tried));
	c->tried[at] = (struct choice_try){ .k = k, .bic = bic };
	return bic;
}

static bool good_enough(const struct choice_try *tried, size_t count, double bic, double part,
			bool of_best)
{
	double best = tried[0].bic, worst = best;

	for (size_t i = 1; i < count; i++) {
		best = fmax(best, tried[i].bic);
		worst = fmin(worst, tried[i].bic);
	}
	if (of_best)
		return best == 0 ? bic >= 0 : bic / best >= part;
	/* The best one counts whatever rounding makes of the threshold. */
	return bic == best || bic >= worst + part * (best - worst);
}

unsigned choose_k(const struct choice_try *tried, size_t count, double part, bool of_best)
{
	for (size_t i = 0; i < count; i++)
		if (good_enough(tried, count, tried[i].bic, part, of_best))
			return tried[i].k;
	return tried[count - 1].k;
}

/* Whether k's score is at or above the threshold, as far as scores are known. */
static bool passes(struct search *s, unsigned k)
{
	const double bic = try_k(s, k);

	return good_enough(s->out->tried, s->out->ntried, bic, s->o->bic, s->o->of_best);
}

static void search(struct search *s, unsigned max_k)
{
	unsigned low = 0, high;

	if (s->o->exhaustive) {
		clusterings_fill(s->from, max_k);
		for (unsigned k = 1; k <= max_k; k++)
			try_k(s, k);
		return;
	}
	for (unsigned k = 1; k < max_k; k *= 2)
		try_k(s, k);
	try_k(s, max_k);
	for (high = 1; high < max_k && !passes(s, high); high = (unsigned)min_u64(2 * high, max_k))
		low = high;
	while (low && high - low > 1) {
		const unsigned middle = low + (high - low) / 2;

		if (passes(s, middle))
			high = middle;
		else
			low = middle;
	}
}

static int by_interval(const void *a, const void *b)
{
	const size_t x = ((const struct point *)a)->interval,
		     y = ((const struct point *)b)->interval;

	return (x > y) - (x < y);
}

static void pick_points(const struct intervals *v, struct choice *c)
{
	const unsigned k = c->clustering.k;
	size_t *closest = x_malloc(k * sizeof(*closest));
	double *weights = x_malloc(k * sizeof(*weights));

	clustering_closest(v, &c->clustering, closest);
	clustering_weights(v, &c->clustering, weights);
	c->count = k;
	c->points = x_malloc(k * sizeof(*c->points));
	for (unsigned i = 0; i < k; i++)
		c->points[i] =
		    (struct point){ .interval = closest[i], .cluster = i, .weight = weights[i] };
	qsort(c->points, k, sizeof(*c->points), by_interval);
	free(closest);
	free(weights);
}

static bool check(const struct intervals *v, const struct choose_options *o, struct err *e)
{
	uint64_t total = 0;

	if (!v->count)
		return err_set(e, "there are no intervals to choose from");
	if (!v->dims || v->dims > SAMPLING_DIMS_MOST)
		return err_set(e, "rows must have 1 to %u columns, not %u", SAMPLING_DIMS_MOST,
			       v->dims);
	if (v->count > UINT32_MAX)
		return err_set(e, "%zu intervals are too many: take longer ones", v->count);
	if (!o->max_k || o->max_k > SAMPLING_K_MOST || !(o->bic >= 0 && o->bic <= 1))
		return err_set(e, "the largest k must be 1 to %u, and the threshold 0 to 1",
			       SAMPLING_K_MOST);
	for (size_t i = 0; i < v->count * v->dims; i++)
		if (!(fabs(v->rows[i]) <= SAMPLING_ROW_MOST))
			return err_set(e, "interval %zu has a number that is too large to compare",
				       i / v->dims);
	for (size_t i = 0; i < v->count; i++)
		if (__builtin_add_overflow(total, v->insts[i], &total))
			return err_set(e, "the intervals have more than 2^64 instructions");
	return total || err_set(e, "the intervals have no instructions");
}

bool choose_search(struct clusterings *from, const struct choose_options *o, struct choice *out,
		   struct err *e)
{
	const struct intervals *v = clusterings_of(from);
	struct search s = { .from = from, .o = o, .out = out };

	*out = (struct choice){ 0 };
	if (!check(v, o, e))
		return false;
	search(&s, (unsigned)min_u64(o->max_k, v->count));
	out->k_span = choose_k(out->tried, out->ntried, o->bic, false);
	out->k_best = choose_k(out->tried, out->ntried, o->bic, true);
	return true;
}

static void take_clustering(const struct intervals *v, const struct clustering *c,
			    struct clustering *copy)
{
	*copy = *c;
	copy->of = x_malloc(v->count * sizeof(*copy->of));
	memcpy(copy->of, c->of, v->count * sizeof(*copy->of));
	copy->centres = x_malloc((size_t)c->k * v->dims * sizeof(*copy->centres));
	memcpy(copy->centres, c->centres, (size_t)c->k * v->dims * sizeof(*copy->centres));
}

bool choose(const struct intervals *v, const struct choose_options *o, struct choice *out,
	    struct err *e)
{
	struct clusterings *from = clusterings_new(v, o->tries, o->seed, o->threads);
	const bool ok = choose_search(from, o, out, e);

	if (ok) {
		take_clustering(v, clusterings_get(from, o->of_best ? out->k_best : out->k_span),
				&out->clustering);
		pick_points(v, out);
	}
	clusterings_free(from);
	return ok;
}

void choice_free(struct choice *c)
{
	clustering_free(&c->clustering);
	free(c->tried);
	free(c->points);
	*c = (struct choice){ 0 };
}
