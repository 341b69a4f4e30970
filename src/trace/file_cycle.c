/* SPDX-License-Identifier: MIT */
/*
 * Cycle records in a block of a trace file.
 *
 * The block's instructions are known when its cycles are coded, also those that leave long after
 * the cycle in question. Their stamps say how many were fetched, dispatched, issued and committed
 * in a cycle, which one stood at the head of the ROB, which one waited at dispatch, where fetch
 * was, and what was flushed. Only what does not follow from that costs bytes; at the end of a
 * block, where the instructions in flight belong to the next one, predictions get worse.
 */
#include "trace/file_codec_int.h"

#include <stdlib.h>
#include <string.h>

struct cycle_coder {
	struct rec_cycle prev;
	uint64_t base;
	size_t span;		/* moments[0 … span) are cycles base … */
	uint64_t next_head;	/* the oldest not yet committed */
	uint64_t next_dispatch; /* seq */
	bool squashed;		/* the last record's cycle squashed something */
	uint32_t squashed_dispatched;
	uint8_t dispatch_stall[1024], fetch_stall[256];
};

static inline uint8_t bump(uint8_t n)
{
	return n < UINT8_MAX ? n + 1 : n;
}

static struct moment *moment_at(const struct codec *c, const struct cycle_coder *k, uint64_t cycle)
{
	uint64_t i = cycle - k->base;
	return cycle >= k->base && i < k->span ? &c->moments[i] : NULL;
}

static const struct mini *by_seq(const struct codec *c, uint64_t seq)
{
	uint64_t i = seq - c->first_seq;
	return seq >= c->first_seq && i < c->nseq && c->by_seq[i] ? &c->minis[c->by_seq[i] - 1]
								  : NULL;
}

static const struct mini *next_right(const struct codec *c, uint64_t seq)
{
	uint64_t i = seq - c->first_seq;
	return seq >= c->first_seq && i < c->nseq && c->next_right[i]
		   ? &c->minis[c->next_right[i] - 1]
		   : NULL;
}

static const struct mini *by_po(const struct codec *c, uint64_t po)
{
	uint64_t i = po - c->first_po;
	return po >= c->first_po && i < c->npo && c->by_po[i] ? &c->minis[c->by_po[i] - 1] : NULL;
}

static void index_numbers(struct codec *c)
{
	uint64_t seq0 = UINT64_MAX, seq1 = 0, po0 = UINT64_MAX, po1 = 0;
	for (size_t i = 0; i < c->ninsts; i++) {
		const struct mini *m = &c->minis[i];
		seq0 = min_u64(seq0, m->seq);
		seq1 = max_u64(seq1, m->seq);
		if (m->flags & RI_COMMITTED) {
			po0 = min_u64(po0, m->po);
			po1 = max_u64(po1, m->po);
		}
	}
	c->first_seq = seq0;
	c->first_po = po0;
	c->nseq =
	    c->ninsts && seq1 - seq0 < INDEX_FACTOR * c->ninsts ? (size_t)(seq1 - seq0) + 1 : 0;
	c->npo = po0 <= po1 && po1 - po0 < INDEX_FACTOR * c->ninsts ? (size_t)(po1 - po0) + 1 : 0;
	if (c->nseq)
		memset(c->by_seq, 0, c->nseq * sizeof(*c->by_seq));
	if (c->npo)
		memset(c->by_po, 0, c->npo * sizeof(*c->by_po));
	for (size_t i = 0; i < c->ninsts; i++) {
		const struct mini *m = &c->minis[i];
		if (c->nseq)
			c->by_seq[m->seq - seq0] = (uint32_t)i + 1;
		if (c->npo && m->flags & RI_COMMITTED)
			c->by_po[m->po - po0] = (uint32_t)i + 1;
	}
	uint32_t next = 0;
	for (size_t i = c->nseq; i-- > 0;) {
		if (c->by_seq[i] && c->minis[c->by_seq[i] - 1].flags & RI_COMMITTED)
			next = c->by_seq[i];
		c->next_right[i] = next;
	}
}

