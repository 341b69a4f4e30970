/* SPDX-License-Identifier: MIT */
/* Estimates from points: against values by hand, and against the truth of made-up runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/estimate.h"
#include "sampling/maths.h"

static void assert_near(double a, double b, double tolerance)
{
	if (!(fabs(a - b) <= tolerance))
		fail_msg("%.15g is not %.15g", a, b);
}

static double uniform(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

static double normal(struct rng *r)
{
	const double u = uniform(r);

	return sqrt(-2 * log(u > 0 ? u : 1e-300)) * cos(2 * M_PI * uniform(r));
}

static void test_2887_functions_are_those_of_the_library(void **state)
{
	struct rng r;

	rng_seed(&r, 1);
	for (int i = 0; i < 20000; i++) {
		const double x = ldexp(1 + uniform(&r), (int)rng_below(&r, 200) - 100);
		const double y = (uniform(&r) - 0.5) * 1000;

		assert_near(maths_log(x), log(x), fmax(1, fabs(log(x))) * 4e-16);
		assert_near(maths_exp(y) / exp(y), 1, 2e-13);
	}
	assert_true(maths_log(1) == 0 && maths_exp(0) == 1 && maths_exp(-1000) == 0);
	/* Tables of Student's distribution, and of the normal one. */
	static const struct {
		double confidence, freedom, value;
	} table[] = { { 0.95, 1, 12.7062047362 },
		      { 0.95, 2, 4.30265272975 },
		      { 0.95, 5, 2.57058183564 },
		      { 0.95, 10, 2.22813885199 },
		      { 0.95, 30, 2.04227245630 },
		      { 0.99, 3, 5.84090930973 },
		      { 0.9, 120, 1.65765089935 },
		      { 0.95, 1e5, 1.95998770743 },
		      { 0.5, 1, 1 },
		      { 0.95, INFINITY, 1.95996398454 },
		      { 0.99, INFINITY, 2.57582930355 },
		      { 0.997, INFINITY, 2.96773792534 } };

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_near(student_within(table[i].confidence, table[i].freedom) / table[i].value,
			    1, 1e-8);
	assert_true(student_within(0.95, 2.5) < student_within(0.95, 2) &&
		    student_within(0.95, 2.5) > student_within(0.95, 3));
}

static void test_2888_a_stratified_estimate_is_the_one_by_hand(void **state)
{
	/* Two clusters of 0.75 and 0.25, of 30 and 10 intervals. CPI 1.0 and 1.2; 2.0, 2.2 and 2.7. */
	const struct estimate_cluster clusters[] = { { 0.75, 30, 0.1 }, { 0.25, 10, 0.1 } };
	const struct estimate_point points[] = {
		{ 0, 1000 }, { 1, 1000 }, { 0, 1000 }, { 1, 1000 }, { 1, 1000 }
	};
	const struct estimate_plan plan = { clusters, 2, points, 5, 0 };
	const double cycles[] = { 1000, 2000, 1200, 2200, 2700 };
	/* Variances 0.02 and 0.13, of one and two degrees of freedom; their mean counts for three. */
	const double mean = (0.02 + 2 * 0.13) / 3;
	const double v0 = 0.75 * 0.75 * (0.02 + 3 * mean) / 4 / 2 * (1 - 2 / 30.0);
	const double v1 = 0.25 * 0.25 * (2 * 0.13 + 3 * mean) / 5 / 3 * (1 - 3 / 10.0);
	const double freedom = (v0 + v1) * (v0 + v1) / (v0 * v0 / 1 + v1 * v1 / 2) / 2;
	const double half = sqrt(v0 + v1) * student_within(0.95, fmax(1, freedom));
	const struct estimate e = estimate_per_inst(&plan, cycles);
	double factors[5], shares[2], sum = 0;
	struct err err = { "" };

	assert_true(estimate_check(&plan, &err));
	assert_true(e.has_error);
	assert_near(e.value, 0.75 * 1.1 + 0.25 * 2.3, 1e-14);
	assert_near(e.low, e.value - half, 1e-13);
	assert_near(e.high, e.value + half, 1e-13);
	assert_near(estimate_relative_error(&e), half / e.value, 1e-13);
	estimate_factors(&plan, factors);
	for (int i = 0; i < 5; i++)
		sum += factors[i] * cycles[i];
	assert_near(sum, e.value, 1e-14);
	estimate_shares(&plan, cycles, shares);
	assert_near(shares[0], v0 / (v0 + v1), 1e-12);
	assert_near(shares[0] + shares[1], 1, 1e-12);
	/* A ratio of two amounts that go together has no error. */
	const double half_of_them[] = { 500, 1000, 600, 1100, 1350 };
	const struct estimate share = estimate_ratio(&plan, half_of_them, cycles);

	assert_near(share.value, 0.5, 1e-14);
	assert_near(share.high - share.low, 0, 1e-12);
	assert_true(isnan(estimate_ratio(&plan, cycles, (double[]){ 0, 0, 0, 0, 0 }).value));
	/* What was not known of the state widens it. */
	const double least[] = { 900, 2000, 1100, 2200, 2700 },
		     most[] = { 1000, 2100, 1200, 2300, 2800 };
	struct estimate wide = e;

	estimate_bracket(&plan, least, cycles, most, &wide);
	assert_near(wide.low, e.low - 0.75 * 0.1, 1e-13);
	assert_near(wide.high, e.high + 0.25 * 0.1, 1e-13);
}

