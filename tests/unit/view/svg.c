/* SPDX-License-Identifier: MIT */
/* Stacked bars as SVG: tests read back the file that was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "view/svg.h"

#define PLOT 300 /* length of the axis in pixels */

/* Draws one bar with one value; the caller frees the text. */
static char *draw(double value, double most, double least)
{
	char path[] = "/tmp/culprit-svg-XXXXXX";
	const struct svg_part part = { "part", "#123456", NULL };
	const struct svg_bar bar = { "bar", &value };
	const struct svg_group group = { "group", &bar, 1 };
	const struct svg_chart chart = { .title = "title",
					 .y_label = "label",
					 .parts = &part,
					 .nparts = 1,
					 .groups = &group,
					 .ngroups = 1,
					 .most = most,
					 .least = least };
	struct err e = { "" };
	char *text = x_calloc(1, 1 << 16);
	close(mkstemp(path));
	unlink(path);
	if (!svg_write(path, &chart, &e))
		fail_msg("%s", e.text);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	unlink(path);
	return text;
}

/* Returns the height of the bar's only rectangle, in pixels. */
static double height_of(const char *text)
{
	const char *at = strstr(text, "width=\"26\" height=\"");
	assert_non_null(at);
	return atof(at + strlen("width=\"26\" height=\""));
}

static void test_885_a_bar_is_as_high_as_the_axis_says(void **state)
{
	char *text = draw(1, 0, 0);
	assert_true(height_of(text) == PLOT);
	assert_null(strstr(text, "<path"));
	free(text);
	text = draw(0.8, 1.5, -0.5);
	assert_true(height_of(text) == PLOT);
	assert_null(strstr(text, "<path"));
	free(text);
}

static void test_886_a_bar_beyond_the_limit_is_cut_and_says_how_far_it_goes(void **state)
{
	char *text = draw(3.98, 1.5, -0.5);
	assert_true(height_of(text) == PLOT);
	assert_non_null(strstr(text, "<path"));
	assert_non_null(strstr(text, ">3.98</text>"));
	assert_non_null(strstr(text, ">1.4</text>")); /* the axis ends with this tick */
	assert_null(strstr(text, ">2</text>"));
	free(text);
	text = draw(-2.98, 1.5, -0.5);
	assert_non_null(strstr(text, ">-2.98</text>"));
	assert_true(height_of(text) <= PLOT);
	free(text);
}

static void test_887_ticks_are_round(void **state)
{
	char *text = draw(2, 0, 0);
	assert_non_null(strstr(text, ">0.5</text>"));
	assert_non_null(strstr(text, ">1.5</text>"));
	assert_null(strstr(text, ">0.4</text>"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_885_a_bar_is_as_high_as_the_axis_says),
		cmocka_unit_test(test_886_a_bar_beyond_the_limit_is_cut_and_says_how_far_it_goes),
		cmocka_unit_test(test_887_ticks_are_round),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
