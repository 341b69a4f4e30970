/* SPDX-License-Identifier: MIT */
/*
 * Generated host code for hot blocks. On a host without a translator (jit_none.c) jit_new returns
 * NULL and the interpreter does all the work.
 */
#ifndef GUEST_JIT_H
#define GUEST_JIT_H

#include "guest/engine/impl.h"

struct jit *jit_new(struct engine *e);
void jit_free(struct jit *j);

/* An address that generated code reaches relative to its own. */
const void *jit_near(const struct jit *j);

/* From now on code notes what it touches; there is no code yet. */
void jit_locality(struct jit *j, struct locality *l);
void jit_history(struct jit *j, struct history *h);

/* Makes b->code. False if there is no room: the whole cache must then be dropped. */
bool jit_translate(struct jit *j, struct engine *e, struct block *b);

/* Runs from b, which has code, until the loop is needed: e->left and all of the hart are exact. */
enum engine_exit jit_run(struct jit *j, struct engine *e, struct hart *h, struct block *b);

/* Whether generated code may run with this hart's rounding mode. */
bool jit_can_run(const struct jit *j, const struct hart *h);

/* Forgets all links between blocks; b->code of blocks that go away is not entered again. */
void jit_unlink(struct jit *j);
/* Drops all generated code. */
void jit_reset(struct jit *j);

/* Around a fork, which generated code does not survive by itself: begin and end in the parent,
 * child in the child. False if the child has no code; the translator must then be freed. */
/* What is translated from now on marks pages there; NULL: nothing. */
void jit_track(struct jit *j, uint8_t *touched);
void jit_fork_begin(struct jit *j);
void jit_fork_end(struct jit *j);
bool jit_fork_child(struct jit *j);

/* In the signal handler: if generated code faulted, brings hart, e->cur and e->left up to date. */
void jit_recover(struct jit *j, struct engine *e, void *ucontext);

#endif
