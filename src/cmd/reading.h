/* SPDX-License-Identifier: MIT */
/* What the commands that read a profile share: options that say how to print, and opening files. */
#ifndef CMD_READING_H
#define CMD_READING_H

#include <stddef.h>

#include "cmd/cmd.h"
#include "cmd/debug.h"
#include "cmd/selecting.h"
#include "store/store.h"
#include "view/view.h"

/* Must be the first member of a reading command's values. */
struct reading {
	bool json, csv;
	uint64_t width, limit;
	const char *profiler;
	const char *event;	    /* of the commands that read live profiles */
	struct selecting selecting; /* of the same, and of databases */
	bool raw_names;		    /* of the commands with reading_open_any */
	struct cmd_strings debug;   /* of the commands that show names */
};

/* Rows for the option table of a command. */
extern const struct cmd_option reading_group[], reading_profiler_group[], reading_event_group[],
    reading_names_group[];
#define READING_OPTIONS                                                                            \
	{                                                                                          \
		.group = reading_group                                                             \
	}
#define READING_PROFILER_OPTION                                                                    \
	{                                                                                          \
		.group = reading_profiler_group                                                    \
	}

/* The event of a live profile; report has an option --event of its own. */
#define READING_EVENT_OPTION                                                                       \
	{                                                                                          \
		.group = reading_event_group                                                       \
	}
#define READING_NAMES_OPTION                                                                       \
	{                                                                                          \
		.group = reading_names_group                                                       \
	}
#define READING_DEBUG_OPTION	  DEBUG_OPTION(struct reading, debug)
#define READING_SELECTING_OPTIONS SELECTING_OPTIONS(struct reading, selecting)

#define READING_EXIT_STATUS                                                                        \
	"0 on success, 2 if the file cannot be read or the command was used wrongly."

/* Turns the options into those of a view. False, and a line on stderr, if they contradict each
 * other. */
bool reading_options(const char *command, const struct reading *r, struct view_options *o);
/* Opens each file, with names as r (which may be NULL) asks for them. On failure says why on stderr, closes those
 * already open and returns false. */
bool reading_open(const char *command, const struct reading *r, char **paths, int count,
		  struct store **stores);
/* The same for commands that also read profile databases: a path may be a database's folder, or
 * FOLDER@EPOCH. */
bool reading_open_any(const char *command, const struct reading *r, char **paths, int count,
		      struct store **stores);
/* Says on stderr what went wrong, if anything, and returns the exit status. */
int reading_status(const char *command, bool ok, const struct err *e);

#endif
