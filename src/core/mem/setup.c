/* SPDX-License-Identifier: MIT */
/*
 * A memory system's life: building it from its configuration, taking it apart, and looking into it
 * (statistics, latencies, probes, the state hash and the invariants of mem_int.h).
 */
#include <stdlib.h>
#include <string.h>

#include "core/mem/mem_int.h"

#define REQUESTS                                                                                   \
	512 /* of the core at a time, posted writes included; more are refused until one ends */

static void bus_init(struct data_bus *b, const struct mem_bus_config *cfg, uint32_t line)
{
	memset(b, 0, sizeof(*b));
	b->line_shift = b->beat_shift = (uint8_t)log2_of(line);
	if (!cfg->width_bytes)
		return;
	b->beat_shift = (uint8_t)log2_of(cfg->width_bytes);
	b->step = cfg->interval;
	b->busy_fp = (uint64_t)bus_beats(b, b->line_shift) * cfg->interval << FP_SHIFT;
	b->trailing_edge = cfg->trailing_edge;
}

static void cache_lists_reset(struct cache *c)
{
	c->free_mshr = NULL;
	for (uint32_t i = c->cfg.mshrs; i-- > 0;) {
		c->mline[i] = TAG_NONE;
		c->mshr[i].used = false;
		c->mshr[i].next_free = c->free_mshr;
		c->free_mshr = &c->mshr[i];
	}
	c->nused = 0;
	c->wait_head = c->wait_tail = NULL;
	c->refused = false;
	memset(c->bank_free, 0, sizeof(c->bank_free));
	c->port_cycle = 0;
	c->port_count = 0;
	c->bus.free_fp = 0;
}

static void cache_init(struct memsys *ms, int id)
{
	static const uint8_t levels[MEM_CACHES] = { LEVEL_L1, LEVEL_L1, LEVEL_L2, LEVEL_LLC };
	static const uint32_t events[MEM_CACHES] = { MEM_EV_L1_MISS, MEM_EV_L1_MISS, MEM_EV_L2_MISS,
						     0 };
	struct cache *c = &ms->cache[id];
	uint32_t line = machine_line_bytes(&ms->cfg, id), lines, hints;
	int next;

	c->cfg = ms->cfg.cache[id];
	c->id = (uint8_t)id;
	c->level = levels[id];
	c->line_shift = (uint8_t)log2_of(line);
	c->present = c->cfg.size_bytes != 0;
	if (!c->present)
		return;
	lines = c->cfg.size_bytes / line;
	hints = id <= MEM_L1D ? 1u << log2_of(lines) : 1;
	tags_init(&c->t, lines / c->cfg.ways, c->cfg.ways, c->cfg.replacement,
		  ms->cfg.seed + (uint64_t)id, hints);
	c->latency = c->cfg.latency;
	c->ideal_latency = min_u64(ms->cfg.ideal_dl1, c->latency);
	c->miss_latency = c->cfg.miss_latency < 0 ? c->latency : (uint32_t)c->cfg.miss_latency;
	for (next = id <= MEM_L1D ? MEM_L2 : id + 1;
	     next < MEMORY && !ms->cfg.cache[next].size_bytes;)
		next++;
	c->next = (uint8_t)next;
	c->widen = (uint8_t)(log2_of(machine_line_bytes(&ms->cfg, next)) - c->line_shift);
	c->miss_event = events[id] | (next == MEMORY ? MEM_EV_LLC_MISS : 0);
	c->mline = x_calloc(c->cfg.mshrs, sizeof(*c->mline));
	c->mshr = x_calloc(c->cfg.mshrs, sizeof(*c->mshr));
	bus_init(&c->bus, &c->cfg.bus, line);
	c->pf = mem_prefetchers[c->cfg.prefetch.kind];
	c->plain = c->cfg.replacement == MEM_LRU && !c->cfg.ports && !c->cfg.banks &&
		   !c->cfg.write_through && !(c->pf && c->pf->hits);
	if (c->pf && c->pf->state_new)
		c->pf_state = c->pf->state_new(&c->cfg.prefetch);
	cache_lists_reset(c);
}

static bool tlb_init(struct tag_array *t, const struct mem_tlb_config *cfg)
{
	uint32_t ways = cfg->ways ? cfg->ways : cfg->entries, hints;

	if (!cfg->entries)
		return false;
	for (hints = 64; hints < 4 * cfg->entries && hints < 4096;)
		hints *= 2;
	tags_init(t, cfg->entries / ways, ways, MEM_LRU, 0, hints);
	return true;
}

