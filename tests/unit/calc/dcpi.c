/* SPDX-License-Identifier: MIT */
/* Frequencies of classes from clusters of ratios, and local propagation, on graphs made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "calc/calc_int.h"
#include "util/array.h"

#define ADDI 0x00150513u /* addi a0, a0, 1 */

/* ---- graphs ---- */

/* A graph in the making, and its program. Blocks have one instruction unless more are asked for. */
struct made {
	struct cfg g;
	struct calc_program p;
	struct machine machine;
	struct calc_proc *proc;
};

static uint32_t add_block(struct made *m, uint32_t insts)
{
	struct cfg_block *b = ARRAY_ADD(m->g.blocks, m->g.nblocks);

	*b = (struct cfg_block){ .first = m->g.ninsts,
				 .count = insts,
				 .start = 0x10000 + 4 * (uint64_t)m->g.ninsts,
				 .end = 0x10000 + 4 * ((uint64_t)m->g.ninsts + insts) };
	for (uint32_t i = 0; i < insts; i++) {
		uint64_t pc = 0x10000 + 4 * (uint64_t)m->g.ninsts;
		struct cfg_inst *inst = ARRAY_ADD(m->g.insts, m->g.ninsts);

		*inst = (struct cfg_inst){ .pc = pc, .word = ADDI, .size_bytes = 4 };
	}
	return m->g.nblocks - 1;
}

/* Edges must come in order of `from`, those from outside last. */
static uint32_t add_edge(struct made *m, uint32_t from, uint32_t to)
{
	struct cfg_edge *e = ARRAY_ADD(m->g.edges, m->g.nedges);

	*e = (struct cfg_edge){ .from = from,
				.to = to,
				.kind = from == CFG_OUTSIDE ? CFG_ENTRY
					: to == CFG_OUTSIDE ? CFG_EXIT
							    : CFG_TAKEN };
	return m->g.nedges - 1;
}

/* Edges are all there: what derives from them. */
static struct calc_proc *finish(struct made *m)
{
	struct cfg *g = &m->g;
	struct err e;
	uint32_t at = 0;

	for (uint32_t i = 0; i < g->nedges; i++) {
		if (g->edges[i].from != CFG_OUTSIDE && !g->blocks[g->edges[i].from].nout++)
			g->blocks[g->edges[i].from].first_out = i;
		if (g->edges[i].to != CFG_OUTSIDE)
			g->blocks[g->edges[i].to].nin++;
	}
	for (uint32_t b = 0; b < g->nblocks; b++) {
		g->blocks[b].first_in = at;
		at += g->blocks[b].nin;
		g->blocks[b].nin = 0;
	}
	g->in = x_calloc(at + 1, sizeof(*g->in));
	for (uint32_t i = 0; i < g->nedges; i++) {
		struct cfg_block *b =
		    g->edges[i].to == CFG_OUTSIDE ? NULL : &g->blocks[g->edges[i].to];

		if (b)
			g->in[b->first_in + b->nin++] = i;
	}
	assert_true(machine_load(&m->machine, "inorder-2w", &e));
	m->p.machine = &m->machine;
	m->p.sampling =
	    (struct calc_sampling){ .mode = CALC_ISSUE, .period = { [SAMPLED_CYCLES] = 1 } };
	m->proc = calc_add(&m->p, g);
	m->proc->nclasses = calc_classes(g, m->proc->block_class, m->proc->edge_class);
	m->proc->classes = x_calloc(m->proc->nclasses, sizeof(*m->proc->classes));
	for (uint32_t c = 0; c < m->proc->nclasses; c++)
		m->proc->classes[c].freq.value = NAN;
	return m->proc;
}

static void unmake(struct made *m)
{
	calc_free(&m->p);
	free(m->g.blocks);
	free(m->g.insts);
	free(m->g.edges);
	free(m->g.in);
}

/* One block with these samples and least times. */
static struct calc_class one_block(struct made *m, const double *s, const double *least, uint32_t n)
{
	uint32_t b = add_block(m, n);

	add_edge(m, b, CFG_OUTSIDE);
	add_edge(m, CFG_OUTSIDE, b);

	struct calc_proc *proc = finish(m);
	for (uint32_t i = 0; i < n; i++) {
		proc->insts[i].count[SAMPLED_CYCLES] = s[i];
		proc->insts[i].m = least[i];
	}
	calc_evidence(&m->p, proc);
	return proc->classes[proc->block_class[b]];
}

