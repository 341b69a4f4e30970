/* SPDX-License-Identifier: MIT */
/*
 * The runner: looks into the cache, starts the jobs whose results are missing, and collects those
 * that end.
 *
 * A job writes its result under a temporary name in the same folder; it is renamed when the job has
 * ended well. So a file under its digest is whole, however many runners share the cache and
 * whenever they are stopped. SIGINT and SIGTERM are blocked while jobs run and polled between
 * waits.
 */
#include "jobs/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 100

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void free_list(char **list)
{
	for (char **a = list; a && *a; a++)
		free(*a);
	free(list);
}

void job_free(struct job *j)
{
	free_list(j->argv);
	free(j->name);
	free(j->dir);
	free(j->input);
	free(j->result);
	free(j->message);
	*j = (struct job){ .name = NULL };
}

char *jobs_cache_dir(void)
{
	return path_cache();
}

bool jobs_make_dirs(const char *path, struct err *e)
{
	char *copy = x_strdup(path);
	bool ok = true;

	for (char *p = copy + 1; ok && *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		ok = !mkdir(copy, 0777) || errno == EEXIST || errno == EISDIR || errno == EROFS;
		*p = '/';
	}
	ok = ok && (!mkdir(copy, 0777) || errno == EEXIST);
	if (!ok)
		err_set(e, "cannot make the cache folder '%s': %s; set CULPRIT_CACHE to another",
			path, strerror(errno));
	free(copy);
	return ok;
}

/* One call of jobs_run. */
struct runner {
	struct job *jobs;
	size_t count;
	const struct jobs_options *o;
	const struct job_place *place;
	void *state; /* of place */
	unsigned parallel;
	char *dir;
	struct started {
		char **argv; /* with the result's name filled in; NULL: the job is not running */
		char *temp, *log;
		int lock; /* the log, locked; -1: none */
		double since;
	} * started;
	struct jobs_progress p;
	double begin;
};

static char *result_path(const struct runner *r, const struct job *j, const char *suffix)
{
	return x_asprintf("%s/%.2s/%s%s", r->dir, j->key, j->key + 2, suffix);
}

/* A file of the cache may have become anything: truncated, empty, somebody else's, no file at
 * all. */
static bool is_usable(const struct job *j, const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_size && !access(path, R_OK) &&
	       (!j->usable || j->usable(path));
}

static bool take_cached(struct runner *r, struct job *j)
{
	char *path = result_path(r, j, "");

	if (!is_usable(j, path)) {
		free(path);
		return false;
	}
	free(j->result);
	j->result = path;
	j->status = JOB_CACHED;
	r->p.cached++;
	return true;
}

/* Moves a folder out of the way of a new result, which can only replace a file. */
static void make_way(const char *path)
{
	struct stat st;
	char *aside;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || !rmdir(path))
		return;
	aside = x_asprintf("%s.not-a-result", path);
	rename(path, aside);
	free(aside);
}

/* The name of the log that belongs to a temporary file, KEY.PID-NUMBER with any suffix. NULL: it
 * is not a temporary file. The caller frees. */
static char *log_of(const char *entry)
{
	size_t key = strspn(entry, "0123456789abcdef"), pid, number;

	if (key != DIGEST_HEX - 3 || entry[key] != '.')
		return NULL;
	pid = strspn(entry + key + 1, "0123456789");
	if (!pid || entry[key + 1 + pid] != '-')
		return NULL;
	number = strspn(entry + key + 1 + pid + 1, "0123456789");
	if (!number)
		return NULL;
	return x_asprintf("%.*s.log", (int)(key + 1 + pid + 1 + number), entry);
}

/* Removes the temporary files of runners that were killed. A runner holds a lock on the log of
 * each of its jobs; where nobody holds it, the file will never become a result. */
static void remove_abandoned(const char *folder)
{
	DIR *dir = opendir(folder);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		char *log = log_of(d->d_name);
		int fd =
		    log ? openat(dirfd(dir), log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
			: -1;

		if (log && (fd >= 0 ? !flock(fd, LOCK_EX | LOCK_NB) : errno == ENOENT))
			unlinkat(dirfd(dir), d->d_name, 0);
		if (fd >= 0)
			close(fd);
		free(log);
	}
	if (dir)
		closedir(dir);
}

