/* SPDX-License-Identifier: MIT */
/*
 * Per static instruction: what its misses, mispredicts and latency cost, slack, how often it is
 * critical, the pairs that interact most, and its function's share in every single and pair of
 * categories. From segments sampled evenly over the run.
 */
#ifndef ANALYSIS_ICOST_STATICS_H
#define ANALYSIS_ICOST_STATICS_H

#include "analysis/icost/segment.h"
#include "store/store.h"

struct statics;

/* One segment in `every` is looked at; 0: none. */
struct statics *statics_new(const struct graph_config *config, uint32_t every);
void statics_free(struct statics *s);
/* The next instructions of the run, in program order. */
void statics_add(struct statics *s, const uint64_t *pcs, const struct graph_inst *in, size_t count);
/* insts and cycles are those of the whole run, to which the samples are scaled. */
bool statics_store(struct statics *s, struct store *store, uint64_t insts, uint64_t cycles,
		   struct err *e);

#endif
