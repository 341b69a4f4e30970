/* SPDX-License-Identifier: MIT */
/* What RV64GC instructions do to registers, for control-flow graphs. */
#include <string.h>

#include "image/effect.h"
#include "isa/isa.h"

enum { A0 = 10, A7 = 17 };
#define BIT(r) (1ull << (r))

bool riscv_stops(const struct image_inst *in)
{
	return in->word == 0x00100073 || (in->size_bytes == 2 && in->word == 0x9002); /* ebreak */
}

bool riscv_is_system(uint32_t word, unsigned size_bytes)
{
	return size_bytes == 4 && word == 0x73; /* ecall */
}

bool riscv_pads(const struct image_inst *in)
{
	return in->word == 0x00000013 || (in->size_bytes == 2 && in->word == 1); /* nop */
}

bool riscv_pair(uint32_t before, uint64_t before_pc, uint32_t word, uint64_t *target)
{
	const struct inst first = isa_decode(before), in = isa_decode(word);

	if (first.op != OP_AUIPC || in.op != OP_JALR || in.rs1 != first.rd || !first.rd)
		return false;
	*target = (before_pc + (uint64_t)(int64_t)first.imm + (uint64_t)(int64_t)in.imm) & ~1ull;
	return true;
}

bool riscv_exits(uint64_t number)
{
	return number == 93 || number == 94 || number == 139; /* exit, exit_group, rt_sigreturn */
}

static struct arch_operand reg(uint8_t r)
{
	return r ? (struct arch_operand){ ARCH_REG, r, 0 }
		 : (struct arch_operand){ ARCH_IMM, 0, 0 };
}

static struct arch_operand imm(int64_t value)
{
	return (struct arch_operand){ ARCH_IMM, 0, value };
}

struct row {
	enum arch_op op;
	enum arch_relation relation;
	uint8_t bits;
	bool is_signed;
	bool immediate; /* y is the immediate */
};

static const struct row rows[OP_COUNT] = {
	[OP_ADDI] = { ARCH_ADD, .bits = 64, .immediate = true },
	[OP_ADDIW] = { ARCH_ADD, .bits = 32, .is_signed = true, .immediate = true },
	[OP_ANDI] = { ARCH_AND, .bits = 64, .immediate = true },
	[OP_SLLI] = { ARCH_SHL, .bits = 64, .immediate = true },
	[OP_SRLI] = { ARCH_SHR, .bits = 64, .immediate = true },
	[OP_SRAI] = { ARCH_SAR, .bits = 64, .immediate = true },
	[OP_SLLIW] = { ARCH_SHL, .bits = 32, .is_signed = true, .immediate = true },
	[OP_SRLIW] = { ARCH_SHR, .bits = 32, .is_signed = true, .immediate = true },
	[OP_SRAIW] = { ARCH_SAR, .bits = 32, .is_signed = true, .immediate = true },
	[OP_SLTIU] = { ARCH_LESS, .bits = 64, .immediate = true },
	[OP_SLTU] = { ARCH_LESS, .bits = 64 },
	[OP_ADD] = { ARCH_ADD, .bits = 64 },
	[OP_SUB] = { ARCH_SUB, .bits = 64 },
	[OP_AND] = { ARCH_AND, .bits = 64 },
	[OP_ADDW] = { ARCH_ADD, .bits = 32, .is_signed = true },
	[OP_SUBW] = { ARCH_SUB, .bits = 32, .is_signed = true },
	[OP_LB] = { ARCH_MOVE, .bits = 8, .is_signed = true },
	[OP_LH] = { ARCH_MOVE, .bits = 16, .is_signed = true },
	[OP_LW] = { ARCH_MOVE, .bits = 32, .is_signed = true },
	[OP_LD] = { ARCH_MOVE, .bits = 64 },
	[OP_LBU] = { ARCH_MOVE, .bits = 8 },
	[OP_LHU] = { ARCH_MOVE, .bits = 16 },
	[OP_LWU] = { ARCH_MOVE, .bits = 32 },
	[OP_SB] = { ARCH_STORE, .bits = 8 },
	[OP_SH] = { ARCH_STORE, .bits = 16 },
	[OP_SW] = { ARCH_STORE, .bits = 32 },
	[OP_SD] = { ARCH_STORE, .bits = 64 },
	[OP_BEQ] = { ARCH_BRANCH, .relation = ARCH_EQ, .bits = 64 },
	[OP_BNE] = { ARCH_BRANCH, .relation = ARCH_NE, .bits = 64 },
	[OP_BLT] = { ARCH_BRANCH, .relation = ARCH_LT, .bits = 64 },
	[OP_BGE] = { ARCH_BRANCH, .relation = ARCH_GE, .bits = 64 },
	[OP_BLTU] = { ARCH_BRANCH, .relation = ARCH_LTU, .bits = 64 },
	[OP_BGEU] = { ARCH_BRANCH, .relation = ARCH_GEU, .bits = 64 },
	[OP_SH1ADD] = { ARCH_ADDRESS, .bits = 64 },
	[OP_SH2ADD] = { ARCH_ADDRESS, .bits = 64 },
	[OP_SH3ADD] = { ARCH_ADDRESS, .bits = 64 },
	[OP_SEXT_B] = { ARCH_MOVE, .bits = 8, .is_signed = true },
	[OP_SEXT_H] = { ARCH_MOVE, .bits = 16, .is_signed = true },
	[OP_ZEXT_H] = { ARCH_MOVE, .bits = 16 },
};

