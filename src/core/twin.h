/* SPDX-License-Identifier: MIT */
/*
 * A twin of a core: a second core that runs the same program. The run's own core leads and executes
 * the guest; the twin, the same machine with perfect caches and TLBs, follows and says when each
 * instruction would have been dispatched and committed there.
 *
 *   W1  Only the leader steps the guest and sets its clock. It records every right-path step under
 *       its po, and the twin takes the step from there: both commit the same instructions.
 *
 *   W2  Before a step overwrites memory, the leader records the old contents, too. So wrong paths
 *       of the twin read memory as it was after the last step that the twin has taken, however far
 *       ahead the leader is.
 *
 *   W3  Before the guest's kernel does anything (system call, signal, switch of threads), the
 *       leader waits until the twin has taken every step. What a kernel does to memory, mappings
 *       and registers therefore needs no undoing.
 *
 *   W4  The twin runs on a thread of its own, and nothing that it computes depends on how the two
 *       threads are scheduled.
 *
 * One difference from a separate run on that machine: a wrong path of the twin sees code that was
 * written and not yet made valid by fence.i as it is in memory.
 */
#ifndef CORE_TWIN_H
#define CORE_TWIN_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/guest.h"

#define TWIN_STRETCH 4096 /* instructions between two deliveries of stamps */

struct core;
struct emit;
struct rec_cycle;
struct twin;
struct uop;

/* A step of the guest as the leader records it. Two to a cache line: steps pass from processor to
 * processor, and that costs more than making them. */
struct twin_step {
	uint64_t next_pc;
	uint64_t addr; /* memory operand */
	uint64_t
	    value;     /* of its destination, after it; fence.i: the version of the code after it */
	uint32_t word; /* instruction word */
	uint8_t flags; /* enum guest_step_flag */
	uint8_t more;  /* enum twin_step_flag */
	uint8_t fcsr;  /* after it: fflags, frm << 5 */
	uint8_t unused;
};
_Static_assert(sizeof(struct twin_step) == 32, "half a cache line");

enum twin_step_flag {
	TWIN_MISSING = 1 << 0, /* there was no instruction at pc */
	TWIN_TOUCH = 1 << 1,   /* touches a page first: raises a page fault */
	TWIN_ATOMIC = 1 << 2,  /* may have changed the reservation */
	TWIN_CODE = 1 << 3,    /* code may have changed */
};

/* Makes a twin of the leader c, whose pipeline must be empty. */
struct twin *twin_new(struct core *c);
void twin_free(struct twin *t);

/* ---- the leader's side ---- */

/* Call it when the guest is about to execute the instruction at pc. Returns what is there, as
 * uop_get() does. */
const struct uop *twin_before(struct twin *t, struct core *c, uint64_t pc);
/* Call it when the guest has executed instruction u in step gs, after which the destination register
 * has that value; touch: it raises a page fault. */
void twin_after(struct twin *t, const struct core *c, const struct guest_step *gs,
		const struct uop *u, uint64_t value, bool touch);
/* Call it when the guest's kernel is about to act. */
void twin_kernel(struct twin *t);
/* Lets the twin's pipeline run empty; nothing more is fetched. */
void twin_drain(struct twin *t);
/* Call it when the leader goes on. */
void twin_resume(struct twin *t);
/* Restarts the twin where the guest is: after instructions were run functionally, or in another
 * host process. */
void twin_attach(struct twin *t);
/* Call it in a forked host process, which does not have the twin's thread. */
void twin_forked(struct twin *t);
struct core *twin_core(struct twin *t);

/* Hands stamps to emit (NULL: drops them), in program order: those that it has not had yet, of all
 * instructions that must have left the twin by now (all: of every one that the leader has committed,
 * after twin_drain). begun: as in emit_insts. */
void twin_deliver(struct twin *t, struct emit *emit, struct rec_cycle **begun, bool all);

/* ---- the twin's side: in place of the guest ---- */

/* Call it in every cycle in which instructions commit. */
void twin_commits(struct twin *t);
/* Whether the leader has made the next step. */
bool twin_has_step(struct twin *t);
/* Takes it; *pc is where the guest made it. */
const struct twin_step *twin_step(struct twin *t, uint64_t *pc);
uint64_t twin_peek(const struct twin *t, uint64_t addr, unsigned size_bytes);
/* Valid until the next call. */
const struct inst *twin_fetch(struct twin *t, uint64_t pc);
/* Its integer and floating-point registers are right only after an entry into the kernel. */
const struct hart *twin_hart(const struct twin *t);
uint64_t twin_code_version(const struct twin *t);

#endif
