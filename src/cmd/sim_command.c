/* SPDX-License-Identifier: MIT */
/*
 * culprit sim: the run's recipe (jobs/recipe.def) as settings of section "run". They travel with
 * the machine's, in a trace too, and become rows of table run, by which the run can be simulated
 * again (jobs/rerun.h). Lists are JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/sim.h"
#include "jobs/folders.h"
#include "jobs/recipe.h"

/* NULL if a word is not UTF-8: JSON cannot hold it, and such a run cannot be repeated. */
static char *list_text(const char *const *words, size_t count)
{
	json_t *list = json_array();
	bool ok = true;

	for (size_t i = 0; i < count; i++)
		ok = !json_array_append_new(list, json_string(words[i])) && ok;

	char *text = ok ? json_dumps(list, JSON_COMPACT) : NULL;

	json_decref(list);
	return text;
}

/* For run's row "files": {"read": […], "changed": […], "made": […]}. The caller frees. */
char *sim_files_text(const struct guest *g)
{
	static const char *const names[] = { "read", "changed", "made" };
	json_t *all = json_object();

	for (unsigned k = 0; k < ARRAY_LEN(names); k++) {
		json_t *list = json_array();
		const char **paths;
		size_t n = guest_files(g, (enum guest_use)(1 << k), &paths);

		for (size_t i = 0; i < n; i++)
			json_array_append_new(list, json_string(paths[i]));
		free(paths);
		json_object_set_new(all, names[k], list);
	}

	char *text = json_dumps(all, JSON_COMPACT);

	json_decref(all);
	return text;
}

static json_t *name_text(const char *name)
{
	char *text = folders_name(name, "");
	json_t *string = json_string(text);

	free(text);
	return string;
}

/* For run's row "folders": [{"path": …, "count": …, "digest": …, "names": […]}, …]. */
char *sim_folders_text(const struct guest *g)
{
	json_t *all = json_array();
	struct guest_folder f;
	char *text = NULL;

	for (size_t i = 0; guest_folder(g, i, &f); i++) {
		json_t *one = json_object(), *names = f.names ? json_array() : json_null();
		char digest[20];

		snprintf(digest, sizeof(digest), "%016" PRIx64, f.digest);
		for (size_t at = 0; f.names && at < f.names_bytes; at += strlen(f.names + at) + 1)
			json_array_append_new(names, name_text(f.names + at));
		json_object_set_new(one, "path", name_text(f.path));
		json_object_set_new(one, "count", json_integer((json_int_t)f.count));
		json_object_set_new(one, "digest", json_string(digest));
		json_object_set_new(one, "names", names);
		json_array_append_new(all, one);
	}
	if (json_array_size(all))
		text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}

/* Path of the file that standard input was redirected from; NULL: it was not. */
static char *input_path(const struct sim_options *o)
{
	char path[4096];
	struct stat st;
	ssize_t n;

	if (o->streams && strncmp(o->streams, "-", 1))
		return NULL;
	if (fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode))
		return NULL;
	n = readlink("/proc/self/fd/0", path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return NULL;
	path[n] = '\0';
	return x_strdup(path);
}

static char *absolute(const char *path)
{
	char *real = path ? realpath(path, NULL) : NULL;

	return path && !real ? x_strdup(path) : real;
}

static char *number_text(uint64_t n)
{
	return n ? x_asprintf("%" PRIu64, n) : NULL;
}

static char *strings_text(const struct cmd_strings *list)
{
	return list->count ? list_text(list->items, list->count) : NULL;
}

/* The value of an option, as it was given. */
static char *option_text(const struct sim_options *o, enum recipe_item item)
{
	const struct cmd_option *option = &sim_option_table[item];
	const void *value = (const char *)o + option->offset;

	if (!cmd_given(option, o))
		return NULL;
	switch (recipe_rows[item].type) {
	case RECIPE_SWITCH:
		return number_text(*(const bool *)value);
	case RECIPE_TEXT:
		return x_strdup(*(const char *const *)value);
	case RECIPE_PATH:
		return absolute(*(const char *const *)value);
	case RECIPE_NUMBER:
		return number_text(*(const uint64_t *)value);
	case RECIPE_CHOICE:
		return x_strdup(option->choices[*(const int *)value]);
	case RECIPE_STRINGS:
		return strings_text(value);
	}
	return NULL;
}

/* The value of a row; NULL: there is none. The caller frees. */
static char *row_text(const struct sim *s, enum recipe_item item)
{
	const struct sim_options *o = s->options;
	size_t nargs = 0;
	char cwd[4096];

	switch (item) {
	case RUN_argv:
		while (s->args[nargs])
			nargs++;
		return list_text((const char *const *)s->args, nargs);
	case RUN_cwd:
		return getcwd(cwd, sizeof(cwd)) ? x_strdup(cwd) : NULL;
	case RUN_stdin:
		return input_path(o);
	case RUN_streams:
		return sim_streams_text(o);
	case RUN_content0:
	case RUN_content1:
	case RUN_content2:
		return sim_streams_content(o, (int)(item - RUN_content0));
	case RUN_regions:
		return number_text(max_u64(o->session.start.count, o->session.stop.count));
	case RUN_confined:
		return x_strdup(s->confined);
	case RUN_files:
	case RUN_folders:
	case RUN_input:
	case RUN_seed:
		return NULL; /* the session writes them when the run is over */
	default:
		return option_text(o, item);
	}
}

static struct trace_setting setting(const char *key, char *value)
{
	return (struct trace_setting){ "run", key, value };
}

struct trace_setting *sim_command_rows(const struct sim *s, size_t *count)
{
	/* A trace has the rows in this order, then the others in the order of recipe.def: traces
	 * that two versions wrote can be compared byte by byte. */
	static const enum recipe_item first[] = {
		RUN_argv,      RUN_env,		 RUN_sets,     RUN_sysroot,  RUN_cwd,
		RUN_stdin,     RUN_streams,	 RUN_content0, RUN_content1, RUN_content2,
		RUN_max_insts, RUN_fast_forward, RUN_warm,     RUN_children, RUN_real_time,
		RUN_regions,   RUN_start,	 RUN_stop,
	};
	struct trace_setting *all = x_calloc(RUN_ITEMS, sizeof(*all));
	bool seen[RUN_ITEMS] = { false };

	*count = 0;
	for (unsigned i = 0; i < ARRAY_LEN(first) + RUN_ITEMS; i++) {
		unsigned item = i < ARRAY_LEN(first) ? first[i] : i - (unsigned)ARRAY_LEN(first);
		bool is_row = recipe_rows[item].use & RECIPE_ROW && !seen[item];
		char *value = is_row ? row_text(s, (enum recipe_item)item) : NULL;

		seen[item] = true;
		if (value)
			all[(*count)++] = setting(recipe_rows[item].key, value);
	}
	return all;
}

struct trace_setting *sim_child_rows(const struct sim *s, size_t *count)
{
	struct trace_setting *all = x_calloc(3, sizeof(*all));

	all[0] = setting("child", x_strdup(s->run.child));
	all[1] = setting("fork_cycle", x_asprintf("%" PRIu64, s->fork_cycle));
	all[2] = setting("first_cycle", x_asprintf("%" PRIu64, s->run.first_cycle + 1));
	*count = 3;
	return all;
}
