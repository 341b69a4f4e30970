/* SPDX-License-Identifier: MIT */
/*
 * Forwards: the times of all nodes, as the graph has them in lane 0, and who made each operand.
 * Backwards: the latest time of each node that leaves the last commit where it is; the difference
 * is its global slack (fields2002). Local slack is what the node can be late without any successor
 * noticing. Then the longest path is walked from the last commit to the first fetch, and each of
 * its cycles given to an instruction and a kind.
 *
 * A segment starts with an empty machine: what was in flight before it is not known to it.
 */
#include "analysis/icost/segment.h"

#include <string.h>

#include "util/util.h"

#define FAR (INT64_MAX / 4)

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void sooner(int64_t *into, int64_t t)
{
	if (t < *into)
		*into = t;
}

static uint32_t own_fetch(const struct graph_inst *in)
{
	return (uint32_t)in->fetch[0].cycles + in->fetch[1].cycles;
}
static uint32_t step(const struct graph_inst *in)
{
	return (uint32_t)in->step[0].cycles + in->step[1].cycles;
}
static uint32_t latency(const struct graph_inst *in)
{
	uint32_t sum = in->ep;
	for (unsigned k = 0; k < GRAPH_EP_PARTS; k++)
		sum += graph_counts(in->ep_part[k].category, 0) ? in->ep_part[k].cycles : 0;
	return sum;
}

/* Instruction that D(i - x) -> F(i) comes from; as the kernels round it. */
static int64_t buffer_source(int64_t i, uint16_t x)
{
	int64_t j = i - x;
	while (j >= 0 && j % GRAPH_GRAIN != GRAPH_GRAIN - 1)
		j--;
	return j;
}

/* When a line is there that a store brings and this load wants. */
static int64_t line_there(const struct segment *s, int64_t i)
{
	const int32_t j = s->node[i].late;
	return s->node[j].c + s->in[j].fill + s->in[i].drain.cycles;
}

static bool wants_line(const struct segment *s, int64_t i)
{
	return s->in[i].flags & GRAPH_LINE && s->node[i].late >= 0;
}

/* … the cycles that it waits for that; at most what it takes to bring it by itself, if its bytes
 * are not in the store queue. */
static int64_t line_wait(const struct segment *s, int64_t i)
{
	const int64_t wait = later(line_there(s, i) - s->node[i].e, 0), most = s->in[i].fill;
	return wait <= most ? wait : s->in[i].flags & GRAPH_FORWARD ? 0 : most;
}

