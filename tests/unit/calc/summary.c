/* SPDX-License-Identifier: MIT */
/* 2650 to 2657: where cycles went. The period is 1, so cycles are samples; each instruction is a block. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calc/calc.h"

#define INSTS 8

struct fixture {
	struct cfg graph;
	struct cfg_block blocks[INSTS];
	struct calc_inst insts[INSTS];
	struct calc_freq freqs[INSTS];
	struct calc_culprit culprits[4 * INSTS];
	struct calc_proc proc;
	struct calc_program program;
};

static void begin(struct fixture *x)
{
	memset(x, 0, sizeof(*x));
	x->graph = (struct cfg){ .blocks = x->blocks };
	x->proc = (struct calc_proc){
		.graph = &x->graph, .insts = x->insts, .blocks = x->freqs, .culprits = x->culprits
	};
	x->program = (struct calc_program){ .procs = &x->proc, .nprocs = 1 };
	x->program.sampling.period[SAMPLED_CYCLES] = 1;
}

static struct calc_inst *add(struct fixture *x, double frequency, double m, double samples)
{
	const uint32_t n = x->graph.nblocks++;
	assert_true(n < INSTS);
	x->graph.ninsts++;
	x->blocks[n] = (struct cfg_block){ .first = n, .count = 1 };
	x->freqs[n] = (struct calc_freq){ .value = frequency, .confidence = CONFIDENCE_HIGH };
	x->insts[n] = (struct calc_inst){ .m = m, .first_culprit = 4 * n };
	x->insts[n].count[SAMPLED_CYCLES] = samples;
	return &x->insts[n];
}

static void blame(struct fixture *x, struct calc_inst *i, enum cause cause, double most)
{
	x->proc.culprits[i->first_culprit + i->nculprits++] =
	    (struct calc_culprit){ .cause = (uint8_t)cause, .most = most };
}

static struct calc_summary sum(const struct fixture *x, enum confidence least)
{
	return calc_summarise(&x->program, &x->proc, least);
}

static double tenths(double share)
{
	return round(1000 * share) / 10;
}

static void is_near(double a, double b)
{
	if (!(fabs(a - b) < 1e-9))
		fail_msg("%.12g is not %.12g", a, b);
}

static double tallied(const struct calc_summary *s)
{
	return s->dynamic_total + s->static_total + s->execution + s->net_error;
}

/* Figure 4 of dcpi1997, whose rows overlap as those of one stall with four causes do. */
static void test_2650_the_rows_of_figure_4_come_out(void **state)
{
	struct fixture x;
	begin(&x);
	blame(&x, add(&x, 1000, 1, 3788), CAUSE_DCACHE, 99999);
	struct calc_inst *i = add(&x, 1000, 1, 2826);
	blame(&x, i, CAUSE_DTLB, 99999);
	blame(&x, i, CAUSE_WRITE, 627);
	blame(&x, i, CAUSE_BRANCH, 256);
	blame(&x, i, CAUSE_ICACHE, 24);
	add(&x, 1000, 1, 1226); /* unexplained */
	add(&x, 1000, 1, 568);	/* a gain */
	i = add(&x, 20, 24, 480);
	i->fixed[0] = (struct calc_static){ .why = STATIC_SLOT, .cycles = 9 };
	i->fixed[1] = (struct calc_static){ .why = STATIC_RA, .cycles = 10 };
	i->fixed[2] = (struct calc_static){ .why = STATIC_RB, .cycles = 5 };
	i->nfixed = 3;
	add(&x, 1120, 1, 1112); /* chance */
	add(&x, 700, 1, 741);
	x.freqs[6].confidence = CONFIDENCE_LOW;

	const struct calc_summary s = sum(&x, CONFIDENCE_MEDIUM);
	static const struct {
		enum cause cause;
		double least, most;
	} rows[] = { { CAUSE_ITLB, 0, 0 },	{ CAUSE_DCACHE, 27.9, 27.9 },
		     { CAUSE_DTLB, 9.2, 18.3 }, { CAUSE_WRITE, 0, 6.3 },
		     { CAUSE_SYNC, 0, 0 },	{ CAUSE_BRANCH, 0, 2.6 },
		     { CAUSE_MULTIPLY, 0, 0 },	{ CAUSE_DIVIDE, 0, 0 } };
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		is_near(tenths(s.dynamic[rows[k].cause].least), rows[k].least);
		is_near(tenths(s.dynamic[rows[k].cause].most), rows[k].most);
	}
	is_near(tenths(s.unexplained_stall), 2.3);
	is_near(tenths(s.unexplained_gain), -4.3);
	is_near(tenths(s.dynamic_total), 44.1);
	is_near(tenths(s.fixed[STATIC_SLOT]), 1.8);
	is_near(tenths(s.fixed[STATIC_RA]), 2.0);
	is_near(tenths(s.fixed[STATIC_RB]), 1.0);
	is_near(tenths(s.fixed[STATIC_RC]), 0);
	is_near(tenths(s.fixed[STATIC_UNIT]), 0);
	is_near(tenths(s.static_total), 4.8);
	is_near(tenths(s.execution), 51.2);
	is_near(tenths(s.net_error), -0.1);
	assert_true(tallied(&s) == 1);
	is_near(s.samples, 10741);
	is_near(tenths(s.included), 93.1);
	is_near(s.best_cpi, 5600.0 / 5140);
	is_near(s.cpi, 10000.0 / 5140);
}

