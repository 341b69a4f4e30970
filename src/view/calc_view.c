/* SPDX-License-Identifier: MIT */
/*
 * Shows what samples say of a program: named procedures instruction by instruction (calc_proc.c), or
 * the summary of the whole program and its longest stalls, or all procedures by one cause.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"
#include "view/calc_int.h"
#include "view/model.h"

/* ---- what is said of the profile as a whole ---- */

static void add_title(struct doc *d, const struct calc_model *m)
{
	char samples[32], period[32];

	number_commas((uint64_t)(m->samples + 0.5), samples);
	if (m->live) {
		doc_line(d, NULL, "%s samples of a live machine, by method %s", samples, m->method);
		doc_line(
		    d, NULL,
		    "Frequencies are relative to each other. No schedule of this machine is known, "
		    "and samples may be late:\nthere are no cycles per execution and no culprits.");
		return;
	}
	doc_line(d, path_name(m->program_name),
		 " on %s: %s samples, one in %s cycles, by method %s", m->machine_name, samples,
		 number_commas(m->program.sampling.period[SAMPLED_CYCLES], period), m->method);
	if (m->program.sampling.mode == CALC_RELATIVE)
		doc_line(d, NULL,
			 "Samples of %s say where time goes, not what commits: frequencies are "
			 "relative to each other.",
			 calc_samples_name(m));
	else if (m->program.sampling.record_depth)
		doc_line(d, NULL, "Frequencies are from branch records (%s).",
			 calc_samples_name(m));
}

static uint64_t unresolved(const struct calc_model *m)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < m->program.nprocs; i++)
		n += m->names[i].graph->missing;
	return n;
}

static void add_notes(struct doc *d, const struct calc_model *m)
{
	const uint64_t missing = unresolved(m);

	if (m->outside > 0)
		doc_note(
		    d, TERM_YELLOW,
		    "%.2f%% of the samples are in code without an image, a symbol or a graph, and "
		    "are left out.",
		    100 * m->outside / m->samples);
	if (missing)
		doc_note(d, TERM_YELLOW,
			 "%" PRIu64
			 " of %u procedures have jumps whose targets are not known; their "
			 "blocks are estimated one by one.",
			 missing, m->program.nprocs);
	if (m->illegal)
		doc_note(d, TERM_YELLOW,
			 "%" PRIu64 " words of code are no instructions; nothing waits for them.",
			 m->illegal);
	if (!(m->samples > 0))
		doc_note(d, TERM_YELLOW,
			 "There are no samples: the run was shorter than the period.");
}

/* ---- the longest stalls ---- */

struct stall {
	uint32_t proc, inst;
	double cycles;
};

static int by_cycles(const void *a, const void *b)
{
	const struct stall *x = a, *y = b;

	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	return x->inst < y->inst ? -1 : x->inst > y->inst;
}

static struct stall *find_stalls(const struct calc_model *m, double least, size_t *count)
{
	struct stall *all = NULL;

	*count = 0;
	for (uint32_t p = 0; p < m->program.nprocs; p++)
		for (uint32_t i = 0; i < m->names[p].graph->ninsts; i++) {
			const double cycles = calc_stall(m, p, i);

			if (cycles > least)
				*ARRAY_ADD(all, *count) = (struct stall){ p, i, cycles };
		}
	if (*count)
		qsort(all, *count, sizeof(*all), by_cycles);
	return all;
}

static void stall_place(struct calc_model *m, const struct stall *s, char *buf, size_t size)
{
	const struct calc_name *n = &m->names[s->proc];
	const uint64_t offset = n->graph->insts[s->inst].pc - n->graph->start;

	calc_texts(m, s->proc);
	const struct calc_text *t = &n->texts[s->inst];
	char source[96] = "";

	if (t->file && t->line > 0)
		snprintf(source, sizeof(source), " %.70s:%d", path_name(t->file), t->line);
	snprintf(buf, size, "%.4096s+0x%" PRIx64 "%s  %.200s", n->name, offset, source, t->disasm);
	for (char *c = buf; *c; c++)
		if (*c == '\t')
			*c = ' ';
}

