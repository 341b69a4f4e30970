/* SPDX-License-Identifier: MIT */
/*
 * Method profi: what compilers do with sampled profiles today (He, Mestre, Pupyrev, Wang, Yu, "Profile
 * inference revisited", POPL 2022; LLVM's sample-profile inference with its default costs). Each
 * function alone: a minimum-cost flow near the estimates of its blocks; then parts that flow does
 * not join to the entry are joined to it by one unit, and flow through blocks without an estimate is
 * spread evenly.
 *
 * The estimates are those of dcpi's classes before propagation. Blocks without one are "unknown".
 * Paths that join islands prefer edges that carry flow, then few edges; LLVM's distances do the
 * same, up to the amount of flow.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calc/network.h"
#include "calc/parts.h"

enum { BLOCK_UP = 10, BLOCK_DOWN = 20, ZERO_UP = 11, ENTRY_UP = 40, ENTRY_DOWN = 10 };

#define NONE UINT32_MAX

struct profi {
	struct calc_proc *proc;
	const struct cfg *g;
	double unit;
	int64_t *blocks, *edges; /* flows */
	uint32_t *queue, *via;
	uint8_t *seen;
};

static double estimate(const struct profi *w, uint32_t block)
{
	return w->proc->classes[w->proc->block_class[block]].freq.value;
}

static bool unknown(const struct profi *w, uint32_t block)
{
	return isnan(estimate(w, block));
}

static unsigned block_cost(void *context, uint32_t b, struct mcf_piece *p)
{
	const struct profi *w = context;
	if (unknown(w, b))
		return 0;
	int64_t weight = llrint(estimate(w, b) / w->unit);
	bool entry = b == w->g->entry;
	int64_t up = entry ? ENTRY_UP : weight ? BLOCK_UP : ZERO_UP;
	unsigned n = 0;
	if (weight > 0)
		p[n++] = (struct mcf_piece){ weight, entry ? -ENTRY_DOWN : -BLOCK_DOWN };
	p[n++] = (struct mcf_piece){ MCF_UNBOUNDED, up };
	return n;
}

static unsigned edge_cost(void *context, uint32_t e, struct mcf_piece *p)
{
	(void)context;
	(void)e;
	(void)p;
	return 0;
}

/* Follows edges with flow from where seen[] is set already: queue[0..n). */
static void spread_seen(struct profi *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct cfg_block *k = &w->g->blocks[w->queue[i]];
		for (uint32_t e = k->first_out; e < k->first_out + k->nout; e++) {
			uint32_t to = w->g->edges[e].to;
			if (w->edges[e] > 0 && to != CFG_OUTSIDE && !w->seen[to]) {
				w->seen[to] = 1;
				w->queue[n++] = to;
			}
		}
	}
}

/* The edge number i that enters (leaves) a block, and its other end. */
static uint32_t edge_at(const struct cfg *g, uint32_t b, uint32_t i, bool forward, uint32_t *other)
{
	const struct cfg_block *k = &g->blocks[b];
	uint32_t e = forward ? k->first_out + i : g->in[k->first_in + i];
	*other = forward ? g->edges[e].to : g->edges[e].from;
	return e;
}

/*
 * The best way from the entry to each block (forward) or from each block to an exit: via[] is the
 * edge next to the block, NONE at the first one. Few edges without flow first, then few edges:
 * blocks at the next level wait in the second half of the queue.
 */
static void find_ways(struct profi *w, bool forward, uint32_t *via)
{
	const struct cfg *g = w->g;
	uint32_t *now = w->queue, *later = w->queue + 2 * (size_t)g->nedges + g->nblocks, n = 0,
		 nlater = 0;
	uint8_t *done = x_calloc(g->nblocks + 1, 1);
	memset(via, 0xff, g->nblocks * sizeof(*via));
	for (uint32_t b = 0; b < g->nblocks; b++) {
		bool end = forward ? b == g->entry : !g->blocks[b].nout;
		for (uint32_t e = g->blocks[b].first_out;
		     !forward && e < g->blocks[b].first_out + g->blocks[b].nout; e++)
			end |= g->edges[e].to == CFG_OUTSIDE;
		if (end) {
			now[n++] = b;
			done[b] = 1;
		}
	}
	while (n) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t b = now[i];
			if (done[b] == 2)
				continue;
			done[b] = 2;
			const struct cfg_block *k = &g->blocks[b];
			for (uint32_t j = 0; j < (forward ? k->nout : k->nin); j++) {
				uint32_t to, e = edge_at(g, b, j, forward, &to);
				if (to == CFG_OUTSIDE || done[to])
					continue;
				via[to] = e;
				if (w->edges[e] > 0) {
					done[to] = 1;
					now[n++] = to;
				} else {
					later[nlater++] = to;
				}
			}
		}
		uint32_t *other = now;
		now = later;
		later = other;
		n = nlater;
		nlater = 0;
	}
	free(done);
}

