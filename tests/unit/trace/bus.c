/* SPDX-License-Identifier: MIT */
/* 500: the bus delivers every record to every analysis, in order, whatever the number of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/bus.h"

/* Sums what it sees, and checks the order. */
struct probe {
	uint64_t cycles, commits, insts, hash, next_cycle, next_po, gaps, finished;
	uint64_t fail_at;
	bool slow, ordered;
};

static bool probe_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct probe *p = state;
	p->fail_at = UINT64_MAX;
	for (const char *const *s = o->params; s && *s; s++) {
		if (!strncmp(*s, "fail_at=", 8))
			p->fail_at = strtoull(*s + 8, NULL, 0);
		if (!strcmp(*s, "slow=1"))
			p->slow = true;
	}
	p->ordered = true;
	return true;
}

static bool probe_insts(void *state, const struct rec_inst *r, size_t n, struct err *e)
{
	struct probe *p = state;
	if (p->slow)
		usleep(200);
	for (size_t i = 0; i < n; i++) {
		if (p->next_po && r[i].po != p->next_po && !p->gaps)
			p->ordered = false;
		p->next_po = r[i].po + 1;
		p->insts++;
		p->hash += hash_u64(r[i].po);
	}
	return true;
}

static bool probe_cycles(void *state, const struct rec_cycle *r, size_t n, struct err *e)
{
	struct probe *p = state;
	for (size_t i = 0; i < n; i++) {
		if (r[i].cycle != p->next_cycle)
			p->gaps++;
		p->next_cycle = r[i].cycle + r[i].repeat;
		p->cycles += r[i].repeat;
		p->commits += r[i].ncommit;
		if (r[i].cycle >= p->fail_at)
			return err_set(e, "probe was told to fail at cycle %llu",
				       (unsigned long long)p->fail_at);
	}
	return true;
}

static bool probe_merge(void *into, void *from, struct err *e)
{
	struct probe *a = into, *b = from;
	a->cycles += b->cycles;
	a->commits += b->commits;
	a->insts += b->insts;
	a->hash += b->hash;
	return true;
}

/* The store of these tests: an array of results. */
struct results {
	struct probe probe[8];
	size_t count;
};

/* What the probes of a run saw. It is global because an analysis can return only rows of a
 * store. */
static struct results finished;

static bool probe_finish(void *state, struct store *store, struct err *e)
{
	finished.probe[finished.count++] = *(struct probe *)state;
	return true;
}

static const struct analysis probe = {
	.name = "probe",
	.wants = WANT_CYCLES | WANT_INSTS,
	.state_size = sizeof(struct probe),
	.start = probe_start,
	.insts = probe_insts,
	.cycles = probe_cycles,
	.merge = probe_merge,
	.finish = probe_finish,
};

/* A made-up core: each step stalls for 0..9 cycles (folded), then commits 0..4 instructions. */
static void produce(struct emit *e, uint64_t steps)
{
	struct rng rng;
	uint64_t cycle = 0, po = 1;
	rng_seed(&rng, 7);
	for (uint64_t i = 0; i < steps && !e->stop; i++) {
		uint64_t r = rng_next(&rng);
		unsigned stall = (unsigned)(r % 10), n = (unsigned)(r >> 32) % 5;
		if (stall) {
			emit_reserve(e, 0);
			*emit_cycle(e) =
			    (struct rec_cycle){ .cycle = cycle, .repeat = stall, .head_po = po };
			cycle += stall;
		}
		emit_reserve(e, n);
		for (unsigned k = 0; k < n; k++) {
			uint32_t flags = RI_COMMITTED;
			if ((po + k) % 1000 == 100)
				flags |= RI_MARK_BEGIN;
			if ((po + k) % 1000 == 600)
				flags |= RI_MARK_END;
			*emit_inst(e) = (struct rec_inst){ .seq = po + k,
							   .po = po + k,
							   .pc = 0x1000 + 4 * ((po + k) % 50),
							   .fetch = cycle,
							   .flags = flags };
		}
		*emit_cycle(e) = (struct rec_cycle){
			.cycle = cycle, .repeat = 1, .head_po = po, .ncommit = (uint8_t)n
		};
		cycle++;
		po += n;
	}
}

struct setup {
	unsigned workers, copies, shards;
	size_t memory_bytes, batch;
	const char *const *params;
	const struct region *regions;
	size_t nregions;
};

