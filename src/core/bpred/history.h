/* SPDX-License-Identifier: MIT */
/*
 * The speculative history that predictions are made from: outcomes of conditional branches (the
 * last 64 in a word, all that TAGE reaches in a ring), paths, indirect targets, and for TAGE the
 * folded histories, kept up to date bit by bit. A snapshot is the words and the folds; the ring
 * itself is restored by moving its place.
 *
 * A fold is the window of history taken as a polynomial over GF(2), modulo a primitive polynomial
 * of the fold's width: a bit enters, the bit that leaves is taken out at x^length. Michaud's
 * circular registers (2005) are the same thing modulo x^width + 1. Those give outcomes that are a
 * multiple of the width apart the same weight, and periodic histories then cancel: measured with
 * three circular folds of different widths for each table, the ends of loops of 54, 89, 98, 109,
 * 119, 120, 125 and 163 iterations are never found.
 *
 * The eight tables' folds are the eight 16-bit lanes of one vector: lanes without a table stay 0.
 */
#ifndef CORE_BPRED_HISTORY_H
#define CORE_BPRED_HISTORY_H

#include <string.h>

#include "core/bpred/bpred.h"

typedef uint16_t u16x8 __attribute__((vector_size(16)));

enum { FOLD_INDEX, FOLD_TAG, FOLD_COUNT };

struct history {
	uint64_t ghist; /* last 64 conditional outcomes, youngest in bit 0 */
	uint64_t thist; /* 5 hashed bits for each of the last indirect targets */
	uint32_t path;	/* one address bit for each of the last 32 control instructions */
	uint32_t pos;	/* bits pushed so far, modulo 2^32; the next goes to ring[pos & mask] */
	u16x8 fold[FOLD_COUNT];

	/* constant */
	bool folds; /* somebody wants the ring and the folds */
	uint32_t mask;
	uint32_t length[BPRED_TAGE_MAX]; /* bits of history that each lane folds */
	u16x8 one;			 /* 1 in each lane that has a table */
	u16x8 out[FOLD_COUNT];		 /* weight of the bit that leaves the window */
	u16x8 top[FOLD_COUNT];		 /* the bit one above the fold */
	u16x8 poly[FOLD_COUNT];		 /* the polynomial, with top */
	uint8_t *ring;			 /* one outcome a byte */
};

/* Bits of global history that TAGE's tagged table i (0 is the shortest) sees. */
uint32_t history_tage_length(const struct bpred_config *c, uint32_t i);

/* Bits of its fold (FOLD_INDEX, …), and the primitive polynomial of that many bits that it uses. */
uint32_t history_fold_width(const struct bpred_config *c, uint32_t i, unsigned fold);
uint32_t history_fold_poly(uint32_t width, unsigned fold);

/* Sets up h for c; the ring and the folds only if asked for. */
void history_init(struct history *h, const struct bpred_config *c, bool folds);
void history_fini(struct history *h);
/* The folds, computed from the ring bit by bit: what h->fold must equal. */
void history_fold_slow(const struct history *h, u16x8 fold[FOLD_COUNT]);

/* Adds one bit to what the folds see. */
static inline void history_push(struct history *h, unsigned bit)
{
	const uint8_t *r = h->ring;
	const uint32_t *len = h->length, pos = h->pos, m = h->mask;
	u16x8 in, old;

	if (!h->folds)
		return;
	old = (u16x8){ r[(pos - len[0]) & m], r[(pos - len[1]) & m], r[(pos - len[2]) & m],
		       r[(pos - len[3]) & m], r[(pos - len[4]) & m], r[(pos - len[5]) & m],
		       r[(pos - len[6]) & m], r[(pos - len[7]) & m] };
	old = -old;
	in = h->one & (uint16_t)-bit;
	for (int j = 0; j < FOLD_COUNT; j++) {
		u16x8 f = (h->fold[j] + h->fold[j] + in) ^ (old & h->out[j]);

		h->fold[j] = f ^ ((u16x8)((f & h->top[j]) == h->top[j]) & h->poly[j]);
	}
	h->ring[pos & m] = (uint8_t)bit;
	h->pos = pos + 1;
}

static inline void history_save(const struct history *h, struct bpred_pred *p)
{
	p->ghist = h->ghist;
	p->thist = h->thist;
	p->path = h->path;
	p->hist_pos = h->pos;
	if (h->folds)
		/* cppcheck-suppress bufferAccessOutOfBounds ; it takes a GNU vector for one element */
		memcpy(p->fold, h->fold, sizeof(p->fold));
}

static inline void history_restore(struct history *h, const struct bpred_pred *p)
{
	h->ghist = p->ghist;
	h->thist = p->thist;
	h->path = p->path;
	h->pos = p->hist_pos;
	if (h->folds)
		/* cppcheck-suppress bufferAccessOutOfBounds ; it takes a GNU vector for one element */
		memcpy(h->fold, p->fold, sizeof(p->fold));
}

/* Moves the history over one control instruction. */
static inline void history_advance(struct history *h, uint64_t pc, unsigned kind, bool taken,
				   uint64_t target)
{
	h->path = h->path << 1 | (((pc >> 1) ^ (pc >> 4)) & 1);
	if (kind == BPRED_COND) {
		h->ghist = h->ghist << 1 | taken;
		history_push(h, taken);
	} else if (kind == BPRED_INDIRECT || kind == BPRED_ICALL) {
		unsigned t = (unsigned)((target * 0x9e3779b97f4a7c15ull) >> 59);

		h->thist = h->thist << 5 | t;
		/* direction predictors see a little of where an indirect jump went */
		history_push(h, t & 1);
		history_push(h, t >> 1 & 1);
	}
}

#endif
