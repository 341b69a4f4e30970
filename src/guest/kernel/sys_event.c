/* SPDX-License-Identifier: MIT */
/*
 * Waiting for events: poll, select, epoll, eventfd, signalfd, inotify.
 * struct epoll_event is packed on x86-64 and not on riscv64.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/path.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "util/array.h"

struct guest_epoll_event {
	uint32_t events, pad;
	uint64_t data;
};

/* Sets the signal mask that holds while ppoll and the like wait. */
static int64_t mask_in(struct guest *g, struct thread *t, uint64_t addr, uint64_t size_bytes)
{
	uint64_t mask;

	if (!addr || t->wait.started)
		return 0;
	if (size_bytes != 8)
		return -EINVAL;
	if (copy_in(g, &mask, addr, 8) < 0)
		return -EFAULT;
	t->saved_sigmask = t->sigmask;
	t->restore_sigmask = true;
	t->sigmask = mask & ~((1ull << (SIGKILL - 1)) | (1ull << (SIGSTOP - 1)));
	return 0;
}

static struct pollfd *wait_fds(struct thread *t, size_t n)
{
	ARRAY_ROOM(t->wait.fds, t->wait.cap_fds, n);
	t->wait.nfds = n;
	return t->wait.fds;
}

/* A signal that would end the wait is already there: let it. */
static bool interrupted(struct guest *g, struct thread *t)
{
	return signal_pending(g, t);
}

int64_t sys_ppoll(struct guest *g, struct thread *t, const uint64_t *a)
{
	size_t n = (uint32_t)a[1];
	struct pollfd *guest_fds = NULL, *fds;
	uint64_t ns = NO_TIME, deadline = NO_TIME;
	int64_t result;
	int ready = 0, extra = 0;
	bool internal = true;

	if (a[2] && !t->wait.started) {
		int err = timespec_in(g, a[2], &ns);

		if (err)
			return err;
		deadline = deadline_after(g, ns);
	}
	if (n > g->limit[RLIMIT_NOFILE].cur)
		return -EINVAL;
	result = mask_in(g, t, a[3], a[4]);
	if (result)
		return result;
	guest_fds = x_calloc(n + 1, sizeof(*guest_fds));
	if (copy_in(g, guest_fds, a[0], n * sizeof(*guest_fds)) < 0) {
		free(guest_fds);
		return -EFAULT;
	}
	fds = wait_fds(t, n);
	for (size_t i = 0; i < n; i++) {
		const struct fd_entry *f =
		    guest_fds[i].fd < 0 ? NULL : fd_get(g, (uint64_t)guest_fds[i].fd);

		fds[i] = (struct pollfd){ .fd = f ? f->host : -1, .events = guest_fds[i].events };
		guest_fds[i].revents = 0;
		if (guest_fds[i].fd >= 0 && !f) {
			guest_fds[i].revents = POLLNVAL;
			extra++;
		}
		internal &= !f || f->internal;
	}
	if (n)
		ready = poll(fds, n, 0);
	if (ready < 0)
		ready = 0;
	if (ready + extra || t->wait.timed_out || ns == 0) {
		for (size_t i = 0; i < n; i++)
			guest_fds[i].revents |= fds[i].revents;
		result = copy_out(g, a[0], guest_fds, n * sizeof(*guest_fds)) < 0 ? -EFAULT
										  : ready + extra;
	} else if (!t->wait.started && interrupted(g, t)) {
		result = -EINTR;
	} else {
		t->wait.internal = internal;
		result = wait_begin(t, n ? WAIT_FDS : WAIT_SIGNAL, deadline);
	}
	free(guest_fds);
	return result;
}

