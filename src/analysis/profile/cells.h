/* SPDX-License-Identifier: MIT */
/*
 * A sparse table of time: how many units of time, and how many executions, fell on each (pc,
 * events, category). A unit is a cycle divided by the least common multiple of 1..commit width, so
 * that shares are exact integers.
 */
#ifndef ANALYSIS_PROFILE_CELLS_H
#define ANALYSIS_PROFILE_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/record.h"
#include "util/util.h"
#include "words/words.h"

#define CELL_EVENT_BITS	   EVENT_PROFILED_COUNT /* the low bits of rec_inst.psv */
#define CELL_CATEGORY_BITS 4
#define CELL_PC_SHIFT	   (CELL_EVENT_BITS + CELL_CATEGORY_BITS)
_Static_assert(CELL_PC_SHIFT + REC_PC_BITS <= 64, "a pc, its events and a category fit in a key");
#define CELL_EVENT_MASK ((1u << CELL_EVENT_BITS) - 1)

struct cell {
	uint64_t key;	/* pc, events, category; see cell_key. 0: free */
	uint64_t units; /* time */
	uint64_t count; /* executions, or samples */
	uint64_t taken; /* units that phases of the run have (phases.h) */
};

static inline uint64_t cell_key(uint64_t pc, unsigned events, unsigned category)
{
	return pc << CELL_PC_SHIFT | (uint64_t)(events & CELL_EVENT_MASK) << CELL_CATEGORY_BITS |
	       (category + 1);
}
static inline uint64_t cell_pc(const struct cell *c)
{
	return (uint64_t)((int64_t)c->key >> CELL_PC_SHIFT);
}
static inline unsigned cell_events(const struct cell *c)
{
	return (unsigned)(c->key >> CELL_CATEGORY_BITS) & CELL_EVENT_MASK;
}
static inline unsigned cell_category(const struct cell *c)
{
	return (unsigned)(c->key & 15) - 1;
}

struct cells {
	struct cell *slot; /* open addressing, a power of two */
	size_t mask, used;
};

void cells_init(struct cells *c);
void cells_free(struct cells *c);
/* The cell of a key, for when the first probe misses. Adds it, and grows the table, if needed. */
struct cell *cells_find(struct cells *c, uint64_t key);
/* All used cells, sorted by key; the caller frees the array. */
struct cell *cells_sorted(const struct cells *c);

/* The first place to look for a key's cell; another cell may be there. */
static inline struct cell *cells_slot(const struct cells *c, uint64_t key)
{
	return &c->slot[(key * 0x9e3779b97f4a7c15ull >> 32) & c->mask];
}
static inline struct cell *cells_at(struct cells *c, uint64_t key)
{
	struct cell *s = cells_slot(c, key);
	return likely(s->key == key) ? s : cells_find(c, key);
}
static inline void cells_add(struct cells *c, uint64_t key, uint64_t units, uint64_t count)
{
	struct cell *s = cells_at(c, key);
	s->units += units;
	s->count += count;
}

/*
 * Time on its way to cells, added many at a time. With much code a cell is in no near cache, so all
 * are prefetched before the first is needed.
 */
#define CELLS_LATER 64

struct cells_later {
	struct cells *into;
	uint64_t last_key; /* 0: there is none */
	unsigned count;
	struct {
		uint64_t key, units;
	} add[CELLS_LATER];
};

void cells_later_flush(struct cells_later *l);

static inline void cells_add_later(struct cells_later *l, uint64_t key, uint64_t units)
{
	/* A flush takes many records in a row. */
	if (l->last_key == key) {
		l->add[l->count - 1].units += units;
		return;
	}
	if (unlikely(l->count == CELLS_LATER))
		cells_later_flush(l);
	__builtin_prefetch(cells_slot(l->into, key), 1);
	l->add[l->count].key = l->last_key = key;
	l->add[l->count++].units = units;
}

/*
 * Executions without events, which are most of them, by address. Unlike a hash table this keeps
 * neighbours in the code near to each other. Tables of EXEC_CHUNK addresses are made where code
 * runs. Units and executions share one 64-bit word, which goes to the cells before it overflows.
 */
#define EXEC_CHUNK 512		/* addresses, of two bytes */
#define EXEC_NEAR  512		/* chunks that are found without a search */
#define EXEC_ONE   (1ull << 32) /* an execution; below it, units */
#define EXEC_FULL  (1u << 31)	/* at so many units a word goes to the cells */

struct exec_chunk {
	uint64_t number; /* execs_place / EXEC_CHUNK */
	uint64_t *at;	 /* EXEC_CHUNK of them; NULL: free */
};

struct execs {
	struct exec_chunk near[EXEC_NEAR]; /* by number */
	struct exec_chunk *chunks;	   /* all; open addressing, a power of two */
	size_t mask, used;
	struct cells *into; /* where everything goes in the end */
	unsigned category;  /* category of those cells, which have no events */
};

void execs_init(struct execs *x, struct cells *into, unsigned category);
void execs_free(struct execs *x);
/* The words of a chunk that is not near. It is made if needed, and is near from now on. */
uint64_t *execs_chunk(struct execs *x, uint64_t number);
/* Adds an address's units and executions to its cell and clears its word. */
void execs_spill(struct execs *x, uint64_t place, uint64_t *at);
/* Adds the units and executions of all addresses to their cells and clears the words. */
void execs_move(struct execs *x);

/* Index of an address. Even addresses come first; odd ones, which only other machines have, come
 * after them. */
static inline uint64_t execs_place(uint64_t pc)
{
	return pc >> 1 | pc << 63;
}
/* The words of a chunk. */
static inline uint64_t *execs_find(struct execs *x, uint64_t number)
{
	const struct exec_chunk *k = &x->near[number % EXEC_NEAR];
	return likely(k->number == number && k->at) ? k->at : execs_chunk(x, number);
}
static inline void execs_count(struct execs *x, uint64_t *chunk, uint64_t place, uint64_t units)
{
	uint64_t *at = &chunk[place % EXEC_CHUNK];
	*at += units + EXEC_ONE;
	if (unlikely(*at & EXEC_FULL))
		execs_spill(x, place, at);
}
/* Adds one execution of the instruction at pc. units: at least 1, less than EXEC_FULL. */
static inline void execs_add(struct execs *x, uint64_t pc, uint64_t units)
{
	const uint64_t place = execs_place(pc);
	execs_count(x, execs_find(x, place / EXEC_CHUNK), place, units);
}
/* Adds one execution of each of many instructions, most of which are in the same chunk as the one
 * before. */
static inline void execs_add_all(struct execs *x, const uint64_t *pc, const uint32_t *units,
				 size_t count)
{
	uint64_t number = UINT64_MAX, *chunk = NULL; /* a number that no chunk has */
	for (size_t i = 0; i < count; i++) {
		const uint64_t place = execs_place(pc[i]);
		if (unlikely(place / EXEC_CHUNK != number)) {
			number = place / EXEC_CHUNK;
			chunk = execs_find(x, number);
		}
		execs_count(x, chunk, place, units[i]);
	}
}

#endif
