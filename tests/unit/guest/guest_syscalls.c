/* SPDX-License-Identifier: MIT */
/* System calls one at a time: hostile pointers, and answers that do not depend on the host. */
#include "guest_world.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cage.h"

enum {
	NR_openat = 56,
	NR_close = 57,
	NR_pipe2 = 59,
	NR_read = 63,
	NR_write = 64,
	NR_getpid = 172,
	NR_clock_gettime = 113,
	NR_getrandom = 278,
	NR_uname = 160,
	NR_mmap = 222,
	NR_madvise = 233,
};

static int64_t call(struct guest *g, unsigned nr, uint64_t a0, uint64_t a1, uint64_t a2,
		    uint64_t a3, uint64_t a4, uint64_t a5)
{
	struct thread *t = g->cur;
	const uint64_t a[6] = { a0, a1, a2, a3, a4, a5 };

	memcpy(&t->hart.x[10], a, sizeof(a));
	t->hart.x[17] = nr;
	syscall_enter(g, t);
	if (t->state == THREAD_BLOCKED)
		syscall_finish(g, t, -EINTR);
	t->restore_sigmask = false;
	return (int64_t)t->hart.x[10];
}

/* Returns whether a call ends or leaves this process, or acts on the host when all arguments are
 * random. */
static bool leaves(const char *name)
{
	static const char *const not_here[] = { "exit", "exit_group", "clone", "kill", "setsid" };

	for (size_t i = 0; i < ARRAY_LEN(not_here); i++)
		if (strcmp(name, not_here[i]) == 0)
			return true;
	return false;
}

