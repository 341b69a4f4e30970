/* SPDX-License-Identifier: MIT */
/*
 * Does arbitrary things with the files of its working folder, from a seed, and says what came of each:
 * result, errno, mode, size, links, content. No times of the host and no numbers of its files, so two
 * runs in equal folders say the same. Usage: places SEED COUNT
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static uint64_t seed;
static int fds[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* A path of one to three names; some exist, some lead up, some are links. */
static const char *name(void)
{
	static char text[4][128];
	static unsigned turn;
	static const char *const words[] = { "a", "b", "c", "sub", "deep", "link", "x", "old" };
	char *to = text[turn++ % 4];
	unsigned n = 1 + below(3);

	*to = 0;
	if (!below(12))
		strcpy(to, "./");
	for (unsigned i = 0; i < n; i++) {
		if (i)
			strcat(to, "/");
		strcat(to, words[below(8)]);
		if (!below(12))
			strcat(to, "/..");
	}
	if (!below(25))
		strcat(to, "/");
	return to;
}

static void say(const char *what, const char *a, const char *b, long r)
{
	printf("%s %s %s = %ld%s%s\n", what, a, b, r, r < 0 ? " " : "",
	       r < 0 ? strerror(errno) : "");
}

static void show(const char *path, int flags)
{
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, flags) < 0) {
		say("stat", path, "", -1);
		return;
	}
	/* the size of a folder is the host's affair */
	printf("stat %s mode %o links %u size %ld", path, st.st_mode, (unsigned)st.st_nlink,
	       S_ISDIR(st.st_mode) ? 0 : (long)st.st_size);
	if (S_ISREG(st.st_mode) && st.st_mtime < 1000000)
		printf(" time %ld", (long)st.st_mtime);
	printf("\n");
}

static void list(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	say("list", path, "", d ? 0 : -1);
	while (d && (e = readdir(d)))
		printf(" %s:%d", e->d_name, e->d_type);
	if (d) {
		printf("\n");
		closedir(d);
	}
}

static void content(const char *path)
{
	char buf[64];
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	long n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

	say("read", path, "", n);
	if (n > 0)
		printf(" [%.*s]\n", (int)n, buf);
	if (fd >= 0)
		close(fd);
}

static void use_descriptor(void)
{
	unsigned i = below(8);
	struct stat st;
	char buf[32];
	long n;

	switch (below(8)) {
	case 0:
		n = fds[i] < 0 ? -1 : close(fds[i]);
		fds[i] = open(name(), O_RDONLY | O_NONBLOCK);
		say("hold", "", "", fds[i] < 0 ? -1 : 0);
		break;
	case 1:
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = open(name(), O_RDWR | O_CREAT | O_NONBLOCK, 0640);
		say("hold rw", "", "", fds[i] < 0 ? -1 : 0);
		break;
	case 2:
		n = read(fds[i], buf, 5);
		say("hold read", "", "", n);
		if (n > 0)
			printf(" [%.*s]\n", (int)n, buf);
		break;
	case 3:
		say("hold write", "", "", write(fds[i], "held", 4));
		break;
	case 4:
		say("hold chmod", "", "", fchmod(fds[i], 0600 + below(64)));
		break;
	case 5:
		say("hold cut", "", "", ftruncate(fds[i], below(9)));
		break;
	case 6:
		say("hold lock", "", "", flock(fds[i], LOCK_SH | LOCK_NB));
		break;
	default:
		if (fds[i] >= 0 && !fstat(fds[i], &st))
			printf("hold stat %o %u %ld\n", st.st_mode, (unsigned)st.st_nlink,
			       S_ISDIR(st.st_mode) ? 0 : (long)st.st_size);
	}
}

static void map(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK);
	char *p = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct stat st;

	say("map", path, "", p == MAP_FAILED ? -1 : 0);
	if (p != MAP_FAILED) {
		if (!fstat(fd, &st) && st.st_size > 2)
			memcpy(p, "map", 3);
		munmap(p, 4096);
	}
	if (fd >= 0)
		close(fd);
}

static void act(unsigned round)
{
	const char *a = name(), *b = name();
	const struct timespec times[2] = { { below(1000), 5 }, { below(1000), 7 } };
	char buf[64];
	long n;
	int fd;

	switch (below(25)) {
	case 0:
	case 1:
		fd = open(a, O_WRONLY | O_CREAT | (below(2) ? O_TRUNC : O_APPEND) | O_NONBLOCK,
			  0644);
		n = snprintf(buf, sizeof(buf), "round %u", round);
		say("write", a, "", fd < 0 ? -1 : write(fd, buf, n));
		if (fd >= 0)
			close(fd);
		break;
	case 2:
		say("mkdir", a, "", mkdir(a, 0755));
		break;
	case 3:
		say("rmdir", a, "", rmdir(a));
		break;
	case 4:
	case 5:
		say("unlink", a, "", unlink(a));
		break;
	case 6:
	case 7:
	case 8:
		say("rename", a, b, rename(a, b));
		break;
	case 9:
		say("link", a, b, link(a, b));
		break;
	case 10:
		say("symlink", a, b, symlink(below(2) ? "../a" : "sub", b));
		break;
	case 11:
		n = readlink(a, buf, sizeof(buf));
		say("readlink", a, "", n);
		break;
	case 12:
		say("chmod", a, "", chmod(a, 0700 | below(64)));
		break;
	case 13:
		say("utimens", a, "",
		    utimensat(AT_FDCWD, a, times, below(2) ? AT_SYMLINK_NOFOLLOW : 0));
		break;
	case 14:
		say("truncate", a, "", truncate(a, below(20)));
		break;
	case 15:
		say("exclusive", a, "",
		    (fd = open(a, O_RDWR | O_CREAT | O_EXCL, 0600)) < 0 ? -1 : 0);
		if (fd >= 0)
			close(fd);
		break;
	case 16:
		list(a);
		break;
	case 17:
		list(".");
		break;
	case 18:
		map(a);
		break;
	case 19:
		say("noreplace", a, b, renameat2(AT_FDCWD, a, AT_FDCWD, b, 1));
		break;
	case 20:
		say("exchange", a, b, renameat2(AT_FDCWD, a, AT_FDCWD, b, 2));
		break;
	case 21:
		say("mkfifo", a, "", mkfifo(a, 0600));
		break;
	case 22:
	case 23:
		use_descriptor();
		break;
	default:
		content(a);
	}
	show(a, AT_SYMLINK_NOFOLLOW);
	show(a, 0);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 100;

	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (unsigned i = 0; i < count; i++) {
		if (i % 50 == 49) { /* a child's changes are there, too */
			fflush(stdout);
			if (!fork()) {
				for (unsigned k = 0; k < 10; k++)
					act(1000 + k);
				fflush(stdout);
				_exit(0);
			}
			wait(NULL);
			seed += 99;
		}
		act(i);
	}
	list(".");
	list("sub");
	list("sub/deep");
	return 0;
}
