/* SPDX-License-Identifier: MIT */
/*
 * The picture of a sampled run: the run from left to right in the colours of its clusters, the points
 * on it, and under it the CPI of the points of each cluster with the chosen one (tracedoctor2023's
 * figure C.6).
 */
#include <inttypes.h>
#include <math.h>

#include "view/sample.h"
#include "view/svg.h"

#define LEFT	64
#define WIDE	860
#define STRIP	40 /* height of the run */
#define TOP	60
#define HIGH	260
#define BETWEEN 70
#define COLUMNS 860 /* of the run, a pixel each */

static const char *colour_of(size_t cluster)
{
	static const char *const colours[] = { "#3c7fb1", "#e08e45", "#5aa469", "#d1495b",
					       "#8e6bbf", "#3ba7a0", "#c9b037", "#7f7f7f",
					       "#b5657a", "#4f6d7a", "#a3c14a", "#6b4f3a" };

	return colours[cluster % ARRAY_LEN(colours)];
}

static void draw_strip(FILE *f, const struct sample_model *m)
{
	size_t from = 0, last = m->nclusters;

	/* neighbours of one colour are one rectangle */
	for (size_t i = 0; i <= COLUMNS; i++) {
		const double each = (double)m->intervals / COLUMNS;
		double share;
		const size_t c = i < COLUMNS ? sample_cluster_at(m, (double)i * each,
								 (double)(i + 1) * each, &share)
					     : m->nclusters + 1;

		if (c == last)
			continue;
		if (last < m->nclusters)
			fprintf(f,
				"<rect x=\"%zu\" y=\"%d\" width=\"%zu\" height=\"%d\" fill=\"%s\">"
				"<title>cluster %c</title></rect>\n",
				LEFT + from, TOP, i - from, STRIP, colour_of(last),
				sample_letter(last));
		from = i;
		last = c;
	}
	for (size_t i = 0; i < m->npoints; i++) {
		const double at = m->total ? (double)m->points[i].start / (double)m->total : 0;
		const double x = LEFT + at * WIDE;

		fprintf(f,
			"<path d=\"M%.1f %d l-4 8 h8 z\" fill=\"#222\"><title>instruction %" PRIu64
			": CPI %.3f</title></path>\n",
			x, TOP + STRIP + 1, m->points[i].start,
			(double)m->points[i].cycles / (double)m->points[i].instructions);
	}
}

static void draw_clusters(FILE *f, const struct sample_model *m)
{
	struct svg_frame r = { .left = LEFT,
			       .right = LEFT + WIDE,
			       .top = TOP + STRIP + BETWEEN,
			       .height = HIGH,
			       .from = 0,
			       .to = (double)m->nclusters };
	double step;

	for (size_t i = 0; i < m->nclusters; i++)
		r.high = fmax(r.high, m->clusters[i].most);
	r.high = r.high > 0 ? r.high : 1;
	step = svg_step(r.high);
	r.high = ceil(r.high / step - 1e-9) * step;
	svg_axis_y(f, &r, step, "CPI");
	for (size_t i = 0; i < m->nclusters; i++) {
		const struct sample_shown_cluster *c = &m->clusters[i];
		const double x = svg_x(&r, (double)i + 0.5);

		fprintf(f,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
			"stroke-width=\"3\" opacity=\"0.5\"/>\n",
			x, x, svg_y(&r, c->least), svg_y(&r, c->most), colour_of(i));
		fprintf(f,
			"<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" "
			"text-anchor=\"middle\">%c</text>\n"
			"<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\" text-anchor=\"middle\" "
			"fill=\"#555\">%.1f%%</text>\n",
			x, r.top + r.height + 14, sample_letter(i), x, r.top + r.height + 26,
			m->total ? 100 * (double)c->instructions / (double)m->total : 0);
	}
	for (size_t i = 0; i < m->npoints; i++) {
		const struct sample_shown_point *p = &m->points[i];
		const double cpi = (double)p->cycles / (double)p->instructions;

		fprintf(f,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" stroke=\"%s\">"
			"<title>instruction %" PRIu64 ": CPI %.3f</title></circle>\n",
			svg_x(&r, p->cluster + 0.5), svg_y(&r, cpi), p->chosen ? 5 : 3,
			p->chosen ? "#fff" : colour_of(p->cluster), colour_of(p->cluster), p->start,
			cpi);
	}
	fprintf(f,
		"<text x=\"%d\" y=\"%.1f\">cluster and its share of the run; the hollow point is "
		"closest "
		"to the centre</text>\n",
		LEFT, r.top + r.height + 44);
}

static void draw(FILE *f, const void *what)
{
	const struct sample_model *m = what;
	char title[400];

	snprintf(title, sizeof(title), "%s on %s: %zu points in %zu clusters, CPI %.3f (estimated)",
		 path_name(m->program), m->machine, m->npoints, m->nclusters, m->cpi.value);
	svg_begin(f, LEFT + WIDE + 30, TOP + STRIP + BETWEEN + HIGH + 60, LEFT, title);
	draw_strip(f, m);
	draw_clusters(f, m);
	fputs("</svg>\n", f);
}

bool sample_draw(const struct sample_model *m, const char *path, struct err *e)
{
	return svg_file(path, draw, m, e);
}
