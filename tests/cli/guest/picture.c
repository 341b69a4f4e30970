/* SPDX-License-Identifier: MIT */
/*
 * Looks at /proc, at its own files and at their owner as ordinary programs do, and says what is not
 * as on Linux. What it prints is the same on every host and for every user.
 *
 *   picture FOLDER    an empty folder of its own
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static int failed, checked;

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		checked++;                                                                         \
		if (!(x)) {                                                                        \
			failed++;                                                                  \
			printf("line %d: not %s (errno %d)\n", __LINE__, #x, errno);               \
		}                                                                                  \
	} while (0)
#define FAILS(x, error) CHECK((x) < 0 && errno == (error))

static char text[1 << 16];

static ssize_t slurp(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = 0, got;

	text[0] = 0;
	if (fd < 0)
		return -1;
	while ((got = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += got;
	text[n] = 0;
	close(fd);
	return n;
}

static int lines(void)
{
	int n = 0;

	for (char *p = text; *p; p++)
		n += *p == '\n';
	return n;
}

/* Checks that every name that a folder lists exists and has the type that the listing says. */
static int walk(const char *folder, bool numbers_only)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;

	CHECK(d != NULL);
	while (d && (e = readdir(d))) {
		char path[PATH_MAX];
		struct stat st;
		struct statx stx;

		if (numbers_only && !atoi(e->d_name) && strcmp(e->d_name, "0"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		CHECK(lstat(path, &st) == 0);
		CHECK(DTTOIF(e->d_type) == (st.st_mode & S_IFMT));
		CHECK(statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_ALL, &stx) == 0);
		CHECK(stx.stx_mode == st.st_mode && stx.stx_uid == st.st_uid &&
		      stx.stx_ino == st.st_ino);
		CHECK(st.st_uid == 1000 && st.st_gid == 1000);
		if (S_ISLNK(st.st_mode))
			CHECK(readlink(path, text, sizeof(text)) > 0);
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

static void look_at_files(const char *folder)
{
	static const char *const secret[] = { "mem", "pagemap", "clear_refs" };
	DIR *d = opendir(folder);
	struct dirent *e;
	int files = 0;

	while (d && (e = readdir(d))) {
		char path[PATH_MAX];
		bool refused = false;

		if (e->d_type != DT_REG)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		for (int i = 0; i < 3; i++)
			refused |= !strcmp(e->d_name, secret[i]);
		if (refused)
			FAILS(open(path, O_RDWR), EACCES);
		else
			CHECK(slurp(path) >= 0);
		files++;
	}
	CHECK(files >= 25);
	if (d)
		closedir(d);
}

static void look_at_self(int argc, char **argv)
{
	char real[PATH_MAX] = "", path[PATH_MAX], again[PATH_MAX];
	unsigned long long from, to, last = 0;
	long field[60];
	int n = 0, stack = 0, exe = 0;
	char mode[8];

	CHECK(realpath("/proc/self/exe", real) && !strcmp(strrchr(real, '/'), "/picture"));
	snprintf(path, sizeof(path), "/proc/%d/exe", getpid());
	CHECK(realpath(path, again) && !strcmp(real, again));
	CHECK(realpath("/proc/thread-self/exe", again) && !strcmp(real, again));
	snprintf(path, sizeof(path), "/proc/self/task/%d/exe", (int)syscall(SYS_gettid));
	CHECK(realpath(path, again) && !strcmp(real, again));
	CHECK(realpath("/proc/self", again) && atoi(again + 6) == getpid());
	look_at_files("/proc/self");
	look_at_files("/proc/thread-self");

	CHECK(slurp("/proc/self/stat") > 0 && lines() == 1);
	CHECK(atoi(text) == getpid() && strstr(text, "(picture) R "));
	for (char *p = strrchr(text, ')') + 4; *p; n++)
		field[n] = strtol(p, &p, 10), p += *p == ' ' || *p == '\n';
	CHECK(n == 52 - 3 && field[0] == getppid());
	CHECK(slurp("/proc/self/status") > 0 && strstr(text, "Name:\tpicture\n") &&
	      strstr(text, "\nUid:\t1000\t1000\t1000\t1000\n") && strstr(text, "\nVmRSS:\t"));
	for (char *p = text; *p; p = strchr(p, '\n') + 1)
		CHECK(strstr(p, ":\t") && strstr(p, ":\t") < strchr(p, '\n'));
	CHECK(slurp("/proc/self/maps") > 0);
	for (char *p = text; *p; p = strchr(p, '\n') + 1) {
		CHECK(sscanf(p, "%llx-%llx %4s %*x %*x:%*x %*u", &from, &to, mode) == 3);
		CHECK(from < to && from >= last && to <= 1ull << 38);
		last = to;
		stack += strstr(p, "[stack]") && strstr(p, "[stack]") < strchr(p, '\n');
		exe += strstr(p, real) && strstr(p, real) < strchr(p, '\n');
	}
	CHECK(stack == 1 && exe >= 1);
	n = lines();
	CHECK(slurp("/proc/self/smaps") > 0 && lines() == n * 24);
	CHECK(slurp("/proc/self/statm") > 0);
	CHECK(sscanf(text, "%ld %ld %ld %ld %ld %ld %ld", &field[0], &field[1], &field[2],
		     &field[3], &field[4], &field[5], &field[6]) == 7);
	CHECK(slurp("/proc/self/auxv") % 16 == 0);
	CHECK(slurp("/proc/self/limits") > 0 && lines() == 17);
	CHECK(slurp("/proc/self/comm") == 8 && !strcmp(text, "picture\n"));
	CHECK(slurp("/proc/self/cmdline") > 0 && !strcmp(text, argv[0]) && argc == 2 &&
	      !strcmp(text + strlen(text) + 1, argv[1]));
	CHECK(slurp("/proc/self/environ") > 0 && strstr(text, "PATH="));
	CHECK(slurp("/proc/mounts") > 0 && strstr(text, " /proc proc "));
	CHECK(slurp("/proc/self/mountinfo") > 0 && strstr(text, " - proc "));
	CHECK(slurp("/proc/self/cgroup") > 0);
	CHECK(slurp("/proc/self/oom_score_adj") == 2);
	CHECK(slurp("/proc/sys/kernel/osrelease") == 7);
	FAILS(open("/proc/self/maps", O_RDWR), EACCES);
	FAILS(open("/proc/self/nothing", O_RDONLY), ENOENT);
	FAILS(open("/proc/1/stat", O_RDONLY), ENOENT);
	FAILS(mkdir("/proc/x", 0700), EACCES);
	FAILS(unlink("/proc/self/maps"), EACCES);
}

static void look_at_descriptors(void)
{
	char link[PATH_MAX] = "", path[64], cwd[PATH_MAX];
	int fd = open("f", O_RDWR | O_CREAT, 0600), copy, before = walk("/proc/self/fd", true);
	struct stat a, b;

	CHECK(walk("/dev/fd", true) == before);
	copy = dup(fd);
	CHECK(walk("/proc/self/fd", true) == before + 1);
	CHECK(walk("/proc/self/fdinfo", true) == before + 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	CHECK(readlink(path, link, sizeof(link)) > 0 && getcwd(cwd, sizeof(cwd)));
	CHECK(!strncmp(link, cwd, strlen(cwd)) && !strcmp(link + strlen(cwd), "/f"));
	CHECK(write(fd, "hello", 5) == 5 && slurp(path) == 5);
	CHECK(stat(path, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", copy);
	CHECK(slurp(path) > 0 && strstr(text, "pos:\t5\nflags:\t0"));
	close(copy);
	FAILS(lstat(path, &a), ENOENT);
	copy = open("/proc/self", O_RDONLY | O_DIRECTORY);
	CHECK(copy >= 0 && openat(copy, "maps", O_RDONLY) >= 0);
	CHECK(fchdir(copy) == 0 && getcwd(link, sizeof(link)) && atoi(link + 6) == getpid());
	CHECK(slurp("comm") == 8 && slurp("../self/comm") == 8 && slurp("task/../stat") > 0);
	CHECK(readlink("cwd", link, sizeof(link)) > 0 && !strncmp(link, "/proc/", 6));
	CHECK(chdir(cwd) == 0 && close(copy) == 0);
	CHECK(readlink("/proc/self/cwd", link, sizeof(link)) == (ssize_t)strlen(cwd));
	CHECK(readlink("/proc/self/root", link, sizeof(link)) == 1 && link[0] == '/');
	CHECK(access("/proc/self/root/proc/self/maps", R_OK) == 0);
	close(fd);
}

static volatile int stop;

static void *thread_main(void *arg)
{
	(void)arg;
	while (!stop)
		usleep(1000);
	return NULL;
}

static void look_at_threads(void)
{
	pthread_t t;
	char path[128], name[16] = "";
	DIR *d;
	struct dirent *e;
	int tid = 0, fd;

	CHECK(pthread_create(&t, NULL, thread_main, NULL) == 0);
	CHECK(walk("/proc/self/task", true) == 2);
	d = opendir("/proc/self/task");
	while ((e = readdir(d)))
		if (atoi(e->d_name) && atoi(e->d_name) != getpid())
			tid = atoi(e->d_name);
	closedir(d);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	CHECK(slurp(path) > 0 && atoi(text) == tid && strstr(text, ") S "));
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	CHECK(slurp(path) > 0 && strstr(text, "\nThreads:\t2\n"));
	CHECK(pthread_setname_np(t, "worker") == 0);
	CHECK(pthread_getname_np(t, name, sizeof(name)) == 0 && !strcmp(name, "worker"));
	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	CHECK(slurp(path) > 0 && !strcmp(text, "worker\n"));
	fd = open("/proc/self/oom_score_adj", O_WRONLY);
	CHECK(fd >= 0 && write(fd, "5", 1) == 1 && close(fd) == 0);
	stop = 1;
	pthread_join(t, NULL);
	CHECK(walk("/proc/self/task", true) == 1);
}

static void look_at_others(void)
{
	char path[64];
	int status, ready[2], go[2];
	pid_t pid;
	char c;

	CHECK(pipe(ready) == 0 && pipe(go) == 0);
	pid = fork();
	if (pid == 0) {
		write(ready[1], "x", 1);
		read(go[0], &c, 1);
		_exit(7);
	}
	read(ready[0], &c, 1);
	CHECK(walk("/proc", true) == 2);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	CHECK(slurp(path) > 0 && atoi(text) == pid && strstr(text, "(picture) "));
	CHECK(atoi(strchr(text, ')') + 4) == getpid());
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	CHECK(slurp(path) > 0 && strstr(text, "\nUid:\t1000\t"));
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	CHECK(slurp(path) > 0 && strstr(text, "picture"));
	write(go[1], "x", 1);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	FAILS(access(path, F_OK), ENOENT);
	CHECK(walk("/proc", true) == 1);
}

static void look_at_home(void)
{
	FILE *f = fopen("/etc/passwd", "r");
	struct passwd *p;
	bool mine = false;
	struct stat st;
	const char *home = getenv("HOME");

	CHECK(home && stat(home, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == getuid());
	CHECK(home && access(home, R_OK | X_OK) == 0);
	CHECK(walk(home, false) == 2);
	while (f && (p = fgetpwent(f)))
		mine |= p->pw_uid == getuid() && !strcmp(p->pw_name, "guest") &&
			!strcmp(p->pw_dir, home);
	CHECK(mine);
	fclose(f);
	CHECK(slurp("/etc/group") > 0 && strstr(text, "guest:x:1000:"));
	FAILS(open("/etc/ld.so.cache", O_RDONLY), ENOENT);
	FAILS(open("/usr/../etc/./ld.so.cache", O_RDONLY), ENOENT);
	CHECK(symlink("/etc/ld.so.cache", "cache") == 0);
	FAILS(open("cache", O_RDONLY), ENOENT);
}

static void check_mode(mode_t mode)
{
	struct stat st;
	int r = mode & 0400 ? 0 : -1, w = mode & 0200 ? 0 : -1, x = mode & 0100 ? 0 : -1, fd;

	CHECK(chmod("g", mode) == 0 && stat("g", &st) == 0 && (st.st_mode & 07777) == mode);
	CHECK(access("g", R_OK) == r && access("g", W_OK) == w && access("g", X_OK) == x);
	CHECK(syscall(439, AT_FDCWD, "g", R_OK | W_OK, AT_EACCESS) == (r | w));
	fd = open("g", O_RDONLY);
	CHECK((fd < 0 ? -1 : 0) == r);
	close(fd);
	fd = open("g", O_WRONLY);
	CHECK((fd < 0 ? -1 : 0) == w);
	close(fd);
	CHECK(truncate("g", 0) == w);
}

static void look_at_owner(void)
{
	int fd = open("g", O_RDWR | O_CREAT | O_EXCL, 0644), pair[2];
	struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } }, then[2] = { { 5 }, { 5 } };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "socket" };
	struct ucred cred;
	socklen_t n = sizeof(cred);
	struct statx stx;
	struct stat st;

	CHECK(fstat(fd, &st) == 0 && st.st_uid == getuid() && st.st_gid == getgid());
	CHECK(statx(AT_FDCWD, "g", 0, STATX_ALL, &stx) == 0 && stx.stx_uid == 1000 &&
	      stx.stx_gid == 1000);
	CHECK(stat("/usr/bin", &st) == 0 && st.st_uid == 1000);
	CHECK(stat(".", &st) == 0 && st.st_uid == getuid());
	CHECK(chown("g", 1000, 1000) == 0 && chown("g", -1, -1) == 0 && fchown(fd, 1000, -1) == 0);
	CHECK(lchown("g", 1000, 1000) == 0);
	FAILS(chown("g", 0, 0), EPERM);
	FAILS(fchown(fd, 4321, -1), EPERM);
	CHECK(stat("g", &st) == 0 && st.st_uid == 1000);
	for (mode_t mode = 0; mode < 01000; mode += 0111)
		check_mode(mode);
	check_mode(0640);
	check_mode(0400);
	CHECK(fchmod(fd, 06755) == 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0755);
	CHECK(utimensat(AT_FDCWD, "g", then, 0) == 0 && stat("g", &st) == 0 && st.st_mtime == 5);
	/* a folder in which its owner may not write, or search */
	CHECK(mkdir("d", 0755) == 0 && close(open("d/old", O_CREAT | O_WRONLY, 0600)) == 0);
	CHECK(chmod("d", 0555) == 0);
	FAILS(open("d/new", O_CREAT | O_WRONLY, 0600), EACCES);
	FAILS(mkdir("d/new", 0700), EACCES);
	FAILS(unlink("d/old"), EACCES);
	FAILS(rename("d/old", "stolen"), EACCES);
	FAILS(rename("g", "d/g"), EACCES);
	FAILS(symlink("x", "d/x"), EACCES);
	FAILS(link("g", "d/x"), EACCES);
	CHECK(access("d", W_OK) < 0 && access("d/old", R_OK) == 0);
	CHECK(chmod("d", 0666) == 0);
	FAILS(stat("d/old", &st), EACCES);
	FAILS(chdir("d"), EACCES);
	CHECK(stat("d", &st) == 0);
	CHECK(chmod("d", 0755) == 0 && unlink("d/old") == 0 && rmdir("d/") == 0);
	/* devices stay as they are */
	FAILS(chmod("/dev/null", 0600), EPERM);
	FAILS(unlink("/dev/null"), EACCES);
	FAILS(rename("g", "/dev/null"), EACCES);
	FAILS(utimensat(AT_FDCWD, "/dev/null", then, 0), EPERM);
	CHECK(utimensat(AT_FDCWD, "/dev/null", now, 0) == 0);
	CHECK(chown("/dev/null", 1000, 1000) == 0);
	FAILS(mknod("device", S_IFCHR | 0666, 0x103), EPERM);
	FAILS(setxattr("g", "security.capability", "x", 1, 0), EPERM);
	CHECK(walk("/dev", false) == 15);
	CHECK(walk("/dev/pts", false) >= 2);
	CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == 0x103);
	fd = open("/dev/null", O_RDWR);
	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_rdev == 0x103 && st.st_uid == 1000);
	FAILS(fchmod(fd, 0600), EPERM);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	CHECK(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0);
	CHECK(cred.pid == getpid() && cred.uid == 1000 && cred.gid == 1000);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(fd, (struct sockaddr *)&un, sizeof(un)) == 0 && listen(fd, 1) == 0);
	n = sizeof(un);
	CHECK(getsockname(fd, (struct sockaddr *)&un, &n) == 0 && !strcmp(un.sun_path, "socket"));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0);
	CHECK(stat("socket", &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == 1000);
	CHECK(unlink("socket") == 0 && unlink("g") == 0);
}

