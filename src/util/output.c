/* SPDX-License-Identifier: MIT */
/*
 * Files that culprit writes, see output.h: look at what is at the path, write to a locked temporary
 * file beside it, look again, rename.
 */
#include "util/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/outside.h"

#define TRIES 1000 /* names that others may have taken */

struct output {
	const struct output_kind *kind;
	char *path;	 /* as it was given */
	char *target;	 /* where it leads */
	char *temporary; /* NULL: written in place */
	int fd;
};

/* What output_open finds at the path. */
enum found {
	FOUND_NOTHING,
	FOUND_OWN,	/* of the same kind */
	FOUND_IN_PLACE, /* to be written as it is */
	FOUND_OTHER,	/* e says what */
};

/* These name a descriptor that the user has opened for culprit, whatever it is. */
static bool names_descriptor(const char *path)
{
	return !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr") ||
	       path_below(path, "/dev/fd") || path_below(path, "/proc/self/fd");
}

static enum found refuse(const struct output_kind *k, const char *path, const char *why,
			 struct err *e)
{
	err_set(e,
		"%s is not replaced, because it is %s; remove it, or choose another place with %s",
		path, why, k->option);
	return FOUND_OTHER;
}

static bool is_own(const struct output_kind *k, const char *target)
{
	uint8_t head[OUTPUT_HEAD_BYTES];
	int fd = outside_open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	size_t size = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && size < sizeof(head)) {
		n = read(fd, head + size, sizeof(head) - size);
		size += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	return fd >= 0 && n >= 0 && k->is(head, size, target);
}

/* Looks at what is at path. *target: where the path leads, allocated, unless FOUND_OTHER. */
static enum found look(const struct output_kind *k, const char *path, char **target, struct err *e)
{
	struct stat st;
	char why[128];

	if (outside_stat(path, true, &st)) {
		if (errno != ENOENT) {
			err_set(e, "cannot write %s: %s; choose another place with %s", path,
				strerror(errno), k->option);
			return FOUND_OTHER;
		}
		if (!outside_stat(path, false, &st))
			return refuse(k, path, "a symbolic link to nothing", e);
		*target = x_strdup(path);
		return FOUND_NOTHING;
	}
	if (S_ISDIR(st.st_mode))
		return refuse(k, path, "a folder", e);
	if (!S_ISREG(st.st_mode) || names_descriptor(path)) {
		if (k->only_files)
			return refuse(k, path, "not a file", e);
		*target = x_strdup(path);
		return FOUND_IN_PLACE;
	}
	*target = outside_is_elsewhere() ? x_strdup(path) : realpath(path, NULL);
	if (!*target || !is_own(k, *target)) {
		free(*target);
		*target = NULL;
		snprintf(why, sizeof(why), "not %s", k->what);
		return refuse(k, path, why, e);
	}
	return FOUND_OWN;
}

/* The number in NAME.NUMBER.tmp; 0: it is no such name. */
static unsigned long number_of(const char *entry, const char *name, size_t name_bytes)
{
	char *end;

	if (strncmp(entry, name, name_bytes) || entry[name_bytes] != '.' ||
	    entry[name_bytes + 1] < '1' || entry[name_bytes + 1] > '9')
		return 0;
	unsigned long n = strtoul(entry + name_bytes + 1, &end, 10);

	return strcmp(end, ".tmp") ? 0 : n;
}

/* Removes a temporary file that no writer holds, if it is of this kind or too short to tell. */
static void remove_abandoned(const struct output_kind *k, int dir, const char *entry)
{
	struct stat st, now;
	uint8_t head[OUTPUT_HEAD_BYTES];
	int fd = openat(dir, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !flock(fd, LOCK_EX | LOCK_NB)) {
		ssize_t n = pread(fd, head, sizeof(head), 0);

		if (n >= 0 && (!n || k->is(head, (size_t)n, entry)) &&
		    !fstatat(dir, entry, &now, AT_SYMLINK_NOFOLLOW) && now.st_ino == st.st_ino &&
		    now.st_dev == st.st_dev)
			unlinkat(dir, entry, 0);
	}
	close(fd);
}

static void remove_all_abandoned(const struct output_kind *k, const char *target)
{
	const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
	char *folder = slash ? x_strndup(target, (size_t)(slash - target + 1)) : x_strdup(".");
	DIR *dir = opendir(folder);
	size_t name_bytes = strlen(name);

	for (struct dirent *d; dir && (d = readdir(dir));)
		if (number_of(d->d_name, name, name_bytes))
			remove_abandoned(k, dirfd(dir), d->d_name);
	if (dir)
		closedir(dir);
	free(folder);
}

/* Opens a new file and locks it; another writer's clean-up may have removed it in between. */
static int open_locked(const char *path)
{
	struct stat st;
	int fd = outside_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return -1;
	if ((!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) && !fstat(fd, &st) &&
	    st.st_nlink)
		return fd;
	close(fd);
	errno = EEXIST;
	return -1;
}

