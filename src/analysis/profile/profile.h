/* SPDX-License-Identifier: MIT */
/*
 * The golden reference and all profilers, in one walk over the records. Exposed for tests; other
 * code attaches profile_analysis to the bus and reads the store.
 */
#ifndef ANALYSIS_PROFILE_PROFILE_H
#define ANALYSIS_PROFILE_PROFILE_H

#include "analysis/profile/cells.h"
#include "analysis/profile/phases.h"
#include "analysis/profile/sampler.h"
#include "analysis/profile/tiphw.h"
#include "analysis/profile/waits.h"
#include "trace/analysis.h"

#define SHARE_WIDTH_MAX	     16	  /* groups up to this size share a cycle exactly evenly */
#define PROFILE_SAMPLERS_MAX 24	  /* at most 32: bits of profile.waiting */
#define STALL_BUCKETS	     4096 /* lengths of event-free stalls, the last one "or more" */

/* The golden reference's tables of one thread. */
struct profile_thread {
	uint32_t tid;
	struct cells cells;
	struct execs execs;
};

/* Counts that only add up. */
struct profile_sums {
	uint64_t stall_length[STALL_BUCKETS]; /* event-free stalls of commit, by length */
	uint64_t with_event, with_combined,
	    with_bits;			       /* executions with one of TEA's events, with several
							 that are independent, with several bits */
	uint64_t event_count[CELL_EVENT_BITS]; /* executions by event */
};

struct profile_shard;

struct profile {
	struct profile_shard *shard; /* batches are seen by several workers (shard.c); or NULL */
	struct trace_meta meta;
	uint64_t scale;		       /* units in a cycle: lcm(1..commit width) */
	uint64_t share[GROUP_MAX + 1]; /* scale / n */
	uint64_t first[GROUP_MAX + 1]; /* what is left of scale for the oldest of n */
	struct cells cells;	   /* golden: time and executions by pc, events, category; while it
					  runs, of the present thread */
	struct execs execs;	   /* executions without events, which go to cells at the end */
	struct cells_later later;  /* the last few stalls, which go to cells when the batch ends */
	struct time_phases phases; /* the same over time */
	uint64_t cycles, insts;

	/* Pending time, in cycles: it goes to the next instruction to commit. */
	uint64_t stalled, drained, excepted, kernel; /* cycles */
	/* Tables of the other threads; in the end of all, if there are several. */
	struct profile_thread *threads;
	size_t nthreads;
	uint32_t tid;	    /* the present thread */
	struct waits waits; /* whose turn it was; empty if there is one thread */
	const struct trace_info *info;
	struct images *const *images;
	uint64_t pending_pc; /* the oldest instruction of those cycles, if any was seen */

	uint64_t last_key, last_po; /* youngest committed instruction: pc and events; number */
	uint64_t next_cycle;	    /* the next record begins here, unless a region ends */

	struct profile_sums sums;

	struct sampler
	    sampler[PROFILE_SAMPLERS_MAX]; /* the first is the user's, the rest are a sweep */
	size_t nsamplers;
	uint64_t next_sample; /* time of the earliest one, over all samplers */
	uint32_t waiting;     /* bit per sampler whose samples wait for an instruction */
	struct tiphw *hw;     /* the hardware beside the first sampler; NULL: not asked for */
	bool pooled;	      /* the first sampler's samples will be pooled by whoever reads them */
	struct rec_cycle last_rec; /* for the sample at the end */
	struct group last_commit;
};

/* How n instructions that commit together share a cycle: scale / n each, and what is left of scale for
 * the oldest; for n up to the commit width. False if that is not in 1..GROUP_MAX. */
bool profile_shares(unsigned commit_width, uint64_t share[GROUP_MAX + 1],
		    uint64_t first[GROUP_MAX + 1], struct err *e);
/* Units in a cycle: lcm(1..commit_width). */
uint64_t profile_scale(unsigned commit_width);
/* Writes everything into the store (profile_store.c). */
bool profile_store(struct profile *p, struct store *store, struct err *e);

extern const struct analysis profile_analysis;

#endif
