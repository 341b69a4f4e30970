/* SPDX-License-Identifier: MIT */
/*
 * A memory system at rest, saved and read: tags with their recency and marks, TLBs, the walk cache,
 * prefetchers. Nothing is on its way, DRAM rows are closed and buses are free (memsys_quiesce). The
 * hint tables only make finding faster, and are empty after reading.
 */
#include <string.h>

#include "core/mem/mem_int.h"
#include "core/saved.h"

static void check_tags(const struct tag_array *t, struct state *s)
{
	for (uint32_t i = 0; i < t->sets * t->ways; i++)
		if (t->tag[i] != TAG_NONE && (t->tag[i] & t->set_mask) != i / t->ways)
			state_fail(s, "a line is in a set that is not its own");
}

static void tags_saved(struct tag_array *t, struct state *s, const char *what)
{
	size_t n = (size_t)t->sets * t->ways;

	saved_same(s, t->sets, what);
	saved_same(s, t->ways, what);
	saved_same(s, t->replacement, what);
	saved_u64s(s, t->tag, n);
	saved_u64s(s, t->stamp, n);
	saved_u64s(s, t->tree, t->sets);
	saved_bytes(s, t->state, n, TS_DIRTY | TS_PREFETCHED);
	state_u64(s, &t->clock);
	saved_u64s(s, t->rng.s, ARRAY_LEN(t->rng.s));
	if (!state_reading(s))
		return;
	memset(t->hint, 0, (t->hint_mask + 1) * sizeof(*t->hint));
	check_tags(t, s);
}

void memsys_saved(struct memsys *ms, struct state *s)
{
	static const char *const names[MEM_CACHES] = { "l1i", "l1d", "l2", "llc" };

	assert(!ms->nevents);
	state_mark(s, "memory");
	saved_same(s, ms->cfg.line_bytes, "line size");
	saved_same(s, ms->cfg.page_bytes, "page size");
	for (int i = 0; i < MEM_CACHES && state_ok(s); i++) {
		struct cache *c = &ms->cache[i];

		saved_same(s, c->present | c->cfg.line_bytes << 1, names[i]);
		if (!c->present)
			continue;
		tags_saved(&c->t, s, names[i]);
		saved_same(s, c->cfg.prefetch.kind, names[i]);
		if (c->pf && c->pf->saved)
			c->pf->saved(c->pf_state, &c->cfg.prefetch, s);
	}
	saved_same(s,
		   ms->has_itlb | ms->has_dtlb << 1 | ms->has_stlb << 2 | ms->has_walk_cache << 3,
		   "which TLBs there are");
	if (ms->has_itlb)
		tags_saved(&ms->itlb, s, "itlb");
	if (ms->has_dtlb)
		tags_saved(&ms->dtlb, s, "dtlb");
	if (ms->has_stlb)
		tags_saved(&ms->stlb, s, "stlb");
	if (ms->has_walk_cache)
		tags_saved(&ms->walk_cache, s, "walk cache");
}
