/* SPDX-License-Identifier: MIT */
/*
 * Stacks taken at a stage of the pipeline. The commit stage blames what commit waits for, the
 * dispatch stage what keeps instructions out of the window, the issue stage what keeps them from
 * executing; the truth lies between them, because each stage sees the others' slack. Top-down
 * analysis (Yasin 2014) puts dispatch slots under names that users know: retiring, bad speculation,
 * front-end bound, back-end bound. POWER5's completion stalls (counters.c) are counted here, too.
 *
 * Commit counts cycles; dispatch, issue and top-down count slots: cycles times dispatch width.
 *
 * The causes of a cycle's lost slots depend on few properties of the cycle (enum kind_key). Cycles
 * with the same causes are of one kind. A table by these properties gives a cycle's kind, and is
 * filled when a combination is first seen. Cycles and slots are added up by kind, in one place
 * instead of eight; stages_fold hands them out to the stacks.
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

/* Cycles that lose slots to the same causes. */
struct kind {
	uint8_t commit, dispatch, issue, power5; /* enum cpi_component */
	uint8_t topdown;			 /* enum topdown */
	bool wrong; /* the instructions that dispatch are on a wrong path */
	/* Since stages_fold: cycles, cycles in which something commits, slots that were used. */
	uint64_t cycles, committing, dispatched, issued;
};

/* The properties of a cycle on which causes depend, as bits of a number. */
enum kind_key {
	KEY_IDLE = 1 << 0, /* nothing dispatches */
	KEY_EMPTY = 1 << 1,
	KEY_DONE = 1 << 2,
	KEY_WRONG_PATH = 1 << 3,
	KEY_WRONG = 1 << 4,
	KEY_DMISS = 1 << 5,
	KEY_HEAD = 6,	/* two bits: none, L1 miss, long miss, page walk */
	KEY_STALL = 8,	/* two bits: nothing to dispatch, store queue, serialising, the rest */
	KEY_FLUSH = 10, /* two bits: none, mispredict, other */
	KEY_FRONT = 12, /* four bits: enum cpi_component */
	KEY_COUNT = 1 << 16,
};
_Static_assert(CPI_COMPONENTS <= 16, "four bits");

struct stages {
	struct cells_later later; /* by_pc: stalled and flushed time, not yet in the cells */
	struct execs execs;	  /* by_pc: executions, until the end */
	uint32_t units[WALK_WIDTH_MAX + 1][WALK_WIDTH_MAX]; /* [n]: the share of each of n */
	uint16_t key_of_flags[RC_HEAD_L1MISS << 1];
	uint16_t key_of_stall[UINT8_MAX + 1];  /* dispatch_stall */
	uint16_t key_of_flush[UINT8_MAX + 1];  /* flush_cause */
	uint8_t front_of_fetch[UINT8_MAX + 1]; /* fetch_stall: the miss waited for, or CPI_BASE */
	uint32_t waiting;		       /* bit per component that is not 0 in stalled */
	uint16_t kind_of_key[KEY_COUNT];       /* 0: not known yet */
	struct kind *kinds;
	unsigned nkinds, capacity;
};
_Static_assert(KEY_COUNT <= UINT16_MAX + 1, "fewer kinds than keys, as the first is none");

/* Why nothing reaches the window: a flush whose refill is not over, else the last miss that fetch
 * waited for. */
static enum cpi_component front_reason(const struct cpistack *s, const struct rec_cycle *c)
{
	if (c->flush_cause == FLUSH_MISPREDICT)
		return CPI_BMISP;
	if (c->flush_cause != FLUSH_NONE)
		return CPI_FLUSH;
	return s->front_reason == CPI_BASE ? CPI_FRONTEND : (enum cpi_component)s->front_reason;
}

static bool memory_bound(const struct rec_cycle *c)
{
	return c->dispatch_stall == DISPATCH_SQ ||
	       c->flags & (RC_HEAD_DTLB | RC_HEAD_LONG_DMISS | RC_HEAD_L1MISS) ||
	       (c->flags & RC_DMISS_OUT && !(c->flags & RC_HEAD_DONE));
}

static enum cpi_component commit_reason(const struct cpistack *s, const struct rec_cycle *c)
{
	if (!(c->flags & RC_ROB_EMPTY))
		return cpi_head_reason(c);
	return c->dispatch_stall == DISPATCH_SQ ? CPI_SQ : front_reason(s, c);
}

static enum cpi_component issue_reason(const struct cpistack *s, const struct rec_cycle *c)
{
	if (c->flags & RC_ROB_EMPTY)
		return front_reason(s, c);
	if (c->flags & RC_HEAD_DONE && c->flags & RC_WRONG_PATH)
		return CPI_BMISP;
	return cpi_head_reason(c);
}

