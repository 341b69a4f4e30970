/* SPDX-License-Identifier: MIT */
/*
 * Loads, stores and the order between them.
 *
 * Addresses are known when an instruction is fetched (the guest has executed it), so the youngest
 * older store that a load overlaps is found at dispatch, in a hash table of the granules (8 bytes)
 * that stores in the queue touch, without searching the queue. What the machine would know by then
 * is modelled on top: a store's address is known to loads that issue with the store or later, its
 * data when the producer of that is done.
 *
 *   store's address   load
 *   known             forwards if the store has all its bytes, else waits until it is written
 *   not known yet     speculative: goes to the cache; when the store's address comes, the load is
 *                     marked and flushes when it is the oldest (BOOM)
 *                     perfect: waits for that store alone
 *                     conservative, or a load that the wait table knows: waits for all older
 *                     addresses
 *
 * Stores are written in order after they commit. By default the cache's MSHRs limit how many misses
 * are under way, and a store leaves the queue when the cache has taken it.
 *
 * Simplified: a store translates when it is written, not when its address is computed.
 */
#include "core/pipe.h"

#define GRANULE_SHIFT 3
#define LOWEST_MAPPED 0x10000 /* Linux maps nothing below: wrong paths through NULL stop here */

static uint32_t granule_hash(uint64_t granule)
{
	return (uint32_t)((granule * 0x9e3779b97f4a7c15ull) >> 54) & (STORE_HASH - 1);
}

uint32_t lsu_psv(uint32_t events)
{
	static const struct {
		uint32_t event, psv;
	} table[] = {
		{ MEM_EV_L1_MISS, PSV_ST_L1 },	   { MEM_EV_L2_MISS, PSV_ST_L2 },
		{ MEM_EV_LLC_MISS, PSV_ST_LLC },   { MEM_EV_TLB_MISS, PSV_ST_TLB },
		{ MEM_EV_STLB_MISS, PSV_ST_STLB }, { MEM_EV_MERGED, PSV_ST_MERGE },
		{ MEM_EV_MSHR_WAIT, PSV_ST_MSHR }, { MEM_EV_BUS_WAIT, PSV_ST_BUS },
	};
	uint32_t psv = 0;

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (events & table[i].event)
			psv |= table[i].psv;
	return psv;
}

uint32_t lsu_mem_flags(uint32_t ideal, uint32_t state, uint32_t uop)
{
	uint32_t flags = 0;

	if (unlikely(ideal))
		flags = (ideal & IDEAL_DL1 ? MEM_IDEAL_DL1 : 0) |
			(ideal & IDEAL_DMISS ? MEM_IDEAL_DMISS : 0) |
			(ideal & IDEAL_DTLB ? MEM_IDEAL_DTLB : 0) |
			(ideal & IDEAL_ITLB ? MEM_IDEAL_ITLB : 0) |
			(ideal & IDEAL_DMEM ? MEM_IDEAL_DMEM : 0) |
			(ideal & IDEAL_BW ? MEM_IDEAL_BW : 0);
	if (state & ST_WRONG)
		flags |= MEM_WRONG_PATH;
	if (uop & UOP_ATOMIC)
		flags |= MEM_EXCLUSIVE;
	return flags;
}

/* If the misses of a single static instruction are idealised, its lines are put into the cache, so
 * that the misses do not move to the next instruction that uses them. */
static uint32_t put_flag(const struct core *c, uint32_t ideal)
{
	return unlikely(ideal & ~c->ideal & IDEAL_DMISS) ? MEM_IDEAL_PUT : 0;
}

bool lsu_first_touch(struct core *c, uint64_t addr)
{
	uint64_t page = addr / GUEST_PAGE_BYTES;

	if (!c->lsu.touched || addr >= GUEST_ADDR_LIMIT || c->lsu.touched[page])
		return false;
	c->lsu.touched[page] = 1;
	return true;
}

/* ---- dispatch and squash ---- */

