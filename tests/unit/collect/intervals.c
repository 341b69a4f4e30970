/* SPDX-License-Identifier: MIT */
/* Sets of ranges that share memory, against tables of pages. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "collect/intervals.h"
#include "util/util.h"

#define PAGES 200
#define SETS  8

/* What a page holds: image + 1 and base, or 0. */
struct page {
	uint32_t what;
	uint64_t base;
};

static void check(const struct range_sets *p, uint32_t root, const struct page *pages)
{
	for (uint64_t i = 0; i < PAGES; i++) {
		struct interval at;
		const bool found = range_sets_find(p, root, i * 16 + i % 16, &at);

		assert_int_equal(found, pages[i].what != 0);
		if (!found)
			continue;
		assert_int_equal(at.what, pages[i].what - 1);
		assert_int_equal(at.base + (i * 16 - at.start), pages[i].base);
	}
}

static void test_2100_shared_sets_are_as_tables_of_pages(void **state)
{
	static struct page pages[SETS][PAGES];
	uint32_t roots[SETS] = { 0 };

	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct range_sets *p = range_sets_new(seed);
		struct rng r;

		rng_seed(&r, seed);
		memset(pages, 0, sizeof(pages));
		for (int n = 0; n < 4000; n++) {
			const size_t set = rng_below(&r, SETS), other = rng_below(&r, SETS);
			const uint64_t from = rng_below(&r, PAGES), left = PAGES - from,
				       many = 1 + rng_below(&r, left < 30 ? left : 30);
			const uint64_t base = rng_below(&r, 3) ? from * 16 : rng_below(&r, 99) * 16;
			const uint32_t what = (uint32_t)rng_below(&r, 4);
			const uint64_t act = rng_below(&r, 10);

			if (act == 0 && set != other) {
				range_sets_drop(p, roots[set]);
				roots[set] = range_sets_share(p, roots[other]);
				memcpy(pages[set], pages[other], sizeof(pages[set]));
			} else if (act < 3) {
				roots[set] =
				    range_sets_clear(p, roots[set], from * 16, (from + many) * 16);
				memset(&pages[set][from], 0, many * sizeof(struct page));
			} else {
				roots[set] = range_sets_set(
				    p, roots[set],
				    (struct interval){ from * 16, (from + many) * 16, base, what });
				for (uint64_t i = 0; i < many; i++)
					pages[set][from + i] =
					    (struct page){ what + 1, base + i * 16 };
			}
			check(p, roots[set], pages[set]);
			if (n % 100 == 0)
				for (size_t i = 0; i < SETS; i++)
					check(p, roots[i], pages[i]);
		}
		for (size_t i = 0; i < SETS; i++) {
			range_sets_drop(p, roots[i]);
			roots[i] = 0;
		}
		assert_int_equal(range_sets_used(p), 0);
		range_sets_free(p);
	}
	(void)state;
}

static void test_2101_ranges_that_continue_each_other_are_one(void **state)
{
	struct range_sets *p = range_sets_new(1);
	struct interval at;
	uint32_t root = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		const uint64_t page = i * 7 % 1000;

		root = range_sets_set(
		    p, root, (struct interval){ page * 4096, (page + 1) * 4096, page * 4096, 3 });
	}
	assert_int_equal(range_sets_used(p), 1);
	assert_true(range_sets_find(p, root, 999, &at));
	assert_int_equal(at.end, 1000 * 4096);
	root = range_sets_set(p, root, (struct interval){ 4096, 8192, 4096, 4 });
	assert_int_equal(range_sets_used(p), 3);
	root = range_sets_set(p, root, (struct interval){ 4096, 8192, 4096, 3 });
	assert_int_equal(range_sets_used(p), 1);
	range_sets_drop(p, root);
	range_sets_free(p);
	(void)state;
}

static void test_2102_a_copy_costs_nothing_and_a_change_a_path(void **state)
{
	struct range_sets *p = range_sets_new(1);
	uint32_t root = 0, copies[1000];

	for (uint64_t i = 0; i < 100000; i++)
		root =
		    range_sets_set(p, root, (struct interval){ i * 8192, i * 8192 + 4096, 0, 1 });
	assert_int_equal(range_sets_used(p), 100000);
	for (size_t i = 0; i < ARRAY_LEN(copies); i++)
		copies[i] = range_sets_share(p, root);
	assert_int_equal(range_sets_used(p), 100000);
	for (size_t i = 0; i < ARRAY_LEN(copies); i++)
		copies[i] = range_sets_set(
		    p, copies[i], (struct interval){ i * 65536 + 4096, i * 65536 + 8192, 0, 2 });
	/* A path and its cuts: the tree is about 40 deep. */
	assert_in_range(range_sets_used(p), 100000, 100000 + 1000 * 200);
	for (size_t i = 0; i < ARRAY_LEN(copies); i++)
		range_sets_drop(p, copies[i]);
	assert_int_equal(range_sets_used(p), 100000);
	range_sets_drop(p, root);
	range_sets_free(p);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2100_shared_sets_are_as_tables_of_pages),
		cmocka_unit_test(test_2101_ranges_that_continue_each_other_are_one),
		cmocka_unit_test(test_2102_a_copy_costs_nothing_and_a_change_a_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
