/* SPDX-License-Identifier: MIT */
/* Choosing points: projection, k-means, scores, thresholds, and the field's files. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sampling/kmeans.h"
#include "sampling/maths.h"
#include "util/digest.h"

static double uniform(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53 - 0.5;
}

static struct intervals intervals_new(size_t count, unsigned dims)
{
	struct intervals v = { .interval = 1000, .dims = dims, .count = count };

	v.rows = x_calloc(count * dims, sizeof(*v.rows));
	v.insts = x_malloc(count * sizeof(*v.insts));
	for (size_t i = 0; i < count; i++)
		v.insts[i] = 1000;
	return v;
}

/* Rows around `clusters` places, in turn; noise is how far they are from it. */
static struct intervals around(size_t count, unsigned dims, unsigned clusters, double noise,
			       uint64_t seed)
{
	struct intervals v = intervals_new(count, dims);
	double *places = x_malloc((size_t)clusters * dims * sizeof(*places));
	struct rng r;

	rng_seed(&r, seed);
	for (size_t i = 0; i < (size_t)clusters * dims; i++)
		places[i] = uniform(&r);
	for (size_t i = 0; i < count; i++)
		for (unsigned j = 0; j < dims; j++)
			v.rows[i * dims + j] =
			    places[i % clusters * dims + j] + noise * uniform(&r);
	free(places);
	return v;
}

static const struct choose_options usual = {
	.max_k = SAMPLING_MAX_K,
	.tries = SAMPLING_TRIES,
	.bic = SAMPLING_BIC,
	.seed = 1,
	.threads = 1,
};

static struct choice chosen(const struct intervals *v, const struct choose_options *o)
{
	struct choice c;
	struct err e = { "" };

	if (!choose(v, o, &c, &e))
		fail_msg("%s", e.text);
	return c;
}

static void test_2870_clusters_that_are_there_are_found(void **state)
{
	for (unsigned clusters = 1; clusters <= 12; clusters++) {
		struct intervals v = around(240, 15, clusters, 0.02, clusters);
		struct choose_options o = usual;

		for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
			o.exhaustive = exhaustive;
			struct choice c = chosen(&v, &o);

			assert_int_equal(c.clustering.k, clusters);
			assert_int_equal(c.count, clusters);
			for (size_t i = 0; i < v.count; i++)
				assert_int_equal(c.clustering.of[i], i % clusters);
			choice_free(&c);
		}
		intervals_free(&v);
	}
}

/* The least distortion of all partitions of the rows into at most k parts. */
static double brute_force(const struct intervals *v, unsigned k)
{
	unsigned of[16] = { 0 };
	double best = INFINITY;
	size_t at = 0;

	for (;;) {
		double total = 0;

		for (unsigned c = 0; c < k; c++) {
			double mean[4] = { 0 };
			unsigned size = 0;

			for (size_t i = 0; i < v->count; i++)
				for (unsigned j = 0; of[i] == c && j < v->dims; j++)
					mean[j] += v->rows[i * v->dims + j];
			for (size_t i = 0; i < v->count; i++)
				size += of[i] == c;
			for (unsigned j = 0; size && j < v->dims; j++)
				mean[j] /= size;
			for (size_t i = 0; i < v->count; i++)
				if (of[i] == c)
					total += row_distance(v->rows + i * v->dims, mean, v->dims);
		}
		best = fmin(best, total);
		/* The next number in base k. */
		for (at = 0; at < v->count && ++of[at] == k; at++)
			of[at] = 0;
		if (at == v->count)
			return best;
	}
}

static void test_2871_the_best_try_is_the_best_of_all_partitions(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		for (unsigned k = 1; k <= 4; k++) {
			struct intervals v = around(8, 2, 4, 0.8, seed);
			struct clusterings *c = clusterings_new(&v, 60, seed, 1);

			assert_true(fabs(clusterings_get(c, k)->distortion - brute_force(&v, k)) <
				    1e-12);
			clusterings_free(c);
			intervals_free(&v);
		}
	}
}

