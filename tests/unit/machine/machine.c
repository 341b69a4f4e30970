/* SPDX-License-Identifier: MIT */
/* 1020: the table of parameters, and how a machine is stored in a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"
#include "trace/file_format.h"

static void test_1020_every_default_is_valid_and_reads_back_as_itself(void **state)
{
	struct machine m = machine_default;
	struct err e;

	for (size_t i = 0; i < machine_params_count; i++) {
		const struct param *p = &machine_params[i];
		char text[256], again[256];

		assert_ptr_equal(machine_param_find(p->section, p->key, &e), p);
		machine_param_text(&machine_default, p, text, sizeof(text));
		if (!machine_put(&m, p->section, p->key, text, &e))
			fail_msg("%s", e.text);
		machine_param_text(&m, p, again, sizeof(again));
		assert_string_equal(text, again);
	}
	assert_memory_equal(&m, &machine_default, sizeof(m));
	assert_true(machine_check(&m, &e));
}

/* Changes the parameter to another valid value. */
static void change(struct machine *m, const struct param *p)
{
	char text[64];
	struct err e;

	machine_param_text(m, p, text, sizeof(text));
	const bool at_max = strtod(text, NULL) == p->max;
	switch (p->type) {
	case PARAM_BOOL:
	case PARAM_IDEAL:
		snprintf(text, sizeof(text), "%s",
			 text[0] == 'n' || !strcmp(text, "off") ? "on" : "no");
		break;
	case PARAM_CHOICE:
	case PARAM_NAME:
		snprintf(text, sizeof(text), "%s", p->choices[!strcmp(text, p->choices[0])]);
		break;
	case PARAM_TEXT:
		snprintf(text, sizeof(text), "other");
		break;
	default:
		snprintf(text, sizeof(text), "%.10g", at_max ? p->min : p->max);
	}
	if (!machine_put(m, p->section, p->key, text, &e))
		fail_msg("%s", e.text);
}

static void test_1021_every_row_has_a_member_of_its_own(void **state)
{
	for (size_t i = 0; i < machine_params_count; i++) {
		struct machine m = machine_default;

		change(&m, &machine_params[i]);
		for (size_t k = 0; k < machine_params_count; k++) {
			char before[256], after[256];

			machine_param_text(&machine_default, &machine_params[k], before,
					   sizeof(before));
			machine_param_text(&m, &machine_params[k], after, sizeof(after));
			if (!strcmp(before, after) != (i != k))
				fail_msg("%s.%s changes %s.%s from %s to %s",
					 machine_params[i].section, machine_params[i].key,
					 machine_params[k].section, machine_params[k].key, before,
					 after);
		}
	}
}

/* Returns the machine that a trace holds after it was written and read again. */
static struct machine travel(const struct trace_setting *settings, size_t count)
{
	struct trace_info info = { .meta = { .machine = "away" },
				   .settings = settings,
				   .nsettings = count };
	struct bytes out = { 0 };
	struct info_copy back;

	info_write(&info, &out);
	assert_true(info_parse(out.data, out.size, &back));
	struct machine m = *back.info.machine;
	info_free(&back);
	free(out.data);
	return m;
}

static void test_1022_a_machine_that_travels_with_a_trace_arrives_as_it_was(void **state)
{
	static char text[MACHINE_PARAMS_MAX][256];
	struct trace_setting settings[MACHINE_PARAMS_MAX];

	for (size_t f = 0; f < machine_files_count; f++) {
		struct machine m;
		struct err e;

		assert_true(machine_load(&m, machine_files[f].name, &e));
		assert_true(machine_set(&m, "ideal.lgalu=0x1234", &e));
		assert_true(machine_set(&m, "ideal.bw=on", &e));
		for (size_t i = 0; i < machine_params_count; i++) {
			const struct param *p = &machine_params[i];

			machine_param_text(&m, p, text[i], sizeof(text[i]));
			settings[i] = (struct trace_setting){ p->section, p->key, text[i] };
		}

		struct machine there = travel(settings, machine_params_count);

		assert_string_equal(there.name, "away");
		/* a trace does not store where the machine was read from */
		memcpy(there.name, m.name, sizeof(m.name));
		memcpy(there.file, m.file, sizeof(m.file));
		memcpy(there.line, m.line, sizeof(m.line));
		assert_memory_equal(&there, &m, sizeof(m));
	}
}

static void test_1023_what_a_trace_does_not_say_is_the_default(void **state)
{
	const struct trace_setting some[] = { { "window", "rob", "64" },
					      { "run", "first_cycle", "7" },
					      { "window", "no_such_key", "7" },
					      { "fetch", "width", "no number" } };
	struct machine m = travel(some, ARRAY_LEN(some));

	assert_int_equal(m.rob, 64);
	assert_int_equal(m.fetch_width, machine_default.fetch_width);
	assert_int_equal(m.fetch_block_bytes, machine_default.fetch_block_bytes);
	assert_int_equal(m.int_queue, machine_default.int_queue);
}

static void test_1024_of_a_machine_that_a_trace_does_not_describe_nothing_binds(void **state)
{
	const struct trace_setting other[] = { { "run", "first_cycle", "7" } };
	const struct trace_setting impossible[] = { { "l1d", "ways", "3" } };
	struct machine m = travel(other, 1), bad = travel(impossible, 1), unknown;

	machine_unknown(&unknown);
	snprintf(unknown.name, sizeof(unknown.name), "away");
	assert_memory_equal(&m, &unknown, sizeof(m));
	assert_memory_equal(&bad, &unknown, sizeof(m));
	assert_true(m.unified && m.unified_queue == MACHINE_UNLIMITED);
	assert_int_equal(m.unit[UNIT_DIV].count, MACHINE_UNLIMITED);
	assert_int_equal(m.mem.cache[MEM_L1D].size_bytes, 0);
}

static void test_1025_every_number_of_the_meta_data_survives_a_trace_file(void **state)
{
	struct trace_info info = { .meta = { .machine = "away", .clock_hz = 1e9 } };
	struct bytes out = { 0 };
	struct info_copy back;
	uint32_t n = 1000;
	size_t listed = offsetof(struct trace_meta, fetch_width) + sizeof(info.meta.clock_hz);

#define X(type, name, valid) info.meta.name = n++, listed += sizeof(type);
	TRACE_META_NUMBERS(X)
#undef X
	/* all members are in the list; a file would lose any other */
	assert_in_range(sizeof(info.meta) - listed, 0, sizeof(n));
	info_write(&info, &out);
	assert_true(info_parse(out.data, out.size, &back));
	assert_memory_equal(&back.info.meta, &info.meta, sizeof(info.meta));
	info_free(&back);
	free(out.data);
}

static void test_1026_the_vocabulary_says_how_much_larger_an_ideal_window_is(void **state)
{
	char times[32];

	snprintf(times, sizeof(times), "%d times as large", IDEAL_WIN_FACTOR);
	assert_non_null(strstr(words_costs[COST_WIN].meaning, times));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1020_every_default_is_valid_and_reads_back_as_itself),
		cmocka_unit_test(test_1021_every_row_has_a_member_of_its_own),
		cmocka_unit_test(test_1022_a_machine_that_travels_with_a_trace_arrives_as_it_was),
		cmocka_unit_test(test_1023_what_a_trace_does_not_say_is_the_default),
		cmocka_unit_test(
		    test_1024_of_a_machine_that_a_trace_does_not_describe_nothing_binds),
		cmocka_unit_test(test_1026_the_vocabulary_says_how_much_larger_an_ideal_window_is),
		cmocka_unit_test(test_1025_every_number_of_the_meta_data_survives_a_trace_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
