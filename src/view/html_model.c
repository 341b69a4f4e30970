/* SPDX-License-Identifier: MIT */
/*
 * The data of the page, as JSON: facts of the run, findings, functions and their instructions, and
 * the documents of stack, icost and accuracy just as `--json` prints them, or null where the store
 * lacks the analysis. Numbers have twelve digits, as in those documents.
 *
 * Not here: call stacks, pipeline windows, phases by function, a second run.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "view/accuracy.h"
#include "view/estimated.h"
#include "view/findings.h"
#include "view/html.h"
#include "view/icost.h"
#include "view/live.h"
#include "view/model.h"
#include "view/source.h"
#include "view/stack.h"
#include "words/words.h"

#define FINDINGS	 20
#define SOURCE_LINE_MOST 400 /* bytes of a source line that are kept */

/* A file that is written into memory. */
static FILE *memory_file(char **text, size_t *size_bytes)
{
	FILE *f = open_memstream(text, size_bytes);

	return f ? f : (die("out of memory"), NULL);
}

/* A text in quotes. Bytes that are no plain ASCII below 0x20 are escaped; what follows a broken
 * UTF-8 sequence is kept, the page's decoder replaces the broken bytes. */
static void put_text(FILE *f, const char *text, size_t most)
{
	if (!text) {
		fputs("null", f);
		return;
	}
	fputc('"', f);
	for (size_t i = 0; i < most && text[i]; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void put_real(FILE *f, double value)
{
	if (isfinite(value))
		fprintf(f, "%.12g", value);
	else
		fputs("null", f);
}

static void put_run(FILE *f, const struct model *m)
{
	fputs("\"run\":{\"program\":", f);
	put_text(f, m->program, SIZE_MAX);
	fputs(",\"machine\":", f);
	put_text(f, m->machine, SIZE_MAX);
	fprintf(f, ",\"instructions\":%" PRIu64 ",\"cycles\":%" PRIu64 ",\"ipc\":", m->instructions,
		m->cycles);
	put_real(f, m->ipc);
	fprintf(f, ",\"class\":\"%s\"},\"cycle_stack\":[", findings_class(m));
	for (size_t c = 0, n = 0; c < m->ncategories; c++) {
		if (!m->category_name[c])
			continue;
		fputs(n++ ? ",[" : "[", f);
		put_text(f, m->category_name[c], SIZE_MAX);
		fputc(',', f);
		put_real(f, m->category[c]);
		fputc(']', f);
	}
	fputs("],\"events\":[", f);
	for (size_t b = 0; b < MODEL_EVENTS; b++) {
		fputs(b ? ",[" : "[", f);
		put_text(f, m->event_name[b] ? m->event_name[b] : "?", SIZE_MAX);
		fputc(',', f);
		put_text(f, m->event_meaning[b] ? m->event_meaning[b] : "", SIZE_MAX);
		fprintf(f, ",%" PRIu64 "]", m->event_count[b]);
	}
	fputs("],\"categories\":{", f);
	for (size_t c = 0; c < COST_COUNT; c++) {
		if (c)
			fputc(',', f);
		put_text(f, words_costs[c].name, SIZE_MAX);
		fputc(':', f);
		put_text(f, words_costs[c].words, SIZE_MAX);
	}
	fputs("},\n", f);
}

/* How a profile was estimated from points of the run; null for a whole run. */
static void put_estimated(FILE *f, const struct estimated *x)
{
	fputs("\"estimated\":", f);
	if (!x->is) {
		fputs("null,\n", f);
		return;
	}
	fprintf(f, "{\"points\":%" PRIu64 ",\"cpi\":", x->points);
	put_real(f, x->cpi);
	fputs(",\"low\":", f);
	put_real(f, x->low);
	fputs(",\"high\":", f);
	put_real(f, x->high);
	fputs("},\n", f);
}

static void put_findings(FILE *f, const struct model *m)
{
	struct finding list[FINDINGS];
	const size_t n = findings_of(m, list, ARRAY_LEN(list));

	fputs("\"findings\":[", f);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",{\"text\":" : "{\"text\":", f);
		put_text(f, list[i].text, SIZE_MAX);
		fputs(",\"share\":", f);
		put_real(f, list[i].share);
		if (list[i].inst)
			fprintf(f, ",\"pc\":\"0x%" PRIx64 "\",\"function\":%" PRId64,
				list[i].inst->pc, list[i].inst->function);
		fputc('}', f);
	}
	fputs("],\n", f);
}

static void put_inst(FILE *f, const struct model *m, const struct model_inst *i,
		     struct sources *sources)
{
	char name[128];

