/* SPDX-License-Identifier: MIT */
/*
 * The core's requests: what can be answered on the spot is (hits, lines whose arrival is known,
 * ideal accesses, refusals); any other becomes a struct req and takes the way described in mem.c.
 *
 * A refusal leaves no trace but statistics, so that trying again every cycle and trying again when
 * woken give the same run. An access that crosses a line is two; it is refused as a whole or taken
 * as a whole, and completes when both halves have.
 */
#include <string.h>

#include "core/mem/mem_int.h"

enum now_reply {
	NOW_DONE,  /* r is filled */
	NOW_SLOW,  /* there is room for a struct req */
	NOW_RETRY, /* r->ready is set */
};

static enum now_reply refuse(struct memsys *ms, struct cache *c, struct mem_result *r,
			     uint64_t when)
{
	r->reply = MEM_RETRY;
	r->ready = when;
	r->events = MEM_EV_MSHR_WAIT;
	if (when == MEM_NEVER) {
		c->refused = true;
		ms->stats.cache[c->id].mshr_stalls++;
	} else {
		r->events = MEM_EV_BUS_WAIT;
		ms->stats.cache[c->id].bank_stalls++;
	}
	return NOW_RETRY;
}

/* 0, or the cycle at which an L1 that refuses now for its ports or banks will take the request. */
static uint64_t port_refuses(const struct cache *c, uint64_t line, uint64_t now)
{
	if (c->cfg.ports && c->port_cycle == now && c->port_count >= c->cfg.ports)
		return now + 1;
	if (c->cfg.banks && c->bank_free[line & (c->cfg.banks - 1)] > now)
		return c->bank_free[line & (c->cfg.banks - 1)];
	return 0;
}

static inline void tlb_hit(struct memsys *ms, bool fetch, uint32_t index)
{
	if (fetch) {
		tags_touch(&ms->itlb, index);
		ms->stats.itlb.accesses++;
	} else {
		tags_touch(&ms->dtlb, index);
		ms->stats.dtlb.accesses++;
	}
}

/* An access of the core within one line. */
struct access {
	uint64_t now, vaddr, line, pc, token;
	enum req_kind kind;
	uint32_t flags; /* enum mem_flag */
	bool write;	/* makes the line dirty */
	bool through;	/* is also written to the level below */
};

static void observe_hit(struct memsys *ms, struct cache *c, const struct access *a, bool first_use)
{
	struct mem_asker asker;

	prefetch_observe(
	    ms, c, &(struct pf_access){ .line = a->line, .pc = a->pc, .first_use = first_use },
	    miss_ask(ms, a->token, &asker), a->now);
}

/* The line is on its way, and when it comes is known. */
static void join_known(struct memsys *ms, struct cache *c, const struct access *a, struct mshr *m,
		       struct mem_result *r)
{
	struct mem_cache_stats *st = &ms->stats.cache[c->id];
	struct mem_asker asker;
	const struct mem_asker *who = miss_ask(ms, a->token, &asker);
	uint64_t hit = a->now + hit_latency(c, a->kind, a->flags);

	st->misses++;
	st->merges++;
	r->ready = max_u64(hit, mshr_word_time(m, a->vaddr));
	r->events = MEM_EV_MERGED | c->miss_event | m->self.events;
	r->primary = m->prefetch ? MEM_NO_TOKEN : m->self.token;
	r->level = m->self.level;
	r->miss = (uint32_t)(r->ready - hit);
	r->queue = min_u64(m->self.queue, r->miss);
	m->dirty |= a->write;
	if (who)
		miss_join_line(ms, c, m, who, a->now);
	if (m->prefetch) {
		m->prefetch = false;
		st->prefetches_useful++;
		observe_hit(ms, c, a, true);
	}
}

/* What the L1 says at once, the translation being there. */
static enum now_reply line_now(struct memsys *ms, struct cache *c, struct access *a,
			       struct mem_result *r)
{
	int64_t index = tags_find(&c->t, a->line);
	struct mshr *m;

