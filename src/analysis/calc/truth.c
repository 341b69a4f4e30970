/* SPDX-License-Identifier: MIT */
/*
 * The truth beside the estimates of `culprit calc`, exact and in whole cycles: how often every
 * instruction and every edge was executed, how often each event happened to it, and, on a machine
 * that issues in order, where every cycle of the run went.
 *
 * H_i = issue(i) - issue(i-1), over committed instructions, is the time that instruction i spent at
 * the head of the issue queue, and adds up to the run. Its last cycle is the one in which it
 * issues. Every other cycle has the reason why i could not issue in it (words.h, WORDS_REASONS),
 * found from its stamps, oldest stage first. With s = the stages between fetch and issue:
 *
 *   not fetched     up to fetch + s - 1. What fetch did s cycles earlier is the reason: the last
 *                   cycles waited for the line, those before for the page, and what is left
 *                   followed from the instruction before it (mispredicted, trapped, flushed, BTB
 *                   miss), or is the order of fetch blocks.
 *   not dispatched  up to dispatch: what held it there longest
 *   operand         up to ready: the producer whose result came last. The time of a load is divided
 *                   into that of a hit, waiting for a store, the page walk, waiting for a miss
 *                   register or a bus, and the rest of the miss, in this order: what comes after the
 *                   time of a hit is what no schedule could know.
 *   unit            up to issue: a unit is occupied, a store comes to a full write buffer, a load
 *                   too soon after a store, or a serialising instruction to a machine not empty
 *
 * After the last instruction of a run or region has issued, its cycles go on until the end (reason
 * END). Instructions that issued before their region began take no cycle of it.
 *
 * Edges: the source is the address of a control transfer, the target the one at which execution
 * went on, also if a branch was not taken; calls and returns are such edges. A system call is a
 * source, too: its target is where the guest goes on, mostly the next instruction. So is any other
 * instruction after which a signal handler or another thread runs, when that happens.
 *
 * On a machine that issues out of order there are only executions, edges and events.
 *
 * Invariants, checked at the end:
 *
 *   T1  The sum of all reasons is the sum of all H, which is the cycles of the run.
 *   T2  The sum of all executions is the number of instructions.
 *   T3  The sum of all edges is the number of executions of their sources.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/calc/analyses.h"
#include "analysis/calc/clock.h"
#include "analysis/calc/pairs.h"
#include "analysis/calc/transfer.h"
#include "analysis/profile/cells.h"
#include "isa/isa.h"
#include "store/store.h"

#define EVENTS (PSV_DR_L1 | PSV_DR_TLB | PSV_ST_L1 | PSV_ST_TLB | PSV_FL_MB)
/* Cycles and executions share a word; longer times go to the cells at once. */
#define LONG_TIME (EXEC_FULL / 2)

/* What is kept of an instruction, for those that wait for it. */
struct seen {
	uint64_t po; /* 0: none */
	uint64_t pc;
	int64_t issue, complete;
	uint32_t flags;
	uint16_t lat_dmiss, lat_dtlb, lat_bus;
	uint8_t cls;
	bool store; /* waited for a store */
};

struct truth {
	struct clock clock;
	bool in_order;
	int64_t stages; /* from fetch to issue */
	int64_t hit;	/* cycles of a load that hits */

	int64_t last;	   /* issue of the last instruction seen */
	struct seen *seen; /* the last instructions, by po */
	size_t mask;	   /* of seen */
	struct seen none;  /* stands for the one before the first of a region */
	const struct seen *prev;

	struct cells cells; /* by pc: units: time at the head + executions, count: executions */
	struct execs execs;
	struct pairs reasons; /* but ISSUED, which is what is left; tag: enum head_reason */
	struct pairs edges;
	struct cells events; /* category: enum sampled_event */
	uint64_t insts, controls;
	uint64_t orphans; /* cycles of regions without instructions */
};

static bool truth_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct truth *t = state;
	t->in_order = meta->in_order;
	t->stages = (int64_t)meta->frontend_depth + 1;
	t->hit = meta->l1d_latency;
	t->mask = 1;
	while (t->mask < (uint64_t)meta->rob_entries - !!meta->rob_entries)
		t->mask = t->mask << 1 | 1;
	t->seen = x_calloc(t->mask + 1, sizeof(*t->seen));
	t->prev = &t->none;
	cells_init(&t->cells);
	cells_init(&t->events);
	execs_init(&t->execs, &t->cells, 0);
	pairs_init(&t->reasons);
	pairs_init(&t->edges);
	return true;
}

/* The stall of an instruction while its cycles are given reasons. */
struct stall {
	struct truth *t;
	const struct rec_inst *r;
	int64_t from; /* the first cycle without one */
	int64_t end;  /* the cycle in which it issues */
};

