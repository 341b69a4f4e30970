/* SPDX-License-Identifier: MIT */
/*
 * Misses by static instruction, and pairs of neighbours. A cluster's net cost is split among its
 * loads when it ends, so each load keeps its counts of the open cluster apart. Both splits add up
 * to the net cost exactly: parts are differences of rounded running sums.
 */
#include "analysis/spectrum/loads.h"

#include <stdlib.h>
#include <string.h>

#include "util/util.h"

void loads_init(struct loads *l)
{
	*l = (struct loads){ .mask = 255, .pair_mask = 255, .cluster = 1 };
	l->slot = x_calloc(l->mask + 1, sizeof(*l->slot));
	l->pair_slot = x_calloc(l->pair_mask + 1, sizeof(*l->pair_slot));
	tally_init(&l->bins);
}

void loads_free(struct loads *l)
{
	tally_free(&l->bins);
	free(l->load);
	free(l->slot);
	free(l->pair);
	free(l->pair_slot);
	free(l->touched);
}

static uint64_t load_hash(uint64_t pc, unsigned kind)
{
	return hash_u64(pc << 4 | kind);
}

static uint64_t pair_hash(uint32_t first, uint32_t second)
{
	return hash_u64((uint64_t)first << 32 | second);
}

/* Doubles a table of indices; hash says where entry i goes. */
static uint32_t *rehash(uint32_t *slot, size_t *mask, size_t count,
			uint64_t (*hash)(const struct loads *l, size_t i), const struct loads *l)
{
	free(slot);
	*mask = 2 * *mask + 1;
	slot = x_calloc(*mask + 1, sizeof(*slot));
	for (size_t i = 0; i < count; i++) {
		size_t at = hash(l, i) & *mask;
		while (slot[at])
			at = (at + 1) & *mask;
		slot[at] = (uint32_t)i + 1;
	}
	return slot;
}

static uint64_t hash_of_load(const struct loads *l, size_t i)
{
	return load_hash(l->load[i].pc, l->load[i].kind);
}

static uint64_t hash_of_pair(const struct loads *l, size_t i)
{
	return pair_hash(l->pair[i].first, l->pair[i].second);
}

static uint32_t find_load(struct loads *l, uint64_t pc, uint8_t kind)
{
	size_t at = load_hash(pc, kind) & l->mask;
	for (; l->slot[at]; at = (at + 1) & l->mask) {
		const struct load *p = &l->load[l->slot[at] - 1];
		if (p->pc == pc && p->kind == kind)
			return l->slot[at] - 1;
	}
	if (l->nloads == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 128;
		l->load = x_realloc(l->load, l->capacity * sizeof(*l->load));
	}
	l->load[l->nloads++] = (struct load){ .pc = pc, .kind = kind };
	l->slot[at] = (uint32_t)l->nloads;
	if (2 * l->nloads > l->mask)
		l->slot = rehash(l->slot, &l->mask, l->nloads, hash_of_load, l);
	return (uint32_t)l->nloads - 1;
}

static struct load_pair *find_pair(struct loads *l, uint32_t first, uint32_t second)
{
	size_t at = pair_hash(first, second) & l->pair_mask;
	for (; l->pair_slot[at]; at = (at + 1) & l->pair_mask) {
		struct load_pair *p = &l->pair[l->pair_slot[at] - 1];
		if (p->first == first && p->second == second)
			return p;
	}
	if (l->npairs == PAIRS_MAX)
		return NULL;
	if (l->npairs == l->pair_capacity) {
		l->pair_capacity = l->pair_capacity ? 2 * l->pair_capacity : 128;
		l->pair = x_realloc(l->pair, l->pair_capacity * sizeof(*l->pair));
	}
	l->pair[l->npairs++] = (struct load_pair){ .first = first, .second = second };
	l->pair_slot[at] = (uint32_t)l->npairs;
	if (2 * l->npairs > l->pair_mask)
		l->pair_slot = rehash(l->pair_slot, &l->pair_mask, l->npairs, hash_of_pair, l);
	return &l->pair[l->npairs - 1];
}

static void add_pair(struct loads *l, uint32_t second, const struct rec_miss *m)
{
	struct load_pair *p = find_pair(l, l->last, second);
	if (!p) {
		l->pairs_left++;
	} else if (m->begin < l->last_end) {
		p->overlapped++;
		p->overlapped_cycles += min_u64(l->last_end, miss_end(m)) - m->begin;
	} else {
		p->serial++;
		p->serial_cycles += m->end;
	}
}

static void touch(struct loads *l, uint32_t index)
{
	struct load *p = &l->load[index];
	if (p->cluster == l->cluster)
		return;
	if (l->ntouched == l->touched_capacity) {
		l->touched_capacity = l->touched_capacity ? 2 * l->touched_capacity : 64;
		l->touched = x_realloc(l->touched, l->touched_capacity * sizeof(*l->touched));
	}
	l->touched[l->ntouched++] = index;
	p->cluster = l->cluster;
	p->count = p->weight = p->wrong_now = p->hidden_now = 0;
	memset(p->level, 0, sizeof(p->level));
}

void loads_miss(struct loads *l, const struct rec_miss *m, unsigned level, int64_t growth)
{
	const uint32_t index = find_load(l, m->pc, m->kind);
	touch(l, index);
	struct load *p = &l->load[index];
	p->count++;
	p->level[level]++;
	p->wrong_now += m->flags & MISS_WRONG_PATH;
	p->hidden_now += growth <= 0;
	p->weight += growth > 0 ? (uint64_t)growth : 0;
	tally_add(&l->bins, (uint64_t)index << 16 | (uint16_t)bin_of(growth), 1);
	if (l->any)
		add_pair(l, index, m);
	l->any = true;
	l->last = index;
	l->last_end = miss_end(m);
}
_Static_assert(MISS_WRONG_PATH == 1, "counts one");

/* The part of `net` for a share that runs from `before` to `after` out of `all`. */
static int64_t part(int64_t net, uint64_t before, uint64_t after, uint64_t all)
{
	return (int64_t)((__int128)net * after / all) - (int64_t)((__int128)net * before / all);
}

void loads_close(struct loads *l, uint64_t size, int64_t net, bool counted)
{
	uint64_t weights = 0, weight = 0, count = 0;
	for (size_t i = 0; i < l->ntouched; i++)
		weights += l->load[l->touched[i]].weight;
	for (size_t i = 0; counted && i < l->ntouched; i++) {
		struct load *p = &l->load[l->touched[i]];
		const int64_t even = part(net, count, count + p->count, size);
		p->even += even;
		p->exposed += weights ? part(net, weight, weight + p->weight, weights) : even;
		count += p->count;
		weight += p->weight;
		p->wrong += p->wrong_now;
		p->hidden += p->hidden_now;
		p->isolated += size == 1;
		p->sizes += size * p->count;
		for (unsigned k = 0; k < SPECTRUM_LEVELS; k++)
			p->misses[k] += p->level[k];
	}
	l->ntouched = 0;
	l->cluster++;
	l->any = false;
}
