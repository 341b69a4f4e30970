/* SPDX-License-Identifier: MIT */
/*
 * culprit spectrum --verify N: simulates the run twice more for each of N clusters, with the
 * cluster's misses as hits: to the end of the cluster's recovery, and to the end of the run.
 */
#include "cmd/spectrum_verify.h"

#include <inttypes.h>
#include <stdlib.h>

#define HITS_A_WORD                                                                                \
	512 /* misses in one argument: a program's arguments have at most 128 KiB each */

static struct job job_of(const struct rerun *r, struct store *s, const struct spectrum_cluster *c,
			 uint64_t max_insts)
{
	struct err e;
	size_t count, words = 0;
	struct hit *hits = spectrum_read_hits(s, c->id, &count, &e);
	char **text = x_calloc(count / HITS_A_WORD + 1, sizeof(*text)), name[64];

	for (size_t at = 0; hits && at < count; at += HITS_A_WORD)
		text[words++] = hits_text(hits + at, min_u64(count - at, HITS_A_WORD));
	snprintf(name, sizeof(name), "cluster of cycle %" PRIu64, c->begin);

	const struct rerun_change change = { .hits = (const char *const *)text,
					     .nhits = words,
					     .max_insts = max_insts };
	struct job j = rerun_changed(r, name, &change);

	for (size_t i = 0; i < words; i++)
		free(text[i]);
	free(text);
	free(hits);
	return j;
}

/* The unchanged run, the run without each cluster's misses, and the same up to the end of its
 * recovery. */
static bool simulate(struct store *s, const struct rerun *r, const struct simulating *o,
		     struct spectrum_verify *v, size_t *failed, struct err *e)
{
	const size_t n = v->count;
	struct job *jobs = x_calloc(2 * n + 1, sizeof(*jobs)), *parts = jobs + n + 1;
	struct simulating_found found;

	jobs[0] = simulating_itself(r);
	for (size_t i = 0; i < n; i++) {
		jobs[i + 1] = job_of(r, s, &v->cluster[i], 0);
		parts[i] = job_of(r, s, &v->cluster[i], v->cluster[i].last);
	}

	const bool ok = simulating_run("spectrum", s, r, o, jobs, 2 * n + 1, jobs, &found, e);

	*failed += found.failed;
	for (size_t i = 0; ok && found.repeats && i < n; i++) {
		struct spectrum_cluster *c = &v->cluster[i];
		struct rerun_result part;
		struct err why;
		double cycles;

		c->simulated = simulating_cycles(&jobs[i + 1], &cycles) &&
			       parts[i].status != JOB_FAILED && rerun_read(&parts[i], &part, &why);
		if (!c->simulated)
			continue;
		c->in_the_end = (int64_t)(found.cycles - cycles);
		c->saved = (int64_t)(c->last_commit - part.run_cycles);
	}
	for (size_t i = 0; i < 2 * n + 1; i++)
		job_free(&jobs[i]);
	free(jobs);
	return ok;
}

bool spectrum_verify(struct store *s, const struct simulating *o, struct spectrum_verify *v,
		     size_t *failed, struct err *e)
{
	struct rerun *r = rerun_open(s, o->simulator, o->cache, e);
	const bool ok = r && simulate(s, r, o, v, failed, e);

	rerun_close(r);
	return ok;
}
