/* SPDX-License-Identifier: MIT */
/* A guest that does what its first argument says, for the tests of the command line. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) unsigned hot_loop(unsigned n)
{
	unsigned x = 1;

	for (unsigned i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

__attribute__((noinline)) unsigned of_the_child(unsigned n)
{
	return hot_loop(n);
}

__attribute__((noinline)) unsigned of_the_grandchild(unsigned n)
{
	return hot_loop(n);
}

/* Forks a child that forks one itself, then a child that executes another program (this one). */
static int family(char *self)
{
	char *words[] = { self, "work", "50000", NULL };
	int status[3] = { -1, -1, -1 };
	unsigned sum;
	pid_t pid = fork();

	if (!pid) {
		pid = fork();
		if (!pid)
			_exit(of_the_grandchild(20000) ? 7 : 1);
		sum = of_the_child(40000);
		waitpid(pid, &status[0], 0);
		_exit(sum && WEXITSTATUS(status[0]) == 7 ? 6 : 1);
	}
	waitpid(pid, &status[1], 0);
	pid = vfork();
	if (!pid) {
		execv(self, words);
		_exit(127);
	}
	waitpid(pid, &status[2], 0);
	sum = hot_loop(10000);
	return sum && WEXITSTATUS(status[1]) == 6 && status[2] == 0 ? 4 : 1;
}

