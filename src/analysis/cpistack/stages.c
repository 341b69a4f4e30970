/* SPDX-License-Identifier: MIT */
/*
 * Stacks taken at a stage of the pipeline. The commit stage blames what commit waits for, the
 * dispatch stage what keeps instructions out of the window, the issue stage what keeps them from
 * executing; the truth lies between them, because each stage sees the others' slack. Top-down
 * analysis is dispatch slots in words that users know (Yasin 2014): retiring, bad speculation,
 * front-end bound, back-end bound. POWER5's completion stalls (counters.c) go along.
 *
 * Commit counts cycles; dispatch, issue and top-down count slots: cycles times dispatch width.
 *
 * Who gets the slots that a cycle loses depends on few things, so it is looked up: a table by all
 * of them, filled where it is asked for the first time.
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>

#include "isa/isa.h"

/* Who gets what is lost in a cycle. */
struct causes {
	bool known;
	uint8_t commit, dispatch, issue, power5; /* enum cpi_component */
	uint8_t topdown;			 /* enum topdown */
};

/* All that causes depend on, as bits of a number. */
enum cause_key {
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
	struct execs execs; /* by_pc's executions, until the end */
	uint64_t share[WALK_WIDTH_MAX + 1], first[WALK_WIDTH_MAX + 1]; /* of a cycle, for n */
	uint8_t key_of_flags[RC_HEAD_L1MISS << 1];
	uint8_t key_of_stall[UINT8_MAX + 1];   /* dispatch_stall */
	uint8_t front_of_fetch[UINT8_MAX + 1]; /* fetch_stall: a miss that it waits for, or 0 */
	uint32_t waiting;		       /* components that are not 0 in stalled */
	struct causes causes[KEY_COUNT];
};

enum cpi_component cpi_head_reason(const struct rec_cycle *c)
{
	if (c->flags & RC_HEAD_DTLB)
		return CPI_DTLB;
	if (c->flags & RC_HEAD_LONG_DMISS)
		return CPI_L2D;
	if (c->flags & RC_HEAD_L1MISS)
		return CPI_L1D;
	return CPI_LONG;
}

enum cpi_component cpi_fetch_reason(const struct rec_cycle *c)
{
	switch (c->fetch_stall) {
	case FETCH_ICACHE_L2:
	case FETCH_ICACHE_LLC:
		return CPI_L1I;
	case FETCH_ICACHE_MEM:
		return CPI_L2I;
	case FETCH_ITLB:
		return CPI_ITLB;
	case FETCH_EXCEPTION:
		return CPI_FLUSH;
	case FETCH_OK:
	case FETCH_BUFFER:
		return CPI_BASE;
	default:
		return CPI_FRONTEND;
	}
}

/* Why nothing reaches the window: a flush that is not over, else the last thing that fetch waited
 * for. */
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
		/* a wrong path that runs dry is still the branch's doing */
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
	execs_init(&g->execs, &s->by_pc, CPI_BASE);
	for (unsigned n = 1; n <= WALK_WIDTH_MAX; n++) {
		g->share[n] = s->scale / n;
		g->first[n] = s->scale - (n - 1) * g->share[n];
	}
	for (unsigned i = 0; i < ARRAY_LEN(g->key_of_flags); i++)
		g->key_of_flags[i] = (uint8_t)flags_key(i);
	for (unsigned i = 0; i <= UINT8_MAX; i++) {
		const struct rec_cycle c = { .fetch_stall = (uint8_t)i };
		const enum cpi_component fetch = cpi_fetch_reason(&c);
		g->key_of_stall[i] = (uint8_t)stall_key(i);
		g->front_of_fetch[i] = fetch == CPI_FRONTEND ? 0 : (uint8_t)fetch;
	}
	return g;
}

void stages_free(struct stages *g)
{
	if (g)
		execs_free(&g->execs);
	free(g);
}

