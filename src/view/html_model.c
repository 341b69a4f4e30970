/* SPDX-License-Identifier: MIT */
/*
 * The data of the page, as JSON. For each run: its facts, findings, functions and their
 * instructions, source around them, and the documents of stack, icost and accuracy just as `--json`
 * prints them, or null where the store lacks the analysis. For two runs the document of diff; for
 * every window of a trace what html_window.c writes. Numbers have twelve digits, as in the documents.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "machine/machine.h"
#include "util/text.h"
#include "view/accuracy.h"
#include "view/estimated.h"
#include "view/findings.h"
#include "view/html.h"
#include "view/html_insts.h"
#include "view/html_phases.h"
#include "view/icost.h"
#include "view/live.h"
#include "view/model.h"
#include "view/source.h"
#include "view/stack.h"
#include "view/stretches.h"
#include "words/words.h"

#define FINDINGS	  20
#define SOURCE_LINE_MOST  400 /* bytes of a source line that are kept */
#define SOURCE_LINES_MOST (1 << 20)
#define SOURCE_AROUND	  3 /* lines that are shown before and after those with code */
#define DIFF_ROWS	  100000

/* What is read of a run before anything of it is written. */
struct html_run {
	struct store *store;
	struct model m;
	struct estimated estimated;
	struct icost_model costs;
	bool has_costs;
	struct finding findings[FINDINGS];
	size_t nfindings;
};

/* A file that is written into memory. */
static FILE *memory_file(char **text, size_t *size_bytes)
{
	FILE *f = open_memstream(text, size_bytes);

	return f ? f : (die("out of memory"), NULL);
}

/* A text in quotes. Bytes that are no plain ASCII below 0x20 are escaped; what follows a broken
 * UTF-8 sequence is kept, the page's decoder replaces the broken bytes. */
void html_put_text(FILE *f, const char *text, size_t most)
{
	if (!text) {
		fputs("null", f);
		return;
	}
	putc_unlocked('"', f);
	for (size_t i = 0; i < most && text[i]; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			putc_unlocked(c, f);
	}
	putc_unlocked('"', f);
}

void html_put_real(FILE *f, double value)
{
	if (isfinite(value))
		fprintf(f, "%.12g", value);
	else
		fputs("null", f);
}

