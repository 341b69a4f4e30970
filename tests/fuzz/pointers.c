/* SPDX-License-Identifier: MIT */
/*
 * Makes system calls with one bad pointer at a time and prints what comes of it, a line each. It is
 * compiled twice: for this machine, where Linux answers, and for the guest. Both must print the
 * same.
 *
 * Every pointer argument in turn is NULL, not mapped, mapped without access, read-only, the last
 * byte before a hole, in the kernel's half, and far beyond all of memory; the others stay good.
 * Left out is what could block for ever or make a process.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Descriptors, opened in this order. */
enum { NUL, OUT, ERR, ZERO, FOLDER, MEM, PIPE_R, PIPE_W, SOCK_A, SOCK_B, EPOLL, TIMER, LISTEN };

/*
 * What stands in `kinds` for each argument: '-' the number in `arg`; otherwise a pointer to
 * z zeros (Z: not read-only)   d "."   p a name that is not there   v an iovec   l a length of 16
 * f a pollfd t a timespec of a nanosecond (T: never NULL, which would mean for ever)   m a msghdr
 */
struct row {
	const char *name;
	long nr;
	const char *kinds;
	long arg[6];
};
#define ROW(name, ...)                                                                             \
	{                                                                                          \
#name, SYS_##name, __VA_ARGS__                                                     \
	}

