/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose cycles per round are known in closed form: a static RISC-V program without a C
 * library. kernels NAME-NUMBER ROUNDS [SIZE STRIDE] runs the kernel of that number. The difference
 * of two runs with different rounds is free of start-up.
 */
#include "kernel_number.h"

#define STR2(x)	     #x
#define STR(x)	     STR2(x)
#define REPT64(body) ".rept 64\n\t" body "\n\t.endr\n"
/* A loop of n rounds around a body; t6 is the counter. */
#define LOOP(n, body, ...)                                                                         \
	asm volatile("mv t6, %0\n.p2align 6\n1:\n" body "addi t6, t6, -1\n\tbnez t6, 1b\n"         \
		     :                                                                             \
		     : "r"(n), ##__VA_ARGS__                                                       \
		     : "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a2", "a3", "a4", "a5", "a6",     \
		       "a7", "ft0", "ft1", "ft2", "ft3", "memory")

static u64 buffer[32 << 17] __attribute__((aligned(1 << 21))); /* 32 MB */

static u64 sys(u64 number, u64 a)
{
	register u64 a7 asm("a7") = number;
	register u64 a0 asm("a0") = a;

	asm volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
	return a0;
}

/* Makes a ring of pointers: size bytes, one pointer every stride bytes. */
static void make_ring(u64 size, u64 stride)
{
	u64 n = size / stride, step = stride / 8;

	for (u64 i = 0; i < n; i++)
		buffer[i * step] = (u64)&buffer[(i + 1 < n ? i + 1 : 0) * step];
}

static void touch(u64 size)
{
	for (u64 i = 0; i < size / 8; i += 8)
		buffer[i] = 1;
}

