/* SPDX-License-Identifier: MIT */
/* Walks the two record streams of a batch together: for a cycle record, the inst records that
 * commit in it. */
#ifndef ANALYSIS_WALK_H
#define ANALYSIS_WALK_H

#include "trace/record.h"
#include "util/util.h"

#define WALK_WIDTH_MAX 64 /* widest commit */
#define WALK_AHEAD     16 /* how many records ahead to prefetch */

struct walk {
	const struct rec_inst *insts;
	size_t count, at;
};

/* Records come from another core's cache, so they are prefetched. */
static inline void walk_fetch(const void *record)
{
	__builtin_prefetch(record);
}

/* The k-th instruction that commits in c. NULL if the streams are out of step. */
static inline const struct rec_inst *walk_next(struct walk *w, const struct rec_cycle *c,
					       unsigned k, struct err *e)
{
	while (w->at < w->count && !(w->insts[w->at].flags & RI_COMMITTED))
		w->at++;
	walk_fetch(&w->insts[w->at + WALK_AHEAD]);
	if (likely(w->at < w->count && w->insts[w->at].po == c->head_po + k))
		return &w->insts[w->at++];
	err_set(e, "cycle %llu commits instruction %llu, whose record is missing",
		(unsigned long long)c->cycle, (unsigned long long)(c->head_po + k));
	return NULL;
}

/*
 * The ncommit instructions that commit in c, as an array: in place, or, if squashed ones stand
 * between them, copied to room (WALK_WIDTH_MAX). NULL if the streams are out of step.
 */
static inline const struct rec_inst *walk_group(struct walk *w, const struct rec_cycle *c,
						struct rec_inst *room, struct err *e)
{
	const unsigned n = c->ncommit;
	while (w->at < w->count && !(w->insts[w->at].flags & RI_COMMITTED))
		w->at++;
	const struct rec_inst *first = &w->insts[w->at], *last = first + n - 1;
	/* Committed instructions come in program order: if the last is the n-th, all are there. */
	if (likely(w->at + n <= w->count && first->po == c->head_po &&
		   last->po == c->head_po + n - 1 && last->flags & RI_COMMITTED)) {
		w->at += n;
		return first;
	}
	for (unsigned k = 0; k < n; k++) {
		const struct rec_inst *r = walk_next(w, c, k, e);
		if (!r)
			return NULL;
		room[k] = *r;
	}
	return room;
}

#endif
