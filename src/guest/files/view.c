/* SPDX-License-Identifier: MIT */
/*
 * A private view of the host's files: "no trace". What the guest makes, changes, moves or removes goes
 * into a folder of its own (the store, in the folder for temporary files), and every path of the guest
 * finds it there (path.c); the files of the host are only read. The store is removed when the guest
 * ends, or by the next view if its process was killed.
 *
 * The state is in the store itself, so that forked processes, which share it, need nothing else. A
 * folder or file of the host is named by its key, device and inode:
 *
 *	u/KEY/NAME  what stands in a folder of the host instead of what the host has: the private part.
 *		    A folder made there is an ordinary one, with all that is in it
 *	w/KEY/NAME  the host's NAME is hidden. Every name that ever was in u/KEY is hidden, too, so
 *		    one look here says whether a name is the host's
 *	h/KEY       the folder's path on the host      b/KEY  of a private part: its folder's key
 *	i/KEY       device and inode that the guest is shown
 *	a/KEY       mode and times of a folder of the host that the guest has changed
 *	l/KEY       the private copy of a file of the host that has several names
 *	q/KEY       the name on the host under which such a file was found first
 *	n/KEY       of such a copy: how many of its names are still the host's
 *	t/          being made
 *
 * All but u, w, l and t are symbolic links whose text is the value. Invariant: no host call that changes
 * a file or a name is made on anything outside the store.
 *
 * view_copy.c copies a file of the host when it is opened for writing, or when its mode, time or name changes;
 * descriptors and shared mappings of this process that are open on it go over to the copy. A folder
 * that is moved is copied as a whole. The copy keeps device and inode for the guest.
 *
 * Not done: a process that has a file of the host open does not see what another one writes to it
 * later; attributes of the name space "user" cannot be set on folders of the host.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/owner.h"
#include "guest/files/view_int.h"
#include "guest/process/process.h"

#define FIRST_INO (1ull << 32)

static const char parts[] = "uwhbialnqt";

void view_key(struct file_id id, char key[VIEW_KEY_BYTES])
{
	snprintf(key, VIEW_KEY_BYTES, "%" PRIx64 ".%" PRIx64, id.dev, id.ino);
}

ssize_t view_read(const struct guest *g, const char *part, const char *key, char *text, size_t size)
{
	char path[LINK_BYTES];
	ssize_t n;

	view_in_part(part, key, path);
	n = readlinkat(g->view->store, path, text, size - 1);
	if (n >= 0)
		text[n] = 0;
	return n;
}

bool view_write(const struct guest *g, const char *part, const char *key, const char *text)
{
	char path[LINK_BYTES];

	view_in_part(part, key, path);
	unlinkat(g->view->store, path, 0);
	return symlinkat(text, g->view->store, path) == 0;
}

/* ---- the store ---- */

