/* SPDX-License-Identifier: MIT */
/*
 * Makes jobs from a stored run. Most of its recipe (recipe.def) becomes options as it is; here are
 * the parts that do not: the machine becomes a file (table machine has it with all settings), what
 * was in streams and came through them becomes files, a file that standard input came from is the
 * job's standard input, and the sandbox hides what the run made and throws away what it writes.
 */
#include "jobs/rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/folders.h"
#include "jobs/recipe.h"
#include "jobs/streams.h"
#include "util/array.h"
#include "util/pack.h"

#define CONTENT_MAX (32u << 20) /* a run keeps less */

/* Where an interval lies, in instructions. */
struct rerun_point {
	uint64_t fast_forward, warm, settle, length;
};

struct rerun {
	char *program; /* path of culprit */
	struct recipe recipe;
	char *machine;	  /* file */
	json_t *files;	  /* JSON: read, changed, made; NULL: not known */
	json_t *folders;  /* JSON: listed; NULL: none */
	char *content[3]; /* files with the content of the streams' files; NULL: none */
	char *given;	  /* file with what came through pipes and terminals; NULL: none */
	char *store;	  /* path of the profile, which the guest must not see in a listing */
	bool keeps_input; /* what was read from a pipe is known, or there was none */
	char *changes;	  /* what has changed since the run, in words; NULL: nothing known */
	struct rerun_point *points; /* of a sampled run */
	size_t npoints;
	int exit_status;      /* -1: the run did not end by itself */
	struct digest digest; /* of everything but a job's settings */
	struct digest input;  /* of all that belongs to program and input: no machine, no culprit */
};

static const char *text_of(const struct rerun *r, enum recipe_item item)
{
	return recipe_text(&r->recipe, item);
}

/* How files were used; lists of absolute paths. */
enum { FILES_READ, FILES_CHANGED, FILES_MADE, FILE_USES };
static const char *const file_uses[FILE_USES] = { "read", "changed", "made" };

static bool are_paths(const json_t *list)
{
	bool good = json_is_array(list);

	for (size_t i = 0; good && i < json_array_size(list); i++) {
		const char *path = json_string_value(json_array_get(list, i));

		good = path && *path == '/';
	}
	return good;
}

/* NULL: not known. */
static json_t *run_files(const char *text)
{
	json_t *all = text ? json_loads(text, 0, NULL) : NULL;
	bool good = true;

	for (unsigned k = 0; k < FILE_USES; k++)
		good = good && are_paths(json_object_get(all, file_uses[k]));
	if (good)
		return all;
	json_decref(all);
	return NULL;
}

char *rerun_keep(const char *cache_dir, const char *folder, const char *suffix, const void *data,
		 size_t size, struct err *e)
{
	char hex[DIGEST_HEX];
	struct digest d;

	digest_init(&d);
	digest_add(&d, data, size);
	digest_hex(&d, hex);

	char *path = x_asprintf("%s/%s/%.32s%s", cache_dir, folder, hex, suffix);
	char *dir = x_strndup(path, (size_t)(strrchr(path, '/') - path));
	char *temp = x_asprintf("%s.%ld", path, (long)getpid());
	bool made = jobs_make_dirs(dir, e);
	FILE *f = made ? fopen(temp, "we") : NULL;
	bool ok = f && fwrite(data, 1, size, f) == size;

	if (f && fclose(f))
		ok = false;
	if (!ok || rename(temp, path)) {
		if (made)
			err_set(e, "cannot write '%s': %s", path, strerror(errno));
		free(path);
		path = NULL;
	}
	free(temp);
	free(dir);
	return path;
}

/* A list of {"path": …, "count": …, "digest": …, "names": […] or null}; NULL: none, or anything
 * else. */
static json_t *run_folders(const char *text)
{
	json_t *all = text ? json_loads(text, 0, NULL) : NULL;
	bool good = json_is_array(all);

	for (size_t i = 0; good && i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i), *names = json_object_get(one, "names");
		const char *path = json_string_value(json_object_get(one, "path"));

		good = path && *path == '/' && (json_is_null(names) || json_is_array(names));
		for (size_t k = 0; good && k < json_array_size(names); k++)
			good = json_is_string(json_array_get(names, k));
	}
	if (good)
		return all;
	json_decref(all);
	return NULL;
}

