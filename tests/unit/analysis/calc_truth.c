/* SPDX-License-Identifier: MIT */
/* 2460: every cycle at the head of the issue queue has its reason, on hand-written records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/calc/analyses.h"
#include "calc_stream.h"
#include "isa/isa.h"

/* Two cycles from fetch to dispatch, one more to issue; a hit takes two. */
static const struct trace_meta inorder = {
	.machine = "test", .in_order = 1, .rob_entries = 8, .frontend_depth = 2, .l1d_latency = 2
};

static struct stream *new_stream(void)
{
	return x_calloc(1, sizeof(struct stream));
}

/* An instruction with all stamps, as cycles of the run. */
static struct rec_inst *at(struct stream *s, uint64_t pc, uint64_t fetch, uint64_t dispatch,
			   uint64_t ready, uint64_t issue, uint64_t complete)
{
	struct rec_inst *r = stream_add(s, pc, issue);
	r->fetch = fetch;
	r->dispatch = (uint32_t)(dispatch - fetch);
	r->ready = (uint32_t)(ready - fetch);
	r->issue = (uint32_t)(issue - fetch);
	r->complete = (uint32_t)(complete - fetch);
	r->commit = r->complete + 1;
	if (s->ninsts > 1 && r[-1].fetch + r[-1].commit > fetch + r->commit)
		r->commit = (uint32_t)(r[-1].fetch + r[-1].commit - fetch);
	return r;
}
/* One that flows through without a stall. */
static struct rec_inst *flow(struct stream *s, uint64_t pc, uint64_t issue)
{
	return at(s, pc, issue - 3, issue - 1, issue, issue, issue + 1);
}

static void expect_on(const struct stream *s, const struct trace_meta *meta, const char *sql,
		      const char *rows)
{
	for (size_t batch = 1; batch < 20; batch += 1 + batch / 2) {
		struct store *store =
		    stream_run(s, &truth_analysis, meta, &(struct analysis_options){ 0 }, batch);
		char *got = rows_of(store, sql);
		assert_string_equal(got, rows);
		free(got);
		store_close(store);
	}
}
#define REASONS                                                                                    \
	"SELECT pc, reason, producer, cycles FROM calc_truth_reason WHERE pc"                      \
	" >= 10 ORDER BY pc, reason, producer"
static void expect(const struct stream *s, const char *rows)
{
	expect_on(s, &inorder, REASONS, rows);
}
#define ROW(pc, reason, producer, cycles) pc "," reason "," producer "," cycles

/* Numbers of enum head_reason, as the store has them. */
#define ISSUED	   "0"
#define LINE	   "1"
#define PAGE	   "2"
#define REDIRECT   "3"
#define BUBBLE	   "4"
#define KERNEL	   "5"
#define FETCH	   "6"
#define STORES	   "7"
#define SERIAL	   "8"
#define WINDOW	   "9"
#define EXECUTION  "10"
#define MISS	   "11"
#define WALK	   "12"
#define QUEUE	   "13"
#define OVERLAP	   "14"
#define MULTIPLIER "15"
#define DIVIDER	   "16"
#define UNIT	   "17"
#define END	   "19"

static void test_2460_the_words_have_the_numbers_of_the_store(void **state)
{
	assert_int_equal(REASON_STORES, 7);
	assert_int_equal(REASON_EXECUTION, 10);
	assert_int_equal(REASON_DIVIDER, 16);
	assert_int_equal(REASON_END, 19);
}

