/* SPDX-License-Identifier: MIT */
/*
 * The run at a glance:
 *
 *      floorceil on boom-tip: 9,812,345 instructions in 14,120,551 cycles, IPC 0.69
 *
 *      Where the time went                                flush-intensive
 *        execution     31.2%  ████████
 *        misc. flush   42.0%  ███████████
 *      Functions … Instructions … Findings …
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "view/findings.h"
#include "view/model.h"
#include "view/term.h"

static bool matches(const struct model *m, const struct model_inst *i, const struct view_options *o)
{
	const struct model_function *f = model_function_of(m, i->function);
	if (o->function && (!f || strcmp(f->name, o->function)))
		return false;
	if (o->file) {
		size_t n = i->file ? strlen(i->file) : 0, want = strlen(o->file);
		if (n < want || strcmp(i->file + n - want, o->file))
			return false;
	}
	if (o->event) {
		int bit = model_event_bit(m, o->event);
		double sum = 0;
		for (size_t k = 0; k < i->nstack; k++)
			if (bit >= 0 && i->stack[k].events >> bit & 1)
				sum += i->stack[k].cycles;
		return sum > 0;
	}
	return true;
}

static int compare_insts(const void *a, const void *b, void *ctx)
{
	const struct model_inst *x = *(const struct model_inst *const *)a,
				*y = *(const struct model_inst *const *)b;
	const char *key = ctx;
	if (key && !strcmp(key, "executions") && x->executions != y->executions)
		return x->executions < y->executions ? 1 : -1;
	if (!(key && !strcmp(key, "address")) && x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* The instructions to show, in order; the caller frees. */
static const struct model_inst **select_insts(const struct model *m, const struct view_options *o,
					      size_t *count)
{
	const struct model_inst **list = x_calloc(m->ninsts, sizeof(*list));
	*count = 0;
	for (size_t i = 0; i < m->ninsts; i++)
		if (m->insts[i].cycles > 0 && matches(m, &m->insts[i], o))
			list[(*count)++] = &m->insts[i];
	qsort_r(list, *count, sizeof(*list), compare_insts, (void *)o->sort);
	return list;
}

static int compare_functions(const void *a, const void *b)
{
	const struct model_function *x = *(const struct model_function *const *)a,
				    *y = *(const struct model_function *const *)b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->start > y->start) - (x->start < y->start);
}

static const struct model_function **select_functions(const struct model *m,
						      const struct view_options *o, size_t *count)
{
	const struct model_function **list = x_calloc(m->nfunctions, sizeof(*list));
	*count = 0;
	for (size_t i = 0; i < m->nfunctions; i++)
		if (m->functions[i].cycles > 0 &&
		    (!o->function || !strcmp(o->function, m->functions[i].name)))
			list[(*count)++] = &m->functions[i];
	qsort(list, *count, sizeof(*list), compare_functions);
	return list;
}

static void heading(const struct view_options *o, const char *text)
{
	fprintf(o->out, "\n%s%s%s\n", term_on(o, TERM_BOLD), text, term_off(o));
}

static void print_summary(const struct model *m, const struct view_options *o)
{
	char insts[32], cycles[32];
	fprintf(o->out, "%s%s%s on %s: %s instructions in %s cycles, IPC %.2f",
		term_on(o, TERM_BOLD), model_basename(m->program), term_off(o), m->machine,
		term_count(m->instructions, insts), term_count(m->cycles, cycles), m->ipc);
	if (m->clock_hz > 0)
		fprintf(o->out, " (%.3g ms at %.3g GHz)", 1e3 * (double)m->cycles / m->clock_hz,
			m->clock_hz / 1e9);
	fputc('\n', o->out);
	if (m->exit_status)
		fprintf(o->out, "%sThe program ended with exit status %d.%s\n",
			term_on(o, TERM_RED), m->exit_status, term_off(o));
	if (!m->golden)
		fprintf(o->out,
			"Profile by %s, %llu samples; the golden reference is the default.\n",
			m->profiler, (unsigned long long)m->samples);
}

