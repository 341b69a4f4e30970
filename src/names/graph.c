/* SPDX-License-Identifier: MIT */
/*
 * Control-flow graphs into and out of a store. A store has the code itself, so that graphs can be read
 * where the binaries are not; instructions are decoded again when they are. Edges are stored, because
 * jump tables lie in data that a store does not have.
 *
 * A function that another one jumps into, past its start, is entered there, too: that is known when all
 * graphs are, and the graphs of such functions are built a second time.
 */
#include "names/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define CODE_BYTES_MAX (1u << 24) /* of a function that is read; what is written has less */
#define ROWS_MAX       (1u << 24)

/* ---- Writing ---- */

struct writer {
	struct store *store;
	struct images *images;
	const struct names_function *functions;
	struct cfg **graphs; /* by function; NULL: none, or it is with another one */
	size_t count;
};

/* The function that holds pc; SIZE_MAX: none of them. */
static size_t function_at(const struct writer *w, uint64_t pc)
{
	const size_t after = ARRAY_SEARCH(w->count, i, w->functions[i].start <= pc);

	return after && pc < w->functions[after - 1].end ? after - 1 : SIZE_MAX;
}

static void build_one(struct writer *w, size_t i)
{
	struct cfg *g = cfg_build(w->images, w->functions[i].start);
	size_t home = g ? function_at(w, g->start) : SIZE_MAX;

	if (home == SIZE_MAX)
		home = i;
	if (!w->graphs[home])
		w->graphs[home] = g;
	else
		cfg_free(g);
}

/* Notes where other functions jump into the middle of these ones, and builds their graphs anew. */
static void build_entered(struct writer *w)
{
	bool *entered = x_calloc(w->count + 1, sizeof(*entered));

	for (size_t i = 0; i < w->count; i++) {
		const struct cfg *g = w->graphs[i];

		for (uint32_t k = 0; g && k < g->nedges; k++) {
			const uint64_t to = g->edges[k].kind == CFG_EXIT ? g->edges[k].callee : 0;
			const size_t other = to ? function_at(w, to) : SIZE_MAX;

			if (other == SIZE_MAX || to == w->functions[other].start)
				continue;
			cfg_note_entry(w->images, to);
			entered[other] = true;
		}
	}
	for (size_t i = 0; i < w->count; i++) {
		if (!entered[i] || !w->graphs[i])
			continue;
		cfg_free(w->graphs[i]);
		w->graphs[i] = NULL;
		build_one(w, i);
	}
	free(entered);
}

static bool put_code(const struct writer *w, int64_t id, uint64_t start, uint64_t end,
		     struct err *e)
{
	unsigned machine;
	const uint8_t *bytes = images_code(w->images, start, end - start, &machine);

	return !bytes || store_insert(w->store, e, "graph_code", "iiib", id, (int64_t)start,
				      (int64_t)machine, bytes, (size_t)(end - start));
}

static bool put_graph(const struct writer *w, int64_t id, const struct cfg *g, struct err *e)
{
	bool ok = store_insert(w->store, e, "graph_function", "iii", id, (int64_t)g->start,
			       (int64_t)g->missing);
	uint64_t start = g->blocks[0].start, end = start;

	for (uint32_t i = 0; ok && i < g->nblocks; i++) {
		const struct cfg_block *b = &g->blocks[i];

		ok = store_insert(w->store, e, "graph_block", "iiiii", id, (int64_t)b->start,
				  (int64_t)b->end, (int64_t)b->flags, (int64_t)b->callee);
		if (ok && b->start > end) {
			ok = put_code(w, id, start, end, e);
			start = b->start;
		}
		end = max_u64(end, b->end);
	}
	ok = ok && put_code(w, id, start, end, e);
	for (uint32_t i = 0; ok && i < g->nedges; i++) {
		const struct cfg_edge *at = &g->edges[i];

		ok = store_insert(
		    w->store, e, "graph_edge", "iiiii", id,
		    at->from == CFG_OUTSIDE ? (int64_t)-1 : (int64_t)g->blocks[at->from].start,
		    at->to == CFG_OUTSIDE ? (int64_t)-1 : (int64_t)g->blocks[at->to].start,
		    (int64_t)at->kind, (int64_t)at->callee);
	}
	return ok;
}

