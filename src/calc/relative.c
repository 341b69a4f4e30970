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
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

void calc_evidence_relative(struct calc_program *p, struct calc_proc *proc)
{
	const double period = (double)p->sampling.period[SAMPLED_CYCLES];
	double *insts = calc_count_classes(proc);

	for (uint32_t c = 0; c < proc->nclasses; c++)
		calc_pool_class(&proc->classes[c], insts[c], proc->classes[c].samples,
				proc->classes[c].samples, period);
	free(insts);
}