static void forwards(struct segment *s, const struct graph_config *g)
{
	int32_t writer[GRAPH_SLOTS];
	int32_t head = -1;
	memset(writer, -1, sizeof(writer));
	for (int64_t i = 0; i < (int64_t)s->count; i++) {
		const struct graph_inst *in = &s->in[i];
		int64_t f = head >= 0 ? s->node[head].f : 0;
		s->node[i].head = head; /* of the packet before, if it is a head itself */
		if (in->flags & GRAPH_HEAD) {
			f += head >= 0 ? step(in) : 0;
			if (i && in->flags & GRAPH_PD)
				f = later(f, s->node[i - 1].p + in->pd);
			if (i && in->flags & GRAPH_CF)
				f = later(f, s->node[i - 1].c + in->cf);
			const int64_t j = in->buffer ? buffer_source(i, in->buffer) : -1;
			if (j >= 0)
				f = later(f, s->node[j].d);
			if (in->targets && i >= in->targets)
				f = later(f, s->node[i - in->targets].c);
			f += own_fetch(in);
			head = (int32_t)i;
		}
		int64_t d = f + g->depth;
		if (i)
			d = later(d, s->node[i - 1].d);
		if (i >= (int64_t)g->fetch_width)
			d = later(d, s->node[i - g->fetch_width].d + 1);
		if (in->cd[0] && i >= in->cd[0])
			d = later(d, s->node[i - in->cd[0]].c + in->cd_wait.cycles);
		if (in->iq && i >= in->iq)
			d = later(d, s->node[i - in->iq].e);
		if (i && in->flags & GRAPH_SERIAL)
			d = later(d, s->node[i - 1].c);
		d += in->dd.cycles;
		int64_t e = d + g->dispatch_latency, v = e;
		for (unsigned k = 0; k < GRAPH_SOURCES; k++) {
			const int32_t j = in->src[k] ? writer[in->src[k]] : -1;
			s->node[i].src[k] = j;
			if (j >= 0)
				e = later(e, s->node[j].p + (s->in[j].dst == in->src[k]
								 ? s->in[j].wake.cycles
								 : 0));
		}
		s->node[i].port = in->port && in->after ? writer[in->after] : -1;
		if (s->node[i].port >= 0)
			v = later(v, s->node[s->node[i].port].v +
					 s->in[s->node[i].port].occupies.cycles);
		if (in->port && in->flags & GRAPH_PORT)
			e = later(e, v);
		e += in->re.cycles;
		int64_t p = e;
		s->node[i].late = in->late && !in->written ? writer[in->late] : -1;
		s->node[i].e = e;
		if (wants_line(s, i))
			p += line_wait(s, i);
		else if (s->node[i].late >= 0)
			p = later(p, s->node[s->node[i].late].p);
		if (in->written && i >= in->written)
			p = later(p, s->node[i - in->written].c + in->drain.cycles);
		p += latency(in);
		s->node[i].line = in->line ? writer[in->line] : -1;
		s->node[i].data = in->data ? writer[in->data] : -1;
		if (s->node[i].line >= 0)
			p = later(p, s->node[s->node[i].line].p);
		if (s->node[i].data >= 0) {
			const struct graph_inst *by = &s->in[s->node[i].data];
			p = later(p, s->node[s->node[i].data].p +
					 (by->dst == in->data ? by->wake.cycles : 0));
		}
		int64_t c = later(p, e + g->commit_latency);
		if (i)
			c = later(c, s->node[i - 1].c);
		if (i >= (int64_t)g->commit_width)
			c = later(c, s->node[i - g->commit_width].c + 1);
		c += in->pc;
		s->node[i].f = f;
		s->node[i].d = d;
		s->node[i].v = v;
		s->node[i].p = p;
		s->node[i].c = c;
		if (in->port)
			writer[in->port] = (int32_t)i;
		if (in->mem)
			writer[in->mem] = (int32_t)i;
		if (in->brings)
			writer[in->brings] = (int32_t)i;
		if (in->dst)
			writer[in->dst] = (int32_t)i;
	}
}

/* An edge out of the P of j that must arrive by `by` and that v needs at `at`. */
static void out_of_p(struct segment *s, int32_t j, int64_t by, int64_t at)
{
	if (j < 0)
		return;
	sooner(&s->node[j].lp, by);
	const int64_t local = at - s->node[j].p;
	if (local < s->inst[j].local)
		s->inst[j].local = (uint32_t)later(local, 0);
}

