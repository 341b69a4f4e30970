/* SPDX-License-Identifier: MIT */
/*
 * Makes one store of the stores of points. They are read one after the other, cluster by cluster; a
 * cluster's sums are exact, and each counts (instructions it stands for / instructions it measured)
 * times. What is a count becomes a whole number again when all are there (sums.h).
 */
#include "combine/combine.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine_int.h"

#define CLUSTERS_MOST (1u << 20)

bool combine_cycles(struct store *combined, const uint64_t *cycles, size_t count, double *sum,
		    struct err *e)
{
	struct store_rows r = store_query(combined,
					  "SELECT p.id, p.cluster, p.instructions, c.instructions "
					  "FROM point p JOIN sampled_cluster "
					  "c ON c.id = p.cluster ORDER BY p.cluster, p.id",
					  "");
	struct factor by = { 0, 0 };
	uint64_t measured = 0;
	int64_t cluster = -1;
	fixed all = 0, more;
	bool ok = true;

	while (ok && store_next(&r)) {
		const int64_t id = store_int(&r, 0);

		if (store_int(&r, 1) != cluster && cluster >= 0) {
			ok = fixed_times((int64_t)measured, by, &more);
			all += more;
		}
		if (store_int(&r, 1) != cluster) {
			by = (struct factor){ (uint64_t)store_int(&r, 3), 0 };
			measured = 0;
		}
		cluster = store_int(&r, 1);
		ok = ok && id >= 0 && (size_t)id < count && store_int(&r, 2) > 0 && by.stands_for;
		measured += ok ? cycles[id] : 0;
		by.measured += (uint64_t)store_int(&r, 2);
	}
	ok = store_done(&r, e) && ok && by.measured && fixed_times((int64_t)measured, by, &more);
	if (!ok)
		return err_set(e, "%s does not say what its points stand for",
			       store_path(combined));
	*sum = (double)fixed_round(all + more);
	return true;
}

void combine_shares(const double *weights, size_t n, uint64_t total, uint64_t *stands_for)
{
	fixed *values = x_malloc((n + 1) * sizeof(*values));
	int64_t *out = x_malloc((n + 1) * sizeof(*out));
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	for (size_t i = 0; i < n; i++)
		values[i] = fixed_from(sum > 0 ? weights[i] / sum * (double)total : 0);
	if (n)
		apportion(values, n, (int64_t)total, out);
	for (size_t i = 0; i < n; i++)
		stands_for[i] = (uint64_t)out[i];
	free(values);
	free(out);
}

/* ---- the points ---- */

static int by_start(const void *a, const void *b)
{
	const struct combine_weight *x = &((const struct combine_point *)a)->weight,
				    *y = &((const struct combine_point *)b)->weight;

	return (x->start > y->start) - (x->start < y->start);
}

static int by_cluster(const void *a, const void *b)
{
	const struct combine_weight *x = &((const struct combine_point *)a)->weight,
				    *y = &((const struct combine_point *)b)->weight;

	return x->cluster != y->cluster ? (x->cluster < y->cluster ? -1 : 1) : by_start(a, b);
}

static bool check_strip(const struct combine *c, struct err *e)
{
	const struct combine_options *o = c->o;

	for (size_t i = 0; o->strip && i < o->nstrip; i++)
		if (o->strip[i] >= c->nclusters)
			return err_set(e,
				       "interval %zu is of cluster %" PRIu32 ", which has no point",
				       i, o->strip[i]);
	if (o->strip && (!o->nstrip || !o->interval ||
			 (o->total_instructions - 1) / o->interval + 1 != o->nstrip))
		return err_set(
		    e, "%zu intervals of %" PRIu64 " instructions are not a run of %" PRIu64,
		    o->nstrip, o->interval, o->total_instructions);
	return true;
}

