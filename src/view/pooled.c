/* SPDX-License-Identifier: MIT */
/*
 * Reads TIP's samples, graphs and true executions from a store, and has them pooled.
 *
 * A store keeps which instructions each sample names (sample_group, sample_pair), but not whether one
 * that is named alone commits or waits. What each instruction has of commits is in profile_category, and
 * what it has of them in company follows from the groups: the rest is what it committed alone.
 */
#include "view/pooled.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "names/graph.h"
#include "util/array.h"
#include "view/model.h"
#include "words/words.h"

#define LEAST_CYCLES 1e-6 /* what is less comes from rounding */

/* Samples as the store has them. */
struct named {
	uint32_t first, count; /* in pcs */
	uint64_t samples;
	double cycles;
};

struct pooling {
	struct store *store;
	struct named *named;
	size_t nnamed;
	uint64_t *pcs;
	uint32_t npcs;
	struct cfg **graphs;
	uint32_t ngraphs;
	double *commits, *executions; /* by instruction */
	struct pooled *out;
	/* what goes into calc/ */
	struct pool_group *groups;
	size_t ngroups;
	struct pool_graph *pool_graphs;
	uint32_t *members, nmembers;
};

bool pooled_has(struct store *s)
{
	return store_number(s, "SELECT 1 FROM run WHERE key = 'pooled'", 0) &&
	       !store_number(s, "SELECT EXISTS (SELECT 1 FROM sampled)", 0);
}

static int by_pc(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint32_t number_of(const struct pooled *p, uint64_t pc)
{
	const uint64_t *found =
	    p->count ? bsearch(&pc, p->pcs, p->count, sizeof(*p->pcs), by_pc) : NULL;

	return found ? (uint32_t)(found - p->pcs) : UINT32_MAX;
}

const struct pool_time *pooled_at(const struct pooled *p, uint64_t pc)
{
	const uint32_t i = number_of(p, pc);

	return i == UINT32_MAX ? NULL : &p->times[i];
}

/* ---- reading ---- */

/* Samples by the instructions that TIP's rule names. Those that found none have address 0. */
static bool read_named(struct pooling *w, struct err *e)
{
	struct store_rows r = store_query(
	    w->store,
	    "WITH t AS (SELECT blamed, sum(cycles) AS cycles, sum(samples) AS samples FROM"
	    " sample_pair WHERE rule = (SELECT rule FROM profiler WHERE name = 'tip') GROUP BY "
	    "blamed)"
	    " SELECT t.blamed, g.pc, t.cycles, t.samples FROM t JOIN sample_group g ON g.id = "
	    "t.blamed"
	    " WHERE t.samples > 0 AND g.pc <> 0 ORDER BY t.blamed, g.position",
	    "");
	int64_t last = -1;

	while (store_next(&r)) {
		if (store_int(&r, 0) != last)
			*ARRAY_ADD(w->named, w->nnamed) =
			    (struct named){ w->npcs, 0, (uint64_t)store_int(&r, 3),
					    (double)store_int(&r, 2) };
		last = store_int(&r, 0);
		w->named[w->nnamed - 1].count++;
		*ARRAY_ADD(w->pcs, w->npcs) = (uint64_t)store_int(&r, 1);
	}
	return store_done(&r, e);
}

struct reading_graphs {
	struct pooling *w;
	struct err *e;
	bool ok;
};

static bool read_graph(void *context, int64_t function, const char *image, const char *name,
		       uint64_t start)
{
	struct reading_graphs *r = context;
	struct cfg *g = names_graph_read(r->w->store, function, r->e);

	(void)image;
	(void)name;
	(void)start;
	r->ok = g != NULL;
	if (g)
		*ARRAY_ADD(r->w->graphs, r->w->ngraphs) = g;
	return r->ok;
}

/* Numbers the instructions that have a sample, are in a graph, or were executed. */
static bool number_insts(struct pooling *w, struct err *e)
{
	struct pooled *p = w->out;
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->npcs; i++)
		*ARRAY_ADD(p->pcs, n) = w->pcs[i];
	for (uint32_t g = 0; g < w->ngraphs; g++)
		for (uint32_t i = 0; i < w->graphs[g]->ninsts; i++)
			*ARRAY_ADD(p->pcs, n) = w->graphs[g]->insts[i].pc;
	struct store_rows r = store_query(w->store, "SELECT DISTINCT pc FROM golden", "");
	while (store_next(&r))
		*ARRAY_ADD(p->pcs, n) = (uint64_t)store_int(&r, 0);
	if (n)
		qsort(p->pcs, n, sizeof(*p->pcs), by_pc);
	for (uint32_t i = 0; i < n; i++)
		if (!p->count || p->pcs[p->count - 1] != p->pcs[i])
			p->pcs[p->count++] = p->pcs[i];
	return store_done(&r, e);
}

/* Adds a query's second column to the instruction of its first; true in *any if it has rows. */
static bool read_numbers(struct pooling *w, const char *sql, double scale, double *into, bool *any,
			 struct err *e)
{
	struct store_rows r = store_query(w->store, sql, "i", (int64_t)TIME_EXECUTION);

	while (store_next(&r)) {
		const uint32_t i = number_of(w->out, (uint64_t)store_int(&r, 0));

		*any = true;
		if (i != UINT32_MAX)
			into[i] += store_double(&r, 1) / scale;
	}
	return store_done(&r, e);
}

/* ---- what calc/ wants ---- */

