/* SPDX-License-Identifier: MIT */
/*
 * k-means to convergence, after Lloyd, with k-means++ for the initial centres (Arthur and
 * Vassilvitskii 2007).
 *
 * - Initial centres: seed, k and the number of the try seed a generator. The first centre is a row
 *   drawn from all with equal chances; each further one is a row drawn with a chance that goes with its
 *   squared distance to the nearest centre so far. When every row equals a centre there are no more:
 *   fewer rows differ than clusters were asked for. Rows are equal if they differ by rounding alone, one
 *   part in 10^12 of the largest number.
 * - Each round gives every row to the nearest centre (of equally near ones the lowest number) and puts
 *   every centre at the mean of its rows, added up from the first row on. It ends when no row changes
 *   its cluster.
 * - A cluster that loses all its rows takes the row that is farthest from its own centre (of equally
 *   far ones the first) out of a cluster that has others.
 * - Clusters are numbered by their first row at the end.
 *
 * Speed comes from bounds, after Hamerly (2010) and Ding and others ("Yinyang k-means", 2015). Each row
 * has an upper bound of its distance to its own centre, and for each block of eight centres a lower
 * bound of that to any other of them. They move with the centres; a block is looked at only if its
 * bound is not above the row's own, and a row only if some block is and its centre has another one
 * within twice the distance. Computed squared distances are exact to (columns + 2) units of the last
 * place, and bounds must differ by one part in 10^10 to count, so that rounding never decides: the
 * result is that of the plain method, to the bit.
 */
#include "sampling/kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	    8 /* centres at a time: four pairs */
#define MARGIN	    1e-10
#define EQUAL	    1e-12
#define ROUNDS_MOST 10000 /* rounding could let two clusterings alternate */

struct lloyd {
	const struct intervals *v;
	bool plain;
	unsigned k;
	size_t blocks;	 /* of centres */
	double *centres; /* k x dims */
	/* blocks x dims x BLOCK: the same by block and column; infinitely far beyond k */
	double *columns;
	uint32_t *of;
	uint64_t *sizes;
	bool *changed; /* clusters that lost or got rows */
	double *upper; /* of each row: distance to its centre at most */
	double *lower; /* rows x blocks: distance to any other centre of the block at least */
	double *moved; /* of each centre: its way in the last round */
	double *half;  /* of each centre: half the way to the next one */
	double *fresh; /* dims */
	double tiny;   /* rows whose squared distance is not above this are equal */
};

double row_distance(const double *a, const double *b, unsigned dims)
{
	double sum = 0;

	for (unsigned j = 0; j < dims; j++)
		sum += (a[j] - b[j]) * (a[j] - b[j]);
	return sum;
}

static const double *row_of(const struct lloyd *l, size_t i)
{
	return l->v->rows + i * l->v->dims;
}

/* Two numbers at a time, as every 64-bit host can. Each sum is by itself, so that it is that of
 * row_distance. Left to the compiler, a clustering takes 1.5 times as long. */
typedef double pair __attribute__((vector_size(16)));

/* Squared distances of a row to the centres of a block. */
static void block_distances(const struct lloyd *l, const double *row, size_t block, double *out)
{
	const unsigned dims = l->v->dims;
	const pair *column = (const pair *)(l->columns + block * dims * BLOCK);
	pair a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

	for (unsigned j = 0; j < dims; j++, column += BLOCK / 2) {
		const pair x = { row[j], row[j] };

		a += (x - column[0]) * (x - column[0]);
		b += (x - column[1]) * (x - column[1]);
		c += (x - column[2]) * (x - column[2]);
		d += (x - column[3]) * (x - column[3]);
	}
	const pair sums[] = { a, b, c, d };

	memcpy(out, sums, sizeof(sums));
}

static void set_centre(struct lloyd *l, unsigned c, const double *to)
{
	for (unsigned j = 0; j < l->v->dims; j++) {
		l->centres[(size_t)c * l->v->dims + j] = to[j];
		l->columns[(c / BLOCK * l->v->dims + j) * BLOCK + c % BLOCK] = to[j];
	}
}

