/* SPDX-License-Identifier: MIT */
/* The option parser: every spelling that it accepts, every mistake that it names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/cmd.h"

struct values {
	bool loud;
	const char *name;
	uint64_t seed;
	int colour;
	struct cmd_strings define;
};

static const char *const colours[] = { "red", "green", "blue", NULL };

static const struct cmd_option options[] = {
	{ .name = "loud",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct values, loud),
	  .letter = 'l' },
	{ .name = "name",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct values, name),
	  .arg = "NAME",
	  .letter = 'n' },
	{ .name = "seed", .type = CMD_NUMBER, .offset = offsetof(struct values, seed), .arg = "N" },
	{ .name = "colour",
	  .type = CMD_CHOICE,
	  .offset = offsetof(struct values, colour),
	  .choices = colours },
	{ .name = "define",
	  .type = CMD_STRINGS,
	  .offset = offsetof(struct values, define),
	  .arg = "K=V" },
	{ .name = NULL },
};

static const struct command mixed = {
	.name = "mixed", .args = "FILE...", .max_args = 3, .options = options
};
static const struct command verbatim = { .name = "verbatim",
					 .args = "PROG",
					 .min_args = 1,
					 .max_args = -1,
					 .args_verbatim = true,
					 .options = options };

/* One parse; each test starts from a fresh one. */
struct parse {
	struct values values;
	struct cmd_parsed parsed;
	struct err e;
	bool ok;
	char *argv[16];
};

#define PARSE(p, command, ...) parse(p, command, (char *[]){ __VA_ARGS__, NULL })

static void parse(struct parse *p, const struct command *c, char **words)
{
	int n = 0;

	memset(p, 0, sizeof(*p));
	for (; words[n]; n++)
		p->argv[n] = words[n];
	p->ok = cmd_parse(c, n, p->argv, &p->values, &p->parsed, &p->e);
}

static void test_021_long_options_take_their_value_either_way(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--name", "a", "--seed=7");
	assert_true(p.ok);
	assert_string_equal(p.values.name, "a");
	assert_int_equal(p.values.seed, 7);
	assert_int_equal(p.parsed.nargs, 0);
}

static void test_022_letters_take_their_value_either_way(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "-l", "-n", "a");
	assert_true(p.ok && p.values.loud);
	assert_string_equal(p.values.name, "a");
	PARSE(&p, &mixed, "-nb");
	assert_true(p.ok);
	assert_string_equal(p.values.name, "b");
}

static void test_023_the_last_value_counts(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--seed=1", "--seed=2");
	assert_int_equal(p.values.seed, 2);
}

static void test_024_numbers_know_hexadecimal_and_suffixes(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--seed=0x10");
	assert_int_equal(p.values.seed, 16);
	PARSE(&p, &mixed, "--seed=3k");
	assert_int_equal(p.values.seed, 3000);
	PARSE(&p, &mixed, "--seed=3M");
	assert_int_equal(p.values.seed, 3000000);
	PARSE(&p, &mixed, "--seed=3G");
	assert_int_equal(p.values.seed, 3000000000ull);
	PARSE(&p, &mixed, "--seed=18446744073709551615");
	assert_true(p.ok);
	assert_true(p.values.seed == UINT64_MAX);
}

static void test_025_what_is_no_number_is_named(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "-1",
					   "+1",
					   "1x",
					   "1kk",
					   "0x",
					   " 1",
					   "1e6",
					   "18446744073709551616",
					   "20000000000G" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct parse p;
		PARSE(&p, &mixed, "--seed", (char *)bad[i]);
		assert_false(p.ok);
		assert_non_null(strstr(p.e.text, "--seed"));
	}
}

static void test_026_an_unknown_option_names_the_nearest(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--sede=4");
	assert_false(p.ok);
	assert_non_null(strstr(p.e.text, "'--sede'"));
	assert_non_null(strstr(p.e.text, "'--seed'"));
	PARSE(&p, &mixed, "-z");
	assert_false(p.ok);
	assert_non_null(strstr(p.e.text, "'-z'"));
}

