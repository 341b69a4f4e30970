/* SPDX-License-Identifier: MIT */
/* Time by phase of the run: every unit is in the phase whose cycle it was, however phases are joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/profile/phases.h"

#define SCALE 12

static uint64_t units_of(const struct time_phase *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->count; i++)
		sum += p->cells[i].units;
	return sum;
}

/* A run of so many cycles, `step` at a time, each of another of `keys` instructions. Every seventh
 * step is pending and settles with the next one. */
static void run(struct time_phases *t, struct cells *c, uint64_t cycles, uint64_t step,
		unsigned keys)
{
	uint64_t pending[TIME_PENDING_KINDS] = { 0 };

	for (uint64_t now = 0, n = 0; now < cycles; n++) {
		const uint64_t key = cell_key(0x1000 + 2 * (n % keys), 0, 1);

		if (n % 7 == 0) {
			pending[n % TIME_PENDING_KINDS] += step;
		} else {
			for (unsigned k = 0; k < TIME_PENDING_KINDS; k++) {
				if (!pending[k])
					continue;
				cells_add(c, key, pending[k] * SCALE, 0);
				time_phases_settle(t, c, k, key, SCALE);
				pending[k] = 0;
			}
			time_phases_settled(t);
			cells_add(c, key, step * SCALE, 1);
		}
		now += step;
		if (now >= t->end && time_phases_ends(t, now)) {
			time_phases_end(t, now, n, pending);
			time_phases_take(t, c);
		}
	}
	/* what is pending at the end settles on the last one */
	for (unsigned k = 0; k < TIME_PENDING_KINDS; k++)
		if (pending[k]) {
			cells_add(c, cell_key(0x1000, 0, 1), pending[k] * SCALE, 0);
			time_phases_settle(t, c, k, cell_key(0x1000, 0, 1), SCALE);
		}
	time_phases_settled(t);
}

static void expect_whole(const struct time_phases *t)
{
	for (size_t i = 0; i < t->count; i++)
		assert_int_equal(units_of(&t->list[i]),
				 (t->list[i].cycles - (i ? t->list[i - 1].cycles : 0)) * SCALE);
}

static void test_3700_a_phase_has_the_units_of_its_cycles(void **state)
{
	static const uint64_t lengths[] = { 4096, 100000, 1048576, 5000000 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
		for (uint64_t step = 1; step < 100000; step = 7 * step + 1) {
			struct time_phases t = { 0 };
			struct cells c;

			time_phases_init(&t);
			cells_init(&c);
			run(&t, &c, lengths[i], step, 37);
			assert_in_range(t.count, 1, TIME_PHASES);
			expect_whole(&t);
			time_phases_free(&t);
			cells_free(&c);
		}
}

static void test_3701_phases_that_hold_too_much_are_joined(void **state)
{
	struct time_phases t = { 0 };
	struct cells c;
	(void)state;
	time_phases_init(&t);
	t.most = 3000;
	cells_init(&c);
	run(&t, &c, 2000000, 5, 900);
	assert_in_range(t.count, 2, 8);
	assert_in_range(t.ncells, 1, 2 * t.most);
	expect_whole(&t);
	time_phases_free(&t);
	cells_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_3700_a_phase_has_the_units_of_its_cycles),
		cmocka_unit_test(test_3701_phases_that_hold_too_much_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
