/* SPDX-License-Identifier: MIT */
/*
 * Profilers of the user's own (spec.h), beside a golden reference that keeps all events of the
 * records.
 *
 * Each has a sampler of its own (sampler.h), so periods may differ. A sampler knows instructions as
 * numbers of a table of address and events (psv.h), not as the keys that analysis profile packs
 * them into: those have no room for all events. A profiler that samples events instead of time, as
 * PEBS does, takes a sample in the cycle in which the N-th instruction with that event commits. All
 * its samples weigh the same, so its profile says where events are, not where time is.
 *
 * The golden reference follows the same rules as profile.c. Its time of an address, summed over
 * events, is the same to the unit.
 *
 * Not here: threads, commit states of samples, the hardware's registers.
 */
#include "analysis/profile/own.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/profile/cost.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/psv.h"
#include "analysis/profile/spec.h"
#include "analysis/walk.h"
#include "isa/isa.h"
#include "trace/file.h"

#define NEVER (1ull << 62)

struct own_profiler {
	struct profiler_spec spec;
	struct sampler sampler;
	struct cells events; /* rule event: samples by number */
	uint64_t count;	     /* events since the last sample */
	uint64_t taken;
};

struct own {
	const struct trace_info *info;
	uint64_t scale, share[GROUP_MAX + 1], first[GROUP_MAX + 1]; /* as in struct profile */
	struct psv_table table;
	struct cells waits;
	struct own_profiler profilers[OWN_MAX];
	size_t nprofilers;
	uint64_t cycles, next_cycle;
	/* Cycles without a commit since the last one, and whom those of a flush go to. */
	uint64_t stalled, drained, excepted, flushed;
	uint32_t flush_number;
	uint64_t pending_pc;
	uint64_t last_po;
	uint32_t last; /* number of the youngest that committed; 0: none */
	struct rec_cycle last_rec;
	struct group last_commit;
};

/* Sets p's profilers up from parameters profiler=NAME=…. */
static bool read_specs(struct own *p, const struct analysis_options *o, struct err *e)
{
	for (const char *const *at = o->params; at && *at; at++) {
		if (strncmp(*at, "profiler=", 9) != 0)
			continue;
		if (p->nprofilers == OWN_MAX)
			return err_set(e, "--profiler: more than %d", OWN_MAX);
		struct own_profiler *q = &p->profilers[p->nprofilers];

		if (!profiler_spec_parse(*at + 9, &q->spec, e))
			return false;
		for (size_t i = 0; i < p->nprofilers; i++)
			if (!strcmp(p->profilers[i].spec.name, q->spec.name))
				return err_set(e, "--profiler: '%s' is given twice", q->spec.name);
		if (!q->spec.period)
			q->spec.period = o->period;
		sampler_init(&q->sampler, q->spec.every < 0 ? q->spec.period : NEVER,
			     q->spec.random || (q->spec.every < 0 && o->random),
			     o->seed + 101 + p->nprofilers, q->spec.every < 0 ? o->phase : 0);
		cells_init(&q->events);
		p->nprofilers++;
	}
	return true;
}

static bool own_start(void *state, const struct trace_meta *meta, const struct analysis_options *o,
		      struct err *e)
{
	struct own *p = state;

	if (!profile_shares(meta->commit_width, p->share, p->first, e))
		return false;
	p->info = o->info;
	p->scale = profile_scale(meta->commit_width);
	psv_init(&p->table);
	cells_init(&p->waits);
	return read_specs(p, o, e);
}

static void give(struct own *p, uint32_t number, enum psv_wait kind, uint64_t cycles)
{
	if (!cycles)
		return;
	p->table.list[number].units += cycles * p->scale;
	psv_wait(&p->waits, p->table.list[number].events, kind, cycles);
}

/* Gives the time since the last commit away. number: the instruction that it led to. */
static void settle(struct own *p, uint32_t number)
{
	give(p, p->flush_number, WAIT_FLUSHED, p->flushed);
	give(p, number, WAIT_STALLED, p->stalled);
	give(p, number, WAIT_DRAINED, p->drained);
	give(p, number, WAIT_FLUSHED, p->excepted);
	p->stalled = p->drained = p->excepted = p->flushed = 0;
	p->pending_pc = 0;
}

static bool pending(const struct own *p)
{
	return p->stalled | p->drained | p->excepted | p->flushed;
}

/* Accounts for a cycle in which nothing commits. */
static void idle(struct own *p, const struct rec_cycle *c, struct sampler_view *v)
{
	if (!(c->flags & RC_ROB_EMPTY)) {
		p->stalled += c->repeat;
		p->pending_pc = c->head_pc;
	} else if (c->flush_cause == FLUSH_NONE) {
		p->drained += c->repeat;
	} else if (c->flush_po <= p->last_po) {
		const uint32_t number =
		    c->flush_po == p->last_po ? p->last : psv_number(&p->table, c->flush_pc, 0);

		if (number != p->flush_number)
			give(p, p->flush_number, WAIT_FLUSHED, p->flushed), p->flushed = 0;
		p->flush_number = number;
		p->flushed += c->repeat;
		v->flushed = true;
		v->flush_key = number;
	} else {
		p->excepted += c->repeat;
		p->pending_pc = c->flush_pc;
	}
}

