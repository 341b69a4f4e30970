/* SPDX-License-Identifier: MIT */
/*
 * Minimum-cost circulations: small ones by mcf_simplex.c, others by successive shortest paths with potentials (Ahuja, Magnanti, Orlin,
 * "Network Flows", sections 9.7 and 14.4). Each arc begins at the flow that is cheapest for itself, so
 * all reduced costs are right from the start, and only nodes that receive more than they pass on, or
 * less, have to be mended. Each search ends at the nearest node that lacks flow and touches only what
 * is nearer than that: in a control-flow graph, whose estimates nearly balance, a few blocks. Near
 * neighbours go first: the radius of the searches grows eightfold from pass to pass, which halves
 * what they touch in a function of 30,000 blocks. Time is nearly linear in practice; the worst case
 * is the number of pieces times that of a whole search. What would take longer than that is no longer
 * the best solution (mcf_best() tells), but still a circulation near it.
 */
#include "calc/mcf_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define SIMPLEX_NODES  8192 /* above that paths in trees are too long: 9,000 blocks take a second */
#define SWEEP_NODES    200  /* below that searches one by one are fast */
#define SWEEP_WORTH    0.1  /* share of nodes that a sweep must mend to be followed by another */
#define WORK_MAX       600000 /* nodes settled; more would take more than half a second */
#define HURRIED_SWEEPS 6
#define RADIUS_MAX     (1LL << 59) /* of a search: 8 times that is still a number */

struct mcf *mcf_new(uint32_t nodes)
{
	struct mcf *m = x_calloc(1, sizeof(*m));
	assert(nodes > 0 && nodes <= MCF_NODES_MAX);
	m->nnodes = nodes;
	return m;
}

void mcf_free(struct mcf *m)
{
	if (!m)
		return;
	free(m->arcs);
	free(m->pieces);
	free(m->first);
	free(m->ends);
	free(m->excess);
	free(m->price);
	free(m->distance);
	free(m->stamp);
	free(m->via);
	free(m->settled);
	free(m->heap);
	free(m);
}

uint32_t mcf_arc(struct mcf *m, uint32_t from, uint32_t to, const struct mcf_piece *pieces,
		 unsigned npieces)
{
	struct arc *a = ARRAY_ADD(m->arcs, m->narcs);
	assert(from < m->nnodes && to < m->nnodes && npieces > 0);
	*a = (struct arc){ .from = from, .to = to, .first = m->npieces, .count = npieces };
	for (unsigned i = 0; i < npieces; i++) {
		const struct mcf_piece *p = &pieces[i];
		assert(p->width > 0 && p->slope <= MCF_SLOPE_MAX && p->slope >= -MCF_SLOPE_MAX);
		assert(!i || (p->slope >= p[-1].slope && p[-1].width != MCF_UNBOUNDED));
		assert(p->width != MCF_UNBOUNDED || p->slope >= 0);
		*ARRAY_ADD(m->pieces, m->npieces) = *p;
	}
	return m->narcs - 1;
}

uint32_t mcf_free_arc(struct mcf *m, uint32_t from, uint32_t to, int64_t slope)
{
	return mcf_arc(m, from, to, &(struct mcf_piece){ MCF_UNBOUNDED, slope }, 1);
}

/* Adds flow (or takes it away, if negative) within what the room is. */
static void arc_change(const struct mcf *m, struct arc *a, int64_t amount)
{
	const struct mcf_piece *p = &m->pieces[a->first];
	if (amount < 0 && !a->used) {
		a->piece--;
		a->used = p[a->piece].width;
	}
	a->used += amount;
	if (a->used == p[a->piece].width && a->piece + 1 < a->count) {
		a->piece++;
		a->used = 0;
	}
}

int64_t mcf_flow(const struct mcf *m, uint32_t arc)
{
	const struct arc *a = &m->arcs[arc];
	int64_t flow = a->used;
	for (uint32_t i = 0; i < a->piece; i++)
		flow += m->pieces[a->first + i].width;
	return flow;
}

int64_t mcf_price(const struct mcf *m, uint32_t node)
{
	return m->price[node];
}