static void test_2651_a_cause_alone_has_its_whole_stall_up_to_its_bound(void **state)
{
	struct fixture x;
	begin(&x);
	blame(&x, add(&x, 100, 1, 1100), CAUSE_DCACHE, 400);
	const struct calc_summary s = sum(&x, CONFIDENCE_LOW);
	is_near(s.dynamic[CAUSE_DCACHE].least, 400 / 1100.0);
	is_near(s.dynamic[CAUSE_DCACHE].most, 400 / 1100.0);
	is_near(s.unexplained_stall, 600 / 1100.0);
	is_near(s.dynamic_total, 1000 / 1100.0);
	is_near(s.execution, 100 / 1100.0);
	assert_true(tallied(&s) == 1);
}

static void test_2652_causes_without_a_bound_range_from_nothing_to_all(void **state)
{
	struct fixture x;
	begin(&x);
	struct calc_inst *i = add(&x, 100, 1, 1100);
	blame(&x, i, CAUSE_DCACHE, INFINITY);
	blame(&x, i, CAUSE_KERNEL, INFINITY);
	const struct calc_summary s = sum(&x, CONFIDENCE_LOW);
	is_near(s.dynamic[CAUSE_DCACHE].least, 0);
	is_near(s.dynamic[CAUSE_DCACHE].most, 1000 / 1100.0);
	is_near(s.dynamic[CAUSE_KERNEL].least, 0);
	is_near(s.unexplained_stall, 0);
	assert_true(tallied(&s) == 1);
}

static void test_2653_what_chance_can_make_is_an_error_and_a_fact_is_not(void **state)
{
	struct fixture x;
	begin(&x);
	blame(&x, add(&x, 10000, 1, 10150), CAUSE_BRANCH, 99999); /* 1.5 deviations, 0.015 cycles */
	struct calc_summary s = sum(&x, CONFIDENCE_LOW);
	is_near(s.dynamic[CAUSE_BRANCH].most, 0);
	is_near(s.net_error, 150 / 10150.0);

	begin(&x);
	blame(&x, add(&x, 1e6, 1, 1.015e6), CAUSE_BRANCH, 99999); /* 15 deviations, 0.015 cycles */
	s = sum(&x, CONFIDENCE_LOW);
	is_near(s.dynamic[CAUSE_BRANCH].most, 15e3 / 1.015e6);
	is_near(s.net_error, 0);

	begin(&x);
	blame(&x, add(&x, 1, 1, 3), CAUSE_BRANCH, 99999); /* 1.2 deviations, 2 cycles */
	s = sum(&x, CONFIDENCE_LOW);
	is_near(s.dynamic[CAUSE_BRANCH].most, 2 / 3.0);
	is_near(s.net_error, 0);
}

static void test_2654_unknown_and_distrusted_frequencies_are_left_out(void **state)
{
	struct fixture x;
	begin(&x);
	add(&x, 100, 1, 100);
	add(&x, NAN, 1, 300);
	add(&x, 0, 1, 50);
	add(&x, 500, 1, 550);
	x.freqs[3].confidence = CONFIDENCE_MEDIUM;
	struct calc_summary s = sum(&x, CONFIDENCE_LOW);
	is_near(s.included, 0.65);
	s = sum(&x, CONFIDENCE_HIGH);
	is_near(s.included, 0.1);
	is_near(s.cpi, 1);
}

static void test_2655_no_samples_are_no_shares(void **state)
{
	struct fixture x;
	begin(&x);
	add(&x, 0, 1, 0);
	const struct calc_summary s = sum(&x, CONFIDENCE_LOW);
	is_near(s.included, 0);
	is_near(s.net_error, 0);
	assert_true(isnan(s.cpi) && isnan(s.best_cpi));
}

static void test_2656_static_stalls_never_exceed_the_least_time(void **state)
{
	struct fixture x;
	begin(&x);
	struct calc_inst *i = add(&x, 1000, 1.5, 1500); /* the mean of two edges: 1 and 2 */
	i->fixed[0] = (struct calc_static){ .why = STATIC_RA, .cycles = 2 };
	i->fixed[1] = (struct calc_static){ .why = STATIC_UNIT, .cycles = 1 };
	i->nfixed = 2;
	const struct calc_summary all = calc_summarise(&x.program, NULL, CONFIDENCE_LOW);
	is_near(all.fixed[STATIC_RA], 2 / 3.0);
	is_near(all.fixed[STATIC_UNIT], 1 / 3.0);
	is_near(all.execution, 0);
	assert_true(tallied(&all) == 1);
}

static void test_2657_an_empty_slot_is_half_a_cycle(void **state)
{
	struct fixture x;
	begin(&x);
	struct calc_inst *i = add(&x, 1000, 1, 1000);
	i->fixed[0] = (struct calc_static){ .why = STATIC_SLOT, .cycles = 0 };
	i->nfixed = 1;
	const struct calc_summary s = sum(&x, CONFIDENCE_LOW);
	is_near(s.fixed[STATIC_SLOT], 0.5);
	is_near(s.execution, 0.5);
	assert_true(tallied(&s) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2650_the_rows_of_figure_4_come_out),
		cmocka_unit_test(test_2651_a_cause_alone_has_its_whole_stall_up_to_its_bound),
		cmocka_unit_test(test_2652_causes_without_a_bound_range_from_nothing_to_all),
		cmocka_unit_test(test_2653_what_chance_can_make_is_an_error_and_a_fact_is_not),
		cmocka_unit_test(test_2654_unknown_and_distrusted_frequencies_are_left_out),
		cmocka_unit_test(test_2655_no_samples_are_no_shares),
		cmocka_unit_test(test_2656_static_stalls_never_exceed_the_least_time),
		cmocka_unit_test(test_2657_an_empty_slot_is_half_a_cycle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
