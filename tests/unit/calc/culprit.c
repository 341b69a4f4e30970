/* SPDX-License-Identifier: MIT */
/*
 * Each row of the table of causes: one small program in which it must be cleared, and one in which it
 * must not. Every instruction takes a cycle by its schedule and 50 more in the samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calc/calc_int.h"
#include "calc/carried.h"
#include "isa/isa.h"
#include "util/array.h"

#define BASE	  0x10000
#define FREQUENCY 1000.0
#define STALL	  50

/* ---- a small assembler ---- */

enum {
	ZERO,
	RA,
	SP,
	GP,
	TP,
	T0,
	T1,
	T2,
	S0,
	S1,
	A0,
	A1,
	A2,
	A3,
	A4,
	A5,
	A6,
	A7,
	S2,
	S3,
	S4,
	S5,
	S6
};
enum { T3 = 28, T4, T5, T6 };

static uint32_t r_type(uint32_t f7, int rs2, int rs1, uint32_t f3, int rd, uint32_t op)
{
	return f7 << 25 | (uint32_t)rs2 << 20 | (uint32_t)rs1 << 15 | f3 << 12 | (uint32_t)rd << 7 |
	       op;
}
#define ADD(rd, a, b)	 r_type(0, b, a, 0, rd, 0x33)
#define MUL(rd, a, b)	 r_type(1, b, a, 0, rd, 0x33)
#define DIV(rd, a, b)	 r_type(1, b, a, 4, rd, 0x33)
#define ADDI(rd, a, i)	 ((uint32_t)(i) << 20 | r_type(0, 0, a, 0, rd, 0x13))
#define LD(rd, i, a)	 ((uint32_t)(i) << 20 | r_type(0, 0, a, 3, rd, 0x03))
#define SD(b, i, a)	 r_type((uint32_t)(i) >> 5, b, a, 3, (i)&31, 0x23)
#define SW(b, i, a)	 r_type((uint32_t)(i) >> 5, b, a, 2, (i)&31, 0x23)
#define BNE(a, b)	 r_type(0, b, a, 1, 8, 0x63) /* by 8 bytes; edges say where to */
#define JAL(rd)		 r_type(0, 0, 0, 0, rd, 0x6f)
#define JR(a)		 r_type(0, 0, a, 0, 0, 0x67)
#define AMOADD(rd, b, a) r_type(0, b, a, 3, rd, 0x2f)
#define FENCE		 0x0ff0000fu
#define ECALL		 0x00000073u
#define RDCYCLE(rd)	 (0xc00u << 20 | r_type(0, 0, 0, 2, rd, 0x73))
#define NOP		 ADDI(0, 0, 0)

/* A program under construction, of one procedure. */
struct sketch {
	struct cfg_inst *insts;
	struct cfg_block *blocks;
	struct cfg_edge *edges;
	uint32_t ninsts, nblocks, nedges;
	double share[64]; /* of each edge, of its block's frequency */
	bool alike;	  /* all edges have half of it: there may be any number */
	uint64_t at;	  /* where the next block begins */
	struct calc_program p;
	struct machine m;
	struct cfg *g;
};

static struct sketch *sketch(void)
{
	struct sketch *s = x_calloc(1, sizeof(*s));
	struct err e;

	assert_true(machine_load(&s->m, "inorder-2w", &e));
	s->at = BASE;
	s->p.machine = &s->m;
	s->p.sampling.period[SAMPLED_CYCLES] = 1;
	s->p.options.ignore_edges = 0.01;
	s->p.options.cross = CROSS_OPTIMISTIC;
	return s;
}

static enum image_flow flow_of(const struct inst *in)
{
	const unsigned cls = op_info[in->op].cls;

	if (cls == CLASS_BRANCH)
		return IMAGE_BRANCH;
	if (cls != CLASS_JUMP)
		return IMAGE_NEXT;
	return isa_is_call(in) ? IMAGE_CALL : isa_is_return(in) ? IMAGE_RETURN : IMAGE_JUMP;
}

/* Adds a block of words, to the first 0. Returns the number of its first instruction. */
#define BLOCK(s, ...) block(s, (const uint32_t[]){ __VA_ARGS__, 0 })
static uint32_t block(struct sketch *s, const uint32_t *words)
{
	struct cfg_block *b = ARRAY_ADD(s->blocks, s->nblocks);

	*b = (struct cfg_block){ .start = s->at, .first = s->ninsts };
	for (; *words; words++) {
		const struct inst in = isa_decode(*words);
		struct cfg_inst *i = ARRAY_ADD(s->insts, s->ninsts);

		assert_int_not_equal(in.op, OP_ILLEGAL);
		*i = (struct cfg_inst){ .pc = s->at,
					.word = *words,
					.size_bytes = 4,
					.flow = (uint8_t)flow_of(&in),
					.direct = !isa_is_indirect(&in) };
		if (i->flow == IMAGE_CALL)
			b->flags |= CFG_BLOCK_CALLS;
		b->count++;
		s->at += 4;
	}
	b->end = s->at;
	return b->first;
}

static void edge(struct sketch *s, uint32_t from, uint32_t to, enum cfg_kind kind, double share)
{
	if (!s->alike)
		s->share[s->nedges] = share;
	*ARRAY_ADD(s->edges, s->nedges) =
	    (struct cfg_edge){ .from = from, .to = to, .kind = (uint8_t)kind };
}

