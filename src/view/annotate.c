/* SPDX-License-Identifier: MIT */
/*
 * Shows functions line by line: their source where its files can be read, their jumps, and every
 * instruction with its share of the run and a stack of events. Without a name it shows the hottest
 * functions, hottest first.
 *
 *         time     runs   cy/run why            address     instruction
 *       41.12%                                                   37      double r = floor(x);
 *       21.30%    9,600     10.2 ffffffffffff=   2a3f0   ╭─  fsflags  a5     FL-CSR 93%, base 7%
 *
 * A line of source has the sum over all its instructions in the function where it comes first.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "view/calc.h"
#include "view/doc.h"
#include "view/icost.h"
#include "view/jumps.h"
#include "view/live.h"
#include "view/model.h"
#include "view/source.h"
#include "view/spectrum_elsewhere.h"
#include "view/stack.h"

/* A longer run of instructions without time becomes one line. */
#define COLD_RUN 6

struct listing {
	const struct model *m;
	const struct model *other;	     /* the same run by a second profiler, or NULL */
	const struct spectrum_insts *misses; /* NULL: not asked for */
	const struct calc_model *calc;	     /* NULL: not asked for */
	const struct icost_model *costs;     /* NULL: not asked for */
	const struct stack_places *places;   /* NULL: not asked for */
	const struct model_function *f;
	const struct model_inst *insts, *other_insts;
	size_t count;
	struct jumps *jumps;
	struct line *lines; /* by file and number */
	size_t nlines;
};

/* A source line, by all its instructions in the function. */
struct line {
	const char *file;
	int number;
	size_t first; /* index of its first instruction */
	double cycles;
	uint64_t executions;	       /* of the instruction that was executed most often */
	const struct model_inst *most; /* the instruction with most time */
	bool shown;		       /* its sum is in the listing */
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

static int compare_lines(const struct line *a, const struct line *b)
{
	const int file = strcmp(a->file, b->file);

	return file ? file : (a->number > b->number) - (a->number < b->number);
}

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const int order = compare_lines(x, y);

	return order ? order : (x->first > y->first) - (x->first < y->first);
}

/* Sums instructions by source line. */
static void sum_lines(struct listing *l)
{
	struct line *all = x_calloc(l->count + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct model_inst *in = &l->insts[i];

		if (in->file && in->line > 0)
			all[n++] = (struct line){ .file = in->file,
						  .number = in->line,
						  .first = i,
						  .cycles = in->cycles,
						  .executions = in->executions,
						  .most = in };
	}
	if (n)
		qsort(all, n, sizeof(*all), by_line);
	for (size_t i = 0; i < n; i++) {
		struct line *last = l->nlines ? &all[l->nlines - 1] : NULL;

		if (!last || compare_lines(last, &all[i])) {
			all[l->nlines++] = all[i];
			continue;
		}
		last->cycles += all[i].cycles;
		last->executions = max_u64(last->executions, all[i].executions);
		if (all[i].most->cycles > last->most->cycles)
			last->most = all[i].most;
	}
	l->lines = all;
}

/* The line of an instruction that has one. */
static struct line *line_of(const struct listing *l, const struct model_inst *in)
{
	const struct line want = { .file = in->file, .number = in->line };
	const size_t i = ARRAY_SEARCH(l->nlines, k, compare_lines(&l->lines[k], &want) < 0);

	return &l->lines[i];
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
	sum_lines(l);
	free(pcs);
	free(targets);
}

static void close_listing(struct listing *l)
{
	jumps_free(l->jumps);
	free(l->lines);
}

#define MISS_COLUMN 9 /* width of a count of misses */

#define CALC_COLUMN 9 /* width of a frequency, a CPI or letters */

#define COST_COLUMN 9 /* width of a saving, a share or a slack */
#define RUNS_COLUMN 9 /* width of executions and of cycles per execution */

