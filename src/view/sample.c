/* SPDX-License-Identifier: MIT */
/*
 * culprit sample show:
 *
 *	interp on boom-tip, estimated: CPI 0.642 ±0.8%, from 9 points in 5 clusters
 *	…
 *	the run by clusters, a column is 12 intervals
 *	  cluster  AAAAAABBBBBBBBBBBBCCCCBBBBBBBB
 *	  points     ^        ^ ^     ^   ^
 *
 * then the points, the CPIs within each cluster, and what causes the error.
 */
#include "view/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/doc.h"

#define BRACKET_LEAST 1e-6 /* of the cycles: a warm-up without a bracket adds nothing */
#define SCALE	      40   /* columns of a cluster's CPIs */
#define HEAD_BYTES    (SCALE + 32)

static enum term_colour colour_of(size_t cluster)
{
	static const enum term_colour colours[] = { TERM_BLUE,	 TERM_ORANGE,  TERM_GREEN,
						    TERM_RED,	 TERM_MAGENTA, TERM_CYAN,
						    TERM_YELLOW, TERM_GREY };

	return colours[cluster % ARRAY_LEN(colours)];
}

static void add_head(struct doc *d, const struct sample_model *m)
{
	char total[NUMBER_COMMAS_BYTES], error[80] = ", error not known";
	uint64_t timed = 0;

	for (size_t i = 0; i < m->npoints; i++)
		timed += m->points[i].instructions;
	number_commas(m->total, total);
	if (m->cpi.has_error)
		snprintf(error, sizeof(error), " ±%.2f%% (95%%)",
			 100 * estimate_relative_error(&m->cpi));
	doc_line(d, path_name(m->program), " on %s, estimated: CPI %.3f%s", m->machine,
		 m->cpi.value, error);
	doc_line(d, NULL,
		 "%s instructions, of which %.3g%% were timed: %zu points, %zu cluster%s, %s",
		 total, m->total ? 100 * (double)timed / (double)m->total : 0, m->npoints,
		 m->nclusters, m->nclusters == 1 ? "" : "s", m->method);
	doc_line(d, NULL,
		 "intervals of %llu, each after a warm-up of %s and %llu timed but not measured",
		 (unsigned long long)m->interval,
		 strcmp(m->warm, "auto") ? m->warm : "its own length",
		 (unsigned long long)m->settle);
	doc_text(d, "program", m->program);
	doc_text(d, "machine", m->machine);
	doc_text(d, "method", m->method);
	doc_integer(d, "instructions", (int64_t)m->total);
	doc_integer(d, "interval", (int64_t)m->interval);
	doc_text(d, "warm", m->warm);
	doc_integer(d, "settle", (int64_t)m->settle);
	doc_boolean(d, "estimated", true);
	doc_real(d, "cpi", m->cpi.value);
	doc_real(d, "cpi_low", m->cpi.has_error ? m->cpi.low : NAN);
	doc_real(d, "cpi_high", m->cpi.has_error ? m->cpi.high : NAN);
	doc_real(d, "sampling_error", m->sampling);
}

/* The run from left to right: each column has the letter of the cluster that most of it belongs to. */
static void add_strip(struct doc *d, const struct sample_model *m, const struct view_options *o)
{
	const size_t room = o->width > 40 ? (size_t)o->width - 12 : 28;
	const size_t columns = m->intervals < room ? m->intervals : room;
	struct term_part *run = x_calloc(columns + 1, sizeof(*run));
	struct term_part *marks = x_calloc(columns + 1, sizeof(*marks));

	if (!columns) {
		free(run);
		free(marks);
		return;
	}
	for (size_t i = 0; i < columns; i++) {
		const double each = (double)m->intervals / (double)columns;
		double share;
		const size_t c =
		    sample_cluster_at(m, (double)i * each, (double)(i + 1) * each, &share);

		if (c < m->nclusters)
			run[i] = (struct term_part){ .colour = colour_of(c),
						     .letter = sample_letter(c) };
	}
	for (size_t i = 0; i < m->npoints; i++) {
		const double at = m->total ? (double)m->points[i].start / (double)m->total : 0;
		const size_t column = (size_t)fmin(at * (double)columns, (double)columns - 1);

		marks[column] = (struct term_part){ .colour = TERM_BOLD,
						    .letter = marks[column].letter ? '#' : '^' };
	}
	doc_heading(d, "The run by clusters, a column is %.3g interval%s; ^ a point, # several",
		    (double)m->intervals / (double)columns, m->intervals == columns ? "" : "s");
	doc_cells(d, "  cluster  ", run, columns);
	doc_cells(d, "  points   ", marks, columns);
	free(run);
	free(marks);
}

