/* SPDX-License-Identifier: MIT */
/*
 * Shows two runs side by side, by function and by instruction, sorted by how much they changed.
 * Functions are matched by name, instructions by what they are and where in the source they come
 * from (match.c), so that two machines, inputs or builds can be compared. What only one of the
 * builds has gets a row of its own.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/calc.h"
#include "view/doc.h"
#include "view/live.h"
#include "view/match.h"
#include "view/model.h"
#include "view/noise.h"
#include "view/spectrum_elsewhere.h"

enum side { BEFORE, AFTER, SIDES };

/* A function or an instruction in both runs. */
struct line {
	bool in[SIDES];
	char symbol[SIDES][160];
	char source[96];
	const char *disasm[SIDES]; /* NULL: a function */
	double cycles[SIDES];
	double event[SIDES][MODEL_EVENTS];
	int64_t item[SIDES]; /* a function's id, an instruction's address */
	double margin;	     /* half of the 95% interval of the change; NAN: not known */
};

struct lines {
	struct line *list;
	size_t count;
	size_t within; /* left out: changes that may be chance */
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
	l->item[side] = m->functions[index].id;
	snprintf(l->symbol[side], sizeof(l->symbol[side]), "%s", m->functions[index].name);
}

static void put_inst(struct line *l, enum side side, const struct model *m, size_t index)
{
	if (index == MATCH_NONE)
		return;
	const struct model_inst *in = &m->insts[index];
	l->in[side] = true;
	l->cycles[side] = in->cycles;
	l->item[side] = (int64_t)in->pc;
	l->disasm[side] = in->disasm ? in->disasm : "";
	model_where(m, in, l->symbol[side], sizeof(l->symbol[side]), l->source, sizeof(l->source));
	for (unsigned b = 0; b < MODEL_EVENTS; b++)
		l->event[side][b] = model_with_event(in, b);
}

typedef void put_fn(struct line *l, enum side side, const struct model *m, size_t index);

