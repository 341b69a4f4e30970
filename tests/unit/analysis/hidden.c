/* SPDX-License-Identifier: MIT */
/*
 * A static RISC-V program without a C library, 4000 times: a store that misses, 1 KB of code that
 * is never in an I-cache of 8 KB (every other time it lies 8 KB further), and a load that waits for
 * the store's line. Not one of kernels.c, whose addresses the cycles of others depend on.
 */
asm(".globl _start\n"
    "_start:\n\t"
    ".option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t.option pop\n\t"
    "la a2, lines\n\tli t6, 2000\n\tj 1f\n"
    ".macro part\n\t"
    "sd zero, 0(a2)\n\t"
    ".rept 240\n\t.option push\n\t.option norvc\n\tli t0, 1\n\t.option pop\n\t.endr\n\t"
    "ld t3, 8(a2)\n\t"
    "addi a2, a2, 64\n"
    ".endm\n"
    ".p2align 13\n"
    "1:\tpart\n\tj 2f\n"
    ".p2align 13\n"
    "2:\tpart\n\taddi t6, t6, -1\n\tbnez t6, 1b\n\t"
    "li a0, 0\n\tli a7, 94\n\tecall\n"
    ".local lines\n"
    ".comm lines, 4000 * 64, 4096\n");