static void look_at_links(void)
{
	char name[16], to[16], where[PATH_MAX];
	struct stat st;
	int fd;

	CHECK(symlink("loop", "loop") == 0);
	FAILS(open("loop", O_RDONLY), ELOOP);
	FAILS(stat("loop/x", &st), ELOOP);
	CHECK(lstat("loop", &st) == 0 && readlink("loop", where, sizeof(where)) == 4);
	for (int i = 0; i < 45; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		snprintf(to, sizeof(to), "c%d", i - 1);
		CHECK(symlink(i ? to : "target", name) == 0);
	}
	/* a dangling link makes its target */
	fd = open("c38", O_WRONLY | O_CREAT, 0644);
	CHECK(fd >= 0 && stat("target", &st) == 0);
	CHECK(stat("c39", &st) == 0);
	FAILS(stat("c40", &st), ELOOP);
	FAILS(open("c3", O_WRONLY | O_CREAT | O_EXCL, 0644), EEXIST);
	FAILS(open("c3", O_RDONLY | O_NOFOLLOW), ELOOP);
	FAILS(mkdir("c3", 0700), EEXIST);
	FAILS(stat("target/", &st), ENOTDIR);
	FAILS(stat("target/x", &st), ENOTDIR);
	FAILS(open("", O_RDONLY), ENOENT);
	CHECK(mkdir("sub/", 0755) == 0 && symlink("sub", "s") == 0);
	CHECK(stat("s/", &st) == 0 && S_ISDIR(st.st_mode) && stat("s/../target", &st) == 0);
	CHECK(rename("sub/", "moved/") == 0 && rmdir("moved") == 0);
	for (int i = 0; i < 45; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		CHECK(unlink(name) == 0);
	}
	CHECK(unlink("s") == 0 && unlink("loop") == 0 && unlink("target") == 0);
}

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1]))
		return 2;
	look_at_self(argc, argv);
	look_at_descriptors();
	look_at_threads();
	look_at_others();
	look_at_home();
	look_at_owner();
	look_at_links();
	unlink("f");
	unlink("cache");
	printf("%d checks, %d failed\n", checked, failed);
	return failed != 0;
}