bool names_graph_write(struct store *store, struct images *images,
		       const struct names_function *functions, size_t count, struct err *e)
{
	struct writer w = { .store = store,
			    .images = images,
			    .functions = functions,
			    .graphs = x_calloc(count + 1, sizeof(struct cfg *)),
			    .count = count };
	bool ok = true;

	for (size_t i = 0; i < count; i++)
		build_one(&w, i);
	build_entered(&w);
	for (size_t i = 0; i < count; i++) {
		if (ok && w.graphs[i])
			ok = put_graph(&w, functions[i].id, w.graphs[i], e);
		cfg_free(w.graphs[i]);
	}
	free(w.graphs);
	return ok;
}

/* ---- Reading ---- */

struct piece {
	uint64_t start;
	size_t size, at; /* at: in reader.bytes */
};

struct reader {
	struct store *store;
	int64_t function;
	unsigned machine;
	struct piece *pieces;
	size_t npieces;
	uint8_t *bytes;
	size_t nbytes, room;
	struct cfg_inst *insts;
	struct cfg_block *blocks;
	struct cfg_edge *edges;
	uint32_t ninsts, nblocks, nedges;
};

static bool damaged(const struct reader *r, struct err *e, const char *what)
{
	return err_set(
	    e, "%s: the graph of function %" PRId64 " is damaged: %s; make the profile anew",
	    store_path(r->store), r->function, what);
}

static bool read_code(struct reader *r, struct err *e)
{
	struct store_rows rows = store_query(
	    r->store,
	    "SELECT start, machine, bytes FROM graph_code WHERE function = ?1 ORDER BY start", "i",
	    r->function);
	bool ok = true;

	while (ok && store_next(&rows)) {
		size_t size;
		const void *bytes = store_blob(&rows, 2, &size);
		const int64_t machine = store_int(&rows, 1);

		ok = size && size <= CODE_BYTES_MAX - r->nbytes && machine > 0 &&
		     machine <= UINT16_MAX && (!r->npieces || machine == (int64_t)r->machine);
		if (!ok)
			break;
		r->machine = (unsigned)machine;
		*ARRAY_ADD(r->pieces, r->npieces) =
		    (struct piece){ (uint64_t)store_int(&rows, 0), size, r->nbytes };
		ARRAY_ROOM(r->bytes, r->room, r->nbytes + size);
		memcpy(r->bytes + r->nbytes, bytes, size);
		r->nbytes += size;
	}
	return store_done(&rows, e) && (ok || damaged(r, e, "its code has no bytes"));
}

/* Decodes one block. */
static bool decode_block(struct reader *r, struct cfg_block *b)
{
	const size_t after = ARRAY_SEARCH(r->npieces, i, r->pieces[i].start <= b->start);
	const struct piece *p = after ? &r->pieces[after - 1] : NULL;

	if (!p || b->end <= b->start || b->start - p->start >= p->size ||
	    b->end - b->start > p->size - (b->start - p->start))
		return false;
	b->first = r->ninsts;
	for (uint64_t pc = b->start; pc < b->end;) {
		const struct cfg_inst *before = r->ninsts ? &r->insts[r->ninsts - 1] : NULL;
		struct cfg_inst in;

		if (!cfg_decode(r->machine, r->bytes + p->at + (pc - p->start), b->end - pc, pc,
				before, &in))
			return false;
		*ARRAY_ADD(r->insts, r->ninsts) = in;
		pc += in.size_bytes;
	}
	b->count = r->ninsts - b->first;
	return true;
}

static bool read_blocks(struct reader *r, struct err *e)
{
	struct store_rows rows =
	    store_query(r->store,
			"SELECT start, end, flags, callee FROM graph_block WHERE function = ?1"
			" ORDER BY start",
			"i", r->function);
	bool ok = true;

	while (ok && store_next(&rows)) {
		struct cfg_block b = { .start = (uint64_t)store_int(&rows, 0),
				       .end = (uint64_t)store_int(&rows, 1),
				       .flags = (uint32_t)store_int(&rows, 2),
				       .callee = (uint64_t)store_int(&rows, 3) };

		/* overlapping blocks have their bytes twice: no more than that */
		ok = r->nblocks < ROWS_MAX && r->ninsts <= CODE_BYTES_MAX && decode_block(r, &b);
		if (ok)
			*ARRAY_ADD(r->blocks, r->nblocks) = b;
	}
	return store_done(&rows, e) && (ok || damaged(r, e, "a block has no code"));
}

