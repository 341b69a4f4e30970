/* SPDX-License-Identifier: MIT */
/*
 * Sockets: the host's, with descriptors translated (also those that travel in messages).
 * Structures are the same on riscv64 and x86-64.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest/process.h"

#define MAX_CONTROL 4096
#define MAX_IOV	    1024
#define NOBODY	    65534u

/* Newer than the C library's headers. */
enum { OPT_PASSPIDFD = 76, OPT_PEERPIDFD = 77 };

int64_t sys_socket(struct guest *g, struct thread *t, const uint64_t *a)
{
	int fd = socket((int)a[0], (int)a[1] | SOCK_CLOEXEC, (int)a[2]);

	(void)t;
	return fd < 0 ? -errno : fd_install(g, fd, 0, (int)a[1] & SOCK_CLOEXEC, FD_PLAIN);
}

int64_t sys_socketpair(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host[2];

	(void)t;
	if (socketpair((int)a[0], (int)a[1] | SOCK_CLOEXEC, (int)a[2], host) < 0)
		return -errno;
	return fd_install_pair(g, host, (int)a[1] & SOCK_CLOEXEC, a[3]);
}

/* An address from guest memory: its length, or -errno. */
static int64_t addr_in(struct guest *g, uint64_t addr, uint64_t length, struct sockaddr_storage *ss)
{
	if ((int)length < 0 || length > sizeof(*ss))
		return -EINVAL;
	return copy_in(g, ss, addr, length) < 0 ? -EFAULT : (int64_t)length;
}

static int64_t addr_out(struct guest *g, uint64_t addr, uint64_t length_at, const void *ss,
			socklen_t n)
{
	int32_t room;

	if (copy_in(g, &room, length_at, 4) < 0)
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	if (copy_out(g, addr, ss, min_u64((uint64_t)room, n)) < 0)
		return -EFAULT;
	return copy_out(g, length_at, &n, 4);
}

int64_t sys_bind(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct sockaddr_storage ss;
	int host = fd_host(g, a[0]);
	int64_t n;

	(void)t;
	if (host < 0)
		return -EBADF;
	n = addr_in(g, a[1], a[2], &ss);
	return n < 0 ? n : ret_errno(bind(host, (struct sockaddr *)&ss, (socklen_t)n));
}

int64_t sys_listen(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : ret_errno(listen(host, (int)a[1]));
}

/* 0 if the call may go ahead (ready, or non-blocking), otherwise it waits. */
static bool must_wait(int host, short events, int flags)
{
	struct pollfd p = { .fd = host, .events = events };

	if ((flags & MSG_DONTWAIT) || poll(&p, 1, 0) != 0)
		return false;
	return !(fcntl(host, F_GETFL) & O_NONBLOCK);
}

static int64_t do_accept(struct guest *g, struct thread *t, const uint64_t *a, int flags)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);
	int host = fd_host(g, a[0]), fd;
	int64_t r, err;

	if (host < 0)
		return -EBADF;
	if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	if (must_wait(host, POLLIN, 0))
		return wait_fd(g, t, (int)a[0], POLLIN, NO_TIME);
	fd = accept4(host, (struct sockaddr *)&ss, &n, flags | SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fd_install(g, fd, 0, flags & SOCK_CLOEXEC, FD_PLAIN);
	err = r < 0 ? r : a[1] ? addr_out(g, a[1], a[2], &ss, n) : 0;
	if (err < 0 && r >= 0)
		fd_close(g, (uint64_t)r);
	return err < 0 ? err : r;
}

int64_t sys_accept(struct guest *g, struct thread *t, const uint64_t *a)
{
	return do_accept(g, t, a, 0);
}

int64_t sys_accept4(struct guest *g, struct thread *t, const uint64_t *a)
{
	return do_accept(g, t, a, (int)a[3]);
}