/* Sorts the points and checks what is said of them. */
static bool take_points(struct combine *c, const char *const *paths,
			const struct combine_weight *weights, size_t n, struct err *e)
{
	uint64_t sum = 0;
	uint32_t clusters = 0;

	if (!n)
		return err_set(e, "there are no points to combine");
	c->points = x_calloc(n, sizeof(*c->points));
	c->npoints = n;
	for (size_t i = 0; i < n; i++) {
		c->points[i] = (struct combine_point){ .path = paths[i], .weight = weights[i] };
		if (weights[i].cluster >= CLUSTERS_MOST)
			return err_set(e, "%s: there is no cluster %" PRIu32, paths[i],
				       weights[i].cluster);
		clusters = weights[i].cluster + 1 > clusters ? weights[i].cluster + 1 : clusters;
		if (__builtin_add_overflow(sum, weights[i].stands_for, &sum) || sum > SUM_MOST)
			return err_set(e, "%s stands for too many instructions", paths[i]);
	}
	if (sum != c->o->total_instructions)
		return err_set(
		    e, "points stand for %" PRIu64 " instructions, but the run has %" PRIu64, sum,
		    c->o->total_instructions);
	qsort(c->points, n, sizeof(*c->points), by_start);
	for (size_t i = 0; i < n; i++) {
		c->points[i].id = (int64_t)i;
		if (i && c->points[i].weight.start == c->points[i - 1].weight.start)
			return err_set(e, "%s and %s are the same interval", c->points[i - 1].path,
				       c->points[i].path);
	}
	qsort(c->points, n, sizeof(*c->points), by_cluster);
	c->clusters = x_calloc(clusters, sizeof(*c->clusters));
	c->nclusters = clusters;
	for (size_t i = 0; i < n; i++)
		c->clusters[c->points[i].weight.cluster].stands_for +=
		    c->points[i].weight.stands_for;
	for (size_t h = 0; h < c->nclusters; h++)
		if (!c->clusters[h].stands_for)
			return err_set(e, "cluster %zu has no point, or stands for nothing", h);
	return check_strip(c, e);
}

/* How many intervals each cluster has. */
static void count_intervals(struct combine *c)
{
	const struct combine_options *o = c->o;

	for (size_t i = 0; !o->clusters && o->strip && i < o->nstrip; i++)
		c->clusters[o->strip[i]].intervals++;
	for (size_t h = 0; h < c->nclusters; h++) {
		struct cluster_sums *s = &c->clusters[h];

		for (size_t i = 0; i < c->npoints; i++)
			s->points += c->points[i].weight.cluster == h;
		if (o->clusters && h < o->nclusters) {
			s->intervals = o->clusters[h].intervals;
			s->spread = o->clusters[h].spread;
		} else if (!s->intervals) {
			s->intervals = o->interval ? (s->stands_for - 1) / o->interval + 1 : 0;
		}
		s->intervals = max_u64(s->intervals, s->points);
	}
}

/* How to simulate it again. What was restored from a checkpoint comes there by running, too. */
static void read_way(struct combine_point *p, struct store *s)
{
	const int64_t start = (int64_t)p->weight.start;

	p->warm = store_number(s, "SELECT value FROM run WHERE key = 'warm'", 0);
	p->settle = store_number(s, "SELECT value FROM run WHERE key = 'settle'", 0);
	p->fast_forward = store_number(s, "SELECT value FROM run WHERE key = 'fast_forward'", 0);
	if (store_number(s, "SELECT 1 FROM run WHERE key = 'restore'", 0)) {
		p->settle = p->settle < start ? p->settle : start;
		p->fast_forward = start - p->settle;
		/* The core of a live-point has learnt from all that precedes. */
		if (store_number(s, "SELECT 1 FROM run WHERE key = 'restore_core'", 0))
			p->warm = p->fast_forward;
		if (p->warm <= p->fast_forward)
			p->fast_forward -= p->warm;
	}
}

