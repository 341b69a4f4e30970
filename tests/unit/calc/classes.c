/* SPDX-License-Identifier: MIT */
/* Cycle equivalence, held against its definition on random graphs, and its time on large ones. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "calc/calc.h"
#include "util/util.h"

#define BLOCKS_MAX 7
#define EDGES_MAX  20
#define NODES_MAX  (2 * BLOCKS_MAX + 1)
#define ALL_MAX	   (EDGES_MAX + 3 * BLOCKS_MAX)

static unsigned graphs = 5000;

/* A graph for the brute force: in and out nodes of blocks, then outside. */
struct brute {
	unsigned nnodes, nedges;
	unsigned from[ALL_MAX], to[ALL_MAX];
};

static void add(struct brute *b, unsigned from, unsigned to)
{
	b->from[b->nedges] = from;
	b->to[b->nedges++] = to;
}

/* Bit t of reach[n]: a path of one or more edges leads from n to t; edge `without` is not there. */
static void reach_all(const struct brute *b, unsigned without, uint32_t *reach)
{
	memset(reach, 0, b->nnodes * sizeof(*reach));
	for (bool more = true; more;) {
		more = false;
		for (unsigned e = 0; e < b->nedges; e++) {
			if (e == without)
				continue;
			uint32_t now = reach[b->from[e]] | 1u << b->to[e] | reach[b->to[e]];
			more = more || now != reach[b->from[e]];
			reach[b->from[e]] = now;
		}
	}
}

/* Whether no cycle has edge x and not edge y. */
static bool always_has(const uint32_t reach_without_y[], const struct brute *b, unsigned x)
{
	return b->from[x] != b->to[x] && !(reach_without_y[b->to[x]] >> b->from[x] & 1);
}

/* The rule for parts that nothing enters or leaves, by reachability. */
static void join_parts(struct brute *b, unsigned nblocks)
{
	const unsigned outside = 2 * nblocks, real = b->nedges;
	uint32_t reach[NODES_MAX];
	bool done[BLOCKS_MAX] = { false };

	reach_all(b, UINT_MAX, reach);
#define SAME(x, y) ((x) == (y) || (reach[x] >> (y)&1 && reach[y] >> (x)&1))
	for (unsigned block = 0; block < nblocks; block++) {
		bool entered = false, left = false;
		unsigned head = UINT_MAX, tail = UINT_MAX;

		if (done[block] || SAME(2 * block, outside))
			continue;
		for (unsigned e = 0; e < real; e++) {
			/* a block that nothing leads from its end to its start is in two parts */
			unsigned from = b->from[e] == outside ? outside : b->from[e] & ~1u;
			unsigned to = b->to[e] == outside ? outside : b->to[e] & ~1u;
			bool a = SAME(from, 2 * block), z = SAME(to, 2 * block);

			entered = entered || (z && !a);
			left = left || (a && !z);
			if (z && !a && to / 2 < head)
				head = to / 2;
		}
		if (head == UINT_MAX)
			head = block;
		for (unsigned e = 0; e < real; e++)
			if (b->to[e] == 2 * head && b->from[e] != 2 * head &&
			    b->from[e] != outside && SAME(b->from[e] & ~1u, 2 * block) &&
			    (tail == UINT_MAX || b->from[e] > tail))
				tail = b->from[e];
		if (!entered)
			add(b, outside, 2 * head);
		if (!left)
			add(b, tail == UINT_MAX ? 2 * head + 1 : tail, outside);
		for (unsigned other = 0; other < nblocks; other++)
			done[other] = done[other] || SAME(2 * other, 2 * block);
	}
#undef SAME
}

static struct brute as_brute(const struct cfg *g)
{
	struct brute b = { .nnodes = 2 * g->nblocks + 1 };

