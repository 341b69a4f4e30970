/* SPDX-License-Identifier: MIT */
/* Interval analysis on records made by hand: where intervals end, and what their events cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/cpistack/interval.h"
#include "store/store.h"
#include "util/util.h"

#define INSTS  64
#define CYCLES 1024

/* A run: instructions in program order, and one record for each cycle. */
struct run {
	struct rec_inst insts[INSTS];
	size_t ninsts;
	struct store *store;
};

/* An instruction; stamps are cycles of the run. Returns its record, for what is special. */
static struct rec_inst *add(struct run *r, unsigned dispatch, unsigned complete, unsigned commit)
{
	struct rec_inst *i = &r->insts[r->ninsts++];
	const uint64_t fetch = dispatch > 5 ? dispatch - 5 : 0;
	*i = (struct rec_inst){ .flags = RI_COMMITTED, .po = r->ninsts, .seq = r->ninsts };
	i->fetch = fetch;
	i->pc = 0x1000 + 4 * r->ninsts;
	i->dispatch = (uint32_t)(dispatch - fetch);
	i->issue = i->dispatch + 1;
	i->complete = (uint32_t)(complete - fetch);
	i->commit = (uint32_t)(commit - fetch);
	return i;
}

/* Analyses the run, of so many cycles. */
static void analyse(struct run *r, unsigned cycles)
{
	static struct rec_cycle rec[CYCLES];
	const struct trace_meta meta = { .dispatch_width = 4, .commit_width = 4 };
	const struct analysis_options o = { 0 };
	void *state = x_calloc(1, interval_analysis.state_size);
	struct err e = { "" };
	size_t next = 0;
	for (unsigned c = 0; c < cycles; c++) {
		rec[c] = (struct rec_cycle){ .cycle = c, .repeat = 1 };
		for (; next < r->ninsts && r->insts[next].fetch + r->insts[next].commit == c;
		     next++)
			if (!rec[c].ncommit++)
				rec[c].head_po = r->insts[next].po;
	}
	r->store = store_create_memory("test", &e);
	assert_non_null(r->store);
	if (!interval_analysis.start(state, &meta, &o, &e) ||
	    !interval_analysis.batch(state, r->insts, r->ninsts, rec, cycles, &e) ||
	    !interval_analysis.finish(state, r->store, &e))
		fail_msg("%s", e.text);
	interval_analysis.free(state);
	free(state);
	assert_int_equal(store_number(r->store, "SELECT sum(cycles) FROM interval_kind", -1),
			 cycles);
	assert_int_equal(store_number(r->store, "SELECT sum(instructions) FROM interval_kind", -1),
			 r->ninsts);
}

static int64_t of(struct run *r, enum cpi_component kind, const char *column)
{
	char sql[200];
	snprintf(sql, sizeof(sql), "SELECT %s FROM interval_kind WHERE kind = '%s'", column,
		 words_components[kind].name);
	return store_number(r->store, sql, 0);
}

static void test_713_a_branch_costs_its_resolution_and_the_refill(void **state)
{
	struct run r = { .ninsts = 0 };
	(void)state;
	add(&r, 10, 12, 13);
	add(&r, 10, 20, 21)->flags |= RI_MISPREDICT;
	add(&r, 26, 28, 29);
	analyse(&r, 40);
	assert_int_equal(of(&r, CPI_BMISP, "intervals"), 1);
	assert_int_equal(of(&r, CPI_BMISP, "instructions"), 2);
	assert_int_equal(of(&r, CPI_BMISP, "cycles"), 26);
	assert_int_equal(of(&r, CPI_BMISP, "resolution"), 10);
	assert_int_equal(of(&r, CPI_BMISP, "penalty"), 16);
	assert_int_equal(of(&r, CPI_BASE, "cycles"), 14);
	store_close(r.store);
}

