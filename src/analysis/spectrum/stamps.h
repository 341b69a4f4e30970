/* SPDX-License-Identifier: MIT */
/*
 * When the last committed instructions were dispatched and committed, on the run's machine and on
 * its twin. Both stamps ascend in program order, so lookups by cycle are binary searches. The run's
 * stamps may come before the twin's and wait for them in the ring.
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

#include "trace/record.h"

struct stamp {
	uint64_t dispatch, commit;	     /* of the run */
	uint64_t twin_dispatch, twin_commit; /* of its twin */
};

struct stamps {
	struct stamp *at; /* by po, a ring */
	size_t mask;
	size_t kept;	     /* how many instructions are held at most */
	uint64_t first, end; /* those held: [first, end) */
	uint64_t ahead;	     /* [end, ahead): those that wait for their twin's stamps */
	bool forgot;	     /* older ones were dropped; the last of them is still in the ring */
	int64_t base;	     /* lag before the first instruction of the region */
};

/* Holds capacity instructions, rounded up to a power of two. */
void stamps_init(struct stamps *s, size_t capacity);
void stamps_free(struct stamps *s);
/* Begins a region with instruction po. */
void stamps_begin(struct stamps *s, uint64_t po);
static inline bool stamps_any(const struct stamps *s)
{
	return s->end != s->first;
}
static inline int64_t stamp_lag(const struct stamp *s)
{
	return (int64_t)(s->commit - s->twin_commit);
}
/* Makes room for n more instructions of the run. */
void stamps_room(struct stamps *s, size_t n);
/* The next instruction of the run, in program order. There must be room. */
static inline void stamps_run(struct stamps *s, uint64_t dispatch, uint64_t commit)
{
	struct stamp *at = &s->at[s->ahead++ & s->mask];

	at->dispatch = dispatch;
	at->commit = commit;
}
/* The twin's stamps of the next n instructions, which the run's must be ahead of. Takes those before
 * the first that is not the next one; returns how many. */
size_t stamps_twin(struct stamps *s, const struct rec_twin *twins, size_t n);
/* The stamp of an instruction that is held, or, if it is older, of the last that was dropped. */
static inline const struct stamp *stamps_at(const struct stamps *s, uint64_t po)
{
	return &s->at[(po < s->first ? s->first - 1 : po) & s->mask];
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
