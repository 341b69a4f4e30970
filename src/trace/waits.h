/* SPDX-License-Identifier: MIT */
/* Waits of guest threads, as the emulated kernel saw them while there was more than one thread. */
#ifndef TRACE_WAITS_H
#define TRACE_WAITS_H

#include <stdint.h>

enum trace_wait_kind {
	TRACE_WAIT_TIME,   /* a deadline ended it */
	TRACE_WAIT_FUTEX,  /* a lock, a condition, another thread's end */
	TRACE_WAIT_FILES,  /* a pipe, a socket, a terminal */
	TRACE_WAIT_CHILD,  /* a child process */
	TRACE_WAIT_SIGNAL, /* a signal */
	TRACE_WAIT_IPC,	   /* a semaphore or a message */
	TRACE_WAIT_KINDS
};

/* A wait begins in the system call `begin` of thread tid and is over after instruction `end`; both
 * are numbers in program order, as in inst records. */
struct trace_wait {
	uint64_t begin, end; /* end: UINT64_MAX if it was not over when the run ended */
	uint32_t tid;
	uint32_t by;   /* the thread whose system call `end` ended it; 0: no thread did */
	uint32_t kind; /* enum trace_wait_kind */
};

#endif
