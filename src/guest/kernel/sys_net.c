/* SPDX-License-Identifier: MIT */
/*
 * Sockets: the host's, with descriptors translated (also those that travel in messages), and with
 * names in the file system looked up like every other path. Structures are the same on riscv64 and
 * x86-64.
 *
 * A socket is bound under the path that the guest gave, because other processes can read that path
 * from the socket. Before that, same_folder checks that the host means the same folder by it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/owner.h"
#include "guest/files/path.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

#define MAX_CONTROL 4096
#define MAX_IOV	    1024

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

/* An address as the host takes it. */
struct address {
	struct sockaddr_storage ss;
	socklen_t n;
	struct path_at at; /* to be closed after the call */
};

/* Does the host mean the same folder by the path as the guest does? */
static bool same_folder(const char *path, const struct path_at *at)
{
	char folder[sizeof(struct sockaddr_un)];
	const char *slash = strrchr(path, '/');
	struct stat a, b;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	return stat(folder, &a) == 0 && fstat(at->dir, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* A name in the file system. */
static int64_t find_socket(struct guest *g, struct address *ad, bool binds)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&ad->ss;
	size_t head = offsetof(struct sockaddr_un, sun_path), n = ad->n - head;
	char path[sizeof(un->sun_path) + 1], link[FD_PATH_BYTES];
	struct stat st;
	int err, len;

	if (n > sizeof(un->sun_path))
		return -EINVAL;
	memcpy(path, un->sun_path, n);
	path[n] = 0;
	err = path_find(g, (uint64_t)AT_FDCWD, path, binds ? PATH_NAME : PATH_FOLLOW, &ad->at);
	if (err)
		return err;
	if (ad->at.node.row)
		return binds ? -EADDRINUSE : -ECONNREFUSED;
	if (binds && !*ad->at.name)
		return -EADDRINUSE;
	if (binds && g->world.super && fstat(ad->at.dir, &st) == 0 &&
	    !owner_may(g, &st, W_OK | X_OK))
		return -EACCES;
	if (!binds) {
		err = path_access(g, &ad->at, W_OK);
		if (err)
			return err;
	}
	if (binds && (err = view_make(g, &ad->at)) != 0)
		return err == -EEXIST ? -EADDRINUSE : err;
	if (binds && !g->world.cwd.row && same_folder(path, &ad->at))
		return 0;
	path_to_fd(ad->at.dir, link);
	len = snprintf(un->sun_path, sizeof(un->sun_path), *ad->at.name ? "%s/%s" : "%s", link,
		       ad->at.name);
	if (len >= (int)sizeof(un->sun_path))
		return -ENAMETOOLONG;
	ad->n = (socklen_t)(head + (size_t)len + 1);
	return 0;
}

/* An address from guest memory; 0 or -errno, and address_done is due. */
static int64_t addr_in(struct guest *g, uint64_t addr, uint64_t length, bool binds,
		       struct address *ad)
{
	memset(ad, 0, sizeof(*ad));
	ad->at.dir = -1;
	if ((int)length < 0 || length > sizeof(ad->ss))
		return -EINVAL;
	ad->n = (socklen_t)length;
	if (copy_in(g, &ad->ss, addr, length) < 0)
		return -EFAULT;
	if (ad->ss.ss_family != AF_UNIX || length <= offsetof(struct sockaddr_un, sun_path) ||
	    !((struct sockaddr_un *)&ad->ss)->sun_path[0])
		return 0;
	return find_socket(g, ad, binds);
}

static void address_done(struct address *ad)
{
	path_done(&ad->at);
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
	int host = fd_host(g, a[0]);
	struct address ad;
	int64_t r;

	(void)t;
	if (host < 0)
		return -EBADF;
	r = addr_in(g, a[1], a[2], true, &ad);
	if (!r)
		r = ret_errno(bind(host, (struct sockaddr *)&ad.ss, ad.n));
	if (!r && ad.at.dir >= 0)
		view_made(g, &ad.at, -1);
	address_done(&ad);
	return r;
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
	int host = fd_host(g, a[0]), flags, r, error = 0;
	socklen_t length = sizeof(error);
	struct address ad;
	int64_t err;

	if (host < 0)
		return -EBADF;
	if (t->wait.started) {
		getsockopt(host, SOL_SOCKET, SO_ERROR, &error, &length);
		return -error;
	}
	err = addr_in(g, a[1], a[2], false, &ad);
	if (err) {
		address_done(&ad);
		return err;
	}
	flags = fcntl(host, F_GETFL);
	fcntl(host, F_SETFL, flags | O_NONBLOCK);
	r = connect(host, (struct sockaddr *)&ad.ss, ad.n);
	error = errno;
	address_done(&ad);
	fcntl(host, F_SETFL, flags);
	if (r < 0 && error == EINPROGRESS && !(flags & O_NONBLOCK))
		return wait_fd(g, t, (int)a[0], POLLOUT, NO_TIME);
	return r < 0 ? -error : 0;
}

/* getsockname and getpeername: writes the address that the host's call gives. */
static int64_t name_out(struct guest *g, const uint64_t *a,
			int (*name)(int fd, struct sockaddr *restrict addr, socklen_t *restrict n))
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);
	int host = fd_host(g, a[0]);

	if (host < 0)
		return -EBADF;
	return name(host, (struct sockaddr *)&ss, &n) < 0 ? -errno
							  : addr_out(g, a[1], a[2], &ss, n);
}

