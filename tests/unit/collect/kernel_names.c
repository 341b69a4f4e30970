/* SPDX-License-Identifier: MIT */
/* The packed names of the kernel's functions, against a plain list. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/kernel_names.h"
#include "util/util.h"

#define NAMES 20000
#define BASE  0xffffffff81000000u

struct plain {
	uint64_t address;
	char name[40];
};

/* The last name at or below an address: of those with one address the first that was added. */
static const struct plain *plainly(const struct plain *all, uint64_t address, uint64_t *end)
{
	const struct plain *best = NULL;

	*end = UINT64_MAX;
	for (size_t i = 0; i < NAMES; i++) {
		if (all[i].address > address)
			*end = min_u64(*end, all[i].address);
		else if (!best || all[i].address > best->address)
			best = &all[i];
	}
	return best;
}

static void test_4405_packed_names_are_found_as_in_a_plain_list(void **state)
{
	struct plain *all = x_calloc(NAMES, sizeof(*all));
	struct kernel_names *k = kernel_names_new();
	size_t text = 0;
	struct rng r;

	rng_seed(&r, 3);
	for (size_t i = 0; i < NAMES; i++) {
		all[i].address = BASE + rng_below(&r, 4 * NAMES) * 16;
		snprintf(all[i].name, sizeof(all[i].name), "%s_%llx",
			 i % 2 ? "__pfx_subsystem_function" : "subsystem_function",
			 (unsigned long long)all[i].address);
		text += strlen(all[i].name) + 1;
		kernel_names_add(k, all[i].address, all[i].name);
	}
	kernel_names_pack(k);
	assert_true(kernel_names_bytes(k) < (text + NAMES * 8) / 2);
	for (int i = 0; i < 2000; i++) {
		const uint64_t address = BASE + rng_below(&r, 4 * NAMES * 16 + 100);
		uint64_t start = 0, end = 0, right_end;
		const struct plain *right = plainly(all, address, &right_end);
		const char *name = kernel_names_find(k, address, &start, &end);

		assert_int_equal(name != NULL, right != NULL);
		if (!right)
			continue;
		assert_string_equal(name, right->name);
		assert_int_equal(start, right->address);
		assert_int_equal(end, right_end);
	}
	kernel_names_free(k);
	k = kernel_names_new();
	kernel_names_pack(k);
	uint64_t start, end;

	assert_null(kernel_names_find(k, BASE, &start, &end));
	kernel_names_free(k);
	free(all);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_4405_packed_names_are_found_as_in_a_plain_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
