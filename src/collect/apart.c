/* SPDX-License-Identifier: MIT */
/*
 * Loading a program into the kernel needs the types of the whole kernel: libbpf reads 5 MB of BTF,
 * copies and indexes them, 12 MB at the peak. The loader lives for as long as that takes; the
 * collector gets the descriptors over a socket and never holds the rest.
 *
 * The child shares nothing but what it got by fork. It must not return into its parent's code.
 */
#include "collect/apart.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(APART_FDS * sizeof(int))];
};

/* Sends the result, and the descriptors if it is 0. */
static bool send_result(int socket, int result, const int *fds, size_t n)
{
	union control control = { .bytes = { 0 } };
	struct iovec data = { &result, sizeof(result) };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };

	if (!result && n) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL) == sizeof(result);
}

static int receive_result(int socket, int *fds, size_t n)
{
	union control control;
	int result = 0;
	struct iovec data = { &result, sizeof(result) };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t got;

	do
		got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got != sizeof(result))
		return got < 0 ? errno : ECHILD; /* it died */
	if (result || !n)
		return result;
	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (!c || c->cmsg_type != SCM_RIGHTS || (m.msg_flags & MSG_CTRUNC) ||
	    c->cmsg_len != CMSG_LEN(n * sizeof(int)))
		return EMFILE; /* the kernel gives as many as this process may still open */
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return 0;
}

int apart(int (*work)(void *self, int *fds), void *self, int *fds, size_t n, double *cpu_s)
{
	struct rusage used = { 0 };
	int ends[2];

	assert(n <= APART_FDS);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return errno;
	const pid_t child = fork();

	if (child < 0) {
		const int error = errno;

		close(ends[0]);
		close(ends[1]);
		return error;
	}
	if (!child) {
		int made[APART_FDS];

		close(ends[0]);
		_exit(send_result(ends[1], work(self, made), made, n) ? 0 : 1);
	}
	close(ends[1]);
	const int result = receive_result(ends[0], fds, n);

	close(ends[0]);
	while (wait4(child, NULL, 0, &used) < 0 && errno == EINTR)
		;
	if (cpu_s)
		*cpu_s += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			  (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	return result;
}
