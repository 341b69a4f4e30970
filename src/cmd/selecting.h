/* SPDX-License-Identifier: MIT */
/* Options that say what to read of a profile database: report, annotate, diff, stats and db. */
#ifndef CMD_SELECTING_H
#define CMD_SELECTING_H

#include "cmd/cmd.h"
#include "collect/db.h"

struct selecting {
	uint64_t epoch, cpu;
	const char *since, *until, *machine, *image, *process, *container, *user;
};

extern const struct cmd_option selecting_group[];
/* A row of a command's option table; the command's values have a struct selecting there. */
#define SELECTING_OPTIONS(values, member)                                                          \
	{                                                                                          \
		.group = selecting_group, .offset = offsetof(values, member)                       \
	}

/* A selection and what it points to. */
struct selected {
	struct db_selection selection;
	uint32_t uid;
	uint16_t cpu;
};
/* False, and e, if an option makes no sense. */
bool selecting_make(const struct selecting *s, struct selected *out, struct err *e);
/* Whether any of the options was given. */
bool selecting_given(const struct selecting *s);

/* "90s", "15m", "6h", "7d", "2w" in nanoseconds. */
bool selecting_duration(const char *text, uint64_t *ns);
/* For the option table: a duration, or e says what one is. */
bool selecting_check_duration(const char *text, struct err *e);

#endif