static void add_strip_data(struct doc *d, const struct sample_model *m)
{
	static const struct doc_column columns[] = { { .key = "first" },
						     { .key = "count" },
						     { .key = "cluster" } };
	struct doc_table *t = DOC_TABLE(d, columns, .key = "strip");

	for (size_t i = 0; i < m->nstrip; i++) {
		doc_row(t);
		cell_integer(t, (int64_t)m->strip[i].first);
		cell_integer(t, (int64_t)m->strip[i].count);
		cell_integer(t, (int64_t)m->strip[i].cluster);
	}
}

static void add_points(struct doc *d, const struct sample_model *m, const struct view_options *o)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("start"), DOC_SHOWN("start", "%.0f", 16), .before = "  " },
		{ DOC_DATA("instructions"), DOC_SHOWN("instructions", "%.0f", 13) },
		{ .head = "cluster", .width = 8 },
		{ DOC_DATA("cluster") },
		{ DOC_DATA("weight"), DOC_SHOWN("weight", "%.2f%%", 8), .factor = 100 },
		{ DOC_DATA("cycles") },
		{ DOC_DATA("cpi"), DOC_SHOWN("CPI", "%.3f", 8) },
		{ DOC_DATA("cpi_low") },
		{ DOC_DATA("cpi_high") },
		{ .head = "warm-up bracket", .width = -18, .before = "   " },
		{ DOC_DATA("chosen") },
		{ .head = "", .width = -8, .ragged = true },
	};
	struct doc_table *t;

	doc_heading(d, "Points");
	t = DOC_TABLE(d, columns, .key = "points", .heads = true,
		      .limit = (size_t)(o->limit ? o->limit : 50), .more = true);
	for (size_t i = 0; i < m->npoints; i++) {
		const struct sample_shown_point *p = &m->points[i];
		const double insts = (double)p->instructions;

		doc_row(t);
		cell_integer(t, (int64_t)p->start);
		cell_integer(t, (int64_t)p->instructions);
		cell_format(t, "%c", sample_letter(p->cluster));
		cell_colour(t, colour_of(p->cluster));
		cell_integer(t, (int64_t)p->cluster);
		cell_real(t, m->total ? (double)p->stands_for / (double)m->total : 0);
		cell_integer(t, (int64_t)p->cycles);
		cell_real(t, (double)p->cycles / insts);
		CELL_REAL_IF(t, p->has_bracket, p->low_cycles / insts);
		CELL_REAL_IF(t, p->has_bracket, p->high_cycles / insts);
		if (p->has_bracket)
			cell_format(t, "%.3f to %.3f", p->low_cycles / insts,
				    p->high_cycles / insts);
		else
			cell_text(t, "not known");
		cell_boolean(t, p->chosen);
		cell_text(t, p->chosen ? "chosen" : NULL);
	}
}

/* The CPIs of a cluster's points on one scale: o the chosen one, · the others. */
static void draw_scale(const struct sample_model *m, size_t cluster, double least, double most,
		       char *out, size_t size)
{
	int marks[SCALE] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < m->npoints; i++) {
		const struct sample_shown_point *p = &m->points[i];
		const double cpi = (double)p->cycles / (double)p->instructions;
		const double at = most > least ? (cpi - least) / (most - least) : 0;
		const int column = (int)fmin(at * SCALE, SCALE - 1);

		if (p->cluster == cluster && marks[column] != 2)
			marks[column] = p->chosen ? 2 : 1;
	}
	for (int i = 0; i < SCALE && n + 4 < size; i++) {
		const char *mark = marks[i] == 2 ? "o" : marks[i] ? "·" : " ";

		n += (size_t)snprintf(out + n, size - n, "%s", mark);
	}
}

