/* SPDX-License-Identifier: MIT */
/*
 * Shows a document: one function per medium, which walks the nodes and takes what is the medium's.
 * JSON has an indentation of one and twelve digits everywhere.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "view/doc.h"
#include "util/number.h"
#include "view/doc_int.h"

#define DEPTH_MAX 16

/* ---- text ---- */

static void put_padded(const struct view_options *o, const char *text, int width, bool ragged)
{
	int columns = 0;

	for (const char *c = text; *c; c++)
		columns += ((unsigned char)*c & 0xc0) != 0x80;
	if (width > 0)
		for (; columns < width; columns++)
			fputc(' ', o->out);
	fputs(text, o->out);
	if (width < 0 && !ragged)
		for (; columns < -width; columns++)
			fputc(' ', o->out);
}

static void text_number(const struct view_options *o, const struct doc_column *k,
			const struct doc_cell *c)
{
	const double factor = k->factor != 0 ? k->factor : 1;
	char number[64];

	if (c->text)
		snprintf(number, sizeof(number), "%s", c->text);
	else if (c->kind == CELL_NONE)
		number[0] = '\0';
	else if (c->kind == CELL_INTEGER && !k->format)
		number_commas((uint64_t)c->integer, number);
	else
		snprintf(number, sizeof(number), k->format ? k->format : "%g",
			 factor * (c->kind == CELL_INTEGER ? (double)c->integer : c->real));
	put_padded(o, number, k->width, k->ragged);
}

static void text_cell(const struct view_options *o, const struct doc_column *k,
		      const struct doc_cell *c)
{
	const enum term_colour colour = c->colour != TERM_PLAIN ? c->colour : k->colour;
	const int width = c->width ? c->width : k->width, cells = width < 0 ? -width : width;

	fputs(k->before ? k->before : " ", o->out);
	if (c->kind == CELL_BAR) {
		term_bar(o, c->real, cells, c->colour);
		return;
	}
	if (c->kind == CELL_STACK) {
		term_stack(o, c->parts, c->count, cells);
		return;
	}
	if (colour != TERM_PLAIN)
		fputs(term_on(o, colour), o->out);
	if (c->kind == CELL_TEXT)
		term_text(o, c->text, cells, !k->ragged && !c->width);
	else
		text_number(o, k, c);
	if (colour != TERM_PLAIN)
		fputs(term_off(o), o->out);
}

static void text_heads(const struct view_options *o, const struct doc_table *t)
{
	size_t last = 0;

	for (size_t k = 0; k < t->ncolumns; k++)
		if (t->columns[k].width && t->columns[k].head)
			last = k;
	fputs(term_on(o, TERM_BOLD), o->out);
	for (size_t k = 0; k <= last; k++) {
		const struct doc_column *c = &t->columns[k];

		if (!c->width)
			continue;
		fputs(c->before ? c->before : " ", o->out);
		put_padded(o, c->head ? c->head : "", c->width, c->ragged);
	}
	fprintf(o->out, "%s\n", term_off(o));
}

static void text_table(const struct view_options *o, const struct doc_table *t)
{
	const size_t limit = t->options.limit ? t->options.limit : SIZE_MAX;
	size_t line = 0;
	bool any = false;

	for (size_t k = 0; k < t->ncolumns; k++)
		any |= t->columns[k].width != 0;
	if (!any)
		return;
	if (t->options.heads)
		text_heads(o, t);
	for (size_t i = 0; i <= t->nrows && i <= limit; i++) {
		for (; line < t->nbetween && t->between[line].row == i; line++)
			fprintf(o->out, "%s%s%s\n", term_on(o, t->between[line].colour),
				t->between[line].text, term_off(o));
		if (i == t->nrows || i == limit)
			break;
		if (t->rows[i].gap)
			fputc('\n', o->out);
		if (t->rows[i].hidden)
			continue;
		for (size_t k = 0; k < t->ncolumns; k++)
			if (t->columns[k].width)
				text_cell(o, &t->columns[k], &t->cells[i * t->ncolumns + k]);
		fputc('\n', o->out);
	}
	if (t->options.more && t->nrows > limit)
		fprintf(o->out, "  %s… and %zu more%s\n", term_on(o, TERM_DIM), t->nrows - limit,
			term_off(o));
}

static void put_part(const struct view_options *o, const struct term_part *p)
{
	if (!p->letter) {
		fputc(' ', o->out);
		return;
	}
	fputs(term_on(o, p->colour), o->out);
	if (o->colour)
		fputs("█", o->out);
	else
		fputc(p->letter, o->out);
	fputs(term_off(o), o->out);
}

static void text_legend(const struct view_options *o, const struct doc_node *n)
{
	int at = 2;

	fputs("  ", o->out);
	for (size_t i = 0; i < n->count; i++) {
		const int columns = (int)strlen(n->names[i]) + 4;

		if (at + columns > o->width) {
			fputs("\n  ", o->out);
			at = 2;
		}
		put_part(o, &n->parts[i]);
		fprintf(o->out, " %s  ", n->names[i]);
		at += columns;
	}
	fputc('\n', o->out);
}

