/* SPDX-License-Identifier: MIT */
/*
 * Private to isa/: where operands stand in an instruction word and how they print.
 *
 * FORMAT(name, operands): operands is what the disassembler prints, each letter an operand (see
 * isa/disasm.c), anything else itself. Which register file a register operand names follows from
 * the flags of the operation.
 */
#ifndef ISA_FORMAT_H
#define ISA_FORMAT_H

#include "isa/isa.h"

#define FORMATS                                                                                    \
	FORMAT(NONE, "")                                                                           \
	FORMAT(R, "d,s,t")                                                                         \
	FORMAT(R_RM, "d,s,tm")                                                                     \
	FORMAT(R2, "d,s") /* the rs2 field is part of the opcode */                                \
	FORMAT(R2_RM, "d,sm")                                                                      \
	FORMAT(R4, "d,s,t,rm")                                                                     \
	FORMAT(I, "d,s,i")                                                                         \
	FORMAT(SHIFT, "d,s,x")	/* six bits of shift amount */                                     \
	FORMAT(SHIFTW, "d,s,x") /* five */                                                         \
	FORMAT(LOAD, "d,i(s)")                                                                     \
	FORMAT(STORE, "t,i(s)")                                                                    \
	FORMAT(PREFETCH, "i(s)")                                                                   \
	FORMAT(B, "s,t,p")                                                                         \
	FORMAT(U, "d,u")                                                                           \
	FORMAT(J, "d,p")                                                                           \
	FORMAT(JALR, "d,i(s)")                                                                     \
	FORMAT(CSR, "d,c,s")                                                                       \
	FORMAT(CSRI, "d,c,z") /* the rs1 field is a number */                                      \
	FORMAT(FENCE, "P,Q")                                                                       \
	FORMAT(LR, "d,(s)")                                                                        \
	FORMAT(AMO, "d,t,(s)")                                                                     \
	FORMAT(C_NONE, "")                                                                         \
	FORMAT(C_4SPN, "d,s,i")                                                                    \
	FORMAT(C_16SP, "d,i")                                                                      \
	FORMAT(C_I, "d,i")                                                                         \
	FORMAT(C_LI, "d,i")                                                                        \
	FORMAT(C_LUI, "d,u")                                                                       \
	FORMAT(C_SHIFT, "d,x")                                                                     \
	FORMAT(C_SHIFTP, "d,x") /* P: three-bit register fields, x8..x15 */                        \
	FORMAT(C_SHIFT64, "d")                                                                     \
	FORMAT(C_SHIFTP64, "d")                                                                    \
	FORMAT(C_ANDI, "d,i")                                                                      \
	FORMAT(C_ALU, "d,t")                                                                       \
	FORMAT(C_MV, "d,t")                                                                        \
	FORMAT(C_ADD, "d,t")                                                                       \
	FORMAT(C_LW, "d,i(s)")                                                                     \
	FORMAT(C_LD, "d,i(s)")                                                                     \
	FORMAT(C_SW, "t,i(s)")                                                                     \
	FORMAT(C_SD, "t,i(s)")                                                                     \
	FORMAT(C_LWSP, "d,i(s)")                                                                   \
	FORMAT(C_LDSP, "d,i(s)")                                                                   \
	FORMAT(C_SWSP, "t,i(s)")                                                                   \
	FORMAT(C_SDSP, "t,i(s)")                                                                   \
	FORMAT(C_J, "p")                                                                           \
	FORMAT(C_B, "s,p")                                                                         \
	FORMAT(C_JR, "s")                                                                          \
	FORMAT(C_JALR, "s")

enum op_format {
#define FORMAT(name, operands) FMT_##name,
	FORMATS
#undef FORMAT
	    FMT_COUNT,
};

/* The rows for compressed encodings. */
enum c_row {
#define INST(...)
#define CINST(id, ...) ROW_##id,
#include "isa/insts.def"
#undef INST
#undef CINST
	C_ROW_COUNT,
};

struct c_row_info {
	const char *name;
	uint16_t mask, match;
	uint8_t format;
	uint16_t op; /* what it decodes to */
};
extern const struct c_row_info isa_c_rows[C_ROW_COUNT];

/* The row of a 16-bit encoding, or C_ROW_COUNT if it is reserved. */
enum c_row isa_find_c_row(uint16_t w);

#endif