static void put_run(FILE *f, const struct model *m)
{
	fputs("\"run\":{\"program\":", f);
	html_put_text(f, m->program, SIZE_MAX);
	fputs(",\"machine\":", f);
	html_put_text(f, m->machine, SIZE_MAX);
	fprintf(f, ",\"instructions\":%" PRIu64 ",\"cycles\":%" PRIu64 ",\"ipc\":", m->instructions,
		m->cycles);
	html_put_real(f, m->ipc);
	fprintf(f, ",\"class\":\"%s\"},\"cycle_stack\":[", findings_class(m));
	for (size_t c = 0, n = 0; c < m->ncategories; c++) {
		if (!m->category_name[c])
			continue;
		fputs(n++ ? ",[" : "[", f);
		html_put_text(f, m->category_name[c], SIZE_MAX);
		fputc(',', f);
		html_put_real(f, m->category[c]);
		fputc(']', f);
	}
	fputs("],\"events\":[", f);
	for (size_t b = 0; b < MODEL_EVENTS; b++) {
		fputs(b ? ",[" : "[", f);
		html_put_text(f, m->event_name[b] ? m->event_name[b] : "?", SIZE_MAX);
		fputc(',', f);
		html_put_text(f, m->event_meaning[b] ? m->event_meaning[b] : "", SIZE_MAX);
		fprintf(f, ",%" PRIu64 "]", m->event_count[b]);
	}
	fputs("],\"categories\":{", f);
	for (size_t c = 0; c < COST_COUNT; c++) {
		if (c)
			fputc(',', f);
		html_put_text(f, words_costs[c].name, SIZE_MAX);
		fputc(':', f);
		html_put_text(f, words_costs[c].words, SIZE_MAX);
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
	html_put_real(f, x->cpi);
	fputs(",\"low\":", f);
	html_put_real(f, x->low);
	fputs(",\"high\":", f);
	html_put_real(f, x->high);
	fputs("},\n", f);
}

static void put_findings(FILE *f, const struct html_run *r)
{
	const struct finding *list = r->findings;

	fputs("\"findings\":[", f);
	for (size_t i = 0; i < r->nfindings; i++) {
		fputs(i ? ",{\"text\":" : "{\"text\":", f);
		html_put_text(f, list[i].text, SIZE_MAX);
		fputs(",\"share\":", f);
		html_put_real(f, list[i].share);
		if (list[i].inst)
			fprintf(f, ",\"pc\":\"0x%" PRIx64 "\",\"function\":%" PRId64,
				list[i].inst->pc, list[i].inst->function);
		if (list[i].event) {
			fputs(",\"event\":", f);
			html_put_text(f, list[i].event, SIZE_MAX);
		}
		if (list[i].library) {
			fputs(",\"library\":", f);
			html_put_text(f, list[i].library, SIZE_MAX);
		}
		fputc('}', f);
	}
	fputs("],\n", f);
}

/* A line of source that has code. */
struct place {
	const char *file;
	int line;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const int order = strcmp(x->file, y->file);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Whether a file was changed after the program was built. */
static bool is_newer(struct sources *sources, const char *file, const char *program)
{
	struct stat built;

	return !stat(program, &built) && sources_changed_s(sources, file) > built.st_mtime;
}

/* The source around the lines that have code, where it can be read: {"FILE":[[NUMBER,"TEXT"],…]}; then the
 * files that have changed since the program was built. */
static void put_sources(FILE *f, const struct html_input *in, const struct model *m,
			const struct place *places, size_t count)
{
	struct sources *sources = sources_new();
	const char *file = NULL, *before = NULL;
	const int around = in->source_whole ? SOURCE_LINES_MOST : SOURCE_AROUND;
	int done = 0;

	sources_map(sources, in->source_maps, in->nsource_maps);
	fputs("\"sources\":{", f);
	for (size_t i = 0; i < count; i++) {
		const int last = places[i].line + around;
		int line = places[i].line - around;

		if (!sources_line(sources, places[i].file, places[i].line))
			continue;
		if (!file || strcmp(file, places[i].file) != 0) {
			fputs(file ? "],\n" : "", f);
			file = places[i].file;
			html_put_text(f, file, SIZE_MAX);
			fputs(":[", f);
			done = 0;
		}
		for (line = line > done ? line : done + 1; line <= last; line++) {
			const char *text = sources_line(sources, file, line);

			if (!text)
				break;
			fprintf(f, "%s[%d,", done ? "," : "", line);
			html_put_text(f, text, SOURCE_LINE_MOST);
			fputc(']', f);
			done = line;
		}
	}
	fputs(file ? "]},\n\"changed\":[" : "},\n\"changed\":[", f);
	file = NULL;
	for (size_t i = 0; i < count; i++) {
		if (before && !strcmp(before, places[i].file))
			continue;
		before = places[i].file;
		if (!is_newer(sources, before, m->program))
			continue;
		fputs(file ? "," : "", f);
		html_put_text(f, file = before, SIZE_MAX);
	}
	fputs("],\n", f);
	sources_free(sources);
}

/* Functions, instructions and the source around them. */
static void put_code(FILE *f, const struct html_input *in, const struct model *m)
{
	size_t count, n, nplaces = 0;
	const struct model_function **list = model_functions(m, NULL, &count);
	struct place *places = x_calloc(m->ninsts + 1, sizeof(*places));

	html_put_insts(f, m, in->least_share);
	for (size_t i = 0; in->source && i < count && list[i]->cycles > 0; i++) {
		const struct model_inst *insts = model_insts_of(m, list[i], &n);

		for (size_t k = 0; k < n; k++)
			if (insts[k].file && insts[k].line > 0 &&
			    (!k || !insts[k - 1].file || insts[k].line != insts[k - 1].line ||
			     strcmp(insts[k].file, insts[k - 1].file) != 0))
				places[nplaces++] = (struct place){ insts[k].file, insts[k].line };
	}
	qsort(places, nplaces, sizeof(*places), by_place);
	put_sources(f, in, m, places, nplaces);
	free(places);
	free(list);
}

/* What fixing each instruction alone saves, in cycles: {"0x1234":[miss,mispredict,latency,imiss,slack]}; of those that
 * are chosen, or of all. */
static void put_savings(FILE *f, const struct icost_model *m,
			bool (*chosen)(const struct html_run *r, uint64_t pc),
			const struct html_run *r)
{
	bool some = false;

	fputs("\"savings\":{", f);
	for (size_t i = 0; i < m->ninsts; i++) {
		if (chosen && !chosen(r, m->instructions[i].pc))
			continue;
		fprintf(f, "%s\"0x%" PRIx64 "\":[", some ? "," : "", m->instructions[i].pc);
		some = true;
		for (int k = 0; k < KIND_FIXABLE; k++) {
			html_put_real(f, m->instructions[i].cost[k]);
			fputc(',', f);
		}
		html_put_real(f, m->instructions[i].slack);
		fputc(']', f);
	}
	fputs("},\n", f);
}

/* What every sampling profiler says of an instruction, in cycles. */
static bool put_profilers(FILE *f, struct store *s, double scale, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT r.id, r.name, r.summary, p.pc, sum(p.units) FROM profiler r JOIN profile p "
	    "ON p.profiler = r.id AND p.sampler = 0 GROUP BY r.id, p.pc ORDER BY r.id, p.pc",
	    "");
	int64_t id = -1;

	fputs("\"profilers\":[", f);
	for (bool first = true; store_next(&r); first = false) {
		if (first || store_int(&r, 0) != id) {
			fputs(first ? "[" : "}],\n[", f);
			html_put_text(f, store_shown(&r, 1), SIZE_MAX);
			fputc(',', f);
			html_put_text(f, store_shown(&r, 2), SIZE_MAX);
			fputs(",{", f);
		} else {
			fputc(',', f);
		}
		id = store_int(&r, 0);
		fprintf(f, "\"0x%" PRIx64 "\":", (uint64_t)store_int(&r, 3));
		html_put_real(f, store_double(&r, 4) / scale);
	}
	fputs(id < 0 ? "],\n" : "}]],\n", f);
	return store_done(&r, e);
}

/* Call stacks: a tree as rows of parent, function, image and cycles; row k has id k + 1. */
static bool put_calls(FILE *f, struct store *s, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT c.id, c.parent, coalesce(f.name, '[unknown]'), coalesce(m.name, ''), c.cycles "
	    "FROM call_context c LEFT JOIN instruction i ON i.pc = c.pc LEFT JOIN function f ON "
	    "f.id = i.function LEFT JOIN image m ON m.id = f.image ORDER BY c.id",
	    "");
	int64_t rows = 0;

	fputs("\"calls\":[", f);
	while (store_next(&r) && store_int(&r, 0) == rows + 1) {
		fprintf(f, "%s[%" PRId64 ",", rows++ ? "," : "", store_int(&r, 1));
		html_put_text(f, store_shown(&r, 2), SIZE_MAX);
		fputc(',', f);
		html_put_text(f, path_name(store_shown(&r, 3)), SIZE_MAX);
		fprintf(f, ",%" PRId64 "]", store_int(&r, 4));
	}
	fputs("],\n", f);
	return store_done(&r, e);
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
			html_put_text(f, store_shown(&r, c), SIZE_MAX);
		}
		fputc(']', f);
	}
	fputs("],\n", f);
	return store_done(&r, e);
}

