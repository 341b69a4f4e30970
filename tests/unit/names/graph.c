/* SPDX-License-Identifier: MIT */
/*
 * Control-flow graphs: of compiled programs (code.c, given as arguments), of code that is made here, and
 * in and out of a store, which may be damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image/cfg.h"
#include "names/graph.h"
#include "util/array.h"
#include "util/util.h"

#define EM_RISCV  243
#define EM_X86_64 62
#define START	  0x10000

static char **programs;
static int nprograms;
static unsigned rounds = 400; /* of random code */

static struct images *open_program(const char *path)
{
	struct images *set = images_new(NULL);
	struct err e = { "" };

	if (!images_add(set, path, path, 0, &e))
		fail_msg("%s", e.text);
	return set;
}

static struct cfg *graph_of(struct images *set, const char *function)
{
	uint64_t pc;

	assert_true(images_find(set, function, &pc));
	struct cfg *g = cfg_build(set, pc);
	assert_non_null(g);
	assert_int_equal(g->start, pc);
	return g;
}

static unsigned count_kind(const struct cfg *g, enum cfg_kind kind)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < g->nedges; i++)
		n += g->edges[i].kind == kind;
	return n;
}

static unsigned count_flag(const struct cfg *g, enum cfg_block_flag flag)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < g->nblocks; i++)
		n += (g->blocks[i].flags & flag) != 0;
	return n;
}

static void check_tables(const char *function, unsigned least, unsigned most)
{
	for (int i = 0; i < nprograms; i++) {
		struct images *set = open_program(programs[i]);
		struct cfg *g = graph_of(set, function);

		if (g->missing || count_kind(g, CFG_TABLE) < least ||
		    count_kind(g, CFG_TABLE) > most)
			fail_msg("%s, %s: %s, %u targets", programs[i], function,
				 g->missing ? "missing edges" : "no edge is missing",
				 count_kind(g, CFG_TABLE));
		cfg_free(g);
		images_free(set);
	}
}

static void test_2510_table_of_a_switch_is_found(void **state)
{
	check_tables("choose", 8, 9);
}

static void test_2511_table_of_a_loop_with_hoisted_base_and_bound_is_found(void **state)
{
	check_tables("loop", 9, 10);
}

static void test_2512_computed_gotos_without_a_check_are_found(void **state)
{
	/* from one to five jumps, with five targets each */
	check_tables("labels", 5, 25);
}

static void test_2513_call_that_never_returns_ends_its_path(void **state)
{
	for (int i = 0; i < nprograms; i++) {
		struct images *set = open_program(programs[i]);
		struct cfg *g = graph_of(set, "calls_never");
		uint64_t never;

		assert_true(images_find(set, "never", &never));
		assert_int_equal(count_flag(g, CFG_BLOCK_NO_RETURN), 1);
		for (uint32_t b = 0; b < g->nblocks; b++)
			if (g->blocks[b].flags & CFG_BLOCK_NO_RETURN) {
				assert_int_equal(g->blocks[b].callee, never);
				assert_int_equal(g->edges[g->blocks[b].first_out].kind, CFG_EXIT);
			}
		assert_true(count_flag(g, CFG_BLOCK_CALLS) >= 1);
		cfg_free(g);
		images_free(set);
	}
}

static void test_2514_tail_calls_are_exits(void **state)
{
	for (int i = 0; i < nprograms; i++) {
		struct images *set = open_program(programs[i]);
		struct cfg *g = graph_of(set, "tail");
		uint64_t callee;

		assert_true(images_find(set, "callee", &callee));
		assert_int_equal(count_kind(g, CFG_EXIT), 1);
		assert_int_equal(g->edges[g->blocks[g->nblocks - 1].first_out].callee, callee);
		cfg_free(g);
		g = graph_of(set, "pointer_tail");
		assert_false(g->missing);
		assert_int_equal(count_kind(g, CFG_EXIT), 1);
		cfg_free(g);
		images_free(set);
	}
}

static void test_2515_cold_part_belongs_to_its_function(void **state)
{
	unsigned seen = 0;

	for (int i = 0; i < nprograms; i++) {
		struct images *set = open_program(programs[i]);
		struct cfg *g = graph_of(set, "with_cold");
		uint64_t cold;

		if (images_find(set, "with_cold.cold", &cold)) {
			seen++;
			assert_int_not_equal(cfg_inst_at(g, cold), UINT32_MAX);
			struct cfg *again = cfg_build(set, cold);
			assert_non_null(again);
			assert_int_equal(again->start, g->start);
			assert_int_equal(again->nedges, g->nedges);
			cfg_free(again);
		}
		assert_int_equal(count_flag(g, CFG_BLOCK_CALLS), 4);
		cfg_free(g);
		images_free(set);
	}
	assert_true(!nprograms || seen);
}

