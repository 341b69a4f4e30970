/* SPDX-License-Identifier: MIT */
/*
 * From inst records to edges: which edge stands for which mechanism of the core.
 *
 *   F <- F        the next packet, a cycle later (bw); a target learnt at decode (bmisp)
 *   F <- P(i-1)   PD: mispredicted branch, redirect cycles after it resolves (bmisp)
 *   F <- C(i-1)   flush or trap at commit: CSR, fence, atomic, exception, system call (none);
 *                 a load that faults has missed before that (dmiss)
 *   F <- D(i-x)   fetch buffer and decode stages are full (removed with bw)
 *   F <- C(i-x)   the queue of fetch targets is full (removed with win, bw)
 *   F, own        I-cache miss (imiss), I-TLB miss (none)
 *   D <- F        the front end's depth
 *   D <- D(i-1)   DD: in order; D(i-width) + 1: FBW (bw)
 *   D <- C(i-x)   CD: reorder buffer, load queue, physical registers: x instructions ago is who
 *                 must have committed (win); store queue: … and been written (cd_wait), or
 *                 where stores are written so slowly that it only delays them: DD (dmiss)
 *   D <- E(i-x)   issue queue: who must have issued (win)
 *   D <- C(i-1)   serialising instruction: before it and after it
 *   R <- D, P     DR and PR: registers; a load's store (memory order); wake-up in the producer
 *   E <- V        units and ports: V is when the unit would be free if its operations came at
 *                 the time of their dispatch, in that order or, where they take it for long, in
 *                 that of execution; what that bounds is throughput (bw, the operation's own)
 *   E <- R        RE: what units, ports and issue width took beyond that, as observed (bw)
 *   P <- E        EP: the operation (shalu, lgalu), L1 hit beyond one cycle (dl1), what a miss
 *                 adds (dmiss; its waiting for buses: bw, too), D-TLB (none; what page tables
 *                 miss: dmiss)
 *   EP <- P, C    a load that has issued waits for a store's data, or for it to be written, or
 *                 for the line that the store missed when it was written (dmiss)
 *   P <- P        PP: an earlier miss of the same line (dmiss); a store's data
 *   C <- P, C     PC, CC; C(i-width) + 1: CBW (bw)
 *
 * Latencies are those observed. What the edges do not explain of a stamp is a residual on the node,
 * in the category of what the record says was the cause; so by induction the base graph is the
 * machine, but for edges that say later than it was, which are dropped where that can be seen.
 *
 * Dependences reach as far back as the idealised window: registers and memory are followed here,
 * not taken from the record, which knows only producers that were still in flight.
 *
 * Wrong paths: which lines they brought or threw out is known from tags of the right path alone
 * (shadow.c); what they would bring in a larger window is estimated (reach.c). Issue slots of
 * operations that are idealised away: slots.c.
 *
 * Not in the graph: misses that become hits free MSHRs and buses for others; contention for units
 * and other contention for issue slots is as observed in the base run, in every lane.
 */
#include "analysis/icost/edges.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/icost/reach.h"
#include "analysis/icost/shadow.h"
#include "analysis/icost/slots.h"
#include "isa/isa.h"
#include "trace/file.h"

#define HISTORY	      512 /* instructions whose stamps are kept, at least */
#define POOL	      (GRAPH_SLOT_PORTS - GRAPH_SLOT_POOL)
#define MAP	      1024 /* entries of the maps from addresses to slots */
#define STATICS	      4096
#define QUEUE_HISTORY 4096
#define HELD_LONG     2 /* cycles: dispatch is slower than fetch by far */
#define RECENT	      8 /* packets that say how fast fetch is */
#define DRAIN_SOON    8 /* cycles from commit in which a store is usually written */

struct stamps {
	uint64_t f, d, e, c;
	uint16_t mem; /* slot of a store's result */
	uint8_t queue;
};

/* What an instruction word says. */
struct decoded {
	uint32_t word;
	bool valid, split, store, load, amo;
	uint8_t dst, src[3], queue;
	uint8_t unit; /* enum edges_unit; EDGES_UNITS: none that could bind */
};

struct edges {
	struct edges_machine m;
	bool started;
	uint64_t origin, count; /* count: instructions so far; number of the next */
	struct {
		uint64_t po, pc;
		uint32_t flags;
	} prev;			/* the last instruction */
	struct stamps *history; /* of the last instructions, by number modulo a power of two */
	uint64_t history_mask;
	unsigned line_shift;
	uint64_t prev_p;
	unsigned packet, taken; /* of the packet being fetched: instructions, taken branches */
	uint64_t packets[EDGES_PACKETS]; /* first of the last packets */
	uint64_t npackets;
	uint64_t arrived; /* numbers below had arrived in the fetch buffer at the last fetch */
	uint64_t slot_time[GRAPH_SLOTS]; /* when its value became available */
	struct {
		uint64_t addr;	 /* store: address; line: line number */
		uint64_t number; /* store: its instruction */
		uint32_t size;	 /* 0: a line */
		uint16_t fill;	 /* line: so long after a store commits; 0: no store's */
		bool asked;	 /* … and it is known whether that was right */
	} pool[GRAPH_SLOTS];
	unsigned next_pool;
	uint16_t store_map[MAP], byte_map[MAP], line_map[MAP]; /* by granule, address, line */
	struct decoded statics[STATICS];
	/* numbers of the last loads, stores and writers */
	uint64_t loads[QUEUE_HISTORY], stores[QUEUE_HISTORY], ints[QUEUE_HISTORY],
	    fps[QUEUE_HISTORY];
	uint64_t nloads, nstores, nints, nfps;
	uint64_t ninsts, nbranches;
	unsigned next_port[EDGES_UNITS];
	/* Operations of units that are not pipelined, by port: from when to when. */
	struct {
		uint64_t from, to;
	} busy[EDGES_UNITS][EDGES_PORTS];
	struct slots slots;
	struct reach reach;
	const struct edges_rule *rules;
	size_t nrules;
	uint64_t residual[RESIDUAL_COUNT];
	struct shadow *shadow;
	uint64_t fetch_line; /* of the last instruction */
};

