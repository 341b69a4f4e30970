/* SPDX-License-Identifier: MIT */
/*
 * culprit sim: the guest's standard streams. Programs look at what these are (a C library buffers
 * by lines on a terminal and asks a device whether it is one), so a run repeats only on streams of
 * the same kind. sim_streams_text says what culprit's own are, in three words with commas between;
 * sim_streams_open makes such from the words. What a guest writes to them is thrown away, by a
 * process that lives as long as anyone holds the other end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/sim.h"

#define OWN	   "-"
#define TYPED_ENDS 64 /* ends of input waiting on a terminal */

static void describe(int fd, char *out, size_t size)
{
	struct winsize w = { 0 };
	struct stat st;

	if (fstat(fd, &st))
		snprintf(out, size, "closed");
	else if (S_ISREG(st.st_mode))
		snprintf(out, size, "file");
	else if (!isatty(fd))
		snprintf(out, size, "%s", S_ISCHR(st.st_mode) ? "null" : "pipe");
	else if (ioctl(fd, TIOCGWINSZ, &w) || !w.ws_col)
		snprintf(out, size, "terminal");
	else
		snprintf(out, size, "terminal:%ux%u", w.ws_col, w.ws_row);
}

char *sim_streams_text(void)
{
	char word[3][32];

	for (int fd = 0; fd < 3; fd++)
		describe(fd, word[fd], sizeof(word[fd]));
	return x_asprintf("%s,%s,%s", word[0], word[1], word[2]);
}

/* The far ends: of what the guest writes, read and forgotten until all are closed. */
struct drain {
	struct pollfd fds[3];
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
			d->fds[i].fd = -1; /* closed; EIO is a terminal's way to say so */
			open--;
		}
	}
	_exit(0);
}

/* An orphan, so that the guest never waits for it. */
static bool drain_start(struct drain *d, const int fds[3], struct err *e)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return err_set(e, "--streams: cannot start a process: %s", strerror(errno));
	if (!pid) {
		/* Ctrl-C ends the run, whose last words need a reader. */
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		for (int fd = 0; fd < 3; fd++) {
			close(fd);
			if (fds[fd] > 2)
				close(fds[fd]);
		}
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

static int open_file(void)
{
	char path[] = P_tmpdir "/culprit-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		unlink(path);
	return fd;
}

static int open_pipe(bool input, struct drain *d)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	if (input)
		close(ends[1]);
	else
		drain_add(d, ends[0]);
	return ends[!input];
}

static int open_terminal(const char *size, struct drain *d)
{
	struct winsize w = { .ws_row = 0 };
	struct termios mode;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;

	if (sscanf(size, ":%hux%hu", &w.ws_col, &w.ws_row) != 2)
		w.ws_col = w.ws_row = 0;
	if (master >= 0 && !grantpt(master) && !unlockpt(master))
		slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave >= 0 && (ioctl(slave, TIOCSWINSZ, &w) || tcgetattr(slave, &mode))) {
		close(slave);
		slave = -1;
	}
	if (slave >= 0) {
		/* who reads has typed nothing */
		for (int i = 0; i < TYPED_ENDS; i++)
			if (write(master, &mode.c_cc[VEOF], 1) != 1)
				break;
		drain_add(d, master);
	} else if (master >= 0) {
		close(master);
	}
	return slave;
}

/* A descriptor above 2; -1: none. */
static int open_stream(const char *word, int stream, struct drain *d, bool *known)
{
	static const char terminal[] = "terminal";

	*known = true;
	if (!strcmp(word, "closed"))
		return -1;
	if (!strcmp(word, OWN))
		return stream;
	if (!strcmp(word, "null"))
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	if (!strcmp(word, "file"))
		return open_file();
	if (!strcmp(word, "pipe"))
		return open_pipe(!stream, d);
	if (!strncmp(word, terminal, sizeof(terminal) - 1))
		return open_terminal(word + sizeof(terminal) - 1, d);
	*known = false;
	return -1;
}

bool sim_streams_open(const char *text, int fds[3], struct err *e)
{
	struct drain d = { .count = 0 };
	char word[3][32];
	int end = 0;

	if (sscanf(text, "%31[^,],%31[^,],%31[^,]%n", word[0], word[1], word[2], &end) != 3 ||
	    text[end])
		return err_set(e, "--streams: '%s' is not IN,OUT,ERR", text);
	for (int i = 0; i < 3; i++) {
		bool known;

		fds[i] = open_stream(word[i], i, &d, &known);
		if (!known)
			return err_set(e,
				       "--streams: '%s' is none of null, file, pipe, terminal, "
				       "closed and %s",
				       word[i], OWN);
		if (fds[i] < 0 && strcmp(word[i], "closed"))
			return err_set(e, "--streams: cannot open a %s: %s", word[i],
				       strerror(errno));
	}
	return !d.count || drain_start(&d, fds, e);
}

void sim_streams_close(const int fds[3])
{
	for (int i = 0; i < 3; i++)
		if (fds[i] > 2)
			close(fds[i]);
}
