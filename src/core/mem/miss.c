/* SPDX-License-Identifier: MIT */
/*
 * Records of misses (struct rec_miss): one per L1 line that takes an MSHR, one per L1 TLB miss.
 *
 * A record begins with the lookup that misses and is handed over when the line is filled, or the
 * translation is there: by then every request that merged into the miss is counted. It comes from
 * the MSHR, not from the instruction, so misses of stores that have committed, of squashed loads
 * and of prefetches have theirs, too. Records in progress stand in a list in the order of their
 * begins, so the oldest is at hand (invariant M2 of trace/record.h).
 *
 * All of this exists only while somebody listens (memsys.misses is not NULL).
 */
#include <stdlib.h>

#include "core/mem/mem_int.h"

struct miss {
	struct rec_miss r;
	struct miss *prev, *next; /* NULL: not in progress */
};

struct miss_list {
	struct miss *mshr[MEM_L1D + 1]; /* by L1 cache, each by number of MSHR */
	struct miss walk[MAX_WALKS];
	struct miss ends; /* before the oldest, after the youngest */
};

void memsys_listen(struct memsys *ms, bool misses)
{
	struct miss_list *l = ms->misses;

	for (int i = MEM_L1I; l && i <= MEM_L1D; i++)
		free(l->mshr[i]);
	free(l);
	ms->misses = NULL;
	if (!misses)
		return;
	ms->misses = l = x_calloc(1, sizeof(*l));
	for (int i = MEM_L1I; i <= MEM_L1D; i++)
		l->mshr[i] = x_calloc(ms->cache[i].cfg.mshrs, sizeof(struct miss));
	l->ends.prev = l->ends.next = &l->ends;
}

const struct mem_asker *miss_ask(const struct memsys *ms, uint64_t token, struct mem_asker *who)
{
	if (likely(!ms->misses))
		return NULL;
	ms->cb.asker(ms->cb.ctx, token, who);
	return who;
}

static struct miss *of_mshr(const struct memsys *ms, const struct cache *c, const struct mshr *m)
{
	return c->id <= MEM_L1D ? &ms->misses->mshr[c->id][m - c->mshr] : NULL;
}

static struct miss *of_walk(const struct memsys *ms, const struct page_walk *w)
{
	return &ms->misses->walk[w - ms->walk];
}

/* Notes that this instruction waits for the data, too. */
static void note_waiter(struct rec_miss *r, const struct mem_asker *who)
{
	const int64_t distance = (int64_t)(who->po - r->po);

	if (who->wrong || !miss_is_waited_for(who->kind) || distance <= WAITS_NONE ||
	    distance >= -WAITS_NONE)
		return;
	if (r->waits == WAITS_NONE || distance < r->waits)
		r->waits = (int32_t)distance;
}

static void begin(struct memsys *ms, struct miss *miss, enum miss_kind kind, uint64_t addr,
		  const struct mem_asker *who, uint64_t t)
{
	struct miss *ends = &ms->misses->ends;

	miss->r = (struct rec_miss){ .begin = t,
				     .line = addr,
				     .pc = who->pc,
				     .po = who->po,
				     .seq = who->seq,
				     .use = STAMP_NONE,
				     .kind = (uint8_t)kind,
				     .flags = who->wrong ? MISS_WRONG_PATH : 0,
				     .waits = WAITS_NONE };
	note_waiter(&miss->r, who);
	miss->next = ends;
	miss->prev = ends->prev;
	miss->prev->next = ends->prev = miss;
}

/* Nothing to do where somebody began to listen after the miss began. */
static bool is_in_progress(const struct miss *miss)
{
	return miss && miss->next;
}

static void joined(struct miss *miss, const struct mem_asker *who, uint64_t t)
{
	struct rec_miss *r = &miss->r;
	const bool demand = who->kind != MISS_HINT && who->kind != MISS_PREFETCH;

	r->merged += r->merged < UINT16_MAX;
	if (demand && r->use == STAMP_NONE && (r->kind == MISS_HINT || r->kind == MISS_PREFETCH))
		r->use = (uint32_t)(t - r->begin);
}

/* Hands the record over in cycle t; the data can be used from ready on. */
static void end(struct memsys *ms, struct miss *miss, uint64_t ready, uint64_t t)
{
	struct miss_list *l = ms->misses;
	struct rec_miss *r = &miss->r;
	uint64_t settled = min_u64(ready, t);

	miss->prev->next = miss->next;
	miss->next->prev = miss->prev;
	miss->next = miss->prev = NULL;
	if (l->ends.next != &l->ends)
		settled = min_u64(settled, l->ends.next->r.begin);
	r->end = (uint32_t)(ready - r->begin);
	r->oldest = (uint32_t)(ready - settled);
	r->queue = (uint32_t)min_u64(r->queue, r->end);
	if (r->end) /* a TLB miss may take no time at all */
		ms->cb.miss(ms->cb.ctx, r);
}

