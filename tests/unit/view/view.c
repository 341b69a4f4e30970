/* SPDX-License-Identifier: MIT */
/* 820: the views on a small store made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "view/jumps.h"
#include "util/number.h"
#include "view/model.h"
#include "view/term.h"
#include "view/view.h"
#include "words/words.h"

#define SCALE 12

static char path[64];

static void row(struct store *s, const char *table, const char *types, ...)
{
	/* store_insert takes its values as arguments, so the few shapes used here are spelled out
	 */
	struct err e = { "" };
	va_list ap;
	va_start(ap, types);
	bool ok = false;
	if (!strcmp(types, "si")) {
		const char *k = va_arg(ap, const char *);
		ok = store_insert(s, &e, table, types, k, va_arg(ap, int64_t));
	} else if (!strcmp(types, "ss")) {
		const char *k = va_arg(ap, const char *);
		ok = store_insert(s, &e, table, types, k, va_arg(ap, const char *));
	} else if (!strcmp(types, "iiiii")) {
		int64_t v[5];
		for (int i = 0; i < 5; i++)
			v[i] = va_arg(ap, int64_t);
		ok = store_insert(s, &e, table, types, v[0], v[1], v[2], v[3], v[4]);
	} else if (!strcmp(types, "iiii")) {
		int64_t v[4];
		for (int i = 0; i < 4; i++)
			v[i] = va_arg(ap, int64_t);
		ok = store_insert(s, &e, table, types, v[0], v[1], v[2], v[3]);
	}
	va_end(ap);
	if (!ok)
		fail_msg("%s: %s", table, e.text);
}

#define I(n) ((int64_t)(n))

/* Two functions: hot (a load at 0x1000 that misses, an add at 0x1004) and cold (0x2000). 100 cycles
 * in all. */
static void make(int64_t load_cycles)
{
	struct err e = { "" };
	struct store *s = store_create(path, &e);
	assert_non_null(s);
	row(s, "run", "ss", "program", "/some/where/prog");
	row(s, "run", "ss", "machine", "boom-tip");
	row(s, "run", "si", "scale", I(SCALE));
	row(s, "run", "si", "profiled_cycles", I(load_cycles + 40));
	row(s, "run", "si", "profiled_instructions", I(80));
	assert_true(store_insert(s, &e, "image", "isssiii", I(0), "/p", "p", "", I(0), I(0), I(0)));
	assert_true(store_insert(s, &e, "function", "iisiisi", I(0), I(0), "hot", I(0x1000),
				 I(0x1008), "/src/hot.c", I(7)));
	assert_true(store_insert(s, &e, "function", "iisiisi", I(1), I(0), "cold", I(0x2000),
				 I(0x2004), NULL, I(0)));
	assert_true(store_insert(s, &e, "block", "iiii", I(0), I(0), I(0x1000), I(0x1008)));
	assert_true(store_insert(s, &e, "block", "iiii", I(1), I(1), I(0x2000), I(0x2004)));
	assert_true(store_insert(s, &e, "instruction", "iiiissis", I(0x1000), I(0), I(0),
				 I(0x0005b503), "ld\ta0,0(a1)", "/src/hot.c", I(8), "load"));
	assert_true(store_insert(s, &e, "instruction", "iiiissis", I(0x1004), I(0), I(0),
				 I(0x00b50533), "add\ta0,a0,a1", "/src/hot.c", I(9), "alu"));
	assert_true(
	    store_insert(s, &e, "inlined", "iissi", I(0x1004), I(0), "within", "a.c", I(3)));
	assert_true(store_insert(s, &e, "instruction", "iiiissis", I(0x2000), I(1), I(1),
				 I(0x00008067), "ret", NULL, I(0), "jump"));
	for (int64_t i = 0; i < 7; i++)
		assert_true(store_insert(s, &e, "category", "is", i, words_times[i].name));
	for (int64_t i = 0; i < 10; i++)
		assert_true(store_insert(s, &e, "event", "issi", i, words_events[i].name,
					 "what it is", I(i == 6 || i == 8 ? 10 : 0)));
	/* golden: the load's time is spent missing the last level (bits 6 and 8), in category load
	 * stall */
	row(s, "golden", "iiiii", I(0x1000), I(1 << 6 | 1 << 8), I(3), load_cycles * SCALE, I(0));
	row(s, "golden", "iiiii", I(0x1000), I(0), I(0), I(10 * SCALE), I(30));
	row(s, "golden", "iiiii", I(0x1004), I(0), I(0), I(20 * SCALE), I(30));
	row(s, "golden", "iiiii", I(0x2000), I(0), I(0), I(10 * SCALE), I(20));
	row(s, "sampler", "iiii", I(0), I(10), I(0), I(10));
	assert_true(store_insert(s, &e, "profiler", "issiii", I(0), "tip", "", I(0), I(0), I(88)));
	assert_true(
	    store_insert(s, &e, "profiler", "issiii", I(1), "tea", "", I(0), I(511), I(88)));
	/* TIP gives the add 10 cycles too many, and the load 10 too few */
	row(s, "profile", "iiiii", I(0), I(0), I(0x1000), I(0), I(load_cycles * SCALE));
	row(s, "profile", "iiiii", I(0), I(0), I(0x1004), I(0), I(30 * SCALE));
	row(s, "profile", "iiiii", I(0), I(0), I(0x2000), I(0), I(10 * SCALE));
	/* TEA has the right instructions but no events at all */
	row(s, "profile", "iiiii", I(0), I(1), I(0x1000), I(0), I((load_cycles + 10) * SCALE));
	row(s, "profile", "iiiii", I(0), I(1), I(0x1004), I(0), I(20 * SCALE));
	row(s, "profile", "iiiii", I(0), I(1), I(0x2000), I(0), I(10 * SCALE));
	/* samples: group 1 is the load, group 2 the add; one of ten blamed the add where the load
	 * was right */
	row(s, "sample_group", "iiii", I(1), I(0), I(0x1000), I(0));
	row(s, "sample_group", "iiii", I(2), I(0), I(0x1004), I(0));
	row(s, "sample_pair", "iiiii", I(0), I(1), I(1), I(90), I(9));
	row(s, "sample_pair", "iiiii", I(0), I(2), I(1), I(10), I(1));
	assert_true(store_commit(s, &e));
	store_close(s);
}