static void run(struct sketch *s)
{
	struct err e;
	struct cfg_edge *edges = x_calloc(s->nedges + 1, sizeof(*edges));

	for (uint32_t k = 0; k < s->nedges; k++)
		edges[k] = s->edges[k];
	s->g = cfg_assemble(BASE, "f", s->insts, s->ninsts, s->blocks, s->nblocks, s->edges,
			    s->nedges, &e);
	if (!s->g)
		fail_msg("%s", e.text);
	struct calc_proc *proc = calc_add(&s->p, s->g);
	for (uint32_t b = 0; b < s->g->nblocks; b++)
		proc->blocks[b].value = FREQUENCY;
	for (uint32_t k = 0; k < s->g->nedges; k++) {
		proc->edges[k].value = FREQUENCY / 2;
		/* assembling sorts edges */
		for (uint32_t o = 0; !s->alike && o < s->nedges; o++)
			if (edges[o].from == s->g->edges[k].from &&
			    edges[o].to == s->g->edges[k].to &&
			    edges[o].kind == s->g->edges[k].kind)
				proc->edges[k].value = FREQUENCY * s->share[o];
	}
	free(edges);
	for (uint32_t i = 0; i < s->g->ninsts; i++) {
		proc->insts[i].m = 1;
		if (!proc->insts[i].count[SAMPLED_CYCLES])
			proc->insts[i].count[SAMPLED_CYCLES] = FREQUENCY * (1 + STALL);
	}
	calc_culprits(&s->p, proc);
}

static const struct calc_culprit *find(const struct sketch *s, uint32_t inst, enum cause cause)
{
	const struct calc_inst *i = &s->p.procs[0].insts[inst];

	for (unsigned k = 0; k < (unsigned)i->nculprits + i->nminor; k++)
		if (calc_culprit(&s->p.procs[0], i, k)->cause == cause)
			return calc_culprit(&s->p.procs[0], i, k);
	return NULL;
}

/* Whether the cause can be the main one. */
static bool is_letter(const struct sketch *s, uint32_t inst, enum cause cause)
{
	const struct calc_culprit *c = find(s, inst, cause);
	const struct calc_inst *i = &s->p.procs[0].insts[inst];

	return c && c < calc_culprit(&s->p.procs[0], i, i->nculprits);
}

/* Finds the culprits again, of a stall of so many cycles at one instruction. */
static void stall_for(struct sketch *s, uint32_t inst, double cycles)
{
	s->p.procs[0].insts[inst].count[SAMPLED_CYCLES] = FREQUENCY * (1 + cycles);
	calc_culprits(&s->p, &s->p.procs[0]);
}

static void end(struct sketch *s)
{
	calc_free(&s->p);
	cfg_free(s->g);
	free(s);
}

#define assert_stays(s, inst, cause)   assert_non_null(find(s, inst, cause))
#define assert_cleared(s, inst, cause) assert_null(find(s, inst, cause))

static void assert_guilty(const struct sketch *s, uint32_t inst, enum cause cause, uint32_t by)
{
	const struct calc_culprit *c = find(s, inst, cause);

	assert_non_null(c);
	for (unsigned k = 0; k < c->nguilty; k++)
		if (c->guilty[k] == by)
			return;
	fail_msg("instruction %u is not accused", by);
}

/* ---- the rows ---- */

static void test_2420_code_misses_need_another_line_or_page(void **state)
{
	struct sketch *s = sketch();

	/* Lines have 32 bytes: the ninth begins the second. */
	BLOCK(s, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP);
	run(s);
	assert_cleared(s, 7, CAUSE_ICACHE);
	assert_stays(s, 8, CAUSE_ICACHE);
	assert_cleared(s, 8, CAUSE_ITLB);
	assert_true(find(s, 8, CAUSE_ICACHE)->most == FREQUENCY * (1 + 6 + 12 + 60));
	end(s);

	/* The head of a block: a predecessor in the same line clears it, one in another does not,
	 * unless its edge is hardly ever taken. */
	for (unsigned k = 0; k < 3; k++) {
		s = sketch();
		uint32_t a = BLOCK(s, NOP, BNE(T0, T1));
		uint32_t b = BLOCK(s, NOP, NOP, BNE(T0, T1));
		s->at = BASE + 0x2000;
		BLOCK(s, NOP, JAL(ZERO));
		assert_true(a < b);
		edge(s, 0, 1, CFG_FALL, 1);
		edge(s, 1, 2, CFG_FALL, 1);
		if (k)
			edge(s, 2, 1, CFG_TAKEN, k == 1 ? 0.5 : 0.005);
		run(s);
		assert_int_equal(!!find(s, b, CAUSE_ICACHE), k == 1);
		assert_int_equal(!!find(s, b, CAUSE_ITLB), k == 1);
		end(s);
	}
}

static void test_2421_samples_of_code_misses_bound_them(void **state)
{
	struct sketch *s = sketch();

	s->p.sampling.period[SAMPLED_IMISS] = 1;
	BLOCK(s, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP);
	run(s);
	/* No sample: three misses at most, which is less than a hundredth of the stall. */
	assert_cleared(s, 8, CAUSE_ICACHE);
	end(s);

	s = sketch();
	s->p.sampling.period[SAMPLED_IMISS] = 1;
	BLOCK(s, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP);
	struct calc_proc *proc;
	run(s);
	proc = &s->p.procs[0];
	proc->insts[8].count[SAMPLED_IMISS] = 100;
	calc_culprits(&s->p, proc);
	assert_true(find(s, 8, CAUSE_ICACHE)->most == (100 + 2 * 10 + 3) * (1 + 6 + 12 + 60.0));
	/* Counted for half of the time alone. */
	s->p.sampling.running[SAMPLED_IMISS] = 0.5;
	calc_culprits(&s->p, proc);
	assert_true(find(s, 8, CAUSE_ICACHE)->most == 2 * 123 * (1 + 6 + 12 + 60.0));
	end(s);
}