static void test_2461_what_is_not_fetched_has_the_reason_of_fetch(void **state)
{
	static const struct {
		uint32_t flags, psv; /* of the one before; of it */
		unsigned icache, itlb;
		uint32_t own;
		const char *rows;
	} cases[] = {
		/* Fetched 20 cycles after the one before, so issued 20 later: 19 cycles lost. */
		{ RI_MISPREDICT, 0, 0, 0, 0,
		  ROW("10", ISSUED, "0", "1 ") ROW("10", REDIRECT, "0", "19") },
		{ RI_MISPREDICT, PSV_DR_L1 | PSV_DR_TLB, 7, 5, 0,
		  ROW("10", ISSUED, "0", "1 ") ROW("10", LINE, "0", "7 ") ROW("10", PAGE, "0", "5 ")
		      ROW("10", REDIRECT, "0", "7") },
		{ RI_EXCEPTION | RI_FLUSHES, 0, 0, 0, 0,
		  ROW("10", ISSUED, "0", "1 ") ROW("10", KERNEL, "0", "19") },
		{ RI_FLUSHES, 0, 0, 0, 0,
		  ROW("10", ISSUED, "0", "1 ") ROW("10", SERIAL, "0", "19") },
		{ RI_BTB_MISS | RI_TAKEN, 0, 0, 0, 0,
		  ROW("10", ISSUED, "0", "1 ") ROW("10", BUBBLE, "0", "19") },
		{ 0, PSV_DR_L1, 19, 0, 0, ROW("10", ISSUED, "0", "1 ") ROW("10", LINE, "0", "19") },
		/* The cache did not take the request at once. */
		{ 0, PSV_DR_L1, 4, 0, 0, ROW("10", ISSUED, "0", "1 ") ROW("10", LINE, "0", "19") },
		{ 0, 0, 0, 0, 0, ROW("10", ISSUED, "0", "1 ") ROW("10", FETCH, "0", "19") },
		/* A page fault of its own. */
		{ 0, PSV_FL_EX, 0, 0, RI_REFETCH | RI_LOAD,
		  ROW("10", ISSUED, "0", "1 ") ROW("10", KERNEL, "0", "19") },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stream *s = new_stream();
		stream_region(s, 1, 60);
		flow(s, 1, 10)->flags |= cases[i].flags;
		struct rec_inst *r = flow(s, 10, 30);
		r->psv = cases[i].psv;
		r->flags |= cases[i].own;
		r->lat_icache = (uint16_t)cases[i].icache;
		r->lat_itlb = (uint16_t)cases[i].itlb;
		flow(s, 2, 30);
		expect(s, cases[i].rows);
		free(s);
	}
}

static void test_2462_what_is_not_dispatched_has_the_reason_of_dispatch(void **state)
{
	static const struct {
		unsigned stall;
		const char *rows;
	} cases[] = {
		{ DISPATCH_SQ, ROW("10", ISSUED, "0", "1 ") ROW("10", STORES, "0", "9") },
		{ DISPATCH_SERIAL, ROW("10", ISSUED, "0", "1 ") ROW("10", SERIAL, "0", "9") },
		{ DISPATCH_ROB, ROW("10", ISSUED, "0", "1 ") ROW("10", WINDOW, "0", "9") },
		{ DISPATCH_LQ, ROW("10", ISSUED, "0", "1 ") ROW("10", WINDOW, "0", "9") },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stream *s = new_stream();
		stream_region(s, 1, 60);
		flow(s, 1, 10);
		at(s, 10, 7, 19, 20, 20, 21)->dispatch_stall = (uint8_t)cases[i].stall;
		flow(s, 2, 20);
		expect(s, cases[i].rows);
		free(s);
	}
}

static void test_2463_an_operand_s_time_is_divided_by_what_its_load_did(void **state)
{
	struct stream *s = new_stream();
	stream_region(s, 1, 100);
	/* Issues in 10, done in 60: hit 2, waited 3, walk 20, queue 5, the rest of the miss 20. */
	struct rec_inst *r = at(s, 1, 7, 9, 10, 10, 60);
	r->flags |= RI_LOAD;
	r->cls = CLASS_LOAD;
	r->lat_dmiss = 45;
	r->lat_dtlb = 20;
	r->lat_bus = 5;
	flow(s, 2, 10);
	r = at(s, 10, 8, 10, 60, 60, 61);
	r->prod[0] = 1; /* early */
	r->prod[1] = 2;
	flow(s, 3, 61);
	expect(s, ROW("10", ISSUED, "0", "1 ") ROW("10", EXECUTION, "1", "1 ")
		      ROW("10", MISS, "1", "20 ") ROW("10", WALK, "1", "20 ")
			  ROW("10", QUEUE, "1", "8"));
	/* What follows at a distance sees only the end. */
	s->insts[1].fetch = 44;
	s->insts[1].commit = 17;
	expect(s, ROW("10", ISSUED, "0", "1 ") ROW("10", MISS, "1", "12"));
	/* A store that it loads from was not done. */
	s->insts[0].prod_mem = 1;
	s->insts[1].fetch = 7;
	s->insts[1].commit = 54;
	expect(s, ROW("10", ISSUED, "0", "1 ") ROW("10", EXECUTION, "1", "1 ")
		      ROW("10", MISS, "1", "20 ") ROW("10", WALK, "1", "20 ")
			  ROW("10", QUEUE, "1", "5 ") ROW("10", OVERLAP, "1", "3"));
	free(s);
}

