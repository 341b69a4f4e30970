/* SPDX-License-Identifier: MIT */
/* Numbers on the command line of a kernel, which has no C library. */
#ifndef TESTS_UNIT_CORE_KERNEL_NUMBER_H
#define TESTS_UNIT_CORE_KERNEL_NUMBER_H

typedef unsigned long u64;

static u64 number(const char *s)
{
	u64 v = 0;

	while (*s)
		v = v * 10 + (u64)(*s++ - '0');
	return v;
}

#endif
