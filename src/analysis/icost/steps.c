/* SPDX-License-Identifier: MIT */
/*
 * Turns edges into steps. What is the same in every lane is worked out here, once: which rows an
 * instruction reads and writes, and what its parts add in each lane. A sum of parts is a row too (a
 * delay). Few of them differ, so they are kept: single small parts in a table, the parts of an
 * execution in a cache. An entry of the cache stays as long as a step of the batch needs it; if one
 * would have to be replaced, the batch ends.
 *
 * Times cannot overflow: a node is at most the latest time so far plus everything that the
 * instruction's edges add, so the sum of these bounds the growth of a batch. F changes only at
 * heads, so only they add the depth of the front end.
 */
#include <assert.h>
#include <string.h>

#include "analysis/icost/graph_int.h"
#include "util/util.h"

void graph_forget_delays(struct graph *g)
{
	memset(g->delay, 0, sizeof(g->delay));
	memset(g->single, 0, sizeof(g->single));
	g->nsingles = 0;
}

/* Sets each time to[k] of a row, in a block of lanes, to x. */
#define EACH_LANE(g, lane, row, x)                                                                 \
	if ((g)->width == BROAD) {                                                                 \
		uint32_t *const to = graph_row(g, lane, row);                                      \
		for (unsigned k = 0; k < GRAPH_BLOCK; k++)                                         \
			to[k] = (uint32_t)(x);                                                     \
	} else {                                                                                   \
		uint16_t *const to = graph_row(g, lane, row);                                      \
		for (unsigned k = 0; k < GRAPH_BLOCK; k++)                                         \
			to[k] = (uint16_t)(x);                                                     \
	}

static void add_part(const struct graph *g, unsigned lane, unsigned row, struct graph_part p)
{
	const bool *const counts = &g->counts[p.category][lane];
	if (!p.cycles)
		return;
	EACH_LANE(g, lane, row, to[k] + (counts[k] ? p.cycles : 0u))
}

static void fill(const struct graph *g, unsigned lane, unsigned row, uint32_t value)
{
	EACH_LANE(g, lane, row, value)
}

static void at_least(const struct graph *g, unsigned lane, unsigned row, uint32_t value)
{
	EACH_LANE(g, lane, row, to[k] > value ? to[k] : value)
}

static void copy(const struct graph *g, unsigned lane, unsigned to, unsigned from)
{
	memcpy(graph_row(g, lane, to), graph_row(g, lane, from),
	       (size_t)GRAPH_BLOCK * (g->width == BROAD ? 4 : 2));
}

/* The cache entry for a key, kept for this batch; *known: the entry has the key already. NULL: the
 * batch must end. */
static inline struct graph_delay *delay_for(struct graph *g, const uint64_t key[3], bool *known)
{
	const uint64_t h = (key[0] * 0x9e3779b97f4a7c15ull ^ key[1] * 0xc2b2ae3d27d4eb4full) +
			   key[2] * 0x165667b19e3779f9ull;
	const unsigned home = (unsigned)(h >> 48);
	struct graph_delay *d;
	for (unsigned k = 0; k < GRAPH_PROBES; k++) {
		d = &g->delay[(home + k) % GRAPH_DELAYS];
		if (likely(!((d->key[0] ^ key[0]) | (d->key[1] ^ key[1]) | (d->key[2] ^ key[2])))) {
			d->batch = g->batches;
			*known = true;
			return d;
		}
	}
	*known = false;
	for (unsigned k = 0; k < GRAPH_PROBES; k++) {
		d = &g->delay[(home + g->next_probe++ % GRAPH_PROBES) % GRAPH_DELAYS];
		if (d->batch != g->batches || !d->key[2]) {
			d->batch = g->batches;
			return d;
		}
	}
	return NULL;
}

