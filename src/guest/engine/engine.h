/* SPDX-License-Identifier: MIT */
/*
 * Executes guest instructions. The engine knows registers and memory, not Linux: whatever needs the
 * kernel ends engine_run with a reason, the hart's state exact at an instruction boundary.
 *
 * Two executors give the same result: a portable threaded interpreter over cached, chained,
 * predecoded blocks, and generated x86-64 code for the same blocks where the host allows it.
 */
#ifndef GUEST_ENGINE_H
#define GUEST_ENGINE_H

#include "guest/guest.h"
#include "guest/engine/hart.h"
#include "guest/memory/mem.h"
#include "trace/locality.h"

struct engine;
struct history;

enum engine_exit {
	ENGINE_BUDGET, /* the budget is used up */
	ENGINE_ECALL,  /* pc is at the ecall, which is counted as executed */
	ENGINE_EBREAK, /* this and the rest below: pc is at the instruction, which is not counted */
	ENGINE_ILLEGAL,
	ENGINE_FAULT,	    /* bad data access: see struct engine_fault */
	ENGINE_FETCH_FAULT, /* pc is not executable or (2 bytes into it) the next page is not */
	ENGINE_MARK_BEGIN,  /* pc is after the mark, which is counted */
	ENGINE_MARK_END,
	ENGINE_INTERRUPTED, /* engine_interrupt was called */
};

struct engine_fault {
	uint64_t addr;
	bool write;
	bool mapped;	 /* mapped, but without that access: SEGV_ACCERR, not SEGV_MAPERR */
	bool bus;	 /* beyond the end of a mapped file, or misaligned: SIGBUS */
	bool misaligned; /* an atomic access that is not aligned: BUS_ADRALN */
};

/* Where a static block stands: a file, by a number from 1 on, and the offset in it; else file is 0, and
 * the offset is the address. */
struct engine_place {
	uint64_t file, offset;
};

struct engine_config {
	bool interpreter_only;
	/* Value of CSR cycle/time/instret (0xc00..0xc02), given the instructions executed in this
	 * run so far. */
	uint64_t (*counter)(void *ctx, unsigned csr, uint64_t executed);
	void *counter_ctx;
	/* Fills out with the place of pc, for vectors; ctx is counter_ctx. NULL: addresses. */
	void (*place)(void *ctx, uint64_t pc, struct engine_place *out);
};

struct engine *engine_new(struct guest_mem *mem, const struct engine_config *config);
void engine_free(struct engine *e);

/* Executes until something needs the kernel or *budget instructions are done; lowers *budget by
 * what was executed. Exact: ENGINE_BUDGET comes after precisely *budget instructions. */
enum engine_exit engine_run(struct engine *e, struct hart *h, uint64_t *budget);

/* Executes one instruction and reports pc, inst, addr, store_value, STEP_TAKEN, STEP_SC_FAIL and
 * next_pc in out. ENGINE_BUDGET when it simply executed. */
enum engine_exit engine_step(struct engine *e, struct hart *h, struct guest_step *out);

const struct engine_fault *engine_last_fault(const struct engine *e);
const struct inst *engine_fetch(struct engine *e,
				uint64_t pc);	      /* decoded, cached; NULL if not executable */
uint64_t engine_code_version(const struct engine *e); /* see guest_code_version */
void engine_invalidate(struct engine *e, uint64_t start, uint64_t end);
void engine_interrupt(struct engine *e); /* async-signal-safe */

/* From now on take is told what engine_run executes, piece by piece, as guest_watch says; take NULL:
 * no longer. Only the interpreter runs meanwhile. */
void engine_watch(struct engine *e,
		  void (*take)(void *ctx, const struct guest_seen *seen, size_t n,
			       uint64_t next_pc),
		  void *ctx);
/* After engine_run: hands over the rest. With held, a control transfer that is the last of all goes
 * there instead, its instruction to *copy; true if there is one. */
bool engine_watched(struct engine *e, uint64_t next_pc, struct guest_seen *held, struct inst *copy);

/* From now on every load and store of engine_run that does not fault sets the byte of its page in
 * touched, which has one for each page of the guest; that of the page in which the access begins.
 * engine_step marks nothing. */
void engine_track(struct engine *e, uint8_t *touched);
/* From now on the history of lines is kept (history.h), and pages are marked; there is no code yet. NULL: the host has no
 * room for it. */
struct history *engine_history(struct engine *e);
/* Before a run: how many instructions it may have. */
uint64_t engine_age_history(struct engine *e);

/* Around a fork: _begin before it, then _end in the parent and _child in the child. */
void engine_fork_begin(struct engine *e);
void engine_fork_end(struct engine *e);
void engine_fork_child(struct engine *e);

/* Dynamic counts for profiling without timing: how often each block ran. Off by default, and then
 * free. */
void engine_count_blocks(struct engine *e, bool on);
/* Calls visit for every block that ran: its start, its decoded instructions, how often. Fixed order
 * (by pc). */
void engine_visit_blocks(struct engine *e,
			 void (*visit)(void *ctx, uint64_t pc, const struct inst *insts,
				       size_t count, uint64_t times),
			 void *ctx);

/* Basic block vectors: counts as above and, beside them, how many instructions each static block has
 * executed since the last look (vector.h). Off by default, and then free. */
void engine_vectors(struct engine *e, bool on, bool data);
/* With data: the counts of trace/locality.h since the last call. */
void engine_take_data(struct engine *e, uint64_t counts[LOCALITY_COUNTS]);
/* engine_run executes for a thread whose place in its static block is *at; NEW at first. */
struct engine_thread {
	uint64_t leader;  /* where its present static block began, or LEADER_NEW */
	uint64_t next_pc; /* where it goes on; if it is elsewhere, a new block begins */
};
#define ENGINE_THREAD_NEW ((struct engine_thread){ .leader = UINT64_MAX })
void engine_vector_thread(struct engine *e, struct engine_thread *at);
/* Calls visit for every static block that has run since the last call, in the order of first
 * execution. Blocks have numbers from 1 on, in the order of their first execution of all. */
void engine_take_vector(struct engine *e, void (*visit)(void *ctx, uint64_t block, uint64_t insts),
			void *ctx);
uint64_t engine_vector_blocks(const struct engine *e); /* that have run */
struct engine_place engine_vector_place(const struct engine *e, uint64_t number);

#endif
