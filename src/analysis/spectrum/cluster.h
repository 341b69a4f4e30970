/* SPDX-License-Identifier: MIT */
/*
 * Clusters of misses and what each cost (puzak2007 sections 2 and 3).
 *
 * A cluster is a maximal stretch of time with at least one miss in progress; intervals [begin, end)
 * that touch are joined. Its infimum is the youngest right-path instruction dispatched before its
 * first miss began, its supremum the first instruction to commit at or after the end of its last
 * miss. On an out-of-order machine the supremum may be older than the infimum. Two clusters are
 * merged unless the infimum of the second comes after the supremum of the first in program order
 * and is dispatched no earlier than that supremum commits.
 *
 *   cost  (commit of the supremum - dispatch of the infimum), minus the same on the twin
 *   net   growth of the lag from the last commit before the cluster began to the end of its
 *         recovery: some ROBs (SPECTRUM_RECOVERY) beyond the youngest instruction dispatched before
 *         its last miss ended, or the last commit before the next cluster begins
 *
 * The lag of an instruction is its commit minus its commit on the twin. Changes of the lag outside
 * of clusters are drift; changes in clusters that an edge of the region cuts are head and tail. By
 * construction
 *
 *   sum of net + drift + head + tail = lag at the end - lag at the begin of the region.
 *
 * Misses are passed in order of begin, then seq, each once an instruction that was dispatched at or
 * after its begin has committed.
 */
#ifndef ANALYSIS_SPECTRUM_CLUSTER_H
#define ANALYSIS_SPECTRUM_CLUSTER_H

#include "analysis/spectrum/loads.h"
#include "analysis/spectrum/sample.h"
#include "analysis/spectrum/stamps.h"
#include "analysis/spectrum/theory.h"

enum spectrum_measure { MEASURE_COST, MEASURE_NET, MEASURES };

#define KIND_MIXED MISS_KINDS /* kind of a cluster with misses of several kinds */

/* Each size up to this has a row of its own; larger ones share rows by powers of two. */
#define SIZE_EXACT 64
#define SIZE_ROWS  (SIZE_EXACT + 64)
unsigned size_row(uint64_t size);
/* The smallest size of a row. */
uint64_t size_of_row(unsigned row);

struct cluster {
	uint64_t begin, end;
	uint64_t size;
	uint64_t level[SPECTRUM_LEVELS]; /* misses that each level served */
	uint8_t pattern[SPECTRUM_SIZES]; /* levels of the first misses */
	uint8_t kind;			 /* enum miss_kind, or KIND_MIXED */
	bool head;			 /* began before the region, or before any instruction */
	bool cut;			 /* a miss was in progress when the run ended */
	uint64_t infimum, infimum_dispatch, infimum_twin;
	int64_t lag_before;
	/* Known once the instructions have come; all for the present value of `end`. */
	bool has_supremum, has_recovery, recovered;
	uint64_t supremum, supremum_commit, supremum_twin;
	uint64_t recovery; /* instruction that ends the recovery */
	uint64_t recovery_commit;
	int64_t recovery_lag;
};

struct size_sums {
	uint64_t clusters, misses, level[SPECTRUM_LEVELS];
	int64_t cost, net;
};

struct clusters {
	struct stamps *stamps;
	uint32_t recovery; /* instructions that one lasts at most */
	uint64_t region;   /* first cycle */
	struct cluster now;
	bool open;
	bool lag_known;
	int64_t lag; /* lag that is accounted for, before the open cluster */

	struct size_sums sizes[SIZE_ROWS];
	uint64_t largest;
	uint64_t merged;	   /* clusters joined because of infimum and supremum */
	uint64_t cut, cut_misses;  /* clusters at edges */
	uint64_t longer_than_kept; /* clusters that began before the oldest stamp that was kept */
	int64_t cost, net, drift, head, tail, adder;
	uint64_t clusters, misses, level[SPECTRUM_LEVELS];
	uint64_t zero, negative; /* clusters whose net cost is zero; negative */
	struct tally bins;	 /* bin_key */
	struct loads loads;
	struct samples *samples; /* NULL: no sample is taken */
};

/* A cell of the spectrograms. Pattern: two bits a miss, the first the highest; 0 beyond
 * SPECTRUM_PATTERNS misses. */
static inline uint64_t bin_key(unsigned measure, unsigned size, unsigned kind, unsigned pattern,
			       int16_t bin)
{
	return (uint64_t)measure << 48 | (uint64_t)size << 40 | (uint64_t)kind << 32 |
	       (uint64_t)pattern << 16 | (uint16_t)(bin + 32768);
}
struct bin_parts {
	unsigned measure, size, kind, pattern;
	int16_t bin;
};
static inline struct bin_parts bin_parts(uint64_t key)
{
	return (struct bin_parts){ (unsigned)(key >> 48), (unsigned)(key >> 40 & 0xff),
				   (unsigned)(key >> 32 & 0xff), (unsigned)(key >> 16 & 0xffff),
				   (int16_t)((int)(key & 0xffff) - 32768) };
}

void clusters_init(struct clusters *c, struct stamps *stamps, uint32_t recovery);
void clusters_free(struct clusters *c);
/* Begins a region with this cycle, before any of its instructions. */
void clusters_begin(struct clusters *c, uint64_t cycle);
/* Adds a miss. level: that served it, 0 the nearest. */
void clusters_miss(struct clusters *c, const struct rec_miss *m, unsigned level);
/* Call it when more instructions have come: it notes what the open cluster needs of them. */
void clusters_settle(struct clusters *c);
/* Ends the region before this cycle. */
void clusters_end(struct clusters *c, uint64_t cycle);

#endif
