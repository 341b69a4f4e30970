/* SPDX-License-Identifier: MIT */
/*
 * The shotgun profiler's samples as bytes, and the analysis that keeps them in a file: what the monitors
 * of fields2004 figure 6(a) would hand to software. `culprit replay` of such a file builds the fragments
 * from these samples, the binaries and the machine's description, without the run.
 *
 * Bytes, little-endian: length, context, bits (32 each), instructions and cycles of the run, number of
 * detailed and of signature samples (64 each); the detailed samples field by field, so that they
 * compress well; then each signature sample: start PC, and its instructions' bits, four to a byte. The
 * PCs that score fragments are not hardware's, and not in the file.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/shotgun/shotgun.h"
#include "trace/file_samples.h"
#include "util/outside.h"

#define INSTS_MAX (1ull << 62)
#define FLAGS	  (RI_MISPREDICT | RI_BTB_MISS | RI_TAKEN | RI_SERIAL | RI_REFETCH)

/* Fields of a detailed sample: name, bytes, the largest value. */
#define DETAIL_FIELDS(X)                                                                           \
	X(pc, 8, UINT64_MAX)                                                                       \
	X(target, 8, UINT64_MAX)                                                                   \
	X(signature, 8, UINT64_MAX)                                                                \
	X(flags, 4, UINT32_MAX)                                                                    \
	X(prod_mem, 4, UINT32_MAX)                                                                 \
	X(prod_line, 4, UINT32_MAX)                                                                \
	X(icache, 2, UINT16_MAX)                                                                   \
	X(itlb, 2, UINT16_MAX)                                                                     \
	X(contention, 2, UINT16_MAX)                                                               \
	X(latency, 2, UINT16_MAX)                                                                  \
	X(miss, 2, UINT16_MAX)                                                                     \
	X(dtlb, 2, UINT16_MAX)                                                                     \
	X(isaved, 2, UINT16_MAX)                                                                   \
	X(dsaved, 2, UINT16_MAX)                                                                   \
	X(resolve, 2, UINT16_MAX)                                                                  \
	X(flush, 2, UINT16_MAX)                                                                    \
	X(stall, 2, UINT16_MAX)                                                                    \
	X(drain, 2, UINT16_MAX)                                                                    \
	X(left, 2, UINT16_MAX)                                                                     \
	X(bus, 2, UINT16_MAX)                                                                      \
	X(stalled_by, 1, DISPATCH_STALL_COUNT - 1)                                                 \
	X(level, 1, LEVEL_COUNT - 1)                                                               \
	X(ilevel, 1, LEVEL_COUNT - 1)                                                              \
	X(faulted, 1, 1)                                                                           \
	X(bits, 1, 3)

#define DETAIL_BYTES		     (0 DETAIL_FIELDS(ADD_BYTES))
#define ADD_BYTES(name, bytes, most) +bytes
#define HEAD_BYTES		     44

static size_t long_bytes(const struct shotgun_shape *s)
{
	return 8 + (s->length + 3) / 4;
}

/* ---- writing ---- */

static uint8_t *put(uint8_t *to, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> 8 * i);
	return to + bytes;
}

uint8_t *shotgun_pack(const struct shotgun_samples *s, size_t *size)
{
	*size = HEAD_BYTES + s->ndetails * DETAIL_BYTES + s->nlongs * long_bytes(&s->shape);

	uint8_t *data = x_calloc(*size, 1), *at = data;

	at = put(at, 4, s->shape.length);
	at = put(at, 4, s->shape.context);
	at = put(at, 4, s->shape.bits);
	at = put(at, 8, s->insts);
	at = put(at, 8, s->cycles);
	at = put(at, 8, s->ndetails);
	at = put(at, 8, s->nlongs);
#define X(name, bytes, most)                                                                       \
	for (size_t i = 0; i < s->ndetails; i++)                                                   \
		at = put(at, bytes, s->details[i].name);
	DETAIL_FIELDS(X)
#undef X
	for (size_t k = 0; k < s->nlongs; k++) {
		const struct shotgun_long *l = &s->longs[k];

		put(at, 8, l->start);
		for (uint32_t i = 0; i < s->shape.length; i++)
			at[8 + i / 4] |= (uint8_t)(l->bits[i] << 2 * (i % 4));
		at += long_bytes(&s->shape);
	}
	return data;
}

/* ---- reading ---- */

static uint64_t get(const uint8_t **from, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)(*from)[i] << 8 * i;
	*from += bytes;
	return value;
}

static bool read_head(struct shotgun_samples *s, const uint8_t **at, size_t size, struct err *e)
{
	if (size < HEAD_BYTES)
		return err_set(e, "the samples have no head");
	s->shape.length = (uint32_t)get(at, 4);
	s->shape.context = (uint32_t)get(at, 4);
	s->shape.bits = (uint32_t)get(at, 4);
	s->insts = get(at, 8);
	s->cycles = get(at, 8);
	if (s->shape.length < 64 || s->shape.length > SHOTGUN_LONG_MOST || !s->shape.context ||
	    s->shape.context > SHOTGUN_CONTEXT_MOST || !s->shape.bits ||
	    s->shape.bits > SHOTGUN_BITS || s->insts > INSTS_MAX || s->cycles > INSTS_MAX)
		return err_set(e, "the samples have a shape that cannot be");

	const uint64_t details = get(at, 8), longs = get(at, 8);
	const size_t rest = size - HEAD_BYTES, each = long_bytes(&s->shape);

	if (details > rest / DETAIL_BYTES || longs > rest / each ||
	    rest != details * DETAIL_BYTES + longs * each)
		return err_set(e, "the samples are more or fewer than their head says");
	s->ndetails = (size_t)details;
	s->nlongs = (size_t)longs;
	return true;
}

