/* SPDX-License-Identifier: MIT */
/*
 * 650: the dependence graph: every lane against brute force, kernels against each other, icosts.
 * Brute force derives from edges.def like everything else; the hand-computed graphs of icost.c
 * test that its rows mean what they should. This file is compiled a second time with one more row
 * (more.def).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/icost/graph.h"
#include "analysis/icost/lane.h"
#include "util/util.h"

#define MAX_INSTS  400
#define LONG_INSTS 16384

static uint32_t part(struct graph_part p, unsigned lane)
{
	return graph_counts(p.category, lane) ? p.cycles : 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t parts(const struct graph_part *p, unsigned n, unsigned lane)
{
	uint64_t sum = 0;
	for (unsigned k = 0; k < n; k++)
		sum += part(p[k], lane);
	return sum;
}

/* Returns the nearest index, in the direction `by`, that is grain - 1 modulo grain. */
static int64_t rounded(int64_t i, int64_t grain, int64_t by)
{
	while (i >= 0 && i % grain != grain - 1)
		i += by;
	return i;
}

/* The rows of edges.def in one lane. All times before the first instruction are 0. */
#define AT(n, j)	    ((int64_t)(j) >= 0 ? t[NODE_##n][j] : 0)
#define TIME_HERE(n)	    AT(n, i)
#define TIME_BEFORE(n)	    AT(n, i - 1)
#define TIME_OWN_PACKET(n)  AT(n, i)
#define TIME_LAST_PACKET(n) AT(n, i - 1)
#define TIME_BACK_C(x)	    AT(C, i - (int64_t)(x))
#define TIME_BACK_E(x)	    AT(E, i - (int64_t)(x))
#define TIME_NEXT_D(x)	    (AT(D, i - (int64_t)(x)) + 1)
#define TIME_GRAIN_D(x)	    AT(D, rounded(i - (int64_t)(x), GRAPH_GRAIN, -1))
#define TIME_GRAIN_C(x)	    AT(C, rounded(i - (int64_t)(x), GRAPH_WIN_GRAIN, 1))
#define TIME_SLOT(x)	    slot[x]

#define PLUS_NONE	    0
#define PLUS_ONE	    1
#define PLUS_MACHINE(m)	    g->m
#define PLUS_CYCLES(x)	    x
#define PLUS_IN_PART(x)	    part(x, lane)
#define PLUS_IN_PARTS(x, n) parts(x, n, lane)
#define PLUS_EXECUTION	    (in->ep + parts(in->ep_part, GRAPH_EP_PARTS, lane))

#define IN_LANE_NEVER	true
#define IN_LANE_BW	bw
#define IN_LANE_WIN	!wide
#define IN_LANE_BW_WIN	(bw && !wide)
#define IN_LANE_NOT_WIN wide
#define IN_LANE_BY(c)	graph_counts(c, lane)

