/* SPDX-License-Identifier: MIT */
/*
 * Which caches hold which lines: replacement against brute-force reference models, write-backs,
 * inclusion, write policies and prefetchers.
 */
#include "rig.h"

#define L1D(c) ((c).cache[MEM_L1D])
#define L2(c)  ((c).cache[MEM_L2])

/* The reference: a list of lines per set, most recent first. */
struct ref_lru {
	uint64_t line[64][64];
	uint32_t used[64];
};

static bool ref_lru_access(struct ref_lru *r, uint32_t sets, uint32_t ways, uint64_t line)
{
	uint32_t s = line % sets, i, n = r->used[s];
	bool hit = false;

	for (i = 0; i < n; i++) {
		if (r->line[s][i] == line) {
			hit = true;
			break;
		}
	}
	if (!hit) {
		if (n < ways)
			r->used[s] = ++n;
		i = n - 1;
	}
	for (; i > 0; i--)
		r->line[s][i] = r->line[s][i - 1];
	r->line[s][0] = line;
	return hit;
}

/* The reference: tree-PLRU by recursion over halves, with node bits as an array. */
struct ref_plru {
	uint64_t line[64][64];
	bool valid[64][64];
	bool right[64][64]; /* node: the victim is on the right */
};

static void ref_plru_use(struct ref_plru *r, uint32_t s, uint32_t way, uint32_t low, uint32_t high,
			 uint32_t node)
{
	uint32_t mid = (low + high) / 2;

	if (high - low == 1)
		return;
	r->right[s][node] = way < mid;
	if (way < mid)
		ref_plru_use(r, s, way, low, mid, 2 * node);
	else
		ref_plru_use(r, s, way, mid, high, 2 * node + 1);
}

static uint32_t ref_plru_victim(struct ref_plru *r, uint32_t s, uint32_t low, uint32_t high,
				uint32_t node)
{
	uint32_t mid = (low + high) / 2;

	if (high - low == 1)
		return low;
	return r->right[s][node] ? ref_plru_victim(r, s, mid, high, 2 * node + 1)
				 : ref_plru_victim(r, s, low, mid, 2 * node);
}

static bool ref_plru_access(struct ref_plru *r, uint32_t sets, uint32_t ways, uint64_t line)
{
	uint32_t s = line % sets, w;
	bool hit = false;

	for (w = 0; w < ways && !hit; w++)
		hit = r->valid[s][w] && r->line[s][w] == line;
	if (hit) {
		w--;
	} else {
		for (w = 0; w < ways && r->valid[s][w];)
			w++;
		if (w == ways)
			w = ref_plru_victim(r, s, 0, ways, 1);
		r->line[s][w] = line;
		r->valid[s][w] = true;
	}
	ref_plru_use(r, s, w, 0, ways, 1);
	return hit;
}

static void compare_with_reference(uint32_t replacement)
{
	static const uint32_t ways_of[] = { 1, 2, 4, 8, 16, 3, 12 };
	uint32_t w, n, pf = replacement == MEM_PLRU ? 5 : 7;

	for (w = 0; w < pf; w++) {
		uint32_t ways = ways_of[w], sets = 16;
		struct ref_lru *lru = x_calloc(1, sizeof(*lru));
		struct ref_plru *plru = x_calloc(1, sizeof(*plru));
		struct memsys_config c;
		struct rng rng;
		struct rig *g;

		rig_config(&c);
		L1D(c).ways = ways;
		L1D(c).size_bytes = sets * ways * 64;
		L1D(c).replacement = replacement;
		g = rig_new(&c);
		rng_seed(&rng, 7 + ways);
		for (n = 0; n < 4000; n++) {
			uint64_t line = rng_below(&rng, 3) ? rng_below(&rng, sets * ways)
							   : rng_below(&rng, 4096);
			bool hit = replacement == MEM_PLRU ? ref_plru_access(plru, sets, ways, line)
							   : ref_lru_access(lru, sets, ways, line);

			assert_int_equal(memsys_probe(g->ms, MEM_L1D, line * 64), hit);
			assert_int_equal(rig_access(g, RIG_LOAD, g->now + 1, line * 64, 0)->level ==
					     LEVEL_L1,
					 hit);
			rig_drain(g);
		}
		rig_free(g);
		free(lru);
		free(plru);
	}
}

static void test_430_lru_is_the_reference_lru(void **state)
{
	compare_with_reference(MEM_LRU);
}

static void test_431_plru_is_the_reference_tree(void **state)
{
	compare_with_reference(MEM_PLRU);
}

