/* SPDX-License-Identifier: MIT */
/*
 * Gives every option of every command, from the tables themselves, values without a meaning: each
 * is refused in one line that names the option and the value, unless any text is valid there. A
 * new option is covered at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/cmd.h"

static const char *const malformed[] = {
	"",
	" 5",
	"5 ",
	"-1",
	"+5",
	"0x",
	"1e3",
	"k",
	"5kk",
	"99999999999999999999",
	"5M5",
	"18446744073709551615k",
	"99999999999G",
	"0x5k",
	"5\n",
	"1.5",
	"=",
	"NaN",
	"five",
};

/* Arguments that the help calls so are names: any text but an empty one is valid, and the command
 * itself says whether the thing exists. */
static const char *const names[] = { "FILE",	      "DIR",
				     "NAME",	      "EVENT",
				     "NAME|FILE.ini", "SECTION.KEY=VALUE",
				     "NAME=VALUE",    "LIST",
				     "IN,OUT,ERR",    "all|misses|committed",
				     "CATEGORY",      "HOST[:PORT]",
				     "PATH",	      "PATTERN",
				     "PLACE",	      "USER",
				     "PID|NAME",      "GROUP",
				     "SERVER",	      "ROLE",
				     "CAUSE",	      "STEM",
				     "FIELD",	      "FIELD=VALUE" };

static bool is_name(const struct cmd_option *o)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(o->arg ? o->arg : "", names[i]))
			return true;
	return false;
}

/* Returns whether the command takes that value; e is empty if so. */
static bool takes(const struct command *c, const struct cmd_option *o, const char *value,
		  struct err *e)
{
	void *values = x_calloc(1, c->values_size);
	char *word = x_asprintf("--%s=%s", o->name, value), *argv[8] = { word };
	struct cmd_parsed parsed;
	int argc = 1;

	for (; argc <= c->min_args; argc++)
		argv[argc] = (char *)"x";
	e->text[0] = '\0';
	bool ok = cmd_parse(c, argc, argv, values, &parsed, e);

	cmd_values_free(c, values);
	free(values);
	free(word);
	return ok;
}

static void test_054_every_option_refuses_what_means_nothing(void **state)
{
	size_t tried = 0;

	for (const struct command *const *c = command_list; *c; c++) {
		struct cmd_walk walk = { .at = (*c)->options };
		struct cmd_option option, *o = &option;

		while (cmd_walk(&walk, o))
			for (size_t i = 0; o->type != CMD_SWITCH && i < ARRAY_LEN(malformed); i++) {
				struct err e;
				bool text = o->type == CMD_TEXT || o->type == CMD_STRINGS;
				bool valid = text && !o->check && is_name(o) && malformed[i][0];

				if (o->arg && (!strcmp(o->arg, "S") || !strcmp(o->arg, "X") ||
					       !strcmp(o->arg, "PERCENT")))
					valid = valid || !strcmp(malformed[i], "1.5");
				if (o->arg && !strcmp(o->arg, "CYCLES") && o->type == CMD_TEXT)
					valid = valid || !strcmp(malformed[i], "-1"); /* costs */
				tried++;
				if (takes(*c, o, malformed[i], &e) != valid)
					fail_msg("%s --%s '%s': %s", (*c)->name, o->name,
						 malformed[i], valid ? e.text : "taken");
				if (valid)
					continue;
				assert_non_null(strstr(e.text, o->name));
				assert_null(strchr(e.text, '\n'));
				if (!strchr(malformed[i], '\n'))
					assert_non_null(strstr(e.text, malformed[i]));
			}
	}
	print_message("%zu values tried\n", tried);
	assert_true(tried > 700);
}

static void test_055_the_ends_of_every_range_are_valid_and_what_is_beyond_is_not(void **state)
{
	for (const struct command *const *c = command_list; *c; c++) {
		struct cmd_walk walk = { .at = (*c)->options };
		struct cmd_option option, *o = &option;

		while (cmd_walk(&walk, o)) {
			char text[32];
			struct err e;
			uint64_t most = o->range.max ? o->range.max : UINT64_MAX;

			if (o->type != CMD_NUMBER)
				continue;
			snprintf(text, sizeof(text), "%llu", (unsigned long long)o->range.min);
			assert_true(takes(*c, o, text, &e));
			snprintf(text, sizeof(text), "%llu", (unsigned long long)most);
			assert_true(takes(*c, o, text, &e));
			if (o->range.min)
				assert_false(takes(*c, o, "0", &e));
			snprintf(text, sizeof(text), "%llu", (unsigned long long)most + 1);
			if (most < UINT64_MAX)
				assert_false(takes(*c, o, text, &e));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_054_every_option_refuses_what_means_nothing),
		cmocka_unit_test(
		    test_055_the_ends_of_every_range_are_valid_and_what_is_beyond_is_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
