/* SPDX-License-Identifier: MIT */
/*
 * What a shotgun profiler would have said, beside the whole graph:
 *
 *      Shotgun profiler    graph  stretches  design 2  design 3  design 4
 *        bmisp              49.6       49.4      74.3      47.3      50.8
 *      design 4: 38 fragments built, 0 discarded; 100.00% of PCs inferred right, …
 */
#include <math.h>
#include <string.h>

#include "view/icost.h"

#define DESIGNS 5
static const int designs[] = { 0, 2, 3, 4 };

struct shotgun_model {
	bool known[DESIGNS];
	double cost[DESIGNS][ICOST_SETS], icost[DESIGNS][ICOST_SETS];
	double built[DESIGNS], discarded[DESIGNS], insts[DESIGNS], right[DESIGNS], none[DESIGNS],
	    wrong[DESIGNS], inexact[DESIGNS];
};

static void read_counts(struct store *s, struct shotgun_model *m)
{
	struct store_rows r = store_query(s, "SELECT design, key, value FROM shotgun_count", "");
	while (store_next(&r)) {
		const int64_t d = store_int(&r, 0);
		const char *key = store_shown(&r, 1);
		const struct {
			const char *key;
			double *to;
		} fields[] = {
			{ "fragments_built", m->built }, { "fragments_discarded", m->discarded },
			{ "instructions", m->insts },	 { "pcs_right", m->right },
			{ "no_sample", m->none },	 { "fragments_wrong", m->wrong },
			{ "inexact", m->inexact },
		};
		for (size_t i = 0; d >= 0 && d < DESIGNS && i < ARRAY_LEN(fields); i++)
			if (!strcmp(fields[i].key, key))
				fields[i].to[d] = store_double(&r, 2);
	}
	store_done(&r, NULL);
}

/* False if the run had no shotgun profiler. */
static bool read_shotgun(struct store *s, struct shotgun_model *m)
{
	bool any = false;
	memset(m, 0, sizeof(*m));
	struct store_rows r =
	    store_query(s, "SELECT design, categories, cost, icost FROM shotgun", "");
	while (store_next(&r)) {
		const int64_t d = store_int(&r, 0), set = store_int(&r, 1);
		if (d < 0 || d >= DESIGNS || set <= 0 || set >= ICOST_SETS)
			continue;
		any = m->known[d] = true;
		m->cost[d][set] = store_double(&r, 2);
		m->icost[d][set] = store_double(&r, 3);
	}
	store_done(&r, NULL);
	read_counts(s, m);
	return any || m->discarded[4] > 0;
}

static void add_table(struct doc *d, const struct icost_model *m, const struct shotgun_model *g)
{
	static const struct doc_column columns[] = {
		{ .head = "Shotgun profiler", .before = "", .width = -18 },
		{ .head = "graph", .format = "%.1f", .factor = 100, .width = 8 },
		{ .head = "stretches", .format = "%.1f", .factor = 100, .width = 9 },
		{ .head = "design 2", .format = "%.1f", .factor = 100, .width = 9 },
		{ .head = "design 3", .format = "%.1f", .factor = 100, .width = 9 },
		{ .head = "design 4", .format = "%.1f", .factor = 100, .width = 9 },
	};

	doc_blank(d);
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns), &(struct doc_table_options){ .heads = true });

	for (unsigned set = 1; set < ICOST_SETS; set++) {
		const int n = __builtin_popcount(set);
		char label[170];

		if (n > 2 || (n == 2 && fabs(m->icost[set]) < 0.02 * m->graph_cycles))
			continue;
		snprintf(label, sizeof(label), "  %s", m->name[set]);
		doc_row(t);
		cell_text(t, label);
		cell_real(t, m->icost[set] / m->graph_cycles);
		for (size_t i = 0; i < ARRAY_LEN(designs); i++)
			if (g->known[designs[i]])
				cell_real(t, g->icost[designs[i]][set] / m->cycles);
			else
				cell_words(t, "-");
	}
	for (int i = 2; i < DESIGNS; i++)
		doc_line(
		    d, NULL,
		    "  design %d: %.0f fragments built, %.0f discarded; %.2f%% of PCs inferred "
		    "right, %.2f%% without a sample",
		    i, g->built[i], g->discarded[i], 100 * g->right[i] / fmax(g->insts[i], 1),
		    100 * g->none[i] / fmax(g->insts[i], 1));
}

static void add_sets(struct doc *d, const char *key, const struct icost_model *m, bool known,
		     const double *values)
{
	doc_object(d, key);
	for (unsigned set = 1; known && set < ICOST_SETS; set++)
		doc_real(d, m->name[set], values[set]);
	doc_close(d);
}

void icost_shotgun_add(struct doc *d, struct store *s, const struct icost_model *m)
{
	struct shotgun_model g;

	if (!read_shotgun(s, &g))
		return;
	add_table(d, m, &g);
	doc_array(d, "shotgun");
	for (size_t i = 0; i < ARRAY_LEN(designs); i++) {
		const int k = designs[i];

		doc_object(d, NULL);
		doc_integer(d, "design", k);
		add_sets(d, "costs", m, g.known[k], g.cost[k]);
		add_sets(d, "icosts", m, g.known[k], g.icost[k]);
		if (k) {
			doc_real(d, "fragments_built", g.built[k]);
			doc_real(d, "fragments_discarded", g.discarded[k]);
			doc_real(d, "fragments_wrong", g.wrong[k]);
			doc_real(d, "instructions", g.insts[k]);
			doc_real(d, "pcs_right", g.right[k]);
			doc_real(d, "no_sample", g.none[k]);
			doc_real(d, "inexact", g.inexact[k]);
		}
		doc_close(d);
	}
	doc_close(d);
}
