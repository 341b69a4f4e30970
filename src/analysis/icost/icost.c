/* SPDX-License-Identifier: MIT */
/*
 * Costs and interaction costs of all sets of categories, for the run and for its phases, in one
 * pass: records become edges (edges.c), edges go through the graph (graph.c), the graph's length in
 * every lane is a run with that set idealised.
 *
 * The sum of all icosts is the time that the run has more than with everything idealised; with that
 * rest the breakdown is the whole run (fields2004 section 2.2).
 */
#include "analysis/icost/icost.h"

#include <stdlib.h>
#include <string.h>

#include "store/store.h"

#define STATICS_EVERY 16 /* of so many segments one is looked at for static instructions */

static bool icost_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct icost *s = state;
	struct edges_machine machine;
	if (!edges_machine_read(&machine, meta, o->info, e))
		return false;
	const struct graph_config config = edges_graph_config(&machine);
	s->meta = *meta;
	s->edges = edges_new(&machine);
	s->graph = graph_new(&config);
	s->batch = x_calloc(ICOST_BATCH, sizeof(*s->batch));
	s->phase = x_calloc(ICOST_PHASES, sizeof(*s->phase));
	s->phase_insts = s->phase_end = ICOST_PHASE_BASE;
	const char *every = analysis_param(o, "icost.statics");
	s->statics =
	    statics_new(&config, every ? (uint32_t)strtoul(every, NULL, 0) : STATICS_EVERY);
	for (unsigned k = 0; k < GRAPH_CATEGORIES; k++)
		snprintf(s->names[k], sizeof(s->names[k]), "%s", graph_category_name[k]);
	return true;
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

static void run_batch(struct icost *s)
{
	graph_add(s->graph, s->batch, s->nbatch);
	s->insts += s->nbatch;
	s->nbatch = 0;
	if (s->insts >= s->phase_end)
		end_phase(s);
}

static bool icost_insts(void *state, const struct rec_inst *insts, size_t n, struct err *e)
{
	struct icost *s = state;
	for (size_t i = 0; i < n; i++) {
		const struct rec_inst *r = &insts[i];
		if (!(r->flags & RI_COMMITTED))
			continue;
		edges_next(s->edges, r, &s->batch[s->nbatch]);
		statics_add(s->statics, r->pc, &s->batch[s->nbatch]);
		s->last_cycle = r->fetch + r->commit - edges_origin(s->edges);
		if (++s->nbatch == ICOST_BATCH)
			run_batch(s);
	}
	return true;
}

char *icost_set_name(const char names[GRAPH_CATEGORIES][32], unsigned set, char *buf,
		     size_t size_bytes)
{
	size_t n = 0;
	buf[0] = '\0';
	for (unsigned k = 0; k < GRAPH_CATEGORIES; k++)
		if (set >> k & 1 && n < size_bytes)
			n += (size_t)snprintf(buf + n, size_bytes - n, "%s%s", n ? "+" : "",
					      names[k]);
	return buf;
}

static bool put_costs(struct icost *s, struct store *store, int64_t phase, uint64_t insts,
		      const uint64_t *now, const uint64_t *before, struct err *e)
{
	double icost[GRAPH_LANES];
	const double t = (double)(now[0] - before[0]);
	bool ok = store_insert(store, e, "icost_phase", "iid", phase, (int64_t)insts, t);
	for (unsigned set = 0; set < GRAPH_LANES; set++)
		icost[set] = t - (double)(now[set] - before[set]);
	graph_icosts(icost);
	for (unsigned set = 1; ok && set < GRAPH_LANES; set++) {
		char name[300];
		icost_set_name(s->names, set, name, sizeof(name));
		ok = store_insert(store, e, "icost", "iisdd", phase, (int64_t)set, name,
				  t - (double)(now[set] - before[set]), icost[set]);
	}
	return ok;
}

static bool icost_finish(void *state, struct store *store, struct err *e)
{
	static const uint64_t zero[GRAPH_LANES];
	static const char *const residual[RESIDUAL_COUNT] = { "fetch", "dispatch", "execute",
							      "commit", "strict" };
	struct icost *s = state;
	uint64_t length[GRAPH_LANES];
	if (s->nbatch)
		run_batch(s);
	if (!s->insts || !store)
		return true;
	graph_length(s->graph, length);
	bool ok = put_costs(s, store, -1, s->insts, length, zero, e);
	for (size_t i = 0; ok && i < s->nphases; i++)
		ok = put_costs(s, store, (int64_t)i,
			       s->phase[i].insts - (i ? s->phase[i - 1].insts : 0),
			       s->phase[i].length, i ? s->phase[i - 1].length : zero, e);
	for (unsigned k = 0; ok && k < RESIDUAL_COUNT; k++) {
		char key[48];
		snprintf(key, sizeof(key), "graph_residual_%s", residual[k]);
		ok = store_insert(store, e, "run", "sd", key, (double)edges_residuals(s->edges)[k]);
	}
	ok = ok && statics_store(s->statics, store, s->insts, length[0], e);
	return ok && store_insert(store, e, "run", "sd", "graph_cycles", (double)length[0]) &&
	       store_insert(store, e, "run", "sd", "graph_reference_cycles", (double)s->last_cycle);
}

static void icost_free(void *state)
{
	struct icost *s = state;
	graph_free(s->graph);
	edges_free(s->edges);
	statics_free(s->statics);
	free(s->batch);
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
