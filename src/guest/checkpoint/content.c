/* SPDX-License-Identifier: MIT */
/*
 * Files in a checkpoint: what the guest has made, changed and removed so far. That is what its view
 * (guest/files/view.c) holds, folder by folder: which of the host's names are hidden, and a tree of
 * what stands there instead, with modes, times and content. Folders are named by places (view.h), so
 * another sysroot or starting folder restores them alike.
 *
 * Regular files have numbers from 1 on, in the order in which they are met here and in section
 * descriptors: two names of one file, a descriptor and a mapping of it say the same number.
 * Files of the host that have several names are walked first: the names that the guest has not used yet
 * stand for its copy, too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/files.h"
#include "guest/files/owner.h"
#include "guest/files/view.h"
#include "guest/process/process.h"
#include "util/array.h"
#include "util/text.h"

#define FOLDERS_MAX (1u << 20)
#define NAMES_MAX   (1u << 24)
#define LEVELS_MAX  256u
#define FILES_MAX   (1u << 24)
#define FILE_BYTES  (1ull << 42)
#define TOTAL_BYTES (1ull << 38) /* written while a checkpoint is restored */
#define XATTRS_MAX  1024u

struct saved_file {
	uint64_t dev, ino; /* on this host */
	int fd;		   /* reading: open, if it has no name; -1: o/NUMBER in the store */
};

struct saved_files {
	struct saved_file *items; /* by number less 1 */
	size_t count;
	uint64_t bytes; /* written so far, when reading */
};

void saved_free(struct guest *g)
{
	struct saved_files *f = g->saved;

	for (size_t i = 0; f && i < f->count; i++)
		if (f->items[i].fd >= 0)
			close(f->items[i].fd);
	if (f)
		free(f->items);
	free(f);
	g->saved = NULL;
}

void checkpoint_files_done(struct guest *g)
{
	saved_free(g);
	if (g->view)
		view_remove_tree(g->view->store, "o");
}

uint32_t checkpoint_file_number(struct guest *g, uint64_t dev, uint64_t ino)
{
	const struct saved_files *f = g->saved;

	for (size_t i = 0; f && i < f->count; i++)
		if (f->items[i].dev == dev && f->items[i].ino == ino)
			return (uint32_t)i + 1;
	return 0;
}

static void number_name(uint32_t number, char name[32])
{
	snprintf(name, 32, "o/%u", number);
}

int checkpoint_file_open(struct guest *g, uint32_t number)
{
	const struct saved_files *f = g->saved;
	char name[32], link[FD_PATH_BYTES];
	int fd;

	if (!f || !number || number > f->count)
		return -1;
	if (f->items[number - 1].fd >= 0) {
		path_to_fd(f->items[number - 1].fd, link);
		fd = open(link, O_RDWR | O_CLOEXEC);
		return fd < 0 ? open(link, O_RDONLY | O_CLOEXEC) : fd;
	}
	number_name(number, name);
	fd = openat(g->view->store, name, O_RDWR | O_CLOEXEC);
	return fd < 0 ? openat(g->view->store, name, O_RDONLY | O_CLOEXEC) : fd;
}

uint32_t saved_add(struct guest *g, int fd, bool keep)
{
	struct stat st = { 0 };

	if (!g->saved)
		g->saved = x_calloc(1, sizeof(*g->saved));
	fstat(fd, &st);
	*ARRAY_ADD(g->saved->items, g->saved->count) =
	    (struct saved_file){ st.st_dev, st.st_ino, keep ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1 };
	return (uint32_t)g->saved->count;
}

/* ---- content ---- */

