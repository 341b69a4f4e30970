/* SPDX-License-Identifier: MIT */
/*
 * The static schedule: how long each instruction is at the head of the issue queue if nothing dynamic
 * holds it up (dcpi1997 section 6.1.3). M is its issue less its predecessor's.
 *
 * The in-order machine of docs/model.md, without its dynamic events: every fetch and load hits, every
 * branch is predicted, the write buffer has room, no load meets a store in it. What is left decides
 * when instruction i issues:
 *
 *   fetch     a packet per cycle: from one aligned block, up to the width, to a taken transfer
 *   dispatch  fetch.depth + decode.depth cycles later, in order, up to its width; with an entry of the
 *             reorder buffer and the load queue; a serialising instruction alone, once all older have
 *             committed, and none after it before it has committed
 *   issue     a cycle after dispatch, in order, up to the width, within one issue group; when the
 *             registers that it reads, and the last writer of the one that it writes, are done, and
 *             its unit is free; one that drains once all older stores are written
 *   commit    in order, up to the width, from the cycle in which it is done
 *
 * The paper ignores what comes before a block. Here it begins, for each edge into it, with what the
 * block before it has left behind (struct tail): that of its entry by its own heaviest edge, and so
 * on. Weights are the estimated frequencies of edges. What was called, and what called, is not known:
 * after a call and at an entry all registers are ready.
 *
 * Not modelled: the fetch buffer and the fetch-target queue, which only limit how far fetch runs
 * ahead; issue queues, rename registers and branch tags smaller than the reorder buffer.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "calc/calc_int.h"
#include "calc/carried.h"

#define ORIGIN	  (1u << 20) /* cycle of a block's beginning: what came before has a positive time */
#define ROB_MAX	  64	     /* larger ones never fill up in a schedule */
#define UNITS_MAX 4	     /* units of a kind that are not pipelined; more are not counted */
#define PENDING	  24	     /* registers and units that a block can leave behind */
#define EDGES_MAX 8	     /* heaviest edges into a block that are looked at */
#define NOBODY	  UINT32_MAX
#define SETTLED                                                                                    \
	0.01 /* a share of a block's entries that changed by less leaves its schedule as it was */

enum need_flag {
	OP_LOADS = 1 << 0,
	OP_STORES = 1 << 1,
	OP_SERIAL = 1 << 2,   /* waits for all older to commit, and all younger for it */
	OP_DRAINS = 1 << 3,   /* waits for all older stores to be written */
	OP_REFETCH = 1 << 4,  /* what follows is fetched when it has committed */
	OP_TRAPS = 1 << 5,    /* enters the kernel */
	OP_LEAVES = 1 << 6,   /* an unconditional transfer */
	OP_NO_WAKEUP = 1 << 7 /* its result is not late by window.wakeup */
};

/* What the schedule has to know of an instruction. */
struct need {
	uint8_t unit, dst, src[3], flags;
	bool pipelined; /* its unit takes another operation in the next cycle */
	bool occupies;	/* its unit is of a kind that does not always */
	uint16_t latency, busy;
};

/* What a block leaves behind; times are relative to the issue of its last instruction. */
struct tail {
	uint64_t group, fetch_end;
	uint32_t serial_by, store_by;
	int16_t last_commit, drained, dispatch, dispatch_from, fetch;
	uint8_t npending, ncommits;
	uint8_t commits, dispatched, fetched, slots; /* so many in the last such cycle */
	uint8_t used[UNIT_COUNT];
	uint32_t stores; /* bit k: a store issued k cycles ago */
	bool ended;	 /* the issue group is over */
	bool valid;
	struct pending {
		uint32_t by;
		int16_t time;
		uint8_t place; /* register, or 64 + kind of unit x UNITS_MAX + its number */
	} pending[PENDING];
	int16_t commit[ROB_MAX]; /* of instructions that have not committed, oldest first */
};

/* The machine in the middle of a block. */
struct state {
	uint32_t ready[64];
	uint32_t busy[UNIT_COUNT][UNITS_MAX];
	uint64_t written; /* bits: registers that ready says something of */
	uint32_t units;	  /* bits: kinds of units that busy says something of */
	uint32_t ninsts, nloads;
	uint32_t now; /* the last issue */
	uint64_t group, fetch_end;
	uint32_t serial_by, store_by;
	uint32_t last_commit, drained, dispatch, dispatch_from, fetch;
	uint32_t commits, dispatched, fetched, slots;
	uint8_t used[UNIT_COUNT];
	uint32_t stores;
	bool ended;
	/* Not cleared when a block begins: what is above, or ninsts and nloads, say what counts. */
	uint32_t writer[64], user[UNIT_COUNT][UNITS_MAX], last_user[UNIT_COUNT];
	uint32_t commit[ROB_MAX], committer[ROB_MAX]; /* ring, by number of the instruction */
	uint32_t load_commit[ROB_MAX];		      /* ring, by number of the load */
};

