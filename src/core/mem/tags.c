/* SPDX-License-Identifier: MIT */
/*
 * Set-associative arrays of keys with replacement: the tags of caches, TLBs and the walk cache.
 *
 * LRU keeps a time stamp per way: a use is one store, only a fill searches for the oldest.
 * Tree-PLRU keeps ways - 1 bits per set; a use turns the bits on the way's path away from it, the
 * victim is found by following them. Random draws from a seeded generator. An empty way is always
 * taken first, the lowest. A hint table remembers where a key was last seen, so that a hit in an L1
 * or TLB, fully associative or not, usually takes one comparison.
 */
#include <stdlib.h>
#include <string.h>

#include "core/mem/mem_int.h"

void tags_init(struct tag_array *t, uint32_t sets, uint32_t ways, uint32_t replacement,
	       uint64_t seed, uint32_t hints)
{
	size_t n = (size_t)sets * ways;

	assert((sets & (sets - 1)) == 0 && (hints & (hints - 1)) == 0 && hints > 0);
	memset(t, 0, sizeof(*t));
	t->tag = x_malloc(n * sizeof(*t->tag));
	memset(t->tag, 0xff, n * sizeof(*t->tag));
	t->stamp = x_calloc(n, sizeof(*t->stamp));
	t->tree = x_calloc(sets, sizeof(*t->tree));
	t->hint = x_calloc(hints, sizeof(*t->hint));
	t->state = x_calloc(n, sizeof(*t->state));
	t->hint_mask = hints - 1;
	t->set_mask = sets - 1;
	t->sets = sets;
	t->ways = ways;
	t->replacement = replacement;
	rng_seed(&t->rng, seed);
}

void tags_fini(struct tag_array *t)
{
	free(t->tag);
	free(t->stamp);
	free(t->tree);
	free(t->hint);
	free(t->state);
}

int64_t tags_peek(const struct tag_array *t, uint64_t key)
{
	uint32_t base = (uint32_t)(key & t->set_mask) * t->ways, w;

	for (w = 0; w < t->ways; w++) {
		if (t->tag[base + w] == key)
			return base + w;
	}
	return -1;
}

void tags_touch_tree(struct tag_array *t, uint32_t index)
{
	uint32_t way = index & (t->ways - 1); /* ways is a power of two for PLRU */
	uint64_t *tree = &t->tree[t->tag[index] & t->set_mask];
	uint32_t node = 1, half;

	for (half = t->ways >> 1; half; half >>= 1) {
		bool right = way & half;

		if (right)
			*tree &= ~(1ull << node);
		else
			*tree |= 1ull << node;
		node = 2 * node + right;
	}
}

static uint32_t victim_tree(const struct tag_array *t, uint64_t set)
{
	uint64_t tree = t->tree[set];
	uint32_t node = 1;

	while (node < t->ways)
		node = 2 * node + ((tree >> node) & 1);
	return node - t->ways;
}

uint32_t tags_victim(struct tag_array *t, uint64_t key)
{
	uint64_t set = key & t->set_mask;
	uint32_t base = (uint32_t)set * t->ways, w, best = 0;

	if (t->replacement == MEM_LRU) { /* an empty way's stamp is 0, before all others */
		for (w = 1; w < t->ways; w++) {
			if (t->stamp[base + w] < t->stamp[base + best])
				best = w;
		}
		return base + best;
	}
	for (w = 0; w < t->ways; w++) {
		if (t->tag[base + w] == TAG_NONE)
			return base + w;
	}
	if (t->replacement == MEM_PLRU)
		return base + victim_tree(t, set);

	return base + (uint32_t)(((rng_next(&t->rng) >> 32) * t->ways) >> 32);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	return hash_u64(h ^ x) + 0x9e3779b97f4a7c15ull;
}

/* Stamps count only by their order within a set: equal behaviour from here on, equal hash. */
static uint64_t stamp_rank(const struct tag_array *t, uint32_t base, uint32_t w)
{
	uint64_t rank = 0;

	for (uint32_t v = 0; v < t->ways; v++)
		rank += t->tag[base + v] != TAG_NONE && t->stamp[base + v] < t->stamp[base + w];
	return rank;
}

uint64_t tags_hash(const struct tag_array *t, uint64_t h)
{
	uint32_t s;

	for (s = 0; s < t->sets; s++) {
		uint32_t base = s * t->ways;

		for (uint32_t w = 0; w < t->ways; w++) {
			h = mix(h, t->tag[base + w]);
			if (t->tag[base + w] == TAG_NONE)
				continue;
			h = mix(h, t->state[base + w]);
			if (t->replacement == MEM_LRU)
				h = mix(h, stamp_rank(t, base, w));
		}
		if (t->replacement == MEM_PLRU)
			h = mix(h, t->tree[s]);
	}
	for (int i = 0; t->replacement == MEM_RANDOM && i < 4; i++)
		h = mix(h, t->rng.s[i]);
	return h;
}
