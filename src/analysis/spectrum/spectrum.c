/* SPDX-License-Identifier: MIT */
/*
 * Brings the streams together. Committed instructions and their twin's stamps wait for each other.
 * A miss waits until no miss that began earlier can come, and until an instruction that was
 * dispatched at or after its begin has committed. Then everything that its cluster needs is known.
 *
 * Memory does not depend on the length of the run. It holds the stamps of as many instructions as
 * may commit during the longest miss, the misses in progress, and tables that grow with the code.
 */
#include "analysis/spectrum/spectrum.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"
#include "trace/file.h"
#include "util/nearest.h"
#include "util/number.h"

#define STAMPS_MIN   (1u << 15)
#define STAMPS_MAX   (1u << 19)
#define QUEUE_MAX    (1u << 21) /* records that one stream may be ahead of the other */
#define SETTLE_EVERY 4096	/* instructions; must be fewer than STAMPS_MAX */
#define GIVE_UP	     4096	/* cycles to wait, after a miss, for its instruction to commit */
#define AHEAD	     24 /* records that are fetched before they are needed: the core had them last */

/* ---- queues ---- */

/* Makes room for n more. */
static void queue_room(struct queue *q, size_t n)
{
	if (q->end + n <= q->capacity)
		return;
	if (q->end > q->first)
		memmove(q->at, q->at + q->first, (q->end - q->first) * sizeof(*q->at));
	q->end -= q->first;
	q->first = 0;
	if (2 * (q->end + n) >= q->capacity) {
		q->capacity = max_u64(4096, 2 * (q->end + n));
		q->at = x_realloc(q->at, q->capacity * sizeof(*q->at));
	}
}

/* Of misses that one instruction causes in one cycle, a TLB's comes before those that it causes. */
static unsigned rank(const struct rec_miss *m)
{
	return m->kind == MISS_ITLB || m->kind == MISS_DTLB ? 0 : 1u + m->kind;
}

/* A total order: it must not matter in which order records come. */
static bool before(const struct rec_miss *a, const struct rec_miss *b)
{
	if (a->begin != b->begin)
		return a->begin < b->begin;
	if (a->seq != b->seq)
		return a->seq < b->seq;
	return rank(a) != rank(b) ? rank(a) < rank(b) : a->line < b->line;
}

static void heap_put(struct miss_heap *h, const struct rec_miss *m)
{
	if (h->count == h->capacity) {
		h->capacity = h->capacity ? 2 * h->capacity : 256;
		h->at = x_realloc(h->at, h->capacity * sizeof(*h->at));
	}
	size_t i = h->count++;
	for (; i && before(m, &h->at[(i - 1) / 2]); i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = *m;
	h->settled = max_u64(h->settled, miss_settled(m));
}

static struct rec_miss heap_take(struct miss_heap *h)
{
	const struct rec_miss top = h->at[0], last = h->at[--h->count];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
		child += child + 1 < h->count && before(&h->at[child + 1], &h->at[child]);
		if (!before(&h->at[child], &last))
			break;
		h->at[i] = h->at[child];
	}
	h->at[i] = last;
	return top;
}

/* ---- misses ---- */

/* The level of the machine that served the miss, 0 the nearest. If the machine does not have that
 * level (the source does not know it), the farthest. */
static unsigned level_of(const struct spectrum *s, const struct rec_miss *m)
{
	for (unsigned k = 0; k < s->nlevels; k++)
		if (s->level[k] >= m->level)
			return k;
	return s->nlevels - 1;
}

static void take_miss(struct spectrum *s, const struct rec_miss *m)
{
	const unsigned level = level_of(s, m);
	struct miss_sums *sum = &s->sums[m->kind][level];
	sum->misses++;
	sum->wrong += m->flags & MISS_WRONG_PATH;
	sum->cycles += m->end;
	sum->queue += m->queue;
	sum->merged += m->merged;
	sum->used += m->use != STAMP_NONE;
	clusters_miss(&s->clusters[CLUSTERS_ALL], m, level);
	if (!(m->flags & MISS_WRONG_PATH))
		clusters_miss(&s->clusters[CLUSTERS_RIGHT], m, level);
}

/* The youngest instruction whose lag says what the miss cost; 0: none does. */
static uint64_t last_needed(const struct rec_miss *m)
{
	return max_u64(m->flags & MISS_WRONG_PATH ? 0 : m->po,
		       m->waits == WAITS_NONE ? 0 : miss_waiter(m));
}

