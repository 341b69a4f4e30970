/* SPDX-License-Identifier: MIT */
/*
 * The spectrograms in the paper's form (puzak2007 figures 3 and 14): one panel a size, the share of
 * its clusters by their cost as a curve, and what the theory predicts as pulses under it. A pulse
 * has the height that a peak of its area would have: the area of a peak in one bin is its height.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/number.h"
#include "view/model.h"
#include "view/spectrum.h"
#include "view/svg.h"

#define LEFT	64
#define TOP	44
#define WIDE	760
#define HIGH	150
#define NAMES	40 /* above a panel: its name, and two rows of peaks' names */
#define BETWEEN 84 /* panels: for the axis and the next one's names */

#define CURVE "#3c7fb1"
#define PULSE "#d1495b"

struct picture {
	const struct spectrum_model *m;
	const struct spectrum_options *so;
	double from, to;
};

static bool is_drawn(const struct picture *p, const struct spectrogram *g)
{
	const size_t pattern = p->so->pattern ? strlen(p->so->pattern) : 0;

	return g->clusters && (pattern	     ? g->size == pattern
			       : p->so->size ? g->size == p->so->size
					     : g->size <= SPECTRUM_SHOWN);
}

static double share(const struct spectrogram *g, uint64_t clusters)
{
	return 100 * (double)clusters / (double)g->clusters;
}

/* The height of a predicted peak: the observed one beside it, scaled by the areas (figure 14). */
static double pulse_height(const struct spectrogram *g, size_t i)
{
	for (size_t k = 0; k < g->npeaks; k++) {
		const struct spectrum_peak *p = &g->peaks[k];
		uint64_t most = 0;

		if (p->sum != g->predicted[i].cycles)
			continue;
		for (size_t b = 0; b < g->nbins; b++)
			if (g->bins[b].cycles >= p->low && g->bins[b].cycles <= p->high &&
			    g->bins[b].clusters > most)
				most = g->bins[b].clusters;
		return share(g, most) * g->predicted[i].share * (double)g->clusters /
		       (double)p->clusters;
	}
	return 100 * g->predicted[i].share;
}

static void draw_curve(FILE *f, const struct svg_frame *r, const struct spectrogram *g)
{
	double last = NAN;

	fprintf(f, "<path fill=\"none\" stroke=\"" CURVE "\" stroke-width=\"1.5\" d=\"");
	for (size_t i = 0; i < g->nbins; i++) {
		const double c = (double)g->bins[i].cycles, y = share(g, g->bins[i].clusters);

		if (c < r->from || c > r->to)
			continue;
		/* costs that no cluster has are on the axis */
		if (isnan(last))
			fprintf(f, "M%.1f %.1f", svg_x(r, fmax(c - 1, r->from)), svg_y(r, 0));
		else if (c > last + 1)
			fprintf(f, "L%.1f %.1f L%.1f %.1f", svg_x(r, last + 1), svg_y(r, 0),
				svg_x(r, c - 1), svg_y(r, 0));
		fprintf(f, "L%.1f %.1f", svg_x(r, c), svg_y(r, fmin(y, r->high)));
		last = c;
	}
	if (!isnan(last))
		fprintf(f, "L%.1f %.1f", svg_x(r, fmin(last + 1, r->to)), svg_y(r, 0));
	fputs("\"/>\n", f);
}

