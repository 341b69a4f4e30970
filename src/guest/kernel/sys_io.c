/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing. The host reads and writes guest memory itself: the host's page protections
 * are the guest's, so it finds bad pointers, and files cut short, as the guest's kernel would.
 *
 * A descriptor that is not ready blocks the thread, never the process; a write to a pipe goes on
 * piece by piece while other threads run.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/input.h"
#include "guest/files/listing.h"
#include "guest/files/nodes.h"
#include "guest/files/path.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/baton.h"
#include "guest/process/process.h"

#define MAX_IO	0x7ffff000ull
#define MAX_IOV 1024
/* A pipe that is ready for writing takes this much without blocking. */
#define PIPE_STEP 4096

/* A call must not block the whole process if another thread, or a process that waits for
 * its turn, has to run first. */
static bool must_not_block(const struct guest *g)
{
	return g->sched.live > 1 || baton_used(g);
}

/* 1: ready, 0: the caller must block, or -errno. */
static int ready(int host, short events)
{
	struct pollfd p = { .fd = host, .events = events };
	int flags;

	if (poll(&p, 1, 0) != 0)
		return 1;
	flags = fcntl(host, F_GETFL);
	return flags < 0 ? -errno : flags & O_NONBLOCK ? 1 : 0;
}

static void fill_random(struct guest *g, uint8_t *buf, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += 8) {
		uint64_t v = rng_next(&g->rng);

		memcpy(buf + i, &v, min_u64(8, n - i));
	}
}

/* Random bytes into guest memory; how many, or -EFAULT. */
static int64_t random_out(struct guest *g, uint64_t addr, uint64_t n)
{
	uint8_t buf[512];
	uint64_t done = 0;

	while (done < n) {
		uint64_t part = min_u64(sizeof(buf), n - done);

		fill_random(g, buf, part);
		uint64_t copied = copy_out_some(g, addr + done, buf, part);

		done += copied;
		if (copied < part)
			return done ? (int64_t)done : -EFAULT;
	}
	return (int64_t)done;
}

/* signalfd: one 128-byte record per pending signal of the set. */
static int64_t read_signals(struct guest *g, struct thread *t, const struct fd_entry *f,
			    uint64_t fd, uint64_t addr, uint64_t n)
{
	uint64_t done = 0;
	siginfo_t info;

	if (n < 128)
		return -EINVAL;
	while (n - done >= 128 && signal_take(g, t, f->sigset, &info)) {
		uint32_t rec[32] = { 0 };
		uint64_t value = (uint64_t)(uintptr_t)info.si_value.sival_ptr;

		rec[0] = (uint32_t)info.si_signo;
		rec[2] = (uint32_t)info.si_code;
		rec[3] = (uint32_t)info.si_pid;
		rec[4] = (uint32_t)info.si_uid;
		rec[10] = (uint32_t)(info.si_signo == SIGCHLD ? info.si_status : 0);
		rec[11] = (uint32_t)value;
		memcpy(&rec[12], &value, 8);
		if (copy_out(g, addr + done, rec, sizeof(rec)) < 0)
			return -EFAULT;
		done += 128;
	}
	if (done)
		return (int64_t)done;
	return f->timer ? -EAGAIN : wait_fd(g, t, (int)fd, POLLIN, NO_TIME);
}

static int64_t do_read(struct guest *g, struct thread *t, uint64_t fd, uint64_t addr, uint64_t n)
{
	const struct fd_entry *f = fd_get(g, fd);
	ssize_t got;
	int r;

	if (!f)
		return -EBADF;
	n = min_u64(n, MAX_IO);
	if (!host_ptr(g, addr, n))
		return -EFAULT;
	if (f->kind == FD_RANDOM)
		return random_out(g, addr, n);
	if (f->kind == FD_SIGNAL)
		return read_signals(g, t, f, fd, addr, n);
	if (f->input) {
		const struct iovec iov = { g->mem.base + addr, n };
		int64_t in = input_read(g, t, fd, &iov, 1);

		if (in > 0)
			mem_written(&g->mem, addr, (uint64_t)in);
		return in;
	}
	r = ready(f->host, POLLIN);
	if (r < 0)
		return r;
	if (r == 0)
		return wait_fd(g, t, (int)fd, POLLIN, NO_TIME);
	got = read(f->host, g->mem.base + addr, n);
	if (got < 0)
		return -errno;
	mem_written(&g->mem, addr, (uint64_t)got);
	return got;
}

