/* SPDX-License-Identifier: MIT */
/*
 * Codes the cycle records in a block of a trace file.
 *
 * The block's instructions are known when its cycles are coded, also those that leave long after
 * the cycle in question. Their stamps say how many were fetched, dispatched, issued and committed
 * in a cycle, which one was at the head of the ROB, which one waited at dispatch, where fetch was,
 * and what was flushed. Only what does not follow from that costs bytes. Predictions get worse at
 * the end of a block, because the instructions in flight there belong to the next one.
 */
#include "trace/file_codec_int.h"

#include <stdlib.h>
#include <string.h>

/* The record being coded, and what is known before it. */
struct walk {
	struct codec *c;
	const struct rec_cycle *prev;
	uint64_t base;
	size_t span;		/* moments[0 … span) are cycles base … */
	uint64_t next_head;	/* po of the oldest instruction that has not committed */
	uint64_t next_dispatch; /* seq */
	bool squashed;		/* the last record's cycle squashed something */
	uint32_t squashed_dispatched;
	uint8_t dispatch_stall[1024], fetch_stall[256];

	/* Found by the steps of cycle_fields.def. */
	const struct moment *at; /* of the record's cycle; NULL: unknown, or there are several */
	const struct mini *head;
	const struct mini *dispatch; /* the instruction that dispatches first, or that waits */
	struct {
		uint64_t po, pc;
		uint8_t cause;
		bool now; /* it happens in this cycle */
	} flush;
	uint64_t v[C_COUNT];
};

#define NUMBER(id) C_##id
#define V(id)	   w->v[C_##id]

static inline uint8_t bump(uint8_t n)
{
	return n < UINT8_MAX ? n + 1 : n;
}

static struct moment *moment_at(const struct walk *w, uint64_t cycle)
{
	uint64_t i = cycle - w->base;
	return cycle >= w->base && i < w->span ? &w->c->moments[i] : NULL;
}

static const struct mini *next_right(const struct codec *c, uint64_t seq)
{
	uint64_t i = seq - c->first_seq;
	return seq >= c->first_seq && i < c->nseq && c->next_right[i]
		   ? &c->minis[c->next_right[i] - 1]
		   : NULL;
}

void codec_index(struct codec *c)
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

static void index_moments(struct walk *w)
{
	struct codec *c = w->c;
	uint64_t end = w->base;
	for (size_t i = 0; i < c->ninsts; i++)
		end = max_u64(end, c->minis[i].leave);
	w->span = (size_t)min_u64(end - w->base + (end < UINT64_MAX), MOMENTS_MAX);
	if (w->span > c->nmoments) {
		free(c->moments);
		c->nmoments = w->span;
		c->moments = x_malloc(c->nmoments * sizeof(*c->moments));
	}
	if (w->span)
		memset(c->moments, 0, w->span * sizeof(*c->moments));
	for (size_t i = 0; i < c->ninsts; i++) {
		const struct mini *m = &c->minis[i];
		struct moment *at;
		if ((at = moment_at(w, m->fetch))) {
			at->nfetch = bump(at->nfetch);
			at->any = 1;
		}
		if ((at = moment_at(w, m->dispatch))) {
			at->ndispatch = bump(at->ndispatch);
			at->any = 1;
			if (!at->dispatch || m->seq < c->minis[at->dispatch - 1].seq)
				at->dispatch = (uint32_t)i + 1;
		}
		if ((at = moment_at(w, m->issue))) {
			at->nissue = bump(at->nissue);
			at->any = 1;
		}
		if ((at = moment_at(w, m->complete)))
			at->any = 1;
		if (!(at = moment_at(w, m->leave)))
			continue;
		at->any = 1;
		if (m->flags & RI_COMMITTED) {
			at->ncommit = bump(at->ncommit);
		} else {
			at->nsquash += m->dispatch != NEVER;
			if (!at->squash || m->po < c->minis[at->squash - 1].po)
				at->squash = (uint32_t)i + 1;
		}
	}
}

static uint64_t predict_repeat(const struct walk *w)
{
	const struct moment *at = moment_at(w, V(CYCLE)), *end = w->c->moments + w->span;
	uint64_t n = 1;
	if (!at || at->any)
		return 1;
	for (at++; at < end && !at->any; at++)
		n++;
	return at < end ? n : 1;
}

