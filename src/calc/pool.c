/* SPDX-License-Identifier: MIT */
/*
 * Pools what TIP's samples say of executions.
 *
 * The time of an instruction is what it has for itself (stalled, drained, flushed), which is left as
 * TIP has it, and its parts of the cycles in which it commits. The latter, c, is about a constant, b,
 * times its executions, and these are seen twice: by the samples in which it commits, e, and by all
 * others of its class and of the flow around it, x. The estimate is
 *
 *   c + b * (x - e)
 *
 * x and e have the same mean, so b can be any number that does not depend on these samples: the best one
 * is the mean part of a cycle, and makes the estimate b * x where b = c / e. Likewise, x is linear in
 * the samples of all classes, and any weights do that obey the flow.
 *
 * So that b and the weights do not depend on the samples that they are used with, samples are dealt into
 * POOL_FOLDS folds at random, and each fold is estimated with those of all others. The sum has no bias at
 * all; its variance is the sum of squares of what single samples add.
 *
 * Weights are inverse variances. That of a class is, as counts are Poisson's, its executions times what
 * one costs (`each`): a sample that sees s of its n instructions commit counts s / n.
 *
 * Not modelled: classes that are seen by the same samples are taken to be independent, which costs some of
 * the gain and no bias. Calls are not used as equations between procedures (docs/pooled.md says why).
 */
#include "calc/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calc/pool_flow.h"
#include "util/array.h"

#define NONE   UINT32_MAX
#define ROUNDS 6 /* of executions and their variances */
#define LEAST                                                                                      \
	0.03	/* samples that a class without any is taken to have, of one that it could have */
#define AHEAD 2 /* samples that the program weighs as much as, beside a class's own */
#define Z95   1.96

/* What samples say, in cycles, which are executions where something commits. */
struct seen {
	double *own;		/* by instruction: for itself */
	double *part, *commits; /* its parts; all of the cycles in which it commits */
	double *sum, *squares;	/* by class, over samples: s, s * s */
	double one;		/* cycles of a sample, in the mean */
};

/* How samples become estimates. */
struct weights {
	double *part;	  /* b, by instruction */
	double *variance; /* by class; 0: not known, there is no flow to fit */
	double *each;	  /* by class: variance of an execution, in samples */
};

struct class_hit {
	uint32_t class;
	double share; /* of its instructions */
};

struct pool {
	const struct pool_input *in;
	struct pool_flow **flows; /* by graph */
	uint32_t *first_class;	  /* by graph */
	uint32_t nclasses;
	uint32_t *class_of;	       /* by instruction; NONE: in no graph */
	uint32_t *graph_of;	       /* by class */
	double *insts;		       /* by class */
	uint64_t (*dealt)[POOL_FOLDS]; /* by group: samples in each fold */
	double *room, *fitted;	       /* by class */
	uint32_t most;		       /* members of a group */
};

static double *numbers(size_t count)
{
	return x_calloc(count + 1, sizeof(double));
}

/* ---- what there is ---- */

static void number_classes(struct pool *p)
{
	const struct pool_input *in = p->in;

	p->first_class = x_calloc(in->ngraphs + 1, sizeof(*p->first_class));
	p->flows = x_calloc(in->ngraphs + 1, sizeof(struct pool_flow *));
	p->class_of = x_malloc((in->ninsts + 1) * sizeof(*p->class_of));
	memset(p->class_of, 0xff, in->ninsts * sizeof(*p->class_of));
	for (uint32_t i = 0; i < in->ngraphs; i++) {
		const struct pool_graph *from = &in->graphs[i];
		const struct cfg *g = from->graph;
		bool *observed = x_calloc(g->nblocks + 1, sizeof(*observed));

		for (uint32_t b = 0; b < g->nblocks; b++)
			for (uint32_t k = 0; k < g->blocks[b].count; k++)
				observed[b] |= from->insts[g->blocks[b].first + k] != POOL_COUNTED;
		p->flows[i] = pool_flow_new(g, observed);
		p->first_class[i] = p->nclasses;
		p->nclasses += p->flows[i]->nclasses;
		free(observed);
		for (uint32_t b = 0; b < g->nblocks; b++)
			for (uint32_t k = 0; k < g->blocks[b].count; k++) {
				const uint32_t at = from->insts[g->blocks[b].first + k];

				if (at != POOL_COUNTED)
					p->class_of[at] =
					    p->first_class[i] + p->flows[i]->block_class[b];
			}
	}
	p->first_class[in->ngraphs] = p->nclasses;
	p->graph_of = x_malloc((p->nclasses + 1) * sizeof(*p->graph_of));
	for (uint32_t i = 0; i < in->ngraphs; i++)
		for (uint32_t c = 0; c < p->flows[i]->nclasses; c++)
			p->graph_of[p->first_class[i] + c] = i;
	p->insts = numbers(p->nclasses);
	for (uint32_t i = 0; i < in->ninsts; i++)
		if (p->class_of[i] != NONE)
			p->insts[p->class_of[i]]++;
}

