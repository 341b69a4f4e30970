/* SPDX-License-Identifier: MIT */
/*
 * Guest threads on one hart.
 *
 * A thread runs until it blocks, yields, ends, or has used its quantum of instructions; then the
 * next ready one in order of creation runs. Nothing depends on the host's timing, so a run repeats
 * exactly as long as nothing outside the process takes part.
 *
 * When every thread waits: what only time can end makes guest time jump to the earliest deadline;
 * what the outside can end (a terminal, a socket, a child process) makes the host wait; what
 * nothing can end is a deadlock, reported as such.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/futex.h"
#include "guest/kernel/ipc.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/baton.h"
#include "guest/process/fork.h"
#include "guest/process/image.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"
#include "util/array.h"

#define LOOK_AGAIN_INSTS 1000000000ull
/* Time jumps only after all other processes of the tree have slept for this long. */
#define QUIET_NS 5000000ull

struct thread *thread_new(struct guest *g)
{
	struct thread *t = x_calloc(1, sizeof(*t));

	t->hart.lr_addr = ~0ull;
	t->vector = ENGINE_THREAD_NEW;
	*ARRAY_ADD(g->sched.threads, g->sched.nthreads) = t;
	g->sched.live++;
	return t;
}

struct thread *thread_find(struct guest *g, uint32_t tid)
{
	for (size_t i = 0; i < g->sched.nthreads; i++)
		if (g->sched.threads[i]->tid == tid && g->sched.threads[i]->state != THREAD_DEAD)
			return g->sched.threads[i];
	return NULL;
}

static void thread_free(struct thread *t)
{
	signal_flush(&t->pending);
	free(t->wait.fds);
	free(t);
}

void threads_free(struct guest *g, const struct thread *except)
{
	size_t keep = 0;

	for (size_t i = 0; i < g->sched.nthreads; i++) {
		if (g->sched.threads[i] == except)
			g->sched.threads[keep++] = g->sched.threads[i];
		else
			thread_free(g->sched.threads[i]);
	}
	g->sched.nthreads = g->sched.live = keep;
}

/* Dead threads are removed only here: nothing holds a pointer to one between two calls of
 * guest_settle. */
static void bury(struct guest *g)
{
	size_t keep = 0;

	for (size_t i = 0; i < g->sched.nthreads; i++) {
		if (g->sched.threads[i]->state == THREAD_DEAD && g->sched.threads[i] != g->cur)
			thread_free(g->sched.threads[i]);
		else
			g->sched.threads[keep++] = g->sched.threads[i];
	}
	g->sched.nthreads = keep;
}

/* A mutex that died with its owner: marks it and wakes a waiter, as the kernel does. */
static void release_robust(struct guest *g, struct thread *t, uint64_t addr, bool pi)
{
	uint32_t word;

	if ((addr & 3) || copy_in(g, &word, addr, 4) < 0 || (word & 0x3fffffff) != t->tid)
		return;
	word = (word & 0x80000000u) | 0x40000000u;
	/* A futex with an owner is handed over below, or taken by the next thread that wants it. */
	if (copy_out(g, addr, &word, 4) == 0 && (word & 0x80000000u) && !pi)
		futex_wake(g, addr, 1, UINT32_MAX);
}

static void walk_robust_list(struct guest *g, struct thread *t)
{
	uint64_t head[3]; /* first entry, offset of the futex, entry being taken */
	uint64_t entry;

	if (!t->robust_head || copy_in(g, head, t->robust_head, sizeof(head)) < 0)
		return;
	entry = head[0];
	for (int i = 0; i < 2048 && (entry & ~1ull) != t->robust_head; i++) {
		uint64_t next;

		if (copy_in(g, &next, entry & ~1ull, 8) < 0)
			break;
		if (entry != head[2])
			release_robust(g, t, (entry & ~1ull) + head[1], entry & 1);
		entry = next;
	}
	if (head[2])
		release_robust(g, t, (head[2] & ~1ull) + head[1], head[2] & 1);
}