static void backwards(struct segment *s, const struct graph_config *g)
{
	const int64_t n = (int64_t)s->count;
	for (int64_t i = 0; i < n; i++) {
		s->node[i].lf = s->node[i].ld = s->node[i].lv = s->node[i].le = s->node[i].lp =
		    s->node[i].lc = FAR;
		s->inst[i].local = UINT32_MAX;
	}
	s->node[n - 1].lc = s->node[n - 1].c;
	for (int64_t i = n - 1; i >= 0; i--) {
		const struct graph_inst *in = &s->in[i];
		/* into C */
		int64_t by = s->node[i].lc - in->pc, at = s->node[i].c - in->pc;
		out_of_p(s, (int32_t)i, by, at);
		sooner(&s->node[i].le, by - g->commit_latency);
		if (i)
			sooner(&s->node[i - 1].lc, by);
		if (i >= (int64_t)g->commit_width)
			sooner(&s->node[i - g->commit_width].lc, by - 1);
		/* into P */
		by = s->node[i].lp;
		at = s->node[i].p;
		sooner(&s->node[i].le, by - latency(in));
		if (!wants_line(s, i))
			out_of_p(s, s->node[i].late, by - latency(in), at - latency(in));
		else if (line_there(s, i) - s->node[i].e <= in->fill)
			sooner(&s->node[s->node[i].late].lc,
			       by - latency(in) - in->drain.cycles - s->in[s->node[i].late].fill);
		else if (!(in->flags & GRAPH_FORWARD))
			sooner(&s->node[i].le, by - latency(in) - in->fill);
		if (in->written && i >= in->written)
			sooner(&s->node[i - in->written].lc, by - latency(in) - in->drain.cycles);
		out_of_p(s, s->node[i].line, by, at);
		if (s->node[i].data >= 0) {
			const struct graph_inst *from = &s->in[s->node[i].data];
			const int64_t wake = from->dst == in->data ? from->wake.cycles : 0;
			out_of_p(s, s->node[i].data, by - wake, at - wake);
		}
		/* into E */
		by = s->node[i].le - in->re.cycles;
		at = s->node[i].e - in->re.cycles;
		for (unsigned k = 0; k < GRAPH_SOURCES; k++)
			if (s->node[i].src[k] >= 0) {
				const struct graph_inst *from = &s->in[s->node[i].src[k]];
				const int64_t wake =
				    from->dst == in->src[k] ? from->wake.cycles : 0;
				out_of_p(s, s->node[i].src[k], by - wake, at - wake);
			}
		sooner(&s->node[i].ld, by - g->dispatch_latency);
		if (in->port && in->flags & GRAPH_PORT)
			sooner(&s->node[i].lv, by);
		sooner(&s->node[i].ld, s->node[i].lv - g->dispatch_latency);
		if (s->node[i].port >= 0)
			sooner(&s->node[s->node[i].port].lv,
			       s->node[i].lv - s->in[s->node[i].port].occupies.cycles);
		/* into D */
		by = s->node[i].ld - in->dd.cycles;
		const int32_t packet = in->flags & GRAPH_HEAD ? (int32_t)i : s->node[i].head;
		if (packet >= 0)
			sooner(&s->node[packet].lf, by - g->depth);
		if (i)
			sooner(&s->node[i - 1].ld, by);
		if (i >= (int64_t)g->fetch_width)
			sooner(&s->node[i - g->fetch_width].ld, by - 1);
		if (in->cd[0] && i >= in->cd[0])
			sooner(&s->node[i - in->cd[0]].lc, by - in->cd_wait.cycles);
		if (in->iq && i >= in->iq)
			sooner(&s->node[i - in->iq].le, by);
		if (i && in->flags & GRAPH_SERIAL)
			sooner(&s->node[i - 1].lc, by);
		/* into F */
		if (!(in->flags & GRAPH_HEAD))
			continue;
		by = s->node[i].lf - own_fetch(in);
		at = s->node[i].f - own_fetch(in);
		if (s->node[i].head >= 0)
			sooner(&s->node[s->node[i].head].lf, by - step(in));
		if (i && in->flags & GRAPH_PD)
			out_of_p(s, (int32_t)i - 1, by - in->pd, at - in->pd);
		if (i && in->flags & GRAPH_CF)
			sooner(&s->node[i - 1].lc, by - in->cf);
		const int64_t j = in->buffer ? buffer_source(i, in->buffer) : -1;
		if (j >= 0)
			sooner(&s->node[j].ld, by);
		if (in->targets && i >= in->targets)
			sooner(&s->node[i - in->targets].lc, by);
	}
	for (int64_t i = 0; i < n; i++) {
		const int64_t slack = s->node[i].lp - s->node[i].p;
		s->inst[i].slack = (uint32_t)min_u64((uint64_t)later(slack, 0), UINT32_MAX);
	}
}

/* ---- the longest path ---- */

enum path_node { AT_C, AT_P, AT_E, AT_V, AT_D, AT_F, AT_START };

static void give(struct segment *s, int64_t i, enum cost_kind kind, int64_t cycles)
{
	if (cycles > 0)
		s->inst[i].kind_cycles[kind] = (uint16_t)min_u64(
		    (uint64_t)s->inst[i].kind_cycles[kind] + (uint64_t)cycles, UINT16_MAX);
}

static enum cost_kind kind_of(const struct graph_part *p)
{
	switch (p->category) {
	case CAT_DMISS:
	case CAT_BMISP_DMISS:
	case CAT_REACH_DMISS:
	case CAT_REACH_BW_DMISS:
	case CAT_REACH_EITHER_DMISS:
	case CAT_REACH_BOTH_DMISS:
		return KIND_MISS;
	case CAT_IMISS:
	case CAT_BMISP_IMISS:
		return KIND_IMISS;
	case CAT_BMISP:
		return KIND_MISPREDICT;
	case CAT_DL1:
	case CAT_SHALU:
	case CAT_LGALU:
		return KIND_LATENCY;
	case CAT_WIN:
		return KIND_WINDOW;
	case CAT_NONE:
		return KIND_OTHER;
	default:
		return KIND_BANDWIDTH;
	}
}

