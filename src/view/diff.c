/* SPDX-License-Identifier: MIT */
/*
 * Two runs side by side, by function and by instruction, sorted by how much they changed; and
 * several runs as mean and spread. Functions are matched by name, instructions by what they are and
 * where in the source they come from (match.c), so that two machines, inputs or builds can be
 * compared. What only one of the builds has stands for itself.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/doc.h"
#include "util/number.h"
#include "view/match.h"
#include "view/model.h"

enum side { BEFORE, AFTER, SIDES };

/* A function or an instruction in both runs. */
struct line {
	bool in[SIDES];
	char symbol[SIDES][160];
	char source[96];
	const char *disasm[SIDES]; /* NULL: a function */
	double cycles[SIDES];
	double event[SIDES][MODEL_EVENTS];
};

struct lines {
	struct line *list;
	size_t count;
};

static double change(const struct line *l)
{
	return l->cycles[AFTER] - l->cycles[BEFORE];
}

static const char *symbol(const struct line *l)
{
	return l->symbol[l->in[BEFORE] ? BEFORE : AFTER];
}

static const char *disasm(const struct line *l)
{
	return l->disasm[l->in[BEFORE] ? BEFORE : AFTER];
}

static const char *where(const struct line *l)
{
	return l->in[BEFORE] && l->in[AFTER] ? "both" : l->in[BEFORE] ? "before" : "after";
}

static int by_change(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	double dx = fabs(change(x)), dy = fabs(change(y));
	if (dx != dy)
		return dx < dy ? 1 : -1;
	int order = strcmp(symbol(x), symbol(y));
	return order ? order : strcmp(where(x), where(y));
}

static void put_function(struct line *l, enum side side, const struct model *m, size_t index)
{
	if (index == MATCH_NONE)
		return;
	l->in[side] = true;
	l->cycles[side] = m->functions[index].cycles;
	snprintf(l->symbol[side], sizeof(l->symbol[side]), "%s", m->functions[index].name);
}

static void put_inst(struct line *l, enum side side, const struct model *m, size_t index)
{
	if (index == MATCH_NONE)
		return;
	const struct model_inst *in = &m->insts[index];
	l->in[side] = true;
	l->cycles[side] = in->cycles;
	l->disasm[side] = in->disasm ? in->disasm : "";
	model_where(m, in, l->symbol[side], sizeof(l->symbol[side]), l->source, sizeof(l->source));
	for (size_t k = 0; k < in->nstack; k++)
		for (int b = 0; b < MODEL_EVENTS; b++)
			if (in->stack[k].events >> b & 1)
				l->event[side][b] += in->stack[k].cycles;
}

typedef void put_fn(struct line *l, enum side side, const struct model *m, size_t index);

/* The pairs that took time in either run, by change. */
static struct lines make_lines(const struct model *a, const struct model *b,
			       struct match_pair *pairs, size_t count, put_fn *put)
{
	struct lines l = { x_calloc(count + 1, sizeof(*l.list)), 0 };
	for (size_t i = 0; i < count; i++) {
		struct line *n = &l.list[l.count];
		memset(n, 0, sizeof(*n));
		put(n, BEFORE, a, pairs[i].before);
		put(n, AFTER, b, pairs[i].after);
		l.count += n->cycles[BEFORE] > 0 || n->cycles[AFTER] > 0;
	}
	qsort(l.list, l.count, sizeof(*l.list), by_change);
	free(pairs);
	return l;
}

/* The event whose time changed most on this line, if it explains a good part of the change. */
static void main_event(const struct model *m, const struct line *l, char *buf, size_t size_bytes)
{
	int best = -1;
	double most = 0.2 * fabs(change(l));
	for (int b = 0; b < MODEL_EVENTS; b++) {
		double by = fabs(l->event[AFTER][b] - l->event[BEFORE][b]);
		if (by > most) {
			most = by;
			best = b;
		}
	}
	buf[0] = '\0';
	if (best >= 0 && m->event_name[best])
		snprintf(buf, size_bytes, "  (%s %+.0f)", m->event_name[best],
			 l->event[AFTER][best] - l->event[BEFORE][best]);
}

/* Without where a jump leads: that is another address in every build. */
static int operands_length(const char *text)
{
	const char *target = strstr(text, " <");
	return (int)(target ? target - text : (long)strlen(text));
}

