/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes: those of the name space "user". Others say what the host's kernel does with
 * a file (capabilities, access lists, labels): a guest neither sees nor sets them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guest/files/owner.h"
#include "guest/files/path.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"

#define XATTR_MAX 65536

static bool is_users(const char *name)
{
	return strncmp(name, "user.", 5) == 0 && name[5];
}

static int64_t get(struct guest *g, const char *file, const uint64_t *a)
{
	char name[256];
	uint64_t n = min_u64(a[3], XATTR_MAX);
	void *buf = n ? host_ptr(g, a[2], n) : NULL;
	ssize_t got;

	if (mem_read_string(&g->mem, name, a[1], sizeof(name)) < 0 || (n && !buf))
		return -EFAULT;
	if (!is_users(name))
		return -ENODATA;
	got = getxattr(file, name, buf, n);
	if (got > 0 && n)
		mem_written(&g->mem, a[2], (uint64_t)got);
	return ret_errno(got);
}

static int64_t set(struct guest *g, const char *file, const uint64_t *a)
{
	char name[256];
	void *buf = host_ptr(g, a[2], min_u64(a[3], XATTR_MAX));

	if (mem_read_string(&g->mem, name, a[1], sizeof(name)) < 0 || !buf)
		return -EFAULT;
	if (a[3] > XATTR_MAX)
		return -E2BIG;
	if (!is_users(name))
		return strncmp(name, "user.", 5) ? -EPERM : -EINVAL;
	return ret_errno(setxattr(file, name, buf, a[3], (int)a[4]));
}

static int64_t take_away(struct guest *g, const char *file, const uint64_t *a)
{
	char name[256];
	int64_t n = mem_read_string(&g->mem, name, a[1], sizeof(name));

	if (n < 0)
		return n == -ENAMETOOLONG ? -ERANGE : n;
	if (!is_users(name))
		return strncmp(name, "user.", 5) ? -EPERM : -EINVAL;
	return ret_errno(removexattr(file, name));
}

static int64_t list(struct guest *g, const char *file, const uint64_t *a)
{
	char *all = x_malloc(XATTR_MAX);
	ssize_t n = listxattr(file, all, XATTR_MAX);
	int64_t r = n < 0 ? -errno : 0;

	for (char *p = all, *next; p < all + n; p = next) {
		size_t len = strlen(p) + 1;

		next = p + len;
		if (is_users(p)) {
			memmove(all + r, p, len);
			r += (int64_t)len;
		}
	}
	if (r > 0 && a[2])
		r = (uint64_t)r > a[2]			    ? -ERANGE
		    : copy_out(g, a[1], all, (size_t)r) < 0 ? -EFAULT
							    : r;
	free(all);
	return r;
}

/* Makes the host call on what a path led to, or on a descriptor. */
static int64_t on(struct guest *g, const uint64_t *a, int found, struct path_at *at, bool changes,
		  int64_t (*work)(struct guest *g, const char *file, const uint64_t *a))
{
	char file[FD_PATH_BYTES];
	struct stat st;
	int64_t r;
	int fd;

	if (found < 0)
		return found;
	r = path_stat(g, at, &st);
	if (!r && (at->node.row || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
		r = work == list ? 0 : changes ? -EPERM : -ENODATA;
	else if (!r && changes && g->world.super && !owner_may(g, &st, W_OK))
		r = -EACCES;
	else if (!r && !changes && work == get && g->world.super && !owner_may(g, &st, R_OK))
		r = -EACCES;
	else if (!r && changes && S_ISDIR(st.st_mode) && g->view &&
		 !(at->private || view_is_own(g, at->dir)))
		r = -EOPNOTSUPP;
	else if (!r && (!changes || (r = view_change(g, at, true)) == 0)) {
		fd = path_object(g, at);
		if (fd < 0) {
			r = fd;
		} else {
			path_to_fd(fd, file);
			r = work(g, file, a);
			close(fd);
		}
	}
	path_done(at);
	return r;
}

/* Linux looks at what is to be set before it looks for the file. */
static int check(struct guest *g, const uint64_t *a,
		 int64_t (*work)(struct guest *g, const char *file, const uint64_t *a))
{
	char name[256], *value;
	int err = 0;

	if (work != set)
		return 0;
	if (mem_read_string(&g->mem, name, a[1], sizeof(name)) == -EFAULT)
		return -EFAULT;
	if (a[3] > XATTR_MAX)
		return -E2BIG;
	value = x_malloc(a[3] + 1);
	err = copy_in(g, value, a[2], a[3]);
	free(value);
	return err;
}

#define XATTR(call, work, changes, flags)                                                          \
	int64_t sys_##call(struct guest *g, struct thread *t, const uint64_t *a)                   \
	{                                                                                          \
		struct path_at at;                                                                 \
                                                                                                   \
		(void)t;                                                                           \
		int err = check(g, a, work);                                                       \
                                                                                                   \
		if (!err)                                                                          \
			err = path_find_at(g, (uint64_t)AT_FDCWD, a[0], flags, &at);               \
		return on(g, a, err, &at, changes, work);                                          \
	}
#define FXATTR(call, work, changes)                                                                \
	int64_t sys_##call(struct guest *g, struct thread *t, const uint64_t *a)                   \
	{                                                                                          \
		struct path_at at;                                                                 \
                                                                                                   \
		(void)t;                                                                           \
		if ((int)a[0] < 0)                                                                 \
			return -EBADF;                                                             \
		return on(g, a, path_find(g, a[0], "", PATH_EMPTY, &at), &at, changes, work);      \
	}

XATTR(getxattr, get, false, PATH_FOLLOW)
XATTR(lgetxattr, get, false, 0)
FXATTR(fgetxattr, get, false)
XATTR(setxattr, set, true, PATH_FOLLOW)
XATTR(lsetxattr, set, true, 0)
FXATTR(fsetxattr, set, true)
XATTR(removexattr, take_away, true, PATH_FOLLOW)
XATTR(lremovexattr, take_away, true, 0)
FXATTR(fremovexattr, take_away, true)
XATTR(listxattr, list, false, PATH_FOLLOW)
XATTR(llistxattr, list, false, 0)
FXATTR(flistxattr, list, false)