static void link_ends(struct mcf *m)
{
	m->first = x_calloc((size_t)m->nnodes + 1, sizeof(*m->first));
	m->ends = x_calloc(2 * (size_t)m->narcs, sizeof(*m->ends));
	for (uint32_t i = 0; i < m->narcs; i++)
		if (m->arcs[i].from != m->arcs[i].to) {
			m->first[m->arcs[i].from]++;
			m->first[m->arcs[i].to]++;
		}
	uint32_t sum = 0;
	for (uint32_t n = 0; n <= m->nnodes; n++)
		sum = m->first[n] += sum;
	for (uint32_t i = m->narcs; i-- > 0;)
		if (m->arcs[i].from != m->arcs[i].to) {
			m->ends[--m->first[m->arcs[i].from]] = 2 * i;
			m->ends[--m->first[m->arcs[i].to]] = 2 * i + 1;
		}
}

void mcf_cheapest(struct mcf *m, struct arc *a)
{
	int64_t flow = 0;
	while (a->piece + 1 < a->count && m->pieces[a->first + a->piece].slope < 0)
		flow += m->pieces[a->first + a->piece++].width;
	if (m->pieces[a->first + a->piece].slope < 0)
		flow += a->used = m->pieces[a->first + a->piece].width;
	assert(flow <= MCF_FLOW_MAX);
	m->excess[a->from] -= flow;
	m->excess[a->to] += flow;
}

static bool sooner(struct entry a, struct entry b)
{
	return a.distance != b.distance ? a.distance < b.distance : a.node < b.node;
}

