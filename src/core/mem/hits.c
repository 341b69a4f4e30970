/* SPDX-License-Identifier: MIT */
/*
 * Misses that are to be hits: what a cluster of misses cost is what a run without them saves.
 *
 * The misses are those of another run of the same program on the same machine (trace/hits.h). Both
 * runs are the same up to the first of them. There, the line or the translation is put in, in no
 * time, and the access hits. From then on this run is ahead of the other, and may ask for the lines
 * in another order, or not at all where a wrong path is not taken any more. So each of them hits
 * when it is asked for, whenever that is, and is put in when the cycle is over in which the other
 * run missed, asked for or not: afterwards the caches hold what they held in the other run.
 *
 * Everything else is as it was. Prefetchers see the miss, replacement on the way down sees the
 * access; a victim that is dirty is written back, but takes no bus.
 */
#include <stdlib.h>
#include <string.h>

#include "core/mem/mem_int.h"

struct hit_list {
	size_t count, first; /* those before first are over */
	struct named {
		struct hit hit;
		bool done;
	} at[];
};

static int by_begin(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return (x->hit.begin > y->hit.begin) - (x->hit.begin < y->hit.begin);
}

void memsys_hits(struct memsys *ms, const struct hit *hits, size_t count)
{
	free(ms->hits);
	ms->hits = NULL;
	if (!count)
		return;
	ms->hits = x_calloc(1, sizeof(*ms->hits) + count * sizeof(ms->hits->at[0]));
	ms->hits->count = count;
	for (size_t i = 0; i < count; i++)
		ms->hits->at[i].hit = hits[i];
	qsort(ms->hits->at, count, sizeof(ms->hits->at[0]), by_begin);
}

static bool is_page(const struct hit *h)
{
	return h->kind == MISS_ITLB || h->kind == MISS_DTLB;
}

/* Brings a line into a cache and those below it, as an access that misses does. */
static void bring(struct memsys *ms, struct cache *c, const struct pf_access *a, uint8_t state,
		  uint64_t t)
{
	const int64_t index = tags_find(&c->t, a->line);
	struct pf_access seen = *a;

	if (index >= 0) {
		if (c->id > MEM_L1D) {
			seen.miss = false;
			seen.first_use = cache_hit(ms, c, (uint32_t)index, false);
			prefetch_observe(ms, c, &seen, NULL, t);
		}
		return;
	}
	if (mshr_find(c, a->line))
		return; /* it comes by itself */
	if (c->next != MEMORY) {
		struct pf_access below = *a;

		below.line >>= c->widen;
		bring(ms, &ms->cache[c->next], &below, 0, t);
	}
	cache_install(ms, c, a->line, state, t, INSTALL_FREE);
	seen.miss = true;
	if (!(state & TS_PREFETCHED))
		prefetch_observe(ms, c, &seen, NULL, t);
}

static void bring_walk(struct memsys *ms, uint64_t vpn, uint64_t t)
{
	const int first = walk_first(ms);

	for (int depth = walk_start_depth(ms, vpn); depth >= 0; depth--) {
		const struct pf_access a = { .line = walk_entry_addr(ms, vpn, depth) >>
						     line_shift_of(ms, first) };

		if (first != MEMORY)
			bring(ms, &ms->cache[first], &a, 0, t);
		walk_cache_put(ms, vpn, depth);
	}
}

static void bring_page(struct memsys *ms, bool fetch, uint64_t vpn, uint64_t t)
{
	struct tag_array *tlb = fetch ? &ms->itlb : &ms->dtlb;
	int64_t index;

	if (tags_find(tlb, vpn) >= 0)
		return;
	index = ms->has_stlb ? tags_find(&ms->stlb, vpn) : -1;
	if (index >= 0) {
		tags_touch(&ms->stlb, (uint32_t)index);
	} else {
		if (ms->cfg.walk == MEM_WALK_CACHES)
			bring_walk(ms, vpn, t);
		if (ms->has_stlb)
			tlb_put(&ms->stlb, vpn);
	}
	tlb_put(tlb, vpn);
}

/* The cache of a miss. A record does not say which one prefetched: the one that can. */
static struct cache *cache_of(struct memsys *ms, const struct hit *h)
{
	const bool prefetch = h->kind == MISS_PREFETCH && !ms->cache[MEM_L1D].pf;

	return &ms->cache[h->kind == MISS_FETCH || prefetch ? MEM_L1I : MEM_L1D];
}

static uint8_t state_of(const struct cache *c, const struct hit *h)
{
	if (h->kind == MISS_HINT || h->kind == MISS_PREFETCH)
		return TS_PREFETCHED;
	return h->kind == MISS_STORE && !c->cfg.write_through ? TS_DIRTY : 0;
}

/* Finds a miss that is to be a hit in cycle t, and marks it as done. */
static const struct hit *take(struct memsys *ms, bool page, bool fetch, uint64_t addr, uint64_t t)
{
	struct hit_list *l = ms->hits;

	if (t < l->at[0].hit.begin)
		return NULL;
	for (size_t i = l->first; i < l->count; i++) {
		struct named *n = &l->at[i];

		if (n->done || n->hit.addr != addr || is_page(&n->hit) != page ||
		    (page && fetch != (n->hit.kind == MISS_ITLB)))
			continue;
		n->done = true;
		return &n->hit;
	}
	return NULL;
}

bool hits_line(struct memsys *ms, struct cache *c, const struct pf_access *a, bool write,
	       bool prefetch, uint64_t t)
{
	const uint8_t state = prefetch			       ? TS_PREFETCHED
			      : write && !c->cfg.write_through ? TS_DIRTY
							       : 0;

	if (c->id > MEM_L1D || mshr_find(c, a->line) ||
	    !take(ms, false, false, a->line << c->line_shift, t))
		return false;
	bring(ms, c, a, state, t);
	return true;
}

bool hits_page(struct memsys *ms, bool fetch, uint64_t vpn, uint64_t t)
{
	if (!take(ms, true, fetch, vpn << ms->page_shift, t))
		return false;
	bring_page(ms, fetch, vpn, t);
	return true;
}

void hits_pass(struct memsys *ms, uint64_t now)
{
	struct hit_list *l = ms->hits;

	for (; l->first < l->count && l->at[l->first].hit.begin < now; l->first++) {
		const struct hit *h = &l->at[l->first].hit;
		struct cache *c = cache_of(ms, h);

		if (l->at[l->first].done)
			continue;
		if (is_page(h))
			bring_page(ms, h->kind == MISS_ITLB, h->addr >> ms->page_shift, now);
		else
			bring(ms, c, &(struct pf_access){ .line = h->addr >> c->line_shift },
			      state_of(c, h), now);
	}
}
