/* SPDX-License-Identifier: MIT */
/*
 * The list of commands, and what happens between main and a command: find it, parse its options,
 * run it, and see to it that what it printed has been written.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"

extern const struct command cmd_stack, cmd_icost, cmd_spectrum;
extern const struct command cmd_sim, cmd_replay, cmd_pipeline, cmd_export, cmd_report, cmd_annotate,
    cmd_accuracy, cmd_diff, cmd_stats, cmd_machines, cmd_list, cmd_help;

/* clang-format off */
const struct command *const command_list[] = {
	&cmd_sim,
	&cmd_replay,
	&cmd_pipeline,
	&cmd_export,
	&cmd_report,
	&cmd_annotate,
	&cmd_accuracy,
	&cmd_stack,
	&cmd_icost,
	&cmd_spectrum,
	&cmd_diff,
	&cmd_stats,
	&cmd_machines,
	&cmd_list,
	&cmd_help,
	NULL,
};
/* clang-format on */

const struct command *cmd_find(const char *name)
{
	for (const struct command *const *c = command_list; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

int cmd_unknown(const char *name)
{
	struct nearest near = { .word = name };

	for (const struct command *const *c = command_list; *c; c++)
		nearest_try(&near, (*c)->name);
	warn("there is no command '%s'; the nearest is '%s' ('culprit help' lists all)", name,
	     near.best);
	return 2;
}

static int run_command(const struct command *c, int argc, char **argv)
{
	void *values = x_calloc(1, c->values_size);
	struct cmd_parsed parsed;
	struct err e;
	int status = 0;

	if (!cmd_parse(c, argc, argv, values, &parsed, &e)) {
		warn("%s: %s", c->name, e.text);
		status = 2;
	} else if (parsed.help) {
		cmd_print_help(stdout, c);
	} else {
		status = c->run(values, parsed.nargs, parsed.args);
	}
	cmd_values_free(c, values);
	free(values);
	return status;
}

bool cmd_flush(void)
{
	bool failed_before = ferror(stdout);

	if (!fflush(stdout) && !failed_before)
		return true;
	clearerr(stdout);
	if (errno == EPIPE) /* who reads has seen enough */
		return true;
	warn("cannot write to standard output: %s", strerror(errno));
	return false;
}

int cmd_main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "help";
	const struct command *c = cmd_find(name);
	int status = 0;

	if (c)
		status = run_command(c, argc > 1 ? argc - 2 : 0, argc > 1 ? argv + 2 : argv + 1);
	else if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		puts("culprit " CULPRIT_VERSION);
	else if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		cmd_print_help(stdout, NULL);
	else
		status = cmd_unknown(name);

	if (!cmd_flush())
		status = status ? status : 2;
	return status;
}
