/* SPDX-License-Identifier: MIT */
/*
 * Lines change hands: fills, evictions, write-backs, back-invalidation; and functional warming,
 * which makes the same changes without time.
 *
 * A victim is chosen when the line is filled, not when it is asked for. A dirty victim goes to the
 * next level at once: it takes that level's bus for a line and marks its copy dirty, or, where
 * there is none (a cache that is not inclusive), is put in there, which may evict in turn; at
 * memory it enters the write queue. A line that leaves an inclusive cache is taken away from the
 * caches above, and dirty data there goes down with it. A line whose copy in an inclusive cache
 * below was lost while the line was on its way answers the requests that wait for it but is not
 * kept, so inclusion holds at all times.
 *
 * Write-backs neither look at nor change recency in the cache below, take no port there, and wait
 * in no buffer of limited size: the memory controller drains writes before reads once its queue
 * fills.
 */
#include "core/mem/mem_int.h"

#define FETCHED_BITS (1ull << 20)
#define UNKNOWN_LINE (1ull << 30) /* how far an unknown line lies from the one that takes its way */

static void write_back(struct memsys *ms, struct cache *c, uint64_t line, uint64_t t,
		       enum install_mode mode)
{
	struct cache *below = &ms->cache[c->next];
	struct mshr *m;
	int64_t index;

	line >>= c->widen;

	if (mode != INSTALL_WARM)
		ms->stats.cache[c->id].writebacks++;
	if (c->next == MEMORY) {
		if (mode == INSTALL_TIMED)
			memory_write(ms, line, t);
		else if (mode == INSTALL_FREE)
			ms->stats.mem.writes++;
		return;
	}
	if (mode == INSTALL_TIMED)
		bus_grant(&below->bus, c->line_shift, t, &ms->stats.cache[below->id].bus_busy);
	index = tags_find(&below->t, line);
	if (index >= 0) {
		below->t.state[index] |= TS_DIRTY;
		return;
	}
	m = mshr_find(below, line);
	if (m)
		m->dirty = true;
	else
		cache_install(ms, below, line, TS_DIRTY, t, mode);
}

/* Takes the line away from the caches above c; true if one of them had it dirty. */
static bool invalidate_above(struct memsys *ms, const struct cache *c, uint64_t line,
			     enum install_mode mode)
{
	bool dirty = false;

	for (int i = MEM_L1I; i < c->id; i++) {
		struct cache *up = &ms->cache[i];
		const uint32_t share =
		    c->line_shift - up->line_shift; /* log2 of its lines in one */

		for (uint64_t part = 0; up->present && part < 1ull << share; part++) {
			int64_t index = tags_find(&up->t, (line << share) + part);

			if (index < 0)
				continue;
			dirty |= up->t.state[index] & TS_DIRTY;
			up->t.tag[index] = TAG_NONE;
			up->t.stamp[index] = 0;
			if (mode != INSTALL_WARM)
				ms->stats.cache[i].invalidations++;
		}
	}
	return dirty;
}

static bool inclusion_allows(const struct memsys *ms, const struct cache *c, uint64_t line)
{
	for (int i = c->next; i < MEMORY; i = ms->cache[i].next) {
		const struct cache *b = &ms->cache[i];

		if (b->cfg.inclusive &&
		    tags_peek(&b->t, line >> (b->line_shift - c->line_shift)) < 0)
			return false;
	}
	return true;
}

void cache_install(struct memsys *ms, struct cache *c, uint64_t line, uint8_t state, uint64_t t,
		   enum install_mode mode)
{
	int64_t present = tags_find(&c->t, line);
	struct mem_cache_stats *st = &ms->stats.cache[c->id];
	uint64_t old;
	uint32_t v;
	bool dirty;

	if (present >= 0) { /* a write-back from above has put it in since */
		c->t.state[present] |= state & TS_DIRTY;
		return;
	}
	if (!inclusion_allows(ms, c, line)) {
		if (state & TS_DIRTY)
			write_back(ms, c, line, t, mode);
		return;
	}
	v = tags_victim(&c->t, line);
	old = c->t.tag[v];
	dirty = c->t.state[v] & TS_DIRTY;
	/* the new line first: the eviction of the old one must find it there */
	tags_put(&c->t, v, line, state);
	if (mode != INSTALL_WARM)
		st->fills++;
	if (old == TAG_NONE) {
		/* some line of the same set */
		if (unlikely(ms->unknown == UNKNOWN_DIRTY && c->next == MEMORY && !ms->fetched))
			write_back(ms, c, line ^ UNKNOWN_LINE, t, mode);
		return;
	}
	if (mode != INSTALL_WARM)
		st->evictions++;
	if (c->cfg.inclusive)
		dirty |= invalidate_above(ms, c, old, mode);
	if (dirty)
		write_back(ms, c, old, t, mode);
}

