/* SPDX-License-Identifier: MIT */
/*
 * From items to machine code and to a static ELF file with three segments: code (writable, because
 * some programs change themselves), constants and data.
 *
 * The end of every program stores all registers and fcsr behind the constants, writes them and the
 * data to standard output, and exits with a checksum of both.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential/random/program.h"
#include "isa/csr.h"
#include "isa/isa.h"
#include "util/util.h"

#define DUMP_OFFSET 1024 /* from gp */
#define CODE_MAX    (POOL_ADDR - CODE_ADDR)

uint32_t enc_r(unsigned op, unsigned rd, unsigned rs1, unsigned rs2)
{
	return op_info[op].match | rd << 7 | rs1 << 15 | rs2 << 20;
}

uint32_t enc_i(unsigned op, unsigned rd, unsigned rs1, int imm)
{
	return op_info[op].match | rd << 7 | rs1 << 15 | (uint32_t)imm << 20;
}

uint32_t enc_s(unsigned op, unsigned rs1, unsigned rs2, int imm)
{
	return op_info[op].match | rs1 << 15 | rs2 << 20 | ((uint32_t)imm & 31) << 7 |
	       (uint32_t)imm >> 5 << 25;
}

uint32_t enc_u(unsigned op, unsigned rd, uint32_t imm)
{
	return op_info[op].match | rd << 7 | (imm & 0xfffff000);
}

uint32_t enc_b(unsigned op, unsigned rs1, unsigned rs2, int imm)
{
	uint32_t i = (uint32_t)imm;

	return op_info[op].match | rs1 << 15 | rs2 << 20 | (i >> 12 & 1) << 31 |
	       (i >> 5 & 63) << 25 | (i >> 1 & 15) << 8 | (i >> 11 & 1) << 7;
}

uint32_t enc_j(unsigned op, unsigned rd, int imm)
{
	uint32_t i = (uint32_t)imm;

	return op_info[op].match | rd << 7 | (i >> 20 & 1) << 31 | (i >> 1 & 1023) << 21 |
	       (i >> 11 & 1) << 20 | (i >> 12 & 255) << 12;
}

static uint32_t fix_word(enum fix_kind kind, uint32_t word, int distance)
{
	uint32_t i = (uint32_t)distance;

	switch (kind) {
	case FIX_B:
		return word | enc_b(OP_ILLEGAL, 0, 0, distance);
	case FIX_J:
		return word | enc_j(OP_ILLEGAL, 0, distance);
	case FIX_CB:
		return word | (i >> 8 & 1) << 12 | (i >> 3 & 3) << 10 | (i >> 6 & 3) << 5 |
		       (i >> 1 & 3) << 3 | (i >> 5 & 1) << 2;
	case FIX_CJ:
		return word | (i >> 11 & 1) << 12 | (i >> 4 & 1) << 11 | (i >> 8 & 3) << 9 |
		       (i >> 10 & 1) << 8 | (i >> 6 & 1) << 7 | (i >> 7 & 1) << 6 |
		       (i >> 1 & 7) << 3 | (i >> 5 & 1) << 2;
	case FIX_I:
	case FIX_PCREL:
		return word | i << 20;
	default:
		return word;
	}
}

static unsigned word_bytes(uint32_t word)
{
	return (word & 3) == 3 ? 4 : 2;
}

bool program_is_on(const struct program *p, size_t i)
{
	const struct item *it = &p->items[i];

	switch (it->kind) {
	case ITEM_LOOP_END:
		return p->items[it->partner].on;
	case ITEM_PLAIN:
	case ITEM_SKIP:
	case ITEM_CALL:
	case ITEM_LOOP_BEGIN:
		return it->on;
	default:
		return true;
	}
}

/* Returns the index of the item that item i jumps to; an index stays valid when items are switched
 * off. */
