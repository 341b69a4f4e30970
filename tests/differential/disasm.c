/* SPDX-License-Identifier: MIT */
/*
 * Compares our decoder and disassembler with binutils' objdump, in both styles (with and without
 * aliases).
 *
 *      disasm compressed        all 16-bit encodings: decoded or rejected alike, same text
 *      disasm numbers           every CSR number, every set that a fence can name
 *      disasm rows [N] [SEED]   N random encodings of every row, with many special operands
 *      disasm words [N] [SEED]  N random 32-bit words
 *      disasm elf FILE          the .text of a real program or library
 *
 * All but the last write an ELF file with nothing but code and an attribute that names our
 * extensions. Exits 0 when all agree, 1 when not, 77 when there is no objdump (or no FILE) to
 * compare with.
 *
 * Known differences, checked for rather than skipped (see expected_difference): what binutils 2.40
 * does not know, or knows only with reserved bits zero.
 */
#include <ctype.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isa/isa.h"
#include "util/util.h"
#include "util/number.h"

#define OBJDUMP	  "riscv64-linux-gnu-objdump"
#define CODE_BASE 0x10000ull

enum exit_status {
	AGREE = 0,
	DIFFER = 1,
	SKIP = 77,
};

static const char arch[] = "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zifencei2p0_zicbop1p0_"
			   "zihintpause2p0_zba1p0_zbb1p0_zbs1p0";

struct code {
	uint8_t *bytes;
	size_t size, room;
};

static void code_add(struct code *c, uint32_t word)
{
	size_t len = (word & 3) == 3 ? 4 : 2;

	if (c->size + len > c->room) {
		c->room = c->room * 2 + 4096;
		c->bytes = x_realloc(c->bytes, c->room);
	}
	memcpy(c->bytes + c->size, &word, len);
	c->size += len;
}

static void write_elf(FILE *out, const struct code *code)
{
	static const char names[] = "\0.text\0.riscv.attributes\0.shstrtab";
	uint8_t attr[256];
	uint32_t arch_len = 1 + sizeof(arch), file_len = 5 + arch_len, all_len = 4 + 6 + file_len;
	uint8_t *p = attr;

	*p++ = 'A';
	memcpy(p, &all_len, 4);
	memcpy(p + 4, "riscv", 6);
	p += 10;
	*p++ = 1; /* Tag_File */
	memcpy(p, &file_len, 4);
	p += 4;
	*p++ = 5; /* Tag_RISCV_arch */
	memcpy(p, arch, sizeof(arch));
	p += sizeof(arch);

	size_t attr_size = (size_t)(p - attr);
	uint64_t text_at = sizeof(Elf64_Ehdr), attr_at = text_at + code->size;
	uint64_t names_at = attr_at + attr_size;
	uint64_t headers_at = (names_at + sizeof(names) + 7) & ~7ull;
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_RISCV,
			  .e_version = EV_CURRENT,
			  .e_entry = CODE_BASE,
			  .e_shoff = headers_at,
			  .e_flags = EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE,
			  .e_ehsize = sizeof(eh),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 4,
			  .e_shstrndx = 3 };
	Elf64_Shdr sh[4] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		  .sh_addr = CODE_BASE,
		  .sh_offset = text_at,
		  .sh_size = code->size,
		  .sh_addralign = 2 },
		{ .sh_name = 7,
		  .sh_type = 0x70000003, /* SHT_RISCV_ATTRIBUTES */
		  .sh_offset = attr_at,
		  .sh_size = attr_size,
		  .sh_addralign = 1 },
		{ .sh_name = 25,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = names_at,
		  .sh_size = sizeof(names),
		  .sh_addralign = 1 },
	};
	static const uint8_t zeros[8];

	fwrite(&eh, sizeof(eh), 1, out);
	fwrite(code->bytes, code->size, 1, out);
	fwrite(attr, attr_size, 1, out);
	fwrite(names, sizeof(names), 1, out);
	fwrite(zeros, headers_at - names_at - sizeof(names), 1, out);
	fwrite(sh, sizeof(sh), 1, out);
}