static void test_2422_data_misses_need_a_load_that_nothing_has_waited_for(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, LD(T0, 0, A0), ADD(T1, T2, T2), ADD(T1, T0, T0), ADD(T2, T0, T0), LD(T3, 0, A0),
	      ADDI(T3, ZERO, 1));
	run(s);
	assert_cleared(s, 1, CAUSE_DCACHE); /* neither reads nor overwrites it */
	assert_guilty(s, 2, CAUSE_DCACHE, 0);
	assert_guilty(s, 2, CAUSE_DTLB, 0);
	assert_cleared(s, 3, CAUSE_DCACHE);   /* another has waited */
	assert_guilty(s, 5, CAUSE_DCACHE, 4); /* overwrites it */
	assert_true(find(s, 2, CAUSE_DCACHE)->most == FREQUENCY * (2 + 6 + 12 + 60));
	assert_true(find(s, 2, CAUSE_DTLB)->most == FREQUENCY * 50);
	end(s);
}

static void test_2423_loads_come_over_paths_and_not_over_rare_edges(void **state)
{
	for (unsigned k = 0; k < 3; k++) {
		struct sketch *s = sketch();

		/* 0 loads and falls into 2; 1 does not load; 2 uses the register. */
		uint32_t load = BLOCK(s, LD(T0, 0, A0));
		if (k == 1)
			BLOCK(s, ADD(T2, T0, T0)); /* waits on the way */
		else
			BLOCK(s, NOP);
		uint32_t use = BLOCK(s, ADD(T1, T0, T0), BNE(T1, T2));
		edge(s, 0, 1, CFG_FALL, k == 2 ? 0.001 : 1);
		edge(s, 1, 2, CFG_FALL, 1);
		edge(s, 2, 2, CFG_TAKEN, 0.5);
		edge(s, 2, 1, CFG_TAKEN, 1);
		run(s);
		assert_int_equal(!!find(s, use, CAUSE_DCACHE), k == 0);
		if (k == 0)
			assert_guilty(s, use, CAUSE_DCACHE, load);
		end(s);
	}
}

static void test_2424_a_loop_carries_its_loads_round(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, NOP);
	uint32_t use = BLOCK(s, ADD(T1, T0, T1), LD(T0, 0, A0), BNE(T2, ZERO));
	edge(s, 0, 1, CFG_FALL, 0.1);
	edge(s, 1, 1, CFG_TAKEN, 0.9);
	run(s);
	assert_guilty(s, use, CAUSE_DCACHE, use + 1);
	end(s);
}

static void test_2425_loads_can_fill_the_miss_registers(void **state)
{
	for (unsigned n = 5; n <= 6; n++) {
		struct sketch *s = sketch();
		uint32_t words[9] = { 0 };

		for (unsigned k = 0; k < n; k++)
			words[k] = LD((int)(A1 + k), 8 * k, A0);
		words[n] = LD(T0, 64, A0);
		block(s, words);
		run(s);
		assert_int_equal(!!find(s, n, CAUSE_DCACHE), n == 6); /* l1d.mshrs = 6 */
		end(s);
	}
}

static void test_2426_mispredicts_are_at_heads_after_branches_and_indirect_jumps(void **state)
{
	const struct {
		uint32_t last;
		enum cfg_kind kind;
		bool mispredicts, bubble;
	} cases[] = {
		{ BNE(T0, T1), CFG_FALL, true, false }, { BNE(T0, T1), CFG_TAKEN, true, true },
		{ JR(T0), CFG_TABLE, true, true },	{ JAL(ZERO), CFG_TAKEN, false, true },
		{ NOP, CFG_FALL, false, false },
	};
	for (unsigned k = 0; k < ARRAY_LEN(cases); k++) {
		struct sketch *s = sketch();

		BLOCK(s, NOP, cases[k].last);
		uint32_t head = BLOCK(s, NOP, NOP);
		edge(s, 0, 1, cases[k].kind, 1);
		run(s);
		assert_int_equal(!!find(s, head, CAUSE_BRANCH), cases[k].mispredicts);
		assert_int_equal(!!find(s, head, CAUSE_BUBBLE), cases[k].bubble);
		assert_cleared(s, head + 1, CAUSE_BRANCH);
		assert_cleared(s, head + 1, CAUSE_BUBBLE);
		if (cases[k].mispredicts) {
			assert_guilty(s, head, CAUSE_BRANCH, 1);
			/* resolves, redirect, front end, dispatch to issue */
			assert_true(find(s, head, CAUSE_BRANCH)->most ==
				    FREQUENCY * (1 + 1 + 2 + 2 + 1));
		}
		if (cases[k].bubble)
			assert_true(find(s, head, CAUSE_BUBBLE)->most == FREQUENCY);
		end(s);
	}
}

static void test_2427_mispredict_samples_bound_them(void **state)
{
	struct sketch *s = sketch();

	s->p.sampling.period[SAMPLED_BRANCHMP] = 1;
	BLOCK(s, NOP, BNE(T0, T1));
	uint32_t head = BLOCK(s, NOP, NOP);
	edge(s, 0, 1, CFG_FALL, 1);
	run(s);
	assert_cleared(s, head, CAUSE_BRANCH);
	s->p.procs[0].insts[head].count[SAMPLED_BRANCHMP] = 400;
	calc_culprits(&s->p, &s->p.procs[0]);
	assert_true(find(s, head, CAUSE_BRANCH)->most == (400 + 2 * 20 + 3) * 7.0);
	end(s);
}

