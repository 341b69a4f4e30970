/* SPDX-License-Identifier: MIT */
/*
 * The rules of issue in order that are parameters (docs/model.md, "In order: when an instruction
 * issues"): each has a kernel whose cycles are known without a simulator, with the parameter and without
 * it.
 */
#include "harness.h"

#include <string.h>

#include "isa/isa.h"
#include "machine/units.h"

#define LOOP_END 2 /* cycles: the counter, then the branch that waits for it */
/* Neither misses nor mispredicts. */
#define QUIET PERFECT, "ideal.imiss=on", "ideal.itlb=on", "ideal.dtlb=on"
#define LINE  (2 + 6) /* cycles for a line from the write buffer: l1d.miss_latency, l2.latency */

static double cycles_of(unsigned kernel, const char *const *sets)
{
	struct kernel_run k = {
		.machine = "inorder-2w", .kernel = kernel, .sets = sets, .check = true
	};

	return cycles_per_round(&k, 110, 210); /* as many digits */
}

static void test_2400_instructions_of_one_group_alone_issue_together(void **state)
{
	assert_true(cycles_of(1, SETS(QUIET)) == 16 * 2 + LOOP_END);
	/* A jump there, 16 times into the middle: two of three together, then the jump; at last three
	 * that fill up a group. */
	assert_true(cycles_of(2, SETS(QUIET)) == 1 + 16 * 2 + 2 + LOOP_END);
	/* Without groups the branch at the end issues together with what it jumps to. */
	assert_true(cycles_of(1, SETS(QUIET, "window.issue_group=0")) < 16 * 2 + LOOP_END);
	assert_true(cycles_of(2, SETS(QUIET, "window.issue_group=0")) < 1 + 16 * 2);
}

static void test_2401_a_group_is_made_of_bytes_not_of_instructions(void **state)
{
	assert_true(cycles_of(3, SETS(QUIET)) == 16 * 4 + LOOP_END);
}

static void test_2402_a_taken_jump_ends_its_group(void **state)
{
	/* Fetch is no limit. */
	assert_true(cycles_of(4, SETS(QUIET, "fetch.taken_branches=2")) == 16 + LOOP_END);
	assert_true(cycles_of(4, SETS(QUIET, "fetch.taken_branches=2", "window.issue_group=0")) <
		    16);
}

static void test_2403_a_load_does_not_issue_two_cycles_after_a_store(void **state)
{
	assert_true(cycles_of(5, SETS(QUIET)) == 16 * 5 + LOOP_END);
	assert_true(cycles_of(5, SETS(QUIET, "window.load_after_store=0")) == 16 * 4 + LOOP_END);
	assert_true(cycles_of(6, SETS(QUIET)) == 16 * 4 + LOOP_END);
	assert_true(cycles_of(6, SETS(QUIET, "window.load_after_store=3")) == 16 * 5 + LOOP_END);
}

static void test_2404_a_full_write_buffer_drains_at_the_rate_of_the_next_level(void **state)
{
	assert_near(cycles_of(7, SETS(QUIET)), 64 * LINE, 0.5);
	assert_near(cycles_of(7, SETS(QUIET, "l2.latency=10")), 64 * (2 + 10), 0.5);
	assert_true(cycles_of(7, SETS(QUIET, "l1d.write_buffer=0")) == 64 + LOOP_END);
	assert_true(cycles_of(7, SETS(QUIET, "ideal.sq=on")) == 64 + LOOP_END);
}

static void test_2405_stores_to_one_line_merge_in_the_write_buffer(void **state)
{
	assert_near(cycles_of(8, SETS(QUIET)), 16 * LINE, 0.5);
	/* Lines come back after as many others as there are entries: then nothing merges. */
	assert_near(cycles_of(9, SETS(QUIET)), 64 * LINE, 0.5);
	/* With more entries than lines, all do. */
	assert_true(cycles_of(9, SETS(QUIET, "l1d.write_buffer=32")) < 17 * LINE);
}

static void test_2406_a_fence_waits_for_the_write_buffer(void **state)
{
	assert_true(cycles_of(11, SETS(QUIET)) >= 16 * 6 * LINE);
	assert_true(cycles_of(11, SETS(QUIET, "l1d.write_buffer=0")) < 16 * 3 * LINE);
}

static void test_2407_three_sources_too_wait_for_the_last_writer(void **state)
{
	/* 31 cycles for the division, 4 for the fused multiply-add, which the next division waits
	 * for. */
	assert_near(cycles_of(10, SETS(QUIET)), 16 * (31 + 4), 1);
	assert_near(cycles_of(10, SETS(QUIET, "window.third_waits=no")), 16 * 31, 1);
}

/* Keeps what the records of fused multiply-adds and of divisions say of the last writer. */
struct writers {
	struct emit emit;
	struct rec_cycle cycles[256];
	struct rec_inst insts[256];
	unsigned fused, divisions;
	unsigned fused_named, divisions_named;
};