/*
 * Instructions that binutils 2.40 prints as data: it does not know Zicond, wants reserved bits of
 * fences to be zero, and wants a rounding mode of zero where the conversion is exact in any.
 */
static bool expected_difference(const struct inst *in, const char *theirs)
{
	if (strncmp(theirs, ".4byte", 6))
		return false;
	switch (in->op) {
	case OP_CZERO_EQZ:
	case OP_CZERO_NEZ:
		return true;
	case OP_FENCE:
		return in->word & 0xf00fff80;
	case OP_FENCE_I:
		return in->word & 0xffffff80;
	case OP_FCVT_D_W:
	case OP_FCVT_D_WU:
	case OP_FCVT_D_S:
		return in->rm != 0;
	default:
		return false;
	}
}

/* Cuts off what depends on context: " <symbol+offset>" and " # address" at the end of the text. */
static void strip(char *text)
{
	char *end = strpbrk(text, "<#\n");

	if (!end)
		end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
}

struct tally {
	size_t compared, differed, expected;
};

/*
 * Compares one line of objdump: "  addr:\tword   \tmnemonic\toperands". objdump prints a target
 * without 0x if a symbol follows it (in an ELF file with symbols), otherwise with 0x.
 */
static void compare_line(char *line, enum disasm_style style, struct tally *tally)
{
	char *colon = strchr(line, ':');

	if (!isspace((unsigned char)line[0]) || !colon || colon[1] != '\t')
		return;
	uint64_t pc = strtoull(line, NULL, 16);
	char *word_text = colon + 2, *text = strchr(word_text, '\t');
	uint32_t word = (uint32_t)strtoull(word_text, NULL, 16);

	if (!text)
		return;
	text++;
	bool symbolic = strchr(text, '<') != NULL;

	strip(text);
	struct inst in = isa_decode(word);
	char ours[128];

	isa_disasm(&in, pc, style, ours, sizeof(ours));
	tally->compared++;
	if (!strcmp(ours, text))
		return;
	if (symbolic) {
		/* A target that a symbol follows has no 0x. */
		char *target = strstr(ours, "0x");

		if (target) {
			memmove(target, target + 2, strlen(target + 2) + 1);
			if (!strcmp(ours, text))
				return;
		}
	}
	if (expected_difference(&in, text)) {
		tally->expected++;
		return;
	}
	if (tally->differed++ < 20)
		fprintf(stderr, "%" PRIx64 ": %08" PRIx32 ": ours \"%s\", objdump \"%s\"\n", pc,
			word, ours, text);
}

static bool have_objdump(void)
{
	return system(OBJDUMP " --version >/dev/null 2>&1") == 0;
}

/* Compares both styles. want_insts is the expected number of instructions; 0: any. */
static int compare_file(const char *path, size_t want_insts)
{
	struct tally tally = { 0 };

	for (int style = DISASM_ALIASES; style <= DISASM_RAW; style++) {
		char *command = x_asprintf(OBJDUMP " -d -z %s '%s'",
					   style == DISASM_RAW ? "-M no-aliases" : "", path);
		FILE *in = popen(command, "r");
		char *line = NULL;
		size_t room = 0, before = tally.compared;

		if (!in)
			die("cannot run %s", command);
		while (getline(&line, &room, in) >= 0)
			compare_line(line, style, &tally);
		if (pclose(in) != 0 || tally.compared == before ||
		    (want_insts && tally.compared - before != want_insts)) {
			fprintf(stderr, "%s gave %zu instructions, not %zu\n", command,
				tally.compared - before, want_insts);
			tally.differed++;
		}
		free(line);
		free(command);
	}
	printf("%zu compared, %zu differ, %zu known differences\n", tally.compared, tally.differed,
	       tally.expected);
	return tally.differed ? DIFFER : AGREE;
}

static int compare_code(const struct code *code, size_t insts)
{
	char path[] = "/tmp/culprit-disasm-XXXXXX";
	int fd = mkstemp(path);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "wb");

	if (!out)
		die("cannot write %s", path);
	write_elf(out, code);
	fclose(out);
	int status = compare_file(path, insts);

	unlink(path);
	return status;
}

