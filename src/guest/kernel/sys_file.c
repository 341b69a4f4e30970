/* SPDX-License-Identifier: MIT */
/* System calls that name files: opening, stat, folders, links, permissions, times. */
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/files.h"
#include "guest/files/input.h"
#include "guest/files/nodes.h"
#include "guest/files/owner.h"
#include "guest/files/path.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"

#define RESOLVE_KNOWN                                                                              \
	(RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH |         \
	 RESOLVE_IN_ROOT | RESOLVE_CACHED)

static unsigned find_flags(int flags)
{
	return (flags & AT_SYMLINK_NOFOLLOW ? 0 : PATH_FOLLOW) |
	       (flags & AT_EMPTY_PATH ? PATH_EMPTY | PATH_NULL : 0);
}

static int64_t open_node(struct guest *g, const struct node *n, int flags)
{
	enum fd_kind kind;
	int host = node_open(g, n, flags, &kind);
	int64_t fd = host < 0 ? host : fd_install(g, host, 0, flags & O_CLOEXEC, kind);

	if (fd >= 0)
		g->fds[fd].node = *n;
	input_opened(g, fd);
	return fd;
}

static int64_t open_path(struct guest *g, uint64_t dirfd, uint64_t addr, int flags, mode_t mode,
			 uint64_t resolve)
{
	bool follow = !(flags & O_NOFOLLOW) && !((flags & O_CREAT) && (flags & O_EXCL));
	struct path_at at;
	struct node device;
	int64_t fd;
	struct stat st;
	bool made = false;
	int err = path_find_at(g, dirfd, addr,
			       (follow ? PATH_FOLLOW : 0) | (flags & O_CREAT ? PATH_MAKE : 0) |
				   (unsigned)(resolve << PATH_RESOLVE_SHIFT),
			       &at);

	if (err)
		return err;
	if (at.node.row) {
		fd = open_node(g, &at.node, flags);
		path_done(&at);
		return fd;
	}
	err = path_stat(g, &at, &st);
	if (!err && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) && (*at.name || flags & O_PATH)) {
		/* A device node, wherever it lies, is one of the guest's own devices or cannot
		 * be opened. */
		fd = S_ISCHR(st.st_mode) && node_of_device(g, st.st_rdev, &device)
			 ? open_node(g, &device, flags)
			 : -EACCES;
		path_done(&at);
		return fd;
	}
	if (err == -EACCES) {
		path_done(&at);
		return err;
	}
	made = flags & O_CREAT && err == -ENOENT;
	fd = path_open(g, &at, flags, mode);
	path_done(&at);
	if (fd < 0)
		return fd;
	if ((flags & O_TRUNC) && fstat((int)fd, &st) == 0)
		mem_file_cut(&g->mem, st.st_dev, st.st_ino);
	files_opened(g, (int)fd, flags, made);
	fd = fd_install(g, (int)fd, 0, flags & O_CLOEXEC, FD_PLAIN);
	input_opened(g, fd);
	return fd;
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
	if (how.flags >> 32 || how.mode & ~07777ull || how.resolve & ~(uint64_t)RESOLVE_KNOWN ||
	    (how.resolve & RESOLVE_BENEATH && how.resolve & RESOLVE_IN_ROOT))
		return -EINVAL;
	if (how.resolve & RESOLVE_CACHED)
		return -EAGAIN; /* "not without waiting" is always a right answer */
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

/*
 * Libraries size their buffers, and programs choose how to copy, by what a file system says of
 * itself. All files of the guest seem to be on one file system of the most usual kind, with blocks
 * of BLOCK_BYTES and constant free space, so that a run does not depend on where its files lie or
 * how full the disk is.
 */
#define BLOCK_BYTES 4096
#define FS_BLOCKS   (1 << 28)
#define FS_FILES    (1 << 26)

static bool has_blocks(mode_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
}

