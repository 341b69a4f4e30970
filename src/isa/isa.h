/* SPDX-License-Identifier: MIT */
/*
 * RV64GC: what one instruction is.
 *
 * Everything here derives from isa/insts.def, one row per instruction. A compressed instruction has
 * its own row (encoding, operand format, name) and decodes to the operation of the instruction that
 * it abbreviates, so that an executor knows only full operations.
 */
#ifndef ISA_ISA_H
#define ISA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every operation that can execute, OP_ILLEGAL first, OP_COUNT last. Generated from insts.def. */
enum op {
	OP_ILLEGAL,
#define INST(id, ...) OP_##id,
#define CINST(...)
#include "isa/insts.def"
#undef INST
#undef CINST
	OP_COUNT,
};

/* What kind of functional unit an operation needs; the timing model's view of it. */
enum op_class {
	CLASS_ALU,    /* one-cycle integer, including lui, auipc, Zba/Zbb/Zbs single-cycle ops */
	CLASS_MUL,    /* integer multiply, and clmul-like long ops if any */
	CLASS_DIV,    /* integer divide and remainder */
	CLASS_BRANCH, /* conditional branch */
	CLASS_JUMP,   /* jal, jalr */
	CLASS_LOAD,   /* integer and FP loads, lr */
	CLASS_STORE,  /* integer and FP stores */
	CLASS_AMO,    /* amo*, sc */
	CLASS_FADD,   /* FP add, sub, compare, min/max, sign injection, class, convert, move */
	CLASS_FMUL,   /* FP multiply and fused multiply-add */
	CLASS_FDIV,   /* FP divide */
	CLASS_FSQRT,  /* FP square root */
	CLASS_CSR,    /* CSR access */
	CLASS_FENCE,  /* fence, fence.i */
	CLASS_SYSTEM, /* ecall, ebreak */
	CLASS_HINT,   /* prefetch.*: touches memory, never faults; also pause */
	CLASS_COUNT,
};
extern const char *const op_class_name[CLASS_COUNT];

enum op_flag {
	OPF_RD_INT = 1 << 0,  /* writes integer rd */
	OPF_RD_FP = 1 << 1,   /* writes FP rd */
	OPF_RS1_INT = 1 << 2, /* reads ... */
	OPF_RS1_FP = 1 << 3,
	OPF_RS2_INT = 1 << 4,
	OPF_RS2_FP = 1 << 5,
	OPF_RS3_FP = 1 << 6,
	OPF_LOAD = 1 << 7,     /* reads memory at x[rs1] + imm (amo, lr: x[rs1]) */
	OPF_STORE = 1 << 8,    /* writes memory; amo has both */
	OPF_CTRL = 1 << 9,     /* may change the pc: branch, jal, jalr */
	OPF_FFLAGS = 1 << 10,  /* accrues into fflags */
	OPF_USES_RM = 1 << 11, /* has a rounding-mode field; dynamic when it is 7 */

	/* Shorthands for the table: destination, sources; X integer, F floating point, N none. */
	OPF_X = OPF_RD_INT,
	OPF_X_X = OPF_RD_INT | OPF_RS1_INT,
	OPF_X_XX = OPF_RD_INT | OPF_RS1_INT | OPF_RS2_INT,
	OPF_X_F = OPF_RD_INT | OPF_RS1_FP,
	OPF_X_FF = OPF_RD_INT | OPF_RS1_FP | OPF_RS2_FP,
	OPF_F_X = OPF_RD_FP | OPF_RS1_INT,
	OPF_F_F = OPF_RD_FP | OPF_RS1_FP,
	OPF_F_FF = OPF_RD_FP | OPF_RS1_FP | OPF_RS2_FP,
	OPF_F_FFF = OPF_RD_FP | OPF_RS1_FP | OPF_RS2_FP | OPF_RS3_FP,
	OPF_N_X = OPF_RS1_INT,
	OPF_N_XX = OPF_RS1_INT | OPF_RS2_INT,
	OPF_N_XF = OPF_RS1_INT | OPF_RS2_FP,
	OPF_ROUND = OPF_FFLAGS | OPF_USES_RM,
};

struct op_info {
	const char *name;     /* mnemonic, as objdump -M no-aliases prints it: "fcvt.w.d" */
	uint32_t mask, match; /* encoding: (word & mask) == match */
	uint8_t format;	      /* enum op_format, private to isa/ */
	uint8_t cls;	      /* enum op_class */
	uint8_t mem_bytes;    /* bytes accessed in memory, 0 if none */
	uint32_t flags;	      /* enum op_flag */
};
extern const struct op_info op_info[OP_COUNT];

/* A decoded instruction. Register numbers are 0..31; which file they name is in op_info flags. */
struct inst {
	uint16_t op; /* enum op */
	uint8_t rd, rs1, rs2, rs3;
	uint8_t len;   /* bytes: 2 or 4 */
	uint8_t rm;    /* rounding-mode field, or 7 for dynamic; csr ops: unused */
	int32_t imm;   /* sign-extended immediate; shift amount; CSR number for csr ops */
	uint32_t word; /* the raw encoding, 16 bits wide for len 2 */
};

/*
 * Decodes the instruction whose first 32 bits are word (little endian; for a compressed one the
 * upper half is ignored). Never fails: what is not an instruction is OP_ILLEGAL with its length.
 */
struct inst isa_decode(uint32_t word);

/* Operands in one number space for dependence tracking: 0 = none (also x0), 1..31 x, 32..63 f. */
struct inst_operands {
	uint8_t dst;
	uint8_t src[3];
};
struct inst_operands isa_operands(const struct inst *in);

/* Control-flow kinds, for predictors and control-flow graphs, by the usual link-register rules. */
bool isa_is_call(const struct inst *in);   /* jal/jalr that writes ra or t0 */
bool isa_is_return(const struct inst *in); /* jalr x0, ra or t0, unless it is also a call */
bool isa_is_indirect(const struct inst *in);

/* The guest's marks, two HINTs that do nothing on hardware: see include/culprit.h. */
/* A load or store whose address is not relative to the stack pointer: what measures of locality look
 * at. Accesses to the stack hit anywhere, and are a third of all. */
bool isa_has_locality(const struct inst *in);
/* The last instruction of a static basic block: a control transfer, taken or not, or an ecall. */
bool isa_ends_static_block(const struct inst *in);
bool isa_is_mark_begin(const struct inst *in);
bool isa_is_mark_end(const struct inst *in);

enum disasm_style {
	DISASM_ALIASES, /* as objdump prints by default: li, mv, ret, beqz */
	DISASM_RAW,	/* as objdump -M no-aliases */
};
/* Writes the text of the instruction at pc, mnemonic, a tab, operands, as binutils prints it. */
void isa_disasm(const struct inst *in, uint64_t pc, enum disasm_style style, char *buf,
		size_t size_bytes);

extern const char *const isa_xreg_name[32]; /* "zero", "ra", … */
extern const char *const isa_freg_name[32]; /* "ft0", … */

#endif
