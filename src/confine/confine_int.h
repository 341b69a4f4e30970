/* SPDX-License-Identifier: MIT */
/* Shared by the files of this folder and by nobody else. */
#ifndef CONFINE_CONFINE_INT_H
#define CONFINE_CONFINE_INT_H

#include <linux/filter.h>

#include "confine/confine.h"

/* Access by the plan's lists; NULL: only that nothing is executed, and nobody outside signalled.
 * The version in force, 0: none is. */
int landlock_apply(const struct confine_plan *plan, bool scratch, const bool *covered);
/* Calls that a simulation makes, and no others. */
enum seccomp_calls {
	SECCOMP_ALL,
	SECCOMP_NO_MARKS, /* less those that change modes, owners, times and attributes of files */
	SECCOMP_LOCAL,	  /* … and those that make sockets other than AF_UNIX */
};
bool seccomp_apply(enum seccomp_calls calls);
extern const struct sock_fprog seccomp_filters[]; /* written by make_filter.c */
bool capabilities_drop(void);

/* In new namespaces: a root folder that holds what the plan names and nothing else. False if that
 * cannot be; then nothing has been changed that anybody else sees. covered[i]: overlay i was made.
 */
bool root_build(const struct confine_plan *plan, bool *covered);

#endif
