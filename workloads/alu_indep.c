/* SPDX-License-Identifier: MIT */
/*
 * Eight independent chains of single-cycle ALU operations, interleaved: the core's issue and commit
 * width is the limit. The operations are in assembly so that no compiler merges or vectorises the
 * chains.
 *
 *      alu_indep ITERATIONS    32 operations each, four per chain
 */
#include "workload.h"

#define EACH(op, y)                                                                                \
	op " %0, %0, " y "\n\t" op " %1, %1, " y "\n\t" op " %2, %2, " y "\n\t" op " %3, %3, " y   \
	   "\n\t" op " %4, %4, " y "\n\t" op " %5, %5, " y "\n\t" op " %6, %6, " y "\n\t" op       \
	   " %7, %7, " y "\n\t"

int main(int argc, char **argv)
{
	uint64_t iterations = workload_arg(argc, argv, 1, 280000, 1, UINT64_MAX);
	uint64_t a = 0x123456789abcdefULL, b = 0xfedcba987654321ULL, sum = 0;
	uint64_t x0 = 0, x1 = 1, x2 = 2, x3 = 3, x4 = 4, x5 = 5, x6 = 6, x7 = 7;

	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < iterations; i++)
		__asm__ volatile(
		    EACH("add", "%8") EACH("xor", "%9") EACH("add", "%9") EACH("xor", "%8")
		    : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3), "+r"(x4), "+r"(x5), "+r"(x6), "+r"(x7)
		    : "r"(a), "r"(b));
	CULPRIT_END();
	sum = workload_mix(workload_mix(workload_mix(workload_mix(sum, x0), x1), x2), x3);
	sum = workload_mix(workload_mix(workload_mix(workload_mix(sum, x4), x5), x6), x7);
	return workload_print("alu_indep", sum);
}
