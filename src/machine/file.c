/* SPDX-License-Identifier: MIT */
/* Reads machine files: INI text from a built-in machine, a path or memory, on top of its base. */
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

#include "util/inifile.h"
#include "util/nearest.h"

#define BASE_DEPTH_MAX 8

/* What goes from pair to pair of a file. */
struct reading {
	struct machine *m;
	int depth;
	bool any; /* something was set already */
};

static bool load_at(struct machine *m, const char *name, int depth, struct err *e);

static bool read_pair(void *ctx, const struct inifile_pair *pair, struct err *e)
{
	struct reading *r = ctx;
	const struct param *p = machine_param_find(pair->section, pair->key, e);

	if (p && !strcmp(pair->section, "machine") && !strcmp(pair->key, "base")) {
		if (r->any)
			return err_set(e, "machine.base must come before everything else");
		if (*pair->value && !load_at(r->m, pair->value, r->depth + 1, e))
			return false;
		memset(r->m->line, 0, sizeof(r->m->line));
	}
	if (!p)
		return false;
	r->any = true;
	r->m->line[p - machine_params] =
	    (uint16_t)(pair->line < UINT16_MAX ? pair->line : UINT16_MAX);
	return machine_param_set(r->m, p, pair->value, e);
}

static bool parse_at(struct machine *m, const char *text, const char *where, int depth,
		     struct err *e)
{
	struct reading r = { .m = m, .depth = depth };

	if (!inifile_parse(text, where, read_pair, &r, e))
		return false;
	snprintf(m->file, sizeof(m->file), "%s", where);
	return true;
}

bool machine_parse(struct machine *m, const char *text, const char *where, struct err *e)
{
	*m = machine_default;
	return parse_at(m, text, where, 0, e);
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
		char *text = inifile_text(name, e);
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