static bool block_at(const struct reader *r, int64_t start, uint32_t *block)
{
	const size_t b = ARRAY_SEARCH(r->nblocks, i, r->blocks[i].start < (uint64_t)start);

	*block = start == -1 ? CFG_OUTSIDE : (uint32_t)b;
	return start == -1 || (b < r->nblocks && r->blocks[b].start == (uint64_t)start);
}

static bool read_edges(struct reader *r, struct err *e)
{
	struct store_rows rows = store_query(
	    r->store, "SELECT source, target, kind, callee FROM graph_edge WHERE function = ?1",
	    "i", r->function);
	bool ok = true;

	while (ok && store_next(&rows)) {
		struct cfg_edge at = { .callee = (uint64_t)store_int(&rows, 3) };
		const int64_t kind = store_int(&rows, 2);

		ok = r->nedges < ROWS_MAX && kind >= 0 && kind < CFG_KINDS &&
		     block_at(r, store_int(&rows, 0), &at.from) &&
		     block_at(r, store_int(&rows, 1), &at.to);
		at.kind = (uint8_t)kind;
		if (ok)
			*ARRAY_ADD(r->edges, r->nedges) = at;
	}
	return store_done(&rows, e) && (ok || damaged(r, e, "an edge leads to no block"));
}

/* The function's start and name. */
static bool read_function(const struct reader *r, uint64_t *start, char **name, struct err *e)
{
	struct store_rows rows =
	    store_query(r->store,
			"SELECT g.start, f.name FROM graph_function g LEFT JOIN function f ON"
			" f.id = g.function WHERE g.function = ?1",
			"i", r->function);
	const bool found = store_next(&rows);

	if (found) {
		const char *shown = store_shown(&rows, 1);

		*start = (uint64_t)store_int(&rows, 0);
		*name = x_strdup(shown ? shown : "[unknown]");
	}
	return store_done(&rows, e) &&
	       (found || err_set(e,
				 "%s: function %" PRId64 " has no graph; profile it with samples"
				 " for calc",
				 store_path(r->store), r->function));
}

struct cfg *names_graph_read(struct store *store, int64_t function, struct err *e)
{
	struct reader r = { .store = store, .function = function };
	struct err why = { "" };
	uint64_t start = 0;
	char *name = NULL;
	struct cfg *g = NULL;

	if (read_function(&r, &start, &name, e) && read_code(&r, e) && read_blocks(&r, e) &&
	    read_edges(&r, e)) {
		g = cfg_assemble(start, name, r.insts, r.ninsts, r.blocks, r.nblocks, r.edges,
				 r.nedges, &why);
		r.insts = NULL;
		r.blocks = NULL;
		r.edges = NULL;
		if (!g)
			damaged(&r, e, why.text);
	}
	free(r.insts);
	free(r.blocks);
	free(r.edges);
	free(r.pieces);
	free(r.bytes);
	free(name);
	return g;
}

bool names_graph_each(struct store *store,
		      bool (*fn)(void *context, int64_t function, const char *image,
				 const char *name, uint64_t start),
		      void *context, struct err *e)
{
	struct store_rows rows = store_query(
	    store,
	    "SELECT g.function, i.name, f.name, g.start FROM graph_function g LEFT JOIN function f "
	    "ON"
	    " f.id = g.function LEFT JOIN image i ON i.id = f.image ORDER BY g.function",
	    "");
	bool more = true;

	while (more && store_next(&rows)) {
		/* store_shown gives one text at a time */
		char *image = x_strdup(store_is_null(&rows, 1) ? "" : store_shown(&rows, 1));
		char *name =
		    x_strdup(store_is_null(&rows, 2) ? "[unknown]" : store_shown(&rows, 2));

		more = fn(context, store_int(&rows, 0), image, name, (uint64_t)store_int(&rows, 3));
		free(image);
		free(name);
	}
	return store_done(&rows, e);
}
