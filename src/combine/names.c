/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses. All points are of one run, so an address means the same at all of them; what
 * differs is which functions took time there and so have names. The union is taken, what the first
 * point says of an address counts, and rows are numbered by address.
 */
#include <stdlib.h>
#include <string.h>

#include "combine/combine_int.h"
#include "util/array.h"

static const struct rule sets[] = {
	{ "image", "kkkkkk", .primary = 6 },	/* path, name, build-id, start, end, bias */
	{ "function", "kkkkkk", .primary = 6 }, /* image, name, start, end, file, line */
	{ "block", "kkk", .primary = 3 },	/* function, start, end */
	{ "instruction", "k", .primary = 1 },	/* pc */
	{ "inlined", "kkkkk", .primary = 5 },	/* pc, depth, name, file, line */
	{ "graph_function", "k", .primary = 1 },
};

static const struct {
	const char *table, *columns, *types;
	int numbers;
	bool bytes;
} graph_tables[] = {
	{ "graph_function", "start, missing", "iii", 2, false },
	{ "graph_code", "start, machine, bytes", "iiib", 2, true },
	{ "graph_block", "start, end, flags, callee", "iiiii", 4, false },
	{ "graph_edge", "source, target, kind, callee", "iiiii", 4, false },
};

void names_init(struct combine_names *n)
{
	memset(n, 0, sizeof(*n));
	table_init(&n->images, &sets[0]);
	table_init(&n->functions, &sets[1]);
	table_init(&n->blocks, &sets[2]);
	table_init(&n->insts, &sets[3]);
	table_init(&n->inlined, &sets[4]);
	table_init(&n->graphed, &sets[5]);
}

void names_close(struct combine_names *n)
{
	table_free(&n->images);
	table_free(&n->functions);
	table_free(&n->blocks);
	table_free(&n->insts);
	table_free(&n->inlined);
	table_free(&n->graphed);
	for (size_t i = 0; i < n->ngraphs; i++)
		free(n->graphs[i].bytes);
	free(n->graphs);
	free(n->inst);
	free(n->image_id);
	free(n->function_id);
}

/* A text's number; -1 for NULL. */
static int64_t text_of(struct texts *texts, const struct store_rows *r, int column)
{
	const char *text = store_text(r, column);

	return text ? texts_number(texts, text) : -1;
}

static const char *shown(const struct texts *texts, int64_t text)
{
	return text < 0 ? NULL : texts->text[text];
}

/* Which of our rows the rows of a point's table are, by their ids. */
struct map {
	int64_t *id, *row;
	size_t count, rows;
};

static void map_add(struct map *m, int64_t id, size_t row)
{
	*ARRAY_ADD(m->id, m->count) = id;
	*ARRAY_ADD(m->row, m->rows) = (int64_t)row;
}

/* Ids were read in ascending order. */
static int64_t map_find(const struct map *m, int64_t id)
{
	const size_t at = ARRAY_SEARCH(m->count, i, m->id[i] < id);

	return at < m->count && m->id[at] == id ? m->row[at] : -1;
}

static void map_free(struct map *m)
{
	free(m->id);
	free(m->row);
}

static bool take_images(struct combine_names *n, struct texts *texts, struct store *s,
			struct map *map, struct err *e)
{
	struct store_rows r = store_query(
	    s, "SELECT id, path, name, build_id, start, end, bias FROM image ORDER BY id", "");

	while (store_next(&r)) {
		const int64_t keys[] = { text_of(texts, &r, 1), text_of(texts, &r, 2),
					 text_of(texts, &r, 3), store_int(&r, 4),
					 store_int(&r, 5),	store_int(&r, 6) };

		map_add(map, store_int(&r, 0), table_row(&n->images, keys));
	}
	return store_done(&r, e);
}

static bool take_functions(struct combine_names *n, struct texts *texts, struct store *s,
			   const struct map *images, struct map *map, struct err *e)
{
	struct store_rows r = store_query(
	    s, "SELECT id, image, name, start, end, file, line FROM function ORDER BY id", "");

	while (store_next(&r)) {
		const int64_t keys[] = { map_find(images, store_int(&r, 1)),
					 text_of(texts, &r, 2),
					 store_int(&r, 3),
					 store_int(&r, 4),
					 text_of(texts, &r, 5),
					 store_int(&r, 6) };

		map_add(map, store_int(&r, 0), table_row(&n->functions, keys));
	}
	return store_done(&r, e);
}

