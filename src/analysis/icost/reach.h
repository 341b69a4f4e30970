/* SPDX-License-Identifier: MIT */
/* How far wrong paths run ahead, and which lines they fetch that the right path wants later. */
#ifndef ANALYSIS_ICOST_REACH_H
#define ANALYSIS_ICOST_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/icost/graph.h"

#define REACH_BRANCHES 64
#define REACH_UNITS    16

struct reach {
	struct {
		uint64_t number; /* of the mispredicted branch */
		/* instructions of its wrong path: in the run, in a larger window, at the idealised
		   width, with both */
		uint32_t real, larger, wide, both;
		uint32_t
		    ahead; /* cycles by which the wrong path is ahead of the right one, at most */
	} branch[REACH_BRANCHES]; /* the last mispredicted ones */
	unsigned next;
	double tried,
	    found; /* lines that the right path wanted within reach; those that were there */
	uint32_t saved[1024];  /* roots (slots.h) that a larger window saves, by number */
	uint32_t missed[1024]; /* roots that still miss, by number */
	/* saved misses not handed out yet: by a larger window, by width, by both */
	double owed[3];
	/* of the last instructions: how many, and the cycles that each kind of unit was busy with them */
	uint64_t insts, busy[REACH_UNITS];
};

/* The next instruction; busy: the cycles that it has all units of this kind for, 0: none. */
void reach_inst(struct reach *s, unsigned unit, uint64_t busy);
/* How many instructions such as the last ones can execute in so many cycles, by the units alone. */
uint64_t reach_executes(const struct reach *s, uint64_t cycles);

/* A mispredicted branch. Before it resolved, `fetched` instructions of the wrong path could be
 * fetched and executed, `wide` at the idealised width, at most `ahead` cycles before the right path.
 * The window has room for `room` of them, the idealised one for `larger`. */
void reach_branch(struct reach *s, uint64_t number, uint64_t fetched, uint64_t wide, uint32_t ahead,
		  uint32_t room, uint32_t larger);
/* A line that would miss without wrong paths; saved: it was there, or on its way. */
void reach_line(struct reach *s, uint64_t number, uint64_t after, bool saved);
/* If the address depends on a miss, that miss's instruction number; otherwise 0. root: the load that
 * the address depends on; now: the present instruction's own number as a root. */
uint64_t reach_after(const struct reach *s, uint64_t number, uint32_t root, uint32_t now);
/* Whether a larger window or more bandwidth would save a miss: its category, CAT_DMISS if neither
 * would. *saved: how many of its cycles, at most. root: the miss's own number as a root. */
enum graph_category reach_saves(struct reach *s, uint64_t number, uint64_t after, uint32_t root,
				uint32_t *saved);
/* Whether a larger window would save this root's miss. */
bool reach_was_saved(const struct reach *s, uint32_t root);

#endif
