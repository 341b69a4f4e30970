/* SPDX-License-Identifier: MIT */
/* Builds documents, each a list of nodes; a table is a node that holds rows of cells. */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "view/doc_int.h"

struct doc *doc_new(void)
{
	return x_calloc(1, sizeof(struct doc));
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

static void free_table(struct doc_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->ncells; i++) {
		free(t->cells[i].text);
		free(t->cells[i].parts);
		free(t->cells[i].values);
		free_names(t->cells[i].names, t->cells[i].count);
	}
	free(t->cells);
	for (size_t i = 0; i < t->nbetween; i++)
		free(t->between[i].text);
	free(t->between);
	free(t->hidden);
	free(t->columns);
	free(t);
}

void doc_free(struct doc *d)
{
	for (size_t i = 0; d && i < d->count; i++) {
		struct doc_node *n = &d->nodes[i];

		free(n->key);
		free(n->text);
		free(n->after);
		free(n->parts);
		free_names(n->names, n->count);
		free_table(n->table);
	}
	if (d)
		free(d->nodes);
	free(d);
}

static struct doc_node *add(struct doc *d, enum doc_kind kind, const char *key)
{
	struct doc_node *n = ARRAY_ADD(d->nodes, d->count);

	*n = (struct doc_node){ .kind = kind, .key = key ? x_strdup(key) : NULL };
	return n;
}

/* Fills `to` with the text of the caller's format and arguments. */
#define FORMAT(to, format)                                                                         \
	do {                                                                                       \
		va_list ap;                                                                        \
		va_start(ap, format);                                                              \
		if (vasprintf(&(to), format, ap) < 0)                                              \
			die("out of memory");                                                      \
		va_end(ap);                                                                        \
	} while (0)

void doc_heading(struct doc *d, const char *format, ...)
{
	struct doc_node *n = add(d, NODE_HEADING, NULL);

	FORMAT(n->text, format);
}

void doc_line(struct doc *d, const char *strong, const char *format, ...)
{
	struct doc_node *n = add(d, NODE_LINE, strong);

	FORMAT(n->text, format);
}

void doc_note(struct doc *d, enum term_colour colour, const char *format, ...)
{
	struct doc_node *n = add(d, NODE_NOTE, NULL);

	n->colour = colour;
	FORMAT(n->text, format);
}

void doc_sentence(struct doc *d, const char *label, const char *text, int indent)
{
	struct doc_node *n = add(d, NODE_SENTENCE, label);

	n->text = x_strdup(text);
	n->integer = indent;
}

void doc_blank(struct doc *d)
{
	doc_line(d, NULL, "%s", "");
}

static struct term_part *copy_parts(const struct term_part *parts, size_t count)
{
	struct term_part *copy = x_malloc((count + 1) * sizeof(*copy));

	if (count)
		memcpy(copy, parts, count * sizeof(*copy));
	return copy;
}

void doc_stack(struct doc *d, const char *label, const struct term_part *parts, size_t count,
	       int cells, const char *after)
{
	struct doc_node *n = add(d, NODE_STACK, label);

	n->parts = copy_parts(parts, count);
	n->count = count;
	n->integer = cells;
	n->after = x_strdup(after ? after : "");
}

void doc_legend(struct doc *d, const struct term_part *parts, const char *const *names,
		size_t count)
{
	struct doc_node *n = add(d, NODE_LEGEND, NULL);

	n->parts = copy_parts(parts, count);
	n->names = x_calloc(count + 1, sizeof(*n->names));
	for (size_t i = 0; i < count; i++)
		n->names[i] = x_strdup(names[i]);
	n->count = count;
}

void doc_cells(struct doc *d, const char *label, const struct term_part *parts, size_t count)
{
	struct doc_node *n = add(d, NODE_CELLS, label);

	n->parts = copy_parts(parts, count);
	n->count = count;
}

void doc_object(struct doc *d, const char *key)
{
	add(d, NODE_OBJECT, key);
}

void doc_array(struct doc *d, const char *key)
{
	add(d, NODE_ARRAY, key);
}

void doc_close(struct doc *d)
{
	add(d, NODE_CLOSE, NULL);
}

void doc_text(struct doc *d, const char *key, const char *value)
{
	add(d, NODE_STRING, key)->text = x_strdup(value ? value : "");
}

void doc_format(struct doc *d, const char *key, const char *format, ...)
{
	struct doc_node *n = add(d, NODE_STRING, key);

	FORMAT(n->text, format);
}

void doc_integer(struct doc *d, const char *key, int64_t value)
{
	add(d, NODE_INTEGER, key)->integer = value;
}

void doc_real(struct doc *d, const char *key, double value)
{
	add(d, NODE_REAL, key)->real = value;
}

void doc_boolean(struct doc *d, const char *key, bool value)
{
	add(d, NODE_BOOLEAN, key)->integer = value;
}

void doc_null(struct doc *d, const char *key)
{
	add(d, NODE_NULL, key);
}

