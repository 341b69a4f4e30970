/* SPDX-License-Identifier: MIT */
/* Futexes, as far as other files need them. */
#ifndef GUEST_KERNEL_FUTEX_H
#define GUEST_KERNEL_FUTEX_H

#include <stdint.h>

struct guest;
struct thread;

unsigned futex_wake(struct guest *g, uint64_t addr, unsigned count, uint32_t bits);
/* The thread ends: what it owned goes to others. */
void futex_release_owned(struct guest *g, struct thread *t);

#endif
