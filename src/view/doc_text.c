/* SPDX-License-Identifier: MIT */
/* Prints a document as text for a terminal. */
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "view/doc_int.h"

static void put_padded(const struct view_options *o, const char *text, int width, bool ragged)
{
	int columns = term_columns(text, strlen(text));

	if (width > 0)
		for (; columns < width; columns++)
			fputc(' ', o->out);
	fputs(text, o->out);
	if (width < 0 && !ragged)
		for (; columns < -width; columns++)
			fputc(' ', o->out);
}

static void put_line(const struct view_options *o, enum term_colour colour, const char *text)
{
	if (colour == TERM_PLAIN)
		fprintf(o->out, "%s\n", text);
	else
		fprintf(o->out, "%s%s%s\n", term_on(o, colour), text, term_off(o));
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

/* A name of a column as it reads when it is cut in the half. */
struct cut_name {
	uint64_t cut, whole; /* hashes */
};

/* The names of a column that are too long, sorted. */
struct cut_names {
	struct cut_name *list;
	size_t count;
};

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

static int by_cut(const void *a, const void *b)
{
	const struct cut_name *x = a, *y = b;

	if (x->cut != y->cut)
		return x->cut < y->cut ? -1 : 1;
	return (x->whole > y->whole) - (x->whole < y->whole);
}

static int cells_of(const struct doc_column *k, const struct doc_cell *c)
{
	const int width = c->width ? c->width : k->width;

	return width < 0 ? -width : width;
}

static bool is_long(const char *name, int cells)
{
	return term_columns(name, strlen(name)) > cells;
}

#define NAME_LEAST 6 /* columns that tell something of a name */

/* The text, its name cut in the middle; `shift` columns more stay of the beginning, and less of the end. Where the rest
 * leaves no room for a name, all is cut at the end. */
static void cut_cell(const struct doc_cell *c, int cells, int shift, char *buf, size_t size_bytes)
{
	const size_t after = c->name_at + c->name_bytes;
	const int rest = c->name_bytes ? term_columns(c->text, c->name_at) +
					     term_columns(c->text + after, strlen(c->text + after))
				       : 0,
		  room = cells - rest;
	int head = (room - 1) / 2 + shift;

	if (room < NAME_LEAST && rest) {
		term_cut(c->text, cells, buf, size_bytes);
		return;
	}
	head = head < 0 ? 0 : head < room ? head : room - 1;
	if (!c->name_bytes) {
		term_cut_middle(c->text, cells, head, buf, size_bytes);
		return;
	}
	char *name = x_strndup(c->text + c->name_at, c->name_bytes), cut[1024];

	term_cut_middle(name, room, head, cut, sizeof(cut));
	snprintf(buf, size_bytes, "%.*s%s%s", (int)c->name_at, c->text, cut, c->text + after);
	free(name);
}

static struct cut_name cut_name(const struct doc_cell *c, int cells)
{
	char cut[2048];

	cut_cell(c, cells, 0, cut, sizeof(cut));
	return (struct cut_name){ hash_text(cut), hash_text(c->text) };
}

static struct cut_names cut_names(const struct doc_table *t, size_t column, size_t rows)
{
	struct cut_names all = { NULL, 0 };

	for (size_t i = 0; i < t->nrows && i < rows; i++) {
		const struct doc_cell *c = &t->cells[i * t->ncolumns + column];
		const int cells = cells_of(&t->columns[column], c);

		if (c->text && is_long(c->text, cells))
			*ARRAY_ADD(all.list, all.count) = cut_name(c, cells);
	}
	if (all.count)
		qsort(all.list, all.count, sizeof(*all.list), by_cut);
	return all;
}

/* Whether another name that is cut in the half reads like this one. */
static bool is_ambiguous(const struct cut_names *all, const struct doc_cell *c, int cells)
{
	const struct cut_name mine = cut_name(c, cells);
	const size_t after = ARRAY_SEARCH(all->count, i, all->list[i].cut <= mine.cut);

	for (size_t i = after; i-- > 0 && all->list[i].cut == mine.cut;)
		if (all->list[i].whole != mine.whole)
			return true;
	return false;
}

#define NAMES_COMPARED 1024 /* rows of a column whose names are kept apart in other ways */

/* Whether another name of the column reads like this one if both are cut `shift` columns from the half. */
static bool reads_alike(const struct doc_table *t, size_t column, const struct doc_cell *c,
			int cells, int shift)
{
	char mine[2048], other[2048];

	cut_cell(c, cells, shift, mine, sizeof(mine));
	for (size_t i = 0; i < t->nrows && i < NAMES_COMPARED; i++) {
		const struct doc_cell *o = &t->cells[i * t->ncolumns + column];

		if (!o->text || !strcmp(o->text, c->text))
			continue;
		cut_cell(o, cells, shift, other, sizeof(other));
		if (!strcmp(mine, other))
			return true;
	}
	return false;
}

#define NAME_BEFORE 6 /* bytes that are shown of what two names share */

/* Where a name is shown from, so that what tells it from the one most like it is shown. */
static size_t shared(const struct doc_table *t, size_t column, const char *name)
{
	size_t most = 0;

	for (size_t i = 0; i < t->nrows && i < NAMES_COMPARED; i++) {
		const char *text = t->cells[i * t->ncolumns + column].text;
		size_t n = 0;

		if (!text || !strcmp(text, name))
			continue;
		while (text[n] && text[n] == name[n])
			n++;
		most = n > most ? n : most;
	}
	most = most > NAME_BEFORE ? most - NAME_BEFORE : 0;
	while (most && ((unsigned char)name[most] & 0xc0) == 0x80)
		most--;
	return most;
}

/* A name that is too long is cut in the middle; where two would read alike, elsewhere. */
static void text_name(const struct view_options *o, const struct doc_table *t, size_t column,
		      const struct cut_names *all, const struct doc_cell *c)
{
	const struct doc_column *k = &t->columns[column];
	const enum term_colour colour = c->colour != TERM_PLAIN ? c->colour : k->colour;
	const int cells = cells_of(k, c), half = (cells - 1) / 2;
	int shift = 0;
	bool alike = is_long(c->text, cells) && is_ambiguous(all, c, cells);
	char cut[2048] = "…";

	for (int away = 1; alike && away <= half; away++) {
		shift = away <= half / 2 ? 2 * away : -2 * (away - half / 2);
		alike = reads_alike(t, column, c, cells, shift);
	}
	if (alike && !c->name_bytes) /* they differ far from both ends */
		term_cut(c->text + shared(t, column, c->text), cells - 1, cut + strlen(cut),
			 sizeof(cut) - strlen(cut));
	else
		cut_cell(c, cells, alike ? 0 : shift, cut, sizeof(cut));
	fputs(k->before ? k->before : " ", o->out);
	if (colour != TERM_PLAIN)
		fputs(term_on(o, colour), o->out);
	term_text(o, cut, cells, !k->ragged && !c->width);
	if (colour != TERM_PLAIN)
		fputs(term_off(o), o->out);
}

/* The columns, and one that fills the line is as wide as the others let it be. */
static struct doc_column *filled(const struct view_options *o, const struct doc_table *t)
{
	struct doc_column *columns = x_calloc(t->ncolumns + 1, sizeof(*columns)), *fill = NULL;
	int used = 0;

	memcpy(columns, t->columns, t->ncolumns * sizeof(*columns));
	for (size_t k = 0; k < t->ncolumns; k++) {
		const char *before = columns[k].before ? columns[k].before : " ";

		if (!columns[k].width)
			continue;
		used += term_columns(before, strlen(before)) + abs(columns[k].width);
		if (columns[k].fill)
			fill = &columns[k];
	}
	if (fill && used < o->width)
		fill->width += fill->width < 0 ? used - o->width : o->width - used;
	return columns;
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

static void text_rows(const struct view_options *o, const struct doc_table *t, size_t limit)
{
	struct cut_names *names = x_calloc(t->ncolumns + 1, sizeof(*names));
	size_t line = 0;

	for (size_t k = 0; k < t->ncolumns; k++)
		if (t->columns[k].name && t->columns[k].width)
			names[k] = cut_names(t, k, limit);
	for (size_t i = 0; i <= t->nrows && i <= limit; i++) {
		for (; line < t->nbetween && t->between[line].row == i; line++)
			put_line(o, t->between[line].colour, t->between[line].text);
		if (i == t->nrows || i == limit)
			break;
		if (t->hidden[i])
			continue;
		for (size_t k = 0; k < t->ncolumns; k++) {
			const struct doc_cell *c = &t->cells[i * t->ncolumns + k];

			if (t->columns[k].name && t->columns[k].width && c->kind == CELL_TEXT)
				text_name(o, t, k, &names[k], c);
			else if (t->columns[k].width)
				text_cell(o, &t->columns[k], c);
		}
		fputc('\n', o->out);
	}
	for (size_t k = 0; k < t->ncolumns; k++)
		free(names[k].list);
	free(names);
}

static void text_table(const struct view_options *o, const struct doc_table *t)
{
	const size_t limit = t->options.limit ? t->options.limit : SIZE_MAX;
	bool any = false;

	for (size_t k = 0; k < t->ncolumns; k++)
		any |= t->columns[k].width != 0;
	if (!any)
		return;

	struct doc_table wide = *t;

	wide.columns = filled(o, t);
	if (t->options.heads)
		text_heads(o, &wide);
	text_rows(o, &wide, limit);
	if (t->options.more && t->nrows > limit)
		fprintf(o->out, "  %s… and %zu more%s\n", term_on(o, TERM_DIM), t->nrows - limit,
			term_off(o));
	free(wide.columns);
}

static void put_part(const struct view_options *o, const struct term_part *p)
{
	if (!p->letter) {
		fputc(' ', o->out);
		return;
	}
	term_cells(o, p, 1);
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
	case NODE_HEADING:
		fputc('\n', o->out);
		put_line(o, TERM_BOLD, n->text);
		break;
	case NODE_LINE:
		if (n->key)
			fprintf(o->out, "%s%s%s", term_on(o, TERM_BOLD), n->key, term_off(o));
		fprintf(o->out, "%s\n", n->text);
		break;
	case NODE_NOTE:
		put_line(o, n->colour, n->text);
		break;
	case NODE_SENTENCE:
		fputs(n->key, o->out);
		term_wrap(o, n->text, (int)n->integer);
		break;
	case NODE_STACK:
		fputs(n->key, o->out);
		term_stack(o, n->parts, n->count, (int)n->integer);
		fprintf(o->out, "%s\n", n->after);
		break;
	case NODE_LEGEND:
		text_legend(o, n);
		break;
	case NODE_CELLS:
		fputs(n->key, o->out);
		for (size_t i = 0; i < n->count; i++)
			put_part(o, &n->parts[i]);
		fputc('\n', o->out);
		break;
	case NODE_TABLE:
		text_table(o, n->table);
		break;
	default:
		break;
	}
}

/* Bars and padded columns may leave blanks at the end of a line: they are dropped here. */
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

bool doc_print_text(const struct doc *d, const struct view_options *o)
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
	return true;
}
