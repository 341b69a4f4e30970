/* SPDX-License-Identifier: MIT */
/* What the files that build control-flow graphs share. */
#ifndef IMAGE_CFG_INT_H
#define IMAGE_CFG_INT_H

#include "image/cfg.h"
#include "image/image_int.h"

#define NO_INST UINT32_MAX

/* A stretch of code that belongs to the function. */
struct part {
	uint64_t start, end;
	const uint8_t *bytes;
	uint32_t *inst; /* by offset / unit: the instruction there, or NO_INST */
};

enum inst_flag {
	INST_LEADER = 1 << 0,	 /* a block starts here */
	INST_STOPS = 1 << 1,	 /* nothing follows: a trap, or no instruction */
	INST_NO_RETURN = 1 << 2, /* a call, or system call, that does not come back */
	INST_ROOT = 1 << 3,	 /* code that nothing known leads to */
	INST_DEAD =
	    1 << 5, /* code behind a call that never comes back: the compiler did not know */
	INST_TARGET = 1 << 4, /* a jump or branch leads here */
};

#define WRITES_KNOWN (1ull << 62)

struct build_inst {
	struct cfg_inst i;
	uint64_t writes; /* registers, bit by bit; WRITES_KNOWN: they were looked up */
	uint8_t flags;
	uint32_t table; /* an indirect jump: its entry in build.tables */
};

/* An indirect jump and what is known of it. */
struct jump_table {
	uint64_t pc;
	uint64_t *targets; /* sorted, unique; inside of the function or not */
	size_t ntargets;
	bool resolved;
	bool exits;    /* resolved: it may leave for an unknown place */
	bool may_exit; /* not resolved, but looks like a tail call */
	bool failed;   /* not resolved, and more code will not change that */
};

struct build {
	struct images *set;
	struct image *im;
	const struct function_range *f;
	struct part *parts;
	size_t nparts;
	struct build_inst *insts; /* in the order in which they were found, until build_sort */
	size_t ninsts, room;
	uint64_t *work; /* addresses that code was found to lead to */
	size_t nwork;
	struct jump_table *tables;
	size_t ntables;
	uint64_t *roots; /* addresses that are entered, but not from the function's own code */
	size_t nroots;
	uint64_t *dead; /* addresses of code behind calls that never come back */
	size_t ndead;
	uint64_t code_bytes; /* of all parts */
	bool unclaimed;	     /* there is code that nothing known leads to */
};

/* The part that holds pc; NULL: none. */
struct part *build_part(const struct build *b, uint64_t pc);
/* The instruction that was found at pc; NO_INST: none. */
uint32_t build_inst_at(const struct build *b, uint64_t pc);
/* Goes on from everything in b->work. */
void build_follow(struct build *b);
/* Notes that code leads to pc; false: pc is not in the function. */
bool build_lead(struct build *b, uint64_t pc);

/* Puts the instructions in order of their addresses. */
void build_sort(struct build *b);
/* Marks where blocks start; the instructions must be in order. Returns the number of blocks. */
uint32_t build_mark_leaders(struct build *b);

/* Whether code goes on from one instruction to the next. */
static inline bool build_falls(const struct build_inst *in)
{
	return in->i.flow != IMAGE_JUMP && in->i.flow != IMAGE_RETURN &&
	       !(in->flags & (INST_STOPS | INST_NO_RETURN));
}

/* cfg_jumps.c: looks for the targets of all indirect jumps, and follows what they lead to. False:
 * nothing has changed. */
bool build_resolve(struct build *b);

/* cfg_parts.c: the function that a split-off part belongs to; f itself if it is whole. */
const struct function_range *image_whole(struct image *im, const struct function_range *f);
/* cfg_return.c: whether a call to this address can come back. */
bool image_returns(struct images *set, uint64_t callee);
/* Whether the system call at pc is one that does not come back, as the code from `from` on says. */
bool image_system_exits(const struct image *im, uint64_t from, uint64_t pc);

/* The instruction at pc, with the target that it and the one before it name together. */
bool image_decode_after(const struct arch *arch, const uint8_t *bytes, size_t left, uint64_t pc,
			const struct cfg_inst *before, struct cfg_inst *out, bool *is_inst);

#endif
