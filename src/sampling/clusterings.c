/* SPDX-License-Identifier: MIT */
/*
 * Clusterings of the same rows for several k: the best of some tries for each, each computed once. The
 * tries are independent of each other and of the other k, so threads share them out without
 * changing anything: the best is the one with the least distortion, the lower number if two are equal.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/clusterings.h"
#include "sampling/kmeans.h"

struct slot {
	bool done;
	unsigned best_try;
	unsigned tried;
	struct clustering best;
};

struct clusterings {
	const struct intervals *v;
	unsigned tries, threads;
	uint64_t seed;
	struct slot *slots; /* by k; 0 is not used */
	unsigned nslots;
};

/* What threads take tries from: those of the k in wanted. */
struct work {
	struct clusterings *c;
	pthread_mutex_t lock;
	const unsigned *wanted;
	size_t next, count; /* tries, of all k together */
};

void clustering_free(struct clustering *c)
{
	free(c->of);
	free(c->centres);
	*c = (struct clustering){ 0 };
}

struct clusterings *clusterings_new(const struct intervals *v, unsigned tries, uint64_t seed,
				    unsigned threads)
{
	struct clusterings *c = x_calloc(1, sizeof(*c));

	c->v = v;
	c->tries = tries ? tries : 1;
	c->seed = seed;
	c->threads = threads ? threads : 1;
	return c;
}

void clusterings_free(struct clusterings *c)
{
	if (!c)
		return;
	for (unsigned k = 0; k < c->nslots; k++)
		clustering_free(&c->slots[k].best);
	free(c->slots);
	free(c);
}

const struct intervals *clusterings_of(const struct clusterings *c)
{
	return c->v;
}

/* Keeps the better one of what is there and `one`; the other is freed. */
static void keep(struct slot *s, struct clustering *one, unsigned try)
{
	const bool first = !s->best.of;
	const bool better = first || one->distortion < s->best.distortion ||
			    (one->distortion == s->best.distortion && try < s->best_try);

	if (better) {
		clustering_free(&s->best);
		s->best = *one;
		s->best_try = try;
	} else {
		clustering_free(one);
	}
}

static void *worker(void *arg)
{
	struct work *w = arg;
	struct clusterings *c = w->c;

	pthread_mutex_lock(&w->lock);
	while (w->next < w->count) {
		const size_t at = w->next++;
		const unsigned k = w->wanted[at / c->tries], try = (unsigned)(at % c->tries);
		struct clustering one = { 0 };

		pthread_mutex_unlock(&w->lock);
		kmeans(c->v, k, c->seed, try, &one);
		pthread_mutex_lock(&w->lock);
		keep(&c->slots[k], &one, try);
		/* The last one to arrive makes the score. */
		if (++c->slots[k].tried == c->tries) {
			struct clustering *best = &c->slots[k].best;

			best->bic = bic_score(c->v, best);
			c->slots[k].done = true;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void compute(struct clusterings *c, const unsigned *wanted, size_t count)
{
	struct work w = { .c = c,
			  .lock = PTHREAD_MUTEX_INITIALIZER,
			  .wanted = wanted,
			  .count = count * c->tries };
	const size_t most = w.count < c->threads ? w.count : c->threads;
	pthread_t *threads = x_malloc(most * sizeof(*threads) + 1);
	size_t started = 0;

	/* This thread works too. If the host has no more threads, fewer do it. */
	while (started + 1 < most && !pthread_create(&threads[started], NULL, worker, &w))
		started++;
	worker(&w);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void make_room(struct clusterings *c, unsigned k)
{
	if (k < c->nslots)
		return;
	c->slots = x_realloc(c->slots, (k + 1) * sizeof(*c->slots));
	memset(c->slots + c->nslots, 0, (k + 1 - c->nslots) * sizeof(*c->slots));
	c->nslots = k + 1;
}

const struct clustering *clusterings_get(struct clusterings *c, unsigned k)
{
	make_room(c, k);
	if (!c->slots[k].done)
		compute(c, &k, 1);
	return &c->slots[k].best;
}

void clusterings_fill(struct clusterings *c, unsigned max_k)
{
	unsigned *wanted = x_malloc((max_k + 1) * sizeof(*wanted));
	size_t count = 0;

	make_room(c, max_k);
	/* The longest first, so that threads end together. */
	for (unsigned k = max_k; k; k--)
		if (!c->slots[k].done)
			wanted[count++] = k;
	if (count)
		compute(c, wanted, count);
	free(wanted);
}

void clustering_sizes(const struct intervals *v, const struct clustering *c, uint64_t *intervals)
{
	memset(intervals, 0, c->k * sizeof(*intervals));
	for (size_t i = 0; i < v->count; i++)
		intervals[c->of[i]]++;
}

void clustering_weights(const struct intervals *v, const struct clustering *c, double *weights)
{
	uint64_t *insts = x_calloc(c->k, sizeof(*insts));
	uint64_t total = 0;

	for (size_t i = 0; i < v->count; i++) {
		insts[c->of[i]] += v->insts[i];
		total += v->insts[i];
	}
	for (unsigned i = 0; i < c->k; i++)
		weights[i] = (double)insts[i] / (double)total;
	free(insts);
}

static double to_centre(const struct intervals *v, const struct clustering *c, size_t i)
{
	return row_distance(v->rows + i * v->dims, c->centres + (size_t)c->of[i] * v->dims,
			    v->dims);
}

void clustering_spread(const struct intervals *v, const struct clustering *c, double *spread)
{
	uint64_t *sizes = x_calloc(c->k, sizeof(*sizes));

	clustering_sizes(v, c, sizes);
	for (unsigned i = 0; i < c->k; i++)
		spread[i] = 0;
	for (size_t i = 0; i < v->count; i++)
		spread[c->of[i]] += to_centre(v, c, i);
	for (unsigned i = 0; i < c->k; i++)
		spread[i] /= (double)sizes[i];
	free(sizes);
}

void clustering_closest(const struct intervals *v, const struct clustering *c, size_t *closest)
{
	double *least = x_malloc(c->k * sizeof(*least));

	for (unsigned i = 0; i < c->k; i++)
		closest[i] = SIZE_MAX;
	for (size_t i = 0; i < v->count; i++) {
		const double d = to_centre(v, c, i);
		const uint32_t to = c->of[i];

		if (closest[to] == SIZE_MAX || d < least[to]) {
			closest[to] = i;
			least[to] = d;
		}
	}
	free(least);
}

size_t clustering_members(const struct intervals *v, const struct clustering *c, uint32_t cluster,
			  uint64_t seed, size_t **order)
{
	size_t count = 0, first = 0;
	size_t *list = x_malloc(v->count * sizeof(*list) + 1);
	struct rng r;

	for (size_t i = 0; i < v->count; i++) {
		if (c->of[i] != cluster)
			continue;
		list[count] = i;
		if (to_centre(v, c, i) < to_centre(v, c, list[first]))
			first = count;
		count++;
	}
	rng_seed(&r, hash_u64(hash_u64(seed) + cluster));
	if (count) {
		const size_t closest = list[first];

		list[first] = list[0];
		list[0] = closest;
	}
	for (size_t left = count; left > 2; left--) {
		const size_t pick = 1 + (size_t)rng_below(&r, left - 1);
		const size_t other = list[left - 1];

		list[left - 1] = list[pick];
		list[pick] = other;
	}
	*order = list;
	return count;
}
