/* SPDX-License-Identifier: MIT */
/*
 * Pooled executions: closed forms on small graphs, and brute force on programs that never were, whose
 * cycles are all known.
 *
 * The programs: random graphs, walked at random until they are left; instructions commit in groups as wide
 * as chance says, some stall before. With an argument: that many more choices of samples.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calc/pool.h"
#include "calc/pool_flow.h"
#include "util/array.h"

static unsigned times_more = 1;

/* ---- graphs ---- */

/* Blocks of one instruction each, and more of block i if sizes says so; pairs of ends, -1: outside. */
static struct cfg *graph(const unsigned *sizes, uint32_t nblocks, const int (*ends)[2],
			 uint32_t nedges)
{
	struct cfg_inst *insts = NULL;
	struct cfg_block *blocks = x_calloc(nblocks, sizeof(*blocks));
	struct cfg_edge *edges = x_calloc(nedges, sizeof(*edges));
	uint32_t ninsts = 0;
	struct err e = { "" };

	for (uint32_t b = 0; b < nblocks; b++) {
		blocks[b] =
		    (struct cfg_block){ .start = 4 * ninsts, .first = ninsts, .count = sizes[b] };
		for (unsigned i = 0; i < sizes[b]; i++) {
			const uint64_t pc = 4 * ninsts;

			*ARRAY_ADD(insts, ninsts) =
			    (struct cfg_inst){ .pc = pc, .word = 0x13, .size_bytes = 4 };
		}
		blocks[b].end = 4 * ninsts;
	}
	for (uint32_t i = 0; i < nedges; i++) {
		const bool in = ends[i][0] < 0, out = ends[i][1] < 0;

		edges[i] = (struct cfg_edge){ .from = in ? CFG_OUTSIDE : (uint32_t)ends[i][0],
					      .to = out ? CFG_OUTSIDE : (uint32_t)ends[i][1],
					      .kind = in    ? CFG_ENTRY
						      : out ? CFG_EXIT
							    : CFG_TAKEN };
	}
	struct cfg *g = cfg_assemble(0, "f", insts, ninsts, blocks, nblocks, edges, nedges, &e);

	if (!g)
		fail_msg("%s", e.text);
	return g;
}

static struct cfg *diamond(void)
{
	static const unsigned sizes[] = { 1, 1, 1, 1 };
	static const int ends[][2] = {
		{ -1, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 3, -1 }
	};

	return graph(sizes, 4, ends, 6);
}

static void test_2970_a_fit_is_least_squares_with_the_flow(void **state)
{
	struct cfg *g = diamond();
	const bool observed[] = { true, true, true, true };
	struct pool_flow *f = pool_flow_new(g, observed);
	double variance[8] = { 0 }, seen[8] = { 0 }, fitted[8];
	const uint32_t head = f->block_class[0], a = f->block_class[1], b = f->block_class[2];

	(void)state;
	assert_int_equal(head, f->block_class[3]);
	variance[head] = 2;
	variance[a] = 1;
	variance[b] = 3;
	seen[head] = 106;
	seen[a] = 40;
	seen[b] = 60;
	pool_flow_weigh(f, variance);
	pool_flow_fit(f, variance, seen, fitted);
	/* 6 too many at the head: shared as the variances are, 2 : 1 : 3 */
	assert_float_equal(fitted[head], 104, 1e-9);
	assert_float_equal(fitted[a], 41, 1e-9);
	assert_float_equal(fitted[b], 63, 1e-9);
	seen[head] = 100;
	pool_flow_fit(f, variance, seen, fitted);
	assert_float_equal(fitted[head], 100, 1e-9);
	assert_float_equal(fitted[b], 60, 1e-9);
	pool_flow_free(f);
	cfg_free(g);
}