static void test_2428_the_write_buffer_needs_stores_faster_than_it_drains(void **state)
{
	/* A loop of stores to one line each, that many cycles long. */
	for (unsigned k = 0; k < 3; k++) {
		struct sketch *s = sketch();

		BLOCK(s, NOP);
		uint32_t body = k == 0	 ? BLOCK(s, SD(ZERO, 0, A0), ADDI(A0, A0, 32), BNE(A0, A1))
				: k == 1 ? BLOCK(s, ADDI(A0, A0, 8), ADDI(T1, T1, 1), BNE(A0, A1))
					 : BLOCK(s, SD(ZERO, 0, A0), SD(ZERO, 8, A0),
						 SD(ZERO, 16, A0), SD(ZERO, 24, A0), NOP);
		edge(s, 0, 1, CFG_FALL, 0.1);
		if (k < 2)
			edge(s, 1, 1, CFG_TAKEN, 0.9);
		run(s);
		/* one line per round; no store; four stores to one line, once */
		assert_int_equal(!!find(s, body, CAUSE_WRITE), k == 0);
		assert_cleared(s, body + 2, CAUSE_WRITE);
		end(s);
	}
}

static void test_2429_a_fence_waits_for_any_store(void **state)
{
	struct sketch *s = sketch();

	uint32_t first = BLOCK(s, SD(ZERO, 0, A0), FENCE, NOP, FENCE);
	run(s);
	assert_guilty(s, first + 1, CAUSE_WRITE, first);
	assert_cleared(s, first + 3, CAUSE_WRITE);
	end(s);
}

static void test_2430_synchronisation_is_at_serialising_instructions_and_right_after(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, NOP, RDCYCLE(T0), NOP, NOP, AMOADD(T1, T2, A0), NOP, FENCE, NOP, NOP);
	run(s);
	static const bool expected[] = { false, true, true, false, true, true, true, true, false };
	for (unsigned i = 0; i < ARRAY_LEN(expected); i++)
		assert_int_equal(!!find(s, i, CAUSE_SYNC), expected[i]);
	assert_guilty(s, 2, CAUSE_SYNC, 1);
	assert_guilty(s, 5, CAUSE_SYNC, 4);
	end(s);
}

static void test_2431_units_are_left_busy_by_earlier_blocks(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, MUL(T0, T1, T2), NOP);
	uint32_t b = BLOCK(s, MUL(T3, T4, T5), MUL(T3, T4, T5), ADD(A2, T3, T3));
	edge(s, 0, 1, CFG_FALL, 1);
	run(s);
	assert_guilty(s, b, CAUSE_MULTIPLY, 0);
	/* 8 cycles less what its own schedule and those between have passed */
	assert_true(find(s, b, CAUSE_MULTIPLY)->most == FREQUENCY * (8 - 2));
	assert_cleared(s, b + 1, CAUSE_MULTIPLY); /* by its own block: static */
	assert_cleared(s, b + 2, CAUSE_MULTIPLY);
	assert_cleared(s, b, CAUSE_DIVIDE);
	end(s);

	s = sketch();
	BLOCK(s, DIV(T0, T1, T2));
	BLOCK(s, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP);
	b = BLOCK(s, ADD(A2, T0, T0), DIV(T3, T4, T5));
	edge(s, 0, 1, CFG_FALL, 1);
	edge(s, 1, 2, CFG_FALL, 1);
	run(s);
	assert_guilty(s, b, CAUSE_DIVIDE, 0);	  /* needs the result */
	assert_guilty(s, b + 1, CAUSE_DIVIDE, 0); /* needs the unit */
	assert_true(find(s, b, CAUSE_DIVIDE)->most == FREQUENCY * (40 - 11));
	end(s);

	/* Long enough ago. */
	s = sketch();
	BLOCK(s, MUL(T0, T1, T2));
	BLOCK(s, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP);
	b = BLOCK(s, MUL(A2, T4, T5));
	edge(s, 0, 1, CFG_FALL, 1);
	edge(s, 1, 2, CFG_FALL, 1);
	run(s);
	assert_cleared(s, b, CAUSE_MULTIPLY);
	end(s);
}

static void test_2432_a_narrower_queued_store_may_hold_up_a_load(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, SW(T0, 0, A0), LD(T1, 8, A0), LD(T2, 0, A0), LD(T3, 0, A1), ADD(A2, T3, T3), NOP,
	      NOP, NOP, NOP, NOP, NOP, LD(T4, 0, A0));
	run(s);
	assert_cleared(s, 1, CAUSE_STORE); /* other bytes by the same register */
	assert_guilty(s, 2, CAUSE_STORE, 0);
	assert_guilty(s, 3, CAUSE_STORE, 0); /* may be anywhere */
	assert_stays(s, 4, CAUSE_STORE);     /* needs its result */
	assert_cleared(s, 5, CAUSE_STORE);
	end(s);

	/* Without a load that holds up commit, the store has left after a few cycles. */
	s = sketch();
	BLOCK(s, SW(T0, 0, A0), NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, LD(T4, 0, A0));
	run(s);
	assert_cleared(s, 10, CAUSE_STORE);
	end(s);

	/* A store as wide as the load has all its bytes: they are forwarded. */
	s = sketch();
	BLOCK(s, SD(T0, 0, A0), LD(T1, 0, A0), LD(T2, 0, A1), ADD(A2, T2, T2));
	run(s);
	for (uint32_t i = 1; i <= 3; i++)
		assert_cleared(s, i, CAUSE_STORE);
	end(s);

	/* Of a preceding block, by its width alone. */
	for (unsigned wide = 0; wide <= 1; wide++) {
		s = sketch();
		BLOCK(s, wide ? SD(T0, 0, A0) : SW(T0, 0, A0));
		uint32_t b = BLOCK(s, LD(T1, 0, A1), NOP);
		edge(s, 0, 1, CFG_FALL, 1);
		run(s);
		assert_int_equal(!!find(s, b, CAUSE_STORE), !wide);
		end(s);
	}
}