static bool read_size(struct combine_point *p, struct store *s, struct err *e)
{
	const int64_t insts =
	    store_number(s, "SELECT value FROM run WHERE key = 'instructions'", 0);
	const int64_t cycles = store_number(s, "SELECT value FROM run WHERE key = 'cycles'", 0);
	const int64_t profiled =
	    store_number(s, "SELECT value FROM run WHERE key = 'profiled_cycles'", cycles);

	if (insts < 1 || cycles < 1)
		return err_set(e, "%s measured no instruction; simulate the interval again",
			       store_path(s));
	if (profiled != cycles)
		return err_set(e,
			       "%s profiled %" PRId64 " of its %" PRId64 " cycles; a point is "
			       "measured whole, without --start and --stop",
			       store_path(s), profiled, cycles);
	p->instructions = (uint64_t)insts;
	p->cycles = (uint64_t)cycles;
	read_way(p, s);
	return true;
}

/* What a point lacks and others have would count as nothing there. */
static bool check_analyses(struct combine *c, struct store *s, struct err *e)
{
	static const char *const tables[] = { "golden",	     "cpi_component", "icost",
					      "shotgun",     "spectrum",      "calc_event",
					      "calc_commit", "calc_branch",   "calc_truth" };
	unsigned has = 0;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		char *sql = x_asprintf("SELECT 1 FROM %s LIMIT 1", tables[i]);

		has |= (unsigned)store_number(s, sql, 0) << i;
		free(sql);
	}
	if (!c->facts.first)
		c->has = has;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		if ((has ^ c->has) >> i & 1)
			return err_set(
			    e,
			    "%s and %s differ in table %s, which is empty in one of them; simulate "
			    "all points with the same --analyze",
			    c->facts.first, store_path(s), tables[i]);
	return true;
}

static bool read_tables(struct combine *c, struct store *s, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < combine_nrules; i++)
		ok = table_read(&c->tables[i], s, &c->texts, e);
	return ok;
}

static bool read_point(struct combine *c, size_t i, struct err *e)
{
	struct combine_point *p = &c->points[i];
	struct cluster_sums *h = &c->clusters[p->weight.cluster];
	struct store *s = store_open(p->path, e);
	bool ok = s && check_analyses(c, s, e) && (i || facts_copy_machine(s, c->out, e)) &&
		  facts_take(&c->facts, s, p->id + 1 == (int64_t)c->npoints, e) &&
		  read_size(p, s, e) && read_tables(c, s, e) && phases_take(c, h, s, e) &&
		  amounts_take(c, i, s, e) && names_take(&c->names, &c->texts, s, e);

	store_close(s);
	if (ok) {
		h->instructions += p->instructions;
		h->cycles += p->cycles;
	}
	return ok;
}

static bool fold(struct combine *c, const struct cluster_sums *h, struct err *e)
{
	const struct factor by = { h->stands_for, h->instructions };
	fixed cycles;
	bool ok = fixed_times((int64_t)h->cycles, by, &cycles);

	for (size_t i = 0; i < combine_nrules; i++)
		ok = table_fold(&c->tables[i], by) && ok;
	facts_fold(&c->facts, by);
	c->cycles_fixed += cycles;
	return ok || err_set(e, "what the points of a cluster stand for is too large to count");
}

static bool read_points(struct combine *c, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < c->npoints; i++) {
		const uint32_t cluster = c->points[i].weight.cluster;

		ok = read_point(c, i, e);
		if (ok && (i + 1 == c->npoints || c->points[i + 1].weight.cluster != cluster))
			ok = fold(c, &c->clusters[cluster], e);
	}
	c->cycles = fixed_round(c->cycles_fixed);
	c->scale = (int64_t)facts_number(&c->facts, "scale", 1);
	return ok;
}

/* ---- the tables ---- */

int64_t combine_method_scale(struct combine *c, int64_t method)
{
	const struct table *t = combine_table(c, "cpi_method");

	for (size_t i = 0; i < t->count; i++)
		if (t->keys[i * t->nkeys] == method)
			return t->keys[i * t->nkeys + 3];
	return 0;
}

