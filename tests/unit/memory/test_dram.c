/* SPDX-License-Identifier: MIT */
/*
 * DRAM and translation against closed forms: row hit, miss and conflict, bandwidth, FR-FCFS order,
 * writes; TLB reach, second level, flat walks and walks through the caches.
 */
#include "rig.h"

/* An L1D of two lines and no L2: nearly every load goes to DRAM. One channel, core clock = DRAM
 * clock × 2, CAS RCD RP 10 12 14 clocks = 20 24 28 cycles, no overhead, 8 bytes a cycle = 8 cycles
 * a line. */
static void dram_config(struct memsys_config *c)
{
	rig_config(c);
	c->cache[MEM_L1D].size_bytes = 128;
	c->cache[MEM_L1D].ways = 1;
	c->cache[MEM_L1D].mshrs = 64;
	c->cache[MEM_L2].size_bytes = 0;
	c->mem.kind = MEM_DRAM;
	c->mem.bytes_per_kcycle = 8000;
	c->mem.dram.ranks = 1;
	c->mem.dram.banks = 8;
	c->mem.dram.row_bytes = 8192;
	c->mem.dram.cas = 10;
	c->mem.dram.rcd = 12;
	c->mem.dram.rp = 14;
	c->mem.dram.clock_milli = 2000;
	c->mem.dram.overhead = 0;
	c->mem.dram.queue_depth = 8;
}

#define ROW(row, bank, col) ((((uint64_t)(row)*8 + (bank)) * 128 + (col)) * 64)

static void test_450_row_hit_miss_and_conflict_take_what_they_should(void **state)
{
	struct memsys_config c;
	struct rig *g;

	dram_config(&c);
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_LOAD, ROW(0, 0, 0)), 2 + 24 + 20);
	assert_int_equal(rig_latency(g, RIG_LOAD, ROW(0, 0, 9)), 2 + 20);
	assert_int_equal(rig_latency(g, RIG_LOAD, ROW(1, 0, 0)), 2 + 28 + 24 + 20);
	assert_int_equal(rig_latency(g, RIG_LOAD, ROW(0, 1, 0)), 2 + 24 + 20);
	assert_int_equal(memsys_stats(g->ms)->mem.row_hits, 1);
	assert_int_equal(memsys_stats(g->ms)->mem.row_misses, 2);
	assert_int_equal(memsys_stats(g->ms)->mem.row_conflicts, 1);
	assert_int_equal(memsys_stats(g->ms)->mem.queue_delay, 0);
	rig_free(g);
}

static void test_451_fractional_clock_ratios_round_to_the_nearest_cycle(void **state)
{
	struct memsys_config c;
	struct rig *g;

	dram_config(&c);
	c.mem.dram.cas = c.mem.dram.rcd = c.mem.dram.rp = 14;
	c.mem.dram.clock_milli = 3200; /* 44.8 cycles each */
	c.mem.dram.overhead = 7;
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_LOAD, ROW(0, 0, 0)), 2 + 45 + 45 + 7);
	assert_int_equal(rig_latency(g, RIG_LOAD, ROW(0, 0, 1)), 2 + 45 + 7);
	rig_free(g);
}

static uint64_t stream(struct rig *g, uint32_t n, uint64_t stride)
{
	uint64_t first = g->tokens + 1, token, lo = MEM_NEVER, hi = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		while (rig_ask(g, RIG_LOAD, stride * i, 8, 0, &token) == MEM_RETRY)
			rig_to(g, memsys_next_event(g->ms));
	}
	rig_drain(g);
	for (token = first; token <= g->tokens; token++) {
		if (g->res[token].reply == MEM_RETRY)
			continue;
		lo = min_u64(lo, g->res[token].ready);
		hi = max_u64(hi, g->res[token].ready);
	}
	return hi - lo;
}

static void test_452_a_sequential_stream_reaches_peak_bandwidth(void **state)
{
	static const uint32_t rates[] = { 8000, 5000, 3000 }; /* 8, 12.8 and 21.3 cycles a line */
	uint32_t i;

	for (i = 0; i < ARRAY_LEN(rates); i++) {
		struct memsys_config c;
		struct rig *g;
		uint64_t ideal = 1999ull * 64 * 1000 / rates[i], got;

		dram_config(&c);
		c.mem.bytes_per_kcycle = rates[i];
		g = rig_new(&c);
		got = stream(g, 2000, 64);
		assert_in_range(got, ideal, ideal + ideal / 100);
		rig_free(g);
	}
}

