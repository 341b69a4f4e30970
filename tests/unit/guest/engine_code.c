/* SPDX-License-Identifier: MIT */
/*
 * Tests that what executes is what stands in memory (self-modifying code with fence.i,
 * invalidation by range, fetch faults), and the ways to leave a run, the reports of single steps,
 * and the counts.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <cmocka.h>

#include "unit/guest/engine_world.h"

enum { LOOP_COUNT = 31, ECALL_WORD = 0x73, EBREAK_WORD = 0x100073, FENCE_I_WORD = 0x100f };

static struct hart fresh_hart(void)
{
	struct hart h;

	memset(&h, 0, sizeof(h));
	h.lr_addr = ~0ull;
	h.pc = CODE_PC;
	h.x[LOOP_COUNT] = 100;
	return h;
}

static void poke(struct world *w, uint64_t pc, uint32_t word)
{
	memcpy(w->mem.base + pc, &word, 4);
}

static void test_240_fence_i_makes_stores_to_code_visible(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	/* Each round calls a function that adds 1, rewrites it to add 16, and calls it again. */
	uint64_t function = CODE_PC + 0x800;
	world_emit(&w, enc_s(OP_SW, 28, 29, 0));
	world_emit(&w, FENCE_I_WORD);
	world_emit(&w, enc_j(OP_JAL, 1, (int)(function - world_pc(&w))));
	world_emit(&w, enc_s(OP_SW, 28, 30, 0));
	world_emit(&w, FENCE_I_WORD);
	world_emit(&w, enc_j(OP_JAL, 1, (int)(function - world_pc(&w))));
	world_emit(&w, enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1));
	world_emit(&w, enc_b(OP_BNE, LOOP_COUNT, 0, (int)(CODE_PC - world_pc(&w))));
	world_emit(&w, ECALL_WORD);
	poke(&w, function + 4, enc_i(OP_JALR, 0, 1, 0));
	for (int by = 0; by < EXECUTORS; by++) {
		struct hart h = fresh_hart();
		h.x[28] = function;
		h.x[29] = enc_i(OP_ADDI, 10, 10, 1);
		h.x[30] = enc_i(OP_ADDI, 10, 10, 16);
		assert_int_equal(world_run(&w, by, &h, 100000, 0, NULL), ENGINE_ECALL);
		assert_int_equal(h.x[10], 1700);
		assert_int_equal(w.executed, 1201);
	}
	world_close(&w);
}

static void test_241_invalidation_of_a_range_reaches_linked_blocks(void **state)
{
	struct world w;
	uint64_t function = CODE_PC + 0x2ffc; /* its second instruction is on the next page */

	(void)state;
	world_open(&w);
	world_emit(&w, enc_j(OP_JAL, 1, (int)(function - world_pc(&w))));
	world_emit(&w, enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1));
	world_emit(&w, enc_b(OP_BNE, LOOP_COUNT, 0, -8));
	world_emit(&w, ECALL_WORD);
	poke(&w, function, enc_i(OP_ADDI, 10, 10, 1));
	poke(&w, function + 8, enc_i(OP_JALR, 0, 1, 0));
	for (int by = 0; by < EXECUTORS; by++) {
		for (int value = 1; value < 4; value++) {
			struct hart h = fresh_hart();
			poke(&w, function + 4, enc_i(OP_ADDI, 10, 10, value));
			engine_invalidate(w.engine[by], CODE_PC + 0x3000, CODE_PC + 0x3004);
			assert_int_equal(world_run(&w, by, &h, 100000, 0, NULL), ENGINE_ECALL);
			assert_int_equal(h.x[10], 100 * (value + 1));
		}
	}
	world_close(&w);
}

static void test_242_an_instruction_across_pages_is_dropped_with_either(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	uint64_t at = CODE_PC + 0xffe;
	poke(&w, CODE_PC, enc_j(OP_JAL, 0, 0xffe));
	poke(&w, at + 4, ECALL_WORD);
	for (int by = 0; by < EXECUTORS; by++) {
		for (int value = 1; value < 4; value++) {
			struct hart h = fresh_hart();
			poke(&w, at, enc_i(OP_ADDI, 10, 0, value * 256));
			engine_invalidate(w.engine[by], CODE_PC + 0x1000, CODE_PC + 0x2000);
			assert_int_equal(world_run(&w, by, &h, 100000, 0, NULL), ENGINE_ECALL);
			assert_int_equal(h.x[10], value * 256);
		}
	}
	world_close(&w);
}

