/* SPDX-License-Identifier: MIT */
/*
 * Compares the folders that a run listed with what they hold now. Names have the mark of their kind
 * behind them (as ls -F writes it); names that are not UTF-8 are written in ASCII. If a folder held
 * too many names to keep, only their number is known.
 */
#include "jobs/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/array.h"

#define NAMED_MAX 3 /* names of a folder in a message */

struct names {
	char **items;
	size_t count;
};

static void names_free(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->items[i]);
	free(n->items);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *mark_of(int folder, const struct dirent *entry)
{
	unsigned char type = entry->d_type;
	struct stat st;

	if (type == DT_UNKNOWN && !fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
		type = IFTODT(st.st_mode);
	return type == DT_DIR	 ? "/"
	       : type == DT_LNK	 ? "@"
	       : type == DT_FIFO ? "|"
	       : type == DT_SOCK ? "="
	       : type == DT_REG	 ? ""
				 : "%";
}

char *folders_name(const char *name, const char *mark)
{
	json_t *whole = json_string(name);
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("out of memory");
	for (; *name; name++)
		if (!whole && (unsigned char)*name >= 0x80)
			fprintf(f, "\\x%02x", (unsigned char)*name);
		else
			fputc(*name, f);
	fputs(mark, f);
	if (fclose(f))
		die("out of memory");
	json_decref(whole);
	return text;
}

/* Whether the path is the profile, or a temporary file of it. */
static bool is_store(const char *path, const char *store)
{
	size_t n = store ? strlen(store) : 0;

	return n && !strncmp(path, store, n) && (!path[n] || path[n] == '.');
}

static bool is_made(const char *path, const json_t *made)
{
	for (size_t i = 0; i < json_array_size(made); i++)
		if (!strcmp(json_string_value(json_array_get(made, i)), path))
			return true;
	return false;
}

/* Lists what a folder holds now, sorted. False: it cannot be read. */
static bool list(const char *folder, const json_t *made, const char *store, struct names *out)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		char *path;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		path = x_asprintf("%s/%s", strcmp(folder, "/") ? folder : "", name);
		if (!is_store(path, store) && !is_made(path, made))
			*ARRAY_ADD(out->items, out->count) =
			    folders_name(name, mark_of(dirfd(dir), entry));
		free(path);
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_text);
	if (dir)
		closedir(dir);
	return dir;
}

/* Writes the names of a that are not in b; both are sorted. */
static void put_missing(FILE *f, const char *what, const struct names *a, const struct names *b,
			size_t *said)
{
	size_t k = 0, found = 0;

	for (size_t i = 0; i < a->count; i++) {
		while (k < b->count && strcmp(b->items[k], a->items[i]) < 0)
			k++;
		if (k < b->count && !strcmp(b->items[k], a->items[i]))
			continue;
		if (!found)
			fprintf(f, "%s%s ", *said ? " and " : "", what);
		if (found < NAMED_MAX)
			fprintf(f, "%s'%s'", found ? ", " : "", a->items[i]);
		found++;
	}
	if (found > NAMED_MAX)
		fprintf(f, " and %zu more", found - NAMED_MAX);
	*said += found;
}

static void compare(const json_t *folder, const json_t *made, const char *store, struct digest *d,
		    FILE *out)
{
	const char *path = json_string_value(json_object_get(folder, "path"));
	const json_t *kept = json_object_get(folder, "names");
	json_int_t count = json_integer_value(json_object_get(folder, "count"));
	struct names now = { NULL, 0 }, then = { NULL, 0 };
	size_t said = 0;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("out of memory");
	for (size_t i = 0; i < json_array_size(kept); i++)
		*ARRAY_ADD(then.items, then.count) =
		    x_strdup(json_string_value(json_array_get(kept, i)));
	if (then.count)
		qsort(then.items, then.count, sizeof(*then.items), by_text);
	if (!list(path, made, store, &now)) {
		fputs("cannot be read", f);
		said = 1;
	} else if (json_is_array(kept)) {
		/* The run may have listed files that it had made itself: these do not count. */
		struct names all = { NULL, 0 };

		for (size_t i = 0; i < then.count; i++) {
			size_t n = strlen(then.items[i]);
			char *whole = x_asprintf(
			    "%s/%.*s", strcmp(path, "/") ? path : "",
			    (int)(n && strchr("/@|=%", then.items[i][n - 1]) ? n - 1 : n),
			    then.items[i]);

			if (!is_made(whole, made))
				*ARRAY_ADD(all.items, all.count) = x_strdup(then.items[i]);
			free(whole);
		}
		put_missing(f, "has gained", &now, &all, &said);
		put_missing(f, "has lost", &all, &now, &said);
		names_free(&all);
	} else if ((json_int_t)now.count != count) {
		fprintf(f, "holds %zu names instead of %lld", now.count, (long long)count);
		said = 1;
	}
	if (fclose(f))
		die("out of memory");
	if (said)
		fprintf(out, "%sthe folder '%s', which it lists, %s", ftell(out) ? "; " : "", path,
			text);
	digest_text(d, path);
	for (size_t i = 0; i < now.count; i++)
		digest_text(d, now.items[i]);
	digest_text(d, NULL);
	names_free(&now);
	names_free(&then);
	free(text);
}

char *folders_changed(const json_t *folders, const json_t *made, const char *store,
		      struct digest *d)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("out of memory");
	for (size_t i = 0; i < json_array_size(folders); i++)
		compare(json_array_get(folders, i), made, store, d, f);
	if (fclose(f))
		die("out of memory");
	if (text && *text)
		return text;
	free(text);
	return NULL;
}
