/* SPDX-License-Identifier: MIT */
/*
 * culprit sim: the guest's standard streams. Programs look at what these are (a C library buffers
 * by lines on a terminal, asks a device whether it is one, and reads the flags with which a stream
 * was opened), so a run repeats only on streams that look the same. sim_streams_text describes
 * culprit's own streams in words (jobs/streams.h); sim_streams_open makes streams from such words.
 * A process of its own reads what the guest writes to them and throws it away, until the guest
 * closes its ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/sim.h"
#include "jobs/streams.h"
#include "util/pack.h"

#ifndef F_DUPFD_QUERY
#define F_DUPFD_QUERY (F_LINUX_SPECIFIC_BASE + 3)
#endif
#ifndef F_LINUX_SPECIFIC_BASE
#define F_LINUX_SPECIFIC_BASE 1024
#endif

#define TYPED_ENDS 64	/* end-of-input characters waiting on a terminal */
#define PIPE_MODE  0600 /* permissions of a pipe without a name */

static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/urandom" };

/* ---- what culprit's own are ---- */

/* Another open file description of the same file. */
static int open_again(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC | O_NOCTTY);
}

/* main.c opens a closed stream as /dev/null, to be closed on exec. */
static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) == 0;
}

static bool same_open_file(int a, int b)
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
	 * for one. */
	return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino && fcntl(a, F_GETFL) == fcntl(b, F_GETFL) &&
	       lseek(a, 0, SEEK_CUR) == lseek(b, 0, SEEK_CUR);
}

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static enum stream_kind device_kind(dev_t device)
{
	if (major(device) == 1)
		switch (minor(device)) {
		case 3:
			return STREAM_NULL;
		case 5:
			return STREAM_ZERO;
		case 7:
			return STREAM_FULL;
		case 8:
		case 9:
			return STREAM_RANDOM;
		default:
			break;
		}
	return STREAM_OTHER;
}

static void look(int fd, struct stream *s)
{
	struct stat st;
	off_t at;
	int flags;

	*s = (struct stream){ .kind = STREAM_CLOSED, .access = -1, .of = -1 };
	if (!is_open(fd) || fstat(fd, &st))
		return;
	flags = fcntl(fd, F_GETFL);
	s->access = flags & O_ACCMODE;
	for (size_t i = 0; i < STREAM_FLAGS; i++)
		if ((flags & stream_flags[i].flag) == stream_flags[i].flag)
			s->flags |= stream_flags[i].flag;
	if (S_ISREG(st.st_mode)) {
		s->kind = STREAM_FILE;
		s->mode = st.st_mode & 07777;
		s->size_bytes = (uint64_t)st.st_size;
		at = lseek(fd, 0, SEEK_CUR);
		s->at = at > 0 ? (uint64_t)at : 0;
	} else if (S_ISFIFO(st.st_mode)) {
		s->kind = STREAM_PIPE;
		s->mode = (st.st_mode & 07777) == PIPE_MODE ? 0 : st.st_mode & 07777;
		s->named =
		    flags & 0100000; /* the kernel's O_LARGEFILE, which is 0 in the C library */
	} else if (S_ISSOCK(st.st_mode)) {
		s->kind = STREAM_SOCKET;
	} else if (isatty(fd)) {
		s->kind = STREAM_TERMINAL;
		s->mode = st.st_mode & 07777;
		s->has_tty = !tcgetattr(fd, &s->tty);
		if (ioctl(fd, TIOCGWINSZ, &s->window))
			s->window = (struct winsize){ 0 };
	} else {
		s->kind = S_ISCHR(st.st_mode) ? device_kind(st.st_rdev) : STREAM_OTHER;
	}
}

/* Characters that the notation writes as %XX. */
static bool is_special(char c)
{
	return c == ',' || c == '+' || c == '%' || c == ' ' || (unsigned char)c < ' ' ||
	       (unsigned char)c >= 0x7f;
}

/* The path of the file behind a descriptor, as the notation writes it. The caller frees; NULL:
 * it has none. */
