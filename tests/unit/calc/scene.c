/* SPDX-License-Identifier: MIT */
/* Random programs with known counts, and samples of them. */
#include "scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static double uniform(struct rng *r)
{
	return (double)(rng_next(r) >> 11) / (double)(1ULL << 53);
}

static uint32_t below(struct rng *r, uint32_t n)
{
	return (uint32_t)rng_below(r, n);
}

static double normal(struct rng *s)
{
	return sqrt(-2 * log(1 - uniform(s))) * cos(2 * M_PI * uniform(s));
}

static double poisson(struct rng *s, double mean)
{
	if (mean > 50)
		return fmax(0, round(mean + sqrt(mean) * normal(s)));
	double limit = exp(-mean), product = uniform(s), n = 0;
	for (; product > limit; n++)
		product *= uniform(s);
	return n;
}

/* A procedure under construction. */
struct maker {
	struct rng *seed;
	struct cfg_edge *edges;
	uint32_t nedges, nblocks;
};

static void link(struct maker *m, uint32_t from, uint32_t to, enum cfg_kind kind)
{
	*ARRAY_ADD(m->edges, m->nedges) =
	    (struct cfg_edge){ .from = from, .to = to, .kind = (uint8_t)kind };
}

/* Blocks after `from` that make up about `size`; returns the last. Depth is bounded by size. */
static uint32_t make_part(struct maker *m, uint32_t from, uint32_t size)
{
	while (size > 2) {
		uint32_t inner = 1 + below(m->seed, size - 1), shape = below(m->seed, 4);
		uint32_t head = m->nblocks++;
		link(m, from, head, CFG_FALL);
		size -= size < inner + 2 ? size : inner + 2;
		if (shape == 0) { /* nothing but the block */
			from = head;
			continue;
		}
		uint32_t last = make_part(m, head, inner);
		if (shape == 1) { /* loop */
			link(m, last, head, CFG_TAKEN);
			from = last;
			continue;
		}
		uint32_t join = m->nblocks++;
		if (shape == 3 && inner > 2) { /* else */
			uint32_t other = m->nblocks++;
			link(m, head, other, CFG_TAKEN);
			link(m, other, join, CFG_FALL);
		} else {
			link(m, head, join, CFG_TAKEN);
		}
		link(m, last, join, CFG_FALL);
		from = join;
	}
	uint32_t end = m->nblocks++;
	link(m, from, end, CFG_FALL);
	return end;
}

static int compare_edges(const void *a, const void *b)
{
	const struct cfg_edge *x = a, *y = b;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
				  : (x->to > y->to) - (x->to < y->to);
}

static void index_edges(struct cfg *g)
{
	g->in = x_calloc(g->nedges + 1, sizeof(*g->in));
	for (uint32_t e = 0; e < g->nedges; e++) {
		if (g->edges[e].to != CFG_OUTSIDE)
			g->blocks[g->edges[e].to].nin++;
		if (g->edges[e].from != CFG_OUTSIDE && !g->blocks[g->edges[e].from].nout++)
			g->blocks[g->edges[e].from].first_out = e;
	}
	for (uint32_t b = 1; b < g->nblocks; b++)
		g->blocks[b].first_in = g->blocks[b - 1].first_in + g->blocks[b - 1].nin;
	for (uint32_t b = 0; b < g->nblocks; b++)
		g->blocks[b].nin = 0;
	for (uint32_t e = 0; e < g->nedges; e++)
		if (g->edges[e].to != CFG_OUTSIDE) {
			struct cfg_block *b = &g->blocks[g->edges[e].to];
			g->in[b->first_in + b->nin++] = e;
		}
}

static struct cfg *make_graph(const struct scene_options *o, struct rng *seed, uint32_t number)
{
	struct maker m = { .seed = seed, .nblocks = 1 };
	uint32_t last = make_part(&m, 0, o->size / 2 + below(seed, o->size));
	link(&m, last, CFG_OUTSIDE, CFG_EXIT);
	for (uint32_t i = 0; o->irreducible && i < 1 + m.nblocks / 20; i++)
		link(&m, below(seed, m.nblocks), below(seed, m.nblocks), CFG_TAKEN);
	qsort(m.edges, m.nedges, sizeof(*m.edges), compare_edges);
	uint32_t kept = 0;
	for (uint32_t e = 0; e < m.nedges; e++)
		if (!e || compare_edges(&m.edges[e], &m.edges[e - 1]))
			m.edges[kept++] = m.edges[e];
	m.nedges = kept;
	m.edges = realloc(m.edges, (kept + 1) * sizeof(*m.edges));
	m.edges[m.nedges++] = (struct cfg_edge){ CFG_OUTSIDE, 0, CFG_ENTRY, 0 };

