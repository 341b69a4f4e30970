/* SPDX-License-Identifier: MIT */
/*
 * Pairs the instructions of two builds. Two listings of a function are aligned like two texts: by
 * what the instructions are and which source line they come from, in order. Addresses do not count.
 */
#ifndef VIEW_MATCH_H
#define VIEW_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "view/model.h"

/* What is compared of an instruction: digests, 0 where unknown. */
struct match_key {
	uint64_t mnemonic;
	uint64_t shape; /* with kinds of operands: addi x,x,# */
	uint64_t text;	/* with the operands themselves, but for where a jump leads */
	uint64_t line;	/* source file without its folder, and line */
};
struct match_key match_key(const char *disasm, const char *file, int line);

#define MATCH_NONE SIZE_MAX
struct match_pair {
	size_t before, after; /* indices; MATCH_NONE: only in the other */
};

/* Aligns two sequences; pairs has room for n + m and comes out in order. Returns how many. */
size_t match_keys(const struct match_key *a, size_t n, const struct match_key *b, size_t m,
		  struct match_pair *pairs);

/* The functions of two runs, by name; of several with one name those of the same source file, then
 * in their order. Indices into functions; the caller frees *pairs. */
size_t match_functions(const struct model *a, const struct model *b, struct match_pair **pairs);
/* The instructions of two runs, function by function. Indices into insts; the caller frees. */
size_t match_insts(const struct model *a, const struct model *b, struct match_pair **pairs);

#endif