/* Whether all instructions that the miss's cluster needs have come. */
static bool is_ready(const struct spectrum *s, const struct rec_miss *m)
{
	if (m->begin >= s->heap.settled || !stamps_any(&s->stamps))
		return false;
	const uint64_t dispatch = stamps_last(&s->stamps)->dispatch;
	return dispatch >= m->begin &&
	       (last_needed(m) < s->stamps.end || dispatch >= miss_end(m) + GIVE_UP);
}

static void take_misses(struct spectrum *s, uint64_t before_cycle, bool all)
{
	struct miss_heap *h = &s->heap;
	while (h->count && h->at[0].begin < before_cycle && (all || is_ready(s, &h->at[0]))) {
		const struct rec_miss m = heap_take(h);
		/* Misses that had ended when the region began do not count. */
		if (miss_end(&m) > s->clusters[0].region)
			take_miss(s, &m);
	}
}

static void settle(struct spectrum *s)
{
	for (unsigned k = 0; k < CLUSTERINGS; k++)
		clusters_settle(&s->clusters[k]);
	take_misses(s, UINT64_MAX, false);
}

static bool spectrum_misses(void *state, const struct rec_miss *misses, size_t count, struct err *e)
{
	struct spectrum *s = state;
	for (size_t i = 0; i < count; i++) {
		const struct rec_miss *m = &misses[i];
		if (m->kind >= MISS_KINDS || !m->end)
			return err_set(e, "a miss in cycle %llu has kind %u and takes %u cycles",
				       (unsigned long long)m->begin, m->kind, m->end);
		if (s->kinds >> m->kind & 1)
			heap_put(&s->heap, m);
		else
			s->heap.settled = max_u64(s->heap.settled, miss_settled(m));
	}
	return true;
}

/* ---- instructions ---- */

/* Gives instructions of the run that wait their twin's stamps; *taken: how many stamps are used up,
 * also those from outside of the region. */
static bool pair(struct spectrum *s, const struct rec_twin *twins, size_t count, size_t *taken,
		 struct err *e)
{
	size_t i = 0;
	while (s->stamps.end < s->stamps.ahead && i < count) {
		if (twins[i].po < s->stamps.end) {
			i++; /* outside of the region */
			continue;
		}

		const size_t both = min_u64(s->stamps.ahead - s->stamps.end, count - i);
		const size_t n = stamps_twin(&s->stamps, twins + i, min_u64(both, SETTLE_EVERY));
		if (!n)
			return err_set(e, "the twin has no record of instruction %llu",
				       (unsigned long long)s->stamps.end);
		i += n;
		settle(s);
	}
	*taken = i;
	return true;
}

/* Pairs instructions with their twin's stamps, as far as both have come. */
static bool join(struct spectrum *s, struct err *e)
{
	struct queue *q = &s->twins;
	size_t taken;
	/* no arithmetic with a queue that never had an entry */
	const struct rec_twin *first = q->at ? q->at + q->first : NULL;

	if (!pair(s, first, q->end - q->first, &taken, e))
		return false;
	q->first += taken;
	return s->stamps.ahead - s->stamps.end <= QUEUE_MAX ||
	       err_set(e, "the run is more than %u instructions ahead of its twin", QUEUE_MAX);
}

static bool spectrum_twins(void *state, const struct rec_twin *twins, size_t count, struct err *e)
{
	struct spectrum *s = state;
	struct queue *q = &s->twins;
	size_t taken = 0;
	/* Most instructions are there already: nothing to keep. */
	if (q->first == q->end && !pair(s, twins, count, &taken, e))
		return false;
	if (taken < count) {
		queue_room(q, count - taken);
		memcpy(q->at + q->end, twins + taken, (count - taken) * sizeof(*twins));
		q->end += count - taken;
	}
	return q->end - q->first <= QUEUE_MAX ||
	       err_set(e, "the twin is more than %u instructions ahead of the run", QUEUE_MAX);
}

