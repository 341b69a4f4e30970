/* SPDX-License-Identifier: MIT */
/*
 * The predictors ahead of fetch: where the predicted path goes, found out from the branch-target
 * buffer alone (Reinman, Calder and Austin, "Fetch directed instruction prefetching", MICRO 1999;
 * puzak2007 section 9: a BTB that runs well ahead of fetch).
 *
 * The BTB is searched for the next instruction that has an entry, which says its kind, its length
 * and where it went last. Direction, return-address stack and indirect targets are asked as at
 * fetch, with copies of the speculative state that the walk moves along.
 *
 * The walk differs from predictions at fetch in what the BTB does not know. A branch that was never
 * taken has no entry, so its outcome is missing in the walk's history; a jump that was seen for the
 * last time long ago is walked past; an entry may belong to an instruction that is no longer there.
 * The perfect predictor is told what the guest does, which no walk can be: here it takes every
 * branch that has an entry, as `taken` does.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bpred/state.h"

struct bpred_walk {
	struct spec_state spec;
	uint64_t *dir_spec;	  /* the direction predictor's own; NULL: it has none */
	struct spec_undo nothing; /* what the log writes: a walk is never taken back */
};

struct bpred_walk *bpred_walk_new(struct bpred *bp)
{
	struct bpred_walk *w = x_calloc(1, sizeof(*w));
	size_t n;

	btb_keep_what(&bp->btb);
	w->spec.ras = x_calloc(bp->ras_entries + 1, sizeof(*w->spec.ras));
	w->spec.log.undo = &w->nothing;
	if (bp->spec.history.folds)
		w->spec.history.ring = x_calloc(bp->spec.history.mask + 1, 1);
	if (bp->dir_advance) {
		bp->dir->spec(bp->dir_state, &n);
		w->dir_spec = x_calloc(n, sizeof(*w->dir_spec));
	}
	return w;
}

void bpred_walk_free(struct bpred_walk *w)
{
	if (w == NULL)
		return;
	free(w->spec.history.ring);
	free(w->spec.ras);
	free(w->dir_spec);
	free(w);
}

void bpred_walk_begin(const struct bpred *bp, struct bpred_walk *w)
{
	uint8_t *ring = w->spec.history.ring;
	size_t n;

	w->spec.history = bp->spec.history;
	w->spec.history.ring = ring;
	if (ring)
		memcpy(ring, bp->spec.history.ring, bp->spec.history.mask + 1);
	w->spec.ras_top = bp->spec.ras_top;
	memcpy(w->spec.ras, bp->spec.ras, bp->ras_entries * sizeof(*w->spec.ras));
	if (w->dir_spec) {
		uint64_t **from = bp->dir->spec(bp->dir_state, &n);

		memcpy(w->dir_spec, *from, n * sizeof(**from));
	}
}

/* Predicts the instruction at pc that has this entry, and moves over it. True if it is taken. */
static bool step(struct bpred *bp, struct bpred_walk *w, uint64_t pc, uint32_t entry,
		 uint64_t *target)
{
	unsigned kind = btb_kind(bp->btb.what[entry]);
	struct bpred_pred p = { .kind = (uint8_t)kind };
	bool taken = true;

	history_save(&w->spec.history, &p);
	*target = bp->btb.target[entry];
	if (kind == BPRED_COND)
		taken = bp->dir->predict(bp->dir_state, pc, &w->spec.history, &p);
	else if (on_stack(bp, kind))
		*target = w->spec.ras[w->spec.ras_top];
	else if (kind > BPRED_CALL)
		*target = indirect_predict(&bp->indirect, pc, *target, &p);
	spec_advance(bp, &w->spec, pc, kind, btb_len(bp->btb.what[entry]), taken, *target);
	return taken;
}

/* The direction predictor's own speculative state and the walk's change places. */
static void swap_spec(struct bpred *bp, struct bpred_walk *w)
{
	uint64_t **place, *at_fetch;
	size_t n;

	if (!w->dir_spec)
		return;
	place = bp->dir->spec(bp->dir_state, &n);
	at_fetch = *place;
	*place = w->dir_spec;
	w->dir_spec = at_fetch;
}

uint64_t bpred_walk(struct bpred *bp, struct bpred_walk *w, uint64_t pc, uint64_t end, bool *taken)
{
	uint64_t target = end;
	uint32_t left = (uint32_t)(end - pc) / 2, entry;

	swap_spec(bp, w);
	*taken = false;
	for (;;) {
		uint32_t skip = btb_search(&bp->btb, pc, left, &entry);

		if (skip == left)
			break;
		pc += 2 * (uint64_t)skip;
		*taken = step(bp, w, pc, entry, &target);
		if (*taken)
			break;
		pc += 2;
		left -= skip + 1;
	}
	swap_spec(bp, w);
	return *taken ? target : end;
}
