/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose time is known without a simulator. The test is exact where the closed form is; it
 * allows 2% where the edges of a loop add something.
 */
#include "harness.h"

#define BOOM_DEPTH    8 /* boom-tip: fetch.depth + decode.depth */
#define BOOM_REDIRECT 2
#define BOOM_L2	      (4 + 14)
#define BOOM_LLC      (4 + 14 + 30)

static struct kernel_run boom(unsigned kernel, const char *const *sets)
{
	return (struct kernel_run){
		.machine = "boom-tip", .kernel = kernel, .sets = sets, .check = true
	};
}

static void test_310_dependent_additions_take_a_cycle_each(void **state)
{
	struct kernel_run k = boom(1, SETS(PERFECT));

	assert_true(cycles_per_round(&k, 20, 60) == 64);
}

static void test_311_the_wakeup_loop_adds_to_each_link_of_a_chain(void **state)
{
	struct kernel_run k = boom(1, SETS(PERFECT, "window.wakeup=1"));

	assert_true(cycles_per_round(&k, 20, 60) == 128);
}

static void test_312_independent_additions_run_at_the_width_of_the_machine(void **state)
{
	struct kernel_run k = boom(2, SETS(PERFECT));

	assert_true(cycles_per_round(&k, 400, 800) == 66 / 4.0);
}

static void test_313_loads_that_hit_chain_at_the_l1_latency(void **state)
{
	struct kernel_run k = boom(3, SETS(PERFECT));

	assert_true(cycles_per_round(&k, 20, 60) == 64 * 4);
	k.machine = "fields2004";
	assert_true(cycles_per_round(&k, 20, 60) == 64 * 2);
}

static void test_314_a_pointer_chase_costs_the_latency_of_its_level(void **state)
{
	struct kernel_run l2 = boom(3, SETS(PLAIN)), llc = l2,
			  memory = boom(3, SETS(FLAT, "mem.latency=200"));

	l2.size = 128 * 1024;
	llc.size = MB;
	memory.size = 8 * MB;
	l2.check = llc.check = memory.check = false;
	assert_near(cycles_per_round(&l2, 40, 80) / 64, BOOM_L2, 2);
	assert_near(cycles_per_round(&llc, 300, 600) / 64, BOOM_LLC, 2);
	assert_near(cycles_per_round(&memory, 2100, 2500) / 64, BOOM_LLC + 200, 2);
}

static void test_315_multiplications_and_divisions_chain_at_their_latency(void **state)
{
	struct kernel_run mul = boom(4, SETS(PERFECT)), div = boom(5, SETS(PERFECT));
	struct kernel_run fadd = boom(14, SETS(PERFECT));

	assert_true(cycles_per_round(&mul, 20, 60) == 64 * 3);
	assert_true(cycles_per_round(&div, 20, 40) == 64 * 34);
	assert_true(cycles_per_round(&fadd, 20, 60) == 64 * 4);
}

static void
test_316_taken_branches_are_fetched_one_a_cycle_or_as_many_as_the_machine_says(void **state)
{
	struct kernel_run one = boom(6, SETS(PERFECT));
	struct kernel_run two = boom(6, SETS(PERFECT, "fetch.taken_branches=2"));

	assert_true(cycles_per_round(&one, 100, 300) == 65);
	assert_near(cycles_per_round(&two, 100, 300), 65 / 2.0, 2);
}

static void test_317_a_mispredict_costs_resolution_redirect_and_the_front_end(void **state)
{
	struct kernel_run k = boom(7, SETS("bpred.direction=taken", "exception.page_faults=no"));
	/* A branch dispatches, issues a cycle later and resolves a cycle after that; one taken
	 * branch ends the loop. */
	double penalty = BOOM_DEPTH + 1 + 1 + BOOM_REDIRECT;

	assert_true(cycles_per_round(&k, 20, 60) == 64 * penalty + 1);
}

static void test_318_store_to_load_forwarding_takes_its_latency(void **state)
{
	struct kernel_run k = boom(8, SETS(PERFECT, "lsu.forward_latency=2"));

	assert_true(cycles_per_round(&k, 20, 60) == 64 * 2);
}

static void test_319_mshrs_limit_a_stream_of_misses(void **state)
{
	for (unsigned mshrs = 1; mshrs <= 8; mshrs *= 2) {
		char set[32];

		snprintf(set, sizeof(set), "l1d.mshrs=%u", mshrs);

		struct kernel_run k = boom(9, SETS(FLAT, "mem.latency=200", set));

		k.size = 8 * MB;
		k.check = false;
		assert_near(cycles_per_round(&k, 1000, 4000), (BOOM_LLC + 200.0) / mshrs, 2);
	}
}

