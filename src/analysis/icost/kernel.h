/* SPDX-License-Identifier: MIT */
/*
 * Runs a batch of steps through the graph; written once, over vectors of lanes. Each kernel_*.c
 * includes this file twice, with LANE (the type of a time), NAME(x) (x with the width in it),
 * VEC_BYTES, VECS (vectors that are run together) and V_MAX(a, b).
 *
 * What the next instruction needs of this one (F, D, P, C) stays in registers; everything else is in
 * rows. Where it is cheaper than a branch, a row of zeros stands for an edge that is not there. The
 * edges of bandwidth and window are there or not for whole vectors, which the compiler knows.
 */
#include "analysis/icost/graph_int.h"
#include "util/util.h"

#ifndef LANE /* compiled alone: the plain one */
#define LANE	  uint16_t
#define NAME(x)	  x##_16
#define VEC_BYTES 16
#define VECS	  4
#endif

typedef LANE NAME(vec) __attribute__((vector_size(VEC_BYTES), may_alias));
#define VEC	  NAME(vec)
#define VEC_LANES (VEC_BYTES / sizeof(LANE))
#define TOGETHER  (VECS * VEC_LANES)
#define EACH_VEC  for (unsigned v = 0; v < VECS; v++)
#define ROW(r)	  ((VEC *)(void *)(lanes + (size_t)(r)*GRAPH_BLOCK))
#define ALL(x)	  ((VEC){ 0 } + (LANE)(x))

#ifdef V_MAX
static inline VEC NAME(max)(VEC a, VEC b)
{
	return V_MAX(a, b);
}
#else
static inline VEC NAME(max)(VEC a, VEC b)
{
	const VEC larger = (VEC)(a > b);
	return (a & larger) | (b & ~larger);
}
#endif
#define MAX(a, b) NAME(max)(a, b)

#ifndef AT_HERE
/* The rows of edges.def as vector code. Nodes are in registers: t is R, then E, then B; the F of a new
 * packet is made in `head`, since it depends on the F of the packet before. */
#define AT_HERE(n)	  REG_##n[v]
#define AT_BEFORE(n)	  REG_##n[v]
#define AT_OWN_PACKET(n)  REG_##n[v]
#define AT_LAST_PACKET(n) REG_##n[v]
#define REG_F		  f
#define REG_D		  d
#define REG_V		  unit
#define REG_R		  t
#define REG_E		  t
#define REG_B		  t
#define REG_P		  p
#define REG_C		  c
#define INTO_F		  head
#define INTO_D		  d
#define INTO_V		  unit
#define INTO_R		  t
#define INTO_E		  t
#define INTO_B		  t
#define INTO_P		  p
#define INTO_C		  c

#define PLUS_NONE(name, x)	       (x)
#define PLUS_ONE(name, x)	       ((x) + one)
#define PLUS_EXECUTION(name, x)	       ((x) + ROW(s->to_p)[v])
#define PLUS_MACHINE(member)	       PLUS_##member
#define PLUS_CYCLES(cycles)	       PLUS_ALL
#define PLUS_IN_PART(part)	       PLUS_ROW
#define PLUS_IN_PARTS(parts, n)	       PLUS_ROW
#define PLUS_ALL(name, x)	       ((x) + ALL(s->name##_cycles))
#define PLUS_ROW(name, x)	       ((x) + ROW(s->name##_delay)[v])
#define PLUS_depth(name, x)	       ((x) + depth)
#define PLUS_dispatch_latency(name, x) ((x) + ready)
#define PLUS_commit_latency(name, x)   ((x) + done)

/* The lanes that have an edge: whole vectors, or all with a mask. */
#define LANES_NEVER	      EACH_VEC
#define LANES_BW	      for (unsigned v = 0; v < bw; v++)
#define LANES_WIN	      for (unsigned v = 0; !wide && v < VECS; v++)
#define LANES_BW_WIN	      for (unsigned v = 0; !wide && v < bw; v++)
#define LANES_NOT_WIN	      for (unsigned v = 0; wide && v < VECS; v++)
#define LANES_BY(category)    EACH_VEC
#define MASK_NEVER(name, x)   (x)
#define MASK_BW(name, x)      (x)
#define MASK_WIN(name, x)     (x)
#define MASK_BW_WIN(name, x)  (x)
#define MASK_NOT_WIN(name, x) (x)
#define MASK_BY(category)     MASKED
#define MASKED(name, x)	      ((x)&ROW(s->name##_mask)[v])