static void test_027_abbreviations_are_unknown_options(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--see", "4");
	assert_false(p.ok);
}

static void test_028_a_missing_value_is_named(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--name");
	assert_false(p.ok);
	assert_non_null(strstr(p.e.text, "--name NAME"));
}

static void test_029_a_switch_takes_no_value(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--loud=yes");
	assert_false(p.ok);
	PARSE(&p, &mixed, "-lx");
	assert_false(p.ok);
}

static void test_030_a_wrong_choice_names_the_nearest(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--colour", "gren");
	assert_false(p.ok);
	assert_non_null(strstr(p.e.text, "'green'"));
	PARSE(&p, &mixed, "--colour", "blue");
	assert_true(p.ok);
	assert_int_equal(p.values.colour, 2);
}

static void test_031_a_repeated_option_keeps_all_in_order(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "--define", "a=1", "x", "--define=b=2");
	assert_true(p.ok);
	assert_int_equal(p.values.define.count, 2);
	assert_string_equal(p.values.define.items[0], "a=1");
	assert_string_equal(p.values.define.items[1], "b=2");
	assert_null(p.values.define.items[2]);
	cmd_values_free(&mixed, &p.values);
}

static void test_032_options_and_arguments_mix(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "a", "--seed", "5", "-", "--", "--loud");
	assert_true(p.ok);
	assert_false(p.values.loud);
	assert_int_equal(p.values.seed, 5);
	assert_int_equal(p.parsed.nargs, 3);
	assert_string_equal(p.parsed.args[0], "a");
	assert_string_equal(p.parsed.args[1], "-");
	assert_string_equal(p.parsed.args[2], "--loud");
	assert_null(p.parsed.args[3]);
}

static void test_033_verbatim_arguments_are_left_alone(void **state)
{
	struct parse p;

	PARSE(&p, &verbatim, "--loud", "prog", "--help", "--", "--seed", "x");
	assert_true(p.ok && p.values.loud && !p.parsed.help);
	assert_int_equal(p.parsed.nargs, 5);
	assert_string_equal(p.parsed.args[1], "--help");
	assert_string_equal(p.parsed.args[2], "--");
	PARSE(&p, &verbatim, "--", "--loud");
	assert_true(p.ok && !p.values.loud);
	assert_string_equal(p.parsed.args[0], "--loud");
}

static void test_034_the_count_of_arguments_is_checked(void **state)
{
	struct parse p;

	PARSE(&p, &mixed, "a", "b", "c", "d");
	assert_false(p.ok);
	assert_non_null(strstr(p.e.text, "'d'"));
	PARSE(&p, &verbatim, "--loud");
	assert_false(p.ok);
	assert_non_null(strstr(p.e.text, "PROG"));
}

static void test_035_help_comes_before_all_checks(void **state)
{
	struct parse p;

	PARSE(&p, &verbatim, "--help", "--nonsense");
	assert_true(p.ok && p.parsed.help);
	PARSE(&p, &verbatim, "-h");
	assert_true(p.ok && p.parsed.help);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_021_long_options_take_their_value_either_way),
		cmocka_unit_test(test_022_letters_take_their_value_either_way),
		cmocka_unit_test(test_023_the_last_value_counts),
		cmocka_unit_test(test_024_numbers_know_hexadecimal_and_suffixes),
		cmocka_unit_test(test_025_what_is_no_number_is_named),
		cmocka_unit_test(test_026_an_unknown_option_names_the_nearest),
		cmocka_unit_test(test_027_abbreviations_are_unknown_options),
		cmocka_unit_test(test_028_a_missing_value_is_named),
		cmocka_unit_test(test_029_a_switch_takes_no_value),
		cmocka_unit_test(test_030_a_wrong_choice_names_the_nearest),
		cmocka_unit_test(test_031_a_repeated_option_keeps_all_in_order),
		cmocka_unit_test(test_032_options_and_arguments_mix),
		cmocka_unit_test(test_033_verbatim_arguments_are_left_alone),
		cmocka_unit_test(test_034_the_count_of_arguments_is_checked),
		cmocka_unit_test(test_035_help_comes_before_all_checks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