static bool end_region(struct spectrum *s, struct err *e)
{
	if (!s->inside)
		return true;
	if (!join(s, e))
		return false;
	if (s->stamps.end < s->stamps.ahead)
		return err_set(e, "the twin has no record of instruction %llu",
			       (unsigned long long)s->stamps.end);
	take_misses(s, s->end_cycle, true);
	s->inside = false;
	for (unsigned k = 0; k < CLUSTERINGS; k++) {
		const struct clusters *c = &s->clusters[k];
		clusters_end(&s->clusters[k], s->end_cycle);
		if (c->net + c->drift + c->head + c->tail != c->adder)
			return err_set(e, "costs do not add up to the adder of %lld cycles",
				       (long long)c->adder);
	}
	return true;
}

static void begin_region(struct spectrum *s, uint64_t cycle, uint64_t po)
{
	s->inside = true;
	s->next_po = po;
	stamps_begin(&s->stamps, po);
	for (unsigned k = 0; k < CLUSTERINGS; k++)
		clusters_begin(&s->clusters[k], cycle);
}

static const struct rec_inst *first_committed(const struct rec_inst *insts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (insts[i].flags & RI_COMMITTED)
			return &insts[i];
	return NULL;
}

/* stamps: the records are made for WANT_STAMPS, and only their first cache line is to be read. */
static inline bool take_stamps(struct spectrum *s, const struct rec_inst *insts, size_t count,
			       bool stamps, struct err *e)
{
	for (const struct rec_inst *r = insts, *end = insts + count; r < end; r++) {
		if (stamps)
			__builtin_prefetch(r + AHEAD, 0);
		if (!(r->flags & RI_COMMITTED))
			continue;
		if (unlikely(r->po != s->stamps.ahead))
			return err_set(e, "instruction %llu comes where %llu was expected",
				       (unsigned long long)r->po,
				       (unsigned long long)s->stamps.ahead);
		assert(stamps == !!(r->flags & RI_STAMPS));
		stamps_run(&s->stamps, r->fetch + (stamps ? 0 : r->dispatch), r->fetch + r->commit);
	}
	return true;
}

/* The run's stamps of the instructions that committed; first is the first of them, or NULL. */
static bool take_insts(struct spectrum *s, const struct rec_inst *insts, size_t count,
		       const struct rec_inst *first, struct err *e)
{
	const uint64_t from = s->stamps.ahead;
	stamps_room(&s->stamps, count);
	if (!(first && first->flags & RI_STAMPS ? take_stamps(s, insts, count, true, e)
						: take_stamps(s, insts, count, false, e)))
		return false;
	s->insts_seen += s->stamps.ahead - from;
	s->next_po = s->stamps.ahead;
	return true;
}

static bool spectrum_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			   const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct spectrum *s = state;
	const struct rec_inst *first = first_committed(insts, ninsts);
	if (s->inside &&
	    ((ncycles && cycles[0].cycle != s->end_cycle) ||
	     (first && s->insts_seen && first->po != s->next_po)) &&
	    !end_region(s, e))
		return false;
	if (!s->inside && (ncycles || first)) {
		begin_region(s, ncycles ? cycles[0].cycle : first->fetch, first ? first->po : 0);
		s->insts_seen = 0;
	}
	if (first && !s->insts_seen)
		stamps_begin(&s->stamps, first->po);
	if (!take_insts(s, insts, ninsts, first, e))
		return false;
	for (size_t i = 0; i < ncycles; i++)
		s->cycles += cycles[i].repeat;
	if (ncycles)
		s->end_cycle = cycles[ncycles - 1].cycle + cycles[ncycles - 1].repeat;
	return join(s, e);
}

/* ---- the analysis ---- */

static void add_level(struct spectrum *s, uint8_t level, uint32_t latency)
{
	if (!latency || latency <= s->meta.l1d_latency)
		return;
	s->level[s->nlevels] = level;
	s->latency[s->nlevels++] = latency - s->meta.l1d_latency;
}

static bool parse_kinds(struct spectrum *s, const char *given, struct err *e)
{
	char *copy = x_strdup(given), *rest = copy, *word;
	bool ok = true;
	s->kinds = 0;
	while (ok && (word = strsep(&rest, "+"))) {
		struct nearest near = { .word = word };
		unsigned k = 0;
		for (; k < MISS_KINDS && strcmp(word, words_misses[k].name); k++)
			nearest_try(&near, words_misses[k].name);
		if (k < MISS_KINDS)
			s->kinds |= 1u << k;
		else
			ok = err_set(
			    e,
			    "spectrum.kinds: there are no misses of kind '%s'; the nearest is '%s'",
			    word, near.best ? near.best : words_misses[0].name);
	}
	free(copy);
	return ok;
}

