/* SPDX-License-Identifier: MIT */
/*
 * Has something behind descriptors of every kind, and works through it in small steps, so that a
 * checkpoint anywhere finds pipes with content, folders half listed, files renamed and removed. Says
 * what it reads; the same in every run. With an argument: does only the part of that name.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Takes instructions, so that random points fall between calls. */
static void work(void)
{
	volatile unsigned x = 1;

	for (unsigned i = 0; i < 400; i++)
		x = x * 5 + i;
}

static void expect(const char *what, long got, long want)
{
	work();
	if (got != want)
		printf("%s: %ld instead of %ld (%s)\n", what, got, want, strerror(errno));
}

static void pipes(void)
{
	int p[2], q[2];
	char buf[9000];

	expect("pipe", pipe2(p, O_CLOEXEC), 0);
	expect("packets", pipe2(q, O_DIRECT | O_NONBLOCK), 0);
	for (int i = 0; i < 20; i++) {
		int n = snprintf(buf, sizeof(buf), "message %d;", i);

		expect("write", write(p[1], buf, n), n);
		expect("packet", write(q[1], buf, n), n);
		if (i % 3 == 2) {
			long got = read(p[0], buf, 7);

			work();
			printf("pipe %.*s\n", (int)got, buf);
			got = read(q[0], buf, sizeof(buf));
			work();
			printf("packet %ld %.*s\n", got, (int)got, buf);
		}
	}
	expect("cloexec", fcntl(p[0], F_GETFD), FD_CLOEXEC);
	expect("nonblock", fcntl(q[0], F_GETFL), O_RDONLY | O_NONBLOCK);
	expect("direct", fcntl(q[1], F_GETFL), O_WRONLY | O_NONBLOCK | O_DIRECT);
	memset(buf, 'x', sizeof(buf));
	expect("much", write(p[1], buf, sizeof(buf)), sizeof(buf));
	close(p[1]);
	work();
	for (long n; (n = read(p[0], buf, 4000)) > 0; work())
		printf("rest %ld %c\n", n, buf[n - 1]);
	close(p[0]);
	while (read(q[0], buf, sizeof(buf)) > 0)
		work();
	printf("empty: %s\n", strerror(errno));
	close(q[0]);
	signal(SIGPIPE, SIG_IGN);
	work();
	printf("broken: %ld %s\n", (long)write(q[1], "x", 1), strerror(errno));
	close(q[1]);
}