static void test_2889_a_cluster_with_one_point_borrows_its_variance(void **state)
{
	struct estimate_cluster clusters[] = { { 0.7, 100, 0.2 },
					       { 0.1, 100, 0.1 },
					       { 0.2, 1, 0 } };
	const struct estimate_point points[] = { { 0, 100 }, { 0, 100 }, { 1, 100 }, { 2, 50 } };
	const struct estimate_plan plan = { clusters, 3, points, 4, 0.95 };
	const struct estimate_plan singles = { clusters, 3, points + 1, 3, 0.95 };
	const double cycles[] = { 100, 120, 300, 400 }, s2 = 0.02;

	/* A cluster that is one interval has no variance. */
	for (int i = 0; i < 3; i++) {
		const double scale = i == 0 ? 1 : i == 1 ? 3 : 10;

		clusters[1].spread = i == 0 ? 0.1 : i == 1 ? 0.6 : 100;
		const double own = 0.49 * s2 / 2 * 0.98, lent = 0.01 * s2 * scale * 0.99;
		const double freedom = (own + lent) * (own + lent) / (own * own + lent * lent) / 2;
		const struct estimate e = estimate_per_inst(&plan, cycles);

		assert_near(e.value, 0.7 * 1.1 + 0.1 * 3 + 0.2 * 8, 1e-13);
		assert_near(e.high - e.value,
			    sqrt(own + lent) * student_within(0.95, fmax(1, freedom)), 1e-12);
	}
	/* More than a tenth of the instructions is too much to borrow for. */
	clusters[0].weight = 0.69;
	clusters[1].weight = 0.11;
	assert_false(estimate_per_inst(&plan, cycles).has_error);
	assert_int_equal(estimate_next(&plan, cycles, NULL), 1);
	/* No cluster has two: nothing is known. The heaviest is the first one to get another. */
	struct estimate e = estimate_per_inst(&singles, cycles + 1);

	assert_false(e.has_error);
	assert_true(e.low == e.value && e.high == e.value && isnan(estimate_relative_error(&e)));
	assert_int_equal(estimate_next(&singles, cycles + 1, NULL), 0);
	assert_int_equal(estimate_next(&singles, cycles + 1, (uint64_t[]){ 1, 0, 0 }), 1);
	/* Second points come first, as many as it takes to know an error. */
	uint64_t extra[3];

	assert_true(estimate_more(&singles, cycles + 1, 0.01, 100, extra) == UINT64_MAX);
	assert_true(extra[0] == 1 && extra[1] == 1 && extra[2] == 0);
	assert_true(estimate_more(&singles, cycles + 1, 0.01, 1, extra) == UINT64_MAX);
	assert_true(extra[0] == 1 && extra[1] == 0 && extra[2] == 0);
	/* Every interval is a point: there is nothing to estimate. */
	for (int i = 0; i < 3; i++)
		clusters[i].intervals = 1;
	e = estimate_per_inst(&singles, cycles + 1);
	assert_true(e.has_error && e.low == e.value && e.high == e.value);
	assert_true(estimate_next(&singles, cycles + 1, NULL) == SIZE_MAX);
}

