/* SPDX-License-Identifier: MIT */
/*
 * A batch of instructions through the graph, written once over a vector type that each kernel_*.c
 * defines: vec, VEC_LANES, VECS (how many go together), v_load, v_store, v_all, v_add, v_max,
 * v_and.
 *
 * Lanes are independent: VECS * VEC_LANES of them go through the whole batch together, and what the
 * next instruction needs of this one (F, D, P, C) stays in registers.
 */
#include "analysis/icost/graph_int.h"

#ifndef VEC_LANES /* the plain one: vectors as the compiler sees fit */
typedef uint32_t vec __attribute__((vector_size(16), may_alias));
#define VEC_LANES     4
#define VECS	      2
#define v_load(p)     (*(const vec *)(const void *)(p))
#define v_store(p, x) (*(vec *)(void *)(p) = (x))
#define v_all(x)      ((vec){ (uint32_t)(x), (uint32_t)(x), (uint32_t)(x), (uint32_t)(x) })
#define v_add(a, b)   ((a) + (b))
#define v_and(a, b)   ((a) & (b))

static inline vec v_max(vec a, vec b)
{
	const vec larger = (vec)(a > b);
	return (a & larger) | (b & ~larger);
}
#endif

#define EACH_VEC for (unsigned v = 0; v < VECS; v++)

/* What a block of lanes sees of the graph. */
struct view {
	uint32_t *slots, *d, *d_grain, *c, *c_grain, *e;
	const uint32_t *mask;
	bool wide; /* lanes whose window is idealised */
};

static inline uint32_t *row(uint32_t *rows, uint64_t index)
{
	return rows + index * GRAPH_BLOCK;
}
static inline const uint32_t *mask_row(const struct view *w, unsigned category)
{
	return w->mask + (size_t)category * GRAPH_LANES;
}

static inline void add_part(vec *into, const struct view *w, struct graph_part p)
{
	if (!p.cycles)
		return;
	const uint32_t *m = mask_row(w, p.category);
	const vec cycles = v_all(p.cycles);
	EACH_VEC into[v] = v_add(into[v], v_and(cycles, v_load(m + v * VEC_LANES)));
}

static inline void max_row(vec *into, const uint32_t *from)
{
	EACH_VEC into[v] = v_max(into[v], v_load(from + v * VEC_LANES));
}

static inline void max_row_masked(vec *into, const uint32_t *from, uint32_t add, const uint32_t *m)
{
	const vec a = v_all(add);
	EACH_VEC into[v] = v_max(
	    into[v], v_and(v_add(v_load(from + v * VEC_LANES), a), v_load(m + v * VEC_LANES)));
}

static inline void store_row(uint32_t *to, const vec *from)
{
	EACH_VEC v_store(to + v * VEC_LANES, from[v]);
}

static inline void fetch_node(const struct graph *g, const struct view *w,
			      const struct graph_inst *in, uint64_t i, vec *f, const vec *p,
			      const vec *c)
{
	add_part(f, w, in->step[0]);
	add_part(f, w, in->step[1]);
	if (in->flags & GRAPH_PD) {
		const uint32_t *m = mask_row(w, in->pd_cat);
		const vec pd = v_all(in->pd);
		EACH_VEC f[v] = v_max(f[v], v_and(v_add(p[v], pd), v_load(m + v * VEC_LANES)));
	}
	if (in->flags & GRAPH_CF) {
		const vec cf = v_all(in->cf);
		EACH_VEC f[v] = v_max(f[v], v_add(c[v], cf));
	}
	if (in->buffer) {
		const uint64_t j = (i - in->buffer - (GRAPH_GRAIN - 1)) / GRAPH_GRAIN;
		max_row_masked(f, row(w->d_grain, j & GRAPH_D_GRAIN_MASK), 0, mask_row(w, CAT_BW));
	}
	if (g->config.buffer_ideal) {
		const uint64_t j = (i - g->config.buffer_ideal - (GRAPH_GRAIN - 1)) / GRAPH_GRAIN;
		max_row(f, row(w->d_grain, j & GRAPH_D_GRAIN_MASK));
	}
	add_part(f, w, in->fetch[0]);
	add_part(f, w, in->fetch[1]);
	add_part(f, w, in->fetch[2]);
}

static inline void dispatch_node(const struct graph *g, const struct view *w,
				 const struct graph_inst *in, uint64_t i, vec *d, const vec *f,
				 const vec *c)
{
	const vec depth = v_all(g->config.depth);
	EACH_VEC d[v] = v_max(d[v], v_add(f[v], depth));
	max_row_masked(d, row(w->d, (i - g->config.fetch_width) & GRAPH_D_MASK), 1,
		       mask_row(w, CAT_BW));
	if (w->wide) {
		const uint64_t j = (i - in->cd[1]) / GRAPH_WIN_GRAIN;
		if (in->cd[1])
			max_row(d, row(w->c_grain, j & g->c_grain_mask));
	} else {
		if (in->cd_wait.cycles) {
			const uint32_t *from = row(w->c, (i - in->cd[0]) & g->c_mask);
			vec t[VECS];
			EACH_VEC t[v] = v_load(from + v * VEC_LANES);
			add_part(t, w, in->cd_wait);
			EACH_VEC d[v] = v_max(d[v], t[v]);
		} else if (in->cd[0]) {
			max_row(d, row(w->c, (i - in->cd[0]) & g->c_mask));
		}
		if (in->iq)
			max_row(d, row(w->e, (i - in->iq) & g->c_mask));
	}
	if (in->flags & GRAPH_SERIAL)
		EACH_VEC d[v] = v_max(d[v], c[v]);
	add_part(d, w, in->dd);
}

