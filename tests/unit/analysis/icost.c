/* SPDX-License-Identifier: MIT */
/*
 * 660: small graphs whose costs were computed by hand: fields2004's own examples, and one graph
 * for every kind of edge. Then slack and the longest path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/icost/graph.h"
#include "analysis/icost/segment.h"
#include "util/util.h"

#define N 40

struct small {
	struct graph_config config;
	struct graph_inst in[N];
	size_t count;
	uint64_t length[GRAPH_LANES];
};

static struct small *new_small(uint32_t window, uint32_t width)
{
	struct small *s = x_calloc(1, sizeof(*s));
	s->config = (struct graph_config){ .window = window,
					   .window_ideal = 20 * window,
					   .fetch_width = width,
					   .commit_width = width };
	return s;
}

/* Adds an operation that reads slot `from` (0: none), takes that many cycles and writes slot
 * `to`. */
static struct graph_inst *op(struct small *s, unsigned from, unsigned to, unsigned cycles,
			     enum graph_category category)
{
	struct graph_inst *in = &s->in[s->count++];
	in->cd[0] = (uint16_t)s->config.window;
	in->cd[1] = (uint16_t)s->config.window_ideal;
	in->src[0] = (uint16_t)from;
	in->dst = (uint16_t)to;
	if (category == CAT_NONE)
		in->ep = (uint16_t)cycles;
	else
		in->ep_part[0] = (struct graph_part){ .cycles = (uint16_t)cycles,
						      .category = (uint8_t)category };
	return in;
}

static void solve(struct small *s)
{
	struct graph *g = graph_new(&s->config);
	graph_add(g, s->in, s->count);
	graph_length(g, s->length);
	graph_free(g);
}

static int64_t cost(const struct small *s, unsigned set)
{
	return (int64_t)(s->length[0] - s->length[set]);
}

static int64_t icost(const struct small *s, unsigned a, unsigned b)
{
	return cost(s, a | b) - cost(s, a) - cost(s, b);
}

#define SET(c) (1u << CAT_##c)

/* Figure 1: A and then B take 20 cycles together, beside C of 9 cycles; idealising A leaves 9. */
static void test_613_figure_1_has_its_published_cost(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 12, CAT_DL1);  /* A */
	op(s, 1, 2, 8, CAT_DMISS); /* B */
	op(s, 0, 3, 9, CAT_LGALU); /* C */
	solve(s);
	assert_int_equal(cost(s, SET(DL1)), 11);
	assert_int_equal(cost(s, SET(DMISS)), 8);
	assert_int_equal(cost(s, SET(LGALU)), 0);
	assert_int_equal(icost(s, SET(DL1), SET(DMISS)), 11 - 11 - 8 + 0);
	assert_int_equal(icost(s, SET(DL1), SET(LGALU)), 12 - 11 - 0);
	assert_int_equal(cost(s, SET(DL1) | SET(DMISS) | SET(LGALU)), 20);
	free(s);
}

/* Figure 2's machine has a reorder buffer of four and fetches and commits two a cycle. */
static void test_614_figure_2_loads_and_window_edges_are_in_series(void **state)
{
	struct small *s = new_small(4, 2);
	op(s, 0, 1, 10,
	   CAT_DL1); /* i0: load, 10 cycles: D 1, P 11, C 12 (commit after the 0th's) */
	op(s, 1, 2, 1, CAT_SHALU); /* i1: needs it: P 12, C 12 */
	op(s, 0, 3, 1, CAT_SHALU); /* i2: D 2, P 3, C 13 */
	op(s, 0, 4, 1, CAT_SHALU); /* i3: D 2, C 13 */
	op(s, 0, 5, 10, CAT_DL1);  /* i4: D = C(i0) = 11, P 21, C 21 */
	op(s, 5, 6, 1, CAT_SHALU); /* i5: D = C(i1) = 12, P 22, C 22 */
	solve(s);
	assert_int_equal(s->length[0], 22);
	/* without the window limit both loads issue at once: D(i4) 3, P 13; commits at 13 and 14 */
	assert_int_equal(s->length[SET(WIN)], 14);
	/* without their latency nothing waits: two a cycle take three cycles, and an ALU one */
	assert_int_equal(s->length[SET(DL1)], 4);
	assert_true(icost(s, SET(DL1), SET(WIN)) < 0);
	free(s);
}

