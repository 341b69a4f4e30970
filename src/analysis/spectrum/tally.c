/* SPDX-License-Identifier: MIT */
/* Sparse histograms: bins of costs, and a hash table of counts with linear probing. */
#include "analysis/spectrum/tally.h"

#include <stdlib.h>

#include "util/util.h"

int16_t bin_of(int64_t cycles)
{
	const uint64_t n = cycles < 0 ? 0 - (uint64_t)cycles : (uint64_t)cycles;
	int bin = (int)n;
	if (n > BIN_EXACT) {
		const int octave = 63 - __builtin_clzll(n);
		const int first = 63 - __builtin_clzll((uint64_t)BIN_EXACT + 1);
		bin = BIN_EXACT + 1 + (octave - first) * BIN_OCTAVE +
		      (int)(n >> (octave - 3) & (BIN_OCTAVE - 1));
	}
	return (int16_t)(cycles < 0 ? -bin : bin);
}
_Static_assert(BIN_OCTAVE == 8, "three bits after the first");

int64_t bin_cycles(int16_t bin)
{
	const int n = bin < 0 ? -bin : bin;
	int64_t cycles = n;
	if (n > BIN_EXACT) {
		const int first = 63 - __builtin_clzll((uint64_t)BIN_EXACT + 1);
		const int beyond = n - BIN_EXACT - 1;
		const int octave = first + beyond / BIN_OCTAVE;
		cycles = (int64_t)((uint64_t)(BIN_OCTAVE + beyond % BIN_OCTAVE) << (octave - 3));
	}
	return bin < 0 ? -cycles : cycles;
}

void tally_init(struct tally *t)
{
	*t = (struct tally){ .slot = x_calloc(1024, sizeof(*t->slot)), .mask = 1023 };
}

void tally_free(struct tally *t)
{
	free(t->slot);
}

static struct tally_entry *find(const struct tally *t, uint64_t key)
{
	size_t i = hash_u64(key) & t->mask;
	while (t->slot[i].count && t->slot[i].key != key)
		i = (i + 1) & t->mask;
	return &t->slot[i];
}

static void grow(struct tally *t)
{
	struct tally old = *t;
	t->mask = 2 * old.mask + 1;
	t->slot = x_calloc(t->mask + 1, sizeof(*t->slot));
	for (size_t i = 0; i <= old.mask; i++)
		if (old.slot[i].count)
			*find(t, old.slot[i].key) = old.slot[i];
	tally_free(&old);
}

void tally_add(struct tally *t, uint64_t key, uint64_t count)
{
	struct tally_entry *e = find(t, key);
	if (!e->count) {
		if (4 * (t->used + 1) > 3 * t->mask) {
			grow(t);
			e = find(t, key);
		}
		t->used++;
		e->key = key;
	}
	e->count += count;
}

static int by_key(const void *a, const void *b)
{
	const struct tally_entry *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

struct tally_entry *tally_sorted(const struct tally *t)
{
	struct tally_entry *out = x_malloc((t->used + 1) * sizeof(*out));
	size_t n = 0;
	for (size_t i = 0; i <= t->mask; i++)
		if (t->slot[i].count)
			out[n++] = t->slot[i];
	qsort(out, n, sizeof(*out), by_key);
	return out;
}
