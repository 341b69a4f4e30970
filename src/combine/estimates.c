/* SPDX-License-Identifier: MIT */
/*
 * What points say of each figure, with its interval: cycles of functions and instructions, components
 * of CPI stacks, costs and interaction costs. Points of a cluster are a sample of its intervals;
 * sampling/estimate.h has the arithmetic. Also what each point measured, for comparisons by matched
 * pairs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine_int.h"
#include "util/array.h"

static const char *const figure_names[] = {
	[FIGURE_FUNCTION] = "function", [FIGURE_INSTRUCTION] = "instruction",
	[FIGURE_STACK] = "stack",	[FIGURE_COST] = "cost",
	[FIGURE_ICOST] = "icost",
};

/* Instructions below this part of all cycles have no row of their own. */
#define LEAST_SHARE 1e-5

static void add(struct combine *c, enum figure figure, int64_t item, int64_t name, size_t point,
		double cycles, double executions)
{
	*ARRAY_ADD(c->amounts, c->namounts) =
	    (struct amount){ figure, item, name, (uint32_t)point, cycles, executions };
}

bool amounts_take(struct combine *c, size_t point, struct store *s, struct err *e)
{
	const int64_t none = texts_number(&c->texts, "");
	const double scale =
	    (double)store_number(s, "SELECT value FROM run WHERE key = 'scale'", 1);
	struct store_rows r = store_query(
	    s, "SELECT pc, sum(units), sum(executions) FROM golden GROUP BY pc ORDER BY pc", "");

	while (store_next(&r))
		add(c, FIGURE_INSTRUCTION, store_int(&r, 0), none, point,
		    store_double(&r, 1) / (scale > 0 ? scale : 1), store_double(&r, 2));

	bool ok = store_done(&r, e);

	r = store_query(
	    s,
	    "SELECT m.id, c.component, c.units * 1.0 / max(1, m.scale) FROM cpi_method m JOIN "
	    "cpi_component c ON c.method = m.id WHERE c.phase = -1",
	    "");
	while (ok && store_next(&r))
		add(c, FIGURE_STACK, store_int(&r, 0), texts_number(&c->texts, store_text(&r, 1)),
		    point, store_double(&r, 2), 0);
	ok = store_done(&r, e) && ok;
	r = store_query(s, "SELECT categories, name, cost, icost FROM icost WHERE phase = -1", "");
	while (ok && store_next(&r)) {
		const int64_t name = texts_number(&c->texts, store_text(&r, 1));

		add(c, FIGURE_COST, store_int(&r, 0), name, point, store_double(&r, 2), 0);
		add(c, FIGURE_ICOST, store_int(&r, 0), name, point, store_double(&r, 3), 0);
	}
	return store_done(&r, e) && ok;
}

static int by_figure(const void *a, const void *b)
{
	const struct amount *x = a, *y = b;

	if (x->figure != y->figure)
		return x->figure < y->figure ? -1 : 1;
	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->point > y->point) - (x->point < y->point);
}

/* Adds the amounts of functions, from those of their instructions. */
static void add_functions(struct combine *c)
{
	const size_t n = c->namounts;

	for (size_t i = 0; i < n; i++) {
		const struct amount a = c->amounts[i];
		const int64_t f = a.figure == FIGURE_INSTRUCTION
				      ? names_function_of(&c->names, (uint64_t)a.item)
				      : -1;

		if (f >= 0)
			add(c, FIGURE_FUNCTION, c->names.function_id[f], a.name, a.point, a.cycles,
			    a.executions);
	}
	qsort(c->amounts, c->namounts, sizeof(*c->amounts), by_figure);

	/* a function has one row per point */
	size_t kept = 0;

	for (size_t i = 0; i < c->namounts; i++) {
		const struct amount a = c->amounts[i];

		if (kept && !by_figure(&c->amounts[kept - 1], &a)) {
			c->amounts[kept - 1].cycles += a.cycles;
			c->amounts[kept - 1].executions += a.executions;
		} else {
			c->amounts[kept++] = a;
		}
	}
	c->namounts = kept;
}

/* ---- the plan ---- */

static void make_plan(const struct combine *c, struct estimate_plan *plan)
{
	struct estimate_cluster *clusters = x_calloc(c->nclusters, sizeof(*clusters));
	struct estimate_point *points = x_calloc(c->npoints, sizeof(*points));

	for (size_t h = 0; h < c->nclusters; h++)
		clusters[h] = (struct estimate_cluster){
			.weight =
			    (double)c->clusters[h].stands_for / (double)c->o->total_instructions,
			.intervals = c->clusters[h].intervals,
			.spread = c->clusters[h].spread,
		};
	for (size_t i = 0; i < c->npoints; i++)
		points[i] = (struct estimate_point){ .cluster = c->points[i].weight.cluster,
						     .insts = c->points[i].instructions };
	*plan = (struct estimate_plan){ .clusters = clusters,
					.nclusters = c->nclusters,
					.points = points,
					.npoints = c->npoints };
}