static void test_243_what_is_not_executable_is_a_fetch_fault(void **state)
{
	static const uint64_t targets[] = { DATA_PC, 0x90000,	 GUEST_ADDR_LIMIT,
					    -2ull,   1ull << 63, CODE_PC + CODE_BYTES };
	struct world w;

	(void)state;
	world_open(&w);
	world_emit(&w, enc_i(OP_JALR, 1, 10, 0));
	for (int by = 0; by < EXECUTORS; by++) {
		for (unsigned i = 0; i < ARRAY_LEN(targets); i++) {
			struct hart h = fresh_hart();
			h.x[10] = targets[i];
			assert_int_equal(world_run(&w, by, &h, 100, 0, NULL), ENGINE_FETCH_FAULT);
			assert_int_equal(h.pc, targets[i]);
			assert_int_equal(engine_last_fault(w.engine[by])->addr, targets[i]);
			assert_int_equal(w.executed, 1);
			assert_null(engine_fetch(w.engine[by], targets[i]));
		}
	}
	world_close(&w);
}

static void test_250_low_and_odd_addresses_are_not_executable(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	for (int by = 0; by < EXECUTORS; by++) {
		for (uint64_t pc = 0; pc < 5; pc++) {
			struct hart h = fresh_hart();
			h.pc = pc;
			assert_int_equal(world_run(&w, by, &h, 100, 0, NULL), ENGINE_FETCH_FAULT);
			assert_int_equal(engine_last_fault(w.engine[by])->addr, pc);
			assert_null(engine_fetch(w.engine[by], pc));
			assert_null(engine_fetch(w.engine[by], CODE_PC + 1));
		}
	}
	world_close(&w);
}

static void test_244_an_instruction_whose_second_half_is_not_executable_faults(void **state)
{
	struct world w;
	uint64_t at = CODE_PC + CODE_BYTES - 2;

	(void)state;
	world_open(&w);
	uint16_t half = 0x0513; /* the lower half of addi a0, … */
	memcpy(w.mem.base + at, &half, 2);
	for (int by = 0; by < EXECUTORS; by++) {
		struct hart h = fresh_hart();
		h.pc = at;
		assert_int_equal(world_run(&w, by, &h, 100, 0, NULL), ENGINE_FETCH_FAULT);
		assert_int_equal(h.pc, at);
		assert_int_equal(engine_last_fault(w.engine[by])->addr, at + 2);
	}
	world_close(&w);
}

static void test_245_each_way_to_leave_has_its_pc_and_its_count(void **state)
{
	static const struct {
		uint32_t word;
		enum engine_exit result;
		unsigned after, counted;
	} cases[] = {
		{ ECALL_WORD, ENGINE_ECALL, 0, 1 },
		{ EBREAK_WORD, ENGINE_EBREAK, 0, 0 },
		{ 0xffffffff, ENGINE_ILLEGAL, 0, 0 },
		{ 0xc0001073, ENGINE_ILLEGAL, 0, 0 }, /* csrrw to a counter */
		{ 0x02b57553, ENGINE_BUDGET, 4, 1 },  /* fadd.d fa0, fa0, fa1, dynamic rounding */
	};
	struct world w;

	(void)state;
	world_open(&w);
	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		world_restart(&w);
		for (int k = 0; k < 3; k++)
			world_emit(&w, enc_i(OP_ADDI, 10, 10, 1));
		world_emit(&w, cases[i].word);
		for (int by = 0; by < EXECUTORS; by++) {
			struct hart h = fresh_hart();
			assert_int_equal(world_run(&w, by, &h, 4, 0, NULL), cases[i].result);
			assert_int_equal(h.pc, CODE_PC + 12 + cases[i].after);
			assert_int_equal(w.executed, 3 + cases[i].counted);
			assert_int_equal(h.x[10], 3);
		}
	}
	world_close(&w);
}

static void test_246_a_reserved_rounding_mode_is_illegal_inside_a_hot_block(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	world_emit(&w, enc_i(OP_ADDI, 10, 10, 1));
	world_emit(&w, 0x02b57553); /* fadd.d fa0, fa0, fa1 */
	world_emit(&w, enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1));
	world_emit(&w, enc_b(OP_BNE, LOOP_COUNT, 0, -12));
	world_emit(&w, 0x0022d073); /* csrwi frm, 5 */
	world_emit(&w, enc_j(OP_JAL, 0, -20));
	for (int by = 0; by < EXECUTORS; by++) {
		struct hart h = fresh_hart();
		assert_int_equal(world_run(&w, by, &h, 100000, 0, NULL), ENGINE_ILLEGAL);
		assert_int_equal(h.pc, CODE_PC + 4);
		assert_int_equal(h.x[10], 101);
		assert_int_equal(w.executed, 403);
	}
	world_close(&w);
}