/* Youngest store that touches the granule and overlaps [addr, addr + size); 0: none. */
static uint64_t find_store(const struct core *c, uint64_t granule, uint64_t addr, uint32_t size)
{
	uint32_t h = granule_hash(granule);

	for (uint64_t n = c->lsu.store_hash[h]; n >= c->lsu.sq_head;) {
		const struct sq_entry *s = store_at(c, n);

		if (s->addr < addr + size && addr < s->addr + s->size)
			return n;
		n = s->next[s->hash[0] != h];
	}
	return 0;
}

void lsu_dispatch_load(struct core *c, uint64_t po)
{
	uint32_t slot = slot_of(c, po);
	struct inflight *e = &c->ring[slot];
	struct memop *m = &c->lsu.memops[slot];
	uint32_t size = e->u->mem_bytes;

	c->lsu.lq_used++;
	m->store = 0;
	m->wait = WAIT_NONE;
	if (c->lsu.sq_head == c->lsu.sq_tail)
		return;

	uint64_t first = e->addr >> GRANULE_SHIFT, last = (e->addr + size - 1) >> GRANULE_SHIFT;
	uint64_t n = find_store(c, first, e->addr, size);

	if (last != first)
		n = max_u64(n, find_store(c, last, e->addr, size));
	if (!n)
		return;

	struct sq_entry *s = store_at(c, n);

	m->store = n;
	m->covered = s->addr <= e->addr && e->addr + size <= s->addr + s->size;
	m->next_load = s->loads;
	s->loads = po;
}

void lsu_squash_load(struct core *c, uint64_t po)
{
	uint32_t slot = slot_of(c, po);
	struct memop *m = &c->lsu.memops[slot];

	c->lsu.lq_used--;
	if (m->store >= c->lsu.sq_head && m->store) {
		struct sq_entry *s = store_at(c, m->store);

		assert(s->loads == po);
		s->loads = m->next_load;
	}
	if (c->lsu.retry[slot / 64] >> (slot & 63) & 1)
		c->lsu.retry[slot / 64] &= ~(1ull << (slot & 63));
	if (c->lsu.order_wait[slot / 64] >> (slot & 63) & 1) {
		c->lsu.order_wait[slot / 64] &= ~(1ull << (slot & 63));
		c->lsu.norder_wait--;
	}
}

void lsu_dispatch_store(struct core *c, uint64_t po)
{
	uint32_t slot = slot_of(c, po);
	struct inflight *e = &c->ring[slot];
	uint64_t n = c->lsu.sq_tail++;
	struct sq_entry *s = store_at(c, n);
	uint64_t first = e->addr >> GRANULE_SHIFT;
	uint64_t last = (e->addr + e->u->mem_bytes - 1) >> GRANULE_SHIFT;

	c->lsu.memops[slot].own = n;
	s->addr = e->addr;
	s->size = e->u->mem_bytes;
	s->po = po;
	s->seq = e->seq;
	s->pc = e->u->pc;
	s->loads = 0;
	s->addr_known = s->data_ready = s->done = 0;
	s->fault = !!(e->flags & RI_FAULT);
	s->ideal = e->u->ideal;
	s->hash[0] = (uint16_t)granule_hash(first);
	s->hash[1] = last != first ? (uint16_t)granule_hash(last) : s->hash[0];
	s->granules = s->hash[0] == s->hash[1] ? 1 : 2;
	for (unsigned k = 0; k < s->granules; k++) {
		s->next[k] = c->lsu.store_hash[s->hash[k]];
		c->lsu.store_hash[s->hash[k]] = n;
	}
}

