/* SPDX-License-Identifier: MIT */
/* The rate that a budget allows, on machines that are made up. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "collect/spending.h"
#include "util/util.h"

#define BUDGET 0.01

/* A machine: what a sample costs, what it is taken for at first, what the collector takes all the time
 * and at a cut, which is every minute. */
struct machine {
	double cpus, start_s, sample_s, believed_s, collector, cut_s;
};

/* Share of the machine that is used from the start to the end, in 2% steps of a second. */
static double cost(const struct machine *m, double end_s)
{
	static const double looks[] = { 0, 1, 3, 7, 15, 31, 91 };
	double used = m->start_s, rate = 0, next = 0, busy = 0, last_busy = 0, last = 0;
	size_t look = 0;
	int cuts = 0;

	for (double t = 0; t < end_s; t += 0.02) {
		if (t >= next) {
			double collector = t > last ? (busy - last_busy) / (t - last) / m->cpus : 0;

			if (!cuts && collector < BUDGET / 4)
				collector = BUDGET / 4;
			rate = spending_rate(
			    &(struct spending){ .budget = BUDGET,
						.cpus = m->cpus,
						.life_s = t,
						.used_s = used,
						.collector = collector,
						.sample_s = look ? m->sample_s : m->believed_s });
			last = t;
			last_busy = busy;
			look++;
			next = look < ARRAY_LEN(looks) ? looks[look] : next + 60;
		}
		const double samples = rate * m->cpus * 0.02 * m->sample_s;
		const double own =
		    m->collector * m->cpus * 0.02 + (t >= 60 * (cuts + 1) ? m->cut_s : 0);

		cuts += t >= 60 * (cuts + 1);
		busy += own;
		used += samples + own;
	}
	return used / m->cpus / end_s;
}

/* It starts at once, so that what it is taken for a sample is wrong by a fifth either way. */
static void test_4610_a_budget_is_held_from_the_first_half_minute_on(void **state)
{
	static const struct machine machines[] = {
		{ 2, 0.12, 14e-6, 14e-6, 0.001, 0.05 },	 { 2, 0.17, 14e-6, 11.5e-6, 0.001, 0.05 },
		{ 2, 0.12, 14e-6, 17e-6, 0.0015, 0.1 },	 { 1, 0.12, 14e-6, 14e-6, 0.001, 0.05 },
		{ 8, 0.12, 3e-6, 2.5e-6, 0.0005, 0.05 }, { 64, 0.2, 2e-6, 2e-6, 0.0002, 0.1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		const double at[] = { cost(&machines[i], 30), cost(&machines[i], 60),
				      cost(&machines[i], 600) };

		print_message("%.2f%% in 30 s, %.2f%% in 60 s, %.2f%% in 600 s\n", 100 * at[0],
			      100 * at[1], 100 * at[2]);
		assert_true(at[0] <= BUDGET + 0.003);
		assert_true(at[1] <= BUDGET + 0.001);
		assert_true(at[2] <= BUDGET + 0.0005);
	}
	/* What is left is used, not given away. */
	assert_true(cost(&machines[0], 600) > 0.9 * BUDGET);
	(void)state;
}

static void test_4611_a_rate_is_between_ten_and_the_papers(void **state)
{
	const struct spending rich = { .budget = 0.5, .cpus = 2, .life_s = 10, .sample_s = 1e-6 };
	const struct spending poor = { .budget = 0.001,
				       .cpus = 2,
				       .life_s = 10,
				       .used_s = 100,
				       .collector = 0.01,
				       .sample_s = 1e-5 };

	assert_float_equal(spending_rate(&rich), 5200, 0.1);
	assert_float_equal(spending_rate(&poor), 10, 0.1);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_4610_a_budget_is_held_from_the_first_half_minute_on),
		cmocka_unit_test(test_4611_a_rate_is_between_ten_and_the_papers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
