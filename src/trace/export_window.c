/* SPDX-License-Identifier: MIT */
/*
 * Cuts a window out of a trace with the help of its index: a few blocks are decoded, however long
 * the run.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/export.h"
#include "util/array.h"

static int by_seq(const void *a, const void *b)
{
	uint64_t x = ((const struct rec_inst *)a)->seq, y = ((const struct rec_inst *)b)->seq;
	return (x > y) - (x < y);
}

static void add_inst(struct window_records *out, size_t *capacity, const struct rec_inst *r)
{
	ARRAY_ROOM(out->insts, *capacity, out->ninsts + 1);
	out->insts[out->ninsts++] = *r;
}

static void add_cycles(struct window_records *out, size_t *capacity, const struct trace_records *b)
{
	ARRAY_ROOM(out->cycles, *capacity, out->ncycles + b->ncycles);
	if (b->ncycles)
		memcpy(out->cycles + out->ncycles, b->cycles, b->ncycles * sizeof(*b->cycles));
	out->ncycles += b->ncycles;
}

/* Drops cycle records in which no instruction of the window is in flight. */
static void trim_cycles(struct window_records *out)
{
	uint64_t first = UINT64_MAX, last = 0;
	size_t n = 0;
	for (size_t i = 0; i < out->ninsts; i++) {
		first = min_u64(first, out->insts[i].fetch);
		last = max_u64(last, out->insts[i].fetch + out->insts[i].commit);
	}
	for (size_t i = 0; i < out->ncycles; i++) {
		const struct rec_cycle *c = &out->cycles[i];
		if (c->cycle <= last && c->cycle + c->repeat > first)
			out->cycles[n++] = *c;
	}
	out->ncycles = n;
}

/* What belongs to the window: instructions by fetch order, or by the cycle in which they left. */
struct span {
	uint64_t seq0, seq1;	 /* [seq0, seq1] */
	uint64_t leave0, leave1; /* [leave0, leave1) */
	size_t block0, block1;	 /* blocks to look into, [block0, block1) */
};

static uint64_t end_of(const struct window *w)
{
	return w->count && w->count < UINT64_MAX - w->from ? w->from + w->count : UINT64_MAX;
}

/* Squashed instructions belong to the window if they were fetched among its committed ones. */
static bool span_of_insts(struct trace_reader *r, const struct window *w, struct span *s,
			  struct err *e)
{
	size_t at = trace_reader_find_inst(r, w->from);
	bool over = false;
	*s = (struct span){ .seq0 = UINT64_MAX, .leave1 = UINT64_MAX };
	/* Instructions squashed before the first one committed may be in the block before. */
	s->block0 = at ? at - 1 : 0;
	for (; at < trace_reader_blocks(r) && !over; at++) {
		struct trace_records b;
		if (!trace_reader_read(r, at, &b, e))
			return false;
		for (size_t i = 0; i < b.ninsts && !over; i++) {
			const struct rec_inst *in = &b.insts[i];
			if (!(in->flags & RI_COMMITTED) || in->po < w->from)
				continue;
			over = in->po >= end_of(w);
			if (over)
				break;
			s->seq0 = min_u64(s->seq0, in->seq);
			s->seq1 = max_u64(s->seq1, in->seq);
		}
	}
	s->block1 = at;
	return true;
}

static void span_of_cycles(struct trace_reader *r, const struct window *w, struct span *s)
{
	bool indexed = !(trace_reader_info(r)->absent & WANT_CYCLES);
	*s = (struct span){ .seq1 = UINT64_MAX, .leave0 = w->from, .leave1 = end_of(w) };
	s->block0 = indexed ? trace_reader_find_cycle(r, w->from) : 0;
	s->block1 = indexed ? trace_reader_find_cycle(r, s->leave1 - 1) + 1 : SIZE_MAX;
}

bool window_read(struct trace_reader *r, const struct window *w, size_t max,
		 struct window_records *out, struct err *e)
{
	size_t insts_room = 0, cycles_room = 0;
	struct span s;
	*out = (struct window_records){ 0 };
	if (w->by_cycle)
		span_of_cycles(r, w, &s);
	else if (!span_of_insts(r, w, &s, e))
		return false;
	for (size_t at = s.block0; at < s.block1 && at < trace_reader_blocks(r); at++) {
		struct trace_records b;
		if (!trace_reader_read(r, at, &b, e)) {
			window_free(out);
			return false;
		}
		for (size_t i = 0; i < b.ninsts && out->ninsts < max; i++) {
			const struct rec_inst *in = &b.insts[i];
			uint64_t leave = in->fetch + in->commit;
			if (in->seq >= s.seq0 && in->seq <= s.seq1 && leave >= s.leave0 &&
			    leave < s.leave1)
				add_inst(out, &insts_room, in);
		}
		add_cycles(out, &cycles_room, &b);
	}
	if (out->ninsts)
		qsort(out->insts, out->ninsts, sizeof(*out->insts), by_seq);
	trim_cycles(out);
	return true;
}

void window_free(struct window_records *w)
{
	free(w->insts);
	free(w->cycles);
	*w = (struct window_records){ 0 };
}
