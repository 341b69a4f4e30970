/* SPDX-License-Identifier: MIT */
/*
 * Two profiles side by side, at least one of them live. Two live ones are compared by procedure; a
 * live one and a run on the modelled core by source line, because they have no instruction in
 * common. Both may have lasted for different times, so that shares are compared, not counts.
 *
 * The significance of a change comes from the counts: with a of A samples before and b of B after,
 * z = (b/B - a/A) / sqrt(p (1 - p) (1/A + 1/B)), p = (a + b) / (A + B). Beyond 3 standard
 * deviations chance alone is a poor explanation (0.3%); such rows are marked. A modelled run counts
 * every cycle, so that only the live side is uncertain.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/live.h"
#include "view/model.h"

enum side { BEFORE, AFTER, SIDES };
#define MARKED 3.0

/* A procedure or a line of one profile. */
struct item {
	char *name;
	const char *image;
	double time;
	enum side side;
};

struct profile {
	bool live;
	double total;
	const char *unit;
	char title[256];
};

struct line {
	const char *name, *image;
	bool in[SIDES];
	double time[SIDES], change, z;
};

static int by_name(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->image, y->image);
}

static int by_change(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const double dx = fabs(x->change), dy = fabs(y->change);

	if (dx != dy)
		return dx < dy ? 1 : -1;
	const int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->image, y->image);
}

/* Variance of a share that was sampled; 0 for a run, which counts everything. */
static double variance(const struct profile *p, double share)
{
	return p->live && p->total > 0 ? share * (1 - share) / p->total : 0;
}

static void judge(struct line *l, const struct profile p[SIDES])
{
	double share[SIDES], all = 0, time = 0;

	for (int i = 0; i < SIDES; i++)
		share[i] = p[i].total > 0 ? l->time[i] / p[i].total : 0;
	l->change = share[AFTER] - share[BEFORE];
	for (int i = 0; i < SIDES; i++) {
		all += p[i].live ? p[i].total : 0;
		time += p[i].live ? l->time[i] : 0;
	}
	const bool both = p[BEFORE].live && p[AFTER].live;
	double pooled = all > 0 ? time / all : 0;

	if (!both)
		pooled = share[p[BEFORE].live ? AFTER : BEFORE];
	const double v = variance(&p[BEFORE], pooled) + variance(&p[AFTER], pooled);

	l->z = v > 0	       ? l->change / sqrt(v)
	       : l->change > 0 ? INFINITY
	       : l->change < 0 ? -INFINITY
			       : 0;
}

static struct line *make_lines(struct item *items, size_t n, const struct profile p[SIDES],
			       size_t *count)
{
	struct line *lines = NULL;

	*count = 0;
	if (n)
		qsort(items, n, sizeof(*items), by_name);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_name(&items[i - 1], &items[i]) != 0)
			*ARRAY_ADD(lines, *count) =
			    (struct line){ .name = items[i].name, .image = items[i].image };
		struct line *l = &lines[*count - 1];

		l->in[items[i].side] = true;
		l->time[items[i].side] += items[i].time;
	}
	for (size_t i = 0; i < *count; i++)
		judge(&lines[i], p);
	if (*count)
		qsort(lines, *count, sizeof(*lines), by_change);
	return lines;
}

struct items {
	struct item *list;
	size_t count;
};

/* "x.c:12": source files may lie in different folders. */
static char *line_name(const char *text)
{
	return x_strdup(strrchr(text, ':') ? path_name(text) : text);
}

static void put_live(struct items *all, const struct live_model *m, enum side side, bool by_line)
{
	for (size_t i = 0; i < m->nrows; i++) {
		const struct live_row *r = &m->rows[i];

		if (!r->samples[0])
			continue;
		*ARRAY_ADD(all->list, all->count) = (struct item){
			.name = by_line ? line_name(r->name) : x_strdup(r->name),
			.image = by_line || !r->image ? "" : path_name(r->image),
			.time = (double)r->samples[0],
			.side = side,
		};
	}
}

static void put_run(struct items *all, const struct model *m, enum side side)
{
	for (size_t i = 0; i < m->ninsts; i++) {
		const struct model_inst *in = &m->insts[i];
		const struct model_function *f = model_function_of(m, in->function);

		if (in->cycles <= 0)
			continue;
		*ARRAY_ADD(all->list, all->count) = (struct item){
			.name = in->file && in->line > 0
				    ? x_asprintf("%s:%d", path_name(in->file), in->line)
				    : x_strdup(f ? f->name : "[unknown]"),
			.image = "",
			.time = in->cycles,
			.side = side,
		};
	}
}

static void put_share(struct doc_table *t, const struct line *l, const struct profile *p,
		      enum side side)
{
	if (l->in[side])
		cell_real(t, p->total > 0 ? l->time[side] / p->total : 0);
	else
		cell_words(t, "-");
}

