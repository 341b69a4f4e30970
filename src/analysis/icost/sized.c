/* SPDX-License-Identifier: MIT */
/*
 * The rows of edges.def for one machine, with the limits that edges show only where they were reached in
 * the run. A larger part lets others become the limit, and a smaller one is a limit more often, so every
 * lane models all of them:
 *
 *      queues, registers freed in order    the commit of the instruction that had the entry
 *      issue queues, unresolved branches,  an entry is free when all but n - 1 of those that are older have
 *      MSHRs, units that are not pipelined left: at the n-th latest of their times
 *      widths, ports, pipelined units      a calendar with the slots of every cycle; the oldest come first
 *
 * In the machine as it is, none of these is later than the run was, since the run kept to them.
 *
 * Assumed: what an instruction waited for beyond the edges (residuals, contention with wrong paths) stays,
 * unless it was for the part that is larger. Wrong paths are those of the run.
 */
#include "analysis/icost/sized.h"

#include <stdlib.h>
#include <string.h>

#include "util/util.h"

#define CALENDAR 1024 /* cycles; one that is as far ahead as this many forgets an older one */
#define PAST_D	 1024
#define TIMES	 2048 /* entries of the largest part, twice as large */
#define USE_ALL	 3    /* columns of the calendar: three queues, all, kinds of units */
#define USE_UNIT 4
#define USES	 (USE_UNIT + UNIT_COUNT)
#define CALM	 2 /* store queues' lengths without a stall after which stores drain at once again */

_Static_assert(PAST_D > GRAPH_REACH + 2 * GRAPH_GRAIN, "what GRAIN_D reads");

/* The last n times that were added, in their order. */
struct fifo {
	uint32_t n, at;
	uint64_t time[TIMES];
};

struct sized {
	struct sized_machine m;
	struct graph_config config; /* with the present widths */
	struct sized_limits limits;
	struct sized_change change;
	bool larger; /* the changed part is */
	uint64_t count;
	uint64_t last[NODES]; /* of the last instruction; F: of its packet */
	uint64_t slot[GRAPH_SLOTS];
	uint64_t d[PAST_D];
	uint64_t *c, *e; /* rings by instruction number */
	uint64_t ring;	 /* entries of them */
	bool counts[GRAPH_MASKS];
	struct fifo loads, stores, ints, fps, packets;
	struct held queue[3], branches, mshrs, busy;
	uint32_t width[USES]; /* operations a cycle */
	struct {
		uint32_t cycle;
		uint8_t used[USES];
	} calendar[CALENDAR];
	uint32_t in_packet; /* instructions of the packet so far */
	bool joined;	    /* the packet joined the one before (twice as wide a fetch) */
	uint32_t drain;	    /* cycles that stores took lately from commit until they were written */
	uint32_t calm;	    /* stores since one found the store queue full */
};

/* ---- entries ---- */

void held_begin(struct held *h, uint32_t n)
{
	h->n = n < TIMES ? n : 0;
	h->first = 0;
	if (!h->time)
		h->time = x_calloc(TIMES, sizeof(*h->time));
	memset(h->time, 0, h->n * sizeof(*h->time));
}

uint64_t held_least(const struct held *h)
{
	return h->n ? h->time[h->first] : 0;
}

void held_add(struct held *h, uint64_t time)
{
	if (!h->n || time <= h->time[h->first])
		return;
	uint32_t at = h->first;
	h->first = at + 1 < h->n ? at + 1 : 0;
	for (uint32_t left = h->n - 1; left; left--) {
		const uint32_t before = at ? at - 1 : h->n - 1;
		if (h->time[before] <= time)
			break;
		h->time[at] = h->time[before];
		at = before;
	}
	h->time[at] = time;
}

static void fifo_begin(struct fifo *f, uint32_t n)
{
	f->n = n < TIMES ? n : 0;
	f->at = 0;
	memset(f->time, 0, f->n * sizeof(*f->time));
}

static uint64_t fifo_oldest(const struct fifo *f)
{
	return f->n ? f->time[f->at] : 0;
}

static void fifo_add(struct fifo *f, uint64_t time)
{
	if (!f->n)
		return;
	f->time[f->at] = time;
	f->at = f->at + 1 < f->n ? f->at + 1 : 0;
}

/* ---- the machine ---- */

