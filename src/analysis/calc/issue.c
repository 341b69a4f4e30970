/* SPDX-License-Identifier: MIT */
/*
 * Samples of a machine that issues in program order, as the Alpha 21164 gives them (dcpi1997
 * section 4.1): a counter overflows, six cycles later the interrupt is delivered, and the address
 * that it brings is that of the oldest instruction not yet issued. A sample of cycle t is therefore
 * at the right-path instruction i with issue(i-1) < t <= issue(i), also while nothing is fetched,
 * while a wrong path runs and while the kernel's time passes.
 *
 * Every counter's period is drawn anew after each overflow (periods.h). Cycles count in order, so their samples only need each instruction's time of
 * issue. Events are counted in the order of their instructions:
 *
 *   imiss, itlb  when fetch looked the line (the page) up
 *   dmiss        when a hit would have answered
 *   dtlb         in the cycle after issue
 *   branchmp     when the branch was resolved
 *
 * Six cycles later another instruction may be the oldest: mostly a later one; an earlier one if
 * that is stalled while fetch runs ahead. The last few instructions are kept for this.
 *
 * There are three counters, as on the 21164: cycles, imiss, and one that the other four events take
 * in turn, one period of cycles each. What was counted in a turn is kept until the next.
 *
 * Not modelled: the time of the interrupt itself, events of wrong paths, and address translations
 * of stores, which come after their commit. At the end of a region, samples that no instruction of
 * the region waits for are lost.
 *
 * Invariants:
 *
 *   I1  Every sample that waits lies after `last`, the issue of the last instruction seen.
 *   I2  due is the earliest time at which a sample is delivered.
 */
#include <stdlib.h>

#include "analysis/calc/analyses.h"
#include "analysis/calc/clock.h"
#include "analysis/calc/periods.h"
#include "analysis/profile/cells.h"
#include "store/store.h"
#include "util/array.h"

#define LATE	    6	/* cycles from overflow to delivery */
#define FRONT_INSTS 128 /* most instructions between fetch and issue queue that are looked at */
#define EVENTS	    REC_ISSUE_EVENTS
#define MUX	    SAMPLED_ITLB /* this one and those after it share a counter */
#define MUX_COUNT   (SAMPLED_COUNT - MUX)

enum config {
	CONFIG_CYCLES,
	CONFIG_DEFAULT, /* cycles and imiss */
	CONFIG_ALL,
};
static const char *const config_names[] = { "cycles", "default", "all" };

/* A counter that overflows. */
struct counter {
	struct periods periods;
	uint64_t left; /* events until the next overflow */
	uint64_t samples, occurred;
};

struct waiting {
	int64_t time; /* of delivery */
	unsigned event;
};

/* An instruction that has issued. */
struct past {
	uint64_t pc;
	int64_t time;
};

struct issue {
	struct clock clock;
	struct counter counter[SAMPLED_COUNT];
	enum config config;
	uint64_t turn; /* length of a turn of the shared counter */
	uint32_t l1d_latency;

	int64_t next; /* delivery of the next sample of cycles */
	int64_t last;
	int64_t due;
	struct waiting *waiting; /* samples of events on their way */
	size_t nwaiting;

	struct past *past; /* oldest first */
	size_t npast, max_past;

	const struct rec_issue
	    *issues; /* of the batch; NULL: its inst records are of all instructions */
	size_t nissues;

	struct cells cells; /* samples by pc and event; units: how many issued in that cycle */
	uint64_t insts;
};

static void find_due(struct issue *s)
{
	s->due = s->next;
	for (size_t i = 0; i < s->nwaiting; i++)
		if (s->waiting[i].time < s->due)
			s->due = s->waiting[i].time;
}

static bool find_config(const struct analysis_options *o, enum config *out, struct err *e)
{
	const char *given = analysis_given(o, "issue.events");
	*out = CONFIG_DEFAULT;
	for (size_t i = 0; given && i < ARRAY_LEN(config_names); i++)
		if (!strcmp(given, config_names[i])) {
			*out = (enum config)i;
			return true;
		}
	return !given ||
	       err_set(e, "issue.events is '%s'; it can be cycles, default or all", given);
}

