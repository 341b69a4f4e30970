/* SPDX-License-Identifier: MIT */
/*
 * From an instruction word to struct inst.
 *
 * The search is the table itself: each row becomes one comparison, in a function that is inlined
 * once per major opcode, where the compiler drops the rows of the others. No table is built at run
 * time, and a row that stands before another wins, which is what hints rely on.
 */
#include "isa/format.h"
#include "isa/isa.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

static int32_t sext(uint32_t v, unsigned bits)
{
	return (int32_t)(v << (32 - bits)) >> (32 - bits);
}

/* Bits [low, low + count) of w, moved to bit `to`. */
static uint32_t field(uint32_t w, unsigned low, unsigned count, unsigned to)
{
	return (w >> low & ((1u << count) - 1)) << to;
}

#define C_RD(w)	 field(w, 7, 5, 0)
#define C_RS2(w) field(w, 2, 5, 0)

static int32_t c_imm6(uint32_t w)
{
	return sext(field(w, 12, 1, 5) | field(w, 2, 5, 0), 6);
}

static uint32_t c_imm_4spn(uint32_t w)
{
	return field(w, 11, 2, 4) | field(w, 7, 4, 6) | field(w, 6, 1, 2) | field(w, 5, 1, 3);
}

#define C_IMM6(w)     c_imm6(w)
#define C_IMM_4SPN(w) c_imm_4spn(w)

ALWAYS_INLINE enum op find_in_opcode(uint32_t w, uint32_t opcode)
{
#define INST(id, name, mask, match, ...)                                                           \
	if (((match)&0x7f) == opcode && (w & (mask)) == (match))                                   \
		return OP_##id;
#define CINST(...)
#include "isa/insts.def"
#undef INST
#undef CINST
	return OP_ILLEGAL;
}

#define EIGHT(m, n) m(n) m(n + 1) m(n + 2) m(n + 3) m(n + 4) m(n + 5) m(n + 6) m(n + 7)
#define ALL_32(m)   EIGHT(m, 0) EIGHT(m, 8) EIGHT(m, 16) EIGHT(m, 24)

static enum op find_op(uint32_t w)
{
	switch (w >> 2 & 31) {
#define OPCODE(n)                                                                                  \
	case n:                                                                                    \
		return find_in_opcode(w, (n) << 2 | 3);
		ALL_32(OPCODE)
#undef OPCODE
	}
	return OP_ILLEGAL;
}

/* group: quadrant and funct3, the five bits that every compressed row fixes. */
ALWAYS_INLINE enum c_row find_in_group(uint16_t w, uint32_t group)
{
#define INST(...)
#define CINST(id, name, mask, match, format, target, constraint)                                   \
	if ((((match)&3) << 3 | (match) >> 13) == group && (w & (mask)) == (match) &&              \
	    (constraint))                                                                          \
		return ROW_##id;
#include "isa/insts.def"
#undef INST
#undef CINST
	return C_ROW_COUNT;
}

enum c_row isa_find_c_row(uint16_t w)
{
	switch ((w & 3) << 3 | w >> 13) {
#define GROUP(n)                                                                                   \
	case n:                                                                                    \
		return find_in_group(w, n);
		ALL_32(GROUP)
#undef GROUP
	}
	return C_ROW_COUNT;
}

static void set_operands(struct inst *in, enum op_format format, uint32_t w)
{
	unsigned rd = field(w, 7, 5, 0), rs1 = field(w, 15, 5, 0), rs2 = field(w, 20, 5, 0);

	switch (format) {
	case FMT_R4:
		in->rs3 = field(w, 27, 5, 0);
		/* fallthrough */
	case FMT_R_RM:
		in->rm = field(w, 12, 3, 0);
		/* fallthrough */
	case FMT_R:
	case FMT_AMO:
		in->rd = rd;
		in->rs1 = rs1;
		in->rs2 = rs2;
		break;
	case FMT_R2_RM:
		in->rm = field(w, 12, 3, 0);
		/* fallthrough */
	case FMT_R2:
	case FMT_LR:
		in->rd = rd;
		in->rs1 = rs1;
		break;
	case FMT_I:
	case FMT_LOAD:
	case FMT_JALR:
		in->rd = rd;
		in->rs1 = rs1;
		in->imm = (int32_t)w >> 20;
		break;
	case FMT_SHIFT:
		in->rd = rd;
		in->rs1 = rs1;
		in->imm = (int32_t)field(w, 20, 6, 0);
		break;
	case FMT_SHIFTW:
		in->rd = rd;
		in->rs1 = rs1;
		in->imm = (int32_t)rs2;
		break;
	case FMT_STORE:
		in->rs1 = rs1;
		in->rs2 = rs2;
		in->imm = sext(field(w, 25, 7, 5) | field(w, 7, 5, 0), 12);
		break;
	case FMT_PREFETCH:
		in->rs1 = rs1;
		in->imm = sext(field(w, 25, 7, 5), 12);
		break;
	case FMT_B:
		in->rs1 = rs1;
		in->rs2 = rs2;
		in->imm = sext(field(w, 31, 1, 12) | field(w, 7, 1, 11) | field(w, 25, 6, 5) |
				   field(w, 8, 4, 1),
			       13);
		break;
	case FMT_U:
		in->rd = rd;
		in->imm = (int32_t)(w & 0xfffff000);
		break;
	case FMT_J:
		in->rd = rd;
		in->imm = sext(field(w, 31, 1, 20) | field(w, 12, 8, 12) | field(w, 20, 1, 11) |
				   field(w, 21, 10, 1),
			       21);
		break;
	case FMT_CSR:
	case FMT_CSRI:
		in->rd = rd;
		in->rs1 = rs1;
		in->imm = (int32_t)(w >> 20);
		break;
	case FMT_FENCE:
		in->imm = (int32_t)(w >> 20);
		break;
	default:
		break;
	}
}