static void pools_reset(struct memsys *ms)
{
	ms->free_req = NULL;
	for (uint32_t i = REQUESTS; i-- > 0;) {
		ms->req_pool[i].next = ms->free_req;
		ms->free_req = &ms->req_pool[i];
	}
	ms->nreq_free = REQUESTS;
	ms->free_join = NULL;
	for (uint32_t i = MAX_JOINS; i-- > 0;) {
		ms->join_pool[i].next_free = ms->free_join;
		ms->free_join = &ms->join_pool[i];
	}
	memset(ms->walk, 0, sizeof(ms->walk));
	ms->nwalks = ms->walkers_busy = 0;
	ms->walk_head = ms->walk_tail = NULL;
	ms->nevents = 0;
	ms->wake = 0;
}

struct memsys *memsys_new(const struct memsys_config *cfg, const struct memsys_callbacks *cb)
{
	struct memsys *ms = x_calloc(1, sizeof(*ms));
	struct mem_tlb_config walk_cache = { .entries = cfg->walk_cache };

	assert(machine_check_memory(cfg, NULL));
	ms->cfg = *cfg;
	ms->cb = *cb;
	ms->line_shift = (uint8_t)log2_of(cfg->line_bytes);
	ms->page_shift = (uint8_t)log2_of(cfg->page_bytes);
	for (int i = 0; i < MEM_CACHES; i++)
		cache_init(ms, i);
	ms->has_itlb = tlb_init(&ms->itlb, &cfg->itlb);
	ms->has_dtlb = tlb_init(&ms->dtlb, &cfg->dtlb);
	ms->has_stlb = tlb_init(&ms->stlb, &cfg->stlb);
	ms->has_walk_cache = tlb_init(&ms->walk_cache, &walk_cache);
	bus_init(&ms->mem.bus, &cfg->mem.bus, cfg->line_bytes);
	memory_init(ms);
	ms->wbuf.size = cfg->cache[MEM_L1D].write_buffer;
	ms->req_pool = x_calloc(REQUESTS, sizeof(*ms->req_pool));
	ms->events_cap = 1024;
	ms->heap = x_malloc(ms->events_cap * sizeof(*ms->heap));
	pools_reset(ms);
	return ms;
}

void memsys_free(struct memsys *ms)
{
	if (!ms)
		return;
	memsys_listen(ms, false);
	memsys_hits(ms, NULL, 0);
	free(ms->fetched);
	for (int i = 0; i < MEM_CACHES; i++) {
		struct cache *c = &ms->cache[i];

		tags_fini(&c->t);
		free(c->mline);
		free(c->mshr);
		if (c->pf && c->pf->state_free)
			c->pf->state_free(c->pf_state);
	}
	tags_fini(&ms->itlb);
	tags_fini(&ms->dtlb);
	tags_fini(&ms->stlb);
	tags_fini(&ms->walk_cache);
	memory_fini(ms);
	free(ms->req_pool);
	free(ms->heap);
	free(ms);
}

void memsys_quiesce(struct memsys *ms)
{
	pools_reset(ms);
	for (int i = 0; i < MEM_CACHES; i++) {
		if (ms->cache[i].present)
			cache_lists_reset(&ms->cache[i]);
	}
	ms->wbuf.used = 0;
	ms->wbuf.sending = false;
	ms->changes++;
	memsys_listen(ms, ms->misses != NULL);
	memory_reset(ms);
}

uint64_t memsys_changes(const struct memsys *ms)
{
	return ms->changes;
}

uint32_t memsys_outstanding(const struct memsys *ms, enum mem_cache cache)
{
	return ms->cache[cache].nused;
}

bool mshr_goes_to_memory(const struct mshr *m)
{
	if (m->known)
		return m->self.level == LEVEL_MEM;
	while (!m->to_memory && m->self.parent)
		m = m->self.parent;
	return m->to_memory;
}

bool memsys_long_outstanding(struct memsys *ms, enum mem_cache cache)
{
	struct cache *c = &ms->cache[cache];
	uint32_t left = c->nused;

	if (!left)
		return false;
	/* The one that did last time mostly still does. */
	if (c->mshr[c->long_mshr].used && mshr_goes_to_memory(&c->mshr[c->long_mshr]))
		return true;
	for (uint32_t i = 0; left; i++) {
		if (c->mline[i] == TAG_NONE)
			continue;
		if (mshr_goes_to_memory(&c->mshr[i])) {
			c->long_mshr = i;
			return true;
		}
		left--;
	}
	return false;
}

