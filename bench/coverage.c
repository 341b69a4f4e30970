/* SPDX-License-Identifier: MIT */
/*
 * How often does the interval of an estimate hold the truth? For one program whose cycles are known for every
 * interval: chooses clusters and points as `culprit sample` does, with many seeds, and takes what the points
 * would have measured from the full run. So there is no warm-up error, and nothing is simulated.
 *
 * Built as bench_coverage; bench/coverage runs it.
 *
 *	coverage FILE.bb FILE.cycles NAME SEEDS DATA ERROR [LENGTH]
 *		DATA 1: rows have the data part. ERROR: of --error in percent, 0: the first points alone. LENGTH: intervals
 *		are so many of the files' joined.
 *		Prints CSV, a line for each seed.
 */
#include <stdlib.h>
#include <string.h>

#include "sampling/estimate.h"
#include "truth.h"
#include "util/number.h"

#define POINTS_MOST 300

/* One program with one seed. */
struct trial {
	const struct intervals *v;
	const double *truth; /* cycles of each interval */
	struct choice choice;
	struct estimate_cluster *clusters;
	size_t **members;
	size_t *taken; /* of each cluster: how many of its members are points */
	struct estimate_point *points;
	double *cycles;
	size_t npoints;
};

static void take(struct trial *t, const uint64_t *extra)
{
	for (uint32_t c = 0; c < t->choice.clustering.k; c++)
		for (uint64_t i = 0; i < extra[c] && t->taken[c] < t->clusters[c].intervals; i++) {
			const size_t at = t->members[c][t->taken[c]++];

			t->points[t->npoints] = (struct estimate_point){ c, t->v->insts[at] };
			t->cycles[t->npoints++] = t->truth[at];
		}
}

static struct estimate estimate_all(struct trial *t, double error)
{
	const unsigned k = t->choice.clustering.k;
	uint64_t *extra = x_calloc(k, sizeof(*extra));
	struct estimate cpi;

	estimate_first(t->clusters, k, POINTS_MOST, extra);
	for (size_t before = SIZE_MAX; t->npoints != before;) {
		const struct estimate_plan plan = { .clusters = t->clusters,
						    .nclusters = k,
						    .points = t->points };
		struct estimate_plan now = plan;

		before = t->npoints;
		take(t, extra);
		now.npoints = t->npoints;
		cpi = estimate_per_inst(&now, t->cycles);
		memset(extra, 0, k * sizeof(*extra));
		if (error > 0 && t->npoints < POINTS_MOST)
			estimate_more(&now, t->cycles, error, POINTS_MOST - t->npoints, extra);
	}
	free(extra);
	return cpi;
}

static void try(const struct truth *all, const char *name, uint64_t seed, double error)
{
	const struct intervals *v = &all->v;
	const struct choose_options o = { .max_k = SAMPLING_MAX_K,
					  .tries = SAMPLING_TRIES,
					  .bic = SAMPLING_BIC,
					  .seed = seed,
					  .threads = 1 };
	struct trial t = { .v = v, .truth = all->cycles };
	struct err e;

	if (!choose(v, &o, &t.choice, &e))
		die("coverage: %s", e.text);

	const struct clustering *found = &t.choice.clustering;
	const unsigned k = found->k;
	double *weights = x_calloc(2 * k, sizeof(*weights)), *spread = weights + k;
	uint64_t *sizes = x_calloc(k, sizeof(*sizes));

	clustering_weights(v, found, weights);
	clustering_sizes(v, found, sizes);
	clustering_spread(v, found, spread);
	t.clusters = x_calloc(k, sizeof(*t.clusters));
	t.members = x_calloc(k, sizeof(*t.members));
	t.taken = x_calloc(k, sizeof(*t.taken));
	t.points = x_calloc(v->count + k, sizeof(*t.points));
	t.cycles = x_calloc(v->count + k, sizeof(*t.cycles));
	for (unsigned i = 0; i < k; i++) {
		t.clusters[i] = (struct estimate_cluster){ weights[i], sizes[i], spread[i] };
		clustering_members(v, found, i, seed, &t.members[i]);
	}

	const struct estimate cpi = estimate_all(&t, error);
	const double real = truth_cpi(all);

	printf("%s,%llu,%zu,%llu,%u,%zu,%.9g,%.9g,%.9g,%.9g,%d,%d\n", name,
	       (unsigned long long)v->interval, v->count, (unsigned long long)seed, k, t.npoints,
	       cpi.value, cpi.low, cpi.high, real, cpi.has_error,
	       cpi.low <= real && real <= cpi.high);
	for (unsigned i = 0; i < k; i++)
		free(t.members[i]);
	free(weights);
	free(sizes);
	free(t.clusters);
	free(t.members);
	free(t.taken);
	free(t.points);
	free(t.cycles);
	choice_free(&t.choice);
}

int main(int argc, char **argv)
{
	if (argc != 7 && argc != 8)
		die("usage: coverage FILE.bb FILE.cycles NAME SEEDS DATA ERROR [LENGTH]");

	const uint64_t seeds = number_argument("seeds", argv[4], 1, 100000);
	const bool data = number_argument("data", argv[5], 0, 1);
	const double error = strtod(argv[6], NULL) / 100;
	const uint64_t length = argc == 8 ? number_argument("length", argv[7], 1, 100000) : 1;

	puts("program,interval,intervals,seed,k,points,cpi,low,high,truth,has_error,held");
	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct truth all = { 0 }, joined;
		struct err e;

		if (!bb_intervals(argv[1], SAMPLING_DIMS, seed, data, &all.v, &e))
			die("coverage: %s", e.text);
		truth_read_cycles(&all, argv[2]);
		joined = truth_joined(&all, (unsigned)length, all.v.dims, 100);
		try(&joined, argv[3], seed, error);
		truth_free(&joined);
		truth_free(&all);
	}
	return 0;
}