static void show(struct runner *r)
{
	r->p.seconds = now_seconds() - r->begin;
	r->p.name = NULL;
	double sum = 0;
	for (size_t i = 0; i < r->count; i++) {
		if (r->started[i].argv && !r->p.name)
			r->p.name = r->jobs[i].name;
		if (r->jobs[i].status == JOB_DONE)
			sum += r->jobs[i].seconds;
	}
	r->p.seconds_left = -1;
	if (r->p.done) {
		size_t left = r->p.total - r->p.cached - r->p.done - r->p.failed;
		double each = sum / (double)r->p.done;

		/* count a running job as half done */
		r->p.seconds_left = ((double)left - (double)r->p.running / 2) * each / r->parallel;
	}
	if (r->o->progress)
		r->o->progress(r->o->progress_ctx, &r->p);
}

static void forget(struct started *s)
{
	if (s->argv && s->lock >= 0)
		close(s->lock);
	free_list(s->argv);
	free(s->temp);
	free(s->log);
	*s = (struct started){ .argv = NULL };
}

static void fail(struct runner *r, struct job *j, char *message)
{
	free(j->message);
	j->message = message;
	j->status = JOB_FAILED;
	r->p.failed++;
}

static char *replace(const char *word, const char *with)
{
	const char *at = strstr(word, JOB_RESULT);

	return at ? x_asprintf("%.*s%s%s", (int)(at - word), word, with, at + strlen(JOB_RESULT))
		  : x_strdup(word);
}

static void start(struct runner *r, size_t i)
{
	struct job *j = &r->jobs[i];
	struct started *s = &r->started[i];
	char *folder = x_asprintf("%s/%.2s", r->dir, j->key);
	char *suffix = x_asprintf(".%ld-%zu", (long)getpid(), i);
	struct err e = { "" };
	size_t n = 0;

	while (j->argv[n])
		n++;
	s->temp = result_path(r, j, suffix);
	s->log = x_asprintf("%s.log", s->temp);
	s->argv = x_calloc(n + 1, sizeof(*s->argv));
	for (size_t k = 0; k < n; k++)
		s->argv[k] = replace(j->argv[k], s->temp);
	s->since = now_seconds();

	struct job_task task = {
		.name = j->name,
		.argv = s->argv,
		.dir = j->dir,
		.input = j->input,
		.log = s->log,
	};

	bool ok = jobs_make_dirs(folder, &e);

	s->lock = -1;
	if (ok) {
		remove_abandoned(folder);
		s->lock = open(s->log, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (s->lock >= 0)
			flock(s->lock, LOCK_EX | LOCK_NB);
	}
	if (ok && r->place->start(r->state, &task, i, &e)) {
		r->p.running++;
	} else {
		unlink(s->log);
		fail(r, j, x_strdup(e.text));
		forget(s);
	}
	free(folder);
	free(suffix);
}

/* The last line that the job wrote, without "culprit: "; the caller frees. */
static char *last_line(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512], last[512] = "";

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\r\n")] = 0;
		if (*line)
			snprintf(last, sizeof(last), "%s", line);
	}
	if (f)
		fclose(f);
	return x_strdup(!strncmp(last, "culprit: ", 9) ? last + 9 : last);
}

