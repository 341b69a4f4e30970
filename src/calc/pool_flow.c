/* SPDX-License-Identifier: MIT */
/*
 * Least squares on a network. Minimise the sum over classes of (x - seen)^2 / variance where x obeys
 * the flow: with a potential at each node, x = seen + variance * (potential where it begins - where it
 * ends), and the potentials are those of a network of resistors whose conductances are the variances,
 * with what does not balance as currents.
 *
 * An arc of which nothing is known has an infinite variance: its ends have one potential and become one
 * node. These are all edges, and all blocks of a class but one, whose equality the classes guarantee.
 *
 * Nodes are eliminated one by one, that with the fewest neighbours first (a star becomes a mesh): all
 * terms are positive, so nothing cancels. The order depends on the graph alone and is found once. A
 * control-flow graph is nearly a tree, and meshes stay small.
 *
 *   F1  What goes into a node and what goes out of it are the same number in `fitted`.
 *   F2  fitted == seen if seen obeys the flow.
 */
#include "calc/pool_flow.h"

#include <stdlib.h>
#include <string.h>

#include "calc/calc.h"
#include "util/array.h"

#define NONE	 UINT32_MAX
#define FILL_MAX (1u << 24) /* pairs of neighbours, over all steps */

struct pool_step {
	uint32_t node, first, count; /* in near */
	uint32_t fill;		     /* where its pairs begin */
};

/* ---- nodes ---- */

static uint32_t root_of(uint32_t *parent, uint32_t n)
{
	while (parent[n] != n)
		n = parent[n] = parent[parent[n]];
	return n;
}

static void join(uint32_t *parent, uint32_t a, uint32_t b)
{
	parent[root_of(parent, a)] = root_of(parent, b);
}

/* Node 2b is where block b is entered, 2b + 1 where it is left; the last one is outside. */
static uint32_t *join_edges(const struct cfg *g)
{
	const uint32_t outside = 2 * g->nblocks;
	uint32_t *parent = x_malloc((outside + 1) * sizeof(*parent));
	bool *joined = x_calloc(outside + 1, sizeof(*joined));

	for (uint32_t n = 0; n <= outside; n++)
		parent[n] = n;
	for (uint32_t e = 0; e < g->nedges; e++) {
		const uint32_t a = g->edges[e].from, b = g->edges[e].to;
		const uint32_t from = a == CFG_OUTSIDE ? outside : 2 * a + 1,
			       to = b == CFG_OUTSIDE ? outside : 2 * b;

		joined[from] = joined[to] = true;
		join(parent, from, to);
	}
	for (uint32_t n = 0; n < outside; n++)
		if (!joined[n] || g->missing)
			join(parent, n, outside);
	free(joined);
	return parent;
}

/* Gives each class that is observed an arc, that of its first block. */
static void put_arcs(struct pool_flow *f, const struct cfg *g, const bool *observed)
{
	uint32_t *parent = join_edges(g),
		 *number = x_malloc((2 * g->nblocks + 1) * sizeof(*number));
	uint32_t *first = x_malloc((f->nclasses + 1) * sizeof(*first));

	for (uint32_t c = 0; c < f->nclasses; c++)
		first[c] = NONE;
	for (uint32_t b = g->nblocks; b-- > 0;)
		if (observed[b])
			first[f->block_class[b]] = b;
	for (uint32_t b = 0; b < g->nblocks; b++)
		if (first[f->block_class[b]] != b)
			join(parent, 2 * b, 2 * b + 1);
	for (uint32_t n = 0; n <= 2 * g->nblocks; n++)
		number[n] = NONE;
	for (uint32_t c = 0; c < f->nclasses; c++) {
		if (first[c] == NONE)
			continue;
		const uint32_t from = root_of(parent, 2 * first[c]),
			       to = root_of(parent, 2 * first[c] + 1);

		number[from] = number[from] == NONE ? f->nnodes++ : number[from];
		number[to] = number[to] == NONE ? f->nnodes++ : number[to];
		f->from[c] = number[from];
		f->to[c] = number[to];
	}
	free(parent);
	free(number);
	free(first);
}