static void test_453_channels_share_the_bandwidth_and_work_in_parallel(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t got;

	dram_config(&c);
	c.mem.dram.channels = 4;
	g = rig_new(&c);
	got = stream(g, 2000, 64);
	assert_in_range(got, 1990 * 8, 2000 * 8 + 200);
	rig_free(g);
	/* every fourth line is in one channel: a quarter of the bandwidth */
	g = rig_new(&c);
	got = stream(g, 1000, 256);
	assert_in_range(got, 990 * 32, 1000 * 32 + 400);
	rig_free(g);
}

static void test_454_banks_open_their_rows_in_parallel(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t[8];
	int i;

	dram_config(&c);
	g = rig_new(&c);
	rig_to(g, 8);
	for (i = 0; i < 8; i++)
		rig_ask(g, RIG_LOAD, ROW(0, i, 0), 8, 0, &t[i]);
	rig_drain(g);
	for (i = 0; i < 8; i++)
		assert_int_equal(g->res[t[i]].ready, 10 + 44 + 8 * i);
	rig_free(g);
	/* eight rows of one bank: each access must close the row before */
	g = rig_new(&c);
	rig_to(g, 8);
	for (i = 0; i < 8; i++)
		rig_ask(g, RIG_LOAD, ROW(i, 0, 0), 8, 0, &t[i]);
	rig_drain(g);
	/* precharge follows the column command by a burst */
	for (i = 0; i < 8; i++)
		assert_int_equal(g->res[t[i]].ready, 10 + 44 + i * (8 + 28 + 24));
	rig_free(g);
}

static void test_455_a_row_hit_overtakes_an_older_conflict(void **state)
{
	int fcfs;

	for (fcfs = 0; fcfs < 2; fcfs++) {
		struct memsys_config c;
		struct rig *g;
		uint64_t a, b, d;

		dram_config(&c);
		c.mem.dram.fcfs = fcfs;
		g = rig_new(&c);
		rig_to(g, 8);
		rig_ask(g, RIG_LOAD, ROW(0, 0, 0), 8, 0, &a);
		rig_ask(g, RIG_LOAD, ROW(1, 0, 0), 8, 0, &b);
		rig_ask(g, RIG_LOAD, ROW(0, 0, 1), 8, 0, &d);
		rig_drain(g);
		assert_int_equal(g->res[a].ready, 54);
		if (fcfs) {
			assert_int_equal(g->res[b].ready, 54 + 60);
			assert_int_equal(g->res[d].ready, 54 + 120);
		} else {
			assert_int_equal(g->res[d].ready, 54 + 8);
			assert_int_equal(g->res[b].ready, 54 + 8 + 60);
		}
		assert_int_equal(memsys_stats(g->ms)->mem.reordered, !fcfs);
		rig_free(g);
	}
}

static void test_456_the_oldest_is_overtaken_at_most_max_bypass_times(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t victim, hits[30], after = 0;
	int i;

	dram_config(&c);
	c.mem.dram.max_bypass = 5;
	c.mem.dram.queue_depth = 64;
	g = rig_new(&c);
	rig_to(g, 8);
	rig_ask(g, RIG_LOAD, ROW(0, 0, 0), 8, 0, NULL);
	rig_ask(g, RIG_LOAD, ROW(1, 0, 0), 8, 0, &victim);
	for (i = 0; i < 30; i++)
		rig_ask(g, RIG_LOAD, ROW(0, 0, i + 1), 8, 0, &hits[i]);
	rig_drain(g);
	for (i = 0; i < 30; i++)
		after += g->res[hits[i]].ready > g->res[victim].ready;
	assert_int_equal(after, 25);
	rig_free(g);
}

static void test_457_the_scheduler_sees_queue_depth_requests(void **state)
{
	uint32_t depth;

	for (depth = 2; depth <= 3; depth++) {
		struct memsys_config c;
		struct rig *g;
		uint64_t b, d;

		dram_config(&c);
		c.mem.dram.queue_depth = depth;
		g = rig_new(&c);
		rig_to(g, 8);
		rig_ask(g, RIG_LOAD, ROW(0, 0, 0), 8, 0, NULL);
		rig_ask(g, RIG_LOAD, ROW(1, 0, 0), 8, 0, &b);
		rig_ask(g, RIG_LOAD, ROW(1, 1, 0), 8, 0, NULL);
		rig_ask(g, RIG_LOAD, ROW(0, 0, 1), 8, 0, &d);
		rig_drain(g);
		/* the row hit is the fourth request; it is the third once the first has gone */
		assert_int_equal(g->res[d].ready < g->res[b].ready, depth == 3);
		rig_free(g);
	}
}

static void test_458_at_most_max_reads_are_under_way(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t got;

	dram_config(&c);
	c.mem.dram.max_reads = 1;
	c.mem.dram.overhead = 30;
	g = rig_new(&c);
	/* with one request at a time a row hit takes CAS + overhead from start to delivery */
	got = stream(g, 101, 64);
	assert_int_equal(got, 100 * (20 + 30));
	rig_free(g);
}

