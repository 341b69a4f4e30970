/* SPDX-License-Identifier: MIT */
/* 690: shotgun profiling: signature bits, samples, and fragments of a program that this file
 * makes. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/shotgun/shotgun.h"
#include "isa/isa.h"

#define BASE 0x10000

/* A loop of eight instructions: three operations, a load, an operation, a branch over the next one,
 * that one, a jump back. */
static const uint32_t program[] = {
	0x00150513, /* addi a0, a0, 1 */
	0x00a58633, /* add a2, a1, a0 */
	0x00c606b3, /* add a3, a2, a2 */
	0x0006b703, /* ld a4, 0(a3) */
	0x00e707b3, /* add a5, a4, a4 */
	0x00078463, /* beqz a5, +8 */
	0x00178793, /* addi a5, a5, 1 */
	0xfe5ff06f, /* j -28 */
};
#define LENGTH ARRAY_LEN(program)

/* Writes an ELF file with the program as its only segment and section. */
static void write_program(char *name)
{
	static struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
		Elf64_Shdr section[3];
		char names[24];
		uint32_t code[LENGTH];
	} file;
	file.head = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT },
				  .e_type = ET_EXEC,
				  .e_machine = EM_RISCV,
				  .e_version = EV_CURRENT,
				  .e_entry = BASE,
				  .e_phoff = offsetof(__typeof__(file), segment),
				  .e_shoff = offsetof(__typeof__(file), section),
				  .e_ehsize = sizeof(Elf64_Ehdr),
				  .e_phentsize = sizeof(Elf64_Phdr),
				  .e_phnum = 1,
				  .e_shentsize = sizeof(Elf64_Shdr),
				  .e_shnum = 3,
				  .e_shstrndx = 2 };
	file.segment = (Elf64_Phdr){ .p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_offset = offsetof(__typeof__(file), code),
				     .p_vaddr = BASE,
				     .p_paddr = BASE,
				     .p_filesz = sizeof(program),
				     .p_memsz = sizeof(program),
				     .p_align = 4 };
	memcpy(file.names, "\0.text\0.shstrtab", 17);
	file.section[1] = (Elf64_Shdr){ .sh_name = 1,
					.sh_type = SHT_PROGBITS,
					.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					.sh_addr = BASE,
					.sh_offset = offsetof(__typeof__(file), code),
					.sh_size = sizeof(program),
					.sh_addralign = 4 };
	file.section[2] = (Elf64_Shdr){ .sh_name = 7,
					.sh_type = SHT_STRTAB,
					.sh_offset = offsetof(__typeof__(file), names),
					.sh_size = sizeof(file.names),
					.sh_addralign = 1 };
	memcpy(file.code, program, sizeof(program));
	strcpy(name, "/tmp/shotgun.XXXXXX");
	const int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	close(fd);
}

static char path[64]; /* file of the running test */

static struct images *load(void)
{
	struct err e;
	write_program(path);
	struct images *set = images_new(NULL);
	assert_true(images_add(set, path, "program", 0, &e));
	return set;
}

/* Makes the n-th executed instruction of the loop. The branch is taken every other time; the load
 * misses to memory every fourth time, and then the branch is mispredicted. */
static struct rec_inst step_of(uint64_t n, uint64_t *pc)
{
	static uint64_t round;
	struct rec_inst r = { .po = n + 1, .pc = *pc, .flags = RI_COMMITTED, .fetch = 3 * n };
	const unsigned at = (unsigned)(*pc - BASE) / 4;
	r.word = program[at];
	r.cls = CLASS_ALU;
	uint64_t next = *pc + 4;
	r.dispatch = 8;
	r.ready = r.issue = 9;
	r.complete = 10;
	if (at == 0)
		round++;
	if (at == 3) {
		r.cls = CLASS_LOAD;
		r.flags |= RI_LOAD;
		r.complete = 11;
		r.dlevel = LEVEL_L1;
		if (round % 4 == 0) {
			r.psv = PSV_ST_L1 | PSV_ST_L2 | PSV_ST_LLC;
			r.lat_dmiss = 100;
			r.complete += 100;
			r.dlevel = LEVEL_MEM;
		}
	} else if (at == 5) {
		r.cls = CLASS_BRANCH;
		r.flags |=
		    RI_BRANCH | (round % 2 ? RI_TAKEN : 0) | (round % 4 == 0 ? RI_MISPREDICT : 0);
		next = round % 2 ? *pc + 8 : next;
	} else if (at == 7) {
		r.cls = CLASS_JUMP;
		r.flags |= RI_JUMP | RI_TAKEN;
		next = BASE;
	}
	r.commit = r.complete;
	r.target = next;
	*pc = next;
	return r;
}

