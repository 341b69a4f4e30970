/* SPDX-License-Identifier: MIT */
/*
 * Blocks and edges that are executed equally often: cycle equivalence in linear time, after Johnson,
 * Pearson and Pingali, "The program structure tree" (PLDI 1994). Two edges are equivalent if every
 * cycle that has one of them has the other.
 *
 *  1. Every block becomes an edge, from a node "in" to a node "out", so that blocks and edges fall
 *     into the same classes. Outside is one node: what leaves comes back, which joins end to start.
 *  2. The algorithm needs a strongly connected graph. Every strongly connected part that nothing
 *     leaves (an infinite loop) gets one artificial exit, every one that nothing enters an entry
 *     (join_outside). A loop's exit comes from a block that jumps back to where the loop is entered:
 *     its body, which runs equally often in full turns, stays one class.
 *  3. In such a graph two edges are equivalent if and only if they are in the undirected graph. There
 *     a depth-first tree decides it: a tree edge's class is the set of back edges ("brackets") that
 *     span it. Sets are told apart by their newest member and their size; where subtrees meet, a
 *     capping bracket makes that a sound name.
 *
 * Nothing recurses: graphs come from files.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "calc/calc.h"

#define NONE UINT32_MAX

/* Edges by node: those of node n are edge[first[n]] to edge[first[n + 1] - 1]. */
struct lists {
	uint32_t *first, *edge;
};

struct graph {
	uint32_t nnodes, nedges;
	uint32_t *from, *to; /* of edges; room for one more entry and exit for every node */
};

static uint32_t *numbers(size_t count)
{
	return x_malloc((count + 1) * sizeof(uint32_t));
}

static uint32_t *same_numbers(size_t count, uint32_t value)
{
	uint32_t *all = numbers(count);

	for (size_t i = 0; i < count; i++)
		all[i] = value;
	return all;
}

static void free_lists(struct lists *l)
{
	free(l->first);
	free(l->edge);
}

/* Lists edges by where they start, and by where they end, too, if `both`. */
static struct lists list_edges(const struct graph *g, bool both)
{
	struct lists l = { .first = same_numbers((size_t)g->nnodes + 2, 0),
			   .edge = numbers((size_t)g->nedges * 2) };

	/* first[n + 2] counts, then first[n + 1] is where the next edge of n goes */
	for (uint32_t e = 0; e < g->nedges; e++) {
		l.first[g->from[e] + 2]++;
		if (both)
			l.first[g->to[e] + 2]++;
	}
	for (uint32_t n = 2; n < g->nnodes + 2; n++)
		l.first[n] += l.first[n - 1];
	for (uint32_t e = 0; e < g->nedges; e++) {
		l.edge[l.first[g->from[e] + 1]++] = e;
		if (both)
			l.edge[l.first[g->to[e] + 1]++] = e;
	}
	return l;
}

static void add_edge(struct graph *g, uint32_t from, uint32_t to)
{
	g->from[g->nedges] = from;
	g->to[g->nedges++] = to;
}

/* Strongly connected parts, by Tarjan: returns their number, and the part of every node. */
static uint32_t find_parts(const struct graph *g, uint32_t *part)
{
	struct lists out = list_edges(g, false);
	uint32_t *at = numbers(g->nnodes);   /* the next edge to follow */
	uint32_t *path = numbers(g->nnodes); /* nodes that the search is in */
	uint32_t *open = numbers(g->nnodes); /* nodes whose part is not known yet */
	uint32_t *number = same_numbers(g->nnodes, NONE), *low = numbers(g->nnodes);
	uint32_t parts = 0, seen = 0, depth = 0, nopen = 0;

	for (uint32_t n = 0; n < g->nnodes; n++)
		part[n] = NONE;
	for (uint32_t root = 0; root < g->nnodes; root++) {
		if (number[root] != NONE)
			continue;
		path[depth++] = root;
		while (depth) {
			uint32_t n = path[depth - 1];

			if (number[n] == NONE) {
				number[n] = low[n] = seen++;
				at[n] = out.first[n];
				open[nopen++] = n;
			}
			if (at[n] < out.first[n + 1]) {
				uint32_t next = g->to[out.edge[at[n]++]];

				if (number[next] == NONE)
					path[depth++] = next;
				else if (part[next] == NONE && number[next] < low[n])
					low[n] = number[next];
				continue;
			}
			depth--;
			if (depth && low[n] < low[path[depth - 1]])
				low[path[depth - 1]] = low[n];
			if (low[n] != number[n])
				continue;
			do
				part[open[--nopen]] = parts;
			while (open[nopen] != n);
			parts++;
		}
	}
	free_lists(&out);
	free(at);
	free(path);
	free(open);
	free(number);
	free(low);
	return parts;
}