static enum cpi_component dispatch_reason(const struct cpistack *s, const struct rec_cycle *c,
					  enum topdown *td)
{
	const bool wrong = c->flags & RC_DISPATCH_WRONG;
	switch (c->dispatch_stall) {
	case DISPATCH_OK:
	case DISPATCH_EMPTY:
		/* A wrong path on which nothing arrives is charged to the branch, too. */
		if (wrong || c->flush_cause == FLUSH_MISPREDICT ||
		    (c->flags & RC_WRONG_PATH && !c->ndispatch)) {
			*td = TD_MISPREDICTS;
			return CPI_BMISP;
		}
		if (c->flush_cause != FLUSH_NONE) {
			*td = TD_CLEARS;
			return CPI_FLUSH;
		}
		*td = c->ndispatch ? TD_FETCH_BANDWIDTH : TD_FETCH_LATENCY;
		return front_reason(s, c);
	case DISPATCH_SQ:
		*td = TD_MEMORY;
		return CPI_SQ;
	case DISPATCH_SERIAL:
		*td = TD_CORE;
		return CPI_FLUSH;
	default:
		*td = memory_bound(c) ? TD_MEMORY : TD_CORE;
		return wrong ? CPI_BMISP : cpi_head_reason(c);
	}
}

static unsigned flags_key(unsigned flags)
{
	const struct rec_cycle c = { .flags = (uint16_t)flags };
	static const uint8_t head[CPI_COMPONENTS] = {
		[CPI_L1D] = 1, [CPI_L2D] = 2, [CPI_DTLB] = 3
	};
	return (flags & RC_ROB_EMPTY ? KEY_EMPTY : 0) | (flags & RC_HEAD_DONE ? KEY_DONE : 0) |
	       (flags & RC_WRONG_PATH ? KEY_WRONG_PATH : 0) |
	       (flags & RC_DISPATCH_WRONG ? KEY_WRONG : 0) |
	       (flags & RC_DMISS_OUT ? KEY_DMISS : 0) |
	       (unsigned)head[cpi_head_reason(&c)] << KEY_HEAD;
}

static unsigned stall_key(unsigned stall)
{
	switch (stall) {
	case DISPATCH_OK:
	case DISPATCH_EMPTY:
		return 0;
	case DISPATCH_SQ:
		return 1;
	case DISPATCH_SERIAL:
		return 2;
	default:
		return 3;
	}
}

struct stages *stages_new(struct cpistack *s)
{
	struct stages *g = x_calloc(1, sizeof(*g));
	g->nkinds = 1;
	g->capacity = 64;
	g->kinds = x_calloc(g->capacity, sizeof(*g->kinds));
	execs_init(&g->execs, &s->by_pc, CPI_BASE);
	g->later.into = &s->by_pc;
	for (unsigned n = 1; n <= WALK_WIDTH_MAX; n++) {
		const uint64_t share = s->scale / n;
		g->units[n][0] = (uint32_t)(s->scale - (n - 1) * share);
		for (unsigned i = 1; i < WALK_WIDTH_MAX; i++)
			g->units[n][i] = (uint32_t)share;
	}
	for (unsigned i = 0; i < ARRAY_LEN(g->key_of_flags); i++)
		g->key_of_flags[i] = (uint16_t)flags_key(i);
	for (unsigned i = 0; i <= UINT8_MAX; i++) {
		g->key_of_stall[i] = (uint16_t)(stall_key(i) << KEY_STALL);
		g->key_of_flush[i] = (uint16_t)(min_u64(i, 2) << KEY_FLUSH);
		g->front_of_fetch[i] =
		    (uint8_t)(i == FETCH_EXCEPTION ? CPI_FLUSH : cpi_fetch_miss(i));
	}
	return g;
}

void stages_free(struct stages *g)
{
	if (!g)
		return;
	execs_free(&g->execs);
	free(g->kinds);
	free(g);
}

static __attribute__((noinline)) unsigned learn(const struct cpistack *s, const struct rec_cycle *c)
{
	struct stages *g = s->stages;
	enum topdown td;
	if (g->nkinds == g->capacity) {
		g->capacity *= 2;
		g->kinds = x_realloc(g->kinds, g->capacity * sizeof(*g->kinds));
	}
	struct kind *k = &g->kinds[g->nkinds];
	*k = (struct kind){ .commit = (uint8_t)commit_reason(s, c),
			    .dispatch = (uint8_t)dispatch_reason(s, c, &td),
			    .issue = (uint8_t)issue_reason(s, c),
			    .power5 = (uint8_t)counters_reason(s, c),
			    .wrong = c->flags & RC_DISPATCH_WRONG };
	k->topdown = (uint8_t)td;
	return g->nkinds++;
}

