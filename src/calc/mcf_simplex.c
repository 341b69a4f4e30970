/* SPDX-License-Identifier: MIT */
/*
 * Minimum-cost circulations by the network simplex method (Ahuja, Magnanti, Orlin, "Network Flows", chapter 11), with
 * convex costs (section 14.5): each piece of an arc's cost is an arc of its own with the piece's width as its
 * capacity, of which only the one that the flow ends in is kept.
 *
 * A basis is a tree that spans all nodes and a root outside of the graph. An arc of the tree carries any amount within
 * its piece; all others are at the end of a piece. Node prices make the tree's arcs cost nothing. A pivot finds
 * an arc that costs less than nothing, moves as much as possible round the loop that it closes with the tree, and puts
 * it into the place of an arc that stops the loop. Each arc begins at the flow that is cheapest for itself; what a node
 * then has too much of, or lacks, flows over an arc of its own to the root or from it, which costs more than any
 * path. An arc to the root never comes back once it has left the tree.
 *
 * Pivots that move nothing cannot go round for ever: of the arcs that stop a loop the last one leaves, seen in the
 * direction of the flow from the loop's node nearest to the root on. So from every node something more can flow
 * to the root (strongly feasible trees, Cunningham 1976).
 *
 * A pivot goes on beyond the end of a piece while what the next one costs more is less than what a unit gains, which
 * needs a third of the pivots. A function of 1,400 blocks takes 22 ms, one of 500 takes 4.
 */
#include "calc/mcf_int.h"

#include <assert.h>
#include <stdlib.h>

#include "util/util.h"

#define BLOCK_MIN 16 /* arcs that are compared before one enters, at least */
/* Ten times what was ever seen: going on beyond pieces' ends, pivots might go round after all. */
#define PIVOTS_MAX(m) (200 * ((uint64_t)(m)->narcs + (m)->nnodes) + 10000)
#define NONE	      UINT32_MAX
#define ENDLESS	      INT64_MAX

/* What an arc costs if it is not in the tree: a unit more, or what a unit less saves. */
struct offer {
	int64_t up, down; /* INT64_MAX, INT64_MIN: nothing more, nothing less is possible */
};

/* A node of the tree. The arc to its parent is `arc`, or its own one to the root (NONE). */
struct tree {
	uint32_t parent, arc, depth;
	uint32_t child, next,
	    last; /* its first child; its neighbours among its parent's children */
	bool up;  /* the arc leads from it to its parent */
};

struct simplex {
	struct mcf *m;	      /* excess: what a node's arc to the root carries */
	struct tree *tree;    /* by node; the root is the last one */
	struct offer *offers; /* by arc */
	uint32_t *queue;
	uint32_t next_arc; /* that is looked at next for one to enter */
};

/* ---- the tree ---- */

/* Says what an arc that is not in the tree costs. */
static void put_offer(struct simplex *s, uint32_t i)
{
	const struct arc *a = &s->m->arcs[i];
	int64_t up, down;

	s->offers[i] = (struct offer){ INT64_MAX, INT64_MIN };
	if (a->from == a->to)
		return;
	if (room_up(s->m, a, &up))
		s->offers[i].up = up;
	if (room_down(s->m, a, &down))
		s->offers[i].down = down;
}

static void hang(struct simplex *s, uint32_t node, uint32_t parent)
{
	struct tree *t = &s->tree[node], *p = &s->tree[parent];

	t->parent = parent;
	t->last = NONE;
	t->next = p->child;
	if (p->child != NONE)
		s->tree[p->child].last = node;
	p->child = node;
}

static void unhang(struct simplex *s, uint32_t node)
{
	const struct tree *t = &s->tree[node];

	if (t->last == NONE)
		s->tree[t->parent].child = t->next;
	else
		s->tree[t->last].next = t->next;
	if (t->next != NONE)
		s->tree[t->next].last = t->last;
}

