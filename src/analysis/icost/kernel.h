/* SPDX-License-Identifier: MIT */
/*
 * A batch of steps through the graph, written once over vectors of lanes. Each kernel_*.c includes
 * this twice, with LANE (the type of a time), NAME(x) (x with the width in it), VEC_BYTES, VECS
 * (vectors that go together) and V_MAX(a, b).
 *
 * What the next instruction needs of this one (F, D, P, C) stays in registers. The rest is rows;
 * a row of zeros stands for an edge that is not there where that is cheaper than a branch. Edges of
 * bandwidth and window are there or not for whole vectors, which the compiler knows.
 */
#include "analysis/icost/graph_int.h"

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

/* One pass of TOGETHER lanes. wide: their window is idealised; bw: so many of the vectors have
 * bandwidth's edges. */
static inline __attribute__((always_inline)) void NAME(pass)(struct graph *g, LANE *lanes,
							     const struct graph_step *s,
							     const struct graph_step *end,
							     const bool wide, const unsigned bw)
{
	const VEC ready = ALL(g->config.dispatch_latency), done = ALL(g->config.commit_latency),
		  depth = ALL(g->config.depth), one = ALL(1);
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
		const unsigned flags = s->flags;
		VEC t[VECS];
		if (flags & STEP_HEAD) {
			EACH_VEC f[v] += ROW(s->step)[v];
			if (flags & STEP_PD)
				EACH_VEC f[v] = MAX(f[v], (p[v] + ALL(s->pd)) & ROW(s->pd_mask)[v]);
			if (flags & STEP_CF)
				EACH_VEC f[v] = MAX(f[v], c[v] + ALL(s->cf));
			for (unsigned v = 0; v < bw; v++)
				f[v] = MAX(f[v], ROW(s->buffer)[v]);
			for (unsigned v = 0; !wide && s->targets && v < bw; v++)
				f[v] = MAX(f[v], ROW(s->targets)[v]);
			EACH_VEC f[v] = MAX(f[v], ROW(s->buffer_ideal)[v]) + ROW(s->fetch)[v];
			EACH_VEC d[v] = MAX(d[v], f[v] + depth);
		}
		for (unsigned v = 0; v < bw; v++)
			d[v] = MAX(d[v], ROW(s->d_before)[v]);
		if (wide) {
			EACH_VEC d[v] = MAX(d[v], ROW(s->cd[1])[v]);
		} else {
			if (flags & STEP_WAIT)
				EACH_VEC d[v] = MAX(d[v], ROW(s->cd[0])[v] + ROW(s->wait)[v]);
			else
				EACH_VEC d[v] = MAX(d[v], ROW(s->cd[0])[v]);
			if (flags & STEP_IQ)
				EACH_VEC d[v] = MAX(d[v], ROW(s->iq)[v]);
		}
		if (flags & STEP_SERIAL)
			EACH_VEC d[v] = MAX(d[v], c[v]);
		if (flags & STEP_DD)
			EACH_VEC d[v] += ROW(s->dd)[v];
		VEC *const d_to = ROW(s->d);
		for (unsigned v = 0; v < bw; v++)
			d_to[v] = d[v] + one;
		if (flags & STEP_D_GRAIN) {
			VEC *const to = ROW(s->d_grain);
			EACH_VEC to[v] = d[v];
		}

		EACH_VEC t[v] = MAX(MAX(d[v] + ready, ROW(s->src[0])[v]), ROW(s->src[1])[v]);
		if (flags & STEP_SOURCES)
			EACH_VEC t[v] = MAX(MAX(t[v], ROW(s->src[2])[v]), ROW(s->src[3])[v]);
		if (flags & STEP_PORT) {
			VEC *const port = ROW(s->port);
			VEC free[VECS];
			const VEC *const occupies = ROW(s->occupies);
			EACH_VEC free[v] = d[v] + ready;
			for (unsigned v = 0; v < bw; v++)
				free[v] = MAX(free[v], ROW(s->after)[v]);
			if (flags & STEP_PORT_BINDS)
				EACH_VEC t[v] = MAX(t[v], free[v]);
			EACH_VEC port[v] = free[v] + occupies[v];
		}
		if (flags & STEP_RE)
			EACH_VEC t[v] += ROW(s->re)[v];
		if (issue) {
			VEC *const to = ROW(s->e);
			EACH_VEC to[v] = t[v];
		}

		if (flags & STEP_LATE) {
			const VEC most = ALL(s->fill);
			VEC late[VECS];
			EACH_VEC late[v] = ROW(s->late)[v] + ROW(s->drain)[v];
			if (!(flags & STEP_LINE))
				EACH_VEC t[v] = MAX(t[v], late[v]);
			else
				EACH_VEC
				{
					const VEC wait =
					    MAX(late[v] & ROW(s->late_mask)[v], t[v]) - t[v];
					t[v] += flags & STEP_FORWARD
						    ? wait & (VEC)(wait <= most)
						    : wait + most - MAX(wait, most);
				}
		}
		if (flags & STEP_P) {
			EACH_VEC p[v] = MAX(t[v] + ROW(s->to_p)[v], ROW(s->data)[v]);
			EACH_VEC p[v] = MAX(p[v], ROW(s->line)[v] & ROW(s->line_mask)[v]);
			EACH_VEC c[v] = MAX(c[v], MAX(p[v], t[v] + done));
			VEC *const mem = ROW(s->mem);
			EACH_VEC mem[v] = p[v];
			if (s->dst) {
				VEC *const to = ROW(s->dst);
				const VEC *const wake = ROW(s->wake);
				EACH_VEC to[v] = p[v] + wake[v];
			}
		} else {
			if (flags & STEP_P_KEPT)
				EACH_VEC p[v] = t[v] + ROW(s->to_p)[v];
			EACH_VEC c[v] = MAX(c[v], t[v] + ROW(s->to_c)[v]);
			if (s->dst) {
				VEC *const to = ROW(s->dst);
				const VEC *const after = ROW(s->to_dst);
				EACH_VEC to[v] = t[v] + after[v];
			}
		}
		for (unsigned v = 0; v < bw; v++)
			c[v] = MAX(c[v], ROW(s->c_before)[v] + one);
		if (flags & (STEP_PC | STEP_BRINGS)) {
			EACH_VEC c[v] += ALL(s->pc);
			if (flags & STEP_BRINGS) {
				VEC *const to = ROW(s->brings);
				EACH_VEC to[v] = c[v] + ALL(s->fill);
			}
		}
		VEC *const c_to = ROW(s->c);
		EACH_VEC c_to[v] = c[v];
		if (wide && flags & STEP_C_GRAIN) {
			VEC *const to = ROW(s->c_grain);
			EACH_VEC to[v] = c[v];
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

/* How many of the vectors from lane on have bandwidth's edges. */
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

/* Takes off[lane] off all times, down to 0, and says what the latest is after that. */
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
