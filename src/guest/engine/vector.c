/* SPDX-License-Identifier: MIT */
/*
 * Basic block vectors: instructions by static block since the last look.
 *
 * What it costs goes with what ran. Executors count runs of engine blocks in tallies and list those
 * that ran (vector.h). Collecting goes through that list, adds runs x instructions to the static
 * block, and lists the static blocks in the order in which they first ran. Looking goes through that
 * list. Nothing ever goes through all known blocks.
 *
 * A static block is a place: a file and an offset in it, or an address where no file is mapped. So
 * a library that is unloaded and loaded elsewhere keeps its blocks, and whatever comes to stand in its
 * old place has others. Places get their numbers when they have first run.
 *
 * Order. An entry of the list is made when the first instruction of an engine block is about to be
 * executed. If that instruction faults, nothing of the block has run, and the entry, which is the
 * last one, is taken back.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "guest/engine/impl.h"
#include "guest/engine/jit.h"
#include "guest/engine/vector.h"
#include "util/array.h"
#include "util/util.h"

/* Entries of the list beyond those of tallies: places with single instructions. */
#define SINGLES_MAX  4096
#define TALLIES_MAX  (CACHE_BYTES / BLOCK_MIN_BYTES)
#define SINGLE	     0x80000000u /* an entry that is a place, not a tally */
#define REGION_BYTES (TALLIES_MAX * sizeof(struct tally))
_Static_assert(TALLIES_MAX < SINGLE, "a tally's number and a place's are told apart");

struct place {
	struct engine_place at;
	uint64_t number;  /* from 1 in the order of first execution; 0: has not run */
	uint64_t insts;	  /* collected since the last look */
	uint64_t singles; /* not collected yet; if not 0, the place is on the list */
};

struct vectors {
	struct engine_config config;
	struct tally *tallies;
	uint64_t *totals; /* runs of each tally that have been collected */
	uint32_t ntallies;
	uint32_t *list; /* e->vector_end is behind its last entry */
	size_t nsingles;

	struct place *places;
	size_t nplaces, capacity;
	uint32_t *slots; /* open addressing by place; index + 1 */
	size_t nslots;	 /* a power of two */
	uint32_t *ran;	 /* places with instructions since the last look, in order */
	size_t nran, ran_capacity;
	uint32_t *by_number; /* place of each number, from 1 */
	uint64_t numbers;

	uint64_t leader; /* the last one looked up; LEADER_NEW: none */
	uint32_t leader_place;
};

struct vectors *vectors_new(const struct engine_config *config, const void *near)
{
	struct vectors *v = x_calloc(1, sizeof(*v));

	v->config = *config;
	v->tallies = mmap((void *)near, REGION_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (v->tallies == MAP_FAILED)
		die("out of memory");
	v->totals = x_calloc(TALLIES_MAX, sizeof(*v->totals));
	v->list = x_malloc((TALLIES_MAX + SINGLES_MAX) * sizeof(*v->list));
	v->nslots = 4096;
	v->slots = x_calloc(v->nslots, sizeof(*v->slots));
	v->leader = LEADER_NEW;
	return v;
}

void vectors_free(struct vectors *v)
{
	if (!v)
		return;
	munmap(v->tallies, REGION_BYTES);
	free(v->totals);
	free(v->list);
	free(v->places);
	free(v->slots);
	free(v->ran);
	free(v->by_number);
	free(v);
}

static uint64_t hash_place(const struct engine_place *at)
{
	return hash_u64(at->offset ^ hash_u64(at->file));
}

static bool same_place(const struct engine_place *a, const struct engine_place *b)
{
	return a->offset == b->offset && a->file == b->file;
}

static void grow_slots(struct vectors *v)
{
	v->nslots *= 2;
	free(v->slots);
	v->slots = x_calloc(v->nslots, sizeof(*v->slots));
	for (size_t p = 0; p < v->nplaces; p++) {
		size_t i = hash_place(&v->places[p].at) & (v->nslots - 1);

		while (v->slots[i])
			i = (i + 1) & (v->nslots - 1);
		v->slots[i] = (uint32_t)p + 1;
	}
}

/* The place where the static block of that leader stands now. */
static uint32_t find_place(struct vectors *v, uint64_t leader)
{
	struct engine_place at = { .file = 0, .offset = leader };

	if (v->leader == leader)
		return v->leader_place;
	if (v->config.place)
		v->config.place(v->config.counter_ctx, leader, &at);
	size_t i = hash_place(&at) & (v->nslots - 1);
	while (v->slots[i] && !same_place(&v->places[v->slots[i] - 1].at, &at))
		i = (i + 1) & (v->nslots - 1);
	v->leader = leader;
	if (v->slots[i])
		return v->leader_place = v->slots[i] - 1;

	ARRAY_ROOM(v->places, v->capacity, v->nplaces + 1);
	v->places[v->nplaces] = (struct place){ .at = at };
	v->slots[i] = (uint32_t)++v->nplaces;
	v->leader_place = (uint32_t)v->nplaces - 1;
	if (v->nplaces * 2 > v->nslots)
		grow_slots(v);
	return v->leader_place;
}

struct tally *vectors_tally(struct engine *e, uint64_t leader, unsigned insts)
{
	struct vectors *v = e->vectors;

