/* SPDX-License-Identifier: MIT */
/*
 * The analysis around the methods: walks the records, keeps a vector of all counters, and cuts the
 * run into at most CPI_PHASES phases. Phases start short; when there are too many, pairs are joined
 * and the length doubles, so memory is bounded and a short run still has a time axis.
 *
 * Invariant: every method but the naive ones hands out exactly the cycles of the run (slots: times
 * the width).
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>
#include <string.h>

const char *const cpi_component_name[CPI_COMPONENTS] = {
	[CPI_BASE] = "base",	     [CPI_L1I] = "L1 I-cache",	 [CPI_L2I] = "L2 I-cache",
	[CPI_ITLB] = "I-TLB",	     [CPI_BMISP] = "mispredict", [CPI_L1D] = "L1 D-cache",
	[CPI_L2D] = "L2 D-cache",    [CPI_DTLB] = "D-TLB",	 [CPI_LONG] = "long latency",
	[CPI_FLUSH] = "other flush", [CPI_SQ] = "store queue",	 [CPI_FRONTEND] = "front end",
};

const char *const topdown_name[TD_COMPONENTS] = {
	[TD_RETIRING] = "retiring",
	[TD_MISPREDICTS] = "bad speculation: mispredicts",
	[TD_CLEARS] = "bad speculation: other flushes",
	[TD_FETCH_LATENCY] = "front-end bound: latency",
	[TD_FETCH_BANDWIDTH] = "front-end bound: bandwidth",
	[TD_MEMORY] = "back-end bound: memory",
	[TD_CORE] = "back-end bound: core",
};

static bool cpistack_start(void *state, const struct trace_meta *meta,
			   const struct analysis_options *o, struct err *e)
{
	struct cpistack *s = state;
	if (!meta->dispatch_width || meta->commit_width > WALK_WIDTH_MAX)
		return err_set(e, "commit width %u is not in 1..%d", meta->commit_width,
			       WALK_WIDTH_MAX);
	s->meta = *meta;
	s->scale = 720720; /* divisible by 1..16 */
	s->phase = x_calloc(CPI_PHASES, sizeof(*s->phase));
	s->phase_cycles = s->phase_end = CPI_PHASE_BASE;
	fmt_init(&s->fmt, meta);
	cells_init(&s->by_pc);
	s->stages = stages_new(s);
	return true;
}

static void end_phase(struct cpistack *s)
{
	if (s->nphases == CPI_PHASES) {
		for (size_t i = 0; i < CPI_PHASES / 2; i++)
			s->phase[i] = s->phase[2 * i + 1];
		s->nphases = CPI_PHASES / 2;
		s->phase_cycles *= 2;
		s->phase_end = (uint64_t)s->phase[s->nphases - 1].cycles + s->phase_cycles;
		if ((uint64_t)s->now.cycles < s->phase_end)
			return;
	}
	s->phase[s->nphases++] = s->now;
	while (s->phase_end <= (uint64_t)s->now.cycles)
		s->phase_end += s->phase_cycles;
}

/* The instructions of a batch, looked at before their cycles. */
struct look {
	const struct rec_inst *insts;
	size_t count, at;
	uint64_t special; /* the next that fmt_commit has to do with; none: UINT64_MAX */
};

/* Counts events up to the next special one. */
static void look_ahead(struct cpistack *s, struct look *l)
{
	for (; l->at < l->count; l->at++) {
		const struct rec_inst *r = &l->insts[l->at];
		walk_fetch(r + WALK_AHEAD);
		if (likely(!r->psv && !(r->flags & RI_MISPREDICT)))
			continue;
		counters_inst(s, r);
		if (r->flags & RI_COMMITTED && fmt_special(r)) {
			l->special = r->po;
			l->at++;
			return;
		}
	}
	l->special = UINT64_MAX;
}

static void commit_special(struct cpistack *s, struct look *l, const struct rec_cycle *c,
			   const struct rec_inst *group)
{
	for (unsigned k = 0; k < c->ncommit; k++) {
		if (fmt_wants(&s->fmt, &group[k]))
			fmt_commit(s, c, &group[k]);
		while (group[k].po >= l->special)
			look_ahead(s, l);
	}
}

static bool cpistack_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			   const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct cpistack *s = state;
	struct walk walk = { insts, ninsts, 0 };
	struct look look = { insts, ninsts, 0, 0 };
	struct rec_inst room[WALK_WIDTH_MAX];
	look_ahead(s, &look);
	for (size_t i = 0; i < ncycles; i++) {
		const struct rec_cycle *c = &cycles[i];
		const struct rec_inst *group = NULL;
		walk_fetch(c + WALK_AHEAD);
		if (c->ncommit && !(group = walk_group(&walk, c, room, e)))
			return false;
		fmt_cycle(s, c);
		stages_cycle(s, c, group);
		if (group && (s->fmt.have_branch || c->head_po + c->ncommit > look.special))
			commit_special(s, &look, c, group);
		s->now.cycles += c->repeat;
		s->now.insts += c->ncommit;
		s->dispatched += c->ndispatch;
		if (unlikely((uint64_t)s->now.cycles >= s->phase_end))
			end_phase(s);
	}
	while (look.at < look.count)
		look_ahead(s, &look);
	return true;
}

static bool cpistack_finish(void *state, struct store *store, struct err *e)
{
	struct cpistack *s = state;
	stages_end(s);
	counters_end(s);
	if (s->now.cycles && (!s->nphases || s->phase[s->nphases - 1].cycles != s->now.cycles)) {
		s->phase_end = (uint64_t)s->now.cycles;
		if (s->nphases == CPI_PHASES)
			s->nphases--;
		s->phase[s->nphases++] = s->now;
	}
	return !store || cpistack_store(s, store, e);
}

static void cpistack_free(void *state)
{
	struct cpistack *s = state;
	fmt_free(&s->fmt);
	cells_free(&s->by_pc);
	stages_free(s->stages);
	free(s->phase);
}

const struct analysis cpistack_analysis = {
	.name = "cpistack",
	.summary = "CPI stacks: FMT, sFMT, naive, POWER5, by stage, and top-down",
	.wants = WANT_CYCLES | WANT_HEAD | WANT_INSTS | WANT_SQUASHED_EVENTS | WANT_BRIEF,
	.state_size = sizeof(struct cpistack),
	.start = cpistack_start,
	.batch = cpistack_batch,
	.finish = cpistack_finish,
	.free = cpistack_free,
};