static struct engine *engine_to_interrupt;

static void on_alarm(int sig)
{
	(void)sig;
	engine_interrupt(engine_to_interrupt);
}

static void test_247_an_interrupt_ends_an_endless_loop(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	world_emit(&w, enc_i(OP_ADDI, 10, 10, 1));
	world_emit(&w, enc_j(OP_JAL, 0, -4));
	for (int by = BY_INTERPRETER; by < EXECUTORS; by++) {
		struct hart h = fresh_hart();
		uint64_t budget = 1ull << 60, given = budget;
		struct itimerval soon = { .it_value.tv_usec = 5000 };
		engine_to_interrupt = w.engine[by];
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &soon, NULL);
		assert_int_equal(engine_run(w.engine[by], &h, &budget), ENGINE_INTERRUPTED);
		assert_int_equal((given - budget + 1) / 2, h.x[10]);
		/* One request stops one run. */
		budget = 10;
		assert_int_equal(engine_run(w.engine[by], &h, &budget), ENGINE_BUDGET);
	}
	signal(SIGALRM, SIG_DFL);
	world_close(&w);
}

static void test_248_a_step_reports_address_value_and_direction(void **state)
{
	struct world w;
	struct guest_step s;
	struct hart h = fresh_hart();

	(void)state;
	world_open(&w);
	struct engine *e = w.engine[BY_STEP];
	world_emit(&w, enc_s(OP_SW, 10, 11, -4));
	world_emit(&w, enc_i(OP_LHU, 12, 10, -4));
	world_emit(&w, enc_r(OP_AMOADD_W, 13, 10, 11));
	world_emit(&w, enc_r(OP_SC_W, 13, 10, 11));
	world_emit(&w, enc_b(OP_BEQ, 0, 0, 4)); /* taken, to the next instruction */
	world_emit(&w, enc_b(OP_BNE, 0, 0, 8));
	world_emit(&w, enc_j(OP_JAL, 0, 4));
	h.x[10] = DATA_PC + 64;
	h.x[11] = 0x1122334455667788;

	assert_int_equal(engine_step(e, &h, &s), ENGINE_BUDGET);
	assert_int_equal(s.pc, CODE_PC);
	assert_int_equal(s.next_pc, CODE_PC + 4);
	assert_int_equal(s.inst->op, OP_SW);
	assert_int_equal(s.addr, DATA_PC + 60);
	assert_int_equal(s.store_value, 0x55667788);
	assert_int_equal(engine_step(e, &h, &s), ENGINE_BUDGET);
	assert_int_equal(s.addr, DATA_PC + 60);
	assert_int_equal(h.x[12], 0x7788);
	assert_int_equal(engine_step(e, &h, &s), ENGINE_BUDGET);
	assert_int_equal(s.addr, DATA_PC + 64);
	assert_int_equal(s.store_value, 0x55667788);
	assert_int_equal(s.flags, 0);
	assert_int_equal(engine_step(e, &h, &s), ENGINE_BUDGET);
	assert_int_equal(s.flags, STEP_SC_FAIL);
	assert_int_equal(engine_step(e, &h, &s), ENGINE_BUDGET);
	assert_int_equal(s.flags, STEP_TAKEN);
	assert_int_equal(engine_step(e, &h, &s), ENGINE_BUDGET);
	assert_int_equal(s.flags, 0);
	const struct inst *jal = engine_fetch(e, h.pc);
	assert_int_equal(engine_step(e, &h, &s), ENGINE_BUDGET);
	assert_int_equal(s.flags, STEP_TAKEN);
	assert_ptr_equal(s.inst, jal);
	world_close(&w);
}

/* Executed instructions by pc, counted by single steps. */
struct tally {
	uint64_t by_pc[CODE_BYTES / 2];
	uint64_t sum;
};

static void add_block(void *ctx, uint64_t pc, const struct inst *insts, size_t count,
		      uint64_t times)
{
	struct tally *t = ctx;

	for (size_t i = 0; i < count; i++) {
		t->by_pc[(pc - CODE_PC) / 2] += times;
		t->sum += times;
		pc += insts[i].len;
	}
}

