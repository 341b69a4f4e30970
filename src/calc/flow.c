/* SPDX-License-Identifier: MIT */
/*
 * Method flow: the most likely frequencies of a whole program, given its samples, that obey the flow
 * equations of each procedure and the equations of calls between them.
 *
 *   1. Each class has a belief (struct belief): what its samples say, and how far that can be off, to
 *      either side apart (likelihood.c).
 *   2. The logarithm of the likelihood becomes a convex piecewise-linear cost of one arc of the
 *      class; a minimum-cost flow is the best that equations allow (mcf.c).
 *   3. A procedure's entries are as many as the calls of it. That is an equation between arcs of two
 *      procedures, which no network has, so procedures tell each other: callees first, each tells
 *      its callers how often it was entered, as far as other callers leave room; then, callers
 *      first, each tells its callees how often it called them. A message is a belief like those of
 *      samples, with its own error. Calls whose target is not known go through one hub: what enters
 *      procedures beyond their known calls is as much as such calls carry.
 *
 * Edges of one block that nothing tells apart share its flow evenly.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calc/network.h"
#include "calc/parts.h"
#include "util/array.h"

#define NONE	   UINT32_MAX
#define COST_LEAST 64 /* slope of the widest belief, in units of cost */
#define COST_MOST  (1LL << 36)
#define PROPAGATED 0.15 /* relative error of what only equations say, for messages */
#define HUB_ERROR  0.5	/* relative error of what the hub says */
#define SURE	   2	/* deviations that rule something out */

/* Slopes of the cost: between deviations at[i - 1] and at[i], `slope` per deviation. */
static const double at_up[] = { 0.4, 1, 2, 4 }, slope_up[] = { 0.2, 0.7, 1.5, 3, 4 };
static const double at_down[] = { 0.4, 1, 2 }, slope_down[] = { 0.2, 0.7, 1.2, 1.5 };
#define UPS   4
#define DOWNS 3
/* Below the mean, pieces end at its 1 / FINER, 1 / FINER^2, … too. */
#define FINE  12
#define FINER 1.35
#define TAIL  2 /* slope of the logarithm, times the frequency */

struct site {
	uint32_t proc, class; /* of the caller */
};

struct procedure {
	struct belief *beliefs; /* by class: of samples, and of messages */
	uint32_t *block_of; /* by class: the block whose arc bears the cost; NONE: an edge's does */
	uint32_t *edge_of;
	uint32_t entry_class; /* of its main entry; NONE: it has none */
	uint32_t first_site, nsites;
	struct belief entered; /* how often, before callers had a say */
	double beyond;	       /* entries that known calls do not explain */
	double unit, scale;    /* of flow and of cost */
	bool solved, silent;   /* silent: no samples */
	int64_t *blocks, *edges;
};

struct work {
	struct calc_program *p;
	struct procedure *procs;
	struct site *sites; /* by callee */
	uint32_t nsites;
	uint32_t *order;	      /* callees first */
	double indirect;	      /* calls whose target is not known */
	const struct calc_proc *proc; /* being solved */
	struct procedure *now;
};

static bool believed(const struct belief *b)
{
	return !isnan(b->mean);
}

/* Both are true: the product of two likelihoods, each with the side that faces the other. */
static struct belief agree(struct belief a, struct belief b)
{
	if (!believed(&a))
		return b;
	if (!believed(&b))
		return a;
	if (a.mean < b.mean) {
		struct belief c = a;
		a = b;
		b = c;
	}
	double wa = 1 / (a.down * a.down), wb = 1 / (b.up * b.up);
	struct belief both = { .mean = (a.mean * wa + b.mean * wb) / (wa + wb),
			       .down = 1 / sqrt(1 / (a.down * a.down) + 1 / (b.down * b.down)),
			       .up = 1 / sqrt(1 / (a.up * a.up) + 1 / (b.up * b.up)) };
	return both;
}

static int64_t slope_of(const struct work *w, double per_deviation, double deviation)
{
	double s = w->now->scale * per_deviation * w->now->unit / deviation;
	return s >= COST_MOST ? COST_MOST : s < 1 ? 1 : llrint(s);
}

/* The end of a piece of a cost, and its slope. */
struct stretch {
	double until;
	int64_t slope;
};

/*
 * What lies below a belief's mean, from 0 on. Near 0 the slope is that of stalls that lengthen by any
 * factor x with density 1 / x^2 (likelihood.c): a class with samples was executed, and two that share
 * a flow, and can both have stalled, share it by their samples.
 */
