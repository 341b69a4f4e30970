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
 * It begins with nothing and goes round until nothing is added, so what is missing then cannot be. Not looked
 * at: blocks that were not executed, by the estimate, code without a graph, which has no sample, and signal
 * handlers.
 */
#include <stdlib.h>

#include "calc/calc_int.h"
#include "calc/carried.h"
#include "util/array.h"

#define ROUNDS 24 /* then nothing is known */

struct work {
	struct calc_program *p;
	struct carried_machine m;
	struct start {
		uint64_t address;
		uint32_t proc;
	} * starts;
	uint64_t *back;		/* by procedure: at its returns */
	uint64_t hub, hub_back; /* at calls of unknown targets, at any return */
	bool changed;
};

static int by_address(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return x->address != y->address ? (x->address > y->address) - (x->address < y->address)
					: (x->proc > y->proc) - (x->proc < y->proc);
}

/* The procedure that starts there; NULL: none. */
static struct calc_proc *callee_at(const struct work *w, uint64_t address)
{
	const size_t n = w->p->nprocs;
	const size_t i = ARRAY_SEARCH(n, k, w->starts[k].address < address);

	return i < n && w->starts[i].address == address ? &w->p->procs[w->starts[i].proc] : NULL;
}

static void grow(struct work *w, uint64_t *mask, uint64_t by)
{
	w->changed |= (*mask | by) != *mask;
	*mask |= by;
}

/* Enters the code there (0: not known) with `pending` under way; returns what it may come back with. */
static uint64_t enter(struct work *w, uint64_t address, uint64_t pending)
{
	if (!address) {
		grow(w, &w->hub, pending);
		return w->hub_back;
	}
	struct calc_proc *callee = callee_at(w, address);

	if (!callee)
		return 0;
	grow(w, &callee->entry_loads, pending);
	return w->back[callee - w->p->procs];
}

static uint64_t pending_at_end(const struct work *w, const struct calc_proc *proc, uint32_t b,
			       const struct carried *at)
{
	const struct cfg_block *block = &proc->graph->blocks[b];
	struct carried_walk walk;

	carried_begin(&walk, &w->m, proc, at);
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct carried_op op = carried_op(w->m.m, &proc->graph->insts[i]);

		carried_wait(&walk, i);
		carried_issue(&walk, i, &op);
	}
	return walk.s.loaded | walk.s.stale;
}

static void visit(struct work *w, uint32_t number)
{
	struct calc_proc *proc = &w->p->procs[number];
	const struct cfg *g = proc->graph;
	struct carried *at = carried_all(w->p, proc, &w->m);

	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct cfg_block *block = &g->blocks[b];

		if (!(proc->blocks[b].value > 0))
			continue;
		const uint64_t pending = pending_at_end(w, proc, b, &at[b]);
		const uint32_t last = block->first + block->count - 1;

		if (block->flags & CFG_BLOCK_CALLS) {
			grow(w, &proc->call_loads[b], enter(w, block->callee, pending));
			continue;
		}
		if (block->count && g->insts[last].flow == IMAGE_RETURN) {
			grow(w, &w->back[number], pending);
			grow(w, &w->hub_back, pending);
			continue;
		}
		for (uint32_t e = block->first_out; e < block->first_out + block->nout; e++)
			if (g->edges[e].to == CFG_OUTSIDE)
				grow(w, &w->back[number], enter(w, g->edges[e].callee, pending));
	}
	free(at);
}

void calc_passed(struct calc_program *p)
{
	struct work w = { .p = p,
			  .m = carried_machine(p),
			  .starts = x_calloc(p->nprocs + 1, sizeof(*w.starts)),
			  .back = x_calloc(p->nprocs + 1, sizeof(*w.back)),
			  .changed = true };

	for (uint32_t i = 0; i < p->nprocs; i++) {
		struct calc_proc *proc = &p->procs[i];

		w.starts[i] = (struct start){ proc->graph->start, i };
		free(proc->call_loads);
		proc->call_loads = x_calloc(proc->graph->nblocks + 1, sizeof(*proc->call_loads));
		proc->entry_loads = 0;
	}
	if (p->nprocs)
		qsort(w.starts, p->nprocs, sizeof(*w.starts), by_address);
	for (unsigned round = 0; w.changed && round < ROUNDS; round++) {
		w.changed = false;
		for (uint32_t i = 0; i < p->nprocs; i++) {
			grow(&w, &p->procs[i].entry_loads, w.hub);
			visit(&w, i);
		}
	}
	for (uint32_t i = 0; w.changed && i < p->nprocs; i++) {
		free(p->procs[i].call_loads);
		p->procs[i].call_loads = NULL;
	}
	free(w.starts);
	free(w.back);
}