static bool run(const struct setup *s, uint64_t steps, struct results *out, struct bus_stats *stats,
		struct err *e)
{
	struct trace_meta meta = { .commit_width = 4 };
	struct analysis_options options = { .params = s->params };
	struct bus_config config = { .workers = s->workers,
				     .memory_bytes = s->memory_bytes,
				     .batch_insts = s->batch ? s->batch : 256,
				     .regions = s->regions,
				     .nregions = s->nregions };
	struct bus *b = bus_new(&config, &meta, &options);
	memset(&finished, 0, sizeof(finished));
	for (unsigned i = 0; i < (s->copies ? s->copies : 1); i++)
		assert_true(bus_add(b, &probe, s->shards, e));
	assert_true(bus_start(b, e));
	produce(bus_emit(b), steps);
	bool ok = bus_stop(b, e);
	if (ok)
		ok = bus_finish(b, NULL, e);
	*out = finished;
	if (stats)
		*stats = bus_stats(b);
	bus_free(b);
	return ok;
}

static void test_501_every_thread_count_sees_the_same(void **state)
{
	struct err e = { "" };
	struct results base, r;
	struct bus_stats stats;
	assert_true(run(&(struct setup){ .workers = 0 }, 20000, &base, &stats, &e));
	assert_true(base.probe[0].ordered);
	assert_int_equal(base.probe[0].gaps, 0);
	assert_int_equal(base.probe[0].commits, base.probe[0].insts);
	assert_int_equal(stats.inst_records, base.probe[0].insts);
	assert_int_equal(stats.cycles, base.probe[0].cycles);
	for (unsigned workers = 1; workers <= 4; workers++) {
		assert_true(
		    run(&(struct setup){ .workers = workers, .copies = 5 }, 20000, &r, NULL, &e));
		assert_int_equal(r.count, 5);
		for (size_t i = 0; i < r.count; i++)
			assert_memory_equal(&r.probe[i], &base.probe[0], sizeof(struct probe));
	}
}

/* Checks issue records: their times count from 1, and every inst record is of its number. */
struct issue_probe {
	uint64_t issues, insts, cycles;
	const struct rec_issue *of; /* the batch */
	size_t nof;
	bool right;
};
static struct issue_probe seen_issues[2];
static size_t nseen_issues;

static bool issue_probe_issues(void *state, const struct rec_issue *r, size_t n, struct err *e)
{
	struct issue_probe *p = state;
	p->of = r;
	p->nof = n;
	for (size_t i = 0; i < n; i++)
		p->right = r[i].time == ++p->issues && p->right;
	return true;
}

static bool issue_probe_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			      const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct issue_probe *p = state;
	p->insts += ninsts;
	for (size_t i = 0; p->of && i < ninsts; i++)
		p->right =
		    insts[i].seq < p->nof && p->of[insts[i].seq].pc == insts[i].pc && p->right;
	for (size_t i = 0; i < ncycles; i++)
		p->cycles += cycles[i].repeat;
	p->of = NULL;
	return true;
}

static bool issue_probe_start(void *state, const struct trace_meta *meta,
			      const struct analysis_options *o, struct err *e)
{
	((struct issue_probe *)state)->right = true;
	return true;
}

static bool issue_probe_finish(void *state, struct store *store, struct err *e)
{
	seen_issues[nseen_issues++] = *(struct issue_probe *)state;
	return true;
}

static const struct analysis issue_probe = {
	.name = "issues",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_ISSUES | WANT_COUNTS,
	.state_size = sizeof(struct issue_probe),
	.start = issue_probe_start,
	.issues = issue_probe_issues,
	.batch = issue_probe_batch,
	.finish = issue_probe_finish,
};

/* Hands over n instructions, one per cycle, of which one in `rare` has an inst record. */
static void produce_issues(struct emit *e, uint64_t n, uint64_t rare)
{
	uint64_t counted = 1;
	for (uint64_t i = 1; i <= n; i++) {
		if (e->nissues == e->max_issues || i == n) {
			*emit_cycle(e) = (struct rec_cycle){ .cycle = counted,
							     .repeat = (uint32_t)(i - counted) };
			counted = i;
			if (i < n)
				e->full(e);
		}
		if (rare && i % rare == 0)
			*emit_inst(e) = (struct rec_inst){
				.seq = e->nissues, .po = i, .pc = i * 4, .flags = RI_COMMITTED
			};
		e->issues[e->nissues++] = (struct rec_issue){ .pc = i * 4, .time = i };
	}
}

