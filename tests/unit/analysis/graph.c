/* SPDX-License-Identifier: MIT */
/* 650: the dependence graph: every lane against brute force, kernels against each other, icosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/icost/graph.h"
#include "util/util.h"

#define MAX_INSTS 400

static uint32_t latency(const struct graph_part *parts, unsigned n, unsigned lane)
{
	uint32_t sum = 0;
	for (unsigned i = 0; i < n; i++)
		if (parts[i].category == CAT_NONE || !(lane >> parts[i].category & 1))
			sum += parts[i].cycles;
	return sum;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* One lane, node by node, straight from table II. Index 0 is before the first instruction. */
static uint64_t brute_force(const struct graph_config *g, const struct graph_inst *insts, size_t n,
			    unsigned lane)
{
	static uint64_t d[MAX_INSTS + 1], p[MAX_INSTS + 1], c[MAX_INSTS + 1];
	const bool bw = !(lane >> CAT_BW & 1);
	const uint32_t window = lane >> CAT_WIN & 1 ? g->window_ideal : g->window;
	d[0] = p[0] = c[0] = 0;
	for (size_t i = 1; i <= n; i++) {
		const struct graph_inst *in = &insts[i - 1];
		d[i] = d[i - 1] + latency(in->dd, GRAPH_PARTS, lane);
		if (bw)
			d[i] = later(d[i], (i > g->fetch_width ? d[i - g->fetch_width] : 0) + 1);
		d[i] = later(d[i], (i > window ? c[i - window] : 0) + in->cd);
		if (in->after_mispredict && !(lane >> CAT_BMISP & 1))
			d[i] = later(d[i], p[i - 1] + in->pd);
		uint64_t r = d[i] + in->dr;
		for (unsigned k = 0; k < in->nproducers; k++) {
			uint32_t j = in->producer[k].distance;
			r = later(r, (j < i ? p[i - j] : 0) + in->producer[k].cycles);
		}
		p[i] = r + latency(&in->re, 1, lane) + latency(in->ep, GRAPH_PARTS, lane);
		if (in->line && !(lane >> CAT_DMISS & 1))
			p[i] = later(p[i], in->line < i ? p[i - in->line] : 0);
		c[i] =
		    later(p[i] + latency(&in->pc, 1, lane), c[i - 1] + latency(&in->cc, 1, lane));
		if (bw)
			c[i] = later(c[i], (i > g->commit_width ? c[i - g->commit_width] : 0) + 1);
	}
	return c[n];
}

static void random_insts(struct rng *rng, struct graph_inst *insts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct graph_inst *in = &insts[i];
		memset(in, 0, sizeof(*in));
		for (unsigned k = 0; k < GRAPH_PARTS; k++) {
			in->dd[k].cycles = rng_below(rng, 4) ? 0 : (uint16_t)rng_below(rng, 20);
			in->dd[k].category = (uint8_t)rng_below(rng, GRAPH_CATEGORIES + 1);
			in->ep[k].cycles = rng_below(rng, 2) ? 0 : (uint16_t)rng_below(rng, 50);
			in->ep[k].category = (uint8_t)rng_below(rng, GRAPH_CATEGORIES + 1);
		}
		in->re.cycles = (uint16_t)rng_below(rng, 3);
		in->re.category = CAT_BW;
		in->pc.cycles = (uint16_t)rng_below(rng, 3);
		in->pc.category = CAT_NONE;
		in->cc.cycles = (uint16_t)rng_below(rng, 2);
		in->cc.category = CAT_NONE;
		in->dr = (uint16_t)rng_below(rng, 3);
		in->cd = (uint16_t)rng_below(rng, 2);
		in->after_mispredict = !rng_below(rng, 10);
		in->pd = (uint16_t)rng_below(rng, 15);
		in->nproducers = (uint8_t)rng_below(rng, GRAPH_PRODUCERS + 1);
		for (unsigned k = 0; k < in->nproducers; k++) {
			in->producer[k].distance = 1 + (uint32_t)rng_below(rng, 12);
			in->producer[k].cycles = (uint16_t)rng_below(rng, 3);
		}
		in->line = rng_below(rng, 5) ? 0 : 1 + (uint32_t)rng_below(rng, 10);
	}
}

static void test_651_every_lane_of_every_kernel_is_the_longest_path(void **state)
{
	static struct graph_inst insts[MAX_INSTS];
	struct rng rng;
	rng_seed(&rng, 1);
	for (int round = 0; round < 12; round++) {
		struct graph_config config = { .window = 4 + (uint32_t)rng_below(&rng, 30),
					       .fetch_width = 1 + (uint32_t)rng_below(&rng, 6),
					       .commit_width = 1 + (uint32_t)rng_below(&rng, 6) };
		config.window_ideal = 20 * config.window;
		size_t n = 1 + rng_below(&rng, MAX_INSTS);
		random_insts(&rng, insts, n);
		for (const struct graph_kernel *const *k = graph_kernels; *k; k++) {
			uint64_t length[GRAPH_LANES];
			if (!(*k)->supported())
				continue;
			struct graph *g = graph_new(&config);
			graph_use(g, *k);
			for (size_t i = 0; i < n; i++)
				graph_add(g, &insts[i]);
			graph_length(g, length);
			assert_int_equal(graph_count(g), n);
			assert_int_equal(graph_base(g).c, length[0]);
			for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
				if (length[lane] != brute_force(&config, insts, n, lane))
					fail_msg("kernel %s, round %d, lane %u", (*k)->name, round,
						 lane);
			graph_free(g);
		}
	}
}

