/* SPDX-License-Identifier: MIT */
/*
 * What is done with the place that a walk found (path.c): stat, access, open.
 *
 * The folder of the place is open, and its last name is never followed, so renaming something
 * meanwhile leads nowhere else. What was opened is looked at again before the guest gets it
 * (opened): no device and no file system of the host's kernel, unless the guest had it already.
 */
#include <fcntl.h>
#include <unistd.h>

#include "guest/files/files.h"
#include "guest/files/nodes.h"
#include "guest/files/owner.h"
#include "guest/files/path.h"
#include "guest/files/view.h"
#include "guest/process/process.h"

int path_stat(struct guest *g, const struct path_at *at, struct stat *st)
{
	int fd;
	bool bad;

	if (at->node.row) {
		node_stat(g, &at->node, st);
		return 0;
	}
	if (!*at->name) {
		if (fstat(at->dir, st) < 0)
			return -errno;
	} else {
		if (fstatat(at->dir, at->name, st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		if (st->st_dev != at->dev) {
			fd = openat(at->dir, at->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
			bad = fd < 0 || path_is_kernels(fd);
			if (fd >= 0)
				close(fd);
			if (bad)
				return -EACCES;
		}
	}
	owner_show(g, st);
	return 0;
}

static int host_access(const struct path_at *at, int want)
{
	int flags = AT_EACCESS | (*at->name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH);

	if (faccessat(at->dir, at->name, want, flags) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A kernel without faccessat2 has no flags. */
	return !*at->name || faccessat(at->dir, at->name, want, 0) == 0 ? 0 : -errno;
}

int path_access(struct guest *g, const struct path_at *at, int want)
{
	struct stat st;
	int err = path_stat(g, at, &st);

	if (err || !want)
		return err;
	if ((g->world.super || st.st_uid == GUEST_UID) && !owner_may(g, &st, want))
		return -EACCES;
	return at->node.row || g->world.super || S_ISLNK(st.st_mode) ? 0 : host_access(at, want);
}

static bool is_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode);
}

/* Whether the guest may have a file that was just opened. */
static int opened(struct guest *g, int fd, bool had)
{
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (path_is_kernels(fd) && !(had && S_ISCHR(st.st_mode)))
		err = -EACCES;
	else if (!had && (is_device(&st) || file_id_same(g->world.dev, file_id_of(&st))))
		err = -EACCES;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int path_object(struct guest *g, const struct path_at *at)
{
	int fd;

	if (!*at->name)
		fd = fcntl(at->dir, F_DUPFD_CLOEXEC, 3);
	else
		fd = openat(at->dir, at->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return opened(g, fd, true);
}

/* Checks the owner's mode bits where the host does not. */
static int may_open(struct guest *g, const struct path_at *at, int flags)
{
	static const int want[] = { R_OK, W_OK, R_OK | W_OK, 0 };
	struct stat st;

	if (!g->world.super || flags & O_PATH)
		return 0;
	if (path_stat(g, at, &st) < 0)
		return !(flags & O_CREAT) || !*at->name || fstat(at->dir, &st) < 0 ||
			       owner_may(g, &st, W_OK | X_OK)
			   ? 0
			   : -EACCES;
	return owner_may(g, &st, want[flags & O_ACCMODE] | (flags & O_TRUNC ? W_OK : 0)) ? 0
											 : -EACCES;
}

/* Makes `at` something that may be opened so, where the guest's changes are private. */
static int view_open(struct guest *g, struct path_at *at, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	struct stat st;
	int err;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		return at->is_dir ? view_own_folder(g, at) : -ENOTDIR;
	if (*at->name && fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT || !(flags & O_CREAT) ? -errno : view_make(g, at);
	if (flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if (at->is_dir && (flags & O_ACCMODE) == O_RDONLY)
		return view_may(g, at->dir, R_OK) < 0 ? -EACCES : 0;
	if (!writes || at->private || at->is_dir)
		return 0;
	if (*at->name && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : view_change(g, at, true);
	err = g->world.super ? 0 : host_access(at, W_OK);
	return err ? err : view_change(g, at, !(flags & O_TRUNC));
}

static int open_found(struct guest *g, const struct path_at *at, int flags, mode_t mode)
{
	char link[FD_PATH_BYTES];
	int fd;
	bool must_exist = flags & O_CREAT && flags & O_EXCL;

	flags |= O_CLOEXEC;
	if (*at->name)
		return opened(g, openat(at->dir, at->name, flags | O_NOFOLLOW, owner_mode(mode)),
			      false);
	if (at->is_dir) {
		fd = openat(at->dir, ".", flags & ~O_NOFOLLOW, owner_mode(mode));
		/* Opening "." needs the right to search the folder, which opening its name does
		 * not. */
		if (fd >= 0 || errno != EACCES)
			return opened(g, fd, false);
	}
	if (must_exist)
		return -EEXIST;
	path_to_fd(at->dir, link);
	fd = open(link, flags & ~O_NOFOLLOW, mode);
	if (fd < 0 && errno == ENOENT && access("/proc/self", F_OK) < 0)
		fd = fcntl(at->dir, F_DUPFD_CLOEXEC, 3);
	return opened(g, fd, true);
}

int path_open(struct guest *g, const struct path_at *at, int flags, mode_t mode)
{
	struct path_at here = *at;
	int fd, err = may_open(g, at, flags);

	if (err)
		return err;
	if (!g->view || flags & O_PATH)
		return open_found(g, at, flags, mode);

	bool missing = flags & O_CREAT && *at->name && files_new(at->dir, at->name);

	here.own = false; /* at's stays open */
	err = view_open(g, &here, flags);
	fd = err ? err : open_found(g, &here, flags, mode);
	if (fd >= 0 && (missing || (flags & O_TMPFILE) == O_TMPFILE))
		view_made(g, &here, fd);
	path_done(&here);
	return fd;
}
