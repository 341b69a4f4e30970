/* SPDX-License-Identifier: MIT */
/*
 * The engine's loop: looks up the block at the hart's pc and lets generated code or the interpreter
 * run it and what is linked to it, until the kernel is needed or the budget is used up.
 *
 * Exact budgets: executors never start a block that is longer than what is left. When less is left
 * than the next block needs, the rest is executed one instruction at a time. Large budgets are
 * handed out in slices, so that a request to stop is seen soon without a check per block.
 *
 * A fault leaves an executor by siglongjmp into engine_run or step_memory; by then e->cur names the
 * instruction and the registers are in the hart.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/engine/impl.h"
#include "guest/engine/jit.h"
#include "util/util.h"

struct engine *engine_new(struct guest_mem *mem, const struct engine_config *config)
{
	struct engine *e = x_calloc(1, sizeof(*e));

	e->mem = mem;
	e->base = mem->base;
	if (config)
		e->config = *config;
	e->cache = cache_new();
	cache_clear_lookup(e);
	if (!e->config.interpreter_only)
		e->jit = jit_new(e);
	engine_install_handlers();
	return e;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	if (e->jit)
		jit_free(e->jit);
	cache_free(e->cache);
	counts_free(e->counts);
	free(e);
}

void engine_unwind_block(struct engine *e, struct block *b, unsigned done)
{
	e->left += b->count - done;
	if (e->counts) {
		b->times--;
		counts_add_block(e->counts, b, done, 1);
	}
}

/* After a fault in a block: the hart's pc and the accounts, as of before e->cur. */
static void unwind_fault(struct engine *e, struct hart *h)
{
	struct block *b = e->block;

	if (!b)
		return; /* a single step: h->pc is still there */
	uint64_t pc = b->pc;
	unsigned done = 0;
	for (const struct inst *in = b->insts; in != e->cur; in++, done++)
		pc += in->len;
	h->pc = pc;
	engine_unwind_block(e, b, done);
}

/* The end of the budget: one instruction of a block that is too long. */
static enum engine_exit run_one(struct engine *e, struct hart *h)
{
	uint64_t pc = h->pc;
	const struct inst *in = cache_inst(e, pc);

	if (!in)
		return ENGINE_FETCH_FAULT;
	e->block = NULL;
	e->cur = in;
	enum engine_exit result = interp_op[in->op](e, h, in);
	if (result == ENGINE_EBREAK || result == ENGINE_ILLEGAL)
		return result;
	e->left--;
	if (e->counts)
		counts_add(e->counts, pc, in, 1);
	if (result == RUN_AGAIN)
		cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
	else if (result == ENGINE_ECALL)
		return result;
	else if (in->rd == 0 && isa_is_mark_begin(in))
		return ENGINE_MARK_BEGIN;
	else if (in->rd == 0 && isa_is_mark_end(in))
		return ENGINE_MARK_END;
	return RUN_AGAIN;
}

static enum engine_exit run_block(struct engine *e, struct hart *h, struct block *b)
{
	if (b->heat > 0 || !e->jit)
		return interp_run(e, h, b);
	if (!b->code && !jit_translate(e->jit, e, b)) {
		cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
		return RUN_AGAIN;
	}
	if (b->code && jit_can_run(e->jit, h)) {
		b->heat = 0;
		return jit_run(e->jit, e, h, b);
	}
	b->heat = HEAT_TRANSLATE;
	return interp_run(e, h, b);
}

static enum engine_exit run_loop(struct engine *e, struct hart *h)
{
	for (;;) {
		enum engine_exit result;

		if (unlikely(cache_is_full(e->cache)))
			cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
		struct block *b = cache_lookup(e, h->pc);
		if (e->left < BLOCK_MAX_INSTS && e->reserve) {
			uint64_t more = min_u64(e->reserve, SLICE_INSTS);
			e->reserve -= more;
			e->left += more;
			if (e->interrupted) {
				e->interrupted = 0;
				return ENGINE_INTERRUPTED;
			}
		}
		if (e->left == 0)
			return ENGINE_BUDGET;
		if (!b)
			return ENGINE_FETCH_FAULT;
		if (e->left < b->count)
			result = run_one(e, h);
		else
			result = run_block(e, h, b);
		if (result != RUN_AGAIN)
			return result;
	}
}

enum engine_exit engine_run(struct engine *e, struct hart *h, uint64_t *budget)
{
	/* volatile: read after the second return of sigsetjmp */
	struct engine *volatile before = engine_enter(e);
	enum engine_exit result;
	int jumped;

	e->hart = h;
	e->budget_start = *budget;
	e->reserve = *budget;
	e->left = 0;
	jumped = sigsetjmp(e->env, 0);
	if (jumped == 0) {
		result = run_loop(e, h);
	} else {
		unwind_fault(e, h);
		result = jumped == ENGINE_JMP_ILLEGAL ? ENGINE_ILLEGAL : ENGINE_FAULT;
	}
	*budget = e->reserve + e->left;
	engine_leave(before);
	return result;
}

