/* SPDX-License-Identifier: MIT */
/*
 * Pipeline spectroscopy (puzak2007): what every cluster of cache misses cost, by comparing each
 * instruction of the run with the same one on a twin with perfect caches. docs/spectrum.md says how
 * to read it.
 */
#ifndef ANALYSIS_SPECTRUM_SPECTRUM_H
#define ANALYSIS_SPECTRUM_SPECTRUM_H

#include "analysis/spectrum/cluster.h"
#include "trace/analysis.h"

#define SPECTRUM_RECOVERY 4 /* ROBs that a recovery lasts at most, if nobody says otherwise */

enum spectrum_clustering {
	CLUSTERS_ALL,	/* every miss */
	CLUSTERS_RIGHT, /* misses of the right path alone, as in the paper's simulators */
	CLUSTERINGS
};

/* Records of the twin that wait for the run's. */
struct queue {
	struct rec_twin *at;
	size_t first, end, capacity;
};

/* A heap of misses, by begin: an earlier one may still come. */
struct miss_heap {
	struct rec_miss *at;
	size_t count, capacity;
	uint64_t settled; /* all misses that began before this cycle have come */
};

struct miss_sums {
	uint64_t misses, wrong, cycles, queue, merged, used;
};

struct spectrum {
	struct trace_meta meta;
	unsigned kinds; /* bits of enum miss_kind that count as misses */
	unsigned nlevels;
	uint8_t level[SPECTRUM_LEVELS];	   /* enum mem_level of each */
	uint32_t latency[SPECTRUM_LEVELS]; /* cycles beyond an L1 hit */

	struct stamps stamps;
	struct queue twins;
	struct miss_heap heap;
	bool inside;	    /* in a region */
	uint64_t next_po;   /* the next instruction of the region */
	uint64_t end_cycle; /* of the last cycle record */
	uint64_t cycles;    /* of all regions */
	uint64_t insts_seen;
	struct clusters clusters[CLUSTERINGS];
	struct samples samples; /* of CLUSTERS_ALL */
	struct miss_sums sums[MISS_KINDS][SPECTRUM_LEVELS];
};

extern const struct analysis spectrum_analysis;

/* Writes the results; spectrum_store.c. */
bool spectrum_store(struct spectrum *s, struct store *store, struct err *e);

#endif