/* From F of *i to the node before it. */
static enum path_node before_f(struct segment *s, int64_t *i)
{
	const struct graph_inst *in = &s->in[*i];
	const int64_t here = *i;
	for (unsigned k = 0; k < 2; k++)
		give(s, here, kind_of(&in->fetch[k]), in->fetch[k].cycles);
	const int64_t t = s->node[here].f - own_fetch(in);
	if (here && in->flags & GRAPH_PD && t == s->node[here - 1].p + in->pd) {
		give(s, here - 1, KIND_MISPREDICT, in->pd);
		*i = here - 1;
		return AT_P;
	}
	if (here && in->flags & GRAPH_CF && t == s->node[here - 1].c + in->cf) {
		give(s, here - 1, KIND_OTHER, in->cf);
		*i = here - 1;
		return AT_C;
	}
	const int64_t j = in->buffer ? buffer_source(here, in->buffer) : -1;
	if (j >= 0 && t == s->node[j].d) {
		*i = j;
		return AT_D;
	}
	if (in->targets && here >= in->targets && t == s->node[here - in->targets].c) {
		*i = here - in->targets;
		return AT_C;
	}
	if (s->node[here].head < 0)
		return AT_START;
	for (unsigned k = 0; k < 2; k++)
		give(s, here, kind_of(&in->step[k]), in->step[k].cycles);
	*i = s->node[here].head;
	return AT_F;
}

static enum path_node before_d(struct segment *s, const struct graph_config *g, int64_t *i)
{
	const struct graph_inst *in = &s->in[*i];
	const int64_t here = *i, t = s->node[here].d - in->dd.cycles;
	give(s, here, kind_of(&in->dd), in->dd.cycles);
	if (here && in->flags & GRAPH_SERIAL && t == s->node[here - 1].c) {
		*i = here - 1;
		return AT_C;
	}
	if (in->cd[0] && here >= in->cd[0] &&
	    t == s->node[here - in->cd[0]].c + in->cd_wait.cycles) {
		give(s, here, KIND_WINDOW, in->cd_wait.cycles);
		*i = here - in->cd[0];
		return AT_C;
	}
	if (in->iq && here >= in->iq && t == s->node[here - in->iq].e) {
		*i = here - in->iq;
		return AT_E;
	}
	const int32_t packet = in->flags & GRAPH_HEAD ? (int32_t)here : s->node[here].head;
	if (packet >= 0 && t == s->node[packet].f + (int64_t)g->depth) {
		give(s, here, KIND_OTHER, g->depth);
		*i = packet;
		return AT_F;
	}
	if (packet < 0 && t == (int64_t)g->depth) { /* fetched before the segment's first packet */
		give(s, here, KIND_OTHER, g->depth);
		return AT_START;
	}
	if (here && t == s->node[here - 1].d) {
		*i = here - 1;
		return AT_D;
	}
	if (here >= (int64_t)g->fetch_width && t == s->node[here - g->fetch_width].d + 1) {
		give(s, here, KIND_BANDWIDTH, 1);
		*i = here - g->fetch_width;
		return AT_D;
	}
	return AT_START;
}

static enum path_node before_e(struct segment *s, const struct graph_config *g, int64_t *i)
{
	const struct graph_inst *in = &s->in[*i];
	const int64_t here = *i, t = s->node[here].e - in->re.cycles;
	give(s, here, kind_of(&in->re), in->re.cycles);
	for (unsigned k = 0; k < GRAPH_SOURCES; k++) {
		const int32_t j = s->node[here].src[k];
		if (j < 0)
			continue;
		const int64_t wake = s->in[j].dst == in->src[k] ? s->in[j].wake.cycles : 0;
		if (t != s->node[j].p + wake)
			continue;
		give(s, j, KIND_LATENCY, wake);
		*i = j;
		return AT_P;
	}
	if (t == s->node[here].d + (int64_t)g->dispatch_latency) {
		give(s, here, KIND_OTHER, g->dispatch_latency);
		return AT_D;
	}
	return AT_V;
}

