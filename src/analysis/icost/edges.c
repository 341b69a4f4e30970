/* SPDX-License-Identifier: MIT */
/*
 * Turns instruction records into facts (build.h), from which build.h makes the edges of edges.def.
 * Each edge stands for a mechanism of the core that can hold an instruction up.
 *
 * Latencies are the observed ones. If the edges explain less than a node's observed time, the rest
 * is a residual on the node, in the category of the cause that the record names. So the graph
 * without idealisation reproduces the run, except where an edge says later than observed; such an
 * edge is dropped where that can be seen (RESIDUAL_STRICT counts the others).
 *
 * Dependences reach as far back as the idealised window. Records name only producers that were
 * still in flight, so registers and memory are followed here.
 *
 * Wrong paths: shadow.c tells from tags of the right path alone which lines they brought or
 * evicted; reach.c estimates what they would bring in a larger window. lane.c models the issue
 * slots of operations that are idealised away.
 *
 * Not in the graph: a miss that becomes a hit frees MSHRs and buses for others. Contention for
 * units, and for issue slots beyond lane.c, stays as observed in every lane.
 */
#include "analysis/icost/edges.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/icost/build.h"
#include "analysis/icost/lane.h"
#include "analysis/icost/shadow.h"
#include "analysis/icost/thresholds.h"
#include "trace/file.h"

#define HISTORY 512 /* instructions whose stamps are kept, at least */
#define POOL	(GRAPH_SLOT_PORTS - GRAPH_SLOT_POOL)
#define MAP	1024 /* entries of the maps from addresses to slots */
#define STATICS 4096
#define NOWHERE UINT64_MAX /* address of what no load looks for */
#define ISSUED	256	   /* cycles of which the issuing instructions are found at once */

struct stamps {
	uint64_t f, d, e, c;
	uint16_t mem; /* slot of a store's result */
	uint8_t queue;
};

/* What the next instruction needs of the one before it. */
struct previous {
	uint64_t po, pc, p;
	uint32_t flags;
};

/* What a slot of the pool holds. */
struct held {
	uint64_t addr;	 /* store: address; line: line number */
	uint64_t number; /* store: its instruction */
	uint32_t size;	 /* 0: a line */
	uint16_t fill;	 /* line: cycles from the commit of the store that brings it; 0: no store */
	uint16_t known;	 /* store: slot of when its address is there, if loads may overtake it */
	bool asked;	 /* a load has shown whether the line came from memory */
};

struct edges {
	struct builder b;
	bool started;
	uint64_t origin;
	struct previous prev;
	struct stamps *history; /* of the last instructions, by number modulo a power of two */
	uint64_t history_mask;
	unsigned line_shift, fetch_line_shift;
	unsigned packet, taken; /* of the packet being fetched: instructions, taken branches */
	uint64_t packets[EDGES_PACKETS]; /* number of the first instruction of each recent packet */
	uint64_t npackets;
	uint32_t issued[EDGES_QUEUES][ISSUED]; /* the youngest that issued, by queue and cycle */
	uint64_t arrived; /* instructions below had reached the fetch buffer at the last fetch */
	uint64_t slot_time[GRAPH_SLOTS]; /* when its value became available */
	struct held pool[GRAPH_SLOTS];
	uint16_t store_map[MAP], byte_map[MAP], line_map[MAP]; /* by granule, address, line */
	struct known {
		uint32_t word;
		bool valid;
		struct code code;
	} statics[STATICS]; /* by address */
	uint64_t ninsts, nbranches;
	uint16_t brought[2 * EDGES_MSHRS]; /* slots of the last lines that came; 0: a store's */
	uint64_t nbrought;
	/* Operations on units that are not pipelined, by port: begin and end. */
	struct {
		uint64_t from, to;
	} busy[EDGES_UNITS][EDGES_PORTS];
	uint64_t residual[RESIDUAL_COUNT];
	struct lane *lane; /* issue slots where one-cycle operations take no time */
	struct lane
	    *broad[2]; /* issue queues without limits of bandwidth, and with the L1 idealised, too;
				  NULL: none is ever full */
	struct shadow *shadow;
	uint64_t fetch_line; /* line of the last instruction fetched */
	struct edges_seen seen;
};

struct edges *edges_new(const struct edges_machine *m)
{
	struct edges *s = x_calloc(1, sizeof(*s));
	s->b.m = *m;
	uint64_t history = HISTORY;
	while (history <= edges_past(m) + 1)
		history *= 2;
	s->history = x_calloc(history, sizeof(*s->history));
	s->history_mask = history - 1;
	s->line_shift = (unsigned)__builtin_ctz(m->line_bytes);
	s->fetch_line_shift = (unsigned)__builtin_ctz(m->fetch_line_bytes);
	slots_reset(&s->b.slots, 0, m->rob); /* slots are the lane's */
	const struct graph_config config = edges_graph_config(m);
	s->lane = lane_new(&config, 1u << CAT_SHALU, m->issue_slots, NULL);
	if (config.issue_edges)
		for (unsigned k = 0; k < ARRAY_LEN(s->broad); k++)
			s->broad[k] = lane_new(&config, 1u << CAT_BW | k << CAT_DL1, 0, m->iq);
	/* Numbers start above the history, so that the first instruction has an (empty) past. */
	s->b.at.number = 2 * history;
	return s;
}

void edges_free(struct edges *s)
{
	if (!s)
		return;
	lane_free(s->lane);
	for (unsigned k = 0; k < ARRAY_LEN(s->broad); k++)
		lane_free(s->broad[k]);
	free(s->history);
	free(s);
}