static char *name_of(int fd)
{
	char link[64], path[4096], *text = NULL;
	struct stat st, named;
	size_t size;
	ssize_t n;
	FILE *f;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (*path != '/' || stat(path, &named) || fstat(fd, &st) || st.st_dev != named.st_dev ||
	    st.st_ino != named.st_ino)
		return NULL;
	f = open_memstream(&text, &size);
	if (!f)
		die("out of memory");
	for (const char *c = path; *c; c++)
		if (is_special(*c))
			fprintf(f, "%%%02x", (unsigned char)*c);
		else
			fputc(*c, f);
	if (fclose(f))
		die("out of memory");
	return text;
}

/* What stat says of the file at a path in the notation; of a file that is gone, what it would
 * say. */
static bool identify(const char *written, struct guest_identity *id)
{
	char path[4096], *slash;
	size_t n = 0;
	struct stat st;

	for (const char *c = written; *c && n < sizeof(path) - 1; c++) {
		unsigned value;

		if (*c == '%' && sscanf(c + 1, "%2x", &value) == 1 && value) {
			path[n++] = (char)value;
			c += 2;
		} else {
			path[n++] = *c;
		}
	}
	path[n] = '\0';
	if (!stat(path, &st)) {
		*id = (struct guest_identity){ true, st.st_dev, st.st_ino, st.st_nlink };
		return true;
	}
	if (*path != '/')
		return false;
	*id = (struct guest_identity){ true, 0, INT64_MAX, 1 };
	do {
		slash = strrchr(path, '/');
		slash[slash == path] = '\0';
	} while (stat(path, &st) && slash != path);
	id->dev = st.st_dev;
	return true;
}

static char *streams_text(struct stream all[STREAMS], const bool own[STREAMS])
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("out of memory");
	for (int i = 0; i < STREAMS; i++) {
		char *name =
		    own[i] && (all[i].kind == STREAM_FILE || all[i].named) ? name_of(i) : NULL;

		if (i)
			fputc(',', f);
		all[i].as = name ? name : all[i].as;
		stream_write(f, &all[i]);
		free(name);
	}
	if (fclose(f))
		die("out of memory");
	return text;
}

static void look_all(struct stream all[STREAMS])
{
	for (int fd = 0; fd < STREAMS; fd++) {
		look(fd, &all[fd]);
		for (int before = 0; before < fd && all[fd].kind != STREAM_CLOSED; before++) {
			if (all[before].kind == STREAM_SAME || all[before].kind == STREAM_CLOSED)
				continue;
			if (same_open_file(before, fd)) {
				all[fd] = (struct stream){ .kind = STREAM_SAME, .of = before };
				break;
			}
			if (all[fd].of < 0 && all[before].of < 0 &&
			    all[fd].kind <= STREAM_TERMINAL && all[fd].kind >= STREAM_FILE &&
			    same_file(before, fd))
				all[fd].of = before;
		}
	}
}

/* Reads the words of --streams. */
static bool read_given(char *text, struct stream all[STREAMS], struct err *e)
{
	if (!streams_read(text, all, e))
		return false;
	for (int i = 0; i < STREAMS; i++)
		if (all[i].kind == STREAM_OTHER)
			return streams_unknown(stream_kinds[STREAM_OTHER], e);
	return true;
}

char *sim_streams_text(const struct sim_options *o)
{
	struct stream all[STREAMS];
	bool own[STREAMS] = { true, true, true };
	char *copy = NULL, *text;
	struct err e;

	look_all(all);
	if (o->streams) {
		copy = x_strdup(o->streams);
		if (read_given(copy, all, &e))
			for (int i = 0; i < STREAMS; i++) {
				own[i] = all[i].kind == STREAM_OWN;
				if (own[i])
					look(i, &all[i]);
			}
	}
	text = streams_text(all, own);
	free(copy);
	return text;
}

/* The content of a file, packed; NULL if it is too large to keep. The caller frees. */
static char *pack_file(int fd)
{
	struct stat st;
	char *data, *text = NULL;
	size_t done = 0;
	ssize_t n = -1;

	if (fd < 0 || fstat(fd, &st) || st.st_size > (off_t)GUEST_INPUT_LIMIT)
		return NULL;
	data = x_malloc((size_t)st.st_size + 1);
	while (done < (size_t)st.st_size &&
	       (n = pread(fd, data + done, (size_t)st.st_size - done, (off_t)done)) > 0)
		done += (size_t)n;
	if (done == (size_t)st.st_size)
		text = pack_text(data, done);
	free(data);
	return text;
}