struct calc_scheduler {
	const struct machine *m;
	const struct calc_proc *p;
	struct need *ops;
	struct tail *tails; /* by block */
	double *weights;    /* by edge */
	uint32_t *heaviest; /* by block: the heaviest edge into it; NOBODY: from outside */
	bool *again;	    /* by block: what it leaves behind was looked at twice */
	bool *scheduled;    /* by block: its schedule was made with its tail */
	uint32_t *versions; /* by block: of its tail */
	struct made {
		uint32_t edge, version;
	} * made; /* by block: what its tail was made behind, and of which version of that one's */
	bool tailed;	      /* tails say what blocks leave behind */
	struct calc_inst *at; /* where one block's schedule is put: room for the longest */
	uint32_t rob, load_queue, dispatch_width;
	uint64_t group_mask; /* bits of an address that name its issue group; 0: no groups */
};

static void set_policy(struct need *op, uint32_t policy, bool drains)
{
	if (policy != SERIAL_NONE)
		op->flags |= (uint8_t)(OP_SERIAL | (drains ? OP_DRAINS : 0));
	if (policy == SERIAL_FLUSH)
		op->flags |= OP_REFETCH;
}

static struct need op_of(const struct machine *m, const struct carried_op *i)
{
	const struct unit_use *use = &i->use;
	const struct inst_operands *o = &i->operands;
	const bool piped = units_pipelined(m, use->unit);
	struct need op = { .unit = use->unit,
			   .dst = o->dst,
			   .src = { o->src[0], o->src[1], o->src[2] },
			   .pipelined = piped && use->busy <= 1,
			   .occupies = !piped,
			   .latency = (uint16_t)use->latency,
			   .busy = (uint16_t)use->busy };

	switch ((enum op_class)i->cls) {
	case CLASS_LOAD:
		op.flags |= OP_LOADS | OP_NO_WAKEUP;
		break;
	case CLASS_STORE:
		op.flags |= OP_STORES | OP_NO_WAKEUP;
		break;
	case CLASS_AMO:
		op.flags |= OP_LOADS | OP_STORES | OP_NO_WAKEUP;
		set_policy(&op, m->amo, true);
		break;
	case CLASS_CSR:
		set_policy(&op, m->csr, false);
		break;
	case CLASS_FENCE:
		set_policy(&op, m->fence, true);
		break;
	case CLASS_SYSTEM:
		op.flags |= OP_TRAPS;
		break;
	case CLASS_JUMP:
		op.flags |= OP_LEAVES;
		break;
	default:
		break;
	}
	return op;
}

/* ---- a block's beginning and end ---- */

/* Nothing is known of what came before: a transfer that issued in cycle ORIGIN, long after all else. */
static void begin_unknown(const struct calc_scheduler *s, struct state *z)
{
	memset(z, 0, offsetof(struct state, writer));
	z->now = ORIGIN;
	z->ended = true;
	z->last_commit = ORIGIN + 1; /* that transfer's */
	z->serial_by = z->store_by = NOBODY;
	z->slots = s->m->issue_width;
	z->fetched = s->m->fetch_width;
	/* Fetch is far ahead. */
	z->fetch = ORIGIN / 2;
	z->dispatch = ORIGIN - 1;
}

static int16_t relative(const struct state *z, uint32_t time)
{
	int64_t d = (int64_t)time - z->now;

	return (int16_t)(d < -16384 ? -16384 : d > 16383 ? 16383 : d);
}

static void add_pending(struct tail *t, const struct state *z, unsigned place, uint32_t time,
			uint32_t by)
{
	if (time > z->now && t->npending < PENDING)
		t->pending[t->npending++] = (struct pending){ .by = by,
							      .time = relative(z, time),
							      .place = (uint8_t)place };
}