static void test_615_parallel_misses_cost_nothing_alone_and_all_together(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 100, CAT_DMISS);
	op(s, 0, 2, 100, CAT_IMISS); /* this category stands for the second miss */
	solve(s);
	assert_int_equal(cost(s, SET(DMISS)), 0);
	assert_int_equal(cost(s, SET(IMISS)), 0);
	assert_int_equal(icost(s, SET(DMISS), SET(IMISS)), 100);
	free(s);
}

static void test_616_dependent_misses_beside_operations_interact_serially(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 100, CAT_DMISS);
	op(s, 1, 2, 100, CAT_IMISS);
	op(s, 0, 3, 100, CAT_LGALU);
	solve(s);
	assert_int_equal(cost(s, SET(DMISS)), 100);
	assert_int_equal(cost(s, SET(IMISS)), 100);
	assert_int_equal(icost(s, SET(DMISS), SET(IMISS)), -100);
	free(s);
}

static void test_617_events_in_series_alone_are_independent(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 10, CAT_DMISS);
	op(s, 1, 2, 20, CAT_LGALU);
	solve(s);
	assert_int_equal(cost(s, SET(DMISS)), 10);
	assert_int_equal(cost(s, SET(LGALU)), 20);
	assert_int_equal(icost(s, SET(DMISS), SET(LGALU)), 0);
	free(s);
}

/* The branch resolves after 5 cycles and redirects 3 later; then come 7 cycles of work. */
static void test_618_a_mispredict_costs_resolution_and_redirect(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 0, 5, CAT_NONE);
	struct graph_inst *after = op(s, 0, 1, 7, CAT_NONE);
	after->flags = GRAPH_HEAD | GRAPH_PD;
	after->pd = 3;
	after->pd_cat = CAT_BMISP;
	solve(s);
	/* D = 1 by the first group; P = 6; F = D = 9; 16. Idealised: max(6, 8) = 8 */
	assert_int_equal(s->length[0], 16);
	assert_int_equal(cost(s, SET(BMISP)), 8);
	free(s);
}

/* In a window of 4 the fifth instruction waits until the miss at the head commits. */
static void test_619_a_full_window_serialises_misses(void **state)
{
	struct small *s = new_small(4, 15);
	op(s, 0, 1, 50, CAT_DMISS);
	for (int i = 0; i < 3; i++)
		op(s, 0, 2, 1, CAT_NONE);
	op(s, 0, 3, 50, CAT_DMISS);
	solve(s);
	/* 1 + 50 + 50; a large window overlaps both misses; without misses 2 and then 1 in all */
	assert_int_equal(s->length[0], 101);
	assert_int_equal(cost(s, SET(WIN)), 50);
	assert_int_equal(cost(s, SET(DMISS)), 99);
	assert_int_equal(icost(s, SET(WIN), SET(DMISS)), 99 - 50 - 99);
	free(s);
}

static void test_668_fetch_bandwidth_is_a_cycle_for_every_group(void **state)
{
	struct small *s = new_small(64, 2);
	for (int i = 0; i < 20; i++)
		op(s, 0, 0, 1, CAT_NONE);
	solve(s);
	/* ten groups dispatch in 1..10 and end a cycle later */
	assert_int_equal(s->length[0], 11);
	assert_int_equal(s->length[SET(BW)], 1);
	free(s);
}

static void test_669_commit_bandwidth_holds_what_is_done(void **state)
{
	struct small *s = new_small(64, 15);
	s->config.commit_width = 1;
	for (int i = 0; i < 10; i++)
		op(s, 0, 0, 5, CAT_NONE);
	solve(s);
	/* all are done in 6; from then on one commits a cycle */
	assert_int_equal(s->length[0], 6 + 9);
	assert_int_equal(s->length[SET(BW)], 5);
	free(s);
}

static void test_670_a_shared_line_comes_with_the_first_miss(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 80, CAT_DMISS)->mem = GRAPH_SLOT_POOL;
	struct graph_inst *sharer = op(s, 0, 2, 2, CAT_NONE);
	sharer->line = GRAPH_SLOT_POOL;
	sharer->line_cat = CAT_DMISS;
	op(s, 2, 3, 4, CAT_NONE);
	solve(s);
	assert_int_equal(s->length[0], 1 + 80 + 4);
	/* without misses the load that shared the line hits: 2 cycles, and 4 */
	assert_int_equal(s->length[SET(DMISS)], 1 + 6);
	free(s);
}

