/* SPDX-License-Identifier: MIT */
#include "util/interned.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/util.h"

static size_t hash_of(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	while (*text)
		h = (h ^ (unsigned char)*text++) * 0x100000001b3;
	return (size_t)(h ^ h >> 29);
}

static void grow(struct interned *t)
{
	free(t->slots);
	t->nslots = t->nslots ? 2 * t->nslots : 1024;
	t->slots = x_calloc(t->nslots, sizeof(*t->slots));
	for (size_t n = 0; n < t->count; n++) {
		size_t k = hash_of(t->list[n]) & (t->nslots - 1);

		while (t->slots[k])
			k = (k + 1) & (t->nslots - 1);
		t->slots[k] = (uint32_t)n + 1;
	}
}

uint32_t interned_number(struct interned *t, const char *text)
{
	if (!text)
		return 0;
	if (2 * t->count >= t->nslots)
		grow(t);
	size_t k = hash_of(text) & (t->nslots - 1);

	for (; t->slots[k]; k = (k + 1) & (t->nslots - 1))
		if (!strcmp(t->list[t->slots[k] - 1], text))
			return t->slots[k];
	ARRAY_ROOM(t->list, t->capacity, t->count + 1);
	t->list[t->count++] = x_strdup(text);
	return t->slots[k] = (uint32_t)t->count;
}

const char *interned(struct interned *t, const char *text)
{
	const uint32_t n = interned_number(t, text);

	return n ? t->list[n - 1] : NULL;
}

void interned_free(struct interned *t)
{
	for (size_t n = 0; n < t->count; n++)
		free(t->list[n]);
	free(t->list);
	free(t->slots);
	*t = (struct interned){ 0 };
}
