/* SPDX-License-Identifier: MIT */
/*
 * Simulates a stored run again with other settings: reads its recipe from a profile store and makes
 * jobs from it.
 */
#ifndef JOBS_RERUN_H
#define JOBS_RERUN_H

#include "jobs/jobs.h"
#include "store/store.h"

struct rerun;

/*
 * Reads the recipe of the run. program: the culprit to call; NULL: this one. cache_dir as in
 * jobs_options; the machine is written there. NULL and e filled if the run cannot be simulated
 * again.
 */
struct rerun *rerun_open(struct store *s, const char *program, const char *cache_dir,
			 struct err *e);
void rerun_close(struct rerun *r);

/*
 * A job that is the same run with the settings ("section.key=value") on top of its machine, without
 * analyses. Its digest covers the recipe's items that are marked DIGEST, the content of files that
 * arguments name or that the run read or loaded, what the folders hold that it listed, the machine,
 * the settings and culprit itself.
 */
struct job rerun_job(const struct rerun *r, const char *name, const char *const *settings,
		     size_t count);

/* What a job changes. */
struct rerun_change {
	const char *const *settings;
	size_t nsettings;
	const char *const *hits; /* misses that are to be hits (trace/hits.h) */
	size_t nhits;
	uint64_t max_insts;	    /* it ends after so many instructions; 0: where the run ended */
	const char *command;	    /* of culprit; NULL: sim */
	const char *machine;	    /* INI file (rerun_keep); NULL: the run's */
	const char *const *options; /* more words of the command line */
	size_t noptions;
	bool restores; /* from a checkpoint that the options name: no program follows them */
	bool is_part;  /* of the run: it may end in any way, if it leaves a result */
	bool (*usable)(
	    const char *path); /* its result is not cycles, but what this accepts, and the
					     options say where it goes; NULL: cycles (rerun_read) */
};
struct job rerun_changed(const struct rerun *r, const char *name, const struct rerun_change *c);

/* Adds all that the run depends on but its machine and culprit itself: what was found out about
 * program and input, and holds for every machine. */
void rerun_digest(const struct rerun *r, struct digest *d);
/* The status with which the run ended; -1: it did not end by itself. */
int rerun_exit_status(const struct rerun *r);
/* Whether a file that the run wrote was there before: a simulation finds it as it is now. */
bool rerun_rewrites(const struct rerun *r);

/* Keeps a text as a file of the cache, named by its content and the suffix; if that begins with a
 * slash, it is a file in a folder so named. Its path; NULL: e says why not. The caller frees. */
char *rerun_keep(const char *cache_dir, const char *folder, const char *suffix, const void *data,
		 size_t bytes, struct err *e);

/* The points of a run that was sampled: each is simulated in place of the run. 0: it was simulated whole. */
size_t rerun_points(const struct rerun *r);
/* The same job for one point. */
struct job rerun_at_point(const struct rerun *r, const struct job *whole, size_t point);

/* What is known to have changed since the run, in words: names in a folder that it lists, an
 * input that was not kept. NULL: nothing. */
const char *rerun_changes(const struct rerun *r);

/* Whether the run was measured only in regions (--start, --stop); its jobs are too then. */
bool rerun_regions(const struct rerun *r);

/* The result of such a job. */
struct rerun_result {
	uint64_t cycles;     /* in regions, if there are any */
	uint64_t run_cycles; /* of the whole run */
};
bool rerun_read(const struct job *j, struct rerun_result *out, struct err *e);

#endif
