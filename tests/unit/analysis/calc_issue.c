/* SPDX-License-Identifier: MIT */
/* 2450: samples of the oldest instruction not yet issued, on hand-written stamps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/calc/analyses.h"
#include "calc_stream.h"

static const struct trace_meta inorder = {
	.machine = "test", .in_order = 1, .rob_entries = 32, .l1d_latency = 2
};

static struct stream *new_stream(void)
{
	return x_calloc(1, sizeof(struct stream));
}

static void expect(struct stream *s, const struct analysis_options *o, const char *sql,
		   const char *rows)
{
	for (size_t k = 0, batch = 1; batch < 40; batch += k++ % 2 ? 1 + batch / 3 : 0) {
		s->issues = k % 2;
		struct store *store = stream_run(s, &issue_analysis, &inorder, o, batch);
		char *got = rows_of(store, sql);
		assert_string_equal(got, rows);
		free(got);
		store_close(store);
	}
}

#define CYCLES "SELECT pc, count, issued FROM calc_sample WHERE event = 0 ORDER BY pc"

static void test_2450_a_sample_in_every_cycle_gives_the_time_at_the_head(void **state)
{
	struct stream *s = new_stream();
	/* Cycles 100 … 140. The first sample is delivered in the seventh cycle, 106. */
	stream_region(s, 100, 141);
	stream_add(s, 1, 110);
	stream_add(s, 2, 110); /* with it: never the oldest */
	stream_add(s, 3, 111);
	stream_add(s, 4, 131); /* was the oldest for 20 cycles */
	stream_add(s, 5, 137); /* from 138 on nothing waits: those samples are lost */
	expect(s, &(struct analysis_options){ .period = 1, .seed = 1 }, CYCLES,
	       "1,5,1 3,1,1 4,20,1 5,6,1");
	expect(s, &(struct analysis_options){ .period = 1, .seed = 1 },
	       "SELECT event, period, running, samples, occurred FROM calc_event",
	       "0,1,1.0,32,41 1,1,1.0,0,0");
	expect(s, &(struct analysis_options){ .period = 1, .seed = 1 },
	       "SELECT name, value FROM counter",
	       "branchmp,0 cycles,41 dmiss,0 dtlb,0 imiss,0 instructions,5 itlb,0");
	free(s);
}

static void test_2451_time_between_regions_does_not_count(void **state)
{
	struct stream *s = new_stream();
	stream_region(s, 100, 120);
	stream_add(s, 1, 98); /* commits in 101: takes no cycle of the region */
	stream_add(s, 2, 112);
	stream_region(s, 1000, 1030);
	stream_add(s, 3, 998);
	stream_add(s, 4, 1003);
	stream_add(s, 5, 1023);
	/* 106 … 112, then 1000 … 1003 and 1004 … 1023. */
	expect(s, &(struct analysis_options){ .period = 1, .seed = 1 }, CYCLES,
	       "2,7,1 4,4,1 5,20,1");
	expect(s, &(struct analysis_options){ .period = 1, .seed = 1 },
	       "SELECT value FROM counter WHERE name = 'cycles'", "50");
	free(s);
}

static void test_2452_periods_are_drawn_between_15_16_and_all_of_it(void **state)
{
	struct stream *s = new_stream();
	const uint64_t cycles = 20000000;
	stream_region(s, 1, cycles + 1);
	stream_add(s, 1, cycles);
	struct store *store =
	    stream_run(s, &issue_analysis, &inorder,
		       &(struct analysis_options){ .period = 65536, .seed = 7 }, 10);
	/* 61440 … 65536: their mean is 63488, with a standard deviation of 1183. */
	assert_int_equal(store_number(store, "SELECT period FROM calc_event WHERE event = 0", -1),
			 63488);
	const int64_t n = store_number(store, "SELECT count FROM calc_sample", -1);
	assert_in_range(n, cycles / 63488 - 2, cycles / 63488 + 2);
	assert_true(n != (int64_t)(cycles / 65536));
	store_close(store);
	free(s);
}