static void assert_same(const struct intervals *v, const struct clustering *a,
			const struct clustering *b)
{
	assert_int_equal(a->k, b->k);
	assert_memory_equal(&a->distortion, &b->distortion, sizeof(a->distortion));
	assert_memory_equal(a->of, b->of, v->count * sizeof(*a->of));
	assert_memory_equal(a->centres, b->centres, (size_t)a->k * v->dims * sizeof(*a->centres));
}

static void test_2872_bounds_do_not_change_a_bit(void **state)
{
	/* Count, columns, clusters, noise: apart, overlapping, nothing but noise, and few places. */
	static const struct {
		size_t count;
		unsigned dims, clusters;
		double noise;
	} shapes[] = { { 900, 15, 10, 0.1 }, { 700, 15, 30, 1 }, { 400, 3, 1, 1 },
		       { 300, 1, 5, 0.5 },   { 200, 15, 12, 0 }, { 300, 50, 6, 2 } };

	for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
		struct intervals v = around(shapes[s].count, shapes[s].dims, shapes[s].clusters,
					    shapes[s].noise, s + 1);

		/* Steps of a half: many distances are equal, so that ties decide. */
		for (size_t i = 0; s == 2 && i < v.count * v.dims; i++)
			v.rows[i] = floor(v.rows[i] * 8) / 2;
		for (unsigned k = 1; k <= 40; k += 3) {
			for (unsigned try = 0; try < 2; try++) {
				struct clustering a = { 0 }, b = { 0 };

				kmeans(&v, k, s, try, &a);
				kmeans_plain(&v, k, s, try, &b);
				assert_same(&v, &a, &b);
				clustering_free(&a);
				clustering_free(&b);
			}
		}
		intervals_free(&v);
	}
}

static void test_2873_scores_are_those_computed_by_hand(void **state)
{
	struct intervals v = intervals_new(4, 1);
	struct clusterings *c;

	memcpy(v.rows, (double[]){ 0, 2, 10, 12 }, 4 * sizeof(double));
	c = clusterings_new(&v, 20, 1, 1);
	/* k = 1: distortion 104, variance 104/3, 2 parameters.
	 * -2 log 2pi - 2 log(104/3) - 3/2 - log 4 */
	assert_true(fabs(clusterings_get(c, 1)->bic - -13.653605714885106) < 1e-12);
	/* k = 2: distortion 4, variance 2, 4 parameters.
	 * 4 log(1/2) - 2 log 2pi - 2 log 2 - 1 - 2 log 4 */
	assert_true(fabs(clusterings_get(c, 2)->distortion - 4) < 1e-12);
	assert_true(fabs(clusterings_get(c, 2)->bic - -11.607225938418145) < 1e-12);
	clusterings_free(c);
	intervals_free(&v);
}

static void test_2874_one_vector_is_one_point_of_weight_one(void **state)
{
	struct intervals v = around(1, 15, 1, 1, 1);
	struct choice c = chosen(&v, &usual);

	assert_int_equal(c.count, 1);
	assert_int_equal(c.points[0].interval, 0);
	assert_true(c.points[0].weight == 1);
	assert_true(isfinite(c.tried[0].bic));
	choice_free(&c);
	intervals_free(&v);
}

static void test_2875_equal_vectors_are_one_cluster(void **state)
{
	struct intervals v = around(100, 15, 1, 0, 1);
	struct choose_options o = usual;

	for (int way = 0; way < 4; way++) {
		o.exhaustive = way & 1;
		o.of_best = way & 2;
		struct choice c = chosen(&v, &o);

		assert_int_equal(c.count, 1);
		assert_int_equal(c.points[0].interval, 0);
		assert_true(c.clustering.distortion < 1e-20);
		choice_free(&c);
	}
	/* Those that rounding alone has made different, too. */
	for (size_t i = 0; i < v.count * v.dims; i++)
		v.rows[i] *= 1 + (double)(i % 7) * 0x1p-52;
	struct clusterings *all = clusterings_new(&v, 5, 1, 1);

	for (unsigned k = 1; k <= 100; k += 11)
		assert_int_equal(clusterings_get(all, k)->k, 1);
	clusterings_free(all);
	intervals_free(&v);
}

