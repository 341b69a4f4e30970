/* SPDX-License-Identifier: MIT */
/*
 * What the semantics in isa/insts.def mean for both executors in C. Needs in scope: e (engine), h
 * (hart), in (instruction), and from the includer: PC, LEAVE_ILLEGAL (a statement that leaves),
 * BRANCH, JUMP, JUMP_INDIRECT, FENCE_I, ECALL, EBREAK.
 *
 * A guest access may fault in the middle of a handler and never return to it, so everything that
 * the hart must then show has to be in memory: hence the compiler barriers, which cost nothing.
 */
#ifndef GUEST_INTERP_ENV_H
#define GUEST_INTERP_ENV_H

#include "guest/engine/impl.h"
#include "isa/sem.h"
#include "util/util.h"

#define X(r)	    h->x[in->r]
#define F(r)	    h->f[in->r]
#define WX(r, v)    (h->x[in->r] = (uint64_t)(v), h->x[0] = 0)
#define WF(r, v)    (h->f[in->r] = (v))
#define REG(r)	    in->r
#define IMM	    ((int64_t)in->imm)
#define LEN	    ((uint64_t)in->len)
#define FFLAGS	    h->fflags
#define LR_ADDR	    h->lr_addr
#define LR_VALUE    h->lr_value
#define SC_DONE(ok) (e->sc_failed = !(ok))
#define FENCE()	    __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define ILLEGAL()   LEAVE_ILLEGAL

#define RM                                                                                         \
	({                                                                                         \
		unsigned rm_ = in->rm == 7 ? h->frm : in->rm;                                      \
		if (unlikely(rm_ > 4))                                                             \
			LEAVE_ILLEGAL;                                                             \
		rm_;                                                                               \
	})

/* Volatile: an access whose value nobody needs must still fault. Packed: any alignment. */
#define GUEST_AT(type, a)                                                                          \
	(((volatile struct { type v; } __attribute__((packed, may_alias)) *)(e->base + (a)))->v)

#define GUEST_CHECK(a)                                                                             \
	do {                                                                                       \
		e->cur = in;                                                                       \
		if (unlikely((a) >= GUEST_ADDR_LIMIT))                                             \
			engine_raise(e, (a));                                                      \
		__atomic_signal_fence(__ATOMIC_SEQ_CST);                                           \
	} while (0)

#define LOAD(type, a)                                                                              \
	({                                                                                         \
		uint64_t a_ = (a);                                                                 \
		GUEST_CHECK(a_);                                                                   \
		GUEST_AT(type, a_);                                                                \
	})

#define STORE(type, a, value)                                                                      \
	do {                                                                                       \
		uint64_t a_ = (a);                                                                 \
		GUEST_CHECK(a_);                                                                   \
		GUEST_AT(type, a_) = (type)(value);                                                \
	} while (0)

#define AMO_CHECK(a, n)                                                                            \
	do {                                                                                       \
		e->cur = in;                                                                       \
		if (unlikely((a) % (n)))                                                           \
			engine_raise_misaligned(e, (a));                                           \
	} while (0)

#define PREFETCH(a) ((void)(a))

#define CSR_READ(n)                                                                                \
	({                                                                                         \
		uint64_t v_;                                                                       \
		if (csr_is_fp(n))                                                                  \
			v_ = csr_read_fp(n, h->fflags, h->frm);                                    \
		else if (csr_is_counter(n))                                                        \
			v_ = interp_counter(e, n);                                                 \
		else                                                                               \
			LEAVE_ILLEGAL;                                                             \
		v_;                                                                                \
	})

#define CSR_WRITE(n, value)                                                                        \
	do {                                                                                       \
		if (!csr_is_fp(n))                                                                 \
			LEAVE_ILLEGAL;                                                             \
		csr_write_fp(n, value, &h->fflags, &h->frm);                                       \
	} while (0)

static inline uint64_t interp_counter(struct engine *e, unsigned csr)
{
	uint64_t executed = engine_executed(e);

	return e->config.counter ? e->config.counter(e->config.counter_ctx, csr, executed)
				 : executed;
}

#endif
