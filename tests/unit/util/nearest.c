/* SPDX-License-Identifier: MIT */
/* Edit distances with known values, the metric's laws on random words, and the choice of a nearest
 * name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "util/nearest.h"
#include "util/util.h"

static void test_001_known_distances(void **state)
{
	assert_int_equal(edit_distance("", ""), 0);
	assert_int_equal(edit_distance("", "abc"), 3);
	assert_int_equal(edit_distance("kitten", "sitting"), 3);
	assert_int_equal(edit_distance("saturday", "sunday"), 3);
	assert_int_equal(edit_distance("seed", "seeed"), 1);
	assert_int_equal(edit_distance("seed", "sed"), 1);
}

static void test_002_a_swap_of_neighbours_is_one_edit(void **state)
{
	assert_int_equal(edit_distance("porfile", "profile"), 1);
	assert_int_equal(edit_distance("ab", "ba"), 1);
	assert_int_equal(edit_distance("abcd", "badc"), 2);
}

static void random_word(struct rng *r, char *word, size_t longest)
{
	size_t n = rng_below(r, longest + 1);

	for (size_t i = 0; i < n; i++)
		word[i] = (char)('a' + rng_below(r, 4));
	word[n] = '\0';
}

/* The definition, without a table: exponential, so for short words only. */
static unsigned slow_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned best, other;

	if (!na || !nb)
		return (unsigned)(na + nb);
	best = slow_distance(a, na - 1, b, nb - 1) + (a[na - 1] != b[nb - 1]);
	other = slow_distance(a, na - 1, b, nb) + 1;
	best = other < best ? other : best;
	other = slow_distance(a, na, b, nb - 1) + 1;
	best = other < best ? other : best;
	if (na > 1 && nb > 1 && a[na - 1] == b[nb - 2] && a[na - 2] == b[nb - 1]) {
		other = slow_distance(a, na - 2, b, nb - 2) + 1;
		best = other < best ? other : best;
	}
	return best;
}

static void test_003_distance_agrees_with_its_definition_on_random_words(void **state)
{
	struct rng r;
	char a[8], b[8];

	rng_seed(&r, 3);
	for (int i = 0; i < 2000; i++) {
		random_word(&r, a, 6);
		random_word(&r, b, 6);
		assert_int_equal(edit_distance(a, b), slow_distance(a, strlen(a), b, strlen(b)));
		assert_int_equal(edit_distance(a, b), edit_distance(b, a));
	}
}

static void test_004_words_of_any_length_are_safe(void **state)
{
	char word[1000];

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_true(edit_distance(word, "seed") > 4);
	assert_int_equal(edit_distance(word, word), 0);
}

static void test_005_the_first_among_equally_near_names_wins(void **state)
{
	struct nearest near = { .word = "sede" };

	assert_null(near.best);
	nearest_try(&near, "period");
	nearest_try(&near, "seed");
	nearest_try(&near, "side");
	assert_string_equal(near.best, "seed");
	assert_int_equal(near.distance, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_001_known_distances),
		cmocka_unit_test(test_002_a_swap_of_neighbours_is_one_edit),
		cmocka_unit_test(test_003_distance_agrees_with_its_definition_on_random_words),
		cmocka_unit_test(test_004_words_of_any_length_are_safe),
		cmocka_unit_test(test_005_the_first_among_equally_near_names_wins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
