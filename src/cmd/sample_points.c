/* SPDX-License-Identifier: MIT */
/*
 * culprit sample, second step: which intervals are simulated. Vectors are clustered; each cluster has
 * the interval that is closest to its centre, a second one, drawn at random, if it is large enough to
 * matter (one interval has no variance), and more by its share of the run. More follow where the error is largest (sample_simulate.c).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/sample.h"

/* A point for the next interval of a cluster. */
static void add_point(struct sample *s, uint32_t cluster)
{
	const size_t interval = s->members[cluster][s->npoints_of[cluster]++];
	struct sample_point *p;

	s->points = x_realloc(s->points, (s->npoints + 1) * sizeof(*s->points));
	p = &s->points[s->npoints++];
	*p = (struct sample_point){ .interval = interval,
				    .start = interval * s->vectors.interval,
				    .length = s->vectors.insts[interval],
				    .warm = s->warm_auto ? SAMPLE_AUTO_FIRST : s->warm,
				    .cluster = cluster };
}

size_t sample_add_points(struct sample *s, const uint64_t *extra)
{
	size_t added = 0;

	for (uint32_t c = 0; c < s->choice.clustering.k; c++)
		for (uint64_t i = 0; i < extra[c] && s->npoints_of[c] < s->clusters[c].intervals;
		     i++, added++)
			add_point(s, c);
	return added;
}

/* One cluster that is the whole run, and one point that is all of it. */
static void take_whole(struct sample *s)
{
	s->is_whole = true;
	s->choice.clustering.k = 1;
	s->clusters = x_calloc(1, sizeof(*s->clusters));
	s->clusters[0] = (struct estimate_cluster){ .weight = 1, .intervals = 1 };
	s->points = x_calloc(1, sizeof(*s->points));
	s->points[0] = (struct sample_point){ .length = s->total };
	s->npoints = 1;
}

bool sample_choose(struct sample *s, struct err *e)
{
	const struct sample_options *o = s->o;
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const struct choose_options c = { .max_k = (unsigned)o->max_k,
					  .tries = (unsigned)o->tries,
					  .bic = s->bic,
					  .of_best = o->bic_of_best,
					  .exhaustive = o->exhaustive,
					  .seed = o->seed,
					  .threads = processors > 0 ? (unsigned)processors : 1 };

	if (s->vectors.count < SAMPLE_WHOLE) {
		take_whole(s);
		return true;
	}
	if (!choose(&s->vectors, &c, &s->choice, e))
		return false;

	const struct clustering *found = &s->choice.clustering;
	const unsigned k = found->k;
	double *weights = x_calloc(k, sizeof(*weights)), *spread = x_calloc(k, sizeof(*spread));
	uint64_t *sizes = x_calloc(k, sizeof(*sizes)), *first = x_calloc(k, sizeof(*first));

	clustering_weights(&s->vectors, found, weights);
	clustering_sizes(&s->vectors, found, sizes);
	clustering_spread(&s->vectors, found, spread);
	s->clusters = x_calloc(k, sizeof(*s->clusters));
	s->members = x_calloc(k, sizeof(*s->members));
	s->npoints_of = x_calloc(k, sizeof(*s->npoints_of));
	for (unsigned i = 0; i < k; i++) {
		s->clusters[i] = (struct estimate_cluster){ weights[i], sizes[i], spread[i] };
		clustering_members(&s->vectors, found, i, o->seed, &s->members[i]);
	}
	estimate_first(s->clusters, k, s->max_points, first);
	sample_add_points(s, first);
	free(weights);
	free(spread);
	free(sizes);
	free(first);
	return true;
}

void sample_points_free(struct sample *s)
{
	for (unsigned i = 0; s->members && i < s->choice.clustering.k; i++)
		free(s->members[i]);
	for (size_t i = 0; i < s->npoints; i++)
		job_free(&s->points[i].job);
	free(s->members);
	free(s->npoints_of);
	free(s->clusters);
	free(s->points);
	if (!s->is_whole)
		choice_free(&s->choice);
}