/* Fills in the rows of a new entry. */
static void add_up(const struct graph *g, struct graph_delay *d, uint16_t ep,
		   const struct graph_part parts[GRAPH_EP_PARTS], struct graph_part wake)
{
	const unsigned row = g->rows.delays + 3 * (unsigned)(d - g->delay);
	d->to_p = d->to_c = d->to_dst = (uint16_t)row;
	if (ep < g->config.commit_latency)
		d->to_c = (uint16_t)(row + 1);
	if (wake.cycles)
		d->to_dst = (uint16_t)(row + 2);
	for (unsigned lane = 0; lane < GRAPH_LANES; lane += GRAPH_BLOCK) {
		fill(g, lane, row, ep);
		for (unsigned k = 0; k < GRAPH_EP_PARTS && parts[k].cycles; k++)
			add_part(g, lane, row, parts[k]);
		if (d->to_c != row) {
			copy(g, lane, d->to_c, row);
			at_least(g, lane, d->to_c, g->config.commit_latency);
		}
		if (d->to_dst != row) {
			copy(g, lane, d->to_dst, row);
			add_part(g, lane, d->to_dst, wake);
		}
	}
}

#define PART_KEY 0x00ffffff00ffffffull /* of two parts, without padding */
#define USED	 (1ull << 63)

/* The delays of an execution: ep and its parts, plus `wake` in to_dst; to_c has at least the commit
 * latency. NULL: the batch must end. */
static inline const struct graph_delay *delays(struct graph *g, uint16_t ep,
					       const struct graph_part parts[GRAPH_EP_PARTS],
					       struct graph_part wake)
{
	uint64_t key[3], two[2];
	uint32_t wakes;
	memcpy(two, parts, sizeof(two));
	memcpy(&wakes, &wake, sizeof(wakes));
	key[0] = two[0] & PART_KEY;
	key[1] = two[1] & PART_KEY;
	key[2] = (wakes & (uint32_t)PART_KEY) | (uint64_t)ep << 32 | USED;
	bool known;
	struct graph_delay *d = delay_for(g, key, &known);
	if (likely(known) || !d)
		return d;
	uint32_t most = ep + wake.cycles;
	for (unsigned k = 0; k < GRAPH_EP_PARTS && parts[k].cycles; k++)
		most += parts[k].cycles;
	d->key[2] = 0;
	if (most > GRAPH_LIMIT(g->width)) /* 16-bit lanes cannot hold the sum */
		return NULL;
	memcpy(d->key, key, sizeof(d->key));
	d->most = most;
	add_up(g, d, ep, parts, wake);
	return d;
}

/* The row for a part with cycles that does not belong to an execution. False: the batch must end. */
static bool part_row(struct graph *g, struct graph_part p, uint16_t *row)
{
	if (likely(p.cycles < GRAPH_SMALL)) {
		uint16_t *r = &g->single[p.category][p.cycles];
		*row = *r;
		if (likely(*r))
			return true;
		if (g->nsingles < GRAPH_SINGLES) {
			*row = *r = (uint16_t)(g->rows.singles + g->nsingles++);
			for (unsigned lane = 0; lane < GRAPH_LANES; lane += GRAPH_BLOCK) {
				fill(g, lane, *r, 0);
				add_part(g, lane, *r, p);
			}
			return true;
		}
	}
	const struct graph_part parts[GRAPH_EP_PARTS] = { p };
	const struct graph_delay *d = delays(g, 0, parts, (struct graph_part){ 0 });
	if (d)
		*row = d->to_p;
	return d;
}

/* The row for the sum of up to three parts, any of which may be empty. */
static bool parts_row(struct graph *g, const struct graph_part *p, unsigned n, uint16_t *row)
{
	unsigned used = 0, at = 0;
	for (unsigned k = 0; k < n; k++)
		if (p[k].cycles) {
			used++;
			at = k;
		}
	*row = 0;
	if (likely(used <= 1))
		return !used || part_row(g, p[at], row);
	struct graph_part parts[GRAPH_EP_PARTS] = { 0 };
	used = 0;
	for (unsigned k = 0; k < n; k++)
		if (p[k].cycles)
			parts[used++] = p[k];
	const struct graph_delay *d = delays(g, 0, parts, (struct graph_part){ 0 });
	if (d)
		*row = d->to_p;
	return d;
}