/* Width of the columns that an option adds. */
static int more_columns(const struct listing *l)
{
	return (l->misses ? (int)(l->misses->nlevels + 2) * MISS_COLUMN : 0) +
	       (l->calc ? 3 * CALC_COLUMN + 1 : 0) + (l->costs ? 4 * COST_COLUMN : 0) +
	       (l->places ? 2 * COST_COLUMN : 0);
}

/* What fixing the instruction would save, how often it is critical, and its slack. */
static void put_costs(struct doc_table *t, const struct listing *l, uint64_t pc)
{
	const struct icost_inst *i = l->costs ? icost_inst_at(l->costs, pc) : NULL;

	CELL_REAL_IF(t, i, icost_inst_cost(i) / l->costs->graph_cycles);
	CELL_REAL_IF(t, i, i->critical);
	CELL_REAL_IF(t, i, i->slack);
	CELL_REAL_IF(t, i, i->local_slack);
}

/* What the instruction takes by FMT, and what of that is lost to miss events and the like. */
static void put_place(struct doc_table *t, const struct listing *l, uint64_t pc)
{
	const struct stack_place *p = l->places ? stack_place_at(l->places, pc) : NULL;

	CELL_REAL_IF(t, p, stack_place_cycles(p) / l->places->run);
	CELL_REAL_IF(t, p, stack_place_lost(p) / l->places->run);
	if (!p) {
		cell_none(t);
		return;
	}
	cell_map(t);
	for (int k = 0; k < CPI_COMPONENTS; k++)
		if (p->cycles[k] > 0)
			cell_put(t, words_components[k].name, p->cycles[k]);
}

