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
 * With shotgun.from the samples are those of a file (samples.c); what only the run knows, its true edges
 * and its path, is then not there.
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
#include "trace/file_samples.h"

struct shotgun {
	struct shotgun_watch watch;
	struct samples_file *file; /* samples come from there; NULL: from this run */
	struct shotgun_samples from_file;
	struct edges_machine machine;
	struct shotgun_shape shape;
	struct graph_config config;
	struct graph *graph;
	struct graph_inst *batch;
	size_t nbatch; /* instructions of the stretch under way, with true edges */
	bool within;
	uint64_t perfect[GRAPH_LANES]; /* lengths of all stretches so far */
	uint64_t nperfect;
	uint64_t seed;
	bool ablation; /* designs for comparison, too */
	struct icost_categories categories;
	struct images *const *images;
};

/* Samples of another run, which shotgun-samples has kept. */
static bool open_samples(struct shotgun *s, const struct trace_meta *meta,
			 const struct analysis_options *o, const char *path, struct err *e)
{
	static const char *const decided[] = { "shotgun.detail", "shotgun.signature",
					       "shotgun.length", "shotgun.context",
					       "shotgun.bits" };
	const uint8_t *data;
	size_t size;

	for (size_t i = 0; i < ARRAY_LEN(decided); i++)
		if (analysis_given(o, decided[i]))
			return err_set(e, "%s: the samples of %s are as they were taken",
				       decided[i], path);
	if (!edges_machine_read(&s->machine, meta, o->info->machine, e) ||
	    !(s->file = samples_file_open(path, &samples_shotgun, e)))
		return false;
	data = samples_file_data(s->file, &size);
	struct err inner;
	if (!shotgun_unpack(&s->from_file, data, size, &inner))
		return err_set(e, "%s is damaged: %.400s", path, inner.text);
	s->shape = s->from_file.shape;

	return shotgun_fits(&s->from_file, &s->machine, &inner) ||
	       err_set(e, "%s is damaged: %.400s", path, inner.text);
}

static bool shotgun_start(void *state, const struct trace_meta *meta,
			  const struct analysis_options *o, struct err *e)
{
	struct shotgun *s = state;
	const char *from = analysis_given(o, "shotgun.from");

	if (from) {
		if (!open_samples(s, meta, o, from, e))
			return false;
	} else {
		if (!shotgun_watch_start(&s->watch, meta, o, e))
			return false;
		s->machine = s->watch.machine;
		s->shape = s->watch.shape;
	}
	s->config = edges_graph_config(&s->machine);
	s->seed = o->seed;
	s->ablation = analysis_number(o, "shotgun.ablation", 0);
	s->images = o->images;
	s->graph = graph_new(&s->config);
	if (!icost_categories_read(&s->categories, o, e))
		return false;
	if (!from)
		edges_rules(s->watch.edges, s->categories.rules, s->categories.nrules);
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

static bool shotgun_insts(void *state, const struct rec_inst *insts, size_t n, struct err *e)
{
	struct shotgun *s = state;
	for (size_t i = 0; i < n && !s->file; i++) {
		struct graph_inst edges;
		if (!(insts[i].flags & RI_COMMITTED))
			continue;
		s->within |= shotgun_watch_next(&s->watch, &insts[i], &edges);
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

static bool put_lengths(const struct shotgun *s, struct store *store, int design, uint64_t cycles,
			const uint64_t length[GRAPH_LANES], struct err *e)
{
	const double scale = (double)cycles / (double)length[0];
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

/* What compares with the run's own path is known only where samples have it. */
static bool put_counts(struct store *store, int design, const struct fragment_counts *c,
		       bool scored, struct err *e)
{
	const struct {
		const char *key;
		double value;
		bool compares;
	} rows[] = {
		{ "fragments_built", (double)c->built, false },
		{ "fragments_discarded", (double)c->discarded, false },
		{ "fragments_wrong", (double)c->wrong_built, true },
		{ "instructions", (double)c->insts, false },
		{ "indirect", (double)c->indirect, true },
		{ "indirect_right", (double)c->indirect_right, true },
		{ "errant", (double)c->errant, true },
		{ "pcs_right", (double)c->right_pc, true },
		{ "no_sample", (double)c->no_sample, false },
		{ "inexact", (double)c->inexact, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if ((scored || !rows[i].compares) &&
		    !store_insert(store, e, "shotgun_count", "isd", (int64_t)design, rows[i].key,
				  rows[i].value))
			return false;
	return true;
}

static const struct statics_tables tables = { "shotgun_instruction", "shotgun_critical",
					      "shotgun_pair", "shotgun_static_instructions" };

static bool build_design(struct shotgun *s, struct store *store, const struct shotgun_samples *from,
			 enum shotgun_design design, struct err *e)
{
	uint64_t length[GRAPH_LANES] = { 0 };
	struct statics *statics = statics_new(&s->config, design == DESIGN_LONG);
	struct fragments *f = fragments_new(&s->machine, *s->images, from->details, from->ndetails,
					    s->seed + 11, s->shape);

	graph_reset(s->graph);
	fragments_rules(f, s->categories.rules, s->categories.nrules);
	for (size_t i = 0; i < from->nlongs; i++) {
		const size_t n = fragments_build(f, design, &from->longs[i], s->batch);
		if (!n)
			continue;
		statics_add(statics, fragments_pcs(f), s->batch, n);
		add_lengths(s->graph, s->batch, n, length);
	}

	const struct fragment_counts c = fragments_counts(f);
	const bool ok = put_counts(store, design, &c, from->scored && design != DESIGN_HOT, e) &&
			(!c.built || put_lengths(s, store, design, from->cycles, length, e)) &&
			statics_store(statics, store, &tables, from->insts, from->cycles, e);

	statics_free(statics);
	fragments_free(f);
	return ok;
}

static bool shotgun_finish(void *state, struct store *store, struct err *e)
{
	struct shotgun *s = state;
	bool ok = true;

	if (!store || !s->images || !*s->images)
		return true;

	const struct shotgun_samples from =
	    s->file ? s->from_file : shotgun_watch_finish(&s->watch);

	for (int design = DESIGN_STATIC;
	     ok && design <= (s->ablation ? DESIGN_LETTER : DESIGN_LONG); design++)
		ok = build_design(s, store, &from, (enum shotgun_design)design, e);
	return ok && (!s->nperfect || put_lengths(s, store, 0, from.cycles, s->perfect, e)) &&
	       store_insert(store, e, "run", "si", "shotgun_instructions", (int64_t)from.insts) &&
	       store_insert(store, e, "run", "si", "shotgun_cycles", (int64_t)from.cycles) &&
	       store_insert(store, e, "run", "si", "shotgun_details", (int64_t)from.ndetails) &&
	       store_insert(store, e, "run", "si", "shotgun_signatures", (int64_t)from.nlongs);
}

static void shotgun_free(void *state)
{
	struct shotgun *s = state;
	shotgun_watch_free(&s->watch);
	shotgun_unpacked_free(&s->from_file);
	samples_file_close(s->file);
	graph_free(s->graph);
	free(s->batch);
}

static const struct analysis_param params[] = {
	SHOTGUN_PARAMS,
	{ "shotgun.ablation",
	  "1: also design 2 along hot paths (5) and the algorithm of fields2004's figure 7 to the "
	  "letter (6)",
	  true,
	  { 0, 1, NUMBER_DECIMAL } },
	{ "shotgun.from",
	  "a file that shotgun-samples wrote: fragments are built from it, and not from this run",
	  false,
	  { 0 } },
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