static int64_t broken_pipe(struct guest *g, struct thread *t, int64_t result)
{
	if (result == -EPIPE)
		signal_send_kernel(g, t, SIGPIPE);
	return result;
}

/* Whether a write can block for long: not on a file. */
static bool is_stream(int host)
{
	struct stat st;

	return fstat(host, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static int64_t do_write(struct guest *g, struct thread *t, uint64_t fd, uint64_t addr, uint64_t n)
{
	const struct fd_entry *f = fd_get(g, fd);
	ssize_t put;
	int host;

	if (!f)
		return -EBADF;
	host = fd_sink(g, f);
	n = min_u64(n, MAX_IO);
	if (!host_ptr(g, addr, n))
		return -EFAULT;
	if (must_not_block(g) && n > PIPE_STEP && is_stream(host) &&
	    !(fcntl(host, F_GETFL) & O_NONBLOCK)) {
		while (t->wait.progress < n) {
			uint64_t done = t->wait.progress;

			if (ready(host, POLLOUT) == 0)
				return wait_fd(g, t, (int)fd, POLLOUT, NO_TIME);
			put = write(host, g->mem.base + addr + done, min_u64(PIPE_STEP, n - done));
			if (put < 0)
				return broken_pipe(g, t, done ? (int64_t)done : -errno);
			t->wait.progress += (uint64_t)put;
		}
		return (int64_t)n;
	}
	if (must_not_block(g)) {
		int r = ready(host, POLLOUT);

		if (r == 0)
			return wait_fd(g, t, (int)fd, POLLOUT, NO_TIME);
	}
	put = write(host, g->mem.base + addr, n);
	/* The host call was interrupted by a signal that the guest must not notice: the call is
	 * made again later. */
	if (put < 0 && errno == EINTR)
		return wait_fd(g, t, (int)fd, POLLOUT, NO_TIME);
	return put < 0 ? broken_pipe(g, t, -errno) : put;
}

int64_t sys_read(struct guest *g, struct thread *t, const uint64_t *a)
{
	return do_read(g, t, a[0], a[1], a[2]);
}

int64_t sys_write(struct guest *g, struct thread *t, const uint64_t *a)
{
	return do_write(g, t, a[0], a[1], a[2]);
}

/* The guest's iovec as the host's; the number of entries, or -errno. */
static int64_t iov_in(struct guest *g, uint64_t addr, uint64_t count, struct iovec *iov)
{
	uint64_t total = 0;

	if ((int)count < 0 || count > MAX_IOV)
		return -EINVAL;
	if (copy_in(g, iov, addr, count * sizeof(*iov)) < 0)
		return -EFAULT;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t base = (uint64_t)(uintptr_t)iov[i].iov_base;

		if ((int64_t)iov[i].iov_len < 0)
			return -EINVAL;
		iov[i].iov_len = min_u64(iov[i].iov_len, MAX_IO - total);
		total += iov[i].iov_len;
		if (iov[i].iov_len && !host_ptr(g, base, iov[i].iov_len))
			return -EFAULT;
		iov[i].iov_base = iov[i].iov_len ? g->mem.base + base : g->mem.base;
	}
	return (int64_t)count;
}

static void iov_written(struct guest *g, const struct iovec *iov, int64_t count, int64_t bytes)
{
	for (int64_t i = 0; i < count && bytes > 0; i++) {
		uint64_t n = min_u64(iov[i].iov_len, (uint64_t)bytes);

		mem_written(&g->mem, (uint64_t)((uint8_t *)iov[i].iov_base - g->mem.base), n);
		bytes -= (int64_t)n;
	}
}

int64_t sys_readv(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);
	struct iovec iov[MAX_IOV];
	int64_t count, got;
	int r;

	if (!f)
		return -EBADF;
	count = iov_in(g, a[1], a[2], iov);
	if (count < 0)
		return count;
	if (f->kind == FD_RANDOM || f->kind == FD_SIGNAL) {
		uint64_t total = 0;

		for (int64_t i = 0; i < count; i++) {
			if (!iov[i].iov_len)
				continue;
			got = do_read(g, t, a[0],
				      (uint64_t)((uint8_t *)iov[i].iov_base - g->mem.base),
				      iov[i].iov_len);
			if (got < 0)
				return total ? (int64_t)total : got;
			total += (uint64_t)got;
		}
		return (int64_t)total;
	}
	if (f->input) {
		got = input_read(g, t, a[0], iov, (int)count);
		if (got > 0)
			iov_written(g, iov, count, got);
		return got;
	}
	r = ready(f->host, POLLIN);
	if (r <= 0)
		return r < 0 ? r : wait_fd(g, t, (int)a[0], POLLIN, NO_TIME);
	got = readv(f->host, iov, (int)count);
	if (got < 0)
		return -errno;
	iov_written(g, iov, count, got);
	return got;
}

