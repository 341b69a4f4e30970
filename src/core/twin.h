/* SPDX-License-Identifier: MIT */
/*
 * Two cores, one program: the run's own core leads and executes the guest; a twin follows, the same
 * machine with perfect caches and TLBs, and says when each instruction would have been dispatched
 * and committed there.
 *
 *   W1  The leader alone steps the guest and sets its clock. Every right-path step is written down
 *       under its po, and the twin takes it from there: both commit the same instructions.
 *
 *   W2  Before a step overwrites memory, what stands there is written down too. The twin's wrong
 *       paths so read memory as it was after the last step that the twin has taken, however far
 *       the leader is ahead.
 *
 *   W3  Before the guest's kernel does anything (system call, signal, switch of threads), the
 *       leader waits until the twin has taken every step. What a kernel does to memory, mappings
 *       and registers therefore needs no undoing.
 *
 *   W4  The twin runs on a thread of its own, and nothing that it computes depends on how the two
 *       threads are scheduled.
 *
 * Not the same as in a run of its own: code that was written and not yet made valid by fence.i,
 * which a wrong path of the twin reads as memory has it.
 */
#ifndef CORE_TWIN_H
#define CORE_TWIN_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/guest.h"

struct core;
struct emit;
struct rec_cycle;
struct twin;

/* A twin of the leader c, whose pipeline is empty. */
struct twin *twin_new(struct core *c);
void twin_free(struct twin *t);

/* ---- the leader's side ---- */

/* The guest is about to execute the instruction at its pc. */
void twin_before(struct twin *t, struct core *c);
/* The guest has executed it: step gs, and the value of its destination register dst (0: none). */
void twin_after(struct twin *t, const struct core *c, const struct guest_step *gs, unsigned dst);
/* The guest's kernel is about to act. */
void twin_kernel(struct twin *t);
/* The leader's pipeline is empty and no more is fetched: the twin runs empty too. */
void twin_drain(struct twin *t);
/* The leader goes on. */
void twin_resume(struct twin *t);
/* Instructions were run functionally, or this is another host process: the twin begins again where
 * the guest is. */
void twin_attach(struct twin *t);
/* In a forked host process: threads are gone. */
void twin_forked(struct twin *t);
struct core *twin_core(struct twin *t);

/* Hands to emit (NULL: nobody), in program order, the stamps that it has not had yet of all
 * instructions that must have left the twin by now (all: every one). begun: as in emit_insts. */
void twin_deliver(struct twin *t, struct emit *emit, struct rec_cycle **begun, bool all);

/* ---- the twin's side: in place of the guest ---- */

/* Instructions have committed in this cycle. */
void twin_commits(struct twin *t);
/* False: the leader has not come so far. */
bool twin_has_step(struct twin *t);
void twin_step(struct twin *t, struct guest_step *gs);
uint64_t twin_peek(const struct twin *t, uint64_t addr, unsigned size_bytes);
/* Valid until the next call. */
const struct inst *twin_fetch(struct twin *t, uint64_t pc);
const struct hart *twin_hart(const struct twin *t);
uint64_t twin_code_version(const struct twin *t);

#endif
