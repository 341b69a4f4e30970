/* SPDX-License-Identifier: MIT */
/*
 * x86-64 and i386, by Zydis, in AT&T syntax: what objdump prints unless told otherwise. Of several
 * names of one operation it has objdump's (je, not jz); suffixes that say what an operand says
 * anyway are Zydis'. Lengths and targets are objdump's over all of the C library and of the C
 * compiler (tests/differential/x86.c).
 */
#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "image/effect.h"

static bool decode_full(ZydisMachineMode mode, ZydisStackWidth width, const uint8_t *bytes,
			size_t left, ZydisDecodedInstruction *in,
			ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT])
{
	ZydisDecoder d;

	return ZYAN_SUCCESS(ZydisDecoderInit(&d, mode, width)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, left, in, operands));
}

static bool has_memory(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o, bool writes)
{
	for (unsigned i = 0; i < in->operand_count; i++)
		if (o[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    o[i].mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		    o[i].actions &
			(writes ? ZYDIS_OPERAND_ACTION_MASK_WRITE : ZYDIS_OPERAND_ACTION_MASK_READ))
			return true;
	return false;
}

static enum image_flow flow_of(const ZydisDecodedInstruction *in)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return IMAGE_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return IMAGE_JUMP;
	case ZYDIS_CATEGORY_CALL:
		return IMAGE_CALL;
	case ZYDIS_CATEGORY_RET:
		return IMAGE_RETURN;
	default:
		return IMAGE_NEXT;
	}
}

static bool is_relative(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o)
{
	return in->operand_count && o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	       o[0].imm.is_relative;
}

static bool decode(ZydisMachineMode mode, ZydisStackWidth width, const uint8_t *bytes, size_t left,
		   uint64_t pc, struct image_inst *out)
{
	static const char *const flow_class[] = {
		[IMAGE_JUMP] = "jump",
		[IMAGE_BRANCH] = "branch",
		[IMAGE_CALL] = "call",
		[IMAGE_RETURN] = "return",
	};
	ZydisDecodedInstruction in;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

	*out = (struct image_inst){ .size_bytes = 1 };
	memcpy(&out->word, bytes, left < 4 ? left : 4);
	if (!decode_full(mode, width, bytes, left, &in, o))
		return true;
	out->size_bytes = in.length;
	if (in.length < 4)
		out->word &= (1u << 8 * in.length) - 1;
	out->flow = flow_of(&in);
	out->cls = out->flow		       ? flow_class[out->flow]
		   : has_memory(&in, o, true)  ? "store"
		   : has_memory(&in, o, false) ? "load"
					       : "alu";
	if (out->flow && is_relative(&in, o)) {
		out->direct = true;
		out->target = pc + in.length + o[0].imm.value.u;
	}
	return true;
}

/* "jmp 0x10, %rax" becomes "jmp 0x10,%rax", as objdump separates operands. */
static void close_up(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		*to++ = *from;
		if (*from == ',')
			from += strspn(from + 1, " ");
	}
	*to = '\0';
}

/* The name that objdump has for an operation; NULL: Zydis' own. */
static const char *att_name(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
			    char buf[16])
{
	static const struct {
		ZydisMnemonic mnemonic;
		const char *name;
	} names[] = {
		{ ZYDIS_MNEMONIC_JZ, "je" },	     { ZYDIS_MNEMONIC_JNZ, "jne" },
		{ ZYDIS_MNEMONIC_JNB, "jae" },	     { ZYDIS_MNEMONIC_JNBE, "ja" },
		{ ZYDIS_MNEMONIC_JNL, "jge" },	     { ZYDIS_MNEMONIC_JNLE, "jg" },
		{ ZYDIS_MNEMONIC_SETZ, "sete" },     { ZYDIS_MNEMONIC_SETNZ, "setne" },
		{ ZYDIS_MNEMONIC_SETNB, "setae" },   { ZYDIS_MNEMONIC_SETNBE, "seta" },
		{ ZYDIS_MNEMONIC_SETNL, "setge" },   { ZYDIS_MNEMONIC_SETNLE, "setg" },
		{ ZYDIS_MNEMONIC_CMOVZ, "cmove" },   { ZYDIS_MNEMONIC_CMOVNZ, "cmovne" },
		{ ZYDIS_MNEMONIC_CMOVNB, "cmovae" }, { ZYDIS_MNEMONIC_CMOVNBE, "cmova" },
		{ ZYDIS_MNEMONIC_CMOVNL, "cmovge" }, { ZYDIS_MNEMONIC_CMOVNLE, "cmovg" },
		{ ZYDIS_MNEMONIC_CDQE, "cltq" },     { ZYDIS_MNEMONIC_CDQ, "cltd" },
		{ ZYDIS_MNEMONIC_CQO, "cqto" },	     { ZYDIS_MNEMONIC_CWDE, "cwtl" },
		{ ZYDIS_MNEMONIC_CWD, "cwtd" },	     { ZYDIS_MNEMONIC_CBW, "cbtw" },
	};
	const bool zero = in->mnemonic == ZYDIS_MNEMONIC_MOVZX;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].mnemonic == in->mnemonic)
			return names[i].name;
	if (!zero && in->mnemonic != ZYDIS_MNEMONIC_MOVSX && in->mnemonic != ZYDIS_MNEMONIC_MOVSXD)
		return NULL;
	snprintf(buf, 16, "mov%c%c%c", zero ? 'z' : 's',
		 o[1].size == 8	   ? 'b'
		 : o[1].size == 16 ? 'w'
				   : 'l',
		 o[0].size == 16   ? 'w'
		 : o[0].size == 32 ? 'l'
				   : 'q');
	return buf;
}

