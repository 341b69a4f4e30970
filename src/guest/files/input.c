/* SPDX-License-Identifier: MIT */
/*
 * Input that reaches the guest through its standard streams and cannot be read a second time: from
 * pipes, sockets and terminals.
 *
 * How much a read of a pipe returns depends on how fast the writer is, and a run must not. A read
 * of a pipe from outside therefore goes on until the guest's buffer is full or the input ends,
 * unless nothing comes for PATIENCE_MS: then the guest may be in a dialogue with the writer, and
 * gets what is there. No guest time passes meanwhile.
 *
 * Input can be kept and given to another run, which gets it in the same pieces. A file of kept
 * input holds pieces: a length of four bytes, lowest first, and that many bytes. A piece of no
 * bytes is an end of input typed at a terminal. A length of INPUT_CUT stands for what is not kept:
 * what is beyond the limit, and what is typed without being shown, as passwords are. Forked
 * processes share the input, and so they share the file or, when input is given, the place in it.
 *
 * Not kept: what is received from a socket by recvfrom and recvmsg.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/input.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/process/process.h"

#define PATIENCE_MS 100
#define INPUT_CUT   UINT32_MAX

/* Shared by all processes of the guest. */
struct input_place {
	pthread_mutex_t lock;
	uint64_t at;   /* in the file */
	uint32_t rest; /* bytes of the piece that are still to be given */
};

int input_terminal(const struct guest *g)
{
	for (unsigned i = 0; i < 3; i++) {
		int host = fd_host(g, i);

		if (host >= 0 && g->fds[i].input && isatty(host))
			return host;
	}
	return -1;
}

static const struct guest_input *input_of(const struct guest *g, const struct fd_entry *f)
{
	return &g->config.input[f->input - 1];
}

void input_init(struct guest *g)
{
	pthread_mutexattr_t attr;

	g->streams.place = mmap(NULL, sizeof(*g->streams.place), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->streams.place == MAP_FAILED)
		die("out of memory");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&g->streams.place->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	for (unsigned fd = 0; fd < 3 && fd < g->nfds; fd++)
		if (g->fds[fd].kind != FD_CLOSED && g->config.input[fd].how != GUEST_INPUT_PLAIN)
			g->fds[fd].input = (uint8_t)(fd + 1);

	struct stat st = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		g->streams.first[i].open = fd_host(g, i) >= 0 && !fstat(fd_host(g, i), &st);
		g->streams.first[i].dev = st.st_dev;
		g->streams.first[i].ino = st.st_ino;
	}
	for (unsigned i = 0; i < 3; i++)
		if (g->config.identity[i].known && !fstat(fd_host(g, i), &st)) {
			g->streams.dev[i] = st.st_dev;
			g->streams.ino[i] = st.st_ino;
		}
}

void input_steady(const struct guest *g, struct file_ids *ids)
{
	for (unsigned i = 0; i < 3; i++) {
		const struct guest_identity *id = &g->config.identity[i];

		if (id->known && ids->dev == g->streams.dev[i] && ids->ino == g->streams.ino[i]) {
			ids->dev = id->dev;
			ids->ino = id->ino;
			ids->nlink = id->nlink;
			return;
		}
	}
}

void input_free(struct guest *g)
{
	if (g->streams.null)
		close(g->streams.null);
	for (unsigned i = 0; i < 3; i++) {
		if (g->streams.held[i])
			close(g->streams.held[i]);
		if (g->streams.given[i])
			close(g->streams.given[i]);
	}
	if (g->streams.place)
		munmap(g->streams.place, sizeof(*g->streams.place));
}

