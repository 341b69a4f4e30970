/* SPDX-License-Identifier: MIT */
/*
 * Keeps track of the spans of regions. A region's cycles and instructions make one span, over as
 * many batches as they take. Old spans are dropped when there are very many: no twin lags that many
 * instructions behind, and no miss takes that long.
 */
#include "trace/spans.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define SPANS_MAX 65536

static void add(struct spans *s, const struct span *n)
{
	struct span *last = s->count ? &s->span[s->count - 1] : NULL;
	if (last && last->end_cycle == n->cycle) {
		last->end_cycle = n->end_cycle;
		if (last->po == last->end_po)
			last->po = n->po;
		if (n->end_po > n->po)
			last->end_po = n->end_po;
		return;
	}
	if (s->count == SPANS_MAX) { /* drops the older half */
		memmove(s->span, s->span + SPANS_MAX / 2, SPANS_MAX / 2 * sizeof(*s->span));
		s->count = SPANS_MAX / 2;
	}
	if (!s->span)
		s->span = x_malloc(SPANS_MAX * sizeof(*s->span));
	s->span[s->count++] = *n;
}

void spans_add(struct spans *s, const struct rec_cycle *cycles, size_t ncycles,
	       const struct rec_inst *insts, size_t ninsts, const struct trigger_slice *slices,
	       size_t nslices)
{
	for (size_t i = 0; i < nslices; i++) {
		const struct trigger_slice *t = &slices[i];
		if (t->cycle1 == t->cycle0)
			continue;
		const struct rec_cycle *last = &cycles[t->cycle1 - 1];
		struct span n = { .cycle = cycles[t->cycle0].cycle,
				  .end_cycle = last->cycle + last->repeat };
		for (size_t k = t->inst0; k < t->inst1; k++)
			if (insts[k].flags & RI_COMMITTED) {
				if (!n.po)
					n.po = insts[k].po;
				n.end_po = insts[k].po + 1;
			}
		add(s, &n);
	}
	if (ncycles)
		s->seen_cycle = cycles[ncycles - 1].cycle + cycles[ncycles - 1].repeat;
	for (size_t k = ninsts; k-- > 0;)
		if (insts[k].flags & RI_COMMITTED) {
			s->seen_po = insts[k].po + 1;
			break;
		}
}

size_t spans_misses(const struct spans *s, struct rec_miss *misses, size_t count)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		const size_t k = ARRAY_SEARCH(s->count, j, s->span[j].end_cycle <= misses[i].begin);
		const uint64_t end = miss_end(&misses[i]);
		if (end > s->seen_cycle || (k < s->count && s->span[k].cycle < end))
			misses[n++] = misses[i];
	}
	return n;
}

static bool is_inside(const struct spans *s, uint64_t po)
{
	/* A span without instructions has end_po 0 and is never the place of one. */
	for (size_t k = s->count; k-- > 0 && s->span[k].end_po != 0;)
		if (po >= s->span[k].po)
			return po < s->span[k].end_po;
	return false;
}

size_t spans_twins(struct spans *s, struct rec_twin **twins, size_t *capacity, size_t count)
{
	const size_t total = s->nheld + count;
	size_t n = 0;
	ARRAY_ROOM(s->held, s->capacity, total);
	if (count)
		memcpy(s->held + s->nheld, *twins, count * sizeof(**twins));
	ARRAY_ROOM(*twins, *capacity, total);
	size_t i = 0;
	for (; i < total && s->held[i].po < s->seen_po; i++)
		if (is_inside(s, s->held[i].po))
			(*twins)[n++] = s->held[i];
	s->nheld = total - i;
	if (s->nheld)
		memmove(s->held, s->held + i, s->nheld * sizeof(*s->held));
	return n;
}

void spans_free(struct spans *s)
{
	free(s->span);
	free(s->held);
}