static const uint8_t unit_resource[UNIT_COUNT] = {
	[UNIT_ALU] = RESOURCE_ALU,     [UNIT_BRANCH] = RESOURCE_BRANCH, [UNIT_MUL] = RESOURCE_MUL,
	[UNIT_DIV] = RESOURCE_DIV,     [UNIT_FADD] = RESOURCE_FADD,	[UNIT_FMUL] = RESOURCE_FMUL,
	[UNIT_FDIV] = RESOURCE_FDIV,   [UNIT_FSQRT] = RESOURCE_FSQRT,	[UNIT_LOAD] = RESOURCE_LOAD,
	[UNIT_STORE] = RESOURCE_STORE,
};

struct sized *sized_new(const struct sized_machine *m)
{
	struct sized *l = x_calloc(1, sizeof(*l));
	l->m = *m;
	for (unsigned k = 0; k < GRAPH_MASKS; k++)
		l->counts[k] = graph_counts(k, 0);
	l->ring = 64;
	while (l->ring <= max_u64(2 * (uint64_t)m->config.window, m->config.past) + 64)
		l->ring *= 2;
	l->c = x_calloc(l->ring, sizeof(*l->c));
	l->e = x_calloc(l->ring, sizeof(*l->e));
	sized_begin(l, (struct sized_change){ .what = RESOURCES });
	return l;
}

void sized_free(struct sized *l)
{
	if (!l)
		return;
	for (unsigned k = 0; k < 3; k++)
		free(l->queue[k].time);
	free(l->branches.time);
	free(l->mshrs.time);
	free(l->busy.time);
	free(l->c);
	free(l->e);
	free(l);
}

static bool is(const struct sized *l, enum resource what)
{
	return l->change.what == what;
}

static bool enlarges(const struct sized *l, enum resource what)
{
	return l->change.what == what && l->larger;
}

/* Entries of a queue that as large a reorder buffer never fills need not be counted. */
static uint32_t binding(const struct sized *l, enum resource what)
{
	return l->limits.of[what] < l->limits.of[RESOURCE_ROB] ? l->limits.of[what] : 0;
}

static void begin_widths(struct sized *l)
{
	const uint32_t *of = l->limits.of;
	const bool unified = l->m.unified;

	l->width[0] = unified ? of[RESOURCE_ISSUE] : of[RESOURCE_INT_ISSUE];
	l->width[1] = unified ? SIZED_NONE : of[RESOURCE_MEM_ISSUE];
	l->width[2] = unified ? SIZED_NONE : of[RESOURCE_FP_ISSUE];
	l->width[USE_ALL] = of[RESOURCE_ISSUE];
	for (unsigned k = 0; k < UNIT_COUNT; k++)
		l->width[USE_UNIT + k] = l->m.pipelined[k] ? of[unit_resource[k]] : SIZED_NONE;
	for (unsigned k = 0; k < USES; k++)
		if (is(l, RESOURCE_ISSUE_BW))
			l->width[k] = SIZED_NONE;
	l->config.fetch_width = of[RESOURCE_DECODE];
	l->config.commit_width = of[RESOURCE_COMMIT];
	if (is(l, RESOURCE_FETCH_BW))
		l->config.fetch_width = IDEAL_BW_WIDTH;
	if (is(l, RESOURCE_COMMIT_BW))
		l->config.commit_width = IDEAL_BW_WIDTH;
}

static void begin_entries(struct sized *l)
{
	const uint32_t *of = l->limits.of;
	const bool unified = l->m.unified;

	fifo_begin(&l->loads, binding(l, RESOURCE_LQ));
	/* stores keep their entries beyond the reorder buffer */
	fifo_begin(&l->stores, of[RESOURCE_SQ]);
	fifo_begin(&l->ints, of[RESOURCE_INT_REGS] == SIZED_NONE ? 0 : of[RESOURCE_INT_REGS] - 32);
	fifo_begin(&l->fps, of[RESOURCE_FP_REGS] == SIZED_NONE ? 0 : of[RESOURCE_FP_REGS] - 32);
	fifo_begin(&l->packets, of[RESOURCE_TARGETS] == SIZED_NONE ? 0 : of[RESOURCE_TARGETS]);
	held_begin(&l->queue[0], binding(l, unified ? RESOURCE_QUEUE : RESOURCE_INT_QUEUE));
	held_begin(&l->queue[1], unified ? 0 : binding(l, RESOURCE_MEM_QUEUE));
	held_begin(&l->queue[2], unified ? 0 : binding(l, RESOURCE_FP_QUEUE));
	held_begin(&l->branches, binding(l, RESOURCE_BRANCHES));
	held_begin(&l->mshrs, is(l, RESOURCE_MSHRS) ? of[RESOURCE_MSHRS] : 0);
	held_begin(&l->busy, 0);
	for (unsigned k = 0; k < UNIT_COUNT; k++)
		if (is(l, unit_resource[k]) && !l->m.pipelined[k])
			held_begin(&l->busy, of[unit_resource[k]]);
}

