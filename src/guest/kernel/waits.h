/* SPDX-License-Identifier: MIT */
/* Which thread waits for which. */
#ifndef GUEST_KERNEL_WAITS_H
#define GUEST_KERNEL_WAITS_H

struct guest;
struct thread;

/* The thread's system call blocks; it goes on. */
void waits_begin(struct guest *g, struct thread *t);
void waits_end(struct guest *g, struct thread *t);

#endif
