/* SPDX-License-Identifier: MIT */
/*
 * Sets of disjoint ranges of addresses that share memory: copying a set takes one step, and a change
 * of one copy costs the logarithm of its size, whoever else has it. All sets of a pool have their
 * nodes there. A set is named by its root; 0 is the empty set.
 */
#ifndef COLLECT_INTERVALS_H
#define COLLECT_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intervals;

/* start up to but without end; base is what the first address counts as (a file offset). */
struct interval {
	uint64_t start, end, base;
	uint32_t what;
};

/* seed: decides the trees' shape and nothing that can be asked; secret, so that nobody can choose
 * addresses which make a tree deep. */
struct intervals *intervals_new(uint64_t seed);
void intervals_free(struct intervals *p);

/* One more user of the set, for another variable. */
uint32_t intervals_share(struct intervals *p, uint32_t root);
/* One user less; memory of the last one is used again. */
void intervals_drop(struct intervals *p, uint32_t root);
/* The set with the range put over whatever was there. The caller's root is used up. Neighbours that
 * continue each other become one. */
uint32_t intervals_set(struct intervals *p, uint32_t root, struct interval range);
/* The set without these addresses. The caller's root is used up. */
uint32_t intervals_clear(struct intervals *p, uint32_t root, uint64_t start, uint64_t end);
/* The first range that ends above the address: the one it lies in, or the next one. */
bool intervals_next(const struct intervals *p, uint32_t root, uint64_t address,
		    struct interval *out);
/* The range that an address lies in. */
bool intervals_find(const struct intervals *p, uint32_t root, uint64_t address,
		    struct interval *out);
/* Sets used[what] for all that is in any set and below count. */
void intervals_mark(const struct intervals *p, bool *used, size_t count);
/* Memory of all sets. */
size_t intervals_bytes(const struct intervals *p);
/* Nodes in use, for tests. */
size_t intervals_used(const struct intervals *p);

#endif