static void test_249_counts_of_blocks_add_up_to_what_was_executed(void **state)
{
	struct world w;
	struct rng rng;

	(void)state;
	world_open(&w);
	rng_seed(&rng, 5);
	/* Two nested loops, with a counter read in between and an access that faults in the end. */
	world_emit(&w, enc_i(OP_ADDI, 12, 0, 9));
	world_emit(&w, enc_i(OP_ADDI, 12, 12, -1));
	world_emit(&w, enc_i(OP_LB, 13, 10, 0));
	world_emit(&w, 0xc02025f3); /* rdinstret a1 */
	world_emit(&w, enc_b(OP_BNE, 12, 0, -12));
	world_emit(&w, enc_i(OP_ADDI, 10, 10, 16));
	world_emit(&w, enc_j(OP_JAL, 0, (int)(CODE_PC - world_pc(&w))));
	struct tally *expected = calloc(1, sizeof(*expected)), *got = malloc(sizeof(*got));
	struct hart h = fresh_hart();
	struct guest_step s;
	h.x[10] = DATA_PC;
	while (engine_step(w.engine[BY_STEP], &h, &s) == ENGINE_BUDGET) {
		expected->by_pc[(s.pc - CODE_PC) / 2]++;
		expected->sum++;
	}
	for (int by = BY_INTERPRETER; by < EXECUTORS; by++) {
		for (uint64_t piece = 0; piece < 40; piece += 13) {
			memset(got, 0, sizeof(*got));
			h = fresh_hart();
			h.x[10] = DATA_PC;
			engine_count_blocks(w.engine[by], true);
			assert_int_equal(world_run(&w, by, &h, 1000000, piece, &rng), ENGINE_FAULT);
			engine_visit_blocks(w.engine[by], add_block, got);
			assert_int_equal(got->sum, w.executed);
			assert_memory_equal(got, expected, sizeof(*got));
		}
	}
	free(expected);
	free(got);
	world_close(&w);
}

/* Runs `rounds` times through a chain of blocks, each of `fp` FP operations, an addition and a
 * jump. */
static void run_chain(struct world *w, uint64_t start, unsigned blocks, unsigned fp,
		      unsigned rounds)
{
	uint32_t *at = (uint32_t *)(w->mem.base + start);

	for (unsigned i = 0; i < blocks; i++) {
		for (unsigned k = 0; k < fp; k++)
			*at++ = enc_r(OP_FADD_S, 1 + k, 2 + k, 3 + k) | 7u << 12;
		*at++ = enc_i(OP_ADDI, 10, 10, 1);
		*at++ = enc_j(OP_JAL, 0, 4);
	}
	*at++ = enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1);
	*at++ = enc_b(OP_BEQ, LOOP_COUNT, 0, 8);
	*at++ = enc_i(OP_JALR, 0, 28, 0);
	*at++ = ECALL_WORD;
	for (int by = BY_INTERPRETER; by < EXECUTORS; by++) {
		struct hart h = fresh_hart();
		for (int i = 0; i < 32; i++)
			h.f[i] = 0xffffffff3f800000;
		h.pc = h.x[28] = start;
		h.x[LOOP_COUNT] = rounds;
		engine_invalidate(w->engine[by], 0, GUEST_ADDR_LIMIT);
		assert_int_equal(world_run(w, by, &h, 1ull << 40, 0, NULL), ENGINE_ECALL);
		assert_int_equal(h.x[10], blocks * rounds);
		assert_int_equal(w->executed, (uint64_t)rounds * (blocks * (fp + 2) + 3));
	}
}

static void test_251_code_larger_than_the_caches_still_runs(void **state)
{
	struct world w;
	uint64_t start = 0x1000000;

	(void)state;
	world_open(&w);
	world_map(&w, start, 8 << 20, MEM_R | MEM_W | MEM_X);
	run_chain(&w, start, 400000, 0, 2);  /* more blocks than the engine keeps */
	run_chain(&w, start, 40000, 12, 20); /* more generated code than fits */
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_240_fence_i_makes_stores_to_code_visible),
		cmocka_unit_test(test_241_invalidation_of_a_range_reaches_linked_blocks),
		cmocka_unit_test(test_242_an_instruction_across_pages_is_dropped_with_either),
		cmocka_unit_test(test_243_what_is_not_executable_is_a_fetch_fault),
		cmocka_unit_test(
		    test_244_an_instruction_whose_second_half_is_not_executable_faults),
		cmocka_unit_test(test_245_each_way_to_leave_has_its_pc_and_its_count),
		cmocka_unit_test(test_246_a_reserved_rounding_mode_is_illegal_inside_a_hot_block),
		cmocka_unit_test(test_247_an_interrupt_ends_an_endless_loop),
		cmocka_unit_test(test_248_a_step_reports_address_value_and_direction),
		cmocka_unit_test(test_250_low_and_odd_addresses_are_not_executable),
		cmocka_unit_test(test_251_code_larger_than_the_caches_still_runs),
		cmocka_unit_test(test_249_counts_of_blocks_add_up_to_what_was_executed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
