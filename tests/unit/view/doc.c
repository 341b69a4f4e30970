/* SPDX-License-Identifier: MIT */
/* Documents: the same content in text, JSON and CSV. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "view/doc.h"

static char *print(const struct doc *d, enum view_format format)
{
	char *text = NULL;
	size_t size;
	struct view_options o = { .out = open_memstream(&text, &size),
				  .format = format,
				  .width = 60 };
	struct err e = { "" };

	assert_true(doc_print(d, &o, &e));
	fclose(o.out);
	return text;
}

static void prints(const struct doc *d, enum view_format format, const char *want)
{
	char *text = print(d, format);

	assert_string_equal(text, want);
	free(text);
}

/* Makes two rows; the name is in all formats, the share in text and JSON, the path only in CSV. */
static struct doc *sample(size_t limit)
{
	static const struct doc_column columns[] = {
		{ .key = "name", .csv = "name", .head = "name", .before = "", .width = -6 },
		{ .key = "share", .head = "share", .format = "%.1f%%", .factor = 100, .width = 7 },
		{ .csv = "path" },
		{ .before = "  ", .width = 4 },
	};
	struct doc *d = doc_new();

	doc_line(d, "prog", " on %s", "machine");
	doc_integer(d, "cycles", 12);
	doc_heading(d, "Functions");
	struct doc_table *t =
	    doc_table(d, columns, 4,
		      &(struct doc_table_options){
			  .key = "functions", .heads = true, .limit = limit, .more = true });

	for (int i = 0; i < 2; i++) {
		doc_row(t);
		cell_text(t, i ? "g" : "f,1");
		cell_real(t, i ? 0.25 : 0.5);
		cell_text(t, "/a");
		cell_bar(t, i ? 0.25 : 0.5, TERM_PLAIN);
	}
	return d;
}

static void test_834_text_has_headings_heads_and_aligned_cells_and_no_blanks_at_ends(void **state)
{
	struct doc *d = sample(0);

	prints(d, VIEW_TEXT,
	       "prog on machine\n\nFunctions\nname     share\nf,1      50.0%  ██\ng        25.0%  "
	       "█\n");
	doc_free(d);
}

static void test_835_a_limit_holds_in_text_and_says_what_is_left(void **state)
{
	struct doc *d = sample(1);

	prints(
	    d, VIEW_TEXT,
	    "prog on machine\n\nFunctions\nname     share\nf,1      50.0%  ██\n  … and 1 more\n");
	prints(d, VIEW_CSV, "name,path\n\"f,1\",/a\ng,/a\n");
	doc_free(d);
}

static void test_836_json_has_values_and_rows_by_key(void **state)
{
	struct doc *d = sample(1);
	char *text = print(d, VIEW_JSON);
	json_t *j = json_loads(text, 0, NULL);

	assert_int_equal(json_integer_value(json_object_get(j, "cycles")), 12);
	const json_t *rows = json_object_get(j, "functions");

	assert_int_equal(json_array_size(rows), 2);
	const json_t *row = json_array_get(rows, 1);

	assert_string_equal(json_string_value(json_object_get(row, "name")), "g");
	assert_true(json_real_value(json_object_get(row, "share")) == 0.25);
	assert_null(json_object_get(row, "path"));
	json_decref(j);
	free(text);
	doc_free(d);
}

static void test_837_what_is_first_without_a_key_is_the_top(void **state)
{
	struct doc *d = doc_new();

	doc_array(d, NULL);
	doc_object(d, NULL);
	doc_array(d, "list");
	doc_text(d, NULL, "x");
	doc_close(d);
	doc_null(d, "none");
	doc_close(d);
	doc_boolean(d, NULL, true);
	prints(d, VIEW_JSON,
	       "[\n {\n  \"list\": [\n   \"x\"\n  ],\n  \"none\": null\n },\n true\n]\n");
	doc_free(d);
}

static void test_838_lines_between_rows_and_hidden_rows_are_texts_alone(void **state)
{
	static const struct doc_column columns[] = { { .csv = "n", .before = "", .width = 3 } };
	struct doc *d = doc_new();
	struct doc_table *t = doc_table(d, columns, 1, &(struct doc_table_options){ 0 });

	doc_above(t, TERM_PLAIN, "first");
	for (int i = 0; i < 3; i++) {
		doc_row(t);
		cell_integer(t, i);
		if (i == 1)
			doc_hide(t);
	}
	doc_above(t, TERM_PLAIN, "last");
	prints(d, VIEW_TEXT, "first\n  0\n  2\nlast\n");
	prints(d, VIEW_CSV, "n\n0\n1\n2\n");
	doc_free(d);
}

static void test_1103_what_json_cannot_hold_is_null(void **state)
{
	struct doc *d = doc_new();

	doc_text(d, "bytes", "\xff");
	doc_real(d, "number", NAN);
	doc_format(d, "words", "%d of %d", 1, 2);
	prints(d, VIEW_JSON,
	       "{\n \"bytes\": null,\n \"number\": null,\n \"words\": \"1 of 2\"\n}\n");
	doc_free(d);
}

static void test_1104_a_value_that_is_not_known_has_no_member_and_an_empty_field(void **state)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("name") },
		{ DOC_DATA("share"), .csv_format = "%.1f", DOC_SHOWN("share", "%.0f%%", 6),
		  .factor = 100 },
		{ .key = "yes" },
	};
	struct doc *d = doc_new();
	struct doc_table *t = DOC_TABLE(d, columns, .key = "rows");
	const double *unknown = NULL;

	doc_row(t);
	cell_format(t, "%s+0x%x", "f", 16);
	CELL_REAL_IF(t, unknown, *unknown);
	cell_boolean(t, true);
	doc_gap(t);
	doc_row(t);
	cell_text(t, "g");
	CELL_REAL_IF(t, true, 0.5);
	cell_boolean(t, false);
	prints(d, VIEW_CSV, "name,share\nf+0x10,\ng,0.5\n");
	prints(d, VIEW_TEXT, "\n\n    50%\n");
	prints(d, VIEW_JSON,
	       "{\n \"rows\": [\n  {\n   \"name\": \"f+0x10\",\n   \"yes\": true\n  },\n  {\n   "
	       "\"name\": \"g\",\n   \"share\": 0.5,\n   \"yes\": false\n  }\n ]\n}\n");
	doc_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_834_text_has_headings_heads_and_aligned_cells_and_no_blanks_at_ends),
		cmocka_unit_test(test_835_a_limit_holds_in_text_and_says_what_is_left),
		cmocka_unit_test(test_836_json_has_values_and_rows_by_key),
		cmocka_unit_test(test_837_what_is_first_without_a_key_is_the_top),
		cmocka_unit_test(test_838_lines_between_rows_and_hidden_rows_are_texts_alone),
		cmocka_unit_test(test_1103_what_json_cannot_hold_is_null),
		cmocka_unit_test(
		    test_1104_a_value_that_is_not_known_has_no_member_and_an_empty_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
