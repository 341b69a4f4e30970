/* SPDX-License-Identifier: MIT */
/*
 * The queue's files. A status is written under a name of its own and then linked: link fails where
 * another copy was first, whose status stays.
 */
#include "jobs/queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/jobs.h"

enum { QUEUED, CLAIMED, WORK, ENDED, PARTS };
static const char *const parts[PARTS] = { "queue", "claimed", "work", "ended" };

struct queue {
	char *folder;
	char *part[PARTS];
};

struct queue *queue_open(const char *folder, struct err *e)
{
	struct queue *q = x_calloc(1, sizeof(*q));
	bool ok = true;

	q->folder = x_strdup(folder);
	for (unsigned i = 0; i < PARTS; i++) {
		q->part[i] = x_asprintf("%s/%s", folder, parts[i]);
		ok = ok && jobs_make_dirs(q->part[i], e);
	}
	if (ok)
		return q;
	queue_close(q);
	return NULL;
}

void queue_close(struct queue *q)
{
	if (!q)
		return;
	for (unsigned i = 0; i < PARTS; i++)
		free(q->part[i]);
	free(q->folder);
	free(q);
}

const char *queue_folder(const struct queue *q)
{
	return q->folder;
}

static bool is_key(const char *name, size_t n)
{
	return n == DIGEST_HEX - 1 && strspn(name, "0123456789abcdef") >= n;
}

/* Reads KEY.JOB-RESTART-N. */
static bool read_copy(const char *name, struct queue_copy *c)
{
	const size_t n = strcspn(name, ".");
	int end = 0;

	if (!is_key(name, n) ||
	    sscanf(name + n, ".%lu-%u-%u%n", &c->job, &c->restart, &c->number, &end) != 3 ||
	    name[n + (size_t)end])
		return false;
	memcpy(c->key, name, n);
	c->key[n] = 0;
	return true;
}

static char *copy_path(const struct queue *q, unsigned part, const struct queue_copy *c,
		       const char *suffix)
{
	return x_asprintf("%s/%s.%lu-%u-%u%s", q->part[part], c->key, c->job, c->restart, c->number,
			  suffix);
}

static char *key_path(const struct queue *q, unsigned part, const char *key)
{
	return x_asprintf("%s/%s", q->part[part], key);
}

/* Writes JSON under a name that begins with a dot, which nobody looks at. Its path; NULL: errno says
 * why not. */
static char *write_aside(const struct queue *q, unsigned part, json_t *o)
{
	char host[64] = "", *path;
	FILE *f;
	bool ok;

	gethostname(host, sizeof(host) - 1);
	path = x_asprintf("%s/.%s-%ld-%p", q->part[part], host, (long)getpid(), (void *)o);
	f = fopen(path, "we");
	/* a task that is lost is queued again by whoever wants it; how one ended is not known twice */
	ok = f && !json_dumpf(o, f, JSON_COMPACT) && !fflush(f) &&
	     (part != ENDED || !fsync(fileno(f)));
	if (f && fclose(f))
		ok = false;
	if (ok)
		return path;

	const int why = errno;

	unlink(path);
	free(path);
	errno = why;
	return NULL;
}

static json_t *text_or_null(const char *text)
{
	json_t *t = text ? json_string_nocheck(text) : NULL;

	return t ? t : json_null();
}

static bool is_claimed(const struct queue *q, const char *key)
{
	DIR *dir = opendir(q->part[CLAIMED]);
	bool found = false;

	for (struct dirent *d; dir && !found && (d = readdir(dir));)
		found = !strncmp(d->d_name, key, DIGEST_HEX - 1);
	if (dir)
		closedir(dir);
	return found;
}

