/* SPDX-License-Identifier: MIT */
/*
 * Text of an instruction, letter for letter what binutils 2.40 prints. Names and operand strings
 * come from the rows (isa/insts.def, isa/format.h) and, for the friendlier names, from
 * isa/aliases.def.
 *
 * Letters of an operand string: d s t r registers rd rs1 rs2 rs3; i immediate, decimal; x shift
 * amount, hexadecimal; u upper immediate; p pc-relative target; c CSR; z the number in rs1; P Q
 * what a fence orders; m rounding mode, with its comma, nothing when dynamic. The rest prints
 * itself.
 *
 * Not printed: symbols, and the addresses that objdump guesses in comments. Encodings that binutils
 * does not name though they are instructions (Zicond, reserved bits of fences, a rounding mode on
 * exact conversions) print as their rows say.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "isa/csr.h"
#include "isa/format.h"
#include "isa/isa.h"
#include "util/array.h"

static const char *const format_operands[FMT_COUNT] = {
#define FORMAT(name, operands) [FMT_##name] = operands,
	FORMATS
#undef FORMAT
};

static const struct csr_name {
	uint16_t number;
	const char *name;
} csr_names[] = {
#define CSR_NAME(number, name) { number, name },
#include "isa/csr_names.def"
#undef CSR_NAME
};

struct text {
	char *at, *end; /* end: where the terminating zero must stand at the latest */
};

static void put(struct text *t, const char *s)
{
	while (*s && t->at < t->end)
		*t->at++ = *s++;
}

static void put_char(struct text *t, char c)
{
	if (t->at < t->end)
		*t->at++ = c;
}

static void put_number(struct text *t, const char *fmt, uint64_t v)
{
	char number[32];

	/* cppcheck-suppress wrongPrintfScanfArgNum ; the format is a parameter */
	snprintf(number, sizeof(number), fmt, v);
	put(t, number);
}

static void put_csr(struct text *t, unsigned number)
{
	const size_t count = ARRAY_LEN(csr_names);
	const size_t at = ARRAY_SEARCH(count, i, csr_names[i].number < number);

	if (at < count && csr_names[at].number == number) {
		put(t, csr_names[at].name);
		return;
	}
	put_number(t, "0x%" PRIx64, number);
}

static void put_fence_set(struct text *t, unsigned set)
{
	if (!set)
		put(t, "unknown");
	for (int i = 0; i < 4; i++) {
		if (set & 8u >> i)
			put_char(t, "iorw"[i]);
	}
}

static void put_rounding(struct text *t, const struct inst *in)
{
	static const char *const names[8] = { ",rne", ",rtz",	  ",rdn",     ",rup",
					      ",rmm", ",unknown", ",unknown", "" };

	/* On a conversion that is always exact, round-to-nearest is what assemblers fill in. */
	if (in->rm == 0 &&
	    (in->op == OP_FCVT_D_W || in->op == OP_FCVT_D_WU || in->op == OP_FCVT_D_S))
		return;
	put(t, names[in->rm]);
}

static void put_reg(struct text *t, bool fp, unsigned reg)
{
	put(t, fp ? isa_freg_name[reg] : isa_xreg_name[reg]);
}