static uint16_t cut(uint64_t cycles)
{
	return (uint16_t)min_u64(cycles, UINT16_MAX);
}

struct edges *edges_new(const struct edges_machine *m)
{
	struct edges *s = x_calloc(1, sizeof(*s));
	s->m = *m;
	uint64_t history = HISTORY;
	while (history <= edges_past(m) + 1)
		history *= 2;
	s->history = x_calloc(history, sizeof(*s->history));
	s->history_mask = history - 1;
	s->line_shift = (unsigned)__builtin_ctz(m->line_bytes);
	slots_reset(&s->slots, m->issue_slots, m->rob);
	s->count = 2 * history; /* before the first there is a past in which nothing happened */
	return s;
}

void edges_free(struct edges *s)
{
	if (!s)
		return;
	free(s->history);
	free(s);
}

void edges_learnt(struct edges *s, const struct edges *from)
{
	s->reach.tried = from->reach.tried;
	s->reach.found = from->reach.found;
	memcpy(s->reach.owed, from->reach.owed, sizeof(s->reach.owed));
}

void edges_rules(struct edges *s, const struct edges_rule *rules, size_t count)
{
	s->rules = rules;
	s->nrules = count;
}

void edges_shadow(struct edges *s, struct shadow *shadow)
{
	s->shadow = shadow;
}

uint64_t edges_origin(const struct edges *s)
{
	return s->origin;
}

const uint64_t *edges_residuals(const struct edges *s)
{
	return s->residual;
}

/* ---- categories ---- */

/* The part that `cycles` of a primitive class become for this instruction. What a rule leaves (all
 * but the cycles that it names) is returned in *fixed. */
static struct graph_part part_of(const struct edges *s, uint64_t pc, enum graph_category event,
				 unsigned level, uint64_t cycles, uint16_t *fixed)
{
	struct graph_part p = { .cycles = cut(cycles), .category = (uint8_t)event };
	if (likely(!s->nrules))
		return p;
	for (size_t i = 0; i < s->nrules; i++) {
		const struct edges_rule *u = &s->rules[i];
		if (u->event != event || (u->level && u->level != level) ||
		    (u->high && (pc < u->low || pc >= u->high)))
			continue;
		p.category = u->category;
		if (u->cycles && u->cycles < p.cycles) {
			*fixed = cut((uint64_t)*fixed + p.cycles - u->cycles);
			p.cycles = u->cycles;
		}
		return p;
	}
	return p;
}

/* The category that an edge of a primitive class has for the instruction at r. */
static uint8_t category_of(const struct edges *s, uint64_t pc, enum graph_category event)
{
	uint16_t unused = 0;
	return part_of(s, pc, event, LEVEL_NONE, 1, &unused).category;
}

/* ---- what instructions are ---- */

static const struct decoded *decode(struct edges *s, const struct rec_inst *r)
{
	struct decoded *d = &s->statics[(r->pc >> 1) % STATICS];
	if (likely(d->valid && d->word == r->word))
		return d;
	const struct inst in = isa_decode(r->word);
	const struct inst_operands o = isa_operands(&in);
	*d = (struct decoded){ .word = r->word, .valid = true, .dst = o.dst };
	memcpy(d->src, o.src, sizeof(d->src));
	d->amo = r->cls == CLASS_AMO;
	d->store = d->amo || r->cls == CLASS_STORE;
	d->load = d->amo || r->cls == CLASS_LOAD;
	d->split = r->cls == CLASS_STORE;
	d->queue = (uint8_t)edges_queue_of(&s->m, r->cls);
	d->unit = (uint8_t)edges_unit_of(&s->m, r->cls);
	if (d->unit < EDGES_UNITS && !s->m.unit[d->unit].count)
		d->unit = EDGES_UNITS;
	return d;
}

static bool is_long(const struct rec_inst *r, uint64_t latency)
{
	switch (r->cls) {
	case CLASS_MUL:
	case CLASS_DIV:
	case CLASS_FADD:
	case CLASS_FMUL:
	case CLASS_FDIV:
	case CLASS_FSQRT:
		return latency != 1;
	default:
		return false;
	}
}

static struct stamps *past(struct edges *s, uint64_t number)
{
	return &s->history[number & s->history_mask];
}

/* Number of the n-th last of a kind; 0 if there were not so many. */
static uint64_t nth_last(const uint64_t *ring, uint64_t count, uint64_t n)
{
	return n && n <= count && n <= QUEUE_HISTORY ? ring[(count - n) % QUEUE_HISTORY] : 0;
}

/* ---- F ---- */