static size_t target_of(const struct program *p, size_t i)
{
	const struct item *it = &p->items[i];
	size_t t = i + 1;

	switch (it->kind) {
	case ITEM_CALL:
		for (t = 0;
		     p->items[t].kind != ITEM_FUNCTION || p->items[t].function != it->function;)
			t++;
		return t;
	case ITEM_LOOP_END:
	case ITEM_SEGMENT_END:
		return it->partner + 1;
	default:
		/* Do not jump into a loop whose counter was not set. */
		for (unsigned n = 0; n < it->skip; n++, t++) {
			uint8_t kind = p->items[t].kind;

			if (kind == ITEM_LOOP_BEGIN || kind >= ITEM_SEGMENT_BEGIN)
				break;
		}
		return t;
	}
}

/* Writes the code of the end. Its length does not limit other items: nothing jumps over it. */
static size_t end_words(uint32_t *w)
{
	size_t n = 0;
	uint32_t start = (uint32_t)(POOL_ADDR + 2048 + DUMP_OFFSET);

	for (unsigned r = 0; r < 32; r++)
		w[n++] = enc_s(OP_SD, REG_POOL, r, DUMP_OFFSET + (int)r * 8);
	for (unsigned r = 0; r < 32; r++)
		w[n++] = enc_s(OP_FSD, REG_POOL, r, DUMP_OFFSET + 256 + (int)r * 8);
	w[n++] = enc_i(OP_CSRRS, 5, 0, CSR_FCSR);
	w[n++] = enc_s(OP_SD, REG_POOL, 5, DUMP_OFFSET + 512);
	for (int part = 0; part < 2; part++) {
		uint32_t addr = part ? (uint32_t)DATA_ADDR : start;
		uint32_t size = part ? DATA_BYTES : DUMP_BYTES;

		w[n++] = enc_i(OP_ADDI, 10, 0, 1);
		w[n++] = enc_u(OP_LUI, 11, addr + 0x800);
		w[n++] = enc_i(OP_ADDI, 11, 11, (int)(addr << 20) >> 20);
		w[n++] = enc_u(OP_LUI, 12, size + 0x800);
		w[n++] = enc_i(OP_ADDI, 12, 12, (int)(size << 20) >> 20);
		w[n++] = enc_i(OP_ADDI, 17, 0, 64); /* write */
		w[n++] = enc_i(OP_ECALL, 0, 0, 0);
	}
	/* for (a1 = start; a1 != end; a1 += 8) a0 = rotate(a0) + *a1 */
	w[n++] = enc_u(OP_LUI, 11, start + 0x800);
	w[n++] = enc_i(OP_ADDI, 11, 11, (int)(start << 20) >> 20);
	w[n++] = enc_u(OP_LUI, 12, (uint32_t)(DATA_ADDR + DATA_BYTES));
	w[n++] = enc_i(OP_ADDI, 10, 0, 0);
	w[n++] = enc_i(OP_LD, 13, 11, 0);
	w[n++] = enc_i(OP_RORI, 10, 10, 7);
	w[n++] = enc_r(OP_ADD, 10, 10, 13);
	w[n++] = enc_i(OP_ADDI, 11, 11, 8);
	w[n++] = enc_b(OP_BNE, 11, 12, -16);
	w[n++] = enc_i(OP_SRLI, 13, 10, 32);
	w[n++] = enc_r(OP_XOR, 10, 10, 13);
	w[n++] = enc_i(OP_ANDI, 10, 10, 63);
	w[n++] = enc_i(OP_ADDI, 17, 0, 94); /* exit_group */
	w[n++] = enc_i(OP_ECALL, 0, 0, 0);
	return n;
}

static void put(struct code *c, uint32_t word)
{
	unsigned n = word_bytes(word);

	if (c->size_bytes + n > CODE_MAX)
		die("a random program of more than %llu bytes", (unsigned long long)CODE_MAX);
	memcpy(c->bytes + c->size_bytes, &word, n);
	c->size_bytes += n;
}