void sized_begin(struct sized *l, struct sized_change change)
{
	l->config = l->m.config;
	l->limits = l->m.limits;
	l->change = change;
	l->larger =
	    change.what < RESOURCES && (resource_params[change.what].kind == RESOURCE_IS_LIMIT ||
					change.size > l->limits.of[change.what]);
	if (change.what < RESOURCES)
		l->limits.of[change.what] = change.size;
	begin_widths(l);
	begin_entries(l);
	memset(l->last, 0, sizeof(l->last));
	memset(l->slot, 0, sizeof(l->slot));
	memset(l->d, 0, sizeof(l->d));
	memset(l->c, 0, l->ring * sizeof(*l->c));
	memset(l->e, 0, l->ring * sizeof(*l->e));
	memset(l->calendar, 0, sizeof(l->calendar));
	/* numbers start so high that no distance leads below zero; D is never before F + depth */
	l->count = max_u64(l->ring, PAST_D);
	l->last[NODE_D] = l->config.depth;
	l->in_packet = l->drain = l->calm = 0;
	l->joined = false;
}

uint64_t sized_commit(const struct sized *l)
{
	return l->last[NODE_C];
}

/* ---- an instruction's edges in the changed machine ---- */

static bool is_data_miss(unsigned category)
{
	return category == CAT_DMISS || category == CAT_BW_DMISS || category == CAT_BMISP_DMISS ||
	       (category >= CAT_REACH_DMISS && category <= CAT_REACH_BOTH_DMISS);
}

/* The miss of a load: no more than `most` cycles. */
static void shorten_miss(struct graph_inst *in, uint32_t most)
{
	for (unsigned k = 0; k < GRAPH_EP_PARTS; k++) {
		struct graph_part *p = &in->ep_part[k];
		if (!is_data_miss(p->category))
			continue;
		p->cycles = (uint16_t)min_u64(p->cycles, most);
		most -= p->cycles;
	}
	in->mshr = 0;
}

/* Whether the instruction needs the part that is larger to execute. */
static bool issues_by(const struct sized *l, const struct sized_inst *a)
{
	switch (l->change.what) {
	case RESOURCE_ISSUE_BW:
		return true;
	/* what a unit that is not pipelined holds up does not wait for an issue slot */
	case RESOURCE_ISSUE:
		return l->m.pipelined[a->unit];
	case RESOURCE_INT_ISSUE:
		return l->m.pipelined[a->unit] && a->queue == 0;
	case RESOURCE_MEM_ISSUE:
		return l->m.pipelined[a->unit] && a->queue == 1;
	case RESOURCE_FP_ISSUE:
		return l->m.pipelined[a->unit] && a->queue == 2;
	default:
		return is(l, unit_resource[a->unit]);
	}
}

/* Whether it was the part that is larger which held the instruction up at dispatch. */
static bool held_up_by(const struct sized *l, const struct sized_inst *a)
{
	switch (a->stall) {
	case DISPATCH_ROB:
		return is(l, RESOURCE_ROB);
	case DISPATCH_IQ:
		return is(l, l->m.unified ? RESOURCE_QUEUE
					  : (enum resource)(RESOURCE_INT_QUEUE + a->queue));
	case DISPATCH_LQ:
		return is(l, RESOURCE_LQ);
	case DISPATCH_SQ:
		return is(l, RESOURCE_SQ);
	case DISPATCH_REGS:
		return is(l, a->dst >= 32 ? RESOURCE_FP_REGS : RESOURCE_INT_REGS);
	case DISPATCH_BRANCHES:
		return is(l, RESOURCE_BRANCHES);
	default:
		return false;
	}
}

