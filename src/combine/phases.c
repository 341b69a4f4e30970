/* SPDX-License-Identifier: MIT */
/*
 * The run over time. A phase of the run is some intervals in a row; each of them is taken to be as the
 * points of its cluster are. Where the clusters of all intervals are not known, a phase is what a point
 * stands for. Cycles of all phases add up to the run's, and components of a phase to its cycles.
 *
 * Interaction costs come from the lengths of the dependence graph, one per set of idealised categories.
 * The lengths are combined, in whole cycles where points have whole cycles, and costs are made of them:
 * so all icosts still add up to the cost of everything at once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine_int.h"

#define CPI_PHASES   256
#define ICOST_PHASES 64

static const struct rule by_part = { "cpi_component", "ktS", .primary = 2, .group = 1 };

static bool take_lengths(struct combine *c, struct cluster_sums *into, struct store *s,
			 struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT cycles, instructions FROM icost_phase WHERE phase = -1", "");
	double cycles = 0;

	if (store_next(&r)) {
		if (!into->length)
			into->length = x_calloc(LANES, sizeof(*into->length));
		cycles = store_double(&r, 0);
		into->length[0] += cycles;
		c->lanes_whole = c->lanes_whole && cycles == floor(cycles);
	}
	if (!store_done(&r, e) || !into->length)
		return into->length == NULL;
	r = store_query(s, "SELECT categories, name, cost FROM icost WHERE phase = -1", "");
	while (store_next(&r)) {
		const int64_t set = store_int(&r, 0);

		if (set < 1 || set >= LANES)
			continue;
		c->lane_name[set] = texts_number(&c->texts, store_text(&r, 1));
		into->length[set] += cycles - store_double(&r, 2);
		c->lanes_whole =
		    c->lanes_whole && store_double(&r, 2) == floor(store_double(&r, 2));
	}
	return store_done(&r, e);
}

bool phases_take(struct combine *c, struct cluster_sums *into, struct store *point, struct err *e)
{
	struct store_rows r = store_query(point,
					  "SELECT method, component, sum(units) FROM cpi_component "
					  "WHERE phase >= 0 GROUP BY 1, 2",
					  "");

	if (!into->parts.rule)
		table_init(&into->parts, &by_part);
	while (store_next(&r)) {
		const int64_t keys[] = { store_int(&r, 0),
					 texts_number(&c->texts, store_text(&r, 1)) };

		const size_t row = table_row(&into->parts, keys);

		into->parts.now[row].count += store_int(&r, 2);
	}
	return store_done(&r, e) && take_lengths(c, into, point, e);
}

/* ---- phases ---- */

/* Instructions of each cluster in each phase: count x nclusters. */
struct phases {
	uint64_t *insts;
	size_t count;
};

static uint64_t insts_of(const struct combine *c, const struct phases *p, size_t phase)
{
	uint64_t sum = 0;

	for (size_t h = 0; h < c->nclusters; h++)
		sum += p->insts[phase * c->nclusters + h];
	return sum;
}

static struct phases strip_phases(const struct combine *c, size_t most)
{
	const struct combine_options *o = c->o;
	const size_t each = (o->nstrip + most - 1) / most, count = (o->nstrip + each - 1) / each;
	struct phases p = { x_calloc(count * c->nclusters, sizeof(*p.insts)), count };

	for (size_t i = 0; i < o->nstrip; i++) {
		const uint64_t before = o->interval * i, left = o->total_instructions - before;

		p.insts[i / each * c->nclusters + o->strip[i]] += min_u64(left, o->interval);
	}
	return p;
}

static int by_id(const void *a, const void *b)
{
	const struct combine_point *x = *(struct combine_point *const *)a,
				   *y = *(struct combine_point *const *)b;

	return (x->id > y->id) - (x->id < y->id);
}

static struct phases point_phases(const struct combine *c, size_t most)
{
	const size_t n = c->npoints, each = (n + most - 1) / most, count = (n + each - 1) / each;
	struct phases p = { x_calloc(count * c->nclusters, sizeof(*p.insts)), count };
	const struct combine_point **order = x_malloc(n * sizeof(*order));