void cache_put(struct memsys *ms, struct cache *c, uint64_t line, bool write, uint64_t t)
{
	bool dirty = write && !c->cfg.write_through;

	/* A line on its way comes by itself. */
	if (tags_peek(&c->t, line) >= 0 || mshr_find(c, line))
		return;
	if (c->next != MEMORY)
		cache_put(ms, &ms->cache[c->next], line >> c->widen, false, t);
	cache_install(ms, c, line, dirty ? TS_DIRTY : 0, t, INSTALL_FREE);
}

/* What is not known */

static bool has_room(const struct tag_array *t, uint64_t key)
{
	const uint64_t *tag = &t->tag[(key & t->set_mask) * t->ways];

	for (uint32_t w = 0; w < t->ways; w++)
		if (tag[w] == TAG_NONE)
			return true;
	return false;
}

void memsys_data_known(struct memsys *ms)
{
	if (!ms->fetched)
		ms->fetched = x_calloc(FETCHED_BITS / 64, sizeof(*ms->fetched));
}

/* What was asked for by a fetch, as a set that may hold others, too. */
static void fetched_add(struct memsys *ms, uint64_t what)
{
	const uint64_t bit = hash_u64(what) % FETCHED_BITS;

	ms->fetched[bit / 64] |= 1ull << bit % 64;
}

static bool fetched_has(const struct memsys *ms, uint64_t what)
{
	const uint64_t bit = hash_u64(what) % FETCHED_BITS;

	return ms->fetched[bit / 64] >> bit % 64 & 1;
}

/* A line, by a name that all caches have for it. */
static uint64_t common_line(const struct memsys *ms, const struct cache *c, uint64_t line)
{
	return line << c->line_shift >> ms->line_shift;
}

bool unknown_line(struct memsys *ms, struct cache *c, uint64_t line, bool write, uint64_t t)
{
	if (ms->fetched && c->id == MEM_L1I)
		fetched_add(ms, common_line(ms, c, line));
	if (ms->fetched && !fetched_has(ms, common_line(ms, c, line)))
		return false;
	if (!has_room(&c->t, line) || mshr_find(c, line))
		return false;
	cache_put(ms, c, line, write, t);
	return true;
}

bool unknown_page(struct memsys *ms, struct tag_array *t, uint64_t vpn)
{
	if (ms->fetched && t == &ms->itlb)
		fetched_add(ms, ~vpn);
	if (ms->fetched && !fetched_has(ms, ~vpn))
		return false;
	if (!has_room(t, vpn))
		return false;
	tlb_put(t, vpn);
	return true;
}

void memsys_unknown(struct memsys *ms, enum mem_unknown unknown)
{
	ms->unknown = (uint8_t)unknown;
}

/* Warming */

enum warm_how {
	WARM_DEMAND,
	WARM_PREFETCH, /* by the prefetcher of this cache */
	WARM_ABOVE,    /* by that of a cache above */
};

static void warm_line(struct memsys *ms, int cache, uint64_t line, uint64_t pc, bool write,
		      enum warm_how how)
{
	enum warm_how below = how == WARM_DEMAND ? WARM_DEMAND : WARM_ABOVE;
	struct cache *c = &ms->cache[cache];
	struct pf_access a = { .line = line, .pc = pc };
	uint64_t lines[8];
	uint32_t n;
	int64_t index;

	if (cache == MEMORY)
		return;
	index = tags_find(&c->t, line);
	if (index >= 0) {
		tags_touch(&c->t, (uint32_t)index);
		if (write && !c->cfg.write_through)
			c->t.state[index] |= TS_DIRTY;
		/* as in the timing model, a prefetch from above is an access here too */
		a.first_use = c->t.state[index] & TS_PREFETCHED;
		c->t.state[index] &= (uint8_t)~TS_PREFETCHED;
		if (write && c->cfg.write_through)
			warm_line(ms, c->next, line >> c->widen, pc, true, below);
	} else if (write && c->cfg.no_write_allocate) {
		warm_line(ms, c->next, line >> c->widen, pc, true, below);
		return;
	} else {
		a.miss = true;
		warm_line(ms, c->next, line >> c->widen, pc, write && c->cfg.write_through, below);
		cache_install(ms, c, line,
			      (write && !c->cfg.write_through ? TS_DIRTY : 0) |
				  (how == WARM_PREFETCH ? TS_PREFETCHED : 0),
			      0, INSTALL_WARM);
	}
	if (!c->pf || how != WARM_DEMAND ||
	    !(n = c->pf->observe(c->pf_state, &c->cfg.prefetch, &a, lines)))
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t page_shift = ms->page_shift - c->line_shift;

