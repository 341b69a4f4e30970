/* SPDX-License-Identifier: MIT */
/*
 * The graph's memory and the lane arithmetic around the kernels. Times are 32 bits wide: before
 * they could overflow, every lane's earliest live time is taken off all its times and remembered.
 */
#include "analysis/icost/graph.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/icost/graph_int.h"
#include "util/util.h"

#define REBASE_AT (1u << 30)

const char *const graph_category_name[GRAPH_CATEGORIES] = {
	[CAT_DL1] = "dl1",     [CAT_BW] = "bw",	      [CAT_BMISP] = "bmisp", [CAT_DMISS] = "dmiss",
	[CAT_SHALU] = "shalu", [CAT_LGALU] = "lgalu", [CAT_IMISS] = "imiss", [CAT_WIN] = "win",
};

const struct graph_kernel *const graph_kernels[] = { &graph_kernel_avx512, &graph_kernel_avx2,
						     &graph_kernel_c, NULL };

static size_t ring_for(uint64_t reach)
{
	size_t n = 64;
	while (n <= reach)
		n *= 2;
	return n;
}

static graph_vector *new_ring(size_t n)
{
	graph_vector *r = aligned_alloc(64, n * sizeof(*r));
	if (!r)
		die("out of memory (%zu bytes asked for)", n * sizeof(*r));
	memset(r, 0, n * sizeof(*r));
	return r;
}

struct graph *graph_new(const struct graph_config *config)
{
	struct graph *g = aligned_alloc(64, (sizeof(*g) + 63) & ~(size_t)63);
	if (!g)
		die("out of memory (%zu bytes asked for)", sizeof(*g));
	memset(g, 0, sizeof(*g));
	g->config = *config;
	size_t d = ring_for(config->fetch_width + 1),
	       c = ring_for(max_u64(config->window_ideal, config->commit_width) + 1);
	g->d = new_ring(d);
	g->d_mask = d - 1;
	g->c = new_ring(c);
	g->c_mask = c - 1;
	g->p = new_ring(c); /* a producer further back than the window has long been ready */
	g->p_mask = c - 1;
	for (unsigned k = 0; k <= GRAPH_CATEGORIES; k++)
		for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
			g->mask[k][lane] = k < GRAPH_CATEGORIES && lane >> k & 1 ? 0 : UINT32_MAX;
	/* numbers start high enough that i - window is never negative */
	g->count = 2 * (uint64_t)c;
	for (const struct graph_kernel *const *k = graph_kernels; !g->kernel; k++)
		if ((*k)->supported())
			g->kernel = *k;
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->d);
	free(g->p);
	free(g->c);
	free(g);
}

void graph_use(struct graph *g, const struct graph_kernel *k)
{
	g->kernel = k;
}

uint64_t graph_count(const struct graph *g)
{
	return g->count - 2 * (g->c_mask + 1);
}

/* The oldest C of the ring is no later than any time that can still matter in its lane. */
static void rebase(struct graph *g)
{
	const uint32_t *oldest = graph_c(g, g->count); /* the slot to be overwritten next */
	graph_vector off;
	memcpy(off, oldest, sizeof(off));
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
		g->base[lane] += off[lane];
	graph_vector *const rings[] = { g->d, g->p, g->c };
	const size_t masks[] = { g->d_mask, g->p_mask, g->c_mask };
	for (unsigned r = 0; r < 3; r++)
		for (size_t i = 0; i <= masks[r]; i++)
			for (unsigned lane = 0; lane < GRAPH_LANES; lane++) {
				uint32_t *t = &rings[r][i][lane];
				*t = *t > off[lane] ? *t - off[lane] : 0;
			}
}

static uint32_t real(const struct graph_part *parts, unsigned n)
{
	uint32_t sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += parts[i].cycles;
	return sum;
}

/* An edge from beyond the ring is from an instruction that finished long ago. */
static bool in_reach(const struct graph *g, uint32_t distance)
{
	return distance && distance <= g->p_mask;
}

struct graph_times graph_predict(const struct graph *g, const struct graph_inst *in)
{
	const uint64_t i = g->count;
	struct graph_times t;
	t.d = max_u64(graph_d(g, i - 1)[0] + (uint64_t)real(in->dd, GRAPH_PARTS),
		      graph_d(g, i - g->config.fetch_width)[0] + 1ull);
	t.d = max_u64(t.d, graph_c(g, i - g->config.window)[0] + (uint64_t)in->cd);
	if (in->after_mispredict)
		t.d = max_u64(t.d, graph_p(g, i - 1)[0] + (uint64_t)in->pd);
	t.r = t.d + in->dr;
	for (unsigned k = 0; k < in->nproducers; k++)
		if (in_reach(g, in->producer[k].distance))
			t.r = max_u64(t.r, graph_p(g, i - in->producer[k].distance)[0] +
					       (uint64_t)in->producer[k].cycles);
	t.e = t.r + real(&in->re, 1);
	t.p = t.e + real(in->ep, GRAPH_PARTS);
	if (in_reach(g, in->line))
		t.p = max_u64(t.p, graph_p(g, i - in->line)[0]);
	t.c = max_u64(t.p + real(&in->pc, 1), graph_c(g, i - 1)[0] + (uint64_t)real(&in->cc, 1));
	t.c = max_u64(t.c, graph_c(g, i - g->config.commit_width)[0] + 1ull);
	return (struct graph_times){ g->base[0] + t.d, g->base[0] + t.r, g->base[0] + t.e,
				     g->base[0] + t.p, g->base[0] + t.c };
}

void graph_add(struct graph *g, const struct graph_inst *in)
{
	struct graph_inst near = *in;
	near.nproducers = 0;
	for (unsigned k = 0; k < in->nproducers; k++)
		if (in_reach(g, in->producer[k].distance))
			near.producer[near.nproducers++] = in->producer[k];
	if (!in_reach(g, in->line))
		near.line = 0;
	g->kernel->step(g, &near);
	g->count++;
	if (unlikely(graph_c(g, g->count - 1)[0] >= REBASE_AT))
		rebase(g);
}

struct graph_times graph_base(const struct graph *g)
{
	const uint64_t i = g->count - 1, b = g->base[0];
	return (struct graph_times){ .d = b + graph_d(g, i)[0],
				     .p = b + graph_p(g, i)[0],
				     .c = b + graph_c(g, i)[0] };
}

void graph_length(const struct graph *g, uint64_t length[GRAPH_LANES])
{
	const uint32_t *c = graph_c(g, g->count - 1);
	for (unsigned lane = 0; lane < GRAPH_LANES; lane++)
		length[lane] = g->base[lane] + c[lane];
}

void graph_icosts(double cost[GRAPH_LANES])
{
	for (unsigned k = 0; k < GRAPH_CATEGORIES; k++)
		for (unsigned s = 0; s < GRAPH_LANES; s++)
			if (s >> k & 1)
				cost[s] -= cost[s ^ 1u << k];
}
