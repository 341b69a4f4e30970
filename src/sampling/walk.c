/* SPDX-License-Identifier: MIT */
/*
 * Vectors from single instructions. A thread goes on with its static block if the instruction follows
 * the one that the thread executed last, and that one did not end the block; else it enters the block
 * that begins here. Blocks are numbered as they are entered, and an interval lists its blocks in the
 * order in which they first ran in it.
 */
#include "sampling/walk.h"

#include <stdlib.h>

#include "util/array.h"

struct block {
	uint64_t file, offset;
	uint64_t insts; /* in the present interval */
};

struct thread {
	uint32_t tid;
	uint32_t block;	  /* index; valid if next_pc is reached */
	uint64_t next_pc; /* UINT64_MAX: a block begins */
};

struct bb_walk {
	struct bb_walk_options o;
	struct block *blocks;
	size_t nblocks, capacity;
	uint32_t *slots; /* open addressing; index + 1 */
	size_t nslots;	 /* a power of two */
	uint32_t *ran;	 /* blocks of the interval */
	size_t nran, ran_capacity;
	struct thread *threads;
	size_t nthreads, current;
	struct bb_part *parts;
	size_t parts_capacity;
	uint64_t insts; /* of the interval */
};

struct bb_walk *bb_walk_new(const struct bb_walk_options *o)
{
	struct bb_walk *w = x_calloc(1, sizeof(*w));

	w->o = *o;
	w->nslots = 4096;
	w->slots = x_calloc(w->nslots, sizeof(*w->slots));
	return w;
}

void bb_walk_free(struct bb_walk *w)
{
	if (!w)
		return;
	free(w->blocks);
	free(w->slots);
	free(w->ran);
	free(w->threads);
	free(w->parts);
	free(w);
}

uint64_t bb_walk_blocks(const struct bb_walk *w)
{
	return w->nblocks;
}

static size_t slot_of(const struct bb_walk *w, uint64_t file, uint64_t offset)
{
	size_t i = hash_u64(offset ^ hash_u64(file)) & (w->nslots - 1);

	while (w->slots[i]) {
		const struct block *b = &w->blocks[w->slots[i] - 1];

		if (b->offset == offset && b->file == file)
			break;
		i = (i + 1) & (w->nslots - 1);
	}
	return i;
}

static void enlarge(struct bb_walk *w)
{
	w->nslots *= 2;
	free(w->slots);
	w->slots = x_calloc(w->nslots, sizeof(*w->slots));
	for (size_t k = 0; k < w->nblocks; k++)
		w->slots[slot_of(w, w->blocks[k].file, w->blocks[k].offset)] = (uint32_t)k + 1;
}

static uint32_t enter(struct bb_walk *w, uint64_t pc)
{
	uint64_t file = 0, offset = pc;

	if (w->o.place)
		w->o.place(w->o.place_ctx, pc, &file, &offset);
	size_t i = slot_of(w, file, offset);
	if (!w->slots[i]) {
		ARRAY_ROOM(w->blocks, w->capacity, w->nblocks + 1);
		w->blocks[w->nblocks++] = (struct block){ .file = file, .offset = offset };
		w->slots[i] = (uint32_t)w->nblocks;
		if (w->nblocks * 2 > w->nslots)
			enlarge(w);
		return (uint32_t)w->nblocks - 1;
	}
	return w->slots[i] - 1;
}

static struct thread *thread_of(struct bb_walk *w, uint32_t tid)
{
	if (likely(w->current < w->nthreads && w->threads[w->current].tid == tid))
		return &w->threads[w->current];
	for (w->current = 0; w->current < w->nthreads; w->current++)
		if (w->threads[w->current].tid == tid)
			return &w->threads[w->current];
	struct thread *t = ARRAY_ADD(w->threads, w->nthreads);
	*t = (struct thread){ .tid = tid, .next_pc = UINT64_MAX };
	return t;
}

static bool end_interval(struct bb_walk *w, struct err *e)
{
	uint64_t data[BB_DATA];
	struct bb_interval v = { .count = w->nran, .insts = w->insts };

	ARRAY_ROOM(w->parts, w->parts_capacity, w->nran);
	for (size_t i = 0; i < w->nran; i++) {
		struct block *b = &w->blocks[w->ran[i]];

		w->parts[i] = (struct bb_part){ .block = w->ran[i] + 1ull, .insts = b->insts };
		b->insts = 0;
	}
	v.parts = w->parts;
	if (w->o.data) {
		w->o.data(w->o.data_ctx, data);
		v.data = data;
	}
	w->nran = 0;
	w->insts = 0;
	return w->o.take(w->o.ctx, &v, e);
}

bool bb_walk_add(struct bb_walk *w, uint32_t tid, uint64_t pc, uint64_t next_pc, bool ends,
		 struct err *e)
{
	struct thread *t = thread_of(w, tid);

	if (t->next_pc != pc)
		t->block = enter(w, pc);
	t->next_pc = ends ? UINT64_MAX : next_pc;
	struct block *b = &w->blocks[t->block];
	if (b->insts++ == 0) {
		ARRAY_ROOM(w->ran, w->ran_capacity, w->nran + 1);
		w->ran[w->nran++] = t->block;
	}
	return ++w->insts < w->o.interval || end_interval(w, e);
}

bool bb_walk_finish(struct bb_walk *w, struct err *e)
{
	return w->insts == 0 || end_interval(w, e);
}
