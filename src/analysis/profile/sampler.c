/* SPDX-License-Identifier: MIT */
/*
 * Sample selection of all profilers, after tip2021 sections 2, 3.1 and 5 and tea2023 sections 3
 * and 5.
 *
 * A sample stands for all cycles since the one before it, so weights sum to the run. A rule that
 * blames the next-committing instruction (NCI always; TIP when stalled or drained) waits for the
 * next commit, and so sees the events as they are then. A rule that tags (dispatch, fetch) waits
 * until that instruction commits; if a younger one commits first, it was squashed and its weight
 * goes to the rule's next sample.
 *
 * Invariants:
 *
 *   S1  For every rule, the weights of resolved samples, of waiting ones and the carry sum to the
 *       cycles that samples have stood for.
 *   S2  Samples leave the ring in the order in which they were taken.
 */
#include "analysis/profile/sampler.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

void sampler_schedule(struct sampler *s)
{
	uint64_t begin = s->period_end;
	s->period_end += s->period;
	s->next = begin + (s->random ? rng_below(&s->rng, s->period) : s->period - 1);
}

void sampler_init(struct sampler *s, uint64_t period, bool random, uint64_t seed, uint64_t phase)
{
	memset(s, 0, sizeof(*s));
	s->period = period;
	s->random = random;
	rng_seed(&s->rng, seed);
	s->capacity = 64;
	s->ring = x_calloc(s->capacity, sizeof(*s->ring));
	s->groups_capacity = 256;
	s->groups = x_calloc(s->groups_capacity, sizeof(*s->groups));
	s->ngroups = 1; /* GROUP_UNKNOWN */
	s->groups[0].n = 1;
	s->group_mask = 1023;
	s->group_index = x_calloc(s->group_mask + 1, sizeof(*s->group_index));
	cells_init(&s->pairs);
	cells_init(&s->times);
	/* The first period began that long before time 0; so did the cycles that its sample stands for.
	 * A sample that would have been taken then is not. */
	s->period_end = s->last = 0 - phase % period;
	do
		sampler_schedule(s);
	while ((int64_t)s->next < 0);
}

void sampler_free(struct sampler *s)
{
	free(s->ring);
	free(s->groups);
	free(s->group_index);
	free(s->states);
	cells_free(&s->pairs);
	cells_free(&s->times);
}

void sampler_count_states(struct sampler *s, uint64_t scale)
{
	s->states = x_calloc(1, sizeof(*s->states));
	s->states->scale = scale;
}

static uint64_t group_hash(const struct group *g)
{
	uint64_t h = g->n;
	for (unsigned i = 0; i < g->n; i++)
		h = hash_u64(h ^ g->key[i]);
	return h;
}

static uint32_t *group_slot(const struct sampler *s, const struct group *g)
{
	size_t i = group_hash(g) & s->group_mask;
	for (; s->group_index[i]; i = (i + 1) & s->group_mask) {
		const struct group *o = &s->groups[s->group_index[i]];
		if (o->n == g->n && !memcmp(o->key, g->key, g->n * sizeof(g->key[0])))
			break;
	}
	return &s->group_index[i];
}

static uint32_t intern(struct sampler *s, const struct group *g)
{
	uint32_t *slot = group_slot(s, g);
	if (*slot)
		/* cppcheck-suppress identicalInnerCondition ; the condition is the value */
		return *slot;
	if (s->ngroups == s->groups_capacity) {
		s->groups_capacity *= 2;
		s->groups = x_realloc(s->groups, s->groups_capacity * sizeof(*s->groups));
	}
	s->groups[s->ngroups] = *g;
	*slot = (uint32_t)s->ngroups++;
	if (2 * s->ngroups > s->group_mask) {
		free(s->group_index);
		s->group_mask = 2 * s->group_mask + 1;
		s->group_index = x_calloc(s->group_mask + 1, sizeof(*s->group_index));
		for (size_t i = 1; i < s->ngroups; i++)
			*group_slot(s, &s->groups[i]) = (uint32_t)i;
	}
	return (uint32_t)s->ngroups - 1;
}

static uint32_t intern_one(struct sampler *s, uint64_t key)
{
	struct group g = { .n = 1, .key = { key } };
	return key ? intern(s, &g) : GROUP_UNKNOWN;
}

static struct sample *sample_at(struct sampler *s, size_t i)
{
	return &s->ring[(s->head + i) & (s->capacity - 1)];
}

static struct sample *push(struct sampler *s)
{
	if (s->count == s->capacity) {
		struct sample *bigger = x_calloc(2 * s->capacity, sizeof(*bigger));
		for (size_t i = 0; i < s->count; i++)
			bigger[i] = *sample_at(s, i);
		free(s->ring);
		s->ring = bigger;
		s->head = 0;
		s->capacity *= 2;
	}
	struct sample *p = sample_at(s, s->count++);
	memset(p, 0, sizeof(*p));
	return p;
}