static struct store *open_store(void)
{
	struct err e = { "" };
	struct store *s = store_open(path, &e);
	if (!s)
		fail_msg("%s", e.text);
	return s;
}

static char *text;
static size_t text_size;

static struct view_options options(enum view_format format, int width)
{
	struct view_options o = { .out = open_memstream(&text, &text_size),
				  .format = format,
				  .width = width,
				  .limit = 10 };
	return o;
}

static int columns(const char *line, const char *end)
{
	int n = 0;
	for (; line < end; line++)
		n += ((unsigned char)*line & 0xc0) != 0x80;
	return n;
}

static void test_821_no_line_is_wider_than_asked(void **state)
{
	make(60);
	for (int width = 80; width <= 160; width += 40) {
		struct store *s = open_store();
		struct err e = { "" };
		struct view_options o = options(VIEW_TEXT, width);
		assert_true(view_report(s, &o, &e));
		assert_true(view_annotate(s, &o, &e));
		fclose(o.out);
		for (const char *line = text; *line;) {
			const char *end = strchr(line, '\n');
			if (columns(line, end) > width)
				fail_msg("%d columns at width %d: %.*s", columns(line, end), width,
					 (int)(end - line), line);
			line = end + 1;
		}
		assert_null(strchr(text, '\033')); /* no colour without a terminal */
		free(text);
		store_close(s);
	}
}

static void test_822_report_json_has_its_keys_and_sums_to_the_run(void **state)
{
	make(60);
	struct store *s = open_store();
	struct err e = { "" };
	struct view_options o = options(VIEW_JSON, 100);
	assert_true(view_report(s, &o, &e));
	fclose(o.out);
	json_t *j = json_loads(text, 0, NULL);
	assert_non_null(j);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "run"), "cycles")),
			 100);
	double sum = 0, stack = 0;
	size_t i;
	json_t *in;
	const char *key;
	json_array_foreach(json_object_get(j, "instructions"), i, in) sum +=
	    json_number_value(json_object_get(in, "cycles"));
	assert_true(sum > 99.999 && sum < 100.001);
	json_t *part;
	json_object_foreach(json_object_get(j, "cycle_stack"), key, part) stack +=
	    json_number_value(part);
	assert_true(stack > 99.999 && stack < 100.001);
	in = json_array_get(json_object_get(j, "instructions"), 0);
	assert_string_equal(json_string_value(json_object_get(in, "pc")), "0x1000");
	assert_string_equal(json_string_value(json_object_get(in, "symbol")), "hot");
	assert_true(json_number_value(json_object_get(json_object_get(in, "stack"), "ST-LLC")) ==
		    60);
	json_decref(j);
	free(text);
	store_close(s);
}

