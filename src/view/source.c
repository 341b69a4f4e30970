/* SPDX-License-Identifier: MIT */
/* Reads source files, splits them into lines and keeps them. */
#include "view/source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/util.h"

struct source_file {
	char *path, *text;
	char **lines;
	int count;
	int64_t
	    changed_s; /* when it was last written, in seconds since 1970; 0: it cannot be read */
};

struct sources {
	struct source_file *files;
	size_t count;
	const char *const *maps;
	size_t nmaps;
};

#define FILE_MOST (64u << 20) /* bytes of a file that is taken for source */

struct sources *sources_new(void)
{
	return x_calloc(1, sizeof(struct sources));
}

void sources_free(struct sources *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->files[i].path);
		free(s->files[i].text);
		free(s->files[i].lines);
	}
	free(s->files);
	free(s);
}

/* The path under which a file is looked for: with the beginning that the first fitting FROM=TO gives
 * it. The caller frees. */
static char *mapped(const struct sources *s, const char *file)
{
	for (size_t i = 0; i < s->nmaps; i++) {
		const char *to = strchr(s->maps[i], '=');
		const size_t n = to ? (size_t)(to - s->maps[i]) : 0;

		if (n && !strncmp(file, s->maps[i], n))
			return x_asprintf("%s%s", to + 1, file + n);
	}
	return x_strdup(file);
}

/* Reads a file whole. A profile may name anything: only plain files of a reasonable size are read, and of
 * those none with a NUL, which are no text. */
static void load(const struct sources *s, struct source_file *f)
{
	char *path = mapped(s, f->path);
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	size_t used = 0;
	ssize_t n = 0;
	struct stat st;

	free(path);
	if (fd < 0)
		return;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MOST) {
		close(fd);
		return;
	}
	f->text = x_malloc((size_t)st.st_size + 1);
	while (used < (size_t)st.st_size &&
	       (n = read(fd, f->text + used, (size_t)st.st_size - used)) > 0)
		used += (size_t)n;
	close(fd);
	f->text[used] = '\0';
	if (memchr(f->text, '\0', used))
		return;
	f->changed_s = st.st_mtime;
	for (char *at = f->text; at && *at;) {
		if (f->count % 256 == 0)
			f->lines =
			    x_realloc(f->lines, ((size_t)f->count + 256) * sizeof(*f->lines));
		f->lines[f->count++] = at;
		at = strchr(at, '\n');
		if (at)
			*at++ = '\0';
	}
}

void sources_map(struct sources *s, const char *const *maps, size_t count)
{
	s->maps = maps;
	s->nmaps = count;
}

static struct source_file *file_of(struct sources *s, const char *file)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->files[i].path, file))
			return &s->files[i];
	s->files = x_realloc(s->files, (s->count + 1) * sizeof(*s->files));

	struct source_file *f = &s->files[s->count++];

	*f = (struct source_file){ .path = x_strdup(file) };
	load(s, f);
	return f;
}

int64_t sources_changed_s(struct sources *s, const char *file)
{
	return file_of(s, file)->changed_s;
}

const char *sources_line(struct sources *s, const char *file, int line)
{
	if (!file || line < 1)
		return NULL;
	const struct source_file *f = file_of(s, file);

	return line <= f->count ? f->lines[line - 1] : NULL;
}
