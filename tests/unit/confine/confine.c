/* SPDX-License-Identifier: MIT */
/*
 * Tests what culprit can still do after confine_drop, as if a guest had taken it over: each test
 * confines a process of its own. The arguments are chosen so that a call that is not refused does
 * nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/confine.h"

#if defined(__SANITIZE_ADDRESS__)
#define MAY_TRACE 1 /* for ASan's leak checker */
#else
#define MAY_TRACE 0
#endif

/* Runs fn in a confined process and returns its result. */
static int confined(int (*fn)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct confine_report report = { .net = false };

		confine_drop(&report);
		_exit(report.seccomp ? fn(arg) : 99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

struct attempt {
	const char *name;
	long nr, a[6];
};
#define TRY(name, ...)                                                                             \
	{                                                                                          \
#name, SYS_##name,                                                                 \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

static const struct attempt forbidden[] = {
	TRY(process_vm_readv, 1, 0, 0, 0, 0, 0),
	TRY(process_vm_writev, 1, 0, 0, 0, 0, 0),
	TRY(process_madvise, -1, 0, 0, 0, 0),
	TRY(kcmp, 1, 1, 0, 0, 0),
	TRY(pidfd_getfd, -1, 0, 0),
	TRY(execve, (long)"/nonexistent", 0, 0),
	TRY(execveat, -1, (long)"/nonexistent", 0, 0, 0),
	TRY(bpf, -1, 0, 0),
	TRY(perf_event_open, 0, 0, -1, -1, 0),
	TRY(keyctl, -1, 0, 0),
	TRY(add_key, 0, 0, 0, 0, 0),
	TRY(request_key, 0, 0, 0, 0),
	TRY(mount, (long)"x", (long)"/nonexistent", (long)"x", 0, 0),
	TRY(umount2, (long)"/nonexistent", 0),
	TRY(move_mount, -1, (long)"", -1, (long)"", 0),
	TRY(open_tree, -1, (long)"", 0),
	TRY(fsopen, (long)"nonexistent", 0),
	TRY(fsmount, -1, 0, 0),
	TRY(mount_setattr, -1, (long)"", 0, 0, 0),
	TRY(pivot_root, (long)"/nonexistent", (long)"/nonexistent"),
	TRY(chroot, (long)"/nonexistent"),
	TRY(unshare, 0),
	TRY(setns, -1, 0),
	TRY(kexec_load, 0, 0, 0, -1),
	TRY(init_module, 0, 0, 0),
	TRY(finit_module, -1, 0, 0),
	TRY(delete_module, (long)"nonexistent", 0),
	TRY(reboot, 0, 0, 0, 0),
	TRY(swapon, (long)"/nonexistent", 0),
	TRY(swapoff, (long)"/nonexistent"),
	TRY(quotactl, -1, 0, 0, 0),
	TRY(acct, (long)"/nonexistent"),
	TRY(settimeofday, 0, 0),
	TRY(clock_settime, -1, 0),
	TRY(adjtimex, 0),
	TRY(clock_adjtime, -1, 0),
	TRY(sethostname, 0, -1),
	TRY(setdomainname, 0, -1),
#ifdef SYS_iopl /* of x86 alone */
	TRY(iopl, 4),
	TRY(ioperm, -1, -1, 0),
	TRY(modify_ldt, -1, 0, 0),
#endif
	TRY(io_uring_setup, 0, 0),
	TRY(io_uring_enter, -1, 0, 0, 0),
	TRY(userfaultfd, -1),
	TRY(open_by_handle_at, -1, 0, 0),
	TRY(name_to_handle_at, -1, 0, 0, 0, 0),
	TRY(personality, 0xffffffff),
	TRY(setuid, 0),
	TRY(setgid, 0),
	TRY(setresuid, 0, 0, 0),
	TRY(setgroups, 0, 0),
	TRY(capset, 0, 0),
	TRY(seccomp, -1, 0, 0),
	TRY(landlock_create_ruleset, 0, 0, 1),
	TRY(fanotify_init, -1, 0),
	TRY(syslog, -1, 0, 0),
	TRY(lookup_dcookie, 0, 0, 0),
	TRY(migrate_pages, -1, 0, 0, 0),
	TRY(move_pages, -1, 0, 0, 0, 0, 0),
	TRY(vhangup),
	TRY(ptrace, -1, 0, 0, 0),
};

/* Returns how many calls were not refused. */
static int try_forbidden(void *arg)
{
	int open = 0;

	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
		const struct attempt *t = &forbidden[i];

		if (MAY_TRACE && t->nr == SYS_ptrace)
			continue;
		errno = 0;
		if (syscall(t->nr, t->a[0], t->a[1], t->a[2], t->a[3], t->a[4], t->a[5]) != -1 ||
		    errno != EPERM) {
			dprintf(2, "%s is not refused: %s\n", t->name, strerror(errno));
			open++;
		}
	}
	return open;
}

static void test_284_calls_that_no_simulation_makes_are_refused(void **state)
{
	assert_int_equal(confined(try_forbidden, NULL), 0);
}

static int try_requests(void *arg)
{
	static const unsigned long requests[] = { TIOCSTI, 0x541c /* TIOCLINUX */, TIOCSCTTY,
						  0x4b3a /* KDSETMODE */, TIOCCONS };
	static const int families[] = { AF_PACKET, AF_VSOCK, AF_ALG, AF_BLUETOOTH, AF_KEY, AF_XDP };
	static const unsigned long flags[] = { CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWNET,
					       CLONE_NEWPID,  CLONE_NEWIPC, CLONE_NEWUTS };
	int open = 0, pipes[2];

	if (pipe(pipes))
		return 99;
	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		for (unsigned high = 0; high < 2; high++)
			open += syscall(SYS_ioctl, pipes[0], requests[i] | (uint64_t)high << 32,
					0) != -1 ||
				errno != EPERM;
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		open += socket(families[i], SOCK_DGRAM, 0) >= 0 || errno != EPERM;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		long pid = syscall(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0, 0);

		if (!pid)
			_exit(0);
		open += pid != -1 || errno != EPERM;
	}
	return open;
}

static void test_285_requests_families_and_namespaces_are_refused_by_argument(void **state)
{
	assert_int_equal(confined(try_requests, NULL), 0);
}

static int try_kill(void *arg)
{
	pid_t victim = *(pid_t *)arg;
	int fd = (int)syscall(SYS_pidfd_open, victim, 0), open = 0;

	open += kill(victim, SIGTERM) != -1;
	open += kill(getppid(), 0) != -1;
	open += syscall(SYS_tgkill, victim, victim, SIGTERM) != -1;
	open += sigqueue(victim, SIGTERM, (union sigval){ 0 }) != -1;
	open += syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) != -1;

	/* the process may signal its own children */
	pid_t own = fork();

	if (!own)
		for (;;)
			pause();
	open += kill(own, SIGKILL) != 0;
	waitpid(own, NULL, 0);
	return open;
}