/* Writes the machine as an INI file of the cache; *path stays NULL if the run had none. */
static bool write_machine(struct store *s, const char *cache_dir, char **path, struct err *e)
{
	if (!store_number(s, "SELECT count(*) FROM machine", 0))
		return true;

	struct store_rows q = store_query(
	    s,
	    "SELECT section, key, value FROM machine ORDER BY section != 'machine', section, key",
	    "");
	char *text = NULL, section[64] = "";
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	while (f && store_next(&q)) {
		const char *sec = store_text(&q, 0), *key = store_text(&q, 1),
			   *value = store_text(&q, 2);

		if (!sec || !key || !value || !*value ||
		    (!strcmp(sec, "machine") && !strcmp(key, "base")))
			continue;
		if (strcmp(sec, section)) {
			snprintf(section, sizeof(section), "%s", sec);
			fprintf(f, "[%s]\n", section);
		}
		fprintf(f, "%s = %s\n", key, value);
	}
	if (!store_done(&q, e) || !f || fclose(f)) {
		free(text);
		return false;
	}
	*path = rerun_keep(cache_dir, "machines", ".ini", text, size, e);
	free(text);
	return *path;
}

/* Where a path of the guest leads on the host: into the sysroot, from the run's folder, or as it
 * is. */
static char *host_path(const struct rerun *r, const char *path)
{
	const char *sysroot = text_of(r, RUN_sysroot), *cwd = text_of(r, RUN_cwd);

	if (*path == '/' && sysroot) {
		char *inside = x_asprintf("%s%s", sysroot, path);

		if (!access(inside, R_OK))
			return inside;
		free(inside);
	}
	return *path == '/' || !cwd ? x_strdup(path) : x_asprintf("%s/%s", cwd, path);
}

static void digest_host_file(const struct rerun *r, struct digest *d, const char *path)
{
	char *host = host_path(r, path);
	struct stat st;

	if (!stat(host, &st) && S_ISREG(st.st_mode))
		digest_file(d, host);
	free(host);
}

/* Adds programs and libraries: all that was executed, wherever its path came from. */
static bool digest_images(const struct rerun *r, struct digest *d, struct store *s, struct err *e)
{
	struct store_rows q =
	    store_query(s, "SELECT DISTINCT path, build_id FROM image ORDER BY path", "");

	while (store_next(&q)) {
		const char *path = store_text(&q, 0);

		digest_text(d, path);
		digest_text(d, store_text(&q, 1));
		if (path && *path == '/')
			digest_host_file(r, d, path);
	}
	return store_done(&q, e);
}

bool rerun_regions(const struct rerun *r)
{
	return text_of(r, RUN_start) || text_of(r, RUN_stop);
}

const char *rerun_changes(const struct rerun *r)
{
	if (r->changes || r->keeps_input)
		return r->changes;
	return "what it read from a pipe or a terminal is not in the profile (--forget-input, more "
	       "than 16 MiB, or typed unseen), so it finds nothing to read now";
}

/* Adds what belongs to program and input. */
static bool digest_input(struct rerun *r, struct digest *d, struct store *s, struct err *e)
{
	const struct words *argv = &r->recipe.items[RUN_argv];
	const json_t *read = json_object_get(r->files, file_uses[FILES_READ]);

	/* The program, and each argument that is a file. */
	for (size_t i = 0; i < argv->count; i++)
		digest_host_file(r, d, argv->items[i]);
	if (text_of(r, RUN_stdin))
		digest_file(d, text_of(r, RUN_stdin));
	/* The checkpoint's own file has the checksums of all its pages. */
	if (text_of(r, RUN_restore))
		digest_file(d, text_of(r, RUN_restore));
	for (size_t i = 0; i < json_array_size(read); i++) {
		const char *path = json_string_value(json_array_get(read, i));

		digest_text(d, path);
		digest_file(d, path); /* a file that is gone counts by its name */
	}
	r->changes = folders_changed(r->folders, json_object_get(r->files, file_uses[FILES_MADE]),
				     r->store, d);
	return digest_images(r, d, s, e);
}

void rerun_digest(const struct rerun *r, struct digest *d)
{
	struct digest copy = r->input;
	char hex[DIGEST_HEX];

	digest_hex(&copy, hex);
	digest_text(d, hex);
}

