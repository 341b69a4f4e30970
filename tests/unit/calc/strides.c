/* SPDX-License-Identifier: MIT */
/* How often a load in a loop can come to another page: loops in which that is known, and those where it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "calc/calc.h"
#include "calc/strides.h"
#include "util/array.h"

#define TIMES	1000.0 /* that the loop's block is executed */
#define ENTERED 10.0
#define PAGE	4096

enum { A0 = 10, A1, A2, A3, A4 };

static uint32_t r_type(uint32_t f7, uint32_t rs2, uint32_t rs1, uint32_t f3, uint32_t rd,
		       uint32_t op)
{
	return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}
#define ADDI(rd, a, i)	 ((uint32_t)(i) << 20 | r_type(0, 0, a, 0, rd, 0x13))
#define SH3ADD(rd, a, b) r_type(0x10, b, a, 6, rd, 0x33)
#define LD(rd, i, a)	 ((uint32_t)(i) << 20 | r_type(0, 0, a, 3, rd, 0x03))
#define NOP		 ADDI(0, 0, 0)
#define ECALL		 0x00000073u

/* A procedure of `nblocks` blocks of one list of words each: 0 enters, the last one leaves. */
struct loop {
	struct calc_program p;
	struct machine m;
	struct cfg *g;
	struct carried_op *ops;
	struct cfg_inst *insts;
	struct cfg_block *blocks;
	struct cfg_edge *edges;
	uint32_t ninsts, nblocks, nedges;
};

static struct loop *loop(void)
{
	struct loop *l = x_calloc(1, sizeof(*l));
	struct err e;

	assert_true(machine_load(&l->m, "inorder-2w", &e));
	assert_int_equal(l->m.mem.page_bytes, PAGE);
	l->p.machine = &l->m;
	return l;
}

#define BLOCK(l, ...) block(l, (const uint32_t[]){ __VA_ARGS__, 0 })
static void block(struct loop *l, const uint32_t *words)
{
	struct cfg_block *b = ARRAY_ADD(l->blocks, l->nblocks);

	*b = (struct cfg_block){ .start = 0x10000 + 4 * l->ninsts, .first = l->ninsts };
	for (; *words; words++, b->count++)
		*ARRAY_ADD(l->insts, l->ninsts) = (struct cfg_inst){ .pc = b->start + 4 * b->count,
								     .word = *words,
								     .size_bytes = 4 };
	b->end = b->start + 4 * b->count;
}

static void edge(struct loop *l, uint32_t from, uint32_t to)
{
	*ARRAY_ADD(l->edges, l->nedges) =
	    (struct cfg_edge){ .from = from,
			       .to = to,
			       .kind = from == CFG_OUTSIDE ? CFG_ENTRY
				       : to == CFG_OUTSIDE ? CFG_EXIT
							   : CFG_TAKEN };
}

/* All blocks run TIMES times but the first, which enters ENTERED times; so do edges that leave it. */
static double pages(struct loop *l, uint32_t block, uint32_t inst)
{
	struct err e;
	struct calc_proc *proc;

	l->g = cfg_assemble(0x10000, "f", l->insts, l->ninsts, l->blocks, l->nblocks, l->edges,
			    l->nedges, &e);
	if (!l->g)
		fail_msg("%s", e.text);
	proc = calc_add(&l->p, l->g);
	for (uint32_t b = 0; b < l->g->nblocks; b++)
		proc->blocks[b].value = b ? TIMES : ENTERED;
	for (uint32_t k = 0; k < l->g->nedges; k++)
		proc->edges[k].value =
		    l->g->edges[k].from == 0 || l->g->edges[k].from == CFG_OUTSIDE ? ENTERED
										   : TIMES;
	l->ops = carried_ops(&l->m, proc);

	struct strides s = strides_begin(&l->m, proc, l->ops);
	const double n = strides_new_pages(&s, block, inst);

	free(l->ops);
	calc_free(&l->p);
	cfg_free(l->g);
	free(l);
	return n;
}

/* A block that jumps to itself, entered by block 0. */
static double pages_of(const uint32_t *words, uint32_t inst)
{
	struct loop *l = loop();

	BLOCK(l, NOP);
	block(l, words);
	edge(l, CFG_OUTSIDE, 0);
	edge(l, 0, 1);
	edge(l, 1, 1);
	edge(l, 1, CFG_OUTSIDE);
	return pages(l, 1, 1 + inst);
}
#define PAGES(inst, ...) pages_of((const uint32_t[]){ __VA_ARGS__, 0 }, inst)