void view_remove_tree(int dir, const char *name)
{
	int fd;
	DIR *d;

	if (unlinkat(dir, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	fchmodat(dir, name, 0700, 0);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (d) {
		const struct dirent *e;

		while ((e = readdir(d)))
			if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
				view_remove_tree(fd, e->d_name);
		closedir(d);
	} else if (fd >= 0) {
		close(fd);
	}
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* Removes stores whose process was killed: nobody holds their lock. */
static void remove_old(void)
{
	static const char begin[] = "culprit-";
	int tmp = open(P_tmpdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = tmp < 0 ? NULL : fdopendir(tmp);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[sizeof(e->d_name) + 8];
		struct stat st;
		int fd;

		if (strncmp(e->d_name, begin, sizeof(begin) - 1) ||
		    strlen(e->d_name) != sizeof(begin) - 1 + 6)
			continue;
		snprintf(path, sizeof(path), "%s/lock", e->d_name);
		fd = openat(tmp, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		    !flock(fd, LOCK_EX | LOCK_NB))
			view_remove_tree(tmp, e->d_name);
		close(fd);
	}
	if (d)
		closedir(d);
}

/*
 * Makes a locked store for v. Another process may remove it as an old one as long as it is not
 * locked; then its lock has no name any more. The process that removes holds the lock until it is
 * done, so the store gets its folders only after that.
 */
static bool make_store(struct view *v, struct err *e)
{
	struct stat st;

	for (int attempt = 0; attempt < 100; attempt++) {
		char path[] = P_tmpdir "/culprit-XXXXXX";

		if (!mkdtemp(path))
			return err_set(e, "cannot make a folder in %s for the program's files: %s",
				       P_tmpdir, strerror(errno));
		v->path = realpath(path, NULL);
		v->store = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		v->lock = openat(v->store, "lock", O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
		if (!v->path || v->lock < 0 || flock(v->lock, LOCK_EX) < 0 ||
		    fstat(v->lock, &st) < 0)
			return err_set(e, "%s: cannot keep the program's files there: %s", path,
				       strerror(errno));
		if (st.st_nlink)
			return true;
		close(v->lock);
		close(v->store);
		free(v->path);
		v->path = NULL;
		v->lock = v->store = -1;
	}
	return err_set(e, "%s: other processes remove the folders made for the program's files",
		       P_tmpdir);
}

bool view_begin(struct guest *g, struct err *e)
{
	char part[2] = "";
	struct view *v;

	if (g->view)
		return true;
	remove_old();
	v = x_calloc(1, sizeof(*v));
	v->lock = v->store = -1;
	v->maker = getpid();
	v->shared = mmap(NULL, sizeof(*v->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (v->shared == MAP_FAILED)
		die("out of memory");
	g->view = v;
	if (!make_store(v, e)) {
		view_free(g);
		return false;
	}
	for (const char *p = parts; *p; p++) {
		part[0] = *p;
		if (mkdirat(v->store, part, 0700) < 0) {
			err_set(e, "%s: cannot keep the program's files there: %s", v->path,
				strerror(errno));
			view_free(g);
			return false;
		}
	}
	return true;
}

void view_free(struct guest *g)
{
	struct view *v = g->view;

	if (!v)
		return;
	if (v->maker == getpid() && v->path)
		view_remove_tree(AT_FDCWD, v->path);
	if (v->store >= 0)
		close(v->store);
	if (v->lock >= 0)
		close(v->lock);
	munmap(v->shared, sizeof(*v->shared));
	free(v->path);
	free(v);
	g->view = NULL;
}

/* ---- where things are ---- */

enum view_found view_find(struct guest *g, struct file_id folder, const char *name, int *upper)
{
	char path[LINK_BYTES], key[VIEW_KEY_BYTES];

	*upper = -1;
	if (!g->view->shared->changed || !strcmp(name, ".") || !strcmp(name, ".."))
		return VIEW_HOST;
	view_key(folder, key);
	snprintf(path, sizeof(path), "w/%s/%.*s", key, (int)strcspn(name, "/"), name);
	if (faccessat(g->view->store, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return VIEW_HOST;
	view_in_part("u", key, path);
	*upper = openat(g->view->store, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *upper < 0 ? VIEW_HOST : VIEW_OWN;
}

bool view_is_own(struct guest *g, int fd)
{
	char path[PATH_BYTES];

	return g->view && path_of_fd(fd, path) == 0 && path_below(path, g->view->path);
}

int view_host_folder(struct guest *g, int fd)
{
	char key[VIEW_KEY_BYTES], lower[VIEW_KEY_BYTES], path[PATH_BYTES];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	view_key(view_id_of(&st), key);
	if (view_read(g, "b", key, lower, sizeof(lower)) < 0 ||
	    view_read(g, "h", lower, path, sizeof(path)) < 0)
		return -1;
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int view_upper(struct guest *g, int dir, struct file_id id)
{
	char path[LINK_BYTES], key[VIEW_KEY_BYTES], host[PATH_BYTES], own[VIEW_KEY_BYTES];
	struct stat st;
	int fd;

	view_key(id, key);
	view_in_part("u", key, path);
	fd = openat(g->view->store, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (path_of_fd(dir, host) < 0)
		return -ENOENT;
	if (mkdirat(g->view->store, path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(g->view->store, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	path[0] = 'w';
	mkdirat(g->view->store, path, 0700);
	view_key(view_id_of(&st), own);
	view_write(g, "h", key, host);
	view_write(g, "b", own, key);
	g->view->shared->changed = 1;
	return fd;
}

int view_hide(struct guest *g, struct file_id folder, const char *name)
{
	char path[LINK_BYTES], key[VIEW_KEY_BYTES];

	view_key(folder, key);
	snprintf(path, sizeof(path), "w/%s/%.*s", key, (int)strcspn(name, "/"), name);
	return mknodat(g->view->store, path, S_IFREG | 0600, 0) < 0 && errno != EEXIST ? -errno : 0;
}

/* ---- numbers ---- */

void view_show_ids(const struct guest *g, uint64_t *dev, uint64_t *ino)
{
	char key[VIEW_KEY_BYTES], text[VIEW_KEY_BYTES];

	if (!g->view || (!g->view->shared->changed && !g->view->shared->aliases))
		return;
	view_key((struct file_id){ *dev, *ino }, key);
	if (view_read(g, "i", key, text, sizeof(text)) > 0)
		sscanf(text, "%" SCNx64 ".%" SCNx64, dev, ino);
}

void view_set_ids(struct guest *g, int fd, uint64_t dev, uint64_t ino)
{
	char key[VIEW_KEY_BYTES], text[VIEW_KEY_BYTES];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	view_key(view_id_of(&st), key);
	view_key((struct file_id){ dev, ino }, text);
	view_write(g, "i", key, text);
	g->view->shared->aliases = 1;
}

/* The device that the guest sees for what is in a folder: that of the folder itself. */
static uint64_t device_in(struct guest *g, int dir)
{
	char key[VIEW_KEY_BYTES], lower[VIEW_KEY_BYTES];
	uint64_t dev, ino;
	struct stat st;

	if (fstat(dir, &st) < 0)
		return 0;
	dev = st.st_dev;
	ino = st.st_ino;
	view_key(view_id_of(&st), key);
	if (view_read(g, "b", key, lower, sizeof(lower)) > 0)
		sscanf(lower, "%" SCNx64 ".%" SCNx64, &dev, &ino);
	view_show_ids(g, &dev, &ino);
	return dev;
}

void view_made(struct guest *g, const struct path_at *at, int fd)
{
	int own = -1;

	if (!g->view || !at->private)
		return;
	if (fd < 0)
		fd = own = openat(at->dir, at->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		view_set_ids(g, fd, device_in(g, at->dir), FIRST_INO + g->view->shared->next_ino++);
	if (own >= 0)
		close(own);
}

/* ---- attributes of folders of the host ---- */

bool view_attributes_read(struct guest *g, struct file_id id, struct view_attributes *a)
{
	char key[VIEW_KEY_BYTES], text[128];

	view_key(id, key);
	return view_read(g, "a", key, text, sizeof(text)) > 0 &&
	       sscanf(text, "%o %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &a->mode,
		      &a->times[0], &a->times[1], &a->times[2], &a->times[3]) == 5;
}

int view_may(struct guest *g, int dir, int want)
{
	struct view_attributes a;
	struct stat st;

	if (!g->view || !g->view->shared->attributes || fstat(dir, &st) < 0 ||
	    !S_ISDIR(st.st_mode) || !view_attributes_read(g, view_id_of(&st), &a))
		return 1;
	st.st_mode = S_IFDIR | a.mode;
	return owner_may(g, &st, want) ? 0 : -EACCES;
}

/* Adds the folders that are only in the view, and takes away those that are hidden. */
static void count_folders(struct guest *g, struct stat *st)
{
	char path[LINK_BYTES], key[VIEW_KEY_BYTES], host[PATH_BYTES];
	struct stat is;
	int64_t more = 0;
	int lower;

	view_key(view_id_of(st), key);
	if (st->st_nlink < 2 || view_read(g, "h", key, host, sizeof(host)) < 0)
		return;
	lower = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (const char *part = "uw"; *part; part++) {
		view_in_part("u", key, path);
		path[0] = *part;

		int fd = openat(g->view->store, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *d = fd < 0 ? NULL : fdopendir(fd);
		const struct dirent *e;

		while (d && (e = readdir(d)))
			if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
			    !fstatat(*part == 'u' ? fd : lower, e->d_name, &is,
				     AT_SYMLINK_NOFOLLOW) &&
			    S_ISDIR(is.st_mode))
				more += *part == 'u' ? 1 : -1;
		if (d)
			closedir(d);
	}
	if (lower >= 0)
		close(lower);
	st->st_nlink = (nlink_t)((int64_t)st->st_nlink + more);
}

/* How many names of a private copy are still the host's; -1: it never had several. */
int64_t view_names_left(struct guest *g, struct file_id id)
{
	char key[VIEW_KEY_BYTES], text[32];

	view_key(id, key);
	return view_read(g, "n", key, text, sizeof(text)) > 0 ? strtoll(text, NULL, 10) : -1;
}

void view_set_names_left(struct guest *g, int dir, const char *name, int64_t count)
{
	char key[VIEW_KEY_BYTES], text[32];
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	view_key(view_id_of(&st), key);
	if (count < 0)
		count = view_names_left(g, view_id_of(&st)) - 1;
	snprintf(text, sizeof(text), "%" PRId64, count > 0 ? count : 0);
	view_write(g, "n", key, text);
}

void view_show(struct guest *g, struct stat *st)
{
	uint64_t dev = st->st_dev, ino = st->st_ino;
	struct view_attributes a;

	if (!g->view)
		return;
	if (S_ISDIR(st->st_mode) && g->view->shared->attributes &&
	    view_attributes_read(g, view_id_of(st), &a)) {
		st->st_mode = S_IFDIR | (a.mode & 07777);
		if (a.times[1] >= 0)
			st->st_atim = (struct timespec){ a.times[0], a.times[1] };
		if (a.times[3] >= 0)
			st->st_mtim = (struct timespec){ a.times[2], a.times[3] };
	}
	if (S_ISDIR(st->st_mode) && g->view->shared->changed)
		count_folders(g, st);
	if (S_ISREG(st->st_mode) && g->view->shared->links) {
		int64_t rest = view_names_left(g, view_id_of(st));

		if (rest >= 0) /* but l/KEY is no name of the guest's */
			st->st_nlink = (nlink_t)((int64_t)st->st_nlink + rest - 1);
	}
	view_show_ids(g, &dev, &ino);
	st->st_dev = dev;
	st->st_ino = ino;
}

/* ---- changes ---- */

/* Whether the host lets this program change names in the folder: 0 or -errno. */
static int may_write_folder(struct guest *g, int dir)
{
	int own = view_may(g, dir, W_OK | X_OK);

	if (own <= 0 || g->world.super ||
	    faccessat(dir, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0)
		return own < 0 ? own : 0;
	return errno == EINVAL || errno == ENOSYS ? 0 : -errno;
}

/* `at` is a name in a folder of the host: it becomes the same name in the private part. */
static int enter_upper(struct guest *g, struct path_at *at)
{
	int upper = view_upper(g, at->dir, at->folder);
	struct stat st;

	if (upper < 0)
		return upper;
	if (at->own)
		close(at->dir);
	at->dir = upper;
	at->own = true;
	at->private = true;
	if (fstat(upper, &st) == 0)
		at->dev = st.st_dev;
	return 0;
}

int view_make(struct guest *g, struct path_at *at)
{
	struct file_id folder = at->folder;
	char name[sizeof(at->name)];
	struct stat st;
	int err;

	if (!g->view || at->private)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(at->name, "/"), at->name);
	if (fstatat(at->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	if (errno != ENOENT)
		return -errno;
	err = may_write_folder(g, at->dir);
	if (!err)
		err = enter_upper(g, at);
	return err ? err : view_hide(g, folder, at->name);
}

/* Makes fd, which is open on a file of the host, one of its private copy, which copy is open on. */
static void take_copy(int fd, int copy)
{
	struct stat a, b;

	if (!fstat(fd, &a) && !fstat(copy, &b) && !view_same(view_id_of(&a), view_id_of(&b)))
		dup3(copy, fd, O_CLOEXEC);
}

/* A file of the host that has no name in the view any more. */
static int change_nameless(struct guest *g, int fd, const struct stat *st)
{
	char temp[VIEW_KEY_BYTES], link[FD_PATH_BYTES];
	int in, copy, err;

	path_to_fd(fd, link);
	in = open(link, O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return -errno;
	view_temp_name(g, temp);
	err = view_copy_file(g, in, st, true, temp);
	close(in);
	if (err)
		return err;
	view_stands_for(g, st, g->view->store, temp);
	copy = openat(g->view->store, temp, O_PATH | O_CLOEXEC);
	unlinkat(g->view->store, temp, 0);
	if (copy >= 0) {
		take_copy(fd, copy);
		close(copy);
	}
	return 0;
}

int view_change_fd(struct guest *g, int fd)
{
	char path[PATH_BYTES], *slash;
	struct path_at at = { .dir = -1 };
	struct stat st, now, folder;
	int err, upper, copy;

	if (!g->view || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || path_of_fd(fd, path) < 0 ||
	    path_below(path, g->view->path) || !strncmp(path, "/memfd:", 7))
		return 0;
	slash = strrchr(path, '/');
	*slash = 0;
	at.dir = open(*path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	at.own = true;
	if (at.dir < 0 || fstat(at.dir, &folder) < 0 || strlen(slash + 1) >= sizeof(at.name) - 2)
		return change_nameless(g, fd, &st);
	at.folder = view_id_of(&folder);
	strcpy(at.name, slash + 1);
	if (view_find(g, at.folder, at.name, &upper) == VIEW_OWN) {
		close(upper);
		err = change_nameless(g, fd, &st);
	} else if (fstatat(at.dir, at.name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
		   !view_same(view_id_of(&now), view_id_of(&st))) {
		err = change_nameless(g, fd, &st);
	} else {
		err = view_change(g, &at, true);
		copy = err ? -1 : openat(at.dir, at.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (copy >= 0) {
			take_copy(fd, copy);
			close(copy);
		}
	}
	path_done(&at);
	return err;
}

int view_change(struct guest *g, struct path_at *at, bool keep)
{
	struct file_id folder = at->folder;
	int lower, err;

	if (!g->view || at->private || at->node.row)
		return 0;
	if (!*at->name)
		return at->is_dir ? 0 : view_change_fd(g, at->dir);
	lower = fcntl(at->dir, F_DUPFD_CLOEXEC, 3);
	if (lower < 0)
		return -errno;
	err = enter_upper(g, at);
	if (!err)
		err = view_copy_entry(g, lower, at->name, at->dir, at->name, keep, 0);
	if (!err)
		err = view_hide(g, folder, at->name);
	close(lower);
	return err;
}

int view_other_name(struct guest *g, struct path_at *at)
{
	char path[LINK_BYTES], key[VIEW_KEY_BYTES];
	struct stat st;

	if (!g->view->shared->links || at->private || !*at->name ||
	    fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink < 2)
		return 0;
	view_key(view_id_of(&st), key);
	view_in_part("l", key, path);
	if (faccessat(g->view->store, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return view_change(g, at, true);
}

int view_own_folder(struct guest *g, struct path_at *at)
{
	struct stat st;

	if (!g->view || view_is_own(g, at->dir))
		return 0;
	if (fstat(at->dir, &st) < 0)
		return -errno;
	at->folder = view_id_of(&st);

	int err = may_write_folder(g, at->dir);

	return err ? err : enter_upper(g, at);
}

/* Whether a folder of the host is empty in the view. */
static bool is_empty(struct guest *g, int dir, const char *name, const struct stat *st)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), upper;
	char path[LINK_BYTES], key[VIEW_KEY_BYTES];
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool empty = d;

	while (empty && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			empty = view_find(g, view_id_of(st), e->d_name, &upper) == VIEW_OWN;
			if (empty)
				close(upper);
		}
	if (d)
		closedir(d);
	view_key(view_id_of(st), key);
	view_in_part("u", key, path);
	fd = empty ? openat(g->view->store, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d && (e = readdir(d)))
		empty &= !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

static bool is_open(struct guest *g, const struct stat *st)
{
	struct stat now;

	for (size_t i = 0; i < g->nfds; i++)
		if (g->fds[i].kind != FD_CLOSED && !fstat(g->fds[i].host, &now) &&
		    view_same(view_id_of(&now), view_id_of(st)))
			return true;
	return false;
}

/* Whether the name ended in a slash, which it no longer does. */
static bool strip_slash(struct path_at *at)
{
	size_t n = strlen(at->name);
	bool slash = n && at->name[n - 1] == '/';

	if (slash)
		at->name[n - 1] = 0;
	return slash;
}

int view_unlink(struct guest *g, struct path_at *at, int flags)
{
	struct file_id folder = at->folder;
	struct stat st;
	bool slash;
	int err;

	if (!at->private) {
		slash = strip_slash(at);
		if (fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		if (S_ISDIR(st.st_mode) && !(flags & AT_REMOVEDIR))
			return -EISDIR;
		if (!S_ISDIR(st.st_mode) && (flags & AT_REMOVEDIR || slash))
			return -ENOTDIR;
		if (S_ISDIR(st.st_mode) && !is_empty(g, at->dir, at->name, &st))
			return -ENOTEMPTY;
		err = may_write_folder(g, at->dir);
		if (err)
			return err;
		if (!S_ISREG(st.st_mode) || (st.st_nlink == 1 && !is_open(g, &st))) {
			err = enter_upper(g, at);
			return err ? err : view_hide(g, folder, at->name);
		}
		err = view_change(g, at, true);
		if (err)
			return err;
	}
	return unlinkat(at->dir, at->name, flags) < 0 ? -errno : 0;
}

/* Makes room for a name that a file or folder is moved to. */
static int clear_target(struct guest *g, struct path_at *to, bool folder, unsigned flags)
{
	struct file_id id = to->folder;
	struct stat st;
	int err;

	if (to->private)
		return 0;
	if (fstatat(to->dir, to->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (flags & RENAME_NOREPLACE)
			return -EEXIST;
		if (S_ISDIR(st.st_mode) && !folder)
			return -EISDIR;
		if (!S_ISDIR(st.st_mode) && folder)
			return -ENOTDIR;
		if (S_ISDIR(st.st_mode) && !is_empty(g, to->dir, to->name, &st))
			return -ENOTEMPTY;
		err = may_write_folder(g, to->dir);
		if (!err && S_ISREG(st.st_mode) && (st.st_nlink > 1 || is_open(g, &st)))
			return view_change(g, to, true);
	} else {
		err = may_write_folder(g, to->dir);
	}
	if (!err)
		err = enter_upper(g, to);
	return err ? err : view_hide(g, id, to->name);
}

/* Whether a name's folder or file is, or leads through, the folder of another name. */
static bool is_within(struct guest *g, const struct path_at *name, const struct path_at *of)
{
	char inner[2 * PATH_BYTES], outer[2 * PATH_BYTES];
	int fd = openat(of->dir, of->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool within = fd >= 0 && !view_place(g, name->dir, inner) && !view_place(g, fd, outer) &&
		      path_below(inner, outer);

	if (fd >= 0)
		close(fd);
	return within;
}

int view_rename(struct guest *g, struct path_at *from, struct path_at *to, unsigned flags)
{
	const bool first = strip_slash(from), second = strip_slash(to), slash = first || second;
	bool exists;
	struct stat st, other;
	int err;

	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	if (fstatat(from->dir, from->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	exists = !fstatat(to->dir, to->name, &other, AT_SYMLINK_NOFOLLOW);
	if (exists ? flags & RENAME_NOREPLACE : flags & RENAME_EXCHANGE)
		return exists ? -EEXIST : -ENOENT;
	if (slash && !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (S_ISDIR(st.st_mode) && is_within(g, to, from))
		return -EINVAL;
	if (exists && S_ISDIR(other.st_mode) && is_within(g, from, to))
		return flags & RENAME_EXCHANGE ? -EINVAL : -ENOTEMPTY;
	/* Two names of one file: nothing happens. */
	if (exists && view_same(view_id_of(&st), view_id_of(&other)))
		return 0;
	err = from->private ? 0 : may_write_folder(g, from->dir);
	if (!err && flags & RENAME_EXCHANGE)
		err = view_change(g, to, true);
	else if (!err)
		err = clear_target(g, to, S_ISDIR(st.st_mode), flags);
	if (!err)
		err = view_change(g, from, true);
	if (!err && renameat2(from->dir, from->name, to->dir, to->name, flags) < 0)
		err = -errno;
	return err;
}

/* A folder of the host: 1 and its attributes as they are now; 0: the host's call will do. */
static int folder_attributes(struct guest *g, struct path_at *at, struct file_id *id,
			     struct view_attributes *a, bool owner)
{
	struct stat st;

	if (!g->view || at->private)
		return 0;
	if (fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return -errno;
	if (view_is_own(g, at->dir) && !*at->name)
		return 0;
	if (owner && !g->world.super && st.st_uid != g->world.uid)
		return -EPERM;
	if (!S_ISDIR(st.st_mode))
		return view_change(g, at, true);
	*id = view_id_of(&st);
	if (!view_attributes_read(g, *id, a))
		*a = (struct view_attributes){ st.st_mode & 07777, { 0, -1, 0, -1 } };
	return 1;
}

static int attributes_write(struct guest *g, const struct path_at *at, struct file_id id,
			    const struct view_attributes *a)
{
	char key[VIEW_KEY_BYTES], text[128];
	int fd = *at->name ? openat(at->dir, at->name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
			   : fcntl(at->dir, F_DUPFD_CLOEXEC, 3);
	int upper = fd < 0 ? -errno : view_upper(g, fd, id);

	if (fd >= 0)
		close(fd);
	if (upper < 0)
		return upper;
	close(upper);
	view_key(id, key);
	snprintf(text, sizeof(text), "%o %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, a->mode,
		 a->times[0], a->times[1], a->times[2], a->times[3]);
	g->view->shared->attributes = 1;
	return view_write(g, "a", key, text) ? 1 : -errno;
}

int view_chmod(struct guest *g, struct path_at *at, mode_t mode)
{
	struct view_attributes a;
	struct file_id id;
	int r = folder_attributes(g, at, &id, &a, true);

	if (r <= 0)
		return r;
	a.mode = mode & 07777;
	return attributes_write(g, at, id, &a);
}

int view_utimens(struct guest *g, struct path_at *at, const struct timespec *times)
{
	struct view_attributes a;
	struct file_id id;
	bool now = !times || (times[0].tv_nsec == UTIME_NOW && times[1].tv_nsec == UTIME_NOW);
	int r = folder_attributes(g, at, &id, &a, !now);

	if (r <= 0)
		return r;
	for (int i = 0; i < 2; i++) {
		struct timespec ts;

		if (times && times[i].tv_nsec == UTIME_OMIT)
			continue;
		if (!times || times[i].tv_nsec == UTIME_NOW)
			clock_gettime(CLOCK_REALTIME, &ts);
		else
			ts = times[i];
		a.times[2 * i] = ts.tv_sec;
		a.times[2 * i + 1] = ts.tv_nsec;
	}
	return attributes_write(g, at, id, &a);
}

/* ---- names ---- */

/* From a path in the store to the one on the host that it stands in for. */
static bool stands_at(const struct guest *g, const char *host, char path[2 * PATH_BYTES])
{
	const char *rest = path_below(host, g->view->path), *end;
	char key[VIEW_KEY_BYTES], folder[PATH_BYTES];

	if (!rest || strncmp(rest, "u/", 2))
		return false;
	rest += 2;
	end = strchr(rest, '/');
	snprintf(key, sizeof(key), "%.*s", end ? (int)(end - rest) : (int)strlen(rest), rest);
	if (view_read(g, "h", key, folder, sizeof(folder)) < 0)
		return false;
	snprintf(path, 2 * PATH_BYTES, "%s%s", end && !strcmp(folder, "/") ? "" : folder,
		 end ? end : "");
	return true;
}

const char *view_guest(const struct guest *g, const char *host)
{
	if (!path_below(host, g->view->path))
		return NULL;
	if (!stands_at(g, host, g->view->text))
		strcpy(g->view->text, "/ (deleted)");
	return g->view->text;
}

int view_place(struct guest *g, int fd, char place[2 * PATH_BYTES])
{
	char host[PATH_BYTES], path[2 * PATH_BYTES];
	const char *rest;
	char base = 'h';
	int err = path_of_fd(fd, host);

	if (err)
		return err;
	if (!g->view || !stands_at(g, host, path))
		strcpy(path, host);
	if (g->world.sysroot_path && (rest = path_below(path, g->world.sysroot_path)))
		base = 's';
	else if (g->world.start && (rest = path_below(path, g->world.start)))
		base = 'c';
	else
		rest = path + 1;
	if (strlen(rest) + 3 > 2 * PATH_BYTES)
		return -ENAMETOOLONG;
	place[0] = base;
	place[1] = '/';
	strcpy(place + 1 + (*rest != 0), rest);
	return 0;
}
