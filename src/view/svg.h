/* SPDX-License-Identifier: MIT */
/* Pictures as SVG: stacked bars in groups (the form of eyerman2006 figure 11), and what other
 * pictures share with them. */
#ifndef VIEW_SVG_H
#define VIEW_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/util.h"

/* What a colour stands for, bottom of the stack first. */
struct svg_part {
	const char *name;
	const char *colour; /* "#rrggbb" */
	const char *stripe; /* stripes of this colour over it; NULL: plain */
};

/* One bar; values of the parts, negative ones go below the axis. */
struct svg_bar {
	const char *name;
	const double *values;
};

struct svg_group {
	const char *name;
	const struct svg_bar *bars;
	size_t nbars;
};

struct svg_chart {
	const char *title, *y_label;
	const struct svg_part *parts;
	size_t nparts;
	const struct svg_group *groups;
	size_t ngroups;
	int bar;	    /* width of one in pixels; 0: 26 */
	double most, least; /* limits of the axis: a stack beyond them is cut, with its height as a
			       number; 0: no limit */
};

bool svg_write(const char *path, const struct svg_chart *chart, struct err *e);

/* ---- for other pictures ---- */

#define SVG_ROW	   18  /* of a legend */
#define SVG_LETTER 6.6 /* mean width of a letter at 12 pixels */
#define SVG_TITLE  9.4 /* … of one of the title */

/* A rectangle of the picture, in pixels, and the values that its edges stand for. */
struct svg_frame {
	double left, right, top, height;
	double high, low; /* top and bottom */
	double from, to;  /* left and right */
};

double svg_x(const struct svg_frame *p, double value);
double svg_y(const struct svg_frame *p, double value);
/* A round step that gives four to eight ticks. */
double svg_step(double range);
/* Ticks with their numbers, and a name; svg_axis_y draws a line across at each. */
void svg_axis_y(FILE *f, const struct svg_frame *p, double step, const char *label);
void svg_axis_x(FILE *f, const struct svg_frame *p, double step, const char *label);
/* Text that may hold anything. */
void svg_text(FILE *f, const char *s);
/* The head of a picture and its title; what follows must end with </svg>. */
void svg_begin(FILE *f, double width, double height, double left, const char *title);
/* Writes what draw_it draws, whole or not at all. */
bool svg_file(const char *path, void (*draw_it)(FILE *f, const void *what), const void *what,
	      struct err *e);

#endif