static void test_2971_what_is_not_observed_follows_from_the_flow(void **state)
{
	struct cfg *g = diamond();
	const bool observed[] = { true, false, true, true };
	struct pool_flow *f = pool_flow_new(g, observed);
	double variance[8] = { 0 }, seen[8] = { 0 }, fitted[8];
	const uint32_t head = f->block_class[0], b = f->block_class[2];

	(void)state;
	variance[head] = variance[b] = 1;
	seen[head] = 10;
	seen[b] = 30;
	pool_flow_weigh(f, variance);
	pool_flow_fit(f, variance, seen, fitted);
	/* nothing is known of the other branch, not even that it is not below 0 */
	assert_float_equal(fitted[head], 10, 1e-9);
	assert_float_equal(fitted[b], 30, 1e-9);
	pool_flow_free(f);
	cfg_free(g);
}

/* ---- programs ---- */

#define WIDTH 4
#define INSTS 512

struct cycle {
	uint32_t inst[WIDTH], count;
	bool commits;
	double cycles;
};

struct program {
	struct cfg *graph;
	uint32_t insts[INSTS];
	struct cycle *cycles; /* all of the run, with repeats */
	size_t ncycles;
	double all, *ends; /* time at the end of each */
	double executions[INSTS], truth[INSTS];
	struct rng rng;
};

static void add_cycle(struct program *p, const struct cycle *c)
{
	*ARRAY_ADD(p->cycles, p->ncycles) = *c;
	for (uint32_t i = 0; i < c->count; i++)
		p->truth[c->inst[i]] += c->cycles / c->count;
	p->all += c->cycles;
}

/* Blocks that go on to the next one, or to a random one. */
static struct cfg *random_graph(struct program *p, uint32_t nblocks)
{
	unsigned sizes[32];
	int ends[100][2];
	uint32_t n = 0;

	for (uint32_t b = 0; b < nblocks; b++) {
		const int to = (int)rng_below(&p->rng, nblocks);

		sizes[b] = 1 + (unsigned)rng_below(&p->rng, 7);
		ends[n][0] = (int)b;
		ends[n++][1] = b + 1 < nblocks ? (int)b + 1 : -1;
		if (to != (int)b + 1) {
			ends[n][0] = (int)b;
			ends[n++][1] = to;
		}
	}
	ends[n][0] = -1;
	ends[n++][1] = 0;
	return graph(sizes, nblocks, ends, n);
}

/* Walks through the graph, and lets what it meets commit. */
static void run_once(struct program *p, const double *stalls)
{
	const struct cfg *g = p->graph;
	struct cycle now = { .commits = true, .cycles = 1 };

	for (uint32_t b = g->entry; b != CFG_OUTSIDE;) {
		const struct cfg_block *at = &g->blocks[b];

		for (uint32_t i = at->first; i < at->first + at->count; i++) {
			p->executions[i]++;
			const double stall = rng_below(&p->rng, 8) ? 0 : stalls[i];

			if (now.count &&
			    (stall > 0 || now.count == WIDTH || !rng_below(&p->rng, 3))) {
				add_cycle(p, &now);
				now.count = 0;
			}
			if (stall > 0)
				add_cycle(p, &(struct cycle){ { i }, 1, false, stall });
			now.inst[now.count++] = i;
		}
		b = g->edges[at->first_out + rng_below(&p->rng, at->nout)].to;
	}
	add_cycle(p, &now);
}

static struct program *program_new(uint64_t seed, uint32_t nblocks, unsigned runs)
{
	struct program *p = x_calloc(1, sizeof(*p));
	double stalls[INSTS];

	rng_seed(&p->rng, seed);
	p->graph = random_graph(p, nblocks);
	for (uint32_t i = 0; i < p->graph->ninsts; i++) {
		p->insts[i] = i;
		stalls[i] = rng_below(&p->rng, 6) ? 0 : 1 + (double)rng_below(&p->rng, 20);
	}
	for (unsigned r = 0; r < runs; r++)
		run_once(p, stalls);
	p->ends = x_calloc(p->ncycles, sizeof(*p->ends));
	for (size_t i = 0; i < p->ncycles; i++)
		p->ends[i] = p->cycles[i].cycles + (i ? p->ends[i - 1] : 0);
	return p;
}