int64_t sys_connect(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct sockaddr_storage ss;
	int host = fd_host(g, a[0]), flags, r, error = 0;
	socklen_t length = sizeof(error);
	int64_t n;

	if (host < 0)
		return -EBADF;
	if (t->wait.started) {
		getsockopt(host, SOL_SOCKET, SO_ERROR, &error, &length);
		return -error;
	}
	n = addr_in(g, a[1], a[2], &ss);
	if (n < 0)
		return n;
	flags = fcntl(host, F_GETFL);
	fcntl(host, F_SETFL, flags | O_NONBLOCK);
	r = connect(host, (struct sockaddr *)&ss, (socklen_t)n);
	error = errno;
	fcntl(host, F_SETFL, flags);
	if (r < 0 && error == EINPROGRESS && !(flags & O_NONBLOCK))
		return wait_fd(g, t, (int)a[0], POLLOUT, NO_TIME);
	return r < 0 ? -error : 0;
}

int64_t sys_getsockname(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);
	int host = fd_host(g, a[0]);

	(void)t;
	if (host < 0)
		return -EBADF;
	return getsockname(host, (struct sockaddr *)&ss, &n) < 0 ? -errno
								 : addr_out(g, a[1], a[2], &ss, n);
}

int64_t sys_getpeername(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);
	int host = fd_host(g, a[0]);

	(void)t;
	if (host < 0)
		return -EBADF;
	return getpeername(host, (struct sockaddr *)&ss, &n) < 0 ? -errno
								 : addr_out(g, a[1], a[2], &ss, n);
}

static int64_t broken_pipe(struct guest *g, struct thread *t, int error, int flags)
{
	if (error == EPIPE && !(flags & MSG_NOSIGNAL))
		signal_send_kernel(g, t, SIGPIPE);
	return -error;
}

int64_t sys_sendto(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct sockaddr_storage ss;
	int host = fd_host(g, a[0]);
	uint64_t length = min_u64(a[2], 0x7ffff000);
	const void *buf = host_ptr(g, a[1], length);
	int64_t n = 0;
	ssize_t sent;

	if (host < 0)
		return -EBADF;
	if (!buf)
		return -EFAULT;
	if (a[4]) {
		n = addr_in(g, a[4], a[5], &ss);
		if (n < 0)
			return n;
	}
	if (must_wait(host, POLLOUT, (int)a[3]))
		return wait_fd(g, t, (int)a[0], POLLOUT, NO_TIME);
	sent = sendto(host, buf, length, (int)a[3] | MSG_NOSIGNAL,
		      n ? (struct sockaddr *)&ss : NULL, (socklen_t)n);
	return sent < 0 ? broken_pipe(g, t, errno, (int)a[3]) : sent;
}

int64_t sys_recvfrom(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);
	int host = fd_host(g, a[0]);
	uint64_t length = min_u64(a[2], 0x7ffff000);
	void *buf = host_ptr(g, a[1], length);
	ssize_t got;
	int64_t err;

	if (host < 0)
		return -EBADF;
	if (!buf)
		return -EFAULT;
	if (must_wait(host, POLLIN, (int)a[3]))
		return wait_fd(g, t, (int)a[0], POLLIN, NO_TIME);
	got = recvfrom(host, buf, length, (int)a[3], (struct sockaddr *)&ss, &n);
	if (got < 0)
		return -errno;
	mem_written(&g->mem, a[1], min_u64((uint64_t)got, length));
	err = a[4] ? addr_out(g, a[4], a[5], &ss, n) : 0;
	return err < 0 ? err : got;
}

/* Who is at the other end, as the guest knows it: a process of the tree has a pid, the user that
 * this program runs as is the guest's; all others are nobody. */
static void credentials_out(struct guest *g, void *at)
{
	struct ucred c;

	memcpy(&c, at, sizeof(c));
	c.pid = proc_of_host(g, c.pid);
	c.uid = c.uid == geteuid() ? GUEST_UID : NOBODY;
	c.gid = c.gid == getegid() ? GUEST_UID : NOBODY;
	memcpy(at, &c, sizeof(c));
}

/* A process may say only of itself who it is. */
static int64_t credentials_in(struct guest *g, void *at)
{
	struct ucred c;

	memcpy(&c, at, sizeof(c));
	if (c.pid != g->pid || c.uid != GUEST_UID || c.gid != GUEST_UID)
		return -EPERM;
	c = (struct ucred){ .pid = getpid(), .uid = geteuid(), .gid = getegid() };
	memcpy(at, &c, sizeof(c));
	return 0;
}