void lsu_squash_store(struct core *c, uint64_t po)
{
	uint32_t slot = slot_of(c, po);
	struct inflight *e = &c->ring[slot];
	uint64_t n = c->lsu.memops[slot].own;
	struct sq_entry *s = store_at(c, n);

	assert(n == c->lsu.sq_tail - 1 && n >= c->lsu.sq_commit);
	assert(s->loads < c->head || !s->loads);
	for (unsigned k = 0; k < s->granules; k++) {
		assert(c->lsu.store_hash[s->hash[k]] == n);
		c->lsu.store_hash[s->hash[k]] = s->next[k];
	}
	c->lsu.sq_tail--;
	if (c->lsu.sq_known > c->lsu.sq_tail)
		c->lsu.sq_known = c->lsu.sq_tail;
	if (e->state & ST_DONE)
		c->lsu.sq_complete--;
}

/* ---- loads ---- */

/* A load that waited for a store is ready again. */
static void load_again(struct core *c, uint32_t slot)
{
	struct inflight *e = &c->ring[slot];

	c->lsu.memops[slot].wait = WAIT_NONE;
	e->state &= (uint16_t)~ST_WAIT_STORE;
	ready_set(c, slot, e->queue);
}

static void wake_loads(struct core *c, const struct sq_entry *s, enum load_wait wait)
{
	for (uint64_t po = s->loads; po && po >= c->head;) {
		uint32_t slot = slot_of(c, po);

		if (c->lsu.memops[slot].wait == wait)
			load_again(c, slot);
		po = c->lsu.memops[slot].next_load;
	}
}

void lsu_store_address(struct core *c, uint32_t slot)
{
	struct sq_entry *s = store_at(c, c->lsu.memops[slot].own);

	s->addr_known = 1;
	for (uint64_t po = s->loads; po && po >= c->head;) {
		struct inflight *e = at(c, po);

		if (e->state & ST_BYPASSED)
			e->state |= ST_VIOLATION;
		po = c->lsu.memops[slot_of(c, po)].next_load;
	}
	while (c->lsu.sq_known < c->lsu.sq_tail && store_at(c, c->lsu.sq_known)->addr_known)
		c->lsu.sq_known++;
	if (likely(!c->lsu.norder_wait))
		return;
	for (uint32_t w = 0; w <= c->mask / 64; w++) {
		for (uint64_t bits = c->lsu.order_wait[w]; bits; bits &= bits - 1) {
			uint32_t waiter = w * 64 + (uint32_t)__builtin_ctzll(bits);

			if ((int32_t)((uint32_t)c->lsu.sq_known - c->ring[waiter].sq_pos) < 0)
				continue;
			c->lsu.order_wait[w] &= ~(bits & -bits);
			c->lsu.norder_wait--;
			load_again(c, waiter);
		}
	}
}

void lsu_store_data(struct core *c, uint32_t slot)
{
	struct sq_entry *s = store_at(c, c->lsu.memops[slot].own);

	s->data_ready = 1;
	wake_loads(c, s, WAIT_DATA);
}

/* A load or hint in flight, as the record of its miss says it. */
static struct mem_asker asker_of(const struct core *c, uint32_t slot)
{
	const struct inflight *e = &c->ring[slot];

	return (struct mem_asker){ .pc = e->u->pc,
				   .po = po_of(c, slot),
				   .seq = e->seq,
				   .kind = e->uflags & UOP_HINT	    ? MISS_HINT
					   : e->uflags & UOP_ATOMIC ? MISS_ATOMIC
								    : MISS_LOAD,
				   .wrong = e->state & ST_WRONG };
}

void lsu_asker(const struct core *c, uint64_t token, struct mem_asker *who)
{
	if ((token & TOKEN_KIND) == TOKEN_LOAD) {
		*who = asker_of(c, token_po(token) & c->mask);
	} else if ((token & TOKEN_KIND) == TOKEN_STORE) {
		const struct sq_entry *s = store_at(c, token & ~TOKEN_KIND);

		*who = (struct mem_asker){
			.pc = s->pc, .po = s->po, .seq = s->seq, .kind = MISS_STORE
		};
	} else {
		*who = c->lsu.hint_asker;
	}
}

