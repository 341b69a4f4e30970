/* SPDX-License-Identifier: MIT */
/*
 * What other views show of frequencies, cycles per execution and culprits: how far each method is
 * from the truth (accuracy), what changed between two runs (diff), and the columns of a listing
 * (annotate).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/calc_int.h"
#include "view/live.h"

/* ---- accuracy ---- */

static const double near_by[] = { 0.05, 0.10, 0.15 };

struct accuracy {
	double samples, within[ARRAY_LEN(near_by)];
	double high;	    /* samples of high confidence */
	double wrong_known; /* samples off by more than 15% without being of low confidence */
	double edges, edges_within;
	double stall, named,
	    letters; /* cycles of stalls: all, with their main cause named, times letters */
};

static void add_edge_errors(struct accuracy *a, const struct calc_proc *p,
			    const struct calc_name *n)
{
	for (uint32_t k = 0; k < p->graph->nedges; k++) {
		const double truth = n->edges[k], estimate = p->edges[k].value;
		const struct cfg_edge *d = &p->graph->edges[k];

		if (!(truth > 0) || d->from == CFG_OUTSIDE || d->to == CFG_OUTSIDE)
			continue;
		a->edges += truth;
		a->edges_within += fabs(estimate - truth) <= 0.10 * truth ? truth : 0;
	}
}

static void add_stall_errors(struct accuracy *a, const struct calc_proc *p,
			     const struct calc_inst *i, const struct calc_truth *t)
{
	unsigned main_cause = 0;
	double stall = 0;
	char letters[CAUSE_COUNT + 1];

	for (unsigned c = 0; c < CAUSE_COUNT; c++) {
		stall += t->cause[c];
		main_cause = t->cause[c] > t->cause[main_cause] ? c : main_cause;
	}
	if (!(stall > 0))
		return;
	calc_letters(p, i, false, letters);
	a->stall += stall;
	a->named += strchr(letters, words_cause_letter[main_cause]) ? stall : 0;
	a->letters += stall * (double)strlen(letters);
}

static struct accuracy measure(const struct calc_model *m)
{
	struct accuracy a = { 0 };

	for (uint32_t p = 0; p < m->program.nprocs; p++) {
		const struct calc_proc *proc = &m->program.procs[p];
		const struct calc_truth *truth = m->names[p].truth;

		for (uint32_t i = 0; i < proc->graph->ninsts; i++) {
			const struct calc_freq *f = &proc->blocks[cfg_block_of(proc->graph, i)];
			const double samples = proc->insts[i].count[SAMPLED_CYCLES],
				     off = truth[i].executions > 0
					       ? fabs(f->value / truth[i].executions - 1)
					       : INFINITY;

			a.samples += samples;
			for (size_t k = 0; k < ARRAY_LEN(near_by); k++)
				a.within[k] += off <= near_by[k] ? samples : 0;
			a.high += f->confidence == CONFIDENCE_HIGH ? samples : 0;
			a.wrong_known +=
			    !(off <= 0.15) && f->confidence != CONFIDENCE_LOW ? samples : 0;
			add_stall_errors(&a, proc, &proc->insts[i], &truth[i]);
		}
		add_edge_errors(&a, proc, &m->names[p]);
	}
	return a;
}