/* All nodes hang on the root, by arcs that cost more than any path. */
static void begin(struct simplex *s)
{
	const uint32_t root = s->m->nnodes;
	int64_t largest = 0;

	for (uint32_t i = 0; i < s->m->npieces; i++)
		largest =
		    llabs(s->m->pieces[i].slope) > largest ? llabs(s->m->pieces[i].slope) : largest;
	const int64_t dear = (largest + 1) * ((int64_t)s->m->nnodes + 1);

	s->tree[root] = (struct tree){ .parent = NONE, .child = NONE };
	for (uint32_t n = s->m->nnodes; n-- > 0;) {
		const bool up = s->m->excess[n] >= 0;

		s->tree[n] = (struct tree){ .arc = NONE, .depth = 1, .child = NONE, .up = up };
		s->m->price[n] = up ? -dear : dear;
		hang(s, n, root);
	}
	for (uint32_t i = 0; i < s->m->narcs; i++)
		put_offer(s, i);
}

/* ---- a pivot ---- */

/* How much more (or less) a node's arc to its parent can carry within its piece. */
static int64_t tree_room(const struct simplex *s, uint32_t node, bool more)
{
	const struct tree *t = &s->tree[node];

	if (t->arc == NONE)
		return more ? ENDLESS : llabs(s->m->excess[node]);
	const struct arc *a = &s->m->arcs[t->arc];
	const int64_t width = s->m->pieces[a->first + a->piece].width;

	return !more ? a->used : width == MCF_UNBOUNDED ? ENDLESS : width - a->used;
}

static void tree_move(struct simplex *s, uint32_t node, int64_t amount)
{
	const struct tree *t = &s->tree[node];

	if (t->arc == NONE)
		s->m->excess[node] += t->up ? amount : -amount;
	else
		s->m->arcs[t->arc].used += amount;
}

/* The loop that an arc closes with the tree, and what stops it. */
struct loop {
	uint32_t arc;
	bool more;	   /* the arc is to carry more */
	uint32_t from, to; /* flow goes from `from` to `to` over it, and back over the tree */
	uint32_t top;	   /* the loop's node nearest to the root */
	int64_t amount;
	uint32_t out; /* the arc from this node to its parent leaves; NONE: the arc itself stops */
	bool out_behind; /* it is between `to` and the top */
};

static void find_top(struct simplex *s, struct loop *l)
{
	uint32_t a = l->from, b = l->to;

	while (a != b) {
		if (s->tree[a].depth >= s->tree[b].depth)
			a = s->tree[a].parent;
		else
			b = s->tree[b].parent;
	}
	l->top = a;
}

static void find_stop(const struct simplex *s, struct loop *l)
{
	for (uint32_t n = l->from; n != l->top; n = s->tree[n].parent) {
		const int64_t room = tree_room(s, n, !s->tree[n].up);

		if (room < l->amount) {
			l->amount = room;
			l->out = n;
			l->out_behind = false;
		}
	}
	for (uint32_t n = l->to; n != l->top; n = s->tree[n].parent) {
		const int64_t room = tree_room(s, n, s->tree[n].up);

		if (room <= l->amount) {
			l->amount = room;
			l->out = n;
			l->out_behind = true;
		}
	}
	assert(l->amount < ENDLESS);
}

static void move_round(struct simplex *s, const struct loop *l)
{
	s->m->arcs[l->arc].used += l->more ? l->amount : -l->amount;
	if (!l->amount)
		return;
	for (uint32_t n = l->from; n != l->top; n = s->tree[n].parent)
		tree_move(s, n, s->tree[n].up ? -l->amount : l->amount);
	for (uint32_t n = l->to; n != l->top; n = s->tree[n].parent)
		tree_move(s, n, s->tree[n].up ? l->amount : -l->amount);
}