static void fetch_edges(struct edges *s, const struct rec_inst *r, uint64_t f,
			struct graph_inst *out)
{
	const struct edges_machine *m = &s->m;
	const __typeof__(s->prev) *b = &s->prev;
	const uint64_t i = s->count, before = past(s, i - 1)->f;
	uint16_t fixed = 0;
	uint64_t t = before;
	out->flags |= GRAPH_HEAD;
	/* A packet that a redirect or a miss cut short would have gone on without it. */
	const bool open =
	    s->packet < m->fetch_width && s->taken < (m->taken_per_fetch ? m->taken_per_fetch : 1);
	uint8_t ends = CAT_BW;
	if (b->flags & RI_BTB_MISS) {
		out->step[1] = part_of(s, b->pc, CAT_BMISP, LEVEL_NONE, m->btb_bubble, &fixed);
		t += m->btb_bubble;
		if (open)
			ends = CAT_BW_BMISP;
	}
	if (b->flags & RI_MISPREDICT) {
		out->flags |= GRAPH_PD;
		out->pd = cut(m->redirect);
		out->pd_cat = category_of(s, b->pc, CAT_BMISP);
		if (open)
			ends = CAT_BW_BMISP;
	}
	if (ends == CAT_BW && open && r->lat_icache)
		ends = CAT_BW_IMISS;
	/* A miss in the middle of a packet began in its cycle. */
	const uint64_t miss = (uint64_t)r->lat_icache + r->lat_itlb;
	if (!miss || f != before + miss || out->flags & GRAPH_PD) {
		out->step[0] =
		    (struct graph_part){ .cycles = 1, .category = s->nrules ? CAT_BW : ends };
		t += 1;
	}
	if (out->flags & GRAPH_PD)
		t = max_u64(t, s->prev_p + m->redirect);

	if ((b->flags & (RI_EXCEPTION | RI_FLUSHES) || r->flags & RI_REFETCH) &&
	    f >= past(s, i - 1)->c + miss && f > t) {
		out->flags |= GRAPH_CF;
		const uint64_t after = f - miss - past(s, i - 1)->c, known = m->fault + m->flush;
		out->cf = cut(after);
		/* A load that is to fault has first missed. */
		if (r->psv & PSV_FL_EX && r->flags & RI_LOAD && r->flags & RI_REFETCH && !miss &&
		    after > known && after <= known + 4 * (uint64_t)m->mem_latency) {
			out->cf = cut(known);
			out->fetch[0] =
			    (struct graph_part){ .cycles = cut(after - known),
						 .category = category_of(s, r->pc, CAT_DMISS) };
		}
		t = max_u64(t, f - miss);
	}
	s->packets[s->npackets++ % EDGES_PACKETS] = i;
	/* Those that have arrived in the buffer, less its size, must have been dispatched. */
	if (s->arrived + s->history_mask < i)
		s->arrived = i - s->history_mask;
	while (s->arrived < i && past(s, s->arrived)->f + m->fetch_depth <= f)
		s->arrived++;
	const uint64_t x = i - s->arrived + 1 + m->front_entries;
	const bool full =
	    x <= s->history_mask && past(s, i - x)->d <= f && f - past(s, i - x)->d <= 2;
	/* What is under way between fetch and dispatch at full speed must not be held up where
	 * fetch could be much faster: as many packets as there are stages. */
	const uint64_t stages = min_u64(m->depth, EDGES_PACKETS - 1),
		       most = i - s->packets[(s->npackets - 1 - stages) % EDGES_PACKETS];
	if (x <= GRAPH_REACH && past(s, i - x)->d <= f) {
		out->buffer =
		    (uint16_t)min_u64(f > t + HELD_LONG ? max_u64(x, most) : x, GRAPH_REACH);
		t = max_u64(t, past(s, i - out->buffer)->d);
	}

	/* The queue of packets that have not committed. */
	if (m->targets && s->npackets > m->targets) {
		const uint64_t j = s->packets[(s->npackets - 1 - m->targets) % EDGES_PACKETS];
		if (i - j <= edges_past(m) && past(s, j)->c <= f) {
			out->targets = (uint16_t)(i - j);
			t = max_u64(t, past(s, j)->c);
		}
	}

	uint64_t rest = f > t ? f - t : 0;
	if (f < t)
		s->residual[RESIDUAL_STRICT] += t - f;
	const uint64_t imiss = min_u64(rest, r->lat_icache);
	rest -= imiss;
	if (imiss)
		out->fetch[0] = part_of(s, r->pc, CAT_IMISS, r->ilevel, imiss, &fixed);
	const uint64_t itlb = min_u64(rest, r->lat_itlb);
	rest -= itlb;
	/* Earlier than it was, which does no harm where dispatch is what holds it up. */
	if (full && !miss && rest) {
		if (r->dispatch == m->depth)
			out->fetch[0] =
			    (struct graph_part){ .cycles = cut(rest), .category = CAT_BW };
		rest = 0;
	}
	s->residual[RESIDUAL_FETCH] += rest;
	if (rest && imiss) {
		out->fetch[0].cycles = cut(out->fetch[0].cycles + rest);
		rest = 0;
	}
	out->fetch[1] =
	    (struct graph_part){ .cycles = cut(itlb + rest + fixed), .category = CAT_NONE };
}