int64_t sys_getsockname(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return name_out(g, a, getsockname);
}

int64_t sys_getpeername(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return name_out(g, a, getpeername);
}

static int64_t broken_pipe(struct guest *g, struct thread *t, int error, int flags)
{
	if (error == EPIPE && !(flags & MSG_NOSIGNAL))
		signal_send_kernel(g, t, SIGPIPE);
	return -error;
}

int64_t sys_sendto(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	uint64_t length = min_u64(a[2], 0x7ffff000);
	const void *buf = host_ptr(g, a[1], length);
	struct address ad = { .at.dir = -1 };
	int64_t r = 0;

	if (host < 0)
		return -EBADF;
	if (!buf)
		return -EFAULT;
	if (a[4])
		r = addr_in(g, a[4], a[5], false, &ad);
	if (!r && must_wait(host, POLLOUT, (int)a[3])) {
		r = wait_fd(g, t, (int)a[0], POLLOUT, NO_TIME);
	} else if (!r) {
		r = sendto(host, buf, length, (int)a[3] | MSG_NOSIGNAL,
			   a[4] ? (struct sockaddr *)&ad.ss : NULL, ad.n);
		if (r < 0)
			r = broken_pipe(g, t, errno, (int)a[3]);
	}
	address_done(&ad);
	return r;
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

/* Options that hand out descriptors of processes; older headers lack them. */
enum { OPTION_PASSPIDFD = 76, OPTION_PEERPIDFD = 77 };

/* Translates the host's numbers of a process and its user to the guest's; a process outside the
 * tree has none. */
static void credentials_in(struct guest *g, struct ucred *c)
{
	c->pid = proc_of_host(g, c->pid);
	c->uid = owner_uid(g, c->uid);
	c->gid = owner_gid(g, c->gid);
}

/* Translates credentials to the host's numbers; a process may send only its own. 0 or -errno. */
static int64_t credentials_out(struct guest *g, struct ucred *c)
{
	if (c->pid != g->pid || c->uid != GUEST_UID || c->gid != GUEST_UID)
		return -EPERM;
	*c = (struct ucred){ getpid(), geteuid(), getegid() };
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
	/* Refused: filters hold pointers, or name descriptors of the host. */
	if ((int)a[1] == SOL_SOCKET &&
	    ((int)a[2] == SO_ATTACH_FILTER || (int)a[2] == SO_ATTACH_REUSEPORT_CBPF ||
	     (int)a[2] == SO_ATTACH_BPF || (int)a[2] == SO_ATTACH_REUSEPORT_EBPF))
		return -EPERM;
	/* It would make recvmsg hand out descriptors of processes that the kernel chooses. */
	if ((int)a[1] == SOL_SOCKET && (int)a[2] == OPTION_PASSPIDFD)
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
	/* Descriptors and groups of the host's. */
	if ((int)a[1] == SOL_SOCKET &&
	    ((int)a[2] == OPTION_PEERPIDFD || (int)a[2] == SO_PEERGROUPS))
		return -ENOPROTOOPT;
	if (getsockopt(host, (int)a[1], (int)a[2], buf, &n) < 0)
		return -errno;
	if ((int)a[1] == SOL_SOCKET && (int)a[2] == SO_PEERCRED && n == sizeof(struct ucred))
		credentials_in(g, (struct ucred *)buf);
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
	struct msghdr guest;	      /* its pointers are guest addresses */
	struct sockaddr_storage name; /* received */
	struct address to;
	struct iovec iov[MAX_IOV];
	_Alignas(struct cmsghdr) uint8_t control[MAX_CONTROL];
};

static int64_t message_in(struct guest *g, uint64_t addr, struct message *m)
{
	m->to.at = (struct path_at){ .dir = -1 };
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

/* Translates descriptors in a control message that is sent to the host's numbers. */
static int64_t rights_out(struct guest *g, struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		fd = fd_host(g, (uint64_t)fd);
		if (fd < 0)
			return -EBADF;
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	}
	return 0;
}

/* Installs descriptors of a received control message as new ones of the guest. From the first one
 * that the guest may not have, or has no room for, all are closed; false then says that the message
 * is cut. */
static bool rights_in(struct guest *g, struct cmsghdr *c, bool cloexec)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int), kept = 0;

	for (size_t i = 0; i < n; i++) {
		int host;
		int64_t fd = -1;

		memcpy(&host, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (kept < i || !fd_is_harmless(host))
			close(host);
		else
			fd = fd_install(g, host, 0, cloexec, FD_PLAIN);
		if (fd >= 0) {
			int number = (int)fd;

			memcpy(CMSG_DATA(c) + kept++ * sizeof(int), &number, sizeof(int));
		}
	}
	if (kept < n)
		c->cmsg_len = CMSG_LEN(kept * sizeof(int));
	return kept == n;
}