static unsigned stretches_below(const struct work *w, const struct belief *b, struct stretch *out)
{
	double start = 0;
	unsigned n = 0, i = DOWNS;
	for (unsigned k = 0; k <= FINE;) {
		double next = b->mean * pow(FINER, (double)k - FINE);
		while (i && b->mean - at_down[i - 1] * b->down <= start)
			i--;
		double bend = i ? b->mean - at_down[i - 1] * b->down : INFINITY;
		double end = fmin(next, bend);
		int64_t slope = slope_of(w, slope_down[i], b->down), tail = slope_of(w, TAIL, end);
		out[n++] = (struct stretch){ end, -(slope > tail ? slope : tail) };
		start = end;
		k += next <= bend;
	}
	return n;
}

/* A belief as a cost, whose slopes never fall. */
static unsigned belief_pieces(const struct work *w, const struct belief *b, struct mcf_piece *out)
{
	struct stretch all[FINE + 1 + DOWNS + UPS];
	unsigned n = 0, pieces = 0;
	if (!(b->mean > 0)) {
		/* Samples come at a constant rate: the logarithm falls in a straight line. */
		out[0] = (struct mcf_piece){ MCF_UNBOUNDED, slope_of(w, 1, b->up) };
		return 1;
	}
	n = stretches_below(w, b, all);
	for (unsigned i = 0; i < UPS; i++)
		all[n++] =
		    (struct stretch){ b->mean + at_up[i] * b->up, slope_of(w, slope_up[i], b->up) };
	int64_t done = 0, last = -MCF_SLOPE_MAX;
	for (unsigned i = 0; i < n; i++) {
		int64_t until = llrint(all[i].until / w->now->unit);
		if (until <= done)
			continue;
		last = all[i].slope > last ? all[i].slope : last;
		out[pieces++] = (struct mcf_piece){ until - done, last };
		done = until;
	}
	out[pieces++] = (struct mcf_piece){ MCF_UNBOUNDED, slope_of(w, slope_up[UPS], b->up) };
	return pieces;
}

static unsigned block_cost(void *context, uint32_t b, struct mcf_piece *out)
{
	const struct work *w = context;
	uint32_t class = w->proc->block_class[b];
	if (w->now->block_of[class] != b || !believed(&w->now->beliefs[class]))
		return 0;
	return belief_pieces(w, &w->now->beliefs[class], out);
}

static unsigned edge_cost(void *context, uint32_t e, struct mcf_piece *out)
{
	const struct work *w = context;
	const struct cfg *g = w->proc->graph;
	uint32_t class = w->proc->edge_class[e], from = g->edges[e].from;
	if (w->now->block_of[class] == NONE && w->now->edge_of[class] == e &&
	    believed(&w->now->beliefs[class]))
		return belief_pieces(w, &w->now->beliefs[class], out);
	if (from == CFG_OUTSIDE || g->blocks[from].nout < 2)
		return 0;
	/* Even shares are the cheapest, by the least that a cost can be. */
	double block = w->now->beliefs[w->proc->block_class[from]].mean;
	int64_t share = block > 0 ? llrint(block / g->blocks[from].nout / w->now->unit) : 0;
	if (share <= 0)
		return 0;
	out[0] = (struct mcf_piece){ share, 0 };
	out[1] = (struct mcf_piece){ share, 1 };
	out[2] = (struct mcf_piece){ MCF_UNBOUNDED, 2 };
	return 3;
}

/* Units of flow and cost in which the largest and the least belief are numbers of a good size. */
static void set_units(struct procedure *f, uint32_t nclasses)
{
	double total = 0, widest = 0;
	for (uint32_t c = 0; c < nclasses; c++)
		if (believed(&f->beliefs[c])) {
			total += f->beliefs[c].mean;
			widest = fmax(widest, fmax(f->beliefs[c].up, f->beliefs[c].down));
		}
	f->unit = network_unit(total);
	f->scale = COST_LEAST * widest / f->unit;
}

static void solve(struct work *w, uint32_t i)
{
	struct calc_proc *proc = &w->p->procs[i];
	struct procedure *f = &w->procs[i];
	w->proc = proc;
	w->now = f;
	set_units(f, proc->nclasses);
	if (!f->blocks) {
		f->blocks = x_calloc(proc->graph->nblocks + 1, sizeof(*f->blocks));
		f->edges = x_calloc(proc->graph->nedges + 1, sizeof(*f->edges));
	}
	struct network_costs costs = {
		.block = block_cost, .edge = edge_cost, .dead_end = COST_LEAST, .context = w
	};
	proc->rough = !network_solve(proc->graph, &costs, f->blocks, f->edges);
	f->solved = true;
}