static void test_459_all_writes_reach_the_banks(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t token;
	const struct memsys_stats *st;
	int i;

	dram_config(&c);
	c.mem.dram.max_writes = 8;
	g = rig_new(&c);
	st = memsys_stats(g->ms);
	for (i = 0; i < 1000; i++) {
		while (rig_ask(g, RIG_STORE, 64u * i, 8, 0, &token) == MEM_RETRY)
			rig_to(g, memsys_next_event(g->ms));
	}
	rig_drain(g);
	assert_int_equal(st->mem.writes, 998); /* two are still in the L1D */
	assert_int_equal(st->mem.reads, 1000);
	assert_int_equal(st->mem.row_hits + st->mem.row_misses + st->mem.row_conflicts, 1998);
	assert_int_equal(st->mem.bus_busy, 1998 * 8);
	assert_true(g->now >= 1998 * 8);
	rig_free(g);
}

static void test_460_ideal_bandwidth_leaves_the_row_latencies(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t[16];
	int i;

	dram_config(&c);
	g = rig_new(&c);
	rig_to(g, 8);
	for (i = 0; i < 16; i++)
		rig_ask(g, RIG_LOAD, ROW(0, 0, i), 8, MEM_IDEAL_BW, &t[i]);
	rig_drain(g);
	assert_int_equal(g->res[t[0]].ready, 10 + 44);
	for (i = 1; i < 16; i++)
		assert_int_equal(g->res[t[i]].ready, 10 + 20);
	rig_free(g);
}

/* Translation */

static void tlb_config(struct memsys_config *c)
{
	rig_config(c);
	c->cache[MEM_L1D].size_bytes = 1 << 20;
	c->cache[MEM_L1D].ways = 16;
	c->cache[MEM_L2].size_bytes = 1 << 20;
	c->dtlb.entries = c->itlb.entries = 8;
	c->walk_latency = 30;
}

/* Returns the average latency of a second round over n pages. */
static uint64_t reach(struct rig *g, uint32_t n)
{
	uint64_t sum = 0;
	uint32_t round, i;

	for (round = 0; round < 3; round++) {
		sum = 0;
		for (i = 0; i < n; i++)
			sum += rig_latency(g, RIG_LOAD, 4096ull * i + 64 * (i % 64));
	}
	assert_int_equal(sum % n, 0);
	return sum / n;
}

static void test_470_tlb_reach_steps_at_entries_and_at_second_level_entries(void **state)
{
	static const struct {
		uint32_t pages, latency;
	} steps[] = { { 8, 2 }, { 9, 2 + 6 }, { 32, 2 + 6 }, { 64, 2 + 6 + 30 } };
	uint32_t i;

	for (i = 0; i < ARRAY_LEN(steps); i++) {
		struct memsys_config c;
		struct rig *g;

		tlb_config(&c);
		c.stlb = (struct mem_tlb_config){ .entries = 32, .ways = 1, .latency = 6 };
		g = rig_new(&c);
		assert_int_equal(reach(g, steps[i].pages), steps[i].latency);
		rig_free(g);
	}
}

static void test_471_set_associative_tlbs_conflict(void **state)
{
	struct memsys_config c;
	struct rig *g;
	int i;

	tlb_config(&c);
	c.dtlb.ways = 2; /* 4 sets */
	g = rig_new(&c);
	for (i = 0; i < 6; i++)
		rig_latency(g, RIG_LOAD, 4096ull * 4 * (i % 3));
	assert_int_equal(rig_latency(g, RIG_LOAD, 0), 32);
	assert_int_equal(memsys_stats(g->ms)->dtlb.misses, 7);
	rig_free(g);
}

static void test_472_a_tlb_miss_comes_before_the_cache_miss_and_is_told_apart(void **state)
{
	struct memsys_config c;
	struct rig *g;
	const struct mem_result *r;

	tlb_config(&c);
	g = rig_new(&c);
	r = rig_access(g, RIG_LOAD, 10, 0x4000, 0);
	assert_int_equal(r->ready, 10 + 30 + 112);
	assert_int_equal(r->xlat, 30);
	assert_int_equal(r->miss, 140);
	assert_int_equal(r->events, MEM_EV_TLB_MISS | MEM_EV_STLB_MISS | MEM_EV_L1_MISS |
					MEM_EV_L2_MISS | MEM_EV_LLC_MISS);
	rig_drain(g);
	r = rig_access(g, RIG_FETCH, 1000, 0x4000, MEM_IDEAL_ITLB);
	assert_int_equal(r->ready, 1012);
	assert_int_equal(r->xlat, 0);
	rig_free(g);
}

