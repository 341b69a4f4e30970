/* SPDX-License-Identifier: MIT */
/*
 * TLBs and page walks.
 *
 * The L1 TLBs are looked up in parallel with the caches: a hit costs nothing. A miss asks the
 * second-level TLB, which I- and D-side share; missing that too, the page is walked, either in a
 * fixed time (SimpleScalar's, fields2004's and eyerman2006's TLB penalty) or as sv39 does it: root,
 * middle and leaf entry, each an 8-byte load that depends on the one before and goes through the
 * caches like any other (BOOM's page-table walker). The walker keeps a few non-leaf entries, so
 * that most walks load only the leaf. Page tables have no content here: an entry's address is made
 * from a hash of the table it is in (tables lie scattered over memory) and its index, so that
 * neighbouring pages' entries share lines as they do in a real table. All pages are of one size.
 *
 * The cache access begins when the translation is there, or with the walk (walk.beside): SimpleScalar
 * looks both up at once and takes the longer.
 *
 * Misses on one page wait for one walk. TLBs are filled when the translation is there; with a
 * limited number of walkers the others queue in order.
 */
#include "core/mem/mem_int.h"

#define INDEX_BITS  9		       /* entries per table: 512 */
#define TABLE_SPACE (1ull << 63)       /* page tables live above all user addresses */
#define TABLE_MASK  ((1ull << 36) - 1) /* number of places for tables */

void tlb_put(struct tag_array *t, uint64_t vpn)
{
	int64_t index = tags_find(t, vpn);

	if (index < 0) {
		index = tags_victim(t, vpn);
		t->hint[vpn & t->hint_mask] = (uint32_t)index;
	}
	tags_put(t, (uint32_t)index, vpn, 0);
}

uint64_t walk_entry_addr(const struct memsys *ms, uint64_t vpn, int depth)
{
	uint64_t entry = vpn >> (INDEX_BITS * depth);
	uint64_t table = entry >> INDEX_BITS;
	uint64_t place = hash_u64(table * 4 + (uint64_t)depth + 1) & TABLE_MASK;

	return TABLE_SPACE | place << 12 | (entry & ((1u << INDEX_BITS) - 1)) << 3;
}

/* What the walk cache knows an entry by: its depth (1 or 2) and place. */
static uint64_t walk_cache_key(uint64_t vpn, int depth)
{
	return (vpn >> (INDEX_BITS * depth)) << 2 | (uint64_t)depth;
}

int walk_start_depth(struct memsys *ms, uint64_t vpn)
{
	if (!ms->has_walk_cache)
		return 2;
	for (int depth = 1; depth <= 2; depth++) {
		int64_t index = tags_find(&ms->walk_cache, walk_cache_key(vpn, depth));

		if (index >= 0) {
			tags_touch(&ms->walk_cache, (uint32_t)index);
			return depth - 1;
		}
	}
	return 2;
}

void walk_cache_put(struct memsys *ms, uint64_t vpn, int depth)
{
	if (depth > 0 && ms->has_walk_cache)
		tlb_put(&ms->walk_cache, walk_cache_key(vpn, depth));
}

static struct page_walk *walk_find(struct memsys *ms, bool fetch, uint64_t vpn)
{
	for (uint32_t i = 0; ms->nwalks && i < MAX_WALKS; i++) {
		struct page_walk *w = &ms->walk[i];

		if (w->phase != WALK_FREE && w->vpn == vpn && w->fetch == fetch)
			return w;
	}
	return NULL;
}

bool memsys_walking(const struct memsys *ms, bool fetch, uint64_t vaddr)
{
	return walk_find((struct memsys *)ms, fetch, vaddr >> ms->page_shift);
}

bool tlb_can_miss(const struct memsys *ms, bool fetch, uint64_t vpn)
{
	return ms->nwalks < MAX_WALKS || walk_find((struct memsys *)ms, fetch, vpn);
}

static void walk_add(struct page_walk *w, struct req *req)
{
	req->next = NULL;
	if (w->tail)
		w->tail->next = req;
	else
		w->head = req;
	w->tail = req;
}

