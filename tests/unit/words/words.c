/* SPDX-License-Identifier: MIT */
/* The vocabulary: names are distinct, and the numbers that stores and traces rely on stay. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "trace/record.h"
#include "words/words.h"

static void test_081_a_name_stands_once_in_its_list(void **state)
{
	for (unsigned l = 0; l < words_lists_count; l++)
		for (unsigned i = 0; i < words_lists[l].count; i++) {
			assert_true(words_lists[l].rows[i].name && words_lists[l].rows[i].meaning);
			for (unsigned k = 0; k < i; k++)
				assert_string_not_equal(words_lists[l].rows[i].name,
							words_lists[l].rows[k].name);
		}
}

static void test_082_each_cost_category_has_a_bit_of_its_own(void **state)
{
	unsigned set = 0;

#define X(id, name, bit, ...)                                                                      \
	assert_false(set >> bit & 1);                                                              \
	set |= 1u << bit;
	WORDS_COSTS(X)
#undef X
	assert_int_equal(set, (1u << COST_COUNT) - 1);
}

static void test_083_profiled_events_have_letters_and_ranks_of_their_own(void **state)
{
	static const struct {
		char letter;
		int rank;
	} row[] = {
#define X(id, name, letter, colour, rank, hides, meaning) { letter, rank },
		WORDS_PROFILED_EVENTS(X)
#undef X
	};

	for (unsigned i = 0; i < EVENT_PROFILED_COUNT; i++)
		for (unsigned k = 0; k < i; k++) {
			assert_int_not_equal(row[i].letter, row[k].letter);
			assert_int_not_equal(row[i].rank, row[k].rank);
		}
}

/* Existing files hold these numbers. */
static void test_084_numbers_that_files_hold_stay(void **state)
{
	assert_int_equal(PSV_DR_L1, 1 << 0);
	assert_int_equal(PSV_TEA, 0x1ff);
	assert_int_equal(PSV_FL_CSR, 1 << 9);
	assert_int_equal(PSV_SERIAL, 1 << 19);
	assert_int_equal(TIME_MISC_FLUSH, 6);
	assert_int_equal(COST_WIN, 7);
	assert_int_equal(CPI_FRONTEND, 11);
	assert_int_equal(DISPATCH_SERIAL, 8);
	assert_int_equal(FETCH_END, 10);
	assert_int_equal(FLUSH_CSR, 4);
	assert_int_equal(LEVEL_MEM, 5);
	assert_int_equal(KIND_OTHER, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_081_a_name_stands_once_in_its_list),
		cmocka_unit_test(test_082_each_cost_category_has_a_bit_of_its_own),
		cmocka_unit_test(test_083_profiled_events_have_letters_and_ranks_of_their_own),
		cmocka_unit_test(test_084_numbers_that_files_hold_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
