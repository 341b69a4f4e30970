/* SPDX-License-Identifier: MIT */
/*
 * The guest's file descriptors.
 *
 * They are numbers of their own, mapped to host descriptors, so that the guest always gets the
 * lowest free number (whatever this program has open itself), and execve closes only what belongs
 * to the guest.
 */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/listing.h"
#include "guest/files/nodes.h"
#include "guest/files/path.h"
#include "guest/kernel/clock.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "util/array.h"

struct fd_entry *fd_get(struct guest *g, uint64_t fd)
{
	/* The kernel takes an unsigned int: upper bits of the register do not count. */
	fd = (uint32_t)fd;
	return fd < g->nfds && g->fds[fd].kind != FD_CLOSED ? &g->fds[fd] : NULL;
}

int fd_host(const struct guest *g, uint64_t fd)
{
	fd = (uint32_t)fd;
	return fd < g->nfds && g->fds[fd].kind != FD_CLOSED ? g->fds[fd].host : -1;
}

static void grow(struct guest *g, size_t n)
{
	size_t had = g->nfds;

	ARRAY_ROOM(g->fds, g->nfds, n);
	if (g->nfds > had)
		memset(g->fds + had, 0, (g->nfds - had) * sizeof(*g->fds));
}

int64_t fd_install(struct guest *g, int host, int min, bool cloexec, enum fd_kind kind)
{
	size_t limit = g->limit[RLIMIT_NOFILE].cur;
	size_t fd = (size_t)min;

	while (fd < g->nfds && g->fds[fd].kind != FD_CLOSED)
		fd++;
	if (fd >= limit) {
		close(host);
		return -EMFILE;
	}
	grow(g, fd + 1);
	g->fds[fd] = (struct fd_entry){ .host = host, .kind = kind, .cloexec = cloexec };
	return (int64_t)fd;
}

int64_t fd_install_pair(struct guest *g, const int host[2], bool cloexec, uint64_t at)
{
	int64_t first = fd_install(g, host[0], 0, cloexec, FD_PLAIN), second;

	if (first < 0) {
		close(host[1]);
		return first;
	}
	second = fd_install(g, host[1], 0, cloexec, FD_PLAIN);
	if (second < 0) {
		fd_close(g, (uint64_t)first);
		return second;
	}
	g->fds[first].internal = g->fds[second].internal = true;

	struct stat st;

	for (int i = 0; i < 2; i++)
		if (!fstat(host[i], &st) && S_ISSOCK(st.st_mode))
			g->fds[i ? first : second].peer = st.st_ino;

	int32_t out[2] = { (int32_t)first, (int32_t)second };

	if (copy_out(g, at, out, sizeof(out)) < 0) {
		fd_close(g, (uint64_t)first);
		fd_close(g, (uint64_t)second);
		return -EFAULT;
	}
	return 0;
}

int64_t fd_install_at(struct guest *g, int host, int fd, bool cloexec, const struct fd_entry *like)
{
	struct fd_entry copy = *like;

	grow(g, (size_t)fd + 1);
	if (g->fds[fd].kind != FD_CLOSED)
		fd_close(g, (uint64_t)fd);
	copy.host = host;
	copy.cloexec = cloexec;
	g->fds[fd] = copy;
	return fd;
}

int fd_sink(const struct guest *g, const struct fd_entry *f)
{
	return f->discard ? g->streams.null : f->host;
}

int64_t fd_close(struct guest *g, uint64_t fd)
{
	struct fd_entry *f = fd_get(g, fd);
	struct fd_entry old;

	if (!f)
		return -EBADF;
	old = *f;
	memset(f, 0, sizeof(*f));
	if (old.node.row)
		node_closed(g, &old);
	if (old.kind == FD_TIMER) {
		bool used = false;

		for (size_t i = 0; i < g->nfds; i++)
			used |= g->fds[i].kind == FD_TIMER && g->fds[i].timer == old.timer;
		if (!used)
			timer_release(g, old.timer);
	}
	listing_closed(g, old.listing);
	return ret_errno(close(old.host));
}

void fd_close_on_exec(struct guest *g)
{
	for (size_t i = 0; i < g->nfds; i++)
		if (g->fds[i].kind != FD_CLOSED && g->fds[i].cloexec)
			fd_close(g, i);
}

bool fd_is_harmless(int host)
{
	struct stat st;

	if (fstat(host, &st) < 0 || S_ISBLK(st.st_mode))
		return false;
	/* Terminals lie in a file system of the kernel's. */
	return S_ISCHR(st.st_mode) || !path_is_kernels(host);
}

#ifndef F_DUPFD_QUERY
#define F_DUPFD_QUERY 1027
#endif

bool fd_same_open(int a, int b)
{
	struct stat sa, sb;
	int r = fcntl(a, F_DUPFD_QUERY, b);
	long k;

	if (r >= 0)
		return r;
	k = syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b);
	if (k >= 0)
		return !k;
	/* The kernel supports neither query: take descriptors that are alike in every respect
	 * for duplicates. */
	return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino && fcntl(a, F_GETFL) == fcntl(b, F_GETFL) &&
	       lseek(a, 0, SEEK_CUR) == lseek(b, 0, SEEK_CUR);
}

/* The C library defines O_LARGEFILE as 0; the kernel sets it for every file that is opened by
 * name. */
#define KERNEL_LARGEFILE 0100000

int fd_flags(const struct fd_entry *f)
{
	int flags = fcntl(f->host, F_GETFL);

	if (flags < 0)
		return -errno;
	/* The host's flag is missing on a terminal that was opened through its master; the guest
	 * has no such terminals. */
	if (isatty(f->host))
		flags |= KERNEL_LARGEFILE;
	return flags;
}

/* /dev/random and /dev/urandom: the guest has its own. */
static bool gives_random(const struct guest *g, int host)
{
	struct stat st;

	return !g->config.real_time && !fstat(host, &st) && S_ISCHR(st.st_mode) &&
	       (st.st_rdev == makedev(1, 8) || st.st_rdev == makedev(1, 9));
}

void fds_init(struct guest *g)
{
	for (int fd = 0; fd < 3; fd++) {
		int own = g->config.streams ? g->config.streams[fd] : fd;
		int host = own < 0 ? -1 : fcntl(own, F_DUPFD_CLOEXEC, 3);

		if (host < 0)
			continue;
		if (!fd_is_harmless(host)) {
			warn("descriptor %d is a file of this machine's kernel, which a guest does "
			     "not get: it is closed for the guest; pass a copy",
			     fd);
			close(host);
			continue;
		}
		grow(g, 3);
		g->fds[fd] = (struct fd_entry){
			.host = host,
			.kind = gives_random(g, host) ? FD_RANDOM : FD_PLAIN,
		};
		node_terminal(g, &g->fds[fd]); /* the lowest numbers are for the streams */
	}
}

void fds_free(struct guest *g)
{
	for (size_t i = 0; i < g->nfds; i++)
		if (g->fds[i].kind != FD_CLOSED)
			close(g->fds[i].host);
	free(g->fds);
	g->fds = NULL;
	g->nfds = 0;
}