static void test_2876_fewer_vectors_than_k_give_fewer_clusters(void **state)
{
	struct intervals five = around(5, 15, 5, 0, 3), kinds = around(60, 15, 3, 0, 4);
	struct choose_options o = usual;
	struct clusterings *c = clusterings_new(&kinds, 5, 1, 1);

	o.exhaustive = true;
	o.bic = 1;
	struct choice few = chosen(&five, &o);

	assert_int_equal(few.ntried, 5);
	assert_true(few.count <= 5);
	/* 60 rows, but three different ones. */
	for (unsigned k = 3; k <= 60; k += 19) {
		assert_int_equal(clusterings_get(c, k)->k, 3);
		assert_true(clusterings_get(c, k)->distortion < 1e-20);
	}
	clusterings_free(c);
	choice_free(&few);
	intervals_free(&five);
	intervals_free(&kinds);
}

static void test_2877_with_k_1_the_centre_is_the_mean(void **state)
{
	struct intervals v = around(101, 4, 7, 1, 5);
	struct choose_options o = usual;

	o.max_k = 1;
	struct choice c = chosen(&v, &o);

	assert_int_equal(c.count, 1);
	for (unsigned j = 0; j < v.dims; j++) {
		double sum = 0;

		for (size_t i = 0; i < v.count; i++)
			sum += v.rows[i * v.dims + j];
		assert_true(c.clustering.centres[j] == sum / 101);
	}
	for (size_t i = 0; i < v.count; i++)
		assert_true(row_distance(v.rows + i * v.dims, c.clustering.centres, v.dims) >=
			    row_distance(v.rows + c.points[0].interval * v.dims,
					 c.clustering.centres, v.dims));
	choice_free(&c);
	intervals_free(&v);
}

/* Everything that a choice says, as a digest. */
static void choice_digest(const struct intervals *v, const struct choice *c, char *hex)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < c->ntried; i++)
		fprintf(f, "%u %a\n", c->tried[i].k, c->tried[i].bic);
	for (size_t i = 0; i < c->count; i++)
		fprintf(f, "%zu %u %a\n", c->points[i].interval, c->points[i].cluster,
			c->points[i].weight);
	for (size_t i = 0; i < (size_t)c->clustering.k * v->dims; i++)
		fprintf(f, "%a\n", c->clustering.centres[i]);
	for (size_t i = 0; i < v->count; i++)
		fprintf(f, "%u\n", c->clustering.of[i]);
	fclose(f);
	struct digest d;

	digest_init(&d);
	digest_add(&d, text, size);
	digest_hex(&d, hex);
	free(text);
}

static void test_2878_threads_and_hosts_do_not_change_a_bit(void **state)
{
	static const char *const expected[] = {
		"09be2478763f62d217e131f0a8446b41490242eaa3e8696368001376121d6b5f",
		"d9ee2344282410ed5d09723fe9ada7a09932b2a96db0ac1f2233cda11b99f1c6",
	};
	struct intervals v = around(500, 15, 9, 0.7, 8);

	for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
		for (unsigned threads = 1; threads <= 8; threads++) {
			struct choose_options o = usual;
			char hex[DIGEST_HEX];

			o.threads = threads;
			o.exhaustive = exhaustive;
			struct choice c = chosen(&v, &o);

			choice_digest(&v, &c, hex);
			assert_string_equal(hex, expected[exhaustive]);
			choice_free(&c);
		}
	}
	intervals_free(&v);
}

static void test_2879_a_clustering_does_not_depend_on_the_largest_k(void **state)
{
	struct intervals v = around(400, 15, 9, 1, 8);
	struct clusterings *one = clusterings_new(&v, 3, 7, 1), *all = clusterings_new(&v, 3, 7, 2);

	clusterings_fill(all, 30);
	for (unsigned k = 1; k <= 30; k += 4) {
		assert_same(&v, clusterings_get(one, k), clusterings_get(all, k));
		assert_true(clusterings_get(one, k)->bic == clusterings_get(all, k)->bic);
		/* It was computed once. */
		assert_ptr_equal(clusterings_get(all, k)->of, clusterings_get(all, k)->of);
	}
	clusterings_free(one);
	clusterings_free(all);
	intervals_free(&v);
}

