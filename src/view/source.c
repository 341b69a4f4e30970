/* SPDX-License-Identifier: MIT */
/* Reads source files, splits them into lines and keeps them. */
#include "view/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/util.h"

struct source_file {
	char *path, *text;
	char **lines;
	int count;
};

struct sources {
	struct source_file *files;
	size_t count;
};

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

static void load(struct source_file *f)
{
	FILE *in = fopen(f->path, "r");
	size_t size = 0, used = 0;
	if (!in)
		return;
	do {
		size = size ? 2 * size : 65536;
		f->text = x_realloc(f->text, size + 1);
		used += fread(f->text + used, 1, size - used, in);
	} while (used == size);
	fclose(in);
	f->text[used] = '\0';
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

const char *sources_line(struct sources *s, const char *file, int line)
{
	struct source_file *f = NULL;
	if (!file || line < 1)
		return NULL;
	for (size_t i = 0; i < s->count && !f; i++)
		if (!strcmp(s->files[i].path, file))
			f = &s->files[i];
	if (!f) {
		s->files = x_realloc(s->files, (s->count + 1) * sizeof(*s->files));
		f = &s->files[s->count++];
		*f = (struct source_file){ .path = x_strdup(file) };
		load(f);
	}
	return line <= f->count ? f->lines[line - 1] : NULL;
}
