/* SPDX-License-Identifier: MIT */
/*
 * Method bit: what one more bit of hardware buys. A sample also says whether the instruction at the head of
 * the issue queue issues in that very cycle. An issue point issues in exactly one cycle of each
 * execution, and is the head in it whatever it waited for, so the number of such samples times the
 * period is its number of executions without bias. A class pools its issue points; then flow.
 *
 * An instruction that issues with its predecessor is never the head, so those with M = 0 say nothing.
 * With M between 0 and 1, from edges of which some let it issue with its predecessor, it is the head
 * of M in one executions.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/parts.h"

#define MODEL                                                                                      \
	0.01 /* relative error of schedules: points that issue with their predecessor after all */
#define LEAST_M 0.5

static void believe_bits(const struct calc_program *p, const struct calc_proc *proc,
			 struct belief *out)
{
	const struct cfg *g = proc->graph;
	double period = (double)p->sampling.period[SAMPLED_CYCLES];
	double *samples = x_calloc(proc->nclasses + 1, sizeof(*samples));
	double *points = x_calloc(proc->nclasses + 1, sizeof(*points));
	for (uint32_t b = 0; b < g->nblocks; b++)
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			const struct calc_inst *inst = &proc->insts[i];
			if (inst->m < LEAST_M)
				continue;
			samples[proc->block_class[b]] += inst->issued;
			points[proc->block_class[b]] += fmin(inst->m, 1);
		}
	for (uint32_t c = 0; c < proc->nclasses; c++) {
		double mean = samples[c] / points[c] * period;
		double error = sqrt(samples[c]) / points[c] * period;
		out[c] = (struct belief){ NAN, NAN, NAN };
		if (points[c] > 0 && samples[c] > 0)
			out[c] = (struct belief){ mean, hypot(error, MODEL * mean),
						  hypot(error, MODEL * mean) };
		else if (points[c] > 0)
			out[c] = (struct belief){ 0, period / points[c], period / points[c] };
	}
	free(samples);
	free(points);
}

static bool bit_estimate(struct calc_program *p, struct err *e)
{
	(void)e;
	calc_flow_program(p, believe_bits);
	return true;
}

const struct calc_method calc_bit = {
	.name = "bit",
	.meaning =
	    "flow, where samples say whether the sampled instruction issued in that very cycle",
	.estimate = bit_estimate,
};