static void test_2890_points_go_where_the_variance_falls_most(void **state)
{
	const struct estimate_cluster clusters[] = { { 0.45, 1000, 0.1 },
						     { 0.45, 1000, 0.1 },
						     { 0.1, 3, 0.1 } };
	const struct estimate_point points[] = { { 0, 100 }, { 0, 100 }, { 1, 100 },
						 { 1, 100 }, { 2, 100 }, { 2, 100 } };
	const struct estimate_plan plan = { clusters, 3, points, 6, 0.95 };
	/* Squared differences 4, 1,600 and 160,000: variances 2, 800 and 80,000 per 10,000, and with
	 * three times their mean of 26,934 in each: 20,201, 20,400 and 40,201. The third has a weight of
	 * 2/9 of the others, so that it comes first with 81 times their variance, not with twice. */
	const double cycles[] = { 99, 101, 80, 120, -100, 300 };
	uint64_t extra[3];
	const struct estimate e = estimate_per_inst(&plan, cycles);
	const double now = estimate_relative_error(&e);
	const uint64_t more = estimate_more(&plan, cycles, now / 2, 10000, extra);

	assert_int_equal(estimate_next(&plan, cycles, NULL), 1);
	assert_int_equal(estimate_next(&plan, cycles, (uint64_t[]){ 0, 1, 0 }), 0);
	/* Variances of the first two are nearly equal, and so are their points. */
	assert_int_equal(extra[0] + extra[1] + extra[2], more);
	assert_true(more > 0 && more < 20);
	assert_true(extra[0] <= extra[1] && extra[1] <= extra[0] + 1);
	assert_true(estimate_more(&plan, cycles, now / 20, 10000, extra) > more);
	/* Now the third matters too, but it has only one interval left. */
	assert_true(extra[0] > 10 && extra[2] == 1);
	assert_true((double)extra[0] / (double)extra[1] > 0.9);
	/* Too few are allowed: all of them are given out, but it is not enough. */
	assert_true(estimate_more(&plan, cycles, now / 20, 10, extra) == UINT64_MAX);
	assert_int_equal(extra[0] + extra[1] + extra[2], 10);
	assert_int_equal(estimate_more(&plan, cycles, now * 2, 10, extra), 0);
}

static void test_2891_matched_pairs_see_what_noise_would_hide(void **state)
{
	enum { POINTS = 12 };
	const struct estimate_cluster clusters[] = { { 1, 100000, 1 } };
	struct estimate_point points[POINTS];
	const struct estimate_plan plan = { clusters, 1, points, POINTS, 0.95 };
	double before[POINTS], after[POINTS];
	struct rng r;

	rng_seed(&r, 5);
	for (int i = 0; i < POINTS; i++) {
		points[i] = (struct estimate_point){ 0, 1000 };
		before[i] = 1000 + 800 * uniform(&r);
		after[i] = before[i] * 0.98 + 2 * uniform(&r);
	}
	const struct estimate a = estimate_per_inst(&plan, before);
	const struct estimate b = estimate_per_inst(&plan, after);
	const struct estimate change = estimate_change(&plan, before, after);
	const struct estimate part = estimate_relative_change(&plan, before, after);

	assert_true(a.low < b.high && b.low < a.high);
	assert_near(change.value, b.value - a.value, 1e-13);
	assert_true(change.high < 0 && part.high < -0.018 && part.low > -0.021);
	assert_near(part.value, change.value / a.value, 1e-13);
}

/* A made-up run: clusters of intervals, each with a distribution of CPI of its own. */
enum { CLUSTERS = 8, EACH = 400 };
struct run {
	struct estimate_cluster clusters[CLUSTERS];
	double cpi[CLUSTERS][EACH];
	double truth;
};