int64_t sys_writev(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);
	struct iovec iov[MAX_IOV];
	int64_t count, put;
	uint64_t skip, total = 0;
	int host;

	if (!f)
		return -EBADF;
	host = fd_sink(g, f);
	count = iov_in(g, a[1], a[2], iov);
	if (count < 0)
		return count;
	if (must_not_block(g) && is_stream(host)) {
		/* Entry by entry; progress counts over all of them. */
		skip = t->wait.progress;
		for (int64_t i = 0; i < count; i++) {
			while (skip < iov[i].iov_len) {
				if (ready(host, POLLOUT) == 0)
					return wait_fd(g, t, (int)a[0], POLLOUT, NO_TIME);
				put = write(host, (uint8_t *)iov[i].iov_base + skip,
					    min_u64(PIPE_STEP, iov[i].iov_len - skip));
				if (put < 0)
					return broken_pipe(
					    g, t,
					    t->wait.progress ? (int64_t)t->wait.progress : -errno);
				skip += (uint64_t)put;
				t->wait.progress += (uint64_t)put;
			}
			skip -= iov[i].iov_len;
			total += iov[i].iov_len;
		}
		return (int64_t)total;
	}
	put = writev(host, iov, (int)count);
	return put < 0 ? broken_pipe(g, t, -errno) : put;
}

int64_t sys_pread64(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);
	uint64_t n = min_u64(a[2], MAX_IO);
	ssize_t got;

	(void)t;
	if (!f)
		return -EBADF;
	if (!host_ptr(g, a[1], n))
		return -EFAULT;
	if (f->kind == FD_RANDOM)
		return random_out(g, a[1], n);
	got = pread(f->host, g->mem.base + a[1], n, (off_t)a[3]);
	if (got < 0)
		return -errno;
	mem_written(&g->mem, a[1], (uint64_t)got);
	return got;
}

int64_t sys_pwrite64(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	uint64_t n = min_u64(a[2], MAX_IO);

	(void)t;
	if (host < 0)
		return -EBADF;
	if (!host_ptr(g, a[1], n))
		return -EFAULT;
	return ret_errno(pwrite(host, g->mem.base + a[1], n, (off_t)a[3]));
}