static void test_2880_weights_are_shares_of_instructions(void **state)
{
	struct intervals v = intervals_new(5, 1);
	struct choose_options o = usual;

	memcpy(v.rows, (double[]){ 0, 5, 0.1, 5, 0.2 }, 5 * sizeof(double));
	v.insts[4] = 100; /* the last one is shorter */
	o.max_k = 2;
	o.bic = 1;
	struct choice c = chosen(&v, &o);

	assert_int_equal(c.count, 2);
	/* 5 and 5 are equally close to their centre: the first counts. 0.1 is in the middle. */
	assert_int_equal(c.points[0].interval, 1);
	assert_int_equal(c.points[1].interval, 2);
	assert_int_equal(c.points[0].cluster, 1);
	assert_int_equal(c.points[1].cluster, 0);
	assert_true(c.points[0].weight == 2000.0 / 4100);
	assert_true(c.points[1].weight == 2100.0 / 4100);
	choice_free(&c);
	intervals_free(&v);
}

static void test_2881_thresholds_choose_as_the_paper_says(void **state)
{
	/* tracedoctor2023, section 6.1: at 0.5 it is k = 3, at 0.9 it is 5. */
	const struct choice_try paper[] = {
		{ 1, 100 }, { 2, 200 }, { 3, 300 }, { 4, 400 }, { 5, 500 }
	};
	const struct choice_try negative[] = { { 1, -500 }, { 2, -200 }, { 3, -110 }, { 4, -100 } };

	assert_int_equal(choose_k(paper, 5, 0.5, true), 3);
	assert_int_equal(choose_k(paper, 5, 0.9, true), 5);
	/* In the span 300 is the middle. */
	assert_int_equal(choose_k(paper, 5, 0.5, false), 3);
	assert_int_equal(choose_k(paper, 5, 0.51, false), 4);
	assert_int_equal(choose_k(paper, 5, 0, false), 1);
	assert_int_equal(choose_k(paper, 5, 1, false), 5);
	/* Below zero the worst score divided by the best is the largest. */
	assert_int_equal(choose_k(negative, 4, 0.9, true), 1);
	assert_int_equal(choose_k(negative, 4, 0.9, false), 3);
}

static void test_2882_a_choice_of_nonsense_is_refused(void **state)
{
	struct intervals v = around(4, 2, 2, 1, 1), none = { .dims = 2 };
	struct choose_options o = usual;
	struct choice c;
	struct err e = { "" };

	assert_false(choose(&none, &o, &c, &e));
	v.rows[3] = NAN;
	assert_false(choose(&v, &o, &c, &e));
	assert_non_null(strstr(e.text, "interval 1"));
	v.rows[3] = 0;
	o.bic = 1.5;
	assert_false(choose(&v, &o, &c, &e));
	o.bic = 0.9;
	v.insts[0] = v.insts[1] = UINT64_MAX;
	assert_false(choose(&v, &o, &c, &e));
	memset(v.insts, 0, 4 * sizeof(*v.insts));
	assert_false(choose(&v, &o, &c, &e));
	intervals_free(&v);
}