static void test_691_signature_bits_are_those_of_table_6(void **state)
{
	assert_int_equal(shotgun_bits(&(struct rec_inst){ 0 }, LEVEL_NONE), 0);
	assert_int_equal(shotgun_bits(&(struct rec_inst){ .flags = RI_LOAD }, LEVEL_NONE),
			 SHOTGUN_BIT1);
	assert_int_equal(shotgun_bits(&(struct rec_inst){ .flags = RI_STORE }, LEVEL_NONE),
			 SHOTGUN_BIT1);
	assert_int_equal(shotgun_bits(&(struct rec_inst){ .flags = RI_BRANCH }, LEVEL_NONE), 0);
	assert_int_equal(
	    shotgun_bits(&(struct rec_inst){ .flags = RI_BRANCH | RI_TAKEN }, LEVEL_NONE),
	    SHOTGUN_BIT1);
	assert_int_equal(
	    shotgun_bits(&(struct rec_inst){ .flags = RI_LOAD, .psv = PSV_ST_L1 }, LEVEL_NONE),
	    SHOTGUN_BIT1 | SHOTGUN_BIT2);
	assert_int_equal(
	    shotgun_bits(&(struct rec_inst){ .flags = RI_LOAD, .psv = PSV_ST_L1 | PSV_ST_L2 },
			 LEVEL_NONE),
	    SHOTGUN_BIT2);
	assert_int_equal(shotgun_bits(&(struct rec_inst){ .psv = PSV_DR_L1 }, LEVEL_NONE),
			 SHOTGUN_BIT2);
	assert_int_equal(shotgun_bits(&(struct rec_inst){ .psv = PSV_DR_TLB }, LEVEL_NONE),
			 SHOTGUN_BIT2);
	assert_int_equal(
	    shotgun_bits(&(struct rec_inst){ .flags = RI_BRANCH | RI_TAKEN | RI_MISPREDICT },
			 LEVEL_NONE),
	    SHOTGUN_BIT1 | SHOTGUN_BIT2);
}

static const struct shotgun_seen nothing;

static void test_3493_stores_that_miss_set_signature_bits(void **state)
{
	const struct rec_inst store = { .flags = RI_STORE };
	assert_int_equal(shotgun_bits(&store, LEVEL_L1), SHOTGUN_BIT1);
	assert_int_equal(shotgun_bits(&store, LEVEL_L2), SHOTGUN_BIT1 | SHOTGUN_BIT2);
	assert_int_equal(shotgun_bits(&store, LEVEL_LLC), SHOTGUN_BIT2);
	assert_int_equal(shotgun_bits(&store, LEVEL_MEM), SHOTGUN_BIT2);
}

static struct monitor *watch_as(uint64_t insts, struct shotgun_shape shape)
{
	const struct monitor_config c = { .detail_period = 30,
					  .long_period = 3000,
					  .max_details = 100000,
					  .max_longs = 100,
					  .seed = 3,
					  .shape = shape };
	struct monitor *m = monitor_new(&c);
	uint64_t pc = BASE;
	for (uint64_t n = 0; n < insts; n++) {
		const struct rec_inst r = step_of(n, &pc);
		monitor_add(m, &r, &nothing);
	}
	monitor_finish(m);
	return m;
}

