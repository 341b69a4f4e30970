/* SPDX-License-Identifier: MIT */
/* System calls that name files: opening, stat, folders, links, permissions, times. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guest/process.h"

static int64_t open_path(struct guest *g, uint64_t dirfd, uint64_t addr, int flags, mode_t mode,
			 uint64_t resolve)
{
	char guest_path[PATH_BYTES], path[PATH_BYTES];
	enum fd_kind kind = FD_PLAIN;
	int dir, fd, err;
	bool follow = !(flags & O_NOFOLLOW) && !((flags & O_CREAT) && (flags & O_EXCL));
	int64_t n = mem_read_string(&g->mem, guest_path, addr, sizeof(guest_path));
	bool made = false;
	struct stat st;

	if (n < 0)
		return n;
	fd = procfs_open(g, guest_path, flags, &kind);
	if (fd < 0)
		return fd;
	if (fd == 0) {
		err = path_in(g, dirfd, addr, follow, path, &dir);
		if (err)
			return err;
		made = flags & O_CREAT && files_new(dir, path);
		if (resolve) {
			struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
						.mode = flags & (O_CREAT | O_TMPFILE) ? mode & 07777
										      : 0,
						.resolve = resolve };

			fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		} else {
			fd = openat(dir, path, flags | O_CLOEXEC, mode);
		}
		if (fd < 0)
			return -errno;
		if ((flags & O_TRUNC) && fstat(fd, &st) == 0)
			mem_file_cut(&g->mem, st.st_dev, st.st_ino);
		files_opened(g, fd, flags, made);
	}
	return fd_install(g, fd, 0, flags & O_CLOEXEC, kind);
}

int64_t sys_openat(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return open_path(g, a[0], a[1], (int)a[2], (mode_t)a[3], 0);
}

int64_t sys_openat2(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct open_how how;

	(void)t;
	if (a[3] < sizeof(how))
		return -EINVAL;
	if (copy_in(g, &how, a[2], sizeof(how)) < 0)
		return -EFAULT;
	if (how.flags >> 32)
		return -EINVAL;
	return open_path(g, a[0], a[1], (int)how.flags, (mode_t)how.mode, how.resolve);
}

/* struct stat of asm-generic, which riscv64 uses and x86-64 does not. */
struct guest_stat {
	uint64_t dev, ino;
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev, pad1;
	int64_t size;
	int32_t blksize, pad2;
	int64_t blocks;
	int64_t atime_s, atime_ns, mtime_s, mtime_ns, ctime_s, ctime_ns;
	uint32_t unused[2];
};
_Static_assert(sizeof(struct guest_stat) == 128, "struct stat of riscv64");

static int64_t stat_out(struct guest *g, uint64_t addr, const struct stat *st)
{
	struct guest_stat s = {
		.dev = st->st_dev,
		.ino = st->st_ino,
		.mode = st->st_mode,
		.nlink = (uint32_t)st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.rdev = st->st_rdev,
		.size = st->st_size,
		.blksize = (int32_t)st->st_blksize,
		.blocks = st->st_blocks,
		.atime_s = st->st_atim.tv_sec,
		.atime_ns = st->st_atim.tv_nsec,
		.mtime_s = st->st_mtim.tv_sec,
		.mtime_ns = st->st_mtim.tv_nsec,
		.ctime_s = st->st_ctim.tv_sec,
		.ctime_ns = st->st_ctim.tv_nsec,
	};

	return copy_out(g, addr, &s, sizeof(s));
}

/* A made-up file of /proc is described by what opening it would give. */
static int procfs_fd(struct guest *g, uint64_t addr)
{
	char path[PATH_BYTES];
	enum fd_kind kind;

	if (mem_read_string(&g->mem, path, addr, sizeof(path)) < 0 ||
	    strncmp(path, "/proc/", 6) != 0)
		return 0;
	return procfs_open(g, path, O_RDONLY, &kind);
}

