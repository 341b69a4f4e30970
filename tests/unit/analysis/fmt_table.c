/* SPDX-License-Identifier: MIT */
/*
 * The front-end miss event tables as hardware, on the pipeline that can be followed by hand (scene.h); naive counters
 * at the caches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/cpistack/fmt_table.h"
#include "analysis/cpistack/naive_caches.h"
#include "scene.h"

/* Counts the scene with parameters, in batches of so many cycles. */
static struct fmt_table_counts table_of(const struct scene *s, size_t batch, const char *rows,
					const char *bits, const char *reading)
{
	const char *params[] = { rows, bits ? bits : rows, reading ? reading : rows, NULL };
	const struct analysis_options o = { .params = params };
	const struct analysis *a = &fmt_table_analysis;
	void *state = x_calloc(1, a->state_size);
	struct err e = { "" };
	assert_true(a->start(state, &s->meta, &o, &e));
	size_t inst = 0;
	for (size_t i = 0; i < s->ncycles; i += batch) {
		const size_t n = s->ncycles - i < batch ? s->ncycles - i : batch;
		const uint64_t last = s->cycles[i + n - 1].cycle;
		const size_t first = inst;
		while (inst < s->ninsts && s->insts[inst].fetch + s->insts[inst].commit <= last)
			inst++;
		assert_true(a->batch(state, s->insts + first, inst - first, s->cycles + i, n, &e));
	}
	assert_int_equal(inst, s->ninsts);
	assert_true(a->finish(state, NULL, &e));
	const struct fmt_table_counts n = *fmt_table_counts(state);
	a->free(state);
	free(state);
	for (unsigned d = 0; d < FMT_DESIGNS; d++) {
		int64_t sum = 0;
		for (unsigned k = 0; k < CPI_COMPONENTS; k++)
			sum += n.stack[d][k];
		assert_int_equal(sum, n.cycles);
	}
	return n;
}

static void random_steps(struct rng *r, struct step *steps, size_t count)
{
	memset(steps, 0, count * sizeof(*steps));
	for (size_t i = 1; i < count; i++) {
		static const unsigned causes[] = { FETCH_ICACHE_L2, FETCH_ICACHE_MEM, FETCH_ITLB };
		struct step *s = &steps[i];
		const uint64_t what = rng_below(r, 100);
		if (what < 6) {
			s->imiss = 1 + (unsigned)rng_below(r, 30);
			s->icause = causes[rng_below(r, 3)];
		} else if (what < 24) {
			s->branch = true;
			s->mispredict = rng_below(r, 3) == 0;
			s->wrong_imiss = rng_below(r, 3) ? 0 : 1 + (unsigned)rng_below(r, 20);
		} else if (what < 30) {
			s->latency = 2 + (unsigned)rng_below(r, 20);
		} else if (what < 34) {
			s->dlevel = rng_below(r, 2) ? LEVEL_MEM : LEVEL_L2;
			s->latency = s->dlevel == LEVEL_MEM ? 120 : 11;
		}
		s->depends = rng_below(r, 3) ? 0 : 1 + (unsigned)rng_below(r, i < 8 ? i : 8);
	}
	steps[count - 1] = (struct step){ .branch = true };
}

static void test_4890_tables_that_are_large_enough_count_what_fmt_paper_does(void **state)
{
	enum { STEPS = 3000 };
	static struct step steps[STEPS];
	struct rng r;
	rng_seed(&r, 4890);
	for (unsigned round = 0; round < 20; round++) {
		static const unsigned robs[] = { 16, 32, 64, 128, 512 };
		struct scene s;
		const bool wrong = round % 2; /* wrong paths miss, too */
		random_steps(&r, steps, STEPS);
		for (size_t i = 0; i < STEPS && !wrong; i++)
			steps[i].wrong_imiss = 0;
		scene_run(&s, steps, STEPS, robs[round % 5]);
		struct cpistack *a = scene_analyse(&s);
		const struct fmt_table_counts n =
		    table_of(&s, 1 + rng_below(&r, 900), "fmt.rows=4096", "fmt.bits=40", NULL);
		const int64_t *paper = a->now.method[METHOD_FMT_PAPER], *is = n.stack[DESIGN_FMT];
		for (unsigned k = CPI_BASE + 1; k < CPI_COMPONENTS; k++)
			if (k != CPI_BMISP)
				assert_int_equal(is[k], paper[k]);
		/* A table does not know that a miss right behind two mispredicted branches is on the wrong path
		 * of the second: it spares the first. */
		if (wrong)
			assert_in_range(is[CPI_BMISP], paper[CPI_BMISP] * 9 / 10,
					paper[CPI_BMISP] - 1);
		else
			assert_int_equal(is[CPI_BMISP], paper[CPI_BMISP]);
		for (unsigned k = CPI_L1I; k <= CPI_BMISP; k++)
			assert_true(n.stack[DESIGN_FMT][k] > 0);
		assert_true(n.branches > 0 && !n.without && !n.saturated);
		scene_done(a);
		scene_free(&s);
	}
}