static void take(struct emit *emit)
{
	struct writers *w = (struct writers *)emit;

	for (size_t i = 0; i < emit->ninsts; i++) {
		const struct rec_inst *r = &emit->insts[i];

		if (!(r->flags & RI_COMMITTED))
			continue;
		if (r->cls == CLASS_FMUL) {
			w->fused++;
			w->fused_named += r->prod_mem == 1;
		} else if (r->cls == CLASS_FDIV) {
			w->divisions++;
			w->divisions_named += r->prod[2] == 3;
		}
	}
	emit->ninsts = emit->ncycles = 0;
}

static void test_2408_the_record_names_the_last_writer(void **state)
{
	static struct writers w;
	struct kernel_run k = {
		.machine = "inorder-2w", .kernel = 10, .sets = SETS(QUIET), .emit = &w.emit
	};

	w.emit = (struct emit){ .wants = WANT_CYCLES | WANT_INSTS | WANT_PRODUCERS,
				.cycles = w.cycles,
				.insts = w.insts,
				.max_cycles = ARRAY_LEN(w.cycles),
				.max_insts = ARRAY_LEN(w.insts),
				.full = take };
	run_kernel(&k, 10);
	take(&w.emit);
	assert_int_equal(w.fused, 160);
	assert_int_equal(w.fused_named, 160);
	assert_int_equal(w.divisions, 160);
	assert_true(w.divisions_named >= 150); /* the first of a round follows other code */
}

static void test_2409_units_are_those_of_the_machine_file(void **state)
{
	struct machine m;

	config_of(&m, "inorder-2w", NULL);
	for (unsigned cls = 0; cls < CLASS_COUNT; cls++) {
		struct unit_use use = units_of_class(&m, cls);

		assert_true(m.unit[use.unit].count > 0);
		assert_true(use.latency >= 1);
		assert_int_equal(use.busy, units_pipelined(&m, use.unit) ? 1 : use.latency);
	}
	assert_int_equal(units_of_class(&m, CLASS_FSQRT).unit, UNIT_FDIV);
	assert_int_equal(units_of_class(&m, CLASS_FSQRT).latency, 40);
	assert_int_equal(units_of_class(&m, CLASS_FSQRT).busy, 40);
	assert_int_equal(units_of_class(&m, CLASS_MUL).busy, 8);
	assert_int_equal(units_of_class(&m, CLASS_STORE).unit, UNIT_STORE);
	assert_int_equal(units_of_class(&m, CLASS_BRANCH).unit, UNIT_ALU);
	assert_int_equal(units_of_class(&m, CLASS_LOAD).latency, 2);
	m.unit[UNIT_STORE].count = 0;
	m.unit[UNIT_FSQRT].count = 1;
	assert_int_equal(units_of_class(&m, CLASS_STORE).unit, UNIT_LOAD);
	assert_int_equal(units_of_class(&m, CLASS_FSQRT).unit, UNIT_FSQRT);

	struct inst pause = isa_decode(0x0100000f);

	assert_int_equal(units_of(&m, &pause).unit, UNIT_ALU);
}

static void check_refused(const char *machine, const char *set)
{
	struct machine m;
	struct err e;

	assert_true(machine_load(&m, machine, &e));
	assert_true(machine_set(&m, set, &e));
	assert_false(machine_check(&m, &e));
	assert_non_null(strstr(e.text, "needs"));
}

static void test_2410_what_a_machine_cannot_have_is_said(void **state)
{
	check_refused("boom-tip", "window.issue_group=16");
	check_refused("boom-tip", "window.load_after_store=2");
	check_refused("boom-tip", "window.third_waits=yes");
	check_refused("boom-tip", "l1d.write_buffer=6");
	check_refused("inorder-2w", "l2.write_buffer=6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2400_instructions_of_one_group_alone_issue_together),
		cmocka_unit_test(test_2401_a_group_is_made_of_bytes_not_of_instructions),
		cmocka_unit_test(test_2402_a_taken_jump_ends_its_group),
		cmocka_unit_test(test_2403_a_load_does_not_issue_two_cycles_after_a_store),
		cmocka_unit_test(
		    test_2404_a_full_write_buffer_drains_at_the_rate_of_the_next_level),
		cmocka_unit_test(test_2405_stores_to_one_line_merge_in_the_write_buffer),
		cmocka_unit_test(test_2406_a_fence_waits_for_the_write_buffer),
		cmocka_unit_test(test_2407_three_sources_too_wait_for_the_last_writer),
		cmocka_unit_test(test_2408_the_record_names_the_last_writer),
		cmocka_unit_test(test_2409_units_are_those_of_the_machine_file),
		cmocka_unit_test(test_2410_what_a_machine_cannot_have_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
