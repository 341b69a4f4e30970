/* SPDX-License-Identifier: MIT */
/*
 * A function, line by line: its source where the files can be read, its instructions with the share
 * of the run and a stack of why, and its jumps. Without a name the hottest functions come, hottest
 * first.
 *
 *        share  why                       address
 *                                                        37  double r = floor(x);
 *       21.30%  ffffffffffffff=           2a3f0      ╭─  fsflags  a5     FL-CSR 93%, base 7%
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "view/jumps.h"
#include "view/model.h"
#include "view/source.h"
#include "view/term.h"

/* A run of instructions without time longer than this is folded. */
#define COLD_RUN 6

struct listing {
	const struct model *m,
	    *other; /* other: a second profiler's view of the same run, or NULL */
	const struct model_function *f;
	const struct model_inst *insts, *other_insts;
	size_t count;
	uint64_t *pcs;
	uint32_t *words;
	char **inlined; /* the innermost function that was inlined there, or NULL */
	struct jumps *jumps;
};

static void read_words(struct store *s, struct listing *l)
{
	struct store_rows r = store_query(
	    s, "SELECT pc, word FROM instruction WHERE pc >= ?1 AND pc < ?2 ORDER BY pc", "ii",
	    (int64_t)l->f->start, (int64_t)l->f->end);
	for (size_t i = 0; store_next(&r) && i < l->count; i++) {
		l->pcs[i] = (uint64_t)store_int(&r, 0);
		l->words[i] = (uint32_t)store_int(&r, 1);
	}
	store_done(&r, NULL);
}

static void read_inlined(struct store *s, struct listing *l)
{
	struct store_rows r = store_query(s,
					  "SELECT pc, name FROM inlined WHERE pc >= ?1 AND pc < ?2 "
					  "AND depth = 0 ORDER BY pc",
					  "ii", (int64_t)l->f->start, (int64_t)l->f->end);
	size_t i = 0;
	while (store_next(&r)) {
		const uint64_t pc = (uint64_t)store_int(&r, 0);
		while (i < l->count && l->insts[i].pc < pc)
			i++;
		if (i < l->count && l->insts[i].pc == pc && !l->inlined[i])
			l->inlined[i] = x_strdup(store_text(&r, 1));
	}
	store_done(&r, NULL);
}

static const struct model_inst *insts_of(const struct model *m, const struct model_function *f,
					 size_t *count)
{
	size_t first = 0;
	while (first < m->ninsts && m->insts[first].pc < f->start)
		first++;
	*count = 0;
	while (first + *count < m->ninsts && m->insts[first + *count].pc < f->end)
		++*count;
	return &m->insts[first];
}

static void open_listing(struct store *s, struct listing *l)
{
	size_t same;
	l->insts = insts_of(l->m, l->f, &l->count);
	if (l->other)
		l->other_insts = insts_of(l->other, l->f, &same);
	l->pcs = x_calloc(l->count, sizeof(*l->pcs));
	l->words = x_calloc(l->count, sizeof(*l->words));
	l->inlined = x_calloc(l->count, sizeof(*l->inlined));
	read_words(s, l);
	read_inlined(s, l);
	l->jumps = jumps_new(l->pcs, l->words, l->count);
}

static void close_listing(struct listing *l)
{
	jumps_free(l->jumps);
	for (size_t i = 0; i < l->count; i++)
		free(l->inlined[i]);
	free(l->inlined);
	free(l->pcs);
	free(l->words);
}

/* Less than would show as 0.01%. */
static bool cold(const struct listing *l, size_t i)
{
	const double least = 0.00005 * (double)l->m->cycles;
	return l->insts[i].cycles < least && !(l->other && l->other_insts[i].cycles >= least);
}

static void print_heading(const struct listing *l, const struct view_options *o)
{
	const struct model_function *f = l->f;
	fprintf(o->out, "\n%s%s%s", term_on(o, TERM_BOLD), f->name, term_off(o));
	if (f->file)
		fprintf(o->out, "  %s%s%s%.0d", f->file, f->line ? ":" : "", "", f->line);
	else if (f->image)
		fprintf(o->out, "  %s", f->image);
	fprintf(o->out, "  %.2f%% of all cycles", 100 * f->cycles / (double)l->m->cycles);
	fputc('\n', o->out);
}

