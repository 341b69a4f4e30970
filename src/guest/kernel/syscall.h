/* SPDX-License-Identifier: MIT */
/*
 * System calls.
 *
 * A system call is a function that returns a result or -errno. One that would block says what it
 * waits for (struct wait) and returns SYS_BLOCK; it is called again, with wait.started set, once
 * that happened. A guest thread therefore never blocks the host as long as another one can run.
 */
#ifndef GUEST_KERNEL_SYSCALL_H
#define GUEST_KERNEL_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

struct guest;
struct thread;

#define SYS_BLOCK INT64_MIN	  /* the thread waits: see struct wait */
#define SYS_DONE  (INT64_MIN + 1) /* the registers are as they should be: sigreturn, execve */

struct syscall_row {
	const char *name; /* NULL: there is no such call */
	int64_t (*fn)(struct guest *g, struct thread *t, const uint64_t *a);
	unsigned flags;
};
#define SF_RESTART  1 /* begins again after a handler with SA_RESTART */
#define SYSCALL_MAX 512
extern const struct syscall_row syscall_table[SYSCALL_MAX];
#define SYS(nr, name, flags)                                                                       \
	int64_t sys_##name(struct guest *g, struct thread *t, const uint64_t *a);
#include "guest/kernel/syscalls.def"
#undef SYS

void syscall_enter(struct guest *g, struct thread *t);
/* Calls the blocked call again; true if it is done. */
bool syscall_retry(struct guest *g, struct thread *t);
void syscall_finish(struct guest *g, struct thread *t, int64_t result);

#endif