	r->ready = a->now + hit_latency(c, a->kind, a->flags);
	if (unlikely(index < 0 && ms->unknown == UNKNOWN_HIT) &&
	    unknown_line(ms, c, a->line, a->write, a->now))
		index = tags_find(&c->t, a->line);
	if (likely(index >= 0)) {
		r->events = cache_hit(ms, c, (uint32_t)index, a->write);
		if (c->pf && (r->events || c->pf->hits))
			observe_hit(ms, c, a, r->events);
		return NOW_DONE;
	}
	if (unlikely(ms->hits != NULL) &&
	    hits_line(ms, c, &(struct pf_access){ .line = a->line, .pc = a->pc }, a->write, false,
		      a->now))
		return NOW_DONE;
	if (misses_are_ideal(c, a->kind, a->flags)) {
		if (unlikely(a->flags & MEM_IDEAL_PUT) && c->id == MEM_L1D)
			cache_put(ms, c, a->line, a->write, a->now);
		return NOW_DONE;
	}
	m = mshr_find(c, a->line);
	if (m && m->known) {
		join_known(ms, c, a, m, r);
		return NOW_DONE;
	}
	if (a->kind == REQ_STORE && c->cfg.no_write_allocate && !m) {
		if (ms->nreq_free < 4)
			return refuse(ms, c, r, MEM_NEVER);
		ms->stats.cache[c->id].misses++;
		r->events = c->miss_event;
		a->through = true;
		return NOW_DONE;
	}
	if (!ms->nreq_free || (m ? m->ntargets >= c->cfg.targets : !c->free_mshr || c->wait_head))
		return refuse(ms, c, r, MEM_NEVER);
	return NOW_SLOW;
}

static void write_through(struct memsys *ms, const struct cache *c, const struct access *a)
{
	if (ms->wbuf.size)
		wbuf_write(ms, a->vaddr, a->pc, a->flags, a->now);
	else
		post_write(ms, c, a->vaddr, a->pc, a->flags, a->now);
}

/* What can be said at once about an access within one line. */
static enum now_reply access_now(struct memsys *ms, uint64_t now, enum req_kind kind,
				 uint64_t vaddr, uint64_t pc, uint64_t token, uint32_t flags,
				 struct mem_result *r)
{
	bool fetch = kind == REQ_FETCH;
	struct cache *c = &ms->cache[fetch ? MEM_L1I : MEM_L1D];
	struct access a = { .now = now,
			    .vaddr = vaddr,
			    .line = vaddr >> c->line_shift,
			    .pc = pc,
			    .token = token,
			    .kind = kind,
			    .flags = flags,
			    .write = kind == REQ_STORE || flags & MEM_EXCLUSIVE,
			    .through = kind == REQ_STORE && c->cfg.write_through };
	bool ported = (c->cfg.ports | c->cfg.banks) && !(flags & MEM_IDEAL_BW);
	enum now_reply reply = NOW_SLOW;
	int64_t page = -1;

	r->xlat = r->queue = r->miss = 0;
	r->events = 0;
	r->primary = MEM_NO_TOKEN;
	r->level = LEVEL_L1;
	if (unlikely(a.through) &&
	    (ms->nreq_free < 4 || (ms->wbuf.size && !wbuf_takes(ms, a.line, a.line))))
		return refuse(ms, c, r, MEM_NEVER);
	if (ported) {
		uint64_t when = port_refuses(c, a.line, now);

		if (when)
			return refuse(ms, c, r, when);
	}
	if ((fetch ? ms->has_itlb : ms->has_dtlb) &&
	    likely(!(flags & (fetch ? MEM_IDEAL_ITLB : MEM_IDEAL_DTLB)))) {
		uint64_t vpn = vaddr >> ms->page_shift;

		page = tags_find(fetch ? &ms->itlb : &ms->dtlb, vpn);
		if (unlikely(page < 0 && ms->hits) && hits_page(ms, fetch, vpn, now))
			page = tags_find(fetch ? &ms->itlb : &ms->dtlb, vpn);
		if (unlikely(page < 0 && ms->unknown == UNKNOWN_HIT) &&
		    unknown_page(ms, fetch ? &ms->itlb : &ms->dtlb, vpn))
			page = tags_find(fetch ? &ms->itlb : &ms->dtlb, vpn);
		if (unlikely(page < 0)) {
			if (!ms->nreq_free || !tlb_can_miss(ms, fetch, vpn) ||
			    (ms->cfg.walk_beside && (ms->nreq_free < 2 || !ms->free_join)))
				return refuse(ms, c, r, MEM_NEVER);
			r->events = MEM_EV_TLB_MISS;
		}
	}
	if (likely(!r->events)) {
		reply = line_now(ms, c, &a, r);
		if (reply == NOW_RETRY)
			return NOW_RETRY;
	}
	/* The request is taken. */
	if (page >= 0)
		tlb_hit(ms, fetch, (uint32_t)page);
	if (ported)
		book_port(c, a.line, now);
	if (unlikely(a.through))
		write_through(ms, c, &a);
	if (reply == NOW_DONE) {
		ms->stats.cache[c->id].accesses++;
		r->reply = MEM_DONE;
	}
	return reply;
}