void edges_learnt(struct edges *s, const struct edges *from)
{
	s->b.reach.tried = from->b.reach.tried;
	s->b.reach.found = from->b.reach.found;
	memcpy(s->b.reach.owed, from->b.reach.owed, sizeof(s->b.reach.owed));
}

void edges_rules(struct edges *s, const struct edges_rule *rules, size_t count)
{
	s->b.rules = rules;
	s->b.nrules = count;
}

void edges_shadow(struct edges *s, struct shadow *shadow)
{
	s->shadow = shadow;
}

uint64_t edges_origin(const struct edges *s)
{
	return s->origin;
}

struct edges_seen edges_seen(const struct edges *s)
{
	return s->seen;
}

const uint64_t *edges_residuals(const struct edges *s)
{
	return s->residual;
}

/* ---- what instructions are ---- */

static const struct code *decode(struct edges *s, const struct rec_inst *r)
{
	struct known *known = &s->statics[(r->pc >> 1) % STATICS];
	if (unlikely(!known->valid || known->word != r->word)) {
		const struct inst in = isa_decode(r->word);
		known->word = r->word;
		known->valid = true;
		known->code = code_of(&s->b.m, &in, r->cls);
	}
	return &known->code;
}

static struct stamps *past(struct edges *s, uint64_t number)
{
	return &s->history[number & s->history_mask];
}

/* ---- F ---- */

/* Distance to the instruction whose dispatch made room in the fetch buffer; 0: none can have done
 * so. Raises *known to the time of that dispatch. *full: it was just before this fetch. */
static uint64_t buffer_distance(struct edges *s, uint64_t f, uint64_t *known, bool *full)
{
	const struct edges_machine *m = &s->b.m;
	const uint64_t i = s->b.at.number;
	/* All instructions that reached the buffer, but the last front_entries, have dispatched. */
	if (s->arrived + s->history_mask < i)
		s->arrived = i - s->history_mask;
	while (s->arrived < i && past(s, s->arrived)->f + m->fetch_depth <= f)
		s->arrived++;
	const uint64_t x = i - s->arrived + 1 + m->front_entries;
	const bool dispatched = past(s, i - x)->d <= f;
	*full = x <= s->history_mask && dispatched && f - past(s, i - x)->d <= FULL_SOON;
	if (x > GRAPH_REACH || !dispatched)
		return 0;
	/* Where fetch could be much faster than dispatch, the edge must not hold up what is under
	 * way at full speed: one packet per stage between fetch and dispatch. */
	const uint64_t stages = min_u64(m->depth, EDGES_PACKETS - 1),
		       most = i - s->packets[(s->npackets - 1 - stages) % EDGES_PACKETS],
		       back = min_u64(f > *known + HELD_LONG ? max_u64(x, most) : x, GRAPH_REACH);
	*known = max_u64(*known, past(s, i - back)->d);
	return back;
}

/* Distance to the instruction whose commit made room in the fetch-target queue; 0: none. Raises
 * *known to the time of that commit. */
static uint64_t targets_distance(struct edges *s, uint64_t f, uint64_t *known)
{
	const struct edges_machine *m = &s->b.m;
	if (!m->targets || s->npackets <= m->targets)
		return 0;
	const uint64_t i = s->b.at.number,
		       j = s->packets[(s->npackets - 1 - m->targets) % EDGES_PACKETS];
	if (i - j > edges_past(m) || past(s, j)->c > f)
		return 0;
	*known = max_u64(*known, past(s, j)->c);
	return i - j;
}

/* Whether the packet that is fetched could have further instructions. */
static bool packet_is_open(const struct edges *s)
{
	const struct edges_machine *m = &s->b.m;
	return s->packet < m->fetch_width &&
	       s->taken < (m->taken_per_fetch ? m->taken_per_fetch : 1);
}

/* again: `f` is when it was fetched before it was flushed for memory order. */
static void fetch_edges(struct edges *s, const struct rec_inst *r, uint64_t f, bool again,
			struct graph_inst *out)
{
	const struct edges_machine *m = &s->b.m;
	const struct previous *b = &s->prev;
	const uint64_t i = s->b.at.number, before = past(s, i - 1)->f, commit = past(s, i - 1)->c,
		       miss = (uint64_t)r->lat_icache + r->lat_itlb;
	struct fetch_facts facts = { .pc = r->pc,
				     .before_pc = b->pc,
				     .bubble = b->flags & RI_BTB_MISS,
				     .redirected = b->flags & RI_MISPREDICT,
				     .cut = CAT_BW };
	/* Without the redirect or the miss that cut it short, the last packet would have gone on. */
	const bool open = packet_is_open(s);
	if (open && (facts.bubble || facts.redirected))
		facts.cut = CAT_BW_BMISP;
	else if (open && r->lat_icache)
		facts.cut = CAT_BW_IMISS;
	/* A miss in the middle of a packet begins in the packet's own cycle: no step. */
	facts.steps = again ? !open : !miss || f != before + miss || facts.redirected;
	uint64_t known = before + (facts.bubble ? m->btb_bubble : 0) + facts.steps;
	if (facts.redirected)
		known = max_u64(known, b->p + m->redirect);
	if (!again && (b->flags & (RI_EXCEPTION | RI_FLUSHES) || r->flags & RI_REFETCH) &&
	    f >= commit + miss && f > known) {
		build_flush(&s->b, f - miss - commit,
			    r->psv & PSV_FL_EX && r->flags & RI_LOAD && r->flags & RI_REFETCH &&
				!miss,
			    &facts);
		known = max_u64(known, f - miss);
	}
	s->packets[s->npackets++ % EDGES_PACKETS] = i;
	bool full;
	facts.buffer = buffer_distance(s, f, &known, &full);
	facts.targets = targets_distance(s, f, &known);

