/* SPDX-License-Identifier: MIT */
/*
 * Branch records of a store (--analyze branches), block by block and edge by edge: a taken branch is that
 * of the edge from its block to where it went; a range of code between two taken branches of a record
 * covers blocks, and edges on which one falls into the next.
 *
 * The number of taken branches of the run, which a counter tells, says how many executions each stands for.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "view/calc_int.h"

struct reader {
	struct calc_model *m;
	struct calc_pieces pieces;
	const char *sampling;
	int64_t depth;
};

/* What no record can show: what follows a call, exits, entries and jumps to unknown places. */
static bool can_be_seen(const struct cfg *g, const struct cfg_edge *e)
{
	if (e->from == CFG_OUTSIDE || e->to == CFG_OUTSIDE)
		return false;
	if (e->kind == CFG_FALL)
		return !(g->blocks[e->from].flags & CFG_BLOCK_CALLS);
	return e->kind == CFG_TAKEN || e->kind == CFG_TABLE;
}

static void make_room(struct calc_model *m)
{
	for (uint32_t i = 0; i < m->program.nprocs; i++) {
		struct calc_proc *proc = &m->program.procs[i];
		const struct cfg *g = proc->graph;

		proc->block_records = x_calloc(g->nblocks + 1, sizeof(double));
		proc->edge_records = x_calloc(g->nedges + 1, sizeof(double));
		for (uint32_t e = 0; e < g->nedges; e++)
			proc->edge_records[e] = can_be_seen(g, &g->edges[e]) ? 0 : NAN;
	}
}

/* The edge of block `from` to the block that starts at `to`; UINT32_MAX: none that can be seen. */
static uint32_t find_edge(const struct calc_proc *proc, uint32_t from, uint64_t to, bool fall)
{
	const struct cfg *g = proc->graph;
	const struct cfg_block *b = &g->blocks[from];

	for (uint32_t e = b->first_out; e < b->first_out + b->nout; e++)
		if (!isnan(proc->edge_records[e]) && g->blocks[g->edges[e].to].start == to &&
		    (g->edges[e].kind == CFG_FALL) == fall)
			return e;
	return UINT32_MAX;
}

static void add_branch(struct reader *r, uint64_t source, uint64_t target, double count)
{
	const struct calc_piece *p = calc_piece_at(&r->pieces, source);

	if (!p)
		return;
	struct calc_proc *proc = &r->m->program.procs[p->proc];
	const struct cfg_block *b = &proc->graph->blocks[p->block];
	const uint32_t e = find_edge(proc, p->block, target, false);

	if (e != UINT32_MAX && proc->graph->insts[b->first + b->count - 1].pc == source)
		proc->edge_records[e] += count;
}

/* Code from `start` to the branch at `end` was executed from one end to the other. */
static void add_range(struct reader *r, uint64_t start, uint64_t end, double count)
{
	while (start <= end) {
		const struct calc_piece *p = calc_piece_at(&r->pieces, start);

		if (!p)
			return;
		struct calc_proc *proc = &r->m->program.procs[p->proc];
		const struct cfg_block *b = &proc->graph->blocks[p->block];

		if (!b->count || proc->graph->insts[b->first + b->count - 1].pc > end)
			return;
		proc->block_records[p->block] += count;
		start = p->end;
		if (start > end)
			return;
		const uint32_t e = find_edge(proc, p->block, start, true);

		if (e != UINT32_MAX)
			proc->edge_records[e] += count;
	}
}

/* Reads one table, and returns how many branches or ranges its records have. */
static bool read_table(struct reader *r, const char *sql,
		       void (*put)(struct reader *r, uint64_t a, uint64_t b, double count),
		       double *all, struct err *e)
{
	struct store_rows q = store_query(r->m->store, sql, "si", r->sampling, r->depth);

	*all = 0;
	while (store_next(&q)) {
		const double count = store_double(&q, 2);

		if (!(count > 0))
			continue;
		*all += count;
		put(r, (uint64_t)store_int(&q, 0), (uint64_t)store_int(&q, 1), count);
	}
	return store_done(&q, e);
}

bool calc_read_records(struct calc_model *m, const char *sampling, unsigned depth, struct err *e)
{
	struct calc_sampling *o = &m->program.sampling;
	struct reader r = {
		.m = m, .pieces = calc_pieces_new(m), .sampling = sampling, .depth = depth
	};
	const double taken =
	    store_number(m->store, "SELECT value FROM counter WHERE name = 'taken_branches'", 0);
	double branches = 0, ranges = 0;

	make_room(m);
	const bool ok =
	    read_table(&r,
		       "SELECT source, target, count FROM calc_branch WHERE sampling = ?1 AND "
		       "depth = ?2",
		       add_branch, &branches, e) &&
	    read_table(&r,
		       "SELECT start, end, count FROM calc_range WHERE sampling = ?1 AND depth = "
		       "?2",
		       add_range, &ranges, e);

	free(r.pieces.list);
	if (!ok)
		return false;
	if (!(taken > 0) || !(branches > 0) || !(ranges > 0))
		return err_set(e,
			       "%s has no branch records taken at %s and %u deep: run with "
			       "--analyze issue,branches (out of order: commits,branches), and a "
			       "shorter --param branches.period=N if the run is short",
			       store_path(m->store), sampling, depth);
	o->record_depth = depth;
	o->record_branch = taken / branches;
	o->record_range = taken / ranges;
	return true;
}