/* What the papers found on average over their programs, in % at the level of instructions: tip2021, tea2023
 * (papers/ measures the same). */
static void put_published(FILE *f)
{
	static const struct {
		const char *profiler;
		double error;
	} published[] = {
		{ "tip", 1.6 },	      { "tip-ilp", 7.2 }, { "nci", 9.3 },
		{ "nci+ilp", 19.3 },  { "lci", 55.4 },	  { "dispatch", 53.1 },
		{ "software", 61.8 }, { "tea", 2.1 },	  { "nci-tea", 11.3 },
		{ "ibs", 55.6 },      { "spe", 55.5 },	  { "ris", 56.0 },
	};

	fputs("\"published\":{", f);
	for (size_t i = 0; i < ARRAY_LEN(published); i++)
		fprintf(f, "%s\"%s\":%g", i ? "," : "", published[i].profiler, published[i].error);
	fputs("},\n", f);
}

/* The parameters of the machine: section, key, value, the value that culprit ships it with where
 * that is another one, and what it is. */
static bool put_parameters(FILE *f, struct store *s, const char *name, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT section, key, value FROM machine ORDER BY section, key", "");
	struct machine shipped;
	struct err none = { "" };
	bool known = false;

	for (size_t i = 0; i < machine_files_count; i++)
		known |= !strcmp(machine_files[i].name, name);
	known = known && machine_load(&shipped, name, &none);
	fputs("\"parameters\":[", f);
	for (size_t n = 0; store_next(&r); n++) {
		const char *section = store_shown(&r, 0), *key = store_shown(&r, 1);
		const struct param *p =
		    section && key ? machine_param_find(section, key, NULL) : NULL;
		char was[256] = "";

		if (known && p)
			machine_param_text(&shipped, p, was, sizeof(was));
		fputs(n ? ",[" : "[", f);
		html_put_text(f, section, SIZE_MAX);
		fputc(',', f);
		html_put_text(f, key, SIZE_MAX);
		fputc(',', f);
		html_put_text(f, store_shown(&r, 2), SIZE_MAX);
		fputc(',', f);
		html_put_text(f, *was && strcmp(was, store_shown(&r, 2)) != 0 ? was : NULL,
			      SIZE_MAX);
		fputc(',', f);
		html_put_text(f, p ? p->help : NULL, SIZE_MAX);
		fputc(']', f);
	}
	fputs("],\n", f);
	return store_done(&r, e);
}

