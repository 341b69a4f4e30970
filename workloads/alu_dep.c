/* SPDX-License-Identifier: MIT */
/*
 * One dependent chain of single-cycle ALU operations: whatever the width of the core, one operation
 * a cycle is the best it can do. The operations are in assembly so that no compiler shortens the
 * chain.
 *
 *      alu_dep ITERATIONS      32 chained operations each
 */
#include "workload.h"

#define CHAIN4	"add %0, %0, %1\n\txor %0, %0, %2\n\tadd %0, %0, %2\n\txor %0, %0, %1\n\t"
#define CHAIN16 CHAIN4 CHAIN4 CHAIN4 CHAIN4

int main(int argc, char **argv)
{
	uint64_t iterations = workload_arg(argc, argv, 1, 280000, 1, UINT64_MAX);
	uint64_t x = 1, a = 0x123456789abcdefULL, b = 0xfedcba987654321ULL;

	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < iterations; i++)
		__asm__ volatile(CHAIN16 CHAIN16 : "+r"(x) : "r"(a), "r"(b));
	CULPRIT_END();
	return workload_print("alu_dep", x);
}
