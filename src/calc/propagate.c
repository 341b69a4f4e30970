/* SPDX-License-Identifier: MIT */
/*
 * Local propagation (dcpi1997 section 6.1.4): a block is executed as often as the edges into it and
 * as the edges out of it. An equation with one unknown class solves it; what is found holds for all
 * blocks and edges of the class at once and is never negative. A sum that is 0 makes each of its
 * parts 0 for the same reason.
 *
 * Equations 2b (in) and 2b + 1 (out) are block b's. A class is unknown in an equation if its
 * coefficients there, +1 for the block and -1 for each edge, do not cancel out. An equation is
 * looked at when it has one unknown left, and when its block is found to be 0: time is linear in the
 * size of the graph.
 *
 * An equation does not hold where an unresolved jump may enter or leave the block, nor where a block
 * has no edges on that side.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"

struct term {
	uint32_t class;
	int32_t times; /* coefficient */
};

struct work {
	struct calc_proc *proc;
	uint32_t nequations;
	uint32_t *first_term; /* by equation, one more than there are */
	struct term *terms;
	uint32_t *unknowns;  /* by equation: terms whose class is not known */
	uint32_t *first_use; /* by class, one more than there are */
	uint32_t *uses;	     /* equations that the class stands in */
	uint32_t *queue;     /* equations to be looked at */
	uint32_t queued, done;
};

static bool has_equation(const struct cfg_block *b, bool out)
{
	if (out)
		return b->nout && !(b->flags & CFG_BLOCK_UNRESOLVED);
	return b->nin && !(b->flags & CFG_BLOCK_MAYBE);
}

/* Adds `times` of a class to the equation that begins at `first`; place[class] is the last place at
 * which the class was put. */
static void add_term(struct work *w, uint32_t first, uint32_t *n, uint32_t *place, uint32_t class,
		     int32_t times)
{
	uint32_t at = place[class];

	if (at < first || at >= *n || w->terms[at].class != class) {
		at = place[class] = (*n)++;
		w->terms[at] = (struct term){ .class = class };
	}
	w->terms[at].times += times;
}

static void make_equations(struct work *w)
{
	const struct calc_proc *proc = w->proc;
	const struct cfg *g = proc->graph;
	uint32_t *place = x_calloc(proc->nclasses + 1, sizeof(*place));
	uint32_t n = 0;

	for (uint32_t q = 0; q < w->nequations; q++) {
		const struct cfg_block *b = &g->blocks[q / 2];
		uint32_t first = w->first_term[q] = n;

		if (!has_equation(b, q & 1))
			continue;
		add_term(w, first, &n, place, proc->block_class[q / 2], 1);
		for (uint32_t k = 0; k < (q & 1 ? b->nout : b->nin); k++) {
			uint32_t e = q & 1 ? b->first_out + k : g->in[b->first_in + k];

			add_term(w, first, &n, place, proc->edge_class[e], -1);
		}

		uint32_t kept = first;
		for (uint32_t t = first; t < n; t++)
			if (w->terms[t].times)
				w->terms[kept++] = w->terms[t];
		n = kept;
	}
	w->first_term[w->nequations] = n;
	free(place);
}

static void make_uses(struct work *w)
{
	uint32_t nclasses = w->proc->nclasses, nterms = w->first_term[w->nequations];
	uint32_t *at = x_calloc(nclasses + 2, sizeof(*at));

	w->uses = x_calloc(nterms + 1, sizeof(*w->uses));
	for (uint32_t t = 0; t < nterms; t++)
		at[w->terms[t].class + 2]++;
	for (uint32_t c = 2; c < nclasses + 2; c++)
		at[c] += at[c - 1];
	for (uint32_t q = 0; q < w->nequations; q++)
		for (uint32_t t = w->first_term[q]; t < w->first_term[q + 1]; t++)
			w->uses[at[w->terms[t].class + 1]++] = q;
	w->first_use = at;
}

static bool is_known(const struct work *w, uint32_t class)
{
	return !isnan(w->proc->classes[class].freq.value);
}

