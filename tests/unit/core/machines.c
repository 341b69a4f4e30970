/* SPDX-License-Identifier: MIT */
/* Whole runs: every machine, random machines, determinism, running in pieces, warming. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

static void test_360_every_kernel_commits_what_the_guest_executed_on_every_machine(void **state)
{
	for (size_t m = 0; m < machine_files_count; m++) {
		for (unsigned kernel = 1; kernel <= 19; kernel++) {
			struct kernel_run k = { .machine = machine_files[m].name,
						.kernel = kernel,
						.size = 65536,
						.check = kernel != 13 };

			run_kernel(&k, kernel == 13 ? 1 : 20);
		}
	}
}

static void test_361_every_legal_machine_runs_to_the_end(void **state)
{
	static const unsigned kernels[] = { 16, 17, 19, 18, 8, 12, 11 };
	struct rng r;
	unsigned legal = 0;

	rng_seed(&r, 361);
	for (unsigned i = 0; legal < 120 && i < 20000; i++) {
		struct random_machine m;
		struct kernel_run k = { .kernel = kernels[rng_below(&r, ARRAY_LEN(kernels))],
					.size = 65536,
					.check = true };

		if (!random_machine(&r, &m))
			continue;
		legal++;
		k.machine = m.name;
		k.sets = m.list;
		run_kernel(&k, 30);
	}
	assert_true(legal == 120);
}

static void test_362_the_same_run_takes_the_same_cycles(void **state)
{
	for (unsigned kernel = 8; kernel <= 19; kernel++) {
		struct kernel_run k = { .machine = "boom-tea", .kernel = kernel, .size = MB };

		if (kernel == 13)
			continue;
		assert_int_equal(run_kernel(&k, 200).cycles, run_kernel(&k, 200).cycles);
	}
}

/* Every host and compiler must give these cycles. They change only with the model. */
static void test_363_cycles_do_not_depend_on_host_or_compiler(void **state)
{
	struct kernel_run k = { .machine = "boom-tip", .kernel = 17, .size = 65536 };
	struct core_stats s = run_kernel(&k, 2000);

	assert_true(s.mispredicts > 100 && s.wrong_path > 1000);
	assert_int_equal(s.cycles, 21113);
	assert_int_equal(s.fetched, 48783);
}

static struct guest *new_guest(char *kernel, char *rounds)
{
	char *args[] = { (char *)KERNELS, kernel, rounds, (char *)"65536", (char *)"64", NULL };
	struct guest_config config = { .argv = args, .envp = (char **)kernel_environment };
	struct err e;
	struct guest *g = guest_new(&config, &e);

	if (!g)
		fail_msg("%s", e.text);
	return g;
}

static void test_364_running_in_pieces_changes_nothing(void **state)
{
	struct machine config;
	struct err e;

	config_of(&config, "boom-tip", NULL);

	struct guest *g = new_guest("17", "500");
	struct core *c = core_new(&config, g, NULL, &e);
	struct kernel_run whole = { .machine = "boom-tip", .kernel = 17, .size = 65536 };

	core_limit(c, 0);
	while (core_continue(c, 7) == CORE_RUNNING)
		;
	assert_int_equal(core_stats(c)->cycles, run_kernel(&whole, 500).cycles);
	core_free(c);
	guest_free(g);
}

static void test_365_a_limit_stops_after_exactly_so_many_instructions(void **state)
{
	struct machine config;
	struct err e;

	config_of(&config, "boom-tip", NULL);

	struct guest *g = new_guest("17", "500");
	struct core *c = core_new(&config, g, NULL, &e);

	assert_int_equal(core_run(c, 1234), CORE_STOPPED);
	assert_int_equal(core_stats(c)->insts, 1234);
	assert_int_equal(guest_insts(g), 1234);
	assert_int_equal(core_run(c, 1), CORE_STOPPED);
	assert_int_equal(core_stats(c)->insts, 1235);
	assert_int_equal(core_run(c, 0), CORE_ENDED);
	assert_int_equal(core_stats(c)->insts, guest_insts(g));
	core_free(c);
	guest_free(g);
}

static void test_366_warming_teaches_caches_and_predictors(void **state)
{
	struct machine config;
	struct err e;
	uint64_t cycles[2];

	config_of(&config, "boom-tip", SETS("exception.page_faults=no"));
	for (unsigned warm = 0; warm < 2; warm++) {
		struct guest *g = new_guest("9", "4000");
		struct core *c = core_new(&config, g, NULL, &e);

		if (warm) {
			assert_int_equal(core_warm(c, 12000), CORE_STOPPED);
		} else {
			guest_run(g, 12000);
			core_attach(c);
		}
		core_run(c, 5000);
		assert_int_equal(core_stats(c)->insts, 5000);
		cycles[warm] = core_stats(c)->cycles;
		core_free(c);
		guest_free(g);
	}
	assert_true(cycles[1] < cycles[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_360_every_kernel_commits_what_the_guest_executed_on_every_machine),
		cmocka_unit_test(test_361_every_legal_machine_runs_to_the_end),
		cmocka_unit_test(test_362_the_same_run_takes_the_same_cycles),
		cmocka_unit_test(test_363_cycles_do_not_depend_on_host_or_compiler),
		cmocka_unit_test(test_364_running_in_pieces_changes_nothing),
		cmocka_unit_test(test_365_a_limit_stops_after_exactly_so_many_instructions),
		cmocka_unit_test(test_366_warming_teaches_caches_and_predictors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
