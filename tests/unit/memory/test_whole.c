/* SPDX-License-Identifier: MIT */
/*
 * The memory system as a whole, on random machines and random requests: nothing is lost or
 * completes twice, jumping from event to event equals stepping through every cycle, equal runs
 * give equal results, and warming leaves the state that timing leaves. Also the messages of
 * machine_check_memory().
 */
#include "rig.h"

static uint32_t pick(struct rng *r, uint32_t n)
{
	return (uint32_t)rng_below(r, n);
}

static void random_cache(struct rng *r, struct mem_cache_config *c, uint32_t line, int id)
{
	c->ways = 1u << pick(r, 4);
	if (pick(r, 4) == 0)
		c->ways = 3;
	c->size_bytes = line * c->ways << (pick(r, 4) + (id > MEM_L1D ? 2 : 0));
	c->latency = 1 + pick(r, 12);
	c->miss_latency = pick(r, 2) ? -1 : (int32_t)pick(r, 4);
	c->mshrs = 1 + pick(r, 12);
	c->targets = 1 + pick(r, 6);
	c->ports = pick(r, 3);
	c->banks = pick(r, 2) ? 1u << pick(r, 3) : 0;
	c->bank_interval = 1 + pick(r, 3);
	c->replacement = pick(r, 3);
	if (c->replacement == MEM_PLRU && c->ways == 3)
		c->replacement = MEM_LRU;
	c->inclusive = id > MEM_L1D && pick(r, 2);
	c->prefetch.kind = pick(r, MEM_PF_COUNT);
	c->prefetch.degree = 1 + pick(r, 3);
	c->prefetch.distance = 1 + pick(r, 3);
	c->prefetch.cross_page = pick(r, 2);
	if (pick(r, 2)) {
		c->bus.width_bytes = line >> pick(r, 4);
		c->bus.interval = 1 + pick(r, 3);
		c->bus.trailing_edge = pick(r, 2);
	}
}

/* Shorter lines in caches that have another below them, and shorter ones above those. */
static void random_lines(struct rng *r, struct memsys_config *c)
{
	uint32_t line = c->line_bytes;

	for (int i = MEM_LLC; i >= MEM_L1I; i--) {
		struct mem_cache_config *cache = &c->cache[i];
		bool last =
		    !c->cache[MEM_LLC].size_bytes && (i == MEM_L2 || !c->cache[MEM_L2].size_bytes);
		uint32_t own = (uint32_t)max_u64(line >> pick(r, 3), 16);

		if (!cache->size_bytes || i == MEM_LLC || last)
			continue;
		cache->line_bytes = own;
		cache->bus.width_bytes = (uint32_t)min_u64(cache->bus.width_bytes, own);
		if (i > MEM_L1D)
			line = own;
	}
}

