/* SPDX-License-Identifier: MIT */
/* What an idealised machine does that the run did not show: waiting for issue slots, and how far
 * wrong paths get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/icost/reach.h"
#include "analysis/icost/slots.h"
#include "util/util.h"

enum { REG_LOAD = 5, REG_A = 6, REG_B = 7 };

/* Adds an operation dst <- src; returns the cycles that it waits for a slot. */
static unsigned wait_of(struct slots *s, bool timeless, uint16_t dst, uint16_t src)
{
	struct graph_inst in = { .dst = dst, .src = { src } };
	slots_next(s, timeless, true, &in);
	for (unsigned k = 0; k < GRAPH_EP_PARTS && in.ep_part[k].cycles; k++)
		if (in.ep_part[k].category == CAT_SLOTS_SHALU)
			return in.ep_part[k].cycles;
	return 0;
}

static void test_684_those_that_wait_for_a_load_get_slots_in_order(void **state)
{
	static const unsigned expected[] = { 0, 0, 1, 1, 1, 2, 2, 2, 3 };
	struct slots s;
	slots_reset(&s, 3, 64);
	wait_of(&s, false, REG_LOAD, 0);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_int_equal(wait_of(&s, true, REG_A, REG_LOAD), expected[i]);
	(void)state;
}

static void test_685_along_a_chain_the_waits_add_up_to_rank_over_width(void **state)
{
	struct slots s;
	unsigned sum = 0;
	slots_reset(&s, 4, 64);
	wait_of(&s, false, REG_A, 0);
	for (unsigned n = 1; n <= 40; n++) {
		sum += wait_of(&s, true, REG_A, REG_A);
		assert_int_equal(sum, n / 4);
	}
	(void)state;
}

static void test_686_what_does_not_wait_for_anything_near_gets_its_slot_at_once(void **state)
{
	struct slots s;
	slots_reset(&s, 1, 8);
	assert_int_equal(wait_of(&s, true, REG_A, 0), 0);
	assert_int_equal(wait_of(&s, true, REG_B, REG_A), 0);
	wait_of(&s, false, REG_LOAD, 0);
	assert_int_equal(wait_of(&s, true, REG_A, REG_LOAD), 1);
	for (unsigned n = 0; n < 8; n++) /* then the load has left the window */
		wait_of(&s, true, 0, 0);
	assert_int_equal(wait_of(&s, true, REG_A, REG_LOAD), 0);
	(void)state;
}

static void test_698_what_waits_in_another_queue_takes_no_slot(void **state)
{
	struct slots s;
	struct graph_inst load = { .dst = REG_B, .src = { REG_LOAD } };
	slots_reset(&s, 2, 64);
	wait_of(&s, false, REG_LOAD, 0);
	assert_int_equal(wait_of(&s, true, REG_A, REG_LOAD), 0);
	slots_next(&s, false, false, &load);
	assert_int_equal(load.ep_part[0].cycles, 0);
	assert_int_equal(wait_of(&s, true, REG_A, REG_LOAD), 1); /* second, not third */
	assert_int_equal(wait_of(&s, true, REG_A, REG_LOAD), 1);
	(void)state;
}

static void test_687_slots_count_only_where_operations_take_no_time_and_width_is_real(void **state)
{
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
		assert_int_equal(graph_counts(CAT_SLOTS_SHALU, lane),
				 (lane >> CAT_SHALU & 1) && !(lane >> CAT_BW & 1));
	(void)state;
}

static void test_688_a_larger_window_or_width_saves_a_miss_if_mispredicts_are_real(void **state)
{
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++) {
		const bool wrong = !(lane >> CAT_BMISP & 1), miss = !(lane >> CAT_DMISS & 1),
			   win = lane >> CAT_WIN & 1, bw = lane >> CAT_BW & 1;
		assert_int_equal(graph_counts(CAT_REACH_DMISS, lane), miss && !(wrong && win));
		assert_int_equal(graph_counts(CAT_REACH_BW_DMISS, lane), miss && !(wrong && bw));
		assert_int_equal(graph_counts(CAT_REACH_EITHER_DMISS, lane),
				 miss && !(wrong && (win || bw)));
		assert_int_equal(graph_counts(CAT_REACH_BOTH_DMISS, lane),
				 miss && !(wrong && win && bw));
	}
	(void)state;
}

/* Teaches lines within the reach of a wrong path in the real window, of which the wrong path
 * fetched one in `of`. */
static uint64_t learn(struct reach *s, unsigned of)
{
	uint64_t number = 1000;
	for (unsigned i = 0; i < 1000; i++) {
		number += 1000;
		reach_branch(s, number, 500, 500, 100, 64, 1280);
		reach_line(s, number + 10, 0, i % of == 0);
	}
	return number;
}

static void test_689_misses_go_as_often_as_wrong_paths_were_right(void **state)
{
	uint32_t left;
	struct reach s = { .next = 0 };
	const uint64_t number = learn(&s, 4);
	unsigned saved = 0;
	for (unsigned i = 0; i < 400; i++)
		saved += reach_saves(&s, number + 200, 0, i, &left) == CAT_REACH_DMISS;
	assert_in_range(saved, 99, 101);
	(void)state;
}

