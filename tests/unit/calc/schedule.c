/* SPDX-License-Identifier: MIT */
/*
 * The static schedule against the core with every dynamic cause idealised: random straight-line
 * blocks, each behind a serialising instruction, in a program that this test writes.
 */
#include <elf.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "calc/calc_int.h"
#include "core/core.h"
#include "isa/isa.h"
#include "trace/record.h"
#include "util/util.h"

#define CODE	    0x10000
#define DATA	    0x800000
#define DATA_BYTES  4096
#define BLOCKS	    120
#define BLOCK_INSTS 60
#define CODE_BYTES  (BLOCKS * (BLOCK_INSTS + 3) * 4 + 256)
#define BATCH	    512
#define FENCE	    0x0ff0000fu
#define BASE	    2 /* the register that loads and stores address by: it is never written */

/* ---- random code ---- */

struct program {
	uint8_t code[CODE_BYTES];
	uint32_t size_bytes;
	struct cfg graph;
	struct cfg_inst insts[BLOCKS * BLOCK_INSTS];
	struct cfg_block blocks[BLOCKS];
	uint64_t issue[CODE_BYTES / 2]; /* by address: cycle */
};

static void put_word(struct program *p, uint32_t word)
{
	unsigned len = (word & 3) == 3 ? 4 : 2;

	memcpy(p->code + p->size_bytes, &word, len);
	p->size_bytes += len;
}

/* A word of the kind that is wanted: any of its registers, an address in the data. */
static uint32_t random_word(struct rng *r, unsigned kind)
{
	static const uint8_t integer[] = { CLASS_ALU, CLASS_ALU,  CLASS_ALU,  CLASS_MUL,
					   CLASS_DIV, CLASS_LOAD, CLASS_LOAD, CLASS_STORE };
	static const uint8_t floats[] = { CLASS_FADD, CLASS_FMUL, CLASS_FDIV, CLASS_FSQRT,
					  CLASS_FADD, CLASS_FMUL, CLASS_LOAD, CLASS_ALU };
	static const uint8_t others[] = { CLASS_AMO, CLASS_FENCE, CLASS_CSR };
	unsigned cls = kind == 0   ? integer[rng_below(r, ARRAY_LEN(integer))]
		       : kind == 1 ? floats[rng_below(r, ARRAY_LEN(floats))]
				   : others[rng_below(r, ARRAY_LEN(others))];

	for (;;) {
		uint32_t word = (uint32_t)rng_next(r);
		const struct op_info *info = &op_info[1 + rng_below(r, OP_COUNT - 1)];

		/* Compressed ones are found by chance; of full ones, the table knows the bits. */
		if (rng_below(r, 3)) {
			word = (word & ~info->mask) | info->match;
			if (info->flags & (OPF_LOAD | OPF_STORE))
				word = (word & ~(31u << 15)) | BASE << 15;
		}

		const struct inst in = isa_decode(word);
		info = &op_info[in.op];
		if (in.op == OP_ILLEGAL || info->cls != cls || isa_operands(&in).dst == BASE ||
		    in.op == OP_FENCE_I || in.op == OP_EBREAK)
			continue;
		if (cls == CLASS_CSR && in.imm != 1) /* fflags */
			continue;
		if ((info->flags & OPF_USES_RM) && in.rm > 4 && in.rm != 7)
			continue;
		/* Loads and stores of eight bytes that never overlap: what a load reads from a store
		 * is dynamic. */
		if ((info->flags & (OPF_LOAD | OPF_STORE)) &&
		    (in.rs1 != BASE || info->mem_bytes != 8 || (in.imm & 7) || in.imm < 0 ||
		     (cls != CLASS_AMO && (in.imm & 8) != (cls == CLASS_STORE ? 8 : 0))))
			continue;
		/* Atomics are at the base itself. */
		if (cls == CLASS_LOAD && in.imm == 0)
			continue;
		return in.len == 4 ? word : word & 0xffff;
	}
}