/* The row at which the running sum of `weights` passes a random part of their total. Those that are
 * not above `least` count as nothing; count: all do. */
static size_t draw(struct rng *r, const double *weights, size_t count, double least)
{
	double total = 0;

	for (size_t i = 0; i < count; i++)
		total += weights[i] > least ? weights[i] : 0;
	if (!(total > 0))
		return count;
	const double at = (double)(rng_next(r) >> 11) * 0x1p-53 * total;
	double sum = 0;
	size_t last = 0;

	for (size_t i = 0; i < count; i++) {
		if (!(weights[i] > least))
			continue;
		sum += weights[i];
		last = i;
		if (sum > at)
			break;
	}
	return last;
}

/* Nothing is known of any distance. */
static void forget_bounds(struct lloyd *l)
{
	for (size_t i = 0; i < l->v->count; i++)
		l->upper[i] = INFINITY;
	memset(l->lower, 0, l->v->count * l->blocks * sizeof(*l->lower));
}

/* Picks the centres, and gives each row to the nearest. `upper` serves as the squared distance to it. */
static void begin(struct lloyd *l, uint64_t seed, unsigned try)
{
	const size_t count = l->v->count;
	const unsigned wanted = l->k, dims = l->v->dims;
	struct rng r;

	rng_seed(&r, hash_u64(hash_u64(seed) + ((uint64_t)l->k << 32) + try));
	size_t pick = (size_t)rng_below(&r, count);

	for (size_t i = 0; i < count; i++)
		l->upper[i] = INFINITY;
	for (l->k = 0; l->k < wanted; l->k++) {
		if (l->k)
			pick = draw(&r, l->upper, count, l->tiny);
		if (pick == count)
			break;
		const double *centre = row_of(l, pick);

		set_centre(l, l->k, centre);
		for (size_t i = 0; i < count; i++) {
			const double d = row_distance(row_of(l, i), centre, dims);

			if (d < l->upper[i]) {
				l->upper[i] = d;
				l->of[i] = l->k;
			}
		}
	}
	for (size_t i = 0; i < count; i++)
		l->sizes[l->of[i]]++;
	for (unsigned c = 0; c < l->k; c++)
		l->changed[c] = true;
	forget_bounds(l);
}

static void move_row(struct lloyd *l, size_t i, unsigned to)
{
	const unsigned from = l->of[i];

	l->sizes[from]--;
	l->sizes[to]++;
	l->changed[from] = l->changed[to] = true;
	l->of[i] = to;
}

/* Puts the centre of each cluster that changed at the mean of its rows. */
static void update_centres(struct lloyd *l)
{
	const unsigned dims = l->v->dims;
	double *sums = x_calloc((size_t)l->k * dims, sizeof(*sums));

	for (size_t i = 0; i < l->v->count; i++) {
		const double *row = row_of(l, i);
		double *sum = sums + (size_t)l->of[i] * dims;

		if (!l->changed[l->of[i]])
			continue;
		for (unsigned j = 0; j < dims; j++)
			sum[j] += row[j];
	}
	for (unsigned c = 0; c < l->k; c++) {
		l->moved[c] = 0;
		if (!l->changed[c] || !l->sizes[c])
			continue;
		for (unsigned j = 0; j < dims; j++)
			l->fresh[j] = sums[(size_t)c * dims + j] / (double)l->sizes[c];
		l->moved[c] = sqrt(row_distance(l->fresh, l->centres + (size_t)c * dims, dims));
		set_centre(l, c, l->fresh);
		l->changed[c] = false;
	}
	free(sums);
}

/* Gives a cluster without rows the one that is farthest from its centre. False: no row is far from
 * its centre. */
