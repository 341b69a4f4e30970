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
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

void calc_evidence_commit(struct calc_program *p, struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	const double period = (double)p->sampling.period[SAMPLED_CYCLES];
	double *insts = calc_count_classes(proc);
	double *variance = x_calloc(proc->nclasses + 1, sizeof(*variance));
	double *commits = x_calloc(proc->nclasses + 1, sizeof(*commits));
	uint32_t *class_of = x_malloc((g->ninsts + 1) * sizeof(*class_of));

	for (uint32_t b = 0; b < g->nblocks; b++)
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			const uint32_t c = class_of[i] = proc->block_class[b];

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
		calc_pool_class(&proc->classes[c], insts[c], commits[c], variance[c], period);
		if (insts[c] > 0)
			proc->classes[c].tightness = 1;
	}
	free(variance);
	free(insts);
	free(commits);
	free(class_of);
}