/* ---- from edges to steps ---- */

/* What the steps of a batch have in common. */
struct batch {
	struct graph *graph;
	uint32_t growth; /* the most that the present instruction can add to the latest time */
};

/* The latency of an edge: how much it can add, and where a kernel finds it. False: the batch must
 * end before the instruction. */
static inline bool put_fixed(struct batch *b, uint32_t cycles)
{
	b->growth += cycles;
	return true;
}

static inline bool put_cycles(struct batch *b, uint16_t cycles, uint16_t *to)
{
	b->growth += cycles;
	*to = cycles;
	return true;
}

static inline bool put_part(struct batch *b, struct graph_part p, uint16_t *row)
{
	b->growth += p.cycles;
	*row = 0;
	return !p.cycles || part_row(b->graph, p, row);
}

static inline bool put_parts(struct batch *b, const struct graph_part *p, unsigned n, uint16_t *row)
{
	for (unsigned k = 0; k < n; k++)
		b->growth += p[k].cycles;
	return parts_row(b->graph, p, n, row);
}

static inline bool put_execution(struct batch *b, const struct graph_inst *restrict in,
				 struct graph_step *restrict s)
{
	const struct graph_delay *d = delays(b->graph, in->ep, in->ep_part, in->wake);
	if (!d)
		return false;
	b->growth += d->most;
	s->to_p = d->to_p;
	s->to_c = d->to_c;
	s->to_dst = d->to_dst;
	return true;
}

/* The most cycles that an execution has in any lane. */
static inline uint32_t execution_most(const struct graph_inst *in)
{
	uint32_t most = in->ep;
	for (unsigned k = 0; k < GRAPH_EP_PARTS && in->ep_part[k].cycles; k++)
		most += in->ep_part[k].cycles;
	return most;
}

/* Notes a slot that is written: V may be any time after C, other nodes by their result's latency. */
static inline void note_result(struct graph *g, enum graph_node node, uint16_t slot,
			       uint32_t cycles)
{
	if (node == NODE_V)
		g->ports[slot / 64] |= 1ull << slot % 64;
	else if (unlikely(cycles > g->wake))
		g->wake = cycles;
}

/* The rows of edges.def as statements; `name` says which members of the step they fill in. */
#define FROM_BACK_C(x) rows->c + (((uint32_t)i - (x)) & c_mask)
#define FROM_BACK_E(x) rows->e + (((uint32_t)i - (x)) & c_mask)
#define FROM_NEXT_D(x) rows->d + (((uint32_t)i - (x)) & GRAPH_D_MASK)
#define FROM_GRAIN_D(x)                                                                            \
	rows->d_grain + ((i - (x) - (GRAPH_GRAIN - 1)) / GRAPH_GRAIN & GRAPH_D_GRAIN_MASK)
#define FROM_GRAIN_C(x) rows->c_grain + ((i - (x)) / GRAPH_WIN_GRAIN & graph->c_grain_mask)
#define FROM_SLOT(x)	(x)

