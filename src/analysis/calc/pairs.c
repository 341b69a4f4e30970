/* SPDX-License-Identifier: MIT */
/* The table of pairs.h: open addressing with linear probing, at most half full. */
#include "analysis/calc/pairs.h"

#include <stdlib.h>

void pairs_init(struct pairs *p)
{
	*p = (struct pairs){ .mask = 1023 };
	p->slot = x_calloc(p->mask + 1, sizeof(*p->slot));
}

void pairs_free(struct pairs *p)
{
	free(p->slot);
	p->slot = NULL;
}

static struct pair *probe(const struct pairs *p, uint64_t key, uint64_t other)
{
	size_t i = pairs_hash(key, other) & p->mask;
	while (p->slot[i].key && (p->slot[i].key != key || p->slot[i].other != other))
		i = (i + 1) & p->mask;
	return &p->slot[i];
}

struct pair *pairs_find(struct pairs *p, uint64_t key, uint64_t other)
{
	struct pair *s = probe(p, key, other);
	if (s->key)
		return s;
	if (2 * ++p->used > p->mask) {
		struct pairs bigger = { .mask = 2 * p->mask + 1, .used = p->used };
		bigger.slot = x_calloc(bigger.mask + 1, sizeof(*bigger.slot));
		for (size_t i = 0; i <= p->mask; i++)
			if (p->slot[i].key)
				*probe(&bigger, p->slot[i].key, p->slot[i].other) = p->slot[i];
		free(p->slot);
		*p = bigger;
		s = probe(p, key, other);
	}
	s->key = key;
	s->other = other;
	return s;
}

static int by_key(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->other > y->other) - (x->other < y->other);
}

struct pair *pairs_sorted(const struct pairs *p)
{
	struct pair *all = x_calloc(p->used + 1, sizeof(*all));
	size_t n = 0;
	for (size_t i = 0; i <= p->mask; i++)
		if (p->slot[i].key)
			all[n++] = p->slot[i];
	qsort(all, n, sizeof(*all), by_key);
	return all;
}
