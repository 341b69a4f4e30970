/* SPDX-License-Identifier: MIT */
/* Stacked bars in groups as an SVG picture (the form of eyerman2006 figure 11). */
#ifndef VIEW_SVG_H
#define VIEW_SVG_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
