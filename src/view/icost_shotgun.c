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
#include "view/term.h"

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
		const char *key = store_text(&r, 1);
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

void icost_shotgun_print(struct store *s, const struct icost_model *m, const struct view_options *o)
{
	struct shotgun_model g;
	if (!read_shotgun(s, &g))
		return;
	fprintf(o->out, "\n%s%-18s %8s %9s %9s %9s %9s%s\n", term_on(o, TERM_BOLD),
		"Shotgun profiler", "graph", "stretches", "design 2", "design 3", "design 4",
		term_off(o));
	for (unsigned set = 1; set < ICOST_SETS; set++) {
		const int n = __builtin_popcount(set);
		if (n > 2 || (n == 2 && fabs(m->icost[set]) < 0.02 * m->graph_cycles))
			continue;
		fprintf(o->out, "  %-16s %8.1f", m->name[set],
			100 * m->icost[set] / m->graph_cycles);
		for (size_t i = 0; i < ARRAY_LEN(designs); i++)
			if (g.known[designs[i]])
				fprintf(o->out, " %9.1f",
					100 * g.icost[designs[i]][set] / m->cycles);
			else
				fprintf(o->out, " %9s", "-");
		fputc('\n', o->out);
	}
	for (int d = 2; d < DESIGNS; d++)
		fprintf(o->out,
			"  design %d: %.0f fragments built, %.0f discarded; %.2f%% of PCs inferred "
			"right, %.2f%% without a sample\n",
			d, g.built[d], g.discarded[d], 100 * g.right[d] / fmax(g.insts[d], 1),
			100 * g.none[d] / fmax(g.insts[d], 1));
}

json_t *icost_shotgun_json(struct store *s, const struct icost_model *m)
{
	struct shotgun_model g;
	if (!read_shotgun(s, &g))
		return NULL;
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(designs); i++) {
		const int d = designs[i];
		json_t *row = json_object(), *cost = json_object(), *icost = json_object();
		for (unsigned set = 1; g.known[d] && set < ICOST_SETS; set++) {
			json_object_set_new(cost, m->name[set], json_real(g.cost[d][set]));
			json_object_set_new(icost, m->name[set], json_real(g.icost[d][set]));
		}
		json_object_set_new(row, "design", json_integer(d));
		json_object_set_new(row, "costs", cost);
		json_object_set_new(row, "icosts", icost);
		if (d) {
			json_object_set_new(row, "fragments_built", json_real(g.built[d]));
			json_object_set_new(row, "fragments_discarded", json_real(g.discarded[d]));
			json_object_set_new(row, "fragments_wrong", json_real(g.wrong[d]));
			json_object_set_new(row, "instructions", json_real(g.insts[d]));
			json_object_set_new(row, "pcs_right", json_real(g.right[d]));
			json_object_set_new(row, "no_sample", json_real(g.none[d]));
			json_object_set_new(row, "inexact", json_real(g.inexact[d]));
		}
		json_array_append_new(list, row);
	}
	return list;
}