static void test_714_an_i_miss_costs_the_cycles_without_dispatch(void **state)
{
	struct run r = { .ninsts = 0 };
	(void)state;
	add(&r, 10, 12, 13);
	struct rec_inst *late = add(&r, 19, 21, 22);
	late->psv = PSV_DR_L1;
	late->lat_icache = 10;
	late->ilevel = LEVEL_L2;
	/* One that the fetch buffer hides ends an interval, too, and costs nothing. */
	struct rec_inst *hidden = add(&r, 20, 22, 23);
	hidden->psv = PSV_DR_L1;
	hidden->lat_icache = 200;
	hidden->ilevel = LEVEL_MEM;
	analyse(&r, 30);
	assert_int_equal(of(&r, CPI_L1I, "intervals"), 1);
	assert_int_equal(of(&r, CPI_L1I, "penalty"), 8);
	assert_int_equal(of(&r, CPI_L2I, "intervals"), 1);
	assert_int_equal(of(&r, CPI_L2I, "penalty"), 0);
	store_close(r.store);
}

static void long_load(struct rec_inst *load)
{
	load->flags |= RI_LOAD;
	load->psv = PSV_ST_L1 | PSV_ST_LLC;
	load->dlevel = LEVEL_MEM;
	load->lat_dmiss = (uint16_t)(load->complete - load->issue);
}

static void test_715_a_long_miss_ends_where_dispatch_goes_on_with_its_data(void **state)
{
	struct run r = { .ninsts = 0 };
	(void)state;
	long_load(add(&r, 10, 110, 111));
	long_load(add(&r, 11, 112, 113)); /* overlaps */
	add(&r, 12, 14, 113);
	add(&r, 111, 114, 115);
	add(&r, 112, 114, 115);
	analyse(&r, 120);
	assert_int_equal(of(&r, CPI_L2D, "intervals"), 2);
	assert_int_equal(of(&r, CPI_L2D, "penalty"), 111 - 12 - 1);
	assert_int_equal(store_number(r.store, "SELECT sum(overlapped) FROM interval_near", -1), 1);
	assert_int_equal(store_number(r.store, "SELECT sum(penalty) FROM interval_instruction", -1),
			 of(&r, CPI_L2D, "penalty"));
	store_close(r.store);
}

static void test_716_a_branch_that_waits_for_a_long_miss_names_the_interval(void **state)
{
	struct run r = { .ninsts = 0 };
	(void)state;
	long_load(add(&r, 10, 110, 111));
	add(&r, 10, 112, 113)->flags |= RI_MISPREDICT;
	add(&r, 118, 120, 121);
	analyse(&r, 130);
	assert_int_equal(of(&r, CPI_BMISP, "intervals"), 1);
	assert_int_equal(of(&r, CPI_BMISP, "penalty"), 108);
	assert_int_equal(of(&r, CPI_L2D, "intervals"), 0);
	assert_int_equal(of(&r, CPI_L2D, "beside"), 1);
	store_close(r.store);
}

/* What is shown of a curve's point, on the mean: instructions that began to execute in that cycle. */
static void test_717_curves_count_useful_instructions_around_the_event(void **state)
{
	struct run r = { .ninsts = 0 };
	(void)state;
	add(&r, 100, 120, 121);
	add(&r, 100, 102, 121)->flags |= RI_MISPREDICT;
	add(&r, 110, 112, 121); /* issues in 111, one after dispatch went on */
	add(&r, 110, 112, 121);
	add(&r, 400, 402, 403); /* so late that the curve is complete */
	analyse(&r, 410);
	assert_int_equal(of(&r, CPI_BMISP, "curves"), 1);
	assert_int_equal(store_number(r.store,
				      "SELECT issued FROM interval_curve WHERE anchor = 'end' AND "
				      "point = origin + 1 AND kind = 'mispredict'",
				      -1),
			 2);
	assert_int_equal(
	    store_number(r.store,
			 "SELECT issued FROM interval_curve WHERE anchor = 'begin' AND "
			 "point = origin + 1 AND kind = 'mispredict'",
			 -1),
	    2);
	store_close(r.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_713_a_branch_costs_its_resolution_and_the_refill),
		cmocka_unit_test(test_714_an_i_miss_costs_the_cycles_without_dispatch),
		cmocka_unit_test(test_715_a_long_miss_ends_where_dispatch_goes_on_with_its_data),
		cmocka_unit_test(test_716_a_branch_that_waits_for_a_long_miss_names_the_interval),
		cmocka_unit_test(test_717_curves_count_useful_instructions_around_the_event),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