int64_t sys_newfstatat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	struct stat st;
	int dir, err, flags = (int)a[3];

	(void)t;
	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT))
		return -EINVAL;
	err = procfs_fd(g, a[1]);
	if (err > 0) {
		int r = fstat(err, &st);

		close(err);
		st.st_mode = S_ISDIR(st.st_mode) ? st.st_mode : S_IFREG | 0444;
		st.st_size = 0;
		return r < 0 ? -EIO : stat_out(g, a[2], &st);
	}
	err = path_in(g, a[0], a[1], !(flags & AT_SYMLINK_NOFOLLOW), path, &dir);
	/* glibc's fstat passes "", Linux 6.11 on also a null pointer. */
	if (err == -EFAULT && a[1] == 0 && (flags & AT_EMPTY_PATH)) {
		path[0] = 0;
		dir = (int)a[0] == AT_FDCWD ? AT_FDCWD : fd_host(g, a[0]);
		err = dir == -1 ? -EBADF : 0;
	}
	if (err)
		return err;
	if (fstatat(dir, path, &st, flags) < 0)
		return -errno;
	return stat_out(g, a[2], &st);
}

int64_t sys_fstat(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	struct stat st;

	(void)t;
	if (host < 0)
		return -EBADF;
	return fstat(host, &st) < 0 ? -errno : stat_out(g, a[1], &st);
}

int64_t sys_statx(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	struct statx stx;
	int dir, flags = (int)a[2];
	int err = path_in(g, a[0], a[1], !(flags & AT_SYMLINK_NOFOLLOW), path, &dir);

	(void)t;
	if (err == -EFAULT && a[1] == 0 && (flags & AT_EMPTY_PATH)) {
		path[0] = 0;
		dir = (int)a[0] == AT_FDCWD ? AT_FDCWD : fd_host(g, a[0]);
		err = dir == -1 ? -EBADF : 0;
	}
	if (err)
		return err;
	if (statx(dir, path, flags, (unsigned)a[3], &stx) < 0)
		return -errno;
	return copy_out(g, a[4], &stx, sizeof(stx));
}

int64_t sys_statfs(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	struct statfs s;
	int dir, err = path_in(g, (uint64_t)AT_FDCWD, a[0], true, path, &dir);

	(void)t;
	if (err)
		return err;
	return statfs(path, &s) < 0 ? -errno : copy_out(g, a[1], &s, 120);
}

int64_t sys_fstatfs(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	struct statfs s;

	(void)t;
	if (host < 0)
		return -EBADF;
	return fstatfs(host, &s) < 0 ? -errno : copy_out(g, a[1], &s, 120);
}

int64_t sys_readlinkat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char guest_path[PATH_BYTES], path[PATH_BYTES], target[PATH_BYTES], own[64];
	const char *result = target;
	int dir, err;
	ssize_t n;
	int64_t len = mem_read_string(&g->mem, guest_path, a[1], sizeof(guest_path));

	(void)t;
	if (len < 0)
		return len;
	if ((int)a[3] <= 0)
		return -EINVAL;
	snprintf(own, sizeof(own), "/proc/%d/exe", g->pid);
	if (strcmp(guest_path, "/proc/self/exe") == 0 || strcmp(guest_path, own) == 0) {
		result = g->exe_name;
		n = (ssize_t)strlen(result);
	} else if (strcmp(guest_path, "/proc/self") == 0) {
		n = snprintf(target, sizeof(target), "%d", g->pid);
	} else {
		err = path_in(g, a[0], a[1], false, path, &dir);
		if (err)
			return err;
		n = readlinkat(dir, path, target, sizeof(target) - 1);
		if (n < 0)
			return -errno;
		target[n] = 0;
		if (strncmp(path, "/proc/self/", 11) == 0) {
			result = path_guest(g, target);
			n = (ssize_t)strlen(result);
		}
	}
	n = (ssize_t)min_u64((uint64_t)n, (uint64_t)(int)a[3]);
	return copy_out(g, a[2], result, (size_t)n) < 0 ? -EFAULT : n;
}

int64_t sys_getcwd(struct guest *g, struct thread *t, const uint64_t *a)
{
	char host[PATH_BYTES];
	const char *path;
	size_t n;

	(void)t;
	if (!getcwd(host, sizeof(host)))
		return -errno;
	path = path_guest(g, host);
	n = strlen(path) + 1;
	if (n > a[1])
		return -ERANGE;
	return copy_out(g, a[0], path, n) < 0 ? -EFAULT : (int64_t)n;
}

