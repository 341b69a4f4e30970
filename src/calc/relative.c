/* SPDX-License-Identifier: MIT */
/*
 * The evidence of classes on a live machine: no schedule is known, samples may be late, so a class's
 * weight is its samples per instruction, and only ratios of frequencies mean anything. The unit is
 * samples per instruction times the period: if every instruction took one cycle, it would be
 * executions.
 *
 * Chance makes an error of 1 / sqrt(samples). The larger one is that instructions do not take
 * equally long, and how unequally the samples themselves say: those of a class were executed equally often, so
 * what sets their samples apart is time (and lateness). The mean over n of them is then off by the spread of
 * one over sqrt(n). A class has few instructions, so its spread is taken together with that of the whole
 * program, as if it had POOLED more instructions of the program's mean spread.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

#define POOLED	     3	 /* instructions that the program's spread weighs as much as */
#define SPREAD_LEAST 1.0 /* samples per instruction that a class must have to say something of it */

/* What sets the samples of a class's instructions apart beyond chance: sums of squares over the square
 * of the mean. */
struct spread {
	double sum, degrees; /* the mean square is sum / degrees */
};

/* Adds up (samples - mean)^2 of a procedure's instructions by class. */
static double *squares(const struct calc_proc *proc, const double *insts)
{
	const struct cfg *g = proc->graph;
	double *sum = x_calloc(proc->nclasses + 1, sizeof(*sum));

	for (uint32_t b = 0; b < g->nblocks; b++) {
		const uint32_t c = proc->block_class[b], first = g->blocks[b].first;
		const double mean = insts[c] > 0 ? proc->classes[c].samples / insts[c] : 0;

		for (uint32_t i = first; i < first + g->blocks[b].count; i++)
			sum[c] += pow(proc->insts[i].count[SAMPLED_CYCLES] - mean, 2);
	}
	return sum;
}

static struct spread class_spread(const struct calc_class *c, double insts, double squares)
{
	const double mean = insts > 0 ? c->samples / insts : 0;

	if (insts < 2 || !(mean > 0))
		return (struct spread){ 0, 0 };
	/* Chance alone makes a variance of the mean. */
	return (struct spread){ fmax(0, squares - (insts - 1) * mean) / (mean * mean), insts - 1 };
}

/* The mean square of the whole program. */
static double program_spread(struct calc_program *p)
{
	struct spread all = { 0, 0 };

	for (uint32_t i = 0; i < p->nprocs; i++) {
		struct calc_proc *proc = &p->procs[i];

		if (!proc->classes)
			continue;
		double *insts = calc_count_classes(proc), *sum = squares(proc, insts);

		for (uint32_t c = 0; c < proc->nclasses; c++) {
			if (proc->classes[c].samples < SPREAD_LEAST * insts[c])
				continue;
			const struct spread s = class_spread(&proc->classes[c], insts[c], sum[c]);

			all.sum += s.sum;
			all.degrees += s.degrees;
		}
		free(insts);
		free(sum);
	}
	return all.degrees > 0 ? all.sum / all.degrees : 1;
}

void calc_evidence_relative(struct calc_program *p, struct calc_proc *proc)
{
	const double period = (double)p->sampling.period[SAMPLED_CYCLES];

	if (!(p->spread > 0))
		p->spread = fmax(program_spread(p), 1e-6);
	double *insts = calc_count_classes(proc), *sum = squares(proc, insts);

	for (uint32_t c = 0; c < proc->nclasses; c++) {
		const double n = insts[c], seen = proc->classes[c].samples;
		const struct spread s = class_spread(&proc->classes[c], n, sum[c]);
		const double square = (s.sum + POOLED * p->spread) / (s.degrees + POOLED);

		calc_pool_class(&proc->classes[c], n, seen,
				seen + (n > 0 ? square * seen * seen / n : 0), period);
	}
	free(insts);
	free(sum);
}
