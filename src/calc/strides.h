/* SPDX-License-Identifier: MIT */
/* How often a load in a loop can come to another page. For the rules of culprit.c; see strides.c. */
#ifndef CALC_STRIDES_H
#define CALC_STRIDES_H

#include "calc/calc.h"
#include "calc/carried.h"

#define STRIDES_BLOCKS 32 /* of a loop, at most */

struct strides {
	const struct calc_proc *proc;
	const struct carried_op *ops;
	const struct machine *m;
	/* The loop around `block`, which was looked at last. */
	uint32_t block;
	bool loop; /* it has one of which all is known */
	uint32_t blocks[STRIDES_BLOCKS], n;
	double entered; /* how often, from outside */
};

struct strides strides_begin(const struct machine *m, const struct calc_proc *proc,
			     const struct carried_op *ops);
/* Of a load in a block: over all its executions, how often at most it can have missed the data TLB. INFINITY: not
 * known. */
double strides_new_pages(struct strides *s, uint32_t block, uint32_t inst);

#endif
