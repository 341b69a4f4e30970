/* SPDX-License-Identifier: MIT */
/*
 * Compares every profiler with the golden reference of the same run.
 *
 * Error of a profile (tea2023 section 4): E = (T - sum over symbols and components of min(C, Cref))
 * / T, where a component is a set of events and the reference is reduced to the events that the
 * profiler reports. It holds both what the profiler gets wrong and what sampling misses. The
 * systematic error (tip2021 section 4) leaves sampling out: sample by sample, which share of it
 * fell on a symbol that the golden reference blames in that very cycle; with it comes a 95%
 * confidence interval over the samples. A profiler whose samples are pooled has an exact one: what its
 * weights make of the true executions.
 */
#include "view/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/model.h"
#include "view/pooled.h"

/* Time of a symbol with a set of events. The symbol is an address until regroup() has run. */
struct entry {
	int64_t symbol;
	unsigned events;
	double units;
};

struct entries {
	struct entry *list;
	size_t count;
	bool unsorted; /* add_entry() was called out of order */
};

static int by_symbol(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	return (x->events > y->events) - (x->events < y->events);
}

/* Adds to the entry of that symbol and set, if it is one of the last of the symbol; else at the end. */
static void add_to_last(struct entries *e, int64_t symbol, unsigned events, double units)
{
	for (size_t i = e->count, tries = 0; i-- > 0 && tries < 16 && e->list[i].symbol == symbol;
	     tries++)
		if (e->list[i].events == events) {
			e->list[i].units += units;
			return;
		}
	*ARRAY_ADD(e->list, e->count) = (struct entry){ symbol, events, units };
}

static void add_entry(struct entries *e, int64_t symbol, unsigned events, double units)
{
	const struct entry new = { symbol, events, units };

	e->unsorted |= e->count && by_symbol(&e->list[e->count - 1], &new) > 0;
	*ARRAY_ADD(e->list, e->count) = new;
}

static int64_t symbol_at(const struct model *m, size_t at, int64_t pc, int level)
{
	const struct model_inst *i = &m->insts[at];

	if (at >= m->ninsts || i->pc != (uint64_t)pc)
		return -1;
	return level == AT_INSTRUCTION ? pc : level == AT_BLOCK ? i->block : i->function;
}

static int64_t symbol_of(const struct model *m, int64_t pc, int level)
{
	return symbol_at(m, model_first_from(m, (uint64_t)pc), pc, level);
}

/* The first instruction that is not below an address; `at` is that of the address before it. A profile
 * is in the order of addresses, so it is often the same or the next one. */
static size_t first_after(const struct model *m, int64_t pc, size_t at)
{
	for (int near = 0; near < 4 && at < m->ninsts && m->insts[at].pc < (uint64_t)pc; near++)
		at++;
	if (at < m->ninsts && m->insts[at].pc >= (uint64_t)pc &&
	    (!at || m->insts[at - 1].pc < (uint64_t)pc))
		return at;
	return model_first_from(m, (uint64_t)pc);
}

/* The entries' addresses as symbols of a level, events reduced to a mask, equal ones added up. */
static struct entries regroup(const struct entries *from, const struct model *m, int level,
			      unsigned mask)
{
	struct entries out = { 0 };
	size_t kept = 0, at = 0, sorted;

	for (size_t i = 0; i < from->count; i++) {
		const int64_t pc = from->list[i].symbol;

		at = first_after(m, pc, at);
		add_to_last(&out, symbol_at(m, at, pc, level), from->list[i].events & mask,
			    from->list[i].units);
	}
	if (!out.count)
		return out;
	for (sorted = 1; sorted < out.count; sorted++)
		if (by_symbol(&out.list[sorted - 1], &out.list[sorted]) > 0)
			break;
	if (sorted < out.count)
		qsort(out.list, out.count, sizeof(*out.list), by_symbol);
	for (size_t i = 1; i < out.count; i++) {
		if (by_symbol(&out.list[kept], &out.list[i]))
			out.list[++kept] = out.list[i];
		else
			out.list[kept].units += out.list[i].units;
	}
	out.count = kept + 1;
	out.list = x_realloc(out.list, out.count * sizeof(*out.list));
	return out;
}