void content_state(struct guest *g, struct state *s, int fd)
{
	uint8_t *piece = x_malloc(CHECKPOINT_PIECE);
	struct stat st;
	uint64_t size = 0;

	if (!state_reading(s) && !fstat(fd, &st))
		size = (uint64_t)st.st_size;
	state_u64(s, &size);
	if (size > FILE_BYTES ||
	    (state_reading(s) && state_ok(s) && ftruncate(fd, (off_t)size) < 0))
		state_fail(s, "a file of %" PRIu64 " bytes cannot be kept", size);
	for (uint64_t at = 0; at < size && state_ok(s); at += CHECKPOINT_PIECE) {
		size_t n = min_u64(CHECKPOINT_PIECE, size - at);

		if (!state_reading(s)) {
			ssize_t got = pread(fd, piece, n, (off_t)at);

			memset(piece + (got > 0 ? got : 0), 0, n - (size_t)(got > 0 ? got : 0));
			if (got < 0)
				state_fail(s, "a file of the program cannot be read: %s",
					   strerror(errno));
		}
		state_piece(s, piece, n);
		if (!state_reading(s) || !state_ok(s) ||
		    (piece[0] == 0 && !memcmp(piece, piece + 1, n - 1)))
			continue;
		if (g->saved)
			g->saved->bytes += n;
		if (!g->saved || g->saved->bytes > TOTAL_BYTES)
			state_fail(s, "its files are too large");
		else if (pwrite(fd, piece, n, (off_t)at) != (ssize_t)n)
			state_fail(s, "a file of the program cannot be written in %s: %s", P_tmpdir,
				   strerror(errno));
	}
	free(piece);
}

static void times_state(struct state *s, struct stat *st)
{
	state_i64(s, &st->st_atim.tv_sec);
	state_i64(s, &st->st_atim.tv_nsec);
	state_i64(s, &st->st_mtim.tv_sec);
	state_i64(s, &st->st_mtim.tv_nsec);
	for (int i = 0; i < 2; i++) {
		int64_t ns = i ? st->st_mtim.tv_nsec : st->st_atim.tv_nsec;

		if (ns < -1 || ns > 999999999)
			state_fail(s, "a time is absurd");
	}
}

/* Attributes of the name space "user". */
static void xattrs_state(struct state *s, int fd)
{
	char *names = x_malloc(XATTR_LIST_MAX), *value = x_malloc(XATTR_SIZE_MAX);
	ssize_t n = state_reading(s) ? 0 : flistxattr(fd, names, XATTR_LIST_MAX);
	size_t count = 0;
	char *at = names;

	for (char *p = names; n > 0 && p < names + n; p += strlen(p) + 1)
		count += !strncmp(p, "user.", 5);
	count = state_count(s, count, XATTRS_MAX);
	for (size_t i = 0; i < count && state_ok(s); i++) {
		char *name = NULL;
		ssize_t got = 0;

		while (!state_reading(s) && strncmp(at, "user.", 5))
			at += strlen(at) + 1;
		if (!state_reading(s)) {
			name = at;
			at += strlen(at) + 1;
			got = fgetxattr(fd, name, value, XATTR_SIZE_MAX);
		}
		state_text(s, &name, XATTR_NAME_MAX);

		size_t bytes = state_count(s, got > 0 ? (size_t)got : 0, XATTR_SIZE_MAX);

		state_raw(s, value, bytes);
		if (!state_reading(s))
			continue;
		if (state_ok(s) && name && !strncmp(name, "user.", 5))
			fsetxattr(fd, name, value, bytes, 0);
		free(name);
	}
	free(names);
	free(value);
}

/* ---- trees ---- */

enum entry_kind { ENTRY_FILE, ENTRY_FOLDER, ENTRY_LINK, ENTRY_FIFO, ENTRY_SOCKET, ENTRY_KINDS };

static int kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return ENTRY_FILE;
	case S_IFDIR:
		return ENTRY_FOLDER;
	case S_IFLNK:
		return ENTRY_LINK;
	case S_IFIFO:
		return ENTRY_FIFO;
	case S_IFSOCK:
		return ENTRY_SOCKET;
	default:
		return ENTRY_KINDS;
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, in order; allocated. */
static size_t names_in(int dir, char ***names)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	size_t n = 0;

	*names = NULL;
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			*ARRAY_ADD(*names, n) = x_strdup(e->d_name);
	if (d)
		closedir(d);
	if (n)
		qsort(*names, n, sizeof(**names), by_text);
	return n;
}

