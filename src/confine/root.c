/* SPDX-License-Identifier: MIT */
/*
 * Makes a root folder for the sandbox out of mounts: what may be read is mounted read-only; what
 * may be written is mounted as it is; an overlay is a folder with an upper layer in memory; a
 * scratch folder is empty. Nothing else exists. /proc shows the processes of the namespace, /dev a
 * few harmless devices.
 *
 * pivot_root is called twice. After the first call the old root is at /old, whole, and everything
 * is put together at /new; the second call leaves /new alone. A folder with something mounted below
 * it gets no overlay, which would hide the mount; it can only be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confine_int.h"
#include "util/array.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

#define OLD "/old"
#define NEW "/new"

/* A later kind replaces an earlier one of the same path. */
enum kind {
	KIND_WRITE,
	KIND_OVERLAY,
	KIND_READ,
	KIND_SCRATCH,
};

struct entry {
	char *path; /* without links */
	char *name; /* as it was given, if that has some; or NULL */
	enum kind kind;
	bool *covered; /* overlays: to be set */
};

struct root {
	struct entry *all;
	size_t count;
	bool whole;	 /* the plan has "/": NEW is all of the old root */
	unsigned layers; /* overlays so far */
	const struct confine_plan *plan;
};

static void add(struct root *r, char *const *paths, enum kind kind, bool *covered)
{
	for (size_t i = 0; paths && paths[i]; i++) {
		char *real = realpath(paths[i], NULL);

		if (!real)
			continue;
		if (!strcmp(real, "/")) {
			r->whole |= kind == KIND_READ || kind == KIND_WRITE;
			free(real);
			continue;
		}
		*ARRAY_ADD(r->all, r->count) = (struct entry){
			.path = real,
			.name = strcmp(real, paths[i]) ? x_strdup(paths[i]) : NULL,
			.kind = kind,
			.covered = covered ? &covered[i] : NULL,
		};
	}
}

/* A folder comes before what is in it. */
static int by_path(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;
	int order = strcmp(a->path, b->path);

	return order ? order : (int)a->kind - (int)b->kind;
}

static void root_free(struct root *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->all[i].path);
		free(r->all[i].name);
	}
	free(r->all);
}

static bool in_root(char out[PATH_MAX], const char *root, const char *path)
{
	return snprintf(out, PATH_MAX, "%s%s", root, path) < PATH_MAX;
}

/* Makes the folders above path, and path itself if it is to be a folder. */
static void make_folders(char *path, bool itself)
{
	for (char *p = path + 1; *p; p++)
		if (*p == '/') {
			*p = 0;
			mkdir(path, 0755);
			*p = '/';
		}
	if (itself)
		mkdir(path, 0755);
}

/* Makes an empty file or folder to mount on. */
static bool make_place(char *path, mode_t mode)
{
	struct stat st;
	int fd;

	if (!stat(path, &st))
		return true;
	make_folders(path, S_ISDIR(mode));
	if (S_ISDIR(mode))
		return true;
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool make_readonly(const char *path)
{
	/* struct mount_attr; the C library's header and the kernel's exclude each other */
	struct {
		uint64_t set, clear, propagation, userns_fd;
	} attr = { .set = 1 /* MOUNT_ATTR_RDONLY */ | 2 /* … NOSUID */ };

	return !syscall(SYS_mount_setattr, AT_FDCWD, path, 0x8000 /* AT_RECURSIVE */, &attr,
			sizeof(attr));
}

static bool bind(const char *path, bool readonly)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;

	if (!in_root(from, OLD, path) || !in_root(to, NEW, path) || stat(from, &st) ||
	    !make_place(to, st.st_mode) || mount(from, to, NULL, MS_BIND | MS_REC, NULL))
		return false;
	return !readonly || make_readonly(to);
}

static bool has_mounts(const char *folder)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], at[4096];
	bool found = !f;

	while (!found && fgets(line, sizeof(line), f)) {
		bool known = sscanf(line, "%*s %*s %*s %*s %4095s", at) == 1;
		const char *rest = known ? path_below(at, folder) : NULL;

		found = !known || (rest && *rest);
	}
	if (f)
		fclose(f);
	return found;
}

