/* SPDX-License-Identifier: MIT */
/*
 * Stall counters of a machine that issues in order, as Itanium and Alpha have them (eyerman2006 section
 * 6). Issue is the one place where slots are lost, so each issue slot has one owner:
 *
 * - An instruction issued in it: base.
 * - Something issued beside it: latency, as dependences and the rules of issue groups are.
 * - Instructions wait, and none issues: what the oldest instruction waits for.
 * - None waits: the front end. A miss that fetch waits for, on the right path; else the flush whose
 *   refill is not over; else the last miss that fetch waited for.
 *
 * A branch that turns out mispredicted takes over what issued behind it and what latency left empty there.
 *
 * A miss that goes to memory costs the L1 what a hit in the last cache would have, as in fmt.c: the slots lost while it
 * is younger than such a hit are the L1's.
 *
 * How many instructions wait is a counter: those that dispatch are added, those that issue subtracted,
 * and a flush leaves none, because all that is older than a resolved branch has issued.
 */
#include "analysis/cpistack/cpistack.h"

static enum cpi_component idle_reason(const struct cpistack *s, const struct rec_cycle *c,
				      enum cpi_component front)
{
	if (s->stalls.waiting)
		return cpi_head_reason(c);
	const enum cpi_component miss = cpi_fetch_miss(c->fetch_stall);
	if (c->flush_cause == FLUSH_NONE)
		return front == CPI_BASE ? CPI_FRONTEND : front;
	if (miss != CPI_BASE && !(c->flags & RC_WRONG_PATH))
		return miss;
	return c->flush_cause == FLUSH_MISPREDICT ? CPI_BMISP : CPI_FLUSH;
}

/* Adds slots lost in cycles at the end of the run; a miss that goes to memory shares them with the L1. */
static void lose(struct cpistack *s, enum cpi_component cause, uint64_t slots, uint64_t cycles,
		 uint64_t end)
{
	struct stalls *g = &s->stalls;
	int64_t *stack = s->now.method[METHOD_STALLS];
	const bool fetch = cause == CPI_L2I;
	if ((fetch || cause == CPI_L2D) && cycles) {
		const uint64_t since = fetch ? g->fetch_since : g->long_since, begin = end - cycles,
			       until = since + s->fmt.below,
			       young = until > begin ? min_u64(until - begin, cycles) : 0,
			       l1 = slots * young / cycles;
		stack[fetch ? CPI_L1I : CPI_L1D] += (int64_t)l1;
		slots -= l1;
	}
	if (cause == CPI_LONG)
		g->empty += slots;
	stack[cause] += (int64_t)slots;
}

/* Notes how many slots had been used, and how many left empty, when each instruction of the right path
 * issued. */
static void note_issue(struct stalls *g, uint64_t issued)
{
	for (uint64_t n = 0; n < issued && g->next_po < g->dispatched_po; n++, g->next_po++) {
		g->used_at[g->next_po % STALLS_RING] = g->used + n + 1;
		g->empty_at[g->next_po % STALLS_RING] = g->empty;
	}
}

/* Until a mispredicted branch has resolved, what issues behind it, or waits there, is the branch's. */
static void resolve(struct cpistack *s, const struct rec_cycle *c)
{
	struct stalls *g = &s->stalls;
	int64_t *stack = s->now.method[METHOD_STALLS];
	if (c->flush_cause == FLUSH_MISPREDICT && c->flush_po < g->next_po &&
	    c->flush_po + STALLS_RING > g->next_po) {
		const uint64_t used = g->used - g->used_at[c->flush_po % STALLS_RING],
			       empty = g->empty - g->empty_at[c->flush_po % STALLS_RING];
		stack[CPI_BASE] -= (int64_t)used;
		stack[CPI_LONG] -= (int64_t)empty;
		stack[CPI_BMISP] += (int64_t)(used + empty);
		g->used -= used;
		g->empty -= empty;
		g->next_po = c->flush_po + 1;
	}
	g->waiting = 0;
	g->dispatched_po = g->next_po;
}

void stalls_run(struct cpistack *s, const struct cpi_run *r)
{
	struct stalls *g = &s->stalls;
	const struct rec_cycle *c = r->c;
	const uint64_t width = s->meta.dispatch_width, slots = width * r->repeat;
	const uint64_t issued = min_u64(r->issued, slots),
		       cycles = min_u64(r->repeat, (issued + width - 1) / width);
	int64_t *stack = s->now.method[METHOD_STALLS];
	const enum cpi_component miss = cpi_fetch_miss(c->fetch_stall);
	if (miss != CPI_BASE)
		g->front = miss;
	if (miss != CPI_L2I)
		g->fetch_since = g->now + r->repeat;
	if (!(c->flags & (RC_LONG_DMISS_OUT | RC_HEAD_LONG_DMISS)))
		g->long_since = g->now + r->repeat;
	g->now += r->repeat;
	/* What is not in the reorder buffer does not wait. */
	g->waiting -= min_u64(g->waiting, issued);
	g->waiting = min_u64(g->waiting, c->rob_used);
	note_issue(g, issued);
	g->used += issued;
	stack[CPI_BASE] += (int64_t)issued;
	/* Beside what issued. */
	const uint64_t beside = cycles * width - issued;
	const enum cpi_component idle = idle_reason(s, c, g->front);
	lose(s, g->waiting ? CPI_LONG : idle, beside, cycles, g->now - (r->repeat - cycles));
	lose(s, idle, slots - issued - beside, r->repeat - cycles, g->now);
	if (c->ncommit)
		g->commit_po = c->head_po + c->ncommit;
	if (c->flags & RC_FLUSH)
		resolve(s, c);
	if (c->ndispatch) {
		const uint64_t po = c->head_po ? c->head_po + c->rob_used : g->commit_po;
		if (!g->waiting && g->dispatched_po != po)
			g->next_po = po;
		g->dispatched_po = po + c->ndispatch;
		g->waiting += c->ndispatch;
		g->front = miss;
	}
}
