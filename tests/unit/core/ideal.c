/* SPDX-License-Identifier: MIT */
/* Idealisation: a run never gets slower, and what is idealised costs nothing. */
#include "harness.h"

static const unsigned kernels[] = { 2, 3, 5, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19 };

static void test_350_no_idealised_category_slows_a_run_by_more_than_a_percent(void **state)
{
	static const char *const machines[] = { "boom-tip", "fields2004" };

	for (unsigned m = 0; m < ARRAY_LEN(machines); m++) {
		for (unsigned i = 0; i < ARRAY_LEN(kernels); i++) {
			struct kernel_run k = { .machine = machines[m],
						.kernel = kernels[i],
						.size = MB };
			uint64_t base = run_kernel(&k, 100).cycles;

			for (unsigned c = 0; c < IDEAL_COUNT; c++) {
				char set[32];

				snprintf(set, sizeof(set), "ideal.%s=on", ideal_name[c]);
				k.sets = SETS(set);

				uint64_t ideal = run_kernel(&k, 100).cycles;

				if ((double)ideal > (double)base * 1.01 + 20)
					fail_msg("%s slows kernel %u on %s: %lu to %lu cycles", set,
						 kernels[i], machines[m], (unsigned long)base,
						 (unsigned long)ideal);
			}
		}
	}
}

static void test_351_with_everything_ideal_the_width_is_the_limit(void **state)
{
	static const char *const all[] = { "ideal.dl1=on",
					   "ideal.win=on",
					   "ideal.bw=on",
					   "ideal.bmisp=on",
					   "ideal.dmiss=on",
					   "ideal.shalu=on",
					   "ideal.lgalu=on",
					   "ideal.imiss=on",
					   "ideal.itlb=on",
					   "ideal.dtlb=on",
					   "ideal.flush=on",
					   "ideal.sq=on",
					   NULL };

	for (unsigned i = 0; i < ARRAY_LEN(kernels); i++) {
		struct kernel_run k = {
			.machine = "boom-tip", .kernel = kernels[i], .sets = all, .size = MB / 4
		};
		struct core_stats s = run_kernel(&k, 400), t = run_kernel(&k, 800);
		double ipc = (double)(t.insts - s.insts) / (double)(t.cycles - s.cycles);

		/* Chains through memory keep the one cycle of a load; everything else overlaps. */
		double limit = kernels[i] == 18						? 0.5
			       : kernels[i] == 3 || kernels[i] == 8 || kernels[i] == 19 ? 0.9
											: 8;
		if (ipc < limit)
			fail_msg("kernel %u: %g instructions a cycle, all ideal", kernels[i], ipc);
	}
}

static void test_352_each_category_takes_its_own_cost_away(void **state)
{
	struct kernel_run k = { .machine = "boom-tip",
				.kernel = 1,
				.sets = SETS(PERFECT, "ideal.shalu=on") };

	/* A chain of additions runs at the width of the machine. */
	assert_near(cycles_per_round(&k, 40, 240), 66 / 4.0, 2);
	k.sets = SETS(PERFECT, "ideal.lgalu=on");
	k.kernel = 5;
	/* There is still one divider, but it is free again at once. */
	assert_true(cycles_per_round(&k, 40, 80) <= 66);
	k.sets = SETS(PERFECT, "ideal.dl1=on");
	k.kernel = 3;
	assert_true(cycles_per_round(&k, 20, 60) == 64);
	k.kernel = 7;
	k.sets = SETS("bpred.direction=taken", "exception.page_faults=no", "ideal.bmisp=on");
	assert_near(cycles_per_round(&k, 20, 60), 67 / 4.0, 5);
	k.kernel = 11;
	k.sets = SETS(PERFECT, "ideal.flush=on");
	assert_true(cycles_per_round(&k, 20, 60) < 8);
	k.kernel = 3;
	k.size = 8 * MB;
	k.sets = SETS(PLAIN, "ideal.dmiss=on");
	assert_true(cycles_per_round(&k, 20, 60) == 64 * 4);
	k.size = 40 * (4096 + 64);
	k.stride = 4096 + 64;
	k.sets = SETS(PERFECT, "ideal.dtlb=on", "l1d.prefetch=none");
	assert_true(cycles_per_round(&k, 20, 60) == 64 * 4);
}