/* ---- the order of elimination ---- */

struct neighbour {
	uint32_t node, slot;
};

struct meeting {
	struct neighbour *list;
	uint32_t count;
};

struct waiting {
	uint32_t *list;
	uint32_t count;
};

struct order {
	struct pool_flow *f;
	struct meeting *around;
	struct waiting *by_degree; /* nodes, some of them more than once */
	bool *gone;
	size_t nnear, nfill;
};

static void wait(struct order *o, uint32_t n)
{
	struct waiting *w = &o->by_degree[o->around[n].count];

	*ARRAY_ADD(w->list, w->count) = n;
}

/* The pair's slot, a new one if they have not met. */
static uint32_t meet(struct order *o, uint32_t a, uint32_t b)
{
	if (o->around[a].count > o->around[b].count)
		return meet(o, b, a);
	for (uint32_t i = 0; i < o->around[a].count; i++)
		if (o->around[a].list[i].node == b)
			return o->around[a].list[i].slot;
	const uint32_t slot = o->f->nslots++;

	*ARRAY_ADD(o->around[a].list, o->around[a].count) = (struct neighbour){ b, slot };
	*ARRAY_ADD(o->around[b].list, o->around[b].count) = (struct neighbour){ a, slot };
	return slot;
}

static void leave(struct meeting *m, uint32_t node)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (m->list[i].node == node) {
			m->list[i] = m->list[--m->count];
			return;
		}
}

static void eliminate(struct order *o, uint32_t n)
{
	struct pool_flow *f = o->f;
	const struct meeting *m = &o->around[n];
	uint32_t nsteps = f->nsteps;

	o->gone[n] = true;
	if (!m->count)
		return;
	*ARRAY_ADD(f->step, nsteps) =
	    (struct pool_step){ n, (uint32_t)o->nnear, m->count, (uint32_t)o->nfill };
	f->nsteps = nsteps;
	for (uint32_t i = 0; i < m->count; i++) {
		size_t at = o->nnear + i;

		leave(&o->around[m->list[i].node], n);
		*ARRAY_ADD(f->near, at) = m->list[i].node;
		at = o->nnear + i;
		*ARRAY_ADD(f->near_slot, at) = m->list[i].slot;
	}
	o->nnear += m->count;
	for (uint32_t i = 0; i < m->count; i++)
		for (uint32_t k = 0; k < i; k++) {
			const uint32_t slot = meet(o, m->list[i].node, m->list[k].node);

			*ARRAY_ADD(f->fill, o->nfill) = slot;
		}
	for (uint32_t i = 0; i < m->count; i++)
		wait(o, m->list[i].node);
}

/* False: too many neighbours. */
static bool find_order(struct pool_flow *f)
{
	struct order o = { .f = f,
			   .around = x_calloc(f->nnodes + 1, sizeof(*o.around)),
			   .by_degree = x_calloc(f->nnodes + 1, sizeof(*o.by_degree)),
			   .gone = x_calloc(f->nnodes + 1, sizeof(*o.gone)) };

	for (uint32_t c = 0; c < f->nclasses; c++)
		if (f->from[c] != f->to[c])
			f->slot_of[c] = meet(&o, f->from[c], f->to[c]);
	for (uint32_t n = 0; n < f->nnodes; n++)
		wait(&o, n);
	for (uint32_t degree = 0; degree < f->nnodes && o.nfill <= FILL_MAX;) {
		struct waiting *w = &o.by_degree[degree];

		if (!w->count) {
			degree++;
			continue;
		}
		const uint32_t n = w->list[--w->count];

		if (o.gone[n] || o.around[n].count != degree)
			continue;
		eliminate(&o, n);
		degree = degree ? degree - 1 : 0;
	}
	for (uint32_t n = 0; n < f->nnodes; n++) {
		free(o.around[n].list);
		free(o.by_degree[n].list);
	}
	free(o.around);
	free(o.by_degree);
	free(o.gone);
	return o.nfill <= FILL_MAX;
}

