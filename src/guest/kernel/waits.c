/* SPDX-License-Identifier: MIT */
/*
 * Notes for how long threads wait, and which thread ends a wait. Whatever a thread's system call
 * does to another thread is that thread's doing; a deadline, a signal or another process is no
 * thread's.
 */
#include "guest/guest.h"
#include "guest/kernel/waits.h"
#include "guest/process/process.h"
#include "util/array.h"

static const uint8_t kind_of[] = {
	[WAIT_NONE] = TRACE_WAIT_TIME,	 [WAIT_TIME] = TRACE_WAIT_TIME,
	[WAIT_FUTEX] = TRACE_WAIT_FUTEX, [WAIT_FDS] = TRACE_WAIT_FILES,
	[WAIT_CHILD] = TRACE_WAIT_CHILD, [WAIT_SIGNAL] = TRACE_WAIT_SIGNAL,
	[WAIT_IPC] = TRACE_WAIT_IPC,
};

/* The instruction that was executed last, in program order. */
static uint64_t position(const struct guest *g)
{
	return g->insts + g->sched.log.faults - g->sched.log.base;
}

void guest_log_waits(struct guest *g)
{
	struct wait_log *log = &g->sched.log;

	log->on = true;
	log->base = g->insts;
	log->faults = 0;
	log->count = 0;
	for (size_t i = 0; i < g->sched.nthreads; i++)
		g->sched.threads[i]->logged = 0;
}

const struct trace_wait *guest_waits(const struct guest *g, size_t *count)
{
	*count = g->sched.log.count;
	return g->sched.log.waits;
}

void waits_begin(struct guest *g, struct thread *t)
{
	struct wait_log *log = &g->sched.log;

	/* If there is no other thread, none gets the processor meanwhile; and whether a call blocks at all that waits
	 * for another process is the host's doing. */
	if (!log->on || g->sched.nthreads < 2)
		return;
	ARRAY_ROOM(log->waits, log->capacity, log->count + 1);
	log->waits[log->count++] = (struct trace_wait){ .begin = position(g),
							.end = UINT64_MAX,
							.tid = t->tid,
							.kind = kind_of[t->wait.kind] };
	t->logged = log->count;
}

void waits_end(struct guest *g, struct thread *t)
{
	struct wait_log *log = &g->sched.log;

	if (!log->on || !t->logged)
		return;
	struct trace_wait *w = &log->waits[t->logged - 1];

	w->end = position(g);
	w->by = log->caller;
	if (t->wait.timed_out)
		w->kind = TRACE_WAIT_TIME;
	t->logged = 0;
}
