/* SPDX-License-Identifier: MIT */
/*
 * Rows of table run that are read here, as `culprit sim` writes them: argv, env, sets, start and
 * stop are JSON lists of strings; sysroot, cwd and stdin are paths or absent; streams says what the
 * standard streams were, content0 to content2 what was in their files and input what came through a
 * pipe, packed (util/pack.h); files says which files were read, changed and made, folders which
 * folders were listed and what they held; max_insts, fast_forward, warm and seed are numbers;
 * children is a word; real_time says that the run cannot be repeated. The machine is the resolved
 * one of table machine, so settings of the run are in it.
 */
#include "jobs/rerun.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/folders.h"
#include "jobs/trust.h"
#include "util/pack.h"

#define CONTENT_MAX (32u << 20) /* more than a run keeps */

struct rerun {
	char *program; /* culprit */
	char *machine; /* file */
	json_t *argv, *env;
	json_t *start, *stop; /* of regions; NULL: the whole run */
	json_t *files;	      /* read, changed, made; may be NULL */
	json_t *folders;      /* listed; may be NULL */
	char *sysroot, *cwd, *input, *streams, *children;
	char *content[3]; /* files with what is in those of the streams; NULL: nothing */
	char *given;	  /* file with what comes through pipes and terminals; NULL: nothing */
	char *store;	  /* the profile itself, which no listing shows */
	bool keeps_input; /* what was read from a pipe is known, or there was none */
	char *changes;	  /* what is not as it was, in words; NULL: nothing that is known */
	bool sandbox;	  /* the run was in one, with … */
	json_t *allow_read, *allow_write, *overlay, *absent;
	char *limits[4]; /* memory, files, processes, output; NULL: not given */
	int64_t max_insts, fast_forward, warm, seed;
	int exit_status;      /* -1: did not end by itself */
	struct digest digest; /* of all but the settings */
};

static char *run_text(struct store *s, const char *key)
{
	assert(trust_covers(key));

	struct store_rows q = store_query(s, "SELECT value FROM run WHERE key = ?1", "s", key);
	char *text = NULL;

	if (store_next(&q) && !store_is_null(&q, 0))
		text = x_strdup(store_text(&q, 0));
	store_done(&q, NULL);
	return text;
}

static int64_t run_number(struct store *s, const char *key, int64_t fallback)
{
	assert(trust_covers(key));

	struct store_rows q = store_query(s, "SELECT value FROM run WHERE key = ?1", "s", key);
	int64_t n = fallback;

	if (store_next(&q) && !store_is_null(&q, 0))
		n = store_int(&q, 0);
	store_done(&q, NULL);
	return n;
}

static json_t *run_list(struct store *s, const char *key)
{
	char *text = run_text(s, key);
	json_t *list = text ? json_loads(text, 0, NULL) : NULL;
	bool good = json_is_array(list);

	for (size_t i = 0; good && i < json_array_size(list); i++)
		good = json_is_string(json_array_get(list, i));
	if (!good && list) {
		json_decref(list);
		list = NULL;
	}
	free(text);
	return list;
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
static json_t *run_files(struct store *s)
{
	char *text = run_text(s, "files");
	json_t *all = text ? json_loads(text, 0, NULL) : NULL;
	bool good = true;

	for (unsigned k = 0; k < FILE_USES; k++)
		good = good && are_paths(json_object_get(all, file_uses[k]));
	free(text);
	if (good)
		return all;
	json_decref(all);
	return NULL;
}

/* A file of the cache, named by the digest of what is in it; its path, or NULL. */
static char *write_cached(const char *cache_dir, const char *folder, const char *suffix,
			  const void *data, size_t size, struct err *e)
{
	char hex[DIGEST_HEX], *dir = x_asprintf("%s/%s", cache_dir, folder);
	struct digest d;

	digest_init(&d);
	digest_add(&d, data, size);
	digest_hex(&d, hex);

	char *path = x_asprintf("%s/%.32s%s", dir, hex, suffix);
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

/* [{"path": …, "count": …, "digest": …, "names": […] or null}, …]; NULL: none, or not that. */
static json_t *run_folders(struct store *s)
{
	char *text = run_text(s, "folders");
	json_t *all = text ? json_loads(text, 0, NULL) : NULL;
	bool good = json_is_array(all);

	for (size_t i = 0; good && i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i), *names = json_object_get(one, "names");
		const char *path = json_string_value(json_object_get(one, "path"));

		good = path && *path == '/' && (json_is_null(names) || json_is_array(names));
		for (size_t k = 0; good && k < json_array_size(names); k++)
			good = json_is_string(json_array_get(names, k));
	}
	free(text);
	if (good)
		return all;
	json_decref(all);
	return NULL;
}

/* The machine as an INI file, named by its digest. The caller frees. */
static char *write_machine(struct store *s, const char *cache_dir, struct err *e)
{
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
		return NULL;
	}

	char *path = write_cached(cache_dir, "machines", ".ini", text, size, e);

	free(text);
	return path;
}

