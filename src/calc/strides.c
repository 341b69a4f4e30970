/* SPDX-License-Identifier: MIT */
/*
 * A load that goes through memory in steps of 32 bytes comes to another page once in 128 times. While it is in one
 * page, it does not miss the TLB, if nothing between two of its executions can have taken the page's entry: then a
 * walk is no explanation for what every execution waits.
 *
 * The loop around a block is any set of blocks that has these properties:
 *
 *   - from the block back to itself no other block is run through twice, so that what is between two executions is
 *     at most each of its loads and stores once;
 *   - these are at most half as many as the data TLB has entries (it replaces what was used the longest time ago; the
 *     other half is for wrong paths);
 *   - it calls nothing, and all ways into it are known.
 *
 * Here it is the blocks around which control goes from the block back to itself over edges that are taken often
 * (OFTEN). The choice decides how good the bound is, not whether it is one: whatever comes in over other edges
 * counts as an entry.
 *
 * An execution of the load can only miss if the loop was entered since the last one, or if its address has moved to
 * another page. The address moves by what is added to its base register: by constants, also to registers that the base
 * is computed from by additions and shifts. So the pages are at most the entries plus the sum of all movements over
 * the size of a page. Anything else that writes such a register makes the number unknown.
 */
#include "calc/strides.h"

#include <math.h>
#include <stdlib.h>

#define OFTEN 0.25 /* share of the block's executions */
#define DEPTH 4	   /* registers that a base is computed from, one after the other */

struct strides strides_begin(const struct machine *m, const struct calc_proc *proc,
			     const struct carried_op *ops)
{
	return (struct strides){ .proc = proc, .ops = ops, .m = m, .block = UINT32_MAX };
}

static bool is_in(const uint32_t *blocks, uint32_t n, uint32_t b)
{
	for (uint32_t i = 0; i < n; i++)
		if (blocks[i] == b)
			return true;
	return false;
}

/* The edge number k out of a block, or into it, and its other end. */
static uint32_t edge_at(const struct cfg *g, uint32_t b, uint32_t k, bool out, uint32_t *other)
{
	const uint32_t e = out ? g->blocks[b].first_out + k : g->in[g->blocks[b].first_in + k];

	*other = out ? g->edges[e].to : g->edges[e].from;
	return e;
}

/* The blocks that control comes to from a block (out), or comes from, over edges that are taken often. Returns their
 * number, 0 if they are too many. */
static uint32_t find_near(const struct strides *s, uint32_t block, bool out, uint32_t *found)
{
	const struct cfg *g = s->proc->graph;
	const double least = OFTEN * s->proc->blocks[block].value;
	uint32_t n = 0;

	found[n++] = block;
	for (uint32_t i = 0; i < n; i++) {
		const struct cfg_block *b = &g->blocks[found[i]];

		for (uint32_t k = 0; k < (out ? b->nout : b->nin); k++) {
			uint32_t other;
			const uint32_t e = edge_at(g, found[i], k, out, &other);

			if (other == CFG_OUTSIDE || !(s->proc->edges[e].value >= least) ||
			    is_in(found, n, other))
				continue;
			if (n == STRIDES_BLOCKS)
				return 0;
			found[n++] = other;
		}
	}
	return n;
}

/* Whether no way within the loop leads from a block to itself but by way of s->block: blocks are taken away that
 * nothing left leads to, until none is left. */
static bool is_run_once(const struct strides *s)
{
	const struct cfg *g = s->proc->graph;
	uint32_t left[STRIDES_BLOCKS], n = 0;
	bool more = true;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->blocks[i] != s->block)
			left[n++] = s->blocks[i];
	while (n && more) {
		more = false;
		for (uint32_t i = 0; i < n; i++) {
			bool reached = false;

			for (uint32_t k = 0; k < g->blocks[left[i]].nin && !reached; k++) {
				uint32_t from;

				edge_at(g, left[i], k, false, &from);
				reached = is_in(left, n, from);
			}
			if (!reached) {
				left[i--] = left[--n];
				more = true;
			}
		}
	}
	return !n;
}

/* How often the loop is entered from outside; NAN: not known. */
static double entries(const struct strides *s)
{
	const struct cfg *g = s->proc->graph;
	double sum = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const uint32_t b = s->blocks[i];
		bool outside = false;

		for (uint32_t k = 0; k < g->blocks[b].nin; k++) {
			uint32_t from;
			const uint32_t e = edge_at(g, b, k, false, &from);

			outside |= from == CFG_OUTSIDE;
			if (from == CFG_OUTSIDE || !is_in(s->blocks, s->n, from))
				sum += s->proc->edges[e].value;
		}
		if (g->blocks[b].flags & CFG_BLOCK_MAYBE || (b == g->entry && !outside))
			return NAN;
	}
	return sum;
}