int64_t sys_setsockopt(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint8_t buf[1024];
	int host = fd_host(g, a[0]);

	(void)t;
	if (host < 0)
		return -EBADF;
	if ((int)a[4] < 0 || a[4] > sizeof(buf))
		return -EINVAL;
	if (copy_in(g, buf, a[3], a[4]) < 0)
		return -EFAULT;
	/* Filters hold pointers, or name descriptors of the host. */
	if ((int)a[1] == SOL_SOCKET &&
	    ((int)a[2] == SO_ATTACH_FILTER || (int)a[2] == SO_ATTACH_REUSEPORT_CBPF ||
	     (int)a[2] == SO_ATTACH_BPF || (int)a[2] == SO_ATTACH_REUSEPORT_EBPF))
		return -EPERM;
	/* It would make recvmsg hand out descriptors of processes that the kernel chooses. */
	if ((int)a[1] == SOL_SOCKET && (int)a[2] == OPT_PASSPIDFD)
		return -ENOPROTOOPT;
	return ret_errno(setsockopt(host, (int)a[1], (int)a[2], buf, (socklen_t)a[4]));
}

int64_t sys_getsockopt(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint8_t buf[1024];
	int host = fd_host(g, a[0]);
	int32_t room;
	socklen_t n;

	(void)t;
	if (host < 0)
		return -EBADF;
	if (copy_in(g, &room, a[4], 4) < 0)
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	n = (socklen_t)min_u64((uint64_t)room, sizeof(buf));
	if ((int)a[1] == SOL_SOCKET && (int)a[2] == OPT_PEERPIDFD)
		return -ENOPROTOOPT;
	if (getsockopt(host, (int)a[1], (int)a[2], buf, &n) < 0)
		return -errno;
	if ((int)a[1] == SOL_SOCKET && (int)a[2] == SO_PEERCRED && n == sizeof(struct ucred))
		credentials_out(g, buf);
	if (copy_out(g, a[3], buf, n) < 0)
		return -EFAULT;
	return copy_out(g, a[4], &n, 4);
}

int64_t sys_shutdown(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : ret_errno(shutdown(host, (int)a[1]));
}

/* A message of the guest with everything that it points to in host memory. */
struct message {
	struct msghdr host;
	struct msghdr guest; /* its pointers are guest addresses */
	struct sockaddr_storage name;
	struct iovec iov[MAX_IOV];
	_Alignas(struct cmsghdr) uint8_t control[MAX_CONTROL];
};

static int64_t message_in(struct guest *g, uint64_t addr, struct message *m)
{
	if (copy_in(g, &m->guest, addr, sizeof(m->guest)) < 0)
		return -EFAULT;
	memset(&m->host, 0, sizeof(m->host));
	if (m->guest.msg_iovlen > MAX_IOV)
		return -EMSGSIZE;
	if (m->guest.msg_controllen > MAX_CONTROL)
		return -ENOBUFS;
	if (copy_in(g, m->iov, (uint64_t)(uintptr_t)m->guest.msg_iov,
		    m->guest.msg_iovlen * sizeof(m->iov[0])) < 0)
		return -EFAULT;
	for (size_t i = 0; i < m->guest.msg_iovlen; i++) {
		void *p = host_ptr(g, (uint64_t)(uintptr_t)m->iov[i].iov_base, m->iov[i].iov_len);

		if (!p && m->iov[i].iov_len)
			return -EFAULT;
		m->iov[i].iov_base = p;
	}
	m->host.msg_iov = m->iov;
	m->host.msg_iovlen = m->guest.msg_iovlen;
	return 0;
}

/* Descriptors in a control message: to the host's numbers, or (received) to new ones of the guest;
 * and the sender's identity. */