unsigned time_of_stall(unsigned cls)
{
	switch (cls) {
	case CLASS_LOAD:
		return TIME_LOAD_STALL;
	case CLASS_STORE:
	case CLASS_AMO:
		return TIME_STORE_STALL;
	default:
		return TIME_ALU_STALL;
	}
}

unsigned time_of_drain(unsigned events)
{
	return events & PSV_DR_SQ ? TIME_STORES : TIME_FRONTEND;
}

static void settle(struct sample *p, enum select_rule rule, uint32_t group)
{
	p->group[rule] = group;
	p->pending &= ~(1u << rule);
}

static void drop(struct sampler *s, struct sample *p, enum select_rule rule)
{
	s->carry[rule] += p->weight;
	s->dropped[rule]++;
	p->group[rule] = UINT32_MAX; /* delivered nothing */
	p->pending &= ~(1u << rule);
}

/* Compares what the hardware blames with what TIP's rule does, by TEA's events. */
static enum hw_verdict judge(const struct sampler *s, const struct sample *p)
{
	const struct group *a = &s->groups[p->group[SELECT_HARDWARE]],
			   *b = &s->groups[p->group[SELECT_TIP]];
	bool same = true;

	if (a->n != b->n)
		return HW_OTHER_INSTRUCTION;
	for (unsigned i = 0; i < a->n; i++) {
		const uint64_t differ = a->key[i] ^ b->key[i];

		if (differ >> CELL_EVENT_BITS)
			return HW_OTHER_INSTRUCTION;
		same &= !(differ & PSV_TEA);
	}
	return same ? HW_AGREES : HW_OTHER_EVENTS;
}

/* How many units of a cycle that group a has belong to the same instructions by group b. */
static uint64_t common(const struct sampler *s, uint32_t a, uint32_t b)
{
	const struct group *x = &s->groups[a], *y = &s->groups[b];
	const unsigned most = x->n > y->n ? x->n : y->n;
	unsigned same = 0;

	if (a == b)
		return s->states->scale;
	for (unsigned i = 0; i < x->n; i++)
		for (unsigned k = 0; k < y->n; k++)
			if (!((x->key[i] ^ y->key[k]) >> CELL_EVENT_BITS)) {
				same++;
				break;
			}
	return s->states->scale / most * (same < y->n ? same : y->n);
}

static void count_states(struct sampler *s, const struct sample *p)
{
	struct sampler_states *t = s->states;

	t->samples[p->category]++;
	t->cycles[p->category] += p->weight;
	for (unsigned r = 0; r < SELECT_COUNT; r++)
		if (p->group[r] != UINT32_MAX)
			t->right[r][p->category] +=
			    p->weight * common(s, p->group[r], p->group[SELECT_TIP]);
}

/* Moves samples to the pair table, oldest first, up to one that is not complete. */
static void retire(struct sampler *s)
{
	while (s->count && !s->ring[s->head].pending) {
		struct sample *p = &s->ring[s->head];
		if (s->hardware)
			s->verdict[p->hw_state][judge(s, p)]++;
		if (s->states)
			count_states(s, p);
		cells_add(&s->times,
			  (uint64_t)(p->category + 1) << 60 | (uint64_t)p->group[SELECT_TIP] << 30,
			  p->weight, 1);
		for (unsigned r = 0; r < SELECT_COUNT; r++) {
			if (p->group[r] == UINT32_MAX)
				continue;
			uint64_t key = (uint64_t)(r + 1) << 60 | (uint64_t)p->group[r] << 30 |
				       p->group[SELECT_TIP];
			cells_add(&s->pairs, key, p->weight + s->carry[r], 1);
			s->carry[r] = 0;
		}
		s->head = (s->head + 1) & (s->capacity - 1);
		s->count--;
	}
}

static void select_now(struct sampler *s, struct sample *p, const struct sampler_view *v)
{
	const struct rec_cycle *c = v->rec;
	p->pending = (1u << SELECT_COUNT) - 1;
	p->category = (uint8_t)v->category;
	if (v->commit->n) {
		uint32_t all = intern(s, v->commit), oldest = intern_one(s, v->commit->key[0]);
		settle(p, SELECT_TIP, all);
		settle(p, SELECT_TIP_OLDEST, oldest);
		settle(p, SELECT_NCI, oldest);
		settle(p, SELECT_NCI_ALL, all);
	} else if (v->flushed) {
		uint32_t culprit = intern_one(s, v->flush_key);
		settle(p, SELECT_TIP, culprit);
		settle(p, SELECT_TIP_OLDEST, culprit);
	}
	settle(p, SELECT_LCI, intern_one(s, v->last_key));
	if (!s->hardware)
		settle(p, SELECT_HARDWARE, UINT32_MAX);
	p->tag_dispatch = c->ndispatch ? c->dispatch_seq : 0;
	p->tag_fetch = c->fetch_seq;
	p->resume_po = c->fetch_po;
}