static double draw_cpi(struct rng *r, int kind, double mean)
{
	if (kind == 0) /* nearly constant */
		return mean * (1 + 0.002 * normal(r));
	if (kind == 1)
		return mean * (1 + 0.1 * normal(r));
	if (kind == 2) /* skewed */
		return mean * exp(0.35 * normal(r));
	return mean * (uniform(r) < 0.4 ? 0.6 : 1.3); /* two phases with the same blocks */
}

static void run_make(struct run *run, struct rng *r)
{
	double total = 0;

	run->truth = 0;
	for (int c = 0; c < CLUSTERS; c++) {
		const int kind = (int)rng_below(r, 4);
		const double mean = 0.5 + 2 * uniform(r);

		run->clusters[c].intervals = 2 + rng_below(r, EACH - 2);
		run->clusters[c].spread = 0.01 * (1 + uniform(r));
		total += (double)run->clusters[c].intervals;
		for (uint64_t i = 0; i < run->clusters[c].intervals; i++) {
			run->cpi[c][i] = draw_cpi(r, kind, mean);
			run->truth += run->cpi[c][i];
		}
	}
	run->truth /= total;
	for (int c = 0; c < CLUSTERS; c++)
		run->clusters[c].weight = (double)run->clusters[c].intervals / total;
}

/* Samples as a user does: one point per cluster, then more where they do most good, until the error is
 * as wanted or there are `most`. True if the interval holds the truth. */
static bool run_sample(const struct run *run, struct rng *r, double wanted, size_t most,
		       size_t *used)
{
	enum { MOST = CLUSTERS * EACH };
	struct estimate_point points[MOST];
	double cycles[MOST];
	size_t order[CLUSTERS][EACH], taken[CLUSTERS] = { 0 };
	struct estimate_plan plan = { run->clusters, CLUSTERS, points, 0, 0.95 };
	struct estimate e;

	for (int c = 0; c < CLUSTERS; c++)
		random_order(rng_next(r), order[c], run->clusters[c].intervals);
	for (size_t n = 0;; n++) {
		const size_t c = n < CLUSTERS ? n : estimate_next(&plan, cycles, NULL);

		if (c == SIZE_MAX)
			break;
		points[n] = (struct estimate_point){ (uint32_t)c, 1000 };
		cycles[n] = 1000 * run->cpi[c][order[c][taken[c]++]];
		plan.npoints = n + 1;
		if (n + 1 < CLUSTERS)
			continue;
		e = estimate_per_inst(&plan, cycles);
		if (n + 1 >= most || estimate_relative_error(&e) <= wanted)
			break;
	}
	*used += plan.npoints;
	e = estimate_per_inst(&plan, cycles);
	return e.low <= run->truth && run->truth <= e.high;
}

static void test_2892_the_interval_holds_the_truth(void **state)
{
	/* Wanted error and most points: for the points alone, and until the error is as wanted. */
	static const struct {
		double wanted;
		size_t most;
		uint64_t programs;
	} ways[] = { { 0, 2 * CLUSTERS, 50 },
		     { 0, 5 * CLUSTERS, 50 },
		     { 0.05, 400, 20 },
		     { 0.02, 1000, 6 } };

	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		unsigned held = 0, cases = 0;
		size_t used = 0;

		for (uint64_t program = 0; program < ways[w].programs; program++) {
			struct run run;
			struct rng r;

			rng_seed(&r, program);
			run_make(&run, &r);
			for (uint64_t seed = 0; seed < 20; seed++, cases++) {
				rng_seed(&r, 1000 * program + seed + 1);
				held += run_sample(&run, &r, ways[w].wanted, ways[w].most, &used);
			}
		}
		if (held < 0.9 * cases)
			fail_msg("way %zu: %u of %u, %.1f points", w, held, cases,
				 (double)used / cases);
	}
}