static bool read_details(struct shotgun_samples *s, struct shotgun_detail *details,
			 const uint8_t **at, struct err *e)
{
	const uint64_t whole = (1ull << 2 * shotgun_span(&s->shape)) - 1;

#define X(name, bytes, most)                                                                       \
	for (size_t i = 0; i < s->ndetails; i++) {                                                 \
		const uint64_t value = get(at, bytes);                                             \
		if (value > (uint64_t)(most))                                                      \
			return err_set(e, "detailed sample %zu: %s cannot be %llu", i, #name,      \
				       (unsigned long long)value);                                 \
		details[i].name = (__typeof__(details[i].name))value;                              \
	}
	DETAIL_FIELDS(X)
#undef X
	for (size_t i = 0; i < s->ndetails; i++) {
		const struct shotgun_detail *d = &details[i];

		if (d->flags & ~(uint32_t)FLAGS || d->signature & ~whole)
			return err_set(
			    e, "detailed sample %zu has flags or bits that none can have", i);
		if (i &&
		    (d[-1].pc > d->pc || (d[-1].pc == d->pc && d[-1].signature > d->signature)))
			return err_set(e, "detailed sample %zu is out of order", i);
	}
	return true;
}

static void read_longs(const struct shotgun_samples *s, struct shotgun_long *longs,
		       const uint8_t *at)
{
	for (size_t k = 0; k < s->nlongs; k++) {
		longs[k].start = get(&at, 8);
		for (uint32_t i = 0; i < s->shape.length; i++)
			longs[k].bits[i] = at[i / 4] >> 2 * (i % 4) & 3;
		at += long_bytes(&s->shape) - 8;
	}
}

bool shotgun_unpack(struct shotgun_samples *s, const uint8_t *data, size_t size, struct err *e)
{
	const uint8_t *at = data;

	*s = (struct shotgun_samples){ .scored = false };
	if (!read_head(s, &at, size, e))
		return false;

	struct shotgun_detail *details = x_calloc(s->ndetails + 1, sizeof(*details));
	struct shotgun_long *longs = x_calloc(s->nlongs + 1, sizeof(*longs));

	s->details = details;
	s->longs = longs;
	if (!read_details(s, details, &at, e)) {
		shotgun_unpacked_free(s);
		return false;
	}
	read_longs(s, longs, at);
	return true;
}

bool shotgun_fits(const struct shotgun_samples *s, const struct edges_machine *m, struct err *e)
{
	const uint32_t window = edges_graph_config(m).issue_edges ? m->rob : 0;

	for (size_t i = 0; i < s->ndetails; i++)
		if (s->details[i].stalled_by == DISPATCH_IQ && s->details[i].left > window)
			return err_set(e,
				       "detailed sample %zu waits for the queue entry of an "
				       "instruction that is not in the window",
				       i);
	return true;
}

void shotgun_unpacked_free(struct shotgun_samples *s)
{
	free((void *)s->details);
	free((void *)s->longs);
	s->details = NULL;
	s->longs = NULL;
}

/* ---- the analysis ---- */

struct keeper {
	struct shotgun_watch watch;
	const struct trace_info *info;
	char *path;
};

static bool samples_start(void *state, const struct trace_meta *meta,
			  const struct analysis_options *o, struct err *e)
{
	struct keeper *k = state;

	if (!shotgun_watch_start(&k->watch, meta, o, e))
		return false;
	k->info = o->info;
	k->path = analysis_path(o, "shotgun-samples", "shotgun");
	outside_expect(k->path);
	/* Checked before the run, so that a bad name is found before time is spent. */
	return output_may_open(k->path, &samples_shotgun.output, e);
}

static bool samples_insts(void *state, const struct rec_inst *insts, size_t n, struct err *e)
{
	struct keeper *k = state;
	struct graph_inst edges;

	for (size_t i = 0; i < n; i++)
		if (insts[i].flags & RI_COMMITTED)
			shotgun_watch_next(&k->watch, &insts[i], &edges);
	return true;
}

static bool samples_finish(void *state, struct store *store, struct err *e)
{
	struct keeper *k = state;
	const struct shotgun_samples s = shotgun_watch_finish(&k->watch);
	size_t size;
	uint8_t *data = shotgun_pack(&s, &size);
	const bool ok = samples_file_write(k->path, &samples_shotgun, k->info, data, size, e);

	free(data);
	return ok;
}

static void samples_free(void *state)
{
	struct keeper *k = state;

	shotgun_watch_free(&k->watch);
	free(k->path);
}

static const struct analysis_param params[] = {
	SHOTGUN_PARAMS,
	{ "shotgun-samples", "the file to write", false, { 0 } },
	{ .name = NULL },
};

const struct analysis shotgun_samples_analysis = {
	.name = "shotgun-samples",
	.summary = "what a shotgun profiler's hardware delivers (--param shotgun-samples=FILE); "
		   "replay builds fragments from it",
	.wants = WANT_INSTS | WANT_PRODUCERS | WANT_LATENCIES,
	.params = params,
	.writes_file = true,
	.state_size = sizeof(struct keeper),
	.start = samples_start,
	.insts = samples_insts,
	.finish = samples_finish,
	.free = samples_free,
};
