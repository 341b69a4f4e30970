/* SPDX-License-Identifier: MIT */
/*
 * A document: what a view has to say, before it is decided how it is shown. A view builds one;
 * doc_print shows it as text for a terminal, as JSON or as CSV. A new medium is one more printer
 * in doc_print.c; views do not change.
 *
 * Some things belong to one medium: headings, lines and bars to text; values outside of tables to
 * JSON. A table belongs to all of which its columns say so.
 */
#ifndef VIEW_DOC_H
#define VIEW_DOC_H

#include "view/term.h"

struct doc;

struct doc *doc_new(void);
void doc_free(struct doc *d);
/* In the format that o says. False and e filled if it cannot be written. */
bool doc_print(const struct doc *d, const struct view_options *o, struct err *e);

/* ---- text ---- */

/* An empty line, then the heading in bold. */
void doc_heading(struct doc *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line, the first words of which, `strong`, are in bold; NULL: none are. */
void doc_line(struct doc *d, const char *strong, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A line in a colour. */
void doc_note(struct doc *d, enum term_colour colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A sentence behind a label, wrapped; lines after the first are indented by so many columns. */
void doc_sentence(struct doc *d, const char *label, const char *text, int indent);
void doc_blank(struct doc *d);

/* A bar of parts behind a label; the columns that label and bar leave are the width's. */
void doc_stack(struct doc *d, const char *label, const struct term_part *parts, size_t count,
	       int cells, const char *after);
/* What letters and colours mean: parts with names, in rows. */
void doc_legend(struct doc *d, const struct term_part *parts, const char *const *names,
		size_t count);
/* Rows of coloured cells, the topmost first; a part with letter 0 is blank. label stands left. */
void doc_cells(struct doc *d, const char *label, const struct term_part *parts, size_t count);

/* ---- values, for JSON ---- */

/* Opens an object or an array, to be closed again. key: in the object that is open; NULL: in the
 * array that is open, or at the top. Without any the top is an object. */
void doc_object(struct doc *d, const char *key);
void doc_array(struct doc *d, const char *key);
void doc_close(struct doc *d);
void doc_text(struct doc *d, const char *key, const char *value);
void doc_integer(struct doc *d, const char *key, int64_t value);
void doc_real(struct doc *d, const char *key, double value);
void doc_boolean(struct doc *d, const char *key, bool value);
void doc_null(struct doc *d, const char *key);

/* ---- tables ---- */

enum cell_kind {
	CELL_NONE, /* nothing */
	CELL_TEXT,
	CELL_REAL,
	CELL_INTEGER,
	CELL_BAR,   /* a share of the column's width */
	CELL_STACK, /* parts of the column's width */
	CELL_MAP,   /* names with numbers: an object in JSON */
};

/* A column. It is left out where its field is NULL: key in JSON, csv in CSV; and where width is 0
 * in text. */
struct doc_column {
	const char *key;
	const char *csv, *csv_format; /* format of a real; NULL: %.6f */
	const char *head;	      /* text */
	const char *before;	      /* text between the column before and this; NULL: a blank */
	const char *format;	      /* text: of a number, without width */
	double factor;		      /* text: a number is multiplied by it; 0: is not */
	int width;		      /* text: columns; negative: left-aligned */
	bool ragged;		      /* text: not padded to the width */
	enum term_colour colour;
};

struct doc_table_options {
	const char
	    *key; /* JSON: of an array of rows; "": the top is the array; NULL: not in JSON */
	/* JSON: an object whose members are named by the first column and hold the second. */
	bool map;
	bool heads;	 /* text: a row of heads, in bold */
	size_t limit;	 /* text: rows; 0: all */
	bool json_limit; /* the limit holds in JSON, too */
	bool more;	 /* text: says how many rows the limit has left out */
};

struct doc_table;
/* Columns are copied, the texts in them are not. */
struct doc_table *doc_table(struct doc *d, const struct doc_column *columns, size_t count,
			    const struct doc_table_options *o);
/* Begins a row; its cells follow, one per column. */
void doc_row(struct doc_table *t);
/* Text only: a line between the row made last and the next. */
void doc_above(struct doc_table *t, enum term_colour colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The row made last is not in text. */
void doc_hide(struct doc_table *t);
/* Text only: an empty line before the next row. */
void doc_gap(struct doc_table *t);
/* Nothing: blank in text, no member in JSON. */
void cell_none(struct doc_table *t);
void cell_text(struct doc_table *t, const char *text); /* NULL: as cell_none */
/* In a column of numbers: words in text, null in JSON, nothing in CSV. */
void cell_words(struct doc_table *t, const char *text);
void cell_real(struct doc_table *t, double value);
void cell_integer(struct doc_table *t, int64_t value);
void cell_bar(struct doc_table *t, double share, enum term_colour colour);
void cell_stack(struct doc_table *t, const struct term_part *parts, size_t count);
void cell_map(struct doc_table *t);
/* One more name of the map begun last; a name that is there gets the sum. */
void cell_put(struct doc_table *t, const char *name, double value);
/* The cell made last stands out in text. */
void cell_colour(struct doc_table *t, enum term_colour colour);
/* The cell made last has another width than its column, and is not padded to it. */
void cell_width(struct doc_table *t, int width);

#endif