static int compare_compressed(void)
{
	struct code code = { 0 };
	size_t insts = 0;

	for (uint32_t w = 0; w < 0x10000; w++) {
		if ((w & 3) != 3) {
			code_add(&code, w);
			insts++;
		}
	}
	int status = compare_code(&code, insts);

	free(code.bytes);
	return status;
}

static int compare_numbers(void)
{
	struct code code = { 0 };

	for (uint32_t n = 0; n < 4096; n++) {
		code_add(&code, op_info[OP_CSRRS].match | n << 20 | 5 << 15 | 6 << 7);
		code_add(&code, op_info[OP_FENCE].match | n << 20);
	}
	int status = compare_code(&code, 2 * 4096);

	free(code.bytes);
	return status;
}

/* Returns a word with random operands; special registers and immediates come up often. */
static uint32_t random_word(struct rng *r)
{
	static const uint32_t regs[] = { 0, 0, 1, 2, 5, 31 };
	static const uint32_t tops[] = { 0,	1,     2,     3,     0xff,  0xfff, 0x7ff,
					 0x800, 0xc00, 0xc01, 0xc02, 0x833, 0x0ff };
	uint32_t w = (uint32_t)rng_next(r);

	for (unsigned at = 7; at <= 20; at += at == 7 ? 8 : 5) {
		if (rng_below(r, 3) == 0)
			w = (w & ~(31u << at)) | regs[rng_below(r, ARRAY_LEN(regs))] << at;
	}
	if (rng_below(r, 4) == 0)
		w = (w & 0xfffff) | tops[rng_below(r, ARRAY_LEN(tops))] << 20;
	if (rng_below(r, 4) == 0)
		w = (w & ~(31u << 20)) | (w >> 15 & 31) << 20;
	if (rng_below(r, 4) == 0)
		w |= 7u << 12;
	return w;
}

static int compare_rows(size_t count, uint64_t seed)
{
	struct code code = { 0 };
	struct rng rng;

	rng_seed(&rng, seed);
	for (int op = OP_ILLEGAL + 1; op < OP_COUNT; op++) {
		for (size_t i = 0; i < count; i++)
			code_add(&code,
				 (random_word(&rng) & ~op_info[op].mask) | op_info[op].match);
	}
	int status = compare_code(&code, count * (OP_COUNT - 1));

	free(code.bytes);
	return status;
}

/* Random words can be instructions that binutils knows and we do not: the arch attribute keeps it
 * from disassembling them. */
static int compare_words(size_t count, uint64_t seed)
{
	struct code code = { 0 };
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < count; i++) {
		uint32_t w = random_word(&rng) | 3;

		if ((w & 0x1f) == 0x1f) /* the encoding is longer than 32 bits */
			w &= ~4u;
		code_add(&code, w);
	}
	int status = compare_code(&code, count);

	free(code.bytes);
	return status;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool is_file = !strcmp(what, "elf");
	size_t count = argc > 2 && !is_file ? number_argument("COUNT", argv[2], 1, 100000000) : 200;
	uint64_t seed = argc > 3 ? number_argument("SEED", argv[3], 0, UINT64_MAX) : 1;

	if (!have_objdump()) {
		printf("skipped: no %s\n", OBJDUMP);
		return SKIP;
	}
	if (!strcmp(what, "compressed"))
		return compare_compressed();
	if (!strcmp(what, "numbers"))
		return compare_numbers();
	if (!strcmp(what, "rows"))
		return compare_rows(count, seed);
	if (!strcmp(what, "words"))
		return compare_words(count, seed);
	if (!strcmp(what, "elf") && argc > 2) {
		if (access(argv[2], R_OK)) {
			printf("skipped: no %s\n", argv[2]);
			return SKIP;
		}
		return compare_file(argv[2], 0);
	}
	die("usage: disasm compressed | numbers | rows [N] [SEED] | words [N] [SEED] | elf FILE");
}
