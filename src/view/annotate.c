/* SPDX-License-Identifier: MIT */
/*
 * Shows functions line by line: their source where its files can be read, their jumps, and every
 * instruction with its share of the run and a stack of events. Without a name it shows the hottest
 * functions, hottest first.
 *
 *        share  why                       address
 *                                                        37  double r = floor(x);
 *       21.30%  ffffffffffffff=           2a3f0      ╭─  fsflags  a5     FL-CSR 93%, base 7%
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "view/calc.h"
#include "view/doc.h"
#include "view/jumps.h"
#include "view/live.h"
#include "view/model.h"
#include "view/source.h"
#include "view/spectrum_elsewhere.h"

/* A longer run of instructions without time becomes one line. */
#define COLD_RUN 6

struct listing {
	const struct model *m;
	const struct model *other;	     /* the same run by a second profiler, or NULL */
	const struct spectrum_insts *misses; /* NULL: not asked for */
	const struct calc_model *calc;	     /* NULL: not asked for */
	const struct model_function *f;
	const struct model_inst *insts, *other_insts;
	size_t count;
	struct jumps *jumps;
};

/* Where a jump or branch leads; 0: it is none, or nobody knows. */
static uint64_t jump_target(const struct model_inst *i)
{
	const struct inst in = isa_decode(i->word);

	if (in.op == OP_ILLEGAL || !(op_info[in.op].flags & OPF_CTRL) || isa_is_indirect(&in) ||
	    isa_is_call(&in))
		return 0;
	return i->pc + (uint64_t)(int64_t)in.imm;
}

static void open_listing(struct listing *l)
{
	size_t same;

	l->insts = model_insts_of(l->m, l->f, &l->count);
	if (l->other)
		l->other_insts = model_insts_of(l->other, l->f, &same);
	uint64_t *pcs = x_calloc(l->count, sizeof(*pcs)),
		 *targets = x_calloc(l->count, sizeof(*targets));
	for (size_t i = 0; i < l->count; i++) {
		pcs[i] = l->insts[i].pc;
		targets[i] = jump_target(&l->insts[i]);
	}
	l->jumps = jumps_new(pcs, targets, l->count);
	free(pcs);
	free(targets);
}

static void close_listing(struct listing *l)
{
	jumps_free(l->jumps);
}

#define MISS_COLUMN 9 /* width of a count of misses */

#define CALC_COLUMN 9 /* width of a frequency, a CPI or letters */

/* Width of the columns that an option adds. */
static int more_columns(const struct listing *l)
{
	return (l->misses ? (int)(l->misses->nlevels + 2) * MISS_COLUMN : 0) +
	       (l->calc ? 3 * CALC_COLUMN + 1 : 0);
}

/* What samples alone say of an instruction: frequency, CPI and the letters of its culprits. */
static void put_calc(struct doc_table *t, const struct listing *l, uint64_t pc)
{
	uint32_t proc, inst;

	if (!l->calc || !calc_find(l->calc, pc, &proc, &inst)) {
		for (int k = 0; k < 4; k++)
			cell_none(t);
		return;
	}
	const struct calc_proc *p = &l->calc->program.procs[proc];
	const double f = p->blocks[cfg_block_of(p->graph, inst)].value, cpi = p->insts[inst].cpi;
	const double stall = calc_stall(l->calc, proc, inst);
	char count[CALC_HUMAN], letters[CAUSE_COUNT + 1];

	CELL_REAL_IF(t, !isnan(f), f);
	cell_format(t, "%*s", CALC_COLUMN, calc_human(f, count));
	CELL_REAL_IF(t, !isnan(cpi), cpi);
	cell_text(t, stall > 0 && calc_halves(stall / f) > 0
			 ? calc_letters(&p->insts[inst], true, letters)
			 : "");
}

/* The misses of an instruction by level, what each cost, and how many cost nothing. */
static void put_misses(struct doc_table *t, const struct listing *l, uint64_t pc)
{
	const struct spectrum_inst *i = l->misses ? spectrum_inst_at(l->misses, pc) : NULL;

	for (size_t k = 0; k < SPECTRUM_MODEL_LEVELS; k++)
		if (i && k < l->misses->nlevels)
			cell_integer(t, (int64_t)i->level[k]);
		else
			cell_none(t);
	CELL_REAL_IF(t, i, (double)i->net);
	CELL_REAL_IF(t, i, (double)i->net / (double)i->misses);
	CELL_REAL_IF(t, i, (double)i->hidden / (double)i->misses);
}

