/* SPDX-License-Identifier: MIT */
/*
 * Indirect-target predictor: a small ITTAGE (Seznec and Michaud 2006; Seznec, "A 64-Kbytes ITTAGE
 * indirect branch predictor", 2011). The BTB is the base; three tables with partial tags see longer
 * and longer histories, made of the targets of the last indirect jumps and the outcomes of the last
 * conditional branches; the longest match provides the target, unless it has no confidence yet and
 * a shorter one answers as well. Histories are at most 64 bits of each kind and are hashed whole,
 * so there are no folds to repair.
 *
 * Not modelled: region tables that shorten stored targets (storage is counted with whole ones).
 */
#include <stdlib.h>
#include <string.h>

#include "core/bpred/dir.h"
#include "core/bpred/target.h"

enum { TAG_BITS = 10, CONF_MAX = 3 };

struct indirect_entry {
	uint64_t target;
	uint16_t tag; /* with VALID */
	uint8_t conf;
	uint8_t useful;
};
#define VALID (1u << TAG_BITS)

/* What each table sees: 1, 4 and 12 targets; 2, 8 and 24 outcomes. */
static const uint64_t target_mask[INDIRECT_TABLES] = { 0x1f, 0xfffff, 0xfffffffffffffff };
static const uint64_t outcome_mask[INDIRECT_TABLES] = { 0x3, 0xff, 0xffffff };

void indirect_init(struct indirect *x, const struct bpred_config *c)
{
	memset(x, 0, sizeof(*x));
	x->random = 0x2545f491;
	if (c->indirect_entries == 0)
		return;
	x->index_bits = (uint32_t)__builtin_ctz(c->indirect_entries);
	x->entry = x_calloc((size_t)INDIRECT_TABLES * c->indirect_entries, sizeof(*x->entry));
}

void indirect_fini(struct indirect *x)
{
	free(x->entry);
}

static struct indirect_entry *place(struct indirect *x, uint64_t pc, const struct bpred_pred *p,
				    unsigned i, uint16_t *tag)
{
	uint64_t h = (pc >> 1) * 0x9e3779b97f4a7c15ull;

	h ^= ((p->thist & target_mask[i]) + i) * 0xd6e8feb86659fd93ull;
	h ^= (p->ghist & outcome_mask[i]) * 0xbf58476d1ce4e5b9ull;
	h ^= h >> 32;
	h *= 0x94d049bb133111ebull;
	*tag = (uint16_t)((h >> 24 & (VALID - 1)) | VALID);
	return &x->entry[((uint64_t)i << x->index_bits) + (h >> (64 - x->index_bits))];
}

uint64_t indirect_predict(struct indirect *x, uint64_t pc, uint64_t base, struct bpred_pred *p)
{
	unsigned provider = 0, alternate = 0;
	uint64_t target = base, alt = base;

	for (unsigned i = 0; x->index_bits && i < INDIRECT_TABLES; i++) {
		uint16_t tag;
		const struct indirect_entry *e = place(x, pc, p, i, &tag);

		if (e->tag != tag)
			continue;
		alternate = provider;
		provider = i + 1;
		alt = target;
		target = e->target;
		if (e->conf == 0 && alt != 0)
			target = alt;
	}
	p->dir = (uint8_t)(provider | alternate << 4);
	p->dir2 = 0;
	return target;
}

void indirect_update(struct indirect *x, uint64_t pc, const struct bpred_pred *p, uint64_t target)
{
	unsigned provider = p->dir & 15;
	bool right = p->target == target;
	struct indirect_entry *e;
	uint16_t tag;

	if (x->index_bits == 0)
		return;
	if (provider > 0) {
		e = place(x, pc, p, provider - 1, &tag);
		if (e->tag == tag) {
			bool same = e->target == target;

			/* kept while right; also right where what was predicted is not */
			e->useful = same && (e->useful || !right || e->conf > 0);
			if (same) {
				e->conf = (uint8_t)(e->conf + (e->conf < CONF_MAX));
				if (!right)
					return;
			} else if (e->conf > 0) {
				e->conf--;
			} else {
				e->target = target;
			}
		}
	}
	if (right)
		return;
	/* one table further on, or with probability 1/2 two */
	lfsr_step(&x->random);
	if (provider + 1 < INDIRECT_TABLES)
		provider += x->random & 1;
	for (unsigned i = provider; i < INDIRECT_TABLES; i++) {
		e = place(x, pc, p, i, &tag);
		if (e->useful == 0) {
			*e = (struct indirect_entry){ .target = target, .tag = tag };
			return;
		}
		e->useful = 0;
	}
}

uint64_t indirect_bits(const struct bpred_config *c)
{
	/* target, tag and valid bit, confidence, usefulness; the LFSR */
	return c->indirect_entries == 0 ? 0
					: (uint64_t)INDIRECT_TABLES * c->indirect_entries *
						  (TARGET_BITS + TAG_BITS + 1 + 2 + 1) +
					      32;
}

uint64_t indirect_hash(const struct indirect *x, uint64_t h)
{
	size_t n = x->index_bits ? (size_t)INDIRECT_TABLES << x->index_bits : 0;

	for (size_t i = 0; i < n; i++) {
		const struct indirect_entry *e = &x->entry[i];

		h = hash_u64(h ^ e->target);
		h = hash_u64(h ^ ((uint64_t)e->tag << 16 | e->conf << 8 | e->useful));
	}
	return hash_u64(h ^ x->random);
}

void indirect_saved(struct indirect *x, struct state *s)
{
	size_t n = x->index_bits ? (size_t)INDIRECT_TABLES << x->index_bits : 0;

	saved_same(s, x->index_bits, "indirect predictor");
	saved_lfsr(s, &x->random);
	for (size_t i = 0; i < n; i++) {
		state_u64(s, &x->entry[i].target);
		state_u16(s, &x->entry[i].tag);
		state_u8(s, &x->entry[i].conf);
		state_u8(s, &x->entry[i].useful);
	}
}
