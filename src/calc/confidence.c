/* SPDX-License-Identifier: MIT */
/*
 * How far each frequency can be trusted (dcpi1997 section 6.1.5), in words and as an interval. Both
 * follow from one standard error per block and edge: it grows with few issue points, with ratios that
 * are not tight and with few samples (calc_believe_samples), with every equation that an estimate was
 * propagated through, and where equations overruled samples (calc_put_intervals).
 *
 * Flows that are not the best (calc_proc.rough) are never more than low: their errors are not known.
 * The limits were set by hand, with the scores of our own kernels (workloads/) in sight.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/parts.h"

#define HIGH   0.06 /* relative error */
#define MEDIUM 0.10
#define Z90    1.645 /* deviations that 90% of a normal distribution lie within */

static enum confidence judge(const struct calc_program *p, const struct calc_proc *proc,
			     const struct calc_freq *f)
{
	double error = fmax(f->high - f->value, f->value - f->low) / (CALC_Z95 * f->value);
	if (isnan(f->value) || !(f->value > 0) || p->sampling.mode == CALC_RELATIVE || proc->rough)
		return CONFIDENCE_LOW;
	return error <= HIGH	 ? CONFIDENCE_HIGH
	       : error <= MEDIUM ? CONFIDENCE_MEDIUM
				 : CONFIDENCE_LOW;
}

static void finish(const struct calc_program *p, const struct calc_proc *proc, struct calc_freq *f)
{
	f->confidence = (uint8_t)judge(p, proc, f);
	if (p->sampling.mode == CALC_RELATIVE) {
		f->low = f->value - (f->value - f->low) * Z90 / CALC_Z95;
		f->high = f->value + (f->high - f->value) * Z90 / CALC_Z95;
	}
}

/* Methods without flow leave intervals to this. */
static bool has_flow(const struct calc_proc *proc)
{
	for (uint32_t e = 0; e < proc->graph->nedges; e++)
		if (proc->edges[e].origin == ORIGIN_FLOW)
			return true;
	return !proc->graph->nedges;
}

void calc_confidence(struct calc_program *p, struct calc_proc *proc)
{
	if (!has_flow(proc)) {
		struct belief *beliefs = x_calloc(proc->nclasses + 1, sizeof(*beliefs));
		calc_believe_samples(p, proc, beliefs);
		calc_put_intervals(proc, beliefs);
		free(beliefs);
	}
	for (uint32_t b = 0; b < proc->graph->nblocks; b++)
		finish(p, proc, &proc->blocks[b]);
	for (uint32_t e = 0; e < proc->graph->nedges; e++)
		finish(p, proc, &proc->edges[e]);
}
