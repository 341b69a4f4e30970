/* SPDX-License-Identifier: MIT */
/*
 * CPI stacks of real programs on the modelled core (machine eyerman2006): each kernel has one cause
 * of lost cycles, whose cost is what idealising it gains.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>

#include "../core/harness.h"
#include "analysis/cpistack/cpistack.h"
#include "trace/file.h"

#define BATCH 4096

/* Hands batches to the analysis as the bus does. */
struct listener {
	struct emit emit; /* must come first: full() gets a pointer to it */
	struct rec_cycle cycles[BATCH];
	struct rec_inst insts[BATCH];
	struct cpistack stack;
};

static void deliver(struct emit *e)
{
	struct listener *l = (struct listener *)e;
	struct err err = { "" };
	if (!cpistack_analysis.batch(&l->stack, l->insts, e->ninsts, l->cycles, e->ncycles, &err))
		fail_msg("%s", err.text);
	e->ninsts = e->ncycles = 0;
}

/* Runs a program and analyses it; done() frees the result. */
static struct listener *analyse_program(const char *machine, char **args)
{
	struct listener *l = x_calloc(1, sizeof(*l));
	struct machine config;
	struct trace_info info = { .machine = &config };
	struct analysis_options o = { .info = &info };
	struct guest_config gc = { .argv = args };
	struct trace_meta meta;
	struct err e = { "" };
	config_of(&config, machine, NULL);
	struct guest *g = guest_new(&gc, &e);
	assert_non_null(g);
	l->emit = (struct emit){ .cycles = l->cycles,
				 .insts = l->insts,
				 .max_cycles = BATCH,
				 .max_insts = BATCH,
				 .wants = cpistack_analysis.wants,
				 .full = deliver };
	struct core *c = core_new(&config, g, &l->emit, &e);
	assert_non_null(c);
	core_meta(c, &meta);
	assert_true(cpistack_analysis.start(&l->stack, &meta, &o, &e));
	assert_int_equal(core_run(c, 0), CORE_ENDED);
	deliver(&l->emit);
	assert_true(cpistack_analysis.finish(&l->stack, NULL, &e));
	assert_int_equal(l->stack.now.cycles, core_stats(c)->cycles);
	assert_int_equal(l->stack.now.insts, core_stats(c)->insts);
	core_free(c);
	guest_free(g);
	for (unsigned m = 0; m < METHODS; m++) {
		int64_t sum = 0;
		if (m == METHOD_STALLS && !meta.in_order)
			continue;
		for (unsigned k = 0; k < CPI_COMPONENTS; k++)
			sum += l->stack.now.method[m][k];
		assert_int_equal(sum, l->stack.now.cycles * cpi_scale(&l->stack, m));
	}
	return l;
}

static struct listener *analyse_on(const char *machine, unsigned kernel, uint64_t rounds,
				   unsigned size, unsigned stride)
{
	char text[4][32];
	char *args[] = { (char *)KERNELS, text[0], text[1], text[2], text[3], NULL };
	snprintf(text[0], sizeof(text[0]), "%u", kernel);
	snprintf(text[1], sizeof(text[1]), "%" PRIu64, rounds);
	snprintf(text[2], sizeof(text[2]), "%u", size);
	snprintf(text[3], sizeof(text[3]), "%u", stride);
	return analyse_program(machine, args);
}

static struct listener *analyse(unsigned kernel, uint64_t rounds, unsigned size, unsigned stride)
{
	return analyse_on("eyerman2006", kernel, rounds, size, stride);
}

static double share(const struct listener *l, enum cpi_method m, enum cpi_component k)
{
	return (double)l->stack.now.method[m][k] / (double)cpi_scale(&l->stack, m) /
	       (double)l->stack.now.cycles;
}

/* Returns the cycles without long D-misses and page walks, and without mispredictions if `ideal`
 * says so. */
static double cycles_without_misses(unsigned kernel, uint64_t rounds, unsigned size,
				    unsigned stride, const char *ideal)
{
	struct kernel_run k = { .machine = "eyerman2006",
				.kernel = kernel,
				.size = size,
				.stride = stride,
				.sets = SETS("ideal.dmem=on", "ideal.dtlb=on", ideal) };
	return (double)run_kernel(&k, rounds).cycles;
}

/* Returns what the cause costs by simulation, as a share of the cycles. */
static double simulated_on(const char *machine, unsigned kernel, uint64_t rounds, unsigned size,
			   unsigned stride, const char *ideal)
{
	struct kernel_run real = {
		.machine = machine, .kernel = kernel, .size = size, .stride = stride
	};
	struct kernel_run perfect = real;
	perfect.sets = SETS(ideal);
	double cycles = (double)run_kernel(&real, rounds).cycles;
	return (cycles - (double)run_kernel(&perfect, rounds).cycles) / cycles;
}

static double simulated(unsigned kernel, uint64_t rounds, unsigned size, unsigned stride,
			const char *ideal)
{
	return simulated_on("eyerman2006", kernel, rounds, size, stride, ideal);
}

static void done(struct listener *l)
{
	cpistack_analysis.free(&l->stack);
	free(l);
}