#define ALL(...)                                                                                   \
	&(struct analysis_options)                                                                 \
	{                                                                                          \
		.period = 1000000, .seed = 1, .params = (const char *const[])                      \
		{                                                                                  \
			"issue.events=all", "issue.imiss=1", "issue.itlb=1", "issue.dmiss=1",      \
			    "issue.dtlb=1", "issue.branchmp=1", NULL                               \
		}                                                                                  \
	}
#define EVENT "SELECT pc, event, count, issued FROM calc_sample ORDER BY event, pc"

static void test_2453_events_are_sampled_six_cycles_late(void **state)
{
	struct stream *s = new_stream();
	stream_region(s, 1, 200);
	/* Its line was looked up in cycle 10 and came in 40: at 16 it is the oldest. */
	struct rec_inst *r = stream_add(s, 1, 44);
	r->psv = PSV_DR_L1;
	r->lat_icache = 30;
	for (uint64_t i = 0; i < 20; i++)
		stream_add(s, 2 + i, 50 + i);
	expect(s, ALL(), EVENT, "1,1,1,0");
	/* A short miss is over before its sample is delivered: looked up in 57, delivered in 63. */
	r = &s->insts[11]; /* pc 12, issues in 60 */
	r->fetch = 59;
	r->issue = 1;
	r->commit = 4;
	r->psv = PSV_DR_L1;
	r->lat_icache = 2;
	expect(s, ALL(), EVENT, "1,1,1,0 15,1,1,1");
	free(s);
}

static void test_2454_fetch_that_runs_ahead_is_blamed_on_an_earlier_instruction(void **state)
{
	struct stream *s = new_stream();
	stream_region(s, 1, 400);
	stream_add(s, 1, 10);
	stream_add(s, 2, 150); /* stalls, while what follows is fetched */
	for (uint64_t i = 0; i < 12; i++)
		stream_add(s, 3 + i, 151 + i);
	struct rec_inst *r = &s->insts[9]; /* pc 10 */
	r->issue += (uint32_t)(r->fetch - 30);
	r->commit += (uint32_t)(r->fetch - 30);
	r->fetch = 30;
	r->lat_icache = 6;
	r->psv = PSV_DR_L1; /* looked up in 24, delivered in 30 */
	expect(s, ALL(), EVENT, "2,1,1,0");
	free(s);
}

static void test_2455_one_counter_is_shared_by_four_events(void **state)
{
	static const uint32_t psv[] = { PSV_DR_TLB, PSV_ST_L1, PSV_ST_TLB, PSV_FL_MB };
	struct stream *s = new_stream();
	stream_region(s, 1, 8001);
	/* Each event once in every turn of 1000 cycles. */
	for (uint64_t i = 0; i < 32; i++)
		stream_add(s, i % 4 + 1, 100 + i * 250)->psv = psv[i % 4];
	stream_add(s, 5, 7990);
	for (size_t batch = 1; batch < 9; batch += 7) {
		struct store *store = stream_run(
		    s, &issue_analysis, &inorder,
		    &(struct analysis_options){
			.period = 1000,
			.seed = 1,
			.params = (const char *const[]){ "issue.events=all", "issue.itlb=1",
							 "issue.dmiss=1", "issue.dtlb=1",
							 "issue.branchmp=2", NULL } },
		    batch);
		char *got = rows_of(store, "SELECT event, running, samples, occurred FROM "
					   "calc_event WHERE event > 1");
		assert_string_equal(got, "2,0.25,2,8 3,0.25,2,8 4,0.25,2,8 5,0.25,1,8");
		free(got);
		store_close(store);
	}
	free(s);
}

/* All that the analysis writes of a stream. The caller frees. */
static char *all_rows(struct stream *s, const struct analysis_options *o, bool issues, size_t batch)
{
	s->issues = issues;
	struct store *store = stream_run(s, &issue_analysis, &inorder, o, batch);
	char *samples = rows_of(store, "SELECT pc, event, count, issued FROM calc_sample");
	char *events =
	    rows_of(store, "SELECT event, period, running, samples, occurred FROM calc_event");
	char *counters = rows_of(store, "SELECT name, value FROM counter");
	char *all = x_asprintf("%s; %s; %s", samples, events, counters);
	free(samples);
	free(events);
	free(counters);
	store_close(store);
	return all;
}