static void deal(struct pool *p)
{
	struct rng rng;

	rng_seed(&rng, p->in->seed);
	p->dealt = x_calloc(p->in->ngroups + 1, sizeof(*p->dealt));
	for (size_t g = 0; g < p->in->ngroups; g++)
		for (uint64_t s = 0; s < p->in->groups[g].samples; s++)
			p->dealt[g][rng_below(&rng, POOL_FOLDS)]++;
}

/* The classes of a group that commits; returns how many. hits has room for all members. */
static uint32_t classes_hit(const struct pool *p, const struct pool_group *g,
			    struct class_hit *hits)
{
	uint32_t n = 0;

	for (uint32_t k = g->first; k < g->first + g->count; k++) {
		const uint32_t class = p->class_of[p->in->members[k]];
		uint32_t i = 0;

		if (class == NONE)
			continue;
		while (i < n && hits[i].class != class)
			i++;
		if (i == n)
			hits[n++] = (struct class_hit){ class, 0 };
		hits[i].share += 1 / p->insts[class];
	}
	return n;
}

static double sample_cycles(const struct pool_group *g)
{
	return g->samples ? g->cycles / (double)g->samples : 0;
}

static struct seen seen_new(const struct pool *p)
{
	return (struct seen){ numbers(p->in->ninsts), numbers(p->in->ninsts),
			      numbers(p->in->ninsts), numbers(p->nclasses),
			      numbers(p->nclasses),   0 };
}

static void seen_free(struct seen *s)
{
	free(s->own);
	free(s->part);
	free(s->commits);
	free(s->sum);
	free(s->squares);
}

static void see_group(const struct pool *p, struct seen *s, const struct pool_group *g,
		      uint64_t samples, struct class_hit *hits)
{
	const double cycles = (double)samples * sample_cycles(g);

	if (!g->commits) {
		s->own[p->in->members[g->first]] += cycles;
		return;
	}
	for (uint32_t k = g->first; k < g->first + g->count; k++) {
		s->part[p->in->members[k]] += cycles / g->count;
		s->commits[p->in->members[k]] += cycles;
	}
	for (uint32_t i = classes_hit(p, g, hits); i-- > 0;) {
		const double insts = hits[i].share * p->insts[hits[i].class];

		s->sum[hits[i].class] += cycles * insts;
		s->squares[hits[i].class] += cycles * insts * insts;
	}
}

/* The samples of one fold, or of all others; fold POOL_FOLDS: of all. */
static struct seen see(const struct pool *p, unsigned fold, bool others)
{
	struct seen s = seen_new(p);
	struct class_hit *hits = x_malloc((p->most + 1) * sizeof(*hits));
	double all = 0, samples = 0;

	for (size_t g = 0; g < p->in->ngroups; g++) {
		const struct pool_group *group = &p->in->groups[g];
		const uint64_t mine = fold < POOL_FOLDS ? p->dealt[g][fold] : group->samples,
			       n = others ? group->samples - mine : mine;

		if (n)
			see_group(p, &s, group, n, hits);
		all += group->cycles;
		samples += (double)group->samples;
	}
	s.one = samples > 0 ? all / samples : 0;
	free(hits);
	return s;
}

/* ---- weights ---- */

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* What part of a cycle an instruction has when it commits: its own mean, which begins as that of its
 * class, which begins as that of the program, with the weight of a sample each. */
