/* SPDX-License-Identifier: MIT */
/*
 * The methods that counters of real machines allow (eyerman2006 section 2): events times a fixed
 * penalty, with or without the events of wrong paths, and POWER5's completion stalls, which look at
 * commit alone.
 */
#include "analysis/cpistack/cpistack.h"

static void count(uint64_t *events, const struct rec_inst *r)
{
	const uint32_t psv = r->psv;
	if (psv & PSV_DR_L1)
		events[psv & PSV_DR_LLC ? CPI_L2I : CPI_L1I]++;
	events[CPI_ITLB] += (psv & PSV_DR_TLB) != 0;
	/* a merged miss is not a miss of its own */
	if (psv & PSV_ST_L1 && !(psv & PSV_ST_MERGE))
		events[psv & PSV_ST_LLC ? CPI_L2D : CPI_L1D]++;
	events[CPI_DTLB] += (psv & PSV_ST_TLB) != 0;
	/* a squashed branch is known to be mispredicted only if it was executed */
	events[CPI_BMISP] += r->flags & RI_MISPREDICT && r->flags & (RI_COMMITTED | RI_RESOLVED);
}

void counters_inst(struct cpistack *s, const struct rec_inst *r)
{
	count(s->events[0], r);
	if (r->flags & RI_COMMITTED)
		count(s->events[1], r);
}

enum cpi_component counters_reason(const struct cpistack *s, const struct rec_cycle *c)
{
	if (!(c->flags & RC_ROB_EMPTY))
		return cpi_head_reason(c);
	if (c->flush_cause == FLUSH_MISPREDICT)
		return CPI_BMISP;
	if (c->flush_cause != FLUSH_NONE)
		return CPI_FLUSH;
	return s->front_reason == CPI_BASE ? CPI_FRONTEND : (enum cpi_component)s->front_reason;
}

/* Puts the rest of the cycles under base; it is negative if the penalties exceed the run. */
static void fill_base(struct cpistack *s, enum cpi_method m)
{
	int64_t sum = 0;
	s->now.method[m][CPI_BASE] = 0;
	for (unsigned k = 0; k < CPI_COMPONENTS; k++)
		sum += s->now.method[m][k];
	s->now.method[m][CPI_BASE] = s->now.cycles * cpi_scale(s, m) - sum;
}

void counters_penalties(const struct trace_meta *m, uint64_t penalty[CPI_COMPONENTS])
{
	/* Penalties are cycles beyond an L1 hit; a machine without an L2 goes to the LLC. */
	const uint32_t lower = m->l2_latency ? m->l2_latency : m->llc_latency;
	const uint64_t to_l2 = lower > m->l1d_latency ? lower - m->l1d_latency : 0;
	const uint64_t to_memory =
	    m->mem_latency > m->l1d_latency ? m->mem_latency - m->l1d_latency : 0;
	for (unsigned k = 0; k < CPI_COMPONENTS; k++)
		penalty[k] = 0;
	penalty[CPI_L1I] = penalty[CPI_L1D] = to_l2;
	penalty[CPI_L2I] = penalty[CPI_L2D] = to_memory;
	penalty[CPI_ITLB] = m->itlb_penalty;
	penalty[CPI_DTLB] = m->dtlb_penalty;
	penalty[CPI_BMISP] = m->frontend_depth;
}

void counters_end(struct cpistack *s)
{
	uint64_t penalty[CPI_COMPONENTS];
	counters_penalties(&s->meta, penalty);
	for (unsigned k = 0; k < CPI_COMPONENTS; k++) {
		s->now.method[METHOD_NAIVE][k] = (int64_t)(s->events[0][k] * penalty[k]);
		s->now.method[METHOD_NAIVE_NON_SPEC][k] = (int64_t)(s->events[1][k] * penalty[k]);
	}
	fill_base(s, METHOD_NAIVE);
	fill_base(s, METHOD_NAIVE_NON_SPEC);
	fill_base(s, METHOD_FMT);
	fill_base(s, METHOD_SFMT);
	fill_base(s, METHOD_FMT_PAPER);
}