static void test_320_memory_bandwidth_limits_a_stream(void **state)
{
	struct kernel_run k = boom(9, SETS(FLAT, "mem.bytes_per_kcycle=2000", "l1d.mshrs=32",
					   "l2.mshrs=32", "llc.mshrs=32"));

	/* The first lines evict dirty lines from the LLC; each line is read once and written back
	 * once. */
	k.size = 16 * MB;
	k.check = false;
	assert_near(cycles_per_round(&k, 10000, 14000), 2 * 64 * 1000 / 2000.0, 2);
	/* All dirty lines have been evicted. */
	assert_near(cycles_per_round(&k, 90000, 94000), 64 * 1000 / 2000.0, 2);
}

static void test_321_memory_parallelism_grows_with_the_reorder_buffer(void **state)
{
	for (unsigned rob = 32; rob <= 256; rob *= 2) {
		char set[32];

		snprintf(set, sizeof(set), "window.rob=%u", rob);

		struct kernel_run k = boom(10, SETS(FLAT, set, "mem.latency=952",
						    "window.int_queue=300", "window.mem_queue=300",
						    "window.int_regs=600", "lsu.load_queue=300",
						    "l1d.mshrs=32", "l2.mshrs=32", "llc.mshrs=32"));

		k.size = 8 * MB;
		k.check = false;
		/* One load comes every 32 instructions. */
		assert_near(cycles_per_round(&k, 200, 1000), 1000.0 / (rob / 32), 2);
	}
}

static void test_322_a_tlb_reaches_as_far_as_its_entries(void **state)
{
	for (unsigned pages = 31; pages <= 33; pages++) {
		struct kernel_run k =
		    boom(3, SETS(PERFECT, "l1d.prefetch=none", "l1i.prefetch=none",
				 "stlb.entries=0", "walk.kind=flat", "walk.latency=30"));

		k.stride = 4096 + 64; /* another set each, so that the lines stay in the L1 */
		k.size = pages * k.stride;
		assert_near(cycles_per_round(&k, 40, 80) / 64, pages <= 32 ? 4 : 34, 2);
	}
}

static void test_323_code_larger_than_the_icache_waits_for_the_next_level(void **state)
{
	struct kernel_run big = boom(13, SETS(PERFECT, "l1i.prefetch=none"));
	struct kernel_run fits = boom(13, SETS(PERFECT, "l1i.size=128k"));

	big.check = fits.check = false;
	/* A line of 16 instructions: the miss, then three more blocks of four. */
	assert_near(cycles_per_round(&big, 4, 8) / 1024, 1 + 14 + 3, 2);
	assert_near(cycles_per_round(&fits, 4, 8) / 1024, 16 / 4.0, 2);
}

static void test_324_reading_fflags_drains_and_refills_the_pipeline(void **state)
{
	struct kernel_run k = boom(11, SETS(PERFECT)),
			  none = boom(11, SETS(PERFECT, "exception.csr=none"));

	/* The penalty: front end, issue, completion and commit in one cycle, redirect. */
	assert_near(cycles_per_round(&k, 20, 60), 16 * (BOOM_DEPTH + 1 + 1 + 2.0), 2);
	assert_true(cycles_per_round(&none, 20, 60) < 16);
}

static void test_325_a_full_store_queue_drains_at_the_rate_of_the_mshrs(void **state)
{
	for (unsigned size = 4; size <= 32; size *= 8) {
		char set[32];

		snprintf(set, sizeof(set), "lsu.store_queue=%u", size);

		struct kernel_run k = boom(12, SETS(FLAT, "mem.latency=200", "l1d.mshrs=4", set));

		k.size = 8 * MB;
		k.check = false;
		assert_near(cycles_per_round(&k, 1000, 4000), (BOOM_LLC + 200.0) / 4, 2);
		assert_true(run_kernel(&k, 4000).dispatch_stall[DISPATCH_SQ] > 0);
	}
}

static void test_326_a_system_call_costs_its_kernel_time_and_a_refill(void **state)
{
	struct kernel_run cheap = boom(15, SETS(PERFECT, "exception.syscall_cycles=0"));
	struct kernel_run dear = boom(15, SETS(PERFECT, "exception.syscall_cycles=777"));

	assert_true(cycles_per_round(&dear, 10, 20) - cycles_per_round(&cheap, 10, 20) == 777);
}

static void test_327_a_load_that_passes_its_store_flushes_unless_it_knows_better(void **state)
{
	struct kernel_run k = boom(16, SETS(PERFECT)),
			  perfect = boom(16, SETS(PERFECT, "lsu.order=perfect"));
	struct kernel_run careful = boom(16, SETS(PERFECT, "lsu.order=conservative"));
	struct kernel_run learns = boom(16, SETS(PERFECT, "lsu.wait_entries=64"));

	assert_int_equal(run_kernel(&k, 100).violations, 100);
	assert_int_equal(run_kernel(&perfect, 100).violations, 0);
	assert_int_equal(run_kernel(&careful, 100).violations, 0);
	assert_int_equal(run_kernel(&learns, 100).violations, 1);
	/* The divisions do not depend on each other but share one divider. */
	assert_true(cycles_per_round(&perfect, 20, 60) == 34);
	assert_true(cycles_per_round(&k, 20, 60) > 60);
}

