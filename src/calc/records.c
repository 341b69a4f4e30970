/* SPDX-License-Identifier: MIT */
/*
 * The evidence of classes from branch records (analysis/calc/branches.c): what hardware that keeps its last
 * taken branches says of executions. An upper bound of what samples alone can reach, above all for
 * edges.
 *
 * Every taken branch has the same chance to be in a record, so the times that one is in them, times what
 * each stands for, are its executions without bias; likewise ranges of code between two branches of a
 * record, for the blocks whose end they cover and the edges on which they fall through. (Records
 * taken at cycles are read the same way, and their bias shows.) A class takes the mean of its blocks and
 * edges that can be seen.
 *
 * A record holds many branches of the same loop, so counts vary by more than chance: at most by the
 * depth of a record, which is what is assumed. Blocks of a class are mostly seen by the same
 * records: their mean is taken to vary as much as one of them.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

/* What was seen of a class. */
struct seen {
	double executions, variance; /* sums */
	double most_weight;	     /* executions that one more count would have stood for */
	uint32_t n;
};

static void add(struct seen *s, double count, double weight, unsigned depth)
{
	if (isnan(count))
		return;
	s->executions += count * weight;
	s->variance += count * weight * weight * depth;
	s->most_weight = fmax(s->most_weight, weight);
	s->n++;
}

/* Whether ranges, not branches, show the edge. */
static bool falls(const struct cfg *g, uint32_t e)
{
	return g->edges[e].kind == CFG_FALL;
}

static void put_class(struct calc_class *c, const struct seen *s)
{
	if (!s->n)
		return;
	c->used = c->issue_points = s->n;
	c->sum_m = s->n;
	c->tightness = 1;
	if (!(s->executions > 0)) {
		c->freq = (struct calc_freq){ 0, 0, CALC_NONE_MOST * s->most_weight, CONFIDENCE_LOW,
					      ORIGIN_NO_SAMPLES };
		return;
	}
	const double mean = s->executions / s->n, half = CALC_Z95 * sqrt(s->variance / s->n);

	c->freq = (struct calc_freq){ mean, fmax(0, mean - half), mean + half, CONFIDENCE_LOW,
				      ORIGIN_RECORDS };
}

void calc_evidence_records(struct calc_program *p, struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	const struct calc_sampling *o = &p->sampling;
	struct seen *seen = x_calloc(proc->nclasses + 1, sizeof(*seen));

	free(calc_count_classes(proc));
	for (uint32_t b = 0; proc->block_records && b < g->nblocks; b++)
		add(&seen[proc->block_class[b]], proc->block_records[b], o->record_range,
		    o->record_depth);
	for (uint32_t e = 0; proc->edge_records && e < g->nedges; e++)
		add(&seen[proc->edge_class[e]], proc->edge_records[e],
		    falls(g, e) ? o->record_range : o->record_branch, o->record_depth);
	for (uint32_t c = 0; c < proc->nclasses; c++)
		put_class(&proc->classes[c], &seen[c]);
	free(seen);
}
