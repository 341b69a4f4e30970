/* SPDX-License-Identifier: MIT */
/*
 * Inside the execution engine: what its files share.
 *
 *   engine.c        the public functions and the loop that chooses who executes the next block
 *   cache.c         decoded blocks and decoded pages; invalidation; counts
 *   count.c         how often each block ran
 *   vector.c        instructions by static block, interval by interval
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
#include "guest/engine/history.h"
#include "guest/engine/vector.h"
#include "guest/memory/mem.h"
#include "isa/isa.h"

/* Generated code checks only the base register of an access. So much address space around the
 * guest's is reserved without access that base + offset cannot reach anything else. */
#define ENGINE_GUARD_BYTES GUEST_GUARD_BYTES

/* Where a fault in a single step goes. The compiler's own is three stores where there is one (clang has none for
 * aarch64); sigsetjmp takes half as long as the whole step. */
#if defined(__x86_64__) || (defined(__GNUC__) && !defined(__clang__))
typedef void *step_env_t[5];
#define STEP_SETJMP(env)  __builtin_setjmp(env)
#define STEP_LONGJMP(env) __builtin_longjmp(env, 1)
#else
typedef jmp_buf step_env_t;
#define STEP_SETJMP(env)  _setjmp(env)
#define STEP_LONGJMP(env) _longjmp(env, 1)
#endif

#define BLOCK_MAX_INSTS 64
#define DECODE_SLOTS	(GUEST_PAGE_BYTES / 2)
#define LOOKUP_ENTRIES	16384
#define PAGE_ENTRIES	256
#define VIEW_ENTRIES	64
#define HEAT_NEVER	INT64_MAX
#define HEAT_TRANSLATE	12 /* runs of a block before it is worth translating */
#define SLICE_INSTS	(1ull << 20)
#define CHUNK_BYTES	(256u << 10)
#define CHUNKS_MAX	64 /* 16 MiB of blocks, then all are dropped */
#define CACHE_BYTES	(CHUNK_BYTES * CHUNKS_MAX)
#define BLOCK_MIN_BYTES (sizeof(struct block) + 2 * sizeof(struct inst))

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
	uint64_t times;	       /* runs since counting was switched on; not with vectors */
	uint64_t leader;       /* where its static block begins; pc, unless there are vectors */
	struct tally *tally;   /* its runs, with vectors */
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
	struct jit *jit;	      /* NULL: interpreter only */
	struct counts *counts;	      /* NULL: not counting */
	struct vectors *vectors;      /* NULL: none; else there are counts, too */
	uint32_t *vector_end;	      /* behind the last entry of the list of what has run */
	struct engine_thread *thread; /* of the run in progress; with vectors */
	uint64_t
	    leader; /* of the static block that the hart's pc goes on with; LEADER_NEW or pc: it
			    begins one. Kept only with vectors, whenever the loop is in control */
	struct locality *locality; /* what was touched; NULL: not wanted */
	bool locality_near;	   /* generated code can reach it */
	struct history *history;   /* engine_history; NULL: not wanted */
	bool resumed;		   /* that block was cut by the end of a run */
	struct watch *watch;	   /* engine_watch; NULL: nobody watches */
	uint8_t *touched;	   /* engine_track; NULL: not tracking */

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
	step_env_t step_env;

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

#define WATCH_MAX 64 /* stretches in a piece */

/* What engine_watch has seen and not yet handed over. */
struct watch {
	struct guest_seen seen[WATCH_MAX];
	struct inst single[WATCH_MAX]; /* of stretches that are no blocks */
	struct guest_access accesses[WATCH_MAX * BLOCK_MAX_INSTS];
	struct guest_access *access; /* behind the last */
	size_t n;
	void (*take)(void *ctx, const struct guest_seen *seen, size_t n, uint64_t next_pc);
	void *ctx;
};
/* Hands over what was seen; the last goes on at next_pc. */
void watch_flush(struct engine *e, uint64_t next_pc);

static inline void watch_block(struct engine *e, const struct block *b)
{
	struct watch *w = e->watch;

	if (unlikely(w->n == WATCH_MAX))
		watch_flush(e, b->pc);
	w->seen[w->n++] = (struct guest_seen){ .pc = b->pc,
					       .end = b->end,
					       .insts = b->insts,
					       .accesses = w->access,
					       .count = b->count };
}

/* The address of an instruction that accesses memory, before it is executed. */
static inline uint64_t inst_address(const struct hart *h, const struct inst *in, unsigned cls)
{
	return h->x[in->rs1] + (cls == CLASS_AMO ? 0 : (uint64_t)(int64_t)in->imm);
}

/* Executes one instruction by the function of its operation, and marks the page that it touches. */
enum engine_exit engine_op(struct engine *e, struct hart *h, const struct inst *in);

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
/* The same for the block at pc that goes on with the static block of `leader`; without decode: NULL if
 * there is none yet. */
struct block *cache_continued(struct engine *e, uint64_t pc, uint64_t leader, bool decode);
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
/* Runs of b that are not among the singles. */
uint64_t counts_of(const struct engine *e, const struct block *b);
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

/* With vectors: the block that the hart goes on with, NULL as above. *alone: instructions are to be
 * executed one by one up to the end of a static block that was cut, or to a block that is there. */
struct block *engine_next(struct engine *e, struct hart *h, bool *alone);

/* The block that goes on where b, which ends in sequence, ends. */
static inline struct block *cache_after(struct engine *e, const struct block *b)
{
	return unlikely(e->vectors) ? cache_continued(e, b->end, b->leader, true)
				    : cache_lookup(e, b->end);
}

/* Whether it is noted what `in` touches: for locality, or for history. */
static inline bool engine_notes(const struct engine *e, const struct inst *in)
{
	if (e->history)
		return op_info[in->op].flags & (OPF_LOAD | OPF_STORE);
	return e->locality && isa_has_locality(in);
}

/* The memory operand to be noted of an instruction that is to be executed; 0: none. */
static inline uint64_t engine_operand(const struct engine *e, const struct hart *h,
				      const struct inst *in)
{
	return engine_notes(e, in) ? inst_address(h, in, op_info[in->op].cls) : 0;
}

/* That instruction has been executed. */
static inline void engine_note(struct engine *e, const struct inst *in, uint64_t operand)
{
	if (!operand)
		return;
	if (e->history)
		history_touch(e->history, operand, op_info[in->op].flags & OPF_STORE);
	else
		locality_touch(e->locality, operand);
}

/* Block b begins to run. */
static inline void engine_count_run(struct engine *e, struct block *b)
{
	if (likely(!e->vectors))
		b->times++;
	else if (++b->tally->times == 0)
		*e->vector_end++ = vectors_number(e, b->tally);
}

/* Runs b and what follows until the loop is needed. */
enum engine_exit interp_run(struct engine *e, struct hart *h, struct block *b);
/* The same, and marks pages in e->touched. */
enum engine_exit interp_track(struct engine *e, struct hart *h, struct block *b);
/* The same, and notes in e->watch what it executes. */
enum engine_exit interp_watch(struct engine *e, struct hart *h, struct block *b);

/*
 * Executes `in`, which is at h->pc, and sets h->pc to the next instruction. ENGINE_BUDGET:
 * executed. Faults go to e->env, so e->cur must be `in`.
 */
typedef enum engine_exit interp_op_fn(struct engine *e, struct hart *h, const struct inst *in);
extern interp_op_fn *const interp_op[OP_COUNT];

#endif
