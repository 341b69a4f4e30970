/* SPDX-License-Identifier: MIT */
/* 560: the example analysis of docs/ compiles, runs on the bus and writes what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"
#include "synth.h"
#include "trace/bus.h"

extern const struct analysis lifetime_analysis;

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
	assert_true(bus_start(b, &e));
	assert_int_equal(bus_emit(b)->wants, WANT_INSTS);
	synth_run(bus_emit(b), 1, 20000);
	assert_true(bus_stop(b, &e));
	assert_true(bus_finish(b, store, &e));
	assert_true(store_commit(store, &e));
	int64_t alu = store_number(store, "SELECT value FROM counter WHERE name = 'alu'", -1);
	int64_t load = store_number(store, "SELECT value FROM counter WHERE name = 'load'", -1);
	assert_true(alu > 0);
	assert_true(load > 0);
	bus_free(b);
	store_close(store);
	unlink(path);
	rmdir(folder);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_561_the_example_analysis_measures_lifetimes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