static void test_652_icosts_of_all_sets_sum_to_the_time_that_can_go(void **state)
{
	static struct graph_inst insts[MAX_INSTS];
	struct graph_config config = { 16, 320, 4, 4 };
	struct rng rng;
	uint64_t length[GRAPH_LANES];
	double icost[GRAPH_LANES], sum = 0;
	rng_seed(&rng, 2);
	random_insts(&rng, insts, MAX_INSTS);
	struct graph *g = graph_new(&config);
	for (size_t i = 0; i < MAX_INSTS; i++)
		graph_add(g, &insts[i]);
	graph_length(g, length);
	graph_free(g);
	for (unsigned s = 0; s < GRAPH_LANES; s++)
		icost[s] = (double)length[0] - (double)length[s];
	const double dl1 = icost[1], bw = icost[2], both = icost[3];
	graph_icosts(icost);
	assert_true(icost[3] == both - dl1 - bw);
	for (unsigned s = 0; s < GRAPH_LANES; s++)
		sum += icost[s];
	assert_true(sum == (double)length[0] - (double)length[GRAPH_LANES - 1]);
}

/* fields2004 section 2.2: two parallel misses cost nothing alone and everything together. */
static void test_653_parallel_misses_interact_in_parallel(void **state)
{
	struct graph_config config = { 64, 1280, 6, 6 };
	uint64_t length[GRAPH_LANES];
	struct graph *g = graph_new(&config);
	/* two independent 100-cycle operations of different categories */
	graph_add(g, &(struct graph_inst){ .ep = { { 100, CAT_DMISS } } });
	graph_add(g, &(struct graph_inst){ .ep = { { 100, CAT_LGALU } } });
	graph_length(g, length);
	graph_free(g);
	assert_int_equal(length[0] - length[1 << CAT_DMISS], 0);
	assert_int_equal(length[0] - length[1 << CAT_LGALU], 0);
	assert_int_equal(length[0] - length[1 << CAT_DMISS | 1 << CAT_LGALU], 100);
}

/* … and two misses in series, in parallel with other work: fixing either is as good as fixing both.
 */
static void test_654_serial_events_beside_other_work_interact_serially(void **state)
{
	struct graph_config config = { 64, 1280, 6, 6 };
	uint64_t length[GRAPH_LANES];
	struct graph *g = graph_new(&config);
	graph_add(g, &(struct graph_inst){ .ep = { { 100, CAT_DMISS } } });
	graph_add(g, &(struct graph_inst){
			 .ep = { { 100, CAT_LGALU } }, .nproducers = 1, .producer = { { 1, 0 } } });
	graph_add(g, &(struct graph_inst){ .ep = { { 100, CAT_NONE } } });
	graph_length(g, length);
	graph_free(g);
	uint64_t a = length[0] - length[1 << CAT_DMISS], b = length[0] - length[1 << CAT_LGALU];
	uint64_t both = length[0] - length[1 << CAT_DMISS | 1 << CAT_LGALU];
	assert_int_equal(a, 100);
	assert_int_equal(b, 100);
	assert_int_equal(both, 100); /* icost = -100 */
}

static void test_655_long_runs_do_not_overflow(void **state)
{
	struct graph_config config = { 64, 1280, 4, 4 };
	uint64_t length[GRAPH_LANES];
	struct graph *g = graph_new(&config);
	const uint64_t n = 150000; /* 6.5e4 cycles each: past 2^32 several times */
	for (uint64_t i = 0; i < n; i++)
		graph_add(g,
			  &(struct graph_inst){ .ep = { { 60000, CAT_DMISS }, { 5000, CAT_DL1 } },
						.nproducers = 1,
						.producer = { { 1, 0 } } });
	graph_length(g, length);
	graph_free(g);
	assert_int_equal(length[0], n * 65000 + 1);
	assert_int_equal(length[1 << CAT_DMISS], n * 5000 + 1);
	assert_true(length[1 << CAT_DMISS | 1 << CAT_DL1] <= n / 4 + 2);
}

static void test_656_the_window_limits_how_far_ahead_work_can_start(void **state)
{
	struct graph_config config = { 8, 160, 1, 8 };
	uint64_t length[GRAPH_LANES];
	struct graph *g = graph_new(&config);
	for (int i = 0; i < 800; i++) /* a miss every eight instructions */
		graph_add(g, &(struct graph_inst){
				 .ep = { { i % 8 ? 1 : 100, i % 8 ? CAT_SHALU : CAT_DMISS } } });
	graph_length(g, length);
	graph_free(g);
	assert_true(length[0] > 100 * 95);
	assert_true(length[1 << CAT_WIN] < 2000); /* misses overlap */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_651_every_lane_of_every_kernel_is_the_longest_path),
		cmocka_unit_test(test_652_icosts_of_all_sets_sum_to_the_time_that_can_go),
		cmocka_unit_test(test_653_parallel_misses_interact_in_parallel),
		cmocka_unit_test(test_654_serial_events_beside_other_work_interact_serially),
		cmocka_unit_test(test_655_long_runs_do_not_overflow),
		cmocka_unit_test(test_656_the_window_limits_how_far_ahead_work_can_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
