/* SPDX-License-Identifier: MIT */
/* Counts by two addresses and a small number: edges, reasons with their producers, pairs. */
#ifndef ANALYSIS_CALC_PAIRS_H
#define ANALYSIS_CALC_PAIRS_H

#include <stddef.h>

#include "trace/record.h"
#include "util/util.h"

#define PAIR_TAG_BITS (64 - REC_PC_BITS)

struct pair {
	uint64_t key;	/* first address and tag; see pair_key. 0: free */
	uint64_t other; /* second address */
	uint64_t count;
};

static inline uint64_t pair_key(uint64_t pc, unsigned tag)
{
	return pc << PAIR_TAG_BITS | (tag + 1);
}
static inline uint64_t pair_pc(const struct pair *p)
{
	return (uint64_t)((int64_t)p->key >> PAIR_TAG_BITS);
}
static inline unsigned pair_tag(const struct pair *p)
{
	return (unsigned)(p->key & ((1u << PAIR_TAG_BITS) - 1)) - 1;
}

struct pairs {
	struct pair *slot; /* open addressing, a power of two */
	size_t mask, used;
};

void pairs_init(struct pairs *p);
void pairs_free(struct pairs *p);
/* The pair of a key, for when the first probe misses. Adds it, and grows the table, if needed. */
struct pair *pairs_find(struct pairs *p, uint64_t key, uint64_t other);
/* All of them, sorted by first address, tag and second address; the caller frees the array. */
struct pair *pairs_sorted(const struct pairs *p);

static inline size_t pairs_hash(uint64_t key, uint64_t other)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ull ^ other * 0xc2b2ae3d27d4eb4full) >> 29);
}
static inline void pairs_add(struct pairs *p, uint64_t pc, unsigned tag, uint64_t other,
			     uint64_t count)
{
	const uint64_t key = pair_key(pc, tag);
	struct pair *s = &p->slot[pairs_hash(key, other) & p->mask];
	if (unlikely(s->key != key || s->other != other))
		s = pairs_find(p, key, other);
	s->count += count;
}

#endif