void memsys_latencies(const struct memsys *ms, bool fetch, uint32_t latency[LEVEL_MEM + 1])
{
	int i = fetch ? MEM_L1I : MEM_L1D;
	uint32_t sum = 0;
	uint8_t line = 0; /* of the cache above */

	memset(latency, 0, (LEVEL_MEM + 1) * sizeof(*latency));
	for (; i < MEMORY; i = ms->cache[i].next) {
		const struct cache *c = &ms->cache[i];

		latency[c->level] = sum + c->latency;
		if (c->bus.trailing_edge && c->id > MEM_L1D)
			latency[c->level] += bus_tail(&c->bus, line);
		line = c->line_shift;
		sum += c->miss_latency;
	}
	latency[LEVEL_MEM] = sum + memory_unloaded(ms);
}

uint32_t memsys_walk_latency(const struct memsys *ms)
{
	uint32_t stlb = ms->has_stlb ? ms->cfg.stlb.latency : 0;
	uint32_t latency[LEVEL_MEM + 1];
	int i;

	if (ms->cfg.walk == MEM_WALK_FLAT)
		return stlb + ms->cfg.walk_latency;
	memsys_latencies(ms, false, latency);
	if (ms->cfg.walk_from_l2) {
		i = ms->cache[MEM_L1D].next;
		return stlb + 3 * (i == MEMORY ? memory_unloaded(ms) : ms->cache[i].latency);
	}
	for (i = LEVEL_L2; !latency[i];)
		i++;
	return stlb + 3 * latency[i];
}

const struct memsys_stats *memsys_stats(const struct memsys *ms)
{
	return &ms->stats;
}

void memsys_stats_reset(struct memsys *ms)
{
	memset(&ms->stats, 0, sizeof(ms->stats));
}

bool memsys_probe(const struct memsys *ms, enum mem_cache cache, uint64_t addr)
{
	const struct cache *c = &ms->cache[cache];

	return c->present && tags_peek(&c->t, addr >> c->line_shift) >= 0;
}

bool memsys_probe_dirty(const struct memsys *ms, enum mem_cache cache, uint64_t addr)
{
	const struct cache *c = &ms->cache[cache];
	int64_t index = c->present ? tags_peek(&c->t, addr >> c->line_shift) : -1;

	return index >= 0 && c->t.state[index] & TS_DIRTY;
}

uint64_t memsys_state_hash(const struct memsys *ms)
{
	uint64_t h = 1;

	for (int i = 0; i < MEM_CACHES; i++) {
		const struct cache *c = &ms->cache[i];

		if (!c->present)
			continue;
		h = tags_hash(&c->t, h);
		if (c->pf && c->pf->hash)
			h = c->pf->hash(c->pf_state, &c->cfg.prefetch, h);
	}
	h = tags_hash(&ms->itlb, h);
	h = tags_hash(&ms->dtlb, h);
	h = tags_hash(&ms->stlb, h);
	return tags_hash(&ms->walk_cache, h);
}

static bool check_tags(const struct memsys *ms, const struct cache *c, struct err *e)
{
	for (uint32_t i = 0; i < c->t.sets * c->t.ways; i++) {
		uint64_t line = c->t.tag[i];
		uint32_t base = i - i % c->t.ways;
		int below;

		if (line == TAG_NONE)
			continue;
		if ((line & c->t.set_mask) != base / c->t.ways)
			return err_set(e, "cache %u: line %#llx in a wrong set", c->id,
				       (unsigned long long)line);
		for (uint32_t w = base; w < i; w++) {
			if (c->t.tag[w] == line)
				return err_set(e, "cache %u: line %#llx twice", c->id,
					       (unsigned long long)line);
		}
		for (below = c->next; below < MEMORY; below = ms->cache[below].next) {
			const struct cache *b = &ms->cache[below];

			if (b->cfg.inclusive &&
			    tags_peek(&b->t, line >> (b->line_shift - c->line_shift)) < 0)
				return err_set(e,
					       "cache %u: line %#llx is not in inclusive cache %d",
					       c->id, (unsigned long long)line, below);
		}
	}
	return true;
}

bool memsys_check_state(const struct memsys *ms, struct err *e)
{
	for (int i = 0; i < MEM_CACHES; i++) {
		const struct cache *c = &ms->cache[i];
		uint32_t used = 0, m;

		if (!c->present)
			continue;
		if (!check_tags(ms, c, e))
			return false;
		for (m = 0; m < c->cfg.mshrs; m++) {
			used += c->mshr[m].used;
			if (c->mshr[m].used != (c->mline[m] != TAG_NONE))
				return err_set(e, "cache %d: MSHR %u and its line disagree", i, m);
		}
		if (used != c->nused || !c->free_mshr != (used == c->cfg.mshrs))
			return err_set(e, "cache %d: %u MSHRs used, %u counted", i, used, c->nused);
		if (used && !ms->nevents)
			return err_set(e, "cache %d: %u MSHRs wait for nothing", i, used);
		if (c->wait_head && !ms->nevents)
			return err_set(e, "cache %d: requests wait for nothing", i);
	}
	return true;
}
