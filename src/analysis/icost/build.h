/* SPDX-License-Identifier: MIT */
/*
 * Turns the facts about an instruction into its edges (edges.def). The facts are observed (edges.c)
 * or sampled and inferred (shotgun/fragment.c); this is the one place that says which edge or part
 * each fact becomes. All of it is inline, because it runs for every instruction.
 */
#ifndef ANALYSIS_ICOST_BUILD_H
#define ANALYSIS_ICOST_BUILD_H

#include "analysis/icost/edges.h"
#include "analysis/icost/reach.h"
#include "analysis/icost/slots.h"
#include "analysis/icost/thresholds.h"
#include "isa/isa.h"

#define BUILD_HISTORY 4096 /* loads, stores and writers whose numbers are kept */

/* What an instruction word says. */
struct code {
	uint8_t cls; /* enum op_class */
	uint8_t dst, src[3];
	bool load, store; /* an atomic is both */
	bool split;	  /* a store: its address does not wait for its data, src[1] */
	bool longer;	  /* an operation that takes more than one cycle */
	uint8_t queue;
	uint8_t unit; /* enum edges_unit; EDGES_UNITS: none that could bind */
};

static inline struct code code_of(const struct edges_machine *m, const struct inst *in,
				  unsigned cls)
{
	const struct inst_operands o = isa_operands(in);
	const unsigned unit = m->of_class[cls].unit;
	return (struct code){
		.cls = (uint8_t)cls,
		.dst = o.dst,
		.src = { o.src[0], o.src[1], o.src[2] },
		.load = cls == CLASS_LOAD || cls == CLASS_AMO,
		.store = cls == CLASS_STORE || cls == CLASS_AMO,
		.split = cls == CLASS_STORE,
		.longer = cls == CLASS_MUL || cls == CLASS_DIV || cls == CLASS_FADD ||
			  cls == CLASS_FMUL || cls == CLASS_FDIV || cls == CLASS_FSQRT,
		.queue = (uint8_t)edges_queue_of(m, cls),
		.unit = (uint8_t)(unit < EDGES_UNITS && m->unit[unit].count ? unit : EDGES_UNITS),
	};
}

/* How an instruction came to be fetched, if it is the first of a packet. */
struct fetch_facts {
	uint64_t pc, before_pc; /* its own, and that of the instruction before it */
	/* The instruction before it was mispredicted; had its target learnt at decode; flushed. */
	bool redirected, bubble, flushed;
	bool steps;	 /* its packet begins in a new cycle, not in the middle of the last one */
	uint8_t cut;	 /* category of that cycle: CAT_BW, or what cut the last packet short */
	uint16_t flush;	 /* cycles from the commit of the instruction that flushed */
	uint8_t own_cat; /* category of `own`: CAT_IMISS, CAT_DMISS or CAT_BW */
	uint8_t level;	 /* enum mem_level that served an I-cache miss */
	uint64_t own;	 /* cycles that the fetch itself takes beyond a hit */
	uint64_t rest;	 /* cycles of the fetch that cannot be idealised */
	uint64_t buffer, targets; /* distances of the edges of these names */
};

/* What a load's access took. */
struct load_facts {
	uint64_t latency; /* from when the access began */
	uint64_t hit;	  /* an L1 hit, or forwarding */
	uint64_t dtlb;	  /* cycles of its translation, at most */
	uint16_t line;	  /* slot of the miss that brings its line; 0: none */
	uint8_t level;	  /* enum mem_level that served it */
	uint8_t as;	  /* category of the miss: CAT_DMISS or one derived from it */
	uint32_t most;	  /* cycles of the miss that have the category `as`, at most */
	uint64_t miss;	  /* cycles that a miss added */
	uint64_t bus;	  /* cycles that the miss waited for buses */
	uint64_t rest;	  /* cycles that cannot be idealised */
	uint16_t saved;	  /* cycles saved because a wrong path had fetched the line */
	uint16_t walk;	  /* cycles saved because a wrong path had translated the page */
};

/* How far the builder has come; a fragment that went wrong goes back to such a mark. */
struct build_mark {
	uint64_t number; /* of the next instruction */
	uint64_t nloads, nstores, nints, nfps;
	unsigned next_pool, next_port[EDGES_UNITS];
};

