/* SPDX-License-Identifier: MIT */
/*
 * Call stacks for exported profiles. The store's tree (analysis `calls`) says on which stacks a
 * function ran and for how many cycles; the profile says what its instructions waited for. The two
 * are joined by function: time of an instruction is divided among the stacks of its function in
 * proportion to their cycles, so that sums by function, line and event stay those of the profile, to
 * the unit. That a function waits for the same things whoever calls it is an assumption.
 *
 * A part is a whole number of cycles. A sample whose time does not go round falls to stacks in turn:
 * its cut points are shifted by the golden ratio from sample to sample.
 */
#include "view/export.h"

#include <stdlib.h>
#include <string.h>

/* More frames than this are no stack: analysis `calls` keeps 512. */
#define DEPTH_MAX 1024

/* Cycles of a context; no sum of them is larger. */
#define CYCLES_MAX (INT64_C(1) << 53)

struct node {
	size_t parent; /* index; EXPORT_NONE: none */
	int64_t function;
	uint64_t cycles, before; /* before: cycles of the nodes of its function in front of it */
	unsigned depth;
};

struct tree {
	struct node *nodes;
	size_t nnodes;
	size_t *by_function; /* nodes with cycles, those of a function in a row */
	size_t nby_function;
};

static int64_t function_at(const struct model *m, uint64_t pc)
{
	const struct model_inst *in = model_inst_at(m, pc);

	return in && model_function_of(m, in->function) ? in->function : -1;
}

static bool read_nodes(struct store *s, const struct model *m, struct tree *t, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT id, parent, pc, cycles FROM call_context ORDER BY id", "");
	int64_t sum = 0;
	bool whole = true;

	while (whole && store_next(&r)) {
		const int64_t parent = store_int(&r, 1), cycles = store_int(&r, 3);
		const size_t above = parent > 0 ? (size_t)parent - 1 : EXPORT_NONE;

		whole = store_int(&r, 0) == (int64_t)t->nnodes + 1 && parent >= 0 &&
			parent <= (int64_t)t->nnodes && cycles >= 0 && cycles <= CYCLES_MAX - sum &&
			(!parent || t->nodes[above].depth < DEPTH_MAX);
		if (!whole)
			break;
		sum += cycles;
		const unsigned depth = parent ? t->nodes[above].depth + 1 : 1;

		*ARRAY_ADD(t->nodes, t->nnodes) = (struct node){
			.parent = above,
			.function = function_at(m, (uint64_t)store_int(&r, 2)),
			.cycles = (uint64_t)cycles,
			.depth = depth,
		};
	}
	if (!store_done(&r, e))
		return false;
	return whole || err_set(e, "the call stacks in the profile are damaged");
}

static int by_function(const void *a, const void *b, void *tree)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct tree *t = tree;

	if (t->nodes[x].function != t->nodes[y].function)
		return t->nodes[x].function < t->nodes[y].function ? -1 : 1;
	return (x > y) - (x < y);
}

static void sort_nodes(struct tree *t)
{
	t->by_function = x_calloc(t->nnodes + 1, sizeof(*t->by_function));
	for (size_t i = 0; i < t->nnodes; i++)
		if (t->nodes[i].cycles)
			t->by_function[t->nby_function++] = i;
	if (t->nby_function)
		qsort_r(t->by_function, t->nby_function, sizeof(*t->by_function), by_function, t);
	for (size_t i = 1; i < t->nby_function; i++) {
		struct node *n = &t->nodes[t->by_function[i]];
		const struct node *last = &t->nodes[t->by_function[i - 1]];

		n->before = n->function == last->function ? last->before + last->cycles : 0;
	}
}

/* A place for every function that is on a stack, where the function itself is called from there: its
 * name without an instruction. Returns the place of each node. */
static size_t *make_places(struct export_profile *p, const struct tree *t, size_t unknown)
{
	size_t *place = x_calloc(t->nnodes + 1, sizeof(*place));
	size_t *of_function = x_calloc(p->model.nfunctions + 1, sizeof(*of_function)); /* + 1 */
	size_t *frame = x_calloc(p->model.nfunctions + 1, sizeof(*frame)); /* + 1: of a place */

	p->places =
	    x_realloc(p->places, (p->nplaces + p->model.nfunctions + 1) * sizeof(*p->places));
	for (size_t i = 0; i < p->model.ninsts; i++) {
		const struct model_function *f =
		    model_function_of(&p->model, p->places[i].function);

		if (f && !frame[f - p->model.functions])
			frame[f - p->model.functions] = i + 1;
	}
	for (size_t i = 0; i < t->nnodes; i++) {
		const struct model_function *f = model_function_of(&p->model, t->nodes[i].function);
		size_t *slot =
		    &of_function[f ? (size_t)(f - p->model.functions) : p->model.nfunctions];

		if (!*slot) {
			struct export_place *at = &p->places[p->nplaces++];

			*at = (struct export_place){ .function = f ? f->id : -1,
						     .image = EXPORT_NONE };
			*slot = p->nplaces;
			/* function_at() found an instruction of it. */
			const struct export_place *known =
			    f ? &p->places[frame[f - p->model.functions] - 1] : NULL;
			const struct export_frame outer = {
				known ? known->frames[known->nframes - 1].function : unknown, 0
			};

			if (known) {
				at->pc = f->start;
				at->image = known->image;
			}
			*ARRAY_ADD(at->frames, at->nframes) = outer;
		}
		place[i] = *slot - 1;
	}
	free(frame);
	free(of_function);
	return place;
}

