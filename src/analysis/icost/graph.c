/* SPDX-License-Identifier: MIT */
/*
 * The graph's memory and the arithmetic around the kernels. Before a lane's times could overflow, a
 * base is subtracted from all of them and remembered; where that is not enough, lanes get 32 bits.
 *
 * No time before a lane's last F matters: F, D and C never decrease, D is at least F, and every
 * other node is at least its D. So older times are clipped to a little before F.
 */
#include "analysis/icost/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/icost/graph_int.h"
#include "util/util.h"

#define ROOM	       16384	  /* cycles by which times can grow before a batch is run */
#define BROAD_STAY     4096	  /* instructions before narrow lanes are tried again */
#define BROAD_STAY_MAX (1u << 16) /* that number doubles each time, up to this */
#define FURTHEST       (1u << 30) /* cycles that a lane's C may be before its F */

/* Categories are numbered as the vocabulary numbers costs. */
#define BASE(id, kind) _Static_assert((unsigned)CAT_##id == (unsigned)COST_##id, "one numbering");
#define DERIVED(id, kind, counts)
#include "analysis/icost/categories.def"
#undef BASE
#undef DERIVED

const struct graph_kernel *const graph_kernels[] = { &graph_kernel_avx512, &graph_kernel_avx2,
						     &graph_kernel_c, NULL };

static size_t ring_for(uint64_t reach)
{
	size_t n = 16;
	while (n <= reach)
		n *= 2;
	return n;
}

bool graph_counts(unsigned category, unsigned lane)
{
	switch (category) {
#define IDEAL(id) (lane >> CAT_##id & 1)
#define BASE(id, kind)                                                                             \
	case CAT_##id:                                                                             \
		return !IDEAL(id);
#define DERIVED(id, kind, counts)                                                                  \
	case CAT_##id:                                                                             \
		return counts;
#include "analysis/icost/categories.def"
#undef BASE
#undef DERIVED
	default:
		return true;
	}
}

static void *rows_new(const struct graph *g, size_t lane_bytes)
{
	const size_t size = (size_t)g->rows.count * GRAPH_LANES * lane_bytes;
	void *rows = x_aligned(size);
	memset(rows, 0, size);
	return rows;
}

static uint64_t get(const struct graph *g, unsigned row, unsigned lane)
{
	const void *at = graph_row(g, lane, row);
	return g->width == BROAD ? *(const uint32_t *)at : *(const uint16_t *)at;
}

static void set(const struct graph *g, unsigned row, unsigned lane, uint64_t value)
{
	void *at = graph_row(g, lane, row);
	if (g->width == BROAD)
		*(uint32_t *)at = (uint32_t)value;
	else
		*(uint16_t *)at = (uint16_t)value;
}

static void write_masks(struct graph *g)
{
	for (unsigned k = 0; k < GRAPH_MASKS; k++)
		for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
			set(g, g->rows.masks + k, lane, g->counts[k][lane] ? UINT64_MAX : 0);
	graph_forget_delays(g);
}

struct graph *graph_new(const struct graph_config *config)
{
	struct graph *g = x_calloc(1, sizeof(*g));
	g->config = *config;
	assert(config->fetch_width <= GRAPH_WIDTH_MAX && config->commit_width);
	const size_t c = ring_for(
			 max_u64(max_u64(config->window, config->past), config->commit_width) + 1),
		     grain = ring_for(config->window_ideal / GRAPH_WIN_GRAIN + 2),
		     e = config->issue_edges ? c : 0;
	const size_t size[] = {
		GRAPH_SLOTS, GRAPH_D_MASK + 1, GRAPH_D_GRAIN_MASK + 1,	c, grain, e, LAST_COUNT, 1,
		GRAPH_MASKS, GRAPH_SINGLES,    (size_t)3 * GRAPH_DELAYS
	};
	uint16_t *const first[] = { &g->rows.d,	      &g->rows.d_grain, &g->rows.c,
				    &g->rows.c_grain, &g->rows.e,	&g->rows.last,
				    &g->rows.unread,  &g->rows.masks,	&g->rows.singles,
				    &g->rows.delays,  &g->rows.count };
	size_t rows = 0;
	for (unsigned k = 0; k < ARRAY_LEN(size); k++) {
		rows += size[k];
		assert(rows <= UINT16_MAX);
		*first[k] = (uint16_t)rows;
	}
	g->c_mask = (uint32_t)c - 1;
	g->c_grain_mask = (uint32_t)grain - 1;
	g->memory[NARROW] = rows_new(g, sizeof(uint16_t));
	for (unsigned k = 0; k < GRAPH_MASKS; k++)
		for (unsigned s = 0; s < GRAPH_LANES; s++)
			g->counts[k][graph_inside(s)] = graph_counts(k, s);
	write_masks(g);
	for (const struct graph_kernel *const *k = graph_kernels; !g->kernel; k++)
		if ((*k)->supported())
			g->kernel = *k;
	/* numbers start so high that no distance leads below zero */
	g->start = (GRAPH_D_GRAIN_MASK + 1) * GRAPH_GRAIN + c + grain * GRAPH_WIN_GRAIN;
	graph_reset(g);
	return g;
}