static void test_2464_execution_and_units(void **state)
{
	struct stream *s = new_stream();
	struct rec_inst *r;
	stream_region(s, 1, 200);
	at(s, 1, 7, 9, 10, 10, 50)->cls = CLASS_DIV;
	/* Waits for it, then for the divider. */
	r = at(s, 10, 8, 10, 11, 50, 90);
	r->cls = CLASS_DIV;
	r = at(s, 11, 8, 10, 90, 90, 98);
	r->prod[2] = 1;
	r->cls = CLASS_MUL;
	r = at(s, 12, 9, 11, 12, 98, 106);
	r->cls = CLASS_MUL;
	/* A store waits for its data, too. */
	r = at(s, 13, 95, 97, 106, 106, 107);
	r->cls = CLASS_STORE;
	r->prod[1] = 1;
	/* A load comes too soon after it. */
	r = at(s, 14, 101, 103, 104, 110, 111);
	r->cls = CLASS_LOAD;
	r = at(s, 15, 101, 103, 104, 120, 121);
	r->flags |= RI_SERIAL;
	flow(s, 2, 121);
	expect(s, ROW("10", ISSUED, "0", "1 ") ROW("10", DIVIDER, "1", "39 ")
		      ROW("11", ISSUED, "0", "1 ") ROW("11", EXECUTION, "10", "39 ")
			  ROW("12", ISSUED, "0", "1 ") ROW("12", MULTIPLIER, "11", "7 ")
			      ROW("13", ISSUED, "0", "1 ") ROW("13", EXECUTION, "12", "7 ")
				  ROW("14", ISSUED, "0", "1 ") ROW("14", UNIT, "13", "3 ")
				      ROW("15", ISSUED, "0", "1 ") ROW("15", SERIAL, "0", "9"));
	free(s);
}

static void test_2465_all_cycles_of_all_regions_are_given_away(void **state)
{
	struct stream *s = new_stream();
	stream_region(s, 100, 120);
	flow(s, 10, 98); /* issued before the region began */
	flow(s, 11, 112);
	stream_region(s, 1000, 1030);
	flow(s, 12, 999);
	flow(s, 12, 1004);
	flow(s, 13, 1004);
	expect_on(s, &inorder, "SELECT pc, executions, head FROM calc_truth ORDER BY pc",
		  "10,1,0 11,1,20 12,2,5 13,1,25");
	expect(s, ROW("11", ISSUED, "0", "1 ") ROW("11", FETCH, "0", "12 ")
		      ROW("11", END, "0", "7 ") ROW("12", ISSUED, "0", "1 ")
			  ROW("12", FETCH, "0", "4 ") ROW("13", END, "0", "25"));
	free(s);
}

static void test_2466_edges_and_events_are_counted(void **state)
{
	struct trace_meta meta = inorder;
	struct stream *s = new_stream();
	stream_region(s, 1, 100);
	for (uint64_t i = 0; i < 10; i++) {
		struct rec_inst *r = flow(s, 10, 10 + 4 * i);
		r->psv = i % 2 ? PSV_ST_L1 | PSV_ST_TLB : PSV_DR_L1;
		r = flow(s, 14, 11 + 4 * i);
		r->flags |= RI_BRANCH | (i < 7 ? RI_TAKEN : 0);
		r->target = i < 7 ? 10 : 18;
		r->psv = i == 7 ? PSV_FL_MB : 0;
	}
	struct rec_inst *r = flow(s, 18, 60);
	r->flags |= RI_EXCEPTION; /* a system call */
	r->cls = CLASS_SYSTEM;
	r->target = 22;
	r->word = 0x73;
	/* A page fault is no edge. */
	r = flow(s, 22, 61);
	r->flags |= RI_EXCEPTION | RI_LOAD;
	r->word = 3;
	r->target = 26;
	for (meta.in_order = 0; meta.in_order < 2; meta.in_order++) {
		expect_on(s, &meta,
			  "SELECT source, target, count FROM calc_truth_edge ORDER BY 1, 2",
			  "14,10,7 14,18,3 18,22,1");
		expect_on(s, &meta, "SELECT pc, event, count FROM calc_truth_event ORDER BY 1, 2",
			  "10,1,5 10,3,5 10,4,5 14,5,1");
		expect_on(s, &meta, "SELECT pc, executions FROM calc_truth ORDER BY 1",
			  "10,10 14,10 18,1 22,1");
		expect_on(s, &meta, "SELECT sum(head) FROM calc_truth", meta.in_order ? "99" : "0");
		expect_on(s, &meta, "SELECT count(*) > 0 FROM calc_truth_reason",
			  meta.in_order ? "1" : "0");
	}
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2460_the_words_have_the_numbers_of_the_store),
		cmocka_unit_test(test_2461_what_is_not_fetched_has_the_reason_of_fetch),
		cmocka_unit_test(test_2462_what_is_not_dispatched_has_the_reason_of_dispatch),
		cmocka_unit_test(test_2463_an_operand_s_time_is_divided_by_what_its_load_did),
		cmocka_unit_test(test_2464_execution_and_units),
		cmocka_unit_test(test_2465_all_cycles_of_all_regions_are_given_away),
		cmocka_unit_test(test_2466_edges_and_events_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