/* The golden reference, and what became of it at the levels and masks that were asked for: profilers
 * share them. */
struct truth {
	const struct model *m;
	struct entries entries; /* by address */
	struct truth_group {
		int level;
		unsigned mask;
		struct entries by;
	} * groups;
	size_t ngroups;
	enum { NOT_ASKED, ALL_KNOWN, SOME_UNKNOWN } known; /* whether the model has all addresses */
};

static const struct entries *truth_by(struct truth *t, int level, unsigned mask)
{
	for (size_t i = 0; i < t->ngroups; i++)
		if (t->groups[i].level == level && t->groups[i].mask == mask)
			return &t->groups[i].by;
	struct truth_group *g = ARRAY_ADD(t->groups, t->ngroups);

	*g = (struct truth_group){ level, mask, regroup(&t->entries, t->m, level, mask) };
	return &g->by;
}

static void truth_free(struct truth *t)
{
	for (size_t i = 0; i < t->ngroups; i++)
		free(t->groups[i].by.list);
	free(t->groups);
	free(t->entries.list);
}

/* What two lists have in common. */
static double common(const struct entries *p, const struct entries *g)
{
	double right = 0;

	for (size_t i = 0, k = 0; i < p->count && k < g->count;) {
		int c = by_symbol(&p->list[i], &g->list[k]);
		if (!c)
			right += fmin(p->list[i].units, g->list[k].units);
		i += c <= 0;
		k += c >= 0;
	}
	return right;
}

/* Whether the model has all addresses of a list. */
static bool is_known(const struct entries *p, const struct model *m)
{
	size_t at = 0;

	for (size_t i = 0; i < p->count; i++) {
		at = first_after(m, p->list[i].symbol, at);
		if (at >= m->ninsts || m->insts[at].pc != (uint64_t)p->list[i].symbol)
			return false;
	}
	return true;
}

/* Whether instructions can be compared by their addresses. Addresses that are no instruction's are one symbol, which
 * makes no difference unless both lists have some. */
static bool can_compare(const struct entries *profile, struct truth *t, const struct model *m)
{
	if (profile->unsorted || t->entries.unsorted)
		return false;
	if (t->known == NOT_ASKED)
		t->known = is_known(&t->entries, m) ? ALL_KNOWN : SOME_UNKNOWN;
	return t->known == ALL_KNOWN || is_known(profile, m);
}

static size_t end_of_symbol(const struct entries *e, size_t i)
{
	const int64_t symbol = e->list[i].symbol;

	while (i < e->count && e->list[i].symbol == symbol)
		i++;
	return i;
}

static double units_of(const struct entry *list, size_t count, unsigned events, unsigned mask)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (list[i].events & mask) == events ? list[i].units : 0;
	return sum;
}

#define SETS_MOST 64 /* of one address, in a list that is compared as it is */

/* The same by instruction for lists as they were read, in order of addresses: nothing is copied. False: an
 * address has too many sets of events for that. */
static bool common_by_address(const struct entries *p, const struct entries *g, unsigned mask,
			      double *right)
{
	*right = 0;
	for (size_t i = 0, k = 0; i < p->count && k < g->count;) {
		if (p->list[i].symbol != g->list[k].symbol) {
			if (p->list[i].symbol < g->list[k].symbol)
				i++;
			else
				k++;
			continue;
		}
		const size_t np = end_of_symbol(p, i) - i, ng = end_of_symbol(g, k) - k;

		if (np > SETS_MOST || ng > SETS_MOST)
			return false;
		for (size_t a = 0; a < np; a++) {
			const unsigned events = p->list[i + a].events & mask;
			bool seen = false;

			for (size_t b = 0; b < a && !seen; b++)
				seen = (p->list[i + b].events & mask) == events;
			if (!seen)
				*right += fmin(units_of(&p->list[i], np, events, mask),
					       units_of(&g->list[k], ng, events, mask));
		}
		i += np;
		k += ng;
	}
	return true;
}

