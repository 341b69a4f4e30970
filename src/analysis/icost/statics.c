/* SPDX-License-Identifier: MIT */
/*
 * An event is a static instruction and a kind of cycles that could be fixed. In each sampled segment
 * (segment.c), the events with most cycles of the longest path get lanes in a second graph: lane 0
 * is the machine as it is, then one lane with each event idealised, then one with each pair. So one
 * pass through the segment gives the costs of 22 events and of all their pairs, as exactly as those
 * of categories.
 *
 * Memory is bounded: one segment, a table of static instructions and a table of pairs. What does
 * not fit into the tables is left out.
 */
#include "analysis/icost/statics.h"

#include <stdlib.h>
#include <string.h>

#include "util/util.h"

#define EVENTS	   22 /* 1 + 22 + 22 * 21 / 2 = 254 lanes */
#define FIRST_ROW  CAT_COUNT
#define ROWS	   (1u << 16) /* static instructions */
#define PAIRS	   (1u << 14)
#define EVENT_ROWS (4 * SEGMENT_INSTS)
#define GROUPS	   16 /* of segments, before they are twice as large */

_Static_assert(1 + EVENTS + EVENTS * (EVENTS - 1) / 2 <= GRAPH_LANES, "a lane for every pair");
_Static_assert(FIRST_ROW + EVENTS <= GRAPH_MASKS, "a row of masks for every event");

struct row {
	uint64_t pc; /* 0: free */
	uint64_t executions, critical;
	double slack, local; /* sums */
	uint32_t slack_min;
	uint64_t kind_cycles[KIND_COUNT];
	double cost[KIND_FIXABLE];
};

struct event {
	uint64_t pc;
	unsigned kind;
	uint64_t cycles;
};

struct pair {
	struct event a, b; /* a.pc 0: free */
	double icost, cost;
};

struct statics {
	struct graph_config config;
	uint32_t every;	 /* segments of a group at most */
	size_t position; /* in the present segment */
	bool wanted;
	struct rng rng;
	/* Segments form groups, of which one is sampled, by chance, and stands for all. The first groups
	 * are small: a short run has samples, too. */
	uint64_t groups;
	uint32_t size, left, chosen; /* of the present group */
	struct segment *segment;
	struct graph *graph;
	struct row *rows;
	size_t nrows;
	struct pair *pairs;
	size_t npairs;
	struct event *events;	/* scratch: a hash table of EVENT_ROWS */
	uint64_t sampled;	/* instructions */
	uint64_t insts, cycles; /* that the sampled ones stand for */
};

struct statics *statics_new(const struct graph_config *config, uint32_t every)
{
	struct statics *s = x_calloc(1, sizeof(*s));
	bool all[GRAPH_LANES];
	s->config = *config;
	s->config.one_window = s->config.one_width = true;
	s->config.buffer_ideal = 0;
	s->every = every;
	rng_seed(&s->rng, 1);
	if (!every)
		return s;
	s->segment = x_calloc(1, sizeof(*s->segment));
	s->graph = graph_new(&s->config);
	for (unsigned k = 0; k < FIRST_ROW; k++) {
		memset(all, graph_counts(k, 0), sizeof(all));
		graph_set_mask(s->graph, k, all);
	}
	s->rows = x_calloc(ROWS, sizeof(*s->rows));
	s->pairs = x_calloc(PAIRS, sizeof(*s->pairs));
	s->events = x_calloc(EVENT_ROWS, sizeof(*s->events));
	return s;
}

void statics_free(struct statics *s)
{
	if (!s)
		return;
	graph_free(s->graph);
	free(s->segment);
	free(s->rows);
	free(s->pairs);
	free(s->events);
	free(s);
}

/* The row of an instruction; NULL if the table is full. */
static struct row *row_of(struct statics *s, uint64_t pc)
{
	size_t i = hash_u64(pc) % ROWS;
	while (s->rows[i].pc && s->rows[i].pc != pc)
		i = (i + 1) % ROWS;
	if (!s->rows[i].pc) {
		if (s->nrows > ROWS * 3 / 4)
			return NULL;
		s->nrows++;
		s->rows[i].pc = pc;
		s->rows[i].slack_min = UINT32_MAX;
	}
	return &s->rows[i];
}

/* The row of a pair, whichever event comes first; NULL if the table is full. */
static struct pair *pair_of(struct statics *s, const struct event *a, const struct event *b)
{
	if (a->pc > b->pc || (a->pc == b->pc && a->kind > b->kind)) {
		const struct event *t = a;
		a = b;
		b = t;
	}
	size_t i = hash_u64(hash_u64(a->pc * 8 + a->kind) ^ (b->pc * 8 + b->kind)) % PAIRS;
	for (;; i = (i + 1) % PAIRS) {
		struct pair *p = &s->pairs[i];
		if (p->a.pc == a->pc && p->a.kind == a->kind && p->b.pc == b->pc &&
		    p->b.kind == b->kind)
			return p;
		if (p->a.pc)
			continue;
		if (s->npairs > PAIRS * 3 / 4)
			return NULL;
		s->npairs++;
		p->a = *a;
		p->b = *b;
		return p;
	}
}