		if (!c->cfg.prefetch.cross_page && lines[i] >> page_shift != line >> page_shift)
			continue;
		if (tags_peek(&c->t, lines[i]) < 0)
			warm_line(ms, cache, lines[i], pc, false, WARM_PREFETCH);
	}
}

static void warm_walk(struct memsys *ms, uint64_t vpn)
{
	int first = walk_first(ms);

	if (ms->cfg.walk != MEM_WALK_CACHES)
		return;
	for (int depth = walk_start_depth(ms, vpn); depth >= 0; depth--) {
		warm_line(ms, first, walk_entry_addr(ms, vpn, depth) >> line_shift_of(ms, first), 0,
			  false, WARM_DEMAND);
		walk_cache_put(ms, vpn, depth);
	}
}

static void warm_one(struct memsys *ms, enum mem_access kind, uint64_t vaddr, uint64_t pc,
		     enum warm_how how)
{
	bool fetch = kind == MEM_ACCESS_FETCH;
	struct tag_array *tlb = fetch ? &ms->itlb : &ms->dtlb;
	uint64_t vpn = vaddr >> ms->page_shift;
	int64_t index;

	if (fetch ? ms->has_itlb : ms->has_dtlb) {
		index = tags_find(tlb, vpn);
		if (index >= 0) {
			tags_touch(tlb, (uint32_t)index);
		} else {
			index = ms->has_stlb ? tags_find(&ms->stlb, vpn) : -1;
			if (index >= 0) {
				tags_touch(&ms->stlb, (uint32_t)index);
			} else {
				warm_walk(ms, vpn);
				if (ms->has_stlb)
					tlb_put(&ms->stlb, vpn);
			}
			tlb_put(tlb, vpn);
		}
	}
	warm_line(ms, fetch ? MEM_L1I : MEM_L1D,
		  vaddr >> ms->cache[fetch ? MEM_L1I : MEM_L1D].line_shift, pc,
		  kind == MEM_ACCESS_STORE, how);
}

void memsys_warm(struct memsys *ms, enum mem_access kind, uint64_t vaddr, uint32_t size,
		 uint64_t pc)
{
	const uint8_t shift = ms->cache[kind == MEM_ACCESS_FETCH ? MEM_L1I : MEM_L1D].line_shift;
	uint64_t end = vaddr + size - 1;

	assert(!ms->nevents);
	warm_one(ms, kind, vaddr, pc, WARM_DEMAND);
	if ((vaddr ^ end) >> shift)
		warm_one(ms, kind, end >> shift << shift, pc, WARM_DEMAND);
}

bool memsys_warm_hit(struct memsys *ms, enum mem_access kind, uint64_t vaddr, uint32_t size)
{
	const bool fetch = kind == MEM_ACCESS_FETCH;
	struct cache *c = &ms->cache[fetch ? MEM_L1I : MEM_L1D];
	struct tag_array *tlb = fetch ? &ms->itlb : &ms->dtlb;
	const bool has_tlb = fetch ? ms->has_itlb : ms->has_dtlb;
	const uint64_t line = vaddr >> c->line_shift, vpn = vaddr >> ms->page_shift;
	const uint32_t index = c->t.hint[line & c->t.hint_mask];
	uint32_t page = 0;

	if (!c->plain || c->t.tag[index] != line || (vaddr + size - 1) >> c->line_shift != line ||
	    c->t.state[index] & TS_PREFETCHED)
		return false;
	if (has_tlb) {
		page = tlb->hint[vpn & tlb->hint_mask];
		if (tlb->tag[page] != vpn)
			return false;
		tags_touch(tlb, page);
	}
	tags_touch(&c->t, index);
	if (kind == MEM_ACCESS_STORE)
		c->t.state[index] |= TS_DIRTY;
	return true;
}

void memsys_recall(struct memsys *ms, bool write, uint64_t vaddr, uint32_t size)
{
	const uint64_t step = 1ull << ms->cache[MEM_L1D].line_shift;

	assert(!ms->nevents);
	for (uint64_t at = vaddr; at < vaddr + size; at += step)
		warm_one(ms, write ? MEM_ACCESS_STORE : MEM_ACCESS_LOAD, at, 0, WARM_ABOVE);
}

uint64_t memsys_reach(const struct memsys *ms)
{
	uint64_t most = 0;

	for (int i = 0; i < MEM_CACHES; i++)
		most = max_u64(most, ms->cache[i].present ? ms->cache[i].cfg.size_bytes : 0);
	return most;
}
