/* SPDX-License-Identifier: MIT */
/*
 * Builds the dependence graph from inst records.
 *
 * Latencies are the ones that were observed, divided among categories: an execution latency into
 * the L1 hit (dl1), what a miss adds (dmiss) or the operation itself (shalu, lgalu); waiting for a
 * unit is bandwidth. What table II's edges do not explain of a dispatch is a residual on the DD
 * edge, and it goes to the category of what held the instruction: the I-cache, a full queue or too
 * few registers (window), a fetch block that ended early (bandwidth), or none (serialising
 * instructions, exceptions). So the base graph follows the machine, and only where the graph's own
 * edges are too strict can it run ahead.
 *
 * Not in the graph: that a miss which becomes a hit also frees MSHRs and buses for others, and that
 * a removed mispredict removes the wrong path's cache pollution.
 */
#include "analysis/icost/icost.h"

#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "store/store.h"

static uint16_t cut(uint64_t cycles)
{
	return (uint16_t)min_u64(cycles, UINT16_MAX);
}

static bool icost_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct icost *s = state;
	struct graph_config config = { .window = meta->rob_entries,
				       .window_ideal = 20 * meta->rob_entries,
				       .fetch_width = meta->dispatch_width,
				       .commit_width = meta->commit_width };
	if (!config.window || !config.fetch_width || !config.commit_width)
		return err_set(e, "the trace does not say how large the machine's window is");
	s->meta = *meta;
	s->graph = graph_new(&config);
	s->phase = x_calloc(ICOST_PHASES, sizeof(*s->phase));
	s->phase_insts = s->phase_end = ICOST_PHASE_BASE;
	return true;
}

static enum graph_category execution_category(unsigned cls)
{
	switch (cls) {
	case CLASS_LOAD:
	case CLASS_AMO:
		return CAT_DL1;
	case CLASS_MUL:
	case CLASS_DIV:
	case CLASS_FADD:
	case CLASS_FMUL:
	case CLASS_FDIV:
	case CLASS_FSQRT:
		return CAT_LGALU;
	default:
		return CAT_SHALU;
	}
}

static enum graph_category residual_category(const struct rec_inst *r, const struct rec_inst *prev)
{
	if (r->flags & (RI_SERIAL | RI_REFETCH) ||
	    (prev && prev->flags & (RI_SERIAL | RI_FLUSHES | RI_EXCEPTION)))
		return CAT_NONE;
	switch (r->dispatch_stall) {
	case DISPATCH_ROB:
	case DISPATCH_IQ:
	case DISPATCH_LQ:
	case DISPATCH_SQ:
	case DISPATCH_REGS:
	case DISPATCH_BRANCHES:
		return CAT_WIN;
	case DISPATCH_SERIAL:
		return CAT_NONE;
	default:
		return prev && prev->flags & RI_MISPREDICT ? CAT_BMISP : CAT_BW;
	}
}

void icost_edges(const struct trace_meta *meta, const struct rec_inst *r,
		 const struct rec_inst *prev, struct graph_inst *out)
{
	memset(out, 0, sizeof(*out));
	const uint32_t latency = r->complete - r->issue;
	const bool shares = r->prod_line != 0;
	const uint32_t miss = r->lat_dmiss < latency ? r->lat_dmiss : latency;
	out->dr = 1;
	out->re = (struct graph_part){ cut(r->issue - r->ready), CAT_BW };
	out->ep[0] =
	    (struct graph_part){ cut(latency - miss), (uint8_t)execution_category(r->cls) };
	if (!shares)
		out->ep[1] = (struct graph_part){ cut(miss), CAT_DMISS };
	out->line = r->prod_line;
	for (unsigned k = 0; k < 3; k++)
		if (r->prod[k]) {
			out->producer[out->nproducers].distance = r->prod[k];
			out->producer[out->nproducers++].cycles = cut(meta->wakeup_latency);
		}
	if (r->prod_mem)
		out->producer[out->nproducers++].distance = r->prod_mem;
	out->pc = (struct graph_part){ 1, CAT_NONE };
	if (prev && prev->flags & RI_MISPREDICT) {
		out->after_mispredict = true;
		out->pd = cut(meta->mispredict_loop);
	}
}