static void assert_within(double counted, double truth, double tolerance)
{
	if (counted < truth - tolerance || counted > truth + tolerance)
		fail_msg("counted %.4f of the cycles, simulated %.4f", counted, truth);
}

static void test_660_i_misses_of_straight_code_cost_what_they_cost_the_core(void **state)
{
	struct listener *l = analyse(13, 6, 4096, 64);
	double truth = simulated(13, 6, 4096, 64, "ideal.imiss=on");
	double lines = (double)l->stack.events[1][CPI_L1I] + (double)l->stack.events[1][CPI_L2I];
	assert_true(truth > 0.5);
	assert_true(lines > 5000);
	for (unsigned m = METHOD_FMT; m <= METHOD_SFMT; m++)
		assert_within(share(l, m, CPI_L1I) + share(l, m, CPI_L2I), truth, 0.04);
	/* an L2 hit costs between 8 and 9 cycles (figure 4) */
	double each = share(l, METHOD_FMT, CPI_L1I) * (double)l->stack.now.cycles /
		      (double)l->stack.events[1][CPI_L1I];
	assert_true(each > 7 && each < 9.5);
	done(l);
}

static void test_661_mispredicted_branches_cost_what_they_cost_the_core(void **state)
{
	struct listener *l = analyse(17, 3000, 4096, 64);
	double truth = simulated(17, 3000, 4096, 64, "ideal.bmisp=on");
	assert_true(truth > 0.3);
	assert_within(share(l, METHOD_FMT, CPI_BMISP), truth, 0.04);
	assert_within(share(l, METHOD_SFMT, CPI_BMISP), truth, 0.04);
	/* an empty ROB is only a part of the penalty (figure 6) */
	assert_true(share(l, METHOD_POWER5, CPI_BMISP) < truth - 0.1);
	done(l);
}

static void test_662_isolated_long_misses_cost_what_they_cost_the_core(void **state)
{
	struct listener *l = analyse(3, 200, 2 * MB, 64);
	double truth = simulated(3, 200, 2 * MB, 64, "ideal.dmem=on");
	assert_true(truth > 0.5);
	assert_within(share(l, METHOD_FMT, CPI_L2D), truth, 0.04);
	done(l);
}

static void test_663_overlapping_long_misses_cost_one_penalty(void **state)
{
	struct listener *l = analyse(9, 20000, 2 * MB, 64);
	double truth = simulated(9, 20000, 2 * MB, 64, "ideal.dmiss=on");
	assert_true(truth > 0.2);
	double counted = share(l, METHOD_FMT, CPI_L1D) + share(l, METHOD_FMT, CPI_L2D);
	/* The loop's own chain of additions runs on under the misses; the ideal clock knows that. */
	assert_within(counted, truth, 0.01);
	/* naive counts every miss in full (figure 9) */
	assert_true(share(l, METHOD_NAIVE, CPI_L2D) > 2 * truth);
	assert_true(l->stack.now.method[METHOD_NAIVE][CPI_BASE] < 0);
	done(l);
}

/* A long miss and a mispredicted branch coincide. In the order of eyerman2006 section 5.2 the
 * branch gets what it costs without the miss, and the miss gets the rest. Fills in both costs by
 * simulation. */
static struct listener *analyse_both(unsigned kernel, double *branch, double *miss)
{
	enum { ROUNDS = 3000 };
	struct listener *l = analyse(kernel, ROUNDS, 4 * MB, 1024);
	double without_miss =
	    cycles_without_misses(kernel, ROUNDS, 4 * MB, 1024, "ideal.bmisp=off");
	double without_both = cycles_without_misses(kernel, ROUNDS, 4 * MB, 1024, "ideal.bmisp=on");
	*branch = without_miss - without_both;
	*miss = (double)l->stack.now.cycles - without_miss;
	/* each cycle has one cause: a full ROB counts for the miss and not for the branch, too */
	assert_true(l->stack.overlap > 0);
	return l;
}

static double cycles_of(const struct listener *l, enum cpi_method m, enum cpi_component k)
{
	return share(l, m, k) * (double)l->stack.now.cycles;
}

static void test_664_a_mispredict_that_resolves_under_a_long_miss_costs_what_it_costs(void **state)
{
	double branch, miss;
	struct listener *l = analyse_both(20, &branch, &miss);
	double each = branch / (double)l->stack.events[1][CPI_BMISP];
	double cycles = (double)l->stack.now.cycles;
	assert_true(each > 5 && each < 10);
	for (unsigned m = METHOD_FMT; m <= METHOD_SFMT; m++) {
		assert_within(cycles_of(l, m, CPI_BMISP) / branch, 1, 0.11);
		assert_within(share(l, m, CPI_L2D) + share(l, m, CPI_DTLB), miss / cycles, 0.01);
	}
	/* the ROB is not empty, so POWER5 does not see the branch */
	assert_true(cycles_of(l, METHOD_POWER5, CPI_BMISP) < 0.1 * branch);
	done(l);
}

