/* SPDX-License-Identifier: MIT */
/*
 * Shares of costs by function. An instruction's share of a lane's time is how much later it commits in
 * that lane than the instruction before it; but what passes after a flush until instructions come again
 * is the one's that flushed. Its share of a cost is the difference between its shares of
 * the real and of the idealised machine.
 *
 * All lanes are looked at in sampled batches only; the real machine's time is known of every instruction.
 * So what a function's samples cost is scaled to its real time, which is exact: by FACTOR_MOST at most, as
 * few samples say little; time beyond that costs what the run's costs in the mean. What is then missing of
 * the run's cost, which is known too, goes to all functions by their time. So shares add up to the run's
 * cost in every lane.
 */
#include "analysis/icost/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/util.h"

#define SETS	    (1 + GRAPH_CATEGORIES + GRAPH_CATEGORIES * (GRAPH_CATEGORIES - 1) / 2)
#define ROWS	    (1u << 15)
#define TOGETHER    64 /* instructions that go through the graph at once */
#define FACTOR_MOST 2
#define TIMES_FIRST 4096

struct place_row {
	uint64_t pc; /* 0: free */
	double time[SETS];
};

/* The real time of a stretch of code. */
struct place_time {
	uint64_t pc; /* 0: free */
	uint64_t units;
};

struct places {
	unsigned lane[SETS];
	struct place_row *rows;
	size_t nrows;
	struct place_time *times;  /* a hash table */
	size_t ntimes, times_room; /* room: a power of two */
};

struct places *places_new(void)
{
	struct places *p = x_calloc(1, sizeof(*p));
	unsigned n = 0;
	p->rows = x_calloc(ROWS, sizeof(*p->rows));
	p->times_room = TIMES_FIRST;
	p->times = x_calloc(p->times_room, sizeof(*p->times));
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
		if (__builtin_popcount(lane) <= 2)
			p->lane[n++] = lane;
	return p;
}

void places_free(struct places *p)
{
	if (!p)
		return;
	free(p->rows);
	free(p->times);
	free(p);
}

/* The row of an instruction; NULL if the table is full. */
static struct place_row *row_of(struct places *p, uint64_t pc)
{
	size_t i = hash_u64(pc) % ROWS;
	while (p->rows[i].pc && p->rows[i].pc != pc)
		i = (i + 1) % ROWS;
	if (!p->rows[i].pc) {
		if (p->nrows > ROWS * 3 / 4)
			return NULL;
		p->nrows++;
		p->rows[i].pc = pc;
	}
	return &p->rows[i];
}

/* Adds the time of one instruction: from then to now in each lane. */
static void add(struct place_row *before, struct place_row *here, const uint64_t *now,
		const uint64_t *then, uint64_t held, unsigned weight)
{
	for (unsigned k = 0; k < SETS; k++) {
		const uint64_t all = now[k] - then[k], rest = min_u64(all, held);

		if (here)
			here->time[k] += (double)(rest * weight);
		if (before)
			before->time[k] += (double)((all - rest) * weight);
	}
}

void places_add(struct places *p, struct graph *g, const struct graph_inst *in, const uint64_t *pcs,
		const uint16_t *held, size_t count, unsigned weight)
{
	struct place_row *last = NULL;
	uint64_t before[SETS];

	for (unsigned k = 0; k < SETS; k++)
		before[k] = graph_commit(g, p->lane[k]);
	for (size_t i = 0, n; i < count; i += n) {
		uint64_t commits[TOGETHER][SETS];

		n = min_u64(count - i, TOGETHER);
		graph_add_commits(g, in + i, n, p->lane, SETS, commits[0]);
		for (size_t j = 0; j < n; j++) {
			struct place_row *r = row_of(p, pcs[i + j]);

			add(last, r, commits[j], j ? commits[j - 1] : before,
			    held[i + j] == PLACES_NOT_HELD ? UINT64_MAX : held[i + j], weight);
			last = r;
		}
		memcpy(before, commits[n - 1], sizeof(before));
	}
}

static struct place_time *time_of(struct place_time *times, size_t room, uint64_t pc)
{
	size_t i = hash_u64(pc) & (room - 1);

	while (times[i].pc && times[i].pc != pc)
		i = (i + 1) & (room - 1);
	return &times[i];
}

static void more_times(struct places *p)
{
	const size_t room = 2 * p->times_room;
	struct place_time *times = x_calloc(room, sizeof(*times));

	for (size_t i = 0; i < p->times_room; i++)
		if (p->times[i].pc)
			*time_of(times, room, p->times[i].pc) = p->times[i];
	free(p->times);
	p->times = times;
	p->times_room = room;
}

