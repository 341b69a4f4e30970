/* SPDX-License-Identifier: MIT */
/*
 * A bare machine for engine tests: guest memory without a process, an engine of each kind on it,
 * and encoders that write instructions through the instruction table.
 */
#ifndef TESTS_GUEST_ENGINE_WORLD_H
#define TESTS_GUEST_ENGINE_WORLD_H

#include "guest/engine/engine.h"

#define CODE_PC	   0x10000ull
#define CODE_BYTES 0x10000ull
#define DATA_PC	   0x40000ull
#define DATA_BYTES 0x4000ull

enum executor { BY_STEP, BY_INTERPRETER, BY_GENERATED_CODE, EXECUTORS };

struct world {
	struct guest_mem mem;
	struct engine *engine[EXECUTORS];
	uint64_t executed;  /* instructions of the observed run before its current engine_run */
	uint32_t *code_end; /* where the next instruction goes */
};

void world_open(struct world *w);
void world_close(struct world *w);
/* Maps memory with host and guest protection prot; prot 0 unmaps it. */
void world_map(struct world *w, uint64_t addr, uint64_t length, unsigned prot);
/* Appends one instruction. */
void world_emit(struct world *w, uint32_t word);
/* Starts emitting at CODE_PC again; all engines forget what they decoded. */
void world_restart(struct world *w);
uint64_t world_pc(const struct world *w); /* pc of the next instruction */

/*
 * Runs at most max_insts instructions, until something other than the end of a budget happens, in
 * pieces of up to `piece` instructions (0: one piece; otherwise chosen by rng). Checks that
 * budgets are exact.
 */
enum engine_exit world_run(struct world *w, enum executor by, struct hart *h, uint64_t max_insts,
			   uint64_t piece, struct rng *rng);

uint32_t enc_r(enum op op, unsigned rd, unsigned rs1, unsigned rs2);
uint32_t enc_i(enum op op, unsigned rd, unsigned rs1, int imm);
uint32_t enc_s(enum op op, unsigned rs1, unsigned rs2, int imm);
uint32_t enc_b(enum op op, unsigned rs1, unsigned rs2, int imm);
uint32_t enc_u(enum op op, unsigned rd, int imm);
uint32_t enc_j(enum op op, unsigned rd, int imm);
/* Emits rd = value, in as many instructions as needed. */
void world_emit_li(struct world *w, unsigned rd, uint64_t value);

#endif