int64_t sys_pselect6(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t sets[3][16] = { { 0 } }, out[3][16] = { { 0 } }, sig[2] = { 0, 0 }, ns = NO_TIME,
		 deadline = NO_TIME;
	int64_t nfds = (int)a[0], result, count = 0;
	size_t bytes, n = 0;
	struct pollfd *fds;
	int guest_fd[1024], ready = 0;
	bool internal = true;

	if (nfds < 0)
		return -EINVAL;
	if (nfds > 1024)
		nfds = 1024;
	bytes = ((size_t)nfds + 63) / 64 * 8;
	for (int s = 0; s < 3; s++)
		if (a[1 + s] && copy_in(g, sets[s], a[1 + s], bytes) < 0)
			return -EFAULT;
	if (a[4] && !t->wait.started) {
		int err = timespec_in(g, a[4], &ns);

		if (err)
			return err;
		deadline = deadline_after(g, ns);
	}
	if (a[5] && copy_in(g, sig, a[5], sizeof(sig)) < 0)
		return -EFAULT;
	result = mask_in(g, t, sig[0], sig[1]);
	if (result)
		return result;
	fds = wait_fds(t, (size_t)nfds);
	for (int fd = 0; fd < nfds; fd++) {
		uint64_t bit = 1ull << (fd % 64);
		short events = 0;
		const struct fd_entry *f;

		if (sets[0][fd / 64] & bit)
			events |= POLLIN;
		if (sets[1][fd / 64] & bit)
			events |= POLLOUT;
		if (sets[2][fd / 64] & bit)
			events |= POLLPRI;
		if (!events)
			continue;
		f = fd_get(g, (uint64_t)fd);
		if (!f)
			return -EBADF;
		internal &= f->internal;
		guest_fd[n] = fd;
		fds[n++] = (struct pollfd){ .fd = f->host, .events = events };
	}
	t->wait.nfds = n;
	if (n)
		ready = poll(fds, n, 0);
	if (ready <= 0 && !t->wait.timed_out && ns != 0) {
		if (!t->wait.started && interrupted(g, t))
			return -EINTR;
		t->wait.internal = internal;
		return wait_begin(t, n ? WAIT_FDS : WAIT_SIGNAL, deadline);
	}
	for (size_t i = 0; i < n; i++) {
		static const short mean[3] = { POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR,
					       POLLPRI };

		for (int s = 0; s < 3; s++) {
			uint64_t bit = 1ull << (guest_fd[i] % 64);

			if ((fds[i].revents & mean[s]) && (sets[s][guest_fd[i] / 64] & bit)) {
				out[s][guest_fd[i] / 64] |= bit;
				count++;
			}
		}
	}
	for (int s = 0; s < 3; s++)
		if (a[1 + s] && copy_out(g, a[1 + s], out[s], bytes) < 0)
			return -EFAULT;
	if (a[4] && t->wait.deadline_ns != NO_TIME && t->wait.started) {
		uint64_t now = clock_boot_ns(g);

		timespec_out(g, a[4], t->wait.deadline_ns > now ? t->wait.deadline_ns - now : 0);
	}
	return count;
}

int64_t sys_epoll_create1(struct guest *g, struct thread *t, const uint64_t *a)
{
	int fd = epoll_create1((int)a[0] | EPOLL_CLOEXEC);
	int64_t r;

	(void)t;
	if (fd < 0)
		return -errno;
	r = fd_install(g, fd, 0, (int)a[0] & EPOLL_CLOEXEC, FD_PLAIN);
	if (r >= 0)
		g->fds[r].internal = true; /* until an outside descriptor is added */
	return r;
}

int64_t sys_epoll_ctl(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct fd_entry *ep = fd_get(g, a[0]), *f = fd_get(g, a[2]);
	struct guest_epoll_event in;
	struct epoll_event ev = { 0 };

	(void)t;
	if (!ep || !f)
		return -EBADF;
	if ((int)a[1] != EPOLL_CTL_DEL) {
		if (copy_in(g, &in, a[3], sizeof(in)) < 0)
			return -EFAULT;
		ev.events = in.events;
		ev.data.u64 = in.data;
	}
	if (epoll_ctl(ep->host, (int)a[1], f->host, &ev) < 0)
		return -errno;
	ep->internal &= f->internal;
	return 0;
}