	uint64_t rest = f > known ? f - known : 0;
	if (f < known)
		s->residual[RESIDUAL_STRICT] += known - f;
	const uint64_t imiss = min_u64(rest, r->lat_icache),
		       itlb = min_u64(rest - imiss, r->lat_itlb);
	rest -= imiss + itlb;
	if (imiss) {
		facts.own = imiss;
		facts.own_cat = CAT_IMISS;
		facts.level = r->ilevel;
	}
	/* The buffer was full. If dispatch then went on at once, fetch was the limit (bw);
	 * otherwise dispatch is the bottleneck, and an F that is too early does no harm. */
	if (full && !miss && rest) {
		if (r->dispatch == m->depth) {
			facts.own = rest;
			facts.own_cat = CAT_BW;
		}
		rest = 0;
	}
	s->residual[RESIDUAL_FETCH] += rest;
	facts.rest = itlb + (imiss ? 0 : rest);
	build_fetch(&s->b, &facts, out);
	if (imiss)
		out->fetch[0].cycles = clip_u16(out->fetch[0].cycles + rest);
}

/* What the fetch would have cost without wrong paths before it. */
static void shadow_fetch(struct edges *s, const struct rec_inst *r, struct graph_inst *out)
{
	const uint64_t line = r->pc >> s->fetch_line_shift;
	struct graph_part *miss = &out->fetch[0];
	if (line == s->fetch_line && !r->lat_icache)
		return;
	s->fetch_line = line;
	const enum mem_level level = shadow_access(
	    s->shadow, SHADOW_INST, r->pc, r->lat_icache ? (enum mem_level)r->ilevel : LEVEL_L1);
	const bool hidden = s->b.m.walks_beside && r->lat_itlb; /* part of the miss, by the walk */
	if (r->lat_icache && r->ilevel > LEVEL_L1 && !hidden)
		shadow_learn(s->shadow, SHADOW_INST, (enum mem_level)r->ilevel, r->lat_icache);
	if (level == LEVEL_NONE || r->flags & RI_REFETCH)
		return;
	if (level == LEVEL_L1) {
		if (miss->cycles)
			miss->category = CAT_BMISP_IMISS;
		return;
	}
	const uint16_t whole = shadow_latency(s->shadow, SHADOW_INST, level);
	if (hidden || whole <= r->lat_icache + SAVED_LEAST ||
	    r->lat_icache >= shadow_least(s->shadow, SHADOW_INST, level))
		return;
	/* This instruction shared its packet's F; as a head it gets its own F, without a step. */
	out->flags |= GRAPH_HEAD;
	out->fetch[2] = (struct graph_part){ .cycles = (uint16_t)(whole - r->lat_icache),
					     .category = CAT_SAVED_IMISS };
}

/* ---- D ---- */

/* Distance to the instruction that issued from the queue in that cycle, the youngest of several; 0:
 * none in the window. */
static uint64_t who_made_room(struct edges *s, unsigned queue, uint64_t cycle)
{
	const uint64_t i = s->b.at.number, rob = s->b.m.rob;
	uint64_t x = (uint32_t)((uint32_t)i - s->issued[queue][cycle % ISSUED]);

	if (x && x <= rob && past(s, i - x)->queue == queue && past(s, i - x)->e == cycle)
		return x;
	/* Another cycle's instruction has taken the entry. */
	for (x = 1; x <= rob; x++)
		if (past(s, i - x)->queue == queue && past(s, i - x)->e == cycle)
			return x;
	return 0;
}

static void dispatch_edges(struct edges *s, const struct rec_inst *r, const struct code *d,
			   uint64_t f, uint64_t t, struct graph_inst *out)
{
	const struct edges_machine *m = &s->b.m;
	const uint64_t i = s->b.at.number;
	uint64_t known = max_u64(past(s, i - 1)->d, f + m->depth);
	known = max_u64(known, past(s, i - m->dispatch_width)->d + 1);
	build_window(&s->b, d, out);
	known = max_u64(known, past(s, i - out->cd[0])->c);
	if (r->flags & RI_SERIAL || s->prev.flags & RI_SERIAL) {
		out->flags |= GRAPH_SERIAL;
		known = max_u64(known, past(s, i - 1)->c);
	}
	if (known > t) {
		s->residual[RESIDUAL_STRICT] += known - t;
		return;
	}
	uint64_t rest = t - known;
	if (!rest)
		return;
	struct stall_facts facts = { .by = r->dispatch_stall, .cycles = rest };
	if (r->dispatch_stall == DISPATCH_SQ && d->store) {
		const uint64_t j = build_recent(s->b.stores, s->b.at.nstores, m->sq);
		facts.drain = j && i - j <= out->cd[0] ? t - min_u64(t, past(s, j)->c) : UINT64_MAX;
	} else if (r->dispatch_stall == DISPATCH_IQ) {
		facts.left = who_made_room(s, d->queue, t);
	}
	s->seen.stall = facts;
	if (!build_stall(&s->b, d, r->pc, &facts, out))
		s->residual[RESIDUAL_DISPATCH] += rest;
}

/* ---- R, E, P ---- */

static unsigned map_index(uint64_t key)
{
	return (unsigned)(hash_u64(key) % MAP);
}