static const struct row rows[] = {
	ROW(read, "-z-", { ZERO, 0, 8 }),
	ROW(write, "-z-", { NUL, 0, 8 }),
	ROW(write, "-z-", { PIPE_W, 0, 8 }),
	ROW(pread64, "-z--", { MEM, 0, 8, 0 }),
	ROW(pwrite64, "-z--", { MEM, 0, 8, 0 }),
	ROW(readv, "-v-", { ZERO, 0, 1 }),
	ROW(writev, "-v-", { PIPE_W, 0, 1 }),
	ROW(preadv, "-v--", { MEM, 0, 1, 0 }),
	ROW(pwritev, "-v--", { MEM, 0, 1, 0 }),
	ROW(sendfile, "--z-", { SOCK_A, MEM, 0, 8 }),
	ROW(copy_file_range, "-z-z--", { MEM, 0, MEM, 0, 4, 0 }),
	ROW(getdents64, "-z-", { FOLDER, 0, 1000 }),
	ROW(getcwd, "z-", { 0, 4096 }),
	ROW(chdir, "p", { 0 }),
	ROW(faccessat, "-d-", { AT_FDCWD, 0, F_OK }),
	ROW(mkdirat, "-p-", { FOLDER, 0, 0700 }),
	ROW(unlinkat, "-p-", { FOLDER, 0, 0 }),
	ROW(symlinkat, "p-p", { 0, ZERO }),
	ROW(linkat, "-p-p-", { FOLDER, 0, FOLDER, 0, 0 }),
	ROW(renameat2, "-p-p-", { FOLDER, 0, FOLDER, 0, 0 }),
	ROW(openat, "-d-", { AT_FDCWD, 0, O_RDONLY }),
	ROW(openat2, "-dz-", { AT_FDCWD, 0, 0, 24 }),
	ROW(readlinkat, "-pz-", { FOLDER, 0, 0, 100 }),
	ROW(newfstatat, "-dz-", { AT_FDCWD, 0, 0, 0 }),
	ROW(fstat, "-z", { FOLDER }),
	ROW(statx, "-d--z", { AT_FDCWD, 0, 0, STATX_SIZE }),
	ROW(msgsnd, "-z--", { 0x7fff0000, 0, 8, IPC_NOWAIT }),
	ROW(semop, "-z-", { 0x7fff0000, 0, 1 }),
	ROW(semtimedop, "-z-t", { 0x7fff0000, 0, 1, 0 }),
	ROW(shmctl, "--z", { 0, 3 /* IPC_INFO */ }),
	ROW(semctl, "---z", { 0, 0, 3 }),
	ROW(msgctl, "--z", { 0, 3 }),
	ROW(recvmmsg, "-m---", { SOCK_B, 0, 1, MSG_DONTWAIT, 0 }),
	ROW(vmsplice, "-v--", { PIPE_W, 0, 1, 0 }),
	ROW(capget, "z-", { 0, 0 }),
	ROW(statfs, "dz", { 0 }),
	ROW(fstatfs, "-z", { FOLDER }),
	ROW(utimensat, "-pz-", { FOLDER, 0, 0, 0 }),
	ROW(truncate, "p-", { 0, 0 }),
	ROW(fchmodat, "-p-", { FOLDER, 0, 0600 }),
	ROW(fchownat, "-p---", { FOLDER, 0, -1, -1, 0 }),
	ROW(getxattr, "dpz-", { 0, 0, 0, 8 }),
	ROW(setxattr, "ppz--", { 0, 0, 0, 8, 0 }),
	ROW(listxattr, "pz-", { 0, 0, 8 }),
	ROW(pipe2, "z-", { 0, 0 }),
	ROW(ioctl, "--z", { PIPE_R, FIONREAD }),
	ROW(fcntl, "--z", { MEM, F_GETLK }),
	ROW(epoll_ctl, "---z", { EPOLL, EPOLL_CTL_ADD, PIPE_R }),
	ROW(epoll_pwait, "-z--z-", { EPOLL, 0, 1, 0, 0, 8 }),
	ROW(ppoll, "f-tz-", { 0, 1, 0, 0, 8 }),
	ROW(pselect6, "-zzzT-", { 1, 0, 0, 0, 0, 0 }),
	ROW(signalfd4, "-z--", { -1, 0, 8, 0 }),
	ROW(timerfd_settime, "--zz", { TIMER, 0 }),
	ROW(timerfd_gettime, "-z", { TIMER }),
	ROW(nanosleep, "tz", { 0 }),
	ROW(clock_gettime, "-z", { CLOCK_MONOTONIC }),
	ROW(clock_getres, "-z", { CLOCK_MONOTONIC }),
	ROW(clock_nanosleep, "--tz", { CLOCK_MONOTONIC, 0 }),
	ROW(getitimer, "-z", { 0 }),
	ROW(setitimer, "-zz", { 0 }),
	ROW(timer_create, "-zz", { CLOCK_MONOTONIC }),
	ROW(gettimeofday, "zz", { 0 }),
	ROW(times, "z", { 0 }),
	ROW(uname, "z", { 0 }),
	ROW(getrlimit, "-z", { RLIMIT_CORE }),
	ROW(setrlimit, "-z", { RLIMIT_CORE }),
	ROW(prlimit64, "--zz", { 0, RLIMIT_CORE }),
	ROW(getrusage, "-z", { RUSAGE_SELF }),
	ROW(sysinfo, "z", { 0 }),
	ROW(getcpu, "zz-", { 0 }),
	ROW(getrandom, "z--", { 0, 8, 0 }),
	ROW(getresuid, "zzz", { 0 }),
	ROW(getresgid, "zzz", { 0 }),
	ROW(wait4, "-z-z", { -1, 0, WNOHANG, 0 }),
	ROW(waitid, "--z-z", { P_ALL, 0, 0, WEXITED | WNOHANG, 0 }),
	ROW(execve, "pzz", { 0 }),
	ROW(rt_sigaction, "-zz-", { SIGUSR1, 0, 0, 8 }),
	ROW(rt_sigprocmask, "-zz-", { SIG_BLOCK, 0, 0, 8 }),
	ROW(rt_sigpending, "z-", { 0, 8 }),
	ROW(rt_sigtimedwait, "zzT-", { 0, 0, 0, 8 }),
	/* Versions of Linux disagree about whether setting an empty stack where there was none is a
	 * change. */
	ROW(sigaltstack, "Z-", { 0 }),
	ROW(sigaltstack, "-z", { 0 }),
	ROW(futex, "z--z", { 0, FUTEX_WAIT_PRIVATE, 5, 0 }),
	ROW(futex, "z--", { 0, FUTEX_WAKE_PRIVATE, 5 }),
	/* Linux may also refuse a shared futex because its page cannot be written. */
	ROW(futex, "Z--z", { 0, FUTEX_WAIT, 5, 0 }),
	ROW(futex, "Z--", { 0, FUTEX_WAKE, 5 }),
	ROW(get_robust_list, "-zz", { 0 }),
	ROW(sched_getaffinity, "--z", { 0, 128 }),
	ROW(sched_setaffinity, "--z", { 0, 8 }),
	ROW(sched_getparam, "-z", { 0 }),
	ROW(sched_setparam, "-z", { 0 }),
	ROW(sched_setscheduler, "--z", { 0, SCHED_OTHER }),
	ROW(sched_rr_get_interval, "-z", { 0 }),
	ROW(sched_getattr, "-z--", { 0, 0, 48, 0 }),
	ROW(socketpair, "---z", { AF_UNIX, SOCK_STREAM, 0 }),
	ROW(bind, "-z-", { SOCK_A, 0, 16 }),
	ROW(connect, "-z-", { SOCK_A, 0, 16 }),
	ROW(accept4, "-zl-", { LISTEN, 0, 0, 0 }),
	ROW(getsockname, "-zl", { SOCK_A }),
	ROW(getpeername, "-zl", { SOCK_A }),
	ROW(sendto, "-z----", { SOCK_A, 0, 8, MSG_DONTWAIT, 0, 0 }),
	ROW(recvfrom, "-z--zl", { SOCK_A, 0, 8, MSG_DONTWAIT, 0, 0 }),
	ROW(setsockopt, "---z-", { SOCK_A, SOL_SOCKET, SO_SNDBUF, 0, 4 }),
	ROW(getsockopt, "---zl", { SOCK_A, SOL_SOCKET, SO_TYPE }),
	ROW(sendmsg, "-m-", { SOCK_A, 0, MSG_DONTWAIT }),
	ROW(recvmsg, "-m-", { SOCK_A, 0, MSG_DONTWAIT }),
	ROW(memfd_create, "d-", { 0, 0 }),
	ROW(prctl, "-z", { PR_SET_NAME }),
	ROW(prctl, "-z", { PR_GET_NAME }),
	ROW(prctl, "-z", { PR_GET_PDEATHSIG }),
};