/* head: a buffer for the head of the scale, which lives as long as the document. */
static void add_clusters(struct doc *d, const struct sample_model *m, char head[HEAD_BYTES])
{
	static const struct doc_column columns[] = {
		{ .head = "", .width = 3 },
		{ .key = "cluster" },
		{ .key = "weight", DOC_SHOWN("weight", "%.2f%%", 8), .factor = 100 },
		{ .key = "intervals", DOC_SHOWN("intervals", "%.0f", 10) },
		{ .key = "points", DOC_SHOWN("points", "%.0f", 7) },
		{ .key = "cpi", DOC_SHOWN("CPI", "%.3f", 7) },
		{ .key = "cpi_least" },
		{ .key = "cpi_most" },
		{ .head = NULL, .width = -SCALE, .before = "  |" },
		{ .key = "error_share",
		  DOC_SHOWN("of error", "%.1f%%", 9),
		  .factor = 100,
		  .before = "|" },
		{ .key = "more_points" },
	};
	struct doc_column own[ARRAY_LEN(columns)];
	double least = INFINITY, most = -INFINITY;
	char line[4 * SCALE];
	struct doc_table *t;

	for (size_t i = 0; i < m->nclusters; i++) {
		if (!m->clusters[i].points)
			continue;
		least = fmin(least, m->clusters[i].least);
		most = fmax(most, m->clusters[i].most);
	}
	snprintf(head, HEAD_BYTES, "%-*.3f%*.3f", SCALE / 2, least, SCALE / 2, most);
	memcpy(own, columns, sizeof(own));
	own[8].head = head;
	doc_heading(d, "CPI within each cluster: o the point closest to the centre, · the others");
	t = DOC_TABLE(d, own, .key = "clusters", .heads = true);
	for (size_t i = 0; i < m->nclusters; i++) {
		const struct sample_shown_cluster *c = &m->clusters[i];

		draw_scale(m, i, least, most, line, sizeof(line));
		doc_row(t);
		cell_format(t, "%c", sample_letter(i));
		cell_colour(t, colour_of(i));
		cell_integer(t, (int64_t)i);
		cell_real(t, m->total ? (double)c->instructions / (double)m->total : 0);
		cell_integer(t, (int64_t)c->intervals);
		cell_integer(t, (int64_t)c->points);
		cell_real(t, c->cpi);
		cell_real(t, c->least);
		cell_real(t, c->most);
		cell_text(t, line);
		cell_real(t, c->share);
		cell_integer(t, (int64_t)c->more);
	}
}

static void add_uncertainty(struct doc *d, const struct sample_model *m)
{
	size_t worst = m->nclusters;
	double bracket = 0;

	for (size_t i = 0; i < m->nclusters; i++)
		if (worst == m->nclusters || m->clusters[i].share > m->clusters[worst].share)
			worst = i;
	doc_heading(d, "Uncertainty");
	if (!m->cpi.has_error) {
		doc_line(d, NULL,
			 "  No cluster has two points, so nothing is known of the error: "
			 "'culprit sample --error 1%%' adds some.");
		doc_null(d, "points_to_halve");
		return;
	}
	bracket = estimate_relative_error(&m->cpi) - m->sampling;
	if (bracket > BRACKET_LEAST)
		doc_line(d, NULL, "  Sampling: ±%.2f%%. Warm-up: ±%.2f%%.", 100 * m->sampling,
			 100 * bracket);
	else
		doc_line(d, NULL, "  Sampling: ±%.2f%%. %s", 100 * m->sampling,
			 m->brackets == m->npoints
			     ? "The warm-up of every point has seen all that matters."
			     : "What the warm-up has missed is not known, and not in it.");
	if (worst < m->nclusters && m->clusters[worst].share > 0)
		doc_line(
		    d, NULL,
		    "  Most of it comes from cluster %c: %.1f%% of the variance, %.2f%% of the "
		    "run, "
		    "%zu points of %llu intervals.",
		    sample_letter(worst), 100 * m->clusters[worst].share,
		    m->total ? 100 * (double)m->clusters[worst].instructions / (double)m->total : 0,
		    m->clusters[worst].points, (unsigned long long)m->clusters[worst].intervals);
	if (m->more == UINT64_MAX) {
		doc_line(d, NULL,
			 "  No reasonable number of points would halve the sampling error.");
		doc_null(d, "points_to_halve");
	} else {
		doc_line(d, NULL,
			 "  %llu more points would halve the sampling error (--error %.2g%%).",
			 (unsigned long long)m->more, 50 * m->sampling);
		doc_integer(d, "points_to_halve", (int64_t)m->more);
	}
}

bool view_sample(struct store *s, const struct view_options *o, const char *svg, struct err *e)
{
	struct sample_model m;
	char head[HEAD_BYTES];
	struct doc *d;
	bool ok;

	if (!sample_read(s, &m, e))
		return false;
	d = doc_new();
	add_head(d, &m);
	add_strip(d, &m, o);
	add_strip_data(d, &m);
	add_points(d, &m, o);
	add_clusters(d, &m, head);
	add_uncertainty(d, &m);
	ok = (!svg || sample_draw(&m, svg, e)) && doc_print(d, o, e);
	doc_free(d);
	sample_model_free(&m);
	return ok;
}
