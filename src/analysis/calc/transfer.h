/* SPDX-License-Identifier: MIT */
/* Which instructions transfer control. */
#ifndef ANALYSIS_CALC_TRANSFER_H
#define ANALYSIS_CALC_TRANSFER_H

#include <stdbool.h>

#include "isa/isa.h"
#include "trace/record.h"

/* Whether the guest went on elsewhere than behind it after it had trapped: in a signal handler or in
 * another thread. A page fault goes on at the same instruction, which its record does not tell. */
static inline bool traps_elsewhere(const struct rec_inst *r)
{
	return r->flags & RI_EXCEPTION && r->target != r->pc + ((r->word & 3) == 3 ? 4 : 2);
}

/* Whether its edges are counted: branches and jumps of all kinds, taken or not; system calls; and
 * whatever else goes on elsewhere. */
static inline bool ends_block(const struct rec_inst *r)
{
	return r->flags & (RI_BRANCH | RI_JUMP | RI_CALL | RI_RETURN | RI_INDIRECT) ||
	       r->cls == CLASS_SYSTEM || traps_elsewhere(r);
}

#endif
