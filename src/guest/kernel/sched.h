/* SPDX-License-Identifier: MIT */
/* Threads of a guest process: their state, what they wait for, and which of them runs. */
#ifndef GUEST_KERNEL_SCHED_H
#define GUEST_KERNEL_SCHED_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/engine/engine.h"
#include "guest/kernel/signal.h"
#include "trace/waits.h"

struct guest;
struct syscall_row;

enum wait_kind {
	WAIT_NONE,
	WAIT_TIME,   /* only the deadline ends it */
	WAIT_FUTEX,  /* a wake on futex_addr */
	WAIT_FDS,    /* one of fds is ready */
	WAIT_CHILD,  /* a child process changes state */
	WAIT_SIGNAL, /* a signal */
	WAIT_IPC,    /* a semaphore or message queue */
};

struct wait {
	enum wait_kind kind;
	bool started;	      /* the call has waited before: do not compute the deadline again */
	bool woken;	      /* futex: somebody woke it */
	bool timed_out;	      /* the deadline has passed */
	bool internal;	      /* fds: only this process can make them ready */
	uint64_t deadline_ns; /* guest time since boot; NO_TIME: for ever */
	uint64_t futex_addr;
	uint32_t futex_bits;
	bool futex_pi;	     /* it wants to own the word, not to be told of a change */
	uint64_t futex_then; /* FUTEX_WAIT_REQUEUE_PI: the word that it wants to own once woken */
	uint64_t order;	     /* first come, first woken */
	uint64_t progress;   /* bytes already moved by the blocked call */
	uint64_t sigset;     /* rt_sigtimedwait: what it takes */
	struct pollfd *fds;  /* host file descriptors */
	size_t nfds, cap_fds;
};

enum thread_state {
	THREAD_READY,
	THREAD_BLOCKED,
	THREAD_DEAD,
};

struct thread {
	struct hart hart; /* first: the engine works on it */
	uint32_t tid;
	enum thread_state state;
	/* the system call it is in */
	const struct syscall_row *row;
	uint64_t args[6];
	struct wait wait;
	/* signals */
	uint64_t sigmask;
	uint64_t saved_sigmask; /* to put back after sigsuspend, ppoll, … */
	bool restore_sigmask;
	struct sig_pending pending;
	uint64_t alt_sp, alt_size;
	uint32_t alt_flags;
	/* what the C library registered */
	uint64_t clear_tid;
	uint64_t robust_head, robust_len;
	uint64_t rseq_addr;
	uint32_t rseq_bytes, rseq_sig;
	char name[16];
	struct engine_thread vector; /* for basic block vectors */
	size_t logged;		     /* its row of wait_log.waits under way, from 1; 0: none */
};

/* waits.c: the waits since guest_log_waits. */
struct wait_log {
	bool on;
	uint64_t base, faults; /* instructions before it; instructions that faulted since */
	uint32_t caller;       /* the thread whose system call the kernel works on; 0: none */
	struct trace_wait *waits;
	size_t count, capacity;
};

/* The part of a process that sched.c owns. */
struct sched {
	struct thread **threads;
	size_t nthreads;
	size_t live;		       /* threads that have not ended */
	bool resched;		       /* another thread may run now */
	uint64_t wait_order;	       /* the next struct wait's order */
	uint64_t quantum, quantum_end; /* in instructions */
	struct wait_log log;
};

struct thread *thread_new(struct guest *g);
void thread_exit(struct guest *g, struct thread *t);
struct thread *thread_find(struct guest *g, uint32_t tid);
void threads_free(struct guest *g, const struct thread *except);
/* Ends the process; wait_status as wait4 reports it. */
void guest_end(struct guest *g, int wait_status);
/* Delivers signals, fires timers, chooses the thread that runs next, and if none can, waits. */
void guest_settle(struct guest *g);
int64_t wait_begin(struct thread *t, enum wait_kind kind, uint64_t deadline_ns);
/* Blocks until one of the guest's host descriptors is ready. */
int64_t wait_fd(struct guest *g, struct thread *t, int fd, short events, uint64_t deadline_ns);

#endif
