/* SPDX-License-Identifier: MIT */
/*
 * Two runs side by side, by function and by instruction, sorted by how much they changed; and
 * several runs as mean and spread. Functions are matched by name, instructions by what they are and
 * where in the source they come from (match.c), so that two machines, inputs or builds can be
 * compared. What only one of the builds has stands for itself.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/match.h"
#include "view/model.h"
#include "view/term.h"

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

static void print_cycles(const struct view_options *o, const struct line *l, enum side side)
{
	if (l->in[side])
		fprintf(o->out, " %14.0f", l->cycles[side]);
	else
		fprintf(o->out, " %14s", "-");
}

static void print_lines(const struct view_options *o, const char *title, const struct lines *l,
			const struct model *m, double total)
{
	fprintf(o->out, "\n%s%s%s\n", term_on(o, TERM_BOLD), title, term_off(o));
	fprintf(o->out, "  %14s %14s %14s %8s\n", "before", "after", "change", "of run");
	for (size_t i = 0; i < l->count && i < (size_t)o->limit; i++) {
		const struct line *n = &l->list[i];
		char event[64], text[640];
		describe(n, text, sizeof(text) - sizeof(event));
		main_event(m, n, event, sizeof(event));
		strcat(text, event);
		fputc(' ', o->out);
		print_cycles(o, n, BEFORE);
		print_cycles(o, n, AFTER);
		fprintf(o->out, " %s%+14.0f %+7.2f%%%s  ",
			term_on(o, change(n) < 0 ? TERM_GREEN : TERM_RED), change(n),
			100 * change(n) / total, term_off(o));
		term_text(o, text, o->width - 58, false);
		fputc('\n', o->out);
	}
}

static json_t *json_lines(const struct lines *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->count; i++) {
		const struct line *n = &l->list[i];
		json_t *row =
		    json_pack("{s:s, s:s, s:f, s:f, s:f, s:s}", "symbol", symbol(n), "disasm",
			      disasm(n) ? disasm(n) : "", "before", n->cycles[BEFORE], "after",
			      n->cycles[AFTER], "change", change(n), "in", where(n));
		if (disasm(n))
			json_object_set_new(row, "source", json_string(n->source));
		if (disasm(n) && n->in[BEFORE] && n->in[AFTER]) {
			json_object_set_new(row, "symbol_after", json_string(n->symbol[AFTER]));
			json_object_set_new(row, "disasm_after", json_string(n->disasm[AFTER]));
		}
		json_array_append_new(list, row);
	}
	return list;
}

static void print_csv(const struct view_options *o, const struct lines *l)
{
	fprintf(o->out, "symbol,disasm,before,after,change,in,source\n");
	for (size_t i = 0; i < l->count; i++) {
		const struct line *n = &l->list[i];
		csv_text(o->out, symbol(n));
		fputc(',', o->out);
		csv_text(o->out, disasm(n));
		fprintf(o->out, ",%.3f,%.3f,%.3f,%s,", n->cycles[BEFORE], n->cycles[AFTER],
			change(n), where(n));
		csv_text(o->out, n->source);
		fputc('\n', o->out);
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
	double ca = (double)a.cycles, cb = (double)b.cycles;
	if (o->format == VIEW_JSON) {
		json_t *top = json_pack("{s:f, s:f, s:f, s:o, s:o}", "cycles_before", ca,
					"cycles_after", cb, "speedup", ca / cb, "functions",
					json_lines(&functions), "instructions", json_lines(&insts));
		json_dumpf(top, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
		fputc('\n', o->out);
		json_decref(top);
	} else if (o->format == VIEW_CSV) {
		print_csv(o, &insts);
	} else {
		char x[32], y[32];
		fprintf(o->out, "%s on %s: %s cycles\n%s on %s: %s cycles, %.2fx %s\n",
			model_basename(a.program), a.machine, term_count(a.cycles, x),
			model_basename(b.program), b.machine, term_count(b.cycles, y),
			ca >= cb ? ca / cb : cb / ca, ca >= cb ? "faster" : "slower");
		print_lines(o, "Functions, by change", &functions, &a, ca);
		print_lines(o, "Instructions, by change", &insts, &a, ca);
	}
	free(functions.list);
	free(insts.list);
	model_free(&a);
	model_free(&b);
	return true;
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

bool view_stats(struct store **stores, size_t count, const struct view_options *o, struct err *e)
{
	struct stat_line *all = NULL;
	size_t n = 0;
	for (size_t s = 0; s < count; s++) {
		struct model m;
		if (!model_read(stores[s], o->profiler, &m, e)) {
			free(all);
			return false;
		}
		all = x_realloc(all, (n + m.nfunctions + 1) * sizeof(*all));
		for (size_t i = 0; i <= m.nfunctions; i++) {
			double c = i ? m.functions[i - 1].cycles : (double)m.cycles;
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
	qsort(all, n, sizeof(*all), by_stat_key);
	size_t kept = 0;
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
	json_t *json = o->format == VIEW_JSON ? json_array() : NULL;
	if (o->format == VIEW_TEXT)
		fprintf(o->out, "%s%zu runs: cycles by function%s\n  %14s %10s %14s %14s  runs\n",
			term_on(o, TERM_BOLD), count, term_off(o), "mean", "spread", "least",
			"most");
	else if (o->format == VIEW_CSV)
		fprintf(o->out, "symbol,runs,mean,deviation,least,most\n");
	for (size_t i = 0; i < n && (o->format != VIEW_TEXT || i <= (size_t)o->limit); i++) {
		/* a function that a run does not have took no time in it */
		double mean = all[i].sum / (double)count,
		       var = all[i].squares / (double)count - mean * mean;
		double deviation = sqrt(fmax(var, 0)),
		       least = all[i].runs < count ? 0 : all[i].least;
		if (json) {
			json_array_append_new(json,
					      json_pack("{s:s, s:I, s:f, s:f, s:f, s:f}", "symbol",
							all[i].key, "runs", (json_int_t)all[i].runs,
							"mean", mean, "deviation", deviation,
							"least", least, "most", all[i].most));
		} else if (o->format == VIEW_CSV) {
			csv_text(o->out, all[i].key);
			fprintf(o->out, ",%zu,%.3f,%.3f,%.3f,%.3f\n", all[i].runs, mean, deviation,
				least, all[i].most);
		} else {
			fprintf(o->out, "  %14.0f %9.2f%% %14.0f %14.0f  %4zu  ", mean,
				100 * deviation / mean, least, all[i].most, all[i].runs);
			term_text(o, all[i].key, o->width - 68, false);
			fputc('\n', o->out);
		}
	}
	if (json) {
		json_dumpf(json, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
		fputc('\n', o->out);
		json_decref(json);
	}
	free(all);
	return true;
}