/* What the fetch would have been without wrong paths before it. */
static void shadow_fetch(struct edges *s, const struct rec_inst *r, struct graph_inst *out)
{
	const uint64_t line = r->pc >> s->line_shift;
	struct graph_part *miss = &out->fetch[0];
	if (line == s->fetch_line && !r->lat_icache)
		return;
	s->fetch_line = line;
	const enum mem_level level = shadow_access(
	    s->shadow, SHADOW_INST, r->pc, r->lat_icache ? (enum mem_level)r->ilevel : LEVEL_L1);
	if (r->lat_icache && r->ilevel > LEVEL_L1)
		shadow_learn(s->shadow, SHADOW_INST, (enum mem_level)r->ilevel, r->lat_icache);
	if (level == LEVEL_NONE || r->flags & RI_REFETCH)
		return;
	if (level == LEVEL_L1) {
		if (miss->cycles)
			miss->category = CAT_BMISP_IMISS;
		return;
	}
	const uint16_t whole = shadow_latency(s->shadow, SHADOW_INST, level);
	if (whole <= r->lat_icache + 2u ||
	    r->lat_icache >= shadow_least(s->shadow, SHADOW_INST, level))
		return;
	/* F of one that is no head has been its packet's so far: no step to itself. */
	out->flags |= GRAPH_HEAD;
	out->fetch[2] = (struct graph_part){ .cycles = (uint16_t)(whole - r->lat_icache),
					     .category = CAT_SAVED_IMISS };
}

/* ---- D ---- */

static enum graph_category stall_category(const struct rec_inst *r)
{
	switch (r->dispatch_stall) {
	case DISPATCH_ROB:
	case DISPATCH_IQ:
	case DISPATCH_LQ:
	case DISPATCH_SQ:
	case DISPATCH_REGS:
	case DISPATCH_BRANCHES:
		return CAT_WIN;
	case DISPATCH_OK:
	case DISPATCH_EMPTY:
		return CAT_BW;
	default:
		return CAT_NONE;
	}
}

/* Where the n-th last of a kind is younger than *from, it is that. */
static void bring(uint64_t *from, const uint64_t *ring, uint64_t count, uint64_t n)
{
	*from = max_u64(*from, nth_last(ring, count, n));
}

/* How far back is who must have committed before this one can have its entry, in the real window
 * and in one that is EDGES_WINDOW_MANY times as large. */
static void commit_distances(const struct edges *s, const struct decoded *d, uint16_t x[2])
{
	const struct edges_machine *m = &s->m;
	const uint64_t i = s->count, far = (uint64_t)m->rob * EDGES_WINDOW_MANY;
	uint64_t j[2] = { 0, 0 };
	if (d->load && m->lq) {
		bring(&j[0], s->loads, s->nloads, m->lq);
		bring(&j[1], s->loads, s->nloads, (uint64_t)m->lq * EDGES_WINDOW_MANY);
	}
	if (d->dst >= 32 && m->fp_regs) {
		bring(&j[0], s->fps, s->nfps, m->fp_regs);
		bring(&j[1], s->fps, s->nfps, (uint64_t)m->fp_regs * EDGES_WINDOW_MANY);
	} else if (d->dst && d->dst < 32 && m->int_regs) {
		bring(&j[0], s->ints, s->nints, m->int_regs);
		bring(&j[1], s->ints, s->nints, (uint64_t)m->int_regs * EDGES_WINDOW_MANY);
	}
	x[0] = (uint16_t)(j[0] ? min_u64(m->rob, i - j[0]) : m->rob);
	x[1] = (uint16_t)max_u64(j[1] ? min_u64(far, i - j[1]) : far, GRAPH_WIN_GRAIN);
}