static void test_4640_a_load_that_steps_through_memory_comes_to_a_page_once_in_a_while(void **state)
{
	/* In steps of 32, backwards too; and where nothing moves it. */
	assert_float_equal(PAGES(0, LD(A1, 16, A0), ADDI(A0, A0, 32)), ENTERED + TIMES * 32 / PAGE,
			   1e-9);
	assert_float_equal(PAGES(0, LD(A1, 16, A0), ADDI(A0, A0, -8)), ENTERED + TIMES * 8 / PAGE,
			   1e-9);
	assert_float_equal(PAGES(0, LD(A1, 16, A0), NOP), ENTERED, 1e-9);
	/* Two steps; an index of words of eight bytes. */
	assert_float_equal(PAGES(0, LD(A1, 0, A0), ADDI(A0, A0, 8), ADDI(A0, A0, 24)),
			   ENTERED + TIMES * 32 / PAGE, 1e-9);
	assert_float_equal(PAGES(1, SH3ADD(A2, A3, A4), LD(A1, 0, A2), ADDI(A3, A3, 1)),
			   ENTERED + TIMES * 8 / PAGE, 1e-9);
}

static void test_4641_whatever_else_writes_its_base_can_be_another_page(void **state)
{
	assert_true(isinf(PAGES(0, LD(A0, 0, A0), NOP)));
	assert_true(isinf(PAGES(1, LD(A0, 0, A2), LD(A1, 0, A0))));
	/* Set back and forth. */
	assert_true(isinf(PAGES(0, LD(A1, 0, A0), ADDI(A0, A2, 0), ADDI(A0, A3, 0))));
	assert_true(isinf(PAGES(0, LD(A1, 0, A0), ADDI(A0, A2, 0), ADDI(A0, A0, 2000))));
	/* The kernel's time, in which anything is replaced. */
	assert_true(isinf(PAGES(0, LD(A1, 0, A0), ECALL)));
}

static void test_4642_more_accesses_than_half_of_the_tlb_can_replace_a_page(void **state)
{
	uint32_t words[80] = { LD(A1, 0, A0) };

	for (unsigned accesses = 30; accesses < 36; accesses++) {
		for (unsigned i = 1; i < accesses; i++)
			words[i] = LD(A2, 0, A4);
		words[accesses] = 0;
		/* 64 entries. */
		assert_int_equal(isinf(pages_of(words, 0)), accesses > 32);
	}
}

/* Block 1 goes round by way of block 2; with `inner`, block 2 also to itself. With `calls`, it calls. */
static double by_way(bool inner, bool calls)
{
	struct loop *l = loop();

	BLOCK(l, NOP);
	BLOCK(l, LD(A1, 0, A0), ADDI(A0, A0, 8));
	BLOCK(l, LD(A2, 0, A3));
	l->blocks[2].flags = calls ? CFG_BLOCK_CALLS : 0;
	edge(l, CFG_OUTSIDE, 0);
	edge(l, 0, 1);
	edge(l, 1, 2);
	edge(l, 2, 1);
	if (inner)
		edge(l, 2, 2);
	edge(l, 2, CFG_OUTSIDE);
	return pages(l, 1, 1);
}

static void test_4643_loops_within_and_calls_can_replace_a_page(void **state)
{
	assert_float_equal(by_way(false, false), ENTERED + TIMES * 8 / PAGE, 1e-9);
	assert_true(isinf(by_way(true, false)));
	assert_true(isinf(by_way(false, true)));
}

static void test_4644_code_that_does_not_go_round_is_not_a_loop(void **state)
{
	struct loop *l = loop();

	BLOCK(l, NOP);
	BLOCK(l, LD(A1, 0, A0), NOP);
	edge(l, CFG_OUTSIDE, 0);
	edge(l, 0, 1);
	edge(l, 1, CFG_OUTSIDE);
	assert_true(isinf(pages(l, 1, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_4640_a_load_that_steps_through_memory_comes_to_a_page_once_in_a_while),
		cmocka_unit_test(test_4641_whatever_else_writes_its_base_can_be_another_page),
		cmocka_unit_test(test_4642_more_accesses_than_half_of_the_tlb_can_replace_a_page),
		cmocka_unit_test(test_4643_loops_within_and_calls_can_replace_a_page),
		cmocka_unit_test(test_4644_code_that_does_not_go_round_is_not_a_loop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
