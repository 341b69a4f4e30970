/* SPDX-License-Identifier: MIT */
/*
 * The predictors, saved and read while no prediction is in flight: history, return-address stack,
 * tables. The folded histories follow from the history, and are computed from it after reading.
 */
#include <string.h>

#include "core/bpred/state.h"
#include "core/saved.h"

static void history_saved(struct history *h, struct state *s)
{
	state_u64(s, &h->ghist);
	state_u64(s, &h->thist);
	state_u32(s, &h->path);
	saved_same(s, h->folds, "history");
	if (!h->folds)
		return;
	saved_same(s, h->mask, "history");
	state_u32(s, &h->pos);
	saved_bytes(s, h->ring, (size_t)h->mask + 1, 1);
	if (state_reading(s))
		history_fold_slow(h, h->fold);
}

static void btb_saved(struct btb *b, struct state *s)
{
	size_t n = (size_t)(b->set_mask + 1) * b->ways;

	saved_same(s, b->set_mask, "btb");
	saved_same(s, b->ways, "btb");
	saved_same(s, b->what != NULL, "fetch ahead");
	saved_u32s(s, b->tag, n);
	saved_u64s(s, b->target, n);
	if (b->what)
		saved_bytes(s, b->what, n, btb_what(BPRED_CORO, 15));
}

void bpred_saved(struct bpred *bp, struct state *s)
{
	uint64_t name = 0;

	memcpy(&name, bp->dir->name, min_u64(strlen(bp->dir->name), sizeof(name)));
	state_mark(s, "predictors");
	saved_same(s, name, "direction predictor");
	history_saved(&bp->spec.history, s);
	saved_same(s, bp->ras_entries, "return-address stack");
	saved_u64s(s, bp->spec.ras, bp->ras_entries);
	bp->spec.ras_top = state_below(s, bp->spec.ras_top, bp->ras_entries + !bp->ras_entries);
	btb_saved(&bp->btb, s);
	indirect_saved(&bp->indirect, s);
	if (bp->dir->saved)
		bp->dir->saved(bp->dir_state, s);
}