static void index_moments(struct codec *c, struct cycle_coder *k)
{
	uint64_t end = k->base;
	for (size_t i = 0; i < c->ninsts; i++)
		end = max_u64(end, c->minis[i].leave);
	k->span = (size_t)min_u64(end - k->base + (end < UINT64_MAX), MOMENTS_MAX);
	if (k->span > c->nmoments) {
		free(c->moments);
		c->nmoments = k->span;
		c->moments = x_malloc(c->nmoments * sizeof(*c->moments));
	}
	if (k->span)
		memset(c->moments, 0, k->span * sizeof(*c->moments));
	for (size_t i = 0; i < c->ninsts; i++) {
		const struct mini *m = &c->minis[i];
		struct moment *at;
		if ((at = moment_at(c, k, m->fetch))) {
			at->nfetch = bump(at->nfetch);
			at->any = 1;
		}
		if ((at = moment_at(c, k, m->dispatch))) {
			at->ndispatch = bump(at->ndispatch);
			at->any = 1;
			if (!at->dispatch || m->seq < c->minis[at->dispatch - 1].seq)
				at->dispatch = (uint32_t)i + 1;
		}
		if ((at = moment_at(c, k, m->issue))) {
			at->nissue = bump(at->nissue);
			at->any = 1;
		}
		if ((at = moment_at(c, k, m->complete)))
			at->any = 1;
		if (!(at = moment_at(c, k, m->leave)))
			continue;
		at->any = 1;
		if (m->flags & RI_COMMITTED) {
			at->ncommit = bump(at->ncommit);
		} else {
			at->nsquash += m->dispatch != UINT64_MAX;
			if (!at->squash || m->po < c->minis[at->squash - 1].po)
				at->squash = (uint32_t)i + 1;
		}
	}
}

static uint64_t predict_repeat(const struct codec *c, const struct cycle_coder *k, uint64_t cycle)
{
	const struct moment *at = moment_at(c, k, cycle);
	uint64_t n = 1;
	if (!at || at->any)
		return 1;
	for (at++; at < c->moments + k->span && !at->any; at++)
		n++;
	return at < c->moments + k->span ? n : 1;
}

/* The instruction that dispatches first in this cycle, or the one that waits; NULL: none known. */
static const struct mini *predict_dispatch(const struct codec *c, struct cycle_coder *k,
					   uint64_t cycle, const struct moment *at)
{
	if (at && at->dispatch)
		return &c->minis[at->dispatch - 1];
	const struct mini *m;
	while ((m = by_seq(c, k->next_dispatch)) && m->dispatch == UINT64_MAX && m->leave <= cycle)
		k->next_dispatch++;
	return m && m->fetch + c->meta.frontend_depth <= cycle && m->leave > cycle ? m : NULL;
}

static void predict_flush(const struct codec *c, const struct cycle_coder *k,
			  const struct moment *at, struct rec_cycle *p)
{
	const struct rec_cycle *prev = &k->prev;
	p->flush_po = prev->flush_po;
	p->flush_pc = prev->flush_pc;
	p->flush_cause =
	    prev->ndispatch && !(prev->flags & RC_DISPATCH_WRONG) ? FLUSH_NONE : prev->flush_cause;
	const struct mini *squashed = at && at->squash ? &c->minis[at->squash - 1] : NULL;
	const struct mini *last = at && at->ncommit ? by_po(c, p->head_po + at->ncommit - 1) : NULL;
	const struct mini *by = squashed ? by_po(c, squashed->po - 1) : NULL;
	unsigned cause = FLUSH_NONE;
	if (last && last->flags & RI_FLUSHES && last->leave == p->cycle) {
		by = last;
		cause = by->flags & RI_EXCEPTION ? FLUSH_EXCEPTION : FLUSH_CSR;
	} else if (by && by->flags & RI_MISPREDICT && by->complete == p->cycle) {
		cause = FLUSH_MISPREDICT;
	} else if (squashed && squashed->po == p->head_po && (by = by_po(c, p->head_po))) {
		cause = by->flags & RI_EXCEPTION ? FLUSH_EXCEPTION : FLUSH_ORDER;
	}
	if (cause != FLUSH_NONE) {
		p->flush_po = by->po;
		p->flush_pc = by->pc;
		p->flush_cause = (uint8_t)cause;
		p->flags |= RC_FLUSH;
	}
}

