/* SPDX-License-Identifier: MIT */
/*
 * The same code all the time, on data whose locality the input decides: dependent loads from random
 * places of a table, of which each step uses a part. How large that part is the schedule says, a
 * string of digits d for 16 KiB x 4^d; a schedule is made from the seed if none is given. Basic blocks
 * say nothing of what a step costs.
 *
 *      working_sets STEPS LOADS [SCHEDULE]
 */
#include <string.h>

#include "workload.h"

#define KINDS	   6
#define LEAST	   (16u << 10)
#define LINE_WORDS (64 / sizeof(uint64_t))

int main(int argc, char **argv)
{
	uint64_t steps = workload_arg(argc, argv, 1, 60, 1, 1 << 20);
	uint64_t loads = workload_arg(argc, argv, 2, 15000, 1, 1ull << 40);
	const char *schedule = argc > 3 ? argv[3] : NULL;
	size_t length = schedule ? strlen(schedule) : 0;
	size_t words = ((size_t)LEAST << 2 * (KINDS - 1)) / sizeof(uint64_t);
	uint64_t *table = workload_array(words, sizeof(*table));
	uint64_t state = 88172645463325252ULL, sum = 0;
	uint64_t *masks = workload_array(steps, sizeof(*masks));

	for (uint64_t i = 0; i < steps; i++) {
		unsigned kind = length ? (unsigned)(schedule[i % length] - '0') % KINDS
				       : (unsigned)(workload_random(&state) >> 33) % KINDS;

		masks[i] = ((uint64_t)LEAST << 2 * kind) / 64 - 1;
	}
	/* Every page, so that no step is the first to touch one. */
	for (size_t i = 0; i < words; i += 4096 / sizeof(uint64_t))
		table[i] = 1;
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < steps; i++) {
		uint64_t mask = masks[i], at = i;

		for (uint64_t k = 0; k < loads; k++) {
			at = (at + 1) * 0x9e3779b97f4a7c15ull;
			at += table[(at >> 20 & mask) * LINE_WORDS];
		}
		sum += at;
	}
	CULPRIT_END();
	return workload_print("working_sets", workload_mix(0, sum));
}
