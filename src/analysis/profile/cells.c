/* SPDX-License-Identifier: MIT */
/* The tables of cells.h. They use open addressing with linear probing and grow when half full, so
 * that a hot loop's first probe hits. */
#include "analysis/profile/cells.h"

#include <stdlib.h>
#include <string.h>

void cells_init(struct cells *c)
{
	c->mask = 1023;
	c->used = 0;
	c->slot = x_calloc(c->mask + 1, sizeof(*c->slot));
}

void cells_free(struct cells *c)
{
	free(c->slot);
	c->slot = NULL;
}

static struct cell *probe(const struct cells *c, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15ull >> 32) & c->mask;
	while (c->slot[i].key && c->slot[i].key != key)
		i = (i + 1) & c->mask;
	return &c->slot[i];
}

struct cell *cells_find(struct cells *c, uint64_t key)
{
	struct cell *s = probe(c, key);
	if (s->key)
		return s;
	if (2 * ++c->used > c->mask) {
		struct cells bigger = { .mask = 2 * c->mask + 1 };
		bigger.slot = x_calloc(bigger.mask + 1, sizeof(*bigger.slot));
		for (size_t i = 0; i <= c->mask; i++)
			if (c->slot[i].key)
				*probe(&bigger, c->slot[i].key) = c->slot[i];
		free(c->slot);
		c->slot = bigger.slot;
		c->mask = bigger.mask;
		s = probe(c, key);
	}
	s->key = key;
	return s;
}

void cells_later_flush(struct cells_later *l)
{
	for (unsigned i = 0; i < l->count; i++)
		cells_add(l->into, l->add[i].key, l->add[i].units, 0);
	l->count = 0;
	l->last_key = 0;
}

void execs_init(struct execs *x, struct cells *into, unsigned category)
{
	*x = (struct execs){ .mask = 63, .into = into, .category = category };
	x->chunks = x_calloc(x->mask + 1, sizeof(*x->chunks));
}

void execs_free(struct execs *x)
{
	for (size_t i = 0; x->chunks && i <= x->mask; i++)
		free(x->chunks[i].at);
	free(x->chunks);
	x->chunks = NULL;
}

static struct exec_chunk *find_chunk(struct exec_chunk *chunks, size_t mask, uint64_t number)
{
	size_t i = hash_u64(number) & mask;
	while (chunks[i].at && chunks[i].number != number)
		i = (i + 1) & mask;
	return &chunks[i];
}

static void grow_chunks(struct execs *x)
{
	const size_t mask = 2 * x->mask + 1;
	struct exec_chunk *bigger = x_calloc(mask + 1, sizeof(*bigger));
	for (size_t i = 0; i <= x->mask; i++)
		if (x->chunks[i].at)
			*find_chunk(bigger, mask, x->chunks[i].number) = x->chunks[i];
	free(x->chunks);
	x->chunks = bigger;
	x->mask = mask;
}

uint64_t *execs_chunk(struct execs *x, uint64_t number)
{
	struct exec_chunk *k = find_chunk(x->chunks, x->mask, number);
	if (!k->at) {
		if (2 * ++x->used > x->mask) {
			grow_chunks(x);
			k = find_chunk(x->chunks, x->mask, number);
		}
		k->number = number;
		k->at = x_aligned(EXEC_CHUNK * sizeof(*k->at));
		memset(k->at, 0, EXEC_CHUNK * sizeof(*k->at));
	}
	x->near[number % EXEC_NEAR] = *k;
	return k->at;
}

void execs_spill(struct execs *x, uint64_t place, uint64_t *at)
{
	cells_add(x->into, cell_key(place << 1 | place >> 63, 0, x->category), *at % EXEC_ONE,
		  *at / EXEC_ONE);
	*at = 0;
}

void execs_move(struct execs *x)
{
	for (size_t i = 0; i <= x->mask; i++) {
		const struct exec_chunk *k = &x->chunks[i];
		for (uint64_t j = 0; k->at && j < EXEC_CHUNK; j++)
			if (k->at[j])
				execs_spill(x, k->number * EXEC_CHUNK + j, &k->at[j]);
	}
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = ((const struct cell *)a)->key, y = ((const struct cell *)b)->key;
	return (x > y) - (x < y);
}

struct cell *cells_sorted(const struct cells *c)
{
	struct cell *all = x_calloc(c->used, sizeof(*all));
	size_t n = 0;
	for (size_t i = 0; i <= c->mask; i++)
		if (c->slot[i].key)
			all[n++] = c->slot[i];
	qsort(all, n, sizeof(*all), by_key);
	return all;
}
