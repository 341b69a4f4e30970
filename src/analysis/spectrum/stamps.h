/* SPDX-License-Identifier: MIT */
/*
 * When the last committed instructions were dispatched and committed, on the run's machine and on
 * its twin. Both stamps ascend in program order, so lookups by cycle are binary searches.
 *
 * The ring is large enough for all instructions that dispatch during one miss: a miss is handled
 * when its data have come, and needs the instructions at its begin. If a miss takes longer than
 * that, it gets the oldest instruction that is kept.
 */
#ifndef ANALYSIS_SPECTRUM_STAMPS_H
#define ANALYSIS_SPECTRUM_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stamp {
	uint64_t dispatch, commit;	     /* of the run */
	uint64_t twin_dispatch, twin_commit; /* of its twin */
};

struct stamps {
	struct stamp *at; /* by po, a ring */
	size_t mask;
	uint64_t first, end; /* those held: [first, end) */
	bool forgot;	     /* older ones were dropped: the last of them is `before` */
	struct stamp before;
	int64_t base; /* lag before the first instruction of the region */
};

void stamps_init(struct stamps *s, size_t capacity);
void stamps_free(struct stamps *s);
/* Begins a region with instruction po. */
void stamps_begin(struct stamps *s, uint64_t po);
/* The next instruction in program order. */
void stamps_add(struct stamps *s, const struct stamp *stamp);

static inline bool stamps_any(const struct stamps *s)
{
	return s->end != s->first;
}
/* The stamp of an instruction that is held, or of `before`, if there is one. */
static inline const struct stamp *stamps_at(const struct stamps *s, uint64_t po)
{
	return po < s->first ? &s->before : &s->at[po & s->mask];
}
static inline const struct stamp *stamps_last(const struct stamps *s)
{
	return stamps_at(s, s->end - 1);
}
/* The youngest instruction dispatched, or committed, before a cycle; first - 1 if there is none. */
uint64_t stamps_dispatched(const struct stamps *s, uint64_t cycle);
uint64_t stamps_committed(const struct stamps *s, uint64_t cycle);
/* How far the run is behind its twin when po commits. For po before the region's first: base. */
int64_t stamps_lag(const struct stamps *s, uint64_t po);

#endif