static struct calc_class class_of(const double *s, const double *least, uint32_t n)
{
	struct made m = { 0 };
	struct calc_class c = one_block(&m, s, least, n);

	unmake(&m);
	return c;
}

/* ---- clusters ---- */

/* The paper's copy loop. */
static const double copy_s[13] = { 3126, 0,    1636,   390,  1482, 0,	27766,
				   0,	 1493, 174727, 1548, 0,	   1586 };
static const double copy_m[13] = { 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1 };

static void test_2552_the_papers_copy_loop_has_the_papers_frequency(void **state)
{
	struct calc_class c = class_of(copy_s, copy_m, 13);

	assert_int_equal(round(c.freq.value), 1527);
	assert_int_equal(c.freq.origin, ORIGIN_CLUSTER);
	assert_int_equal(c.used, 4);
	assert_int_equal(c.issue_points, 8);
	assert_true(fabs(c.tightness - 1586.0 / 1482) < 1e-9);
	assert_true(c.freq.low < 1527 && c.freq.high > 1527);
}

static void test_2553_the_period_makes_executions_of_samples(void **state)
{
	struct made m = { 0 };
	struct calc_class c = one_block(&m, copy_s, copy_m, 13);

	m.p.sampling.period[SAMPLED_CYCLES] = 1000;
	calc_evidence(&m.p, m.proc);
	assert_true(fabs(m.proc->classes[m.proc->block_class[0]].freq.value - 1000 * c.freq.value) <
		    1e-6);
	unmake(&m);
}

static void test_2554_a_wait_with_others_between_is_taken_with_them(void **state)
{
	/* Instruction 3 waits for 0, 5 cycles in all; 2 stalls for 3 of them. */
	static const double s[] = { 1000, 1000, 4000, 0 + 10, 1000 };
	static const double least[] = { 1, 1, 1, 3, 1 };
	struct made m = { 0 };

	one_block(&m, s, least, 5);
	m.proc->insts[3].nfixed = 1;
	m.proc->insts[3].fixed[0] = (struct calc_static){ .why = STATIC_RA, .cycles = 2, .by = 0 };
	calc_evidence(&m.p, m.proc);
	/* Alone its ratio is 3.3 and would drag the mean down; with the others it is 5010 / 5. */
	assert_true(fabs(m.proc->classes[m.proc->block_class[0]].freq.value -
			 (1000 + 1000 + 1000 + 1002) / 4.0) < 1);
	unmake(&m);
}

static void test_2555_a_cluster_of_too_few_issue_points_is_discarded(void **state)
{
	double s[12], least[12];

	for (unsigned i = 0; i < 12; i++) {
		s[i] = i == 5 ? 400 : 1000;
		least[i] = 1;
	}
	assert_true(fabs(class_of(s, least, 12).freq.value - 1000) < 1e-9);
	/* Of four it is a quarter. */
	assert_true(fabs(class_of(s + 2, least, 4).freq.value - 400) < 1e-9);
}

static void test_2556_a_frequency_that_implies_an_impossible_stall_is_discarded(void **state)
{
	static const double least[] = { 1, 1, 1 };
	struct made m = { 0 };
	double s[] = { 100, 1000, 0 }, longest;

	one_block(&m, s, least, 3);
	longest = calc_longest_stall(&m.machine);
	unmake(&m);
	s[2] = 100 * longest;
	assert_true(fabs(class_of(s, least, 3).freq.value - 100) < 1e-9);
	/* More than twice the longest stall, if it is executed 100 times. */
	s[2] = 100 * 3 * longest;
	assert_true(fabs(class_of(s, least, 3).freq.value - 1000) < 1e-9);
}

static void test_2557_an_issue_point_whose_partner_has_samples_is_dropped(void **state)
{
	static const double least[] = { 1, 0, 1, 0, 1, 0 };
	static const double s[] = { 900, 100, 1000, 99, 1000, 0 };

	assert_true(fabs(class_of(s, least, 6).freq.value - 1000) < 1e-9);
	/* If all are to be dropped, none is. */
	assert_true(fabs(class_of(s, least, 2).freq.value - 900) < 1e-9);
}