static uint64_t random_misses(uint64_t seed, uint64_t *hash)
{
	struct memsys_config c;
	struct rig *g;
	struct rng rng;
	uint64_t misses;
	int n;

	rig_config(&c);
	L1D(c).replacement = L2(c).replacement = MEM_RANDOM;
	c.seed = seed;
	g = rig_new(&c);
	rng_seed(&rng, 3);
	for (n = 0; n < 3000; n++)
		rig_access(g, RIG_LOAD, g->now + 200, rng_below(&rng, 32) * 64, 0);
	rig_drain(g);
	misses = memsys_stats(g->ms)->cache[MEM_L1D].misses;
	*hash = memsys_state_hash(g->ms);
	rig_free(g);
	return misses;
}

static void test_432_random_replacement_follows_its_seed(void **state)
{
	uint64_t a, b, other;
	uint64_t misses = random_misses(1, &a);

	assert_int_equal(random_misses(1, &b), misses);
	assert_int_equal(a, b);
	random_misses(2, &other);
	assert_true(other != a);
	/* with 32 lines in a cache of 16, half the accesses hit, whatever the victims */
	assert_in_range(misses, 3000 * 42 / 100, 3000 * 58 / 100);
}

static void test_433_a_dirty_line_is_written_back_when_evicted(void **state)
{
	struct memsys_config c;
	struct rig *g;
	const struct memsys_stats *st;

	rig_config(&c);
	g = rig_new(&c);
	st = memsys_stats(g->ms);
	rig_latency(g, RIG_STORE, 0x4000);
	assert_true(memsys_probe_dirty(g->ms, MEM_L1D, 0x4000));
	assert_false(memsys_probe_dirty(g->ms, MEM_L2, 0x4000));
	rig_latency(g, RIG_LOAD, 0x4200);
	rig_latency(g, RIG_LOAD, 0x4400);
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4000));
	assert_true(memsys_probe_dirty(g->ms, MEM_L2, 0x4000));
	assert_int_equal(st->cache[MEM_L1D].writebacks, 1);
	assert_int_equal(st->mem.writes, 0);
	/* evicted from the L2 it goes to memory; clean lines do not */
	rig_latency(g, RIG_LOAD, 0x8000);
	rig_latency(g, RIG_LOAD, 0x8400);
	rig_latency(g, RIG_LOAD, 0x8800);
	rig_latency(g, RIG_LOAD, 0x8c00);
	assert_false(memsys_probe(g->ms, MEM_L2, 0x4000));
	assert_int_equal(st->cache[MEM_L2].writebacks, 1);
	assert_int_equal(st->mem.writes, 1);
	rig_free(g);
}

static void test_434_write_backs_take_bus_time(void **state)
{
	uint64_t cycles[2];
	int dirty, i;

	for (dirty = 0; dirty < 2; dirty++) {
		struct memsys_config c;
		struct rig *g;
		uint64_t start, token;

		rig_config(&c);
		L2(c).size_bytes = 0; /* the L1 is connected to memory */
		c.mem.bus = (struct mem_bus_config){ .width_bytes = 8,
						     .interval = 2 }; /* 16 cycles a line */
		L1D(c).mshrs = 16;
		g = rig_new(&c);
		for (i = 0; i < 16; i++)
			rig_latency(g, dirty ? RIG_STORE : RIG_LOAD, 64u * i);
		start = g->now;
		for (i = 0; i < 160; i++) {
			while (rig_ask(g, dirty ? RIG_STORE : RIG_LOAD, 0x10000 + 64u * i, 8, 0,
				       &token) == MEM_RETRY)
				rig_to(g, memsys_next_event(g->ms));
		}
		rig_drain(g);
		cycles[dirty] = g->now - start;
		assert_int_equal(memsys_stats(g->ms)->mem.writes, dirty ? 160 : 0);
		assert_int_equal(memsys_stats(g->ms)->mem.bus_busy, 16 * (176 + (dirty ? 160 : 0)));
		rig_free(g);
	}
	/* 160 lines of 16 cycles come in, then as many go out as well */
	assert_in_range(cycles[0], 160 * 16, 160 * 16 + 150);
	assert_in_range(cycles[1], 2 * 160 * 16 - 300, 2 * 160 * 16 + 150);
}

