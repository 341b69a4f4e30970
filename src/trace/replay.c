/* SPDX-License-Identifier: MIT */
/*
 * Feeds a trace file's records to a listener. A cycle's instructions go into the same batch as its
 * record, as when the core writes them. If a source has no cycle records, instructions come by
 * themselves.
 */
#include "trace/replay.h"

#include "trace/file_codec.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* Instructions that wait for the cycle record in which they leave. */
struct waiting {
	struct rec_inst *insts;
	size_t count, capacity;
	struct twin *twin; /* NULL: nobody wants its stamps */
	bool failed;	   /* the twin lacks an instruction of the run */
	struct err *e;
};

#define WAITING_MAX ((size_t)2 * CODEC_INSTS_MAX)

/* Puts the twin's stamps into the same batch: it has room for as many as for instructions. */
static void put_twin(struct emit *out, struct waiting *w, const struct rec_inst *r)
{
	struct rec_twin stamps;
	w->failed = w->failed || !twin_find(w->twin, r, &stamps, w->e);
	if (!w->failed)
		*emit_twin(out, NULL) = stamps;
}

/* The misses of a block, and the cycle in which each is due: when it, or one after it, ends. */
struct misses {
	const struct rec_miss *miss;
	size_t count, at;
	uint64_t *due;
	size_t capacity;
};

static void begin_misses(struct misses *m, const struct trace_records *b)
{
	uint64_t due = UINT64_MAX;
	m->miss = b->misses;
	m->count = b->nmisses;
	m->at = 0;
	ARRAY_ROOM(m->due, m->capacity, m->count);
	for (size_t i = m->count; i-- > 0;)
		m->due[i] = due = min_u64(due, miss_end(&m->miss[i]));
}

/* Delivers the misses that must come no later than with the cycles before `cycle` (M1), in file
 * order (M2). */
static void put_misses(struct emit *out, struct misses *m, uint64_t cycle)
{
	if (!(out->wants & WANT_MISSES))
		return;
	for (; m->at < m->count && m->due[m->at] <= cycle && !out->stop; m->at++) {
		if (out->nmisses >= out->max_misses)
			out->full(out);
		*emit_miss(out) = m->miss[m->at];
	}
}

/* Delivers the twin's stamps, which may be in any batch (T1), with the block in which they were
 * written: a listener then waits for them no longer than in the original run. */
static void put_twins(struct emit *out, const struct trace_records *b)
{
	for (size_t i = 0; i < b->ntwins && !out->stop && out->wants & WANT_TWIN; i++)
		*emit_twin(out, NULL) = b->twins[i];
}

static void put_insts(struct emit *out, struct waiting *w, const struct rec_inst *insts,
		      size_t count)
{
	bool squashed = out->wants & (WANT_SQUASHED | WANT_SQUASHED_EVENTS);
	for (size_t i = 0; i < count; i++) {
		if (squashed || insts[i].flags & RI_COMMITTED)
			emit_copy_inst(out, &insts[i]);
		if (w->twin && insts[i].flags & RI_COMMITTED)
			put_twin(out, w, &insts[i]);
	}
}

static void put_alone(struct emit *out, struct waiting *w, const struct rec_inst *insts,
		      size_t count)
{
	for (size_t i = 0; i < count && !out->stop && !w->failed; i++) {
		emit_reserve(out, 1);
		put_insts(out, w, &insts[i], 1);
	}
}

static void keep(struct waiting *w, const struct rec_inst *insts, size_t count)
{
	ARRAY_ROOM(w->insts, w->capacity, w->count + count);
	memcpy(w->insts + w->count, insts, count * sizeof(*insts));
	w->count += count;
}

static void put_block(struct emit *out, const struct trace_records *b, struct waiting *w,
		      struct misses *misses, bool cycles_wanted)
{
	size_t at = 0;
	for (size_t i = 0; i < b->ncycles && !out->stop && !w->failed; i++) {
		const struct rec_cycle *c = &b->cycles[i];
		size_t from = at;
		put_misses(out, misses, c->cycle + c->repeat);
		while (at < b->ninsts &&
		       b->insts[at].fetch + b->insts[at].commit < c->cycle + c->repeat)
			at++;
		size_t n = w->count + at - from;
		if (unlikely(n > out->max_insts)) {
			put_alone(out, w, w->insts, w->count);
			put_alone(out, w, b->insts + from, at - from);
			n = 0;
			emit_reserve(out, 0);
		} else {
			emit_reserve(out, n);
			put_insts(out, w, w->insts, w->count);
			put_insts(out, w, b->insts + from, at - from);
		}
		w->count = 0;
		if (cycles_wanted)
			*emit_cycle(out) = *c;
	}
	if (at < b->ninsts && !out->stop)
		keep(w, b->insts + at, b->ninsts - at);
}

bool replay_feed(struct trace_reader *r, struct emit *out, const struct replay_options *o,
		 struct err *e)
{
	struct waiting w = { .twin = o && out->wants & WANT_TWIN ? o->twin : NULL, .e = e };
	struct misses misses = { 0 };
	bool alone = trace_reader_info(r)->absent & WANT_CYCLES, ok = true;
	uint64_t insts = 0;
	for (size_t i = 0; ok && i < trace_reader_blocks(r) && !out->stop; i++) {
		struct trace_records b;
		ok = trace_reader_read(r, i, &b, e);
		if (!ok)
			break;
		begin_misses(&misses, &b);
		if (!w.twin)
			put_twins(out, &b);
		if (alone)
			put_alone(out, &w, b.insts, b.ninsts);
		else
			put_block(out, &b, &w, &misses, out->wants & WANT_CYCLES);
		if (w.failed)
			break;
		put_misses(out, &misses, UINT64_MAX);
		const struct trace_block *block = trace_reader_block(r, i);
		/* Instructions of one block may wait for a cycle in the next; if there are more,
		 * their cycles do not exist. */
		if (w.count > WAITING_MAX) {
			ok = err_set(
			    e,
			    "damaged: %zu instructions up to block %zu, at byte %llu, leave "
			    "in cycles that the trace does not have",
			    w.count, i + 1, (unsigned long long)block->offset);
			break;
		}
		insts += block->end_po - block->first_po;
		if (o && o->progress && !o->progress(o->ctx, insts))
			break;
	}
	if (ok && !w.failed)
		put_alone(out, &w, w.insts, w.count);
	free(w.insts);
	free(misses.due);
	return ok && !w.failed;
}