static bool open_temporary(struct output *o, struct err *e)
{
	unsigned long number = (unsigned long)getpid();

	if (!outside_is_elsewhere())
		remove_all_abandoned(o->kind, o->target);
	for (int i = 0; i < TRIES; i++) {
		o->temporary = x_asprintf("%s.%lu.tmp", o->target, number++);
		o->fd = open_locked(o->temporary);
		if (o->fd >= 0)
			return true;
		if (errno != EEXIST)
			break;
		free(o->temporary);
		o->temporary = NULL;
	}
	return err_set(e, "cannot create %s: %s; choose another place with %s",
		       o->temporary ? o->temporary : o->path, strerror(errno), o->kind->option);
}

static void output_free(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->target);
	free(o->temporary);
	free(o);
}

bool output_may_open(const char *path, const struct output_kind *kind, struct err *e)
{
	char *target;

	outside_expect(path);
	if (look(kind, path, &target, e) == FOUND_OTHER)
		return false;
	free(target);
	return true;
}

struct output *output_open(const char *path, const struct output_kind *kind, struct err *e)
{
	struct output *o = x_calloc(1, sizeof(*o));
	bool ok;

	o->kind = kind;
	o->fd = -1;
	o->path = x_strdup(path);
	switch (look(kind, path, &o->target, e)) {
	case FOUND_OTHER:
		ok = false;
		break;
	case FOUND_IN_PLACE:
		o->fd = outside_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);
		ok = o->fd >= 0 || err_set(e, "cannot write %s: %s", path, strerror(errno));
		break;
	default:
		ok = open_temporary(o, e);
	}
	if (ok)
		return o;
	output_free(o);
	return NULL;
}

int output_fd(const struct output *o)
{
	return o->fd;
}

FILE *output_stream(const struct output *o, struct err *e)
{
	int fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!f)
		err_set(e, "cannot write %s: %s", o->path, strerror(errno));
	if (!f && fd >= 0)
		close(fd);
	return f;
}

const char *output_now(const struct output *o)
{
	return o->temporary ? o->temporary : o->target;
}

/* Renames the file unless something has that name already. */
static bool rename_to_new(const char *from, const char *to)
{
	if (!outside_rename(from, to, RENAME_NOREPLACE))
		return true;
	/* a file system that cannot do that in one step */
	struct stat st;

	return errno == EINVAL && outside_stat(to, false, &st) && errno == ENOENT &&
	       !outside_rename(from, to, 0);
}

/* Keeps the file under another name if something else is in its place: results are not lost. */
static bool keep_elsewhere(struct output *o, struct err *e)
{
	for (int i = 1; i <= TRIES; i++) {
		char *name = x_asprintf("%s.new%d", o->target, i);
		bool done = rename_to_new(o->temporary, name);

		if (done)
			err_set(e,
				"%s appeared meanwhile and is not %s, so it stays; what was to be "
				"written there is in %s",
				o->path, o->kind->what, name);
		free(name);
		if (done || errno != EEXIST)
			return false;
	}
	return false;
}

static bool give_name(struct output *o, struct err *e)
{
	char *target;

	/* Something may have appeared or vanished at the path since output_open. */
	for (int i = 0; i < TRIES; i++) {
		enum found found = look(o->kind, o->path, &target, e);

		if (found == FOUND_OTHER || found == FOUND_IN_PLACE) {
			if (found == FOUND_IN_PLACE)
				free(target);
			return keep_elsewhere(o, e);
		}
		bool done = found == FOUND_NOTHING ? rename_to_new(o->temporary, o->target)
						   : !outside_rename(o->temporary, o->target, 0);
		int cause = errno;

		free(target);
		if (done)
			return true;
		if (cause != EEXIST)
			return err_set(e, "cannot rename %s to %s: %s", o->temporary, o->path,
				       strerror(cause));
	}
	return err_set(e, "cannot rename %s to %s", o->temporary, o->path);
}

bool output_commit(struct output *o, struct err *e)
{
	/* Some file systems say only now that there was no room; the lock stays until the file has
	 * its name. */
	int copy = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
	bool ok =
	    copy < 0 || !close(copy) || err_set(e, "cannot write %s: %s", o->path, strerror(errno));

	if (o->temporary) {
		if (ok)
			ok = give_name(o, e);
		else
			outside_unlink(o->temporary);
	}
	output_free(o);
	return ok;
}

void output_discard(struct output *o)
{
	if (!o)
		return;
	if (o->temporary)
		outside_unlink(o->temporary);
	output_free(o);
}

void output_forget(struct output *o)
{
	if (o)
		output_free(o);
}

bool output_begins(const uint8_t *head, size_t size, const char *text)
{
	size_t n = strlen(text);

	return size >= n && !memcmp(head, text, n);
}