static void put_item(const struct program *p, struct code *c, size_t i)
{
	const struct item *it = &p->items[i];
	uint64_t pc = CODE_ADDR + c->size_bytes, from = pc;
	int64_t distance = 0;

	if (it->fix_kind != FIX_NONE) {
		if (it->fix_kind != FIX_I && it->fix_kind != FIX_PCREL)
			for (unsigned k = 0; k < it->fix; k++)
				from += word_bytes(it->words[k]);
		distance = (int64_t)(c->at[target_of(p, i)] - from);
	}
	for (unsigned k = 0; k < it->nwords; k++) {
		uint32_t word = it->words[k];

		if (it->fix_kind == FIX_PCREL && k == 0)
			word |= (uint32_t)(distance + 0x800) & 0xfffff000;
		if (it->fix_kind != FIX_NONE && k == it->fix)
			word = fix_word(it->fix_kind, word, (int)distance);
		put(c, word);
	}
}

void program_layout(const struct program *p, struct code *c)
{
	uint32_t end[128];
	size_t nend = end_words(end);

	memset(c, 0, sizeof(*c));
	c->bytes = x_malloc(CODE_MAX);
	c->at = x_calloc(p->nitems + 1, sizeof(*c->at));
	/* Sizes do not depend on distances: the first round finds the addresses, the second uses
	 * them. */
	for (int round = 0; round < 2; round++) {
		c->size_bytes = 0;
		for (size_t i = 0; i < p->nitems; i++) {
			c->at[i] = CODE_ADDR + c->size_bytes;
			if (!program_is_on(p, i))
				continue;
			put_item(p, c, i);
			if (p->items[i].kind == ITEM_DUMP) {
				c->dump = c->at[i];
				for (size_t k = 0; k < nend; k++)
					put(c, end[k]);
			} else if (p->trace) {
				put(c, enc_i(OP_CSRRS, REG_TRACE, 0, CSR_FCSR));
			}
		}
		c->at[p->nitems] = CODE_ADDR + c->size_bytes;
	}
}

void code_free(struct code *c)
{
	free(c->bytes);
	free(c->at);
}

bool image_write(const char *path, uint64_t entry, const void *code, size_t code_bytes,
		 const void *pool, const void *data)
{
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_RISCV,
			  .e_version = EV_CURRENT,
			  .e_entry = entry,
			  .e_phoff = sizeof(eh),
			  .e_flags = EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE,
			  .e_ehsize = sizeof(eh),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 2 };
	uint64_t code_at = 4096, pool_at = code_at + ((code_bytes + 4095) & ~4095ull);
	uint64_t data_bytes = 4096 + DATA_BYTES;
	Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W | PF_X,
		  .p_offset = code_at,
		  .p_vaddr = CODE_ADDR,
		  .p_paddr = CODE_ADDR,
		  .p_filesz = code_bytes,
		  .p_memsz = code_bytes,
		  .p_align = 4096 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_offset = pool_at,
		  .p_vaddr = POOL_ADDR,
		  .p_paddr = POOL_ADDR,
		  .p_filesz = data_bytes,
		  .p_memsz = data_bytes,
		  .p_align = 4096 },
	};
	size_t size = pool_at + data_bytes;
	uint8_t *image = x_calloc(1, size);
	FILE *f = fopen(path, "wb");
	bool ok = f != NULL;

	memcpy(image, &eh, sizeof(eh));
	memcpy(image + sizeof(eh), ph, sizeof(ph));
	memcpy(image + code_at, code, code_bytes);
	memcpy(image + pool_at, pool, POOL_BYTES);
	memcpy(image + pool_at + 4096, data, DATA_BYTES);
	if (f) {
		ok = fwrite(image, size, 1, f) == 1;
		ok = fclose(f) == 0 && ok;
	}
	free(image);
	return ok;
}

bool program_write(const struct program *p, const struct code *c, const char *path)
{
	return image_write(path, CODE_ADDR, c->bytes, c->size_bytes, p->pool, p->data);
}