/*
 * Adds artificial entries and exits until the graph of blocks, whose last node is outside, is
 * strongly connected. A part's head is its first block that is entered from another part, or else
 * its first one. Its entry leads there; its exit is at its last block that jumps there.
 */
static void join_outside(struct graph *g)
{
	const uint32_t outside = g->nnodes - 1, real = g->nedges;
	uint32_t *part = numbers(g->nnodes);
	const uint32_t parts = find_parts(g, part);
	uint32_t *head = same_numbers(parts, NONE), *first = same_numbers(parts, NONE);
	uint32_t *tail = same_numbers(parts, NONE);
	bool *entered = x_calloc(parts, sizeof(bool)), *left = x_calloc(parts, sizeof(bool));

	for (uint32_t n = g->nnodes; n-- > 0;)
		first[part[n]] = n;
	for (uint32_t e = 0; e < real; e++) {
		uint32_t a = part[g->from[e]], b = part[g->to[e]];

		if (a == b)
			continue;
		left[a] = entered[b] = true;
		if (g->to[e] < head[b])
			head[b] = g->to[e];
	}
	for (uint32_t p = 0; p < parts; p++)
		if (head[p] == NONE)
			head[p] = first[p];
	for (uint32_t e = 0; e < real; e++) {
		uint32_t p = part[g->from[e]];

		if (part[g->to[e]] == p && g->to[e] == head[p] &&
		    (tail[p] == NONE || g->from[e] > tail[p]))
			tail[p] = g->from[e];
	}
	for (uint32_t p = 0; p < parts; p++) {
		if (p == part[outside])
			continue;
		if (!entered[p])
			add_edge(g, outside, head[p]);
		if (!left[p])
			add_edge(g, tail[p] == NONE ? head[p] : tail[p], outside);
	}
	free(part);
	free(head);
	free(first);
	free(tail);
	free(entered);
	free(left);
}

/* Brackets are edges, then capping brackets: one for each node at most. */
struct bracket {
	uint32_t above, below; /* neighbours in the list that it is in */
	uint32_t recent_size, recent_class;
};

struct bracket_list {
	uint32_t top, bottom, size;
};

struct search {
	const struct graph *g;
	struct lists around;
	uint32_t *number;  /* of nodes, in the order of the search */
	uint32_t *node;	   /* by number */
	uint32_t *up;	   /* the edge to the parent */
	uint32_t *hi;	   /* lowest number that a back edge from the subtree leads to */
	uint32_t *next_hi; /* the same without the child that leads highest */
	uint32_t *cap; /* by node: the first capping bracket that ends there; the next of each */
	uint32_t *next_cap; /* by node that the capping bracket begins at */
	struct bracket_list *list;
	struct bracket *bracket;
	uint32_t *class; /* by edge */
	uint32_t nclasses;
};

static uint32_t other_end(const struct graph *g, uint32_t edge, uint32_t n)
{
	return g->from[edge] == n ? g->to[edge] : g->from[edge];
}

/* Numbers all nodes in the order of an undirected depth-first search. */
static void number_nodes(struct search *s, uint32_t root)
{
	const struct graph *g = s->g;
	uint32_t *at = numbers(g->nnodes), seen = 0, n = root;

	s->up[root] = NONE;
	s->number[root] = seen;
	s->node[seen++] = root;
	at[root] = s->around.first[root];
	for (;;) {
		if (at[n] == s->around.first[n + 1]) {
			if (s->up[n] == NONE)
				break;
			n = other_end(g, s->up[n], n);
			continue;
		}
		uint32_t e = s->around.edge[at[n]++], next = other_end(g, e, n);

		if (s->number[next] != NONE)
			continue;
		s->up[next] = e;
		s->number[next] = seen;
		s->node[seen++] = next;
		at[next] = s->around.first[next];
		n = next;
	}
	free(at);
	assert(seen == g->nnodes);
}