static bool parse_number(const struct analysis_options *o, const char *name, uint64_t most,
			 uint64_t *value, struct err *e)
{
	const char *given = analysis_given(o, name);
	return !given || number_parse(given, &(struct number_range){ .max = most }, value) ||
	       err_set(e, "%s: '%s' is not a number from 0 to %llu", name, given,
		       (unsigned long long)most);
}

/* Whether the run's own caches and TLBs are perfect. */
static bool is_perfect(const struct trace_info *info)
{
	const uint32_t all = IDEAL_DMISS | IDEAL_IMISS | IDEAL_DTLB | IDEAL_ITLB;
	return info && info->machine && (info->machine->ideal_all & all) == all;
}

static bool spectrum_start(void *state, const struct trace_meta *meta,
			   const struct analysis_options *o, struct err *e)
{
	struct spectrum *s = state;
	const char *kinds = analysis_given(o, "spectrum.kinds");
	const uint32_t recovery =
	    (uint32_t)analysis_number(o, "spectrum.recovery", SPECTRUM_RECOVERY) *
	    meta->rob_entries;
	uint64_t sample = SAMPLE_DEFAULT, seed = 0;
	s->meta = *meta;
	s->kinds = (1u << MISS_KINDS) - 1;
	if (kinds && !parse_kinds(s, kinds, e))
		return false;
	if (!parse_number(o, "spectrum.sample", SAMPLE_MOST, &sample, e) ||
	    !parse_number(o, "spectrum.seed", UINT64_MAX, &seed, e))
		return false;
	if (is_perfect(o->info))
		return err_set(e, "the run's own caches and TLBs are perfect: it has no misses; "
				  "run it without --set ideal.…=on");
	add_level(s, LEVEL_L2, meta->l2_latency);
	add_level(s, LEVEL_LLC, meta->llc_latency);
	add_level(s, LEVEL_MEM, meta->mem_latency);
	if (!s->nlevels)
		return err_set(e, "this machine has no level beyond its L1 caches");
	const uint64_t during = 16ull * meta->mem_latency * meta->commit_width;
	const uint64_t kept = max_u64(STAMPS_MIN, during + 4ull * meta->rob_entries);
	stamps_init(&s->stamps, (size_t)min_u64(kept, STAMPS_MAX));
	for (unsigned k = 0; k < CLUSTERINGS; k++)
		clusters_init(&s->clusters[k], &s->stamps, recovery);
	samples_init(&s->samples, (size_t)sample, seed);
	s->clusters[CLUSTERS_ALL].samples = &s->samples;
	return true;
}

static bool spectrum_finish(void *state, struct store *store, struct err *e)
{
	struct spectrum *s = state;
	return end_region(s, e) && (!store || spectrum_store(s, store, e));
}

static void spectrum_free(void *state)
{
	struct spectrum *s = state;
	for (unsigned k = 0; k < CLUSTERINGS; k++)
		clusters_free(&s->clusters[k]);
	samples_free(&s->samples);
	stamps_free(&s->stamps);
	free(s->twins.at);
	free(s->heap.at);
}

static const struct analysis_param params[] = {
	{ .name = "spectrum.recovery",
	  .help = "ROBs that a cluster's recovery lasts at most; 4 by default",
	  .number = true,
	  .range = { .max = 16 } },
	{ .name = "spectrum.kinds", .help = "which misses count, as load+store+…; all by default" },
	{ .name = "spectrum.sample",
	  .help = "clusters to keep with their misses, for `culprit spectrum --verify`; 256 by "
		  "default" },
	{ .name = "spectrum.seed", .help = "which clusters these are; 0 by default" },
	{ .name = NULL },
};

const struct analysis spectrum_analysis = {
	.name = "spectrum",
	.summary = "what every cluster of cache misses cost, against a twin with perfect caches",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_MISSES | WANT_TWIN | WANT_STAMPS,
	.params = params,
	.tables = (const struct analysis_table[]){ { "spectrum_load", NULL }, { NULL, NULL } },
	.state_size = sizeof(struct spectrum),
	.start = spectrum_start,
	.misses = spectrum_misses,
	.twins = spectrum_twins,
	.batch = spectrum_batch,
	.finish = spectrum_finish,
	.free = spectrum_free,
};