static void keep_tail(const struct calc_scheduler *s, const struct state *z, struct tail *t)
{
	t->npending = t->ncommits = 0;
	t->group = z->group;
	t->fetch_end = z->fetch_end;
	t->serial_by = z->serial_by;
	t->store_by = z->store_by;
	t->last_commit = relative(z, z->last_commit);
	t->drained = relative(z, z->drained);
	t->dispatch = relative(z, z->dispatch);
	t->dispatch_from = relative(z, z->dispatch_from);
	t->fetch = relative(z, z->fetch);
	t->commits = (uint8_t)z->commits;
	t->dispatched = (uint8_t)z->dispatched;
	t->fetched = (uint8_t)z->fetched;
	t->slots = (uint8_t)z->slots;
	t->stores = z->stores;
	t->ended = z->ended;
	t->valid = true;
	memcpy(t->used, z->used, sizeof(t->used));
	for (uint64_t bits = z->written; bits; bits &= bits - 1) {
		unsigned r = (unsigned)__builtin_ctzll(bits);

		add_pending(t, z, r, z->ready[r], z->writer[r]);
	}
	for (uint32_t bits = z->units; bits; bits &= bits - 1) {
		unsigned u = (unsigned)__builtin_ctz(bits);

		for (unsigned k = 0; k < UNITS_MAX; k++)
			add_pending(t, z, 64 + u * UNITS_MAX + k, z->busy[u][k], z->user[u][k]);
	}

	/* A larger reorder buffer is taken to be endless. */
	uint32_t n = s->rob > ROB_MAX ? 0 : z->ninsts < s->rob ? z->ninsts : s->rob;
	uint32_t first = z->ninsts - n;
	while (first < z->ninsts && z->commit[first % ROB_MAX] + 1 < z->now)
		first++;
	for (uint32_t i = first; i < z->ninsts; i++)
		t->commit[t->ncommits++] = relative(z, z->commit[i % ROB_MAX]);
}

static void begin_after(const struct calc_scheduler *s, const struct tail *t, bool taken,
			struct state *z)
{
	begin_unknown(s, z);
	z->group = t->group;
	z->fetch_end = t->fetch_end;
	z->serial_by = t->serial_by;
	z->store_by = t->store_by;
	z->last_commit = z->now + (uint32_t)t->last_commit;
	z->drained = z->now + (uint32_t)t->drained;
	z->dispatch = z->now + (uint32_t)t->dispatch;
	z->dispatch_from = z->now + (uint32_t)t->dispatch_from;
	z->fetch = z->now + (uint32_t)t->fetch;
	z->commits = t->commits;
	z->dispatched = t->dispatched;
	z->fetched = taken ? s->m->fetch_width : t->fetched;
	z->slots = t->slots;
	z->stores = t->stores;
	z->ended = t->ended || taken;
	memcpy(z->used, t->used, sizeof(z->used));
	for (unsigned k = 0; k < t->npending; k++) {
		const struct pending *p = &t->pending[k];
		uint32_t time = z->now + (uint32_t)p->time;

		if (p->place < 64) {
			z->ready[p->place] = time;
			z->writer[p->place] = p->by;
			z->written |= 1ull << p->place;
		} else {
			unsigned place = p->place - 64u;

			z->units |= 1u << place / UNITS_MAX;
			z->busy[place / UNITS_MAX][place % UNITS_MAX] = time;
			z->user[place / UNITS_MAX][place % UNITS_MAX] = p->by;
		}
	}
	for (unsigned k = 0; k < t->ncommits; k++) {
		z->committer[z->ninsts % ROB_MAX] = NOBODY;
		z->commit[z->ninsts++ % ROB_MAX] = z->now + (uint32_t)t->commit[k];
	}
}

/* ---- one instruction ---- */

/* What an instruction cannot issue before, and why. */
struct wait {
	uint32_t time;
	uint8_t why; /* enum static_stall */
	uint32_t by;
};
#define WAITS 8

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The cycle in which it is fetched. */
static uint32_t fetch(const struct calc_scheduler *s, struct state *z, uint64_t pc)
{
	if (z->fetched >= s->m->fetch_width || pc >= z->fetch_end) {
		z->fetch++;
		z->fetched = 0;
		z->fetch_end = (pc | (s->m->fetch_block_bytes - 1)) + 1;
	}
	z->fetched++;
	return z->fetch;
}

