/* SPDX-License-Identifier: MIT */
/*
 * The golden reference over time: what every phase of the run added to the cells. Phases are those
 * of cpistack: the run in at most TIME_PHASES pieces, which begin short; when there are too many,
 * pairs are joined. They are joined, too, when they hold too much, so memory is bounded. A phase ends
 * with the first commit at or after a multiple of its length, so of TIME_PHASE_BASE (shard.c).
 *
 * A phase that ends while time is pending owes it: what it settles on is known only when the next
 * instruction commits. So units over a phase are always its cycles times the scale.
 */
#ifndef ANALYSIS_PROFILE_PHASES_H
#define ANALYSIS_PROFILE_PHASES_H

#include "analysis/profile/cells.h"

#define TIME_PHASES	   256
#define TIME_PHASE_BASE	   4096		     /* cycles of the shortest phase */
#define TIME_PHASE_CELLS   (size_t)(2 << 20) /* of all phases, before pairs are joined */
#define TIME_PENDING_KINDS 4

struct time_cell {
	uint64_t key, units; /* as in struct cell */
};

struct time_phase {
	uint64_t cycles, insts; /* of the run, at its end */
	struct time_cell *cells;
	size_t count, capacity;
	uint64_t owed[TIME_PENDING_KINDS]; /* cycles, by kind */
};

struct time_phases {
	struct time_phase list[TIME_PHASES + 1]; /* the last of a run may be one too many */
	size_t count;
	uint64_t length, end; /* of the shortest one that would be kept now; of the present one */
	size_t ncells;	      /* of all */
	size_t owing;	      /* the first one that owes; count: none does */
	size_t most;	      /* TIME_PHASE_CELLS; tests take less */
};

void time_phases_init(struct time_phases *t);
void time_phases_free(struct time_phases *t);
/* Whether the present phase ends now; joins pairs if there are too many. */
bool time_phases_ends(struct time_phases *t, uint64_t cycles);
/* Ends it. What its cells are is added by time_phases_take. pending: cycles that are not settled. */
void time_phases_end(struct time_phases *t, uint64_t cycles, uint64_t insts,
		     const uint64_t pending[TIME_PENDING_KINDS]);
/* Adds what the cells got since they were last taken to the phase that ended last. */
void time_phases_take(struct time_phases *t, struct cells *c);
/* Pending cycles of a kind are about to be settled on a key: those that are owed go to their phases. */
void time_phases_settle(struct time_phases *t, struct cells *c, unsigned kind, uint64_t key,
			uint64_t scale);
/* All pending cycles are settled. */
static inline void time_phases_settled(struct time_phases *t)
{
	t->owing = t->count;
}
/* Makes the last two phases one. */
void time_phases_join_last(struct time_phases *t);

#endif
