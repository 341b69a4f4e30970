/* SPDX-License-Identifier: MIT */
/*
 * culprit machines: lists the machines that can be modelled, or prints one with every parameter, as
 * a file that can be changed and read back.
 */
#include "cmd/cmd.h"

#include "machine/machine.h"

struct machines_values {
	struct cmd_strings set;
	bool reference;
};

static int list_machines(void)
{
	for (size_t i = 0; i < machine_files_count; i++) {
		struct machine c;
		struct err e;

		if (!machine_load(&c, machine_files[i].name, &e)) {
			warn("machines: %s", e.text);
			return 1;
		}
		printf("%-18s %s\n", c.name, c.summary);
	}
	return 0;
}

static int machines_run(void *values, int nargs, char **args)
{
	const struct machines_values *v = values;
	struct machine c;
	struct err e;

	if (v->reference) {
		machine_print_reference(stdout);
		return 0;
	}
	if (!nargs && !v->set.count)
		return list_machines();
	if (nargs) {
		if (!machine_load(&c, args[0], &e))
			goto bad;
	} else {
		c = machine_default;
	}
	for (size_t i = 0; i < v->set.count; i++)
		if (!machine_set(&c, v->set.items[i], &e))
			goto bad;
	if (!machine_check(&c, &e))
		goto bad;
	/* a machine that was changed is not that of the table */
	if (nargs && !v->set.count && !machine_print_table(args[0], stdout, &e))
		goto bad;
	machine_print(&c, stdout);
	return 0;
bad:
	warn("machines: %s", e.text);
	return 2;
}

static const struct cmd_option options[] = {
	{ .name = "set",
	  .type = CMD_STRINGS,
	  .offset = offsetof(struct machines_values, set),
	  .arg = "SECTION.KEY=VALUE",
	  .help =
	      "Changes a parameter of the machine that is printed. May be given more than once." },
	{ .name = "reference",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct machines_values, reference),
	  .help =
	      "Prints every parameter with its unit, range, default and meaning, as Markdown." },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit machines boom-tea", "Prints that machine with all its parameters." },
	{ "culprit machines boom-tea --set window.rob=64 > small.ini",
	  "Makes a machine file of a variant." },
	{ NULL, NULL },
};

const struct command cmd_machines = {
	.name = "machines",
	.summary = "the machines that can be modelled, and their parameters",
	.args = "[NAME|FILE.ini]",
	.max_args = 1,
	.description =
	    "Lists the machines that are built in. With a name or a machine file it prints that "
	    "machine with every parameter and its meaning, as a file that can be changed and read "
	    "back; before them, if the machine is a paper's, the paper's table, row by row, with "
	    "what the machine makes of it and why. A mistake in a file is named with its line and "
	    "the nearest valid key.",
	.exit_status = "0; 2 if there is no such machine, or the file or a setting is wrong.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct machines_values),
	.run = machines_run,
};