static bool is_zero_block(const struct work *w, uint32_t q)
{
	return w->proc->classes[w->proc->block_class[q / 2]].freq.value == 0;
}

/* A class has become known: queues the equations that can now be solved. */
static void look_again(struct work *w, uint32_t class)
{
	for (uint32_t u = w->first_use[class]; u < w->first_use[class + 1]; u++) {
		uint32_t q = w->uses[u];

		if (--w->unknowns[q] == 1 ||
		    (w->unknowns[q] && class == w->proc->block_class[q / 2] && is_zero_block(w, q)))
			w->queue[w->queued++] = q;
	}
}

static void found(struct work *w, uint32_t class, double value, double low, double high)
{
	w->proc->classes[class].freq = (struct calc_freq){ .value = fmax(0, value),
							   .low = fmax(0, low),
							   .high = fmax(0, high),
							   .origin = ORIGIN_PROPAGATED };
	look_again(w, class);
}

/* The equation's only unknown is what the others leave over. */
static void solve_one(struct work *w, uint32_t q)
{
	const struct term *unknown = NULL;
	double sum = 0, error = 0; /* error: the square */

	for (uint32_t t = w->first_term[q]; t < w->first_term[q + 1]; t++) {
		const struct term *term = &w->terms[t];
		const struct calc_freq *f = &w->proc->classes[term->class].freq;
		double half = (f->high - f->low) / 2 * term->times;

		if (!is_known(w, term->class)) {
			unknown = term;
			continue;
		}
		sum += term->times * f->value;
		error += half * half;
	}
	if (!unknown)
		return;

	double value = -sum / unknown->times, half = sqrt(error) / abs(unknown->times);

	found(w, unknown->class, value, value - half, value + half);
}

/* The block is never executed: nor are its edges. */
static void solve_zero(struct work *w, uint32_t q)
{
	double high = w->proc->classes[w->proc->block_class[q / 2]].freq.high;

	for (uint32_t t = w->first_term[q]; t < w->first_term[q + 1]; t++)
		if (!is_known(w, w->terms[t].class))
			found(w, w->terms[t].class, 0, 0, high);
}

void calc_propagate(struct calc_program *p, struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	size_t nterms = 2 * (size_t)g->nblocks + 2 * (size_t)g->nedges;
	struct work w = { .proc = proc, .nequations = 2 * g->nblocks };

	(void)p;
	w.first_term = x_calloc(w.nequations + 1, sizeof(*w.first_term));
	w.terms = x_calloc(nterms + 1, sizeof(*w.terms));
	w.unknowns = x_calloc(w.nequations + 1, sizeof(*w.unknowns));
	w.queue = x_calloc(3 * (size_t)w.nequations + 1, sizeof(*w.queue));
	make_equations(&w);
	make_uses(&w);
	for (uint32_t q = 0; q < w.nequations; q++) {
		for (uint32_t t = w.first_term[q]; t < w.first_term[q + 1]; t++)
			w.unknowns[q] += !is_known(&w, w.terms[t].class);
		if (w.unknowns[q] == 1 || (w.unknowns[q] && is_zero_block(&w, q)))
			w.queue[w.queued++] = q;
	}
	while (w.done < w.queued) {
		uint32_t q = w.queue[w.done++];

		if (is_zero_block(&w, q))
			solve_zero(&w, q);
		else
			solve_one(&w, q);
	}
	for (uint32_t b = 0; b < g->nblocks; b++)
		proc->blocks[b] = proc->classes[proc->block_class[b]].freq;
	for (uint32_t e = 0; e < g->nedges; e++)
		proc->edges[e] = proc->classes[proc->edge_class[e]].freq;
	free(w.first_term);
	free(w.terms);
	free(w.unknowns);
	free(w.queue);
	free(w.first_use);
	free(w.uses);
}

const struct calc_method calc_dcpi = { .name = "dcpi",
				       .meaning =
					   "clusters of ratios, then local propagation (dcpi1997)",
				       .each = calc_propagate };
