/* SPDX-License-Identifier: MIT */
/*
 * Joins two tables of random keys with an open-addressing hash table: the build stores and the
 * probe loads at random places, each probe independent of the others, so misses can overlap as far
 * as the window goes.
 *
 *      hash_join BUILD_ROWS PROBE_ROWS
 */
#include "workload.h"

struct slot {
	uint64_t key; /* 0: free */
	uint64_t payload;
};

static uint64_t hash(uint64_t key, unsigned shift)
{
	return key * 0x9e3779b97f4a7c15ULL >> shift;
}

int main(int argc, char **argv)
{
	uint64_t build_rows = workload_arg(argc, argv, 1, 50000, 1, 1 << 26);
	uint64_t probe_rows = workload_arg(argc, argv, 2, 200000, 1, UINT64_MAX);
	unsigned bits = 1;

	while (1ULL << bits < build_rows * 2)
		bits++;

	uint64_t mask = (1ULL << bits) - 1, state = 1234567, matches = 0, sum = 0;
	unsigned shift = 64 - bits;
	struct slot *table = workload_array(mask + 1, sizeof(*table));

	CULPRIT_BEGIN();
	for (uint64_t row = 0; row < build_rows; row++) {
		uint64_t key = workload_random(&state) % (build_rows * 4) + 1;
		uint64_t at = hash(key, shift);

		while (table[at].key && table[at].key != key)
			at = (at + 1) & mask;
		table[at].key = key;
		table[at].payload += row;
	}
	for (uint64_t row = 0; row < probe_rows; row++) {
		uint64_t key = workload_random(&state) % (build_rows * 4) + 1;
		uint64_t at = hash(key, shift);

		while (table[at].key && table[at].key != key)
			at = (at + 1) & mask;
		if (table[at].key == key) {
			matches++;
			sum += table[at].payload ^ row;
		}
	}
	CULPRIT_END();
	return workload_print("hash_join", workload_mix(sum, matches));
}