static void random_config(struct rng *r, struct memsys_config *c)
{
	int i;

	*c = machine_default.mem;
	c->line_bytes = 16u << pick(r, 4);
	for (i = 0; i < MEM_CACHES; i++)
		random_cache(r, &c->cache[i], c->line_bytes, i);
	c->cache[MEM_L1D].write_through = pick(r, 4) == 0;
	c->cache[MEM_L1D].no_write_allocate = pick(r, 4) == 0;
	if (pick(r, 3) == 0)
		c->cache[MEM_L2].size_bytes = 0;
	if (pick(r, 2) == 0)
		c->cache[MEM_LLC].size_bytes = 0;
	c->itlb.entries = pick(r, 5);
	c->dtlb.entries = pick(r, 9);
	c->stlb.entries = pick(r, 2) ? 16 : 0;
	c->stlb.ways = pick(r, 3);
	c->stlb.latency = pick(r, 5);
	c->walk = pick(r, 2);
	c->walk_latency = pick(r, 40);
	c->walkers = 1 + pick(r, 3);
	c->walk_cache = pick(r, 4);
	c->walk_from_l2 = pick(r, 2);
	c->mem.kind = pick(r, 2);
	c->mem.latency = 1 + pick(r, 200);
	c->mem.bytes_per_kcycle = c->mem.kind == MEM_DRAM || pick(r, 2) ? 500 + pick(r, 20000) : 0;
	c->mem.bus.width_bytes = pick(r, 2) ? c->line_bytes >> pick(r, 3) : 0;
	c->mem.bus.trailing_edge = pick(r, 2);
	c->mem.dram.channels = 1u << pick(r, 3);
	c->mem.dram.ranks = 1u << pick(r, 2);
	c->mem.dram.banks = 1u << pick(r, 4);
	c->mem.dram.row_bytes = 1024u << pick(r, 4);
	c->mem.dram.ras = pick(r, 40);
	c->mem.dram.clock_milli = 1000 + pick(r, 3000);
	c->mem.dram.overhead = pick(r, 30);
	c->mem.dram.queue_depth = 1 + pick(r, 10);
	c->mem.dram.max_reads = 1 + pick(r, 32);
	c->mem.dram.max_writes = 1 + pick(r, 32);
	c->mem.dram.max_bypass = 1 + pick(r, 16);
	c->mem.dram.fcfs = pick(r, 4) == 0;
	c->walk_beside = pick(r, 3) == 0;
	if (pick(r, 2))
		random_lines(r, c);
	c->seed = rng_next(r);
}

struct want {
	enum rig_kind kind;
	uint64_t addr, gap;
	uint32_t size, flags;
};

static void random_wants(struct rng *r, struct want *w, uint32_t n, uint32_t line)
{
	uint64_t stream = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		w[i].kind = (enum rig_kind)pick(r, 3);
		switch (pick(r, 4)) {
		case 0:
			w[i].addr = 0x10000 + pick(r, 512);
			break;
		case 1:
			w[i].addr = 0x10000 + pick(r, 65536);
			break;
		case 2:
			w[i].addr = (uint64_t)pick(r, 1u << 30) * 64;
			break;
		default:
			w[i].addr = 0x800000 + (stream += 8);
		}
		w[i].size = 1u << pick(r, 4);
		if (w[i].size > line)
			w[i].size = line;
		w[i].gap = pick(r, 3) ? 0 : pick(r, 40);
		w[i].flags = pick(r, 8) ? 0 : 1u << pick(r, 8);
	}
}

/* Plays requests in order, each its gap after the one before; a refused request blocks the others.
 * Returns a hash over all results. With step, every cycle is visited and a refused request is
 * repeated in each. */
