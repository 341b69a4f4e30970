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
	free(e->watch);
	counts_free(e->counts);
	vectors_free(e->vectors);
	vectors_free_locality(e);
	history_free(e->history);
	free(e);
}

/* Only the first `done` instructions of the last stretch were executed. */
static void watch_cut(struct watch *w, uint32_t done)
{
	struct guest_seen *last = &w->seen[w->n - 1];

	last->count = done;
	last->end = last->pc;
	for (const struct inst *in = last->insts; in < last->insts + done; in++)
		last->end += in->len;
	while (w->access > last->accesses && w->access[-1].inst >= last->insts + done)
		w->access--;
	w->n -= !done;
}

void engine_unwind_block(struct engine *e, struct block *b, unsigned done)
{
	e->left += b->count - done;
	e->leader = b->leader;
	if (e->counts) {
		if (e->vectors) {
			vectors_undo(e, b);
			vectors_single(e, b->leader, done);
		} else {
			b->times--;
		}
		counts_add_block(e->counts, b, done, 1);
	}
	if (e->watch && e->watch->n) {
		watch_cut(e->watch, done);
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

enum engine_exit engine_op(struct engine *e, struct hart *h, const struct inst *in)
{
	const struct op_info *info = &op_info[in->op];
	bool marks = unlikely(e->touched != NULL) && info->flags & (OPF_LOAD | OPF_STORE);
	uint64_t addr = marks ? inst_address(h, in, info->cls) : 0;
	enum engine_exit result = interp_op[in->op](e, h, in);

	if (marks && result == ENGINE_BUDGET)
		e->touched[addr / GUEST_PAGE_BYTES] = 1;
	return result;
}

/* The instruction at pc was executed on its own. */
static void vector_one(struct engine *e, uint64_t pc, const struct inst *in)
{
	if (e->leader == LEADER_NEW)
		e->leader = pc;
	vectors_single(e, e->leader, 1);
	if (isa_ends_static_block(in))
		e->leader = LEADER_NEW;
}

void watch_flush(struct engine *e, uint64_t next_pc)
{
	struct watch *w = e->watch;

	for (size_t i = 0; i < w->n; i++)
		w->seen[i].naccesses =
		    (uint32_t)((i + 1 < w->n ? w->seen[i + 1].accesses : w->access) -
			       w->seen[i].accesses);
	if (w->n)
		w->take(w->ctx, w->seen, w->n, next_pc);
	w->n = 0;
	w->access = w->accesses;
}

/* The instruction at pc was executed on its own. */
static void watch_one(struct engine *e, uint64_t pc, const struct inst *in, uint64_t addr)
{
	struct watch *w = e->watch;
	const uint32_t flags = op_info[in->op].flags;
	struct inst *copy;

	if (w->n == WATCH_MAX)
		watch_flush(e, pc);
	copy = &w->single[w->n];
	*copy = *in;
	w->seen[w->n++] = (struct guest_seen){ .pc = pc,
					       .end = pc + in->len,
					       .insts = copy,
					       .accesses = w->access,
					       .count = 1,
					       .taken = flags & OPF_CTRL && e->taken };
	if (flags & (OPF_LOAD | OPF_STORE))
		*w->access++ = (struct guest_access){ copy, addr };
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
	const uint64_t operand = engine_operand(e, h, in);
	const uint64_t addr = inst_address(h, in, op_info[in->op].cls);
	enum engine_exit result = engine_op(e, h, in);
	if (result == ENGINE_EBREAK || result == ENGINE_ILLEGAL)
		return result;
	e->left--;
	engine_note(e, in, operand);
	if (e->counts)
		counts_add(e->counts, pc, in, 1);
	if (e->vectors)
		vector_one(e, pc, in);
	if (e->watch)
		watch_one(e, pc, in, addr);
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

/* Runs a block instruction by instruction, and notes what it touches. */
static enum engine_exit run_noting(struct engine *e, struct hart *h, struct block *b)
{
	const struct inst *in, *last = &b->insts[b->count - 1];
	enum engine_exit result = ENGINE_BUDGET;

	b->heat--;
	e->left -= b->count;
	e->block = b;
	engine_count_run(e, b);
	for (in = b->insts; in <= last; in++) {
		uint64_t operand = engine_operand(e, h, in);

		e->cur = in;
		result = engine_op(e, h, in);
		if (result == ENGINE_EBREAK || result == ENGINE_ILLEGAL) {
			engine_unwind_block(e, b, (unsigned)(in - b->insts));
			return result;
		}
		engine_note(e, in, operand);
	}
	e->leader = isa_ends_static_block(last) ? LEADER_NEW : b->leader;
	if (result == RUN_AGAIN)
		cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
	else if (result == ENGINE_ECALL)
		return result;
	else if (b->end_kind == BLOCK_END_MARK)
		return isa_is_mark_begin(last) ? ENGINE_MARK_BEGIN : ENGINE_MARK_END;
	return RUN_AGAIN;
}

static enum engine_exit interpret(struct engine *e, struct hart *h, struct block *b)
{
	if (unlikely(e->locality || e->history))
		return run_noting(e, h, b);
	return unlikely(e->touched != NULL) ? interp_track(e, h, b) : interp_run(e, h, b);
}

static enum engine_exit run_block(struct engine *e, struct hart *h, struct block *b)
{
	if (unlikely(e->watch != NULL))
		return interp_watch(e, h, b);
	if (b->heat > 0 || !e->jit || (e->locality && !e->locality_near))
		return interpret(e, h, b);
	if (!b->code && !jit_translate(e->jit, e, b)) {
		cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
		return RUN_AGAIN;
	}
	if (b->code && jit_can_run(e->jit, h)) {
		b->heat = 0;
		return jit_run(e->jit, e, h, b);
	}
	b->heat = HEAT_TRANSLATE;
	return interpret(e, h, b);
}

struct block *engine_next(struct engine *e, struct hart *h, bool *alone)
{
	uint64_t pc = h->pc;

	if (!e->vectors || e->leader == LEADER_NEW || e->leader == pc) {
		e->resumed = false;
		return cache_lookup(e, pc);
	}
	struct block *b = cache_continued(e, pc, e->leader, !e->resumed);
	*alone = !b && e->resumed;
	e->resumed = *alone;
	return b;
}

static enum engine_exit run_loop(struct engine *e, struct hart *h)
{
	for (;;) {
		enum engine_exit result;

		if (unlikely(cache_is_full(e->cache)))
			cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
		bool alone = false;
		struct block *b =
		    likely(!e->vectors) ? cache_lookup(e, h->pc) : engine_next(e, h, &alone);
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
		if (!b && !alone)
			return ENGINE_FETCH_FAULT;
		if (alone || e->left < b->count)
			result = run_one(e, h);
		else
			result = run_block(e, h, b);
		if (result != RUN_AGAIN)
			return result;
	}
}

void engine_vector_thread(struct engine *e, struct engine_thread *at)
{
	e->thread = at;
}

/* Goes on with the static block that the thread was in, if it is still there. */
static void vector_begin(struct engine *e, const struct hart *h)
{
	e->leader = e->thread->next_pc == h->pc ? e->thread->leader : LEADER_NEW;
	e->resumed = true;
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
	if (e->vectors)
		vector_begin(e, h);
	jumped = sigsetjmp(e->env, 0);
	if (jumped == 0) {
		result = run_loop(e, h);
	} else {
		unwind_fault(e, h);
		result = jumped == ENGINE_JMP_ILLEGAL ? ENGINE_ILLEGAL : ENGINE_FAULT;
	}
	*budget = e->reserve + e->left;
	if (e->vectors)
		*e->thread = (struct engine_thread){ .leader = e->leader, .next_pc = h->pc };
	engine_leave(before);
	return result;
}

static __attribute__((noinline)) enum engine_exit step_memory(struct engine *e, struct hart *h,
							      const struct inst *in)
{
	struct engine *volatile before = engine_enter(e);
	volatile enum engine_exit result = ENGINE_FAULT;

	e->stepping = true;
	if (STEP_SETJMP(e->step_env) == 0)
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
		out->addr = inst_address(h, in, info->cls);
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

void engine_watch(struct engine *e,
		  void (*take)(void *ctx, const struct guest_seen *seen, size_t n,
			       uint64_t next_pc),
		  void *ctx)
{
	free(e->watch);
	e->watch = NULL;
	if (!take)
		return;
	e->watch = x_malloc(sizeof(*e->watch));
	e->watch->n = 0;
	e->watch->access = e->watch->accesses;
	e->watch->take = take;
	e->watch->ctx = ctx;
}

/* The last instruction that was seen, if it is a control transfer: takes it out. */
static bool take_last(struct watch *w, struct guest_seen *out, struct inst *copy)
{
	struct guest_seen *last = &w->seen[w->n - 1];
	const struct inst *in = w->n ? &last->insts[last->count - 1] : NULL;

	if (!in || !(op_info[in->op].flags & OPF_CTRL))
		return false;
	*copy = *in;
	*out = *last;
	out->pc = last->end = out->end - in->len;
	out->insts = copy;
	out->count = 1;
	out->naccesses = 0; /* a control transfer */
	last->count--;
	last->taken = false;
	w->n -= !last->count;
	return true;
}

bool engine_watched(struct engine *e, uint64_t next_pc, struct guest_seen *held, struct inst *copy)
{
	bool holds = held && e->watch->n && take_last(e->watch, held, copy);

	watch_flush(e, holds ? held->pc : next_pc);
	return holds;
}

void engine_track(struct engine *e, uint8_t *touched)
{
	e->touched = touched;
	if (!e->jit)
		return;
	/* Generated code marks pages or does not. */
	cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
	jit_track(e->jit, touched);
}

struct history *engine_history(struct engine *e)
{
	if (e->history)
		return e->history;
	e->history = history_new(e->touched);
	if (e->history && e->jit) {
		cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
		jit_history(e->jit, e->history);
	}
	return e->history;
}

uint64_t engine_age_history(struct engine *e)
{
	if (likely(!e->history))
		return UINT64_MAX;
	history_age(e->history);
	return HISTORY_RUN;
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
