/* SPDX-License-Identifier: MIT */
/*
 * What samples say about a class's frequency, and how far that can be off.
 *
 * In order, each issue point of the class has S samples and a least time M. With frequency F it has F x M
 * / period samples if it never stalls, give or take chance; dynamic stalls make that more, never
 * less. Which points stall is not known, so each is taken to be one of the two, a point that stalls
 * to be longer by any factor x with density 1 / x^2; and some least times are wrong. The likelihood of F is the product over the
 * points; its largest value is the belief, and how it falls off on either side are the errors. With many
 * points that agree both are narrow; a single point may be stalled, so the error downwards is large,
 * and chance alone bounds F from above.
 *
 * Elsewhere evidence is symmetric: chance, and what the model does not know.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/parts.h"

#define WRONG	       0.1  /* of least times: what issues together is not what the schedule says */
#define UNSTALLED      0.65 /* of issue points whose risks are not known; set by hand */
#define NO_RISK	       0.985 /* likewise, without any */
#define LEARN_LEAST    3     /* samples that a point must be due to say something of its risks */
#define AT_FIRST       20    /* points that what is known of our kernels weighs as much as */
#define MODEL	       0.015 /* relative error of least times: pairs that form or not, edges' weights */
#define MODEL_COMMIT   0.01
#define MODEL_RELATIVE 0 /* the samples themselves say: relative.c */
#define MODEL_RECORDS  0.01
#define NEVER	       (-750.0) /* exp() of less is 0 */
#define UNSEEN                                                                                     \
	(-40.0) /* exp() of less cannot be seen beside what a wrong least time makes likely */
#define FAR	   6.0 /* deviations, likewise */
#define POINTS_MAX 48  /* the lowest ratios decide */
#define GRID	   72
#define GRID_BELOW 8.0 /* the grid begins at the smallest ratio over this */

#define RISK(id) (1u << CAUSE_##id)

/*
 * Kinds of risks that are told apart, and the share of points with one that do not stall: measured on
 * our own kernels, and what a program's samples are held against at first (calc_learn_risks()).
 */
static const struct {
	uint16_t risks;
	float unstalled;
} kinds[CALC_RISK_KINDS] = {
	{ RISK(BRANCH), 0.3f },
	{ RISK(BUBBLE) | RISK(KERNEL), 0.6f },
	{ RISK(WRITE), 0.7f },
	{ RISK(DCACHE) | RISK(DTLB), 0.8f },
	{ RISK(ICACHE) | RISK(ITLB), 0.95f },
	{ RISK(SYNC) | RISK(MULTIPLY) | RISK(DIVIDE) | RISK(STORE) | RISK(BEFORE), 0.95f },
};

static unsigned mix_of(uint16_t risks)
{
	unsigned mix = 0;
	for (unsigned k = 0; k < CALC_RISK_KINDS; k++)
		mix |= (risks & kinds[k].risks ? 1u : 0u) << k;
	return mix;
}

static double unstalled_at_first(unsigned mix)
{
	double unstalled = NO_RISK;
	for (unsigned k = 0; k < CALC_RISK_KINDS; k++)
		unstalled *= mix >> k & 1 ? kinds[k].unstalled : 1;
	return unstalled;
}

double calc_unstalled(const struct calc_program *p, uint16_t risks)
{
	if (!(risks & CALC_RISKS_KNOWN))
		return UNSTALLED;
	unsigned mix = mix_of(risks);
	return p->unstalled[mix] > 0 ? p->unstalled[mix] : unstalled_at_first(mix);
}

/* The likelihood of `samples` where `expected` are due, of a point that does not stall, and of one that
 * does. Counts are thinned so that chance and the model's error add up. */
static void two_likelihoods(double samples, double expected, double factorial, double *free,
			    double *stalled)
{
	double thin = 1 / (1 + samples * MODEL * MODEL);
	double n = samples * thin, l = expected * thin;
	double factor = n > l ? l / n : 1;
	double chance = n * log(l) - l - factorial, once = l > 1 ? l : 1;
	*free = chance < NEVER ? 0 : exp(chance);
	*stalled = factor * factor / once * 0.5 * erfc((l - n) / sqrt(2 * once));
}

/* The logarithm of the factorial of so many samples, thinned. */
static double factorial_of(double samples)
{
	return lgamma(samples * (1 / (1 + samples * MODEL * MODEL)) + 1);
}