static void test_438_write_backs_under_ideal_bandwidth_are_counted_and_free(void **state)
{
	struct memsys_config c;
	struct rig *g;
	int i;

	rig_config(&c);
	L2(c).size_bytes = 0;
	c.mem.bus = (struct mem_bus_config){ .width_bytes = 8, .interval = 2 };
	g = rig_new(&c);
	for (i = 0; i < 32; i++)
		rig_access(g, RIG_STORE, g->now + 200, 64u * i, MEM_IDEAL_BW);
	rig_drain(g);
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].writebacks, 16);
	assert_int_equal(memsys_stats(g->ms)->mem.writes, 16);
	assert_int_equal(memsys_stats(g->ms)->mem.bus_busy, 0);
	rig_free(g);
}

static void test_435_an_inclusive_l2_takes_its_victims_from_the_l1s(void **state)
{
	int inclusive, i;

	for (inclusive = 0; inclusive < 2; inclusive++) {
		struct memsys_config c;
		struct rig *g;

		rig_config(&c);
		L2(c).inclusive = inclusive;
		g = rig_new(&c);
		rig_latency(g, RIG_FETCH, 0x4000);
		rig_latency(g, RIG_STORE, 0x4000);
		for (i = 1; i <= 4; i++) { /* the L1D keeps it by hits that the L2 does not see */
			rig_latency(g, RIG_LOAD, 0x4000);
			rig_latency(g, RIG_LOAD, 0x4000 + 1024u * i);
		}
		assert_false(memsys_probe(g->ms, MEM_L2, 0x4000));
		assert_int_equal(memsys_probe(g->ms, MEM_L1D, 0x4000), !inclusive);
		assert_int_equal(memsys_probe(g->ms, MEM_L1I, 0x4000), !inclusive);
		/* the line's dirty data in the L1D went to memory with it */
		assert_int_equal(memsys_stats(g->ms)->mem.writes, inclusive);
		assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].invalidations, inclusive);
		rig_free(g);
	}
}

static void test_436_a_store_that_does_not_allocate_goes_down(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	L1D(c).no_write_allocate = true;
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_STORE, 0x4000), 2);
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4000));
	assert_true(memsys_probe_dirty(g->ms, MEM_L2, 0x4000));
	rig_latency(g, RIG_LOAD, 0x4000);
	rig_latency(g, RIG_STORE, 0x4000);
	assert_true(memsys_probe_dirty(g->ms, MEM_L1D, 0x4000));
	rig_free(g);
	/* the same after a TLB miss, which takes another path through the code */
	c.dtlb.entries = 4;
	c.walk_latency = 30;
	g = rig_new(&c);
	assert_int_equal(rig_latency(g, RIG_STORE, 0x4000), 32);
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4000));
	assert_true(memsys_probe_dirty(g->ms, MEM_L2, 0x4000));
	rig_free(g);
}

static void test_437_write_through_keeps_the_l1_clean(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	L1D(c).write_through = true;
	g = rig_new(&c);
	rig_latency(g, RIG_LOAD, 0x4000);
	assert_int_equal(rig_latency(g, RIG_STORE, 0x4000), 2);
	assert_false(memsys_probe_dirty(g->ms, MEM_L1D, 0x4000));
	assert_true(memsys_probe_dirty(g->ms, MEM_L2, 0x4000));
	rig_latency(g, RIG_STORE, 0x8000);
	assert_true(memsys_probe(g->ms, MEM_L1D, 0x8000));
	assert_false(memsys_probe_dirty(g->ms, MEM_L1D, 0x8000));
	assert_true(memsys_probe_dirty(g->ms, MEM_L2, 0x8000));
	rig_free(g);
}

static void test_440_next_line_brings_the_next_line_and_stays_in_its_page(void **state)
{
	struct memsys_config c;
	struct rig *g;
	const struct mem_result *r;

	rig_config(&c);
	L1D(c).prefetch.kind = MEM_PF_NEXT_LINE;
	g = rig_new(&c);
	rig_latency(g, RIG_LOAD, 0x4000);
	assert_true(memsys_probe(g->ms, MEM_L1D, 0x4040));
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4080));
	r = rig_access(g, RIG_LOAD, g->now + 1, 0x4040, 0);
	assert_int_equal(r->level, LEVEL_L1);
	assert_true(r->events & MEM_EV_PF_HIT);
	rig_drain(g);
	/* the first use of a prefetched line prefetches the next one, the second use does not */
	assert_true(memsys_probe(g->ms, MEM_L1D, 0x4080));
	rig_latency(g, RIG_LOAD, 0x4040);
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x40c0));
	rig_latency(g, RIG_LOAD, 0x4fc0);
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x5000));
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].prefetches, 2);
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].prefetches_useful, 1);
	rig_free(g);
}

