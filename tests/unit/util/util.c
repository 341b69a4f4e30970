/* SPDX-License-Identifier: MIT */
/* Errors, and random numbers that are the same on every host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/number.h"
#include "util/util.h"

static void test_011_err_set_formats_and_returns_false(void **state)
{
	struct err e;

	assert_false(err_set(&e, "line %d: %s", 7, "bad"));
	assert_string_equal(e.text, "line 7: bad");
	assert_false(err_set(NULL, "nobody listens"));
}

static void test_012_a_long_error_is_cut_not_overrun(void **state)
{
	struct err e;
	char word[2000];

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	err_set(&e, "%s", word);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

/* A line feed in a file name must not make two lines of a message. */
static void test_921_an_error_is_one_line_whatever_a_name_holds(void **state)
{
	struct err e;

	err_set(&e, "%s: no such file", "a\nb\033[2J\x7f");
	assert_string_equal(e.text, "a?b?[2J?: no such file");
}

/* xoshiro256** from the state 1, 2, 3, 4: the values that its authors' code gives. */
static void test_013_random_numbers_are_those_of_xoshiro256starstar(void **state)
{
	static const uint64_t want[] = { 11520, 0, 1509978240, 1215971899390074240ull };
	struct rng r = { .s = { 1, 2, 3, 4 } };

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_int_equal(rng_next(&r), want[i]);
}

static void test_014_seeds_give_different_repeatable_streams(void **state)
{
	struct rng a, b, c;

	rng_seed(&a, 1);
	rng_seed(&b, 1);
	rng_seed(&c, 2);
	for (int i = 0; i < 100; i++) {
		uint64_t x = rng_next(&a);
		assert_int_equal(x, rng_next(&b));
		assert_int_not_equal(x, rng_next(&c));
	}
}

static void test_015_seed_zero_is_a_valid_seed(void **state)
{
	struct rng r;
	uint64_t any = 0;

	rng_seed(&r, 0);
	for (int i = 0; i < 4; i++)
		any |= rng_next(&r);
	assert_int_not_equal(any, 0);
}

static void test_016_rng_below_is_in_range_and_even(void **state)
{
	struct rng r;
	unsigned count[7] = { 0 };

	rng_seed(&r, 16);
	for (int i = 0; i < 70000; i++) {
		uint64_t x = rng_below(&r, 7);
		assert_true(x < 7);
		count[x]++;
	}
	/* 10000 expected, standard deviation 93: six of them. */
	for (int i = 0; i < 7; i++)
		assert_in_range(count[i], 10000 - 556, 10000 + 556);
	assert_int_equal(rng_below(&r, 1), 0);
}

static void test_017_allocation_of_nothing_is_not_null(void **state)
{
	void *a = x_malloc(0), *b = x_calloc(0, 8), *c = x_realloc(NULL, 0);

	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	free(a);
	free(b);
	free(c);
}

static void test_018_hash_u64_spreads_neighbours(void **state)
{
	/* The finaliser is a bijection: neighbours differ, and in about half of their bits. */
	unsigned bits = 0;

	for (uint64_t i = 0; i < 1000; i++)
		bits += (unsigned)__builtin_popcountll(hash_u64(i) ^ hash_u64(i + 1));
	assert_in_range(bits, 31000, 33000);
}

static void test_020_a_path_lies_below_a_folder_or_does_not(void **state)
{
	assert_string_equal(path_below("/a/b/c", "/a/b"), "c");
	assert_string_equal(path_below("/a/b/c/d", "/a/b"), "c/d");
	assert_string_equal(path_below("/a/b", "/a/b"), "");
	assert_null(path_below("/a/bc", "/a/b"));
	assert_null(path_below("/a", "/a/b"));
}

static void test_1065_the_name_in_a_path_is_what_follows_its_last_slash(void **state)
{
	assert_string_equal(path_name("/a/b"), "b");
	assert_string_equal(path_name("a/b.ini"), "b.ini");
	assert_string_equal(path_name("b"), "b");
	assert_string_equal(path_name(""), "");
	assert_string_equal(path_name("/a/"), "/a/"); /* never an empty name */
	assert_null(path_name(NULL));
}

static void test_1066_large_numbers_have_a_comma_between_groups_of_three_digits(void **state)
{
	static const struct {
		uint64_t n;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 12345, "12,345" },
		{ 123456, "123,456" },
		{ 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};
	char buf[NUMBER_COMMAS_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(number_commas(rows[i].n, buf), rows[i].text);
}

static void test_1067_a_number_above_16_bits_is_the_largest_of_16(void **state)
{
	assert_int_equal(clip_u16(0), 0);
	assert_int_equal(clip_u16(65534), 65534);
	assert_int_equal(clip_u16(65535), 65535);
	assert_int_equal(clip_u16(65536), 65535);
	assert_int_equal(clip_u16(UINT64_MAX), 65535);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_011_err_set_formats_and_returns_false),
		cmocka_unit_test(test_012_a_long_error_is_cut_not_overrun),
		cmocka_unit_test(test_921_an_error_is_one_line_whatever_a_name_holds),
		cmocka_unit_test(test_013_random_numbers_are_those_of_xoshiro256starstar),
		cmocka_unit_test(test_014_seeds_give_different_repeatable_streams),
		cmocka_unit_test(test_015_seed_zero_is_a_valid_seed),
		cmocka_unit_test(test_016_rng_below_is_in_range_and_even),
		cmocka_unit_test(test_017_allocation_of_nothing_is_not_null),
		cmocka_unit_test(test_018_hash_u64_spreads_neighbours),
		cmocka_unit_test(test_020_a_path_lies_below_a_folder_or_does_not),
		cmocka_unit_test(test_1065_the_name_in_a_path_is_what_follows_its_last_slash),
		cmocka_unit_test(
		    test_1066_large_numbers_have_a_comma_between_groups_of_three_digits),
		cmocka_unit_test(test_1067_a_number_above_16_bits_is_the_largest_of_16),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
