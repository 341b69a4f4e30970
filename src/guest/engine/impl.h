/* SPDX-License-Identifier: MIT */
/*
 * Inside the execution engine: what its files share.
 *
 *   engine.c        the public functions and the loop that chooses who executes the next block
 *   cache.c         decoded blocks and decoded pages; invalidation; counts
 *   count.c         how often each block ran
 *   fault.c         host SIGSEGV/SIGBUS to guest fault
 *   interp.c        threaded interpreter over blocks
 *   interp_op.c     one function per operation: single steps and what generated code leaves out
 *   jit_*.c         generated host code for hot blocks
 *
 * Accounting. `left` is what may still be executed before the loop must look up; it is lowered by a
 * whole block on entry, and whoever leaves a block early gives back what was not executed.
 * `reserve` is the rest of the caller's budget. Executed so far = budget_start - reserve - left.
 */
#ifndef GUEST_ENGINE_IMPL_H
#define GUEST_ENGINE_IMPL_H

#include <setjmp.h>
#include <signal.h>

#include "guest/engine/engine.h"
#include "guest/memory/mem.h"
#include "isa/isa.h"

/* Generated code checks only the base register of an access. So much address space around the
 * guest's is reserved without access that base + offset cannot reach anything else. */
#define ENGINE_GUARD_BYTES GUEST_GUARD_BYTES

#define BLOCK_MAX_INSTS 64
#define DECODE_SLOTS	(GUEST_PAGE_BYTES / 2)
#define LOOKUP_ENTRIES	16384
#define PAGE_ENTRIES	256
#define VIEW_ENTRIES	64
#define HEAT_NEVER	INT64_MAX
#define HEAT_TRANSLATE	12 /* runs of a block before it is worth translating */
#define SLICE_INSTS	(1ull << 20)

/* Internal reasons to leave an executor, beside enum engine_exit: look at hart->pc and go on. */
#define RUN_AGAIN ((enum engine_exit)100)

/* What siglongjmp to engine->env carries. */
enum engine_jmp { ENGINE_JMP_FAULT = 1, ENGINE_JMP_ILLEGAL };

/* The operation of the extra entry after a block's last instruction. */
#define OP_BLOCK_END ((enum op)OP_COUNT)

enum block_end {
	BLOCK_END_SEQ,	  /* runs on: too long, or the next instruction must start a block */
	BLOCK_END_CTRL,	  /* branch or jump */
	BLOCK_END_KERNEL, /* ecall, ebreak, illegal, fence.i, CSR that a whole block must precede */
	BLOCK_END_MARK,	  /* the last instruction is one of the guest's marks */
};

struct block {
	uint64_t pc, end;      /* the guest bytes that it was decoded from */
	uint32_t count;	       /* instructions, without the one that ends the array */
	uint8_t end_kind;      /* enum block_end */
	int64_t heat;	       /* runs left before the loop is asked to translate it */
	struct block *next[2]; /* known direct successors: [0] in sequence, [1] taken */
	uint64_t times;	       /* runs since counting was switched on */
	void *code;	       /* generated code, or NULL */
	struct block *hash_next;
	struct inst insts[];
};

struct decode_page {
	uint64_t pc;
	struct decode_page *next;
	struct inst slots[DECODE_SLOTS]; /* by halfword; len 0: not decoded yet */
};

/* Finds a decoded page without a search. */
struct decode_view {
	uint64_t pc;
	const struct inst *slots;
};

struct cache;
struct counts;
struct jit;

struct engine {
	struct guest_mem *mem;
	uint8_t *base;
	struct engine_config config;
	struct cache *cache;
	struct jit *jit;       /* NULL: interpreter only */
	struct counts *counts; /* NULL: not counting */

	uint64_t left, reserve, budget_start;
	struct hart *hart;	/* of the run in progress */
	struct block *block;	/* being executed; NULL: a single step */
	const struct inst *cur; /* its present instruction; valid whenever memory is touched */
	volatile sig_atomic_t interrupted;
	bool taken;	/* the last control transfer of a single step was taken */
	bool sc_failed; /* the last store-conditional did not store */

	struct engine_fault fault;
	sigjmp_buf env;	      /* where a fault in an executor goes */
	sigjmp_buf fetch_env; /* where a fault while reading instructions goes */
	volatile bool fetching;
	volatile bool stepping; /* faults go to step_env */
	void *step_env[5];	/* for __builtin_setjmp */

	struct decode_view views[VIEW_ENTRIES]; /* by page number */
	struct {
		uint64_t pc;
		struct block *block;
	} lookup[LOOKUP_ENTRIES];
};

/* The engine that executes on this thread, for the signal handler. */
struct engine *engine_enter(struct engine *e); /* returns what was there before */
void engine_leave(struct engine *before);
void engine_install_handlers(void);
/* Ends the instruction at e->cur as a bad access; does not return. */
_Noreturn void engine_raise(struct engine *e, uint64_t addr);
_Noreturn void engine_raise_misaligned(struct engine *e, uint64_t addr);

/* Instructions executed before the present one, which must be the last of its block. */
static inline uint64_t engine_executed(const struct engine *e)
{
	return e->budget_start - e->reserve - e->left - 1;
}

/* Block b was left early: only its first `done` instructions were executed. */
void engine_unwind_block(struct engine *e, struct block *b, unsigned done);

struct cache *cache_new(void);
void cache_free(struct cache *c);
/* Finds or decodes the block at pc; NULL if the cache is full, or with e->fault filled if pc is not
 * executable. */
struct block *cache_find(struct engine *e, uint64_t pc);
/* Finds or decodes the instruction at pc, valid until the next call; NULL as above. */
const struct inst *cache_inst(struct engine *e, uint64_t pc);
/* Drops what was decoded from [start, end). Not while an executor is in a block. */
void cache_invalidate(struct engine *e, uint64_t start, uint64_t end);
/* Empties the tables that find blocks and pages without a search. */
void cache_clear_lookup(struct engine *e);
bool cache_is_full(const struct cache *c);
uint64_t cache_version(const struct cache *c);
void cache_each(const struct cache *c, void (*visit)(void *ctx, struct block *b), void *ctx);

void counts_free(struct counts *c);
/* Runs of an instruction outside of any whole block. */
void counts_add(struct counts *c, uint64_t pc, const struct inst *in, uint64_t times);
/* The same for the first count instructions of b. */
void counts_add_block(struct counts *c, const struct block *b, unsigned count, uint64_t times);

static inline struct block *cache_lookup(struct engine *e, uint64_t pc)
{
	unsigned i = (pc >> 1) % LOOKUP_ENTRIES;
	if (likely(e->lookup[i].pc == pc))
		return e->lookup[i].block;
	return cache_find(e, pc);
}

/* Runs b and what follows until the loop is needed. */
enum engine_exit interp_run(struct engine *e, struct hart *h, struct block *b);

/*
 * Executes `in`, which is at h->pc, and sets h->pc to the next instruction. ENGINE_BUDGET:
 * executed. Faults go to e->env, so e->cur must be `in`.
 */
typedef enum engine_exit interp_op_fn(struct engine *e, struct hart *h, const struct inst *in);
extern interp_op_fn *const interp_op[OP_COUNT];

#endif
