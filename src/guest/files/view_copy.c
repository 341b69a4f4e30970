/* SPDX-License-Identifier: MIT */
/*
 * Copies files and folders of the host into a private view (view.c): content with its holes, mode, times,
 * owner and attributes. Descriptors and shared mappings of this process that are open on a file go over
 * to its copy, and the copy keeps device and inode for the guest. Not copied: devices.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/owner.h"
#include "guest/files/view_int.h"
#include "guest/process/process.h"

#define COPY_BYTES  (1u << 20)
#define TREE_LEVELS 256 /* of a folder that is copied */

static bool copy_range(int in, int out, off_t from, off_t to, char *buf)
{
	while (from < to) {
		size_t want = min_u64(COPY_BYTES, (uint64_t)(to - from));
		ssize_t n = pread(in, buf, want, from);

		if (n <= 0)
			return n == 0;
		if (pwrite(out, buf, (size_t)n, from) != n)
			return false;
		from += n;
	}
	return true;
}

/* Copies what is in a file; holes stay holes. */
static bool copy_content(int in, int out, off_t size)
{
	char *buf;
	bool ok = ftruncate(out, size) == 0;
	off_t at = 0;

	if (!ok || ioctl(out, FICLONE, in) == 0)
		return ok;
	buf = x_malloc(COPY_BYTES);
	while (ok && at < size) {
		off_t data = lseek(in, at, SEEK_DATA), end;

		if (data < 0 && errno == ENXIO)
			break;
		data = data < 0 ? at : data;
		end = lseek(in, data, SEEK_HOLE);
		end = end <= data ? size : end;
		ok = copy_range(in, out, data, end < size ? end : size, buf);
		at = end;
	}
	free(buf);
	return ok;
}

static void copy_attributes(int in, int out)
{
	char *names = x_malloc(XATTR_LIST_MAX), *value = x_malloc(XATTR_SIZE_MAX);
	ssize_t n = flistxattr(in, names, XATTR_LIST_MAX), size;

	for (char *p = names; n > 0 && p < names + n; p += strlen(p) + 1)
		if (!strncmp(p, "user.", 5) &&
		    (size = fgetxattr(in, p, value, XATTR_SIZE_MAX)) >= 0)
			fsetxattr(out, p, value, (size_t)size, 0);
	free(names);
	free(value);
}

void view_temp_name(struct guest *g, char name[VIEW_KEY_BYTES])
{
	snprintf(name, VIEW_KEY_BYTES, "t/%" PRIx64 ".%x", g->view->shared->next_temp++,
		 (unsigned)getpid());
}

/* A copy of an open file in t/: 0 or -errno. */
int view_copy_file(struct guest *g, int in, const struct stat *st, bool keep, const char *temp)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	int out = openat(g->view->store, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int err = out < 0 ? -errno : 0;

	if (!err && keep && !copy_content(in, out, st->st_size))
		err = errno ? -errno : -EIO;
	if (!err) {
		copy_attributes(in, out);
		if (g->world.super && fchown(out, st->st_uid, st->st_gid) < 0)
			err = -errno;
	}
	if (!err && (fchmod(out, owner_mode(st->st_mode & 07777)) || futimens(out, times)))
		err = -errno;
	if (out >= 0)
		close(out);
	if (err && out >= 0)
		unlinkat(g->view->store, temp, 0);
	return err;
}

/* Mappings that share the file show the copy from now on. */
static void repoint_memory(struct guest *g, struct file_id old, int fd)
{
	char link[FD_PATH_BYTES];
	struct stat st;
	int rw;

	path_to_fd(fd, link);
	rw = open(link, O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < g->mem.nregions && rw >= 0 && !fstat(rw, &st); i++) {
		struct mem_region *r = &g->mem.regions[i];
		enum reserve_lost lost;

		if (!r->file || !r->shared || r->dev != old.dev || r->ino != old.ino)
			continue;
		if (reserve_map(&g->mem.reserve, r->start, r->end - r->start, r->prot & 7,
				MAP_SHARED, rw, r->offset, &lost) == 0) {
			r->dev = st.st_dev;
			r->ino = st.st_ino;
		}
	}
	if (rw >= 0)
		close(rw);
}

/* Descriptors that are open on a file of the host go over to its copy, which fd is open on. */
static void repoint(struct guest *g, struct file_id old, int fd)
{
	bool *done = x_calloc(g->nfds + 1, sizeof(*done));
	char link[FD_PATH_BYTES];
	struct stat st;

	path_to_fd(fd, link);
	for (size_t i = 0; i < g->nfds; i++) {
		int host = g->fds[i].host, flags, again;

		if (g->fds[i].kind == FD_CLOSED || done[i] || g->fds[i].node.row ||
		    fstat(host, &st) < 0 || !view_same(view_id_of(&st), old))
			continue;
		flags = fcntl(host, F_GETFL);
		again =
		    open(link, (flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW)) | O_CLOEXEC);
		if (again < 0)
			continue;
		if (!S_ISDIR(st.st_mode) && !(flags & O_PATH))
			lseek(again, lseek(host, 0, SEEK_CUR), SEEK_SET);
		for (size_t k = g->nfds; k-- > i;) {
			struct stat other;

			if (g->fds[k].kind == FD_CLOSED || done[k] || g->fds[k].node.row ||
			    fstat(g->fds[k].host, &other) < 0 ||
			    !view_same(view_id_of(&other), old) ||
			    (k != i && !fd_same_open(host, g->fds[k].host)))
				continue;
			done[k] = dup3(again, g->fds[k].host, O_CLOEXEC) >= 0;
		}
		close(again);
	}
	free(done);
	if (stat(".", &st) == 0 && view_same(view_id_of(&st), old) && fchdir(fd) < 0)
		warn("the program's working folder could not be moved: %s", strerror(errno));
	repoint_memory(g, old, fd);
}

