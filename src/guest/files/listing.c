/* SPDX-License-Identifier: MIT */
/*
 * Folders as the guest lists them: in the order of their names ("." and ".." first), whatever order
 * the host's file system keeps them in, so that a program that lists a folder does the same on
 * every host.
 *
 * A folder is read as a whole when its listing begins, and again when the guest goes back to its
 * start (rewinddir). What appears or vanishes in between does not show, which POSIX leaves open. An
 * entry's offset (d_off, telldir) is the number of the next one. Descriptors that were duplicated
 * in this process share the place, as they do on Linux; a forked process goes on by itself.
 *
 * What culprit itself writes (guest_hide) is not in the guest's folders.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/files.h"
#include "guest/files/listing.h"
#include "guest/files/path.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "state/state.h"
#include "util/array.h"

#define CHUNK_BYTES (1u << 16)
#define RECORD_HEAD 19 /* ino, off, reclen, type */

struct entry {
	uint64_t ino;
	uint8_t type;
	size_t name; /* where it begins in names */
};

struct listing {
	bool used, loaded;
	char *names;
	size_t names_bytes, names_capacity;
	struct entry *entries;
	size_t count, at;
};

/* Order of qsort: by name, but "." and ".." first. */
static int by_name(const void *va, const void *vb, void *ctx)
{
	const char *names = ctx;
	const char *a = names + ((const struct entry *)va)->name;
	const char *b = names + ((const struct entry *)vb)->name;
	int a_rank = !strcmp(a, ".") ? 0 : !strcmp(a, "..") ? 1 : 2;
	int b_rank = !strcmp(b, ".") ? 0 : !strcmp(b, "..") ? 1 : 2;

	return a_rank != b_rank ? a_rank - b_rank : strcmp(a, b);
}

/* Whether a name is base, or a form that is made from it: base.2, base.1234.tmp. */
static bool is_output(const char *name, const char *base)
{
	size_t n = strlen(base), length = strlen(name);

	if (strncmp(name, base, n))
		return false;
	if (!name[n])
		return true;
	return name[n] == '.' && ((length > n + 4 && !strcmp(name + length - 4, ".tmp")) ||
				  strspn(name + n, ".0123456789") == length - n);
}

/* Whether it is one of culprit's own temporary files: culprit-XXXXXX in the folder for these. */
static bool is_scratch(const char *folder, const char *name)
{
	static const char begin[] = "culprit-";

	return !strcmp(folder, P_tmpdir) && !strncmp(name, begin, sizeof(begin) - 1) &&
	       strlen(name) == sizeof(begin) - 1 + 6;
}

static bool is_hidden(const struct guest *g, const char *folder, const char *name)
{
	if (is_scratch(folder, name))
		return true;
	for (size_t i = 0; i < g->notes.nhidden; i++) {
		const char *slash = strrchr(g->notes.hidden[i], '/');
		size_t n = (size_t)(slash - g->notes.hidden[i]);

		if (strlen(folder) == (n ? n : 1) &&
		    !strncmp(folder, g->notes.hidden[i], n ? n : 1) && is_output(name, slash + 1))
			return true;
	}
	return false;
}

void guest_hide(struct guest *g, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? x_strndup(path, (size_t)(slash - path) + 1) : x_strdup(".");
	char *real = realpath(folder, NULL);

	free(folder);
	if (!real)
		return;
	*ARRAY_ADD(g->notes.hidden, g->notes.nhidden) =
	    x_asprintf("%s/%s", strcmp(real, "/") ? real : "", slash ? slash + 1 : path);
	free(real);
}

static void add(struct listing *l, int host, uint64_t ino, uint8_t type, const char *name)
{
	size_t n = strlen(name) + 1;
	struct stat st;

	/* a file system that does not say in its listing what an entry is */
	if (type == DT_UNKNOWN && !fstatat(host, name, &st, AT_SYMLINK_NOFOLLOW))
		type = IFTODT(st.st_mode);
	ARRAY_ROOM(l->names, l->names_capacity, l->names_bytes + n);
	memcpy(l->names + l->names_bytes, name, n);
	*ARRAY_ADD(l->entries, l->count) = (struct entry){ ino, type, l->names_bytes };
	l->names_bytes += n;
}