static void names_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* A name that can stand in a folder. */
static bool is_name(const char *name)
{
	return name && *name && strlen(name) <= NAME_MAX && !strchr(name, '/') &&
	       strcmp(name, ".") && strcmp(name, "..");
}

static void tree_state(struct guest *g, struct state *s, int dir, unsigned level);

/* A regular file: its number, and the content if it is met for the first time. */
static void file_state(struct guest *g, struct state *s, int dir, const char *name,
		       const struct stat *st)
{
	uint32_t number = state_reading(s) ? 0 : checkpoint_file_number(g, st->st_dev, st->st_ino);
	char kept[32];
	int fd = -1;

	state_u32(s, &number);
	if (!state_ok(s))
		return;
	if (state_reading(s) && number) {
		number_name(number, kept);
		if (linkat(g->view->store, kept, dir, name, 0) < 0)
			state_fail(s, "a file has a name that leads nowhere");
		return;
	}
	if (number)
		return;
	if (state_reading(s)) {
		fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} else {
		char link[FD_PATH_BYTES];
		int object = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		path_to_fd(object, link);
		fd = open(link, O_RDONLY | O_CLOEXEC);
		if (object >= 0)
			close(object);
	}
	if (fd < 0) {
		state_fail(s, "a file of the program cannot be %s: %s",
			   state_reading(s) ? "made" : "read", strerror(errno));
		return;
	}
	number = saved_add(g, fd, false);
	if (state_reading(s)) {
		number_name(number, kept);
		linkat(dir, name, g->view->store, kept, 0);
	}
	xattrs_state(s, fd);
	content_state(g, s, fd);
	close(fd);
}

static void link_state(struct state *s, int dir, const char *name)
{
	char target[PATH_BYTES], *text = target;
	ssize_t n = state_reading(s) ? 0 : readlinkat(dir, name, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = 0;
	state_text(s, &text, PATH_BYTES - 1);
	if (!state_reading(s))
		return;
	if (state_ok(s) && (!text || symlinkat(text, dir, name) < 0))
		state_fail(s, "a symbolic link of the program cannot be made");
	free(text);
}

static void folder_state(struct guest *g, struct state *s, int dir, const char *name,
			 unsigned level)
{
	int fd;

	if (state_reading(s) && mkdirat(dir, name, 0700) < 0) {
		state_fail(s, "a folder of the program cannot be made: %s", strerror(errno));
		return;
	}
	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (level == LEVELS_MAX || fd < 0)
		state_fail(s, "its folders are too deep");
	else
		tree_state(g, s, fd, level + 1);
	if (fd >= 0)
		close(fd);
}

/* Mode, times and the numbers that the guest is shown; after the content, which changes the times. */
static void finish_entry(struct guest *g, int dir, const char *name, const struct stat *st,
			 struct file_id shown)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	view_set_ids(g, fd, shown.dev, shown.ino);
	close(fd);
	if (!S_ISLNK(st->st_mode))
		fchmodat(dir, name,
			 S_ISDIR(st->st_mode) ? st->st_mode & 07777
					      : owner_mode(st->st_mode & 07777),
			 0);
	utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
}

