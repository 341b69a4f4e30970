/* SPDX-License-Identifier: MIT */
/*
 * When each line of memory was last touched, as guest_run goes on: guest.h has what it is for.
 *
 * Two direct-mapped tables hold the lines that were touched last, one those of loads, one those of stores.
 * Only an access that finds another line in its entry does anything: the line that leaves gets the
 * time, which is a count of such accesses. So a line that is used all along is never old, and the order
 * of two lines is wrong by at most the time that a line stays in a table without being touched.
 */
#ifndef GUEST_HISTORY_H
#define GUEST_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/guest.h"

#define HISTORY_NEAR 256 /* entries of a table */

struct history_times {
	uint32_t left[2]; /* after a load, a store; 0: it was in no table, or is there still */
};

/* In the low 2 GiB, where generated code names it by 32 bits. */
struct history {
	uint32_t near[2][HISTORY_NEAR]; /* lines; 0: none */
	uint32_t now;
	uint8_t *touched;	     /* a byte for each page of the guest (guest_touched) */
	struct history_times *times; /* of each line */
};

/* NULL: the host has no room for it. */
struct history *history_new(uint8_t *touched);
void history_free(struct history *h);

static inline void history_touch(struct history *h, uint64_t addr, bool store)
{
	const uint32_t line = (uint32_t)(addr >> GUEST_LINE_BITS);
	uint32_t *at = &h->near[store][line % HISTORY_NEAR];

	if (*at == line)
		return;
	h->times[*at].left[store] = ++h->now;
	*at = line;
}

/* Keeps times below 2^32: to be called before a run of at most HISTORY_RUN instructions. */
#define HISTORY_RUN (1ull << 30)
void history_age(struct history *h);

/* The lines touched last, at most `most`. */
void history_take(const struct history *h, size_t most, struct guest_lines *out);

#endif
