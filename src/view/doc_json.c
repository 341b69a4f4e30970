/* SPDX-License-Identifier: MIT */
/* Prints a document as JSON, with an indentation of one and twelve digits everywhere. */
#include <jansson.h>

#include "view/doc_int.h"

#define DEPTH_MAX 16

/* null for what is no text, in bytes that are not UTF-8, or no number. */
static json_t *or_null(json_t *value)
{
	return value ? value : json_null();
}

static json_t *json_cell(const struct doc_cell *c)
{
	json_t *map;

	switch (c->kind) {
	case CELL_TEXT:
		return or_null(json_string(c->text));
	case CELL_REAL:
		return or_null(json_real(c->real));
	case CELL_INTEGER:
		return json_integer((json_int_t)c->integer);
	case CELL_BOOLEAN:
		return json_boolean(c->integer);
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
	json_t *out = json_array();

	for (size_t i = 0; i < t->nrows; i++) {
		const struct doc_cell *cells = &t->cells[i * t->ncolumns];

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
	case NODE_OBJECT:
		return json_object();
	case NODE_ARRAY:
		return json_array();
	case NODE_STRING:
		return or_null(json_string(n->text));
	case NODE_INTEGER:
		return json_integer((json_int_t)n->integer);
	case NODE_REAL:
		return or_null(json_real(n->real));
	case NODE_BOOLEAN:
		return json_boolean(n->integer);
	case NODE_NULL:
		return json_null();
	case NODE_TABLE:
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

		if (n->kind == NODE_CLOSE && depth > 1)
			depth--;
		if (!value)
			continue;
		/* A value without a key and with nothing around it is the top. */
		const bool top = !depth && (!n->key || !*n->key);

		if (!depth)
			open[depth++] = top ? value : json_object();
		if (!top && json_is_array(open[depth - 1]))
			json_array_append_new(open[depth - 1], value);
		else if (!top)
			json_object_set_new(open[depth - 1], n->key, value);
		if (!top && (n->kind == NODE_OBJECT || n->kind == NODE_ARRAY) && depth < DEPTH_MAX)
			open[depth++] = value;
	}
	return depth ? open[0] : json_object();
}

bool doc_print_json(const struct doc *d, const struct view_options *o)
{
	json_t *top = make_json(d);
	const bool ok = !json_dumpf(top, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) &&
			fputc('\n', o->out) != EOF;

	json_decref(top);
	return ok;
}
