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

#include "util/text.h"

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
	free(j->log);
	free(j->host);
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
		bool runs;
		char *temp, *log;
		int lock; /* the log, locked; -1: none */
	} * started;
	size_t *active; /* which jobs run: p.running of them */
	size_t first;	/* all jobs before this one have begun or ended */
	struct jobs_progress p;
	double begin;
	double done_seconds; /* of all jobs that are done */
	bool stopped;	     /* e says why */
	struct err *e;
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
	r->p.name = r->p.running ? r->jobs[r->active[0]].name : NULL;
	r->p.seconds_left = -1;
	if (r->p.done) {
		size_t left = r->p.total - r->p.cached - r->p.done - r->p.failed;
		double each = r->done_seconds / (double)r->p.done;
		double halves = (double)(r->place->queues ? 0 : r->p.running) / 2;

		/* count a running job as half done */
		r->p.seconds_left = ((double)left - halves) * each / r->parallel;
	}
	if (r->o->progress)
		r->o->progress(r->o->progress_ctx, &r->p);
}

/* Tells the caller that a job has ended. */
static void tell(struct runner *r, const struct job *j, const char *log)
{
	if (r->o->ended && !r->stopped && !r->o->ended(r->o->ended_ctx, j, log, r->e))
		r->stopped = true;
}

static void forget(struct started *s)
{
	if (s->runs && s->lock >= 0)
		close(s->lock);
	free(s->temp);
	free(s->log);
	*s = (struct started){ .runs = false };
}

static void fail(struct runner *r, struct job *j, char *message)
{
	free(j->message);
	j->message = message;
	j->status = JOB_FAILED;
	r->p.failed++;
}

static void start(struct runner *r, size_t i)
{
	struct job *j = &r->jobs[i];
	struct started *s = &r->started[i];
	char *folder = x_asprintf("%s/%.2s", r->dir, j->key);
	char *suffix = x_asprintf(".%ld-%zu", (long)getpid(), i);
	struct err e = { "" };

	s->runs = true;
	s->temp = result_path(r, j, suffix);
	s->log = x_asprintf("%s.log", s->temp);

	struct job_task task = {
		.name = j->name,
		.key = j->key,
		.argv = j->argv,
		.dir = j->dir,
		.input = j->input,
		.result = s->temp,
		.log = s->log,
		.limits = j->limits,
		.expected_seconds = j->expected_seconds,
		.again = r->o->again,
	};

	bool ok = jobs_make_dirs(folder, &e);

	s->lock = -1;
	if (ok && !r->place->queues) {
		remove_abandoned(folder);
		s->lock = open(s->log, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (s->lock >= 0)
			flock(s->lock, LOCK_EX | LOCK_NB);
	}
	if (ok && r->place->start(r->state, &task, i, &e)) {
		r->active[r->p.running++] = i;
	} else {
		unlink(s->log);
		fail(r, j, x_strdup(e.text));
		forget(s);
		tell(r, j, NULL);
	}
	free(folder);
	free(suffix);
}

/* The last line of a log that begins so and says something. */
static char *last_line(const char *log, const char *begin)
{
	FILE *f = fopen(log, "re");
	char line[512], last[512] = "";

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\r\n")] = 0;
		if (*line && !strncmp(line, begin, strlen(begin)))
			snprintf(last, sizeof(last), "%s", line);
	}
	if (f)
		fclose(f);
	return text_shown(!strncmp(last, "culprit: ", 9) ? last + 9 : last);
}

char *jobs_last_line(const char *log)
{
	return last_line(log, "");
}

/* Why there is no result: what `sim` says of itself stands before the summary of the run. */
static char *complaint(const char *log)
{
	char *said = last_line(log, "culprit: sim: ");

	if (*said)
		return said;
	free(said);
	return jobs_last_line(log);
}

/* Why a job counts as failed, in a sentence; NULL: it does not. wrote: it left a valid result. */
static char *why_failed(const struct job *j, const struct job_end *end, bool wrote, const char *log)
{
	const bool right =
	    j->want_status < 0 ? wrote || end->status <= 128 : end->status == j->want_status;
	char *said, *why;

	if (end->over == JOB_OVER_TIME)
		return x_asprintf("ended at its limit of %g s", j->limits.seconds);
	if (end->over == JOB_OVER_MEMORY)
		return x_asprintf("ended at its limit of %.0f MiB of memory",
				  (double)j->limits.memory_bytes / (1 << 20));
	if (end->message)
		return x_strdup(end->message);
	if (right && wrote)
		return NULL;
	said = right ? complaint(log) : jobs_last_line(log);
	if (right)
		why = x_asprintf("wrote no result%s%s", *said ? ": " : "", said);
	else if (end->status > 128)
		why = x_asprintf("signal %d ended it%s%s", end->status - 128, *said ? ": " : "",
				 said);
	else
		why = x_asprintf("ended with status %d instead of %d%s%s", end->status,
				 j->want_status, *said ? ": " : "", said);
	free(said);
	return why;
}

/* Keeps the log of a job that failed beside where its result would be. */
static void keep_log(struct runner *r, struct job *j, const char *log)
{
	char *path = result_path(r, j, ".log");

	if (!rename(log, path)) {
		free(j->log);
		j->log = path;
	} else {
		free(path);
	}
}