struct builder {
	struct edges_machine m;
	struct build_mark at;
	/* numbers of the last loads, stores and writers of registers */
	uint64_t loads[BUILD_HISTORY], stores[BUILD_HISTORY], ints[BUILD_HISTORY],
	    fps[BUILD_HISTORY];
	struct slots slots;
	struct reach reach;
	const struct edges_rule *rules;
	size_t nrules;
};

/* ---- categories ---- */

/* The part that `cycles` of a base category become for this instruction under the user's rules. The
 * cycles that a rule leaves out are added to *fixed. */
static inline struct graph_part build_part(const struct builder *b, uint64_t pc,
					   enum graph_category event, unsigned level,
					   uint64_t cycles, uint16_t *fixed)
{
	struct graph_part p = { .cycles = clip_u16(cycles), .category = (uint8_t)event };
	for (size_t i = 0; unlikely(i < b->nrules); i++) {
		const struct edges_rule *u = &b->rules[i];
		if (u->event != event || (u->level && u->level != level) ||
		    (u->high && (pc < u->low || pc >= u->high)))
			continue;
		p.category = u->category;
		if (u->cycles && u->cycles < p.cycles) {
			*fixed = clip_u16((uint64_t)*fixed + p.cycles - u->cycles);
			p.cycles = u->cycles;
		}
		return p;
	}
	return p;
}

/* The category that a base category becomes for the instruction at pc. */
static inline uint8_t build_category(const struct builder *b, uint64_t pc,
				     enum graph_category event)
{
	uint16_t unused = 0;
	return build_part(b, pc, event, LEVEL_NONE, 1, &unused).category;
}

static inline struct graph_part part_as(uint64_t cycles, unsigned category)
{
	return (struct graph_part){ .cycles = clip_u16(cycles), .category = (uint8_t)category };
}

/* Adds a part to the *n parts of an execution. */
static inline void add_part(struct graph_inst *out, unsigned *n, struct graph_part p)
{
	if (p.cycles && *n < GRAPH_EP_PARTS)
		out->ep_part[(*n)++] = p;
}

/* ---- F ---- */

/* Fetch resumed `after` cycles after the instruction before it had committed: a flush or a trap.
 * loads: it is a load whose fault is the cause, and it may have missed before its trap. */
static inline void build_flush(const struct builder *b, uint64_t after, bool loads,
			       struct fetch_facts *out)
{
	const struct edges_machine *m = &b->m;
	const uint64_t known = m->fault + m->flush;
	out->flushed = true;
	out->flush = clip_u16(after);
	if (loads && after > known && after <= known + (uint64_t)FAULT_MISSES * m->mem_latency) {
		out->flush = clip_u16(known);
		out->own = after - known;
		out->own_cat = CAT_DMISS;
	}
}

static inline void build_fetch(const struct builder *b, const struct fetch_facts *f,
			       struct graph_inst *out)
{
	const struct edges_machine *m = &b->m;
	uint16_t fixed = 0;
	out->flags |= GRAPH_HEAD;
	if (f->steps)
		out->step[0] = part_as(1, b->nrules ? CAT_BW : f->cut);
	if (f->bubble)
		out->step[1] =
		    build_part(b, f->before_pc, CAT_BMISP, LEVEL_NONE, m->btb_bubble, &fixed);
	if (f->redirected) {
		out->flags |= GRAPH_PD;
		out->pd = clip_u16(m->redirect);
		out->pd_cat = build_category(b, f->before_pc, CAT_BMISP);
	}
	if (f->flushed) {
		out->flags |= GRAPH_CF;
		out->cf = f->flush;
	}
	if (f->own)
		out->fetch[0] =
		    f->own_cat == CAT_IMISS
			? build_part(b, f->pc, CAT_IMISS, f->level, f->own, &fixed)
			: part_as(f->own,
				  build_category(b, f->pc, (enum graph_category)f->own_cat));
	out->fetch[1] = part_as(f->rest + fixed, CAT_NONE);
	out->buffer = (uint16_t)f->buffer;
	out->targets = (uint16_t)f->targets;
}

/* ---- D ---- */