/* Opens the folder of a path in an overlay; never leaves the overlay, whatever the path says. */
static void take_away(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve =
				    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
	const char *name = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int fd;

	if (name)
		snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
	fd = (int)syscall(SYS_openat2, root, folder, &how, sizeof(how));
	if (fd < 0)
		return;
	name = name ? name + 1 : path;
	if (unlinkat(fd, name, 0))
		unlinkat(fd, name, AT_REMOVEDIR);
	close(fd);
}

static void take_all_away(const struct root *r, const char *folder, int root)
{
	size_t count = 0;

	while (r->plan->absent && r->plan->absent[count])
		count++;
	/* from the last to the first: folders come before what is in them */
	while (count-- > 0) {
		const char *rest = path_below(r->plan->absent[count], folder);

		if (rest && *rest)
			take_away(root, rest);
	}
}

static bool cover(struct root *r, const char *folder)
{
	char upper[64], work[64], from[PATH_MAX], to[PATH_MAX], options[2 * PATH_MAX];
	struct stat st;
	int fd;

	snprintf(upper, sizeof(upper), "/layers/%u", 2 * r->layers);
	snprintf(work, sizeof(work), "/layers/%u", 2 * r->layers + 1);
	/* these separate options */
	if (strpbrk(folder, ",:\\") || !in_root(from, OLD, folder) || !in_root(to, NEW, folder) ||
	    stat(from, &st) || !S_ISDIR(st.st_mode) || !make_place(to, st.st_mode) ||
	    mkdir(upper, 0777) || mkdir(work, 0777) || chmod(upper, st.st_mode & 07777))
		return false;
	r->layers++;
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s", from, upper, work);
	if (mount("overlay", to, "overlay", MS_NOSUID | MS_NODEV, options)) {
		strcat(options, ",userxattr");
		if (mount("overlay", to, "overlay", MS_NOSUID | MS_NODEV, options))
			return false;
	}
	fd = open(to, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	take_all_away(r, folder, fd);
	close(fd);
	return true;
}

static bool scratch(const struct root *r, const char *path)
{
	char to[PATH_MAX], mode[32];
	struct stat st;

	if (!in_root(to, OLD, path))
		return false;
	snprintf(mode, sizeof(mode), "mode=%o", stat(to, &st) ? 0755u : st.st_mode & 07777u);
	in_root(to, NEW, path);
	make_folders(to, true);
	return !mount("tmpfs", to, "tmpfs", MS_NOSUID | MS_NODEV, mode);
}

/* A path inside a folder that is mounted already needs no mount of its own to be read. */
static bool is_there(const struct root *r, size_t at)
{
	if (r->all[at].kind != KIND_READ)
		return false;
	for (size_t i = at; i-- > 0;)
		if (r->all[i].kind != KIND_SCRATCH && path_below(r->all[at].path, r->all[i].path))
			return true;
	return r->whole;
}

static bool put(struct root *r, const struct entry *e, bool mounts)
{
	switch (e->kind) {
	case KIND_WRITE:
		return bind(e->path, false);
	case KIND_OVERLAY:
		*e->covered = !mounts && cover(r, e->path);
		return *e->covered || bind(e->path, true);
	case KIND_READ:
		return bind(e->path, true);
	case KIND_SCRATCH:
		return scratch(r, e->path);
	}
	return false;
}

/* Makes symbolic links to what is there: for names that led through links, and those of a merged
 * /usr. */
static void put_links(const struct root *r)
{
	static const char *const merged[] = { "/bin", "/sbin", "/lib", "/lib64", "/var/run" };
	char from[PATH_MAX], to[PATH_MAX], target[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(merged); i++) {
		ssize_t n =
		    in_root(from, OLD, merged[i]) ? readlink(from, target, sizeof(target) - 1) : -1;

		if (n <= 0)
			continue;
		target[n] = 0;
		in_root(to, NEW, merged[i]);
		make_folders(to, false);
		if (symlink(target, to))
			continue; /* it is there */
	}
	for (size_t i = 0; i < r->count; i++) {
		const struct entry *e = &r->all[i];

		if (!e->name || !in_root(to, NEW, e->name))
			continue;
		make_folders(to, false);
		if (symlink(e->path, to))
			continue;
	}
}

/* Terminals: a /dev/pts of the sandbox's own, or the host's if a standard stream is a terminal
 * of it. */
static bool put_terminals(const struct confine_plan *plan)
{
	const bool there = plan->terminal
			       ? bind("/dev/pts", false)
			       : !mount("devpts", NEW "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
					"newinstance,ptmxmode=0666,mode=620");

	return !there || !symlink("pts/ptmx", NEW "/dev/ptmx");
}

/* /proc of the processes inside, read-only; devices that hold nothing, and terminals. */
static bool put_kernels(const struct confine_plan *plan, bool whole)
{
	static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					       "/dev/random", "/dev/urandom", "/dev/tty" };

	mkdir(NEW "/proc", 0755);
	mkdir(NEW "/dev", 0755);
	if (whole && mount("tmpfs", NEW "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755"))
		return false;
	mkdir(NEW "/dev/pts", 0755);
	mkdir(NEW "/dev/shm", 01777);
	chmod(NEW "/dev/shm", 01777);
	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		bind(devices[i], true); /* read-only mode and owner: it can be written to */
	if (!put_terminals(plan))
		return false;
	if (!mount("proc", NEW "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL))
		return true;
	/* where the kernel does not allow a new /proc: the one that is there */
	return bind("/proc", true);
}

/* All of the old root, read-only, less the folder of sockets of the system's services. */
static bool put_whole(void)
{
	return !mount(OLD, NEW, NULL, MS_BIND | MS_REC, NULL) && make_readonly(NEW) &&
	       (mount("tmpfs", NEW "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0 ||
		access(NEW "/run", F_OK));
}

static bool pivot(const char *new_root, const char *put_old)
{
	return !syscall(SYS_pivot_root, new_root, put_old);
}

static bool begin_root(const struct confine_plan *plan)
{
	char size[64] = "mode=0755";

	if (plan->limit_output)
		snprintf(size, sizeof(size), "mode=0755,size=%llu",
			 (unsigned long long)max_u64(plan->limit_output, 1 << 16));
	return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", P_tmpdir, "tmpfs", MS_NOSUID | MS_NODEV, size) && !chdir(P_tmpdir) &&
	       !mkdir("old", 0755) && !mkdir("new", 0755) && !mkdir("layers", 0755) &&
	       pivot(".", "old") && !chdir("/") &&
	       !mount("tmpfs", NEW, "tmpfs", MS_NOSUID | MS_NODEV, size);
}

static bool end_root(const char *folder)
{
	if (chdir(NEW) || !pivot(".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
		return false;
	return !chdir(folder) || !chdir("/");
}

bool root_build(const struct confine_plan *plan, bool *covered)
{
	struct root r = { .plan = plan };
	char *folder = getcwd(NULL, 0);
	bool ok, *mounts;

	add(&r, plan->write, KIND_WRITE, NULL);
	add(&r, plan->overlay, KIND_OVERLAY, covered);
	add(&r, plan->read, KIND_READ, NULL);
	add(&r, plan->scratch, KIND_SCRATCH, NULL);
	if (r.count)
		qsort(r.all, r.count, sizeof(*r.all), by_path);
	mounts = x_calloc(r.count + 1, sizeof(*mounts));
	for (size_t i = 0; i < r.count; i++)
		mounts[i] = r.all[i].kind == KIND_OVERLAY && has_mounts(r.all[i].path);
	ok = folder && begin_root(plan) && (!r.whole || put_whole());
	for (size_t i = 0; ok && i < r.count; i++)
		if ((!i || strcmp(r.all[i].path, r.all[i - 1].path)) && !is_there(&r, i))
			ok = put(&r, &r.all[i], mounts[i]);
	if (ok && !r.whole)
		put_links(&r);
	ok = ok && put_kernels(plan, r.whole) && end_root(folder);
	free(mounts);
	free(folder);
	root_free(&r);
	return ok;
}