/* Takes less time than what is printed as 0.01%. */
static bool cold(const struct listing *l, size_t i)
{
	const double least = 0.00005 * (double)l->m->cycles;
	return l->insts[i].cycles < least &&
	       !(l->misses && spectrum_inst_at(l->misses, l->insts[i].pc)) &&
	       !(l->other && l->other_insts[i].cycles >= least);
}

static void add_heading(struct doc *d, const struct listing *l)
{
	const struct model_function *f = l->f;
	char line[24] = "";

	if (f->file && f->line)
		snprintf(line, sizeof(line), ":%d", f->line);
	doc_blank(d);
	doc_line(d, f->name, "%s%s%s  %.2f%% of all cycles", f->file || f->image ? "  " : "",
		 f->file    ? f->file
		 : f->image ? f->image
			    : "",
		 line, 100 * f->cycles / (double)l->m->cycles);
}

/* The source line from which instruction i comes, above it. */
static void add_source(struct doc_table *t, const struct listing *l, const struct view_options *o,
		       struct sources *sources, size_t i, int left)
{
	const struct model_inst *in = &l->insts[i];
	const char *text = sources_line(sources, in->file, in->line);
	char lanes[64], place[96], shown[512];

	jumps_draw(l->jumps, i, 0, lanes);
	if (text) {
		const int n =
		    snprintf(place, sizeof(place), "%.70s%s%d  ", in->inlined ? in->inlined : "",
			     in->inlined ? ":" : "", in->line);

		text += strspn(text, " \t");
		term_cut(text, o->width - left - jumps_lanes(l->jumps) - 2 - n, shown,
			 sizeof(shown));
	} else {
		snprintf(place, sizeof(place), "%s:%d", path_name(in->file), in->line);
		shown[0] = '\0';
	}
	doc_above(t, TERM_CYAN, "%*s%s %s%s", left, "", lanes, place, shown);
}

static void put_share(struct doc_table *t, double share)
{
	if (share < 0.00005) {
		cell_words(t, "");
		return;
	}
	cell_real(t, 100 * share);
	cell_colour(t, share >= 0.05 ? TERM_RED : share >= 0.01 ? TERM_YELLOW : TERM_PLAIN);
}

/* "FL-CSR 93%, base 7%", for an instruction that takes a noticeable part of the run of m. */
static void why_words(const struct model *m, const struct model_inst *in, char *buf,
		      size_t size_bytes)
{
	size_t used = 0;
	char name[96];

	buf[0] = '\0';
	for (size_t k = 0; k < in->nstack && k < 2 && used < size_bytes; k++)
		if (in->cycles > 0.0005 * (double)m->cycles &&
		    (!k || in->stack[k].cycles > 0.05 * in->cycles))
			used += (size_t)snprintf(
			    buf + used, size_bytes - used, "%s%s %.0f%%", k ? ", " : "",
			    model_events(m, in->stack[k].events, name, sizeof(name)),
			    100 * in->stack[k].cycles / in->cycles);
}

/* The same of both profiles, the second one's after its name. */
static void both_words(const struct listing *l, size_t i, char *buf, size_t size_bytes)
{
	char second[160];

	why_words(l->m, &l->insts[i], buf, size_bytes);
	if (!l->other)
		return;
	const struct model_inst *other = &l->other_insts[i];

	if (other->nstack == 1 && !other->stack[0].events)
		return; /* no events: as of a profiler that reports none */
	why_words(l->other, other, second, sizeof(second));
	if (second[0])
		snprintf(buf + strlen(buf), size_bytes - strlen(buf), "%s%s: %s",
			 buf[0] ? " | " : "", l->other->profiler, second);
}

/* The disassembly with its operands in a column of their own. */
static void disasm_line(const struct model_inst *in, char *buf, size_t size_bytes)
{
	const char *disasm = in->disasm ? in->disasm : "", *tab = strpbrk(disasm, "\t ");

	if (tab)
		snprintf(buf, size_bytes, "%-9.*s %s", (int)(tab - disasm), disasm, tab + 1);
	else
		snprintf(buf, size_bytes, "%s", disasm);
}

