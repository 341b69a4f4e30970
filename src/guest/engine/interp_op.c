/* SPDX-License-Identifier: MIT */
/*
 * One function per operation, made from the instruction table: what single steps execute, and what
 * generated code calls for operations that it does not translate.
 *
 * An operation runs at h->pc and moves it; where the instruction does not complete (ecall, ebreak,
 * illegal) h->pc stays.
 */
#include "guest/engine/interp_env.h"

#define PC	      h->pc
#define LEAVE_ILLEGAL return ENGINE_ILLEGAL
#define BRANCH(cond)                                                                               \
	do {                                                                                       \
		e->taken = (cond);                                                                 \
		next = e->taken ? h->pc + (uint64_t)IMM : next;                                    \
	} while (0)
#define JUMP(a)		 (e->taken = true, next = (a))
#define JUMP_INDIRECT(a) (e->taken = true, next = (a))
#define FENCE_I()	 result = RUN_AGAIN
#define ECALL()		 return ENGINE_ECALL
#define EBREAK()	 return ENGINE_EBREAK

static enum engine_exit op_illegal(struct engine *e, struct hart *h, const struct inst *in)
{
	(void)e, (void)h, (void)in;
	return ENGINE_ILLEGAL;
}

#define INST(id, name, mask, match, format, cls, mem, flags, ...)                                  \
	static enum engine_exit op_##id(struct engine *e, struct hart *h, const struct inst *in)   \
	{                                                                                          \
		uint64_t next = h->pc + LEN;                                                       \
		enum engine_exit result = ENGINE_BUDGET;                                           \
		(void)e;                                                                           \
		{                                                                                  \
			__VA_ARGS__;                                                               \
		}                                                                                  \
		h->pc = next;                                                                      \
		return result;                                                                     \
	}
#define CINST(...)
#include "isa/insts.def"
#undef INST

interp_op_fn *const interp_op[OP_COUNT] = {
	[OP_ILLEGAL] = op_illegal,
#define INST(id, ...) [OP_##id] = op_##id,
#include "isa/insts.def"
};