/* Where the guest's path leads on the host: in the sysroot, from the run's folder, or as it is. */
static char *host_path(const struct rerun *r, const char *path)
{
	if (*path == '/' && r->sysroot) {
		char *inside = x_asprintf("%s%s", r->sysroot, path);

		if (!access(inside, R_OK))
			return inside;
		free(inside);
	}
	return *path == '/' || !r->cwd ? x_strdup(path) : x_asprintf("%s/%s", r->cwd, path);
}

static void digest_host_file(struct rerun *r, const char *path)
{
	char *host = host_path(r, path);
	struct stat st;

	if (!stat(host, &st) && S_ISREG(st.st_mode))
		digest_file(&r->digest, host);
	free(host);
}

/* Programs and libraries: what is executed, wherever its path came from. */
static bool digest_images(struct rerun *r, struct store *s, struct err *e)
{
	struct store_rows q =
	    store_query(s, "SELECT DISTINCT path, build_id FROM image ORDER BY path", "");

	while (store_next(&q)) {
		const char *path = store_text(&q, 0);

		digest_text(&r->digest, path);
		digest_text(&r->digest, store_text(&q, 1));
		if (path && *path == '/')
			digest_host_file(r, path);
	}
	return store_done(&q, e);
}

static void digest_list(struct digest *d, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		digest_text(d, json_string_value(json_array_get(list, i)));
	digest_text(d, NULL);
}

bool rerun_regions(const struct rerun *r)
{
	return r->start || r->stop;
}

const char *rerun_changes(const struct rerun *r)
{
	if (r->changes || r->keeps_input)
		return r->changes;
	return "what it read from a pipe or a terminal is not in the profile (--forget-input, more "
	       "than 16 MiB, or typed unseen), so it finds nothing to read now";
}