/* The cycle in which it is dispatched; w gets what delays it beyond fetch and width. */
static uint32_t dispatch(const struct calc_scheduler *s, struct state *z, const struct need *op,
			 uint32_t fetched, struct wait *w)
{
	uint32_t t = max_u32(z->dispatch, fetched + s->m->fetch_depth + s->m->decode_depth);

	*w = (struct wait){ .why = STATIC_SLOT, .by = NOBODY };
	if (t == z->dispatch && z->dispatched >= s->dispatch_width)
		t++;
	if (z->dispatch_from > t) {
		t = z->dispatch_from;
		*w = (struct wait){ .why = STATIC_UNIT, .by = z->serial_by };
	}
	if ((op->flags & OP_SERIAL) && z->last_commit > t) {
		t = z->last_commit;
		*w = (struct wait){ .why = STATIC_UNIT,
				    .by = z->ninsts ? z->committer[(z->ninsts - 1) % ROB_MAX]
						    : NOBODY };
	}
	if (s->rob <= ROB_MAX && z->ninsts >= s->rob &&
	    z->commit[(z->ninsts - s->rob) % ROB_MAX] > t) {
		t = z->commit[(z->ninsts - s->rob) % ROB_MAX];
		*w = (struct wait){ .why = STATIC_UNIT,
				    .by = z->committer[(z->ninsts - s->rob) % ROB_MAX] };
	}
	if ((op->flags & OP_LOADS) && s->load_queue <= ROB_MAX && z->nloads >= s->load_queue)
		t = max_u32(t, z->load_commit[(z->nloads - s->load_queue) % ROB_MAX]);
	if (t > z->dispatch) {
		z->dispatch = t;
		z->dispatched = 0;
	}
	z->dispatched++;
	w->time = t + 1;
	return t;
}

/* When one of its units is free, not before time `from`; *by: what used it. */
static uint32_t unit_free(const struct calc_scheduler *s, struct state *z, const struct need *op,
			  uint32_t from, uint32_t *by, unsigned *which)
{
	uint32_t count = s->m->unit[op->unit].count;

	*which = 0;
	if (op->pipelined) {
		if (from > z->now || z->used[op->unit] < count)
			return from;
		*by = z->last_user[op->unit];
		return from + 1;
	}
	if (count > UNITS_MAX)
		count = UNITS_MAX;
	for (unsigned k = 0; k < count; k++)
		if (z->busy[op->unit][k] < z->busy[op->unit][*which])
			*which = k;
	for (unsigned k = 0; k < count; k++)
		if (z->busy[op->unit][k] <= from) {
			*which = k;
			break;
		}
	*by = z->user[op->unit][*which];
	return max_u32(from, z->busy[op->unit][*which]);
}

/* Whether an instruction at pc may issue in the same cycle as its predecessor, as far as slots go;
 * *full: only the width forbids it. */
static bool slot_left(const struct calc_scheduler *s, const struct state *z, uint64_t pc,
		      bool *full)
{
	bool same = !s->group_mask || (!z->ended && (pc & s->group_mask) == z->group);

	*full = z->slots >= s->m->issue_width;
	return same && !*full;
}

/* The first cycle, not before t, in which a load may issue: so many cycles after a store it may not. */
static uint32_t load_slot(const struct calc_scheduler *s, const struct state *z, uint32_t t)
{
	uint32_t gap = s->m->load_after_store;

	while (gap && z->now + gap >= t && (z->stores >> (z->now + gap - t) & 1))
		t++;
	return t;
}

/* Fills in m and fixed of an instruction that issues in cycle t because of the waits. */
static void explain(const struct state *z, struct wait *waits, unsigned n, uint32_t t,
		    bool width_used, struct calc_inst *out)
{
	uint32_t level = z->now + 1;

	out->m = t - z->now;
	out->nfixed = 0;
	if (t == z->now)
		return;
	if (t == level) {
		/* In the next cycle anyway: no cycle is lost, but perhaps half of one. */
		for (unsigned i = 0; i < n && !width_used && !out->nfixed; i++)
			if (waits[i].time == t)
				out->fixed[out->nfixed++] =
				    (struct calc_static){ .why = waits[i].why, .by = waits[i].by };
		return;
	}
	/* Insertion sort by time of what is later than that: there are few. */
	unsigned late = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct wait w = waits[i];
		unsigned k = late;

		if (w.time <= level)
			continue;
		for (; k && waits[k - 1].time > w.time; k--)
			waits[k] = waits[k - 1];
		waits[k] = w;
		late++;
	}
	for (unsigned i = 0; i < late && out->nfixed < CALC_STATICS; i++) {
		if (waits[i].time <= level)
			continue;
		out->fixed[out->nfixed++] =
		    (struct calc_static){ .why = waits[i].why,
					  .cycles = (uint16_t)(waits[i].time - level),
					  .by = waits[i].by };
		level = waits[i].time;
	}
}

