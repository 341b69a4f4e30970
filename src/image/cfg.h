/* SPDX-License-Identifier: MIT */
/*
 * The control-flow graph of a function: whole, with the parts that the compiler split off, from its
 * code and the data that its jump tables lie in. Calls end a block and fall through, unless the
 * callee cannot return. What cannot be found out is said (CFG_MISSING), never guessed.
 */
#ifndef IMAGE_CFG_H
#define IMAGE_CFG_H

#include "image/image.h"
#include "words/words.h"

#define CFG_OUTSIDE UINT32_MAX /* the other end of an entry's or an exit's edge */

struct cfg_inst {
	uint64_t pc;
	uint64_t target; /* if direct */
	uint32_t word;	 /* its first bytes, at most four, lowest first */
	uint8_t size_bytes;
	uint8_t flow; /* enum image_flow */
	bool direct;
};

enum cfg_block_flag {
	CFG_BLOCK_CALLS = 1 << 0,     /* ends with a call */
	CFG_BLOCK_NO_RETURN = 1 << 1, /* ... that does not come back: no edge falls through */
	CFG_BLOCK_UNRESOLVED =
	    1 << 2,		  /* ends with an indirect jump whose targets are not all known */
	CFG_BLOCK_MAYBE = 1 << 3, /* an unresolved jump may enter it */
};

/* Instructions [first, first + count) of cfg.insts; edges by index into cfg.edges. Where code jumps
 * into the middle of an instruction, blocks overlap: each ends where its own last instruction does. */
struct cfg_block {
	uint64_t start, end; /* of the code; end is exclusive */
	uint32_t first, count;
	uint32_t flags;		  /* enum cfg_block_flag */
	uint64_t callee;	  /* CFG_BLOCK_CALLS: where a direct call goes; 0: not known */
	uint32_t first_in, nin;	  /* in cfg.in: numbers of edges */
	uint32_t first_out, nout; /* in cfg.edges: out-edges are contiguous */
};

struct cfg_edge {
	uint32_t from, to; /* blocks, or CFG_OUTSIDE */
	uint8_t kind;	   /* enum cfg_kind of words.h */
	uint64_t callee;   /* CFG_EXIT of a tail call: where it goes; 0: a return, or not known */
};

struct cfg {
	uint64_t start;	  /* the function's first address, which is its main entry */
	const char *name; /* the graph's own copy */
	struct cfg_inst *insts;
	struct cfg_block *blocks; /* by start; block 0 need not be the entry: see entry */
	struct cfg_edge *edges;	  /* sorted by from; then those that enter from outside */
	uint32_t *in;
	uint32_t ninsts, nblocks, nedges;
	uint32_t entry; /* block of start */
	bool missing;	/* some edge is not known */
};

/* The graph of the function that contains pc; NULL: no code or no function there, or more of it than
 * IMAGE_BLOCKS_BYTES. The caller frees it. */
struct cfg *cfg_build(struct images *set, uint64_t pc);
void cfg_free(struct cfg *g);
/* Says that pc is entered from outside of its function, though it is not where that starts: graphs built
 * from now on have an entry there. */
void cfg_note_entry(struct images *set, uint64_t pc);
/* The instruction at pc; UINT32_MAX: none. */
uint32_t cfg_inst_at(const struct cfg *g, uint64_t pc);
/* The block of an instruction. */
uint32_t cfg_block_of(const struct cfg *g, uint32_t inst);
/* The block that starts at pc; UINT32_MAX: none. */
uint32_t cfg_block_at(const struct cfg *g, uint64_t pc);

/*
 * The instruction at `bytes`, of which `left_bytes` are code of that ELF machine; `before` is the one
 * before it, or NULL: two of them may name a target together. Bytes that are no instruction are one of
 * the least size. False: too few are left, or the instruction set is unknown.
 */
bool cfg_decode(unsigned machine, const uint8_t *bytes, size_t left_bytes, uint64_t pc,
		const struct cfg_inst *before, struct cfg_inst *out);

/*
 * Makes a graph of its parts, as a store has them: sorts the edges, fills in `in`, first_in, first_out,
 * entry, missing and what else derives. Blocks have start, end, first, count, flags and callee. Takes
 * the arrays over (they are x_malloc's) and copies the name. NULL, with everything freed, if they do not
 * fit together: a store may be damaged.
 */
struct cfg *cfg_assemble(uint64_t start, const char *name, struct cfg_inst *insts, uint32_t ninsts,
			 struct cfg_block *blocks, uint32_t nblocks, struct cfg_edge *edges,
			 uint32_t nedges, struct err *e);

#endif