/* Sends hints to the cache in order, as loads whose answer nobody waits for, until it refuses one. */
static void send_hints(struct core *c)
{
	uint32_t sent = 0;
	struct mem_result r;

	for (; sent < c->lsu.nhints; sent++) {
		const struct hint *h = &c->lsu.hints[sent];

		c->lsu.hint_asker = h->who;
		if (memsys_load(c->mem, c->now, h->addr, 1, 0, TOKEN_HINT, h->flags, &r) ==
		    MEM_RETRY)
			break;
	}
	c->lsu.nhints -= sent;
	if (!c->lsu.nhints)
		return;
	memmove(c->lsu.hints, c->lsu.hints + sent, c->lsu.nhints * sizeof(c->lsu.hints[0]));
	c->lsu.retrying = true;
	if (r.ready != MEM_NEVER && r.ready < c->lsu.retry_time)
		c->lsu.retry_time = max_u64(r.ready, c->now + 1);
}

/* Prefetches of instructions, and all where there is no queue, are dropped if they cannot start at
 * once. */
static bool hint_waits(const struct core *c, const struct uop *u)
{
	return c->cfg.hint_queue && u->in.op != OP_PREFETCH_I;
}

bool lsu_hint_fits(const struct core *c, const struct uop *u)
{
	return !hint_waits(c, u) || c->lsu.nhints < c->cfg.hint_queue;
}

void lsu_hint(struct core *c, const struct inflight *e)
{
	uint32_t flags = lsu_mem_flags(e->u->ideal, 0, 0);
	struct mem_asker who = asker_of(c, (uint32_t)(e - c->ring));

	if (e->addr < LOWEST_MAPPED || e->addr >= GUEST_ADDR_LIMIT)
		return;
	if (!hint_waits(c, e->u)) {
		c->lsu.hint_asker = who;
		memsys_prefetch(c->mem, c->now, e->u->in.op == OP_PREFETCH_I ? MEM_L1I : MEM_L1D,
				e->addr, TOKEN_HINT, flags);
		return;
	}
	c->lsu.hints[c->lsu.nhints++] = (struct hint){ e->addr, flags, who };
	send_hints(c);
}

void lsu_retry(struct core *c)
{
	c->lsu.retrying = false;
	c->lsu.retry_time = NEVER;
	send_hints(c);
	c->did.events++;
	for (uint32_t w = 0; w <= c->mask / 64; w++) {
		uint64_t bits = c->lsu.retry[w];

		c->lsu.retry[w] = 0;
		for (; bits; bits &= bits - 1) {
			uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);

			ready_set(c, slot, c->ring[slot].queue);
		}
	}
}

/* True if the load must wait until older stores know their addresses. */
static bool must_wait_for_addresses(struct core *c, const struct inflight *e)
{
	if ((int32_t)((uint32_t)c->lsu.sq_known - e->sq_pos) >= 0)
		return false;
	if (c->lsu.order == ORDER_CONSERVATIVE)
		return true;
	if (!c->lsu.wait_table)
		return false;
	if (c->now >= c->lsu.wait_clear) {
		memset(c->lsu.wait_table, 0, c->cfg.wait_entries);
		while (c->lsu.wait_clear <= c->now)
			c->lsu.wait_clear += c->cfg.wait_clear;
	}
	return c->lsu.wait_table[hash_u64(e->u->pc) & (c->cfg.wait_entries - 1)];
}

static void note_level(struct core *c, uint32_t slot, uint8_t level)
{
	c->lsu.memops[slot].level = level;
	if (c->rec.notes)
		c->rec.notes[slot].dlevel = level;
}