/* Operands of a compressed load or store. */
static void set_c_access(struct inst *in, enum op_format format, uint32_t w)
{
	unsigned rd = C_RD(w), rs2 = C_RS2(w);
	unsigned rd_p = 8 + field(w, 7, 3, 0), rs2_p = 8 + field(w, 2, 3, 0);
	int32_t offset_w = (int32_t)(field(w, 10, 3, 3) | field(w, 6, 1, 2) | field(w, 5, 1, 6));
	int32_t offset_d = (int32_t)(field(w, 10, 3, 3) | field(w, 5, 2, 6));

	switch (format) {
	case FMT_C_LW:
		in->rd = rs2_p;
		in->rs1 = rd_p;
		in->imm = offset_w;
		break;
	case FMT_C_LD:
		in->rd = rs2_p;
		in->rs1 = rd_p;
		in->imm = offset_d;
		break;
	case FMT_C_SW:
		in->rs2 = rs2_p;
		in->rs1 = rd_p;
		in->imm = offset_w;
		break;
	case FMT_C_SD:
		in->rs2 = rs2_p;
		in->rs1 = rd_p;
		in->imm = offset_d;
		break;
	case FMT_C_LWSP:
		in->rd = rd;
		in->rs1 = 2;
		in->imm = (int32_t)(field(w, 12, 1, 5) | field(w, 4, 3, 2) | field(w, 2, 2, 6));
		break;
	case FMT_C_LDSP:
		in->rd = rd;
		in->rs1 = 2;
		in->imm = (int32_t)(field(w, 12, 1, 5) | field(w, 5, 2, 3) | field(w, 2, 3, 6));
		break;
	case FMT_C_SWSP:
		in->rs2 = rs2;
		in->rs1 = 2;
		in->imm = (int32_t)(field(w, 9, 4, 2) | field(w, 7, 2, 6));
		break;
	case FMT_C_SDSP:
		in->rs2 = rs2;
		in->rs1 = 2;
		in->imm = (int32_t)(field(w, 10, 3, 3) | field(w, 7, 3, 6));
		break;
	default:
		break;
	}
}

static void set_c_operands(struct inst *in, enum op_format format, uint32_t w)
{
	unsigned rd = C_RD(w), rs2 = C_RS2(w);
	unsigned rd_p = 8 + field(w, 7, 3, 0), rs2_p = 8 + field(w, 2, 3, 0);

	switch (format) {
	case FMT_C_4SPN:
		in->rd = rs2_p;
		in->rs1 = 2;
		in->imm = (int32_t)c_imm_4spn(w);
		break;
	case FMT_C_16SP:
		in->rd = in->rs1 = 2;
		in->imm = sext(field(w, 12, 1, 9) | field(w, 6, 1, 4) | field(w, 5, 1, 6) |
				   field(w, 3, 2, 7) | field(w, 2, 1, 5),
			       10);
		break;
	case FMT_C_I:
		in->rd = in->rs1 = rd;
		in->imm = c_imm6(w);
		break;
	case FMT_C_LI:
		in->rd = rd;
		in->imm = c_imm6(w);
		break;
	case FMT_C_LUI:
		in->rd = rd;
		in->imm = c_imm6(w) * 4096;
		break;
	case FMT_C_SHIFT:
	case FMT_C_SHIFT64:
		in->rd = in->rs1 = rd;
		in->imm = c_imm6(w) & 63;
		break;
	case FMT_C_SHIFTP:
	case FMT_C_SHIFTP64:
		in->rd = in->rs1 = rd_p;
		in->imm = c_imm6(w) & 63;
		break;
	case FMT_C_ANDI:
		in->rd = in->rs1 = rd_p;
		in->imm = c_imm6(w);
		break;
	case FMT_C_ALU:
		in->rd = in->rs1 = rd_p;
		in->rs2 = rs2_p;
		break;
	case FMT_C_MV:
		in->rd = rd;
		in->rs2 = rs2;
		break;
	case FMT_C_ADD:
		in->rd = in->rs1 = rd;
		in->rs2 = rs2;
		break;
	case FMT_C_J:
		in->imm = sext(field(w, 12, 1, 11) | field(w, 11, 1, 4) | field(w, 9, 2, 8) |
				   field(w, 8, 1, 10) | field(w, 7, 1, 6) | field(w, 6, 1, 7) |
				   field(w, 3, 3, 1) | field(w, 2, 1, 5),
			       12);
		break;
	case FMT_C_B:
		in->rs1 = rd_p;
		in->imm = sext(field(w, 12, 1, 8) | field(w, 10, 2, 3) | field(w, 5, 2, 6) |
				   field(w, 3, 2, 1) | field(w, 2, 1, 5),
			       9);
		break;
	case FMT_C_JALR:
		in->rd = 1;
		/* fallthrough */
	case FMT_C_JR:
		in->rs1 = rd;
		break;
	default:
		set_c_access(in, format, w);
	}
}

struct inst isa_decode(uint32_t word)
{
	struct inst in = { .op = OP_ILLEGAL };

	if ((word & 3) == 3) {
		in.len = 4;
		in.word = word;
		in.op = find_op(word);
		set_operands(&in, op_info[in.op].format, word);
	} else {
		in.len = 2;
		in.word = word & 0xffff;
		enum c_row row = isa_find_c_row(in.word);

		if (row != C_ROW_COUNT) {
			in.op = isa_c_rows[row].op;
			set_c_operands(&in, isa_c_rows[row].format, in.word);
		}
	}
	return in;
}
