/* SPDX-License-Identifier: MIT */
/* Prints the tables of a document as CSV. */
#include "view/doc_int.h"

static void csv_cell(FILE *out, const struct doc_column *k, const struct doc_cell *c)
{
	if (c->kind == CELL_TEXT)
		csv_text(out, c->text);
	else if (c->kind == CELL_REAL)
		fprintf(out, k->csv_format ? k->csv_format : "%.6f", c->real);
	else if (c->kind == CELL_INTEGER)
		fprintf(out, "%lld", (long long)c->integer);
}

/* Heads are printed once for tables that follow each other with the same columns. */
static bool same_heads(const struct doc_table *a, const struct doc_table *b)
{
	if (!a || a->ncolumns != b->ncolumns)
		return false;
	for (size_t k = 0; k < a->ncolumns; k++)
		if (a->columns[k].csv != b->columns[k].csv)
			return false;
	return true;
}

bool doc_print_csv(const struct doc *d, const struct view_options *o)
{
	const struct doc_table *last = NULL;

	for (size_t i = 0; i < d->count; i++) {
		const struct doc_table *t = d->nodes[i].table;
		const char *comma = "";

		for (size_t k = 0; t && !same_heads(last, t) && k < t->ncolumns; k++)
			if (t->columns[k].csv) {
				fprintf(o->out, "%s%s", comma, t->columns[k].csv);
				comma = ",";
			}
		if (*comma)
			fputc('\n', o->out);
		for (size_t r = 0; t && r < t->nrows; r++) {
			bool any = false;

			for (size_t k = 0; k < t->ncolumns; k++)
				if (t->columns[k].csv) {
					fputs(any ? "," : "", o->out);
					csv_cell(o->out, &t->columns[k],
						 &t->cells[r * t->ncolumns + k]);
					any = true;
				}
			if (any)
				fputc('\n', o->out);
		}
		if (*comma)
			last = t;
	}
	return true;
}
