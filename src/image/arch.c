/* SPDX-License-Identifier: MIT */
/* The instruction sets that images may have, and RV64GC, which isa/ knows. */
#include "image/arch.h"

#include <elf.h>
#include <string.h>

#include "image/effect.h"
#include "isa/isa.h"

static bool decode(const uint8_t *bytes, size_t left, uint64_t pc, struct image_inst *out)
{
	uint32_t word = 0;

	if (left < 2)
		return false;
	memcpy(&word, bytes, left < 4 ? 2 : 4);
	const struct inst in = isa_decode(word);

	*out = (struct image_inst){ .size_bytes = in.len, .word = in.word };
	if (in.op == OP_ILLEGAL)
		return true;
	out->cls = op_class_name[op_info[in.op].cls];
	if (!(op_info[in.op].flags & OPF_CTRL))
		return true;
	out->flow = isa_is_call(&in)			      ? IMAGE_CALL
		    : isa_is_return(&in)		      ? IMAGE_RETURN
		    : in.op == OP_JAL || isa_is_indirect(&in) ? IMAGE_JUMP
							      : IMAGE_BRANCH;
	out->direct = !isa_is_indirect(&in);
	out->target = pc + (uint64_t)(int64_t)in.imm;
	return true;
}

static void disasm(const uint8_t *bytes, size_t left, uint64_t pc, char *buf, size_t size_bytes)
{
	uint32_t word = 0;

	memcpy(&word, bytes, left < 4 ? 2 : 4);
	const struct inst in = isa_decode(word);

	isa_disasm(&in, pc, DISASM_ALIASES, buf, size_bytes);
}

const struct arch arch_riscv = {
	.name = "riscv",
	.machine = EM_RISCV,
	.decode = decode,
	.disasm = disasm,
	.unit_bytes = 2,
	.relative = R_RISCV_RELATIVE,
	.absolute = R_RISCV_64,
	.stack = RISCV_STACK,
	.call_writes = RISCV_CALL_WRITES,
	.stops = riscv_stops,
	.is_system = riscv_is_system,
	.pads = riscv_pads,
	.pair = riscv_pair,
	.effect = riscv_effect,
	.exits = riscv_exits,
};

const struct arch *arch_find(unsigned machine)
{
	static const struct arch *const all[] = { &arch_riscv, &arch_x86_64, &arch_i386 };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i]->machine == machine && all[i]->decode)
			return all[i];
	return NULL;
}