static void test_4650_issue_records_say_what_records_of_all_instructions_say(void **state)
{
	static const uint32_t events[] = { PSV_DR_L1, PSV_DR_TLB, PSV_ST_L1, PSV_ST_TLB,
					   PSV_FL_MB };
	static const size_t batches[] = { 2, 7, 100, 1000, STREAM_INSTS };
	struct stream *s = new_stream();
	struct rng rng;
	rng_seed(&rng, 4650);
	for (unsigned round = 0; round < 12; round++) {
		const uint64_t rare = 1 + rng_below(&rng, 60);
		uint64_t now = 1000;
		s->ninsts = s->nregions = 0;
		stream_region(s, now - 10, UINT64_MAX);
		for (unsigned i = 0; i < STREAM_INSTS; i++) {
			now += rng_below(&rng, 3) + (rng_below(&rng, 40) ? 0 : rng_below(&rng, 90));
			struct rec_inst *r = stream_add(s, 1 + rng_below(&rng, 50), now);
			r->psv = rng_below(&rng, rare) ? PSV_DR_SQ : events[rng_below(&rng, 5)];
			r->lat_icache = (uint16_t)rng_below(&rng, 80);
			r->lat_itlb = (uint16_t)rng_below(&rng, 50);
			r->complete = r->issue + (uint32_t)rng_below(&rng, 9);
			/* Fetched long before, so that what it counts may lie behind. */
			const uint32_t ahead = (uint32_t)rng_below(&rng, 100);
			r->fetch -= ahead;
			r->issue += ahead;
			r->complete += ahead;
			r->commit += ahead;
		}
		s->regions[0].end = now + 100;
		const struct analysis_options o = {
			.period = 1 + rng_below(&rng, 2) * rng_below(&rng, 200),
			.seed = round,
			.params = (const char *const[]){ "issue.events=all", "issue.imiss=2",
							 "issue.itlb=1", "issue.dmiss=3",
							 "issue.dtlb=1", "issue.branchmp=2", NULL }
		};
		char *whole = all_rows(s, &o, false, STREAM_INSTS);
		for (size_t k = 0; k < ARRAY_LEN(batches); k++) {
			char *got = all_rows(s, &o, true, batches[k]);
			assert_string_equal(got, whole);
			free(got);
		}
		free(whole);
	}
	free(s);
}

static void test_2456_a_machine_that_issues_out_of_order_is_refused(void **state)
{
	struct trace_meta meta = inorder;
	struct err e = { "" };
	void *i = x_calloc(1, issue_analysis.state_size);
	meta.in_order = 0;
	assert_false(issue_analysis.start(i, &meta, &(struct analysis_options){ .period = 1 }, &e));
	assert_non_null(strstr(e.text, "on test the order of issue is not program order"));
	assert_null(strchr(e.text, '\n'));
	meta.in_order = 1;
	const char *const params[] = { "issue.events=some", NULL };
	assert_false(issue_analysis.start(
	    i, &meta, &(struct analysis_options){ .period = 1, .params = params }, &e));
	assert_non_null(strstr(e.text, "it can be cycles, default or all"));
	free(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2450_a_sample_in_every_cycle_gives_the_time_at_the_head),
		cmocka_unit_test(test_2451_time_between_regions_does_not_count),
		cmocka_unit_test(test_2452_periods_are_drawn_between_15_16_and_all_of_it),
		cmocka_unit_test(test_2453_events_are_sampled_six_cycles_late),
		cmocka_unit_test(
		    test_2454_fetch_that_runs_ahead_is_blamed_on_an_earlier_instruction),
		cmocka_unit_test(test_2455_one_counter_is_shared_by_four_events),
		cmocka_unit_test(test_4650_issue_records_say_what_records_of_all_instructions_say),
		cmocka_unit_test(test_2456_a_machine_that_issues_out_of_order_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