void graph_reset(struct graph *g)
{
	if (g->width == BROAD) {
		g->width = NARROW;
		write_masks(g);
	}
	memset(g->base, 0, sizeof(g->base));
	memset(g->ports, 0, sizeof(g->ports));
	g->count = g->start;
	g->wake = 0;
	g->highest = g->config.depth + 1;
	/* Before the first instruction all times are zero, except the rows of D, which hold D + 1,
	 * and the last D, which is not before F + depth. */
	for (unsigned lane = 0; lane < GRAPH_LANES; lane += GRAPH_BLOCK)
		memset(graph_row(g, lane, 0), 0,
		       (size_t)g->rows.masks * GRAPH_BLOCK * sizeof(uint16_t));
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++) {
		for (unsigned k = 0; k <= GRAPH_D_MASK; k++)
			set(g, g->rows.d + k, lane, 1);
		set(g, g->rows.last + LAST_D, lane, g->config.depth);
	}
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->memory[NARROW]);
	free(g->memory[BROAD]);
	free(g);
}

void graph_use(struct graph *g, const struct graph_kernel *k)
{
	g->kernel = k;
}

void graph_set_mask(struct graph *g, unsigned row, const bool on[GRAPH_LANES])
{
	assert(row < GRAPH_MASKS);
	for (unsigned s = 0; s < GRAPH_LANES; s++) {
		const unsigned lane = graph_inside(s);
		g->counts[row][lane] = on[s];
		set(g, g->rows.masks + row, lane, on[s] ? UINT64_MAX : 0);
	}
	graph_forget_delays(g);
}

uint64_t graph_count(const struct graph *g)
{
	return g->count - g->start;
}

/* ---- room for times to grow ---- */

static uint32_t latest(const struct graph *g, unsigned row)
{
	uint32_t most = 0;
	for (unsigned lane = 0; lane < GRAPH_LANES; lane += GRAPH_BLOCK) {
		const void *at = graph_row(g, lane, row);
		const uint16_t *narrow = at;
		const uint32_t *broad = at;
		uint16_t m = 0;
		for (unsigned k = 0; g->width == NARROW && k < GRAPH_BLOCK; k++)
			m = narrow[k] > m ? narrow[k] : m;
		most = m > most ? m : most;
		for (unsigned k = 0; g->width == BROAD && k < GRAPH_BLOCK; k++)
			most = broad[k] > most ? broad[k] : most;
	}
	return most;
}

/* Lowers g->highest to the latest time of any lane: that of a port, or C and what wake-up adds. */
static void measure(struct graph *g)
{
	uint64_t most = (uint64_t)latest(g, g->rows.last + LAST_C) + g->wake + 1;
	for (unsigned k = 0; k < GRAPH_SLOTS / 64; k++)
		for (uint64_t left = g->ports[k]; left; left &= left - 1)
			most = max_u64(most, latest(g, k * 64 + (unsigned)__builtin_ctzll(left)));
	g->highest = min_u64(g->highest, most);
}

static void rebase(struct graph *g)
{
	uint32_t off[GRAPH_LANES];
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++) {
		uint64_t keep = get(g, g->rows.last + LAST_F, lane);
		const uint64_t c = get(g, g->rows.last + LAST_C, lane);
		/* only 32-bit lanes can be so far apart; such an old F does not matter */
		keep = max_u64(keep, c - min_u64(c, FURTHEST));
		off[lane] = (uint32_t)(keep - min_u64(keep, GRAPH_MARGIN));
		g->base[lane] += off[lane];
	}
	g->highest = g->kernel->rebase[g->width](g, off) + g->config.depth + 1;
	if (unlikely(g->highest + ROOM >= GRAPH_LIMIT(BROAD))) {
		/* a port that is free only so far ahead is never waited for */
		for (unsigned slot = 0; slot < GRAPH_SLOTS; slot++)
			for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
				set(g, slot, lane,
				    min_u64(get(g, slot, lane), FURTHEST + GRAPH_MARGIN));
		g->highest = FURTHEST + GRAPH_MARGIN;
	}
}

