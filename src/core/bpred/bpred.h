/* SPDX-License-Identifier: MIT */
/*
 * Branch prediction: direction predictors, branch-target buffer, return-address stack and indirect
 * targets behind one handle.
 *
 * The life of a control instruction:
 *
 *   fetch     bpred_predict   in fetch order, right or wrong path; moves the speculative history
 *   resolve   bpred_repair    only if it was mispredicted; everything younger is forgotten
 *   flush     bpred_restore   only if it is squashed itself and it is the oldest squashed one
 *   commit    bpred_commit    in program order; the only call that trains a table
 *
 * Invariants
 *   1. Tables change only in bpred_commit (and bpred_warm), so a wrong path never trains anything.
 *   2. After bpred_repair or bpred_restore the speculative state (global, path and target history,
 *      return-address stack) equals, bit by bit, that of a machine which never went astray.
 *   3. No allocation, division or libm after bpred_new; the same calls give the same predictions on
 *      every host.
 *
 * docs/model-bpred.md lists what to touch to add a part, with a second-level BTB as the example.
 *
 * A flush that begins at an instruction which is no control instruction (memory order, exception)
 * calls bpred_restore with the oldest squashed control instruction, or nothing if there is none.
 */
#ifndef CORE_BPRED_BPRED_H
#define CORE_BPRED_BPRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "machine/machine.h" /* struct bpred_config */

struct inst;
struct err;
struct bpred;

/* What really happens; known only on the right path. target is the next pc if taken. */
struct bpred_truth {
	bool taken;
	uint64_t target;
};

enum bpred_kind {
	BPRED_COND,	/* conditional branch */
	BPRED_JUMP,	/* jal that does not link */
	BPRED_CALL,	/* jal that links */
	BPRED_INDIRECT, /* jalr, neither call nor return */
	BPRED_ICALL,	/* jalr that links */
	BPRED_RETURN,	/* jalr from a link register */
	BPRED_CORO,	/* jalr from one link register that writes the other: pop, then push */
};

/* When fetch can follow the predicted path. */
enum bpred_when {
	BPRED_AT_FETCH,	  /* at once: predicted not taken, or the target came with the fetch */
	BPRED_AT_DECODE,  /* taken, no BTB entry; target known once decoded (direct, return): bubble
			   */
	BPRED_AT_EXECUTE, /* indirect and nothing knows a target: counts as a mispredict */
};

/*
 * One prediction, kept by the core with the in-flight instruction. The first part is the core's to
 * read and to overwrite; the rest is the state before this prediction and what training needs.
 */
struct bpred_pred {
	uint64_t target; /* next pc if taken; falls back to the next instruction if unknown */
	uint8_t taken;	 /* 1: predicted taken; jumps always are */
	uint8_t btb_hit; /* 1: predicted taken, and the BTB knew this instruction */
	uint8_t when;	 /* enum bpred_when */
	uint8_t kind;	 /* enum bpred_kind */

	/* private from here on */
	uint8_t dir; /* direction predictor's own: counters read, provider, flags */
	uint8_t dir2;
	uint16_t ras_top;		  /* state before: stack pointer */
	uint32_t ras_log;		  /*   undo-log position */
	uint32_t hist_pos;		  /*  place in the ring of global history */
	uint32_t path;			  /*   path history */
	uint32_t loop;			  /* loop predictor: entry, way and iteration */
	uint64_t ghist;			  /*   last 64 outcomes, youngest in bit 0 */
	uint64_t thist;			  /*   targets of the last indirect jumps */
	uint16_t fold[2][BPRED_TAGE_MAX]; /* folded histories, for indices and for tags */
};

/* A predictor after c, which must pass machine_check_bpred. */
struct bpred *bpred_new(const struct bpred_config *c);
void bpred_free(struct bpred *bp);

/*
 * Predicts the control instruction in at pc and moves the speculative state along the prediction.
 * Call in fetch order for every control instruction and for no other. truth may be NULL; only the
 * perfect predictor looks at it (without it, it predicts as `taken` does).
 */
void bpred_predict(struct bpred *bp, uint64_t pc, const struct inst *in,
		   const struct bpred_truth *truth, struct bpred_pred *out);

/*
 * The instruction predicted as p did something else: speculative state as if it had been predicted
 * right, everything younger forgotten. To idealise one instruction, call it right after
 * bpred_predict with the truth and set p's public fields.
 */
void bpred_repair(struct bpred *bp, uint64_t pc, const struct inst *in, const struct bpred_pred *p,
		  bool taken, uint64_t target);

/* The instruction predicted as p is squashed: speculative state as before it was predicted. */
void bpred_restore(struct bpred *bp, const struct bpred_pred *p);

/* The instruction predicted as p commits: trains with the history seen at prediction. */
void bpred_commit(struct bpred *bp, uint64_t pc, const struct inst *in, const struct bpred_pred *p,
		  bool taken, uint64_t target);

/* Functional warming: predict, repair if need be and commit at once. True if predicted right. */
bool bpred_warm(struct bpred *bp, uint64_t pc, const struct inst *in, bool taken, uint64_t target);

/* True if p sent fetch to where the instruction really went. */
static inline bool bpred_right(const struct bpred_pred *p, bool taken, uint64_t target)
{
	return p->taken == taken &&
	       (!taken || (p->target == target && p->when != BPRED_AT_EXECUTE));
}

/*
 * A walk: the predictors run ahead of fetch, with speculative state of their own and without the
 * instructions. What the BTB says is all that they know of a program; an instruction without an
 * entry is taken for one that goes on to the next.
 *
 * Make the walk before anything is trained: entries of a BTB do not say what their instructions are
 * unless somebody walks. A walk changes nothing that predictions at fetch are made from.
 */
struct bpred_walk;
struct bpred_walk *bpred_walk_new(struct bpred *bp);
void bpred_walk_free(struct bpred_walk *w);
/* The walk begins where fetch is: its speculative state is that of the last prediction. */
void bpred_walk_begin(const struct bpred *bp, struct bpred_walk *w);
/* Walks from pc to the first instruction that is predicted to be taken, at most to end, no more
 * than 256 bytes on. Returns where the path goes on; *taken: an instruction was. */
uint64_t bpred_walk(struct bpred *bp, struct bpred_walk *w, uint64_t pc, uint64_t end, bool *taken);

/* Storage the modelled hardware would need, in bits; 0 for predictors without state. */
uint64_t bpred_direction_bits(const struct bpred_config *c);
uint64_t bpred_btb_bits(const struct bpred_config *c);
uint64_t bpred_indirect_bits(const struct bpred_config *c);
/* Writes the storage table by table, as text. */
void bpred_print_storage(const struct bpred_config *c, FILE *f);

/* Hash of the speculative state and of the trained tables; for tests and debug builds. */
uint64_t bpred_hash_speculative(const struct bpred *bp);
uint64_t bpred_hash_tables(const struct bpred *bp);

struct state;
/* Saves or reads everything (state/state.h). Only while no prediction is in flight. */
void bpred_saved(struct bpred *bp, struct state *s);

#endif
