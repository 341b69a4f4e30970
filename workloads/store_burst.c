/* SPDX-License-Identifier: MIT */
/*
 * Bursts of stores, each to a cache line of its own at a random place of the working set, between
 * short stretches of dependent arithmetic: the store queue fills and dispatch waits for it to
 * drain.
 *
 *      store_burst BURSTS [KIB]        24 stores each
 */
#include "workload.h"

enum { LINE_WORDS = 8, STORES = 24 };

int main(int argc, char **argv)
{
	uint64_t bursts = workload_arg(argc, argv, 1, 50000, 1, UINT64_MAX);
	uint64_t kib = workload_arg(argc, argv, 2, 4096, 4, 1 << 22);
	uint64_t lines = kib * 1024 / 64, mask = 1, state = 20, sum = 0;
	uint64_t *memory;

	while (mask * 2 <= lines)
		mask *= 2;
	memory = workload_array(mask * LINE_WORDS, sizeof(*memory));
	mask--;
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < bursts; i++) {
		uint64_t r = workload_random(&state);

#pragma GCC unroll 24
		for (unsigned j = 0; j < STORES; j++) {
			memory[(r & mask) * LINE_WORDS] = i + j;
			r = r * 5 + 0x9e3779b97f4a7c15ULL;
			r ^= r >> 17;
		}
		for (unsigned j = 0; j < STORES; j++)
			sum = workload_mix(sum, j);
	}
	CULPRIT_END();
	for (uint64_t i = 0; i <= mask; i += 13)
		sum = workload_mix(sum, memory[i * LINE_WORDS]);
	return workload_print("store_burst", sum);
}