static void put_operands(struct text *t, const struct inst *in, uint64_t pc, const char *operands)
{
	uint32_t flags = op_info[in->op].flags;

	for (const char *o = operands; *o; o++) {
		switch (*o) {
		case 'd':
			put_reg(t, flags & OPF_RD_FP, in->rd);
			break;
		case 's':
			put_reg(t, flags & OPF_RS1_FP, in->rs1);
			break;
		case 't':
			put_reg(t, flags & OPF_RS2_FP, in->rs2);
			break;
		case 'r':
			put_reg(t, flags & OPF_RS3_FP, in->rs3);
			break;
		case 'i':
			put_number(t, "%" PRId64, (uint64_t)(int64_t)in->imm);
			break;
		case 'x':
			put_number(t, "0x%" PRIx64, (uint64_t)in->imm);
			break;
		case 'u':
			put_number(t, "0x%" PRIx64, (uint32_t)in->imm >> 12);
			break;
		case 'p':
			put_number(t, "0x%" PRIx64, pc + (uint64_t)(int64_t)in->imm);
			break;
		case 'c':
			put_csr(t, (unsigned)in->imm);
			break;
		case 'z':
			put_number(t, "%" PRIu64, in->rs1);
			break;
		case 'P':
			put_fence_set(t, (unsigned)in->imm >> 4 & 15);
			break;
		case 'Q':
			put_fence_set(t, (unsigned)in->imm & 15);
			break;
		case 'm':
			put_rounding(t, in);
			break;
		default:
			put_char(t, *o);
		}
	}
}

struct spelling {
	const char *name, *operands;
};

#define RD   in->rd
#define RS1  in->rs1
#define RS2  in->rs2
#define IMM  in->imm
#define WORD in->word

static struct spelling c_alias(const struct inst *in, enum c_row row)
{
#define ALIAS(...)
#define ALWAYS(...)
#define CALIAS(id, name, condition, operands)                                                      \
	if (row == ROW_##id && (condition))                                                        \
		return (struct spelling){ name, operands };
#include "isa/aliases.def"
#undef ALIAS
#undef ALWAYS
#undef CALIAS
	return (struct spelling){ NULL, NULL };
}

static struct spelling alias(const struct inst *in, bool nice)
{
#define ALIAS(id, name, condition, operands)                                                       \
	if (nice && in->op == OP_##id && (condition))                                              \
		return (struct spelling){ name, operands };
#define ALWAYS(id, name, condition, operands)                                                      \
	if (in->op == OP_##id && (condition))                                                      \
		return (struct spelling){ name, operands };
#define CALIAS(...)
#include "isa/aliases.def"
#undef ALIAS
#undef ALWAYS
#undef CALIAS
	return (struct spelling){ NULL, NULL };
}

static struct spelling spell(const struct inst *in, enum disasm_style style)
{
	struct spelling s = { NULL, NULL };

	if (in->len == 2) {
		enum c_row row = isa_find_c_row((uint16_t)in->word);

		if (style == DISASM_RAW)
			return (struct spelling){ isa_c_rows[row].name,
						  format_operands[isa_c_rows[row].format] };
		s = c_alias(in, row);
	}
	if (!s.name)
		s = alias(in, style == DISASM_ALIASES);
	if (!s.name)
		s = (struct spelling){ op_info[in->op].name,
				       format_operands[op_info[in->op].format] };
	return s;
}

static void put_illegal(struct text *t, const struct inst *in, enum disasm_style style)
{
	if (in->len == 2 && in->word == 0)
		put(t, style == DISASM_RAW ? "c.unimp" : "unimp");
	else
		put_number(t, in->len == 2 ? ".2byte\t0x%" PRIx64 : ".4byte\t0x%" PRIx64, in->word);
}

void isa_disasm(const struct inst *in, uint64_t pc, enum disasm_style style, char *buf,
		size_t size_bytes)
{
	if (!size_bytes)
		return;
	struct text t = { .at = buf, .end = buf + size_bytes - 1 };

	if (in->op == OP_ILLEGAL) {
		put_illegal(&t, in, style);
	} else {
		struct spelling s = spell(in, style);
		enum op_format format = op_info[in->op].format;

		put(&t, s.name);
		if (format == FMT_AMO || format == FMT_LR) {
			static const char *const order[4] = { "", ".rl", ".aq", ".aqrl" };

			put(&t, order[in->word >> 25 & 3]);
		}
		if (*s.operands) {
			put_char(&t, '\t');
			put_operands(&t, in, pc, s.operands);
		}
	}
	*t.at = 0;
}
