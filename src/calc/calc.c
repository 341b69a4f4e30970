/* SPDX-License-Identifier: MIT */
/* From graphs and samples to frequencies, cycles per execution and culprits: the order of the steps. */
#include "calc/calc_int.h"
#include "calc/carried.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define ROUNDS 3 /* of schedule and frequencies; M per edge settles within these */

const struct calc_method *calc_method_find(const char *name)
{
	if (!name)
		name = CALC_DEFAULT;
	for (const struct calc_method *const *m = calc_methods; *m; m++)
		if (!strcmp((*m)->name, name))
			return *m;
	return NULL;
}

struct calc_proc *calc_add(struct calc_program *p, struct cfg *graph)
{
	struct calc_proc *proc = ARRAY_ADD(p->procs, p->nprocs);
	*proc = (struct calc_proc){ .graph = graph };
	proc->insts = x_calloc(graph->ninsts, sizeof(*proc->insts));
	proc->block_class = x_calloc(graph->nblocks, sizeof(*proc->block_class));
	proc->edge_class = x_calloc(graph->nedges, sizeof(*proc->edge_class));
	proc->blocks = x_calloc(graph->nblocks, sizeof(*proc->blocks));
	proc->edges = x_calloc(graph->nedges, sizeof(*proc->edges));
	return proc;
}

/* Cycles per execution, from samples and frequencies. */
static void put_cpi(struct calc_program *p, struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	double period = (double)p->sampling.period[SAMPLED_CYCLES];
	for (uint32_t b = 0; b < g->nblocks; b++)
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			double f = proc->blocks[b].value;
			proc->insts[i].cpi =
			    f > 0 ? proc->insts[i].count[SAMPLED_CYCLES] * period / f : NAN;
		}
}

/* A second run knows nothing of the first. */
static void begin(struct calc_proc *proc)
{
	proc->nclasses = calc_classes(proc->graph, proc->block_class, proc->edge_class);
	free(proc->classes);
	proc->classes = x_calloc(proc->nclasses, sizeof(*proc->classes));
	free(proc->shares);
	proc->shares = NULL;
	proc->samples = 0;
	memset(proc->blocks, 0, proc->graph->nblocks * sizeof(*proc->blocks));
	memset(proc->edges, 0, proc->graph->nedges * sizeof(*proc->edges));
	for (uint32_t k = 0; k < proc->graph->ninsts; k++)
		proc->samples += proc->insts[k].count[SAMPLED_CYCLES];
}

/* Frequencies are known: what is left of a procedure are its results. */
static void end(struct calc_program *p, struct calc_proc *proc)
{
	put_cpi(p, proc);
	calc_confidence(p, proc);
	free(proc->classes);
	free(proc->shares);
	proc->classes = NULL;
	proc->shares = NULL;
}

/* Methods that look at each procedure for itself. */
static void estimate_one(struct calc_program *p, struct calc_proc *proc,
			 const struct calc_method *method, unsigned rounds)
{
	struct calc_scheduler *s =
	    p->sampling.mode == CALC_ISSUE ? calc_scheduler_new(p->machine, proc) : NULL;
	for (unsigned round = 0; round < rounds; round++) {
		if (s && !calc_schedule_round(s, proc, round == 0))
			break;
		calc_evidence(p, proc);
		method->each(p, proc);
	}
	if (s)
		calc_scheduler_free(s);
}

/* Methods that look at the whole program at once: round by round. */
static bool estimate_all(struct calc_program *p, const struct calc_method *method, unsigned rounds,
			 bool risks, struct err *e)
{
	for (uint32_t i = 0; i < p->nprocs; i++)
		begin(&p->procs[i]);
	for (unsigned round = 0; round < rounds; round++) {
		double left[2] = { 0 };
		for (uint32_t i = 0; i < p->nprocs; i++) {
			if (p->sampling.mode == CALC_ISSUE)
				calc_schedule(p->machine, &p->procs[i], round == 0);
			if (risks)
				calc_risks(p, &p->procs[i], left);
		}
		if (risks) {
			memcpy(p->result_left, left, sizeof(left));
			p->returned = true;
		}
		if (risks && round)
			calc_learn_risks(p);
		for (uint32_t i = 0; i < p->nprocs; i++)
			calc_evidence(p, &p->procs[i]);
		if (!method->estimate(p, e))
			return false;
	}
	for (uint32_t i = 0; i < p->nprocs; i++)
		end(p, &p->procs[i]);
	return true;
}

static bool run(struct calc_program *p, const struct calc_method *method, struct err *e)
{
	unsigned rounds = p->options.rounds ? p->options.rounds : ROUNDS;
	const bool schedules = p->sampling.mode == CALC_ISSUE;
	const bool samples = !p->sampling.record_depth; /* frequencies are from these */
	if (!schedules)
		rounds = 1;
	if (method->each) {
		for (uint32_t i = 0; i < p->nprocs; i++) {
			begin(&p->procs[i]);
			estimate_one(p, &p->procs[i], method, rounds);
			end(p, &p->procs[i]);
		}
	} else if (!estimate_all(p, method, rounds, method->risks && schedules && samples, e)) {
		return false;
	}
	if (schedules && p->options.cross == CROSS_SELECTIVE)
		calc_passed(p);
	for (uint32_t i = 0; schedules && i < p->nprocs; i++)
		calc_culprits(p, &p->procs[i]);
	return true;
}

bool calc_run(struct calc_program *p, struct err *e)
{
	const struct calc_method *method = calc_method_find(p->options.method);
	if (method->issues && (p->sampling.mode != CALC_ISSUE || p->sampling.record_depth))
		return err_set(e,
			       "method %s needs samples of the oldest instruction not yet issued: "
			       "choose flow, profi or dcpi",
			       method->name);
	memset(p->unstalled, 0, sizeof(p->unstalled));
	p->spread = 0;
	p->returned = false;
	struct carried_cache *decoded = p->machine ? carried_cache_new() : NULL;
	for (uint32_t i = 0; i < p->nprocs; i++)
		p->procs[i].decoded = decoded;
	p->tails = calc_tails_new();
	const bool ok = run(p, method, e);
	free(p->tails);
	p->tails = NULL;
	for (uint32_t i = 0; i < p->nprocs; i++)
		p->procs[i].decoded = NULL;
	free(decoded);
	return ok;
}

void calc_free(struct calc_program *p)
{
	for (uint32_t i = 0; i < p->nprocs; i++) {
		struct calc_proc *proc = &p->procs[i];
		free(proc->culprits);
		free(proc->shares);
		free(proc->insts);
		free(proc->pairs);
		free(proc->call_loads);
		free(proc->block_records);
		free(proc->edge_records);
		free(proc->block_class);
		free(proc->edge_class);
		free(proc->classes);
		free(proc->blocks);
		free(proc->edges);
	}
	free(p->procs);
	p->procs = NULL;
	p->nprocs = 0;
}