static uint64_t play(const struct memsys_config *cfg, const struct want *w, uint32_t n, bool step,
		     uint64_t *state)
{
	struct rig *g = rig_new(cfg);
	uint64_t *token = x_calloc(n, sizeof(*token));
	uint64_t when = 0, h = 0;
	uint32_t i, idle = 0;
	struct err e;

	for (i = 0; i < n; i++) {
		uint64_t retry = 0;

		when = max_u64(g->now, when + w[i].gap);
		for (;;) {
			uint64_t t = ++g->tokens;
			struct mem_result *r = &g->res[t];

			if (step) {
				while (g->now < when || g->now < retry)
					memsys_advance(g->ms, ++g->now);
			} else if (when > g->now) {
				rig_to(g, when);
			}
			if (w[i].kind == RIG_FETCH)
				memsys_ifetch(g->ms, g->now, w[i].addr, w[i].size, t, w[i].flags,
					      r);
			else if (w[i].kind == RIG_STORE)
				memsys_store(g->ms, g->now, w[i].addr, w[i].size, i % 7, t,
					     w[i].flags, r);
			else
				memsys_load(g->ms, g->now, w[i].addr, w[i].size, i % 7, t,
					    w[i].flags, r);
			token[i] = t;
			if (r->reply != MEM_RETRY)
				break;
			g->tokens--;
			if (step) {
				retry = g->now + 1;
				assert_true(++idle < 1000000);
				continue;
			}
			/* only a wake-up, or the cycle that the refusal named, may help */
			g->woken = 0;
			if (r->ready != MEM_NEVER) {
				when = r->ready;
				continue;
			}
			while (!(g->woken &
				 (w[i].kind == RIG_FETCH ? 1u << MEM_L1I : 1u << MEM_L1D))) {
				assert_true(memsys_next_event(g->ms) != MEM_NEVER);
				/* a cycle's requests all come before its late events */
				rig_to(g, max_u64(memsys_next_event(g->ms), g->now + 1));
			}
			when = g->now;
		}
		if (g->res[token[i]].reply == MEM_DONE && !g->done[token[i]])
			g->done[token[i]] = 1;
		when = g->now;
		if (i % 64 == 0 && !memsys_check_state(g->ms, &e))
			fail_msg("%s", e.text);
	}
	while (memsys_next_event(g->ms) != MEM_NEVER) {
		if (step)
			memsys_advance(g->ms, ++g->now);
		else
			rig_to(g, memsys_next_event(g->ms));
	}
	for (i = 0; i < n; i++) {
		const struct mem_result *r = &g->res[token[i]];

		assert_int_equal(g->done[token[i]], 1);
		assert_true(r->ready != MEM_NEVER && r->level >= LEVEL_L1);
		assert_true(r->queue + r->xlat <= r->miss);
		assert_true(!(w[i].flags & (MEM_IDEAL_DTLB | MEM_IDEAL_ITLB)) ||
			    w[i].flags & MEM_IDEAL_ITLB || w[i].kind == RIG_FETCH || !r->xlat);
		h = hash_u64(h ^ r->ready);
		h = hash_u64(h ^ r->events ^ (uint64_t)r->level << 32 ^ (uint64_t)r->miss << 40);
		h = hash_u64(h ^ r->primary ^ (uint64_t)r->xlat << 20 ^ (uint64_t)r->queue << 40);
	}
	for (i = 0; i < MEM_CACHES; i++) {
		const struct mem_cache_stats *st = &memsys_stats(g->ms)->cache[i];

		assert_true(st->prefetches_useful <= st->prefetches);
		assert_true(st->merges <= st->misses && st->misses <= st->accesses);
		assert_true(st->evictions <= st->fills);
	}
	*state = memsys_state_hash(g->ms);
	assert_int_equal(memsys_outstanding(g->ms, MEM_L1D), 0);
	free(token);
	rig_free(g);
	return h;
}

#define FUZZ_WANTS 600

static void test_480_on_random_machines_no_request_is_lost_or_completes_twice(void **state)
{
	struct want w[FUZZ_WANTS];
	struct memsys_config c;
	struct rng r;
	uint64_t end;
	int n;

	rng_seed(&r, 480);
	for (n = 0; n < 300; n++) {
		random_config(&r, &c);
		random_wants(&r, w, FUZZ_WANTS, c.line_bytes);
		play(&c, w, FUZZ_WANTS, false, &end);
	}
}

static void test_481_jumping_to_the_next_event_equals_stepping_every_cycle(void **state)
{
	struct want w[FUZZ_WANTS];
	struct memsys_config c;
	struct rng r;
	uint64_t a, b;
	int n;

	rng_seed(&r, 481);
	for (n = 0; n < 150; n++) {
		random_config(&r, &c);
		random_wants(&r, w, FUZZ_WANTS, c.line_bytes);
		assert_int_equal(play(&c, w, FUZZ_WANTS, false, &a),
				 play(&c, w, FUZZ_WANTS, true, &b));
		assert_int_equal(a, b);
	}
}

static void test_482_equal_runs_are_equal_and_different_runs_are_not(void **state)
{
	struct want w[FUZZ_WANTS];
	struct memsys_config c;
	struct rng r;
	uint64_t a, b, h;

	rng_seed(&r, 482);
	random_config(&r, &c);
	random_wants(&r, w, FUZZ_WANTS, c.line_bytes);
	h = play(&c, w, FUZZ_WANTS, false, &a);
	assert_int_equal(play(&c, w, FUZZ_WANTS, false, &b), h);
	assert_int_equal(a, b);
	w[FUZZ_WANTS / 2].gap += 1000000; /* longer than any wait for the one before */
	assert_true(play(&c, w, FUZZ_WANTS, false, &b) != h);
}