static const struct causes *learn(const struct cpistack *s, const struct rec_cycle *c,
				  struct causes *k)
{
	enum topdown td;
	*k = (struct causes){ .known = true,
			      .commit = (uint8_t)commit_reason(s, c),
			      .dispatch = (uint8_t)dispatch_reason(s, c, &td),
			      .issue = (uint8_t)issue_reason(s, c),
			      .power5 = (uint8_t)counters_reason(s, c) };
	k->topdown = (uint8_t)td;
	return k;
}

static inline const struct causes *causes_of(const struct cpistack *s, const struct rec_cycle *c)
{
	struct stages *g = s->stages;
	const unsigned flush = c->flush_cause < 2 ? c->flush_cause : 2;
	struct causes *k = &g->causes[g->key_of_flags[c->flags % ARRAY_LEN(g->key_of_flags)] |
				      (c->ndispatch ? 0 : KEY_IDLE) |
				      (unsigned)g->key_of_stall[c->dispatch_stall] << KEY_STALL |
				      flush << KEY_FLUSH | s->front_reason << KEY_FRONT];
	return likely(k->known) ? k : learn(s, c, k);
}

/* What waited for the next to commit is its. */
static void settle(struct cpistack *s, uint64_t pc)
{
	for (uint32_t left = s->stages->waiting; left; left &= left - 1) {
		const unsigned k = (unsigned)__builtin_ctz(left);
		cells_add(&s->by_pc, cell_key(pc, 0, k), s->stalled[k] * s->scale, 0);
		s->stalled[k] = 0;
	}
	s->stages->waiting = 0;
}

static inline void commit_stage(struct cpistack *s, const struct rec_cycle *c,
				const struct rec_inst *group, const struct causes *k)
{
	struct stages *g = s->stages;
	const unsigned n = c->ncommit;
	const unsigned why = n ? CPI_BASE : k->commit;
	s->now.method[METHOD_COMMIT][why] += c->repeat;
	s->now.method[METHOD_POWER5][n ? CPI_BASE : k->power5] += c->repeat;
	if (n) {
		uint64_t units = g->first[n];
		if (g->waiting)
			settle(s, group[0].pc);
		for (unsigned i = 0; i < n; i++, units = g->share[n])
			execs_add(&g->execs, group[i].pc, units);
		s->last_pc = group[n - 1].pc;
		s->last_po = group[n - 1].po;
	} else if (c->flags & RC_ROB_EMPTY && c->flush_cause != FLUSH_NONE &&
		   c->flush_po <= s->last_po) {
		cells_add(&s->by_pc, cell_key(c->flush_pc, 0, why), c->repeat * s->scale, 0);
	} else {
		s->stalled[why] += c->repeat;
		g->waiting |= 1u << why;
	}
}

static inline void slot_stages(struct cpistack *s, const struct rec_cycle *c,
			       const struct causes *k)
{
	const int64_t width = s->meta.dispatch_width, repeat = c->repeat;
	const int64_t dispatched = (c->ndispatch < width ? c->ndispatch : width) * repeat;
	const int64_t issued = c->nissue < width * repeat ? c->nissue : width * repeat;
	const bool wrong = c->flags & RC_DISPATCH_WRONG;
	int64_t *dispatch = s->now.method[METHOD_DISPATCH], *td = s->now.topdown;
	int64_t *issue = s->now.method[METHOD_ISSUE];
	dispatch[wrong ? CPI_BMISP : CPI_BASE] += dispatched;
	td[wrong ? TD_MISPREDICTS : TD_RETIRING] += dispatched;
	dispatch[k->dispatch] += width * repeat - dispatched;
	td[k->topdown] += width * repeat - dispatched;
	issue[CPI_BASE] += issued;
	issue[k->issue] += width * repeat - issued;
}

void stages_cycle(struct cpistack *s, const struct rec_cycle *c, const struct rec_inst *group)
{
	const unsigned fetch = s->stages->front_of_fetch[c->fetch_stall];
	if (c->ndispatch)
		s->front_reason = CPI_BASE;
	if (fetch)
		s->front_reason = fetch;
	const struct causes *k = causes_of(s, c);
	commit_stage(s, c, group, k);
	slot_stages(s, c, k);
}

void stages_end(struct cpistack *s)
{
	settle(s, s->last_pc);
	execs_move(&s->stages->execs);
}
