/* SPDX-License-Identifier: MIT */
/*
 * Loop predictor: finds branches that go one way a fixed number of times and then once the other
 * way, after the one in L-TAGE (Seznec, "The L-TAGE branch predictor", JILP 2007). 4-way, entries
 * with a partial tag, the trip count, a confidence that must saturate before the entry speaks, and
 * an age that protects useful entries.
 *
 * Two iteration counts: one in program order, from which trip counts are learnt, and a speculative
 * one, from which predictions are made, undone through the log on a squash. Both restart whenever
 * the loop leaves, so a new entry's speculative count is right from the loop's next exit on, well
 * before the entry is confident.
 *
 * Not modelled: loops of more than 2^14 - 1 iterations; loops of fewer than 4 are left to TAGE.
 */
#include "core/bpred/loop.h"

#include <stdlib.h>

enum {
	WAYS = 4,
	TAG_BITS = 14,
	COUNT_BITS = 14,
	COUNT_MAX = (1 << COUNT_BITS) - 1,
	SURE = 3,
	AGE_MAX = 31,
	SHORTEST = 4,
};

struct loop_entry {
	uint16_t tag;  /* with VALID */
	uint16_t trip; /* times it goes body before it leaves; 0: not yet known */
	uint16_t iter; /* the same in the running execution, program order */
	uint8_t sure;  /* executions in a row that confirmed trip */
	uint8_t age;
	uint8_t body; /* the direction that stays in the loop */
};
#define VALID (1u << TAG_BITS)

struct loop {
	uint32_t set_mask;
	struct loop_entry *entry;
	uint64_t *spec; /* per entry: as iter, along the predicted path */
};

struct loop *loop_new(const struct bpred_config *c)
{
	struct loop *l = x_malloc(sizeof(*l));

	l->set_mask = c->loop_entries / WAYS - 1;
	l->entry = x_calloc(c->loop_entries, sizeof(*l->entry));
	l->spec = x_calloc(c->loop_entries, sizeof(*l->spec));
	return l;
}

void loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	free(l->entry);
	free(l->spec);
	free(l);
}

static uint32_t set_of(const struct loop *l, uint64_t pc)
{
	return (uint32_t)(pc >> 1 & l->set_mask) * WAYS;
}

static uint16_t tag_of(uint64_t pc)
{
	return (uint16_t)(((pc >> 1 ^ pc >> 15) & (VALID - 1)) | VALID);
}

/* The entry's number, or -1. */
static int find(const struct loop *l, uint64_t pc)
{
	uint32_t set = set_of(l, pc);
	uint16_t tag = tag_of(pc);

	for (uint32_t w = 0; w < WAYS; w++)
		if (l->entry[set + w].tag == tag)
			return (int)(set + w);
	return -1;
}

bool loop_predict(const struct loop *l, uint64_t pc, bool *taken)
{
	int i = find(l, pc);

	if (i < 0 || l->entry[i].sure < SURE)
		return false;
	*taken = l->spec[i] == l->entry[i].trip ? !l->entry[i].body : l->entry[i].body;
	return true;
}

void loop_advance(struct loop *l, uint64_t pc, bool taken, struct spec_log *log)
{
	int i = find(l, pc);

	if (i < 0)
		return;
	if (taken != l->entry[i].body)
		spec_write(log, &l->spec[i], 0);
	else if (l->spec[i] < COUNT_MAX)
		spec_write(log, &l->spec[i], l->spec[i] + 1);
}

uint64_t **loop_spec(struct loop *l, size_t *n)
{
	*n = (size_t)(l->set_mask + 1) * WAYS;
	return &l->spec;
}

static void allocate(struct loop *l, uint64_t pc, bool taken, uint32_t random)
{
	struct loop_entry *set = &l->entry[set_of(l, pc)];

	for (uint32_t k = 0; k < WAYS; k++) {
		struct loop_entry *e = &set[(k + random) % WAYS];

		if (e->age > 0)
			continue;
		/* what surprised is taken for the exit */
		*e = (struct loop_entry){ .tag = tag_of(pc), .age = AGE_MAX, .body = !taken };
		return;
	}
	for (uint32_t k = 0; k < WAYS; k++)
		set[k].age--;
}

void loop_update(struct loop *l, uint64_t pc, bool sure, bool said, bool other, bool taken,
		 uint32_t random)
{
	int i = find(l, pc);
	struct loop_entry *e;

	if (i < 0) {
		/* one surprise in four, so that irregular branches do not flood the table */
		if (other != taken && (random >> 8 & 3) == 0)
			allocate(l, pc, taken, random);
		return;
	}
	e = &l->entry[i];
	if (sure && said != taken) {
		e->trip = 0;
		e->sure = 0;
		e->age = 0;
	} else if (sure && other != taken && e->age < AGE_MAX) {
		e->age++;
	}
	if (taken == e->body) {
		if (e->iter < COUNT_MAX)
			e->iter++;
		if (e->iter == COUNT_MAX || (e->trip > 0 && e->iter > e->trip)) {
			e->trip = 0;
			e->sure = 0;
		}
		return;
	}
	if (e->iter < SHORTEST || e->iter == COUNT_MAX) {
		*e = (struct loop_entry){ 0 };
		return;
	}
	if (e->trip == e->iter) {
		if (e->sure < SURE)
			e->sure++;
	} else {
		e->trip = e->iter;
		e->sure = 0;
	}
	e->iter = 0;
}

uint64_t loop_bits(const struct bpred_config *c)
{
	/* valid, tag, trip, two iteration counts, confidence, age, direction */
	return (uint64_t)c->loop_entries * (1 + TAG_BITS + 3 * COUNT_BITS + 2 + 5 + 1);
}

uint64_t loop_hash(const struct loop *l, uint64_t h)
{
	uint32_t n = (l->set_mask + 1) * WAYS;

	for (uint32_t i = 0; i < n; i++) {
		const struct loop_entry *e = &l->entry[i];

		h = hash_u64(h ^ ((uint64_t)e->tag << 48 | (uint64_t)e->trip << 32 |
				  (uint64_t)e->iter << 16 | e->sure << 8 | e->age << 1 | e->body));
	}
	return h;
}

uint64_t loop_hash_spec(const struct loop *l, uint64_t h)
{
	return bpred_hash_bytes(h, l->spec, (l->set_mask + 1) * WAYS * sizeof(*l->spec));
}

void loop_saved(struct loop *l, struct state *s)
{
	size_t n = (size_t)(l->set_mask + 1) * WAYS;

	saved_same(s, l->set_mask, "loop predictor");
	for (size_t i = 0; i < n; i++) {
		struct loop_entry *e = &l->entry[i];

		state_u16(s, &e->tag);
		state_u16(s, &e->trip);
		state_u16(s, &e->iter);
		state_u8(s, &e->sure);
		state_u8(s, &e->age);
		e->body = (uint8_t)state_below(s, e->body, 2);
		state_u64(s, &l->spec[i]);
	}
}