static void dispatch_edges(struct edges *s, const struct rec_inst *r, const struct decoded *d,
			   uint64_t f, uint64_t t, struct graph_inst *out)
{
	const struct edges_machine *m = &s->m;
	const uint64_t i = s->count;
	uint64_t known = max_u64(past(s, i - 1)->d, f + m->depth);
	known = max_u64(known, past(s, i - m->dispatch_width)->d + 1);
	commit_distances(s, d, out->cd);
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
	if (r->dispatch_stall == DISPATCH_SQ && d->store) {
		/* The store that had the entry: committed, then written. */
		const uint64_t j = nth_last(s->stores, s->nstores, m->sq);
		const uint64_t wait =
		    j && i - j <= out->cd[0] ? t - min_u64(t, past(s, j)->c) : UINT64_MAX;
		if (wait <= DRAIN_SOON) {
			out->cd[0] = (uint16_t)(i - j);
			out->cd_wait =
			    (struct graph_part){ .cycles = cut(wait), .category = CAT_BW };
		} else {
			/* Stores are written more slowly than they come: no queue is long enough.
			 */
			out->dd =
			    (struct graph_part){ .cycles = cut(rest),
						 .category = category_of(s, r->pc, CAT_DMISS) };
		}
		return;
	}
	if (r->dispatch_stall == DISPATCH_IQ) {
		/* Who left the queue in that cycle made room. */
		for (uint64_t x = 1; x <= m->rob; x++) {
			const struct stamps *p = past(s, i - x);
			if (p->queue == d->queue && p->e == t) {
				out->iq = (uint16_t)x;
				return;
			}
		}
	}
	s->residual[RESIDUAL_DISPATCH] += rest;
	out->dd =
	    (struct graph_part){ .cycles = cut(rest), .category = (uint8_t)stall_category(r) };
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

/* A slot of the pool that still holds the youngest store to any byte of a load's: as the queue had
 * it, else as far as the maps know. */
static uint16_t find_store(struct edges *s, const struct rec_inst *r)
{
	const uint64_t addr = r->addr;
	const uint32_t size = r->size;
	if (r->prod_mem && r->prod_mem <= s->history_mask) {
		const uint16_t slot = past(s, s->count - r->prod_mem)->mem;
		if (overlaps(s, slot, addr, size) && s->pool[slot].number == s->count - r->prod_mem)
			return slot;
	}
	for (uint64_t g = addr >> 3; g <= (addr + size - 1) >> 3; g++) {
		const uint16_t slot = s->store_map[map_index(g)];
		if (overlaps(s, slot, addr, size))
			return slot;
	}
	/* An older one than the youngest to its granule. */
	const uint16_t slot = s->byte_map[map_index(addr)];
	return overlaps(s, slot, addr, size) ? slot : 0;
}

static uint16_t new_pool_slot(struct edges *s, uint64_t addr, uint32_t size)
{
	const uint16_t slot = (uint16_t)(GRAPH_SLOT_POOL + s->next_pool);
	s->next_pool = (s->next_pool + 1) % POOL;
	s->pool[slot].addr = addr;
	s->pool[slot].size = size;
	s->pool[slot].number = s->count;
	s->pool[slot].fill = 0;
	s->pool[slot].asked = false;
	if (size)
		for (uint64_t g = addr >> 3; g <= (addr + size - 1) >> 3; g++)
			s->store_map[map_index(g)] = s->byte_map[map_index(addr)] = slot;
	else
		s->line_map[map_index(addr)] = slot;
	return slot;
}

static void add_source(struct graph_inst *out, unsigned *n, uint16_t slot)
{
	if (slot && *n < GRAPH_SOURCES)
		out->src[(*n)++] = slot;
}

/* A load that overlaps a store in the queue and has issued waits for its data, or, if that has not
 * all of its bytes, until it is written. Returns when that was over: the access begins. */
static uint64_t late_edge(struct edges *s, const struct rec_inst *r, uint16_t store,
			  const struct stamps *now, uint64_t p, struct graph_inst *out)
{
	const struct edges_machine *m = &s->m;
	if (r->dlevel == LEVEL_FWD) {
		if (s->slot_time[store] <= now->e || s->slot_time[store] >= p)
			return now->e;
		out->late = store;
		return s->slot_time[store];
	}
	const uint64_t back = s->count - s->pool[store].number, c = past(s, s->count - back)->c,
		       took = m->l1d_latency + (uint64_t)r->lat_dmiss;
	if (back > edges_past(m) || p < now->e + took + 1 || p <= c + took ||
	    p - took - c > GRAPH_WAIT_MAX)
		return now->e;
	out->written = (uint16_t)back;
	out->drain = (struct graph_part){ .cycles = (uint16_t)(p - took - c),
					  .category = p - took - c <= DRAIN_SOON
							  ? CAT_NONE
							  : category_of(s, r->pc, CAT_DMISS) };
	return p - took;
}

/* A line that a store misses comes so long after it commits. Those who come between wait for it;
 * before that its own bytes are in the queue, and who wants others brings the line itself. Returns
 * when the access begins that then hits. */
static uint64_t line_edge(struct edges *s, const struct rec_inst *r, uint16_t slot, uint16_t store,
			  const struct stamps *now, uint64_t p, struct graph_inst *out)
{
	__typeof__(&s->pool[0]) from = &s->pool[slot];
	if (from->addr != r->addr >> s->line_shift || r->dlevel == LEVEL_FWD)
		return now->e;
	const bool merged = r->psv & PSV_ST_MERGE, missed = r->psv & PSV_ST_L1 && !merged;
	const uint64_t there = s->slot_time[slot], commit = there - from->fill,
		       hit = s->m.l1d_latency + (uint64_t)r->lat_dtlb,
		       begun = merged && p > now->e + hit ? p - hit : now->e,
		       wait = begun > now->e ? begun - there : 0;
	if (!from->asked && now->e > commit && (merged || now->e < commit + s->m.mem_latency)) {
		from->asked = true;
		shadow_stored(s->shadow, merged && r->dlevel == LEVEL_MEM);
	}
	if (missed || there > begun || wait > GRAPH_WAIT_MAX) {
		from->fill = 0; /* it is another's */
		from->addr = UINT64_MAX;
		return now->e;
	}
	out->flags |= GRAPH_LINE;
	if (store && s->pool[store].number >= from->number)
		out->flags |= GRAPH_FORWARD;
	out->late = slot;
	out->line_cat = category_of(s, r->pc, CAT_DMISS);
	out->drain = (struct graph_part){ .cycles = (uint16_t)wait, .category = CAT_NONE };
	out->fill = (uint16_t)(from->fill - 1 + wait);
	return begun;
}

static void load_parts(struct edges *s, const struct rec_inst *r, uint16_t sharer, uint64_t latency,
		       uint64_t e, struct graph_inst *out)
{
	const struct edges_machine *m = &s->m;
	const uint64_t hit = r->dlevel == LEVEL_FWD ? m->forward_latency : m->l1d_latency;
	const uint64_t line = r->addr >> s->line_shift;
	uint64_t rest = latency - min_u64(latency, 1);
	unsigned n = 0;
	uint64_t part = min_u64(rest, hit - min_u64(hit, 1));
	rest -= part;
	out->ep = 1;
	out->ep_part[n++] = part_of(s, r->pc, CAT_DL1, LEVEL_NONE, part, &out->ep);
	/* Entries of page tables that were not in the L2 would be, if it had no data to hold. */
	part = min_u64(rest, min_u64(r->lat_dtlb, m->walk));
	rest -= part;
	out->ep = cut(out->ep + part);
	if (sharer && !s->pool[sharer].size && s->pool[sharer].addr == line &&
	    !s->pool[sharer].fill && s->slot_time[sharer] <= e + latency &&
	    r->dlevel != LEVEL_FWD) {
		out->line = sharer;
		out->line_cat = category_of(s, r->pc, CAT_DMISS);
		if (s->slot_time[sharer] > e + latency - rest)
			rest = e + latency - s->slot_time[sharer];
	}
	if (!rest)
		return;
	if (r->psv & (PSV_ST_L1 | PSV_ST_MSHR | PSV_ST_MERGE) || r->lat_dmiss) {
		/* Waiting for MSHRs and buses ends with more of these, too. */
		part = out->line || s->nrules ? 0 : min_u64(rest, r->lat_bus);
		if (rest > part)
			out->ep_part[n++] =
			    part_of(s, r->pc, CAT_DMISS, r->dlevel, rest - part, &out->ep);
		if (part)
			out->ep_part[n++] =
			    (struct graph_part){ .cycles = cut(part), .category = CAT_BW_DMISS };
		if (!out->line)
			out->mem = new_pool_slot(s, line, 0);
	} else {
		s->residual[RESIDUAL_EXECUTE] += rest;
		out->ep = cut(out->ep + rest);
	}
}

/* … where an operation takes its unit for long: the order is that of execution, since a younger one
 * that is ready goes first. Of the older ones that began before it, the last but as many as there
 * are other units must be over. */
static uint64_t busy_edge(struct edges *s, const struct rec_inst *r, const struct decoded *d,
			  const struct stamps *now, uint64_t latency, struct graph_inst *out)
{
	const unsigned n = s->next_port[d->unit], units = s->m.unit[d->unit].count;
	const uint16_t first = (uint16_t)(GRAPH_SLOT_PORTS + d->unit * EDGES_PORTS);
	uint64_t v = now->d + 1, last = 0;
	unsigned seen = 0, at = 0;
	uint16_t fixed = 0;
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
		out->after = (uint16_t)(first + at);
		v = max_u64(v, s->slot_time[out->after]);
	}
	s->next_port[d->unit] = (n + 1) % EDGES_PORTS;
	out->port = (uint16_t)(first + n);
	out->flags |= GRAPH_PORT;
	out->occupies = part_of(s, r->pc, is_long(r, latency) ? CAT_LGALU : CAT_SHALU, LEVEL_NONE,
				latency, &fixed);
	s->busy[d->unit][n].from = now->e;
	s->busy[d->unit][n].to = now->e + latency;
	s->slot_time[out->port] = v + out->occupies.cycles;
	return v;
}

