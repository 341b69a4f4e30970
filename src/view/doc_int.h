/* SPDX-License-Identifier: MIT */
/* What a document consists of: doc.c builds it, the printers (doc_text.c …) walk it. */
#ifndef VIEW_DOC_INT_H
#define VIEW_DOC_INT_H

#include "view/doc.h"

struct doc_cell {
	enum cell_kind kind;
	enum term_colour colour;    /* PLAIN: the column's */
	int width;		    /* 0: the column's */
	char *text;		    /* TEXT, and words instead of a number */
	size_t name_at, name_bytes; /* the name in it; 0, 0: all of it */
	double real;		    /* REAL; BAR: share */
	int64_t integer;	    /* and boolean */
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
	bool *hidden; /* by row: not in text */
	size_t nrows;
	struct doc_between {
		size_t row; /* the line stands above it */
		enum term_colour colour;
		char *text;
	} * between; /* by row */
	size_t nbetween;
};

enum doc_kind {
	NODE_HEADING,
	NODE_LINE,
	NODE_NOTE,
	NODE_SENTENCE,
	NODE_STACK,
	NODE_LEGEND,
	NODE_CELLS,
	NODE_OBJECT,
	NODE_ARRAY,
	NODE_CLOSE,
	NODE_STRING,
	NODE_INTEGER,
	NODE_REAL,
	NODE_BOOLEAN,
	NODE_NULL,
	NODE_TABLE,
};

struct doc_node {
	enum doc_kind kind;
	char *key;  /* JSON: name; text: strong words or label */
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

/* The printers. False if the document cannot be written. */
bool doc_print_text(const struct doc *d, const struct view_options *o);
bool doc_print_json(const struct doc *d, const struct view_options *o);
bool doc_print_csv(const struct doc *d, const struct view_options *o);

#endif
