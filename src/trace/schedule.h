/* SPDX-License-Identifier: MIT */
/*
 * Which stretches of a run an analysis looks at, if it does not look at all of it. Of every one_in
 * fragments one is chosen, by its place and the seed alone. So a source need not make records of
 * the others, and a reader finds the same stretches in a trace of everything.
 *
 * A stretch begins some instructions before its fragment, to warm up the analysis's state.
 */
#ifndef TRACE_SCHEDULE_H
#define TRACE_SCHEDULE_H

#include "util/util.h"

struct schedule {
	uint32_t one_in; /* 0: no schedule, everything is looked at */
	uint32_t insts;	 /* of a fragment */
	uint32_t lead;	 /* instructions before it */
	uint64_t seed;
};

/* Numbers of instructions in program order (rec_inst.po). */
struct stretch {
	uint64_t lead; /* first of the stretch */
	uint64_t from; /* first of the fragment */
	uint64_t end;  /* after its last */
};

/* The stretch that is chosen from a group of one_in fragments. */
static inline struct stretch schedule_stretch(const struct schedule *s, uint64_t group)
{
	const uint64_t fragment = group * s->one_in + hash_u64(s->seed + group) % s->one_in;
	struct stretch t = { .from = fragment * s->insts + 1 };
	t.lead = t.from > s->lead ? t.from - s->lead : 1;
	t.end = t.from + s->insts;
	return t;
}

/* The first stretch that ends after po. */
static inline struct stretch schedule_next(const struct schedule *s, uint64_t po)
{
	uint64_t group = (po - 1) / ((uint64_t)s->insts * s->one_in);
	struct stretch t = schedule_stretch(s, group);
	return po < t.end ? t : schedule_stretch(s, group + 1);
}

static inline bool schedule_same(const struct schedule *a, const struct schedule *b)
{
	return a->one_in == b->one_in && a->insts == b->insts && a->lead == b->lead &&
	       a->seed == b->seed;
}

#endif