/* When the port that the instruction would get in order of dispatch is free; 0 if it was even
 * earlier. */
static uint64_t port_edge(struct edges *s, const struct rec_inst *r, const struct decoded *d,
			  const struct stamps *now, uint64_t latency, struct graph_inst *out)
{
	if (!s->m.unit[d->unit].pipelined)
		return busy_edge(s, r, d, now, latency, out);
	const unsigned n = s->next_port[d->unit];
	s->next_port[d->unit] = n + 1 < s->m.unit[d->unit].count ? n + 1 : 0;
	const uint16_t slot = (uint16_t)(GRAPH_SLOT_PORTS + d->unit * EDGES_PORTS + n);
	const uint64_t v = max_u64(now->d + 1, s->slot_time[slot]);
	out->port = out->after = slot;
	out->occupies = (struct graph_part){ .cycles = 1, .category = CAT_NONE };
	/* One that overtook others does not say that the port is free sooner than now. */
	s->slot_time[slot] = min_u64(v, now->e) + out->occupies.cycles;
	if (v > now->e)
		return 0;
	out->flags |= GRAPH_PORT;
	return v;
}

static enum graph_category contention_category(const struct edges *s, const struct rec_inst *r,
					       const struct decoded *d)
{
	if (r->flags & RI_SERIAL)
		return CAT_NONE;
	return d->unit < EDGES_UNITS && !s->m.unit[d->unit].pipelined && !s->nrules ? CAT_BW_LGALU
										    : CAT_BW;
}

/* A store's line is on its way from the cycle after commit, if it is not there. */
static void shadow_line(struct edges *s, const struct rec_inst *r, struct graph_inst *out)
{
	const enum mem_level level = shadow_store(s->shadow, r->addr);
	if (level <= LEVEL_L1)
		return;
	out->brings = new_pool_slot(s, r->addr >> s->line_shift, 0);
	out->fill = (uint16_t)(1 + shadow_least(s->shadow, SHADOW_DATA, level));
	s->pool[out->brings].fill = out->fill;
}

