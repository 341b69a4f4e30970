/* SPDX-License-Identifier: MIT */
/* Packing of bytes into text, and unpacking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "util/pack.h"
#include "util/util.h"

static void test_061_what_is_packed_comes_back(void **state)
{
	struct rng r;

	rng_seed(&r, 1);
	for (size_t n = 0; n < 300; n++) {
		uint8_t data[300];
		size_t size = SIZE_MAX;

		for (size_t i = 0; i < n; i++)
			data[i] = n % 2 ? (uint8_t)rng_next(&r) : 'a';

		char *text = pack_text(data, n), *again = pack_text(data, n);
		uint8_t *back = unpack_text(text, n, &size);

		assert_string_equal(text, again);
		assert_int_equal(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					      "0123456789+/="),
				 strlen(text));
		assert_non_null(back);
		assert_int_equal(size, n);
		assert_memory_equal(back, data, n);
		free(text);
		free(again);
		free(back);
	}
}

static void test_062_more_than_the_limit_is_refused(void **state)
{
	static uint8_t zeros[1 << 20];
	char *text = pack_text(zeros, sizeof(zeros));
	size_t size;

	assert_true(strlen(text) < 1000);
	assert_null(unpack_text(text, sizeof(zeros) - 1, &size));
	free(text);
}

static void test_063_damaged_text_is_refused(void **state)
{
	static const char *const bad[] = { "",	   "=",	   "==",   "===",  "====",   "A",    "AAA",
					   "AAAA", "A=AA", "AA=A", "A*AA", "AAAA\n", "KLUv", " " };
	const char *words = "some words that are packed, packed, packed";
	char *text = pack_text(words, strlen(words));
	size_t size;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_null(unpack_text(bad[i], 1 << 20, &size));
	for (size_t n = 0; n < strlen(text); n++) {
		char *cut = x_strndup(text, n);

		assert_null(unpack_text(cut, 1 << 20, &size));
		free(cut);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_061_what_is_packed_comes_back),
		cmocka_unit_test(test_062_more_than_the_limit_is_refused),
		cmocka_unit_test(test_063_damaged_text_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
