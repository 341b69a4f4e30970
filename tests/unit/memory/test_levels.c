/* SPDX-License-Identifier: MIT */
/*
 * Caches and buses against closed forms: what a hit, a miss, a merge, a full MSHR file, a busy bus,
 * a line crossing and each idealisation cost, to the cycle.
 */
#include "rig.h"

#define L1D(c) ((c).cache[MEM_L1D])
#define L2(c)  ((c).cache[MEM_L2])

static void test_401_an_l1_hit_takes_the_l1_latency(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	c.cache[MEM_L1I].latency = 1;
	g = rig_new(&c);
	rig_latency(g, RIG_LOAD, 0x4000);
	rig_latency(g, RIG_FETCH, 0x8000);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000), 2);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4038), 2);
	assert_int_equal(rig_latency(g, RIG_STORE, 0x4000), 2);
	assert_int_equal(rig_latency(g, RIG_FETCH, 0x8000), 1);
	rig_free(g);
}

static void test_402_latencies_of_the_levels_add_up(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint32_t lat[LEVEL_MEM + 1];
	int i;

	rig_config(&c);
	c.cache[MEM_LLC].size_bytes = 16384;
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x10000), 2 + 10 + 30 + 100);
	/* three lines of one L1 set evict the first; the L2 has it */
	for (i = 1; i <= 2; i++)
		rig_latency(g, RIG_LOAD, 0x10000 + 512u * i);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x10000), 2 + 10);
	/* five lines of one L2 set evict it there; the LLC has it */
	for (i = 1; i <= 5; i++)
		rig_latency(g, RIG_LOAD, 0x10000 + 1024u * i);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x10000), 2 + 10 + 30);
	memsys_latencies(g->ms, false, lat);
	assert_int_equal(lat[LEVEL_L1], 2);
	assert_int_equal(lat[LEVEL_L2], 12);
	assert_int_equal(lat[LEVEL_LLC], 42);
	assert_int_equal(lat[LEVEL_MEM], 142);
	rig_free(g);
}

static void test_403_levels_and_misses_are_named(void **state)
{
	struct memsys_config c;
	const struct mem_result *r;
	struct rig *g;
	int i;

	rig_config(&c);
	c.cache[MEM_LLC].size_bytes = 16384;
	g = rig_new(&c);
	r = rig_access(g, RIG_LOAD, 10, 0x10000, 0);
	assert_int_equal(r->level, LEVEL_MEM);
	assert_int_equal(r->events, MEM_EV_L1_MISS | MEM_EV_L2_MISS | MEM_EV_LLC_MISS);
	assert_int_equal(r->miss, 140);
	assert_int_equal(r->queue, 0);
	rig_drain(g);
	r = rig_access(g, RIG_LOAD, 1000, 0x10000, 0);
	assert_int_equal(r->level, LEVEL_L1);
	assert_int_equal(r->events, 0);
	assert_int_equal(r->miss, 0);
	for (i = 1; i <= 2; i++)
		rig_latency(g, RIG_LOAD, 0x10000 + 512u * i);
	r = rig_access(g, RIG_LOAD, g->now + 10, 0x10000, 0);
	assert_int_equal(r->level, LEVEL_L2);
	assert_int_equal(r->events, MEM_EV_L1_MISS);
	assert_int_equal(r->miss, 10);
	rig_free(g);
}

static void test_404_without_an_l2_the_llc_serves(void **state)
{
	struct memsys_config c;
	struct rig *g;
	const struct mem_result *r;
	int i;

	rig_config(&c);
	L2(c).size_bytes = 0;
	c.cache[MEM_LLC].size_bytes = 16384;
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x10000), 2 + 30 + 100);
	for (i = 1; i <= 2; i++)
		rig_latency(g, RIG_LOAD, 0x10000 + 512u * i);
	r = rig_access(g, RIG_LOAD, g->now + 10, 0x10000, 0);
	assert_int_equal(r->miss, 30);
	assert_int_equal(r->level, LEVEL_LLC);
	assert_int_equal(r->events, MEM_EV_L1_MISS);
	rig_free(g);
}

