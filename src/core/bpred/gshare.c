/* SPDX-License-Identifier: MIT */
/*
 * Gshare: 2-bit counters indexed by the address xor the last outcomes of conditional branches
 * (McFarling, "Combining branch predictors", WRL TN-36, 1993). A history shorter than the index
 * meets its upper bits, where addresses differ least.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bpred/dir.h"

struct gshare {
	uint32_t mask;
	uint32_t history_mask;
	uint32_t shift;
	uint8_t *counter;
};

static void *gshare_new(const struct bpred_config *c)
{
	struct gshare *g = x_malloc(sizeof(*g));

	g->mask = c->gshare_entries - 1;
	g->history_mask = (1u << c->gshare_history) - 1;
	g->shift = (uint32_t)__builtin_ctz(c->gshare_entries) - c->gshare_history;
	g->counter = counter2_new(c->gshare_entries);
	return g;
}

static void gshare_free(void *state)
{
	struct gshare *g = state;

	free(g->counter);
	free(g);
}

static uint8_t *gshare_entry(struct gshare *g, uint64_t pc, const struct bpred_pred *p)
{
	uint32_t hist = (uint32_t)p->ghist & g->history_mask;

	return &g->counter[((uint32_t)(pc >> 1) ^ hist << g->shift) & g->mask];
}

static bool gshare_predict(void *state, uint64_t pc, const struct history *h, struct bpred_pred *p)
{
	return *gshare_entry(state, pc, p) >> 1;
}

static void gshare_update(void *state, uint64_t pc, const struct bpred_pred *p, bool taken)
{
	counter2_update(gshare_entry(state, pc, p), taken);
}

static uint64_t gshare_bits(const struct bpred_config *c)
{
	return 2 * (uint64_t)c->gshare_entries + c->gshare_history;
}

static uint64_t gshare_hash(const void *state, uint64_t h)
{
	const struct gshare *g = state;

	return bpred_hash_bytes(h, g->counter, g->mask + 1);
}

static void gshare_saved(void *state, struct state *s)
{
	struct gshare *g = state;

	saved_same(s, g->mask, "gshare predictor");
	saved_same(s, g->history_mask, "gshare predictor");
	saved_bytes(s, g->counter, (size_t)g->mask + 1, 3);
}

const struct bpred_dir dir_gshare = {
	.name = "gshare",
	.summary = "2-bit counters by address xor global history",
	.create = gshare_new,
	.destroy = gshare_free,
	.predict = gshare_predict,
	.update = gshare_update,
	.bits = gshare_bits,
	.saved = gshare_saved,
	.hash = gshare_hash,
};
