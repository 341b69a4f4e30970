/* SPDX-License-Identifier: MIT */
/*
 * The rows of edges.def for one lane, with a calendar of its issue slots (the lane of CAT_SHALU) or of
 * when its issue queues have entries left (that of CAT_BW).
 *
 * Ready operations issue oldest first. So if each operation in program order takes the first cycle from
 * its own ready time on that has a slot left, all of them issue when the machine's scheduler would
 * issue them: a younger operation never takes a slot from an older one.
 *
 * An instruction enters its queue when it dispatches, which is in order, and leaves it when it executes.
 * So when one dispatches it is known when all that are in the queue leave.
 *
 * Assumed: operations on a wrong path are younger than all that matter here, so they take neither slots
 * nor entries. The window, the front end, units and misses are as in the other lanes.
 */
#include "analysis/icost/lane.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/icost/edges.h"
#include "util/util.h"

#define CALENDAR 4096 /* cycles; one that is as far ahead as this many forgets an older one */
#define PAST_D	 512  /* more than GRAPH_REACH */

/* An issue queue: how many are in it, and when they leave. */
struct queue {
	uint32_t size, used; /* size 0: it is never full */
	uint64_t at;	     /* those that leave before this cycle are not in `used` */
	struct {
		uint32_t leave, last; /* how many leave in that cycle, and the youngest of them */
	} cycle[CALENDAR];
};

struct lane {
	struct graph_config config;
	uint32_t slots;
	bool bw; /* bandwidth is not idealised */
	uint64_t count, start;
	uint64_t last[NODES]; /* of the last instruction; F: of its packet */
	uint64_t slot[GRAPH_SLOTS];
	uint64_t d[PAST_D];
	uint64_t *c, *e; /* rings by instruction number */
	uint64_t mask;
	bool counts[GRAPH_MASKS];
	struct {
		uint32_t cycle, used;
	} calendar[CALENDAR];
	struct queue queue[EDGES_QUEUES];
};

_Static_assert(PAST_D > GRAPH_REACH + GRAPH_GRAIN, "what GRAIN_D reads");

struct lane *lane_new(const struct graph_config *config, unsigned set, uint32_t slots,
		      const uint32_t *entries)
{
	struct lane *l = x_calloc(1, sizeof(*l));
	uint64_t size = 64;
	l->config = *config;
	l->slots = slots;
	l->bw = !(set >> CAT_BW & 1);
	for (unsigned q = 0; entries && q < EDGES_QUEUES; q++)
		l->queue[q].size = entries[q];
	while (size <= max_u64(max_u64(config->window, config->past), config->commit_width) + 1)
		size *= 2;
	l->mask = size - 1;
	l->c = x_calloc(size, sizeof(*l->c));
	l->e = x_calloc(size, sizeof(*l->e));
	for (unsigned k = 0; k < GRAPH_MASKS; k++)
		l->counts[k] = graph_counts(k, set);
	/* numbers start so high that no distance leads below zero; D is never before F + depth */
	l->count = l->start = max_u64(size, PAST_D);
	l->last[NODE_D] = config->depth;
	return l;
}

void lane_free(struct lane *l)
{
	if (!l)
		return;
	free(l->c);
	free(l->e);
	free(l);
}

uint64_t lane_commit(const struct lane *l)
{
	return l->last[NODE_C];
}

/* The first cycle from `ready` on that has a slot left, which is taken. */
static inline uint64_t take_slot(struct lane *l, uint64_t ready)
{
	for (;; ready++) {
		const uint32_t cycle = (uint32_t)ready;
		const uint32_t at = cycle % CALENDAR;
		if (l->calendar[at].cycle != cycle) {
			l->calendar[at].cycle = cycle;
			l->calendar[at].used = 0;
		}
		if (l->calendar[at].used < l->slots) {
			l->calendar[at].used++;
			return ready;
		}
	}
}

/* The first cycle from `t` on in which the queue has room, and the instruction that made it in *by. */
static inline uint64_t enter(struct queue *q, uint64_t t, uint64_t *by)
{
	if (!q->size)
		return t;
	if (t >= q->at + CALENDAR) { /* all have left */
		q->used = 0;
		memset(q->cycle, 0, sizeof(q->cycle));
		q->at = t + 1;
	}
	for (; q->at <= t || q->used >= q->size; q->at++) {
		const uint64_t k = q->at % CALENDAR;
		if (q->at > t && q->cycle[k].leave)
			*by = q->cycle[k].last;
		q->used -= q->cycle[k].leave;
		q->cycle[k].leave = 0;
	}
	q->used++;
	return max_u64(t, q->at - 1);
}

/* Instruction i leaves the queue in cycle e. */
static inline void leave(struct queue *q, uint64_t i, uint64_t e)
{
	const uint64_t k = min_u64(max_u64(e, q->at), q->at + CALENDAR - 1) % CALENDAR;
	if (!q->size)
		return;
	q->cycle[k].leave++;
	q->cycle[k].last = (uint32_t)i;
}

static inline uint64_t part(const struct lane *l, struct graph_part p)
{
	return l->counts[p.category] ? p.cycles : 0;
}

