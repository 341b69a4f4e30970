/* SPDX-License-Identifier: MIT */
/*
 * A cheap measure of a program's locality: tables of the lines and pages that were touched last,
 * direct-mapped, of growing size. A load or store that finds another line in its entry of one table goes
 * on to the next one. The counts go with the misses of caches and TLBs of these sizes, whatever
 * they are like, and need no machine.
 *
 * Accesses relative to the stack pointer do not count (isa_has_locality); of others the first byte does. What does not execute (a bad address) does not count. The
 * same sequence of accesses gives the same counts in the engine, whose generated code works on these
 * tables, and from records.
 */
#ifndef TRACE_LOCALITY_H
#define TRACE_LOCALITY_H

#include <stdint.h>
#include <string.h>

#define LOCALITY_LINE_BITS 6
#define LOCALITY_PAGE_BITS 12

/* Entries: 16 KiB, 512 KiB and 4 MiB of lines; 256 KiB and 4 MiB of pages. */
#define LOCALITY_LINES_0 256
#define LOCALITY_LINES_1 8192
#define LOCALITY_LINES_2 65536
#define LOCALITY_PAGES_0 64
#define LOCALITY_PAGES_1 1024
#define LOCALITY_COUNTS	 5

/* An entry has the number of a line or a page; guest addresses are short enough, and line 0 is never
 * touched. */
struct locality {
	uint32_t lines_0[LOCALITY_LINES_0], lines_1[LOCALITY_LINES_1], lines_2[LOCALITY_LINES_2];
	uint32_t pages_0[LOCALITY_PAGES_0], pages_1[LOCALITY_PAGES_1];
	uint64_t counts[LOCALITY_COUNTS]; /* of lines, then of pages, that were not there */
};

/* Puts n into its entry of a table; 1 if it was not there. */
static inline uint64_t locality_put(uint32_t *table, uint32_t entries, uint32_t n)
{
	uint32_t *at = &table[n & (entries - 1)];
	uint64_t other = *at != n;

	*at = n;
	return other;
}

static inline void locality_touch(struct locality *l, uint64_t addr)
{
	uint32_t line = (uint32_t)(addr >> LOCALITY_LINE_BITS);
	uint32_t page = line >> (LOCALITY_PAGE_BITS - LOCALITY_LINE_BITS);

	if (__builtin_expect(!locality_put(l->lines_0, LOCALITY_LINES_0, line), 1))
		return;
	l->counts[0]++;
	if (locality_put(l->lines_1, LOCALITY_LINES_1, line)) {
		l->counts[1]++;
		l->counts[2] += locality_put(l->lines_2, LOCALITY_LINES_2, line);
	}
	if (locality_put(l->pages_0, LOCALITY_PAGES_0, page)) {
		l->counts[3]++;
		l->counts[4] += locality_put(l->pages_1, LOCALITY_PAGES_1, page);
	}
}

/* The counts since the last call. */
static inline void locality_take(struct locality *l, uint64_t counts[LOCALITY_COUNTS])
{
	memcpy(counts, l->counts, sizeof(l->counts));
	memset(l->counts, 0, sizeof(l->counts));
}

#endif
