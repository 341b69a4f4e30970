/* SPDX-License-Identifier: MIT */
/*
 * culprit sample --warm auto: how long each point warms up. A point is simulated twice, with what its
 * warm-up has not seen taken as hits and as misses (sim --unknown). Where the two are further apart than
 * matters it is done again after a longer warm-up. What is left at the end is the point's bracket, which
 * goes into the error.
 *
 * A warm-up that reaches the program's start leaves nothing unknown. One of SAMPLE_AUTO_LAST is not made
 * longer: the bracket says what that leaves open.
 */
#include <math.h>
#include <stdlib.h>

#include "campaign/result.h"
#include "cmd/sample.h"

static bool begins_at_start(const struct sample *s, const struct sample_point *p)
{
	uint64_t settle, warm;

	return sample_approach(s, p, &settle, &warm) == 0;
}

static bool read_cycles(const struct sample_point *p, double *cycles, struct err *e)
{
	struct result r;

	if (!result_read(p->job.result, &r, e))
		return false;
	*cycles = (double)r.cycles;
	return r.instructions == p->length ||
	       err_set(e, "the interval at instruction %llu has other instructions than before",
		       (unsigned long long)p->start);
}

/* Two simulations of each point, with hits and with misses. */
static bool find_bounds(struct sample *s, struct sample_point *const *open, size_t count,
			bool *sequence, struct err *e)
{
	struct sample_point *both = x_calloc(2 * count, sizeof(*both));
	bool ok;

	for (size_t i = 0; i < 2 * count; i++) {
		both[i] = *open[i / 2];
		both[i].unknown = i % 2 ? UNKNOWN_DIRTY : UNKNOWN_HIT;
	}
	ok = sample_run(s, both, 2 * count, sequence, e);
	for (size_t i = 0; ok && !*sequence && i < count; i++) {
		ok = read_cycles(&both[2 * i], &open[i]->low_cycles, e) &&
		     read_cycles(&both[2 * i + 1], &open[i]->high_cycles, e);
		open[i]->has_bracket = true;
	}
	for (size_t i = 0; i < 2 * count; i++)
		job_free(&both[i].job);
	free(both);
	return ok;
}

/* Whether a point needs a longer warm-up; it gets it then. */
static bool needs_more(const struct sample *s, struct sample_point *p)
{
	const double most =
	    s->error > 0 ? fmin(s->error / 2, SAMPLE_AUTO_ERROR) : SAMPLE_AUTO_ERROR;

	if (p->high_cycles - p->low_cycles <= most * p->high_cycles || p->warm >= SAMPLE_AUTO_LAST)
		return false;
	p->warm *= SAMPLE_AUTO_STEP;
	return true;
}

bool sample_warm_up(struct sample *s, size_t first, struct err *e)
{
	struct sample_point **open = x_calloc(s->npoints + 1, sizeof(struct sample_point *));
	size_t count = 0;
	bool ok = true, sequence = false;

	for (size_t i = first; i < s->npoints; i++)
		open[count++] = &s->points[i];
	while (ok && count) {
		size_t kept = 0;

		for (size_t i = 0; i < count; i++) {
			open[i]->has_bracket = false;
			if (!begins_at_start(s, open[i]))
				open[kept++] = open[i];
		}
		count = kept;
		if (!count)
			break;
		ok = find_bounds(s, open, count, &sequence, e);
		if (sequence) /* no checkpoints: in one process everything before warms up */
			for (size_t i = first; i < s->npoints; i++)
				s->points[i].warm = UINT64_MAX;
		kept = 0;
		for (size_t i = 0; ok && !sequence && i < count; i++)
			if (needs_more(s, open[i]))
				open[kept++] = open[i];
		count = kept;
	}
	free(open);
	return ok;
}
