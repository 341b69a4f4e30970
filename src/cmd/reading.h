/* SPDX-License-Identifier: MIT */
/* What the commands that read a profile share: the options of how to print, and opening the file.
 */
#ifndef CMD_READING_H
#define CMD_READING_H

#include <stddef.h>

#include "cmd/cmd.h"
#include "store/store.h"
#include "view/view.h"
#include "words/words.h"

/* First member of the values of every reading command. */
struct reading {
	bool json, csv;
	uint64_t width, limit;
	const char *profiler;
};

#define READING_OPTIONS                                                                            \
	{ .name = "json",                                                                          \
	  .type = CMD_SWITCH,                                                                      \
	  .offset = offsetof(struct reading, json),                                                \
	  .help = "Prints JSON with stable keys" },                                                \
	    { .name = "csv",                                                                       \
	      .type = CMD_SWITCH,                                                                  \
	      .offset = offsetof(struct reading, csv),                                             \
	      .help = "Prints a table as comma-separated values" },                                \
	    { .name = "width",                                                                     \
	      .type = CMD_NUMBER,                                                                  \
	      .offset = offsetof(struct reading, width),                                           \
	      .range = { 1, 1000, NUMBER_PLAIN },                                                  \
	      .arg = "COLUMNS",                                                                    \
	      .help = "Columns to use; the terminal's by default, 100 in a pipe" },                \
	{                                                                                          \
		.name = "limit", .type = CMD_NUMBER, .letter = 'n',                                \
		.offset = offsetof(struct reading, limit), .arg = "N",                             \
		.range = { 1, 1000000, NUMBER_DECIMAL },                                           \
		.help = "How many rows a list has, 10 by default"                                  \
	}

#define READING_PROFILER_OPTION                                                                    \
	{                                                                                          \
		.name = "profiler", .type = CMD_TEXT,                                              \
		.offset = offsetof(struct reading, profiler), .arg = "NAME",                       \
		.help = "Whose profile: oracle (the golden reference, default)" WORDS_PROFILERS(   \
		    WORDS_COMMA)                                                                   \
	}

#define READING_EXIT_STATUS                                                                        \
	"0 on success, 2 if the file cannot be read or the command was used wrongly."

/* View options from the command line; false (and a line on stderr) if they contradict each other.
 */
bool reading_options(const char *command, const struct reading *r, struct view_options *o);
/* Opens each file; on failure says why, closes what was opened and returns false. */
bool reading_open(const char *command, char **paths, int count, struct store **stores);
/* Says what went wrong, if anything, and returns the exit status. */
int reading_status(const char *command, bool ok, const struct err *e);

#endif