static void test_4891_a_counter_stops_at_its_largest_value(void **state)
{
	struct step steps[64] = { 0 };
	struct scene s;
	steps[16].imiss = 40;
	steps[20].branch = true;
	steps[30].latency = 20;
	steps[31] = (struct step){ .branch = true, .mispredict = true, .depends = 1 };
	steps[63].branch = true;
	scene_run(&s, steps, 64, 128);
	struct fmt_table_counts n = table_of(&s, 16, "fmt.rows=64", "fmt.bits=6", NULL);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_L1I], 40);
	assert_int_equal(n.stack[DESIGN_SFMT][CPI_L1I], 40);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_BMISP], 27);
	assert_int_equal(n.saturated, 0);
	/* Four bits: of 22 cycles until the branch retires 15 are seen, and the 5 after it by the global
	 * counter, which does not end. */
	n = table_of(&s, 16, "fmt.rows=64", "fmt.bits=4", NULL);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_L1I], 15);
	assert_int_equal(n.stack[DESIGN_SFMT][CPI_L1I], 15);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_BMISP], 15 + 5);
	assert_int_equal(n.saturated, 3);
	scene_free(&s);
}

static void test_4892_a_branch_without_a_row_has_no_penalty(void **state)
{
	struct step steps[64] = { 0 };
	struct scene s;
	/* the first branch holds its row until the second has been fetched */
	steps[28] = (struct step){ .branch = true, .latency = 5 };
	steps[31] = (struct step){ .branch = true, .mispredict = true };
	steps[63].branch = true;
	scene_run(&s, steps, 64, 128);
	struct fmt_table_counts n = table_of(&s, 16, "fmt.rows=3", NULL, NULL);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_BMISP], 7);
	assert_int_equal(n.without, 0);
	assert_int_equal(n.most, 3);
	n = table_of(&s, 16, "fmt.rows=2", NULL, NULL);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_BMISP], 0);
	assert_int_equal(n.branches, 3);
	assert_int_equal(n.without, 1);
	n = table_of(&s, 16, "fmt.rows=1", NULL, NULL);
	assert_int_equal(n.without, 3);
	scene_free(&s);
}

static void test_4893_a_wrong_path_counts_if_its_branch_had_no_row(void **state)
{
	struct step steps[64] = { 0 };
	struct scene s;
	steps[28] = (struct step){ .branch = true, .latency = 12 };
	steps[30].latency = 30;
	steps[31] =
	    (struct step){ .branch = true, .mispredict = true, .depends = 1, .wrong_imiss = 9 };
	steps[63].branch = true;
	scene_run(&s, steps, 64, 128);
	struct fmt_table_counts n = table_of(&s, 16, "fmt.rows=3", NULL, NULL);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_L1I], 0);
	n = table_of(&s, 16, "fmt.rows=2", NULL, NULL);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_L1I], 9);
	scene_free(&s);
}

static void test_4894_an_i_miss_behind_a_redirect_by_every_reading(void **state)
{
	static const struct {
		const char *reading;
		int64_t l1i, branch;
	} is[] = { { "fmt.reading=miss", 9, 7 },
		   { "fmt.reading=branch", 0, 16 },
		   { "fmt.reading=both", 9, 16 } };
	struct step steps[64] = { 0 };
	struct scene s;
	steps[31] = (struct step){ .branch = true, .mispredict = true };
	steps[32].imiss = 9;
	steps[63].branch = true;
	scene_run(&s, steps, 64, 128);
	for (unsigned i = 0; i < 3; i++) {
		const struct fmt_table_counts n =
		    table_of(&s, 16, "fmt.rows=64", NULL, is[i].reading);
		for (unsigned d = 0; d < FMT_DESIGNS; d++)
			assert_int_equal(n.stack[d][CPI_BMISP], is[i].branch);
		assert_int_equal(n.stack[DESIGN_FMT][CPI_L1I], is[i].l1i);
	}
	const char *params[] = { "fmt.reading=neither", NULL };
	const struct analysis_options o = { .params = params };
	struct err e = { "" };
	void *table = x_calloc(1, fmt_table_analysis.state_size);
	assert_false(fmt_table_analysis.start(table, &s.meta, &o, &e));
	free(table);
	scene_free(&s);
}