static struct join *join_new(struct memsys *ms, uint64_t now, uint64_t token, uint32_t events,
			     uint32_t parts)
{
	struct join *j = ms->free_join;

	ms->free_join = j->next_free;
	*j = (struct join){ .token = token, .start = now, .left = parts, .r.events = events };
	return j;
}

static void access_slow(struct memsys *ms, uint64_t now, enum req_kind kind, uint64_t vaddr,
			uint64_t pc, uint64_t token, uint32_t flags, uint32_t events,
			struct join *j)
{
	struct req *req = req_alloc(ms);

	req->kind = kind;
	req->cache = kind == REQ_FETCH ? MEM_L1I : MEM_L1D;
	req->addr = vaddr;
	req->line = vaddr >> ms->cache[req->cache].line_shift;
	req->pc = pc;
	req->token = token;
	req->flags = flags;
	req->events = events;
	req->start = now;
	req->owner = j;
	miss_ask(ms, token, &req->who);
	if (!(events & MEM_EV_TLB_MISS)) {
		mem_lookup(ms, req, now);
	} else if (!ms->cfg.walk_beside) {
		tlb_miss(ms, req, now);
	} else {
		struct req *walks = req_alloc(ms);

		if (j)
			j->left++;
		else
			j = join_new(ms, now, token, 0, 2);
		req->owner = j;
		*walks = *req;
		walks->translates = true;
		tlb_miss(ms, walks, now);
		mem_lookup(ms, req, now);
	}
}

/* True if half of an access that crosses a line finds its line, an MSHR to wait in, or a free MSHR.
 * If both halves need the last one, the second half waits in the L1's list. A guess where the
 * translation comes first. */
static bool line_can_wait(struct cache *c, enum req_kind kind, uint64_t line, uint32_t flags)
{
	struct mshr *m;

	if (misses_are_ideal(c, kind, flags) || tags_peek(&c->t, line) >= 0)
		return true;
	m = mshr_find(c, line);
	return m ? m->known || m->ntargets < c->cfg.targets : c->free_mshr && !c->wait_head;
}

