/* SPDX-License-Identifier: MIT */
/* Walks the two record streams of a batch together: for a cycle record, the inst records that
 * commit in it. */
#ifndef ANALYSIS_WALK_H
#define ANALYSIS_WALK_H

#include "trace/record.h"
#include "util/util.h"

#define WALK_WIDTH_MAX 64 /* widest commit */

struct walk {
	const struct rec_inst *insts;
	size_t count, at;
};

/* Fills group with the ncommit instructions that commit in c. False if the streams are out of step.
 */
static inline bool walk_commit(struct walk *w, const struct rec_cycle *c,
			       const struct rec_inst **group, struct err *e)
{
	for (unsigned k = 0; k < c->ncommit; k++) {
		while (w->at < w->count && !(w->insts[w->at].flags & RI_COMMITTED))
			w->at++;
		if (unlikely(w->at == w->count || w->insts[w->at].po != c->head_po + k))
			return err_set(
			    e, "cycle %llu commits instruction %llu, whose record is missing",
			    (unsigned long long)c->cycle, (unsigned long long)(c->head_po + k));
		group[k] = &w->insts[w->at++];
	}
	return true;
}

#endif