static void test_4651_issue_records_come_in_order_with_the_insts_that_they_are_of(void **state)
{
	static const uint64_t rare[] = { 0, 1, 7, 1000 };
	const uint64_t n = 100001;
	struct err e = { "" };
	for (unsigned k = 0; k < 4 * 3; k++) {
		struct bus *b = bus_new(
		    &(struct bus_config){ .workers = k / 4, .batch_insts = 256 },
		    &(struct trace_meta){ .commit_width = 4 }, &(struct analysis_options){ 0 });
		nseen_issues = 0;
		assert_true(bus_add(b, &issue_probe, 1, &e));
		assert_true(bus_add(b, &issue_probe, 1, &e));
		assert_true(bus_start(b, &e));
		produce_issues(bus_emit(b), n, rare[k % 4]);
		assert_true(bus_stop(b, &e));
		assert_true(bus_finish(b, NULL, &e));
		assert_int_equal(bus_stats(b).inst_records, n);
		assert_int_equal(bus_stats(b).cycles, n - 1);
		bus_free(b);
		assert_int_equal(nseen_issues, 2);
		for (size_t i = 0; i < 2; i++) {
			assert_true(seen_issues[i].right);
			assert_int_equal(seen_issues[i].issues, n);
			assert_int_equal(seen_issues[i].insts, rare[k % 4] ? n / rare[k % 4] : 0);
			assert_int_equal(seen_issues[i].cycles, n - 1);
		}
	}
}

static void test_4652_issue_records_are_for_those_who_want_nothing_more(void **state)
{
	static const struct analysis more[] = {
		{ .name = "more", .wants = WANT_CYCLES | WANT_INSTS, .state_size = 1 },
		{ .name = "squashed",
		  .wants = WANT_INSTS | WANT_SQUASHED | WANT_ISSUES,
		  .state_size = 1 },
		{ .name = "events",
		  .wants = WANT_INSTS | WANT_SQUASHED_EVENTS | WANT_ISSUES,
		  .state_size = 1 },
		{ .name = "regions", .wants = WANT_INSTS | WANT_ISSUES, .state_size = 1 },
		{ .name = "same", .wants = WANT_INSTS | WANT_ISSUES, .state_size = 1 },
	};
	const struct region region = { .start = { .kind = TRIGGER_INST, .value = 5, .nth = 1 } };
	struct err e = { "" };
	for (size_t k = 0; k < ARRAY_LEN(more); k++) {
		struct bus *b = bus_new(
		    &(struct bus_config){ .regions = &region, .nregions = k == 3 },
		    &(struct trace_meta){ .commit_width = 4 }, &(struct analysis_options){ 0 });
		assert_true(bus_add(b, &issue_probe, 1, &e));
		assert_true(bus_add(b, &more[k], 1, &e));
		assert_true(bus_start(b, &e));
		assert_int_equal(!!(bus_emit(b)->wants & WANT_ISSUES), k == 4);
		assert_int_equal(!!bus_emit(b)->max_issues, k == 4);
		assert_true(bus_stop(b, &e));
		bus_free(b);
	}
}

static void test_502_shards_merge_to_the_same(void **state)
{
	struct err e = { "" };
	struct results base, r;
	assert_true(run(&(struct setup){ .workers = 0 }, 20000, &base, NULL, &e));
	for (unsigned shards = 2; shards <= 4; shards++) {
		assert_true(run(&(struct setup){ .workers = shards, .shards = shards }, 20000, &r,
				NULL, &e));
		assert_int_equal(r.count, 1);
		assert_int_equal(r.probe[0].cycles, base.probe[0].cycles);
		assert_int_equal(r.probe[0].insts, base.probe[0].insts);
		assert_int_equal(r.probe[0].hash, base.probe[0].hash);
	}
}

static void test_503_a_slow_analysis_makes_the_core_wait_and_loses_nothing(void **state)
{
	static const char *const slow[] = { "slow=1", NULL };
	struct err e = { "" };
	struct results base, r;
	struct bus_stats stats;
	assert_true(run(&(struct setup){ .workers = 0 }, 20000, &base, NULL, &e));
	assert_true(run(&(struct setup){ .workers = 1, .memory_bytes = 1, .params = slow }, 20000,
			&r, &stats, &e));
	assert_true(stats.waits > 0);
	assert_int_equal(r.probe[0].hash, base.probe[0].hash);
	assert_int_equal(r.probe[0].cycles, base.probe[0].cycles);
}