static uint64_t page_of(struct guest *g, int prot)
{
	int64_t a =
	    mem_map(&g->mem, 0, GUEST_PAGE_BYTES, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, NULL);

	assert_true(a > 0);
	return (uint64_t)a;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

static void remove_below(const char *folder)
{
	nftw(folder, remove_one, 8, FTW_PHYS | FTW_DEPTH);
}

static void make_hostile_calls(void)
{
	struct rng r;

	rng_seed(&r, 231);
	for (unsigned nr = 0; nr < SYSCALL_MAX; nr++) {
		struct guest *g;
		uint64_t bad[10], fd;

		if (!syscall_table[nr].name || leaves(syscall_table[nr].name))
			continue;
		g = world_guest();
		bad[0] = 0;
		bad[1] = 1;
		bad[2] = UINT64_MAX;
		bad[3] = GUEST_ADDR_LIMIT - 1;
		bad[4] = GUEST_ADDR_LIMIT;
		bad[5] = page_of(g, PROT_NONE);
		bad[6] = page_of(g, PROT_READ);
		bad[7] = page_of(g, PROT_READ | PROT_WRITE) + GUEST_PAGE_BYTES - 3;
		bad[8] = 1ull << 63;
		bad[9] = GUEST_TRAMPOLINE;
		assert_int_equal(call(g, NR_pipe2, bad[7] - 8, O_NONBLOCK, 0, 0, 0, 0), 0);
		fd = 3;
		for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
			call(g, nr, bad[i], bad[i], bad[i], bad[i], bad[i], bad[i]);
			call(g, nr, fd, bad[i], 8, 8, 8, 8);
			call(g, nr, fd, bad[i], bad[i], 8, bad[i], 8);
			call(g, nr, 8, 8, bad[i], 0, bad[i], 0);
			call(g, nr, 0, bad[i], bad[i], 8, 0, bad[i]);
		}
		for (int i = 0; i < 100; i++) {
			uint64_t a[6];

			for (int k = 0; k < 6; k++)
				a[k] = rng_below(&r, 2) ? bad[rng_below(&r, ARRAY_LEN(bad))]
							: rng_below(&r, 70);
			call(g, nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		}
		guest_free(g);
		umask(022);
	}
}

/* The calls are made by a process in a cage: some of them are well-formed, and change what they
 * name. Its standard streams are files in memory, so that it can reach no device. */
static void test_294_hostile_pointers_never_crash_the_host(void **state)
{
	enum { NOT_CONFINED = 77 };
	char root[] = "/tmp/culprit-cage.XXXXXX", folder[64];
	int status;
	pid_t pid;

	assert_non_null(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/tmp", root);
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int memory = memfd_create("stream", 0);

		for (int fd = 0; fd < 3; fd++)
			dup2(memory, fd);
		closefrom(3);
		if (!cage_enter(root))
			_exit(NOT_CONFINED);
		make_hostile_calls();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	remove_below(root);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_CONFINED)
		skip();
	assert_int_equal(status, 0);
}

static void test_295_bad_pointers_give_efault_on_every_class_of_call(void **state)
{
	struct guest *g = world_guest();
	const uint64_t bad[] = { 8, page_of(g, PROT_NONE), 0x1fffffffff, GUEST_ADDR_LIMIT,
				 UINT64_MAX - 4 };
	static const struct {
		const char *name;
		unsigned nr;
		int pointer; /* index of the pointer argument */
		uint64_t a[6];
	} calls[] = {
		{ "openat", NR_openat, 1, { (uint64_t)AT_FDCWD, 0, 0 } },
		{ "write", NR_write, 1, { 4, 0, 8 } },
		{ "pipe2", NR_pipe2, 0, { 0 } },
		{ "clock_gettime", NR_clock_gettime, 1, { 0 } },
		{ "getrandom", NR_getrandom, 0, { 0, 8, 0 } },
		{ "uname", NR_uname, 0, { 0 } },
		{ "fstat", 80, 1, { 3 } },
		{ "newfstatat", 79, 1, { (uint64_t)AT_FDCWD } },
		{ "statx", 291, 1, { (uint64_t)AT_FDCWD } },
		{ "readlinkat", 78, 1, { (uint64_t)AT_FDCWD, 0, 0x3fffffe000, 10 } },
		{ "getcwd", 17, 0, { 0, 4096 } },
		{ "rt_sigaction", 134, 1, { 10, 0, 0, 8 } },
		{ "rt_sigprocmask", 135, 1, { 0, 0, 0, 8 } },
		{ "sigaltstack", 132, 0, { 0 } },
		{ "futex", 98, 0, { 0, 0, 0 } },
		{ "nanosleep", 101, 0, { 0 } },
		{ "ppoll", 73, 0, { 0, 1, 0, 0, 0 } },
		{ "epoll_ctl", 21, 3, { 3, 1, 4 } },
		{ "setitimer", 103, 1, { 0 } },
		{ "timer_create", 107, 2, { 0 } },
		{ "sysinfo", 179, 0, { 0 } },
		{ "prlimit64", 261, 3, { 0, 3, 0 } },
		{ "getrusage", 165, 1, { 0 } },
		{ "sched_getaffinity", 123, 2, { 0, 8 } },
		{ "execve", 221, 0, { 0 } },
		{ "clone3", 435, 0, { 0, 88 } },
		{ "riscv_hwprobe", 258, 0, { 0, 1 } },
		{ "writev", 66, 1, { 4, 0, 1 } },
		{ "bind", 200, 1, { 5, 0, 16 } },
		{ "sendmsg", 211, 1, { 5, 0, 0 } },
		{ "memfd_create", 279, 0, { 0 } },
		{ "getdents64", 61, 1, { 6, 0, 100 } },
	};

	assert_int_equal(call(g, NR_pipe2, page_of(g, PROT_READ | PROT_WRITE), 0, 0, 0, 0, 0),
			 0); /* descriptors 3 and 4 */
	assert_int_equal(call(g, 198 /* socket */, 1, 1, 0, 0, 0, 0), 5);
	mem_write(&g->mem, 0x12300, "/tmp", 5);
	assert_int_equal(call(g, NR_openat, 0, 0x12300, O_DIRECTORY, 0, 0, 0), 6);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
			uint64_t a[6];
			int64_t got;

			memcpy(a, calls[i].a, sizeof(a));
			a[calls[i].pointer] = bad[k];
			if (calls[i].nr == 98)
				a[0] &= ~3ull;
			got = call(g, calls[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]);
			if (got != -EFAULT)
				print_message("%s with 0x%llx gave %lld\n", calls[i].name,
					      (unsigned long long)bad[k], (long long)got);
			assert_int_equal(got, -EFAULT);
		}
	}
	guest_free(g);
}

static void test_296_unknown_calls_are_enosys_and_named_once(void **state)
{
	struct guest *g = world_guest();
	int fd = memfd_create("err", 0), old = dup(2);
	char text[512] = { 0 };

	dup2(fd, 2);
	assert_int_equal(call(g, 180 /* mq_open */, 0, 0, 0, 0, 0, 0), -ENOSYS);
	assert_int_equal(call(g, 180, 0, 0, 0, 0, 0, 0), -ENOSYS);
	/* Libraries try this call and fall back to another: culprit does not report it. */
	assert_int_equal(call(g, 425 /* io_uring_setup */, 0, 0, 0, 0, 0, 0), -ENOSYS);
	assert_int_equal(call(g, 100000, 0, 0, 0, 0, 0, 0), -ENOSYS);
	dup2(old, 2);
	close(old);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	close(fd);
	assert_non_null(strstr(text, "mq_open"));
	assert_null(strstr(strstr(text, "mq_open") + 1, "mq_open"));
	assert_null(strstr(text, "io_uring_setup"));
	guest_free(g);
}