/* The cycles that its execution took. */
static void own_latency(struct segment *s, int64_t i)
{
	const struct graph_inst *in = &s->in[i];
	s->inst[i].critical = true;
	for (unsigned k = 0; k < GRAPH_EP_PARTS; k++)
		if (graph_counts(in->ep_part[k].category, 0))
			give(s, i, kind_of(&in->ep_part[k]), in->ep_part[k].cycles);
	give(s, i, KIND_OTHER, in->ep);
}

static enum path_node before_p(struct segment *s, int64_t *i)
{
	const struct graph_inst *in = &s->in[*i];
	const int64_t here = *i;
	if (s->node[here].e + latency(in) == s->node[here].p) {
		own_latency(s, here);
		return AT_E;
	}
	const int64_t begun = s->node[here].p - latency(in);
	const int32_t line = s->node[here].line, late = s->node[here].late;
	if (wants_line(s, here) && s->node[here].e + line_wait(s, here) == begun) {
		const bool there = line_there(s, here) == begun;
		own_latency(s, here);
		give(s, here, KIND_MISS, there ? s->in[late].fill + in->drain.cycles : in->fill);
		*i = there ? late : here;
		return there ? AT_C : AT_E;
	}
	const bool waited = late >= 0 && !(in->flags & GRAPH_LINE) && s->node[late].p == begun,
		   written = in->written && here >= in->written &&
			     s->node[here - in->written].c + in->drain.cycles == begun;
	if (waited || written) {
		own_latency(s, here);
		*i = waited ? late : here - in->written;
		if (!waited)
			give(s, here, kind_of(&in->drain), in->drain.cycles);
		return waited ? AT_P : AT_C;
	}
	if (line >= 0 && s->node[line].p == s->node[here].p) {
		*i = line;
		return AT_P;
	}
	*i = s->node[here].data;
	return *i >= 0 ? AT_P : AT_START;
}

static enum path_node before_c(struct segment *s, const struct graph_config *g, int64_t *i)
{
	const struct graph_inst *in = &s->in[*i];
	const int64_t here = *i, t = s->node[here].c - in->pc;
	give(s, here, KIND_OTHER, in->pc);
	if (here && t == s->node[here - 1].c) {
		*i = here - 1;
		return AT_C;
	}
	if (t == s->node[here].p)
		return AT_P;
	if (t == s->node[here].e + (int64_t)g->commit_latency) {
		give(s, here, KIND_OTHER, g->commit_latency);
		return AT_E;
	}
	if (here >= (int64_t)g->commit_width) {
		give(s, here, KIND_BANDWIDTH, 1);
		*i = here - g->commit_width;
		return AT_C;
	}
	return AT_START;
}

static void walk(struct segment *s, const struct graph_config *g)
{
	enum path_node at = AT_C;
	int64_t i = (int64_t)s->count - 1;
	while (at != AT_START && i >= 0)
		switch (at) {
		case AT_C:
			at = before_c(s, g, &i);
			break;
		case AT_P:
			at = before_p(s, &i);
			break;
		case AT_E:
			at = before_e(s, g, &i);
			break;
		case AT_V:
			if (s->node[i].port >= 0 &&
			    s->node[i].v > s->node[i].d + (int64_t)g->dispatch_latency) {
				const struct graph_inst *by = &s->in[s->node[i].port];
				give(s, s->node[i].port,
				     by->occupies.category == CAT_NONE ? KIND_BANDWIDTH
								       : KIND_LATENCY,
				     by->occupies.cycles);
				i = s->node[i].port;
			} else {
				give(s, i, KIND_OTHER, g->dispatch_latency);
				at = AT_D;
			}
			break;
		case AT_D:
			at = before_d(s, g, &i);
			break;
		case AT_F:
			at = before_f(s, &i);
			break;
		case AT_START:
			break;
		}
}

void segment_solve(struct segment *s, const struct graph_config *config)
{
	if (!s->count)
		return;
	for (size_t i = 0; i < s->count; i++) {
		s->inst[i].critical = false;
		memset(s->inst[i].kind_cycles, 0, sizeof(s->inst[i].kind_cycles));
	}
	forwards(s, config);
	backwards(s, config);
	walk(s, config);
	s->length = (uint64_t)s->node[s->count - 1].c;
}