	for (unsigned e = 0; e < g->nedges; e++)
		add(&b, g->edges[e].from == CFG_OUTSIDE ? 2 * g->nblocks : 2 * g->edges[e].from + 1,
		    g->edges[e].to == CFG_OUTSIDE ? 2 * g->nblocks : 2 * g->edges[e].to);
	for (unsigned block = 0; block < g->nblocks; block++)
		add(&b, 2 * block, 2 * block + 1);
	join_parts(&b, g->nblocks);
	return b;
}

static uint32_t random_node(struct rng *r, uint32_t nblocks)
{
	uint64_t n = rng_below(r, nblocks + 1);

	return n == nblocks ? CFG_OUTSIDE : (uint32_t)n;
}

static void make_random(struct rng *r, struct cfg *g)
{
	*g = (struct cfg){ .blocks = g->blocks, .edges = g->edges };
	g->nblocks = 1 + (uint32_t)rng_below(r, BLOCKS_MAX);
	uint64_t most = rng_below(r, EDGES_MAX) + 1;
	for (uint64_t i = 0; i < most; i++) {
		struct cfg_edge e = { .from = random_node(r, g->nblocks),
				      .to = random_node(r, g->nblocks) };

		if (e.from != CFG_OUTSIDE || e.to != CFG_OUTSIDE)
			g->edges[g->nedges++] = e;
	}
}

static void test_2500_classes_are_those_of_the_definition(void **state)
{
	struct cfg_block blocks[BLOCKS_MAX];
	struct cfg_edge edges[EDGES_MAX];
	struct cfg g = { .blocks = blocks, .edges = edges };
	struct rng r;

	rng_seed(&r, 2500);
	for (unsigned round = 0; round < graphs; round++) {
		uint32_t block_class[BLOCKS_MAX], edge_class[EDGES_MAX], class[ALL_MAX];
		uint32_t reach[ALL_MAX][NODES_MAX];

		make_random(&r, &g);
		const uint32_t n = calc_classes(&g, block_class, edge_class);
		const struct brute b = as_brute(&g);
		const unsigned all = g.nedges + g.nblocks;
		memcpy(class, edge_class, g.nedges * sizeof(*class));
		memcpy(class + g.nedges, block_class, g.nblocks * sizeof(*class));
		for (unsigned e = 0; e < all; e++)
			reach_all(&b, e, reach[e]);
		for (unsigned x = 0; x < all; x++) {
			assert_true(class[x] < n);
			for (unsigned y = 0; y < x; y++) {
				bool same =
				    always_has(reach[y], &b, x) && always_has(reach[x], &b, y);
				if (same != (class[x] == class[y]))
					fail_msg("graph %u: %u and %u are %sequivalent", round, x,
						 y, same ? "" : "not ");
			}
		}
	}
}

static void test_2501_graph_with_missing_edges_has_a_class_for_each(void **state)
{
	struct cfg_block blocks[2] = { 0 };
	struct cfg_edge edges[] = { { .from = 0, .to = 1 },
				    { .from = 1, .to = CFG_OUTSIDE },
				    { .from = CFG_OUTSIDE, .to = 0 } };
	struct cfg g = { .blocks = blocks, .nblocks = 2, .edges = edges, .nedges = 3 };
	uint32_t block_class[2], edge_class[3];

	assert_int_equal(calc_classes(&g, block_class, edge_class), 1);
	g.missing = true;
	assert_int_equal(calc_classes(&g, block_class, edge_class), 5);
	assert_true(block_class[0] != block_class[1]);
}

static void test_2502_infinite_loop_keeps_its_body_one_class(void **state)
{
	/* 0 enters the loop 1, 2, 3, which nothing leaves */
	struct cfg_block blocks[4] = { 0 };
	struct cfg_edge edges[] = { { .from = 0, .to = 1 },
				    { .from = 1, .to = 2 },
				    { .from = 2, .to = 3 },
				    { .from = 3, .to = 1 },
				    { .from = CFG_OUTSIDE, .to = 0 } };
	struct cfg g = { .blocks = blocks, .nblocks = 4, .edges = edges, .nedges = 5 };
	uint32_t block_class[4], edge_class[5];

	assert_int_equal(calc_classes(&g, block_class, edge_class), 3);
	assert_int_equal(block_class[1], block_class[2]);
	assert_int_equal(block_class[1], block_class[3]);
	assert_int_not_equal(block_class[1], block_class[0]);
	assert_int_equal(block_class[0], edge_class[0]);
}