static void print_categories(const struct model *m, const struct view_options *o)
{
	static const enum term_colour colour[8] = {
#define X(id, name, colour, meaning) [TIME_##id] = TERM_##colour,
		WORDS_TIMES(X)
#undef X
	};
	char title[96];
	snprintf(title, sizeof(title), "Where the time went (%s)", findings_class(m));
	heading(o, title);
	for (size_t c = 0; c < m->ncategories; c++) {
		double share = m->category[c] / (double)m->cycles;
		fprintf(o->out, "  %-12s %6.2f%%  ", m->category_name[c], 100 * share);
		term_bar(o, share, o->width - 26, colour[c]);
		fputc('\n', o->out);
	}
}

static void print_functions(const struct model *m, const struct view_options *o)
{
	size_t count;
	const struct model_function **list = select_functions(m, o, &count);
	int name_columns = o->width - 13 - 12 - 26;
	heading(o, "Functions");
	for (size_t i = 0; i < count && i < (size_t)o->limit; i++) {
		const struct model_function *f = list[i];
		char where[128];
		fprintf(o->out, "  %6.2f%%  ", 100 * f->cycles / (double)m->cycles);
		term_bar(o, f->cycles / (double)m->cycles, 12, TERM_GREEN);
		fputs("  ", o->out);
		term_text(o, f->name, name_columns, true);
		if (f->file && f->line)
			snprintf(where, sizeof(where), "%s:%d", model_basename(f->file), f->line);
		else
			snprintf(where, sizeof(where), "%s",
				 f->image ? model_basename(f->image) : "");
		fprintf(o->out, " %s", term_on(o, TERM_DIM));
		term_text(o, where, 26, false);
		fprintf(o->out, "%s\n", term_off(o));
	}
	if (count > (size_t)o->limit)
		fprintf(o->out, "  %s… and %zu more%s\n", term_on(o, TERM_DIM),
			count - (size_t)o->limit, term_off(o));
	free(list);
}

/* "ST-LLC 83%, base 17%": the parts of a stack that are worth naming. */
static void stack_words(const struct model *m, const struct model_inst *i, char *buf,
			size_t size_bytes)
{
	size_t n = 0;
	buf[0] = '\0';
	for (size_t k = 0; k < i->nstack && k < 3 && n < size_bytes; k++) {
		char name[96];
		double share = i->cycles > 0 ? i->stack[k].cycles / i->cycles : 0;
		if (share < 0.02 && k)
			break;
		n += (size_t)snprintf(buf + n, size_bytes - n, "%s%s %.0f%%", k ? ", " : "",
				      model_events(m, i->stack[k].events, name, sizeof(name)),
				      100 * share);
	}
}

static void print_stack_bar(const struct view_options *o, const struct model_inst *i, double full,
			    int cells)
{
	struct term_part parts[16];
	size_t n = 0;
	for (size_t k = 0; k < i->nstack && n < ARRAY_LEN(parts); k++)
		parts[n++] =
		    (struct term_part){ i->stack[k].cycles / full, model_colour(i->stack[k].events),
					model_letter(i->stack[k].events) };
	term_stack(o, parts, n, cells);
}