static double error_of(const struct entries *profile, struct truth *truth, const struct model *m,
		       int level, unsigned mask)
{
	const double total = (double)m->cycles * m->scale;
	double right;

	if (level != AT_INSTRUCTION || !can_compare(profile, truth, m) ||
	    !common_by_address(profile, &truth->entries, mask, &right)) {
		struct entries p = regroup(profile, m, level, mask);

		right = common(&p, truth_by(truth, level, mask));
		free(p.list);
	}
	return (total - right) / total;
}

/* Rows of address, events and units. */
static bool read_entries(struct store_rows *r, struct entries *into, struct err *e)
{
	into->count = 0;
	into->unsorted = false;
	while (store_next(r))
		add_entry(into, store_int(r, 0), (unsigned)store_int(r, 1),
			  (double)store_int(r, 2));
	return store_done(r, e);
}

static bool read_profile(struct store *s, int64_t sampler, int64_t profiler, struct entries *p,
			 struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT pc, events, units FROM profile WHERE sampler = "
					  "?1 AND profiler = ?2 ORDER BY pc, "
					  "events",
					  "ii", sampler, profiler);
	return read_entries(&r, p, e);
}

static bool read_profilers(struct store *s, struct accuracy_model *m, struct err *e)
{
	const bool pooled = pooled_has(s);
	struct store_rows r = store_query(
	    s, "SELECT id, name, rule, events, sample_bytes FROM profiler ORDER BY id", "");

	while (store_next(&r)) {
		if (!pooled && !strcmp(store_text(&r, 1), POOLED_PROFILER))
			continue;
		struct accuracy_profiler *p = ARRAY_ADD(m->profilers, m->nprofilers);

		*p = (struct accuracy_profiler){ .id = store_int(&r, 0),
						 .rule = store_int(&r, 2),
						 .events = (unsigned)store_int(&r, 3),
						 .sample_bytes = store_double(&r, 4),
						 .own = store_int(&r, 0) >= STORE_OWN_PROFILERS };
		snprintf(p->name, sizeof(p->name), "%s", store_shown(&r, 1));
	}
	return store_done(&r, e);
}

/* Interned sample groups: the members of group g are member[first[g] .. first[g + 1]). */
struct groups {
	struct entry *member;
	size_t *first;
	size_t count;
};

static bool read_groups(struct store *s, struct groups *g, struct err *e)
{
	size_t members = (size_t)store_number(s, "SELECT count(*) FROM sample_group", 0), at = 0;

	g->count = (size_t)store_number(s, "SELECT coalesce(max(id) + 1, 0) FROM sample_group", 0);
	g->member = x_calloc(members, sizeof(*g->member));
	g->first = x_calloc(g->count + 1, sizeof(*g->first));
	struct store_rows r =
	    store_query(s, "SELECT id, pc, events FROM sample_group ORDER BY id, position", "");
	while (store_next(&r) && at < members) {
		size_t id = (size_t)store_int(&r, 0);

		g->member[at++] = (struct entry){ store_int(&r, 1), (unsigned)store_int(&r, 2), 0 };
		if (id < g->count)
			g->first[id + 1] = at;
	}
	for (size_t i = 1; i <= g->count; i++)
		if (g->first[i] < g->first[i - 1])
			g->first[i] = g->first[i - 1];
	return store_done(&r, e);
}

/* The share of group g's members from `from` on that stand for a symbol with these events. */
static double share_in(const struct groups *g, const struct model *m, size_t group, size_t from,
		       const struct entry *what, int level, unsigned mask)
{
	const double each = 1.0 / (double)(g->first[group + 1] - g->first[group]);
	double share = 0;

	for (size_t k = from; k < g->first[group + 1]; k++)
		if (symbol_of(m, g->member[k].symbol, level) == what->symbol &&
		    (g->member[k].events & mask) == what->events)
			share += each;
	return share;
}

