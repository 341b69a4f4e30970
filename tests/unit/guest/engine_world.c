/* SPDX-License-Identifier: MIT */
/* Makes the bare machine of engine_world.h, and runs its engines by single steps or in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "unit/guest/engine_world.h"

static uint64_t counter(void *ctx, unsigned csr, uint64_t executed)
{
	struct world *w = ctx;

	return (w->executed + executed) * 16 + (csr & 15);
}

void world_open(struct world *w)
{
	struct err e;

	memset(w, 0, sizeof(*w));
	if (!mem_init(&w->mem, &e))
		fail_msg("%s", e.text);
	world_map(w, CODE_PC, CODE_BYTES, MEM_R | MEM_W | MEM_X);
	world_map(w, DATA_PC, DATA_BYTES, MEM_R | MEM_W);
	for (int by = 0; by < EXECUTORS; by++) {
		struct engine_config config = { .interpreter_only = by != BY_GENERATED_CODE,
						.counter = counter,
						.counter_ctx = w };
		w->engine[by] = engine_new(&w->mem, &config);
	}
	world_restart(w);
}

void world_close(struct world *w)
{
	for (int by = 0; by < EXECUTORS; by++)
		engine_free(w->engine[by]);
	mem_fini(&w->mem);
}

void world_map(struct world *w, uint64_t addr, uint64_t length, unsigned prot)
{
	int host = (prot & (MEM_R | MEM_X) ? PROT_READ : 0) | (prot & MEM_W ? PROT_WRITE : 0);

	assert_ptr_not_equal(mmap(w->mem.base + addr, length, host,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0),
			     MAP_FAILED);
	memset(w->mem.prot + addr / GUEST_PAGE_BYTES, prot ? (int)(prot | MEM_MAPPED) : 0,
	       length / GUEST_PAGE_BYTES);
}

void world_restart(struct world *w)
{
	w->code_end = (uint32_t *)(w->mem.base + CODE_PC);
	for (int by = 0; by < EXECUTORS; by++)
		engine_invalidate(w->engine[by], CODE_PC, CODE_PC + CODE_BYTES);
}

void world_emit(struct world *w, uint32_t word)
{
	unsigned len = (word & 3) == 3 ? 4 : 2;

	memcpy(w->code_end, &word, len);
	w->code_end = (uint32_t *)((uint8_t *)w->code_end + len);
}

uint64_t world_pc(const struct world *w)
{
	return (uint64_t)((uint8_t *)w->code_end - w->mem.base);
}

enum engine_exit world_run(struct world *w, enum executor by, struct hart *h, uint64_t max_insts,
			   uint64_t piece, struct rng *rng)
{
	enum engine_exit result = ENGINE_BUDGET;

	w->executed = 0;
	while (w->executed < max_insts && result == ENGINE_BUDGET) {
		uint64_t budget = max_insts - w->executed;
		if (by == BY_STEP) {
			struct guest_step step;
			result = engine_step(w->engine[by], h, &step);
			w->executed += result == ENGINE_BUDGET || result == ENGINE_ECALL ||
				       result == ENGINE_MARK_BEGIN || result == ENGINE_MARK_END;
			continue;
		}
		if (piece)
			budget = min_u64(budget, 1 + rng_below(rng, piece));
		uint64_t given = budget;
		result = engine_run(w->engine[by], h, &budget);
		if (result == ENGINE_BUDGET)
			assert_int_equal(budget, 0);
		w->executed += given - budget;
	}
	return result;
}

uint32_t enc_r(enum op op, unsigned rd, unsigned rs1, unsigned rs2)
{
	return op_info[op].match | rd << 7 | rs1 << 15 | rs2 << 20;
}

uint32_t enc_i(enum op op, unsigned rd, unsigned rs1, int imm)
{
	return op_info[op].match | rd << 7 | rs1 << 15 | (uint32_t)imm << 20;
}

uint32_t enc_s(enum op op, unsigned rs1, unsigned rs2, int imm)
{
	uint32_t v = (uint32_t)imm;

	return op_info[op].match | rs1 << 15 | rs2 << 20 | (v & 31) << 7 | (v >> 5 & 127) << 25;
}

uint32_t enc_b(enum op op, unsigned rs1, unsigned rs2, int imm)
{
	uint32_t v = (uint32_t)imm;

	return op_info[op].match | rs1 << 15 | rs2 << 20 | (v >> 11 & 1) << 7 | (v >> 1 & 15) << 8 |
	       (v >> 5 & 63) << 25 | (v >> 12 & 1) << 31;
}

uint32_t enc_u(enum op op, unsigned rd, int imm)
{
	return op_info[op].match | rd << 7 | ((uint32_t)imm & 0xfffff000);
}

uint32_t enc_j(enum op op, unsigned rd, int imm)
{
	uint32_t v = (uint32_t)imm;

	return op_info[op].match | rd << 7 | (v >> 12 & 255) << 12 | (v >> 11 & 1) << 20 |
	       (v >> 1 & 1023) << 21 | (v >> 20 & 1) << 31;
}

void world_emit_li(struct world *w, unsigned rd, uint64_t value)
{
	world_emit(w, enc_i(OP_ADDI, rd, 0, (int)(value >> 55)));
	for (int shift = 44; shift >= 0; shift -= 11) {
		world_emit(w, enc_i(OP_SLLI, rd, rd, 11));
		world_emit(w, enc_i(OP_ORI, rd, rd, (int)(value >> shift & 2047)));
	}
}