static void free_plan(struct estimate_plan *plan)
{
	free((void *)plan->clusters);
	free((void *)plan->points);
}

static bool put(struct combine *c, const char *what, int64_t item, const char *name,
		const struct estimate *v, double by, struct err *e)
{
	const double value = v->value * by, low = v->low * by, high = v->high * by;

	if (v->has_error && isfinite(low) && isfinite(high))
		return store_insert(c->out, e, "estimate", "sisddd", what, item, name, value, low,
				    high);
	return store_insert(c->out, e, "estimate", "sisdnn", what, item, name, value);
}

/* Whether no spread was seen although intervals that were not simulated may have any: the figure occurs
 * only at the one point of a cluster, or alike at all points of one. */
static bool is_blind(const struct combine *c, const struct estimate *v, const double *cycles)
{
	if (v->low < v->high)
		return false;
	for (size_t i = 0; i < c->npoints; i++) {
		const struct cluster_sums *h = &c->clusters[c->points[i].weight.cluster];

		if (cycles[i] != 0 && h->intervals > h->points)
			return true;
	}
	return false;
}

/*
 * The estimate of one figure, in cycles of the run. Where executions are exact and time follows them,
 * only cycles per execution are uncertain, and the value is what the combined store has.
 */
static struct estimate figure_estimate(const struct combine *c, const struct estimate_plan *plan,
				       const struct amount *first, const double *cycles,
				       const double *executions, double exact)
{
	const double total = (double)c->o->total_instructions;
	struct estimate v = estimate_per_inst(plan, cycles);

	if (is_blind(c, &v, cycles))
		v.has_error = false;
	if (exact > 0 && first->figure <= FIGURE_INSTRUCTION && c->o->mode == COMBINE_EXECUTIONS) {
		const bool has_error = v.has_error;

		v = estimate_ratio(plan, cycles, executions);
		v.has_error = v.has_error && has_error;
		v.value *= exact;
		v.low *= exact;
		v.high *= exact;
		return v;
	}
	v.value *= total;
	v.low *= total;
	v.high *= total;
	return v;
}

/* Exact executions of what amounts from..to are of: an instruction, or all that a function has. */
struct exact {
	int64_t item;
	double executions;
};

static int by_item(const void *a, const void *b)
{
	const struct exact *x = a, *y = b;

	return (x->item > y->item) - (x->item < y->item);
}

/* Exact executions of every function, by id; the caller frees. */
static struct exact *exact_functions(struct combine *c, size_t *count)
{
	struct exact *all = NULL;
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < c->nexecuted; i++) {
		const int64_t f = names_function_of(&c->names, (uint64_t)c->executed[i].pc);

		if (f >= 0)
			*ARRAY_ADD(all, n) =
			    (struct exact){ c->names.function_id[f], (double)c->executed[i].exact };
	}
	if (n)
		qsort(all, n, sizeof(*all), by_item);
	for (size_t i = 0; i < n; i++) {
		if (kept && all[kept - 1].item == all[i].item)
			all[kept - 1].executions += all[i].executions;
		else
			all[kept++] = all[i];
	}
	*count = kept;
	return all;
}

static double exact_of(const struct combine *c, const struct exact *functions, size_t nfunctions,
		       const struct amount *a)
{
	if (a->figure == FIGURE_FUNCTION) {
		const size_t at = ARRAY_SEARCH(nfunctions, i, functions[i].item < a->item);

		return at < nfunctions && functions[at].item == a->item ? functions[at].executions
									: 0;
	}

	const size_t at = ARRAY_SEARCH(c->nexecuted, i, c->executed[i].pc < a->item);

	return a->figure == FIGURE_INSTRUCTION && at < c->nexecuted && c->executed[at].pc == a->item
		   ? (double)c->executed[at].exact
		   : 0;
}

