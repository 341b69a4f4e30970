/* SPDX-License-Identifier: MIT */
/*
 * A random RV64GC program as a list of items, each a few instructions that make sense wherever they
 * stand, so that any subset of them is a program again and a failing one can be made smaller.
 *
 * Registers: gp points at constants and at the place of the dump, sp, s0 and s1 into the data, t6
 * and t4 count outer and inner iterations, t3 gathers what other registers held, tp is free for
 * tracing. All others belong to the random instructions.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reg {
	REG_LINK = 1,
	REG_SP = 2,
	REG_POOL = 3,
	REG_TRACE = 4,
	REG_JUMP = 5,
	REG_S0 = 8,
	REG_S1 = 9,
	REG_SUM = 28,
	REG_INNER = 29,
	REG_ADDR = 30,
	REG_OUTER = 31,
};

#define CODE_ADDR  0x10000ull
#define POOL_ADDR  0x400000ull /* 3 KiB of constants, 1 KiB for the dump; gp is in the middle */
#define POOL_BYTES 3072
#define DUMP_BYTES (65 * 8) /* x0..x31, f0..f31, fcsr */
#define DATA_ADDR  (POOL_ADDR + 4096)
#define DATA_BYTES 32768

enum item_kind {
	ITEM_PLAIN,
	ITEM_SKIP,	    /* jumps or branches over the next `skip` items */
	ITEM_CALL,	    /* calls function `function` */
	ITEM_LOOP_BEGIN,    /* inner loop */
	ITEM_LOOP_END,	    /* `partner` is the beginning */
	ITEM_SEGMENT_BEGIN, /* outer loop */
	ITEM_SEGMENT_END,
	ITEM_FUNCTION, /* function `function` begins */
	ITEM_RETURN,
	ITEM_DUMP, /* between the main code and the functions */
};

/* Which immediate of words[fix] holds the distance to the target. */
enum fix_kind {
	FIX_NONE,
	FIX_B,
	FIX_J,
	FIX_CB,
	FIX_CJ,
	FIX_I,	   /* imm12, from the auipc in words[0] */
	FIX_PCREL, /* auipc in words[0] and imm12 in words[fix] */
};

#define ITEM_WORDS  14
#define START_ITEMS 9 /* the first items give all registers their first values */

struct item {
	uint8_t kind, fix_kind, fix, nwords;
	uint8_t skip;
	bool on;
	uint16_t function;
	uint32_t partner;
	uint32_t words[ITEM_WORDS]; /* 16-bit instructions are in the low half */
};

struct program {
	struct item *items;
	size_t nitems, room;
	uint64_t pool[POOL_BYTES / 8];
	uint64_t data[DATA_BYTES / 8];
	bool trace; /* copies fcsr to tp after each item */
};

struct program_options {
	uint64_t seed;
	unsigned insts; /* approximate number of instructions in memory */
	bool self; /* only for our own executors: includes what qemu 7.2 lacks or does otherwise */
};

struct program *program_new(const struct program_options *options);
void program_free(struct program *p);
bool program_is_on(const struct program *p, size_t i);

/* Machine code of the items that are on. at[i] is the address of item i, or of the next one if item
 * i is off. */
struct code {
	uint8_t *bytes;
	size_t size_bytes;
	uint64_t *at;
	uint64_t dump; /* address of the code at the end */
};
void program_layout(const struct program *p, struct code *code);
void code_free(struct code *code);
/* Writes a static ELF file; returns false and sets errno if that fails. */
bool program_write(const struct program *p, const struct code *code, const char *path);
/* Writes a static ELF file of any code, POOL_BYTES of constants and DATA_BYTES of data. */
bool image_write(const char *path, uint64_t entry, const void *code, size_t code_bytes,
		 const void *pool, const void *data);

/* Encoders by operation (enum op). */
uint32_t enc_r(unsigned op, unsigned rd, unsigned rs1, unsigned rs2);
uint32_t enc_i(unsigned op, unsigned rd, unsigned rs1, int imm);
uint32_t enc_s(unsigned op, unsigned rs1, unsigned rs2, int imm);
uint32_t enc_u(unsigned op, unsigned rd, uint32_t imm);
uint32_t enc_b(unsigned op, unsigned rs1, unsigned rs2, int imm);
uint32_t enc_j(unsigned op, unsigned rd, int imm);

#endif