/* Gives the cycles before `until` that have no reason yet to this one. */
static void give(struct stall *s, int64_t until, unsigned reason, uint64_t producer)
{
	if (until > s->end)
		until = s->end;
	if (until <= s->from)
		return;
	pairs_add(&s->t->reasons, s->r->pc, reason, producer, (uint64_t)(until - s->from));
	s->from = until;
}

/* What fetch waited for before it looked up the line of r. */
static unsigned fetch_reason(const struct truth *t, const struct rec_inst *r)
{
	const uint32_t flags = t->prev->flags;
	/* It, or the instruction before, took a page fault or read too early, and was fetched
	 * again. */
	const bool again = r->flags & RI_REFETCH;
	const bool faulted = flags & RI_REFETCH && flags & (RI_LOAD | RI_STORE);
	if (again && r->psv & PSV_FL_MO)
		return REASON_OVERLAP;
	if ((again && r->psv & PSV_FL_EX) || (flags & RI_EXCEPTION && !faulted))
		return REASON_KERNEL;
	if (flags & RI_MISPREDICT)
		return REASON_REDIRECT;
	if (flags & RI_FLUSHES && !faulted)
		return REASON_SERIAL;
	if (flags & RI_BTB_MISS)
		return REASON_BUBBLE;
	/* The cache had no room for the request. */
	if (r->psv & PSV_DR_L1)
		return REASON_LINE;
	return r->psv & PSV_DR_TLB ? REASON_PAGE : REASON_FETCH;
}

static unsigned dispatch_reason(const struct rec_inst *r)
{
	switch (r->dispatch_stall) {
	case DISPATCH_SQ:
		return REASON_STORES;
	case DISPATCH_SERIAL:
		return REASON_SERIAL;
	case DISPATCH_OK:
	case DISPATCH_EMPTY:
		return REASON_GROUP;
	default:
		return REASON_WINDOW;
	}
}

/* The instruction so many before r; NULL if it has left too long ago. */
static const struct seen *before(const struct truth *t, const struct rec_inst *r, uint64_t distance)
{
	const struct seen *p = &t->seen[(r->po - distance) & t->mask];
	return distance && distance <= t->mask && p->po && p->po == r->po - distance ? p : NULL;
}

/* Gives the cycles before `until` to what the load p did in them. */
static void load_reasons(struct stall *s, const struct seen *p, int64_t until)
{
	const struct truth *t = s->t;
	const int64_t beyond = p->complete - p->issue - t->hit - p->lat_dmiss;
	const struct {
		int64_t cycles;
		unsigned reason;
	} parts[] = { { t->hit, REASON_EXECUTION },
		      { beyond > 0 ? beyond : 0, p->store ? REASON_OVERLAP : REASON_QUEUE },
		      { p->lat_dtlb, REASON_WALK },
		      { p->lat_bus, REASON_QUEUE } };
	int64_t at = p->issue;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		at += parts[i].cycles;
		give(s, at < until ? at : until, parts[i].reason, p->pc);
	}
	give(s, until, REASON_MISS, p->pc);
}

/* Gives the cycles before `ready` to the producer whose result came last. The last writer of the
 * destination is one, too. */
static void operand_reasons(struct stall *s, int64_t ready)
{
	const struct rec_inst *r = s->r;
	const struct seen *last = NULL;
	const uint32_t distances[] = { r->prod[0], r->prod[1], r->prod[2], r->prod_mem };
	bool store = false;
	if (s->from >= ready || s->from >= s->end)
		return;
	for (size_t k = 0; k < ARRAY_LEN(distances); k++) {
		const struct seen *p = before(s->t, r, distances[k]);
		if (p && p->complete <= ready && (!last || p->complete > last->complete)) {
			last = p;
			store = k == 3 && r->flags & RI_LOAD;
		}
	}
	if (!last || last->complete < s->from)
		give(s, ready, REASON_EXECUTION, 0);
	else if (store)
		give(s, ready, REASON_OVERLAP, last->pc);
	else if (last->flags & RI_LOAD)
		load_reasons(s, last, ready);
	else
		give(s, ready, REASON_EXECUTION, last->pc);
}

static bool is_divide(unsigned cls)
{
	return cls == CLASS_DIV || cls == CLASS_FDIV || cls == CLASS_FSQRT;
}

/* Whether p can have held up r, which had its operands: it occupies the unit, or is a store after
 * which a load must wait. */
static bool holds_unit(const struct seen *p, const struct rec_inst *r)
{
	if (r->cls == CLASS_FDIV || r->cls == CLASS_FSQRT)
		return p->cls == CLASS_FDIV || p->cls == CLASS_FSQRT;
	return p->cls == (r->cls == CLASS_LOAD ? CLASS_STORE : r->cls);
}