static void put_inst(struct doc_table *t, const struct listing *l, size_t i, double most, int rest)
{
	const struct model_inst *in = &l->insts[i];
	struct term_part parts[16];
	char words[360], line[200], lanes[64];

	doc_row(t);
	cell_format(t, "0x%" PRIx64, in->pc);
	cell_text(t, l->f->name);
	cell_text(t, in->disasm ? in->disasm : "");
	model_source_cell(t, in->file, in->line);
	cell_real(t, in->cycles);
	cell_real(t, in->cycles / (double)l->m->cycles);
	cell_integer(t, (int64_t)in->executions);
	model_stack_cell(t, l->m, in);
	CELL_REAL_IF(t, l->other, l->other_insts[i].cycles);
	if (l->other)
		model_stack_cell(t, l->other, &l->other_insts[i]);
	else
		cell_none(t);
	CELL_REAL_IF(t, l->other && l->other->intervals, l->other_insts[i].low);
	CELL_REAL_IF(t, l->other && l->other->intervals, l->other_insts[i].high);

	put_share(t, in->cycles / (double)l->m->cycles);
	estimated_cell(t, estimated_margin(&l->m->estimated, "instruction", (int64_t)in->pc, "") /
			      (double)l->m->cycles);
	if (l->other)
		put_share(t, l->other_insts[i].cycles / (double)l->other->cycles);
	else
		cell_none(t);
	put_misses(t, l, in->pc);
	put_calc(t, l, in->pc);
	cell_stack(t, parts, model_parts(in, most, parts, ARRAY_LEN(parts)));
	cell_format(t, "%8" PRIx64, in->pc);
	jumps_draw(l->jumps, i, 1, lanes);
	cell_text(t, lanes);
	both_words(l, i, words, sizeof(words));
	disasm_line(in, line, sizeof(line));
	cell_text(t, line);
	if (!words[0])
		cell_width(t, -rest);
	cell_text(t, words[0] ? words : NULL);
}

static void add_listing(struct doc *d, const struct listing *l, const struct view_options *o,
			struct sources *sources)
{
	const struct spectrum_insts *misses = l->misses;
	const bool calc = l->calc;
	const struct estimated *x = &l->m->estimated;
	const int bar = l->misses || calc ? 4
			: o->width >= 120 ? 20
					  : 10,
		  other = l->other ? 8 : 0, margin = x->is ? 8 : 0,
		  left = 8 + margin + other + more_columns(l) + 1 + bar + 10,
		  lanes = jumps_lanes(l->jumps), rest = o->width - left - lanes - 2,
		  text = rest > 70	  ? 42
			 : misses || calc ? rest - 1
					  : 30;
	const struct doc_column columns[] = {
		{ DOC_DATA("pc") },
		{ .csv = "symbol" },
		{ DOC_DATA("disasm") },
		{ DOC_DATA("source") },
		{ DOC_DATA("cycles") },
		{ DOC_DATA("share"), .csv_format = "%.8f" },
		{ DOC_DATA("executions") },
		{ .key = "stack" },
		{ DOC_DATA(l->other ? "other_cycles" : NULL) },
		{ .key = l->other ? "other_stack" : NULL },
		{ DOC_DATA(l->other && l->other->intervals ? "other_low" : NULL) },
		{ DOC_DATA(l->other && l->other->intervals ? "other_high" : NULL) },
		{ .before = "", .format = "%.2f%%", .width = 8 },
		{ ESTIMATED_COLUMN(x, "%.2f", margin), .csv = x->is ? "margin" : NULL,
		  .csv_format = "%.8f", .before = "", .factor = 100 },
		{ .before = "", .format = "%.2f%%", .width = other },
		{ .key = misses ? "misses_near" : NULL,
		  .head = misses ? misses->level[0] : NULL,
		  .before = "",
		  .width = misses ? MISS_COLUMN : 0 },
		{ .key = misses && misses->nlevels > 1 ? "misses_next" : NULL,
		  .before = "",
		  .width = misses && misses->nlevels > 1 ? MISS_COLUMN : 0 },
		{ .key = misses && misses->nlevels > 2 ? "misses_far" : NULL,
		  .before = "",
		  .width = misses && misses->nlevels > 2 ? MISS_COLUMN : 0 },
		{ .key = misses ? "miss_net" : NULL },
		{ .key = misses ? "miss_each" : NULL,
		  .format = "%.1f",
		  .before = "",
		  .width = misses ? MISS_COLUMN : 0 },
		{ .key = misses ? "miss_hidden" : NULL,
		  .format = "%.0f%%",
		  .factor = 100,
		  .before = "",
		  .width = misses ? MISS_COLUMN : 0 },
		{ .key = calc ? "frequency" : NULL },
		{ .before = "", .width = calc ? CALC_COLUMN : 0 },
		{ .key = calc ? "cpi" : NULL,
		  .format = "%.1fcy",
		  .before = "",
		  .width = calc ? CALC_COLUMN : 0 },
		{ .key = calc ? "culprits" : NULL,
		  .before = " ",
		  .width = calc ? -CALC_COLUMN : 0 },
		{ .width = bar },
		{ .width = -8, .colour = TERM_DIM },
		{ .width = -(lanes + 1) },
		{ .width = -text },
		{ .width = -(rest - text - 1), .ragged = true, .colour = TERM_DIM },
	};
	double most = 1;
	const char *file = NULL;
	int line = 0;

