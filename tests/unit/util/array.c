/* SPDX-License-Identifier: MIT */
/* Binary searches in sorted arrays, and growth of arrays, at every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/array.h"
#include "util/interned.h"

/* Compares with a linear search, in arrays with equal neighbours and gaps. */
static void test_1060_a_search_finds_the_first_element_that_is_not_before(void **state)
{
	enum { LONGEST = 40 };
	unsigned number[LONGEST];

	for (size_t n = 0; n <= LONGEST; n++) {
		for (size_t i = 0; i < n; i++)
			number[i] = (unsigned)(i / 3 * 2 + 1);
		for (unsigned x = 0; x < LONGEST; x++) {
			size_t want = 0;

			while (want < n && number[want] < x)
				want++;
			assert_int_equal(ARRAY_SEARCH(n, i, number[i] < x), want);
		}
	}
}

static void test_1061_a_search_inside_a_search_keeps_its_own_place(void **state)
{
	static const unsigned row[3][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };

	/* the first row in which some number is at least 5 */
	assert_int_equal(ARRAY_SEARCH(3, i, ARRAY_SEARCH(3, j, row[i][j] < 5) == 3), 1);
}

static void test_1062_elements_that_are_added_one_by_one_stay(void **state)
{
	uint64_t *numbers = NULL;
	uint32_t count = 0;

	for (uint64_t i = 0; i < 5000; i++)
		*ARRAY_ADD(numbers, count) = i * i;
	assert_int_equal(count, 5000);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(numbers[i], i * i);
	free(numbers);
}

static void test_1063_room_doubles_or_is_what_is_needed(void **state)
{
	uint32_t *numbers = NULL;
	size_t capacity = 0;

	ARRAY_ROOM(numbers, capacity, 3);
	assert_int_equal(capacity, 3);
	for (uint32_t i = 0; i < 3; i++)
		numbers[i] = i;
	ARRAY_ROOM(numbers, capacity, 3);
	assert_int_equal(capacity, 3);
	ARRAY_ROOM(numbers, capacity, 4);
	assert_int_equal(capacity, 6);
	ARRAY_ROOM(numbers, capacity, 100);
	assert_int_equal(capacity, 100);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(numbers[i], i);
	free(numbers);
}

/* Returns the exit status of a process that asks for room for that many elements of 8 bytes. */
static int status_of_asking(size_t capacity, size_t need)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		uint64_t *numbers = NULL;

		close(2); /* hide the error message */
		ARRAY_ROOM(numbers, capacity, need);
		_exit(numbers ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_1064_a_size_that_overflows_is_out_of_memory(void **state)
{
	assert_int_equal(status_of_asking(0, 1), 0);
	assert_int_equal(status_of_asking(0, SIZE_MAX / 8 + 2), 2); /* 8 bytes, if it wrapped */
	assert_int_equal(status_of_asking(SIZE_MAX / 2 + 2, SIZE_MAX / 2 + 3), 2);
}

static void test_3703_a_text_is_kept_once_however_many_there_are(void **state)
{
	struct interned t = { 0 };
	const char *first[5000];
	char text[32];

	(void)state;
	assert_int_equal(interned_number(&t, NULL), 0);
	assert_null(interned(&t, NULL));
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "text %u", i);
		first[i] = interned(&t, text);
		assert_int_equal(interned_number(&t, text), i + 1);
	}
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "text %u", i);
		assert_string_equal(first[i], text);
		assert_ptr_equal(interned(&t, text), first[i]);
	}
	assert_int_equal(t.count, 5000);
	interned_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_3703_a_text_is_kept_once_however_many_there_are),
		cmocka_unit_test(test_1060_a_search_finds_the_first_element_that_is_not_before),
		cmocka_unit_test(test_1061_a_search_inside_a_search_keeps_its_own_place),
		cmocka_unit_test(test_1062_elements_that_are_added_one_by_one_stay),
		cmocka_unit_test(test_1063_room_doubles_or_is_what_is_needed),
		cmocka_unit_test(test_1064_a_size_that_overflows_is_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
