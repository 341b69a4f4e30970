/* SPDX-License-Identifier: MIT */
/*
 * Values of registers, followed back through a function. A value is a node: a constant, something
 * unknown that has a name, or an operation on other nodes. The same name means the same value: that of
 * a register after a certain instruction or at the start of a certain block, as static single
 * assignment has it. All of it is limited, because code may be anything.
 */
#ifndef IMAGE_CFG_VALUES_H
#define IMAGE_CFG_VALUES_H

#include "image/cfg_int.h"

#define NODES_MAX 1024 /* of one jump's target */
#define NO_NODE	  UINT16_MAX
#define AT_BLOCK  (1ull << 63) /* the name is the start of a block, not an instruction */

enum node_kind {
	NODE_CONST,   /* c */
	NODE_UNKNOWN, /* register `bits` at c */
	NODE_ADD,
	NODE_SUB,
	NODE_AND,
	NODE_LESS, /* a < b, unsigned: 0 or 1 */
	NODE_SHL,  /* a << c */
	NODE_SHR,  /* a >> c, unsigned */
	NODE_SAR,  /* a >> c, signed */
	NODE_ZERO, /* the lowest `bits` of a, extended with zeros */
	NODE_SIGN, /* ... with their sign */
	NODE_LOAD, /* `bits` at address a, with memory as b names it, extended with zeros */
};

struct node {
	uint8_t kind, bits;
	uint16_t a, b;
	uint64_t c;
};

struct memo {
	uint64_t pc;
	uint8_t reg;
	uint16_t node;
};

struct values {
	struct build *b;
	const struct arch *arch;
	/* blocks: instructions [first[i], first[i + 1]); number nblocks stands for what enters */
	uint32_t nblocks;
	uint32_t *first, *block_of;    /* block_of: by instruction */
	uint64_t *writes;	       /* of blocks; WRITES_KNOWN */
	uint32_t *pred_first, *pred;   /* blocks before each */
	uint32_t *idom;		       /* UINT32_MAX: not reached */
	uint32_t *seen, stamp, *queue; /* of a search */
	uint64_t budget;	       /* blocks that may still be looked at for this jump */
	unsigned depth;
	struct node nodes[NODES_MAX];
	uint16_t nnodes;
	struct memo memo[NODES_MAX];
	uint16_t nmemo;
	bool full; /* too many nodes: nothing that was found counts */
};

/* The blocks of a function as it is known now; its instructions are sorted. */
struct values *values_new(struct build *b);
void values_free(struct values *v);
/* Forgets all nodes. */
void values_restart(struct values *v);
void values_effect(const struct values *v, uint32_t inst, struct arch_effect *out);
/* The registers that an instruction writes, bit by bit, and WRITES_KNOWN. */
uint64_t values_writes(const struct values *v, uint32_t inst);
/* The value of an operand before an instruction. */
uint16_t values_operand(struct values *v, uint32_t inst, const struct arch_effect *f,
			const struct arch_operand *o);
uint16_t values_register(struct values *v, uint32_t inst, uint8_t reg);
/* The instruction that wrote a register last; UINT32_MAX: not one alone. */
uint32_t values_writer(struct values *v, uint32_t inst, uint8_t reg);
uint16_t values_node(struct values *v, enum node_kind kind, unsigned bits, uint16_t a, uint16_t b,
		     uint64_t c);
uint16_t values_constant(struct values *v, uint64_t c);
/* The node if it is there; NO_NODE. */
uint16_t values_find(const struct values *v, enum node_kind kind, unsigned bits, uint16_t a);
static inline bool values_is_constant(const struct values *v, uint16_t n)
{
	return v->nodes[n].kind == NODE_CONST;
}
uint64_t values_extend(uint64_t x, unsigned bits, bool is_signed);

#endif