struct doc_table *doc_table(struct doc *d, const struct doc_column *columns, size_t count,
			    const struct doc_table_options *o)
{
	struct doc_table *t = x_calloc(1, sizeof(*t));

	add(d, NODE_TABLE, o->key)->table = t;
	t->columns = x_malloc(count * sizeof(*columns));
	memcpy(t->columns, columns, count * sizeof(*columns));
	t->ncolumns = count;
	t->options = *o;
	t->options.key = NULL; /* the node has it */
	return t;
}

void doc_row(struct doc_table *t)
{
	assert(t->ncells == t->nrows * t->ncolumns);
	*ARRAY_ADD(t->hidden, t->nrows) = false;
}

void doc_above(struct doc_table *t, enum term_colour colour, const char *format, ...)
{
	struct doc_between *b = ARRAY_ADD(t->between, t->nbetween);

	*b = (struct doc_between){ .row = t->nrows, .colour = colour };
	FORMAT(b->text, format);
}

void doc_hide(struct doc_table *t)
{
	t->hidden[t->nrows - 1] = true;
}

void doc_gap(struct doc_table *t)
{
	doc_above(t, TERM_PLAIN, "%s", "");
}

static struct doc_cell *add_cell(struct doc_table *t, enum cell_kind kind)
{
	assert(t->ncells < t->nrows * t->ncolumns);
	struct doc_cell *c = ARRAY_ADD(t->cells, t->ncells);

	*c = (struct doc_cell){ .kind = kind };
	return c;
}

static struct doc_cell *last_cell(struct doc_table *t)
{
	assert(t->ncells);
	return &t->cells[t->ncells - 1];
}

void cell_none(struct doc_table *t)
{
	add_cell(t, CELL_NONE);
}

void cell_text(struct doc_table *t, const char *text)
{
	struct doc_cell *c = add_cell(t, text ? CELL_TEXT : CELL_NONE);

	if (text)
		c->text = x_strdup(text);
}

void cell_name(struct doc_table *t, size_t at, size_t bytes)
{
	struct doc_cell *c = &t->cells[t->ncells - 1];

	c->name_at = at;
	c->name_bytes = bytes;
}

void cell_code(struct doc_table *t, const char *text)
{
	const char *from = text ? strstr(text, " <") : NULL, *to = from ? strrchr(from, '>') : NULL,
		   *plus = to ? strrchr(from, '+') : NULL;

	cell_text(t, text);
	if (plus && plus > from + 2 && plus < to) /* the distance stays */
		to = plus;
	if (to && to > from + 2)
		cell_name(t, (size_t)(from + 2 - text), (size_t)(to - from - 2));
	else if (text && *text) /* no name: nothing of it is cut but the end */
		cell_name(t, 0, 1);
}

void cell_format(struct doc_table *t, const char *format, ...)
{
	FORMAT(add_cell(t, CELL_TEXT)->text, format);
}

void cell_words(struct doc_table *t, const char *text)
{
	add_cell(t, CELL_NONE)->text = x_strdup(text);
}

void cell_real(struct doc_table *t, double value)
{
	add_cell(t, CELL_REAL)->real = value;
}

void cell_integer(struct doc_table *t, int64_t value)
{
	add_cell(t, CELL_INTEGER)->integer = value;
}

void cell_boolean(struct doc_table *t, bool value)
{
	add_cell(t, CELL_BOOLEAN)->integer = value;
}

void cell_bar(struct doc_table *t, double share, enum term_colour colour)
{
	struct doc_cell *c = add_cell(t, CELL_BAR);

	c->real = share;
	c->colour = colour;
}

void cell_stack(struct doc_table *t, const struct term_part *parts, size_t count)
{
	struct doc_cell *c = add_cell(t, CELL_STACK);

	c->parts = copy_parts(parts, count);
	c->count = count;
}

void cell_map(struct doc_table *t)
{
	add_cell(t, CELL_MAP);
}

void cell_put(struct doc_table *t, const char *name, double value)
{
	struct doc_cell *c = last_cell(t);

	assert(c->kind == CELL_MAP);
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->names[i], name)) {
			c->values[i] += value;
			return;
		}
	c->names = x_realloc(c->names, (c->count + 1) * sizeof(*c->names));
	c->values = x_realloc(c->values, (c->count + 1) * sizeof(*c->values));
	c->names[c->count] = x_strdup(name);
	c->values[c->count++] = value;
}

void cell_width(struct doc_table *t, int width)
{
	last_cell(t)->width = width;
}

void cell_colour(struct doc_table *t, enum term_colour colour)
{
	last_cell(t)->colour = colour;
}

bool doc_print(const struct doc *d, const struct view_options *o, struct err *e)
{
	static bool (*const printers[])(const struct doc *d, const struct view_options *o) = {
		[VIEW_TEXT] = doc_print_text,
		[VIEW_JSON] = doc_print_json,
		[VIEW_CSV] = doc_print_csv,
	};

	return (printers[o->format](d, o) && !ferror(o->out)) ||
	       err_set(e, "cannot write the output");
}
