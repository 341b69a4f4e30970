/* SPDX-License-Identifier: MIT */
/* Processes that a guest makes. */
#ifndef GUEST_PROCESS_FORK_H
#define GUEST_PROCESS_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guest;
struct thread;

struct child {
	int guest_pid, host_pid, pidfd;
	int exit_signal;
};

/* The part of a process that fork.c owns. */
struct family {
	struct child *children;
	size_t nchildren;
	uint64_t children_cpu_ns;
	bool child_look;       /* a child has ended, stopped or gone on */
	unsigned child_number; /* 0: the first process */
	bool run_here;	       /* not to be measured: runs to its end where it was made */
	int vfork_fd;	       /* write end to close at exec or exit; -1 */
	/* the parent's stack pointer, to give back what a vfork child wrote there */
	uint64_t vfork_sp;
};

void process_end_vfork(struct guest *g); /* the child has exec'ed or ended */

#endif
