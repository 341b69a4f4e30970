/* SPDX-License-Identifier: MIT */
/*
 * CPI stacks side by side:
 *
 *      lua5.4 on eyerman2006: 3,000,000 instructions in 2,726,527 cycles, CPI 0.909
 *
 *      Cycles per instruction   simulated   inverse       fmt      sfmt     naive …
 *        base                       0.264     0.264     0.287
 *        L1 I-cache misses          0.208 …
 *      Error against the simulated stack, in % of all cycles …
 *      bars, functions, and with --phases a strip over time
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/model.h"
#include "view/stack.h"
#include "view/svg.h"
#include "view/term.h"

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

static void heading(const struct view_options *o, const char *text)
{
	fprintf(o->out, "\n%s%s%s\n", term_on(o, TERM_BOLD), text, term_off(o));
}

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

static void column_heads(const struct stack_model *m, const struct view_options *o,
			 const char *title, size_t from, size_t to)
{
	fprintf(o->out, "\n%s%-25s", term_on(o, TERM_BOLD), title);
	for (size_t i = from; i < to; i++)
		fprintf(o->out, " %9s", short_name(&m->methods[i]));
	fprintf(o->out, "%s\n", term_off(o));
}

static void print_cpi(const struct stack_model *m, const struct view_options *o, size_t from,
		      size_t to)
{
	column_heads(m, o, "Cycles per instruction", from, to);
	for (int k = 0; k < CPI_COMPONENTS; k++) {
		if (!part_used(m, k))
			continue;
		fprintf(o->out, "  %-23s", words_components[k].words);
		for (size_t i = from; i < to; i++) {
			const struct stack_method *s = &m->methods[i];

			if (s->reference && k >= CPI_SIMULATED)
				fprintf(o->out, " %9s", "in base");
			else
				fprintf(o->out, " %9.3f", s->cycles[k] / m->insts);
		}
		fputc('\n', o->out);
	}
	fprintf(o->out, "  %-23s", "sum");
	for (size_t i = from; i < to; i++) {
		double sum = 0;

		for (int k = 0; k < CPI_COMPONENTS; k++)
			sum += m->methods[i].cycles[k];
		fprintf(o->out, " %9.3f", sum / m->insts);
	}
	fputc('\n', o->out);
}

static void print_errors(const struct stack_model *m, const struct view_options *o, size_t from,
			 size_t to)
{
	if (!m->methods[0].reference)
		return;
	column_heads(m, o, "Error, % of all cycles", from, to);
	for (int k = 0; k < CPI_SIMULATED; k++) {
		fprintf(o->out, "  %-23s", words_components[k].words);
		for (size_t i = from; i < to; i++) {
			const struct stack_method *s = &m->methods[i];
			bool worst = s->compared && s->worst == (enum cpi_component)k;

			if (!s->compared)
				fprintf(o->out, " %9s", "");
			else
				fprintf(o->out, "%s %+9.2f%s", worst ? term_on(o, TERM_BOLD) : "",
					s->error[k], worst ? term_off(o) : "");
		}
		fputc('\n', o->out);
	}
	fprintf(o->out, "  %-23s", "largest");
	for (size_t i = from; i < to; i++) {
		if (m->methods[i].compared)
			fprintf(o->out, " %9.2f", m->methods[i].max_error);
		else
			fprintf(o->out, " %9s", "reference");
	}
	fputc('\n', o->out);
}

/* Cycles that two causes share, which is how much of a stack is a matter of whose they are. */
static void print_overlap(const struct stack_model *m, const struct view_options *o)
{
	if (m->beside_long_cycles <= 0)
		return;
	fprintf(
	    o->out,
	    "\nFront-end penalties beside a long data miss: %.2f%% of cycles (%.2f%% with it at "
	    "the ROB's head)\n",
	    100 * m->beside_long_cycles / m->cycles, 100 * m->overlap_cycles / m->cycles);
}