/* Counts those of n misses at this distance behind the branch that are saved as `what` says. In the
 * tests below twenty instructions are fetched before the branch resolves, in a window of 64; the
 * idealised width fetches 100, which only a larger window holds. */
static unsigned count_saves(struct reach *s, uint64_t number, unsigned n, enum graph_category what)
{
	unsigned count = 0;
	uint32_t left;
	for (unsigned i = 0; i < n; i++)
		count += reach_saves(s, number, 0, i, &left) == what;
	return count;
}

static void test_625_a_wrong_path_that_is_fetched_faster_gets_further_but_less_likely(void **state)
{
	struct reach s = { .next = 0 };
	const uint64_t number = learn(&s, 1) + 1000;
	reach_branch(&s, number, 20, 100, 30, 64, 1280);
	assert_int_equal(count_saves(&s, number + 10, 100, CAT_DMISS), 100);
	assert_int_equal(count_saves(&s, number + 40, 400, CAT_REACH_BW_DMISS), 100);
	assert_int_equal(count_saves(&s, number + 80, 160, CAT_REACH_BOTH_DMISS), 10);
	assert_int_equal(count_saves(&s, number + 120, 100, CAT_DMISS), 100);
	(void)state;
}

static void test_626_a_wrong_path_saves_no_more_than_it_is_ahead(void **state)
{
	struct reach s = { .next = 0 };
	const uint64_t number = learn(&s, 1) + 1000;
	uint32_t saved;
	reach_branch(&s, number, 20, 100, 33, 64, 1280);
	while (reach_saves(&s, number + 40, 0, 2, &saved) != CAT_REACH_BW_DMISS)
		;
	assert_int_equal(saved, 33);
	(void)state;
}

static void
test_690_beyond_its_reach_or_within_the_real_window_a_wrong_path_changes_nothing(void **state)
{
	uint32_t left;
	struct reach s = { .next = 0 };
	const uint64_t number = learn(&s, 1);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(reach_saves(&s, number + 20, 0, i, &left),
				 CAT_DMISS); /* nor did the wrong path save it in the run */
		assert_int_equal(reach_saves(&s, number + 501, 0, i, &left),
				 CAT_DMISS); /* the branch has resolved by then */
	}
	assert_int_equal(reach_saves(&s, number + 65, 0, 7, &left), CAT_REACH_DMISS);
	assert_true(reach_was_saved(&s, 7));
	assert_false(reach_was_saved(&s, 8));
	(void)state;
}

static void
test_680_a_wrong_path_does_not_get_to_an_address_that_a_miss_behind_its_branch_gives(void **state)
{
	uint32_t left;
	struct reach s = { .next = 0 };
	const uint64_t number = learn(&s, 1);
	const uint32_t root = 500, now = 540; /* 40 instructions apart */
	assert_int_equal(reach_after(&s, number + 200, root, now), 0);
	assert_int_equal(reach_saves(&s, number + 20, 0, root, &left),
			 CAT_DMISS); /* this miss remains */
	const uint64_t after = reach_after(&s, number + 200, root, now);
	assert_int_equal(after, number + 160);
	assert_int_equal(reach_saves(&s, number + 200, after, now, &left), CAT_DMISS);
	assert_int_equal(reach_saves(&s, number + 200, 0, now, &left), CAT_REACH_DMISS);
	(void)state;
}

static void test_1715_a_busy_unit_limits_how_far_a_wrong_path_gets(void **state)
{
	struct reach s = { .next = 0 };
	assert_true(reach_executes(&s, 1000) == UINT64_MAX);
	/* one division of 40 cycles in 20 instructions: 100 of them in 200 cycles */
	for (unsigned i = 0; i < 20000; i++)
		reach_inst(&s, i % 2, i % 20 == 1 ? 40 : 0);
	assert_in_range(reach_executes(&s, 200), 99, 101);
	/* when the program goes on without divisions, they are forgotten */
	for (unsigned i = 0; i < 100000; i++)
		reach_inst(&s, 0, 0);
	assert_true(reach_executes(&s, 200) > 10000);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_680_a_wrong_path_does_not_get_to_an_address_that_a_miss_behind_its_branch_gives),
		cmocka_unit_test(test_684_those_that_wait_for_a_load_get_slots_in_order),
		cmocka_unit_test(test_685_along_a_chain_the_waits_add_up_to_rank_over_width),
		cmocka_unit_test(
		    test_686_what_does_not_wait_for_anything_near_gets_its_slot_at_once),
		cmocka_unit_test(
		    test_687_slots_count_only_where_operations_take_no_time_and_width_is_real),
		cmocka_unit_test(test_698_what_waits_in_another_queue_takes_no_slot),
		cmocka_unit_test(
		    test_688_a_larger_window_or_width_saves_a_miss_if_mispredicts_are_real),
		cmocka_unit_test(
		    test_625_a_wrong_path_that_is_fetched_faster_gets_further_but_less_likely),
		cmocka_unit_test(test_626_a_wrong_path_saves_no_more_than_it_is_ahead),
		cmocka_unit_test(test_1715_a_busy_unit_limits_how_far_a_wrong_path_gets),
		cmocka_unit_test(test_689_misses_go_as_often_as_wrong_paths_were_right),
		cmocka_unit_test(
		    test_690_beyond_its_reach_or_within_the_real_window_a_wrong_path_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