static bool digest_run(struct rerun *r, struct store *s, struct err *e)
{
	struct digest *d = &r->digest;

	digest_init(&r->input);
	digest_text(&r->input, "culprit input 1");
	recipe_digest(&r->recipe, &r->input);
	if (!digest_input(r, &r->input, s, e))
		return false;
	digest_init(d);
	digest_text(d, "culprit rerun 4");
	if (!digest_file(d, r->program))
		return err_set(e, "cannot read '%s'", r->program);
	if (r->machine)
		digest_file(d, r->machine);
	rerun_digest(r, d);
	return true;
}

int rerun_exit_status(const struct rerun *r)
{
	return r->exit_status;
}

bool rerun_rewrites(const struct rerun *r)
{
	return json_array_size(json_object_get(r->files, file_uses[FILES_CHANGED])) > 0;
}

static char *this_program(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = 0;
	return x_strdup(path);
}

/* Whether one of the triggers is a cycle. */
static bool by_cycle(const struct words *triggers)
{
	for (size_t i = 0; i < triggers->count; i++)
		if (!strncmp(triggers->items[i], "cycle:", 6))
			return true;
	return false;
}

/* Unpacks a row into a file of the cache; *path stays NULL if there is no such row. */
static bool unpack_row(const struct rerun *r, struct store *s, enum recipe_item item,
		       const char *dir, char **path, struct err *e)
{
	const char *text = text_of(r, item);
	size_t size = 0;
	uint8_t *data = text ? unpack_text(text, CONTENT_MAX, &size) : NULL;
	bool ok = !text || data ||
		  err_set(e, "%s: row '%s' of table run is damaged", store_path(s),
			  recipe_rows[item].key);

	if (data)
		ok = (*path = rerun_keep(dir, "streams", "", data, size, e));
	free(data);
	return ok;
}

/*
 * Makes a job's streams what the run's were; but if standard input was a file that can be read
 * again, it is the job's own standard input. False if a stream cannot be made.
 */
static bool job_streams(struct rerun *r, struct store *s, struct err *e)
{
	const char *streams = text_of(r, RUN_streams);
	char *copy = streams ? x_strdup(streams) : NULL, *own = NULL, *whole;
	struct stream all[STREAMS];
	bool known = copy && streams_read(copy, all, e), other = false, once = false;
	size_t size;
	FILE *f;

	for (int i = 0; known && i < STREAMS; i++) {
		other |= all[i].kind == STREAM_OTHER;
		once |= all[i].kind == STREAM_TERMINAL;
	}
	once |= known && (all[0].kind == STREAM_PIPE || all[0].kind == STREAM_SOCKET) &&
		all[0].access != O_WRONLY;
	r->keeps_input = !once || r->given;
	if (known && all[0].kind == STREAM_FILE && !r->content[0]) {
		struct stream first = { .kind = STREAM_OWN,
					.access = -1,
					.flags = all[0].flags & ~O_NOATIME,
					.of = -1,
					.at = all[0].at };

		f = open_memstream(&own, &size);
		if (f)
			stream_write(f, &first);
		if (!f || fclose(f))
			die("out of memory");
		whole = x_asprintf("%s%s", own, strchr(streams, ','));
		recipe_replace(&r->recipe, RUN_streams, whole);
		free(whole);
		free(own);
	}
	free(copy);
	return !other ||
	       err_set(e,
		       "%s: one of the standard streams was neither a file, a pipe, a socket, a "
		       "terminal nor one of null, zero, full and random, so the run cannot be "
		       "simulated again",
		       store_path(s));
}

static bool unpack_streams(struct rerun *r, struct store *s, const char *dir, struct err *e)
{
	bool ok = unpack_row(r, s, RUN_input, dir, &r->given, e);

	for (unsigned i = 0; ok && i < ARRAY_LEN(r->content); i++)
		ok = unpack_row(r, s, (enum recipe_item)(RUN_content0 + i), dir, &r->content[i], e);
	return ok && job_streams(r, s, e);
}