void input_opened(struct guest *g, int64_t fd)
{
	struct stat st, stream;

	if (fd < 0 || fstat(g->fds[fd].host, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return;
	for (unsigned i = 0; i < 3; i++) {
		const struct fd_entry *f = fd_get(g, i);

		if (f && f->input && !fstat(f->host, &stream) && st.st_dev == stream.st_dev &&
		    st.st_ino == stream.st_ino)
			g->fds[fd].input = f->input;
	}
}

/* A terminal that gathers lines and does not show them: a password is being typed. */
static bool is_secret(int host)
{
	struct termios t;

	return !tcgetattr(host, &t) && t.c_lflag & ICANON && !(t.c_lflag & ECHO);
}

/* Appends a piece in one write, so that it stays whole when several processes read. */
static void keep(int file, const struct iovec *iov, int count, uint64_t bytes, bool secret)
{
	struct iovec out[INPUT_IOV_MAX + 1];
	uint8_t head[4];
	struct stat st;
	uint32_t length = (uint32_t)bytes;
	int n = 1;

	if (file < 0 || fstat(file, &st) || (uint64_t)st.st_size > GUEST_INPUT_LIMIT)
		return;
	if (secret || (uint64_t)st.st_size + bytes > GUEST_INPUT_LIMIT) {
		length = INPUT_CUT;
		bytes = 0;
		/* one more piece makes the file longer than the limit */
		if (ftruncate(file, (off_t)GUEST_INPUT_LIMIT))
			return;
	}
	for (unsigned i = 0; i < 4; i++)
		head[i] = (uint8_t)(length >> 8 * i);
	out[0] = (struct iovec){ head, sizeof(head) };
	for (int i = 0; i < count && bytes; i++, n++) {
		out[n] = (struct iovec){ iov[i].iov_base, min_u64(iov[i].iov_len, bytes) };
		bytes -= out[n].iov_len;
	}
	if (writev(file, out, n) < 0)
		warn("what comes through standard input cannot be kept: %s", strerror(errno));
}

/* Reads what is there and fits; the number of bytes, or -errno. */
static int64_t fill(int host, const struct iovec *iov, int count)
{
	struct pollfd p = { .fd = host, .events = POLLIN };
	int64_t total = 0;

	for (int i = 0; i < count; i++) {
		size_t done = 0;

		while (done < iov[i].iov_len) {
			ssize_t n;

			if (total && poll(&p, 1, PATIENCE_MS) <= 0)
				return total;
			n = read(host, (uint8_t *)iov[i].iov_base + done, iov[i].iov_len - done);
			if (n <= 0)
				return total || !n ? total : -errno;
			done += (size_t)n;
			total += n;
		}
	}
	return total;
}

/* Reads from kept input. */
static int64_t take(struct input_place *p, int file, const struct iovec *iov, int count)
{
	int64_t total = 0;
	uint8_t head[4];

	if (file < 0)
		return 0;
	if (pthread_mutex_lock(&p->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&p->lock);
	if (!p->rest && pread(file, head, sizeof(head), (off_t)p->at) == sizeof(head)) {
		uint32_t length = (uint32_t)head[0] | (uint32_t)head[1] << 8 |
				  (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;

		if (length != INPUT_CUT) {
			p->at += sizeof(head);
			p->rest = length;
		}
	}
	for (int i = 0; i < count && p->rest; i++) {
		size_t n = min_u64(iov[i].iov_len, p->rest);
		ssize_t got = n ? pread(file, iov[i].iov_base, n, (off_t)p->at) : 0;

		if (got < 0) {
			total = total ? total : -errno;
			break;
		}
		p->at += (uint64_t)got;
		p->rest -= (uint32_t)got;
		total += got;
		if (!got) { /* the file was cut short */
			p->rest = 0;
			break;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return total;
}

void input_place_get(const struct guest *g, uint64_t *at, uint32_t *rest)
{
	*at = g->streams.place->at;
	*rest = g->streams.place->rest;
}

void input_place_set(struct guest *g, uint64_t at, uint32_t rest)
{
	g->streams.place->at = at;
	g->streams.place->rest = rest;
}

int64_t input_read(struct guest *g, struct thread *t, uint64_t fd, const struct iovec *iov,
		   int count)
{
	const struct fd_entry *f = fd_get(g, fd);
	const struct guest_input *in = input_of(g, f);
	struct pollfd p = { .fd = f->host, .events = POLLIN };
	uint64_t wanted = 0;
	bool terminal, secret;
	int64_t got;
	int flags;

	for (int i = 0; i < count; i++)
		wanted += iov[i].iov_len;
	if (in->how == GUEST_INPUT_GIVEN)
		return wanted ? take(g->streams.place, in->fd, iov, count) : 0;
	flags = fcntl(f->host, F_GETFL);
	if (flags < 0)
		return -errno;
	terminal = isatty(f->host);
	secret = terminal && is_secret(f->host);
	if (!(flags & O_NONBLOCK) && wanted && poll(&p, 1, terminal ? 0 : PATIENCE_MS) <= 0)
		return wait_fd(g, t, (int)fd, POLLIN, NO_TIME);
	if (flags & O_NONBLOCK || !wanted || terminal) {
		got = readv(f->host, iov, count);
	} else {
		got = fill(f->host, iov, count);
		if (got < 0)
			return got;
	}
	if (got < 0)
		return -errno;
	g->streams.typed |= terminal && got > 0;
	if (got || (terminal && wanted))
		keep(in->fd, iov, count, (uint64_t)got, secret);
	return got;
}