/* Puts the names and the style of objdump into Zydis' text. */
static void as_objdump(char *text, size_t size_bytes, const ZydisDecodedInstruction *in,
		       const ZydisDecodedOperand *o)
{
	char buf[16], rest[256];
	const char *name = att_name(in, o, buf), *own = ZydisMnemonicGetString(in->mnemonic);
	char *at = name && own ? strstr(text, own) : NULL;

	if (at) {
		snprintf(rest, sizeof(rest), "%s", at + strcspn(at, " "));
		snprintf(at, size_bytes - (size_t)(at - text), "%s%s", name, rest);
	}
	close_up(text);
	/* where a jump leads: 26460, not 0x26460 */
	at = flow_of(in) && is_relative(in, o) ? strstr(text, " 0x") : NULL;
	if (at)
		memmove(at + 1, at + 3, strlen(at + 3) + 1);
}

static void disasm(ZydisMachineMode mode, ZydisStackWidth width, const uint8_t *bytes, size_t left,
		   uint64_t pc, char *buf, size_t size_bytes)
{
	static const struct {
		ZydisFormatterProperty property;
		ZyanUPointer value;
	} how[] = {
		{ ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE },
		{ ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE },
		{ ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED },
	};
	ZydisDecodedInstruction in;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisFormatter f;

	snprintf(buf, size_bytes, "(bad)");
	if (!decode_full(mode, width, bytes, left, &in, o) ||
	    !ZYAN_SUCCESS(ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_ATT)))
		return;
	for (size_t i = 0; i < ARRAY_LEN(how); i++)
		ZydisFormatterSetProperty(&f, how[i].property, how[i].value);
	if (ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&f, &in, o, in.operand_count_visible, buf,
							 size_bytes, pc, NULL)))
		as_objdump(buf, size_bytes, &in, o);
	else
		snprintf(buf, size_bytes, "(bad)");
}

static bool decode_64(const uint8_t *bytes, size_t left, uint64_t pc, struct image_inst *out)
{
	return decode(ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64, bytes, left, pc, out);
}

static void disasm_64(const uint8_t *bytes, size_t left, uint64_t pc, char *buf, size_t size_bytes)
{
	disasm(ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64, bytes, left, pc, buf, size_bytes);
}

static bool decode_32(const uint8_t *bytes, size_t left, uint64_t pc, struct image_inst *out)
{
	return decode(ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32, bytes, left, pc, out);
}

static void disasm_32(const uint8_t *bytes, size_t left, uint64_t pc, char *buf, size_t size_bytes)
{
	disasm(ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32, bytes, left, pc, buf,
	       size_bytes);
}

const struct arch arch_x86_64 = {
	.name = "x86-64",
	.machine = EM_X86_64,
	.decode = decode_64,
	.disasm = disasm_64,
	.unit_bytes = 1,
	.relative = R_X86_64_RELATIVE,
	.absolute = R_X86_64_64,
	.stack = X86_STACK,
	.call_writes = X86_CALL_WRITES,
	.stops = x86_stops,
	.is_system = x86_is_system,
	.pads = x86_pads,
	.effect = x86_effect,
	.exits = x86_exits,
};
const struct arch arch_i386 = {
	.name = "i386", .machine = EM_386, .decode = decode_32, .disasm = disasm_32
};