static double *mean_parts(const struct pool *p, const struct seen *s)
{
	double *part = numbers(p->nclasses), *commits = numbers(p->nclasses);
	double *out = numbers(p->in->ninsts), all_parts = 0, all_commits = 0;

	for (uint32_t i = 0; i < p->in->ninsts; i++) {
		all_parts += s->part[i];
		all_commits += s->commits[i];
		if (p->class_of[i] == NONE)
			continue;
		part[p->class_of[i]] += s->part[i];
		commits[p->class_of[i]] += s->commits[i];
	}
	const double program = ratio(all_parts, all_commits);

	for (uint32_t i = 0; i < p->in->ninsts; i++) {
		const uint32_t c = p->class_of[i];
		const double before =
		    c == NONE ? program : ratio(part[c] + s->one * program, commits[c] + s->one);

		out[i] = ratio(s->part[i] + s->one * before, s->commits[i] + s->one);
	}
	free(part);
	free(commits);
	return out;
}

/* The variance of a class's mean of executions, per execution and in samples: how unevenly samples see
 * its instructions. 1: all at once; 1 / instructions: each by itself. */
static double *costs(const struct pool *p, const struct seen *s)
{
	double *each = numbers(p->nclasses), sum = 0, squares = 0;

	for (uint32_t c = 0; c < p->nclasses; c++) {
		sum += s->sum[c];
		squares += s->squares[c];
	}
	const double size = fmax(1, ratio(squares, sum)), ahead = AHEAD * s->one;

	for (uint32_t c = 0; c < p->nclasses; c++) {
		const double n = p->insts[c];

		each[c] =
		    n > 0
			? fmin(1,
			       ratio(s->squares[c] + ahead * fmin(size, n), s->sum[c] + ahead) / n)
			: 1;
	}
	return each;
}

static void means(const struct pool *p, const double *commits, double *out)
{
	memset(out, 0, p->nclasses * sizeof(*out));
	for (uint32_t i = 0; i < p->in->ninsts; i++)
		if (p->class_of[i] != NONE)
			out[p->class_of[i]] += commits[i] / p->insts[p->class_of[i]];
}

/* The variances that the executions of a graph have once they obey its flow. */
static void weigh_graph(struct pool *p, const struct seen *s, struct weights *w, uint32_t graph,
			const double *mean)
{
	struct pool_flow *f = p->flows[graph];
	const uint32_t first = p->first_class[graph];
	double *variance = w->variance + first, *fitted = p->fitted + first;

	memcpy(fitted, mean + first, f->nclasses * sizeof(*fitted));
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (uint32_t c = 0; c < f->nclasses; c++) {
			const double each = w->each[first + c];

			variance[c] = (fmax(fitted[c], 0) + LEAST * s->one * each) * each * s->one;
		}
		pool_flow_weigh(f, variance);
		if (round + 1 < ROUNDS)
			pool_flow_fit(f, variance, mean + first, fitted);
	}
}

static struct weights weigh(struct pool *p, const struct seen *s)
{
	struct weights w = { mean_parts(p, s), numbers(p->nclasses), costs(p, s) };
	double *mean = numbers(p->nclasses);

	means(p, s->commits, mean);
	for (uint32_t i = 0; i < p->in->ngraphs; i++) {
		bool any = false;

		for (uint32_t c = p->first_class[i]; c < p->first_class[i + 1]; c++)
			any |= s->sum[c] > 0;
		if (any)
			weigh_graph(p, s, &w, i, mean);
	}
	free(mean);
	return w;
}

/* False: the samples that the weights are from say nothing of this graph. */
static bool fits(const struct pool *p, const struct weights *w, uint32_t graph)
{
	return p->flows[graph]->nclasses && w->variance[p->first_class[graph]] > 0;
}

static void weights_free(struct weights *w)
{
	free(w->part);
	free(w->variance);
	free(w->each);
}

/* ---- estimates ---- */