static uint64_t blocks_512(uint64_t size_bytes)
{
	return (size_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * (BLOCK_BYTES / 512);
}

static void steady_statfs(struct statfs *s)
{
	switch (s->f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEVPTS_SUPER_MAGIC:
		return;
	default:
		*s = (struct statfs){ .f_type = EXT4_SUPER_MAGIC,
				      .f_bsize = BLOCK_BYTES,
				      .f_frsize = BLOCK_BYTES,
				      .f_blocks = FS_BLOCKS,
				      .f_bfree = FS_BLOCKS / 2,
				      .f_bavail = FS_BLOCKS / 2,
				      .f_files = FS_FILES,
				      .f_ffree = FS_FILES / 2,
				      .f_namelen = 255,
				      .f_flags = s->f_flags };
	}
}

static void steady_stat(struct guest *g, struct stat *st)
{
	struct file_ids ids = { st->st_dev, st->st_ino, st->st_rdev, st->st_nlink };

	input_steady(g, &ids);
	st->st_dev = ids.dev;
	st->st_ino = ids.ino;
	st->st_rdev = ids.rdev;
	st->st_nlink = ids.nlink;
	if (has_blocks(st->st_mode)) {
		st->st_blksize = BLOCK_BYTES;
		st->st_blocks = (blkcnt_t)blocks_512((uint64_t)st->st_size);
	}
}

static int64_t stat_out(struct guest *g, uint64_t addr, struct stat *st)
{
	steady_stat(g, st);

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

int64_t sys_newfstatat(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	struct stat st;
	int err, flags = (int)a[3];

	(void)t;
	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT))
		return -EINVAL;
	err = path_find_at(g, a[0], a[1], find_flags(flags), &at);
	if (err)
		return err;
	err = path_stat(g, &at, &st);
	path_done(&at);
	return err ? err : stat_out(g, a[2], &st);
}

int64_t sys_fstat(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);
	struct stat st;

	(void)t;
	if (!f)
		return -EBADF;
	if (f->node.row) {
		node_stat(g, &f->node, &st);
	} else {
		if (fstat(f->host, &st) < 0)
			return -errno;
		owner_show(g, &st);
	}
	return stat_out(g, a[1], &st);
}

/* Fills in what path_stat says, in the fields that struct statx shares with struct stat. */
static void statx_show(struct statx *x, const struct stat *st)
{
	x->stx_mode = (uint16_t)st->st_mode;
	x->stx_nlink = (uint32_t)st->st_nlink;
	x->stx_uid = st->st_uid;
	x->stx_gid = st->st_gid;
	x->stx_ino = st->st_ino;
	x->stx_size = (uint64_t)st->st_size;
	x->stx_blocks = (uint64_t)st->st_blocks;
	x->stx_blksize = (uint32_t)st->st_blksize;
	x->stx_dev_major = major(st->st_dev);
	x->stx_dev_minor = minor(st->st_dev);
	x->stx_rdev_major = major(st->st_rdev);
	x->stx_rdev_minor = minor(st->st_rdev);
	x->stx_atime =
	    (struct statx_timestamp){ st->st_atim.tv_sec, (uint32_t)st->st_atim.tv_nsec, 0 };
	x->stx_mtime =
	    (struct statx_timestamp){ st->st_mtim.tv_sec, (uint32_t)st->st_mtim.tv_nsec, 0 };
	x->stx_ctime =
	    (struct statx_timestamp){ st->st_ctim.tv_sec, (uint32_t)st->st_ctim.tv_nsec, 0 };
}

int64_t sys_statx(struct guest *g, struct thread *t, const uint64_t *a)
{
	int flags = (int)a[2];
	struct path_at at;
	struct statx stx = { .stx_mask = STATX_BASIC_STATS };
	struct stat st;
	int err;

	(void)t;
	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_SYNC_TYPE) ||
	    (unsigned)a[3] & STATX__RESERVED)
		return -EINVAL;
	err = path_find_at(g, a[0], a[1], find_flags(flags), &at);
	if (err)
		return err;
	err = path_stat(g, &at, &st);
	if (!err && !at.node.row &&
	    statx(at.dir, at.name,
		  AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | (flags & AT_STATX_SYNC_TYPE),
		  (unsigned)a[3] | STATX_BASIC_STATS, &stx) < 0)
		err = -errno;
	path_done(&at);
	if (err)
		return err;
	steady_stat(g, &st);
	statx_show(&stx, &st);
	stx.stx_mnt_id = 0; /* the host's mounts are not the guest's */
	stx.stx_mask &= ~(uint32_t)STATX_MNT_ID;
	return copy_out(g, a[4], &stx, sizeof(stx));
}