static int64_t do_preadv(struct guest *g, struct thread *t, const uint64_t *a, int flags)
{
	int host = fd_host(g, a[0]);
	struct iovec iov[MAX_IOV];
	int64_t count, got;

	if (host < 0)
		return -EBADF;
	if ((int64_t)a[3] == -1)
		return sys_readv(g, t, a);
	count = iov_in(g, a[1], a[2], iov);
	if (count < 0)
		return count;
	got = preadv2(host, iov, (int)count, (off_t)a[3], flags);
	if (got < 0)
		return -errno;
	iov_written(g, iov, count, got);
	return got;
}

static int64_t do_pwritev(struct guest *g, struct thread *t, const uint64_t *a, int flags)
{
	int host = fd_host(g, a[0]);
	struct iovec iov[MAX_IOV];
	int64_t count;

	if (host < 0)
		return -EBADF;
	if ((int64_t)a[3] == -1)
		return sys_writev(g, t, a);
	count = iov_in(g, a[1], a[2], iov);
	return count < 0 ? count : ret_errno(pwritev2(host, iov, (int)count, (off_t)a[3], flags));
}

int64_t sys_preadv(struct guest *g, struct thread *t, const uint64_t *a)
{
	return (int64_t)a[3] < 0 ? -EINVAL : do_preadv(g, t, a, 0);
}

int64_t sys_pwritev(struct guest *g, struct thread *t, const uint64_t *a)
{
	return (int64_t)a[3] < 0 ? -EINVAL : do_pwritev(g, t, a, 0);
}

int64_t sys_preadv2(struct guest *g, struct thread *t, const uint64_t *a)
{
	return do_preadv(g, t, a, (int)a[5]);
}

int64_t sys_pwritev2(struct guest *g, struct thread *t, const uint64_t *a)
{
	return do_pwritev(g, t, a, (int)a[5]);
}

int64_t sys_lseek(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct fd_entry *f = fd_get(g, a[0]);
	int64_t at;

	(void)t;
	if (!f)
		return -EBADF;
	if (f->node.row && S_ISDIR(node_mode(&f->node))) {
		if ((int)a[2] == SEEK_SET)
			f->list_at = a[1];
		else if ((int)a[2] != SEEK_CUR || a[1])
			return -EINVAL;
		return (int64_t)f->list_at;
	}
	if (listing_seek(g, f, (int64_t)a[1], (int)a[2], &at))
		return at;
	return ret_errno(lseek(f->host, (off_t)a[1], (int)a[2]));
}

int64_t sys_sendfile(struct guest *g, struct thread *t, const uint64_t *a)
{
	int out = fd_host(g, a[0]), in = fd_host(g, a[1]);
	off_t offset;
	ssize_t n;

	if (out < 0 || in < 0)
		return -EBADF;
	out = fd_sink(g, fd_get(g, a[0]));
	if (a[2] && copy_in(g, &offset, a[2], 8) < 0)
		return -EFAULT;
	if (ready(out, POLLOUT) == 0)
		return wait_fd(g, t, (int)a[0], POLLOUT, NO_TIME);
	n = sendfile(out, in, a[2] ? &offset : NULL,
		     must_not_block(g) && is_stream(out) ? min_u64(a[3], PIPE_STEP)
							 : min_u64(a[3], MAX_IO));
	if (n < 0)
		return broken_pipe(g, t, -errno);
	if (a[2] && copy_out(g, a[2], &offset, 8) < 0)
		return -EFAULT;
	return n;
}