static struct images *keep(const void *code, size_t size_bytes, unsigned machine)
{
	struct images *set = images_new(NULL);
	const struct image_symbol f = { START, size_bytes, "f" };
	const struct image_bytes bytes = { START, size_bytes, code };

	images_add_kept(set, &(struct image_kept){ .name = "[test]",
						   .start = START,
						   .end = START + size_bytes,
						   .machine = machine,
						   .symbols = &f,
						   .nsymbols = 1,
						   .code = &bytes,
						   .ncode = 1 });
	return set;
}

static struct cfg *build_code(const void *code, size_t size_bytes, unsigned machine)
{
	struct images *set = keep(code, size_bytes, machine);
	struct cfg *g = cfg_build(set, START);

	images_free(set);
	return g;
}

static void test_2516_block_that_jumps_to_itself_is_a_graph(void **state)
{
	const uint32_t code[] = { 0x0000006f }; /* j . */
	struct cfg *g = build_code(code, sizeof(code), EM_RISCV);

	assert_int_equal(g->nblocks, 1);
	assert_int_equal(g->nedges, 2);
	assert_int_equal(g->edges[0].to, 0);
	assert_int_equal(g->edges[0].kind, CFG_TAKEN);
	assert_int_equal(g->edges[1].kind, CFG_ENTRY);
	cfg_free(g);
}

static void test_2517_function_of_100000_blocks_is_a_graph(void **state)
{
	const size_t n = 100000;
	uint32_t *code = x_malloc((n + 1) * sizeof(*code));

	for (size_t i = 0; i < n; i++)
		code[i] = 0x00050463; /* beqz a0, 8 ahead */
	code[n] = 0x00008067;	      /* ret */
	struct cfg *g = build_code(code, (n + 1) * sizeof(*code), EM_RISCV);
	assert_int_equal(g->nblocks, n + 1);
	/* the last branch leads out of it */
	assert_int_equal(count_kind(g, CFG_TAKEN), n - 1);
	assert_int_equal(count_kind(g, CFG_EXIT), 2);
	cfg_free(g);
	free(code);
}

static void test_2518_illegal_words_end_a_path_and_data_is_no_code(void **state)
{
	const uint32_t code[] = {
		0x00050663, /* beqz a0, 12 ahead */
		0x00008067, /* ret */
		0xffffffff, /* data */
		0x00000000, /* illegal */
	};
	struct cfg *g = build_code(code, sizeof(code), EM_RISCV);

	assert_int_equal(g->nblocks, 3);
	assert_int_equal(cfg_inst_at(g, START + 8), UINT32_MAX);
	assert_int_equal(count_kind(g, CFG_EXIT), 2);
	assert_false(g->missing);
	cfg_free(g);
}

static void test_2519_code_that_jumps_past_a_prefix_has_both_readings(void **state)
{
	/* je past the lock of: lock cmpxchg %ecx,(%rdi); ret */
	const uint8_t code[] = { 0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x0f, 0xc3 };
	struct cfg *g = build_code(code, sizeof(code), EM_X86_64);

	if (!g)
		skip(); /* built without Zydis */
	assert_int_equal(g->nblocks, 4);
	assert_int_equal(g->blocks[1].start, START + 2);
	assert_int_equal(g->blocks[2].start, START + 3);
	assert_int_equal(g->blocks[1].end, g->blocks[2].end);
	assert_int_equal(g->blocks[3].nin, 2);
	cfg_free(g);
}

static void test_2520_unresolved_jump_is_said_to_be_missing(void **state)
{
	const uint32_t code[] = {
		0xff010113, /* addi sp,sp,-16 */
		0x00050067, /* jr a0 */
		0x00100513, /* li a0,1 */
		0x01010113, /* addi sp,sp,16 */
		0x00008067, /* ret */
	};
	struct cfg *g = build_code(code, sizeof(code), EM_RISCV);

	assert_true(g->missing);
	assert_int_equal(count_kind(g, CFG_MISSING), 1);
	assert_int_equal(count_flag(g, CFG_BLOCK_UNRESOLVED), 1);
	assert_true(g->blocks[1].flags & CFG_BLOCK_MAYBE);
	cfg_free(g);
}

