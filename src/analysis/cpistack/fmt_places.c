/* SPDX-License-Identifier: MIT */
/*
 * FMT by static instruction. Every dispatch slot belongs to one:
 *
 * - a slot that an instruction dispatched in, and slots before it that no counter takes (base): itself;
 * - what an I-cache or I-TLB miss lost: the instruction that came late because of it;
 * - what a target lost that decode corrected: the jump before that instruction;
 * - what a mispredicted branch lost: the branch;
 * - what a full window lost: the instruction at its head, or the miss that had delayed it.
 *
 * Where FMT moves slots between a branch and misses beside it, the last miss of the kind is meant: its
 * slots at an address, not their sum, are then an estimate.
 *
 * An instruction's address is known when it commits. Until then what it owes waits in a ring, by
 * number. An instruction that is flushed and dispatches again owes both.
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>
#include <string.h>

void fmt_places_init(struct fmt_places *p, uint64_t ring)
{
	cells_init(&p->cells);
	p->later.into = &p->cells;
	p->owed = x_calloc(ring, sizeof(*p->owed));
}

void fmt_places_free(struct fmt_places *p)
{
	cells_free(&p->cells);
	free(p->owed);
}

static void add(struct fmt_owed *to, const struct fmt_owed *more)
{
	for (unsigned k = 0; k < LOST; k++)
		to->slots[k] += more->slots[k];
}

void fmt_places_dispatch(struct fmt *f, uint64_t po)
{
	struct fmt_places *p = &f->places;
	if (unlikely(p->dispatched > po)) {
		/* Instructions of a wrong path beside a branch, or flushed: their slots were lost. */
		p->next.slots[LOST_BASE] += (int64_t)(p->dispatched - po);
		while (p->end != p->begin && p->owed[(p->end - 1) & f->mask].po >= po)
			add(&p->next, &p->owed[--p->end & f->mask]);
	}
	p->dispatched = po;
	p->next.po = po;
	if (unlikely(p->end - p->begin > f->mask))
		add(&p->owed[(p->end - 1) & f->mask], &p->next);
	else
		p->owed[p->end++ & f->mask] = p->next;
	memset(p->next.slots, 0, sizeof(p->next.slots));
}

static void settle(struct fmt_places *p, const struct fmt_owed *o, uint64_t pc, uint64_t before)
{
	if (o->slots[LOST_BASE])
		fmt_places_give(p, pc, CPI_BASE, (uint64_t)o->slots[LOST_BASE]);
	for (unsigned k = CPI_L1I; k <= CPI_ITLB; k++)
		if (unlikely(o->slots[k])) {
			p->late_pc[k] = pc;
			cells_add(&p->cells, cell_key(pc, 0, k), (uint64_t)o->slots[k], 1);
		}
	if (unlikely(o->slots[LOST_BMISP]))
		cells_add(&p->cells, cell_key(before, 0, CPI_BMISP), (uint64_t)o->slots[LOST_BMISP],
			  1);
}

void fmt_places_commit(struct cpistack *s, const struct rec_cycle *c)
{
	struct fmt_places *p = &s->fmt.places;
	const struct cpi_insts *in = &s->insts;
	const uint64_t first = in->po[in->next];
	while (p->begin != p->end) {
		const struct fmt_owed *o = &p->owed[p->begin & s->fmt.mask];
		if (o->po >= first + c->ncommit)
			return;
		const size_t at = in->next + (o->po > first ? o->po - first : 0);
		settle(p, o, in->pc[at], at ? in->pc[at - 1] : s->last_pc);
		p->begin++;
	}
}

static int by_size(const void *a, const void *b)
{
	const struct cell *const *x = a, *const *y = b;
	if ((*x)->units != (*y)->units)
		return (int64_t)(*x)->units > (int64_t)(*y)->units ? -1 : 1;
	return (*x)->key < (*y)->key ? -1 : (*x)->key > (*y)->key;
}

/* A component at an address may lack slots that were taken back from another: those with the most of the
 * component make up for it. */
static void even_out(struct fmt_places *p)
{
	struct cell **all = x_calloc(p->cells.used + 1, sizeof(struct cell *));
	for (unsigned k = 0; k < CPI_COMPONENTS; k++) {
		int64_t lacks = 0;
		size_t n = 0;
		for (size_t i = 0; i <= p->cells.mask; i++) {
			struct cell *c = &p->cells.slot[i];
			if (!c->key || cell_category(c) != k)
				continue;
			if ((int64_t)c->units < 0) {
				lacks -= (int64_t)c->units;
				c->units = 0;
			} else {
				all[n++] = c;
			}
		}
		if (!lacks)
			continue;
		p->moved += (uint64_t)lacks;
		qsort(all, n, sizeof(struct cell *), by_size);
		for (size_t i = 0; i < n && lacks > 0; i++) {
			const int64_t part = (int64_t)min_u64((uint64_t)lacks, all[i]->units);
			all[i]->units -= (uint64_t)part;
			lacks -= part;
		}
	}
	free(all);
}

void fmt_places_end(struct cpistack *s)
{
	struct fmt_places *p = &s->fmt.places;
	int64_t rest[CPI_COMPONENTS];
	cells_later_flush(&p->later);
	/* Each execution took a slot. */
	for (size_t i = 0; i <= s->by_pc.mask; i++) {
		const struct cell *c = &s->by_pc.slot[i];
		if (c->key && cell_category(c) == CPI_BASE && c->count)
			cells_add(&p->cells, c->key, c->count, c->count);
	}
	memcpy(rest, s->now.method[METHOD_FMT], sizeof(rest));
	for (size_t i = 0; i <= p->cells.mask; i++)
		if (p->cells.slot[i].key)
			rest[cell_category(&p->cells.slot[i])] -= (int64_t)p->cells.slot[i].units;
	for (unsigned k = 0; k < CPI_COMPONENTS; k++)
		if (rest[k]) {
			p->rest += rest[k] < 0 ? -rest[k] : rest[k];
			cells_add(&p->cells, cell_key(s->last_pc, 0, k), (uint64_t)rest[k], 0);
		}
	even_out(p);
}
