/* SPDX-License-Identifier: MIT */
/* The ring of stamps, and binary searches in it. */
#include "analysis/spectrum/stamps.h"

#include <assert.h>
#include <stdlib.h>

#include "util/util.h"

void stamps_init(struct stamps *s, size_t capacity)
{
	size_t n = 1;
	while (n < capacity)
		n *= 2;
	*s = (struct stamps){ .at = x_calloc(2 * n, sizeof(*s->at)), .mask = 2 * n - 1, .kept = n };
}

void stamps_free(struct stamps *s)
{
	free(s->at);
}

void stamps_begin(struct stamps *s, uint64_t po)
{
	s->first = s->end = s->ahead = po;
	s->forgot = false;
	s->base = 0;
	s->at[(po - 1) & s->mask] = (struct stamp){ 0 };
}

void stamps_room(struct stamps *s, size_t n)
{
	/* One more: the last that was dropped. */
	const size_t needed = (size_t)(s->ahead - s->first) + n + 1;
	if (likely(needed <= s->mask + 1))
		return;
	size_t size = s->mask + 1;
	while (size < needed)
		size *= 2;
	struct stamp *larger = x_calloc(size, sizeof(*larger));
	for (uint64_t po = s->first - 1; po != s->ahead; po++)
		larger[po & (size - 1)] = s->at[po & s->mask];
	free(s->at);
	s->at = larger;
	s->mask = size - 1;
}

size_t stamps_twin(struct stamps *s, const struct rec_twin *twins, size_t n)
{
	struct stamp *at = s->at;
	const size_t mask = s->mask;
	const uint64_t end = s->end;
	size_t i = 0;
	assert(n <= s->ahead - end);
	for (; i < n && twins[i].po == end + i; i++) {
		struct stamp *stamp = &at[(end + i) & mask];
		stamp->twin_dispatch = twins[i].dispatch;
		stamp->twin_commit = twins[i].dispatch + twins[i].commit;
	}
	/* In a region that starts with the run both clocks begin at the run's start. Another
	 * region begins, on both machines, as many cycles before its first commit as it does on
	 * the run's. */
	if (i && !stamps_any(s))
		s->base = end == 1 ? 0 : stamp_lag(&at[end & mask]);
	s->end += i;
	if (s->end - s->first > s->kept) {
		s->first = s->end - s->kept;
		s->forgot = true;
	}
	return i;
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