static struct monitor *watch(uint64_t insts)
{
	return watch_as(insts, SHOTGUN_SHAPE);
}

static void test_692_a_detailed_sample_has_the_bits_around_it(void **state)
{
	struct monitor *m = watch(100000);
	size_t n;
	const struct shotgun_detail *d = monitor_details(m, &n);
	assert_in_range(n, 1000, 5000);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(d[i].signature >> 2 * SHOTGUN_CONTEXT & 3, d[i].bits);
		if (i)
			assert_true(d[i - 1].pc <= d[i].pc);
		/* the jump back is always taken, so its bit in a signature follows from the path */
		if (d[i].pc == BASE + 4 * 7)
			assert_int_equal(d[i].bits, SHOTGUN_BIT1);
		if (d[i].pc == BASE)
			assert_int_equal(d[i].signature >> 2 * (SHOTGUN_CONTEXT - 1) & 3,
					 SHOTGUN_BIT1);
	}
	monitor_free(m);
}

static void test_693_full_buffers_keep_a_sample_of_all_samples(void **state)
{
	const struct monitor_config c = { .detail_period = 30,
					  .long_period = 2000,
					  .max_details = 50,
					  .max_longs = 4,
					  .seed = 3,
					  .shape = SHOTGUN_SHAPE };
	struct monitor *m = monitor_new(&c);
	uint64_t pc = BASE;
	size_t n;
	for (uint64_t i = 0; i < 200000; i++) {
		const struct rec_inst r = step_of(i, &pc);
		monitor_add(m, &r, &nothing);
	}
	monitor_finish(m);
	monitor_details(m, &n);
	assert_int_equal(n, 50);
	monitor_longs(m, &n);
	assert_int_equal(n, 4);
	monitor_free(m);
}

static struct edges_machine machine(void)
{
	return (struct edges_machine){ .rob = 64,
				       .dispatch_width = 6,
				       .fetch_width = 6,
				       .commit_width = 6,
				       .depth = 8,
				       .fetch_depth = 5,
				       .front_entries = 36,
				       .redirect = 2,
				       .flush = 2,
				       .btb_bubble = 2,
				       .l1d_latency = 2,
				       .l2_latency = 14,
				       .mem_latency = 102,
				       .forward_latency = 2,
				       .line_bytes = 64,
				       .unified = true,
				       .taken_per_fetch = 2,
				       .block_bytes = 32 };
}

static void test_694_the_path_is_inferred_from_bits_and_binary(void **state)
{
	static struct graph_inst out[SHOTGUN_LONG];
	struct monitor *m = watch(100000);
	struct images *images = load();
	const struct edges_machine em = machine();
	size_t nd, nl;
	const struct shotgun_detail *d = monitor_details(m, &nd);
	const struct shotgun_long *l = monitor_longs(m, &nl);
	struct fragments *f = fragments_new(&em, images, d, nd, 1, SHOTGUN_SHAPE);
	assert_true(nl > 3);
	for (size_t i = 0; i < nl; i++)
		assert_int_equal(fragments_build(f, DESIGN_LONG, &l[i], out), SHOTGUN_LONG);
	const struct fragment_counts c = fragments_counts(f);
	assert_int_equal(c.built, nl);
	assert_int_equal(c.right_pc, c.insts);
	assert_int_equal(c.no_sample, 0);
	/* fragments have the run's misses and mispredicts: every fourth round of 7 or 8 */
	unsigned misses = 0, redirects = 0, loads = 0;
	for (size_t i = 0; i < SHOTGUN_LONG; i++) {
		loads += out[i].ep_part[0].category == CAT_DL1 && out[i].ep_part[0].cycles;
		for (unsigned k = 0; k < GRAPH_EP_PARTS; k++)
			misses += out[i].ep_part[k].category == CAT_DMISS &&
				  out[i].ep_part[k].cycles == 100;
		redirects += !!(out[i].flags & GRAPH_PD);
	}
	assert_in_range(loads, SHOTGUN_LONG / 8, SHOTGUN_LONG / 7 + 1);
	assert_in_range(misses, loads / 4 - 1, loads / 4 + 1);
	assert_in_range(redirects, loads / 4 - 1, loads / 4 + 1);
	fragments_free(f);
	images_free(images);
	unlink(path);
	monitor_free(m);
}