/* The same for a load's data. */
static void shadow_data(struct edges *s, const struct rec_inst *r, struct graph_inst *out)
{
	const bool missed = r->psv & (PSV_ST_L1 | PSV_ST_MERGE);
	const enum mem_level level = shadow_access(s->shadow, SHADOW_DATA, r->addr,
						   missed ? (enum mem_level)r->dlevel : LEVEL_L1);
	const uint16_t seen = r->lat_dmiss > r->lat_dtlb ? r->lat_dmiss - r->lat_dtlb : 0;
	unsigned n = 0;
	/* What a flush threw away has fetched its line already. */
	if (!(r->flags & RI_LOAD) || r->dlevel == LEVEL_FWD || r->flags & RI_REFETCH)
		return;
	if (r->psv & PSV_ST_L1 && !(r->psv & (PSV_ST_MERGE | PSV_ST_MSHR)) && r->dlevel > LEVEL_L1)
		shadow_learn(s->shadow, SHADOW_DATA, (enum mem_level)r->dlevel, seen);
	if (level == LEVEL_NONE)
		return;
	/* A line that is on its way was not thrown out. */
	const bool lost = level == LEVEL_L1 && !(r->psv & PSV_ST_MERGE);
	while (n < GRAPH_EP_PARTS && out->ep_part[n].cycles) {
		if (lost && out->ep_part[n].category == CAT_DMISS)
			out->ep_part[n].category = CAT_BMISP_DMISS;
		n++;
	}
	const uint16_t whole =
	    level == LEVEL_L1 ? 0 : shadow_latency(s->shadow, SHADOW_DATA, level);
	const uint64_t after =
	    reach_after(&s->reach, s->count, slots_root(&s->slots, out), s->slots.count);
	/* Begun by a wrong path, if not by another of this one: it came sooner than it could. */
	if (level != LEVEL_L1 && !out->line)
		reach_line(&s->reach, s->count, after,
			   seen + 2 < shadow_least(s->shadow, SHADOW_DATA, level));
	const unsigned at = n > 1 && out->ep_part[n - 1].category == CAT_BW_DMISS ? n - 2 : n - 1;
	enum graph_category as = CAT_DMISS;
	uint32_t most = 0;
	if (n && out->ep_part[at].category == CAT_DMISS)
		as = reach_saves(&s->reach, s->count, after, s->slots.count, &most);
	if (as != CAT_DMISS) {
		if (at + 1 < n)
			out->ep_part[at].cycles =
			    cut(out->ep_part[at].cycles + out->ep_part[at + 1].cycles);
		memset(&out->ep_part[at + 1], 0, sizeof(*out->ep_part) * (n - at - 1));
		/* It may be on its way when it is wanted, and not there yet. */
		const uint16_t left =
		    (uint16_t)(out->ep_part[at].cycles - min_u64(out->ep_part[at].cycles, most));
		n = at + 1;
		out->ep_part[at].cycles = (uint16_t)(out->ep_part[at].cycles - left);
		out->ep_part[at].category = (uint8_t)as;
		if (left)
			out->ep_part[n++] =
			    (struct graph_part){ .cycles = left, .category = CAT_DMISS };
	}
	/* One that was missed is where it would have been. */
	if ((missed && !(r->psv & PSV_ST_MERGE)) || whole <= seen + 2u ||
	    seen >= shadow_least(s->shadow, SHADOW_DATA, level) || out->line || n == GRAPH_EP_PARTS)
		return;
	out->ep_part[n] =
	    (struct graph_part){ .cycles = (uint16_t)(whole - seen), .category = CAT_SAVED_DMISS };
	if (!out->mem) /* those that share the line would wait for it */
		out->mem = new_pool_slot(s, r->addr >> s->line_shift, 0);
}

/* … and its page's. */
static void shadow_page(struct edges *s, const struct rec_inst *r, struct graph_inst *out)
{
	const uint16_t walk = shadow_translate(s->shadow, r->addr, r->lat_dtlb);
	unsigned n = 0;
	/* A walk that took time was as long as it would be. */
	if (!walk || r->lat_dtlb || !(r->flags & RI_LOAD) || r->dlevel == LEVEL_FWD ||
	    r->flags & RI_REFETCH)
		return;
	while (n < GRAPH_EP_PARTS && out->ep_part[n].cycles)
		n++;
	if (n < GRAPH_EP_PARTS)
		out->ep_part[n] = (struct graph_part){ .cycles = walk, .category = CAT_SAVED_DTLB };
}

static void execute_edges(struct edges *s, const struct rec_inst *r, const struct decoded *d,
			  const struct stamps *now, uint64_t p, struct graph_inst *out)
{
	uint64_t ready = now->d + 1, latency = p - now->e, begun = now->e;
	uint16_t sharer = 0;
	unsigned n = 0;
	for (unsigned k = 0; k < 3; k++)
		if (d->src[k] && !(k == 1 && d->split)) {
			add_source(out, &n, d->src[k]);
			ready = max_u64(ready, s->slot_time[d->src[k]]);
		}
	if (d->load) {
		const uint16_t store = find_store(s, r);
		if (store && s->slot_time[store] <= now->e) {
			add_source(out, &n, store);
			ready = max_u64(ready, s->slot_time[store]);
		}
		if (store)
			begun = late_edge(s, r, store, now, p, out);
		sharer = s->line_map[map_index(r->addr >> s->line_shift)];
		if (s->pool[sharer].fill && !out->late && !out->written)
			begun = line_edge(s, r, sharer, store, now, p, out);
	}
	if (d->unit < EDGES_UNITS)
		ready = max_u64(ready, port_edge(s, r, d, now, latency, out));
	if (ready > now->e)
		s->residual[RESIDUAL_STRICT] += ready - now->e;
	else if (now->e > ready)
		out->re = (struct graph_part){ .cycles = cut(now->e - ready),
					       .category = (uint8_t)contention_category(s, r, d) };
	/* Ready, but the unit was not: others had it, of a wrong path or younger. */
	if (out->re.cycles && d->unit < EDGES_UNITS && !s->m.unit[d->unit].pipelined) {
		out->occupies.cycles = cut((uint64_t)out->occupies.cycles + out->re.cycles);
		s->slot_time[out->port] += out->re.cycles;
	}
	if (d->load) {
		load_parts(s, r, sharer, p - begun, begun, out);
	} else if (d->split) {
		out->ep = 1;
		out->data = d->src[1];
		const uint64_t known = max_u64(now->e + 1, s->slot_time[d->src[1]]);
		if (p > known)
			out->ep = cut(p - now->e);
	} else if (r->cls == CLASS_HINT) {
		out->ep = cut(latency);
	} else {
		out->ep_part[0] = part_of(s, r->pc, is_long(r, latency) ? CAT_LGALU : CAT_SHALU,
					  LEVEL_NONE, latency, &out->ep);
		if (s->m.wakeup && d->dst && latency)
			out->wake = (struct graph_part){ .cycles = cut(s->m.wakeup),
							 .category = out->ep_part[0].category };
	}
	if ((d->load || d->store) && s->shadow && !s->nrules) {
		if (d->split)
			shadow_line(s, r, out);
		else
			shadow_data(s, r, out);
		shadow_page(s, r, out);
	}
	out->dst = d->dst;
	if (d->store)
		out->mem = new_pool_slot(s, r->addr, r->size ? r->size : 8);
	if (!s->nrules)
		slots_next(&s->slots, !d->load && !d->store && !is_long(r, latency), !d->queue,
			   out);
	if (out->dst)
		s->slot_time[out->dst] = p + out->wake.cycles;
	if (out->mem)
		s->slot_time[out->mem] = p;
}