/* Six misses of 100 cycles, for which there are two MSHRs: three after each other. */
static void test_1700_misses_wait_for_mshrs_whatever_the_window_and_the_width(void **state)
{
	struct small *s = new_small(64, 15);
	for (unsigned k = 0; k < 6; k++) {
		struct graph_inst *in = op(s, 0, 1 + k, 100, CAT_DMISS);
		in->mem = (uint16_t)(GRAPH_SLOT_POOL + k);
		in->line_cat = CAT_DMISS;
		in->mshr = k < 2 ? 0 : (uint16_t)(GRAPH_SLOT_POOL + k - 2);
		in->mshr_for[0] = (struct graph_part){ .cycles = k < 2 ? 0 : 90 };
		in->mshr_for[0].category = CAT_NONE;
		in->mshr_for[1] =
		    (struct graph_part){ .cycles = k < 2 ? 0 : 10, .category = CAT_BW };
	}
	solve(s);
	assert_int_equal(s->length[0], 1 + 300);
	assert_int_equal(s->length[SET(WIN)], 1 + 300);
	/* the last 10 cycles of each are a queue, which bandwidth lifts; the first ones have none */
	assert_int_equal(s->length[SET(BW)], 100 + 90 + 90);
	assert_int_equal(s->length[SET(DMISS)], 1);
	free(s);
}

static void test_671_a_store_waits_for_its_data_only_to_complete(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 30, CAT_LGALU);
	struct graph_inst *store = op(s, 0, 0, 1, CAT_NONE);
	store->data = 1;
	store->mem = GRAPH_SLOT_POOL;
	op(s, GRAPH_SLOT_POOL, 2, 2, CAT_DL1); /* a load of the stored data */
	solve(s);
	assert_int_equal(s->length[0], 1 + 30 + 2);
	assert_int_equal(cost(s, SET(LGALU)), 29); /* without it the address takes its one cycle */
	assert_int_equal(cost(s, SET(DL1)), 2);
	free(s);
}

static void test_672_wake_up_belongs_to_the_operation_that_wakes(void **state)
{
	struct small *s = new_small(64, 15);
	for (int i = 0; i < 10; i++)
		op(s, 1, 1, 1, CAT_SHALU)->wake =
		    (struct graph_part){ .cycles = 1, .category = CAT_SHALU };
	solve(s);
	/* 10 operations and 9 wake-ups */
	assert_int_equal(s->length[0], 1 + 19);
	assert_int_equal(cost(s, SET(SHALU)), 19);
	free(s);
}

static void test_673_serialising_waits_for_all_before_it(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 40, CAT_DMISS);
	op(s, 0, 0, 5, CAT_NONE)->flags = GRAPH_SERIAL;
	solve(s);
	assert_int_equal(s->length[0], 1 + 40 + 5);
	assert_int_equal(cost(s, SET(DMISS)), 40);
	free(s);
}

static void test_674_an_issue_queue_gives_its_entry_when_its_owner_issues(void **state)
{
	struct small *s = new_small(64, 15);
	s->config.issue_edges = true;
	op(s, 0, 1, 30, CAT_DMISS);
	op(s, 1, 2, 1, CAT_NONE); /* issues when the miss has its data */
	op(s, 0, 3, 9, CAT_NONE)->iq = 1;
	solve(s);
	assert_int_equal(s->length[0], 1 + 30 + 9);
	assert_int_equal(cost(s, SET(WIN)), 8); /* without the window 31 and one operation: 32 */
	free(s);
}

/* Two units of ten cycles for three operations: the third waits for the first. */
static void test_675_a_unit_that_is_not_pipelined_bounds_throughput(void **state)
{
	struct small *s = new_small(64, 15);
	for (int i = 0; i < 3; i++) {
		struct graph_inst *in = op(s, 0, 0, 10, CAT_LGALU);
		in->port = in->after = (uint16_t)(GRAPH_SLOT_PORTS + i % 2);
		in->occupies = (struct graph_part){ .cycles = 10, .category = CAT_LGALU };
		in->flags = GRAPH_PORT;
	}
	solve(s);
	assert_int_equal(s->length[0], 1 + 20);
	assert_int_equal(s->length[SET(BW)], 10);
	assert_int_equal(cost(s, SET(LGALU)), 20);
	free(s);
}