void tlb_miss(struct memsys *ms, struct req *req, uint64_t t)
{
	bool fetch = req->kind == REQ_FETCH;
	struct mem_tlb_stats *st = fetch ? &ms->stats.itlb : &ms->stats.dtlb;
	uint64_t vpn = req->addr >> ms->page_shift;
	struct page_walk *w = walk_find(ms, fetch, vpn);
	uint64_t latency = ms->has_stlb ? ms->cfg.stlb.latency : 0;
	int64_t index = -1;

	st->accesses++;
	st->misses++;
	req->events |= MEM_EV_TLB_MISS;
	if (w) {
		walk_add(w, req);
		if (unlikely(ms->misses != NULL))
			miss_join_walk(ms, w, &req->who, t);
		return;
	}
	for (w = ms->walk; w->phase != WALK_FREE; w++)
		assert(w < ms->walk + MAX_WALKS);
	ms->nwalks++;
	*w = (struct page_walk){ .vpn = vpn, .start = t, .fetch = fetch, .phase = WALK_FIXED };
	walk_add(w, req);
	if (unlikely(ms->misses != NULL))
		miss_begin_walk(ms, w, &req->who);
	if (ms->has_stlb) {
		ms->stats.stlb.accesses++;
		index = tags_find(&ms->stlb, vpn);
		if (unlikely(index < 0 && ms->unknown == UNKNOWN_HIT) &&
		    unknown_page(ms, &ms->stlb, vpn))
			index = tags_find(&ms->stlb, vpn);
	}
	if (index >= 0) {
		tags_touch(&ms->stlb, (uint32_t)index);
		mem_schedule(ms, t + latency, DUE_WALK, w);
		return;
	}
	if (ms->has_stlb)
		ms->stats.stlb.misses++;
	w->missed_stlb = MEM_EV_STLB_MISS;
	ms->stats.walks++;
	if (ms->cfg.walk == MEM_WALK_FLAT) {
		mem_schedule(ms, t + latency + ms->cfg.walk_latency, DUE_WALK, w);
	} else {
		w->phase = WALK_QUEUED;
		mem_schedule(ms, t + latency, DUE_WALK, w);
	}
}

static void walk_load(struct memsys *ms, struct page_walk *w, uint64_t t)
{
	uint64_t addr = walk_entry_addr(ms, w->vpn, w->depth);
	const int first = walk_first(ms);

	w->load = (struct req){ .addr = addr,
				.line = addr >> line_shift_of(ms, first),
				.kind = REQ_WALK,
				.owner = w,
				.start = t,
				.flags = w->head->flags & MEM_IDEAL_BW,
				.cache = (uint8_t)first };
	w->load.who = w->head->who;
	w->load.who.kind = MISS_WALK;
	ms->stats.walk_loads++;
	if (w->load.cache == MEM_L1D)
		mem_lookup(ms, &w->load, t);
	else
		mem_schedule(ms, t, DUE_ARRIVE, &w->load);
}

static void walk_begin(struct memsys *ms, struct page_walk *w, uint64_t t)
{
	ms->walkers_busy++;
	w->queued = (uint32_t)(t - w->since);
	w->phase = WALK_LOADING;
	w->depth = (int8_t)walk_start_depth(ms, w->vpn);
	walk_load(ms, w, t);
}

static void walk_done(struct memsys *ms, struct page_walk *w, uint64_t t)
{
	struct req *req = w->head, *next;
	uint32_t events = w->missed_stlb;

	if (events) {
		ms->stats.walk_cycles += t - w->start;
		if (ms->has_stlb)
			tlb_put(&ms->stlb, w->vpn);
	}
	tlb_put(w->fetch ? &ms->itlb : &ms->dtlb, w->vpn);
	if (unlikely(ms->misses != NULL))
		miss_end_walk(ms, w, t);
	w->phase = WALK_FREE;
	ms->nwalks--;
	ms->wake |= 1u << MEM_L1I | 1u << MEM_L1D;
	for (; req; req = next) {
		next = req->next;
		req->events |= events;
		if (req->translates) {
			mem_complete(ms, req, t);
			continue;
		}
		req->xlat = (uint32_t)(t - req->start);
		mem_lookup(ms, req, t);
	}
}

void walk_event(struct memsys *ms, struct page_walk *w, uint64_t t)
{
	w->since = t;
	if (w->phase == WALK_FIXED) {
		walk_done(ms, w, t);
	} else if (ms->walkers_busy < ms->cfg.walkers) {
		walk_begin(ms, w, t);
	} else {
		w->next = NULL;
		if (ms->walk_tail)
			ms->walk_tail->next = w;
		else
			ms->walk_head = w;
		ms->walk_tail = w;
	}
}

void walk_loaded(struct memsys *ms, struct page_walk *w, uint64_t t)
{
	struct page_walk *next;

	walk_cache_put(ms, w->vpn, w->depth);
	if (--w->depth >= 0) {
		walk_load(ms, w, t);
		return;
	}
	ms->walkers_busy--;
	walk_done(ms, w, t);
	next = ms->walk_head;
	if (next) {
		ms->walk_head = next->next;
		if (!ms->walk_head)
			ms->walk_tail = NULL;
		walk_begin(ms, next, t);
	}
}