/* Which share of a sample blamed on group a is right if group b is the truth. */
static double overlap(const struct groups *g, const struct model *m, size_t a, size_t b, int level,
		      unsigned mask)
{
	double right = 0;

	for (size_t i = g->first[a]; i < g->first[a + 1]; i++) {
		const struct entry what = { symbol_of(m, g->member[i].symbol, level),
					    g->member[i].events & mask, 0 };
		const double mine = share_in(g, m, a, g->first[a], &what, level, mask);

		/* a symbol counts once, where the group names it first */
		if (share_in(g, m, a, i, &what, level, mask) >= mine)
			right += fmin(mine, share_in(g, m, b, g->first[b], &what, level, mask));
	}
	return right;
}

static bool systematic_error(struct store *s, const struct groups *g, const struct model *run,
			     struct accuracy_profiler *p, struct err *e)
{
	double sum[ACCURACY_LEVELS] = { 0 }, squares[ACCURACY_LEVELS] = { 0 };
	double weight = 0, samples = 0;
	struct store_rows r =
	    store_query(s, "SELECT blamed, truth, cycles, samples FROM sample_pair WHERE rule = ?1",
			"i", p->rule);

	while (store_next(&r)) {
		size_t a = (size_t)store_int(&r, 0), b = (size_t)store_int(&r, 1);
		double w = (double)store_int(&r, 2);

		if (a >= g->count || b >= g->count)
			continue;
		weight += w;
		samples += (double)store_int(&r, 3);
		for (int l = 0; l < ACCURACY_LEVELS; l++) {
			double wrong = 1 - overlap(g, run, a, b, l, p->events);
			sum[l] += w * wrong;
			squares[l] += w * wrong * wrong;
		}
	}
	for (int l = 0; l < ACCURACY_LEVELS && weight > 0; l++) {
		double mean = sum[l] / weight, variance = squares[l] / weight - mean * mean;

		p->systematic[l] = mean;
		p->interval[l] = samples > 1 ? 1.96 * sqrt(fmax(variance, 0) / samples) : 0;
	}
	return store_done(&r, e);
}

static bool is_pooled(const struct accuracy_profiler *p)
{
	return !strcmp(p->name, POOLED_PROFILER);
}

static bool systematic_errors(struct store *s, const struct model *run, struct accuracy_model *m,
			      struct err *e)
{
	struct groups g;
	bool ok = read_groups(s, &g, e);

	for (size_t i = 0; ok && i < m->nprofilers; i++)
		if (!is_pooled(&m->profilers[i]) && !m->profilers[i].own)
			ok = systematic_error(s, &g, run, &m->profilers[i], e);
	free(g.member);
	free(g.first);
	return ok;
}

/* Half of the time that a bias moves. */
static double moved(const struct entries *bias, const struct model *m, int level)
{
	struct entries by = regroup(bias, m, level, 0);
	double sum = 0;

	for (size_t i = 0; i < by.count; i++)
		sum += fabs(by.list[i].units);
	free(by.list);
	return sum / 2 / ((double)m->cycles * m->scale);
}

/* Intervals hold the golden reference, or not. */
static void judge_intervals(const struct pooled *p, struct truth *golden, const struct model *run,
			    struct accuracy_pooled *out)
{
	const struct entries *truth = truth_by(golden, AT_INSTRUCTION, 0);
	double insts = 0, held = 0, time = 0, held_time = 0;

	for (size_t i = 0; i < truth->count; i++) {
		const double cycles = truth->list[i].units / run->scale;
		const struct pool_time *t = pooled_at(p, (uint64_t)truth->list[i].symbol);

		if (!t)
			continue;
		const bool holds = t->low <= cycles && cycles <= t->high;

		insts++;
		time += cycles;
		held += holds;
		held_time += holds ? cycles : 0;
	}
	for (uint32_t i = 0; i < p->count; i++)
		out->negative += fmax(0, -p->times[i].cycles) / (double)run->cycles;
	out->covered = insts > 0 ? held / insts : NAN;
	out->covered_time = time > 0 ? held_time / time : NAN;
}

static const struct accuracy_profiler *find_tip(const struct accuracy_model *m)
{
	for (size_t i = 0; i < m->nprofilers; i++)
		if (!strcmp(m->profilers[i].name, "tip"))
			return &m->profilers[i];
	return NULL;
}