static void test_676_the_fetch_buffer_hides_an_instruction_miss_behind_a_full_window(void **state)
{
	struct small *s = new_small(2, 15);
	op(s, 0, 1, 50, CAT_DMISS);
	op(s, 0, 0, 1, CAT_NONE);
	struct graph_inst *head = op(s, 0, 0, 1, CAT_NONE); /* waits until the miss commits */
	head->flags = GRAPH_HEAD;
	head->fetch[0] = (struct graph_part){ .cycles = 30, .category = CAT_IMISS };
	solve(s);
	assert_int_equal(s->length[0], 1 + 50 + 1);
	assert_int_equal(cost(s, SET(IMISS)), 0);
	assert_int_equal(cost(s, SET(DMISS)), 52 - 31);
	assert_int_equal(cost(s, SET(DMISS) | SET(IMISS)), 52 - 2);
	free(s);
}

static void test_678_a_load_waits_for_the_data_of_its_store(void **state)
{
	struct small *s = new_small(64, 15);
	struct graph_inst *load;
	op(s, 0, 1, 30, CAT_LGALU);
	op(s, 0, 0, 1, CAT_NONE)->data = 1; /* the store's address is ready at once */
	s->in[1].mem = GRAPH_SLOT_POOL;
	load = op(s, 0, 2, 4, CAT_DL1);
	load->late = GRAPH_SLOT_POOL;
	solve(s);
	assert_int_equal(s->length[0], 1 + 30 + 4);
	assert_int_equal(cost(s, SET(LGALU)), 35 - (2 + 4));
	assert_int_equal(cost(s, SET(DL1)), 4);
	free(s);
}

static void test_679_a_load_with_some_of_a_stores_bytes_waits_until_it_is_written(void **state)
{
	struct small *s = new_small(64, 15);
	struct graph_inst *load;
	op(s, 0, 1, 30, CAT_DMISS);
	op(s, 0, 0, 1, CAT_NONE); /* the store is done at once and commits after the miss */
	load = op(s, 0, 2, 4, CAT_DL1);
	load->written = 1;
	load->drain = (struct graph_part){ .cycles = 3, .category = CAT_NONE };
	solve(s);
	assert_int_equal(s->length[0], 1 + 30 + 3 + 4);
	assert_int_equal(cost(s, SET(DMISS)), 38 - (2 + 3 + 4));
	free(s);
}

/* An operation of 20 cycles, a store behind it, and a load of the line that the store fetches. The
 * load itself is fetched that many cycles later, because of an instruction miss. */
static struct small *store_line(unsigned cycles, unsigned flags)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 20, CAT_LGALU);
	struct graph_inst *in = op(s, 0, 0, 1, CAT_NONE);
	in->brings = GRAPH_SLOT_POOL;
	in->fill = 101;
	in = op(s, 0, 2, 4, CAT_DL1);
	in->flags |= (uint8_t)(GRAPH_HEAD | GRAPH_LINE | flags);
	in->fetch[0] = (struct graph_part){ .cycles = (uint16_t)cycles, .category = CAT_IMISS };
	in->late = GRAPH_SLOT_POOL;
	in->line_cat = CAT_DMISS;
	in->fill = 100;
	solve(s);
	return s;
}

static void test_632_a_line_that_a_store_brings_comes_after_the_store_commits(void **state)
{
	/* The store commits at 21; its line arrives at 122. */
	struct small *s = store_line(200, 0);
	assert_int_equal(s->length[0], 200 + 4);
	assert_int_equal(s->length[SET(DMISS)], 200 + 4);
	assert_int_equal(s->length[SET(DMISS) | SET(IMISS)], 21);
	/* A load that comes before the store commits fetches the line itself. */
	assert_int_equal(s->length[SET(IMISS)], 1 + 100 + 4);
	free(s);
	s = store_line(50, 0);
	assert_int_equal(s->length[0], 21 + 101 + 4);
	assert_int_equal(s->length[SET(DMISS)], 50 + 4);
	assert_int_equal(s->length[SET(LGALU)], 2 + 101 + 4);
	free(s);
	/* A load of the store's own bytes gets them forwarded. */
	s = store_line(50, GRAPH_FORWARD);
	assert_int_equal(s->length[0], 21 + 101 + 4);
	assert_int_equal(s->length[SET(IMISS)], 21);
	free(s);
}

static void test_699_fetch_waits_for_a_packet_to_leave_the_target_queue(void **state)
{
	struct small *s = new_small(64, 15);
	struct graph_inst *head;
	op(s, 0, 1, 50, CAT_DMISS);
	op(s, 0, 0, 1, CAT_NONE);
	head = op(s, 0, 0, 6, CAT_NONE);
	head->flags = GRAPH_HEAD;
	head->targets = 2;
	solve(s);
	assert_int_equal(s->length[0], 1 + 50 + 6);
	assert_int_equal(cost(s, SET(DMISS)), 50);
	assert_int_equal(cost(s, SET(WIN)), 6);
	assert_int_equal(cost(s, SET(BW)), 1 + 6); /* dispatch begins a cycle earlier, too */
	free(s);
}

