/* SPDX-License-Identifier: MIT */
/*
 * Accesses whose misses cost a known number of cycles: a static RISC-V program without a C library.
 * cost_kernels LETTER[NUMBER] runs the kernel of that letter, for that number. The linker puts the
 * data at fixed addresses, which the tests name: ARENA, of zeros, and CHAIN, whose lines hold
 * addresses of others:
 *
 *     line 0 -> 1 -> 2        line 5 -> 4 -> ARENA        line 8 -> 9 -> … -> 31
 */
#define START_NAMED
#include "../core/start.h"

#define ARENA	0x10000000
#define CHAIN	0x20000000
#define LINE	128
#define STR2(x) #x
#define STR(x)	STR2(x)

#define TO(n)	[16 * (n)] = CHAIN + LINE * ((n) + 1)
#define FOUR(n) TO(n), TO((n) + 1), TO((n) + 2), TO((n) + 3)
char arena[1 << 20] __attribute__((section(".arena,\"aw\",@nobits#"), aligned(4096)));
u64 chain[512] __attribute__((section(".chain"), aligned(4096))) = {
	TO(0),
	TO(1),
	[16 * 5] = CHAIN + LINE * 4,
	[16 * 4] = ARENA,
	FOUR(8),
	FOUR(12),
	FOUR(16),
	FOUR(20),
	FOUR(24),
	TO(28),
	TO(29),
	TO(30),
};

/* Waits 600 cycles until no request is under way, then sets a0 (ARENA), a1 (CHAIN) and a2, a line of
 * ARENA that no kernel has touched. */
#define QUIET                                                                                      \
	"li t1, 1\n\tli t0, 0\n\tfence\n\t"                                                        \
	".rept 30\n\tdiv t0, t0, t1\n\t.endr\n\t"                                                  \
	"li a0, " STR(ARENA) "\n\tli a1, " STR(CHAIN) "\n\tli a2, " STR(                           \
	    ARENA + 0x80000) "\n\tadd a0, a0, t0\n\tadd a1, a1, t0\n\tadd a2, a2, t0\n\t"
/* Waits as long again for the value of t2; everything that follows waits for it. */
#define SETTLE ".rept 30\n\tdiv t2, t2, t1\n\t.endr\n\tfence\n\t"
#define RUN(body)                                                                                  \
	asm volatile(QUIET body SETTLE ::                                                          \
			 : "t0", "t1", "t2", "t3", "t4", "t5", "a0", "a1", "a2", "memory")
/* A chain of t4 that takes n cycles and at most 30 entries of the window; n below 240. */
#define CHAIN_OF(n)                                                                                \
	".rept (" #n ")/20\n\tdiv t4, t4, t1\n\t.endr\n\t.rept (" #n ")%%20\n\taddi t4, t4, 0\n\t" \
	".endr\n\t"

/* The first three lines of ARENA point to the next, and are then in the L2 but not in the L1 (64 KB,
 * 4 ways). */
static void fill_l2(void)
{
	RUN("addi t3, a0, 128\n\tsd t3, 0(a0)\n\taddi t3, a0, 256\n\tsd t3, 128(a0)\n\t"
	    "sd zero, 256(a0)\n\tmv t2, t0\n\t");
	RUN("mv t2, t0\n\tli t3, 16384\n\tadd t4, a0, t3\n\t.rept 4\n\tld t5, 0(t4)\n\t"
	    "ld t5, 128(t4)\n\tld t5, 256(t4)\n\tadd t4, t4, t3\n\t.endr\n\tadd t2, t2, t5\n\t");
}

/* Three misses whose latencies add up to a sum of 15 and 100, or overlap. */
static void three(unsigned sum)
{
	fill_l2();
	switch (sum) {
	case 0: /* nobody waits */
		RUN("ori zero, a0, 1\n\tori zero, a0, 129\n\tori zero, a0, 257\n\tmv t2, a0\n\t");
		break;
	case 15:
		RUN("ld t2, 0(a0)\n\tld t3, 128(a0)\n\tld t4, 256(a0)\n\tadd t2, t2, t3\n\t"
		    "add t2, t2, t4\n\t");
		break;
	case 30:
		RUN("ld t2, 0(a0)\n\tld t4, 256(a0)\n\tld t2, 0(t2)\n\tadd t2, t2, t4\n\t");
		break;
	case 45:
		RUN("ld t2, 0(a0)\n\tld t2, 0(t2)\n\tld t2, 0(t2)\n\t");
		break;
	case 100:
		RUN("ld t2, 0(a2)\n\tld t3, 128(a2)\n\tld t4, 256(a2)\n\tadd t2, t2, t3\n\t"
		    "add t2, t2, t4\n\t");
		break;
	case 115:
		RUN("ld t2, 512(a1)\n\tld t4, 0(a2)\n\tld t2, 0(t2)\n\tadd t2, t2, t4\n\t");
		break;
	case 130:
		RUN("ld t2, 512(a1)\n\tld t2, 0(t2)\n\tld t2, 0(t2)\n\t");
		break;
	case 200:
		RUN("ld t2, 0(a1)\n\tld t4, 0(a2)\n\tld t2, 0(t2)\n\tadd t2, t2, t4\n\t");
		break;
	case 215:
		RUN("ld t2, 640(a1)\n\tld t2, 0(t2)\n\tld t2, 0(t2)\n\t");
		break;
	case 300:
		RUN("ld t2, 0(a1)\n\tld t2, 0(t2)\n\tld t2, 0(t2)\n\t");
		break;
	}
}

