/* SPDX-License-Identifier: MIT */
/* Writes the profile's results as rows of the store: golden stacks, each profiler's profile, and
 * which instructions each rule and TIP blamed for the same samples. */
#include <stdlib.h>

#include "analysis/profile/profile.h"
#include "image/image.h"
#include "store/store.h"
#include "trace/file.h"
#include "util/array.h"

static bool put_run(struct store *s, struct err *e, const char *key, uint64_t value)
{
	return store_insert(s, e, "run", "si", key, (int64_t)value);
}

/* Whether the run has this profiler at all. */
static bool has_profiler(const struct profile *p, size_t f)
{
	return f == PROFILER_TIP_POOLED ? p->pooled : profilers[f].rule != SELECT_HARDWARE || p->hw;
}

static bool put_golden(struct profile *p, struct store *s, struct err *e)
{
	struct cell *all = cells_sorted(&p->cells);
	bool ok = true;
	for (size_t i = 0; ok && i < p->cells.used; i++)
		ok = store_insert(s, e, "golden", "iiiii", (int64_t)cell_pc(&all[i]),
				  (int64_t)cell_events(&all[i]), (int64_t)cell_category(&all[i]),
				  (int64_t)all[i].units, (int64_t)all[i].count);
	free(all);
	return ok;
}

/* The same by thread, if there are several. */
static bool put_threads(struct profile *p, struct store *s, struct err *e)
{
	bool ok = true;

	for (size_t t = 0; t < p->nthreads; t++) {
		struct cell *all = cells_sorted(&p->threads[t].cells);

		for (size_t i = 0; ok && i < p->threads[t].cells.used; i++)
			ok = store_insert(s, e, "golden_thread", "iiiiii",
					  (int64_t)p->threads[t].tid, (int64_t)cell_pc(&all[i]),
					  (int64_t)cell_events(&all[i]),
					  (int64_t)cell_category(&all[i]), (int64_t)all[i].units,
					  (int64_t)all[i].count);
		free(all);
	}
	return ok;
}

/* An address that has time, and the lowest one of those in the same function. */
struct place_of {
	uint64_t pc, first;
};

/* Addresses of the golden reference in order. The caller frees. */
static struct place_of *places(struct profile *p, size_t *count)
{
	struct cell *all = cells_sorted(&p->cells);
	struct place_of *list = x_calloc(p->cells.used + 1, sizeof(*list));
	uint64_t end = 0;

	*count = 0;
	for (size_t i = 0; i < p->cells.used; i++) {
		const uint64_t pc = cell_pc(&all[i]);
		const size_t n = *count;

		if (n && list[n - 1].pc == pc)
			continue;
		list[n] = (struct place_of){ pc, pc };
		if (n && pc > list[n - 1].pc && pc < end)
			list[n].first = list[n - 1].first;
		else if (p->images && *p->images)
			end = images_function(*p->images, pc).end;
		++*count;
	}
	free(all);
	return list;
}

static uint64_t first_of(const struct place_of *list, size_t count, uint64_t pc)
{
	const size_t i = ARRAY_SEARCH(count, k, list[k].pc < pc);

	return i < count && list[i].pc == pc ? list[i].first : pc;
}

/* Time by phase and function. A function is the lowest address in it that has time. */
static bool put_phases(struct profile *p, struct store *s, struct err *e)
{
	size_t count;
	struct place_of *list = places(p, &count);
	bool ok = true;

	for (size_t i = 0; ok && i < p->phases.count; i++) {
		const struct time_phase *now = &p->phases.list[i],
					*before = i ? &p->phases.list[i - 1] : NULL;
		struct cells sum;

		ok = store_insert(s, e, "golden_phase", "iii", (int64_t)i,
				  (int64_t)(now->cycles - (before ? before->cycles : 0)),
				  (int64_t)(now->insts - (before ? before->insts : 0)));
		cells_init(&sum);
		for (size_t k = 0; k < now->count; k++) {
			const struct cell c = { .key = now->cells[k].key };

			cells_add(&sum,
				  cell_key(first_of(list, count, cell_pc(&c)), cell_events(&c),
					   cell_category(&c)),
				  now->cells[k].units, 0);
		}
		struct cell *all = cells_sorted(&sum);

		for (size_t k = 0; ok && k < sum.used; k++)
			ok = store_insert(s, e, "golden_phase_function", "iiiii", (int64_t)i,
					  (int64_t)cell_pc(&all[k]), (int64_t)cell_events(&all[k]),
					  (int64_t)cell_category(&all[k]), (int64_t)all[k].units);
		free(all);
		cells_free(&sum);
	}
	free(list);
	return ok;
}