static void test_405_with_l2_miss_latency_0_memory_is_as_far_as_it_says(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	L2(c).miss_latency = 0;
	g = rig_new(&c);
	/* puzak2007: the penalties beyond a hit are the latencies of L2 and memory */
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x10000), 2 + 100);
	rig_free(g);
}

static void test_406_misses_of_one_line_merge_and_name_the_first(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t a, b, d;

	rig_config(&c);
	g = rig_new(&c);
	rig_to(g, 100);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4000, 8, 0, &a), MEM_PENDING);
	rig_to(g, 105);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4008, 8, 0, &b), MEM_PENDING);
	assert_int_equal(memsys_outstanding(g->ms, MEM_L1D), 1);
	rig_wait(g, a);
	assert_int_equal(g->res[a].ready, 100 + 112);
	assert_int_equal(g->res[b].ready, 100 + 112);
	assert_int_equal(g->res[b].primary, a);
	assert_true(g->res[b].events & MEM_EV_MERGED);
	assert_false(g->res[a].events & MEM_EV_MERGED);
	assert_int_equal(g->res[b].level, LEVEL_MEM);
	assert_int_equal(g->res[b].miss, 212 - 105 - 2);
	/* a load that comes just before the line arrives is no faster than a hit */
	rig_to(g, 211);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4010, 8, 0, &d), MEM_DONE);
	assert_int_equal(g->res[d].ready, 213);
	assert_int_equal(g->res[d].primary, a);
	assert_int_equal(memsys_stats(g->ms)->mem.reads, 1);
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].merges, 2);
	rig_free(g);
}

static void test_407_full_mshrs_refuse_and_wake_when_one_is_free(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t;
	int i;

	rig_config(&c);
	L1D(c).mshrs = 4;
	g = rig_new(&c);
	rig_to(g, 10);
	for (i = 0; i < 4; i++)
		assert_int_equal(rig_ask(g, RIG_LOAD, 0x4000 + 64u * i, 8, 0, NULL), MEM_PENDING);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x5000, 8, 0, &t), MEM_RETRY);
	assert_int_equal(g->res[t].ready, MEM_NEVER);
	/* a merged request needs no MSHR */
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4008, 8, 0, NULL), MEM_PENDING);
	/* the other L1 has its own MSHRs */
	assert_int_equal(rig_ask(g, RIG_FETCH, 0x6000, 8, 0, NULL), MEM_PENDING);
	rig_to(g, 10 + 111);
	assert_int_equal(g->woken, 0);
	rig_to(g, 10 + 112);
	assert_int_equal(g->woken, 1u << MEM_L1D);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x5000, 8, 0, NULL), MEM_PENDING);
	rig_drain(g);
	rig_free(g);
}

/* Loads consecutive lines as fast as requests are accepted; returns cycles from the first to the
 * last result. */
static uint64_t stream(struct rig *g, uint32_t lines, uint64_t base, uint64_t stride)
{
	uint64_t first = 0, last = 0, token;
	uint64_t first_token = g->tokens + 1;
	uint32_t i;

	for (i = 0; i < lines; i++) {
		while (rig_ask(g, RIG_LOAD, base + stride * i, 8, 0, &token) == MEM_RETRY)
			rig_to(g, min_u64(g->res[token].ready, memsys_next_event(g->ms)));
	}
	rig_drain(g);
	for (token = first_token; token <= g->tokens; token++) {
		if (g->res[token].reply == MEM_RETRY)
			continue;
		if (!first || g->res[token].ready < first)
			first = g->res[token].ready;
		last = max_u64(last, g->res[token].ready);
	}
	return last - first;
}

static void test_408_streams_run_at_mshrs_lines_per_latency(void **state)
{
	uint32_t mshrs;

	for (mshrs = 1; mshrs <= 16; mshrs *= 2) {
		struct memsys_config c;
		struct rig *g;

		rig_config(&c);
		L1D(c).mshrs = mshrs;
		L2(c).mshrs = 64;
		g = rig_new(&c);
		/* n lines in groups of `mshrs`, each 112 cycles after the one before */
		assert_int_equal(stream(g, 64, 0x10000, 64), (64 / mshrs - 1) * 112);
		rig_free(g);
	}
}

