/* SPDX-License-Identifier: MIT */
/* The evidence of classes where each of their instructions says the same: commit.c, relative.c. */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

double *calc_count_classes(struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	double *insts = x_calloc(proc->nclasses + 1, sizeof(*insts));

	for (uint32_t c = 0; c < proc->nclasses; c++)
		proc->classes[c] =
		    (struct calc_class){ .freq = { .value = NAN, .origin = ORIGIN_NONE } };
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const uint32_t c = proc->block_class[b], first = g->blocks[b].first;

		for (uint32_t i = first; i < first + g->blocks[b].count; i++)
			proc->classes[c].samples += proc->insts[i].count[SAMPLED_CYCLES];
		insts[c] += g->blocks[b].count;
	}
	return insts;
}

void calc_pool_class(struct calc_class *c, double insts, double seen, double variance,
		     double period)
{
	const double mean = seen / insts * period;
	const double half = CALC_Z95 * sqrt(variance) / insts * period;

	if (!(insts > 0))
		return;
	c->used = c->issue_points = (uint32_t)insts;
	c->sum_m = insts;
	c->freq = (struct calc_freq){ mean, fmax(0, mean - half), mean + half, CONFIDENCE_LOW,
				      ORIGIN_POOLED };
	if (!(seen > 0))
		c->freq = (struct calc_freq){ 0, 0, CALC_NONE_MOST * period / insts, CONFIDENCE_LOW,
					      ORIGIN_NO_SAMPLES };
}