static bool overlaps(const struct edges *s, uint16_t slot, uint64_t addr, uint32_t size)
{
	return slot && s->pool[slot].size && s->pool[slot].addr < addr + size &&
	       addr < s->pool[slot].addr + s->pool[slot].size;
}

/* The pool slot of the youngest store to any byte of a load: the one that the record names, or what
 * the maps still know. 0: none. */
static uint16_t find_store(struct edges *s, const struct rec_inst *r)
{
	const uint64_t addr = r->addr;
	const uint32_t size = r->size;
	if (r->prod_mem && r->prod_mem <= s->history_mask) {
		const uint16_t slot = past(s, s->b.at.number - r->prod_mem)->mem;
		if (overlaps(s, slot, addr, size) &&
		    s->pool[slot].number == s->b.at.number - r->prod_mem)
			return slot;
	}
	for (uint64_t g = addr >> 3; g <= (addr + size - 1) >> 3; g++) {
		const uint16_t slot = s->store_map[map_index(g)];
		if (overlaps(s, slot, addr, size))
			return slot;
	}
	/* The youngest store to the granule may miss these bytes while an older one has them. */
	const uint16_t slot = s->byte_map[map_index(addr)];
	return overlaps(s, slot, addr, size) ? slot : 0;
}

static uint16_t new_pool_slot(struct edges *s, uint64_t addr, uint32_t size)
{
	const uint16_t slot = (uint16_t)(GRAPH_SLOT_POOL + s->b.at.next_pool);
	s->b.at.next_pool = (s->b.at.next_pool + 1) % POOL;
	s->pool[slot].addr = addr;
	s->pool[slot].size = size;
	s->pool[slot].number = s->b.at.number;
	s->pool[slot].fill = s->pool[slot].known = 0;
	s->pool[slot].asked = false;
	if (addr == NOWHERE)
		return slot;
	if (size)
		for (uint64_t g = addr >> 3; g <= (addr + size - 1) >> 3; g++)
			s->store_map[map_index(g)] = s->byte_map[map_index(addr)] = slot;
	else
		s->line_map[map_index(addr)] = slot;
	return slot;
}

/* A load that has issued and overlaps a store in the queue waits for the store's data or, if the
 * store has not all of its bytes, until the store is written. Returns when the access began. */
static uint64_t late_edge(struct edges *s, const struct rec_inst *r, uint16_t store,
			  const struct stamps *now, uint64_t p, struct graph_inst *out)
{
	const struct edges_machine *m = &s->b.m;
	if (r->dlevel == LEVEL_FWD) {
		if (s->slot_time[store] >= p || (s->slot_time[store] <= now->e && !out->over))
			return now->e;
		out->late = store;
		return max_u64(now->e, s->slot_time[store]);
	}
	if (out->over && s->slot_time[store] <= now->e)
		out->late = store;
	const uint64_t back = s->b.at.number - s->pool[store].number,
		       c = past(s, s->b.at.number - back)->c,
		       took = m->l1d_latency + (uint64_t)r->lat_dmiss;
	if (back > edges_past(m) || p < now->e + took + 1 || p <= c + took ||
	    p - took - c > GRAPH_WAIT_MAX)
		return now->e;
	out->late = 0;
	out->written = (uint16_t)back;
	out->drain =
	    (struct graph_part){ .cycles = (uint16_t)(p - took - c),
				 .category = p - took - c <= DRAIN_SOON
						 ? CAT_NONE
						 : build_category(&s->b, r->pc, CAT_DMISS) };
	return p - took;
}

/* A store that misses fetches its line after commit; `fill` is the delay. A load issued in between
 * waits for the line; an earlier one forwards from the store queue or fetches the line itself.
 * Returns when the access starts. */
static uint64_t line_edge(struct edges *s, const struct rec_inst *r, uint16_t slot, uint16_t store,
			  const struct stamps *now, uint64_t p, struct graph_inst *out)
{
	struct held *from = &s->pool[slot];
	if (from->addr != r->addr >> s->line_shift || r->dlevel == LEVEL_FWD)
		return now->e;
	const bool merged = r->psv & PSV_ST_MERGE, missed = r->psv & PSV_ST_L1 && !merged;
	const uint64_t there = s->slot_time[slot], commit = there - from->fill,
		       hit = s->b.m.l1d_latency + (s->b.m.walks_beside ? 0 : (uint64_t)r->lat_dtlb),
		       begun = merged && p > now->e + hit ? p - hit : now->e,
		       wait = begun > now->e ? begun - there : 0;
	if (!from->asked && now->e > commit && (merged || now->e < commit + s->b.m.mem_latency)) {
		from->asked = true;
		shadow_stored(s->shadow, merged && r->dlevel == LEVEL_MEM);
	}
	if (missed || there > begun || wait > GRAPH_WAIT_MAX) {
		from->fill = 0; /* the line was evicted or fetched again: forget this fill */
		from->addr = NOWHERE;
		return now->e;
	}
	out->flags |= GRAPH_LINE;
	if (store && s->pool[store].number >= from->number)
		out->flags |= GRAPH_FORWARD;
	out->late = slot;
	out->line_cat = build_category(&s->b, r->pc, CAT_DMISS);
	out->drain = (struct graph_part){ .cycles = (uint16_t)wait, .category = CAT_NONE };
	out->fill = (uint16_t)(from->fill - 1 + wait);
	return begun;
}

/* A load's line needs an MSHR, be it that a prefetcher asked for the line. All are taken while as many
 * lines as there are MSHRs are under way, and one is free when the first of them has come: in the order
 * of the program, the one that many lines ago. Lines of stores come after their commit, which holds
 * nobody up: the load before them counts. */