static void test_2521_system_call_that_ends_the_program_ends_its_path(void **state)
{
	uint32_t code[] = {
		0x05e00893, /* li a7,94: exit_group */
		0x00000073, /* ecall */
		0x00008067, /* ret */
	};
	struct cfg *g = build_code(code, sizeof(code), EM_RISCV);

	assert_int_equal(g->blocks[0].nout, 1);
	assert_int_equal(g->edges[0].kind, CFG_EXIT);
	cfg_free(g);
	code[0] = 0x04000893; /* li a7,64: write */
	g = build_code(code, sizeof(code), EM_RISCV);
	assert_int_equal(g->nblocks, 1);
	cfg_free(g);
}

/* A store with the graphs of a program's functions. */
static struct store *make_store(struct images *set, const char *const *names, size_t n)
{
	struct err e = { "" };
	struct store *s = store_create_memory("test", &e);
	struct names_function functions[8];

	assert_non_null(s);
	for (size_t i = 0; i < n; i++) {
		uint64_t pc = START;

		if (names[i])
			assert_true(images_find(set, names[i], &pc));
		const struct place p = images_function(set, pc);
		functions[i] = (struct names_function){ (int64_t)i, p.start, p.end };
		assert_true(store_insert(s, &e, "function", "iisiisi", (int64_t)i, (int64_t)0,
					 p.function, (int64_t)p.start, (int64_t)p.end, NULL,
					 (int64_t)0));
	}
	for (size_t i = 1; i < n; i++) /* sorted by start */
		for (size_t k = i; k > 0 && functions[k].start < functions[k - 1].start; k--) {
			const struct names_function x = functions[k];

			functions[k] = functions[k - 1];
			functions[k - 1] = x;
		}
	if (!names_graph_write(s, set, functions, n, &e))
		fail_msg("%s", e.text);
	return s;
}

/* Field by field: structs have padding. */
static void same_block(const struct cfg_block *a, const struct cfg_block *b)
{
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->callee, b->callee);
	assert_int_equal(a->first_in, b->first_in);
	assert_int_equal(a->nin, b->nin);
	assert_int_equal(a->first_out, b->first_out);
	assert_int_equal(a->nout, b->nout);
}

static void test_2522_graphs_come_out_of_a_store_as_they_went_in(void **state)
{
	static const char *const names[] = { "choose", "loop", "labels", "calls_never",
					     "with_cold" };

	for (int i = 0; i < nprograms; i++) {
		struct images *set = open_program(programs[i]);
		struct store *s = make_store(set, names, ARRAY_LEN(names));

		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			struct err e = { "" };
			struct cfg *a = graph_of(set, names[k]);
			struct cfg *b = names_graph_read(s, (int64_t)k, &e);

			if (!b)
				fail_msg("%s", e.text);
			assert_string_equal(b->name, names[k]);
			assert_int_equal(a->start, b->start);
			assert_int_equal(a->entry, b->entry);
			assert_int_equal(a->missing, b->missing);
			assert_int_equal(a->ninsts, b->ninsts);
			assert_int_equal(a->nblocks, b->nblocks);
			assert_int_equal(a->nedges, b->nedges);
			for (uint32_t n = 0; n < a->ninsts; n++) {
				assert_int_equal(a->insts[n].pc, b->insts[n].pc);
				assert_int_equal(a->insts[n].word, b->insts[n].word);
				assert_int_equal(a->insts[n].target, b->insts[n].target);
				assert_int_equal(a->insts[n].flow, b->insts[n].flow);
			}
			for (uint32_t n = 0; n < a->nblocks; n++)
				same_block(&a->blocks[n], &b->blocks[n]);
			for (uint32_t n = 0; n < a->nedges; n++) {
				assert_int_equal(a->edges[n].from, b->edges[n].from);
				assert_int_equal(a->edges[n].to, b->edges[n].to);
				assert_int_equal(a->edges[n].kind, b->edges[n].kind);
				assert_int_equal(a->edges[n].callee, b->edges[n].callee);
			}
			cfg_free(a);
			cfg_free(b);
		}
		store_close(s);
		images_free(set);
	}
}

static void run_sql(struct store *s, const char *sql)
{
	struct store_rows r = store_query(s, sql, "");
	struct err e = { "" };

	while (store_next(&r))
		;
	if (!store_done(&r, &e))
		fail_msg("%s", e.text);
}