static void test_2893_systematic_samples_are_large_enough(void **state)
{
	struct running r = { 0 };
	const double values[] = { 1, 2, 4, 5 };

	assert_false(running_estimate(&r, 0.95, 0).has_error);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		running_add(&r, values[i]);
	/* Mean 3, variance 10/3. */
	struct estimate e = running_estimate(&r, 0.95, 0);

	assert_near(e.value, 3, 1e-15);
	assert_near(e.high - 3, sqrt(10.0 / 3 / 4) * 3.18244630528, 1e-9);
	assert_near(running_variation(&r), sqrt(10.0 / 3) / 3, 1e-15);
	e = running_estimate(&r, 0.95, 8);
	assert_near(e.high - 3, sqrt(10.0 / 3 / 4 / 2) * 3.18244630528, 1e-9);
	e = running_estimate(&r, 0.95, 4);
	assert_true(e.has_error && e.low == 3 && e.high == 3);
	/* 3% at 99.7% with a variation of 1: (2.9677 / 0.03)^2. Of 5,000 units fewer will do. */
	assert_int_equal(systematic_count(1, 0.03, 0.997, 0), 9787);
	assert_int_equal(systematic_count(1, 0.03, 0.997, 5000), 3310);
	assert_int_equal(systematic_count(0, 0.03, 0.997, 0), 2);
	assert_int_equal(systematic_count(0, 0.03, 0.997, 1), 1);
	assert_int_equal(systematic_count(50, 0.03, 0.997, 1000), 1000);

	/* That many do hold the mean to 3% (20 seeds; 99.7% of 1,000 are expected). */
	enum { UNITS = 20000 };
	static double run[UNITS];
	static size_t order[UNITS];
	unsigned within = 0, held = 0, cases = 0;
	struct rng rng;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct running all = { 0 };

		rng_seed(&rng, seed);
		for (size_t i = 0; i < UNITS; i++) {
			run[i] = exp(0.6 * normal(&rng));
			running_add(&all, run[i]);
		}
		const uint64_t n = systematic_count(running_variation(&all), 0.03, 0.997, UNITS);

		for (uint64_t again = 0; again < 20; again++, cases++) {
			struct running some = { 0 };

			random_order(seed * 100 + again, order, UNITS);
			for (uint64_t i = 0; i < n; i++)
				running_add(&some, run[order[i]]);
			e = running_estimate(&some, 0.95, UNITS);
			within += fabs(some.mean / all.mean - 1) <= 0.03;
			held += e.low <= all.mean && all.mean <= e.high;
		}
	}
	assert_true(within >= cases * 0.99);
	assert_true(held >= cases * 0.92 && held < cases);
}

static void test_2894_plans_of_nonsense_are_refused(void **state)
{
	struct estimate_cluster clusters[] = { { 0.5, 2, 0 }, { 0.5, 2, 0 } };
	struct estimate_point points[] = { { 0, 10 }, { 1, 10 } };
	struct estimate_plan plan = { clusters, 2, points, 2, 0 };
	struct err e = { "" };

	assert_true(estimate_check(&plan, &e));
	points[1].cluster = 2;
	assert_false(estimate_check(&plan, &e));
	points[1].cluster = 0;
	assert_false(estimate_check(&plan, &e)); /* cluster 1 has no point */
	points[1] = (struct estimate_point){ 1, 0 };
	assert_false(estimate_check(&plan, &e));
	points[1].insts = 5;
	clusters[1].weight = 0.6;
	assert_false(estimate_check(&plan, &e));
	clusters[1].weight = NAN;
	assert_false(estimate_check(&plan, &e));
	clusters[1] = (struct estimate_cluster){ 0.5, 0, 0 };
	assert_false(estimate_check(&plan, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2887_functions_are_those_of_the_library),
		cmocka_unit_test(test_2888_a_stratified_estimate_is_the_one_by_hand),
		cmocka_unit_test(test_2889_a_cluster_with_one_point_borrows_its_variance),
		cmocka_unit_test(test_2890_points_go_where_the_variance_falls_most),
		cmocka_unit_test(test_2891_matched_pairs_see_what_noise_would_hide),
		cmocka_unit_test(test_2892_the_interval_holds_the_truth),
		cmocka_unit_test(test_2893_systematic_samples_are_large_enough),
		cmocka_unit_test(test_2894_plans_of_nonsense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
