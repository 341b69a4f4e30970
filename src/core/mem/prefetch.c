/* SPDX-License-Identifier: MIT */
/*
 * Prefetchers: one const struct each, one list at the end. A prefetcher sees the demand accesses of
 * the cache at which it sits and names lines to fetch into it; a line that is there or on its way
 * is not asked for again, one that finds no free MSHR is dropped.
 *
 * next-line: tagged sequential prefetching (Smith 1982): a miss, or the first use of a line that
 * was prefetched, fetches the `degree` lines that follow. stride: a table by pc (Chen and Baer
 * 1995) of last line and stride in lines; after the same stride twice in a row each access fetches
 * `degree` strides from `distance` ahead. Accesses within a line do not count. Below the L1s the pc
 * is that of the instruction whose miss it is.
 */
#include <stdlib.h>

#include "core/mem/mem_int.h"
#include "core/saved.h"

static uint32_t next_line_observe(void *state, const struct mem_prefetch_config *cfg,
				  const struct pf_access *a, uint64_t *lines)
{
	if (!a->miss && !a->first_use)
		return 0;
	for (uint32_t i = 0; i < cfg->degree; i++)
		lines[i] = a->line + 1 + i;
	return cfg->degree;
}

static const struct prefetcher next_line = {
	.name = "next-line",
	.observe = next_line_observe,
};

struct stride_entry {
	uint64_t pc, line;
	int64_t stride;
	uint32_t confidence;
};

static void *stride_new(const struct mem_prefetch_config *cfg)
{
	return x_calloc(cfg->entries, sizeof(struct stride_entry));
}

static uint32_t stride_observe(void *state, const struct mem_prefetch_config *cfg,
			       const struct pf_access *a, uint64_t *lines)
{
	struct stride_entry *e =
	    (struct stride_entry *)state + (hash_u64(a->pc) & (cfg->entries - 1));
	int64_t stride = (int64_t)(a->line - e->line);

	if (e->pc != a->pc) {
		*e = (struct stride_entry){ .pc = a->pc, .line = a->line };
		return 0;
	}
	if (!stride)
		return 0;
	e->confidence = stride == e->stride ? e->confidence + (e->confidence < 2) : 0;
	e->stride = stride;
	e->line = a->line;
	if (!e->confidence)
		return 0;
	for (uint32_t i = 0; i < cfg->degree; i++)
		lines[i] = a->line + (uint64_t)stride * (cfg->distance + i);
	return cfg->degree;
}

static uint64_t stride_hash(const void *state, const struct mem_prefetch_config *cfg, uint64_t h)
{
	const struct stride_entry *e = state;

	for (uint32_t i = 0; i < cfg->entries; i++) {
		h = hash_u64(h ^ e[i].pc);
		h = hash_u64(h ^ e[i].line);
		h = hash_u64(h ^ (uint64_t)e[i].stride ^ (uint64_t)e[i].confidence << 60);
	}
	return h;
}

static void stride_saved(void *state, const struct mem_prefetch_config *cfg, struct state *s)
{
	struct stride_entry *e = state;

	saved_same(s, cfg->entries, "prefetcher");
	for (uint32_t i = 0; i < cfg->entries; i++) {
		state_u64(s, &e[i].pc);
		state_u64(s, &e[i].line);
		state_i64(s, &e[i].stride);
		state_u32(s, &e[i].confidence);
	}
}

static const struct prefetcher stride = {
	.name = "stride",
	.hits = true,
	.state_new = stride_new,
	.state_free = free,
	.observe = stride_observe,
	.hash = stride_hash,
	.saved = stride_saved,
};

const struct prefetcher *const mem_prefetchers[MEM_PF_COUNT] = {
	[MEM_PF_NONE] = NULL,
	[MEM_PF_NEXT_LINE] = &next_line,
	[MEM_PF_STRIDE] = &stride,
};

void prefetch_observe(struct memsys *ms, struct cache *c, const struct pf_access *a,
		      const struct mem_asker *who, uint64_t t)
{
	uint32_t page_shift = ms->page_shift - c->line_shift;
	struct mem_asker cause;
	uint64_t lines[8];
	uint32_t n;

	if (!c->pf)
		return;
	n = c->pf->observe(c->pf_state, &c->cfg.prefetch, a, lines);
	if (unlikely(ms->misses && who)) {
		cause = *who;
		cause.kind = MISS_PREFETCH;
		who = &cause;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (c->cfg.prefetch.cross_page || lines[i] >> page_shift == a->line >> page_shift)
			mem_issue_prefetch(ms, c, lines[i], a->pc, who, t);
	}
}
