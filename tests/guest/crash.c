/* SPDX-License-Identifier: MIT */
/* Reads through a bad pointer, in a function whose name the report must give. */
#include <stdio.h>

__attribute__((noinline)) int read_through(volatile int *p)
{
	return *p + 1;
}

int main(void)
{
	puts("before");
	fflush(stdout);
	return read_through((int *)0xdead0) ? 0 : 1;
}
