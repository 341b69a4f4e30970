/* SPDX-License-Identifier: MIT */
/*
 * A hostile guest: it tries to reach what belongs to the host under every spelling that it can
 * think of, with every call that takes a path, and says what it could reach.
 *
 *   escape PID FOLDER [BIND]    PID: a process of the host; FOLDER: an empty folder for its links;
 *                               BIND: a folder in which the host's /proc is mounted, too
 *
 * Standard input may be an open folder of the host's /proc. Prints what it reached, a line each,
 * then "tried N spellings, M calls, T tries, R reached".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CULPRITS_MARK "CULPRIT_TEST_MARK" /* in the environment of culprit, not of its guest */

/* ---- spellings ---- */

struct spelling {
	int dirfd;
	char cwd[64]; /* working folder; "": the usual one */
	char path[4096];
	uint64_t resolve; /* flags for openat2 */
	int cwd_fd;	  /* folder to fchdir to first; -1: none */
};

static struct spelling list[512];
static unsigned n_spellings;
static int root_fd, root_path_fd, proc_fd, proc_path_fd, self_fd;
static char folder[256], home[256];
static const char *bind_folder;

static struct spelling *add(const char *fmt, ...)
{
	struct spelling *s = &list[n_spellings++];
	va_list args;

	if (n_spellings > 500)
		abort();
	*s = (struct spelling){ .dirfd = AT_FDCWD, .cwd_fd = -1 };
	va_start(args, fmt);
	vsnprintf(s->path, sizeof(s->path), fmt, args);
	va_end(args);
	return s;
}

static void add_at(int fd, const char *path)
{
	add("%s", path)->dirfd = fd;
	add("/proc/self/fd/%d/%s", fd, path);
	add("/dev/fd/%d/%s", fd, path);
	add("%s", path)->cwd_fd = fd;
}

/* Adds the target with something between its components. */
static void add_between(const char *target, const char *what)
{
	char path[4096] = "";

	for (const char *p = target; *p; p++) {
		if (*p == '/')
			strcat(path, what);
		strncat(path, p, 1);
	}
	add("%s", path);
}

static void add_link(const char *name, const char *to, const char *rest)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	if (symlink(to, path) == 0)
		add("%s%s", path, rest);
}

