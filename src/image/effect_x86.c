/* SPDX-License-Identifier: MIT */
/*
 * What x86-64 instructions do to registers, for control-flow graphs. Registers are numbered as the
 * instruction set does, rax 0 to r15 15; number 16 stands for the flags. Writes of 8 or 16 bits keep
 * the rest of a register and are not followed.
 */
#include "image/effect.h"

#include <Zydis/Zydis.h>

enum { RSP = 4, RBP = 5, FLAGS = 16 };
#define BIT(r) (1ull << (r))

bool x86_stops(const struct image_inst *in)
{
	return (in->size_bytes == 2 && in->word == 0x0b0f) ||			/* ud2 */
	       (in->size_bytes == 1 && (in->word == 0xcc || in->word == 0xf4)); /* int3, hlt */
}

bool x86_is_system(uint32_t word, unsigned size_bytes)
{
	return size_bytes == 2 && word == 0x050f; /* syscall */
}

bool x86_pads(const struct image_inst *in)
{
	uint32_t word = in->word;

	/* nop, xchg %ax,%ax, nopw and nopl of any length, int3, zeros */
	while ((word & 0xff) == 0x66 || (word & 0xff) == 0x2e)
		word >>= 8;
	return (word & 0xff) == 0x90 || (word & 0xffff) == 0x1f0f || (word & 0xff) == 0xcc ||
	       !in->word;
}

bool x86_exits(uint64_t number)
{
	return number == 60 || number == 231 || number == 15; /* exit, exit_group, rt_sigreturn */
}

/* The whole register that a register is part of; ARCH_NO_REG: it is not followed. */
static uint8_t whole(ZydisRegister r)
{
	const ZydisRegister large = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	if (large >= ZYDIS_REGISTER_RAX && large <= ZYDIS_REGISTER_R15)
		return (uint8_t)(large - ZYDIS_REGISTER_RAX);
	return ARCH_NO_REG;
}

static bool is_high_byte(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_AH || r == ZYDIS_REGISTER_BH || r == ZYDIS_REGISTER_CH ||
	       r == ZYDIS_REGISTER_DH;
}

/* An operand; false: it is not followed. A memory operand's parts go into out. */
static bool take(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o, uint64_t pc,
		 struct arch_operand *x, struct arch_effect *out)
{
	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		x->kind = ARCH_REG;
		x->reg = whole(o->reg.value);
		return x->reg != ARCH_NO_REG && !is_high_byte(o->reg.value);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		x->kind = ARCH_IMM;
		x->imm = (int64_t)o->imm.value.u;
		return true;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
			return false;
		x->kind = ARCH_MEM;
		out->disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
		if (o->mem.base == ZYDIS_REGISTER_RIP)
			out->disp += (int64_t)(pc + in->length);
		else if (o->mem.base != ZYDIS_REGISTER_NONE &&
			 (out->base = whole(o->mem.base)) == ARCH_NO_REG)
			return false;
		if (o->mem.index != ZYDIS_REGISTER_NONE) {
			out->index = whole(o->mem.index);
			out->shift = (uint8_t)__builtin_ctz(o->mem.scale ? o->mem.scale : 1u);
			if (out->index == ARCH_NO_REG)
				return false;
		}
		return in->address_width == 64;
	default:
		return false;
	}
}

static enum arch_relation relation_of(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_JZ:
		return ARCH_EQ;
	case ZYDIS_MNEMONIC_JNZ:
		return ARCH_NE;
	case ZYDIS_MNEMONIC_JL:
		return ARCH_LT;
	case ZYDIS_MNEMONIC_JNL:
		return ARCH_GE;
	case ZYDIS_MNEMONIC_JLE:
		return ARCH_LE;
	case ZYDIS_MNEMONIC_JNLE:
		return ARCH_GT;
	case ZYDIS_MNEMONIC_JB:
		return ARCH_LTU;
	case ZYDIS_MNEMONIC_JNB:
		return ARCH_GEU;
	case ZYDIS_MNEMONIC_JBE:
		return ARCH_LEU;
	case ZYDIS_MNEMONIC_JNBE:
		return ARCH_GTU;
	default:
		return ARCH_UNKNOWN;
	}
}

