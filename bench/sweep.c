/* SPDX-License-Identifier: MIT */
/*
 * The parameter sweeps of tracedoctor2023, section 6, for one program: what would simulation points have
 * said of its CPI, for every interval length, number of columns, coverage, max-k and threshold? The
 * vectors and the cycles of all short intervals of the full run are there, so it takes clustering only,
 * and every clustering is computed once.
 *
 * Built as bench_sweep; papers/tracedoctor2023/points runs it.
 *
 *	sweep FILE.bb FILE.cycles NAME DIMS THREADS
 *		prints CSV; DIMS is a list such as 1,5,15. Both files have the same intervals.
 *	sweep FILE.bb FILE.cycles NAME DIMS THREADS LENGTH MAX_K
 *		prints the intervals of that length (in short ones) with their cluster and CPI.
 *
 * Longer intervals are short ones joined: projection is linear, so their rows are the means of the
 * short ones' rows by instructions. Rows of few columns are the first columns of rows of many.
 */
#include <stdlib.h>
#include <string.h>

#include "truth.h"
#include "util/number.h"

#define DIMS_MOST     50
#define MAX_K	      50
#define SEED	      1
#define STEP	      5	 /* percent: of coverage and of the threshold */
#define LEAST	      20 /* intervals: a shorter run is simulated whole */
#define USUAL_PERCENT 90

static const unsigned lengths[] = { 1, 3, 10, 50, 100 };

/* What the points of a clustering say: CPI, and how many instructions they have. */
struct outcome {
	bool known;
	double cpi;
	uint64_t insts;
	unsigned points;
};

static struct outcome outcome_of(const struct truth *t, const struct clustering *c)
{
	struct outcome o = { .known = true, .points = c->k };
	double *weights = x_malloc(c->k * sizeof(*weights));

	clustering_weights(&t->v, c, weights);
	for (uint32_t i = 0; i < c->k; i++) {
		size_t *order;

		clustering_members(&t->v, c, i, SEED, &order);
		o.cpi += weights[i] * t->cycles[order[0]] / (double)t->v.insts[order[0]];
		o.insts += t->v.insts[order[0]];
		free(order);
	}
	free(weights);
	return o;
}

/* One set of rows, and what was found of it. */
struct sweep {
	const char *name;
	unsigned length, dims, percent;
	struct truth t;
	double cpi; /* of the whole run */
	struct clusterings *c;
	struct outcome outcomes[MAX_K + 1];
};

static const struct outcome *outcome_for(struct sweep *s, unsigned k)
{
	if (!s->outcomes[k].known)
		s->outcomes[k] = outcome_of(&s->t, clusterings_get(s->c, k));
	return &s->outcomes[k];
}

static void put(struct sweep *s, unsigned max_k, unsigned threshold)
{
	const struct choose_options o = { .max_k = max_k, .bic = threshold / 100.0 };
	struct choice c;
	struct err e;

	if (!choose_search(s->c, &o, &c, &e))
		die("sweep: %s", e.text);
	for (int best = 0; best < 2; best++) {
		const unsigned k = best ? c.k_best : c.k_span;
		const struct outcome *out = outcome_for(s, k);

		printf("%s,%llu,%u,%u,%u,%u,%s,%u,%u,%llu,%.9g,%.9g\n", s->name,
		       (unsigned long long)s->t.v.interval, s->dims, s->percent, max_k, threshold,
		       best ? "best" : "span", k, out->points, (unsigned long long)out->insts,
		       out->cpi, s->cpi);
	}
	choice_free(&c);
}

static void sweep(const struct truth *all, struct sweep *s, unsigned threads)
{
	const bool thresholds = s->dims == SAMPLING_DIMS && s->percent == 100;

	s->t = truth_joined(all, s->length, s->dims, s->percent);
	s->cpi = truth_cpi(all);
	if (s->t.v.count && (s->percent < 100 || s->t.v.count >= LEAST)) {
		s->c = clusterings_new(&s->t.v, SAMPLING_TRIES, SEED, threads);
		clusterings_fill(s->c, (unsigned)min_u64(MAX_K, s->t.v.count));
		for (unsigned k = 1; k <= MAX_K; k++)
			for (unsigned part = 0; part <= 100; part += STEP)
				if (thresholds || part == USUAL_PERCENT)
					put(s, k, part);
		clusterings_free(s->c);
	}
	truth_free(&s->t);
}

static void show_clusters(const struct truth *all, unsigned dims, unsigned length, unsigned max_k)
{
	struct truth t = truth_joined(all, length, dims, 100);
	const struct choose_options o = { .max_k = max_k,
					  .tries = SAMPLING_TRIES,
					  .bic = SAMPLING_BIC,
					  .seed = SEED,
					  .threads = 1 };
	struct choice c;
	struct err e;

	if (!choose(&t.v, &o, &c, &e))
		die("sweep: %s", e.text);
	puts("interval,cluster,cpi,point");
	for (size_t i = 0; i < t.v.count; i++) {
		bool point = false;

		for (size_t p = 0; p < c.count; p++)
			point |= c.points[p].interval == i;
		printf("%zu,%u,%.9g,%d\n", i, c.clustering.of[i],
		       t.cycles[i] / (double)t.v.insts[i], point);
	}
	choice_free(&c);
	truth_free(&t);
}

int main(int argc, char **argv)
{
	struct truth all = { 0 };
	struct err e = { "" };

	if (argc != 6 && argc != 8)
		die("usage: sweep FILE.bb FILE.cycles NAME DIMS THREADS [LENGTH MAX_K]");
	const unsigned threads = (unsigned)number_argument("threads", argv[5], 1, 64);

	if (!bb_intervals(argv[1], DIMS_MOST, SEED, false, &all.v, &e))
		die("sweep: %s", e.text);
	truth_read_cycles(&all, argv[2]);
	if (argc == 8) {
		show_clusters(&all, (unsigned)number_argument("columns", argv[4], 1, DIMS_MOST),
			      (unsigned)number_argument("length", argv[6], 1, 1000),
			      (unsigned)number_argument("max-k", argv[7], 1, 1000));
		truth_free(&all);
		return 0;
	}
	puts("program,interval,dims,coverage,max_k,threshold,rule,k,points,insts,cpi,truth");
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		char *list = x_strdup(argv[4]), *rest = list, *word;

		if (all.v.count / lengths[i] < LEAST)
			continue;
		while ((word = strsep(&rest, ",")))
			sweep(&all,
			      &(struct sweep){
				  .name = argv[3],
				  .length = lengths[i],
				  .dims = (unsigned)number_argument("columns", word, 1, DIMS_MOST),
				  .percent = 100 },
			      threads);
		free(list);
		for (unsigned percent = STEP; percent < 100; percent += STEP)
			sweep(&all,
			      &(struct sweep){ .name = argv[3],
					       .length = lengths[i],
					       .dims = SAMPLING_DIMS,
					       .percent = percent },
			      threads);
	}
	truth_free(&all);
	return 0;
}