static void test_483_warming_leaves_the_state_of_timed_accesses(void **state)
{
	struct want w[FUZZ_WANTS];
	struct memsys_config c;
	struct rng r;
	int n, i;

	rng_seed(&r, 483);
	for (n = 0; n < 100; n++) {
		struct rig *timed, *warm;

		random_config(&r, &c);
		/* warming has no time, so leave out requests made while others are under way */
		for (i = 0; i < MEM_CACHES; i++)
			c.cache[i].prefetch.kind = MEM_PF_NONE;
		c.cache[MEM_L1D].write_through = c.cache[MEM_L1D].no_write_allocate = false;
		if (c.walk ==
		    MEM_WALK_CACHES) { /* a walk goes on at the leading edge of its entry's line */
			for (i = 0; i < MEM_CACHES; i++)
				c.cache[i].bus.width_bytes = 0;
			c.mem.kind = MEM_FLAT;
			c.mem.bus.width_bytes = 0;
			c.walk_beside = false; /* its lines come in the order of time */
		}
		random_wants(&r, w, FUZZ_WANTS, c.line_bytes);
		timed = rig_new(&c);
		warm = rig_new(&c);
		for (i = 0; i < FUZZ_WANTS; i++) {
			uint64_t line = c.line_bytes - 1;

			w[i].addr &=
			    ~line; /* stay within a line: misses of two halves overlap in time */
			rig_access(timed, w[i].kind, timed->now + 1, w[i].addr, 0);
			rig_drain(timed);
			memsys_warm(warm->ms,
				    w[i].kind == RIG_FETCH   ? MEM_ACCESS_FETCH
				    : w[i].kind == RIG_STORE ? MEM_ACCESS_STORE
							     : MEM_ACCESS_LOAD,
				    w[i].addr, 8, 0x1000);
			if (i % 50 == 0)
				assert_int_equal(memsys_state_hash(timed->ms),
						 memsys_state_hash(warm->ms));
		}
		assert_int_equal(memsys_state_hash(timed->ms), memsys_state_hash(warm->ms));
		assert_int_equal(memsys_stats(warm->ms)->cache[MEM_L1D].fills, 0);
		rig_free(timed);
		rig_free(warm);
	}
}

static enum mem_access access_of(const struct want *w)
{
	return w->kind == RIG_FETCH   ? MEM_ACCESS_FETCH
	       : w->kind == RIG_STORE ? MEM_ACCESS_STORE
				      : MEM_ACCESS_LOAD;
}

static void test_4681_easy_hits_are_warmed_as_all_accesses_are(void **state)
{
	struct want w[FUZZ_WANTS];
	struct memsys_config c;
	uint64_t easy = 0;
	struct rng r;

	rng_seed(&r, 4681);
	for (int n = 0; n < 200; n++) {
		struct rig *all, *some;

		random_config(&r, &c);
		for (int k = MEM_L1I; n % 2 && k <= MEM_L1D; k++) {
			c.cache[k].replacement = MEM_LRU;
			c.cache[k].ports = c.cache[k].banks = 0;
			c.cache[k].write_through = false;
			c.cache[k].prefetch.kind = pick(&r, 2) ? MEM_PF_NEXT_LINE : MEM_PF_NONE;
		}
		random_wants(&r, w, FUZZ_WANTS, c.line_bytes);
		all = rig_new(&c);
		some = rig_new(&c);
		for (int i = 0; i < FUZZ_WANTS; i++) {
			/* the one before again, elsewhere in its line or across its end */
			const struct want *v = &w[i ? i - (int)rng_below(&r, 2) : 0];
			const uint64_t addr = v->addr ^ rng_below(&r, 16);
			const uint32_t size = 1u << rng_below(&r, 4);

			memsys_warm(all->ms, access_of(v), addr, size, 0x1000);
			if (memsys_warm_hit(some->ms, access_of(v), addr, size))
				easy++;
			else
				memsys_warm(some->ms, access_of(v), addr, size, 0x1000);
			if (i % 50 == 0)
				assert_int_equal(memsys_state_hash(all->ms),
						 memsys_state_hash(some->ms));
		}
		assert_int_equal(memsys_state_hash(all->ms), memsys_state_hash(some->ms));
		rig_free(all);
		rig_free(some);
	}
	assert_true(easy > 1000);
}

