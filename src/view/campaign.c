/* SPDX-License-Identifier: MIT */
/*
 * Shows the results of a campaign: how far it is, a pivot table of one metric over two fields, and what
 * failed. Runs that share a cell are averaged by their geometric mean.
 */
#include "view/campaign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pivot ---- */

/* The field that a table has by default: the wanted one if it varies, else the first other one that
 * does. */
static int default_field(const struct campaign_model *m, int wanted, int other)
{
	if (wanted != other && campaign_varies(m, wanted))
		return wanted;
	/* settings first: they are what is varied */
	for (size_t i = CAMPAIGN_FIXED_FIELDS; i < m->nfields; i++)
		if ((int)i != other && campaign_varies(m, (int)i))
			return (int)i;
	for (int i = CAMPAIGN_MACHINE; i >= 0; i--)
		if (i != other && campaign_varies(m, i))
			return i;
	return other == CAMPAIGN_PROGRAM ? -1 : CAMPAIGN_PROGRAM;
}

static bool choose_field(const struct campaign_model *m, const char *name, int wanted, int other,
			 int *out, struct err *e)
{
	if (!name)
		*out = default_field(m, wanted, other);
	else if (!strcmp(name, "none"))
		*out = -1;
	else
		*out = campaign_find_field(m, name, e);
	return !name || !strcmp(name, "none") || *out >= 0;
}

struct cell {
	const struct campaign_pivot *p;
	size_t row, column;
};

static bool is_in(const struct campaign_row *r, int field, const char *const *values, size_t at)
{
	return field < 0 || (r->fields[field] && !strcmp(r->fields[field], values[at]));
}

static bool in_cell(const struct campaign_row *r, const void *ctx)
{
	const struct cell *c = ctx;

	return is_in(r, c->p->row, c->p->rows, c->row) &&
	       is_in(r, c->p->column, c->p->columns, c->column);
}

static const char **values_of(const struct campaign_model *m, int field, size_t *n)
{
	const char **one;

	if (field >= 0)
		return campaign_field_values(m, field, n);
	one = x_calloc(1, sizeof(*one));
	*one = "all";
	*n = 1;
	return one;
}

bool campaign_make_pivot(const struct campaign_model *m, const struct campaign_view *v,
			 struct campaign_pivot *p, struct err *e)
{
	int row = -1, column = -1;

	*p = (struct campaign_pivot){ .m = m };
	p->metric = campaign_find_metric(v->metric ? v->metric : "cpi", e);
	/* what is named comes first, so that the other one can give way */
	if (!p->metric || (v->columns && !choose_field(m, v->columns, -1, -1, &column, e)) ||
	    !choose_field(m, v->rows, CAMPAIGN_PROGRAM, column, &row, e) ||
	    (!v->columns && !choose_field(m, NULL,
					  CAMPAIGN_FIXED_FIELDS < m->nfields ? CAMPAIGN_FIXED_FIELDS
									     : CAMPAIGN_MACHINE,
					  row, &column, e)))
		return false;
	p->row = row;
	p->column = column == row ? -1 : column;
	p->rows = values_of(m, p->row, &p->nrows);
	p->columns = values_of(m, p->column, &p->ncolumns);
	p->cells = x_calloc(p->nrows * p->ncolumns + 1, sizeof(*p->cells));
	for (size_t i = 0; i < p->nrows; i++)
		for (size_t k = 0; k < p->ncolumns; k++)
			p->cells[i * p->ncolumns + k] =
			    campaign_average(m, p->metric, in_cell, &(struct cell){ p, i, k });
	return true;
}

void campaign_free_pivot(struct campaign_pivot *p)
{
	free(p->rows);
	free(p->columns);
	free(p->cells);
}

/* The narrowest width that shows every value of a column whole. */
static int width_for(const char *const *texts, size_t n, const char *head)
{
	size_t most = strlen(head);

	for (size_t i = 0; i < n; i++)
		most = strlen(texts[i]) > most ? strlen(texts[i]) : most;
	return (int)(most > 60 ? 60 : most);
}