	for (size_t i = 0; i < l->count; i++)
		most = l->insts[i].cycles > most ? l->insts[i].cycles : most;
	add_heading(d, l);
	if (l->other)
		doc_line(d, NULL, "%8s%*s%8s", l->m->profiler, margin, "", l->other->profiler);
	if (misses) {
		char heads[120] = "";

		for (size_t k = 0; k < misses->nlevels; k++)
			snprintf(heads + strlen(heads), sizeof(heads) - strlen(heads), "%*s",
				 MISS_COLUMN, misses->level[k]);
		doc_line(d, NULL, "%*s%s%*s%*s", 8 + margin + other, "", heads, MISS_COLUMN, "each",
			 MISS_COLUMN, "hidden");
	}
	if (calc)
		doc_line(d, NULL, "%*s%*s%*s %s", 8 + margin + other, "", CALC_COLUMN, "times",
			 CALC_COLUMN, "CPI", "culprits");
	doc_object(d, NULL);
	doc_text(d, "symbol", l->f->name);
	doc_real(d, "share", l->f->cycles / (double)l->m->cycles);
	if (x->is) {
		doc_boolean(d, "estimated", true);
		doc_real(d, "margin",
			 estimated_margin(x, "function", l->f->id, "") / (double)l->m->cycles);
	}
	struct doc_table *t = DOC_TABLE(d, columns, .key = "instructions");

	for (size_t i = 0, run; i < l->count; i++) {
		const struct model_inst *in = &l->insts[i];

		for (run = 0; i + run < l->count && cold(l, i + run);)
			run++;
		if (run > COLD_RUN) {
			doc_above(t, TERM_DIM, "%*s… %zu instructions without time …", left, "",
				  run);
			for (; run; run--, i++) {
				put_inst(t, l, i, most, rest);
				doc_hide(t);
			}
			i--;
			file = NULL;
			continue;
		}
		if (in->file && in->line && (!file || strcmp(file, in->file) || line != in->line)) {
			add_source(t, l, o, sources, i, left);
			file = in->file;
			line = in->line;
		}
		put_inst(t, l, i, most, rest);
	}
	doc_close(d);
}

static bool not_found(struct store *s, const char *name, struct err *e)
{
	char host[200];

	if (model_inlined_into(s, name, host, sizeof(host)))
		return err_set(e,
			       "'%s' has no code of its own in %s: it is inlined; its lines are in "
			       "`culprit annotate %s %s`",
			       name, store_path(s), store_path(s), host);
	return err_set(
	    e, "no function '%s' has any time in %s; `culprit report` lists those that have", name,
	    store_path(s));
}

static bool annotate_functions(struct store *s, const struct view_options *o, const struct model *m,
			       const struct model *other, const struct spectrum_insts *misses,
			       const struct calc_model *calc, struct err *e)
{
	struct sources *sources = sources_new();
	struct doc *d = doc_new();
	size_t n, shown = 0;
	const struct model_function **order = model_functions(m, o->function, &n);

	estimated_line(d, "", &m->estimated);
	doc_array(d, NULL);
	for (size_t i = 0; i < n && shown < (size_t)o->limit; i++, shown++) {
		struct listing l = {
			.m = m, .other = other, .misses = misses, .calc = calc, .f = order[i]
		};

		if (!o->function && order[i]->cycles < 0.01 * (double)m->cycles && shown)
			break;
		open_listing(&l);
		add_listing(d, &l, o, sources);
		close_listing(&l);
	}
	const bool ok = n ? doc_print(d, o, e) : not_found(s, o->function ? o->function : "", e);

	doc_free(d);
	sources_free(sources);
	free(order);
	return ok;
}

bool view_annotate(struct store *s, const struct view_options *o, struct err *e)
{
	struct model m, other;
	bool second = o->profiler && strcmp(o->profiler, "oracle");
	if (live_is(s))
		return live_annotate(s, o, e);
	if (!model_read(s, NULL, &m, e))
		return false;
	if (second && !model_read(s, o->profiler, &other, e)) {
		model_free(&m);
		return false;
	}
	struct spectrum_insts misses = { 0 };
	struct calc_model calc = { 0 };
	bool ok =
	    (!o->spectrum || spectrum_insts_read(s, &misses, e)) &&
	    (!o->calc || calc_read(s, &(struct calc_read_options){ .no_truth = true }, &calc, e)) &&
	    annotate_functions(s, o, &m, second ? &other : NULL, o->spectrum ? &misses : NULL,
			       o->calc ? &calc : NULL, e);
	spectrum_insts_free(&misses);
	calc_model_free(&calc);
	if (second)
		model_free(&other);
	model_free(&m);
	return ok;
}