static unsigned operand_waits(const struct calc_scheduler *s, const struct state *z,
			      const struct need *op, struct wait *w)
{
	static const uint8_t why[3] = { STATIC_RA, STATIC_RB, STATIC_RB };
	unsigned n = 0;

	for (unsigned k = 0; k < 3; k++)
		if (op->src[k])
			w[n++] =
			    (struct wait){ z->ready[op->src[k]], why[k], z->writer[op->src[k]] };
	if (op->dst && (!op->src[2] || s->m->third_waits))
		w[n++] = (struct wait){ z->ready[op->dst], STATIC_RC, z->writer[op->dst] };
	return n;
}

static void retire(const struct calc_scheduler *s, struct state *z, const struct need *op,
		   uint32_t done, uint32_t number)
{
	if (done > z->last_commit) {
		z->last_commit = done;
		z->commits = 0;
	} else if (z->commits >= s->m->commit_width) {
		z->last_commit++;
		z->commits = 0;
	}
	z->commits++;
	if (op->flags & OP_STORES)
		z->drained = max_u32(z->drained + (s->m->store_ports == 1), z->last_commit + 1);
	if (op->flags & OP_LOADS)
		z->load_commit[z->nloads++ % ROB_MAX] = z->last_commit;
	z->committer[z->ninsts % ROB_MAX] = number;
	z->commit[z->ninsts++ % ROB_MAX] = z->last_commit;
	if (op->flags & OP_SERIAL) {
		z->dispatch_from = z->last_commit;
		z->serial_by = number;
	}
	if (op->flags & OP_REFETCH) {
		z->fetch = max_u32(z->fetch, z->last_commit + s->m->fetch_flush - 1);
		z->fetched = s->m->fetch_width;
	}
}

/* Issues an instruction in cycle t. */
static void issue(const struct calc_scheduler *s, struct state *z, const struct need *op,
		  uint32_t t, unsigned which, uint64_t pc, uint32_t number)
{
	uint32_t late = op->flags & OP_NO_WAKEUP ? 0 : s->m->wakeup;

	if (t > z->now) {
		uint32_t by = t - z->now;

		memset(z->used, 0, sizeof(z->used));
		z->slots = 0;
		z->stores = by < 32 ? z->stores << by : 0;
		z->now = t;
	}
	z->slots++;
	z->used[op->unit]++;
	z->last_user[op->unit] = number;
	z->group = pc & s->group_mask;
	z->ended = false;
	if (op->occupies) {
		z->units |= 1u << op->unit;
		z->busy[op->unit][which] = t + op->busy;
		z->user[op->unit][which] = number;
	}
	if (op->flags & OP_STORES) {
		z->stores |= 1;
		z->store_by = number;
	}
	if (op->dst) {
		z->written |= 1ull << op->dst;
		z->ready[op->dst] = t + op->latency + late;
		z->writer[op->dst] = number;
	}
	retire(s, z, op, t + op->latency, number);
}

/* Schedules an instruction: m and fixed go to out. */
static void schedule_one(const struct calc_scheduler *s, struct state *z, uint32_t number,
			 struct calc_inst *out)
{
	const struct need *op = &s->ops[number];
	uint64_t pc = s->p->graph->insts[number].pc;
	struct wait waits[WAITS];
	unsigned n = operand_waits(s, z, op, waits), last = 0, which;
	bool width_used;

	dispatch(s, z, op, fetch(s, z, pc), &waits[n++]);
	if (!slot_left(s, z, pc, &width_used))
		waits[n++] = (struct wait){ z->now + 1, STATIC_SLOT, NOBODY };
	if (op->flags & OP_DRAINS)
		waits[n++] = (struct wait){ z->drained, STATIC_UNIT, z->store_by };

	uint32_t t = z->now, by = NOBODY;
	for (unsigned k = 0; k < n; k++)
		t = max_u32(t, waits[k].time);

	for (;;) {
		uint32_t free = unit_free(s, z, op, t, &by, &which);

		if (op->flags & OP_LOADS && load_slot(s, z, free) > free) {
			free = load_slot(s, z, free);
			by = z->store_by;
		}
		if (free == t)
			break;
		/* One entry: what it waits for last. */
		waits[n] = (struct wait){ t = free, STATIC_UNIT, by };
		last = n + 1;
	}
	n = max_u32(n, last);
	explain(z, waits, n, t, width_used, out);
	issue(s, z, op, t, which, pc, number);
	/* What the kernel leaves behind is not known. */
	if (op->flags & OP_TRAPS)
		begin_unknown(s, z);
}

/* ---- blocks ---- */