static void push(struct search *s, struct bracket_list *l, uint32_t b)
{
	s->bracket[b] = (struct bracket){ .above = NONE, .below = l->top };
	if (l->size++)
		s->bracket[l->top].above = b;
	else
		l->bottom = b;
	l->top = b;
}

static void take_out(struct search *s, struct bracket_list *l, uint32_t b)
{
	const struct bracket *it = &s->bracket[b];

	if (it->above == NONE)
		l->top = it->below;
	else
		s->bracket[it->above].below = it->below;
	if (it->below == NONE)
		l->bottom = it->above;
	else
		s->bracket[it->below].above = it->above;
	l->size--;
}

/* Puts all of `upper` on top. */
static void concatenate(struct search *s, struct bracket_list *l, const struct bracket_list *upper)
{
	if (!upper->size)
		return;
	if (!l->size) {
		*l = *upper;
		return;
	}
	s->bracket[upper->bottom].below = l->top;
	s->bracket[l->top].above = upper->bottom;
	l->top = upper->top;
	l->size += upper->size;
}

/* Takes the brackets of all children, and what they lead to: hi, next_hi. */
static void join_children(struct search *s, uint32_t n)
{
	for (uint32_t i = s->around.first[n]; i < s->around.first[n + 1]; i++) {
		uint32_t child = other_end(s->g, s->around.edge[i], n);

		if (s->up[child] != s->around.edge[i])
			continue;
		concatenate(s, &s->list[n], &s->list[child]);
		if (s->hi[child] < s->hi[n]) {
			s->next_hi[n] = s->hi[n];
			s->hi[n] = s->hi[child];
		} else if (s->hi[child] < s->next_hi[n]) {
			s->next_hi[n] = s->hi[child];
		}
	}
}

static bool is_back_edge(const struct search *s, uint32_t n, uint32_t edge)
{
	uint32_t other = other_end(s->g, edge, n);

	return other != n && s->up[n] != edge && s->up[other] != edge;
}

/* One step of the algorithm: node n, after all of its descendants. */
static void visit(struct search *s, uint32_t n)
{
	const struct graph *g = s->g;
	struct bracket_list *l = &s->list[n];
	uint32_t own_hi = NONE;

	join_children(s, n);
	for (uint32_t from = s->cap[n]; from != NONE; from = s->next_cap[from])
		take_out(s, l, g->nedges + from);
	for (uint32_t i = s->around.first[n]; i < s->around.first[n + 1]; i++) {
		uint32_t e = s->around.edge[i];

		if (!is_back_edge(s, n, e) || s->number[other_end(g, e, n)] < s->number[n])
			continue;
		take_out(s, l, e);
		if (s->class[e] == NONE)
			s->class[e] = s->nclasses++;
	}
	for (uint32_t i = s->around.first[n]; i < s->around.first[n + 1]; i++) {
		uint32_t e = s->around.edge[i], to = s->number[other_end(g, e, n)];

		if (!is_back_edge(s, n, e) || to > s->number[n])
			continue;
		push(s, l, e);
		own_hi = to < own_hi ? to : own_hi;
	}
	if (s->next_hi[n] < own_hi && s->next_hi[n] < s->number[n]) {
		uint32_t end = s->node[s->next_hi[n]];

		push(s, l, g->nedges + n);
		s->next_cap[n] = s->cap[end];
		s->cap[end] = n;
	}
	s->hi[n] = own_hi < s->hi[n] ? own_hi : s->hi[n];
	if (s->up[n] == NONE)
		return;
	assert(l->size); /* an edge of a strongly connected graph lies on a cycle */
	struct bracket *top = &s->bracket[l->top];
	if (top->recent_size != l->size) {
		top->recent_size = l->size;
		top->recent_class = s->nclasses++;
	}
	s->class[s->up[n]] = top->recent_class;
	if (l->size == 1 && l->top < g->nedges)
		s->class[l->top] = top->recent_class;
}