static void test_677_icosts_and_rest_are_the_run(void **state)
{
	struct small *s = new_small(4, 2);
	double list[GRAPH_LANES], sum = 0;
	for (unsigned i = 0; i < N; i++)
		op(s, i % 7, i % 5, 1 + i % 9, (enum graph_category)(i % (CAT_NONE + 1)));
	solve(s);
	for (unsigned k = 0; k < GRAPH_LANES; k++)
		list[k] = (double)cost(s, k);
	graph_icosts(list);
	for (unsigned k = 0; k < GRAPH_LANES; k++)
		sum += list[k];
	assert_true(sum + (double)s->length[GRAPH_LANES - 1] == (double)s->length[0]);
	free(s);
}

/* ---- slack ---- */

static struct segment *segment_of(const struct small *s)
{
	struct segment *g = x_calloc(1, sizeof(*g));
	g->count = s->count;
	memcpy(g->in, s->in, s->count * sizeof(*s->in));
	for (size_t i = 0; i < s->count; i++)
		g->inst[i].pc = 0x1000 + 4 * i;
	segment_solve(g, &s->config);
	return g;
}

static void test_681_slack_is_what_a_result_can_be_late(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 20, CAT_DMISS);
	op(s, 0, 2, 5, CAT_LGALU); /* its user waits for the miss in any case */
	op(s, 2, 3, 3, CAT_LGALU)->src[1] = 1;
	struct segment *g = segment_of(s);
	assert_int_equal(g->length, 23);
	assert_int_equal(g->inst[0].slack, 0);
	assert_true(g->inst[0].critical);
	assert_int_equal(g->inst[1].slack, 15);
	assert_int_equal(g->inst[1].local, 15);
	assert_false(g->inst[1].critical);
	assert_int_equal(g->inst[0].kind_cycles[KIND_MISS], 20);
	assert_int_equal(g->inst[2].kind_cycles[KIND_LATENCY], 3);
	free(g);
	free(s);
}

/* Local slack ends when the first dependent instruction is delayed, global slack when the run
 * is. */
static void test_682_local_slack_is_never_more_than_global(void **state)
{
	struct small *s = new_small(64, 15);
	op(s, 0, 1, 2, CAT_LGALU);
	op(s, 1, 2, 2, CAT_LGALU); /* delayed at once, but nothing waits for it */
	op(s, 0, 3, 50, CAT_DMISS);
	struct segment *g = segment_of(s);
	assert_int_equal(g->inst[0].local, 0);
	assert_int_equal(g->inst[0].slack, 46);
	assert_int_equal(g->inst[1].slack, 46);
	free(g);
	free(s);
}

static struct graph_part some(struct rng *rng, unsigned most)
{
	return (struct graph_part){ .cycles = (uint16_t)rng_below(rng, most),
				    .category = (uint8_t)rng_below(rng, CAT_SAVED_DMISS) };
}

/* In a random program, delaying a P by its slack must not lengthen the run; delaying it by one
 * cycle more must. */