enum bad {
	BAD_NULL,
	BAD_UNMAPPED,
	BAD_NO_ACCESS,
	BAD_READ_ONLY,
	BAD_LAST_BYTE,
	BAD_KERNEL,
	BAD_FAR,
	BADS
};
static const char *const bad_name[BADS] = { "NULL",	 "unmapped", "no access", "read-only",
					    "last byte", "kernel",   "far" };

struct good {
	char zeros[512];
	char dot[8], name[32];
	struct iovec iov;
	int length;
	struct pollfd poll;
	struct timespec time;
	struct msghdr message;
	char buf[64];
};

static void good_init(struct good *g)
{
	memset(g, 0, sizeof(*g));
	strcpy(g->dot, ".");
	strcpy(g->name, "no-such-name");
	g->iov = (struct iovec){ g->buf, 8 };
	g->length = 16;
	g->poll = (struct pollfd){ PIPE_W, POLLOUT, 0 };
	g->time.tv_nsec = 1;
	g->message = (struct msghdr){ .msg_iov = &g->iov, .msg_iovlen = 1 };
}

static long good_pointer(struct good *g, char kind, int arg)
{
	switch (kind) {
	case 'd':
		return (long)g->dot;
	case 'p':
		return (long)g->name;
	case 'v':
		return (long)&g->iov;
	case 'l':
		return (long)&g->length;
	case 'f':
		return (long)&g->poll;
	case 't':
	case 'T':
		return (long)&g->time;
	case 'm':
		return (long)&g->message;
	default:
		return (long)(g->zeros + 64 * arg); /* each argument gets its own zeros */
	}
}

static void open_all(void)
{
	int fd[2];

	close_range(3, ~0u, 0);
	close(NUL);
	open("/dev/null", O_RDWR);
	open("/dev/zero", O_RDWR);
	open(".", O_RDONLY | O_DIRECTORY);
	if (write(memfd_create("m", 0), "12345678", 8) != 8 || pipe2(fd, O_NONBLOCK) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd))
		perror("open");
	epoll_create1(0);
	timerfd_create(CLOCK_MONOTONIC, 0);
	socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	listen(LISTEN, 1);
}

int main(void)
{
	const long page = 4096;
	char *area =
	    mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct good good;
	uint64_t bad[BADS];

	open_all();
	setvbuf(stdout, NULL, _IOLBF, 0); /* shows which call hangs */
	munmap(area + page, page);
	mprotect(area + 2 * page, page, PROT_NONE);
	mprotect(area + 3 * page, page, PROT_READ);
	bad[BAD_NULL] = 0;
	bad[BAD_UNMAPPED] = (uint64_t)(area + page);
	bad[BAD_NO_ACCESS] = (uint64_t)(area + 2 * page);
	bad[BAD_READ_ONLY] = (uint64_t)(area + 3 * page);
	bad[BAD_LAST_BYTE] = (uint64_t)(area + page - 1);
	bad[BAD_KERNEL] = (uint64_t)-page;
	bad[BAD_FAR] = 1ull << 62;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		for (int arg = 0; r->kinds[arg]; arg++) {
			if (r->kinds[arg] == '-')
				continue;
			for (int b = r->kinds[arg] == 'T'; b < BADS; b++) {
				long a[6], got;

				if (r->kinds[arg] == 'Z' && b == BAD_READ_ONLY)
					continue;
				good_init(&good);
				area[page - 1] = 'x';
				if (write(SOCK_B, "12345678", 8) < 0 && errno != EAGAIN)
					perror("socket");
				while (read(PIPE_R, good.buf, sizeof(good.buf)) > 0)
					;
				for (int k = 0; k < 6; k++)
					a[k] = k < (int)strlen(r->kinds) && r->kinds[k] != '-'
						   ? good_pointer(&good, r->kinds[k], k)
						   : r->arg[k];
				a[arg] = (long)bad[b];
				errno = 0;
				got = syscall(r->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
				/* Print no values: descriptors, counts and sizes may differ. */
				printf("%s argument %d %s: %s\n", r->name, arg, bad_name[b],
				       got < 0 ? strerrorname_np(errno) : "succeeds");
				if (got > LISTEN && r->nr != SYS_getcwd && r->nr != SYS_times)
					close((int)got);
			}
		}
	}
	return 0;
}