int64_t sys_chdir(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int dir, err = path_in(g, (uint64_t)AT_FDCWD, a[0], true, path, &dir);

	(void)t;
	return err ? err : ret_errno(chdir(path));
}

int64_t sys_fchdir(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : ret_errno(fchdir(host));
}

static int64_t do_access(struct guest *g, const uint64_t *a, int flags)
{
	char path[PATH_BYTES];
	int dir, err = path_in(g, a[0], a[1], !(flags & AT_SYMLINK_NOFOLLOW), path, &dir);

	return err ? err : ret_errno(faccessat(dir, path, (int)a[2], flags));
}

int64_t sys_faccessat(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return do_access(g, a, 0);
}

int64_t sys_faccessat2(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return do_access(g, a, (int)a[3]);
}

int64_t sys_mknodat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int dir, err = path_in(g, a[0], a[1], false, path, &dir);

	(void)t;
	if (err)
		return err;
	if (S_ISCHR((mode_t)a[2]) || S_ISBLK((mode_t)a[2]))
		return -EPERM;
	return ret_errno(mknodat(dir, path, (mode_t)a[2], (dev_t)a[3]));
}

int64_t sys_mkdirat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int dir, err = path_in(g, a[0], a[1], false, path, &dir);

	(void)t;
	if (err)
		return err;
	if (mkdirat(dir, path, (mode_t)a[2]) < 0)
		return -errno;
	files_named(g, dir, path, true);
	return 0;
}

int64_t sys_unlinkat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int dir, err = path_in(g, a[0], a[1], false, path, &dir);

	(void)t;
	return err ? err : ret_errno(unlinkat(dir, path, (int)a[2]));
}

int64_t sys_symlinkat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char target[PATH_BYTES], path[PATH_BYTES];
	int dir, err;
	int64_t n = mem_read_string(&g->mem, target, a[0], sizeof(target));

	(void)t;
	if (n < 0)
		return n;
	err = path_in(g, a[1], a[2], false, path, &dir);
	if (err)
		return err;
	if (symlinkat(target, dir, path) < 0)
		return -errno;
	files_named(g, dir, path, true);
	return 0;
}

int64_t sys_linkat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	int from_dir, to_dir,
	    err = path_in(g, a[0], a[1], (int)a[4] & AT_SYMLINK_FOLLOW, from, &from_dir);

	(void)t;
	if (!err)
		err = path_in(g, a[2], a[3], false, to, &to_dir);
	if (err)
		return err;
	if (linkat(from_dir, from, to_dir, to, (int)a[4]) < 0)
		return -errno;
	files_named(g, to_dir, to, true);
	return 0;
}

int64_t sys_renameat2(struct guest *g, struct thread *t, const uint64_t *a)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	int from_dir, to_dir, err = path_in(g, a[0], a[1], false, from, &from_dir);

	(void)t;
	if (!err)
		err = path_in(g, a[2], a[3], false, to, &to_dir);
	if (err)
		return err;

	bool made = files_new(to_dir, to);

	if (renameat2(from_dir, from, to_dir, to, (unsigned)a[4]) < 0)
		return -errno;
	files_named(g, to_dir, to, made);
	return 0;
}

int64_t sys_renameat(struct guest *g, struct thread *t, const uint64_t *a)
{
	const uint64_t b[5] = { a[0], a[1], a[2], a[3], 0 };

	return sys_renameat2(g, t, b);
}

int64_t sys_fchmod(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : ret_errno(fchmod(host, (mode_t)a[1]));
}

int64_t sys_fchmodat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int dir, err = path_in(g, a[0], a[1], true, path, &dir);

	(void)t;
	return err ? err : ret_errno(fchmodat(dir, path, (mode_t)a[2], 0));
}

int64_t sys_fchownat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int dir, err = path_in(g, a[0], a[1], !((int)a[4] & AT_SYMLINK_NOFOLLOW), path, &dir);

	(void)t;
	return err ? err : ret_errno(fchownat(dir, path, (uid_t)a[2], (gid_t)a[3], (int)a[4]));
}