char *sim_streams_content(const struct sim_options *o, int index)
{
	struct stream all[STREAMS];
	char *text = NULL;
	bool written = false;
	int fd;

	if (o->streams) {
		char *copy = x_strdup(o->streams);
		struct err e;
		bool file = read_given(copy, all, &e) && all[index].kind == STREAM_FILE;

		free(copy);
		if (!file)
			return NULL;
		for (size_t i = 0; i < o->content.count && !text; i++) {
			const char *item = o->content.items[i];

			fd = *item == '0' + index ? open(item + 2, O_RDONLY | O_CLOEXEC) : -1;
			text = pack_file(fd);
			if (fd >= 0)
				close(fd);
		}
		return text;
	}
	look_all(all);
	if (all[index].kind != STREAM_FILE || all[index].of >= 0)
		return NULL;
	for (int i = 0; i < STREAMS; i++)
		written |= (i == index || (all[i].of == index && all[i].kind == STREAM_FILE)) &&
			   all[i].access != O_RDONLY;
	for (int i = 0; i < STREAMS; i++) {
		bool reads = (i == index || (all[i].of == index && all[i].kind == STREAM_FILE)) &&
			     all[i].access != O_WRONLY;

		/* standard input's file can be read again if the run does not write to it */
		if (!reads || text || (!written && !index))
			continue;
		fd = open_again(i, O_RDONLY);
		text = pack_file(fd);
		if (fd >= 0)
			close(fd);
	}
	return text;
}

char *sim_streams_kept(const struct sim_streams *s)
{
	return pack_file(s->kept);
}

/* ---- from streams to descriptors ---- */

/* The far ends of streams: what the guest writes is read there and thrown away until all are
 * closed. */
struct drain {
	struct pollfd fds[STREAMS];
	nfds_t count;
};

static _Noreturn void drain_run(struct drain *d)
{
	static char buf[1 << 16];
	nfds_t open = d->count;

	while (open) {
		if (poll(d->fds, d->count, -1) < 0 && errno != EINTR)
			break;
		for (nfds_t i = 0; i < d->count; i++) {
			if (d->fds[i].fd < 0 || !d->fds[i].revents)
				continue;
			ssize_t n = read(d->fds[i].fd, buf, sizeof(buf));

			if (n > 0 || (n < 0 && errno == EINTR))
				continue;
			d->fds[i].fd = -1; /* closed; a terminal says EIO */
			open--;
		}
	}
	_exit(0);
}

/* Starts the reader as an orphan, so that the guest never waits for it. */
static bool drain_start(struct drain *d, struct err *e)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return err_set(e, "--streams: cannot start a process: %s", strerror(errno));
	if (!pid) {
		/* Ctrl-C ends the run, and what it still writes needs a reader. */
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		/* Close the near ends: held here, they would never be closed. */
		for (nfds_t i = 0; i < d->count; i++)
			d->fds[i].fd = fcntl(d->fds[i].fd, F_DUPFD_CLOEXEC, STREAMS);
		for (nfds_t i = 0; i < d->count; i++)
			if (dup2(d->fds[i].fd, (int)i) < 0)
				_exit(1);
			else
				d->fds[i].fd = (int)i;
		close_range((unsigned)d->count, UINT_MAX, 0);
		if (!fork())
			drain_run(d);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	for (nfds_t i = 0; i < d->count; i++)
		close(d->fds[i].fd);
	return true;
}

