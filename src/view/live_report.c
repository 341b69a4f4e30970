/* SPDX-License-Identifier: MIT */
/*
 * Samples by procedure, as dcpiprof shows them (dcpi1997, figure 1), or by image, process, thread,
 * container or source line:
 *
 *      build1, 2026-11-16 14:00:00 to 14:00:10 UTC (10.0 s): 9,811 samples, lost 0 (0.00%), …
 *
 *        cycles       %    cum%  imiss       %  procedure         image
 *         2,064  33.87%  33.87%     43   3.89%  ffb8ZeroPolyArc   lib_dec_ffb_ev5.so
 */
#include <stdlib.h>
#include <string.h>

#include "view/live.h"

#define EVENTS_SHOWN 4 /* in text; JSON and CSV have all */

static const char *const by_head[] = {
	[LIVE_BY_PROCEDURE] = "procedure", [LIVE_BY_IMAGE] = "image", [LIVE_BY_PROCESS] = "process",
	[LIVE_BY_CONTAINER] = "container", [LIVE_BY_LINE] = "line",   [LIVE_BY_THREAD] = "thread",
};

static bool find_by(const struct view_options *o, enum live_by *by, struct err *e)
{
	*by = LIVE_BY_PROCEDURE;
	if (!o->by)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(by_head); i++)
		if (!strcmp(o->by, by_head[i])) {
			*by = (enum live_by)i;
			return true;
		}
	return err_set(e, "--by %s: a live profile has no such rows", o->by);
}

/* "Total samples for event type cycles = 6095201 (12.3 s), imiss = 1117002" */
static void add_totals(struct doc *d, const struct live_model *m)
{
	char *all = x_strdup("");

	for (size_t i = 0; i < m->nevents; i++) {
		const struct live_event_row *v = &m->events[i];
		char number[32], time[48] = "", as[80] = "";

		if (live_seconds(v) > 0)
			snprintf(time, sizeof(time), " (%.2f s)",
				 live_seconds(v) * (double)v->selected);
		if (strcmp(v->name, v->actual) != 0 && *v->actual)
			snprintf(as, sizeof(as), " by %s", v->actual);
		char *longer = x_asprintf("%s%s %s%s = %s%s", all, i ? "," : "", v->name, as,
					  number_commas(v->selected, number), time);

		free(all);
		all = longer;
	}
	doc_line(d, NULL, "Samples of event%s", m->nevents ? all : "s: none");
	free(all);
}

/* Columns: those of every event, then what the row is. */
struct layout {
	struct doc_column *columns;
	size_t count;
	char **heads; /* texts that the columns point to */
	size_t nheads;
};

static const char *keep(struct layout *l, char *text)
{
	*ARRAY_ADD(l->heads, l->nheads) = text;
	return text;
}

static void free_layout(struct layout *l)
{
	for (size_t i = 0; i < l->nheads; i++)
		free(l->heads[i]);
	free(l->heads);
	free(l->columns);
}

/* An event's name as a column of CSV: it may have commas, as in cpu/event=0x3c,umask=1/. */
static const char *csv_name(struct layout *l, const char *event, const char *suffix)
{
	char *name = x_asprintf("%s%s", event, suffix);

	for (char *c = name; *c; c++)
		*c = strchr(",\"", *c) ? '_' : *c;
	return keep(l, name);
}

static struct layout make_layout(const struct live_model *m, enum live_by by, int width)
{
	struct layout l = { .columns = NULL };
	const bool program = by == LIVE_BY_PROCESS || by == LIVE_BY_THREAD;
	const bool image = by == LIVE_BY_PROCEDURE || by == LIVE_BY_LINE || program;
	int used = 0;