/* Classes of all edges of a strongly connected graph; returns how many numbers they are below. */
static uint32_t find_classes(const struct graph *g, uint32_t root, uint32_t *class)
{
	struct search s = { .g = g,
			    .around = list_edges(g, true),
			    .number = same_numbers(g->nnodes, NONE),
			    .node = numbers(g->nnodes),
			    .up = numbers(g->nnodes),
			    .hi = same_numbers(g->nnodes, NONE),
			    .next_hi = same_numbers(g->nnodes, NONE),
			    .cap = same_numbers(g->nnodes, NONE),
			    .next_cap = numbers(g->nnodes),
			    .list = x_calloc(g->nnodes, sizeof(*s.list)),
			    .bracket =
				x_malloc(((size_t)g->nedges + g->nnodes) * sizeof(*s.bracket)),
			    .class = class };

	number_nodes(&s, root);
	for (uint32_t n = 0; n < g->nnodes; n++)
		s.list[n].top = s.list[n].bottom = NONE;
	for (uint32_t i = g->nnodes; i-- > 0;)
		visit(&s, s.node[i]);
	free_lists(&s.around);
	free(s.number);
	free(s.node);
	free(s.up);
	free(s.hi);
	free(s.next_hi);
	free(s.cap);
	free(s.next_cap);
	free(s.list);
	free(s.bracket);
	return s.nclasses;
}

static struct graph new_graph(uint32_t nnodes, size_t room)
{
	return (struct graph){ .nnodes = nnodes, .from = numbers(room), .to = numbers(room) };
}

static void free_graph(struct graph *g)
{
	free(g->from);
	free(g->to);
}

/* Numbers the classes of blocks and edges from 0 on, as they come. */
static uint32_t number_classes(uint32_t *block_class, uint32_t nblocks, uint32_t *edge_class,
			       uint32_t nedges, uint32_t room)
{
	uint32_t *number = same_numbers(room, NONE), count = 0;

	for (uint32_t b = 0; b < nblocks; b++) {
		if (number[block_class[b]] == NONE)
			number[block_class[b]] = count++;
		block_class[b] = number[block_class[b]];
	}
	for (uint32_t e = 0; e < nedges; e++) {
		if (number[edge_class[e]] == NONE)
			number[edge_class[e]] = count++;
		edge_class[e] = number[edge_class[e]];
	}
	free(number);
	return count;
}

uint32_t calc_classes(const struct cfg *c, uint32_t *block_class, uint32_t *edge_class)
{
	const uint32_t outside = c->nblocks;

	if (c->missing) {
		for (uint32_t b = 0; b < c->nblocks; b++)
			block_class[b] = b;
		for (uint32_t e = 0; e < c->nedges; e++)
			edge_class[e] = c->nblocks + e;
		return c->nblocks + c->nedges;
	}
	struct graph whole = new_graph(c->nblocks + 1, (size_t)c->nedges + 2 * (size_t)c->nblocks);
	for (uint32_t e = 0; e < c->nedges; e++)
		add_edge(&whole, c->edges[e].from == CFG_OUTSIDE ? outside : c->edges[e].from,
			 c->edges[e].to == CFG_OUTSIDE ? outside : c->edges[e].to);
	join_outside(&whole);

	/* node 2b is where block b is entered, 2b + 1 where it is left */
	struct graph split =
	    new_graph(2 * c->nblocks + 1, (size_t)whole.nedges + (size_t)c->nblocks);
	for (uint32_t e = 0; e < whole.nedges; e++)
		add_edge(&split, 2 * whole.from[e] + (whole.from[e] != outside), 2 * whole.to[e]);
	for (uint32_t b = 0; b < c->nblocks; b++)
		add_edge(&split, 2 * b, 2 * b + 1);
	uint32_t *class = same_numbers(split.nedges, NONE);
	const uint32_t room = find_classes(&split, 2 * outside, class);
	for (uint32_t e = 0; e < c->nedges; e++)
		edge_class[e] = class[e];
	for (uint32_t b = 0; b < c->nblocks; b++)
		block_class[b] = class[whole.nedges + b];
	uint32_t count = number_classes(block_class, c->nblocks, edge_class, c->nedges, room);
	free(class);
	free_graph(&whole);
	free_graph(&split);
	return count;
}