static void test_484_quiescing_drops_what_is_under_way_and_keeps_tags(void **state)
{
	struct memsys_config c;
	struct rig *g;
	uint64_t t;
	int i;

	rig_config(&c);
	g = rig_new(&c);
	rig_access(g, RIG_LOAD, 10, 0x4000, 0);
	rig_drain(g);
	rig_to(g, 1000);
	for (i = 1; i < 8; i++)
		rig_ask(g, RIG_LOAD, 0x4000 + 64u * i, 8, 0, &t);
	rig_to(g, 1005);
	memsys_quiesce(g->ms);
	assert_int_equal(memsys_next_event(g->ms), MEM_NEVER);
	assert_int_equal(memsys_outstanding(g->ms, MEM_L1D), 0);
	assert_true(memsys_probe(g->ms, MEM_L1D, 0x4000));
	memsys_warm(g->ms, MEM_ACCESS_LOAD, 0x4100, 8, 0);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4100), 2);
	assert_int_equal(rig_latency(g, RIG_LOAD, 0x4040), 112);
	assert_int_equal(g->done[t], 0);
	rig_free(g);
}

static void test_485_ideal_requests_are_never_slower(void **state)
{
	static const uint32_t ideals[] = { MEM_IDEAL_DL1, MEM_IDEAL_DMISS, MEM_IDEAL_DTLB,
					   MEM_IDEAL_BW,
					   MEM_IDEAL_DL1 | MEM_IDEAL_DMISS | MEM_IDEAL_DTLB |
					       MEM_IDEAL_BW };
	struct memsys_config c;
	struct rng r;
	uint32_t i, n, k;

	rng_seed(&r, 485);
	for (n = 0; n < 20; n++) {
		random_config(&r, &c);
		/* leave out what would change the content of caches of a few lines: prefetches,
		 * random victims and lines of page walks */
		for (i = 0; i < MEM_CACHES; i++) {
			c.cache[i].prefetch.kind = MEM_PF_NONE;
			c.cache[i].replacement = MEM_LRU;
		}
		c.walk = MEM_WALK_FLAT;
		for (k = 0; k < ARRAY_LEN(ideals); k++) {
			struct rig *real = rig_new(&c), *ideal = rig_new(&c);
			uint64_t sum_real = 0, sum_ideal = 0;
			struct rng s;

			rng_seed(&s, n);
			for (i = 0; i < 300; i++) {
				uint64_t addr = (uint64_t)pick(&s, 4096) * 16,
					 t = max_u64(real->now, ideal->now) + 5000;

				sum_real +=
				    rig_access(real, RIG_LOAD, t, addr & ~63ull, 0)->ready - t;
				sum_ideal +=
				    rig_access(ideal, RIG_LOAD, t, addr & ~63ull, ideals[k])
					->ready -
				    t;
			}
			assert_true(sum_ideal <= sum_real);
			rig_drain(real);
			rig_drain(ideal);
			rig_free(real);
			rig_free(ideal);
		}
	}
}