/* The contexts that a function's instructions are divided among: a place of its own under the caller
 * of each node. Found again by the instruction's place. */
struct joined {
	struct export_profile *p;
	const struct tree *t;
	struct export_sample *samples;
	size_t nsamples;
	uint64_t turn; /* of 2^32: how far cut points are shifted */
	/* Contexts of the last place that was divided, one per node of its function; EXPORT_NONE: not
	 * yet made. */
	size_t *contexts, place;
};

static int64_t function_of(const struct tree *t, size_t k)
{
	return t->nodes[t->by_function[k]].function;
}

/* Nodes of a function: from *first up to what is returned. */
static size_t nodes_of(const struct tree *t, int64_t function, size_t *first)
{
	const size_t begin = ARRAY_SEARCH(t->nby_function, k, function_of(t, k) < function);
	const size_t end = ARRAY_SEARCH(t->nby_function, k, function_of(t, k) <= function);

	*first = begin;
	return end;
}

/* The cycles of a sample that fall to the first `cycles` of all `sum` of its function's stacks. */
static uint64_t cut(uint64_t total, uint64_t cycles, uint64_t sum, uint64_t turn)
{
	const unsigned __int128 exact = (unsigned __int128)total * cycles / sum;
	const unsigned __int128 rest = (unsigned __int128)total * cycles % sum;

	return (uint64_t)exact +
	       ((rest << 32) + (unsigned __int128)sum * turn >= (unsigned __int128)sum << 32);
}

static void divide(struct joined *j, const struct export_sample *s)
{
	struct export_profile *p = j->p;
	const size_t place = p->contexts[s->context].place;
	size_t first, end = nodes_of(j->t, p->places[place].function, &first);

	if (first == end) {
		*ARRAY_ADD(j->samples, j->nsamples) = *s;
		return;
	}
	const struct node *last = &j->t->nodes[j->t->by_function[end - 1]];
	const uint64_t sum = last->before + last->cycles, whole = s->units / p->scale;
	uint64_t done = 0, executions = s->executions, rest = s->units % p->scale;

	if (j->place != place)
		for (size_t k = 0; k < end - first; k++)
			j->contexts[k] = EXPORT_NONE;
	j->place = place;
	for (size_t k = first; k < end; k++) {
		const struct node *n = &j->t->nodes[j->t->by_function[k]];
		const uint64_t to =
		    k + 1 == end ? whole : cut(whole, n->before + n->cycles, sum, j->turn);
		uint64_t part = (to - done) * p->scale;

		/* What is less than a cycle goes to the stack in whose turn it is. */
		if (rest && (k + 1 == end || ((unsigned __int128)(n->before + n->cycles) << 32) >
						 (unsigned __int128)sum * j->turn)) {
			part += rest;
			rest = 0;
		}
		done = to;
		if (!part && !(executions && k + 1 == end))
			continue;
		size_t *context = &j->contexts[k - first];

		if (*context == EXPORT_NONE) {
			*ARRAY_ADD(p->contexts, p->ncontexts) =
			    (struct export_context){ place, n->parent };
			*context = p->ncontexts - 1;
		}
		struct export_sample *to_add = ARRAY_ADD(j->samples, j->nsamples);

		*to_add = *s;
		to_add->context = *context;
		to_add->units = part;
		to_add->executions = executions;
		executions = 0;
	}
	j->turn = (j->turn + 2654435769u) & UINT32_MAX;
}

static int by_place_of(const void *a, const void *b, void *profile)
{
	const struct export_sample *x = a, *y = b;
	const struct export_profile *p = profile;
	const size_t v = p->contexts[x->context].place, w = p->contexts[y->context].place;

	if (v != w)
		return v < w ? -1 : 1;
	if (x->events != y->events)
		return x->events < y->events ? -1 : 1;
	return (x->category > y->category) - (x->category < y->category);
}

/* Contexts of the tree come first, so that a context is always behind its parent. */
static void join(struct export_profile *p, const struct tree *t, const size_t *place)
{
	struct joined j = { .p = p, .t = t, .place = EXPORT_NONE };
	struct export_context *old = p->contexts;
	const size_t nold = p->ncontexts;

	p->contexts = NULL;
	p->ncontexts = 0;
	for (size_t i = 0; i < t->nnodes; i++)
		*ARRAY_ADD(p->contexts, p->ncontexts) =
		    (struct export_context){ place[i], t->nodes[i].parent };
	for (size_t i = 0; i < nold; i++)
		*ARRAY_ADD(p->contexts, p->ncontexts) = old[i];
	free(old);
	for (size_t i = 0; i < p->nsamples; i++)
		p->samples[i].context += t->nnodes;
	if (p->nsamples)
		qsort_r(p->samples, p->nsamples, sizeof(*p->samples), by_place_of, p);
	j.contexts = x_calloc(t->nby_function + 1, sizeof(*j.contexts));
	for (size_t i = 0; i < p->nsamples; i++)
		divide(&j, &p->samples[i]);
	free(p->samples);
	free(j.contexts);
	p->samples = j.samples;
	p->nsamples = j.nsamples;
}

bool export_add_calls(struct store *s, size_t unknown, struct export_profile *p, struct err *e)
{
	struct tree t = { .nodes = NULL };
	const bool ok = read_nodes(s, &p->model, &t, e);

	if (ok && t.nnodes) {
		sort_nodes(&t);
		size_t *place = make_places(p, &t, unknown);

		join(p, &t, place);
		p->calls = true;
		free(place);
	}
	free(t.nodes);
	free(t.by_function);
	return ok;
}