/* Commits the instructions of cycle c: their numbers are g's keys. */
static bool commit(struct own *p, struct walk *w, const struct rec_cycle *c, struct group *g,
		   const struct rec_inst **insts, struct err *e)
{
	for (unsigned i = 0; i < g->n; i++) {
		const struct rec_inst *r = insts[i] = walk_next(w, c, i, e);

		if (unlikely(!r))
			return false;
		const uint32_t number = psv_number(&p->table, r->pc, r->psv & SPEC_ALL);

		if (!i && pending(p))
			settle(p, number);
		p->table.list[number].units += i ? p->share[g->n] : p->first[g->n];
		p->table.list[number].executions++;
		g->key[i] = p->last = number;
	}
	p->last_po = c->head_po + g->n - 1;
	return true;
}

/* Takes the samples of a profiler that counts an event. */
static void count_events(struct own *p, struct own_profiler *q, const struct sampler_view *v,
			 const struct rec_inst *const *insts)
{
	for (unsigned i = 0; i < v->commit->n; i++) {
		if (!(insts[i]->psv >> q->spec.every & 1) || ++q->count < q->spec.period)
			continue;
		q->count = 0;
		q->taken++;
		if (q->spec.precise)
			cells_add(&q->events, v->commit->key[i], 0, 1);
		else
			sampler_take(&q->sampler, p->cycles, v);
	}
}

static void sample(struct own *p, const struct sampler_view *v, const struct rec_inst *const *insts)
{
	const uint64_t end = p->cycles + v->rec->repeat;

	for (size_t i = 0; i < p->nprofilers; i++) {
		struct own_profiler *q = &p->profilers[i];

		if (q->spec.every >= 0)
			count_events(p, q, v, insts);
		else
			while (q->sampler.next < end)
				sampler_take(&q->sampler, q->sampler.next, v);
		if (sampler_waits(&q->sampler) && (v->commit->n || v->rec->ndispatch))
			sampler_resolve(&q->sampler, v, insts);
	}
}

static bool own_batch(void *state, const struct rec_inst *insts, size_t ninsts,
		      const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct own *p = state;
	struct walk walk = { insts, ninsts, 0 };

	for (size_t i = 0; i < ncycles; i++) {
		const struct rec_cycle *c = &cycles[i];
		const struct rec_inst *committed[WALK_WIDTH_MAX];
		struct group g;
		struct sampler_view v = { .rec = c, .commit = &g, .last_key = p->last };

		if (unlikely(c->cycle != p->next_cycle) && pending(p))
			settle(p, psv_number(&p->table, p->pending_pc, 0));
		p->next_cycle = c->cycle + c->repeat;
		g.n = c->ncommit;
		if (!g.n)
			idle(p, c, &v);
		else if (!commit(p, &walk, c, &g, committed, e))
			return false;
		sample(p, &v, committed);
		p->cycles += c->repeat;
		if (i + 1 == ncycles) {
			p->last_rec = *c;
			p->last_commit = g;
		}
	}
	return true;
}

