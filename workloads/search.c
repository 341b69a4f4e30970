/* SPDX-License-Identifier: MIT */
/*
 * Binary search for random keys in a table that fits in the first-level cache: every comparison is
 * a coin toss to the branch predictor, and little else costs anything.
 *
 *      search SEARCHES [KEYS]
 */
#include "workload.h"

static size_t __attribute__((noinline)) search(const uint32_t *table, size_t count, uint32_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (table[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int main(int argc, char **argv)
{
	uint64_t searches = workload_arg(argc, argv, 1, 100000, 1, UINT64_MAX);
	size_t count = workload_arg(argc, argv, 2, 2048, 1, 1 << 26);
	uint32_t *table = workload_array(count, sizeof(*table));
	uint64_t state = 362436069, sum = 0;

	for (size_t i = 0; i < count; i++)
		table[i] = ((uint64_t)i << 32) / count;
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < searches; i++)
		sum = sum * 31 + search(table, count, workload_random(&state) >> 32);
	CULPRIT_END();
	return workload_print("search", workload_mix(0, sum));
}
