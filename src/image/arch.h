/* SPDX-License-Identifier: MIT */
/*
 * An instruction set as this folder needs it: how long an instruction is, where it leads and how it
 * is written. One const struct per ELF machine, all of them in arch.c; nothing outside of these
 * files knows which one an image has.
 */
#ifndef IMAGE_ARCH_H
#define IMAGE_ARCH_H

#include "image/image.h"

/*
 * What an instruction does to integer registers, as far as following the target of an indirect jump
 * back to its table needs it. Registers are 0 to 62; ARCH_MEMORY stands for all of memory.
 */
#define ARCH_MEMORY 63
#define ARCH_NO_REG 255

enum arch_op {
	ARCH_OTHER,   /* registers of `writes` get values that are not followed */
	ARCH_MOVE,    /* dst = x */
	ARCH_ADD,     /* dst = x + y */
	ARCH_SUB,     /* dst = x - y */
	ARCH_AND,     /* dst = x & y */
	ARCH_SHL,     /* dst = x << y */
	ARCH_SHR,     /* dst = x >> y, unsigned */
	ARCH_SAR,     /* dst = x >> y, signed */
	ARCH_LESS,    /* dst = x < y, unsigned */
	ARCH_ADDRESS, /* dst = address of the memory operand */
	ARCH_STORE,   /* memory operand = x */
	ARCH_COMPARE, /* flags: x compared with y */
	ARCH_BRANCH,  /* taken if x REL y; without x: if the flags, register `base`, say so */
	ARCH_JUMP,    /* to x, or to x + disp if x is a register: an indirect jump or call */
	ARCH_SYSTEM,  /* a system call, whose number is in x */
};

enum arch_relation {
	ARCH_UNKNOWN,
	ARCH_EQ,
	ARCH_NE,
	ARCH_LT, /* signed */
	ARCH_GE,
	ARCH_LE,
	ARCH_GT,
	ARCH_LTU, /* unsigned */
	ARCH_GEU,
	ARCH_LEU,
	ARCH_GTU,
};

struct arch_operand {
	enum { ARCH_NONE, ARCH_REG, ARCH_IMM, ARCH_MEM } kind;
	uint8_t reg;
	int64_t imm;
};

struct arch_effect {
	enum arch_op op;
	enum arch_relation relation;
	uint8_t dst;	/* ARCH_NO_REG: none */
	uint8_t bits;	/* width of the operands */
	bool is_signed; /* how the result is extended to 64 bits */
	struct arch_operand x, y;
	/* the memory operand: base + (index << shift) + disp; ARCH_NO_REG: none */
	uint8_t base, index, shift;
	int64_t disp;
	uint64_t writes; /* bits of all registers written, ARCH_MEMORY among them */
};

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

	/* For control-flow graphs; what follows is NULL or 0 where there are none. */
	unsigned unit_bytes;	     /* instructions start at multiples of this */
	unsigned relative, absolute; /* types of relocations: base + addend, symbol + addend */
	uint8_t stack;		     /* register: the stack pointer */
	uint64_t call_writes;	     /* registers that a call may change, and memory */
	/* Whether it never goes on: a trap. */
	bool (*stops)(const struct image_inst *in);
	/* Whether it is a system call. */
	bool (*is_system)(uint32_t word, unsigned size_bytes);
	/* Whether it does nothing: what fills the space between functions. */
	bool (*pads)(const struct image_inst *in);
	/* The target of an indirect jump or call that it and the instruction before it (at `before_pc`)
	 * name together. */
	bool (*pair)(uint32_t before, uint64_t before_pc, uint32_t word, uint64_t *target);
	/* False: it is no instruction. */
	bool (*effect)(const uint8_t *bytes, size_t left_bytes, uint64_t pc,
		       struct arch_effect *out);
	bool (*exits)(uint64_t number); /* a system call that does not come back */
};

extern const struct arch arch_riscv, arch_x86_64, arch_i386;
/* NULL: no instruction set of that machine is known. */
const struct arch *arch_find(unsigned machine);

#endif
