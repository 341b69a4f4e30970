/* SPDX-License-Identifier: MIT */
#include "collect/held.h"

#include "util/array.h"

void held_init(struct held *h, enum held_kind kind)
{
	*h = (struct held){ .kind = kind };
}

static uint64_t bit(uint32_t number)
{
	return 1ull << (number & 63);
}

static size_t word(uint32_t number)
{
	return number >> 6 & 63;
}

void held_ask(struct held *h, uint32_t number)
{
	h->number[h->n++] = number;
	h->filter[word(number)] |= bit(number);
}

size_t held_find(const struct held *h, uint32_t number)
{
	if (!(h->filter[word(number)] & bit(number)))
		return SIZE_MAX;
	const size_t at = ARRAY_SEARCH(h->n, i, h->number[i] < number);

	return at < h->n && h->number[at] == number ? at : SIZE_MAX;
}

void held_mark(struct held *h, enum held_kind kind, uint32_t number)
{
	const size_t at = kind == h->kind ? held_find(h, number) : SIZE_MAX;

	if (at != SIZE_MAX)
		h->held[at] = true;
}
