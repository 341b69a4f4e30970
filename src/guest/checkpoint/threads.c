/* SPDX-License-Identifier: MIT */
/*
 * Threads in a checkpoint: registers, the call that a thread is in and what it waits for, signals, what the C
 * library has registered; and who runs next, with how much of its quantum.
 *
 * A blocked call is called again after the restore, as it is whenever something happened (syscall.h), with what it
 * had reached in struct wait. The host's descriptors in there are numbers of the guest in the file; one that the
 * guest has closed meanwhile stands for a descriptor that is not open.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

static void hart_state(struct state *s, struct hart *h)
{
	for (size_t i = 0; i < 32; i++)
		state_u64(s, &h->x[i]);
	for (size_t i = 0; i < 32; i++)
		state_u64(s, &h->f[i]);
	state_u64(s, &h->pc);
	state_u32(s, &h->fflags);
	state_u32(s, &h->frm);
	state_u64(s, &h->lr_addr);
	state_u64(s, &h->lr_value);
	if (h->x[0] || h->fflags > 31 || h->frm > 7)
		state_fail(s, "a register has a value that it cannot have");
}

/* The guest's number of a host descriptor, and back; -1 is none, -2 one that is no longer open. */
static int guest_number(const struct guest *g, int host)
{
	if (host < 0)
		return -1;
	for (size_t i = 0; i < g->nfds; i++)
		if (g->fds[i].kind != FD_CLOSED && g->fds[i].host == host)
			return (int)i;
	return -2;
}

static int host_number(const struct guest *g, struct state *s, int number)
{
	if (number == -1)
		return -1;
	if (number == -2)
		return INT_MAX; /* poll finds that it is not open, as it would have */
	if (number < 0 || (size_t)number >= g->nfds || g->fds[number].kind == FD_CLOSED) {
		state_fail(s, "a thread waits for descriptor %d, which is not open", number);
		return -1;
	}
	return g->fds[number].host;
}

static void wait_state(struct guest *g, struct state *s, struct wait *w)
{
	w->kind = (enum wait_kind)state_below(s, w->kind, WAIT_IPC + 1);
	state_bool(s, &w->started);
	state_bool(s, &w->woken);
	state_bool(s, &w->timed_out);
	state_bool(s, &w->internal);
	state_u64(s, &w->deadline_ns);
	state_u64(s, &w->futex_addr);
	state_u32(s, &w->futex_bits);
	state_bool(s, &w->futex_pi);
	state_u64(s, &w->futex_then);
	state_u64(s, &w->order);
	state_u64(s, &w->progress);
	state_u64(s, &w->sigset);
	STATE_LIST(s, w->fds, w->nfds, CHECKPOINT_WAITS, p)
	{
		int number = state_reading(s) ? 0 : guest_number(g, p->fd);
		uint16_t events = (uint16_t)p->events;

		state_i32(s, &number);
		state_u16(s, &events);
		if (state_reading(s))
			*p = (struct pollfd){ .fd = host_number(g, s, number),
					      .events = (short)events };
	}
	if (state_reading(s))
		w->cap_fds = w->nfds;
}

static void row_state(struct state *s, const struct syscall_row **row)
{
	uint32_t number =
	    state_reading(s) || !*row ? SYSCALL_MAX : (uint32_t)(*row - syscall_table);

	number = state_below(s, number, SYSCALL_MAX + 1);
	*row = number < SYSCALL_MAX ? &syscall_table[number] : NULL;
	if (*row && !(*row)->fn)
		state_fail(s, "a thread is in system call %u, which this culprit does not have",
			   number);
}

static void thread_state(struct guest *g, struct state *s, struct thread *t)
{
	hart_state(s, &t->hart);
	state_u32(s, &t->tid);
	t->state = (enum thread_state)state_below(s, t->state, THREAD_DEAD + 1);
	row_state(s, &t->row);
	for (size_t i = 0; i < ARRAY_LEN(t->args); i++)
		state_u64(s, &t->args[i]);
	wait_state(g, s, &t->wait);
	state_u64(s, &t->sigmask);
	state_u64(s, &t->saved_sigmask);
	state_bool(s, &t->restore_sigmask);
	pending_state(s, &t->pending);
	state_u64(s, &t->alt_sp);
	state_u64(s, &t->alt_size);
	state_u32(s, &t->alt_flags);
	state_u64(s, &t->clear_tid);
	state_u64(s, &t->robust_head);
	state_u64(s, &t->robust_len);
	state_u64(s, &t->rseq_addr);
	state_u32(s, &t->rseq_bytes);
	state_u32(s, &t->rseq_sig);
	state_raw(s, t->name, sizeof(t->name));
	if (!state_reading(s))
		return;
	t->name[sizeof(t->name) - 1] = 0;
	if (t->state == THREAD_BLOCKED && (!t->row || !t->wait.started))
		state_fail(s, "a thread waits, but in no system call");
	if (t->tid - (uint32_t)g->pid_base >= PROC_SLOTS)
		state_fail(s, "a thread has number %u", t->tid);
}

/* A thread that was read enters the table of processes as clone does it. */
static void enter(struct guest *g, struct state *s, const struct thread *t)
{
	if (t->tid == (uint32_t)g->pid || t->state == THREAD_DEAD)
		return;
	if (proc_slot(g, (int)t->tid)->guest_pid)
		state_fail(s, "two threads have number %u", t->tid);
	else
		proc_slot_take(g, (int)t->tid, g->pid, proc_slot(g, g->pid));
}

void checkpoint_threads(struct guest *g, struct state *s)
{
	struct sched *c = &g->sched;
	uint32_t current = 0;
	const size_t n = state_count(s, c->nthreads, CHECKPOINT_THREADS);

	for (size_t i = 0; i < n && state_ok(s); i++) {
		if (state_reading(s))
			thread_new(g);
		thread_state(g, s, c->threads[i]);
		if (state_reading(s) && state_ok(s))
			enter(g, s, c->threads[i]);
		if (c->threads[i] == g->cur)
			current = (uint32_t)i;
	}
	current = state_below(s, current, (uint32_t)(n ? n : 1));
	state_u64(s, &c->live);
	state_bool(s, &c->resched);
	state_u64(s, &c->wait_order);
	state_u64(s, &c->quantum);
	state_u64(s, &c->quantum_end);
	if (!state_reading(s))
		return;
	size_t live = 0;

	for (size_t i = 0; i < c->nthreads; i++)
		live += c->threads[i]->state != THREAD_DEAD;
	if (!n || !live || c->live != live || !c->quantum)
		state_fail(s, "it has no thread that could run");
	g->cur = state_ok(s) ? c->threads[current] : NULL;
	if (g->cur && g->cur->state == THREAD_DEAD)
		state_fail(s, "the thread that runs has ended");
}
