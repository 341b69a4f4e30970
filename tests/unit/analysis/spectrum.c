/* SPDX-License-Identifier: MIT */
/*
 * 1120 to 1149: clusters of misses, their costs and the theory, on records written by hand and at
 * random. A stream is when each instruction was dispatched and committed on both machines, and the
 * misses; instruction numbers count from 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spectrum/spectrum.h"

static const struct trace_meta puzak = {
	.commit_width = 4, .rob_entries = 4, .l1d_latency = 2, .l2_latency = 17, .mem_latency = 102
};

struct stream {
	struct trace_meta meta;
	const struct stamp *stamps;
	size_t nstamps;
	struct rec_miss *misses;
	size_t nmisses;
	uint64_t first_po; /* 0: 1 */
	uint64_t cycles;   /* 0: to the last commit */
	const char *kinds; /* NULL: all */
};

/* Orders misses by their end, as a core delivers them. */
static int by_end(const void *a, const void *b)
{
	const struct rec_miss *x = a, *y = b;
	if (miss_end(x) != miss_end(y))
		return miss_end(x) < miss_end(y) ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static void deliver_by_end(struct rec_miss *m, size_t n)
{
	uint64_t *least = x_malloc((n + 1) * sizeof(*least)); /* earliest begin among later ones */
	qsort(m, n, sizeof(*m), by_end);
	least[n] = UINT64_MAX;
	for (size_t i = n; i-- > 0;)
		least[i] = min_u64(least[i + 1], m[i].begin);
	for (size_t i = 0; i < n; i++)
		m[i].oldest =
		    least[i + 1] < miss_end(&m[i]) ? (uint32_t)(miss_end(&m[i]) - least[i + 1]) : 0;
	free(least);
}

static struct spectrum *spectrum_new(const struct trace_meta *meta, const char *kinds)
{
	struct spectrum *s = x_calloc(1, sizeof(*s));
	const char *params[] = { kinds, NULL };
	struct err e = { "" };
	assert_true(spectrum_analysis.start(
	    s, meta, &(struct analysis_options){ .params = kinds ? params : NULL }, &e));
	return s;
}

static void spectrum_done(struct spectrum *s)
{
	spectrum_analysis.free(s);
	free(s);
}

/* Feeds cycles [from, to) in batches of `batch` cycles, with the instructions and misses that leave
 * in them. */
static void feed(struct spectrum *s, const struct stream *t, uint64_t from, uint64_t to,
		 uint64_t batch, size_t *inst, size_t *miss)
{
	const uint64_t first = t->first_po ? t->first_po : 1;
	struct err e = { "" };
	for (uint64_t c = from; c < to; c += batch) {
		const uint64_t end = min_u64(c + batch, to);
		struct rec_cycle cycle = { .cycle = c, .repeat = (uint32_t)(end - c) };
		size_t ninsts = 0, nmisses = 0;
		while (*inst + ninsts < t->nstamps && t->stamps[*inst + ninsts].commit < end)
			ninsts++;
		while (*miss + nmisses < t->nmisses && miss_end(&t->misses[*miss + nmisses]) < end)
			nmisses++;
		struct rec_inst *insts = x_calloc(ninsts + 1, sizeof(*insts));
		struct rec_twin *twins = x_calloc(ninsts + 1, sizeof(*twins));
		for (size_t i = 0; i < ninsts; i++) {
			const struct stamp *st = &t->stamps[*inst + i];
			insts[i] =
			    (struct rec_inst){ .po = first + *inst + i,
					       .fetch = st->dispatch,
					       .flags = RI_COMMITTED,
					       .commit = (uint32_t)(st->commit - st->dispatch) };
			twins[i] = (struct rec_twin){ .po = insts[i].po,
						      .dispatch = st->twin_dispatch,
						      .commit = (uint32_t)(st->twin_commit -
									   st->twin_dispatch) };
		}
		assert_true(spectrum_analysis.misses(s, t->misses + *miss, nmisses, &e));
		assert_true(spectrum_analysis.twins(s, twins, ninsts, &e));
		assert_true(spectrum_analysis.batch(s, insts, ninsts, &cycle, 1, &e));
		*inst += ninsts;
		*miss += nmisses;
		free(insts);
		free(twins);
	}
}

static struct spectrum *run(const struct stream *t, uint64_t batch)
{
	struct spectrum *s = spectrum_new(&t->meta, t->kinds);
	const uint64_t cycles = t->cycles ? t->cycles : t->stamps[t->nstamps - 1].commit + 1;
	size_t inst = 0, miss = 0;
	struct err e = { "" };
	feed(s, t, 0, cycles, batch, &inst, &miss);
	assert_true(spectrum_analysis.misses(s, t->misses + miss, t->nmisses - miss, &e));
	assert_true(spectrum_analysis.finish(s, NULL, &e));
	return s;
}

static void law(const struct spectrum *s)
{
	for (unsigned k = 0; k < CLUSTERINGS; k++) {
		const struct clusters *c = &s->clusters[k];
		assert_int_equal(c->net + c->drift + c->head + c->tail, c->adder);
	}
}

static struct rec_miss miss(uint64_t seq, uint64_t po, uint64_t begin, uint32_t end,
			    enum mem_level level)
{
	return (struct rec_miss){ .begin = begin,
				  .end = end,
				  .po = po,
				  .seq = seq,
				  .pc = 0x1000 + 4 * po,
				  .use = STAMP_NONE,
				  .kind = MISS_LOAD,
				  .level = level };
}

/* Returns how many clusters of a size have that cost. */
static uint64_t count_of(const struct clusters *c, enum spectrum_measure measure, unsigned size,
			 int64_t cost)
{
	struct tally_entry *bins = tally_sorted(&c->bins);
	uint64_t n = 0;
	for (size_t i = 0; i < c->bins.used; i++) {
		const struct bin_parts b = bin_parts(bins[i].key);
		if (b.measure == measure && b.size == size && bin_cycles(b.bin) == cost)
			n += bins[i].count;
	}
	free(bins);
	return n;
}

/* ---- the paper's examples ---- */

static void test_1120_equation_4_gives_12_cycles_per_miss(void **state)
{
	/* A million instructions take a million cycles; one in 40 misses and costs 12 more. */
	enum { INSTS = 1000000, MISSES = 25000 };
	struct stamp *st = x_calloc(INSTS, sizeof(*st));
	struct rec_miss *m = x_calloc(MISSES, sizeof(*m));
	for (uint64_t i = 0; i < INSTS; i++) {
		const uint64_t late = 12 * ((i + 20) / 40);
		st[i] = (struct stamp){ i + late, i + late + 2, i, i + 2 };
		if ((i + 20) % 40 == 0) {
			const uint64_t k = (i + 20) / 40 - 1;
			st[i].dispatch -= 12;
			m[k] = miss(i + 1, i + 1, st[i].dispatch + 1, 14, LEVEL_L2);
		}
	}
	struct stream t = {
		.meta = puzak, .stamps = st, .nstamps = INSTS, .misses = m, .nmisses = MISSES
	};
	t.meta.l2_latency = 22;
	deliver_by_end(m, MISSES);
	struct spectrum *s = run(&t, 5000);
	const struct clusters *c = &s->clusters[CLUSTERS_ALL];
	law(s);
	assert_int_equal(c->adder, 300000);
	assert_int_equal(c->misses, MISSES);
	assert_int_equal(c->clusters, MISSES);
	assert_int_equal(c->adder / (int64_t)c->misses, 12);
	assert_int_equal(c->net, 300000);
	assert_int_equal(count_of(c, MEASURE_NET, 1, 12), MISSES);
	assert_int_equal(count_of(c, MEASURE_COST, 1, 12), MISSES);
	spectrum_done(s);
	free(st);
	free(m);
}

static void test_1121_figure_1_has_clusters_of_3_and_1(void **state)
{
	const struct stamp st[] = {
		{ 10, 14, 10, 14 }, /* I1: the infimum */
		{ 14, 34, 12, 16 }, /* I2 */
		{ 16, 60, 14, 18 }, /* I3: the supremum */
		{ 62, 66, 17, 20 }, /* I4: the infimum of the second */
		{ 64, 85, 18, 23 }, /* I5: its supremum */
		{ 90, 94, 22, 26 }, { 91, 95, 23, 27 }, { 92, 96, 24, 28 }, { 93, 97, 25, 29 },
	};
	struct rec_miss m[] = { miss(1, 1, 12, 15, LEVEL_L2), miss(2, 2, 20, 13, LEVEL_L2),
				miss(3, 3, 25, 35, LEVEL_MEM), miss(5, 5, 64, 20, LEVEL_L2) };
	struct stream t = { puzak, st, ARRAY_LEN(st), m, ARRAY_LEN(m), 0, 0, NULL };
	deliver_by_end(m, ARRAY_LEN(m));
	struct spectrum *s = run(&t, 7);
	const struct clusters *c = &s->clusters[CLUSTERS_ALL];
	law(s);
	assert_int_equal(c->clusters, 2);
	assert_int_equal(c->sizes[3].clusters, 1);
	assert_int_equal(c->sizes[1].clusters, 1);
	assert_int_equal(c->sizes[3].cost, (60 - 10) - (18 - 10));
	assert_int_equal(c->sizes[1].cost, (85 - 62) - (23 - 17));
	assert_int_equal(c->misses, 4);
	spectrum_done(s);
}

static double three(double x)
{
	return round(1000 * x) / 1000;
}

static const struct theory oltp = { .nlevels = 2,
				    .p = { .49, .51 },
				    .a = .73,
				    .latency = { 15, 100 },
				    .overlap = { { .45, .34 }, { .62, .35 } } };

static void test_1122_tables_1_and_2_follow_from_p_and_a(void **state)
{
	static const double two[] = { .308, .182, .182, .328 };
	static const double table2[] = { .193, .115, .065, .117, .115, .068, .117, .210 };
	uint8_t levels[3];
	for (size_t i = 0; i < 4; i++) {
		theory_levels(2, 2, i, levels);
		assert_true(three(theory_pattern(&oltp, levels, 2)) == two[i]);
	}
	for (size_t i = 0; i < 8; i++) {
		theory_levels(2, 3, i, levels);
		assert_true(three(theory_pattern(&oltp, levels, 3)) == table2[i]);
	}
}

static void test_1123_figure_3_follows_from_figure_8(void **state)
{
	static const double pairs[] = { .306, .188, .175, .331 };
	static const struct theory_cost figure[] = {
		{ 15, .138 }, { 30, .168 }, { 100, .288 }, { 115, .191 }, { 200, .215 }
	};
	double area[201] = { 0 };
	for (size_t i = 0; i < 4; i++) {
		struct theory_cost tree[1 << (SPECTRUM_SIZES - 1)];
		uint8_t levels[2];
		theory_levels(2, 2, i, levels);
		const size_t n = theory_tree(&oltp, levels, 2, tree);
		for (size_t k = 0; k < n; k++)
			area[tree[k].cycles] += pairs[i] * tree[k].share;
	}
	for (size_t i = 0; i < ARRAY_LEN(figure); i++)
		assert_true(three(area[figure[i].cycles]) == figure[i].share);
}

static void test_1124_figure_13_s_trees(void **state)
{
	static const uint8_t hhh[] = { 0, 0, 0 }, mmh[] = { 1, 1, 0 };
	static const struct theory_cost three_hits[] = { { 15, .2025 },
							 { 30, .495 },
							 { 45, .3025 } };
	static const struct theory_cost mixed[] = {
		{ 100, .35 * .62 }, { 115, .35 * .38 }, { 200, .65 * .62 }, { 215, .65 * .38 }
	};
	struct theory_cost tree[1 << (SPECTRUM_SIZES - 1)];
	assert_int_equal(theory_tree(&oltp, hhh, 3, tree), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(tree[i].cycles, three_hits[i].cycles);
		assert_true(fabs(tree[i].share - three_hits[i].share) < 1e-12);
	}
	assert_int_equal(theory_tree(&oltp, mmh, 3, tree), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(tree[i].cycles, mixed[i].cycles);
		assert_true(fabs(tree[i].share - mixed[i].share) < 1e-12);
	}
}

static void test_1125_equation_5_counts_the_sums(void **state)
{
	static const uint32_t two[] = { 15, 100 }, four[] = { 15, 75, 300 };
	static const struct {
		const uint32_t *latency;
		unsigned levels, size;
		size_t sums;
	} cases[] = { { two, 2, 1, 3 },	  { two, 2, 2, 6 },   { two, 2, 3, 10 },
		      { four, 3, 4, 35 }, { four, 3, 5, 56 }, { four, 3, 6, 84 } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t n;
		struct theory_sum *sums =
		    theory_sums(cases[i].latency, cases[i].levels, cases[i].size, &n);
		assert_int_equal(n, cases[i].sums);
		for (size_t k = 1; k < n; k++)
			assert_true(sums[k - 1].cycles <= sums[k].cycles);
		free(sums);
	}
	size_t n;
	char name[32];
	struct theory_sum *sums = theory_sums(two, 2, 2, &n);
	assert_int_equal(theory_nearest(sums, n, 112), 4);
	theory_sum_name(&sums[4], two, 2, name, sizeof(name));
	assert_string_equal(name, "100+15");
	assert_int_equal(theory_nearest(sums, n, -20), 0);
	theory_sum_name(&sums[0], two, 2, name, sizeof(name));
	assert_string_equal(name, "0");
	assert_int_equal(theory_nearest(sums, n, 5000), 5);
	free(sums);
}

/* ---- the fit ---- */

static double squares(const double *p, unsigned n, const double *pairs, double a)
{
	struct theory t = { .nlevels = n, .a = a };
	double sum = 0;
	memcpy(t.p, p, n * sizeof(*p));
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++) {
			const uint8_t levels[] = { (uint8_t)i, (uint8_t)j };
			sum += pow(pairs[i * n + j] - theory_pattern(&t, levels, 2), 2);
		}
	return sum;
}

