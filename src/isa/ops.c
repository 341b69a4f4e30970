/* SPDX-License-Identifier: MIT */
/*
 * Facts about operations, from the rows of isa/insts.def, and about decoded instructions: which
 * registers they read and write, whether they are calls or returns by the hints of the unprivileged
 * specification (ra and t0 are link registers), and whether they are marks.
 */
#include "isa/format.h"
#include "isa/isa.h"

const struct op_info op_info[OP_COUNT] = {
	[OP_ILLEGAL] = { .name = "illegal", .cls = CLASS_SYSTEM },
#define INST(id, text, mask_, match_, fmt, class, bytes, flags_, ...)                              \
	[OP_##id] = { .name = text,                                                                \
		      .mask = mask_,                                                               \
		      .match = match_,                                                             \
		      .format = FMT_##fmt,                                                         \
		      .cls = CLASS_##class,                                                        \
		      .mem_bytes = bytes,                                                          \
		      .flags = flags_ },
#define CINST(...)
#include "isa/insts.def"
#undef INST
#undef CINST
};

const struct c_row_info isa_c_rows[C_ROW_COUNT] = {
#define INST(...)
#define CINST(id, text, mask_, match_, fmt, target, constraint)                                    \
	[ROW_##id] = { .name = text,                                                               \
		       .mask = mask_,                                                              \
		       .match = match_,                                                            \
		       .format = FMT_##fmt,                                                        \
		       .op = OP_##target },
#include "isa/insts.def"
#undef INST
#undef CINST
};

const char *const op_class_name[CLASS_COUNT] = {
	[CLASS_ALU] = "alu",	   [CLASS_MUL] = "mul",	    [CLASS_DIV] = "div",
	[CLASS_BRANCH] = "branch", [CLASS_JUMP] = "jump",   [CLASS_LOAD] = "load",
	[CLASS_STORE] = "store",   [CLASS_AMO] = "amo",	    [CLASS_FADD] = "fadd",
	[CLASS_FMUL] = "fmul",	   [CLASS_FDIV] = "fdiv",   [CLASS_FSQRT] = "fsqrt",
	[CLASS_CSR] = "csr",	   [CLASS_FENCE] = "fence", [CLASS_SYSTEM] = "system",
	[CLASS_HINT] = "hint",
};

const char *const isa_xreg_name[32] = {
	"zero", "ra", "sp", "gp", "tp",	 "t0",	"t1", "t2", "s0", "s1", "a0",
	"a1",	"a2", "a3", "a4", "a5",	 "a6",	"a7", "s2", "s3", "s4", "s5",
	"s6",	"s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};

const char *const isa_freg_name[32] = {
	"ft0", "ft1", "ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1",  "fa0",
	"fa1", "fa2", "fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4",  "fs5",
	"fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
};

struct inst_operands isa_operands(const struct inst *in)
{
	uint32_t flags = op_info[in->op].flags;
	struct inst_operands o = { 0 };

	if (flags & OPF_RD_INT)
		o.dst = in->rd;
	else if (flags & OPF_RD_FP)
		o.dst = 32 + in->rd;
	if (flags & OPF_RS1_INT)
		o.src[0] = in->rs1;
	else if (flags & OPF_RS1_FP)
		o.src[0] = 32 + in->rs1;
	if (flags & OPF_RS2_INT)
		o.src[1] = in->rs2;
	else if (flags & OPF_RS2_FP)
		o.src[1] = 32 + in->rs2;
	if (flags & OPF_RS3_FP)
		o.src[2] = 32 + in->rs3;
	return o;
}

static bool is_link(unsigned reg)
{
	return reg == 1 || reg == 5;
}

bool isa_is_call(const struct inst *in)
{
	return (in->op == OP_JAL || in->op == OP_JALR) && is_link(in->rd);
}

bool isa_is_return(const struct inst *in)
{
	return in->op == OP_JALR && in->rd == 0 && is_link(in->rs1);
}

bool isa_is_indirect(const struct inst *in)
{
	return in->op == OP_JALR;
}

static bool is_mark(const struct inst *in, int32_t number)
{
	return in->op == OP_SLTI && in->rd == 0 && in->rs1 == 0 && in->imm == number;
}

bool isa_has_locality(const struct inst *in)
{
	return op_info[in->op].flags & (OPF_LOAD | OPF_STORE) && in->rs1 != 2;
}

bool isa_ends_static_block(const struct inst *in)
{
	return op_info[in->op].flags & OPF_CTRL || in->op == OP_ECALL;
}

bool isa_is_mark_begin(const struct inst *in)
{
	return is_mark(in, 0x101);
}

bool isa_is_mark_end(const struct inst *in)
{
	return is_mark(in, 0x102);
}