static void entry_state(struct guest *g, struct state *s, int dir, char *name, unsigned level)
{
	static const mode_t modes[ENTRY_KINDS] = { S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK };
	struct stat st = { 0 };
	struct file_id shown;
	uint32_t kind, mode;

	if (!state_reading(s) && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		state_fail(s, "a file of the program has vanished");
	shown = (struct file_id){ st.st_dev, st.st_ino };
	if (!state_reading(s))
		view_show_ids(g, &shown.dev, &shown.ino);
	kind = state_below(s, (uint32_t)kind_of(st.st_mode), ENTRY_KINDS);
	mode = st.st_mode & 07777;
	state_u32(s, &mode);
	times_state(s, &st);
	state_u64(s, &shown.dev);
	state_u64(s, &shown.ino);
	if (!state_ok(s))
		return;
	st.st_mode = modes[kind] | (mode & 07777);
	switch (kind) {
	case ENTRY_FILE:
		file_state(g, s, dir, name, &st);
		break;
	case ENTRY_FOLDER:
		folder_state(g, s, dir, name, level);
		break;
	case ENTRY_LINK:
		link_state(s, dir, name);
		break;
	default:
		if (state_reading(s) && mknodat(dir, name, modes[kind] | 0600, 0) < 0)
			state_fail(s, "a pipe of the program cannot be made: %s", strerror(errno));
	}
	if (state_reading(s) && state_ok(s))
		finish_entry(g, dir, name, &st, shown);
}

static void tree_state(struct guest *g, struct state *s, int dir, unsigned level)
{
	char **names = NULL;
	size_t have = state_reading(s) ? 0 : names_in(dir, &names);
	const size_t n = state_count(s, have, NAMES_MAX);

	for (size_t i = 0; i < n && state_ok(s); i++) {
		char *name = state_reading(s) ? NULL : names[i];

		state_text(s, &name, NAME_MAX);
		if (state_ok(s) && !is_name(name))
			state_fail(s, "a file has a name that no file can have");
		if (state_ok(s))
			entry_state(g, s, dir, name, level);
		if (state_reading(s))
			free(name);
	}
	names_free(names, have);
}

/* ---- folders of the host ---- */

/* A folder in which something has changed, or a file. */
struct changed {
	char *place, *key;
};

static int by_place(const void *a, const void *b)
{
	return strcmp(((const struct changed *)a)->place, ((const struct changed *)b)->place);
}

/* Whether the guest still finds a folder of the host there. */
static bool is_visible(struct guest *g, const char *place, const struct stat *st)
{
	struct path_at at;
	bool visible = false;

	if (path_find_in(g, place, 0, &at) == 0) {
		visible = at.is_dir && !at.private && at.folder.dev == st->st_dev &&
			  at.folder.ino == st->st_ino;
		path_done(&at);
	}
	return visible;
}

/* The folders of the host in which something has changed, by place. */
static size_t changed_folders(struct guest *g, struct changed **list)
{
	char **keys, host[PATH_BYTES], place[2 * PATH_BYTES];
	int dir = openat(g->view->store, "h", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t n = names_in(dir, &keys), count = 0;

	*list = NULL;
	for (size_t i = 0; i < n; i++) {
		char now[VIEW_KEY_BYTES];
		struct stat st;
		int fd = view_read(g, "h", keys[i], host, sizeof(host)) < 0
			     ? -1
			     : open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && view_place(g, fd, place) == 0) {
			view_key((struct file_id){ st.st_dev, st.st_ino }, now);
			if (!strcmp(now, keys[i]) && is_visible(g, place, &st))
				*ARRAY_ADD(*list, count) =
				    (struct changed){ x_strdup(place), x_strdup(keys[i]) };
		}
		close(fd);
	}
	close(dir);
	names_free(keys, n);
	if (count)
		qsort(*list, count, sizeof(**list), by_place);
	return count;
}

static void hidden_state(struct guest *g, struct state *s, const char *key, struct file_id id)
{
	char path[VIEW_KEY_BYTES + 4], **names = NULL;
	size_t have = 0, n;

	if (!state_reading(s)) {
		snprintf(path, sizeof(path), "w/%s", key);

		int dir = openat(g->view->store, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

		have = names_in(dir, &names);
		if (dir >= 0)
			close(dir);
	}
	n = state_count(s, have, NAMES_MAX);
	for (size_t i = 0; i < n && state_ok(s); i++) {
		char *name = state_reading(s) ? NULL : names[i];

		state_text(s, &name, NAME_MAX);
		if (state_ok(s) && (!is_name(name) || (state_reading(s) && view_hide(g, id, name))))
			state_fail(s, "a file has a name that no file can have");
		if (state_reading(s))
			free(name);
	}
	names_free(names, have);
}

/* The mode and times that the guest gave a folder of the host. */
static void attributes_state(struct guest *g, struct state *s, const char *key)
{
	char text[128], *at = text;
	bool has = !state_reading(s) && view_read(g, "a", key, text, sizeof(text)) > 0;

	state_bool(s, &has);
	if (!has)
		return;
	state_text(s, &at, sizeof(text) - 1);
	if (!state_reading(s))
		return;
	if (state_ok(s) && (!at || strspn(at, "-0123456789 ") != strlen(at)))
		state_fail(s, "the mode of a folder is absurd");
	if (state_ok(s)) {
		view_write(g, "a", key, at);
		g->view->shared->attributes = 1;
	}
	free(at);
}

/* Finds the folder of a place; a descriptor of it, or -1. */
static int find_folder(struct guest *g, struct state *s, const char *place)
{
	struct path_at at;
	int err = path_find_in(g, place, 0, &at), fd = -1;

	if (!err) {
		fd = at.is_dir && !at.node.row ? fcntl(at.dir, F_DUPFD_CLOEXEC, 3) : -1;
		path_done(&at);
		err = -ENOTDIR;
	}
	if (fd < 0) {
		char *shown = text_shown(place);

		state_fail(s, "the folder %.300s, in which the program has files, is not there: %s",
			   shown + 1, strerror(-err));
		free(shown);
	}
	return fd;
}

static void changed_state(struct guest *g, struct state *s, struct changed *f)
{
	char key[VIEW_KEY_BYTES];
	struct stat st = { 0 };
	int dir = -1, upper = -1;

	state_text(s, &f->place, 2 * PATH_BYTES);
	if (state_ok(s) && !f->place)
		state_fail(s, "a folder has no name");
	if (!state_ok(s))
		return;
	if (state_reading(s)) {
		dir = find_folder(g, s, f->place);
		if (dir < 0)
			return;
		if (fstat(dir, &st) == 0)
			upper = view_upper(g, dir, (struct file_id){ st.st_dev, st.st_ino });
		view_key((struct file_id){ st.st_dev, st.st_ino }, key);
		close(dir);
	} else {
		char path[VIEW_KEY_BYTES + 4];

		snprintf(path, sizeof(path), "u/%s", f->key);
		snprintf(key, sizeof(key), "%s", f->key);
		upper = openat(g->view->store, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (upper < 0) {
		state_fail(s, "the program's files cannot be kept in %s", P_tmpdir);
		return;
	}
	attributes_state(g, s, key);
	hidden_state(g, s, key, (struct file_id){ st.st_dev, st.st_ino });
	tree_state(g, s, upper, 0);
	close(upper);
}

/* ---- files of the host with several names ---- */

static size_t several_find(struct guest *g, struct changed **list)
{
	char **keys, host[PATH_BYTES], place[2 * PATH_BYTES], now[VIEW_KEY_BYTES];
	int dir = openat(g->view->store, "q", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t n = names_in(dir, &keys), count = 0;

	*list = NULL;
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		int fd = view_read(g, "q", keys[i], host, sizeof(host)) < 0
			     ? -1
			     : open(host, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && view_place(g, fd, place) == 0) {
			view_key((struct file_id){ st.st_dev, st.st_ino }, now);
			if (!strcmp(now, keys[i]))
				*ARRAY_ADD(*list, count) =
				    (struct changed){ x_strdup(place), x_strdup(keys[i]) };
		}
		close(fd);
	}
	close(dir);
	names_free(keys, n);
	if (count)
		qsort(*list, count, sizeof(**list), by_place);
	return count;
}

static void one_of_several(struct guest *g, struct state *s, int links, struct changed *f)
{
	char key[VIEW_KEY_BYTES];
	struct path_at at;
	struct stat st = { 0 };
	int64_t left = 0;

	state_text(s, &f->place, 2 * PATH_BYTES);
	if (!state_ok(s) || !f->place) {
		state_fail(s, "a file has no place");
		return;
	}
	if (!state_reading(s)) {
		snprintf(key, sizeof(key), "%s", f->key);
		if (fstatat(links, key, &st, AT_SYMLINK_NOFOLLOW) == 0)
			left = view_names_left(g, (struct file_id){ st.st_dev, st.st_ino });
	} else {
		/* nothing has changed yet, so this is the host's */
		if (path_find_in(g, f->place, 0, &at) == 0) {
			if (at.node.row || !*at.name ||
			    fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			    !S_ISREG(st.st_mode))
				st.st_ino = 0;
			path_done(&at);
		}
		view_key((struct file_id){ st.st_dev, st.st_ino }, key);
	}
	entry_state(g, s, links, key, 0);
	state_i64(s, &left);
	if (state_reading(s) && state_ok(s)) {
		view_set_names_left(g, links, key, left > 0 ? left : 0);
		g->view->shared->links = 1;
	}
}

static void several_state(struct guest *g, struct state *s)
{
	struct changed *list = NULL;
	const size_t have = state_reading(s) ? 0 : several_find(g, &list);
	const size_t n = state_count(s, have, FOLDERS_MAX);
	int links = openat(g->view->store, "l", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < n && state_ok(s); i++) {
		struct changed one = { 0 };

		one_of_several(g, s, links, state_reading(s) ? &one : &list[i]);
		free(one.place);
	}
	close(links);
	for (size_t i = 0; i < have; i++) {
		free(list[i].place);
		free(list[i].key);
	}
	free(list);
}

/* Without a view nothing may have changed. */
static void check_unchanged(struct guest *g, struct state *s)
{
	static const enum guest_use uses[] = { GUEST_MADE, GUEST_CHANGED };

	guest_notes(g);
	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		const char **paths;

		if (guest_files(g, uses[i], &paths)) {
			char *shown = text_shown(paths[0]);

			state_fail(s,
				   "the program has written %.300s; its files can be saved only if "
				   "they are private from the start",
				   shown);
			free(shown);
		}
		free(paths);
	}
}

static void view_state(struct guest *g, struct state *s)
{
	struct changed *folders = NULL;
	uint64_t next_ino = g->view->shared->next_ino;
	const size_t have = state_reading(s) ? 0 : changed_folders(g, &folders);
	const size_t n = state_count(s, have, FOLDERS_MAX);

	if (state_reading(s))
		mkdirat(g->view->store, "o", 0700);
	several_state(g, s);
	state_u64(s, &next_ino);
	g->view->shared->next_ino = next_ino;
	for (size_t i = 0; i < n && state_ok(s); i++) {
		struct changed one = { 0 };

		changed_state(g, s, state_reading(s) ? &one : &folders[i]);
		free(one.place);
	}
	for (size_t i = 0; i < have; i++) {
		free(folders[i].place);
		free(folders[i].key);
	}
	free(folders);
}

void checkpoint_content(struct guest *g, struct state *s)
{
	char *start = g->world.start_name;
	bool view = g->view;
	struct err e;

	saved_free(g);
	g->saved = x_calloc(1, sizeof(*g->saved));
	state_text(s, &start, PATH_BYTES - 1);
	state_bool(s, &view);
	if (state_reading(s)) {
		if (state_ok(s) && start)
			path_world_move(g, start);
		free(start);
		if (state_ok(s) && !view_begin(g, &e))
			state_fail(s, "%s", e.text);
	} else if (!view) {
		check_unchanged(g, s);
	}
	if (view && state_ok(s))
		view_state(g, s);
}