static void sockets(void)
{
	int s[2], d[2], fresh = socket(AF_UNIX, SOCK_DGRAM, 0);
	char buf[256];

	expect("stream", socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	expect("datagrams", socketpair(AF_UNIX, SOCK_DGRAM, 0, d), 0);
	for (int i = 0; i < 12; i++) {
		int n = snprintf(buf, sizeof(buf), "datagram %d", i * i);

		expect("send", write(d[i & 1], buf, n), n);
		expect("stream", write(s[0], buf, n), n);
		if (i % 4 == 3) {
			long got = read(s[1], buf, 10);

			work();
			printf("stream %.*s\n", (int)got, buf);
			got = recv(d[0], buf, sizeof(buf), 0);
			work();
			printf("datagram %ld %.*s\n", got, (int)got, buf);
		}
	}
	expect("shutdown", shutdown(s[0], SHUT_WR), 0);
	for (long n; (n = read(s[1], buf, 50)) > 0; work())
		printf("stream %.*s\n", (int)n, buf);
	expect("back", write(s[1], "back", 4), 4);
	expect("back", read(s[0], buf, 9), 4);
	close(s[0]);
	work();
	expect("end", read(s[1], buf, 9), 0);
	close(s[1]);
	for (int i = 0; i < 2; i++)
		for (long n; (n = recv(d[i], buf, sizeof(buf), MSG_DONTWAIT)) >= 0; work())
			printf("datagram %.*s\n", (int)n, buf);
	close(d[0]);
	close(d[1]);
	expect("fresh", sendto(fresh, "x", 1, 0, NULL, 0), -1);
	close(fresh);
}

static void files(void)
{
	int fd = open("made", O_RDWR | O_CREAT | O_EXCL, 0640), other, appends, gone, same;
	char buf[64];
	struct stat st, as;
	const struct timespec times[2] = { { 100, 1 }, { 200, 2 } };

	for (int i = 0; i < 10; i++) {
		int n = snprintf(buf, sizeof(buf), "line %d\n", i);

		expect("write", write(fd, buf, n), n);
	}
	same = dup(fd);
	expect("seek", lseek(fd, 7, SEEK_SET), 7);
	expect("shared", read(same, buf, 6), 6);
	printf("%.6s\n", buf);
	expect("shared", lseek(fd, 0, SEEK_CUR), 13);
	other = open("made", O_RDONLY);
	expect("other", lseek(other, 3, SEEK_SET), 3);
	expect("rename", rename("made", "moved"), 0);
	expect("mkdir", mkdir("folder", 0700), 0);
	expect("into", rename("moved", "folder/inner"), 0);
	expect("link", link("folder/inner", "second"), 0);
	expect("symlink", symlink("folder/inner", "pointer"), 0);
	expect("chmod", chmod("pointer", 0604), 0);
	expect("times", utimensat(AT_FDCWD, "second", times, 0), 0);
	expect("stat", stat("folder/inner", &st), 0);
	printf("mode %o links %d size %ld time %ld\n", st.st_mode, (int)st.st_nlink,
	       (long)st.st_size, (long)st.st_mtime);
	expect("fstat", fstat(other, &as), 0);
	expect("same file", st.st_ino == as.st_ino && st.st_dev == as.st_dev, 1);
	appends = open("second", O_WRONLY | O_APPEND);
	expect("append", write(appends, "appended\n", 9), 9);
	expect("lock", flock(appends, LOCK_EX), 0);
	expect("read", read(other, buf, 30), 30);
	printf("%.30s|\n", buf);
	expect("busy", flock(other, LOCK_SH | LOCK_NB), -1);
	gone = open("gone", O_RDWR | O_CREAT, 0600);
	expect("gone", write(gone, "no name", 7), 7);
	expect("unlink", unlink("gone"), 0);
	expect("gone stat", fstat(gone, &st), 0);
	expect("gone links", st.st_nlink, 0);
	expect("gone read", pread(gone, buf, 7, 0), 7);
	printf("%.7s\n", buf);
	expect("truncate", truncate("second", 20), 0);
	expect("size", lseek(other, 0, SEEK_END), 20);
	expect("exchanged", open("absent", O_RDONLY), -1);
	close(gone);
	close(appends);
	close(other);
	close(same);
	close(fd);
	expect("input", rename("input", "output"), 0);
	fd = open("output", O_RDWR);
	expect("input", read(fd, buf, 5), 5);
	printf("input %.5s\n", buf);
	expect("input", pwrite(fd, "OVER", 4, 1), 4);
	expect("input", pread(fd, buf, 8, 0), 8);
	printf("input %.8s\n", buf);
	close(fd);
	expect("remove", unlink("output"), 0);
	expect("remove", unlink("second"), 0);
	expect("remove", unlink("pointer"), 0);
	expect("remove", unlink("folder/inner"), 0);
	expect("remove", rmdir("folder"), 0);
}

static void folders(void)
{
	DIR *d = opendir("many"), *proc = opendir("/proc/self/task");
	struct dirent *e;
	char name[32];
	long at = 0;

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "many/new%d", i);
		expect("make", close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
	}
	for (int i = 0; (e = readdir(d)); i++) {
		work();
		printf("%s ", e->d_name);
		if (i == 4)
			at = telldir(d);
	}
	seekdir(d, at);
	work();
	printf("again %s\n", readdir(d)->d_name);
	rewinddir(d);
	while ((e = readdir(d)))
		work();
	closedir(d);
	while ((e = readdir(proc))) {
		work();
		printf("task %d\n", e->d_type);
	}
	closedir(proc);
	expect("chdir", chdir("many"), 0);
	expect("mkdir", mkdir("own", 0755), 0);
	expect("chdir", chdir("own"), 0);
	expect("up", access("../new3", F_OK), 0);
	expect("back", chdir("../.."), 0);
}