static void put_cell(struct doc_table *t, const struct campaign_pivot *p,
		     const struct campaign_mean *c)
{
	char text[64];
	int n;

	if (!c->n) {
		cell_words(t, "-");
		return;
	}
	if (c->half <= 0) {
		cell_real(t, c->value);
		return;
	}
	n = snprintf(text, sizeof(text), p->metric->format, c->value);
	snprintf(text + n, sizeof(text) - (size_t)n, "±%.1f%%", 100 * c->half / c->value);
	cell_text(t, text);
}

/* Text: the table as it is read. Its columns are not known before, so JSON and CSV have their own. */
static void add_pivot_text(struct doc *d, const struct campaign_pivot *p)
{
	struct doc_column *columns = x_calloc(p->ncolumns + 1, sizeof(*columns));
	const char *row = p->row < 0 ? "" : p->m->fields[p->row];
	struct doc_table *t;
	bool errors = false;

	for (size_t i = 0; i < p->nrows * p->ncolumns; i++)
		errors |= p->cells[i].half > 0;
	columns[0] = (struct doc_column){ DOC_SHOWN(row, NULL, -width_for(p->rows, p->nrows, row)),
					  .before = "" };
	for (size_t k = 0; k < p->ncolumns; k++)
		columns[k + 1] =
		    (struct doc_column){ DOC_SHOWN(p->columns[k], p->metric->format,
						   width_for(&p->columns[k], 1,
							     errors ? "0.0000±00.0%" : "00.0000")),
					 .before = "  " };
	doc_heading(d, "%s%s%s%s%s", p->metric->name, p->row < 0 ? "" : " by ", row,
		    p->column < 0 ? "" : " and ", p->column < 0 ? "" : p->m->fields[p->column]);
	t = doc_table(d, columns, p->ncolumns + 1, &(struct doc_table_options){ .heads = true });
	for (size_t i = 0; i < p->nrows; i++) {
		doc_row(t);
		cell_text(t, p->rows[i]);
		for (size_t k = 0; k < p->ncolumns; k++)
			put_cell(t, p, &p->cells[i * p->ncolumns + k]);
	}
	free(columns);
}

/* JSON and CSV: a row per cell. */
static void add_pivot_data(struct doc *d, const struct campaign_pivot *p)
{
	const char *row = p->row < 0 ? "row" : p->m->fields[p->row];
	const char *column = p->column < 0 ? "column" : p->m->fields[p->column];
	const struct doc_column columns[] = {
		{ DOC_DATA(row) },
		{ DOC_DATA(column) },
		{ DOC_DATA(p->metric->name) },
		{ .key = "half", .csv = "half" },
		{ DOC_DATA("runs") },
	};
	struct doc_table *t = DOC_TABLE(d, columns, .key = "cells");

	for (size_t i = 0; i < p->nrows; i++)
		for (size_t k = 0; k < p->ncolumns; k++) {
			const struct campaign_mean *c = &p->cells[i * p->ncolumns + k];

			doc_row(t);
			cell_text(t, p->rows[i]);
			cell_text(t, p->columns[k]);
			CELL_REAL_IF(t, c->n, c->value);
			CELL_REAL_IF(t, c->n, c->half);
			cell_integer(t, (int64_t)c->n);
		}
}

/* ---- runs ---- */

static double of_megabytes(const struct campaign_row *r)
{
	return r->memory_bytes / (1 << 20);
}

