/* SPDX-License-Identifier: MIT */
/*
 * 1150 to 1159: a spectrum from records through the store to text, JSON, CSV and a picture. The
 * run has an instruction every ten cycles and a miss every hundred, of 15 and 100 cycles in turn;
 * each miss adds its latency to the lag.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "analysis/spectrum/spectrum.h"
#include "view/spectrum.h"

#define MISSES 600

static char folder[] = "/tmp/spectrum-XXXXXX";

static char *path_of(const char *name)
{
	static char paths[2][128]; /* the results of the last two calls stay valid */
	static int last;
	last = !last;
	snprintf(paths[last], sizeof(paths[last]), "%s/%s", folder, name);
	return paths[last];
}

/* Makes a store; misses 0: one without misses. */
static void make_store(const char *path, size_t misses)
{
	static const struct trace_meta meta = { .commit_width = 4,
						.rob_entries = 4,
						.l1d_latency = 2,
						.l2_latency = 17,
						.mem_latency = 102 };
	struct spectrum *s = x_calloc(1, sizeof(*s));
	struct err e = { "" };
	assert_true(spectrum_analysis.start(s, &meta, &(struct analysis_options){ 0 }, &e));
	uint64_t late = 0, cycle = 0;
	for (size_t i = 0; i < MISSES * 40; i++) {
		const bool misses_here = misses && i % 40 == 20;
		const uint32_t latency = i / 40 % 2 ? 100 : 15;
		const uint64_t at = 10 + 10 * i + late;
		struct rec_inst inst = { .po = i + 1,
					 .fetch = at,
					 .flags = RI_COMMITTED | RI_LOAD,
					 .pc = 0x1000,
					 .commit = 2 + (misses_here ? latency : 0) };
		struct rec_twin twin = { .po = i + 1, .dispatch = 10 + 10 * i, .commit = 2 };
		if (misses_here) {
			const struct rec_miss m = { .begin = at + 1,
						    .end = latency,
						    .po = i + 1,
						    .seq = i + 1,
						    .pc = latency == 100 ? 0x2000 : 0x1000,
						    .use = STAMP_NONE,
						    .kind = MISS_LOAD,
						    .level =
							latency == 100 ? LEVEL_MEM : LEVEL_L2 };
			assert_true(spectrum_analysis.misses(s, &m, 1, &e));
			late += latency;
		}
		const struct rec_cycle c = { .cycle = cycle,
					     .repeat = (uint32_t)(at + inst.commit + 1 - cycle) };
		cycle += c.repeat;
		assert_true(spectrum_analysis.twins(s, &twin, 1, &e));
		assert_true(spectrum_analysis.batch(s, &inst, 1, &c, 1, &e));
	}
	struct store *store = store_create(path, &e);
	assert_non_null(store);
	assert_true(store_insert(store, &e, "run", "ss", "program", "/bin/prog"));
	assert_true(store_insert(store, &e, "run", "ss", "machine", "puzak2007"));
	assert_true(store_insert(store, &e, "run", "si", "instructions", (int64_t)MISSES * 40));
	if (!spectrum_analysis.finish(s, store, &e))
		fail_msg("%s", e.text);
	assert_true(store_commit(store, &e));
	store_close(store);
	spectrum_analysis.free(s);
	free(s);
}

static int setup(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	make_store(path_of("run.culprit"), MISSES);
	make_store(path_of("none.culprit"), 0);
	return 0;
}

static int teardown(void **state)
{
	unlink(path_of("run.culprit"));
	unlink(path_of("none.culprit"));
	unlink(path_of("x.svg"));
	return rmdir(folder);
}

/* Returns what is printed, or NULL and the error in e. */
static char *show(const char *name, enum view_format format, const struct spectrum_options *so,
		  struct err *e)
{
	char *text = NULL;
	size_t size;
	struct view_options o = { .out = open_memstream(&text, &size),
				  .format = format,
				  .width = 100 };
	struct store *s = store_open(path_of(name), e);
	if (!s)
		fail_msg("%s", e->text);
	const bool ok = view_spectrum(s, &o, so, e);
	store_close(s);
	fclose(o.out);
	if (ok)
		return text;
	free(text);
	return NULL;
}

static int64_t number(const json_t *o, const char *key)
{
	if (!json_is_integer(json_object_get(o, key)))
		fail_msg("no number %s", key);
	return json_integer_value(json_object_get(o, key));
}