/* Computes one lane node by node, straight from the table. */
static uint64_t brute_force(const struct graph_config *g, const struct graph_inst *insts, size_t n,
			    unsigned lane)
{
	static uint64_t t[NODES][LONG_INSTS], slot[GRAPH_SLOTS];
	const bool bw = !(lane >> CAT_BW & 1) || g->one_width,
		   wide = lane >> CAT_WIN & 1 && !g->one_window;
	memset(slot, 0, sizeof(slot));
	for (int64_t i = 0; i < (int64_t)n; i++) {
		const struct graph_inst *in = &insts[i];
		t[NODE_F][i] = AT(F, i - 1);
#define NODE(n)                                                                                    \
	if (HAS_##n) {                                                                             \
		uint64_t x = 0;
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	if (HOLDS_##when && IN_LANE_##removed)                                                     \
		x = later(x, TIME_##at + PLUS_##latency);
#define NEAR EDGE
#define LIMITED(name, n, at, latency, removed, when, blame, limit, forward)                        \
	if (HOLDS_##when && IN_LANE_##removed) {                                                   \
		const uint64_t wait = later(TIME_##at + PLUS_##latency, x) - x;                    \
		x += wait <= limit ? wait : forward ? 0 : limit;                                   \
	}
#define OVERTAKES(name, n, at, when)                                                               \
	if (HOLDS_##when && x < TIME_##at) {                                                       \
		const uint64_t again =                                                             \
		    later(AT(C, i - 1) + 1, x + PLUS_EXECUTION) + g->order_flush;                  \
		t[NODE_F][i] = later(t[NODE_F][i], again);                                         \
		t[NODE_D][i] = later(t[NODE_D][i], again + g->depth);                              \
		x = later(x, again + g->depth + g->dispatch_latency);                              \
	}
#define OWN(n, latency, when) x += PLUS_##latency;
#define RESULT(into, n, latency, when)                                                             \
	if (HOLDS_##when)                                                                          \
		slot[in->into] = x + PLUS_##latency;
#define END(n)                                                                                     \
	t[NODE_##n][i] = x;                                                                        \
	}
#include "analysis/icost/edges.def"
	}
	return t[NODE_C][n - 1];
}

static struct graph_part random_part(struct rng *rng, unsigned one_in, unsigned most)
{
	struct graph_part p = { .category = (uint8_t)rng_below(rng, CAT_COUNT) };
	p.cycles = rng_below(rng, one_in) ? 0 : (uint16_t)rng_below(rng, most);
	return p;
}

static void random_insts(struct rng *rng, const struct graph_config *g, struct graph_inst *insts,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct graph_inst *in = &insts[i];
		memset(in, 0, sizeof(*in));
		in->flags =
		    (uint8_t)(!rng_below(rng, 3) * GRAPH_HEAD | !rng_below(rng, 9) * GRAPH_PD |
			      !rng_below(rng, 30) * GRAPH_CF | !rng_below(rng, 20) * GRAPH_SERIAL |
			      !rng_below(rng, 2) * GRAPH_PORT);
		in->pd_cat = (uint8_t)rng_below(rng, CAT_COUNT);
		in->line_cat = (uint8_t)rng_below(rng, CAT_COUNT);
		for (unsigned k = 0; k < 2; k++) {
			in->step[k] = random_part(rng, 2, 4);
			in->fetch[k] = random_part(rng, 4, 30);
		}
		in->fetch[2] = random_part(rng, 4, 30);
		in->pd = (uint16_t)rng_below(rng, 15);
		in->cf = (uint16_t)rng_below(rng, 15);
		in->buffer = rng_below(rng, 2) ? 0 : (uint16_t)(1 + rng_below(rng, 40));
		in->targets = rng_below(rng, 3) ? 0 : (uint16_t)(1 + rng_below(rng, g->past));
		in->cd[0] =
		    rng_below(rng, 8) ? (uint16_t)g->window : (uint16_t)rng_below(rng, g->window);
		in->cd[1] = (uint16_t)g->window_ideal;
		in->iq = g->issue_edges && !rng_below(rng, 5)
			     ? (uint16_t)(1 + rng_below(rng, g->window - 1))
			     : 0;
		in->iq_bw = g->issue_edges && !rng_below(rng, 5)
				? (uint16_t)(1 + rng_below(rng, g->window - 1))
				: 0;
		in->iq_bw_dl1 = g->issue_edges && !rng_below(rng, 5)
				    ? (uint16_t)(1 + rng_below(rng, g->window - 1))
				    : 0;
		in->known =
		    rng_below(rng, 4) ? 0 : (uint16_t)(GRAPH_SLOT_POOL + 8 + rng_below(rng, 4));
		in->over = g->overtakes && !rng_below(rng, 6)
			       ? (uint16_t)(GRAPH_SLOT_POOL + 8 + rng_below(rng, 4))
			       : 0;
		in->cd_wait = in->cd[0] ? random_part(rng, 10, 20) : (struct graph_part){ 0 };
		in->dd = random_part(rng, 10, 20);
		const unsigned nsrc = (unsigned)rng_below(rng, GRAPH_SOURCES + 1);
		for (unsigned k = 0; k < nsrc; k++)
			in->src[k] = (uint16_t)(1 + rng_below(rng, 20));
		in->port = rng_below(rng, 3) ? 0 : (uint16_t)(GRAPH_SLOT_PORTS + rng_below(rng, 3));
		in->after =
		    rng_below(rng, 9) ? (uint16_t)(GRAPH_SLOT_PORTS + rng_below(rng, 3)) : 0;
		in->occupies = random_part(rng, 1, 9);
		in->re = random_part(rng, 4, 5);
		in->ep = (uint16_t)rng_below(rng, 3);
		for (unsigned k = 0; k < rng_below(rng, GRAPH_EP_PARTS + 1); k++) {
			in->ep_part[k] = random_part(rng, 1, 50);
			in->ep_part[k].cycles++;
		}
		in->late = rng_below(rng, 7) ? 0 : (uint16_t)(GRAPH_SLOT_POOL + rng_below(rng, 8));
		in->written = rng_below(rng, 9) ? 0 : (uint16_t)(1 + rng_below(rng, g->past));
		in->drain = in->written ? random_part(rng, 2, 20) : (struct graph_part){ 0 };
		in->line = rng_below(rng, 5) ? 0 : (uint16_t)(GRAPH_SLOT_POOL + rng_below(rng, 8));
		in->data = rng_below(rng, 5) ? 0 : (uint16_t)(1 + rng_below(rng, 20));
		in->pc = rng_below(rng, 9) ? 0 : (uint16_t)rng_below(rng, 9);
		in->dst = rng_below(rng, 4) ? (uint16_t)(1 + rng_below(rng, 20)) : 0;
		in->mem = rng_below(rng, 4) ? 0 : (uint16_t)(GRAPH_SLOT_POOL + rng_below(rng, 8));
		in->wake = random_part(rng, 2, 3);
		if (in->late && !in->written && rng_below(rng, 3)) {
			in->flags |= (uint8_t)(GRAPH_LINE | rng_below(rng, 2) * GRAPH_FORWARD);
			in->drain = random_part(rng, 2, 200);
			in->fill = (uint16_t)rng_below(rng, 200);
		} else if (!rng_below(rng, 4)) {
			in->brings = (uint16_t)(GRAPH_SLOT_POOL + rng_below(rng, 8));
			in->fill = (uint16_t)rng_below(rng, 300);
		}
#ifdef EDGES_MORE
		in->more = rng_below(rng, 3) ? 0 : (uint16_t)(1 + rng_below(rng, g->window));
		in->more_wait = random_part(rng, 2, 40);
		in->more_cat = (uint8_t)rng_below(rng, CAT_COUNT);
#endif
	}
}

static struct graph_config random_config(struct rng *rng)
{
	struct graph_config g = { .window = 4 + (uint32_t)rng_below(rng, 30),
				  .fetch_width = 1 + (uint32_t)rng_below(rng, 8),
				  .commit_width = 1 + (uint32_t)rng_below(rng, 8),
				  .depth = (uint32_t)rng_below(rng, 9),
				  .dispatch_latency = (uint32_t)rng_below(rng, 3),
				  .commit_latency = (uint32_t)rng_below(rng, 2),
				  .buffer_ideal = rng_below(rng, 2) ? 0 : 100,
				  .order_flush = 1 + (uint32_t)rng_below(rng, 9),
				  .issue_edges = rng_below(rng, 2),
				  .overtakes = rng_below(rng, 2),
				  .one_window = !rng_below(rng, 4),
				  .one_width = !rng_below(rng, 4) };
	g.window_ideal = 20 * g.window;
	g.past = g.window + (uint32_t)rng_below(rng, 50);
	return g;
}

static void test_701_every_lane_of_every_kernel_is_the_longest_path(void **state)
{
	static struct graph_inst insts[MAX_INSTS];
	struct rng rng;
	rng_seed(&rng, 1);
	for (int round = 0; round < 24; round++) {
		const struct graph_config config = random_config(&rng);
		size_t n = 1 + rng_below(&rng, MAX_INSTS);
		random_insts(&rng, &config, insts, n);
		for (const struct graph_kernel *const *k = graph_kernels; *k; k++) {
			uint64_t length[GRAPH_LANES];
			if (!(*k)->supported())
				continue;
			struct graph *g = graph_new(&config);
			graph_use(g, *k);
			/* in batches of any size */
			for (size_t i = 0, step; i < n; i += step) {
				step = min_u64(1 + rng_below(&rng, 50), n - i);
				graph_add(g, insts + i, step);
			}
			graph_length(g, length);
			assert_int_equal(graph_count(g), n);
			assert_int_equal(graph_base(g).c, length[0]);
			for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
				if (length[lane] != brute_force(&config, insts, n, lane))
					fail_msg("kernel %s, round %d, lane %u: %lu instead of %lu",
						 (*k)->name, round, lane, length[lane],
						 brute_force(&config, insts, n, lane));
			graph_free(g);
		}
	}
}

static void test_3314_the_lane_that_runs_ahead_is_the_one_of_the_graph(void **state)
{
	static struct graph_inst insts[MAX_INSTS];
	struct rng rng;
	rng_seed(&rng, 1);
	for (int round = 0; round < 24; round++) {
		const struct graph_config config = random_config(&rng);
		const size_t n = 1 + rng_below(&rng, MAX_INSTS);
		random_insts(&rng, &config, insts, n);
		struct lane *lane = lane_new(&config, 1u << CAT_SHALU, 0, NULL);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(lane_next(lane, &insts[i], 0, true).slot, 0);
		assert_int_equal(lane_commit(lane),
				 brute_force(&config, insts, n, 1u << CAT_SHALU));
		lane_free(lane);
	}
	(void)state;
}

/* Checks every kernel's lanes against brute force; `insts` goes in by batches of up to `most`. */
static void check(const struct graph_config *config, const struct graph_inst *insts, size_t n,
		  size_t most, struct rng *rng)
{
	static uint64_t want[GRAPH_LANES];
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
		want[lane] = brute_force(config, insts, n, lane);
	for (const struct graph_kernel *const *k = graph_kernels; *k; k++) {
		uint64_t length[GRAPH_LANES];
		if (!(*k)->supported())
			continue;
		struct graph *g = graph_new(config);
		graph_use(g, *k);
		for (size_t i = 0, step; i < n; i += step) {
			step = min_u64(1 + rng_below(rng, most), n - i);
			graph_add(g, insts + i, step);
		}
		graph_length(g, length);
		graph_free(g);
		for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
			if (length[lane] != want[lane])
				fail_msg("kernel %s, lane %u: %lu instead of %lu", (*k)->name, lane,
					 length[lane], want[lane]);
	}
}

static void test_702_icosts_of_all_sets_sum_to_the_time_that_can_go(void **state)
{
	static struct graph_inst insts[MAX_INSTS];
	struct rng rng;
	uint64_t length[GRAPH_LANES];
	double icost[GRAPH_LANES], sum = 0;
	rng_seed(&rng, 2);
	const struct graph_config config = random_config(&rng);
	random_insts(&rng, &config, insts, MAX_INSTS);
	struct graph *g = graph_new(&config);
	graph_add(g, insts, MAX_INSTS);
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

static void test_703_a_graph_that_is_reset_starts_anew(void **state)
{
	static struct graph_inst insts[MAX_INSTS];
	struct rng rng;
	uint64_t first[GRAPH_LANES], second[GRAPH_LANES];
	rng_seed(&rng, 3);
	const struct graph_config config = random_config(&rng);
	random_insts(&rng, &config, insts, MAX_INSTS);
	struct graph *g = graph_new(&config);
	graph_add(g, insts, MAX_INSTS);
	graph_length(g, first);
	graph_reset(g);
	graph_add(g, insts, MAX_INSTS);
	graph_length(g, second);
	graph_free(g);
	assert_memory_equal(first, second, sizeof(first));
}

/* Lanes use 16 bits where they can: here stretches with long latencies alternate with others. */
static void test_705_long_latencies_are_exact_however_narrow_lanes_are(void **state)
{
	static struct graph_inst insts[LONG_INSTS];
	struct rng rng;
	rng_seed(&rng, 5);
	for (int round = 0; round < 3; round++) {
		struct graph_config config = random_config(&rng);
		config.buffer_ideal = 100; /* F keeps up, so lanes can be narrow again */
		random_insts(&rng, &config, insts, LONG_INSTS);
		for (size_t i = 0; i < LONG_INSTS; i++) {
			struct graph_inst *in = &insts[i];
			const unsigned stretch = (unsigned)(i / 1024);
			in->buffer = (uint16_t)(1 + rng_below(&rng, 40));
			if (stretch % 8 || rng_below(&rng, 1 + 40 * round))
				continue;
			const uint16_t cycles =
			    (uint16_t)rng_below(&rng, stretch % 16 ? 65536 : 6000);
			switch (rng_below(&rng, 9)) {
			case 0: /* page fault, system call */
				in->flags |= GRAPH_HEAD | GRAPH_CF;
				in->cf = cycles;
				break;
			case 1:
				in->ep_part[0] = (struct graph_part){ cycles, CAT_DMISS, 0 };
				break;
			case 2:
				in->dd = (struct graph_part){ cycles, CAT_WIN, 0 };
				break;
			case 3:
				in->fetch[0] = (struct graph_part){ cycles, CAT_IMISS, 0 };
				break;
			case 4:
				in->cd_wait.cycles = in->cd[0] ? cycles % (GRAPH_WAIT_MAX + 1) : 0;
				break;
			case 5:
				in->occupies = (struct graph_part){ cycles, CAT_LGALU, 0 };
				break;
			case 6:
				in->wake = (struct graph_part){ cycles, CAT_SHALU, 0 };
				break;
			case 7:
				in->pc = cycles;
				break;
			default:
				in->ep = cycles;
				break;
			}
		}
		check(&config, insts, LONG_INSTS, 700, &rng);
	}
}

/* Nothing limits fetch: its times stay far below those of dispatch, and catch up in the second
 * half. */
static void test_706_fetch_may_lag_behind_dispatch_by_any_time(void **state)
{
	static struct graph_inst insts[LONG_INSTS];
	const struct graph_config config = { .window = 16,
					     .window_ideal = 320,
					     .fetch_width = 4,
					     .commit_width = 4,
					     .depth = 5,
					     .dispatch_latency = 1,
					     .commit_latency = 1 };
	struct rng rng;
	rng_seed(&rng, 6);
	memset(insts, 0, sizeof(insts));
	for (size_t i = 0; i < LONG_INSTS; i++) {
		struct graph_inst *in = &insts[i];
		const bool late = i >= LONG_INSTS / 2;
		in->cd[0] = 16;
		in->cd[1] = 320;
		in->src[0] = in->dst = 1;
		in->flags = GRAPH_HEAD;
		in->step[0] = (struct graph_part){ 1, CAT_BW, 0 };
		in->ep_part[0] = (struct graph_part){ late ? 1 : 30, CAT_DMISS, 0 };
		in->fetch[0] = (struct graph_part){ late ? 45 : 0, CAT_IMISS, 0 };
	}
	check(&config, insts, LONG_INSTS, 512, &rng);
	/* the real machine takes the longer of both, and some cycles at the ends */
	const uint64_t c = brute_force(&config, insts, LONG_INSTS, 0);
	assert_in_range(c, LONG_INSTS / 2 * 47, LONG_INSTS / 2 * 47 + 100);
}

/* The time until which a port is taken may run ahead without bound, if no instruction waits for
 * it. */
static void test_707_ports_may_run_ahead_by_any_time(void **state)
{
	static struct graph_inst insts[LONG_INSTS];
	const struct graph_config config = { .window = 16,
					     .window_ideal = 320,
					     .fetch_width = 4,
					     .commit_width = 4,
					     .dispatch_latency = 1,
					     .commit_latency = 1 };
	struct rng rng;
	rng_seed(&rng, 7);
	memset(insts, 0, sizeof(insts));
	for (size_t i = 0; i < LONG_INSTS; i++) {
		struct graph_inst *in = &insts[i];
		in->cd[0] = 16;
		in->cd[1] = 320;
		in->port = in->after = (uint16_t)(GRAPH_SLOT_PORTS + i % 2);
		in->occupies = (struct graph_part){ 20, CAT_LGALU, 0 };
		in->flags = i == LONG_INSTS - 1 ? GRAPH_PORT : 0;
	}
	check(&config, insts, LONG_INSTS, 512, &rng);
	assert_true(brute_force(&config, insts, LONG_INSTS, 0) > LONG_INSTS / 2 * 20 - 40);
}

static void test_708_commits_are_those_of_single_instructions(void **state)
{
	enum { LANES = 5 };
	static const unsigned lanes[LANES] = { 0, 1, 2, 128, 255 };
	static struct graph_inst insts[MAX_INSTS];
	static uint64_t commits[MAX_INSTS][LANES];
	struct rng rng;
	rng_seed(&rng, 8);
	const struct graph_config config = random_config(&rng);
	random_insts(&rng, &config, insts, MAX_INSTS);
	insts[MAX_INSTS / 2].ep = 60000; /* bases change in between */
	insts[MAX_INSTS / 2 + 50].ep = 60000;
	struct graph *together = graph_new(&config), *single = graph_new(&config);
	graph_add_commits(together, insts, MAX_INSTS, lanes, LANES, commits[0]);
	for (size_t i = 0; i < MAX_INSTS; i++) {
		graph_add(single, &insts[i], 1);
		for (unsigned k = 0; k < LANES; k++)
			assert_int_equal(commits[i][k], graph_commit(single, lanes[k]));
	}
	graph_free(together);
	graph_free(single);
}

/* There are more kinds of parts than the table of their sums has room for. */
static void test_709_any_number_of_different_latencies(void **state)
{
	static struct graph_inst insts[LONG_INSTS];
	struct rng rng;
	rng_seed(&rng, 9);
	const struct graph_config config = random_config(&rng);
	random_insts(&rng, &config, insts, LONG_INSTS / 4);
	for (size_t i = 0; i < LONG_INSTS / 4; i++) {
		struct graph_inst *in = &insts[i];
		in->ep = (uint16_t)rng_below(&rng, 300);
		in->re = random_part(&rng, 1, 300);
		in->dd = random_part(&rng, 1, 100);
		in->step[0] = random_part(&rng, 1, 100);
		in->fetch[1] = random_part(&rng, 1, 100);
	}
	check(&config, insts, LONG_INSTS / 4, 600, &rng);
}

/* Times have 32 bits at most: a run of more than 2^32 cycles must not wrap. */
static void test_704_times_go_beyond_32_bits(void **state)
{
	static struct graph_inst insts[512];
	const struct graph_config config = { .window = 8,
					     .window_ideal = 160,
					     .fetch_width = 4,
					     .commit_width = 4,
					     .dispatch_latency = 1 };
	uint64_t length[GRAPH_LANES];
	for (size_t i = 0; i < 512; i++) {
		insts[i].cd[0] = 8;
		insts[i].cd[1] = 160;
		insts[i].src[0] = insts[i].dst = 1;
		insts[i].ep = 60000;
	}
	struct graph *g = graph_new(&config);
	for (size_t k = 0; k < 200; k++)
		graph_add(g, insts, 512);
	graph_length(g, length);
	graph_free(g);
	/* the first is fetched in cycle 1, or 0 without limits of bandwidth, and is ready a cycle
	 * later */
	assert_true(length[0] == 200ull * 512 * 60000 + 2);
	assert_true(length[GRAPH_LANES - 1] == length[0] - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_701_every_lane_of_every_kernel_is_the_longest_path),
		cmocka_unit_test(test_3314_the_lane_that_runs_ahead_is_the_one_of_the_graph),
		cmocka_unit_test(test_702_icosts_of_all_sets_sum_to_the_time_that_can_go),
		cmocka_unit_test(test_703_a_graph_that_is_reset_starts_anew),
		cmocka_unit_test(test_704_times_go_beyond_32_bits),
		cmocka_unit_test(test_705_long_latencies_are_exact_however_narrow_lanes_are),
		cmocka_unit_test(test_706_fetch_may_lag_behind_dispatch_by_any_time),
		cmocka_unit_test(test_707_ports_may_run_ahead_by_any_time),
		cmocka_unit_test(test_708_commits_are_those_of_single_instructions),
		cmocka_unit_test(test_709_any_number_of_different_latencies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
