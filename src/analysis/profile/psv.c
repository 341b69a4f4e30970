/* SPDX-License-Identifier: MIT */
/*
 * Tables by all events, and how many bits of a PSV explain how much (tea2023 section 3, figure B.3):
 * an event set is better the less time commit waits for instructions that have none of its events.
 * The best set of each size is found greedily: from the best of one event less. Events of a hierarchy come in its
 * order, because a miss of the last level explains nothing that the L1 miss has not.
 */
#include "analysis/profile/psv.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define LENGTHS	   4096 /* the last one stands for longer ones */
#define KIND_SHIFT 12
#define SET_SHIFT  14
_Static_assert(LENGTHS == 1 << KIND_SHIFT && PSV_WAITS <= 1 << (SET_SHIFT - KIND_SHIFT),
	       "a length and a kind fit in a key");

void psv_init(struct psv_table *t)
{
	*t = (struct psv_table){ .mask = 1023 };
	*ARRAY_ADD(t->list, t->count) = (struct psv_time){ 0 };
	t->index = x_calloc(t->mask + 1, sizeof(*t->index));
}

void psv_free(struct psv_table *t)
{
	free(t->list);
	free(t->index);
}

static uint32_t *slot_of(const struct psv_table *t, uint64_t pc, uint32_t events)
{
	size_t i = hash_u64(pc ^ (uint64_t)events << 44) & t->mask;

	for (; t->index[i]; i = (i + 1) & t->mask) {
		const struct psv_time *o = &t->list[t->index[i]];
		if (o->pc == pc && o->events == events)
			break;
	}
	return &t->index[i];
}

uint32_t psv_number(struct psv_table *t, uint64_t pc, uint32_t events)
{
	uint32_t *slot = slot_of(t, pc, events);
	const uint32_t number = (uint32_t)t->count;

	if (likely(*slot))
		return *slot;
	*slot = number;
	*ARRAY_ADD(t->list, t->count) = (struct psv_time){ .pc = pc, .events = events };
	if (2 * t->count > t->mask) {
		free(t->index);
		t->mask = 2 * t->mask + 1;
		t->index = x_calloc(t->mask + 1, sizeof(*t->index));
		for (size_t i = 1; i < t->count; i++)
			*slot_of(t, t->list[i].pc, t->list[i].events) = (uint32_t)i;
	}
	return number;
}

void psv_wait(struct cells *waits, uint32_t events, enum psv_wait kind, uint64_t cycles)
{
	const uint64_t key = (uint64_t)events << SET_SHIFT | (uint64_t)kind << KIND_SHIFT |
			     min_u64(cycles, LENGTHS - 1);

	cells_add(waits, key + 1, cycles, 1);
}

static uint32_t set_of(const struct cell *c)
{
	return (uint32_t)((c->key - 1) >> SET_SHIFT);
}

void psv_explain(const struct cells *waits, uint32_t events, struct psv_point *out)
{
	uint64_t *stalls = x_calloc(LENGTHS, sizeof(*stalls)), count = 0, seen = 0;

	*out = (struct psv_point){ .events = events, .event = -1 };
	for (size_t i = 0; i <= waits->mask; i++) {
		const struct cell *c = &waits->slot[i];

		if (!c->key)
			continue;
		out->idle += c->units;
		if (set_of(c) & events)
			continue;
		out->bare += c->units;
		if (((c->key - 1) >> KIND_SHIFT) % (1 << (SET_SHIFT - KIND_SHIFT)) != WAIT_STALLED)
			continue;
		stalls[(c->key - 1) % LENGTHS] += c->count;
		count += c->count;
	}
	for (uint64_t length = 0; length < LENGTHS && seen < count - count / 100; length++)
		if (stalls[length]) {
			seen += stalls[length];
			out->stall = length;
		}
	free(stalls);
}

/* The event whose waits among those without an event of the set take most time; the first among
 * equals. */
static int best_event(const struct cells *waits, uint32_t set)
{
	uint64_t explained[EVENT_COUNT] = { 0 };
	int best = -1;

	for (size_t i = 0; i <= waits->mask; i++) {
		const struct cell *c = &waits->slot[i];

		if (!c->key || set_of(c) & set)
			continue;
		for (uint32_t left = set_of(c); left; left &= left - 1)
			explained[__builtin_ctz(left)] += c->units;
	}
	for (int b = 0; b < EVENT_COUNT; b++)
		if (!(set >> b & 1) && (best < 0 || explained[b] > explained[best]))
			best = b;
	return best;
}

void psv_curve(const struct cells *waits, struct psv_point curve[EVENT_COUNT + 1])
{
	psv_explain(waits, 0, &curve[0]);
	for (int bits = 1; bits <= EVENT_COUNT; bits++) {
		const int event = best_event(waits, curve[bits - 1].events);

		psv_explain(waits, curve[bits - 1].events | 1u << event, &curve[bits]);
		curve[bits].event = event;
	}
}
