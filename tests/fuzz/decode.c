/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the decoder and the disassembler: any bytes, at any address, into buffers of any size.
 * Assertions check what must hold for every word; the sanitizer finds memory errors.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static void check_operands(const struct inst *in)
{
	struct inst_operands ops = isa_operands(in);

	assert(in->rd < 32 && in->rs1 < 32 && in->rs2 < 32 && in->rs3 < 32 && in->rm < 8);
	assert(ops.dst < 64);
	for (int i = 0; i < 3; i++)
		assert(ops.src[i] < 64);
	assert(!(isa_is_call(in) && isa_is_return(in)));
	assert(!isa_is_indirect(in) || in->op == OP_JALR);
	assert(!(isa_is_mark_begin(in) && isa_is_mark_end(in)));
}

static void check_text(const struct inst *in, uint64_t pc, size_t room)
{
	char whole[256], *part = malloc(room);

	for (int style = DISASM_ALIASES; style <= DISASM_RAW; style++) {
		isa_disasm(in, pc, (enum disasm_style)style, whole, sizeof(whole));
		assert(strlen(whole) > 0 && strlen(whole) < sizeof(whole) - 1);
		isa_disasm(in, pc, (enum disasm_style)style, part, room);
		assert(strlen(part) < room && !strncmp(whole, part, strlen(part)));
	}
	free(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	for (size_t at = 0; at + 4 <= size_bytes;) {
		uint32_t word;

		memcpy(&word, data + at, 4);
		struct inst in = isa_decode(word);
		struct inst again = isa_decode(in.word);

		assert(in.len == ((word & 3) == 3 ? 4 : 2));
		assert(in.op < OP_COUNT);
		assert(in.word == (in.len == 4 ? word : word & 0xffff));
		assert(!memcmp(&in, &again, sizeof(in)));
		check_operands(&in);
		check_text(&in, at * 0x10001, 1 + data[at] % 80);
		at += in.len;
	}
	return 0;
}
