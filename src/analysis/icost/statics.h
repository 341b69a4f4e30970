/* SPDX-License-Identifier: MIT */
/*
 * Per static instruction: what its misses, mispredicts and latency cost, its slack, how often it is
 * critical, and the pairs that interact most. From segments sampled evenly over the run.
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
/* Where results go. */
struct statics_tables {
	const char *instruction, *critical, *pair;
	const char *sampled; /* row of table run: instructions that were looked at */
};
/* Stores the results, scaled from the samples to a run of `insts` and `cycles`. */
bool statics_store(struct statics *s, struct store *store, const struct statics_tables *to,
		   uint64_t insts, uint64_t cycles, struct err *e);

#endif
