/* SPDX-License-Identifier: MIT */
/*
 * Codes the miss records in a block of a trace file. Most of a miss follows from the instruction
 * that caused it, if that is in the same block, from the last miss at the same pc, and from the
 * last one of the same kind that the same level served.
 */
#include "trace/file_codec_int.h"

#include <string.h>

/* What was last seen at a pc. */
struct miss_static {
	uint64_t line, stride;
	uint64_t delay; /* from issue to begin */
	uint8_t kind, level;
};

/* What was last seen of a kind and level. */
struct miss_class {
	uint32_t end, queue;
};

#define STATICS 1024

/* The record being coded, and what is known before it. */
struct walk {
	struct codec *c;
	const struct rec_miss *prev;
	const struct mini *inst; /* that caused the miss; NULL: not in this block */
	struct miss_static *s;
	struct miss_class *class;
	struct miss_static statics[STATICS];
	struct miss_class classes[16 * 8];
	uint64_t v[M_COUNT];
};

#define NUMBER(id) M_##id
#define V(id)	   w->v[M_##id]

static void find_inst(struct walk *w)
{
	w->inst = codec_by_seq(w->c, V(SEQ));
}

static void find_static(struct walk *w)
{
	w->s = &w->statics[hash_u64(V(PC)) % STATICS];
}

static void find_class(struct walk *w)
{
	w->class = &w->classes[(V(KIND) & 15) * 8 + (V(LEVEL) & 7)];
}

/* The cycle from which the instruction's delay counts. */
static uint64_t asked(const struct walk *w)
{
	return w->inst && w->inst->issue != NEVER ? w->inst->issue : w->prev->begin;
}

static uint64_t predict_begin(const struct walk *w)
{
	return asked(w) + w->s->delay;
}

/* Predicts that miss_settled is the same as for the record before. */
static uint64_t predict_oldest(const struct walk *w)
{
	const uint64_t end = V(BEGIN) + V(END), settled = miss_settled(w->prev);
	return end > settled ? (uint32_t)(end - settled) : 0;
}

static uint64_t predict_flags(const struct walk *w)
{
	if (!w->inst)
		return w->prev->flags & MISS_WRONG_PATH;
	return w->inst->flags & RI_COMMITTED ? 0 : MISS_WRONG_PATH;
}

/* Predicts that the instruction waits, and no older one. */
static uint64_t predict_waits(const struct walk *w)
{
	const bool waits = miss_is_waited_for((enum miss_kind)V(KIND));
	return waits && !(V(FLAGS) & MISS_WRONG_PATH) ? 0 : (uint64_t)(int64_t)WAITS_NONE;
}

/* A place of its own: it is no whole member. */
#define LOAD_WAITS  ((uint64_t)(int64_t)r->waits)
#define HAS_WAITS   true
#define STORE_WAITS r->waits = (int32_t)(x << 8) >> 8, x = LOAD_WAITS

#define WALK_FIELDS "trace/miss_fields.def"
#define WALK_RECORD struct rec_miss
#define WALK_COLUMN COLUMN_MISS
#include "trace/file_walk.h"

static void learn(struct walk *w, const struct rec_miss *r)
{
	w->s->stride = w->s->line ? r->line - w->s->line : 0;
	w->s->line = r->line;
	w->s->delay = r->begin - asked(w);
	w->s->kind = r->kind;
	w->s->level = r->level;
	*w->class = (struct miss_class){ .end = r->end, .queue = r->queue };
	w->prev = r;
}

static struct walk *begin(struct codec *c, const struct rec_miss *before)
{
	struct walk *w = x_calloc(1, sizeof(*w));
	w->c = c;
	w->prev = before;
	return w;
}

void codec_miss_encode(struct codec *c)
{
	const struct rec_miss before = { 0 };
	struct masks masks = { .count = 0 };
	struct walk *w = begin(c, &before);
	for (size_t i = 0; i < c->nmisses; i++) {
		masks_put(c, &masks, COLUMN_MISS_MASK, encode(w, &c->misses[i]));
		learn(w, &c->misses[i]);
	}
	masks_flush(c, &masks, COLUMN_MISS_MASK);
	free(w);
}

bool codec_miss_decode(struct codec *c)
{
	const struct rec_miss before = { 0 };
	struct mask_columns masks;
	if (!masks_get(c, COLUMN_MISS_MASK, c->nmisses, &masks))
		return false;
	struct walk *w = begin(c, &before);
	for (size_t i = 0; i < c->nmisses && !c->bad; i++) {
		decode(w, &c->misses[i], mask_at(&masks, i));
		learn(w, &c->misses[i]);
	}
	free(w);
	return !c->bad;
}
