/* SPDX-License-Identifier: MIT */
/* The ideal clocks: cycles that instructions need when nothing misses, in closed form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/cpistack/ideal.h"

#define WIDTH 4
#define ROB   32

static const struct trace_meta meta = { .rob_entries = ROB,
					.dispatch_width = WIDTH,
					.commit_width = WIDTH,
					.frontend_depth = 5,
					.mispredict_loop = 7,
					.l1d_latency = 2,
					.l2_latency = 12,
					.llc_latency = 30 };

static struct machine with_divider(uint32_t count, uint32_t latency)
{
	struct machine m = machine_default;
	m.unit[UNIT_DIV].count = count;
	m.unit[UNIT_DIV].latency = latency;
	m.unit[UNIT_DIV].pipelined = false;
	m.mem.cache[MEM_L1D].latency = 2;
	return m;
}

static uint32_t op(unsigned funct7, unsigned funct3, unsigned rd, unsigned rs1, unsigned rs2)
{
	return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33;
}
#define ADD(rd, rs1, rs2)  op(0, 0, rd, rs1, rs2)
#define DIVU(rd, rs1, rs2) op(1, 5, rd, rs1, rs2)
#define LD(rd, rs1)	   (0x3003u | (rs1) << 15 | (rd) << 7)

/* Runs the words n times over, and says how many cycles that takes by each clock. */
static void run(const struct machine *m, const uint32_t *words, size_t count, unsigned n,
		uint32_t psv, uint32_t flags, uint64_t cycles[CLOCKS])
{
	struct ideal_clocks s;
	ideal_init(&s, &meta, m);
	assert_ptr_equal(s.machine, m);
	for (unsigned i = 0; i < n; i++)
		for (size_t k = 0; k < count; k++) {
			const bool load = (words[k] & 0x7f) == 3;
			const struct rec_inst r = { .pc = 0x1000 + 4 * k,
						    .word = words[k],
						    .psv = load ? psv : 0,
						    .flags = RI_COMMITTED | (load ? RI_LOAD : 0) |
							     (k + 1 == count ? flags : 0) };
			ideal_inst(&s, &r);
		}
	for (unsigned k = 0; k < CLOCKS; k++)
		cycles[k] = s.clock[k].committed / WIDTH;
	ideal_free(&s);
}

static void assert_about(uint64_t cycles, uint64_t want)
{
	assert_in_range(cycles, want, want + 40);
}

static void test_4880_independent_operations_take_the_width_and_a_chain_its_length(void **state)
{
	const struct machine m = with_divider(1, 20);
	const uint32_t wide[] = { ADD(5, 0, 0), ADD(6, 0, 0), ADD(7, 0, 0), ADD(8, 0, 0) },
		       chain[] = { ADD(5, 5, 6), ADD(5, 5, 6), ADD(5, 5, 6), ADD(7, 0, 0) };
	uint64_t cycles[CLOCKS];
	(void)state;
	run(&m, wide, 4, 1000, 0, 0, cycles);
	assert_about(cycles[CLOCK_BASE], 1000);
	run(&m, chain, 4, 1000, 0, 0, cycles);
	assert_about(cycles[CLOCK_BASE], 3000);
	assert_int_equal(cycles[CLOCK_BASE], cycles[CLOCK_BMISP]);
}

static void test_4881_a_divider_is_busy_and_gaps_in_its_time_are_used(void **state)
{
	const struct machine one = with_divider(1, 20), two = with_divider(2, 20);
	/* the second does not wait for the first's operand, which comes late */
	const uint32_t words[] = { DIVU(5, 6, 7), ADD(8, 0, 0), ADD(9, 0, 0), DIVU(10, 8, 9) },
		       late[] = { DIVU(5, 5, 7), DIVU(6, 5, 7), DIVU(9, 0, 8), ADD(7, 6, 0) };
	uint64_t cycles[CLOCKS];
	(void)state;
	run(&one, words, 4, 1000, 0, 0, cycles);
	assert_about(cycles[CLOCK_BASE], 2 * 20 * 1000);
	run(&two, words, 4, 1000, 0, 0, cycles);
	assert_about(cycles[CLOCK_BASE], 20 * 1000);
	/* three divisions, two of them one after the other: the third fits beside them with two units only */
	run(&one, late, 4, 1000, 0, 0, cycles);
	assert_about(cycles[CLOCK_BASE], 3 * 20 * 1000);
	run(&two, late, 4, 1000, 0, 0, cycles);
	assert_in_range(cycles[CLOCK_BASE], 2 * 20 * 1000, 2 * 20 * 1000 + 1100);
}

static void test_4882_each_clock_adds_what_it_counts(void **state)
{
	const struct machine m = with_divider(1, 20);
	const uint32_t walk[] = { LD(5, 5) }, branch[] = { LD(5, 5), ADD(6, 5, 0) };
	uint64_t cycles[CLOCKS];
	(void)state;
	run(&m, walk, 1, 1000, PSV_ST_L1, 0, cycles);
	assert_about(cycles[CLOCK_BASE], 2 * 1000);
	assert_about(cycles[CLOCK_L1D], 12 * 1000);
	/* what goes to memory costs what the last cache would */
	run(&m, walk, 1, 1000, PSV_ST_L1 | PSV_ST_L2 | PSV_ST_LLC, 0, cycles);
	assert_about(cycles[CLOCK_L1D], 30 * 1000);
	assert_int_equal(cycles[CLOCK_BMISP], cycles[CLOCK_L1D]);
	/* the load, the operation, the refill and a cycle from dispatch to execution */
	run(&m, branch, 2, 1000, 0, RI_MISPREDICT, cycles);
	assert_about(cycles[CLOCK_BASE], 2 * 1000);
	assert_about(cycles[CLOCK_BMISP], (2 + 1 + 7 + 1) * 999);
}

static void test_4883_the_rob_holds_back_what_is_behind_a_chain(void **state)
{
	const struct machine m = with_divider(1, 100);
	/* one division in as many instructions as the ROB has entries: dispatch waits for each */
	uint32_t words[ROB];
	uint64_t cycles[CLOCKS];
	(void)state;
	for (unsigned i = 0; i < ROB; i++)
		words[i] = i ? ADD(8, 0, 0) : DIVU(5, 5, 7);
	run(&m, words, ROB, 1000, 0, 0, cycles);
	assert_in_range(cycles[CLOCK_BASE], 100 * 1000, 103 * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_4880_independent_operations_take_the_width_and_a_chain_its_length),
		cmocka_unit_test(test_4881_a_divider_is_busy_and_gaps_in_its_time_are_used),
		cmocka_unit_test(test_4882_each_clock_adds_what_it_counts),
		cmocka_unit_test(test_4883_the_rob_holds_back_what_is_behind_a_chain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
