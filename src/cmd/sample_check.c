/* SPDX-License-Identifier: MIT */
/*
 * culprit sample: what a warm-up of the usual length leaves. A few points are simulated a second time, for their
 * cycles alone, after a warm-up SAMPLE_CHECK_TIMES as long, of which the end is timed: what functional warming
 * cannot know (wrong paths, late prefetches, open rows) has been there, too. How much the cycles differ is a sample of
 * the warm-up's error.
 *
 * If the difference is more than chance and matters, all points warm up so much longer, once, unless the length was
 * asked for. If it matters even then, the checks alone warm up longer and longer, until it no longer does. What is
 * left goes into the error of every point: all differences, and the last one again, for what is beyond the longest
 * warm-up; and on both sides by how much the mean of so few differences is uncertain.
 *
 * Checks lie at equal shares of the instructions that points stand for, so that large clusters have most. They run beside
 * the points, and begin at checkpoints of the same pass.
 */
#include <math.h>
#include <stdlib.h>

#include "campaign/result.h"
#include "cmd/sample.h"

#define USUAL_SPREAD 0.003 /* of differences: what it is in most programs */

/* Its warm-up is all that precedes. */
static bool begins_at_start(const struct sample *s, const struct sample_point *p)
{
	uint64_t settle, warm;

	return sample_approach(s, p, &settle, &warm) == 0;
}

/* The points that are checked, and their cycles. */
struct checks {
	size_t count;
	size_t point[SAMPLE_CHECKS]; /* as their numbers */
	double cycles[SAMPLE_CHECKS], longer[SAMPLE_CHECKS];
	uint64_t times;	     /* of the points' warm-up, for `longer` */
	double mean, unsure; /* relative difference of all cycles, and how uncertain it is */
};

static void choose_checked(const struct sample *s, struct checks *c)
{
	double *share = x_calloc(s->npoints, sizeof(*share)), all = 0, sum = 0;

	*c = (struct checks){ .times = SAMPLE_CHECK_TIMES };
	for (size_t i = 0; i < s->npoints; i++) {
		const uint32_t of = s->points[i].cluster;

		if (!begins_at_start(s, &s->points[i]))
			share[i] = s->clusters[of].weight / (double)s->npoints_of[of];
		all += share[i];
	}
	for (size_t i = 0; i < s->npoints && c->count < SAMPLE_CHECKS; i++) {
		sum += share[i];
		/* Of several that one heavy point would be, it is one. */
		if (share[i] > 0 && sum >= all * ((double)c->count + 0.5) / SAMPLE_CHECKS)
			c->point[c->count++] = i;
	}
	free(share);
}

static bool read_check(const struct sample_point *p, double *cycles, struct err *e)
{
	struct result r;

	if (!result_read(p->job.result, &r, e))
		return false;
	*cycles = (double)r.cycles;
	return r.instructions == p->length ||
	       err_set(e, "the interval at instruction %llu has other instructions than before",
		       (unsigned long long)p->start);
}

/* By how much the longer warm-up differs from `before`. */
static void find_difference(struct checks *c, const double *before)
{
	double squares = 0, longer = 0, sum = 0;

	for (size_t i = 0; i < c->count; i++) {
		longer += c->longer[i];
		sum += before[i];
	}
	c->mean = longer / sum - 1;
	for (size_t i = 0; i < c->count; i++) {
		const double rest =
		    (c->longer[i] - (1 + c->mean) * before[i]) * (double)c->count / sum;

		squares += rest * rest;
	}
	/* The usual spread counts as much as two differences. */
	c->unsure = sqrt((squares + 2 * USUAL_SPREAD * USUAL_SPREAD) / (double)(c->count + 1) /
			 (double)c->count);
}

/* Whether it is more than chance (so many times as large as it is uncertain), and more than does not matter. */
static bool matters(const struct sample *s, const struct checks *c, double times)
{
	const double most =
	    s->error > 0 ? fmin(s->error / 2, SAMPLE_AUTO_ERROR) : SAMPLE_AUTO_ERROR;

	return fabs(c->mean) > times * c->unsure && 2 * fabs(c->mean) > most;
}

