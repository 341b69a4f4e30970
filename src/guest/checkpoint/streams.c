/* SPDX-License-Identifier: MIT */
/*
 * Standard streams in a checkpoint. What the guest has not read yet of an input that cannot be read a
 * second time is in the checkpoint (files/input.c says in which pieces). A restored guest has streams of
 * the same kind: a pipe, socket or terminal of its own, whose other end nobody reads, because output goes
 * to /dev/null before it (fd_entry.discard); a file that was written is an empty one of the same size.
 * A terminal that was read from cannot be saved: what would be typed is not known. Nor can a pipe whose
 * writer goes on writing; the guest that was to be saved has lost what was read from it then.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/opened.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/fd.h"
#include "guest/files/input.h"
#include "guest/process/process.h"

#define REST_MS	   10000 /* how long the rest of an input may take to come */
#define REST_BYTES (1ull << 32)
#define PIECE_HEAD 4
#define CONTROLS   19 /* control characters that the kernel knows */

/* Whether an end of input is still to come through a stream, from which the guest may read. */
static int input_stream(const struct guest *g, unsigned i)
{
	for (size_t fd = 0; fd < g->nfds; fd++) {
		const struct fd_entry *f = &g->fds[fd];
		struct stat st;

		if (f->kind != FD_CLOSED && g->streams.first[i].open && !fstat(f->host, &st) &&
		    st.st_dev == g->streams.first[i].dev && st.st_ino == g->streams.first[i].ino &&
		    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) &&
		    (fcntl(f->host, F_GETFL) & O_ACCMODE) != O_WRONLY)
			return (S_ISFIFO(st.st_mode) || i == 0) ? f->host : -1;
	}
	return -1;
}

/* Reads the rest of a stream into a file of one piece, which the guest reads from now on. */
static bool gather(struct guest *g, unsigned i, int host, int first)
{
	uint8_t head[PIECE_HEAD] = { 0 }, *buf = x_malloc(CHECKPOINT_PIECE);
	struct pollfd p = { .fd = host, .events = POLLIN };
	int file = memfd_create("culprit-input", MFD_CLOEXEC);
	uint64_t total = 0;
	ssize_t n = 1;
	bool ok = file >= 0 && write(file, head, sizeof(head)) == sizeof(head);

	while (ok && n > 0) {
		ok = poll(&p, 1, REST_MS) > 0;
		n = ok ? read(host, buf, CHECKPOINT_PIECE) : 0;
		if (n > 0) {
			ok = write(file, buf, (size_t)n) == n &&
			     total + (uint64_t)n < UINT32_MAX - 1;
			total += (uint64_t)n;
		}
	}
	free(buf);
	for (unsigned k = 0; k < PIECE_HEAD; k++)
		head[k] = (uint8_t)(total >> 8 * k);
	if (ok && pwrite(file, head, sizeof(head), 0) != sizeof(head))
		ok = false;
	if (!ok) {
		if (file >= 0)
			close(file);
		return false;
	}
	g->config.input[i] = (struct guest_input){ GUEST_INPUT_GIVEN, file };
	g->streams.given[i] = file;
	for (size_t fd = 0; fd < g->nfds; fd++)
		if (g->fds[fd].kind != FD_CLOSED &&
		    ((int)fd == first || fd_same_open(g->fds[fd].host, host)))
			g->fds[fd].input = (uint8_t)(i + 1);
	return true;
}

/* The rest of an input: what is left of the piece that is being read, and the file from there on. */
static void rest_state(struct guest *g, struct state *s, unsigned i)
{
	struct guest_input *in = &g->config.input[i];
	uint64_t at = 0, size = 0;
	uint32_t rest = 0;
	uint8_t *buf;
	struct stat st;

	if (!state_reading(s)) {
		input_place_get(g, &at, &rest);
		if (in->fd >= 0 && !fstat(in->fd, &st) && (uint64_t)st.st_size > at)
			size = (uint64_t)st.st_size - at;
	}
	state_u32(s, &rest);
	state_u64(s, &size);
	if (size > REST_BYTES)
		state_fail(s, "standard input is too long");
	if (state_reading(s)) {
		in->how = GUEST_INPUT_GIVEN;
		in->fd = g->streams.given[i] = memfd_create("culprit-input", MFD_CLOEXEC);
		input_place_set(g, 0, rest);
	}
	buf = x_malloc(CHECKPOINT_PIECE);
	for (uint64_t done = 0; done < size && state_ok(s); done += CHECKPOINT_PIECE) {
		size_t n = min_u64(CHECKPOINT_PIECE, size - done);

		if (!state_reading(s) && pread(in->fd, buf, n, (off_t)(at + done)) != (ssize_t)n)
			state_fail(s, "standard input cannot be read");
		state_piece(s, buf, n);
		if (state_reading(s) && state_ok(s) && write(in->fd, buf, n) != (ssize_t)n)
			state_fail(s, "standard input cannot be kept: %s", strerror(errno));
	}
	free(buf);
}

void streams_state(struct guest *g, struct state *s)
{
	for (unsigned i = 0; i < 3; i++) {
		bool given = false;
		int host = state_reading(s) ? -1 : input_stream(g, i);

		if (host >= 0) {
			if (g->config.input[i].how != GUEST_INPUT_GIVEN &&
			    !gather(g, i, host, (int)i))
				state_fail(
				    s,
				    "descriptor %u is a pipe whose writer has not ended: what "
				    "it will write cannot be saved; give the input as a file",
				    i);
			given = true;
		}
		state_bool(s, &given);
		if (given && state_ok(s))
			rest_state(g, s, i);
	}
}

/* ---- the streams themselves ---- */

