/* SPDX-License-Identifier: MIT */
/*
 * Draws stacked bars: their names slanted under the axis, the names of groups under those, the legend
 * at the right, top of the stack first. The axis is scaled to the highest and the lowest stack, with
 * round numbers at its ticks. A stack beyond a limit is cut, so that it does not flatten the others.
 */
#include "view/svg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/output.h"

#define BAR	  26
#define GAP	  6
#define GROUP_GAP 22
#define LEFT	  64
#define TOP	  40
#define PLOT	  300
#define NAMES	  98 /* room for the names of bars */
#define ROW	  18 /* of the legend */
#define LEGEND	  196
#define LETTER	  6.6 /* mean width of a letter at 12 pixels */
#define TITLE	  9.4 /* mean width of a letter of the title */

static void text(FILE *f, const char *s)
{
	static const char special[] = "<>&\"";
	static const char *const names[] = { "lt", "gt", "amp", "quot" };

	for (; *s; s++) {
		const char *at = strchr(special, *s);

		if (at)
			fprintf(f, "&%s;", names[at - special]);
		else
			fputc(*s, f);
	}
}

/* Sums of the positive and of the negative values of a bar. */
static void extent(const struct svg_chart *c, const struct svg_bar *b, double *high, double *low)
{
	*high = *low = 0;
	for (size_t k = 0; k < c->nparts; k++)
		*(b->values[k] >= 0 ? high : low) += b->values[k];
}

/* A round step that gives four to eight ticks. */
static double tick_step(double range)
{
	const double unit = pow(10, floor(log10(range / 8)));

	return unit * (range <= 8 * unit    ? 1
		       : range <= 16 * unit ? 2
		       : range <= 40 * unit ? 5
					    : 10);
}

struct plot {
	double high, low; /* of the axis */
	double width;
	int bar;
	int names; /* room for them */
};

static double y_of(const struct plot *p, double value)
{
	return TOP + PLOT * (p->high - value) / (p->high - p->low);
}

static void axis(FILE *f, const struct svg_chart *c, const struct plot *p, double step)
{
	for (double v = ceil(p->low / step) * step; v <= p->high + step / 1e6; v += step) {
		double y = y_of(p, v);

		fprintf(f,
			"<line x1=\"%d\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
			"stroke=\"%s\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			LEFT, p->width, y, y, fabs(v) < step / 1e6 ? "#333" : "#ddd", LEFT - 7,
			y + 4, fabs(v) < step / 1e6 ? 0 : v);
	}
	fprintf(f, "<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">",
		TOP + PLOT / 2);
	text(f, c->y_label);
	fputs("</text>\n", f);
}

static void patterns(FILE *f, const struct svg_chart *c)
{
	fputs("<defs>\n", f);
	for (size_t k = 0; k < c->nparts; k++)
		if (c->parts[k].stripe)
			fprintf(f,
				"<pattern id=\"part%zu\" width=\"8\" height=\"8\" "
				"patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
				"<rect width=\"8\" height=\"8\" fill=\"%s\"/>"
				"<rect width=\"4\" height=\"8\" fill=\"%s\"/></pattern>\n",
				k, c->parts[k].colour, c->parts[k].stripe);
	fputs("</defs>\n", f);
}

static void fill(FILE *f, const struct svg_chart *c, size_t part)
{
	if (c->parts[part].stripe)
		fprintf(f, "fill=\"url(#part%zu)\"", part);
	else
		fprintf(f, "fill=\"%s\"", c->parts[part].colour);
}

/* A bar goes on to `value` beyond the end of the axis at y. */
static void draw_cut(FILE *f, const struct plot *p, double x, double value, double y)
{
	const double step = p->bar / 4.0, at = value > 0 ? y + 16 : y - 16;

	fprintf(f,
		"<path d=\"M%.1f %.1f l%.1f -4 l%.1f 4 l%.1f -4 l%.1f 4\" fill=\"none\" "
		"stroke=\"#fff\" stroke-width=\"3\"/><text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" "
		"text-anchor=\"middle\" fill=\"#fff\">%.3g</text>\n",
		x, at + 2, step, step, step, step, x + p->bar / 2.0, value > 0 ? y + 10 : y - 3,
		value);
}