static struct sample_point check_of(const struct sample *s, const struct checks *c, size_t i)
{
	struct sample_point p = s->points[c->point[i]];

	p.job = (struct job){ .name = NULL };
	p.is_check = true;
	p.warm *= c->times;
	return p;
}

/* Points and checks in one go, since both may need the pass that makes checkpoints. */
static bool run_both(struct sample *s, struct checks *c, bool *sequence, struct err *e)
{
	struct sample_point *all = x_calloc(s->npoints + c->count, sizeof(*all));
	bool ok;

	for (size_t i = 0; i < s->npoints; i++)
		all[i] = s->points[i];
	for (size_t i = 0; i < c->count; i++)
		all[s->npoints + i] = check_of(s, c, i);
	ok = sample_run(s, all, s->npoints + c->count, sequence, e);
	for (size_t i = 0; i < s->npoints; i++)
		s->points[i] = all[i];
	for (size_t i = 0; ok && !*sequence && i < c->count; i++) {
		struct sample_point *p = &s->points[c->point[i]];

		ok = sample_read_point(p, e) && read_check(&all[s->npoints + i], &c->longer[i], e);
		c->cycles[i] = (double)p->cycles;
	}
	for (size_t i = 0; i < c->count; i++)
		job_free(&all[s->npoints + i].job);
	free(all);
	if (ok && !*sequence && c->count)
		find_difference(c, c->cycles);
	return ok;
}

/* All points warm up longer, if that has not been asked for otherwise. */
static bool warm_longer(struct sample *s)
{
	if (s->o->warm || s->warm_is_longer)
		return false;
	s->warm_is_longer = true;
	s->warm *= SAMPLE_CHECK_TIMES;
	for (size_t i = 0; i < s->npoints; i++) {
		s->points[i].warm = s->warm;
		job_free(&s->points[i].job);
	}
	return true;
}

/* The checks warm up longer, until that does not matter. *again: it cannot be longer than all that precedes. */
static bool check_longer(struct sample *s, struct checks *c, bool *again, struct err *e)
{
	struct sample_point p[SAMPLE_CHECKS];
	double before[SAMPLE_CHECKS];
	bool sequence = false, ok;

	*again = false;
	for (size_t i = 0; i < c->count; i++) {
		before[i] = c->longer[i];
		p[i] = check_of(s, c, i);
		*again = *again || !begins_at_start(s, &p[i]);
	}
	if (!*again)
		return true;
	c->times *= SAMPLE_CHECK_TIMES;
	for (size_t i = 0; i < c->count; i++)
		p[i] = check_of(s, c, i);
	ok = sample_run(s, p, c->count, &sequence, e);
	for (size_t i = 0; ok && !sequence && i < c->count; i++)
		ok = read_check(&p[i], &c->longer[i], e);
	for (size_t i = 0; i < c->count; i++)
		job_free(&p[i].job);
	find_difference(c, before);
	*again = !sequence;
	return ok;
}

bool sample_run_checked(struct sample *s, bool *sequence, struct err *e)
{
	bool again = true, ok;
	struct checks c;
	double last;

	do {
		choose_checked(s, &c);
		if (!run_both(s, &c, sequence, e))
			return false;
		if (*sequence || !c.count)
			return true;
	} while (matters(s, &c, 2) && warm_longer(s));
	for (ok = true; ok && again && matters(s, &c, 1);)
		ok = check_longer(s, &c, &again, e);
	last = c.mean;
	find_difference(&c, c.cycles);
	/* Nothing is beyond all that precedes. */
	if (!again)
		last = 0;
	s->rest_low = fmin(c.mean + last, 0) - c.unsure;
	s->rest_high = fmax(c.mean + last, 0) + c.unsure;
	s->has_rest = true;
	return ok;
}
