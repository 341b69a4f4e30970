/* SPDX-License-Identifier: MIT */
/* Runs guests that go wrong on purpose on the core, and checks every cycle and every record. */
#include "listener.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "differential/random/hostile.h"
#include "differential/random/program.h"
#include "guest/engine/engine.h"

#define PROGRAM "./hostile-program"

static const char *const machines[] = {
	"boom-tip",	 "boom-tea",	   "eyerman2006",  "fields2004", "inorder-2w",
	"puzak2007-bus", "puzak2007-inst", "puzak2007-l3", "puzak2007",	 "tracedoctor2023",
};

static const int *no_streams(void)
{
	static int streams[3] = { -1, -1, -1 };

	return streams;
}

static struct core_stats run_hostile(uint64_t seed, const char *machine, const char *const *sets)
{
	static struct listener l;
	struct hostile_options o = { .seed = seed, .timer = seed % 5 == 4 };
	struct hostile h;
	struct kernel_run k = { .machine = machine,
				.sets = sets,
				.program = PROGRAM,
				.ends_badly = true,
				.streams = no_streams(),
				.check = true };

	assert_true(hostile_write(&o, PROGRAM, &h));
	return listen(&l, k, 0, ALL);
}

static void test_367_hostile_guests_keep_the_invariants_on_every_machine(void **state)
{
	uint64_t faults = 0;

	for (unsigned m = 0; m < ARRAY_LEN(machines); m++)
		for (unsigned seed = 0; seed < 2; seed++)
			faults += run_hostile(500 + 2 * m + seed, machines[m], NULL).faults;
	assert_true(faults > 100);
}

static void test_368_hostile_guests_keep_the_invariants_in_small_and_ideal_machines(void **state)
{
	static const char *const sets[][4] = {
		{ "window.rob=4", "lsu.store_queue=1" },
		{ "exception.page_faults=yes", "lsu.order=speculative" },
		{ "ideal.flush=on" },
		{ "ideal.bw=on", "ideal.win=on" },
		{ "bpred.direction=perfect", "lsu.load_queue=1" },
		{ "ideal.bmisp=on", "ideal.sq=on", "decode.branches=1" },
	};

	for (unsigned s = 0; s < ARRAY_LEN(sets); s++)
		for (unsigned seed = 0; seed < 2; seed++)
			run_hostile(600 + 2 * s + seed, "boom-tip", sets[s]);
}

/* ---- single events ---- */

static void write_words(const uint32_t *words, size_t n, uint64_t entry)
{
	static const uint8_t zeros[DATA_BYTES];

	assert_true(image_write(PROGRAM, entry, words, 4 * n, zeros, zeros));
}

struct seen {
	struct emit emit;
	struct rec_cycle cycles[BATCH];
	struct rec_inst insts[BATCH];
	struct rec_inst last;
	uint64_t faults;
};

static void take_last(struct emit *e)
{
	struct seen *s = (struct seen *)e;

	for (size_t i = 0; i < e->ninsts; i++) {
		if (e->insts[i].flags & RI_COMMITTED)
			s->last = e->insts[i];
		s->faults += !!(e->insts[i].flags & RI_COMMITTED && e->insts[i].flags & RI_FAULT);
	}
	e->ninsts = e->ncycles = 0;
}

static struct core_stats run_seen(struct seen *s)
{
	struct kernel_run k = { .machine = "boom-tip",
				.program = PROGRAM,
				.ends_badly = true,
				.streams = no_streams(),
				.check = true,
				.emit = &s->emit };

	memset(s, 0, sizeof(*s));
	s->emit = (struct emit){ .cycles = s->cycles,
				 .insts = s->insts,
				 .max_cycles = BATCH,
				 .max_insts = BATCH,
				 .wants = ALL,
				 .full = take_last };

	struct core_stats stats = run_kernel(&k, 0);

	take_last(&s->emit);
	return stats;
}

static void test_369_a_first_instruction_that_is_not_there_is_one_record(void **state)
{
	static struct seen s;
	uint32_t nop = enc_i(OP_ADDI, 0, 0, 0);

	write_words(&nop, 1, 0x700000);

	struct core_stats stats = run_seen(&s);

	assert_int_equal(stats.insts, 1);
	assert_int_equal(stats.faults, 1);
	assert_int_equal(s.last.pc, 0x700000);
	assert_int_equal(s.last.word, 0);
	assert_true(s.last.flags & RI_FAULT && s.last.flags & RI_EXCEPTION);
	assert_true(s.last.psv & PSV_FL_EX);
}