static void change_fetch(const struct sized *l, const struct sized_inst *a, struct graph_inst *in)
{
	const struct sized_limits *was = &l->m.limits;
	const int64_t room =
	    ((int64_t)l->limits.of[RESOURCE_BUFFER] - was->of[RESOURCE_BUFFER]) +
	    ((int64_t)l->config.fetch_width - l->m.config.fetch_width) * l->m.decode_depth;

	if (in->buffer) {
		const int64_t x = (int64_t)in->buffer + room;
		in->buffer = (uint16_t)(x < 1 ? 1 : min_u64((uint64_t)x, GRAPH_REACH));
	}
	if (is(l, RESOURCE_TARGETS))
		in->targets = 0;
	if (is(l, RESOURCE_FETCH_BW))
		in->buffer = in->targets = 0;
	if (is(l, RESOURCE_FETCH_BW) &&
	    (in->step[0].category == CAT_BW || in->step[0].category == CAT_BW_BMISP ||
	     in->step[0].category == CAT_BW_IMISS))
		in->step[0].cycles = 0;
	if (in->fetch[0].category == CAT_IMISS || in->fetch[0].category == CAT_BMISP_IMISS) {
		if (is(l, RESOURCE_L1I) && a->hits & SIZED_L1I)
			in->fetch[0].cycles = 0;
		if (is(l, RESOURCE_L2) && a->hits & SIZED_L2I)
			in->fetch[0].cycles = (uint16_t)min_u64(in->fetch[0].cycles, l->m.l2_extra);
	}
}

static void change_issue(const struct sized *l, const struct sized_inst *a, struct graph_inst *in)
{
	const bool slow = !l->m.pipelined[a->unit] && is(l, unit_resource[a->unit]);

	if (l->larger && issues_by(l, a)) {
		in->re.cycles = 0;
		in->flags &= (uint8_t)~GRAPH_PORT;
	}
	if (slow) /* `busy` says when a unit is free */
		in->flags &= (uint8_t)~GRAPH_PORT;
	if (is(l, RESOURCE_VALUES)) {
		unsigned n = 0;
		for (unsigned k = 0; k < GRAPH_SOURCES; k++)
			if (in->src[k] >= GRAPH_SLOT_POOL)
				in->src[n++] = in->src[k];
		for (; n < GRAPH_SOURCES; n++)
			in->src[n] = 0;
		in->data = 0;
	}
	if (is(l, RESOURCE_L1D) && a->hits & SIZED_L1D)
		shorten_miss(in, 0);
	if (is(l, RESOURCE_L2) && a->hits & SIZED_L2D)
		shorten_miss(in, l->m.l2_extra);
}

static void change_edges(struct sized *l, const struct sized_inst *a, struct graph_inst *in)
{
	in->cd[0] = (uint16_t)l->limits.of[RESOURCE_ROB];
	if (l->larger && held_up_by(l, a)) {
		in->iq = 0;
		if (in->dd.category == CAT_WIN)
			in->dd.cycles = 0;
	}
	change_fetch(l, a, in);
	change_issue(l, a, in);
}

/* ---- limits beyond the edges ---- */

/* The first cycle from t on in which the operation has its slots and its unit, which it takes. */
static uint64_t issue(struct sized *l, const struct sized_inst *a, uint64_t t)
{
	const unsigned use[] = { a->queue, USE_ALL, USE_UNIT + a->unit };

	if (is(l, RESOURCE_ISSUE_BW))
		return t;
	for (;; t++) {
		const uint32_t cycle = (uint32_t)t;
		uint8_t *used = l->calendar[cycle % CALENDAR].used;
		bool room = true;

		if (l->calendar[cycle % CALENDAR].cycle != cycle) {
			l->calendar[cycle % CALENDAR].cycle = cycle;
			memset(used, 0, USES);
		}
		for (unsigned k = 0; k < ARRAY_LEN(use); k++)
			room = room && used[use[k]] < l->width[use[k]];
		if (!room)
			continue;
		for (unsigned k = 0; k < ARRAY_LEN(use); k++)
			used[use[k]]++;
		return t;
	}
}

/* When a unit that is not pipelined is free, if their number is what changed. */
static uint64_t unit_free(const struct sized *l, const struct sized_inst *a)
{
	return is(l, unit_resource[a->unit]) ? held_least(&l->busy) : 0;
}