static bool take_insts(struct combine_names *n, struct texts *texts, struct store *s,
		       const struct map *functions, struct err *e)
{
	struct map blocks = { 0 };
	struct store_rows r =
	    store_query(s, "SELECT id, function, start, end FROM block ORDER BY id", "");
	const size_t known = n->insts.count;

	while (store_next(&r)) {
		const int64_t keys[] = { map_find(functions, store_int(&r, 1)), store_int(&r, 2),
					 store_int(&r, 3) };

		map_add(&blocks, store_int(&r, 0), table_row(&n->blocks, keys));
	}

	bool ok = store_done(&r, e);

	r = store_query(
	    s, "SELECT pc, function, block, word, disasm, file, line, class FROM instruction", "");
	while (ok && store_next(&r)) {
		const int64_t pc = store_int(&r, 0);

		if (table_row(&n->insts, &pc) < n->ninst)
			continue;
		*ARRAY_ADD(n->inst, n->ninst) = (struct names_inst){
			.function = map_find(functions, store_int(&r, 1)),
			.block = map_find(&blocks, store_int(&r, 2)),
			.word = store_int(&r, 3),
			.disasm = text_of(texts, &r, 4),
			.file = text_of(texts, &r, 5),
			.line = store_int(&r, 6),
			.class = text_of(texts, &r, 7),
		};
	}
	map_free(&blocks);
	ok = store_done(&r, e) && ok;
	r = store_query(s, "SELECT pc, depth, name, file, line FROM inlined", "");
	while (ok && store_next(&r)) {
		const int64_t keys[] = { store_int(&r, 0), store_int(&r, 1), text_of(texts, &r, 2),
					 text_of(texts, &r, 3), store_int(&r, 4) };

		/* of instructions that were not known before */
		if (table_row(&n->insts, keys) >= known && n->insts.count == n->ninst)
			table_row(&n->inlined, keys);
	}
	return store_done(&r, e) && ok;
}

static bool take_graph(struct combine_names *n, struct store *s, int64_t id, int64_t row,
		       struct err *e)
{
	bool ok = true;

	for (int t = 0; ok && t < (int)ARRAY_LEN(graph_tables); t++) {
		char *sql = x_asprintf("SELECT %s FROM %s WHERE function = ?1",
				       graph_tables[t].columns, graph_tables[t].table);
		struct store_rows r = store_query(s, sql, "i", id);

		free(sql);
		while (store_next(&r)) {
			struct names_graph *g = ARRAY_ADD(n->graphs, n->ngraphs);

			*g = (struct names_graph){ .function = row, .table = t };
			for (int i = 0; i < graph_tables[t].numbers; i++)
				g->numbers[i] = store_int(&r, i);
			if (graph_tables[t].bytes) {
				const void *bytes = store_blob(&r, 2, &g->size_bytes);

				g->bytes = x_malloc(g->size_bytes + 1);
				if (bytes)
					memcpy(g->bytes, bytes, g->size_bytes);
			}
		}
		ok = store_done(&r, e);
	}
	return ok;
}

static bool take_graphs(struct combine_names *n, struct store *s, const struct map *functions,
			struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT function FROM graph_function ORDER BY function", "");
	bool ok = true;

	while (ok && store_next(&r)) {
		const int64_t id = store_int(&r, 0), row = map_find(functions, id);
		const size_t before = n->graphed.count;

		if (row >= 0 && table_row(&n->graphed, &row) == before)
			ok = take_graph(n, s, id, row, e);
	}
	return store_done(&r, e) && ok;
}

bool names_take(struct combine_names *n, struct texts *texts, struct store *point, struct err *e)
{
	struct map images = { 0 }, functions = { 0 };
	bool ok = take_images(n, texts, point, &images, e) &&
		  take_functions(n, texts, point, &images, &functions, e) &&
		  take_insts(n, texts, point, &functions, e) &&
		  take_graphs(n, point, &functions, e);

	map_free(&images);
	map_free(&functions);
	return ok;
}

int64_t names_function_of(struct combine_names *n, uint64_t pc)
{
	const int64_t key = (int64_t)pc;
	const size_t row = table_row(&n->insts, &key);

	return row < n->ninst ? n->inst[row].function : -1;
}

/* ---- writing ---- */

struct placed {
	int64_t at[3]; /* what decides the order */
	size_t row;
};

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	for (unsigned i = 0; i < ARRAY_LEN(x->at); i++)
		if (x->at[i] != y->at[i])
			return (uint64_t)x->at[i] < (uint64_t)y->at[i] ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* The rows of a set in the order of three of their keys; the caller frees. */
