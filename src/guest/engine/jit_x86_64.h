/* SPDX-License-Identifier: MIT */
/*
 * Inside the x86-64 translator.
 *
 * Host registers while generated code runs:
 *
 *   rbp  &hart->x[16], so that every integer register is one signed byte away
 *   r14  what is left of the budget, lowered by a block's length at its start
 *   r15  host address of guest address 0
 *   rbx rsi rdi r8-r13  the nine busiest guest registers, in all blocks alike
 *   rax rcx rdx xmm0 xmm1  scratch
 *
 * Other guest registers live in the hart; so do all FP registers, of which a block keeps copies in
 * xmm2-xmm15 but writes each result through. So at a fault nothing is missing but the nine, which
 * the signal handler takes from the saved host registers.
 *
 * Guest FP flags gather in MXCSR and are added to hart->fflags whenever generated code is left. It
 * runs only while frm is round-to-nearest-even.
 */
#ifndef GUEST_JIT_X86_64_H
#define GUEST_JIT_X86_64_H

#include "guest/engine/jit.h"
#include "guest/engine/jit_asm.h"

#define JIT_BUFFER_BYTES (24u << 20)
#define JIT_TARGETS	 32768 /* entries of the indirect-jump table; a power of two */
#define JIT_BLOCK_ROOM	 (BLOCK_MAX_INSTS * 256 + 1024) /* more than any block's code takes */
#define HART_BIAS	 128

/* Values that generated code returns beside the numbers of links. */
#define JIT_EXIT_PLAIN	  0u
#define JIT_EXIT_INDIRECT 1u
#define JIT_LINK_FIRST	  2u

#define MXCSR_DEFAULT 0x1f80u

/* Before the code, which reaches it relative to its own place. */
struct jit_data {
	uint64_t sign_d[2], abs_d[2], sign_s[2], abs_s[2]; /* aligned: operands of andps, xorps */
	uint64_t box[2];				   /* a boxed +0.0 */
	uint64_t limit;					   /* GUEST_ADDR_LIMIT */
	uint8_t *touched;				   /* engine_track */
	double two_32, two_63, two_64;
	uint32_t mxcsr_default;
	uint32_t mxcsr; /* as generated code left it */
	uint8_t fflags_of_mxcsr[64];
	struct {
		uint64_t pc; /* 0: empty; in the first, which pc 0 would hit, 1 */
		const void *code;
	} targets[JIT_TARGETS];
};

/* A jump from one block to a known other: goes to its stub until the other has code. */
struct jit_link {
	uint8_t *at; /* the displacement */
	const uint8_t *stub;
	uint64_t leader; /* of the static block that goes on there; LEADER_NEW: another begins */
};

struct jit_block {
	const uint8_t *start, *end;
	struct block *block;
	uint32_t map; /* first of block->count + 1 code offsets in jit->map */
};

struct jit {
	struct jit_data *data; /* the buffer */
	int fork_fd;	       /* a copy of the code for the child of a fork; -1 */
	uint8_t *code_start;   /* first byte after the fixed stubs */
	struct code code;
	uint32_t (*enter)(const void *code, struct hart *h, uint8_t *base, uint64_t left);
	const uint8_t *exit;	      /* eax: what to return */
	const uint8_t *exit_indirect; /* rax: the pc, for which the table has no entry */
	const uint8_t *first_run;     /* eax: the number of a tally, to put on the list */
	const uint8_t *other_line;    /* edx: a line that its entry of the first table lacks */
	const uint8_t *other_stored;  /* the same with history, for a store */
	const uint8_t *slow;	      /* edx: jit_block number * BLOCK_MAX_INSTS + instruction */
	bool has_bmi2, has_sse41, has_fma, has_bmi1, has_lzcnt, has_popcnt;
	struct jit_link *links;
	size_t link_count, link_capacity;
	struct jit_block *blocks;
	size_t block_count, block_capacity;
	uint16_t *map;
	size_t map_count, map_capacity;
};

