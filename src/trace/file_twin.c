/* SPDX-License-Identifier: MIT */
/*
 * Codes the twin records in a block of a trace file. Prediction: the twin dispatches an instruction
 * as many cycles after the one before it as it did the last time at this pc, and commits in order,
 * up to its width.
 */
#include "trace/file_codec_int.h"

#include <string.h>

/* What was last seen at a pc. */
struct twin_static {
	uint64_t gap;	/* from the dispatch of the instruction before */
	uint64_t delay; /* from dispatch to commit, where it did not wait for the one before */
};

#define STATICS 4096

/* The record being coded, and what is known before it. */
struct walk {
	struct codec *c;
	const struct rec_twin *prev;
	struct twin_static *s;
	uint64_t commit; /* cycle of the last commit */
	uint32_t count;	 /* instructions that committed in it */
	struct twin_static statics[STATICS];
	uint64_t v[T_COUNT];
};

#define NUMBER(id) T_##id
#define V(id)	   w->v[T_##id]

static void find_static(struct walk *w)
{
	const struct mini *inst = codec_by_po(w->c, V(PO));
	w->s = &w->statics[inst ? hash_u64(inst->pc) % STATICS : 0];
}

/* The first cycle in which in-order commit allows the instruction to commit. */
static uint64_t in_order(const struct walk *w)
{
	return w->commit + (w->count >= w->c->meta.commit_width);
}

static uint64_t predict_commit(const struct walk *w)
{
	const uint64_t at = max_u64(in_order(w), V(DISPATCH) + w->s->delay);
	return (uint32_t)(at - V(DISPATCH));
}

#define WALK_FIELDS "trace/twin_fields.def"
#define WALK_RECORD struct rec_twin
#define WALK_COLUMN COLUMN_TWIN
#include "trace/file_walk.h"

static void learn(struct walk *w, const struct rec_twin *r)
{
	const uint64_t commit = r->dispatch + r->commit;
	if (commit > in_order(w))
		w->s->delay = r->commit;
	else if (w->s->delay > r->commit)
		w->s->delay = 0;
	w->s->gap = r->dispatch - w->prev->dispatch;
	w->count = commit == w->commit ? w->count + 1 : 1;
	w->commit = commit;
	w->prev = r;
}

static struct walk *begin(struct codec *c, const struct rec_twin *before)
{
	struct walk *w = x_calloc(1, sizeof(*w));
	w->c = c;
	w->prev = before;
	return w;
}

void codec_twin_encode(struct codec *c)
{
	const struct rec_twin before = { 0 };
	struct masks masks = { .count = 0 };
	struct walk *w = begin(c, &before);
	for (size_t i = 0; i < c->ntwins; i++) {
		masks_put(c, &masks, COLUMN_TWIN_MASK, encode(w, &c->twins[i]));
		learn(w, &c->twins[i]);
	}
	masks_flush(c, &masks, COLUMN_TWIN_MASK);
	free(w);
}

bool codec_twin_decode(struct codec *c)
{
	const struct rec_twin before = { 0 };
	struct mask_columns masks;
	if (!masks_get(c, COLUMN_TWIN_MASK, c->ntwins, &masks))
		return false;
	struct walk *w = begin(c, &before);
	for (size_t i = 0; i < c->ntwins && !c->bad; i++) {
		decode(w, &c->twins[i], mask_at(&masks, i));
		learn(w, &c->twins[i]);
	}
	free(w);
	return !c->bad;
}
