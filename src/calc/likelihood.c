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

/*
 * Half of erfc(), which every point needs dozens of times, from a table: at its nearest entry, and on from there by
 * five terms of its series, to within 1e-13.
 */
#define TAILS_PER 64
#define TAILS_END 7 /* beyond FAR, where erfc() is 0 or 2 to within 1e-22 */
struct calc_tails {
	struct {
		double half, slope;
	} at[2 * TAILS_END * TAILS_PER + 1];
};

struct calc_tails *calc_tails_new(void)
{
	struct calc_tails *t = x_malloc(sizeof(*t));

	for (int i = -TAILS_END * TAILS_PER; i <= TAILS_END * TAILS_PER; i++) {
		const double x = (double)i / TAILS_PER;

		t->at[i + TAILS_END * TAILS_PER].half = 0.5 * erfc(x);
		t->at[i + TAILS_END * TAILS_PER].slope = -M_2_SQRTPI / 2 * exp(-x * x);
	}
	return t;
}

/* |x| is at most FAR. */
static inline double half_erfc(const struct calc_tails *t, double x)
{
	if (!t)
		return 0.5 * erfc(x);
	const int i = (int)(x * TAILS_PER + TAILS_END * TAILS_PER + 0.5);
	const double z = (i - TAILS_END * TAILS_PER) * (1.0 / TAILS_PER), h = x - z, zz = z * z;

	return t->at[i].half + t->at[i].slope * h *
				   (1 + h * (-z + h * ((2 * zz - 1) / 3 +
						       h * (z * (3 - 2 * zz) / 6 +
							    h * ((4 * zz - 12) * zz + 3) / 30))));
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

/*
 * The likelihood of one point of which `due` samples are expected, as two_likelihoods() has it; what cannot be seen
 * beside the chance that its least time is wrong is not worked out. *far: nothing of chance can be seen, nor will it
 * be further away.
 */
static inline double point_likelihood(const struct point *q, double due, double log_due,
				      const struct calc_tails *tails, bool *far)
{
	const double larger = due > q->n ? due : q->n, once = due > 1 ? due : 1;
	const double chance = q->n * log_due - due - q->factorial;
	const double apart = due - q->n;
	const bool near = apart * apart < 2 * FAR * FAR * once;
	/* A least time that is wrong says nothing: any count is as likely as another. */
	double all = WRONG / (1 + 2 * larger);

	if (chance > UNSEEN)
		all += (1 - WRONG) * q->unstalled * exp(chance);
	if (apart < 0 || near) {
		const double factor = apart < 0 ? due / q->n : 1;
		const double tail = near ? half_erfc(tails, apart / sqrt(2 * once)) : 1;

		all += (1 - WRONG) * (1 - q->unstalled) * factor * factor / once * tail;
	}
	*far = !near && !(chance > UNSEEN);
	return all;
}

/* Frequencies that a class may have, the smallest first, and the product of its points' likelihoods with each:
 * product / LIFT^lifts. */
#define CANDIDATES (GRID + POINTS_MAX)
struct candidates {
	double at[CANDIDATES], log_of[CANDIDATES], product[CANDIDATES], lifts[CANDIDATES];
	unsigned n;
};
#define LIFT  0x1p500
#define LOW   0x1p-500 /* below it a product is lifted: it is a number for another OFTEN points */
#define OFTEN 8	       /* a likelihood is not below 1e-11 */

static void lift(struct candidates *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		const bool low = c->product[i] < LOW;

		c->product[i] *= low ? LIFT : 1;
		c->lifts[i] += low ? 1 : 0;
	}
}

/* The first candidate with which as many samples of a point are due as it has. */
static unsigned first_above(const struct candidates *c, const struct point *q)
{
	unsigned low = 0, high = c->n;

	while (low < high) {
		const unsigned i = (low + high) / 2;

		if (c->at[i] * q->due < q->n)
			low = i + 1;
		else
			high = i;
	}
	return low;
}

