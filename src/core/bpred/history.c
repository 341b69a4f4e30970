/* SPDX-License-Identifier: MIT */
/*
 * Set-up of the speculative history: the geometric series of history lengths (Seznec and Michaud,
 * "A case for (partially) TAgged GEometric history length branch prediction", JILP 2006) and the
 * constants of the folds. Lengths are rounded in integers, so that they do not depend on a libm.
 */
#include "core/bpred/history.h"

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

uint32_t history_fold_width(const struct bpred_config *c, uint32_t i, unsigned fold)
{
	return fold == FOLD_INDEX ? log2_u32(c->tage_entries[i]) : c->tage_tag_bits[i];
}

/* Two of each degree, so that index and tag of one width tell histories apart. */
uint32_t history_fold_poly(uint32_t width, unsigned fold)
{
	static const uint32_t poly[16][FOLD_COUNT] = {
		[4] = { 0x13, 0x19 },	   [5] = { 0x25, 0x29 },      [6] = { 0x43, 0x61 },
		[7] = { 0x83, 0x89 },	   [8] = { 0x11d, 0x12b },    [9] = { 0x211, 0x221 },
		[10] = { 0x409, 0x481 },   [11] = { 0x805, 0xa01 },   [12] = { 0x1053, 0x1099 },
		[13] = { 0x201b, 0x3601 }, [14] = { 0x402b, 0x6a01 }, [15] = { 0x8003, 0xc001 },
	};

	return poly[width][fold];
}

/* x^n modulo a polynomial of the given width. */
static uint32_t weight(uint32_t n, uint32_t width, uint32_t poly)
{
	uint32_t w = 1;

	while (n--) {
		w <<= 1;
		w ^= w >> width ? poly : 0;
	}
	return w;
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
		h->length[i] = history_tage_length(c, i);
		for (int j = 0; j < FOLD_COUNT; j++) {
			uint32_t width = history_fold_width(c, i, (unsigned)j);
			uint32_t poly = history_fold_poly(width, (unsigned)j);

			h->out[j][i] = (uint16_t)weight(h->length[i], width, poly);
			h->top[j][i] = (uint16_t)(1u << width);
			h->poly[j][i] = (uint16_t)poly;
		}
		h->one[i] = 1;
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
			uint32_t width, x = 0;

			if (h->one[i] == 0)
				continue;
			width = log2_u32(h->top[j][i]);
			for (uint32_t k = 0; k < h->length[i]; k++)
				if (h->ring[(h->pos - 1 - k) & h->mask])
					x ^= weight(k, width, h->poly[j][i]);
			fold[j][i] = (uint16_t)x;
		}
	}
}