static int64_t translate_rights(struct guest *g, struct msghdr *h, bool received, bool cloexec)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n;

		if (c->cmsg_len < sizeof(*c) || c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS &&
		    c->cmsg_len >= CMSG_LEN(sizeof(struct ucred))) {
			int64_t err = 0;

			if (received)
				credentials_out(g, CMSG_DATA(c));
			else
				err = credentials_in(g, CMSG_DATA(c));
			if (err)
				return err;
		}
		if (c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			fd = received ? (int)fd_install(g, fd, 0, cloexec, FD_PLAIN)
				      : fd_host(g, (uint64_t)fd);
			if (!received && fd < 0)
				return -EBADF;
			memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
		}
	}
	return 0;
}

int64_t sys_sendmsg(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	struct message *m;
	int64_t r;

	if (host < 0)
		return -EBADF;
	m = x_malloc(sizeof(*m));
	r = message_in(g, a[1], m);
	if (r == 0 && m->guest.msg_name) {
		r = addr_in(g, (uint64_t)(uintptr_t)m->guest.msg_name, m->guest.msg_namelen,
			    &m->name);
		m->host.msg_name = &m->name;
		m->host.msg_namelen = m->guest.msg_namelen;
	}
	if (r >= 0 && m->guest.msg_control && m->guest.msg_controllen) {
		r = copy_in(g, m->control, (uint64_t)(uintptr_t)m->guest.msg_control,
			    m->guest.msg_controllen);
		m->host.msg_control = m->control;
		m->host.msg_controllen = m->guest.msg_controllen;
		if (r == 0)
			r = translate_rights(g, &m->host, false, false);
	}
	if (r >= 0) {
		if (must_wait(host, POLLOUT, (int)a[2]))
			r = wait_fd(g, t, (int)a[0], POLLOUT, NO_TIME);
		else if ((r = sendmsg(host, &m->host, (int)a[2] | MSG_NOSIGNAL)) < 0)
			r = broken_pipe(g, t, errno, (int)a[2]);
	}
	free(m);
	return r;
}

int64_t sys_recvmsg(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	struct message *m;
	int64_t r;

	if (host < 0)
		return -EBADF;
	m = x_malloc(sizeof(*m));
	r = message_in(g, a[1], m);
	if (r == 0 && must_wait(host, POLLIN, (int)a[2]))
		r = wait_fd(g, t, (int)a[0], POLLIN, NO_TIME);
	if (r == 0) {
		m->host.msg_name = m->guest.msg_name ? &m->name : NULL;
		m->host.msg_namelen = m->guest.msg_name ? sizeof(m->name) : 0;
		m->host.msg_control = m->guest.msg_control ? m->control : NULL;
		m->host.msg_controllen = m->guest.msg_control ? m->guest.msg_controllen : 0;
		r = recvmsg(host, &m->host, (int)a[2] | MSG_CMSG_CLOEXEC);
		if (r < 0) {
			r = -errno;
		} else {
			uint64_t rest = (uint64_t)r;

			for (size_t i = 0; i < m->host.msg_iovlen && rest; i++) {
				uint64_t n = min_u64(rest, m->iov[i].iov_len);

				mem_written(&g->mem,
					    (uint64_t)((uint8_t *)m->iov[i].iov_base - g->mem.base),
					    n);
				rest -= n;
			}
			translate_rights(g, &m->host, true, (int)a[2] & MSG_CMSG_CLOEXEC);
			if (m->guest.msg_name &&
			    copy_out(g, (uint64_t)(uintptr_t)m->guest.msg_name, &m->name,
				     min_u64(m->guest.msg_namelen, m->host.msg_namelen)) < 0)
				r = -EFAULT;
			if (m->guest.msg_control &&
			    copy_out(g, (uint64_t)(uintptr_t)m->guest.msg_control, m->control,
				     m->host.msg_controllen) < 0)
				r = -EFAULT;
			m->guest.msg_namelen = m->host.msg_namelen;
			m->guest.msg_controllen = m->host.msg_controllen;
			m->guest.msg_flags = m->host.msg_flags;
			if (copy_out(g, a[1], &m->guest, sizeof(m->guest)) < 0)
				r = -EFAULT;
		}
	}
	free(m);
	return r;
}