static void test_2558_few_samples_are_pooled(void **state)
{
	static const double least[] = { 1, 1, 2, 0 };
	static const double s[] = { 3, 1, 8, 0 };
	struct calc_class c = class_of(s, least, 4);

	assert_true(fabs(c.freq.value - 3) < 1e-9);
	assert_int_equal(c.freq.origin, ORIGIN_POOLED);
	assert_int_equal(c.used, 3);
}

static void test_2559_no_samples_leave_a_bound_and_no_issue_points_leave_nothing(void **state)
{
	static const double least[] = { 1, 1, 2 }, none[] = { 0, 0, 0 }, s[] = { 5, 5, 5 };
	struct calc_class c = class_of(none, least, 3);

	assert_true(c.freq.value == 0);
	assert_int_equal(c.freq.origin, ORIGIN_NO_SAMPLES);
	assert_true(fabs(c.freq.high - 3.0 / 4) < 1e-9);
	c = class_of(s, none, 3);
	assert_true(isnan(c.freq.value));
	assert_int_equal(c.freq.origin, ORIGIN_NONE);
}

/* ---- propagation ---- */

static void know(struct made *m, uint32_t class, double f)
{
	m->proc->classes[class].freq =
	    (struct calc_freq){ .value = f, .low = f, .high = f, .origin = ORIGIN_CLUSTER };
}

/* Entry 0, branches to 1 or 2, which meet in 3. */
static void diamond(struct made *m)
{
	for (unsigned b = 0; b < 4; b++)
		add_block(m, 1);
	add_edge(m, 0, 1);
	add_edge(m, 0, 2);
	add_edge(m, 1, 3);
	add_edge(m, 2, 3);
	add_edge(m, 3, CFG_OUTSIDE);
	add_edge(m, CFG_OUTSIDE, 0);
	finish(m);
}

static void test_2560_what_flows_in_flows_out(void **state)
{
	struct made m = { 0 };

	diamond(&m);
	know(&m, m.proc->block_class[0], 100);
	know(&m, m.proc->block_class[1], 30);
	calc_propagate(&m.p, m.proc);
	assert_true(m.proc->blocks[3].value == 100); /* of 0's class */
	assert_true(m.proc->blocks[2].value == 70);
	assert_int_equal(m.proc->blocks[2].origin, ORIGIN_PROPAGATED);
	assert_true(m.proc->edges[1].value == 70 && m.proc->edges[3].value == 70);
	assert_true(m.proc->edges[0].value == 30);
	unmake(&m);
}

static void test_2561_a_frequency_is_never_negative(void **state)
{
	struct made m = { 0 };

	diamond(&m);
	know(&m, m.proc->block_class[0], 100);
	know(&m, m.proc->block_class[1], 130);
	calc_propagate(&m.p, m.proc);
	assert_true(m.proc->blocks[2].value == 0);
	unmake(&m);
}

static void test_2562_a_block_that_is_not_executed_has_no_edges_that_are(void **state)
{
	struct made m = { 0 };

	diamond(&m);
	know(&m, m.proc->block_class[0], 0);
	calc_propagate(&m.p, m.proc);
	assert_true(m.proc->blocks[1].value == 0 && m.proc->blocks[2].value == 0);
	unmake(&m);
}

static void test_2563_what_cannot_be_known_stays_unknown(void **state)
{
	struct made m = { 0 };

	diamond(&m);
	know(&m, m.proc->block_class[0], 100);
	calc_propagate(&m.p, m.proc);
	assert_true(isnan(m.proc->blocks[1].value) && isnan(m.proc->edges[1].value));
	assert_int_equal(m.proc->blocks[1].origin, ORIGIN_NONE);
	unmake(&m);
}

static void test_2564_a_block_that_an_unresolved_jump_may_enter_has_no_equation(void **state)
{
	struct made m = { 0 };

	for (unsigned b = 0; b < 3; b++)
		add_block(&m, 1);
	add_edge(&m, 0, 1);
	add_edge(&m, 0, 2);
	add_edge(&m, 1, CFG_OUTSIDE);
	add_edge(&m, 2, CFG_OUTSIDE);
	add_edge(&m, CFG_OUTSIDE, 0);
	m.g.missing = true;
	m.g.blocks[1].flags = CFG_BLOCK_MAYBE;
	finish(&m);
	know(&m, m.proc->block_class[1], 30);
	know(&m, m.proc->block_class[2], 20);
	calc_propagate(&m.p, m.proc);
	assert_true(m.proc->edges[1].value == 20);
	assert_true(isnan(m.proc->edges[0].value)); /* at most 30, not 30 */
	unmake(&m);
}

