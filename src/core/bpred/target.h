/* SPDX-License-Identifier: MIT */
/* Where taken control instructions go: branch-target buffer and indirect-target predictor. */
#ifndef CORE_BPRED_TARGET_H
#define CORE_BPRED_TARGET_H

#include <wchar.h>

#include "core/bpred/bpred.h"
#include "util/util.h"

_Static_assert(sizeof(wchar_t) == sizeof(uint32_t), "wmemchr searches tags");

/* Virtual addresses of the modelled hardware, for storage figures: Sv39 without bit 0. */
enum { TARGET_BITS = 38 };

/* Branch-target buffer; see btb.c. */
struct btb {
	uint32_t set_mask, set_bits, ways;
	uint32_t *tag; /* in a set from most to least recently used; 0: empty */
	uint64_t *target;
	uint8_t *what; /* btb_what of each; NULL: only what runs ahead of fetch needs it */
};
/* What an entry says of its instruction: its kind (enum bpred_kind), and its length in bytes. */
static inline uint8_t btb_what(unsigned kind, unsigned len)
{
	return (uint8_t)(kind << 4 | len);
}
static inline unsigned btb_kind(uint8_t what)
{
	return what >> 4;
}
static inline unsigned btb_len(uint8_t what)
{
	return what & 15;
}
void btb_init(struct btb *b, const struct bpred_config *c);
void btb_fini(struct btb *b);
/* From now on entries say what their instructions are; none has been made yet. */
void btb_keep_what(struct btb *b);
/* Trains with a taken control instruction; what: its btb_what. */
void btb_update(struct btb *b, uint64_t pc, uint64_t target, uint8_t what);
uint64_t btb_bits(const struct bpred_config *c);
uint64_t btb_hash(const struct btb *b, uint64_t h);

static inline uint32_t btb_set(const struct btb *b, uint64_t pc)
{
	return ((uint32_t)(pc >> 1) & b->set_mask) * b->ways;
}

static inline uint32_t btb_tag(const struct btb *b, uint64_t pc)
{
	uint64_t x = pc >> 1 >> b->set_bits;

	return (uint32_t)(x ^ x >> 31) | 1u << 31;
}

/* True if the instruction has an entry; *target is then where it went last. */
static inline bool btb_find(const struct btb *b, uint64_t pc, uint64_t *target)
{
	uint32_t set = btb_set(b, pc), tag = btb_tag(b, pc);

	for (uint32_t w = 0; w < b->ways; w++)
		if (b->tag[set + w] == tag) {
			*target = b->target[set + w];
			return true;
		}
	return false;
}

/* The first instruction with an entry among those at pc, pc + 2, … below pc + 2 * n, as an index
 * from 0; n if there is none. The entry's number goes to *entry. */
static inline uint32_t btb_search(const struct btb *b, uint64_t pc, uint32_t n, uint32_t *entry)
{
	uint32_t at = (uint32_t)(pc >> 1) & b->set_mask;

	/* Sets in a row have one tag. Gain: an eighth of the host's instructions. */
	if (likely(n <= b->set_mask + 1 - at)) {
		const wchar_t *tags = (const wchar_t *)&b->tag[at * b->ways];
		const wchar_t *found = wmemchr(tags, (wchar_t)btb_tag(b, pc), n * b->ways);

		if (!found)
			return n;
		*entry = at * b->ways + (uint32_t)(found - tags);
		return (uint32_t)(found - tags) / b->ways;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t p = pc + 2 * (uint64_t)i;
		uint32_t set = btb_set(b, p), tag = btb_tag(b, p);

		for (uint32_t w = 0; w < b->ways; w++)
			if (b->tag[set + w] == tag) {
				*entry = set + w;
				return i;
			}
	}
	return n;
}

/* True if the instruction has an entry. Compares all ways: the host cannot guess which hits. */
static inline bool btb_has(const struct btb *b, uint64_t pc)
{
	uint32_t set = btb_set(b, pc), tag = btb_tag(b, pc);
	bool hit = false;

	for (uint32_t w = 0; w < b->ways; w++)
		hit |= b->tag[set + w] == tag;
	return hit;
}

/* Indirect-target predictor; see indirect.c. */
enum { INDIRECT_TABLES = 3 };
struct indirect {
	uint32_t index_bits; /* 0: none */
	struct indirect_entry *entry;
	uint32_t random;
};
void indirect_init(struct indirect *x, const struct bpred_config *c);
void indirect_fini(struct indirect *x);
/*
 * Predicts from the history in p; base is the BTB's answer, or 0 if it has none. Returns the
 * target or 0 and notes provider and alternate in p.
 */
uint64_t indirect_predict(struct indirect *x, uint64_t pc, uint64_t base, struct bpred_pred *p);
/* Trains in program order with the p of indirect_predict. */
void indirect_update(struct indirect *x, uint64_t pc, const struct bpred_pred *p, uint64_t target);
uint64_t indirect_bits(const struct bpred_config *c);
uint64_t indirect_hash(const struct indirect *x, uint64_t h);
void indirect_saved(struct indirect *x, struct state *s);

#endif
