/* SPDX-License-Identifier: MIT */
/*
 * An x86-64 assembler as far as the translator needs it. One function encodes any instruction of
 * the form `op reg, r/m`; the rest are thin names for it. Writing past the end of the buffer is
 * dropped and remembered in `full`.
 */
#ifndef GUEST_JIT_ASM_H
#define GUEST_JIT_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum host_reg {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15,
	REG_NONE = 255,
};

/* The low nibble of jcc, setcc, cmovcc. */
enum host_cc {
	CC_B = 2,
	CC_AE = 3,
	CC_E = 4,
	CC_NE = 5,
	CC_BE = 6,
	CC_A = 7,
	CC_S = 8,
	CC_NS = 9,
	CC_P = 10,
	CC_NP = 11,
	CC_L = 12,
	CC_GE = 13,
	CC_LE = 14,
	CC_G = 15,
};

/* `op r/m, r` with this opcode; | 2 gives `op r, r/m`; the number >> 3 is the /digit with an
 * immediate. */
enum host_alu {
	ALU_ADD = 0x01,
	ALU_OR = 0x09,
	ALU_AND = 0x21,
	ALU_SUB = 0x29,
	ALU_XOR = 0x31,
	ALU_CMP = 0x39,
};

enum host_shift {
	SHIFT_ROL = 0,
	SHIFT_ROR = 1,
	SHIFT_LEFT = 4,
	SHIFT_RIGHT = 5,
	SHIFT_ARITH = 7,
};

/* Code is written at one address and executed at another: p is where it will run, and its bytes go
 * to p + alias. */
struct code {
	uint8_t *p, *end;
	ptrdiff_t alias;
	bool full;
};

/* A register, [base + index * 2^scale + disp], or an absolute host address near the code. */
struct opnd {
	uint8_t base, index, scale;
	bool memory;
	int32_t disp;
	const void *near;
};

static inline struct opnd asm_reg(unsigned r)
{
	return (struct opnd){ .base = (uint8_t)r, .index = REG_NONE };
}
static inline struct opnd asm_mem(unsigned base, int32_t disp)
{
	return (
	    struct opnd){ .base = (uint8_t)base, .index = REG_NONE, .memory = true, .disp = disp };
}
static inline struct opnd asm_index(unsigned base, unsigned index, unsigned scale, int32_t disp)
{
	return (struct opnd){ .base = (uint8_t)base,
			      .index = (uint8_t)index,
			      .scale = (uint8_t)scale,
			      .memory = true,
			      .disp = disp };
}
/* An element of a table below 2 GiB. */
static inline struct opnd asm_table(const void *table, unsigned index, unsigned scale)
{
	return (struct opnd){ .base = REG_NONE,
			      .index = (uint8_t)index,
			      .scale = (uint8_t)scale,
			      .memory = true,
			      .disp = (int32_t)(intptr_t)table };
}
static inline struct opnd asm_near(const void *at)
{
	return (struct opnd){ .base = REG_NONE, .index = REG_NONE, .memory = true, .near = at };
}

static inline void asm_u8(struct code *c, unsigned v)
{
	if (c->p < c->end)
		*(c->p++ + c->alias) = (uint8_t)v;
	else
		c->full = true;
}
static inline void asm_u32(struct code *c, uint32_t v)
{
	if (c->p + 4 <= c->end) {
		memcpy(c->p + c->alias, &v, 4);
		c->p += 4;
	} else {
		c->full = true;
	}
}
static inline void asm_u64(struct code *c, uint64_t v)
{
	asm_u32(c, (uint32_t)v);
	asm_u32(c, (uint32_t)(v >> 32));
}

enum asm_flag {
	ASM_W = 1,	  /* 64-bit operand */
	ASM_BYTE_REG = 2, /* reg is a byte register: sil, dil need a REX prefix */
	ASM_BYTE_RM = 4,  /* r/m is */
};

/*
 * prefix: 0, 0x66, 0xf2 or 0xf3. opcode: one byte, or 0x0fXX, or 0x0f38XX, 0x0f3aXX. imm_bytes: how
 * many bytes of immediate the caller writes after it.
 */
static inline void asm_op(struct code *c, unsigned prefix, unsigned flags, unsigned opcode,
			  unsigned reg, struct opnd rm, unsigned imm_bytes)
{
	unsigned base = rm.base == REG_NONE ? 0 : rm.base;
	unsigned index = rm.index == REG_NONE ? 0 : rm.index;
	unsigned rex = (flags & ASM_W ? 8 : 0) | (reg & 8) >> 1 | (index & 8) >> 2 | base >> 3;
	bool byte_rex = (flags & ASM_BYTE_REG && reg >= RSP) ||
			(flags & ASM_BYTE_RM && !rm.memory && base >= RSP);

	if (prefix)
		asm_u8(c, prefix);
	if (rex || byte_rex)
		asm_u8(c, 0x40 | rex);
	if (opcode > 0xffff)
		asm_u8(c, opcode >> 16);
	if (opcode > 0xff)
		asm_u8(c, opcode >> 8 & 0xff);
	asm_u8(c, opcode & 0xff);

	unsigned r = (reg & 7) << 3;
	if (!rm.memory) {
		asm_u8(c, 0xc0 | r | (base & 7));
		return;
	}
	if (rm.near) {
		asm_u8(c, r | 5);
		asm_u32(c,
			(uint32_t)((intptr_t)rm.near - (intptr_t)c->p - 4 - (intptr_t)imm_bytes));
		return;
	}
	if (rm.base == REG_NONE) {
		asm_u8(c, r | 4);
		asm_u8(c, rm.scale << 6 | (index & 7) << 3 | 5);
		asm_u32(c, (uint32_t)rm.disp);
		return;
	}
	unsigned mod = rm.disp == 0 && (base & 7) != 5	  ? 0
		       : rm.disp >= -128 && rm.disp < 128 ? 1
							  : 2;
	if (rm.index != REG_NONE) {
		asm_u8(c, mod << 6 | r | 4);
		asm_u8(c, rm.scale << 6 | (index & 7) << 3 | (base & 7));
	} else {
		asm_u8(c, mod << 6 | r | (base & 7));
		if ((base & 7) == 4)
			asm_u8(c, 0x24);
	}
	if (mod == 1)
		asm_u8(c, (uint8_t)rm.disp);
	else if (mod == 2)
		asm_u32(c, (uint32_t)rm.disp);
}

