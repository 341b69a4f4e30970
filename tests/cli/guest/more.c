/* SPDX-License-Identifier: MIT */
/* Makes calls that are seldom made and prints the result of each. It is compiled for this machine
 * and for the guest, and both must print the same. With an argument: the calls that libraries try
 * in vain. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_FCHMODAT2 452

static void say(const char *what, long result)
{
	printf("%s: %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
}
#define SAY(call) say(#call, call)

static int mode_of(const char *name)
{
	struct stat st;

	return stat(name, &st) ? -1 : (int)(st.st_mode & 07777);
}

static void modes(void)
{
	char folder[] = "/tmp/culprit-more-XXXXXX";
	int fd;

	if (!mkdtemp(folder) || chdir(folder))
		return;
	fd = open("f", O_CREAT | O_RDWR, 0600);
	if (fd < 0 || symlink("f", "l"))
		return;
	SAY(syscall(NR_FCHMODAT2, AT_FDCWD, "f", 0640, 0));
	printf("%o\n", mode_of("f"));
	SAY(syscall(NR_FCHMODAT2, AT_FDCWD, "l", 0644, 0));
	printf("%o\n", mode_of("f"));
	SAY(syscall(NR_FCHMODAT2, AT_FDCWD, "l", 0600, AT_SYMLINK_NOFOLLOW));
	SAY(syscall(NR_FCHMODAT2, AT_FDCWD, "f", 0604, AT_SYMLINK_NOFOLLOW));
	printf("%o\n", mode_of("f"));
	SAY(syscall(NR_FCHMODAT2, fd, "", 0606, AT_EMPTY_PATH));
	printf("%o\n", mode_of("f"));
	SAY(syscall(NR_FCHMODAT2, AT_FDCWD, "none", 0600, 0));
	SAY(syscall(NR_FCHMODAT2, AT_FDCWD, "f", 0600, 1));
	SAY(syscall(NR_FCHMODAT2, AT_FDCWD, (void *)8, 0600, 0));
	SAY(syscall(NR_FCHMODAT2, 99, "f", 0600, 0));
	SAY(syscall(SYS_fremovexattr, 99, "user.x"));
	SAY(syscall(SYS_removexattr, "none", "user.x"));
	SAY(syscall(SYS_removexattr, "f", (void *)8));
	unlink("f");
	unlink("l");
	if (chdir("/") || rmdir(folder))
		printf("left: %s\n", folder);
}

static void messages(void)
{
	char one[4] = "abc", two[6] = "defgh", in1[8] = "", in2[8] = "";
	struct iovec iov[4] = { { one, 3 }, { two, 5 }, { in1, 8 }, { in2, 8 } };
	struct mmsghdr out[2], in[2];
	struct timespec soon = { 0, 1000000 };
	int fd[2];

	memset(out, 0, sizeof(out));
	memset(in, 0, sizeof(in));
	for (int i = 0; i < 2; i++) {
		out[i].msg_hdr.msg_iov = &iov[i];
		in[i].msg_hdr.msg_iov = &iov[2 + i];
		out[i].msg_hdr.msg_iovlen = in[i].msg_hdr.msg_iovlen = 1;
	}
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fd))
		return;
	SAY(sendmmsg(fd[0], out, 2, 0));
	printf("%u %u\n", out[0].msg_len, out[1].msg_len);
	SAY(recvmmsg(fd[1], in, 2, 0, NULL));
	printf("%u %s %u %s\n", in[0].msg_len, in1, in[1].msg_len, in2);
	SAY(recvmmsg(fd[1], in, 2, MSG_DONTWAIT, NULL));
	SAY(sendmmsg(fd[0], out, 1, 0));
	SAY(recvmmsg(fd[1], in, 2, MSG_WAITFORONE, NULL));
	SAY(sendmmsg(fd[0], out, 1, 0));
	SAY(recvmmsg(fd[1], in, 1, 0, &soon));
	SAY(sendmmsg(99, out, 1, 0));
	SAY(sendmmsg(fd[0], (void *)8, 1, 0));
	SAY(recvmmsg(fd[1], (void *)8, 1, MSG_DONTWAIT, NULL));
}

static void pipes(void)
{
	char text[] = "through the pipe", back[32] = "";
	struct iovec iov = { text, sizeof(text) }, in = { back, sizeof(back) };
	int a[2], b[2];

	if (pipe(a) || pipe(b))
		return;
	SAY(vmsplice(a[1], &iov, 1, 0));
	SAY(tee(a[0], b[1], 100, 0));
	SAY(vmsplice(b[0], &in, 1, 0));
	printf("%s\n", back);
	memset(back, 0, sizeof(back));
	SAY(read(a[0], back, sizeof(back)));
	printf("%s\n", back);
	SAY(tee(a[0], b[1], 100, SPLICE_F_NONBLOCK));
	SAY(tee(a[0], a[0], 100, 0));
	SAY(tee(0, 99, 100, 0));
	SAY(tee(a[0], b[1], 100, 64));
	SAY(vmsplice(99, &iov, 1, 0));
	SAY(vmsplice(a[1], (void *)8, 1, 0));
}

/* Makes calls on processes of the guest's own: a child, its group, its session. */
static void relatives(void)
{
	int fd[2], pidfd, status;
	siginfo_t info;
	pid_t pid;
	char byte;

	if (pipe(fd))
		return;
	pid = fork();
	if (!pid) {
		close(fd[1]);
		status = (int)read(fd[0], &byte, 1);
		_exit(status);
	}
	printf("group %d session %d\n", getpgid(pid) == getpgrp(), getsid(pid) == getsid(0));
	SAY(setpgid(pid, pid));
	printf("group %d\n", getpgid(pid) == pid);
	SAY(setpgid(pid, 0x7ffffff0));
	SAY(setpgid(0x7ffffff0, 0));
	SAY(setpgid(pid, -1));
	SAY(getpriority(PRIO_PROCESS, (id_t)pid));
	SAY(setpriority(PRIO_PROCESS, (id_t)pid, 5));
	SAY(getpriority(PRIO_PROCESS, (id_t)pid));
	SAY(getpriority(PRIO_PGRP, (id_t)pid));
	SAY(getpriority(9, 0));
	SAY(syscall(SYS_sched_getscheduler, pid));
	SAY(fcntl(fd[0], F_SETOWN, pid));
	pidfd = (int)syscall(434, pid, 0);
	printf("pidfd %d\n", pidfd >= 0);
	SAY(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0));
	SAY(syscall(SYS_pidfd_send_signal, pidfd, 99, NULL, 0));
	SAY(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 1 << 9));
	SAY(syscall(SYS_pidfd_send_signal, fd[0], 0, NULL, 0));
	SAY(syscall(SYS_pidfd_send_signal, 99, 0, NULL, 0));
	SAY(syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0));
	SAY(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED));
	printf("%d %d %d\n", info.si_pid == pid, info.si_code, info.si_status);
	SAY(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0));
	SAY(kill(pid, 0));
	SAY(getpgid(pid));
	SAY(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED));
	pid = fork();
	if (!pid) {
		SAY(setsid() == getpid());
		SAY(setsid());
		SAY(setpgid(0, 0));
		_exit(getsid(0) == getpid());
	}
	waitpid(pid, &status, 0);
	printf("%x\n", status);
}

int main(int argc, char **argv)
{
	static const int probed[] = { 0,   425, 444, 272, 449, 454, 451,
				      462, 289, 453, 241, 219, 235, 457 };

	(void)argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		for (size_t i = 0; i < sizeof(probed) / sizeof(probed[0]); i++)
			if (syscall(probed[i], 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS)
				printf("%d: not ENOSYS\n", probed[i]);
		return 0;
	}
	modes();
	messages();
	pipes();
	relatives();
	return 0;
}
