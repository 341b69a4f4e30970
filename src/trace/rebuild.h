/* SPDX-License-Identifier: MIT */
/*
 * Cycle records made from the stamps of instructions: for sources that say when each instruction was
 * fetched, dispatched, issued, completed and left, and nothing of cycles.
 *
 *      struct rebuild *r = rebuild_new(out);
 *      … rebuild_add(r, &record, &flush, &e) for every instruction in the order of fetch …
 *      rebuild_end(r);
 */
#ifndef TRACE_REBUILD_H
#define TRACE_REBUILD_H

#include "trace/emit.h"
#include "util/util.h"

/* More instructions than this are never in flight together. */
#define REBUILD_FLIGHT_MAX 65536
/* No more commit in one cycle: gem5's O3 core has at most 12 of them. */
#define REBUILD_WIDTH 16

/* Why instructions were thrown away, or the front end began anew. */
struct rebuild_flush {
	enum flush_cause cause; /* FLUSH_NONE: it was not */
	uint64_t po, pc;	/* the instruction that caused it */
	uint64_t cycle;		/* in which it happened */
};

struct rebuild;

/* Writes to `out` what it wants of both streams, in the order and with the invariants of record.h. */
struct rebuild *rebuild_new(struct emit *out);
/*
 * Adds an instruction. Its `commit` says when it left; it is corrected where an earlier one leaves
 * later. `flush` is of the flush that made fetch begin with it: the first squashed instruction
 * after the cause, or the next that commits if nothing was squashed. False, with what is wrong in e,
 * if more instructions are in flight than can be.
 */
bool rebuild_add(struct rebuild *r, const struct rec_inst *inst, const struct rebuild_flush *flush,
		 struct err *e);
/* Writes all that is left. */
void rebuild_end(struct rebuild *r);
/* The last cycle that was written; 0: none. */
uint64_t rebuild_last(const struct rebuild *r);
void rebuild_free(struct rebuild *r);

#endif