/* An arc is not in the tree (any more): the end of one piece is the beginning of the next. */
static void leave(struct simplex *s, uint32_t i)
{
	struct arc *a = &s->m->arcs[i];

	if (a->used == s->m->pieces[a->first + a->piece].width && a->piece + 1 < a->count) {
		a->piece++;
		a->used = 0;
	}
	put_offer(s, i);
}

/* Hangs the part of the tree below l->out on the other end of the arc. `priced`: sets its prices, too. */
static void rehang(struct simplex *s, const struct loop *l, bool priced)
{
	const uint32_t inside = l->out_behind ? l->to : l->from;
	const uint32_t outside = l->out_behind ? l->from : l->to;
	const struct arc *a = &s->m->arcs[l->arc];
	const int64_t slope = s->m->pieces[a->first + a->piece].slope;
	uint32_t node = inside, parent = outside, arc = l->arc, n = 0;
	bool up = a->from == inside;

	for (bool last = false; !last;) {
		const struct tree old = s->tree[node];

		last = node == l->out;
		unhang(s, node);
		hang(s, node, parent);
		s->tree[node].arc = arc;
		s->tree[node].up = up;
		parent = node;
		node = old.parent;
		arc = old.arc;
		up = !old.up;
	}
	if (!priced)
		return;
	const int64_t more =
	    s->m->price[outside] + (a->from == inside ? -slope : slope) - s->m->price[inside];

	s->queue[n++] = inside;
	for (uint32_t i = 0; i < n; i++) {
		struct tree *t = &s->tree[s->queue[i]];

		s->m->price[s->queue[i]] += more;
		t->depth = s->tree[t->parent].depth + 1;
		for (uint32_t c = t->child; c != NONE; c = s->tree[c].next)
			s->queue[n++] = c;
	}
}

/* What the next piece costs more than the one whose end an arc's flow has come to; INT64_MAX: there is none. */
static int64_t step_of(const struct simplex *s, const struct arc *a, bool more)
{
	const struct mcf_piece *p = &s->m->pieces[a->first + a->piece];

	if (more)
		return a->piece + 1 < a->count ? p[1].slope - p[0].slope : INT64_MAX;
	return a->piece ? p[0].slope - p[-1].slope : INT64_MAX;
}

/* Goes on to the next piece. */
static void step(const struct simplex *s, struct arc *a, bool more)
{
	if (more) {
		a->piece++;
		a->used = 0;
	} else {
		a->piece--;
		a->used = s->m->pieces[a->first + a->piece].width;
	}
}

/* Prices of all below a node of the tree, and of itself, from its parent's. */
static void price_below(struct simplex *s, uint32_t node)
{
	uint32_t n = 0;

	s->queue[n++] = node;
	for (uint32_t i = 0; i < n; i++) {
		struct tree *t = &s->tree[s->queue[i]];

		if (t->arc != NONE) {
			const struct arc *a = &s->m->arcs[t->arc];
			const int64_t slope = s->m->pieces[a->first + a->piece].slope;

			s->m->price[s->queue[i]] =
			    s->m->price[t->parent] + (t->up ? -slope : slope);
		}
		t->depth = s->tree[t->parent].depth + 1;
		for (uint32_t c = t->child; c != NONE; c = s->tree[c].next)
			s->queue[n++] = c;
	}
}

/*
 * Moves round the loop, over the ends of pieces too, while a unit still gains: `gain` falls by what each next piece
 * costs more. passed[]: the nodes nearest to the root whose arcs have come to another piece, behind `from` and behind
 * `to`.
 */