#define PUT_NONE	    true
#define PUT_ONE		    put_fixed(b, 1)
#define PUT_MACHINE(member) put_fixed(b, g->member)
#define PUT_CYCLES(x)	    put_cycles(b, x
#define PUT_IN_PART(x)	    put_part(b, x
#define PUT_IN_PARTS(x, n)  put_parts(b, x, n
#define PUT_EXECUTION put_execution(b, in, s)
#define TO_NONE(name)
#define TO_ONE(name)
#define TO_EXECUTION(name)
#define TO_MACHINE(member) TO_NONE
#define TO_CYCLES(x)	   TO_MEMBER_CYCLES
#define TO_IN_PART(x)	   TO_MEMBER_DELAY
#define TO_IN_PARTS(x, n)  TO_MEMBER_DELAY
#define TO_MEMBER_CYCLES(name) , &s->name##_cycles)
#define TO_MEMBER_DELAY(name)  , &s->name##_delay)
#define AMOUNT_NONE	  0
#define AMOUNT_CYCLES(x)  x
#define AMOUNT_IN_PART(x) x.cycles
#define PUT_LATENCY(name, latency)                                                                 \
	if (!(PUT_##latency TO_##latency(name)))                                                   \
		return false;

#define MASK_NEVER(name)
#define MASK_BW(name)
#define MASK_WIN(name)
#define MASK_BW_WIN(name)
#define MASK_NOT_WIN(name)
#define MASK_BY(category)                                                                          \
	const unsigned mask = category;                                                            \
	MASK_MEMBER
#define MASK_MEMBER(name) s->name##_mask = (uint16_t)(rows->masks + mask);

/* The conditions under which a row is mapped. Mapping zeros costs less than a branch here, too. */
#define IF_ALWAYS      if (true)
#define IF_ZEROS(cond) if (true)
#define IF_FLAG(cond)  if (cond)
#define IF_RARE(cond)  if (unlikely(cond))
#define IF_PERSISTS    if (true)
#define IF_PACKET      if (in->flags & GRAPH_HEAD) /* else F does not move */
#define IF_FUSED       if (true)
#define FLAG_ALWAYS(name)
#define FLAG_PERSISTS(name)
#define FLAG_PACKET(name)
#define FLAG_FUSED(name)
#define FLAG_ZEROS(cond) FLAG_ALWAYS
#define FLAG_FLAG(cond)	 flags |= (cond) ? STEP_OR_0
#define FLAG_RARE(cond)	 FLAG_FLAG(cond)
#define STEP_OR_0(name)	 STEP(name) : 0;
/* Whether copying the source is cheaper than asking whether the row holds. */
#define COPIED_SLOT(x)	    true
#define COPIED_BACK_C(x)    false
#define COPIED_BACK_E(x)    false
#define COPIED_NEXT_D(x)    false
#define COPIED_GRAIN_D(x)   false
#define COPIED_GRAIN_C(x)   false
#define IS_RARE_ALWAYS	    false
#define IS_RARE_ZEROS(cond) false
#define IS_RARE_FLAG(cond)  false
#define IS_RARE_RARE(cond)  true
#define MUST_ALWAYS	    true
#define MUST_ZEROS(cond)    true
#define MUST_FLAG(cond)	    (cond)
#define MUST_RARE(cond)	    (cond)
/* Nodes whose rows only few instructions have. */
#define MAPS_F HAS_F
#define MAPS_D true
#define MAPS_V HAS_V
#define MAPS_R true
#define MAPS_E true
#define MAPS_B unlikely(in->late | in->written)
#define MAPS_P true
#define MAPS_C true

static inline bool step(struct batch *b, const struct graph_inst *restrict in, uint64_t i,
			struct graph_step *restrict s)
{
	struct graph *const graph = b->graph;
	const struct graph_config *const g = &graph->config;
	const struct graph_rows *const rows = &graph->rows;
	const uint32_t c_mask = graph->c_mask;
	unsigned flags = (in->flags & GRAPH_HEAD ? STEP(F) : 0) | (in->port ? STEP(V) : 0);
	b->growth = 1; /* of NEXT_D */
	assert(in->cd_wait.cycles <= GRAPH_WAIT_MAX && in->drain.cycles <= GRAPH_WAIT_MAX);
#define NODE(n) if (MAPS_##n) {
#define END(n)	}
#define NEAR(name, n, at, latency, removed, when, blame)                                           \
	IF_##when                                                                                  \
	{                                                                                          \
		FLAG_##when(name) PUT_LATENCY(name, latency) MASK_##removed(name)                  \
	}
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	if ((COPIED_##at && !IS_RARE_##when) || MUST_##when) {                                     \
		FLAG_##when(name) s->name = HOLDS_##when ? (uint16_t)(FROM_##at) : 0;              \
		flags |= NODE_##n == NODE_P && HOLDS_##when ? STEP(P) : 0;                         \
		PUT_LATENCY(name, latency) MASK_##removed(name)                                    \
	}
#define LIMITED(name, n, at, latency, removed, when, blame, limit, forward)                        \
	IF_##when                                                                                  \
	{                                                                                          \
		FLAG_##when(name) s->name = (uint16_t)(FROM_##at);                                 \
		PUT_LATENCY(name, latency) MASK_##removed(name) s->name##_limit = limit;           \
		flags |= (forward) ? STEP(FORWARD) : 0;                                            \
	}
/* The load's execution is there twice: the flush waits until it is over. */
#define OVERTAKES(name, n, at, when)                                                               \
	IF_##when                                                                                  \
	{                                                                                          \
		FLAG_##when(name) s->name = (uint16_t)(FROM_##at);                                 \
		b->growth +=                                                                       \
		    1 + g->order_flush + g->depth + g->dispatch_latency + execution_most(in);      \
	}
#define OWN(n, latency, when) IF_##when{ FLAG_##when(n##_own) PUT_LATENCY(n##_own, latency) }
#define RESULT(slot, n, latency, when)                                                             \
	IF_##when                                                                                  \
	{                                                                                          \
		FLAG_##when(slot) s->slot = HOLDS_##when ? in->slot : rows->unread;                \
		flags |= HOLDS_##when && IS_ZEROS_##when ? STEP(P) : 0;                            \
		note_result(graph, NODE_##n, in->slot, AMOUNT_##latency);                          \
		PUT_LATENCY(slot, latency)                                                         \
	}
#define IS_ZEROS_ALWAYS	     false
#define IS_ZEROS_FLAG(cond)  false
#define IS_ZEROS_RARE(cond)  false
#define IS_ZEROS_ZEROS(cond) true
#include "analysis/icost/edges.def"
	s->d = (uint16_t)(rows->d + (i & GRAPH_D_MASK));
	s->e = (uint16_t)(rows->e + (i & c_mask));
	s->c = (uint16_t)(rows->c + (i & c_mask));
	if (i % GRAPH_GRAIN == GRAPH_GRAIN - 1) {
		flags |= STEP(D_GRAIN);
		s->d_grain = (uint16_t)(rows->d_grain + (i / GRAPH_GRAIN & GRAPH_D_GRAIN_MASK));
	}
	if (i % GRAPH_WIN_GRAIN == GRAPH_WIN_GRAIN - 1) {
		flags |= STEP(C_GRAIN);
		s->c_grain =
		    (uint16_t)(rows->c_grain + (i / GRAPH_WIN_GRAIN & graph->c_grain_mask));
	}
	s->flags = flags;
	return true;
}

size_t graph_steps(struct graph *g, const struct graph_inst *in, size_t count, uint64_t *growth)
{
	const uint64_t room = GRAPH_LIMIT(g->width) - g->highest;
	const size_t most = min_u64(count, GRAPH_BATCH);
	struct batch b = { .graph = g };
	uint64_t sum = 0;
	size_t n = 0;
	g->batches++;
	for (; n < most; n++) {
		if (!step(&b, &in[n], g->count + n, &g->steps[n]) || sum + b.growth > room)
			break;
		sum += b.growth;
		if (n && in[n].flags & GRAPH_PD)
			g->steps[n - 1].flags |= STEP(P_KEPT);
	}
	if (n)
		g->steps[n - 1].flags |= STEP(P_KEPT);
	*growth = sum;
	return n;
}