static void finish(struct runner *r, const struct job_end *end)
{
	struct job *j = &r->jobs[end->id];
	struct started *s = &r->started[end->id];
	char *path = result_path(r, j, "");
	bool wrote = is_usable(j, s->temp);

	r->p.running--;
	j->seconds = now_seconds() - s->since;
	if (j->want_status >= 0 && end->status != j->want_status) {
		char *said = last_line(s->log);

		fail(r, j,
		     end->status > 128
			 ? x_asprintf("signal %d ended it%s%s", end->status - 128,
				      *said ? ": " : "", said)
			 : x_asprintf("ended with status %d instead of %d%s%s", end->status,
				      j->want_status, *said ? ": " : "", said));
		free(said);
	} else if (!wrote) {
		char *said = last_line(s->log);

		fail(r, j, x_asprintf("wrote no result%s%s", *said ? ": " : "", said));
		free(said);
	} else if (make_way(path), rename(s->temp, path)) {
		fail(r, j, x_asprintf("its result cannot become '%s': %s", path, strerror(errno)));
	} else {
		j->status = JOB_DONE;
		free(j->result);
		j->result = path;
		path = NULL;
		r->p.done++;
	}
	unlink(s->temp);
	unlink(s->log);
	free(path);
	forget(s);
}

/* Whether a job with the same digest runs: its result will serve this one too. */
static bool twin_runs(const struct runner *r, size_t i)
{
	for (size_t k = 0; k < r->count; k++)
		if (r->started[k].argv && !strcmp(r->jobs[k].key, r->jobs[i].key))
			return true;
	return false;
}

static bool interrupted(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM);
}

/* True if all jobs have ended one way or another. */
static bool run_all(struct runner *r)
{
	for (;;) {
		size_t waiting = 0;

		for (size_t i = 0; i < r->count; i++) {
			struct job *j = &r->jobs[i];

			if (j->status != JOB_WAITING || r->started[i].argv)
				continue;
			waiting++;
			if (r->p.running >= r->parallel || twin_runs(r, i))
				continue;
			/* another job or another runner may have finished it meanwhile */
			if (take_cached(r, j))
				continue;
			start(r, i);
		}
		show(r);
		if (!waiting && !r->p.running)
			return true;

		struct job_end end;

		if (r->p.running && r->place->wait(r->state, POLL_MS, &end))
			finish(r, &end);
		if (interrupted())
			return false;
	}
}

static void stop_all(struct runner *r)
{
	r->place->cancel(r->state);
	for (size_t i = 0; i < r->count; i++) {
		if (!r->started[i].argv)
			continue;
		unlink(r->started[i].temp);
		unlink(r->started[i].log);
		forget(&r->started[i]);
	}
}

bool jobs_run(struct job *jobs, size_t count, const struct jobs_options *o, struct err *e)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	char *base = o->cache_dir ? x_strdup(o->cache_dir) : jobs_cache_dir();
	struct runner r = { .jobs = jobs,
			    .count = count,
			    .o = o,
			    .place = o->place ? o->place : &job_place_local,
			    .parallel = o->parallel	 ? o->parallel
					: processors > 0 ? (unsigned)processors
							 : 1,
			    .dir = x_asprintf("%s/jobs", base),
			    .started = x_calloc(count ? count : 1, sizeof(*r.started)),
			    .p = { .total = count },
			    .begin = now_seconds() };
	bool ok = jobs_make_dirs(r.dir, e);
	size_t missing = 0;

	for (size_t i = 0; ok && i < count; i++) {
		jobs[i].status = JOB_WAITING;
		if (o->again) {
			char *path = result_path(&r, &jobs[i], "");

			unlink(path);
			free(path);
		}
		missing += !take_cached(&r, &jobs[i]);
	}
	if (ok && missing) {
		sigset_t stop, before;

		sigemptyset(&stop);
		sigaddset(&stop, SIGINT);
		sigaddset(&stop, SIGTERM);
		sigprocmask(SIG_BLOCK, &stop, &before);
		r.state = r.place->open(r.parallel, e);
		ok = r.state;
		if (ok && !run_all(&r)) {
			stop_all(&r);
			ok = err_set(e,
				     "interrupted; %zu of %zu results are kept, the same command "
				     "goes on from there",
				     r.p.cached + r.p.done, count);
			/* the signal has been acted on: drop it */
			while (interrupted())
				sigtimedwait(&stop, NULL, &(struct timespec){ 0 });
		}
		if (r.state)
			r.place->close(r.state);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	free(r.started);
	free(r.dir);
	free(base);
	return ok;
}