static void find_moment(struct walk *w)
{
	w->at = V(REPEAT) == 1 ? moment_at(w, V(CYCLE)) : NULL;
}

static void find_head(struct walk *w)
{
	w->head = V(HEAD_PO) ? codec_by_po(w->c, V(HEAD_PO)) : NULL;
}

static uint64_t predict_head_pc(const struct walk *w)
{
	if (w->head)
		return w->head->pc;
	return V(HEAD_PO) && V(HEAD_PO) == w->prev->head_po ? w->prev->head_pc : 0;
}

static void guess_dispatch(struct walk *w)
{
	const uint64_t cycle = V(CYCLE);
	const struct mini *m;
	if (w->at && w->at->dispatch) {
		w->dispatch = &w->c->minis[w->at->dispatch - 1];
		return;
	}
	while ((m = codec_by_seq(w->c, w->next_dispatch)) && m->dispatch == NEVER &&
	       m->leave <= cycle)
		w->next_dispatch++;
	const bool waits = m && m->fetch + w->c->meta.frontend_depth <= cycle && m->leave > cycle;
	w->dispatch = waits ? m : NULL;
}

static void find_dispatch(struct walk *w)
{
	if (!w->dispatch || w->dispatch->seq != V(DISPATCH_SEQ))
		w->dispatch = V(DISPATCH_SEQ) ? codec_by_seq(w->c, V(DISPATCH_SEQ)) : NULL;
}

static uint64_t predict_dispatch_pc(const struct walk *w)
{
	if (w->dispatch)
		return w->dispatch->pc;
	return V(DISPATCH_SEQ) == w->prev->dispatch_seq ? w->prev->dispatch_pc : 0;
}

static uint64_t predict_fetch_po(const struct walk *w)
{
	const struct mini *right = next_right(w->c, V(FETCH_SEQ));
	return right ? right->po
		     : w->prev->fetch_po + (w->prev->flags & RC_WRONG_PATH ? 0 : w->prev->nfetch);
}

static uint64_t predict_fetch_pc(const struct walk *w)
{
	const struct mini *fetched = codec_by_seq(w->c, V(FETCH_SEQ));
	return (w->prev->nfetch || w->squashed) && fetched ? fetched->pc : w->prev->fetch_pc;
}

static void guess_flush(struct walk *w)
{
	const struct codec *c = w->c;
	const struct rec_cycle *prev = w->prev;
	const struct moment *at = w->at;
	w->flush.po = prev->flush_po;
	w->flush.pc = prev->flush_pc;
	w->flush.cause =
	    prev->ndispatch && !(prev->flags & RC_DISPATCH_WRONG) ? FLUSH_NONE : prev->flush_cause;
	const uint64_t cycle = V(CYCLE), head_po = V(HEAD_PO);
	const struct mini *squashed = at && at->squash ? &c->minis[at->squash - 1] : NULL;
	const struct mini *last =
	    at && at->ncommit ? codec_by_po(c, head_po + at->ncommit - 1) : NULL;
	const struct mini *by = squashed ? codec_by_po(c, squashed->po - 1) : NULL;
	unsigned cause = FLUSH_NONE;
	if (last && last->flags & RI_FLUSHES && last->leave == cycle) {
		by = last;
		cause = by->flags & RI_EXCEPTION ? FLUSH_EXCEPTION : FLUSH_CSR;
	} else if (by && by->flags & RI_MISPREDICT && by->complete == cycle) {
		cause = FLUSH_MISPREDICT;
	} else if (squashed && squashed->po == head_po && (by = codec_by_po(c, head_po))) {
		cause = by->flags & RI_EXCEPTION ? FLUSH_EXCEPTION : FLUSH_ORDER;
	}
	w->flush.now = cause != FLUSH_NONE;
	if (w->flush.now) {
		w->flush.po = by->po;
		w->flush.pc = by->pc;
		w->flush.cause = (uint8_t)cause;
	}
}

static bool is_wrong(const struct mini *m)
{
	return m && !(m->flags & RI_COMMITTED);
}