/* Fills in the events with most cycles of the segment's longest path; returns how many. */
static unsigned choose(struct statics *s, struct event *top)
{
	const struct segment *g = s->segment;
	struct event *table = s->events;
	unsigned n = 0;
	memset(table, 0, EVENT_ROWS * sizeof(*table));
	for (size_t i = 0; i < g->count; i++)
		for (unsigned k = 0; k < KIND_FIXABLE; k++) {
			if (!g->inst[i].kind_cycles[k])
				continue;
			size_t h = hash_u64(g->inst[i].pc * 8 + k) % EVENT_ROWS;
			while (table[h].pc && (table[h].pc != g->inst[i].pc || table[h].kind != k))
				h = (h + 1) % EVENT_ROWS;
			table[h].pc = g->inst[i].pc;
			table[h].kind = k;
			table[h].cycles += g->inst[i].kind_cycles[k];
		}
	for (size_t h = 0; h < EVENT_ROWS; h++) {
		if (!table[h].cycles)
			continue;
		unsigned at = n < EVENTS ? n++ : EVENTS;
		while (at && top[at - 1].cycles < table[h].cycles) {
			if (at < EVENTS)
				top[at] = top[at - 1];
			at--;
		}
		if (at < EVENTS)
			top[at] = table[h];
	}
	return n;
}

/* Gives parts to the chosen events of their instruction. kinds: the set of kinds whose events own
 * such parts; rows: by kind, the event's row of masks. */
static void relabel(struct graph_part *p, unsigned count, unsigned kinds, const uint8_t *rows)
{
	for (unsigned k = 0; k < count; k++) {
		if (!p[k].cycles || !kinds)
			continue;
		const enum cost_kind kind = segment_kind_of(p[k].category);
		if (kinds >> kind & 1 && rows[kind] != CAT_NONE)
			p[k].category = rows[kind];
	}
}

/* Relabels the parts and edges of the chosen events with the events' rows of masks. */
static void label(struct segment *g, const struct event *events, unsigned n)
{
	uint8_t rows[2][KIND_COUNT]; /* rows of masks: [0] of the instruction before, [1] of this */
	memset(rows, CAT_NONE, sizeof(rows));
	for (size_t i = 0; i < g->count; i++) {
		struct graph_inst *in = &g->in[i];
		memcpy(rows[0], rows[1], sizeof(rows[0]));
		memset(rows[1], CAT_NONE, sizeof(rows[1]));
		for (unsigned e = 0; e < n; e++)
			if (events[e].pc == g->inst[i].pc)
				rows[1][events[e].kind] = (uint8_t)(FIRST_ROW + e);
#define ONLY(kind)		   1u << (kind)
#define FIXES_NONE		   0
#define FIXES_ONE(a)		   ONLY(a)
#define FIXES_EITHER(a, b)	   (ONLY(a) | ONLY(b))
#define PART(name, fixes)	   relabel(&in->name, 1, fixes, rows[1]);
#define PARTS(name, count, fixes)  relabel(in->name, count, fixes, rows[1]);
#define OF_BEFORE		   0
#define OF_HERE			   1
#define REMOVER(name, kind, whose) in->name = rows[OF_##whose][kind];
#include "analysis/icost/edges.def"
	}
}

/* Cycles that the segment is shorter in a lane; below zero: a load that is too early there is flushed. */
static double saved(const uint64_t length[GRAPH_LANES], unsigned lane)
{
	return (double)length[0] - (double)length[lane];
}

static void cost_events(struct statics *s)
{
	struct event events[EVENTS];
	uint64_t length[GRAPH_LANES];
	const unsigned n = choose(s, events);
	if (!n)
		return;
	label(s->segment, events, n);
	for (unsigned e = 0; e < n; e++) {
		bool counts[GRAPH_LANES];
		unsigned lane = 1 + n;
		memset(counts, true, sizeof(counts));
		counts[1 + e] = false;
		for (unsigned a = 0; a < n; a++)
			for (unsigned b = a + 1; b < n; b++, lane++)
				if (a == e || b == e)
					counts[lane] = false;
		graph_set_mask(s->graph, FIRST_ROW + e, counts);
	}
	graph_reset(s->graph);
	graph_add(s->graph, s->segment->in, s->segment->count);
	graph_length(s->graph, length);
	const double weight = s->size;
	for (unsigned e = 0; e < n; e++) {
		struct row *r = row_of(s, events[e].pc);
		if (r)
			r->cost[events[e].kind] += weight * saved(length, 1 + e);
	}
	unsigned lane = 1 + n;
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = a + 1; b < n; b++, lane++) {
			const double both = saved(length, lane),
				     icost = both - saved(length, 1 + a) - saved(length, 1 + b);
			struct pair *p = icost != 0 ? pair_of(s, &events[a], &events[b]) : NULL;
			if (p) {
				p->icost += weight * icost;
				p->cost += weight * both;
			}
		}
}