static void draw_bar(FILE *f, const struct svg_chart *c, const struct plot *p,
		     const struct svg_bar *b, double x)
{
	double up = 0, down = 0;

	for (size_t k = 0; k < c->nparts; k++) {
		double v = b->values[k], *at = v >= 0 ? &up : &down;
		double from = *at, to = *at + v;

		*at = to;
		from = fmax(fmin(from, p->high), p->low);
		to = fmax(fmin(to, p->high), p->low);
		if (fabs(to - from) * PLOT / (p->high - p->low) < 0.05)
			continue;
		fprintf(f, "<rect x=\"%.1f\" y=\"%.2f\" width=\"%d\" height=\"%.2f\" ", x,
			y_of(p, fmax(from, to)), p->bar, fabs(y_of(p, from) - y_of(p, to)));
		fill(f, c, k);
		fputs("><title>", f);
		text(f, b->name);
		fputs(b->name[0] ? ": " : "", f);
		text(f, c->parts[k].name);
		fprintf(f, " %.4g</title></rect>\n", v);
	}
	if (up > p->high * (1 + 1e-9))
		draw_cut(f, p, x, up, TOP);
	if (down < p->low * (1 + 1e-9))
		draw_cut(f, p, x, down, TOP + PLOT);
	fprintf(f, "<text transform=\"translate(%.1f %d) rotate(-50)\" text-anchor=\"end\">",
		x + p->bar * 0.75, TOP + PLOT + 14);
	text(f, b->name);
	fputs("</text>\n", f);
}

static void legend(FILE *f, const struct svg_chart *c, double x)
{
	for (size_t k = 0; k < c->nparts; k++) {
		double y = TOP + ROW * (double)(c->nparts - 1 - k);

		fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" ", x, y);
		fill(f, c, k);
		fprintf(f, "/><text x=\"%.1f\" y=\"%.1f\">", x + 18, y + 10);
		text(f, c->parts[k].name);
		fputs("</text>\n", f);
	}
}

static double group_width(const struct svg_group *g, int bar)
{
	double bars = (double)g->nbars * (bar + GAP) - GAP;
	double name = LETTER * (double)strlen(g->name);

	return fmax(bars, name);
}

/* Every picture begins with this; culprit overwrites only files that do. */
#define SVG_BEGIN "<svg xmlns=\"http://www.w3.org/2000/svg\" width="

static void draw(FILE *f, const struct svg_chart *c)
{
	struct plot p = { .width = LEFT, .bar = c->bar ? c->bar : BAR, .names = 10 };
	double step, x = LEFT + GROUP_GAP / 2.0;

	for (size_t g = 0; g < c->ngroups; g++) {
		p.width += group_width(&c->groups[g], p.bar) + GROUP_GAP;
		for (size_t b = 0; b < c->groups[g].nbars; b++) {
			double high, low;

			extent(c, &c->groups[g].bars[b], &high, &low);
			if (c->groups[g].bars[b].name[0])
				p.names = NAMES;
			p.high = fmax(p.high, high);
			p.low = fmin(p.low, low);
		}
	}
	if (c->most > 0)
		p.high = fmin(p.high, c->most);
	if (c->least < 0)
		p.low = fmax(p.low, c->least);
	if (p.high - p.low <= 0)
		p.high = 1;
	step = tick_step(p.high - p.low);
	p.high = ceil(p.high / step - 1e-9) * step;
	p.low = floor(p.low / step + 0.02) *
		step; /* a tick less where nothing could be seen below it */

	double height = fmax(TOP + PLOT + p.names + 20.0, TOP + ROW * (double)c->nparts + 10);
	double title = TITLE * (double)strlen(c->title);
	double width = fmax(p.width + LEGEND, LEFT + title + 10);

	fprintf(f,
		SVG_BEGIN "\"%.0f\" height=\"%.0f\" "
			  "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\" "
			  "fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
			  "<text x=\"%d\" y=\"22\" font-size=\"15\" font-weight=\"bold\">",
		width, height, width, height, LEFT);
	text(f, c->title);
	fputs("</text>\n", f);
	patterns(f, c);
	axis(f, c, &p, step);
	for (size_t g = 0; g < c->ngroups; g++) {
		const struct svg_group *group = &c->groups[g];
		double bars = (double)group->nbars * (p.bar + GAP) - GAP,
		       room = group_width(group, p.bar);

		for (size_t b = 0; b < group->nbars; b++)
			draw_bar(f, c, &p, &group->bars[b],
				 x + (room - bars) / 2 + (double)b * (p.bar + GAP));
		fprintf(f,
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
			"font-weight=\"bold\">",
			x + room / 2, TOP + PLOT + p.names + 10.0);
		text(f, group->name);
		fputs("</text>\n", f);
		x += room + GROUP_GAP;
	}
	legend(f, c, p.width + 14);
	fputs("</svg>\n", f);
}

static bool is_chart(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, SVG_BEGIN);
}

static const struct output_kind chart_kind = {
	.what = "a picture that culprit drew",
	.option = "--svg",
	.is = is_chart,
};

bool svg_write(const char *path, const struct svg_chart *c, struct err *e)
{
	struct output *o = output_open(path, &chart_kind, e);
	FILE *f = o ? output_stream(o, e) : NULL;
	bool ok = f;

	if (f) {
		draw(f, c);
		ok = !ferror(f) || err_set(e, "cannot write '%s': %s", path, strerror(errno));
		if (fclose(f) && ok)
			ok = err_set(e, "cannot write '%s': %s", path, strerror(errno));
	}
	if (ok)
		return output_commit(o, e);
	output_discard(o);
	return false;
}