static bool issue_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct issue *s = state;
	if (!meta->in_order)
		return err_set(e,
			       "on %s the order of issue is not program order, so samples of the "
			       "oldest instruction not yet issued say nothing; sample what commits "
			       "(--analyze commits), or choose a machine that issues in order",
			       meta->machine);
	if (!find_config(o, &s->config, e))
		return false;
	s->turn = o->period;
	s->l1d_latency = meta->l1d_latency;
	for (unsigned k = 0; k < SAMPLED_COUNT; k++) {
		char *name = x_asprintf("issue.%s", words_sampled[k].name);
		uint64_t period = k == SAMPLED_CYCLES
				      ? o->period
				      : analysis_number(o, name, max_u64(1, o->period / 16));
		bool sampled = k == SAMPLED_CYCLES || s->config == CONFIG_ALL ||
			       (k == SAMPLED_IMISS && s->config == CONFIG_DEFAULT);
		free(name);
		if (!sampled)
			continue;
		periods_init(&s->counter[k].periods, period, hash_u64(o->seed * SAMPLED_COUNT + k));
		s->counter[k].left = periods_draw(&s->counter[k].periods);
	}
	s->next = (int64_t)s->counter[SAMPLED_CYCLES].left + LATE;
	s->max_past = (size_t)meta->iq_entries + FRONT_INSTS;
	s->past = x_calloc(s->max_past, sizeof(*s->past));
	cells_init(&s->cells);
	find_due(s);
	return true;
}

static void put_samples(struct issue *s, unsigned event, uint64_t pc, uint64_t count, bool issued)
{
	s->counter[event].samples += count;
	cells_add(&s->cells, cell_key(pc, 0, event), issued, count);
}

/* Delivers the samples up to `time` to the instruction at pc, the oldest until then. A sample of
 * `time` itself sees it issue. */
static void deliver(struct issue *s, uint64_t pc, int64_t time)
{
	uint64_t n = 0;
	bool issued = false;
	for (; s->next <= time;
	     s->next += (int64_t)periods_draw(&s->counter[SAMPLED_CYCLES].periods)) {
		issued = s->next == time;
		n++;
	}
	if (n)
		put_samples(s, SAMPLED_CYCLES, pc, n, issued);
	for (size_t i = 0; i < s->nwaiting;) {
		const struct waiting *w = &s->waiting[i];
		if (w->time > time) {
			i++;
			continue;
		}
		put_samples(s, w->event, pc, 1, w->time == time);
		s->waiting[i] = s->waiting[--s->nwaiting];
	}
	find_due(s);
}

/* The time at which an instruction issued, of which `last` was the time of the one before. */
static inline int64_t issue_time(const struct issue *s, const struct rec_inst *r)
{
	return r->issue == STAMP_NONE ? s->last : clock_time(&s->clock, r->fetch + r->issue);
}

/* Delivers a sample of an event at a time that has passed: looks for the instruction that was the
 * oldest then, among those before number `at` of the batch and those that are kept from earlier batches. */
static void deliver_past(struct issue *s, unsigned event, int64_t time,
			 const struct rec_inst *insts, size_t at)
{
	struct past found = { 0 };
	size_t steps = 0, n = s->npast;
	while (steps < s->max_past) {
		struct past p;
		if (at && s->issues) {
			const struct rec_issue *r = &s->issues[--at];
			p = (struct past){ r->pc, clock_time(&s->clock, r->time) };
		} else if (at) {
			const struct rec_inst *r = &insts[--at];
			if (!(r->flags & RI_COMMITTED))
				continue;
			p = (struct past){ r->pc, issue_time(s, r) };
		} else if (n) {
			p = s->past[--n];
		} else {
			break;
		}
		if (steps && p.time < time)
			break;
		found = p;
		steps++;
	}
	if (steps)
		put_samples(s, event, found.pc, 1, found.time == time);
}

/* Whether the event's counter runs at that time. */
static bool is_counted(const struct issue *s, unsigned event, int64_t time)
{
	if (!s->counter[event].periods.longest)
		return false;
	return event < MUX || (uint64_t)(time - 1) / s->turn % MUX_COUNT == event - MUX;
}

static void count_event(struct issue *s, unsigned event, uint64_t cycle,
			const struct rec_inst *insts, size_t at)
{
	struct counter *c = &s->counter[event];
	int64_t time = clock_time(&s->clock, cycle);
	if (time <= (int64_t)s->clock.before)
		time = (int64_t)s->clock.before + 1;
	c->occurred++;
	if (!is_counted(s, event, time) || --c->left)
		return;
	c->left = periods_draw(&c->periods);
	time += LATE;
	if (time <= s->last)
		deliver_past(s, event, time, insts, at);
	else
		*ARRAY_ADD(s->waiting, s->nwaiting) = (struct waiting){ time, event };
	find_due(s);
}

