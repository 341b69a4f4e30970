/* SPDX-License-Identifier: MIT */
/*
 * Branch-target buffer: set-associative, true LRU, filled and aged at commit by taken control
 * instructions only (fields2004 table VII: 4k entries, 2-way). An entry is the address's tag and
 * the last target; for a front end that runs ahead of fetch, also the instruction's kind and
 * length, which are 4 bits of hardware. Each set is kept in order of use, so the common hit is the
 * first compare.
 *
 * Tags are the whole address folded to 31 bits: practically never a false hit. Code that is
 * rewritten in place keeps its entry; a direct jump's target is taken from the instruction, not
 * from here, so that costs nothing but a hit that hardware would not have had. Not modelled: levels
 * of BTB, partial targets, read latency, several branches per fetch block sharing an entry.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bpred/dir.h"
#include "core/bpred/target.h"

void btb_init(struct btb *b, const struct bpred_config *c)
{
	uint32_t sets = c->btb_entries / c->btb_ways;

	b->set_mask = sets - 1;
	b->set_bits = (uint32_t)__builtin_ctz(sets);
	b->ways = c->btb_ways;
	b->tag = x_calloc(c->btb_entries, sizeof(*b->tag));
	b->target = x_calloc(c->btb_entries, sizeof(*b->target));
}

void btb_fini(struct btb *b)
{
	free(b->tag);
	free(b->target);
	free(b->what);
}

void btb_keep_what(struct btb *b)
{
	b->what = x_calloc((size_t)(b->set_mask + 1) * b->ways, sizeof(*b->what));
}

/* Not inlined: calls of memmove cost a machine that does not run ahead 4 host instructions a
 * branch. */
static __attribute__((noinline)) void keep_what(uint8_t *set, uint32_t w, uint8_t what)
{
	memmove(set + 1, set, w);
	set[0] = what;
}

void btb_update(struct btb *b, uint64_t pc, uint64_t target, uint8_t what)
{
	uint32_t set = btb_set(b, pc), tag = btb_tag(b, pc), w = 0;
	uint32_t *tags = &b->tag[set];
	uint64_t *targets = &b->target[set];

	while (w < b->ways - 1 && tags[w] != tag)
		w++;
	/* w is the entry, or the least recently used one */
	if (unlikely(b->what != NULL))
		keep_what(&b->what[set], w, what);
	for (; w > 0; w--) {
		tags[w] = tags[w - 1];
		targets[w] = targets[w - 1];
	}
	tags[0] = tag;
	targets[0] = target;
}

uint64_t btb_bits(const struct bpred_config *c)
{
	uint32_t sets = c->btb_entries / c->btb_ways, lru = 0;
	uint32_t tag = TARGET_BITS - (uint32_t)__builtin_ctz(sets);

	while (1u << lru < c->btb_ways)
		lru++;
	return (uint64_t)c->btb_entries * (1 + tag + TARGET_BITS + lru);
}

uint64_t btb_hash(const struct btb *b, uint64_t h)
{
	size_t n = (size_t)(b->set_mask + 1) * b->ways;

	h = bpred_hash_bytes(h, b->tag, n * sizeof(*b->tag));
	return bpred_hash_bytes(h, b->target, n * sizeof(*b->target));
}