/* Notes how the load's access went. */
static void note_result(struct core *c, uint32_t slot, const struct mem_result *r)
{
	note_level(c, slot, r->level);
	if (!c->rec.notes)
		return;

	const struct inflight *e = &c->ring[slot];
	struct rec_notes *n = &c->rec.notes[slot];

	n->lat_dmiss = clip_u16(r->miss);
	n->lat_dtlb = clip_u16(r->xlat);
	n->lat_bus = clip_u16(r->queue);
	n->prod_line = 0;
	if (!(r->events & MEM_EV_MERGED) || (r->primary & TOKEN_KIND) != TOKEN_LOAD)
		return;

	/* Only an earlier instruction of this very path counts. */
	uint32_t distance = (uint32_t)(po_of(c, slot) - token_po(r->primary)) & 0xfffff;
	const struct inflight *p = at(c, po_of(c, slot) - distance);

	if (distance && distance <= c->mask &&
	    (p->seq & ((1ull << 42) - 1)) == token_seq(r->primary) && p->seq < e->seq)
		n->prod_line = distance;
}

/* The level that will probably serve an access that has just missed: cycle records say it until the
 * answer comes. */
static uint8_t load_level_to_come(const struct core *c, uint64_t addr)
{
	if (memsys_probe(c->mem, MEM_L1D, addr))
		return LEVEL_L1;
	if (memsys_probe(c->mem, MEM_L2, addr))
		return LEVEL_L2;
	return memsys_probe(c->mem, MEM_LLC, addr) ? LEVEL_LLC : LEVEL_MEM;
}

/* An idealised hit may take no time; its dependents are younger, so issue will still find them. */
static void load_completes(struct core *c, uint32_t slot, uint64_t when)
{
	if (unlikely(when == c->now))
		complete_now(c, slot);
	else
		wheel_put(c, slot, WHEEL_COMPLETE, when);
}

enum load_try lsu_load(struct core *c, uint32_t slot)
{
	struct inflight *e = &c->ring[slot];
	struct memop *m = &c->lsu.memops[slot];
	const struct uop *u = e->u;

	e->state &= (uint16_t)~ST_BYPASSED;
	if (unlikely(must_wait_for_addresses(c, e))) {
		e->state |= ST_WAIT_STORE;
		c->lsu.order_wait[slot / 64] |= 1ull << (slot & 63);
		c->lsu.norder_wait++;
		return LOAD_WAITS;
	}
	if (m->store && m->store >= c->lsu.sq_head) {
		const struct sq_entry *s = store_at(c, m->store);

		if (!s->addr_known) {
			assert(c->lsu.order == ORDER_SPECULATIVE);
			e->state |= ST_BYPASSED;
		} else if (!m->covered || !s->data_ready || (e->uflags & UOP_ATOMIC)) {
			m->wait = m->covered && !s->data_ready ? WAIT_DATA : WAIT_WRITE;
			e->state |= ST_WAIT_STORE;
			return LOAD_WAITS;
		} else {
			e->psv |= PSV_ST_FWD;
			c->stats.forwards++;
			note_level(c, slot, LEVEL_FWD);
			load_completes(c, slot,
				       c->now + (u->ideal & IDEAL_DL1 ? c->cfg.mem.ideal_dl1
								      : c->cfg.forward_latency));
			return LOAD_GOES;
		}
	}
	if (unlikely((e->flags & RI_FAULT) ||
		     ((e->state & ST_WRONG) &&
		      (e->addr < LOWEST_MAPPED || e->addr >= GUEST_ADDR_LIMIT - u->mem_bytes)))) {
		wheel_put(c, slot, WHEEL_COMPLETE, c->now + c->cfg.mem.cache[MEM_L1D].latency);
		return LOAD_GOES;
	}

	struct mem_result r;
	uint32_t flags = lsu_mem_flags(u->ideal, e->state, e->uflags) | put_flag(c, u->ideal);

