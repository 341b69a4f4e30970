/* SPDX-License-Identifier: MIT */
/*
 * Which records of misses and of a twin belong to the regions of a run. Both come in batches other
 * than the cycles and instructions that they concern: a miss when it ends, a twin's stamps earlier or
 * later than the instruction.
 */
#ifndef TRACE_SPANS_H
#define TRACE_SPANS_H

#include "trace/record.h"
#include "trace/trigger.h"

struct span {
	uint64_t cycle, end_cycle;
	uint64_t po, end_po; /* of committed instructions */
};

struct spans {
	struct span *span; /* what has been inside regions, in order */
	size_t count;
	uint64_t seen_cycle; /* all cycles and instructions below have been seen, inside or not */
	uint64_t seen_po;
	struct rec_twin *held; /* stamps of later ones */
	size_t nheld, capacity;
};

/* Takes note of a batch that was cut into slices. */
void spans_add(struct spans *s, const struct rec_cycle *cycles, size_t ncycles,
	       const struct rec_inst *insts, size_t ninsts, const struct trigger_slice *slices,
	       size_t nslices);
/* Leaves in place the misses that were in progress within a region, and those that end in a cycle
 * that has not been seen; returns how many. */
size_t spans_misses(const struct spans *s, struct rec_miss *misses, size_t count);
/* Leaves in *twins, which is enlarged as needed, the stamps of instructions in regions, among them
 * those that were held because their instructions had not been seen; returns how many. */
size_t spans_twins(struct spans *s, struct rec_twin **twins, size_t *capacity, size_t count);
void spans_free(struct spans *s);

#endif
