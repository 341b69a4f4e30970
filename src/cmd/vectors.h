/* SPDX-License-Identifier: MIT */
/*
 * Runs a guest functionally and gives its basic block vectors: as rows for choosing points, as a file,
 * or both. How often every instruction ran is known afterwards: guest_visit_blocks (guest/guest.h).
 */
#ifndef CMD_VECTORS_H
#define CMD_VECTORS_H

#include "guest/guest.h"
#include "sampling/bb.h"
#include "sampling/sampling.h"

struct vectors_options {
	uint64_t interval;  /* instructions */
	uint64_t max_insts; /* the run ends here; 0: no limit */
	bool data;	    /* with the data part */
	bool partial;	    /* what a crashed or interrupted program ran is a result, too */
	bool rows;	    /* fill struct vectors.intervals: */
	unsigned dims;
	uint64_t seed;
	const char *file; /* .bb or .bb.gz to write; NULL: none */
	bool (*stop)(
	    void); /* asked after each interval; true ends the run as interrupted. NULL: never */
	/* Called after each interval, to show progress; NULL: not. */
	void (*progress)(void *ctx, uint64_t insts);
	void *progress_ctx;
};

struct vectors {
	struct intervals intervals; /* if rows were wanted; the caller frees (intervals_free) */
	uint64_t insts;		    /* of the run */
	uint64_t count;		    /* intervals */
	uint64_t blocks;	    /* static blocks that ran */
	enum guest_status status;   /* GUEST_RUNNING: max_insts or stop ended it */
	bool stopped;
};

/* g has not run yet. False and e filled if a file cannot be written, the program was killed by a signal
 * or the run stopped (unless partial); then nothing is under the file's name. */
bool vectors_run(struct guest *g, const struct vectors_options *o, struct vectors *out,
		 struct err *e);

#endif
