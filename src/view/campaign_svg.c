/* SPDX-License-Identifier: MIT */
/*
 * Draws a pivot table as lines: the metric over the columns, one line a row, with error bars where values
 * are estimates. Columns that are numbers stand at their place, on a logarithmic axis where the largest is
 * eight times the smallest or more; other columns stand side by side.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/campaign.h"
#include "view/svg.h"

#define LEFT   72
#define TOP    44
#define WIDE   620
#define HIGH   340
#define BOTTOM 64
#define LEGEND 200

static const char *const colours[] = { "#3c7fb1", "#d1495b", "#3a7d44", "#e08e0b", "#6d597a",
				       "#008b8b", "#8d5524", "#5b5b5b", "#b5179e", "#7a9e00" };

struct picture {
	const struct campaign_pivot *p;
	struct svg_frame frame;
	double *x; /* of each column, on the axis */
	bool logarithmic, numbers;
};

static void place_columns(struct picture *q)
{
	double least = INFINITY, most = -INFINITY;

	q->numbers = q->p->column >= 0;
	for (size_t k = 0; k < q->p->ncolumns; k++) {
		q->numbers = condition_number(q->p->columns[k], &q->x[k]) && q->numbers;
		least = fmin(least, q->x[k]);
		most = fmax(most, q->x[k]);
	}
	q->logarithmic = q->numbers && least > 0 && most >= 8 * least;
	for (size_t k = 0; k < q->p->ncolumns; k++)
		q->x[k] = !q->numbers ? (double)k : q->logarithmic ? log2(q->x[k]) : q->x[k];
	q->frame.from = q->p->ncolumns ? q->x[0] : 0;
	q->frame.to = q->p->ncolumns ? q->x[q->p->ncolumns - 1] : 1;
	if (q->frame.to <= q->frame.from) {
		q->frame.from -= 0.5;
		q->frame.to += 0.5;
	}
}

static void place_rows(struct picture *q)
{
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 0; i < q->p->nrows * q->p->ncolumns; i++)
		if (q->p->cells[i].n) {
			least = fmin(least, q->p->cells[i].value - q->p->cells[i].half);
			most = fmax(most, q->p->cells[i].value + q->p->cells[i].half);
		}
	/* from zero, unless that would flatten the lines */
	q->frame.low = isfinite(least) && least > 0 && least > 0.7 * most ? least : fmin(0, least);
	q->frame.high = isfinite(most) ? most : 1;
	if (!isfinite(q->frame.low))
		q->frame.low = 0;
	if (q->frame.high <= q->frame.low)
		q->frame.high = q->frame.low + 1;

	const double step = svg_step(q->frame.high - q->frame.low);

	q->frame.low = floor(q->frame.low / step + 1e-9) * step;
	q->frame.high = ceil(q->frame.high / step - 1e-9) * step;
}

/* Text in the middle of x. */
static void put_text(FILE *f, double x, double y, const char *text)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, y);
	svg_text(f, text);
	fputs("</text>\n", f);
}

static void draw_columns(FILE *f, const struct picture *q)
{
	const double bottom = TOP + HIGH;
	double last = -INFINITY;

	for (size_t k = 0; k < q->p->ncolumns; k++) {
		const double x = svg_x(&q->frame, q->x[k]);
		const double room = SVG_LETTER * (double)strlen(q->p->columns[k]) + 6;

		fprintf(f,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#888\"/>\n",
			x, x, bottom, bottom + 4);
		if (x - last < room)
			continue;
		put_text(f, x, bottom + 18, q->p->columns[k]);
		last = x;
	}
	if (q->p->column >= 0)
		put_text(f, LEFT + WIDE / 2.0, bottom + 42, q->p->m->fields[q->p->column]);
}

static void draw_line(FILE *f, const struct picture *q, size_t row)
{
	const char *colour = colours[row % ARRAY_LEN(colours)];
	const struct campaign_mean *cells = q->p->cells + row * q->p->ncolumns;
	bool first = true;

	fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s d=\"", colour,
		row < ARRAY_LEN(colours) ? "" : " stroke-dasharray=\"5 3\"");
	for (size_t k = 0; k < q->p->ncolumns; k++)
		if (cells[k].n) {
			fprintf(f, "%s%.1f %.1f", first ? "M" : "L", svg_x(&q->frame, q->x[k]),
				svg_y(&q->frame, cells[k].value));
			first = false;
		}
	fputs(first ? "M0 0\"/>\n" : "\"/>\n", f);
	for (size_t k = 0; k < q->p->ncolumns; k++) {
		const double x = svg_x(&q->frame, q->x[k]);

		if (!cells[k].n)
			continue;
		if (cells[k].half > 0)
			fprintf(f,
				"<path class=\"error\" stroke=\"%s\" fill=\"none\" d=\"M%.1f "
				"%.1fh8M%.1f "
				"%.1fh8M%.1f %.1fV%.1f\"/>\n",
				colour, x - 4, svg_y(&q->frame, cells[k].value - cells[k].half),
				x - 4, svg_y(&q->frame, cells[k].value + cells[k].half), x,
				svg_y(&q->frame, cells[k].value - cells[k].half),
				svg_y(&q->frame, cells[k].value + cells[k].half));
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"><title>", x,
			svg_y(&q->frame, cells[k].value), colour);
		svg_text(f, q->p->rows[row]);
		fputs(", ", f);
		svg_text(f, q->p->columns[k]);
		fprintf(f, ": %.6g</title></circle>\n", cells[k].value);
	}
	fprintf(
	    f,
	    "<line x1=\"%d\" x2=\"%d\" y1=\"%zu\" y2=\"%zu\" stroke=\"%s\" stroke-width=\"2\"/>\n",
	    LEFT + WIDE + 14, LEFT + WIDE + 34, TOP + 6 + SVG_ROW * row, TOP + 6 + SVG_ROW * row,
	    colour);
	fprintf(f, "<text x=\"%d\" y=\"%zu\">", LEFT + WIDE + 40, TOP + 10 + SVG_ROW * row);
	svg_text(f, q->p->rows[row]);
	fputs("</text>\n", f);
}

static void draw(FILE *f, const void *what)
{
	const struct picture *q = what;
	const size_t rows = q->p->nrows;
	const double legend = TOP + 20 + SVG_ROW * (double)rows, high = TOP + HIGH + BOTTOM;
	char title[300];

	snprintf(title, sizeof(title), "%s%s%s", q->p->metric->name,
		 q->p->column < 0 ? "" : " over ",
		 q->p->column < 0 ? "" : q->p->m->fields[q->p->column]);
	svg_begin(f, LEFT + WIDE + LEGEND, fmax(legend, high), LEFT, title);
	svg_axis_y(f, &q->frame, svg_step(q->frame.high - q->frame.low), q->p->metric->unit);
	draw_columns(f, q);
	for (size_t i = 0; i < rows; i++)
		draw_line(f, q, i);
	fputs("</svg>\n", f);
}

bool campaign_draw(const struct campaign_pivot *p, const char *path, struct err *e)
{
	struct picture q = {
		.p = p,
		.frame = { .left = LEFT, .right = LEFT + WIDE, .top = TOP, .height = HIGH },
		.x = x_calloc(p->ncolumns + 1, sizeof(double))
	};
	bool ok;

	place_columns(&q);
	place_rows(&q);
	ok = svg_file(path, draw, &q, e);
	free(q.x);
	return ok;
}