static void clear(struct listing *l)
{
	free(l->names);
	free(l->entries);
	*l = (struct listing){ .used = l->used };
}

/* Writes a name with the mark of its kind, as `ls -F` does. */
static char kind_mark(uint8_t type)
{
	switch (type) {
	case DT_DIR:
		return '/';
	case DT_LNK:
		return '@';
	case DT_FIFO:
		return '|';
	case DT_SOCK:
		return '=';
	case DT_REG:
		return '\0';
	default:
		return '%';
	}
}

static void note(struct guest *g, const struct listing *l, const char *folder)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("out of memory");
	for (size_t i = 0; i < l->count; i++) {
		const char *name = l->names + l->entries[i].name;
		char mark = kind_mark(l->entries[i].type);

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		fputs(name, f);
		if (mark)
			fputc(mark, f);
		fputc('\0', f);
	}
	if (fclose(f))
		die("out of memory");
	files_listed(g, folder, text, size);
	free(text);
}

/* Whether the view has its own entry of that name, or hides the folder's. */
static bool is_own(struct guest *g, const struct stat *folder, const char *name)
{
	int upper;

	if (view_find(g, (struct file_id){ folder->st_dev, folder->st_ino }, name, &upper) ==
	    VIEW_HOST)
		return false;
	close(upper);
	return true;
}