/* An access that crosses a line: two accesses, complete when both are. */
static enum mem_reply access_split(struct memsys *ms, uint64_t now, enum req_kind kind,
				   uint64_t vaddr, uint64_t second, uint64_t pc, uint64_t token,
				   uint32_t flags, struct mem_result *r)
{
	struct cache *c = &ms->cache[kind == REQ_FETCH ? MEM_L1I : MEM_L1D];
	struct mem_result a, b;
	enum now_reply ra, rb;
	struct join *j;

	/* everything but the ports that may refuse the access, before anything changes */
	if (ms->nreq_free < 8 || !ms->free_join || ms->nwalks + 2 > MAX_WALKS ||
	    !line_can_wait(c, kind, vaddr >> c->line_shift, flags) ||
	    !line_can_wait(c, kind, second >> c->line_shift, flags) ||
	    (ms->wbuf.size && kind == REQ_STORE &&
	     !wbuf_takes(ms, vaddr >> c->line_shift, second >> c->line_shift))) {
		refuse(ms, c, r, MEM_NEVER);
		return MEM_RETRY;
	}
	ra = access_now(ms, now, kind, vaddr, pc, token, flags, &a);
	if (ra == NOW_RETRY) {
		*r = a;
		return MEM_RETRY;
	}
	/* ports count an access once */
	rb = access_now(ms, now, kind, second, pc, token, flags | MEM_IDEAL_BW, &b);
	if (rb == NOW_RETRY) { /* a prefetch that the first half set off took the last MSHR */
		rb = NOW_SLOW;
		b.events = 0;
	}
	if (ra == NOW_DONE && rb == NOW_DONE) {
		*r = b.ready > a.ready ? b : a;
		r->events = a.events | b.events | MEM_EV_SPLIT;
		return MEM_DONE;
	}
	j = join_new(ms, now, token, MEM_EV_SPLIT, (ra != NOW_DONE) + (rb != NOW_DONE));
	if (ra == NOW_DONE || rb == NOW_DONE) {
		j->r = ra == NOW_DONE ? a : b;
		j->r.events |= MEM_EV_SPLIT;
	}
	/* with no MSHR left for the second half it waits inside, in the L1's list */
	if (ra != NOW_DONE)
		access_slow(ms, now, kind, vaddr, pc, token, flags, a.events & MEM_EV_TLB_MISS, j);
	if (rb != NOW_DONE)
		access_slow(ms, now, kind, second, pc, token, flags, b.events & MEM_EV_TLB_MISS, j);
	r->reply = MEM_PENDING;
	r->events = MEM_EV_SPLIT | a.events | b.events;
	r->level = LEVEL_NONE;
	r->ready = MEM_NEVER;
	return MEM_PENDING;
}

/* The short way of a hit: no flags, nothing special, both hints right. Takes half the time of
 * access_now(). */
static inline bool access_plain(struct memsys *ms, uint64_t now, enum req_kind kind, uint64_t vaddr,
				uint64_t end, uint32_t flags, struct mem_result *r)
{
	bool fetch = kind == REQ_FETCH;
	struct cache *c = &ms->cache[fetch ? MEM_L1I : MEM_L1D];
	struct tag_array *tlb = fetch ? &ms->itlb : &ms->dtlb;
	uint64_t line = vaddr >> c->line_shift, vpn = vaddr >> ms->page_shift;
	uint32_t page, index;

	if (flags & ~MEM_WRONG_PATH || !c->plain || end >> c->line_shift != line ||
	    !(fetch ? ms->has_itlb : ms->has_dtlb))
		return false;
	page = tlb->hint[vpn & tlb->hint_mask];
	index = c->t.hint[line & c->t.hint_mask];
	if (tlb->tag[page] != vpn || c->t.tag[index] != line || c->t.state[index] & TS_PREFETCHED)
		return false;
	tlb->stamp[page] = ++tlb->clock;
	c->t.stamp[index] = ++c->t.clock;
	if (kind == REQ_STORE)
		c->t.state[index] |= TS_DIRTY;
	if (fetch)
		ms->stats.itlb.accesses++;
	else
		ms->stats.dtlb.accesses++;
	ms->stats.cache[fetch ? MEM_L1I : MEM_L1D].accesses++;
	*r = (struct mem_result){ .ready = now + c->latency, .reply = MEM_DONE, .level = LEVEL_L1 };
	return true;
}

void memsys_perfect(struct memsys *ms)
{
	ms->perfect = true;
}

/* An access to perfect caches that neither ports nor a level below can delay. */
static bool access_perfect(const struct memsys *ms, uint64_t now, enum req_kind kind,
			   uint64_t vaddr, uint64_t end, uint32_t flags, struct mem_result *r)
{
	const struct cache *c = &ms->cache[kind == REQ_FETCH ? MEM_L1I : MEM_L1D];

	if ((vaddr ^ end) >> c->line_shift || c->cfg.ports | c->cfg.banks ||
	    (kind == REQ_STORE && c->cfg.write_through))
		return false;
	*r = (struct mem_result){ .ready = now + hit_latency(c, kind, flags),
				  .reply = MEM_DONE,
				  .level = LEVEL_L1 };
	return true;
}