static void add_stalls(struct doc *d, const struct view_options *o, struct calc_model *m,
		       const struct calc_options_view *c)
{
	const double period = (double)m->program.sampling.period[SAMPLED_CYCLES],
		     all = m->samples * period;
	const int truth = m->truth ? 20 : 0;
	const struct doc_column columns[] = {
		{ .csv = "share", DOC_SHOWN("share", "%.2f%%", 7), .factor = 100, .before = "" },
		{ .csv = "cumulated", DOC_SHOWN("cumul.", "%.2f%%", 7), .factor = 100 },
		{ .csv = "cycles", .csv_format = "%.0f" },
		{ .head = "cycles", .width = 8 },
		{ .csv = "count", .csv_format = "%.0f" },
		{ .head = "count", .width = 8 },
		{ .csv = "confidence", .head = "conf.", .width = -6, .before = "  " },
		{ .csv = "average", .csv_format = "%.3f", DOC_SHOWN("average", "%.1fcy", 9) },
		{ .csv = "blame", .head = "blame", .width = -7, .before = "  " },
		{ .csv = m->truth ? "true_blame" : NULL, .head = "true", .width = -truth },
		{ .csv = "place",
		  .head = "place",
		  .width = -20,
		  .ragged = true,
		  .name = true,
		  .fill = true },
	};
	size_t count;
	struct stall *stalls = find_stalls(m, fmax(c->cutoff, 1e-12) * all, &count);
	double sum = 0;
	bool seen[CAUSE_COUNT] = { false };

	doc_heading(d, "The longest stalls");
	struct doc_table *t = DOC_TABLE(d, columns, .heads = true, .limit = (size_t)o->limit);

	for (size_t k = 0; k < count && k < (o->format == VIEW_CSV ? count : (size_t)o->limit);
	     k++) {
		const struct stall *s = &stalls[k];
		const struct calc_proc *p = &m->program.procs[s->proc];
		const struct calc_inst *i = &p->insts[s->inst];
		const struct calc_freq *f = &p->blocks[cfg_block_of(p->graph, s->inst)];
		char letters[CAUSE_COUNT + 1], place[MODEL_SYMBOL + 400],
		    causes[160] = "", cycles[CALC_HUMAN], freq[CALC_HUMAN];

		sum += s->cycles;
		for (unsigned g = 0; g < i->nculprits; g++)
			seen[calc_culprit(p, i, g)->cause] = true;
		stall_place(m, s, place, sizeof(place));
		if (m->truth)
			calc_true_causes(&m->names[s->proc].truth[s->inst], causes, sizeof(causes));
		doc_row(t);
		cell_real(t, s->cycles / all);
		cell_real(t, sum / all);
		cell_real(t, s->cycles);
		cell_format(t, "%8s", calc_human(s->cycles, cycles));
		cell_real(t, f->value);
		cell_format(t, "%8s", calc_human(f->value, freq));
		cell_text(t, words_confidence[f->confidence].name);
		cell_real(t, s->cycles / f->value);
		cell_text(t, calc_letters(p, i, true, letters));
		cell_text(t, causes);
		cell_text(t, place);
		cell_name(t, 0, strnlen(m->names[s->proc].name, 4096));
	}
	char legend[400] = "";

	for (unsigned k = 0; k < CAUSE_COUNT; k++)
		if (seen[k])
			snprintf(legend + strlen(legend), sizeof(legend) - strlen(legend),
				 "%s%c %s", *legend ? ", " : "", words_cause_letter[k],
				 words_causes[k].words);
	if (*legend)
		doc_sentence(d, "\nblame: ", legend, 7);
	free(stalls);
}

/* ---- all procedures, by one cause ---- */

struct by_cause {
	uint32_t proc;
	double least, most, truth; /* cycles */
};

static int by_most(const void *a, const void *b)
{
	const struct by_cause *x = a, *y = b;

	if (x->most != y->most)
		return x->most < y->most ? 1 : -1;
	return x->proc < y->proc ? -1 : x->proc > y->proc;
}

