/* SPDX-License-Identifier: MIT */
/* What guest threads did with the time of the run: ran, waited for each other, or could have run. */
#ifndef ANALYSIS_PROFILE_WAITS_H
#define ANALYSIS_PROFILE_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/waits.h"
#include "util/util.h"

struct store;

/* Time in which one thread had the processor. It ends where the next one begins. */
struct stint {
	uint64_t begin, last_po; /* in cycles of the profile; its last instruction */
	uint32_t tid;
};

struct waits {
	struct stint *stints;
	size_t count, capacity;
	/* When instructions that may have ended a wait committed. */
	struct waits_point {
		uint64_t po, cycle;
	} * points;
	size_t npoints, cap_points;
};

void waits_free(struct waits *w);
/* From this cycle on thread tid has the processor; last_po: the last instruction before it. */
void waits_switch(struct waits *w, uint32_t tid, uint64_t cycle, uint64_t last_po);
/* A system call or page fault commits. */
void waits_note(struct waits *w, uint64_t po, uint64_t cycle);
/* Joins them with the waits that the kernel saw, and writes tables thread_time and thread_wait. */
bool waits_store(const struct waits *w, const struct trace_wait *seen, size_t nseen,
		 uint64_t cycles, struct store *s, struct err *e);

#endif
