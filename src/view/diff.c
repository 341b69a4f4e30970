/* SPDX-License-Identifier: MIT */
/*
 * Two runs side by side, by function and by instruction, sorted by how much they changed; and
 * several runs as mean and spread. Functions are matched by name; instructions by function name and
 * offset, so that two builds or two machines can be compared.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/model.h"
#include "view/term.h"

struct line {
	char key[200];
	const char *disasm;
	double before, after;
	double event_before[MODEL_EVENTS], event_after[MODEL_EVENTS];
};

struct lines {
	struct line *list;
	size_t count, capacity;
};

static struct line *new_line(struct lines *l, const char *key)
{
	if (l->count == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 256;
		l->list = x_realloc(l->list, l->capacity * sizeof(*l->list));
	}
	struct line *n = &l->list[l->count++];
	memset(n, 0, sizeof(*n));
	snprintf(n->key, sizeof(n->key), "%s", key);
	return n;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->key, ((const struct line *)b)->key);
}

static int by_change(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	double dx = fabs(x->after - x->before), dy = fabs(y->after - y->before);
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return strcmp(x->key, y->key);
}

static void merge_equal(struct lines *l)
{
	if (!l->count)
		return;
	qsort(l->list, l->count, sizeof(*l->list), by_key);
	size_t kept = 0;
	for (size_t i = 1; i < l->count; i++) {
		if (by_key(&l->list[kept], &l->list[i])) {
			l->list[++kept] = l->list[i];
			continue;
		}
		l->list[kept].before += l->list[i].before;
		l->list[kept].after += l->list[i].after;
		for (int b = 0; b < MODEL_EVENTS; b++) {
			l->list[kept].event_before[b] += l->list[i].event_before[b];
			l->list[kept].event_after[b] += l->list[i].event_after[b];
		}
		if (l->list[i].disasm)
			l->list[kept].disasm = l->list[i].disasm;
	}
	l->count = kept + 1;
	qsort(l->list, l->count, sizeof(*l->list), by_change);
}

static void add_run(struct lines *functions, struct lines *insts, const struct model *m, bool after)
{
	for (size_t i = 0; i < m->nfunctions; i++)
		if (m->functions[i].cycles > 0) {
			struct line *n = new_line(functions, m->functions[i].name);
			*(after ? &n->after : &n->before) = m->functions[i].cycles;
		}
	for (size_t i = 0; i < m->ninsts; i++) {
		const struct model_inst *in = &m->insts[i];
		char symbol[160], source[96];
		if (in->cycles <= 0)
			continue;
		model_where(m, in, symbol, sizeof(symbol), source, sizeof(source));
		struct line *n = new_line(insts, symbol);
		n->disasm = in->disasm;
		*(after ? &n->after : &n->before) = in->cycles;
		for (size_t k = 0; k < in->nstack; k++)
			for (int b = 0; b < MODEL_EVENTS; b++)
				if (in->stack[k].events >> b & 1)
					(after ? n->event_after : n->event_before)[b] +=
					    in->stack[k].cycles;
	}
}

/* The event whose time changed most on this line, if it explains a good part of the change. */
static void main_event(const struct model *m, const struct line *l, char *buf, size_t size_bytes)
{
	int best = -1;
	double most = 0.2 * fabs(l->after - l->before);
	for (int b = 0; b < MODEL_EVENTS; b++) {
		double change = fabs(l->event_after[b] - l->event_before[b]);
		if (change > most) {
			most = change;
			best = b;
		}
	}
	buf[0] = '\0';
	if (best >= 0 && m->event_name[best])
		snprintf(buf, size_bytes, "%s %+.0f", m->event_name[best],
			 l->event_after[best] - l->event_before[best]);
}

static void print_lines(const struct view_options *o, const char *title, const struct lines *l,
			const struct model *m, double total)
{
	fprintf(o->out, "\n%s%s%s\n", term_on(o, TERM_BOLD), title, term_off(o));
	fprintf(o->out, "  %14s %14s %14s %8s\n", "before", "after", "change", "of run");
	for (size_t i = 0; i < l->count && i < (size_t)o->limit; i++) {
		const struct line *n = &l->list[i];
		char event[64], text[320];
		double change = n->after - n->before;
		main_event(m, n, event, sizeof(event));
		fprintf(o->out, "  %14.0f %14.0f %s%+14.0f %+7.2f%%%s  ", n->before, n->after,
			term_on(o, change < 0 ? TERM_GREEN : TERM_RED), change,
			100 * change / total, term_off(o));
		snprintf(text, sizeof(text), "%s%s%s%s%s%s", n->key, n->disasm ? "  " : "",
			 n->disasm ? n->disasm : "", event[0] ? "  (" : "", event,
			 event[0] ? ")" : "");
		term_text(o, text, o->width - 58, false);
		fputc('\n', o->out);
	}
}

static json_t *json_lines(const struct lines *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->count; i++)
		json_array_append_new(
		    list, json_pack("{s:s, s:s, s:f, s:f, s:f}", "symbol", l->list[i].key, "disasm",
				    l->list[i].disasm ? l->list[i].disasm : "", "before",
				    l->list[i].before, "after", l->list[i].after, "change",
				    l->list[i].after - l->list[i].before));
	return list;
}

bool view_diff(struct store *before, struct store *after, const struct view_options *o,
	       struct err *e)
{
	struct model a, b;
	struct lines functions = { 0 }, insts = { 0 };
	if (!model_read(before, o->profiler, &a, e))
		return false;
	if (!model_read(after, o->profiler, &b, e)) {
		model_free(&a);
		return false;
	}
	add_run(&functions, &insts, &a, false);
	add_run(&functions, &insts, &b, true);
	merge_equal(&functions);
	merge_equal(&insts);
	double ca = (double)a.cycles, cb = (double)b.cycles;
	if (o->format == VIEW_JSON) {
		json_t *top = json_pack("{s:f, s:f, s:f, s:o, s:o}", "cycles_before", ca,
					"cycles_after", cb, "speedup", ca / cb, "functions",
					json_lines(&functions), "instructions", json_lines(&insts));
		json_dumpf(top, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
		fputc('\n', o->out);
		json_decref(top);
	} else if (o->format == VIEW_CSV) {
		fprintf(o->out, "symbol,disasm,before,after,change\n");
		for (size_t i = 0; i < insts.count; i++) {
			csv_text(o->out, insts.list[i].key);
			fputc(',', o->out);
			csv_text(o->out, insts.list[i].disasm);
			fprintf(o->out, ",%.3f,%.3f,%.3f\n", insts.list[i].before,
				insts.list[i].after, insts.list[i].after - insts.list[i].before);
		}
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