static void make_program(struct program *p, struct rng *r)
{
	memset(p, 0, sizeof(*p));
	put_word(p, 0x00800137); /* lui sp, 0x800: DATA */
	for (uint32_t b = 0; b < BLOCKS; b++) {
		unsigned n = 1 + (unsigned)rng_below(r, BLOCK_INSTS), kind = rng_below(r, 10) < 6;
		bool sync = !rng_below(r, 4);

		/* Blocks begin anywhere in a fetch block. */
		for (unsigned k = (unsigned)rng_below(r, 4); k; k--)
			put_word(p, 0x0001); /* c.nop */
		put_word(p, FENCE);
		p->blocks[b] = (struct cfg_block){ .first = p->graph.ninsts,
						   .count = n,
						   .start = CODE + p->size_bytes };
		for (unsigned i = 0; i < n; i++) {
			bool other = sync && !rng_below(r, 12);
			uint32_t word = random_word(r, other ? 2 : kind);

			p->insts[p->graph.ninsts++] =
			    (struct cfg_inst){ .pc = CODE + p->size_bytes,
					       .word = word,
					       .size_bytes = (word & 3) == 3 ? 4 : 2 };
			put_word(p, word);
		}
		p->blocks[b].end = CODE + p->size_bytes;
	}
	put_word(p, FENCE);
	put_word(p, 0x05d00893); /* li a7, 93 */
	put_word(p, 0x00000513); /* li a0, 0 */
	put_word(p, 0x00000073); /* ecall: exit */
	p->graph.insts = p->insts;
	p->graph.blocks = p->blocks;
	p->graph.nblocks = BLOCKS;
}

static void write_elf(const struct program *p, const char *path)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr code, data;
	} h = { .e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT },
		       .e_type = ET_EXEC,
		       .e_machine = EM_RISCV,
		       .e_version = EV_CURRENT,
		       .e_entry = CODE,
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_flags = 5, /* compressed, double floats */
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 2 },
		.code = { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_offset = 4096,
			  .p_vaddr = CODE,
			  .p_filesz = p->size_bytes,
			  .p_memsz = p->size_bytes,
			  .p_align = 4096 },
		.data = { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_W,
			  .p_vaddr = DATA,
			  .p_memsz = DATA_BYTES,
			  .p_align = 4096 } };
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(&h, sizeof(h), 1, f), 1);
	assert_int_equal(fseek(f, 4096, SEEK_SET), 0);
	assert_int_equal(fwrite(p->code, p->size_bytes, 1, f), 1);
	assert_int_equal(fclose(f), 0);
}

/* ---- the core ---- */

struct listener {
	struct emit emit;
	struct rec_cycle cycles[BATCH];
	struct rec_inst insts[BATCH];
	struct program *p;
};

static void take_batch(struct emit *e)
{
	struct listener *l = (struct listener *)e;

	for (size_t i = 0; i < e->ninsts; i++) {
		const struct rec_inst *r = &e->insts[i];

		if ((r->flags & RI_COMMITTED) && r->pc - CODE < CODE_BYTES)
			l->p->issue[(r->pc - CODE) / 2] = r->fetch + r->issue;
	}
	e->ninsts = e->ncycles = 0;
}

static void set_machine(struct machine *m, const char *const *sets)
{
	static const char *const ideal[] = { "ideal.dmiss=on", "ideal.imiss=on", "ideal.dtlb=on",
					     "ideal.itlb=on",  "ideal.bmisp=on", "ideal.sq=on" };
	struct err e;

	assert_true(machine_load(m, "inorder-2w", &e));
	for (unsigned i = 0; i < ARRAY_LEN(ideal); i++)
		assert_true(machine_set(m, ideal[i], &e));
	for (; sets && *sets; sets++)
		if (!machine_set(m, *sets, &e))
			fail_msg("%s", e.text);
}