static void test_665_a_mispredict_that_waits_for_a_long_miss_costs_what_others_do(void **state)
{
	double branch, miss;
	struct listener *l = analyse_both(21, &branch, &miss);
	double events = (double)l->stack.events[1][CPI_BMISP];
	double cycles = (double)l->stack.now.cycles;
	for (unsigned m = METHOD_FMT; m <= METHOD_SFMT; m++) {
		assert_true(cycles_of(l, m, CPI_BMISP) > 0.9 * branch);
		assert_true(cycles_of(l, m, CPI_BMISP) < branch + events * 9);
		assert_within(share(l, m, CPI_BMISP) + share(l, m, CPI_L2D) + share(l, m, CPI_DTLB),
			      (branch + miss) / cycles, 0.01);
	}
	done(l);
}

static void test_666_i_misses_of_wrong_paths_are_counted_by_naive_only(void **state)
{
	struct listener *l = analyse(22, 4000, 4096, 64);
	double truth = simulated(22, 4000, 4096, 64, "ideal.imiss=on");
	double all = (double)l->stack.events[0][CPI_L1I],
	       right = (double)l->stack.events[1][CPI_L1I];
	/* most mispredictions fetch the other block and so evict the right one */
	assert_true(right > 1000);
	assert_true(all - right > 1000);
	assert_within(share(l, METHOD_FMT, CPI_L1I), truth, 0.04);
	assert_within(share(l, METHOD_NAIVE_NON_SPEC, CPI_L1I), truth, 0.04);
	assert_true(share(l, METHOD_NAIVE, CPI_L1I) > truth + 0.1);
	assert_true(share(l, METHOD_FMT, CPI_L1I) * (double)l->stack.now.cycles < 10 * right);
	done(l);
}

/* The I-misses happen while the store's line is on its way, before the load that waits for it is at
 * the head; they hide the wait all the same. */
static void test_667_the_orders_differ_by_what_i_misses_hide_of_a_long_miss(void **state)
{
	struct listener *l = analyse_program("eyerman2006", (char *[]){ (char *)HIDDEN, NULL });
	struct kernel_run k = { .machine = "eyerman2006", .program = HIDDEN };
	double real = (double)l->stack.now.cycles, width = 4;
	k.sets = SETS("ideal.imiss=on", "ideal.itlb=on");
	double data = (double)run_kernel(&k, 0).cycles;
	k.sets = SETS("ideal.dmem=on", "ideal.dtlb=on");
	double code = (double)run_kernel(&k, 0).cycles;
	k.sets = SETS("ideal.imiss=on", "ideal.itlb=on", "ideal.dmem=on", "ideal.dtlb=on");
	double neither = (double)run_kernel(&k, 0).cycles;
	double apart = code - neither - (real - data);
	/* nearly all that I-misses cost alone is hidden */
	assert_true(apart > 0.7 * (code - neither));
	assert_true(apart > 1.1 * (double)l->stack.overlap / width);
	assert_true(apart < (double)l->stack.beside_long / width);
	assert_true(apart > 0.7 * (double)l->stack.beside_long / width);
	done(l);
}

static void test_3962_stall_counters_of_a_machine_in_order_are_what_causes_cost(void **state)
{
	static const struct {
		unsigned kernel, rounds, size, stride;
		const char *ideal;
		enum cpi_component from, to;
	} all[] = {
		{ 13, 6, 4096, 64, "ideal.imiss=on", CPI_L1I, CPI_L2I },
		{ 17, 3000, 4096, 64, "ideal.bmisp=on", CPI_BMISP, CPI_BMISP },
		{ 3, 200, 2 * MB, 64, "ideal.dmiss=on", CPI_L1D, CPI_L2D },
	};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct listener *l = analyse_on("inorder-2w", all[i].kernel, all[i].rounds,
						all[i].size, all[i].stride);
		const double truth = simulated_on("inorder-2w", all[i].kernel, all[i].rounds,
						  all[i].size, all[i].stride, all[i].ideal);
		double counted = 0;
		for (unsigned k = all[i].from; k <= (unsigned)all[i].to; k++)
			counted += share(l, METHOD_STALLS, k);
		assert_true(truth > 0.05);
		assert_within(counted, truth, 0.04);
		done(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_660_i_misses_of_straight_code_cost_what_they_cost_the_core),
		cmocka_unit_test(test_661_mispredicted_branches_cost_what_they_cost_the_core),
		cmocka_unit_test(test_662_isolated_long_misses_cost_what_they_cost_the_core),
		cmocka_unit_test(test_663_overlapping_long_misses_cost_one_penalty),
		cmocka_unit_test(
		    test_664_a_mispredict_that_resolves_under_a_long_miss_costs_what_it_costs),
		cmocka_unit_test(
		    test_665_a_mispredict_that_waits_for_a_long_miss_costs_what_others_do),
		cmocka_unit_test(test_666_i_misses_of_wrong_paths_are_counted_by_naive_only),
		cmocka_unit_test(
		    test_3962_stall_counters_of_a_machine_in_order_are_what_causes_cost),
		cmocka_unit_test(test_667_the_orders_differ_by_what_i_misses_hide_of_a_long_miss),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