static void test_823_the_finding_names_load_line_and_memory(void **state)
{
	make(60);
	struct store *s = open_store();
	struct err e = { "" };
	struct view_options o = options(VIEW_TEXT, 300);
	assert_true(view_report(s, &o, &e));
	fclose(o.out);
	assert_non_null(
	    strstr(text, "`ld` at hot.c:8 (hot) takes 70.0% of all cycles: it waits for memory"));
	assert_non_null(strstr(text, "stall-intensive"));
	free(text);
	store_close(s);
}

static void test_824_filters_leave_only_what_they_ask_for(void **state)
{
	make(60);
	struct store *s = open_store();
	struct err e = { "" };
	struct view_options o = options(VIEW_CSV, 100);
	o.event = "st-llc";
	assert_true(view_report(s, &o, &e));
	fclose(o.out);
	assert_non_null(strstr(text, "0x1000,hot"));
	assert_null(strstr(text, "0x1004"));
	free(text);
	o = options(VIEW_TEXT, 100);
	o.event = "nonsense";
	assert_false(view_report(s, &o, &e));
	assert_non_null(strstr(e.text, "no event 'nonsense'"));
	fclose(o.out);
	free(text);
	store_close(s);
}

static void test_825_errors_are_those_computed_by_hand(void **state)
{
	make(60);
	struct store *s = open_store();
	struct err e = { "" };
	struct view_options o = options(VIEW_JSON, 100);
	struct accuracy_options a = { 0 };
	assert_true(view_accuracy(s, &o, &a, &e));
	fclose(o.out);
	json_t *j = json_loads(text, 0, NULL), *list = json_object_get(j, "profilers");
	json_t *tip = json_array_get(list, 0), *tea = json_array_get(list, 1);
	/* TIP: 10 of 100 cycles are on the wrong instruction, but in the right block and
	 * function */
	assert_true(json_number_value(json_object_get(tip, "instruction")) == 10);
	assert_true(json_number_value(json_object_get(tip, "block")) == 0);
	assert_true(json_number_value(json_object_get(tip, "systematic")) == 10);
	/* TEA: all instructions right, but the 60 cycles of misses have no event */
	assert_true(json_number_value(json_object_get(tea, "instruction")) == 60);
	assert_true(json_number_value(json_object_get(tea, "function")) == 60);
	json_decref(j);
	free(text);
	store_close(s);
}

static void test_833_annotate_says_into_what_a_function_was_inlined(void **state)
{
	make(60);
	struct store *s = open_store();
	struct err e = { "" };
	struct view_options o = options(VIEW_TEXT, 120);
	o.function = "within";
	assert_false(view_annotate(s, &o, &e));
	fclose(o.out);
	free(text);
	assert_non_null(strstr(e.text, "inlined"));
	assert_non_null(strstr(e.text, " hot`"));
	store_close(s);
}

static void test_826_annotate_shows_the_other_profiler_beside_the_truth(void **state)
{
	make(60);
	struct store *s = open_store();
	struct err e = { "" };
	struct view_options o = options(VIEW_TEXT, 120);
	o.function = "hot";
	o.profiler = "tip";
	assert_true(view_annotate(s, &o, &e));
	fclose(o.out);
	assert_non_null(strstr(text, "70.00%  60.00%"));
	assert_non_null(strstr(text, "20.00%  30.00%"));
	free(text);
	o = options(VIEW_TEXT, 120);
	o.function = "nowhere";
	assert_false(view_annotate(s, &o, &e));
	fclose(o.out);
	free(text);
	store_close(s);
}