/* Registers, flags and memory that the instruction writes, by its operands. */
static uint64_t writes_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o)
{
	uint64_t writes = 0;

	for (unsigned i = 0; i < in->operand_count; i++) {
		if (!(o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (o[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			writes |= BIT(ARCH_MEMORY);
		} else if (o[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			const uint8_t r = whole(o[i].reg.value);

			if (r != ARCH_NO_REG)
				writes |= BIT(r);
			else if (o[i].reg.value == ZYDIS_REGISTER_RFLAGS ||
				 o[i].reg.value == ZYDIS_REGISTER_EFLAGS ||
				 o[i].reg.value == ZYDIS_REGISTER_FLAGS)
				writes |= BIT(FLAGS);
		}
	}
	return writes;
}

static const struct {
	ZydisMnemonic mnemonic;
	enum arch_op op;
} two_operands[] = {
	{ ZYDIS_MNEMONIC_ADD, ARCH_ADD }, { ZYDIS_MNEMONIC_SUB, ARCH_SUB },
	{ ZYDIS_MNEMONIC_AND, ARCH_AND }, { ZYDIS_MNEMONIC_SHL, ARCH_SHL },
	{ ZYDIS_MNEMONIC_SHR, ARCH_SHR }, { ZYDIS_MNEMONIC_SAR, ARCH_SAR },
};

/* dst = dst OP source */
static bool two_operand(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
			uint64_t pc, struct arch_effect *out)
{
	for (size_t i = 0; i < ARRAY_LEN(two_operands); i++) {
		if (two_operands[i].mnemonic != in->mnemonic)
			continue;
		if (o[0].type != ZYDIS_OPERAND_TYPE_REGISTER || o[0].size < 32 ||
		    !take(in, &o[0], pc, &out->x, out) || !take(in, &o[1], pc, &out->y, out))
			return false;
		out->op = two_operands[i].op;
		out->dst = out->x.reg;
		out->bits = (uint8_t)o[0].size;
		return true;
	}
	return false;
}

/* The stack pointer moves by a constant. */
static void move_stack(struct arch_effect *out, uint8_t from, int64_t by)
{
	out->op = ARCH_ADD;
	out->dst = RSP;
	out->bits = 64;
	out->x = (struct arch_operand){ ARCH_REG, from, 0 };
	out->y = (struct arch_operand){ ARCH_IMM, 0, by };
}

/* Copies, with or without an extension. */
static void move(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o, uint64_t pc,
		 struct arch_effect *out)
{
	const bool is_signed =
	    in->mnemonic == ZYDIS_MNEMONIC_MOVSX || in->mnemonic == ZYDIS_MNEMONIC_MOVSXD;

	if (o[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
		struct arch_operand memory;

		if (take(in, &o[0], pc, &memory, out) && take(in, &o[1], pc, &out->x, out)) {
			out->op = ARCH_STORE;
			out->bits = (uint8_t)o[0].size;
		}
		return;
	}
	if (o[0].type != ZYDIS_OPERAND_TYPE_REGISTER || o[0].size < 32 ||
	    whole(o[0].reg.value) == ARCH_NO_REG || !take(in, &o[1], pc, &out->x, out))
		return;
	out->op = ARCH_MOVE;
	out->dst = whole(o[0].reg.value);
	out->bits = (uint8_t)(o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? o[0].size : o[1].size);
	/* a sign that is extended to 32 bits only leaves zeros above: not followed */
	out->is_signed = is_signed;
	if (is_signed && o[0].size != 64)
		out->op = ARCH_OTHER;
}

static void effect_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o, uint64_t pc,
		      struct arch_effect *out)
{
	struct arch_operand memory;

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		move(in, o, pc, out);
		break;
	case ZYDIS_MNEMONIC_CDQE:
		out->op = ARCH_MOVE;
		out->dst = 0;
		out->bits = 32;
		out->is_signed = true;
		out->x = (struct arch_operand){ ARCH_REG, 0, 0 };
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (o[0].size >= 32 && take(in, &o[1], pc, &memory, out)) {
			out->op = ARCH_ADDRESS;
			out->dst = whole(o[0].reg.value);
			out->bits = (uint8_t)o[0].size;
		}
		break;
	case ZYDIS_MNEMONIC_XOR:
		if (o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].size >= 32 &&
		    o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == o[1].reg.value &&
		    whole(o[0].reg.value) != ARCH_NO_REG) {
			out->op = ARCH_MOVE;
			out->dst = whole(o[0].reg.value);
			out->bits = 64;
			out->x = (struct arch_operand){ ARCH_IMM, 0, 0 };
		}
		break;
	case ZYDIS_MNEMONIC_CMP:
		if (take(in, &o[0], pc, &out->x, out) && take(in, &o[1], pc, &out->y, out)) {
			out->op = ARCH_COMPARE;
			out->bits = (uint8_t)o[0].size;
		}
		break;
	case ZYDIS_MNEMONIC_PUSH:
		move_stack(out, RSP, -8);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && whole(o[0].reg.value) != RSP)
			move_stack(out, RSP, 8);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		move_stack(out, RBP, 8);
		break;
	case ZYDIS_MNEMONIC_SYSCALL:
		out->op = ARCH_SYSTEM;
		out->x = (struct arch_operand){ ARCH_REG, 0, 0 };
		break;
	case ZYDIS_MNEMONIC_JMP:
		if (o[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    take(in, &o[0], pc, &out->x, out)) {
			out->op = ARCH_JUMP;
			out->bits = 64;
		}
		break;
	default:
		if (in->meta.category == ZYDIS_CATEGORY_COND_BR) {
			out->op = ARCH_BRANCH;
			out->relation = relation_of(in->mnemonic);
			out->base = FLAGS;
		} else {
			two_operand(in, o, pc, out);
		}
		break;
	}
}

bool x86_effect(const uint8_t *bytes, size_t left, uint64_t pc, struct arch_effect *out)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoder d;

	*out =
	    (struct arch_effect){ .dst = ARCH_NO_REG, .base = ARCH_NO_REG, .index = ARCH_NO_REG };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, left, &in, o)))
		return false;
	effect_of(&in, o, pc, out);
	out->writes = writes_of(&in, o);
	if (in.meta.category == ZYDIS_CATEGORY_CALL)
		/* what a call pushes, its return takes away */
		out->writes &= ~BIT(RSP);
	return true;
}
