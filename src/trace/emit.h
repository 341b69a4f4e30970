/* SPDX-License-Identifier: MIT */
/*
 * The interface through which the core writes its records. The core fills slots of the current
 * batch in place; the listener (the bus, or a test) supplies the memory and takes full batches.
 *
 * A cycle is written in this order: emit_reserve() for all instructions that may leave in it, then
 * emit_insts() for those that do, then the cycle's own record, which counts from emit_cycle() on. A
 * batch is handed over only by these functions and between two records, so no inst record is ever
 * in a later batch than the cycle in which it left: invariant R3 of record.h holds by construction.
 */
#ifndef TRACE_EMIT_H
#define TRACE_EMIT_H

#include "trace/record.h"
#include "trace/schedule.h"

#include <stdbool.h>
#include <stddef.h>

enum trace_want {
	WANT_CYCLES = 1 << 0,	 /* cycle records */
	WANT_INSTS = 1 << 1,	 /* inst records of committed instructions */
	WANT_SQUASHED = 1 << 2,	 /* inst records of squashed instructions, too */
	WANT_PRODUCERS = 1 << 3, /* prod, prod_mem, prod_line filled in */
	WANT_LATENCIES = 1 << 4, /* lat_* filled in */
	WANT_FETCH = 1 << 5, /* fetch_seq, fetch_po, fetch_pc and dispatch_pc in cycle records */
	/* Of inst records only the fields before the notes, and not dispatch_stall; the notes are
	 * not even written. Holds only if every listener asks for it. */
	WANT_BRIEF = 1 << 6,
	/* At least the inst records of those squashed instructions that suffered an event or were
	 * mispredicted. */
	WANT_SQUASHED_EVENTS = 1 << 7,
	/* Only numbers: of cycle records only cycle and repeat are written, and each stands for
	 * as many cycles as it can; inst records have no memory. Holds only if every listener
	 * asks for it. */
	WANT_EMPTY = 1 << 8,
	/* In cycle records what the oldest instruction waits for and which misses are
	 * outstanding (RC_HEAD_… but DONE, RC_…_OUT). */
	WANT_HEAD = 1 << 9,
	WANT_MISSES = 1 << 10, /* miss records */
	WANT_TWIN = 1 << 11,   /* twin records, from a source that has a twin */
	/* Of inst records only po, flags (with RI_STAMPS), fetch, which is the cycle of dispatch, and
	 * commit, which counts from there: one cache line. Of cycle records as WANT_COUNTS. Holds only
	 * if every listener asks for it. */
	WANT_STAMPS = 1 << 12,
	/* Issue records of all committed instructions; inst records only of those with one of
	 * REC_ISSUE_EVENTS, and of these only po, pc, flags, psv, fetch, issue and commit, those latencies of
	 * the fetch that an event of it tells of, complete if it was mispredicted, and in seq the number of
	 * its issue record in the batch; of cycle records as WANT_COUNTS. Holds only if every listener asks
	 * for it and none wants squashed instructions, and not if there are regions. A batch without issue
	 * records has whole inst records. */
	WANT_ISSUES = 1 << 13,
	/* Of cycle records only cycle and repeat, and each stands for as many cycles as it can.
	 * Holds only if every listener asks for it. */
	WANT_COUNTS = 1 << 14,
	WANT_LESS = WANT_BRIEF | WANT_EMPTY | WANT_STAMPS | WANT_ISSUES | WANT_COUNTS,
};

/* No more misses than this end in one cycle: MSHRs of both L1 caches, and TLB misses. */
#define EMIT_MISSES 1024

struct emit {
	struct rec_cycle *cycles;
	struct rec_inst *insts;
	struct rec_miss *misses; /* room for max_misses + EMIT_MISSES */
	struct rec_twin *twins;
	struct rec_issue *issues;
	size_t ncycles, ninsts;		 /* filled so far */
	size_t nmisses, ntwins, nissues; /* filled so far */
	size_t max_cycles, max_insts;	 /* room */
	size_t max_misses, max_twins;	 /* room */
	size_t
	    max_issues; /* room: with WANT_ISSUES for what commits in a cycle; never more than max_insts */
	unsigned wants;		      /* enum trace_want; 0: nobody listens, nothing is computed */
	struct schedule schedule;     /* records outside of its stretches need not be made */
	void (*full)(struct emit *e); /* hands the batch over and installs an empty one; may wait */
	bool stop; /* set in full(): the listener cannot go on, and the run should end soon */
};

