/* SPDX-License-Identifier: MIT */
/* Lanes of machines with one part of another size. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/icost/edges.h"
#include "analysis/icost/resources.h"
#include "util/util.h"

#define INSTS 600

static int up(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void test_4840_held_is_the_nth_latest_of_all_times(void **state)
{
	struct rng rng;
	struct held h = { 0 };

	rng_seed(&rng, 1);
	for (unsigned round = 0; round < 200; round++) {
		const uint32_t n = 1 + (uint32_t)rng_below(&rng, 20);
		uint64_t all[100];

		held_begin(&h, n);
		for (unsigned i = 0; i < 100; i++) {
			all[i] = 1 + i / 2 + rng_below(&rng, 30);
			held_add(&h, all[i]);
			uint64_t sorted[100];
			memcpy(sorted, all, sizeof(sorted));
			qsort(sorted, i + 1, sizeof(*sorted), up);
			assert_int_equal(held_least(&h), i + 1 < n ? 0 : sorted[i + 1 - n]);
		}
	}
	free(h.time);
}

/* A machine in which a part binds only if a test makes it small. */
static struct sized_machine large_machine(void)
{
	struct sized_machine m = { .config = { .window = 64,
					       .window_ideal = 1280,
					       .fetch_width = 4,
					       .commit_width = 4,
					       .depth = 5,
					       .dispatch_latency = 1,
					       .commit_latency = 1 } };

	for (unsigned k = 0; k < RESOURCES; k++)
		m.limits.of[k] = SIZED_NONE;
	m.limits.of[RESOURCE_ROB] = 64;
	m.limits.of[RESOURCE_DECODE] = 4;
	m.limits.of[RESOURCE_COMMIT] = 4;
	m.limits.of[RESOURCE_BUFFER] = 32;
	m.unified = true;
	for (unsigned k = 0; k < UNIT_COUNT; k++)
		m.pipelined[k] = true;
	return m;
}

/* Packets of four operations of so many cycles; each waits for the one before, or for none. */
static uint64_t run(const struct sized_machine *m, struct sized_change c, uint16_t latency,
		    bool chained, unsigned unit)
{
	struct sized *l = sized_new(m);

	sized_begin(l, c);
	for (unsigned i = 0; i < INSTS; i++) {
		struct graph_inst in;
		const struct sized_inst about = { .cls = CLASS_LOAD,
						  .unit = (uint8_t)unit,
						  .dst = 5,
						  .load = true,
						  .latency = latency };

		graph_inst_clear(&in);
		if (i % 4 == 0) {
			in.flags = GRAPH_HEAD;
			in.step[0] = (struct graph_part){ .cycles = 1, .category = CAT_BW };
		}
		in.cd[0] = 64;
		in.src[0] = chained ? 5 : 0;
		in.dst = 5;
		in.ep = latency;
		sized_next(l, &in, &about);
	}
	const uint64_t cycles = sized_commit(l);
	sized_free(l);
	return cycles;
}

static const struct sized_change none = { .what = RESOURCES };

static void test_4841_each_part_that_is_smaller_is_the_limit_it_should_be(void **state)
{
	static const struct {
		enum resource what;
		uint32_t size;
		uint64_t latency, rounds; /* the operations go through in so many rounds of that */
	} all[] = {
		{ RESOURCE_ROB, 32, 100, INSTS / 32 },
		{ RESOURCE_LQ, 16, 100, INSTS / 16 },
		{ RESOURCE_INT_REGS, 32 + 8, 100, INSTS / 8 },
		{ RESOURCE_COMMIT, 2, 1, INSTS / 2 },
		{ RESOURCE_DECODE, 1, 1, INSTS },
		{ RESOURCE_LOAD, 1, 1, INSTS },
		{ RESOURCE_ISSUE, 3, 1, INSTS / 3 },
		{ RESOURCE_FETCH, 2, 1, INSTS / 2 },
	};
	const struct sized_machine m = large_machine();

	for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
		const struct sized_change c = { all[i].what, all[i].size };
		const uint64_t cycles = run(&m, c, (uint16_t)all[i].latency, false, UNIT_LOAD),
			       least = all[i].latency * all[i].rounds;

		if (cycles < least || (double)cycles > 1.1 * (double)least + 30)
			fail_msg("%s = %u: %lu cycles for %lu", words_resources[all[i].what].name,
				 all[i].size, (unsigned long)cycles, (unsigned long)least);
		assert_true(run(&m, none, (uint16_t)all[i].latency, false, UNIT_LOAD) < cycles);
	}
}

static void test_4844_an_issue_queue_holds_what_waits_and_nothing_else(void **state)
{
	const struct sized_machine m = large_machine();
	const struct sized_change small = { RESOURCE_QUEUE, 4 };

	/* Independent operations leave it at once, however long they take. */
	assert_int_equal(run(&m, small, 10, false, UNIT_LOAD), run(&m, none, 10, false, UNIT_LOAD));
	/* A chain of them stays the limit. */
	assert_int_equal(run(&m, small, 10, true, UNIT_LOAD), run(&m, none, 10, true, UNIT_LOAD));
	/* Without waits for registers there is no chain. */
	assert_true(run(&m, (struct sized_change){ RESOURCE_VALUES, SIZED_NONE }, 10, true,
			UNIT_LOAD) < run(&m, none, 10, true, UNIT_LOAD) / 4);
}

static void test_4845_a_unit_that_is_not_pipelined_is_busy_for_its_latency(void **state)
{
	struct sized_machine m = large_machine();

	m.pipelined[UNIT_DIV] = false;
	m.limits.of[RESOURCE_DIV] = 4;
	const uint64_t one = run(&m, (struct sized_change){ RESOURCE_DIV, 1 }, 20, false, UNIT_DIV),
		       two = run(&m, (struct sized_change){ RESOURCE_DIV, 2 }, 20, false, UNIT_DIV);
	assert_true(one >= 20 * INSTS && one < 20 * INSTS + 100);
	assert_true(two >= 10 * INSTS && two < 10 * INSTS + 100);
}

static void test_4846_sizes_to_try_are_those_that_the_machine_takes(void **state)
{
	static const char *const names[] = { "boom-tip", "fields2004-table", "eyerman2006" };
	struct resources_try *list = x_calloc(RESOURCES_CHANGES, sizeof(*list));
	struct err e;

	for (unsigned k = 0; k < ARRAY_LEN(names); k++) {
		struct machine m;

		assert_true(machine_load(&m, names[k], &e));
		const size_t n = resources_tries(&m, list);
		assert_true(n > 60 && n < RESOURCES_CHANGES);
		for (size_t i = 0; i < n; i++) {
			struct machine other = m;

			assert_true(list[i].change.size != list[i].real);
			if (!machine_set(&other, list[i].settings, &e))
				fail_msg("%s on %s: %s", list[i].settings, names[k], e.text);
		}
	}
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_4840_held_is_the_nth_latest_of_all_times),
		cmocka_unit_test(test_4841_each_part_that_is_smaller_is_the_limit_it_should_be),
		cmocka_unit_test(test_4844_an_issue_queue_holds_what_waits_and_nothing_else),
		cmocka_unit_test(test_4845_a_unit_that_is_not_pipelined_is_busy_for_its_latency),
		cmocka_unit_test(test_4846_sizes_to_try_are_those_that_the_machine_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
