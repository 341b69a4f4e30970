/* SPDX-License-Identifier: MIT */
/*
 * Shotgun profiling as an analysis. It takes samples during the run, builds fragments at its end by
 * designs 2, 3 and 4 of fields2004 table IV, and computes costs from them as from the whole graph.
 * Design 0 is not a profiler: it has the same stretches of the run with the true edges, so that the
 * error of sampling and that of building fragments can be told apart (table IX).
 *
 * Each fragment goes through the graph twice, and the second time counts: it starts with the machine as
 * it left it itself. With an empty machine, filling and draining a window would be costs of something.
 * With the machine as the fragment before left it, a large window overlaps two stretches that are far
 * apart in the run, and saves more than it could there.
 *
 * Of design 4, the paper's, the fragments also give costs, criticality, slack and pairs of static
 * instructions, as segments of the run give them for the whole graph (icost/statics.c).
 *
 * Parameters: shotgun.detail and shotgun.signature, the mean number of instructions between
 * samples; shotgun.length, shotgun.context and shotgun.bits, what a sample has.
 */
#include "analysis/shotgun/shotgun.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/icost/icost.h"
#include "analysis/icost/statics.h"
#include "store/store.h"
#include "trace/file.h"

#define DETAIL_PERIOD 200
#define LONG_PERIOD   20000
#define MAX_DETAILS   (1u << 20)
#define MAX_LONGS     1024

struct shotgun {
	struct edges_machine machine;
	struct monitor *monitor;
	struct graph_config config;
	struct graph *graph;
	struct edges *edges;
	struct shadow *shadow;
	struct graph_inst *batch;
	size_t nbatch; /* instructions of the stretch under way, with true edges */
	bool within;
	uint64_t perfect[GRAPH_LANES]; /* lengths of all stretches so far */
	uint64_t nperfect;
	uint64_t insts, first_cycle, last_cycle;
	uint64_t seed;
	struct shotgun_shape shape;
	struct icost_categories categories;
	struct images *const *images;
};

static bool shotgun_start(void *state, const struct trace_meta *meta,
			  const struct analysis_options *o, struct err *e)
{
	struct shotgun *s = state;
	if (!edges_machine_read(&s->machine, meta, o->info->machine, e))
		return false;
	const struct monitor_config mc = {
		.detail_period = (uint32_t)analysis_number(o, "shotgun.detail", DETAIL_PERIOD),
		.long_period = (uint32_t)analysis_number(o, "shotgun.signature", LONG_PERIOD),
		.max_details = MAX_DETAILS,
		.max_longs = MAX_LONGS,
		.seed = o->seed + 7,
		.shape = { .length = (uint32_t)analysis_number(o, "shotgun.length", SHOTGUN_LONG),
			   .context =
			       (uint32_t)analysis_number(o, "shotgun.context", SHOTGUN_CONTEXT),
			   .bits = (uint32_t)analysis_number(o, "shotgun.bits", SHOTGUN_BITS) },
	};
	if (mc.detail_period < shotgun_span(&mc.shape))
		return err_set(
		    e,
		    "shotgun.detail=%u: one sample is under way at a time, so at least %u "
		    "instructions lie between two",
		    mc.detail_period, shotgun_span(&mc.shape));
	s->shape = mc.shape;
	s->config = edges_graph_config(&s->machine);
	s->seed = o->seed;
	s->images = o->images;
	s->monitor = monitor_new(&mc);
	s->graph = graph_new(&s->config);
	s->edges = edges_new(&s->machine);
	s->shadow = shadow_new(o->info->machine, meta);
	edges_shadow(s->edges, s->shadow);
	if (!icost_categories_read(&s->categories, o, e))
		return false;
	edges_rules(s->edges, s->categories.rules, s->categories.nrules);
	s->batch = x_calloc(s->shape.length, sizeof(*s->batch));
	return true;
}

