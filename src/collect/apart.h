/* SPDX-License-Identifier: MIT */
/* Work in a short-lived process of its own, of which only descriptors and an errno come back. */
#ifndef COLLECT_APART_H
#define COLLECT_APART_H

#include <stdbool.h>
#include <stddef.h>

#define APART_FDS 32

/* Runs work() in a child process. It fills in fds[n] and returns 0, or returns an errno. Its
 * descriptors then are in fds here too, closed at exec. Returns what it returned; a child that
 * could not be started or died is an errno as well. *cpu_s (may be NULL) grows by the processor
 * time of the child. */
int apart(int (*work)(void *self, int *fds), void *self, int *fds, size_t n, double *cpu_s);

#endif
