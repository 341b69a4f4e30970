/* SPDX-License-Identifier: MIT */
/*
 * Blocked matrix product in double precision: floating-point multiply-adds with high reuse, mostly
 * out of the first-level cache.
 *
 *      matmul N        N a multiple of 16
 */
#include "workload.h"

enum { BLOCK = 16 };

static void __attribute__((noinline))
matmul_block(double *c, const double *a, const double *b, size_t n)
{
	for (size_t i = 0; i < BLOCK; i++) {
		for (size_t k = 0; k < BLOCK; k++) {
			double x = a[i * n + k];

			for (size_t j = 0; j < BLOCK; j++)
				c[i * n + j] += x * b[k * n + j];
		}
	}
}

int main(int argc, char **argv)
{
	size_t n = workload_arg(argc, argv, 1, 112, BLOCK, 8192) / BLOCK * BLOCK;
	double *a = workload_array(n * n, sizeof(*a));
	double *b = workload_array(n * n, sizeof(*b));
	double *c = workload_array(n * n, sizeof(*c));
	uint64_t sum = 0;

	for (size_t i = 0; i < n * n; i++) {
		a[i] = (double)(i % 19) - 9.0;
		b[i] = (double)(i % 23) / 8.0;
	}
	CULPRIT_BEGIN();
	for (size_t i = 0; i < n; i += BLOCK)
		for (size_t j = 0; j < n; j += BLOCK)
			for (size_t k = 0; k < n; k += BLOCK)
				matmul_block(&c[i * n + j], &a[i * n + k], &b[k * n + j], n);
	CULPRIT_END();
	for (size_t i = 0; i < n * n; i += 7)
		sum = workload_mix_double(sum, c[i]);
	return workload_print("matmul", sum);
}