/* Adds the points of a procedure to what is known of each mix of risks. */
static void learn_from(const struct calc_program *p, const struct calc_proc *proc, double *sum,
		       double *points)
{
	const struct cfg *g = proc->graph;
	double period = (double)p->sampling.period[SAMPLED_CYCLES];
	for (uint32_t b = 0; b < g->nblocks; b++)
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			const struct calc_inst *inst = &proc->insts[i];
			double expected = proc->blocks[b].value * inst->m / period;
			if (!(expected >= LEARN_LEAST) || inst->m < 0.5 || !inst->risks)
				continue;
			double free, stalled, u = calc_unstalled(p, inst->risks);
			const double seen = inst->count[SAMPLED_CYCLES];
			two_likelihoods(seen, expected, factorial_of(seen), &free, &stalled);
			double all = u * free + (1 - u) * stalled;
			if (!(all > 0))
				continue;
			unsigned mix = mix_of(inst->risks);
			sum[mix] += u * free / all;
			points[mix]++;
		}
}

void calc_learn_risks(struct calc_program *p)
{
	double sum[CALC_RISK_MIXES] = { 0 }, points[CALC_RISK_MIXES] = { 0 };
	for (uint32_t i = 0; i < p->nprocs; i++)
		learn_from(p, &p->procs[i], sum, points);
	for (unsigned mix = 0; mix < CALC_RISK_MIXES; mix++)
		p->unstalled[mix] =
		    (AT_FIRST * unstalled_at_first(mix) + sum[mix]) / (AT_FIRST + points[mix]);
}

/* What the likelihood needs of a point, worked out once. */
struct point {
	double n;	  /* samples, thinned */
	double due;	  /* thinned samples per unit of frequency */
	double log_due;	  /* its logarithm */
	double factorial; /* the logarithm of n's */
	double unstalled;
};

static struct point point_of(const struct calc_ratio *r)
{
	const double thin = 1 / (1 + r->samples * MODEL * MODEL);

	return (struct point){ .n = r->samples * thin,
			       .due = r->m * thin,
			       .log_due = log(r->m * thin),
			       .factorial = lgamma(r->samples * thin + 1),
			       .unstalled = r->unstalled };
}

/* The likelihood of one point with frequency f, as two_likelihoods() has it; what cannot be seen beside the chance
 * that its least time is wrong is not worked out. */
static inline double point_likelihood(const struct point *q, double f, double log_f)
{
	const double l = f * q->due, larger = l > q->n ? l : q->n;
	/* A least time that is wrong says nothing: any count is as likely as another. */
	double all = WRONG / (1 + 2 * larger);
	const double chance = q->n * (log_f + q->log_due) - l - q->factorial;
	const double once = l > 1 ? l : 1, apart = l - q->n;

	if (chance > UNSEEN)
		all += (1 - WRONG) * q->unstalled * exp(chance);
	if (apart < 0 || apart * apart < 2 * FAR * FAR * once) {
		const double factor = apart < 0 ? l / q->n : 1;
		const double tail =
		    apart * apart < 2 * FAR * FAR * once ? 0.5 * erfc(apart / sqrt(2 * once)) : 1;

		all += (1 - WRONG) * (1 - q->unstalled) * factor * factor / once * tail;
	}
	return all;
}

/* The logarithm of the likelihood of all points. */
static double likelihood(const struct point *points, uint32_t n, double f)
{
	const double log_f = log(f);
	double sum = 0, product = 1;

	for (uint32_t i = 0; i < n; i++) {
		product *= point_likelihood(&points[i], f, log_f);
		/* One logarithm for many; none of them is below 1e-11. */
		if (product < 1e-250) {
			sum += log(product);
			product = 1;
		}
	}
	return sum + log(product);
}

/* Every so many of a class's points, so that POINTS_MAX stand for all. */
static uint32_t thin_out(struct calc_ratio *r, uint32_t n)
{
	uint32_t step = (n + POINTS_MAX - 1) / POINTS_MAX, kept = 0;
	for (uint32_t i = 0; i < n; i += step)
		r[kept++] = r[i];
	return kept;
}

/* The most likely frequency, in samples per cycle, and its errors. The smallest ratio comes first, and
 * the largest is not 0. */