static int64_t epoll_wait_until(struct guest *g, struct thread *t, const uint64_t *a, uint64_t ns)
{
	const struct fd_entry *ep = fd_get(g, a[0]);
	struct epoll_event ev[256];
	int64_t max = (int)a[2], result;
	int n;

	if (max <= 0)
		return -EINVAL;
	if (!host_ptr(g, a[1], (uint64_t)max * sizeof(struct guest_epoll_event)))
		return -EFAULT;
	if (!ep)
		return -EBADF;
	result = mask_in(g, t, a[4], a[5]);
	if (result)
		return result;
	n = epoll_wait(ep->host, ev, (int)min_u64((uint64_t)max, ARRAY_LEN(ev)), 0);
	if (n < 0)
		return -errno;
	if (n == 0 && !t->wait.timed_out && ns != 0) {
		if (!t->wait.started && interrupted(g, t))
			return -EINTR;
		return wait_fd(g, t, (int)a[0], POLLIN,
			       ns == NO_TIME ? NO_TIME : deadline_after(g, ns));
	}
	for (int i = 0; i < n; i++) {
		struct guest_epoll_event out = { .events = ev[i].events, .data = ev[i].data.u64 };

		if (copy_out(g, a[1] + (uint64_t)i * sizeof(out), &out, sizeof(out)) < 0)
			return i ? i : -EFAULT;
	}
	return n;
}

int64_t sys_epoll_pwait(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t ms = (int)a[3];

	return epoll_wait_until(g, t, a, ms < 0 ? NO_TIME : (uint64_t)ms * 1000000);
}

int64_t sys_epoll_pwait2(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t ns = NO_TIME;

	if (a[3]) {
		int err = timespec_in(g, a[3], &ns);

		if (err)
			return err;
	}
	return epoll_wait_until(g, t, a, ns);
}

int64_t sys_eventfd2(struct guest *g, struct thread *t, const uint64_t *a)
{
	int fd = eventfd((unsigned)a[0], (int)a[1] | EFD_CLOEXEC);
	int64_t r;

	(void)t;
	if (fd < 0)
		return -errno;
	r = fd_install(g, fd, 0, (int)a[1] & EFD_CLOEXEC, FD_PLAIN);
	if (r >= 0) {
		g->fds[r].internal = true;
		g->fds[r].counts_by_one = (int)a[1] & EFD_SEMAPHORE;
	}
	return r;
}

int64_t sys_signalfd4(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct fd_entry *f;
	uint64_t set;
	int64_t r = (int)a[0];

	(void)t;
	if (a[2] != 8 || ((int)a[3] & ~(SFD_CLOEXEC | SFD_NONBLOCK)))
		return -EINVAL;
	if (copy_in(g, &set, a[1], 8) < 0)
		return -EFAULT;
	if (r == -1) {
		int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

		if (fd < 0)
			return -errno;
		r = fd_install(g, fd, 0, (int)a[3] & SFD_CLOEXEC, FD_SIGNAL);
		if (r < 0)
			return r;
		g->fds[r].timer = ((int)a[3] & SFD_NONBLOCK) != 0;
	}
	f = fd_get(g, (uint64_t)r);
	if (!f)
		return -EBADF;
	if (f->kind != FD_SIGNAL)
		return -EINVAL;
	f->sigset = set;
	for (int s = 1; s <= GUEST_SIGNALS; s++)
		if (set & (1ull << (s - 1)))
			signal_watch_host(g, s);
	signal_update_fds(g);
	return r;
}

int64_t sys_inotify_init1(struct guest *g, struct thread *t, const uint64_t *a)
{
	int fd = inotify_init1((int)a[0] | IN_CLOEXEC);

	(void)t;
	return fd < 0 ? -errno : fd_install(g, fd, 0, (int)a[0] & IN_CLOEXEC, FD_PLAIN);
}

int64_t sys_inotify_add_watch(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]), fd, err;
	char path[FD_PATH_BYTES];
	struct path_at at;

	(void)t;
	if (host < 0)
		return -EBADF;
	err =
	    path_find_at(g, (uint64_t)AT_FDCWD, a[1], a[2] & IN_DONT_FOLLOW ? 0 : PATH_FOLLOW, &at);
	if (err)
		return err;
	/* Files that are made up never change: there is nothing to watch. */
	fd = at.node.row ? -EACCES : path_access(g, &at, R_OK);
	if (!fd)
		fd = path_object(g, &at);
	path_done(&at);
	if (fd < 0)
		return fd;
	path_to_fd(fd, path);
	err = inotify_add_watch(host, path, (uint32_t)a[2] & ~(uint32_t)IN_DONT_FOLLOW);
	err = err < 0 ? -errno : err;
	close(fd);
	return err;
}

int64_t sys_inotify_rm_watch(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : ret_errno(inotify_rm_watch(host, (int)a[1]));
}