	switch (memsys_load(c->mem, c->now, e->addr, u->mem_bytes, u->pc,
			    token_of(e->seq, po_of(c, slot)), flags, &r)) {
	case MEM_DONE:
		if (unlikely(r.events))
			e->psv |= lsu_psv(r.events);
		note_result(c, slot, &r);
		load_completes(c, slot, r.ready);
		break;
	case MEM_PENDING:
		e->psv |= lsu_psv(r.events);
		e->state |= ST_MEM;
		if (c->rec.notes || c->rec.wants & WANT_HEAD)
			note_level(c, slot, load_level_to_come(c, e->addr));
		break;
	case MEM_RETRY:
		e->state &= (uint16_t)~ST_BYPASSED;
		e->psv |= PSV_ST_MSHR;
		c->lsu.retry[slot / 64] |= 1ull << (slot & 63);
		c->lsu.retrying = true;
		if (r.ready != MEM_NEVER && r.ready < c->lsu.retry_time)
			c->lsu.retry_time = max_u64(r.ready, c->now + 1);
		return LOAD_RETRY;
	}
	return LOAD_GOES;
}

/* ---- answers of the memory system ---- */

void lsu_load_done(struct core *c, uint64_t token, const struct mem_result *r)
{
	uint32_t slot = token_po(token) & c->mask;
	struct inflight *e = &c->ring[slot];

	/* A squashed load's data comes all the same. */
	if (!(e->state & ST_MEM) || (e->seq & ((1ull << 42) - 1)) != token_seq(token))
		return;
	e->state &= (uint16_t)~ST_MEM;
	e->psv |= lsu_psv(r->events);
	note_result(c, slot, r);
	wheel_put(c, slot, WHEEL_COMPLETE, max_u64(r->ready, c->now));
}

void lsu_store_done(struct core *c, uint64_t number)
{
	if (c->cfg.store_misses)
		c->lsu.sq_flight--;
	/* Most stores left the queue when the cache took them. */
	if (number >= c->lsu.sq_head)
		store_at(c, number)->done = 1;
}

void lsu_wake(struct core *c)
{
	if (c->lsu.retrying)
		c->lsu.retry_time = c->now;
	if (c->lsu.drain_time == NEVER)
		c->lsu.drain_time = c->now;
}

/* ---- stores ---- */

static void leave_queue(struct core *c)
{
	while (c->lsu.sq_head < c->lsu.sq_next && store_at(c, c->lsu.sq_head)->done) {
		struct sq_entry *s = store_at(c, c->lsu.sq_head++);

		c->lsu.sq_complete--;
		c->did.drains++;
		if (s->loads >= c->head)
			wake_loads(c, s, WAIT_WRITE);
	}
}

void drain_stage(struct core *c)
{
	c->lsu.ports_taken = 0;
	if (c->lsu.sq_head < c->lsu.sq_next)
		leave_queue(c);
	for (uint32_t n = 0; n < c->lsu.store_ports && c->lsu.sq_next < c->lsu.sq_commit; n++) {
		struct sq_entry *s = store_at(c, c->lsu.sq_next);
		struct mem_result r;

		if (unlikely(s->fault)) {
			s->done = 1;
			c->lsu.sq_next++;
			c->did.drains++;
			leave_queue(c);
			continue;
		}
		if (c->lsu.drain_time > c->now)
			return;
		if (c->cfg.store_misses && c->lsu.sq_flight >= c->cfg.store_misses)
			return;
		switch (memsys_store(c->mem, c->now, s->addr, s->size, s->pc,
				     TOKEN_STORE | c->lsu.sq_next,
				     lsu_mem_flags(s->ideal, 0, 0) | put_flag(c, s->ideal), &r)) {
		case MEM_DONE:
			s->done = 1;
			break;
		case MEM_PENDING:
			/* Before its translation the cache has not taken the store: it stays in the
			 * queue. */
			if (c->cfg.store_misses)
				c->lsu.sq_flight++;
			else if (!(r.events & MEM_EV_TLB_MISS))
				s->done = 1;
			break;
		case MEM_RETRY:
			c->lsu.drain_time =
			    r.ready == MEM_NEVER ? NEVER : max_u64(r.ready, c->now + 1);
			return;
		}
		c->lsu.sq_next++;
		c->lsu.ports_taken += c->cfg.shared_ports;
		c->did.drains++;
		leave_queue(c);
	}
}
