/* SPDX-License-Identifier: MIT */
/*
 * The graph's memory and the lane arithmetic around the kernels. Times are 32 bits wide: before
 * they could overflow, what no live time can be as old as is taken off all times of a lane and
 * remembered.
 */
#include "analysis/icost/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/icost/graph_int.h"
#include "util/util.h"

#define REBASE_AT   (1u << 30)
#define REBASE_KEEP (1u << 29) /* cycles: nothing that still matters is older */

const char *const graph_category_name[GRAPH_CATEGORIES] = {
	[CAT_DL1] = "dl1",     [CAT_BW] = "bw",	      [CAT_BMISP] = "bmisp", [CAT_DMISS] = "dmiss",
	[CAT_SHALU] = "shalu", [CAT_LGALU] = "lgalu", [CAT_IMISS] = "imiss", [CAT_WIN] = "win",
};

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
	static const unsigned either[CAT_COUNT] = {
		[CAT_BW_LGALU] = 1u << CAT_BW | 1u << CAT_LGALU,
		[CAT_BW_BMISP] = 1u << CAT_BW | 1u << CAT_BMISP,
		[CAT_BW_DMISS] = 1u << CAT_BW | 1u << CAT_DMISS,
		[CAT_BW_IMISS] = 1u << CAT_BW | 1u << CAT_IMISS,
		[CAT_BMISP_DMISS] = 1u << CAT_BMISP | 1u << CAT_DMISS,
		[CAT_BMISP_IMISS] = 1u << CAT_BMISP | 1u << CAT_IMISS,
		[CAT_SAVED_DMISS] = 1u << CAT_DMISS,
		[CAT_SAVED_IMISS] = 1u << CAT_IMISS,
	};
	if (category < GRAPH_CATEGORIES)
		return !(lane >> category & 1);
	if (category >= CAT_COUNT || lane & either[category])
		return category >= CAT_COUNT;
	return category < CAT_SAVED_DMISS || lane >> CAT_BMISP & 1;
}

struct graph *graph_new(const struct graph_config *config)
{
	struct graph *g = aligned_alloc(64, (sizeof(*g) + 63) & ~(size_t)63);
	if (!g)
		die("out of memory (%zu bytes asked for)", sizeof(*g));
	memset(g, 0, sizeof(*g));
	g->config = *config;
	assert(config->fetch_width <= GRAPH_WIDTH_MAX && config->commit_width);
	const size_t c = ring_for(max_u64(config->window, config->commit_width) + 1),
		     grain = ring_for(config->window_ideal / GRAPH_WIN_GRAIN + 2),
		     e = config->issue_edges ? c : 0,
		     each = GRAPH_SLOTS + GRAPH_D_MASK + 1 + GRAPH_D_GRAIN_MASK + 1 + c + grain +
			    e + LAST_COUNT;
	g->c_mask = c - 1;
	g->c_grain_mask = grain - 1;
	g->nrows = each * GRAPH_BLOCKS;
	g->rows = aligned_alloc(64, g->nrows * sizeof(graph_row));
	if (!g->rows)
		die("out of memory (%zu bytes asked for)", g->nrows * sizeof(graph_row));
	for (unsigned b = 0; b < GRAPH_BLOCKS; b++) {
		graph_row *r = g->rows + b * each;
		g->block[b] = (struct graph_block){ .slots = r };
		g->block[b].d = r += GRAPH_SLOTS;
		g->block[b].d_grain = r += GRAPH_D_MASK + 1;
		g->block[b].c = r += GRAPH_D_GRAIN_MASK + 1;
		g->block[b].c_grain = r += c;
		r += grain;
		if (e)
			g->block[b].e = r;
		g->block[b].last = r + e;
	}
	for (unsigned k = 0; k < GRAPH_MASKS; k++)
		for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
			g->mask[k][lane] = graph_counts(k, lane) ? UINT32_MAX : 0;
	for (const struct graph_kernel *const *k = graph_kernels; !g->kernel; k++)
		if ((*k)->supported())
			g->kernel = *k;
	/* numbers start high enough that none ever gets negative */
	g->start = (GRAPH_D_GRAIN_MASK + 1) * GRAPH_GRAIN + c + grain * GRAPH_WIN_GRAIN;
	graph_reset(g);
	return g;
}

void graph_reset(struct graph *g)
{
	memset(g->rows, 0, g->nrows * sizeof(graph_row));
	memset(g->base, 0, sizeof(g->base));
	g->count = g->start;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->rows);
	free(g);
}

void graph_use(struct graph *g, const struct graph_kernel *k)
{
	g->kernel = k;
}

void graph_set_mask(struct graph *g, unsigned row, const bool on[GRAPH_LANES])
{
	assert(row < GRAPH_MASKS);
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
		g->mask[row][lane] = on[lane] ? UINT32_MAX : 0;
}

uint64_t graph_count(const struct graph *g)
{
	return g->count - g->start;
}

static uint32_t last(const struct graph *g, enum graph_last node, unsigned lane)
{
	return g->block[lane / GRAPH_BLOCK].last[node][lane % GRAPH_BLOCK];
}

static void rebase(struct graph *g)
{
	const size_t each = g->nrows / GRAPH_BLOCKS;
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++) {
		const uint32_t c = last(g, LAST_C, lane),
			       off = c > REBASE_KEEP ? c - REBASE_KEEP : 0;
		graph_row *rows = g->rows + lane / GRAPH_BLOCK * each;
		g->base[lane] += off;
		for (size_t i = 0; i < each; i++) {
			uint32_t *t = &rows[i][lane % GRAPH_BLOCK];
			*t = *t > off ? *t - off : 0;
		}
	}
}

/* So few that times cannot overflow within a batch: an instruction adds less than 2^20. */
#define BATCH 512

void graph_add(struct graph *g, const struct graph_inst *in, size_t count)
{
	while (count) {
		const size_t n = min_u64(count, BATCH);
		g->kernel->run(g, in, n);
		g->count += n;
		in += n;
		count -= n;
		if (unlikely(last(g, LAST_C, 0) >= REBASE_AT))
			rebase(g);
	}
}

struct graph_times graph_base(const struct graph *g)
{
	const uint64_t b = g->base[0];
	return (struct graph_times){ .f = b + last(g, LAST_F, 0),
				     .d = b + last(g, LAST_D, 0),
				     .p = b + last(g, LAST_P, 0),
				     .c = b + last(g, LAST_C, 0) };
}

uint64_t graph_commit(const struct graph *g, unsigned lane)
{
	return g->base[lane] + last(g, LAST_C, lane);
}

void graph_length(const struct graph *g, uint64_t length[GRAPH_LANES])
{
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
		length[lane] = g->base[lane] + last(g, LAST_C, lane);
}

void graph_icosts(double cost[GRAPH_LANES])
{
	for (unsigned k = 0; k < GRAPH_CATEGORIES; k++)
		for (unsigned s = 0; s < GRAPH_LANES; s++)
			if (s >> k & 1)
				cost[s] -= cost[s ^ 1u << k];
}