static inline struct kind *kind_of(const struct cpistack *s, const struct rec_cycle *c)
{
	struct stages *g = s->stages;
	uint16_t *k =
	    &g->kind_of_key[g->key_of_flags[c->flags % ARRAY_LEN(g->key_of_flags)] |
			    g->key_of_stall[c->dispatch_stall] | g->key_of_flush[c->flush_cause] |
			    s->front_reason << KEY_FRONT | !c->ndispatch * KEY_IDLE];
	if (unlikely(!*k))
		*k = (uint16_t)learn(s, c);
	return &g->kinds[*k];
}

/* Gives the stalled cycles to the instruction that commits next. */
static void settle(struct cpistack *s, uint64_t pc)
{
	for (uint32_t left = s->stages->waiting; left; left &= left - 1) {
		const unsigned k = (unsigned)__builtin_ctz(left);
		cells_add_later(&s->stages->later, cell_key(pc, 0, k), s->stalled[k] * s->scale);
		s->stalled[k] = 0;
	}
	s->stages->waiting = 0;
}

/* Writes the share of a cycle that each of n instructions gets: CPI_UNITS values at once whatever n
 * is, so that there is no branch on n. The values beyond n are overwritten later. */
static inline void share_cycle(const struct stages *g, uint32_t *units, unsigned n)
{
	memcpy(units, g->units[n], CPI_UNITS * sizeof(*units));
	if (unlikely(n > CPI_UNITS))
		memcpy(units, g->units[n], n * sizeof(*units));
}

void stages_runs(struct cpistack *s, size_t at)
{
	struct stages *g = s->stages;
	struct cpi_insts *in = &s->insts;
	const uint64_t width = s->meta.dispatch_width;
	size_t next = at;
	for (size_t i = 0; i < s->nruns; i++) {
		const struct cpi_run *r = &s->runs[i];
		const struct rec_cycle *c = r->c;
		const unsigned n = c->ncommit, fetch = g->front_of_fetch[c->fetch_stall];
		const unsigned front = c->ndispatch ? CPI_BASE : s->front_reason;
		s->front_reason = fetch ? fetch : front;
		struct kind *k = kind_of(s, c);
		k->cycles += r->repeat;
		k->dispatched += min_u64(c->ndispatch, width) * r->repeat;
		k->issued += r->issued;
		if (n) {
			k->committing += r->repeat;
			if (g->waiting)
				settle(s, in->pc[next]);
			share_cycle(g, &in->units[next], n);
			next += n;
			s->last_po = c->head_po + n - 1;
		} else if (c->flags & RC_ROB_EMPTY && c->flush_cause != FLUSH_NONE &&
			   c->flush_po <= s->last_po) {
			cells_add_later(&g->later, cell_key(c->flush_pc, 0, k->commit),
					r->repeat * s->scale);
		} else {
			s->stalled[k->commit] += r->repeat;
			g->waiting |= 1u << k->commit;
		}
	}
	execs_add_all(&g->execs, in->pc + at, in->units + at, next - at);
	if (next > at)
		s->last_pc = in->pc[next - 1];
}

void stages_fold(struct cpistack *s)
{
	const int64_t width = s->meta.dispatch_width;
	int64_t *commit = s->now.method[METHOD_COMMIT], *power5 = s->now.method[METHOD_POWER5];
	int64_t *dispatch = s->now.method[METHOD_DISPATCH], *issue = s->now.method[METHOD_ISSUE];
	int64_t *td = s->now.topdown;
	for (unsigned i = 1; i < s->stages->nkinds; i++) {
		struct kind *k = &s->stages->kinds[i];
		if (!k->cycles)
			continue;
		const int64_t cycles = (int64_t)k->cycles, committing = (int64_t)k->committing;
		const int64_t dispatched = (int64_t)k->dispatched, issued = (int64_t)k->issued;
		commit[CPI_BASE] += committing;
		commit[k->commit] += cycles - committing;
		power5[CPI_BASE] += committing;
		power5[k->power5] += cycles - committing;
		dispatch[k->wrong ? CPI_BMISP : CPI_BASE] += dispatched;
		dispatch[k->dispatch] += width * cycles - dispatched;
		td[k->wrong ? TD_MISPREDICTS : TD_RETIRING] += dispatched;
		td[k->topdown] += width * cycles - dispatched;
		issue[CPI_BASE] += issued;
		issue[k->issue] += width * cycles - issued;
		k->cycles = k->committing = k->dispatched = k->issued = 0;
	}
}

void stages_end(struct cpistack *s)
{
	settle(s, s->last_pc);
	cells_later_flush(&s->stages->later);
	execs_move(&s->stages->execs);
}