static void draw_panel(FILE *f, const struct picture *p, const struct spectrogram *g, double top)
{
	const bool theory = !p->so->kind && !p->so->pattern;
	struct svg_frame r = { .left = LEFT,
			       .right = LEFT + WIDE,
			       .top = top,
			       .height = HIGH,
			       .from = p->from,
			       .to = p->to };
	char name[80], count[32];

	for (size_t i = 0; i < g->nbins; i++)
		if ((double)g->bins[i].cycles >= p->from && (double)g->bins[i].cycles <= p->to)
			r.high = fmax(r.high, share(g, g->bins[i].clusters));
	r.high = r.high > 0 ? r.high : 1;
	const double step = svg_step(r.high);

	r.high = ceil(r.high / step - 1e-9) * step;
	svg_axis_y(f, &r, step, "% of clusters");
	svg_axis_x(f, &r, svg_step(p->to - p->from),
		   p->so->net ? "net cost of the cluster, cycles" : "cost of the cluster, cycles");
	for (size_t i = 0; theory && i < g->npredicted; i++) {
		const double c = (double)g->predicted[i].cycles;

		if (c >= p->from && c <= p->to && g->predicted[i].share >= 0.001)
			fprintf(
			    f,
			    "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"" PULSE
			    "\" stroke-width=\"3\" opacity=\"0.6\"><title>predicted at %g: "
			    "%.1f%%</title></line>\n",
			    svg_x(&r, c), svg_x(&r, c), svg_y(&r, 0),
			    svg_y(&r, fmin(pulse_height(g, i), r.high)), c,
			    100 * g->predicted[i].share);
	}
	draw_curve(f, &r, g);
	for (size_t i = 0; i < g->npeaks; i++) {
		const struct spectrum_peak *k = &g->peaks[i];

		if (share(g, k->clusters) < 2 || (double)k->sum < p->from || (double)k->sum > p->to)
			continue;
		fprintf(f,
			"<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"middle\" "
			"fill=\"#555\">",
			fmax(svg_x(&r, (double)k->sum), LEFT + 18),
			top - 2 - 11.0 * (double)(i % 2));
		svg_text(f, k->name);
		fprintf(f, " %.0f%%</text>\n", share(g, k->clusters));
	}
	snprintf(name, sizeof(name), "size %u%s%s: %s clusters", g->size, p->so->pattern ? " " : "",
		 p->so->pattern ? p->so->pattern : "", number_commas(g->clusters, count));
	fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" font-weight=\"bold\">",
		LEFT + WIDE, top - 27);
	svg_text(f, name);
	fputs("</text>\n", f);
}

static void draw(FILE *f, const void *what)
{
	const struct picture *p = what;
	char title[700];
	size_t panels = 0;
	bool predicted = false;
	double top = TOP + NAMES;

	for (size_t i = 0; i < SPECTRUM_LARGEST; i++)
		if (is_drawn(p, &p->m->grams[i])) {
			panels++;
			predicted |= p->m->grams[i].npredicted > 0;
		}
	snprintf(title, sizeof(title), "Misses of %s on %s%s", path_name(p->m->program),
		 p->m->machine, p->so->right ? ", right path alone" : "");
	svg_begin(f, LEFT + WIDE + 30, TOP + NAMES + (double)panels * (HIGH + BETWEEN), LEFT,
		  title);
	fprintf(f, "<text x=\"%d\" y=\"40\" fill=\"" CURVE "\">observed</text>\n", LEFT);
	if (predicted)
		fprintf(f, "<text x=\"%d\" y=\"40\" fill=\"" PULSE "\">predicted</text>\n",
			LEFT + 70);
	for (size_t i = 0; i < SPECTRUM_LARGEST; i++)
		if (is_drawn(p, &p->m->grams[i])) {
			draw_panel(f, p, &p->m->grams[i], top);
			top += HIGH + BETWEEN;
		}
	fputs("</svg>\n", f);
}

bool spectrum_draw(const struct spectrum_model *m, const struct spectrum_options *so, struct err *e)
{
	struct picture p = { .m = m, .so = so, .from = 0, .to = 20 };

	/* One scale for all, to the last peak that counts. */
	for (size_t i = 0; i < SPECTRUM_LARGEST; i++)
		for (size_t k = 0; is_drawn(&p, &m->grams[i]) && k < m->grams[i].npeaks; k++)
			if (share(&m->grams[i], m->grams[i].peaks[k].clusters) >= 1)
				p.to = fmax(p.to, (double)m->grams[i].peaks[k].sum * 1.1);
	if (so->zoom) {
		p.from = (double)so->from;
		p.to = (double)so->to;
	}
	return svg_file(so->svg, draw, &p, e);
}