static void program_free(struct program *p)
{
	cfg_free(p->graph);
	free(p->cycles);
	free(p->ends);
	free(p);
}

/* Samples at random cycles, pooled. */
static struct pool_time *sample(struct program *p, unsigned samples, uint64_t seed)
{
	const struct pool_graph graph = { p->graph, p->insts };
	struct pool_group *groups = x_calloc(samples, sizeof(*groups));
	uint32_t *members = x_calloc((size_t)samples * WIDTH, sizeof(*members)), n = 0;

	for (unsigned s = 0; s < samples; s++) {
		const double at =
		    p->all * ((double)rng_below(&p->rng, 1u << 30) + 0.5) / (1u << 30);
		const size_t found = ARRAY_SEARCH(p->ncycles, i, p->ends[i] < at);
		const struct cycle *c = &p->cycles[found];

		groups[s] = (struct pool_group){ n, c->count, c->commits, 1, p->all / samples };
		memcpy(&members[n], c->inst, c->count * sizeof(*members));
		n += c->count;
	}
	const struct pool_input in = { .graphs = &graph,
				       .ngraphs = 1,
				       .ninsts = p->graph->ninsts,
				       .groups = groups,
				       .ngroups = samples,
				       .members = members,
				       .seed = seed,
				       .executions = p->executions };
	struct pool_time *t = pool_run(&in);

	free(groups);
	free(members);
	return t;
}

/*
 * The mean over many choices of few samples is the truth: each instruction's is within chance of it. The sum
 * of squares of n deviations is chi-squared; 5 deviations of that happen once in millions of seeds.
 */
static void test_2972_estimates_have_no_bias(void **state)
{
	const unsigned choices = 1500 * times_more;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct program *p = program_new(seed, 12, 400);
		double sum[INSTS] = { 0 }, squares[INSTS] = { 0 }, chi = 0, n = 0;

		for (unsigned k = 0; k < choices; k++) {
			struct pool_time *t = sample(p, 40, k);

			for (uint32_t i = 0; i < p->graph->ninsts; i++) {
				const double off = t[i].cycles - p->truth[i];

				sum[i] += off;
				squares[i] += off * off;
				assert_float_equal(t[i].bias, 0, 1e-6 * p->all);
			}
			free(t);
		}
		for (uint32_t i = 0; i < p->graph->ninsts; i++) {
			const double mean = sum[i] / choices,
				     variance = (squares[i] / choices - mean * mean) / choices;

			if (variance <= 0)
				continue;
			chi += mean * mean / variance;
			n++;
		}
		/* instructions of a class are no independent evidence: a wide bound, by groups of 8 */
		if (chi > n + 5 * sqrt(2 * n * 8))
			fail_msg("seed %d: %.1f of %.0f instructions", (int)seed, chi, n);
		program_free(p);
	}
}

static void test_2973_errors_are_smaller_and_intervals_hold_the_truth(void **state)
{
	double tip = 0, pooled = 0, held = 0, all = 0;

	(void)state;
	for (uint64_t seed = 11; seed < 11 + 8 * times_more; seed++) {
		struct program *p = program_new(seed, 16, 500);

		for (unsigned k = 0; k < 20; k++) {
			struct pool_time *t = sample(p, 300, k);

			for (uint32_t i = 0; i < p->graph->ninsts; i++) {
				if (!(p->executions[i] > 0))
					continue;
				tip += fabs(t[i].tip - p->truth[i]) / p->all;
				pooled += fabs(t[i].cycles - p->truth[i]) / p->all;
				held += t[i].low <= p->truth[i] && p->truth[i] <= t[i].high;
				all++;
			}
			free(t);
		}
		program_free(p);
	}
	if (pooled > 0.8 * tip)
		fail_msg("errors are %.2f of TIP's", pooled / tip);
	if (held < 0.95 * all)
		fail_msg("%.1f%% of the intervals hold the truth", 100 * held / all);
}

