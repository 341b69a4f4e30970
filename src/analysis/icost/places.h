/* SPDX-License-Identifier: MIT */
/* Which functions the costs of singles and pairs of categories lie in. */
#ifndef ANALYSIS_ICOST_PLACES_H
#define ANALYSIS_ICOST_PLACES_H

#include "analysis/icost/graph.h"
#include "image/image.h"
#include "store/store.h"

struct places;

struct places *places_new(void);
void places_free(struct places *p);
/* Adds the instructions to the graph, and what each adds to every lane to its place. */
void places_add(struct places *p, struct graph *g, const struct graph_inst *in, const uint64_t *pcs,
		size_t count);
/* Scaled to a run of so many cycles; by function if images are there, else by instruction. */
bool places_store(struct places *p, struct store *store, struct images *images, uint64_t cycles,
		  struct err *e);

#endif
