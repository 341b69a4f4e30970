/* SPDX-License-Identifier: MIT */
/*
 * Minimum-cost circulations: against the definition by brute force on small graphs, against reduced
 * costs on all, and in nearly linear time on large ones.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "calc/mcf.h"

static uint64_t rng_next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

#define ARCS  7
#define NODES 5
#define MOST  3 /* units that an arc of the small graphs takes */

struct small {
	unsigned nodes, arcs;
	struct {
		uint32_t from, to;
		int cost[MOST]; /* of the first, second, … unit: never falls */
	} arc[ARCS];
};

static struct small small_random(uint64_t *s)
{
	struct small g = { .nodes = 2 + rng_next(s) % (NODES - 1), .arcs = 1 + rng_next(s) % ARCS };
	for (unsigned i = 0; i < g.arcs; i++) {
		g.arc[i].from = rng_next(s) % g.nodes;
		g.arc[i].to = rng_next(s) % g.nodes;
		int cost = (int)(rng_next(s) % 13) - 8;
		for (unsigned k = 0; k < MOST; k++, cost += (int)(rng_next(s) % 5))
			g.arc[i].cost[k] = cost;
	}
	return g;
}

static int small_cost(const struct small *g, const unsigned *flow)
{
	int excess[NODES] = { 0 }, cost = 0;
	for (unsigned i = 0; i < g->arcs; i++) {
		excess[g->arc[i].from] -= (int)flow[i];
		excess[g->arc[i].to] += (int)flow[i];
		for (unsigned k = 0; k < flow[i]; k++)
			cost += g->arc[i].cost[k];
	}
	for (unsigned n = 0; n < g->nodes; n++)
		if (excess[n])
			return INT32_MAX;
	return cost;
}

static int small_best(const struct small *g)
{
	unsigned flow[ARCS] = { 0 };
	int best = INT32_MAX;
	for (;;) {
		int cost = small_cost(g, flow);
		if (cost < best)
			best = cost;
		unsigned i = 0;
		while (i < g->arcs && ++flow[i] > MOST)
			flow[i++] = 0;
		if (i == g->arcs)
			return best;
	}
}

static void test_2600_no_other_circulation_is_cheaper(void **state)
{
	uint64_t s = 2600;
	for (unsigned round = 0; round < 3000; round++) {
		struct small g = small_random(&s);
		struct mcf *m = mcf_new(g.nodes);
		for (unsigned i = 0; i < g.arcs; i++) {
			struct mcf_piece p[MOST];
			for (unsigned k = 0; k < MOST; k++)
				p[k] = (struct mcf_piece){ 1, g.arc[i].cost[k] };
			mcf_arc(m, g.arc[i].from, g.arc[i].to, p, MOST);
		}
		assert_true(mcf_solve(m));
		unsigned flow[ARCS];
		for (unsigned i = 0; i < g.arcs; i++)
			flow[i] = (unsigned)mcf_flow(m, i);
		assert_int_equal(small_cost(&g, flow), small_best(&g));
		assert_true(mcf_optimal(m));
		mcf_free(m);
	}
}

static void test_2601_a_path_takes_the_dearer_piece_once_the_cheaper_is_full(void **state)
{
	struct mcf *m = mcf_new(3);
	uint32_t want =
	    mcf_arc(m, 0, 1, (struct mcf_piece[]){ { 100, -20 }, { MCF_UNBOUNDED, 10 } }, 2);
	uint32_t near =
	    mcf_arc(m, 1, 0, (struct mcf_piece[]){ { 30, 1 }, { 30, 7 }, { 1000, 25 } }, 3);
	uint32_t far =
	    mcf_arc(m, 1, 2, (struct mcf_piece[]){ { 25, 2 }, { MCF_UNBOUNDED, 11 } }, 2);
	uint32_t back = mcf_free_arc(m, 2, 0, 3);
	assert_true(mcf_solve(m));
	/* 30 at 1, 25 at 2 + 3, 30 at 7, the other 15 at 11 + 3 */
	assert_int_equal(mcf_flow(m, want), 100);
	assert_int_equal(mcf_flow(m, near), 60);
	assert_int_equal(mcf_flow(m, far), 40);
	assert_int_equal(mcf_flow(m, back), 40);
	mcf_free(m);
}

static void test_2602_flow_that_is_not_worth_its_way_stays_away(void **state)
{
	struct mcf *m = mcf_new(2);
	uint32_t want =
	    mcf_arc(m, 0, 1, (struct mcf_piece[]){ { 1LL << 40, -20 }, { MCF_UNBOUNDED, 10 } }, 2);
	uint32_t back = mcf_free_arc(m, 1, 0, 21);
	uint32_t loop = mcf_arc(m, 1, 1, (struct mcf_piece[]){ { 5, -1 }, { 5, 0 } }, 2);
	assert_true(mcf_solve(m));
	assert_int_equal(mcf_flow(m, want), 0);
	assert_int_equal(mcf_flow(m, back), 0);
	assert_int_equal(mcf_flow(m, loop), 5);
	mcf_free(m);
}