static void test_2433_the_kernel_is_right_after_a_system_call(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, NOP, ECALL, NOP, NOP);
	run(s);
	assert_cleared(s, 1, CAUSE_KERNEL);
	assert_guilty(s, 2, CAUSE_KERNEL, 1);
	assert_cleared(s, 3, CAUSE_KERNEL);
	assert_true(find(s, 2, CAUSE_KERNEL)->most == FREQUENCY * STALL);
	end(s);
}

static void test_2434_previous_blocks_explain_what_m_per_edge_does_not(void **state)
{
	for (unsigned rounds = 1; rounds <= 2; rounds++) {
		struct sketch *s = sketch();

		s->p.options.rounds = rounds;
		BLOCK(s, DIV(T0, T1, T2), NOP);
		uint32_t b = BLOCK(s, ADD(T3, T0, T0), ADD(T4, T5, T5), ADD(A2, T0, T0));
		edge(s, 0, 1, CFG_FALL, 1);
		run(s);
		assert_int_equal(!!find(s, b, CAUSE_BEFORE), rounds == 1);
		assert_cleared(s, b + 1, CAUSE_BEFORE);
		if (rounds == 1)
			assert_guilty(s, b, CAUSE_BEFORE, 0);
		end(s);
	}
}

static void test_2435_calls_and_returns_are_crossed_as_asked(void **state)
{
	static const struct {
		enum cross_procedure cross;
		bool result, temporary, branch;
	} cases[] = { { CROSS_PESSIMISTIC, true, true, true },
		      { CROSS_SELECTIVE, true, false, true },
		      { CROSS_OPTIMISTIC, false, false, false } };

	for (unsigned k = 0; k < ARRAY_LEN(cases); k++) {
		struct sketch *s = sketch();

		s->p.options.cross = cases[k].cross;
		BLOCK(s, NOP, JAL(RA));
		uint32_t b = BLOCK(s, ADD(T1, A0, A0), ADD(ZERO, T0, T0), NOP);
		edge(s, 0, 1, CFG_FALL, 1);
		run(s);
		assert_int_equal(!!find(s, b, CAUSE_DCACHE), cases[k].result);
		assert_int_equal(!!find(s, b + 1, CAUSE_DCACHE), cases[k].temporary);
		assert_int_equal(!!find(s, b, CAUSE_BRANCH), cases[k].branch);
		assert_int_equal(!!find(s, b, CAUSE_BUBBLE), cases[k].branch);
		assert_int_equal(!!find(s, b, CAUSE_ICACHE), cases[k].branch);
		assert_int_equal(!!find(s, 0, CAUSE_ICACHE), cases[k].branch); /* the entry */
		end(s);
	}
}

/* Of a line of code (79 cycles), a mispredict (less than 10) and a bubble (1) only the first can be the most of 40
 * cycles, and the first two of 12. */
static void test_3770_a_cause_that_cannot_be_the_main_one_is_no_letter(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, NOP, BNE(T0, T1));
	s->at += 64;
	uint32_t head = BLOCK(s, NOP, NOP);
	edge(s, 0, 1, CFG_TAKEN, 1);
	run(s);
	stall_for(s, head, 40);
	assert_true(is_letter(s, head, CAUSE_ICACHE));
	assert_false(is_letter(s, head, CAUSE_BRANCH));
	assert_false(is_letter(s, head, CAUSE_BUBBLE));
	assert_stays(s, head, CAUSE_BRANCH); /* it may be a part of it */
	assert_stays(s, head, CAUSE_BUBBLE);
	stall_for(s, head, 12);
	assert_true(is_letter(s, head, CAUSE_ICACHE));
	assert_true(is_letter(s, head, CAUSE_BRANCH));
	assert_false(is_letter(s, head, CAUSE_BUBBLE));
	stall_for(s, head, 2);
	assert_true(is_letter(s, head, CAUSE_BUBBLE));
	end(s);

	/* What cannot explain the stall even together with all others is a letter as far as it goes. */
	s = sketch();
	BLOCK(s, NOP, BNE(T0, T1));
	head = BLOCK(s, NOP, NOP);
	edge(s, 0, 1, CFG_FALL, 1);
	run(s);
	stall_for(s, head, 1000);
	assert_false(is_letter(s, head, CAUSE_BUBBLE));
	stall_for(s, head, 100);
	assert_true(is_letter(s, head, CAUSE_BRANCH));
	end(s);
}

/* A store that nothing holds up leaves its queue a few cycles after it has issued. */
static void test_3771_a_queued_store_explains_no_more_than_its_time_in_the_queue(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, SW(T0, 0, A0), LD(T1, 0, A0), NOP);
	BLOCK(s, LD(T4, 0, A2), SW(T0, 0, A0), LD(T1, 0, A0), NOP);
	edge(s, 0, 1, CFG_FALL, 1);
	run(s);
	assert_stays(s, 1, CAUSE_STORE);
	assert_true(find(s, 1, CAUSE_STORE)->most <= FREQUENCY * 12);
	assert_true(find(s, 5, CAUSE_STORE)->most >=
		    FREQUENCY * 40); /* behind a load that may miss */
	end(s);
}