static void close_run(struct own *p)
{
	struct sampler_view v = { .rec = &p->last_rec,
				  .commit = &p->last_commit,
				  .last_key = p->last };

	if (pending(p))
		settle(p, psv_number(&p->table, p->pending_pc, 0));
	for (size_t i = 0; i < p->nprofilers; i++) {
		struct own_profiler *q = &p->profilers[i];

		sampler_end(&q->sampler, p->cycles, p->cycles && q->spec.every < 0 ? &v : NULL);
		if (q->spec.every < 0)
			q->taken = q->sampler.taken;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct psv_time *x = a, *y = b;

	if (x->pc != y->pc)
		return (int64_t)x->pc < (int64_t)y->pc ? -1 : 1;
	return (x->events > y->events) - (x->events < y->events);
}

static bool put_golden(const struct own *p, struct store *s, struct err *e)
{
	struct psv_time *all = x_calloc(p->table.count, sizeof(*all));
	bool ok = true;

	memcpy(all, p->table.list, p->table.count * sizeof(*all));
	qsort(all + 1, p->table.count - 1, sizeof(*all), by_place);
	for (size_t i = 1; ok && i < p->table.count; i++)
		if (all[i].units || all[i].executions)
			ok = store_insert(s, e, "golden_events", "iiii", (int64_t)all[i].pc,
					  (int64_t)all[i].events, (int64_t)all[i].units,
					  (int64_t)all[i].executions);
	free(all);
	return ok;
}

static bool put_point(const struct own *p, const struct psv_point *at, bool paper, struct store *s,
		      struct err *e)
{
	struct cost_storage storage = { 0 };

	if (p->info && p->info->machine)
		cost_storage(p->info->machine, at->events, &storage);
	return store_insert(s, e, "psv_curve", "iiiiiiii", (int64_t)paper,
			    (int64_t)__builtin_popcount(at->events), (int64_t)at->event,
			    (int64_t)at->events, (int64_t)at->stall, (int64_t)at->idle,
			    (int64_t)at->bare, (int64_t)storage.tea_bytes);
}

static bool put_curve(const struct own *p, struct store *s, struct err *e)
{
	struct psv_point curve[EVENT_COUNT + 1], paper;
	bool ok = true;

	psv_curve(&p->waits, curve);
	for (int i = 0; ok && i <= EVENT_COUNT; i++)
		ok = put_point(p, &curve[i], false, s, e);
	psv_explain(&p->waits, PSV_TEA, &paper);
	return ok && put_point(p, &paper, true, s, e);
}

/* The profile as sums of weights; a weight is a cycle, or a sample of those that are of events. */
static void sum_profile(const struct own *p, const struct own_profiler *q, struct psv_table *sum)
{
	const struct sampler *sampler = &q->sampler;
	struct cell *pairs = cells_sorted(q->spec.precise ? &q->events : &sampler->pairs);
	const size_t count = q->spec.precise ? q->events.used : sampler->pairs.used;

	for (size_t i = 0; i < count; i++) {
		const struct group one = { .n = 1, .key = { pairs[i].key } },
				   *g = q->spec.precise ? &one
							: &sampler->groups[pair_group(&pairs[i])];
		const uint64_t weight = q->spec.every < 0 ? pairs[i].units : pairs[i].count,
			       each = p->scale / g->n;

		if (!q->spec.precise && pair_rule(&pairs[i]) != (unsigned)q->spec.rule)
			continue;
		for (unsigned k = 0; k < g->n; k++) {
			const struct psv_time *of = &p->table.list[g->key[k]];
			const uint32_t number =
			    psv_number(sum, of->pc, of->events & q->spec.events);

			sum->list[number].units +=
			    weight * (k ? each : p->scale - (g->n - 1) * each);
		}
	}
	free(pairs);
}

/* Makes weights that are samples into time: the run's, in proportion, to the unit. */
static void make_time(const struct own *p, struct psv_table *sum)
{
	const uint64_t total = p->cycles * p->scale;
	uint64_t all = 0, seen = 0, given = 0;

	for (size_t i = 1; i < sum->count; i++)
		all += sum->list[i].units;
	/* Of tagged instructions all may have been squashed. */
	for (size_t i = 1; all && i < sum->count; i++) {
		seen += sum->list[i].units;
		const uint64_t upto = (uint64_t)((unsigned __int128)total * seen / all);

		sum->list[i].units = upto - given;
		given = upto;
	}
}

static bool put_profile(const struct own *p, size_t index, struct store *s, struct err *e)
{
	const struct own_profiler *q = &p->profilers[index];
	const int64_t id = (int64_t)(STORE_OWN_PROFILERS + index);
	const bool shared = q->spec.rule == SELECT_TIP || q->spec.rule == SELECT_NCI_ALL;
	struct psv_table sum;
	bool ok;

	psv_init(&sum);
	sum_profile(p, q, &sum);
	qsort(sum.list + 1, sum.count - 1, sizeof(*sum.list), by_place);
	if (q->spec.every >= 0)
		make_time(p, &sum);
	ok = store_insert(s, e, "sampler", "iiii", id, (int64_t)q->spec.period,
			  (int64_t)q->spec.random, (int64_t)q->taken) &&
	     store_insert(s, e, "profiler", "issiii", id, q->spec.name, q->spec.text,
			  (int64_t)q->spec.rule, (int64_t)q->spec.events,
			  (int64_t)(shared && !q->spec.precise ? 88 : 56));
	for (size_t i = 1; ok && i < sum.count; i++)
		ok = !sum.list[i].units ||
		     store_insert(s, e, "profile", "iiiii", id, id, (int64_t)sum.list[i].pc,
				  (int64_t)sum.list[i].events, (int64_t)sum.list[i].units);
	psv_free(&sum);
	return ok;
}

static bool own_finish(void *state, struct store *store, struct err *e)
{
	struct own *p = state;
	bool ok = true;

	close_run(p);
	if (!store)
		return true;
	ok = put_golden(p, store, e) && put_curve(p, store, e);
	for (size_t i = 0; ok && i < p->nprofilers; i++)
		ok = put_profile(p, i, store, e);
	return ok;
}

static void own_free(void *state)
{
	struct own *p = state;

	for (size_t i = 0; i < p->nprofilers; i++) {
		sampler_free(&p->profilers[i].sampler);
		cells_free(&p->profilers[i].events);
	}
	psv_free(&p->table);
	cells_free(&p->waits);
}

const struct analysis own_analysis = {
	.name = "own",
	.summary = "profilers of your own (--profiler), the golden reference by all events",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_FETCH | WANT_BRIEF,
	.params =
	    (const struct analysis_param[]){
		{ "profiler", "NAME=RULE[:EVENTS[:PERIOD]], as --profiler", false, { 0 } },
		{ .name = NULL } },
	.tables = (const struct analysis_table[]){ { "golden_events", "units" },
						   { "profile", NULL },
						   { NULL, NULL } },
	.state_size = sizeof(struct own),
	.start = own_start,
	.batch = own_batch,
	.finish = own_finish,
	.free = own_free,
};
