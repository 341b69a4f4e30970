/* SPDX-License-Identifier: MIT */
/*
 * culprit sim: what the run was called with, as settings of section "run". They travel with the
 * machine's (a trace has them too) and become rows of table run, so that the run can be simulated
 * again on another machine (jobs/rerun.h). Lists are JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/sim.h"
#include "util/array.h"

struct rows {
	struct trace_setting *all;
	size_t count;
};

static void put(struct rows *r, const char *key, char *value)
{
	if (!value)
		return;
	*ARRAY_ADD(r->all, r->count) = (struct trace_setting){ "run", key, value };
}

static void put_number(struct rows *r, const char *key, uint64_t n)
{
	if (n)
		put(r, key, x_asprintf("%" PRIu64, n));
}

/* NULL if a word is not UTF-8: JSON cannot say it, and such a run cannot be repeated. */
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

/* A name as JSON can say it: bytes that are no UTF-8 are written out. */
static json_t *name_text(const char *name)
{
	json_t *whole = json_string(name);
	char *text = NULL;
	size_t size;
	FILE *f;

	if (whole)
		return whole;
	f = open_memstream(&text, &size);
	if (!f)
		die("out of memory");
	for (; *name; name++)
		if ((unsigned char)*name >= 0x80)
			fprintf(f, "\\x%02x", (unsigned char)*name);
		else
			fputc(*name, f);
	if (fclose(f))
		die("out of memory");
	whole = json_string(text);
	free(text);
	return whole;
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

/* A file that standard input was redirected from. */
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

static const char *const content_keys[] = { "content0", "content1", "content2" };

static void put_list(struct rows *r, const char *key, const struct cmd_strings *list)
{
	if (list->count)
		put(r, key, list_text(list->items, list->count));
}

static void put_text(struct rows *r, const char *key, const char *text)
{
	if (text)
		put(r, key, x_strdup(text));
}

static void put_sandbox(struct rows *r, const struct sim_sandbox *s)
{
	put_number(r, "sandbox", s->on);
	put_list(r, "allow_read", &s->read);
	put_list(r, "allow_write", &s->write);
	put_list(r, "overlay", &s->overlay);
	put_list(r, "absent", &s->absent);
	put_text(r, "limit_memory", s->memory);
	put_text(r, "limit_files", s->files);
	put_text(r, "limit_processes", s->processes);
	put_text(r, "limit_output", s->output);
}

struct trace_setting *sim_command_rows(const struct sim *s, size_t *count)
{
	const struct sim_options *o = s->options;
	char *const *args = s->args;
	struct rows r = { NULL, 0 };
	char cwd[4096];
	size_t nargs = 0;

	while (args[nargs])
		nargs++;
	put(&r, "argv", list_text((const char *const *)args, nargs));
	if (o->env.count)
		put(&r, "env", list_text(o->env.items, o->env.count));
	if (o->set.count)
		put(&r, "sets", list_text(o->set.items, o->set.count));
	put(&r, "sysroot", absolute(o->sysroot));
	if (getcwd(cwd, sizeof(cwd)))
		put(&r, "cwd", x_strdup(cwd));
	put(&r, "stdin", input_path(o));
	put(&r, "streams", sim_streams_text(o));
	for (int i = 0; i < 3; i++)
		put(&r, content_keys[i], sim_streams_content(o, i));
	put_number(&r, "max_insts", o->max_insts);
	put_number(&r, "fast_forward", o->fast_forward);
	put_number(&r, "warm", o->warm);
	if (o->children)
		put(&r, "children", x_strdup("simulated"));
	put_number(&r, "real_time", o->real_time);
	put_number(&r, "regions",
		   o->session.start.count > o->session.stop.count ? o->session.start.count
								  : o->session.stop.count);
	if (o->session.start.count)
		put(&r, "start", list_text(o->session.start.items, o->session.start.count));
	if (o->session.stop.count)
		put(&r, "stop", list_text(o->session.stop.items, o->session.stop.count));
	put_sandbox(&r, &o->sandbox);
	put(&r, "confined", x_strdup(s->confined));
	*count = r.count;
	return r.all;
}

struct trace_setting *sim_child_rows(const struct sim *s, size_t *count)
{
	struct rows r = { NULL, 0 };

	put(&r, "child", x_strdup(s->run.child));
	put(&r, "fork_cycle", x_asprintf("%" PRIu64, s->fork_cycle));
	put(&r, "first_cycle", x_asprintf("%" PRIu64, s->run.first_cycle + 1));
	*count = r.count;
	return r.all;
}
