/* SPDX-License-Identifier: MIT */
/*
 * From guest paths to host paths.
 *
 * An absolute path is looked up under the sysroot first, with symbolic links followed as if the
 * sysroot were "/"; what is not there is the host's own path, but for what belongs to its dynamic
 * loader. Relative paths are the host's,
 * relative to the host's current directory. /proc/self, /dev/fd and the like name this program's
 * own things on the host and are therefore replaced by what the guest means.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/process.h"

int path_of_fd(int fd, char host[PATH_BYTES])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, host, PATH_BYTES - 1);
	if (n <= 0 || host[0] != '/')
		return -ENOENT;
	host[n] = 0;
	return 0;
}

/* The host path of an absolute path under the sysroot; -errno if it is not there. */
static int under_sysroot(struct guest *g, const char *path, bool follow, char host[PATH_BYTES])
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
		.resolve = RESOLVE_IN_ROOT,
	};
	int fd = (int)syscall(SYS_openat2, g->sysroot_fd, path, &how, sizeof(how));
	int err;

	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		/* A host without openat2: right as long as no absolute symbolic link is on the way.
		 */
		struct stat st;

		if (snprintf(host, PATH_BYTES, "%s%s", g->sysroot, path) >= PATH_BYTES)
			return -ENAMETOOLONG;
		return (follow ? stat(host, &st) : lstat(host, &st)) < 0 ? -errno : 0;
	}
	if (fd < 0)
		return -errno;
	err = path_of_fd(fd, host);
	close(fd);
	return err;
}

/* "/proc/self/fd/3", "/dev/fd/3", "/dev/stdin": the guest's descriptor, or -1. */
static int names_fd(const struct guest *g, const char *path)
{
	char own[64];
	size_t n;
	char *end;
	long fd;

	if (strcmp(path, "/dev/stdin") == 0)
		return 0;
	if (strcmp(path, "/dev/stdout") == 0)
		return 1;
	if (strcmp(path, "/dev/stderr") == 0)
		return 2;
	n = (size_t)snprintf(own, sizeof(own), "/proc/%d/fd/", g->pid);
	if (strncmp(path, "/proc/self/fd/", 14) == 0)
		path += 14;
	else if (strncmp(path, "/dev/fd/", 8) == 0)
		path += 8;
	else if (strncmp(path, own, n) == 0)
		path += n;
	else
		return -1;
	fd = strtol(path, &end, 10);
	return *path >= '0' && *path <= '9' && *end == 0 && fd < (1 << 20) ? (int)fd : -1;
}

static bool names_exe(const struct guest *g, const char *path)
{
	char own[64];

	snprintf(own, sizeof(own), "/proc/%d/exe", g->pid);
	return strcmp(path, "/proc/self/exe") == 0 || strcmp(path, "/proc/thread-self/exe") == 0 ||
	       strcmp(path, own) == 0;
}

/* What the host's dynamic loader keeps for itself: of no use to another's, which would still read
 * it, so that a run would depend on what is installed here. */
static bool is_hosts_loader(const char *path)
{
	return !strcmp(path, "/etc/ld.so.cache") || !strcmp(path, "/etc/ld.so.preload");
}

int path_host(struct guest *g, const char *path, bool follow, char host[PATH_BYTES])
{
	int fd;

	if (path[0] == '/') {
		if (follow && g->exe_host && names_exe(g, path)) {
			snprintf(host, PATH_BYTES, "%s", g->exe_host);
			return 0;
		}
		fd = names_fd(g, path);
		if (fd >= 0) {
			if (fd_host(g, (uint64_t)fd) < 0)
				return -ENOENT;
			snprintf(host, PATH_BYTES, "/proc/self/fd/%d", fd_host(g, (uint64_t)fd));
			return 0;
		}
		if (g->sysroot && under_sysroot(g, path, follow, host) == 0)
			return 0;
		if (is_hosts_loader(path))
			return -ENOENT;
	}
	if (strlen(path) >= PATH_BYTES)
		return -ENAMETOOLONG;
	strcpy(host, path);
	return 0;
}

int path_in(struct guest *g, uint64_t dirfd, uint64_t addr, bool follow, char host[PATH_BYTES],
	    int *host_dirfd)
{
	char path[PATH_BYTES];
	int64_t n = mem_read_string(&g->mem, path, addr, sizeof(path));

	if (n < 0)
		return (int)n;
	*host_dirfd = AT_FDCWD;
	if (path[0] != '/' && (int)dirfd != AT_FDCWD) {
		*host_dirfd = fd_host(g, dirfd);
		if (*host_dirfd < 0)
			return -EBADF;
		strcpy(host, path);
		return 0;
	}
	return path_host(g, path, follow, host);
}

const char *path_guest(const struct guest *g, const char *host)
{
	size_t n;

	if (!g->sysroot)
		return host;
	n = strlen(g->sysroot);
	if (strncmp(host, g->sysroot, n) != 0)
		return host;
	return host[n] == '/' ? host + n : host[n] == 0 ? "/" : host;
}