static void test_827_diff_of_a_run_with_itself_is_nothing(void **state)
{
	make(60);
	struct store *a = open_store(), *b = open_store();
	struct err e = { "" };
	struct view_options o = options(VIEW_JSON, 100);
	assert_true(view_diff(a, b, &o, &e));
	fclose(o.out);
	json_t *j = json_loads(text, 0, NULL), *line;
	size_t i;
	assert_true(json_number_value(json_object_get(j, "speedup")) == 1);
	assert_true(json_array_size(json_object_get(j, "instructions")) > 0);
	json_array_foreach(json_object_get(j, "instructions"), i, line)
	    assert_true(json_number_value(json_object_get(line, "change")) == 0);
	json_decref(j);
	free(text);
	store_close(a);
	store_close(b);
}

static void test_828_diff_sorts_by_change(void **state)
{
	make(160);
	struct store *slow = open_store();
	char first[64];
	strcpy(first, path);
	path[strlen(path) - 1] = 'b';
	make(60);
	struct store *fast = open_store();
	struct err e = { "" };
	struct view_options o = options(VIEW_JSON, 100);
	assert_true(view_diff(slow, fast, &o, &e));
	fclose(o.out);
	json_t *j = json_loads(text, 0, NULL),
	       *top = json_array_get(json_object_get(j, "instructions"), 0);
	assert_true(json_number_value(json_object_get(j, "speedup")) == 2);
	assert_string_equal(json_string_value(json_object_get(top, "symbol")), "hot");
	assert_true(json_number_value(json_object_get(top, "change")) == -100);
	json_decref(j);
	free(text);
	store_close(slow);
	store_close(fast);
	unlink(path);
	strcpy(path, first);
}

static void test_829_jump_arrows_connect_both_ends(void **state)
{
	/* 0: to 2, 3: to 0 */
	const uint64_t pcs[] = { 0x100, 0x104, 0x108, 0x10c };
	const uint64_t targets[] = { 0x108, 0, 0, 0x100 };
	struct jumps *j = jumps_new(pcs, targets, 4);
	char buf[64];
	assert_int_equal(jumps_lanes(j), 2);
	assert_string_equal(jumps_draw(j, 0, 1, buf), "╭╭▶");
	assert_string_equal(jumps_draw(j, 1, 1, buf), "││ ");
	assert_string_equal(jumps_draw(j, 2, 1, buf), "│╰▶");
	assert_string_equal(jumps_draw(j, 3, 1, buf), "╰──");
	jumps_free(j);
}

static void test_830_bars_numbers_and_texts_fill_their_width(void **state)
{
	char buf[32];
	struct view_options o = options(VIEW_TEXT, 100);
	assert_string_equal(number_commas(0, buf), "0");
	assert_string_equal(number_commas(1234567, buf), "1,234,567");
	term_bar(&o, 0.5, 4, TERM_PLAIN);
	struct term_part parts[] = { { 0.5, TERM_RED, 'a' }, { 0.25, TERM_RED, 'b' } };
	term_stack(&o, parts, 2, 8);
	fputc('|', o.out);
	term_text(&o, "abcdefgh", 4, true);
	fclose(o.out);
	assert_string_equal(text, "██  aaaabb  |abc…");
	free(text);
}

static int make_path(void **state)
{
	snprintf(path, sizeof(path), "/tmp/culprit-view-%d-a", (int)getpid());
	return 0;
}

static int remove_path(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_821_no_line_is_wider_than_asked),
		cmocka_unit_test(test_822_report_json_has_its_keys_and_sums_to_the_run),
		cmocka_unit_test(test_823_the_finding_names_load_line_and_memory),
		cmocka_unit_test(test_824_filters_leave_only_what_they_ask_for),
		cmocka_unit_test(test_825_errors_are_those_computed_by_hand),
		cmocka_unit_test(test_833_annotate_says_into_what_a_function_was_inlined),
		cmocka_unit_test(test_826_annotate_shows_the_other_profiler_beside_the_truth),
		cmocka_unit_test(test_827_diff_of_a_run_with_itself_is_nothing),
		cmocka_unit_test(test_828_diff_sorts_by_change),
		cmocka_unit_test(test_829_jump_arrows_connect_both_ends),
		cmocka_unit_test(test_830_bars_numbers_and_texts_fill_their_width),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