static bool is_wrong(const struct mini *m)
{
	return m && !(m->flags & RI_COMMITTED);
}

static unsigned predict_flags(const struct codec *c, const struct cycle_coder *k,
			      const struct rec_cycle *r, const struct mini *dispatch)
{
	unsigned flags = k->prev.flags & (RC_SQ_FULL | RC_DMISS_OUT | RC_LONG_DMISS_OUT);
	const struct mini *head = r->head_po ? by_po(c, r->head_po) : NULL;
	const struct mini *fetched = by_seq(c, r->fetch_seq - 1);
	if (!r->rob_used)
		flags |= RC_ROB_EMPTY;
	if (r->rob_used >= c->meta.rob_entries)
		flags |= RC_ROB_FULL;
	if (fetched && fetched->leave >= r->cycle &&
	    (is_wrong(fetched) ||
	     (fetched->flags & RI_MISPREDICT && fetched->complete >= r->cycle)))
		flags |= RC_WRONG_PATH;
	if (dispatch && is_wrong(dispatch))
		flags |= RC_DISPATCH_WRONG;
	if (head && head->complete <= r->cycle)
		flags |= RC_HEAD_DONE;
	else if (head && head->flags & RI_LOAD && head->issue < r->cycle && head->dlevel > LEVEL_L1)
		flags |= head->dlevel == LEVEL_MEM ? RC_HEAD_LONG_DMISS : RC_HEAD_L1MISS;
	return flags;
}