/* With a sample in every cycle there is nothing left to chance. */
static void test_2974_a_sample_in_every_cycle_is_the_truth(void **state)
{
	struct program *p = program_new(5, 12, 60);
	const struct pool_graph graph = { p->graph, p->insts };
	struct pool_group *groups = x_calloc(p->ncycles, sizeof(*groups));
	uint32_t *members = x_calloc(p->ncycles * WIDTH, sizeof(*members)), n = 0;

	(void)state;
	for (size_t i = 0; i < p->ncycles; i++) {
		const struct cycle *c = &p->cycles[i];

		groups[i] =
		    (struct pool_group){ n, c->count, c->commits, (uint64_t)c->cycles, c->cycles };
		memcpy(&members[n], c->inst, c->count * sizeof(*members));
		n += c->count;
	}
	const struct pool_input in = { .graphs = &graph,
				       .ngraphs = 1,
				       .ninsts = p->graph->ninsts,
				       .groups = groups,
				       .ngroups = p->ncycles,
				       .members = members,
				       .executions = p->executions };
	struct pool_time *t = pool_run(&in);
	double wrong = 0;

	for (uint32_t i = 0; i < p->graph->ninsts; i++) {
		assert_float_equal(t[i].tip, p->truth[i], 1e-6 * p->all);
		assert_float_equal(t[i].limit, p->truth[i], 1e-6 * p->all);
		wrong += fabs(t[i].cycles - p->truth[i]) / 2 / p->all;
	}
	/* folds are dealt by chance, and each fold's weights are its own: what they differ by is left */
	assert_true(wrong < 0.01);
	free(t);
	free(groups);
	free(members);
	program_free(p);
}

/* An instruction that no graph has is as TIP has it; one that two graphs have counts once. */
static void test_2975_code_without_a_graph_is_as_tip_has_it(void **state)
{
	struct cfg *g = diamond();
	uint32_t first[] = { 0, 1, 2, 3 },
		 second[] = { POOL_COUNTED, POOL_COUNTED, POOL_COUNTED, 4 };
	const struct pool_graph graphs[] = { { g, first }, { g, second } };
	const uint32_t members[] = { 5, 5, 0, 1, 3 };
	const struct pool_group groups[] = { { 0, 1, true, 3, 30 },
					     { 1, 1, false, 2, 20 },
					     { 2, 2, true, 4, 40 },
					     { 4, 1, true, 4, 40 } };
	const struct pool_input in = { .graphs = graphs,
				       .ngraphs = 2,
				       .ninsts = 6,
				       .groups = groups,
				       .ngroups = 4,
				       .members = members };
	struct pool_time *t = pool_run(&in);

	(void)state;
	assert_float_equal(t[5].cycles, 50, 1e-9);
	assert_float_equal(t[5].tip, 50, 1e-9);
	assert_true(t[5].low < 50 && t[5].high > 50);
	assert_float_equal(t[4].cycles, 0, 1e-9);
	assert_float_equal(t[0].tip, 20, 1e-9);
	assert_true(isfinite(t[2].cycles) && t[2].high > 0);
	free(t);
	cfg_free(g);
}

/* No samples, no graphs. */
static void test_2976_nothing_gives_nothing(void **state)
{
	const struct pool_input in = { .ninsts = 2 };
	struct pool_time *t = pool_run(&in);

	(void)state;
	assert_float_equal(t[0].cycles, 0, 0);
	assert_float_equal(t[1].high, 0, 0);
	free(t);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		times_more = (unsigned)atoi(argv[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2970_a_fit_is_least_squares_with_the_flow),
		cmocka_unit_test(test_2971_what_is_not_observed_follows_from_the_flow),
		cmocka_unit_test(test_2972_estimates_have_no_bias),
		cmocka_unit_test(test_2973_errors_are_smaller_and_intervals_hold_the_truth),
		cmocka_unit_test(test_2974_a_sample_in_every_cycle_is_the_truth),
		cmocka_unit_test(test_2975_code_without_a_graph_is_as_tip_has_it),
		cmocka_unit_test(test_2976_nothing_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
