/* SPDX-License-Identifier: MIT */
/*
 * Signals of the guest: sending, pending signals, delivery to a handler, and the host's signals
 * that are the guest's.
 */
#ifndef GUEST_KERNEL_SIGNAL_H
#define GUEST_KERNEL_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct guest;
struct thread;

#define GUEST_SIGNALS 64

struct sig_node {
	siginfo_t info;
	struct sig_node *next;
};

struct sig_pending {
	uint64_t set; /* bit n - 1: signal n */
	struct sig_node *head;
};

struct sig_action {
	uint64_t handler, flags, mask; /* the layout of the riscv64 kernel */
};

/* The part of a process that signal.c owns. */
struct signals {
	struct sig_action action[GUEST_SIGNALS + 1];
	struct sig_pending pending;    /* for the process: any of its threads takes it */
	_Atomic uint64_t host_pending; /* signals that came to the host process */
	uint64_t host_caught;	       /* signals whose host handler is ours */
};

void signal_send(struct guest *g, struct thread *t,
		 const siginfo_t *info); /* t NULL: the process */
void signal_send_kernel(struct guest *g, struct thread *t, int signo);
void signal_fault(struct guest *g, struct thread *t, int signo, int code, uint64_t addr);
void signal_deliver(struct guest *g, struct thread *t);
bool signal_pending(const struct guest *g, const struct thread *t);
void signal_collect_host(struct guest *g);
void signal_update_fds(struct guest *g);
void signal_flush(struct sig_pending *p);
bool signal_take(struct guest *g, struct thread *t, uint64_t set, siginfo_t *info);
void signal_after_exec(struct guest *g);
void signal_adopt_host(struct guest *g);
void signal_release_host(struct guest *g);
/* From now on a host signal of this number is the guest's. */
void signal_watch_host(struct guest *g, int signo);
/* What the host's process is sent when there is something to look at: mail, or a resource that one
 * of its threads waits for. */
#define SIGNAL_LOOK SIGURG
void signal_reset_host(struct guest *g); /* in a new child process */
/* The thread loses the hart: a restartable sequence that it is in must begin again. */
void rseq_abort(struct guest *g, struct thread *t);

#endif
