/* SPDX-License-Identifier: MIT */
/* How far wrong paths reach ahead, and what of it the right path wants later. */
#ifndef ANALYSIS_ICOST_REACH_H
#define ANALYSIS_ICOST_REACH_H

#include <stdbool.h>
#include <stdint.h>

#define REACH_BRANCHES 64

struct reach {
	struct {
		uint64_t number; /* of the mispredicted branch */
		uint32_t real,
		    larger;	  /* instructions after it, in the real window and the large one */
	} branch[REACH_BRANCHES]; /* the last mispredicted ones */
	unsigned next;
	double tried, found;   /* lines that the right path wanted within reach; that were there */
	uint32_t saved[1024];  /* roots of those, by number */
	uint32_t missed[1024]; /* … of those that remain */
	double owed;	       /* misses that a larger window would have saved, not given out yet */
};

/* A branch mispredicted, after which `fetched` instructions could be fetched and executed before it
 * resolved; the real window has room for `room`. */
void reach_branch(struct reach *s, uint64_t number, uint64_t fetched, uint32_t room,
		  uint32_t larger);
/* A line that would be missed but for wrong paths: was it there? */
void reach_line(struct reach *s, uint64_t number, uint64_t after, bool saved);
/* The number of the miss that gives this address, if it is one; else 0. root: whom it waits for,
 * now: number that it would have as a root itself. */
uint64_t reach_after(const struct reach *s, uint64_t number, uint32_t root, uint32_t now);
/* Whether a miss would be one less with a larger window; what waits for it knows it as `root`. */
bool reach_saves(struct reach *s, uint64_t number, uint64_t after, uint32_t root);
/* Whether that was said of this root. */
bool reach_was_saved(const struct reach *s, uint32_t root);

#endif
