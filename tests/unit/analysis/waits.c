/* SPDX-License-Identifier: MIT */
/* Time of threads that have not got the processor: waiting for whom, or ready to run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/profile/waits.h"
#include "store/store.h"

static struct store *joined(const struct waits *w, const struct trace_wait *seen, size_t n,
			    uint64_t cycles)
{
	struct err e = { "" };
	struct store *s = store_create_memory("test", &e);
	assert_non_null(s);
	if (!waits_store(w, seen, n, cycles, s, &e))
		fail_msg("%s", e.text);
	return s;
}

/* 1 waits from its call (instruction 10) until 2's call (20) ends the wait; 2 keeps the processor
 * until instruction 30. */
static void test_718_a_wait_ends_with_the_call_of_the_thread_that_ends_it(void **state)
{
	struct waits w = { 0 };
	const struct trace_wait seen[] = { { 10, 20, 1, 2, TRACE_WAIT_FUTEX } };
	(void)state;
	waits_switch(&w, 1, 0, 0);
	waits_switch(&w, 2, 100, 10);
	waits_note(&w, 20, 180);
	waits_switch(&w, 1, 250, 30);
	struct store *s = joined(&w, seen, 1, 300);
	assert_int_equal(store_number(s, "SELECT cycles FROM thread_time WHERE tid = 1", -1), 150);
	assert_int_equal(store_number(s, "SELECT blocked FROM thread_time WHERE tid = 1", -1), 80);
	assert_int_equal(store_number(s, "SELECT ready FROM thread_time WHERE tid = 1", -1), 70);
	assert_int_equal(
	    store_number(s, "SELECT cycles FROM thread_wait WHERE tid = 1 AND waker = 2", -1), 80);
	assert_int_equal(store_number(s, "SELECT cycles FROM thread_time WHERE tid = 2", -1), 150);
	assert_int_equal(store_number(s, "SELECT ready FROM thread_time WHERE tid = 2", -1), 0);
	store_close(s);
	waits_free(&w);
}

static void test_719_a_thread_that_was_only_switched_is_ready(void **state)
{
	struct waits w = { 0 };
	const struct trace_wait seen[] = { { 99, 100, 9, 1, TRACE_WAIT_FUTEX } };
	(void)state;
	waits_switch(&w, 1, 0, 0);
	waits_switch(&w, 2, 100, 10);
	waits_switch(&w, 1, 130, 20);
	struct store *s = joined(&w, seen, 1, 300);
	assert_int_equal(store_number(s, "SELECT blocked FROM thread_time WHERE tid = 1", -1), 0);
	assert_int_equal(store_number(s, "SELECT ready FROM thread_time WHERE tid = 1", -1), 30);
	assert_int_equal(store_number(s, "SELECT count(*) FROM thread_wait", -1), 0);
	store_close(s);
	waits_free(&w);
}

static void test_720_a_wait_that_is_not_over_lasts_to_the_end_of_the_run(void **state)
{
	struct waits w = { 0 };
	const struct trace_wait seen[] = { { 10, UINT64_MAX, 1, 0, TRACE_WAIT_FILES } };
	(void)state;
	waits_switch(&w, 1, 0, 0);
	waits_switch(&w, 2, 100, 10);
	struct store *s = joined(&w, seen, 1, 300);
	assert_int_equal(store_number(s, "SELECT blocked FROM thread_time WHERE tid = 1", -1), 200);
	assert_int_equal(store_number(s, "SELECT waker FROM thread_wait WHERE kind = 'files'", -1),
			 0);
	store_close(s);
	waits_free(&w);
}

/* Each wait of the hostile list was ended by another thread; the last ones name the first three again. Searching a list
 * for each of them took 13 s. */
static void test_3793_wakers_without_number_are_added_up_in_little_time(void **state)
{
	enum { WAITS = 300000 };
	struct waits w = { 0 };
	struct trace_wait *seen = x_calloc(WAITS + 3, sizeof(*seen));
	(void)state;
	for (uint32_t i = 0; i < WAITS + 3; i++)
		seen[i] = (struct trace_wait){ 10, 20, 1, WAITS - i % WAITS, TRACE_WAIT_FUTEX };
	waits_switch(&w, 1, 0, 0);
	waits_switch(&w, 2, 100, 10);
	waits_note(&w, 20, 180);
	waits_switch(&w, 1, 250, 30);
	struct store *s = joined(&w, seen, WAITS + 3, 300);
	assert_int_equal(store_number(s, "SELECT count(*) FROM thread_wait", -1), WAITS);
	assert_int_equal(store_number(s, "SELECT sum(waits) FROM thread_wait", -1), WAITS + 3);
	assert_int_equal(store_number(s, "SELECT sum(cycles) FROM thread_wait", -1), 80);
	assert_int_equal(store_number(s, "SELECT waits FROM thread_wait WHERE waker = 299999", -1),
			 2);
	assert_int_equal(store_number(s, "SELECT waits FROM thread_wait WHERE waker = 5", -1), 1);
	store_close(s);
	waits_free(&w);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_718_a_wait_ends_with_the_call_of_the_thread_that_ends_it),
		cmocka_unit_test(test_719_a_thread_that_was_only_switched_is_ready),
		cmocka_unit_test(test_720_a_wait_that_is_not_over_lasts_to_the_end_of_the_run),
		cmocka_unit_test(test_3793_wakers_without_number_are_added_up_in_little_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
