/* SPDX-License-Identifier: MIT */
/*
 * Basic block vectors from a stream of executed instructions: what the engine of the guest counts by
 * blocks (guest/engine/vector.h), one instruction at a time. Both give the same vectors.
 */
#ifndef SAMPLING_WALK_H
#define SAMPLING_WALK_H

#include "sampling/bb.h"

struct bb_walk_options {
	uint64_t interval;
	bb_take *take; /* called at the end of each interval */
	void *ctx;
	/* Where pc stands: a file and an offset, or file 0 and an address. NULL: addresses. */
	void (*place)(void *place_ctx, uint64_t pc, uint64_t *file, uint64_t *offset);
	void *place_ctx;
	/* Fills the data part of the interval that ends. NULL: there is none. */
	void (*data)(void *data_ctx, uint64_t counts[BB_DATA]);
	void *data_ctx;
};

struct bb_walk;
struct bb_walk *bb_walk_new(const struct bb_walk_options *o);
void bb_walk_free(struct bb_walk *w);

/* Thread tid has executed the instruction at pc. next_pc: of the instruction behind it. ends: it is
 * the last one of its static block. False: take has failed. */
bool bb_walk_add(struct bb_walk *w, uint32_t tid, uint64_t pc, uint64_t next_pc, bool ends,
		 struct err *e);
/* The run is over: the last interval, unless it is empty. */
bool bb_walk_finish(struct bb_walk *w, struct err *e);
/* Static blocks so far. */
uint64_t bb_walk_blocks(const struct bb_walk *w);

#endif
