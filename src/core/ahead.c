/* SPDX-License-Identifier: MIT */
/*
 * Fetch ahead: the predictors run up to fetch.ahead blocks ahead of fetch along the predicted path
 * and ask the I-cache for their lines, so that misses of fetch overlap each other and what is being
 * executed (Reinman, Calder and Austin, "Fetch directed instruction prefetching", MICRO 1999;
 * puzak2007 section 9).
 *
 * A block is what the path takes from one aligned block of fetch.block_bytes. The walk
 * (core/bpred/walk.c) finds in which block the path goes on; as many blocks are walked in a cycle
 * as fetch can read in one. Blocks stand in a queue, the one in which fetch is first, until fetch
 * has left them. When the queue is full, the next block waits. So it does while the I-cache has no
 * MSHR for its line, and while its page is not in the I-TLB, whose misses are those of fetch alone.
 *
 * Fetch makes predictions of its own, for which it has the instructions and the whole history.
 * Where these lead it out of the queue (a branch that the BTB did not know, say), and at every
 * redirect, the queue is emptied and the walk begins again at fetch. Lines that have been asked for
 * still come. So it goes on wrong paths, too, until they are found out.
 *
 * No line is asked for where nothing can be executed. A walk takes no port of the cache. Behind a
 * system call, where fetch waits, the walk goes on: a BTB does not know what it is passing.
 */
#include "core/pipe.h"

#include <stdlib.h>

/* Where the path enters an aligned block. */
struct block {
	uint64_t pc;
	bool jumped; /* else it came from the block before, and pc is where this one begins */
};

struct ahead {
	struct bpred_walk *walk;
	bool lost;	       /* begins again where fetch is */
	struct block next;     /* not walked yet; does not fit, or waits for an MSHR */
	uint32_t first, count; /* blocks walked and not left by fetch */
	uint32_t size;	       /* fetch.ahead, and the block that fetch is in */
	struct block blocks[];
};

struct ahead *ahead_new(struct bpred *bp, uint32_t blocks)
{
	struct ahead *a = x_calloc(1, sizeof(*a) + (blocks + 1) * sizeof(*a->blocks));

	a->walk = bpred_walk_new(bp);
	a->size = blocks + 1;
	a->lost = true;
	return a;
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	bpred_walk_free(a->walk);
	free(a);
}

void ahead_redirect(struct core *c)
{
	c->front.ahead->lost = true;
}

/* Fetch goes on in another block, at pc: it has jumped there, or comes from the block before. */
static void leave_block(struct core *c, uint64_t pc, bool jumped)
{
	struct ahead *a = c->front.ahead;
	const struct block *b = &a->next;

	if (!a->count) {
		a->lost = true; /* fetch has overtaken it */
		return;
	}
	a->first = a->first + 1 == a->size ? 0 : a->first + 1;
	if (--a->count)
		b = &a->blocks[a->first];
	a->lost =
	    jumped != b->jumped || (jumped ? pc != b->pc : (pc ^ b->pc) > c->front.block_mask);
}

/* Whether fetch went from u to pc by a jump. An indirect jump of which nothing is known is none:
 * fetch goes straight on meanwhile. */
static bool has_jumped(const struct core *c, uint64_t po, const struct uop *u, uint64_t pc)
{
	const struct bpred_pred *p = &c->front.preds[slot_of(c, po)];

	if (u->flags & UOP_CTRL)
		return p->taken && p->when != BPRED_AT_EXECUTE;
	return pc != u->pc + u->in.len;
}

/* Goes with fetch through what it has fetched in this cycle. */
static void follow(struct core *c)
{
	bool waits = c->front.state == FETCH_WAIT_TRAP || c->front.state == FETCH_STUCK;
	uint64_t end =
	    c->tail - waits; /* behind an instruction for which fetch waits comes a redirect */

	for (uint64_t po = c->tail - c->did.fetches; po < end && !c->front.ahead->lost; po++) {
		const struct uop *u = at(c, po)->u;
		uint64_t pc = po + 1 < c->tail ? at(c, po + 1)->u->pc : c->front.pc;
		bool jumped = has_jumped(c, po, u, pc);

		if (jumped || (pc ^ u->pc) > c->front.block_mask)
			leave_block(c, pc, jumped);
	}
}

void ahead_asker(const struct core *c, struct mem_asker *who)
{
	*who = (struct mem_asker){ .pc = c->front.ahead->next.pc,
				   .po = c->tail,
				   .seq = c->front.seq,
				   .kind = MISS_PREFETCH,
				   .wrong = c->front.wrong };
}

/* Asks for the line of the next block; false if it has to wait. */
static bool ask(struct core *c)
{
	uint64_t pc = c->front.ahead->next.pc;
	uint32_t flags = (c->ideal & IDEAL_ITLB ? MEM_IDEAL_ITLB : 0) |
			 (c->ideal & IDEAL_IMEM ? MEM_IDEAL_IMEM : 0) |
			 (c->ideal & IDEAL_BW ? MEM_IDEAL_BW : 0);
	uint32_t word;

	return !guest_code(c->guest, pc, &word) ||
	       memsys_ahead(c->mem, c->now, pc, TOKEN_AHEAD, flags);
}

/* Whether fetch is, or could be, where front.pc says. */
static bool fetch_is_there(const struct core *c)
{
	return c->front.state == FETCH_WAIT_CACHE ||
	       (c->front.state == FETCHING && c->front.time <= c->now);
}

/* Whether there is anything to walk in this cycle. */
static bool can_walk(const struct core *c)
{
	const struct ahead *a = c->front.ahead;

	if (c->front.state == FETCH_OVER || (!c->front.wrong && c->tail >= c->front.limit))
		return false;
	return a->lost ? fetch_is_there(c) : a->count < a->size;
}

/* Walks a block; false if its line has to wait. */
static bool walk_block(struct core *c)
{
	struct ahead *a = c->front.ahead;
	uint64_t end = (a->next.pc | c->front.block_mask) + 1;

	/* Fetch asks for its own block. */
	if (a->count && !ask(c))
		return false;
	a->blocks[(a->first + a->count++) % a->size] = a->next;
	a->next.pc = bpred_walk(c->bpred, a->walk, a->next.pc, end, &a->next.jumped);
	return true;
}

void ahead_stage(struct core *c)
{
	struct ahead *a = c->front.ahead;

	follow(c);
	for (uint32_t n = c->front.taken_max; n && can_walk(c); n--) {
		if (a->lost) {
			bpred_walk_begin(c->bpred, a->walk);
			a->next = (struct block){ .pc = c->front.pc & ~1ull };
			a->count = 0;
			a->lost = false;
		}
		if (!walk_block(c))
			return;
		c->did.walks++;
	}
}

void ahead_check(const struct core *c)
{
	const struct ahead *a = c->front.ahead;

	assert(a->count <= a->size);
	/* The first block is fetch's. */
	if (!a->lost && a->count && fetch_is_there(c))
		assert((a->blocks[a->first].pc ^ c->front.pc) <= c->front.block_mask);
	(void)a;
}