static uint64_t entry_free(struct sized *l, const struct sized_inst *a, const struct graph_inst *in,
			   uint64_t t)
{
	if (a->load)
		t = max_u64(t, fifo_oldest(&l->loads));
	if (a->dst >= 32)
		t = max_u64(t, fifo_oldest(&l->fps));
	else if (a->dst)
		t = max_u64(t, fifo_oldest(&l->ints));
	if (a->store && l->stores.n) {
		const uint64_t was = fifo_oldest(&l->stores);
		l->calm++;
		if (a->stall == DISPATCH_SQ && in->cd_wait.cycles) {
			l->drain = in->cd_wait.cycles;
			l->calm = 0;
		} else if (l->calm > CALM * l->m.limits.of[RESOURCE_SQ]) {
			l->drain = 0;
		}
		/* In the real queue an entry was free in time, unless this store was seen to wait. */
		t = max_u64(t, was + (is(l, RESOURCE_SQ) ? (l->drain ? l->drain : was != 0)
							 : in->cd_wait.cycles));
	}
	if (a->branch)
		t = max_u64(t, held_least(&l->branches));
	return max_u64(t, held_least(&l->queue[a->queue]));
}

static inline uint64_t part(const struct sized *l, struct graph_part p)
{
	return l->counts[p.category] ? p.cycles : 0;
}

static inline uint64_t parts(const struct sized *l, const struct graph_part *p, unsigned n)
{
	uint64_t sum = 0;
	for (unsigned k = 0; k < n; k++)
		sum += part(l, p[k]);
	return sum;
}

static inline uint64_t execution(const struct sized *l, const struct graph_inst *in)
{
	uint64_t sum = in->ep;
	for (unsigned k = 0; k < GRAPH_EP_PARTS; k++) /* shorten_miss leaves gaps */
		sum += part(l, in->ep_part[k]);
	return sum;
}

/* A miss that brings its line needs an MSHR from its first cycle on, but for the time it waited for one. */
static uint64_t line_comes(struct sized *l, const struct graph_inst *in, uint64_t t)
{
	uint64_t latency = execution(l, in);
	bool misses = false;

	if (!l->mshrs.n || !in->mem || in->line)
		return t;
	for (unsigned k = 0; k < GRAPH_EP_PARTS; k++) {
		misses = misses || (in->ep_part[k].cycles && is_data_miss(in->ep_part[k].category));
		if (in->ep_part[k].category == CAT_BW_DMISS)
			latency -= min_u64(latency, in->ep_part[k].cycles);
	}
	if (!misses)
		return t;
	const uint64_t room = held_least(&l->mshrs);
	t = max_u64(t, room ? room + latency : 0);
	held_add(&l->mshrs, t);
	return t;
}

#define CYCLES_NONE	      0
#define CYCLES_ONE	      1
#define CYCLES_CYCLES(x)      (x)
#define CYCLES_MACHINE(m)     g->m
#define CYCLES_IN_PART(x)     part(l, x)
#define CYCLES_IN_PARTS(x, n) parts(l, x, n)
#define CYCLES_EXECUTION      execution(l, in)

#define THERE_NEVER   true
#define THERE_BW      true
#define THERE_WIN     true
#define THERE_BW_WIN  true
#define THERE_NOT_WIN false
#define THERE_BY(c)   l->counts[c]

/* A distance that leads before the first instruction finds time 0, as in the graph. */
#define BACK_C(x)      l->c[(i - (x)) & (l->ring - 1)]
#define BACK_E(x)      l->e[(i - (x)) & (l->ring - 1)]
#define NEXT_D(x)      l->d[(i - (x)) % PAST_D] + 1
#define GRAIN_D(x)     l->d[(i - (x)) % PAST_D]
#define GRAIN_C(x)     0
#define SLOT(x)	       l->slot[x]
#define HERE(n)	       now[NODE_##n]
#define BEFORE(n)      last[NODE_##n]
#define OWN_PACKET(n)  now[NODE_##n]
#define LAST_PACKET(n) last[NODE_##n]

/* How long a load that is ready at `since` waits for a line that comes at `there`: see LIMITED. */
static inline uint64_t limited(uint64_t there, uint64_t since, uint64_t limit, bool forward)
{
	const uint64_t wait = there > since ? there - since : 0;
	return since + (wait <= limit ? wait : forward ? 0 : limit);
}

/* A packet of a narrower fetch ends within one of the run's. */
static bool ends_packet(struct sized *l, const struct graph_inst *in)
{
	if (in->flags & GRAPH_HEAD)
		l->in_packet = 0;
	const bool ends = is(l, RESOURCE_FETCH) && l->in_packet && !l->larger &&
			  l->in_packet % l->limits.of[RESOURCE_FETCH] == 0;
	l->in_packet++;
	return ends;
}