static void print_legend(const struct stack_model *m, const struct view_options *o)
{
	int at = 2;

	fputs("  ", o->out);
	for (int k = 0; k < CPI_COMPONENTS; k++) {
		int columns = (int)strlen(words_components[k].words) + 4;

		if (!part_used(m, k))
			continue;
		if (at + columns > o->width) {
			fputs("\n  ", o->out);
			at = 2;
		}
		fprintf(o->out, "%s", term_on(o, look[k].colour));
		if (o->colour)
			fputs("█", o->out);
		else
			fputc(look[k].letter, o->out);
		fprintf(o->out, "%s %s  ", term_off(o), words_components[k].words);
		at += columns;
	}
	fputc('\n', o->out);
}

static void put_bar(const struct view_options *o, const double *cycles, double full, int cells)
{
	struct term_part parts[CPI_COMPONENTS];
	size_t n = 0;

	for (int k = 0; k < CPI_COMPONENTS; k++)
		if (cycles[k] > 0)
			parts[n++] =
			    (struct term_part){ cycles[k] / full, look[k].colour, look[k].letter };
	term_stack(o, parts, n, cells);
}

static void print_bars(const struct stack_model *m, const struct view_options *o)
{
	double full = m->cycles;
	int cells = o->width - 28;

	heading(o, "Stacks");
	/* naive stacks may be higher than the run: all are drawn to the highest's scale */
	for (size_t i = 0; i < m->nmethods; i++) {
		double high = 0;

		for (int k = 0; k < CPI_COMPONENTS; k++)
			high += fmax(m->methods[i].cycles[k], 0);
		full = fmax(full, high);
	}
	for (size_t i = 0; i < m->nmethods; i++) {
		const struct stack_method *s = &m->methods[i];

		fprintf(o->out, "  %-14s ", s->name);
		put_bar(o, s->cycles, full, cells > 10 ? cells : 10);
		if (s->cycles[CPI_BASE] < 0)
			fprintf(o->out, " base %.2f", s->cycles[CPI_BASE] / m->insts);
		fputc('\n', o->out);
	}
	print_legend(m, o);
}

static void print_topdown(const struct stack_model *m, const struct view_options *o)
{
	if (!m->ntopdown)
		return;
	heading(o, "Top-down (dispatch slots)");
	for (size_t i = 0; i < m->ntopdown; i++) {
		double share = m->topdown[i].cycles / m->cycles;

		fprintf(o->out, "  %-32s %6.2f%%  ", m->topdown[i].name, 100 * share);
		term_bar(o, share, o->width - 46 > 10 ? o->width - 46 : 10, TERM_BLUE);
		fputc('\n', o->out);
	}
}

