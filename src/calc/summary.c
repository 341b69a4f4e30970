/* SPDX-License-Identifier: MIT */
/*
 * Where the cycles of a procedure or a program went: the rows of dcpi1997 figure 4.
 *
 * The samples S of an instruction are divided. What its schedule makes it wait, M times its
 * frequency, is static stalls (as the schedule names them) and execution. What exceeds it is a
 * dynamic stall. Each cause that was not cleared of it may explain up to its bound: at most that
 * bound, at least what the bounds of all other causes leave over. What all bounds together cannot
 * explain is an unexplained stall. Samples that are lacking are an unexplained gain.
 *
 * A difference that chance can make (two standard deviations of a count) and that a listing rounds
 * away (a quarter of a cycle an execution) is neither stall nor gain but net sampling error. Both
 * must hold: few samples make large differences look like chance, and to call those an error would
 * hide all stalls of a flat profile; with many samples a tenth of a cycle is a fact.
 */
#include <math.h>

#include "calc/calc.h"

#define CHANCE	2.0  /* standard deviations */
#define ROUNDED 0.25 /* cycles an execution */

/* Sums over instructions, in samples. */
struct tally {
	double all, included;
	double executed; /* instructions, in units of the period */
	double best;	 /* what schedules need */
	double least[CAUSE_COUNT], most[CAUSE_COUNT];
	double stall, unexplained, gain;
	double fixed[STATIC_COUNT];
	double execution;
};

static void add_stall(struct tally *t, const struct calc_proc *proc, const struct calc_inst *i,
		      double stall, double period)
{
	double bounds = 0, bound[CAUSE_COUNT] = { 0 };
	for (unsigned k = 0; k < (unsigned)i->nculprits + i->nminor; k++) {
		const struct calc_culprit *c = calc_culprit(proc, i, k);
		const double most = fmax(c->most / period, 0);
		bound[c->cause] += most;
		bounds += most;
	}
	for (unsigned c = 0; c < CAUSE_COUNT; c++) {
		const double most = fmin(bound[c], stall);
		t->most[c] += most;
		/* the others' bounds, summed without this one: a difference of large bounds would
		 * not be exact */
		double others = 0;
		for (unsigned o = 0; o < CAUSE_COUNT; o++)
			others += o == c ? 0 : bound[o];
		t->least[c] += fmin(fmax(stall - others, 0), most);
	}
	t->stall += stall;
	t->unexplained += fmax(stall - bounds, 0);
}

/* A wait of no whole cycle is half of one: the slot beside the instruction before it stays empty. */
static double static_cycles(const struct calc_static *s)
{
	return s->cycles ? s->cycles : 0.5;
}

static void add_static(struct tally *t, const struct calc_inst *i, double frequency)
{
	double sum = 0;
	for (unsigned k = 0; k < i->nfixed; k++)
		sum += static_cycles(&i->fixed[k]);
	/* the means over incoming edges may be below what one edge waits */
	const double scale = sum > i->m ? i->m / sum : 1;
	for (unsigned k = 0; k < i->nfixed; k++)
		t->fixed[i->fixed[k].why] += scale * static_cycles(&i->fixed[k]) * frequency;
	t->execution += (i->m - scale * sum) * frequency;
}

static void add_inst(struct tally *t, const struct calc_proc *proc, const struct calc_inst *i,
		     double frequency, double period)
{
	const double samples = i->count[SAMPLED_CYCLES], expected = i->m * frequency,
		     more = samples - expected;
	const bool chance = fabs(more) <= CHANCE * sqrt(fmax(samples, expected)) &&
			    fabs(more) <= ROUNDED * frequency;

	t->included += samples;
	t->executed += frequency;
	t->best += expected;
	add_static(t, i, frequency);
	if (chance)
		return; /* becomes a part of the net error */
	if (more > 0)
		add_stall(t, proc, i, more, period);
	else
		t->gain += more;
}

static void add_proc(struct tally *t, const struct calc_program *p, const struct calc_proc *proc,
		     enum confidence least)
{
	const struct cfg *g = proc->graph;
	const double period = (double)p->sampling.period[SAMPLED_CYCLES];

	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct calc_freq *f = &proc->blocks[b];
		const bool in = f->value > 0 && f->confidence >= least && period > 0;
		const struct calc_inst *i = proc->insts + g->blocks[b].first;
		for (uint32_t k = 0; k < g->blocks[b].count; k++) {
			t->all += i[k].count[SAMPLED_CYCLES];
			if (in)
				add_inst(t, proc, &i[k], f->value / period, period);
		}
	}
}

struct calc_summary calc_summarise(const struct calc_program *p, const struct calc_proc *proc,
				   enum confidence least)
{
	struct tally t = { 0 };
	if (proc)
		add_proc(&t, p, proc, least);
	for (uint32_t i = 0; !proc && i < p->nprocs; i++)
		add_proc(&t, p, &p->procs[i], least);

	struct calc_summary s = { .samples = t.all,
				  .included = t.all > 0 ? t.included / t.all : 0,
				  .best_cpi = t.executed > 0 ? t.best / t.executed : NAN,
				  .cpi = t.executed > 0 ? t.included / t.executed : NAN };
	if (!(t.included > 0))
		return s;
	for (unsigned c = 0; c < CAUSE_COUNT; c++)
		s.dynamic[c] =
		    (struct calc_range){ t.least[c] / t.included, t.most[c] / t.included };
	s.unexplained_stall = t.unexplained / t.included;
	s.unexplained_gain = t.gain / t.included;
	s.dynamic_total = (t.stall + t.gain) / t.included;
	for (unsigned k = 0; k < STATIC_COUNT; k++) {
		s.fixed[k] = t.fixed[k] / t.included;
		s.static_total += s.fixed[k];
	}
	s.execution = t.execution / t.included;
	s.net_error = 1 - (s.dynamic_total + s.static_total + s.execution);
	return s;
}
