/* SPDX-License-Identifier: MIT */
/*
 * The evidence of classes on a live machine: no schedule is known, samples may be late, so a class's
 * weight is its samples per instruction, and only ratios of frequencies mean anything. The unit is
 * samples per instruction times the period: if every instruction took one cycle, it would be
 * executions.
 *
 * Chance makes an error of 1 / sqrt(samples). The larger one is that instructions do not take
 * equally long: calc_believe_samples() adds it, and flow averages it over the blocks that an equation
 * joins.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

void calc_evidence_relative(struct calc_program *p, struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	double period = (double)p->sampling.period[SAMPLED_CYCLES];
	double *insts = x_calloc(proc->nclasses + 1, sizeof(*insts));
	for (uint32_t c = 0; c < proc->nclasses; c++)
		proc->classes[c] =
		    (struct calc_class){ .freq = { .value = NAN, .origin = ORIGIN_NONE } };
	for (uint32_t b = 0; b < g->nblocks; b++)
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			uint32_t c = proc->block_class[b];
			proc->classes[c].samples += proc->insts[i].count[SAMPLED_CYCLES];
			insts[c]++;
		}
	for (uint32_t c = 0; c < proc->nclasses; c++) {
		struct calc_class *class = &proc->classes[c];
		double mean = class->samples / insts[c] * period;
		double half = CALC_Z95 * sqrt(class->samples) / insts[c] * period;
		if (!(insts[c] > 0))
			continue;
		class->used = class->issue_points = (uint32_t)insts[c];
		class->sum_m = insts[c];
		class->freq = (struct calc_freq){ mean, fmax(0, mean - half), mean + half,
						  CONFIDENCE_LOW, ORIGIN_POOLED };
		if (!(class->samples > 0))
			class->freq = (struct calc_freq){ 0, 0, 3 * period / insts[c],
							  CONFIDENCE_LOW, ORIGIN_NO_SAMPLES };
	}
	free(insts);
}