/* Gives what is left: it had its operands, and its unit or the write buffer did not take it. */
static void unit_reasons(struct stall *s)
{
	const struct rec_inst *r = s->r;
	const struct seen *p = NULL;
	if (s->from >= s->end)
		return;
	if (r->flags & RI_SERIAL || (r->cls == CLASS_STORE && r->psv & PSV_DR_SQ)) {
		give(s, s->end, r->flags & RI_SERIAL ? REASON_SERIAL : REASON_STORES, 0);
		return;
	}
	for (uint64_t d = 1; d <= s->t->mask && (p = before(s->t, r, d)) != NULL; d++)
		if (holds_unit(p, r))
			break;
	give(s, s->end,
	     r->cls == CLASS_MUL ? REASON_MULTIPLIER
	     : is_divide(r->cls) ? REASON_DIVIDER
				 : REASON_UNIT,
	     p ? p->pc : 0);
}

/* Gives every cycle between the issue of the instruction before and that of r its reason. */
static __attribute__((noinline)) void explain(struct truth *t, const struct rec_inst *r,
					      int64_t time)
{
	struct stall s = { t, r, t->last + 1, time };
	const int64_t fetched = clock_time(&t->clock, r->fetch) + t->stages;
	const int64_t line = fetched - r->lat_icache, page = line - r->lat_itlb;
	if (s.from < fetched) {
		give(&s, page, fetch_reason(t, r), 0);
		give(&s, line, REASON_PAGE, 0);
		give(&s, fetched, REASON_LINE, 0);
	}
	if (r->dispatch != STAMP_NONE)
		give(&s, clock_time(&t->clock, r->fetch + r->dispatch) + 1, dispatch_reason(r), 0);
	if (r->ready != STAMP_NONE)
		operand_reasons(&s, clock_time(&t->clock, r->fetch + r->ready));
	unit_reasons(&s);
}

static __attribute__((noinline)) void count_events(struct truth *t, const struct rec_inst *r)
{
	static const struct {
		uint32_t psv;
		unsigned event;
	} table[] = { { PSV_DR_L1, SAMPLED_IMISS },
		      { PSV_DR_TLB, SAMPLED_ITLB },
		      { PSV_ST_L1, SAMPLED_DMISS },
		      { PSV_ST_TLB, SAMPLED_DTLB },
		      { PSV_FL_MB, SAMPLED_BRANCHMP } };
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (r->psv & table[i].psv)
			cells_add(&t->events, cell_key(r->pc, 0, table[i].event), 0, 1);
}

/* A region is over: its last instruction gets the cycles that are left. */
static void end_region(struct truth *t, uint64_t end)
{
	const uint64_t left = end - (uint64_t)t->last;
	if (!t->in_order || (int64_t)left <= 0) {
		/* nothing is left */
	} else if (t->prev != &t->none) {
		cells_add(&t->cells, cell_key(t->prev->pc, 0, 0), left, 0);
		pairs_add(&t->reasons, t->prev->pc, REASON_END, 0, left);
	} else {
		t->orphans += left;
	}
	t->prev = &t->none;
	t->last = (int64_t)end;
	memset(t->seen, 0, (t->mask + 1) * sizeof(*t->seen));
}

/* Keeps what later instructions may wait for. */
static inline void keep(struct truth *t, const struct rec_inst *r)
{
	struct seen *n = &t->seen[r->po & t->mask];
	n->po = r->po;
	n->pc = r->pc;
	n->issue = t->last;
	n->complete = clock_time(&t->clock, r->fetch + r->complete);
	n->flags = r->flags;
	n->lat_dmiss = r->lat_dmiss;
	n->lat_dtlb = r->lat_dtlb;
	n->lat_bus = r->lat_bus;
	n->cls = r->cls;
	n->store = r->prod_mem != 0;
	t->prev = n;
}

/* The time that r spent at the head of the issue queue. */
static inline uint64_t head_time(struct truth *t, const struct rec_inst *r)
{
	const int64_t time = clock_time(&t->clock, r->fetch + r->issue);
	if (time <= t->last || r->issue == STAMP_NONE)
		return 0;
	const uint64_t head = (uint64_t)(time - t->last);
	if (head > 1)
		explain(t, r, time);
	t->last = time;
	return head;
}

static bool truth_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct truth *t = state;
	if (unlikely(clock_begins(&t->clock, insts, ninsts, cycles, ncycles)))
		end_region(t, t->clock.before);
	for (size_t i = 0; i < ninsts; i++) {
		const struct rec_inst *r = &insts[i];
		if (unlikely(!(r->flags & RI_COMMITTED)))
			continue;
		const uint64_t head = t->in_order ? head_time(t, r) : 0;
		t->insts++;
		if (likely(head < LONG_TIME))
			execs_add(&t->execs, r->pc, head + 1);
		else
			cells_add(&t->cells, cell_key(r->pc, 0, 0), head + 1, 1);
		if (unlikely(r->psv & EVENTS))
			count_events(t, r);
		if (ends_block(r)) {
			pairs_add(&t->edges, r->pc, 0, r->target, 1);
			t->controls++;
		}
		keep(t, r);
	}
	clock_pass(&t->clock, cycles, ncycles);
	return true;
}