static void test_2523_damaged_graphs_are_one_line(void **state)
{
	static const uint32_t code[] = { 0x00050463, 0x00150513, 0x00008067 };
	static const char *const damages[] = {
		"DELETE FROM graph_function",
		"UPDATE graph_function SET start = start + 2",
		"UPDATE graph_function SET start = -1",
		"DELETE FROM graph_code",
		"UPDATE graph_code SET bytes = NULL",
		"UPDATE graph_code SET bytes = x'00'",
		"UPDATE graph_code SET bytes = 'text'",
		"UPDATE graph_code SET machine = 99999999",
		"UPDATE graph_code SET machine = 1",
		"UPDATE graph_code SET start = 0",
		"UPDATE graph_block SET end = start",
		"UPDATE graph_block SET end = -1",
		"UPDATE graph_block SET end = end + 4096",
		"UPDATE graph_block SET end = end + 1",
		"UPDATE graph_block SET start = start - 1",
		"DELETE FROM graph_block WHERE start = (SELECT max(start) FROM graph_block)",
		"DELETE FROM graph_block",
		"UPDATE graph_edge SET kind = 77",
		"UPDATE graph_edge SET kind = -1",
		"UPDATE graph_edge SET source = 5 WHERE source > 0",
		"UPDATE graph_edge SET source = -1, target = -1, callee = source * 8 + kind",
		"UPDATE graph_edge SET target = target + 1 WHERE target > 0",
	};

	for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
		static const char *const names[] = { NULL };
		struct images *set = keep(code, sizeof(code), EM_RISCV);
		struct store *s = make_store(set, names, 1);
		struct err e = { "" };
		struct cfg *g = names_graph_read(s, 0, &e);

		assert_non_null(g);
		cfg_free(g);
		run_sql(s, damages[i]);
		g = names_graph_read(s, 0, &e);
		if (g || !e.text[0] || strchr(e.text, '\n'))
			fail_msg("%s: %s", damages[i], g ? "was read" : e.text);
		store_close(s);
		images_free(set);
	}
}

/* Instructions that graphs are about, so that random code has many of them. */
static uint32_t random_word(struct rng *r)
{
	static const uint32_t words[] = { 0x00050463, 0xfea59ce3, 0x0000006f, 0xff9ff06f,
					  0x00008067, 0x00078067, 0x000780e7, 0x00000797,
					  0x0007a783, 0x00279793, 0x00f707b3, 0x00a7e463,
					  0x87828782, 0x00000073, 0x0ff57793, 0x02079793,
					  0x01e7d793, 0x00e787bb };
	const uint64_t kind = rng_below(r, 4);
	uint32_t w = words[rng_below(r, ARRAY_LEN(words))];

	if (kind == 0)
		return (uint32_t)rng_next(r);
	if (kind == 1)
		w ^= 1u << rng_below(r, 32);
	return w;
}

static void fill_random(struct rng *r, uint8_t *code, size_t n, bool x86)
{
	static const uint8_t bytes[] = {
		0x74, 0xeb, 0xff, 0xe0, 0xc3, 0xe8, 0x0f, 0x87, 0x48, 0x63,
		0x04, 0x8d, 0x01, 0x3e, 0x24, 0xc5, 0x83, 0xf8, 0x77, 0xf0,
		0x8b, 0x89, 0x5d, 0x55, 0x50, 0x00, 0xfe, 0xcc, 0x90, 0x66
	};

	for (size_t i = 0; i < n; i += 4) {
		uint32_t w = random_word(r);

		memcpy(code + i, &w, n - i < 4 ? n - i : 4);
	}
	for (size_t i = 0; x86 && i < n; i++)
		if (rng_below(r, 3))
			code[i] = bytes[rng_below(r, ARRAY_LEN(bytes))];
}

static void check_whole(const struct cfg *g)
{
	for (uint32_t b = 0; b < g->nblocks; b++) {
		assert_true(g->blocks[b].nout > 0);
		for (uint32_t i = 0; i < g->blocks[b].nin; i++)
			assert_int_equal(g->edges[g->in[g->blocks[b].first_in + i]].to, b);
		for (uint32_t i = 0; i < g->blocks[b].nout; i++)
			assert_int_equal(g->edges[g->blocks[b].first_out + i].from, b);
		assert_int_equal(cfg_block_of(g, g->blocks[b].first), b);
		assert_int_equal(cfg_inst_at(g, g->blocks[b].start), g->blocks[b].first);
	}
}