bool queue_add(struct queue *q, const struct job_task *t, struct err *e)
{
	char *queued = key_path(q, QUEUED, t->key), *ended = key_path(q, ENDED, t->key), *aside;
	json_t *o, *argv;
	bool ok = true;

	if (t->again)
		unlink(ended);
	if (!access(queued, F_OK) || !access(ended, F_OK) || is_claimed(q, t->key))
		goto out;
	o = json_object();
	argv = json_array();
	for (char *const *a = t->argv; *a; a++)
		json_array_append_new(argv, text_or_null(*a));
	json_object_set_new(o, "name", text_or_null(t->name));
	json_object_set_new(o, "argv", argv);
	json_object_set_new(o, "dir", text_or_null(t->dir));
	json_object_set_new(o, "input", text_or_null(t->input));
	json_object_set_new(o, "seconds", json_real(t->limits.seconds));
	json_object_set_new(o, "memory_bytes", json_integer((json_int_t)t->limits.memory_bytes));
	aside = write_aside(q, QUEUED, o);
	ok = aside && !rename(aside, queued);
	if (!ok)
		err_set(e, "cannot write '%s': %s", queued, strerror(errno));
	if (aside)
		unlink(aside);
	free(aside);
	json_decref(o);
out:
	free(queued);
	free(ended);
	return ok;
}

void queue_remove(struct queue *q, const char *key)
{
	char *path = key_path(q, QUEUED, key);

	unlink(path);
	free(path);
}

static char *text_at(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? x_strdup(text) : NULL;
}

bool queue_ended(struct queue *q, const char *key, struct job_end *end)
{
	char *path = key_path(q, ENDED, key);
	json_t *o = json_load_file(path, JSON_DECODE_ANY, NULL);

	free(path);
	if (!json_is_object(o)) {
		json_decref(o);
		return false;
	}
	*end = (struct job_end){
		.id = end->id,
		.status = (int)json_integer_value(json_object_get(o, "status")),
		.over = (enum job_over)json_integer_value(json_object_get(o, "over")),
		.seconds = json_number_value(json_object_get(o, "seconds")),
		.memory_bytes = (uint64_t)json_integer_value(json_object_get(o, "memory_bytes")),
		.host = text_at(o, "host"),
		.result = text_at(o, "result"),
		.log = text_at(o, "log"),
		.message = text_at(o, "message"),
	};
	json_decref(o);
	return true;
}

void queue_each_ended(struct queue *q, void (*f)(void *ctx, const char *key), void *ctx)
{
	DIR *dir = opendir(q->part[ENDED]);

	for (struct dirent *d; dir && (d = readdir(dir));)
		if (is_key(d->d_name, strlen(d->d_name)))
			f(ctx, d->d_name);
	if (dir)
		closedir(dir);
}

void queue_each_claim(struct queue *q, void (*f)(void *ctx, const struct queue_copy *c), void *ctx)
{
	DIR *dir = opendir(q->part[CLAIMED]);
	struct queue_copy c;

	for (struct dirent *d; dir && (d = readdir(dir));)
		if (read_copy(d->d_name, &c))
			f(ctx, &c);
	if (dir)
		closedir(dir);
}

/* Removes files in work/ whose names begin like that, also those that a killed process left; but for the
 * result and the log of the copy of that name if they are to be kept. */