static void test_409_the_l2_mshrs_limit_what_the_l1_asks_for(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	L1D(c).mshrs = 32;
	L2(c).mshrs = 4;
	g = rig_new(&c);
	/* the L2 holds an MSHR for its own miss latency and memory's */
	assert_int_equal(stream(g, 64, 0x10000, 64), (64 / 4 - 1) * 110);
	assert_true(memsys_stats(g->ms)->cache[MEM_L2].mshr_stalls > 0);
	rig_free(g);
}

static void test_410_a_bus_delivers_a_line_per_beats_times_interval(void **state)
{
	struct memsys_config c;
	struct rig *g;

	/* puzak2007 section 10: 16 bytes every other cycle, lines of 128: 16 cycles a line */
	rig_config(&c);
	c.line_bytes = 128;
	L1D(c).mshrs = 64;
	L2(c).mshrs = 64;
	c.mem.latency = 50;
	c.mem.bus = (struct mem_bus_config){ .width_bytes = 16, .interval = 2 };
	g = rig_new(&c);
	assert_int_equal(stream(g, 32, 0x10000, 128), 31 * 16);
	assert_int_equal(memsys_stats(g->ms)->mem.bus_busy, 32 * 16);
	rig_free(g);
	/* the bus between L2 and L1 has the same rate */
	c.mem.bus.width_bytes = 0;
	L2(c).bus = (struct mem_bus_config){ .width_bytes = 16, .interval = 2 };
	g = rig_new(&c);
	assert_int_equal(stream(g, 32, 0x10000, 128), 31 * 16);
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L2].bus_busy, 32 * 16);
	rig_free(g);
}

static void test_411_the_critical_word_comes_first_and_the_rest_wraps_around(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t tok[8];
	int i;

	rig_config(&c);
	L2(c).bus = (struct mem_bus_config){ .width_bytes = 8, .interval = 3 };
	g = rig_new(&c);
	rig_access(g, RIG_FETCH, 10, 0x4000, 0); /* into the L2 */
	rig_drain(g);
	rig_to(g, 1000);
	/* the fifth word is asked for first; word i arrives (i - 5 mod 8) beats later */
	rig_ask(g, RIG_LOAD, 0x4028, 8, 0, &tok[5]);
	for (i = 0; i < 8; i++) {
		if (i != 5)
			assert_int_equal(rig_ask(g, RIG_LOAD, 0x4000 + 8u * i, 8, 0, &tok[i]),
					 MEM_PENDING);
	}
	rig_drain(g);
	for (i = 0; i < 8; i++)
		assert_int_equal(g->res[tok[i]].ready, 1012 + 3 * ((i + 3) % 8));
	rig_free(g);
}

static void test_412_with_trailing_edge_data_waits_for_the_whole_line(void **state)
{
	struct memsys_config c;
	struct rig *g;
	int i;

	rig_config(&c);
	L2(c).bus =
	    (struct mem_bus_config){ .width_bytes = 16, .interval = 2, .trailing_edge = true };
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x10000), 112 + 3 * 2);
	for (i = 1; i <= 2; i++)
		rig_latency(g, RIG_LOAD, 0x10000 + 512u * i);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x10000), 12 + 3 * 2);
	rig_free(g);
}

static void test_413_bandwidth_need_not_divide_the_line(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	L1D(c).mshrs = 64;
	L2(c).mshrs = 64;
	c.mem.bytes_per_kcycle = 5000; /* 12.8 cycles a line */
	g = rig_new(&c);
	/* the k-th line begins 12.8 k cycles after the first, rounded up */
	assert_int_equal(stream(g, 61, 0x10000, 64), 60 * 128 / 10);
	rig_free(g);
}

static void test_414_an_access_across_lines_is_as_slow_as_its_slower_half(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t;

	rig_config(&c);
	g = rig_new(&c);
	rig_access(g, RIG_LOAD, 10, 0x4000, 0);
	rig_drain(g);
	rig_to(g, 1000);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x403c, 8, 0, &t), MEM_PENDING);
	rig_wait(g, t);
	assert_int_equal(g->res[t].ready, 1112);
	assert_true(g->res[t].events & MEM_EV_SPLIT);
	assert_int_equal(g->res[t].level, LEVEL_MEM);
	rig_drain(g);
	rig_to(g, 2000);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x403c, 8, 0, &t), MEM_DONE);
	assert_int_equal(g->res[t].ready, 2002);
	/* both halves miss, but there is one completion */
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x50fc, 8, 0, &t), MEM_PENDING);
	rig_drain(g);
	assert_int_equal(g->done[t], 1);
	assert_int_equal(g->res[t].ready, 2112);
	assert_true(memsys_probe(g->ms, MEM_L1D, 0x50c0) && memsys_probe(g->ms, MEM_L1D, 0x5100));
	rig_free(g);
}