static inline void run_lanes(struct graph *g, const struct graph_inst *insts, size_t count,
			     unsigned lane)
{
	const struct graph_block *b = &g->block[lane / GRAPH_BLOCK];
	const unsigned off = lane % GRAPH_BLOCK;
	const struct view w = {
		.slots = b->slots[0] + off,
		.d = b->d[0] + off,
		.d_grain = b->d_grain[0] + off,
		.c = b->c[0] + off,
		.c_grain = b->c_grain[0] + off,
		.e = b->e ? b->e[0] + off : NULL,
		.mask = &g->mask[0][lane],
		.wide = lane >> CAT_WIN & 1 && !g->config.one_window,
	};
	const uint32_t *bw = mask_row(&w, CAT_BW);
	const vec ready = v_all(g->config.dispatch_latency), done = v_all(g->config.commit_latency);
	vec f[VECS], d[VECS], p[VECS], c[VECS];
	EACH_VEC
	{
		f[v] = v_load(b->last[LAST_F] + off + v * VEC_LANES);
		d[v] = v_load(b->last[LAST_D] + off + v * VEC_LANES);
		p[v] = v_load(b->last[LAST_P] + off + v * VEC_LANES);
		c[v] = v_load(b->last[LAST_C] + off + v * VEC_LANES);
	}
	for (size_t k = 0; k < count; k++) {
		const struct graph_inst *in = &insts[k];
		const uint64_t i = g->count + k;
		vec t[VECS];
		if (in->flags & GRAPH_HEAD)
			fetch_node(g, &w, in, i, f, p, c);
		dispatch_node(g, &w, in, i, d, f, c);
		store_row(row(w.d, i & GRAPH_D_MASK), d);
		if (i % GRAPH_GRAIN == GRAPH_GRAIN - 1)
			store_row(row(w.d_grain, i / GRAPH_GRAIN & GRAPH_D_GRAIN_MASK), d);

		EACH_VEC t[v] = v_add(d[v], ready);
		max_row(t, row(w.slots, in->src[0])); /* slot 0 is zero */
		if (in->src[1])
			max_row(t, row(w.slots, in->src[1]));
		for (unsigned s = 2; s < GRAPH_SOURCES && in->src[s]; s++)
			max_row(t, row(w.slots, in->src[s]));
		if (in->port) {
			uint32_t *port = row(w.slots, in->port);
			vec free[VECS];
			EACH_VEC free[v] = v_add(d[v], ready);
			max_row_masked(free, port, 0, bw);
			if (in->flags & GRAPH_PORT)
				EACH_VEC t[v] = v_max(t[v], free[v]);
			add_part(free, &w, in->occupies);
			store_row(port, free);
		}
		add_part(t, &w, in->re);
		if (w.e)
			store_row(row(w.e, i & g->c_mask), t);

		const vec ep = v_all(in->ep);
		EACH_VEC p[v] = v_add(t[v], ep);
		for (unsigned s = 0; s < GRAPH_EP_PARTS && in->ep_part[s].cycles; s++)
			add_part(p, &w, in->ep_part[s]);
		if (in->line)
			max_row_masked(p, row(w.slots, in->line), 0, mask_row(&w, in->line_cat));
		if (in->data)
			max_row(p, row(w.slots, in->data));

		EACH_VEC c[v] = v_max(c[v], v_max(p[v], v_add(t[v], done)));
		max_row_masked(c, row(w.c, (i - g->config.commit_width) & g->c_mask), 1, bw);
		if (in->pc) {
			const vec pc = v_all(in->pc);
			EACH_VEC c[v] = v_add(c[v], pc);
		}
		store_row(row(w.c, i & g->c_mask), c);
		if (w.wide && i % GRAPH_WIN_GRAIN == GRAPH_WIN_GRAIN - 1)
			store_row(row(w.c_grain, i / GRAPH_WIN_GRAIN & g->c_grain_mask), c);
		if (in->mem)
			store_row(row(w.slots, in->mem), p);
		if (in->dst) {
			EACH_VEC t[v] = p[v];
			add_part(t, &w, in->wake);
			store_row(row(w.slots, in->dst), t);
		}
	}
	EACH_VEC
	{
		v_store(b->last[LAST_F] + off + v * VEC_LANES, f[v]);
		v_store(b->last[LAST_D] + off + v * VEC_LANES, d[v]);
		v_store(b->last[LAST_P] + off + v * VEC_LANES, p[v]);
		v_store(b->last[LAST_C] + off + v * VEC_LANES, c[v]);
	}
}

static void kernel_run(struct graph *g, const struct graph_inst *insts, size_t count)
{
	for (unsigned lane = 0; lane < GRAPH_LANES; lane += VECS * VEC_LANES)
		run_lanes(g, insts, count, lane);
}