/* Executions that obey the flow, from those of single instructions, into p->fitted. */
static void fit(struct pool *p, const struct weights *w, const double *commits)
{
	means(p, commits, p->room);
	memcpy(p->fitted, p->room, p->nclasses * sizeof(*p->fitted));
	for (uint32_t i = 0; i < p->in->ngraphs; i++) {
		const uint32_t first = p->first_class[i];

		if (fits(p, w, i))
			pool_flow_fit(p->flows[i], w->variance + first, p->room + first,
				      p->fitted + first);
	}
}

static void add_fold(struct pool *p, const struct weights *w, const struct seen *s,
		     struct pool_time *out)
{
	fit(p, w, s->commits);
	for (uint32_t i = 0; i < p->in->ninsts; i++) {
		const double x = p->class_of[i] == NONE ? s->commits[i] : p->fitted[p->class_of[i]];

		out[i].tip += s->own[i] + s->part[i];
		out[i].cycles += s->own[i] + s->part[i] + w->part[i] * (x - s->commits[i]);
	}
}

/* What these weights make of the true executions, of which each fold estimates its share. */
static void add_bias(struct pool *p, const struct weights *w, struct pool_time *out)
{
	const double *true_count = p->in->executions;

	fit(p, w, true_count);
	for (uint32_t i = 0; i < p->in->ninsts; i++)
		if (p->class_of[i] != NONE)
			out[i].bias +=
			    w->part[i] * (p->fitted[p->class_of[i]] - true_count[i]) / POOL_FOLDS;
}

static void add_limit(const struct pool *p, const struct seen *all, struct pool_time *out)
{
	double *part = mean_parts(p, all);

	for (uint32_t i = 0; i < p->in->ninsts; i++)
		out[i].limit = out[i].tip + part[i] * (p->in->executions[i] - all->commits[i]);
	free(part);
}

/* ---- intervals ---- */

struct spread {
	double *own;	  /* by instruction: samples for itself */
	double *computes; /* variance of the rest */
	double *unit;	  /* what a sample of the rest adds, where nothing was seen */
	double
	    *square; /* by class, of one fold: sum of squares of what samples add to executions */
};

/* What n samples of a fold add to their own instructions beyond what they add to all of the class. */
static void spread_members(const struct pool *p, const struct weights *w, struct spread *v,
			   const struct pool_group *g, uint64_t n, const double *adds)
{
	const double one = sample_cycles(g);

	for (uint32_t k = g->first; k < g->first + g->count; k++) {
		const uint32_t i = p->in->members[k], c = p->class_of[i];
		const double own = one * (1.0 / g->count - (c == NONE ? 0 : w->part[i])),
			     class = c == NONE ? 0 : w->part[i] * adds[c];

		v->computes[i] += (double)n * ((own + class) * (own + class) - class * class);
	}
}

/* What one sample of a group adds to the executions of all classes, into p->fitted; only those of the
 * graphs that it hits are written. */
static void spread_group(struct pool *p, const struct weights *w, struct spread *v,
			 const struct pool_group *g, uint64_t n, struct class_hit *hits)
{
	const uint32_t nhits = classes_hit(p, g, hits);
	const double one = sample_cycles(g);

	for (uint32_t h = 0; h < nhits; h++) {
		const uint32_t graph = p->graph_of[hits[h].class], first = p->first_class[graph];
		const struct pool_flow *f = p->flows[graph];
		bool done = false;

		for (uint32_t k = 0; k < h; k++)
			done |= p->graph_of[hits[k].class] == graph;
		if (done)
			continue;
		memset(p->room + first, 0, f->nclasses * sizeof(*p->room));
		for (uint32_t k = h; k < nhits; k++)
			if (p->graph_of[hits[k].class] == graph)
				p->room[hits[k].class] = one * hits[k].share;
		memcpy(p->fitted + first, p->room + first, f->nclasses * sizeof(*p->fitted));
		if (fits(p, w, graph))
			pool_flow_fit(f, w->variance + first, p->room + first, p->fitted + first);
		for (uint32_t c = first; c < first + f->nclasses; c++)
			v->square[c] += (double)n * p->fitted[c] * p->fitted[c];
	}
	spread_members(p, w, v, g, n, p->fitted);
}

static void add_spread(struct pool *p, const struct weights *w, unsigned fold, double one,
		       struct spread *v)
{
	struct class_hit *hits = x_malloc((p->most + 1) * sizeof(*hits));

