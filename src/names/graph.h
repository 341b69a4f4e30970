/* SPDX-License-Identifier: MIT */
/* Control-flow graphs in a store: tables graph_function, graph_code, graph_block, graph_edge. */
#ifndef NAMES_GRAPH_H
#define NAMES_GRAPH_H

#include "image/cfg.h"
#include "store/store.h"

/* A function as table `function` has it. */
struct names_function {
	int64_t id;
	uint64_t start, end;
};

/*
 * Writes the graphs of these functions, whole, with all of their code; functions are sorted by start and
 * do not overlap. A part that was split off is in the graph of its function, which has the number of
 * the row that the function's start is in, if there is one. Functions without a graph are left out.
 */
bool names_graph_write(struct store *store, struct images *images,
		       const struct names_function *functions, size_t count, struct err *e);

/* The graph of a function of table graph_function; NULL, with a message, if there is none or the store
 * is damaged. The caller frees it with cfg_free. */
struct cfg *names_graph_read(struct store *store, int64_t function, struct err *e);

/* Calls fn for every function that has a graph, in the order of their numbers, until it returns false.
 * Names are safe to show. False: the store could not be read. */
bool names_graph_each(struct store *store,
		      bool (*fn)(void *context, int64_t function, const char *image,
				 const char *name, uint64_t start),
		      void *context, struct err *e);

#endif