static bool goes_round(const struct strides *s)
{
	const struct cfg *g = s->proc->graph;

	for (uint32_t k = 0; k < g->blocks[s->block].nin; k++) {
		uint32_t from;

		edge_at(g, s->block, k, false, &from);
		if (from != CFG_OUTSIDE && is_in(s->blocks, s->n, from))
			return true;
	}
	return false;
}

static void find_loop(struct strides *s, uint32_t block)
{
	const struct cfg *g = s->proc->graph;
	uint32_t after[STRIDES_BLOCKS], before[STRIDES_BLOCKS], accesses = 0;

	s->block = block;
	s->loop = false;
	s->n = 0;
	if (!(s->proc->blocks[block].value > 0))
		return;
	const uint32_t nafter = find_near(s, block, true, after);
	const uint32_t nbefore = nafter ? find_near(s, block, false, before) : 0;

	for (uint32_t i = 0; i < nafter; i++)
		if (is_in(before, nbefore, after[i]))
			s->blocks[s->n++] = after[i];
	if (!s->n || !goes_round(s))
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct cfg_block *b = &g->blocks[s->blocks[i]];

		if (b->flags & CFG_BLOCK_CALLS)
			return;
		for (uint32_t k = b->first; k < b->first + b->count; k++) {
			accesses += s->ops[k].load || s->ops[k].store;
			if (s->ops[k].cls == CLASS_SYSTEM)
				return;
		}
	}
	s->entered = entries(s);
	s->loop = s->entered >= 0 && 2 * accesses <= s->m->mem.dtlb.entries && is_run_once(s);
}

static double moved(const struct strides *s, unsigned reg, unsigned depth);

/* By how much the result of an instruction moves in all, in bytes, if its operands do. */
static double moved_by(const struct strides *s, const struct inst *in, const struct carried_op *op,
		       unsigned depth)
{
	const double first = moved(s, op->operands.src[0], depth);
	unsigned shift = 0;

	switch (in->op) {
	case OP_LUI:
	case OP_AUIPC:
		return 0;
	case OP_ADDI:
		return first;
	case OP_SLLI:
		return ldexp(first, in->imm & 63);
	case OP_ADD:
	case OP_SUB:
		break;
	case OP_SH1ADD:
		shift = 1;
		break;
	case OP_SH2ADD:
		shift = 2;
		break;
	case OP_SH3ADD:
		shift = 3;
		break;
	default:
		return INFINITY;
	}
	return ldexp(first, (int)shift) + moved(s, op->operands.src[1], depth);
}

/* By how much a register's value moves in all while control is in the loop, in bytes; INFINITY: not known. */
static double moved(const struct strides *s, unsigned reg, unsigned depth)
{
	const struct cfg *g = s->proc->graph;
	double sum = 0;
	uint32_t others = 0, added = 0;

	if (!reg)
		return 0;
	if (depth == DEPTH)
		return INFINITY;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct cfg_block *b = &g->blocks[s->blocks[i]];

		for (uint32_t k = b->first; k < b->first + b->count; k++) {
			const struct carried_op *op = &s->ops[k];

			if (op->operands.dst != reg)
				continue;
			const struct inst in = isa_decode(g->insts[k].word);

			if (in.op == OP_ADDI && op->operands.src[0] == reg) {
				sum += fabs((double)in.imm) * s->proc->blocks[s->blocks[i]].value;
				added++;
				continue;
			}
			others++;
			sum += moved_by(s, &in, op, depth + 1);
		}
	}
	/* It jumps between what several places compute, or to and from what is added. */
	return others > 1 || (others && added) ? INFINITY : sum;
}

double strides_new_pages(struct strides *s, uint32_t block, uint32_t inst)
{
	const struct mem_tlb_config *tlb = &s->m->mem.dtlb;

	if (tlb->ways || s->ops[inst].cls != CLASS_LOAD)
		return INFINITY;
	if (block != s->block)
		find_loop(s, block);
	if (!s->loop)
		return INFINITY;
	return s->entered + moved(s, s->ops[inst].operands.src[0], 0) / s->m->mem.page_bytes;
}