static void put_group(struct pooling *w, const struct named *from, bool commits, uint64_t samples,
		      double cycles)
{
	if (!samples)
		return;
	*ARRAY_ADD(w->groups, w->ngroups) =
	    (struct pool_group){ w->nmembers, from->count, commits, samples, cycles };
	for (uint32_t k = from->first; k < from->first + from->count; k++)
		*ARRAY_ADD(w->members, w->nmembers) = number_of(w->out, w->pcs[k]);
}

/*
 * Samples that name one instruction: as much of them is of commits as its commits leave. Groups that differ
 * in events alone take their turn. At random, samples stand for different times, and which of them commit is
 * not kept: their number is then the nearest that fits.
 */
static void put_single(struct pooling *w, const struct named *from)
{
	double *left = &w->commits[number_of(w->out, w->pcs[from->first])];
	const double commit = *left < LEAST_CYCLES ? 0 : fmin(*left, from->cycles),
		     rest = from->cycles - commit < LEAST_CYCLES ? 0 : from->cycles - commit;
	uint64_t samples = (uint64_t)rint((double)from->samples * commit / from->cycles);

	if (commit > 0 && !samples)
		samples = 1;
	*left -= commit;
	put_group(w, from, true, samples, rest > 0 ? commit : from->cycles);
	if (rest > 0)
		put_group(w, from, false, from->samples > samples ? from->samples - samples : 1,
			  commit > 0 ? rest : from->cycles);
}

static void put_groups(struct pooling *w)
{
	for (size_t i = 0; i < w->nnamed; i++) {
		const struct named *n = &w->named[i];

		if (n->count < 2)
			continue;
		put_group(w, n, true, n->samples, n->cycles);
		for (uint32_t k = n->first; k < n->first + n->count; k++)
			w->commits[number_of(w->out, w->pcs[k])] -= n->cycles / n->count;
	}
	for (size_t i = 0; i < w->nnamed; i++)
		if (w->named[i].count == 1)
			put_single(w, &w->named[i]);
}

/* An instruction in several graphs is counted in the first. */
static void put_graphs(struct pooling *w)
{
	bool *counted = x_calloc(w->out->count + 1, sizeof(*counted));

	w->pool_graphs = x_calloc(w->ngraphs + 1, sizeof(*w->pool_graphs));
	for (uint32_t g = 0; g < w->ngraphs; g++) {
		const struct cfg *graph = w->graphs[g];
		uint32_t *insts = x_malloc((graph->ninsts + 1) * sizeof(*insts));

		for (uint32_t i = 0; i < graph->ninsts; i++) {
			const uint32_t number = number_of(w->out, graph->insts[i].pc);

			insts[i] = counted[number] ? POOL_COUNTED : number;
			counted[number] = true;
		}
		w->pool_graphs[g] = (struct pool_graph){ graph, insts };
	}
	free(counted);
}

/* The estimates add up to the run. */
static void scale_to(struct pooled *p, double cycles)
{
	double sum = 0, limits = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		sum += p->times[i].cycles;
		limits += p->times[i].limit;
	}
	for (uint32_t i = 0; i < p->count; i++) {
		struct pool_time *t = &p->times[i];

		if (sum > 0) {
			t->cycles *= cycles / sum;
			t->low *= cycles / sum;
			t->high *= cycles / sum;
		}
		if (limits > 0)
			t->limit *= cycles / limits;
	}
}

static bool fill(struct pooling *w, struct err *e)
{
	const double scale = model_run_number(w->store, "scale", 1);
	struct reading_graphs graphs = { w, e, true };
	bool any = false;

	if (!read_named(w, e) || !names_graph_each(w->store, read_graph, &graphs, e) ||
	    !graphs.ok || !number_insts(w, e))
		return false;
	w->commits = x_calloc(w->out->count + 1, sizeof(*w->commits));
	w->executions = x_calloc(w->out->count + 1, sizeof(*w->executions));
	if (!read_numbers(
		w,
		"SELECT pc, units FROM profile_category WHERE category = ?1 AND profiler ="
		" (SELECT id FROM profiler WHERE name = 'tip')",
		scale, w->commits, &any, e) ||
	    !read_numbers(w, "SELECT pc, executions FROM golden WHERE ?1 = ?1", 1, w->executions,
			  &w->out->truth, e))
		return false;
	put_groups(w);
	put_graphs(w);
	return true;
}

bool pooled_read(struct store *s, struct pooled *p, struct err *e)
{
	struct pooling w = { .store = s, .out = p };

	*p = (struct pooled){ 0 };
	if (!pooled_has(s))
		return err_set(e,
			       "%s was not made with --param pooled=1, without which there is no "
			       "profiler " POOLED_PROFILER,
			       store_path(s));
	const bool ok = fill(&w, e);

	if (ok) {
		const struct pool_input in = { .graphs = w.pool_graphs,
					       .ngraphs = w.ngraphs,
					       .ninsts = p->count,
					       .groups = w.groups,
					       .ngroups = w.ngroups,
					       .members = w.members,
					       .executions = p->truth ? w.executions : NULL };

		p->times = pool_run(&in);
		scale_to(p, model_run_number(s, "profiled_cycles", 0));
	}
	for (uint32_t g = 0; g < w.ngraphs; g++) {
		if (w.pool_graphs)
			free(w.pool_graphs[g].insts);
		cfg_free(w.graphs[g]);
	}
	free(w.pool_graphs);
	free(w.graphs);
	free(w.named);
	free(w.pcs);
	free(w.commits);
	free(w.executions);
	free(w.groups);
	free(w.members);
	if (!ok)
		pooled_free(p);
	return ok;
}

void pooled_free(struct pooled *p)
{
	free(p->pcs);
	free(p->times);
	*p = (struct pooled){ 0 };
}