static void test_2883_projection_keeps_distances(void **state)
{
	enum { BLOCKS = 40, WIDE = 1000, NARROW = 15 };
	double a[WIDE] = { 0 }, b[WIDE] = { 0 }, few[NARROW] = { 0 }, exact = 0, sum = 0, sum2 = 0;

	for (unsigned i = 1; i <= BLOCKS; i++) {
		const double x = i / 820.0, y = (BLOCKS + 1 - i) / 820.0;

		project_add(a, WIDE, 42, i, x);
		project_add(b, WIDE, 42, i, y);
		project_add(few, NARROW, 42, i, x);
		exact += (x - y) * (x - y);
	}
	/* A coefficient is uniform in [-1, 1): its square is 1/3 in the mean. */
	assert_true(fabs(row_distance(a, b, WIDE) * 3 / WIDE / exact - 1) < 0.15);
	/* Few columns are the first of many. */
	assert_memory_equal(a, few, sizeof(few));
	for (uint64_t i = 1; i <= 20000; i++) {
		double one = 0;

		project_add(&one, 1, 7, i, 1);
		assert_true(one >= -1 && one < 1);
		sum += one;
		sum2 += one * one;
	}
	assert_true(fabs(sum / 20000) < 0.02 && fabs(sum2 / 20000 - 1.0 / 3) < 0.01);
}

static char *in_folder(const char *name)
{
	return x_asprintf("%s/culprit-points-%d-%s", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
			  (int)getpid(), name);
}

static void put(const char *path, const char *text, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	fclose(f);
}

static void test_2884_points_are_read_as_they_were_written(void **state)
{
	const struct point points[] = { { 3, 1, 1.0 / 3 }, { 17, 0, 0.5 }, { 400, 2, 1.0 / 6 } };
	char *stem = in_folder("a"), *s = x_asprintf("%s.simpoints", stem),
	     *w = x_asprintf("%s.weights", stem);
	struct point *read;
	struct err e = { "" };
	size_t count;

	for (int again = 0; again < 2; again++)
		if (!points_write(stem, points, 3, &e))
			fail_msg("%s", e.text);
	if (!points_read(s, w, 401, &read, &count, &e))
		fail_msg("%s", e.text);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(read[i].interval, points[i].interval);
		assert_int_equal(read[i].cluster, points[i].cluster);
		assert_true(fabs(read[i].weight - points[i].weight) < 1e-11);
	}
	free(read);
	assert_false(points_read(s, w, 400, &read, &count, &e));
	assert_non_null(strstr(e.text, "interval 400 is beyond the end"));
	unlink(s);
	unlink(w);
	free(stem);
	free(s);
	free(w);
}

