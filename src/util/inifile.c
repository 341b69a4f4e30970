/* SPDX-License-Identifier: MIT */
/*
 * Reads INI text with inih. inih cuts what is too long for its buffers without a word, so lines and
 * names of sections are measured here first.
 */
#include "util/inifile.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_MAX 49 /* bytes that inih keeps of a section's name */

/* What the INI reader hands from line to line. */
struct reading {
	const char *next; /* rest of the text */
	const char *where;
	int line;
	bool continued;
	bool failed;
	inifile_take *take;
	void *ctx;
	struct err *e;
};

static char *give_up(struct reading *r, const char *what, int limit)
{
	err_set(r->e, "%s:%d: %s longer than %d characters", r->where, r->line, what, limit);
	r->failed = true;
	return NULL;
}

static char *read_line(char *buf, int size, void *ctx)
{
	struct reading *r = ctx;

	if (!*r->next || size < 2)
		return NULL;
	size_t n = strcspn(r->next, "\n");
	size_t take = n + (r->next[n] == '\n');
	size_t copy = take < (size_t)size - 1 ? take : (size_t)size - 1;

	r->line++;
	memcpy(buf, r->next, copy);
	buf[copy] = 0;
	if (copy < take)
		return give_up(r, "line", size - 2);
	if (*buf == '[' && strcspn(buf + 1, "]\n") > SECTION_MAX)
		return give_up(r, "name of a section", SECTION_MAX);
	r->continued = isspace((unsigned char)*buf);
	r->next += take;
	return buf;
}

static int read_pair(void *ctx, const char *section, const char *key, const char *value)
{
	struct reading *r = ctx;
	struct err inner = { "" };
	const struct inifile_pair p = { section, key, value, r->line, r->continued };

	if (r->failed)
		return 0;
	if (r->take(r->ctx, &p, &inner))
		return 1;
	err_set(r->e, "%s:%d: %s", r->where, r->line, inner.text);
	r->failed = true;
	return 0;
}

bool inifile_parse(const char *text, const char *where, inifile_take *take, void *ctx,
		   struct err *e)
{
	struct reading r = { .next = text, .where = where, .take = take, .ctx = ctx, .e = e };
	int bad = ini_parse_stream(read_line, &r, read_pair, &r);

	if (!r.failed && bad)
		return err_set(e, "%s:%d: neither a [section] nor key = value", where, bad);
	return !r.failed;
}

char *inifile_text(const char *path, struct err *e)
{
	FILE *f = fopen(path, "rb");
	size_t used = 0, room = 1 << 16, limit = 1 << 22;

	if (!f) {
		err_set(e, "%s: cannot open: %s", path, strerror(errno));
		return NULL;
	}
	char *text = x_malloc(room + 1);
	for (size_t n; (n = fread(text + used, 1, room - used, f)) > 0;) {
		used += n;
		if (used == room && room < limit)
			text = x_realloc(text, (room *= 2) + 1);
	}
	bool bad = ferror(f) || used == limit;
	if (bad)
		err_set(e, "%s: cannot read: %s", path,
			used == limit ? "too large" : strerror(errno));
	fclose(f);
	text[used] = 0;
	if (bad) {
		free(text);
		return NULL;
	}
	return text;
}
