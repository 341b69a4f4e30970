/* SPDX-License-Identifier: MIT */
/*
 * Generated code is never writable and executable through one mapping, lies where no guest pointer
 * can point, survives a fork in both processes, and is not used where the host forbids it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/guest/engine_world.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

/* Computes x10 = x10 * 3 + n `rounds` times and returns x10. */
static uint64_t run_loop(struct world *w, enum executor by, int n, uint64_t rounds)
{
	struct hart h;

	memset(&h, 0, sizeof(h));
	h.lr_addr = ~0ull;
	h.pc = CODE_PC;
	h.x[10] = 1;
	h.x[11] = 3;
	h.x[12] = rounds;
	world_restart(w);
	world_emit(w, enc_r(OP_MUL, 10, 10, 11));
	world_emit(w, enc_i(OP_ADDI, 10, 10, n));
	world_emit(w, enc_i(OP_ADDI, 12, 12, -1));
	world_emit(w, enc_b(OP_BNE, 12, 0, -12));
	world_emit(w, enc_i(OP_ECALL, 0, 0, 0));
	assert_int_equal(world_run(w, by, &h, UINT64_MAX / 2, 0, NULL), ENGINE_ECALL);
	return h.x[10];
}

static uint64_t expected(int n, uint64_t rounds)
{
	uint64_t x = 1;

	while (rounds--)
		x = x * 3 + (uint64_t)n;
	return x;
}

struct pages {
	unsigned both;	   /* mappings that are writable and executable */
	unsigned code;	   /* executable mappings of generated code */
	unsigned writable; /* writable mappings of generated code */
	unsigned inside;   /* mappings of generated code where a guest pointer could point */
};

static struct pages look(const struct world *w)
{
	uintptr_t low = (uintptr_t)w->mem.base - GUEST_GUARD_BYTES;
	uintptr_t high = (uintptr_t)w->mem.base + GUEST_ADDR_LIMIT + GUEST_GUARD_BYTES;
	FILE *f = fopen("/proc/self/maps", "r");
	struct pages p = { 0 };
	char line[4096], prot[5];
	unsigned long start, end;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		bool ours = strstr(line, "culprit-code") != NULL;

		if (sscanf(line, "%lx-%lx %4s", &start, &end, prot) != 3)
			continue;
		p.both += prot[1] == 'w' && prot[2] == 'x';
		p.code += ours && prot[2] == 'x';
		p.writable += ours && prot[1] == 'w';
		p.inside += (ours || prot[2] == 'x') && start < high && end > low;
	}
	fclose(f);
	return p;
}

static void test_277_nothing_is_writable_and_executable(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	for (int round = 0; round < 50; round++) {
		assert_int_equal(run_loop(&w, BY_GENERATED_CODE, round, 1000),
				 expected(round, 1000));
		struct pages p = look(&w);
		assert_int_equal(p.both, 0);
		assert_int_equal(p.inside, 0);
#if defined(__x86_64__)
		assert_int_equal(p.code, 1);
		assert_int_equal(p.writable, 1);
#endif
	}
	world_close(&w);
}

static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

enum { GOOD, BAD, NOT_HERE = 77 };

/* Under MDWE the kernel refuses mappings that are or become both writable and executable. */
static int under_mdwe(void)
{
	struct world w;

	if (prctl(PR_SET_MDWE, 1, 0, 0, 0) < 0)
		return NOT_HERE;
	world_open(&w);
#if defined(__x86_64__)
	if (look(&w).code != 1)
		return BAD;
#endif
	return run_loop(&w, BY_GENERATED_CODE, 5, 100000) == expected(5, 100000) ? GOOD : BAD;
}

static void test_278_generated_code_needs_no_such_mapping(void **state)
{
	int got = in_child(under_mdwe);

	(void)state;
	if (got == NOT_HERE)
		skip();
	assert_int_equal(got, GOOD);
}

static int without_memfd(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_LEN(filter), filter };
	struct world w;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		return NOT_HERE;
	world_open(&w);
	if (look(&w).code || look(&w).both)
		return BAD;
	return run_loop(&w, BY_GENERATED_CODE, 5, 100000) == expected(5, 100000) ? GOOD : BAD;
}

static void test_279_where_there_can_be_no_code_the_interpreter_runs(void **state)
{
	int got = in_child(without_memfd);

	(void)state;
	if (got == NOT_HERE)
		skip();
	assert_int_equal(got, GOOD);
}

/* Parent and child go on with translated code and translate new code, at the same time. */
static void test_280_a_fork_gives_each_process_code_of_its_own(void **state)
{
	struct world w;
	int status;
	pid_t pid;

	(void)state;
	world_open(&w);
	assert_int_equal(run_loop(&w, BY_GENERATED_CODE, 1, 1000), expected(1, 1000));
	for (int i = 0; i < 10; i++) {
		struct engine *e = w.engine[BY_GENERATED_CODE];
		bool good = true;

		fflush(NULL);
		engine_fork_begin(e);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			alarm(60);
			engine_fork_child(e);
		} else {
			engine_fork_end(e);
		}
		for (int k = 0; k < 300; k++) {
			int n = pid ? k : 1000 - k;
			good &= run_loop(&w, BY_GENERATED_CODE, n, 100) == expected(n, 100);
		}
#if defined(__x86_64__)
		good &= look(&w).code == 1 && look(&w).writable == 1 && look(&w).both == 0;
#endif
		if (pid == 0)
			_exit(good ? GOOD : BAD);
		assert_true(good);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_277_nothing_is_writable_and_executable),
		cmocka_unit_test(test_278_generated_code_needs_no_such_mapping),
		cmocka_unit_test(test_279_where_there_can_be_no_code_the_interpreter_runs),
		cmocka_unit_test(test_280_a_fork_gives_each_process_code_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