/* What a class's frequency is, and its error, as far as is known yet. */
static struct belief class_state(const struct work *w, uint32_t proc, uint32_t class)
{
	const struct procedure *f = &w->procs[proc];
	struct belief b = f->beliefs[class];
	if (f->silent)
		return (struct belief){ 0, 0, 0 };
	if (!f->solved)
		return b;
	double value = (f->block_of[class] != NONE ? (double)f->blocks[f->block_of[class]]
						   : (double)f->edges[f->edge_of[class]]) *
		       f->unit;
	if (!believed(&b))
		return (struct belief){ value, PROPAGATED * value, PROPAGATED * value };
	/* Where equations overruled the samples, trust is as far as they disagree. */
	double off = fabs(value - b.mean) / 2;
	return (struct belief){ value, fmax(b.down, off), fmax(b.up, off) };
}

/* The sum of the known calls of a procedure, without those of one class of a caller. */
static struct belief calls_of(const struct work *w, uint32_t callee, const struct site *without)
{
	struct belief sum = { 0, 0, 0 };
	const struct procedure *f = &w->procs[callee];
	for (uint32_t s = f->first_site; s < f->first_site + f->nsites; s++) {
		if (without && w->sites[s].proc == without->proc &&
		    w->sites[s].class == without->class)
			continue;
		struct belief b = class_state(w, w->sites[s].proc, w->sites[s].class);
		if (!believed(&b))
			return b;
		sum.mean += b.mean;
		sum.down = hypot(sum.down, b.down);
		sum.up = hypot(sum.up, b.up);
	}
	return sum;
}

/* True if a procedure was entered more often than its known calls can explain. */
static bool is_open(const struct procedure *f, const struct belief *calls)
{
	return !believed(calls) ||
	       f->entered.mean - SURE * f->entered.down > calls->mean + SURE * calls->up;
}

/* A callee that is solved tells a call site's class how often it can have been executed. */
static void hear_callee(struct work *w, uint32_t callee, const struct site *s, struct belief *b)
{
	const struct procedure *f = &w->procs[callee];
	if (!f->solved || f->silent || f->nsites > 64 || f->entry_class == NONE)
		return;
	struct belief others = calls_of(w, callee, s), all = calls_of(w, callee, NULL);
	uint32_t same = 0;
	for (uint32_t k = f->first_site; k < f->first_site + f->nsites; k++)
		same += w->sites[k].proc == s->proc && w->sites[k].class == s->class;
	if (!believed(&others) || !same)
		return;
	double mean = fmax(0, f->entered.mean - others.mean) / same;
	double error = hypot(f->entered.down, others.up) / same;
	struct belief message = { mean, error, hypot(f->entered.up, others.down) / same };
	/* If others call it too, only too many calls are impossible. */
	if (is_open(f, &all)) {
		if (!believed(b) || b->mean < mean)
			return;
		message.down = 4 * fmax(error, mean);
	}
	if (message.down > 0 && message.up > 0)
		*b = agree(*b, message);
}

static void sweep_callees_first(struct work *w, const uint32_t *first_call, const uint32_t *callee,
				const uint32_t *class)
{
	for (uint32_t k = 0; k < w->p->nprocs; k++) {
		uint32_t i = w->order[k];
		struct procedure *f = &w->procs[i];
		if (f->silent)
			continue;
		for (uint32_t c = first_call[i]; c < first_call[i + 1]; c++)
			hear_callee(w, callee[c], &(struct site){ i, class[c] },
				    &f->beliefs[class[c]]);
		solve(w, i);
		if (f->entry_class != NONE)
			f->entered = class_state(w, i, f->entry_class);
	}
}

/* What indirect calls carry, and what entries they have to explain. */
static double hub_share(struct work *w)
{
	double beyond = 0;
	for (uint32_t i = 0; i < w->p->nprocs; i++) {
		struct procedure *f = &w->procs[i];
		struct belief calls = calls_of(w, i, NULL);
		f->beyond = 0;
		if (!f->silent && f->entry_class != NONE && believed(&calls) && is_open(f, &calls))
			f->beyond = f->entered.mean - calls.mean;
		beyond += f->beyond;
	}
	return beyond > 0 ? w->indirect / beyond : 0;
}

