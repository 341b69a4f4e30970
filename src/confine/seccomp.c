/* SPDX-License-Identifier: MIT */
/* seccomp: the system calls that remain. The filters are made by make_filter.c at build time. */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confine_int.h"

bool seccomp_apply(enum seccomp_calls calls)
{
	/* Without the mitigation of speculative store bypass, which slows everything down: the
	 * filter gives the guest nothing new to learn by speculation. */
	const unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &seccomp_filters[calls]);
}
