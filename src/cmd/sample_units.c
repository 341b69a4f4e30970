/* SPDX-License-Identifier: MIT */
/*
 * culprit sample --method systematic, in the manner of SMARTS: many short units at equal distances, with
 * caches, TLBs and predictors learning all the way between them. A pilot of a few units says how much
 * their CPI varies, from which follows how many give the wanted error with the wanted confidence; if the
 * pilot was too small, a second pass measures so many.
 *
 * Every pass is one process (sim --intervals with `all`): the time goes into warming, whatever the
 * number of units. With --live-points the pass saves process and core before each unit instead, and
 * units are measured from there (sample_live.c).
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/progress.h"
#include "cmd/sample.h"

#define PILOT 100 /* units */

/* Takes n of the run's units at equal distances, from a place in the first stretch that the seed
 * decides. */
static void take_units(struct sample *s, uint64_t n)
{
	const uint64_t unit = s->o->unit, all = s->total / unit, step = all / n;
	struct rng r;

	rng_seed(&r, s->o->seed);

	const uint64_t first = rng_below(&r, step);

	for (size_t i = 0; i < s->npoints; i++)
		job_free(&s->points[i].job);
	s->points = x_realloc(s->points, n * sizeof(*s->points));
	s->npoints = n;
	for (uint64_t i = 0; i < n; i++)
		s->points[i] = (struct sample_point){ .start = (first + i * step) * unit,
						      .length = unit,
						      .warm = UINT64_MAX,
						      .interval = first + i * step };
}

/* The CPI of the units so far, and how many would be needed. */
static uint64_t estimate(struct sample *s)
{
	const uint64_t all = s->total / s->o->unit;
	struct running r = { .count = 0 };

	for (size_t i = 0; i < s->npoints; i++)
		running_add(&r, (double)s->points[i].cycles / (double)s->points[i].length);
	s->cpi = running_estimate(&r, s->confidence, all);
	s->sampling_error = estimate_relative_error(&s->cpi);
	return systematic_count(running_variation(&r), s->error, s->confidence, all);
}

bool sample_units(struct sample *s, struct err *e)
{
	const uint64_t all = s->total / s->o->unit;
	const double begin = host_now();
	uint64_t n = min_u64(min_u64(PILOT, s->max_points), all), wanted;
	bool ok;

	s->clusters = x_calloc(1, sizeof(*s->clusters));
	s->clusters[0] = (struct estimate_cluster){ .weight = 1, .intervals = all };
	s->choice.clustering.k = 1;
	s->warm = UINT64_MAX;
	s->live = s->o->live_points;
	for (;;) {
		take_units(s, n);
		ok = s->live ? sample_live(s, e)
			     : sample_sequence(s, 0, e) && sample_read_points(s, 0, e);
		if (!ok)
			break;
		wanted = min_u64(estimate(s), min_u64(s->max_points, all));
		if (wanted <= n || s->cut_short)
			break;
		n = wanted;
	}
	s->seconds = host_now() - begin;
	return ok;
}