/* Shorter and longer samples, less and more context, one bit: the path stays the run's. A miss can be told
 * from a hit only by the second bit: without it a fragment has misses in the wrong rounds. */
static void test_3792_samples_have_the_shape_that_is_asked_for(void **state)
{
	static struct graph_inst out[SHOTGUN_LONG_MOST];
	const struct shotgun_shape shapes[] = {
		{ 64, 10, 2 },	{ SHOTGUN_LONG_MOST, 10, 2 },
		{ 500, 1, 2 },	{ 500, SHOTGUN_CONTEXT_MOST, 2 },
		{ 500, 10, 1 },
	};
	struct images *images = load();
	const struct edges_machine em = machine();
	for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
		struct monitor *m = watch_as(60000, shapes[k]);
		size_t nd, nl, seconds = 0;
		const struct shotgun_detail *d = monitor_details(m, &nd);
		const struct shotgun_long *l = monitor_longs(m, &nl);
		struct fragments *f = fragments_new(&em, images, d, nd, 1, shapes[k]);
		assert_true(nd && nl > 3);
		for (size_t i = 0; i < nd; i++) {
			assert_int_equal(d[i].signature >> 2 * shapes[k].context & 3, d[i].bits);
			assert_int_equal(d[i].signature >> 2 * shotgun_span(&shapes[k]), 0);
			seconds += !!(d[i].bits & SHOTGUN_BIT2);
		}
		assert_int_equal(!!seconds, shapes[k].bits == SHOTGUN_BITS);
		for (size_t i = 0; i < nl; i++)
			assert_int_equal(fragments_build(f, DESIGN_LONG, &l[i], out),
					 shapes[k].length);
		const struct fragment_counts c = fragments_counts(f);
		assert_int_equal(c.insts, nl * shapes[k].length);
		assert_int_equal(c.right_pc, c.insts);
		fragments_free(f);
		monitor_free(m);
	}
	images_free(images);
	unlink(path);
	(void)state;
}

static struct fragments *fragments_of(const struct edges_machine *em, struct images *images,
				      struct monitor *m)
{
	size_t n;
	const struct shotgun_detail *d = monitor_details(m, &n);
	return fragments_new(em, images, d, n, 1, SHOTGUN_SHAPE);
}

/* The facts that hardware sees of step n of the loop. */
typedef void seen_of(uint64_t round, struct rec_inst *r, struct shotgun_seen *seen,
		     uint64_t *clock);

/* Watches a run in which something happens to each round's load, and builds a fragment of it. */
static size_t built_with(seen_of *happens, const struct edges_machine *em, struct graph_inst *out)
{
	const struct monitor_config c = { .detail_period = 30,
					  .long_period = 3000,
					  .max_details = 100000,
					  .max_longs = 1,
					  .seed = 3,
					  .shape = SHOTGUN_SHAPE };
	struct monitor *m = monitor_new(&c);
	struct images *images = load();
	uint64_t pc = BASE, round = 0, clock = 0;
	size_t nl;
	for (uint64_t n = 0; n < 50000; n++) {
		struct shotgun_seen seen = { 0 };
		const unsigned at = (unsigned)(pc - BASE) / 4;
		struct rec_inst r = step_of(n, &pc);
		round += at == 0;
		if (at == 3)
			happens(round, &r, &seen, &clock);
		r.fetch += clock;
		monitor_add(m, &r, &seen);
	}
	monitor_finish(m);
	const struct shotgun_long *l = monitor_longs(m, &nl);
	struct fragments *f = fragments_of(em, images, m);
	const size_t n = fragments_build(f, DESIGN_LONG, l, out);
	fragments_free(f);
	images_free(images);
	unlink(path);
	monitor_free(m);
	return n;
}

