/* SPDX-License-Identifier: MIT */
/*
 * Misses by the static instruction that caused them, and pairs of them. Memory grows with the code
 * that misses, not with the run.
 */
#ifndef ANALYSIS_SPECTRUM_LOADS_H
#define ANALYSIS_SPECTRUM_LOADS_H

#include "analysis/spectrum/tally.h"
#include "analysis/spectrum/theory.h"
#include "trace/record.h"

#define PAIRS_MAX 65536 /* the rest are counted together */

struct load {
	uint64_t pc;
	uint8_t kind; /* enum miss_kind */
	uint64_t misses[SPECTRUM_LEVELS];
	uint64_t wrong;	   /* misses on wrong paths */
	uint64_t isolated; /* misses in clusters of one */
	uint64_t hidden;   /* misses at which the run did not fall behind its twin */
	uint64_t sizes;	   /* sum of the sizes of their clusters */
	int64_t even;	   /* net cost, split evenly among the misses of a cluster */
	int64_t exposed;   /* net cost, split by where the lag grew */
	/* Counts of the open cluster. */
	uint64_t cluster; /* its number */
	uint64_t count, level[SPECTRUM_LEVELS], wrong_now, hidden_now;
	uint64_t weight;
};

/* Two neighbouring misses in a cluster. They overlap if the second began before the first had
 * ended; otherwise they are serial. */
struct load_pair {
	uint32_t first, second; /* indices of loads */
	uint64_t overlapped, serial;
	uint64_t overlapped_cycles; /* cycles in which both were in progress */
	uint64_t serial_cycles;	    /* cycles of the second one */
};

struct loads {
	struct load *load;
	size_t nloads, capacity;
	uint32_t *slot; /* index + 1 by pc and kind; open addressing */
	size_t mask;
	struct load_pair *pair;
	size_t npairs, pair_capacity;
	uint32_t *pair_slot;
	size_t pair_mask;
	uint64_t pairs_left; /* neighbours of pairs beyond PAIRS_MAX */
	struct tally bins;   /* load << 16 | bin of the lag's growth */
	uint32_t *touched;   /* loads of the open cluster */
	size_t ntouched, touched_capacity;
	uint64_t cluster; /* number of the open cluster */
	bool any;	  /* the open cluster has a miss */
	uint32_t last;	  /* load of its last miss */
	uint64_t last_end;
};

void loads_init(struct loads *l);
void loads_free(struct loads *l);
/* Adds a miss of the open cluster, served by `level`. growth: of the lag at its instruction. */
void loads_miss(struct loads *l, const struct rec_miss *m, unsigned level, int64_t growth);
/* Ends the open cluster of `size` misses. counted: it counts in the statistics. */
void loads_close(struct loads *l, uint64_t size, int64_t net, bool counted);

#endif
