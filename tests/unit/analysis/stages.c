/* SPDX-License-Identifier: MIT */
/* 639, 697 and 3965: the causes that each stage's stack charges for a cycle: looked up in a table, and
 * with several cycles counted as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/cpistack/cpistack.h"

static const struct trace_meta meta = {
	.dispatch_width = 4, .commit_width = 4, .rob_entries = 64, .frontend_depth = 8
};

static struct cpistack *fresh(void)
{
	struct cpistack *s = x_calloc(1, sizeof(*s));
	struct err e = { "" };
	assert_true(cpistack_analysis.start(s, &meta, &(struct analysis_options){ 0 }, &e));
	return s;
}

static void done(struct cpistack *s)
{
	cpistack_analysis.free(s);
	free(s);
}

/* Returns what a cycle without commits adds to the stages' stacks, after a cycle that
 * dispatches. */
static struct cpi_counts charge(struct cpistack *s, const struct rec_cycle *c)
{
	const struct rec_cycle before = { .repeat = 1, .ndispatch = 1, .nfetch = 1 };
	struct cpi_counts was, is;
	struct err e = { "" };
	assert_true(cpistack_analysis.batch(s, NULL, 0, &before, 1, &e));
	was = s->now;
	assert_true(cpistack_analysis.batch(s, NULL, 0, c, 1, &e));
	is = s->now;
	for (unsigned m = 0; m < METHODS; m++)
		for (unsigned k = 0; k < CPI_COMPONENTS; k++)
			is.method[m][k] -= was.method[m][k];
	for (unsigned k = 0; k < TD_COMPONENTS; k++)
		is.topdown[k] -= was.topdown[k];
	return is;
}

static struct rec_cycle any_cycle(struct rng *rng)
{
	return (struct rec_cycle){ .repeat = 1 + (uint32_t)rng_below(rng, 3),
				   .flags = (uint16_t)rng_below(rng, 1 << 12),
				   .ndispatch = (uint8_t)rng_below(rng, 5),
				   .nissue = (uint8_t)rng_below(rng, 7),
				   .dispatch_stall = (uint8_t)rng_below(rng, DISPATCH_STALL_COUNT),
				   .fetch_stall = (uint8_t)rng_below(rng, FETCH_STALL_COUNT),
				   .flush_cause = (uint8_t)rng_below(rng, FLUSH_CAUSE_COUNT) };
}

static void test_639_whose_a_cycle_is_does_not_depend_on_those_before(void **state)
{
	static const enum cpi_method methods[] = { METHOD_COMMIT, METHOD_DISPATCH, METHOD_ISSUE,
						   METHOD_POWER5 };
	struct cpistack *old = fresh();
	struct rng rng;
	rng_seed(&rng, 3);
	for (int i = 0; i < 20000; i++) {
		const struct rec_cycle c = any_cycle(&rng);
		/* one analysis has seen many other cycles, one has seen none */
		const struct cpi_counts a = charge(old, &c);
		if (i % 10)
			continue;
		struct cpistack *young = fresh();
		const struct cpi_counts b = charge(young, &c);
		for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
			int64_t sum = 0;
			for (unsigned k = 0; k < CPI_COMPONENTS; k++) {
				assert_int_equal(a.method[methods[m]][k], b.method[methods[m]][k]);
				sum += a.method[methods[m]][k];
			}
			assert_int_equal(sum, c.repeat * cpi_scale(old, methods[m]));
		}
		assert_memory_equal(a.topdown, b.topdown, sizeof(a.topdown));
		done(young);
	}
	done(old);
}

static void test_697_equal_cycles_count_the_same_together_and_one_by_one(void **state)
{
	enum { CYCLES = 40000 };
	struct rec_cycle *c = x_calloc(CYCLES, sizeof(*c));
	struct cpistack *together = fresh(), *alone = fresh();
	struct err e = { "" };
	struct rng rng;
	size_t runs = 0;
	rng_seed(&rng, 4);
	for (size_t i = 0; i < CYCLES; i++) {
		c[i] = any_cycle(&rng);
		if (i && rng_below(&rng, 4)) { /* change only these fields */
			const struct rec_cycle now = c[i];
			c[i] = c[i - 1];
			c[i].repeat = now.repeat;
			c[i].nissue = now.nissue;
			c[i].nfetch = (uint8_t)rng_below(&rng, 3);
		} else if (rng_below(&rng, 2)) {
			c[i].ndispatch = 0;
			c[i].flags &= (uint16_t)~RC_FLUSH;
		}
		assert_true(cpistack_analysis.batch(alone, NULL, 0, &c[i], 1, &e));
	}
	for (size_t i = 0; i < CYCLES; i += 1000) {
		assert_true(cpistack_analysis.batch(together, NULL, 0, &c[i], 1000, &e));
		runs += together->nruns;
	}
	/* without merging, the last blocks of the batches would have as many runs as records */
	assert_true(runs < CYCLES / 1000 * (1000 % CPI_BLOCK) * 3 / 4);
	assert_memory_equal(&together->now, &alone->now, sizeof(alone->now));
	assert_int_equal(together->nphases, alone->nphases);
	assert_memory_equal(together->phase, alone->phase, alone->nphases * sizeof(*alone->phase));
	assert_memory_equal(&together->fmt.sums, &alone->fmt.sums, sizeof(alone->fmt.sums));
	assert_memory_equal(together->stalled, alone->stalled, sizeof(alone->stalled));
	assert_int_equal(together->overlap, alone->overlap);
	assert_int_equal(together->beside_long, alone->beside_long);
	done(together);
	done(alone);
	free(c);
}

/* What a queue that is full keeps out is the head's; a branch on whose wrong path the rest enters
 * has only that. */
static void test_3965_fmt_charges_no_slot_twice(void **state)
{
	static const unsigned heads[] = { 0, RC_HEAD_L1MISS, RC_HEAD_LONG_DMISS, RC_HEAD_DTLB };
	for (unsigned round = 0; round < DISPATCH_STALL_COUNT * 5 * 16; round++) {
		const unsigned i = round % 16, n = round / 16 % 5, stall = round / 80;
		struct cpistack *s = fresh();
		struct err e = { "" };
		const struct rec_cycle c = {
			.cycle = 1,
			.repeat = n ? 1 : 3,
			.flags = (uint16_t)(heads[i % 4] | (i & 4 ? RC_DISPATCH_WRONG : 0) |
					    (i & 8 ? RC_ROB_FULL : 0)),
			.ndispatch = (uint8_t)n,
			.dispatch_stall = (uint8_t)stall,
			.head_po = 1,
			.rob_used = 8,
		};
		uint64_t taken = i & 4 ? 0 : n;
		assert_true(cpistack_analysis.batch(s, NULL, 0, &c, 1, &e));
		for (unsigned k = CPI_L1I; k < CPI_COMPONENTS; k++)
			taken += (uint64_t)s->now.method[METHOD_FMT][k];
		assert_true(taken + s->fmt.sums.charged <= 4 * c.repeat);
		done(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_639_whose_a_cycle_is_does_not_depend_on_those_before),
		cmocka_unit_test(test_697_equal_cycles_count_the_same_together_and_one_by_one),
		cmocka_unit_test(test_3965_fmt_charges_no_slot_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