static bool fill_cluster(struct lloyd *l, unsigned empty)
{
	const unsigned dims = l->v->dims;
	size_t farthest = 0;
	double most = l->tiny;

	for (size_t i = 0; i < l->v->count; i++) {
		const double *centre = l->centres + (size_t)l->of[i] * dims;
		const double d = row_distance(row_of(l, i), centre, dims);

		if (d > most && l->sizes[l->of[i]] > 1) {
			most = d;
			farthest = i;
		}
	}
	if (!(most > l->tiny))
		return false;
	move_row(l, farthest, empty);
	update_centres(l);
	return true;
}

/* True if a row changed its cluster for that. */
static bool fill_empty(struct lloyd *l)
{
	bool filled = false;

	for (unsigned c = 0; c < l->k; c++)
		if (!l->sizes[c])
			filled |= fill_cluster(l, c);
	/* Centres moved more than once: the bounds are worth nothing. */
	if (filled)
		forget_bounds(l);
	return filled;
}

/* Half the distance of each centre to the nearest other one. */
static void separate_centres(struct lloyd *l)
{
	const unsigned dims = l->v->dims;

	for (unsigned c = 0; c < l->k; c++) {
		double least = INFINITY;

		for (size_t b = 0; b < l->blocks; b++) {
			double near[BLOCK];

			block_distances(l, l->centres + (size_t)c * dims, b, near);
			for (unsigned i = 0; i < BLOCK; i++)
				if (b * BLOCK + i != c && near[i] < least)
					least = near[i];
		}
		l->half[c] = sqrt(least) / 2;
	}
}

/* Whether one distance is surely the shorter one, given bounds of both. */
static bool surely_below(double upper, double lower)
{
	return upper < lower * (1 - MARGIN);
}

/* The nearest centre of a row so far. */
struct nearest {
	double square, distance;
	unsigned centre;
};

/* A centre that is no longer the nearest is one of the others of its block. */
static void put_back(struct lloyd *l, size_t i, const struct nearest *n)
{
	double *bound = l->lower + i * l->blocks + n->centre / BLOCK;

	if (n->distance < *bound)
		*bound = n->distance;
}

/* Compares a row with the centres of a block but the one that it is in, and sets the block's bound. */
static void look_at(struct lloyd *l, size_t i, size_t block, struct nearest *n)
{
	double near[BLOCK], first = INFINITY, second = INFINITY;
	unsigned closest = 0;

	block_distances(l, row_of(l, i), block, near);
	for (unsigned at = 0; at < BLOCK; at++) {
		if (block * BLOCK + at == l->of[i])
			continue;
		if (near[at] < first) {
			second = first;
			first = near[at];
			closest = (unsigned)(block * BLOCK) + at;
		} else if (near[at] < second) {
			second = near[at];
		}
	}
	double *bound = l->lower + i * l->blocks + block;

	*bound = sqrt(first);
	if (first > n->square || (first == n->square && closest > n->centre))
		return;
	*bound = sqrt(second);
	put_back(l, i, n);
	*n = (struct nearest){ .square = first, .distance = sqrt(first), .centre = closest };
}

/* Gives a row to the nearest centre; true if that is another one. */
static bool assign(struct lloyd *l, size_t i)
{
	const double *own = l->centres + (size_t)l->of[i] * l->v->dims;
	const double square = row_distance(row_of(l, i), own, l->v->dims);
	const struct nearest before = { square, sqrt(square), l->of[i] };
	struct nearest n = before;

	if (!surely_below(n.distance, l->half[l->of[i]]))
		for (size_t b = 0; b < l->blocks; b++)
			if (l->plain || !surely_below(n.distance, l->lower[i * l->blocks + b]))
				look_at(l, i, b, &n);
	l->upper[i] = n.distance;
	if (n.centre == l->of[i])
		return false;
	/* Once more: its block may have been looked at after another one had the nearest. */
	put_back(l, i, &before);
	move_row(l, i, n.centre);
	return true;
}