	for (size_t i = 0; i < m->nevents; i++) {
		const char *name = m->events[i].name;
		const int columns = (int)strlen(name) > 10 ? (int)strlen(name) : 10;
		const bool shown = i < EVENTS_SHOWN, first = i == 0;

		*ARRAY_ADD(l.columns, l.count) =
		    (struct doc_column){ .csv = csv_name(&l, name, ""),
					 .before = "  ",
					 .head = name,
					 .width = shown ? columns : 0 };
		*ARRAY_ADD(l.columns, l.count) =
		    (struct doc_column){ .csv = csv_name(&l, name, "_share"),
					 .csv_format = "%.8f",
					 .head = "%",
					 .format = "%.2f%%",
					 .factor = 100,
					 .width = shown ? 7 : 0 };
		*ARRAY_ADD(l.columns, l.count) =
		    (struct doc_column){ .key = first ? "cumulative" : NULL,
					 .csv = first ? "cumulative" : NULL,
					 .csv_format = "%.8f",
					 .head = "cum%",
					 .format = "%.2f%%",
					 .factor = 100,
					 .width = first ? 7 : 0 };
		*ARRAY_ADD(l.columns, l.count) =
		    (struct doc_column){ .csv = first ? "seconds" : NULL,
					 .key = first ? "seconds" : NULL,
					 .head = "seconds",
					 .format = "%.2f",
					 .width =
					     first && live_seconds(&m->events[i]) > 0 ? 8 : 0 };
		used += shown ? 2 + columns + 8 + (first ? 8 : 0) +
				    (first && live_seconds(&m->events[i]) > 0 ? 9 : 0)
			      : 0;
	}
	*ARRAY_ADD(l.columns, l.count) = (struct doc_column){ .key = "samples" };
	*ARRAY_ADD(l.columns, l.count) = (struct doc_column){ .key = "shares" };
	const int rest = width - used - 2 > 20 ? width - used - 2 : 20;

	*ARRAY_ADD(l.columns, l.count) =
	    (struct doc_column){ DOC_DATA(by_head[by]), .head = by_head[by],
				 .before = "  ",	.width = image ? -(rest * 6 / 10) : -rest,
				 .ragged = !image,	.name = true };
	*ARRAY_ADD(l.columns, l.count) =
	    (struct doc_column){ DOC_DATA(image ? program ? "program" : "image" : NULL) };
	/* the file's name tells more than the beginning of its path */
	*ARRAY_ADD(l.columns, l.count) =
	    (struct doc_column){ .head = program ? "program" : "image",
				 .width = image ? -(rest - rest * 6 / 10 - 1) : 0,
				 .ragged = true,
				 .name = true,
				 .colour = TERM_DIM };
	return l;
}

static void put_row(struct doc_table *t, const struct live_model *m, const struct live_row *r,
		    double cumulative)
{
	doc_row(t);
	for (size_t i = 0; i < m->nevents; i++) {
		const struct live_event_row *v = &m->events[i];

		cell_integer(t, (int64_t)r->samples[i]);
		cell_real(t, v->selected ? (double)r->samples[i] / (double)v->selected : 0);
		CELL_REAL_IF(t, i == 0, cumulative);
		CELL_REAL_IF(t, i == 0 && live_seconds(v) > 0,
			     live_seconds(v) * (double)r->samples[i]);
	}
	cell_map(t);
	for (size_t i = 0; i < m->nevents; i++)
		cell_put(t, m->events[i].name, (double)r->samples[i]);
	cell_map(t);
	for (size_t i = 0; i < m->nevents; i++)
		cell_put(t, m->events[i].name,
			 m->events[i].selected
			     ? (double)r->samples[i] / (double)m->events[i].selected
			     : 0);
	cell_text(t, r->name);
	cell_text(t, r->image ? r->image : "");
	cell_text(t, r->image ? path_name(r->image) : "");
}

static void add_rows(struct doc *d, const struct live_model *m, const struct view_options *o,
		     const struct layout *l)
{
	uint64_t sum = 0;
	const uint64_t total = m->nevents ? m->events[0].selected : 0;

	doc_blank(d);
	struct doc_table *t =
	    doc_table(d, l->columns, l->count,
		      &(struct doc_table_options){
			  .key = "rows", .heads = true, .limit = (size_t)o->limit, .more = true });

	for (size_t i = 0; i < m->nrows; i++) {
		sum += m->rows[i].samples[0];
		put_row(t, m, &m->rows[i], total ? (double)sum / (double)total : 0);
	}
}

bool live_report(struct store *s, const struct view_options *o, struct err *e)
{
	struct live_model m;
	enum live_by by;

	if (!find_by(o, &by, e) || !live_read(s, o, by, &m, e))
		return false;
	struct doc *d = doc_new();

	live_title(d, &m);
	add_totals(d, &m);
	live_add_nameless(d, &m);
	struct layout l = make_layout(&m, by, o->width);

	if (m.nrows)
		add_rows(d, &m, o, &l);
	else
		doc_line(d, NULL, "There are no samples%s.", *m.filter ? " that match" : "");
	const bool ok = doc_print(d, o, e);

	doc_free(d);
	free_layout(&l);
	live_free(&m);
	return ok;
}