/* "f+0x12 x.c:88  ld a0,8(a1)", and what it is afterwards where that differs. */
static void describe(const struct line *l, char *buf, size_t size_bytes)
{
	const char *text = disasm(l), *later = l->disasm[AFTER];
	int n = snprintf(buf, size_bytes, "%s", symbol(l));
	bool both = l->in[BEFORE] && l->in[AFTER];
	if (both && strcmp(l->symbol[BEFORE], l->symbol[AFTER]) && strchr(l->symbol[AFTER], '+'))
		n += snprintf(buf + n, size_bytes - (size_t)n, "→%s",
			      strrchr(l->symbol[AFTER], '+'));
	if (!text)
		return;
	n += snprintf(buf + n, size_bytes - (size_t)n, "%s%s  %s", l->source[0] ? " " : "",
		      l->source, text);
	struct match_key was = match_key(text, NULL, 0);
	if (both && was.text != match_key(later, NULL, 0).text)
		snprintf(buf + n, size_bytes - (size_t)n, " → %.*s", operands_length(later), later);
}

static void put_cycles(struct doc_table *t, const struct line *l, enum side side)
{
	if (l->in[side])
		cell_real(t, l->cycles[side]);
	else
		cell_words(t, "-");
	cell_real(t, l->cycles[side]);
}

/* insts: instructions, which alone go into CSV; m: of the run before, for the names of events. */
static void add_lines(struct doc *d, const struct view_options *o, const struct lines *l,
		      const struct model *m, bool insts)
{
	const struct doc_column columns[] = {
		{ .key = "symbol", .csv = insts ? "symbol" : NULL },
		{ .key = "disasm", .csv = insts ? "disasm" : NULL },
		{ .head = "before", .before = "  ", .format = "%.0f", .width = 14 },
		{ .key = "before", .csv = insts ? "before" : NULL, .csv_format = "%.3f" },
		{ .head = "after", .format = "%.0f", .width = 14 },
		{ .key = "after", .csv = insts ? "after" : NULL, .csv_format = "%.3f" },
		{ .key = "change",
		  .csv = insts ? "change" : NULL,
		  .csv_format = "%.3f",
		  .head = "change",
		  .format = "%+.0f",
		  .width = 14 },
		{ .key = "in", .csv = insts ? "in" : NULL },
		{ .key = insts ? "source" : NULL, .csv = insts ? "source" : NULL },
		{ .key = insts ? "symbol_after" : NULL },
		{ .key = insts ? "disasm_after" : NULL },
		{ .head = "of run", .format = "%+.2f%%", .width = 8 },
		{ .before = "  ", .width = -(o->width - 58), .ragged = true },
	};

	doc_heading(d, "%s, by change", insts ? "Instructions" : "Functions");
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns),
		      &(struct doc_table_options){ .key = insts ? "instructions" : "functions",
						   .heads = true,
						   .limit = (size_t)o->limit });

	for (size_t i = 0; i < l->count; i++) {
		const struct line *n = &l->list[i];
		const bool both = n->in[BEFORE] && n->in[AFTER];
		const enum term_colour colour = change(n) < 0 ? TERM_GREEN : TERM_RED;
		char event[64], text[640];

		describe(n, text, sizeof(text) - sizeof(event));
		main_event(m, n, event, sizeof(event));
		strcat(text, event);
		doc_row(t);
		cell_text(t, symbol(n));
		cell_text(t, disasm(n) ? disasm(n) : "");
		put_cycles(t, n, BEFORE);
		put_cycles(t, n, AFTER);
		cell_real(t, change(n));
		cell_colour(t, colour);
		cell_text(t, where(n));
		cell_text(t, n->source);
		cell_text(t, both && insts ? n->symbol[AFTER] : NULL);
		cell_text(t, both && insts ? n->disasm[AFTER] : NULL);
		cell_real(t, 100 * change(n) / (double)m->cycles);
		cell_colour(t, colour);
		cell_text(t, text);
	}
}

bool view_diff(struct store *before, struct store *after, const struct view_options *o,
	       struct err *e)
{
	struct model a, b;
	struct match_pair *pairs;

	if (!model_read(before, o->profiler, &a, e))
		return false;
	if (!model_read(after, o->profiler, &b, e)) {
		model_free(&a);
		return false;
	}
	size_t count = match_functions(&a, &b, &pairs);
	struct lines functions = make_lines(&a, &b, pairs, count, put_function);
	count = match_insts(&a, &b, &pairs);
	struct lines insts = make_lines(&a, &b, pairs, count, put_inst);
	const double ca = (double)a.cycles, cb = (double)b.cycles;
	char x[32], y[32];
	struct doc *d = doc_new();

	doc_line(d, NULL, "%s on %s: %s cycles", path_name(a.program), a.machine,
		 number_commas(a.cycles, x));
	doc_line(d, NULL, "%s on %s: %s cycles, %.2fx %s", path_name(b.program), b.machine,
		 number_commas(b.cycles, y), ca >= cb ? ca / cb : cb / ca,
		 ca >= cb ? "faster" : "slower");
	doc_real(d, "cycles_before", ca);
	doc_real(d, "cycles_after", cb);
	doc_real(d, "speedup", ca / cb);
	add_lines(d, o, &functions, &a, false);
	add_lines(d, o, &insts, &a, true);
	const bool ok = doc_print(d, o, e);

