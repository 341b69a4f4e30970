/* SPDX-License-Identifier: MIT */
/*
 * Debug files that were not there when a profile was made, or that were elsewhere. Names are put into a profile when
 * it is made; --debug looks in more folders when it is read, and names in memory what lies in binaries whose debug
 * files are there. The profile stays as it is.
 */
#ifndef CMD_DEBUG_H
#define CMD_DEBUG_H

#include "cmd/cmd.h"
#include "store/store.h"

#define DEBUG_OPTION(values, member)                                                                 \
	{                                                                                            \
		.name = "debug", .type = CMD_STRINGS, .offset = offsetof(values, member),            \
		.arg = "DIR",                                                                        \
		.help = "Takes names and lines of binaries that have none from their debug files "   \
			"in DIR, by build-id (DIR/.build-id/ab/cd….debug) or by name; the binary " \
			"must be there and unchanged. May be given more than once"                   \
	}

/* False and e filled if a folder cannot be searched. That no binary of the profile gains by it is said on stderr. */
bool debug_names(const char *command, struct store *s, const struct cmd_strings *folders,
		 struct err *e);

#endif
