/* SPDX-License-Identifier: MIT */
/*
 * Functions of large files, kept in a folder of the user by build-id: a file that takes a second to
 * go through (110 MB, 200,000 functions) is known in some milliseconds the next time. Lines are not
 * kept: DWARF is read for what is looked at alone.
 *
 * Whatever is in the folder may have been put there by anybody: a file counts only if it is a plain
 * one of this user, and all that it says is checked. A file that fails is the same as none, and is
 * written anew.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/image_int.h"

#define LEAST_BYTES (1u << 20)	 /* smaller files are quick to read */
#define MOST_BYTES  (1ull << 31) /* of a kept file */
#define MOST_FILES  256		 /* in the folder; the oldest go first */

struct header {
	char magic[8];
	uint64_t file_bytes; /* of the image */
	uint64_t debug;	     /* whether there was a separate debug file */
	uint64_t count, names_bytes;
};
struct entry {
	uint64_t start, end; /* the file's addresses */
	uint64_t name;	     /* offset among the names */
};

static const char magic[8] = "culpsym2";

static bool usable(const struct images *s, const struct image *im)
{
	return s->cache && im->build_id[0] && im->file_bytes >= LEAST_BYTES;
}

static bool has_debug_file(const struct image *im)
{
	char *path =
	    x_asprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", im->build_id, im->build_id + 2);
	const bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

static char *read_whole(const char *path, size_t *bytes)
{
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char *all = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size >= (off_t)sizeof(struct header) && (uint64_t)st.st_size <= MOST_BYTES) {
		*bytes = (size_t)st.st_size;
		all = x_malloc(*bytes);
		for (size_t at = 0; all && at < *bytes;) {
			const ssize_t n = read(fd, all + at, *bytes - at);

			if (n > 0) {
				at += (size_t)n;
				continue;
			}
			free(all);
			all = NULL;
		}
	}
	close(fd);
	return all;
}

/* Checks a kept file; gives its entries and names. */
static bool check(const struct image *im, const char *all, size_t bytes,
		  const struct entry **entries, const char **names)
{
	struct header h;

	memcpy(&h, all, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)) != 0 || h.file_bytes != im->file_bytes ||
	    h.debug != has_debug_file(im) || h.count > IMAGE_SYMBOLS_MAX || !h.count ||
	    !h.names_bytes || h.names_bytes > bytes ||
	    bytes != sizeof(h) + h.count * sizeof(struct entry) + h.names_bytes)
		return false;
	const struct entry *e = (const struct entry *)(all + sizeof(h));
	const char *text = (const char *)(e + h.count);
	const uint64_t low = im->start - im->bias, high = im->end - im->bias;

	if (text[h.names_bytes - 1] != '\0')
		return false;
	for (uint64_t i = 0; i < h.count; i++)
		if (e[i].start < (i ? e[i - 1].end : low) || e[i].end < e[i].start ||
		    e[i].end > high || e[i].name >= h.names_bytes ||
		    strnlen(text + e[i].name, IMAGE_NAME_BYTES + 1) > IMAGE_NAME_BYTES)
			return false;
	*entries = e;
	*names = text;
	return true;
}

bool image_read_cache(const struct images *s, struct image *im)
{
	if (!usable(s, im))
		return false;
	char *path = x_asprintf("%s/%s", s->cache, im->build_id);
	size_t bytes = 0;
	char *all = read_whole(path, &bytes);
	const struct entry *e = NULL;
	const char *names = NULL;
	const bool ok = all && check(im, all, bytes, &e, &names);

	free(path);
	if (!ok) {
		free(all);
		return false;
	}
	const size_t count = (size_t)((const struct entry *)names - e);

	im->functions = x_malloc(count * sizeof(*im->functions));
	im->nfunctions = count;
	for (size_t i = 0; i < count; i++)
		im->functions[i] = (struct function_range){ .start = e[i].start + im->bias,
							    .end = e[i].end + im->bias,
							    .name = names + e[i].name };
	im->names = all;
	return true;
}

/* Removes the oldest files of a folder that has too many. */
static void make_room(const char *folder)
{
	DIR *d = opendir(folder);
	size_t count = 0;
	char oldest[256] = "";
	struct timespec when = { 0 };

	for (const struct dirent *f; d && (f = readdir(d));) {
		struct stat st;

		if (fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (!count++ || st.st_mtim.tv_sec < when.tv_sec ||
		    (st.st_mtim.tv_sec == when.tv_sec && st.st_mtim.tv_nsec < when.tv_nsec)) {
			when = st.st_mtim;
			snprintf(oldest, sizeof(oldest), "%s", f->d_name);
		}
	}
	if (d && count >= MOST_FILES)
		unlinkat(dirfd(d), oldest, 0);
	if (d)
		closedir(d);
}

static bool write_functions(FILE *out, const struct image *im)
{
	struct header h = { .file_bytes = im->file_bytes,
			    .debug = has_debug_file(im),
			    .count = im->nfunctions };
	bool ok = true;

	memcpy(h.magic, magic, sizeof(magic));
	for (size_t i = 0; i < im->nfunctions; i++)
		h.names_bytes += strlen(im->functions[i].name) + 1;
	ok = fwrite(&h, sizeof(h), 1, out) == 1;
	uint64_t name = 0;

	for (size_t i = 0; ok && i < im->nfunctions; i++) {
		const struct function_range *f = &im->functions[i];
		const struct entry e = { f->start - im->bias, f->end - im->bias, name };

		name += strlen(f->name) + 1;
		ok = fwrite(&e, sizeof(e), 1, out) == 1;
	}
	for (size_t i = 0; ok && i < im->nfunctions; i++)
		ok = fwrite(im->functions[i].name, strlen(im->functions[i].name) + 1, 1, out) == 1;
	return ok;
}

/* The folder itself and the one above it are made if need be. */
static void make_folder(const char *folder)
{
	char *above = x_strndup(folder, (size_t)(path_name(folder) - folder));

	mkdir(above, 0700);
	mkdir(folder, 0700);
	free(above);
}

void image_write_cache(const struct images *s, const struct image *im)
{
	if (!usable(s, im) || !im->nfunctions)
		return;
	make_folder(s->cache);
	make_room(s->cache);
	char *path = x_asprintf("%s/%s", s->cache, im->build_id),
	     *new = x_asprintf("%s/.%s.%ld", s->cache, im->build_id, (long)getpid());
	const int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "wb");

	if (out) {
		const bool ok = write_functions(out, im);

		if (fclose(out) != 0 || !ok || rename(new, path) != 0)
			unlink(new);
	}
	free(path);
	free(new);
}
