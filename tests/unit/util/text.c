/* SPDX-License-Identifier: MIT */
/* Text from untrusted sources and how it is shown, and numbers that a user writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "util/number.h"
#include "util/text.h"

static void shows(const char *text, const char *shown)
{
	char *got = text_shown(text);

	assert_string_equal(got, shown);
	assert_true(text_is_plain(got));
	assert_int_equal(text_is_plain(text), !strcmp(text, shown));
	free(got);
}

static void test_041_plain_text_is_shown_as_it_is(void **state)
{
	shows("", "");
	shows("main", "main");
	shows("operator new(unsigned long)", "operator new(unsigned long)");
	shows("naïve → ∑ 日本 🙂", "naïve → ∑ 日本 🙂");
	shows("back\\slash", "back\\slash");
}

static void test_042_controls_are_escaped(void **state)
{
	shows("a\nb\tc\rd\x1b[2Je\x7f", "a\\x0ab c\\x0dd\\x1b[2Je\\x7f");
	shows("\x01", "\\x01");
	shows("c1 \xc2\x9b 31m", "c1 \\u{9b} 31m"); /* CSI as a character of its own */
	shows("\xe2\x80\xa8", "\\u{2028}");
}

static void test_043_marks_of_direction_and_invisible_characters_are_escaped(void **state)
{
	shows("\xe2\x80\xae"
	      "evil",
	      "\\u{202e}evil");
	shows("\xe2\x81\xa6x\xe2\x81\xa9", "\\u{2066}x\\u{2069}");
	shows("a\xe2\x80\x8b"
	      "b",
	      "a\\u{200b}b");
	shows("\xef\xbb\xbf", "\\u{feff}");
	shows("\xd8\x9c", "\\u{61c}");
}

static void test_044_bytes_that_are_no_utf8_are_escaped(void **state)
{
	shows("\xff", "\\xff");
	shows("\xc3", "\\xc3"); /* truncated */
	shows("\xc3(", "\\xc3(");
	shows("\xc0\xaf", "\\xc0\\xaf");	  /* overlong encoding */
	shows("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* half of a surrogate pair */
	shows("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	shows("\x9b"
	      "31m",
	      "\\x9b31m"); /* CSI of eight-bit terminals */
}

static void test_045_any_bytes_become_plain_text(void **state)
{
	struct rng rng;
	char text[64];

	rng_seed(&rng, 45);
	for (int i = 0; i < 100000; i++) {
		size_t n = rng_below(&rng, sizeof(text));

		for (size_t k = 0; k < n; k++)
			text[k] = (char)(1 + rng_below(&rng, 255));
		text[n] = '\0';

		char *shown = text_shown_without(text, ";,");

		assert_true(text_is_plain(shown));
		assert_null(strpbrk(shown, ";,"));
		free(shown);
		text_make_plain(text);
		assert_true(text_is_plain(text));
		assert_int_equal(strlen(text), n);
	}
}

static bool reads(const char *text, uint64_t min, uint64_t max, enum number_units units,
		  uint64_t want)
{
	struct number_range r = { min, max, units };
	uint64_t n;

	return number_parse(text, &r, &n) && n == want;
}

static void test_046_numbers_are_read_in_full_or_not_at_all(void **state)
{
	static const char *const wrong[] = { "",
					     " 5",
					     "5 ",
					     "-1",
					     "+5",
					     "0x",
					     "x5",
					     "1e3",
					     "k",
					     "5kk",
					     "5M5",
					     "5K",
					     "5m",
					     "0x5k",
					     "5.0",
					     "5,0",
					     "5\n",
					     "٥",
					     "0x-1",
					     "--1",
					     "1_000",
					     "99999999999999999999",
					     "18446744073709551616",
					     "18446744073709551615k",
					     "18446744073709552G",
					     "0x10000000000000000" };

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct number_range r = { 0, 0, NUMBER_DECIMAL };
		uint64_t n;

		assert_false(number_parse(wrong[i], &r, &n));
		r.units = NUMBER_BINARY;
		assert_false(number_parse(wrong[i], &r, &n));
	}
	assert_true(reads("0", 0, 0, NUMBER_DECIMAL, 0));
	assert_true(reads("010", 0, 0, NUMBER_DECIMAL, 10));
	assert_true(reads("0x1F", 0, 0, NUMBER_DECIMAL, 31));
	assert_true(reads("5k", 0, 0, NUMBER_DECIMAL, 5000));
	assert_true(reads("5k", 0, 0, NUMBER_BINARY, 5120));
	assert_false(reads("5k", 0, 0, NUMBER_PLAIN, 5000));
	assert_true(reads("18446744073709551615", 0, 0, NUMBER_PLAIN, UINT64_MAX));
	assert_true(reads("18G", 0, 0, NUMBER_DECIMAL, 18000000000));
}

static void test_047_a_number_out_of_range_is_named_with_what_is_valid(void **state)
{
	struct number_range r = { 1, 64, NUMBER_PLAIN };
	struct err e;
	uint64_t n;

	assert_true(number_check("--x", "64", &r, &n, &e));
	assert_false(number_check("--x", "65", &r, &n, &e));
	assert_string_equal(e.text, "--x: '65' is not valid: a whole number from 1 to 64");
	assert_false(number_check("--x", "0", &r, &n, &e));
	assert_false(number_check("--x", "\x1b[2J", &r, &n, &e));
	assert_null(strchr(e.text, '\x1b'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_041_plain_text_is_shown_as_it_is),
		cmocka_unit_test(test_042_controls_are_escaped),
		cmocka_unit_test(test_043_marks_of_direction_and_invisible_characters_are_escaped),
		cmocka_unit_test(test_044_bytes_that_are_no_utf8_are_escaped),
		cmocka_unit_test(test_045_any_bytes_become_plain_text),
		cmocka_unit_test(test_046_numbers_are_read_in_full_or_not_at_all),
		cmocka_unit_test(test_047_a_number_out_of_range_is_named_with_what_is_valid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