static void test_441_a_late_prefetch_shortens_a_miss(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t;

	rig_config(&c);
	L1D(c).prefetch.kind = MEM_PF_NEXT_LINE;
	g = rig_new(&c);
	rig_to(g, 10);
	rig_ask(g, RIG_LOAD, 0x4000, 8, 0, NULL);
	rig_to(g, 60);
	rig_ask(g, RIG_LOAD, 0x4040, 8, 0, &t);
	rig_drain(g);
	assert_int_equal(g->res[t].ready, 122);
	assert_true(g->res[t].events & MEM_EV_MERGED);
	assert_int_equal(g->res[t].primary, MEM_NO_TOKEN);
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].prefetches_useful, 1);
	rig_free(g);
}

static void test_442_a_prefetch_without_a_free_mshr_is_dropped(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	L1D(c).prefetch.kind = MEM_PF_NEXT_LINE;
	L1D(c).mshrs = 1;
	g = rig_new(&c);
	rig_latency(g, RIG_LOAD, 0x4000);
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4040));
	assert_int_equal(memsys_stats(g->ms)->cache[MEM_L1D].prefetches_dropped, 1);
	rig_free(g);
}

static void test_443_stride_learns_in_three_accesses_also_backwards(void **state)
{
	int64_t stride;

	for (stride = -192; stride <= 192; stride += 384) {
		struct memsys_config c;
		struct rig *g;
		uint64_t a = 0x4800;

		rig_config(&c);
		L1D(c).size_bytes = 32768;
		L1D(c).prefetch.kind = MEM_PF_STRIDE;
		L1D(c).prefetch.distance = 2;
		g = rig_new(&c);
		rig_latency(g, RIG_LOAD, a);
		rig_latency(g, RIG_LOAD, a + stride);
		assert_false(memsys_probe(g->ms, MEM_L1D, a + 3 * stride));
		rig_latency(g, RIG_LOAD, a + 2 * stride);
		assert_true(memsys_probe(g->ms, MEM_L1D, a + 4 * stride));
		assert_false(memsys_probe(g->ms, MEM_L1D, a + 3 * stride));
		rig_free(g);
	}
}

static void test_444_a_prefetcher_at_the_l2_fills_the_l2_only(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	L2(c).prefetch.kind = MEM_PF_NEXT_LINE;
	L2(c).prefetch.degree = 2;
	g = rig_new(&c);
	rig_latency(g, RIG_LOAD, 0x4000);
	assert_true(memsys_probe(g->ms, MEM_L2, 0x4040));
	assert_true(memsys_probe(g->ms, MEM_L2, 0x4080));
	assert_false(memsys_probe(g->ms, MEM_L1D, 0x4040));
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4040), 12);
	rig_free(g);
}

static void test_445_an_explicit_prefetch_needs_no_completion(void **state)
{
	struct memsys_config c;
	struct rig *g;

	rig_config(&c);
	g = rig_new(&c);
	rig_to(g, 10);
	assert_true(memsys_prefetch(g->ms, 10, MEM_L1I, 0x4000, MEM_NO_TOKEN, 0));
	rig_drain(g);
	assert_int_equal(rig_latency(g, RIG_FETCH, 0x4000), 2);
	rig_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_430_lru_is_the_reference_lru),
		cmocka_unit_test(test_431_plru_is_the_reference_tree),
		cmocka_unit_test(test_432_random_replacement_follows_its_seed),
		cmocka_unit_test(test_433_a_dirty_line_is_written_back_when_evicted),
		cmocka_unit_test(test_434_write_backs_take_bus_time),
		cmocka_unit_test(test_435_an_inclusive_l2_takes_its_victims_from_the_l1s),
		cmocka_unit_test(test_436_a_store_that_does_not_allocate_goes_down),
		cmocka_unit_test(test_437_write_through_keeps_the_l1_clean),
		cmocka_unit_test(test_438_write_backs_under_ideal_bandwidth_are_counted_and_free),
		cmocka_unit_test(test_440_next_line_brings_the_next_line_and_stays_in_its_page),
		cmocka_unit_test(test_441_a_late_prefetch_shortens_a_miss),
		cmocka_unit_test(test_442_a_prefetch_without_a_free_mshr_is_dropped),
		cmocka_unit_test(test_443_stride_learns_in_three_accesses_also_backwards),
		cmocka_unit_test(test_444_a_prefetcher_at_the_l2_fills_the_l2_only),
		cmocka_unit_test(test_445_an_explicit_prefetch_needs_no_completion),
	};

	return cmocka_run_group_tests_name("memory: lines", tests, NULL, NULL);
}