static void change_width(struct graph *g, enum graph_width to)
{
	if (!g->memory[to])
		g->memory[to] = rows_new(g, sizeof(uint32_t));
	for (unsigned lane = 0; lane < GRAPH_LANES; lane += GRAPH_BLOCK) {
		g->width = NARROW;
		uint16_t *narrow = graph_row(g, lane, 0);
		g->width = BROAD;
		uint32_t *broad = graph_row(g, lane, 0);
		for (size_t k = 0; k < (size_t)g->rows.masks * GRAPH_BLOCK; k++)
			if (to == BROAD)
				broad[k] = narrow[k];
			else
				narrow[k] = (uint16_t)broad[k];
	}
	g->width = to;
	write_masks(g);
	g->stay = BROAD_STAY;
	g->broad_until = g->count + g->stay;
}

static uint64_t room(const struct graph *g)
{
	return GRAPH_LIMIT(g->width) - min_u64(GRAPH_LIMIT(g->width), g->highest);
}

/* Makes room for times to grow, before a batch. */
static void make_room(struct graph *g)
{
	if (unlikely(g->width == BROAD && g->count >= g->broad_until)) {
		rebase(g);
		g->stay = (uint32_t)min_u64(2 * g->stay, BROAD_STAY_MAX);
		g->broad_until = g->count + g->stay;
		if (g->highest + 2 * ROOM < GRAPH_LIMIT(NARROW))
			change_width(g, NARROW);
	}
	if (room(g) < ROOM)
		measure(g);
	if (room(g) < ROOM)
		rebase(g);
	if (room(g) < ROOM && g->width == NARROW)
		change_width(g, BROAD);
}

/* Adds at most `count` instructions without rebasing between them. Returns how many. */
static size_t add_batch(struct graph *g, const struct graph_inst *in, size_t count)
{
	uint64_t growth;
	make_room(g);
	size_t n = graph_steps(g, in, count, &growth);
	if (unlikely(!n)) {
		/* the next instruction alone needs more room */
		rebase(g);
		n = graph_steps(g, in, count, &growth);
	}
	if (unlikely(!n)) {
		assert(g->width == NARROW);
		change_width(g, BROAD);
		n = graph_steps(g, in, count, &growth);
	}
	assert(n);
	g->kernel->run[g->width](g, n);
	g->highest += growth;
	g->count += n;
	return n;
}

void graph_add(struct graph *g, const struct graph_inst *in, size_t count)
{
	for (size_t n; count; in += n, count -= n)
		n = add_batch(g, in, count);
}

void graph_add_commits(struct graph *g, const struct graph_inst *in, size_t count,
		       const unsigned *lanes, size_t n, uint64_t *commits)
{
	/* at a time no more than the ring of C holds */
	for (size_t added; count; in += added, count -= added) {
		const uint64_t first = g->count;
		added = add_batch(g, in, min_u64(count, g->c_mask + 1));
		for (uint64_t i = first; i < g->count; i++)
			for (size_t k = 0; k < n; k++) {
				const unsigned lane = graph_inside(lanes[k]);
				*commits++ = g->base[lane] +
					     get(g, g->rows.c + (unsigned)(i & g->c_mask), lane);
			}
	}
}

static uint64_t time_of(const struct graph *g, enum graph_last node, unsigned set)
{
	const unsigned lane = graph_inside(set);
	return g->base[lane] + get(g, g->rows.last + node, lane);
}

struct graph_times graph_base(const struct graph *g)
{
	return (struct graph_times){ .f = time_of(g, LAST_F, 0),
				     .d = time_of(g, LAST_D, 0),
				     .p = time_of(g, LAST_P, 0),
				     .c = time_of(g, LAST_C, 0) };
}

uint64_t graph_commit(const struct graph *g, unsigned lane)
{
	return time_of(g, LAST_C, lane);
}

void graph_length(const struct graph *g, uint64_t length[GRAPH_LANES])
{
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
		length[lane] = time_of(g, LAST_C, lane);
}

void graph_icosts(double cost[GRAPH_LANES])
{
	for (unsigned k = 0; k < GRAPH_CATEGORIES; k++)
		for (unsigned s = 0; s < GRAPH_LANES; s++)
			if (s >> k & 1)
				cost[s] -= cost[s ^ 1u << k];
}
