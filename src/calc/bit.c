/* SPDX-License-Identifier: MIT */
/*
 * Method bit: what one more bit of hardware buys. A sample also says whether the instruction at the head of
 * the issue queue issues in that very cycle. An instruction issues in exactly one cycle of each
 * execution, and is the head in it, whatever it waited for, unless it issues with its predecessor.
 * So such samples times the period are at most its executions, and exactly those of instructions
 * that never issue second. In a class those are the ones that have the most: no schedule is needed.
 * A class takes the mean of the instructions that chance alone sets apart from the highest; then flow.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

#define MODEL 0.01 /* relative error: what sometimes issues second and was not told apart */
#define ALONE 0.05 /* likewise upwards, where a single instruction speaks for the class */
#define LEAST 40   /* samples of an instruction */
#define APART 2.5  /* deviations that chance may set apart */

static int compare_down(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x < y) - (x > y);
}

/* The mean of the highest counts that differ by chance alone; n: how many. */
static double highest(const double *counts, uint32_t *n)
{
	double sum = counts[0];
	uint32_t k = 1;
	/* The highest of many is high by chance, too: the mean comes down to them. */
	while (k < *n && counts[k] > sum / k - APART * sqrt(fmax(sum / k, 1)))
		sum += counts[k++];
	*n = k;
	return sum / k;
}

/* With few samples chance hides what is highest: the mean of the schedule's issue points. */
static double scheduled(const struct calc_proc *proc, const struct calc_members *members,
			uint32_t class, double otherwise, uint32_t *n)
{
	double sum = 0;
	uint32_t points = 0;
	for (uint32_t k = members->at[class]; k < members->at[class + 1]; k++) {
		const struct cfg_block *b = &proc->graph->blocks[members->list[k]];
		for (uint32_t i = b->first; i < b->first + b->count; i++)
			if (proc->insts[i].m >= 0.5) {
				sum += proc->insts[i].issued;
				points++;
			}
	}
	if (!(sum > 0))
		return otherwise;
	*n = points;
	return sum / points;
}

static void believe_bits(const struct calc_program *p, const struct calc_proc *proc,
			 struct belief *out)
{
	const struct cfg *g = proc->graph;
	double period = (double)p->sampling.period[SAMPLED_CYCLES];
	struct calc_members members = calc_members(proc);
	double *counts = x_calloc(g->ninsts + 1, sizeof(*counts));
	for (uint32_t c = 0; c < proc->nclasses; c++) {
		uint32_t n = 0;
		for (uint32_t k = members.at[c]; k < members.at[c + 1]; k++) {
			const struct cfg_block *b = &g->blocks[members.list[k]];
			for (uint32_t i = b->first; i < b->first + b->count; i++)
				counts[n++] = proc->insts[i].issued;
		}
		out[c] = (struct belief){ NAN, NAN, NAN };
		if (!n)
			continue;
		qsort(counts, n, sizeof(*counts), compare_down);
		if (!(counts[0] > 0)) {
			/* At most every second one issues with its predecessor. */
			out[c] = calc_believe_none(period, n / 2);
			continue;
		}
		double mean = highest(counts, &n);
		if (mean < LEAST)
			mean = scheduled(proc, &members, c, mean, &n);
		mean *= period;
		double error = sqrt(mean * period / n);
		out[c] = (struct belief){ mean, hypot(error, MODEL * mean),
					  hypot(error, (n > 1 ? MODEL : ALONE) * mean) };
	}
	free(counts);
	free(members.at);
	free(members.list);
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
	.issues = true,
	.estimate = bit_estimate,
};