int64_t sys_statfs(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	struct statfs s;
	int err = path_find_at(g, (uint64_t)AT_FDCWD, a[0], PATH_FOLLOW, &at), fd;

	(void)t;
	if (err)
		return err;
	if (at.node.row) {
		node_statfs(&at.node, &s);
	} else {
		fd = path_object(g, &at);
		err = fd < 0 ? fd : fstatfs(fd, &s) < 0 ? -errno : 0;
		if (fd >= 0)
			close(fd);
		steady_statfs(&s);
	}
	path_done(&at);
	return err ? err : copy_out(g, a[1], &s, 120);
}

int64_t sys_fstatfs(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);
	struct statfs s;
	struct stat st;
	struct node device;

	(void)t;
	if (!f)
		return -EBADF;
	if (f->node.row)
		node_statfs(&f->node, &s);
	else if (!fstat(f->host, &st) && S_ISCHR(st.st_mode) &&
		 node_of_device(g, st.st_rdev, &device))
		node_statfs(&device, &s);
	else if (fstatfs(f->host, &s) < 0)
		return -errno;
	else
		steady_statfs(&s);
	return copy_out(g, a[1], &s, 120);
}

int64_t sys_readlinkat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char target[PATH_BYTES];
	struct path_at at;
	ssize_t n;
	int err;

	(void)t;
	if ((int)a[3] <= 0)
		return -EINVAL;
	err = path_find_at(g, a[0], a[1], PATH_EMPTY, &at);
	if (err)
		return err;
	if (at.node.row)
		n = node_readlink(g, &at.node, target);
	else if (at.is_dir)
		n = -EINVAL;
	else if ((n = readlinkat(at.dir, at.name, target, sizeof(target))) < 0)
		n = -errno;
	path_done(&at);
	if (n < 0)
		return n;
	n = (ssize_t)min_u64((uint64_t)n, (uint64_t)(int)a[3]);
	return copy_out(g, a[2], target, (size_t)n) < 0 ? -EFAULT : n;
}

int64_t sys_getcwd(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int err = path_cwd(g, path);
	size_t n;

	(void)t;
	if (err)
		return err;
	n = strlen(path) + 1;
	if (n > a[1])
		return -ERANGE;
	return copy_out(g, a[0], path, n) < 0 ? -EFAULT : (int64_t)n;
}