static void test_1126_the_fit_has_the_least_squares(void **state)
{
	/* two levels: (HM + MH) / (2p(1 - p)) */
	const double p[] = { .49, .51 }, table1[] = { .306, .175, .188, .331 };
	double a;
	assert_true(theory_fit(p, 2, table1, &a));
	assert_true(fabs(a - (.175 + .188) / (2 * .49 * .51)) < 1e-12);
	assert_true(round(100 * a) == 73);
	struct rng rng;
	rng_seed(&rng, 5);
	for (int i = 0; i < 500; i++) {
		const unsigned n = 2 + (unsigned)rng_below(&rng, 2);
		double q[3], pairs[9], sum = 0, all = 0;
		for (unsigned k = 0; k < n; k++)
			sum += q[k] = 1 + (double)rng_below(&rng, 100);
		for (unsigned k = 0; k < n; k++)
			q[k] /= sum;
		for (unsigned k = 0; k < n * n; k++)
			all += pairs[k] = (double)rng_below(&rng, 100);
		for (unsigned k = 0; k < n * n; k++)
			pairs[k] /= all + 1e-9;
		assert_true(theory_fit(q, n, pairs, &a));
		const double least = squares(q, n, pairs, a);
		for (double d = 1e-4; d < 2; d *= 3) {
			assert_true(squares(q, n, pairs, a + d) >= least);
			assert_true(squares(q, n, pairs, a - d) >= least);
		}
	}
	/* neighbours that always differ differ more often than by chance, and the table shows it */
	const double half[] = { .5, .5 }, differ[] = { 0, .5, .5, 0 };
	assert_true(theory_fit(half, 2, differ, &a));
	assert_true(fabs(a - 2) < 1e-12);
	const double one[] = { 1, 0 }, same[] = { 1, 0, 0, 0 };
	assert_false(theory_fit(one, 2, same, &a));
}

