/* SPDX-License-Identifier: MIT */
/*
 * The evidence of classes out of order, from TIP's commit states. An instruction commits in exactly one
 * cycle of each execution, so the samples that see it commit, times the period, are its executions
 * without bias, whatever stalls. A class takes the mean of its instructions.
 *
 * Instructions that commit in the same cycle are seen by the same samples, so they say little more
 * than one of them. Counts are Poisson: the covariance of two is the number of samples that saw both
 * commit (calc_proc.pairs), and the variance of the mean is the sum over all pairs of the class.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

void calc_evidence_commit(struct calc_program *p, struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	double period = (double)p->sampling.period[SAMPLED_CYCLES];
	double *variance = x_calloc(proc->nclasses + 1, sizeof(*variance));
	double *insts = x_calloc(proc->nclasses + 1, sizeof(*insts));
	double *commits = x_calloc(proc->nclasses + 1, sizeof(*commits));
	uint32_t *class_of = x_malloc((g->ninsts + 1) * sizeof(*class_of));
	for (uint32_t c = 0; c < proc->nclasses; c++)
		proc->classes[c] =
		    (struct calc_class){ .freq = { .value = NAN, .origin = ORIGIN_NONE } };
	for (uint32_t b = 0; b < g->nblocks; b++)
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			uint32_t c = class_of[i] = proc->block_class[b];
			proc->classes[c].samples += proc->insts[i].count[SAMPLED_CYCLES];
			insts[c]++;
			commits[c] += proc->insts[i].commits;
			variance[c] += proc->insts[i].commits;
		}
	for (uint32_t k = 0; k < proc->npairs; k++) {
		const struct calc_pair *pair = &proc->pairs[k];
		if (pair->inst < g->ninsts && pair->other < g->ninsts &&
		    class_of[pair->inst] == class_of[pair->other])
			variance[class_of[pair->inst]] += 2 * pair->count;
	}
	for (uint32_t c = 0; c < proc->nclasses; c++) {
		struct calc_class *class = &proc->classes[c];
		double mean = commits[c] / insts[c] * period;
		double half = CALC_Z95 * sqrt(variance[c]) / insts[c] * period;
		if (!(insts[c] > 0))
			continue;
		class->used = class->issue_points = (uint32_t)insts[c];
		class->sum_m = insts[c];
		class->tightness = 1;
		class->freq = (struct calc_freq){ mean, fmax(0, mean - half), mean + half,
						  CONFIDENCE_LOW, ORIGIN_POOLED };
		if (!(commits[c] > 0))
			class->freq = (struct calc_freq){ 0, 0, 3 * period / insts[c],
							  CONFIDENCE_LOW, ORIGIN_NO_SAMPLES };
	}
	free(variance);
	free(insts);
	free(commits);
	free(class_of);
}
