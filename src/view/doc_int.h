/* SPDX-License-Identifier: MIT */
/* What doc.c builds and doc_print.c shows. */
#ifndef VIEW_DOC_INT_H
#define VIEW_DOC_INT_H

#include "view/doc.h"

struct doc_cell {
	enum cell_kind kind;
	enum term_colour colour; /* of this cell; PLAIN: the column's */
	int width;		 /* of this cell; 0: the column's */
	char *text;		 /* TEXT, and words instead of a number */
	double real;		 /* REAL; BAR: share */
	int64_t integer;
	/* STACK: parts; MAP: names and values */
	struct term_part *parts;
	char **names;
	double *values;
	size_t count;
};

struct doc_table {
	struct doc_column *columns;
	size_t ncolumns;
	struct doc_table_options options;
	struct doc_cell *cells; /* row after row */
	size_t ncells;
	struct doc_row {
		bool gap, hidden;
	} * rows;
	struct doc_between {
		size_t row; /* it stands above */
		enum term_colour colour;
		char *text;
	} * between; /* lines, by row */
	size_t nbetween;
	size_t nrows, rows_room;
};

enum doc_kind {
	DOC_HEADING,
	DOC_LINE,
	DOC_NOTE,
	DOC_SENTENCE,
	DOC_BLANK,
	DOC_STACK,
	DOC_LEGEND,
	DOC_CELLS,
	DOC_OBJECT,
	DOC_ARRAY,
	DOC_CLOSE,
	DOC_TEXT,
	DOC_INTEGER,
	DOC_REAL,
	DOC_BOOLEAN,
	DOC_NULL,
	DOC_TABLE,
};

struct doc_node {
	enum doc_kind kind;
	char *key;  /* JSON; or the strong words or the label of text */
	char *text; /* value, line */
	char *after;
	double real;
	int64_t integer; /* and boolean, indentation, cells */
	enum term_colour colour;
	struct term_part *parts;
	char **names;
	size_t count;
	struct doc_table *table;
};

struct doc {
	struct doc_node *nodes;
	size_t count;
};

#endif
