/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing; grows at half full, so that a hot loop's first probe hits.
 */
#include "analysis/profile/cells.h"

#include <stdlib.h>
#include <string.h>

const char *const time_category_name[TIME_CATEGORY_COUNT] = {
	[TIME_EXECUTION] = "execution",	    [TIME_FRONTEND] = "front end",
	[TIME_ALU_STALL] = "ALU stall",	    [TIME_LOAD_STALL] = "load stall",
	[TIME_STORE_STALL] = "store stall", [TIME_MISPREDICT] = "mispredict",
	[TIME_MISC_FLUSH] = "misc. flush",
};

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