static void test_1127_shares_of_patterns_add_up_and_ks_is_the_largest_gap(void **state)
{
	const struct theory t = { .nlevels = 3, .p = { .5, .3, .2 }, .a = .6 };
	for (unsigned size = 1; size <= SPECTRUM_SIZES; size++) {
		double sum = 0;
		for (size_t i = 0; i < theory_patterns(3, size); i++) {
			uint8_t levels[SPECTRUM_SIZES];
			theory_levels(3, size, i, levels);
			sum += theory_pattern(&t, levels, size);
		}
		assert_true(fabs(sum - 1) < 1e-12);
	}
	const double a[] = { .1, .2, .3, .4 }, b[] = { .25, .25, .25, .25 };
	assert_true(fabs(theory_ks(a, b, 4) - .2) < 1e-12);
	assert_true(theory_ks(a, a, 4) == 0);
}

/* ---- clusters by hand ---- */

/* Makes a run that dispatches an instruction every `step` cycles; its twin dispatches one a
 * cycle. */
static void fill(struct stamp *st, size_t n, uint64_t step)
{
	for (size_t i = 0; i < n; i++)
		st[i] = (struct stamp){ 10 + step * i, 12 + step * i, 10 + i, 12 + i };
}

static void test_1128_intervals_that_touch_are_one_cluster(void **state)
{
	struct stamp st[40];
	fill(st, ARRAY_LEN(st), 10);
	for (uint64_t gap = 0; gap < 30; gap++) {
		struct rec_miss m[] = { miss(1, 3, 35, 15, LEVEL_L2),
					miss(2, 5, 50 + gap, 15, LEVEL_L2) };
		struct stream t = { puzak, st, ARRAY_LEN(st), m, 2, 0, 0, NULL };
		deliver_by_end(m, 2);
		struct spectrum *s = run(&t, 9);
		const struct clusters *c = &s->clusters[CLUSTERS_ALL];
		law(s);
		/* The supremum, instruction 5, commits in cycle 52. The next infimum is a later
		 * instruction if 6, dispatched in cycle 60, was dispatched before the miss
		 * began. */
		assert_int_equal(c->clusters, 50 + gap > 60 ? 2 : 1);
		assert_int_equal(c->misses, 2);
		assert_int_equal(c->merged, gap > 0 && gap <= 10 ? 1 : 0);
		spectrum_done(s);
	}
}

static void test_1129_infimum_is_before_the_begin_supremum_not_before_the_end(void **state)
{
	struct stamp st[30];
	fill(st, ARRAY_LEN(st), 10);
	/* Instruction 4 is dispatched in cycle 40, 3 in 30; 6 commits in cycle 62, 7 in 72. */
	static const struct {
		uint64_t begin, end, from, to;
	} cases[] = { { 40, 62, 3, 6 }, { 41, 62, 4, 6 }, { 40, 63, 3, 7 }, { 41, 72, 4, 7 } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_miss m = miss(1, 4, cases[i].begin,
					 (uint32_t)(cases[i].end - cases[i].begin), LEVEL_MEM);
		struct stream t = { puzak, st, ARRAY_LEN(st), &m, 1, 0, 0, NULL };
		deliver_by_end(&m, 1);
		struct spectrum *s = run(&t, 11);
		const int64_t n = (int64_t)(cases[i].to - cases[i].from);
		assert_int_equal(s->clusters[0].cost, (10 * n + 2) - (n + 2));
		law(s);
		spectrum_done(s);
	}
}

