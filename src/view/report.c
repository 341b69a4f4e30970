/* SPDX-License-Identifier: MIT */
/*
 * The run at a glance:
 *
 *      floorceil on boom-tip: 9,812,345 instructions in 14,120,551 cycles, IPC 0.69
 *
 *      Where the time went
 *        execution     31.2%  ████████
 *        misc. flush   42.0%  ███████████
 *        flush-intensive: …
 *      Functions … Lines … Libraries … Instructions … Findings …
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"
#include "util/text.h"
#include "view/doc.h"
#include "view/findings.h"
#include "view/icost.h"
#include "view/live.h"
#include "view/model.h"
#include "view/parts.h"
#include "view/spectrum_elsewhere.h"

static int compare_insts(const void *a, const void *b, void *ctx)
{
	const struct model_inst *x = *(const struct model_inst *const *)a,
				*y = *(const struct model_inst *const *)b;
	const char *key = ctx;
	if (key && !strcmp(key, "executions") && x->executions != y->executions)
		return x->executions < y->executions ? 1 : -1;
	if (key && !strcmp(key, "address"))
		return (x->pc > y->pc) - (x->pc < y->pc);
	return model_by_cycles(a, b);
}

/* The instructions to show, in order; the caller frees. */
static const struct model_inst **select_insts(const struct model *m, const struct view_options *o,
					      size_t *count)
{
	const struct model_inst **list = x_calloc(m->ninsts, sizeof(*list));
	*count = 0;
	for (size_t i = 0; i < m->ninsts; i++)
		if (m->insts[i].cycles > 0 && parts_match(m, &m->insts[i], o))
			list[(*count)++] = &m->insts[i];
	qsort_r(list, *count, sizeof(*list), compare_insts, (void *)o->sort);
	return list;
}

static void add_summary(struct doc *d, const struct model *m)
{
	char time[64] = "", cycles[NUMBER_COMMAS_BYTES];

	if (m->clock_hz > 0)
		snprintf(time, sizeof(time), " (%.3g ms at %.3g GHz)",
			 1e3 * (double)m->cycles / m->clock_hz, m->clock_hz / 1e9);
	if (m->instructions)
		model_title(d, m->program, m->machine, (double)m->instructions, (double)m->cycles,
			    ", IPC %.2f%s", m->ipc, time);
	else /* samples do not count instructions */
		doc_line(d, NULL, "%s on %s: samples of %s cycles%s", path_name(m->program),
			 m->machine, number_commas(m->cycles, cycles), time);
	estimated_add(d, &m->estimated);
	if (m->exit_status)
		doc_note(d, TERM_RED, "The program ended with exit status %d.", m->exit_status);
	if (!m->golden)
		doc_line(d, NULL, "Profile by %s, %llu samples%s.", m->profiler,
			 (unsigned long long)m->samples,
			 m->instructions ? "; the golden reference is the default"
					 : ": addresses, flags and PSVs, and the binary");
	doc_object(d, "run");
	doc_text(d, "program", m->program);
	doc_text(d, "machine", m->machine);
	doc_integer(d, "instructions", (int64_t)m->instructions);
	doc_integer(d, "cycles", (int64_t)m->cycles);
	doc_real(d, "ipc", m->ipc);
	doc_integer(d, "exit_status", m->exit_status);
	doc_real(d, "host_seconds", m->host_seconds);
	doc_text(d, "class", m->golden ? findings_class(m) : "");
	doc_text(d, "profiler", m->profiler);
	doc_close(d);
}

static void add_times(struct doc *d, const struct model *m, const struct view_options *o)
{
	static const enum term_colour colour[MODEL_CATEGORIES] = {
#define X(id, name, colour, meaning) [TIME_##id] = TERM_##colour,
		WORDS_TIMES(X)
#undef X
	};
	const struct doc_column columns[] = {
		{ .before = "  ", .width = -12 },
		{ .format = "%.2f%%", .width = 7 },
		{ .before = "  ", .width = o->width - 26 },
	};

	doc_object(d, "cycle_stack");
	for (size_t c = 0; c < m->ncategories; c++)
		doc_real(d, m->category_name[c], m->category[c]);
	doc_close(d);
	double known = 0;

	for (size_t c = 0; c < m->ncategories; c++)
		known += m->category[c];
	if (known <= 0) /* these samples do not say what commit did */
		return;
	doc_heading(d, "Where the time went");
	struct doc_table *t = DOC_TABLE(d, columns, .key = NULL);

	for (size_t c = 0; c < m->ncategories; c++) {
		const double share = m->category[c] / (double)m->cycles;

		doc_row(t);
		cell_text(t, m->category_name[c]);
		cell_real(t, 100 * share);
		cell_bar(t, share, colour[c]);
	}
	if (parts_restricted(o))
		return;
	char words[160];

	snprintf(words, sizeof(words), "%s: %s", findings_class(m), findings_class_words(m));
	doc_sentence(d, "  ", words, 4);
}

