/* SPDX-License-Identifier: MIT */
/* INI files that a user writes: the one reader for machines and campaigns. */
#ifndef UTIL_INIFILE_H
#define UTIL_INIFILE_H

#include <stdbool.h>

#include "util/util.h"

/* One key = value. */
struct inifile_pair {
	const char *section, *key, *value;
	int line;
	bool
	    continued; /* the line begins with a space: it goes on with the value of the key above */
};

/* Takes a pair; false and e filled if it is wrong. The reader adds file and line to e. */
typedef bool inifile_take(void *ctx, const struct inifile_pair *p, struct err *e);

/* Reads text pair by pair; where names it in messages. */
bool inifile_parse(const char *text, const char *where, inifile_take *take, void *ctx,
		   struct err *e);
/* The content of a file of at most 4 MiB; NULL and e filled if it cannot be read. The caller frees. */
char *inifile_text(const char *path, struct err *e);

#endif
