/* SPDX-License-Identifier: MIT */
/* Walks the two record streams of a batch together: for a cycle record, the inst records that
 * commit in it. */
#ifndef ANALYSIS_WALK_H
#define ANALYSIS_WALK_H

#include "trace/record.h"
#include "util/util.h"

#define WALK_WIDTH_MAX 64 /* widest commit */
#define WALK_AHEAD     16 /* records that are fetched before they are needed */

struct walk {
	const struct rec_inst *insts;
	size_t count, at;
};

/* Records come from another core's cache: whoever walks them asks for them early. */
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

/* Fills group with the ncommit instructions that commit in c. False if the streams are out of step.
 */
static inline bool walk_commit(struct walk *w, const struct rec_cycle *c,
			       const struct rec_inst **group, struct err *e)
{
	for (unsigned k = 0; k < c->ncommit; k++)
		if (unlikely(!(group[k] = walk_next(w, c, k, e))))
			return false;
	return true;
}

#endif