	struct cfg *g = x_calloc(1, sizeof(*g));
	g->start = 0x10000 + number * 0x10000000ULL;
	g->edges = m.edges;
	g->nedges = m.nedges;
	g->nblocks = m.nblocks;
	g->blocks = x_calloc(g->nblocks, sizeof(*g->blocks));
	for (uint32_t b = 0; b < g->nblocks; b++) {
		g->blocks[b].first = g->ninsts;
		g->blocks[b].count = 1 + below(seed, 5);
		g->blocks[b].start = g->start + 4ULL * g->ninsts;
		g->ninsts += g->blocks[b].count;
		g->blocks[b].end = g->start + 4ULL * g->ninsts;
		/* Only later procedures are called: no recursion. */
		if (number + 1 < o->procs && below(seed, 6) == 0) {
			g->blocks[b].flags = CFG_BLOCK_CALLS;
			g->blocks[b].callee =
			    0x10000 +
			    (number + 1 + below(seed, o->procs - number - 1)) * 0x10000000ULL;
		}
	}
	g->insts = x_calloc(g->ninsts, sizeof(*g->insts));
	for (uint32_t i = 0; i < g->ninsts; i++)
		g->insts[i] = (struct cfg_inst){ .pc = g->start + 4ULL * i,
						 .word = 0x13, /* nop */
						 .size_bytes = 4 };
	index_edges(g);
	return g;
}

/* Where the walk is in one procedure. */
struct frame {
	uint32_t proc, block;
};

/* Walks from the first procedure's entry to its end, again and again. A call adds to the callee's
 * walk; each branch has its own probability. */
static void walk(struct scene *s, const struct scene_options *o, struct rng *seed)
{
	double **likely = x_calloc(o->procs, sizeof(*likely));
	struct frame *stack = NULL;
	uint32_t depth = 0;
	uint64_t steps = 0;
	for (uint32_t i = 0; i < o->procs; i++) {
		const struct cfg *g = s->p.procs[i].graph;
		likely[i] = x_calloc(g->nedges, sizeof(**likely));
		for (uint32_t e = 0; e < g->nedges; e++)
			likely[i][e] = pow(uniform(seed), 2) + 0.01;
	}
	while (steps < o->steps || depth) {
		if (!depth) {
			*ARRAY_ADD(stack, depth) = (struct frame){ 0, CFG_OUTSIDE };
			depth = 1;
		}
		struct frame *f = &stack[depth - 1];
		const struct cfg *g = s->p.procs[f->proc].graph;
		uint32_t e = g->nedges - 1;
		if (f->block != CFG_OUTSIDE) {
			const struct cfg_block *b = &g->blocks[f->block];
			double sum = 0;
			for (uint32_t k = 0; k < b->nout; k++)
				sum += likely[f->proc][b->first_out + k];
			double at = uniform(seed) * sum;
			for (e = b->first_out; e < b->first_out + b->nout - 1; e++)
				if ((at -= likely[f->proc][e]) < 0)
					break;
		}
		s->edge_count[f->proc][e] += o->times;
		f->block = g->edges[e].to;
		if (f->block == CFG_OUTSIDE) {
			depth--;
			continue;
		}
		s->block_count[f->proc][f->block] += o->times;
		steps++;
		const struct cfg_block *b = &g->blocks[f->block];
		if (b->flags & CFG_BLOCK_CALLS) {
			uint32_t callee = (uint32_t)((b->callee - 0x10000) / 0x10000000);
			if (steps < o->steps * 2) {
				*ARRAY_ADD(stack, depth) = (struct frame){ callee, CFG_OUTSIDE };
			} else {
				/* It has to end: from here on calls are not made, nor known. */
				g->blocks[f->block].flags = 0;
			}
		}
	}
	free(stack);
	for (uint32_t i = 0; i < o->procs; i++)
		free(likely[i]);
	free(likely);
}

