/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the loader: any file as a program, and as its own interpreter when it names itself.
 * What loads is stepped until its first system call; a file that does not load must say why in one
 * line.
 *
 * Seeds are made here, not stored: without any input the mutator is given whole programs (static,
 * position independent, with an interpreter, a script), see LLVMFuzzerCustomMutator.
 */
#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/guest.h"
#include "util/util.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size_bytes, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size_bytes, size_t room, unsigned seed);

#define STEPS 500

static char folder[] = "/tmp/culprit-fuzz.XXXXXX";

static void leave(void)
{
	unlink("program");
	if (chdir("/") == 0)
		rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	if (!mkdtemp(folder) || chdir(folder) < 0)
		die("%s: cannot be used", folder);
	atexit(leave);
	return 0;
}

static void step(struct guest *g)
{
	struct guest_step s = { 0 };

	for (int n = 0; n < STEPS && !(s.flags & STEP_END); n++) {
		const struct inst *in = guest_fetch(g, guest_hart(g)->pc);

		if (in && in->op == OP_ECALL)
			return;
		guest_step(g, &s);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	char *argv[] = { "./program", "argument", NULL };
	struct guest_config config = { .argv = argv };
	struct err e = { "" };
	struct guest *g;
	int fd = open("program", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	if (fd < 0 || write(fd, data, size_bytes) != (ssize_t)size_bytes)
		die("cannot write the program");
	close(fd);
	g = guest_new(&config, &e);
	if (g) {
		step(g);
		guest_free(g);
	} else {
		assert(e.text[0] && !strchr(e.text, '\n'));
	}
	return 0;
}

/* Makes a program of two segments whose code loops a little and then exits. */
static size_t make_seed(uint8_t *data, size_t room, unsigned seed)
{
	static const uint32_t code[] = {
		0x00000517, 0x00a00593, 0xfff58593,
		0xfe059ee3,			    /* auipc a0; a1 = 10; while (--a1) */
		0x00b53023, 0x05d00893, 0x00000073, /* sd a1,(a0); exit */
	};
	static const char script[] = "#!./program x\n", name[] = "./program";
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[4];
		char name[16];
		uint32_t code[ARRAY_LEN(code)];
	} f = { 0 };
	bool pie = seed & 1;
	uint64_t base = pie ? 0 : 0x10000;
	unsigned n = 0;

	if (seed % 16 == 15) {
		memcpy(data, script, min_u64(room, sizeof(script)));
		return min_u64(room, sizeof(script));
	}
	if (room < sizeof(f))
		return 0;
	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f.eh.e_ident[EI_VERSION] = EV_CURRENT;
	f.eh.e_type = pie ? ET_DYN : ET_EXEC;
	f.eh.e_machine = EM_RISCV;
	f.eh.e_version = EV_CURRENT;
	f.eh.e_entry = base + offsetof(typeof(f), code);
	f.eh.e_phoff = offsetof(typeof(f), ph);
	f.eh.e_ehsize = sizeof(f.eh);
	f.eh.e_phentsize = sizeof(f.ph[0]);
	if (seed & 2)
		f.ph[n++] = (Elf64_Phdr){ .p_type = PT_INTERP,
					  .p_offset = offsetof(typeof(f), name),
					  .p_vaddr = base + offsetof(typeof(f), name),
					  .p_filesz = sizeof(name),
					  .p_memsz = sizeof(name) };
	f.ph[n++] = (Elf64_Phdr){ .p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_vaddr = base,
				  .p_filesz = sizeof(f),
				  .p_memsz = sizeof(f),
				  .p_align = 4096 };
	f.ph[n++] = (Elf64_Phdr){ .p_type = PT_LOAD,
				  .p_flags = PF_R | PF_W,
				  .p_vaddr = base + 0x1000,
				  .p_filesz = seed & 4 ? sizeof(f) : 0,
				  .p_memsz = seed & 8 ? 0x3000 : sizeof(f),
				  .p_align = 4096 };
	f.ph[n++] = (Elf64_Phdr){ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W };
	f.eh.e_phnum = (uint16_t)n;
	memcpy(f.name, name, sizeof(name));
	memcpy(f.code, code, sizeof(code));
	memcpy(data, &f, sizeof(f));
	return sizeof(f);
}

/* Sets one field of a header to an extreme value: blind mutation seldom hits one. */
static void break_field(uint8_t *data, size_t size_bytes, struct rng *rng)
{
	static const uint64_t values[] = {
		0,	  1,	     2,		  4095,	      4096,	    0xffff,
		1u << 31, ~0u,	     1ull << 37,  1ull << 38, 0x3ffffff000, 1ull << 63,
		~0ull,	  ~0xfffull, 0x2aaaaaa000
	};
	size_t at = rng_below(rng, sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr)) & ~7ull;
	size_t width = 1u << rng_below(rng, 4);
	uint64_t v = values[rng_below(rng, ARRAY_LEN(values))];

	if (rng_below(rng, 2))
		v += rng_below(rng, 33) - 16;
	if (at >= 16 && at + 8 <= size_bytes)
		memcpy(data + at, &v, width);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size_bytes, size_t room, unsigned seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	if (size_bytes < sizeof(Elf64_Ehdr) || rng_below(&rng, 50) == 0)
		size_bytes = make_seed(data, room, (unsigned)rng_below(&rng, 16));
	for (uint64_t n = rng_below(&rng, 4); n; n--)
		break_field(data, size_bytes, &rng);
	return rng_below(&rng, 3) ? size_bytes : LLVMFuzzerMutate(data, size_bytes, room);
}