	for (size_t i = 0; i < n; i++)
		order[i] = &c->points[i];
	qsort(order, n, sizeof(*order), by_id);
	for (size_t i = 0; i < n; i++)
		p.insts[i / each * c->nclusters + order[i]->weight.cluster] +=
		    order[i]->weight.stands_for;
	free(order);
	return p;
}

static struct phases make_phases(const struct combine *c, size_t most)
{
	return c->o->strip ? strip_phases(c, most) : point_phases(c, most);
}

/* What a phase has of something that clusters measured: the sum of insts x measured / insts there. */
static fixed part_of(const struct combine *c, const struct phases *p, size_t phase,
		     const int64_t *measured)
{
	fixed sum = 0, more;

	for (size_t h = 0; h < c->nclusters; h++) {
		const uint64_t insts = p->insts[phase * c->nclusters + h];

		if (insts &&
		    fixed_times(measured[h], (struct factor){ insts, c->clusters[h].instructions },
				&more))
			sum += more;
	}
	return sum;
}

/* ---- CPI stacks ---- */

/* All parts of all clusters: keys in `all`, units of each cluster. */
struct parts {
	struct table all;
	int64_t *units;	 /* row x cluster */
	bool *in_cycles; /* by row: the parts of its method are all cycles */
	int64_t *scale;	 /* by row */
};

static struct parts collect_parts(struct combine *c)
{
	struct parts p = { 0 };

	table_init(&p.all, &by_part);
	for (size_t h = 0; h < c->nclusters; h++)
		for (size_t i = 0; i < c->clusters[h].parts.count; i++)
			table_row(&p.all, &c->clusters[h].parts.keys[2 * i]);
	table_sort(&p.all);
	p.units = x_calloc(p.all.count * c->nclusters + 1, sizeof(*p.units));
	p.in_cycles = x_calloc(p.all.count + 1, sizeof(*p.in_cycles));
	p.scale = x_calloc(p.all.count + 1, sizeof(*p.scale));
	for (size_t i = 0; i < p.all.count; i++) {
		const int64_t *keys = &p.all.keys[2 * i];

		p.scale[i] = combine_method_scale(c, keys[0]);
		p.in_cycles[i] = true;
		for (size_t h = 0; h < c->nclusters; h++) {
			struct table *t = &c->clusters[h].parts;
			fixed sum = 0;

			for (size_t k = 0; k < t->count; k++) {
				if (t->keys[2 * k] != keys[0])
					continue;
				sum += t->now[k].count;
				if (t->keys[2 * k + 1] == keys[1])
					p.units[i * c->nclusters + h] = t->now[k].count;
			}
			p.in_cycles[i] =
			    p.in_cycles[i] && sum == (fixed)c->clusters[h].cycles * p.scale[i];
		}
	}
	return p;
}

/* The components of one method in one phase: rows from `from` to `to`. */
static bool write_parts(struct combine *c, const struct phases *p, const struct parts *parts,
			size_t phase, int64_t cycles, size_t from, size_t to, struct err *e)
{
	const size_t n = to - from;
	fixed *values = x_malloc(n * sizeof(*values)), sum = 0;
	int64_t *out = x_malloc(n * sizeof(*out));
	bool ok = true;

	for (size_t i = 0; i < n; i++)
		sum += values[i] = part_of(c, p, phase, &parts->units[(from + i) * c->nclusters]);
	apportion(values, n,
		  parts->in_cycles[from] ? cycles * parts->scale[from] : fixed_round(sum), out);
	for (size_t i = 0; ok && i < n; i++)
		if (out[i]) {
			const int64_t *keys = &parts->all.keys[2 * (from + i)];

			ok = store_insert(c->out, e, "cpi_component", "iisi", (int64_t)phase,
					  keys[0], c->texts.text[keys[1]], out[i]);
		}
	free(values);
	free(out);
	return ok;
}