/* Forks a child that works, says so, and never ends by itself. */
static int kill_child(int signo)
{
	int fds[2], status;
	char c = 0;
	pid_t pid;

	if (pipe(fds))
		return 1;
	pid = fork();
	if (!pid) {
		c = (char)(of_the_child(20000) | 1);
		if (write(fds[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(fds[0], &c, 1) != 1 || kill(pid, signo))
		return 1;
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == signo ? 4 : 1;
}

/* Parent and child work at the same time; the child reads what the parent writes. */
static int pipe_to_child(void)
{
	int fds[2], status;
	unsigned sum = 0;
	pid_t pid;

	if (pipe(fds))
		return 1;
	pid = fork();
	if (!pid) {
		close(fds[1]);
		for (unsigned n; read(fds[0], &n, sizeof(n)) == sizeof(n);)
			sum += of_the_child(n);
		_exit(sum ? 5 : 1);
	}
	close(fds[0]);
	for (unsigned n = 1000; n < 1010; n++)
		if (!hot_loop(n) || write(fds[1], &n, sizeof(n)) != sizeof(n))
			return 1;
	close(fds[1]);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status) == 5 ? 4 : 1;
}

/* Writes to a file what the guest sees of its standard streams. */
static int describe_streams(const char *path)
{
	char text[256], buf[4];
	size_t n = 0;
	FILE *f;

	for (int fd = 0; fd < 3; fd++) {
		struct winsize w = { 0 };
		struct stat st;

		if (fstat(fd, &st)) {
			n += (size_t)sprintf(text + n, "closed\n");
			continue;
		}
		ioctl(fd, TIOCGWINSZ, &w);
		n += (size_t)sprintf(text + n, "%o %s %ux%u\n", st.st_mode & S_IFMT,
				     isatty(fd) ? "tty" : "no", w.ws_col, w.ws_row);
	}
	if (isatty(0))
		n += (size_t)sprintf(text + n, "read %d\n", (int)read(0, buf, sizeof(buf)));
	for (int i = 0; i < 10000; i++)
		puts("more than a pipe holds");
	f = fopen(path, "w");
	return !f || fwrite(text, n, 1, f) != 1 || fclose(f);
}

static unsigned mix(unsigned h, unsigned long x)
{
	return (h ^ (unsigned)(x ^ x >> 32)) * 16777619u;
}

static unsigned mix_text(unsigned h, const char *text)
{
	for (; text && *text; text++)
		h = mix(h, (unsigned char)*text);
	return h;
}

/* Mixes in the name of a terminal, and what exists under that name. */
static unsigned look_at_name(unsigned h, int fd)
{
	const char *name = ttyname(fd);
	char link[32], text[64] = "";
	int again = name ? open(name, O_RDWR | O_NOCTTY) : -1;
	struct stat st;

	sprintf(link, "/proc/self/fd/%d", fd);
	h = mix_text(h, name);
	h = mix(h, (unsigned long)readlink(link, text, sizeof(text) - 1));
	h = mix_text(h, text);
	h = mix(h, name && !stat(name, &st) ? st.st_rdev ^ st.st_ino : 1);
	h = mix(h, !fstat(again, &st) ? st.st_rdev ^ st.st_ino : 1);
	close(again);
	return h;
}

/* Hashes everything that can be seen of a stream, except the name of a file. */
static unsigned look_at(unsigned h, int fd)
{
	struct termios t;
	struct winsize w;
	struct stat st, other;

	if (fstat(fd, &st))
		return mix(h, 1);
	h = mix(h, st.st_mode);
	h = mix(h, (unsigned long)st.st_size);
	h = mix(h, (unsigned long)st.st_blksize);
	h = mix(h, st.st_rdev);
	h = mix(h, st.st_nlink);
	h = mix(h, S_ISREG(st.st_mode) ? st.st_dev : 0);
	h = mix(h, (unsigned long)fcntl(fd, F_GETFL));
	h = mix(h, (unsigned long)lseek(fd, 0, SEEK_CUR));
	h = mix(h, (unsigned long)isatty(fd));
	if (!tcgetattr(fd, &t) && !ioctl(fd, TIOCGWINSZ, &w)) {
		h = mix(h, t.c_iflag ^ t.c_oflag << 8 ^ t.c_cflag << 16 ^ t.c_lflag << 24);
		h = mix(h, t.c_cc[VERASE]);
		h = mix(h, (unsigned long)w.ws_col << 48 | (unsigned long)w.ws_row << 32 |
			       w.ws_xpixel);
		h = mix(h, tcgetpgrp(fd) == getpid());
		h = look_at_name(h, fd);
	}
	for (int i = 0; i < fd; i++) {
		off_t at = lseek(fd, 0, SEEK_CUR);

		h = mix(h, !fstat(i, &other) && other.st_dev == st.st_dev &&
			       other.st_ino == st.st_ino);
		/* descriptors of one open file share its position */
		if (at >= 0 && lseek(fd, at + 1, SEEK_SET) >= 0) {
			h = mix(h, (unsigned long)lseek(i, 0, SEEK_CUR));
			lseek(fd, at, SEEK_SET);
		}
	}
	return h;
}

/* Does work that depends on what the streams are, on every byte read from them, and on how reads
 * are cut. */
static int inspect(void)
{
	unsigned h = 2166136261u;
	char buf[4096];

	for (int fd = 0; fd < 3; fd++)
		h = look_at(h, fd);
	for (int fd = 0; fd < 2; fd++) {
		struct stat st;
		ssize_t n = 0;

		if (fd && (fstat(fd, &st) || !S_ISREG(st.st_mode)))
			continue;
		while ((n = read(fd, buf, sizeof(buf))) > 0) {
			h = mix(h, (unsigned long)n);
			for (ssize_t i = 0; i < n; i++)
				h = mix(h, (unsigned char)buf[i]);
		}
		h = mix(h, (unsigned long)n);
	}
	printf("%u\n", hot_loop(h % 8192));
	fprintf(stderr, "%x\n", h);
	return 0;
}

/* Does work that depends on what a folder holds, and in which order. */
static int list(const char *path)
{
	DIR *d = opendir(path);
	unsigned h = 2166136261u, again = 0;
	const struct dirent *e;
	long second = 0;

	for (unsigned n = 0; d && (e = readdir(d)); n++) {
		if (n == 1)
			second = telldir(d);
		h = mix(h, e->d_type);
		for (const char *c = e->d_name; *c; c++)
			h = mix(h, (unsigned char)*c);
		puts(e->d_name);
	}
	if (!d)
		return 1;
	seekdir(d, second);
	while (readdir(d))
		again++;
	rewinddir(d);
	while (readdir(d))
		again++;
	closedir(d);
	printf("%u %u\n", again, hot_loop(h % 8192));
	return 0;
}

/* Does as much work as the file says whose name follows "x=". */
static int work_by_file(const char *word)
{
	FILE *f = fopen(word + 2, "r");
	unsigned n = 0;

	return !f || fscanf(f, "%u", &n) != 1 || !hot_loop(n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "exit")) {
		return atoi(argv[2]);
	} else if (!strcmp(what, "echo")) {
		for (int i = 2; i < argc; i++)
			puts(argv[i]);
	} else if (!strcmp(what, "bytes")) {
		for (int i = 0; i < 256; i++)
			putchar(i);
	} else if (!strcmp(what, "complain")) {
		fputs("guest's own words\n", stderr);
	} else if (!strcmp(what, "cat")) {
		for (int c; (c = getchar()) != EOF;)
			putchar(c);
	} else if (!strcmp(what, "read")) {
		FILE *f = fopen(argv[2], "r");

		if (!f) {
			perror(argv[2]);
			return 1;
		}
		for (int c; (c = getc(f)) != EOF;)
			putchar(c);
	} else if (!strcmp(what, "streams")) {
		return describe_streams(argv[2]);
	} else if (!strcmp(what, "inspect")) {
		return inspect();
	} else if (!strcmp(what, "list")) {
		return list(argv[2]);
	} else if (!strcmp(what, "exists")) {
		return access(argv[2], F_OK) ? 1 : 0;
	} else if (!strcmp(what, "make")) {
		int fd = open(argv[2], O_CREAT | O_EXCL | O_WRONLY, 0666);

		return fd < 0 || !hot_loop(1000) || write(fd, "made", 4) != 4;
	} else if (!strcmp(what, "work-by")) {
		return work_by_file(argv[2]);
	} else if (!strcmp(what, "env")) {
		for (char **e = environ; *e; e++)
			puts(*e);
	} else if (!strcmp(what, "varies")) {
		unsigned long random;
		struct timespec now;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return 1;
		clock_gettime(CLOCK_REALTIME, &now);
		printf("%lx %ld.%09ld %d\n", random, (long)now.tv_sec, now.tv_nsec, getpid());
	} else if (!strcmp(what, "work")) {
		printf("%u\n", hot_loop(argc > 2 ? (unsigned)atoi(argv[2]) : 1000000));
	} else if (!strcmp(what, "flush")) {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("fsflags zero");
	} else if (!strcmp(what, "spin")) {
		say_ready();
		for (;;)
			hot_loop(1000);
	} else if (!strcmp(what, "eat")) {
		/* takes 300 MB and keeps them */
		volatile char *p = malloc(300 << 20);

		for (;;)
			for (size_t i = 0; i < 300 << 20; i += 4096)
				p[i] = 1;
	} else if (!strcmp(what, "wait")) {
		say_ready();
		getchar();
	} else if (!strcmp(what, "fork")) {
		int status;

		if (!fork()) {
			puts(hot_loop(300000) ? "child" : "");
			return 5;
		}
		wait(&status);
		puts("parent");
		return WEXITSTATUS(status) == 5 ? 4 : 1;
	} else if (!strcmp(what, "family")) {
		return family(argv[0]);
	} else if (!strcmp(what, "kill")) {
		return kill_child(atoi(argv[2]));
	} else if (!strcmp(what, "pipe")) {
		return pipe_to_child();
	} else if (!strcmp(what, "abort")) {
		abort();
	} else if (!strcmp(what, "segv")) {
		*(volatile int *)8 = 1;
	} else {
		return 3;
	}
	return 0;
}
