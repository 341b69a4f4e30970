/* SPDX-License-Identifier: MIT */
/*
 * Keeps a few stretches of the run, with the records of all their instructions, so that a view can
 * show the pipeline without a trace: up to EVEN_MOST of them at equal distances over the run, and for
 * every event the one with the costliest single instance, and one for the costliest stall without
 * an event.
 *
 * The run is cut into stretches of STRETCH committed instructions that overlap by LEAD. Which are
 * kept depends on the records alone, not on batches. Equal distances without knowing how long the
 * run will be: a stretch is kept if its number is a multiple of the stride, and when there are too
 * many, every other one is dropped and the stride doubled.
 *
 * The cost of an instance is the time between two commits (trace/gap.h).
 */
#include "analysis/windows.h"

#include <stdlib.h>

#include "store/store.h"
#include "trace/file.h"
#include "trace/gap.h"
#include "trace/stretch.h"

#define STRETCH	     2000 /* committed instructions */
#define LEAD	     250  /* of them also in the stretch before */
#define RECORDS_MOST 8000 /* what is squashed beyond that is not kept */
#define EVEN_MOST    32
#define LANES	     (EVENT_PROFILED_COUNT + 1) /* the last: stalls without an event */
#define COST_LEAST   3				/* shorter gaps between commits are no instance */

struct kept {
	struct rec_inst *insts;
	size_t count, committed;
	uint64_t number; /* of the stretch in the run */
	unsigned users;	 /* how many reasons there are to keep it */
	int64_t id;	 /* in the store; 0: not yet there */
};

/* The costliest instance of an event, and the stretch that has it. */
struct instance {
	struct kept *in;
	uint64_t cost, po, pc;
};

struct windows {
	struct kept *now; /* the one that is being filled */
	struct kept *spare[LANES + EVEN_MOST + 2];
	size_t nspare;
	/* Of the whole run; of this stretch; and of its end, which the next one shows better. */
	struct instance best[LANES], here[LANES], later[LANES];
	struct kept *even[EVEN_MOST];
	size_t neven;
	uint64_t stride, count; /* in stretches; how many there have been */
	struct gaps gaps;
	uint64_t seen; /* end of the last cycle that records have covered */
};

static struct kept *stretch_take(struct windows *w)
{
	struct kept *s = w->nspare ? w->spare[--w->nspare] : NULL;

	if (!s) {
		s = x_calloc(1, sizeof(*s));
		s->insts = x_calloc(RECORDS_MOST, sizeof(*s->insts));
	}
	s->count = s->committed = 0;
	s->users = 0;
	return s;
}

static void stretch_drop(struct windows *w, struct kept *s)
{
	if (s && --s->users == 0)
		w->spare[w->nspare++] = s;
}

static bool windows_start(void *state, const struct trace_meta *meta,
			  const struct analysis_options *o, struct err *e)
{
	struct windows *w = state;
	const char *first = o->info ? trace_setting_find(o->info, "run", "first_cycle") : NULL;

	/* A run begins with cycle 1; a forked process is told where its run does. */
	w->gaps.left = w->seen = first ? strtoull(first, NULL, 10) : 1;
	w->stride = 1;
	w->now = stretch_take(w);
	return true;
}

static void keep_even(struct windows *w)
{
	if (w->now->number % w->stride)
		return;
	if (w->neven == EVEN_MOST) {
		size_t n = 0;

		w->stride *= 2;
		for (size_t i = 0; i < w->neven; i++) {
			if (w->even[i]->number % w->stride)
				stretch_drop(w, w->even[i]);
			else
				w->even[n++] = w->even[i];
		}
		w->neven = n;
		if (w->now->number % w->stride)
			return;
	}
	w->even[w->neven++] = w->now;
	w->now->users++;
}

static void keep_costly(struct windows *w, const struct instance *list)
{
	for (size_t k = 0; k < LANES; k++) {
		if (list[k].cost <= w->best[k].cost)
			continue;
		w->now->users++;
		stretch_drop(w, w->best[k].in);
		w->best[k] = list[k];
		w->best[k].in = w->now;
	}
}

/* Ends the stretch, and begins the next one with its last instructions. */
static void next_stretch(struct windows *w)
{
	struct kept *old = w->now;
	size_t from = old->count, committed = 0;

	keep_even(w);
	keep_costly(w, w->here);
	memcpy(w->here, w->later, sizeof(w->here));
	memset(w->later, 0, sizeof(w->later));
	while (from && committed < LEAD)
		committed += old->insts[--from].flags & RI_COMMITTED;
	if (old->users)
		w->now = stretch_take(w);
	memmove(w->now->insts, old->insts + from, (old->count - from) * sizeof(*old->insts));
	w->now->count = old->count - from;
	w->now->committed = committed;
	w->now->number = ++w->count;
}