/* Whether the block at the edge's other end says how this one begins. */
static bool follows(const struct cfg *g, uint32_t edge)
{
	const struct cfg_edge *e = &g->edges[edge];

	return e->from != CFG_OUTSIDE &&
	       (e->kind == CFG_FALL ? !(g->blocks[e->from].flags & CFG_BLOCK_CALLS)
				    : e->kind == CFG_TAKEN || e->kind == CFG_TABLE);
}

/* Schedules block b behind the edge (NOBODY: nothing is known); results from s->at on. */
static void schedule_block(struct calc_scheduler *s, uint32_t b, uint32_t edge, struct state *z)
{
	const struct cfg *g = s->p->graph;
	const struct cfg_block *block = &g->blocks[b];

	if (edge != NOBODY && follows(g, edge) && s->tails[g->edges[edge].from].valid)
		begin_after(s, &s->tails[g->edges[edge].from], g->edges[edge].kind != CFG_FALL, z);
	else
		begin_unknown(s, z);
	for (uint32_t i = 0; i < block->count; i++)
		schedule_one(s, z, block->first + i, &s->at[i]);
}

/* What an edge into block b weighs that has no estimate: what the others leave over. */
static double left_over(const struct calc_proc *p, uint32_t b)
{
	const struct cfg *g = p->graph;
	double rest = p->blocks[b].value;
	uint32_t unknown = 0;

	for (uint32_t k = 0; k < g->blocks[b].nin; k++) {
		double f = p->edges[g->in[g->blocks[b].first_in + k]].value;

		if (isnan(f))
			unknown++;
		else
			rest -= f;
	}
	/* Something, so that a block of which nothing is known has equal edges. */
	return unknown && rest > 0 ? rest / unknown : 1e-9;
}

static void weigh(struct calc_scheduler *s)
{
	const struct cfg *g = s->p->graph;

	for (uint32_t b = 0; b < g->nblocks; b++) {
		double rest = left_over(s->p, b);

		s->heaviest[b] = NOBODY;
		for (uint32_t k = 0; k < g->blocks[b].nin; k++) {
			uint32_t e = g->in[g->blocks[b].first_in + k];
			double f = s->p->edges[e].value;

			s->weights[e] = isnan(f) ? rest : f;
			if (s->heaviest[b] == NOBODY || s->weights[e] > s->weights[s->heaviest[b]])
				s->heaviest[b] = e;
		}
	}
}

static void take(struct calc_inst *to, const struct calc_inst *from)
{
	to->nfixed = from->nfixed;
	memcpy(to->fixed, from->fixed, sizeof(to->fixed));
}

/* Keeps the schedule that was just made of block b. */
static void take_block(const struct calc_scheduler *s, struct calc_proc *p, uint32_t b)
{
	const struct cfg_block *block = &p->graph->blocks[b];

	for (uint32_t i = 0; i < block->count; i++) {
		p->insts[block->first + i].m = s->at[i].m;
		take(&p->insts[block->first + i], &s->at[i]);
	}
}

/* Whether control comes into block b over its heaviest edge alone. */
static bool has_one_way(const struct calc_scheduler *s, uint32_t b)
{
	const struct cfg *g = s->p->graph;

	for (uint32_t k = 0; k < g->blocks[b].nin; k++) {
		const uint32_t e = g->in[g->blocks[b].first_in + k];

		if (e != s->heaviest[b] && s->weights[e] > 0)
			return false;
	}
	return !g->blocks[b].nin || s->weights[s->heaviest[b]] > 0;
}

/* The block that block b's heaviest edge comes from; CFG_OUTSIDE: none. */
static uint32_t source_of(const struct calc_scheduler *s, uint32_t b)
{
	return s->heaviest[b] == NOBODY ? CFG_OUTSIDE : s->p->graph->edges[s->heaviest[b]].from;
}

static bool same_tails(const struct tail *a, const struct tail *b)
{
	if (memcmp(a, b, offsetof(struct tail, pending)) ||
	    memcmp(a->commit, b->commit, a->ncommits * sizeof(a->commit[0])))
		return false;
	for (unsigned k = 0; k < a->npending; k++)
		if (a->pending[k].by != b->pending[k].by ||
		    a->pending[k].time != b->pending[k].time ||
		    a->pending[k].place != b->pending[k].place)
			return false;
	return true;
}

/*
 * Schedules block b behind its heaviest edge, for what it leaves behind. If all is known of what comes before and
 * that is the only way into it, this is its schedule: p gets it (if not NULL). If what comes before is as it was the
 * last time, so is the rest.
 */
