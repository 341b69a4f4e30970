/* SPDX-License-Identifier: MIT */
/*
 * Runs many jobs in parallel, each at most once: a job's result is one file, kept in a cache under
 * a digest of everything that it depends on. A job whose result is there does not run again, so a
 * second call is instant, and a call that was interrupted continues where it stopped. If a job
 * fails, the others go on.
 */
#ifndef JOBS_JOBS_H
#define JOBS_JOBS_H

#include "util/digest.h"
#include "jobs/place.h"
#include "util/util.h"

enum job_status {
	JOB_WAITING, /* has not run: the runner was interrupted */
	JOB_CACHED,  /* its result was there */
	JOB_DONE,
	JOB_FAILED,
};

/* Its strings are allocated; see job_free. */
struct job {
	char *name;  /* in words */
	char **argv; /* NULL-terminated */
	char *dir;   /* working directory; NULL: this one */
	char *input; /* standard input; NULL: empty */
	char key[DIGEST_HEX];
	int want_status; /* exit status of a job that went well; -1: any */
	/* Whether a file is a valid result; any other counts as absent. NULL: any file that is
	 * not empty is. */
	bool (*usable)(const char *path);
	struct job_limits limits;
	double expected_seconds; /* 0: not known */
	size_t after;		 /* 1 + index of a job that must have ended before it; 0: none */

	/* filled in by jobs_run */
	enum job_status status;
	char *result;  /* path of its result, if CACHED or DONE */
	char *message; /* if FAILED: what went wrong, in a sentence */
	char *log;     /* if FAILED, with jobs_options.keep_logs: what it wrote */
	double seconds;
	enum job_over over;
	uint64_t memory_bytes; /* 0: not known */
	char *host;	       /* NULL: it has not run */
};

void job_free(struct job *j);

/* How far the runner is. */
struct jobs_progress {
	size_t total, cached, done, failed, running;
	double seconds;	     /* since it began */
	double seconds_left; /* estimated from the jobs that have ended; negative: not known */
	const char *name;    /* a job that runs now, or NULL */
};

struct jobs_options {
	unsigned parallel;	       /* jobs at a time; 0: as many as there are processors */
	const char *cache_dir;	       /* NULL: jobs_cache_dir */
	const struct job_place *place; /* NULL: local */
	const char *place_argument;    /* of job_place_find */
	bool again;		       /* run also what is in the cache */
	bool keep_logs;		       /* of jobs that fail */
	/* Called when a job has ended or its result was found; log: what it wrote, a file that is
	 * gone after the call unless it is kept; NULL: it has not run. May be NULL. False and e
	 * filled: stop everything. */
	bool (*ended)(void *ctx, const struct job *j, const char *log, struct err *e);
	void *ended_ctx;
	bool *interrupted; /* true afterwards if SIGINT or SIGTERM ended the runs; may be NULL */
	/* Called when a job begins or ends, and ten times a second; may be NULL. */
	void (*progress)(void *ctx, const struct jobs_progress *p);
	void *progress_ctx;
};

/*
 * Runs the jobs whose results are not in the cache. True if all have ended, even if some failed:
 * see their status. False and e filled if the cache cannot be used or SIGINT or SIGTERM came;
 * results so far are kept.
 */
bool jobs_run(struct job *jobs, size_t count, const struct jobs_options *o, struct err *e);

/* Whether the job's result is in the cache; sets its status and result as jobs_run does. */
bool jobs_is_cached(struct job *j, const char *cache_dir);
/* The last line of a log that says something, without "culprit: ", safe to show; "": there is none.
 * The caller frees. */
char *jobs_last_line(const char *log);

/* $CULPRIT_CACHE, $XDG_CACHE_HOME/culprit or ~/.cache/culprit. The caller frees. */
char *jobs_cache_dir(void);
/* Makes a folder of the cache and its parents. */
bool jobs_make_dirs(const char *path, struct err *e);

/* jobs_options.progress for a terminal: one line on standard error, or nothing if that is no
 * terminal. ctx is a struct jobs_line, zeroed at first. */
struct jobs_line {
	double shown; /* when the line was last written, in seconds */
	int used;     /* columns that the line takes */
	bool is_tty, asked;
};
void jobs_line_show(void *ctx, const struct jobs_progress *p);
/* Erases the line. */
void jobs_line_end(struct jobs_line *l);

#endif