static inline __attribute__((always_inline)) void
code_cycle(struct codec *c, struct cycle_coder *k, struct rec_cycle *r, const bool encoding)
{
	const unsigned first = COLUMN_CYCLE;
	const struct rec_cycle *prev = &k->prev;
	uint32_t mask = 0;

	if (!encoding)
		for (int i = 0; i < 4; i++)
			mask |= (uint32_t)column_get_byte(c, &c->column[COLUMN_CYCLE_MASK + i])
				<< 8 * i;

	DIFF(C_CYCLE, r->cycle, prev->cycle + prev->repeat);
	DIFF(C_REPEAT, r->repeat, predict_repeat(c, k, r->cycle));
	const struct moment *at = r->repeat == 1 ? moment_at(c, k, r->cycle) : NULL;
	DIFF(C_ROB_USED, r->rob_used,
	     prev->rob_used + prev->ndispatch - prev->ncommit - k->squashed_dispatched);
	DIFF(C_HEAD_PO, r->head_po, r->rob_used ? k->next_head : 0);
	const struct mini *head = r->head_po ? by_po(c, r->head_po) : NULL;
	DIFF(C_HEAD_PC, r->head_pc,
	     head					 ? head->pc
	     : r->head_po && r->head_po == prev->head_po ? prev->head_pc
							 : 0);
	DIFF(C_NCOMMIT, r->ncommit, at ? at->ncommit : 0);
	DIFF(C_NDISPATCH, r->ndispatch, at ? at->ndispatch : 0);
	DIFF(C_NFETCH, r->nfetch, at ? at->nfetch : 0);
	DIFF(C_NISSUE, r->nissue, at ? at->nissue : 0);

	const struct mini *dispatch = predict_dispatch(c, k, r->cycle, at);
	DIFF(C_DISPATCH_SEQ, r->dispatch_seq, dispatch ? dispatch->seq : 0);
	if (!dispatch || dispatch->seq != r->dispatch_seq)
		dispatch = r->dispatch_seq ? by_seq(c, r->dispatch_seq) : NULL;
	DIFF(C_DISPATCH_PC, r->dispatch_pc,
	     dispatch				     ? dispatch->pc
	     : r->dispatch_seq == prev->dispatch_seq ? prev->dispatch_pc
						     : 0);

	DIFF(C_FETCH_SEQ, r->fetch_seq, prev->fetch_seq + prev->nfetch);
	const struct mini *right = next_right(c, r->fetch_seq);
	const struct mini *fetched = by_seq(c, r->fetch_seq);
	DIFF(C_FETCH_PO, r->fetch_po,
	     right ? right->po : prev->fetch_po + (prev->flags & RC_WRONG_PATH ? 0 : prev->nfetch));
	DIFF(C_FETCH_PC, r->fetch_pc,
	     (prev->nfetch || k->squashed) && fetched ? fetched->pc : prev->fetch_pc);

	struct rec_cycle p = { .cycle = r->cycle, .head_po = r->head_po };
	predict_flush(c, k, at, &p);
	DIFF(C_FLUSH_PO, r->flush_po, p.flush_po);
	DIFF(C_FLUSH_PC, r->flush_pc, p.flush_pc);
	DIFF(C_FLUSH_CAUSE, r->flush_cause, p.flush_cause);
	BITS(C_FLAGS, r->flags, p.flags | predict_flags(c, k, r, dispatch));

	uint8_t *dstall =
	    &k->dispatch_stall[(r->ndispatch & 15) | (r->dispatch_seq != 0) << 4 |
			       !!(r->flags & RC_ROB_FULL) << 5 | (prev->dispatch_stall & 15) << 6];
	uint8_t *fstall =
	    &k->fetch_stall[(r->nfetch != 0) | !!(r->flags & RC_WRONG_PATH) << 1 |
			    (prev->fetch_stall & 15) << 2 | !!(r->flags & RC_FLUSH) << 6];
	DIFF(C_DISPATCH_STALL, r->dispatch_stall, *dstall);
	DIFF(C_FETCH_STALL, r->fetch_stall, *fstall);
	uint8_t pad = 0; /* a column without a member */
	DIFF(C_PAD, pad, 0);

	if (encoding)
		for (int i = 0; i < 4; i++)
			column_byte(&c->column[COLUMN_CYCLE_MASK + i], (uint8_t)(mask >> 8 * i));

	*dstall = r->dispatch_stall;
	*fstall = r->fetch_stall;
	if (r->head_po)
		k->next_head = r->head_po + r->ncommit;
	if (r->ndispatch)
		k->next_dispatch = r->dispatch_seq + r->ndispatch;
	else if (r->dispatch_seq)
		k->next_dispatch = r->dispatch_seq;
	at = moment_at(c, k, r->cycle + r->repeat - 1);
	k->squashed = at && at->squash;
	k->squashed_dispatched = at ? at->nsquash : 0;
	k->prev = *r;
}

static void begin(struct codec *c, struct cycle_coder *k, uint64_t base)
{
	memset(k, 0, sizeof(*k));
	k->base = base;
	k->prev.cycle = base;
	index_numbers(c);
	index_moments(c, k);
	k->next_head = c->npo ? c->first_po : 0;
	k->next_dispatch = c->first_seq;
}

void codec_cycle_encode(struct codec *c, uint64_t base)
{
	struct cycle_coder k;
	if (!c->ncycles)
		return;
	begin(c, &k, base);
	for (size_t i = 0; i < c->ncycles; i++)
		code_cycle(c, &k, &c->cycles[i], true);
}

bool codec_cycle_decode(struct codec *c, struct rec_cycle *cycles, size_t count, uint64_t base)
{
	struct cycle_coder k;
	if (!count)
		return !c->bad;
	begin(c, &k, base);
	for (size_t i = 0; i < count && !c->bad; i++)
		code_cycle(c, &k, &cycles[i], false);
	return !c->bad;
}