static void test_2565_a_loop_that_stands_on_both_sides_cancels_out(void **state)
{
	struct made m = { 0 };

	for (unsigned b = 0; b < 3; b++)
		add_block(&m, 1);
	add_edge(&m, 0, 1);
	add_edge(&m, 1, 1);
	add_edge(&m, 1, 2);
	add_edge(&m, 2, CFG_OUTSIDE);
	add_edge(&m, CFG_OUTSIDE, 0);
	finish(&m);
	know(&m, m.proc->block_class[0], 10);
	know(&m, m.proc->block_class[1], 1000);
	calc_propagate(&m.p, m.proc);
	assert_true(m.proc->edges[1].value == 990);
	assert_true(m.proc->edges[2].value == 10);
	unmake(&m);
}

/* A block with n successors that all go on to one block. */
static double seconds_of_fan(uint32_t n)
{
	struct made m = { 0 };
	struct timespec a, z;

	for (uint32_t b = 0; b < n + 2; b++)
		add_block(&m, 1);
	for (uint32_t b = 1; b <= n; b++)
		add_edge(&m, 0, b);
	for (uint32_t b = 1; b <= n; b++)
		add_edge(&m, b, n + 1);
	add_edge(&m, n + 1, CFG_OUTSIDE);
	add_edge(&m, CFG_OUTSIDE, 0);
	finish(&m);
	know(&m, m.proc->block_class[0], 2.0 * n);
	for (uint32_t b = 1; b < n; b++)
		know(&m, m.proc->block_class[b], 2);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	calc_propagate(&m.p, m.proc);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &z);
	assert_true(m.proc->blocks[n].value == 2);
	unmake(&m);
	return (double)(z.tv_sec - a.tv_sec) + 1e-9 * (double)(z.tv_nsec - a.tv_nsec);
}

static void test_2566_propagation_takes_time_linear_in_the_graph(void **state)
{
	/* Two million edges at two blocks: anything quadratic would take hours. */
	assert_true(seconds_of_fan(1000000) < 20);
}

static void test_2567_every_threshold_has_its_reason_and_what_half_and_twice_do(void **state)
{
	for (unsigned i = 0; i < CALC_THRESHOLDS; i++) {
		assert_true(calc_thresholds[i].value > 0);
		assert_true(strlen(calc_thresholds[i].reason) > 20);
		assert_true(strlen(calc_thresholds[i].half) > 5);
		assert_true(strlen(calc_thresholds[i].twice) > 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2552_the_papers_copy_loop_has_the_papers_frequency),
		cmocka_unit_test(test_2553_the_period_makes_executions_of_samples),
		cmocka_unit_test(test_2554_a_wait_with_others_between_is_taken_with_them),
		cmocka_unit_test(test_2555_a_cluster_of_too_few_issue_points_is_discarded),
		cmocka_unit_test(
		    test_2556_a_frequency_that_implies_an_impossible_stall_is_discarded),
		cmocka_unit_test(test_2557_an_issue_point_whose_partner_has_samples_is_dropped),
		cmocka_unit_test(test_2558_few_samples_are_pooled),
		cmocka_unit_test(
		    test_2559_no_samples_leave_a_bound_and_no_issue_points_leave_nothing),
		cmocka_unit_test(test_2560_what_flows_in_flows_out),
		cmocka_unit_test(test_2561_a_frequency_is_never_negative),
		cmocka_unit_test(test_2562_a_block_that_is_not_executed_has_no_edges_that_are),
		cmocka_unit_test(test_2563_what_cannot_be_known_stays_unknown),
		cmocka_unit_test(
		    test_2564_a_block_that_an_unresolved_jump_may_enter_has_no_equation),
		cmocka_unit_test(test_2565_a_loop_that_stands_on_both_sides_cancels_out),
		cmocka_unit_test(test_2566_propagation_takes_time_linear_in_the_graph),
		cmocka_unit_test(
		    test_2567_every_threshold_has_its_reason_and_what_half_and_twice_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
