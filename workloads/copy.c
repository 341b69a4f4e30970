/* SPDX-License-Identifier: MIT */
/*
 * The copy loop of dcpi1997 (figures 2, 4 and 7), c[i] = a[i] over 64-bit integers, unrolled by four
 * as the compiler there did: four loads, then four stores, limited by memory and the write buffer.
 *
 *      copy ELEMENTS ROUNDS
 */
#include "workload.h"

/* A plain loop would become a call of memcpy. */
static void __attribute__((noinline, optimize("no-tree-loop-distribute-patterns")))
copy(uint64_t *restrict c, const uint64_t *restrict a, size_t count)
{
	for (size_t i = 0; i + 4 <= count; i += 4) {
		const uint64_t w = a[i], x = a[i + 1], y = a[i + 2], z = a[i + 3];

		c[i] = w;
		c[i + 1] = x;
		c[i + 2] = y;
		c[i + 3] = z;
	}
}

int main(int argc, char **argv)
{
	size_t count = workload_arg(argc, argv, 1, 200000, 4, 1 << 28) & ~(size_t)3;
	uint64_t rounds = workload_arg(argc, argv, 2, 14, 1, UINT64_MAX), sum = 0;
	uint64_t *a = workload_array(count, sizeof(*a)), *c = workload_array(count, sizeof(*c));

	for (size_t i = 0; i < count; i++)
		a[i] = i * 3;
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < rounds; i++)
		copy(c, a, count);
	CULPRIT_END();
	for (size_t i = 0; i < count; i += count / 1000 + 1)
		sum = workload_mix(sum, c[i]);
	return workload_print("copy", sum);
}