static void sweep_callers_first(struct work *w)
{
	double share = hub_share(w);
	for (uint32_t k = w->p->nprocs; k-- > 0;) {
		struct procedure *f = &w->procs[w->order[k]];
		if (f->silent || f->entry_class == NONE)
			continue;
		struct belief calls = calls_of(w, w->order[k], NULL);
		if (!believed(&calls) || (!f->nsites && !(f->beyond * share > 0)))
			continue;
		if (f->beyond > 0) {
			double more = f->beyond * share;
			calls.mean += more;
			calls.down = hypot(calls.down, HUB_ERROR * more);
			calls.up = hypot(calls.up, HUB_ERROR * more) + f->beyond;
		}
		if (!(calls.mean > 0) || !(calls.down > 0) || !(calls.up > 0))
			continue;
		f->beliefs[f->entry_class] = agree(f->beliefs[f->entry_class], calls);
		solve(w, w->order[k]);
	}
}

static void prepare(struct work *w, calc_believe *believe, uint32_t i)
{
	const struct calc_proc *proc = &w->p->procs[i];
	const struct cfg *g = proc->graph;
	struct procedure *f = &w->procs[i];
	f->silent = !(proc->samples > 0);
	f->beliefs = x_calloc(proc->nclasses + 1, sizeof(*f->beliefs));
	f->block_of = x_malloc((proc->nclasses + 1) * sizeof(*f->block_of));
	f->edge_of = x_malloc((proc->nclasses + 1) * sizeof(*f->edge_of));
	memset(f->block_of, 0xff, proc->nclasses * sizeof(*f->block_of));
	memset(f->edge_of, 0xff, proc->nclasses * sizeof(*f->edge_of));
	for (uint32_t b = g->nblocks; b-- > 0;)
		f->block_of[proc->block_class[b]] = b;
	for (uint32_t e = g->nedges; e-- > 0;)
		f->edge_of[proc->edge_class[e]] = e;
	f->entry_class = NONE;
	for (uint32_t e = 0; e < g->nedges; e++)
		if (g->edges[e].from == CFG_OUTSIDE && g->edges[e].to == g->entry)
			f->entry_class = proc->edge_class[e];
	believe(w->p, proc, f->beliefs);
	if (!w->p->sampling.record_depth)
		return;
	/* Its frequencies are not from samples. */
	f->silent = true;
	for (uint32_t c = 0; c < proc->nclasses && f->silent; c++)
		f->silent = !(f->beliefs[c].mean > 0);
}

struct start {
	uint64_t address;
	uint32_t proc;
};

static int compare_starts(const void *a, const void *b)
{
	const struct start *x = a, *y = b;
	return x->address != y->address ? (x->address > y->address) - (x->address < y->address)
					: (x->proc > y->proc) - (x->proc < y->proc);
}

static uint32_t find_proc(const struct start *starts, uint32_t n, uint64_t address)
{
	size_t i = ARRAY_SEARCH(n, k, starts[k].address < address);
	return address && i < n && starts[i].address == address ? starts[i].proc : NONE;
}

struct calls {
	uint32_t *first; /* by procedure */
	uint32_t *callee, *class;
	uint32_t n;
	size_t room, room_class;
};

static void add_call(struct calls *c, uint32_t callee, uint32_t class)
{
	ARRAY_ROOM(c->callee, c->room, c->n + 1);
	ARRAY_ROOM(c->class, c->room_class, c->n + 1);
	c->callee[c->n] = callee;
	c->class[c->n++] = class;
}

/* All calls of a procedure whose target is known; the others belong to the hub. */
static void list_calls(struct work *w, struct calls *c, uint32_t i, const struct start *starts)
{
	const struct calc_proc *proc = &w->p->procs[i];
	const struct cfg *g = proc->graph;
	for (uint32_t b = 0; b < g->nblocks; b++) {
		if (!(g->blocks[b].flags & CFG_BLOCK_CALLS))
			continue;
		uint32_t callee = find_proc(starts, w->p->nprocs, g->blocks[b].callee);
		double mean = w->procs[i].beliefs[proc->block_class[b]].mean;
		if (callee != NONE)
			add_call(c, callee, proc->block_class[b]);
		else if (!g->blocks[b].callee && mean > 0)
			w->indirect += mean;
	}
	for (uint32_t e = 0; e < g->nedges; e++) {
		uint32_t callee = find_proc(starts, w->p->nprocs, g->edges[e].callee);
		/* A tail call by a call's own block is listed already. */
		if (callee != NONE && g->edges[e].from != CFG_OUTSIDE &&
		    !(g->blocks[g->edges[e].from].flags & CFG_BLOCK_CALLS))
			add_call(c, callee, proc->edge_class[e]);
	}
}