#define WHEN_ALWAYS(name)   if (true)
#define WHEN_PERSISTS(name) if (false)
#define WHEN_PACKET(name)   if (flags & STEP(F))
#define WHEN_FUSED(name)    if (flags & STEP(P))
#define WHEN_ZEROS(cond)    WHEN_ALWAYS
#define WHEN_FLAG(cond)	    WHEN_SET
#define WHEN_RARE(cond)	    WHEN_SET
#define WHEN_SET(name)	    if (flags & STEP(name))

/* Writes x to a row, for each of the vectors v. */
#define KEEP(row, lanes, x)                                                                        \
	{                                                                                          \
		VEC *const to = ROW(row);                                                          \
		lanes to[v] = x;                                                                   \
	}

/* What comes before and after the rows of a node: the test for nodes that not every instruction has,
 * and where the node's time goes. */
#define OPEN_F if (flags & STEP(F)) {
#define OPEN_D {
#define OPEN_V if (flags & STEP(V)) {
#define OPEN_R {
#define OPEN_E {
#define OPEN_B if (flags & STEPS_INTO_B) {
#define OPEN_P if (flags & STEP(P)) {
#define OPEN_C {
#define CLOSE_F                                                                                    \
	EACH_VEC f[v] = head[v];                                                                   \
	}
#define KEEP_D                                                                                     \
	KEEP(s->d, LANES_BW, d[v] + one)                                                           \
	if (flags & STEP(D_GRAIN))                                                                 \
	KEEP(s->d_grain, EACH_VEC, d[v])
#define CLOSE_D                                                                                    \
	KEEP_D                                                                                     \
	}
#define CLOSE_V }
#define CLOSE_R }
#define CLOSE_E                                                                                    \
	if (issue)                                                                                 \
		KEEP(s->e, EACH_VEC, t[v])                                                         \
	}
#define CLOSE_B }
#define CLOSE_P                                                                                    \
	}                                                                                          \
	else                                                                                       \
	{                                                                                          \
		if (flags & STEP(P_KEPT))                                                          \
			EACH_VEC p[v] = t[v] + ROW(s->to_p)[v];                                    \
		EACH_VEC c[v] = MAX(c[v], t[v] + ROW(s->to_c)[v]);                                 \
		if (flags & STEP(dst))                                                             \
			KEEP(s->dst, EACH_VEC, t[v] + ROW(s->to_dst)[v])                           \
	}
#define CLOSE_C                                                                                    \
	KEEP(s->c, EACH_VEC, c[v])                                                                 \
	if (wide && flags & STEP(C_GRAIN))                                                         \
		KEEP(s->c_grain, EACH_VEC, c[v])                                                   \
	}