static void remove_work(struct queue *q, const char *begin, bool keep)
{
	const size_t n = strlen(begin);
	DIR *dir = opendir(q->part[WORK]);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		const char *rest = d->d_name + n;

		if (strncmp(d->d_name, begin, n) || (*rest && *rest != '.'))
			continue;
		if (!keep || (*rest && strcmp(rest, ".log")))
			unlinkat(dirfd(dir), d->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

void queue_forget(struct queue *q, const char *key)
{
	char *path = key_path(q, ENDED, key);

	unlink(path);
	remove_work(q, key, false);
	free(path);
}

void queue_clean(struct queue *q, const struct queue_copy *c)
{
	char *work = copy_path(q, WORK, c, "");

	remove_work(q, path_name(work), false);
	free(work);
}

void queue_unclaim(struct queue *q, const struct queue_copy *c)
{
	char *claim = copy_path(q, CLAIMED, c, "");

	unlink(claim);
	free(claim);
}

/* What a copy writes stays: it may still run. */
void queue_release(struct queue *q, const struct queue_copy *c)
{
	char *claim = copy_path(q, CLAIMED, c, ""), *queued = key_path(q, QUEUED, c->key);
	char *ended = key_path(q, ENDED, c->key);

	if (!access(ended, F_OK))
		unlink(claim);
	else
		rename(claim, queued);
	free(claim);
	free(queued);
	free(ended);
}

bool queue_end(struct queue *q, const struct queue_copy *c, const struct job_end *end)
{
	json_t *o = json_object();
	char *claim = copy_path(q, CLAIMED, c, ""), *ended = key_path(q, ENDED, c->key);
	char *result = copy_path(q, WORK, c, ""), *log = copy_path(q, WORK, c, ".log"), *aside;
	bool first;

	json_object_set_new(o, "status", json_integer(end->status));
	json_object_set_new(o, "over", json_integer(end->over));
	json_object_set_new(o, "seconds", json_real(end->seconds));
	json_object_set_new(o, "memory_bytes", json_integer((json_int_t)end->memory_bytes));
	json_object_set_new(o, "host", text_or_null(end->host));
	json_object_set_new(o, "result", text_or_null(result));
	json_object_set_new(o, "log", text_or_null(log));
	json_object_set_new(o, "message", text_or_null(end->message));
	/* A copy that has lost its claim may have been told to stop: another one will say how it ends. */
	aside =
	    !access(claim, F_OK) || (!end->status && !end->over) ? write_aside(q, ENDED, o) : NULL;
	first = aside && !link(aside, ended);
	if (aside)
		unlink(aside);
	remove_work(q, path_name(result), first);
	unlink(claim);
	free(aside);
	free(result);
	free(log);
	free(claim);
	free(ended);
	json_decref(o);
	return first;
}

/* Makes a task of a claimed file; false: it is not one. */
static bool read_task(struct queue *q, struct queue_task *t)
{
	char *claim = copy_path(q, CLAIMED, &t->copy, "");
	json_t *o = json_load_file(claim, 0, NULL), *argv = json_object_get(o, "argv");
	const size_t n = json_array_size(argv);
	bool good = n;

	free(claim);
	t->spec = o;
	t->argv = x_calloc(n + 1, sizeof(*t->argv));
	for (size_t i = 0; i < n; i++) {
		const char *word = json_string_value(json_array_get(argv, i));

		good = good && word;
		t->argv[i] = (char *)(word ? word : "");
	}
	t->result = copy_path(q, WORK, &t->copy, "");
	t->log = copy_path(q, WORK, &t->copy, ".log");
	t->task = (struct job_task){
		.name = json_string_value(json_object_get(o, "name")),
		.key = t->copy.key,
		.argv = t->argv,
		.dir = json_string_value(json_object_get(o, "dir")),
		.input = json_string_value(json_object_get(o, "input")),
		.result = t->result,
		.log = t->log,
		.limits = { .seconds = json_number_value(json_object_get(o, "seconds")),
			    .memory_bytes =
				(uint64_t)json_integer_value(json_object_get(o, "memory_bytes")) },
	};
	return good;
}

bool queue_claim(struct queue *q, const struct queue_copy *who, struct queue_task *out)
{
	DIR *dir = opendir(q->part[QUEUED]);
	bool claimed = false;

	for (struct dirent *d; dir && !claimed && (d = readdir(dir));) {
		if (!is_key(d->d_name, strlen(d->d_name)))
			continue;
		*out = (struct queue_task){ .copy = *who };
		memcpy(out->copy.key, d->d_name, DIGEST_HEX);

		char *from = key_path(q, QUEUED, out->copy.key);
		char *to = copy_path(q, CLAIMED, &out->copy, "");
		struct job_end broken = { .status = 127,
					  .message = (char *)"its file in the queue "
							     "is damaged" };

		claimed = !rename(from, to);
		free(from);
		free(to);
		if (claimed && !read_task(q, out)) {
			queue_end(q, &out->copy, &broken);
			queue_task_free(out);
			claimed = false;
		}
	}
	if (dir)
		closedir(dir);
	return claimed;
}

void queue_task_free(struct queue_task *t)
{
	json_decref(t->spec);
	free(t->argv);
	free(t->result);
	free(t->log);
	*t = (struct queue_task){ .spec = NULL };
}