/* False and e filled if the run cannot be simulated again. */
static bool can_repeat(const struct rerun *r, struct store *s, struct err *e)
{
	const char *path = store_path(s);

	if (store_number(s, "SELECT value FROM run WHERE key = 'first_cycle'", 0))
		return err_set(e,
			       "%s is of a forked process, which cannot be simulated without the "
			       "one that forked it",
			       path);
	if (!text_of(r, RUN_argv))
		return err_set(e,
			       "%s does not say which command it came from, so it cannot be "
			       "simulated again; profiles of `culprit sim` do",
			       path);
	if (text_of(r, RUN_real_time))
		return err_set(e, "%s was made with --real-time: such a run cannot be repeated",
			       path);
	if (text_of(r, RUN_regions) && !rerun_regions(r))
		return err_set(e,
			       "%s covers a part of its run and does not say which: run `culprit "
			       "sim` again",
			       path);
	if (by_cycle(&r->recipe.items[RUN_start]) || by_cycle(&r->recipe.items[RUN_stop]))
		return err_set(
		    e,
		    "%s covers a part of its run by cycles (cycle:N), which other settings move; a "
		    "part by instructions, addresses or marks can be simulated again",
		    path);
	return r->program || err_set(e, "cannot find culprit's own program");
}

/* Numbers alone: what else a table says that no signature covers decides nothing. */
static bool read_points(struct rerun *r, struct store *s, struct err *e)
{
	struct store_rows q =
	    store_query(s,
			"SELECT max(fast_forward, 0), max(warm, 0), max(settle, 0), "
			"max(length, 1) FROM point ORDER BY id",
			"");

	while (store_next(&q))
		*ARRAY_ADD(r->points, r->npoints) =
		    (struct rerun_point){ (uint64_t)store_int(&q, 0), (uint64_t)store_int(&q, 1),
					  (uint64_t)store_int(&q, 2), (uint64_t)store_int(&q, 3) };
	return store_done(&q, e);
}

size_t rerun_points(const struct rerun *r)
{
	return r->npoints;
}

struct rerun *rerun_open(struct store *s, const char *program, const char *cache_dir, struct err *e)
{
	struct rerun *r = x_calloc(1, sizeof(*r));
	char *dir = cache_dir ? x_strdup(cache_dir) : jobs_cache_dir();

	r->program = program ? x_strdup(program) : this_program();
	recipe_read(&r->recipe, s);
	r->files = run_files(text_of(r, RUN_files));
	r->folders = run_folders(text_of(r, RUN_folders));
	r->store = realpath(store_path(s), NULL);
	/* a result, which is only compared: it needs no signature */
	r->exit_status =
	    (int)store_number(s, "SELECT ifnull(value, -1) FROM run WHERE key = 'exit_status'", -1);

	bool ok = can_repeat(r, s, e) && unpack_streams(r, s, dir, e) &&
		  write_machine(s, dir, &r->machine, e) && digest_run(r, s, e) &&
		  read_points(r, s, e);

	free(dir);
	if (ok)
		return r;
	rerun_close(r);
	return NULL;
}

void rerun_close(struct rerun *r)
{
	if (!r)
		return;
	recipe_free(&r->recipe);
	json_decref(r->files);
	json_decref(r->folders);
	for (unsigned i = 0; i < ARRAY_LEN(r->content); i++)
		free(r->content[i]);
	free(r->given);
	free(r->points);
	free(r->store);
	free(r->changes);
	free(r->program);
	free(r->machine);
	free(r);
}

static const char *option(enum recipe_item item)
{
	return recipe_rows[item].option;
}

/* The path with its folder's symbolic links resolved; NULL: the folder is gone. The caller
 * frees. */
static char *real_name(const char *path)
{
	const char *name = strrchr(path, '/');
	char *folder = x_strndup(path, (size_t)(name - path) + 1), *real = realpath(folder, NULL);
	char *whole = real ? x_asprintf("%s%s", strcmp(real, "/") ? real : "", name) : NULL;

	free(real);
	free(folder);
	return whole;
}

/* Adds the path's folder, unless it lies in one that is there; removes those that lie in it. */
static void add_folder(struct words *w, const char *path)
{
	char *folder = x_strndup(path, (size_t)(strrchr(path, '/') - path));
	bool covered = !*folder; /* never the root */
	size_t kept = 0;

	for (size_t i = 0; i < w->count; i++)
		covered = covered || path_below(folder, w->items[i]);
	for (size_t i = 0; !covered && i < w->count; i++) {
		if (path_below(w->items[i], folder))
			free(w->items[i]);
		else
			w->items[kept++] = w->items[i];
	}
	if (!covered) {
		w->count = kept;
		words_add(w, folder);
	}
	free(folder);
}