/* The pairs that took time in either run, by change. */
static struct lines make_lines(const struct model *a, const struct model *b,
			       struct match_pair *pairs, size_t count, put_fn *put)
{
	struct lines l = { .list = x_calloc(count + 1, sizeof(*l.list)) };
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

/* Leaves out what may be chance. */
static void drop_noise(struct lines *l, struct noise *noise, bool insts)
{
	const bool all_unknown = noise && isnan(noise_cycles(noise));
	size_t kept = 0;

	for (size_t i = 0; noise && i < l->count; i++) {
		struct line *n = &l->list[i];
		const int64_t *before = n->in[BEFORE] ? &n->item[BEFORE] : NULL,
			      *after = n->in[AFTER] ? &n->item[AFTER] : NULL;

		n->margin = insts ? noise_instruction(noise, before, after)
				  : noise_function(noise, before, after);
		/* where no error is known at all, everything is shown */
		if (isnan(n->margin) ? all_unknown : fabs(change(n)) > n->margin)
			l->list[kept++] = *n;
	}
	l->within = noise ? l->count - kept : 0;
	l->count = noise ? kept : l->count;
}

/* The event whose time changed most on this line, if it explains a fifth of the change. */
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

/* Leaves out where a jump leads: that address is another one in every build. */
static int operands_length(const char *text)
{
	const char *target = strstr(text, " <");
	return (int)(target ? target - text : (long)strlen(text));
}

/* "f+0x12 x.c:88  ld a0,8(a1)", and what it is afterwards where that differs. */
static char *describe(const struct line *l, const char *event)
{
	const char *text = disasm(l), *later = l->disasm[AFTER];
	const bool both = l->in[BEFORE] && l->in[AFTER];
	char *words = NULL;
	size_t size;
	FILE *f = open_memstream(&words, &size);

	if (!f)
		die("out of memory");
	fputs(symbol(l), f);
	if (both && strcmp(l->symbol[BEFORE], l->symbol[AFTER]) && strchr(l->symbol[AFTER], '+'))
		fprintf(f, "→%s", strrchr(l->symbol[AFTER], '+'));
	if (text)
		fprintf(f, "%s%s  %s", l->source[0] ? " " : "", l->source, text);
	if (text && both && match_key(text, NULL, 0).text != match_key(later, NULL, 0).text)
		fprintf(f, " → %.*s", operands_length(later), later);
	fputs(event, f);
	if (fclose(f))
		die("out of memory");
	return words;
}

static void put_cycles(struct doc_table *t, const struct line *l, enum side side)
{
	if (l->in[side])
		cell_real(t, l->cycles[side]);
	else
		cell_words(t, "-");
	cell_real(t, l->cycles[side]);
}

/* Of "foo+0x12": without the offset. */
static size_t name_length(const char *symbol)
{
	const char *plus = strrchr(symbol, '+');

	return plus && plus > symbol && plus[1] == '0' && plus[2] == 'x' ? (size_t)(plus - symbol)
									 : strlen(symbol);
}

/* insts: the lines are instructions; only those go into CSV. m: the run before. */
static void add_lines(struct doc *d, const struct view_options *o, const struct lines *l,
		      const struct model *m, bool insts, bool estimated)
{
	struct doc_column columns[] = {
		{ DOC_DATA("symbol") },
		{ DOC_DATA("disasm") },
		{ DOC_SHOWN("before", "%.0f", 14), .before = "  " },
		{ DOC_DATA("before"), .csv_format = "%.3f" },
		{ DOC_SHOWN("after", "%.0f", 14) },
		{ DOC_DATA("after"), .csv_format = "%.3f" },
		{ DOC_DATA("change"), .csv_format = "%.3f", DOC_SHOWN("change", "%+.0f", 14) },
		{ DOC_DATA(estimated ? "margin" : NULL), .csv_format = "%.3f",
		  DOC_SHOWN("±", "±%.0f", estimated ? 12 : 0) },
		{ DOC_DATA("in") },
		{ DOC_DATA(insts ? "source" : NULL) },
		{ .key = insts ? "symbol_after" : NULL },
		{ .key = insts ? "disasm_after" : NULL },
		{ DOC_SHOWN("of run", "%+.2f%%", 8) },
		{ .before = "  ", .width = -20, .ragged = true, .name = true, .fill = true },
	};

	for (size_t i = 0; !insts && i < ARRAY_LEN(columns); i++)
		columns[i].csv = NULL;
	doc_heading(d, "%s, by change", insts ? "Instructions" : "Functions");
	struct doc_table *t = DOC_TABLE(d, columns, .key = insts ? "instructions" : "functions",
					.heads = true, .limit = (size_t)o->limit);

	for (size_t i = 0; i < l->count; i++) {
		const struct line *n = &l->list[i];
		const bool both = n->in[BEFORE] && n->in[AFTER];
		const enum term_colour colour = change(n) < 0 ? TERM_GREEN : TERM_RED;
		char event[64], *text;

		main_event(m, n, event, sizeof(event));
		text = describe(n, event);
		doc_row(t);
		cell_text(t, symbol(n));
		cell_text(t, disasm(n) ? disasm(n) : "");
		put_cycles(t, n, BEFORE);
		put_cycles(t, n, AFTER);
		cell_real(t, change(n));
		cell_colour(t, colour);
		estimated_cell(t, n->margin);
		cell_text(t, where(n));
		cell_text(t, n->source);
		cell_text(t, both && insts ? n->symbol[AFTER] : NULL);
		cell_text(t, both && insts ? n->disasm[AFTER] : NULL);
		cell_real(t, 100 * change(n) / (double)m->cycles);
		cell_colour(t, colour);
		cell_text(t, text);
		cell_name(t, 0, name_length(symbol(n)));
		free(text);
	}
	if (!estimated)
		return;
	doc_integer(d, insts ? "instructions_within_noise" : "functions_within_noise",
		    (int64_t)l->within);
	if (l->within)
		doc_line(d, NULL, "  … and %zu within the noise (95%%)", l->within);
}

/* What both runs are, and how good the comparison is. */
static void add_heads(struct doc *d, const struct model *a, const struct model *b,
		      const struct noise *noise)
{
	const double ca = (double)a->cycles, cb = (double)b->cycles;
	char x[32], y[32], error[48] = "";
	const double margin = noise ? noise_cycles(noise) : NAN;

	if (!isnan(margin))
		snprintf(error, sizeof(error), ", cycles %+.2f%% ± %.2f%% (95%%)",
			 100 * (cb / ca - 1), 100 * margin);
	doc_line(d, NULL, "%s on %s: %s cycles", path_name(a->program), a->machine,
		 number_commas(a->cycles, x));
	doc_line(d, NULL, "%s on %s: %s cycles, %.2fx %s%s", path_name(b->program), b->machine,
		 number_commas(b->cycles, y), ca >= cb ? ca / cb : cb / ca,
		 ca >= cb ? "faster" : "slower", error);
	estimated_line(d, "before: ", &a->estimated);
	estimated_line(d, "after: ", &b->estimated);
	doc_real(d, "cycles_before", ca);
	doc_real(d, "cycles_after", cb);
	doc_real(d, "speedup", ca / cb);
	if (!noise)
		return;
	doc_line(d, NULL, "%s",
		 noise_matched(noise) ? "Both have the same points, which are compared one by one."
				      : "Their points differ: each run's own error counts.");
	doc_boolean(d, "estimated", true);
	doc_boolean(d, "matched_points", noise_matched(noise));
	doc_real(d, "relative_change", cb / ca - 1);
	doc_real(d, "relative_change_margin", margin);
}

/* Two runs that were sampled, and have no golden reference. */
static bool diff_samples(struct store *before, struct store *after, const struct view_options *o,
			 struct err *e)
{
	struct doc *d = doc_new();
	const bool ok = calc_add_diff(d, before, after, (size_t)o->limit, e) && doc_print(d, o, e);

	doc_free(d);
	return ok;
}

bool view_diff(struct store *before, struct store *after, const struct view_options *o,
	       struct err *e)
{
	struct model a, b;
	struct match_pair *pairs;

	if (live_is(before) || live_is(after))
		return live_diff(before, after, o, e);
	if (!model_has_golden(before) && !model_has_golden(after) && calc_has(before) &&
	    calc_has(after))
		return diff_samples(before, after, o, e);
	if (!model_read(before, o->profiler, &a, e))
		return false;
	if (!model_read(after, o->profiler, &b, e)) {
		model_free(&a);
		return false;
	}
	bool ok;
	struct noise *noise = noise_read(before, after, &a, &b, &ok, e);
	size_t count = match_functions(&a, &b, &pairs);
	struct lines functions = make_lines(&a, &b, pairs, count, put_function);
	count = match_insts(&a, &b, &pairs);
	struct lines insts = make_lines(&a, &b, pairs, count, put_inst);
	struct doc *d = doc_new();

	drop_noise(&functions, noise, false);
	drop_noise(&insts, noise, true);
	add_heads(d, &a, &b, noise);
	add_lines(d, o, &functions, &a, false, noise != NULL);
	add_lines(d, o, &insts, &a, true, noise != NULL);
	ok = ok && spectrum_add_diff(d, before, after, (size_t)o->limit, e) &&
	     calc_add_diff(d, before, after, (size_t)o->limit, e) && doc_print(d, o, e);
	noise_free(noise);

	doc_free(d);
	free(functions.list);
	free(insts.list);
	model_free(&a);
	model_free(&b);
	return ok;
}