static inline uint64_t parts(const struct lane *l, const struct graph_part *p, unsigned n)
{
	uint64_t sum = 0;
	for (unsigned k = 0; k < n; k++)
		sum += part(l, p[k]);
	return sum;
}

static inline uint64_t execution(const struct lane *l, const struct graph_inst *in)
{
	uint64_t sum = in->ep;
	for (unsigned k = 0; k < GRAPH_EP_PARTS && in->ep_part[k].cycles; k++)
		sum += part(l, in->ep_part[k]);
	return sum;
}

#define CYCLES_NONE	      0
#define CYCLES_ONE	      1
#define CYCLES_CYCLES(x)      (x)
#define CYCLES_MACHINE(m)     g->m
#define CYCLES_IN_PART(x)     part(l, x)
#define CYCLES_IN_PARTS(x, n) parts(l, x, n)
#define CYCLES_EXECUTION      execution(l, in)

#define THERE_NEVER   true
#define THERE_BW      l->bw
#define THERE_WIN     true
#define THERE_BW_WIN  l->bw
#define THERE_NOT_WIN false
#define THERE_BY(c)   l->counts[c]

/* A distance that leads before the first instruction finds time 0, as in the graph. */
#define BACK_C(x)      l->c[(i - (x)) & l->mask]
#define BACK_E(x)      l->e[(i - (x)) & l->mask]
#define NEXT_D(x)      l->d[(i - (x)) % PAST_D] + 1
#define GRAIN_D(x)     l->d[((i - (x) + 1) / GRAPH_GRAIN * GRAPH_GRAIN - 1) % PAST_D]
#define GRAIN_C(x)     0
#define SLOT(x)	       l->slot[x]
#define HERE(n)	       now[NODE_##n]
#define BEFORE(n)      last[NODE_##n]
#define OWN_PACKET(n)  now[NODE_##n]
#define LAST_PACKET(n) last[NODE_##n]

/* How long a load that is ready at `since` waits for a line that comes at `there`: see LIMITED. */
static inline uint64_t limited(uint64_t there, uint64_t since, uint64_t limit, bool forward)
{
	const uint64_t wait = there > since ? there - since : 0;
	return since + (wait <= limit ? wait : forward ? 0 : limit);
}

struct lane_waits lane_next(struct lane *l, const struct graph_inst *in, unsigned queue, bool slot)
{
	const struct graph_config *const g = &l->config;
	const uint64_t i = l->count++, *const last = l->last;
	uint64_t now[NODES], ready = 0, by = 0;
	now[NODE_F] = last[NODE_F];
	now[NODE_V] = last[NODE_V];
#define NODE(n)                                                                                    \
	if (HAS_##n) {                                                                             \
		uint64_t t = 0;
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	if (THERE_##removed && HOLDS_##when)                                                       \
		t = max_u64(t, at + CYCLES_##latency);
#define NEAR(name, n, at, latency, removed, when, blame)                                           \
	EDGE(name, n, at, latency, removed, when, blame)
#define LIMITED(name, n, at, latency, removed, when, blame, limit, forward)                        \
	if (THERE_##removed && HOLDS_##when)                                                       \
		t = limited(at + CYCLES_##latency, t, limit, forward);
#define OVERTAKES(name, n, at, when)                                                               \
	if (HOLDS_##when && t < at) {                                                              \
		const uint64_t oldest = max_u64(last[NODE_C] + 1, t + CYCLES_EXECUTION),           \
			       again = oldest + g->order_flush;                                    \
		now[NODE_F] = max_u64(now[NODE_F], again);                                         \
		now[NODE_D] = max_u64(now[NODE_D], again + g->depth);                              \
		t = max_u64(t, again + g->depth + g->dispatch_latency);                            \
	}
#define OWN(n, latency, when)	       t += CYCLES_##latency;
#define RESULT(slot, n, latency, when) RESULT_##n(slot, latency)
#define RESULT_V(to, latency)	       l->slot[in->to] = t + CYCLES_##latency;
#define RESULT_R(to, latency)	       l->slot[in->to] = t + CYCLES_##latency;
#define RESULT_P(to, latency)	       l->slot[in->to] = t + CYCLES_##latency;
#define RESULT_C(to, latency)	       l->slot[in->to] = t + CYCLES_##latency;
#define END(n)                                                                                     \
	END_##n now[NODE_##n] = t;                                                                 \
	}
#define END_F
#define END_D t = enter(&l->queue[queue], t, &by);
#define END_V
#define END_R
#define END_E                                                                                      \
	ready = t;                                                                                 \
	if (slot && l->slots)                                                                      \
		t = take_slot(l, t);
#define END_B
#define END_P
#define END_C
#include "analysis/icost/edges.def"
	l->slot[0] = 0; /* the slot of what nobody wants */
	l->d[i % PAST_D] = now[NODE_D];
	l->c[i & l->mask] = now[NODE_C];
	l->e[i & l->mask] = now[NODE_E];
	leave(&l->queue[queue], i, now[NODE_E]);
	memcpy(l->last, now, sizeof(now));
	return (struct lane_waits){ .slot = (uint32_t)(now[NODE_E] - ready),
				    .room = by ? (uint32_t)i - (uint32_t)by : 0 };
}