/* Adds all ways to write an absolute path. */
static void spell(const char *target)
{
	const char *below_root = target + 1, *slash = strchr(below_root, '/');
	char top[256], up[256] = "", path[4096], name[32], last[512];

	n_spellings = 0;
	snprintf(top, sizeof(top), "%.*s", (int)(slash - target), target);
	for (int i = 0; i < 20; i++)
		strcat(up, "../");
	add("%s", target);
	add_between(target, "/");
	add_between(target, "///");
	add_between(target, "/.");
	add_between(target, "/./.");
	add("%s/", target);
	add("%s/.", target);
	add("%s/%s/..%s", top, "self", slash);
	add("%s/self/../..%s", top, target);
	add("/..%s", target);
	add("/../../..%s", target);
	add("/usr/..%s", target);
	add("/usr/bin/../..%s", target);
	add("/etc/.././%s", below_root);
	add("/tmp/..%s", target);
	add("/dev/..%s", target);
	add("/dev/shm/../..%s", target);
	add("/dev/pts/../..%s", target);
	add("/sys/..%s", target);
	add("/sys/kernel/../..%s", target);
	add("/home/guest/../..%s", target);
	add("/proc/..%s", target);
	add("/proc/self/../..%s", target);
	add("/proc/self/task/../../..%s", target);
	add("%s%s", up, below_root);
	add("./%s%s", up, below_root);
	add("%s/%s%s", folder, up, below_root);
	add("/proc/self/root%s", target);
	add("/proc/self/root/proc/self/root%s", target);
	add("/proc/thread-self/root%s", target);
	add("/proc/self/task/%d/root%s", getpid(), target);
	add("/proc/%d/root%s", getpid(), target);
	add("/proc/self/cwd/%s%s", up, below_root);
	add("/proc/%d/cwd/%s%s", getpid(), up, below_root);
	add("/proc/self/exe/../../../../../../../..%s", target);
	add("/proc/self/fd/..%s", target);
	add("/proc/self/fd/../../..%s", target);
	/* symbolic links */
	add_link("whole", target, "");
	add_link("top", top, slash);
	add_link("root", "/", target);
	add_link("dotted", "/./.", target);
	add_link("doubled", "//", target);
	snprintf(path, sizeof(path), "%s%s", up, top + 1);
	add_link("relative", path, slash);
	snprintf(path, sizeof(path), "%s%s", up, below_root);
	add_link("relative-whole", path, "");
	add_link("through-usr", "/usr/..", target);
	add_link("through-root", "/proc/self/root", target);
	add_link("through-cwd", "/proc/self/cwd", "/whole");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", root_fd);
	add_link("through-fd", path, target);
	snprintf(path, sizeof(path), "/root%s", target);
	add_link("self", "/proc/self", path);
	snprintf(path, sizeof(path), "%s/", top);
	add_link("slash", path, slash);
	for (int i = 0; i < 36; i++) {
		snprintf(name, sizeof(name), "chain%d", i);
		snprintf(last, sizeof(last), i % 2 ? "%s/chain%d" : "chain%.0s%d",
			 i % 2 ? folder : "", i - 1);
		if (i % 2 == 0)
			snprintf(last, sizeof(last), "chain%d", i - 1);
		add_link(name, i ? last : top, slash);
		if (i != 1 && i != 2 && i != 35)
			n_spellings--;
	}
	/* relative to open folders, or to the working folder */
	add_at(root_fd, below_root);
	add_at(root_path_fd, below_root);
	add_at(root_fd, target + 0);
	snprintf(path, sizeof(path), "..%s", target);
	add_at(root_fd, path);
	snprintf(path, sizeof(path), "..%s", target);
	add_at(proc_fd, path);
	add_at(proc_path_fd, path);
	if (!strcmp(top, "/proc")) {
		add_at(proc_fd, slash + 1);
		add_at(proc_path_fd, slash + 1);
		add_at(0, slash + 1);
		add("/dev/stdin%s", slash);
		if (!strncmp(slash, "/self/", 6)) {
			add_at(self_fd, slash + 6);
			add("/proc/thread-self/%s", slash + 6);
			add("/proc/%d/%s", getpid(), slash + 6);
			add("/proc/%d/task/%d/%s", getpid(), getpid(), slash + 6);
			add("/proc/self/task/%d/%s", getpid(), slash + 6);
			strcpy(add("%s", slash + 6)->cwd, "/proc/self");
			strcpy(add("%s", slash + 6)->cwd, "/proc//./self/");
			strcpy(add("%s", slash + 6)->cwd, "/proc/thread-self");
		}
		strcpy(add("%s", slash + 1)->cwd, "/proc");
		strcpy(add("./%s", slash + 1)->cwd, "/proc");
		strcpy(add("../proc%s", slash)->cwd, "/proc");
		if (bind_folder) {
			add("%s%s", bind_folder, slash);
			add("%s/.%s", bind_folder, slash);
			add("%s/../%s%s", bind_folder, strrchr(bind_folder, '/') + 1, slash);
			add_link("bind", bind_folder, slash);
			strcpy(add("%s", slash + 1)->cwd, bind_folder);
		}
	}
	strcpy(add("%s", below_root)->cwd, "/");
	strcpy(add("..%s", target)->cwd, "/dev");
	strcpy(add("../..%s", target)->cwd, "/dev/shm");
	strcpy(add("../..%s", target)->cwd, "/proc/self");
	strcpy(add("../..%s", target)->cwd, "/sys/kernel");
	/* openat2 */
	for (int i = 0; i < 4; i++) {
		static const uint64_t flags[] = { RESOLVE_IN_ROOT, RESOLVE_BENEATH,
						  RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS };
		struct spelling *s = add("%s", flags[i] == RESOLVE_IN_ROOT ? target : below_root);

		s->dirfd = root_fd;
		s->resolve = flags[i];
		s = add("%s%s", up, below_root);
		s->dirfd = proc_fd;
		s->resolve = flags[i];
	}
}

/* ---- calls ---- */

static const struct spelling *at;
static const char *aim; /* the target */
static unsigned long tries, reached;
static const char *calls[64];
static unsigned n_calls;

static void tried(const char *call)
{
	unsigned i = 0;

	tries++;
	while (i < n_calls && calls[i] != call)
		i++;
	if (i == n_calls)
		calls[n_calls++] = call;
}

static void found(const char *call)
{
	if (reached++ < 40)
		printf("REACHED %s by %s: %s (folder %d, working folder %s%d)\n", aim, call,
		       at->path, at->dirfd, at->cwd, at->cwd_fd);
}