static void test_415_a_split_access_works_with_a_single_mshr(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t;

	rig_config(&c);
	L1D(c).mshrs = 1;
	g = rig_new(&c);
	rig_to(g, 10);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x403c, 8, 0, &t), MEM_PENDING);
	rig_drain(g);
	assert_int_equal(g->done[t], 1);
	assert_int_equal(g->res[t].ready, 10 + 2 * 112); /* one after the other */
	assert_true(g->res[t].events & MEM_EV_MSHR_WAIT);
	rig_free(g);
}

static void test_416_ideal_dmiss_hits_and_leaves_no_trace(void **state)
{
	struct memsys_config c;
	const struct mem_result *r;
	struct rig *g;

	rig_config(&c);
	g = rig_new(&c);
	r = rig_access(g, RIG_LOAD, 10, 0x4000, MEM_IDEAL_DMISS);
	assert_int_equal(r->ready, 12);
	assert_int_equal(r->events, 0);
	r = rig_access(g, RIG_FETCH, 20, 0x4000, MEM_IDEAL_IMISS);
	assert_int_equal(r->ready, 22);
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4000));
	assert_false(memsys_probe(g->ms, MEM_L2, 0x4000));
	assert_int_equal(memsys_next_event(g->ms), MEM_NEVER);
	/* idealising the other side does not help */
	r = rig_access(g, RIG_LOAD, 30, 0x4000, MEM_IDEAL_IMISS);
	assert_int_equal(r->ready, 30 + 112);
	rig_free(g);
}

static void test_439_an_ideal_miss_that_puts_its_line_saves_others_the_miss(void **state)
{
	struct memsys_config c;
	const struct mem_result *r;
	struct rig *g;

	rig_config(&c);
	g = rig_new(&c);
	r = rig_access(g, RIG_LOAD, 10, 0x4000, MEM_IDEAL_DMISS | MEM_IDEAL_PUT);
	assert_int_equal(r->ready, 12);
	assert_true(memsys_probe(g->ms, MEM_L1D, 0x4000));
	assert_true(memsys_probe(g->ms, MEM_L2, 0x4000));
	assert_int_equal(memsys_next_event(g->ms), MEM_NEVER);
	r = rig_access(g, RIG_LOAD, 20, 0x4008, 0);
	assert_int_equal(r->ready, 22);
	rig_free(g);
}

static void test_417_ideal_dl1_makes_hits_one_cycle_and_misses_as_much_sooner(void **state)
{
	struct memsys_config c;
	const struct mem_result *r;
	struct rig *g;

	rig_config(&c);
	L1D(c).latency = 4;
	g = rig_new(&c);
	r = rig_access(g, RIG_LOAD, 10, 0x4000, MEM_IDEAL_DL1);
	assert_int_equal(r->ready, 10 + 1 + 10 + 100);
	assert_int_equal(r->miss, 110);
	rig_drain(g);
	assert_int_equal(rig_access(g, RIG_LOAD, 1000, 0x4000, MEM_IDEAL_DL1)->ready, 1001);
	assert_int_equal(rig_access(g, RIG_LOAD, 1010, 0x4000, 0)->ready, 1014);
	rig_free(g);
}

static void test_418_ideal_bandwidth_waits_for_no_bus(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t[8];
	int i;

	rig_config(&c);
	c.mem.bus = (struct mem_bus_config){ .width_bytes = 8, .interval = 4 };
	L2(c).bus = c.mem.bus;
	g = rig_new(&c);
	rig_to(g, 10);
	for (i = 0; i < 8; i++)
		rig_ask(g, RIG_LOAD, 0x4000 + 64u * i, 8, MEM_IDEAL_BW, &t[i]);
	rig_drain(g);
	for (i = 0; i < 8; i++) {
		assert_int_equal(g->res[t[i]].ready, 122);
		assert_int_equal(g->res[t[i]].queue, 0);
	}
	rig_free(g);
}