static bool write_figures(struct combine *c, const struct estimate_plan *plan, struct err *e)
{
	double *cycles = x_malloc(2 * c->npoints * sizeof(*cycles)),
	       *executions = cycles + c->npoints;
	size_t nfunctions;
	struct exact *functions = exact_functions(c, &nfunctions);
	bool ok = true;

	for (size_t from = 0, to; ok && from < c->namounts; from = to) {
		const struct amount *a = &c->amounts[from];
		double sum = 0;

		memset(cycles, 0, 2 * c->npoints * sizeof(*cycles));
		for (to = from; to < c->namounts && c->amounts[to].figure == a->figure &&
				c->amounts[to].item == a->item && c->amounts[to].name == a->name;
		     to++) {
			cycles[c->amounts[to].point] = c->amounts[to].cycles;
			executions[c->amounts[to].point] = c->amounts[to].executions;
			sum += fabs(c->amounts[to].cycles);
		}

		const struct estimate v =
		    figure_estimate(c, plan, a, cycles, executions,
				    sum > 0 ? exact_of(c, functions, nfunctions, a) : 0);

		if (a->figure == FIGURE_INSTRUCTION && v.value < LEAST_SHARE * (double)c->cycles)
			continue;
		ok = put(c, figure_names[a->figure], a->item, c->texts.text[a->name], &v, 1, e);
	}
	free(functions);
	free(cycles);
	return ok;
}

/* CPI of the run, with what the unknown state at the points' beginnings may have done. */
static bool write_cpi(struct combine *c, const struct estimate_plan *plan, struct err *e)
{
	const size_t n = c->npoints;
	double *cycles = x_malloc(3 * n * sizeof(*cycles)), *low = cycles + n, *high = low + n;
	bool has_bracket = false;
	struct running units = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct combine_weight *w = &c->points[i].weight;

		cycles[i] = (double)c->points[i].cycles;
		low[i] = w->has_bracket ? fmin(w->low_cycles, cycles[i]) : cycles[i];
		high[i] = w->has_bracket ? fmax(w->high_cycles, cycles[i]) : cycles[i];
		has_bracket = has_bracket || w->has_bracket;
	}

	struct estimate v = estimate_per_inst(plan, cycles);

	for (size_t i = 0; i < c->o->nunits; i++)
		running_add(&units,
			    (double)c->o->units[i].cycles / (double)c->o->units[i].instructions);
	if (units.count > 1) {
		const struct estimate of_units = running_estimate(
		    &units, ESTIMATE_CONFIDENCE,
		    c->o->interval ? c->o->total_instructions / c->o->interval : 0);

		v.low = v.value - (of_units.value - of_units.low);
		v.high = v.value + (of_units.high - of_units.value);
		v.has_error = of_units.has_error;
	}
	if (has_bracket)
		estimate_bracket(plan, low, cycles, high, &v);
	free(cycles);
	return put(c, "cpi", 0, "", &v, 1, e);
}

/* ---- what each point measured ---- */

static bool write_points(struct combine *c, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < c->npoints; i++) {
		const struct combine_point *p = &c->points[i];
		const struct combine_weight *w = &p->weight;

		if (w->has_bracket)
			ok = store_insert(
			    c->out, e, "point", "iiiiiiiddiii", p->id, (int64_t)w->start,
			    (int64_t)w->length, (int64_t)w->cluster, (int64_t)w->stands_for,
			    (int64_t)p->instructions, (int64_t)p->cycles, w->low_cycles,
			    w->high_cycles, p->fast_forward, p->warm, p->settle);
		else
			ok =
			    store_insert(c->out, e, "point", "iiiiiiinniii", p->id,
					 (int64_t)w->start, (int64_t)w->length, (int64_t)w->cluster,
					 (int64_t)w->stands_for, (int64_t)p->instructions,
					 (int64_t)p->cycles, p->fast_forward, p->warm, p->settle);
	}
	return ok;
}

static bool write_measured(struct combine *c, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < c->namounts; i++) {
		const struct amount *a = &c->amounts[i];
		const int64_t point = c->points[a->point].id;

		if (a->figure == FIGURE_FUNCTION)
			ok = store_insert(c->out, e, "point_function", "iiii", point, a->item,
					  (int64_t)llround(a->cycles * (double)c->scale),
					  (int64_t)a->executions);
		else if (a->figure == FIGURE_STACK)
			ok = store_insert(c->out, e, "point_component", "iisd", point, a->item,
					  c->texts.text[a->name], a->cycles);
	}
	return ok;
}

bool estimates_write(struct combine *c, struct err *e)
{
	struct estimate_plan plan;

	make_plan(c, &plan);
	add_functions(c);

	const bool ok = estimate_check(&plan, e) && write_points(c, e) && write_measured(c, e) &&
			write_cpi(c, &plan, e) && write_figures(c, &plan, e);

	free_plan(&plan);
	return ok;
}
