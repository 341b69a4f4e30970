/* SPDX-License-Identifier: MIT */
/* Reads machine files: INI text from a built-in machine, a path or memory, on top of its base. */
#include "machine/machine.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"

#define BASE_DEPTH_MAX 8

/* What the INI reader hands from line to line. */
struct reading {
	struct machine *m;
	const char *next; /* rest of the text */
	const char *where;
	int line;
	int depth;
	bool any; /* something was set already */
	bool failed;
	struct err *e;
};

static char *read_line(char *buf, int size, void *ctx)
{
	struct reading *r = ctx;

	if (!*r->next || size < 2)
		return NULL;
	size_t n = strcspn(r->next, "\n");
	size_t take = n + (r->next[n] == '\n');
	size_t copy = take < (size_t)size - 1 ? take : (size_t)size - 1;

	r->line++;
	if (memchr(r->next, 0, copy))
		copy = strlen(r->next);
	memcpy(buf, r->next, copy);
	buf[copy] = 0;
	if (copy < take) {
		err_set(r->e, "%s:%d: line longer than %d characters", r->where, r->line, size - 2);
		r->failed = true;
		return NULL;
	}
	r->next += take;
	return buf;
}

static bool parse_at(struct machine *m, const char *text, const char *where, int depth,
		     struct err *e);
static bool load_at(struct machine *m, const char *name, int depth, struct err *e);

static int read_pair(void *ctx, const char *section, const char *key, const char *value)
{
	struct reading *r = ctx;
	struct err inner;

	if (r->failed)
		return 0;
	const struct param *p = machine_param_find(section, key, &inner);
	if (p && !strcmp(section, "machine") && !strcmp(key, "base")) {
		if (r->any)
			err_set(&inner, "machine.base must come before everything else"), p = NULL;
		else if (*value && !load_at(r->m, value, r->depth + 1, &inner))
			p = NULL;
		else
			memset(r->m->line, 0, sizeof(r->m->line));
	}
	if (p) {
		r->any = true;
		r->m->line[p - machine_params] =
		    (uint16_t)(r->line < UINT16_MAX ? r->line : UINT16_MAX);
		if (machine_param_set(r->m, p, value, &inner))
			return 1;
	}
	err_set(r->e, "%s:%d: %s", r->where, r->line, inner.text);
	r->failed = true;
	return 0;
}

static bool parse_at(struct machine *m, const char *text, const char *where, int depth,
		     struct err *e)
{
	struct reading r = { .m = m, .next = text, .where = where, .depth = depth, .e = e };
	int bad = ini_parse_stream(read_line, &r, read_pair, &r);

	if (!r.failed && bad)
		return err_set(e, "%s:%d: neither a [section] nor key = value", where, bad);
	snprintf(m->file, sizeof(m->file), "%s", where);
	return !r.failed;
}

bool machine_parse(struct machine *m, const char *text, const char *where, struct err *e)
{
	*m = machine_default;
	return parse_at(m, text, where, 0, e);
}

static char *read_file(const char *path, struct err *e)
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

/* Parses the machine called name on top of m, whatever m holds. */
static bool load_at(struct machine *m, const char *name, int depth, struct err *e)
{
	size_t n = strlen(name);
	bool is_path = strchr(name, '/') || (n > 4 && !strcmp(name + n - 4, ".ini"));

	if (depth > BASE_DEPTH_MAX)
		return err_set(e, "machine.base = %s: machines refer to each other in a circle",
			       name);
	if (is_path) {
		char *text = read_file(name, e);
		bool ok = text && parse_at(m, text, name, depth, e);

		free(text);
		return ok;
	}
	struct nearest near = { .word = name };
	for (size_t i = 0; i < machine_files_count; i++) {
		if (!strcmp(machine_files[i].name, name)) {
			char where[128];

			snprintf(where, sizeof(where), "machines/%s.ini", name);
			return parse_at(m, machine_files[i].text, where, depth, e);
		}
		nearest_try(&near, machine_files[i].name);
	}
	return err_set(
	    e,
	    "there is no machine '%s'; the nearest is '%s' ('culprit machines' lists all; a "
	    "file needs a slash or .ini)",
	    name, near.best ? near.best : "none");
}

bool machine_load(struct machine *m, const char *name_or_path, struct err *e)
{
	*m = machine_default;
	if (!load_at(m, name_or_path, 0, e))
		return false;

	const char *slash = strrchr(name_or_path, '/');
	const char *name = slash ? slash + 1 : name_or_path;
	size_t n = strlen(name);

	if (n > 4 && !strcmp(name + n - 4, ".ini"))
		n -= 4;
	snprintf(m->name, sizeof(m->name), "%.*s", (int)n, name);
	return true;
}