/* Writes a profiler's profile from a sampler's pairs: the weights of its rule, with the events that
 * it reports. */
static bool put_profile(struct profile *p, size_t index, const struct cell *pairs,
			const struct profiler *f, size_t id, struct store *s, struct err *e)
{
	const struct sampler *sampler = &p->sampler[index];
	struct cells sum;
	cells_init(&sum);
	for (size_t i = 0; i < sampler->pairs.used; i++) {
		if (pair_rule(&pairs[i]) != (unsigned)f->rule)
			continue;
		const struct group *g = &sampler->groups[pair_group(&pairs[i])];
		const uint64_t each = p->scale / g->n;
		for (unsigned k = 0; k < g->n; k++)
			cells_add(&sum,
				  cell_key(g->key[k] >> CELL_EVENT_BITS,
					   (unsigned)g->key[k] & f->events, 0),
				  pairs[i].units * (k ? each : p->scale - (g->n - 1) * each),
				  pairs[i].count);
	}
	struct cell *all = cells_sorted(&sum);
	bool ok = true;
	for (size_t i = 0; ok && i < sum.used; i++)
		ok = store_insert(s, e, "profile", "iiiii", (int64_t)index, (int64_t)id,
				  (int64_t)cell_pc(&all[i]), (int64_t)cell_events(&all[i]),
				  (int64_t)all[i].units);
	free(all);
	cells_free(&sum);
	return ok;
}

/* What commit was doing in the samples of TIP and TEA, as their post-processing finds out: flags, and
 * the blamed instruction's class and events. */
static bool put_times(struct profile *p, struct store *s, struct err *e)
{
	const struct sampler *sampler = &p->sampler[0];
	struct cell *times = cells_sorted(&sampler->times);
	struct cells sum;
	bool ok = true;

	cells_init(&sum);
	for (size_t i = 0; i < sampler->times.used; i++) {
		const struct group *g = &sampler->groups[pair_group(&times[i])];
		const uint64_t each = p->scale / g->n;

		for (unsigned k = 0; k < g->n; k++)
			cells_add(&sum,
				  cell_key(g->key[k] >> CELL_EVENT_BITS, 0, pair_rule(&times[i])),
				  times[i].units * (k ? each : p->scale - (g->n - 1) * each), 1);
	}
	struct cell *all = cells_sorted(&sum);

	for (size_t f = 0; f < PROFILER_COUNT; f++)
		for (size_t i = 0;
		     ok && i < sum.used && profilers[f].rule == SELECT_TIP && has_profiler(p, f);
		     i++)
			ok = store_insert(s, e, "profile_category", "iiii", (int64_t)f,
					  (int64_t)cell_pc(&all[i]),
					  (int64_t)cell_category(&all[i]), (int64_t)all[i].units);
	free(all);
	free(times);
	cells_free(&sum);
	return ok;
}

static bool put_sampler(struct profile *p, size_t index, struct store *s, struct err *e)
{
	const struct sampler *sampler = &p->sampler[index];
	struct cell *pairs = cells_sorted(&sampler->pairs);
	bool ok = store_insert(s, e, "sampler", "iiii", (int64_t)index, (int64_t)sampler->period,
			       (int64_t)sampler->random, (int64_t)sampler->taken);
	for (size_t f = 0; ok && f < PROFILER_COUNT; f++)
		if (f != PROFILER_TIP_POOLED &&
		    (profilers[f].rule != SELECT_HARDWARE || sampler->hardware))
			ok = put_profile(p, index, pairs, &profilers[f], f, s, e);
	for (size_t i = 0; ok && index == 0 && i < sampler->pairs.used; i++)
		ok = store_insert(s, e, "sample_pair", "iiiii", (int64_t)pair_rule(&pairs[i]),
				  (int64_t)pair_group(&pairs[i]), (int64_t)pair_truth(&pairs[i]),
				  (int64_t)pairs[i].units, (int64_t)pairs[i].count);
	for (size_t g = 0; ok && index == 0 && g < sampler->ngroups; g++)
		for (unsigned k = 0; ok && k < sampler->groups[g].n; k++)
			ok = store_insert(s, e, "sample_group", "iiii", (int64_t)g, (int64_t)k,
					  (int64_t)sampler->groups[g].key[k] >> CELL_EVENT_BITS,
					  (int64_t)(sampler->groups[g].key[k] & CELL_EVENT_MASK));
	free(pairs);
	return ok;
}