static void drain_add(struct drain *d, int fd)
{
	d->fds[d->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static bool copy_content(const char *from, int to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	char *buf = x_malloc(1 << 16);
	ssize_t n = -1;
	bool ok = in >= 0;

	while (ok && (n = read(in, buf, 1 << 16)) > 0)
		ok = write(to, buf, (size_t)n) == n;
	ok = ok && !n;
	free(buf);
	if (in >= 0)
		close(in);
	return ok;
}

/* A file without a name, with the given size, mode and content. */
static int open_file(const struct stream *s, const char *content)
{
	char path[] = P_tmpdir "/culprit-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC), again = -1;

	if (fd < 0)
		return -1;
	unlink(path);
	if ((!content || copy_content(content, fd)) && !ftruncate(fd, (off_t)s->size_bytes) &&
	    !(s->mode && fchmod(fd, s->mode)))
		again = open_again(fd, (s->access < 0 ? O_RDWR : s->access) | s->flags);
	/* some file systems have no direct access */
	if (again < 0 && errno == EINVAL && s->flags & O_DIRECT)
		again =
		    open_again(fd, (s->access < 0 ? O_RDWR : s->access) | (s->flags & ~O_DIRECT));
	close(fd);
	return again;
}

static int open_pipe(struct stream *s, int index, struct drain *d)
{
	int ends[2], fd;

	if (s->access < 0)
		s->access = index ? O_WRONLY : O_RDONLY;
	if (pipe2(ends, O_CLOEXEC | (s->flags & (O_NONBLOCK | O_DIRECT))))
		return -1;
	if (s->access == O_RDONLY) {
		/* The guest's input comes from elsewhere (guest_input); the byte in the pipe
		 * only makes it readable. The other end stays open, so that a reader does not
		 * see end of input. */
		if (write(ends[1], "", 1) != 1)
			return -1;
		fd = ends[0];
	} else {
		fd = ends[1];
		drain_add(d, ends[0]);
	}
	if (s->mode)
		fchmod(fd, s->mode);
	if (s->named || s->access == O_RDWR) {
		int again = open_again(fd, s->access | s->flags);

		close(fd);
		fd = again;
	}
	return fd;
}

static int open_socket(const struct stream *s, int index, struct drain *d)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	if (!index && write(ends[1], "", 1) != 1)
		return -1;
	drain_add(d, ends[1]);
	if (s->flags)
		fcntl(ends[0], F_SETFL, s->flags);
	return ends[0];
}

static int open_terminal(const struct stream *s, struct drain *d)
{
	struct termios mode;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;
	int flags = (s->access < 0 ? O_RDWR : s->access) | s->flags | O_NOCTTY | O_CLOEXEC;

	if (master >= 0 && !grantpt(master) && !unlockpt(master))
		slave = open(ptsname(master), flags);
	if (slave >= 0 && (ioctl(slave, TIOCSWINSZ, &s->window) || tcgetattr(slave, &mode) ||
			   (s->has_tty && tcsetattr(slave, TCSANOW, &s->tty)) ||
			   (s->mode && fchmod(slave, s->mode)))) {
		close(slave);
		slave = -1;
	}
	if (slave >= 0) {
		/* a reader that waits for input sees end of input */
		for (int i = 0; i < TYPED_ENDS; i++)
			if (write(master, s->has_tty ? &s->tty.c_cc[VEOF] : &mode.c_cc[VEOF], 1) !=
			    1)
				break;
		drain_add(d, master);
	} else if (master >= 0) {
		close(master);
	}
	return slave;
}

/* culprit's own stream, with the flags and the position that were given. */
static int open_own(const struct stream *s, int index)
{
	int flags = fcntl(index, F_GETFL);

	if (!is_open(index))
		return -1;
	if ((s->flags && fcntl(index, F_SETFL, flags | s->flags)) ||
	    (s->at && lseek(index, (off_t)s->at, SEEK_SET) < 0))
		return -1;
	return index;
}

/* A descriptor above 2, or the stream's own; -1: none. */
static int open_stream(struct stream *all, int i, const char *content, const int *fds,
		       struct drain *d)
{
	struct stream *s = &all[i];
	int fd = -1, access = s->access < 0 ? O_RDWR : s->access;

	if (s->kind == STREAM_SAME)
		return fcntl(fds[s->of], F_DUPFD_CLOEXEC, 3);
	if (s->of >= 0) {
		fd = open_again(fds[s->of], access | s->flags);
	} else {
		switch (s->kind) {
		case STREAM_NULL:
		case STREAM_ZERO:
		case STREAM_FULL:
		case STREAM_RANDOM:
			fd = open(devices[s->kind], access | s->flags | O_CLOEXEC);
			break;
		case STREAM_FILE:
			fd = open_file(s, content);
			break;
		case STREAM_PIPE:
			fd = open_pipe(s, i, d);
			break;
		case STREAM_SOCKET:
			fd = open_socket(s, i, d);
			break;
		case STREAM_TERMINAL:
			fd = open_terminal(s, d);
			break;
		case STREAM_OWN:
			return open_own(s, i);
		default:
			return -1;
		}
	}
	if (fd >= 0 && fd < 3) {
		int above = fcntl(fd, F_DUPFD_CLOEXEC, 3);

		close(fd);
		fd = above;
	}
	if (fd >= 0 && s->kind == STREAM_FILE && s->at && lseek(fd, (off_t)s->at, SEEK_SET) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* --content N=FILE: fills in the files' names by stream. */
static bool read_contents(const struct cmd_strings *list, const char *content[STREAMS],
			  struct err *e)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *item = list->items[i];

		if (content[*item - '0'])
			return err_set(e, "--content: stream %c is given twice", *item);
		content[*item - '0'] = item + 2;
	}
	return true;
}

/* Opens the file of --input. */
static bool open_given(const char *path, int *fd, struct err *e)
{
	*fd = -1;
	if (!path)
		return true;
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	return *fd >= 0 || err_set(e, "--input: cannot read '%s': %s", path, strerror(errno));
}

/* Whether what is read from the stream cannot be read a second time. */
static bool gives_once(int index)
{
	struct stat st;

	return is_open(index) && !fstat(index, &st) &&
	       (isatty(index) || (!index && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))));
}

