/* SPDX-License-Identifier: MIT */
/*
 * Shows CPI stacks side by side:
 *
 *      lua5.4 on eyerman2006: 3,000,000 instructions in 2,726,527 cycles, CPI 0.909
 *
 *      Cycles per instruction   simulated   inverse       fmt      sfmt     naive …
 *        base                       0.264     0.264     0.287
 *        L1 I-cache misses          0.208 …
 *      Error, % of all cycles …
 *
 * Bars follow, top-down analysis, functions, and with --phases a strip over time.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/stack.h"
#include "view/svg.h"

#define DISTRUST   0.04 /* share of the cycles by which a base may be less than a unit needs */
#define STRIP_ROWS 12

/* How each component looks: on a terminal, without colour, and in a picture. */
static const struct {
	enum term_colour colour;
	char letter;
	const char *rgb;
} look[CPI_COMPONENTS] = {
#define X(id, name, letter, colour, rgb, words, meaning)                                           \
	[CPI_##id] = { TERM_##colour, letter, rgb },
	WORDS_COMPONENTS(X)
#undef X
};

static bool part_used(const struct stack_model *m, int part)
{
	for (size_t i = 0; i < m->nmethods; i++)
		if (fabs(m->methods[i].cycles[part]) >= 0.5)
			return true;
	return part < CPI_SIMULATED;
}

/* Fits the head of a column. */
static const char *short_name(const struct stack_method *s)
{
	return strcmp(s->name, "naive_non_spec") ? s->name : "non_spec";
}

/* A column per method, in blocks that fit the width. */
static struct doc_table *methods_table(struct doc *d, const struct stack_model *m,
				       const char *title, const char *format, size_t from,
				       size_t to)
{
	struct doc_column columns[1 + STACK_METHODS] = {
		{ .head = title, .before = "", .width = -25 },
	};

	for (size_t i = from; i < to; i++)
		columns[1 + i - from] =
		    (struct doc_column){ DOC_SHOWN(short_name(&m->methods[i]), format, 9) };
	doc_blank(d);
	return doc_table(d, columns, 1 + to - from, &(struct doc_table_options){ .heads = true });
}

static void label_row(struct doc_table *t, const char *words)
{
	doc_row(t);
	cell_format(t, "  %s", words);
}

static void add_cpi(struct doc *d, const struct stack_model *m, size_t from, size_t to)
{
	struct doc_table *t = methods_table(d, m, "Cycles per instruction", "%.3f", from, to);

	for (int k = 0; k < CPI_COMPONENTS; k++) {
		if (!part_used(m, k))
			continue;
		label_row(t, words_components[k].words);
		for (size_t i = from; i < to; i++) {
			const struct stack_method *s = &m->methods[i];

			if (s->reference && k >= CPI_SIMULATED)
				cell_words(t, "in base");
			else
				cell_real(t, s->cycles[k] / m->insts);
		}
	}
	label_row(t, "sum");
	for (size_t i = from; i < to; i++) {
		double sum = 0;

		for (int k = 0; k < CPI_COMPONENTS; k++)
			sum += m->methods[i].cycles[k];
		cell_real(t, sum / m->insts);
	}
}

/* How far components may be off, where they are estimates. */
static void add_margins(struct doc *d, const struct stack_model *m, size_t from, size_t to)
{
	if (!m->estimated.is)
		return;
	struct doc_table *t = methods_table(d, m, "± cycles per instruction", "%.3f", from, to);

	for (int k = 0; k < CPI_COMPONENTS; k++) {
		if (!part_used(m, k))
			continue;
		label_row(t, words_components[k].words);
		for (size_t i = from; i < to; i++)
			if (m->methods[i].reference || m->methods[i].cycles[k] == 0)
				cell_none(t);
			else
				estimated_cell(t, m->methods[i].margin[k] / m->insts);
	}
}

static void add_errors(struct doc *d, const struct stack_model *m, size_t from, size_t to)
{
	if (!m->methods[0].reference)
		return;
	struct doc_table *t = methods_table(d, m, "Error, % of all cycles", "%+.2f", from, to);

	for (int k = 0; k < CPI_SIMULATED; k++) {
		label_row(t, words_components[k].words);
		for (size_t i = from; i < to; i++) {
			const struct stack_method *s = &m->methods[i];

			if (!s->compared) {
				cell_none(t);
				continue;
			}
			cell_real(t, s->error[k]);
			if (s->worst == (enum cpi_component)k)
				cell_colour(t, TERM_BOLD);
		}
	}
	label_row(t, "largest");
	for (size_t i = from; i < to; i++) {
		char text[32] = "reference";

		if (m->methods[i].compared)
			snprintf(text, sizeof(text), "%.2f", m->methods[i].max_error);
		cell_words(t, text);
	}
}

/* Cycles with two causes: that share of a stack could stand in either component. */
static void add_overlap(struct doc *d, const struct stack_model *m)
{
	if (m->beside_long_cycles <= 0)
		return;
	doc_line(d, NULL,
		 "\nFront-end penalties beside a long data miss: %.2f%% of cycles (%.2f%% with it "
		 "at the ROB's head)",
		 100 * m->beside_long_cycles / m->cycles, 100 * m->overlap_cycles / m->cycles);
}

/* The component that cannot be right, because with those that simulation counts before it there is less than an
 * ideal machine needs; CPI_COMPONENTS: none is known. */
static enum cpi_component below_clock(const struct stack_model *m, const struct stack_method *s)
{
	static const enum cpi_component next[STACK_CLOCKS] = { CPI_BASE, CPI_L1D, CPI_BMISP };
	double sum = 0;

	for (size_t k = 0; k < STACK_CLOCKS; k++) {
		sum += stack_comparable(s, next[k]);
		if (m->ideal[k] > 0 && sum < m->ideal[k] - DISTRUST * m->cycles)
			return next[k];
	}
	return CPI_COMPONENTS;
}

/* Names methods with a component that cannot be right: the whole run needs a unit for longer than the base,
 * or its instructions need more dispatch slots, or an ideal machine takes longer. What the component lacks was
 * charged to others. */
static void add_distrust(struct doc *d, const struct stack_model *m)
{
	enum reason { BY_UNIT, BY_SLOTS, BY_CLOCK, REASONS };
	const double slots = m->width > 0 ? m->insts / m->width : 0;
	char names[REASONS][STACK_METHODS * 56] = { "" };
	size_t n[REASONS] = { 0 };

	doc_array(d, "distrusted");
	for (size_t i = 0; i < m->nmethods; i++) {
		const struct stack_method *s = &m->methods[i];
		const double base = stack_comparable(s, CPI_BASE);
		/* a naive base is known to be what is left, and may be negative */
		const bool naive = !strncmp(s->name, "naive", 5);
		const enum cpi_component below =
		    s->reference || naive ? CPI_COMPONENTS : below_clock(m, s);
		enum reason why = REASONS;

		if (s->reference)
			continue;
		if (m->busiest_cycles > 0 && base < m->busiest_cycles - DISTRUST * m->cycles)
			why = BY_UNIT;
		else if (base < slots - DISTRUST * m->cycles && !naive)
			why = BY_SLOTS;
		else if (below != CPI_COMPONENTS)
			why = BY_CLOCK;
		if (why == REASONS)
			continue;
		doc_text(d, NULL, s->name);
		n[why] +=
		    (size_t)snprintf(names[why] + n[why], sizeof(names[why]) - n[why], "%s%s%s%s%s",
				     n[why] ? ", " : "", s->name, why == BY_CLOCK ? " (" : "",
				     why == BY_CLOCK ? words_components[below].words : "",
				     why == BY_CLOCK ? ")" : "");
	}
	doc_close(d);
	if (n[BY_UNIT])
		doc_line(d, NULL,
			 "\nNot to be trusted: the base, and what has the cycles that it lacks, "
			 "where it "
			 "is less than the\n%s unit alone needs, %.3f cycles per instruction: %s",
			 m->busiest, m->busiest_cycles / m->insts, names[BY_UNIT]);
	if (n[BY_SLOTS])
		doc_line(d, NULL,
			 "\nNot to be trusted: the base, and what has the cycles that it lacks, "
			 "where it is less than\nthe instructions need to dispatch, %.3f cycles "
			 "each: %s",
			 slots / m->insts, names[BY_SLOTS]);
	if (n[BY_CLOCK])
		doc_line(
		    d, NULL,
		    "\nNot to be trusted: a component with which there is less than an ideal "
		    "machine needs (%.3f cycles\nper instruction without misses, %.3f with L1 "
		    "D-misses, %.3f with mispredicted branches, too),\nand what has the cycles "
		    "that it lacks: %s",
		    m->ideal[0] / m->insts, m->ideal[1] / m->insts, m->ideal[2] / m->insts,
		    names[BY_CLOCK]);
}

static size_t parts_of(const double *cycles, double full, struct term_part parts[CPI_COMPONENTS])
{
	size_t n = 0;

	for (int k = 0; k < CPI_COMPONENTS; k++)
		if (cycles[k] > 0)
			parts[n++] =
			    (struct term_part){ cycles[k] / full, look[k].colour, look[k].letter };
	return n;
}

static void add_bars(struct doc *d, const struct stack_model *m, const struct view_options *o)
{
	const int cells = o->width - 28 > 10 ? o->width - 28 : 10;
	struct term_part parts[CPI_COMPONENTS];
	const char *names[CPI_COMPONENTS];
	double full = m->cycles;
	size_t n = 0;

	doc_heading(d, "Stacks");
	/* naive stacks may be higher than the run: all are drawn to the highest's scale */
	for (size_t i = 0; i < m->nmethods; i++) {
		double high = 0;

		for (int k = 0; k < CPI_COMPONENTS; k++)
			high += fmax(m->methods[i].cycles[k], 0);
		full = fmax(full, high);
	}
	for (size_t i = 0; i < m->nmethods; i++) {
		const struct stack_method *s = &m->methods[i];
		char label[40], base[40] = "";

		snprintf(label, sizeof(label), "  %-14s ", s->name);
		if (s->cycles[CPI_BASE] < 0)
			snprintf(base, sizeof(base), " base %.2f", s->cycles[CPI_BASE] / m->insts);
		doc_stack(d, label, parts, parts_of(s->cycles, full, parts), cells, base);
	}
	for (int k = 0; k < CPI_COMPONENTS; k++)
		if (part_used(m, k)) {
			parts[n] = (struct term_part){ 0, look[k].colour, look[k].letter };
			names[n++] = words_components[k].words;
		}
	doc_legend(d, parts, names, n);
}

static void add_topdown(struct doc *d, const struct stack_model *m, const struct view_options *o)
{
	const struct doc_column columns[] = {
		{ .before = "  ", .width = -32 },
		{ .format = "%.2f%%", .factor = 100, .width = 7 },
		{ .before = "  ", .width = o->width - 46 > 10 ? o->width - 46 : 10 },
	};

	if (!m->ntopdown)
		return;
	doc_heading(d, "Top-down (dispatch slots)");
	struct doc_table *t = DOC_TABLE(d, columns, .key = NULL);

	for (size_t i = 0; i < m->ntopdown; i++) {
		const double share = m->topdown[i].cycles / m->cycles;

		doc_row(t);
		cell_text(t, m->topdown[i].name);
		cell_real(t, share);
		cell_bar(t, share, TERM_BLUE);
	}
}

/* The components that have cycles, in the cell's map. */
static void put_parts(struct doc_table *t, const double *cycles)
{
	cell_map(t);
	for (int k = 0; k < CPI_COMPONENTS; k++)
		if (cycles[k] != 0)
			cell_put(t, words_components[k].name, cycles[k]);
}

static void add_functions(struct doc *d, const struct stack_model *m, const struct view_options *o)
{
	const struct estimated *x = &m->estimated;
	const int bar = o->width - 46 - (x->is ? 8 : 0);
	const struct doc_column columns[] = {
		{ .key = "cycles" },
		{ .key = "share", .before = "  ", .format = "%.2f%%", .factor = 100, .width = 7 },
		{ ESTIMATED_COLUMN(x, "%.2f", 7), .factor = 100 },
		{ .key = "symbol", .before = "  ", .width = -30 },
		{ .before = "  ", .width = bar > 10 ? bar : 10 },
		{ .key = "stack" },
	};

	if (m->nfunctions)
		doc_heading(d, "Functions (%s)",
			    strcmp(m->function_method, "fmt") ? "commit stage" : "fmt");
	doc_text(d, "function_method", m->function_method);
	struct doc_table *t = DOC_TABLE(d, columns, .key = "functions");

	for (size_t i = 0; i < m->nfunctions && i < (size_t)o->limit; i++) {
		const struct stack_function *f = &m->functions[i];
		struct term_part parts[CPI_COMPONENTS];

		doc_row(t);
		cell_real(t, f->cycles);
		cell_real(t, f->cycles / m->cycles);
		estimated_cell(t, estimated_margin(x, "function", f->id, "") / m->cycles);
		cell_text(t, f->name);
		cell_stack(t, parts, parts_of(f->parts, f->cycles, parts));
		put_parts(t, f->parts);
	}
}

/* Sums phases into at most `columns` columns. */
static struct stack_phase *strip_columns(const struct stack_model *m, size_t columns, size_t *count)
{
	struct stack_phase *out = x_calloc(columns, sizeof(*out));
	double each = m->cycles / (double)columns, at = 0;

	for (size_t i = 0; i < m->nphases; i++) {
		size_t c = (size_t)((at + m->phases[i].cycles / 2) / each);

		c = c < columns ? c : columns - 1;
		at += m->phases[i].cycles;
		out[c].cycles += m->phases[i].cycles;
		out[c].insts += m->phases[i].insts;
		for (int k = 0; k < CPI_COMPONENTS; k++)
			out[c].parts[k] += m->phases[i].parts[k];
	}
	*count = columns;
	return out;
}

/* The component at a height (0..1) of a column; -1: above it. */
static int part_at(const struct stack_phase *p, double height)
{
	double sum = 0, want = height * p->cycles;

	for (int k = 0; k < CPI_COMPONENTS; k++) {
		sum += fmax(p->parts[k], 0);
		if (want < sum)
			return k;
	}
	return -1;
}

static void add_strip(struct doc *d, const struct stack_model *m, const struct view_options *o,
		      const char *method)
{
	static const char *const level[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t columns = o->width > 40 ? (size_t)o->width - 12 : 28, count;
	double top = 0;

	if (columns > m->nphases)
		columns = m->nphases ? m->nphases : 1;

	struct stack_phase *p = strip_columns(m, columns, &count);
	struct term_part *row = x_calloc(count, sizeof(*row));
	char *line = x_calloc(count + 1, 4), *at = line;

	doc_heading(d, "Over time (%s): shares of each interval", method);
	for (int r = STRIP_ROWS - 1; r >= 0; r--) {
		char label[32];

		for (size_t c = 0; c < count; c++) {
			const int k = part_at(&p[c], (r + 0.5) / STRIP_ROWS);

			row[c] = k < 0 ? (struct term_part){ 0 }
				       : (struct term_part){ 0, look[k].colour, look[k].letter };
		}
		snprintf(label, sizeof(label), "  %6s  ",
			 r == STRIP_ROWS - 1 ? "100%"
			 : r		     ? ""
					     : "0%");
		doc_cells(d, label, row, count);
	}
	for (size_t c = 0; c < count; c++)
		top = fmax(top, p[c].insts > 0 ? p[c].cycles / p[c].insts : 0);
	for (size_t c = 0; c < count; c++) {
		const double cpi = p[c].insts > 0 ? p[c].cycles / p[c].insts : top;

		at = stpcpy(at, level[top > 0 ? (int)lround(8 * cpi / top) : 0]);
	}
	doc_line(d, NULL, "  %6s  %s", "CPI", line);
	doc_line(d, NULL, "  %6s  each column about %.3g cycles; CPI up to %.3g", "",
		 m->cycles / (double)count, top);
	free(line);
	free(row);
	free(p);
}

/* JSON: components as an object. all: also those without cycles. */
static void add_parts(struct doc *d, const char *key, const double *cycles, double divisor,
		      int count, bool all)
{
	doc_object(d, key);
	for (int k = 0; k < count; k++)
		if (all || cycles[k] != 0)
			doc_real(d, words_components[k].name, cycles[k] / divisor);
	doc_close(d);
}

static void add_method(struct doc *d, const struct stack_model *m, const struct stack_method *s)
{
	doc_object(d, NULL);
	doc_text(d, "name", s->name);
	doc_text(d, "summary", s->summary);
	doc_boolean(d, "reference", s->reference);
	add_parts(d, "components", s->cycles, m->insts,
		  s->reference ? CPI_SIMULATED : CPI_COMPONENTS, true);
	if (m->estimated.is && !s->reference)
		add_parts(d, "margins", s->margin, m->insts, CPI_COMPONENTS, false);
	if (s->compared) {
		doc_real(d, "max_error", s->max_error);
		doc_text(d, "max_error_component", words_components[s->worst].name);
		add_parts(d, "errors", s->error, 1, CPI_SIMULATED, true);
	} else {
		doc_null(d, "max_error");
	}
	doc_close(d);
}

/* JSON: the whole run, and each method with its components. */
static void add_values(struct doc *d, const struct stack_model *m)
{
	doc_text(d, "program", m->program);
	doc_text(d, "machine", m->machine);
	doc_real(d, "cpi", m->cycles / m->insts);
	doc_integer(d, "cycles", (int64_t)m->cycles);
	doc_integer(d, "instructions", (int64_t)m->insts);
	doc_integer(d, "overlap_cycles", (int64_t)m->overlap_cycles);
	doc_integer(d, "beside_long_miss_cycles", (int64_t)m->beside_long_cycles);
	doc_integer(d, "busiest_unit_cycles", (int64_t)m->busiest_cycles);
	doc_array(d, "ideal_cycles");
	for (size_t k = 0; k < STACK_CLOCKS; k++)
		if (m->ideal[k] > 0)
			doc_integer(d, NULL, (int64_t)m->ideal[k]);
	doc_close(d);
	add_parts(d, "events", m->events, 1, CPI_SIMULATED, false);
	add_parts(d, "committed_events", m->committed, 1, CPI_SIMULATED, false);
	doc_array(d, "methods");
	for (size_t i = 0; i < m->nmethods; i++)
		add_method(d, m, &m->methods[i]);
	if (m->ntopdown) {
		doc_object(d, NULL);
		doc_text(d, "name", "topdown");
		doc_boolean(d, "reference", false);
		doc_object(d, "components");
		for (size_t i = 0; i < m->ntopdown; i++)
			doc_real(d, m->topdown[i].name, m->topdown[i].cycles / m->insts);
		doc_close(d);
		doc_null(d, "max_error");
		doc_close(d);
	}
	doc_close(d);
}

static void add_phases(struct doc *d, const struct stack_model *m, const char *method)
{
	static const struct doc_column columns[] = {
		{ .key = "cycles" },
		{ .key = "instructions" },
		{ .key = "stack" },
	};

	doc_text(d, "phase_method", method);
	struct doc_table *t = DOC_TABLE(d, columns, .key = "phases");

	for (size_t i = 0; i < m->nphases; i++) {
		doc_row(t);
		cell_integer(t, (int64_t)m->phases[i].cycles);
		cell_integer(t, (int64_t)m->phases[i].insts);
		put_parts(t, m->phases[i].parts);
	}
}

/* CSV: a row per method and component. */
static void add_rows(struct doc *d, const struct stack_model *m)
{
	const struct doc_column columns[] = {
		{ .csv = "program" },
		{ .csv = "machine" },
		{ .csv = "method" },
		{ .csv = "reference" },
		{ .csv = "component" },
		{ .csv = "cycles", .csv_format = "%.4f" },
		{ .csv = "cpi" },
		{ .csv = "error_percent", .csv_format = "%.4f" },
		{ .csv = m->estimated.is ? "cpi_margin" : NULL },
	};
	struct doc_table *t = DOC_TABLE(d, columns, .key = NULL);

	for (size_t i = 0; i < m->nmethods; i++) {
		const struct stack_method *s = &m->methods[i];

		for (int k = 0; k < (s->reference ? CPI_SIMULATED : CPI_COMPONENTS); k++) {
			doc_row(t);
			cell_text(t, path_name(m->program));
			cell_text(t, m->machine);
			cell_text(t, s->name);
			cell_integer(t, s->reference);
			cell_text(t, words_components[k].name);
			cell_real(t, s->cycles[k]);
			cell_real(t, s->cycles[k] / m->insts);
			CELL_REAL_IF(t, s->compared && k < CPI_SIMULATED, s->error[k]);
			CELL_REAL_IF(t, m->estimated.is && !s->reference && !isnan(s->margin[k]),
				     s->margin[k] / m->insts);
		}
	}
}

static void add_model(struct doc *d, const struct stack_model *m, const struct view_options *o,
		      const struct stack_options *so)
{
	const size_t per_block = o->width > 56 ? (size_t)(o->width - 26) / 10 : 3;
	const char *method = so->method ? so->method : "fmt";

	model_title(d, m->program, m->machine, m->insts, m->cycles, ", CPI %.3f",
		    m->cycles / m->insts);
	estimated_add(d, &m->estimated);
	add_values(d, m);
	for (size_t i = 0; i < m->nmethods; i += per_block)
		add_cpi(d, m, i, i + per_block < m->nmethods ? i + per_block : m->nmethods);
	for (size_t i = 0; i < m->nmethods; i += per_block)
		add_margins(d, m, i, i + per_block < m->nmethods ? i + per_block : m->nmethods);
	for (size_t i = 0; i < m->nmethods; i += per_block)
		add_errors(d, m, i, i + per_block < m->nmethods ? i + per_block : m->nmethods);
	if (m->in_order)
		doc_note(d, TERM_YELLOW,
			 "\nThis machine issues in order: read stalls. fmt and sfmt expect a "
			 "window that "
			 "goes on past what waits,\nand the others count where such a machine "
			 "loses nothing.");
	doc_boolean(d, "in_order", m->in_order);
	add_overlap(d, m);
	add_distrust(d, m);
	add_bars(d, m, o);
	if (so->phases)
		add_strip(d, m, o, method);
	add_topdown(d, m, o);
	add_functions(d, m, o);
	if (so->phases)
		add_phases(d, m, method);
	add_rows(d, m);
}

/* Stacks that a picture shows: those of the paper, which all have the same components. */
static bool in_picture(const struct stack_method *s)
{
	static const char *const names[] = { "naive", "naive_non_spec", "power5", "fmt", "sfmt" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(s->name, names[i]))
			return true;
	return s->reference;
}

/* The form of eyerman2006 figure 11: shares of the cycles of the run, a group per program. */
static bool draw(const struct stack_model *models, size_t count, const char *path, struct err *e)
{
	struct svg_part parts[CPI_COMPONENTS];
	struct svg_group *groups = x_calloc(count, sizeof(*groups));
	double(*values)[CPI_COMPONENTS] = x_calloc(count * STACK_METHODS, sizeof(*values));
	struct svg_bar *bars = x_calloc(count * STACK_METHODS, sizeof(*bars));
	size_t nparts = 0;
	int used[CPI_COMPONENTS];

	for (int k = 0; k < CPI_COMPONENTS; k++) {
		bool any = false;

		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; j < models[i].nmethods; j++)
				any |= in_picture(&models[i].methods[j]) &&
				       fabs(models[i].methods[j].cycles[k]) > 0;
		if (!any)
			continue;
		used[nparts] = k;
		parts[nparts++] =
		    (struct svg_part){ .name = words_components[k].words, .colour = look[k].rgb };
	}
	for (size_t i = 0, at = 0; i < count; i++) {
		groups[i].name = path_name(models[i].program);
		groups[i].bars = &bars[at];
		for (size_t j = 0; j < models[i].nmethods; j++) {
			const struct stack_method *s = &models[i].methods[j];

			if (!in_picture(s))
				continue;
			for (size_t k = 0; k < nparts; k++)
				values[at][k] = s->cycles[used[k]] / models[i].cycles;
			bars[at] = (struct svg_bar){ s->name, values[at] };
			at++;
			groups[i].nbars++;
		}
	}
	char *title = x_asprintf("CPI stacks on %s", models[0].machine);
	struct svg_chart chart = { .title = title,
				   .y_label = "share of all cycles",
				   .parts = parts,
				   .nparts = nparts,
				   .groups = groups,
				   .ngroups = count,
				   .most = 1.5,
				   .least = -0.5 };
	bool ok = svg_write(path, &chart, e);

	free(title);
	free(bars);
	free(values);
	free(groups);
	return ok;
}

bool view_stack(const struct stack_input *inputs, size_t count, const struct view_options *o,
		const struct stack_options *so, struct err *e)
{
	struct stack_model *models = x_calloc(count, sizeof(*models));
	const char *phases = so->phases ? (so->method ? so->method : "fmt") : NULL;
	bool ok =
	    o->format != VIEW_JSON || count == 1 || err_set(e, "--json takes one file at a time");
	struct doc *d = doc_new();

	for (size_t i = 0; ok && i < count; i++) {
		ok = stack_read(&inputs[i], phases, &models[i], e);
		if (!ok)
			break;
		if (i)
			doc_blank(d);
		add_model(d, &models[i], o, so);
	}
	ok = ok && doc_print(d, o, e);
	if (ok && so->svg)
		ok = draw(models, count, so->svg, e);
	doc_free(d);
	for (size_t i = 0; i < count; i++)
		stack_free(&models[i]);
	free(models);
	return ok;
}