int64_t sys_fchown(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);

	(void)t;
	return host < 0 ? -EBADF : ret_errno(fchown(host, (uid_t)a[1], (gid_t)a[2]));
}

int64_t sys_utimensat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	struct timespec ts[2];
	int dir, err;

	(void)t;
	if (a[2] && copy_in(g, ts, a[2], sizeof(ts)) < 0)
		return -EFAULT;
	if (!a[1]) {
		dir = fd_host(g, a[0]);
		return dir < 0 ? -EBADF : ret_errno(futimens(dir, a[2] ? ts : NULL));
	}
	err = path_in(g, a[0], a[1], !((int)a[3] & AT_SYMLINK_NOFOLLOW), path, &dir);
	return err ? err : ret_errno(utimensat(dir, path, a[2] ? ts : NULL, (int)a[3]));
}

int64_t sys_umask(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	g->umask_value = (uint32_t)a[0] & 0777;
	return umask((mode_t)a[0]);
}

/* ---- extended attributes: names and values pass through ---- */

#define XATTR_MAX 65536

static int64_t xattr_get(struct guest *g, const uint64_t *a, int host, const char *path,
			 bool follow)
{
	char name[256];
	uint64_t n = min_u64(a[3], XATTR_MAX);
	void *buf;
	ssize_t got;

	if (mem_read_string(&g->mem, name, a[1], sizeof(name)) < 0)
		return -EFAULT;
	buf = n ? host_ptr(g, a[2], n) : NULL;
	if (n && !buf)
		return -EFAULT;
	got = !path    ? fgetxattr(host, name, buf, n)
	      : follow ? getxattr(path, name, buf, n)
		       : lgetxattr(path, name, buf, n);
	return ret_errno(got);
}

static int64_t xattr_set(struct guest *g, const uint64_t *a, int host, const char *path,
			 bool follow)
{
	char name[256];
	void *buf = host_ptr(g, a[2], min_u64(a[3], XATTR_MAX));

	if (mem_read_string(&g->mem, name, a[1], sizeof(name)) < 0 || !buf)
		return -EFAULT;
	if (a[3] > XATTR_MAX)
		return -E2BIG;
	return ret_errno(!path	  ? fsetxattr(host, name, buf, a[3], (int)a[4])
			 : follow ? setxattr(path, name, buf, a[3], (int)a[4])
				  : lsetxattr(path, name, buf, a[3], (int)a[4]));
}

static int64_t xattr_list(struct guest *g, const uint64_t *a, int host, const char *path,
			  bool follow)
{
	uint64_t n = min_u64(a[2], XATTR_MAX);
	char *buf = n ? host_ptr(g, a[1], n) : NULL;

	if (n && !buf)
		return -EFAULT;
	return ret_errno(!path	  ? flistxattr(host, buf, n)
			 : follow ? listxattr(path, buf, n)
				  : llistxattr(path, buf, n));
}

#define XATTR(call, work, follow)                                                                  \
	int64_t sys_##call(struct guest *g, struct thread *t, const uint64_t *a)                   \
	{                                                                                          \
		char path[PATH_BYTES];                                                             \
		int dir, err = path_in(g, (uint64_t)AT_FDCWD, a[0], follow, path, &dir);           \
                                                                                                   \
		(void)t;                                                                           \
		return err ? err : work(g, a, -1, path, follow);                                   \
	}
#define FXATTR(call, work)                                                                         \
	int64_t sys_##call(struct guest *g, struct thread *t, const uint64_t *a)                   \
	{                                                                                          \
		int host = fd_host(g, a[0]);                                                       \
                                                                                                   \
		(void)t;                                                                           \
		return host < 0 ? -EBADF : work(g, a, host, NULL, true);                           \
	}

XATTR(getxattr, xattr_get, true)
XATTR(lgetxattr, xattr_get, false)
FXATTR(fgetxattr, xattr_get)
XATTR(setxattr, xattr_set, true)
XATTR(lsetxattr, xattr_set, false)
FXATTR(fsetxattr, xattr_set)
XATTR(listxattr, xattr_list, true)
XATTR(llistxattr, xattr_list, false)
FXATTR(flistxattr, xattr_list)