static void mshr_edge(struct edges *s, const struct rec_inst *r, uint64_t p, struct graph_inst *out)
{
	const enum mem_level level = (enum mem_level)r->dlevel;
	uint16_t slot = 0;

	for (uint64_t k = s->b.m.mshrs; !slot && k < ARRAY_LEN(s->brought) && k <= s->nbrought; k++)
		slot = s->brought[(s->nbrought - k) % ARRAY_LEN(s->brought)];
	if (!slot || s->slot_time[slot] >= p)
		return;
	/* An access has its MSHR from its first cycle on, before it is known to miss. */
	const uint64_t hit = s->b.m.l1d_latency, room = p - s->slot_time[slot],
		       found = min_u64(hit - min_u64(hit, s->b.m.dl1_least), room),
		       always = min_u64(hit - found, room - found), left = room - found - always,
		       latency = min_u64(shadow_latency(s->shadow, SHADOW_DATA, level), left),
		       least = min_u64(shadow_least(s->shadow, SHADOW_DATA, level), latency);
	uint16_t fixed = 0;
	out->mshr = slot;
	out->mshr_for[2] = build_part(&s->b, r->pc, CAT_DL1, LEVEL_NONE, found, &fixed);
	out->mshr_for[0] = part_as(always + least + fixed, CAT_NONE);
	out->mshr_for[1] = part_as(latency - least, CAT_BW);
	out->line_cat = build_category(&s->b, r->pc, CAT_DMISS);
}

/* Splits the cycles of an access that began at `begun`: hit, translation, and the rest, which is a
 * miss, a wait for buses, or unexplained. sharer: slot of the line, if any. */
static void load_facts(struct edges *s, const struct rec_inst *r, uint16_t sharer, uint64_t begun,
		       uint64_t p, struct load_facts *f, struct graph_inst *out)
{
	const struct edges_machine *m = &s->b.m;
	f->latency = p - begun;
	f->hit = r->dlevel == LEVEL_FWD ? m->forward_latency : m->l1d_latency;
	/* Cycles beyond a walk that hits the L2 count as a data miss: without data misses the L2
	 * would have room for the page-table entries. */
	f->dtlb = min_u64(r->lat_dtlb, m->walk);
	f->level = r->dlevel;
	build_hit(&s->b, r->pc, f, out);
	const struct held *held = &s->pool[sharer];
	if (sharer && !held->size && held->addr == r->addr >> s->line_shift && !held->fill &&
	    s->slot_time[sharer] <= p && r->dlevel != LEVEL_FWD) {
		f->line = sharer;
		f->miss = min_u64(f->miss, p - s->slot_time[sharer]);
	}
	if (!(r->psv & (PSV_ST_L1 | PSV_ST_MSHR | PSV_ST_MERGE) || r->lat_dmiss)) {
		s->residual[RESIDUAL_EXECUTE] += f->miss;
		f->rest = f->miss;
		f->miss = 0;
		return;
	}
	/* Bandwidth removes the wait for MSHRs and buses as well. */
	f->bus = f->line || s->b.nrules ? 0 : min_u64(f->miss, r->lat_bus);
	f->miss -= f->bus;
}

/* When a unit that is not pipelined is free for this operation. Ready operations may overtake older
 * ones, so the order is that of execution: with n units, all but n - 1 of the operations that began
 * earlier must have ended. */
static uint64_t busy_edge(struct edges *s, const struct rec_inst *r, const struct code *d,
			  const struct stamps *now, uint64_t latency, struct graph_inst *out)
{
	const unsigned n = s->b.at.next_port[d->unit], units = s->b.m.unit[d->unit].count;
	const uint16_t first = (uint16_t)(GRAPH_SLOT_PORTS + d->unit * EDGES_PORTS);
	uint64_t v = now->d + 1, last = 0;
	unsigned seen = 0, at = 0;
	uint16_t fixed = 0, after = 0;
	for (unsigned k = 0; k < units; k++) {
		last = 0;
		for (unsigned j = 0; j < EDGES_PORTS; j++)
			if (!(seen >> j & 1) && s->busy[d->unit][j].from <= now->e &&
			    s->busy[d->unit][j].to > last) {
				last = s->busy[d->unit][j].to;
				at = j;
			}
		seen |= 1u << at;
	}
	if (last && last <= now->e) {
		after = (uint16_t)(first + at);
		v = max_u64(v, s->slot_time[after]);
	}
	s->b.at.next_port[d->unit] = (n + 1) % EDGES_PORTS;
	build_port(out, (uint16_t)(first + n), after,
		   build_part(&s->b, r->pc, d->longer && latency != 1 ? CAT_LGALU : CAT_SHALU,
			      LEVEL_NONE, latency, &fixed),
		   true);
	s->busy[d->unit][n].from = now->e;
	s->busy[d->unit][n].to = now->e + latency;
	s->slot_time[out->port] = v + out->occupies.cycles;
	return v;
}

/* When the unit or port that the instruction would get in order of dispatch is free; 0 if the
 * instruction issued even before that. */
static uint64_t port_edge(struct edges *s, const struct rec_inst *r, const struct code *d,
			  const struct stamps *now, uint64_t latency, struct graph_inst *out)
{
	if (!s->b.m.unit[d->unit].pipelined)
		return busy_edge(s, r, d, now, latency, out);
	const unsigned n = s->b.at.next_port[d->unit];
	s->b.at.next_port[d->unit] = n + 1 < s->b.m.unit[d->unit].count ? n + 1 : 0;
	const uint16_t slot = (uint16_t)(GRAPH_SLOT_PORTS + d->unit * EDGES_PORTS + n);
	const uint64_t v = max_u64(now->d + 1, s->slot_time[slot]);
	build_port(out, slot, slot, part_as(1, CAT_NONE), v <= now->e);
	/* An operation that overtook others does not make the port free earlier. */
	s->slot_time[slot] = min_u64(v, now->e) + 1;
	return v <= now->e ? v : 0;
}