static json_t *json_of(const struct spectrum_options *so)
{
	struct err e = { "" };
	char *text = show("run.culprit", VIEW_JSON, so, &e);
	if (!text)
		fail_msg("%s", e.text);
	json_t *top = json_loads(text, 0, NULL);
	assert_non_null(top);
	free(text);
	return top;
}

static void test_1150_json_has_the_law_and_every_key(void **state)
{
	static const char *const keys[] = { "cycles", "twin_cycles", "adder",	 "cost",
					    "net",    "drift",	     "head",	 "tail",
					    "misses", "clusters",    "p",	 "a",
					    "sizes",  "patterns",    "overlaps", "predicted",
					    "ks",     "loads",	     "pairs" };
	json_t *top = json_of(&(struct spectrum_options){ 0 });
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!json_object_get(top, keys[i]))
			fail_msg("no %s", keys[i]);
	const int64_t adder = number(top, "adder");
	assert_int_equal(number(top, "cycles") - number(top, "twin_cycles"), adder);
	assert_int_equal(number(top, "net") + number(top, "drift") + number(top, "head") +
			     number(top, "tail"),
			 adder);
	assert_int_equal(adder, MISSES / 2 * 115);
	assert_int_equal(number(top, "misses"), MISSES);
	assert_int_equal(number(top, "clusters"), MISSES);
	assert_int_equal(number(top, "net"), adder);
	assert_true(json_real_value(json_object_get(top, "p")) == 0.5);
	json_decref(top);
}

static void test_1151_peaks_histograms_and_loads_are_those_of_the_records(void **state)
{
	for (int net = 0; net < 2; net++) {
		json_t *top = json_of(&(struct spectrum_options){ .net = net });
		const json_t *one = json_array_get(json_object_get(top, "sizes"), 0);
		const json_t *peaks = json_object_get(one, "peaks"),
			     *bins = json_object_get(one, "histogram");
		static const int64_t at[] = { 15, 100 };
		assert_int_equal(json_array_size(peaks), 2);
		assert_int_equal(json_array_size(bins), 2);
		for (size_t i = 0; i < 2; i++) {
			const json_t *p = json_array_get(peaks, i), *b = json_array_get(bins, i);
			assert_int_equal(number(p, "at"), at[i]);
			assert_int_equal(number(p, "median"), at[i]);
			assert_true(json_real_value(json_object_get(p, "area")) == 0.5);
			assert_int_equal(json_integer_value(json_array_get(b, 0)), at[i]);
			assert_int_equal(json_integer_value(json_array_get(b, 1)), MISSES / 2);
		}
		assert_string_equal(
		    json_string_value(json_object_get(json_array_get(peaks, 1), "sum")), "100");
		const json_t *load = json_array_get(json_object_get(top, "loads"), 0);
		assert_string_equal(json_string_value(json_object_get(load, "pc")), "0x2000");
		assert_int_equal(number(load, "misses"), MISSES / 2);
		assert_int_equal(number(load, "isolated"), MISSES / 2);
		assert_int_equal(number(load, "hidden"), 0);
		assert_int_equal(number(load, "net"), MISSES / 2 * 100);
		json_decref(top);
	}
}

static void test_1152_a_pattern_a_zoom_and_a_load_select(void **state)
{
	struct err e = { "" };
	char *text =
	    show("run.culprit", VIEW_CSV, &(struct spectrum_options){ .pattern = "M" }, &e);
	assert_string_equal(text, "size,cycles,clusters\n1,100,300\n");
	free(text);
	text = show("run.culprit", VIEW_CSV,
		    &(struct spectrum_options){ .zoom = true, .from = 10, .to = 20 }, &e);
	assert_string_equal(text, "size,cycles,clusters\n1,15,300\n");
	free(text);
	json_t *top = json_of(&(struct spectrum_options){ .load = "0x1000" });
	const json_t *loads = json_object_get(top, "loads");
	assert_int_equal(json_array_size(loads), 1);
	const json_t *own = json_object_get(json_array_get(loads, 0), "histogram");
	assert_int_equal(json_array_size(own), 1);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(own, 0), 0)), 15);
	json_decref(top);
}

static void refuse(const struct spectrum_options *so, const char *why)
{
	struct err e = { "" };
	char *text = show("run.culprit", VIEW_TEXT, so, &e);
	if (text)
		fail_msg("shown, though %s", why);
	if (!strstr(e.text, why))
		fail_msg("'%s' does not say '%s'", e.text, why);
	assert_null(strchr(e.text, '\n'));
}