/* Which thread waits for which. limit 0: all rows. */
static void add_waits(struct doc *d, struct store *s, size_t limit)
{
	static const struct doc_column columns[] = {
		{ DOC_SHOWN("thread", "%.0f", 8), .key = "thread" },
		{ .key = "for", .head = "waits for", .before = "  ", .width = -14 },
		{ .key = "kind", .head = "at a", .width = -10 },
		{ DOC_SHOWN("times", "%.0f", 10), .key = "waits" },
		{ DOC_SHOWN("cycles", "%.0f", 14), .key = "cycles" },
		{ DOC_SHOWN("each", "%.0f", 10) },
	};
	struct store_rows r = store_query(
	    s,
	    "SELECT tid, waker, kind, waits, cycles FROM thread_wait ORDER BY cycles DESC, 1, 2, 3",
	    "");
	struct doc_table *t = NULL;

	while (store_next(&r)) {
		if (!t) {
			doc_heading(d, "Who waits for whom");
			t = DOC_TABLE(d, columns, .key = "waits", .heads = true, .limit = limit,
				      .more = true);
		}
		doc_row(t);
		cell_integer(t, store_int(&r, 0));
		if (store_int(&r, 1))
			cell_format(t, "%" PRId64, store_int(&r, 1));
		else
			cell_text(t, "no thread");
		cell_text(t, store_shown(&r, 2));
		cell_integer(t, store_int(&r, 3));
		cell_integer(t, store_int(&r, 4));
		cell_real(t, store_double(&r, 4) / store_double(&r, 3));
	}
	store_done(&r, NULL);
}

/* Time by guest thread: a few, or all with --by thread. */
static void add_threads(struct doc *d, const struct model *m, struct store *s,
			const struct view_options *o)
{
	static const struct doc_column columns[] = {
		{ DOC_SHOWN("thread", "%.0f", 8), .key = "thread" },
		{ DOC_SHOWN("time", "%.2f%%", 9), .key = "share" },
		{ DOC_SHOWN("cycles", "%.0f", 14), .key = "cycles" },
		{ DOC_SHOWN("kernel", "%.0f", 14), .key = "kernel" },
		{ DOC_SHOWN("instructions", "%.0f", 14), .key = "instructions" },
		{ DOC_SHOWN("waited", "%.0f", 14), .key = "blocked" },
		{ DOC_SHOWN("ready", "%.0f", 14), .key = "ready" },
	};
	const bool asked = o->by && !strcmp(o->by, "thread");
	size_t n;
	struct model_thread *list = model_threads(s, m->scale, &n);

	if (n)
		doc_heading(d, "Threads");
	else if (asked)
		doc_line(d, NULL, "\nThe run had one thread.");
	if (n) {
		struct doc_table *t =
		    DOC_TABLE(d, columns, .key = "threads", .heads = true,
			      .limit = asked ? n : (size_t)o->limit, .more = true);

		for (size_t i = 0; i < n; i++) {
			doc_row(t);
			cell_integer(t, (int64_t)list[i].tid);
			cell_real(t, 100 * list[i].cycles / (double)m->cycles);
			cell_real(t, list[i].cycles);
			cell_real(t, list[i].kernel);
			cell_integer(t, (int64_t)list[i].instructions);
			CELL_REAL_IF(t, list[i].waits, list[i].blocked);
			CELL_REAL_IF(t, list[i].waits, list[i].ready);
		}
		add_waits(d, s, asked ? 0 : (size_t)o->limit);
	}
	free(list);
}

