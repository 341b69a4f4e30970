/* SPDX-License-Identifier: MIT */
/*
 * What a direction predictor is: one const struct in one file, listed in bpred.c. Training sees the
 * history as it was at prediction, through the snapshot in struct bpred_pred, so that a predictor
 * computes the same indices at both times and carries nothing else in flight.
 */
#ifndef CORE_BPRED_DIR_H
#define CORE_BPRED_DIR_H

#include "core/bpred/bpred.h"
#include "core/saved.h"
#include "util/util.h"

/*
 * Undo log of speculative state that is too large for a snapshot: the return-address stack and the
 * loop predictor's iteration counts. One place at most changes with each prediction.
 */
struct spec_log {
	struct spec_undo {
		uint64_t *place;
		uint64_t old;
	} * undo;
	uint32_t mask, pos; /* pos counts writes modulo 2^32 */
};

static inline void spec_write(struct spec_log *log, uint64_t *place, uint64_t value)
{
	/* a call in a loop finds its own return address there: nothing to undo */
	if (*place == value)
		return;
	log->undo[log->pos++ & log->mask] = (struct spec_undo){ place, *place };
	*place = value;
}

struct history;
struct bpred_dir {
	const char *name;
	const char *summary;
	bool oracle; /* told the truth; directions and targets are always right */
	bool folds;  /* needs the folded histories */
	void *(*create)(const struct bpred_config *c); /* NULL: no state */
	void (*destroy)(void *state);
	/*
	 * h is the history, which p holds, too; reading a vector of it just written to p costs the
	 * host 2 ns more. The predictor may note things in p->dir and p->dir2.
	 */
	bool (*predict)(void *state, uint64_t pc, const struct history *h, struct bpred_pred *p);
	/* In program order, with the p of predict. */
	void (*update)(void *state, uint64_t pc, const struct bpred_pred *p, bool taken);
	/* Optional: predict, advance and update at once, of a branch that went taken while none is in flight; h is as
	 * before it. True if it was predicted right. */
	bool (*warm)(void *state, uint64_t pc, const struct history *h, bool taken,
		     struct spec_log *log);
	/* Optional: speculative state of its own moves over a branch that went taken. */
	void (*advance)(void *state, uint64_t pc, bool taken, struct spec_log *log);
	/* With advance: the array of *n words that predict reads and advance writes. What runs
	 * ahead of fetch puts an array of its own in its place meanwhile. */
	uint64_t **(*spec)(void *state, size_t *n);
	uint64_t (*bits)(const struct bpred_config *c);
	void (*print)(const struct bpred_config *c, FILE *f); /* storage, if more than one table */
	uint64_t (*hash)(const void *state, uint64_t h);
	uint64_t (*hash_spec)(const void *state, uint64_t h);
	void (*saved)(void *state, struct state *s); /* saves or reads the state, if there is any */
};

#define X(id, name) extern const struct bpred_dir dir_##id;
MACHINE_DIRECTIONS(X)
#undef X

/* The predictor of that name, or NULL. */
const struct bpred_dir *bpred_dir_find(const char *name);

/* Saturating 2-bit counters, one a byte: 0 and 1 say not taken, 2 and 3 taken. */
static inline void counter2_update(uint8_t *c, bool up)
{
	*c = (uint8_t)(up ? *c + (*c < 3) : *c - (*c > 0));
}
/* A table of them, all at weakly taken. */
uint8_t *counter2_new(uint32_t entries);

/* Steps a maximal 32-bit Galois register, as hardware would draw lots; never 0. */
static inline uint32_t lfsr_step(uint32_t *r)
{
	*r = *r >> 1 ^ ((0u - (*r & 1)) & 0xa3000000u);
	return *r;
}

/* Continues a hash over a block of bytes. */
uint64_t bpred_hash_bytes(uint64_t h, const void *p, size_t size_bytes);

#endif
