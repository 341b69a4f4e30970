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

struct range_sets;

/* start up to but without end; base is what the first address counts as (a file offset). */
struct interval {
	uint64_t start, end, base;
	uint32_t what;
};

/* seed: decides the trees' shape and nothing that can be asked; secret, so that nobody can choose
 * addresses which make a tree deep. */
struct range_sets *range_sets_new(uint64_t seed);
void range_sets_free(struct range_sets *p);

/* One more user of the set, for another variable. */
uint32_t range_sets_share(struct range_sets *p, uint32_t root);
/* One user less; memory of the last one is used again. */
void range_sets_drop(struct range_sets *p, uint32_t root);
/* The set with the range put over whatever was there. The caller's root is used up. Neighbours that
 * continue each other become one. */
uint32_t range_sets_set(struct range_sets *p, uint32_t root, struct interval range);
/* The set without these addresses. The caller's root is used up. */
uint32_t range_sets_clear(struct range_sets *p, uint32_t root, uint64_t start, uint64_t end);
/* The first range that ends above the address: the one it lies in, or the next one. */
bool range_sets_next(const struct range_sets *p, uint32_t root, uint64_t address,
		     struct interval *out);
/* The range that an address lies in. */
bool range_sets_find(const struct range_sets *p, uint32_t root, uint64_t address,
		     struct interval *out);
/* Sets used[what] for all that is in any set and below count. */
void range_sets_mark(const struct range_sets *p, bool *used, size_t count);
/* Memory of all sets. */
size_t range_sets_bytes(const struct range_sets *p);
/* Nodes in use, for tests. */
size_t range_sets_used(const struct range_sets *p);

#endif