void miss_begin_line(struct memsys *ms, const struct cache *c, const struct mshr *m,
		     const struct mem_asker *who, uint64_t t)
{
	struct miss *miss = of_mshr(ms, c, m);

	if (miss)
		begin(ms, miss, who->kind, m->line << c->line_shift, who, t);
}

/* When the miss that a known MSHR stands for has its data, for the request that made it. */
static uint64_t ready_of(const struct cache *c, const struct mshr *m, const struct rec_miss *r)
{
	enum req_kind kind = r->kind == MISS_WALK ? REQ_WALK : REQ_LOAD;

	return max_u64(m->lead, r->begin + hit_latency(c, kind, m->self.flags));
}

void miss_join_line(struct memsys *ms, const struct cache *c, const struct mshr *m,
		    const struct mem_asker *who, uint64_t t)
{
	struct miss *miss = of_mshr(ms, c, m);

	if (!is_in_progress(miss))
		return;
	joined(miss, who, t);
	/* A request that gets its data as soon as from a hit does not wait. */
	if (!m->known || ready_of(c, m, &miss->r) > t + hit_latency(c, REQ_LOAD, m->self.flags))
		note_waiter(&miss->r, who);
}

void miss_end_line(struct memsys *ms, const struct cache *c, const struct mshr *m, uint64_t t)
{
	struct miss *miss = of_mshr(ms, c, m);

	if (!is_in_progress(miss))
		return;
	miss->r.level = m->self.level;
	miss->r.queue = m->self.queue;
	end(ms, miss, ready_of(c, m, &miss->r), t);
}

void miss_begin_walk(struct memsys *ms, const struct page_walk *w, const struct mem_asker *who)
{
	begin(ms, of_walk(ms, w), w->fetch ? MISS_ITLB : MISS_DTLB, w->vpn << ms->page_shift, who,
	      w->start);
}

void miss_join_walk(struct memsys *ms, const struct page_walk *w, const struct mem_asker *who,
		    uint64_t t)
{
	struct miss *miss = of_walk(ms, w);

	if (!is_in_progress(miss))
		return;
	joined(miss, who, t);
	note_waiter(&miss->r, who);
}

void miss_end_walk(struct memsys *ms, const struct page_walk *w, uint64_t t)
{
	struct miss *miss = of_walk(ms, w);

	if (!is_in_progress(miss))
		return;
	miss->r.level = w->missed_stlb ? LEVEL_MEM : LEVEL_L2;
	miss->r.queue = w->queued;
	end(ms, miss, t, t);
}

/* The run ends before the data comes. */
static void cut(struct memsys *ms, struct miss *miss, uint8_t level, uint64_t now)
{
	miss->r.level = level;
	miss->r.flags |= MISS_CUT;
	end(ms, miss, max_u64(now, miss->r.begin + 1), now);
}

static void cut_line(struct memsys *ms, const struct cache *c, const struct mshr *m, uint64_t now)
{
	struct miss *miss = of_mshr(ms, c, m);

	if (m->known && ready_of(c, m, &miss->r) <= now) {
		miss_end_line(ms, c, m, now);
		return;
	}
	miss->r.queue = m->self.queue;
	/* As far as is known: the caches below may not have been asked yet. */
	cut(ms, miss,
	    m->known		     ? m->self.level
	    : mshr_goes_to_memory(m) ? LEVEL_MEM
				     : ms->cache[c->next].level,
	    now);
}

void memsys_cut(struct memsys *ms, uint64_t now)
{
	struct miss_list *l = ms->misses;

	if (!l)
		return;
	for (int i = MEM_L1I; i <= MEM_L1D; i++) {
		struct cache *c = &ms->cache[i];

		for (uint32_t k = 0; k < c->cfg.mshrs; k++)
			if (is_in_progress(&l->mshr[i][k]))
				cut_line(ms, c, &c->mshr[k], now);
	}
	for (uint32_t k = 0; k < MAX_WALKS; k++)
		if (is_in_progress(&l->walk[k]))
			cut(ms, &l->walk[k], ms->walk[k].missed_stlb ? LEVEL_MEM : LEVEL_L2, now);
}
