/* SPDX-License-Identifier: MIT */
/*
 * Costs and interaction costs of all sets of categories, for the run and for its phases, in one
 * pass. Records become edges (edges.c), and edges go through the graph (graph.c). The graph's length
 * in a lane is the time of the run with that lane's set of categories idealised.
 *
 * The icosts of all sets add up to the time that idealising everything saves; with the time that is
 * left, the breakdown is the whole run (fields2004 section 2.2).
 */
#include "analysis/icost/icost.h"

#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "trace/file.h"

#define STATICS_EVERY 16   /* one segment in how many is sampled for static instructions */
#define PLACES_EVERY  64   /* one batch in how many is sampled for functions, at last */
#define PLACES_GROUPS 4	   /* groups before one batch in twice as many is sampled */
#define FRAGMENT      8192 /* instructions of a sampled fragment */
#define LEAD	      4096 /* instructions before a fragment that warm the tags of the right path */
#define AHEAD	      12   /* records that are prefetched ahead */

void icost_default_names(char names[GRAPH_CATEGORIES][32])
{
	for (unsigned k = 0; k < GRAPH_CATEGORIES; k++)
		snprintf(names[k], sizeof(names[k]), "%s", words_costs[k].name);
}

static bool icost_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct icost *s = state;
	if (!edges_machine_read(&s->machine, meta, o->info->machine, e))
		return false;
	const struct graph_config config = edges_graph_config(&s->machine);
	const uint32_t sample = (uint32_t)analysis_number(o, "icost.sample", 1);
	s->shadow = shadow_new(o->info->machine, meta);
	s->edges = edges_new(&s->machine);
	edges_shadow(s->edges, s->shadow);
	s->graph = graph_new(&config);
	s->batch = x_calloc(ICOST_BATCH, sizeof(*s->batch));
	s->phase = x_calloc(ICOST_PHASES, sizeof(*s->phase));
	s->phase_insts = s->phase_end = ICOST_PHASE_BASE;
	if (sample > 1)
		s->schedule = (struct schedule){
			.one_in = sample, .insts = FRAGMENT, .lead = LEAD, .seed = o->seed + 1
		};
	s->info = o->info;
	s->statics = statics_new(
	    &config, (uint32_t)analysis_number(o, "icost.statics", sample > 1 ? 0 : STATICS_EVERY));
	s->places = places_new();
	rng_seed(&s->rng, o->seed + 1);
	s->images = o->images;
	if (!icost_categories_read(&s->categories, o, e))
		return false;
	edges_rules(s->edges, s->categories.rules, s->categories.nrules);
	return true;
}

static void all_lengths(const struct icost *s, uint64_t length[GRAPH_LANES])
{
	graph_length(s->graph, length);
	for (unsigned k = 0; k < GRAPH_LANES; k++)
		length[k] += s->length[k];
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
	all_lengths(s, s->phase[s->nphases++].length);
	s->phase_end = s->insts + s->phase_insts;
}

/* Of how many batches the present one stands for itself; 0: it is not sampled. Batches form groups, of
 * which one is sampled, by chance. The first groups are small: a short run is sampled, too. */
static unsigned batch_weight(struct icost *s)
{
	struct icost_group *g = &s->group;

	if (!g->left) {
		g->size = 1u << min_u64(g->number++ / PLACES_GROUPS, 31);
		g->size = g->size < PLACES_EVERY ? g->size : PLACES_EVERY;
		g->left = g->size;
		g->chosen = (unsigned)rng_below(&s->rng, g->size);
	}
	return --g->left == g->chosen ? g->size : 0;
}

static void run_batch(struct icost *s)
{
	const unsigned weight = batch_weight(s);

	statics_add(s->statics, s->pc, s->batch, s->nbatch);
	if (weight) {
		s->sampled += s->nbatch;
		places_add(s->places, s->graph, s->batch, s->pc, s->held, s->nbatch, weight);
	} else {
		graph_add(s->graph, s->batch, s->nbatch);
	}
	s->insts += s->nbatch;
	s->nbatch = 0;
	if (s->insts >= s->phase_end)
		end_phase(s);
}

/* Ends the present fragment: keeps its lengths and forgets the rest. */
static void end_fragment(struct icost *s)
{
	if (s->nbatch)
		run_batch(s);
	spent_end(&s->spent, s->places);
	uint64_t length[GRAPH_LANES];
	all_lengths(s, length);
	memcpy(s->length, length, sizeof(length));
	s->reference += s->now_cycle - edges_origin(s->edges);
	for (unsigned k = 0; k < RESIDUAL_COUNT; k++)
		s->residual[k] += edges_residuals(s->edges)[k];
	s->now_cycle = 0;
	graph_reset(s->graph);
	struct edges *next = edges_new(&s->machine);
	edges_learnt(next, s->edges);
	edges_free(s->edges);
	s->edges = next;
	edges_shadow(s->edges, s->shadow);
	edges_rules(s->edges, s->categories.rules, s->categories.nrules);
}

static struct schedule icost_schedule(const void *state)
{
	return ((const struct icost *)state)->schedule;
}