static void test_683_slack_holds_when_it_is_used_up(void **state)
{
	struct rng rng;
	rng_seed(&rng, 5);
	for (int round = 0; round < 60; round++) {
		struct small *s =
		    new_small(3 + (uint32_t)rng_below(&rng, 12), 1 + (uint32_t)rng_below(&rng, 4));
		s->config.depth = (uint32_t)rng_below(&rng, 5);
		s->config.dispatch_latency = 1;
		s->config.commit_latency = 1;
		for (unsigned i = 0; i < N; i++) {
			struct graph_inst *in =
			    op(s, (unsigned)rng_below(&rng, 6), 1 + (unsigned)rng_below(&rng, 5),
			       1 + (unsigned)rng_below(&rng, 20), CAT_LGALU);
			in->src[1] = (uint16_t)rng_below(&rng, 6);
			in->re = some(&rng, 2);
			if (!rng_below(&rng, 4)) {
				in->flags = GRAPH_HEAD;
				in->step[0] = some(&rng, 3);
				in->fetch[0] = some(&rng, 6);
				if (i && !rng_below(&rng, 3)) {
					in->flags |= GRAPH_PD;
					in->pd = 3;
				}
			}
			if (!rng_below(&rng, 4)) {
				in->port = GRAPH_SLOT_PORTS;
				in->flags |= GRAPH_PORT;
				in->occupies =
				    (struct graph_part){ .cycles = 2, .category = CAT_NONE };
			}
			in->pc = !rng_below(&rng, 10);
#ifdef EDGES_MORE
			/* a segment has no instruction before its first */
			const uint64_t back = min_u64(i, s->config.window);
			in->more = back ? (uint16_t)rng_below(&rng, back + 1) : 0;
			in->more_wait = some(&rng, 9);
			in->more_cat = CAT_NONE;
#endif
			if (!rng_below(&rng, 4)) {
				in->brings = (uint16_t)(GRAPH_SLOT_POOL + rng_below(&rng, 2));
				in->fill = (uint16_t)(10 + rng_below(&rng, 20));
			} else if (!rng_below(&rng, 3)) {
				in->flags |= GRAPH_LINE;
				in->late = (uint16_t)(GRAPH_SLOT_POOL + rng_below(&rng, 2));
				in->line_cat = CAT_NONE;
				in->drain =
				    (struct graph_part){ .cycles = 2, .category = CAT_NONE };
				in->fill = UINT16_MAX;
			}
		}
		struct segment *g = segment_of(s);
		solve(s);
		/* the segment equals lane 0, except that nothing comes before its first packet and
		 * group */
		assert_in_range(s->length[0] - g->length, 0, 4);
		for (unsigned i = 0; i < N; i++) {
			const uint64_t before = g->length;
			const uint32_t slack = g->inst[i].slack;
			struct segment *late = x_calloc(1, sizeof(*late));
			late->count = g->count;
			memcpy(late->in, s->in, s->count * sizeof(*s->in));
			late->in[i].ep = (uint16_t)(late->in[i].ep + slack);
			segment_solve(late, &s->config);
			assert_int_equal(late->length, before);
			late->in[i].ep++;
			segment_solve(late, &s->config);
			assert_int_equal(late->length, before + 1);
			free(late);
		}
		/* every cycle of the longest path is charged to some instruction */
		uint64_t given = 0;
		for (unsigned i = 0; i < N; i++)
			for (unsigned k = 0; k < KIND_COUNT; k++)
				given += g->inst[i].kind_cycles[k];
		assert_int_equal(given, g->length);
		free(g);
		free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_613_figure_1_has_its_published_cost),
		cmocka_unit_test(test_614_figure_2_loads_and_window_edges_are_in_series),
		cmocka_unit_test(test_615_parallel_misses_cost_nothing_alone_and_all_together),
		cmocka_unit_test(test_616_dependent_misses_beside_operations_interact_serially),
		cmocka_unit_test(test_617_events_in_series_alone_are_independent),
		cmocka_unit_test(test_618_a_mispredict_costs_resolution_and_redirect),
		cmocka_unit_test(test_619_a_full_window_serialises_misses),
		cmocka_unit_test(test_668_fetch_bandwidth_is_a_cycle_for_every_group),
		cmocka_unit_test(test_669_commit_bandwidth_holds_what_is_done),
		cmocka_unit_test(test_670_a_shared_line_comes_with_the_first_miss),
		cmocka_unit_test(test_1700_misses_wait_for_mshrs_whatever_the_window_and_the_width),
		cmocka_unit_test(test_671_a_store_waits_for_its_data_only_to_complete),
		cmocka_unit_test(test_672_wake_up_belongs_to_the_operation_that_wakes),
		cmocka_unit_test(test_673_serialising_waits_for_all_before_it),
		cmocka_unit_test(test_674_an_issue_queue_gives_its_entry_when_its_owner_issues),
		cmocka_unit_test(test_675_a_unit_that_is_not_pipelined_bounds_throughput),
		cmocka_unit_test(
		    test_676_the_fetch_buffer_hides_an_instruction_miss_behind_a_full_window),
		cmocka_unit_test(test_677_icosts_and_rest_are_the_run),
		cmocka_unit_test(test_678_a_load_waits_for_the_data_of_its_store),
		cmocka_unit_test(
		    test_679_a_load_with_some_of_a_stores_bytes_waits_until_it_is_written),
		cmocka_unit_test(test_632_a_line_that_a_store_brings_comes_after_the_store_commits),
		cmocka_unit_test(test_699_fetch_waits_for_a_packet_to_leave_the_target_queue),
		cmocka_unit_test(test_681_slack_is_what_a_result_can_be_late),
		cmocka_unit_test(test_682_local_slack_is_never_more_than_global),
		cmocka_unit_test(test_683_slack_holds_when_it_is_used_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
