/* SPDX-License-Identifier: MIT */
/* The shortest program that still prints: what start-up costs. */
#include <stdio.h>

int main(void)
{
	return puts("hello") < 0;
}