/* A function of n blocks: a chain of diamonds, loops around stretches of it, noisy wishes. */
static double time_of(uint32_t blocks)
{
	uint64_t s = blocks;
	struct mcf *m = mcf_new(2 * blocks + 1);
	for (uint32_t b = 0; b < blocks; b++) {
		int64_t f = 1000000 + (int64_t)(rng_next(&s) % 200000);
		f = b % 3 == 1 ? f / 3 : b % 3 == 2 ? f - f / 3 : f;
		int64_t sd = f / (2 + (int64_t)(rng_next(&s) % 30));
		/* The joins of a chain are one class, which has one arc with a cost. */
		if (b % 3 == 0 && b % 30)
			mcf_free_arc(m, 2 * b, 2 * b + 1, 0);
		else
			mcf_arc(m, 2 * b, 2 * b + 1,
				(struct mcf_piece[]){ { f - sd, -1000000000 / sd },
						      { sd, -300000000 / sd },
						      { sd, 500000000 / sd },
						      { MCF_UNBOUNDED, 3000000000 / sd } },
				4);
		uint32_t next = b % 3 == 0 ? b + 1 : b % 3 == 1 ? b + 2 : b + 1;
		mcf_free_arc(m, 2 * b + 1, next < blocks ? 2 * next : 2 * blocks, 0);
		if (b % 3 == 0)
			mcf_free_arc(m, 2 * b + 1, b + 2 < blocks ? 2 * (b + 2) : 2 * blocks, 0);
		if (rng_next(&s) % 8 == 0 && b > 10)
			mcf_free_arc(m, 2 * b + 1, 2 * (b - (uint32_t)(rng_next(&s) % 10)), 0);
	}
	mcf_free_arc(m, 2 * blocks, 0, 0);
	clock_t start = clock();
	assert_true(mcf_solve(m));
	assert_true(mcf_best(m) == (blocks < 10000));
	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	mcf_free(m);
	return seconds;
}

static void test_2603_thirty_thousand_blocks_take_less_than_a_second(void **state)
{
	double few = time_of(3000), many = time_of(30000);
	print_message("3,000 blocks: %.0f ms, 30,000: %.0f ms\n", few * 1e3, many * 1e3);
	assert_true(many < 1);
}

/* Every fifth block is followed by a loop of two blocks that nothing leaves. Wishes are so far apart
 * that the best solution would take too long. */
static void test_1400_a_hurried_solution_is_a_circulation_where_loops_have_no_way_out(void **state)
{
	const uint32_t blocks = 60000, nodes = 2 * blocks + 1;
	uint64_t s = 7;
	struct mcf *m = mcf_new(nodes);
	uint32_t(*ends)[2] = calloc(6 * (size_t)blocks, sizeof(*ends)), arcs = 0;
	int64_t *excess = calloc(nodes, sizeof(*excess));
#define ARC(a, b) (ends[arcs][0] = (a), ends[arcs++][1] = (b), mcf_free_arc(m, a, b, 0))
	for (uint32_t b = 0; b < blocks; b++) {
		int64_t f = 1 + (int64_t)(rng_next(&s) % 1000000);
		ends[arcs][0] = 2 * b;
		ends[arcs++][1] = 2 * b + 1;
		mcf_arc(m, 2 * b, 2 * b + 1,
			(struct mcf_piece[]){ { f, -1000000000 / f },
					      { MCF_UNBOUNDED, 1000000000 / f } },
			2);
		if (b % 5 == 3) {
			ARC(2 * b + 1, 2 * b + 2);
		} else if (b % 5 == 4) {
			ARC(2 * b + 1, 2 * b - 2);
		} else {
			ARC(2 * b + 1, (2 * b + 2) % (2 * blocks));
			ARC(2 * b + 1, b % 5 == 2 ? 2 * ((b + 3) % blocks) : 2 * b);
		}
	}
	ARC(2 * blocks, 0);
	ARC(2 * blocks - 9, 2 * blocks);
#undef ARC
	assert_true(mcf_solve(m));
	assert_false(mcf_best(m));
	for (uint32_t i = 0; i < arcs; i++) {
		assert_true(mcf_flow(m, i) >= 0);
		excess[ends[i][0]] -= mcf_flow(m, i);
		excess[ends[i][1]] += mcf_flow(m, i);
	}
	for (uint32_t n = 0; n < nodes; n++)
		assert_int_equal(excess[n], 0);
	free(ends);
	free(excess);
	mcf_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2600_no_other_circulation_is_cheaper),
		cmocka_unit_test(test_2601_a_path_takes_the_dearer_piece_once_the_cheaper_is_full),
		cmocka_unit_test(test_2602_flow_that_is_not_worth_its_way_stays_away),
		cmocka_unit_test(test_2603_thirty_thousand_blocks_take_less_than_a_second),
		cmocka_unit_test(
		    test_1400_a_hurried_solution_is_a_circulation_where_loops_have_no_way_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
