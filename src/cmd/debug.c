/* SPDX-License-Identifier: MIT */
/* Gives a profile that is read names from debug files in folders of the user's. */
#include "cmd/debug.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/symbolise.h"
#include "jobs/recipe.h"
#include "util/array.h"
#include "util/text.h"

/* A row of table image. */
struct binary {
	int64_t row;
	char *path, *name, *build_id;
	uint64_t bias;
};

static char *copy_of(const struct store_rows *r, int column)
{
	const char *text = store_text(r, column);

	return x_strdup(text ? text : "");
}

/* A path as it is found from here: the run may have named it from another folder. */
static char *found_from_here(struct store *s, const char *path)
{
	struct store_rows r = store_query(s, "SELECT CAST(value AS TEXT) FROM run WHERE key = ?1",
					  "s", recipe_rows[RUN_cwd].key);
	const char *cwd = store_next(&r) ? store_text(&r, 0) : NULL;
	const char *rest = strncmp(path, "./", 2) ? path : path + 2;
	char *whole = path[0] != '/' && cwd ? x_asprintf("%s/%s", cwd, rest) : x_strdup(path),
	     *real = realpath(whole, NULL);

	store_done(&r, NULL);
	if (!real)
		return whole;
	free(whole);
	return real;
}

static struct binary *read_binaries(struct store *s, size_t *count, struct err *e)
{
	struct binary *list = NULL;
	struct store_rows r =
	    store_query(s, "SELECT id, path, name, build_id, bias FROM image ORDER BY id", "");

	*count = 0;
	while (store_next(&r)) {
		const char *path = store_text(&r, 1);

		*ARRAY_ADD(list, *count) =
		    (struct binary){ .row = store_int(&r, 0),
				     .path = found_from_here(s, path ? path : ""),
				     .name = copy_of(&r, 2),
				     .build_id = copy_of(&r, 3),
				     .bias = (uint64_t)store_int(&r, 4) };
	}
	store_done(&r, e);
	return list;
}

/* The binary alone, if it is there and is the one that ran. */
static bool add(struct images *set, const char *command, const struct binary *b)
{
	struct image_probe probe;
	const bool readable = image_probe(b->path, &probe, NULL);
	const bool same = readable && (!*b->build_id || !strcmp(b->build_id, probe.build_id));

	/* what has no path, the kernel's own pages among them, never had a file */
	if (!same && b->path[0] == '/') {
		char *path = text_shown(b->path);

		warn("%s: %s %s: no debug file is looked for", command, path,
		     readable ? "was changed since the profile was made"
			      : "cannot be read, and code is named from it");
		free(path);
	}
	return same && images_add(set, b->path, b->name, b->bias, NULL);
}

static bool is_below(const char *path, const struct cmd_strings *folders)
{
	for (size_t i = 0; i < folders->count; i++) {
		char *real = realpath(folders->items[i], NULL);
		const size_t n = real ? strlen(real) : 0;
		const bool below =
		    n && !strncmp(path, real, n) && (path[n] == '/' || real[n - 1] == '/');

		free(real);
		if (below)
			return true;
	}
	return false;
}

/* Whether this binary gained names. */
static bool name_binary(const char *command, struct store *s, const struct binary *b,
			const struct cmd_strings *folders, bool *detached, bool *gained,
			struct err *e)
{
	struct images *set = images_new(NULL);
	bool ok = images_look_in(set, folders->items, folders->count, e);

	if (ok && add(set, command, b)) {
		const char *debug = images_debug_file(set, 0);

		if (debug && is_below(debug, folders)) {
			ok = *detached || store_detach(s, e);
			*detached = ok;
			ok = ok && symbolise_again(s, set, b->row, e);
			*gained = ok;
		}
	}
	images_free(set);
	return ok;
}

bool debug_names(const char *command, struct store *s, const struct cmd_strings *folders,
		 struct err *e)
{
	size_t count;
	bool detached = false, gained = false;

	if (!folders->count)
		return true;
	e->text[0] = '\0';

	struct binary *list = read_binaries(s, &count, e);
	bool ok = !e->text[0];

	for (size_t i = 0; i < count; i++) {
		ok = ok && name_binary(command, s, &list[i], folders, &detached, &gained, e);
		free(list[i].path);
		free(list[i].name);
		free(list[i].build_id);
	}
	free(list);
	if (ok && !gained)
		warn("%s: --debug: no debug file there belongs to a binary of %s; names stay as "
		     "they are",
		     command, store_path(s));
	return ok;
}
