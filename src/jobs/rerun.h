/* SPDX-License-Identifier: MIT */
/*
 * A stored run, to be simulated again with other settings: what `culprit sim` was called with, read
 * from a profile store, and jobs made from it.
 */
#ifndef JOBS_RERUN_H
#define JOBS_RERUN_H

#include "jobs/jobs.h"
#include "store/store.h"

struct rerun;

/*
 * Reads how the run came about. program: the culprit to call; NULL: this one. cache_dir as in
 * jobs_options; the machine is written there. NULL and e filled if the store does not say (it came
 * from a trace, or from an older version) or the program is no longer what it was.
 */
struct rerun *rerun_open(struct store *s, const char *program, const char *cache_dir,
			 struct err *e);
void rerun_close(struct rerun *r);

/*
 * The same run with the settings ("section.key=value") on top of its machine, nothing analysed. The
 * job's digest covers program, arguments, files that they name or that were read, images loaded,
 * environment, folder, standard streams and what is in them, folders that were listed, machine,
 * settings and culprit itself.
 */
struct job rerun_job(const struct rerun *r, const char *name, const char *const *settings,
		     size_t count);

/* What is known not to be as it was when the run was made, in words: a folder that it lists and
 * what appeared there, an input that was not kept. NULL: nothing. */
const char *rerun_changes(const struct rerun *r);

/* If the run was looked at only in regions (--start, --stop); then so are the jobs'. */
bool rerun_regions(const struct rerun *r);

/* What such a job found. */
struct rerun_result {
	uint64_t cycles;     /* in regions, if there are any */
	uint64_t run_cycles; /* of the whole run */
};
bool rerun_read(const struct job *j, struct rerun_result *out, struct err *e);

#endif
