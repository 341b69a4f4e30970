/* SPDX-License-Identifier: MIT */
/*
 * Transactions that run through much code, as a database server's do: 3584 functions in seven
 * layers, 2.6 MB. A transaction begins with a function of the first layer; each function calls two
 * of the next, so that 127 of them run, always the same ones for the same kind of transaction. Some
 * kinds are common and most are rare, so instructions come from every level of a memory hierarchy.
 *
 * A function has two loops, and after each of them a call. Before it, in seven functions of eight,
 * comes a branch that depends on data, which no predictor knows, and then work of a length that
 * differs from function to function: as much time as a front end has, after a mispredict, to find
 * out what is called.
 *
 *      long_paths TRANSACTIONS
 */
#include "workload.h"

/*
 * The assembler makes the functions: a compiler would need a minute for them, and their places
 * would depend on its options. a0 is what they compute, a1 to a4 are scratch. Function n of a layer
 * has its name from the octal digits of n, and is found by its place, so that neighbours in memory
 * are in different layers. Functions begin at different places in their 768 bytes, so that their
 * branches are spread over a branch-target buffer as those of other programs are.
 */
#define PLACE "768 * (\\k) + 2 * ((\\k) / 32 % 32)"
asm(".section .text.long_paths, \"ax\"\n"
    ".option push\n.option norelax\n.p2align 9\nlong_paths_code:\n"
    /* 16 instructions */
    ".macro work\n"
    ".rept 2\n"
    "li a1, n\n addi a2, a1, 3\n slli a3, a2, 2\n xor a1, a1, a3\n add a0, a0, a1\n"
    "srli a2, a0, 7\n xor a0, a0, a2\n addi a0, a0, 1 + n % 64\n"
    ".endr\n"
    ".endm\n"
    ".macro go k\n call long_paths_code + " PLACE "\n .endm\n"
    ".macro begin k\n .org long_paths_code + " PLACE "\n .endm\n"
    /* A loop, an unknown branch (1: there is one), work after it */
    ".macro part unknown, distance\n"
    "li a4, 8\n2: work\n addi a4, a4, -1\n bnez a4, 2b\n"
    ".if \\unknown\n andi a1, a0, 64\n beqz a1, 1f\n addi a0, a0, 5\n1:\n .endif\n"
    ".rept \\distance\n work\n .endr\n"
    ".endm\n"
    ".macro path layer, digits\n"
    "begin 7 * n + \\layer\n"
    ".type path_\\digits\\()_\\layer, @function\n"
    "path_\\digits\\()_\\layer:\n"
    "addi sp, sp, -16\n sd ra, 8(sp)\n"
    "part (n + \\layer) % 8 != 0, n % 6\n"
    ".if \\layer < 6\n go 7 * ((n * 5 + 1 + \\layer) % 512) + \\layer + 1\n .endif\n"
    "part (n / 8 + \\layer) % 8 != 0, n / 8 % 6\n"
    ".if \\layer < 6\n go 7 * ((n * 37 + 211) % 512) + \\layer + 1\n .endif\n"
    "ld ra, 8(sp)\n addi sp, sp, 16\n ret\n"
    ".size path_\\digits\\()_\\layer, . - path_\\digits\\()_\\layer\n"
    ".endm\n"
    ".irp a, 0, 1, 2, 3, 4, 5, 6, 7\n"
    ".irp b, 0, 1, 2, 3, 4, 5, 6, 7\n"
    ".irp c, 0, 1, 2, 3, 4, 5, 6, 7\n"
    ".set n, \\a * 64 + \\b * 8 + \\c\n"
    ".irp layer, 0, 1, 2, 3, 4, 5, 6\npath \\layer, \\a\\b\\c\n.endr\n"
    ".endr\n.endr\n.endr\n"
    /* The functions of the first layer. */
    ".macro entry k\n .quad long_paths_code + " PLACE "\n .endm\n"
    ".section .data.rel.ro.long_paths, \"aw\"\n.balign 8\nlong_paths_entries:\n"
    ".set n, 0\n.rept 512\nentry 7 * n\n.set n, n + 1\n.endr\n"
    ".option pop\n.previous\n");

typedef uint64_t transaction(uint64_t x);
extern transaction *const long_paths_entries[512];

int main(int argc, char **argv)
{
	uint64_t count = workload_arg(argc, argv, 1, 207, 1, UINT64_MAX), x = 1, state = 1;

	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < count; i++) {
		uint64_t random = workload_random(&state);

		/* Each of nine bits is set with a probability of 1/4. */
		x = long_paths_entries[random >> 40 & random >> 52 & 511](x + i);
	}
	CULPRIT_END();
	return workload_print("long_paths", workload_mix(0, x));
}
