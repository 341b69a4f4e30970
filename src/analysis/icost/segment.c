/* SPDX-License-Identifier: MIT */
/*
 * Solves a segment in three walks. Forwards: the times of all nodes, as the graph has them in lane
 * 0, and the instruction that each edge comes from. Backwards: the latest time of each node that
 * does not delay the last commit; the difference is the node's global slack (fields2002). Local
 * slack is how late a node can be without delaying any other node. Finally along the longest path,
 * from the last commit to the first fetch: each of its cycles goes to an instruction and a kind.
 *
 * A segment starts with an empty machine: it does not know what was in flight before.
 */
#include "analysis/icost/segment.h"

#include <string.h>

#include "util/util.h"

#define FAR (INT64_MAX / 4)

enum cost_kind segment_kind_of(unsigned category)
{
	static const uint8_t kind[CAT_COUNT] = {
#define BASE(id, kind)		  KIND_##kind,
#define DERIVED(id, kind, counts) KIND_##kind,
#include "analysis/icost/categories.def"
#undef BASE
#undef DERIVED
	};
	return category < CAT_COUNT ? kind[category] : KIND_BANDWIDTH;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void sooner(int64_t *into, int64_t t)
{
	if (t < *into)
		*into = t;
}

static inline int64_t cycles_of(const struct graph_part *p, unsigned n)
{
	int64_t sum = 0;
	for (unsigned k = 0; k < n; k++)
		sum += p[k].cycles && graph_counts(p[k].category, 0) ? p[k].cycles : 0;
	return sum;
}

/* Where an edge comes from: an instruction (below 0: before the segment), its node, and the cycles
 * that are added to the node's time. */
struct source {
	int64_t i;
	enum graph_node node;
	int64_t cycles;
};

static inline int64_t time_of(const struct segment *s, struct source from)
{
	return s->node[from.i].t[from.node] + from.cycles;
}

/* ---- the rows of edges.def as code, for the real machine (lane 0) ---- */

#define CYCLES_NONE	      0
#define CYCLES_ONE	      1
#define CYCLES_CYCLES(x)      (x)
#define CYCLES_MACHINE(m)     (int64_t) g->m
#define CYCLES_IN_PART(x)     cycles_of(&x, 1)
#define CYCLES_IN_PARTS(x, n) cycles_of(x, n)
#define CYCLES_EXECUTION      (in->ep + cycles_of(in->ep_part, GRAPH_EP_PARTS))

#define REAL_NEVER   true
#define REAL_BW	     true
#define REAL_WIN     true
#define REAL_BW_WIN  true
#define REAL_NOT_WIN false
#define REAL_BY(c)   graph_counts(c, 0)

/* The instruction that an edge comes from. */
#define INDEX_BACK_C(x)	 i - (int64_t)(x)
#define INDEX_BACK_E(x)	 i - (int64_t)(x)
#define INDEX_NEXT_D(x)	 i - (int64_t)(x)
#define INDEX_GRAIN_D(x) (i - (int64_t)(x) + 1) / GRAPH_GRAIN *GRAPH_GRAIN - 1
#define INDEX_GRAIN_C(x) -1
#define INDEX_SLOT(x)	 writer[x]
/* The node that it comes from, of the instruction j. */
#define FROM_BACK_C(x)	    ((struct source){ j, NODE_C, 0 })
#define FROM_BACK_E(x)	    ((struct source){ j, NODE_E, 0 })
#define FROM_NEXT_D(x)	    ((struct source){ j, NODE_D, 1 })
#define FROM_GRAIN_D(x)	    ((struct source){ j, NODE_D, 0 })
#define FROM_GRAIN_C(x)	    ((struct source){ j, NODE_C, 0 })
#define FROM_SLOT(x)	    result(s, j, x)
#define FROM_HERE(n)	    ((struct source){ i, NODE_##n, 0 })
#define FROM_BEFORE(n)	    ((struct source){ i - 1, NODE_##n, 0 })
#define FROM_LAST_PACKET(n) ((struct source){ s->node[i].head, NODE_##n, 0 })
/* Instructions before the first head of the segment are fetched at time 0. */
#define FROM_OWN_PACKET(n)                                                                         \
	((struct source){ in->flags & GRAPH_HEAD ? i : later(s->node[i].head, 0), NODE_##n, 0 })

/* The result that instruction i wrote to a slot. */
static inline struct source result(const struct segment *s, int64_t i, unsigned into)
{
	const struct graph_inst *in = &s->in[i];
	struct source r = { -1, NODE_F, 0 };
#define RESULT(slot, n, latency, when)                                                             \
	if (in->slot == into)                                                                      \
		r = (struct source){ i, NODE_##n, CYCLES_##latency };
#include "analysis/icost/edges.def"
	return r;
}

/* The cycles that a node adds to the latest of its edges. */
static inline int64_t own_cycles(const struct graph_inst *in, enum graph_node node)
{
	switch (node) {
#define OWN(n, latency, when)                                                                      \
	case NODE_##n:                                                                             \
		return CYCLES_##latency;
#include "analysis/icost/edges.def"
	default:
		return 0;
	}
}

/* How long a load that is ready at `since` waits for a line that comes at `there`: at most `limit`
 * cycles, the time to fetch the line itself; forward: beyond that not at all, because the store
 * queue has the bytes. */
static inline int64_t limited(int64_t there, int64_t since, int64_t limit, bool forward)
{
	const int64_t wait = later(there - since, 0);
	return since + (wait <= limit ? wait : forward ? 0 : limit);
}

/* ---- forwards: the times of all nodes ---- */

static void forwards(struct segment *s, const struct graph_config *g)
{
	int32_t writer[GRAPH_SLOTS], head = -1;
	memset(writer, -1, sizeof(writer));
	for (int64_t i = 0; i < (int64_t)s->count; i++) {
		const struct graph_inst *const in = &s->in[i];
		s->node[i].head = head;
		s->node[i].t[NODE_F] = 0;
#define NODE(n)                                                                                    \
	if (HAS_##n) {                                                                             \
		int64_t t = 0;
#define NEAR(name, n, at, latency, removed, when, blame)                                           \
	if (HOLDS_##when) {                                                                        \
		const struct source from = FROM_##at;                                              \
		if (from.i >= 0)                                                                   \
			t = later(t, time_of(s, from) + CYCLES_##latency);                         \
	}
#define FIND(name, at, removed, when)                                                              \
	const int64_t j = REAL_##removed && HOLDS_##when ? INDEX_##at : -1;                        \
	s->node[i].name = (int16_t)later(j, -1);
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	{                                                                                          \
		FIND(name, at, removed, when)                                                      \
		if (j >= 0)                                                                        \
			t = later(t, time_of(s, FROM_##at) + CYCLES_##latency);                    \
	}
#define LIMITED(name, n, at, latency, removed, when, blame, limit, forward)                        \
	{                                                                                          \
		FIND(name, at, removed, when)                                                      \
		if (j >= 0)                                                                        \
			t = limited(time_of(s, FROM_##at) + CYCLES_##latency, t, limit, forward);  \
	}
#define OWN(n, latency, when) s->node[i].t[NODE_##n] = t + CYCLES_##latency;
#define END(n)		      }
#include "analysis/icost/edges.def"
#define RESULT(slot, n, latency, when) writer[in->slot] = (int32_t)i;
#include "analysis/icost/edges.def"
		writer[0] = -1; /* the slot of what nobody wants */
		if (in->flags & GRAPH_HEAD)
			head = (int32_t)i;
	}
}

/* ---- backwards: slack ---- */

/* An edge whose source must be there at `by` for the segment not to get longer, and at `at` for its
 * node not to get later. */
static inline void allow(struct segment *s, struct source from, int64_t by, int64_t at)
{
	sooner(&s->node[from.i].latest[from.node], by - from.cycles);
	const int64_t local = later(at - time_of(s, from), 0);
	if (from.node == NODE_P && local < s->inst[from.i].local)
		s->inst[from.i].local = (uint32_t)local;
}

/* The edges into a node of instruction i. */
static inline void allow_into(struct segment *s, const struct graph_config *g, int64_t i,
			      enum graph_node node)
{
	const struct graph_inst *const in = &s->in[i];
	const int64_t own = own_cycles(in, node), by = s->node[i].latest[node] - own,
		      t = s->node[i].t[node] - own;
	switch (node) {
#define NODE(n)                                                                                    \
	case NODE_##n:                                                                             \
		if (HAS_##n) {
#define NEAR(name, n, at, latency, removed, when, blame)                                           \
	if (HOLDS_##when) {                                                                        \
		const struct source from = FROM_##at;                                              \
		if (from.i >= 0)                                                                   \
			allow(s, from, by - (CYCLES_##latency), t - (CYCLES_##latency));           \
	}
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	{                                                                                          \
		const int64_t j = s->node[i].name;                                                 \
		if (j >= 0)                                                                        \
			allow(s, FROM_##at, by - (CYCLES_##latency), t - (CYCLES_##latency));      \
	}
#define LIMITED(name, n, at, latency, removed, when, blame, limit, forward)                        \
	{                                                                                          \
		const int64_t j = s->node[i].name, since = s->node[i].t[NODE_E];                   \
		if (j >= 0 && time_of(s, FROM_##at) + CYCLES_##latency - since <= limit)           \
			allow(s, FROM_##at, by - CYCLES_##latency, t - CYCLES_##latency);          \
		else if (j >= 0 && !(forward))                                                     \
			allow(s, FROM_HERE(E), by - limit, t - limit);                             \
	}
#define END(n)                                                                                     \
	}                                                                                          \
	break;
#include "analysis/icost/edges.def"
	case NODES:
		break;
	}
}

static void backwards(struct segment *s, const struct graph_config *g)
{
	const int64_t n = (int64_t)s->count;
	for (int64_t i = 0; i < n; i++) {
		for (unsigned node = 0; node < NODES; node++)
			s->node[i].latest[node] = FAR;
		s->inst[i].local = UINT32_MAX;
	}
	s->node[n - 1].latest[NODE_C] = s->node[n - 1].t[NODE_C];
	for (int64_t i = n - 1; i >= 0; i--)
		for (unsigned node = NODES; node-- > 0;)
			allow_into(s, g, i, (enum graph_node)node);
	for (int64_t i = 0; i < n; i++) {
		const int64_t slack = s->node[i].latest[NODE_P] - s->node[i].t[NODE_P];
		s->inst[i].slack = (uint32_t)min_u64((uint64_t)later(slack, 0), UINT32_MAX);
	}
}

/* ---- the longest path ---- */

static void give(struct segment *s, int64_t i, enum cost_kind kind, int64_t cycles)
{
	if (cycles > 0)
		s->inst[i].kind_cycles[kind] =
		    clip_u16((uint64_t)s->inst[i].kind_cycles[kind] + (uint64_t)cycles);
}

static void give_parts(struct segment *s, int64_t i, const struct graph_part *p, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (p[k].cycles && graph_counts(p[k].category, 0))
			give(s, i, segment_kind_of(p[k].category), p[k].cycles);
}

static void give_execution(struct segment *s, int64_t i)
{
	const struct graph_inst *in = &s->in[i];
	s->inst[i].critical = true;
	give_parts(s, i, in->ep_part, GRAPH_EP_PARTS);
	give(s, i, KIND_OTHER, in->ep);
}

#define GIVE_NONE
#define GIVE_CYCLES(x)	    give(s, i, KIND_OTHER, x)
#define GIVE_IN_PART(x)	    give_parts(s, i, &x, 1)
#define GIVE_IN_PARTS(x, n) give_parts(s, i, x, n)
#define GIVE_EXECUTION	    give_execution(s, i)

#define BLAME_NOBODY(latency)
#define BLAME_BY_PART(latency) GIVE_##latency
#define BLAME_KIND_HERE(kind)                                                                      \
	give(s, i, kind, cycles);                                                                  \
	BLAME_NOBODY
#define BLAME_KIND_SOURCE(kind)                                                                    \
	give(s, source.i, kind, cycles);                                                           \
	BLAME_NOBODY

/* The node before this one on the longest path; the cycles between them go to instruction and kind. */
static struct source before(struct segment *s, const struct graph_config *g, int64_t i,
			    enum graph_node node)
{
	const struct graph_inst *const in = &s->in[i];
	const int64_t t = s->node[i].t[node] - own_cycles(in, node);
	switch (node) {
#define OWN(n, latency, when)                                                                      \
	case NODE_##n:                                                                             \
		GIVE_##latency;                                                                    \
		break;
#include "analysis/icost/edges.def"
	case NODES:
		break;
	}
	switch (node) {
#define NODE(n)                                                                                    \
	case NODE_##n:                                                                             \
		if (HAS_##n) {
#define TAKE(source_is, latency, blame)                                                            \
	const struct source source = source_is;                                                    \
	const int64_t cycles = source.cycles + CYCLES_##latency;                                   \
	if (source.i >= 0 && t == s->node[source.i].t[source.node] + cycles) {                     \
		const struct graph_inst *const from = &s->in[source.i];                            \
		(void)from;                                                                        \
		BLAME_##blame(latency);                                                            \
		return source;                                                                     \
	}
#define NEAR(name, n, at, latency, removed, when, blame)                                           \
	if (HOLDS_##when) {                                                                        \
		TAKE(FROM_##at, latency, blame)                                                    \
	}
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	if (s->node[i].name >= 0) {                                                                \
		const int64_t j = s->node[i].name;                                                 \
		TAKE(FROM_##at, latency, blame)                                                    \
	}
#define LIMITED(name, n, at, latency, removed, when, blame, limit, forward)                        \
	EDGE(name, n, at, latency, removed, when, blame)                                           \
	if (s->node[i].name >= 0 && t == s->node[i].t[NODE_E] + limit) {                           \
		const struct source source = FROM_HERE(E);                                         \
		const int64_t cycles = limit;                                                      \
		BLAME_##blame(NONE);                                                               \
		return source;                                                                     \
	}
#define END(n)                                                                                     \
	}                                                                                          \
	break;
#include "analysis/icost/edges.def"
	case NODES:
		break;
	}
	return (struct source){ .i = -1 };
}

void segment_solve(struct segment *s, const struct graph_config *config)
{
	if (!s->count)
		return;
	for (size_t i = 0; i < s->count; i++) {
		s->inst[i].critical = false;
		memset(s->inst[i].kind_cycles, 0, sizeof(s->inst[i].kind_cycles));
	}
	forwards(s, config);
	backwards(s, config);
	struct source at = { .i = (int64_t)s->count - 1, .node = NODE_C };
	while (at.i >= 0)
		at = before(s, config, at.i, at.node);
	s->length = (uint64_t)s->node[s->count - 1].t[NODE_C];
}