static uint64_t predict_flags(const struct walk *w)
{
	const uint64_t cycle = V(CYCLE);
	const struct mini *head = w->head, *fetched = codec_by_seq(w->c, V(FETCH_SEQ) - 1);
	unsigned flags = w->prev->flags & (RC_SQ_FULL | RC_DMISS_OUT | RC_LONG_DMISS_OUT);
	if (w->flush.now)
		flags |= RC_FLUSH;
	if (!V(ROB_USED))
		flags |= RC_ROB_EMPTY;
	if (V(ROB_USED) >= w->c->meta.rob_entries)
		flags |= RC_ROB_FULL;
	if (fetched && fetched->leave >= cycle &&
	    (is_wrong(fetched) || (fetched->flags & RI_MISPREDICT && fetched->complete >= cycle)))
		flags |= RC_WRONG_PATH;
	if (is_wrong(w->dispatch))
		flags |= RC_DISPATCH_WRONG;
	if (head && head->complete <= cycle)
		flags |= RC_HEAD_DONE;
	else if (head && head->flags & RI_LOAD && head->issue < cycle && head->dlevel > LEVEL_L1)
		flags |= head->dlevel == LEVEL_MEM ? RC_HEAD_LONG_DMISS : RC_HEAD_L1MISS;
	return flags;
}

/* The stall last seen in a cycle like this one. */
static uint8_t *dispatch_stall_slot(struct walk *w)
{
	return &w->dispatch_stall[(V(NDISPATCH) & 15) | (V(DISPATCH_SEQ) != 0) << 4 |
				  !!(V(FLAGS) & RC_ROB_FULL) << 5 |
				  (w->prev->dispatch_stall & 15) << 6];
}
static uint8_t *fetch_stall_slot(struct walk *w)
{
	return &w->fetch_stall[(V(NFETCH) != 0) | !!(V(FLAGS) & RC_WRONG_PATH) << 1 |
			       (w->prev->fetch_stall & 15) << 2 | !!(V(FLAGS) & RC_FLUSH) << 6];
}

#define WALK_FIELDS "trace/cycle_fields.def"
#define WALK_RECORD struct rec_cycle
#define WALK_COLUMN COLUMN_CYCLE
#include "trace/file_walk.h"

/* Updates the predictions for later cycles from the record that was just walked. */
static inline void learn(struct walk *w, const struct rec_cycle *r)
{
	*dispatch_stall_slot(w) = r->dispatch_stall;
	*fetch_stall_slot(w) = r->fetch_stall;
	if (r->head_po)
		w->next_head = r->head_po + r->ncommit;
	if (r->ndispatch)
		w->next_dispatch = r->dispatch_seq + r->ndispatch;
	else if (r->dispatch_seq)
		w->next_dispatch = r->dispatch_seq;
	const struct moment *at = moment_at(w, r->cycle + r->repeat - 1);
	w->squashed = at && at->squash;
	w->squashed_dispatched = at ? at->nsquash : 0;
	w->prev = r;
}

static void begin(struct walk *w, struct codec *c, struct rec_cycle *before, uint64_t base)
{
	*before = (struct rec_cycle){ .cycle = base };
	*w = (struct walk){ .c = c, .prev = before, .base = base };
	index_moments(w);
	w->next_head = c->npo ? c->first_po : 0;
	w->next_dispatch = c->first_seq;
}

void codec_cycle_encode(struct codec *c, uint64_t base)
{
	struct masks masks = { .count = 0 };
	struct rec_cycle before;
	struct walk w;
	if (!c->ncycles)
		return;
	begin(&w, c, &before, base);
	for (size_t i = 0; i < c->ncycles; i++) {
		masks_put(c, &masks, COLUMN_CYCLE_MASK, encode(&w, &c->cycles[i]));
		learn(&w, &c->cycles[i]);
	}
	masks_flush(c, &masks, COLUMN_CYCLE_MASK);
}

bool codec_cycle_decode(struct codec *c, struct rec_cycle *cycles, size_t count, uint64_t base)
{
	struct mask_columns masks;
	struct rec_cycle before;
	struct walk w;
	if (!count)
		return !c->bad;
	if (!masks_get(c, COLUMN_CYCLE_MASK, count, &masks))
		return false;
	begin(&w, c, &before, base);
	for (size_t i = 0; i < count && !c->bad; i++) {
		decode(&w, &cycles[i], mask_at(&masks, i));
		learn(&w, &cycles[i]);
	}
	return !c->bad;
}