/* The page of a callee is looked up while its caller waits: the sample of the miss may be there. */
static void test_3772_samples_of_itlb_misses_may_be_in_the_procedure_before(void **state)
{
	struct sketch *s = sketch();

	s->p.options.cross = CROSS_SELECTIVE;
	for (unsigned k = 1; k < SAMPLED_COUNT; k++) {
		s->p.sampling.period[k] = 1;
		s->p.sampling.running[k] = 1;
	}
	BLOCK(s, NOP, BNE(T0, T1));
	s->at += 8192;
	uint32_t other = BLOCK(s, NOP, NOP);
	edge(s, 0, 1, CFG_TAKEN, 1);
	run(s);
	/* at its entry all executions may have missed, on a page of the procedure itself no more than samples say */
	assert_true(find(s, 0, CAUSE_ITLB)->most > FREQUENCY * 40);
	assert_true(!find(s, other, CAUSE_ITLB) || find(s, other, CAUSE_ITLB)->most < FREQUENCY);
	end(s);
}

static void test_2436_without_a_stall_or_a_frequency_nothing_is_accused(void **state)
{
	struct sketch *s = sketch();

	BLOCK(s, LD(T0, 0, A0), ADD(T1, T0, T0));
	run(s);
	assert_stays(s, 1, CAUSE_DCACHE);
	s->p.procs[0].insts[1].count[SAMPLED_CYCLES] = FREQUENCY;
	calc_culprits(&s->p, &s->p.procs[0]);
	assert_int_equal(s->p.procs[0].insts[1].nculprits, 0);
	s->p.procs[0].insts[1].count[SAMPLED_CYCLES] = 2 * FREQUENCY;
	s->p.procs[0].blocks[0].value = NAN;
	calc_culprits(&s->p, &s->p.procs[0]);
	assert_int_equal(s->p.procs[0].insts[1].nculprits, 0);
	end(s);
}

static void test_2437_a_hundred_thousand_blocks_are_bounded_work(void **state)
{
	for (unsigned k = 0; k < 2; k++) {
		struct sketch *s = sketch();
		const uint32_t n = k ? 100000 : 1000;
		struct rng r;

		s->alike = true;
		rng_seed(&r, 1);
		for (uint32_t b = 0; b < n; b++)
			BLOCK(s, LD(T0, 0, A0), ADD(T1, T0, T2), SD(T1, 0, A1), BNE(T0, T1));
		for (uint32_t b = 0; b < n; b++) {
			if (b + 1 < n)
				edge(s, b, b + 1, CFG_FALL, 0);
			/* Backwards at random: the worst that paths can be. */
			edge(s, b, (uint32_t)rng_below(&r, n), CFG_TAKEN, 0);
		}
		run(s);
		assert_guilty(s, 4 * (n / 2) + 1, CAUSE_DCACHE, 4 * (n / 2));
		assert_cleared(s, 4 * (n / 2) + 3, CAUSE_DCACHE);
		end(s);
	}
}

static void test_1401_who_overwrites_a_temporary_waits_for_another_procedures_load(void **state)
{
	for (unsigned k = 0; k < 2; k++) {
		struct sketch *s = sketch();

		s->p.options.cross = k ? CROSS_OPTIMISTIC : CROSS_SELECTIVE;
		BLOCK(s, NOP, JAL(RA));
		uint32_t b = BLOCK(s, ADDI(T0, ZERO, 1), ADD(ZERO, T1, T1), ADDI(T0, ZERO, 2));
		edge(s, 0, 1, CFG_FALL, 1);
		run(s);
		assert_int_equal(!!find(s, b, CAUSE_DCACHE), !k);
		assert_cleared(s, b + 1,
			       CAUSE_DCACHE); /* nobody reads what a call has left there */
		assert_cleared(s, b + 2, CAUSE_DCACHE); /* waited for already */
		end(s);
	}
}

static void test_1402_a_store_is_not_queued_behind_loads_of_other_procedures(void **state)
{
	static const enum cross_procedure cross[] = { CROSS_PESSIMISTIC, CROSS_SELECTIVE };

	for (unsigned k = 0; k < ARRAY_LEN(cross); k++) {
		struct sketch *s = sketch();

		s->p.options.cross = cross[k];
		BLOCK(s, LD(T4, 0, A1), SW(T0, 0, A0), NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP,
		      LD(T5, 0, A0));
		run(s);
		assert_stays(s, 11, CAUSE_STORE); /* its own load may hold it up */
		end(s);

		s = sketch();
		s->p.options.cross = cross[k];
		BLOCK(s, SW(T0, 0, A0), NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, LD(T5, 0, A0));
		run(s);
		assert_int_equal(!!find(s, 10, CAUSE_STORE), cross[k] == CROSS_PESSIMISTIC);
		end(s);
	}
}

static void test_1403_results_are_waited_for_as_long_as_returns_say(void **state)
{
	for (unsigned left = 0; left <= 8; left += 8) {
		struct sketch *s = sketch();

		s->p.options.cross = CROSS_SELECTIVE;
		s->p.returned = true;
		s->p.result_left[0] = left;
		BLOCK(s, NOP, JAL(RA));
		uint32_t b = BLOCK(s, ADD(T1, A0, A0), NOP);
		edge(s, 0, 1, CFG_FALL, 1);
		run(s);
		assert_int_equal(!!find(s, b, CAUSE_BEFORE), left > 0);
		if (left)
			assert_true(find(s, b, CAUSE_BEFORE)->most == FREQUENCY * (left - 1));
		end(s);
	}

	/* What a procedure returns: the multiplication before last takes 8 cycles, and 2 pass. */
	struct sketch *s = sketch();
	double left_of[2] = { 0 };
	BLOCK(s, MUL(A0, T1, T2), NOP, JR(RA));
	run(s);
	calc_risks(&s->p, &s->p.procs[0], left_of);
	assert_true(left_of[0] == 8 - 2 && left_of[1] == 0);
	end(s);
}