static void test_473_accesses_to_one_page_wait_for_one_walk(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t[4];
	int i;

	tlb_config(&c);
	g = rig_new(&c);
	for (i = 0; i < 4; i++) {
		rig_to(g, 10 + 5 * i);
		rig_ask(g, RIG_LOAD, 0x4000 + 64u * i, 8, 0, &t[i]);
	}
	rig_drain(g);
	for (i = 0; i < 4; i++) {
		assert_int_equal(g->res[t[i]].ready, 10 + 30 + 112);
		assert_int_equal(g->res[t[i]].xlat, 30 - 5 * i);
	}
	assert_int_equal(memsys_stats(g->ms)->walks, 1);
	rig_free(g);
}

static void test_474_a_walk_makes_three_dependent_loads_through_the_caches(void **state)
{
	struct memsys_config c;
	struct rig *g;

	tlb_config(&c);
	c.walk = MEM_WALK_CACHES;
	c.walk_cache = 0;
	g = rig_new(&c);
	/* three page-table entries and the data, all from memory */
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000), 4 * 112);
	assert_int_equal(memsys_stats(g->ms)->walk_loads, 3);
	/* the entries of a neighbour page are in lines that the L1D has */
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x5000), 3 * 2 + 112);
	/* 64 pages further, the leaf entry is in a new line */
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000 + 64 * 4096), 2 + 2 + 112 + 112);
	/* 512 pages further, the leaf table is a new one */
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000 + 512 * 4096), 2 + 2 + 112 + 112);
	rig_free(g);
}

static void test_475_the_walk_cache_leaves_the_leaf_load(void **state)
{
	struct memsys_config c;
	struct rig *g;

	tlb_config(&c);
	c.walk = MEM_WALK_CACHES;
	c.walk_from_l2 = true;
	g = rig_new(&c);
	/* the walker asks the L2: 10 + 100 each */
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000), 3 * 110 + 112);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x5000), 10 + 112);
	assert_int_equal(memsys_stats(g->ms)->walk_loads, 4);
	assert_true(memsys_probe(g->ms, MEM_L2, 0x4000));
	rig_free(g);
}

static void test_476_one_walker_walks_one_page_at_a_time(void **state)
{
	uint32_t walkers;

	for (walkers = 1; walkers <= 2; walkers++) {
		struct memsys_config c;
		struct rig *g;
		uint64_t a, b;

		tlb_config(&c);
		c.walk = MEM_WALK_CACHES;
		c.walkers = walkers;
		c.walk_cache = 0;
		g = rig_new(&c);
		rig_to(g, 10);
		rig_ask(g, RIG_LOAD, 0x4000, 8, 0, &a);
		rig_ask(g, RIG_LOAD, 1ull << 38, 8, 0,
			&b); /* shares at most the root's line with the first */
		rig_drain(g);
		assert_int_equal(g->res[a].ready, 10 + 4 * 112);
		if (walkers == 1)
			assert_true(g->res[b].ready >= 10 + 6 * 112);
		else
			assert_int_equal(g->res[b].ready, 10 + 4 * 112);
		rig_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_450_row_hit_miss_and_conflict_take_what_they_should),
		cmocka_unit_test(test_451_fractional_clock_ratios_round_to_the_nearest_cycle),
		cmocka_unit_test(test_452_a_sequential_stream_reaches_peak_bandwidth),
		cmocka_unit_test(test_453_channels_share_the_bandwidth_and_work_in_parallel),
		cmocka_unit_test(test_454_banks_open_their_rows_in_parallel),
		cmocka_unit_test(test_455_a_row_hit_overtakes_an_older_conflict),
		cmocka_unit_test(test_456_the_oldest_is_overtaken_at_most_max_bypass_times),
		cmocka_unit_test(test_457_the_scheduler_sees_queue_depth_requests),
		cmocka_unit_test(test_458_at_most_max_reads_are_under_way),
		cmocka_unit_test(test_459_all_writes_reach_the_banks),
		cmocka_unit_test(test_460_ideal_bandwidth_leaves_the_row_latencies),
		cmocka_unit_test(test_470_tlb_reach_steps_at_entries_and_at_second_level_entries),
		cmocka_unit_test(test_471_set_associative_tlbs_conflict),
		cmocka_unit_test(test_472_a_tlb_miss_comes_before_the_cache_miss_and_is_told_apart),
		cmocka_unit_test(test_473_accesses_to_one_page_wait_for_one_walk),
		cmocka_unit_test(test_474_a_walk_makes_three_dependent_loads_through_the_caches),
		cmocka_unit_test(test_475_the_walk_cache_leaves_the_leaf_load),
		cmocka_unit_test(test_476_one_walker_walks_one_page_at_a_time),
	};

	return cmocka_run_group_tests_name("memory: DRAM and TLBs", tests, NULL, NULL);
}