/* Adds options for the folders that the run writes to, and for the files that it made there. */
static void find_writes(const struct rerun *r, struct words *w)
{
	struct words folders = { NULL, 0 }, absent = { NULL, 0 };

	for (unsigned k = FILES_CHANGED; k <= FILES_MADE; k++) {
		const json_t *list = json_object_get(r->files, file_uses[k]);

		for (size_t i = 0; i < json_array_size(list); i++) {
			char *path = real_name(json_string_value(json_array_get(list, i)));

			if (!path)
				continue;
			add_folder(&folders, path);
			if (k == FILES_MADE)
				words_add(&absent, path);
			free(path);
		}
	}
	for (size_t i = 0; i < folders.count; i++)
		words_add_option(w, option(RUN_overlay), folders.items[i]);
	for (size_t i = 0; i < absent.count; i++)
		words_add_option(w, option(RUN_absent), absent.items[i]);
	words_free(&folders);
	words_free(&absent);
}

/*
 * Confines the simulation, whatever the run was allowed: it reads what this user may read or, if
 * the run was in a sandbox, what the run could read; what it writes is thrown away; it has no
 * network. So nothing that it reads can leave it. The limits are the run's, because the guest can
 * see them.
 */
static void add_sandbox(const struct rerun *r, bool restores, struct words *w)
{
	/* A checkpoint has how the program began. */
	static const enum recipe_item of_a_beginning[] = { RUN_env, RUN_seed, RUN_real_time,
							   RUN_clock_cpi };
	struct recipe recipe = r->recipe;
	static const enum recipe_item limits[] = { RUN_limit_memory, RUN_limit_files,
						   RUN_limit_processes, RUN_limit_output };
	const struct words *write = &r->recipe.items[RUN_allow_write];

	words_add_option(w, option(RUN_sandbox), NULL);
	for (size_t i = 0; i < write->count; i++)
		words_add_option(w, option(RUN_overlay), write->items[i]);
	for (size_t i = 0; restores && i < ARRAY_LEN(of_a_beginning); i++)
		recipe.items[of_a_beginning[i]].count = 0;
	recipe_options(&recipe, w);
	find_writes(r, w);
	if (text_of(r, RUN_sandbox))
		return;
	words_add_option(w, option(RUN_allow_read), "/");
	for (unsigned i = 0; i < ARRAY_LEN(limits); i++)
		if (!text_of(r, limits[i]))
			words_add_option(w, option(limits[i]), "none");
}

static void add_streams(const struct rerun *r, struct words *w)
{
	for (unsigned i = 0; i < ARRAY_LEN(r->content); i++)
		if (r->content[i]) {
			char *item = x_asprintf("%u=%s", i, r->content[i]);

			words_add_option(w, option(RUN_content), item);
			free(item);
		}
	if (r->given)
		words_add_option(w, option(RUN_input), r->given);
}

static void add_count(struct words *w, struct digest *d, enum recipe_item item, uint64_t n)
{
	char text[24];

	if (!n)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	words_add_option(w, option(item), text);
	digest_text(d, option(item));
	digest_text(d, text);
}

struct job rerun_at_point(const struct rerun *r, const struct job *whole, size_t point)
{
	const struct rerun_point *p = &r->points[point];
	struct words w = { NULL, 0 };
	struct digest d;
	struct job j = { .name = x_asprintf("%s, point %zu", whole->name, point),
			 .dir = whole->dir ? x_strdup(whole->dir) : NULL,
			 .input = whole->input ? x_strdup(whole->input) : NULL,
			 .usable = whole->usable,
			 .want_status = -1 };
	size_t i = 0;

	digest_init(&d);
	digest_text(&d, whole->key);
	for (; whole->argv[i] && strcmp(whole->argv[i], "--"); i++)
		words_add(&w, whole->argv[i]);
	/* after the run's own: the last one counts */
	add_count(&w, &d, RUN_fast_forward, p->fast_forward);
	add_count(&w, &d, RUN_warm, p->warm);
	add_count(&w, &d, RUN_settle, p->settle);
	add_count(&w, &d, RUN_max_insts, p->length);
	for (; whole->argv[i]; i++)
		words_add(&w, whole->argv[i]);
	j.argv = w.items;
	digest_hex(&d, j.key);
	return j;
}

static bool result_is_usable(const char *path)
{
	struct job j = { .result = (char *)path };
	struct rerun_result ignored;
	struct err e;

	return rerun_read(&j, &ignored, &e);
}

/* Adds an option with each of the words, which the digest covers. */
static void add_words(struct words *w, struct digest *d, enum recipe_item item,
		      const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		words_add_option(w, option(item), words[i]);
		digest_text(d, words[i]);
	}
}