	doc_free(d);
	free(functions.list);
	free(insts.list);
	model_free(&a);
	model_free(&b);
	return ok;
}

struct stat_line {
	char key[200];
	double sum, squares, least, most;
	size_t runs;
};

static int by_stat_key(const void *a, const void *b)
{
	return strcmp(((const struct stat_line *)a)->key, ((const struct stat_line *)b)->key);
}

static int by_stat_sum(const void *a, const void *b)
{
	const struct stat_line *x = a, *y = b;
	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return strcmp(x->key, y->key);
}

/* The cycles of the run and of each function, run after run. */
static struct stat_line *read_stats(struct store **stores, size_t count, const char *profiler,
				    size_t *lines, struct err *e)
{
	struct stat_line *all = x_calloc(1, sizeof(*all));
	size_t n = 0;

	for (size_t s = 0; s < count; s++) {
		struct model m;

		if (!model_read(stores[s], profiler, &m, e)) {
			free(all);
			return NULL;
		}
		all = x_realloc(all, (n + m.nfunctions + 1) * sizeof(*all));
		for (size_t i = 0; i <= m.nfunctions; i++) {
			const double c = i ? m.functions[i - 1].cycles : (double)m.cycles;

			if (c <= 0)
				continue;
			struct stat_line *l = &all[n++];

			*l = (struct stat_line){
				.sum = c, .squares = c * c, .least = c, .most = c, .runs = 1
			};
			snprintf(l->key, sizeof(l->key), "%s",
				 i ? m.functions[i - 1].name : "(run)");
		}
		model_free(&m);
	}
	*lines = n;
	return all;
}

/* Adds up lines of the same name; returns how many are left. */
static size_t merge_stats(struct stat_line *all, size_t n)
{
	size_t kept = 0;

	qsort(all, n, sizeof(*all), by_stat_key);
	for (size_t i = 1; i < n; i++) {
		if (by_stat_key(&all[kept], &all[i])) {
			all[++kept] = all[i];
			continue;
		}
		all[kept].sum += all[i].sum;
		all[kept].squares += all[i].squares;
		all[kept].least = fmin(all[kept].least, all[i].least);
		all[kept].most = fmax(all[kept].most, all[i].most);
		all[kept].runs++;
	}
	n = n ? kept + 1 : 0;
	qsort(all, n, sizeof(*all), by_stat_sum);
	return n;
}

bool view_stats(struct store **stores, size_t count, const struct view_options *o, struct err *e)
{
	const struct doc_column columns[] = {
		{ .key = "symbol", .csv = "symbol" },
		{ .key = "runs", .csv = "runs" },
		{ .key = "mean",
		  .csv = "mean",
		  .csv_format = "%.3f",
		  .head = "mean",
		  .before = "  ",
		  .format = "%.0f",
		  .width = 14 },
		{ .head = "spread", .format = "%.2f%%", .factor = 100, .width = 10 },
		{ .key = "deviation", .csv = "deviation", .csv_format = "%.3f" },
		{ .key = "least",
		  .csv = "least",
		  .csv_format = "%.3f",
		  .head = "least",
		  .format = "%.0f",
		  .width = 14 },
		{ .key = "most",
		  .csv = "most",
		  .csv_format = "%.3f",
		  .head = "most",
		  .format = "%.0f",
		  .width = 14 },
		{ .head = "runs", .before = "  ", .format = "%.0f", .width = 4 },
		{ .before = "  ", .width = -(o->width - 68), .ragged = true },
	};
	size_t n;
	struct stat_line *all = read_stats(stores, count, o->profiler, &n, e);

	if (!all)
		return false;
	n = merge_stats(all, n);
	struct doc *d = doc_new();

	doc_line(d, NULL, "%zu runs: cycles by function", count);
	struct doc_table *t = doc_table(
	    d, columns, ARRAY_LEN(columns),
	    &(struct doc_table_options){ .key = "", .heads = true, .limit = (size_t)o->limit + 1 });

	for (size_t i = 0; i < n; i++) {
		/* a function that a run does not have took no time in it */
		const double mean = all[i].sum / (double)count,
			     var = all[i].squares / (double)count - mean * mean,
			     deviation = sqrt(fmax(var, 0));

		doc_row(t);
		cell_text(t, all[i].key);
		cell_integer(t, (int64_t)all[i].runs);
		cell_real(t, mean);
		cell_real(t, deviation / mean);
		cell_real(t, deviation);
		cell_real(t, all[i].runs < count ? 0 : all[i].least);
		cell_real(t, all[i].most);
		cell_integer(t, (int64_t)all[i].runs);
		cell_text(t, all[i].key);
	}
	const bool ok = doc_print(d, o, e);

	doc_free(d);
	free(all);
	return ok;
}