/* Returns whether the content of an open file tells anything about the host. */
static bool tells(int fd)
{
	static char text[65536];
	ssize_t n = 0, got;
	char entries[4096] __attribute__((aligned(8)));

	while (n < (ssize_t)sizeof(text) - 1 &&
	       (got = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += got;
	text[n] = 0;
	for (ssize_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	if (strstr(text, CULPRITS_MARK) || strstr(text, "--functional") ||
	    strstr(text, "libsqlite"))
		return true;
	if (strstr(aim, "maps"))
		for (char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
			if (strtoull(p, NULL, 16) >> 38)
				return true;
	while ((got = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (ssize_t i = 0; i < got; i += ((struct dirent64 *)(entries + i))->d_reclen) {
			int pid = atoi(((struct dirent64 *)(entries + i))->d_name);

			if (strstr(aim, "/proc") && !strstr(aim, "fd") && pid > 0 && pid < 1000)
				return true;
		}
	return false;
}

static void opened(const char *call, int fd, bool must_fail)
{
	char again[64];
	int fd2;

	tried(call);
	if (fd < 0)
		return;
	if (must_fail || tells(fd))
		found(call);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	fd2 = open(again, O_RDONLY | O_NONBLOCK);
	if (fd2 >= 0 && (must_fail || tells(fd2)))
		found(call);
	if (fd2 >= 0)
		close(fd2);
	fd2 = openat(fd, "mem", O_RDONLY);
	if (fd2 >= 0)
		found(call);
	if (fd2 >= 0)
		close(fd2);
	close(fd);
}

static void result(const char *call, long r, bool must_fail)
{
	tried(call);
	if (r >= 0 && must_fail)
		found(call);
}

/* hosts: nothing of that name may exist for the guest. Otherwise the file is one that culprit makes
 * up: it exists and has the content that it must have. */
static void try_all(bool hosts, bool mem)
{
	const char *p = at->path;
	int d = at->dirfd, fd;
	struct stat st;
	struct statx stx;
	struct statfs fs;
	struct timespec ts[2] = { { 1, 0 }, { 1, 0 } };
	struct open_how how = { .flags = O_RDONLY, .resolve = at->resolve };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char buf[256], *words[] = { "x", NULL };
	bool plain = d == AT_FDCWD;

	opened("openat2", (int)syscall(SYS_openat2, d, p, &how, sizeof(how)), hosts || mem);
	how.flags = O_PATH;
	opened("openat2 path", (int)syscall(SYS_openat2, d, p, &how, sizeof(how)), hosts);
	if (at->resolve)
		return;
	opened("openat", openat(d, p, O_RDONLY | O_NONBLOCK), hosts || mem);
	opened("openat rw", openat(d, p, O_RDWR | O_NONBLOCK), hosts || mem);
	opened("openat create", openat(d, p, O_WRONLY | O_CREAT | O_NONBLOCK, 0600), hosts || mem);
	opened("openat path", openat(d, p, O_PATH), hosts);
	opened("openat path nofollow", openat(d, p, O_PATH | O_NOFOLLOW),
	       hosts && !strstr(p, folder));
	opened("openat folder", openat(d, p, O_RDONLY | O_DIRECTORY), hosts || mem);
	result("fstatat", fstatat(d, p, &st, 0), hosts);
	result("statx", statx(d, p, 0, STATX_ALL, &stx), hosts);
	result("faccessat", syscall(SYS_faccessat, d, p, F_OK), hosts);
	result("faccessat2", syscall(439, d, p, R_OK, 0), hosts);
	result("fchmodat", fchmodat(d, p, 0600, 0), true);
	result("fchownat", fchownat(d, p, 0, 0, 0), true);
	result("utimensat", utimensat(d, p, ts, 0), true);
	if (hosts) {
		fd = (int)readlinkat(d, p, buf, sizeof(buf) - 1);
		buf[fd > 0 ? fd : 0] = 0;
		/* the guest may read a link of its own */
		result("readlinkat", fd, !(fd > 0 && strstr(at->path, folder)));
		fd = inotify_init1(IN_NONBLOCK);
		if (plain) {
			result("inotify", inotify_add_watch(fd, p, IN_ACCESS), true);
			result("statfs", statfs(p, &fs), true);
			result("chdir", chdir(p), true);
			result("truncate", truncate(p, 0), true);
			result("getxattr", getxattr(p, "user.x", buf, sizeof(buf)), true);
			result("listxattr", listxattr(p, buf, sizeof(buf)), true);
			result("setxattr", setxattr(p, "user.x", "x", 1, 0), true);
			result("lsetxattr", lsetxattr(p, "user.x", "x", 1, 0), true);
		}
		close(fd);
	}
	if (!strstr(at->path, folder)) { /* the guest may change its own links */
		result("mkdirat", mkdirat(d, p, 0700), true);
		result("mknodat", mknodat(d, p, S_IFIFO | 0600, 0), true);
		result("symlinkat", symlinkat("x", d, p), true);
		result("linkat", linkat(d, p, AT_FDCWD, "stolen", 0), true);
		result("linkat follow", linkat(d, p, AT_FDCWD, "stolen", AT_SYMLINK_FOLLOW), true);
		result("linkat to", linkat(AT_FDCWD, "own", d, p, 0), true);
		result("renameat", renameat(d, p, AT_FDCWD, "stolen"), true);
		result("renameat to", renameat(AT_FDCWD, "own", d, p), true);
		result("unlinkat", unlinkat(d, p, 0), true);
		result("unlinkat folder", unlinkat(d, p, AT_REMOVEDIR), true);
		if (plain && strlen(p) < sizeof(un.sun_path)) {
			strcpy(un.sun_path, p);
			fd = socket(AF_UNIX, SOCK_STREAM, 0);
			result("bind", bind(fd, (struct sockaddr *)&un, sizeof(un)), true);
			result("connect", connect(fd, (struct sockaddr *)&un, sizeof(un)), true);
			close(fd);
		}
	}
	if (plain && !strstr(at->path, "/exe")) {
		/* Success would replace this program; a wrong format means that it was read. */
		tried("execve");
		if (execve(p, words, words) < 0 && errno == ENOEXEC)
			found("execve");
	}
}

static void go(const char *target, bool hosts, bool mem)
{
	aim = target;
	spell(target);
	for (unsigned i = 0; i < n_spellings; i++) {
		at = &list[i];
		/* A working folder that cannot be entered leaves nothing to try: that is a refusal,
		 * too. */
		tried(at->cwd_fd >= 0 ? "fchdir" : "chdir");
		if (at->cwd_fd >= 0 ? fchdir(at->cwd_fd) : at->cwd[0] ? chdir(at->cwd) : 0)
			continue;
		try_all(hosts, mem);
		if (chdir(home))
			abort();
		close(open("own", O_WRONLY | O_CREAT, 0600));
	}
}

int main(int argc, char **argv)
{
	static const char *const of_self[] = { "mem",	    "maps",   "smaps",	"environ",
					       "cmdline",   "auxv",   "status", "stat",
					       "mountinfo", "mounts", "limits", "comm" };
	static const char *const of_host[] = { "mem",  "maps", "environ", "status", "cwd",
					       "root", "exe",  "fd",	  "ns/mnt", "cmdline" };
	static const char *const others[] = {
		"/proc/kcore",
		"/proc/kallsyms",
		"/proc/sysrq-trigger",
		"/proc/iomem",
		"/proc/interrupts",
		"/proc/bus",
		"/proc/keys",
		"/proc/sched_debug",
		"/proc/sys/kernel/modprobe",
		"/proc/fs",
		"/proc/irq",
		"/sys/kernel/notes",
		"/sys/power/state",
		"/sys/module/kernel",
		"/sys/firmware",
		"/sys/fs/bpf",
		"/sys/fs/cgroup/cgroup.procs",
		"/sys/kernel/debug/x",
		"/sys/devices/virtual/tty",
		"/dev/mem",
		"/dev/kmsg",
		"/dev/vda",
		"/dev/sda",
		"/dev/loop0",
		"/dev/console",
		"/dev/kvm",
		"/dev/mqueue",
		"/dev/fuse",
		"/dev/hwrng",
		"/dev/net/tun",
		"/dev/log",
		"/dev/initctl",
	};
	unsigned most = 0;
	char path[256];

	if (argc < 3 || chdir(argv[2]) || !getcwd(folder, sizeof(folder)))
		return 2;
	strcpy(home, folder);
	bind_folder = argc > 3 ? argv[3] : NULL;
	root_fd = open("/", O_RDONLY | O_DIRECTORY);
	root_path_fd = open("/", O_PATH);
	proc_fd = open("/proc", O_RDONLY | O_DIRECTORY);
	proc_path_fd = open("/proc", O_PATH);
	self_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < sizeof(of_self) / sizeof(*of_self); i++) {
		snprintf(path, sizeof(path), "/proc/self/%s", of_self[i]);
		go(path, false, !strcmp(of_self[i], "mem"));
		most = n_spellings > most ? n_spellings : most;
	}
	for (size_t i = 0; i < sizeof(of_host) / sizeof(*of_host); i++) {
		snprintf(path, sizeof(path), "/proc/%s/%s", argv[1], of_host[i]);
		go(path, true, true);
		snprintf(path, sizeof(path), "/proc/1/%s", of_host[i]);
		go(path, true, true);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		go(others[i], true, true);
	printf("tried %u spellings, %u calls, %lu tries, %lu reached\n", most, n_calls, tries,
	       reached);
	return reached != 0;
}
