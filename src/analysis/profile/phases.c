/* SPDX-License-Identifier: MIT */
#include "analysis/profile/phases.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

void time_phases_init(struct time_phases *t)
{
	t->length = t->end = TIME_PHASE_BASE;
	t->most = TIME_PHASE_CELLS;
}

void time_phases_free(struct time_phases *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->list[i].cells);
	t->count = 0;
}

static int by_key(const void *a, const void *b)
{
	const struct time_cell *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* One cell for every key, in order. */
static void sum_cells(struct time_phase *p)
{
	size_t n = 0;

	if (p->count)
		qsort(p->cells, p->count, sizeof(*p->cells), by_key);
	for (size_t i = 0; i < p->count; i++) {
		if (n && p->cells[n - 1].key == p->cells[i].key)
			p->cells[n - 1].units += p->cells[i].units;
		else
			p->cells[n++] = p->cells[i];
	}
	p->count = n;
}

/* The later one goes into the earlier one. */
static void join(struct time_phase *into, struct time_phase *from)
{
	ARRAY_ROOM(into->cells, into->capacity, into->count + from->count);
	if (from->count)
		memcpy(into->cells + into->count, from->cells, from->count * sizeof(*from->cells));
	into->count += from->count;
	sum_cells(into);
	into->cycles = from->cycles;
	into->insts = from->insts;
	for (size_t k = 0; k < TIME_PENDING_KINDS; k++)
		into->owed[k] += from->owed[k];
	free(from->cells);
}

static void count_cells(struct time_phases *t)
{
	t->ncells = 0;
	for (size_t i = 0; i < t->count; i++)
		t->ncells += t->list[i].count;
}

/* Joins pairs; a last one without a partner stays. */
static void join_pairs(struct time_phases *t)
{
	const bool owes = t->owing < t->count;
	size_t n = 0;

	for (size_t i = 0; i < t->count; i += 2) {
		struct time_phase p = t->list[i];

		if (i + 1 < t->count)
			join(&p, &t->list[i + 1]);
		t->list[n++] = p;
	}
	t->owing = owes ? t->owing / 2 : n;
	t->count = n;
	t->length *= 2;
	count_cells(t);
}

bool time_phases_ends(struct time_phases *t, uint64_t cycles)
{
	while (t->count == TIME_PHASES || (t->ncells > t->most && t->count > 1)) {
		join_pairs(t);
		t->end = (t->list[t->count - 1].cycles / t->length + 1) * t->length;
	}
	return cycles >= t->end;
}

void time_phases_end(struct time_phases *t, uint64_t cycles, uint64_t insts,
		     const uint64_t pending[TIME_PENDING_KINDS])
{
	const bool owed = t->owing < t->count;
	struct time_phase *p = &t->list[t->count];
	bool owes = false;

	*p = (struct time_phase){ .cycles = cycles, .insts = insts };
	for (size_t k = 0; k < TIME_PENDING_KINDS; k++) {
		p->owed[k] = pending[k];
		for (size_t i = t->owing; i < t->count; i++)
			p->owed[k] -= t->list[i].owed[k];
		owes |= p->owed[k] != 0;
	}
	if (!owed)
		t->owing = owes ? t->count : t->count + 1;
	t->count++;
	while (t->end <= cycles)
		t->end += t->length;
}

static void add(struct time_phases *t, struct time_phase *p, uint64_t key, uint64_t units)
{
	ARRAY_ROOM(p->cells, p->capacity, p->count + 1);
	p->cells[p->count++] = (struct time_cell){ key, units };
	t->ncells++;
}

void time_phases_take(struct time_phases *t, struct cells *c)
{
	struct time_phase *p = &t->list[t->count - 1];

	for (size_t i = 0; i <= c->mask; i++) {
		struct cell *s = &c->slot[i];

		if (!s->key || s->units == s->taken)
			continue;
		add(t, p, s->key, s->units - s->taken);
		s->taken = s->units;
	}
}

void time_phases_settle(struct time_phases *t, struct cells *c, unsigned kind, uint64_t key,
			uint64_t scale)
{
	for (size_t i = t->owing; i < t->count; i++) {
		const uint64_t units = t->list[i].owed[kind] * scale;

		if (!units)
			continue;
		add(t, &t->list[i], key, units);
		cells_at(c, key)->taken += units;
		t->list[i].owed[kind] = 0;
	}
}

void time_phases_join_last(struct time_phases *t)
{
	join(&t->list[t->count - 2], &t->list[t->count - 1]);
	t->count--;
	t->owing = t->count;
	count_cells(t);
}
