/* SPDX-License-Identifier: MIT */
/*
 * The smallest executor of the table: one hart, a page of memory at address 0, one instruction at
 * a time. An instruction that does not complete (fault, illegal, ecall, …) must leave the machine
 * as it was; the tests compare.
 */
#ifndef TESTS_UNIT_ISA_MACHINE_H
#define TESTS_UNIT_ISA_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "isa/isa.h"
#include "isa/sem.h"

#define MEMORY_BYTES 4096

enum outcome_kind {
	DONE,
	ILLEGAL_INSTRUCTION,
	FAULT,
	MISALIGNED_AMO,
	ENVIRONMENT_CALL,
	BREAKPOINT,
};

struct machine {
	uint64_t x[32], f[32], pc;
	uint32_t fflags, frm;
	uint64_t lr_addr, lr_value;
	uint64_t counter[3];
	unsigned fences, code_fences, prefetches, sc_stored, sc_failed;
	uint8_t memory[MEMORY_BYTES];
};

static inline enum outcome_kind machine_step(struct machine *m, const struct inst *in)
{
	uint64_t next = m->pc + in->len;

#define X(r) m->x[in->r]
#define F(r) m->f[in->r]
#define WX(r, v)                                                                                   \
	do {                                                                                       \
		uint64_t written = (uint64_t)(v);                                                  \
                                                                                                   \
		if (in->r)                                                                         \
			m->x[in->r] = written;                                                     \
	} while (0)
#define WF(r, v) m->f[in->r] = (v)
#define REG(r)	 in->r
#define IMM	 ((int64_t)in->imm)
#define PC	 m->pc
#define LEN	 ((uint64_t)in->len)
#define RM                                                                                         \
	({                                                                                         \
		unsigned mode = in->rm == FP_DYN ? m->frm : in->rm;                                \
                                                                                                   \
		if (mode > FP_RMM)                                                                 \
			return ILLEGAL_INSTRUCTION;                                                \
		mode;                                                                              \
	})
#define FFLAGS m->fflags
#define CHECK_ADDRESS(a, bytes)                                                                    \
	if ((a) > MEMORY_BYTES - (bytes))                                                          \
	return FAULT
#define LOAD(type, a)                                                                              \
	({                                                                                         \
		uint64_t from = (a);                                                               \
		type loaded;                                                                       \
                                                                                                   \
		CHECK_ADDRESS(from, sizeof(type));                                                 \
		memcpy(&loaded, m->memory + from, sizeof(type));                                   \
		loaded;                                                                            \
	})
#define STORE(type, a, v)                                                                          \
	do {                                                                                       \
		uint64_t to = (a);                                                                 \
		type stored = (type)(v);                                                           \
                                                                                                   \
		CHECK_ADDRESS(to, sizeof(type));                                                   \
		memcpy(m->memory + to, &stored, sizeof(type));                                     \
	} while (0)
#define AMO_CHECK(a, n)                                                                            \
	if ((a) % (n))                                                                             \
	return MISALIGNED_AMO
#define PREFETCH(a)	 m->prefetches += (a) < MEMORY_BYTES
#define LR_ADDR		 m->lr_addr
#define LR_VALUE	 m->lr_value
#define SC_DONE(ok)	 *((ok) ? &m->sc_stored : &m->sc_failed) += 1
#define BRANCH(cond)	 next = (cond) ? PC + (uint64_t)IMM : next
#define JUMP(a)		 next = (a)
#define JUMP_INDIRECT(a) next = (a)
#define CSR_READ(n)                                                                                \
	({                                                                                         \
		unsigned csr = (unsigned)(n);                                                      \
                                                                                                   \
		if (!csr_is_fp(csr) && !csr_is_counter(csr))                                       \
			return ILLEGAL_INSTRUCTION;                                                \
		csr_is_fp(csr) ? csr_read_fp(csr, m->fflags, m->frm)                               \
			       : m->counter[csr - CSR_CYCLE];                                      \
	})
#define CSR_WRITE(n, v)                                                                            \
	do {                                                                                       \
		if (!csr_is_fp((unsigned)(n)))                                                     \
			return ILLEGAL_INSTRUCTION;                                                \
		csr_write_fp((unsigned)(n), (v), &m->fflags, &m->frm);                             \
	} while (0)
#define FENCE()	  m->fences++
#define FENCE_I() m->code_fences++
#define ECALL()	  return ENVIRONMENT_CALL
#define EBREAK()  return BREAKPOINT

	switch (in->op) {
#define INST(id, name, mask, match, format, class, bytes, flags, ...)                              \
	case OP_##id: {                                                                            \
		__VA_ARGS__;                                                                       \
		break;                                                                             \
	}
#define CINST(...)
#include "isa/insts.def"
#undef INST
#undef CINST
	default:
		return ILLEGAL_INSTRUCTION;
	}
	m->pc = next;
	return DONE;
}

#undef X
#undef F
#undef WX
#undef WF
#undef REG
#undef IMM
#undef PC
#undef LEN
#undef RM
#undef FFLAGS
#undef LOAD
#undef STORE
#undef PREFETCH
#undef BRANCH
#undef JUMP
#undef FENCE
#undef FENCE_I
#undef ECALL
#undef EBREAK

static inline enum outcome_kind machine_run(struct machine *m, uint32_t word)
{
	struct inst in = isa_decode(word);

	return machine_step(m, &in);
}

#endif