static void test_419_time_in_queues_is_told_apart(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t[4];
	int i;

	rig_config(&c);
	c.mem.bus =
	    (struct mem_bus_config){ .width_bytes = 16, .interval = 5 }; /* 20 cycles a line */
	g = rig_new(&c);
	rig_to(g, 10);
	for (i = 0; i < 4; i++)
		rig_ask(g, RIG_LOAD, 0x4000 + 64u * i, 8, 0, &t[i]);
	rig_drain(g);
	for (i = 0; i < 4; i++) {
		assert_int_equal(g->res[t[i]].ready, 122 + 20 * i);
		assert_int_equal(g->res[t[i]].queue, 20 * i);
		assert_int_equal(!!(g->res[t[i]].events & MEM_EV_BUS_WAIT), i > 0);
	}
	rig_free(g);
}

static void test_420_ports_and_banks_refuse_for_a_cycle(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t;

	rig_config(&c);
	L1D(c).ports = 2;
	g = rig_new(&c);
	rig_access(g, RIG_LOAD, 10, 0x4000, 0);
	rig_drain(g);
	rig_to(g, 1000);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4000, 8, 0, NULL), MEM_DONE);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4008, 8, 0, NULL), MEM_DONE);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4010, 8, 0, &t), MEM_RETRY);
	assert_int_equal(g->res[t].ready, 1001);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4010, 8, MEM_IDEAL_BW, NULL), MEM_DONE);
	rig_to(g, 1001);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4010, 8, 0, NULL), MEM_DONE);
	rig_free(g);

	rig_config(&c);
	L1D(c).banks = 2;
	g = rig_new(&c);
	rig_access(g, RIG_LOAD, 10, 0x4000, 0);
	rig_access(g, RIG_LOAD, 500, 0x4040, 0);
	rig_drain(g);
	rig_to(g, 1000);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4000, 8, 0, NULL), MEM_DONE);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4040, 8, 0, NULL), MEM_DONE);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4008, 8, 0, NULL), MEM_RETRY);
	rig_free(g);
}

static void test_421_a_busy_l2_bank_makes_misses_queue(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t[4];
	int i;

	rig_config(&c);
	L2(c).banks = 2;
	L2(c).bank_interval = 5;
	g = rig_new(&c);
	rig_to(g, 10);
	for (i = 0; i < 4; i++) /* all hit the even bank */
		rig_ask(g, RIG_LOAD, 0x4000 + 128u * i, 8, 0, &t[i]);
	rig_drain(g);
	for (i = 0; i < 4; i++)
		assert_int_equal(g->res[t[i]].ready, 122 + 5 * i);
	rig_free(g);
}

static void test_422_outstanding_lines_go_to_memory_when_they_miss_the_last_cache(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	g = rig_new(&c);
	rig_access(g, RIG_FETCH, 10, 0x4000, 0); /* into the L2 */
	rig_drain(g);
	rig_to(g, 1000);
	rig_ask(g, RIG_LOAD, 0x4000, 8, 0, NULL);
	rig_ask(g, RIG_LOAD, 0x9000, 8, 0, NULL);
	assert_int_equal(memsys_outstanding(g->ms, MEM_L1D), 2);
	assert_false(memsys_long_outstanding(g->ms, MEM_L1D));
	rig_to(g, 1002); /* both are looked up in the L2 */
	assert_int_equal(memsys_outstanding(g->ms, MEM_L1D), 2);
	assert_true(memsys_long_outstanding(g->ms, MEM_L1D));
	rig_to(g, 1012);
	assert_int_equal(memsys_outstanding(g->ms, MEM_L1D), 1);
	assert_true(memsys_long_outstanding(g->ms, MEM_L1D));
	rig_drain(g);
	assert_int_equal(memsys_outstanding(g->ms, MEM_L1D), 0);
	assert_false(memsys_long_outstanding(g->ms, MEM_L1D));
	rig_free(g);
}