static void put_samples(struct scene *s, const struct scene_options *o, struct rng *seed)
{
	double cycles = 0, **time = x_calloc(o->procs, sizeof(*time));
	for (uint32_t i = 0; i < o->procs; i++) {
		struct calc_proc *proc = &s->p.procs[i];
		time[i] = x_calloc(proc->graph->ninsts, sizeof(**time));
		for (uint32_t b = 0; b < proc->graph->nblocks; b++) {
			const struct cfg_block *k = &proc->graph->blocks[b];
			bool paired = true;
			for (uint32_t n = k->first; n < k->first + k->count; n++) {
				struct calc_inst *inst = &proc->insts[n];
				paired = !paired && below(seed, 2);
				inst->m = paired ? 0 : 1 + (below(seed, 5) == 0) * below(seed, 3);
				inst->issue_point = inst->m > 0;
				if (o->relative) {
					time[i][n] = s->block_count[i][b] *
						     (o->stalls > 0 ? -log(1 - uniform(seed)) : 1);
					cycles += time[i][n];
					continue;
				}
				double stall = uniform(seed) < o->stalls && inst->m > 0
						   ? -log(1 - uniform(seed)) * 5
						   : 0;
				time[i][n] = s->block_count[i][b] * (inst->m + stall);
				cycles += time[i][n];
			}
		}
	}
	double period = fmax(1, floor(cycles / o->samples));
	s->p.sampling.period[SAMPLED_CYCLES] = (uint64_t)period;
	for (uint32_t i = 0; i < o->procs; i++) {
		struct calc_proc *proc = &s->p.procs[i];
		for (uint32_t b = 0; b < proc->graph->nblocks; b++) {
			const struct cfg_block *k = &proc->graph->blocks[b];
			double f = s->block_count[i][b];
			for (uint32_t n = k->first; n < k->first + k->count; n++) {
				struct calc_inst *inst = &proc->insts[n];
				double total = poisson(seed, time[i][n] / period);
				inst->count[SAMPLED_CYCLES] = total;
				inst->commits = poisson(seed, f / period);
				/* Each sample of it is of the cycle in which it issues, or not. */
				double share = time[i][n] > 0 && inst->m > 0 ? f / time[i][n] : 0;
				inst->issued = fmax(
				    0, round(total * share +
					     sqrt(total * share * (1 - share)) * normal(seed)));
				proc->samples += total;
			}
		}
		free(time[i]);
	}
	free(time);
}

/* Counts of branch records: of chance alone, as if each record were of one branch or range. */
static void put_records(struct scene *s, const struct scene_options *o, struct rng *seed)
{
	double all = 0;
	for (uint32_t i = 0; i < o->procs; i++)
		for (uint32_t b = 0; b < s->p.procs[i].graph->nblocks; b++)
			all += s->block_count[i][b];
	const double each = fmax(1, all / o->samples);
	s->p.sampling.record_depth = 1;
	s->p.sampling.record_branch = s->p.sampling.record_range = each;
	for (uint32_t i = 0; i < o->procs; i++) {
		struct calc_proc *proc = &s->p.procs[i];
		const struct cfg *g = proc->graph;
		proc->block_records = x_calloc(g->nblocks + 1, sizeof(double));
		proc->edge_records = x_calloc(g->nedges + 1, sizeof(double));
		for (uint32_t b = 0; b < g->nblocks; b++)
			proc->block_records[b] = poisson(seed, s->block_count[i][b] / each);
		for (uint32_t e = 0; e < g->nedges; e++)
			proc->edge_records[e] =
			    g->edges[e].from == CFG_OUTSIDE || g->edges[e].to == CFG_OUTSIDE
				? NAN
				: poisson(seed, s->edge_count[i][e] / each);
	}
}

