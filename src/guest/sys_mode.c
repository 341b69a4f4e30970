/* SPDX-License-Identifier: MIT */
/* fchmodat2, and taking extended attributes away. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "guest/process.h"

int64_t sys_fchmodat2(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int flags = (int)a[3], dir, err;
	struct stat st;

	(void)t;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (flags & AT_EMPTY_PATH) {
		char first;

		if (copy_in(g, &first, a[1], 1) < 0)
			return -EFAULT;
		if (!first && (int)a[0] != AT_FDCWD) {
			int host = fd_host(g, a[0]);

			return host < 0 ? -EBADF : ret_errno(fchmod(host, (mode_t)a[2]));
		}
	}
	err = path_in(g, a[0], a[1], !(flags & AT_SYMLINK_NOFOLLOW), path, &dir);
	if (err)
		return err;
	if ((flags & AT_SYMLINK_NOFOLLOW) && fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		return -EOPNOTSUPP; /* a link has no mode of its own */
	return ret_errno(fchmodat(dir, path, (mode_t)a[2], 0));
}

static int64_t remove_xattr(struct guest *g, const uint64_t *a, bool follow)
{
	char path[PATH_BYTES], name[256];
	int64_t n;
	int dir, err = path_in(g, (uint64_t)AT_FDCWD, a[0], follow, path, &dir);

	if (err)
		return err;
	n = mem_read_string(&g->mem, name, a[1], sizeof(name));
	if (n < 0)
		return n == -ENAMETOOLONG ? -ERANGE : n;
	return ret_errno(follow ? removexattr(path, name) : lremovexattr(path, name));
}

int64_t sys_removexattr(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return remove_xattr(g, a, true);
}

int64_t sys_lremovexattr(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return remove_xattr(g, a, false);
}

int64_t sys_fremovexattr(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	char name[256];
	int64_t n;

	(void)t;
	if (host < 0)
		return -EBADF;
	n = mem_read_string(&g->mem, name, a[1], sizeof(name));
	if (n < 0)
		return n == -ENAMETOOLONG ? -ERANGE : n;
	return ret_errno(fremovexattr(host, name));
}
