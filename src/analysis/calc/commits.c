/* SPDX-License-Identifier: MIT */
/*
 * Samples of a machine that issues out of order, with what TIP's hardware says of the sampled cycle
 * (tip2021 section 3): which instructions commit in it. An instruction commits in exactly one cycle
 * of each execution. One cycle of every period is sampled, each with the same chance, so the number
 * of samples that see an instruction commit, times the period, estimates its executions without
 * bias, whatever stalls. (`profile` keeps which instructions share a sample, but not whether a
 * group of one commits or is stalled.)
 *
 *   tip       time by the four commit states, as in `profile`, and commits
 *   nci       time of the next-committing instruction; no hardware says whether it commits
 *   software  time of the instruction at which execution would resume after an interrupt; likewise
 *
 * Time is in units of 1/scale of a sample, where scale is the profile's (run.scale): a group of n
 * shares a sample. Instructions that commit in the same sampled cycle are no independent evidence:
 * their pairs are counted, for the covariance. Samples whose instruction has not committed when the
 * run or region ends are lost.
 */
#include <stdlib.h>

#include "analysis/calc/analyses.h"
#include "analysis/calc/pairs.h"
#include "analysis/profile/cells.h"
#include "analysis/profile/profile.h"
#include "analysis/walk.h"
#include "store/store.h"
#include "util/array.h"

enum rule {
	RULE_TIP,
	RULE_NCI,
	RULE_SOFTWARE,
	RULE_COUNT,
};
static const char *const rule_names[RULE_COUNT] = { "tip", "nci", "software" };

struct commits {
	uint64_t period, scale;
	struct rng rng;
	uint64_t cycles;     /* so far */
	uint64_t next_cycle; /* of the record to come, unless a region begins */
	uint64_t next;	     /* cycle of the next sample, counted as `cycles` */
	uint64_t period_end;
	uint64_t samples;
	uint64_t last_po; /* youngest committed */

	uint64_t next_commit[RULE_COUNT]; /* samples that wait for the next commit */
	uint64_t *resume;		  /* instructions that samples wait for, by po */
	size_t nresume;

	struct cells cells; /* category: enum rule; count: commits */
	struct pairs pairs;
};

static void schedule(struct commits *c)
{
	c->next = c->period_end + rng_below(&c->rng, c->period);
	c->period_end += c->period;
}

static bool commits_start(void *state, const struct trace_meta *meta,
			  const struct analysis_options *o, struct err *e)
{
	struct commits *c = state;
	if (meta->in_order)
		return err_set(e,
			       "%s issues in order: there samples of issue say more than those of "
			       "commit; use --analyze issue",
			       meta->machine);
	if (!meta->commit_width || meta->commit_width > WALK_WIDTH_MAX)
		return err_set(e, "commit width %u is not in 1..%d", meta->commit_width,
			       WALK_WIDTH_MAX);
	c->period = o->period;
	c->scale = profile_scale(meta->commit_width);
	rng_seed(&c->rng, o->seed);
	cells_init(&c->cells);
	pairs_init(&c->pairs);
	schedule(c);
	return true;
}

static void put(struct commits *c, enum rule rule, uint64_t pc, uint64_t units, uint64_t commits)
{
	cells_add(&c->cells, cell_key(pc, 0, rule), units, commits);
}

/* A sample in a cycle in which a group of n commits. */
static void sample_group(struct commits *c, const struct rec_inst *group, unsigned n)
{
	const uint64_t each = c->scale / n;
	for (unsigned i = 0; i < n; i++) {
		put(c, RULE_TIP, group[i].pc, i ? each : c->scale - (n - 1) * each, 1);
		for (unsigned k = 0; k < i; k++) {
			const uint64_t a = group[k].pc, b = group[i].pc;
			pairs_add(&c->pairs, a < b ? a : b, 0, a < b ? b : a, 1);
		}
	}
	put(c, RULE_NCI, group[0].pc, c->scale, 0);
}

