/* SPDX-License-Identifier: MIT */
/* System V IPC: what it must be told about processes and threads. */
#ifndef GUEST_KERNEL_IPC_H
#define GUEST_KERNEL_IPC_H

#include <stdbool.h>

struct guest;
struct thread;

void ipc_init(struct guest *g);
void ipc_free(struct guest *g);
void ipc_forked(struct guest *g, int parent);	 /* in the child: what it inherits */
void ipc_forget_memory(struct guest *g);	 /* exec: attached segments are gone */
void ipc_process_gone(struct guest *g, int pid); /* ended: detaches, undoes */
void ipc_wait_end(struct guest *g, struct thread *t);
bool ipc_retry(struct guest *g); /* threads that wait for a queue or semaphore; true: one goes on */

#endif