/* Adds the lengths of a stretch that follows itself. */
static void add_lengths(struct graph *g, const struct graph_inst *in, size_t n,
			uint64_t sum[GRAPH_LANES])
{
	uint64_t from[GRAPH_LANES], to[GRAPH_LANES];
	graph_add(g, in, n);
	graph_length(g, from);
	graph_add(g, in, n);
	graph_length(g, to);
	for (unsigned k = 0; k < GRAPH_LANES; k++)
		sum[k] += to[k] - from[k];
}

/* Cycles saved because a wrong path had fetched the line. */
static uint16_t saved(const struct graph_inst *in, enum graph_category category)
{
	if (category == CAT_SAVED_IMISS)
		return in->fetch[2].category == category ? in->fetch[2].cycles : 0;
	for (unsigned k = 0; k < GRAPH_EP_PARTS && in->ep_part[k].cycles; k++)
		if (in->ep_part[k].category == category)
			return in->ep_part[k].cycles;
	return 0;
}

static bool shotgun_insts(void *state, const struct rec_inst *insts, size_t n, struct err *e)
{
	struct shotgun *s = state;
	for (size_t i = 0; i < n; i++) {
		const struct rec_inst *r = &insts[i];
		struct graph_inst edges;
		if (!(r->flags & RI_COMMITTED))
			continue;
		if (!s->insts++)
			s->first_cycle = r->fetch;
		s->last_cycle = r->fetch + r->commit;
		edges_next(s->edges, r, &edges);
		const struct edges_seen at = edges_seen(s->edges);
		const struct shotgun_seen seen = { .isaved = saved(&edges, CAT_SAVED_IMISS),
						   .dsaved = saved(&edges, CAT_SAVED_DMISS),
						   .stall = at.stall,
						   .stored = at.stored };
		if (monitor_add(s->monitor, r, &seen))
			s->within = true;
		if (!s->within)
			continue;
		s->batch[s->nbatch++] = edges;
		if (s->nbatch < s->shape.length)
			continue;
		add_lengths(s->graph, s->batch, s->nbatch, s->perfect);
		s->nperfect++;
		s->nbatch = 0;
		s->within = false;
	}
	return true;
}

static bool put_lengths(const struct shotgun *s, struct store *store, int design,
			const uint64_t length[GRAPH_LANES], struct err *e)
{
	const double scale = (double)(s->last_cycle - s->first_cycle) / (double)length[0];
	double cost[GRAPH_LANES], icost[GRAPH_LANES];
	bool ok = true;
	for (unsigned set = 0; set < GRAPH_LANES; set++)
		cost[set] = icost[set] = ((double)length[0] - (double)length[set]) * scale;
	graph_icosts(icost);
	for (unsigned set = 1; ok && set < GRAPH_LANES; set++) {
		char name[300];
		icost_set_name(s->categories.names, set, name, sizeof(name));
		ok = store_insert(store, e, "shotgun", "iisdd", (int64_t)design, (int64_t)set, name,
				  cost[set], icost[set]);
	}
	return ok;
}

static bool put_counts(struct store *store, int design, const struct fragment_counts *c,
		       struct err *e)
{
	const struct {
		const char *key;
		double value;
	} rows[] = {
		{ "fragments_built", (double)c->built },
		{ "fragments_discarded", (double)c->discarded },
		{ "fragments_wrong", (double)c->wrong_built },
		{ "instructions", (double)c->insts },
		{ "indirect", (double)c->indirect },
		{ "indirect_right", (double)c->indirect_right },
		{ "errant", (double)c->errant },
		{ "pcs_right", (double)c->right_pc },
		{ "no_sample", (double)c->no_sample },
		{ "inexact", (double)c->inexact },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!store_insert(store, e, "shotgun_count", "isd", (int64_t)design, rows[i].key,
				  rows[i].value))
			return false;
	return true;
}

static const struct statics_tables tables = { "shotgun_instruction", "shotgun_critical",
					      "shotgun_pair", "shotgun_static_instructions" };