/* A branch to the slow path of an instruction. */
struct trans_fixup {
	uint8_t *at;
	uint8_t inst;
};

/* An instruction that some condition sends to the function of its operation. */
struct trans_slow {
	bool used;
	bool leaves; /* does not resume, because the rest of the block relies on the condition */
	const uint8_t *resume;
	uint8_t xmm_of[32]; /* what must be in which register when it resumes */
};

/* The translation of one block. */
struct trans {
	struct jit *j;
	struct engine *e;
	struct block *b;
	struct code c;
	const struct inst *in;
	unsigned i;  /* its number */
	uint64_t pc; /* its address */
	/* How far outside the guest's addresses a register may be: -1 not known, 0 checked; grows
	 * with each addition to a checked value. */
	int32_t slack[32];
	uint8_t xmm_of[32]; /* where a copy of an FP register is; REG_NONE */
	uint8_t freg_of[16];
	bool boxed[32]; /* known to hold a NaN-boxed single */
	unsigned next_xmm;
	struct trans_slow slow[BLOCK_MAX_INSTS];
	struct trans_fixup fixups[BLOCK_MAX_INSTS * 6];
	unsigned fixup_count;
	struct {
		uint8_t *at;
		uint64_t target;
		uint64_t leader;
	} links[4];
	unsigned link_count;
	uint8_t *touched[BLOCK_MAX_INSTS]; /* branches of accesses to another line; NULL: none */
	uint8_t *touched_back[BLOCK_MAX_INSTS];
	uint8_t *first_run; /* with vectors: the branch of a first run */
};

/* Where each guest register lives; REG_NONE: in the hart. */
extern const uint8_t jit_host_of[32];

static inline struct opnd trans_hart(size_t offset)
{
	return asm_mem(RBP, (int32_t)offset - HART_BIAS);
}
/* x[r] as an operand: its register, or its place in the hart, where x[0] is zero. */
static inline struct opnd trans_x(unsigned r)
{
	return jit_host_of[r] != REG_NONE ? asm_reg(jit_host_of[r])
					  : trans_hart(offsetof(struct hart, x) + 8 * r);
}
static inline struct opnd trans_f(unsigned r)
{
	return trans_hart(offsetof(struct hart, f) + 8 * r);
}
/* A host register that holds x[r]: its own, or scratch after a load. Leaves the flags alone. */
static inline unsigned trans_use(struct trans *t, unsigned r, unsigned scratch)
{
	if (jit_host_of[r] != REG_NONE)
		return jit_host_of[r];
	asm_load(&t->c, scratch, trans_x(r));
	return scratch;
}
/* Where to compute x[rd]: its register, or scratch. */
static inline unsigned trans_dest(unsigned rd, unsigned scratch)
{
	return jit_host_of[rd] != REG_NONE ? jit_host_of[rd] : scratch;
}
/* x[rd] has been computed in reg. */
static inline void trans_done(struct trans *t, unsigned rd, unsigned reg)
{
	if (rd == 0)
		return;
	if (jit_host_of[rd] != REG_NONE)
		asm_mov(&t->c, jit_host_of[rd], reg);
	else
		asm_store(&t->c, trans_x(rd), reg);
	t->slack[rd] = -1;
}

/* If cc, this instruction is done by the function of its operation instead. */
void trans_slow_if(struct trans *t, enum host_cc cc);

/* Each translates the instruction if it is one of theirs. */
bool trans_int(struct trans *t);
bool trans_mem(struct trans *t);
bool trans_fp(struct trans *t);
/* Makes sure that the base register of the access is in range; an operand for the access. */
struct opnd trans_address(struct trans *t);
/* Around the access itself, where pages are tracked: _before leaves the page's mark in rdx. */
void trans_touch_before(struct trans *t, struct opnd at);
void trans_touch_after(struct trans *t);
/* Forgets copies of FP registers, which a call has destroyed. */
void trans_forget_fp(struct trans *t);

#endif