static void finish_segment(struct statics *s)
{
	struct segment *g = s->segment;
	const uint32_t weight = s->size;
	segment_solve(g, &s->config);
	s->sampled += g->count;
	s->insts += weight * g->count;
	s->cycles += weight * g->length;
	for (size_t i = 0; i < g->count; i++) {
		const struct segment_inst *in = &g->inst[i];
		struct row *r = row_of(s, in->pc);
		if (!r)
			continue;
		r->executions += weight;
		r->critical += weight * in->critical;
		r->slack += (double)weight * in->slack;
		r->local += in->local == UINT32_MAX ? 0 : (double)weight * in->local;
		r->slack_min = (uint32_t)min_u64(r->slack_min, in->slack);
		for (unsigned k = 0; k < KIND_COUNT; k++)
			r->kind_cycles[k] += (uint64_t)weight * in->kind_cycles[k];
	}
	cost_events(s);
	g->count = 0;
}

static bool next_is_wanted(struct statics *s)
{
	if (!s->left) {
		s->size = 1u << min_u64(s->groups++ / GROUPS, 31);
		s->size = s->size < s->every ? s->size : s->every;
		s->left = s->size;
		s->chosen = (uint32_t)rng_below(&s->rng, s->size);
	}
	return --s->left == s->chosen;
}

void statics_add(struct statics *s, const uint64_t *pcs, const struct graph_inst *in, size_t count)
{
	if (!s->every)
		return;
	while (count) {
		if (!s->position) {
			s->wanted = next_is_wanted(s);
		}
		const size_t n = min_u64(count, SEGMENT_INSTS - s->position);
		s->position = (s->position + n) % SEGMENT_INSTS;
		if (s->wanted) {
			struct segment *g = s->segment;
			memcpy(g->in + g->count, in, n * sizeof(*in));
			for (size_t i = 0; i < n; i++)
				g->inst[g->count++].pc = pcs[i];
			if (g->count == SEGMENT_INSTS)
				finish_segment(s);
		}
		pcs += n;
		in += n;
		count -= n;
	}
}

static int by_cost(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;
	const double p = a->icost < 0 ? -a->icost : a->icost,
		     q = b->icost < 0 ? -b->icost : b->icost;
	return (p < q) - (p > q);
}

bool statics_store(struct statics *s, struct store *store, const struct statics_tables *to,
		   uint64_t insts, uint64_t cycles, struct err *e)
{
	if (!s->every)
		return true;
	if (s->segment->count && !s->insts) /* a run shorter than a segment */
		finish_segment(s);
	if (!s->insts)
		return true;
	const double by_inst = (double)insts / (double)s->insts,
		     by_cycle = (double)cycles / (double)s->cycles;
	bool ok = true;
	for (size_t i = 0; ok && i < ROWS; i++) {
		const struct row *r = &s->rows[i];
		if (!r->pc)
			continue;
		const double n = (double)r->executions;
		ok = store_insert(store, e, to->instruction, "iddddddddd", (int64_t)r->pc,
				  n * by_inst, (double)r->critical / n, r->slack / n, r->local / n,
				  (double)r->slack_min, r->cost[KIND_MISS] * by_cycle,
				  r->cost[KIND_MISPREDICT] * by_cycle,
				  r->cost[KIND_LATENCY] * by_cycle, r->cost[KIND_IMISS] * by_cycle);
		for (unsigned k = 0; ok && k < KIND_COUNT; k++)
			if (r->kind_cycles[k])
				ok = store_insert(store, e, to->critical, "isd", (int64_t)r->pc,
						  words_kinds[k].name,
						  (double)r->kind_cycles[k] * by_cycle);
	}
	size_t n = 0;
	for (size_t i = 0; i < PAIRS; i++)
		if (s->pairs[i].a.pc)
			s->pairs[n++] = s->pairs[i];
	qsort(s->pairs, n, sizeof(*s->pairs), by_cost);
	for (size_t i = 0; ok && i < n && i < 1000; i++) {
		const struct pair *p = &s->pairs[i];
		ok = store_insert(store, e, to->pair, "isisdd", (int64_t)p->a.pc,
				  words_kinds[p->a.kind].name, (int64_t)p->b.pc,
				  words_kinds[p->b.kind].name, p->cost * by_cycle,
				  p->icost * by_cycle);
	}
	return ok && store_insert(store, e, "run", "sd", to->sampled, (double)s->sampled);
}