static bool digest_run(struct rerun *r, struct store *s, struct err *e)
{
	struct digest *d = &r->digest;
	char numbers[160];

	digest_init(d);
	digest_text(d, "culprit rerun 2");
	if (!digest_file(d, r->program))
		return err_set(e, "cannot read '%s'", r->program);
	digest_list(d, r->argv);
	digest_list(d, r->env);
	digest_text(d, r->sysroot);
	digest_text(d, r->cwd);
	digest_text(d, r->streams);
	for (unsigned i = 0; i < ARRAY_LEN(r->content); i++)
		if (r->content[i]) {
			digest_text(d, "content");
			digest_file(d, r->content[i]);
		}
	if (r->given)
		digest_file(d, r->given);
	digest_text(d, r->children);
	digest_text(d, r->sandbox ? "sandbox" : NULL);
	digest_list(d, r->allow_read);
	digest_list(d, r->allow_write);
	digest_list(d, r->overlay);
	digest_list(d, r->absent);
	for (unsigned i = 0; i < ARRAY_LEN(r->limits); i++)
		digest_text(d, r->limits[i]);
	if (rerun_regions(r)) {
		digest_text(d, "regions");
		digest_list(d, r->start);
		digest_list(d, r->stop);
	}
	snprintf(numbers, sizeof(numbers), "%lld %lld %lld %lld", (long long)r->max_insts,
		 (long long)r->fast_forward, (long long)r->warm, (long long)r->seed);
	digest_text(d, numbers);
	digest_file(d, r->machine);
	/* The program, and whatever among the arguments is a file. */
	for (size_t i = 0; i < json_array_size(r->argv); i++)
		digest_host_file(r, json_string_value(json_array_get(r->argv, i)));
	if (r->input)
		digest_file(d, r->input);
	const json_t *read = json_object_get(r->files, file_uses[FILES_READ]);

	for (size_t i = 0; i < json_array_size(read); i++) {
		const char *path = json_string_value(json_array_get(read, i));

		digest_text(d, path);
		digest_file(d, path); /* one that is gone counts by its name */
	}
	r->changes = folders_changed(r->folders, json_object_get(r->files, file_uses[FILES_MADE]),
				     r->store, d);
	return digest_images(r, s, e);
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

/* If one of the conditions is at a cycle. */
static bool by_cycle(const json_t *triggers)
{
	for (size_t i = 0; i < json_array_size(triggers); i++)
		if (!strncmp(json_string_value(json_array_get(triggers, i)), "cycle:", 6))
			return true;
	return false;
}

/* If the word for a stream has the attribute. */
static bool has_attribute(const char *word, const char *attribute)
{
	size_t n = strlen(attribute);
	const char *end = word + strcspn(word, ",");

	while ((word = memchr(word, '+', (size_t)(end - word)))) {
		word++;
		if ((size_t)(end - word) >= n && !strncmp(word, attribute, n) &&
		    (word + n == end || word[n] == '+'))
			return true;
	}
	return false;
}

/* As they were; but standard input, if a file that can be read again, is the job's. */
static char *job_streams(const struct rerun *r, char *streams)
{
	static const char *const kept[] = { "append", "nonblock", "direct", "sync", "dsync" };
	const char *rest = streams ? strchr(streams, ',') : NULL;
	char *own = NULL, *at;

	if (!rest || r->content[0] ||
	    (strncmp(streams, "file,", 5) && strncmp(streams, "file+", 5)))
		return streams;
	own = x_strdup("-");
	for (unsigned i = 0; i < ARRAY_LEN(kept); i++)
		if (has_attribute(streams, kept[i])) {
			char *longer = x_asprintf("%s+%s", own, kept[i]);

			free(own);
			own = longer;
		}
	at = strstr(streams, "+at=");
	if (at && at < rest) {
		char *longer =
		    x_asprintf("%s+at=%.*s", own, (int)strspn(at + 4, "0123456789"), at + 4);

		free(own);
		own = longer;
	}
	at = x_asprintf("%s%s", own, rest);
	free(own);
	free(streams);
	return at;
}

/* If there is something to read that cannot be read again. */
static bool reads_once(const char *streams)
{
	return streams && (((!strncmp(streams, "pipe", 4) || !strncmp(streams, "socket", 6)) &&
			    !has_attribute(streams, "w")) ||
			   strstr(streams, "terminal"));
}

/* A row of packed bytes as a file of the cache. True if all is well, with *path NULL if there is no
 * such row. */
static bool unpack_row(struct store *s, const char *key, const char *dir, char **path,
		       struct err *e)
{
	char *text = run_text(s, key);
	size_t size = 0;
	uint8_t *data = text ? unpack_text(text, CONTENT_MAX, &size) : NULL;
	bool ok =
	    !text || data || err_set(e, "%s: row '%s' of table run is damaged", store_path(s), key);

	if (data)
		ok = (*path = write_cached(dir, "streams", "", data, size, e));
	free(text);
	free(data);
	return ok;
}

static bool unpack_streams(struct rerun *r, struct store *s, const char *dir, struct err *e)
{
	static const char *const keys[] = { "content0", "content1", "content2" };
	bool ok = unpack_row(s, "input", dir, &r->given, e);

	for (unsigned i = 0; ok && i < ARRAY_LEN(r->content); i++)
		ok = unpack_row(s, keys[i], dir, &r->content[i], e);
	return ok;
}

struct rerun *rerun_open(struct store *s, const char *program, const char *cache_dir, struct err *e)
{
	struct rerun *r = x_calloc(1, sizeof(*r));
	char *dir = cache_dir ? x_strdup(cache_dir) : jobs_cache_dir();
	bool ok = true;

	r->program = program ? x_strdup(program) : this_program();
	r->argv = run_list(s, "argv");
	r->env = run_list(s, "env");
	r->start = run_list(s, "start");
	r->stop = run_list(s, "stop");
	r->sysroot = run_text(s, "sysroot");
	r->cwd = run_text(s, "cwd");
	r->input = run_text(s, "stdin");
	r->streams = run_text(s, "streams");
	r->files = run_files(s);
	r->folders = run_folders(s);
	r->store = realpath(store_path(s), NULL);
	r->children = run_text(s, "children");
	r->sandbox = run_number(s, "sandbox", 0);
	r->allow_read = run_list(s, "allow_read");
	r->allow_write = run_list(s, "allow_write");
	r->overlay = run_list(s, "overlay");
	r->absent = run_list(s, "absent");
	r->limits[0] = run_text(s, "limit_memory");
	r->limits[1] = run_text(s, "limit_files");
	r->limits[2] = run_text(s, "limit_processes");
	r->limits[3] = run_text(s, "limit_output");
	r->max_insts = run_number(s, "max_insts", 0);
	r->fast_forward = run_number(s, "fast_forward", 0);
	r->warm = run_number(s, "warm", 0);
	r->seed = run_number(s, "seed", 0);
	/* a result: compared, never run */
	r->exit_status =
	    (int)store_number(s, "SELECT ifnull(value, -1) FROM run WHERE key = 'exit_status'", -1);
	if (store_number(s, "SELECT value FROM run WHERE key = 'first_cycle'", 0))
		ok = err_set(e,
			     "%s is of a forked process, which cannot be simulated without the "
			     "one that forked it",
			     store_path(s));
	else if (!json_array_size(r->argv))
		ok = err_set(e,
			     "%s does not say which command it came from, so it cannot be "
			     "simulated again; profiles of `culprit sim` do",
			     store_path(s));
	else if (run_number(s, "real_time", 0))
		ok = err_set(e, "%s was made with --real-time: such a run cannot be repeated",
			     store_path(s));
	else if (run_number(s, "regions", 0) && !rerun_regions(r))
		ok = err_set(e,
			     "%s covers a part of its run and does not say which: make it again, "
			     "this version does",
			     store_path(s));
	else if (by_cycle(r->start) || by_cycle(r->stop))
		ok = err_set(e,
			     "%s covers a part of its run by cycles (cycle:N), which are others in "
			     "every run; by instructions, addresses or marks it could be repeated",
			     store_path(s));
	else if (!r->program)
		ok = err_set(e, "cannot find culprit's own program");
	else if (r->streams && strstr(r->streams, "other"))
		ok = err_set(
		    e,
		    "%s: one of the standard streams was neither a file, a pipe, a socket, a "
		    "terminal nor one of null, zero, full and random, so the run cannot be "
		    "simulated again",
		    store_path(s));
	ok = ok && unpack_streams(r, s, dir, e);
	if (ok) {
		r->keeps_input = !reads_once(r->streams) || r->given;
		r->streams = job_streams(r, r->streams);
	}
	ok = ok && (r->machine = write_machine(s, dir, e)) && digest_run(r, s, e);
	free(dir);
	if (!ok) {
		rerun_close(r);
		return NULL;
	}
	return r;
}

void rerun_close(struct rerun *r)
{
	if (!r)
		return;
	json_decref(r->argv);
	json_decref(r->env);
	json_decref(r->start);
	json_decref(r->stop);
	json_decref(r->files);
	json_decref(r->folders);
	for (unsigned i = 0; i < ARRAY_LEN(r->content); i++)
		free(r->content[i]);
	free(r->given);
	free(r->store);
	free(r->changes);
	json_decref(r->allow_read);
	json_decref(r->allow_write);
	json_decref(r->overlay);
	json_decref(r->absent);
	for (unsigned i = 0; i < ARRAY_LEN(r->limits); i++)
		free(r->limits[i]);
	free(r->program);
	free(r->machine);
	free(r->sysroot);
	free(r->cwd);
	free(r->input);
	free(r->streams);
	free(r->children);
	free(r);
}

struct words {
	char **items;
	size_t count;
};

static void add(struct words *w, const char *word)
{
	w->items = x_realloc(w->items, (w->count + 2) * sizeof(*w->items));
	w->items[w->count++] = x_strdup(word);
	w->items[w->count] = NULL;
}

static void add_pair(struct words *w, const char *option, const char *value)
{
	add(w, option);
	add(w, value);
}

static void add_number(struct words *w, const char *option, int64_t value)
{
	char text[32];

	if (!value)
		return;
	snprintf(text, sizeof(text), "%lld", (long long)value);
	add_pair(w, option, text);
}

static void words_free(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->items[i]);
	free(w->items);
}