static void add_way(struct profi *w, uint32_t b, bool forward, const uint32_t *via, int64_t amount)
{
	const struct cfg *g = w->g;
	while (via[b] != NONE) {
		w->edges[via[b]] += amount;
		b = forward ? g->edges[via[b]].from : g->edges[via[b]].to;
		w->blocks[b] += amount;
	}
	/* The edge over which the way enters or leaves the function. */
	const struct cfg_block *k = &g->blocks[b];
	for (uint32_t j = 0; j < (forward ? k->nin : k->nout); j++) {
		uint32_t other, e = edge_at(g, b, j, !forward, &other);
		if (other == CFG_OUTSIDE) {
			w->edges[e] += amount;
			break;
		}
	}
}

static void join_islands(struct profi *w)
{
	const struct cfg *g = w->g;
	uint32_t *from = NULL, *to = NULL;
	int64_t amount = w->unit < 1 ? (int64_t)(1 / w->unit) : 1;
	w->seen[g->entry] = 1;
	w->queue[0] = g->entry;
	spread_seen(w, 1);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		if (w->seen[b] || w->blocks[b] <= 0)
			continue;
		if (!from) {
			from = x_malloc(g->nblocks * sizeof(*from));
			to = x_malloc(g->nblocks * sizeof(*to));
			find_ways(w, true, from);
			find_ways(w, false, to);
		}
		if (from[b] != NONE && to[b] != NONE) {
			w->blocks[b] += amount;
			add_way(w, b, true, from, amount);
			add_way(w, b, false, to, amount);
		}
		w->seen[b] = 1;
		w->queue[0] = b;
		spread_seen(w, 1);
	}
	free(from);
	free(to);
}

/* A part of unknown blocks between a known block and the only known one that follows it. */
struct part {
	uint32_t source, target; /* target NONE: the part ends in exits */
	uint32_t *blocks, n;
};

static bool ignored(const struct profi *w, const struct part *p, uint32_t e)
{
	uint32_t to = w->g->edges[e].to, from = w->g->edges[e].from;
	if (to == CFG_OUTSIDE || (p->target != NONE && to == p->target))
		return false;
	return !unknown(w, to) && (from == p->source || w->blocks[to] == 0);
}

/* The unknown blocks that follow p->source. False: they have no single end, or none. */
static bool part_find(struct profi *w, struct part *p)
{
	const struct cfg *g = w->g;
	bool exits = false, one = true;
	p->n = 0;
	p->target = NONE;
	for (uint32_t i = 0, b = p->source;; b = p->blocks[i++]) {
		const struct cfg_block *k = &g->blocks[b];
		if (b != p->source && !k->nout)
			exits = true;
		for (uint32_t e = k->first_out; e < k->first_out + k->nout; e++) {
			uint32_t to = g->edges[e].to;
			if (to == CFG_OUTSIDE) {
				exits |= b != p->source;
			} else if (ignored(w, &(struct part){ p->source, NONE, NULL, 0 }, e)) {
			} else if (!unknown(w, to)) {
				one &= p->target == NONE || p->target == to;
				p->target = to;
			} else if (!w->seen[to]) {
				w->seen[to] = 1;
				p->blocks[p->n++] = to;
			}
		}
		if (i == p->n)
			break;
	}
	for (uint32_t i = 0; i < p->n; i++)
		w->seen[p->blocks[i]] = 0;
	return p->n && one && !(exits && p->target != NONE);
}