static void list_sites(struct work *w, const struct calls *c)
{
	for (uint32_t k = 0; k < c->n; k++)
		w->procs[c->callee[k]].nsites++;
	for (uint32_t i = 1; i < w->p->nprocs; i++)
		w->procs[i].first_site = w->procs[i - 1].first_site + w->procs[i - 1].nsites;
	w->sites = x_calloc(c->n + 1, sizeof(*w->sites));
	uint32_t *n = x_calloc(w->p->nprocs + 1, sizeof(*n));
	for (uint32_t i = 0; i < w->p->nprocs; i++)
		for (uint32_t k = c->first[i]; k < c->first[i + 1]; k++)
			w->sites[w->procs[c->callee[k]].first_site + n[c->callee[k]]++] =
			    (struct site){ i, c->class[k] };
	free(n);
}

/* Callees before callers, but for recursion: postorder of a depth-first search. */
static void put_order(struct work *w, const struct calls *c)
{
	uint32_t n = w->p->nprocs, done = 0, depth;
	uint32_t *stack = x_malloc((n + 1) * sizeof(*stack));
	uint32_t *next = x_malloc((n + 1) * sizeof(*next));
	uint8_t *seen = x_calloc(n + 1, 1);
	memcpy(next, c->first, n * sizeof(*next));
	for (uint32_t root = 0; root < n; root++) {
		if (seen[root])
			continue;
		seen[root] = 1;
		stack[0] = root;
		for (depth = 1; depth;) {
			uint32_t i = stack[depth - 1];
			if (next[i] == c->first[i + 1]) {
				w->order[done++] = i;
				depth--;
				continue;
			}
			uint32_t callee = c->callee[next[i]++];
			if (!seen[callee]) {
				seen[callee] = 1;
				stack[depth++] = callee;
			}
		}
	}
	free(stack);
	free(next);
	free(seen);
}

/* Results: frequencies, and intervals of 95% from beliefs and equations. */
static void put_results(struct work *w, uint32_t i)
{
	struct calc_proc *proc = &w->p->procs[i];
	struct procedure *f = &w->procs[i];
	if (!f->blocks) {
		f->blocks = x_calloc(proc->graph->nblocks + 1, sizeof(*f->blocks));
		f->edges = x_calloc(proc->graph->nedges + 1, sizeof(*f->edges));
	}
	calc_put_flows(proc, f->blocks, f->edges, f->unit);
	calc_put_intervals(proc, f->beliefs);
}

void calc_flow_program(struct calc_program *p, calc_believe *believe)
{
	uint32_t n = p->nprocs;
	struct work w = { .p = p,
			  .procs = x_calloc(n + 1, sizeof(*w.procs)),
			  .order = x_calloc(n + 1, sizeof(*w.order)) };
	struct calls calls = { .first = x_calloc(n + 1, sizeof(*calls.first)) };
	struct start *starts = x_calloc(n + 1, sizeof(*starts));
	for (uint32_t i = 0; i < n; i++) {
		prepare(&w, believe, i);
		starts[i] = (struct start){ p->procs[i].graph->start, i };
	}
	qsort(starts, n, sizeof(*starts), compare_starts);
	for (uint32_t i = 0; i < n; i++) {
		list_calls(&w, &calls, i, starts);
		calls.first[i + 1] = calls.n;
	}
	list_sites(&w, &calls);
	put_order(&w, &calls);
	sweep_callees_first(&w, calls.first, calls.callee, calls.class);
	sweep_callers_first(&w);
	for (uint32_t i = 0; i < n; i++)
		put_results(&w, i);
	for (uint32_t i = 0; i < n; i++) {
		free(w.procs[i].beliefs);
		free(w.procs[i].block_of);
		free(w.procs[i].edge_of);
		free(w.procs[i].blocks);
		free(w.procs[i].edges);
	}
	free(w.procs);
	free(w.order);
	free(w.sites);
	free(calls.first);
	free(calls.callee);
	free(calls.class);
	free(starts);
}

static bool flow_estimate(struct calc_program *p, struct err *e)
{
	(void)e;
	calc_flow_program(p, calc_believe_samples);
	return true;
}

const struct calc_method calc_flow = {
	.name = "flow",
	.meaning = "minimum-cost flow within procedures and equations of calls between them, with "
		   "costs from the likelihood of the samples",
	.risks = true,
	.estimate = flow_estimate,
};