static void test_4842_without_waits_for_registers_a_chain_runs_at_the_width(void **state)
{
	struct kernel_run k = { .machine = "boom-tip",
				.kernel = 1,
				.sets = SETS(PERFECT, "ideal.values=on") };

	assert_near(cycles_per_round(&k, 40, 240), 66 / 4.0, 2);
	/* The one divider is still busy for each of them. */
	k.kernel = 5;
	const double busy = cycles_per_round(&k, 40, 80);
	k.sets = SETS(PERFECT, "ideal.values=on", "ideal.issue_bw=on");
	assert_true(cycles_per_round(&k, 40, 80) < busy / 2);
}

static void test_4843_bandwidth_idealised_in_part_saves_no_more_than_all_of_it(void **state)
{
	static const char *const parts[] = { "ideal.fetch_bw=on", "ideal.issue_bw=on",
					     "ideal.commit_bw=on" },
				 *const narrow[] = { "decode.width=2", "window.int_issue=2",
						     "window.commit_width=2" };

	for (unsigned i = 0; i < ARRAY_LEN(kernels); i++) {
		struct kernel_run k = { .machine = "boom-tip", .kernel = kernels[i], .size = MB };

		k.sets = SETS("ideal.bw=on");
		const uint64_t all = run_kernel(&k, 100).cycles;
		for (unsigned p = 0; p < ARRAY_LEN(parts); p++) {
			k.sets = SETS(parts[p]);
			const uint64_t one = run_kernel(&k, 100).cycles;
			if ((double)one * 1.01 + 20 < (double)all)
				fail_msg("%s in kernel %u: %lu cycles, %lu with all bandwidth",
					 parts[p], kernels[i], (unsigned long)one,
					 (unsigned long)all);
		}
	}
	/* Each lifts its own limit, here of independent additions, and no other. */
	for (unsigned n = 0; n < ARRAY_LEN(narrow); n++)
		for (unsigned p = 0; p < ARRAY_LEN(parts); p++) {
			struct kernel_run k = { .machine = "boom-tip", .kernel = 2 };

			k.sets = SETS(PERFECT, narrow[n], parts[p]);
			assert_near(cycles_per_round(&k, 40, 240), n == p ? 66 / 4.0 : 66 / 2.0, 3);
		}
}

/* The address of a committed load that memory served. */
static uint64_t load_pc;
static void find_load(struct emit *e)
{
	for (size_t i = 0; i < e->ninsts; i++)
		if ((e->insts[i].flags & RI_LOAD) && e->insts[i].dlevel == LEVEL_MEM)
			load_pc = e->insts[i].pc;
	e->ninsts = e->ncycles = 0;
}

static void test_353_one_static_instruction_can_be_idealised_alone(void **state)
{
	static struct rec_cycle cycles[64];
	static struct rec_inst insts[512];
	struct emit emit = { .cycles = cycles,
			     .insts = insts,
			     .max_cycles = 64,
			     .max_insts = 512,
			     .wants = WANT_INSTS,
			     .full = find_load };
	struct kernel_run k = { .machine = "boom-tip",
				.kernel = 9,
				.size = 8 * MB,
				.emit = &emit,
				.sets = SETS(FLAT) };
	char set[64], other[64];
	double base = cycles_per_round(&k, 10000, 20000);

	find_load(&emit);
	assert_true(load_pc != 0);
	snprintf(set, sizeof(set), "ideal.dmiss=0x%lx", (unsigned long)load_pc);
	snprintf(other, sizeof(other), "ideal.dmiss=0x%lx", (unsigned long)load_pc + 4096);
	k.emit = NULL;
	k.sets = SETS(FLAT, set);
	assert_true(cycles_per_round(&k, 10000, 20000) < base / 4);
	k.sets = SETS(FLAT, other);
	assert_true(cycles_per_round(&k, 10000, 20000) == base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_350_no_idealised_category_slows_a_run_by_more_than_a_percent),
		cmocka_unit_test(test_351_with_everything_ideal_the_width_is_the_limit),
		cmocka_unit_test(test_352_each_category_takes_its_own_cost_away),
		cmocka_unit_test(test_4842_without_waits_for_registers_a_chain_runs_at_the_width),
		cmocka_unit_test(
		    test_4843_bandwidth_idealised_in_part_saves_no_more_than_all_of_it),
		cmocka_unit_test(test_353_one_static_instruction_can_be_idealised_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
