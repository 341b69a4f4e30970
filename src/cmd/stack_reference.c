/* SPDX-License-Identifier: MIT */
/*
 * Simulates the reference: first with perfect caches, TLBs and branch prediction, then with one
 * cause after the other made real; the cycles that a step adds are that cause's component. Cycles
 * that two causes share go to the one that comes first, so there are two orders, which bound what a
 * counting method can say: after the L1 D-cache and the branch predictor either the instruction
 * side comes first or the data side. The last step is the run itself, which is simulated too: it
 * must take the cycles that it took. If the run was measured only in regions (--start, --stop), so
 * are the simulations.
 */
#include "cmd/stack_reference.h"

#include <string.h>

#include "jobs/rerun.h"

/* What is still perfect after a step; bits of step.perfect. */
enum perfect {
	DMISS = 1 << 0,
	DMEM = 1 << 1,
	BMISP = 1 << 2,
	IMISS = 1 << 3,
	IMEM = 1 << 4,
	ITLB = 1 << 5,
	DTLB = 1 << 6,
	PERFECTS = 7,
};
static const char *const setting[PERFECTS] = {
	"ideal.dmiss=on", "ideal.dmem=on", "ideal.bmisp=on", "ideal.imiss=on",
	"ideal.imem=on",  "ideal.itlb=on", "ideal.dtlb=on",
};

struct step {
	enum cpi_component part; /* what becomes real */
	unsigned perfect;
};
static const struct step orders[STACK_REFERENCES][CPI_SIMULATED] = {
	{
	    { CPI_BASE, DMISS | BMISP | IMISS | ITLB | DTLB },
	    { CPI_L1D, DMEM | BMISP | IMISS | ITLB | DTLB },
	    { CPI_BMISP, DMEM | IMISS | ITLB | DTLB },
	    { CPI_L1I, DMEM | IMEM | ITLB | DTLB },
	    { CPI_L2I, DMEM | ITLB | DTLB },
	    { CPI_ITLB, DMEM | DTLB },
	    { CPI_L2D, DTLB },
	    { CPI_DTLB, 0 },
	},
	{
	    { CPI_BASE, DMISS | BMISP | IMISS | ITLB | DTLB },
	    { CPI_L1D, DMEM | BMISP | IMISS | ITLB | DTLB },
	    { CPI_BMISP, DMEM | IMISS | ITLB | DTLB },
	    { CPI_L2D, IMISS | ITLB | DTLB },
	    { CPI_DTLB, IMISS | ITLB },
	    { CPI_L1I, IMEM | ITLB },
	    { CPI_L2I, ITLB },
	    { CPI_ITLB, 0 },
	},
};
static const struct {
	const char *name, *summary;
} names[STACK_REFERENCES] = {
	{ "simulated", "simulated: L1D, branches, L1I, L2I, I-TLB, L2D, D-TLB made real in turn" },
	{ "inverse", "simulated: L1D, branches, L2D, D-TLB, L1I, L2I, I-TLB made real in turn" },
};

#define JOBS_MAX (STACK_REFERENCES * CPI_SIMULATED + 1)

/* One job per distinct set of perfect parts. */
struct plan {
	struct job jobs[JOBS_MAX];
	unsigned perfect[JOBS_MAX];
	size_t count;
};

static const struct job *job_of(const struct plan *p, unsigned perfect)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->perfect[i] == perfect)
			return &p->jobs[i];
	return NULL;
}

static void plan_step(struct plan *p, const struct rerun *r, const struct step *step)
{
	const char *settings[PERFECTS];
	size_t n = 0;
	char name[96];

	if (!step->perfect || job_of(p, step->perfect))
		return;
	for (unsigned i = 0; i < PERFECTS; i++)
		if (step->perfect >> i & 1)
			settings[n++] = setting[i];
	if (step->part == CPI_BASE)
		snprintf(name, sizeof(name), "everything perfect");
	else
		snprintf(name, sizeof(name), "%s real, %zu parts perfect",
			 words_components[step->part].words, n);
	p->perfect[p->count] = step->perfect;
	p->jobs[p->count++] = rerun_job(r, name, settings, n);
}

/* Turns the cycles after each step into components; false if a run is missing. */
static bool assemble(const struct plan *p, const struct step *steps, double cycles,
		     double parts[CPI_SIMULATED])
{
	double before = 0;

	for (unsigned i = 0; i < CPI_SIMULATED; i++) {
		double now = cycles;

		if (steps[i].perfect && !simulating_cycles(job_of(p, steps[i].perfect), &now))
			return false;
		parts[steps[i].part] = now - before;
		before = now;
	}
	return true;
}

bool stack_reference_make(struct store *s, const struct simulating *o,
			  struct stack_reference out[STACK_REFERENCES], size_t *count,
			  struct err *e)
{
	struct plan p = { .count = 0 };
	struct simulating_found found;
	struct rerun *r = rerun_open(s, o->simulator, o->cache, e);

	*count = 0;
	if (!r)
		return false;
	for (unsigned k = 0; k < STACK_REFERENCES; k++)
		for (unsigned i = 0; i < CPI_SIMULATED; i++)
			plan_step(&p, r, &orders[k][i]);
	struct job *itself = &p.jobs[p.count++];

	*itself = simulating_itself(r);

	bool ok = simulating_run("stack", s, r, o, p.jobs, p.count, itself, &found, e);

	for (unsigned k = 0; found.repeats && k < STACK_REFERENCES; k++) {
		struct stack_reference *ref = &out[*count];

		*ref =
		    (struct stack_reference){ .name = names[k].name, .summary = names[k].summary };
		*count += assemble(&p, orders[k], found.cycles, ref->cycles);
	}
	for (size_t i = 0; i < p.count; i++)
		job_free(&p.jobs[i]);
	rerun_close(r);
	return ok;
}