static void heap_put(struct mcf *m, struct entry e)
{
	ARRAY_ROOM(m->heap, m->heap_room, m->nheap + 1);
	size_t i = m->nheap++;
	for (; i && sooner(e, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = e;
}

static struct entry heap_take(struct mcf *m)
{
	struct entry top = m->heap[0], e = m->heap[--m->nheap];
	size_t i = 0;
	for (size_t k = 1; k < m->nheap; k = 2 * i + 1) {
		if (k + 1 < m->nheap && sooner(m->heap[k + 1], m->heap[k]))
			k++;
		if (!sooner(m->heap[k], e))
			break;
		m->heap[i] = m->heap[k];
		i = k;
	}
	m->heap[i] = e;
	return top;
}

static inline void reach(struct mcf *m, uint32_t node, int64_t distance, uint32_t via)
{
	if (m->stamp[node] >= m->search &&
	    (m->stamp[node] > m->search || m->distance[node] <= distance))
		return;
	m->stamp[node] = m->search;
	m->distance[node] = distance;
	m->via[node] = via;
	heap_put(m, (struct entry){ distance, node });
}

/* What it costs to move a unit away from `node` over an end, beyond what prices say; the room. */
static inline int64_t end_room(const struct mcf *m, uint32_t end, uint32_t *to, int64_t *cost)
{
	const struct arc *a = &m->arcs[end / 2];
	int64_t slope, room = end & 1 ? room_down(m, a, &slope) : room_up(m, a, &slope);
	uint32_t node = end & 1 ? a->to : a->from;
	*to = end & 1 ? a->from : a->to;
	*cost = (end & 1 ? -slope : slope) + m->price[node] - m->price[*to];
	return room;
}

#define NONE	UINT32_MAX
#define TOO_FAR (UINT32_MAX - 1)

/* Settles a node: looks at all that can be reached from it. */
static void settle(struct mcf *m, struct entry e)
{
	m->stamp[e.node] = m->search + 1;
	m->settled[m->nsettled++] = e.node;
	m->work++;
	for (uint32_t i = m->first[e.node]; i < m->first[e.node + 1]; i++) {
		uint32_t to;
		int64_t cost;
		if (end_room(m, m->ends[i], &to, &cost)) {
			assert(cost >= 0 || m->hurried);
			reach(m, to, e.distance + (cost > 0 ? cost : 0), m->ends[i]);
		}
	}
}

static void begin_search(struct mcf *m)
{
	if (m->search > UINT32_MAX - 4) {
		memset(m->stamp, 0, m->nnodes * sizeof(*m->stamp));
		m->search = 0;
	}
	m->search += 2;
	m->nheap = m->nsettled = 0;
}

/* The next node to settle; false: no more. */
static bool next_entry(struct mcf *m, struct entry *e)
{
	while (m->nheap) {
		*e = heap_take(m);
		if (m->stamp[e->node] == m->search && m->distance[e->node] == e->distance)
			return true;
	}
	return false;
}

/* The nearest node that lacks flow; NONE: none can be reached; TOO_FAR: not within the radius. */
static uint32_t nearest(struct mcf *m, uint32_t from, int64_t radius)
{
	struct entry e;
	begin_search(m);
	reach(m, from, 0, NONE);
	while (next_entry(m, &e)) {
		if (e.distance > radius)
			return TOO_FAR;
		if (m->excess[e.node] < 0)
			return e.node;
		settle(m, e);
	}
	return NONE;
}

static uint32_t before(const struct mcf *m, uint32_t end)
{
	return end & 1 ? m->arcs[end / 2].to : m->arcs[end / 2].from;
}

/* Adds flow, or takes it away, over as many pieces as that needs. Returns how much it could. */
static int64_t arc_change_far(const struct mcf *m, struct arc *a, int64_t amount, bool down)
{
	int64_t slope, room, done = 0;
	while (done < amount &&
	       (room = down ? room_down(m, a, &slope) : room_up(m, a, &slope)) > 0) {
		int64_t step = room < amount - done ? room : amount - done;
		arc_change(m, a, down ? -step : step);
		done += step;
	}
	return done;
}

/* Moves as much as the path takes, whatever it costs. */
static void move_far(struct mcf *m, uint32_t from, uint32_t to)
{
	int64_t amount = m->excess[from] < -m->excess[to] ? m->excess[from] : -m->excess[to];
	for (uint32_t n = to; n != from; n = before(m, m->via[n])) {
		struct arc *a = &m->arcs[m->via[n] / 2];
		int64_t done = arc_change_far(m, a, amount, m->via[n] & 1);
		arc_change_far(m, a, done, !(m->via[n] & 1));
		amount = done < amount ? done : amount;
	}
	for (uint32_t n = to; n != from; n = before(m, m->via[n]))
		arc_change_far(m, &m->arcs[m->via[n] / 2], amount, m->via[n] & 1);
	m->excess[from] -= amount;
	m->excess[to] += amount;
}

/* Moves as much as possible along the path that the search found. */
static void move(struct mcf *m, uint32_t from, uint32_t to)
{
	int64_t amount = m->excess[from] < -m->excess[to] ? m->excess[from] : -m->excess[to];
	for (uint32_t n = to; n != from; n = before(m, m->via[n])) {
		uint32_t there;
		int64_t cost, room = end_room(m, m->via[n], &there, &cost);
		/* An earlier move can have used up what was cheap here. */
		if (cost || room < amount)
			amount = cost ? 0 : room;
	}
	for (uint32_t n = to; amount && n != from; n = before(m, m->via[n]))
		arc_change(m, &m->arcs[m->via[n] / 2], m->via[n] & 1 ? -amount : amount);
	m->excess[from] -= amount;
	m->excess[to] += amount;
}

enum mended { MENDED, MENDED_FAR, MENDED_NEVER };

/* Moves what a node has too much of to those within the radius that lack it. */
static enum mended mend(struct mcf *m, uint32_t node, int64_t radius)
{
	while (m->excess[node] > 0) {
		if (m->work > WORK_MAX)
			return MENDED_NEVER;
		uint32_t to = nearest(m, node, radius);
		if (to == NONE)
			return MENDED_NEVER;
		/* All but the settled ones would get the same price added. */
		int64_t distance = to == TOO_FAR ? radius : m->distance[to];
		for (uint32_t i = 0; i < m->nsettled; i++)
			m->price[m->settled[i]] += m->distance[m->settled[i]] - distance;
		if (to == TOO_FAR)
			return MENDED_FAR;
		move(m, node, to);
	}
	return MENDED;
}

/*
 * One search from all nodes that have too much. Each node that lacks flow gets what its nearest one has
 * and the way takes. Returns the share of what was too much that has found a place.
 */
static double sweep(struct mcf *m)
{
	struct entry e;
	double before_it = 0, after = 0;
	begin_search(m);
	for (uint32_t n = 0; n < m->nnodes; n++)
		if (m->excess[n] > 0) {
			before_it++;
			reach(m, n, 0, NONE);
		}
	int64_t far = 0;
	while (next_entry(m, &e)) {
		far = e.distance;
		settle(m, e);
	}
	for (uint32_t n = 0; n < m->nnodes && !m->hurried; n++)
		m->price[n] += m->stamp[n] == m->search + 1 ? m->distance[n] : far;
	for (uint32_t i = 0; i < m->nsettled; i++) {
		uint32_t to = m->settled[i], from = to;
		if (m->excess[to] >= 0)
			continue;
		while (m->via[from] != NONE)
			from = before(m, m->via[from]);
		if (m->excess[from] > 0)
			(m->hurried ? move_far : move)(m, from, to);
	}
	for (uint32_t n = 0; n < m->nnodes; n++)
		after += m->excess[n] > 0;
	return before_it > 0 ? 1 - after / before_it : 0;
}

/* How much more flow, or less, an end of an arc can carry away from its node, over all pieces. */
static int64_t far_room(const struct mcf *m, uint32_t end)
{
	const struct arc *a = &m->arcs[end / 2];
	int64_t width = 0;
	if (end & 1)
		return mcf_flow(m, end / 2);
	if (m->pieces[a->first + a->count - 1].width == MCF_UNBOUNDED)
		return MCF_UNBOUNDED;
	for (uint32_t i = 0; i < a->count; i++)
		width += m->pieces[a->first + i].width;
	return width - mcf_flow(m, end / 2);
}

/*
 * A tree of arcs that lead to a node (or, with from_it, away from it): settled[] has its nodes, the root
 * first, and via[] the end over which flow leaves on the way. Without `bounded` only arcs that take any
 * amount are used; with it, all that have room. Returns the number of nodes.
 */
static uint32_t grow_tree(struct mcf *m, uint32_t root, bool from_it, bool bounded)
{
	uint32_t n = 0;
	begin_search(m);
	m->settled[n++] = root;
	m->stamp[root] = m->search;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = m->first[m->settled[i]]; k < m->first[m->settled[i] + 1]; k++) {
			const struct arc *a = &m->arcs[m->ends[k] / 2];
			uint32_t other = m->ends[k] & 1 ? a->from : a->to;
			uint32_t end = from_it ? m->ends[k] : m->ends[k] ^ 1;
			int64_t room = far_room(m, end);
			if (m->stamp[other] == m->search || !room ||
			    (!bounded && room != MCF_UNBOUNDED))
				continue;
			m->stamp[other] = m->search;
			m->via[other] = end;
			m->settled[n++] = other;
		}
	return n;
}

/* Moves over one end. */
static void move_over(struct mcf *m, uint32_t end, int64_t amount)
{
	struct arc *a = &m->arcs[end / 2];
	arc_change_far(m, a, amount, end & 1);
	m->excess[end & 1 ? a->to : a->from] -= amount;
	m->excess[end & 1 ? a->from : a->to] += amount;
}

/* Moves all that is too much to one node (or, with from_it, all that is lacking from it) over arcs that
 * take any amount. Nodes that these do not reach stay as they are. */
static void move_by_tree(struct mcf *m, uint32_t root, bool from_it)
{
	for (uint32_t n = grow_tree(m, root, from_it, false); --n > 0;) {
		uint32_t node = m->settled[n];
		int64_t amount = from_it ? -m->excess[node] : m->excess[node];
		if (amount > 0)
			move_over(m, m->via[node], amount);
	}
}

/* Likewise, node by node, over arcs that have room: what flows in a loop without a way out is taken
 * back. True if anything was moved. */
static bool move_by_paths(struct mcf *m, uint32_t root, bool from_it)
{
	bool any = false;
	for (uint32_t n = grow_tree(m, root, from_it, true); --n > 0;) {
		uint32_t node = m->settled[n];
		int64_t amount = from_it ? -m->excess[node] : m->excess[node];
		for (uint32_t i = node; amount > 0 && i != root;) {
			uint32_t end = m->via[i];
			int64_t room = far_room(m, end);
			amount = room < amount ? room : amount;
			i = (end & 1) == from_it ? m->arcs[end / 2].to : m->arcs[end / 2].from;
		}
		for (uint32_t i = node; amount > 0 && i != root;) {
			uint32_t end = m->via[i];
			move_over(m, end, amount);
			i = (end & 1) == from_it ? m->arcs[end / 2].to : m->arcs[end / 2].from;
			any = true;
		}
	}
	return any;
}

/* Balances the rest by the nearest ways, without the best use of what gets dearer on them, and what is
 * left then by way of the node that has the most arcs. */
static bool hurry(struct mcf *m)
{
	uint32_t busiest = 0;
	m->hurried = true;
	for (unsigned i = 0; i < HURRIED_SWEEPS; i++)
		sweep(m);
	for (uint32_t n = 0; n < m->nnodes; n++)
		if (m->first[n + 1] - m->first[n] > m->first[busiest + 1] - m->first[busiest])
			busiest = n;
	move_by_tree(m, busiest, false);
	move_by_tree(m, busiest, true);
	for (bool more = true; more;) {
		more = move_by_paths(m, busiest, false);
		more |= move_by_paths(m, busiest, true);
	}
	for (uint32_t n = 0; n < m->nnodes; n++)
		if (m->excess[n])
			return false;
	return true;
}

/* Forgets all flows and prices. */
static void begin_again(struct mcf *m)
{
	for (uint32_t i = 0; i < m->narcs; i++) {
		m->arcs[i].piece = 0;
		m->arcs[i].used = 0;
	}
	memset(m->excess, 0, m->nnodes * sizeof(*m->excess));
	memset(m->price, 0, m->nnodes * sizeof(*m->price));
}

bool mcf_best(const struct mcf *m)
{
	return !m->hurried;
}

bool mcf_solve(struct mcf *m)
{
	assert(!m->price);
	m->excess = x_calloc(m->nnodes, sizeof(*m->excess));
	m->price = x_calloc((size_t)m->nnodes + 1, sizeof(*m->price));
	if (m->nnodes <= SIMPLEX_NODES) {
		for (uint32_t i = 0; i < m->narcs; i++)
			mcf_cheapest(m, &m->arcs[i]);
		if (mcf_simplex(m)) {
			assert(mcf_optimal(m));
			return true;
		}
		begin_again(m);
	}
	link_ends(m);
	m->distance = x_calloc(m->nnodes, sizeof(*m->distance));
	m->stamp = x_calloc(m->nnodes, sizeof(*m->stamp));
	m->via = x_calloc(m->nnodes, sizeof(*m->via));
	m->settled = x_calloc(m->nnodes, sizeof(*m->settled));
	for (uint32_t i = 0; i < m->narcs; i++)
		mcf_cheapest(m, &m->arcs[i]);
	while (m->nnodes > SWEEP_NODES && m->work < WORK_MAX && sweep(m) > SWEEP_WORTH)
		;
	int64_t radius = 1;
	for (enum mended done = MENDED_FAR; done == MENDED_FAR; radius *= 8) {
		done = MENDED;
		radius = radius > RADIUS_MAX ? RADIUS_MAX : radius;
		for (uint32_t n = 0; n < m->nnodes; n++)
			if (m->excess[n] > 0) {
				enum mended one = mend(m, n, radius);
				if (one == MENDED_NEVER)
					return m->work > WORK_MAX && hurry(m);
				if (one == MENDED_FAR)
					done = MENDED_FAR;
			}
	}
	assert(m->hurried || mcf_optimal(m));
	return true;
}

bool mcf_optimal(const struct mcf *m)
{
	int64_t *excess = x_calloc(m->nnodes, sizeof(*excess));
	bool right = true;
	for (uint32_t i = 0; i < m->narcs; i++) {
		const struct arc *a = &m->arcs[i];
		int64_t flow = mcf_flow(m, i), slope;
		int64_t gap = a->from == a->to ? 0 : m->price[a->to] - m->price[a->from];
		if (room_up(m, a, &slope) && slope < gap)
			right = false;
		if (room_down(m, a, &slope) && slope > gap)
			right = false;
		if (flow < 0)
			right = false;
		excess[a->from] -= flow;
		excess[a->to] += flow;
	}
	for (uint32_t n = 0; n < m->nnodes; n++)
		if (excess[n])
			right = false;
	free(excess);
	return right;
}