static void test_2524_random_code_has_whole_graphs(void **state)
{
	uint8_t code[512];
	struct rng r;

	rng_seed(&r, 2524);
	for (unsigned i = 0; i < rounds; i++) {
		const size_t n = 1 + rng_below(&r, sizeof(code));
		const bool x86 = i & 1;
		struct image_symbol symbols[4];

		fill_random(&r, code, n, x86);
		for (size_t k = 0; k < ARRAY_LEN(symbols); k++) /* overlapping, too long, odd */
			symbols[k] =
			    (struct image_symbol){ START + rng_below(&r, n), rng_below(&r, 2 * n),
						   k == 1   ? "f.cold"
						   : k == 2 ? "f"
							    : "[g]" };
		const struct image_bytes bytes = { START, n, code };
		struct images *set = images_new(NULL);
		images_add_kept(set, &(struct image_kept){ .name = "[random]",
							   .start = START,
							   .end = START + n,
							   .machine = x86 ? EM_X86_64 : EM_RISCV,
							   .symbols = symbols,
							   .nsymbols = rng_below(&r, 5),
							   .code = &bytes,
							   .ncode = 1 });
		for (unsigned k = 0; k < 8; k++) {
			if (k == 4)
				cfg_note_entry(set, START + rng_below(&r, n));
			struct cfg *g = cfg_build(set, START + rng_below(&r, n));

			if (g)
				check_whole(g);
			cfg_free(g);
		}
		images_free(set);
	}
}

static void test_2525_random_damage_of_tables_is_never_worse_than_a_line(void **state)
{
	static const char *const columns[] = {
		"graph_function SET start", "graph_code SET start",   "graph_code SET bytes",
		"graph_code SET machine",   "graph_block SET start",  "graph_block SET end",
		"graph_block SET flags",    "graph_block SET callee", "graph_edge SET source",
		"graph_edge SET target",    "graph_edge SET kind",    "graph_edge SET callee",
	};
	static const char *const values[] = { "0",
					      "-1",
					      "NULL",
					      "'x'",
					      "x'0102'",
					      "65536",
					      "65540",
					      "9223372036854775807",
					      "-9223372036854775807",
					      "2.5",
					      "zeroblob(40)",
					      "65544" };
	static const char *const names[] = { NULL };
	struct rng r;

	rng_seed(&r, 2525);
	for (unsigned i = 0; i < rounds / 4; i++) {
		uint8_t code[256];
		char sql[256];
		struct err e = { "" };

		fill_random(&r, code, sizeof(code), i & 1);
		struct images *set = keep(code, sizeof(code), i & 1 ? EM_X86_64 : EM_RISCV);
		struct store *s = make_store(set, names, 1);
		snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s = %s",
			 columns[rng_below(&r, ARRAY_LEN(columns))],
			 values[rng_below(&r, ARRAY_LEN(values))]);
		run_sql(s, sql);
		struct cfg *g = names_graph_read(s, 0, &e);
		if (g)
			check_whole(g);
		else
			assert_true(e.text[0] && !strchr(e.text, '\n'));
		cfg_free(g);
		store_close(s);
		images_free(set);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2510_table_of_a_switch_is_found),
		cmocka_unit_test(test_2511_table_of_a_loop_with_hoisted_base_and_bound_is_found),
		cmocka_unit_test(test_2512_computed_gotos_without_a_check_are_found),
		cmocka_unit_test(test_2513_call_that_never_returns_ends_its_path),
		cmocka_unit_test(test_2514_tail_calls_are_exits),
		cmocka_unit_test(test_2515_cold_part_belongs_to_its_function),
		cmocka_unit_test(test_2516_block_that_jumps_to_itself_is_a_graph),
		cmocka_unit_test(test_2517_function_of_100000_blocks_is_a_graph),
		cmocka_unit_test(test_2518_illegal_words_end_a_path_and_data_is_no_code),
		cmocka_unit_test(test_2519_code_that_jumps_past_a_prefix_has_both_readings),
		cmocka_unit_test(test_2520_unresolved_jump_is_said_to_be_missing),
		cmocka_unit_test(test_2521_system_call_that_ends_the_program_ends_its_path),
		cmocka_unit_test(test_2522_graphs_come_out_of_a_store_as_they_went_in),
		cmocka_unit_test(test_2523_damaged_graphs_are_one_line),
		cmocka_unit_test(test_2524_random_code_has_whole_graphs),
		cmocka_unit_test(test_2525_random_damage_of_tables_is_never_worse_than_a_line),
	};

	programs = argv + 1;
	nprograms = argc - 1;
	if (nprograms && !strncmp(programs[0], "rounds=", 7)) {
		rounds = (unsigned)strtoul(programs[0] + 7, NULL, 10);
		programs++;
		nprograms--;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