static void finish(struct runner *r, struct job_end *end)
{
	struct job *j = &r->jobs[end->id];
	struct started *s = &r->started[end->id];
	const char *temp = end->result ? end->result : s->temp;
	const char *log = end->log ? end->log : s->log;
	char *path = result_path(r, j, "");
	char *why = why_failed(j, end, is_usable(j, temp), log);
	size_t at = 0;

	while (r->active[at] != end->id)
		at++;
	r->active[at] = r->active[--r->p.running];
	j->seconds = end->seconds;
	j->over = end->over;
	j->memory_bytes = end->memory_bytes;
	free(j->host);
	j->host = end->host;
	end->host = NULL;
	if (!why && (make_way(path), rename(temp, path)))
		why = x_asprintf("its result cannot become '%s': %s", path, strerror(errno));
	if (why) {
		if (r->o->keep_logs)
			keep_log(r, j, log);
		fail(r, j, why);
	} else {
		j->status = JOB_DONE;
		free(j->result);
		j->result = path;
		path = NULL;
		r->p.done++;
		r->done_seconds += j->seconds;
	}
	tell(r, j, j->log ? j->log : log);
	if (r->place->taken && !r->stopped)
		r->place->taken(r->state, end->id);
	unlink(temp);
	unlink(log);
	free(path);
	forget(s);
	job_end_free(end);
}

/* Whether a job with the same digest runs: its result will serve this one too. */
static bool twin_runs(const struct runner *r, size_t i)
{
	for (size_t k = 0; k < r->p.running; k++)
		if (!strcmp(r->jobs[r->active[k]].key, r->jobs[i].key))
			return true;
	return false;
}

static bool interrupted(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM);
}

static bool may_begin(const struct runner *r, const struct job *j)
{
	return !j->after || j->after > r->count || r->jobs[j->after - 1].status != JOB_WAITING;
}

/* Starts what can start; returns how many jobs wait for others. */
static size_t start_some(struct runner *r)
{
	const size_t room = r->place->queues ? r->count : r->parallel;
	size_t waiting = 0;

	for (size_t i = r->first; i < r->count && r->p.running < room && !r->stopped; i++) {
		struct job *j = &r->jobs[i];

		if (j->status == JOB_WAITING && !r->started[i].runs) {
			if (twin_runs(r, i) || !may_begin(r, j)) {
				waiting++;
				continue;
			}
			/* another job or another runner may have finished it meanwhile */
			if (take_cached(r, j))
				tell(r, j, NULL);
			else
				start(r, i);
		}
		r->first += i == r->first;
	}
	return waiting + (r->first < r->count);
}

/* True if all jobs have ended one way or another. */
static bool run_all(struct runner *r)
{
	for (;;) {
		const size_t waiting = start_some(r);
		struct job_end end = { .id = 0 };

		show(r);
		if (r->stopped)
			return false;
		if (!waiting && !r->p.running)
			return true;
		if (r->p.running && r->place->wait(r->state, POLL_MS, &end))
			finish(r, &end);
		if (r->place->works && !r->place->works(r->state, r->e))
			r->stopped = true;
		if (interrupted())
			return false;
	}
}

static void stop_all(struct runner *r)
{
	r->place->cancel(r->state);
	while (r->p.running) {
		struct started *s = &r->started[r->active[--r->p.running]];

		unlink(s->temp);
		unlink(s->log);
		forget(s);
	}
}

bool jobs_is_cached(struct job *j, const char *cache_dir)
{
	char *base = cache_dir ? x_strdup(cache_dir) : jobs_cache_dir();
	struct runner r = { .dir = x_asprintf("%s/jobs", base) };
	const bool found = take_cached(&r, j);

	free(r.dir);
	free(base);
	return found;
}

/* Runs what is missing, with SIGINT and SIGTERM blocked. */
static bool run_missing(struct runner *r, const char *cache_dir, struct err *e)
{
	const struct job_place_options po = { .parallel =
						  r->place->queues ? r->o->parallel : r->parallel,
					      .argument = r->o->place_argument,
					      .cache_dir = cache_dir };
	sigset_t stop, before;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, &before);
	r->state = r->place->open(&po, e);

	bool ok = r->state;

	if (ok && !run_all(r)) {
		stop_all(r);
		if (r->o->interrupted && !r->stopped)
			*r->o->interrupted = true;
		ok = r->stopped ? false
				: err_set(e,
					  "interrupted; %zu of %zu results are kept, the same "
					  "command goes on from there",
					  r->p.cached + r->p.done, r->count);
		/* the signal has been acted on: drop it */
		while (interrupted())
			sigtimedwait(&stop, NULL, &(struct timespec){ 0 });
	}
	if (r->state)
		r->place->close(r->state);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ok;
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
			    .active = x_calloc(count ? count : 1, sizeof(*r.active)),
			    .e = e,
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
		if (take_cached(&r, &jobs[i]))
			tell(&r, &jobs[i], NULL);
		else
			missing++;
	}
	ok = ok && !r.stopped;
	if (ok && missing)
		ok = run_missing(&r, base, e);
	free(r.active);
	free(r.started);
	free(r.dir);
	free(base);
	return ok;
}