static void put_runs(struct doc_table *t, const struct model_inst *in)
{
	char count[CALC_HUMAN];

	if (in->executions)
		cell_format(t, "%*s", RUNS_COLUMN, calc_human((double)in->executions, count));
	else
		cell_none(t);
	CELL_REAL_IF(t, in->executions, in->cycles / (double)in->executions);
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
			 ? calc_letters(p, &p->insts[inst], true, letters)
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

/* The source line from which instruction i comes, above it; where it comes first, with its sum. */
static void add_source(struct doc_table *t, const struct listing *l, const struct view_options *o,
		       struct sources *sources, size_t i, int left)
{
	const struct model_inst *in = &l->insts[i];
	struct line *line = line_of(l, in);
	const double share = line->cycles / (double)l->m->cycles;
	const char *text = sources_line(sources, in->file, in->line);
	char lanes[64], place[96], shown[512], sum[32] = "";

	jumps_draw(l->jumps, i, 0, lanes);
	if (!line->shown && share >= 0.00005)
		snprintf(sum, sizeof(sum), "%7.2f%%", 100 * share);
	line->shown = true;
	if (text) {
		const int n =
		    snprintf(place, sizeof(place), "%.70s%s%d  ", in->inlined ? in->inlined : "",
			     in->inlined ? ":" : "", in->line);

		term_cut_source(text, o->width - left - jumps_lanes(l->jumps) - 2 - n, shown,
				sizeof(shown));
	} else {
		snprintf(place, sizeof(place), "%s:%d", path_name(in->file), in->line);
		shown[0] = '\0';
	}
	doc_above(t, TERM_CYAN, "%-*s%s %s%s", left, sum, lanes, place, shown);
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

static void cost_words(const struct listing *l, uint64_t pc, char *buf, size_t size_bytes)
{
	const struct icost_inst *i = icost_inst_at(l->costs, pc);

	buf[0] = '\0';
	if (i)
		icost_inst_words(l->costs, i, buf, size_bytes);
}

static void place_words(const struct listing *l, uint64_t pc, char *buf, size_t size_bytes)
{
	const struct stack_place *p = stack_place_at(l->places, pc);

	buf[0] = '\0';
	if (p)
		stack_place_words(p, l->places->run, buf, size_bytes);
}

/* Columns that the longest address takes. */
static int address_columns(const struct listing *l)
{
	const int digits = l->count ? snprintf(NULL, 0, "%" PRIx64, l->insts[l->count - 1].pc) : 0;

	return digits > 8 ? digits : 8;
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
	CELL_REAL_IF(t, in->executions, in->cycles / (double)in->executions);
	model_stack_cell(t, l->m, in);
	CELL_REAL_IF(t, l->other, l->other_insts[i].cycles);
	if (l->other)
		model_stack_cell(t, l->other, &l->other_insts[i]);
	else
		cell_none(t);
	const struct model_interval *interval =
	    l->other && l->other->intervals
		? &l->other->intervals[l->other_insts - l->other->insts + (ptrdiff_t)i]
		: NULL;

	CELL_REAL_IF(t, interval, interval->low);
	CELL_REAL_IF(t, interval, interval->high);

	put_share(t, in->cycles / (double)l->m->cycles);
	estimated_cell(t, estimated_margin(&l->m->estimated, "instruction", (int64_t)in->pc, "") /
			      (double)l->m->cycles);
	if (l->other)
		put_share(t, l->other_insts[i].cycles / (double)l->other->cycles);
	else
		cell_none(t);
	put_runs(t, in);
	put_misses(t, l, in->pc);
	put_calc(t, l, in->pc);
	put_costs(t, l, in->pc);
	put_place(t, l, in->pc);
	cell_stack(t, parts, model_parts(in, most, parts, ARRAY_LEN(parts)));
	cell_format(t, "%*" PRIx64, address_columns(l), in->pc);
	jumps_draw(l->jumps, i, 1, lanes);
	cell_text(t, lanes);
	if (l->costs)
		cost_words(l, in->pc, words, sizeof(words));
	else if (l->places)
		place_words(l, in->pc, words, sizeof(words));
	else
		both_words(l, i, words, sizeof(words));
	disasm_line(in, line, sizeof(line));
	cell_code(t, line);
	if (!words[0])
		cell_width(t, -rest);
	cell_text(t, words[0] ? words : NULL);
}

/* How wide the parts of a listing are. */
struct widths {
	int bar, runs, other, margin, address;
	int left; /* of all before the jumps */
	int lanes, rest, text;
};

static struct widths widths_of(const struct listing *l, const struct view_options *o)
{
	const bool more = more_columns(l) > 0;
	struct widths w = {
		.bar = more		 ? 4
		       : o->width >= 120 ? 20
					 : 10,
		.runs = o->width >= (more ? 120 : 90) ? RUNS_COLUMN : 0,
		.other = l->other ? 8 : 0,
		.margin = l->m->estimated.is ? 8 : 0,
		.address = address_columns(l),
		.lanes = jumps_lanes(l->jumps),
	};

	w.left =
	    8 + w.margin + w.other + 2 * w.runs + more_columns(l) + 1 + w.bar + 1 + w.address + 1;
	w.rest = o->width - w.left - w.lanes - 2;
	w.text = w.rest > 70		? 42
		 : w.rest > 44		? 30
		 : !more && w.rest > 32 ? w.rest - 13
					: w.rest - 1;
	w.rest = w.rest > 12 ? w.rest : 12;
	w.text = w.text > 11 ? w.text : 11;
	return w;
}

/* The table of a listing; the options say which of its columns are shown. */
static struct doc_table *listing_table(struct doc *d, const struct listing *l,
				       const struct widths *w)
{
	const struct spectrum_insts *misses = l->misses;
	const bool calc = l->calc, costs = l->costs;
	const struct estimated *x = &l->m->estimated;
	const size_t nlevels = misses ? misses->nlevels : 0;
	const int miss = misses ? MISS_COLUMN : 0, c = calc ? CALC_COLUMN : 0,
		  cost = costs ? COST_COLUMN : 0, place = l->places ? COST_COLUMN : 0;
	const struct doc_column columns[] = {
		{ DOC_DATA("pc") },
		{ .csv = "symbol" },
		{ DOC_DATA("disasm") },
		{ DOC_DATA("source") },
		{ DOC_DATA("cycles") },
		{ DOC_DATA("share"), .csv_format = "%.8f" },
		{ DOC_DATA("executions") },
		{ DOC_DATA("cycles_per_execution") },
		{ .key = "stack" },
		{ DOC_DATA(l->other ? "other_cycles" : NULL) },
		{ .key = l->other ? "other_stack" : NULL },
		{ DOC_DATA(l->other && l->other->intervals ? "other_low" : NULL) },
		{ DOC_DATA(l->other && l->other->intervals ? "other_high" : NULL) },
		{ DOC_SHOWN(l->other ? l->m->profiler : "time", "%.2f%%", 8), .before = "" },
		{ ESTIMATED_COLUMN(x, "%.2f", w->margin), .csv = x->is ? "margin" : NULL,
		  .csv_format = "%.8f", .before = "", .factor = 100 },
		{ DOC_SHOWN(l->other ? l->other->profiler : "", "%.2f%%", w->other), .before = "" },
		{ .head = "runs", .before = "", .width = w->runs },
		{ DOC_SHOWN("cy/run", "%.2f", w->runs), .before = "" },
		{ DOC_DATA(misses ? "misses_near" : NULL), .head = misses ? misses->level[0] : NULL,
		  .before = "", .width = miss },
		{ DOC_DATA(nlevels > 1 ? "misses_next" : NULL),
		  .head = nlevels > 1 ? misses->level[1] : NULL, .before = "",
		  .width = nlevels > 1 ? miss : 0 },
		{ DOC_DATA(nlevels > 2 ? "misses_far" : NULL),
		  .head = nlevels > 2 ? misses->level[2] : NULL, .before = "",
		  .width = nlevels > 2 ? miss : 0 },
		{ DOC_DATA(misses ? "miss_net" : NULL) },
		{ DOC_DATA(misses ? "miss_each" : NULL), DOC_SHOWN("each", "%.1f", miss),
		  .before = "" },
		{ DOC_DATA(misses ? "miss_hidden" : NULL), DOC_SHOWN("hidden", "%.0f%%", miss),
		  .factor = 100, .before = "" },
		{ DOC_DATA(calc ? "frequency" : NULL) },
		{ .head = "times", .before = "", .width = c },
		{ DOC_DATA(calc ? "cpi" : NULL), DOC_SHOWN("CPI", "%.1fcy", c), .before = "" },
		{ DOC_DATA(calc ? "culprits" : NULL), .head = "culprits", .before = " ",
		  .width = -c },
		{ .csv = costs ? "saves" : NULL,
		  DOC_SHOWN("saves", "%.2f%%", cost),
		  .before = "",
		  .factor = 100 },
		{ .csv = costs ? "critical" : NULL,
		  DOC_SHOWN("critical", "%.0f%%", cost),
		  .before = "",
		  .factor = 100 },
		{ .csv = costs ? "slack" : NULL, DOC_SHOWN("slack", "%.1f", cost), .before = "" },
		{ .csv = costs ? "local_slack" : NULL,
		  DOC_SHOWN("local", "%.1f", cost),
		  .before = "" },
		{ DOC_DATA(l->places ? "fmt_share" : NULL), .csv_format = "%.8f",
		  DOC_SHOWN("fmt", "%.2f%%", place), .before = "", .factor = 100 },
		{ DOC_DATA(l->places ? "fmt_lost" : NULL), .csv_format = "%.8f",
		  DOC_SHOWN("lost", "%.2f%%", place), .before = "", .factor = 100 },
		{ .key = l->places ? "fmt_stack" : NULL },
		{ .head = "why", .width = -w->bar },
		{ .head = "address", .width = -w->address, .colour = TERM_DIM },
		{ .head = "", .width = -(w->lanes + 1) },
		{ .head = "instruction", .width = -w->text, .name = true },
		{ .head = w->rest - w->text - 1 > 5 ? costs   ? "fixing"
						      : place ? "lost to"
							      : "events"
						    : NULL,
		  .width = -(w->rest - w->text - 1),
		  .ragged = true,
		  .colour = TERM_DIM },
	};

	return DOC_TABLE(d, columns, .key = "instructions", .heads = true);
}

static void open_object(struct doc *d, const struct listing *l)
{
	const struct estimated *x = &l->m->estimated;

	doc_object(d, NULL);
	doc_text(d, "symbol", l->f->name);
	doc_real(d, "share", l->f->cycles / (double)l->m->cycles);
	if (x->is) {
		doc_boolean(d, "estimated", true);
		doc_real(d, "margin",
			 estimated_margin(x, "function", l->f->id, "") / (double)l->m->cycles);
	}
}

static void add_listing(struct doc *d, const struct listing *l, const struct view_options *o,
			struct sources *sources)
{
	const struct widths w = widths_of(l, o);
	double most = 1;
	const char *file = NULL;
	int line = 0;

	for (size_t i = 0; i < l->count; i++)
		most = l->insts[i].cycles > most ? l->insts[i].cycles : most;
	add_heading(d, l);
	open_object(d, l);
	struct doc_table *t = listing_table(d, l, &w);

	for (size_t i = 0, run; i < l->count; i++) {
		const struct model_inst *in = &l->insts[i];

		for (run = 0; i + run < l->count && cold(l, i + run);)
			run++;
		if (run > COLD_RUN) {
			doc_above(t, TERM_DIM, "%*s… %zu instructions without time …", w.left, "",
				  run);
			for (; run; run--, i++) {
				put_inst(t, l, i, most, w.rest);
				doc_hide(t);
			}
			i--;
			file = NULL;
			continue;
		}
		if (in->file && in->line && (!file || strcmp(file, in->file) || line != in->line)) {
			add_source(t, l, o, sources, i, w.left);
			file = in->file;
			line = in->line;
		}
		put_inst(t, l, i, most, w.rest);
	}
	doc_close(d);
}

/* ---- source alone ---- */

/* Between two lines with instructions, so many without any are shown. */
#define QUIET_RUN 4

static void put_line(struct doc_table *t, const struct listing *l, const struct line *k,
		     struct sources *sources, int number, const char *file, int text_columns)
{
	const char *text = sources_line(sources, file, number);
	char shown[512] = "", words[360];

	doc_row(t);
	if (k)
		cell_text(t, l->f->name);
	else
		cell_none(t);
	cell_format(t, "%s:%d", file, number);
	CELL_REAL_IF(t, k, k->cycles);
	CELL_REAL_IF(t, k, k->cycles / (double)l->m->cycles);
	if (k && k->executions)
		cell_integer(t, (int64_t)k->executions);
	else
		cell_none(t);
	if (k)
		put_share(t, k->cycles / (double)l->m->cycles);
	else
		cell_none(t);
	put_runs(t, &(struct model_inst){ .cycles = k ? k->cycles : 0,
					  .executions = k ? k->executions : 0 });
	cell_integer(t, number);
	if (text)
		term_cut_source(text, text_columns, shown, sizeof(shown));
	cell_text(t, shown);
	if (k)
		why_words(l->m, k->most, words, sizeof(words));
	cell_text(t, k ? words : NULL);
}

/* The lines of a function in the order of its files, with the sums over their instructions. */
static void add_source_lines(struct doc *d, const struct listing *l, const struct view_options *o,
			     struct sources *sources)
{
	const int words = o->width >= 120 ? 34 : 20,
		  text = o->width - 8 - 2 * RUNS_COLUMN - 7 - 2 - words - 1;
	const struct doc_column columns[] = {
		{ .csv = "symbol" },
		{ DOC_DATA("source") },
		{ DOC_DATA("cycles") },
		{ DOC_DATA("share"), .csv_format = "%.8f" },
		{ DOC_DATA("executions") },
		{ DOC_SHOWN("time", "%.2f%%", 8), .before = "" },
		{ .head = "runs", .before = "", .width = RUNS_COLUMN },
		{ DOC_SHOWN("cy/run", "%.2f", RUNS_COLUMN), .before = "" },
		{ DOC_SHOWN("line", "%.0f", 6), .colour = TERM_DIM },
		{ .head = "source", .before = "  ", .width = -text },
		{ .head = "events", .width = -words, .ragged = true, .colour = TERM_DIM },
	};

	add_heading(d, l);
	open_object(d, l);
	struct doc_table *t = DOC_TABLE(d, columns, .key = "lines", .heads = true);

	for (size_t i = 0; i < l->nlines; i++) {
		const struct line *k = &l->lines[i], *last = i ? k - 1 : NULL;
		const bool same = last && !strcmp(last->file, k->file);

		if (!same) {
			doc_above(t, TERM_CYAN, "%*s%s%s", 8 + 2 * RUNS_COLUMN + 9, "", k->file,
				  sources_line(sources, k->file, 1) ? "" : " (cannot be read)");
		} else if (k->number - last->number - 1 > QUIET_RUN) {
			doc_above(t, TERM_DIM, "%*s…", 8 + 2 * RUNS_COLUMN + 9, "");
		} else if (o->format == VIEW_TEXT) {
			for (int n = last->number + 1; n < k->number; n++)
				put_line(t, l, NULL, sources, n, k->file, text);
		}
		put_line(t, l, k, sources, k->number, k->file, text);
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
			       const struct calc_model *calc, const struct icost_model *costs,
			       const struct stack_places *places, struct err *e)
{
	struct sources *sources = sources_new();
	struct doc *d = doc_new();
	size_t n, shown = 0;
	const struct model_function **order = model_functions(m, o->function, &n);

	estimated_line(d, "", &m->estimated);
	doc_array(d, NULL);
	for (size_t i = 0; i < n && shown < (size_t)o->limit; i++, shown++) {
		struct listing l = { .m = m,
				     .other = other,
				     .misses = misses,
				     .calc = calc,
				     .costs = costs,
				     .places = places,
				     .f = order[i] };

		if (!o->function && order[i]->cycles < 0.01 * (double)m->cycles && shown)
			break;
		open_listing(&l);
		if (o->source)
			add_source_lines(d, &l, o, sources);
		else
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

	if (live_is(s) && (o->icost || o->source || o->stack))
		return err_set(e,
			       "%s has samples of a live machine: %s is of runs of `culprit sim`",
			       store_path(s),
			       o->icost	  ? "--icost"
			       : o->stack ? "--stack"
					  : "--source");
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
	struct stack_places places = { .count = 0 };
	struct icost_model *costs = o->icost ? x_calloc(1, sizeof(*costs)) : NULL;
	bool ok =
	    (!o->spectrum || spectrum_insts_read(s, &misses, e)) &&
	    (!o->calc || calc_read(s, &(struct calc_read_options){ .no_truth = true }, &calc, e)) &&
	    (!costs || icost_read(s, costs, e)) &&
	    (!o->stack || stack_places_read(s, &places, e)) &&
	    annotate_functions(s, o, &m, second ? &other : NULL, o->spectrum ? &misses : NULL,
			       o->calc ? &calc : NULL, costs, o->stack ? &places : NULL, e);
	spectrum_insts_free(&misses);
	calc_model_free(&calc);
	stack_places_free(&places);
	if (costs)
		icost_free(costs);
	free(costs);
	if (second)
		model_free(&other);
	model_free(&m);
	return ok;
}