/* Twice as wide a fetch takes a packet in the cycle of the one before, if that was of full width and has
 * not done so itself. */
static void join_packets(struct sized *l, uint32_t had, struct graph_inst *in)
{
	if (!enlarges(l, RESOURCE_FETCH) || !(in->flags & GRAPH_HEAD))
		return;
	l->joined =
	    !l->joined && in->step[0].category == CAT_BW && had == l->m.limits.of[RESOURCE_FETCH];
	if (l->joined)
		in->step[0].cycles = 0;
}

static void leave(struct sized *l, const struct sized_inst *a, const struct graph_inst *in,
		  const uint64_t now[NODES])
{
	held_add(&l->queue[a->queue], now[NODE_E]);
	if (a->branch)
		held_add(&l->branches, now[NODE_P]);
	if (is(l, unit_resource[a->unit]))
		held_add(&l->busy, now[NODE_E] + a->latency);
	if (a->load)
		fifo_add(&l->loads, now[NODE_C]);
	if (a->store)
		fifo_add(&l->stores, now[NODE_C]);
	if (a->dst >= 32)
		fifo_add(&l->fps, now[NODE_C]);
	else if (a->dst)
		fifo_add(&l->ints, now[NODE_C]);
	if (in->flags & GRAPH_HEAD)
		fifo_add(&l->packets, now[NODE_C]);
	if (in->brings && l->mshrs.n)
		held_add(&l->mshrs, now[NODE_C] + in->fill);
}

void sized_next(struct sized *l, const struct graph_inst *real, const struct sized_inst *a)
{
	const struct graph_config *const g = &l->config;
	const uint64_t i = l->count++, *const last = l->last;
	const uint32_t had = l->in_packet;
	struct graph_inst copy = *real, *const in = &copy;
	uint64_t now[NODES];
	const bool ends = ends_packet(l, in);

	change_edges(l, a, in);
	join_packets(l, had, in);
	in->cd_wait.cycles = 0;
	now[NODE_F] = last[NODE_F] + ends;
	now[NODE_V] = last[NODE_V];
#define NODE(n)                                                                                    \
	if (HAS_##n) {                                                                             \
		uint64_t t = 0;
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	if (THERE_##removed && HOLDS_##when)                                                       \
		t = max_u64(t, at + CYCLES_##latency);
#define NEAR(name, n, at, latency, removed, when, blame)                                           \
	EDGE(name, n, at, latency, removed, when, blame)
#define LIMITED(name, n, at, latency, removed, when, blame, limit, forward)                        \
	if (THERE_##removed && HOLDS_##when)                                                       \
		t = limited(at + CYCLES_##latency, t, limit, forward);
#define OVERTAKES(name, n, at, when)                                                               \
	if (HOLDS_##when && t < at) {                                                              \
		const uint64_t oldest = max_u64(last[NODE_C] + 1, t + CYCLES_EXECUTION),           \
			       again = oldest + g->order_flush;                                    \
		now[NODE_F] = max_u64(now[NODE_F], again);                                         \
		now[NODE_D] = max_u64(now[NODE_D], again + g->depth);                              \
		t = max_u64(t, again + g->depth + g->dispatch_latency);                            \
	}
#define OWN(n, latency, when)	     t += CYCLES_##latency;
#define RESULT(to, n, latency, when) l->slot[in->to] = t + CYCLES_##latency;
#define END(n)                                                                                     \
	END_##n now[NODE_##n] = t;                                                                 \
	}
#define END_F                                                                                      \
	if (is(l, RESOURCE_TARGETS))                                                               \
		t = max_u64(t, fifo_oldest(&l->packets));
#define END_D t = entry_free(l, a, real, t);
#define END_V
#define END_R
#define END_E                                                                                      \
	t = max_u64(t, unit_free(l, a));                                                           \
	t = issue(l, a, t);
#define END_B
#define END_P t = line_comes(l, in, t);
#define END_C
#include "analysis/icost/edges.def"
	l->slot[0] = 0; /* the slot of what nobody wants */
	l->d[i % PAST_D] = now[NODE_D];
	l->c[i & (l->ring - 1)] = now[NODE_C];
	l->e[i & (l->ring - 1)] = now[NODE_E];
	leave(l, a, in, now);
	memcpy(l->last, now, sizeof(now));
}
