/* SPDX-License-Identifier: MIT */
/*
 * Set-up of the speculative history: the geometric series of history lengths (Seznec and Michaud,
 * "A case for (partially) TAgged GEometric history length branch prediction", JILP 2006) and the
 * constants of the folds. Lengths are rounded in integers, so that they do not depend on a libm.
 */
#include "core/bpred/history.h"

#include <assert.h>
#include <stdlib.h>

#include "util/util.h"

static unsigned __int128 power(uint64_t x, uint32_t n)
{
	unsigned __int128 p = 1;

	while (n--)
		p *= x;
	return p;
}

/*
 * The integer nearest to min^((n-1-i)/(n-1)) * max^(i/(n-1)): the least L for which
 * (2L+1)^(n-1) > 2^(n-1) * min^(n-1-i) * max^i. Both sides stay below 2^78.
 */
uint32_t history_tage_length(const struct bpred_config *c, uint32_t i)
{
	uint32_t n1 = c->tage_tables - 1, length = c->tage_min_history;
	unsigned __int128 want;

	if (n1 == 0)
		return c->tage_max_history;
	want = power(2, n1) * power(c->tage_min_history, n1 - i) * power(c->tage_max_history, i);
	while (power(2 * (uint64_t)length + 1, n1) <= want)
		length++;
	return length;
}

static uint32_t log2_u32(uint32_t x)
{
	return 31 - (uint32_t)__builtin_clz(x);
}

void history_init(struct history *h, const struct bpred_config *c, bool folds)
{
	uint32_t size = 1;

	memset(h, 0, sizeof(*h));
	h->folds = folds;
	if (!folds)
		return;
	/* an indirect jump pushes two bits */
	while (size < c->tage_max_history + 2 * c->inflight + 2)
		size *= 2;
	h->mask = size - 1;
	h->ring = x_calloc(size, 1);
	for (uint32_t i = 0; i < c->tage_tables; i++) {
		uint32_t width[FOLD_COUNT] = { log2_u32(c->tage_entries[i]), c->tage_tag_bits[i],
					       c->tage_tag_bits[i] - 1 };

		h->length[i] = history_tage_length(c, i);
		for (int j = 0; j < FOLD_COUNT; j++) {
			assert(width[j] < 16);
			h->out[j][i] = (uint16_t)(1u << h->length[i] % width[j]);
			h->top[j][i] = (uint16_t)(1u << width[j]);
			h->keep[j][i] = (uint16_t)((1u << width[j]) - 1);
		}
	}
}

void history_fini(struct history *h)
{
	free(h->ring);
}

void history_fold_slow(const struct history *h, u16x8 fold[FOLD_COUNT])
{
	for (int j = 0; j < FOLD_COUNT; j++) {
		fold[j] = (u16x8){ 0 };
		for (int i = 0; i < BPRED_TAGE_MAX; i++) {
			unsigned width = 0, x = 0;

			if (h->keep[j][i] == 0)
				continue;
			while (h->keep[j][i] >> width)
				width++;
			for (uint32_t k = 0; k < h->length[i]; k++)
				x ^= (unsigned)h->ring[(h->pos - 1 - k) & h->mask] << k % width;
			fold[j][i] = (uint16_t)x;
		}
	}
}
