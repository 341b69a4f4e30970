/* SPDX-License-Identifier: MIT */
/*
 * strangers PID [SOCKET]: makes every call that names a process with the number of one that is not
 * the guest's, and prints a line for each that is not answered as for a process that does not
 * exist. SOCKET is the number of a descriptor of a Unix socket on which a pidfd of it waits.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#define NR_PIDFD_GETFD	    438
#define NR_PROCESS_MADVISE  440
#define NR_PROCESS_MRELEASE 448
#define PIDFD_GROUP	    4

static int tried, wrong;

/* ESRCH and EPERM are Linux's answers; `other` is a further errno that is right for this call. */
static void expect(const char *name, long result, int other)
{
	int got = result < 0 ? errno : 0;

	tried++;
	if (result < 0 && (got == ESRCH || got == EPERM || got == other))
		return;
	wrong++;
	printf("%s: %s\n", name, result < 0 ? strerrorname_np(got) : "done");
}

static void signals(int pid)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	for (int signo = 0; signo <= 64; signo++) {
		if (signo == SIGSTOP || signo == SIGTSTP)
			continue;
		expect("kill", kill(pid, signo), 0);
		expect("kill of a group", kill(-pid, signo), 0);
		expect("tkill", syscall(SYS_tkill, pid, signo), 0);
		expect("tgkill", syscall(SYS_tgkill, pid, pid, signo), 0);
		expect("tgkill, own group", syscall(SYS_tgkill, getpid(), pid, signo), 0);
		info.si_signo = signo;
		expect("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, pid, signo, &info), 0);
		expect("rt_tgsigqueueinfo", syscall(SYS_rt_tgsigqueueinfo, pid, pid, signo, &info),
		       0);
	}
	/* kill(-1) reaches all other processes of the guest; there are none. */
	expect("kill of all", kill(-1, SIGKILL), 0);
	expect("kill of the least number", kill(INT32_MIN, SIGKILL), 0);
}

static void as_pidfd(const char *name, int fd)
{
	siginfo_t info;

	if (fd < 0)
		return;
	expect(name, syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0), EBADF);
	expect(name, syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, PIDFD_GROUP), EBADF);
	expect(name, waitid(P_PIDFD, fd, &info, WEXITED | WNOHANG),
	       errno == ECHILD ? ECHILD : EINVAL);
	expect(name, syscall(NR_PIDFD_GETFD, fd, 0, 0), EBADF);
	expect(name, syscall(NR_PROCESS_MRELEASE, fd, 0), ENOSYS);
	expect(name, syscall(NR_PROCESS_MADVISE, fd, NULL, 0, 20, 0), ENOSYS);
}

static void pidfds(int pid, int sock)
{
	static const char *const folders[] = { "/proc/%d",	   "/proc//%d",
					       "/proc/./%d",	   "/proc/%d/",
					       "/proc/%d/task/%d", "/proc/%d/stat",
					       "/proc/self/../%d" };
	char path[64];
	struct iovec iov;
	char byte, control[256];
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };

	expect("pidfd_open", syscall(SYS_pidfd_open, pid, 0), 0);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), folders[i], pid, pid);
		as_pidfd(path, open(path, O_RDONLY | O_CLOEXEC));
		as_pidfd(path, open(path, O_PATH | O_CLOEXEC));
	}
	iov.iov_base = &byte;
	iov.iov_len = 1;
	if (sock >= 0 && recvmsg(sock, &m, 0) == 1) {
		const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		int fd = -1;

		if (c && c->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		if (fd < 0)
			printf("no descriptor came over the socket\n");
		as_pidfd("a pidfd from a socket", fd);
	}
}

