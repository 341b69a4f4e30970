/* SPDX-License-Identifier: MIT */
/* Which functions the costs of single categories and of pairs of them lie in. */
#ifndef ANALYSIS_ICOST_PLACES_H
#define ANALYSIS_ICOST_PLACES_H

#include "analysis/icost/graph.h"
#include "image/image.h"
#include "store/store.h"

struct places;

struct places *places_new(void);
void places_free(struct places *p);
/* Adds the instructions to the graph, and the time that each adds to a lane to its place. */
void places_add(struct places *p, struct graph *g, const struct graph_inst *in, const uint64_t *pcs,
		size_t count);
/* Stores the shares, scaled to a run of `cycles`, by function if there are images, else by
 * instruction. */
bool places_store(struct places *p, struct store *store, struct images *images, uint64_t cycles,
		  struct err *e);

#endif