static void run(u64 kernel, u64 n, u64 size, u64 stride)
{
	u64 *p = buffer;

	switch (kernel) {
	case 1: /* 64 dependent additions */
		LOOP(n, REPT64("addi t0, t0, 1"));
		break;
	case 2: /* 64 independent ones */
		LOOP(n, ".rept 16\n\tli t0, 1\n\tli t1, 1\n\tli t2, 1\n\tli t3, 1\n\t.endr\n");
		break;
	case 3: /* 64 dependent loads; pointers of a ring */
		make_ring(size, stride);
		LOOP(n, "" REPT64("ld %1, 0(%1)"), "r"(p));
		break;
	case 4: /* 64 dependent multiplications */
		asm volatile("li t0, 3");
		LOOP(n, REPT64("mul t0, t0, t0"));
		break;
	case 5: /* 64 dependent divisions */
		asm volatile("li t0, 7\n\tli t1, 1");
		LOOP(n, REPT64("div t0, t0, t1"));
		break;
	case 6: /* 64 jumps to the next block of 16 bytes */
		LOOP(n, REPT64("j 2f\n\t.p2align 4\n2:"));
		break;
	case 7: /* 64 branches that are never taken */
		LOOP(n, REPT64("bne zero, zero, 3f") "nop\n3:\n");
		break;
	case 8: /* 64 times: store what was loaded, load what was stored */
		LOOP(n, REPT64("sd t0, 0(%1)\n\tld t0, 0(%1)"), "r"(p));
		break;
	case 9: /* independent loads, one per stride, round and round */
		touch(size);
		for (u64 i = 0, at = 0; i < n; i++) {
			asm volatile("ld t0, 0(%0)" : : "r"((char *)buffer + at) : "t0");
			at += stride;
			at = at >= size ? 0 : at;
		}
		break;
	case 10: /* a load miss and 31 additions, independent */
		touch(size);
		asm volatile("mv t6, %0\n\tmv a2, %1\n\tadd a3, %1, %2\n.p2align 6\n"
			     "1:\tld t0, 0(a2)\n\tadd a2, a2, %3\n"
			     ".rept 28\n\tli t1, 1\n\t.endr\n"
			     "addi t6, t6, -1\n\tbnez t6, 1b\n"
			     :
			     : "r"(n), "r"(p), "r"(size), "r"(stride)
			     : "t0", "t1", "t6", "a2", "a3", "memory");
		break;
	case 11: /* 16 reads of fflags */
		LOOP(n, ".rept 16\n\tfrflags t0\n\t.endr\n");
		break;
	case 12: /* a store miss per stride */
		touch(size);
		for (u64 i = 0, at = 0; i < n; i++) {
			asm volatile("sd zero, 0(%0)" : : "r"((char *)buffer + at) : "memory");
			at += stride;
			at = at >= size ? 0 : at;
		}
		break;
	case 13: /* straight code of 64 KB */
		LOOP(n,
		     ".rept 16384\n\t.option push\n\t.option norvc\n\tli t0, 1\n\t.option "
		     "pop\n\t.endr\n"
		     "addi t6, t6, -1\n\tbeqz t6, 4f\n\tla t5, 1b\n\tjr t5\n4:\taddi t6, t6, 1\n");
		break;
	case 14: /* 64 dependent FP additions */
		asm volatile("fmv.d.x ft0, zero\n\tfmv.d.x ft1, zero");
		LOOP(n, REPT64("fadd.d ft0, ft0, ft1"));
		break;
	case 15: /* system calls */
		for (u64 i = 0; i < n; i++)
			sys(172, 0);
		break;
	case 16: /* a store whose address comes late, and a load of the same place right after it */
		LOOP(n, "li t1, 1\n\tdiv t0, %1, t1\n\tsd t1, 0(t0)\n\tld t2, 0(%1)\n", "r"(p));
		break;
	case 17: /* data-dependent branches, half of them taken, from a shift register */
		asm volatile("li t0, 0xace1");
		LOOP(n, "andi t1, t0, 1\n\tsrli t0, t0, 1\n\tbeqz t1, 5f\n\tli t2, 0xb400\n\t"
			"xor t0, t0, t2\n5:\n");
		break;
	case 18: /* atomics */
		LOOP(n, ".rept 16\n\tamoadd.d t0, t1, (%1)\n\t.endr\n", "r"(p));
		break;
	case 20: /* a load miss, and under it a branch that is taken or not, from a shift register
		  */
	case 21: /* the same, but the branch tests what was loaded */
		for (u64 i = 0, x = 0xace1; i < n; i++, x = x >> 1 ^ (-(x & 1) & 0xb400))
			buffer[i * stride / 8] = x;
		asm volatile("mv t6, %0\n\tmv a2, %1\n\tli t0, 0xace1\n\tli t5, 0xb400\n"
			     ".p2align 6\n"
			     "1:\tld t3, 0(a2)\n\tadd a2, a2, %2\n"
			     "andi t1, t0, 1\n\tneg t2, t1\n\tand t2, t2, t5\n"
			     "srli t0, t0, 1\n\txor t0, t0, t2\n"
			     "beqz %3, 2f\n\tandi t1, t3, 1\n2:\n"
			     "beqz t1, 3f\n\tli t4, 1\n3:\n"
			     ".rept 100\n\tli t4, 1\n\t.endr\n"
			     "addi t6, t6, -1\n\tbnez t6, 1b\n"
			     :
			     : "r"(n), "r"(p), "r"(stride), "r"(kernel == 21)
			     : "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a2", "memory");
		break;
	case 22: /* a late branch to one of two blocks 8 KB apart, from a shift register */
		asm volatile("mv t6, %0\n\tli t0, 0xace1\n\tli t5, 0xb400\n\tli t4, 1\n\tj 1f\n"
			     ".p2align 13\n2:\t.rept 8\n\tli t2, 1\n\t.endr\n\tj 4f\n"
			     ".p2align 13\n3:\t.rept 8\n\tli t2, 2\n\t.endr\n\tj 4f\n"
			     ".p2align 6\n"
			     "1:\tandi t1, t0, 1\n\tneg t2, t1\n\tand t2, t2, t5\n"
			     "srli t0, t0, 1\n\txor t0, t0, t2\n"
			     "mul t3, t1, t4\n\t.rept 4\n\tmul t3, t3, t4\n\t.endr\n"
			     "bnez t3, 3b\n\tj 2b\n"
			     "4:\taddi t6, t6, -1\n\tbnez t6, 1b\n"
			     :
			     : "r"(n)
			     : "t0", "t1", "t2", "t3", "t4", "t5", "t6", "memory");
		break;
	case 19: /* byte stores, then a load over them: the store queue has only a part */
		LOOP(n, ".rept 16\n\tsb t0, 0(%1)\n\tld t0, 0(%1)\n\t.endr\n", "r"(p));
		break;
	}
}

__attribute__((used)) static void start(u64 *sp)
{
	char **argv = (char **)(sp + 1);
	u64 argc = sp[0];

	run(number(argv[1]), number(argv[2]), argc > 3 ? number(argv[3]) : 4096,
	    argc > 4 ? number(argv[4]) : 64);
	sys(94, 0);
}

asm(".globl _start\n_start:\n\t.option push\n\t.option norelax\n\tla gp, "
    "__global_pointer$\n\t.option "
    "pop\n\tmv a0, sp\n\tcall start\n");
