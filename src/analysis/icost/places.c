/* SPDX-License-Identifier: MIT */
/*
 * Shares of costs by instruction. An instruction's share of a lane's time is how much later it
 * commits in that lane than the instruction before it. Its share of a cost is the difference between
 * its shares of the real and of the idealised machine. The shares of all functions add up to the
 * run's cost. Only sampled batches are looked at.
 */
#include "analysis/icost/places.h"

#include <stdlib.h>
#include <string.h>

#include "util/util.h"

#define SETS	 (1 + GRAPH_CATEGORIES + GRAPH_CATEGORIES * (GRAPH_CATEGORIES - 1) / 2)
#define ROWS	 (1u << 15)
#define TOGETHER 64 /* instructions that go through the graph at once */

struct place_row {
	uint64_t pc; /* 0: free */
	double time[SETS];
};

struct places {
	unsigned lane[SETS];
	struct place_row *rows;
	size_t nrows;
};

struct places *places_new(void)
{
	struct places *p = x_calloc(1, sizeof(*p));
	unsigned n = 0;
	p->rows = x_calloc(ROWS, sizeof(*p->rows));
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

void places_add(struct places *p, struct graph *g, const struct graph_inst *in, const uint64_t *pcs,
		size_t count)
{
	uint64_t before[SETS];
	for (unsigned k = 0; k < SETS; k++)
		before[k] = graph_commit(g, p->lane[k]);
	for (size_t i = 0, n; i < count; i += n) {
		uint64_t commits[TOGETHER][SETS];
		n = min_u64(count - i, TOGETHER);
		graph_add_commits(g, in + i, n, p->lane, SETS, commits[0]);
		for (size_t j = 0; j < n; j++) {
			struct place_row *r = row_of(p, pcs[i + j]);
			const uint64_t *now = commits[j], *then = j ? commits[j - 1] : before;
			for (unsigned k = 0; r && k < SETS; k++)
				r->time[k] += (double)(now[k] - then[k]);
		}
		memcpy(before, commits[n - 1], sizeof(before));
	}
}

static int by_pc(const void *x, const void *y)
{
	const struct place_row *a = x, *b = y;
	return (a->pc > b->pc) - (a->pc < b->pc);
}

bool places_store(struct places *p, struct store *store, struct images *images, uint64_t cycles,
		  struct err *e)
{
	size_t n = 0;
	double total = 0;
	bool ok = true;
	for (size_t i = 0; i < ROWS; i++)
		if (p->rows[i].pc)
			p->rows[n++] = p->rows[i];
	if (!n)
		return true;
	qsort(p->rows, n, sizeof(*p->rows), by_pc);
	for (size_t i = 0; i < n; i++)
		total += p->rows[i].time[0];
	for (size_t i = 0, next; ok && i < n; i = next) {
		double time[SETS];
		const struct place where =
		    images ? images_place(images, p->rows[i].pc) : (struct place){ .end = 0 };
		memcpy(time, p->rows[i].time, sizeof(time));
		for (next = i + 1; next < n && p->rows[next].pc < where.end; next++)
			for (unsigned k = 0; k < SETS; k++)
				time[k] += p->rows[next].time[k];
		for (unsigned k = 0; ok && k < SETS; k++) {
			const double cost = p->lane[k] ? time[0] - time[k] : time[0];
			if (cost != 0)
				ok = store_insert(store, e, "icost_place", "iid",
						  (int64_t)p->rows[i].pc, (int64_t)p->lane[k],
						  total > 0 ? cost * (double)cycles / total : 0);
		}
	}
	return ok;
}