static void test_4896_a_branch_that_stays_is_charged_until_it_retires_by_one_reading(void **state)
{
	struct step steps[64] = { 0 };
	struct scene s;
	/* the branch resolves at once, and retires behind a division */
	steps[28].latency = 30;
	steps[31] = (struct step){ .branch = true, .mispredict = true };
	steps[63].branch = true;
	scene_run(&s, steps, 64, 128);
	struct fmt_table_counts n = table_of(&s, 16, "fmt.rows=64", NULL, "fmt.reading=miss");
	assert_int_equal(n.stack[DESIGN_FMT][CPI_BMISP], 7);
	/* both dispatch in one cycle, and retire in one: issue a cycle later, 30 of execution */
	n = table_of(&s, 16, "fmt.rows=64", NULL, "fmt.reading=stay");
	assert_int_equal(n.stack[DESIGN_FMT][CPI_BMISP], 31);
	scene_free(&s);
}

static void test_4895_sfmt_counts_a_wrong_path_that_an_older_miss_claims(void **state)
{
	struct step steps[64] = { 0 };
	struct scene s;
	/* it retires only once the wrong path has missed, too (section 4.1.2) */
	steps[28] = (struct step){ .imiss = 9, .latency = 30 };
	steps[30].latency = 40;
	steps[31] =
	    (struct step){ .branch = true, .mispredict = true, .depends = 1, .wrong_imiss = 6 };
	steps[63].branch = true;
	scene_run(&s, steps, 64, 128);
	const struct fmt_table_counts n = table_of(&s, 16, "fmt.rows=64", NULL, NULL);
	assert_int_equal(n.stack[DESIGN_FMT][CPI_L1I], 9);
	assert_int_equal(n.stack[DESIGN_SFMT][CPI_L1I], 9 + 6);
	scene_free(&s);
}

static void test_4898_counters_at_the_caches_see_stores_and_wrong_paths(void **state)
{
	const struct rec_miss misses[] = {
		{ .kind = MISS_FETCH, .level = LEVEL_L2, .flags = MISS_WRONG_PATH },
		{ .kind = MISS_FETCH, .level = LEVEL_MEM },
		{ .kind = MISS_STORE, .level = LEVEL_MEM },
		{ .kind = MISS_LOAD, .level = LEVEL_L2 },
		{ .kind = MISS_DTLB, .level = LEVEL_MEM },
		{ .kind = MISS_PREFETCH, .level = LEVEL_MEM },
		{ .kind = MISS_WALK, .level = LEVEL_MEM },
	};
	const struct rec_cycle cycle = { .repeat = 1000 };
	const struct trace_meta meta = { .l1d_latency = 2,
					 .l2_latency = 11,
					 .mem_latency = 252,
					 .itlb_penalty = 30,
					 .dtlb_penalty = 30,
					 .frontend_depth = 5 };
	const struct rec_inst insts[] = {
		{ .flags = RI_COMMITTED | RI_MISPREDICT },
		{ .flags = RI_MISPREDICT | RI_RESOLVED },
		{ .flags = RI_MISPREDICT },
	};
	const struct analysis *a = &naive_caches_analysis;
	const struct analysis_options o = { .period = 0 };
	struct err e = { "" };
	void *s = x_calloc(1, a->state_size);
	assert_true(a->start(s, &meta, &o, &e));
	assert_true(a->misses(s, misses, 7, &e));
	assert_true(a->batch(s, insts, 3, &cycle, 1, &e));
	assert_true(a->finish(s, NULL, &e));
	const struct naive_caches_counts *n = naive_caches_counts(s);
	assert_int_equal(n->stack[CPI_L1I], 9);
	assert_int_equal(n->stack[CPI_L2I], 250);
	assert_int_equal(n->stack[CPI_L1D], 9);
	assert_int_equal(n->stack[CPI_L2D], 250);
	assert_int_equal(n->stack[CPI_DTLB], 30);
	assert_int_equal(n->stack[CPI_BMISP], 10);
	assert_int_equal(n->stack[CPI_BASE], 1000 - 9 - 250 - 9 - 250 - 30 - 10);
	assert_int_equal(n->of_stores, 1);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_4890_tables_that_are_large_enough_count_what_fmt_paper_does),
		cmocka_unit_test(test_4891_a_counter_stops_at_its_largest_value),
		cmocka_unit_test(test_4892_a_branch_without_a_row_has_no_penalty),
		cmocka_unit_test(test_4893_a_wrong_path_counts_if_its_branch_had_no_row),
		cmocka_unit_test(test_4894_an_i_miss_behind_a_redirect_by_every_reading),
		cmocka_unit_test(
		    test_4896_a_branch_that_stays_is_charged_until_it_retires_by_one_reading),
		cmocka_unit_test(test_4895_sfmt_counts_a_wrong_path_that_an_older_miss_claims),
		cmocka_unit_test(test_4898_counters_at_the_caches_see_stores_and_wrong_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