	fprintf(f, "[\"0x%" PRIx64 "\",", i->pc);
	put_text(f, i->disasm ? i->disasm : "", SIZE_MAX);
	fputc(',', f);
	put_text(f, i->file, SIZE_MAX);
	fprintf(f, ",%d,", i->line);
	put_real(f, i->cycles);
	fprintf(f, ",%" PRIu64 ",[", i->executions);
	for (size_t k = 0; k < i->nstack; k++) {
		fputs(k ? ",[" : "[", f);
		put_text(f, model_events(m, i->stack[k].events, name, sizeof(name)), SIZE_MAX);
		fputc(',', f);
		put_real(f, i->stack[k].cycles);
		fputc(']', f);
	}
	fputs("],", f);
	put_text(f, i->file && i->line > 0 ? sources_line(sources, i->file, i->line) : NULL,
		 SOURCE_LINE_MOST);
	fputs("]", f);
}

static void put_functions(FILE *f, const struct model *m)
{
	struct sources *sources = sources_new();
	size_t count, n;
	const struct model_function **list = model_functions(m, NULL, &count);

	fputs("\"functions\":[", f);
	for (size_t i = 0; i < count && list[i]->cycles > 0; i++) {
		const struct model_inst *insts = model_insts_of(m, list[i], &n);

		fprintf(f, "%s{\"id\":%" PRId64 ",\"name\":", i ? ",\n" : "", list[i]->id);
		put_text(f, list[i]->name, SIZE_MAX);
		fputs(",\"image\":", f);
		put_text(f, list[i]->image ? path_name(list[i]->image) : NULL, SIZE_MAX);
		fputs(",\"cycles\":", f);
		put_real(f, list[i]->cycles);
		fputs(",\"insts\":[", f);
		for (size_t k = 0; k < n; k++) {
			if (k)
				fputc(',', f);
			put_inst(f, m, &insts[k], sources);
		}
		fputs("]}", f);
	}
	fputs("],\n", f);
	free(list);
	sources_free(sources);
}

/* Rows of two or three texts of a table. */
static bool put_rows(FILE *f, struct store *s, const char *key, const char *sql, int columns,
		     struct err *e)
{
	struct store_rows r = store_query(s, sql, "");

	fprintf(f, "\"%s\":[", key);
	for (size_t n = 0; store_next(&r); n++) {
		fputs(n ? ",[" : "[", f);
		for (int c = 0; c < columns; c++) {
			if (c)
				fputc(',', f);
			put_text(f, store_shown(&r, c), SIZE_MAX);
		}
		fputc(']', f);
	}
	fputs("],\n", f);
	return store_done(&r, e);
}

/* A document of another view, or null and why it is missing. */
static void put_document(FILE *f, struct store *s, const char *key)
{
	char *text = NULL;
	size_t size;
	FILE *to = memory_file(&text, &size);
	struct view_options o = { .out = to, .format = VIEW_JSON, .width = 100, .limit = 10 };
	struct err why = { "" };
	bool ok = false;

	if (!strcmp(key, "stack"))
		ok = view_stack(&(struct stack_input){ .store = s }, 1, &o,
				&(struct stack_options){ .phases = false }, &why);
	else if (!strcmp(key, "icost"))
		ok = view_icost(s, &o, &(struct icost_options){ .focus = NULL }, &why);
	else if (!strcmp(key, "accuracy"))
		ok = view_accuracy(s, &o, &(struct accuracy_options){ .sweep = false }, &why);
	if (fclose(to))
		die("out of memory");
	fprintf(f, "\"%s\":%s,\"%s_missing\":", key, ok ? text : "null", key);
	put_text(f, ok ? NULL : why.text, SIZE_MAX);
	fputs(",\n", f);
	free(text);
}

char *html_data(struct store *s, size_t *size_bytes, struct err *e)
{
	struct model m;
	struct estimated estimated;
	char *text = NULL;

	if (live_is(s)) {
		err_set(e, "%s has samples of a live machine; the page shows runs of `culprit sim`",
			store_path(s));
		return NULL;
	}
	if (!model_read(s, NULL, &m, e))
		return NULL;
	if (!estimated_read(s, &estimated, e)) {
		model_free(&m);
		return NULL;
	}
	FILE *f = memory_file(&text, size_bytes);

	fputs("{", f);
	put_run(f, &m);
	put_estimated(f, &estimated);
	estimated_free(&estimated);
	put_findings(f, &m);
	put_functions(f, &m);
	put_document(f, s, "stack");
	put_document(f, s, "icost");
	put_document(f, s, "accuracy");
	bool ok =
	    put_rows(f, s, "parameters",
		     "SELECT section, key, value FROM machine ORDER BY section, key", 3, e) &&
	    put_rows(f, s, "facts",
		     "SELECT key, CAST(value AS TEXT) FROM run WHERE key NOT IN ('host_seconds', "
		     "'streams', 'confined', 'signature') ORDER BY key",
		     2, e);
	fputs("\"version\":1}\n", f);
	if (fclose(f))
		die("out of memory");
	model_free(&m);
	if (!ok) {
		free(text);
		return NULL;
	}
	return text;
}
