/* SPDX-License-Identifier: MIT */
/* What a guest may use at most: resource limits as Linux has them, and those of the sandbox. */
#ifndef GUEST_PROCESS_LIMITS_H
#define GUEST_PROCESS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct guest;
struct thread;

struct guest_limits {
	uint64_t cur, max;
};

/* Whether one more process or thread is allowed; if not, one line says so. */
bool limits_process(struct guest *g);
/* Whether any limit of guest_config is set: only then limits_call is needed. */
bool limits_any(const struct guest *g);
/* Makes the thread's system call, as far as the limits allow. */
int64_t limits_call(struct guest *g, struct thread *t);

#endif
