/* SPDX-License-Identifier: MIT */
/*
 * The way of a request through the hierarchy, driven by events, never by cycles.
 *
 * A request of the core that hits TLB and L1 is answered on the spot (access_now). Any other
 * becomes a struct req: translated (tlb.c), looked up in its L1, then, as the request of an MSHR,
 * in the cache below, and so on to memory (dram.c); the answer comes back by mem_respond, which
 * passes it up through the MSHRs that wait, tells the core, and lets each cache fill when its last
 * beat arrives.
 *
 * Timing of one level: arrival → (port and bank) → lookup; hit: data at the output `latency` later,
 * then the bus upwards; miss: the MSHR's request arrives below `miss_latency` later. Buses are
 * granted in the order in which data becomes ready. An MSHR is held from the miss to the trailing
 * edge of its line (Kroft's lock-up free cache); requests to its line wait in it and get their own
 * beat's time. A cache below the L1s with full MSHRs keeps further misses in a first-come list; the
 * L1s refuse.
 *
 * Not modelled: coherence, request (address) buses, snoops, data.
 */
#include <stdlib.h>
#include <string.h>

#include "core/mem/mem_int.h"

/* Events: a binary heap by time, then by order of scheduling. */

static inline bool event_before(const struct due *a, const struct due *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

void mem_schedule(struct memsys *ms, uint64_t time, enum due_kind kind, void *p)
{
	struct due e = { .time = time, .order = ms->seq++ << 8 | kind, .p = p };
	uint32_t i;

	if (unlikely(ms->nevents == ms->events_cap)) {
		ms->events_cap *= 2;
		ms->heap = x_realloc(ms->heap, ms->events_cap * sizeof(*ms->heap));
	}
	for (i = ms->nevents++; i > 0; i = (i - 1) / 2) {
		struct due *up = &ms->heap[(i - 1) / 2];

		if (!event_before(&e, up))
			break;
		ms->heap[i] = *up;
	}
	ms->heap[i] = e;
}

static struct due event_pop(struct memsys *ms)
{
	struct due top = ms->heap[0], last = ms->heap[--ms->nevents];
	uint32_t i = 0, n = ms->nevents;

	for (;;) {
		uint32_t kid = 2 * i + 1;

		if (kid >= n)
			break;
		if (kid + 1 < n && event_before(&ms->heap[kid + 1], &ms->heap[kid]))
			kid++;
		if (!event_before(&ms->heap[kid], &last))
			break;
		ms->heap[i] = ms->heap[kid];
		i = kid;
	}
	ms->heap[i] = last;
	return top;
}

uint64_t memsys_next_event(const struct memsys *ms)
{
	return ms->nevents ? ms->heap[0].time : MEM_NEVER;
}

/* Requests and MSHRs */

struct req *req_alloc(struct memsys *ms)
{
	struct req *req = ms->free_req;

	assert(req);
	ms->free_req = req->next;
	ms->nreq_free--;
	memset(req, 0, sizeof(*req));
	return req;
}

void req_free(struct memsys *ms, struct req *req)
{
	req->next = ms->free_req;
	ms->free_req = req;
	if (ms->nreq_free++ < 8) /* a request, or one that crosses a line, may have been refused */
		ms->wake |= 1u << MEM_L1I | 1u << MEM_L1D;
}

struct mshr *mshr_find(struct cache *c, uint64_t line)
{
	uint32_t i, n = c->cfg.mshrs;

	if (!c->nused)
		return NULL;
	for (i = 0; i < n; i++) {
		if (c->mline[i] == line)
			return &c->mshr[i];
	}
	return NULL;
}

static struct mshr *mshr_alloc(struct cache *c, const struct req *for_req)
{
	struct mshr *m = c->free_mshr;

	c->free_mshr = m->next_free;
	c->mline[m - c->mshr] = for_req->line;
	c->nused++;
	memset(m, 0, sizeof(*m));
	m->used = true;
	m->cache = c->id;
	m->line = for_req->line;
	m->self = (struct req){ .line = for_req->line >> c->widen,
				.addr = for_req->addr,
				.pc = for_req->pc,
				.token = for_req->token,
				.flags = for_req->flags,
				.who = for_req->who,
				.kind = REQ_CHILD,
				.cache = c->next,
				.owner = m };
	m->to_memory = c->next == MEMORY;
	return m;
}

static void mshr_free(struct cache *c, struct mshr *m)
{
	m->used = false;
	c->mline[m - c->mshr] = TAG_NONE;
	m->next_free = c->free_mshr;
	c->free_mshr = m;
	c->nused--;
}

static void mshr_add_target(struct mshr *m, struct req *req)
{
	req->next = NULL;
	req->parent = m;
	if (m->tail)
		m->tail->next = req;
	else
		m->head = req;
	m->tail = req;
	m->ntargets++;
}

uint64_t mshr_word_time(const struct mshr *m, uint64_t addr)
{
	uint64_t offset_mask = (1ull << m->beats.wrap) - 1;
	uint64_t rank = ((addr & offset_mask) >> m->beats.shift) -
			((m->self.addr & offset_mask) >> m->beats.shift);

	rank &= offset_mask >> m->beats.shift;
	return min_u64(m->lead + rank * m->beats.step, m->trail);
}

/* Buses */

uint64_t bus_grant(struct data_bus *b, uint8_t line_shift, uint64_t t, uint64_t *busy)
{
	uint64_t start_fp = t << FP_SHIFT, busy_fp = b->busy_fp;

	if (!b->busy_fp)
		return t;
	if (b->free_fp > start_fp)
		start_fp = b->free_fp;
	if (line_shift != b->line_shift)
		busy_fp = (uint64_t)bus_beats(b, line_shift) * b->step << FP_SHIFT;
	*busy += ((start_fp + busy_fp) >> FP_SHIFT) - (start_fp >> FP_SHIFT);
	b->free_fp = start_fp + busy_fp;
	return (start_fp + (1u << FP_SHIFT) - 1) >> FP_SHIFT;
}

/* Completion of a request of the core */

/* An access that had its line at r->ready has the translation beside it at walked: it takes the longer.
 * xlat is all of the walk that a hit would have waited for, so that a data miss that goes away saves
 * the rest. */
static void add_walk(struct mem_result *r, uint64_t walked, uint64_t start, uint64_t hit)
{
	r->ready = max_u64(r->ready, walked);
	r->miss = (uint32_t)(r->ready - start - hit);
	r->xlat = walked > start + hit ? (uint32_t)(walked - start - hit) : 0;
	r->queue = min_u64(r->queue, r->miss - r->xlat);
}

void mem_complete(struct memsys *ms, struct req *req, uint64_t ready)
{
	const struct cache *c = &ms->cache[req->kind == REQ_FETCH ? MEM_L1I : MEM_L1D];
	uint64_t hit = hit_latency(c, req->kind, req->flags);
	struct mem_result r = { .ready = ready,
				.primary = req->primary,
				.events = req->events,
				.reply = MEM_DONE,
				.level = req->level,
				.xlat = req->xlat };
	uint64_t token = req->token;
	struct join *j = req->owner;
	bool translates = req->translates;

	/* a line that is just arriving does not make an access faster than a hit */
	r.ready = ready = max_u64(ready, req->start + req->xlat + hit);
	r.miss = (uint32_t)(ready - req->start - hit);
	r.queue = (uint32_t)min_u64(req->queue, r.miss - min_u64(r.xlat, r.miss));
	req_free(ms, req);
	if (j) {
		/* the slower half gives the times, all give events */
		uint32_t events = j->r.events | r.events;

		if (translates)
			j->walked = max_u64(j->walked, ready);
		else if (r.ready >= j->r.ready)
			j->r = r;
		j->r.events = events;
		if (--j->left)
			return;
		r = j->r;
		if (j->walked)
			add_walk(&r, j->walked, j->start, hit);
		j->next_free = ms->free_join;
		ms->free_join = j;
		ms->wake |= 1u << MEM_L1I | 1u << MEM_L1D;
	}
	ms->cb.done(ms->cb.ctx, token, &r);
}

/* Data on its way up */

static void data_out(struct memsys *ms, struct cache *c, struct req *req, uint64_t when)
{
	if (req->kind != REQ_CHILD) {
		/* at the L1: a load, store or fetch that hit, or a walk's load at any cache */
		if (req->kind == REQ_WALK) {
			mem_schedule(ms, when, DUE_WALK_LOAD, req->owner);
		} else {
			req->level = c->level;
			mem_complete(ms, req, when);
		}
		return;
	}
	req->level = c->level;
	if (!c->bus.busy_fp || req->flags & MEM_IDEAL_BW)
		mem_respond(ms, req, when, when, (struct beats){ 0 }, c->level);
	else
		mem_schedule(ms, when, DUE_BUS, req);
}

static void data_on_bus(struct memsys *ms, struct req *req, uint64_t t)
{
	struct cache *c = &ms->cache[req->cache];
	struct mem_cache_stats *st = &ms->stats.cache[req->cache];
	/* what goes over the bus is a line of the cache above */
	const uint8_t line = ms->cache[((const struct mshr *)req->owner)->cache].line_shift;
	uint64_t lead = bus_grant(&c->bus, line, t, &st->bus_busy);
	uint64_t trail = lead + bus_tail(&c->bus, line);
	const struct beats beats = { c->bus.trailing_edge ? 0 : c->bus.step, c->bus.beat_shift,
				     line };

	if (lead > t) {
		st->bus_wait += lead - t;
		req->queue += (uint32_t)(lead - t);
		req->events |= MEM_EV_BUS_WAIT;
	}
	mem_respond(ms, req, c->bus.trailing_edge ? trail : lead, trail, beats, req->level);
}

/* The data of child comes through c's MSHR m at a time that is known: c passes it on. */
static void pass_on(struct memsys *ms, struct cache *c, struct mshr *m, struct req *child,
		    uint64_t t)
{
	struct mshr *up = child->owner;
	uint64_t lead = max_u64(t, mshr_word_time(m, child->addr));

	child->level = m->self.level;
	/* the line above cannot be complete before the line here is: C3 */
	up->trail = max_u64(up->trail, m->trail);
	if (!c->bus.busy_fp || child->flags & MEM_IDEAL_BW)
		mem_respond(ms, child, lead, m->trail, m->beats, child->level);
	else
		mem_schedule(ms, lead, DUE_BUS, child);
}

static void target_known(struct memsys *ms, struct mshr *m, struct req *req, uint64_t t)
{
	struct cache *c = &ms->cache[m->cache];

	ms->changes++;
	req->parent = NULL;
	t = max_u64(t, req->since);
	if (!(req->events & MEM_EV_MERGED)) /* else it merged nearer to the core */
		req->primary = m->self.primary;
	req->events |= m->self.events;
	req->queue += m->self.queue;
	if (req->kind == REQ_CHILD) {
		pass_on(ms, c, m, req, t);
		return;
	}
	if (req->kind == REQ_WRITE) {
		req_free(ms, req);
		return;
	}
	if (req->kind == REQ_WALK) {
		mem_schedule(ms, max_u64(t, mshr_word_time(m, req->addr)), DUE_WALK_LOAD,
			     req->owner);
		return;
	}
	req->level = m->self.level;
	mem_complete(ms, req, max_u64(t, mshr_word_time(m, req->addr)));
}

void mem_respond(struct memsys *ms, struct req *req, uint64_t lead, uint64_t trail,
		 struct beats beats, uint8_t level)
{
	struct mshr *m;
	struct req *t, *next;

	if (req->kind == REQ_WALK) { /* straight from memory: there is no cache */
		mem_schedule(ms, lead, DUE_WALK_LOAD, req->owner);
		return;
	}
	if (req->kind == REQ_WRITE) {
		req_free(ms, req);
		return;
	}
	assert(req->kind == REQ_CHILD);
	ms->changes++;
	m = req->owner;
	m->known = true;
	m->lead = lead;
	m->trail = max_u64(trail, m->trail);
	m->beats = beats;
	m->self.level = level;
	/* A request that the full target list refused can be answered now. */
	if (m->cache <= MEM_L1D && m->ntargets >= ms->cache[m->cache].cfg.targets)
		ms->wake |= 1u << m->cache;
	/* Before the targets' own events: at equal times the cache below fills first (C3). */
	mem_schedule(ms, m->trail, DUE_FILL, m);
	t = m->head;
	m->head = m->tail = NULL;
	m->ntargets = 0;
	for (; t; t = next) {
		next = t->next;
		target_known(ms, m, t, lead);
	}
}

/* Lookup */

static bool is_write(const struct req *req)
{
	return req->kind == REQ_STORE || req->kind == REQ_WRITE ||
	       (req->kind == REQ_LOAD && req->flags & MEM_EXCLUSIVE);
}

static bool trains(const struct req *req)
{
	return !req->prefetch && req->kind != REQ_WALK;
}

struct req *post_write(struct memsys *ms, const struct cache *c, uint64_t addr, uint64_t pc,
		       uint32_t flags, uint64_t t)
{
	struct req *w = req_alloc(ms);

	w->kind = REQ_WRITE;
	w->addr = addr;
	w->line = addr >> (c->line_shift + c->widen);
	w->pc = pc;
	w->flags = flags;
	w->cache = c->next;
	ms->stats.cache[c->id].writebacks++;
	mem_schedule(ms, t + c->miss_latency, DUE_ARRIVE, w);
	return w;
}

static void wait_for_mshr(struct memsys *ms, struct cache *c, struct req *req, uint64_t t)
{
	ms->stats.cache[c->id].mshr_stalls++;
	req->events |= MEM_EV_MSHR_WAIT;
	req->since = t;
	req->next = NULL;
	if (c->wait_tail)
		c->wait_tail->next = req;
	else
		c->wait_head = req;
	c->wait_tail = req;
}

/* Cycles from a miss to the request's arrival below. The ideal L1D answers in one cycle, and knows
 * as much sooner that it misses. */
static uint32_t first_latency(const struct cache *c, const struct req *req)
{
	uint32_t saved = c->latency - hit_latency(c, req->kind, req->flags);

	return c->miss_latency > saved ? c->miss_latency - saved : 0;
}

static void merge(struct memsys *ms, struct cache *c, struct mshr *m, struct req *req, uint64_t t)
{
	struct mem_cache_stats *st = &ms->stats.cache[c->id];

	st->merges++;
	req->since = t + c->latency; /* not sooner than a hit */
	req->events |= c->miss_event;
	if (!(req->events & MEM_EV_MERGED)) {
		req->events |= MEM_EV_MERGED;
		req->primary = m->prefetch ? MEM_NO_TOKEN : m->self.token;
	}
	if (m->prefetch && !req->prefetch) {
		st->prefetches_useful++;
		m->prefetch = false;
		m->self.token = req->token;
	}
	if (is_write(req))
		m->dirty = true;
	if (unlikely(ms->misses != NULL))
		miss_join_line(ms, c, m, &req->who, t);
	if (m->known)
		target_known(ms, m, req, t);
	else
		mshr_add_target(m, req);
	ms->changes++;
}

static void observe(struct memsys *ms, struct cache *c, const struct req *req, bool miss,
		    bool first_use, uint64_t t)
{
	prefetch_observe(
	    ms, c,
	    &(struct pf_access){
		.line = req->line, .pc = req->pc, .miss = miss, .first_use = first_use },
	    &req->who, t);
}

/* req is at its cache in cycle t and has its port: hit, merge, miss, or wait for an MSHR. */
void mem_lookup(struct memsys *ms, struct req *req, uint64_t t)
{
	struct cache *c = &ms->cache[req->cache];
	struct mem_cache_stats *st = &ms->stats.cache[req->cache];
	int64_t index = tags_find(&c->t, req->line);
	struct mshr *m;
	uint64_t latency = hit_latency(c, req->kind, req->flags);

	if (unlikely(index < 0 && req->flags & (MEM_IDEAL_DMEM | MEM_IDEAL_IMEM) &&
		     c->next == MEMORY)) {
		cache_install(ms, c, req->line, is_write(req) ? TS_DIRTY : 0, t, INSTALL_FREE);
		index = tags_find(&c->t, req->line);
	}
	if (unlikely(index < 0 && ms->unknown == UNKNOWN_HIT) &&
	    unknown_line(ms, c, req->line, is_write(req), t))
		index = tags_find(&c->t, req->line);
	if (index >= 0) {
		uint32_t ev;

		st->accesses++;
		ev = cache_hit(ms, c, (uint32_t)index, is_write(req));
		if (c->id <= MEM_L1D)
			req->events |= ev;
		if (trains(req))
			observe(ms, c, req, false, ev, t);
		if (req->kind == REQ_WRITE) {
			wbuf_taken(ms, req, t + latency);
			req_free(ms, req);
			return;
		}
		data_out(ms, c, req, t + latency);
		return;
	}
	if (unlikely(ms->hits != NULL) &&
	    hits_line(ms, c, &(struct pf_access){ .line = req->line, .pc = req->pc }, is_write(req),
		      false, t)) {
		st->accesses++;
		if (req->kind == REQ_WRITE)
			wbuf_taken(ms, req, t + latency);
		data_out(ms, c, req, t + latency);
		return;
	}
	if (unlikely(misses_are_ideal(c, req->kind, req->flags))) {
		st->accesses++;
		if (req->flags & MEM_IDEAL_PUT && c->id == MEM_L1D)
			cache_put(ms, c, req->line, is_write(req), t);
		data_out(ms, c, req, t + latency);
		return;
	}
	m = mshr_find(c, req->line);
	if (unlikely(req->kind == REQ_STORE && c->cfg.no_write_allocate && !m)) {
		struct req store = *req;

		st->accesses++;
		st->misses++;
		req->events |= c->miss_event;
		data_out(ms, c, req, t + latency);
		if (!c->cfg.write_through) /* else it was posted when the core asked */
			post_write(ms, c, store.addr, store.pc, store.flags, t);
		return;
	}
	if (m ? !m->known && m->ntargets >= c->cfg.targets : !c->free_mshr) {
		wait_for_mshr(ms, c, req, t);
		return;
	}
	st->accesses++;
	st->misses++;
	if (unlikely(req->kind == REQ_WRITE))
		wbuf_taken(ms, req, t + latency);
	if (m) {
		bool pf = m->prefetch && !req->prefetch;
		struct mem_asker who = req->who;

		merge(ms, c, m, req, t);
		if (pf)
			prefetch_observe(ms, c,
					 &(struct pf_access){
					     .line = m->line, .pc = m->self.pc, .first_use = true },
					 &who, t);
		return;
	}
	req->events |= c->miss_event;
	req->since = 0;
	ms->changes++;
	m = mshr_alloc(c, req);
	m->dirty = is_write(req);
	m->self.prefetch = req->prefetch;
	mshr_add_target(m, req);
	if (unlikely(ms->misses != NULL))
		miss_begin_line(ms, c, m, &req->who, t);
	mem_schedule(ms, t + first_latency(c, req), DUE_ARRIVE, &m->self);
	if (trains(req))
		observe(ms, c, req, true, false, t);
}

uint64_t book_port(struct cache *c, uint64_t line, uint64_t t)
{
	if (c->cfg.ports) {
		if (t > c->port_cycle) {
			c->port_cycle = t;
			c->port_count = 0;
		} else if (c->port_count >= c->cfg.ports) {
			c->port_cycle++;
			c->port_count = 0;
		}
		t = c->port_cycle;
		c->port_count++;
	}
	if (c->cfg.banks) {
		uint64_t *bank = &c->bank_free[line & (c->cfg.banks - 1)];

		t = max_u64(t, *bank);
		*bank = t + c->cfg.bank_interval;
	}
	return t;
}

static void arrive(struct memsys *ms, struct req *req, uint64_t t)
{
	struct cache *c = &ms->cache[req->cache];
	uint64_t start;

	if (req->cache == MEMORY) {
		if (req->kind == REQ_WRITE) {
			memory_write(ms, req->line, t);
			wbuf_taken(ms, req, t);
			req_free(ms, req);
		} else {
			memory_read(ms, req, t);
		}
		return;
	}
	if (req->kind == REQ_WRITE && c->bus.busy_fp && !(req->flags & MEM_IDEAL_BW))
		c->bus.free_fp =
		    max_u64(c->bus.free_fp, t << FP_SHIFT) + ((uint64_t)c->bus.step << FP_SHIFT);
	start = req->flags & MEM_IDEAL_BW || req->cache <= MEM_L1D ? t : book_port(c, req->line, t);
	if (start == t) {
		mem_lookup(ms, req, t);
		return;
	}
	ms->stats.cache[req->cache].bank_stalls++;
	req->events |= MEM_EV_BUS_WAIT;
	req->queue += (uint32_t)(start - t);
	mem_schedule(ms, start, DUE_LOOKUP, req);
}

static void fill(struct memsys *ms, struct mshr *m, uint64_t t)
{
	struct cache *c = &ms->cache[m->cache];
	uint8_t state =
	    (m->dirty && !c->cfg.write_through ? TS_DIRTY : 0) | (m->prefetch ? TS_PREFETCHED : 0);
	uint64_t line = m->line;
	enum install_mode mode = m->self.flags & MEM_IDEAL_BW ? INSTALL_FREE : INSTALL_TIMED;

	ms->changes++;
	if (unlikely(ms->misses != NULL))
		miss_end_line(ms, c, m, t);
	mshr_free(c, m);
	cache_install(ms, c, line, state, t, mode);
	while (c->wait_head) {
		struct req *req = c->wait_head;
		uint64_t waited = t - req->since;

		if (!c->free_mshr && tags_peek(&c->t, req->line) < 0 && !mshr_find(c, req->line))
			break;
		c->wait_head = req->next;
		if (!c->wait_head)
			c->wait_tail = NULL;
		req->queue += (uint32_t)waited;
		mem_lookup(ms, req, t);
		if (c->wait_tail == req) /* its line has all the targets that it can have */
			break;
	}
	if (c->id <= MEM_L1D)
		ms->wake |= 1u << c->id;
}

void mem_ask_early(struct memsys *ms, struct cache *c, const struct req *what,
		   const struct mem_asker *who, uint64_t t)
{
	struct mshr *m = mshr_alloc(c, what);

	ms->stats.cache[c->id].prefetches++;
	ms->changes++;
	m->prefetch = true;
	m->self.prefetch = 1;
	if (unlikely(ms->misses != NULL))
		miss_begin_line(
		    ms, c, m,
		    who ? who : &(struct mem_asker){ .pc = what->pc, .kind = MISS_PREFETCH }, t);
	mem_schedule(ms, t + c->miss_latency, DUE_ARRIVE, &m->self);
}

bool mem_issue_prefetch(struct memsys *ms, struct cache *c, uint64_t line, uint64_t pc,
			const struct mem_asker *who, uint64_t t)
{
	struct req req = { .line = line, .addr = line << c->line_shift, .pc = pc };

	if (tags_peek(&c->t, line) >= 0 || mshr_find(c, line))
		return true;
	if (unlikely(ms->unknown == UNKNOWN_HIT) && unknown_line(ms, c, line, false, t))
		return true;
	if (unlikely(ms->hits != NULL) &&
	    hits_line(ms, c, &(struct pf_access){ .line = line, .pc = pc }, false, true, t))
		return true;
	if (!c->free_mshr || c->wait_head) {
		ms->stats.cache[c->id].prefetches_dropped++;
		return false;
	}
	mem_ask_early(ms, c, &req, who, t);
	return true;
}

void memsys_advance(struct memsys *ms, uint64_t now)
{
	assert(now >= ms->now);
	if (unlikely(ms->hits != NULL))
		hits_pass(ms, now);
	while (ms->nevents && ms->heap[0].time <= now) {
		struct due e = event_pop(ms);

		ms->stats.events++;
		switch ((enum due_kind)(e.order & 0xff)) {
		case DUE_ARRIVE:
			arrive(ms, e.p, e.time);
			break;
		case DUE_LOOKUP:
			mem_lookup(ms, e.p, e.time);
			break;
		case DUE_BUS:
			data_on_bus(ms, e.p, e.time);
			break;
		case DUE_MEM_BUS:
			memory_read(ms, e.p, e.time);
			break;
		case DUE_FILL:
			fill(ms, e.p, e.time);
			break;
		case DUE_WALK:
			walk_event(ms, e.p, e.time);
			break;
		case DUE_WALK_LOAD:
			walk_loaded(ms, e.p, e.time);
			break;
		case DUE_DRAM:
			dram_wake(ms, e.p, e.time);
			break;
		case DUE_DRAM_DONE:
			dram_done(ms, e.p, e.time);
			break;
		case DUE_WRITE:
		case DUE_WRITTEN:
			wbuf_event(ms, (e.order & 0xff) == DUE_WRITTEN, e.time);
			break;
		}
	}
	ms->now = now;
	if (ms->wake) {
		uint32_t wake = 0;
		int i;

		for (i = MEM_L1I; i <= MEM_L1D; i++) {
			if (ms->wake >> i & 1 && ms->cache[i].refused) {
				ms->cache[i].refused = false;
				wake |= 1u << i;
			}
		}
		ms->wake = 0;
		if (wake && ms->cb.wake)
			ms->cb.wake(ms->cb.ctx, wake);
	}
}
