/* SPDX-License-Identifier: MIT */
/* How far wrong paths reach ahead, and what of it the right path wants later. */
#ifndef ANALYSIS_ICOST_REACH_H
#define ANALYSIS_ICOST_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/icost/graph.h"

#define REACH_BRANCHES 64

struct reach {
	struct {
		uint64_t number; /* of the mispredicted branch */
		/* instructions after it: in the run, in a larger window, at the idealised width,
		   with both */
		uint32_t real, larger, wide, both;
		uint32_t ahead;	  /* cycles that it is before the right path, at most */
	} branch[REACH_BRANCHES]; /* the last mispredicted ones */
	unsigned next;
	double tried, found;   /* lines that the right path wanted within reach; that were there */
	uint32_t saved[1024];  /* roots of those, by number */
	uint32_t missed[1024]; /* roots that still miss, by number */
	/* misses that a larger window, width, both would have saved, not given out yet */
	double owed[3];
};

/* A branch mispredicted, after which `fetched` instructions could be fetched and executed before it
 * resolved, at the idealised width `wide`, at most `ahead` cycles before the right path; the real
 * window has room for `room`. */
void reach_branch(struct reach *s, uint64_t number, uint64_t fetched, uint64_t wide, uint32_t ahead,
		  uint32_t room, uint32_t larger);
/* A line that would be missed but for wrong paths: was it there, or on its way? */
void reach_line(struct reach *s, uint64_t number, uint64_t after, bool saved);
/* If the address depends on a miss, that miss's instruction number; otherwise 0. root: the load it
 * depends on, now: the number that it would have as a root itself. */
uint64_t reach_after(const struct reach *s, uint64_t number, uint32_t root, uint32_t now);
/* What a miss is: one that a larger window or more bandwidth would save, or CAT_DMISS. *saved: how
 * many of its cycles, at most. What waits for it knows it as `root`. */
enum graph_category reach_saves(struct reach *s, uint64_t number, uint64_t after, uint32_t root,
				uint32_t *saved);
/* Whether this root would be saved by a larger window. */
bool reach_was_saved(const struct reach *s, uint32_t root);

#endif
