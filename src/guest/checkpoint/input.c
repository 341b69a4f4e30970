/* SPDX-License-Identifier: MIT */
/* Files that a checkpoint names by their digest: program, libraries, data that the guest only reads. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/path.h"
#include "guest/process/process.h"
#include "util/array.h"
#include "util/text.h"

struct input_digest {
	uint64_t dev, ino, size;
	struct timespec mtime, ctime;
	char hex[DIGEST_HEX];
};

struct input_digests {
	struct input_digest *items;
	size_t count;
	struct guest_saved_input *named; /* in the checkpoint that is being written */
	size_t nnamed;
};

void inputs_begin(struct guest *g)
{
	if (!g->inputs)
		g->inputs = x_calloc(1, sizeof(*g->inputs));
	for (size_t i = 0; i < g->inputs->nnamed; i++)
		free(g->inputs->named[i].path);
	free(g->inputs->named);
	g->inputs->named = NULL;
	g->inputs->nnamed = 0;
}

void inputs_free(struct guest *g)
{
	if (!g->inputs)
		return;
	inputs_begin(g);
	free(g->inputs->items);
	free(g->inputs);
	g->inputs = NULL;
}

struct guest_saved_input *inputs_named(struct guest *g, size_t *count)
{
	*count = g->inputs->nnamed;
	return g->inputs->named;
}

static void name_input(struct guest *g, const char *path, uint64_t bytes, const char *hex)
{
	struct guest_saved_input *n;

	for (size_t i = 0; i < g->inputs->nnamed; i++)
		if (!strcmp(g->inputs->named[i].path, path))
			return;
	n = ARRAY_ADD(g->inputs->named, g->inputs->nnamed);
	*n = (struct guest_saved_input){ .path = x_strdup(path), .bytes = bytes };
	memcpy(n->digest, hex, sizeof(n->digest));
}

static bool take_digest(int fd, char hex[DIGEST_HEX])
{
	struct digest d;
	bool ok;

	digest_init(&d);
	ok = digest_descriptor(&d, fd);
	digest_hex(&d, hex);
	return ok;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* The digest of an open file, from the list if it was taken before and the file is as it was. */
static bool digest_of(struct guest *g, int fd, const struct stat *st, char hex[DIGEST_HEX])
{
	if (!g->inputs)
		inputs_begin(g);
	for (size_t i = 0; i < g->inputs->count; i++) {
		const struct input_digest *k = &g->inputs->items[i];

		if (k->dev == st->st_dev && k->ino == st->st_ino &&
		    k->size == (uint64_t)st->st_size && same_time(k->mtime, st->st_mtim) &&
		    same_time(k->ctime, st->st_ctim)) {
			memcpy(hex, k->hex, DIGEST_HEX);
			return true;
		}
	}
	if (!take_digest(fd, hex))
		return false;
	struct input_digest *k = ARRAY_ADD(g->inputs->items, g->inputs->count);

	*k = (struct input_digest){ .dev = st->st_dev,
				    .ino = st->st_ino,
				    .size = (uint64_t)st->st_size,
				    .mtime = st->st_mtim,
				    .ctime = st->st_ctim };
	memcpy(k->hex, hex, DIGEST_HEX);
	return true;
}

/* An absolute path without "." and "..". */
static bool is_normal(const char *path)
{
	if (path[0] != '/' || strlen(path) >= PATH_BYTES)
		return false;
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		const size_t n = strcspn(at + 1, "/");

		if ((n == 1 && at[1] == '.') || (n == 2 && at[1] == '.' && at[2] == '.'))
			return false;
	}
	return true;
}

static int open_input(struct guest *g, const char *path)
{
	struct path_at at;
	int fd = path_find(g, (uint64_t)AT_FDCWD, path, PATH_FOLLOW, &at);

	if (fd < 0)
		return fd;
	fd = at.node.row ? -EACCES
			 : path_open(g, &at, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	path_done(&at);
	return fd;
}

char *input_host_path(struct guest *g, const char *path)
{
	char host[PATH_BYTES];
	const int fd = open_input(g, path);
	const bool known = fd >= 0 && path_of_fd(fd, host) == 0;

	if (fd >= 0)
		close(fd);
	return x_strdup(known ? host : path);
}

static void find_input(struct guest *g, struct state *s, const char *path, uint64_t size,
		       const char *hex, int *fd)
{
	char now[DIGEST_HEX], *shown = text_shown(path);
	struct stat st;

	*fd = is_normal(path) ? open_input(g, path) : -EINVAL;
	if (*fd < 0) {
		state_fail(s, "the file %.300s, which the program uses, cannot be opened: %s",
			   shown, strerror(-*fd));
		*fd = -1;
	} else if (fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != size ||
		   !digest_of(g, *fd, &st, now) || strcmp(now, hex) != 0) {
		state_fail(s, "the file %.300s has changed since the checkpoint was made", shown);
		close(*fd);
		*fd = -1;
	}
	free(shown);
}

void checkpoint_input(struct guest *g, struct state *s, char **path, int *fd)
{
	char hex[DIGEST_HEX] = "";
	uint64_t size = 0;
	struct stat st;

	if (!state_reading(s) && (fstat(*fd, &st) < 0 || !digest_of(g, *fd, &st, hex)))
		state_fail(s, "%s: cannot be read", *path);
	else if (!state_reading(s)) {
		size = (uint64_t)st.st_size;
		name_input(g, *path, size, hex);
	}
	state_text(s, path, CHECKPOINT_TEXT);
	state_u64(s, &size);
	state_raw(s, hex, DIGEST_HEX - 1);
	hex[DIGEST_HEX - 1] = 0;
	if (!state_reading(s))
		return;
	*fd = -1;
	if (state_ok(s) && !*path)
		state_fail(s, "it names no file where it should");
	if (state_ok(s))
		find_input(g, s, *path, size, hex, fd);
}
