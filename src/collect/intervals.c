/* SPDX-License-Identifier: MIT */
/*
 * Persistent treaps: binary search trees by address, heaps by a keyed hash of the address. A node
 * has as many references as there are parents and roots that name it; one that has several is
 * copied before it is changed, so that only the path to a change is ever copied. Nodes are indices
 * of one array: 40 bytes each, and nothing else is allocated for a fork.
 *
 * Recursion is as deep as a tree, about twice the logarithm of its size: the hash is keyed.
 */
#include "collect/intervals.h"

#include <assert.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/util.h"

struct node {
	uint64_t start, end, base;
	uint32_t what;
	uint32_t left, right; /* left: next of the free list */
	uint32_t refs;
};

struct range_sets {
	struct node *nodes; /* [0] is not used */
	size_t count, capacity, used;
	uint32_t free;
	uint64_t seed;
};

struct range_sets *range_sets_new(uint64_t seed)
{
	struct range_sets *p = x_calloc(1, sizeof(*p));

	p->seed = seed;
	p->count = 1;
	ARRAY_ROOM(p->nodes, p->capacity, 64);
	p->nodes[0] = (struct node){ 0 };
	return p;
}

void range_sets_free(struct range_sets *p)
{
	if (!p)
		return;
	free(p->nodes);
	free(p);
}

static uint64_t rank(const struct range_sets *p, uint32_t n)
{
	return hash_u64(p->nodes[n].start ^ p->seed);
}

static uint32_t node_new(struct range_sets *p, struct node content)
{
	uint32_t n = p->free;

	if (n) {
		p->free = p->nodes[n].left;
	} else {
		if (p->count >= UINT32_MAX)
			die("too many mappings for one collector");
		ARRAY_ROOM(p->nodes, p->capacity, p->count + 1);
		n = (uint32_t)p->count++;
	}
	content.refs = 1;
	p->nodes[n] = content;
	p->used++;
	return n;
}

uint32_t range_sets_share(struct range_sets *p, uint32_t root)
{
	if (root) {
		assert(p->nodes[root].refs && p->nodes[root].refs < UINT32_MAX);
		p->nodes[root].refs++;
	}
	return root;
}

void range_sets_drop(struct range_sets *p, uint32_t root)
{
	while (root && --p->nodes[root].refs == 0) {
		const uint32_t left = p->nodes[root].left, right = p->nodes[root].right;

		p->nodes[root].left = p->free;
		p->free = root;
		p->used--;
		range_sets_drop(p, left);
		root = right;
	}
}

/* The node, or a copy of it that nobody else has. */
static uint32_t own(struct range_sets *p, uint32_t n)
{
	if (p->nodes[n].refs == 1)
		return n;
	range_sets_share(p, p->nodes[n].left);
	range_sets_share(p, p->nodes[n].right);
	p->nodes[n].refs--;
	return node_new(p, p->nodes[n]);
}

/* One set of two; all of a lies below all of b. Both are used up. */
static uint32_t join(struct range_sets *p, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a ? a : b;
	if (rank(p, a) > rank(p, b)) {
		a = own(p, a);
		const uint32_t right = join(p, p->nodes[a].right, b);
		p->nodes[a].right = right;
		return a;
	}
	b = own(p, b);
	const uint32_t left = join(p, a, p->nodes[b].left);
	p->nodes[b].left = left;
	return b;
}

/* What lies below `at` and what lies from there on; a range around it is cut in two. t is used up.
 */
static void split(struct range_sets *p, uint32_t t, uint64_t at, uint32_t *below, uint32_t *above)
{
	uint32_t part;

	*below = *above = 0;
	if (!t)
		return;
	t = own(p, t);
	struct node *n = &p->nodes[t];
	if (n->end <= at) {
		split(p, n->right, at, &part, above);
		p->nodes[t].right = part;
		*below = t;
		return;
	}
	if (n->start >= at) {
		split(p, n->left, at, below, &part);
		p->nodes[t].left = part;
		*above = t;
		return;
	}
	struct node rest = *n;
	const uint32_t right = n->right;

	rest.base += at - n->start;
	rest.start = at;
	rest.left = rest.right = 0;
	n->end = at;
	n->right = 0;
	*below = t;
	*above = join(p, node_new(p, rest), right);
}

static bool last(const struct range_sets *p, uint32_t t, struct interval *out)
{
	if (!t)
		return false;
	while (p->nodes[t].right)
		t = p->nodes[t].right;
	const struct node *n = &p->nodes[t];
	*out = (struct interval){ n->start, n->end, n->base, n->what };
	return true;
}

static bool continues(const struct interval *a, const struct interval *b)
{
	return a->end == b->start && a->what == b->what && a->base + (a->end - a->start) == b->base;
}

uint32_t range_sets_set(struct range_sets *p, uint32_t root, struct interval range)
{
	uint32_t below, middle, above, gone;
	struct interval neighbour;

	assert(range.start < range.end);
	split(p, root, range.start, &below, &above);
	split(p, above, range.end, &middle, &above);
	range_sets_drop(p, middle);
	if (last(p, below, &neighbour) && continues(&neighbour, &range)) {
		split(p, below, neighbour.start, &below, &gone);
		range_sets_drop(p, gone);
		range.start = neighbour.start;
		range.base = neighbour.base;
	}
	if (range_sets_next(p, above, range.end, &neighbour) && continues(&range, &neighbour)) {
		split(p, above, neighbour.end, &gone, &above);
		range_sets_drop(p, gone);
		range.end = neighbour.end;
	}
	const uint32_t new = node_new(p, (struct node){ .start = range.start,
							.end = range.end,
							.base = range.base,
							.what = range.what });
	return join(p, join(p, below, new), above);
}

uint32_t range_sets_clear(struct range_sets *p, uint32_t root, uint64_t start, uint64_t end)
{
	uint32_t below, middle, above;

	if (start >= end)
		return root;
	split(p, root, start, &below, &above);
	split(p, above, end, &middle, &above);
	range_sets_drop(p, middle);
	return join(p, below, above);
}

bool range_sets_next(const struct range_sets *p, uint32_t root, uint64_t address,
		     struct interval *out)
{
	uint32_t best = 0;

	for (uint32_t t = root; t;) {
		if (p->nodes[t].end > address) {
			best = t;
			t = p->nodes[t].left;
		} else {
			t = p->nodes[t].right;
		}
	}
	if (!best)
		return false;
	const struct node *n = &p->nodes[best];
	*out = (struct interval){ n->start, n->end, n->base, n->what };
	return true;
}

bool range_sets_find(const struct range_sets *p, uint32_t root, uint64_t address,
		     struct interval *out)
{
	return range_sets_next(p, root, address, out) && out->start <= address;
}

void range_sets_mark(const struct range_sets *p, bool *used, size_t count)
{
	for (size_t i = 1; i < p->count; i++)
		if (p->nodes[i].refs && p->nodes[i].what < count)
			used[p->nodes[i].what] = true;
}

size_t range_sets_bytes(const struct range_sets *p)
{
	return sizeof(*p) + p->capacity * sizeof(p->nodes[0]);
}

size_t range_sets_used(const struct range_sets *p)
{
	return p->used;
}
