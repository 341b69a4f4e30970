/* SPDX-License-Identifier: MIT */
/*
 * Takes samples at given cycles and resolves, for every selection rule, which instruction(s) each
 * blames. All rules sample the same cycles. The caller walks the records and tells the sampler what
 * happened in each run of cycles; the sampler does work only at samples and while a sample waits
 * for its instruction.
 */
#ifndef ANALYSIS_PROFILE_SAMPLER_H
#define ANALYSIS_PROFILE_SAMPLER_H

#include "analysis/profile/cells.h"
#include "analysis/profile/profilers.h"
#include "trace/record.h"
#include "util/util.h"

#define GROUP_MAX 64 /* widest commit */

/* The instructions that share a sample: an interned list of (pc, events). */
struct group {
	unsigned n;
	uint64_t key[GROUP_MAX]; /* pc << CELL_EVENT_BITS | events */
};

/* What a sample of the hardware says that commit was doing. */
enum hw_state {
	HW_LOST, /* not delivered before the run ended */
	HW_COMPUTING,
	HW_STALLED,
	HW_DRAINED,
	HW_EXCEPTION,
	HW_FLUSHED,
	HW_MISPREDICTED,
	HW_STATES
};
/* How it compares with what TIP's rule, which knows the core, chose for the same cycle. */
enum hw_verdict { HW_AGREES, HW_OTHER_INSTRUCTION, HW_OTHER_EVENTS, HW_VERDICTS };

enum { GROUP_UNKNOWN = 0 }; /* id of the group for samples that found no instruction */

struct sample {
	uint64_t weight;  /* cycles that it stands for */
	uint8_t category; /* enum time_category, once TIP's rule has chosen */
	uint8_t hw_state; /* enum hw_state, once the hardware has delivered it */
	uint32_t group[SELECT_COUNT];
	unsigned pending;      /* bit per rule that is not resolved yet */
	uint64_t tag_dispatch; /* seq; 0: waits for the next dispatch */
	uint64_t tag_fetch;    /* seq */
	uint64_t resume_po;
};

struct sampler {
	uint64_t period;
	bool random;
	struct rng rng;
	uint64_t next;	     /* time of the next sample */
	uint64_t period_end; /* end of the period in which it lies */
	uint64_t last;	     /* time up to which samples have stood for cycles */
	uint64_t taken;	     /* samples so far */

	struct sample *ring; /* samples not yet resolved, oldest first */
	size_t head, count, capacity;
	uint64_t carry[SELECT_COUNT]; /* weight of samples whose instruction was squashed */
	uint64_t dropped[SELECT_COUNT];

	struct group *groups;
	size_t ngroups, groups_capacity;
	uint32_t *group_index; /* open addressing over groups, 0: free */
	size_t group_mask;

	bool hardware; /* TIP's hardware delivers samples, too: sampler_deliver */
	uint64_t verdict[HW_STATES][HW_VERDICTS]; /* its samples */

	/* By what commit was doing: samples, cycles, and those of them, in units, that a rule gives to
	 * the instruction that TIP gives them to. NULL unless asked for: sampler_states. */
	struct sampler_states {
		uint64_t scale, samples[TIME_CATEGORY_COUNT], cycles[TIME_CATEGORY_COUNT];
		uint64_t right[SELECT_COUNT][TIME_CATEGORY_COUNT];
	} * states;

	struct cells times; /* cycles by (category, group that TIP blames), as pairs */
	/* cycles by (rule, group that the rule blames, group that TIP blames); count is in samples
	 */
	struct cells pairs;
};

/* What the sampler needs of a run of equal cycles; commit is the group that commits in it. */
struct sampler_view {
	const struct rec_cycle *rec;
	const struct group *commit; /* n = 0: nothing commits */
	/* enum time_category of the cycle; TIME_ALU_STALL, TIME_FRONTEND: the instruction to be
	 * blamed refines it */
	unsigned category;
	bool flushed; /* the ROB is empty because of a flush by an instruction that has committed */
	uint64_t flush_key; /* that instruction */
	uint64_t last_key;  /* youngest committed before this cycle; 0: none */
};

/* phase: cycles of the first period that have passed already. */
void sampler_init(struct sampler *s, uint64_t period, bool random, uint64_t seed, uint64_t phase);
void sampler_free(struct sampler *s);
/* From now on counts by what commit was doing. scale: units in a cycle. */
void sampler_count_states(struct sampler *s, uint64_t scale);
/* Sets s->next to the time of the next sample. sampler_take does it by itself. */
void sampler_schedule(struct sampler *s);
/* Takes a sample at time t, inside the run of cycles that view describes. */
void sampler_take(struct sampler *s, uint64_t t, const struct sampler_view *view);
/* Resolves waiting samples. Call it for every record in which something commits or dispatches,
 * after sampler_take. */
void sampler_resolve(struct sampler *s, const struct sampler_view *view,
		     const struct rec_inst *const *insts);
/* The hardware delivers all samples that it has not delivered yet, as one. */
void sampler_deliver(struct sampler *s, const struct group *g, enum hw_state state);
/* Ends a run of `total` cycles: takes a sample for the last cycles, and resolves those that still
 * wait to GROUP_UNKNOWN. */
void sampler_end(struct sampler *s, uint64_t total, const struct sampler_view *last);

/* Those that the instruction refines, by its class and events. */
unsigned time_of_stall(unsigned cls);
unsigned time_of_drain(unsigned events);

static inline bool sampler_waits(const struct sampler *s)
{
	return s->count != 0;
}

/* The pieces of a pair's key. */
static inline unsigned pair_rule(const struct cell *c)
{
	return (unsigned)(c->key >> 60) - 1;
}
static inline uint32_t pair_group(const struct cell *c)
{
	return (uint32_t)(c->key >> 30) & 0x3fffffff;
}
static inline uint32_t pair_truth(const struct cell *c)
{
	return (uint32_t)c->key & 0x3fffffff;
}

#endif