/* Translates descriptors and processes in control messages, in either direction. */
static int64_t translate_control(struct guest *g, struct msghdr *h, bool received, bool cloexec)
{
	int64_t err = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h), *next; c && !err; c = next) {
		struct ucred cred;

		next = CMSG_NXTHDR(h, c);
		if (c->cmsg_len < sizeof(*c) || c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS) {
			if (!received)
				err = rights_out(g, c);
			else if (!rights_in(g, c, cloexec))
				h->msg_flags |= MSG_CTRUNC;
		} else if (c->cmsg_type == SCM_CREDENTIALS &&
			   c->cmsg_len >= CMSG_LEN(sizeof(cred))) {
			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			if (received)
				credentials_in(g, &cred);
			else
				err = credentials_out(g, &cred);
			memcpy(CMSG_DATA(c), &cred, sizeof(cred));
		}
	}
	return err;
}

static int64_t send_message(struct guest *g, struct thread *t, int host, struct message *m,
			    const uint64_t *a)
{
	int64_t r = 0;

	if (m->guest.msg_name) {
		r = addr_in(g, (uint64_t)(uintptr_t)m->guest.msg_name, m->guest.msg_namelen, false,
			    &m->to);
		m->host.msg_name = &m->to.ss;
		m->host.msg_namelen = m->to.n;
	}
	if (r >= 0 && m->guest.msg_control && m->guest.msg_controllen) {
		r = copy_in(g, m->control, (uint64_t)(uintptr_t)m->guest.msg_control,
			    m->guest.msg_controllen);
		m->host.msg_control = m->control;
		m->host.msg_controllen = m->guest.msg_controllen;
		if (r == 0)
			r = translate_control(g, &m->host, false, false);
	}
	if (r < 0)
		return r;
	if (must_wait(host, POLLOUT, (int)a[2]))
		return wait_fd(g, t, (int)a[0], POLLOUT, NO_TIME);
	r = sendmsg(host, &m->host, (int)a[2] | MSG_NOSIGNAL);
	return r < 0 ? broken_pipe(g, t, errno, (int)a[2]) : r;
}

static int64_t receive_message(struct guest *g, struct thread *t, int host, struct message *m,
			       const uint64_t *a)
{
	uint64_t rest;
	int64_t r;

	if (must_wait(host, POLLIN, (int)a[2]))
		return wait_fd(g, t, (int)a[0], POLLIN, NO_TIME);
	m->host.msg_name = m->guest.msg_name ? &m->name : NULL;
	m->host.msg_namelen = m->guest.msg_name ? sizeof(m->name) : 0;
	m->host.msg_control = m->guest.msg_control ? m->control : NULL;
	m->host.msg_controllen = m->guest.msg_control ? m->guest.msg_controllen : 0;
	r = recvmsg(host, &m->host, (int)a[2] | MSG_CMSG_CLOEXEC);
	if (r < 0)
		return -errno;
	rest = (uint64_t)r;
	for (size_t i = 0; i < m->host.msg_iovlen && rest; i++) {
		uint64_t n = min_u64(rest, m->iov[i].iov_len);

		mem_written(&g->mem, (uint64_t)((uint8_t *)m->iov[i].iov_base - g->mem.base), n);
		rest -= n;
	}
	translate_control(g, &m->host, true, (int)a[2] & MSG_CMSG_CLOEXEC);
	if (m->guest.msg_name && copy_out(g, (uint64_t)(uintptr_t)m->guest.msg_name, &m->name,
					  min_u64(m->guest.msg_namelen, m->host.msg_namelen)) < 0)
		r = -EFAULT;
	if (m->guest.msg_control && copy_out(g, (uint64_t)(uintptr_t)m->guest.msg_control,
					     m->control, m->host.msg_controllen) < 0)
		r = -EFAULT;
	m->guest.msg_namelen = m->host.msg_namelen;
	m->guest.msg_controllen = m->host.msg_controllen;
	m->guest.msg_flags = m->host.msg_flags;
	if (copy_out(g, a[1], &m->guest, sizeof(m->guest)) < 0)
		r = -EFAULT;
	return r;
}

/* Reads the guest's struct msghdr and lets `act` send or receive by it. */
static int64_t with_message(struct guest *g, struct thread *t, const uint64_t *a,
			    int64_t (*act)(struct guest *g, struct thread *t, int host,
					   struct message *m, const uint64_t *a))
{
	int host = fd_host(g, a[0]);
	struct message *m;
	int64_t r;

	if (host < 0)
		return -EBADF;
	m = x_malloc(sizeof(*m));
	r = message_in(g, a[1], m);
	if (r == 0)
		r = act(g, t, host, m, a);
	address_done(&m->to);
	free(m);
	return r;
}

int64_t sys_sendmsg(struct guest *g, struct thread *t, const uint64_t *a)
{
	return with_message(g, t, a, send_message);
}

int64_t sys_recvmsg(struct guest *g, struct thread *t, const uint64_t *a)
{
	return with_message(g, t, a, receive_message);
}
