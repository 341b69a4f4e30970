/* SPDX-License-Identifier: MIT */
/*
 * Misses of a run, by name, so that another run can have hits in their place. A miss is named by
 * what its record says (struct rec_miss): kind, cycle of its begin, address of its line or page. As
 * text: KIND:CYCLE:ADDRESS, with commas between several.
 */
#ifndef TRACE_HITS_H
#define TRACE_HITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct hit {
	uint64_t begin;
	uint64_t addr;
	uint8_t kind; /* enum miss_kind */
};

/* Appends the misses that the text names to *hits, an array of *count that is grown. */
bool hits_parse(const char *text, struct hit **hits, size_t *count, struct err *e);
/* Whether the text names misses; for cmd_option.check. */
bool hits_check(const char *text, struct err *e);
/* The text; the caller frees. */
char *hits_text(const struct hit *hits, size_t count);

#endif
