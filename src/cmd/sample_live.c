/* SPDX-License-Identifier: MIT */
/*
 * culprit sample --method systematic --live-points: one warming pass saves the process and what the core has
 * learnt before each unit (checkpoint --with-core). Then every unit is a job of its own, in random order: the
 * mean of those that are there is an estimate of the run at any time, with an interval. Measuring ends when
 * that is narrow enough, or when a signal comes.
 *
 * A unit from a live-point takes the very cycles of one that all before it warmed, so their results are kept
 * under the same digest. Where the process cannot be saved, a unit warms up from the program's start.
 *
 * Jobs that run beside each other end in their own order. Only the last few before the end are a choice by
 * duration, as many as run at a time.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/sample.h"

/* Fewer say too little of their variance to stop. */
#define UNITS_LEAST 30

struct live {
	struct sample *s;
	struct running r;
	struct job *jobs;
	size_t *order; /* of each job: its point */
	uint64_t population;
	struct jobs_line line;
	bool enough, interrupted;
};

static bool measured(const struct job *j)
{
	return j->status == JOB_DONE || j->status == JOB_CACHED;
}

/* jobs_options.ended */
static bool take(void *ctx, const struct job *j, const char *log, struct err *e)
{
	struct live *l = ctx;
	struct sample_point *p = &l->s->points[l->order[j - l->jobs]];
	struct estimate cpi;

	(void)log;
	if (!measured(j))
		return true; /* it is named at the end */
	p->job.result = j->result;
	if (!sample_read_point(p, e))
		return false;
	running_add(&l->r, (double)p->cycles / (double)p->length);
	cpi = running_estimate(&l->r, l->s->confidence, l->population);
	l->enough = l->r.count >= UNITS_LEAST && cpi.has_error &&
		    estimate_relative_error(&cpi) <= l->s->error;
	return !l->enough || err_set(e, "the error is as wanted");
}

/* jobs_options.progress: the estimate so far. */
static void show(void *ctx, const struct jobs_progress *p)
{
	struct live *l = ctx;
	const struct estimate cpi = running_estimate(&l->r, l->s->confidence, l->population);

	if (!isatty(STDERR_FILENO) || !cpi.has_error ||
	    (l->line.used && p->seconds - l->line.shown < 0.2))
		return;
	l->line.shown = p->seconds;
	l->line.used = fprintf(stderr, "\r%llu of %zu units, CPI %.3f ±%.2f%%\033[K",
			       (unsigned long long)l->r.count, p->total, cpi.value,
			       100 * estimate_relative_error(&cpi));
	fflush(stderr);
}

/* Live-points for the units that are not measured yet. */
static bool save(struct live *l, struct err *e)
{
	struct sample *s = l->s;
	uint64_t *at = x_calloc(s->npoints, sizeof(*at));
	size_t missing = 0;
	bool ok;

	for (size_t i = 0; i < s->npoints; i++) {
		const struct sample_point *p = &s->points[l->order[i]];

		if (s->o->again || !jobs_is_cached(&l->jobs[i], s->cache))
			at[missing++] = p->start - min_u64(p->start, s->o->settle);
	}
	ok = !missing || sample_save(s, at, missing, e);
	free(at);
	return ok;
}

/* Begins each unit at its live-point, if it has one. */
static void take_ways(struct live *l)
{
	for (size_t i = 0; i < l->s->npoints; i++) {
		const struct sample_point *p = &l->s->points[l->order[i]];
		const uint64_t at = p->start - min_u64(p->start, l->s->o->settle);
		char *path = sample_saved_path(l->s, at);

		if (at && !access(path, R_OK)) {
			struct job j = sample_point_job(l->s, p, path, at);

			memcpy(j.key, l->jobs[i].key, sizeof(j.key));
			job_free(&l->jobs[i]);
			l->jobs[i] = j;
		}
		free(path);
	}
}

/* Leaves the points that were measured, each with its job. */
static bool keep_measured(struct live *l, struct err *e)
{
	struct sample *s = l->s;
	struct sample_point *kept = x_calloc(s->npoints + 1, sizeof(*kept));
	size_t n = 0;
	bool ok = true;

	for (size_t i = 0; i < s->npoints; i++) {
		struct sample_point *p = &s->points[l->order[i]];

		if (ok && l->jobs[i].status == JOB_FAILED)
			ok = err_set(e, "%s was not simulated: %s", l->jobs[i].name,
				     l->jobs[i].message);
		if (!measured(&l->jobs[i]) || !p->cycles) {
			job_free(&l->jobs[i]);
			continue;
		}
		p->job = l->jobs[i];
		p->has_bracket = true;
		p->low_cycles = p->high_cycles = (double)p->cycles;
		kept[n++] = *p;
	}
	free(s->points);
	s->points = kept;
	s->npoints = n;
	return ok;
}

bool sample_live(struct sample *s, struct err *e)
{
	struct live l = { .s = s,
			  .jobs = x_calloc(s->npoints, sizeof(*l.jobs)),
			  .order = x_calloc(s->npoints, sizeof(*l.order)),
			  .population = s->total / s->o->unit };
	const struct jobs_options jo = { .parallel = (unsigned)s->o->jobs,
					 .cache_dir = s->cache,
					 .place = s->place,
					 .place_argument = s->place_argument,
					 .again = s->o->again,
					 .ended = take,
					 .ended_ctx = &l,
					 .interrupted = &l.interrupted,
					 .progress = show,
					 .progress_ctx = &l };
	bool ok;

	random_order(s->o->seed, l.order, s->npoints);
	for (size_t i = 0; i < s->npoints; i++)
		l.jobs[i] = sample_point_job(s, &s->points[l.order[i]], NULL, 0);
	ok = save(&l, e);
	if (ok) {
		take_ways(&l);
		ok = jobs_run(l.jobs, s->npoints, &jo, e);
		jobs_line_end(&l.line);
	}
	s->cut_short = !ok && l.interrupted && l.r.count >= 2;
	ok = ok || l.enough || s->cut_short;
	for (size_t i = 0; i < s->npoints; i++)
		s->points[i].job = (struct job){ .name = NULL };
	ok = keep_measured(&l, ok ? e : &(struct err){ "" }) && ok;
	free(l.jobs);
	free(l.order);
	return ok;
}