/* D, E, B and C are in registers when their rows begin; the other nodes start with their first row. */
#define STARTED(n)                                                                                 \
	(NODE_##n == NODE_D || NODE_##n == NODE_E || NODE_##n == NODE_B || NODE_##n == NODE_C)

#define LATEST(name, n, from, latency, removed, when)                                              \
	WHEN_##when(name)                                                                          \
	{                                                                                          \
		LANES_##removed                                                                    \
		{                                                                                  \
			const VEC x = MASK_##removed(name, PLUS_##latency(name, from));            \
			INTO_##n[v] = started ? MAX(INTO_##n[v], x) : x;                           \
		}                                                                                  \
		started = true;                                                                    \
	}
#endif

/* One pass with TOGETHER lanes. wide: their window is idealised; bw: the number of vectors, from the
 * first, that have the edges of bandwidth. */
static inline __attribute__((always_inline)) void NAME(pass)(struct graph *g, LANE *restrict lanes,
							     const struct graph_step *restrict s,
							     const struct graph_step *end,
							     const bool wide, const unsigned bw)
{
	const VEC ready = ALL(g->config.dispatch_latency), done = ALL(g->config.commit_latency),
		  depth = ALL(g->config.depth), one = ALL(1), flush = ALL(g->config.order_flush);
	const bool issue = g->config.issue_edges && !wide;
	const unsigned last = g->rows.last;
	VEC f[VECS], d[VECS], p[VECS], c[VECS];
	EACH_VEC
	{
		f[v] = ROW(last + LAST_F)[v];
		d[v] = ROW(last + LAST_D)[v];
		p[v] = ROW(last + LAST_P)[v];
		c[v] = ROW(last + LAST_C)[v];
	}
	for (; s < end; s++) {
		if (likely(!(s->flags & STEPS_RARE))) {
			const unsigned flags = s->flags & ~(unsigned)STEPS_RARE;
#include "analysis/icost/kernel_step.def"
		} else {
			const unsigned flags = s->flags;
#include "analysis/icost/kernel_step.def"
		}
	}
	EACH_VEC
	{
		ROW(last + LAST_F)[v] = f[v];
		ROW(last + LAST_D)[v] = d[v];
		ROW(last + LAST_P)[v] = p[v];
		ROW(last + LAST_C)[v] = c[v];
	}
}

/* How many of the vectors from lane on have the edges of bandwidth. */
static unsigned NAME(with_bandwidth)(const struct graph *g, unsigned lane)
{
	if (g->config.one_width)
		return VECS;
	if (TOGETHER > GRAPH_LANES / 4)
		return VECS / 2;
	return lane & GRAPH_LANES / 4 ? 0 : VECS;
}

static void NAME(run)(struct graph *g, size_t count)
{
	const struct graph_step *s = g->steps, *end = s + count;
	for (unsigned lane = 0; lane < GRAPH_LANES; lane += TOGETHER) {
		LANE *lanes = graph_row(g, lane, 0);
		const bool wide = lane >= GRAPH_LANES / 2 && !g->config.one_window;
		const unsigned bw = NAME(with_bandwidth)(g, lane);
		if (wide && bw == 0)
			NAME(pass)(g, lanes, s, end, true, 0);
		else if (wide && bw == VECS)
			NAME(pass)(g, lanes, s, end, true, VECS);
		else if (wide)
			NAME(pass)(g, lanes, s, end, true, VECS / 2);
		else if (bw == 0)
			NAME(pass)(g, lanes, s, end, false, 0);
		else if (bw == VECS)
			NAME(pass)(g, lanes, s, end, false, VECS);
		else
			NAME(pass)(g, lanes, s, end, false, VECS / 2);
	}
}

/* Subtracts off[lane] from all times, down to 0, and returns the latest time left. */
static uint64_t NAME(rebase)(struct graph *g, const uint32_t *off)
{
	VEC most = ALL(0);
	for (unsigned lane = 0; lane < GRAPH_LANES; lane += TOGETHER) {
		LANE *lanes = graph_row(g, lane, 0);
		VEC by[VECS];
		for (unsigned k = 0; k < TOGETHER; k++)
			by[k / VEC_LANES][k % VEC_LANES] = (LANE)off[lane + k];
		for (unsigned row = 0; row < g->rows.masks; row++)
			EACH_VEC
			{
				const VEC t = MAX(ROW(row)[v], by[v]) - by[v];
				ROW(row)[v] = t;
				most = MAX(most, t);
			}
	}
	uint64_t latest = 0;
	for (unsigned k = 0; k < VEC_LANES; k++)
		latest = most[k] > latest ? most[k] : latest;
	return latest;
}

#undef LANE
#undef NAME
#undef VEC
#undef VEC_LANES
#undef TOGETHER
#undef EACH_VEC
#undef ROW
#undef ALL
#undef MAX
#undef V_MAX
#undef VEC_BYTES
#undef VECS