static enum graph_category contention_category(const struct edges *s, const struct rec_inst *r,
					       const struct code *d)
{
	if (r->flags & RI_SERIAL)
		return CAT_NONE;
	if (s->b.nrules)
		return CAT_BW;
	/* An operation that needs no scarce unit has waited for its issue slot alone. Where one-cycle
	 * operations take no time, lane.c says how long it waits. */
	if (d->unit == EDGES_UNITS && !d->queue && s->b.m.issue_slots)
		return CAT_BW_SHALU;
	return d->unit < EDGES_UNITS && !s->b.m.unit[d->unit].pipelined ? CAT_BW_LGALU : CAT_BW;
}

/* Counts a line that took an MSHR; slot: of a load's; 0: of a store or a prefetcher. */
static void count_line(struct edges *s, uint16_t slot)
{
	s->brought[s->nbrought++ % ARRAY_LEN(s->brought)] = slot;
}

/* If a store's line is not in the L1, it is on its way from the cycle after commit on. */
static void shadow_line(struct edges *s, const struct rec_inst *r, struct graph_inst *out)
{
	const enum mem_level level = shadow_store(s->shadow, r->addr);
	if (level == LEVEL_NONE && shadow_knows_first(s->shadow, SHADOW_DATA))
		count_line(s, 0);
	s->seen.stored = level;
	if (level <= LEVEL_L1)
		return;
	out->brings = new_pool_slot(s, r->addr >> s->line_shift, 0);
	count_line(s, 0);
	out->fill = (uint16_t)(1 + shadow_least(s->shadow, SHADOW_DATA, level));
	s->pool[out->brings].fill = out->fill;
}

/* What a load's data access would have cost without wrong paths, and what it would cost if wrong
 * paths got further. */
static void shadow_data(struct edges *s, const struct rec_inst *r, const struct graph_inst *out,
			struct load_facts *f)
{
	const bool merged = r->psv & PSV_ST_MERGE, missed = r->psv & (PSV_ST_L1 | PSV_ST_MERGE);
	const enum mem_level level = shadow_access(s->shadow, SHADOW_DATA, r->addr,
						   missed ? (enum mem_level)r->dlevel : LEVEL_L1);
	if (level == LEVEL_NONE && !(r->psv & PSV_ST_L1) &&
	    shadow_knows_first(s->shadow, SHADOW_DATA))
		count_line(s, 0);
	/* Beside a walk the miss is not known if it was the shorter of the two. */
	const bool beside = s->b.m.walks_beside && r->lat_dtlb;
	const uint16_t seen = beside			   ? r->lat_dmiss
			      : r->lat_dmiss > r->lat_dtlb ? r->lat_dmiss - r->lat_dtlb
							   : 0;
	/* Before it was flushed and refetched, the instruction had fetched its line. */
	if (!(r->flags & RI_LOAD) || r->dlevel == LEVEL_FWD || r->flags & RI_REFETCH)
		return;
	if (r->psv & PSV_ST_L1 && !(r->psv & (PSV_ST_MERGE | PSV_ST_MSHR)) &&
	    r->dlevel > LEVEL_L1 && !beside)
		shadow_learn(s->shadow, SHADOW_DATA, (enum mem_level)r->dlevel, seen);
	if (level == LEVEL_NONE)
		return;
	/* The tags hit and the run missed: a wrong path evicted the line, unless it was on its way. */
	if (level == LEVEL_L1 && !merged)
		f->as = CAT_BMISP_DMISS;
	const uint64_t i = s->b.at.number,
		       after = reach_after(&s->b.reach, i, slots_root(&s->b.slots, out),
					   s->b.slots.count);
	/* Data that came sooner than a miss allows was fetched by a wrong path. */
	if (level != LEVEL_L1 && !f->line)
		reach_line(&s->b.reach, i, after,
			   seen + SAVED_LEAST < shadow_least(s->shadow, SHADOW_DATA, level));
	if (f->miss && f->as == CAT_DMISS)
		f->as = (uint8_t)reach_saves(&s->b.reach, i, after, s->b.slots.count, &f->most);
	/* A real miss saved nothing: it would have missed without the wrong path, too. */
	if ((missed && !merged) || level == LEVEL_L1 || f->line)
		return;
	const uint16_t whole = shadow_latency(s->shadow, SHADOW_DATA, level);
	if (whole > seen + SAVED_LEAST && seen < shadow_least(s->shadow, SHADOW_DATA, level))
		f->saved = (uint16_t)(whole - seen);
}

/* What a load's translation would have cost without wrong paths. */
static void shadow_page(struct edges *s, const struct rec_inst *r, struct load_facts *f)
{
	const uint16_t took = s->b.m.walks_beside ? r->lat_dmiss : 0,
		       walk = shadow_translate(s->shadow, r->addr, r->lat_dtlb);
	/* An observed walk already has its full length. */
	if (!r->lat_dtlb && r->flags & RI_LOAD && r->dlevel != LEVEL_FWD &&
	    !(r->flags & RI_REFETCH))
		f->walk = walk > took ? walk - took : 0;
}