static void test_2503_no_blocks_and_no_edges_are_a_graph(void **state)
{
	struct cfg_block block = { 0 };
	struct cfg g = { .blocks = &block };
	uint32_t block_class, edge_class;

	assert_int_equal(calc_classes(&g, &block_class, &edge_class), 0);
	g.nblocks = 1;
	assert_int_equal(calc_classes(&g, &block_class, &edge_class), 1);
}

/* Two rails with a rung at every step, and a way back every `back` steps. */
static double ladder_seconds(uint32_t steps, uint32_t back)
{
	struct cfg g = { .nblocks = 2 * steps };
	struct timespec a, b;

	g.blocks = x_calloc(g.nblocks, sizeof(*g.blocks));
	g.edges = x_calloc((size_t)steps * 5, sizeof(*g.edges));
	for (uint32_t i = 0; i < steps; i++) {
		g.edges[g.nedges++] = (struct cfg_edge){ .from = 2 * i, .to = 2 * i + 1 };
		if (i + 1 < steps) {
			g.edges[g.nedges++] = (struct cfg_edge){ .from = 2 * i, .to = 2 * i + 2 };
			g.edges[g.nedges++] =
			    (struct cfg_edge){ .from = 2 * i + 1, .to = 2 * i + 3 };
		}
		if (i % back == back - 1)
			g.edges[g.nedges++] =
			    (struct cfg_edge){ .from = 2 * i + 1, .to = 2 * (i + 1 - back) };
	}
	g.edges[g.nedges++] = (struct cfg_edge){ .from = 2 * steps - 1, .to = CFG_OUTSIDE };
	g.edges[g.nedges++] = (struct cfg_edge){ .from = CFG_OUTSIDE, .to = 0 };
	uint32_t *block_class = x_calloc(g.nblocks, sizeof(*block_class));
	uint32_t *edge_class = x_calloc(g.nedges, sizeof(*edge_class));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	uint32_t n = calc_classes(&g, block_class, edge_class);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	assert_true(n > steps);
	free(g.blocks);
	free(g.edges);
	free(block_class);
	free(edge_class);
	return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* The quickest of a few: others use this machine, too. */
static double least_seconds(uint32_t steps, uint32_t back)
{
	double least = ladder_seconds(steps, back);

	for (unsigned i = 0; i < 4; i++) {
		double now = ladder_seconds(steps, back);

		least = now < least ? now : least;
	}
	return least;
}

static void test_2504_time_is_linear_in_the_size(void **state)
{
	static const uint32_t back[] = { 4, 1000 };

	for (size_t i = 0; i < ARRAY_LEN(back); i++) {
		double ratio = 0;

		/* 3 edges a step: a million edges, and half of them */
		for (unsigned tries = 0; tries < 4; tries++) {
			ratio = least_seconds(333333, back[i]) / least_seconds(166666, back[i]);
			if (ratio <= 2.3)
				break;
		}
		print_message("a million edges take %.2f times as long as half of them\n", ratio);
		assert_true(ratio <= 2.3);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2500_classes_are_those_of_the_definition),
		cmocka_unit_test(test_2501_graph_with_missing_edges_has_a_class_for_each),
		cmocka_unit_test(test_2502_infinite_loop_keeps_its_body_one_class),
		cmocka_unit_test(test_2503_no_blocks_and_no_edges_are_a_graph),
		cmocka_unit_test(test_2504_time_is_linear_in_the_size),
	};

	if (argc > 1)
		graphs = (unsigned)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