/* A sample in a cycle in which nothing commits. */
static void sample_idle(struct commits *c, const struct rec_cycle *r)
{
	const bool empty = r->flags & RC_ROB_EMPTY;
	if (!empty)
		put(c, RULE_TIP, r->head_pc, c->scale, 0);
	else if (r->flush_cause != FLUSH_NONE && r->flush_po <= c->last_po)
		put(c, RULE_TIP, r->flush_pc, c->scale, 0);
	else
		c->next_commit[RULE_TIP]++;
	c->next_commit[RULE_NCI]++;
}

/* Gives samples that have waited to the instructions that commit now. */
static void settle(struct commits *c, const struct rec_inst *group, unsigned n)
{
	for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
		if (c->next_commit[rule])
			put(c, rule, group[0].pc, c->scale * c->next_commit[rule], 0);
		c->next_commit[rule] = 0;
	}
	for (size_t i = 0; i < c->nresume;) {
		const uint64_t po = c->resume[i];
		if (po > group[n - 1].po) {
			i++;
			continue;
		}
		if (po >= group[0].po)
			put(c, RULE_SOFTWARE, group[po - group[0].po].pc, c->scale, 0);
		c->resume[i] = c->resume[--c->nresume];
	}
}

/* A region begins: what waits, waits for instructions of the one before. */
static void forget(struct commits *c)
{
	memset(c->next_commit, 0, sizeof(c->next_commit));
	c->nresume = 0;
}

static bool commits_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			  const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct commits *c = state;
	struct walk walk = { insts, ninsts, 0 };
	struct rec_inst room[WALK_WIDTH_MAX];
	for (size_t i = 0; i < ncycles; i++) {
		const struct rec_cycle *r = &cycles[i];
		const struct rec_inst *group = NULL;
		const uint64_t end = c->cycles + r->repeat;

		walk_fetch(&cycles[i + WALK_AHEAD]);
		if (unlikely(r->cycle != c->next_cycle))
			forget(c);
		c->next_cycle = r->cycle + r->repeat;
		if (r->ncommit) {
			group = walk_group(&walk, r, room, e);
			if (unlikely(!group))
				return false;
		}
		for (; unlikely(c->next < end); schedule(c)) {
			c->samples++;
			*ARRAY_ADD(c->resume, c->nresume) = r->fetch_po;
			if (group)
				sample_group(c, group, r->ncommit);
			else
				sample_idle(c, r);
		}
		if (group) {
			if (unlikely(c->nresume | c->next_commit[RULE_NCI]))
				settle(c, group, r->ncommit);
			c->last_po = r->head_po + r->ncommit - 1;
		}
		c->cycles = end;
	}
	return true;
}

static bool commits_finish(void *state, struct store *store, struct err *e)
{
	struct commits *c = state;
	if (!store)
		return true;
	struct cell *all = cells_sorted(&c->cells);
	struct pair *pairs = pairs_sorted(&c->pairs);
	bool ok = store_insert(store, e, "calc_event", "iidii", (int64_t)SAMPLED_CYCLES,
			       (int64_t)c->period, 1.0, (int64_t)c->samples, (int64_t)c->cycles);
	for (size_t i = 0; ok && i < c->cells.used; i++)
		ok = store_insert(store, e, "calc_commit", "siii",
				  rule_names[cell_category(&all[i])], (int64_t)cell_pc(&all[i]),
				  (int64_t)all[i].units, (int64_t)all[i].count);
	for (size_t i = 0; ok && i < c->pairs.used; i++)
		ok = store_insert(store, e, "calc_commit_pair", "iii", (int64_t)pair_pc(&pairs[i]),
				  (int64_t)pairs[i].other, (int64_t)pairs[i].count);
	free(all);
	free(pairs);
	return ok;
}

static void commits_free(void *state)
{
	struct commits *c = state;
	free(c->resume);
	cells_free(&c->cells);
	pairs_free(&c->pairs);
}

const struct analysis commits_analysis = {
	.name = "commits",
	.summary =
	    "samples that say which instructions commit in their cycle, as TIP's hardware does",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_FETCH | WANT_BRIEF,
	.tables = (const struct analysis_table[]){ { "calc_commit", "units" }, { NULL, NULL } },
	.state_size = sizeof(struct commits),
	.start = commits_start,
	.batch = commits_batch,
	.finish = commits_finish,
	.free = commits_free,
};