/* A document of another view, or null and why it is missing; costs: if they have been read. */
static void put_document(FILE *f, struct store *s, const struct model *m,
			 const struct icost_model *costs, const char *key)
{
	char *text = NULL;
	size_t size;
	FILE *to = memory_file(&text, &size);
	struct view_options o = { .out = to, .format = VIEW_JSON, .width = 100, .limit = 10 };
	struct err why = { "" };
	bool ok = false;

	if (!strcmp(key, "stack"))
		ok = view_stack(&(struct stack_input){ .store = s }, 1, &o,
				&(struct stack_options){ .phases = true }, &why);
	else if (!strcmp(key, "icost"))
		ok = view_icost(s, &o, &(struct icost_options){ .read = costs }, &why);
	else if (!strcmp(key, "accuracy"))
		ok = view_accuracy(s, &o, &(struct accuracy_options){ .run = m }, &why);
	if (fclose(to))
		die("out of memory");
	fprintf(f, "\"%s\":%s,\"%s_missing\":", key, ok ? text : "null", key);
	html_put_text(f, ok ? NULL : why.text, SIZE_MAX);
	fputs(",\n", f);
	free(text);
}

/* What of two runs differs, or null if there is one run. */
static bool put_diff(FILE *f, const struct html_input *in, struct err *e)
{
	char *text = NULL;
	size_t size;

	fputs("\"diff\":", f);
	if (in->nstores < 2) {
		fputs("null", f);
		return true;
	}
	FILE *to = memory_file(&text, &size);
	const struct view_options o = {
		.out = to, .format = VIEW_JSON, .width = 100, .limit = DIFF_ROWS
	};
	const bool ok = view_diff(in->stores[0], in->stores[1], &o, e);

	if (fclose(to))
		die("out of memory");
	fputs(ok ? text : "null", f);
	free(text);
	return ok;
}