/* VEX-encoded scalar: mm 1 = 0f, 2 = 0f38; pp 0 none, 1 66, 2 f3, 3 f2; v: the extra source. */
static inline void asm_vex(struct code *c, unsigned mm, unsigned pp, unsigned w, unsigned opcode,
			   unsigned reg, unsigned v, unsigned rm)
{
	asm_u8(c, 0xc4);
	asm_u8(c, (~reg & 8) << 4 | 0x40 | (~rm & 8) << 2 | mm);
	asm_u8(c, w << 7 | (~v & 15) << 3 | pp);
	asm_u8(c, opcode);
	asm_u8(c, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static inline void asm_load(struct code *c, unsigned reg, struct opnd from)
{
	asm_op(c, 0, ASM_W, 0x8b, reg, from, 0);
}
static inline void asm_store(struct code *c, struct opnd to, unsigned reg)
{
	asm_op(c, 0, ASM_W, 0x89, reg, to, 0);
}
static inline void asm_mov(struct code *c, unsigned to, unsigned from)
{
	if (to != from)
		asm_load(c, to, asm_reg(from));
}
/* Leaves the flags alone. */
static inline void asm_imm(struct code *c, unsigned reg, uint64_t v)
{
	if (v <= UINT32_MAX) {
		if (reg >= R8)
			asm_u8(c, 0x41);
		asm_u8(c, 0xb8 | (reg & 7));
		asm_u32(c, (uint32_t)v);
	} else if ((int64_t)v == (int32_t)v) {
		asm_op(c, 0, ASM_W, 0xc7, 0, asm_reg(reg), 4);
		asm_u32(c, (uint32_t)v);
	} else {
		asm_u8(c, 0x48 | reg >> 3);
		asm_u8(c, 0xb8 | (reg & 7));
		asm_u64(c, v);
	}
}
/* op to, from */
static inline void asm_alu(struct code *c, enum host_alu op, unsigned w, unsigned to,
			   struct opnd from)
{
	asm_op(c, 0, w, op | 2, to, from, 0);
}
static inline void asm_alu_imm(struct code *c, enum host_alu op, unsigned w, struct opnd to,
			       int32_t v)
{
	bool small = v >= -128 && v < 128;

	asm_op(c, 0, w, small ? 0x83 : 0x81, op >> 3, to, small ? 1 : 4);
	if (small)
		asm_u8(c, (uint8_t)v);
	else
		asm_u32(c, (uint32_t)v);
}
static inline void asm_shift_imm(struct code *c, enum host_shift op, unsigned w, unsigned reg,
				 unsigned n)
{
	asm_op(c, 0, w, 0xc1, op, asm_reg(reg), 1);
	asm_u8(c, n);
}
static inline void asm_lea(struct code *c, unsigned w, unsigned reg, struct opnd at)
{
	asm_op(c, 0, w, 0x8d, reg, at, 0);
}
static inline void asm_test(struct code *c, unsigned w, unsigned a, unsigned b)
{
	asm_op(c, 0, w, 0x85, b, asm_reg(a), 0);
}
static inline void asm_setcc(struct code *c, enum host_cc cc, unsigned reg)
{
	asm_op(c, 0, ASM_BYTE_RM, 0x0f90 | cc, 0, asm_reg(reg), 0);
}
static inline void asm_movzx8(struct code *c, unsigned to, unsigned from)
{
	asm_op(c, 0, ASM_BYTE_RM, 0x0fb6, to, asm_reg(from), 0);
}
static inline void asm_movsxd(struct code *c, unsigned to, struct opnd from)
{
	asm_op(c, 0, ASM_W, 0x63, to, from, 0);
}

/* Jumps return where their 32-bit displacement stands. */
static inline uint8_t *asm_jmp(struct code *c)
{
	asm_u8(c, 0xe9);
	asm_u32(c, 0);
	return c->p - 4;
}
static inline uint8_t *asm_jcc(struct code *c, enum host_cc cc)
{
	asm_u8(c, 0x0f);
	asm_u8(c, 0x80 | cc);
	asm_u32(c, 0);
	return c->p - 4;
}
static inline void asm_patch(const struct code *c, uint8_t *at, const void *target)
{
	int32_t d = (int32_t)((intptr_t)target - (intptr_t)at - 4);

	memcpy(at + c->alias, &d, 4);
}
static inline void asm_jmp_to(struct code *c, const void *target)
{
	uint8_t *at = asm_jmp(c);

	if (!c->full)
		asm_patch(c, at, target);
}
static inline void asm_call(struct code *c, const void *target)
{
	asm_u8(c, 0xe8);
	asm_u32(c, 0);
	if (!c->full)
		asm_patch(c, c->p - 4, target);
}

/* Scalar SSE: prefix 0xf2 double, 0xf3 single. */
static inline void asm_sse(struct code *c, unsigned prefix, unsigned opcode, unsigned reg,
			   struct opnd rm)
{
	asm_op(c, prefix, 0, opcode, reg, rm, 0);
}

#endif