/* A load's access, from the first cycle in which it could begin. */
static void load_edges(struct edges *s, const struct rec_inst *r, uint16_t store, uint16_t sharer,
		       const struct stamps *now, uint64_t p, struct graph_inst *out)
{
	struct load_facts f = { 0 };
	uint64_t begun = now->e;
	if (store)
		begun = late_edge(s, r, store, now, p, out);
	if (s->pool[sharer].fill && !out->late && !out->written)
		begun = line_edge(s, r, sharer, store, now, p, out);
	load_facts(s, r, sharer, begun, p, &f, out);
	if (s->shadow && !s->b.nrules) {
		shadow_data(s, r, out, &f);
		shadow_page(s, r, &f);
	}
	if (build_miss(&s->b, r->pc, &f, out)) {
		out->mem = new_pool_slot(s, r->addr >> s->line_shift, 0);
		if (s->b.m.mshrs && s->shadow && r->dlevel > LEVEL_L1)
			mshr_edge(s, r, p, out);
		count_line(s, out->mem);
	}
}

static void store_edges(struct edges *s, const struct rec_inst *r, const struct code *d,
			const struct stamps *now, uint64_t p, struct graph_inst *out)
{
	struct load_facts unused;
	const uint64_t data = s->slot_time[d->src[1]];
	out->ep = 1;
	out->data = d->src[1];
	if (p > max_u64(now->e + 1, data))
		out->ep = clip_u16(p - now->e);
	else if (s->b.m.speculates)
		out->ep =
		    0; /* loads get the data in the cycle in which it executes, if it is there */
	if (s->shadow && !s->b.nrules) {
		shadow_line(s, r, out);
		shadow_page(s, r, &unused);
	}
}

/* Slot of when the address of a store is there; 0: not known any more, or the store is too old for a load
 * to overtake it. */
static uint16_t address_slot(const struct edges *s, uint16_t store)
{
	const uint16_t known = s->pool[store].known;
	const uint64_t number = s->pool[store].number;
	return known && s->pool[known].addr == NOWHERE && s->pool[known].number == number &&
		       s->b.at.number - number <= s->b.m.rob
		   ? known
		   : 0;
}

/* The same of a store that a load could overtake in an idealised machine. A line that a store brings is
 * waited for in another way. */
static uint16_t overtakes(struct edges *s, uint16_t store, uint16_t sharer,
			  const struct stamps *now)
{
	const uint16_t known = address_slot(s, store);
	return s->pool[sharer].fill || past(s, s->pool[store].number)->e > now->e ? 0 : known;
}

/* A load that was flushed for memory order has the stamps of its second time. If its first time, without
 * what the flush cost, explains when the flush was, `first` becomes that time, and a lane flushes the load
 * where it overtakes the store there. */
static bool flushed_for_order(struct edges *s, const struct rec_inst *r, const struct code *d,
			      const struct stamps *now, uint64_t p, struct stamps *first)
{
	const struct edges_machine *m = &s->b.m;
	const uint64_t i = s->b.at.number;
	const struct stamps *const before = past(s, i - 1);
	if (!m->speculates || !(r->psv & PSV_FL_MO) || !(r->flags & RI_REFETCH) ||
	    d->cls != CLASS_LOAD || r->lat_icache || r->lat_itlb || s->prev.flags & RI_MISPREDICT)
		return false;
	const uint16_t store = find_store(s, r), known = address_slot(s, store);
	if (!known || now->d != now->f + m->depth || now->e != now->d + 1)
		return false;
	*first = *now;
	first->f = before->f + !packet_is_open(s);
	first->d =
	    max_u64(max_u64(before->d, first->f + m->depth), past(s, i - m->dispatch_width)->d + 1);
	first->e = first->d + 1;
	for (unsigned k = 0; k < ARRAY_LEN(d->src) && d->src[k]; k++)
		first->e = max_u64(first->e, s->slot_time[d->src[k]]);
	return first->e < s->slot_time[known] &&
	       now->f == max_u64(before->c + 1, first->e + p - now->e) + m->flush;
}

/* again: it was flushed for memory order, and now has the stamps of its second time. */
static void execute_edges(struct edges *s, const struct rec_inst *r, const struct code *d,
			  const struct stamps *now, uint64_t p, bool again, struct graph_inst *out)
{
	const uint64_t latency = p - now->e;
	const uint16_t store = d->load ? find_store(s, r) : 0,
		       sharer = d->load ? s->line_map[map_index(r->addr >> s->line_shift)] : 0;
	uint64_t ready = now->d + 1;
	if (again)
		out->over = address_slot(s, store);
	else if (store && s->b.m.speculates && d->cls == CLASS_LOAD && !(r->psv & PSV_FL_MO))
		out->over = overtakes(s, store, sharer, now);
	/* A load that may overtake the store waits for the data alone (late_edge). */
	build_sources(d, !out->over && s->slot_time[store] <= now->e ? store : 0, out);
	for (unsigned k = 0; k < GRAPH_SOURCES && out->src[k]; k++)
		ready = max_u64(ready, s->slot_time[out->src[k]]);
	const uint64_t address = ready;
	if (d->unit < EDGES_UNITS)
		ready = max_u64(ready, port_edge(s, r, d, now, latency, out));
	const bool alone = d->unit < EDGES_UNITS && !s->b.m.unit[d->unit].pipelined;
	reach_inst(&s->b.reach, d->unit, alone ? latency / s->b.m.unit[d->unit].count : 0);
	if (ready > now->e)
		s->residual[RESIDUAL_STRICT] += ready - now->e;
	else if (now->e > ready)
		out->re = part_as(now->e - ready, contention_category(s, r, d));
	/* The operands were ready, but wrong-path or younger operations had the unit. */
	if (out->re.cycles && d->unit < EDGES_UNITS && !s->b.m.unit[d->unit].pipelined) {
		out->occupies.cycles = clip_u16((uint64_t)out->occupies.cycles + out->re.cycles);
		s->slot_time[out->port] += out->re.cycles;
	}
	if (d->load)
		load_edges(s, r, store, sharer, now, p, out);
	else if (d->split)
		store_edges(s, r, d, now, p, out);
	else
		build_operation(&s->b, r->pc, d, latency, out);
	if (d->cls == CLASS_HINT && s->shadow && !s->b.nrules)
		shadow_hint(s->shadow, r);
	if (d->store)
		out->mem = new_pool_slot(s, r->addr, r->size ? r->size : 8);
	if (d->split && s->b.m.speculates) {
		out->known = new_pool_slot(s, NOWHERE, 0);
		s->pool[out->mem].known = out->known;
		s->slot_time[out->known] = address;
	}
	build_done(&s->b, d, latency, out);
	if (out->dst)
		s->slot_time[out->dst] = p + out->wake.cycles;
	if (out->mem)
		s->slot_time[out->mem] =
		    d->split && !out->ep ? max_u64(now->e, s->slot_time[d->src[1]]) : p;
}

