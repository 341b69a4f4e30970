/* SPDX-License-Identifier: MIT */
/* What the methods that use flow share. */
#ifndef CALC_PARTS_H
#define CALC_PARTS_H

#include "calc/calc.h"

extern const struct calc_method calc_profi, calc_flow, calc_bit;

/* Flows, in units, become the frequencies of a procedure's blocks and edges. Intervals stay those of
 * the classes. */
void calc_put_flows(struct calc_proc *proc, const int64_t *blocks, const int64_t *edges,
		    double unit);

/* Empties the classes, and counts the samples of each and, in the answer, its instructions; the caller
 * frees that. */
double *calc_count_classes(struct calc_proc *proc);
/* A class' frequency from `seen` samples of all its instructions. */
void calc_pool_class(struct calc_class *c, double insts, double seen, double variance,
		     double period);

/*
 * What is believed of a class's frequency: the most likely value and the standard errors to either
 * side, apart because stalls only make an estimate too large. NAN: nothing.
 */
struct belief {
	double mean, down, up;
};

/* Makes the beliefs of a procedure's classes, one each. */
typedef void calc_believe(const struct calc_program *p, const struct calc_proc *proc,
			  struct belief *out);
/* From the likelihood of the samples (likelihood.c), in order; else from the evidence in classes[]. */
calc_believe calc_believe_samples;
/* Of a class without samples: `once`: executions for which one is due; points that could have one. */
struct belief calc_believe_none(double once, uint32_t points);

/* Frequencies of all procedures by flow: within each by minimum cost, between them by calls. */
void calc_flow_program(struct calc_program *p, calc_believe *believe);

/* Sets the intervals of all blocks and edges: errors are their own where classes have a belief, what
 * the equations around them leave elsewhere, and the smaller of both. */
void calc_put_intervals(struct calc_proc *proc, const struct belief *beliefs);
#define CALC_NONE_MOST 3    /* samples that an instruction without any may have been due, at 95% */
#define CALC_Z95       1.96 /* deviations that 95% of a normal distribution lie within */

#endif
