/* SPDX-License-Identifier: MIT */
/*
 * The golden reference and all profilers, in one walk over the records. Exposed for tests; everyone
 * else attaches profile_analysis to the bus and reads the store.
 */
#ifndef ANALYSIS_PROFILE_PROFILE_H
#define ANALYSIS_PROFILE_PROFILE_H

#include "analysis/profile/cells.h"
#include "analysis/profile/sampler.h"
#include "trace/analysis.h"

#define SHARE_WIDTH_MAX	     16	  /* groups up to this size share a cycle exactly evenly */
#define PROFILE_SAMPLERS_MAX 24	  /* at most 32: bits of profile.waiting */
#define STALL_BUCKETS	     4096 /* lengths of event-free stalls, the last one "or more" */

struct profile {
	struct trace_meta meta;
	uint64_t scale;		       /* units in a cycle: lcm(1..commit width) */
	uint64_t share[GROUP_MAX + 1]; /* scale / n */
	uint64_t first[GROUP_MAX + 1]; /* what is left of scale for the oldest of n */
	struct cells cells; /* golden: time and executions by pc, events, category; without … */
	struct execs execs; /* … executions without events, until the end, and … */
	struct cells_later later; /* … the last few stalls, until the batch ends */
	uint64_t cycles, insts;

	/* time whose instruction is not known yet: it goes to the next to commit */
	uint64_t stalled, drained, excepted; /* cycles */
	uint64_t pending_pc; /* the oldest instruction of those cycles, if any was seen */

	uint64_t last_key, last_po; /* youngest committed: pc and events */
	uint64_t next_cycle;	    /* where the next record must begin, or a region ends here */

	uint64_t stall_length[STALL_BUCKETS]; /* instructions that stalled commit with no event, by
						 length */
	uint64_t with_event, with_combined; /* executions with one of TEA's events, with several */
	uint64_t event_count[CELL_EVENT_BITS]; /* executions by event */

	struct sampler
	    sampler[PROFILE_SAMPLERS_MAX]; /* the first is the user's, the rest are a sweep */
	size_t nsamplers;
	uint64_t next_sample;	   /* the earliest of any */
	uint32_t waiting;	   /* bit per sampler whose samples wait for an instruction */
	struct rec_cycle last_rec; /* for the sample at the end */
	struct group last_commit;
};

/* Writes everything into the store (profile_store.c). */
bool profile_store(struct profile *p, struct store *store, struct err *e);

extern const struct analysis profile_analysis;

#endif
