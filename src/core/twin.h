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

struct core;
struct emit;
struct rec_cycle;
struct twin;

/* Makes a twin of the leader c, whose pipeline must be empty. */
struct twin *twin_new(struct core *c);
void twin_free(struct twin *t);

/* ---- the leader's side ---- */

/* Call it when the guest is about to execute the instruction at its pc. */
void twin_before(struct twin *t, struct core *c);
/* Call it when the guest has executed an instruction: step gs, and the destination register dst (0:
 * none), whose value is read. */
void twin_after(struct twin *t, const struct core *c, const struct guest_step *gs, unsigned dst);
/* Call it when the guest's kernel is about to act. */
void twin_kernel(struct twin *t);
/* Lets the twin's pipeline run empty; the leader's is, and nothing more is fetched. */
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
 * instructions that must have left the twin by now (all: of every instruction). begun: as in
 * emit_insts. */
void twin_deliver(struct twin *t, struct emit *emit, struct rec_cycle **begun, bool all);

/* ---- the twin's side: in place of the guest ---- */

/* Call it in every cycle in which instructions commit. */
void twin_commits(struct twin *t);
/* Whether the leader has made the next step. */
bool twin_has_step(struct twin *t);
void twin_step(struct twin *t, struct guest_step *gs);
uint64_t twin_peek(const struct twin *t, uint64_t addr, unsigned size_bytes);
/* Valid until the next call. */
const struct inst *twin_fetch(struct twin *t, uint64_t pc);
const struct hart *twin_hart(const struct twin *t);
uint64_t twin_code_version(const struct twin *t);

#endif