static void print_source(const struct listing *l, const struct view_options *o,
			 struct sources *sources, size_t i, int left)
{
	const struct model_inst *in = &l->insts[i];
	const char *text = sources_line(sources, in->file, in->line);
	char lanes[64];
	fprintf(o->out, "%*s%s", left, "", jumps_draw(l->jumps, i, 0, lanes));
	fprintf(o->out, " %s", term_on(o, TERM_CYAN));
	if (text) {
		char place[96];
		int n = snprintf(place, sizeof(place), "%.70s%s%d  ",
				 l->inlined[i] ? l->inlined[i] : "", l->inlined[i] ? ":" : "",
				 in->line);
		fputs(place, o->out);
		text += strspn(text, " \t");
		term_text(o, text, o->width - left - jumps_lanes(l->jumps) - 2 - n, false);
	} else {
		fprintf(o->out, "%s:%d", model_basename(in->file), in->line);
	}
	fprintf(o->out, "%s\n", term_off(o));
}

static void print_share(const struct view_options *o, double share)
{
	enum term_colour c = share >= 0.05 ? TERM_RED : share >= 0.01 ? TERM_YELLOW : TERM_PLAIN;
	if (share >= 0.00005)
		fprintf(o->out, "%s%7.2f%%%s", term_on(o, c), 100 * share, term_off(o));
	else
		fprintf(o->out, "%8s", "");
}

static void print_inst(const struct listing *l, const struct view_options *o, size_t i, double most,
		       int bar)
{
	const struct model_inst *in = &l->insts[i];
	struct term_part parts[16];
	size_t n = 0;
	char lanes[64], words[160] = "", name[96];
	size_t used = 0;
	print_share(o, in->cycles / (double)l->m->cycles);
	if (l->other)
		print_share(o, l->other_insts[i].cycles / (double)l->other->cycles);
	for (size_t k = 0; k < in->nstack && n < ARRAY_LEN(parts); k++)
		parts[n++] = (struct term_part){ in->stack[k].cycles / most,
						 model_colour(in->stack[k].events),
						 model_letter(in->stack[k].events) };
	fputc(' ', o->out);
	term_stack(o, parts, n, bar);
	fprintf(o->out, " %s%8" PRIx64 "%s %s ", term_on(o, TERM_DIM), in->pc, term_off(o),
		jumps_draw(l->jumps, i, 1, lanes));
	for (size_t k = 0; k < in->nstack && k < 2 && used < sizeof(words); k++)
		if (in->cycles > 0.0005 * (double)l->m->cycles &&
		    (!k || in->stack[k].cycles > 0.05 * in->cycles))
			used += (size_t)snprintf(
			    words + used, sizeof(words) - used, "%s%s %.0f%%", k ? ", " : "",
			    model_events(l->m, in->stack[k].events, name, sizeof(name)),
			    100 * in->stack[k].cycles / in->cycles);
	int left = 8 + (l->other ? 8 : 0) + 1 + bar + 10 + jumps_lanes(l->jumps) + 2;
	int text = o->width - left > 70 ? 42 : 30;
	const char *disasm = in->disasm ? in->disasm : "", *tab = strchr(disasm, '\t');
	char line[200];
	if (tab)
		snprintf(line, sizeof(line), "%-9.*s %s", (int)(tab - disasm), disasm, tab + 1);
	else
		snprintf(line, sizeof(line), "%s", disasm);
	term_text(o, line, words[0] ? text : o->width - left, words[0] != '\0');
	if (words[0]) {
		fprintf(o->out, " %s", term_on(o, TERM_DIM));
		term_text(o, words, o->width - left - text - 1, false);
		fputs(term_off(o), o->out);
	}
	fputc('\n', o->out);
}

static void print_listing(const struct listing *l, const struct view_options *o,
			  struct sources *sources)
{
	int bar = o->width >= 120 ? 20 : 10, left = 8 + (l->other ? 8 : 0) + 1 + bar + 10;
	double most = 1;
	const char *file = NULL;
	int line = 0;
	for (size_t i = 0; i < l->count; i++)
		most = l->insts[i].cycles > most ? l->insts[i].cycles : most;
	print_heading(l, o);
	if (l->other)
		fprintf(o->out, "%8s%8s\n", l->m->profiler, l->other->profiler);
	for (size_t i = 0; i < l->count; i++) {
		size_t run = 0;
		while (i + run < l->count && cold(l, i + run))
			run++;
		if (run > COLD_RUN) {
			fprintf(o->out, "%*s%s… %zu instructions without time …%s\n", left, "",
				term_on(o, TERM_DIM), run, term_off(o));
			i += run - 1;
			file = NULL;
			continue;
		}
		const struct model_inst *in = &l->insts[i];
		if (in->file && in->line && (!file || strcmp(file, in->file) || line != in->line)) {
			print_source(l, o, sources, i, left);
			file = in->file;
			line = in->line;
		}
		print_inst(l, o, i, most, bar);
	}
}