static void test_1130_out_of_order_the_supremum_may_be_older(void **state)
{
	/* A load blocks the head of a full window: the youngest is dispatched long before the load
	 * commits. */
	struct stamp st[20];
	for (size_t i = 0; i < ARRAY_LEN(st); i++) {
		const uint64_t late = i < 2 ? 0 : 100;
		st[i] =
		    (struct stamp){ 10 + i + (i >= 6 ? late : 0), 14 + i + late, 10 + i, 14 + i };
	}
	struct rec_miss m = miss(1, 3, 17, 98, LEVEL_MEM);
	struct stream t = { puzak, st, ARRAY_LEN(st), &m, 1, 0, 0, NULL };
	deliver_by_end(&m, 1);
	struct spectrum *s = run(&t, 16);
	const struct clusters *c = &s->clusters[CLUSTERS_ALL];
	/* infimum: instruction 6, dispatched in 15; supremum: 3, commits in 116, on the twin in 16 */
	assert_int_equal(c->clusters, 1);
	assert_int_equal(c->cost, (116 - 15) - (16 - 15));
	assert_int_equal(c->net, 100);
	assert_int_equal(c->drift, 0);
	law(s);
	spectrum_done(s);
}

static void test_1131_clusters_merge_in_chains(void **state)
{
	/* No instruction is dispatched between the misses, so they cannot be separated. */
	struct stamp st[20];
	for (size_t i = 0; i < ARRAY_LEN(st); i++) {
		const uint64_t late = i < 4 ? 0 : 200;
		st[i] = (struct stamp){ 10 + i + late, 14 + i + late, 10 + i, 14 + i };
	}
	struct rec_miss m[5];
	for (size_t i = 0; i < 5; i++)
		m[i] = miss(i + 1, i + 1, 15 + 40 * i, 20, LEVEL_L2);
	struct stream t = { puzak, st, ARRAY_LEN(st), m, 5, 0, 0, NULL };
	deliver_by_end(m, 5);
	struct spectrum *s = run(&t, 16);
	const struct clusters *c = &s->clusters[CLUSTERS_ALL];
	assert_int_equal(c->clusters, 1);
	assert_int_equal(c->merged, 4);
	assert_int_equal(c->sizes[5].clusters, 1);
	law(s);
	spectrum_done(s);
}

static void test_1132_a_cost_below_zero_is_kept(void **state)
{
	struct stamp st[30];
	fill(st, ARRAY_LEN(st), 1);
	for (size_t i = 10; i < ARRAY_LEN(st); i++) { /* the twin loses 7 cycles there */
		st[i].twin_dispatch += 7;
		st[i].twin_commit += 7;
	}
	struct rec_miss m = miss(1, 5, 18, 5, LEVEL_L2);
	struct stream t = { puzak, st, ARRAY_LEN(st), &m, 1, 0, 0, NULL };
	deliver_by_end(&m, 1);
	struct spectrum *s = run(&t, 4);
	const struct clusters *c = &s->clusters[CLUSTERS_ALL];
	assert_int_equal(c->cost, -7);
	assert_int_equal(c->net, -7);
	assert_int_equal(count_of(c, MEASURE_COST, 1, -7), 1);
	assert_int_equal(c->negative, 1);
	law(s);
	spectrum_done(s);
}

static void test_1133_clusters_that_an_edge_cuts_are_head_and_tail(void **state)
{
	struct stamp st[60];
	fill(st, ARRAY_LEN(st), 10);
	struct rec_miss m[] = {
		miss(1, 1, 3, 30, LEVEL_L2),	 /* before any instruction was dispatched */
		miss(2, 10, 150, 15, LEVEL_L2),	 /* whole */
		miss(3, 30, 350, 15, LEVEL_L2),	 /* whole */
		miss(4, 58, 590, 300, LEVEL_MEM) /* beyond the end */
	};
	struct stream t = { puzak, st, ARRAY_LEN(st), m, ARRAY_LEN(m), 0, 0, NULL };
	deliver_by_end(m, ARRAY_LEN(m));
	struct spectrum *s = run(&t, 16);
	const struct clusters *c = &s->clusters[CLUSTERS_ALL];
	assert_int_equal(c->clusters, 2);
	assert_int_equal(c->cut, 2);
	assert_int_equal(c->cut_misses, 2);
	assert_true(c->head > 0 && c->tail > 0);
	law(s);
	spectrum_done(s);
	/* Two regions: a miss that began in neither is left out, one that reaches into a region is
	 * its head. */
	s = spectrum_new(&puzak, NULL);
	size_t inst = 0, at = 0;
	struct err e = { "" };
	feed(s, &t, 0, 155, 16, &inst, &at);
	for (; st[inst].commit < 360; inst++)
		;
	assert_true(spectrum_analysis.misses(s, m + at, ARRAY_LEN(m) - 1 - at, &e));
	at = ARRAY_LEN(m) - 1;
	feed(s, &t, 360, 500, 16, &inst, &at);
	assert_true(spectrum_analysis.finish(s, NULL, &e));
	c = &s->clusters[CLUSTERS_ALL];
	assert_int_equal(s->cycles, 155 + 140);
	assert_int_equal(c->clusters, 0);
	assert_int_equal(c->cut, 3);
	law(s);
	spectrum_done(s);
}

/* A miss costs 100 cycles at its commit; then each of eight instructions gives back 5 of them. */
static void fill_giving_back(struct stamp *st, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t late = i < 5 ? 0 : i < 14 ? 100 - 5 * (i - 5) : 60;
		st[i] = (struct stamp){ 100 + 10 * i + (i > 6 ? late : 0), 104 + 10 * i + late,
					100 + 10 * i, 104 + 10 * i };
	}
}

static void test_1134_recovery_ends_four_robs_beyond_the_window_or_at_the_next_cluster(void **state)
{
	struct stamp st[80];
	fill_giving_back(st, ARRAY_LEN(st));
	/* The window holds instructions 6 and 7 when the miss ends in 253; recovery ends at 7 +
	 * 4. */
	struct rec_miss m[] = { miss(1, 6, 163, 90, LEVEL_MEM), miss(2, 60, 900, 15, LEVEL_L2) };
	struct stream t = { puzak, st, ARRAY_LEN(st), m, 1, 0, 0, NULL };
	t.meta.rob_entries = 1;
	deliver_by_end(m, 1);
	struct spectrum *s = run(&t, 16);
	assert_int_equal(s->clusters[0].net, 100 - 5 * 5);
	assert_int_equal(s->clusters[0].drift, -15);
	law(s);
	spectrum_done(s);
	/* The next cluster begins after the commit of instruction 8, before that of 9. */
	m[1] = miss(2, 9, st[7].commit + 1, 2, LEVEL_L2);
	t.nmisses = 2;
	deliver_by_end(m, 2);
	s = run(&t, 16);
	assert_int_equal(s->clusters[0].clusters, 2);
	assert_int_equal(count_of(&s->clusters[0], MEASURE_NET, 1, 90), 1);
	law(s);
	spectrum_done(s);
}