/* Two dependent misses. */
static void two(unsigned sum)
{
	fill_l2();
	switch (sum) {
	case 30:
		RUN("ld t2, 0(a0)\n\tld t2, 0(t2)\n\t");
		break;
	case 115:
		RUN("ld t2, 512(a1)\n\tld t2, 0(t2)\n\t");
		break;
	}
}

/* clang-format off */
#define DISTANCES(V)                                                                               \
	V(0) V(8) V(16) V(24) V(26) V(28) V(30) V(32) V(34) V(36) V(40) V(50) V(64) V(80) V(100)   \
	V(120) V(140) V(150) V(160) V(170) V(180) V(200) V(250) V(300) V(400) V(500)
#define DELAYS(V)                                                                                  \
	V(0) V(10) V(20) V(30) V(40) V(50) V(60) V(70) V(80) V(90) V(100) V(110) V(120) V(130)     \
	V(140) V(150)
/* clang-format on */

/* Two independent misses with n instructions between them. */
static void apart(unsigned n)
{
	switch (n) {
#define V(n)                                                                                       \
	case n:                                                                                    \
		RUN("ld t3, 0(a2)\n\t.rept " #n                                                    \
		    "\n\taddi t4, t0, 0\n\t.endr\n\tld t2, 128(a2)\n\t");                          \
		break;
		DISTANCES(V)
#undef V
	}
}

/* A miss beside a mispredicted branch whose operand takes n cycles. */
static void branch(unsigned n)
{
	switch (n) {
#define V(n)                                                                                       \
	case n:                                                                                    \
		RUN("ld t3, 0(a2)\n\taddi t4, t0, 1\n\t" CHAIN_OF(                                 \
		    n) "beqz t4, 2f\n\tadd t2, t3, t4\n\t"                                         \
		       "j 3f\n\t2: addi t4, t4, 1\n\t3:\n\t");                                     \
		break;
		DELAYS(V)
#undef V
	}
}

/* A prefetch n cycles ahead of its load. */
static void prefetch(unsigned n)
{
	switch (n) {
#define V(n)                                                                                       \
	case n:                                                                                    \
		RUN("ori zero, a2, 1\n\tadd t4, a2, t0\n\t" CHAIN_OF(n) "ld t2, 0(t4)\n\t");       \
		break;
		DELAYS(V)
#undef V
	}
}

static void run_named(const char *name)
{
	unsigned n = 0;

	for (const char *p = name + 1; *p; p++)
		n = 10 * n + (unsigned)(*p - '0');
	switch (name[0]) {
	case 't':
		three(n);
		break;
	case 'd':
		two(n);
		break;
	case 'a':
		apart(n);
		break;
	case 'b':
		branch(n);
		break;
	case 'p':
		prefetch(n);
		break;
	case 'c': /* a chase of n lines */
		if (n == 5)
			RUN("addi t2, a1, 1024\n\t.rept 5\n\tld t2, 0(t2)\n\t.endr\n\t");
		else if (n == 12)
			RUN("addi t2, a1, 1024\n\t.rept 12\n\tld t2, 0(t2)\n\t.endr\n\t");
		else
			RUN("addi t2, a1, 1024\n\t.rept 24\n\tld t2, 0(t2)\n\t.endr\n\t");
		break;
	case 's': /* more stores that miss than the store queue holds */
		RUN("mv t4, a2\n\t.rept 64\n\tsd zero, 0(t4)\n\taddi t4, t4, 128\n\t.endr\n\t"
		    "mv t2, t4\n\t");
		for (int i = 0; i < 3; i++) /* until all have their lines */
			RUN("mv t2, t0\n\t");
		break;
	case 'l': /* a store that misses, and later a load of its line */
		RUN("sd zero, 0(a2)\n\tadd t4, a2, t0\n\tdiv t4, t4, t1\n\tld t2, 8(t4)\n\t");
		break;
	case 'n': /* five misses at once */
		RUN("ld t2, 0(a2)\n\tld t3, 128(a2)\n\tadd t2, t2, t3\n\tld t3, 256(a2)\n\t"
		    "add t2, t2, t3\n\tld t3, 384(a2)\n\tadd t2, t2, t3\n\tld t3, 512(a2)\n\t"
		    "add t2, t2, t3\n\t");
		break;
	}
}
