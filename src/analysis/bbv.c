/* SPDX-License-Identifier: MIT */
/*
 * Basic block vectors from records: the file that `culprit bbv` writes, of a run on the core, of a trace
 * or of another simulator's. Committed instructions count, but for those that raised a signal instead
 * of executing, as in the count of the guest.
 *
 * Records do not say what is mapped where, so a block is an address here. If a program is replaced
 * (execve) or a library unloaded, and other code runs at the same addresses, blocks of both are one,
 * and the vectors are not those of `culprit bbv`, which tells them apart.
 */
#include "analysis/bbv.h"

#include <stdlib.h>

#include "isa/isa.h"
#include "sampling/walk.h"
#include "trace/locality.h"
#include "util/outside.h"

_Static_assert(BB_DATA == LOCALITY_COUNTS, "the data part is these counts");

struct bbv {
	struct bb_walk *walk;
	struct bb_file *file;
	struct locality *locality; /* NULL: no data part */
	uint64_t intervals, insts;
	char *path;
};

static bool write_interval(void *state, const struct bb_interval *v, struct err *e)
{
	struct bbv *b = state;

	b->intervals++;
	b->insts += v->insts;
	return bb_write(b->file, v, e);
}

static void take_data(void *locality, uint64_t counts[BB_DATA])
{
	locality_take(locality, counts);
}

static bool start(struct bbv *b, const struct analysis_options *o, bool data, struct err *e)
{
	struct bb_walk_options walk = {
		.interval = analysis_number(o, "interval", SAMPLING_INTERVAL),
		.take = write_interval,
		.ctx = b,
	};

	b->path = analysis_path(o, "bb", "bb");
	outside_expect(b->path);
	b->file = bb_create(b->path, e);
	if (!b->file) {
		free(b->path);
		return false;
	}
	if (data) {
		b->locality = x_calloc(1, sizeof(*b->locality));
		walk.data = take_data;
		walk.data_ctx = b->locality;
	}
	b->walk = bb_walk_new(&walk);
	return true;
}

static bool bbv_start(void *state, const struct trace_meta *meta, const struct analysis_options *o,
		      struct err *e)
{
	(void)meta;
	return start(state, o, false, e);
}

static bool bbv_data_start(void *state, const struct trace_meta *meta,
			   const struct analysis_options *o, struct err *e)
{
	(void)meta;
	return start(state, o, true, e);
}

static bool has_locality(const struct rec_inst *r)
{
	struct inst in = isa_decode(r->word);

	return isa_has_locality(&in);
}

static bool bbv_insts(void *state, const struct rec_inst *insts, size_t count, struct err *e)
{
	struct bbv *b = state;

	for (size_t i = 0; i < count; i++) {
		const struct rec_inst *r = &insts[i];
		/* Importers do not know the word, but where the next instruction was. */
		uint64_t next = r->word ? r->pc + ((r->word & 3) == 3 ? 4 : 2) : r->target;
		bool ends = r->flags & (RI_BRANCH | RI_JUMP) || r->cls == CLASS_SYSTEM;

		if ((r->flags & (RI_COMMITTED | RI_FAULT)) != RI_COMMITTED)
			continue;
		if (unlikely(b->locality && !r->word))
			return err_set(e, "these records have no addresses of loads and "
					  "stores; bbv does without");
		if (b->locality && r->flags & (RI_LOAD | RI_STORE) && has_locality(r))
			locality_touch(b->locality, r->addr);
		if (!bb_walk_add(b->walk, r->tid, r->pc, next, ends, e))
			return false;
	}
	return true;
}

static bool bbv_finish(void *state, struct store *store, struct err *e)
{
	struct bbv *b = state;
	struct bb_file *file = b->file;

	(void)store;
	if (!bb_walk_finish(b->walk, e))
		return false;
	b->file = NULL;
	if (b->intervals == 0) {
		bb_discard(file);
		return err_set(e, "no instruction was recorded, so there is no interval");
	}
	return bb_finish(file, e);
}

static void bbv_free(void *state)
{
	struct bbv *b = state;

	bb_walk_free(b->walk);
	bb_discard(b->file);
	free(b->locality);
	free(b->path);
}

static const struct analysis_param params[] = {
	{ "bb", "the file to write", false, { 0 } },
	{ "interval",
	  "instructions of each interval; 1M by default",
	  true,
	  { 1, 1000000000000000000ull, NUMBER_DECIMAL } },
	{ .name = NULL },
};

const struct analysis bbv_analysis = {
	.name = "bbv",
	.summary = "basic block vectors (--param bb=FILE, --param interval=N)",
	.wants = WANT_INSTS | WANT_BRIEF,
	.params = params,
	.writes_file = true,
	.state_size = sizeof(struct bbv),
	.start = bbv_start,
	.insts = bbv_insts,
	.finish = bbv_finish,
	.free = bbv_free,
};

const struct analysis bbv_data_analysis = {
	.name = "bbv-data",
	.summary = "the same with a data part",
	.wants = WANT_INSTS,
	.params = params,
	.writes_file = true,
	.state_size = sizeof(struct bbv),
	.start = bbv_data_start,
	.insts = bbv_insts,
	.finish = bbv_finish,
	.free = bbv_free,
};