static bool pooled_errors(struct store *s, const struct model *run, struct truth *golden,
			  struct accuracy_model *m, struct accuracy_profiler *profiler,
			  struct err *e)
{
	struct entries profile = { 0 }, bias = { 0 }, limit = { 0 };
	const struct accuracy_profiler *tip = find_tip(m);
	struct pooled p;

	if (!pooled_read(s, &p, e))
		return false;
	for (uint32_t i = 0; i < p.count; i++) {
		const int64_t pc = (int64_t)p.pcs[i];

		add_entry(&profile, pc, 0, p.times[i].cycles * run->scale);
		add_entry(&bias, pc, 0, p.times[i].bias * run->scale);
		add_entry(&limit, pc, 0, p.times[i].limit * run->scale);
	}
	for (int l = 0; l < ACCURACY_LEVELS; l++) {
		profiler->error[l] = error_of(&profile, golden, run, l, 0);
		profiler->systematic[l] = moved(&bias, run, l);
	}
	m->pooled.is = tip && tip->error[AT_INSTRUCTION] > 0;
	if (m->pooled.is) {
		m->pooled.of_tip = profiler->error[AT_INSTRUCTION] / tip->error[AT_INSTRUCTION];
		m->pooled.limit =
		    error_of(&limit, golden, run, AT_INSTRUCTION, 0) / tip->error[AT_INSTRUCTION];
	}
	judge_intervals(&p, golden, run, &m->pooled);
	free(profile.list);
	free(bias.list);
	free(limit.list);
	pooled_free(&p);
	return true;
}

static bool errors(struct store *s, const struct model *run, struct truth *golden,
		   struct accuracy_model *m, struct err *e)
{
	struct entries profile = { 0 };
	struct truth all = { .m = run }; /* with all events */
	struct store_rows r = store_query(s, "SELECT pc, events, units FROM golden_events", "");
	bool ok = read_entries(&r, &all.entries, e);

	for (size_t i = 0; ok && i < m->nprofilers; i++) {
		struct accuracy_profiler *p = &m->profilers[i];

		if (is_pooled(p)) {
			ok = pooled_errors(s, run, golden, m, p, e);
			continue;
		}
		ok = read_profile(s, p->own ? p->id : 0, p->id, &profile, e);
		for (int l = 0; ok && l < ACCURACY_LEVELS; l++)
			p->error[l] = error_of(&profile, p->own ? &all : golden, run, l, p->events);
	}
	truth_free(&all);
	free(profile.list);
	return ok;
}

static void read_bare_stalls(struct store *s, struct accuracy_model *m)
{
	int64_t all = store_number(s, "SELECT coalesce(sum(count), 0) FROM bare_stall", 0), at = 0;
	struct store_rows r =
	    store_query(s, "SELECT length, count FROM bare_stall ORDER BY length", "");

	while (store_next(&r) && at < all - all / 100) {
		m->bare_length = store_int(&r, 0);
		at += store_int(&r, 1);
	}
	store_done(&r, NULL);
	m->bare_stalls = all != 0;
	m->with_event = model_run_number(s, "with_event", 0);
	m->with_combined = model_run_number(s, "with_combined_events", 0);
	m->with_bits = model_run_number(s, "with_several_bits", -1);
}

/* The counters tip-hw.STATE.VERDICT. */
static bool read_verdicts(struct store *s, struct accuracy_model *m, struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT name, value FROM counter WHERE name LIKE "
					  "'tip-hw.%.%' ORDER BY name",
					  "");

	while (store_next(&r)) {
		const char *state = store_shown(&r, 0) + strlen("tip-hw."),
			   *dot = strchr(state, '.');
		struct accuracy_verdict *v;

		if (!dot)
			continue;
		v = ARRAY_ADD(m->verdicts, m->nverdicts);
		snprintf(v->state, sizeof(v->state), "%.*s", (int)(dot - state), state);
		snprintf(v->verdict, sizeof(v->verdict), "%s", dot + 1);
		v->samples = (uint64_t)store_int(&r, 1);
	}
	return store_done(&r, e);
}