static void questions(int pid)
{
	struct __user_cap_header_struct cap = { _LINUX_CAPABILITY_VERSION_3, pid };
	struct __user_cap_data_struct data[2];
	struct f_owner_ex owner = { F_OWNER_PID, pid };
	struct sched_param param = { 0 };
	struct rlimit limit = { 1, 1 };
	struct timespec ts;
	char attr[48] = { 48 };
	struct iovec local = { attr, 8 }, remote = { (void *)0x10000, 8 };
	uint64_t mask = 1;
	void *head;
	size_t length;
	siginfo_t info;
	int fd[2], status;

	expect("getpgid", getpgid(pid), 0);
	expect("setpgid", setpgid(pid, 0), 0);
	expect("setpgid to its group", setpgid(0, pid), 0);
	expect("getsid", getsid(pid), 0);
	expect("prlimit64", syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &limit, NULL), 0);
	errno = 0;
	expect("getpriority", getpriority(PRIO_PROCESS, (id_t)pid), 0);
	expect("getpriority of a group", getpriority(PRIO_PGRP, (id_t)pid), 0);
	expect("setpriority", setpriority(PRIO_PROCESS, (id_t)pid, 19), 0);
	expect("setpriority of a group", setpriority(PRIO_PGRP, (id_t)pid, 19), 0);
	expect("ioprio_get", syscall(SYS_ioprio_get, 1, pid), 0);
	expect("ioprio_set", syscall(SYS_ioprio_set, 1, pid, 2 << 13), 0);
	expect("sched_getscheduler", syscall(SYS_sched_getscheduler, pid), 0);
	expect("sched_setscheduler", syscall(SYS_sched_setscheduler, pid, 0, &param), 0);
	expect("sched_getparam", syscall(SYS_sched_getparam, pid, &param), 0);
	expect("sched_setparam", syscall(SYS_sched_setparam, pid, &param), 0);
	expect("sched_getaffinity", syscall(SYS_sched_getaffinity, pid, 8, &mask), 0);
	expect("sched_setaffinity", syscall(SYS_sched_setaffinity, pid, 8, &mask), 0);
	expect("sched_getattr", syscall(SYS_sched_getattr, pid, attr, 48, 0), 0);
	expect("sched_setattr", syscall(SYS_sched_setattr, pid, attr, 0), 0);
	expect("sched_rr_get_interval", syscall(SYS_sched_rr_get_interval, pid, &ts), 0);
	expect("capget", syscall(SYS_capget, &cap, data), 0);
	expect("get_robust_list", syscall(SYS_get_robust_list, pid, &head, &length), 0);
	expect("wait4", waitpid(pid, &status, WNOHANG), ECHILD);
	expect("waitid", waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG), ECHILD);
	expect("waitid of a group", waitid(P_PGID, (id_t)pid, &info, WEXITED | WNOHANG), ECHILD);
	expect("process_vm_readv", process_vm_readv(pid, &local, 1, &remote, 1, 0), 0);
	expect("process_vm_writev", process_vm_writev(pid, &local, 1, &remote, 1, 0), 0);
	expect("ptrace", syscall(SYS_ptrace, 16, pid, 0, 0), 0);
	expect("ptrace", syscall(SYS_ptrace, 0x4206, pid, 0, 0), 0);
	expect("kcmp", syscall(SYS_kcmp, pid, getpid(), 0, 0, 0), ENOSYS);
	expect("migrate_pages", syscall(SYS_migrate_pages, pid, 1, &mask, &mask), ENOSYS);
	expect("move_pages", syscall(SYS_move_pages, pid, 0, NULL, NULL, NULL, 0), ENOSYS);
	expect("clock_gettime", syscall(SYS_clock_gettime, (~(clockid_t)pid << 3) | 2, &ts),
	       EINVAL);
	expect("futex owned by it", syscall(SYS_futex, &pid, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		return;
	expect("F_SETOWN", fcntl(fd[0], F_SETOWN, pid), 0);
	expect("F_SETOWN of a group", fcntl(fd[0], F_SETOWN, -pid), 0);
	expect("F_SETOWN_EX", fcntl(fd[0], F_SETOWN_EX, &owner), 0);
	owner.type = F_OWNER_TID;
	expect("F_SETOWN_EX of a thread", fcntl(fd[0], F_SETOWN_EX, &owner), 0);
	expect("FIOSETOWN", ioctl(fd[0], 0x8901, &pid), ENOTTY);
	expect("SIOCSPGRP", ioctl(fd[0], 0x8902, &pid), ENOTTY);
	expect("TIOCSPGRP", ioctl(0, TIOCSPGRP, &pid), ENOTTY);
	{
		struct ucred me = { pid, 1000, 1000 };
		char control[CMSG_SPACE(sizeof(me))] = { 0 };
		struct iovec iov = { "x", 1 };
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_CREDENTIALS;
		c->cmsg_len = CMSG_LEN(sizeof(me));
		memcpy(CMSG_DATA(c), &me, sizeof(me));
		expect("SCM_CREDENTIALS", sendmsg(fd[0], &m, 0), 0);
	}
}

/* SO_PEERCRED of a socket inside the guest gives the guest's own process ids. */
static void peers(void)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) ||
	    getsockopt(fd[0], SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return;
	tried++;
	if (peer.pid != getpid() || peer.uid != getuid() || peer.gid != getgid()) {
		wrong++;
		printf("SO_PEERCRED: %d %u %u\n", peer.pid, peer.uid, peer.gid);
	}
}

int main(int argc, char **argv)
{
	int pid = atoi(argv[1]);

	questions(pid);
	peers();
	pidfds(pid, argc > 2 ? atoi(argv[2]) : -1);
	signals(pid);
	printf("%d calls, %d wrong\n", tried, wrong);
	return wrong != 0;
}
