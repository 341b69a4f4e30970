/* SPDX-License-Identifier: MIT */
/*
 * What a view adds where a profile was estimated from points of the run, or made from records that
 * its source did not have: a line at its head, and how far each figure may be off. A profile of a whole
 * run has none of it, and a view of it does not change.
 */
#ifndef VIEW_ESTIMATED_H
#define VIEW_ESTIMATED_H

#include "store/store.h"
#include "view/doc.h"

struct estimated_figure {
	char *what, *name;
	int64_t item;
	double value, low, high; /* cycles; low NAN: nothing is known of the error */
};

struct estimated {
	bool is;
	char method[32];
	uint64_t points, interval, measured;
	double measured_cycles;
	double cpi, low, high; /* low NAN: nothing is known of the error */
	struct estimated_figure *figures;
	size_t count;
	char rebuilt[128]; /* which records the source of the run did not have; "": it had all */
};

bool estimated_read(struct store *s, struct estimated *x, struct err *e);
void estimated_free(struct estimated *x);

/* "estimated from 12 points of 1M instructions, CPI 1.234 ± 1.2% (95%)"; in JSON object `estimated`.
 * Or "rebuilt: ...", JSON `rebuilt`, where records were made from others. Nothing for a whole run of
 * culprit's own. */
void estimated_add(struct doc *d, const struct estimated *x);
/* The same without values for JSON. */
void estimated_line(struct doc *d, const char *before, const struct estimated *x);

/* Only what was rebuilt, for a view without estimates. */
void estimated_rebuilt(struct doc *d, struct store *s);

/* Half of a figure's 95% interval, in cycles; NAN: not known, or there is no such figure. what, item
 * and name as in table estimate (docs/store.md). */
double estimated_margin(const struct estimated *x, const char *what, int64_t item,
			const char *name);

/* A column with margins: a key in JSON, a name in CSV, ± in text; none for a whole run. */
#define ESTIMATED_COLUMN(x, how, columns)                                                          \
	.key = (x)->is ? "margin" : NULL, .format = "±" how, .width = (x)->is ? (columns) : 0
void estimated_cell(struct doc_table *t, double margin);

#endif