	assert(v->ntallies < TALLIES_MAX);
	v->totals[v->ntallies] = 0;
	v->tallies[v->ntallies] =
	    (struct tally){ .times = -1, .insts = insts, .place = find_place(v, leader) };
	return &v->tallies[v->ntallies++];
}

void vectors_reset_tallies(struct engine *e)
{
	assert(e->vector_end == e->vectors->list);
	e->vectors->ntallies = 0;
}

uint32_t vectors_number(const struct engine *e, const struct tally *t)
{
	return (uint32_t)(t - e->vectors->tallies);
}

uint64_t vectors_total(const struct engine *e, const struct block *b)
{
	return e->vectors->totals[vectors_number(e, b->tally)];
}

static void add(struct vectors *v, uint32_t place, uint64_t insts)
{
	struct place *p = &v->places[place];

	if (p->insts == 0) {
		ARRAY_ROOM(v->ran, v->ran_capacity, v->nran + 1);
		v->ran[v->nran++] = place;
		if (unlikely(p->number == 0)) {
			*ARRAY_ADD(v->by_number, v->numbers) = place;
			p->number = v->numbers;
		}
	}
	p->insts += insts;
}

void vectors_collect(struct engine *e)
{
	struct vectors *v = e->vectors;

	for (const uint32_t *at = v->list; at < e->vector_end; at++) {
		if (*at & SINGLE) {
			struct place *p = &v->places[*at & ~SINGLE];

			add(v, *at & ~SINGLE, p->singles);
			p->singles = 0;
		} else {
			struct tally *t = &v->tallies[*at];
			uint64_t times = (uint64_t)(t->times + 1);

			t->times = -1;
			v->totals[*at] += times;
			add(v, t->place, times * t->insts);
		}
	}
	e->vector_end = v->list;
	v->nsingles = 0;
}

void vectors_remapped(struct engine *e)
{
	e->vectors->leader = LEADER_NEW;
}

void vectors_single(struct engine *e, uint64_t leader, unsigned insts)
{
	struct vectors *v = e->vectors;

	if (insts == 0)
		return;
	uint32_t place = find_place(v, leader);
	if (v->places[place].singles == 0) {
		if (v->nsingles == SINGLES_MAX)
			vectors_collect(e);
		*e->vector_end++ = place | SINGLE;
		v->nsingles++;
	}
	v->places[place].singles += insts;
}

void vectors_undo(struct engine *e, const struct block *b)
{
	if (--b->tally->times >= 0)
		return;
	/* It was a first run, so its entry is the last one. */
	assert(e->vector_end[-1] == vectors_number(e, b->tally));
	e->vector_end--;
}

/* Generated code names the tables by 32-bit addresses; where there are none to be had it is not used. */
static struct locality *locality_new(struct engine *e)
{
	struct locality *l = MAP_FAILED;

#ifdef MAP_32BIT
	l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
		 -1, 0);
#endif
	e->locality_near = l != MAP_FAILED;
	if (l == MAP_FAILED)
		l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	if (l == MAP_FAILED)
		die("out of memory");
	return l;
}

void vectors_free_locality(struct engine *e)
{
	if (e->locality)
		munmap(e->locality, sizeof(*e->locality));
	e->locality = NULL;
}

void engine_take_data(struct engine *e, uint64_t counts[LOCALITY_COUNTS])
{
	locality_take(e->locality, counts);
}

void engine_vectors(struct engine *e, bool on, bool data)
{
	engine_count_blocks(e, on);
	vectors_free(e->vectors);
	e->vectors = NULL;
	vectors_free_locality(e);
	e->leader = LEADER_NEW;
	if (!on)
		return;
	e->vectors = vectors_new(&e->config, e->jit ? jit_near(e->jit) : NULL);
	e->vector_end = e->vectors->list;
	if (data)
		e->locality = locality_new(e);
	if (data && e->jit)
		jit_locality(e->jit, e->locality);
}

void engine_take_vector(struct engine *e, void (*visit)(void *ctx, uint64_t block, uint64_t insts),
			void *ctx)
{
	struct vectors *v = e->vectors;

	vectors_collect(e);
	for (size_t i = 0; i < v->nran; i++) {
		struct place *p = &v->places[v->ran[i]];

		visit(ctx, p->number, p->insts);
		p->insts = 0;
	}
	v->nran = 0;
}

uint64_t engine_vector_blocks(const struct engine *e)
{
	return e->vectors ? e->vectors->numbers : 0;
}

struct engine_place engine_vector_place(const struct engine *e, uint64_t number)
{
	assert(number && number <= e->vectors->numbers);
	return e->vectors->places[e->vectors->by_number[number - 1]].at;
}