/* Hands over a batch that has no room for another inst or twin record. */
void emit_full_mid_cycle(struct emit *e, struct rec_cycle **begun);

/* True if one more cycle record and ninsts inst records fit into the batch. */
static inline bool emit_has_room(const struct emit *e, size_t ninsts)
{
	return e->ncycles < e->max_cycles && e->ninsts + ninsts <= e->max_insts &&
	       e->nmisses <= e->max_misses;
}
static inline void emit_reserve(struct emit *e, size_t ninsts)
{
	if (__builtin_expect(!emit_has_room(e, ninsts), 0))
		e->full(e);
}
/*
 * Slots for inst records: at least one, at most `most`; *n says how many. All must be filled. If
 * the batch is full it is handed over before its cycle has ended, and the cycle record that has
 * been begun (*begun, if not NULL) moves to the next batch.
 */
static inline struct rec_inst *emit_insts(struct emit *e, size_t most, struct rec_cycle **begun,
					  size_t *n)
{
	if (__builtin_expect(e->ninsts == e->max_insts, 0))
		emit_full_mid_cycle(e, begun);

	struct rec_inst *first = &e->insts[e->ninsts];
	const size_t room = e->max_insts - e->ninsts;

	*n = most < room ? most : room;
	e->ninsts += *n;
	return first;
}
/* Counts instructions for listeners that want only their number (WANT_EMPTY). */
static inline void emit_count_insts(struct emit *e, size_t n)
{
	e->ninsts += n;
}
/* The slot of one more inst record. There must be room. */
static inline struct rec_inst *emit_inst(struct emit *e)
{
	return &e->insts[e->ninsts++];
}
static inline void emit_copy_inst(struct emit *e, const struct rec_inst *r)
{
	if (e->wants & WANT_EMPTY)
		emit_count_insts(e, 1);
	else
		*emit_inst(e) = *r;
}
/* The slot in which the next cycle record is filled in. There must be room. */
static inline struct rec_cycle *emit_begin_cycle(const struct emit *e)
{
	return &e->cycles[e->ncycles];
}
/* Counts the cycle record that was begun, or one that is written now. There must be room. */
static inline struct rec_cycle *emit_cycle(struct emit *e)
{
	return &e->cycles[e->ncycles++];
}
/* The last finished cycle record, if it is still in this batch; else NULL. */
static inline struct rec_cycle *emit_last_cycle(const struct emit *e)
{
	return e->ncycles ? &e->cycles[e->ncycles - 1] : NULL;
}
/* The slot of a miss record, if misses are wanted; at most EMIT_MISSES between two calls of
 * emit_reserve. */
static inline struct rec_miss *emit_miss(struct emit *e)
{
	return &e->misses[e->nmisses++];
}
/* The slot of a twin record, if a twin is wanted. A full batch is handed over before its cycle has
 * ended, as in emit_insts(). */
static inline struct rec_twin *emit_twin(struct emit *e, struct rec_cycle **begun)
{
	if (__builtin_expect(e->ntwins == e->max_twins, 0))
		emit_full_mid_cycle(e, begun);
	return &e->twins[e->ntwins++];
}
/* Slots for several, as emit_insts() gives them for inst records. */
static inline struct rec_twin *emit_twins(struct emit *e, size_t most, struct rec_cycle **begun,
					  size_t *n)
{
	if (__builtin_expect(e->ntwins == e->max_twins, 0))
		emit_full_mid_cycle(e, begun);

	struct rec_twin *first = &e->twins[e->ntwins];
	const size_t room = e->max_twins - e->ntwins;

	*n = most < room ? most : room;
	e->ntwins += *n;
	return first;
}

#endif
