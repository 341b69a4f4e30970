/* SPDX-License-Identifier: MIT */
/*
 * Kernels for the rules of issue in order, whose cycles per round are known in closed form: a static
 * RISC-V program without a C library. inorder_kernels NUMBER ROUNDS runs the kernel of that number.
 * Instructions have four bytes except where the kernel is about those of two.
 */
#include "kernel_number.h"

#define WIDE(body)   ".option push\n.option norvc\n" body ".option pop\n"
#define REPT16(body) ".rept 16\n" body ".endr\n"
/* A loop of n rounds around a body that begins at an aligned address; t6 is the counter, and the last
 * two instructions are a group of their own. */
#define LOOP(n, body)                                                                              \
	asm volatile(                                                                              \
	    WIDE("mv t6, %0\n.p2align 6\n1:\n" body ".p2align 4\naddi t6, t6, -1\nbnez t6, 1b\n")  \
	    :                                                                                      \
	    : "r"(n), "r"(buffer)                                                                  \
	    : "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a2", "a3", "ft0", "ft1", "ft2", "ft3",    \
	      "memory")

static u64 buffer[1 << 13] __attribute__((aligned(4096)));

static void run(u64 kernel, u64 n)
{
	switch (kernel) {
	case 1: /* 16 groups of four independent additions */
		LOOP(n, REPT16("li t0, 1\nli t1, 1\nli t2, 1\nli t3, 1\n"));
		break;
	case 2: /* 16 times: into the second of a group, which ends with a jump to the next one's */
		LOOP(n, "j 2f\n.p2align 4\n" REPT16(
			    "nop\n2:\nli t0, 1\nli t1, 1\nj 2f\n") "nop\n2:\n");
		break;
	case 3: /* 16 groups of eight additions of two bytes */
		LOOP(n, REPT16(".option rvc\nc.li t0, 1\nc.li t1, 1\nc.li t2, 1\nc.li t3, 1\n"
			       "c.li t4, 1\nc.li t5, 1\nc.li a2, 1\nc.li a3, 1\n"
			       ".option norvc\n"));
		break;
	case 4: /* 16 jumps to the next instruction but one, all in the same group as their target */
		LOOP(n, REPT16("j 2f\n.p2align 3\n2:\n"));
		break;
	case 5: /* 16 times: a load that could issue two cycles after a store */
		LOOP(n, REPT16("sd zero, 0(%1)\nli t1, 1\nli t2, 1\nli t3, 1\n"
			       "ld t0, 8(%1)\nli t1, 1\nli t2, 1\nli t3, 1\n"));
		break;
	case 6: /* the same with three cycles between them */
		LOOP(n, REPT16("sd zero, 0(%1)\nli t1, 1\nli t2, 1\nli t3, 1\n"
			       "li t4, 1\nli t1, 1\nld t0, 8(%1)\nli t3, 1\n"));
		break;
	case 7: /* stores to 64 lines of 32 bytes */
		LOOP(n, ".set at, 0\n.rept 64\nsd zero, at(%1)\n.set at, at + 32\n.endr\n");
		break;
	case 8: /* 64 stores to 16 lines, four to each */
		LOOP(n, ".set at, 0\n.rept 64\nsd zero, at(%1)\n.set at, at + 8\n.endr\n");
		break;
	case 9: /* 64 stores to 16 lines, another line each time */
		LOOP(n, ".set at, 0\n.rept 64\nsd zero, at(%1)\n.set at, (at + 32) & 511\n.endr\n");
		break;
	case 10: /* 16 times: a division, and a fused multiply-add into the same register */
		LOOP(n, REPT16("fdiv.d ft0, ft1, ft2\nfmadd.d ft0, ft1, ft2, ft3\nnop\nnop\n"));
		break;
	case 11: /* 16 times: six lines into the write buffer, then a fence */
		LOOP(n, REPT16("sd zero, 0(%1)\nsd zero, 32(%1)\nsd zero, 64(%1)\nsd zero, 96(%1)\n"
			       "sd zero, 128(%1)\nsd zero, 160(%1)\nfence rw, rw\nnop\n"));
		break;
	}
}

__attribute__((used)) static void start(u64 *sp)
{
	char **argv = (char **)(sp + 1);

	run(number(argv[1]), number(argv[2]));
	asm volatile("li a7, 94\nli a0, 0\necall");
}

asm(".globl _start\n_start:\nmv a0, sp\ncall start\n");