/*
 * The totals of a table's groups. A group that holds all cycles of every point holds all of the run's;
 * whether it does is seen at the sum, which can be off by less than half a unit from truncation alone.
 */
static int64_t *group_totals(struct combine *c, const struct table *t)
{
	const fixed half = fixed_from(0.5);
	size_t n, *starts = table_groups(t, &n);
	int64_t *totals = x_calloc(n + 1, sizeof(*totals));

	for (size_t g = 0; g < n; g++) {
		const int64_t *keys = &t->keys[starts[g] * t->nkeys];
		const int64_t scale = strcmp(t->rule->table, "cpi_component")
					  ? c->scale
					  : combine_method_scale(c, keys[1]);
		fixed sum = 0;

		for (size_t i = starts[g]; i < starts[g + 1]; i++)
			sum += t->total[i * t->nvalues].count;

		const fixed off = sum - c->cycles_fixed * scale;

		totals[g] = off < half && off > -half ? c->cycles * scale : fixed_round(sum);
	}
	free(starts);
	return totals;
}

static int by_real(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Keeps the rows with the largest first value. */
static void keep_most(struct table *t)
{
	if (!t->rule->most || t->count <= t->rule->most)
		return;

	double *all = x_malloc(t->count * sizeof(*all)), least;
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++)
		all[i] = t->total[i * t->nvalues].real;
	qsort(all, t->count, sizeof(*all), by_real);
	least = all[t->rule->most - 1];
	free(all);
	for (size_t i = 0; i < t->count && kept < t->rule->most; i++) {
		if (t->total[i * t->nvalues].real < least)
			continue;
		memmove(&t->keys[kept * t->nkeys], &t->keys[i * t->nkeys],
			t->nkeys * sizeof(*t->keys));
		memmove(&t->total[kept * t->nvalues], &t->total[i * t->nvalues],
			t->nvalues * sizeof(*t->total));
		kept++;
	}
	t->count = kept;
}

static bool write_tables(struct combine *c, struct err *e)
{
	for (size_t i = 0; i < combine_nrules; i++)
		if (!table_sort(&c->tables[i]))
			return err_set(
			    e,
			    "points do not agree in table %s; points that are combined come from "
			    "one culprit, program and machine",
			    combine_rules[i].table);
	executions_find(c);

	bool ok = true;

	for (size_t i = 0; ok && i < combine_nrules; i++) {
		struct table *t = &c->tables[i];
		int64_t *totals = t->rule->in_cycles ? group_totals(c, t) : NULL;

		executions_times(c, t);
		keep_most(t);
		table_round(t, totals);
		executions_counts(c, t);
		free(totals);
		ok = t->rule->elsewhere || table_write(t, c->out, &c->texts, e);
	}
	return ok && combine_write_groups(c, e) && combine_write_loads(c, e);
}

/* ---- what the run is ---- */

static bool write_run(struct combine *c, struct err *e)
{
	const struct combine_options *o = c->o;
	const int64_t insts = (int64_t)o->total_instructions;

	return facts_write(&c->facts, c->cycles, insts, c->out, e) &&
	       store_insert(c->out, e, "run", "si", "instructions", insts) &&
	       store_insert(c->out, e, "run", "si", "cycles", c->cycles) &&
	       store_insert(c->out, e, "run", "sd", "ipc",
			    c->cycles ? (double)insts / (double)c->cycles : 0.0) &&
	       (o->exit_status < 0
		    ? store_insert(c->out, e, "run", "sn", "exit_status")
		    : store_insert(c->out, e, "run", "si", "exit_status", o->exit_status));
}

static bool put_number(struct combine *c, const char *key, uint64_t value, struct err *e)
{
	return store_insert(c->out, e, "sampled", "si", key, (int64_t)value);
}