static bool write_stacks(struct combine *c, struct err *e)
{
	struct phases p = make_phases(c, CPI_PHASES);
	struct parts parts = collect_parts(c);
	fixed *values = x_malloc((p.count + 1) * sizeof(*values));
	int64_t *cycles = x_malloc((p.count + 1) * sizeof(*cycles)),
		*measured = x_malloc((c->nclusters + 1) * sizeof(*measured));
	size_t ngroups, *starts = table_groups(&parts.all, &ngroups);
	bool ok = store_insert(c->out, e, "cpi_phase", "iii", (int64_t)-1, c->cycles,
			       (int64_t)c->o->total_instructions);

	for (size_t h = 0; h < c->nclusters; h++)
		measured[h] = (int64_t)c->clusters[h].cycles;
	for (size_t i = 0; i < p.count; i++)
		values[i] = part_of(c, &p, i, measured);
	apportion(values, p.count, c->cycles, cycles);
	for (size_t i = 0; ok && i < p.count; i++) {
		ok = store_insert(c->out, e, "cpi_phase", "iii", (int64_t)i, cycles[i],
				  (int64_t)insts_of(c, &p, i));
		for (size_t g = 0; ok && g < ngroups; g++)
			ok = write_parts(c, &p, &parts, i, cycles[i], starts[g], starts[g + 1], e);
	}
	table_free(&parts.all);
	free(parts.units);
	free(parts.in_cycles);
	free(parts.scale);
	free(starts);
	free(measured);
	free(cycles);
	free(values);
	free(p.insts);
	return ok;
}

/* ---- costs ---- */

/* Writes a phase from its lengths. */
static bool write_costs(struct combine *c, int64_t phase, uint64_t insts, double *length,
			struct err *e)
{
	double cost[LANES], icost[LANES];
	bool ok;

	for (unsigned set = 0; set < LANES; set++)
		length[set] = c->lanes_whole ? floor(length[set] + 0.5) : length[set];
	for (unsigned set = 0; set < LANES; set++)
		icost[set] = cost[set] = length[0] - length[set];
	for (unsigned bit = 1; bit < LANES; bit <<= 1)
		for (unsigned set = 0; set < LANES; set++)
			icost[set] -= set & bit ? icost[set ^ bit] : 0;
	ok = store_insert(c->out, e, "icost_phase", "iid", phase, (int64_t)insts, length[0]);
	for (unsigned set = 1; ok && set < LANES; set++)
		if (c->lane_name[set] >= 0)
			ok = store_insert(c->out, e, "icost", "iisdd", phase, (int64_t)set,
					  c->texts.text[c->lane_name[set]], cost[set], icost[set]);
	return ok;
}

/* The lengths of a stretch with so many instructions of each cluster. */
static void lengths_of(const struct combine *c, const uint64_t *insts, double *length)
{
	for (unsigned set = 0; set < LANES; set++) {
		length[set] = 0;
		for (size_t h = 0; h < c->nclusters; h++)
			length[set] += c->clusters[h].length[set] * (double)insts[h] /
				       (double)c->clusters[h].instructions;
	}
}

static bool write_icosts(struct combine *c, struct err *e)
{
	struct phases p = make_phases(c, ICOST_PHASES);
	uint64_t *insts = x_malloc((c->nclusters + 1) * sizeof(*insts));
	double length[LANES];
	bool ok;

	for (size_t h = 0; h < c->nclusters; h++)
		insts[h] = c->clusters[h].stands_for;
	lengths_of(c, insts, length);
	ok = write_costs(c, -1, c->o->total_instructions, length, e);
	for (size_t i = 0; ok && i < p.count; i++) {
		lengths_of(c, &p.insts[i * c->nclusters], length);
		ok = write_costs(c, (int64_t)i, insts_of(c, &p, i), length, e);
	}
	free(insts);
	free(p.insts);
	return ok;
}

bool phases_write(struct combine *c, struct err *e)
{
	bool stacks = combine_table(c, "cpi_component")->count > 0, lanes = true;

	for (size_t h = 0; h < c->nclusters; h++)
		lanes = lanes && c->clusters[h].length;
	return (!stacks || write_stacks(c, e)) && (!lanes || write_icosts(c, e));
}