static void find_tail(struct calc_scheduler *s, struct calc_proc *p, uint32_t b)
{
	const uint32_t from = source_of(s, b);
	const uint32_t version = from == CFG_OUTSIDE ? 0 : s->versions[from];
	const bool whole = p && (from == CFG_OUTSIDE || from < b) && has_one_way(s, b);
	struct made *made = &s->made[b];
	struct tail tail = s->tails[b];
	struct state z;

	if (tail.valid && made->edge == s->heaviest[b] && made->version == version &&
	    (!whole || s->scheduled[b])) {
		s->scheduled[b] = whole;
		return;
	}
	*made = (struct made){ .edge = s->heaviest[b], .version = version };
	schedule_block(s, b, s->heaviest[b], &z);
	keep_tail(s, &z, &tail);
	if (!s->tails[b].valid || !same_tails(&tail, &s->tails[b])) {
		s->tails[b] = tail;
		s->versions[b]++;
	}
	s->scheduled[b] = whole;
	if (whole)
		take_block(s, p, b);
}

/* Finds what each block leaves behind, in order of address; what comes round a loop is known only when
 * its end is, so loops' heads, and what follows them, are looked at again. */
static void find_tails(struct calc_scheduler *s, struct calc_proc *p)
{
	const struct cfg *g = s->p->graph;

	for (uint32_t b = 0; b < g->nblocks; b++)
		find_tail(s, p, b);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const uint32_t from = source_of(s, b);

		s->again[b] = from != CFG_OUTSIDE && (from >= b || s->again[from]);
		if (s->again[b])
			find_tail(s, p, b);
	}
}

struct calc_scheduler *calc_scheduler_new(const struct machine *m, const struct calc_proc *p)
{
	const struct cfg *g = p->graph;
	struct calc_scheduler *s = x_calloc(1, sizeof(*s));
	uint32_t longest = 1;

	s->m = m;
	s->p = p;
	s->rob = m->rob;
	s->load_queue = m->load_queue;
	s->group_mask = m->issue_group ? ~((uint64_t)m->issue_group - 1) : 0;
	s->dispatch_width = m->dispatch_width && m->dispatch_width < m->decode_width
				? m->dispatch_width
				: m->decode_width;
	s->ops = x_malloc((g->ninsts + 1) * sizeof(*s->ops));
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const struct carried_op op = carried_op_of(p->decoded, m, &g->insts[i]);

		s->ops[i] = op_of(m, &op);
	}
	for (uint32_t b = 0; b < g->nblocks; b++)
		longest = max_u32(longest, g->blocks[b].count);
	s->at = x_calloc(longest, sizeof(*s->at));
	return s;
}

/* Makes room for edges' weights and for what blocks leave behind. */
static void prepare_edges(struct calc_scheduler *s)
{
	const struct cfg *g = s->p->graph;

	if (s->tails)
		return;
	s->tails = x_calloc(g->nblocks + 1, sizeof(*s->tails));
	s->versions = x_calloc(g->nblocks + 1, sizeof(*s->versions));
	s->made = x_malloc((g->nblocks + 1) * sizeof(*s->made));
	s->weights = x_calloc(g->nedges + 1, sizeof(*s->weights));
	s->heaviest = x_calloc(g->nblocks + 1, sizeof(*s->heaviest));
	s->again = x_calloc(g->nblocks + 1, sizeof(*s->again));
	s->scheduled = x_calloc(g->nblocks + 1, sizeof(*s->scheduled));
}

void calc_scheduler_edges(struct calc_scheduler *s)
{
	prepare_edges(s);
	weigh(s);
	find_tails(s, NULL);
}

const struct calc_inst *calc_scheduler_block(struct calc_scheduler *s, uint32_t block,
					     uint32_t edge)
{
	struct state z;

	schedule_block(s, block, edge, &z);
	return s->at;
}

void calc_scheduler_free(struct calc_scheduler *s)
{
	free(s->ops);
	free(s->at);
	free(s->tails);
	free(s->weights);
	free(s->heaviest);
	free(s->again);
	free(s->scheduled);
	free(s->versions);
	free(s->made);
	free(s);
}

/* The heaviest edges into a block, at most EDGES_MAX; returns how many. */
static unsigned choose_edges(const struct calc_scheduler *s, const struct cfg_block *b,
			     uint32_t *chosen)
{
	const struct cfg *g = s->p->graph;
	unsigned n = 0;

	for (uint32_t k = 0; k < b->nin; k++) {
		uint32_t e = g->in[b->first_in + k];
		unsigned at = n < EDGES_MAX ? n++ : EDGES_MAX;

		/* Insertion sort; what falls out at the end is dropped. */
		for (; at && s->weights[chosen[at - 1]] < s->weights[e]; at--)
			if (at < EDGES_MAX)
				chosen[at] = chosen[at - 1];
		if (at < EDGES_MAX)
			chosen[at] = e;
	}
	return n;
}