static struct placed *in_order(const struct table *t, unsigned first, unsigned second,
			       unsigned third)
{
	struct placed *order = x_malloc((t->count + 1) * sizeof(*order));

	for (size_t i = 0; i < t->count; i++) {
		const int64_t *k = &t->keys[i * t->nkeys];

		order[i] = (struct placed){ { k[first], k[second], k[third] }, i };
	}
	qsort(order, t->count, sizeof(*order), by_place);
	return order;
}

static bool write_images(struct combine_names *n, const struct texts *texts, struct store *out,
			 struct err *e)
{
	struct placed *order = in_order(&n->images, 3, 4, 5);
	bool ok = true;

	n->image_id = x_malloc((n->images.count + 1) * sizeof(*n->image_id));
	for (size_t i = 0; ok && i < n->images.count; i++) {
		const int64_t *k = &n->images.keys[order[i].row * n->images.nkeys];

		n->image_id[order[i].row] = (int64_t)i;
		ok = store_insert(out, e, "image", "isssiii", (int64_t)i, shown(texts, k[0]),
				  shown(texts, k[1]), shown(texts, k[2]), k[3], k[4], k[5]);
	}
	free(order);
	return ok;
}

static bool write_functions(struct combine_names *n, const struct texts *texts, struct store *out,
			    struct err *e)
{
	struct placed *order = in_order(&n->functions, 2, 3, 0);
	bool ok = true;

	n->function_id = x_malloc((n->functions.count + 1) * sizeof(*n->function_id));
	for (size_t i = 0; ok && i < n->functions.count; i++) {
		const int64_t *k = &n->functions.keys[order[i].row * n->functions.nkeys];

		n->function_id[order[i].row] = (int64_t)i;
		ok = store_insert(out, e, "function", "iisiisi", (int64_t)i,
				  k[0] < 0 ? (int64_t)-1 : n->image_id[k[0]], shown(texts, k[1]),
				  k[2], k[3], shown(texts, k[4]), k[5]);
	}
	free(order);
	return ok;
}

static int64_t id_of(const int64_t *ids, int64_t row)
{
	return row < 0 ? -1 : ids[row];
}

static bool write_insts(struct combine_names *n, const struct texts *texts, struct store *out,
			struct err *e)
{
	struct placed *order = in_order(&n->blocks, 1, 2, 0);
	int64_t *block_id = x_malloc((n->blocks.count + 1) * sizeof(*block_id));
	bool ok = true;

	for (size_t i = 0; ok && i < n->blocks.count; i++) {
		const int64_t *k = &n->blocks.keys[order[i].row * n->blocks.nkeys];

		block_id[order[i].row] = (int64_t)i;
		ok = store_insert(out, e, "block", "iiii", (int64_t)i, id_of(n->function_id, k[0]),
				  k[1], k[2]);
	}
	free(order);
	order = in_order(&n->insts, 0, 0, 0);
	for (size_t i = 0; ok && i < n->insts.count; i++) {
		const struct names_inst *in = &n->inst[order[i].row];

		if (order[i].row < n->ninst)
			ok = store_insert(out, e, "instruction", "iiiissis", order[i].at[0],
					  id_of(n->function_id, in->function),
					  id_of(block_id, in->block), in->word,
					  shown(texts, in->disasm), shown(texts, in->file),
					  in->line, shown(texts, in->class));
	}
	free(order);
	free(block_id);
	order = in_order(&n->inlined, 0, 1, 2);
	for (size_t i = 0; ok && i < n->inlined.count; i++) {
		const int64_t *k = &n->inlined.keys[order[i].row * n->inlined.nkeys];

		ok = store_insert(out, e, "inlined", "iissi", k[0], k[1], shown(texts, k[2]),
				  shown(texts, k[3]), k[4]);
	}
	free(order);
	return ok;
}

static bool write_graphs(struct combine_names *n, struct store *out, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < n->ngraphs; i++) {
		const struct names_graph *g = &n->graphs[i];
		const char *table = graph_tables[g->table].table,
			   *types = graph_tables[g->table].types;
		const int64_t f = n->function_id[g->function], *v = g->numbers;

		if (graph_tables[g->table].bytes)
			ok = store_insert(out, e, table, types, f, v[0], v[1], g->bytes,
					  g->size_bytes);
		else
			ok = store_insert(out, e, table, types, f, v[0], v[1], v[2], v[3]);
	}
	return ok;
}

bool names_write(struct combine_names *n, const struct texts *texts, struct store *out,
		 struct err *e)
{
	return write_images(n, texts, out, e) && write_functions(n, texts, out, e) &&
	       write_insts(n, texts, out, e) && write_graphs(n, out, e);
}
