/* SPDX-License-Identifier: MIT */
/*
 * Culprits of dynamic stalls (dcpi1997 section 6.3): guilty until proven innocent. No rule clears a
 * cause here yet, so each stays possible for every stall, without a bound.
 */
#include <math.h>

#include "calc/calc.h"

void calc_culprits(struct calc_program *p, struct calc_proc *proc)
{
	for (uint32_t i = 0; i < proc->graph->ninsts; i++) {
		struct calc_inst *in = &proc->insts[i];
		if (!(in->cpi > in->m))
			continue;
		in->culprits = x_calloc(CAUSE_COUNT, sizeof(*in->culprits));
		for (uint8_t c = 0; c < CAUSE_COUNT; c++)
			in->culprits[in->nculprits++] =
			    (struct calc_culprit){ .cause = c, .most = INFINITY };
	}
}
