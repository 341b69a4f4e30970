/* SPDX-License-Identifier: MIT */
/*
 * Code whose I-cache misses are known in closed form: a static RISC-V program without a C library.
 * ahead_kernels LETTER runs the kernel of that letter. The linker puts the code that counts at
 * fixed addresses, which the tests name. No instruction is compressed.
 */
#include "start.h"

/* Code of its own section, which returns by s0. */
#define CODE(name, body)                                                                           \
	asm(".section ." #name                                                                     \
	    ",\"ax\"\n.option push\n.option norvc\n.option norelax\n.p2align 14\n" #name           \
	    ":\n" body "jr s0\n.option pop\n.previous\n")

/* 16 lines of 128 bytes */
CODE(straight, ".rept 32 * 16 - 1\nnop\n.endr\n");
/* seven jumps, and the end, each in a line of its own */
CODE(leaps, ".rept 7\nj . + 16512\n.skip 16508\n.endr\n");
/* the same with branches, whose reach is shorter */
CODE(branches, ".rept 7\nbeq zero, zero, . + 1152\n.skip 1148\n.endr\n");
/* six calls from one line to others that return at once */
CODE(calls, ".irp n, 1, 2, 3, 4, 5, 6\njal ra, calls + 16512 * \\n\n.endr\n"
	    "j 2f\n.irp n, 1, 2, 3, 4, 5, 6\n.org 16512 * \\n\nret\n.endr\n2:\n");
/* a line that begins with a jump to where a0 says, and 63 lines after it */
CODE(astray, "jr a0\n.rept 32 * 64 - 1\nnop\n.endr\n");
/* as large as the L1I, so that it evicts everything else */
CODE(thrash, ".rept 16384 - 1\nnop\n.endr\n");

/* Divides n times, 20 cycles each: nothing else is under way then. t0 is 0 in the end, t1 is 1. */
#define DIVIDE(n) "li t1, 1\n\tli t0, 0\n\t.rept " #n "\n\tdiv t0, t0, t1\n\t.endr\n\t"
/* Goes to an address that depends on t0, as no predictor expects, and comes back. Fetch waits
 * behind the jump, where it finds no instruction. */
#define GO(label)                                                                                  \
	"lla s0, 1f\n\tlla t2, " label "\n\tadd t2, t2, t0\n\tjr t2\n\t.word 0\n\t"                \
	".balign 64\n\t1:\n\t"
#define RUN(body)      asm volatile(body ::: "t0", "t1", "t2", "a0", "ra", "s0", "memory")
#define QUIETLY(label) RUN(DIVIDE(30) GO(label))

static void run(char kernel)
{
	switch (kernel) {
	case 's':
		QUIETLY("straight");
		break;
	case 'l': /* the second time the BTB knows the jumps, and the L2 has the lines */
		QUIETLY("leaps");
		QUIETLY("thrash");
		QUIETLY("leaps");
		break;
	case 'b':
		QUIETLY("branches");
		QUIETLY("thrash");
		QUIETLY("branches");
		break;
	case 'c':
		QUIETLY("calls");
		QUIETLY("thrash");
		QUIETLY("calls");
		break;
	case 'w': /* astray's jump waits for 4 divisions and goes back; then the code behind it */
		QUIETLY("straight");
		RUN(DIVIDE(10) "lla s0, 3f\n\tlla t2, astray\n\tadd t2, t2, t0\n\t"
			       ".rept 4\n\tdiv t0, t0, t1\n\t.endr\n\tadd a0, s0, t0\n\tjr t2\n\t"
			       ".word 0\n\t.balign 64\n\t3:\n\t");
		QUIETLY("astray + 4");
		break;
	}
}
