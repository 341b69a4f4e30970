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
static inline bool stamps_any(const struct stamps *s)
{
	return s->end != s->first;
}
static inline int64_t stamp_lag(const struct stamp *s)
{
	return (int64_t)(s->commit - s->twin_commit);
}
/* The next instruction in program order. */
static inline void stamps_add(struct stamps *s, uint64_t dispatch, uint64_t commit,
			      uint64_t twin_dispatch, uint64_t twin_commit)
{
	struct stamp *at = &s->at[s->end & s->mask];
	/* In a region that starts with the run both clocks begin at the run's start. Another
	 * region begins, on both machines, as many cycles before its first commit as it does on
	 * the run's. */
	if (!stamps_any(s))
		s->base = s->end == 1 ? 0 : (int64_t)(commit - twin_commit);
	if (s->end - s->first > s->mask) {
		s->before = s->at[s->first & s->mask];
		s->forgot = true;
		s->first++;
	}
	*at = (struct stamp){ dispatch, commit, twin_dispatch, twin_commit };
	s->end++;
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
