/* SPDX-License-Identifier: MIT */
/*
 * What the machine tables of papers need of the memory system beyond one line size and a walk before the
 * access, against closed forms: lines of different sizes, translations beside the access, an L1 hit in no
 * time.
 */
#include "rig.h"

#define L1I(c) ((c).cache[MEM_L1I])
#define L1D(c) ((c).cache[MEM_L1D])
#define L2(c)  ((c).cache[MEM_L2])

/* The rig's machine with 32-byte lines in the L1s and 64-byte lines below. */
static void short_lines(struct memsys_config *c)
{
	rig_config(c);
	L1I(*c).line_bytes = L1D(*c).line_bytes = 32;
}

static void test_1600_a_short_l1_line_leaves_its_neighbour_in_the_l2(void **state)
{
	struct memsys_config c;
	struct rig *g;

	short_lines(&c);
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000), 2 + 10 + 100);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4018), 2);
	/* the other half of the L2's line */
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4020));
	assert_true(memsys_probe(g->ms, MEM_L2, 0x4020));
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4020), 2 + 10);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4040), 2 + 10 + 100);
	assert_int_equal(rig_latency(g, RIG_FETCH, 0x4060), 2 + 10);
	assert_int_equal(rig_latency(g, RIG_FETCH, 0x4040), 2 + 10);
	rig_free(g);
}

static void test_1601_two_short_lines_of_one_l2_line_share_one_trip_to_memory(void **state)
{
	struct memsys_config c;
	uint64_t a, b;
	struct rig *g;

	short_lines(&c);
	g = rig_new(&c);
	rig_to(g, 10);
	rig_ask(g, RIG_LOAD, 0x4000, 8, 0, &a);
	rig_ask(g, RIG_LOAD, 0x4020, 8, 0, &b);
	assert_int_equal(rig_wait(g, a)->ready, 10 + 112);
	assert_int_equal(rig_wait(g, b)->ready, 10 + 112);
	assert_true(g->res[b].events & MEM_EV_MERGED);
	rig_drain(g);
	assert_int_equal(memsys_stats(g->ms)->mem.reads, 1);
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].fills, 2);
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L2].fills, 1);
	rig_free(g);
}

static void test_1602_an_access_crosses_the_lines_of_its_own_l1(void **state)
{
	struct memsys_config c;
	struct rig *g;

	short_lines(&c);
	g = rig_new(&c);
	rig_latency(g, RIG_LOAD, 0x4000);
	/* bytes 0x401c to 0x4023: half of them lie in a line that the L1 has not, but the L2 has */
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x401c), 2 + 10);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x401c), 2);
	rig_free(g);
}

static void test_1603_a_short_dirty_line_makes_its_l2_line_dirty(void **state)
{
	struct memsys_config c;
	struct rig *g;

	short_lines(&c);
	L1D(c).ways = 1; /* 32 sets */
	g = rig_new(&c);
	rig_latency(g, RIG_STORE, 0x4020);
	assert_false(memsys_probe_dirty(g->ms, MEM_L2, 0x4000));
	rig_latency(g, RIG_LOAD, 0x4020 + 1024); /* evicts it */
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4020));
	assert_true(memsys_probe_dirty(g->ms, MEM_L2, 0x4000));
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].writebacks, 1);
	rig_free(g);
}

static void test_1604_an_inclusive_l2_takes_all_short_lines_of_its_victim(void **state)
{
	struct memsys_config c;
	struct rig *g;

	short_lines(&c);
	L1D(c).ways = 8; /* 4 sets, so that the L1 keeps what the L2 must give up */
	L2(c).ways = 1;	 /* 64 sets */
	L2(c).inclusive = true;
	g = rig_new(&c);
	rig_latency(g, RIG_LOAD, 0x4000);
	rig_latency(g, RIG_STORE, 0x4020);
	rig_latency(g, RIG_LOAD, 0x4000 + 4096);
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4000));
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4020));
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].invalidations, 2);
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L2].writebacks, 1);
	rig_free(g);
}

static void test_1605_a_bus_carries_the_lines_of_the_cache_above(void **state)
{
	struct memsys_config c;
	uint64_t a, b;
	struct rig *g;

	short_lines(&c);
	L1I(c).line_bytes = 64;
	L2(c).bus.width_bytes = 8;
	L2(c).bus.interval = 2;
	g = rig_new(&c);
	rig_latency(g, RIG_LOAD, 0x4000);
	rig_latency(g, RIG_LOAD, 0x5000);
	/* a short line takes 4 beats of 2 cycles: what comes next waits 8 cycles … */
	rig_to(g, 10000);
	rig_ask(g, RIG_LOAD, 0x4020, 8, 0, &a);
	rig_ask(g, RIG_FETCH, 0x5000, 8, 0, &b);
	assert_int_equal(rig_wait(g, a)->ready, 10000 + 12);
	assert_int_equal(rig_wait(g, b)->ready, 10000 + 12 + 8);
	/* … and a long one 8 beats */
	rig_latency(g, RIG_LOAD, 0x6000);
	rig_latency(g, RIG_LOAD, 0x7000);
	rig_to(g, 30000);
	rig_ask(g, RIG_FETCH, 0x6000, 8, 0, &a);
	rig_ask(g, RIG_LOAD, 0x7020, 8, 0, &b);
	assert_int_equal(rig_wait(g, a)->ready, 30000 + 12);
	assert_int_equal(rig_wait(g, b)->ready, 30000 + 12 + 16);
	rig_free(g);
}