static void test_2885_bad_files_of_points_get_one_message(void **state)
{
#define TEXT(s) s, sizeof(s) - 1
	static const struct {
		const char *points;
		size_t npoints;
		const char *weights;
		size_t nweights;
		const char *message; /* NULL: it is good */
	} cases[] = {
		{ TEXT("0 0\n5 1\n"), TEXT("0.25 0\n0.75 1\n"), NULL },
		{ TEXT("0 0\r\n5 1"), TEXT("2.5e-1\t0\n7.5e-1 1"), NULL },
		{ TEXT("0 0\n5 1\n"), TEXT("0.3333 0\n0.6666 1\n"), NULL },
		{ TEXT(""), TEXT(""), "has no points" },
		{ TEXT("0 0\n5 1\n"), TEXT("1 0\n"), "more points than" },
		{ TEXT("0 0\n"), TEXT("0.5 0\n0.5 1\n"), "fewer points than" },
		{ TEXT("0 0\n5 1\n"), TEXT("0.25 0\n0.7 1\n"), "add up to 0.95" },
		{ TEXT("0 0\n5 1\n"), TEXT("0.25 0\n0.75 2\n"), "cluster 1" },
		{ TEXT("5 0\n5 1\n"), TEXT("0.25 0\n0.75 1\n"), "twice" },
		{ TEXT("0 0\n99 1\n"), TEXT("0.25 0\n0.75 1\n"), "beyond the end" },
		{ TEXT("0 0\n99999999999999999999999 1\n"), TEXT("0.25 0\n0.75 1\n"), "line 2" },
		{ TEXT("0 0\n-5 1\n"), TEXT("0.25 0\n0.75 1\n"), "line 2" },
		{ TEXT("0 0\n5\n"), TEXT("0.25 0\n0.75 1\n"), "line 2" },
		{ TEXT("0 0\n5 1 2\n"), TEXT("0.25 0\n0.75 1\n"), "line 2" },
		{ TEXT("0 0\n\n"), TEXT("0.25 0\n\n"), "line 2" },
		{ TEXT("0 0\n5 4294967295\n"), TEXT("0.25 0\n0.75 4294967295\n"), "line 2" },
		{ TEXT("0 0\n5 1\n"), TEXT("nan 0\n0.75 1\n"), "line 1" },
		{ TEXT("0 0\n5 1\n"), TEXT("0x1p-2 0\n0.75 1\n"), "line 1" },
		{ TEXT("0 0\n5 1\n"), TEXT("-0.25 0\n1.25 1\n"), "line 1" },
		{ TEXT("0 0\n5 1\n"), TEXT("e 0\n0.75 1\n"), "line 1" },
		{ TEXT("\0\1\2\3"), TEXT("1 0\n"), "line 1" },
		{ TEXT("0 0                                                                       "
		       "                                                                   \n"),
		  TEXT("1 0\n"), "line 1" },
	};
	char *s = in_folder("b.simpoints"), *w = in_folder("b.weights");

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct point *points;
		struct err e = { "" };
		size_t count;

		put(s, cases[i].points, cases[i].npoints);
		put(w, cases[i].weights, cases[i].nweights);
		const bool ok = points_read(s, w, 50, &points, &count, &e);

		if (ok != !cases[i].message)
			fail_msg("case %zu: %s", i, e.text);
		if (ok)
			assert_true(fabs(points[0].weight + points[1].weight - 1) < 1e-9);
		else if (!strstr(e.text, cases[i].message) || strchr(e.text, '\n'))
			fail_msg("case %zu: %s", i, e.text);
		free(points);
	}
	unlink(s);
	unlink(w);
	struct point *points;
	struct err e = { "" };
	size_t count;

	assert_false(points_read(s, w, 0, &points, &count, &e));
	assert_non_null(strstr(e.text, "cannot open"));
	free(s);
	free(w);
}

static void test_2886_an_empty_cluster_gets_the_farthest_row(void **state)
{
	/* Of many random sets of few rows some lose a cluster on the way; none stays empty. */
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct intervals v = around(24, 1 + seed % 3, 3, 0.4, seed);

		for (unsigned k = 2; k <= 24; k += 2) {
			struct clustering c = { 0 };
			uint64_t sizes[24];

			kmeans(&v, k, seed, 0, &c);
			assert_int_equal(c.k, k);
			clustering_sizes(&v, &c, sizes);
			for (unsigned i = 0; i < k; i++)
				assert_true(sizes[i] > 0);
			clustering_free(&c);
		}
		intervals_free(&v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2870_clusters_that_are_there_are_found),
		cmocka_unit_test(test_2871_the_best_try_is_the_best_of_all_partitions),
		cmocka_unit_test(test_2872_bounds_do_not_change_a_bit),
		cmocka_unit_test(test_2873_scores_are_those_computed_by_hand),
		cmocka_unit_test(test_2874_one_vector_is_one_point_of_weight_one),
		cmocka_unit_test(test_2875_equal_vectors_are_one_cluster),
		cmocka_unit_test(test_2876_fewer_vectors_than_k_give_fewer_clusters),
		cmocka_unit_test(test_2877_with_k_1_the_centre_is_the_mean),
		cmocka_unit_test(test_2878_threads_and_hosts_do_not_change_a_bit),
		cmocka_unit_test(test_2879_a_clustering_does_not_depend_on_the_largest_k),
		cmocka_unit_test(test_2880_weights_are_shares_of_instructions),
		cmocka_unit_test(test_2881_thresholds_choose_as_the_paper_says),
		cmocka_unit_test(test_2882_a_choice_of_nonsense_is_refused),
		cmocka_unit_test(test_2883_projection_keeps_distances),
		cmocka_unit_test(test_2884_points_are_read_as_they_were_written),
		cmocka_unit_test(test_2885_bad_files_of_points_get_one_message),
		cmocka_unit_test(test_2886_an_empty_cluster_gets_the_farthest_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
