/* SPDX-License-Identifier: MIT */
/*
 * A guest that tries what it should not be able to do: every argument is one attempt, KIND=WHAT,
 * and every attempt prints a line: its name and "done", or the errno.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static long try_read(const char *path)
{
	char c;
	int fd = open(path, O_RDONLY);

	return fd < 0 ? -1 : read(fd, &c, 1) < 0 ? -1 : (close(fd), 0);
}

static long try_list(const char *path)
{
	DIR *d = opendir(path);

	return d ? closedir(d) : -1;
}

static long try_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);

	return fd < 0 ? -1 : write(fd, "escaped\n", 8) == 8 ? close(fd) : -1;
}

static long try_truncate(const char *path)
{
	return truncate(path, 0);
}

static long try_remove(const char *path)
{
	return unlink(path);
}

static long try_rename(const char *path)
{
	char to[4096];

	snprintf(to, sizeof(to), "%s.moved", path);
	return rename(path, to);
}

static long try_link(const char *path)
{
	char to[4096];

	snprintf(to, sizeof(to), "%s.linked", path);
	return link(path, to);
}

static long try_folder(const char *path)
{
	return mkdir(path, 0777);
}

static long try_chmod(const char *path)
{
	return chmod(path, 0777);
}

static long try_chown(const char *path)
{
	return chown(path, 4321, 4321);
}

static long try_touch(const char *path)
{
	struct timespec t[2] = { { 1, 0 }, { 1, 0 } };

	return utimensat(AT_FDCWD, path, t, 0);
}

static long try_xattr(const char *path)
{
	return setxattr(path, "user.escaped", "x", 1, 0);
}

static long try_device(const char *path)
{
	return mknod(path, S_IFCHR | 0666, makedev(1, 3));
}

/* The next attempts write through a symbolic link, by a detour, and from an open folder. */
static long try_by_link(const char *path)
{
	return symlink(path, "by-link") ? -1 : try_write("by-link");
}

static long try_detour(const char *path)
{
	char to[4096];

	snprintf(to, sizeof(to), "/proc/self/cwd/../../../../../../../../..%s", path);
	return try_write(to);
}

static long try_from_root(const char *path)
{
	int root = open("/", O_PATH | O_DIRECTORY), fd;

	fd = openat(root, path + 1, O_WRONLY | O_CREAT | O_APPEND, 0666);
	return fd < 0 ? -1 : write(fd, "escaped\n", 8) == 8 ? 0 : -1;
}

static long try_tcp(const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(atoi(port)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? -1 : connect(fd, (void *)&a, sizeof(a));
}

static long try_packet(const char *unused)
{
	return socket(AF_PACKET, SOCK_RAW, 0);
}

static long try_unix(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t n = offsetof(struct sockaddr_un, sun_path) + strlen(path);

	strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
	if (*path == '@')
		a.sun_path[0] = 0;
	else
		n++;
	return fd < 0 ? -1 : connect(fd, (void *)&a, n);
}

static long try_kill(const char *pid)
{
	return kill(atoi(pid), SIGTERM);
}

static long try_kill_group(const char *pid)
{
	return kill(-atoi(pid), SIGTERM);
}

static long try_tgkill(const char *pid)
{
	return syscall(SYS_tgkill, atoi(pid), atoi(pid), SIGTERM);
}

static long try_sigqueue(const char *pid)
{
	return sigqueue(atoi(pid), SIGTERM, (union sigval){ 0 });
}

static long try_pidfd(const char *pid)
{
	int fd = syscall(SYS_pidfd_open, atoi(pid), 0);

	return fd < 0 ? -1 : syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
}

static long try_proc_folder(const char *pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	return fd < 0 ? -1 : syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
}

static long try_proc(const char *pid_file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s", pid_file);
	return try_read(path);
}

static long try_vm(const char *pid)
{
	char c;

	return syscall(SYS_process_vm_readv, atoi(pid), &(struct {
			       void *p;
			       size_t n;
		       }){ &c, 1 },
		       1, &(struct {
			       void *p;
			       size_t n;
		       }){ &c, 1 },
		       1, 0);
}

/* ---- limits: how far the guest gets ---- */

static long try_processes(const char *most)
{
	int n = 0, pid = 0, fd[2], failed = 0;
	char c;

	if (pipe(fd))
		return -1;
	while (n < atoi(most) && (pid = fork()) > 0)
		n++;
	if (!pid) {
		close(fd[1]);
		_exit(read(fd[0], &c, 1) != 0);
	}
	failed = errno;
	close(fd[0]);
	close(fd[1]);
	while (wait(NULL) > 0)
		;
	printf("made %d\n", n);
	errno = failed;
	return n == atoi(most) ? 0 : -1;
}

static long try_output(const char *bytes)
{
	static char block[65536];
	int fd = open("much", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	long long left = atoll(bytes), done = 0;

	while (left > 0) {
		long n = write(fd, block, left < (long)sizeof(block) ? left : (long)sizeof(block));

		if (n < 0) {
			int cause = errno;

			fprintf(stderr, "wrote %lld\n", done);
			errno = cause;
			return -1;
		}
		left -= n;
		done += n;
	}
	return 0;
}

static long try_memory(const char *bytes)
{
	long long left = atoll(bytes);
	const long step = 16 << 20;

	for (; left > 0; left -= step) {
		char *p =
		    mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return -1;
		memset(p, 1, 4096);
	}
	return 0;
}

static long try_files(const char *most)
{
	for (int n = atoi(most); n > 0; n--)
		if (dup(0) < 0)
			return -1;
	return 0;
}

static const struct {
	const char *kind;
	long (*attempt)(const char *what);
} kinds[] = {
	{ "read", try_read },
	{ "list", try_list },
	{ "write", try_write },
	{ "truncate", try_truncate },
	{ "remove", try_remove },
	{ "rename", try_rename },
	{ "link", try_link },
	{ "folder", try_folder },
	{ "chmod", try_chmod },
	{ "chown", try_chown },
	{ "touch", try_touch },
	{ "xattr", try_xattr },
	{ "device", try_device },
	{ "by-link", try_by_link },
	{ "detour", try_detour },
	{ "from-root", try_from_root },
	{ "tcp", try_tcp },
	{ "packet", try_packet },
	{ "unix", try_unix },
	{ "kill", try_kill },
	{ "kill-group", try_kill_group },
	{ "tgkill", try_tgkill },
	{ "sigqueue", try_sigqueue },
	{ "pidfd", try_pidfd },
	{ "proc-folder", try_proc_folder },
	{ "proc", try_proc },
	{ "vm", try_vm },
	{ "processes", try_processes },
	{ "output", try_output },
	{ "memory", try_memory },
	{ "files", try_files },
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		char *what = strchr(argv[i], '=');
		long result = -1;
		int cause = EINVAL;

		*what++ = 0;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (!strcmp(kinds[k].kind, argv[i])) {
				errno = 0;
				result = kinds[k].attempt(what);
				cause = errno;
			}
		printf("%s %s: %s\n", argv[i], what, result < 0 ? strerrorname_np(cause) : "done");
	}
	return 0;
}
