/* SPDX-License-Identifier: MIT */
/*
 * Accesses whose misses are known in closed form: a static RISC-V program without a C library.
 * miss_kernels LETTER runs the kernel of that letter. The linker puts the data at fixed addresses,
 * which the tests name: ARENA, of zeros, never touched before the kernel, and CHAIN, whose first
 * line holds the address of its second.
 */
#include "start.h"

#define ARENA	0x10000000
#define CHAIN	0x20000000
#define STR2(x) #x
#define STR(x)	STR2(x)

char arena[1 << 20] __attribute__((section(".arena,\"aw\",@nobits#"), aligned(4096)));
u64 chain[512] __attribute__((section(".chain"), aligned(4096))) = { [0] = CHAIN + 128 };

/* Waits 600 cycles until no request is under way, then sets a0 (ARENA) and a1 (CHAIN). */
#define QUIET                                                                                      \
	"li t1, 1\n\tli t0, 0\n\tfence\n\t"                                                        \
	".rept 30\n\tdiv t0, t0, t1\n\t.endr\n\t"                                                  \
	"li a0, " STR(ARENA) "\n\tli a1, " STR(CHAIN) "\n\tadd a0, a0, t0\n\tadd a1, a1, t0\n\t"
/* Waits as long again for the value of t2; everything that follows waits for it. */
#define SETTLE ".rept 30\n\tdiv t2, t2, t1\n\t.endr\n\tfence\n\t"
#define RUN(body)                                                                                  \
	asm volatile(QUIET body SETTLE ::                                                          \
			 : "t0", "t1", "t2", "t3", "t4", "t5", "a0", "a1", "a2", "memory")

static void run(char kernel)
{
	switch (kernel) {
	case 'a': /* one miss */
		RUN("ld t2, 0(a0)\n\t");
		break;
	case 'b': /* a line in the L2 but not in the L1 (64 KB, 4 ways), then one miss */
		RUN("li t3, 16384\n\tadd t4, a0, t3\n\tadd t5, t4, t3\n\tadd a2, t5, t3\n\t"
		    "ld t2, 0(a0)\n\tld t2, 0(t4)\n\tld t2, 0(t5)\n\tld t2, 0(a2)\n\t"
		    "add a2, a2, t3\n\tld t2, 0(a2)\n\t");
		RUN("ld t2, 0(a0)\n\t");
		break;
	case 'c': /* two independent misses */
		RUN("ld t2, 0(a0)\n\tld t3, 128(a0)\n\t");
		break;
	case 'd': /* two dependent misses */
		RUN("ld t2, 0(a1)\n\tld t2, 0(t2)\n\t");
		break;
	case 'e': /* three requests for one line */
		RUN("ld t2, 0(a0)\n\tld t3, 8(a0)\n\tld t4, 64(a0)\n\t");
		break;
	case 'f': /* a store miss */
		RUN("mv t2, a0\n\tsd zero, 0(a0)\n\t");
		break;
	case 'g': /* a miss on the wrong path of a branch that resolves three divisions later */
		RUN("addi t4, t0, 1\n\tdiv t4, t4, t1\n\tdiv t4, t4, t1\n\tdiv t4, t4, t1\n\t"
		    "beqz t4, 2f\n\tmv t2, t4\n\tj 3f\n\t2: ld t2, 0(a0)\n\t3:\n\t");
		break;
	case 'h': /* prefetch.r, then two divisions, then a load */
		RUN("ori zero, a0, 1\n\tadd t4, a0, t0\n\tdiv t4, t4, t1\n\tdiv t4, t4, t1\n\t"
		    "ld t2, 0(t4)\n\t");
		break;
	case 'i': /* prefetch.r alone */
		RUN("ori zero, a0, 1\n\tmv t2, a0\n\t");
		break;
	case 'j': /* an atomic instruction */
		RUN("amoadd.d t2, zero, (a0)\n\t");
		break;
	case 'k': /* two misses, one after the other if the L1 has one MSHR */
		RUN("ld t2, 0(a0)\n\tld t3, 128(a0)\n\tadd t2, t2, t3\n\t");
		break;
	case 'l': /* a load that waits for its address, then one of the same line that does not */
		RUN("add t4, a0, t0\n\tdiv t4, t4, t1\n\tld t2, 0(t4)\n\tld t3, 8(a0)\n\t");
		break;
	case 'm': /* as g, and a load of that line on the right path */
		RUN("addi t4, t0, 1\n\tdiv t4, t4, t1\n\tdiv t4, t4, t1\n\tdiv t4, t4, t1\n\t"
		    "beqz t4, 2f\n\tmv t2, t4\n\tld t2, 8(a0)\n\tj 3f\n\t2: ld t2, "
		    "0(a0)\n\t3:\n\t");
		break;
	}
}
