/* SPDX-License-Identifier: MIT */
/*
 * Tournament: bimodal and gshare side by side, and a table of 2-bit choosers by address that learns
 * which of the two to believe (McFarling 1993; sizes of fields2004 table VII: 8k each). Both are
 * trained with every branch; a chooser moves only when the two disagree.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bpred/dir.h"

struct tournament {
	uint32_t mask;
	uint8_t *meta; /* 2 and 3: believe gshare */
	void *bimodal, *gshare;
};

enum { SAID_BIMODAL = 1, SAID_GSHARE = 2 };

static void *tournament_new(const struct bpred_config *c)
{
	struct tournament *t = x_malloc(sizeof(*t));

	t->mask = c->meta_entries - 1;
	t->meta = counter2_new(c->meta_entries);
	t->bimodal = dir_bimodal.create(c);
	t->gshare = dir_gshare.create(c);
	return t;
}

static void tournament_free(void *state)
{
	struct tournament *t = state;

	dir_bimodal.destroy(t->bimodal);
	dir_gshare.destroy(t->gshare);
	free(t->meta);
	free(t);
}

static bool tournament_predict(void *state, uint64_t pc, const struct history *h,
			       struct bpred_pred *p)
{
	struct tournament *t = state;
	bool b = dir_bimodal.predict(t->bimodal, pc, h, p);
	bool g = dir_gshare.predict(t->gshare, pc, h, p);

	p->dir = (uint8_t)(b * SAID_BIMODAL | g * SAID_GSHARE);
	return t->meta[pc >> 1 & t->mask] >> 1 ? g : b;
}

static void tournament_update(void *state, uint64_t pc, const struct bpred_pred *p, bool taken)
{
	struct tournament *t = state;
	bool b = p->dir & SAID_BIMODAL, g = p->dir & SAID_GSHARE;

	if (b != g)
		counter2_update(&t->meta[pc >> 1 & t->mask], g == taken);
	dir_bimodal.update(t->bimodal, pc, p, taken);
	dir_gshare.update(t->gshare, pc, p, taken);
}

static uint64_t tournament_bits(const struct bpred_config *c)
{
	return 2 * (uint64_t)c->meta_entries + dir_bimodal.bits(c) + dir_gshare.bits(c);
}

static void tournament_print(const struct bpred_config *c, FILE *f)
{
	fprintf(f, "  bimodal %u x 2 bits\n", c->bimodal_entries);
	fprintf(f, "  gshare  %u x 2 bits, %u bits of history\n", c->gshare_entries,
		c->gshare_history);
	fprintf(f, "  meta    %u x 2 bits\n", c->meta_entries);
}

static uint64_t tournament_hash(const void *state, uint64_t h)
{
	const struct tournament *t = state;

	h = bpred_hash_bytes(h, t->meta, t->mask + 1);
	h = dir_bimodal.hash(t->bimodal, h);
	return dir_gshare.hash(t->gshare, h);
}

static void tournament_saved(void *state, struct state *s)
{
	struct tournament *t = state;

	saved_same(s, t->mask, "tournament predictor");
	saved_bytes(s, t->meta, (size_t)t->mask + 1, 3);
	dir_bimodal.saved(t->bimodal, s);
	dir_gshare.saved(t->gshare, s);
}

const struct bpred_dir dir_tournament = {
	.name = "tournament",
	.summary = "bimodal and gshare with a chooser",
	.create = tournament_new,
	.destroy = tournament_free,
	.predict = tournament_predict,
	.update = tournament_update,
	.bits = tournament_bits,
	.print = tournament_print,
	.saved = tournament_saved,
	.hash = tournament_hash,
};