/* Sorts the part's blocks so that edges lead forward; false: it has a cycle. inside[] counts edges. */
static bool part_sort(struct profi *w, struct part *p, uint32_t *inside)
{
	const struct cfg *g = w->g;
	uint32_t ready = 0, n = 0, *sorted = w->queue;
	for (uint32_t i = 0; i < p->n; i++)
		w->seen[p->blocks[i]] = 1;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct cfg_block *k = &g->blocks[p->blocks[i]];
		inside[p->blocks[i]] = 0;
		for (uint32_t j = 0; j < k->nin; j++) {
			uint32_t from = g->edges[g->in[k->first_in + j]].from;
			inside[p->blocks[i]] += from != CFG_OUTSIDE && w->seen[from];
		}
		if (!inside[p->blocks[i]])
			sorted[n++] = p->blocks[i];
	}
	for (; ready < n; ready++) {
		const struct cfg_block *k = &g->blocks[sorted[ready]];
		for (uint32_t e = k->first_out; e < k->first_out + k->nout; e++) {
			uint32_t to = g->edges[e].to;
			if (to != CFG_OUTSIDE && w->seen[to] && !--inside[to])
				sorted[n++] = to;
		}
	}
	for (uint32_t i = 0; i < p->n; i++)
		w->seen[p->blocks[i]] = 0;
	if (n < p->n)
		return false;
	memcpy(p->blocks, sorted, n * sizeof(*sorted));
	return true;
}

static void share_out(struct profi *w, const struct part *p, uint32_t b, int64_t flow)
{
	const struct cfg_block *k = &w->g->blocks[b];
	int64_t ways = 0;
	for (uint32_t e = k->first_out; e < k->first_out + k->nout; e++)
		ways += !ignored(w, p, e);
	for (uint32_t e = k->first_out; e < k->first_out + k->nout; e++)
		if (!ignored(w, p, e)) {
			w->edges[e] = flow / ways;
			flow -= w->edges[e];
			ways--;
		}
}

/* A block of the part whose every way out is ignored cannot pass on what it would get. */
static bool part_closed(const struct profi *w, const struct part *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct cfg_block *k = &w->g->blocks[p->blocks[i]];
		uint32_t left = k->nout;
		for (uint32_t e = k->first_out; e < k->first_out + k->nout; e++)
			left -= ignored(w, p, e);
		if (k->nout && !left)
			return false;
	}
	return true;
}

static void spread_unknown(struct profi *w)
{
	const struct cfg *g = w->g;
	uint32_t *inside = x_malloc((g->nblocks + 1) * sizeof(*inside));
	struct part p = { .blocks = x_malloc((g->nblocks + 1) * sizeof(*p.blocks)) };
	memset(w->seen, 0, g->nblocks);
	for (p.source = 0; p.source < g->nblocks; p.source++) {
		if (unknown(w, p.source) || w->blocks[p.source] <= 0 || !part_find(w, &p) ||
		    !part_closed(w, &p) || !part_sort(w, &p, inside))
			continue;
		const struct cfg_block *k = &g->blocks[p.source];
		int64_t flow = 0;
		for (uint32_t e = k->first_out; e < k->first_out + k->nout; e++)
			flow += ignored(w, &p, e) ? 0 : w->edges[e];
		share_out(w, &p, p.source, flow);
		for (uint32_t i = 0; i < p.n; i++) {
			k = &g->blocks[p.blocks[i]];
			flow = 0;
			for (uint32_t j = 0; j < k->nin; j++)
				flow += w->edges[g->in[k->first_in + j]];
			w->blocks[p.blocks[i]] = flow;
			share_out(w, &p, p.blocks[i], flow);
		}
	}
	free(p.blocks);
	free(inside);
}

static void infer(struct calc_program *p, struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	struct profi w = { .proc = proc, .g = g };
	double total = 0;
	for (uint32_t b = 0; b < g->nblocks; b++)
		total += unknown(&w, b) ? 0 : estimate(&w, b);
	w.unit = network_unit(total);
	w.blocks = x_calloc(g->nblocks + 1, sizeof(*w.blocks));
	w.edges = x_calloc(g->nedges + 1, sizeof(*w.edges));
	w.queue = x_calloc(2 * ((size_t)g->nedges * 2 + g->nblocks) + 1, sizeof(*w.queue));
	w.seen = x_calloc(g->nblocks + 1, 1);
	if (total > 0) {
		proc->rough =
		    !network_solve(g,
				   &(struct network_costs){
				       .block = block_cost, .edge = edge_cost, .context = &w },
				   w.blocks, w.edges);
		join_islands(&w);
		spread_unknown(&w);
	}
	calc_put_flows(proc, w.blocks, w.edges, w.unit);
	struct belief *beliefs = x_calloc(proc->nclasses + 1, sizeof(*beliefs));
	calc_believe_samples(p, proc, beliefs);
	calc_put_intervals(proc, beliefs);
	free(beliefs);
	free(w.blocks);
	free(w.edges);
	free(w.queue);
	free(w.seen);
}

const struct calc_method calc_profi = {
	.name = "profi",
	.meaning = "minimum-cost flow with fixed costs, as compilers infer profiles",
	.each = infer,
};
