/* SPDX-License-Identifier: MIT */
/* The begin and the end of a RISC-V program without a C library: NAME LETTER calls run(LETTER), or, with
 * START_NAMED, NAME KERNEL calls run_named(KERNEL). */
#ifndef TESTS_UNIT_CORE_START_H
#define TESTS_UNIT_CORE_START_H

typedef unsigned long u64;

#ifdef START_NAMED
static void run_named(const char *kernel);
#else
static void run(char kernel);
#endif

__attribute__((used)) static void start(u64 *sp)
{
#ifdef START_NAMED
	run_named((const char *)sp[2]);
#else
	run(*(char *)sp[2]);
#endif

	register u64 a7 asm("a7") = 93;
	register u64 a0 asm("a0") = 0;

	asm volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
}

asm(".globl _start\n_start:\n\tmv a0, sp\n\tj start\n");

#endif