/* The load faults on its first touch, is fetched again long after the commit before it. */
static void faults(uint64_t round, struct rec_inst *r, struct shotgun_seen *seen, uint64_t *clock)
{
	if (round % 4)
		return;
	r->flags |= RI_REFETCH;
	r->psv |= PSV_FL_EX;
	*clock += 500;
}

static void test_3490_the_time_of_faults_is_in_fragments(void **state)
{
	static struct graph_inst out[SHOTGUN_LONG];
	const struct edges_machine em = machine();
	unsigned n = 0;
	assert_int_equal(built_with(faults, &em, out), SHOTGUN_LONG);
	for (size_t i = 0; i < SHOTGUN_LONG; i++)
		if (out[i].flags & GRAPH_CF) {
			assert_in_range(out[i].cf + out[i].fetch[0].cycles, 480, 510);
			n++;
		}
	assert_in_range(n, SHOTGUN_LONG / 40, SHOTGUN_LONG / 25);
}

static void drains(uint64_t round, struct rec_inst *r, struct shotgun_seen *seen, uint64_t *clock)
{
	seen->stall = (struct stall_facts){ .by = DISPATCH_IQ, .cycles = 7, .left = 5 };
	r->lat_bus = r->lat_dmiss ? 30 : 0;
}

static void test_3491_full_queues_and_waits_for_buses_are_in_fragments(void **state)
{
	static struct graph_inst out[SHOTGUN_LONG];
	const struct edges_machine em = machine();
	unsigned queues = 0, buses = 0, loads = 0;
	assert_int_equal(built_with(drains, &em, out), SHOTGUN_LONG);
	for (size_t i = 0; i < SHOTGUN_LONG; i++) {
		loads += out[i].ep_part[0].category == CAT_DL1 && out[i].ep_part[0].cycles;
		queues += out[i].iq == 5;
		for (unsigned k = 0; k < GRAPH_EP_PARTS; k++)
			buses += out[i].ep_part[k].category == CAT_BW_DMISS &&
				 out[i].ep_part[k].cycles == 30;
	}
	assert_true(loads > 200);
	assert_int_equal(queues, loads);
	assert_in_range(buses, loads / 4 - 1, loads / 4 + 1);
}

static void waits(uint64_t round, struct rec_inst *r, struct shotgun_seen *seen, uint64_t *clock)
{
	r->flags |= RI_SERIAL;
	seen->stall = (struct stall_facts){ .by = DISPATCH_LQ, .cycles = 9 };
}

static void test_3492_serial_instructions_and_stalls_without_an_edge_are_in_fragments(void **state)
{
	static struct graph_inst out[SHOTGUN_LONG];
	const struct edges_machine em = machine();
	unsigned serial = 0, stalls = 0;
	assert_int_equal(built_with(waits, &em, out), SHOTGUN_LONG);
	for (size_t i = 0; i < SHOTGUN_LONG; i++) {
		serial += !!(out[i].flags & GRAPH_SERIAL);
		stalls += out[i].dd.cycles == 9 && out[i].dd.category == CAT_WIN;
	}
	/* each serial load, and the instruction after it */
	assert_in_range(stalls, SHOTGUN_LONG / 8, SHOTGUN_LONG / 7 + 1);
	assert_in_range(serial, 2 * stalls - 1, 2 * stalls + 1);
}