static void test_328_a_load_over_part_of_a_store_waits_until_it_is_written(void **state)
{
	struct kernel_run k = boom(19, SETS(PERFECT));
	struct core_stats s = run_kernel(&k, 50);

	assert_int_equal(s.forwards, 0);
	/* The store completes and commits with its data and drains a cycle later; then come the
	 * load's four cycles. */
	assert_true(cycles_per_round(&k, 20, 60) == 16 * 5);
}

static void test_329_in_order_issue_waits_for_the_first_use(void **state)
{
	struct kernel_run chain = {
		.machine = "inorder-2w", .kernel = 3, .sets = SETS(PERFECT), .check = true
	};
	struct kernel_run wide = {
		.machine = "inorder-2w", .kernel = 2, .sets = SETS(PERFECT), .check = true
	};

	/* The counter, the branch and the first load of the next round are a group each: one cycle more
	 * than the last load takes. */
	assert_true(cycles_per_round(&chain, 20, 60) == 64 * 2 + 1);
	assert_near(cycles_per_round(&wide, 20, 60), 66 / 2.0, 5);
	chain.sets = SETS(PERFECT, "window.issue_group=0");
	assert_true(cycles_per_round(&chain, 20, 60) == 64 * 2);
}

/* Cycles of a load of a chain through 2 MB: each misses the caches, the first of a page the TLB. */
static double cycles_to_memory(const char *machine)
{
	struct kernel_run k = {
		.machine = machine, .kernel = 3, .sets = SETS(PERFECT), .size = 2 * MB
	};

	return cycles_per_round(&k, 576, 640) / 64;
}

static void test_1612_memory_is_as_far_as_the_papers_tables_say(void **state)
{
	/* 250 cycles in all; 100 counted from the L1 miss; walks go on beside */
	assert_near(cycles_to_memory("eyerman2006-table"), 250, 0.05);
	assert_near(cycles_to_memory("fields2004-table"), 2 + 100, 0.05);
	/* the older readings: each level counted, and a walk of 30 before one load in 64 */
	assert_near(cycles_to_memory("eyerman2006"), 2 + 9 + 250 + 30 / 64.0, 0.05);
	assert_near(cycles_to_memory("fields2004"), 2 + 12 + 100 + 30 / 64.0, 0.05);
}

static void test_1613_ideal_l1_hits_take_a_cycle_or_none(void **state)
{
	struct kernel_run one = boom(3, SETS(PERFECT, "ideal.dl1=on"));
	struct kernel_run none = boom(3, SETS(PERFECT, "ideal.dl1=on", "l1d.ideal_latency=0"));

	assert_true(cycles_per_round(&one, 20, 60) == 64);
	/* 64 loads in a chain and the loop's two instructions, four commits a cycle, no latency left:
	 * the load ports, two a cycle, are what remains */
	assert_true(cycles_per_round(&none, 20, 60) == 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_310_dependent_additions_take_a_cycle_each),
		cmocka_unit_test(test_311_the_wakeup_loop_adds_to_each_link_of_a_chain),
		cmocka_unit_test(test_312_independent_additions_run_at_the_width_of_the_machine),
		cmocka_unit_test(test_313_loads_that_hit_chain_at_the_l1_latency),
		cmocka_unit_test(test_314_a_pointer_chase_costs_the_latency_of_its_level),
		cmocka_unit_test(test_315_multiplications_and_divisions_chain_at_their_latency),
		cmocka_unit_test(
		    test_316_taken_branches_are_fetched_one_a_cycle_or_as_many_as_the_machine_says),
		cmocka_unit_test(test_317_a_mispredict_costs_resolution_redirect_and_the_front_end),
		cmocka_unit_test(test_318_store_to_load_forwarding_takes_its_latency),
		cmocka_unit_test(test_319_mshrs_limit_a_stream_of_misses),
		cmocka_unit_test(test_320_memory_bandwidth_limits_a_stream),
		cmocka_unit_test(test_321_memory_parallelism_grows_with_the_reorder_buffer),
		cmocka_unit_test(test_322_a_tlb_reaches_as_far_as_its_entries),
		cmocka_unit_test(test_323_code_larger_than_the_icache_waits_for_the_next_level),
		cmocka_unit_test(test_324_reading_fflags_drains_and_refills_the_pipeline),
		cmocka_unit_test(test_325_a_full_store_queue_drains_at_the_rate_of_the_mshrs),
		cmocka_unit_test(test_326_a_system_call_costs_its_kernel_time_and_a_refill),
		cmocka_unit_test(
		    test_327_a_load_that_passes_its_store_flushes_unless_it_knows_better),
		cmocka_unit_test(test_328_a_load_over_part_of_a_store_waits_until_it_is_written),
		cmocka_unit_test(test_329_in_order_issue_waits_for_the_first_use),
		cmocka_unit_test(test_1612_memory_is_as_far_as_the_papers_tables_say),
		cmocka_unit_test(test_1613_ideal_l1_hits_take_a_cycle_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
