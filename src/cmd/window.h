/* SPDX-License-Identifier: MIT */
/* What the commands that show part of a trace share: opening it, and which part. */
#ifndef CMD_WINDOW_H
#define CMD_WINDOW_H

#include "cmd/cmd.h"
#include "trace/export.h"

/* Must be the first member of a command's values. */
struct window_options {
	const char *from;
	uint64_t count;
	bool salvage;
};

/* Row for the option table of a command. */
extern const struct cmd_option window_group[];
#define WINDOW_OPTIONS                                                                             \
	{                                                                                          \
		.group = window_group                                                              \
	}

/* Opens the trace and reads the window, at most max instructions. NULL, and a line on stderr, if
 * that fails. */
struct trace_reader *window_open(const char *command, const char *path,
				 const struct window_options *o, uint64_t default_count, size_t max,
				 struct window_records *out);

/* Reads a window of a trace that is open. False, and e filled, if there is nothing in it. */
bool window_read_at(struct trace_reader *r, const char *path, const struct window_options *o,
		    uint64_t default_count, size_t max, struct window_records *out, struct err *e);

#endif