static bool shotgun_finish(void *state, struct store *store, struct err *e)
{
	struct shotgun *s = state;
	size_t ndetails, nlongs;
	bool ok = true;
	if (!store || !s->images || !*s->images)
		return true;
	monitor_finish(s->monitor);
	const struct shotgun_detail *details = monitor_details(s->monitor, &ndetails);
	const struct shotgun_long *longs = monitor_longs(s->monitor, &nlongs);
	for (int design = DESIGN_STATIC; ok && design <= DESIGN_LONG; design++) {
		uint64_t length[GRAPH_LANES] = { 0 };
		struct statics *statics = statics_new(&s->config, design == DESIGN_LONG);
		graph_reset(s->graph);
		struct fragments *f = fragments_new(&s->machine, *s->images, details, ndetails,
						    s->seed + 11, s->shape);
		fragments_rules(f, s->categories.rules, s->categories.nrules);
		for (size_t i = 0; i < nlongs; i++) {
			const size_t n =
			    fragments_build(f, (enum shotgun_design)design, &longs[i], s->batch);
			if (!n)
				continue;
			statics_add(statics, fragments_pcs(f), s->batch, n);
			add_lengths(s->graph, s->batch, n, length);
		}
		const struct fragment_counts c = fragments_counts(f);
		ok = put_counts(store, design, &c, e) &&
		     (!c.built || put_lengths(s, store, design, length, e)) &&
		     statics_store(statics, store, &tables, s->insts,
				   s->last_cycle - s->first_cycle, e);
		statics_free(statics);
		fragments_free(f);
	}
	return ok && (!s->nperfect || put_lengths(s, store, 0, s->perfect, e)) &&
	       store_insert(store, e, "run", "si", "shotgun_instructions", (int64_t)s->insts) &&
	       store_insert(store, e, "run", "si", "shotgun_cycles",
			    (int64_t)(s->last_cycle - s->first_cycle)) &&
	       store_insert(store, e, "run", "si", "shotgun_details", (int64_t)ndetails) &&
	       store_insert(store, e, "run", "si", "shotgun_signatures", (int64_t)nlongs);
}

static void shotgun_free(void *state)
{
	struct shotgun *s = state;
	monitor_free(s->monitor);
	graph_free(s->graph);
	edges_free(s->edges);
	shadow_free(s->shadow);
	free(s->batch);
}

static const struct analysis_param params[] = {
	{ "shotgun.detail",
	  "instructions between two detailed samples",
	  true,
	  { 3, 1000000000, NUMBER_DECIMAL } },
	{ "shotgun.signature",
	  "instructions between two signature samples",
	  true,
	  { 1, 1000000000, NUMBER_DECIMAL } },
	{ "shotgun.length",
	  "instructions of a signature sample, and of a fragment; 2000 by default",
	  true,
	  { 64, SHOTGUN_LONG_MOST, NUMBER_DECIMAL } },
	{ "shotgun.context",
	  "instructions on each side of a detailed sample whose bits it has; 10 by default",
	  true,
	  { 1, SHOTGUN_CONTEXT_MOST, NUMBER_DECIMAL } },
	{ "shotgun.bits",
	  "bits of an instruction's signature; 1: only whether branches were taken; 2 by default",
	  true,
	  { 1, SHOTGUN_BITS, NUMBER_DECIMAL } },
	{ .name = NULL },
};

const struct analysis shotgun_analysis = {
	.params = params,
	.name = "shotgun",
	.summary = "costs from what hardware could sample, by the designs of fields2004 table IV",
	.wants = WANT_INSTS | WANT_PRODUCERS | WANT_LATENCIES,
	.tables = (const struct analysis_table[]){ { "shotgun_instruction", NULL },
						   { "shotgun_critical", NULL },
						   { NULL, NULL } },
	.state_size = sizeof(struct shotgun),
	.start = shotgun_start,
	.insts = shotgun_insts,
	.finish = shotgun_finish,
	.free = shotgun_free,
};