/* Number of the n-th most recent instruction of a kind; 0 if there were fewer. */
static inline uint64_t build_recent(const uint64_t *ring, uint64_t count, uint64_t n)
{
	return n && n <= count && n <= BUILD_HISTORY ? ring[(count - n) % BUILD_HISTORY] : 0;
}

/* Distance to the instruction whose commit frees this one's entry (reorder buffer, load queue,
 * register), in a machine where each of these is `times` as large. */
static inline uint64_t build_distance(const struct builder *b, const struct code *c, uint64_t times)
{
	const struct edges_machine *m = &b->m;
	uint64_t j = 0;
	if (c->load)
		j = build_recent(b->loads, b->at.nloads, m->lq * times);
	if (c->dst >= 32)
		j = max_u64(j, build_recent(b->fps, b->at.nfps, m->fp_regs * times));
	else if (c->dst)
		j = max_u64(j, build_recent(b->ints, b->at.nints, m->int_regs * times));
	return j ? min_u64(m->rob * times, b->at.number - j) : m->rob * times;
}

static inline void build_window(const struct builder *b, const struct code *c,
				struct graph_inst *out)
{
	out->cd[0] = (uint16_t)build_distance(b, c, 1);
	out->cd[1] = (uint16_t)max_u64(build_distance(b, c, IDEAL_WIN_FACTOR), GRAPH_WIN_GRAIN);
}