/* What the edges do not explain. */
static void add_residuals(struct icost *s, const struct rec_inst *r, const struct rec_inst *prev,
			  struct graph_inst *in)
{
	const uint64_t d = r->fetch + r->dispatch - s->origin, c = r->fetch + r->commit - s->origin;
	const uint64_t imiss = (uint64_t)r->lat_icache + r->lat_itlb;
	struct graph_times t = graph_predict(s->graph, in);
	if (d > t.d) {
		uint64_t before = graph_count(s->graph) ? graph_base(s->graph).d : 0,
			 gap = d - before, rest = gap;
		uint64_t front = imiss < rest ? imiss : rest;
		in->dd[0] = (struct graph_part){ cut(front), CAT_IMISS };
		rest -= front;
		in->dd[1] = (struct graph_part){ cut(rest), (uint8_t)residual_category(r, prev) };
	}
	t = graph_predict(s->graph, in);
	if (c > t.c) {
		uint64_t after = c - t.p;
		in->pc = (struct graph_part){ cut(after), CAT_NONE };
	}
	if (t.c > c && t.c - c > s->over)
		s->over = t.c - c;
}

static void end_phase(struct icost *s)
{
	if (s->nphases == ICOST_PHASES) {
		for (size_t i = 0; i < ICOST_PHASES / 2; i++)
			s->phase[i] = s->phase[2 * i + 1];
		s->nphases = ICOST_PHASES / 2;
		s->phase_insts *= 2;
	}
	s->phase[s->nphases].insts = s->insts;
	graph_length(s->graph, s->phase[s->nphases++].length);
	s->phase_end = s->insts + s->phase_insts;
}

static bool icost_insts(void *state, const struct rec_inst *insts, size_t n, struct err *e)
{
	struct icost *s = state;
	for (size_t i = 0; i < n; i++) {
		const struct rec_inst *r = &insts[i], *prev = s->started ? &s->prev : NULL;
		struct graph_inst in;
		if (!(r->flags & RI_COMMITTED))
			continue;
		if (!s->started) {
			s->started = true;
			s->origin = r->fetch + r->dispatch;
			s->first_cycle = r->fetch;
		}
		icost_edges(&s->meta, r, prev, &in);
		add_residuals(s, r, prev, &in);
		graph_add(s->graph, &in);
		s->prev = *r;
		s->last_cycle = r->fetch + r->commit;
		if (++s->insts >= s->phase_end)
			end_phase(s);
	}
	return true;
}

static void set_name(unsigned set, char *buf, size_t size_bytes)
{
	size_t n = 0;
	buf[0] = '\0';
	for (unsigned k = 0; k < GRAPH_CATEGORIES; k++)
		if (set >> k & 1)
			n += (size_t)snprintf(buf + n, size_bytes - n, "%s%s", n ? "+" : "",
					      graph_category_name[k]);
}

static bool put_costs(struct store *store, int64_t phase, uint64_t insts, const uint64_t *now,
		      const uint64_t *before, struct err *e)
{
	double icost[GRAPH_LANES];
	const double t = (double)(now[0] - before[0]);
	bool ok = store_insert(store, e, "icost_phase", "iid", phase, (int64_t)insts, t);
	for (unsigned set = 0; set < GRAPH_LANES; set++)
		icost[set] = t - (double)(now[set] - before[set]);
	graph_icosts(icost);
	for (unsigned set = 1; ok && set < GRAPH_LANES; set++) {
		char name[128];
		set_name(set, name, sizeof(name));
		ok = store_insert(store, e, "icost", "iisdd", phase, (int64_t)set, name,
				  t - (double)(now[set] - before[set]), icost[set]);
	}
	return ok;
}

static bool icost_finish(void *state, struct store *store, struct err *e)
{
	static const uint64_t zero[GRAPH_LANES];
	struct icost *s = state;
	uint64_t length[GRAPH_LANES];
	if (!s->insts || !store)
		return true;
	graph_length(s->graph, length);
	bool ok = put_costs(store, -1, s->insts, length, zero, e);
	for (size_t i = 0; ok && i < s->nphases; i++)
		ok = put_costs(store, (int64_t)i,
			       s->phase[i].insts - (i ? s->phase[i - 1].insts : 0),
			       s->phase[i].length, i ? s->phase[i - 1].length : zero, e);
	return ok && store_insert(store, e, "run", "sd", "graph_cycles", (double)length[0]) &&
	       store_insert(store, e, "run", "sd", "graph_reference_cycles",
			    (double)(s->last_cycle - s->origin));
}

static void icost_free(void *state)
{
	struct icost *s = state;
	graph_free(s->graph);
	free(s->phase);
}

const struct analysis icost_analysis = {
	.name = "icost",
	.summary =
	    "costs and interaction costs of all 255 sets of categories, from the dependence graph",
	.wants = WANT_INSTS | WANT_PRODUCERS | WANT_LATENCIES,
	.state_size = sizeof(struct icost),
	.start = icost_start,
	.insts = icost_insts,
	.finish = icost_finish,
	.free = icost_free,
};