static void test_1404_samples_say_how_often_a_kind_of_risk_makes_wait(void **state)
{
	const uint16_t branch = CALC_RISKS_KNOWN | 1u << CAUSE_BRANCH;

	for (unsigned stalled = 0; stalled <= 1; stalled++) {
		struct sketch *s = sketch();

		for (unsigned k = 0; k < 20; k++)
			BLOCK(s, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP);
		run(s);
		struct calc_proc *proc = &s->p.procs[0];
		const double none = calc_unstalled(&s->p, CALC_RISKS_KNOWN);
		const double before = calc_unstalled(&s->p, branch);
		assert_true(before < 0.5 && none > 0.95);
		for (uint32_t i = 0; i < s->g->ninsts; i++) {
			proc->insts[i].risks = branch;
			proc->insts[i].count[SAMPLED_CYCLES] = FREQUENCY * (stalled ? 9 : 1);
		}
		for (unsigned round = 0; round < 5; round++)
			calc_learn_risks(&s->p);
		if (stalled)
			assert_true(calc_unstalled(&s->p, branch) < before / 2);
		else
			assert_true(calc_unstalled(&s->p, branch) > 0.9);
		/* Nothing was seen of others. */
		assert_true(calc_unstalled(&s->p, CALC_RISKS_KNOWN) == none);
		end(s);
	}
}

/* A procedure that calls itself, directly or by a pointer, and its culprits given what it passes on. */
static struct sketch *recursive(bool pending, bool direct)
{
	struct sketch *s = sketch();

	s->p.options.cross = CROSS_SELECTIVE;
	BLOCK(s, ADD(T1, A0, A0), LD(A0, 0, A1), pending ? NOP : ADD(ZERO, A0, A0), JAL(RA));
	s->blocks[0].callee = direct ? BASE : 0;
	BLOCK(s, ADDI(T0, ZERO, 1), LD(T0, 0, A1), pending ? NOP : ADD(ZERO, T0, T0), JR(RA));
	edge(s, 0, 1, CFG_FALL, 1);
	run(s);
	calc_passed(&s->p);
	calc_culprits(&s->p, &s->p.procs[0]);
	return s;
}

static void test_1405_calls_and_returns_pass_on_the_loads_that_the_program_leaves(void **state)
{
	for (unsigned k = 0; k < 4; k++) {
		const bool pending = k & 1;
		struct sketch *s = recursive(pending, k & 2);

		assert_int_equal(!!find(s, 0, CAUSE_DCACHE), pending); /* entered with a0 */
		assert_int_equal(!!find(s, 4, CAUSE_DCACHE), pending); /* comes back with t0 */
		assert_cleared(s, 5, CAUSE_DCACHE);
		end(s);
	}
	/* What it calls has no graph and was not sampled, or it is not executed: nothing comes back. */
	struct sketch *s = recursive(true, true);
	s->g->blocks[0].callee = BASE + 0x1000;
	calc_passed(&s->p);
	calc_culprits(&s->p, &s->p.procs[0]);
	assert_cleared(s, 4, CAUSE_DCACHE);
	end(s);
}

/* A jump whose target is not known leads to any block that one may enter, with what is under way there. */
static void test_1406_unknown_jumps_carry_what_is_under_way_where_they_are(void **state)
{
	for (unsigned pending = 0; pending < 2; pending++) {
		struct sketch *s = sketch();

		BLOCK(s, LD(T0, 0, A1), pending ? NOP : ADD(ZERO, T0, T0), JR(A5));
		s->blocks[0].flags |= CFG_BLOCK_UNRESOLVED;
		uint32_t b = BLOCK(s, ADD(ZERO, T0, T0), NOP);
		s->blocks[1].flags |= CFG_BLOCK_MAYBE;
		edge(s, 0, CFG_OUTSIDE, CFG_MISSING, 1);
		run(s);
		assert_int_equal(!!find(s, b, CAUSE_DCACHE), pending);
		end(s);
	}
}

/* What carried_all() has under way at the end of a block. */
static uint64_t loads_at_end(const struct sketch *s, const struct carried_machine *m, uint32_t b,
			     const struct carried *at)
{
	const struct cfg_block *block = &s->g->blocks[b];
	struct carried_walk w;

	carried_begin(&w, m, &s->p.procs[0], &at[b]);
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct carried_op op = carried_op(m->m, &s->g->insts[i]);

		carried_wait(&w, i);
		carried_issue(&w, i, &op);
	}
	return w.s.loaded | w.s.stale;
}