struct shape {
	uint32_t mode;
	uint64_t size;
	uint16_t columns, rows;
	uint32_t modes[4]; /* of a terminal */
	uint8_t controls[CONTROLS];
};

static void shape_look(const struct opened *o, struct shape *p)
{
	struct winsize w = { 0 };
	struct termios t;
	struct stat st;

	if (!fstat(o->host, &st)) {
		p->mode = st.st_mode & 07777;
		p->size = (uint64_t)st.st_size;
	}
	if (o->kind != OPENED_STREAM_TERMINAL)
		return;
	if (!ioctl(o->host, TIOCGWINSZ, &w)) {
		p->columns = w.ws_col;
		p->rows = w.ws_row;
	}
	if (!tcgetattr(o->host, &t)) {
		p->modes[0] = t.c_iflag;
		p->modes[1] = t.c_oflag;
		p->modes[2] = t.c_cflag;
		p->modes[3] = t.c_lflag;
		memcpy(p->controls, t.c_cc, CONTROLS);
	}
}

static void shape_walk(struct state *s, struct shape *p)
{
	state_u32(s, &p->mode);
	state_u64(s, &p->size);
	state_u16(s, &p->columns);
	state_u16(s, &p->rows);
	for (size_t i = 0; i < ARRAY_LEN(p->modes); i++)
		state_u32(s, &p->modes[i]);
	state_raw(s, p->controls, CONTROLS);
}

static int make_terminal(const struct shape *p, int flags, int *master)
{
	const struct winsize w = { .ws_col = p->columns, .ws_row = p->rows };
	struct termios t;
	int slave = -1;

	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master >= 0 && !grantpt(*master) && !unlockpt(*master))
		slave = open(ptsname(*master), (flags & O_ACCMODE) | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || tcgetattr(slave, &t))
		return slave;
	ioctl(slave, TIOCSWINSZ, &w);
	t.c_iflag = p->modes[0];
	t.c_oflag = p->modes[1];
	t.c_cflag = p->modes[2];
	t.c_lflag = p->modes[3];
	memcpy(t.c_cc, p->controls, CONTROLS);
	tcsetattr(slave, TCSANOW, &t);
	return slave;
}

/* A file without a name, of the size and mode that the stream had. */
static int make_file(struct guest *g, struct state *s, const struct shape *p, int flags)
{
	char link[FD_PATH_BYTES];
	int fd = openat(g->view->store, "t", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), again;

	if (fd < 0)
		fd = memfd_create("culprit-stream", MFD_CLOEXEC);
	if (p->size > (1ull << 42) || fd < 0 || ftruncate(fd, (off_t)p->size) < 0) {
		state_fail(s, "a standard stream of %llu bytes cannot be made",
			   (unsigned long long)p->size);
		return fd;
	}
	fchmod(fd, p->mode & 0777);
	path_to_fd(fd, link);
	again = open(link, (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_CLOEXEC);
	close(fd);
	return again;
}

static int make_stream(struct guest *g, struct state *s, const struct opened *o,
		       const struct shape *p)
{
	const int stream = o->stream - 1, access = (int)(o->flags & O_ACCMODE);
	int ends[2] = { -1, -1 };
	bool reads;

	switch (o->kind) {
	case OPENED_STREAM_FILE:
		return make_file(g, s, p, (int)o->flags);
	case OPENED_STREAM_TERMINAL:
		ends[0] = make_terminal(p, (int)o->flags, &ends[1]);
		break;
	case OPENED_STREAM_PIPE:
		reads = access == O_RDONLY;
		if (pipe2(ends, O_CLOEXEC | ((int)o->flags & O_DIRECT)) < 0)
			return -1;
		/* the byte makes it readable; what is read comes from the checkpoint */
		if (reads && write(ends[1], "", 1) != 1)
			return -1;
		if (!reads) {
			int swap = ends[0];

			ends[0] = ends[1];
			ends[1] = swap;
		}
		fchmod(ends[0], p->mode & 0777);
		break;
	default:
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
		    (stream == 0 && write(ends[1], "", 1) != 1))
			return -1;
	}
	if (g->streams.held[stream] && ends[1] >= 0)
		close(g->streams.held[stream]);
	if (ends[1] >= 0)
		g->streams.held[stream] = ends[1];
	if (ends[0] >= 0)
		fcntl(ends[0], F_SETFL, (int)o->flags & (O_APPEND | O_NONBLOCK));
	return ends[0];
}

void stream_state(struct guest *g, struct state *s, struct opened *o)
{
	struct shape p = { 0 };
	int own;

	if (!state_reading(s))
		shape_look(o, &p);
	shape_walk(s, &p);
	state_u8(s, &o->stream);
	if (!o->stream || o->stream > 3)
		state_fail(s, "there is no standard stream %d", o->stream - 1);
	if (!state_reading(s) || !state_ok(s))
		return;
	/* Terminals to read from are at their end. */
	if (o->kind == OPENED_STREAM_TERMINAL &&
	    g->config.input[o->stream - 1].how != GUEST_INPUT_GIVEN)
		g->config.input[o->stream - 1] = (struct guest_input){ GUEST_INPUT_GIVEN, -1 };
	own = g->config.streams ? g->config.streams[o->stream - 1] : o->stream - 1;
	if (!g->config.discard_output && (o->flags & O_ACCMODE) != O_RDONLY && own >= 0)
		o->host = fcntl(own, F_DUPFD_CLOEXEC, 3);
	if (o->host < 0)
		o->host = make_stream(g, s, o, &p);
	if (g->config.discard_output && !g->streams.null)
		g->streams.null = open("/dev/null", O_WRONLY | O_CLOEXEC);
}
