/* SPDX-License-Identifier: MIT */
/*
 * Stacks taken at a stage of the pipeline. The commit stage blames what commit waits for, the
 * dispatch stage what keeps instructions out of the window, the issue stage what keeps them from
 * executing; the truth lies between them, because each stage sees the others' slack. Top-down
 * analysis is dispatch slots in words that users know (Yasin 2014): retiring, bad speculation,
 * front-end bound, back-end bound.
 *
 * Commit counts cycles; dispatch, issue and top-down count slots: cycles times dispatch width.
 */
#include "analysis/cpistack/cpistack.h"
#include "isa/isa.h"

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

static void settle(struct cpistack *s, uint64_t pc)
{
	for (unsigned k = 0; k < CPI_COMPONENTS; k++) {
		if (s->stalled[k])
			cells_add(&s->by_pc, cell_key(pc, 0, k), s->stalled[k] * s->scale, 0);
		s->stalled[k] = 0;
	}
}

static void commit_stage(struct cpistack *s, const struct rec_cycle *c,
			 const struct rec_inst *const *group)
{
	int64_t *stack = s->now.method[METHOD_COMMIT];
	if (c->ncommit) {
		const uint64_t each = s->scale / c->ncommit;
		stack[CPI_BASE] += c->repeat;
		settle(s, group[0]->pc);
		for (unsigned i = 0; i < c->ncommit; i++)
			cells_add(&s->by_pc, cell_key(group[i]->pc, 0, CPI_BASE),
				  i ? each : s->scale - (c->ncommit - 1) * each, 1);
		s->last_pc = group[c->ncommit - 1]->pc;
		s->last_po = group[c->ncommit - 1]->po;
		return;
	}
	enum cpi_component why = c->flags & RC_ROB_EMPTY ? front_reason(s, c) : cpi_head_reason(c);
	if (c->flags & RC_ROB_EMPTY && c->dispatch_stall == DISPATCH_SQ)
		why = CPI_SQ;
	stack[why] += c->repeat;
	if (c->flags & RC_ROB_EMPTY && c->flush_cause != FLUSH_NONE && c->flush_po <= s->last_po)
		cells_add(&s->by_pc, cell_key(c->flush_pc, 0, why), c->repeat * s->scale, 0);
	else
		s->stalled[why] += c->repeat;
}

static bool memory_bound(const struct rec_cycle *c)
{
	return c->dispatch_stall == DISPATCH_SQ ||
	       c->flags & (RC_HEAD_DTLB | RC_HEAD_LONG_DMISS | RC_HEAD_L1MISS) ||
	       (c->flags & RC_DMISS_OUT && !(c->flags & RC_HEAD_DONE));
}

static void dispatch_stage(struct cpistack *s, const struct rec_cycle *c)
{
	const int64_t width = s->meta.dispatch_width, n = c->ndispatch;
	const int64_t empty = (width - n > 0 ? width - n : 0) * c->repeat,
		      used = (width * c->repeat) - empty;
	int64_t *stack = s->now.method[METHOD_DISPATCH], *td = s->now.topdown;
	const bool wrong = c->flags & RC_DISPATCH_WRONG;
	stack[wrong ? CPI_BMISP : CPI_BASE] += used;
	td[wrong ? TD_MISPREDICTS : TD_RETIRING] += used;
	if (!empty)
		return;
	switch (c->dispatch_stall) {
	case DISPATCH_OK:
	case DISPATCH_EMPTY:
		/* a wrong path that runs dry is still the branch's doing */
		if (wrong || c->flush_cause == FLUSH_MISPREDICT ||
		    (c->flags & RC_WRONG_PATH && !n)) {
			stack[CPI_BMISP] += empty;
			td[TD_MISPREDICTS] += empty;
		} else if (c->flush_cause != FLUSH_NONE) {
			stack[CPI_FLUSH] += empty;
			td[TD_CLEARS] += empty;
		} else {
			stack[front_reason(s, c)] += empty;
			td[n ? TD_FETCH_BANDWIDTH : TD_FETCH_LATENCY] += empty;
		}
		break;
	case DISPATCH_SQ:
		stack[CPI_SQ] += empty;
		td[TD_MEMORY] += empty;
		break;
	case DISPATCH_SERIAL:
		stack[CPI_FLUSH] += empty;
		td[TD_CORE] += empty;
		break;
	default:
		stack[wrong ? CPI_BMISP : cpi_head_reason(c)] += empty;
		td[memory_bound(c) ? TD_MEMORY : TD_CORE] += empty;
	}
}

static void issue_stage(struct cpistack *s, const struct rec_cycle *c)
{
	const int64_t width = s->meta.dispatch_width;
	const int64_t used = (c->nissue < width ? c->nissue : width) * c->repeat,
		      empty = width * c->repeat - used;
	int64_t *stack = s->now.method[METHOD_ISSUE];
	stack[CPI_BASE] += used;
	if (c->flags & RC_ROB_EMPTY)
		stack[front_reason(s, c)] += empty;
	else if (c->flags & RC_HEAD_DONE && c->flags & RC_WRONG_PATH)
		stack[CPI_BMISP] += empty;
	else
		stack[cpi_head_reason(c)] += empty;
}

void stages_cycle(struct cpistack *s, const struct rec_cycle *c,
		  const struct rec_inst *const *group)
{
	const enum cpi_component fetch = cpi_fetch_reason(c);
	if (c->ndispatch)
		s->front_reason = CPI_BASE;
	if (fetch != CPI_BASE && fetch != CPI_FRONTEND)
		s->front_reason = fetch;
	commit_stage(s, c, group);
	dispatch_stage(s, c);
	issue_stage(s, c);
}

void stages_end(struct cpistack *s)
{
	settle(s, s->last_pc);
}