static void print_insts(const struct model *m, const struct view_options *o)
{
	size_t count;
	const struct model_inst **list = select_insts(m, o, &count);
	int bar = o->width >= 140 ? 24 : 10, words = o->width >= 140 ? 34 : 24;
	int rest = o->width - 11 - bar - 1 - words - 1;
	int where_columns = rest * 45 / 100, text_columns = rest - where_columns - 1;
	double most = 1;
	heading(o, "Instructions");
	for (size_t i = 0; i < count; i++)
		most = list[i]->cycles > most ? list[i]->cycles : most;
	for (size_t i = 0; i < count && i < (size_t)o->limit; i++) {
		char symbol[160], source[96], stack[192], where[260];
		model_where(m, list[i], symbol, sizeof(symbol), source, sizeof(source));
		snprintf(where, sizeof(where), "%s%s%s",
			 source[0] && o->width < 140 ? source : symbol,
			 source[0] && o->width >= 140 ? "  " : "",
			 source[0] && o->width >= 140 ? source : "");
		stack_words(m, list[i], stack, sizeof(stack));
		fprintf(o->out, "  %6.2f%%  ", 100 * list[i]->cycles / (double)m->cycles);
		print_stack_bar(o, list[i], most, bar);
		fputc(' ', o->out);
		term_text(o, where, where_columns, true);
		fputc(' ', o->out);
		term_text(o, list[i]->disasm ? list[i]->disasm : "", text_columns, true);
		fprintf(o->out, " %s", term_on(o, TERM_DIM));
		term_text(o, stack, words, false);
		fprintf(o->out, "%s\n", term_off(o));
	}
	if (count > (size_t)o->limit)
		fprintf(o->out, "  %s… and %zu more%s\n", term_on(o, TERM_DIM),
			count - (size_t)o->limit, term_off(o));
	free(list);
}

static void print_events(const struct model *m, const struct view_options *o)
{
	double cycles[MODEL_EVENTS] = { 0 };
	bool any = false;
	for (size_t i = 0; i < m->ninsts; i++)
		for (size_t k = 0; k < m->insts[i].nstack; k++)
			for (unsigned b = 0; b < MODEL_EVENTS; b++)
				if (m->insts[i].stack[k].events >> b & 1)
					cycles[b] += m->insts[i].stack[k].cycles;
	for (unsigned b = 0; b < MODEL_EVENTS; b++) {
		char count[32];
		if (!m->event_name[b] || !m->event_count[b])
			continue;
		if (!any)
			heading(o, "Events (time of instructions that suffered one; sets overlap)");
		any = true;
		fprintf(o->out, "  %-7s %6.2f%%  %14s times  %s\n", m->event_name[b],
			100 * cycles[b] / (double)m->cycles, term_count(m->event_count[b], count),
			m->event_meaning[b] ? m->event_meaning[b] : "");
	}
}

static void print_findings(const struct model *m, const struct view_options *o)
{
	struct finding list[5];
	size_t n = findings_of(m, list, ARRAY_LEN(list));
	heading(o, "Findings");
	for (size_t i = 0; i < n; i++) {
		fprintf(o->out, "  %zu. ", i + 1);
		term_wrap(o, list[i].text, 5);
	}
}

static json_t *json_insts(const struct model *m, const struct view_options *o)
{
	size_t count;
	const struct model_inst **list = select_insts(m, o, &count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		const struct model_function *f = model_function_of(m, list[i]->function);
		json_t *stack = json_object(), *row = json_object();
		char pc[32], source[512] = "", events[96];
		for (size_t k = 0; k < list[i]->nstack; k++) {
			const char *name =
			    model_events(m, list[i]->stack[k].events, events, sizeof(events));
			double before = json_number_value(json_object_get(stack, name));
			json_object_set_new(stack, name,
					    json_real(before + list[i]->stack[k].cycles));
		}
		snprintf(pc, sizeof(pc), "0x%" PRIx64, list[i]->pc);
		if (list[i]->file && list[i]->line)
			snprintf(source, sizeof(source), "%s:%d", list[i]->file, list[i]->line);
		json_object_set_new(row, "pc", json_string(pc));
		json_object_set_new(row, "symbol", json_string(f ? f->name : "[unknown]"));
		json_object_set_new(row, "source", json_string(source));
		json_object_set_new(row, "disasm",
				    json_string(list[i]->disasm ? list[i]->disasm : ""));
		json_object_set_new(row, "cycles", json_real(list[i]->cycles));
		json_object_set_new(row, "share", json_real(list[i]->cycles / (double)m->cycles));
		json_object_set_new(row, "executions",
				    json_integer((json_int_t)list[i]->executions));
		json_object_set_new(row, "stack", stack);
		json_array_append_new(array, row);
	}
	free(list);
	return array;
}