static void text_node(const struct view_options *o, const struct doc_node *n)
{
	switch (n->kind) {
	case DOC_HEADING:
		fprintf(o->out, "\n%s%s%s\n", term_on(o, TERM_BOLD), n->text, term_off(o));
		break;
	case DOC_LINE:
		if (n->key)
			fprintf(o->out, "%s%s%s", term_on(o, TERM_BOLD), n->key, term_off(o));
		fprintf(o->out, "%s\n", n->text);
		break;
	case DOC_NOTE:
		fprintf(o->out, "%s%s%s\n", term_on(o, n->colour), n->text, term_off(o));
		break;
	case DOC_SENTENCE:
		fputs(n->key, o->out);
		term_wrap(o, n->text, (int)n->integer);
		break;
	case DOC_BLANK:
		fputc('\n', o->out);
		break;
	case DOC_STACK:
		fputs(n->key, o->out);
		term_stack(o, n->parts, n->count, (int)n->integer);
		fprintf(o->out, "%s\n", n->after);
		break;
	case DOC_LEGEND:
		text_legend(o, n);
		break;
	case DOC_CELLS:
		fputs(n->key, o->out);
		for (size_t i = 0; i < n->count; i++)
			put_part(o, &n->parts[i]);
		fputc('\n', o->out);
		break;
	case DOC_TABLE:
		text_table(o, n->table);
		break;
	default:
		break;
	}
}

/* Bars and padded columns end in blanks, which nobody wants at the end of a line. */
static void put_without_blanks(FILE *out, const char *text)
{
	while (*text) {
		const size_t line = strcspn(text, "\n");
		size_t n = line;

		while (n && text[n - 1] == ' ')
			n--;
		fwrite(text, 1, n, out);
		text += line;
		if (*text)
			fputc(*text++, out);
	}
}

static void print_text(const struct doc *d, const struct view_options *o)
{
	struct view_options into = *o;
	char *text = NULL;
	size_t size;

	into.out = open_memstream(&text, &size);
	if (!into.out)
		die("out of memory");
	for (size_t i = 0; i < d->count; i++)
		text_node(&into, &d->nodes[i]);
	if (fclose(into.out))
		die("out of memory");
	put_without_blanks(o->out, text);
	free(text);
}

/* ---- JSON ---- */

static json_t *json_cell(const struct doc_cell *c)
{
	json_t *map;

	switch (c->kind) {
	case CELL_TEXT:
		return json_string(c->text);
	case CELL_REAL:
		return json_real(c->real);
	case CELL_INTEGER:
		return json_integer((json_int_t)c->integer);
	case CELL_MAP:
		map = json_object();
		for (size_t i = 0; i < c->count; i++)
			json_object_set_new(map, c->names[i], json_real(c->values[i]));
		return map;
	default:
		return json_null();
	}
}

static json_t *json_table(const struct doc_table *t)
{
	const size_t limit =
	    t->options.json_limit && t->options.limit ? t->options.limit : SIZE_MAX;
	json_t *out = t->options.map ? json_object() : json_array();

	for (size_t i = 0; i < t->nrows && i < limit; i++) {
		const struct doc_cell *cells = &t->cells[i * t->ncolumns];

		if (t->options.map) {
			json_object_set_new(out, cells[0].text, json_cell(&cells[1]));
			continue;
		}
		json_t *row = json_object();

		for (size_t k = 0; k < t->ncolumns; k++)
			if (t->columns[k].key && (cells[k].kind != CELL_NONE || cells[k].text))
				json_object_set_new(row, t->columns[k].key, json_cell(&cells[k]));
		json_array_append_new(out, row);
	}
	return out;
}

static json_t *json_value(const struct doc_node *n)
{
	switch (n->kind) {
	case DOC_OBJECT:
		return json_object();
	case DOC_ARRAY:
		return json_array();
	case DOC_TEXT:
		return json_string(n->text);
	case DOC_INTEGER:
		return json_integer((json_int_t)n->integer);
	case DOC_REAL:
		return json_real(n->real);
	case DOC_BOOLEAN:
		return json_boolean(n->integer);
	case DOC_NULL:
		return json_null();
	case DOC_TABLE:
		return n->key ? json_table(n->table) : NULL;
	default:
		return NULL;
	}
}

static json_t *make_json(const struct doc *d)
{
	json_t *open[DEPTH_MAX] = { NULL };
	size_t depth = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct doc_node *n = &d->nodes[i];
		json_t *value = json_value(n);

		if (n->kind == DOC_CLOSE && depth > 1)
			depth--;
		if (!value)
			continue;
		/* what has no key, and nothing around it, is the top */
		const bool top = !depth && (!n->key || !*n->key);

		if (!depth)
			open[depth++] = top ? value : json_object();
		if (!top && json_is_array(open[depth - 1]))
			json_array_append_new(open[depth - 1], value);
		else if (!top)
			json_object_set_new(open[depth - 1], n->key, value);
		if (!top && (n->kind == DOC_OBJECT || n->kind == DOC_ARRAY) && depth < DEPTH_MAX)
			open[depth++] = value;
	}
	return depth ? open[0] : json_object();
}

static bool print_json(const struct doc *d, const struct view_options *o)
{
	json_t *top = make_json(d);
	const bool ok = !json_dumpf(top, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) &&
			fputc('\n', o->out) != EOF;

	json_decref(top);
	return ok;
}

/* ---- CSV ---- */

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

static void print_csv(const struct doc *d, const struct view_options *o)
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
}

bool doc_print(const struct doc *d, const struct view_options *o, struct err *e)
{
	bool ok = true;

	switch (o->format) {
	case VIEW_TEXT:
		print_text(d, o);
		break;
	case VIEW_JSON:
		ok = print_json(d, o);
		break;
	case VIEW_CSV:
		print_csv(d, o);
		break;
	}
	return (ok && !ferror(o->out)) || err_set(e, "cannot write the output");
}