static struct belief most_likely(struct calc_ratio *r, uint32_t n)
{
	double at[GRID + POINTS_MAX], log_of[GRID + POINTS_MAX], samples = 0, m = 0;
	struct point points[POINTS_MAX];
	unsigned candidates = 0, best = 0;
	double top = r[n - 1].value;
	n = thin_out(r, n);
	/* Means of the lowest points, and a grid around them. */
	for (uint32_t i = 0; i < n; i++) {
		samples += r[i].samples;
		m += r[i].m;
		if (samples > 0)
			at[candidates++] = samples / m;
	}
	if (!candidates)
		return (struct belief){ NAN, NAN, NAN };
	unsigned means = candidates;
	double low = (r[0].samples > 0 ? r[0].value : at[0] / 2) / GRID_BELOW;
	double step = pow(fmax(top, at[means - 1]) * 1.1 / low, 1.0 / (GRID - 1));
	for (unsigned i = 0; i < GRID; i++, low *= step)
		at[candidates++] = low;
	for (uint32_t i = 0; i < n; i++)
		points[i] = point_of(&r[i]);
	for (unsigned i = 0; i < candidates; i++) {
		log_of[i] = likelihood(points, n, at[i]);
		best = log_of[i] > log_of[best] ? i : best;
	}
	struct belief b = { at[best], 0, 0 };
	double weight = 0, down = 0, up = 0;
	for (unsigned i = means; i < candidates; i++) {
		double w = exp(log_of[i] - log_of[best]), off = at[i] - b.mean;
		weight += w;
		*(off < 0 ? &down : &up) += w * off * off;
	}
	double chance = b.mean / sqrt(fmax(samples, 1));
	/* If the peak falls between points of the grid, it is narrower than their distance. */
	weight = fmax(weight, 1);
	b.down = sqrt(down / weight + chance * chance + pow(MODEL * b.mean, 2));
	b.up = sqrt(up / weight + chance * chance + pow(MODEL * b.mean, 2));
	return b;
}

struct belief calc_believe_none(double once, uint32_t points)
{
	/* A few points may all issue with their predecessors, unseen, whatever the schedule says. */
	static const double doubt[] = { 1000, 1000, 30, 3 };
	double error = once * (points < 4 ? doubt[points] : 1);
	return (struct belief){ 0, error, error };
}

static void believe_issue(const struct calc_program *p, const struct calc_proc *proc,
			  struct belief *out)
{
	struct calc_members members = calc_members(proc);
	struct calc_ratio *ratios = x_calloc(proc->graph->ninsts + 1, sizeof(*ratios));
	double period = (double)p->sampling.period[SAMPLED_CYCLES];
	for (uint32_t c = 0; c < proc->nclasses; c++) {
		if (isnan(out[c].mean) || !(proc->classes[c].samples > 0))
			continue;
		uint32_t n = calc_ratios(p, proc, members.list + members.at[c],
					 members.at[c + 1] - members.at[c], ratios);
		if (!n || !(ratios[n - 1].value > 0))
			continue;
		struct belief b = most_likely(ratios, n);
		if (!isnan(b.mean))
			out[c] = (struct belief){ b.mean * period, b.down * period, b.up * period };
	}
	free(ratios);
	free(members.at);
	free(members.list);
}

void calc_believe_samples(const struct calc_program *p, const struct calc_proc *proc,
			  struct belief *out)
{
	static const double model[] = {
		[CALC_ISSUE] = 0.5, [CALC_COMMIT] = MODEL_COMMIT, [CALC_RELATIVE] = MODEL_RELATIVE
	};
	const bool records = p->sampling.record_depth;
	const double relative = records ? MODEL_RECORDS : model[p->sampling.mode];
	for (uint32_t i = 0; i < proc->nclasses; i++) {
		const struct calc_freq *f = &proc->classes[i].freq;
		double error = (f->high - f->low) / (2 * CALC_Z95);
		double both = hypot(error, relative * f->value);
		out[i] = (struct belief){ NAN, NAN, NAN };
		if (f->value > 0)
			out[i] = (struct belief){ f->value, both, both };
		else if (!isnan(f->value))
			/* Absent samples: the likelihood falls by e at a third of the bound. */
			out[i] = calc_believe_none(f->high / 3, proc->classes[i].issue_points);
	}
	if (p->sampling.mode == CALC_ISSUE && !records)
		believe_issue(p, proc, out);
}