struct html_run *html_run_read(struct store *s, struct err *e)
{
	struct html_run *r = x_calloc(1, sizeof(*r));
	struct err none = { "" };

	r->store = s;
	if (live_is(s))
		err_set(e, "%s has samples of a live machine; the page shows runs of `culprit sim`",
			store_path(s));
	if (live_is(s) || !model_read(s, NULL, &r->m, e)) {
		free(r);
		return NULL;
	}
	if (!estimated_read(s, &r->estimated, e)) {
		model_free(&r->m);
		free(r);
		return NULL;
	}
	r->has_costs = icost_read(s, &r->costs, &none);
	if (!r->has_costs)
		r->costs.ninsts = 0;
	r->nfindings = findings_of(&r->m, r->findings, ARRAY_LEN(r->findings));
	return r;
}

void html_run_free(struct html_run *r)
{
	if (!r)
		return;
	icost_free(&r->costs);
	estimated_free(&r->estimated);
	model_free(&r->m);
	free(r);
}

static bool has_finding(const struct html_run *r, uint64_t pc)
{
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->findings[i].inst && r->findings[i].inst->pc == pc)
			return true;
	return false;
}

/* The members of a run that both parts of the page begin with. */
static void put_beginning(FILE *f, const struct html_run *r)
{
	fputs("{\"file\":", f);
	html_put_text(f, path_name(store_path(r->store)), SIZE_MAX);
	fputs(",\n", f);
	put_run(f, &r->m);
	put_estimated(f, &r->estimated);
	put_findings(f, r);
}

void html_put_first(const struct html_run *r, FILE *f)
{
	put_beginning(f, r);
	put_savings(f, &r->costs, has_finding, r);
	fprintf(f, "\"costs\":%s}", r->has_costs ? "true" : "false");
}

static bool put_store(FILE *f, const struct html_input *in, unsigned run, const struct html_run *r,
		      struct html_windows *windows, struct err *e)
{
	struct store *s = r->store;
	const struct model *m = &r->m;

	put_beginning(f, r);
	put_code(f, in, m);
	put_savings(f, &r->costs, NULL, r);
	put_document(f, s, m, NULL, "stack");
	put_document(f, s, m, r->has_costs ? &r->costs : NULL, "icost");
	put_document(f, s, m, NULL, "accuracy");
	put_published(f);
	const bool ok =
	    put_profilers(f, s, m->scale, e) && html_put_phases(f, s, m, e) && put_calls(f, s, e) &&
	    stretches_windows(s, m, run, in->window_insts, windows, e) &&
	    put_parameters(f, s, m->machine, e) &&
	    put_rows(f, s, "facts",
		     "SELECT key, CAST(value AS TEXT) FROM run WHERE key NOT IN ('host_seconds', "
		     "'streams', 'confined', 'signature') ORDER BY key",
		     2, e);
	fputs("\"version\":2}", f);
	return ok;
}

bool html_put_data(const struct html_input *in, const struct html_run *first, FILE *f,
		   struct err *e)
{
	struct html_windows own = { 0 };
	bool ok = true;

	fputs("{\"runs\":[", f);
	for (unsigned i = 0; ok && i < in->nstores; i++) {
		struct html_run *other = i ? html_run_read(in->stores[i], e) : NULL;

		fputs(i ? ",\n" : "", f);
		ok = (!i || other) && put_store(f, in, i, i ? other : first, &own, e);
		html_run_free(other);
	}
	fputs("],\n", f);
	ok = ok && put_diff(f, in, e);
	fputs(",\n\"windows\":[", f);
	for (size_t i = 0; i < in->windows->count + own.count; i++) {
		fputs(i ? ",\n" : "", f);
		html_put_window(f, i < in->windows->count ? &in->windows->list[i]
							  : &own.list[i - in->windows->count]);
	}
	fputs("]}\n", f);
	html_windows_free(&own);
	return ok;
}
