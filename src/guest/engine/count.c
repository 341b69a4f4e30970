/* SPDX-License-Identifier: MIT */
/*
 * Dynamic counts: how often each block ran, and beside it how often single instructions ran that
 * were executed outside of whole blocks (the rest of a budget, the part of a block before a fault,
 * blocks dropped by invalidation). times * instructions over all rows is exactly what engine_run
 * executed while counting was on.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/engine/impl.h"
#include "util/array.h"
#include "util/util.h"

struct row {
	uint64_t pc;
	const struct inst *insts;
	size_t count;
	uint64_t times;
};

struct single {
	uint64_t pc;
	uint64_t times; /* 0: free slot */
	struct inst inst;
};

struct counts {
	struct single *slots; /* open addressing by pc and instruction word */
	size_t used, capacity;
};

static struct counts *counts_new(void)
{
	return x_calloc(1, sizeof(struct counts));
}

void counts_free(struct counts *c)
{
	if (c)
		free(c->slots);
	free(c);
}

static struct single *find_slot(struct counts *c, uint64_t pc, uint32_t word)
{
	size_t i = hash_u64(pc ^ (uint64_t)word << 32) & (c->capacity - 1);

	while (c->slots[i].times && (c->slots[i].pc != pc || c->slots[i].inst.word != word))
		i = (i + 1) & (c->capacity - 1);
	return &c->slots[i];
}

static void grow(struct counts *c)
{
	struct counts bigger = { .capacity = c->capacity ? c->capacity * 2 : 1024,
				 .used = c->used };

	bigger.slots = x_calloc(bigger.capacity, sizeof(bigger.slots[0]));
	for (size_t i = 0; i < c->capacity; i++)
		if (c->slots[i].times)
			*find_slot(&bigger, c->slots[i].pc, c->slots[i].inst.word) = c->slots[i];
	free(c->slots);
	*c = bigger;
}

void counts_add(struct counts *c, uint64_t pc, const struct inst *in, uint64_t times)
{
	if (times == 0)
		return;
	if (c->used * 2 >= c->capacity)
		grow(c);
	struct single *s = find_slot(c, pc, in->word);
	if (s->times == 0) {
		s->pc = pc;
		s->inst = *in;
		c->used++;
	}
	s->times += times;
}

void counts_add_block(struct counts *c, const struct block *b, unsigned count, uint64_t times)
{
	uint64_t pc = b->pc;

	for (unsigned i = 0; i < count; i++) {
		counts_add(c, pc, &b->insts[i], times);
		pc += b->insts[i].len;
	}
}

uint64_t counts_of(const struct engine *e, const struct block *b)
{
	return e->vectors ? vectors_total(e, b) : b->times;
}

struct gather {
	const struct engine *engine;
	struct row *rows;
	size_t count;
};

static void gather_block(void *ctx, struct block *b)
{
	struct gather *g = ctx;

	uint64_t times = counts_of(g->engine, b);

	if (times)
		*ARRAY_ADD(g->rows, g->count) = (struct row){ b->pc, b->insts, b->count, times };
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->insts[0].word < y->insts[0].word ? -1 : x->insts[0].word > y->insts[0].word;
}

void engine_count_blocks(struct engine *e, bool on)
{
	counts_free(e->counts);
	e->counts = NULL;
	/* Generated code was made with or without counting, so it must be made anew. */
	cache_invalidate(e, 0, GUEST_ADDR_LIMIT);
	e->counts = on ? counts_new() : NULL;
}

void engine_visit_blocks(struct engine *e,
			 void (*visit)(void *ctx, uint64_t pc, const struct inst *insts,
				       size_t count, uint64_t times),
			 void *ctx)
{
	struct gather g = { .engine = e };

	if (!e->counts)
		return;
	if (e->vectors)
		vectors_collect(e);
	cache_each(e->cache, gather_block, &g);
	for (size_t i = 0; i < e->counts->capacity; i++) {
		const struct single *s = &e->counts->slots[i];
		if (s->times)
			*ARRAY_ADD(g.rows, g.count) = (struct row){ s->pc, &s->inst, 1, s->times };
	}
	if (g.count)
		qsort(g.rows, g.count, sizeof(g.rows[0]), compare_rows);
	for (size_t i = 0; i < g.count; i++)
		visit(ctx, g.rows[i].pc, g.rows[i].insts, g.rows[i].count, g.rows[i].times);
	free(g.rows);
}
