/* SPDX-License-Identifier: MIT */
/* What the commands that look into a trace share: opening it, and which part of it. */
#ifndef CMD_WINDOW_H
#define CMD_WINDOW_H

#include "cmd/cmd.h"
#include "trace/export.h"
#include "trace/trigger.h"

/* First member of the values of such a command. */
struct window_options {
	const char *from;
	uint64_t count;
	bool salvage;
};

#define WINDOW_OPTIONS                                                                             \
	{ .name = "from",                                                                          \
	  .type = CMD_TEXT,                                                                        \
	  .offset = offsetof(struct window_options, from),                                         \
	  .check = trigger_check,                                                                  \
	  .arg = "N",                                                                              \
	  .help = "Where to begin: the number of an instruction (as in 'po'), or cycle:N; the "    \
		  "trace's first instruction by default." },                                       \
	    { .name = "count",                                                                     \
	      .type = CMD_NUMBER,                                                                  \
	      .offset = offsetof(struct window_options, count),                                    \
	      .range = { 1, 0, NUMBER_DECIMAL },                                                   \
	      .arg = "N",                                                                          \
	      .letter = 'n',                                                                       \
	      .help = "How many committed instructions; after --from cycle:N, how many cycles." }, \
	{                                                                                          \
		.name = "salvage", .type = CMD_SWITCH,                                             \
		.offset = offsetof(struct window_options, salvage),                                \
		.help = "Uses what is readable of a truncated or damaged file."                    \
	}

/* Opens the trace and reads the window, at most max instructions; says on stderr what is wrong. */
struct trace_reader *window_open(const char *command, const char *path,
				 const struct window_options *o, uint64_t default_count, size_t max,
				 struct window_records *out);

#endif