	memset(v->square, 0, p->nclasses * sizeof(*v->square));
	for (size_t g = 0; g < p->in->ngroups; g++) {
		const struct pool_group *group = &p->in->groups[g];
		const uint64_t n = p->dealt[g][fold];

		if (!n)
			continue;
		if (group->commits)
			spread_group(p, w, v, group, n, hits);
		else
			v->own[p->in->members[group->first]] += (double)n;
	}
	for (uint32_t i = 0; i < p->in->ninsts; i++) {
		const uint32_t c = p->class_of[i];

		if (c != NONE)
			v->computes[i] += w->part[i] * w->part[i] * v->square[c];
		v->unit[i] += one * w->part[i] * (c == NONE ? 1 : w->each[c]) / POOL_FOLDS;
	}
	free(hits);
}

/* How far a value may lie above and below, at 95%, that is made of events of `unit` each: the score
 * interval of a Poisson count. */
static void reach(double value, double unit, double *down, double *up)
{
	const double n = unit > 0 ? fmax(0, value / unit) : 0, half = Z95 * Z95 / 2,
		     root = Z95 * sqrt(n + half / 2);

	*up = unit * (half + root);
	*down = unit * fmax(0, root - half);
}

/* The parts for itself and in cycles of commit are independent: their distances add as squares. */
static void put_interval(const struct spread *v, uint32_t i, double own, double one,
			 struct pool_time *out)
{
	const double rest = out->cycles - own;
	/* A variance from few samples is itself too small as often as not: one more sample. */
	const double variance = v->computes[i] + v->unit[i] * v->unit[i];
	/* At most one event is less than a deviation: below that the estimate says nothing of the unit. */
	const double unit = fmax(variance / fmax(rest, sqrt(variance)), v->unit[i]);
	double down, up, own_down, own_up;

	reach(rest, unit, &down, &up);
	reach(own, one, &own_down, &own_up);
	down = fmax(down, Z95 * sqrt(v->computes[i]));
	up = fmax(up, Z95 * sqrt(v->computes[i]));
	out->low = fmax(0, out->cycles - hypot(down, own_down));
	out->high = fmax(0, out->cycles + hypot(up, own_up));
}

/* ---- all of it ---- */

static void estimate(struct pool *p, const struct seen *all, struct pool_time *out)
{
	struct spread v = { numbers(p->in->ninsts), numbers(p->in->ninsts), numbers(p->in->ninsts),
			    numbers(p->nclasses) };

	for (unsigned fold = 0; fold < POOL_FOLDS; fold++) {
		struct seen others = see(p, fold, true), mine = see(p, fold, false);
		struct weights w = weigh(p, &others);

		add_fold(p, &w, &mine, out);
		if (p->in->executions)
			add_bias(p, &w, out);
		add_spread(p, &w, fold, all->one, &v);
		weights_free(&w);
		seen_free(&others);
		seen_free(&mine);
	}
	for (uint32_t i = 0; i < p->in->ninsts; i++)
		put_interval(&v, i, all->own[i], all->one, &out[i]);
	if (p->in->executions)
		add_limit(p, all, out);
	free(v.own);
	free(v.computes);
	free(v.unit);
	free(v.square);
}

struct pool_time *pool_run(const struct pool_input *in)
{
	struct pool p = { .in = in };
	struct pool_time *out = x_calloc(in->ninsts + 1, sizeof(*out));

	for (size_t g = 0; g < in->ngroups; g++)
		p.most = in->groups[g].count > p.most ? in->groups[g].count : p.most;
	number_classes(&p);
	deal(&p);
	p.room = numbers(p.nclasses);
	p.fitted = numbers(p.nclasses);
	struct seen all = see(&p, POOL_FOLDS, false);

	estimate(&p, &all, out);
	seen_free(&all);
	for (uint32_t i = 0; i < in->ngraphs; i++)
		pool_flow_free(p.flows[i]);
	free(p.flows);
	free(p.first_class);
	free(p.class_of);
	free(p.graph_of);
	free(p.insts);
	free(p.dealt);
	free(p.room);
	free(p.fitted);
	return out;
}
