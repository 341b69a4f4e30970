/* SPDX-License-Identifier: MIT */
/*
 * The profile over several workers (shard.c), and what it shares with profile.c.
 *
 * Each worker sees every n-th batch. It adds up what does not depend on other batches, and writes down
 * the rest; the first shard's profile takes both in the order of batches, so it is the very profile that
 * one worker makes.
 */
#ifndef ANALYSIS_PROFILE_SHARD_H
#define ANALYSIS_PROFILE_SHARD_H

#include "analysis/profile/profile.h"

/* p: the state of this shard; o->first: that of the first. */
struct profile_shard *profile_shard_new(struct profile *p, const struct analysis_options *o);
void profile_shard_free(struct profile_shard *s);
/* The samplers of the first shard are made: from now on the shards know when they sample. */
void profile_shard_clocks(struct profile_shard *s, const struct profile *p);
/* The next batch begins after so many cycles. */
void profile_shard_at(struct profile_shard *s, uint64_t cycles);
bool profile_shard_batch(struct profile_shard *s, const struct rec_inst *insts, size_t ninsts,
			 const struct rec_cycle *cycles, size_t ncycles, struct err *e);
bool profile_shard_turn(struct profile_shard *s, uint64_t index, struct err *e);
/* Adds what the shard has counted. */
void profile_shard_sums(const struct profile_shard *s, struct profile_sums *to);

/* ---- of profile.c ---- */

/* Kinds of pending time (time_phases). */
enum { PENDING_STALLED, PENDING_DRAINED, PENDING_EXCEPTED, PENDING_KERNEL };

/* Before a record is accounted for: whether time goes on where the one before it ended. */
void profile_begin(struct profile *p, const struct rec_cycle *c);
/* Accounts for a record in which nothing commits. */
void profile_idle(struct profile *p, const struct rec_cycle *c);
/* Gives the pending time to the instruction that commits now. */
void profile_settle(struct profile *p, uint64_t pc, unsigned events, unsigned cls);
/* Another thread's instructions commit from now on: its tables change places with the present ones. */
void profile_thread(struct profile *p, uint32_t tid);
/* After a commit: the phase ends if it is long enough. */
void profile_phase(struct profile *p);
/* Serves the samplers that take a sample now or wait for an instruction. */
void profile_sample(struct profile *p, const struct sampler_view *v,
		    const struct rec_inst *const *insts);
/* Counts an execution's events. Events are combined only if they are independent: a last-level miss
 * is always a first-level miss, too, and both count as one. */
void profile_events(struct profile_sums *s, unsigned events);

static inline uint64_t profile_inst_key(const struct rec_inst *r)
{
	return r->pc << CELL_EVENT_BITS | (r->psv & CELL_EVENT_MASK);
}

/* Whether the ROB is empty because the kernel's time passes. */
static inline bool profile_in_kernel(const struct rec_cycle *c)
{
	return c->fetch_stall == FETCH_EXCEPTION && c->flush_cause == FLUSH_EXCEPTION;
}

static inline unsigned profile_flush_category(const struct rec_cycle *c)
{
	return c->flush_cause == FLUSH_MISPREDICT ? TIME_MISPREDICT
	       : profile_in_kernel(c)		  ? TIME_KERNEL
						  : TIME_MISC_FLUSH;
}

/* Category of a cycle's time; the instruction refines TIME_ALU_STALL and TIME_FRONTEND. */
static inline unsigned profile_category(const struct rec_cycle *c)
{
	return c->ncommit		      ? TIME_EXECUTION
	       : !(c->flags & RC_ROB_EMPTY)   ? TIME_ALU_STALL
	       : c->flush_cause == FLUSH_NONE ? TIME_FRONTEND
					      : profile_flush_category(c);
}

/* Whether an instruction that has committed emptied the ROB; it is then in *key. last_po, last_key: the
 * youngest that has committed. */
static inline bool profile_flushed(const struct rec_cycle *c, uint64_t last_po, uint64_t last_key,
				   uint64_t *key)
{
	if (!(c->flags & RC_ROB_EMPTY) || c->flush_cause == FLUSH_NONE || c->flush_po > last_po)
		return false;
	*key = c->flush_po == last_po ? last_key : c->flush_pc << CELL_EVENT_BITS;
	return true;
}

#endif