static void test_286_signals_reach_ones_own_children_and_nobody_else(void **state)
{
	pid_t victim = fork();
	int status;

	if (!victim)
		for (;;)
			pause();
	if (syscall(444 /* landlock_create_ruleset */, NULL, 0, 1) >= 6)
		assert_int_equal(confined(try_kill, &victim), 0);
	assert_int_equal(waitpid(victim, &status, WNOHANG), 0);
	kill(victim, SIGKILL);
	waitpid(victim, &status, 0);
}

static int look_at_capabilities(void *arg)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2];
	const unsigned files = 1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE |
			       1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER | 1u << CAP_FSETID;

	if (syscall(SYS_capget, &head, now))
		return 98;
	return now[0].effective & ~files || now[0].permitted & ~files || now[1].effective ||
	       now[1].permitted || now[0].inheritable ||
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

static void test_287_of_capabilities_those_about_files_remain(void **state)
{
	assert_int_equal(confined(look_at_capabilities, NULL), 0);
}

/* Makes the calls that a run needs: files, memory, threads, children, sockets. */
static int live_on(void *arg)
{
	int fd = open("/dev/null", O_RDWR), pipes[2], status;
	void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (fd < 0 || write(fd, "", 1) != 1 || p == MAP_FAILED ||
	    mremap(p, 1 << 20, 1 << 21, MREMAP_MAYMOVE) == MAP_FAILED ||
	    syscall(SYS_memfd_create, "x", 0) < 0 || pipe(pipes) ||
	    socket(AF_INET, SOCK_STREAM, 0) < 0 || socket(AF_UNIX, SOCK_STREAM, 0) < 0)
		return 1;
	pid = fork();
	if (!pid)
		_exit(7);
	return waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7;
}

static void test_288_what_a_run_needs_remains(void **state)
{
	assert_int_equal(confined(live_on, NULL), 0);
}

static int again(void *arg)
{
	return try_forbidden(arg) + try_requests(arg);
}

static int in_a_child(void *arg)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(again(arg));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void test_289_children_inherit_it(void **state)
{
	assert_int_equal(confined(in_a_child, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_284_calls_that_no_simulation_makes_are_refused),
		cmocka_unit_test(test_285_requests_families_and_namespaces_are_refused_by_argument),
		cmocka_unit_test(test_286_signals_reach_ones_own_children_and_nobody_else),
		cmocka_unit_test(test_287_of_capabilities_those_about_files_remain),
		cmocka_unit_test(test_288_what_a_run_needs_remains),
		cmocka_unit_test(test_289_children_inherit_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