/* ---- all ---- */

static void note_queues(struct edges *s, const struct rec_inst *r, const struct decoded *d)
{
	s->ninsts++;
	s->nbranches += !!(r->flags & (RI_BRANCH | RI_INDIRECT));
	if (d->load)
		s->loads[s->nloads++ % QUEUE_HISTORY] = s->count;
	if (d->store)
		s->stores[s->nstores++ % QUEUE_HISTORY] = s->count;
	if (d->dst >= 32)
		s->fps[s->nfps++ % QUEUE_HISTORY] = s->count;
	else if (d->dst)
		s->ints[s->nints++ % QUEUE_HISTORY] = s->count;
}

static void note_mispredict(struct edges *s, const struct rec_inst *r, const struct graph_inst *out)
{
	/* Fetched from the next cycle on, as fast as of late; the last cannot execute. */
	const uint64_t recent = s->count - s->packets[(s->npackets - RECENT) % EDGES_PACKETS],
		       cycles = r->complete - min_u64(r->complete, s->m.depth + 1);
	/* In a larger window it would not have waited for a miss that is saved there. */
	const bool soon = reach_was_saved(&s->reach, slots_root(&s->slots, out));
	/* Room for as many instructions as come with the branches that there is room for. */
	const uint32_t room =
	    (uint32_t)min_u64(s->m.rob, s->m.branches * (s->ninsts / (s->nbranches + 1) + 1));
	reach_branch(&s->reach, s->count, cycles * recent / RECENT, cycles * EDGES_BW_WIDTH,
		     (uint32_t)(cycles + s->m.depth + s->m.redirect), room,
		     soon ? room : EDGES_WINDOW_MANY * room);
}

void edges_next(struct edges *s, const struct rec_inst *r, struct graph_inst *out)
{
	graph_inst_clear(out);
	if (!s->started) {
		s->started = true;
		s->origin = r->fetch;
		s->arrived = s->count;
	} else if (r->po != s->prev.po + 1 && r->fetch - s->origin > past(s, s->count - 1)->c) {
		/* between two measured regions no time passes */
		s->origin = r->fetch - past(s, s->count - 1)->c;
	}
	const struct decoded *d = decode(s, r);
	const uint64_t f = r->fetch - s->origin, i = s->count;
	const uint64_t p = f + r->complete, c = f + r->commit;
	struct stamps now = {
		.f = f, .d = f + r->dispatch, .e = f + r->issue, .c = c, .queue = d->queue
	};
	if (r->flags & RI_FETCH_HEAD || f != past(s, i - 1)->f) {
		fetch_edges(s, r, f, out);
		s->packet = s->taken = 0;
	}
	if (s->shadow && !s->nrules)
		shadow_fetch(s, r, out);
	s->packet++;
	s->taken += !!(r->flags & RI_TAKEN);
	dispatch_edges(s, r, d, f, now.d, out);
	execute_edges(s, r, d, &now, p, out);

	uint64_t known = max_u64(max_u64(p, now.e + 1), past(s, i - 1)->c);
	known = max_u64(known, past(s, i - s->m.commit_width)->c + 1);
	if (c > known) {
		out->pc = cut(c - known);
		s->residual[RESIDUAL_COMMIT] += c - known;
	} else {
		s->residual[RESIDUAL_STRICT] += known - c;
	}
	/* One by one: a copy reads halves that were written apart, 5 ns an instruction. */
	struct stamps *const to = past(s, i);
	to->f = now.f;
	to->d = now.d;
	to->e = now.e;
	to->c = now.c;
	to->mem = d->store ? out->mem : 0;
	to->queue = d->queue;
	if (out->brings)
		s->slot_time[out->brings] = c + out->fill;
	if (r->flags & RI_MISPREDICT)
		note_mispredict(s, r, out);
	note_queues(s, r, d);
	s->prev_p = p;
	s->prev.po = r->po;
	s->prev.pc = r->pc;
	s->prev.flags = r->flags;
	s->count++;
}