static void
test_512_a_core_that_must_wait_helps_where_there_are_more_analyses_than_workers(void **state)
{
	static const char *const slow[] = { "slow=1", NULL };
	struct err e = { "" };
	struct results base, r;
	struct bus_stats stats;
	assert_true(run(&(struct setup){ .workers = 0 }, 20000, &base, NULL, &e));
	for (unsigned copies = 1; copies <= 3; copies++) {
		struct setup s = {
			.workers = 1, .copies = copies, .memory_bytes = 1, .params = slow
		};
		assert_true(run(&s, 20000, &r, &stats, &e));
		assert_int_equal(stats.helped > 0, copies > 1);
		for (size_t i = 0; i < r.count; i++)
			assert_int_equal(r.probe[i].hash, base.probe[0].hash);
	}
}

static void test_513_of_every_group_of_fragments_one_is_chosen_and_found(void **state)
{
	const struct schedule s = { .one_in = 7, .insts = 100, .lead = 250, .seed = 3 };
	unsigned chosen[7] = { 0 };
	for (uint64_t group = 0; group < 7000; group++) {
		const struct stretch t = schedule_stretch(&s, group);
		assert_true(t.from > group * 700 && t.end <= (group + 1) * 700 + 1);
		assert_int_equal(t.end - t.from, 100);
		assert_int_equal(t.lead, t.from > 250 ? t.from - 250 : 1);
		chosen[(t.from - 1) / 100 % 7]++;
		const struct stretch found = schedule_next(&s, group * 700 + 1);
		assert_int_equal(found.from, t.from);
		assert_int_equal(schedule_next(&s, t.end - 1).from, t.from);
		assert_int_equal(schedule_next(&s, t.end).from,
				 schedule_stretch(&s, group + 1).from);
	}
	for (unsigned i = 0; i < 7; i++)
		assert_in_range(chosen[i], 850, 1150);
}

static void test_504_an_error_in_a_worker_ends_the_run_with_its_message(void **state)
{
	static const char *const fail[] = { "fail_at=5000", NULL };
	for (unsigned workers = 0; workers <= 2; workers++) {
		struct err e = { "" };
		struct results r;
		struct bus_stats stats;
		assert_false(run(
		    &(struct setup){
			.workers = workers, .copies = 2, .memory_bytes = 1, .params = fail },
		    1000000, &r, &stats, &e));
		assert_non_null(strstr(e.text, "probe was told to fail at cycle 5000"));
		assert_int_equal(r.count, 0);
		assert_true(stats.cycles < 100000); /* the core was told to stop */
	}
}

static void test_505_sharding_without_merge_is_refused(void **state)
{
	struct analysis lone = probe;
	struct err e = { "" };
	struct trace_meta meta = { .commit_width = 4 };
	struct bus *b = bus_new(&(struct bus_config){ 0 }, &meta, &(struct analysis_options){ 0 });
	lone.merge = NULL;
	assert_false(bus_add(b, &lone, 2, &e));
	assert_non_null(strstr(e.text, "cannot be sharded"));
	bus_free(b);
}

static struct trigger parse(const char *text)
{
	struct trigger t;
	struct err e = { "" };
	assert_true(trigger_parse(text, NULL, NULL, &t, &e));
	return t;
}

static void test_506_cycle_regions_hold_exactly_their_cycles(void **state)
{
	struct err e = { "" };
	struct region regions[] = { { parse("cycle:100"), parse("cycle:103") },
				    { parse("cycle:105"), parse("cycle:5107") },
				    { parse("cycle:20001"), parse("cycle:20002") } };
	for (unsigned workers = 0; workers <= 1; workers++) {
		struct results r;
		assert_true(
		    run(&(struct setup){ .workers = workers, .regions = regions, .nregions = 3 },
			20000, &r, NULL, &e));
		assert_int_equal(r.probe[0].cycles, 3 + 5002 + 1);
		assert_int_equal(r.probe[0].gaps, 3);
		assert_int_equal(r.probe[0].commits, r.probe[0].insts);
	}
}

static void test_507_an_instruction_region_starts_and_stops_at_its_commit_cycles(void **state)
{
	struct err e = { "" };
	struct results r;
	struct region region = { parse("inst:1000"), parse("2000") };
	assert_true(run(&(struct setup){ .regions = &region, .nregions = 1, .batch = 64 }, 20000,
			&r, NULL, &e));
	/* Regions hold whole cycles: the first may include up to three older instructions, and as
	 * many may be missing in the last. */
	assert_in_range(r.probe[0].insts, 997, 1003);
	assert_int_equal(r.probe[0].commits, r.probe[0].insts);
}

