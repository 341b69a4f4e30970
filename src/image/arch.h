/* SPDX-License-Identifier: MIT */
/*
 * An instruction set as this folder needs it: how long an instruction is, where it leads and how it
 * is written. One const struct per ELF machine, all of them in arch.c; nothing outside of these
 * files knows which one an image has.
 */
#ifndef IMAGE_ARCH_H
#define IMAGE_ARCH_H

#include "image/image.h"

struct arch {
	const char *name;
	unsigned machine; /* ELF e_machine */
	/* The instruction at `bytes`, of which `left_bytes` (at least one) are code. Bytes that are
	 * no instruction are one of the least size, without a class. False: too few are left. */
	bool (*decode)(const uint8_t *bytes, size_t left_bytes, uint64_t pc,
		       struct image_inst *out);
	/* Its text: mnemonic, a tab or blank, operands. */
	void (*disasm)(const uint8_t *bytes, size_t left_bytes, uint64_t pc, char *buf,
		       size_t size_bytes);
};

extern const struct arch arch_riscv, arch_x86_64, arch_i386;
/* NULL: no instruction set of that machine is known. */
const struct arch *arch_find(unsigned machine);

#endif