static int find_cause(const char *name, struct err *e)
{
	struct nearest near = { .word = name };

	for (int c = 0; c < CAUSE_COUNT; c++) {
		if (!strcmp(name, words_causes[c].name) ||
		    (name[0] == words_cause_letter[c] && !name[1]))
			return c;
		nearest_try(&near, words_causes[c].name);
	}
	err_set(e, "there is no cause '%s' of stalls; did you mean '%s'? (`culprit list causes`)",
		name, near.best);
	return -1;
}

static bool add_by_cause(struct doc *d, const struct view_options *o, struct calc_model *m,
			 const struct calc_options_view *c, struct err *e)
{
	const int cause = find_cause(c->stall, e);
	const double period = (double)m->program.sampling.period[SAMPLED_CYCLES];
	const struct doc_column columns[] = {
		{ .csv = "least", .csv_format = "%.0f" },
		{ .head = "least", .width = 9, .before = "" },
		{ .csv = "most", .csv_format = "%.0f" },
		{ .head = "most", .width = 9 },
		{ .csv = m->truth ? "true" : NULL, .csv_format = "%.0f" },
		{ .head = "true", .width = m->truth ? 9 : 0 },
		{ .csv = "of_procedure", DOC_SHOWN("of proc.", "%.1f%%", 9), .factor = 100 },
		{ .csv = "samples", .csv_format = "%.0f", DOC_SHOWN("samples", "%.0f", 12) },
		{ .csv = "symbol",
		  .head = "procedure",
		  .width = -20,
		  .before = "  ",
		  .ragged = true,
		  .name = true,
		  .fill = true },
	};

	if (cause < 0)
		return false;
	struct by_cause *all = x_calloc(m->program.nprocs + 1, sizeof(*all));
	size_t count = 0;

	for (uint32_t i = 0; i < m->program.nprocs; i++) {
		const struct calc_summary s =
		    calc_summarise(&m->program, &m->program.procs[i], c->least);
		const double cycles = s.samples * s.included * period;
		double truth[CAUSE_COUNT], cpi;

		calc_true_summary(m, i, c->least, truth, &cpi);
		if (s.dynamic[cause].most > 0 && s.samples >= c->cutoff * m->samples)
			all[count++] = (struct by_cause){ i, s.dynamic[cause].least * cycles,
							  s.dynamic[cause].most * cycles,
							  truth[cause] * cycles };
	}
	qsort(all, count, sizeof(*all), by_most);
	doc_heading(d, "Procedures by the cycles that %s may have cost", words_causes[cause].words);
	struct doc_table *t =
	    DOC_TABLE(d, columns, .heads = true, .limit = (size_t)o->limit, .more = true);

	for (size_t k = 0; k < count; k++) {
		const struct calc_proc *p = &m->program.procs[all[k].proc];
		char least[CALC_HUMAN], most[CALC_HUMAN], truth[CALC_HUMAN];

		doc_row(t);
		cell_real(t, all[k].least);
		cell_format(t, "%9s", calc_human(all[k].least, least));
		cell_real(t, all[k].most);
		cell_format(t, "%9s", calc_human(all[k].most, most));
		cell_real(t, all[k].truth);
		cell_format(t, "%9s", calc_human(all[k].truth, truth));
		cell_real(t, all[k].most / (p->samples * period));
		cell_real(t, p->samples);
		cell_text(t, m->names[all[k].proc].name);
	}
	free(all);
	return true;
}

/* ---- choosing ---- */

/* The procedures asked for, or all above the cutoff, most samples first. The caller frees. */
static uint32_t *choose(const struct calc_model *m, const struct calc_options_view *c,
			size_t *count, struct err *e)
{
	uint32_t *all = NULL;

	*count = 0;
	for (size_t k = 0; k < c->nprocs; k++) {
		size_t n;
		uint32_t *some = calc_named(m, c->procs[k], &n, e);

		if (!some) {
			free(all);
			return NULL;
		}
		for (size_t i = 0; i < n; i++)
			*ARRAY_ADD(all, *count) = some[i];
		free(some);
	}
	if (c->nprocs)
		return all;
	all = calc_by_samples(m);
	while (*count < m->program.nprocs && m->program.procs[all[*count]].samples > 0 &&
	       m->program.procs[all[*count]].samples >= c->cutoff * m->samples)
		++*count;
	return all;
}

