/* SPDX-License-Identifier: MIT */
/*
 * Branch records: the last taken branches, as a processor's branch stack has them (Intel's LBR, 16
 * or 32 deep), written down at two kinds of overflow:
 *
 *   branches  of a counter of taken branches. Every taken branch has the same chance to be in a
 *             record, so counts are proportional to executions.
 *   cycles    of a counter of cycles. What was executed before a long stall is in more records than
 *             its share: this shows the bias.
 *
 * A branch is its address and where it went: every taken control transfer that commits, calls and
 * returns too, and a trap after which the guest does not go on behind it (a signal handler, another
 * thread). Two branches that follow each other in a record enclose a range of code, from the target
 * of the first to the second, that was executed from one end to the other.
 *
 * Periods are drawn as for other samples. A record holds no branch of an earlier region.
 */
#include <stdlib.h>

#include "analysis/calc/analyses.h"
#include "analysis/calc/clock.h"
#include "analysis/calc/pairs.h"
#include "analysis/calc/periods.h"
#include "analysis/calc/transfer.h"
#include "store/store.h"

#define DEPTH_MAX 32
static const unsigned depths[] = { 16, DEPTH_MAX };

enum sampling {
	BY_BRANCHES,
	BY_CYCLES,
	SAMPLINGS,
};
static const char *const sampling_names[SAMPLINGS] = { "branches", "cycles" };

struct branches {
	struct clock clock;
	struct periods periods[SAMPLINGS];
	uint64_t left; /* branches until the next record */
	int64_t next;  /* cycle of the next record */
	struct {
		uint64_t source, target;
	} last[DEPTH_MAX];	    /* by number modulo DEPTH_MAX */
	uint64_t taken;		    /* in this region; the last has number taken - 1 */
	uint64_t all;		    /* taken in all regions: what its counter says */
	struct pairs edges, ranges; /* tag: sampling and depth */
};

static bool branches_start(void *state, const struct trace_meta *meta,
			   const struct analysis_options *o, struct err *e)
{
	struct branches *b = state;
	const uint64_t every = analysis_number(o, "branches.period", max_u64(1, o->period / 8));
	periods_init(&b->periods[BY_BRANCHES], every, hash_u64(o->seed));
	periods_init(&b->periods[BY_CYCLES], o->period, hash_u64(o->seed + 1));
	b->left = periods_draw(&b->periods[BY_BRANCHES]);
	b->next = (int64_t)periods_draw(&b->periods[BY_CYCLES]);
	pairs_init(&b->edges);
	pairs_init(&b->ranges);
	return true;
}

/* Writes the last branches down. */
static void put_record(struct branches *b, enum sampling by)
{
	for (unsigned d = 0; d < ARRAY_LEN(depths); d++) {
		const uint64_t n = min_u64(b->taken, depths[d]);
		const unsigned tag = by * (unsigned)ARRAY_LEN(depths) + d;
		for (uint64_t i = b->taken - n; i < b->taken; i++) {
			const uint64_t source = b->last[i % DEPTH_MAX].source;
			pairs_add(&b->edges, source, tag, b->last[i % DEPTH_MAX].target, 1);
			if (i > b->taken - n)
				pairs_add(&b->ranges, b->last[(i - 1) % DEPTH_MAX].target, tag,
					  source, 1);
		}
	}
}

static bool branches_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			   const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct branches *b = state;
	if (unlikely(clock_begins(&b->clock, insts, ninsts, cycles, ncycles)))
		b->taken = 0;
	for (size_t i = 0; i < ninsts; i++) {
		const struct rec_inst *r = &insts[i];
		if (!(r->flags & RI_COMMITTED) ||
		    likely(!(r->flags & RI_TAKEN || traps_elsewhere(r))))
			continue;
		/* Records of cycles before it commits do not have it. */
		const int64_t time = clock_time(&b->clock, r->fetch + r->commit);
		for (; b->next < time; b->next += (int64_t)periods_draw(&b->periods[BY_CYCLES]))
			put_record(b, BY_CYCLES);
		b->last[b->taken % DEPTH_MAX].source = r->pc;
		b->last[b->taken++ % DEPTH_MAX].target = r->target;
		b->all++;
		if (!--b->left) {
			put_record(b, BY_BRANCHES);
			b->left = periods_draw(&b->periods[BY_BRANCHES]);
		}
	}
	clock_pass(&b->clock, cycles, ncycles);
	return true;
}

static bool put_pairs(const struct pairs *p, const char *table, struct store *store, struct err *e)
{
	struct pair *all = pairs_sorted(p);
	bool ok = true;
	for (size_t i = 0; ok && i < p->used; i++) {
		const unsigned tag = pair_tag(&all[i]);
		ok = store_insert(store, e, table, "siiii", sampling_names[tag / ARRAY_LEN(depths)],
				  (int64_t)depths[tag % ARRAY_LEN(depths)],
				  (int64_t)pair_pc(&all[i]), (int64_t)all[i].other,
				  (int64_t)all[i].count);
	}
	free(all);
	return ok;
}

static bool branches_finish(void *state, struct store *store, struct err *e)
{
	struct branches *b = state;
	return !store ||
	       (store_insert(store, e, "counter", "si", "taken_branches", (int64_t)b->all) &&
		put_pairs(&b->edges, "calc_branch", store, e) &&
		put_pairs(&b->ranges, "calc_range", store, e));
}

static void branches_free(void *state)
{
	struct branches *b = state;
	pairs_free(&b->edges);
	pairs_free(&b->ranges);
}

static const struct analysis_param params[] = {
	{ "branches.period",
	  "taken branches between two branch records, at most",
	  true,
	  { 1, 1ull << 32, NUMBER_PLAIN } },
	{ .name = NULL },
};

const struct analysis branches_analysis = {
	.name = "branches",
	.summary = "records of the last 16 and 32 taken branches, by branches and by cycles",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_BRIEF | WANT_COUNTS,
	.params = params,
	.state_size = sizeof(struct branches),
	.start = branches_start,
	.batch = branches_batch,
	.finish = branches_finish,
	.free = branches_free,
};
