/* SPDX-License-Identifier: MIT */
/*
 * The four loops of STREAM (McCalpin), one at a time: loops assign|scale|sum|saxpy ROUNDS. Arrays are
 * larger than the caches, as the paper's are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N (4 << 20)

int main(int argc, char **argv)
{
	double *a = malloc(N * sizeof(*a)), *b = malloc(N * sizeof(*b)),
	       *c = malloc(N * sizeof(*c));

	if (argc != 3 || !a || !b || !c)
		return 2;
	for (long i = 0; i < N; i++)
		a[i] = 1, b[i] = 2, c[i] = 0;
	for (long k = atol(argv[2]); k > 0; k--) {
		if (!strcmp(argv[1], "assign"))
			for (long i = 0; i < N; i++)
				c[i] = a[i];
		else if (!strcmp(argv[1], "scale"))
			for (long i = 0; i < N; i++)
				b[i] = 3 * c[i];
		else if (!strcmp(argv[1], "sum"))
			for (long i = 0; i < N; i++)
				c[i] = a[i] + b[i];
		else
			for (long i = 0; i < N; i++)
				a[i] = b[i] + 3 * c[i];
		__asm__ volatile("" : : "r"(a), "r"(b), "r"(c) : "memory");
	}
	printf("%g\n", a[N / 2] + b[N / 2] + c[N / 2]);
	return 0;
}