/* Procedures whole: JSON always, text and CSV if they are named. */
static void add_procs(struct doc *d, const struct view_options *o, struct calc_model *m,
		      const struct calc_options_view *c, const uint32_t *procs, size_t count)
{
	if (o->format == VIEW_CSV) {
		calc_add_csv(d, m, procs, count);
		return;
	}
	if (o->format == VIEW_JSON)
		doc_array(d, "procedures");
	for (size_t k = 0; k < count; k++)
		calc_add_proc(d, o, m, c, procs[k]);
	if (o->format == VIEW_JSON)
		doc_close(d);
}

static void add_program(struct doc *d, const struct view_options *o, struct calc_model *m,
			const struct calc_options_view *c)
{
	if (m->program.sampling.mode == CALC_ISSUE) {
		calc_add_summary(d, m, UINT32_MAX, c->least);
		add_stalls(d, o, m, c);
		return;
	}
	/* without a schedule there are no stalls: the procedures themselves */
	static const struct doc_column columns[] = {
		{ .csv = "share", DOC_SHOWN("share", "%.2f%%", 7), .factor = 100, .before = "" },
		{ .csv = "samples", .csv_format = "%.0f", DOC_SHOWN("samples", "%.0f", 12) },
		{ .csv = "cpi", .csv_format = "%.3f", DOC_SHOWN("CPI", "%.2f", 8) },
		{ .csv = "symbol",
		  .head = "procedure",
		  .width = -20,
		  .before = "  ",
		  .ragged = true,
		  .name = true,
		  .fill = true },
	};
	uint32_t *order = calc_by_samples(m);

	doc_heading(d, "Procedures");
	struct doc_table *t =
	    DOC_TABLE(d, columns, .heads = true, .limit = (size_t)o->limit, .more = true);

	for (uint32_t k = 0; k < m->program.nprocs; k++) {
		const struct calc_proc *p = &m->program.procs[order[k]];
		const struct calc_summary s = calc_summarise(&m->program, p, CONFIDENCE_LOW);

		doc_row(t);
		cell_real(t, p->samples / m->samples);
		cell_real(t, p->samples);
		CELL_REAL_IF(t, m->program.sampling.mode == CALC_COMMIT && !isnan(s.cpi), s.cpi);
		cell_text(t, m->names[order[k]].name);
	}
	free(order);
}

static bool show(const struct view_options *o, struct calc_model *m,
		 const struct calc_options_view *c, struct err *e)
{
	size_t count;
	uint32_t *procs = choose(m, c, &count, e);

	if (!procs)
		return false;
	if (c->fdata || c->dot) {
		const bool ok =
		    c->fdata ? calc_print_fdata(o, m, e) : calc_print_dot(o, m, procs, count);

		free(procs);
		return ok;
	}
	struct doc *d = doc_new();
	bool ok = true;

	if (o->format == VIEW_TEXT) {
		add_title(d, m);
		add_notes(d, m);
	}
	if (c->stall)
		ok = add_by_cause(d, o, m, c, e);
	else if (c->nprocs || o->format == VIEW_JSON)
		add_procs(d, o, m, c, procs, count);
	else
		add_program(d, o, m, c);
	ok = ok && doc_print(d, o, e);
	doc_free(d);
	free(procs);
	return ok;
}

bool view_calc(struct store *s, const struct view_options *o, const struct calc_options_view *c,
	       struct err *e)
{
	struct calc_model m;

	if (!calc_read(s, &c->read, &m, e))
		return false;
	const bool ok = show(o, &m, c, e);

	calc_model_free(&m);
	return ok;
}