static bool read_samplers(struct store *s, const struct model *run, struct truth *golden,
			  struct accuracy_model *m, struct err *e)
{
	struct entries p = { 0 };
	bool ok = true;
	struct store_rows r = store_query(
	    s,
	    "SELECT id, period, random, samples FROM sampler WHERE id > 0 AND id < ?1 ORDER BY "
	    "period DESC, random",
	    "i", (int64_t)STORE_OWN_PROFILERS);

	while (ok && store_next(&r)) {
		struct accuracy_sampler *sampler = ARRAY_ADD(m->samplers, m->nsamplers);

		*sampler = (struct accuracy_sampler){
			.id = store_int(&r, 0),
			.period = store_int(&r, 1),
			.random = store_int(&r, 2),
			.samples = store_int(&r, 3),
			.error = x_calloc(m->nprofilers, sizeof(*sampler->error)),
		};
		for (size_t i = 0; ok && i < m->nprofilers; i++) {
			if (m->profilers[i].own)
				continue;
			ok = read_profile(s, sampler->id, m->profilers[i].id, &p, e);
			if (ok)
				sampler->error[i] = error_of(&p, golden, run, AT_INSTRUCTION,
							     m->profilers[i].events);
		}
	}
	ok = store_done(&r, ok ? e : NULL) && ok;
	free(p.list);
	return ok && (m->nsamplers ||
		      err_set(e, "%s holds no sweep: run `culprit sim` with --param sweep=1",
			      store_path(s)));
}

/* Over the instructions that have the event. */
static bool correlate(struct store *s, int64_t bit, struct accuracy_event *event, struct err *e)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
	struct store_rows r = store_query(s,
					  "SELECT sum(executions), sum(units) FROM golden "
					  "WHERE (events >> ?1) & 1 GROUP BY pc",
					  "i", bit);

	while (store_next(&r)) {
		double x = store_double(&r, 0), y = store_double(&r, 1);
		n++;
		sx += x;
		sy += y;
		sxx += x * x;
		syy += y * y;
		sxy += x * y;
	}
	double spread = (n * sxx - sx * sx) * (n * syy - sy * sy);

	event->instructions = n;
	event->correlation = spread > 0 ? (n * sxy - sx * sy) / sqrt(spread) : NAN;
	return store_done(&r, e);
}

static bool read_events(struct store *s, struct accuracy_model *m, struct err *e)
{
	struct store_rows r = store_query(s, "SELECT bit, name FROM event ORDER BY bit", "");
	bool ok = true;

	while (ok && store_next(&r)) {
		struct accuracy_event *event = ARRAY_ADD(m->events, m->nevents);

		snprintf(event->name, sizeof(event->name), "%s", store_shown(&r, 1));
		ok = correlate(s, store_int(&r, 0), event, e);
	}
	return store_done(&r, ok ? e : NULL) && ok;
}

/*
 * The error by function that a profiler without any other error has in the mean: half of the sum of
 * |share found - share|, each normal with variance share (1 - share) / samples.
 */
static double chance_error(const struct model *run, double samples)
{
	double sum = 0;

	for (size_t i = 0; i < run->nfunctions; i++) {
		const double share = run->functions[i].cycles / (double)run->cycles;

		if (share > 0 && share < 1)
			sum += sqrt(share * (1 - share));
	}
	return samples > 0 ? sum * sqrt(2 / M_PI / samples) / 2 : 1;
}

#define PERF_HZ 4000

#define RESONANCE	 1.5  /* times the error by chance */
#define RESONANCE_POINTS 0.01 /* and by at least so much more */

/* Adds to `seen` how many of TIP's samples named each instruction, and to `parts` how many samples that
 * made: an instruction has the n-th part of one that names n. */
static bool read_parts(struct store *s, const struct groups *g, int64_t rule, struct entries *seen,
		       struct entries *parts, struct err *e)
{
	struct store_rows r = store_query(
	    s, "SELECT blamed, sum(samples) FROM sample_pair WHERE rule = ?1 GROUP BY blamed", "i",
	    rule);