bool calc_add_accuracy(struct doc *d, struct store *s, struct err *e)
{
	static const struct doc_column columns[] = {
		{ .key = "method", .head = "method", .width = -8, .before = "" },
		{ .key = "within_5", DOC_SHOWN("5%", "%.1f%%", 8), .factor = 100 },
		{ .key = "within_10", DOC_SHOWN("10%", "%.1f%%", 8), .factor = 100 },
		{ .key = "within_15", DOC_SHOWN("15%", "%.1f%%", 8), .factor = 100 },
		{ .key = "edges_within_10", DOC_SHOWN("edges 10%", "%.1f%%", 10), .factor = 100 },
		{ .key = "high", DOC_SHOWN("high", "%.1f%%", 8), .factor = 100 },
		{ .key = "wrong_not_low", DOC_SHOWN("wrong", "%.1f%%", 8), .factor = 100 },
		{ .key = "main_cause_named", DOC_SHOWN("cause", "%.1f%%", 8), .factor = 100 },
		{ .key = "letters", DOC_SHOWN("letters", "%.2f", 8) },
	};
	struct doc_table *t = NULL;

	if (!calc_has(s) || !store_number(s, "SELECT 1 FROM calc_truth LIMIT 1", 0))
		return true;
	for (const struct calc_method *const *method = calc_methods; *method; method++) {
		const struct calc_read_options o = { .method = (*method)->name };
		struct calc_model m;

		if ((*method)->issues && !calc_has_issue(s))
			continue;
		if (!calc_read(s, &o, &m, e))
			return false;
		if (!t) {
			doc_heading(d, "Execution frequencies from samples alone (culprit calc) "
				       "against the truth");
			t = DOC_TABLE(d, columns, .key = "frequencies", .heads = true);
		}
		const struct accuracy a = measure(&m);

		doc_row(t);
		cell_text(t, (*method)->name);
		for (size_t k = 0; k < ARRAY_LEN(near_by); k++)
			CELL_REAL_IF(t, a.samples > 0, a.within[k] / a.samples);
		CELL_REAL_IF(t, a.edges > 0, a.edges_within / a.edges);
		CELL_REAL_IF(t, a.samples > 0, a.high / a.samples);
		CELL_REAL_IF(t, a.samples > 0, a.wrong_known / a.samples);
		CELL_REAL_IF(t, a.stall > 0, a.named / a.stall);
		CELL_REAL_IF(t, a.stall > 0, a.letters / a.stall);
		calc_model_free(&m);
	}
	doc_line(
	    d, NULL,
	    "\n5%%, 10%%, 15%%: share of the samples whose frequency is so near. edges: share of "
	    "the edges' executions.\nhigh: samples of high confidence. wrong: off by more than "
	    "15%% "
	    "without being of low confidence.\ncause: share of the stalled cycles whose main cause "
	    "is among the letters; letters: how many there are.");
	return true;
}

/* ---- diff ---- */

struct changed {
	const char *name;
	double cycles[2], cpi[2], best[2];
	struct calc_range range[2][CAUSE_COUNT]; /* cycles */
	bool in[2];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct changed *)a)->name, ((const struct changed *)b)->name);
}

static int by_change(const void *a, const void *b)
{
	const struct changed *x = a, *y = b;
	const double dx = fabs(x->cycles[1] - x->cycles[0]), dy = fabs(y->cycles[1] - y->cycles[0]);

	return dx != dy ? (dx < dy ? 1 : -1) : by_name(a, b);
}

static void collect(struct changed **all, size_t *count, const struct calc_model *m, int side)
{
	for (uint32_t i = 0; i < m->program.nprocs; i++) {
		const struct calc_summary s =
		    calc_summarise(&m->program, &m->program.procs[i], CONFIDENCE_LOW);
		const double period = (double)m->program.sampling.period[SAMPLED_CYCLES];

		if (!(s.samples > 0))
			continue;
		struct changed *c = ARRAY_ADD(*all, *count);

		*c = (struct changed){ .name = m->names[i].name };
		c->in[side] = true;
		c->cycles[side] = s.samples * period;
		c->cpi[side] = s.cpi;
		c->best[side] = s.best_cpi;
		for (unsigned k = 0; k < CAUSE_COUNT; k++)
			c->range[side][k] =
			    (struct calc_range){ s.dynamic[k].least * s.samples * period,
						 s.dynamic[k].most * s.samples * period };
	}
}