/* Every run, or only those that failed. */
static void add_runs(struct doc *d, const struct campaign_model *m, bool only_failed, size_t limit)
{
	struct doc_column *columns = x_calloc(m->nfields + 11, sizeof(*columns));
	static const char *const data[] = { "status",	    "cpi",    "cpi_low", "cpi_high",
					    "instructions", "cycles", "seconds", "memory_mb",
					    "host",	    "store",  "message" };
	size_t n = 0;
	struct doc_table *t;

	for (size_t i = 0; i < m->nfields; i++) {
		size_t count;
		const char **values = campaign_field_values(m, (int)i, &count);
		const bool varies = campaign_varies(m, (int)i) || i == CAMPAIGN_PROGRAM;

		columns[n++] = (struct doc_column){
			DOC_DATA(m->fields[i]),
			DOC_SHOWN(m->fields[i], NULL,
				  varies ? -width_for(values, count, m->fields[i]) : 0),
			.before = i ? "  " : ""
		};
		free(values);
	}
	for (size_t i = 0; i < ARRAY_LEN(data); i++)
		columns[n++] = (struct doc_column){ DOC_DATA(data[i]), .before = "  " };

	struct doc_column *c = columns + m->nfields;

	c[0].head = "status", c[0].width = -7;
	if (!only_failed) {
		c[1].head = "cpi", c[1].width = 8, c[1].format = "%.4f";
		c[6].head = "seconds", c[6].width = 9, c[6].format = "%.2f";
	}
	c[10].head = "what happened", c[10].width = -400, c[10].ragged = true;
	t = doc_table(d, columns, n,
		      &(struct doc_table_options){ .key = only_failed ? "failed" : "runs",
						   .heads = true,
						   .limit = limit,
						   .more = true });
	for (size_t i = 0; i < m->nrows; i++) {
		const struct campaign_row *r = &m->rows[i];
		const double values[] = { r->cpi,    r->cpi_low, r->cpi_high,	 r->instructions,
					  r->cycles, r->seconds, of_megabytes(r) };

		if (only_failed && (r->done || !strcmp(r->status, "waiting")))
			continue;
		doc_row(t);
		for (size_t k = 0; k < m->nfields; k++)
			cell_text(t, r->fields[k]);
		cell_text(t, r->status);
		for (size_t k = 0; k < ARRAY_LEN(values); k++)
			CELL_REAL_IF(t, !isnan(values[k]), values[k]);
		cell_text(t, r->host);
		cell_text(t, r->store);
		if (r->message && r->log)
			cell_format(t, "%s; log: %s", r->message, r->log);
		else
			cell_text(t, r->message);
	}
	free(columns);
}

/* ---- all of it ---- */

static void add_title(struct doc *d, const struct campaign_model *m)
{
	doc_line(d, "campaign", ": %zu runs: %zu done, %zu failed, %zu to come", m->nrows, m->done,
		 m->failed, m->waiting);
	doc_integer(d, "total", (int64_t)m->nrows);
	doc_integer(d, "done", (int64_t)m->done);
	doc_integer(d, "failed_runs", (int64_t)m->failed);
	doc_integer(d, "waiting", (int64_t)m->waiting);
}

static bool add_parts(struct doc *d, const struct campaign_model *m, const struct campaign_view *v,
		      const struct campaign_pivot *p, const struct view_options *o, struct err *e)
{
	const size_t limit = o->limit ? (size_t)o->limit : 0;
	bool ok = true;

	/* CSV is one table: the one that was asked for */
	if (v->runs) {
		add_runs(d, m, false, limit);
	} else if (v->base) {
		ok = campaign_add_base(d, m, v, p->metric, e);
	} else if (v->best) {
		ok = campaign_add_best(d, m, v, p->metric, limit ? limit : 10, e);
	} else if (v->effects) {
		campaign_add_effects(d, m, p->metric);
	} else {
		if (o->format == VIEW_TEXT)
			add_pivot_text(d, p);
		else
			add_pivot_data(d, p);
		if (m->failed && o->format != VIEW_CSV) {
			doc_heading(d, "failed");
			add_runs(d, m, true, limit ? limit : 10);
		}
	}
	return ok;
}

bool view_campaign(struct store *s, const struct conditions *where, const struct campaign_view *v,
		   const struct view_options *o, struct err *e)
{
	struct campaign_model m;
	struct campaign_pivot p = { .m = NULL };
	struct doc *d;
	bool ok;

	if (v->bound && !v->best)
		return err_set(e, "--bound says which settings --best may choose from; give both");
	if (!campaign_read_model(s, where, &m, e))
		return false;
	d = doc_new();
	add_title(d, &m);
	ok = (m.nrows || err_set(e, "%s holds no run of that kind", store_path(s))) &&
	     campaign_make_pivot(&m, v, &p, e) && add_parts(d, &m, v, &p, o, e) &&
	     (!v->svg || campaign_draw(&p, v->svg, e)) && doc_print(d, o, e);
	doc_free(d);
	campaign_free_pivot(&p);
	campaign_free_model(&m);
	return ok;
}
