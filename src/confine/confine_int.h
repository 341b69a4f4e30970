/* SPDX-License-Identifier: MIT */
/* Shared by the files of this folder and by nobody else. */
#ifndef CONFINE_CONFINE_INT_H
#define CONFINE_CONFINE_INT_H

#include <linux/filter.h>

#include "confine/confine.h"

/* Restricts access to the plan's lists; with NULL, only execution and signals to processes outside.
 * Returns the version in force, or 0. */
int landlock_apply(const struct confine_plan *plan, bool scratch, const bool *covered);
/* Allows the system calls that a simulation makes, and no others. */
enum seccomp_calls {
	SECCOMP_ALL,
	SECCOMP_NO_MARKS, /* without those that change modes, owners, times, attributes */
	SECCOMP_LOCAL,	  /* also without those that make sockets other than AF_UNIX */
};
bool seccomp_apply(enum seccomp_calls calls);
extern const struct sock_fprog seccomp_filters[]; /* written by make_filter.c */
bool capabilities_drop(void);

/* In new namespaces: makes a root folder that holds what the plan names and nothing else. False
 * if that fails; then nothing has changed that other processes see. covered[i]: overlay i was
 * made. */
bool root_build(const struct confine_plan *plan, bool *covered);

#endif
