/* SPDX-License-Identifier: MIT */
/*
 * What the semantics in isa/insts.def use beyond what an executor defines: macros derived from the
 * executor's own (listed at the top of insts.def), and the functions that rows name.
 */
#ifndef ISA_SEM_H
#define ISA_SEM_H

#include "isa/alu.h"
#include "isa/csr.h"
#include "isa/fp.h"

/* Single precision: a value that is not NaN-boxed reads as the canonical NaN. */
#define FS(r)	  fp_unbox(F(r))
#define WFS(r, v) WF(r, fp_box(v))

/* type is the signed type of the operand; what is read is sign-extended to 64 bits. */
#define LR(type)                                                                                   \
	uint64_t addr = X(rs1);                                                                    \
	AMO_CHECK(addr, sizeof(type));                                                             \
	int64_t value = LOAD(type, addr);                                                          \
	LR_ADDR = addr;                                                                            \
	LR_VALUE = (uint64_t)value;                                                                \
	WX(rd, (uint64_t)value)

/* Stores if the reservation is for this address and memory still holds what was read. */
#define SC(type)                                                                                   \
	uint64_t addr = X(rs1);                                                                    \
	AMO_CHECK(addr, sizeof(type));                                                             \
	bool ok = LR_ADDR == addr && (int64_t)LOAD(type, addr) == (int64_t)LR_VALUE;               \
	if (ok)                                                                                    \
		STORE(type, addr, (type)X(rs2));                                                   \
	LR_ADDR = ~0ull;                                                                           \
	SC_DONE(ok);                                                                               \
	WX(rd, !ok)

/* `result` may use old, what memory held. */
#define AMO(type, result)                                                                          \
	uint64_t addr = X(rs1);                                                                    \
	AMO_CHECK(addr, sizeof(type));                                                             \
	type old = LOAD(type, addr);                                                               \
	STORE(type, addr, (type)(result));                                                         \
	WX(rd, (uint64_t)(int64_t)old)

/* `result` may use old, what the CSR held. */
#define CSR_UPDATE(result, writes)                                                                 \
	uint64_t old = CSR_READ(IMM);                                                              \
	if (writes)                                                                                \
		CSR_WRITE(IMM, (result));                                                          \
	WX(rd, old)

#endif
