/* SPDX-License-Identifier: MIT */
/*
 * Methods profi, flow and bit, and the evidence of commit states and of branch records, on random programs
 * whose every count is known.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "calc/parts.h"
#include "scene.h"

extern const struct calc_method calc_dcpi;

#define SEEDS 6

static struct scene_score mean_score(struct scene_options o, const struct calc_method *method)
{
	struct scene_score sum = { 0 };
	for (o.seed = 1; o.seed <= SEEDS; o.seed++) {
		struct scene *s = scene_new(&o);
		scene_run(s, method);
		struct scene_score r = scene_score(s);
		for (unsigned k = 0; k < 3; k++) {
			sum.blocks[k] += r.blocks[k] / SEEDS;
			sum.edges[k] += r.edges[k] / SEEDS;
		}
		sum.wrong += r.wrong / SEEDS;
		sum.high += r.high / SEEDS;
		sum.interval += r.interval / SEEDS;
		scene_free(s);
	}
	print_message("%-6s blocks within 5, 10, 15%%: %3.0f %3.0f %3.0f, edges %3.0f %3.0f %3.0f; "
		      "high %3.0f, wrong %.1f, interval %3.0f\n",
		      method->name, 100 * sum.blocks[0], 100 * sum.blocks[1], 100 * sum.blocks[2],
		      100 * sum.edges[0], 100 * sum.edges[1], 100 * sum.edges[2], 100 * sum.high,
		      100 * sum.wrong, 100 * sum.interval);
	return sum;
}

static const struct scene_options usual = {
	.procs = 12, .size = 40, .steps = 40000, .times = 1000, .samples = 100000, .stalls = 0.4
};

static void assert_ahead(const struct scene_score *a, const struct scene_score *b)
{
	for (unsigned k = 0; k < 3; k++) {
		assert_true(a->blocks[k] > b->blocks[k]);
		assert_true(a->edges[k] > b->edges[k]);
	}
}

static void test_2610_flow_is_ahead_of_profi_and_of_propagation(void **state)
{
	for (unsigned irreducible = 0; irreducible < 2; irreducible++) {
		struct scene_options o = usual;
		o.irreducible = irreducible;
		struct scene_score dcpi = mean_score(o, &calc_dcpi);
		struct scene_score profi = mean_score(o, &calc_profi);
		struct scene_score flow = mean_score(o, &calc_flow);
		assert_ahead(&flow, &profi);
		assert_ahead(&flow, &dcpi);
	}
}

static void test_2611_one_more_bit_is_ahead_of_all(void **state)
{
	struct scene_score flow = mean_score(usual, &calc_flow), bit = mean_score(usual, &calc_bit);
	assert_ahead(&bit, &flow);
	assert_true(bit.blocks[0] > 0.95 && bit.edges[1] > 0.95);
}

static void test_2612_commits_tell_frequencies_whatever_stalls(void **state)
{
	struct scene_options o = usual;
	o.commits = true;
	o.stalls = 1;
	struct scene_score flow = mean_score(o, &calc_flow);
	assert_true(flow.blocks[0] > 0.9 && flow.edges[1] > 0.9);
	assert_true(flow.wrong <= 0.02);
}

static void test_2613_what_is_wrong_is_called_low_and_most_is_high(void **state)
{
	for (unsigned irreducible = 0; irreducible < 2; irreducible++) {
		struct scene_options o = usual;
		o.irreducible = irreducible;
		struct scene_score flow = mean_score(o, &calc_flow);
		assert_true(flow.wrong <= 0.02);
		assert_true(flow.high >= (irreducible ? 0.6 : 0.8));
		assert_true(flow.interval >= 0.93);
	}
}

/* Blocks get what flows in and pass it on; a callee is entered as often as it is called. */
static void test_2614_equations_hold(void **state)
{
	struct scene_options o = usual;
	o.irreducible = true;
	o.seed = 5;
	const struct calc_method *methods[] = { &calc_profi, &calc_flow, &calc_bit };
	for (unsigned k = 0; k < 3; k++) {
		struct scene *s = scene_new(&o);
		scene_run(s, methods[k]);
		for (uint32_t i = 0; i < s->p.nprocs; i++) {
			const struct calc_proc *proc = &s->p.procs[i];
			const struct cfg *g = proc->graph;
			for (uint32_t b = 0; b < g->nblocks; b++) {
				double in = 0, out = 0, value = proc->blocks[b].value;
				for (uint32_t e = 0; e < g->blocks[b].nin; e++)
					in += proc->edges[g->in[g->blocks[b].first_in + e]].value;
				for (uint32_t e = 0; e < g->blocks[b].nout; e++)
					out += proc->edges[g->blocks[b].first_out + e].value;
				assert_true(fabs(in - value) <= 1e-6 * value);
				assert_true(fabs(out - value) <= 1e-6 * value);
			}
		}
		scene_free(s);
	}
}