static void test_695_bits_that_cannot_be_end_a_fragment(void **state)
{
	static struct graph_inst out[SHOTGUN_LONG];
	struct monitor *m = watch(50000);
	struct images *images = load();
	const struct edges_machine em = machine();
	size_t nd, nl;
	const struct shotgun_detail *d = monitor_details(m, &nd);
	struct shotgun_long wrong = monitor_longs(m, &nl)[0];
	struct fragments *f = fragments_new(&em, images, d, nd, 1, SHOTGUN_SHAPE);
	for (size_t i = 100; i < SHOTGUN_LONG; i++)
		if (wrong.pcs[i] == BASE) { /* an addition with the bit of a taken branch */
			wrong.bits[i] = SHOTGUN_BIT1;
			break;
		}
	assert_int_equal(fragments_build(f, DESIGN_LONG, &wrong, out), 0);
	assert_int_equal(fragments_counts(f).discarded, 1);
	assert_int_equal(fragments_counts(f).built, 0);
	wrong.start = 0x999000; /* not in the program */
	assert_int_equal(fragments_build(f, DESIGN_LONG, &wrong, out), 0);
	fragments_free(f);
	images_free(images);
	unlink(path);
	monitor_free(m);
}

static void test_696_without_samples_bits_and_binary_say_what_they_can(void **state)
{
	static struct graph_inst out[SHOTGUN_LONG];
	struct monitor *m = watch(50000);
	struct images *images = load();
	const struct edges_machine em = machine();
	size_t nl;
	const struct shotgun_long *l = monitor_longs(m, &nl);
	struct fragments *f = fragments_new(&em, images, NULL, 0, 1, SHOTGUN_SHAPE);
	assert_int_equal(fragments_build(f, DESIGN_LONG, &l[0], out), SHOTGUN_LONG);
	const struct fragment_counts c = fragments_counts(f);
	assert_int_equal(c.no_sample, SHOTGUN_LONG);
	assert_int_equal(c.right_pc, SHOTGUN_LONG); /* it has no indirect jump */
	unsigned redirects = 0;
	for (size_t i = 0; i < SHOTGUN_LONG; i++)
		redirects += !!(out[i].flags & GRAPH_PD);
	assert_in_range(redirects, SHOTGUN_LONG / 40, SHOTGUN_LONG / 25);
	fragments_free(f);
	images_free(images);
	unlink(path);
	monitor_free(m);
}

static struct shotgun_samples samples_of(struct monitor *m)
{
	struct shotgun_samples s = { .shape = SHOTGUN_SHAPE, .insts = 100000, .cycles = 300000 };
	s.details = monitor_details(m, &s.ndetails);
	s.longs = monitor_longs(m, &s.nlongs);
	return s;
}

static void test_4801_samples_come_out_of_a_file_as_they_went_in(void **state)
{
	struct monitor *m = watch(100000);
	const struct shotgun_samples in = samples_of(m);
	struct shotgun_samples out;
	struct err e;
	size_t size;
	uint8_t *data = shotgun_pack(&in, &size);
	assert_true(shotgun_unpack(&out, data, size, &e));
	assert_int_equal(out.insts, in.insts);
	assert_int_equal(out.cycles, in.cycles);
	assert_int_equal(out.ndetails, in.ndetails);
	assert_int_equal(out.nlongs, in.nlongs);
	assert_false(out.scored);
	for (size_t i = 0; i < in.ndetails; i++) {
		assert_int_equal(out.details[i].pc, in.details[i].pc);
		assert_int_equal(out.details[i].signature, in.details[i].signature);
		assert_int_equal(out.details[i].latency, in.details[i].latency);
		assert_int_equal(out.details[i].flags, in.details[i].flags);
		assert_int_equal(out.details[i].bits, in.details[i].bits);
	}
	for (size_t k = 0; k < in.nlongs; k++) {
		assert_int_equal(out.longs[k].start, in.longs[k].start);
		assert_memory_equal(out.longs[k].bits, in.longs[k].bits, SHOTGUN_LONG);
		assert_int_equal(out.longs[k].pcs[1], 0); /* not hardware's */
	}
	/* Again the same bytes: every field is there. */
	size_t again_size;
	uint8_t *again = shotgun_pack(&out, &again_size);
	assert_int_equal(again_size, size);
	assert_memory_equal(again, data, size);
	free(again);
	shotgun_unpacked_free(&out);
	free(data);
	monitor_free(m);
}