	while (store_next(&r)) {
		const size_t group = (size_t)store_int(&r, 0);
		const double samples = (double)store_int(&r, 1);

		if (group >= g->count)
			continue;
		const size_t n = g->first[group + 1] - g->first[group];

		for (size_t k = g->first[group]; k < g->first[group + 1]; k++) {
			add_entry(seen, g->member[k].symbol, 0, samples);
			add_entry(parts, g->member[k].symbol, 0, samples / (double)n);
		}
	}
	return store_done(&r, e);
}

/*
 * The error by instruction that TIP would have in the mean if it took as many samples at random cycles.
 * An instruction with g cycles, of which each sample gives it w * part cycles, has a number of samples
 * that is Poisson's with mean l = g / (w * part). Its mean deviation is sqrt(2 l / pi), and 2 l where l is
 * small.
 */
static double chance_by_instruction(const struct entries *golden, const struct entries *seen,
				    const struct entries *parts, double total, double samples)
{
	const double w = total / samples;
	double all_seen = 0, all_parts = 0, sum = 0;

	for (size_t i = 0; i < seen->count; i++) {
		all_seen += seen->list[i].units;
		all_parts += parts->list[i].units;
	}
	for (size_t i = 0, k = 0; i < golden->count; i++) {
		while (k < seen->count && by_symbol(&seen->list[k], &golden->list[i]) < 0)
			k++;
		const bool has = k < seen->count && !by_symbol(&seen->list[k], &golden->list[i]);
		const double part = has ? parts->list[k].units / seen->list[k].units
					: all_parts / all_seen,
			     l = golden->list[i].units / (w * part);

		sum += w * part * fmin(2 * l, sqrt(2 * l / M_PI));
	}
	return sum / 2 / total;
}

/* Whether TIP's samples fall in step with the program. */
static bool read_resonance(struct store *s, const struct model *run, struct truth *golden,
			   struct accuracy_model *m, struct err *e)
{
	struct groups g = { 0 };
	struct entries seen = { 0 }, parts = { 0 };
	const struct accuracy_profiler *tip = find_tip(m);
	bool ok = true;

	m->random = store_number(s, "SELECT random FROM sampler WHERE id = 0", 0) != 0;
	if (!tip || !m->samples || m->estimated)
		return true;
	ok = read_groups(s, &g, e) && read_parts(s, &g, tip->rule, &seen, &parts, e);
	if (ok && seen.count) {
		struct entries by_seen = regroup(&seen, run, AT_INSTRUCTION, 0),
			       by_parts = regroup(&parts, run, AT_INSTRUCTION, 0);

		m->tip_error = tip->error[AT_INSTRUCTION];
		m->tip_chance =
		    chance_by_instruction(truth_by(golden, AT_INSTRUCTION, 0), &by_seen, &by_parts,
					  (double)run->cycles * run->scale, (double)m->samples);
		m->resonates = !m->random && m->tip_error > RESONANCE * m->tip_chance &&
			       m->tip_error > m->tip_chance + RESONANCE_POINTS;
		free(by_seen.list);
		free(by_parts.list);
	}
	free(seen.list);
	free(parts.list);
	free(g.member);
	free(g.first);
	return ok;
}

/* Samples that a profiler of the user's own takes in a second. */
static void read_rates(struct store *s, const struct model *run, struct accuracy_model *m)
{
	for (size_t i = 0; i < m->nprofilers; i++) {
		struct accuracy_profiler *p = &m->profilers[i];

		p->sample_rate = m->sample_rate;
		if (!p->own)
			continue;
		struct store_rows r =
		    store_query(s, "SELECT samples FROM sampler WHERE id = ?1", "i", p->id);
		p->sample_rate = store_next(&r) && run->cycles
				     ? store_double(&r, 0) / (double)run->cycles * run->clock_hz
				     : 0;
		store_done(&r, NULL);
	}
}

