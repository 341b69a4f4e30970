/* SPDX-License-Identifier: MIT */
/*
 * How far frequencies can be off once flow equations hold: a class's own belief where it has one, and
 * for each block and edge what the others in its equations leave, whichever is smaller; both together
 * where both are known. Errors in an equation are taken as independent. A few passes over the graph
 * carry them as far as they matter: each equation adds errors, so distant ones do not help.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/parts.h"

#define PASSES 4

struct work {
	const struct calc_proc *proc;
	const struct cfg *g;
	double *own, *class; /* variances by class: of its belief, and the best yet */
};

/* One equation: a block, and the edges on one of its sides. */
static void use_equation(struct work *w, uint32_t b, bool out)
{
	const struct cfg_block *k = &w->g->blocks[b];
	uint32_t n = out ? k->nout : k->nin, unknown = 0;
	uint32_t flag = out ? CFG_BLOCK_UNRESOLVED : CFG_BLOCK_MAYBE;
	double sum = w->class[w->proc->block_class[b]];
	if (!n || k->flags & flag)
		return;
	unknown += isinf(sum);
	sum = isinf(sum) ? 0 : sum;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t e = out ? k->first_out + i : w->g->in[k->first_in + i];
		double v = w->class[w->proc->edge_class[e]];
		unknown += isinf(v);
		sum += isinf(v) ? 0 : v;
	}
	if (unknown > 1)
		return;
	for (uint32_t i = 0; i <= n; i++) {
		uint32_t e = i == n ? 0 : out ? k->first_out + i : w->g->in[k->first_in + i];
		uint32_t c = i == n ? w->proc->block_class[b] : w->proc->edge_class[e];
		double now = w->class[c];
		if (unknown && !isinf(now))
			continue;
		/* What the others leave has the errors of all the others. */
		double rest = isinf(now) ? sum : sum - now;
		double with = isinf(w->own[c]) ? rest : 1 / (1 / w->own[c] + 1 / rest);
		if (with < now)
			w->class[c] = with;
	}
}

void calc_deviations(const struct calc_proc *proc, const struct belief *beliefs, double *deviation)
{
	const struct cfg *g = proc->graph;
	struct work w = { .proc = proc,
			  .g = g,
			  .own = x_calloc(proc->nclasses + 1, sizeof(*w.own)),
			  .class = x_calloc(proc->nclasses + 1, sizeof(*w.class)) };
	double *value = x_calloc(proc->nclasses + 1, sizeof(*value));
	for (uint32_t e = 0; e < g->nedges; e++)
		value[proc->edge_class[e]] = proc->edges[e].value;
	for (uint32_t b = 0; b < g->nblocks; b++)
		value[proc->block_class[b]] = proc->blocks[b].value;
	for (uint32_t c = 0; c < proc->nclasses; c++) {
		const struct belief *b = &beliefs[c];
		/* Where equations overruled the belief, one of the two is off by that much. */
		double off = value[c] - b->mean, error = off < 0 ? b->down : b->up;
		w.own[c] = isnan(b->mean) ? INFINITY : fmax(error * error + off * off / 2, 1e-9);
		w.class[c] = w.own[c];
	}
	for (unsigned pass = 0; pass < PASSES; pass++)
		for (uint32_t k = 0; k < g->nblocks; k++) {
			uint32_t b = pass & 1 ? g->nblocks - 1 - k : k;
			use_equation(&w, b, false);
			use_equation(&w, b, true);
		}
	for (uint32_t k = 0; k < g->nblocks + g->nedges; k++) {
		uint32_t c =
		    k < g->nblocks ? proc->block_class[k] : proc->edge_class[k - g->nblocks];
		/* An edge that nothing bounds carries at most what its value may be off by. */
		deviation[k] = isinf(w.class[c]) ? value[c] : sqrt(w.class[c]);
	}
	free(w.own);
	free(w.class);
	free(value);
}

void calc_put_intervals(struct calc_proc *proc, const struct belief *beliefs)
{
	uint32_t nblocks = proc->graph->nblocks, n = nblocks + proc->graph->nedges;
	double *deviation = x_calloc(n + 1, sizeof(*deviation));
	calc_deviations(proc, beliefs, deviation);
	for (uint32_t k = 0; k < n; k++) {
		struct calc_freq *f = k < nblocks ? &proc->blocks[k] : &proc->edges[k - nblocks];
		f->low = fmax(0, f->value - CALC_Z95 * deviation[k]);
		f->high = f->value + CALC_Z95 * deviation[k];
	}
	free(deviation);
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