static void test_3550_registers_alone_have_the_loads_that_whole_states_have(void **state)
{
	const uint32_t words[] = {
		LD(T0, 0, A1), LD(S0, 0, A1), LD(A0, 8, SP),   ADD(T1, T0, T0),
		NOP,	       FENCE,	      ADD(A2, S0, A0), AMOADD(T2, T0, A1)
	};
	struct rng r;

	rng_seed(&r, 3550);
	for (unsigned trial = 0; trial < 200; trial++) {
		struct sketch *s = sketch();
		const uint32_t n = 3 + (uint32_t)rng_below(&r, 9);

		s->p.options.cross = CROSS_SELECTIVE;
		for (uint32_t b = 0; b < n; b++) {
			const bool calls = b + 1 < n && !rng_below(&r, 4);

			BLOCK(s, words[rng_below(&r, 8)], words[rng_below(&r, 8)],
			      b + 1 == n ? JR(RA)
			      : calls	 ? JAL(RA)
					 : BNE(T0, T1));
			if (b + 1 < n)
				edge(s, b, b + 1, CFG_FALL, rng_below(&r, 5) ? 0.5 : 0.001);
			const uint32_t to = (uint32_t)rng_below(&r, n);
			if (b + 1 < n && !calls && to)
				edge(s, b, to, CFG_TAKEN, rng_below(&r, 5) ? 0.5 : 0.001);
		}
		run(s);
		struct calc_proc *proc = &s->p.procs[0];
		const struct carried_machine m = carried_machine(&s->p);
		proc->call_loads = x_calloc(n + 1, sizeof(*proc->call_loads));
		proc->entry_loads = 0;
		struct carried_loads *l = carried_loads_new(&s->p, proc, &m);
		struct carried_op *ops = carried_ops(&s->m, &s->p.procs[0]);

		/* More comes in from time to time. */
		for (unsigned round = 0; round < 4; round++) {
			struct carried *at = carried_all(&s->p, proc, &m, ops);

			carried_loads_settle(l);
			for (uint32_t b = 0; b < n; b++)
				assert_true(carried_loads_end(l, b) == loads_at_end(s, &m, b, at));
			free(at);
			proc->entry_loads |= 2ull << rng_below(&r, 63);
			proc->call_loads[rng_below(&r, n)] |= 2ull << rng_below(&r, 63);
		}
		carried_loads_free(l);
		free(ops);
		end(s);
	}
}

/* Forty blocks, each of which jumps to the one before it: more rounds than whole states have. */
static void test_3551_registers_alone_settle_however_long_that_takes(void **state)
{
	struct sketch *s = sketch();

	s->p.options.cross = CROSS_SELECTIVE;
	BLOCK(s, ADD(A0, A0, A1), JAL(ZERO));
	for (unsigned b = 1; b < 40; b++)
		BLOCK(s, b == 39 ? LD(T0, 0, A1) : NOP, b == 1 ? JR(RA) : JAL(ZERO));
	edge(s, 0, 39, CFG_TAKEN, 1);
	for (uint32_t b = 2; b < 40; b++)
		edge(s, b, b - 1, CFG_TAKEN, 1);
	run(s);
	const struct carried_machine m = carried_machine(&s->p);
	s->p.procs[0].call_loads = x_calloc(41, sizeof(uint64_t));
	struct carried_loads *l = carried_loads_new(&s->p, &s->p.procs[0], &m);

	carried_loads_settle(l);
	assert_true(carried_loads_end(l, 1) == 1ull << T0);
	carried_loads_free(l);
	end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2420_code_misses_need_another_line_or_page),
		cmocka_unit_test(test_2421_samples_of_code_misses_bound_them),
		cmocka_unit_test(test_2422_data_misses_need_a_load_that_nothing_has_waited_for),
		cmocka_unit_test(test_2423_loads_come_over_paths_and_not_over_rare_edges),
		cmocka_unit_test(test_2424_a_loop_carries_its_loads_round),
		cmocka_unit_test(test_2425_loads_can_fill_the_miss_registers),
		cmocka_unit_test(
		    test_2426_mispredicts_are_at_heads_after_branches_and_indirect_jumps),
		cmocka_unit_test(test_2427_mispredict_samples_bound_them),
		cmocka_unit_test(test_2428_the_write_buffer_needs_stores_faster_than_it_drains),
		cmocka_unit_test(test_2429_a_fence_waits_for_any_store),
		cmocka_unit_test(
		    test_2430_synchronisation_is_at_serialising_instructions_and_right_after),
		cmocka_unit_test(test_2431_units_are_left_busy_by_earlier_blocks),
		cmocka_unit_test(test_2432_a_narrower_queued_store_may_hold_up_a_load),
		cmocka_unit_test(test_2433_the_kernel_is_right_after_a_system_call),
		cmocka_unit_test(test_2434_previous_blocks_explain_what_m_per_edge_does_not),
		cmocka_unit_test(test_2435_calls_and_returns_are_crossed_as_asked),
		cmocka_unit_test(test_3770_a_cause_that_cannot_be_the_main_one_is_no_letter),
		cmocka_unit_test(
		    test_3771_a_queued_store_explains_no_more_than_its_time_in_the_queue),
		cmocka_unit_test(test_3772_samples_of_itlb_misses_may_be_in_the_procedure_before),
		cmocka_unit_test(test_2436_without_a_stall_or_a_frequency_nothing_is_accused),
		cmocka_unit_test(test_2437_a_hundred_thousand_blocks_are_bounded_work),
		cmocka_unit_test(
		    test_1401_who_overwrites_a_temporary_waits_for_another_procedures_load),
		cmocka_unit_test(test_1402_a_store_is_not_queued_behind_loads_of_other_procedures),
		cmocka_unit_test(test_1403_results_are_waited_for_as_long_as_returns_say),
		cmocka_unit_test(test_1404_samples_say_how_often_a_kind_of_risk_makes_wait),
		cmocka_unit_test(
		    test_1405_calls_and_returns_pass_on_the_loads_that_the_program_leaves),
		cmocka_unit_test(test_1406_unknown_jumps_carry_what_is_under_way_where_they_are),
		cmocka_unit_test(test_3550_registers_alone_have_the_loads_that_whole_states_have),
		cmocka_unit_test(test_3551_registers_alone_settle_however_long_that_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