void thread_exit(struct guest *g, struct thread *t)
{
	futex_release_owned(g, t);
	walk_robust_list(g, t);
	if (t->clear_tid && g->sched.live > 1) {
		uint32_t zero = 0;

		if (copy_out(g, t->clear_tid, &zero, 4) == 0)
			futex_wake(g, t->clear_tid, 1, UINT32_MAX);
	}
	if (t->tid != (uint32_t)g->pid)
		proc_slot_drop(g, (int)t->tid);
	t->state = THREAD_DEAD;
	g->sched.live--;
	g->sched.resched = true;
}

void guest_end(struct guest *g, int wait_status)
{
	struct proc_slot *slot;

	if (g->ended)
		return;
	g->ended = true;
	g->wait_status = wait_status;
	g->exit_status =
	    WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
	g->event_at = 0;
	for (size_t i = 0; i < g->sched.nthreads; i++)
		if (g->sched.threads[i]->tid != (uint32_t)g->pid)
			proc_slot_drop(g, (int)g->sched.threads[i]->tid);
	/* Other processes may wait for what is in shared memory. */
	for (size_t i = 0; g->procs->shares && i < g->sched.nthreads; i++)
		if (g->sched.threads[i]->state != THREAD_DEAD)
			walk_robust_list(g, g->sched.threads[i]);
	ipc_process_gone(g, g->pid);
	proc_tell_children(g, g->pid);
	slot = proc_slot(g, g->pid);
	if (slot) {
		slot->cpu_ns = clock_cpu_ns(g) + g->family.children_cpu_ns;
		slot->end_ns = clock_boot_ns(g);
		slot->status = wait_status | PROC_ENDED;
	}
	g->procs->alive--;
	baton_drop(g);
	process_end_vfork(g);
}

int64_t wait_begin(struct thread *t, enum wait_kind kind, uint64_t deadline_ns)
{
	if (!t->wait.started)
		t->wait.deadline_ns = deadline_ns;
	t->wait.kind = kind;
	if (kind != WAIT_FDS)
		t->wait.nfds = 0;
	return SYS_BLOCK;
}

int64_t wait_fd(struct guest *g, struct thread *t, int fd, short events, uint64_t deadline_ns)
{
	struct wait *w = &t->wait;
	const struct fd_entry *f = fd_get(g, (uint64_t)fd);

	ARRAY_ROOM(w->fds, w->cap_fds, 1);
	w->fds[0] = (struct pollfd){ .fd = f ? f->host : -1, .events = events };
	w->nfds = 1;
	w->internal = f && f->internal;
	return wait_begin(t, WAIT_FDS, deadline_ns);
}

/* Asks the host once about everything that blocked threads wait for; timeout as for ppoll. True if
 * a thread became ready. */