/* Without symbolic links in its folder; NULL: that is gone. The caller frees. */
static char *real_name(const char *path)
{
	const char *name = strrchr(path, '/');
	char *folder = x_strndup(path, (size_t)(name - path) + 1), *real = realpath(folder, NULL);
	char *whole = real ? x_asprintf("%s%s", strcmp(real, "/") ? real : "", name) : NULL;

	free(real);
	free(folder);
	return whole;
}

/* One that lies in another is covered with that. */
static void add_folder(struct words *w, const char *path)
{
	char *folder = x_strndup(path, (size_t)(strrchr(path, '/') - path));
	bool covered = !*folder; /* the root: never */
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
		add(w, folder);
	}
	free(folder);
}

/* Where the run writes: the folders, and what it made there. */
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
				add(&absent, path);
			free(path);
		}
	}
	for (size_t i = 0; i < folders.count; i++)
		add_pair(w, "--overlay", folders.items[i]);
	for (size_t i = 0; i < absent.count; i++)
		add_pair(w, "--absent", absent.items[i]);
	words_free(&folders);
	words_free(&absent);
}

static void add_list(struct words *w, const char *option, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		add_pair(w, option, json_string_value(json_array_get(list, i)));
}

/*
 * Whatever the run was allowed, its simulation is confined: it reads what this user may read, or
 * what it read in a sandbox; what it writes is thrown away; it has no network. Nothing that it
 * reads can leave it. Limits are the run's: it could see them.
 */