void places_time(struct places *p, uint64_t pc, uint64_t units)
{
	struct place_time *t = time_of(p->times, p->times_room, pc);

	t->units += units;
	if (t->pc || !pc)
		return;
	t->pc = pc;
	if (++p->ntimes > p->times_room / 2)
		more_times(p);
}

static int by_pc(const void *x, const void *y)
{
	const struct place_row *a = x, *b = y;
	return (a->pc > b->pc) - (a->pc < b->pc);
}

static int by_start(const void *x, const void *y)
{
	const struct place_time *a = x, *b = y;
	return (a->pc > b->pc) - (a->pc < b->pc);
}

/* A function, or a stretch of code without a name. */
struct function {
	uint64_t pc;
	double cycles;	   /* real ones, in units */
	double sampled;	   /* cycles of its samples */
	double cost[SETS]; /* that the samples have in a lane's set */
};

/* Sorts both tables, and joins what lies in one function. Returns how many there are. */
static size_t join(struct places *p, struct images *images, struct function **out)
{
	size_t nrows = 0, ntimes = 0, n = 0, row = 0;
	struct function *list = x_calloc(p->ntimes + 1, sizeof(*list));

	for (size_t i = 0; i < ROWS; i++)
		if (p->rows[i].pc)
			p->rows[nrows++] = p->rows[i];
	for (size_t i = 0; i < p->times_room; i++)
		if (p->times[i].pc)
			p->times[ntimes++] = p->times[i];
	qsort(p->rows, nrows, sizeof(*p->rows), by_pc);
	qsort(p->times, ntimes, sizeof(*p->times), by_start);
	for (size_t i = 0, next; i < ntimes; i = next) {
		struct function *f = &list[n++];
		uint64_t end = images ? images_place(images, p->times[i].pc).end : 0;

		f->pc = p->times[i].pc;
		f->cycles = (double)p->times[i].units;
		for (next = i + 1; next < ntimes && p->times[next].pc < end; next++)
			f->cycles += (double)p->times[next].units;
		if (next < ntimes && end <= f->pc)
			end = p->times[next].pc;
		while (row < nrows && p->rows[row].pc < f->pc)
			row++;
		for (; row < nrows && (p->rows[row].pc < end || next == ntimes); row++) {
			f->sampled += p->rows[row].time[0];
			for (unsigned k = 0; k < SETS; k++)
				f->cost[k] += p->rows[row].time[0] - p->rows[row].time[k];
		}
	}
	*out = list;
	return n;
}

/* The costs that samples have become those of the whole time: see the head of this file. */
static void weigh(struct function *list, size_t n, const double mean[SETS])
{
	double cycles = 0, sampled = 0;

	for (size_t i = 0; i < n; i++) {
		cycles += list[i].cycles;
		sampled += list[i].sampled;
	}
	const double scale = sampled > 0 ? cycles / sampled : 0;

	for (size_t i = 0; i < n; i++) {
		struct function *f = &list[i];
		const double factor =
		    f->sampled > 0 ? fmin(f->cycles / (f->sampled * scale), FACTOR_MOST) : 0;

		for (unsigned k = 0; k < SETS; k++)
			f->cost[k] = factor * f->cost[k] * scale +
				     mean[k] * (f->cycles - factor * f->sampled * scale);
	}
}

bool places_store(struct places *p, struct store *store, struct images *images,
		  const uint64_t lengths[GRAPH_LANES], double scale, struct err *e)
{
	struct function *list;
	const size_t n = join(p, images, &list);
	double cycles = 0, mean[SETS], missing[SETS];
	bool ok = true;

	for (size_t i = 0; i < n; i++)
		cycles += list[i].cycles;
	for (unsigned k = 0; k < SETS; k++)
		mean[k] = lengths[0] ? ((double)lengths[0] - (double)lengths[p->lane[k]]) /
					   (double)lengths[0]
				     : 0;
	weigh(list, n, mean);
	for (unsigned k = 0; k < SETS; k++) {
		double found = 0;

		for (size_t i = 0; i < n; i++)
			found += list[i].cost[k];
		missing[k] = cycles > 0 ? mean[k] - found / cycles : 0;
	}
	/* The graph's cycles differ a little from the run's. */
	scale *= cycles > 0 ? (double)lengths[0] / cycles : 0;
	for (size_t i = 0; ok && i < n; i++)
		for (unsigned k = 0; ok && k < SETS; k++) {
			const double cost = p->lane[k]
						? list[i].cost[k] + missing[k] * list[i].cycles
						: list[i].cycles;

			if (cost != 0)
				ok = store_insert(store, e, "icost_place", "iid",
						  (int64_t)list[i].pc, (int64_t)p->lane[k],
						  cost * scale);
		}
	free(list);
	return ok;
}
