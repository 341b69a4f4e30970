/* SPDX-License-Identifier: MIT */
/*
 * Views that need an analysis which a profile lacks: they say which command adds it, made from the
 * run's own recipe, and with --add run it.
 */
#ifndef CMD_ADDING_H
#define CMD_ADDING_H

#include "cmd/reading.h"
#include "cmd/simulating.h"
#include "store/store.h"

#define ADDING_OPTION(values, member)                                                              \
	{                                                                                          \
		.name = "add", .type = CMD_SWITCH, .offset = offsetof(values, member),             \
		.help = "If the profile lacks what this shows: runs the program again as it ran, " \
			"in a sandbox, with that analysis beside those that it has, and puts the " \
			"new profile in its place"                                                 \
	}

/*
 * Whether the view can go on: the profile has what the analyses of the list `needs` ("profile,icost") find, or says so
 * little of its run that the view has to say what it lacks, or --add was given and *s is now a profile that has it,
 * opened as r asks. Otherwise a line on stderr says why not. *s was opened by reading_open from a file.
 */
bool adding_ensure(const char *command, const struct reading *r, struct store **s,
		   const char *needs, bool add, const struct simulating *o);

#endif