struct pool_flow *pool_flow_new(const struct cfg *g, const bool *observed)
{
	struct pool_flow *f = x_calloc(1, sizeof(*f));
	uint32_t *edge_class = x_malloc((g->nedges + 1) * sizeof(*edge_class));

	f->block_class = x_malloc((g->nblocks + 1) * sizeof(*f->block_class));
	f->nclasses = calc_classes(g, f->block_class, edge_class);
	free(edge_class);
	f->from = x_calloc(f->nclasses + 1, sizeof(*f->from));
	f->to = x_calloc(f->nclasses + 1, sizeof(*f->to));
	f->slot_of = x_calloc(f->nclasses + 1, sizeof(*f->slot_of));
	put_arcs(f, g, observed);
	if (!find_order(f)) {
		memset(f->from, 0, f->nclasses * sizeof(*f->from));
		memset(f->to, 0, f->nclasses * sizeof(*f->to));
		f->nsteps = 0;
	}
	f->conductance = x_calloc(f->nslots + 1, sizeof(*f->conductance));
	f->sum = x_calloc(f->nsteps + 1, sizeof(*f->sum));
	f->room = x_calloc(2 * (size_t)f->nnodes + 1, sizeof(*f->room));
	return f;
}

void pool_flow_free(struct pool_flow *f)
{
	if (!f)
		return;
	free(f->block_class);
	free(f->from);
	free(f->to);
	free(f->slot_of);
	free(f->step);
	free(f->near);
	free(f->near_slot);
	free(f->fill);
	free(f->conductance);
	free(f->sum);
	free(f->room);
	free(f);
}

/* ---- numbers ---- */

void pool_flow_weigh(struct pool_flow *f, const double *variance)
{
	double *g = f->conductance;

	memset(g, 0, f->nslots * sizeof(*g));
	for (uint32_t c = 0; c < f->nclasses; c++)
		if (f->from[c] != f->to[c])
			g[f->slot_of[c]] += variance[c];
	for (uint32_t s = 0; s < f->nsteps; s++) {
		const struct pool_step *at = &f->step[s];
		const uint32_t end = at->first + at->count;
		uint32_t fill = at->fill;
		double sum = 0;

		for (uint32_t i = at->first; i < end; i++)
			sum += g[f->near_slot[i]];
		f->sum[s] = sum;
		for (uint32_t i = at->first; i < end; i++)
			for (uint32_t k = at->first; k < i; k++)
				g[f->fill[fill++]] += g[f->near_slot[i]] * g[f->near_slot[k]] / sum;
	}
}

void pool_flow_fit(const struct pool_flow *f, const double *variance, const double *seen,
		   double *fitted)
{
	const double *g = f->conductance;
	double *current = f->room, *potential = f->room + f->nnodes;

	memset(f->room, 0, 2 * (size_t)f->nnodes * sizeof(*f->room));
	for (uint32_t c = 0; c < f->nclasses; c++)
		if (f->from[c] != f->to[c]) {
			current[f->from[c]] -= seen[c];
			current[f->to[c]] += seen[c];
		}
	for (uint32_t s = 0; s < f->nsteps; s++) {
		const struct pool_step *at = &f->step[s];
		const double out = current[at->node] / f->sum[s];

		for (uint32_t i = at->first; out != 0 && i < at->first + at->count; i++)
			current[f->near[i]] += out * g[f->near_slot[i]];
	}
	for (uint32_t s = f->nsteps; s-- > 0;) {
		const struct pool_step *at = &f->step[s];
		double sum = current[at->node];

		for (uint32_t i = at->first; i < at->first + at->count; i++)
			sum += g[f->near_slot[i]] * potential[f->near[i]];
		potential[at->node] = sum / f->sum[s];
	}
	for (uint32_t c = 0; c < f->nclasses; c++) {
		fitted[c] = seen[c];
		if (f->from[c] != f->to[c])
			fitted[c] += variance[c] * (potential[f->from[c]] - potential[f->to[c]]);
	}
}