static void run(struct program *p, const struct machine *m)
{
	char path[] = "/tmp/culprit-schedule-XXXXXX";
	char *argv[] = { path, NULL }, *envp[] = { NULL };
	struct guest_config config = { .argv = argv, .envp = envp };
	struct listener *l = x_calloc(1, sizeof(*l));
	struct err e;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	write_elf(p, path);
	l->p = p;
	l->emit = (struct emit){ .cycles = l->cycles,
				 .insts = l->insts,
				 .max_cycles = BATCH,
				 .max_insts = BATCH,
				 .wants = WANT_CYCLES | WANT_INSTS,
				 .full = take_batch };

	struct guest *g = guest_new(&config, &e);
	if (!g)
		fail_msg("%s", e.text);
	struct core *c = core_new(m, g, &l->emit, &e);
	if (!c)
		fail_msg("%s", e.text);
	assert_int_equal(core_run(c, 0), CORE_ENDED);
	take_batch(&l->emit);
	assert_int_equal(guest_exit_status(g), 0);
	core_free(c);
	guest_free(g);
	unlink(path);
	free(l);
}

static void fail_at(const struct program *p, const struct cfg_block *b, uint32_t i, double m,
		    uint64_t h)
{
	for (uint32_t k = 0; k <= i; k++) {
		const struct cfg_inst *inst = &p->insts[b->first + k];
		struct inst in = isa_decode(inst->word);
		char text[96];

		isa_disasm(&in, inst->pc, DISASM_ALIASES, text, sizeof(text));
		print_error("%" PRIx64 ": %s: cycle %" PRIu64 "\n", inst->pc, text,
			    p->issue[(inst->pc - CODE) / 2] -
				p->issue[(p->insts[b->first].pc - CODE) / 2]);
	}
	fail_msg("the schedule says %g, the core %" PRIu64, m, h);
}

/* Every instruction but each block's first, whose predecessor is the serialising one. */
static void compare(const struct program *p, const struct machine *m)
{
	struct calc_proc proc = { .graph = (struct cfg *)&p->graph };
	struct calc_scheduler *s = calc_scheduler_new(m, &proc);

	for (uint32_t b = 0; b < BLOCKS; b++) {
		const struct cfg_block *block = &p->blocks[b];
		const struct calc_inst *at = calc_scheduler_block(s, b, UINT32_MAX);

		for (uint32_t i = 1; i < block->count; i++) {
			const struct cfg_inst *inst = &p->insts[block->first + i];
			uint64_t h =
			    p->issue[(inst->pc - CODE) / 2] - p->issue[(inst[-1].pc - CODE) / 2];

			if ((double)h != at[i].m)
				fail_at(p, block, i, at[i].m, h);
		}
	}
	calc_scheduler_free(s);
}

static void check(const char *const *sets, unsigned programs, uint64_t seed)
{
	struct program *p = x_calloc(1, sizeof(*p));
	struct machine m;
	struct rng r;

	rng_seed(&r, seed);
	set_machine(&m, sets);
	for (unsigned n = 0; n < programs; n++) {
		make_program(p, &r);
		run(p, &m);
		compare(p, &m);
	}
	free(p);
}

static void test_2550_a_block_issues_on_the_idealised_core_as_its_schedule_says(void **state)
{
	check(NULL, 20, 1);
}

static void test_2551_so_it_does_on_machines_with_other_widths_units_and_latencies(void **state)
{
	static const char *const wide[] = { "window.issue_width=4",
					    "decode.dispatch_width=4",
					    "units.mul_pipelined=yes",
					    "units.fadd=2",
					    "window.commit_width=4",
					    "fetch.width=16",
					    "mem.line=64",
					    "fetch.block_bytes=64",
					    "fetch.buffer=64",
					    "decode.width=4",
					    NULL };
	static const char *const narrow[] = { "window.issue_width=1", "units.load=1", "units.mul=2",
					      "l1d.latency=4", NULL };
	static const char *const small[] = { "window.rob=12", "lsu.load_queue=4",
					     "units.div_latency=60", "window.commit_width=1",
					     NULL };
	static const char *const flush[] = { "exception.csr=flush", "exception.amo=flush", NULL };

	check(wide, 6, 2);
	check(narrow, 6, 3);
	check(small, 6, 4);
	check(flush, 6, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_2550_a_block_issues_on_the_idealised_core_as_its_schedule_says),
		cmocka_unit_test(
		    test_2551_so_it_does_on_machines_with_other_widths_units_and_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