/* __builtin_setjmp is three stores; sigsetjmp takes half as long as the whole step. */
static __attribute__((noinline)) enum engine_exit step_memory(struct engine *e, struct hart *h,
							      const struct inst *in)
{
	struct engine *volatile before = engine_enter(e);
	volatile enum engine_exit result = ENGINE_FAULT;

	e->stepping = true;
	if (__builtin_setjmp(e->step_env) == 0)
		result = interp_op[in->op](e, h, in);
	e->stepping = false;
	engine_leave(before);
	return result;
}

/* What an atomic operation left in memory. */
static uint64_t stored_value(const struct engine *e, uint64_t addr, unsigned size_bytes)
{
	uint64_t v = 0;

	memcpy(&v, e->base + addr, size_bytes);
	return v;
}

enum engine_exit engine_step(struct engine *e, struct hart *h, struct guest_step *out)
{
	uint64_t pc = h->pc;
	const struct decode_view *v = &e->views[pc / GUEST_PAGE_BYTES % VIEW_ENTRIES];
	uint64_t offset = pc - v->pc;
	const struct inst *in;

	/* No search where pc is even, in this page, and decoded already. */
	if (likely((offset & ~(GUEST_PAGE_BYTES - 2)) == 0 && v->slots[offset / 2].len)) {
		in = &v->slots[offset / 2];
	} else {
		in = cache_inst(e, pc);
		if (!in) {
			*out = (struct guest_step){ .pc = pc, .next_pc = pc };
			return ENGINE_FETCH_FAULT;
		}
	}
	const struct op_info *info = &op_info[in->op];
	enum engine_exit result;

	out->pc = pc;
	out->inst = in;
	out->flags = 0;
	out->tid = 0;
	out->addr = 0;
	out->store_value = 0;
	e->block = NULL;
	e->cur = in;
	if (info->flags & (OPF_LOAD | OPF_STORE)) {
		out->addr =
		    h->x[in->rs1] + (info->cls == CLASS_AMO ? 0 : (uint64_t)(int64_t)in->imm);
		uint64_t rs2 = info->flags & OPF_RS2_FP ? h->f[in->rs2] : h->x[in->rs2];
		e->sc_failed = false;
		result = step_memory(e, h, in);
		if (info->flags & OPF_STORE && result == ENGINE_BUDGET) {
			if (!(info->flags & OPF_LOAD)) {
				out->store_value = info->mem_bytes == 8
						       ? rs2
						       : rs2 & ((1ull << 8 * info->mem_bytes) - 1);
				if (e->sc_failed)
					out->flags = STEP_SC_FAIL;
			} else {
				out->store_value = stored_value(e, out->addr, info->mem_bytes);
			}
		}
		out->next_pc = h->pc;
		return result;
	}
	e->budget_start = 1;
	e->left = e->reserve = 0;
	result = interp_op[in->op](e, h, in);
	out->next_pc = h->pc;
	if (info->flags & OPF_CTRL) {
		out->flags = e->taken ? STEP_TAKEN : 0;
		return result;
	}
	if (unlikely(in->rd == 0)) {
		if (result == RUN_AGAIN) {
			cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
			return ENGINE_BUDGET;
		}
		if (info->cls == CLASS_ALU && result == ENGINE_BUDGET) {
			if (isa_is_mark_begin(in))
				return ENGINE_MARK_BEGIN;
			if (isa_is_mark_end(in))
				return ENGINE_MARK_END;
		}
	}
	return result;
}

const struct engine_fault *engine_last_fault(const struct engine *e)
{
	return &e->fault;
}

const struct inst *engine_fetch(struct engine *e, uint64_t pc)
{
	const struct decode_view *v = &e->views[pc / GUEST_PAGE_BYTES % VIEW_ENTRIES];
	uint64_t offset = pc - v->pc;

	if (likely((offset & ~(GUEST_PAGE_BYTES - 2)) == 0 && v->slots[offset / 2].len))
		return &v->slots[offset / 2];
	/* A fetch on a wrong path is not a fault of the guest. */
	struct engine_fault fault = e->fault;
	const struct inst *in = cache_inst(e, pc);
	e->fault = fault;
	return in;
}

uint64_t engine_code_version(const struct engine *e)
{
	return cache_version(e->cache);
}

void engine_invalidate(struct engine *e, uint64_t start, uint64_t end)
{
	cache_invalidate(e, start, end);
}

void engine_fork_begin(struct engine *e)
{
	if (e->jit)
		jit_fork_begin(e->jit);
}

void engine_fork_end(struct engine *e)
{
	if (e->jit)
		jit_fork_end(e->jit);
}

void engine_fork_child(struct engine *e)
{
	if (!e->jit || jit_fork_child(e->jit))
		return;
	/* Blocks still point to generated code that is gone. */
	cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
	jit_free(e->jit);
	e->jit = NULL;
}

void engine_interrupt(struct engine *e)
{
	e->interrupted = 1;
}