/* One pass over all rows; true if any changed its cluster. */
static bool assign_all(struct lloyd *l)
{
	double *most =
	    x_calloc(l->blocks, sizeof(*most)); /* longest way of a centre of each block */
	bool any = false;

	for (unsigned c = 0; c < l->k; c++)
		if (l->moved[c] > most[c / BLOCK])
			most[c / BLOCK] = l->moved[c];
	if (!l->plain)
		separate_centres(l);
	for (size_t i = 0; i < l->v->count; i++) {
		double *lower = l->lower + i * l->blocks, least = INFINITY;

		l->upper[i] += l->moved[l->of[i]];
		for (size_t b = 0; b < l->blocks; b++) {
			lower[b] -= most[b];
			least = lower[b] < least ? lower[b] : least;
		}
		if (!l->plain && (surely_below(l->upper[i], least) ||
				  surely_below(l->upper[i], l->half[l->of[i]])))
			continue;
		any |= assign(l, i);
	}
	free(most);
	return any;
}

/* Numbers clusters by their first row, drops those without rows, and hands the result over. */
static void finish(struct lloyd *l, struct clustering *out)
{
	const unsigned dims = l->v->dims;
	uint32_t *number = x_malloc(l->k * sizeof(*number));
	double distortion = 0;
	unsigned k = 0;

	memset(number, 0xff, l->k * sizeof(*number));
	out->centres = x_malloc((size_t)l->k * dims * sizeof(double));
	for (size_t i = 0; i < l->v->count; i++) {
		const double *centre = l->centres + (size_t)l->of[i] * dims;

		if (number[l->of[i]] == UINT32_MAX) {
			memcpy(out->centres + (size_t)k * dims, centre, dims * sizeof(double));
			number[l->of[i]] = k++;
		}
		l->of[i] = number[l->of[i]];
		distortion += row_distance(row_of(l, i), centre, dims);
	}
	free(number);
	out->k = k;
	out->distortion = distortion;
	out->of = l->of;
}

static void cluster(const struct intervals *v, unsigned k, uint64_t seed, unsigned try, bool plain,
		    struct clustering *out)
{
	const size_t blocks = (k + BLOCK - 1) / BLOCK, columns = blocks * v->dims * BLOCK;
	struct lloyd l = {
		.v = v,
		.plain = plain,
		.k = k,
		.blocks = blocks,
		.centres = x_malloc((size_t)k * v->dims * sizeof(double)),
		.columns = x_aligned(columns * sizeof(double)),
		.of = x_calloc(v->count, sizeof(uint32_t)),
		.sizes = x_calloc(k, sizeof(uint64_t)),
		.changed = x_calloc(k, sizeof(bool)),
		.upper = x_malloc(v->count * sizeof(double)),
		.lower = x_malloc(v->count * blocks * sizeof(double)),
		.moved = x_calloc(k, sizeof(double)),
		.half = x_calloc(k, sizeof(double)),
		.fresh = x_malloc(v->dims * sizeof(double)),
	};
	double largest = 0;

	for (size_t i = 0; i < v->count * v->dims; i++)
		largest = fabs(v->rows[i]) > largest ? fabs(v->rows[i]) : largest;
	l.tiny = v->dims * (EQUAL * largest) * (EQUAL * largest);
	for (size_t i = 0; i < columns; i++)
		l.columns[i] = INFINITY;
	begin(&l, seed, try);
	for (unsigned round = 0; round < ROUNDS_MOST; round++) {
		update_centres(&l);
		const bool filled = fill_empty(&l);

		if (!assign_all(&l) && !filled)
			break;
	}
	finish(&l, out);
	free(l.centres);
	free(l.columns);
	free(l.sizes);
	free(l.changed);
	free(l.upper);
	free(l.lower);
	free(l.moved);
	free(l.half);
	free(l.fresh);
}

void kmeans(const struct intervals *v, unsigned k, uint64_t seed, unsigned try,
	    struct clustering *out)
{
	cluster(v, k, seed, try, false, out);
}

void kmeans_plain(const struct intervals *v, unsigned k, uint64_t seed, unsigned try,
		  struct clustering *out)
{
	cluster(v, k, seed, try, true, out);
}
