/* SPDX-License-Identifier: MIT */
/*
 * A document: what a view has to say, before it is decided how that is shown. A view builds one,
 * and doc_print() shows it as text for a terminal, as JSON or as CSV.
 *
 * Some parts belong to one medium: headings, lines and bars to text, values outside of tables to
 * JSON. A table belongs to every medium that its columns name.
 *
 * To add a printer, for HTML say: a value of enum view_format (view.h); a file doc_html.c with a
 * function that walks the nodes of doc_int.h; a line in printers[] (doc.c). Views do not change.
 */
#ifndef VIEW_DOC_H
#define VIEW_DOC_H

#include "view/term.h"

struct doc;

struct doc *doc_new(void);
void doc_free(struct doc *d);
/* Prints in the format of o. False and e filled if it cannot be written. */
bool doc_print(const struct doc *d, const struct view_options *o, struct err *e);

/* ---- text ---- */

/* An empty line, then the heading in bold. */
void doc_heading(struct doc *d, const char *format, ...) PRINTF(2, 3);
/* A line that begins with `strong` in bold; NULL: nothing is bold. */
void doc_line(struct doc *d, const char *strong, const char *format, ...) PRINTF(3, 4);
/* A line in a colour. */
void doc_note(struct doc *d, enum term_colour colour, const char *format, ...) PRINTF(3, 4);
/* A sentence behind a label, wrapped at the width; its further lines are indented by `indent`. */
void doc_sentence(struct doc *d, const char *label, const char *text, int indent);
void doc_blank(struct doc *d);

/* A stacked bar of `cells` columns between a label and `after` (or NULL). */
void doc_stack(struct doc *d, const char *label, const struct term_part *parts, size_t count,
	       int cells, const char *after);
/* What letters and colours mean: parts with their names, in rows. */
void doc_legend(struct doc *d, const struct term_part *parts, const char *const *names,
		size_t count);
/* One row of coloured cells behind a label; a part with letter 0 is blank. */
void doc_cells(struct doc *d, const char *label, const struct term_part *parts, size_t count);

/* ---- values, for JSON ---- */

/* Opens an object or an array; doc_close() closes it. key: its name in the object that is open;
 * NULL: it is an element of the array that is open, or the top. The top is an object unless a view
 * opens another one. */
void doc_object(struct doc *d, const char *key);
void doc_array(struct doc *d, const char *key);
void doc_close(struct doc *d);
void doc_text(struct doc *d, const char *key, const char *value);
void doc_format(struct doc *d, const char *key, const char *format, ...) PRINTF(3, 4);
void doc_integer(struct doc *d, const char *key, int64_t value);
void doc_real(struct doc *d, const char *key, double value); /* NAN: null */
void doc_boolean(struct doc *d, const char *key, bool value);
void doc_null(struct doc *d, const char *key);

/* ---- tables ---- */

enum cell_kind {
	CELL_NONE,
	CELL_TEXT,
	CELL_REAL,
	CELL_INTEGER,
	CELL_BOOLEAN,
	CELL_BAR,   /* fills a share of the column's width */
	CELL_STACK, /* parts of the column's width */
	CELL_MAP,   /* names with numbers: an object in JSON */
};

/* A column. JSON leaves it out if key is NULL, CSV if csv is NULL, text if width is 0. */
struct doc_column {
	const char *key;
	const char *csv, *csv_format; /* format of a real; NULL: %.6f */
	const char *head;	      /* text */
	const char *before;	      /* text: what separates it from the last column; NULL: " " */
	const char *format;	      /* text: of a number, without width */
	double factor;		      /* text: a number is multiplied by it; 0: by 1 */
	int width;		      /* text: columns; negative: left-aligned */
	bool ragged;		      /* text: not padded to the width */
	bool name; /* text: what is too long is cut in the middle, and no two names read alike */
	bool
	    fill; /* text: takes what room other columns leave, at least its width; one of a table */
	enum term_colour colour;
};

/* Fields of a column for data (JSON and CSV), and of one for text. */
#define DOC_DATA(name)		       .key = (name), .csv = (name)
#define DOC_SHOWN(title, how, columns) .head = (title), .format = (how), .width = (columns)

struct doc_table_options {
	const char *key; /* JSON: of the array of rows; "": the array is the top; NULL: no JSON */
	bool heads;	 /* text: a row of heads, in bold */
	size_t limit;	 /* text: at most so many rows; 0: all */
	bool more;	 /* text: says how many rows the limit has left out */
};

struct doc_table;
/* Columns are copied; the texts in them are not. */
struct doc_table *doc_table(struct doc *d, const struct doc_column *columns, size_t count,
			    const struct doc_table_options *o);
/* The same with an array of columns, and options by name. */
#define DOC_TABLE(d, columns, ...)                                                                 \
	doc_table(d, columns, ARRAY_LEN(columns), &(struct doc_table_options){ __VA_ARGS__ })

/* Begins a row; its cells follow, one per column. */
void doc_row(struct doc_table *t);
/* Text only: a line above the next row. */
void doc_above(struct doc_table *t, enum term_colour colour, const char *format, ...) PRINTF(3, 4);
/* Leaves the current row out of text. */
void doc_hide(struct doc_table *t);
/* Text only: an empty line above the next row. */
void doc_gap(struct doc_table *t);
/* Nothing: blank in text, no member in JSON. */
void cell_none(struct doc_table *t);
void cell_text(struct doc_table *t, const char *text); /* NULL: as cell_none */
/* In a column of names: only these bytes of the current cell's text are the name, which is cut. */
void cell_name(struct doc_table *t, size_t at, size_t bytes);
/* An instruction: the name in it is that of where it leads, in <>, without the distance. */
void cell_code(struct doc_table *t, const char *text);
void cell_format(struct doc_table *t, const char *format, ...) PRINTF(2, 3);
/* In a column of numbers: words in text, null in JSON, nothing in CSV. */
void cell_words(struct doc_table *t, const char *text);
void cell_real(struct doc_table *t, double value);
/* A number that may be unknown; value is looked at only if it is known. */
#define CELL_REAL_IF(t, known, value) ((known) ? cell_real(t, value) : cell_none(t))
void cell_integer(struct doc_table *t, int64_t value);
void cell_boolean(struct doc_table *t, bool value);
void cell_bar(struct doc_table *t, double share, enum term_colour colour);
void cell_stack(struct doc_table *t, const struct term_part *parts, size_t count);
void cell_map(struct doc_table *t);
/* One more name in the current cell, a map; a name that is there already gets the sum. */
void cell_put(struct doc_table *t, const char *name, double value);
/* Colours the current cell in text. */
void cell_colour(struct doc_table *t, enum term_colour colour);
/* Gives the current cell another width than its column has; it is not padded. */
void cell_width(struct doc_table *t, int width);

#endif