/* Of an instruction, which has number `at` in the batch. */
static __attribute__((noinline)) void count_events(struct issue *s, const struct rec_inst *r,
						   const struct rec_inst *insts, size_t at)
{
	const uint64_t fetched = r->fetch, issued = r->fetch + r->issue;
	if (r->psv & PSV_DR_L1)
		count_event(s, SAMPLED_IMISS, fetched - r->lat_icache, insts, at);
	if (r->psv & PSV_DR_TLB)
		count_event(s, SAMPLED_ITLB, fetched - r->lat_icache - r->lat_itlb, insts, at);
	if (r->psv & PSV_ST_L1)
		count_event(s, SAMPLED_DMISS, issued + s->l1d_latency, insts, at);
	if (r->psv & PSV_ST_TLB)
		count_event(s, SAMPLED_DTLB, issued + 1, insts, at);
	if (r->psv & PSV_FL_MB)
		count_event(s, SAMPLED_BRANCHMP, fetched + r->complete, insts, at);
}

/* The same as keep_past(). */
static void keep_issues(struct issue *s)
{
	const size_t n = min_u64(s->nissues, s->max_past);
	const size_t older = min_u64(s->npast, s->max_past - n);
	if (s->config == CONFIG_CYCLES)
		return;
	memmove(s->past, s->past + s->npast - older, older * sizeof(*s->past));
	s->npast = older;
	for (size_t i = s->nissues - n; i < s->nissues; i++)
		s->past[s->npast++] =
		    (struct past){ s->issues[i].pc, clock_time(&s->clock, s->issues[i].time) };
}

/* Keeps the last instructions of a batch, after those of earlier ones that there is room for. */
static void keep_past(struct issue *s, const struct rec_inst *insts, size_t count)
{
	size_t from = count, n = 0;
	if (s->config == CONFIG_CYCLES)
		return;
	while (from && n < s->max_past)
		n += insts[--from].flags & RI_COMMITTED;

	const size_t older = min_u64(s->npast, s->max_past - n);
	memmove(s->past, s->past + s->npast - older, older * sizeof(*s->past));
	s->npast = older;
	for (; from < count; from++)
		if (insts[from].flags & RI_COMMITTED)
			s->past[s->npast++] =
			    (struct past){ insts[from].pc, issue_time(s, &insts[from]) };
}

/* A region is over: the samples that are due before its end are lost. */
static void end_region(struct issue *s)
{
	const int64_t end = (int64_t)s->clock.before;
	while (s->next <= end)
		s->next += (int64_t)periods_draw(&s->counter[SAMPLED_CYCLES].periods);
	for (size_t i = 0; i < s->nwaiting;)
		if (s->waiting[i].time <= end)
			s->waiting[i] = s->waiting[--s->nwaiting];
		else
			i++;
	s->npast = 0;
	s->last = end;
	find_due(s);
}

static bool issue_issues(void *state, const struct rec_issue *issues, size_t count, struct err *e)
{
	struct issue *s = state;
	s->issues = issues;
	s->nissues = count;
	return true;
}

/* Delivers what is due while the instructions [from, to) of the batch issue: their times never fall, so only those at
 * which something is due are looked at. */
static void pass_issues(struct issue *s, size_t from, size_t to)
{
	const struct rec_issue *r = s->issues;
	while (from < to && clock_time(&s->clock, r[to - 1].time) >= s->due) {
		from +=
		    ARRAY_SEARCH(to - from, i, clock_time(&s->clock, r[from + i].time) < s->due);
		const int64_t time = clock_time(&s->clock, r[from].time);
		deliver(s, r[from].pc, time);
		s->last = time > s->last ? time : s->last;
		from++;
	}
	if (from < to && clock_time(&s->clock, r[to - 1].time) > s->last)
		s->last = clock_time(&s->clock, r[to - 1].time);
}

/* A batch with issue records: inst records are of those with events. */
static void pass_batch(struct issue *s, const struct rec_inst *insts, size_t ninsts)
{
	size_t done = 0;
	for (size_t i = 0; i < ninsts; i++) {
		pass_issues(s, done, insts[i].seq);
		count_events(s, &insts[i], insts, insts[i].seq);
		done = insts[i].seq;
	}
	pass_issues(s, done, s->nissues);
	s->insts += s->nissues;
	keep_issues(s);
	s->issues = NULL;
}

