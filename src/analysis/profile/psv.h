/* SPDX-License-Identifier: MIT */
/*
 * Time and executions by address and all events of the records, numbered in the order in which pairs
 * of the two were first seen; and what commit waited for, by events and length.
 */
#ifndef ANALYSIS_PROFILE_PSV_H
#define ANALYSIS_PROFILE_PSV_H

#include "analysis/profile/cells.h"
#include "machine/machine.h"
#include "store/store.h"

struct psv_time {
	uint64_t pc;
	uint32_t events;
	uint64_t units, executions;
};

struct psv_table {
	struct psv_time *list; /* by number; 0 is not used */
	size_t count;
	uint32_t *index; /* open addressing over list, 0: free */
	size_t mask;
};

void psv_init(struct psv_table *t);
void psv_free(struct psv_table *t);
/* The number of an address with these events, at least 1. */
uint32_t psv_number(struct psv_table *t, uint64_t pc, uint32_t events);

/* Why nothing commits. */
enum psv_wait { WAIT_STALLED, WAIT_FLUSHED, WAIT_DRAINED, PSV_WAITS };

/* Adds a stretch in which nothing commits to those by events, kind and length. */
void psv_wait(struct cells *waits, uint32_t events, enum psv_wait kind, uint64_t cycles);

/* What a set of events explains. */
struct psv_point {
	uint32_t events;
	int event;	     /* the bit that it has more than the point before; -1: none */
	uint64_t stall;	     /* 99% of the stalls without an event of it are at most so long */
	uint64_t idle, bare; /* cycles in which nothing commits; of them without an event of it */
};
void psv_explain(const struct cells *waits, uint32_t events, struct psv_point *out);
/* Sets of 0, 1, … EVENT_COUNT events, each with the event more that leaves least time bare. */
void psv_curve(const struct cells *waits, struct psv_point curve[EVENT_COUNT + 1]);

#endif