/* Instructions that no row describes by itself. */
static void special(const struct inst *in, uint64_t pc, struct arch_effect *out)
{
	switch (in->op) {
	case OP_LUI:
		out->op = ARCH_MOVE;
		out->bits = 64;
		out->x = imm(in->imm);
		break;
	case OP_AUIPC:
		out->op = ARCH_MOVE;
		out->bits = 64;
		out->x = imm((int64_t)(pc + (uint64_t)(int64_t)in->imm));
		break;
	case OP_ADD_UW:
		/* rd = rs2 + zext32(rs1): followed where rs2 is x0, which is zext.w */
		if (!in->rs2) {
			out->op = ARCH_MOVE;
			out->bits = 32;
			out->x = reg(in->rs1);
		}
		break;
	case OP_JALR:
		out->op = ARCH_JUMP;
		out->bits = 64;
		out->disp = in->imm;
		out->x = reg(in->rs1);
		break;
	case OP_ECALL:
		out->op = ARCH_SYSTEM;
		out->x = reg(A7);
		out->writes |= BIT(A0) | BIT(ARCH_MEMORY);
		break;
	default:
		break;
	}
}

bool riscv_effect(const uint8_t *bytes, size_t left, uint64_t pc, struct arch_effect *out)
{
	uint32_t word = 0;

	*out =
	    (struct arch_effect){ .dst = ARCH_NO_REG, .base = ARCH_NO_REG, .index = ARCH_NO_REG };
	if (left < 2)
		return false;
	memcpy(&word, bytes, left < 4 ? 2 : 4);
	const struct inst in = isa_decode(word);
	const struct op_info *info = &op_info[in.op];
	const struct row *row = &rows[in.op];
	if (in.op == OP_ILLEGAL)
		return false;
	if (info->flags & OPF_RD_INT && in.rd) {
		out->dst = in.rd;
		out->writes |= BIT(in.rd);
	}
	if (info->flags & OPF_STORE)
		out->writes |= BIT(ARCH_MEMORY);
	out->op = row->op;
	out->relation = row->relation;
	out->bits = row->bits;
	out->is_signed = row->is_signed;
	out->x = reg(in.rs1);
	out->y = row->immediate ? imm(in.imm) : reg(in.rs2);
	if (!row->op) {
		special(&in, pc, out);
	} else if (row->op == ARCH_ADDRESS) {
		out->base = in.rs2 ? in.rs2 : ARCH_NO_REG;
		out->index = in.rs1 ? in.rs1 : ARCH_NO_REG;
		out->shift = in.op == OP_SH1ADD ? 1 : in.op == OP_SH2ADD ? 2 : 3;
	} else if (info->flags & (OPF_LOAD | OPF_STORE)) {
		out->base = in.rs1 ? in.rs1 : ARCH_NO_REG;
		out->disp = in.imm;
		if (row->op == ARCH_STORE)
			out->x = reg(in.rs2);
		else
			out->x.kind = ARCH_MEM;
	}
	return true;
}
