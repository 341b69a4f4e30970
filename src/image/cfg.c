/* SPDX-License-Identifier: MIT */
/* What a control-flow graph consists of, checked and put in order; who finds it out is cfg_build.c. */
#include "image/cfg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define INST_BYTES_MAX 15

void cfg_free(struct cfg *g)
{
	if (!g)
		return;
	free(g->insts);
	free(g->blocks);
	free(g->edges);
	free(g->in);
	free(g);
}

uint32_t cfg_inst_at(const struct cfg *g, uint64_t pc)
{
	const size_t i = ARRAY_SEARCH(g->ninsts, k, g->insts[k].pc < pc);

	return i < g->ninsts && g->insts[i].pc == pc ? (uint32_t)i : UINT32_MAX;
}

uint32_t cfg_block_of(const struct cfg *g, uint32_t inst)
{
	const size_t after = ARRAY_SEARCH(g->nblocks, b, g->blocks[b].first <= inst);

	return (uint32_t)after - 1;
}

uint32_t cfg_block_at(const struct cfg *g, uint64_t pc)
{
	const size_t b = ARRAY_SEARCH(g->nblocks, k, g->blocks[k].start < pc);

	return b < g->nblocks && g->blocks[b].start == pc ? (uint32_t)b : UINT32_MAX;
}

static int by_ends(const void *a, const void *b)
{
	const struct cfg_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->callee > y->callee) - (x->callee < y->callee);
}

/* Blocks must be in order, not empty, and consist of instructions without a gap. */
static bool check_blocks(const struct cfg *g, struct err *e)
{
	uint32_t next = 0;

	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct cfg_block *at = &g->blocks[b];

		if (at->first != next || !at->count || at->count > g->ninsts - next ||
		    (b && at[-1].start >= at->start))
			return err_set(e, "block %" PRIu32 " has no instructions of its own", b);
		uint64_t pc = at->start;
		for (uint32_t i = next; i < next + at->count; i++) {
			const struct cfg_inst *in = &g->insts[i];

			if (in->pc != pc || !in->size_bytes || in->size_bytes > INST_BYTES_MAX ||
			    (i && in[-1].pc >= in->pc))
				return err_set(e, "no instruction at 0x%" PRIx64, pc);
			pc += in->size_bytes;
		}
		if (pc != at->end)
			return err_set(e, "block 0x%" PRIx64 " ends within an instruction",
				       at->start);
		next += at->count;
	}
	return next == g->ninsts ||
	       err_set(e, "%" PRIu32 " instructions are in no block", g->ninsts - next);
}

static bool check_edges(const struct cfg *g, struct err *e)
{
	for (uint32_t i = 0; i < g->nedges; i++) {
		const struct cfg_edge *at = &g->edges[i];
		const bool leaves = at->kind == CFG_EXIT || at->kind == CFG_MISSING;

		if (at->kind >= CFG_KINDS || (at->from == CFG_OUTSIDE) != (at->kind == CFG_ENTRY) ||
		    (at->to == CFG_OUTSIDE) != leaves ||
		    (at->from != CFG_OUTSIDE && at->from >= g->nblocks) ||
		    (at->to != CFG_OUTSIDE && at->to >= g->nblocks))
			return err_set(e, "edge %" PRIu32 " leads nowhere", i);
		if (i && !by_ends(at - 1, at))
			return err_set(e, "edge %" PRIu32 " is there twice", i);
	}
	return true;
}

/* Edges by block, at both of their ends. */
static void list_edges(struct cfg *g)
{
	uint32_t next = 0;

	for (uint32_t b = 0; b < g->nblocks; b++)
		g->blocks[b].nin = g->blocks[b].nout = 0;
	for (uint32_t i = 0; i < g->nedges; i++) {
		const struct cfg_edge *at = &g->edges[i];

		g->missing = g->missing || at->kind == CFG_MISSING;
		if (at->from != CFG_OUTSIDE && !g->blocks[at->from].nout++)
			g->blocks[at->from].first_out = i;
		if (at->to != CFG_OUTSIDE)
			g->blocks[at->to].nin++;
	}
	for (uint32_t b = 0; b < g->nblocks; b++) {
		g->blocks[b].first_in = next;
		next += g->blocks[b].nin;
		g->blocks[b].nin = 0;
		if (!g->blocks[b].nout)
			g->blocks[b].first_out = 0;
	}
	g->in = x_malloc(((size_t)next + 1) * sizeof(*g->in));
	for (uint32_t i = 0; i < g->nedges; i++) {
		struct cfg_block *to =
		    g->edges[i].to == CFG_OUTSIDE ? NULL : &g->blocks[g->edges[i].to];

		if (to)
			g->in[to->first_in + to->nin++] = i;
	}
}

struct cfg *cfg_assemble(uint64_t start, const char *name, struct cfg_inst *insts, uint32_t ninsts,
			 struct cfg_block *blocks, uint32_t nblocks, struct cfg_edge *edges,
			 uint32_t nedges, struct err *e)
{
	const size_t name_bytes = strlen(name) + 1;
	struct cfg *g = x_calloc(1, sizeof(*g) + name_bytes);

	memcpy(g + 1, name, name_bytes);
	g->start = start;
	g->name = (const char *)(g + 1);
	g->insts = insts;
	g->ninsts = ninsts;
	g->blocks = blocks;
	g->nblocks = nblocks;
	g->edges = edges;
	g->nedges = nedges;
	g->entry = cfg_block_at(g, start);
	if (nedges)
		qsort(edges, nedges, sizeof(*edges), by_ends);
	bool ok = check_blocks(g, e) && check_edges(g, e);
	if (ok && (g->entry >= nblocks || blocks[g->entry].start != start))
		ok = err_set(e, "no block at its start 0x%" PRIx64, start);
	if (!ok) {
		cfg_free(g);
		return NULL;
	}
	list_edges(g);
	return g;
}