static void test_508_marks_open_a_region_each_time(void **state)
{
	struct err e = { "" };
	struct results r;
	struct region region = { parse("mark"), parse("mark") };
	for (size_t batch = 16; batch <= 4096; batch *= 16) {
		assert_true(
		    run(&(struct setup){ .regions = &region, .nregions = 1, .batch = batch }, 5000,
			&r, NULL, &e));
		/* about 10,000 instructions have ten marks, with 500 instructions each */
		assert_in_range(r.probe[0].gaps, 9, 11);
		assert_in_range(r.probe[0].insts, 500 * (r.probe[0].gaps - 1),
				500 * r.probe[0].gaps + 40);
		assert_int_equal(r.probe[0].commits, r.probe[0].insts);
	}
}

static void test_509_the_nth_commit_of_a_pc_opens_a_region(void **state)
{
	struct err e = { "" };
	struct results r;
	struct region region = { parse("pc:0x1004#3"), parse("pc:0x1004#2") }; /* po 101 to 201 */
	assert_true(run(&(struct setup){ .regions = &region, .nregions = 1, .batch = 32 }, 5000, &r,
			NULL, &e));
	assert_in_range(r.probe[0].insts, 97, 103);
}

static void test_510_bad_triggers_say_what_is_wrong(void **state)
{
	static const char *const bad[] = { "cycle:",  "cycle:x",     "foo:1",	"pc:1#",
					   "pc:1#2x", "symbol:main", "inst:-1", "" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct trigger t;
		struct err e = { "" };
		assert_false(trigger_parse(bad[i], NULL, NULL, &t, &e));
		assert_non_null(strstr(e.text, "trigger"));
	}
}

/* Brute force decides for every cycle by itself whether it is inside. */
static void test_511_random_cycle_regions_match_brute_force(void **state)
{
	struct rng rng;
	rng_seed(&rng, 11);
	for (int round = 0; round < 50; round++) {
		struct err e = { "" };
		struct results r;
		struct region regions[5];
		uint64_t at = 0, expect = 0, end = 0;
		for (int i = 0; i < 5; i++) {
			regions[i].start =
			    (struct trigger){ TRIGGER_CYCLE, at += rng_below(&rng, 300), 1, 0 };
			regions[i].stop =
			    (struct trigger){ TRIGGER_CYCLE, at += 1 + rng_below(&rng, 300), 1, 0 };
			expect += regions[i].stop.value - regions[i].start.value;
			end = at;
		}
		assert_true(end < 5000);
		assert_true(run(&(struct setup){ .regions = regions,
						 .nregions = 5,
						 .batch = 8 + rng_below(&rng, 100) },
				2000, &r, NULL, &e));
		assert_int_equal(r.probe[0].cycles, expect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_501_every_thread_count_sees_the_same),
		cmocka_unit_test(
		    test_4651_issue_records_come_in_order_with_the_insts_that_they_are_of),
		cmocka_unit_test(test_4652_issue_records_are_for_those_who_want_nothing_more),
		cmocka_unit_test(test_502_shards_merge_to_the_same),
		cmocka_unit_test(test_503_a_slow_analysis_makes_the_core_wait_and_loses_nothing),
		cmocka_unit_test(test_504_an_error_in_a_worker_ends_the_run_with_its_message),
		cmocka_unit_test(test_505_sharding_without_merge_is_refused),
		cmocka_unit_test(test_506_cycle_regions_hold_exactly_their_cycles),
		cmocka_unit_test(
		    test_507_an_instruction_region_starts_and_stops_at_its_commit_cycles),
		cmocka_unit_test(test_508_marks_open_a_region_each_time),
		cmocka_unit_test(test_509_the_nth_commit_of_a_pc_opens_a_region),
		cmocka_unit_test(
		    test_512_a_core_that_must_wait_helps_where_there_are_more_analyses_than_workers),
		cmocka_unit_test(test_513_of_every_group_of_fragments_one_is_chosen_and_found),
		cmocka_unit_test(test_510_bad_triggers_say_what_is_wrong),
		cmocka_unit_test(test_511_random_cycle_regions_match_brute_force),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