static void test_370_a_jump_beyond_the_address_space_is_charged_to_its_address(void **state)
{
	static struct seen s;
	/* li t0, -4; jr t0 */
	uint32_t words[] = { enc_i(OP_ADDI, 5, 0, -4), enc_i(OP_JALR, 0, 5, 0) };

	write_words(words, ARRAY_LEN(words), CODE_ADDR);

	struct core_stats stats = run_seen(&s);

	assert_int_equal(stats.insts, 3);
	assert_int_equal(stats.faults, 1);
	assert_int_equal(s.last.pc, (uint64_t)-4);
	assert_int_equal(s.faults, 1);
}

static void test_371_a_store_that_faults_is_not_written_to_the_cache(void **state)
{
	static struct seen s;
	/* lui t0, 0x900; sd t0, 0(t0) */
	uint32_t words[] = { enc_u(OP_LUI, 5, 0x900000), enc_s(OP_SD, 5, 5, 0) };

	write_words(words, ARRAY_LEN(words), CODE_ADDR);

	struct core_stats stats = run_seen(&s);

	assert_int_equal(stats.insts, 2);
	assert_int_equal(stats.faults, 1);
	assert_true(s.last.flags & RI_STORE && s.last.flags & RI_FAULT);
	assert_false(s.last.psv & (PSV_ST_L1 | PSV_ST_TLB));
}

/*
 * s1 = n; do { *patch = a3; swap a3, a4; fence.i; patch: addi; } while (--s1): every iteration
 * executes code that the core has not seen before.
 */
static uint64_t peak_kb(uint32_t iterations)
{
	uint32_t words[] = {
		enc_u(OP_LUI, 9, iterations << 12),
		enc_i(OP_SRLI, 9, 9, 12),
		enc_u(OP_AUIPC, 8, 0),	     /* s0 = here */
		enc_i(OP_LW, 13, 8, 16 * 4), /* a3, a4 */
		enc_i(OP_LW, 14, 8, 17 * 4),
		/* 5: */ enc_s(OP_SW, 8, 13, (13 - 2) * 4), /* patch */
		enc_r(OP_XOR, 13, 13, 14),
		enc_r(OP_XOR, 14, 13, 14),
		enc_r(OP_XOR, 13, 13, 14),
		enc_i(OP_FENCE_I, 0, 0, 0),
		enc_i(OP_ADDI, 0, 0, 0),
		enc_i(OP_ADDI, 0, 0, 0),
		enc_i(OP_ADDI, 0, 0, 0),
		/* 13: */ enc_i(OP_ADDI, 15, 15, 1),
		enc_i(OP_ADDI, 9, 9, -1),
		enc_b(OP_BNE, 9, 0, -10 * 4),
		enc_i(OP_ADDI, 17, 0, 94),
		enc_i(OP_ECALL, 0, 0, 0),
		/* 18: */ enc_i(OP_ADDI, 15, 15, 1),
		enc_i(OP_ADDI, 15, 15, 2),
	};
	struct kernel_run k = { .machine = "boom-tip",
				.program = PROGRAM,
				.ends_badly = true,
				.streams = no_streams() };
	int pipes[2];
	uint64_t kb = 0;

	write_words(words, ARRAY_LEN(words), CODE_ADDR);
	assert_int_equal(pipe(pipes), 0);

	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		char line[256];
		FILE *f;

		run_kernel(&k, 0);
		f = fopen("/proc/self/status", "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "VmHWM: %lu", &kb) == 1)
				break;
		_exit(write(pipes[1], &kb, sizeof(kb)) != sizeof(kb));
	}

	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(pipes[0], &kb, sizeof(kb)), sizeof(kb));
	close(pipes[0]);
	close(pipes[1]);
	return kb;
}

static void test_372_code_that_changes_for_ever_needs_no_more_memory(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	skip(); /* ASan keeps freed memory */
#endif
	uint64_t few = peak_kb(1000), many = peak_kb(30000);

	if (many > few + 1024)
		fail_msg("%lu KiB after 1,000 changes, %lu after 30,000", few, many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_367_hostile_guests_keep_the_invariants_on_every_machine),
		cmocka_unit_test(
		    test_368_hostile_guests_keep_the_invariants_in_small_and_ideal_machines),
		cmocka_unit_test(test_369_a_first_instruction_that_is_not_there_is_one_record),
		cmocka_unit_test(
		    test_370_a_jump_beyond_the_address_space_is_charged_to_its_address),
		cmocka_unit_test(test_371_a_store_that_faults_is_not_written_to_the_cache),
		cmocka_unit_test(test_372_code_that_changes_for_ever_needs_no_more_memory),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	unlink(PROGRAM);
	unlink(PROGRAM ".bad");
	return failed;
}