static int64_t enter(struct guest *g, struct path_at *at)
{
	struct stat st;
	int err = path_stat(g, at, &st);

	if (!err && !S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (!err && g->world.super && !owner_may(g, &st, X_OK))
		err = -EACCES;
	if (!err && !at->node.row && fchdir(at->dir) < 0)
		err = -errno;
	if (!err)
		g->world.cwd = at->node;
	path_done(at);
	return err;
}

int64_t sys_chdir(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int err = path_find_at(g, (uint64_t)AT_FDCWD, a[0], PATH_FOLLOW, &at);

	(void)t;
	return err ? err : enter(g, &at);
}

int64_t sys_fchdir(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	/* the folder's ".", so that it is checked like any folder in a path */
	int err = path_find(g, (int)a[0] == AT_FDCWD ? UINT32_MAX : a[0], ".", 0, &at);

	(void)t;
	return err ? err : enter(g, &at);
}

static int64_t do_access(struct guest *g, const uint64_t *a, int flags)
{
	struct path_at at;
	int err;

	if ((int)a[2] & ~(R_OK | W_OK | X_OK) ||
	    flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	err = path_find_at(g, a[0], a[1], find_flags(flags), &at);
	if (err)
		return err;
	err = path_access(g, &at, (int)a[2]);
	path_done(&at);
	return err;
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

/* For calls that make, move or remove a name: 0 if `at` is a name in a folder of the host in which
 * the guest may do that. */
static int find_name(struct guest *g, uint64_t dirfd, uint64_t addr, bool make, struct path_at *at)
{
	int err = path_find_at(g, dirfd, addr, PATH_NAME, at);
	struct stat st;

	if (err)
		return err;
	if (!at->node.row && !*at->name) /* "/", "." or ".." */
		err = make ? -EEXIST : -EBUSY;
	else if (at->node.row)
		err = make ? -EEXIST : -EACCES;
	else if (g->world.super && fstat(at->dir, &st) == 0 && !owner_may(g, &st, W_OK | X_OK) &&
		 !(make && path_stat(g, at, &st) == 0))
		err = -EACCES;
	if (err)
		path_done(at);
	return err;
}

/* A name has appeared that was not there. */
static void named(struct guest *g, const struct path_at *at, bool made)
{
	view_made(g, at, -1);
	files_named(g, at->dir, at->name, made);
}

int64_t sys_mknodat(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int err = find_name(g, a[0], a[1], true, &at);

	(void)t;
	if (err)
		return err;
	if (S_ISCHR((mode_t)a[2]) || S_ISBLK((mode_t)a[2]))
		err = -EPERM;
	else if ((err = view_make(g, &at)) == 0) {
		if (mknodat(at.dir, at.name, owner_mode((mode_t)a[2]), 0) < 0)
			err = -errno;
		else
			view_made(g, &at, -1);
	}
	path_done(&at);
	return err;
}

int64_t sys_mkdirat(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int err = find_name(g, a[0], a[1], true, &at);

	(void)t;
	if (err)
		return err;
	err = view_make(g, &at);
	if (!err && mkdirat(at.dir, at.name, (mode_t)a[2]) < 0)
		err = -errno;
	if (!err)
		named(g, &at, true);
	path_done(&at);
	return err;
}

int64_t sys_unlinkat(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int err = find_name(g, a[0], a[1], false, &at);

	(void)t;
	if (err)
		return err;
	if (g->view)
		err = view_unlink(g, &at, (int)a[2]);
	else if (unlinkat(at.dir, at.name, (int)a[2]) < 0)
		err = -errno;
	path_done(&at);
	return err;
}

int64_t sys_symlinkat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char target[PATH_BYTES];
	struct path_at at;
	int err;
	int64_t n = mem_read_string(&g->mem, target, a[0], sizeof(target));

	(void)t;
	if (n < 0)
		return n;
	err = find_name(g, a[1], a[2], true, &at);
	if (err)
		return err;
	err = view_make(g, &at);
	if (!err && symlinkat(target, at.dir, at.name) < 0)
		err = -errno;
	if (!err)
		named(g, &at, true);
	path_done(&at);
	return err;
}

/* Device nodes are not moved. */
static bool is_device_name(struct guest *g, const struct path_at *at)
{
	struct stat st;

	return path_stat(g, at, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode));
}

int64_t sys_linkat(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at from, to;
	int flags = (int)a[4], err, r;
	char link[FD_PATH_BYTES];

	(void)t;
	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	err = path_find_at(g, a[0], a[1],
			   (flags & AT_SYMLINK_FOLLOW ? PATH_FOLLOW : 0) |
			       (flags & AT_EMPTY_PATH ? PATH_EMPTY : 0),
			   &from);
	if (err)
		return err;
	err = from.node.row ? -EXDEV : from.is_dir || is_device_name(g, &from) ? -EPERM : 0;
	if (!err)
		err = find_name(g, a[2], a[3], true, &to);
	if (!err) {
		struct stat st;

		if (g->view && *from.name && path_stat(g, &from, &st) < 0)
			err = -ENOENT;
		if (!err)
			err = view_make(g, &to);
		if (!err)
			err = view_change(g, &from, true);
		if (err)
			path_done(&to);
	}
	if (!err) {
		if (*from.name) {
			r = linkat(from.dir, from.name, to.dir, to.name, 0);
		} else {
			path_to_fd(from.dir, link);
			r = linkat(AT_FDCWD, link, to.dir, to.name, AT_SYMLINK_FOLLOW);
		}
		if (r < 0)
			err = -errno;
		else
			files_named(g, to.dir, to.name, true);
		path_done(&to);
	}
	path_done(&from);
	return err;
}

int64_t sys_renameat2(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at from, to;
	bool made;
	int err = find_name(g, a[0], a[1], false, &from);

	(void)t;
	if (err)
		return err;
	err = is_device_name(g, &from) ? -EPERM : find_name(g, a[2], a[3], false, &to);
	if (!err) {
		made = files_new(to.dir, to.name);
		if (is_device_name(g, &to))
			err = -EPERM;
		else if (g->view)
			err = view_rename(g, &from, &to, (unsigned)a[4]);
		else if (renameat2(from.dir, from.name, to.dir, to.name, (unsigned)a[4]) < 0)
			err = -errno;
		else
			files_named(g, to.dir, to.name, made);
		path_done(&to);
	}
	path_done(&from);
	return err;
}

int64_t sys_renameat(struct guest *g, struct thread *t, const uint64_t *a)
{
	const uint64_t b[5] = { a[0], a[1], a[2], a[3], 0 };

	return sys_renameat2(g, t, b);
}

/* Whether the file's mode may be changed: 0 and st, or -errno. */
static int may_change(struct guest *g, const struct path_at *at, struct stat *st)
{
	int err = path_stat(g, at, st);

	if (err)
		return err;
	if (at->node.row || S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) || st->st_uid != GUEST_UID)
		return -EPERM;
	return 0;
}