static void test_1280_recovery_lasts_as_many_robs_as_asked_for(void **state)
{
	struct stamp st[80];
	fill_giving_back(st, ARRAY_LEN(st));
	struct rec_miss m[] = { miss(1, 6, 163, 90, LEVEL_MEM) };
	/* The window ends with instruction 7, and a ROB is 4: recovery ends at 7, 11, 15. */
	const struct {
		const char *param;
		int64_t net;
	} cases[] = { { "spectrum.recovery=0", 95 },
		      { "spectrum.recovery=1", 75 },
		      { "spectrum.recovery=2", 60 } };
	deliver_by_end(m, 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stream t = { puzak, st, ARRAY_LEN(st), m, 1, 0, 0, cases[i].param };
		struct spectrum *s = run(&t, 16);
		assert_int_equal(s->clusters[0].net, cases[i].net);
		assert_int_equal(s->clusters[0].drift, 60 - cases[i].net);
		law(s);
		spectrum_done(s);
	}
}

/* ---- against an offline reference ---- */

struct random_stream {
	struct stream t;
	struct stamp *st;
	struct rec_miss *m;
};

/* Makes instructions in order, at most four a cycle; at times the run is slower than its twin. */
static struct random_stream random_stream(struct rng *rng, size_t insts, size_t misses)
{
	struct random_stream r = { .st = x_calloc(insts, sizeof(*r.st)),
				   .m = x_calloc(misses, sizeof(*r.m)) };
	uint64_t d = 5, c = 8, td = 5, tc = 8;
	for (size_t i = 0; i < insts; i++) {
		const bool slow = rng_below(rng, 20) == 0;
		d += rng_below(rng, 2) + (rng_below(rng, 30) == 0 ? rng_below(rng, 60) : 0);
		td += rng_below(rng, 2);
		c = max_u64(c, d + 1 + rng_below(rng, 4)) + (slow ? rng_below(rng, 80) : 0);
		tc = max_u64(tc, td + 1 + rng_below(rng, 4)) +
		     (rng_below(rng, 50) == 0 ? rng_below(rng, 20) : 0);
		/* with a window of 16, the instruction 16 before this one has committed */
		if (i >= 16) {
			d = max_u64(d, r.st[i - 16].commit);
			c = max_u64(c, d + 1);
			td = max_u64(td, r.st[i - 16].twin_commit);
			tc = max_u64(tc, td + 1);
		}
		r.st[i] = (struct stamp){ d, c, td, tc };
	}
	for (size_t i = 0; i < misses; i++) {
		const uint64_t po = 1 + rng_below(rng, insts);
		const bool far = rng_below(rng, 3) == 0;
		r.m[i] = miss(i + 1, po, r.st[po - 1].dispatch + 1 + rng_below(rng, 5),
			      (far ? 100 : 15) + (uint32_t)rng_below(rng, 6),
			      far ? LEVEL_MEM : LEVEL_L2);
		r.m[i].flags = rng_below(rng, 5) == 0 ? MISS_WRONG_PATH : 0;
		r.m[i].kind = rng_below(rng, 8) == 0 ? MISS_STORE : MISS_LOAD;
		r.m[i].waits = r.m[i].flags ? WAITS_NONE : 0;
	}
	deliver_by_end(r.m, misses);
	r.t = (struct stream){
		.meta = puzak, .stamps = r.st, .nstamps = insts, .misses = r.m, .nmisses = misses
	};
	r.t.meta.rob_entries = 16;
	return r;
}

struct reference {
	struct tally bins;
	int64_t cost, net, drift, head, tail, adder;
	uint64_t clusters, cut;
};

struct found {
	uint64_t begin, end;
	size_t first, count; /* misses */
};