static void add_sandbox(const struct rerun *r, struct words *w)
{
	static const char *const limits[] = { "memory", "files", "processes", "output" };

	add(w, "--sandbox");
	if (r->sandbox) {
		add_list(w, "--allow-read", r->allow_read);
		add_list(w, "--overlay", r->allow_write);
		add_list(w, "--overlay", r->overlay);
		add_list(w, "--absent", r->absent);
	} else {
		add_pair(w, "--allow-read", "/");
	}
	find_writes(r, w);
	for (unsigned i = 0; i < ARRAY_LEN(limits); i++) {
		char *option = x_asprintf("--limit-%s", limits[i]);

		if (r->limits[i] || !r->sandbox)
			add_pair(w, option, r->limits[i] ? r->limits[i] : "none");
		free(option);
	}
}

static bool result_is_usable(const char *path)
{
	struct job j = { .result = (char *)path };
	struct rerun_result ignored;
	struct err e;

	return rerun_read(&j, &ignored, &e);
}

struct job rerun_job(const struct rerun *r, const char *name, const char *const *settings,
		     size_t count)
{
	struct words w = { NULL, 0 };
	struct digest d = r->digest;
	struct job j = { .name = x_strdup(name),
			 .dir = r->cwd ? x_strdup(r->cwd) : NULL,
			 .input = r->input ? x_strdup(r->input) : NULL,
			 .want_status = r->exit_status < 0 ? 0 : r->exit_status };

	add(&w, r->program);
	add(&w, "sim");
	add_sandbox(r, &w);
	add_pair(&w, "--machine", r->machine);
	for (size_t i = 0; i < count; i++) {
		add_pair(&w, "--set", settings[i]);
		digest_text(&d, settings[i]);
	}
	if (r->sysroot)
		add_pair(&w, "--sysroot", r->sysroot);
	for (size_t i = 0; i < json_array_size(r->env); i++)
		add_pair(&w, "--env", json_string_value(json_array_get(r->env, i)));
	add_number(&w, "--max-insts", r->max_insts);
	add_number(&w, "--fast-forward", r->fast_forward);
	add_number(&w, "--warm", r->warm);
	add_number(&w, "--seed", r->seed);
	if (r->streams)
		add_pair(&w, "--streams", r->streams);
	for (unsigned i = 0; r->streams && i < ARRAY_LEN(r->content); i++)
		if (r->content[i]) {
			char *item = x_asprintf("%u=%s", i, r->content[i]);

			add_pair(&w, "--content", item);
			free(item);
		}
	if (r->streams && r->given)
		add_pair(&w, "--input", r->given);
	if (r->folders && r->store)
		add_pair(&w, "--hide", r->store);
	if (r->children)
		add_pair(&w, "--children", r->children);
	/* a summary is of the whole run; what lies in regions is counted on the bus */
	for (size_t i = 0; i < json_array_size(r->start); i++)
		add_pair(&w, "--start", json_string_value(json_array_get(r->start, i)));
	for (size_t i = 0; i < json_array_size(r->stop); i++)
		add_pair(&w, "--stop", json_string_value(json_array_get(r->stop, i)));
	add_pair(&w, "--analyze", rerun_regions(r) ? "null" : "none");
	add_pair(&w, rerun_regions(r) ? "--output" : "--summary-json", JOB_RESULT);
	add(&w, "--");
	for (size_t i = 0; i < json_array_size(r->argv); i++)
		add(&w, json_string_value(json_array_get(r->argv, i)));
	j.argv = w.items;
	j.usable = result_is_usable;
	digest_hex(&d, j.key);
	return j;
}

/* The profile that a run with regions leaves. */
static bool read_regions(const struct job *j, struct rerun_result *out, struct err *e)
{
	struct store *s = store_open(j->result, e);

	if (!s)
		return false;
	*out = (struct rerun_result){
		.cycles = (uint64_t)store_number(
		    s, "SELECT value FROM counter WHERE name = 'null.cycles'", 0),
		.insts =
		    (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'instructions'", 0)
	};
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
	json_t *cycles = json_object_get(o, "cycles"), *insts = json_object_get(o, "instructions");
	bool ok = json_is_integer(cycles) && json_is_integer(insts);

	if (ok)
		*out = (struct rerun_result){ (uint64_t)json_integer_value(cycles),
					      (uint64_t)json_integer_value(insts) };
	else
		err_set(e, "'%s' is not the summary of a run: remove it",
			j->result ? j->result : j->name);
	json_decref(o);
	return ok;
}