/* The mean over the edges into block b, by weight; reasons are those of the heaviest. */
static void schedule_by_edges(struct calc_scheduler *s, struct calc_proc *p, uint32_t b)
{
	const struct cfg_block *block = &p->graph->blocks[b];
	uint32_t edges[EDGES_MAX] = { 0 };
	unsigned n = choose_edges(s, block, edges);
	double all = 0;

	for (unsigned k = 0; k < n; k++)
		all += s->weights[edges[k]];
	for (uint32_t i = 0; i < block->count; i++)
		p->insts[block->first + i].m = 0;
	for (unsigned k = 0; k < (n ? n : 1); k++) {
		double weight = n && all > 0 ? s->weights[edges[k]] / all : k == 0;

		if (!(weight > 0))
			continue;
		const struct calc_inst *at = calc_scheduler_block(s, b, n ? edges[k] : NOBODY);
		for (uint32_t i = 0; i < block->count; i++) {
			p->insts[block->first + i].m += weight * at[i].m;
			if (!k)
				take(&p->insts[block->first + i], &at[i]);
		}
	}
}

static double share_of(const struct calc_scheduler *s, uint32_t edge, double all)
{
	return all > 0 ? s->weights[edge] / all : 0;
}

/* Finds the blocks whose edges' shares have changed since m was made, and keeps the new shares; true if another edge
 * of a block is its heaviest, so that what follows may begin otherwise. */
static bool find_changed(struct calc_scheduler *s, struct calc_proc *p, uint8_t *changed, bool *any)
{
	const struct cfg *g = p->graph;
	bool moved = !p->shares;

	if (!p->shares) {
		p->shares = x_malloc((g->nedges + 1) * sizeof(*p->shares));
		for (uint32_t e = 0; e < g->nedges; e++)
			p->shares[e] = -1;
	}
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const uint32_t *in = g->in + g->blocks[b].first_in;
		double all = 0;
		uint32_t heaviest = 0;

		for (uint32_t k = 0; k < g->blocks[b].nin; k++) {
			all += s->weights[in[k]];
			heaviest = p->shares[in[k]] > p->shares[in[heaviest]] ? k : heaviest;
		}
		for (uint32_t k = 0; k < g->blocks[b].nin; k++)
			changed[b] |= fabs(share_of(s, in[k], all) - p->shares[in[k]]) >= SETTLED;
		if (!changed[b])
			continue;
		*any = true;
		moved |= s->heaviest[b] != in[heaviest];
		for (uint32_t k = 0; k < g->blocks[b].nin; k++)
			p->shares[in[k]] = (float)share_of(s, in[k], all);
	}
	return moved;
}

/* Schedules by edges what these have changed; false: nothing. */
static bool schedule_again(struct calc_scheduler *s, struct calc_proc *p)
{
	const struct cfg *g = p->graph;
	uint8_t *changed = x_calloc(g->nblocks + 1, 1);
	bool any = false;

	prepare_edges(s);
	weigh(s);
	const bool all = find_changed(s, p, changed, &any);
	/* What blocks leave behind depends on their heaviest edges alone. */
	if (all || (any && !s->tailed))
		find_tails(s, all ? p : NULL);
	s->tailed |= all || any;
	for (uint32_t b = 0; b < g->nblocks; b++)
		if (all ? !s->scheduled[b] : changed[b])
			schedule_by_edges(s, p, b);
	free(changed);
	return all || any;
}

bool calc_schedule_round(struct calc_scheduler *s, struct calc_proc *p, bool first_round)
{
	const struct cfg *g = p->graph;
	struct state z;

	if (!first_round && !schedule_again(s, p))
		return false;
	for (uint32_t b = 0; first_round && b < g->nblocks; b++) {
		schedule_block(s, b, NOBODY, &z);
		take_block(s, p, b);
	}
	for (uint32_t i = 0; i < g->ninsts; i++)
		p->insts[i].issue_point = p->insts[i].m > 0;
	return true;
}

void calc_schedule(const struct machine *m, struct calc_proc *p, bool first_round)
{
	struct calc_scheduler *s = calc_scheduler_new(m, p);

	calc_schedule_round(s, p, first_round);
	calc_scheduler_free(s);
}
