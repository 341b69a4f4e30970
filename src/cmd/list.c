/* SPDX-License-Identifier: MIT */
/*
 * culprit list: what is available, one line each. A kind of thing that can be listed is one row of
 * kinds[]; its print function takes the names from the table that the rest of the program uses, so
 * a list cannot be out of date.
 */
#include "cmd/cmd.h"

#include <string.h>

#include "isa/isa.h"
#include "trace/analysis.h"
#include "util/nearest.h"

static void print_commands(void)
{
	for (const struct command *const *c = command_list; *c; c++)
		printf("%-16s %s\n", (*c)->name, (*c)->summary);
}

static void print_analyses(void)
{
	for (const struct analysis *const *a = analysis_list; *a; a++)
		printf("%-16s %s\n", (*a)->name, (*a)->summary);
}

static void print_instructions(void)
{
	for (int op = OP_ILLEGAL + 1; op < OP_COUNT; op++)
		printf("%-16s %s\n", op_info[op].name, op_class_name[op_info[op].cls]);
}

static const struct kind {
	const char *name;
	const char *summary;
	void (*print)(void);
} kinds[] = {
	{ "commands", "what culprit can do", print_commands },
	{ "analyses", "what can be computed from a run", print_analyses },
	{ "instructions", "what the guest machine executes, with the class of each",
	  print_instructions },
};

static int list_run(void *values, int nargs, char **args)
{
	struct nearest near = { .word = nargs ? args[0] : "" };

	if (!nargs) {
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			printf("%-16s %s\n", kinds[i].name, kinds[i].summary);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!strcmp(kinds[i].name, args[0])) {
			kinds[i].print();
			return 0;
		}
		nearest_try(&near, kinds[i].name);
	}
	warn("list: there are no '%s' to list; the nearest is '%s'", args[0], near.best);
	return 2;
}

static const struct cmd_example examples[] = {
	{ "culprit list instructions", "Every instruction of RV64GC and its extensions here." },
	{ NULL, NULL },
};

const struct command cmd_list = {
	.name = "list",
	.summary = "what is available: commands, analyses, instructions",
	.args = "[KIND]",
	.max_args = 1,
	.description =
	    "Lists the things of one kind by name, one per line, with what each is. Without "
	    "an argument it lists the kinds.",
	.examples = examples,
	.run = list_run,
};