/* The category of cycles at dispatch that no edge explains. */
static inline enum graph_category build_stall_category(unsigned by)
{
	switch (by) {
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

/* A queue that was full at dispatch. True if that explains all cycles. */
static inline bool build_stall(const struct builder *b, const struct code *c, uint64_t pc,
			       const struct stall_facts *f, struct graph_inst *out)
{
	if (f->by == DISPATCH_SQ && c->store) {
		/* The store that held the entry frees it when it has committed and been written. */
		const uint64_t j = build_recent(b->stores, b->at.nstores, b->m.sq);
		if (j && b->at.number - j <= out->cd[0] && f->drain <= DRAIN_SOON) {
			out->cd[0] = (uint16_t)(b->at.number - j);
			out->cd_wait = part_as(f->drain, CAT_BW);
		} else {
			/* Stores arrive faster than they are written: no queue is long enough. */
			out->dd = part_as(f->cycles, build_category(b, pc, CAT_DMISS));
		}
		return true;
	}
	if (f->by == DISPATCH_IQ && f->left) {
		out->iq = (uint16_t)f->left;
		return true;
	}
	out->dd = part_as(f->cycles, build_stall_category(f->by));
	return false;
}

/* ---- E, B, P ---- */

/* The operands. memory: slot of the store that gives a load its bytes, if the load waits for it
 * before it executes; 0: none. */
static inline void build_sources(const struct code *c, uint16_t memory, struct graph_inst *out)
{
	unsigned n = 0;
	for (unsigned k = 0; k < 3; k++)
		if (c->src[k] && !(k == 1 && c->split))
			out->src[n++] = c->src[k];
	if (memory && n < GRAPH_SOURCES)
		out->src[n] = memory;
}

/* The unit or port: its slot, the slot of the operation that has it before, and for how long this
 * operation occupies it. */
static inline void build_port(struct graph_inst *out, uint16_t slot, uint16_t after,
			      struct graph_part occupies, bool binds)
{
	out->port = slot;
	out->after = after;
	out->occupies = occupies;
	out->flags |= binds ? GRAPH_PORT : 0;
}

/* Splits the latency into hit, translation and f->miss, and puts the first two into EP. */
static inline void build_hit(const struct builder *b, uint64_t pc, struct load_facts *f,
			     struct graph_inst *out)
{
	const uint64_t l1 = min_u64(f->latency, f->hit), first = min_u64(l1, b->m.dl1_least),
		       dtlb = min_u64(f->latency - l1, f->dtlb);
	out->ep = (uint16_t)first;
	out->ep_part[0] = build_part(b, pc, CAT_DL1, LEVEL_NONE, l1 - first, &out->ep);
	out->ep = clip_u16(out->ep + dtlb);
	f->miss = f->latency - l1 - dtlb;
	f->as = CAT_DMISS;
}

/* Puts what a miss adds into EP. True if the miss brings its line: the line then needs a slot. */
static inline bool build_miss(const struct builder *b, uint64_t pc, const struct load_facts *f,
			      struct graph_inst *out)
{
	const bool reached = f->as >= CAT_REACH_DMISS;
	const uint64_t miss = f->miss + (reached ? f->bus : 0),
		       left = reached ? miss - min_u64(miss, f->most) : 0;
	unsigned n = out->ep_part[0].cycles ? 1 : 0; /* parts are filled from the first on */
	if (f->line) {
		out->line = f->line;
		out->line_cat = build_category(b, pc, CAT_DMISS);
	}
	out->ep = clip_u16(out->ep + f->rest);
	if (miss) {
		add_part(out, &n,
			 f->as == CAT_DMISS ? build_part(b, pc, CAT_DMISS, f->level, miss, &out->ep)
					    : part_as(miss - left, f->as));
		add_part(out, &n, part_as(left, CAT_DMISS));
	}
	add_part(out, &n, part_as(reached ? 0 : f->bus, CAT_BW_DMISS));
	add_part(out, &n, part_as(f->saved, CAT_SAVED_DMISS));
	add_part(out, &n, part_as(f->walk, CAT_SAVED_DTLB));
	return !f->line && f->miss + f->bus + f->saved;
}

/* The latency of an operation that is neither load nor store. */
static inline void build_operation(const struct builder *b, uint64_t pc, const struct code *c,
				   uint64_t latency, struct graph_inst *out)
{
	if (c->cls == CLASS_HINT) {
		out->ep = clip_u16(latency);
		return;
	}
	out->ep_part[0] = build_part(b, pc, c->longer && latency != 1 ? CAT_LGALU : CAT_SHALU,
				     LEVEL_NONE, latency, &out->ep);
	if (b->m.wakeup && c->dst && latency)
		out->wake = part_as(b->m.wakeup, out->ep_part[0].category);
}

/* Adds the wait for an issue slot in the lanes where one-cycle operations take no time. */
static inline void build_slots(uint64_t wait, struct graph_inst *out)
{
	unsigned n = 0;
	while (n < GRAPH_EP_PARTS && out->ep_part[n].cycles)
		n++;
	add_part(out, &n, part_as(wait, CAT_SLOTS_SHALU));
}

/* The rest, once everything but a store's slot is known. */
static inline void build_done(struct builder *b, const struct code *c, uint64_t latency,
			      struct graph_inst *out)
{
	out->dst = c->dst;
	if (!b->nrules)
		slots_next(&b->slots, !c->load && !c->store && !(c->longer && latency != 1),
			   !c->queue, out);
}

/* Counts the instruction and goes on to the next. */
static inline void build_next(struct builder *b, const struct code *c)
{
	struct build_mark *at = &b->at;
	if (c->load)
		b->loads[at->nloads++ % BUILD_HISTORY] = at->number;
	if (c->store)
		b->stores[at->nstores++ % BUILD_HISTORY] = at->number;
	if (c->dst >= 32)
		b->fps[at->nfps++ % BUILD_HISTORY] = at->number;
	else if (c->dst)
		b->ints[at->nints++ % BUILD_HISTORY] = at->number;
	at->number++;
}

/* A mispredicted branch that was resolved `resolved` cycles after its fetch. Fetch gets `fetched`
 * instructions in `in` cycles; the window has room for `room` instructions of the wrong path. */
static inline void build_mispredict(struct builder *b, uint64_t resolved, uint64_t fetched,
				    uint64_t in, uint32_t room, const struct graph_inst *out)
{
	/* The wrong path is fetched from the next cycle on; its last instructions cannot execute. */
	const uint64_t cycles = resolved - min_u64(resolved, b->m.depth + 1),
		       executed = min_u64(cycles * fetched / in, reach_executes(&b->reach, cycles));
	/* In a larger window the branch would resolve sooner if the miss it waits for is saved. */
	const bool soon = reach_was_saved(&b->reach, slots_root(&b->slots, out));
	reach_branch(&b->reach, b->at.number, executed, cycles * IDEAL_BW_WIDTH,
		     (uint32_t)(cycles + b->m.depth + b->m.redirect), room,
		     soon ? room : IDEAL_WIN_FACTOR * room);
}

#endif
