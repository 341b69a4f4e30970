/* SPDX-License-Identifier: MIT */
/*
 * Runs a guest functionally, interval by interval, and hands on its basic block vectors. guest_run
 * stops exactly, so an interval has exactly the instructions that were asked for, and cutting the run
 * does not change what the guest does. Nothing is kept but the rows.
 */
#include "cmd/vectors.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

struct collecting {
	struct bb_part *parts;
	size_t count, capacity;
	uint64_t insts;
};

static void take_part(void *ctx, uint64_t block, uint64_t insts)
{
	struct collecting *c = ctx;

	ARRAY_ROOM(c->parts, c->capacity, c->count + 1);
	c->parts[c->count++] = (struct bb_part){ .block = block, .insts = insts };
	c->insts += insts;
}

/* Runs one interval, or what is left of the run. */
static void run_interval(struct guest *g, const struct vectors_options *o, struct vectors *out)
{
	uint64_t end = guest_insts(g) + o->interval;

	if (o->max_insts)
		end = min_u64(end, o->max_insts);
	while (out->status == GUEST_RUNNING && !out->stopped && guest_insts(g) < end) {
		out->status = guest_run(g, end - guest_insts(g));
		out->stopped = out->status == GUEST_RUNNING && o->stop && o->stop();
	}
}

static bool hand_on(struct guest *g, const struct vectors_options *o, struct collecting *c,
		    struct bb_file *file, struct bb_rows *rows, struct err *e)
{
	uint64_t data[BB_DATA];
	struct bb_interval v;

	_Static_assert(BB_DATA == LOCALITY_COUNTS, "the data part is these counts");

	c->count = 0;
	c->insts = 0;
	guest_take_vector(g, take_part, c);
	if (o->data)
		guest_take_data(g, data);
	v = (struct bb_interval){ .parts = c->parts,
				  .count = c->count,
				  .insts = c->insts,
				  .data = o->data ? data : NULL };
	return (!file || bb_write(file, &v, e)) && (!rows || bb_rows_add(rows, &v, e));
}

/* Whether the run is what was asked for. */
static bool usable(struct guest *g, const struct vectors_options *o, const struct vectors *out,
		   struct err *e)
{
	if (out->count == 0)
		return err_set(e, "the program executed nothing");
	if (o->partial)
		return true;
	if (out->stopped)
		return err_set(e, "stopped after %llu instructions; --partial uses what ran",
			       (unsigned long long)out->insts);
	if (out->status == GUEST_KILLED) {
		const char *name = sigabbrev_np(guest_exit_status(g) - 128);

		return err_set(e,
			       "SIG%s killed the program after %llu instructions; --partial uses "
			       "what ran",
			       name ? name : "?", (unsigned long long)out->insts);
	}
	return true;
}

bool vectors_run(struct guest *g, const struct vectors_options *o, struct vectors *out,
		 struct err *e)
{
	struct collecting c = { 0 };
	struct bb_file *file = NULL;
	struct bb_rows *rows = NULL;
	bool ok = true;

	*out = (struct vectors){ .status = GUEST_RUNNING };
	if (o->file && !(file = bb_create(o->file, e)))
		return false;
	if (o->rows)
		rows = bb_rows_new(o->dims, o->seed, o->data);
	guest_vectors(g, true, o->data);
	while (ok && out->status == GUEST_RUNNING && !out->stopped &&
	       (!o->max_insts || out->insts < o->max_insts)) {
		run_interval(g, o, out);
		if (guest_insts(g) == out->insts)
			continue; /* the process ended where the interval before did */
		out->insts = guest_insts(g);
		out->count++;
		ok = hand_on(g, o, &c, file, rows, e);
		if (o->progress)
			o->progress(o->progress_ctx, out->insts);
	}
	out->blocks = guest_vector_blocks(g);
	ok = ok && usable(g, o, out, e);
	free(c.parts);
	if (ok && file) {
		ok = bb_finish(file, e);
		file = NULL;
	}
	bb_discard(file);
	if (ok && rows)
		bb_rows_finish(rows, &out->intervals);
	else
		bb_rows_free(rows);
	return ok;
}
