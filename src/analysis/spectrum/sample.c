/* SPDX-License-Identifier: MIT */
/* A random sample of clusters: those with the lowest ranks, in a heap with the highest on top. */
#include "analysis/spectrum/sample.h"

#include <stdlib.h>
#include <string.h>

#include "util/util.h"

void samples_init(struct samples *s, size_t capacity, uint64_t seed)
{
	s->at = x_calloc(capacity + 1, sizeof(*s->at));
	s->capacity = capacity;
	s->seed = seed;
}

void samples_free(struct samples *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->at[i].misses);
	free(s->at);
}

void samples_miss(struct samples *s, const struct rec_miss *m)
{
	if (s->nopen < SAMPLE_MISSES)
		s->open[s->nopen] = (struct hit){ m->begin, m->line, m->kind };
	s->nopen++;
}

static void swap(struct sampled *a, struct sampled *b)
{
	const struct sampled c = *a;

	*a = *b;
	*b = c;
}

static void sift_up(struct sampled *at, size_t i)
{
	for (; i && at[i].rank > at[(i - 1) / 2].rank; i = (i - 1) / 2)
		swap(&at[i], &at[(i - 1) / 2]);
}

static void sift_down(struct sampled *at, size_t count)
{
	for (size_t i = 0, child; (child = 2 * i + 1) < count; i = child) {
		child += child + 1 < count && at[child + 1].rank > at[child].rank;
		if (at[child].rank <= at[i].rank)
			return;
		swap(&at[i], &at[child]);
	}
}

void samples_close(struct samples *s, const struct sampled *c)
{
	const size_t n = s->nopen;
	struct sampled new;

	s->nopen = 0;
	if (!c || !s->capacity)
		return;
	if (n > SAMPLE_MISSES) {
		s->too_large++;
		return;
	}
	new = *c;
	new.rank = hash_u64(c->begin ^ hash_u64(s->seed));
	if (s->count == s->capacity) {
		if (new.rank >= s->at[0].rank)
			return;
		free(s->at[0].misses);
		s->at[0] = s->at[--s->count];
		sift_down(s->at, s->count);
	}
	new.misses = x_malloc(n * sizeof(*new.misses));
	memcpy(new.misses, s->open, n * sizeof(*new.misses));
	s->at[s->count] = new;
	sift_up(s->at, s->count++);
}

static int by_rank(const void *a, const void *b)
{
	const struct sampled *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

void samples_sort(struct samples *s)
{
	qsort(s->at, s->count, sizeof(*s->at), by_rank);
}