/* ---- all ---- */

/* The wait for an issue slot in the lanes where one-cycle operations take no time, and for an entry of
 * the issue queue in those without limits of bandwidth. */
static void lane_edges(struct edges *s, const struct code *d, struct graph_inst *out)
{
	uint16_t by[2] = { 0 };
	for (unsigned k = 0; s->broad[0] && k < ARRAY_LEN(by); k++) {
		const uint32_t room = lane_next(s->broad[k], out, d->queue, false).room;
		by[k] = (uint16_t)(room <= s->b.m.rob ? room : 0);
	}
	out->iq_bw = by[0];
	out->iq_bw_dl1 = by[1];
	build_slots(lane_next(s->lane, out, d->queue, !d->queue).slot, out);
}

static void note_mispredict(struct edges *s, const struct rec_inst *r, const struct graph_inst *out)
{
	/* The wrong path is fetched at the rate of the last packets. */
	const uint64_t recent = s->b.at.number - s->packets[(s->npackets - RECENT) % EDGES_PACKETS];
	/* The limit on unresolved branches, in instructions at this run's mean branch distance. */
	const uint64_t room = s->b.m.branches * (s->ninsts / (s->nbranches + 1) + 1);
	build_mispredict(&s->b, r->complete, recent, RECENT, (uint32_t)min_u64(s->b.m.rob, room),
			 out);
}

void edges_next(struct edges *s, const struct rec_inst *r, struct graph_inst *out)
{
	graph_inst_clear(out);
	s->seen.stall.cycles = 0;
	s->seen.stored = LEVEL_NONE;
	if (!s->started) {
		s->started = true;
		s->origin = r->fetch;
		s->arrived = s->b.at.number;
	} else if (r->po != s->prev.po + 1 &&
		   r->fetch - s->origin > past(s, s->b.at.number - 1)->c) {
		/* the graph has no time between two measured regions */
		s->origin = r->fetch - past(s, s->b.at.number - 1)->c;
	}
	const struct code *d = decode(s, r);
	const uint64_t f = r->fetch - s->origin, i = s->b.at.number;
	const uint64_t p = f + r->complete, c = f + r->commit;
	struct stamps now = {
		.f = f, .d = f + r->dispatch, .e = f + r->issue, .c = c, .queue = d->queue
	};
	struct stamps first = now;
	const bool again = flushed_for_order(s, r, d, &now, p, &first);
	if (!again)
		first = now;
	if (r->flags & RI_FETCH_HEAD || f != past(s, i - 1)->f) {
		fetch_edges(s, r, first.f, again, out);
		s->packet = s->taken = 0;
	}
	if (s->shadow && !s->b.nrules)
		shadow_fetch(s, r, out);
	s->packet++;
	s->taken += !!(r->flags & RI_TAKEN);
	dispatch_edges(s, r, d, first.f, first.d, out);
	execute_edges(s, r, d, &now, p, again, out);

	uint64_t known = max_u64(max_u64(p, now.e + 1), past(s, i - 1)->c);
	known = max_u64(known, past(s, i - s->b.m.commit_width)->c + 1);
	if (c > known) {
		out->pc = clip_u16(c - known);
		s->residual[RESIDUAL_COMMIT] += c - known;
	} else {
		s->residual[RESIDUAL_STRICT] += known - c;
	}
	/* Member by member: copying the struct reads wide what was just written narrow, which
	 * defeats store forwarding (5 ns an instruction). */
	struct stamps *const to = past(s, i);
	to->f = now.f;
	to->d = now.d;
	to->e = now.e;
	to->c = now.c;
	to->mem = d->store ? out->mem : 0;
	to->queue = d->queue;
	s->issued[d->queue][now.e % ISSUED] = (uint32_t)i;
	if (out->brings)
		s->slot_time[out->brings] = c + out->fill;
	if (s->b.nrules)
		out->iq_bw = out->iq_bw_dl1 = out->iq;
	else
		lane_edges(s, d, out);
	if (r->flags & RI_MISPREDICT)
		note_mispredict(s, r, out);
	s->ninsts++;
	s->nbranches += !!(r->flags & (RI_BRANCH | RI_INDIRECT));
	build_next(&s->b, d);
	s->prev = (struct previous){ .po = r->po, .pc = r->pc, .p = p, .flags = r->flags };
}
