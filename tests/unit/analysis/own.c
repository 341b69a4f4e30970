/* SPDX-License-Identifier: MIT */
/* 3660: profilers as the user describes them, and tables by all events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile/cost.h"
#include "analysis/profile/psv.h"
#include "analysis/profile/spec.h"
#include "util/util.h"

static void test_3660_a_profiler_is_what_its_words_say(void **state)
{
	struct profiler_spec s;
	struct err e = { "" };

	assert_true(profiler_spec_parse("mine=tip", &s, &e));
	assert_string_equal(s.name, "mine");
	assert_int_equal(s.rule, SELECT_TIP);
	assert_int_equal(s.events, 0);
	assert_int_equal(s.period, 0);
	assert_int_equal(s.every, -1);
	assert_true(profiler_spec_parse("a+b=ris:ibs,st-mshr:~20k", &s, &e));
	assert_int_equal(s.rule, SELECT_FETCH);
	assert_int_equal(s.events, profilers[PROFILER_IBS].events | PSV_ST_MSHR);
	assert_int_equal(s.period, 20000);
	assert_true(s.random);
	assert_true(profiler_spec_parse("pebs=event:all:100@ST-LLC", &s, &e));
	assert_true(s.precise);
	assert_int_equal(s.events, SPEC_ALL);
	assert_int_equal(s.every, EVENT_ST_LLC);
	assert_int_equal(s.period, 100);
	assert_false(s.random);
}

static void test_3661_what_is_wrong_is_named_with_the_nearest_name(void **state)
{
	static const struct {
		const char *spec, *says;
	} bad[] = {
		{ "mine", "NAME=RULE" },
		{ "=tip", "no name" },
		{ "Mine=tip", "'Mine' is no name" },
		{ "tip=nci", "there is a profiler 'tip' already" },
		{ "oracle=nci", "already" },
		{ "mine=ncx", "no rule 'ncx'; the nearest is 'nci'" },
		{ "mine=tip-hw", "no rule 'tip-hw'" },
		{ "mine=tip:ST-LLX", "no event 'ST-LLX'; the nearest is 'ST-L" },
		{ "mine=tip:tea:0", "'0' is not valid" },
		{ "mine=tip:tea:", "is not valid" },
		{ "mine=tip:tea:5:6", "'5:6' is not valid" },
		{ "mine=tip:tea:5@ST", "no event 'ST'" },
		{ "mine=tip:tea:~5@ST-L1", "'~' is for cycles" },
		{ "mine=event:tea", "period in events" },
		{ "mine=event:tea:100", "period in events" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct profiler_spec s;
		struct err e = { "" };

		assert_false(profiler_spec_parse(bad[i].spec, &s, &e));
		if (!strstr(e.text, bad[i].says))
			fail_msg("%s: %s", bad[i].spec, e.text);
	}
}

static void test_3662_numbers_stand_for_one_address_and_set_each(void **state)
{
	struct psv_table t;
	uint32_t number[3000];

	psv_init(&t);
	for (uint32_t i = 0; i < 3000; i++)
		number[i] = psv_number(&t, 0x10000 + 2 * (i / 3), i % 3 << 18);
	for (uint32_t i = 0; i < 3000; i++) {
		assert_int_equal(psv_number(&t, 0x10000 + 2 * (i / 3), i % 3 << 18), number[i]);
		assert_int_equal(number[i], i + 1);
	}
	assert_int_equal(t.count, 3001);
	psv_free(&t);
}

/* 1000 stalls of 2 cycles without an event, 5 of 300 with ST-L1, 10 of 100 with ST-MSHR and ST-L1, a
 * flush of 50 by a branch. */
static void test_3663_the_event_that_explains_most_comes_first(void **state)
{
	struct psv_point curve[EVENT_COUNT + 1], tea;
	struct cells waits;

	cells_init(&waits);
	for (int i = 0; i < 1000; i++)
		psv_wait(&waits, 0, WAIT_STALLED, 2);
	for (int i = 0; i < 5; i++)
		psv_wait(&waits, PSV_ST_L1, WAIT_STALLED, 300);
	for (int i = 0; i < 10; i++)
		psv_wait(&waits, PSV_ST_L1 | PSV_ST_MSHR, WAIT_STALLED, 100);
	psv_wait(&waits, PSV_FL_MB, WAIT_FLUSHED, 50);
	psv_curve(&waits, curve);
	assert_int_equal(curve[0].idle, 4550);
	assert_int_equal(curve[0].bare, 4550);
	assert_int_equal(curve[0].stall, 100); /* 15 of 1015 are more than 1% */
	assert_int_equal(curve[1].event, EVENT_ST_L1);
	assert_int_equal(curve[1].bare, 2050);
	assert_int_equal(curve[1].stall, 2);
	assert_int_equal(curve[2].event, EVENT_FL_MB);
	assert_int_equal(curve[2].bare, 2000);
	assert_int_equal(curve[EVENT_COUNT].events, SPEC_ALL);
	assert_int_equal(curve[EVENT_COUNT].bare, 2000);
	psv_explain(&waits, PSV_ST_MSHR, &tea);
	assert_int_equal(tea.bare, 3550);
	assert_int_equal(tea.stall, 2); /* the long ones are 5 of 1005 */
	cells_free(&waits);
}

static void test_3664_storage_grows_with_the_bits_where_they_are_kept(void **state)
{
	struct machine m;
	struct cost_storage tea, more;
	struct err e;

	assert_true(machine_load(&m, "boom-tea", &e));
	cost_storage(&m, PSV_TEA, &tea);
	cost_storage(&m, PSV_TEA | PSV_ST_L2, &more);
	assert_int_equal(more.rob, tea.rob + m.rob);
	assert_int_equal(more.fetch_buffer, tea.fetch_buffer);
	cost_storage(&m, PSV_TEA | PSV_DR_L2, &more);
	assert_int_equal(2 * more.fetch_buffer, 3 * tea.fetch_buffer);
	cost_storage(&m, PSV_TEA | PSV_ST_STLB, &more);
	assert_int_equal(more.lsu, 2 * tea.lsu);
	cost_storage(&m, 0, &more);
	assert_int_equal(more.tea_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_3660_a_profiler_is_what_its_words_say),
		cmocka_unit_test(test_3661_what_is_wrong_is_named_with_the_nearest_name),
		cmocka_unit_test(test_3662_numbers_stand_for_one_address_and_set_each),
		cmocka_unit_test(test_3663_the_event_that_explains_most_comes_first),
		cmocka_unit_test(test_3664_storage_grows_with_the_bits_where_they_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
