/* SPDX-License-Identifier: MIT */
/*
 * How far frequencies can be off once flow equations hold: a class's own belief where it has one, and
 * for each block and edge what the others in its equations leave, whichever is smaller. Both together
 * would be smaller still, but errors go round in a graph and would be used twice. Errors in an
 * equation are taken as independent. A few passes over the graph
 * carry them as far as they matter: each equation adds errors, so distant ones do not help.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/parts.h"

#define PASSES 4

struct work {
	const struct calc_proc *proc;
	const struct cfg *g;
	double *down, *up; /* variances by class, to either side: the best yet */
};

static double wider(const struct work *w, uint32_t class)
{
	return fmax(w->down[class], w->up[class]);
}

/* The class of edge i on one side of a block, or of the block itself. */
static uint32_t class_at(const struct work *w, uint32_t b, bool out, uint32_t i)
{
	const struct cfg_block *k = &w->g->blocks[b];
	if (i == (out ? k->nout : k->nin))
		return w->proc->block_class[b];
	return w->proc->edge_class[out ? k->first_out + i : w->g->in[k->first_in + i]];
}

/* One equation: a block, and the edges on one of its sides. */
static void use_equation(struct work *w, uint32_t b, bool out)
{
	const struct cfg_block *k = &w->g->blocks[b];
	uint32_t n = out ? k->nout : k->nin, unknown = 0;
	double sum = 0;
	if (!n || k->flags & (out ? CFG_BLOCK_UNRESOLVED : CFG_BLOCK_MAYBE))
		return;
	for (uint32_t i = 0; i <= n; i++) {
		double v = wider(w, class_at(w, b, out, i));
		unknown += isinf(v);
		sum += isinf(v) ? 0 : v;
	}
	if (unknown > 1)
		return;
	for (uint32_t i = 0; i <= n; i++) {
		uint32_t c = class_at(w, b, out, i);
		double now = wider(w, c);
		if (unknown && !isinf(now))
			continue;
		/* What the others leave has the errors of all the others. */
		double rest = isinf(now) ? sum : sum - now;
		w->down[c] = fmin(w->down[c], rest);
		w->up[c] = fmin(w->up[c], rest);
	}
}

static void put_interval(struct work *w, struct calc_freq *f, uint32_t class)
{
	/* What nothing bounds can be off by all of it. */
	double down = isinf(w->down[class]) ? f->value : sqrt(w->down[class]);
	double up = isinf(w->up[class]) ? f->value : sqrt(w->up[class]);
	f->low = fmax(0, f->value - CALC_Z95 * down);
	f->high = f->value + CALC_Z95 * up;
}

void calc_put_intervals(struct calc_proc *proc, const struct belief *beliefs)
{
	const struct cfg *g = proc->graph;
	struct work w = { .proc = proc,
			  .g = g,
			  .down = x_calloc(proc->nclasses + 1, sizeof(*w.down)),
			  .up = x_calloc(proc->nclasses + 1, sizeof(*w.up)) };
	double *value = x_calloc(proc->nclasses + 1, sizeof(*value));
	for (uint32_t e = 0; e < g->nedges; e++)
		value[proc->edge_class[e]] = proc->edges[e].value;
	for (uint32_t b = 0; b < g->nblocks; b++)
		value[proc->block_class[b]] = proc->blocks[b].value;
	for (uint32_t c = 0; c < proc->nclasses; c++) {
		const struct belief *b = &beliefs[c];
		/* Where equations overruled the belief, one of the two is off by that much. */
		double off = value[c] - b->mean;
		w.down[c] = isnan(b->mean) ? INFINITY : b->down * b->down + off * off / 2;
		w.up[c] = isnan(b->mean) ? INFINITY : b->up * b->up + off * off / 2;
	}
	for (unsigned pass = 0; pass < PASSES; pass++)
		for (uint32_t k = 0; k < g->nblocks; k++) {
			uint32_t b = pass & 1 ? g->nblocks - 1 - k : k;
			use_equation(&w, b, false);
			use_equation(&w, b, true);
		}
	for (uint32_t b = 0; b < g->nblocks; b++)
		put_interval(&w, &proc->blocks[b], proc->block_class[b]);
	for (uint32_t e = 0; e < g->nedges; e++)
		put_interval(&w, &proc->edges[e], proc->edge_class[e]);
	free(w.down);
	free(w.up);
	free(value);
}

void calc_put_flows(struct calc_proc *proc, const int64_t *blocks, const int64_t *edges,
		    double unit)
{
	const struct cfg *g = proc->graph;
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct calc_freq *c = &proc->classes[proc->block_class[b]].freq;
		bool none = !blocks[b] && c->origin == ORIGIN_NO_SAMPLES;
		proc->blocks[b] = (struct calc_freq){
			.value = (double)blocks[b] * unit,
			.low = c->low,
			.high = c->high,
			.origin = none ? ORIGIN_NO_SAMPLES : ORIGIN_FLOW,
		};
	}
	for (uint32_t e = 0; e < g->nedges; e++) {
		const struct calc_freq *c = &proc->classes[proc->edge_class[e]].freq;
		proc->edges[e] = (struct calc_freq){ .value = (double)edges[e] * unit,
						     .low = c->low,
						     .high = c->high,
						     .origin = ORIGIN_FLOW };
	}
}
