/* SPDX-License-Identifier: MIT */
/* Text for a terminal: colours that vanish in a pipe, bars, cutting and wrapping. */
#ifndef VIEW_TERM_H
#define VIEW_TERM_H

#include "util/number.h"
#include "view/view.h"

enum term_colour {
	TERM_PLAIN,
	TERM_BOLD,
	TERM_DIM,
	TERM_RED,
	TERM_GREEN,
	TERM_YELLOW,
	TERM_BLUE,
	TERM_MAGENTA,
	TERM_CYAN,
	TERM_ORANGE,
	TERM_GREY,
	TERM_COLOUR_COUNT,
};

/* Escape sequences, or "" without colour. */
const char *term_on(const struct view_options *o, enum term_colour c);
const char *term_off(const struct view_options *o);

/* Prints a bar of `cells` columns of which share (0..1) is filled, in eighths. */
void term_bar(const struct view_options *o, double share, int cells, enum term_colour c);

/* One part of a stacked bar. */
struct term_part {
	double share; /* of the bar's full width */
	enum term_colour colour;
	char letter; /* what fills it without colour */
};
/* Prints so many cells of a part: blocks in its colour, or its letter. */
void term_cells(const struct view_options *o, const struct term_part *part, int cells);
/* Prints a stacked bar of exactly `cells` columns; parts are rounded so that their ends are right.
 */
void term_stack(const struct view_options *o, const struct term_part *parts, size_t count,
		int cells);

/* Columns that UTF-8 text takes. */
int term_columns(const char *text, size_t size_bytes);
/* Prints text cut to `cells` columns (… at the end if cut), padded to it if pad. UTF-8 aware. */
void term_text(const struct view_options *o, const char *text, int cells, bool pad);
/* The same into a buffer, not padded. */
void term_cut(const char *text, int cells, char *buf, size_t size_bytes);
/* A name cut in the middle, if it is too long: `head` columns of its beginning stay, and of its end what
 * there is room for. */
void term_cut_middle(const char *text, int cells, int head, char *buf, size_t size_bytes);
/* A line of source, cut in the same way: tabs become blanks up to the next eighth column. */
void term_cut_source(const char *text, int cells, char *buf, size_t size_bytes);
/* Prints words wrapped at the width, every line but the first indented. */
void term_wrap(const struct view_options *o, const char *text, int indent);
/* A CSV field, quoted if need be. */
void csv_text(FILE *out, const char *text);

#endif