/* fd may be O_PATH, which fchmod does not take. */
static int host_chmod(int fd, mode_t mode)
{
	char link[FD_PATH_BYTES];

	if (syscall(452 /* fchmodat2 */, fd, "", mode, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	path_to_fd(fd, link);
	return chmod(link, mode) < 0 ? -errno : 0;
}

static int64_t change_mode(struct guest *g, struct path_at *at, mode_t mode)
{
	struct stat st;
	int err = may_change(g, at, &st), fd;

	if (!err && S_ISLNK(st.st_mode))
		err = -EOPNOTSUPP;
	if (!err) {
		if (!S_ISDIR(st.st_mode))
			mode = owner_mode(mode);
		err = view_chmod(g, at, mode & 07777);
		if (!err) {
			fd = path_object(g, at);
			err = fd < 0 ? fd : host_chmod(fd, mode & 07777);
			if (fd >= 0)
				close(fd);
		}
		err = err > 0 ? 0 : err;
	}
	path_done(at);
	return err;
}

int64_t sys_fchmod(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int err = (int)a[0] < 0 ? -EBADF : path_find(g, a[0], "", PATH_EMPTY, &at);

	(void)t;
	return err ? err : change_mode(g, &at, (mode_t)a[1]);
}

int64_t sys_fchmodat(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int err = path_find_at(g, a[0], a[1], PATH_FOLLOW, &at);

	(void)t;
	return err ? err : change_mode(g, &at, (mode_t)a[2]);
}

int64_t sys_fchmodat2(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int flags = (int)a[3], err;

	(void)t;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	err = path_find_at(g, a[0], a[1], find_flags(flags), &at);
	return err ? err : change_mode(g, &at, (mode_t)a[2]);
}

/* The owner on the host never changes. */
static int64_t change_owner(struct guest *g, struct path_at *at, uint64_t uid, uint64_t gid)
{
	struct stat st;
	int err = path_stat(g, at, &st);

	path_done(at);
	return err ? err : owner_change(&st, (uint32_t)uid, (uint32_t)gid);
}

int64_t sys_fchownat(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int flags = (int)a[4], err;

	(void)t;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	err = path_find_at(g, a[0], a[1], find_flags(flags), &at);
	return err ? err : change_owner(g, &at, a[2], a[3]);
}

int64_t sys_fchown(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct path_at at;
	int err = (int)a[0] < 0 ? -EBADF : path_find(g, a[0], "", PATH_EMPTY, &at);

	(void)t;
	return err ? err : change_owner(g, &at, a[1], a[2]);
}

static bool sets_now(const struct timespec *ts)
{
	return !ts || (ts[0].tv_nsec == UTIME_NOW && ts[1].tv_nsec == UTIME_NOW);
}

int64_t sys_utimensat(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct timespec ts[2], *times = a[2] ? ts : NULL;
	int flags = (int)a[3], err;
	struct path_at at;
	struct stat st;

	(void)t;
	if (a[2] && copy_in(g, ts, a[2], sizeof(ts)) < 0)
		return -EFAULT;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!a[1])
		err = (int)a[0] < 0 ? -EBADF : path_find(g, a[0], "", PATH_EMPTY, &at);
	else
		err = path_find_at(g, a[0], a[1], find_flags(flags), &at);
	if (err)
		return err;
	err = path_stat(g, &at, &st);
	if (!err && (at.node.row || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))) {
		/* touch /dev/null works for everybody, and leaves it as it is. */
		err = sets_now(times) && st.st_mode & 0200 ? 0 : -EPERM;
	} else if (!err) {
		if (g->world.super && st.st_uid != GUEST_UID && !sets_now(times))
			err = -EPERM;
		else
			err = view_utimens(g, &at, times);
		if (!err && utimensat(at.dir, at.name, times,
				      *at.name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH) < 0)
			err = -errno;
		err = err > 0 ? 0 : err;
	}
	path_done(&at);
	return err;
}

int64_t sys_umask(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	g->umask_value = (uint32_t)a[0] & 0777;
	return umask((mode_t)a[0]);
}
