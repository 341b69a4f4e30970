/* SPDX-License-Identifier: MIT */
/*
 * The predictor's own state, for bpred.c, which predicts at fetch, and walk.c, which runs ahead of
 * it. Both move a struct spec_state over control instructions in the same way.
 */
#ifndef CORE_BPRED_STATE_H
#define CORE_BPRED_STATE_H

#include "core/bpred/dir.h"
#include "core/bpred/history.h"
#include "core/bpred/target.h"

/* What predictions move: all that is known about the path up to a point of it. */
struct spec_state {
	struct history history;
	struct spec_log log;
	uint64_t *ras;
	uint32_t ras_top; /* the youngest entry */
};

struct bpred {
	struct spec_state spec; /* at fetch */
	const struct bpred_dir *dir;
	void *dir_state;
	bool dir_advance; /* the direction predictor has speculative state of its own */
	uint32_t ras_entries;
	struct btb btb;
	struct indirect indirect;
};

static inline void ras_pop(const struct bpred *bp, struct spec_state *s)
{
	s->ras_top = s->ras_top == 0 ? bp->ras_entries - 1 : s->ras_top - 1;
}

static inline void ras_push(const struct bpred *bp, struct spec_state *s, uint64_t pc)
{
	s->ras_top = s->ras_top + 1 == bp->ras_entries ? 0 : s->ras_top + 1;
	spec_write(&s->log, &s->ras[s->ras_top], pc);
}

/* Moves all speculative state over one instruction that went as told. */
static inline void spec_advance(struct bpred *bp, struct spec_state *s, uint64_t pc, unsigned kind,
				unsigned len, bool taken, uint64_t target)
{
	if (bp->dir_advance && kind == BPRED_COND)
		bp->dir->advance(bp->dir_state, pc, taken, &s->log);
	history_advance(&s->history, pc, kind, taken, target);
	if (kind < BPRED_CALL || kind == BPRED_INDIRECT || bp->ras_entries == 0)
		return;
	if (kind >= BPRED_RETURN)
		ras_pop(bp, s);
	if (kind != BPRED_RETURN)
		ras_push(bp, s, pc + len);
}

/* True if the return-address stack has the targets of such instructions. */
static inline bool on_stack(const struct bpred *bp, unsigned kind)
{
	return kind >= BPRED_RETURN && bp->ras_entries > 0;
}

#endif