static void test_1153_what_is_not_there_is_one_line(void **state)
{
	refuse(&(struct spectrum_options){ .pattern = "HX" }, "letters HM");
	refuse(&(struct spectrum_options){ .pattern = "HM", .size = 3 }, "leave --size out");
	refuse(&(struct spectrum_options){ .pattern = "HM" }, "no such cluster");
	refuse(&(struct spectrum_options){ .size = 3 }, "no such cluster");
	refuse(&(struct spectrum_options){ .kind = "stor" }, "nearest is 'store'");
	refuse(&(struct spectrum_options){ .kind = "store" }, "no such cluster");
	refuse(&(struct spectrum_options){ .load = "0x1010" }, "nearest that does is '0x1000'");
}

static void test_1154_a_run_without_a_miss_says_so(void **state)
{
	struct err e = { "" };
	char *text = show("none.culprit", VIEW_TEXT, &(struct spectrum_options){ .size = 2 }, &e);
	if (!text)
		fail_msg("%s", e.text);
	assert_non_null(strstr(text, "adder: 0 cycles"));
	assert_non_null(strstr(text, "no miss"));
	free(text);
}

static void test_1155_the_text_names_peaks_and_the_picture_has_a_panel_a_size(void **state)
{
	struct err e = { "" };
	char *text = show("run.culprit", VIEW_TEXT,
			  &(struct spectrum_options){ .svg = path_of("x.svg") }, &e);
	if (!text)
		fail_msg("%s", e.text);
	assert_non_null(strstr(text, "adder: 34,500 cycles"));
	assert_non_null(strstr(text, "Clusters of 1 miss: 600"));
	assert_non_null(strstr(text, "  100                  50.00%"));
	free(text);
	FILE *f = fopen(path_of("x.svg"), "r");
	assert_non_null(f);
	char svg[20000];
	const size_t n = fread(svg, 1, sizeof(svg) - 1, f);
	svg[n] = '\0';
	fclose(f);
	assert_non_null(strstr(svg, "size 1: 600 clusters"));
	assert_null(strstr(svg, "size 2"));
	assert_non_null(strstr(svg, "</svg>"));
}

static void test_2704_places_in_code_without_symbols_can_be_told_apart(void **state)
{
	static const struct {
		const char *function;
		uint64_t distance;
		const char *place;
	} cases[] = {
		{ "main", 0x12, "main+0x12" },
		{ "[liblzma.so.5.8.1+0x1130a]", 0xaa, "[liblzma.so.5.8.1+0x113b4]" },
		{ "std::vector<int>::push_back_and_more", 0x1e,
		  "std::vector<int>::push_back_and_more+0x1e" },
		{ NULL, 8, "0x4008" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct spectrum_load l = { .function = (char *)cases[i].function,
						 .function_start = 0x4000,
						 .pc = 0x4000 + cases[i].distance };
		char place[SPECTRUM_PLACE];

		spectrum_place(&l, place);
		assert_string_equal(place, cases[i].place);
	}
}

static void test_2705_misses_that_cost_nothing_get_no_advice(void **state)
{
	struct spectrum_load loads[] = {
		{ .function = (char *)"f", .pc = 16, .misses = 100, .exposed = 800 },
		{ .function = (char *)"memset", .pc = 32, .misses = 900, .exposed = 5 },
	};
	const struct spectrum_model m = { .adder = 1000, .loads = loads, .nloads = 2 };
	struct spectrum_pair p = { .overlapped = 100, .overlapped_cycles = 9000 };
	char text[300];

	assert_true(spectrum_pair_sentence(&m, &p, text, sizeof(text)));
	p.second = 1;
	assert_true(spectrum_pair_sentence(&m, &p, text, sizeof(text)));
	p.first = 1;
	assert_false(spectrum_pair_sentence(&m, &p, text, sizeof(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2704_places_in_code_without_symbols_can_be_told_apart),
		cmocka_unit_test(test_2705_misses_that_cost_nothing_get_no_advice),
		cmocka_unit_test(test_1150_json_has_the_law_and_every_key),
		cmocka_unit_test(test_1151_peaks_histograms_and_loads_are_those_of_the_records),
		cmocka_unit_test(test_1152_a_pattern_a_zoom_and_a_load_select),
		cmocka_unit_test(test_1153_what_is_not_there_is_one_line),
		cmocka_unit_test(test_1154_a_run_without_a_miss_says_so),
		cmocka_unit_test(test_1155_the_text_names_peaks_and_the_picture_has_a_panel_a_size),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