static void test_1606_lines_may_not_shrink_on_the_way_to_memory(void **state)
{
	struct memsys_config c;
	struct err e;

	short_lines(&c);
	L2(c).line_bytes = 16;
	assert_false(machine_check_memory(&c, &e));
	assert_non_null(strstr(e.text, "l1i.line = 32: longer than the next level's 16"));
	short_lines(&c);
	L2(c).line_bytes = 32;
	assert_false(machine_check_memory(&c, &e));
	assert_non_null(strstr(e.text, "l2.line = 32: the cache before memory has its lines"));
	short_lines(&c);
	L1D(c).line_bytes = 48;
	assert_false(machine_check_memory(&c, &e));
	assert_non_null(strstr(e.text, "l1d.line = 48"));
}

/* The rig's machine with D- and I-TLBs of 4 entries and walks of 30 cycles beside the access. */
static void beside(struct memsys_config *c)
{
	rig_config(c);
	c->itlb.entries = c->dtlb.entries = 4;
	c->walk = MEM_WALK_FLAT;
	c->walk_latency = 30;
	c->walk_beside = true;
}

static void test_1607_a_walk_beside_its_access_costs_the_longer_of_the_two(void **state)
{
	struct memsys_config c;
	const struct mem_result *r;
	struct rig *g;

	beside(&c);
	g = rig_new(&c);
	/* both miss: memory takes longer than the walk, of which a hit would have waited for 28 */
	r = rig_access(g, RIG_LOAD, 1000, 0x4000, 0);
	assert_int_equal(r->ready, 1000 + 112);
	assert_int_equal(r->miss, 110);
	assert_int_equal(r->xlat, 28);
	assert_int_equal(r->level, LEVEL_MEM);
	assert_true(r->events & MEM_EV_TLB_MISS && r->events & MEM_EV_L1_MISS);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000), 2);
	/* the L1 hits: the walk is all */
	for (uint64_t page = 1; page <= 4; page++)
		rig_latency(g, RIG_LOAD, 0x4040 + 0x1000 * page);
	r = rig_access(g, RIG_LOAD, 50000, 0x4000, 0);
	assert_int_equal(r->ready, 50000 + 30);
	assert_int_equal(r->miss, 28);
	assert_int_equal(r->xlat, 28);
	assert_int_equal(r->level, LEVEL_L1);
	rig_drain(g);
	/* one after the other it would be their sum */
	rig_free(g);
	c.walk_beside = false;
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000), 30 + 112);
	rig_free(g);
}

static void test_1608_a_walk_beside_a_fetch_or_an_l2_hit_costs_the_longer(void **state)
{
	struct memsys_config c;
	struct rig *g;

	beside(&c);
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_FETCH, 0x4000), 112);
	for (uint64_t page = 1; page <= 4; page++)
		rig_latency(g, RIG_FETCH, 0x4040 + 0x1000 * page);
	assert_int_equal(rig_latency(g, RIG_FETCH, 0x4000), 30);
	/* the D-side has not been asked: its TLB and L1 miss, and the L2 hits in 12 of the 30 cycles */
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000), 30);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4000), 2);
	rig_free(g);
}

static void test_1609_an_access_across_two_pages_waits_for_both_walks_and_lines(void **state)
{
	struct memsys_config c;
	const struct mem_result *r;
	struct rig *g;

	beside(&c);
	g = rig_new(&c);
	r = rig_access(g, RIG_LOAD, 1000, 0x4ffc, 0);
	assert_int_equal(r->ready, 1000 + 112);
	assert_int_equal(memsys_stats(g->ms)->walks, 2);
	rig_drain(g);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4ffc), 2);
	rig_free(g);
}

static void test_1610_an_ideal_l1_hit_takes_one_cycle_or_none(void **state)
{
	for (uint32_t left = 0; left <= 1; left++) {
		struct memsys_config c;
		const struct mem_result *r;
		struct rig *g;

		rig_config(&c);
		c.ideal_dl1 = left;
		g = rig_new(&c);
		/* a miss leaves as much sooner */
		r = rig_access(g, RIG_LOAD, 10, 0x4000, MEM_IDEAL_DL1);
		assert_int_equal(r->ready, 10 + left + 10 + 100);
		assert_int_equal(r->miss, 110);
		rig_drain(g);
		assert_int_equal(rig_access(g, RIG_LOAD, 1000, 0x4000, MEM_IDEAL_DL1)->ready,
				 1000 + left);
		assert_int_equal(rig_access(g, RIG_LOAD, 2000, 0x4000, 0)->ready, 2002);
		rig_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1600_a_short_l1_line_leaves_its_neighbour_in_the_l2),
		cmocka_unit_test(test_1601_two_short_lines_of_one_l2_line_share_one_trip_to_memory),
		cmocka_unit_test(test_1602_an_access_crosses_the_lines_of_its_own_l1),
		cmocka_unit_test(test_1603_a_short_dirty_line_makes_its_l2_line_dirty),
		cmocka_unit_test(test_1604_an_inclusive_l2_takes_all_short_lines_of_its_victim),
		cmocka_unit_test(test_1605_a_bus_carries_the_lines_of_the_cache_above),
		cmocka_unit_test(test_1606_lines_may_not_shrink_on_the_way_to_memory),
		cmocka_unit_test(test_1607_a_walk_beside_its_access_costs_the_longer_of_the_two),
		cmocka_unit_test(test_1608_a_walk_beside_a_fetch_or_an_l2_hit_costs_the_longer),
		cmocka_unit_test(
		    test_1609_an_access_across_two_pages_waits_for_both_walks_and_lines),
		cmocka_unit_test(test_1610_an_ideal_l1_hit_takes_one_cycle_or_none),
	};

	return cmocka_run_group_tests_name("memory: tables of papers", tests, NULL, NULL);
}