static void test_490_bad_machines_are_refused_with_the_key_and_what_is_valid(void **state)
{
	struct memsys_config c;
	struct err e;

#define BAD(change, ...)                                                                           \
	do {                                                                                       \
		const char *const parts[] = { __VA_ARGS__ };                                       \
		uint32_t p;                                                                        \
		c = machine_default.mem;                                                           \
		assert_true(machine_check_memory(&c, &e));                                         \
		change;                                                                            \
		e.text[0] = 0;                                                                     \
		assert_false(machine_check_memory(&c, &e));                                        \
		for (p = 0; p < ARRAY_LEN(parts); p++) {                                           \
			if (!strstr(e.text, parts[p]))                                             \
				fail_msg("\"%s\" does not say \"%s\"", e.text, parts[p]);          \
		}                                                                                  \
	} while (0)

	BAD(c.line_bytes = 48, "mem.line = 48", "16 to 1024");
	BAD(c.cache[MEM_L1D].ways = 3, "l1d.size = 32768", "power of two", "l1d.ways");
	BAD(c.cache[MEM_L1D].ways = 65, "l1d.ways = 65", "1 to 64");
	BAD(c.cache[MEM_L1I].size_bytes = 0, "l1i.size = 0");
	BAD(c.cache[MEM_L2].size_bytes = 32, "l2.size = 32", "64 to");
	BAD(c.cache[MEM_L2].latency = 0, "l2.latency = 0", "1 to 1000");
	BAD(c.cache[MEM_L2].miss_latency = -2, "l2.miss_latency = -2", "0 to 1000");
	BAD(c.cache[MEM_L2].mshrs = 0, "l2.mshrs = 0", "1 to 256");
	BAD(c.cache[MEM_L2].banks = 3, "l2.banks = 3", "power of two");
	BAD(c.cache[MEM_L2].replacement = 9, "l2.replacement", "lru, plru, random");
	BAD((c.cache[MEM_L2].replacement = MEM_PLRU, c.cache[MEM_L2].ways = 3,
	     c.cache[MEM_L2].size_bytes = 3 * 65536),
	    "l2.ways = 3", "plru");
	BAD(c.cache[MEM_L2].write_through = true, "l2.write_through", "l1d");
	BAD(c.cache[MEM_L1D].inclusive = true, "l1d.inclusive");
	BAD(c.cache[MEM_L2].bus.width_bytes = 128, "l2.bus_width = 128", "1 to 64");
	BAD(c.cache[MEM_L1D].prefetch.kind = 7, "l1d.prefetch", "next-line, stride");
	BAD((c.cache[MEM_L1D].prefetch.kind = 1, c.cache[MEM_L1D].prefetch.degree = 9),
	    "l1d.prefetch_degree = 9", "1 to 8");
	BAD(c.dtlb.ways = 5, "dtlb.ways = 5", "fully associative");
	BAD(c.page_bytes = 1024, "walk.page = 1024", "4096");
	BAD(c.walkers = 0, "walk.walkers = 0", "1 to 16");
	BAD(c.walk = 5, "walk.kind", "flat, caches");
	BAD(c.mem.latency = 0, "mem.latency = 0", "1 to 100000");
	BAD(c.mem.kind = MEM_DRAM, "mem.bytes_per_kcycle = 0", "1 to");
	BAD((c.mem.kind = MEM_DRAM, c.mem.bytes_per_kcycle = 1, c.mem.dram.banks = 6),
	    "dram.banks = 6", "power of two");
	BAD((c.mem.kind = MEM_DRAM, c.mem.bytes_per_kcycle = 1, c.mem.dram.row_bytes = 32),
	    "dram.row_bytes = 32", "64 to");
#undef BAD
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_480_on_random_machines_no_request_is_lost_or_completes_twice),
		cmocka_unit_test(test_481_jumping_to_the_next_event_equals_stepping_every_cycle),
		cmocka_unit_test(test_482_equal_runs_are_equal_and_different_runs_are_not),
		cmocka_unit_test(test_483_warming_leaves_the_state_of_timed_accesses),
		cmocka_unit_test(test_4681_easy_hits_are_warmed_as_all_accesses_are),
		cmocka_unit_test(test_484_quiescing_drops_what_is_under_way_and_keeps_tags),
		cmocka_unit_test(test_485_ideal_requests_are_never_slower),
		cmocka_unit_test(test_490_bad_machines_are_refused_with_the_key_and_what_is_valid),
	};

	return cmocka_run_group_tests_name("memory: the whole", tests, NULL, NULL);
}
