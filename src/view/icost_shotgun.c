/* SPDX-License-Identifier: MIT */
/*
 * Shows what a shotgun profiler would have said, beside the whole graph:
 *
 *      Shotgun profiler    graph  stretches  design 2  design 3  design 4
 *        bmisp              49.6       49.4      74.3      47.3      50.8
 *      design 4: 38 fragments built, 0 discarded; 100.00% of PCs inferred right, …
 */
#include <math.h>

#include "view/icost.h"

static const int designs[] = { 0, 2, 3, 4, 5, 6 };

static void add_table(struct doc *d, const struct icost_model *m)
{
	const struct doc_column columns[] = {
		{ .head = "Shotgun profiler", .before = "", .width = -18 },
		{ DOC_SHOWN(m->by_profiler ? "shown" : "graph", "%.1f", 8), .factor = 100 },
		{ DOC_SHOWN("stretches", "%.1f", 9), .factor = 100 },
		{ DOC_SHOWN("design 2", "%.1f", 9), .factor = 100 },
		{ DOC_SHOWN("design 3", "%.1f", 9), .factor = 100 },
		{ DOC_SHOWN("design 4", "%.1f", 9), .factor = 100 },
		{ DOC_SHOWN("hot paths", "%.1f", m->shotgun[5].known ? 10 : 0), .factor = 100 },
		{ DOC_SHOWN("figure 7", "%.1f", m->shotgun[6].known ? 9 : 0), .factor = 100 },
	};

	doc_blank(d);
	struct doc_table *t = DOC_TABLE(d, columns, .heads = true);

	for (unsigned set = 1; set < ICOST_SETS; set++) {
		const int n = __builtin_popcount(set);

		if (n > 2 || (n == 2 && fabs(m->icost[set]) < 0.02 * m->graph_cycles))
			continue;
		doc_row(t);
		cell_format(t, "  %s", m->name[set]);
		cell_real(t, m->icost[set] / m->graph_cycles);
		for (size_t i = 0; i < ARRAY_LEN(designs); i++)
			if (m->shotgun[designs[i]].known)
				cell_real(t, m->shotgun[designs[i]].icost[set] / m->cycles);
			else
				cell_words(t, "-");
	}
	for (int i = 2; i < SHOTGUN_DESIGNS; i++) {
		const double *n = m->shotgun[i].count, insts = fmax(n[SHOTGUN_INSTS], 1);
		char right[64] = "";

		if (!(n[SHOTGUN_BUILT] + n[SHOTGUN_DISCARDED] >= 0))
			continue;
		if (n[SHOTGUN_RIGHT] >= 0)
			snprintf(right, sizeof(right), "%.2f%% of PCs inferred right, ",
				 100 * n[SHOTGUN_RIGHT] / insts);
		doc_line(d, NULL,
			 "  design %d: %.0f fragments built, %.0f discarded; %s%.2f%% without a "
			 "sample",
			 i, n[SHOTGUN_BUILT], n[SHOTGUN_DISCARDED], right,
			 100 * n[SHOTGUN_NO_SAMPLE] / insts);
	}
}

/* What the paper says of its own fragments (section 5.4). */
static void add_paths(struct doc *d, const double *n, const char *design)
{
	if (n[SHOTGUN_INDIRECT] > 0 && n[SHOTGUN_INDIRECT_RIGHT] >= 0)
		doc_line(d, NULL,
			 "  %s: the first sample's target is right for %.1f%% of %.0f indirect "
			 "branches (fields2004: 60-99%%)",
			 design, 100 * n[SHOTGUN_INDIRECT_RIGHT] / n[SHOTGUN_INDIRECT],
			 n[SHOTGUN_INDIRECT]);
	if (n[SHOTGUN_ERRANT] > 0)
		doc_line(d, NULL,
			 "  %s: %.0f fragments went astray, of which %.1f%% were noticed "
			 "(fields2004: 95-100%%)",
			 design, n[SHOTGUN_ERRANT],
			 100 * (n[SHOTGUN_ERRANT] - n[SHOTGUN_WRONG]) / n[SHOTGUN_ERRANT]);
}

static void add_score(struct doc *d, const struct icost_model *m)
{
	if (!m->score.events)
		return;
	doc_line(
	    d, NULL,
	    "  design 4 by instruction: %.0f of the graph's %.0f dearest events are among its own "
	    "ten; it is off by %.1f%% of their cost, by %.1f%% in how often they are critical, by "
	    "%.1f cycles in slack",
	    m->score.found, m->score.events, 100 * m->score.error, 100 * m->score.critical,
	    m->score.slack);
	doc_object(d, "shotgun_score");
	doc_real(d, "events", m->score.events);
	doc_real(d, "found", m->score.found);
	doc_real(d, "error", m->score.error);
	doc_real(d, "critical", m->score.critical);
	doc_real(d, "slack", m->score.slack);
	doc_close(d);
}

void icost_shotgun_add(struct doc *d, const struct icost_model *m)
{
	if (!m->has_shotgun)
		return;
	add_table(d, m);
	add_paths(d, m->shotgun[SHOTGUN_OURS].count, "design 4");
	add_paths(d, m->shotgun[6].count, "figure 7");
	add_score(d, m);
	doc_array(d, "shotgun");
	for (size_t i = 0; i < ARRAY_LEN(designs); i++) {
		const struct icost_shotgun *g = &m->shotgun[designs[i]];

		if (designs[i] > SHOTGUN_OURS && !(g->count[SHOTGUN_DISCARDED] >= 0))
			continue;
		doc_object(d, NULL);
		doc_integer(d, "design", designs[i]);
		icost_add_sets(d, "costs", m, g->known ? g->cost : NULL, NULL);
		icost_add_sets(d, "icosts", m, g->known ? g->icost : NULL, NULL);
		for (int k = 0; designs[i] && k < SHOTGUN_COUNTS; k++)
			doc_real(d, shotgun_count_names[k], g->count[k]);
		doc_close(d);
	}
	doc_close(d);
}