/* The copy at (dir, name) stands for a file of the host from now on. */
void view_stands_for(struct guest *g, const struct stat *st, int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	uint64_t dev = st->st_dev, ino = st->st_ino;

	if (fd < 0)
		return;
	view_show_ids(g, &dev, &ino);
	view_set_ids(g, fd, dev, ino);
	if (!S_ISLNK(st->st_mode))
		repoint(g, view_id_of(st), fd);
	close(fd);
}

/* Moves what is in a folder's private part into a folder of the store. */
static void move_own(struct guest *g, struct file_id id, int to)
{
	char path[LINK_BYTES], key[VIEW_KEY_BYTES];
	const struct dirent *e;
	DIR *d;
	int fd;

	view_key(id, key);
	view_in_part("u", key, path);
	fd = openat(g->view->store, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			renameat(fd, e->d_name, to, e->d_name);
	if (d)
		closedir(d);
}

static int copy_folder(struct guest *g, int from, const char *name, struct stat *st, int to,
		       const char *to_name, unsigned level)
{
	int fd = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), out, err = 0;
	struct file_id id = view_id_of(st);
	const struct dirent *e;
	struct view_attributes a;
	DIR *d;

	if (level == TREE_LEVELS) {
		if (fd >= 0)
			close(fd);
		return -ELOOP;
	}
	if (fd < 0)
		return -errno;
	if (mkdirat(to, to_name, 0700) < 0 ||
	    (out = openat(to, to_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	d = fdopendir(fd);
	while (d && !err && (e = readdir(d))) {
		int upper;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (view_find(g, id, e->d_name, &upper) == VIEW_OWN)
			close(upper);
		else
			err = view_copy_entry(g, fd, e->d_name, out, e->d_name, true, level + 1);
	}
	if (d)
		closedir(d);
	move_own(g, id, out);
	if (view_attributes_read(g, id, &a)) {
		st->st_mode = S_IFDIR | a.mode;
		if (a.times[1] >= 0)
			st->st_atim = (struct timespec){ a.times[0], a.times[1] };
		if (a.times[3] >= 0)
			st->st_mtim = (struct timespec){ a.times[2], a.times[3] };
	}
	fchmod(out, st->st_mode & 07777);
	futimens(out, (const struct timespec[]){ st->st_atim, st->st_mtim });
	close(out);
	return err;
}

/* Copies a regular file of the host to (to, to_name). */
static int copy_regular(struct guest *g, int from, const char *name, const struct stat *st, int to,
			const char *to_name, bool keep)
{
	char temp[VIEW_KEY_BYTES], path[LINK_BYTES], key[VIEW_KEY_BYTES], host[PATH_BYTES];
	int fd, err;

	view_key(view_id_of(st), key);
	view_in_part("l", key, path);
	if (st->st_nlink > 1 && g->view->shared->links &&
	    linkat(g->view->store, path, to, to_name, 0) == 0) {
		view_set_names_left(g, to, to_name, -1);
		return 0;
	}
	fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	view_temp_name(g, temp);
	err = view_copy_file(g, fd, st, keep, temp);
	if (st->st_nlink > 1 && path_of_fd(fd, host) == 0)
		view_write(g, "q", key, host);
	close(fd);
	if (!err && renameat(g->view->store, temp, to, to_name) < 0)
		err = -errno;
	if (!err && st->st_nlink > 1 && linkat(to, to_name, g->view->store, path, 0) == 0) {
		view_set_names_left(g, to, to_name, (int64_t)st->st_nlink - 1);
		g->view->shared->links = 1;
	}
	return err;
}

/* Copies an entry of a folder of the host into the store. */
int view_copy_entry(struct guest *g, int from, const char *name, int to, const char *to_name,
		    bool keep, unsigned level)
{
	char target[PATH_BYTES];
	struct stat st, before;
	int err = 0;
	ssize_t n;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	before = st;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		err = copy_regular(g, from, name, &st, to, to_name, keep);
		break;
	case S_IFDIR:
		err = copy_folder(g, from, name, &st, to, to_name, level);
		break;
	case S_IFLNK:
		n = readlinkat(from, name, target, sizeof(target) - 1);
		if (n < 0)
			return -errno;
		target[n] = 0;
		if (symlinkat(target, to, to_name) < 0)
			return -errno;
		utimensat(to, to_name, (const struct timespec[]){ st.st_atim, st.st_mtim },
			  AT_SYMLINK_NOFOLLOW);
		break;
	case S_IFIFO:
	case S_IFSOCK:
		if (mknodat(to, to_name, (st.st_mode & S_IFMT) | 0600, 0) < 0)
			return -errno;
		fchmodat(to, to_name, owner_mode(st.st_mode & 07777), 0);
		break;
	default:
		return -EPERM;
	}
	if (!err)
		view_stands_for(g, &before, to, to_name);
	return err;
}
