/* SPDX-License-Identifier: MIT */
/*
 * Bimodal: a table of 2-bit saturating counters indexed by the address (Smith, "A study of branch
 * prediction strategies", ISCA 1981). Instructions are 2-byte aligned, so bit 0 is left out. No
 * tags: branches that share an entry disturb each other.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bpred/dir.h"

struct bimodal {
	uint32_t mask;
	uint8_t *counter;
};

static void *bimodal_new(const struct bpred_config *c)
{
	struct bimodal *b = x_malloc(sizeof(*b));

	b->mask = c->bimodal_entries - 1;
	b->counter = counter2_new(c->bimodal_entries);
	return b;
}

static void bimodal_free(void *state)
{
	struct bimodal *b = state;

	free(b->counter);
	free(b);
}

static bool bimodal_predict(void *state, uint64_t pc, const struct history *h, struct bpred_pred *p)
{
	struct bimodal *b = state;

	return b->counter[pc >> 1 & b->mask] >> 1;
}

static void bimodal_update(void *state, uint64_t pc, const struct bpred_pred *p, bool taken)
{
	struct bimodal *b = state;

	counter2_update(&b->counter[pc >> 1 & b->mask], taken);
}

static uint64_t bimodal_bits(const struct bpred_config *c)
{
	return 2 * (uint64_t)c->bimodal_entries;
}

static uint64_t bimodal_hash(const void *state, uint64_t h)
{
	const struct bimodal *b = state;

	return bpred_hash_bytes(h, b->counter, b->mask + 1);
}

static void bimodal_saved(void *state, struct state *s)
{
	struct bimodal *b = state;

	saved_same(s, b->mask, "bimodal predictor");
	saved_bytes(s, b->counter, (size_t)b->mask + 1, 3);
}

const struct bpred_dir dir_bimodal = {
	.name = "bimodal",
	.summary = "2-bit counters by address",
	.create = bimodal_new,
	.destroy = bimodal_free,
	.predict = bimodal_predict,
	.update = bimodal_update,
	.bits = bimodal_bits,
	.saved = bimodal_saved,
	.hash = bimodal_hash,
};