/* What the tables hold, to be checked against the run. */
struct sums {
	uint64_t executions, head, reasons, edges;
};

static bool put_edges(struct truth *t, struct store *store, struct sums *sum, struct err *e)
{
	struct pair *all = pairs_sorted(&t->edges);
	bool ok = true;
	for (size_t i = 0; ok && i < t->edges.used; i++) {
		ok = store_insert(store, e, "calc_truth_edge", "iii", (int64_t)pair_pc(&all[i]),
				  (int64_t)all[i].other, (int64_t)all[i].count);
		sum->edges += all[i].count;
	}
	free(all);
	return ok;
}

static bool put_events(struct truth *t, struct store *store, struct err *e)
{
	struct cell *all = cells_sorted(&t->events);
	bool ok = true;
	for (size_t i = 0; ok && i < t->events.used; i++)
		ok = store_insert(store, e, "calc_truth_event", "iii", (int64_t)cell_pc(&all[i]),
				  (int64_t)cell_category(&all[i]), (int64_t)all[i].count);
	free(all);
	return ok;
}

static bool put_reason(struct store *store, struct sums *sum, uint64_t pc, unsigned reason,
		       uint64_t producer, uint64_t cycles, struct err *e)
{
	sum->reasons += cycles;
	return store_insert(store, e, "calc_truth_reason", "iiii", (int64_t)pc, (int64_t)reason,
			    (int64_t)producer, (int64_t)cycles);
}

/* Executions, and time with its reasons. Both tables are sorted by pc. */
static bool put_time(struct truth *t, struct store *store, struct sums *sum, struct err *e)
{
	struct cell *all = cells_sorted(&t->cells);
	struct pair *reasons = pairs_sorted(&t->reasons);
	size_t k = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < t->cells.used; i++) {
		const uint64_t pc = cell_pc(&all[i]), head = all[i].units - all[i].count;
		uint64_t issued = head;
		for (; ok && k < t->reasons.used && pair_pc(&reasons[k]) == pc; k++) {
			issued -= reasons[k].count;
			ok = put_reason(store, sum, pc, pair_tag(&reasons[k]), reasons[k].other,
					reasons[k].count, e);
		}
		if (ok && issued)
			ok = put_reason(store, sum, pc, REASON_ISSUED, 0, issued, e);
		ok = ok &&
		     store_insert(store, e, "calc_truth", "iii", (int64_t)pc, (int64_t)all[i].count,
				  t->in_order ? (int64_t)head : (int64_t)0);
		sum->executions += all[i].count;
		sum->head += head;
	}
	free(all);
	free(reasons);
	return ok;
}

static bool truth_finish(void *state, struct store *store, struct err *e)
{
	struct truth *t = state;
	const uint64_t cycles = clock_now(&t->clock);
	struct sums sum = { 0 };
	end_region(t, cycles);
	execs_move(&t->execs);
	if (!store)
		return true;
	if (!put_time(t, store, &sum, e) || !put_edges(t, store, &sum, e) ||
	    !put_events(t, store, e))
		return false;
	const uint64_t counted = t->in_order ? cycles - t->orphans : 0;
	if (sum.executions != t->insts || sum.edges != t->controls || sum.head != counted ||
	    sum.reasons != counted)
		return err_set(e,
			       "%" PRIu64 " cycles, of which %" PRIu64
			       " have an instruction and %" PRIu64 " a reason; %" PRIu64
			       " instructions, of which %" PRIu64
			       " are counted; these records contradict themselves",
			       counted, sum.head, sum.reasons, t->insts, sum.executions);
	return true;
}

static void truth_free(void *state)
{
	struct truth *t = state;
	free(t->seen);
	cells_free(&t->cells);
	cells_free(&t->events);
	execs_free(&t->execs);
	pairs_free(&t->reasons);
	pairs_free(&t->edges);
}

const struct analysis truth_analysis = {
	.name = "truth",
	.summary = "exact executions, edges and events, and the reason of every cycle (in order)",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_PRODUCERS | WANT_LATENCIES | WANT_COUNTS,
	.tables = (const struct analysis_table[]){ { "calc_truth", "head" }, { NULL, NULL } },
	.state_size = sizeof(struct truth),
	.start = truth_start,
	.batch = truth_batch,
	.finish = truth_finish,
	.free = truth_free,
};
