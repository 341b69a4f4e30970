/* SPDX-License-Identifier: MIT */
/* Whole programs: what they print, how they end, and that a run repeats exactly. */
#include "guest_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct run a, b;

static const char threads_out[] = "sum 8004000 of 8000\ntimed out 1 after 100 s\n";

static void test_267_threads_give_the_same_result_for_every_quantum(void **state)
{
	const char *path = world_program("threads");
	static const uint64_t quantum[] = { 997, 20011, 0, 10000000 };

	for (size_t i = 0; i < ARRAY_LEN(quantum); i++) {
		struct guest_config config = { .quantum = quantum[i] };

		assert_true(world_run(path, &config, false, &a));
		assert_int_equal(a.status, 0);
		assert_string_equal(a.out, threads_out);
	}
}

static void test_268_runs_with_threads_repeat_to_the_instruction(void **state)
{
	const char *path = world_program("threads");

	assert_true(world_run(path, NULL, false, &a));
	assert_true(world_run(path, NULL, false, &b));
	assert_int_equal(a.insts, b.insts);
}

static void test_269_stepping_is_the_same_run(void **state)
{
	const char *const names[] = { "threads", "signals", "files" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *path = world_program(names[i]);

		assert_true(world_run(path, NULL, false, &a));
		assert_true(world_run(path, NULL, true, &b));
		assert_string_equal(a.out, b.out);
		assert_int_equal(a.status, b.status);
		assert_int_equal(a.insts, b.insts);
	}
}

static void test_270_waiting_takes_no_real_time(void **state)
{
	const char *path = world_program("threads");
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_true(world_run(path, NULL, false, &a));
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 30);
}

static void test_260_signals_go_round(void **state)
{
	assert_true(world_run(world_program("signals"), NULL, false, &a));
	assert_string_equal(a.out, "null: 11 at 0x124\n"
				   "read-only: 11 1\n"
				   "not code: 11 1\n"
				   "trap: 77 1.5\n"
				   "alternate stack: 1\n"
				   "alarms\n"
				   "sigwait: 1\n"
				   "queued: 42 43\n"
				   "sigtimedwait: -1 1\n"
				   "nanosleep: -1 1 4\n"
				   "read: -1 1\n"
				   "write: -1 1\n");
	assert_int_equal(a.status, 128 + 6);
}

static void test_261_fork_exec_and_wait_work(void **state)
{
	assert_true(world_run(world_program("processes"), NULL, false, &a));
	assert_string_equal(a.out, "pipe: child, pid 1, status 5\n"
				   "exec'ed with argument, closed 1\n"
				   "exec: 7\n"
				   "killed: 1010\n"
				   "terminated: 1015\n"
				   "vfork: 6\n"
				   "sigchld: 3\n"
				   "no child: -1\n"
				   "shared: 42\n"
				   "between threads: 900000\n"
				   "epoll: 0 1 1122334455667788 1 9\n");
	assert_int_equal(a.status, 0);
}

struct fork_log {
	unsigned prepared, parents;
};

/* In a child only the guest may go on, nothing of the test. */
static void note_fork(void *ctx, enum guest_fork phase, unsigned number)
{
	struct fork_log *log = ctx;

	if (phase == GUEST_FORK_PREPARE)
		log->prepared++;
	else if (phase == GUEST_FORK_PARENT)
		log->parents++;
	else
		log->prepared = 1000 + number;
}

static void test_262_measured_children_return_to_their_caller(void **state)
{
	struct fork_log log = { 0 };
	struct guest_config config = {
		.children = GUEST_CHILDREN_SIMULATED,
		.forked = note_fork,
		.forked_ctx = &log,
	};

	assert_true(world_run(world_program("processes"), &config, true, &a));
	if (log.prepared >= 1000)
		_exit(a.status);
	assert_int_equal(a.status, 0);
	assert_int_equal(log.prepared, 7);
	assert_int_equal(log.parents, 7);
	assert_non_null(strstr(a.out, "exec'ed with argument, closed 1\nexec: 7\nkilled: 1010\n"));
	assert_non_null(strstr(a.out, "shared: 42\n"));
}

static void test_271_files_and_proc_look_right(void **state)
{
	assert_true(world_run(world_program("files"), NULL, false, &a));
	assert_string_equal(a.out, "open 3 again 1\n"
				   "writev 6 pread 3 cde lseek 5\n"
				   "stat size 6 mode 640 links 1 block 1\n"
				   "statx 6\n"
				   "ftruncate 0 10000\n"
				   "readlink 1 f\n"
				   "lstat 1\n"
				   "entries 5 3\n"
				   "access 0 -1\n"
				   "statfs 0\n"
				   "dup 4 17\n"
				   "flags 0 1\n"
				   "getcwd 0\n"
				   "uname Linux riscv64\n"
				   "stack limit 8388608\n"
				   "maps 1 1\n"
				   "processor\t: 0\n"
				   "random 4\n"
				   "poll 1 1\n"
				   "bad -1 1\n"
				   "cpus 1 pid 1000 uid 1000\n");
}

static void test_281_a_crash_names_pc_symbol_and_address(void **state)
{
	assert_true(world_run(world_program("crash"), NULL, false, &a));
	assert_int_equal(a.status, 128 + 11);
	assert_string_equal(a.out, "before\n");
	assert_non_null(strstr(a.err, "SIGSEGV at pc 0x"));
	assert_non_null(strstr(a.err, "read_through+0x0"));
	assert_non_null(strstr(a.err, "fault address 0xdead0"));
}

static void test_282_a_deadlock_is_reported_and_ends(void **state)
{
	assert_true(world_run(world_program("deadlock"), NULL, false, &a));
	assert_int_equal(a.status, 128 + 9);
	assert_non_null(strstr(a.err, "deadlock"));
}

static void test_283_the_seed_changes_pid_and_nothing_of_substance(void **state)
{
	struct guest_config config = { .seed = 5 };

	assert_true(world_run(world_program("files"), NULL, false, &a));
	assert_true(world_run(world_program("files"), &config, false, &b));
	assert_string_not_equal(a.out, b.out);
	*strstr(a.out, "cpus") = 0;
	*strstr(b.out, "cpus") = 0;
	assert_string_equal(a.out, b.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_267_threads_give_the_same_result_for_every_quantum),
		cmocka_unit_test(test_268_runs_with_threads_repeat_to_the_instruction),
		cmocka_unit_test(test_269_stepping_is_the_same_run),
		cmocka_unit_test(test_270_waiting_takes_no_real_time),
		cmocka_unit_test(test_260_signals_go_round),
		cmocka_unit_test(test_261_fork_exec_and_wait_work),
		cmocka_unit_test(test_262_measured_children_return_to_their_caller),
		cmocka_unit_test(test_271_files_and_proc_look_right),
		cmocka_unit_test(test_281_a_crash_names_pc_symbol_and_address),
		cmocka_unit_test(test_282_a_deadlock_is_reported_and_ends),
		cmocka_unit_test(test_283_the_seed_changes_pid_and_nothing_of_substance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