static void test_2615_the_same_samples_give_the_same_numbers(void **state)
{
	struct scene_options o = usual;
	o.seed = 9;
	struct scene *a = scene_new(&o), *b = scene_new(&o);
	scene_run(a, &calc_flow);
	scene_run(b, &calc_flow);
	scene_run(b, &calc_flow);
	for (uint32_t i = 0; i < a->p.nprocs; i++)
		assert_memory_equal(a->p.procs[i].edges, b->p.procs[i].edges,
				    a->p.procs[i].graph->nedges * sizeof(struct calc_freq));
	scene_free(a);
	scene_free(b);
}

/*
 * A leaf of one instruction that always stalls: its own samples say three times too much. Its only
 * caller knows better.
 */
static void test_2616_callers_know_how_often_a_stalled_leaf_runs(void **state)
{
	struct scene_options o = {
		.seed = 1, .procs = 2, .size = 2, .steps = 10, .times = 1, .samples = 1000
	};
	struct scene *s = scene_new(&o);
	struct calc_proc *caller = &s->p.procs[0], *leaf = &s->p.procs[1];
	s->p.sampling.period[SAMPLED_CYCLES] = 100;
	for (uint32_t i = 0; i < caller->graph->ninsts; i++)
		caller->insts[i] = (struct calc_inst){ .m = 1, .count = { 10000 + i } };
	for (uint32_t i = 0; i < leaf->graph->ninsts; i++)
		leaf->insts[i] = (struct calc_inst){ .m = i == 0, .count = { i == 0 ? 30000 : 0 } };
	for (uint32_t b = 0; b < caller->graph->nblocks; b++)
		caller->graph->blocks[b].flags = 0;
	caller->samples = leaf->samples = 30000;
	scene_run(s, &calc_flow);
	assert_true(leaf->blocks[0].value > 2.5e6);
	caller->graph->blocks[0].flags = CFG_BLOCK_CALLS;
	caller->graph->blocks[0].callee = leaf->graph->start;
	scene_run(s, &calc_flow);
	assert_true(fabs(leaf->blocks[0].value / 1e6 - 1) < 0.1);
	assert_true(fabs(caller->blocks[0].value / 1e6 - 1) < 0.05);
	scene_free(s);
}

static void test_2617_branch_records_tell_edges_whatever_stalls(void **state)
{
	struct scene_options o = usual;
	o.irreducible = true;
	o.stalls = 1;
	struct scene_score samples = mean_score(o, &calc_flow);
	o.records = true;
	struct scene_score flow = mean_score(o, &calc_flow), profi = mean_score(o, &calc_profi);
	assert_ahead(&flow, &samples);
	assert_true(flow.blocks[0] > 0.95 && flow.edges[1] > 0.95 && profi.edges[1] > 0.9);
	assert_true(flow.wrong <= 0.02 && flow.interval >= 0.93);
	/* Method bit has nothing to read. */
	struct scene *s = scene_new(&o);
	struct err e = { "" };
	s->p.options.method = "bit";
	assert_false(calc_run(&s->p, &e));
	assert_non_null(strstr(e.text, "oldest instruction"));
	scene_free(s);
}

/* Without a schedule, what sets samples of equally frequent instructions apart says how far to trust them. */
static void test_2618_live_intervals_are_as_wide_as_instructions_differ(void **state)
{
	struct scene_options o = usual;
	o.relative = true;
	struct scene_score unequal = mean_score(o, &calc_flow);
	o.stalls = 0;
	struct scene_score equal = mean_score(o, &calc_flow);
	assert_true(unequal.interval > 0.8);
	assert_true(equal.blocks[0] > 0.9 && equal.interval > 0.8);
	double width[2];
	for (unsigned k = 0; k < 2; k++) {
		o.stalls = k;
		o.seed = 3;
		struct scene *s = scene_new(&o);
		scene_run(s, &calc_flow);
		const struct calc_proc *proc = &s->p.procs[0];
		double value = 0;
		width[k] = 0;
		for (uint32_t b = 0; b < proc->graph->nblocks; b++) {
			const struct calc_freq *f = &proc->blocks[b];
			width[k] += f->high - f->low;
			value += f->value;
			assert_int_equal(f->confidence, CONFIDENCE_LOW);
		}
		width[k] /= value;
		scene_free(s);
	}
	print_message("widths %.2f and %.2f\n", width[0], width[1]);
	assert_true(width[1] > 2 * width[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2610_flow_is_ahead_of_profi_and_of_propagation),
		cmocka_unit_test(test_2611_one_more_bit_is_ahead_of_all),
		cmocka_unit_test(test_2612_commits_tell_frequencies_whatever_stalls),
		cmocka_unit_test(test_2613_what_is_wrong_is_called_low_and_most_is_high),
		cmocka_unit_test(test_2614_equations_hold),
		cmocka_unit_test(test_2615_the_same_samples_give_the_same_numbers),
		cmocka_unit_test(test_2616_callers_know_how_often_a_stalled_leaf_runs),
		cmocka_unit_test(test_2617_branch_records_tell_edges_whatever_stalls),
		cmocka_unit_test(test_2618_live_intervals_are_as_wide_as_instructions_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