struct job rerun_job(const struct rerun *r, const char *name, const char *const *settings,
		     size_t count)
{
	return rerun_changed(r, name,
			     &(struct rerun_change){ .settings = settings, .nsettings = count });
}

struct job rerun_changed(const struct rerun *r, const char *name, const struct rerun_change *c)
{
	const char *cwd = text_of(r, RUN_cwd), *input = text_of(r, RUN_stdin);
	const struct words *argv = &r->recipe.items[RUN_argv];
	struct words w = { NULL, 0 };
	struct digest d = r->digest;
	struct job j = { .name = x_strdup(name),
			 .dir = cwd ? x_strdup(cwd) : NULL,
			 .input = input ? x_strdup(input) : NULL,
			 .want_status = r->exit_status < 0 ? 0 : r->exit_status };

	words_add(&w, r->program);
	words_add(&w, c->command ? c->command : "sim");
	add_sandbox(r, c->restores, &w);
	if (c->machine)
		digest_file(&d, c->machine);
	if (c->machine || r->machine)
		words_add_option(&w, option(RUN_machine), c->machine ? c->machine : r->machine);
	add_words(&w, &d, RUN_sets, c->settings, c->nsettings);
	add_words(&w, &d, RUN_hits, c->hits, c->nhits);
	if (c->max_insts) { /* after the run's own: the last one counts */
		char text[24];
		const char *const words[] = { text };

		snprintf(text, sizeof(text), "%llu", (unsigned long long)c->max_insts);
		add_words(&w, &d, RUN_max_insts, words, 1);
		j.want_status = 0;
	}
	if (text_of(r, RUN_streams))
		add_streams(r, &w);
	if (r->folders && r->store)
		words_add_option(&w, option(RUN_hide), r->store);
	for (size_t i = 0; i < c->noptions; i++) {
		words_add(&w, c->options[i]);
		digest_text(&d, c->options[i]);
	}
	if (c->command)
		digest_text(&d, c->command);
	if (c->is_part)
		j.want_status = -1;
	j.usable = c->usable ? c->usable : result_is_usable;
	/* a summary is of the whole run; cycles in regions are counted by an analysis */
	if (!c->usable) {
		words_add_option(&w, option(RUN_analyze), rerun_regions(r) ? "null" : "none");
		words_add_option(&w, option(rerun_regions(r) ? RUN_output : RUN_summary_json),
				 JOB_RESULT);
	}
	/* A checkpoint has the program and its arguments. */
	if (!text_of(r, RUN_restore) && !c->restores)
		words_add(&w, "--");
	for (size_t i = 0; !text_of(r, RUN_restore) && !c->restores && i < argv->count; i++)
		words_add(&w, argv->items[i]);
	j.argv = w.items;
	digest_hex(&d, j.key);
	return j;
}

/* Reads the profile that a run with regions leaves. */
static bool read_regions(const struct job *j, struct rerun_result *out, struct err *e)
{
	struct store *s = store_open(j->result, e);

	if (!s)
		return false;
	*out = (struct rerun_result){ .cycles = (uint64_t)store_number(
					  s, "SELECT value FROM counter WHERE name = 'null.cycles'",
					  0),
				      .run_cycles = (uint64_t)store_number(
					  s, "SELECT value FROM run WHERE key = 'cycles'", 0) };
	store_close(s);
	return out->cycles || err_set(e, "'%s' counts no cycles: remove it", j->result);
}

/* A job with regions leaves a profile, any other a summary. */
static bool is_profile(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)];
	FILE *f = fopen(path, "re");
	bool is = f && fread(head, sizeof(head), 1, f) == 1 && !memcmp(head, magic, sizeof(magic));

	if (f)
		fclose(f);
	return is;
}

bool rerun_read(const struct job *j, struct rerun_result *out, struct err *e)
{
	if (j->result && is_profile(j->result))
		return read_regions(j, out, e);

	json_error_t error;
	json_t *o = j->result ? json_load_file(j->result, 0, &error) : NULL;
	json_t *cycles = json_object_get(o, "cycles");
	bool ok = json_is_integer(cycles);

	if (ok)
		out->cycles = out->run_cycles = (uint64_t)json_integer_value(cycles);
	else
		err_set(e, "'%s' is not the summary of a run: remove it",
			j->result ? j->result : j->name);
	json_decref(o);
	return ok;
}
