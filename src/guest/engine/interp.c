/* SPDX-License-Identifier: MIT */
/*
 * The portable executor: a threaded interpreter over decoded blocks.
 *
 * Each operation's handler ends with a jump of its own to the next handler, so that the host
 * predicts each separately. Budget, counts and heat are looked at once per block. Blocks are linked
 * to their direct successors on first use; indirect jumps go through the engine's lookup table.
 *
 * fence.i, ecall and the like end a block, so `left` is exact when they leave.
 */
#include "guest/engine/interp_env.h"

#define PC pc
#define LEAVE_ILLEGAL                                                                              \
	do {                                                                                       \
		goto illegal;                                                                      \
	} while (0)
#define BRANCH(cond)                                                                               \
	do {                                                                                       \
		if (cond) {                                                                        \
			pc += (uint64_t)IMM;                                                       \
			goto taken;                                                                \
		}                                                                                  \
		pc += LEN;                                                                         \
		goto sequential;                                                                   \
	} while (0)
#define JUMP(a)                                                                                    \
	do {                                                                                       \
		pc = (a);                                                                          \
		goto taken;                                                                        \
	} while (0)
#define JUMP_INDIRECT(a)                                                                           \
	do {                                                                                       \
		pc = (a);                                                                          \
		goto indirect;                                                                     \
	} while (0)
#define FENCE_I() goto fence_i
#define ECALL()	  goto ecall
#define EBREAK()  goto ebreak

enum engine_exit interp_run(struct engine *e, struct hart *h, struct block *b)
{
	static const void *const handlers[OP_COUNT + 1] = {
		[OP_ILLEGAL] = &&illegal,
#define INST(id, ...) [OP_##id] = &&op_##id,
#define CINST(...)
#include "isa/insts.def"
#undef INST
		[OP_BLOCK_END] = &&block_end,
	};
	const struct inst *in;
	struct block *next;
	uint64_t pc;

enter:
	pc = b->pc;
	if (unlikely(--b->heat < 0 || e->left < b->count)) {
		h->pc = pc;
		return RUN_AGAIN;
	}
	e->left -= b->count;
	e->block = b;
	b->times++;
	in = b->insts;
	goto *handlers[in->op];

#define INST(id, name, mask, match, format, cls, mem, flags, ...)                                  \
	op_##id:                                                                                   \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}                                                                                          \
	pc += LEN;                                                                                 \
	in++;                                                                                      \
	goto *handlers[in->op];
#include "isa/insts.def"
#undef INST

/* Goes on with the block at pc, which one of the two ways out of this block leads to. */
#define FOLLOW(way)                                                                                \
	next = b->next[way];                                                                       \
	if (unlikely(!next)) {                                                                     \
		next = cache_lookup(e, pc);                                                        \
		if (!next)                                                                         \
			goto again;                                                                \
		b->next[way] = next;                                                               \
	}                                                                                          \
	b = next;                                                                                  \
	goto enter

sequential:
	FOLLOW(0);
taken:
	FOLLOW(1);
#undef FOLLOW

indirect:
	next = cache_lookup(e, pc);
	if (!next)
		goto again;
	b = next;
	goto enter;

block_end:
	if (likely(b->end_kind == BLOCK_END_SEQ))
		goto sequential;
	h->pc = pc;
	if (b->end_kind != BLOCK_END_MARK)
		return RUN_AGAIN;
	return isa_is_mark_begin(&b->insts[b->count - 1]) ? ENGINE_MARK_BEGIN : ENGINE_MARK_END;

again:
	h->pc = pc;
	return RUN_AGAIN;

fence_i:
	h->pc = pc + LEN;
	cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
	return RUN_AGAIN;

ecall:
	h->pc = pc;
	return ENGINE_ECALL;

ebreak:
	h->pc = pc;
	engine_unwind_block(e, b, (unsigned)(in - b->insts));
	return ENGINE_EBREAK;

illegal:
	/* May stand inside a block: a reserved rounding mode. */
	h->pc = pc;
	engine_unwind_block(e, b, (unsigned)(in - b->insts));
	return ENGINE_ILLEGAL;
}