/* How often the hardware agrees with TIP's rule, by state and kind of disagreement: counters
 * tip-hw.STATE.VERDICT. */
static bool put_verdicts(const struct profile *p, struct store *s, struct err *e)
{
	static const char *const states[HW_STATES] = {
		[HW_LOST] = "not delivered",	    [HW_COMPUTING] = "computing",
		[HW_STALLED] = "stalled",	    [HW_DRAINED] = "drained",
		[HW_EXCEPTION] = "exception",	    [HW_FLUSHED] = "flushed",
		[HW_MISPREDICTED] = "mispredicted",
	};
	static const char *const verdicts[HW_VERDICTS] = {
		[HW_AGREES] = "agrees",
		[HW_OTHER_INSTRUCTION] = "other instruction",
		[HW_OTHER_EVENTS] = "other events",
	};
	char name[64];
	bool ok = store_insert(s, e, "counter", "si", "tip-hw.merged", (int64_t)p->hw->merged);

	for (int i = 0; i < HW_STATES; i++)
		for (int k = 0; ok && k < HW_VERDICTS; k++) {
			snprintf(name, sizeof(name), "tip-hw.%s.%s", states[i], verdicts[k]);
			if (p->sampler[0].verdict[i][k])
				ok = store_insert(s, e, "counter", "si", name,
						  (int64_t)p->sampler[0].verdict[i][k]);
		}
	return ok;
}

/* Samples of each rule by what commit was doing. */
static bool put_states(const struct profile *p, struct store *s, struct err *e)
{
	const struct sampler_states *t = p->sampler[0].states;
	bool ok = true;

	for (size_t r = 0; r < SELECT_COUNT; r++)
		for (size_t c = 0; ok && c < TIME_CATEGORY_COUNT; c++)
			if (t->samples[c] && (r != SELECT_HARDWARE || p->hw))
				ok = store_insert(s, e, "sample_state", "iiiii", (int64_t)r,
						  (int64_t)c, (int64_t)t->samples[c],
						  (int64_t)t->cycles[c], (int64_t)t->right[r][c]);
	return ok;
}

bool profile_store(struct profile *p, struct store *s, struct err *e)
{
	bool ok =
	    put_run(s, e, "scale", p->scale) && put_run(s, e, "profiled_cycles", p->cycles) &&
	    put_run(s, e, "profiled_instructions", p->insts) &&
	    put_run(s, e, "with_event", p->sums.with_event) &&
	    put_run(s, e, "with_combined_events", p->sums.with_combined) &&
	    put_run(s, e, "with_several_bits", p->sums.with_bits) && put_golden(p, s, e) &&
	    put_threads(p, s, e) && put_phases(p, s, e) &&
	    (!p->info || waits_store(&p->waits, p->info->waits, p->info->nwaits, p->cycles, s, e));
	for (int64_t i = 0; ok && i < TIME_CATEGORY_COUNT; i++)
		ok = store_insert(s, e, "category", "is", i, words_times[i].name);
	for (int64_t i = 0; ok && i < CELL_EVENT_BITS; i++)
		ok = store_insert(s, e, "event", "issi", i, words_events[i].name,
				  words_events[i].meaning, (int64_t)p->sums.event_count[i]);
	for (size_t i = 0; ok && i < PROFILER_COUNT; i++) {
		if (!has_profiler(p, i))
			continue;
		ok = store_insert(s, e, "profiler", "issiii", (int64_t)i, profilers[i].name,
				  profilers[i].summary, (int64_t)profilers[i].rule,
				  (int64_t)profilers[i].events, (int64_t)profilers[i].sample_bytes);
	}
	ok = ok && (!p->pooled || put_run(s, e, "pooled", 1)) && (!p->hw || put_verdicts(p, s, e));
	for (size_t i = 0; ok && i < p->nsamplers; i++)
		ok = put_sampler(p, i, s, e);
	ok = ok && put_times(p, s, e) && put_states(p, s, e);
	for (int64_t i = 0; ok && i < STALL_BUCKETS; i++)
		if (p->sums.stall_length[i])
			ok = store_insert(s, e, "bare_stall", "ii", i,
					  (int64_t)p->sums.stall_length[i]);
	return ok;
}
