/* SPDX-License-Identifier: MIT */
/*
 * culprit spectrum --verify N: simulates the run twice more for each of N clusters, with the
 * cluster's misses as hits: to the end of the cluster's recovery, and to the end of the run.
 *
 * culprit spectrum --compare --multisim: simulates it without the misses of each load, without any
 * data miss, and as the stacks of `culprit stack` need it.
 */
#include "cmd/spectrum_verify.h"

#include "cmd/stack_reference.h"

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

static void run_loads(struct store *s, const struct rerun *r, const struct simulating *o,
		      struct spectrum_compare *c, size_t *failed, bool *ok, struct err *e)
{
	const size_t n = c->nloads;
	struct job *jobs = x_calloc(n + 2, sizeof(*jobs));
	const char *const every[] = { "ideal.dmiss=on" };
	struct simulating_found found;
	double cycles;

	jobs[0] = simulating_itself(r);
	jobs[1] = rerun_job(r, "dmiss", every, 1);
	for (size_t i = 0; i < n; i++) {
		char text[48];
		const char *const settings[] = { text };

		snprintf(text, sizeof(text), "ideal.dmiss=0x%" PRIx64, c->loads[i].pc);
		jobs[i + 2] = rerun_job(r, c->loads[i].place, settings, 1);
	}
	*ok = simulating_run("spectrum", s, r, o, jobs, n + 2, jobs, &found, e);
	*failed += found.failed;
	for (size_t i = 0; *ok && found.repeats && i <= n; i++) {
		if (!simulating_cycles(&jobs[i + 1], &cycles))
			continue;
		if (i) {
			c->loads[i - 1].simulated = true;
			c->loads[i - 1].saved = found.cycles - cycles;
		} else {
			spectrum_compare_simulated(c, "multisim", "simulated without data misses",
						   found.cycles - cycles);
		}
	}
	for (size_t i = 0; i < n + 2; i++)
		job_free(&jobs[i]);
	free(jobs);
}

bool spectrum_multisim(struct store *s, const struct simulating *o, struct spectrum_compare *c,
		       size_t *failed, struct err *e)
{
	static const char *const keys[] = { "stack", "stack_reversed" };
	struct stack_reference stacks[STACK_REFERENCES];
	size_t count = 0;
	struct rerun *r = rerun_open(s, o->simulator, o->cache, e);
	bool ok = r;

	if (ok)
		run_loads(s, r, o, c, failed, &ok, e);
	rerun_close(r);
	ok = ok && stack_reference_make(s, o, stacks, &count, e);
	*failed += ok && count < STACK_REFERENCES;
	for (size_t i = 0; ok && i < count; i++) {
		spectrum_compare_simulated(c, keys[i],
					   i ? "simulated stack, other order: L1D + L2D"
					     : "simulated stack: L1D + L2D",
					   stacks[i].cycles[CPI_L1D] + stacks[i].cycles[CPI_L2D]);
	}
	return ok;
}