static int by_begin(const void *a, const void *b)
{
	const struct rec_miss *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

/* The next functions return numbers of instructions; 0: none. */
static size_t last_dispatched(const struct stream *t, uint64_t cycle)
{
	size_t n = 0;
	for (size_t i = 0; i < t->nstamps; i++)
		if (t->stamps[i].dispatch < cycle)
			n = i + 1;
	return n;
}

static size_t last_committed(const struct stream *t, uint64_t cycle)
{
	size_t n = 0;
	for (size_t i = 0; i < t->nstamps; i++)
		if (t->stamps[i].commit < cycle)
			n = i + 1;
	return n;
}

static int64_t lag_at(const struct stream *t, size_t po)
{
	return po ? (int64_t)(t->stamps[po - 1].commit - t->stamps[po - 1].twin_commit) : 0;
}

/* Computes the clusters by the definitions: first all stretches, then all mergers until none is
 * left, then costs. */
static struct reference refer(const struct stream *t, bool right)
{
	struct rec_miss *m = x_calloc(t->nmisses + 1, sizeof(*m));
	struct found *f = x_calloc(t->nmisses + 1, sizeof(*f));
	struct reference r = { 0 };
	size_t n = 0, nf = 0;
	tally_init(&r.bins);
	const uint64_t end = t->stamps[t->nstamps - 1].commit + 1;
	for (size_t i = 0; i < t->nmisses; i++)
		if (t->misses[i].begin < end && (!right || !(t->misses[i].flags & MISS_WRONG_PATH)))
			m[n++] = t->misses[i];
	qsort(m, n, sizeof(*m), by_begin);
	for (size_t i = 0; i < n; i++) {
		if (!nf || m[i].begin > f[nf - 1].end)
			f[nf++] = (struct found){ m[i].begin, 0, i, 0 };
		f[nf - 1].end = max_u64(f[nf - 1].end, miss_end(&m[i]));
		f[nf - 1].count++;
	}
	for (size_t i = 0; i + 1 < nf;) {
		const size_t s = last_committed(t, f[i].end) + 1;
		const size_t next = last_dispatched(t, f[i + 1].begin);
		if (s <= t->nstamps && next > s &&
		    t->stamps[next - 1].dispatch >= t->stamps[s - 1].commit) {
			i++;
			continue;
		}
		f[i].end = f[i + 1].end;
		f[i].count += f[i + 1].count;
		memmove(f + i + 1, f + i + 2, (nf - i - 2) * sizeof(*f));
		nf--;
		i = 0;
	}
	int64_t before = 0;
	for (size_t i = 0; i < nf; i++) {
		const size_t inf = last_dispatched(t, f[i].begin);
		const size_t sup = last_committed(t, f[i].end) + 1;
		const size_t from = last_committed(t, f[i].begin);
		const size_t next = i + 1 < nf ? last_committed(t, f[i + 1].begin) : t->nstamps;
		const size_t recovery =
		    last_dispatched(t, f[i].end) + SPECTRUM_RECOVERY * t->meta.rob_entries;
		const bool tail = f[i].end > end || sup > t->nstamps;
		const size_t to = !tail && recovery < next ? recovery : next;
		const int64_t net = lag_at(t, to) - lag_at(t, from);
		r.drift += lag_at(t, from) - before;
		before = lag_at(t, to);
		if (!inf || tail) {
			*(inf ? &r.tail : &r.head) += net;
			r.cut++;
			continue;
		}
		const int64_t cost =
		    (int64_t)(t->stamps[sup - 1].commit - t->stamps[inf - 1].dispatch) -
		    (int64_t)(t->stamps[sup - 1].twin_commit - t->stamps[inf - 1].twin_dispatch);
		r.cost += cost;
		r.net += net;
		r.clusters++;
		unsigned pattern = 0, kind = m[f[i].first].kind;
		for (size_t k = 0; k < f[i].count; k++) {
			const struct rec_miss *one = &m[f[i].first + k];
			pattern = pattern << 2 | (one->level == LEVEL_MEM);
			kind = one->kind == kind ? kind : KIND_MIXED;
		}
		const unsigned size = (unsigned)f[i].count;
		pattern = size <= SPECTRUM_PATTERNS ? pattern : 0;
		if (size <= SPECTRUM_SIZES) {
			tally_add(&r.bins, bin_key(MEASURE_COST, size, kind, pattern, bin_of(cost)),
				  1);
			tally_add(&r.bins, bin_key(MEASURE_NET, size, kind, pattern, bin_of(net)),
				  1);
		}
	}
	r.drift += lag_at(t, t->nstamps) - before;
	r.adder = lag_at(t, t->nstamps);
	free(m);
	free(f);
	return r;
}

static void assert_same_bins(const struct tally *a, const struct tally *b)
{
	struct tally_entry *x = tally_sorted(a), *y = tally_sorted(b);
	assert_int_equal(a->used, b->used);
	for (size_t i = 0; i < a->used; i++) {
		assert_int_equal(x[i].key, y[i].key);
		assert_int_equal(x[i].count, y[i].count);
	}
	free(x);
	free(y);
}

static void compare(const struct random_stream *r, uint64_t batch)
{
	struct spectrum *s = run(&r->t, batch);
	law(s);
	for (unsigned k = 0; k < CLUSTERINGS; k++) {
		struct reference f = refer(&r->t, k == CLUSTERS_RIGHT);
		const struct clusters *c = &s->clusters[k];
		assert_int_equal(c->clusters, f.clusters);
		assert_int_equal(c->cut, f.cut);
		assert_int_equal(c->cost, f.cost);
		assert_int_equal(c->net, f.net);
		assert_int_equal(c->drift, f.drift);
		assert_int_equal(c->head, f.head);
		assert_int_equal(c->tail, f.tail);
		assert_int_equal(c->adder, f.adder);
		assert_same_bins(&c->bins, &f.bins);
		tally_free(&f.bins);
	}
	spectrum_done(s);
}

static void test_1135_clusters_are_those_of_an_offline_reference(void **state)
{
	struct rng rng;
	rng_seed(&rng, 1);
	uint64_t clusters = 0, merged = 0, large = 0;
	for (int i = 0; i < 400; i++) {
		const size_t insts = 20 + rng_below(&rng, 400);
		struct random_stream r = random_stream(&rng, insts, 1 + rng_below(&rng, insts / 8));
		compare(&r, 1 + rng_below(&rng, 300));
		struct spectrum *s = run(&r.t, 64);
		clusters += s->clusters[0].clusters;
		merged += s->clusters[0].merged;
		large += s->clusters[0].largest > SPECTRUM_SIZES;
		spectrum_done(s);
		free(r.st);
		free(r.m);
	}
	/* the comparison has covered enough cases */
	assert_true(clusters > 1000 && merged > 100 && large > 20);
}

static void test_1136_batches_and_their_sizes_do_not_matter(void **state)
{
	struct rng rng;
	rng_seed(&rng, 2);
	struct random_stream r = random_stream(&rng, 100000, 6000);
	struct spectrum *a = run(&r.t, 1), *b = run(&r.t, 100000);
	law(a);
	for (unsigned k = 0; k < CLUSTERINGS; k++) {
		const struct clusters *x = &a->clusters[k], *y = &b->clusters[k];
		assert_true(x->clusters > 100);
		assert_int_equal(x->cost, y->cost);
		assert_int_equal(x->net, y->net);
		assert_int_equal(x->drift, y->drift);
		assert_same_bins(&x->bins, &y->bins);
		assert_same_bins(&x->loads.bins, &y->loads.bins);
	}
	spectrum_done(a);
	spectrum_done(b);
	free(r.st);
	free(r.m);
}

static void test_1137_memory_does_not_grow_with_run_or_cluster(void **state)
{
	/* A pointer chase: each miss begins when the one before has ended. */
	size_t kept[2];
	for (int i = 0; i < 2; i++) {
		const size_t n = i ? 200000 : 2000;
		struct stamp *st = x_calloc(n, sizeof(*st));
		struct rec_miss *m = x_calloc(n, sizeof(*m));
		for (size_t k = 0; k < n; k++) {
			st[k] = (struct stamp){ 5 + 100 * (k > 4 ? k - 4 : 0), 110 + 100 * k, 5 + k,
						8 + k };
			m[k] = miss(k + 1, k + 1, 8 + 100 * k, 100, LEVEL_MEM);
			m[k].pc = 0x1000;
		}
		struct stream t = { puzak, st, n, m, n, 0, 100 * n + 300, NULL };
		deliver_by_end(m, n);
		struct spectrum *s = run(&t, 5000);
		assert_int_equal(s->clusters[0].clusters + s->clusters[0].cut, 1);
		assert_int_equal(s->clusters[0].misses + s->clusters[0].cut_misses, n);
		law(s);
		kept[i] = s->heap.capacity * sizeof(struct rec_miss) +
			  s->twins.capacity * sizeof(struct rec_twin) +
			  (s->stamps.mask + 1) * sizeof(struct stamp) +
			  s->clusters[0].loads.capacity * sizeof(struct load);
		spectrum_done(s);
		free(st);
		free(m);
	}
	assert_int_equal(kept[0], kept[1]);
	assert_true(kept[1] < 8u << 20);
}

static void test_1138_both_splits_add_up_to_the_net_cost(void **state)
{
	struct rng rng;
	rng_seed(&rng, 4);
	for (int i = 0; i < 50; i++) {
		struct random_stream r = random_stream(&rng, 2000, 150);
		struct spectrum *s = run(&r.t, 128);
		for (unsigned k = 0; k < CLUSTERINGS; k++) {
			const struct clusters *c = &s->clusters[k];
			int64_t even = 0, exposed = 0;
			uint64_t misses = 0, isolated = 0;
			for (size_t l = 0; l < c->loads.nloads; l++) {
				const struct load *p = &c->loads.load[l];
				even += p->even;
				exposed += p->exposed;
				isolated += p->isolated;
				misses += p->misses[0] + p->misses[1] + p->misses[2];
			}
			assert_int_equal(even, c->net);
			assert_int_equal(exposed, c->net);
			assert_int_equal(misses, c->misses);
			assert_int_equal(isolated, c->sizes[1].clusters);
		}
		spectrum_done(s);
		free(r.st);
		free(r.m);
	}
}

static void test_1139_exposure_goes_to_the_miss_that_was_waited_for(void **state)
{
	/* Two misses overlap: the first delays commit, and the second has ended by then. */
	struct stamp st[40];
	for (size_t i = 0; i < ARRAY_LEN(st); i++) {
		const uint64_t late = i < 5 ? 0 : 90;
		st[i] = (struct stamp){ 10 + 4 * i + (i > 8 ? late : 0), 14 + 4 * i + late,
					10 + 4 * i, 14 + 4 * i };
	}
	struct rec_miss m[] = { miss(1, 6, 32, 92, LEVEL_MEM), miss(2, 7, 36, 15, LEVEL_L2) };
	struct stream t = { puzak, st, ARRAY_LEN(st), m, 2, 0, 0, NULL };
	deliver_by_end(m, 2);
	struct spectrum *s = run(&t, 16);
	const struct loads *l = &s->clusters[0].loads;
	assert_int_equal(l->nloads, 2);
	assert_int_equal(l->load[0].pc, 0x1000 + 4 * 6);
	assert_int_equal(l->load[0].exposed, 90);
	assert_int_equal(l->load[1].exposed, 0);
	assert_int_equal(l->load[0].even, 45);
	assert_int_equal(l->load[1].even, 45);
	assert_int_equal(l->load[0].hidden, 0);
	assert_int_equal(l->load[1].hidden, 1);
	assert_int_equal(l->npairs, 1);
	assert_int_equal(l->pair[0].overlapped, 1);
	assert_int_equal(l->pair[0].overlapped_cycles, 15);
	assert_int_equal(l->pair[0].serial, 0);
	spectrum_done(s);
}

static void test_2702_exposure_goes_to_the_line_that_an_instruction_waited_for(void **state)
{
	/* Instruction 6 waits for a line that another one had asked for. */
	static const struct {
		uint64_t po;
		enum miss_kind kind;
		uint8_t flags;
	} causes[] = {
		{ 3, MISS_PREFETCH, 0 },	      /* a prefetch that instruction 3 set off */
		{ 5, MISS_HINT, 0 },		      /* a prefetch instruction */
		{ 4, MISS_STORE, 0 },		      /* an older store */
		{ 8, MISS_LOAD, 0 },		      /* a younger load that missed first */
		{ 8, MISS_LOAD, MISS_WRONG_PATH },    /* a load of a wrong path */
		{ 3, MISS_PREFETCH, MISS_WRONG_PATH } /* … and what that set off */
	};
	struct stamp st[40];
	for (size_t i = 0; i < ARRAY_LEN(st); i++) {
		const uint64_t late = i < 5 ? 0 : 90;
		st[i] = (struct stamp){ 10 + 4 * i + (i > 8 ? late : 0), 14 + 4 * i + late,
					10 + 4 * i, 14 + 4 * i };
	}
	for (size_t k = 0; k < ARRAY_LEN(causes); k++) {
		struct rec_miss m[] = { miss(1, causes[k].po, 32, 92, LEVEL_MEM),
					miss(2, 7, 36, 15, LEVEL_L2) };
		struct stream t = { puzak, st, ARRAY_LEN(st), m, 2, 0, 0, NULL };
		m[0].kind = (uint8_t)causes[k].kind;
		m[0].flags = causes[k].flags;
		m[0].waits = 6 - (int32_t)causes[k].po;
		deliver_by_end(m, 2);
		struct spectrum *s = run(&t, 16);
		const struct loads *l = &s->clusters[0].loads;
		assert_int_equal(l->nloads, 2);
		assert_int_equal(l->load[0].kind, causes[k].kind);
		assert_int_equal(l->load[0].exposed, 90);
		assert_int_equal(l->load[0].hidden, 0);
		assert_int_equal(l->load[1].exposed, 0);
		spectrum_done(s);
	}
}

static void test_2703_a_sampled_cluster_keeps_when_its_recovery_ended(void **state)
{
	/* Far more instructions than stamps are kept come before the next miss. */
	const size_t count = 100000;
	struct stamp *st = x_calloc(count, sizeof(*st));
	for (size_t i = 0; i < count; i++) {
		const uint64_t late = i < 5 ? 0 : 90;
		st[i] = (struct stamp){ 10 + 4 * i + (i > 8 ? late : 0), 14 + 4 * i + late,
					10 + 4 * i, 14 + 4 * i };
	}
	struct rec_miss m[] = { miss(1, 6, 32, 92, LEVEL_MEM),
				miss(2, count - 99, st[count - 100].dispatch + 1, 15, LEVEL_L2) };
	struct stream t = { puzak, st, count, m, 2, 0, 0, NULL };
	deliver_by_end(m, 2);
	struct spectrum *s = run(&t, 4096);
	const struct sampled *first = &s->samples.at[s->samples.at[0].begin != 32];
	assert_int_equal(s->samples.count, 2);
	assert_int_equal(first->begin, 32);
	assert_int_equal(first->net, 90);
	assert_in_range(first->last, 9, 100);
	assert_int_equal(first->last_commit, st[first->last - 1].commit);
	spectrum_done(s);
	free(st);
}

static void test_1175_other_chains_reproduce_what_they_are_made_from(void **state)
{
	const struct theory t = { .nlevels = 2, .p = { .5, .5 }, .a = 1 };
	const double pairs[] = { .1, .4, .2, .3 };
	const double triples[] = { .05, .25, .05, .15, .1, .1, .1, .2 };
	double second = 0, ends = 0, seen[4] = { 0 };
	for (size_t i = 0; i < 16; i++) {
		uint8_t l[SPECTRUM_SIZES];
		theory_levels(2, 4, i, l);
		const double p = theory_second(&t, pairs, triples, l, 4);
		second += p;
		seen[l[0] * 2 + l[1]] += p;
		ends += theory_ends(&t, triples, l, 4);
	}
	assert_true(fabs(second - 1) < 1e-12 && fabs(ends - 1) < 1e-12);
	for (size_t i = 0; i < 4; i++)
		assert_true(fabs(seen[i] - pairs[i]) < 1e-12);
	/* HMM of size 3: the pair HM of size 2, then M after HM as in size 3. */
	const uint8_t hmm[] = { 0, 1, 1 };
	assert_true(fabs(theory_second(&t, pairs, triples, hmm, 3) - .4 * .15 / .2) < 1e-12);
	/* Begins with H: .5; then M: .2 of .5; a last M after M: .35 of .5. */
	assert_true(fabs(theory_ends(&t, triples, hmm, 3) - .5 * (.2 / .5) * (.35 / .5)) < 1e-12);
}

static void test_1140_bins_are_exact_to_4095_and_eighths_of_octaves_beyond(void **state)
{
	for (int64_t v = -4095; v <= 4095; v++)
		assert_int_equal(bin_cycles(bin_of(v)), v);
	for (int64_t v = 4096; v < INT64_MAX / 2; v += v / 7) {
		const int64_t low = bin_cycles(bin_of(v));
		assert_true(low <= v && v - low <= v / 8);
		assert_int_equal(bin_of(low), bin_of(v));
		assert_int_equal(bin_of(-v), -bin_of(v));
		assert_true(bin_cycles((int16_t)(bin_of(v) + 1)) > v);
	}
	for (uint64_t size = 1; size < 100000; size++) {
		assert_true(size_of_row(size_row(size)) <= size);
		assert_true(size_of_row(size_row(size) + 1) > size);
	}
}

static void test_1141_an_instruction_that_the_twin_lacks_is_said(void **state)
{
	struct spectrum *s = spectrum_new(&puzak, NULL);
	const struct rec_inst insts[] = { { .po = 1, .flags = RI_COMMITTED, .commit = 3 },
					  { .po = 2, .flags = RI_COMMITTED, .commit = 4 } };
	const struct rec_twin twins[] = { { .po = 1, .commit = 3 }, { .po = 3, .commit = 3 } };
	const struct rec_cycle cycle = { .repeat = 10 };
	struct err e = { "" };
	assert_true(spectrum_analysis.twins(s, twins, 2, &e));
	assert_false(spectrum_analysis.batch(s, insts, 2, &cycle, 1, &e));
	assert_non_null(strstr(e.text, "no record of instruction 2"));
	spectrum_done(s);
}

static void test_1142_kinds_that_do_not_count_are_left_out(void **state)
{
	struct stamp st[40];
	fill(st, ARRAY_LEN(st), 10);
	struct rec_miss m[] = { miss(1, 3, 35, 15, LEVEL_L2), miss(2, 12, 135, 15, LEVEL_L2) };
	m[1].kind = MISS_STORE;
	struct stream t = { puzak, st, ARRAY_LEN(st), m, 2, 0, 0, "spectrum.kinds=load" };
	deliver_by_end(m, 2);
	struct spectrum *s = run(&t, 16);
	assert_int_equal(s->clusters[0].clusters, 1);
	assert_int_equal(s->sums[MISS_STORE][0].misses, 0);
	law(s);
	spectrum_done(s);
	struct spectrum bad = { 0 };
	const char *params[] = { "spectrum.kinds=lod", NULL };
	struct err e = { "" };
	assert_false(spectrum_analysis.start(&bad, &puzak,
					     &(struct analysis_options){ .params = params }, &e));
	assert_non_null(strstr(e.text, "nearest is 'load'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1120_equation_4_gives_12_cycles_per_miss),
		cmocka_unit_test(test_1121_figure_1_has_clusters_of_3_and_1),
		cmocka_unit_test(test_1122_tables_1_and_2_follow_from_p_and_a),
		cmocka_unit_test(test_1123_figure_3_follows_from_figure_8),
		cmocka_unit_test(test_1124_figure_13_s_trees),
		cmocka_unit_test(test_1125_equation_5_counts_the_sums),
		cmocka_unit_test(test_1126_the_fit_has_the_least_squares),
		cmocka_unit_test(test_1127_shares_of_patterns_add_up_and_ks_is_the_largest_gap),
		cmocka_unit_test(test_1128_intervals_that_touch_are_one_cluster),
		cmocka_unit_test(test_1129_infimum_is_before_the_begin_supremum_not_before_the_end),
		cmocka_unit_test(test_1130_out_of_order_the_supremum_may_be_older),
		cmocka_unit_test(test_1131_clusters_merge_in_chains),
		cmocka_unit_test(test_1132_a_cost_below_zero_is_kept),
		cmocka_unit_test(test_1133_clusters_that_an_edge_cuts_are_head_and_tail),
		cmocka_unit_test(
		    test_1134_recovery_ends_four_robs_beyond_the_window_or_at_the_next_cluster),
		cmocka_unit_test(test_1280_recovery_lasts_as_many_robs_as_asked_for),
		cmocka_unit_test(test_1135_clusters_are_those_of_an_offline_reference),
		cmocka_unit_test(test_1136_batches_and_their_sizes_do_not_matter),
		cmocka_unit_test(test_1137_memory_does_not_grow_with_run_or_cluster),
		cmocka_unit_test(test_1138_both_splits_add_up_to_the_net_cost),
		cmocka_unit_test(test_1139_exposure_goes_to_the_miss_that_was_waited_for),
		cmocka_unit_test(test_1140_bins_are_exact_to_4095_and_eighths_of_octaves_beyond),
		cmocka_unit_test(test_1141_an_instruction_that_the_twin_lacks_is_said),
		cmocka_unit_test(test_1142_kinds_that_do_not_count_are_left_out),
		cmocka_unit_test(
		    test_2702_exposure_goes_to_the_line_that_an_instruction_waited_for),
		cmocka_unit_test(test_2703_a_sampled_cluster_keeps_when_its_recovery_ended),
		cmocka_unit_test(test_1175_other_chains_reproduce_what_they_are_made_from),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