static inline enum mem_reply access(struct memsys *ms, uint64_t now, enum req_kind kind,
				    uint64_t vaddr, uint32_t size, uint64_t pc, uint64_t token,
				    uint32_t flags, struct mem_result *r)
{
	uint64_t end = vaddr + size - 1;
	const uint8_t line_shift = ms->cache[kind == REQ_FETCH ? MEM_L1I : MEM_L1D].line_shift;

	assert(now >= ms->now && (!ms->nevents || ms->heap[0].time >= now));
	ms->stats.wrong_path += !!(flags & MEM_WRONG_PATH);
	if (likely(access_plain(ms, now, kind, vaddr, end, flags, r)))
		return MEM_DONE;
	if (unlikely(ms->perfect) && access_perfect(ms, now, kind, vaddr, end, flags, r))
		return MEM_DONE;
	if (unlikely((vaddr ^ end) >> line_shift))
		return access_split(ms, now, kind, vaddr, end >> line_shift << line_shift, pc,
				    token, flags, r);
	switch (access_now(ms, now, kind, vaddr, pc, token, flags, r)) {
	case NOW_DONE:
		return MEM_DONE;
	case NOW_RETRY:
		return MEM_RETRY;
	case NOW_SLOW:
		break;
	}
	access_slow(ms, now, kind, vaddr, pc, token, flags, r->events & MEM_EV_TLB_MISS, NULL);
	r->reply = MEM_PENDING;
	r->level = LEVEL_NONE;
	r->ready = MEM_NEVER;
	return MEM_PENDING;
}

enum mem_reply memsys_load(struct memsys *ms, uint64_t now, uint64_t vaddr, uint32_t size,
			   uint64_t pc, uint64_t token, uint32_t flags, struct mem_result *r)
{
	return access(ms, now, REQ_LOAD, vaddr, size, pc, token, flags, r);
}

enum mem_reply memsys_store(struct memsys *ms, uint64_t now, uint64_t vaddr, uint32_t size,
			    uint64_t pc, uint64_t token, uint32_t flags, struct mem_result *r)
{
	return access(ms, now, REQ_STORE, vaddr, size, pc, token, flags, r);
}

enum mem_reply memsys_ifetch(struct memsys *ms, uint64_t now, uint64_t vaddr, uint32_t size,
			     uint64_t token, uint32_t flags, struct mem_result *r)
{
	return access(ms, now, REQ_FETCH, vaddr, size, vaddr, token, flags, r);
}

bool memsys_prefetch(struct memsys *ms, uint64_t now, enum mem_cache cache, uint64_t vaddr,
		     uint64_t token, uint32_t flags)
{
	bool fetch = cache == MEM_L1I;
	struct mem_asker asker;

	assert(cache <= MEM_L1D);
	if ((fetch ? ms->has_itlb : ms->has_dtlb) &&
	    !(flags & (fetch ? MEM_IDEAL_ITLB : MEM_IDEAL_DTLB)) &&
	    tags_peek(fetch ? &ms->itlb : &ms->dtlb, vaddr >> ms->page_shift) < 0)
		return false;
	return mem_issue_prefetch(ms, &ms->cache[cache], vaddr >> ms->cache[cache].line_shift, 0,
				  miss_ask(ms, token, &asker), now);
}

bool memsys_ahead(struct memsys *ms, uint64_t now, uint64_t vaddr, uint64_t token, uint32_t flags)
{
	struct cache *c = &ms->cache[MEM_L1I];
	struct req req = {
		.line = vaddr >> c->line_shift, .addr = vaddr, .pc = vaddr, .flags = flags
	};
	struct mem_asker asker;

	if (ms->has_itlb && !(flags & MEM_IDEAL_ITLB) &&
	    tags_peek(&ms->itlb, vaddr >> ms->page_shift) < 0)
		return false;
	if (tags_peek(&c->t, req.line) >= 0 || mshr_find(c, req.line))
		return true;
	if (!c->free_mshr || c->wait_head)
		return false;
	mem_ask_early(ms, c, &req, miss_ask(ms, token, &asker), now);
	return true;
}
