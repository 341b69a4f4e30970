/* SPDX-License-Identifier: MIT */
/* The ring of stamps, and binary searches in it. */
#include "analysis/spectrum/stamps.h"

#include <stdlib.h>

#include "util/util.h"

void stamps_init(struct stamps *s, size_t capacity)
{
	size_t n = 1;
	while (n < capacity)
		n *= 2;
	*s = (struct stamps){ .at = x_calloc(n, sizeof(*s->at)), .mask = n - 1 };
}

void stamps_free(struct stamps *s)
{
	free(s->at);
}

void stamps_begin(struct stamps *s, uint64_t po)
{
	s->first = s->end = po;
	s->forgot = false;
	s->base = 0;
}

static uint64_t search(const struct stamps *s, uint64_t cycle, size_t member)
{
	uint64_t lo = s->first, hi = s->end; /* finds the first not before the cycle */
	while (lo < hi) {
		const uint64_t mid = lo + (hi - lo) / 2;
		const char *stamp = (const char *)&s->at[mid & s->mask];
		if (*(const uint64_t *)(const void *)(stamp + member) < cycle)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

uint64_t stamps_dispatched(const struct stamps *s, uint64_t cycle)
{
	return search(s, cycle, offsetof(struct stamp, dispatch));
}

uint64_t stamps_committed(const struct stamps *s, uint64_t cycle)
{
	return search(s, cycle, offsetof(struct stamp, commit));
}

int64_t stamps_lag(const struct stamps *s, uint64_t po)
{
	return po < s->first && !s->forgot ? s->base : stamp_lag(stamps_at(s, po));
}