static void events(void)
{
	int e = eventfd(3, 0), sem = eventfd(4, EFD_SEMAPHORE | EFD_NONBLOCK), p[2],
	    ep = epoll_create1(EPOLL_CLOEXEC), t = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), s;
	struct epoll_event ev, got[8];
	struct itimerspec in = { { 0, 0 }, { 0, 200000 } };
	struct signalfd_siginfo info;
	uint64_t v = 5;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s = signalfd(-1, &set, SFD_NONBLOCK);
	expect("pipe", pipe(p), 0);
	ev = (struct epoll_event){ EPOLLIN, { .u64 = 111 } };
	expect("add", epoll_ctl(ep, EPOLL_CTL_ADD, e, &ev), 0);
	ev = (struct epoll_event){ EPOLLIN | EPOLLET, { .u64 = 222 } };
	expect("add", epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev), 0);
	ev = (struct epoll_event){ EPOLLIN, { .u64 = 333 } };
	expect("add", epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev), 0);
	ev = (struct epoll_event){ EPOLLIN | EPOLLONESHOT, { .u64 = 444 } };
	expect("add", epoll_ctl(ep, EPOLL_CTL_ADD, sem, &ev), 0);
	expect("write", write(e, &v, 8), 8);
	expect("value", read(e, &v, 8), 8);
	expect("eight", v, 8);
	expect("edge", write(p[1], "a", 1), 1);
	for (int round = 0; round < 5; round++) {
		int n = epoll_wait(ep, got, 8, 0);

		work();
		printf("round %d:", round);
		for (int i = 0; i < n; i++)
			printf(" %lu", (unsigned long)got[i].data.u64);
		printf("\n");
		if (round == 1)
			expect("raise", raise(SIGUSR1), 0);
		if (round == 2)
			expect("edge", write(p[1], "b", 1), 1);
		if (round == 3)
			expect("signal", read(s, &info, sizeof(info)), sizeof(info));
		expect("one", read(sem, &v, 8), round < 4 ? 8 : -1);
	}
	expect("set", timerfd_settime(t, 0, &in, NULL), 0);
	v = 0;
	while (read(t, &v, 8) < 0)
		work();
	expect("timer", v, 1);
	printf("signal %d\n", (int)info.ssi_signo);
	close(e);
	close(ep);
	close(t);
	close(s);
	close(sem);
}

static void memory(void)
{
	int fd = memfd_create("mine", MFD_ALLOW_SEALING),
	    file = open("shared", O_RDWR | O_CREAT, 0600);
	char *p, *q, buf[16];
	uint64_t r;

	expect("size", ftruncate(fd, 5000), 0);
	p = mmap(NULL, 5000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	strcpy(p + 10, "in memory");
	work();
	expect("seen", pread(fd, buf, 9, 10), 9);
	printf("%.9s\n", buf);
	expect("size", ftruncate(file, 8192), 0);
	q = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	strcpy(q + 5000, "mapped");
	work();
	expect("file", pread(file, buf, 6, 5000), 6);
	printf("%.6s\n", buf);
	expect("write", pwrite(file, "WRITTEN", 7, 5000), 7);
	work();
	printf("%s\n", q + 5000);
	munmap(p, 5000);
	expect("seal", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK), 0);
	expect("sealed", write(fd, "x", 1), -1);
	expect("seals", fcntl(fd, F_GET_SEALS), F_SEAL_WRITE | F_SEAL_SHRINK);
	munmap(q, 8192);
	close(file);
	close(fd);
	fd = open("/dev/urandom", O_RDONLY);
	for (int i = 0; i < 5; i++) {
		expect("random", read(fd, &r, 8), 8);
		printf("%016lx\n", (unsigned long)r);
	}
	close(fd);
	fd = open("/proc/self/status", O_RDONLY);
	for (int i = 0; i < 6; i++) {
		expect("status", read(fd, buf, 7), 7);
		printf("%.7s", buf);
	}
	close(fd);
	fd = open("/dev/null", O_WRONLY | O_APPEND);
	expect("null", write(fd, "x", 1), 1);
	expect("flags", fcntl(fd, F_GETFL) & O_APPEND, O_APPEND);
	close(fd);
	printf("\n");
}

static void input(void)
{
	char buf[40];
	long n;

	while ((n = read(0, buf, 37)) > 0) {
		work();
		printf("input %ld %c%c\n", n, buf[0], buf[n - 1]);
	}
	expect("end", read(0, buf, 1), 0);
}

static void children(void)
{
	int status, fd;
	char buf[16] = "";

	for (int i = 0; i < 3; i++) {
		fflush(stdout);
		if (!fork()) {
			fd = open("child", O_WRONLY | O_CREAT | O_APPEND, 0600);
			dprintf(fd, "%d", i);
			_exit(i);
		}
		wait(&status);
		expect("status", WEXITSTATUS(status), i);
	}
	fd = open("child", O_RDONLY);
	expect("child", read(fd, buf, sizeof(buf)), 3);
	printf("child %s\n", buf);
	close(fd);
	expect("child", unlink("child"), 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = { { "pipes", pipes },     { "sockets", sockets },  { "files", files },
		      { "folders", folders }, { "events", events },    { "memory", memory },
		      { "input", input },     { "children", children } };

	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (argc < 2 || !strcmp(argv[1], parts[i].name))
			parts[i].run();
	return 0;
}