/* Sample by sample what table 2.1 of the thesis says of the commit states with a mark. */
static bool read_states(struct store *s, const struct model *run, struct accuracy_model *m,
			struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT rule, category, samples, cycles, units FROM "
					  "sample_state ORDER BY category, rule",
					  "");

	while (store_next(&r)) {
		const int category = (int)store_int(&r, 1);
		struct accuracy_state *t = m->nstates ? &m->states[m->nstates - 1] : NULL;

		if (category < 0 || category >= TIME_CATEGORY_COUNT)
			continue;
		if (!t || t->category != category) {
			t = ARRAY_ADD(m->states, m->nstates);
			*t = (struct accuracy_state){
				.category = category,
				.samples = store_double(&r, 2),
				.share = store_double(&r, 3) / (double)run->cycles,
				.right = x_calloc(m->nprofilers, sizeof(*t->right)),
			};
			for (size_t i = 0; i < m->nprofilers; i++)
				t->right[i] = NAN;
		}
		for (size_t i = 0; i < m->nprofilers; i++)
			if (!m->profilers[i].own && !is_pooled(&m->profilers[i]) &&
			    m->profilers[i].rule == store_int(&r, 0) && store_double(&r, 3) > 0)
				t->right[i] =
				    store_double(&r, 4) / (store_double(&r, 3) * run->scale);
	}
	return store_done(&r, e);
}

static bool read_psvs(struct store *s, const struct accuracy_options *a, struct accuracy_model *m,
		      struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT paper, bits, event, events, stall, idle, bare, bytes FROM psv_curve ORDER BY "
	    "paper, bits",
	    "");

	while (store_next(&r))
		*ARRAY_ADD(m->psvs, m->npsvs) = (struct accuracy_psv){
			store_int(&r, 0) != 0,	    (int)store_int(&r, 1), (int)store_int(&r, 2),
			(unsigned)store_int(&r, 3), store_double(&r, 4),   store_double(&r, 5),
			store_double(&r, 6),	    store_double(&r, 7),
		};
	return store_done(&r, e) &&
	       (m->npsvs || !a->bits ||
		err_set(e,
			"%s does not say what sets of events explain: run `culprit sim` with "
			"--analyze profile,own",
			store_path(s)));
}

bool accuracy_read(struct store *s, const struct accuracy_options *a, struct accuracy_model *m,
		   struct err *e)
{
	struct model own = { 0 };
	const struct model *run = a->run ? a->run : &own;
	struct truth golden = { .m = run };

	memset(m, 0, sizeof(*m));
	if (!a->run && !model_read(s, NULL, &own, e))
		return false;
	if (!run->golden) {
		model_free(&own);
		return err_set(e,
			       "%s has samples alone: there is no golden reference to compare "
			       "them with",
			       store_path(s));
	}
	m->samples = run->samples;
	m->period = run->period;
	m->sample_rate = (double)run->samples / (double)run->cycles * run->clock_hz;
	m->perf_samples = run->clock_hz > 0 ? (double)run->cycles / run->clock_hz * PERF_HZ : 0;
	m->estimated = run->estimated.is;
	m->chance = chance_error(run, (double)run->samples);
	/* Samples were taken at the points alone. */
	if (m->estimated && run->estimated.measured_cycles > 0)
		m->sample_rate *= (double)run->cycles / run->estimated.measured_cycles;
	read_bare_stalls(s, m);
	struct store_rows r = store_query(
	    s,
	    "SELECT pc, events, sum(units) FROM golden GROUP BY pc, events ORDER BY pc, "
	    "events",
	    "");
	bool ok = read_entries(&r, &golden.entries, e) && read_profilers(s, m, e) &&
		  read_states(s, run, m, e) && read_psvs(s, a, m, e) && read_verdicts(s, m, e) &&
		  errors(s, run, &golden, m, e) && systematic_errors(s, run, m, e) &&
		  read_resonance(s, run, &golden, m, e) &&
		  (!a->sweep || read_samplers(s, run, &golden, m, e)) &&
		  (!a->events || read_events(s, m, e));

	read_rates(s, run, m);
	truth_free(&golden);
	model_free(&own);
	if (!ok)
		accuracy_free(m);
	return ok;
}

void accuracy_free(struct accuracy_model *m)
{
	for (size_t i = 0; i < m->nsamplers; i++)
		free(m->samplers[i].error);
	for (size_t i = 0; i < m->nstates; i++)
		free(m->states[i].right);
	free(m->states);
	free(m->psvs);
	free(m->samplers);
	free(m->verdicts);
	free(m->profilers);
	free(m->events);
}