static bool poll_host(struct guest *g, const struct timespec *timeout)
{
	size_t n = 0, at = 0;
	struct pollfd stack_fds[32], *fds = stack_fds;
	bool woke = false, waits_child = false;
	sigset_t all, old;
	int got;

	for (size_t i = 0; i < g->sched.nthreads; i++) {
		const struct thread *t = g->sched.threads[i];

		if (t->state != THREAD_BLOCKED)
			continue;
		if (t->wait.kind == WAIT_FDS)
			n += t->wait.nfds;
		waits_child |= t->wait.kind == WAIT_CHILD;
	}
	if (waits_child)
		n += g->family.nchildren;
	if (n > ARRAY_LEN(stack_fds))
		fds = x_calloc(n, sizeof(*fds));
	for (size_t i = 0; i < g->sched.nthreads; i++) {
		const struct thread *t = g->sched.threads[i];

		if (t->state != THREAD_BLOCKED || t->wait.kind != WAIT_FDS)
			continue;
		memcpy(fds + at, t->wait.fds, t->wait.nfds * sizeof(*fds));
		at += t->wait.nfds;
	}
	for (size_t i = 0; at < n && i < g->family.nchildren; i++)
		fds[at++] = (struct pollfd){ .fd = g->family.children[i].pidfd, .events = POLLIN };

	if (timeout->tv_sec || timeout->tv_nsec)
		baton_drop(g);
	/* Signals wait until ppoll: none is lost between the check and the sleep. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (g->interrupted || g->signals.host_pending)
		got = 0;
	else
		got = ppoll(fds, at, timeout, &old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	baton_take(g);

	if (got > 0) {
		at = 0;
		for (size_t i = 0; i < g->sched.nthreads; i++) {
			struct thread *t = g->sched.threads[i];
			bool hit = false;

			if (t->state != THREAD_BLOCKED)
				continue;
			if (t->wait.kind == WAIT_FDS) {
				for (size_t k = 0; k < t->wait.nfds; k++)
					hit |= fds[at++].revents != 0;
			} else if (t->wait.kind == WAIT_CHILD) {
				hit = true;
			}
			if (hit)
				woke |= syscall_retry(g, t);
		}
	}
	if (fds != stack_fds)
		free(fds);
	return woke;
}

/* Threads whose deadline has passed go on. */
static bool expire(struct guest *g)
{
	bool woke = false;
	uint64_t now = 0;

	for (size_t i = 0; i < g->sched.nthreads; i++) {
		struct thread *t = g->sched.threads[i];

		if (t->state != THREAD_BLOCKED || t->wait.deadline_ns == NO_TIME)
			continue;
		if (!now)
			now = clock_boot_ns(g);
		if (t->wait.deadline_ns <= now) {
			t->wait.timed_out = true;
			woke |= syscall_retry(g, t);
		}
	}
	return woke;
}

/* A blocked thread that has a signal pending: its call ends, and signal_deliver decides how. */
static bool break_waits(struct guest *g)
{
	bool woke = false;

	for (size_t i = 0; i < g->sched.nthreads; i++) {
		struct thread *t = g->sched.threads[i];

		if (t->state == THREAD_BLOCKED && signal_pending(g, t)) {
			signal_deliver(g, t);
			woke |= t->state == THREAD_READY;
			if (g->ended)
				return true;
		}
	}
	return woke;
}

static uint64_t next_deadline(const struct guest *g)
{
	uint64_t next = timers_next_ns(g);

	for (size_t i = 0; i < g->sched.nthreads; i++)
		if (g->sched.threads[i]->state == THREAD_BLOCKED)
			next = min_u64(next, g->sched.threads[i]->wait.deadline_ns);
	return next;
}

static void report_deadlock(struct guest *g)
{
	char where[512];

	fflush(NULL);
	image_describe(g, g->cur->hart.pc, where, sizeof(where));
	warn("deadlock: nothing can ever wake the guest's %zu thread%s (thread %u at pc 0x%llx, "
	     "%s); ending it",
	     g->sched.live, g->sched.live == 1 ? "" : "s", g->cur->tid,
	     (unsigned long long)g->cur->hart.pc, where);
	guest_end(g, SIGKILL);
}

/* Can a process other than this one end the wait? */
static bool waits_for_outside(const struct guest *g)
{
	for (size_t i = 0; i < g->sched.nthreads; i++) {
		const struct thread *t = g->sched.threads[i];
		const struct mem_region *r;

		if (t->state != THREAD_BLOCKED)
			continue;
		switch (t->wait.kind) {
		case WAIT_FDS:
			if (!t->wait.internal || g->family.nchildren)
				return true;
			break;
		case WAIT_CHILD:
			return true;
		case WAIT_SIGNAL:
			if (t->wait.deadline_ns == NO_TIME || g->family.nchildren)
				return true;
			break;
		case WAIT_IPC:
			if (g->procs->alive > 1)
				return true;
			break;
		case WAIT_FUTEX:
			r = mem_region_at(&g->mem, t->wait.futex_addr);
			if (r && r->start <= t->wait.futex_addr && r->shared &&
			    g->procs->processes > 1)
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}

/* A child that stops or goes on is announced only by a signal, which the guest may ignore. */
static bool retry_children(struct guest *g)
{
	bool woke = false;

	if (!g->family.child_look)
		return false;
	g->family.child_look = false;
	for (size_t i = 0; i < g->sched.nthreads; i++)
		if (g->sched.threads[i]->state == THREAD_BLOCKED &&
		    g->sched.threads[i]->wait.kind == WAIT_CHILD)
			woke |= syscall_retry(g, g->sched.threads[i]);
	return woke;
}

/* A futex in memory shared with another process may have been changed by it: look again. */
static bool recheck_shared_futexes(struct guest *g, bool *any)
{
	bool woke = false;

	*any = false;
	for (size_t i = 0; i < g->sched.nthreads; i++) {
		struct thread *t = g->sched.threads[i];
		const struct mem_region *r;

		if (t->state != THREAD_BLOCKED || t->wait.kind != WAIT_FUTEX)
			continue;
		r = mem_region_at(&g->mem, t->wait.futex_addr);
		if (!r || r->start > t->wait.futex_addr || !r->shared)
			continue;
		*any = true;
		woke |= syscall_retry(g, t);
	}
	return woke;
}

static uint64_t sleep_on_host(struct guest *g, const struct timespec *ts, bool *woke)
{
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	*woke = poll_host(g, ts);
	clock_gettime(CLOCK_MONOTONIC, &after);
	return (uint64_t)(after.tv_sec - before.tv_sec) * NS_PER_SEC + (uint64_t)after.tv_nsec -
	       (uint64_t)before.tv_nsec;
}

/*
 * No thread can run: lets time pass until one can. False if interrupted.
 *
 * Time jumps to the deadline, but not while another process of the tree is still busy with what
 * comes before it: "server & sleep 1; client" gives the server its second. It never takes longer
 * than it would by the clock, and the guest cannot tell: its time is the same either way.
 */
static bool idle_until(struct guest *g, struct proc_slot *me)
{
	uint64_t held = 0, quiet = 0;

	for (;;) {
		const struct timespec none = { 0, 0 };
		struct timespec ts;
		uint64_t next, now, slept;
		bool shared, woke;

		signal_collect_host(g);
		timers_fire(g);
		if (break_waits(g) || expire(g) || retry_children(g) || ipc_retry(g) ||
		    recheck_shared_futexes(g, &shared) || poll_host(g, &none))
			return true;
		if (g->ended)
			return true;
		if (g->interrupted)
			return false;
		next = next_deadline(g);
		now = clock_boot_ns(g);
		if (next != NO_TIME && next <= now)
			continue;
		if (!g->config.real_time && !waits_for_outside(g)) {
			if (next == NO_TIME) {
				report_deadlock(g);
				return true;
			}
			me->wake_ns = next;
			if (held < next - now && g->procs->alive > 1) {
				bool any = false, busy = proc_others_before(g, next, &any);

				if (busy || (any && quiet < QUIET_NS)) {
					ts = (struct timespec){ 0,
								(long)min_u64(next - now, 500000) };
					slept = sleep_on_host(g, &ts, &woke);
					if (woke)
						return true;
					held += slept;
					quiet = busy ? 0 : quiet + slept;
					continue;
				}
			}
			held = quiet = 0;
			g->clock.skip_ns += next - now;
			continue;
		}
		me->wake_ns = next;
		/* Something outside must happen: sleep, but not past the deadline, to which guest
		 * time then jumps. */
		if (shared && (next == NO_TIME || next - now > 1000000))
			ts = (struct timespec){ 0, 1000000 };
		else if (next != NO_TIME)
			ts = (struct timespec){ (time_t)((next - now) / NS_PER_SEC),
						(long)((next - now) % NS_PER_SEC) };
		else
			ts = (struct timespec){ 3600, 0 };
		slept = sleep_on_host(g, &ts, &woke);
		if (woke)
			return true;
		if (!g->config.real_time && next != NO_TIME)
			g->clock.skip_ns += min_u64(slept, next - now);
	}
}

static bool idle(struct guest *g)
{
	struct proc_slot *me = proc_slot(g, g->pid);
	bool children = true, go_on;

	for (size_t i = 0; i < g->sched.nthreads; i++)
		children &= g->sched.threads[i]->state != THREAD_BLOCKED ||
			    g->sched.threads[i]->wait.kind == WAIT_CHILD;
	me->waits_child = children;
	go_on = idle_until(g, me);
	me->wake_ns = 0;
	return go_on;
}

static size_t index_of(const struct guest *g, const struct thread *t)
{
	size_t i = 0;

	while (i < g->sched.nthreads && g->sched.threads[i] != t)
		i++;
	return i;
}

static struct thread *next_ready(struct guest *g, bool self_last)
{
	size_t at = index_of(g, g->cur);

	if (!self_last && g->cur->state == THREAD_READY)
		return g->cur;
	for (size_t k = 1; k <= g->sched.nthreads; k++) {
		struct thread *t = g->sched.threads[(at + k) % g->sched.nthreads];

		if (t->state == THREAD_READY)
			return t;
	}
	return NULL;
}

void guest_settle(struct guest *g)
{
	bool blocked = false;
	struct thread *next;
	uint64_t deadline;

	g->stalled = false;
	if (g->insts >= g->sched.quantum_end) {
		g->sched.resched = true;
		baton_pass(g);
	}
	signal_collect_host(g);
	timers_fire(g);
	if (g->sched.nthreads > 1) {
		expire(g);
		break_waits(g);
		retry_children(g);
		if (g->ipc_look)
			ipc_retry(g);
		if (g->sched.resched || g->cur->state != THREAD_READY) {
			const struct timespec none = { 0, 0 };

			for (size_t i = 0; i < g->sched.nthreads; i++)
				blocked |= g->sched.threads[i]->state == THREAD_BLOCKED &&
					   (g->sched.threads[i]->wait.kind == WAIT_FDS ||
					    g->sched.threads[i]->wait.kind == WAIT_CHILD);
			if (blocked)
				poll_host(g, &none);
		}
	}
	while (!g->ended) {
		if (g->sched.live == 0) {
			/* The last thread ended by itself: exit() of a single thread. */
			guest_end(g, (g->wait_status & 0xff00));
			break;
		}
		next = next_ready(g, g->sched.resched);
		if (!next) {
			if (!idle(g)) {
				g->stalled = true;
				g->event_at = 0;
				return;
			}
			continue;
		}
		g->sched.resched = false;
		if (next != g->cur || g->insts >= g->sched.quantum_end)
			g->sched.quantum_end = g->insts + g->sched.quantum;
		if (next != g->cur) {
			next->hart.lr_addr = ~0ull;
			if (g->cur->rseq_addr && g->cur->state == THREAD_READY)
				rseq_abort(g, g->cur);
			g->cur = next;
		}
		signal_deliver(g, next);
		if (next->state == THREAD_READY && !g->sched.resched && !signal_pending(g, next))
			break;
	}
	if (g->ended) {
		g->event_at = 0;
		return;
	}
	if (g->sched.nthreads > g->sched.live)
		bury(g);
	baton_take(g);
	deadline = g->sched.nthreads > 1 ? next_deadline(g) : timers_next_ns(g);
	g->event_at = g->sched.nthreads > 1 || g->procs->alive > 1 ? g->sched.quantum_end
								   : g->insts + LOOK_AGAIN_INSTS;
	g->event_cycles = UINT64_MAX;
	if (deadline != NO_TIME) {
		g->event_at = min_u64(g->event_at, g->insts + clock_insts_until(g, deadline));
		if (g->cycle_mode)
			g->event_cycles = clock_cycles_at(g, deadline);
	}
}