static void print_functions(const struct stack_model *m, const struct view_options *o)
{
	int cells = o->width - 46;

	if (!m->nfunctions)
		return;
	heading(o, "Functions (commit stage)");
	for (size_t i = 0; i < m->nfunctions && i < (size_t)o->limit; i++) {
		const struct stack_function *f = &m->functions[i];

		fprintf(o->out, "  %6.2f%%  ", 100 * f->cycles / m->cycles);
		term_text(o, f->name, 30, true);
		fputs("  ", o->out);
		put_bar(o, f->parts, f->cycles, cells > 10 ? cells : 10);
		fputc('\n', o->out);
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

static void print_strip(const struct stack_model *m, const struct view_options *o,
			const char *method)
{
	static const char *const level[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t columns = o->width > 40 ? (size_t)o->width - 12 : 28, count;
	double top = 0;
	char title[96];

	if (columns > m->nphases)
		columns = m->nphases ? m->nphases : 1;

	struct stack_phase *p = strip_columns(m, columns, &count);

	snprintf(title, sizeof(title), "Over time (%s): shares of each interval", method);
	heading(o, title);
	for (int row = STRIP_ROWS - 1; row >= 0; row--) {
		fprintf(o->out, "  %6s  ", row == STRIP_ROWS - 1 ? "100%" : row ? "" : "0%");
		for (size_t c = 0; c < count; c++) {
			int k = part_at(&p[c], (row + 0.5) / STRIP_ROWS);

			if (k < 0)
				fputc(' ', o->out);
			else if (o->colour)
				fprintf(o->out, "%s█%s", term_on(o, look[k].colour), term_off(o));
			else
				fputc(look[k].letter, o->out);
		}
		fputc('\n', o->out);
	}
	for (size_t c = 0; c < count; c++)
		top = fmax(top, p[c].insts > 0 ? p[c].cycles / p[c].insts : 0);
	fprintf(o->out, "  %6s  ", "CPI");
	for (size_t c = 0; c < count; c++) {
		double cpi = p[c].insts > 0 ? p[c].cycles / p[c].insts : top;

		fputs(level[top > 0 ? (int)lround(8 * cpi / top) : 0], o->out);
	}
	fprintf(o->out, "\n  %6s  each column about %.3g cycles; CPI up to %.3g\n", "",
		m->cycles / (double)count, top);
	free(p);
}

static void print_text(const struct stack_model *m, const struct view_options *o,
		       const struct stack_options *so)
{
	char insts[32], cycles[32];
	size_t per_block = o->width > 56 ? (size_t)(o->width - 26) / 10 : 3;

	fprintf(o->out, "%s%s%s on %s: %s instructions in %s cycles, CPI %.3f\n",
		term_on(o, TERM_BOLD), model_basename(m->program), term_off(o), m->machine,
		term_count((uint64_t)m->insts, insts), term_count((uint64_t)m->cycles, cycles),
		m->cycles / m->insts);
	for (size_t i = 0; i < m->nmethods; i += per_block)
		print_cpi(m, o, i, i + per_block < m->nmethods ? i + per_block : m->nmethods);
	for (size_t i = 0; i < m->nmethods; i += per_block)
		print_errors(m, o, i, i + per_block < m->nmethods ? i + per_block : m->nmethods);
	print_overlap(m, o);
	print_bars(m, o);
	if (so->phases)
		print_strip(m, o, so->method ? so->method : "fmt");
	print_topdown(m, o);
	print_functions(m, o);
}

static json_t *parts_json(const double *cycles, double divisor, int count, bool all)
{
	json_t *j = json_object();

	for (int k = 0; k < count; k++)
		if (all || cycles[k] != 0)
			json_object_set_new(j, words_components[k].name,
					    json_real(cycles[k] / divisor));
	return j;
}

static json_t *method_json(const struct stack_model *m, const struct stack_method *s)
{
	json_t *j = json_object();

	json_object_set_new(j, "name", json_string(s->name));
	json_object_set_new(j, "summary", json_string(s->summary));
	json_object_set_new(j, "reference", json_boolean(s->reference));
	json_object_set_new(
	    j, "components",
	    parts_json(s->cycles, m->insts, s->reference ? CPI_SIMULATED : CPI_COMPONENTS, true));
	json_object_set_new(j, "max_error", s->compared ? json_real(s->max_error) : json_null());
	if (s->compared) {
		json_object_set_new(j, "max_error_component",
				    json_string(words_components[s->worst].name));
		json_object_set_new(j, "errors", parts_json(s->error, 1, CPI_SIMULATED, true));
	}
	return j;
}

static bool print_json(const struct stack_model *m, const struct view_options *o,
		       const struct stack_options *so, struct err *e)
{
	json_t *j = json_object(), *methods = json_array(), *functions = json_array();

	json_object_set_new(j, "program", json_string(m->program));
	json_object_set_new(j, "machine", json_string(m->machine));
	json_object_set_new(j, "cpi", json_real(m->cycles / m->insts));
	json_object_set_new(j, "cycles", json_integer((json_int_t)m->cycles));
	json_object_set_new(j, "instructions", json_integer((json_int_t)m->insts));
	json_object_set_new(j, "overlap_cycles", json_integer((json_int_t)m->overlap_cycles));
	json_object_set_new(j, "beside_long_miss_cycles",
			    json_integer((json_int_t)m->beside_long_cycles));
	json_object_set_new(j, "events", parts_json(m->events, 1, CPI_SIMULATED, false));
	json_object_set_new(j, "committed_events",
			    parts_json(m->committed, 1, CPI_SIMULATED, false));
	for (size_t i = 0; i < m->nmethods; i++)
		json_array_append_new(methods, method_json(m, &m->methods[i]));
	if (m->ntopdown) {
		json_t *t = json_object(), *parts = json_object();

		for (size_t i = 0; i < m->ntopdown; i++)
			json_object_set_new(parts, m->topdown[i].name,
					    json_real(m->topdown[i].cycles / m->insts));
		json_object_set_new(t, "name", json_string("topdown"));
		json_object_set_new(t, "reference", json_false());
		json_object_set_new(t, "components", parts);
		json_object_set_new(t, "max_error", json_null());
		json_array_append_new(methods, t);
	}
	json_object_set_new(j, "methods", methods);
	for (size_t i = 0; i < m->nfunctions && i < (size_t)o->limit; i++) {
		json_t *f = json_object();

		json_object_set_new(f, "symbol", json_string(m->functions[i].name));
		json_object_set_new(f, "cycles", json_real(m->functions[i].cycles));
		json_object_set_new(f, "share", json_real(m->functions[i].cycles / m->cycles));
		json_object_set_new(f, "stack",
				    parts_json(m->functions[i].parts, 1, CPI_COMPONENTS, false));
		json_array_append_new(functions, f);
	}
	json_object_set_new(j, "functions", functions);
	if (so->phases) {
		json_t *phases = json_array();

		for (size_t i = 0; i < m->nphases; i++) {
			const struct stack_phase *p = &m->phases[i];
			json_t *one = json_object();

			json_object_set_new(one, "cycles", json_integer((json_int_t)p->cycles));
			json_object_set_new(one, "instructions",
					    json_integer((json_int_t)p->insts));
			json_object_set_new(one, "stack",
					    parts_json(p->parts, 1, CPI_COMPONENTS, false));
			json_array_append_new(phases, one);
		}
		json_object_set_new(j, "phase_method",
				    json_string(so->method ? so->method : "fmt"));
		json_object_set_new(j, "phases", phases);
	}
	bool ok = !json_dumpf(j, o->out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) &&
		  fputc('\n', o->out) != EOF;
	json_decref(j);
	return ok || err_set(e, "cannot write the output");
}

static void print_csv(const struct stack_model *m, const struct view_options *o, bool head)
{
	if (head)
		fputs("program,machine,method,reference,component,cycles,cpi,error_percent\n",
		      o->out);
	for (size_t i = 0; i < m->nmethods; i++) {
		const struct stack_method *s = &m->methods[i];

		for (int k = 0; k < (s->reference ? CPI_SIMULATED : CPI_COMPONENTS); k++) {
			csv_text(o->out, model_basename(m->program));
			fputc(',', o->out);
			csv_text(o->out, m->machine);
			fprintf(o->out, ",%s,%d,%s,%.4f,%.6f,", s->name, s->reference,
				words_components[k].name, s->cycles[k], s->cycles[k] / m->insts);
			if (s->compared && k < CPI_SIMULATED)
				fprintf(o->out, "%.4f", s->error[k]);
			fputc('\n', o->out);
		}
	}
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

/* Figure 11: normalised to the cycles of the run, a group per program. */
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
		groups[i].name = model_basename(models[i].program);
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

	for (size_t i = 0; ok && i < count; i++) {
		ok = stack_read(&inputs[i], phases, &models[i], e);
		if (!ok)
			break;
		if (o->format == VIEW_JSON) {
			ok = print_json(&models[i], o, so, e);
		} else if (o->format == VIEW_CSV) {
			print_csv(&models[i], o, i == 0);
		} else {
			if (i)
				fputc('\n', o->out);
			print_text(&models[i], o, so);
		}
	}
	if (ok && so->svg)
		ok = draw(models, count, so->svg, e);
	for (size_t i = 0; i < count; i++)
		stack_free(&models[i]);
	free(models);
	return ok;
}