static bool write_sampled(struct combine *c, struct err *e)
{
	const struct combine_options *o = c->o;
	uint64_t measured = 0;

	for (size_t h = 0; h < c->nclusters; h++)
		measured += c->clusters[h].instructions;

	bool ok = store_insert(c->out, e, "sampled", "ss", "method",
			       o->method ? o->method : "simpoint") &&
		  store_insert(c->out, e, "sampled", "ss", "warm", o->warm ? o->warm : "0") &&
		  store_insert(c->out, e, "sampled", "ss", "mode",
			       o->mode == COMBINE_EXECUTIONS && c->nexecuted ? "executions"
									     : "weights") &&
		  put_number(c, "total_instructions", o->total_instructions, e) &&
		  put_number(c, "interval", o->interval, e) &&
		  put_number(c, "settle", o->settle, e) && put_number(c, "seed", o->seed, e) &&
		  put_number(c, "k", o->k ? o->k : c->nclusters, e) &&
		  put_number(c, "points", c->npoints, e) &&
		  put_number(c, "measured_instructions", measured, e) &&
		  (!c->nexecuted || put_number(c, "unmeasured_executions", c->unmeasured, e)) &&
		  (!(c->has >> 4 & 1) ||
		   store_insert(c->out, e, "sampled", "ss", "left_out", combine_left_out));

	for (size_t i = 0; ok && i < o->nsettings; i++)
		ok = store_insert(c->out, e, "sampled", "ss", o->settings[i].key,
				  o->settings[i].value);
	for (size_t h = 0; ok && h < c->nclusters; h++)
		ok = store_insert(c->out, e, "sampled_cluster", "iiid", (int64_t)h,
				  (int64_t)c->clusters[h].intervals,
				  (int64_t)c->clusters[h].stands_for, c->clusters[h].spread);
	for (size_t from = 0, to; ok && o->strip && from < o->nstrip; from = to) {
		for (to = from + 1; to < o->nstrip && o->strip[to] == o->strip[from];)
			to++;
		ok = store_insert(c->out, e, "sampled_strip", "iii", (int64_t)from,
				  (int64_t)(to - from), (int64_t)o->strip[from]);
	}
	for (size_t i = 0; ok && i < o->nunits; i++)
		ok = store_insert(c->out, e, "sampled_unit", "iii", (int64_t)o->units[i].start,
				  (int64_t)o->units[i].instructions, (int64_t)o->units[i].cycles);
	return ok;
}

static void combine_free(struct combine *c)
{
	for (size_t i = 0; c->tables && i < combine_nrules; i++)
		table_free(&c->tables[i]);
	for (size_t h = 0; h < c->nclusters; h++) {
		table_free(&c->clusters[h].parts);
		free(c->clusters[h].length);
	}
	free(c->tables);
	free(c->clusters);
	free(c->points);
	free(c->amounts);
	free(c->executed);
	free(c->lane_name);
	names_close(&c->names);
	facts_free(&c->facts);
	texts_free(&c->texts);
	store_close(c->out);
}

bool combine_stores(const char *const *paths, const struct combine_weight *weights, size_t n,
		    const struct combine_options *o, const char *output, struct err *e)
{
	struct combine c = { .o = o, .lanes_whole = true };

	c.tables = x_calloc(combine_nrules, sizeof(*c.tables));
	for (size_t i = 0; i < combine_nrules; i++)
		table_init(&c.tables[i], &combine_rules[i]);
	c.lane_name = x_malloc(LANES * sizeof(*c.lane_name));
	for (size_t i = 0; i < LANES; i++)
		c.lane_name[i] = -1;
	names_init(&c.names);

	bool ok = take_points(&c, paths, weights, n, e);

	if (ok) {
		count_intervals(&c);
		c.out = store_create(output, e);
	}
	ok = ok && c.out && read_points(&c, e) && names_write(&c.names, &c.texts, c.out, e) &&
	     write_tables(&c, e) && phases_write(&c, e) && write_run(&c, e) &&
	     write_sampled(&c, e) && estimates_write(&c, e) &&
	     (!o->finish || o->finish(c.out, o->arg, e)) && store_commit(c.out, e);
	combine_free(&c);
	return ok;
}