/* Rows of the same name become one; those of one side keep the first. */
static size_t merge(struct changed *all, size_t count)
{
	size_t kept = 0;

	if (!count)
		return 0;
	qsort(all, count, sizeof(*all), by_name);
	for (size_t i = 1; i < count; i++) {
		if (by_name(&all[kept], &all[i])) {
			all[++kept] = all[i];
			continue;
		}
		for (int s = 0; s < 2; s++)
			if (all[i].in[s] && !all[kept].in[s]) {
				all[kept].in[s] = true;
				all[kept].cycles[s] = all[i].cycles[s];
				all[kept].cpi[s] = all[i].cpi[s];
				all[kept].best[s] = all[i].best[s];
				memcpy(all[kept].range[s], all[i].range[s],
				       sizeof(all[i].range[s]));
			}
	}
	qsort(all, kept + 1, sizeof(*all), by_change);
	return kept + 1;
}

/* The cause whose range moved most: "D-cache miss 1.2 M to 1.4 M, was 80 K to 90 K". */
static void moved_words(const struct changed *c, char *buf, size_t size)
{
	double most = 0;
	int cause = -1;

	for (int k = 0; k < CAUSE_COUNT; k++) {
		const double by = fabs(c->range[1][k].least + c->range[1][k].most -
				       c->range[0][k].least - c->range[0][k].most);

		if (by > most) {
			most = by;
			cause = k;
		}
	}
	buf[0] = '\0';
	if (cause < 0)
		return;
	char n[4][CALC_HUMAN];

	snprintf(
	    buf, size, "%s %s to %s, was %s to %s", words_causes[cause].words,
	    calc_human(c->range[1][cause].least, n[0]), calc_human(c->range[1][cause].most, n[1]),
	    calc_human(c->range[0][cause].least, n[2]), calc_human(c->range[0][cause].most, n[3]));
}

static void add_changed(struct doc *d, const struct changed *all, size_t count, size_t limit)
{
	static const struct doc_column columns[] = {
		{ .key = "symbol" },
		{ .key = "before", DOC_SHOWN("before", "%.0f", 14), .before = "  " },
		{ .key = "after", DOC_SHOWN("after", "%.0f", 14) },
		{ .key = "cpi_before", DOC_SHOWN("CPI", "%.2f", 8) },
		{ .key = "cpi_after", DOC_SHOWN("after", "%.2f", 8) },
		{ .key = "best_cpi_before" },
		{ .key = "best_cpi_after" },
		{ .head = "procedure", .before = "  ", .width = -20, .name = true },
		{ .key = "moved",
		  .head = "what moved most",
		  .width = -60,
		  .ragged = true,
		  .fill = true },
	};

	doc_heading(d, "Procedures by samples (culprit calc), by change");
	struct doc_table *t =
	    DOC_TABLE(d, columns, .key = "calc", .heads = true, .limit = limit, .more = true);

	for (size_t i = 0; i < count; i++) {
		const struct changed *c = &all[i];
		char moved[200];

		moved_words(c, moved, sizeof(moved));
		doc_row(t);
		cell_text(t, c->name);
		cell_real(t, c->cycles[0]);
		cell_real(t, c->cycles[1]);
		CELL_REAL_IF(t, c->in[0] && !isnan(c->cpi[0]), c->cpi[0]);
		CELL_REAL_IF(t, c->in[1] && !isnan(c->cpi[1]), c->cpi[1]);
		CELL_REAL_IF(t, c->in[0] && !isnan(c->best[0]), c->best[0]);
		CELL_REAL_IF(t, c->in[1] && !isnan(c->best[1]), c->best[1]);
		cell_text(t, c->name);
		cell_text(t, moved);
	}
}

bool calc_add_diff(struct doc *d, struct store *before, struct store *after, size_t limit,
		   struct err *e)
{
	const struct calc_read_options o = { .no_truth = true };
	struct calc_model a, b;
	struct changed *all = NULL;
	size_t count = 0;

	if (!calc_has(before) || !calc_has(after))
		return true;
	if (!calc_read(before, &o, &a, e))
		return false;
	if (!calc_read(after, &o, &b, e)) {
		calc_model_free(&a);
		return false;
	}
	collect(&all, &count, &a, 0);
	collect(&all, &count, &b, 1);
	count = merge(all, count);
	add_changed(d, all, count, limit);
	free(all);
	calc_model_free(&a);
	calc_model_free(&b);
	return true;
}