static json_t *json_listing(const struct listing *l)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < l->count; i++) {
		const struct model_inst *in = &l->insts[i];
		json_t *stack = json_object();
		char pc[32], source[512] = "", name[96];
		for (size_t k = 0; k < in->nstack; k++)
			json_object_set_new(
			    stack, model_events(l->m, in->stack[k].events, name, sizeof(name)),
			    json_real(in->stack[k].cycles));
		snprintf(pc, sizeof(pc), "0x%" PRIx64, in->pc);
		if (in->file && in->line)
			snprintf(source, sizeof(source), "%s:%d", in->file, in->line);
		json_t *row = json_pack("{s:s, s:s, s:s, s:f, s:f, s:I, s:o}", "pc", pc, "disasm",
					in->disasm ? in->disasm : "", "source", source, "cycles",
					in->cycles, "share", in->cycles / (double)l->m->cycles,
					"executions", (json_int_t)in->executions, "stack", stack);
		if (l->other)
			json_object_set_new(row, "other_cycles",
					    json_real(l->other_insts[i].cycles));
		json_array_append_new(rows, row);
	}
	return json_pack("{s:s, s:f, s:o}", "symbol", l->f->name, "share",
			 l->f->cycles / (double)l->m->cycles, "instructions", rows);
}

static int compare_functions(const void *a, const void *b)
{
	const struct model_function *x = *(const struct model_function *const *)a,
				    *y = *(const struct model_function *const *)b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->start > y->start) - (x->start < y->start);
}

static bool not_found(struct store *s, const char *name, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT f.name, count(*) FROM inlined i JOIN instruction n ON n.pc = i.pc JOIN "
	    "function f "
	    "ON f.id = n.function WHERE i.name = ?1 GROUP BY f.id ORDER BY 2 DESC LIMIT 1",
	    "s", name);
	char host[200] = "";
	if (store_next(&r))
		snprintf(host, sizeof(host), "%s", store_text(&r, 0));
	store_done(&r, NULL);
	if (host[0])
		return err_set(e,
			       "'%s' has no code of its own in %s: it is inlined; its lines are in "
			       "`culprit annotate %s %s`",
			       name, store_path(s), store_path(s), host);
	return err_set(
	    e, "no function '%s' has any time in %s; `culprit report` lists those that have", name,
	    store_path(s));
}

static bool annotate_functions(struct store *s, const struct view_options *o, const struct model *m,
			       const struct model *other, struct err *e)
{
	const struct model_function **order = x_calloc(m->nfunctions, sizeof(*order));
	struct sources *sources = sources_new();
	json_t *json = o->format == VIEW_JSON ? json_array() : NULL;
	size_t n = 0, shown = 0;
	for (size_t i = 0; i < m->nfunctions; i++)
		if (!o->function || !strcmp(m->functions[i].name, o->function))
			order[n++] = &m->functions[i];
	qsort(order, n, sizeof(*order), compare_functions);
	for (size_t i = 0; i < n && shown < (size_t)o->limit; i++, shown++) {
		struct listing l = { .m = m, .other = other, .f = order[i] };
		if (!o->function && order[i]->cycles < 0.01 * (double)m->cycles && shown)
			break;
		open_listing(s, &l);
		if (json)
			json_array_append_new(json, json_listing(&l));
		else
			print_listing(&l, o, sources);
		close_listing(&l);
	}
	if (json && n) {
		json_dumpf(json, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
		fputc('\n', o->out);
	}
	json_decref(json);
	sources_free(sources);
	free(order);
	return n || not_found(s, o->function ? o->function : "", e);
}

bool view_annotate(struct store *s, const struct view_options *o, struct err *e)
{
	struct model m, other;
	bool second = o->profiler && strcmp(o->profiler, "oracle");
	if (!model_read(s, NULL, &m, e))
		return false;
	if (second && !model_read(s, o->profiler, &other, e)) {
		model_free(&m);
		return false;
	}
	bool ok = annotate_functions(s, o, &m, second ? &other : NULL, e);
	if (second)
		model_free(&other);
	model_free(&m);
	return ok;
}
