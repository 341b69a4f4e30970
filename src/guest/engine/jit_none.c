/* SPDX-License-Identifier: MIT */
/* Hosts without a translator: the interpreter does all the work. */
#include "guest/engine/jit.h"

struct jit *jit_new(struct engine *e)
{
	(void)e;
	return NULL;
}

void jit_free(struct jit *j)
{
	(void)j;
}

bool jit_translate(struct jit *j, struct engine *e, struct block *b)
{
	(void)j, (void)e, (void)b;
	return true;
}

enum engine_exit jit_run(struct jit *j, struct engine *e, struct hart *h, struct block *b)
{
	(void)j, (void)e, (void)h, (void)b;
	return RUN_AGAIN;
}

const void *jit_near(const struct jit *j)
{
	(void)j;
	return NULL;
}

void jit_locality(struct jit *j, struct locality *l)
{
	(void)j, (void)l;
}

void jit_history(struct jit *j, struct history *h)
{
	(void)j, (void)h;
}

bool jit_can_run(const struct jit *j, const struct hart *h)
{
	(void)j, (void)h;
	return false;
}

void jit_unlink(struct jit *j)
{
	(void)j;
}

void jit_reset(struct jit *j)
{
	(void)j;
}

void jit_track(struct jit *j, uint8_t *touched)
{
	(void)j, (void)touched;
}

void jit_fork_begin(struct jit *j)
{
	(void)j;
}

void jit_fork_end(struct jit *j)
{
	(void)j;
}

bool jit_fork_child(struct jit *j)
{
	(void)j;
	return true;
}

void jit_recover(struct jit *j, struct engine *e, void *ucontext)
{
	(void)j, (void)e, (void)ucontext;
}