static bool issue_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct issue *s = state;
	uint64_t committed = 0;
	if (unlikely(clock_begins(&s->clock, insts, s->issues ? 0 : ninsts, cycles, ncycles)))
		end_region(s);
	if (s->issues) {
		pass_batch(s, insts, ninsts);
		clock_pass(&s->clock, cycles, ncycles);
		return true;
	}
	const uint64_t zero = (uint64_t)clock_time(&s->clock, 0);
	int64_t latest = s->last;
	for (size_t i = 0; i < ninsts; i++) {
		const struct rec_inst *r = &insts[i];
		/* Times never fall, so `last` is brought up to date only where it is read. */
		const int64_t time = (int64_t)(r->fetch + r->issue + zero);
		if (unlikely(!(r->flags & RI_COMMITTED)))
			continue;
		committed++;
		if (likely(time < s->due && !(r->psv & EVENTS))) {
			latest = time;
			continue;
		}
		s->last = latest > s->last ? latest : s->last;
		if (r->psv & EVENTS)
			count_events(s, r, insts, i);
		if (time >= s->due) {
			if (r->issue == STAMP_NONE)
				continue;
			deliver(s, r->pc, time);
		}
		latest = time;
	}
	s->last = latest > s->last ? latest : s->last;
	s->insts += committed;
	keep_past(s, insts, ninsts);
	clock_pass(&s->clock, cycles, ncycles);
	return true;
}

/* The share of the run's cycles in which the event was counted. */
static double running(const struct issue *s, unsigned event, uint64_t cycles)
{
	if (event < MUX || !cycles)
		return 1;
	const uint64_t round = s->turn * MUX_COUNT, begin = (event - MUX) * s->turn;
	const uint64_t rest = cycles % round;
	const uint64_t mine =
	    cycles / round * s->turn + (rest > begin ? min_u64(rest - begin, s->turn) : 0);
	return (double)mine / (double)cycles;
}

static bool issue_finish(void *state, struct store *store, struct err *e)
{
	struct issue *s = state;
	const uint64_t cycles = clock_now(&s->clock);
	s->counter[SAMPLED_CYCLES].occurred = cycles;
	if (!store)
		return true;
	struct cell *all = cells_sorted(&s->cells);
	bool ok = store_insert(store, e, "counter", "si", "instructions", (int64_t)s->insts);
	for (unsigned k = 0; ok && k < SAMPLED_COUNT; k++) {
		const struct counter *c = &s->counter[k];
		ok = store_insert(store, e, "counter", "si", words_sampled[k].name,
				  (int64_t)c->occurred) &&
		     (!c->periods.longest ||
		      store_insert(store, e, "calc_event", "iidii", (int64_t)k,
				   (int64_t)periods_mean(&c->periods), running(s, k, cycles),
				   (int64_t)c->samples, (int64_t)c->occurred));
	}
	for (size_t i = 0; ok && i < s->cells.used; i++)
		ok = store_insert(store, e, "calc_sample", "iiii", (int64_t)cell_pc(&all[i]),
				  (int64_t)cell_category(&all[i]), (int64_t)all[i].count,
				  (int64_t)all[i].units);
	free(all);
	return ok;
}

static void issue_free(void *state)
{
	struct issue *s = state;
	free(s->waiting);
	free(s->past);
	cells_free(&s->cells);
}

#define PERIOD                                                                                     \
	true,                                                                                      \
	{                                                                                          \
		1, 1ull << 32, NUMBER_PLAIN                                                        \
	}
static const struct analysis_param params[] = {
	{ "issue.events", "what is counted: cycles, default (imiss too) or all", false, { 0 } },
	{ "issue.imiss", "longest period of imiss samples, in events", PERIOD },
	{ "issue.itlb", "longest period of itlb samples", PERIOD },
	{ "issue.dmiss", "longest period of dmiss samples", PERIOD },
	{ "issue.dtlb", "longest period of dtlb samples", PERIOD },
	{ "issue.branchmp", "longest period of branchmp samples", PERIOD },
	{ .name = NULL },
};

const struct analysis issue_analysis = {
	.name = "issue",
	.summary =
	    "samples of the oldest instruction not yet issued, as the Alpha 21164 gives them",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_LATENCIES | WANT_ISSUES | WANT_COUNTS,
	.params = params,
	.tables = (const struct analysis_table[]){ { "calc_sample", "count" }, { NULL, NULL } },
	.state_size = sizeof(struct issue),
	.start = issue_start,
	.issues = issue_issues,
	.batch = issue_batch,
	.finish = issue_finish,
	.free = issue_free,
};
