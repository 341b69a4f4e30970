/* SPDX-License-Identifier: MIT */
/* 561: the example analysis in docs/ compiles, runs on the bus and writes the rows that it
 * should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "isa/isa.h"
#include "store/store.h"
#include "synth.h"
#include "trace/bus.h"
#include "trace/plugin.h"

extern const struct analysis lifetime_analysis;

/* The lifetimes that the analysis counts, counted here. */
static uint64_t cycles[CLASS_COUNT], insts[CLASS_COUNT];

static bool count_insts(void *state, const struct rec_inst *r, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		insts[r[i].cls]++;
		cycles[r[i].cls] += r[i].commit - r[i].dispatch;
	}
	return true;
}

static const struct analysis counting = {
	.name = "counting",
	.wants = WANT_INSTS,
	.state_size = 1,
	.insts = count_insts,
};

static void test_561_the_example_analysis_measures_lifetimes(void **state)
{
	struct trace_meta meta;
	struct err e = { "" };
	char folder[] = "/tmp/culprit-example-XXXXXX";
	assert_non_null(mkdtemp(folder));
	char *path = x_asprintf("%s/example.culprit", folder);
	struct store *store = store_create(path, &e);
	synth_meta(&meta);
	struct bus *b =
	    bus_new(&(struct bus_config){ .workers = 1 }, &meta, &(struct analysis_options){ 0 });
	assert_non_null(store);
	assert_true(bus_add(b, &lifetime_analysis, 1, &e));
	assert_true(bus_add(b, &counting, 1, &e));
	assert_true(bus_start(b, &e));
	assert_int_equal(bus_emit(b)->wants, WANT_INSTS);
	synth_run(bus_emit(b), 1, 20000);
	assert_true(bus_stop(b, &e));
	assert_true(bus_finish(b, store, &e));
	assert_true(store_commit(store, &e));
	int64_t classes = 0;
	for (int c = 0; c < CLASS_COUNT; c++) {
		char *sql =
		    x_asprintf("SELECT value FROM counter WHERE name = '%s'", op_class_name[c]);
		int64_t mean = store_number(store, sql, -1);

		assert_int_equal(mean, insts[c] ? (int64_t)(cycles[c] / insts[c]) : -1);
		classes += insts[c] != 0;
		free(sql);
	}
	assert_true(classes >= 4 && insts[CLASS_ALU] && insts[CLASS_LOAD]);
	assert_int_equal(store_number(store, "SELECT count(*) FROM counter", -1), classes);
	bus_free(b);
	store_close(store);
	unlink(path);
	rmdir(folder);
	free(path);
}

#define AT(type, member) offsetof(struct type, member)

/* A shared object with an analysis was compiled with these numbers. */
static void test_1575_the_layout_of_records_never_changes_under_one_number(void **state)
{
	static const uint64_t known[] = { 0, 0x5ffd7cdde8524f2c, 0x83c745750f5df633,
					  0x7012193000304b45 };
	const size_t at[] = {
		sizeof(struct rec_inst),
		AT(rec_inst, fetch),
		AT(rec_inst, target),
		AT(rec_inst, psv),
		AT(rec_inst, flags),
		AT(rec_inst, pc),
		AT(rec_inst, cls),
		AT(rec_inst, po),
		AT(rec_inst, commit),
		AT(rec_inst, tid),
		AT(rec_inst, addr),
		AT(rec_inst, dispatch),
		AT(rec_inst, complete),
		AT(rec_inst, prod),
		AT(rec_inst, lat_dmiss),
		AT(rec_inst, dlevel),
		sizeof(struct rec_cycle),
		AT(rec_cycle, head_pc),
		AT(rec_cycle, repeat),
		AT(rec_cycle, flags),
		AT(rec_cycle, dispatch_pc),
		sizeof(struct rec_miss),
		AT(rec_miss, kind),
		sizeof(struct rec_twin),
		sizeof(struct rec_issue),
		AT(rec_issue, time),
		sizeof(struct trace_meta),
		AT(trace_meta, clock_hz),
		sizeof(struct analysis),
		AT(analysis, wants),
		AT(analysis, start),
		AT(analysis, finish),
		sizeof(struct analysis_options),
		AT(analysis_options, info),
		sizeof(struct err),
		EVENT_COUNT,
		CLASS_COUNT,
		LEVEL_COUNT,
	};
	uint64_t h = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		h = hash_u64(h ^ at[i]) + i;
	assert_int_equal(CULPRIT_LAYOUT + 1, ARRAY_LEN(known));
	if (h != known[CULPRIT_LAYOUT])
		fail_msg("layout %d is not what shared objects were built for (now 0x%llx): raise "
			 "CULPRIT_LAYOUT",
			 CULPRIT_LAYOUT, (unsigned long long)h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_561_the_example_analysis_measures_lifetimes),
		cmocka_unit_test(test_1575_the_layout_of_records_never_changes_under_one_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