/* Keeps what is read from culprit's own streams, in one file for all, which also keeps the
 * order. */
static void keep_input(const struct sim_options *o, int index, struct sim_streams *s)
{
	if (!gives_once(index))
		return;
	if (s->kept < 0 && !o->forget_input && !o->real_time && (!o->functional || o->into)) {
		s->kept = memfd_create("culprit-input", MFD_CLOEXEC);
		if (s->kept >= 0)
			fcntl(s->kept, F_SETFL, O_APPEND);
	}
	s->input[index] = (struct guest_input){ GUEST_INPUT_KEPT, s->kept };
}

bool sim_streams_open(const struct sim_options *o, struct sim_streams *out, struct err *e)
{
	const char *content[STREAMS] = { NULL };
	struct drain d = { .count = 0 };
	struct stream all[STREAMS];
	int given;

	*out = (struct sim_streams){ .kept = -1 };
	for (int i = 0; i < STREAMS; i++)
		out->fds[i] = is_open(i) ? i : -1;
	if (!o->streams) {
		if (o->content.count || o->input)
			return err_set(e,
				       "%s says what is in a stream that --streams makes: both "
				       "are needed",
				       o->input ? "--input" : "--content");
		for (int i = 0; i < STREAMS; i++)
			keep_input(o, i, out);
		return true;
	}
	out->words = x_strdup(o->streams);
	if (!read_contents(&o->content, content, e) || !read_given(out->words, all, e) ||
	    !open_given(o->input, &given, e))
		return false;
	out->kept = given;
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &all[i];

		if (content[i] && s->kind != STREAM_FILE)
			return err_set(e, "--content: stream %d is not a file", i);
		out->fds[i] = open_stream(all, i, content[i], out->fds, &d);
		if (out->fds[i] < 0 && s->kind != STREAM_CLOSED &&
		    !(s->kind == STREAM_OWN && !is_open(i)))
			return err_set(e, "--streams: cannot open a %s: %s", stream_kinds[s->kind],
				       strerror(errno));
		if (s->as && out->fds[i] >= 0 && !identify(s->as, &out->identity[i]))
			return err_set(e, "--streams: '%s' is not a path", s->as);
		if (s->kind == STREAM_SAME)
			out->input[i] = out->input[s->of];
		else if (s->kind == STREAM_OWN)
			keep_input(o, i, out);
		else if (s->kind == STREAM_TERMINAL ||
			 (!i && (s->kind == STREAM_PIPE || s->kind == STREAM_SOCKET) &&
			  s->access != O_WRONLY))
			out->input[i] = (struct guest_input){ GUEST_INPUT_GIVEN, given };
	}
	return !d.count || drain_start(&d, e);
}

void sim_streams_close(struct sim_streams *s)
{
	free(s->words);
	s->words = NULL;
	for (int i = 0; i < STREAMS; i++)
		if (s->fds[i] > 2)
			close(s->fds[i]);
}
