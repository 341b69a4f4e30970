/* SPDX-License-Identifier: MIT */
/* Reads what two sampled runs measured at their points, and compares them. */
#include "view/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

enum side { BEFORE, AFTER, SIDES };

struct at_point {
	int64_t function;
	size_t point;
	double cycles;
};

struct noise {
	const struct model *model[SIDES];
	bool matched;
	struct estimate_cluster *clusters;
	struct estimate_point *points;
	struct estimate_plan plan;
	double total; /* instructions */
	double *cycles[SIDES];
	struct at_point *functions[SIDES]; /* by function and point */
	size_t count[SIDES];
	double *now[SIDES]; /* of the function looked at */
};

/* A number that is the same for two stores with the same points and clusters, and else hardly ever. */
static uint64_t plan_of(struct store *s)
{
	struct store_rows r = store_query(
	    s, "SELECT id, start, length, cluster, stands_for, instructions FROM point ORDER BY id",
	    "");
	uint64_t h = 1;

	while (store_next(&r))
		for (int i = 0; i < 6; i++)
			h = hash_u64(h + (uint64_t)store_int(&r, i));
	return store_done(&r, NULL) ? h : 0;
}

static bool read_plan(struct noise *n, struct store *s, struct err *e)
{
	struct store_rows r = store_query(
	    s, "SELECT intervals, instructions, spread FROM sampled_cluster ORDER BY id", "");
	size_t nclusters = 0, npoints = 0;

	while (store_next(&r)) {
		*ARRAY_ADD(n->clusters, nclusters) =
		    (struct estimate_cluster){ .intervals = (uint64_t)store_int(&r, 0),
					       .weight = store_double(&r, 1),
					       .spread = store_double(&r, 2) };
		n->total += store_double(&r, 1);
	}
	for (size_t i = 0; i < nclusters; i++)
		n->clusters[i].weight /= n->total;
	if (!store_done(&r, e))
		return false;
	r = store_query(s, "SELECT cluster, instructions FROM point ORDER BY id", "");
	while (store_next(&r))
		*ARRAY_ADD(n->points, npoints) =
		    (struct estimate_point){ .cluster = (uint32_t)store_int(&r, 0),
					     .insts = (uint64_t)store_int(&r, 1) };
	n->plan = (struct estimate_plan){ .clusters = n->clusters,
					  .nclusters = nclusters,
					  .points = n->points,
					  .npoints = npoints };
	return store_done(&r, e);
}

static bool read_points(struct noise *n, enum side side, struct store *s, struct err *e)
{
	const double scale = n->model[side]->scale > 0 ? n->model[side]->scale : 1;
	struct store_rows r = store_query(s, "SELECT id, cycles FROM point ORDER BY id", "");

	n->cycles[side] = x_calloc(n->plan.npoints + 1, sizeof(double));
	n->now[side] = x_calloc(n->plan.npoints + 1, sizeof(double));
	for (size_t i = 0; store_next(&r) && i < n->plan.npoints; i++)
		n->cycles[side][i] = store_double(&r, 1);
	if (!store_done(&r, e))
		return false;
	r = store_query(s, "SELECT function, point, units FROM point_function ORDER BY 1, 2", "");
	while (store_next(&r))
		if (store_int(&r, 1) >= 0 && (size_t)store_int(&r, 1) < n->plan.npoints)
			*ARRAY_ADD(n->functions[side], n->count[side]) =
			    (struct at_point){ store_int(&r, 0), (size_t)store_int(&r, 1),
					       store_double(&r, 2) / scale };
	return store_done(&r, e);
}

struct noise *noise_read(struct store *before, struct store *after, const struct model *a,
			 const struct model *b, bool *ok, struct err *e)
{
	*ok = true;
	if (!a->estimated.is && !b->estimated.is)
		return NULL;

	struct noise *n = x_calloc(1, sizeof(*n));
	struct err ignored;

	n->model[BEFORE] = a;
	n->model[AFTER] = b;
	n->matched = a->estimated.is && b->estimated.is && a->estimated.points &&
		     plan_of(before) == plan_of(after);
	if (n->matched)
		*ok = read_plan(n, before, e) && read_points(n, BEFORE, before, e) &&
		      read_points(n, AFTER, after, e);
	/* A store that says nonsense of its clusters is compared as two runs. */
	n->matched = n->matched && *ok && estimate_check(&n->plan, &ignored);
	if (*ok)
		return n;
	noise_free(n);
	return NULL;
}

void noise_free(struct noise *n)
{
	if (!n)
		return;
	for (int i = 0; i < SIDES; i++) {
		free(n->cycles[i]);
		free(n->functions[i]);
		free(n->now[i]);
	}
	free(n->clusters);
	free(n->points);
	free(n);
}

bool noise_matched(const struct noise *n)
{
	return n->matched;
}

/* Two independent intervals; a run that was simulated whole has none. */
static double both(double before, double after)
{
	return sqrt(before * before + after * after);
}

static double margin(const struct model *m, const char *what, const int64_t *item)
{
	return m->estimated.is && item ? estimated_margin(&m->estimated, what, *item, "") : 0;
}

static double half(const struct estimate *v)
{
	return v->has_error ? fmax(v->high - v->value, v->value - v->low) : NAN;
}

static void at_points(struct noise *n, enum side side, const int64_t *function)
{
	const size_t from =
	    function ? ARRAY_SEARCH(n->count[side], i, n->functions[side][i].function < *function)
		     : 0;

	memset(n->now[side], 0, n->plan.npoints * sizeof(double));
	for (size_t i = from;
	     function && i < n->count[side] && n->functions[side][i].function == *function; i++)
		n->now[side][n->functions[side][i].point] = n->functions[side][i].cycles;
}

double noise_function(struct noise *n, const int64_t *before, const int64_t *after)
{
	if (!n->matched)
		return both(margin(n->model[BEFORE], "function", before),
			    margin(n->model[AFTER], "function", after));
	at_points(n, BEFORE, before);
	at_points(n, AFTER, after);

	const struct estimate v = estimate_change(&n->plan, n->now[BEFORE], n->now[AFTER]);

	return half(&v) * n->total;
}

double noise_instruction(const struct noise *n, const int64_t *before, const int64_t *after)
{
	return both(margin(n->model[BEFORE], "instruction", before),
		    margin(n->model[AFTER], "instruction", after));
}

double noise_cycles(const struct noise *n)
{
	if (n->matched) {
		const struct estimate v =
		    estimate_relative_change(&n->plan, n->cycles[BEFORE], n->cycles[AFTER]);

		return half(&v);
	}

	double part[SIDES] = { 0 };

	for (int i = 0; i < SIDES; i++) {
		const struct estimated *x = &n->model[i]->estimated;

		if (x->is)
			part[i] = fmax(x->high - x->cpi, x->cpi - x->low) / x->cpi;
	}
	return both(part[BEFORE], part[AFTER]) * (double)n->model[AFTER]->cycles /
	       (double)n->model[BEFORE]->cycles;
}