/* Multiplies by the likelihoods of one point. Where it is far from what is due, on either side, these are simple. */
static void multiply(struct candidates *c, const struct point *q, const struct calc_tails *tails)
{
	const double wrong = WRONG / (1 + 2 * q->n), due = q->due;
	const double stalls = q->n > 0 ? (1 - WRONG) * (1 - q->unstalled) / (q->n * q->n) : 0;
	const unsigned peak = first_above(c, q);
	unsigned begin = peak, end = peak;
	bool far = false;

	while (begin && !far) {
		begin--;
		c->product[begin] *= point_likelihood(q, c->at[begin] * due,
						      c->log_of[begin] + q->log_due, tails, &far);
	}
	for (unsigned i = 0; i < begin; i++) {
		const double l = c->at[i] * due;

		c->product[i] *= wrong + stalls * l * l / (l > 1 ? l : 1);
	}
	for (far = false; end < c->n && !far; end++)
		c->product[end] *=
		    point_likelihood(q, c->at[end] * due, c->log_of[end] + q->log_due, tails, &far);
	for (unsigned i = end; i < c->n; i++)
		c->product[i] *= WRONG / (1 + 2 * c->at[i] * due);
}

static void multiply_all(struct candidates *c, const struct point *points, uint32_t n,
			 const struct calc_tails *tails)
{
	for (unsigned i = 0; i < c->n; i++) {
		c->product[i] = 1;
		c->lifts[i] = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		multiply(c, &points[i], tails);
		if (i % OFTEN == OFTEN - 1)
			lift(c);
	}
	lift(c);
}

/* How much less likely a candidate is than the best one. */
static double weight_of(const struct candidates *c, unsigned i, double best, double best_lifts)
{
	const double w = c->product[i] / best;

	return c->lifts[i] == best_lifts ? w
					 : ldexp(w, -500 * (int)fmin(c->lifts[i] - best_lifts, 8));
}

/* The most likely candidate, if it is more likely than the best so far. */
static void find_best(const struct candidates *c, double *at, double *best, double *best_lifts)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->lifts[i] < *best_lifts ||
		    (c->lifts[i] == *best_lifts && c->product[i] > *best)) {
			*at = c->at[i];
			*best = c->product[i];
			*best_lifts = c->lifts[i];
		}
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
static struct belief most_likely(struct calc_ratio *r, uint32_t n, const struct calc_tails *tails)
{
	struct candidates means = { .n = 0 }, grid;
	struct point points[POINTS_MAX];
	double samples = 0, m = 0, top = r[n - 1].value;
	n = thin_out(r, n);
	/* Means of the lowest points, and a grid around them. */
	for (uint32_t i = 0; i < n; i++) {
		points[i] = point_of(&r[i]);
		samples += r[i].samples;
		m += r[i].m;
		if (!(samples > 0))
			continue;
		means.at[means.n] = samples / m;
		means.log_of[means.n] = log(means.at[means.n]);
		means.n++;
	}
	if (!means.n)
		return (struct belief){ NAN, NAN, NAN };
	double low = (r[0].samples > 0 ? r[0].value : means.at[0] / 2) / GRID_BELOW;
	const double step = pow(fmax(top, means.at[means.n - 1]) * 1.1 / low, 1.0 / (GRID - 1));
	const double log_low = log(low), log_step = log(step);
	for (grid.n = 0; grid.n < GRID; low *= step) {
		grid.log_of[grid.n] = log_low + grid.n * log_step;
		grid.at[grid.n++] = low;
	}
	multiply_all(&means, points, n, tails);
	multiply_all(&grid, points, n, tails);
	struct belief b = { means.at[0], 0, 0 };
	double best = 0, best_lifts = INFINITY, weight = 0, down = 0, up = 0;
	find_best(&means, &b.mean, &best, &best_lifts);
	find_best(&grid, &b.mean, &best, &best_lifts);
	for (unsigned i = 0; i < grid.n; i++) {
		double w = weight_of(&grid, i, best, best_lifts), off = grid.at[i] - b.mean;
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
	struct calc_ratio *ratios = x_malloc((proc->graph->ninsts + 1) * sizeof(*ratios));
	double period = (double)p->sampling.period[SAMPLED_CYCLES];
	for (uint32_t c = 0; c < proc->nclasses; c++) {
		if (isnan(out[c].mean) || !(proc->classes[c].samples > 0))
			continue;
		uint32_t n = calc_ratios(p, proc, members.list + members.at[c],
					 members.at[c + 1] - members.at[c], ratios);
		if (!n || !(ratios[n - 1].value > 0))
			continue;
		struct belief b = most_likely(ratios, n, p->tails);
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
