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
#define LEGEND	  196

void svg_text(FILE *f, const char *s)
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

double svg_step(double range)
{
	const double unit = pow(10, floor(log10(range / 8)));

	return unit * (range <= 8 * unit    ? 1
		       : range <= 16 * unit ? 2
		       : range <= 40 * unit ? 5
					    : 10);
}

struct plot {
	struct svg_frame frame;
	int bar;
	int names; /* room for them */
};

double svg_y(const struct svg_frame *p, double value)
{
	return p->top + p->height * (p->high - value) / (p->high - p->low);
}

double svg_x(const struct svg_frame *p, double value)
{
	return p->left + (p->right - p->left) * (value - p->from) / (p->to - p->from);
}

void svg_axis_y(FILE *f, const struct svg_frame *p, double step, const char *label)
{
	for (double v = ceil(p->low / step) * step; v <= p->high + step / 1e6; v += step) {
		double y = svg_y(p, v);

		fprintf(f,
			"<line x1=\"%g\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
			"stroke=\"%s\"/><text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			p->left, p->right, y, y, fabs(v) < step / 1e6 ? "#333" : "#ddd",
			p->left - 7, y + 4, fabs(v) < step / 1e6 ? 0 : v);
	}
	fprintf(f, "<text transform=\"translate(%g %g) rotate(-90)\" text-anchor=\"middle\">",
		p->left - 46, p->top + p->height / 2);
	svg_text(f, label);
	fputs("</text>\n", f);
}

void svg_axis_x(FILE *f, const struct svg_frame *p, double step, const char *label)
{
	const double bottom = p->top + p->height;

	for (double v = ceil(p->from / step) * step; v <= p->to + step / 1e6; v += step)
		fprintf(f,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
			"stroke=\"#333\"/><text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">%g</text>\n",
			svg_x(p, v), svg_x(p, v), bottom, bottom + 4, svg_x(p, v), bottom + 17,
			fabs(v) < step / 1e6 ? 0 : v);
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (p->left + p->right) / 2,
		bottom + 33);
	svg_text(f, label);
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
		from = fmax(fmin(from, p->frame.high), p->frame.low);
		to = fmax(fmin(to, p->frame.high), p->frame.low);
		if (fabs(to - from) * PLOT / (p->frame.high - p->frame.low) < 0.05)
			continue;
		fprintf(f, "<rect x=\"%.1f\" y=\"%.2f\" width=\"%d\" height=\"%.2f\" ", x,
			svg_y(&p->frame, fmax(from, to)), p->bar,
			fabs(svg_y(&p->frame, from) - svg_y(&p->frame, to)));
		fill(f, c, k);
		fputs("><title>", f);
		svg_text(f, b->name);
		fputs(b->name[0] ? ": " : "", f);
		svg_text(f, c->parts[k].name);
		fprintf(f, " %.4g</title></rect>\n", v);
	}
	if (up > p->frame.high * (1 + 1e-9))
		draw_cut(f, p, x, up, TOP);
	if (down < p->frame.low * (1 + 1e-9))
		draw_cut(f, p, x, down, TOP + PLOT);
	fprintf(f, "<text transform=\"translate(%.1f %d) rotate(-50)\" text-anchor=\"end\">",
		x + p->bar * 0.75, TOP + PLOT + 14);
	svg_text(f, b->name);
	fputs("</text>\n", f);
}

static void legend(FILE *f, const struct svg_chart *c, double x)
{
	for (size_t k = 0; k < c->nparts; k++) {
		double y = TOP + SVG_ROW * (double)(c->nparts - 1 - k);

		fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" ", x, y);
		fill(f, c, k);
		fprintf(f, "/><text x=\"%.1f\" y=\"%.1f\">", x + 18, y + 10);
		svg_text(f, c->parts[k].name);
		fputs("</text>\n", f);
	}
}

static double group_width(const struct svg_group *g, int bar)
{
	double bars = (double)g->nbars * (bar + GAP) - GAP;
	double name = SVG_LETTER * (double)strlen(g->name);

	return fmax(bars, name);
}

/* Every picture begins with this; culprit overwrites only files that do. */
#define SVG_BEGIN "<svg xmlns=\"http://www.w3.org/2000/svg\" width="

void svg_begin(FILE *f, double width, double height, double left, const char *title)
{
	fprintf(f,
		SVG_BEGIN "\"%.0f\" height=\"%.0f\" "
			  "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\" "
			  "fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
			  "<text x=\"%g\" y=\"22\" font-size=\"15\" font-weight=\"bold\">",
		width, height, width, height, left);
	svg_text(f, title);
	fputs("</text>\n", f);
}

static void draw(FILE *f, const void *chart)
{
	const struct svg_chart *c = chart;
	struct plot p = { .frame = { .left = LEFT, .right = LEFT, .top = TOP, .height = PLOT },
			  .bar = c->bar ? c->bar : BAR,
			  .names = 10 };
	double step, x = LEFT + GROUP_GAP / 2.0;

	for (size_t g = 0; g < c->ngroups; g++) {
		p.frame.right += group_width(&c->groups[g], p.bar) + GROUP_GAP;
		for (size_t b = 0; b < c->groups[g].nbars; b++) {
			double high, low;

			extent(c, &c->groups[g].bars[b], &high, &low);
			if (c->groups[g].bars[b].name[0])
				p.names = NAMES;
			p.frame.high = fmax(p.frame.high, high);
			p.frame.low = fmin(p.frame.low, low);
		}
	}
	if (c->most > 0)
		p.frame.high = fmin(p.frame.high, c->most);
	if (c->least < 0)
		p.frame.low = fmax(p.frame.low, c->least);
	if (p.frame.high - p.frame.low <= 0)
		p.frame.high = 1;
	step = svg_step(p.frame.high - p.frame.low);
	p.frame.high = ceil(p.frame.high / step - 1e-9) * step;
	p.frame.low = floor(p.frame.low / step + 0.02) * step;

	double height = fmax(TOP + PLOT + p.names + 20.0, TOP + SVG_ROW * (double)c->nparts + 10);
	double title = SVG_TITLE * (double)strlen(c->title);
	double width = fmax(p.frame.right + LEGEND, LEFT + title + 10);

	svg_begin(f, width, height, LEFT, c->title);
	patterns(f, c);
	svg_axis_y(f, &p.frame, step, c->y_label);
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
		svg_text(f, group->name);
		fputs("</text>\n", f);
		x += room + GROUP_GAP;
	}
	legend(f, c, p.frame.right + 14);
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

bool svg_file(const char *path, void (*draw_it)(FILE *f, const void *what), const void *what,
	      struct err *e)
{
	struct output *o = output_open(path, &chart_kind, e);
	FILE *f = o ? output_stream(o, e) : NULL;
	bool ok = f;

	if (f) {
		draw_it(f, what);
		ok = !ferror(f) || err_set(e, "cannot write '%s': %s", path, strerror(errno));
		if (fclose(f) && ok)
			ok = err_set(e, "cannot write '%s': %s", path, strerror(errno));
	}
	if (ok)
		return output_commit(o, e);
	output_discard(o);
	return false;
}

bool svg_write(const char *path, const struct svg_chart *c, struct err *e)
{
	return svg_file(path, draw, c, e);
}