/* Builds what it can from samples that somebody sent. */
static void build_all(const struct shotgun_samples *s, const struct edges_machine *em,
		      struct images *images, struct graph *g)
{
	static struct graph_inst out[SHOTGUN_LONG_MOST];
	for (int design = DESIGN_STATIC; design <= DESIGN_LONG; design++) {
		struct fragments *f =
		    fragments_new(em, images, s->details, s->ndetails, 1, s->shape);
		for (size_t i = 0; i < s->nlongs; i++) {
			const size_t n =
			    fragments_build(f, (enum shotgun_design)design, &s->longs[i], out);
			graph_add(g, out, n);
		}
		fragments_free(f);
	}
}

static void test_4802_samples_that_somebody_sent_do_no_harm(void **state)
{
	const struct edges_machine em = machine();
	const struct graph_config config = edges_graph_config(&em);
	struct graph *g = graph_new(&config);
	struct monitor *m = watch(7000);
	struct images *images = load();
	const struct shotgun_samples in = samples_of(m);
	struct shotgun_samples out;
	struct err e;
	size_t size, read = 0;
	uint8_t *data = shotgun_pack(&in, &size), *bad = x_malloc(size);
	struct rng rng;
	rng_seed(&rng, 5);
	assert_true(in.nlongs > 0);
	for (unsigned n = 0; n < 600; n++) {
		size_t left = size;
		memcpy(bad, data, size);
		for (unsigned k = 0; k <= rng_below(&rng, 4); k++)
			bad[rng_below(&rng, n % 3 ? size : 44)] =
			    (uint8_t)(rng_below(&rng, 2) ? rng_below(&rng, 256) : 0xff);
		if (n % 8 == 0)
			left = rng_below(&rng, size);
		if (!shotgun_unpack(&out, bad, left, &e)) {
			assert_true(e.text[0]);
			continue;
		}
		read++;
		if (shotgun_fits(&out, &em, &e))
			build_all(&out, &em, images, g);
		shotgun_unpacked_free(&out);
	}
	assert_in_range(read, 20, 590);
	graph_free(g);
	free(bad);
	free(data);
	images_free(images);
	unlink(path);
	monitor_free(m);
}

static void test_4803_a_sample_waits_for_an_entry_within_the_window(void **state)
{
	const struct edges_machine em = machine();
	struct shotgun_detail d = { .pc = BASE, .stalled_by = DISPATCH_IQ, .left = 64 };
	const struct shotgun_samples s = { .shape = SHOTGUN_SHAPE, .details = &d, .ndetails = 1 };
	struct edges_machine large = em;
	struct err e;
	large.iq[0] = 64; /* as many entries as the window: never full */
	assert_true(shotgun_fits(&s, &em, &e));
	assert_false(shotgun_fits(&s, &large, &e));
	d.left = 65;
	assert_false(shotgun_fits(&s, &em, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_691_signature_bits_are_those_of_table_6),
		cmocka_unit_test(test_692_a_detailed_sample_has_the_bits_around_it),
		cmocka_unit_test(test_693_full_buffers_keep_a_sample_of_all_samples),
		cmocka_unit_test(test_3792_samples_have_the_shape_that_is_asked_for),
		cmocka_unit_test(test_694_the_path_is_inferred_from_bits_and_binary),
		cmocka_unit_test(test_3490_the_time_of_faults_is_in_fragments),
		cmocka_unit_test(test_3491_full_queues_and_waits_for_buses_are_in_fragments),
		cmocka_unit_test(
		    test_3492_serial_instructions_and_stalls_without_an_edge_are_in_fragments),
		cmocka_unit_test(test_3493_stores_that_miss_set_signature_bits),
		cmocka_unit_test(test_695_bits_that_cannot_be_end_a_fragment),
		cmocka_unit_test(test_696_without_samples_bits_and_binary_say_what_they_can),
		cmocka_unit_test(test_4801_samples_come_out_of_a_file_as_they_went_in),
		cmocka_unit_test(test_4802_samples_that_somebody_sent_do_no_harm),
		cmocka_unit_test(test_4803_a_sample_waits_for_an_entry_within_the_window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