void sampler_take(struct sampler *s, uint64_t t, const struct sampler_view *view)
{
	struct sample *p = push(s);
	p->weight = t + 1 - s->last;
	s->last = t + 1;
	s->taken++;
	select_now(s, p, view);
	sampler_schedule(s);
}

/* Resolves what it can of a waiting sample with the instructions that commit in this cycle. */
static void resolve_one(struct sampler *s, struct sample *p, const struct group *commit,
			const struct rec_inst *const *insts)
{
	const uint64_t youngest_seq = insts[commit->n - 1]->seq,
		       youngest_po = insts[commit->n - 1]->po;
	if (p->pending & (1u << SELECT_NCI | 1u << SELECT_TIP)) {
		uint32_t oldest = intern_one(s, commit->key[0]);
		if (p->pending & 1u << SELECT_TIP) {
			settle(p, SELECT_TIP, oldest);
			settle(p, SELECT_TIP_OLDEST, oldest);
			if (p->category == TIME_ALU_STALL)
				p->category = (uint8_t)time_of_stall(insts[0]->cls);
			else if (p->category == TIME_FRONTEND)
				p->category = (uint8_t)time_of_drain(insts[0]->psv);
		}
		if (p->pending & 1u << SELECT_NCI) {
			settle(p, SELECT_NCI, oldest);
			settle(p, SELECT_NCI_ALL, intern(s, commit));
		}
	}
	if (p->pending & 1u << SELECT_RESUME && youngest_po >= p->resume_po) {
		for (unsigned i = 0; i < commit->n; i++)
			if (insts[i]->po == p->resume_po)
				settle(p, SELECT_RESUME, intern_one(s, commit->key[i]));
		if (p->pending &
		    1u << SELECT_RESUME) /* it committed before the sample: the program has ended */
			settle(p, SELECT_RESUME, GROUP_UNKNOWN);
	}
	const struct {
		enum select_rule rule;
		uint64_t tag;
	} tags[] = { { SELECT_DISPATCH, p->tag_dispatch }, { SELECT_FETCH, p->tag_fetch } };
	for (unsigned k = 0; k < ARRAY_LEN(tags); k++) {
		if (!(p->pending & 1u << tags[k].rule) || !tags[k].tag ||
		    youngest_seq < tags[k].tag)
			continue;
		for (unsigned i = 0; i < commit->n; i++)
			if (insts[i]->seq == tags[k].tag)
				settle(p, tags[k].rule, intern_one(s, commit->key[i]));
		if (p->pending & 1u << tags[k].rule)
			drop(s, p, tags[k].rule);
	}
}

void sampler_resolve(struct sampler *s, const struct sampler_view *view,
		     const struct rec_inst *const *insts)
{
	for (size_t i = 0; i < s->count; i++) {
		struct sample *p = sample_at(s, i);
		if (view->commit->n)
			resolve_one(s, p, view->commit, insts);
		if (!p->tag_dispatch && view->rec->ndispatch)
			p->tag_dispatch = view->rec->dispatch_seq;
	}
	retire(s);
}

void sampler_deliver(struct sampler *s, const struct group *g, enum hw_state state)
{
	const uint32_t id = intern(s, g);

	for (size_t i = 0; i < s->count; i++) {
		struct sample *p = sample_at(s, i);
		if (!(p->pending & 1u << SELECT_HARDWARE))
			continue;
		settle(p, SELECT_HARDWARE, id);
		p->hw_state = (uint8_t)state;
	}
}

void sampler_end(struct sampler *s, uint64_t total, const struct sampler_view *last)
{
	if (total > s->last && last)
		sampler_take(s, total - 1, last);
	for (size_t i = 0; i < s->count; i++) {
		struct sample *p = sample_at(s, i);
		for (unsigned r = 0; r < SELECT_COUNT; r++)
			if (p->pending & 1u << r)
				settle(p, r, GROUP_UNKNOWN);
	}
	retire(s);
	for (unsigned r = 0; r < SELECT_COUNT; r++)
		if (s->carry[r]) {
			cells_add(&s->pairs, (uint64_t)(r + 1) << 60, s->carry[r], 0);
			s->carry[r] = 0;
		}
}