static void add_functions(struct doc *d, const struct model *m, const struct view_options *o)
{
	const struct estimated *x = &m->estimated;
	const struct doc_column columns[] = {
		{ .format = "%.2f%%", .factor = 100, .before = "  ", .width = 7, .key = "share" },
		{ ESTIMATED_COLUMN(x, "%.2f", 7), .factor = 100 },
		{ .before = "  ", .width = 12 },
		{ .key = "symbol",
		  .before = "  ",
		  .width = -(o->width - 13 - 12 - 26 - (x->is ? 8 : 0)),
		  .name = true },
		{ .width = -26, .ragged = true, .colour = TERM_DIM },
		{ .key = "cycles" },
	};
	size_t count;
	const struct model_function **list = model_functions(m, o->function, &count);

	doc_heading(d, "Functions");
	struct doc_table *t =
	    DOC_TABLE(d, columns, .key = "functions", .limit = (size_t)o->limit, .more = true);

	for (size_t i = 0; i < count && list[i]->cycles > 0; i++) {
		const struct model_function *f = list[i];
		const double share = f->cycles / (double)m->cycles;
		char where[128] = "";

		if (f->file && f->line)
			snprintf(where, sizeof(where), "%s:%d", path_name(f->file), f->line);
		else if (f->image)
			snprintf(where, sizeof(where), "%s", path_name(f->image));
		doc_row(t);
		cell_real(t, share);
		estimated_cell(t, estimated_margin(x, "function", f->id, "") / (double)m->cycles);
		cell_bar(t, share, TERM_GREEN);
		cell_text(t, f->name);
		cell_text(t, where);
		cell_real(t, f->cycles);
	}
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

static void add_lines(struct doc *d, const struct model *m, const struct view_options *o)
{
	const int words = o->width >= 140 ? 34 : 24, rest = o->width - 21 - 1 - words - 1,
		  source = rest / 2;
	const struct doc_column columns[] = {
		{ .key = "share", .format = "%.2f%%", .factor = 100, .before = "  ", .width = 7 },
		{ .before = "  ", .width = 10 },
		{ .key = "source" },
		{ .key = "symbol" },
		{ .width = -source },
		{ .width = -(rest - source - 1), .name = true },
		{ .width = -words, .ragged = true, .colour = TERM_DIM },
		{ .key = "cycles" },
		{ .key = "stack" },
	};
	size_t count;
	struct part *list = parts_lines(m, &count);

	if (count)
		doc_heading(d, "Lines");
	struct doc_table *t =
	    DOC_TABLE(d, columns, .key = "lines", .limit = (size_t)o->limit, .more = true);

	for (size_t i = 0; i < count; i++) {
		const struct model_inst *sum = &list[i].sum;
		const struct model_function *f = model_function_of(m, list[i].most->function);
		struct term_part parts[16];
		char stack[192];
		const size_t n = model_parts(sum, list[0].sum.cycles, parts, ARRAY_LEN(parts));

		stack_words(m, sum, stack, sizeof(stack));
		doc_row(t);
		cell_real(t, sum->cycles / (double)m->cycles);
		cell_stack(t, parts, n);
		model_source_cell(t, sum->file, sum->line);
		cell_text(t, f ? f->name : "[unknown]");
		cell_format(t, "%s:%d", path_name(sum->file), sum->line);
		cell_text(t, f ? f->name : "[unknown]");
		cell_text(t, stack);
		cell_real(t, sum->cycles);
		model_stack_cell(t, m, sum);
	}
	parts_free(list, count);
}

static char *build_id_of(struct store *s, const char *image)
{
	struct store_rows r = store_query(
	    s, "SELECT build_id FROM image WHERE name = ?1 AND build_id <> '' LIMIT 1", "s", image);
	const char *text = store_next(&r) ? store_shown(&r, 0) : NULL;
	char *copy = text ? x_strdup(text) : NULL;

	store_done(&r, NULL);
	return copy;
}

#define NAMED_MOST 3 /* files whose debug files a sentence names */

/* Adds what the debug file of an image would be called to a list. */
static void want_debug_file(char **list, const char *image, const char *build_id)
{
	const char *before = *list ? *list : "", *comma = *list ? ", " : "";
	char *longer = build_id && strlen(build_id) > 2
			   ? x_asprintf("%s%s.build-id/%.2s/%s.debug (%s)", before, comma, build_id,
					build_id + 2, path_name(image))
			   : x_asprintf("%s%s%s.debug", before, comma, path_name(image));

	free(*list);
	*list = longer;
}

/* Where debug files were looked for, and how they are looked for elsewhere. wanted: their names; NULL: none. */
static void add_looked_for(struct doc *d, struct store *s, const struct view_options *o,
			   const char *wanted, bool others)
{
	struct store_rows r = store_query(
	    s, "SELECT CAST(value AS TEXT) || '/usr/lib/debug' FROM run WHERE key = 'sysroot'", "");
	const char *sysroot = store_next(&r) ? store_shown(&r, 0) : NULL;

	doc_array(d, "debug_folders");
	for (size_t i = 0; i < o->ndebug; i++)
		doc_text(d, NULL, o->debug[i]);
	if (sysroot)
		doc_text(d, NULL, sysroot);
	doc_text(d, NULL, "/usr/lib/debug");
	doc_close(d);
	if (wanted) {
		char *given = x_strdup(""), *text;

		for (size_t i = 0; i < o->ndebug; i++) {
			char *shown = text_shown(o->debug[i]),
			     *longer = x_asprintf("%s%s, ", given, shown);

			free(shown);
			free(given);
			given = longer;
		}
		text = x_asprintf("Debug files were looked for in %sthe binaries' own folders, "
				  "%s%s/usr/lib/debug; --debug "
				  "DIR looks for %s%s in DIR, too.",
				  given, sysroot ? sysroot : "", sysroot ? " and " : "", wanted,
				  others ? " and the others'" : "");
		doc_sentence(d, "  ", text, 2);
		free(text);
		free(given);
	}
	store_done(&r, NULL);
}

/* Text has libraries only if there are several, or if symbols are missing. */
static void add_libraries(struct doc *d, const struct model *m, struct store *s,
			  const struct view_options *o)
{
	const struct doc_column columns[] = {
		{ .key = "share", .format = "%.2f%%", .factor = 100, .before = "  ", .width = 7 },
		{ .before = "  ", .width = 10 },
		{ .key = "image" },
		{ .width = -(o->width - 21 - 38), .name = true },
		{ .width = -37, .ragged = true, .colour = TERM_DIM },
		{ .key = "cycles" },
		{ .key = "nameless_cycles" },
		{ .key = "build_id" },
	};
	char *wanted = NULL;
	size_t nameless_files = 0;
	size_t count;
	struct part *list = parts_libraries(m, &count);
	const bool shown = count > 1 || (count && list[0].nameless > 0);

	if (shown)
		doc_heading(d, "Libraries");
	struct doc_table *t =
	    DOC_TABLE(d, columns, .key = "libraries", .limit = (size_t)o->limit, .more = shown);

	for (size_t i = 0; i < count; i++) {
		const double share = list[i].sum.cycles / (double)m->cycles,
			     nameless = list[i].nameless / list[i].sum.cycles;

		doc_row(t);
		cell_real(t, share);
		cell_bar(t, share, TERM_GREEN);
		cell_text(t, list[i].image);
		cell_text(t, path_name(list[i].image));
		char *build_id = build_id_of(s, list[i].image);

		if (nameless >= 0.005 && nameless_files++ < NAMED_MOST)
			want_debug_file(&wanted, list[i].image, build_id);
		if (nameless >= 0.005)
			cell_format(t, "%.0f%% of it in code without symbols", 100 * nameless);
		else
			cell_none(t);
		cell_real(t, list[i].sum.cycles);
		cell_real(t, list[i].nameless);
		cell_text(t, build_id);
		free(build_id);
		if (!shown)
			doc_hide(t);
	}
	add_looked_for(d, s, o, wanted, nameless_files > NAMED_MOST);
	free(wanted);
	parts_free(list, count);
}

static void put_inst(struct doc_table *t, const struct model *m, const struct model_inst *i,
		     double most, bool wide)
{
	const struct model_function *f = model_function_of(m, i->function);
	struct term_part parts[16];
	char symbol[MODEL_SYMBOL], source[400], stack[192];
	size_t n = model_parts(i, most, parts, ARRAY_LEN(parts));

	model_where(m, i, symbol, sizeof(symbol), source, sizeof(source));
	stack_words(m, i, stack, sizeof(stack));
	doc_row(t);
	cell_format(t, "0x%" PRIx64, i->pc);
	cell_text(t, f ? f->name : "[unknown]");
	model_source_cell(t, i->file, i->line);
	cell_text(t, source);
	cell_text(t, i->disasm ? i->disasm : "");
	cell_integer(t, (int64_t)i->executions);
	cell_real(t, i->cycles);
	cell_real(t, i->cycles / (double)m->cycles);
	estimated_cell(t, estimated_margin(&m->estimated, "instruction", (int64_t)i->pc, "") /
			      (double)m->cycles);
	model_stack_cell(t, m, i);
	cell_stack(t, parts, n);
	if (wide)
		cell_format(t, "%s%s%s", symbol, source[0] ? "  " : "", source);
	else
		cell_text(t, source[0] ? source : symbol);
	cell_text(t, i->disasm ? i->disasm : "");
	cell_text(t, stack);
	for (unsigned b = 0; b < MODEL_EVENTS; b++)
		cell_real(t, model_with_event(i, b));
}

static void add_insts(struct doc *d, const struct model *m, const struct view_options *o)
{
	const bool wide = o->width >= 140;
	const int bar = wide ? 24 : 10, words = wide ? 34 : 24;
	const struct estimated *x = &m->estimated;
	const int rest = o->width - 11 - bar - 1 - words - 1 - (x->is ? 8 : 0),
		  where = rest * 45 / 100;
	struct doc_column columns[14 + MODEL_EVENTS] = {
		{ DOC_DATA("pc") },
		{ DOC_DATA("symbol") },
		{ .key = "source" },
		{ .csv = "source" },
		{ DOC_DATA("disasm") },
		{ DOC_DATA("executions") },
		{ DOC_DATA("cycles") },
		{ DOC_DATA("share"), .csv_format = "%.8f", .before = "  ", .factor = 100,
		  .format = "%.2f%%", .width = 7 },
		{ ESTIMATED_COLUMN(x, "%.2f", 7), .csv = x->is ? "margin" : NULL,
		  .csv_format = "%.8f", .factor = 100 },
		{ .key = "stack" },
		{ .before = "  ", .width = bar },
		{ .width = -where, .name = true },
		{ .width = -(rest - where - 1) },
		{ .width = -words, .ragged = true, .colour = TERM_DIM },
	};
	size_t count;
	const struct model_inst **list = select_insts(m, o, &count);
	double most = 1;

	for (unsigned b = 0; b < MODEL_EVENTS; b++)
		columns[14 + b].csv = m->event_name[b] ? m->event_name[b] : "?";
	doc_heading(d, "Instructions");
	struct doc_table *t =
	    DOC_TABLE(d, columns, .key = "instructions", .limit = (size_t)o->limit, .more = true);

	for (size_t i = 0; i < count; i++)
		most = list[i]->cycles > most ? list[i]->cycles : most;
	for (size_t i = 0; i < count; i++)
		put_inst(t, m, list[i], most, wide);
	free(list);
}

static void add_events(struct doc *d, const struct model *m, const struct view_options *o)
{
	const bool counted = !parts_restricted(o); /* how often each came is known of the run */
	const struct doc_column columns[] = {
		{ .before = "  ", .width = 1 },
		{ .width = -7 },
		{ .format = "%.2f%%", .width = 7 },
		{ .before = "  ", .width = counted ? 14 : 0 },
		{ .before = counted ? " times  " : "  ", .width = -200, .ragged = true },
	};
	struct doc_table *t = NULL;

	for (unsigned b = 0; b < MODEL_EVENTS; b++) {
		double cycles = 0;

		if (!m->event_name[b] || !m->event_count[b])
			continue;
		for (size_t i = 0; i < m->ninsts; i++)
			cycles += model_with_event(&m->insts[i], b);
		if (!counted && cycles <= 0)
			continue;
		if (!t) {
			doc_heading(d, "Events by letter (time of instructions that suffered one; "
				       "sets overlap)");
			t = DOC_TABLE(d, columns, .key = NULL);
		}
		doc_row(t);
		cell_format(t, "%c", model_letter(1u << b));
		cell_text(t, m->event_name[b]);
		cell_real(t, 100 * cycles / (double)m->cycles);
		cell_integer(t, (int64_t)m->event_count[b]);
		cell_text(t, m->event_meaning[b] ? m->event_meaning[b] : "");
	}
}

static void put_word(FILE *f, const char *word)
{
	fputc(' ', f);
	text_put_word(f, word);
}

/* What the graph could be asked about an instruction: its costliest event on the longest path as
 * --what-if has it. False if the run has no graph, or nothing of the instruction is on it. */
static bool what_if_of(struct store *s, const struct model_inst *i, char *buf, size_t size_bytes)
{
	static const char *const events[][2] = { { "miss", "dmiss" },
						 { "mispredict", "bmisp" },
						 { "imiss", "imiss" } };
	const char *cls = i->cls ? i->cls : "", *event = NULL;
	struct store_rows r = store_query(s,
					  "SELECT kind FROM icost_critical WHERE pc = ?1 AND "
					  "cycles > 0 ORDER BY cycles DESC LIMIT 1",
					  "i", (int64_t)i->pc);
	const char *kind = store_next(&r) ? store_shown(&r, 0) : NULL;

	for (size_t k = 0; kind && k < ARRAY_LEN(events); k++)
		if (!strcmp(kind, events[k][0]))
			event = events[k][1];
	if (kind && !strcmp(kind, "latency") && strcmp(cls, "store") != 0)
		event = !strcmp(cls, "load") || !strcmp(cls, "amo")		      ? "dl1"
			: !strcmp(cls, "mul") || !strcmp(cls, "div") || cls[0] == 'f' ? "lgalu"
										      : "shalu";
	store_done(&r, NULL);
	if (event)
		snprintf(buf, size_bytes, "%s@0x%" PRIx64, event, i->pc);
	struct icost_asked asked;
	struct err ignored;

	return event && icost_find(s, buf, &asked, &ignored);
}

/* The hottest function of a library. */
static const char *hottest_in(const struct model *m, const char *library)
{
	const struct model_function *best = NULL;

	for (size_t i = 0; i < m->nfunctions; i++)
		if (m->functions[i].image && !strcmp(path_name(m->functions[i].image), library) &&
		    (!best || m->functions[i].cycles > best->cycles))
			best = &m->functions[i];
	return best ? best->name : NULL;
}

/* The command that shows more of what a finding is about; the caller frees. */
static char *next_command(struct store *s, const struct model *m, const struct finding *x)
{
	const struct model_function *f = x->inst ? model_function_of(m, x->inst->function) : NULL;
	const char *symbol = x->library ? hottest_in(m, x->library) : f ? f->name : NULL;
	char *text = NULL, asked[64];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	fputs("culprit", out);
	if (x->event) {
		fputs(" report", out);
		put_word(out, store_path(s));
		put_word(out, "--event");
		put_word(out, x->event);
	} else if (x->inst && what_if_of(s, x->inst, asked, sizeof(asked))) {
		fputs(" icost", out);
		put_word(out, store_path(s));
		put_word(out, "--what-if");
		put_word(out, asked);
		put_word(out, "--verify");
	} else {
		fputs(" annotate", out);
		put_word(out, store_path(s));
		if (symbol)
			put_word(out, symbol);
	}
	if (fclose(out))
		die("out of memory");
	return text;
}

static void add_findings(struct doc *d, const struct model *m, struct store *s,
			 const struct view_options *o)
{
	struct finding list[5];
	char misses[3][1024], *next[5] = { NULL };
	struct err ignored; /* a spectrum that cannot be read has no finding */
	size_t n = m->golden ? findings_of(m, list, ARRAY_LEN(list)) : 0;

	if (m->golden)
		doc_heading(d, "Findings");
	doc_array(d, "findings");
	for (size_t i = 0; i < n; i++) {
		char label[32];

		snprintf(label, sizeof(label), "  %zu. ", i + 1);
		doc_sentence(d, label, list[i].text, 5);
		doc_text(d, NULL, list[i].text);
		next[i] = next_command(s, m, &list[i]);
		doc_note(d, TERM_DIM, "     next: %s", next[i]);
	}
	/* What misses cost is known of the whole run. */
	const size_t more = m->golden && !parts_restricted(o)
				? spectrum_findings(s, misses, ARRAY_LEN(misses), &ignored)
				: 0;
	for (size_t i = 0; i < more; i++) {
		char label[32];

		snprintf(label, sizeof(label), "  %zu. ", n + i + 1);
		doc_sentence(d, label, misses[i], 5);
		doc_text(d, NULL, misses[i]);
		doc_note(d, TERM_DIM, "     next: culprit spectrum %s", store_path(s));
	}
	doc_close(d);
	doc_array(d, "next");
	for (size_t i = 0; i < n; i++) {
		doc_text(d, NULL, next[i]);
		free(next[i]);
	}
	doc_close(d);
}

/* Whether there is what the options ask for; e says what is nearest to it. */
static bool check_names(const struct model *m, const struct view_options *o, struct err *e)
{
	struct nearest function = { .word = o->function ? o->function : "" },
		       file = { .word = o->file ? o->file : "" };
	bool has_function = !o->function, has_file = !o->file;

	if (o->event && model_event_bit(m, o->event) < 0) {
		struct nearest event = { .word = o->event };

		for (unsigned b = 0; b < MODEL_EVENTS; b++)
			if (m->event_name[b])
				nearest_try(&event, m->event_name[b]);
		return err_set(
		    e, "there is no event '%s'%s%s%s; they are" WORDS_PROFILED_EVENTS(WORDS_SPACED),
		    o->event, event.best ? "; the nearest is '" : "", event.best ? event.best : "",
		    event.best ? "'" : "");
	}
	for (size_t i = 0; i < m->nfunctions && !has_function; i++) {
		nearest_try(&function, m->functions[i].name);
		has_function = !strcmp(m->functions[i].name, o->function);
	}
	for (size_t i = 0; i < m->ninsts && !has_file; i++) {
		const size_t n = m->insts[i].file ? strlen(m->insts[i].file) : 0,
			     want = strlen(o->file);

		if (n)
			nearest_try(&file, path_name(m->insts[i].file));
		has_file = n >= want && n && !strcmp(m->insts[i].file + n - want, o->file);
	}
	if (!has_function)
		return err_set(e, "no function '%s' has any time%s%s%s", o->function,
			       function.best ? "; the nearest is '" : "",
			       function.best ? function.best : "", function.best ? "'" : "");
	return has_file || err_set(e, "no source file's name ends in '%s'%s%s%s", o->file,
				   file.best ? "; the nearest is '" : "",
				   file.best ? file.best : "", file.best ? "'" : "");
}

/* What the sections below are about; takes the rest out of the model. */
static void add_restricted(struct doc *d, struct model *m, const struct view_options *o)
{
	const double left = parts_restrict(m, o);

	char text[700];

	snprintf(
	    text, sizeof(text),
	    "Only instructions%s%.200s%s%.200s%s%.40s: %.2f%% of all cycles. Shares are of the "
	    "whole run.",
	    o->function ? " of " : "", o->function ? o->function : "", o->file ? " from " : "",
	    o->file ? o->file : "", o->event ? " that suffered " : "", o->event ? o->event : "",
	    100 * left / (double)m->cycles);
	doc_sentence(d, "", text, 2);
}

bool view_report(struct store *s, const struct view_options *o, struct err *e)
{
	struct model m;

	if (live_is(s))
		return live_report(s, o, e);
	if (!model_read_part(s, o->profiler, &(struct model_part){ o->user_only, o->thread }, &m,
			     e))
		return false;
	bool ok = check_names(&m, o, e);
	if (ok) {
		struct doc *d = doc_new();

		add_summary(d, &m);
		if (parts_restricted(o))
			add_restricted(d, &m, o);
		add_times(d, &m, o);
		if (m.golden && !o->thread && !o->user_only && !parts_restricted(o))
			add_threads(d, &m, s, o);
		add_functions(d, &m, o);
		add_lines(d, &m, o);
		add_libraries(d, &m, s, o);
		add_insts(d, &m, o);
		if (m.golden)
			add_events(d, &m, o);
		add_findings(d, &m, s, o);
		ok = doc_print(d, o, e);
		doc_free(d);
	}
	model_free(&m);
	return ok;
}