static void test_423_too_many_targets_of_a_line_are_refused(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	L1D(c).targets = 2;
	g = rig_new(&c);
	rig_to(g, 10);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4000, 8, 0, NULL), MEM_PENDING);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4008, 8, 0, NULL), MEM_PENDING);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4010, 8, 0, NULL), MEM_RETRY);
	rig_to(g, 10 + 112);
	assert_int_equal(g->woken, 1u << MEM_L1D);
	assert_int_equal(rig_ask(g, RIG_LOAD, 0x4010, 8, 0, NULL), MEM_DONE);
	rig_free(g);
}

static void test_424_a_merge_in_the_l2_gets_its_own_word(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t a, b;

	rig_config(&c);
	c.mem.bus = (struct mem_bus_config){ .width_bytes = 8, .interval = 4 };
	g = rig_new(&c);
	rig_to(g, 10);
	rig_ask(g, RIG_LOAD, 0x4000, 8, 0, &a);
	rig_ask(g, RIG_FETCH, 0x4020, 8, 0, &b);
	rig_drain(g);
	assert_int_equal(g->res[a].ready, 122);
	assert_int_equal(g->res[b].ready, 122 + 4 * 4);
	assert_int_equal(g->res[b].primary, a);
	assert_int_equal(memsys_stats(g->ms)->mem.reads, 1);
	rig_free(g);
}

static void test_425_a_late_merge_in_the_l2_is_no_faster_than_a_hit_there(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t b;

	rig_config(&c);
	g = rig_new(&c);
	rig_to(g, 10);
	rig_ask(g, RIG_LOAD, 0x4000, 8, 0, NULL); /* arrives at 122 */
	rig_to(g, 118);
	rig_ask(g, RIG_FETCH, 0x4000, 8, 0, &b);
	rig_drain(g);
	assert_int_equal(g->res[b].ready, 118 + 2 + 10);
	rig_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_401_an_l1_hit_takes_the_l1_latency),
		cmocka_unit_test(test_402_latencies_of_the_levels_add_up),
		cmocka_unit_test(test_403_levels_and_misses_are_named),
		cmocka_unit_test(test_404_without_an_l2_the_llc_serves),
		cmocka_unit_test(test_405_with_l2_miss_latency_0_memory_is_as_far_as_it_says),
		cmocka_unit_test(test_406_misses_of_one_line_merge_and_name_the_first),
		cmocka_unit_test(test_407_full_mshrs_refuse_and_wake_when_one_is_free),
		cmocka_unit_test(test_408_streams_run_at_mshrs_lines_per_latency),
		cmocka_unit_test(test_409_the_l2_mshrs_limit_what_the_l1_asks_for),
		cmocka_unit_test(test_410_a_bus_delivers_a_line_per_beats_times_interval),
		cmocka_unit_test(test_411_the_critical_word_comes_first_and_the_rest_wraps_around),
		cmocka_unit_test(test_412_with_trailing_edge_data_waits_for_the_whole_line),
		cmocka_unit_test(test_413_bandwidth_need_not_divide_the_line),
		cmocka_unit_test(test_414_an_access_across_lines_is_as_slow_as_its_slower_half),
		cmocka_unit_test(test_415_a_split_access_works_with_a_single_mshr),
		cmocka_unit_test(test_416_ideal_dmiss_hits_and_leaves_no_trace),
		cmocka_unit_test(test_439_an_ideal_miss_that_puts_its_line_saves_others_the_miss),
		cmocka_unit_test(test_417_ideal_dl1_makes_hits_one_cycle_and_misses_as_much_sooner),
		cmocka_unit_test(test_418_ideal_bandwidth_waits_for_no_bus),
		cmocka_unit_test(test_419_time_in_queues_is_told_apart),
		cmocka_unit_test(test_420_ports_and_banks_refuse_for_a_cycle),
		cmocka_unit_test(test_421_a_busy_l2_bank_makes_misses_queue),
		cmocka_unit_test(
		    test_422_outstanding_lines_go_to_memory_when_they_miss_the_last_cache),
		cmocka_unit_test(test_423_too_many_targets_of_a_line_are_refused),
		cmocka_unit_test(test_424_a_merge_in_the_l2_gets_its_own_word),
		cmocka_unit_test(test_425_a_late_merge_in_the_l2_is_no_faster_than_a_hit_there),
	};

	return cmocka_run_group_tests_name("memory: levels", tests, NULL, NULL);
}