struct scene *scene_new(const struct scene_options *o)
{
	struct scene *s = x_calloc(1, sizeof(*s));
	struct rng seed;
	rng_seed(&seed, o->seed);
	s->machine = x_calloc(1, sizeof(*s->machine));
	s->machine->mem.mem.latency = 100;
	s->p.machine = s->machine;
	s->p.sampling.mode = o->relative ? CALC_RELATIVE : o->commits ? CALC_COMMIT : CALC_ISSUE;
	s->p.sampling.running[SAMPLED_CYCLES] = 1;
	s->block_count = x_calloc(o->procs, sizeof(*s->block_count));
	s->edge_count = x_calloc(o->procs, sizeof(*s->edge_count));
	for (uint32_t i = 0; i < o->procs; i++) {
		struct cfg *g = make_graph(o, &seed, i);
		calc_add(&s->p, g);
		s->block_count[i] = x_calloc(g->nblocks, sizeof(double));
		s->edge_count[i] = x_calloc(g->nedges, sizeof(double));
	}
	walk(s, o, &seed);
	put_samples(s, o, &seed);
	if (o->records)
		put_records(s, o, &seed);
	return s;
}

void scene_free(struct scene *s)
{
	for (uint32_t i = 0; i < s->p.nprocs; i++) {
		struct cfg *g = s->p.procs[i].graph;
		free(g->insts);
		free(g->blocks);
		free(g->edges);
		free(g->in);
		free(s->block_count[i]);
		free(s->edge_count[i]);
	}
	struct cfg **graphs = x_calloc(s->p.nprocs + 1, sizeof(*graphs));
	uint32_t n = s->p.nprocs;
	for (uint32_t i = 0; i < n; i++) {
		graphs[i] = s->p.procs[i].graph;
		graphs[i]->ninsts = 0; /* culprits were never made */
	}
	calc_free(&s->p);
	for (uint32_t i = 0; i < n; i++)
		free(graphs[i]);
	free(graphs);
	free(s->block_count);
	free(s->edge_count);
	free(s->machine);
	free(s);
}

void scene_run(struct scene *s, const struct calc_method *method)
{
	struct err e;
	for (uint32_t i = 0; i < s->p.nprocs; i++) {
		struct calc_proc *proc = &s->p.procs[i];
		free(proc->classes);
		proc->nclasses = calc_classes(proc->graph, proc->block_class, proc->edge_class);
		proc->classes = x_calloc(proc->nclasses, sizeof(*proc->classes));
		calc_evidence(&s->p, proc);
	}
	if (method->estimate)
		method->estimate(&s->p, &e);
	for (uint32_t i = 0; method->each && i < s->p.nprocs; i++)
		method->each(&s->p, &s->p.procs[i]);
	for (uint32_t i = 0; i < s->p.nprocs; i++)
		calc_confidence(&s->p, &s->p.procs[i]);
}

struct scene_score scene_score(const struct scene *s)
{
	struct scene_score r = { 0 };
	double samples = 0, executions = 0;
	for (uint32_t i = 0; i < s->p.nprocs; i++) {
		const struct calc_proc *proc = &s->p.procs[i];
		for (uint32_t b = 0; b < proc->graph->nblocks; b++) {
			const struct calc_freq *f = &proc->blocks[b];
			double weight = 0, off = fabs(f->value / s->block_count[i][b] - 1);
			for (uint32_t k = 0; k < proc->graph->blocks[b].count; k++)
				weight += proc->insts[proc->graph->blocks[b].first + k]
					      .count[SAMPLED_CYCLES];
			samples += weight;
			for (unsigned k = 0; k < 3; k++)
				r.blocks[k] += off <= 0.05 * (k + 1) ? weight : 0;
			r.wrong += !(off <= 0.15) && f->confidence != CONFIDENCE_LOW ? weight : 0;
			r.high += f->confidence == CONFIDENCE_HIGH ? weight : 0;
			r.interval +=
			    s->block_count[i][b] >= f->low && s->block_count[i][b] <= f->high
				? weight
				: 0;
		}
		for (uint32_t e = 0; e < proc->graph->nedges; e++) {
			double weight = s->edge_count[i][e];
			double off = weight ? fabs(proc->edges[e].value / weight - 1) : 0;
			executions += weight;
			for (unsigned k = 0; k < 3; k++)
				r.edges[k] += off <= 0.05 * (k + 1) ? weight : 0;
		}
	}
	for (unsigned k = 0; k < 3; k++) {
		r.blocks[k] /= samples;
		r.edges[k] /= executions;
	}
	r.wrong /= samples;
	r.high /= samples;
	r.interval /= samples;
	return r;
}
