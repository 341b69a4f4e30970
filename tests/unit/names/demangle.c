/* SPDX-License-Identifier: MIT */
/* Names of C++ and Rust: what is shown of them, what stays as it is, and that a hostile one costs nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names/demangle.h"

static void shown_as(const char *name, const char *expected)
{
	char *found = demangle(name);

	if (expected) {
		assert_non_null(found);
		assert_string_equal(found, expected);
	} else {
		assert_null(found);
	}
	free(found);
}

static void test_2780_names_are_shown_without_mangling_and_parameters(void **state)
{
	char *probe = demangle("_Z1fv");

	if (!probe) {
		print_message("this build has no libiberty\n");
		skip();
	}
	free(probe);
	shown_as("_ZN3foo3barEi", "foo::bar");
	shown_as("_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back");
	shown_as("_ZN4core3ptr4drop17h0123456789abcdefE", "core::ptr::drop");
	shown_as("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	shown_as("main", NULL);
	shown_as("_Z", NULL);
	shown_as("_Zebra", NULL);
	shown_as("_ZN3foo3ba", NULL);
	shown_as("", NULL);
	(void)state;
}

static void test_2781_names_within_a_text_are_found(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = { { "call 1298 <_ZN3foo3barEi+0x18>", "call 1298 <foo::bar+0x18>" },
		     { "_ZN1a1bEv and _ZN1c1dEv", "a::b and c::d" },
		     { "x_ZN1a1bEv", NULL },
		     { "plain", NULL } };
	char *probe = demangle("_Z1fv");

	if (!probe)
		skip();
	free(probe);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *found = demangle_within(rows[i].text);

		if (rows[i].expected) {
			assert_non_null(found);
			assert_string_equal(found, rows[i].expected);
		} else {
			assert_null(found);
		}
		free(found);
	}
	(void)state;
}

/* Every template doubles the one before it: the text of this name has more than 2^30 bytes. */
static void test_2782_a_short_name_of_a_long_text_stays_as_it_is(void **state)
{
	char name[4096] = "_Z1fI1AIiiE";
	size_t n = strlen(name);

	for (int i = 0; i < 30; i++) {
		char from[16];

		/* S1_, S2_, …: the type that was made last */
		snprintf(from, sizeof(from), i < 9 ? "S%d_" : "S%c_", i < 9 ? i + 1 : 'A' + i - 9);
		n += (size_t)snprintf(name + n, sizeof(name) - n, "S_I%s%sE", from, from);
	}
	snprintf(name + n, sizeof(name) - n, "Evv");
	shown_as(name, NULL);
	memset(name, 'a', sizeof(name) - 1);
	memcpy(name, "_Z", 2);
	shown_as(name, NULL);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2780_names_are_shown_without_mangling_and_parameters),
		cmocka_unit_test(test_2781_names_within_a_text_are_found),
		cmocka_unit_test(test_2782_a_short_name_of_a_long_text_stays_as_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