/* Two descriptors with optional offsets, as splice and copy_file_range take them. */
static int64_t between(struct guest *g, struct thread *t, const uint64_t *a, bool copy)
{
	int in = fd_host(g, a[0]), out = fd_host(g, a[2]);
	off64_t in_at, out_at;
	ssize_t n;

	if (in < 0 || out < 0)
		return -EBADF;
	out = fd_sink(g, fd_get(g, a[2]));
	/* Input of a standard stream must go through read, so that it can be kept: programs fall
	 * back to read and write. */
	if (fd_get(g, a[0])->input)
		return -EINVAL;
	if ((a[1] && copy_in(g, &in_at, a[1], 8) < 0) || (a[3] && copy_in(g, &out_at, a[3], 8) < 0))
		return -EFAULT;
	if (!copy && ready(in, POLLIN) == 0)
		return wait_fd(g, t, (int)a[0], POLLIN, NO_TIME);
	if (!copy && ready(out, POLLOUT) == 0)
		return wait_fd(g, t, (int)a[2], POLLOUT, NO_TIME);
	n = copy ? copy_file_range(in, a[1] ? &in_at : NULL, out, a[3] ? &out_at : NULL,
				   min_u64(a[4], MAX_IO), (unsigned)a[5])
		 : splice(in, a[1] ? &in_at : NULL, out, a[3] ? &out_at : NULL,
			  must_not_block(g) ? min_u64(a[4], PIPE_STEP) : min_u64(a[4], MAX_IO),
			  (unsigned)a[5]);
	if (n < 0)
		return copy ? -errno : broken_pipe(g, t, -errno);
	if ((a[1] && copy_out(g, a[1], &in_at, 8) < 0) ||
	    (a[3] && copy_out(g, a[3], &out_at, 8) < 0))
		return -EFAULT;
	return n;
}

int64_t sys_splice(struct guest *g, struct thread *t, const uint64_t *a)
{
	return between(g, t, a, false);
}

int64_t sys_copy_file_range(struct guest *g, struct thread *t, const uint64_t *a)
{
	return between(g, t, a, true);
}

int64_t sys_readahead(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return fd_host(g, a[0]) < 0 ? -EBADF : 0;
}

int64_t sys_fadvise64(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : -posix_fadvise(host, (off_t)a[1], (off_t)a[2], (int)a[3]);
}

static void note_cut(struct guest *g, const struct stat *st)
{
	mem_file_cut(&g->mem, st->st_dev, st->st_ino);
}

int64_t sys_fallocate(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	struct stat st;

	(void)t;
	if (host < 0)
		return -EBADF;
	if (fallocate(host, (int)a[1], (off_t)a[2], (off_t)a[3]) < 0)
		return -errno;
	if (((int)a[1] & FALLOC_FL_COLLAPSE_RANGE) && fstat(host, &st) == 0)
		note_cut(g, &st);
	return 0;
}

int64_t sys_truncate(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	struct stat st;
	int fd, err = path_find_at(g, (uint64_t)AT_FDCWD, a[0], PATH_FOLLOW, &at);

	(void)t;
	if (err)
		return err;
	err = path_stat(g, &at, &st);
	if (!err && !S_ISREG(st.st_mode))
		err = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	else if (!err && at.node.row)
		err = -EACCES;
	if (!err) {
		fd = path_open(g, &at, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
		err = fd < 0						     ? fd
		      : ftruncate(fd, (off_t)a[1]) < 0 || fstat(fd, &st) < 0 ? -errno
									     : 0;
		if (fd >= 0)
			close(fd);
	}
	path_done(&at);
	if (!err)
		note_cut(g, &st);
	return err;
}

int64_t sys_ftruncate(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	struct stat st;

	(void)t;
	if (host < 0)
		return -EBADF;
	if (ftruncate(host, (off_t)a[1]) < 0)
		return -errno;
	if (fstat(host, &st) == 0)
		note_cut(g, &st);
	return 0;
}

int64_t sys_sync(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g, (void)t, (void)a;
	return 0; /* the host's other files are none of the guest's business */
}

int64_t sys_fsync(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : ret_errno(fsync(host));
}

int64_t sys_fdatasync(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : ret_errno(fdatasync(host));
}

int64_t sys_sync_file_range(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0
		   ? -EBADF
		   : ret_errno(sync_file_range(host, (off64_t)a[1], (off64_t)a[2], (unsigned)a[3]));
}

int64_t sys_syncfs(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return fd_host(g, a[0]) < 0 ? -EBADF : 0;
}