static void test_297_time_random_numbers_and_pid_are_fixed(void **state)
{
	uint64_t first[6] = { 0 };

	for (int i = 0; i < 2; i++) {
		struct guest *g = world_guest();
		uint64_t at = page_of(g, PROT_READ | PROT_WRITE), now[6] = { 0 };

		assert_int_equal(call(g, NR_clock_gettime, 0, at, 0, 0, 0, 0), 0);
		assert_int_equal(call(g, NR_getrandom, at + 16, 24, 0, 0, 0, 0), 24);
		mem_read(&g->mem, now, at, 40);
		now[5] = (uint64_t)call(g, NR_getpid, 0, 0, 0, 0, 0, 0);
		if (i == 0)
			memcpy(first, now, sizeof(now));
		assert_memory_equal(first, now, sizeof(now));
		guest_free(g);
	}
}

static void test_298_descriptors_are_the_lowest_free_ones(void **state)
{
	struct guest *g = world_guest();
	uint64_t at = page_of(g, PROT_READ | PROT_WRITE);
	int mine = open("/dev/null", O_RDONLY);

	assert_int_equal(call(g, NR_pipe2, at, 0, 0, 0, 0, 0), 0);
	assert_int_equal(mem_peek(&g->mem, at, 4), 3);
	assert_int_equal(mem_peek(&g->mem, at + 4, 4), 4);
	assert_int_equal(call(g, NR_close, 3, 0, 0, 0, 0, 0), 0);
	assert_int_equal(call(g, NR_pipe2, at, 0, 0, 0, 0, 0), 0);
	assert_int_equal(mem_peek(&g->mem, at, 4), 3);
	assert_int_equal(mem_peek(&g->mem, at + 4, 4), 5);
	/* descriptors of this program are not the guest's */
	assert_int_equal(call(g, NR_close, (uint64_t)mine + 100, 0, 0, 0, 0, 0), -EBADF);
	close(mine);
	guest_free(g);
}

static void test_299_madvise_dontneed_gives_zeroes(void **state)
{
	struct guest *g = world_guest();
	uint64_t at = page_of(g, PROT_READ | PROT_WRITE);

	mem_write(&g->mem, at, "x", 1);
	assert_int_equal(call(g, NR_madvise, at, GUEST_PAGE_BYTES, MADV_DONTNEED, 0, 0, 0), 0);
	assert_int_equal(mem_peek(&g->mem, at, 1), 0);
	guest_free(g);
}

static void test_219_reading_an_empty_pipe_for_ever_is_a_deadlock_not_a_hang(void **state)
{
	struct guest *g = world_guest();
	uint64_t at = page_of(g, PROT_READ | PROT_WRITE);
	struct thread *t = g->cur;
	int null = open("/dev/null", O_WRONLY), old = dup(2);

	call(g, NR_pipe2, at, 0, 0, 0, 0, 0);
	t->hart.x[10] = 3;
	t->hart.x[11] = at;
	t->hart.x[12] = 1;
	t->hart.x[17] = NR_read;
	syscall_enter(g, t);
	assert_int_equal(t->state, THREAD_BLOCKED);
	dup2(null, 2);
	guest_settle(g);
	dup2(old, 2);
	close(old);
	close(null);
	assert_true(g->ended);
	guest_free(g);
}

static int cleanup(void **state)
{
	unlink(world_file("", 0));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_294_hostile_pointers_never_crash_the_host),
		cmocka_unit_test(test_295_bad_pointers_give_efault_on_every_class_of_call),
		cmocka_unit_test(test_296_unknown_calls_are_enosys_and_named_once),
		cmocka_unit_test(test_297_time_random_numbers_and_pid_are_fixed),
		cmocka_unit_test(test_298_descriptors_are_the_lowest_free_ones),
		cmocka_unit_test(test_299_madvise_dontneed_gives_zeroes),
		cmocka_unit_test(test_219_reading_an_empty_pipe_for_ever_is_a_deadlock_not_a_hang),
	};

	return cmocka_run_group_tests(tests, NULL, cleanup);
}