/* Whether the instruction is in a sampled fragment. */
static bool wanted(struct icost *s, const struct rec_inst *r)
{
	if (!s->schedule.one_in)
		return true;
	if (r->po >= s->stretch.end) {
		if (s->begun)
			end_fragment(s);
		s->stretch = schedule_next(&s->schedule, r->po);
	}
	s->begun = r->po >= s->stretch.from;
	if (!s->begun && s->shadow && r->po >= s->stretch.lead)
		shadow_watch(s->shadow, r);
	return s->begun;
}

static bool icost_insts(void *state, const struct rec_inst *insts, size_t n, struct err *e)
{
	struct icost *s = state;
	for (size_t i = 0; i < n; i++) {
		const struct rec_inst *r = &insts[i];
		/* records come from the caches of another processor */
		__builtin_prefetch(&r[AHEAD]);
		__builtin_prefetch((const char *)&r[AHEAD + 1] - 1);
		if (!(r->flags & RI_COMMITTED))
			continue;
		if (!wanted(s, r))
			continue;
		edges_next(s->edges, r, &s->batch[s->nbatch]);
		s->pc[s->nbatch] = r->pc;
		if (!s->now_cycle)
			spent_begin(&s->spent, edges_origin(s->edges));
		s->held[s->nbatch] = spent_inst(&s->spent, s->places, r);
		s->now_cycle = r->fetch + r->commit;
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
		      const uint64_t *now, const uint64_t *before, double scale, struct err *e)
{
	double cost[GRAPH_LANES], icost[GRAPH_LANES];
	const double t = (double)(now[0] - before[0]) * scale;
	bool ok = store_insert(store, e, "icost_phase", "iid", phase,
			       (int64_t)((double)insts * scale), t);
	for (unsigned set = 0; set < GRAPH_LANES; set++)
		icost[set] = cost[set] = t - (double)(now[set] - before[set]) * scale;
	graph_icosts(icost);
	for (unsigned set = 1; ok && set < GRAPH_LANES; set++) {
		char name[300];
		icost_set_name(s->categories.names, set, name, sizeof(name));
		ok = store_insert(store, e, "icost", "iisdd", phase, (int64_t)set, name, cost[set],
				  icost[set]);
	}
	return ok;
}

static const struct statics_tables tables = { "icost_instruction", "icost_critical", "icost_pair",
					      "icost_sampled_instructions" };

static bool icost_finish(void *state, struct store *store, struct err *e)
{
	static const uint64_t zero[GRAPH_LANES];
	static const char *const residual[RESIDUAL_COUNT] = { "fetch", "dispatch", "execute",
							      "commit", "strict" };
	struct icost *s = state;
	const bool whole = !s->schedule.one_in;
	if (whole || s->begun)
		end_fragment(s);
	if (!s->insts || !store)
		return true;
	/* Fragments are scaled to the whole run. */
	const uint64_t cycles = whole || !s->info ? s->reference : s->info->cycles;
	const double scale = whole ? 1 : (double)cycles / (double)s->reference;
	const uint64_t graph = (uint64_t)((double)s->length[0] * scale);
	bool ok = put_costs(s, store, -1, s->insts, s->length, zero, scale, e);
	for (size_t i = 0; ok && i < s->nphases; i++)
		ok = put_costs(s, store, (int64_t)i,
			       s->phase[i].insts - (i ? s->phase[i - 1].insts : 0),
			       s->phase[i].length, i ? s->phase[i - 1].length : zero, scale, e);
	for (unsigned k = 0; ok && k < RESIDUAL_COUNT; k++) {
		char key[48];
		snprintf(key, sizeof(key), "graph_residual_%s", residual[k]);
		ok = store_insert(store, e, "run", "sd", key, (double)s->residual[k]);
	}
	return ok && statics_store(s->statics, store, &tables, s->insts, graph, e) &&
	       places_store(s->places, store, s->images ? *s->images : NULL, s->length, scale, e) &&
	       store_insert(store, e, "run", "sd", "graph_cycles", (double)graph) &&
	       store_insert(store, e, "run", "sd", "icost_sampled_share",
			    (double)s->sampled / (double)s->insts) &&
	       store_insert(store, e, "run", "sd", "graph_reference_cycles", (double)cycles);
}

static void icost_free(void *state)
{
	struct icost *s = state;
	graph_free(s->graph);
	edges_free(s->edges);
	shadow_free(s->shadow);
	statics_free(s->statics);
	places_free(s->places);
	free(s->batch);
	free(s->phase);
}

static const struct analysis_param params[] = {
	{ "icost.sample",
	  "one fragment in how many; 1: all",
	  true,
	  { 1, 1000000, NUMBER_DECIMAL } },
	{ "icost.statics",
	  "one segment in how many for static instructions; 0: none",
	  true,
	  { 0, 1000000, NUMBER_DECIMAL } },
	{ "icost.categories", "which events and instructions are a category", false, { 0 } },
	{ .name = NULL },
};

const struct analysis icost_analysis = {
	.params = params,
	.name = "icost",
	.summary =
	    "costs and interaction costs of all 255 sets of categories, from the dependence graph",
	.wants = WANT_INSTS | WANT_PRODUCERS | WANT_LATENCIES,
	.tables = (const struct analysis_table[]){ { "icost_instruction", NULL },
						   { "icost_place", NULL },
						   { NULL, NULL } },
	.state_size = sizeof(struct icost),
	.start = icost_start,
	.schedule = icost_schedule,
	.insts = icost_insts,
	.finish = icost_finish,
	.free = icost_free,
};