static void go_round(struct simplex *s, struct loop *l, int64_t gain, uint32_t *passed)
{
	struct arc *a = &s->m->arcs[l->arc];

	for (;;) {
		const int64_t width = s->m->pieces[a->first + a->piece].width;

		l->out = NONE;
		l->amount = !l->more ? a->used : width == MCF_UNBOUNDED ? ENDLESS : width - a->used;
		find_stop(s, l);
		move_round(s, l);
		const uint32_t n = l->out, arc = n == NONE ? l->arc : s->tree[n].arc;
		const bool more = n == NONE ? l->more : s->tree[n].up == l->out_behind;
		const int64_t dearer = arc == NONE ? INT64_MAX : step_of(s, &s->m->arcs[arc], more);

		if (!l->amount || dearer >= gain)
			return;
		gain -= dearer;
		step(s, &s->m->arcs[arc], more);
		if (n == NONE)
			continue;
		uint32_t *highest = &passed[l->out_behind];
		if (*highest == NONE || s->tree[n].depth < s->tree[*highest].depth)
			*highest = n;
	}
}

static void pivot(struct simplex *s, uint32_t i, bool more)
{
	struct arc *a = &s->m->arcs[i];
	const int64_t gap = s->m->price[a->to] - s->m->price[a->from];
	struct loop l = {
		.arc = i, .more = more, .from = more ? a->from : a->to, .to = more ? a->to : a->from
	};
	uint32_t passed[2] = { NONE, NONE };
	const int64_t gain = more ? gap - s->offers[i].up : s->offers[i].down - gap;

	if (!more && !a->used)
		step(s, a, false);
	find_top(s, &l);
	go_round(s, &l, gain, passed);
	if (l.out == NONE) {
		leave(s, i);
		for (unsigned side = 0; side < 2; side++)
			if (passed[side] != NONE)
				price_below(s, passed[side]);
		return;
	}
	const uint32_t out = s->tree[l.out].arc, here = passed[l.out_behind],
		       there = passed[!l.out_behind];
	const bool above = here != NONE && s->tree[here].depth < s->tree[l.out].depth;

	s->offers[i] = (struct offer){ INT64_MAX, INT64_MIN };
	rehang(s, &l, here == NONE && there == NONE);
	if (above)
		price_below(s, here);
	if (there != NONE)
		price_below(s, there);
	else if (here != NONE)
		price_below(s, l.out_behind ? l.to : l.from);
	if (out != NONE)
		leave(s, out);
}

/* The arc that gains most of the next ones of which some gain; false: none does. */
static bool find_entering(struct simplex *s, uint32_t block, uint32_t *arc, bool *more)
{
	int64_t most = 0;
	uint32_t i = s->next_arc;

	for (uint32_t k = 0, left = block; k < s->m->narcs; k++) {
		const struct offer *o = &s->offers[i];
		const int64_t gap = s->m->price[s->m->arcs[i].to] - s->m->price[s->m->arcs[i].from];

		if (o->up < gap && gap - o->up > most) {
			most = gap - o->up;
			*arc = i;
			*more = true;
		} else if (o->down > gap && o->down - gap > most) {
			most = o->down - gap;
			*arc = i;
			*more = false;
		}
		i = i + 1 == s->m->narcs ? 0 : i + 1;
		if (!--left) {
			if (most)
				break;
			left = block;
		}
	}
	s->next_arc = i;
	return most;
}

bool mcf_simplex(struct mcf *m)
{
	struct simplex s = { .m = m };
	uint32_t block = BLOCK_MIN, arc = 0;
	bool more = false, balanced = true;

	s.tree = x_malloc(((size_t)m->nnodes + 1) * sizeof(*s.tree));
	s.offers = x_malloc(((size_t)m->narcs + 1) * sizeof(*s.offers));
	s.queue = x_malloc(((size_t)m->nnodes + 1) * sizeof(*s.queue));
	while (block * block < m->narcs)
		block *= 2;
	begin(&s);
	for (uint64_t left = PIVOTS_MAX(m); left && find_entering(&s, block, &arc, &more); left--)
		pivot(&s, arc, more);
	for (uint32_t i = 0; i < m->narcs; i++)
		leave(&s, i);
	for (uint32_t n = 0; n < m->nnodes; n++)
		balanced &= !m->excess[n];
	balanced &= !find_entering(&s, block, &arc, &more);
	free(s.tree);
	free(s.offers);
	free(s.queue);
	return balanced;
}