static void add_lines(struct doc *d, const struct view_options *o, const struct line *lines,
		      size_t n, const struct profile p[SIDES], bool by_line)
{
	const struct doc_column columns[] = {
		{ DOC_DATA("before"), .csv_format = "%.3f" },
		{ DOC_DATA("after"), .csv_format = "%.3f" },
		{ DOC_SHOWN("before", "%.2f%%", 8), .factor = 100, .before = "  " },
		{ DOC_SHOWN("after", "%.2f%%", 8), .factor = 100 },
		{ DOC_DATA("change"), .csv_format = "%.8f", DOC_SHOWN("points", "%+.2f", 8),
		  .factor = 100 },
		{ DOC_DATA("z"), .csv_format = "%.3f", DOC_SHOWN("sigma", "%+.1f", 8) },
		{ DOC_DATA("significant"), .width = -1 },
		{ DOC_DATA(by_line ? "line" : "procedure"), .before = "  ",
		  .head = by_line ? "line" : "procedure",
		  .width = -(by_line ? o->width - 42 : (o->width - 42) * 6 / 10), .name = true },
		{ DOC_DATA(by_line ? NULL : "image"), .head = "image", .ragged = true, .name = true,
		  .width = by_line ? 0 : -((o->width - 42) * 4 / 10), .colour = TERM_DIM },
	};

	doc_heading(d, "%s, by change of their share; * beyond %.0f sigma",
		    by_line ? "Source lines" : "Procedures", MARKED);
	struct doc_table *t = DOC_TABLE(d, columns, .key = by_line ? "lines" : "procedures",
					.heads = true, .limit = (size_t)o->limit, .more = true);

	for (size_t i = 0; i < n; i++) {
		const struct line *l = &lines[i];
		const enum term_colour colour = l->change < 0 ? TERM_GREEN : TERM_RED;

		doc_row(t);
		cell_real(t, l->time[BEFORE]);
		cell_real(t, l->time[AFTER]);
		put_share(t, l, &p[BEFORE], BEFORE);
		put_share(t, l, &p[AFTER], AFTER);
		cell_real(t, l->change);
		cell_colour(t, colour);
		if (isfinite(l->z))
			cell_real(t, l->z);
		else
			cell_words(t, l->z > 0 ? "+inf" : "-inf");
		cell_text(t, fabs(l->z) > MARKED ? "*" : "");
		cell_text(t, l->name);
		cell_text(t, l->image);
	}
}

/* Reads one side; `live` or `run` is filled. */
static bool read_side(struct store *s, const struct view_options *o, bool by_line,
		      struct profile *p, struct live_model *live, struct model *run, struct err *e)
{
	char number[32];

	p->live = live_is(s);
	if (p->live) {
		if (!live_read(s, o, by_line ? LIVE_BY_LINE : LIVE_BY_PROCEDURE, live, e))
			return false;
		p->total = (double)live_total(live);
		snprintf(p->title, sizeof(p->title), "%.100s: %s samples of %.80s",
			 *live->machine ? live->machine : "[unknown machine]",
			 number_commas((uint64_t)p->total, number),
			 live->nevents ? live->events[0].name : "[none]");
		return true;
	}
	if (!model_read(s, o->profiler, run, e))
		return false;
	p->total = (double)run->cycles;
	snprintf(p->title, sizeof(p->title), "%.100s on %.80s: %s cycles", path_name(run->program),
		 run->machine, number_commas(run->cycles, number));
	return true;
}

bool live_diff(struct store *before, struct store *after, const struct view_options *o,
	       struct err *e)
{
	struct store *stores[SIDES] = { before, after };
	const bool by_line =
	    !live_is(before) || !live_is(after) || (o->by && !strcmp(o->by, "line"));
	struct profile p[SIDES] = { { .live = false } };
	struct live_model live[SIDES] = { { .machine = NULL } };
	struct model run[SIDES];
	struct items all = { NULL, 0 };
	size_t n, read = 0;
	bool ok = true;

	for (; ok && read < SIDES; read += ok)
		ok = read_side(stores[read], o, by_line, &p[read], &live[read], &run[read], e);
	for (size_t i = 0; ok && i < SIDES; i++) {
		if (p[i].live)
			put_live(&all, &live[i], (enum side)i, by_line);
		else
			put_run(&all, &run[i], (enum side)i);
	}
	if (ok) {
		struct doc *d = doc_new();
		struct line *lines = make_lines(all.list, all.count, p, &n);

		doc_line(d, NULL, "%s", p[BEFORE].title);
		doc_line(d, NULL, "%s", p[AFTER].title);
		doc_real(d, "total_before", p[BEFORE].total);
		doc_real(d, "total_after", p[AFTER].total);
		add_lines(d, o, lines, n, p, by_line);
		ok = doc_print(d, o, e);
		free(lines);
		doc_free(d);
	}
	for (size_t i = 0; i < all.count; i++)
		free(all.list[i].name);
	free(all.list);
	while (read--) {
		if (p[read].live)
			live_free(&live[read]);
		else
			model_free(&run[read]);
	}
	return ok;
}