static void note(struct windows *w, uint64_t cost, const struct rec_inst *r)
{
	struct instance *list = w->now->committed > STRETCH - LEAD / 2 ? w->later : w->here;
	unsigned lanes = r->psv & ((1u << EVENT_PROFILED_COUNT) - 1);

	if (!lanes)
		lanes = 1u << EVENT_PROFILED_COUNT;
	for (; lanes; lanes &= lanes - 1) {
		struct instance *i = &list[__builtin_ctz(lanes)];

		if (cost > i->cost)
			*i = (struct instance){ .cost = cost, .po = r->po, .pc = r->pc };
	}
}

static void commit(struct windows *w, const struct rec_inst *r)
{
	const struct rec_inst *whose;
	struct rec_inst before;
	const uint64_t gap = gaps_next(&w->gaps, r, &whose, &before);

	if (gap >= COST_LEAST)
		note(w, gap, whose);
}

static bool windows_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			  const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct windows *w = state;

	if (ncycles && cycles[0].cycle != w->seen) { /* another region */
		w->gaps.left = cycles[0].cycle;
		w->gaps.last.flags = 0;
	}
	for (size_t i = 0; i < ninsts; i++) {
		struct kept *s = w->now;

		if (insts[i].flags & RI_COMMITTED) {
			s->insts[s->count++] = insts[i];
			s->committed++;
			commit(w, &insts[i]);
			if (s->committed == STRETCH)
				next_stretch(w);
		} else if (s->count + STRETCH - s->committed < RECORDS_MOST) {
			s->insts[s->count++] = insts[i];
		}
	}
	w->seen =
	    ncycles ? cycles[ncycles - 1].cycle + cycles[ncycles - 1].repeat : w->gaps.left + 1;
	return true;
}

/* The oldest instruction of a stretch that committed; of one without any, the first record. */
static const struct rec_inst *first_committed(const struct kept *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->insts[i].flags & RI_COMMITTED)
			return &s->insts[i];
	return &s->insts[0];
}

/* Writes the stretch unless it is there. */
static bool put_stretch(struct store *store, struct stretch_coder *c, struct kept *s, int64_t *ids,
			struct err *e)
{
	size_t size;

	if (s->id)
		return true;
	uint8_t *bytes = stretch_pack(c, s->insts, s->count, &size);
	const bool ok =
	    store_insert(store, e, "stretch", "iiib", ++*ids, (int64_t)first_committed(s)->po,
			 (int64_t)s->count, (const void *)bytes, size);

	s->id = *ids;
	free(bytes);
	return ok;
}

static bool windows_finish(void *state, struct store *store, struct err *e)
{
	struct windows *w = state;
	int64_t ids = 0;
	bool ok = true;

	if (w->now->count) {
		keep_even(w);
		keep_costly(w, w->here);
		keep_costly(w, w->later);
	}
	if (!store)
		return true;
	struct stretch_coder *c = stretch_coder_new();

	for (size_t i = 0; ok && i < w->neven; i++) {
		const struct rec_inst *r = first_committed(w->even[i]);

		ok = put_stretch(store, c, w->even[i], &ids, e) &&
		     store_insert(store, e, "stretch_why", "isiii", w->even[i]->id, "even",
				  (int64_t)r->pc, (int64_t)r->po, (int64_t)0);
	}
	for (size_t k = 0; ok && k < LANES; k++) {
		const struct instance *b = &w->best[k];

		if (b->in)
			ok = put_stretch(store, c, b->in, &ids, e) &&
			     store_insert(store, e, "stretch_why", "isiii", b->in->id,
					  k < EVENT_PROFILED_COUNT ? words_events[k].name : "stall",
					  (int64_t)b->pc, (int64_t)b->po, (int64_t)b->cost);
	}
	stretch_coder_free(c);
	return ok;
}

static void stretch_free(struct kept *s)
{
	free(s->insts);
	free(s);
}

static void windows_free(void *state)
{
	struct windows *w = state;

	/* Dropped by all that keep it, each stretch is among the spare ones. */
	for (size_t i = 0; i < w->neven; i++)
		stretch_drop(w, w->even[i]);
	for (size_t k = 0; k < LANES; k++)
		stretch_drop(w, w->best[k].in);
	bool now_is_spare = false;

	for (size_t i = 0; i < w->nspare; i++) {
		now_is_spare |= w->spare[i] == w->now;
		stretch_free(w->spare[i]);
	}
	if (w->now && !now_is_spare)
		stretch_free(w->now);
}

const struct analysis windows_analysis = {
	.name = "windows",
	.summary =
	    "stretches of the pipeline: evenly over the run, and the costliest of each event",
	.wants = WANT_INSTS | WANT_SQUASHED | WANT_PRODUCERS | WANT_LATENCIES,
	.tables = (const struct analysis_table[]){ { "stretch_why", NULL }, { NULL, NULL } },
	.state_size = sizeof(struct windows),
	.start = windows_start,
	.batch = windows_batch,
	.finish = windows_finish,
	.free = windows_free,
};
