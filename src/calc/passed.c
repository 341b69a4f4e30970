/* SPDX-License-Identifier: MIT */
/*
 * Which registers a load may have left under way when a procedure is entered, and when it returns: a
 * data-flow analysis of the whole program, over known calls, for the rules of culprit.c (CROSS_SELECTIVE). The
 * calling convention alone lets a caller leave a load in any register; the program's own call sites mostly
 * leave none.
 *
 *   entry    what is under way at the calls of it, and at all calls whose target is not known: these go
 *            through one hub, with jumps out of a procedure to unknown places (stubs of the linkage table)
 *   return   what is under way at its returns, and at those of procedures that it ends in by a tail call;
 *            behind a call whose target is not known, at any return
 *
 * It begins with nothing and goes round until nothing is added, so what is missing then cannot be. A procedure
 * is looked into again only if more is under way at its entry or behind its calls than when it was last. Not looked
 * at: blocks that were not executed, by the estimate, code without a graph, which has no sample, and signal
 * handlers.
 */
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/carried.h"
#include "util/array.h"

#define ROUNDS	24 /* then nothing is known */
#define UNKNOWN UINT32_MAX
#define NO_CODE (UINT32_MAX - 1)

/* A place where a procedure is left. */
struct site {
	enum { SITE_CALL, SITE_RETURN, SITE_TAIL } kind;
	uint32_t block;
	uint32_t callee; /* number of the procedure; NO_CODE: it has no graph; UNKNOWN */
};

struct code {
	struct carried_loads *loads;
	struct site *sites;
	uint32_t nsites;
	uint64_t back; /* at its returns */
	bool grown;    /* more comes in than when its loads were settled last */
};

struct work {
	struct calc_program *p;
	struct start {
		uint64_t address;
		uint32_t proc;
	} * starts;
	struct code *codes;	/* by procedure */
	uint64_t hub, hub_back; /* at calls of unknown targets, at any return */
	bool changed;
};

static int by_address(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return x->address != y->address ? (x->address > y->address) - (x->address < y->address)
					: (x->proc > y->proc) - (x->proc < y->proc);
}

/* The procedure that starts there. */
static uint32_t callee_at(const struct work *w, uint64_t address)
{
	const size_t n = w->p->nprocs;
	const size_t i = address ? ARRAY_SEARCH(n, k, w->starts[k].address < address) : 0;

	if (!address)
		return UNKNOWN;
	return i < n && w->starts[i].address == address ? w->starts[i].proc : NO_CODE;
}

/* Where the blocks that were executed leave a procedure. */
static void find_sites(const struct work *w, const struct calc_proc *proc, struct code *code)
{
	const struct cfg *g = proc->graph;

	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct cfg_block *block = &g->blocks[b];
		const uint32_t last = block->first + block->count - 1;

		if (!(proc->blocks[b].value > 0))
			continue;
		if (block->flags & CFG_BLOCK_CALLS) {
			*ARRAY_ADD(code->sites, code->nsites) =
			    (struct site){ SITE_CALL, b, callee_at(w, block->callee) };
			continue;
		}
		if (block->count && g->insts[last].flow == IMAGE_RETURN) {
			*ARRAY_ADD(code->sites, code->nsites) =
			    (struct site){ SITE_RETURN, b, NO_CODE };
			continue;
		}
		for (uint32_t e = block->first_out; e < block->first_out + block->nout; e++)
			if (g->edges[e].to == CFG_OUTSIDE)
				*ARRAY_ADD(code->sites, code->nsites) =
				    (struct site){ SITE_TAIL, b, callee_at(w, g->edges[e].callee) };
	}
}

static bool grow(struct work *w, uint64_t *mask, uint64_t by)
{
	if (!(by & ~*mask))
		return false;
	*mask |= by;
	w->changed = true;
	return true;
}

static void grow_entry(struct work *w, uint32_t proc, uint64_t by)
{
	w->codes[proc].grown |= grow(w, &w->p->procs[proc].entry_loads, by);
}

/* Enters a procedure with `pending` under way; returns what it may come back with. */
static uint64_t enter(struct work *w, uint32_t callee, uint64_t pending)
{
	if (callee == NO_CODE)
		return 0;
	if (callee == UNKNOWN) {
		grow(w, &w->hub, pending);
		return w->hub_back;
	}
	grow_entry(w, callee, pending);
	return w->codes[callee].back;
}

static void visit(struct work *w, uint32_t number)
{
	struct code *code = &w->codes[number];
	uint64_t *behind = w->p->procs[number].call_loads;

	if (code->grown)
		carried_loads_settle(code->loads);
	code->grown = false;
	for (uint32_t i = 0; i < code->nsites; i++) {
		const struct site *s = &code->sites[i];
		const uint64_t pending = carried_loads_end(code->loads, s->block);

		switch (s->kind) {
		case SITE_CALL:
			code->grown |= grow(w, &behind[s->block], enter(w, s->callee, pending));
			break;
		case SITE_RETURN:
			grow(w, &code->back, pending);
			grow(w, &w->hub_back, pending);
			break;
		case SITE_TAIL:
			grow(w, &code->back, enter(w, s->callee, pending));
			break;
		}
	}
}

static void begin(struct work *w)
{
	struct calc_program *p = w->p;
	const struct carried_machine m = carried_machine(p);

	for (uint32_t i = 0; i < p->nprocs; i++)
		w->starts[i] = (struct start){ p->procs[i].graph->start, i };
	if (p->nprocs)
		qsort(w->starts, p->nprocs, sizeof(*w->starts), by_address);
	for (uint32_t i = 0; i < p->nprocs; i++) {
		struct calc_proc *proc = &p->procs[i];

		free(proc->call_loads);
		proc->call_loads = x_calloc(proc->graph->nblocks + 1, sizeof(*proc->call_loads));
		proc->entry_loads = 0;
		find_sites(w, proc, &w->codes[i]);
		w->codes[i].loads = carried_loads_new(p, proc, &m);
		w->codes[i].grown = true;
	}
}

void calc_passed(struct calc_program *p)
{
	struct work w = { .p = p,
			  .starts = x_calloc(p->nprocs + 1, sizeof(*w.starts)),
			  .codes = x_calloc(p->nprocs + 1, sizeof(*w.codes)),
			  .changed = true };

	begin(&w);
	for (unsigned round = 0; w.changed && round < ROUNDS; round++) {
		w.changed = false;
		for (uint32_t i = 0; i < p->nprocs; i++) {
			grow_entry(&w, i, w.hub);
			visit(&w, i);
		}
	}
	for (uint32_t i = 0; i < p->nprocs; i++) {
		carried_loads_free(w.codes[i].loads);
		free(w.codes[i].sites);
		if (!w.changed)
			continue;
		free(p->procs[i].call_loads);
		p->procs[i].call_loads = NULL;
	}
	free(w.codes);
	free(w.starts);
}
