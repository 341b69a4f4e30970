/* SPDX-License-Identifier: MIT */
/* Simulated CPI stacks, cause by cause (eyerman2006 section 5.2). */
#ifndef CMD_STACK_REFERENCE_H
#define CMD_STACK_REFERENCE_H

#include "cmd/simulating.h"
#include "jobs/jobs.h"
#include "store/store.h"
#include "view/stack.h"

#define STACK_REFERENCES 2

/*
 * Simulates the stacks of a run in both orders, or takes them from the cache. Fills `out` and sets
 * count to the number of stacks: a simulation that failed is named on standard error, and the order
 * that needs it is left out; both are if the run does not repeat. False and e filled if the run
 * cannot be simulated again or the work was interrupted.
 */
bool stack_reference_make(struct store *s, const struct simulating *o,
			  struct stack_reference out[STACK_REFERENCES], size_t *count,
			  struct err *e);

#endif