static uint64_t shown_ino(struct guest *g, int dir, const char *name, uint64_t ino)
{
	struct stat st;

	if (!g->view || !strcmp(name, ".") || !strcmp(name, "..") ||
	    (!g->view->shared->changed && !g->view->shared->aliases) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return ino;
	view_show(g, &st);
	return st.st_ino;
}

/* Adds what the view has in a folder of the host. */
static void add_own(struct guest *g, struct listing *l, const struct stat *folder)
{
	char path[VIEW_KEY_BYTES + 2] = "u/";
	const struct dirent *e;
	DIR *d;
	int fd;

	view_key((struct file_id){ folder->st_dev, folder->st_ino }, path + 2);
	fd = openat(g->view->store, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			add(l, fd, shown_ino(g, fd, e->d_name, e->d_ino), e->d_type, e->d_name);
	if (d)
		closedir(d);
}

/* 0 or -errno. */
static int load(struct guest *g, struct listing *l, int host)
{
	char folder[PATH_BYTES], *chunk = x_malloc(CHUNK_BYTES);
	bool named = path_of_fd(host, folder) == 0;
	bool own = named && g->view && path_below(folder, g->view->path);
	struct stat st;
	long got = -1;

	clear(l);
	named &= !own;
	if (!g->view || own || fstat(host, &st))
		st.st_ino = 0;
	if (lseek(host, 0, SEEK_SET) == 0)
		while ((got = syscall(SYS_getdents64, host, chunk, CHUNK_BYTES)) > 0)
			for (long at = 0; at < got;) {
				const char *rec = chunk + at;
				uint64_t ino;
				uint16_t length;

				memcpy(&ino, rec, sizeof(ino));
				memcpy(&length, rec + 16, sizeof(length));
				if ((!named || !is_hidden(g, folder, rec + RECORD_HEAD)) &&
				    (!st.st_ino || !is_own(g, &st, rec + RECORD_HEAD)))
					add(l, host, shown_ino(g, host, rec + RECORD_HEAD, ino),
					    (uint8_t)rec[18], rec + RECORD_HEAD);
				at += length;
			}
	free(chunk);
	if (got == 0 && st.st_ino)
		add_own(g, l, &st);
	if (got < 0) {
		int err = -errno;

		clear(l);
		return err;
	}
	if (l->count)
		qsort_r(l->entries, l->count, sizeof(*l->entries), by_name, l->names);
	l->loaded = true;
	if (named)
		note(g, l, folder);
	return 0;
}

static struct listing *listing_new(struct guest *g, struct fd_entry *f)
{
	size_t i = 0;

	while (i < g->nlistings && g->listings[i].used)
		i++;
	if (i == g->nlistings)
		(void)ARRAY_ADD(g->listings, g->nlistings);
	g->listings[i] = (struct listing){ .used = true };
	f->listing = (uint32_t)i + 1;
	return &g->listings[i];
}

int64_t listing_read(struct guest *g, struct fd_entry *f, uint64_t addr, uint64_t size)
{
	struct listing *l;
	struct stat st;
	uint64_t used = 0;

	if (!f->listing) {
		if (fstat(f->host, &st))
			return -errno;
		if (!S_ISDIR(st.st_mode))
			return -ENOTDIR;
		listing_new(g, f);
	}
	l = &g->listings[f->listing - 1];
	if (!l->loaded) {
		size_t at = l->at;
		int err = load(g, l, f->host);

		if (err)
			return err;
		l->at = at;
	}
	while (l->at < l->count) {
		const struct entry *e = &l->entries[l->at];
		const char *name = l->names + e->name;
		size_t n = strlen(name);
		uint8_t rec[RECORD_HEAD + NAME_MAX * 4 + 16] = { 0 };
		uint16_t length = (uint16_t)((RECORD_HEAD + n + 1 + 7) / 8 * 8);
		uint64_t next = l->at + 1;

		if (length > sizeof(rec))
			return used ? (int64_t)used : -EIO;
		if (used + length > size)
			return used ? (int64_t)used : -EINVAL;
		memcpy(rec, &e->ino, 8);
		memcpy(rec + 8, &next, 8);
		memcpy(rec + 16, &length, 2);
		rec[18] = e->type;
		memcpy(rec + RECORD_HEAD, name, n);
		if (copy_out(g, addr + used, rec, length) < 0)
			return used ? (int64_t)used : -EFAULT;
		used += length;
		l->at++;
	}
	return (int64_t)used;
}

bool listing_seek(struct guest *g, struct fd_entry *f, int64_t offset, int whence, int64_t *at)
{
	struct listing *l = f->listing ? &g->listings[f->listing - 1] : NULL;
	struct stat st;

	if (!l) {
		if ((whence == SEEK_SET && !offset) || fstat(f->host, &st) || !S_ISDIR(st.st_mode))
			return false;
		l = listing_new(g, f);
	}
	if (whence == SEEK_CUR)
		offset += (int64_t)l->at;
	if ((whence != SEEK_SET && whence != SEEK_CUR) || offset < 0) {
		*at = -EINVAL;
		return true;
	}
	if (!offset)
		clear(l); /* back to the start: the folder is read again */
	l->at = (size_t)offset;
	*at = offset;
	return true;
}

void listing_closed(struct guest *g, uint32_t listing)
{
	if (!listing)
		return;
	for (size_t i = 0; i < g->nfds; i++)
		if (g->fds[i].kind != FD_CLOSED && g->fds[i].listing == listing)
			return;
	g->listings[listing - 1].used = false;
	clear(&g->listings[listing - 1]);
}

void listings_free(struct guest *g)
{
	for (size_t i = 0; i < g->nlistings; i++)
		clear(&g->listings[i]);
	free(g->listings);
	for (size_t i = 0; i < g->notes.nhidden; i++)
		free(g->notes.hidden[i]);
	free(g->notes.hidden);
}

#define LISTINGS_MAX (1u << 20)
#define ENTRIES_MAX  (1u << 24)

static void listing_state(struct state *s, struct listing *l)
{
	uint64_t at = l->at;
	const size_t n = (state_bool(s, &l->used), state_bool(s, &l->loaded),
			  state_count(s, l->count, ENTRIES_MAX));

	for (size_t i = 0; i < n && state_ok(s); i++) {
		struct entry e = state_reading(s) ? (struct entry){ 0 } : l->entries[i];
		char *name = state_reading(s) ? NULL : l->names + e.name;

		state_text(s, &name, NAME_MAX * 4);
		state_u64(s, &e.ino);
		state_u8(s, &e.type);
		if (state_reading(s) && state_ok(s) && name)
			add(l, -1, e.ino, e.type == DT_UNKNOWN ? DT_REG : e.type, name);
		if (state_reading(s))
			free(name);
	}
	state_u64(s, &at);
	l->at = (size_t)at;
}

void listings_state(struct guest *g, struct state *s)
{
	const size_t n = state_count(s, g->nlistings, LISTINGS_MAX);

	for (size_t i = 0; i < n && state_ok(s); i++) {
		if (state_reading(s))
			*ARRAY_ADD(g->listings, g->nlistings) = (struct listing){ 0 };
		listing_state(s, &g->listings[i]);
	}
}
