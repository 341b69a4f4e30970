/* SPDX-License-Identifier: MIT */
/* Files, folders, links, stat, positions, locks, and the made-up files of /proc. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

int main(void)
{
	char dir[] = "/tmp/culprit-guest-XXXXXX", buf[256] = "", line[256];
	struct iovec iov[2] = { { "ab", 2 }, { "cdef", 4 } };
	struct utsname uts;
	struct stat st;
	struct statx stx;
	struct statfs sfs;
	struct rlimit lim;
	struct pollfd p = { .fd = 0, .events = 0 };
	unsigned char random[4] = { 0 };
	bool heap = false, stack = false;
	FILE *f;
	int fd;

	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	fd = open("f", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	printf("open %d again %d\n", fd,
	       open("f", O_RDWR | O_CREAT | O_EXCL, 0640) == -1 && errno == EEXIST);
	printf("writev %zd", writev(fd, iov, 2));
	printf(" pread %zd %.3s", pread(fd, buf, 3, 2), buf);
	printf(" lseek %ld\n", (long)lseek(fd, -1, SEEK_END));
	fstat(fd, &st);
	printf("stat size %ld mode %o links %ld block %ld\n", (long)st.st_size, st.st_mode & 0777,
	       (long)st.st_nlink, (long)(st.st_blksize > 0));
	statx(AT_FDCWD, "f", 0, STATX_ALL, &stx);
	printf("statx %lld\n", (long long)stx.stx_size);
	printf("ftruncate %d", ftruncate(fd, 10000));
	stat("f", &st);
	printf(" %ld\n", (long)st.st_size);
	symlink("f", "s");
	link("f", "l");
	printf("readlink %zd %.1s\n", readlink("s", buf, sizeof(buf)), buf);
	lstat("s", &st);
	printf("lstat %d\n", S_ISLNK(st.st_mode));
	mkdir("d", 0755);
	rename("l", "d/m");
	printf("entries %d %d\n", count_entries("."), count_entries("d"));
	printf("access %d %d\n", access("d/m", R_OK), access("nothing", F_OK));
	printf("statfs %d\n", statfs(".", &sfs));
	unlink("d/m");
	rmdir("d");
	unlink("s");
	unlink("f");
	printf("dup %d %d\n", dup(fd), dup2(fd, 17));
	printf("flags %d %d\n", fcntl(17, F_GETFD), (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
	printf("getcwd %d\n", strcmp(getcwd(buf, sizeof(buf)), dir));
	chdir("/");
	rmdir(dir);
	uname(&uts);
	printf("uname %s %s\n", uts.sysname, uts.machine);
	getrlimit(RLIMIT_STACK, &lim);
	printf("stack limit %lu\n", (unsigned long)lim.rlim_cur);
	f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f)) {
		heap |= strstr(line, "[heap]") != NULL;
		stack |= strstr(line, "[stack]") != NULL;
	}
	printf("maps %d %d\n", heap, stack);
	f = fopen("/proc/cpuinfo", "r");
	fgets(line, sizeof(line), f);
	printf("%s", line);
	printf("random %zd\n", getrandom(random, 4, 0));
	p.fd = 17;
	p.events = POLLIN;
	printf("poll %d %d\n", poll(&p, 1, 0), p.revents);
	printf("bad %zd %d\n", read(17, (void *)8, 4), errno == EFAULT);
	printf("cpus %ld pid %d uid %d\n", sysconf(_SC_NPROCESSORS_ONLN), getpid(), getuid());
	return 0;
}
