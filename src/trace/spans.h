/* SPDX-License-Identifier: MIT */
/*
 * Which records of misses and of a twin belong to the regions of a run. Both may come in other
 * batches than the cycles and instructions that they concern: a miss comes when it ends, a twin's
 * stamp before or after its instruction.
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
	struct span *span; /* stretches that were inside regions, in order */
	size_t count;
	/* All cycles below this, and instructions below seen_po, have been seen, inside regions
	 * or not. */
	uint64_t seen_cycle;
	uint64_t seen_po;
	struct rec_twin *held; /* stamps of instructions that have not been seen */
	size_t nheld, capacity;
};

/* Notes the spans of a batch that was cut into slices. */
void spans_add(struct spans *s, const struct rec_cycle *cycles, size_t ncycles,
	       const struct rec_inst *insts, size_t ninsts, const struct trigger_slice *slices,
	       size_t nslices);
/* Filters misses in place: keeps those that were in progress within a region and those that end in
 * a cycle that has not been seen. Returns how many. */
size_t spans_misses(const struct spans *s, struct rec_miss *misses, size_t count);
/* Filters *twins, which is enlarged as needed: keeps the stamps of instructions in regions, with
 * those held back because their instructions had not been seen. Returns how many. */
size_t spans_twins(struct spans *s, struct rec_twin **twins, size_t *capacity, size_t count);
void spans_free(struct spans *s);

#endif