static void print_json(const struct model *m, const struct view_options *o)
{
	json_t *top = json_object(), *run = json_object(), *stack = json_object(),
	       *functions = json_array();
	json_t *findings = json_array();
	struct finding list[5];
	size_t count;
	json_object_set_new(run, "program", json_string(m->program));
	json_object_set_new(run, "machine", json_string(m->machine));
	json_object_set_new(run, "instructions", json_integer((json_int_t)m->instructions));
	json_object_set_new(run, "cycles", json_integer((json_int_t)m->cycles));
	json_object_set_new(run, "ipc", json_real(m->ipc));
	json_object_set_new(run, "exit_status", json_integer(m->exit_status));
	json_object_set_new(run, "host_seconds", json_real(m->host_seconds));
	json_object_set_new(run, "class", json_string(m->golden ? findings_class(m) : ""));
	json_object_set_new(run, "profiler", json_string(m->profiler));
	for (size_t c = 0; c < m->ncategories; c++)
		json_object_set_new(stack, m->category_name[c], json_real(m->category[c]));
	const struct model_function **f = select_functions(m, o, &count);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(functions, json_pack("{s:s, s:f, s:f}", "symbol", f[i]->name,
							   "cycles", f[i]->cycles, "share",
							   f[i]->cycles / (double)m->cycles));
	free(f);
	count = m->golden ? findings_of(m, list, ARRAY_LEN(list)) : 0;
	for (size_t i = 0; i < count; i++)
		json_array_append_new(findings, json_string(list[i].text));
	json_object_set_new(top, "run", run);
	json_object_set_new(top, "cycle_stack", stack);
	json_object_set_new(top, "functions", functions);
	json_object_set_new(top, "instructions", json_insts(m, o));
	json_object_set_new(top, "findings", findings);
	json_dumpf(top, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	fputc('\n', o->out);
	json_decref(top);
}

static void print_csv(const struct model *m, const struct view_options *o)
{
	size_t count;
	const struct model_inst **list = select_insts(m, o, &count);
	fprintf(o->out, "pc,symbol,source,disasm,executions,cycles,share");
	for (unsigned b = 0; b < MODEL_EVENTS; b++)
		fprintf(o->out, ",%s", m->event_name[b] ? m->event_name[b] : "?");
	fputc('\n', o->out);
	for (size_t i = 0; i < count; i++) {
		const struct model_function *f = model_function_of(m, list[i]->function);
		char symbol[160], source[96];
		model_where(m, list[i], symbol, sizeof(symbol), source, sizeof(source));
		fprintf(o->out, "0x%" PRIx64 ",", list[i]->pc);
		csv_text(o->out, f ? f->name : "[unknown]");
		fprintf(o->out, ",%s,", source);
		csv_text(o->out, list[i]->disasm);
		fprintf(o->out, ",%llu,%.6f,%.8f", (unsigned long long)list[i]->executions,
			list[i]->cycles, list[i]->cycles / (double)m->cycles);
		for (unsigned b = 0; b < MODEL_EVENTS; b++) {
			double sum = 0;
			for (size_t k = 0; k < list[i]->nstack; k++)
				if (list[i]->stack[k].events >> b & 1)
					sum += list[i]->stack[k].cycles;
			fprintf(o->out, ",%.6f", sum);
		}
		fputc('\n', o->out);
	}
	free(list);
}

bool view_report(struct store *s, const struct view_options *o, struct err *e)
{
	struct model m;
	if (!model_read(s, o->profiler, &m, e))
		return false;
	bool ok = !o->event || model_event_bit(&m, o->event) >= 0 ||
		  err_set(e, "there is no event '%s'; they are" WORDS_PROFILED_EVENTS(WORDS_SPACED),
			  o->event);
	if (ok && o->format == VIEW_JSON) {
		print_json(&m, o);
	} else if (ok && o->format == VIEW_CSV) {
		print_csv(&m, o);
	} else if (ok) {
		print_summary(&m, o);
		if (m.golden)
			print_categories(&m, o);
		print_functions(&m, o);
		print_insts(&m, o);
		if (m.golden) {
			print_events(&m, o);
			print_findings(&m, o);
		}
	}
	model_free(&m);
	return ok;
}
