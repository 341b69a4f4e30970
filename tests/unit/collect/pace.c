/* SPDX-License-Identifier: MIT */
/* Slices of the daemon's own work: no second has too much, and none waits for ever. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "collect/pace.h"

/* A minute of a collector that takes so much of each second, in bursts of 10 ms. Returns the most that a
 * second took, and in *slices how many slices were given. */
static double busiest_second(double collector_ms, double last_piece_ms, unsigned *slices)
{
	struct pace p = { 0 };
	double cpu = 0, most = 0, owed = 0, at[2400];

	*slices = 0;
	for (int i = 0; i < 2400; i++) {
		/* 40 times a second: the poll may return early. */
		owed += collector_ms / 40;
		if (owed >= 10) {
			cpu += owed;
			owed = 0;
		}
		const uint64_t slice =
		    pace_slice(&p, 1000000000u + (uint64_t)i * 25000000u, (uint64_t)(cpu * 1e6));

		*slices += slice != 0;
		cpu += slice ? (double)slice / 1e6 + last_piece_ms : 0;
		at[i] = cpu;
		if (i >= 40)
			most = cpu - at[i - 40] > most ? cpu - at[i - 40] : most;
	}
	return most;
}

static void test_4403_writing_takes_what_the_collector_leaves_of_a_second(void **state)
{
	unsigned slices;

	/* Whatever the collector takes up to 2%, no second has more than 5%. */
	for (int ms = 0; ms <= 20; ms += 5)
		assert_true(busiest_second(ms, 2, &slices) <= 50);
	assert_true(slices > 60);
	/* A collector that leaves nothing does not end all writing, and is not made much worse. */
	assert_true(busiest_second(80, 2, &slices) <= 80 + 10 + 4);
	assert_in_range(slices, 4, 8);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_4403_writing_takes_what_the_collector_leaves_of_a_second),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
