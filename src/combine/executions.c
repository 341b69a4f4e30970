/* SPDX-License-Identifier: MIT */
/*
 * Exact executions. The functional pass counts how often every instruction is executed; points know
 * that only for their intervals. So executions in the combined store are exact, and the time of an
 * instruction may be its exact executions x the cycles per execution that points measured. All times
 * are then scaled alike, so that their total stays what the points' cycles say.
 *
 * An instruction that points executed but the functional pass did not count keeps its weights.
 */
#include <stdlib.h>
#include <string.h>

#include "combine/combine_int.h"
#include "util/array.h"

static uint64_t exact_of(const struct combine_options *o, int64_t pc)
{
	const size_t at = ARRAY_SEARCH(o->npcs, i, o->pcs[i] < (uint64_t)pc);

	return at < o->npcs && o->pcs[at] == (uint64_t)pc ? o->executions[at] : 0;
}

void executions_find(struct combine *c)
{
	const struct table *t = combine_table(c, "golden");
	uint64_t all = 0, measured = 0;

	if (!c->o->pcs || !t->count)
		return;
	for (size_t i = 0; i < t->count; i++) {
		const int64_t pc = t->keys[i * t->nkeys];

		if (!i || c->executed[c->nexecuted - 1].pc != pc)
			*ARRAY_ADD(c->executed, c->nexecuted) =
			    (struct executed){ pc, 0, exact_of(c->o, pc) };
		c->executed[c->nexecuted - 1].estimated += t->total[i * t->nvalues + 1].count;
	}
	for (size_t i = 0; i < c->nexecuted; i++)
		measured += c->executed[i].exact;
	for (size_t i = 0; i < c->o->npcs; i++)
		all += c->o->executions[i];
	c->unmeasured = all - measured;
}

static const struct executed *executed_at(const struct combine *c, int64_t pc)
{
	const size_t at = ARRAY_SEARCH(c->nexecuted, i, c->executed[i].pc < pc);

	return at < c->nexecuted && c->executed[at].pc == pc ? &c->executed[at] : NULL;
}

/* Exact executions over those that the points make of it. */
static double factor_of(const struct combine *c, int64_t pc)
{
	const struct executed *x = executed_at(c, pc);

	return !x || !x->exact || x->estimated <= 0 ? 1
						    : (double)x->exact / fixed_double(x->estimated);
}

static double value_of(const struct table *t, size_t row, unsigned v)
{
	const union total *x = &t->total[row * t->nvalues + v];

	return t->kind[v] == 'S' ? fixed_double(x->count) : x->real;
}

static void follow(struct combine *c, struct table *t, unsigned v, size_t from, size_t to)
{
	double before = 0, after = 0;

	for (size_t i = from; i < to; i++) {
		const double value = value_of(t, i, v);

		before += value;
		after += value * factor_of(c, t->keys[i * t->nkeys + t->rule->pc]);
	}

	const double again = before != 0 && after != 0 ? before / after : 1;

	for (size_t i = from; i < to; i++) {
		union total *x = &t->total[i * t->nvalues + v];
		const double by = factor_of(c, t->keys[i * t->nkeys + t->rule->pc]) * again;

		/* By 1 nothing is lost to rounding. */
		if (by == 1)
			continue;
		if (t->kind[v] == 'S')
			x->count = fixed_from(fixed_double(x->count) * by);
		else
			x->real *= by;
	}
}

void executions_times(struct combine *c, struct table *t)
{
	if (!t->rule->by_pc || !c->nexecuted || c->o->mode != COMBINE_EXECUTIONS)
		return;

	size_t ngroups, *starts = table_groups(t, &ngroups);

	for (unsigned v = 0; v < t->nvalues; v++)
		for (size_t g = 0;
		     strchr("SRm", t->kind[v]) && v + 1 != t->rule->executions && g < ngroups; g++)
			follow(c, t, v, starts[g], starts[g + 1]);
	free(starts);
}

void executions_counts(struct combine *c, struct table *t)
{
	const unsigned v = t->rule->executions - 1;
	fixed *values = x_malloc((t->count + 1) * sizeof(*values));
	int64_t *out = x_malloc((t->count + 1) * sizeof(*out));

	for (size_t from = 0, to; t->rule->executions && c->nexecuted && from < t->count;
	     from = to) {
		const int64_t pc = t->keys[from * t->nkeys + t->rule->pc];
		const struct executed *x = executed_at(c, pc);
		fixed sum = 0;

		for (to = from; to < t->count && t->keys[to * t->nkeys + t->rule->pc] == pc; to++)
			sum += values[to - from] = t->total[to * t->nvalues + v].count;
		if (!x || !x->exact || (!sum && x->estimated))
			continue;
		/* What does not count every execution stays the same part of them. */
		const double exact = sum == x->estimated ? 0 : fixed_double(sum) * factor_of(c, pc);

		for (size_t i = 0; i < to - from; i++)
			values[i] = fixed_from(fixed_double(values[i]) * factor_of(c, pc));
		apportion(values, to - from,
			  sum == x->estimated ? (int64_t)x->exact : fixed_round(fixed_from(exact)),
			  out);
		for (size_t i = from; i < to; i++)
			t->whole[i * t->nvalues + v] = out[i - from];
	}
	free(values);
	free(out);
}
